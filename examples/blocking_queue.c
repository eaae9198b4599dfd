/* BlockingQueue: any number of writers call Add, and any number of readers call Remove. Add waits while the queue is
 * full, Remove waits while it is empty, Shutdown releases all waiters, and Clear empties the queue. */
#include "kolk.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

KOLK_QUEUE_TYPE(numbers, int)

enum { CAPACITY = 4, WRITERS = 3, READERS = 2, MOST = 1000 };
static numbers container; /* the ThreadSafeContainer of the text */

struct worker {
    pthread_t thread;
    int count;
    long sum;
    kolk_status end; /* instead of a ShutDownException */
};

static void *write_numbers(void *argument) {
    struct worker *me = argument;
    for (int n = 1; n <= MOST && (me->end = numbers_push(&container, &n, KOLK_FOREVER)) == KOLK_OK; n++) /* Add */
        me->count++;
    return NULL;
}

static void *read_numbers(void *argument) {
    struct worker *me = argument;
    for (int n; (me->end = numbers_pop(&container, &n, KOLK_FOREVER)) == KOLK_OK;) { /* Remove */
        me->count++;
        me->sum += n;
    }
    return NULL;
}

static void start(struct worker *workers, int count, void *(*work)(void *)) {
    for (int n = 0; n < count; n++) {
        workers[n] = (struct worker){.end = KOLK_OK};
        if (pthread_create(&workers[n].thread, NULL, work, &workers[n]) != 0) exit(1);
    }
}

static struct worker join(struct worker *workers, int count) {
    struct worker all = {.end = KOLK_OK};
    for (int n = 0; n < count; n++) {
        pthread_join(workers[n].thread, NULL);
        all.count += workers[n].count;
        all.sum += workers[n].sum;
        all.end = workers[n].end;
    }
    return all;
}

int main(void) {
    struct worker writers[WRITERS], readers[READERS], all;
    if (numbers_init(&container, &(kolk_queue_desc){.name = "container", .capacity = CAPACITY}) != KOLK_OK) return 1;
    start(writers, WRITERS, write_numbers);
    start(readers, READERS, read_numbers);
    printf("%d writers added %d numbers\n", WRITERS, join(writers, WRITERS).count);
    numbers_close(&container); /* readers take the remaining items, and then stop */
    all = join(readers, READERS);
    printf("%d readers removed %d, their sum is %ld: %s\n", READERS, all.count, all.sum, kolk_status_text(all.end));

    numbers_reopen(&container);
    for (int n = 1; numbers_push(&container, &n, KOLK_NOW) == KOLK_OK;) n++;
    start(writers, WRITERS, write_numbers); /* the queue is full, so all of them wait */
    numbers_shutdown(&container);
    all = join(writers, WRITERS);
    printf("full with %zu: %d writers added %d: %s\n", numbers_count(&container), WRITERS, all.count,
           kolk_status_text(all.end));

    numbers_reopen(&container);
    printf("Clear dropped %zu\n", numbers_clear(&container));
    start(readers, READERS, read_numbers); /* the queue is empty, so all of them wait */
    numbers_shutdown(&container);
    all = join(readers, READERS);
    printf("empty: %d readers removed %d: %s\n", READERS, all.count, kolk_status_text(all.end));
    numbers_deinit(&container);
}

/* runs: sample */
