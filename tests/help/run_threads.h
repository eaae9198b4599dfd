/* run_threads.h: runs functions in threads, and waits until they have returned. */
#ifndef TESTS_RUN_THREADS_H
#define TESTS_RUN_THREADS_H

#include "require.h"

#include <pthread.h>

static inline void run_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, body, argument) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
}

/* Runs n threads at the same time. Each gets its own of n arguments of this size; if it is 0, all get the same. */
static inline void run_threads(unsigned n, void *(*body)(void *), void *arguments, size_t size) {
    pthread_t threads[16];
    REQUIRE(n <= sizeof threads / sizeof *threads);
    for (unsigned i = 0; i < n; i++)
        REQUIRE(pthread_create(&threads[i], NULL, body, size ? (char *)arguments + i * size : arguments) == 0);
    for (unsigned i = 0; i < n; i++) REQUIRE(pthread_join(threads[i], NULL) == 0);
}

#endif
