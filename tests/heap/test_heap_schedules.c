/* runs: long once with: KOLK_SCHEDULED=1 wraps: help/arena.h */
/* Runs every order of the steps of threads that use a class for the first time, and of a free that runs concurrently
 * with a reclaim of the freeing thread's magazine, as in a fork's child. Loads may return old values where the memory
 * orders allow it. */
#include "../help/test.h"

#define ARENA_PAGES 1024
#define ARENA_KEEPS
#include "../help/arena.h"
#include "../help/schedule.h"
#include "heap/heap_inside.h"

#include <unistd.h>

/* The fast paths, compiled with steps: see shared_schedule.h. A magazine's entries are plain memory. */
static inline uint32_t *stepped_entry(kolk_magazine_ *magazine, uint32_t n) {
    uint32_t *entry = kolk_magazine_entry_(magazine, n);
    KOLK_PLAIN_WRITE_(entry, sizeof *entry);
    return entry;
}
#define __atomic_load_n(at, order)          kolk_load_(at, order)
#define __atomic_store_n(at, number, order) kolk_store_(at, number, order)
#define kolk_magazine_entry_                stepped_entry
#include "heap/heap_fast.h"
#undef __atomic_load_n
#undef __atomic_store_n
#undef kolk_magazine_entry_

/* ---- A heap with a class ----------------------------------------------------------------------------------------- */

enum { THREADS = 2, CAPACITY = 8 };

typedef struct state {
    kolk_heap heap;
    kolk_heap_thread_ *threads[THREADS]; /* all run in one system thread, so each gets its own record here */
    kolk_magazine_ *magazine;
    void *block;
    uint32_t top;
} state;

static state own;

static void begin(void *context) {
    state *s = (state *)context;
    kolk_leaves_end_();
    arena_begin();
    *s = (state){.top = 0};
    kolk_heap_desc desc = {.classes = &(kolk_heap_class){.size = ARENA_PAGE}, .n_classes = 1};
    schedule_assert(kolk_heap_init(&s->heap, &desc) == KOLK_OK);
    s->heap.inside->trays[0].capacity = CAPACITY; /* the capacity of the class, which is not made yet */
    for (unsigned n = 0; n < THREADS; n++) {
        schedule_assert((s->threads[n] = kolk_heap_thread_of_(&s->heap)));
        kolk_near_heaps_[s->heap.place].id = 0;
    }
    schedule_assert(s->threads[0] != s->threads[1]);
}

static void end(void *context) {
    state *s = (state *)context;
    schedule_assert(kolk_heap_is_valid(&s->heap));
    kolk_heap_deinit(&s->heap);
}

static void run(const char *name, void (*start)(void *), void (*first)(void *), void (*second)(void *)) {
    schedule_must_pass(&(schedule){.name = name,
                                   .context = &own,
                                   .begin = start,
                                   .threads = {{"first", first}, {"second", second}},
                                   .end = end,
                                   .preemptions = does_a_part() ? 1 : 2,
                                   .surprises = 1,
                                   .random = does_a_part() ? 200 : 2000});
}

/* ---- Making a class ---------------------------------------------------------------------------------------------- */

/* Does what heap.c does. The thread that made the class has committed the block's memory. */
static void use_class(void *context) {
    state *s = (state *)context;
    kolk_slot_store_ *store = kolk_heap_make_class_(&s->heap, 0);
    schedule_assert(store);
    void *block = kolk_store_alloc_(store, kolk_heap_magazine_(s->threads[schedule_thread()], &s->heap, 0), NULL);
    schedule_assert(block && kolk_heap_store_of_(&s->heap, block) == store);
    KOLK_PLAIN_WRITE_(block, 8);
    memset(block, 'x', 8);
}

static void test_making_a_class(void **unused) {
    run("making a class", begin, use_class, use_class);
}

/* ---- A free, and a fork's child ---------------------------------------------------------------------------------- */

static void begin_with_block(void *context) {
    state *s = (state *)context;
    begin(context);
    kolk_slot_store_ *store = kolk_heap_make_class_(&s->heap, 0);
    s->magazine = kolk_heap_magazine_(s->threads[0], &s->heap, 0);
    schedule_assert((s->block = kolk_store_alloc_(store, s->magazine, NULL)));
    s->top = s->magazine->top;
}

static void free_at_hand(void *context) {
    const state *s = (const state *)context;
    schedule_assert(give_to_magazine(s->magazine, s->block, CAPACITY));
}

/* A child that reclaims the magazine finds all that was written before `top`: the entry, and the end of the life. */
static void find_as_child(void *context) {
    const state *s = (const state *)context;
    if (kolk_load_(&s->magazine->top, KOLK_ACQUIRE_) == s->top) return;
    const uint32_t *entry = kolk_magazine_entry_(s->magazine, s->top);
    KOLK_PLAIN_READ_(entry, sizeof *entry);
    schedule_assert(s->magazine->slots + *entry * (size_t)ARENA_PAGE == (unsigned char *)s->block);
    schedule_assert(!(kolk_load_(&s->magazine->short_lives[*entry], KOLK_RELAXED_) & 1));
}

static void test_free_beside_a_fork(void **unused) {
    run("free beside a fork", begin_with_block, free_at_hand, find_as_child);
}

int main(void) {
    END_IF_IT_HANGS();
    if (sizeof(void *) < 8) return 0; /* there are no heaps on 32-bit machines */
    setenv("KOLK_BYPASS", "0", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_making_a_class),
                                       cmocka_unit_test(test_free_beside_a_fork)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
