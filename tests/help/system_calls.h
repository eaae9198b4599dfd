/* wraps: help/system_calls_posix.h help/system_calls_windows.h */
/* system_calls.h: counts the system calls that pools make, and refuses them on demand. It also has large stamped
 * objects for the tests of growth. */
#ifndef TESTS_SYSTEM_CALLS_H
#define TESTS_SYSTEM_CALLS_H

#include "test.h"

#include <errno.h>
#include <unistd.h>
#if KOLK_HOSTED
#include <sys/mman.h>
#endif

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

static struct {
    unsigned calls;
    size_t looked_at;      /* how many bytes mincore was asked about */
    unsigned refused_from; /* refuses from the n-th call on; 0: refuses none */
    bool for_ever;
    bool only_mincore;
} os;

static inline bool refused(bool is_mincore) {
    if (os.only_mincore && !is_mincore) return false;
    os.calls++;
    bool now = os.refused_from && (os.for_ever ? os.calls >= os.refused_from : os.calls == os.refused_from);
    if (now) errno = ENOMEM;
    return now;
}

#ifdef _WIN32
#include "system_calls_windows.h"
#elif !KOLK_HOSTED /* the only calls are those for a block: tests/device/begin.c */
bool kolk_test_refuses(void);
bool kolk_test_refuses(void) {
    return refused(false);
}
#else
#include "system_calls_posix.h"
#endif

static inline void refuse(unsigned nth, bool for_ever) {
    os.calls = 0;
    os.looked_at = 0;
    os.refused_from = nth;
    os.for_ever = for_ever;
    os.only_mincore = false;
}

static inline int accept_again(void **state) {
    refuse(0, false);
    return abort_on_failure(state);
}

#define REFUSAL_TEST(name) cmocka_unit_test_teardown(name, accept_again)

/* The setup of a group of tests: makes the registry and the names allocate their own memory now, so that tests
 * refuse only the pool's. */
static inline int list_a_pool(void **state) {
    (void)state;
    kolk_pool pool;
    if (kolk_pool_init(&pool, &(kolk_pool_desc){.name = "first", .object_size = 1, .capacity = 1}) != KOLK_OK)
        return -1;
    kolk_pool_deinit(&pool);
    return 0;
}

/* ---- Leaks ------------------------------------------------------------------------------------------------------- */

/* Returns how many pages of address space this process has, or 0 if unknown. */
static inline long address_space(void) {
    char text[64] = "";
    if (emulator()) return 0;
#ifdef _WIN32
    return 0;
#endif
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file) return 0;
    setvbuf(file, NULL, _IONBF, 0);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    return strtol(text, NULL, 10);
}

/* ---- Pools that grow --------------------------------------------------------------------------------------------- */

#define OBJECT 1000u /* a large stride: the pool starts with 65 slots and grows in small steps */

static inline void *stamped(kolk_pool *pool, uint32_t number) {
    uint32_t *object = (uint32_t *)kolk_pool_alloc(pool);
    if (object)
        for (size_t i = 0; i < OBJECT / sizeof *object; i++) object[i] = number;
    return object;
}

static inline bool is_stamped(const void *object, uint32_t number) {
    const uint32_t *words = (const uint32_t *)object;
    for (size_t i = 0; i < OBJECT / sizeof *words; i++)
        if (words[i] != number) return false;
    return true;
}

/* A setup hook, which gives a shape one more region. Each region is committed by a call of its own. */
static inline bool set_up_nothing(void *object, void *context) {
    (void)object, (void)context;
    return true;
}

static inline kolk_pool_desc shape(unsigned n, uint32_t capacity, uint32_t max_capacity) {
    return (kolk_pool_desc){.name = "refused",
                            .object_size = OBJECT,
                            .capacity = capacity,
                            .reuse = orders[n % 3],
                            .max_capacity = max_capacity,
                            .life.setup = n >= 3 ? set_up_nothing : NULL};
}

/* Returns how many bytes of the pool's slots are backed by physical memory. */
static inline size_t resident(const kolk_pool *pool) {
#if KOLK_HOSTED
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = 0;
    size_t pages = ((size_t)pool->capacity * pool->stride + page - 1) / page;
    unsigned char *states = (unsigned char *)malloc(pages);
    assert_non_null(states);
    assert_int_equal(__real_mincore(pool->slots, pages * page, states), 0);
    for (size_t i = 0; i < pages; i++) bytes += states[i] & 1 ? page : 0;
    free(states);
    return bytes;
#else
    return (size_t)pool->capacity * pool->stride; /* a device's memory is always there */
#endif
}

#endif
