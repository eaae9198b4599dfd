// row: double free, by another thread later
// only: kolk
#include "shared.h"

typedef struct job {
    team *items;
    void *item;
} job;

static void *work(void *argument) {
    job *mine = argument;
    kolk_local local;
    if (kolk_local_init(&local, &mine->items->pool) != KOLK_OK) exit(1);
    kolk_local_free(&local, mine->item);
    kolk_local_deinit(&local);
    return NULL;
}

static void free_elsewhere(job *its) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, work, its) != 0) exit(1);
    pthread_join(thread, NULL);
}

int main(void) {
    team items;
    open_shared(&items, "items");
    job other = {.items = &items, .item = take_shared(&items)};
    RIGHT(free_elsewhere(&other));
    WRONG((give_shared(&items, other.item), free_elsewhere(&other)));
    close_shared(&items);
    return end();
}
