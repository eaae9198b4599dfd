/* The mistakes that only exist with shared pools. */
#define _POSIX_C_SOURCE 200809L /* barriers */
#define SHARED          1
#include "misuse.h"

#include <pthread.h>
#include <string.h>

static void deinit_in_reset(void *object, void *context) {
    (void)object, (void)context;
    stage("deinit");
    WRONG(kolk_shared_deinit(&items.shared));
}

WHOLE_MISTAKE(shared_deinit_in_hook, "deinit in reset, of the same pool", "shared") {
    open_desc(&items, (kolk_shared_desc){.name = "items", .life.reset = deinit_in_reset});
    give_back(&items, take(&items));
    close_pool(&items);
}

static pthread_barrier_t gate;

static void *free_in_thread(void *item) {
    kolk_shared_local local;
    if (kolk_shared_local_init(&local, &items.shared) != KOLK_OK) exit(1);
    pthread_barrier_wait(&gate);
    kolk_shared_free(&local, item);
    kolk_shared_local_deinit(&local);
    return NULL;
}

/* Frees it in each of n threads, at the same time. */
static void free_in_threads(unsigned n, void *item) {
    pthread_t threads[2];
    pthread_barrier_init(&gate, NULL, n);
    for (unsigned i = 0; i < n; i++)
        if (pthread_create(&threads[i], NULL, free_in_thread, item) != 0) exit(1);
    for (unsigned i = 0; i < n; i++) pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&gate);
}

MISTAKE(shared_double_free_two_threads, "double free, by another thread later", "shared") {
    void *item = take(&items);
    RIGHT(free_in_threads(1, item));
    WRONG((give_back(&items, item), free_in_threads(1, item)));
}

WHOLE_MISTAKE(shared_double_free_two_threads_exact, "double free, by two threads at the same time, with `.exact`",
              "shared") {
    open_desc(&items, (kolk_shared_desc){.name = "items", .exact = true});
    void *item = take(&items);
    RIGHT(give_back(&items, item));
    WRONG(free_in_threads(2, item));
    close_pool(&items);
}

WHOLE_MISTAKE(shared_gone_local_alloc, "alloc by a local whose pool is deinit'd", "shared") {
    open_pool(&items, "items");
    RIGHT(give_back(&items, take(&items)));
    stage("deinit");
    RIGHT(kolk_shared_local_deinit(&items.local));
    kolk_shared_deinit(&items.shared);
    WRONG(take(&items));
}

MISTAKE(shared_later_double_free, "free of an object that was passed to free_later", "shared") {
    unsigned char *item = take(&items);
    kolk_shared_free_later(&items.local, item);
    WRONG(give_back(&items, item));
}

MISTAKE(shared_later_read, "read of an object passed to free_later, after a quiesce of all threads", "shared") {
    unsigned char *item = take(&items);
    write_bytes(item, SIZE);
    kolk_shared_free_later(&items.local, item);
    RIGHT(read_word(item));
    for (int i = 0; i < 3; i++) kolk_shared_quiesce(&items.local);
    WRONG(read_word(item));
}

static kolk_shared here, there;

static kolk_shared *moved(void) {
    memcpy(&there, &here, sizeof there);
    memset(&here, 0xe5, sizeof here);
    return &there;
}

WHOLE_MISTAKE(shared_moved, "local_init of a pool that was moved", "shared") {
    kolk_shared *now = &here;
    kolk_shared_local local;
    if (kolk_shared_init(now, &(kolk_shared_desc){.name = "items", .object_size = SIZE, .capacity = 100})) exit(1);
    WRONG(now = moved());
    stage("local_init");
    if (kolk_shared_local_init(&local, now) != KOLK_OK) exit(1);
    kolk_shared_free(&local, kolk_shared_alloc(&local));
    kolk_shared_local_deinit(&local);
    kolk_shared_deinit(now);
}

MISTAKE(shared_no_local_alloc, "alloc by a local that is deinit'd", "shared") {
    RIGHT(give_back(&items, take(&items)));
    kolk_shared_local_deinit(&items.local);
    WRONG(take(&items));
}

static void free_by(kolk_shared_local *local, void *object) {
    __asm__ volatile("" : "+r"(object));
    kolk_shared_free(local, object);
}

MISTAKE(shared_no_local_free, "free by a local that is deinit'd", "shared") {
    kolk_shared_local other;
    if (kolk_shared_local_init(&other, &items.shared) != KOLK_OK) exit(1);
    unsigned char *item = take(&items);
    RIGHT(free_by(&other, item));
    kolk_shared_local_deinit(&other);
    WRONG(free_by(&other, item));
}

static kolk_shared_local forgotten;

MISTAKE(shared_zero_local_alloc, "alloc by a local whose init was forgotten", "shared") {
    RIGHT(give_back(&items, take(&items)));
    kolk_shared_local made = items.local;
    WRONG(items.local = forgotten);
    WRONG(take(&items));
    items.local = made;
}
