/* runs: not:qemu not:wine wraps: help/watched_syscall.h madvise pthread_setspecific */
/* Events while a heap makes a system call. Another thread that wants to sweep waits. Setting the value of a thread's
 * key may call malloc, which may be the heap itself. */
#include "../help/test.h"

#include "../help/run_threads.h"
#include "../help/watched_syscall.h"
#include "heap/heap_inside.h"
#include "heap_test.h"

#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

static kolk_heap heap;

/* ---- One sweep at a time ----------------------------------------------------------------------------------------- */

static pthread_t second;
static _Thread_local bool is_second;
static sem_t told;
static bool starts_second;
static const uint32_t *word; /* the word that the second thread sleeps on; NULL: it sleeps on none */

int __real_madvise(void *start, size_t size, int advice);
int __wrap_madvise(void *start, size_t size, int advice);

/* Records the word of the second thread's first futex call. That call cannot be a wake, because no thread waits. */
static void watch_syscall(long number, long first) {
    if (!is_second || number != SYS_futex || word) return;
    word = (const uint32_t *)(uintptr_t)first;
    sem_post(&told);
}

static void *trim_as_second(void *unused) {
    is_second = true;
    kolk_heap_trim(&heap);
    sem_post(&told);
    return NULL;
}

int __wrap_madvise(void *start, size_t size, int advice) {
    if (starts_second) {
        starts_second = false;
        REQUIRE(pthread_create(&second, NULL, trim_as_second, NULL) == 0);
        while (sem_wait(&told) != 0) {}
        REQUIRE(word == &heap.inside->sweeping);
    }
    return __real_madvise(start, size, advice);
}

static void test_one_sweep_at_a_time(void **state) {
    void *blocks[64];
    make_heap(&heap, &(kolk_heap_desc){.name = "swept", .limit = 1 << 24});
    assert_int_equal(sem_init(&told, 0, 0), 0);
    for (unsigned n = 0; n < LENGTH_OF(blocks); n++) assert_non_null(blocks[n] = kolk_heap_alloc(&heap, 16384));
    for (unsigned n = 0; n < LENGTH_OF(blocks); n++) kolk_heap_free(&heap, blocks[n]);
    starts_second = true;
    kolk_heap_trim(&heap);
    assert_false(starts_second); /* there were pages to release */
    assert_int_equal(pthread_join(second, NULL), 0);
    end_heap(&heap);
}

/* ---- A key whose value needs memory ------------------------------------------------------------------------------ */

static _Thread_local bool takes_memory; /* set only during kolk's call, because sanitizers have keys too */
static unsigned depth, values;

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);

/* Allocates from the heap, as glibc does for a key of 32 or more if the heap serves malloc. */
int __wrap_pthread_setspecific(pthread_key_t key, const void *value) {
    if (takes_memory) {
        REQUIRE(depth++ == 0); /* otherwise it would recurse for ever */
        void *block = kolk_heap_alloc(&heap, 500);
        REQUIRE(block);
        kolk_heap_free(&heap, block);
        depth--;
        values++;
    }
    return __real_pthread_setspecific(key, value);
}

static void *use(void *unused) {
    takes_memory = true;
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 100));
    takes_memory = false;
    return NULL;
}

static void test_key_that_takes_memory(void **state) {
    make_heap(&heap, &(kolk_heap_desc){.name = "malloc", .limit = 1 << 24});
    for (unsigned n = 0; n < 3; n++) run_thread(use, NULL);
    assert_int_equal(values, 3);
    assert_int_equal(heap.inside->records, 1); /* the next thread takes over the record */
    end_heap(&heap);
}

int main(void) {
    END_IF_IT_HANGS();
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_sweep_at_a_time),
                                       cmocka_unit_test(test_key_that_takes_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
