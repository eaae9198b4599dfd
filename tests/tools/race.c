/* A mistake of the program that ThreadSanitizer must find: one thread frees objects while another asks whether they are
 * alive. */
#include <kolk/kolk.h>

#include <pthread.h>

#define MANY 1000u

KOLK_POOL_TYPE(numbers, long)

static numbers pool;
static long *objects[MANY];

static void *ask(void *arg) {
    unsigned alive = 0;
    for (unsigned i = 0; i < MANY; i++) alive += numbers_is_live(&pool, objects[i]);
    return alive > MANY ? arg : NULL;
}

int main(void) {
    pthread_t thread;
    if (numbers_init(&pool, &(kolk_pool_desc){.capacity = MANY}) != KOLK_OK) return 0;
    for (unsigned i = 0; i < MANY; i++) objects[i] = numbers_alloc(&pool);
    if (pthread_create(&thread, NULL, ask, NULL) != 0) return 0;
    for (unsigned i = 0; i < MANY; i++) numbers_free(&pool, objects[i]);
    pthread_join(thread, NULL);
}
