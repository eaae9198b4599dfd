// row: double free, by two threads at the same time, with `.exact`
// only: kolk
#define _POSIX_C_SOURCE 200809L /* barriers */
#define SHARED          1
#include "misuse.h"

#include <pthread.h>

typedef struct job {
    pool *items;
    void *item;
    pthread_barrier_t gate;
} job;

static void *work(void *argument) {
    job *its = argument;
    kolk_shared_local local;
    if (kolk_shared_local_init(&local, &its->items->shared) != KOLK_OK) exit(1);
    pthread_barrier_wait(&its->gate);
    kolk_shared_free(&local, its->item);
    kolk_shared_local_deinit(&local);
    return NULL;
}

static void free_in_two_threads(job *its) {
    pthread_t threads[2];
    pthread_barrier_init(&its->gate, NULL, 2);
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, work, its) != 0) exit(1);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&its->gate);
}

int main(void) {
    pool items;
    open_desc(&items, (kolk_shared_desc){.name = "items", .exact = true});
    job both = {.items = &items, .item = take(&items)};
    RIGHT(give_back(&items, both.item));
    WRONG(free_in_two_threads(&both));
    close_pool(&items);
    return end();
}
