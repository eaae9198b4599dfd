// row: double free, by another thread later
// only: kolk
#define SHARED 1
#include "misuse.h"

#include <pthread.h>

typedef struct job {
    pool *items;
    void *item;
} job;

static void *work(void *argument) {
    job *mine = argument;
    kolk_shared_local local;
    if (kolk_shared_local_init(&local, &mine->items->shared) != KOLK_OK) exit(1);
    kolk_shared_free(&local, mine->item);
    kolk_shared_local_deinit(&local);
    return NULL;
}

static void free_elsewhere(job *its) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, its) != 0) exit(1);
    pthread_join(thread, NULL);
}

int main(void) {
    pool items;
    open_pool(&items, "items");
    job other = {.items = &items, .item = take(&items)};
    RIGHT(free_elsewhere(&other));
    WRONG((give_back(&items, other.item), free_elsewhere(&other)));
    close_pool(&items);
    return end();
}
