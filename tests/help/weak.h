/* weak.h: memory as several processors may see it, for schedule.h, which decides who takes the next step.
 *
 *     stores to one atomic, in their order      0 ---- 1 ---- 2 ---- 3 (newest: the value in memory)
 *     what a load of thread t may return                    |________|
 *                                                           the newest store that t must know of
 *
 * If a load always returned the newest store, memory would behave as on a machine with one processor, where a missing
 * release or a missing seq_cst has no effect. So each atomic keeps its last stores, and a load may return any store
 * that these rules allow:
 *
 *   W1 coherence: t reads no store older than one that an operation known to t has read or written.
 *   W2 what t knows is a vector clock (Lamport 1978; Mattern 1989): its own operations, and everything that the writer
 *      of a release knew, if t has read that release by an acquire.
 *   W3 a read-modify-write reads the newest store, and passes on the release that it overwrites, whatever its own order
 *      is. Any other store does not pass it on (C++20; in C11 the writer's own relaxed stores do so as well).
 *   W4 a seq_cst load reads nothing older than the last seq_cst store. The total order of seq_cst operations is the
 *      order of the steps. These operations transfer no more knowledge than acquire and release do.
 *   W5 a sleeper reads its word by a seq_cst load, which returns no store that is older than what the last waker of the
 *      word knew.
 *   W6 plain memory: a thread may read a byte if it knows the last write to it, and write the byte if it also knows all
 *      reads. Anything else is a data race, in either order (Flanagan and Freund, "FastTrack", 2009).
 *
 * Loads that choose from a history are Vyukov's idea (Relacy, 2008). Three things are not modelled: reading a store
 * before it is made (a relaxed load delayed beyond a later store), stores older than the last WEAK_HISTORY, and failed
 * compare-exchanges that read an old value: they always read the newest. So each error found is real, but some errors
 * may be missed. */
#ifndef TESTS_WEAK_H
#define TESTS_WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomics.h"

#define WEAK_THREADS 8u
#define WEAK_HISTORY 8u
#define WEAK_ATOMICS 256u  /* a power of 2 */
#define WEAK_BYTES   4096u /* a power of 2 */

/* Ends the schedule with this message as its failure. */
_Noreturn static void sched_stop(const char *format, ...) __attribute__((format(printf, 1, 2)));

typedef struct weak_clock {
    uint32_t of[WEAK_THREADS];
} weak_clock;

typedef struct weak_store {
    uint64_t value;
    weak_clock released;         /* what an acquire load learns when it reads this store */
    uint32_t seen[WEAK_THREADS]; /* for each thread, its own time when it first saw this store; 0: not seen */
    bool seq_cst;
} weak_store;

typedef struct weak_atomic {
    const void *at;
    const char *name;
    size_t size;
    uint64_t run;
    uint32_t stores; /* the number of stores so far */
    uint32_t awake;  /* W5: the number of the oldest store that a sleeper may still read */
    weak_store last[WEAK_HISTORY];
} weak_atomic;

typedef struct weak_access {
    uint32_t time; /* the thread's own time at the access; 0: never */
    int line;
    const char *function, *what;
} weak_access;

typedef struct weak_byte {
    const unsigned char *at;
    uint64_t run;
    unsigned writer;
    weak_access write, reads[WEAK_THREADS];
} weak_byte;

static struct {
    uint64_t run; /* entries from other runs count as empty */
    weak_clock clocks[WEAK_THREADS];
    weak_atomic atomics[WEAK_ATOMICS];
    weak_byte bytes[WEAK_BYTES];
} weak;

static inline void weak_begin(void) {
    weak.run++;
    memset(weak.clocks, 0, sizeof weak.clocks);
}

static inline void weak_tick(unsigned thread) {
    weak.clocks[thread].of[thread]++;
}

static inline void weak_join(weak_clock *clock, const weak_clock *other) {
    for (unsigned t = 0; t < WEAK_THREADS; t++)
        if (clock->of[t] < other->of[t]) clock->of[t] = other->of[t];
}

static inline bool weak_knows(unsigned thread, unsigned other, uint32_t time) {
    return time <= weak.clocks[thread].of[other];
}

static inline size_t weak_hash(uintptr_t at) {
    return (size_t)(((uint64_t)at * UINT64_C(0x9e3779b97f4a7c15)) >> 40);
}

/* ---- Atomics ----------------------------------------------------------------------------------------------------- */

static inline uint64_t weak_peek(const void *at, size_t size) {
    if (size == 1) return *(const uint8_t *)at;
    if (size == 4) return *(const uint32_t *)at;
    return *(const uint64_t *)at;
}

static inline void weak_poke(void *at, size_t size, uint64_t value) {
    if (size == 1)
        *(uint8_t *)at = (uint8_t)value;
    else if (size == 4)
        *(uint32_t *)at = (uint32_t)value;
    else
        *(uint64_t *)at = value;
}

static inline weak_store *weak_newest(weak_atomic *atomic) {
    return &atomic->last[(atomic->stores - 1) % WEAK_HISTORY];
}

static inline weak_store *weak_push(weak_atomic *atomic, uint64_t value) {
    atomic->stores++;
    weak_store *store = weak_newest(atomic);
    memset(store, 0, sizeof *store);
    store->value = value;
    return store;
}

