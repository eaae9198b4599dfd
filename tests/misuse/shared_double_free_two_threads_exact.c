// row: double free, by two threads at the same time, with `.exact`
// only: kolk
#include "shared.h"

typedef struct job {
    team *items;
    void *item;
    pthread_barrier_t gate;
} job;

static void *work(void *argument) {
    job *its = argument;
    kolk_local local;
    if (kolk_local_init(&local, &its->items->pool) != KOLK_OK) exit(1);
    pthread_barrier_wait(&its->gate);
    kolk_local_free(&local, its->item);
    kolk_local_deinit(&local);
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
    team items;
    open_desc(&items, (kolk_shared_desc){.name = "items", .exact = true});
    job both = {.items = &items, .item = take_shared(&items)};
    RIGHT(give_shared(&items, both.item));
    WRONG(free_in_two_threads(&both));
    close_shared(&items);
    return end();
}
