/* record.c: malloc and its family, which record each call. They are in libkolk-record.so, which kolk record preloads
 * into a program.
 *
 * It is not an allocator. Each function calls the next library's function of the same name: libc's, or the one from the
 * program's own malloc library. So the program keeps its malloc. libkolk-malloc.so has no code for recording, so
 * recording costs nothing when it is not used.
 *
 * The life of a call: the block is allocated; stacks.c finds the number of the stack; ring.c appends two to four words
 * under the one lock. ring.c explains how threads are ordered, and what happens at forks. cost.c measures what all this
 * takes. Allocations from within this library are not recorded: dlsym and the like may allocate, and so may a signal
 * handler that interrupts the library.
 *
 * ld.so calls malloc before any constructor has run; those few calls are not recorded. The library is linked with -z
 * initfirst, so its constructor comes before all others. It is never unloaded. */
#define _GNU_SOURCE
#include "inside.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLER ((struct caller){(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa(), NULL})

/* Functions of C23, which older headers do not declare. */
EXPORT void free_sized(void *block, size_t size);
EXPORT void free_aligned_sized(void *block, size_t align, size_t size);

/* What kolk_record.h calls. */
EXPORT void kolk_record_object(const char *pool, const void *from, const void *to, size_t size);

/* ---- The next library's functions -------------------------------------------------------------------------------- */

/* glibc's functions, under names that nothing replaces. */
extern void *__libc_malloc(size_t size);               /* NOLINT */
extern void *__libc_calloc(size_t count, size_t size); /* NOLINT */
extern void *__libc_realloc(void *block, size_t size); /* NOLINT */
extern void __libc_free(void *block);                  /* NOLINT */

/* Each row has a function's name, what it returns, its parameters, and these as arguments. Only free is missing. */
#define NEXT_LIST(X)                                                                                                   \
    X(malloc, void *, (size_t size), (size))                                                                           \
    X(calloc, void *, (size_t count, size_t size), (count, size))                                                      \
    X(realloc, void *, (void *block, size_t size), (block, size))                                                      \
    X(posix_memalign, int, (void **at, size_t align, size_t size), (at, align, size))                                  \
    X(aligned_alloc, void *, (size_t align, size_t size), (align, size))                                               \
    X(memalign, void *, (size_t align, size_t size), (align, size))                                                    \
    X(valloc, void *, (size_t size), (size))                                                                           \
    X(pvalloc, void *, (size_t size), (size))

static struct {
#define DECLARE_NEXT(name, result, parameters, arguments) result(*name) parameters;
    NEXT_LIST(DECLARE_NEXT)
    void (*free)(void *);
} next;

/* Runs at the process's first call, while there is only one thread. dlsym does not allocate if it finds the name, and
 * must not call back into this library. */
static void find_next(void) {
#define NAME_NEXT(name, result, parameters, arguments) #name,
    static const char *const names[] = {NEXT_LIST(NAME_NEXT) "free"};
    union {
        void *found[sizeof names / sizeof *names];
        __typeof__(next) next;
    } all;
    _Static_assert(sizeof all.found == sizeof next, "a name for each");
    next.malloc = __libc_malloc;
    next.calloc = __libc_calloc;
    next.realloc = __libc_realloc;
    next.free = __libc_free;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) all.found[i] = dlsym(RTLD_NEXT, names[i]);
    next = all.next;
}

#define DEFINE_FIRST(name, result, parameters, arguments)                                                              \
    static result first_##name parameters {                                                                            \
        find_next();                                                                                                   \
        return next.name arguments;                                                                                    \
    }
NEXT_LIST(DEFINE_FIRST)

static void first_free(void *block) {
    find_next();
    next.free(block);
}

#define LIST_FIRST(name, result, parameters, arguments) first_##name,
static __typeof__(next) next = {NEXT_LIST(LIST_FIRST) first_free};

/* ---- Records ----------------------------------------------------------------------------------------------------- */

/* Returns the first word of a record: the kind, the address and, in the bits above, this thread's number. */
static uint64_t here_and(const void *block, unsigned kind) {
    struct here *here = &record_here;
    if (__builtin_expect(here->thread == 0, 0)) {
        uint32_t number = __atomic_fetch_add(&record_state->threads, 1, __ATOMIC_RELAXED);
        here->thread = 1 + (number < WIRE_THREADS ? number : WIRE_THREADS - 1);
    }
    return (uint64_t)(here->thread - 1) << 48 | WIRE_ADDRESS((uintptr_t)block) | kind;
}

static inline void put_record(const uint64_t *words, size_t count) {
    record_lock();
    record_begin(count);
    record_put(words, count);
    record_end();
    record_unlock();
}

/* Writes a record of `count` words. The first word has only the kind so far, the second or third is the stack. */
static void record(const void *block, uint64_t *words, size_t count, size_t stack, struct caller caller) {
    int before = errno;
    record_here.inside = true;
    struct timing timing = record_cost_begin();
    words[0] = here_and(block, (unsigned)words[0]);
    words[stack] = record_stack(caller) | ((uint64_t)(uintptr_t)block & 7) << 32;
    put_record(words, count);
    record_cost_end(timing);
    record_here.inside = false;
    errno = before;
}