/* Returns the entry of an atomic, or an empty entry, whose `run` is not the current one. Atomics in the same 8 bytes
 * share a chain, so that overlapping ones are detected. */
static inline weak_atomic *weak_place(const void *at, size_t size, const char *name) {
    if ((uintptr_t)at % size) sched_stop("%s is not aligned to its %u bytes", name, (unsigned)size);
    uintptr_t granule = (uintptr_t)at / 8;
    for (size_t i = weak_hash(granule), n = 0; n < WEAK_ATOMICS; i++, n++) {
        weak_atomic *atomic = &weak.atomics[i % WEAK_ATOMICS];
        if (atomic->run != weak.run || (atomic->at == at && atomic->size == size)) return atomic;
        if ((uintptr_t)atomic->at / 8 == granule && (atomic->size == 8 || size == 8))
            sched_stop("%s and %s are one atomic in two sizes", atomic->name, name);
    }
    sched_stop("more than %u atomics", WEAK_ATOMICS);
}

/* Returns the entry of an atomic. A value in memory that no recorded store wrote is the initial value, which all
 * threads know. */
static inline weak_atomic *weak_find(const void *at, size_t size, const char *name) {
    weak_atomic *atomic = weak_place(at, size, name);
    uint64_t value = weak_peek(at, size);
    if (atomic->run == weak.run && weak_newest(atomic)->value == value) return atomic;
    atomic->run = weak.run;
    atomic->at = at;
    atomic->size = size;
    atomic->name = name;
    atomic->stores = atomic->awake = 0;
    weak_push(atomic, value);
    return atomic;
}

static inline bool weak_acquires(int order) {
    return order != KOLK_RELAXED_ && order != KOLK_RELEASE_;
}

static inline bool weak_releases(int order) {
    return order == KOLK_RELEASE_ || order == KOLK_ACQ_REL_ || order == KOLK_SEQ_CST_;
}

/* Returns how many of the newest stores a load may choose from: by W1 and W4, and by W5 none before number `oldest`. */
static inline unsigned weak_readable(const weak_atomic *atomic, unsigned thread, int order, uint32_t oldest) {
    unsigned n = 1;
    for (; n < WEAK_HISTORY && n < atomic->stores && atomic->stores - n > oldest; n++) {
        const weak_store *store = &atomic->last[(atomic->stores - n) % WEAK_HISTORY];
        if (order == KOLK_SEQ_CST_ && store->seq_cst) break;
        for (unsigned t = 0; t < WEAK_THREADS; t++)
            if (store->seen[t] && weak_knows(thread, t, store->seen[t])) return n;
    }
    return n;
}

/* Returns the value of the store that came `age` stores before the newest. */
static inline uint64_t weak_read(weak_atomic *atomic, unsigned thread, unsigned age, int order) {
    weak_store *store = &atomic->last[(atomic->stores - 1 - age) % WEAK_HISTORY];
    if (!store->seen[thread]) store->seen[thread] = weak.clocks[thread].of[thread];
    if (weak_acquires(order)) weak_join(&weak.clocks[thread], &store->released);
    return store->value;
}

static inline void weak_wake(weak_atomic *atomic, unsigned thread) {
    uint32_t known = atomic->stores - weak_readable(atomic, thread, KOLK_RELAXED_, 0);
    if (atomic->awake < known) atomic->awake = known;
}

static inline void weak_write(weak_atomic *atomic, unsigned thread, uint64_t value, int order, bool modifies) {
    weak_clock handed_on = {{0}};
    if (modifies) handed_on = weak_newest(atomic)->released; /* W3 */
    weak_store *store = weak_push(atomic, value);
    store->released = handed_on;
    if (weak_releases(order)) weak_join(&store->released, &weak.clocks[thread]);
    store->seen[thread] = weak.clocks[thread].of[thread];
    store->seq_cst = order == KOLK_SEQ_CST_;
}

/* ---- Plain memory ------------------------------------------------------------------------------------------------ */

static inline weak_byte *weak_byte_at(const unsigned char *at) {
    for (size_t i = weak_hash((uintptr_t)at), n = 0; n < WEAK_BYTES; i++, n++) {
        weak_byte *byte = &weak.bytes[i % WEAK_BYTES];
        if (byte->run == weak.run && byte->at == at) return byte;
        if (byte->run == weak.run) continue;
        memset(byte, 0, sizeof *byte);
        byte->run = weak.run;
        byte->at = at;
        return byte;
    }
    sched_stop("more than %u bytes of plain memory", WEAK_BYTES);
}

/* Checks W6. Returns the other access of a race, and its thread, or NULL if there is no race. */
static inline const weak_access *weak_touch(const void *at, unsigned thread, bool writes, const kolk_place_ *place,
                                            unsigned *other) {
    weak_byte *byte = weak_byte_at((const unsigned char *)at);
    *other = byte->writer;
    if (!weak_knows(thread, byte->writer, byte->write.time)) return &byte->write;
    for (*other = 0; writes && *other < WEAK_THREADS; ++*other)
        if (!weak_knows(thread, *other, byte->reads[*other].time)) return &byte->reads[*other];
    const weak_access mine = {weak.clocks[thread].of[thread], place->line, place->function,
                              writes ? "written" : "read"};
    if (writes) {
        byte->writer = thread;
        byte->write = mine;
    } else {
        byte->reads[thread] = mine;
    }
    return NULL;
}

#endif
