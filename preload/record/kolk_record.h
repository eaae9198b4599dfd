/* SPDX-License-Identifier: Zlib */
/* kolk_record.h: shows `kolk record` the objects in a program's own zone, and those in kolk's pools. It sees malloc by
 * itself, but of a zone or a pool only the block that it lies in.
 *
 *     void *Z_Malloc(size_t size, int tag) {
 *         ...
 *         KOLK_RECORD_ALLOC(block, size);
 *         return block;
 *     }
 *     void Z_Free(void *block) {
 *         KOLK_RECORD_FREE(block);          // before anybody else can get the block
 *         ...
 *     }
 *
 *     int main(void) {
 *         KOLK_RECORD_POOLS();              // before the first init; needs kolk.h
 *         ...
 *     }
 *
 * Cost      A load and a branch where the program is not recorded.
 * Needs     No other file of kolk, and no library (before glibc 2.34: -ldl). Copy this header into your program if you
 *           like. Other systems than Linux, and other compilers than gcc and clang, compile the macros to nothing.
 * Caller    What kolk record and kolk advise name is the function that contains the macro, and its callers. A function
 *           that only calls malloc for others needs no macro.
 * Threads   Any. If several threads use a zone, call the macros while its lock is held. NULL is ignored. */
#ifndef KOLK_RECORD_H
#define KOLK_RECORD_H

#if defined(__linux__) && defined(__GNUC__)

#ifdef __cplusplus /* NULL and the macros are C: no warnings of C++ about them */
#pragma GCC system_header
#endif

#include <dlfcn.h>
#include <stddef.h>

/* `pool` is its name, or NULL in a zone. `from` is NULL for an alloc, `to` for a free. */
typedef void kolk_record_(const char *pool, const void *from, const void *to, size_t size);

static int kolk_record_is_on_ __attribute__((__unused__)) = 1; /* until the first call has found that it is not */

/* Returns the function of libkolk-record.so; NULL if the program is not recorded. */
static __attribute__((__noinline__, __unused__)) kolk_record_ *kolk_record_find_(void) {
    static void *found;
    union {
        void *symbol;
        kolk_record_ *function;
    } recorder;
    recorder.symbol = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!recorder.symbol) {
        recorder.symbol = dlsym(NULL, "kolk_record_object"); /* NULL is RTLD_DEFAULT */
        __atomic_store_n(&found, recorder.symbol, __ATOMIC_RELAXED);
        if (!recorder.symbol) __atomic_store_n(&kolk_record_is_on_, 0, __ATOMIC_RELAXED);
    }
    return recorder.function;
}

/* A macro, because a function would be the caller that the recording names. The empty assembly prevents a jump in place
 * of the call, which would leave no return address. */
#define KOLK_RECORD_(pool, from, to, size)                                                                             \
    do {                                                                                                               \
        kolk_record_ *kolk_record_to_ =                                                                                \
            __atomic_load_n(&kolk_record_is_on_, __ATOMIC_RELAXED) ? kolk_record_find_() : NULL;                       \
        if (!kolk_record_to_) break;                                                                                   \
        kolk_record_to_(pool, from, to, size);                                                                         \
        __asm__ volatile("");                                                                                          \
    } while (0)

static __attribute__((__unused__)) void kolk_record_alloc_(const char *pool, const void *object, size_t size,
                                                           void *context) {
    (void)context;
    KOLK_RECORD_(pool && *pool ? pool : "?", NULL, object, size);
}

static __attribute__((__unused__)) void kolk_record_free_(const char *pool, const void *object, void *context) {
    (void)context;
    KOLK_RECORD_(pool && *pool ? pool : "?", object, NULL, 0);
}

/* If the program is recorded, sets the profiler (kolk_set_profiler). So the pools and shared pools that are initialised
 * from now on are recorded, by name and without callers, and do not use the fast paths. */
#define KOLK_RECORD_POOLS()                                                                                            \
    do {                                                                                                               \
        kolk_profiler kolk_record_profiler_ = {kolk_record_alloc_, kolk_record_free_, NULL};                           \
        if (kolk_record_find_()) kolk_set_profiler(&kolk_record_profiler_);                                            \
    } while (0)

#else
#define KOLK_RECORD_(pool, from, to, size) ((void)0)
#define KOLK_RECORD_POOLS()                ((void)0)
#endif

#define KOLK_RECORD_ALLOC(block, size) KOLK_RECORD_(NULL, NULL, block, size)
#define KOLK_RECORD_FREE(block)        KOLK_RECORD_(NULL, block, NULL, 0)

/* The block has another size, or has moved to `now`. */
#define KOLK_RECORD_RESIZE(before, now, size) KOLK_RECORD_(NULL, before, now, size)

#endif