/* Holds the lock while the block is resized, because that is both a free and an alloc. */
static void *record_realloc(void *block, size_t size, struct caller caller) {
    record_here.inside = true;
    struct timing timing = record_cost_begin();
    uint64_t words[] = {here_and(block, WIRE_REALLOC), size, record_stack(caller), 0};
    record_lock();
    record_begin(4);
    record_cost_end(timing);
    void *moved = next.realloc(block, size);
    int after = errno;
    words[3] = WIRE_ADDRESS((uintptr_t)moved);
    bool is_free = !moved && size == 0;
    if (is_free) words[0] = here_and(block, WIRE_FREE), words[1] = words[2];
    record_put(words, is_free ? 2 : 4);
    record_end();
    record_unlock();
    record_here.inside = false;
    errno = after;
    return moved;
}

static inline void *recorded(void *block, size_t size, struct caller caller) {
    uint64_t words[] = {WIRE_ALLOC, size, 0};
    if (recording()) record(block, words, 3, 2, caller);
    return block;
}

/* `more` is the count of objects, or the alignment. */
static inline void *recorded_as(unsigned kind, void *block, uint64_t more, size_t size, struct caller caller) {
    uint64_t words[] = {kind, size, 0, more};
    if (recording()) record(block, words, 4, 2, caller);
    return block;
}

static inline void *recorded_of_null(void *block, size_t size, struct caller caller) {
    uint64_t words[] = {WIRE_REALLOC, size, 0, WIRE_ADDRESS((uintptr_t)block)};
    if (recording()) record(NULL, words, 4, 2, caller);
    return block;
}

static inline void *realloc_for(void *block, size_t size, struct caller caller) {
    if (!recording()) return next.realloc(block, size);
    if (!block) return recorded_of_null(next.realloc(NULL, size), size, caller);
    return record_realloc(block, size, caller);
}

static inline void free_for(void *block, struct caller caller) {
    uint64_t words[] = {WIRE_FREE, 0};
    if (block && recording()) record(block, words, 2, 1, caller);
    next.free(block);
}

/* ---- The family -------------------------------------------------------------------------------------------------- */

EXPORT void *malloc(size_t size) {
    return recorded(next.malloc(size), size, CALLER);
}

EXPORT void *calloc(size_t nmemb, size_t size) {
    return recorded_as(WIRE_CALLOC, next.calloc(nmemb, size), nmemb, size, CALLER);
}

EXPORT void *realloc(void *ptr, size_t size) {
    return realloc_for(ptr, size, CALLER);
}

EXPORT void *reallocarray(void *ptr, size_t nmemb, size_t size) {
    size_t bytes;
    if (!__builtin_mul_overflow(nmemb, size, &bytes)) return realloc_for(ptr, bytes, CALLER);
    errno = ENOMEM;
    return recorded(NULL, SIZE_MAX, CALLER);
}

EXPORT int posix_memalign(void **memptr, size_t alignment, size_t size) {
    int error = next.posix_memalign(memptr, alignment, size);
    if (error != EINVAL) recorded_as(WIRE_ALIGNED, error ? NULL : *memptr, alignment, size, CALLER);
    return error;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
    return recorded_as(WIRE_ALIGNED, next.aligned_alloc(alignment, size), alignment, size, CALLER);
}

EXPORT void *memalign(size_t alignment, size_t size) {
    return recorded_as(WIRE_ALIGNED, next.memalign(alignment, size), alignment, size, CALLER);
}

EXPORT void *valloc(size_t size) {
    return recorded_as(WIRE_ALIGNED, next.valloc(size), (uint64_t)sysconf(_SC_PAGESIZE), size, CALLER);
}

EXPORT void *pvalloc(size_t size) {
    return recorded_as(WIRE_ALIGNED, next.pvalloc(size), (uint64_t)sysconf(_SC_PAGESIZE), size, CALLER);
}

EXPORT void free(void *ptr) {
    free_for(ptr, CALLER);
}

EXPORT void free_sized(void *block, size_t size) {
    (void)size;
    free_for(block, CALLER);
}

EXPORT void free_aligned_sized(void *block, size_t align, size_t size) {
    (void)align, (void)size;
    free_for(block, CALLER);
}

/* ---- Objects that do not come from malloc ------------------------------------------------------------------------ */

EXPORT void kolk_record_object(const char *pool, const void *from, const void *to, size_t size) {
    struct caller caller = CALLER;
    caller.pool = pool;
    if ((!from && !to) || !recording()) return;
    const void *own = (const void *)((uintptr_t)(from ? from : to) | WIRE_OWN);
    uint64_t freed[] = {WIRE_FREE, 0}, taken[] = {WIRE_ALLOC, size, 0};
    uint64_t resized[] = {WIRE_REALLOC, size, 0, (uintptr_t)to | WIRE_OWN};
    if (from && to)
        record(own, resized, 4, 2, caller);
    else if (to)
        record(own, taken, 3, 2, caller);
    else
        record(own, freed, 2, 1, caller);
}

/* ---- The start --------------------------------------------------------------------------------------------------- */

/* ld.so calls a constructor with the arguments of main. */
__attribute__((constructor)) static void start(int count, char **arguments, char **environment) {
    (void)count, (void)arguments;
    int before = errno;
    struct wire *wire = record_wire(environment);
    if (wire)
        __atomic_store_n(&wire->state, record_stacks_begin() ? record_ring_begin(wire) : WIRE_NO_MEMORY,
                         __ATOMIC_RELEASE);
    errno = before;
}
