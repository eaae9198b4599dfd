/* wraps: atexit calloc free getenv malloc realloc */
/* Depots, magazines and keepers without a pool around them, as in a heap that serves malloc: several depots and any
 * number of keepers, each with one magazine per depot, all in static memory. Nothing here may call malloc, read the
 * environment or register an exit handler. */
#include "../queue/queue_test.h"

#include "store/depot.h"

enum { DEPOTS = 2, SLOTS = 300, CACHE = 8, KEEPERS = 200, NONE = -1 };

/* ---- Forbidden calls --------------------------------------------------------------------------------------------- */

static unsigned calls;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
char *__real_getenv(const char *name);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *old);
char *__wrap_getenv(const char *name);
int __wrap_atexit(void (*function)(void));

void *__wrap_malloc(size_t size) {
    calls++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
    calls++;
    return __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
    calls++;
    return __real_realloc(old, size);
}

void __wrap_free(void *old) {
    calls++;
    __real_free(old);
}

char *__wrap_getenv(const char *name) {
    calls++;
    return __real_getenv(name);
}

int __wrap_atexit(void (*function)(void)) {
    (void)function;
    calls++;
    return 0;
}

/* ---- Depots and keepers ------------------------------------------------------------------------------------------ */

typedef struct keeper {
    kolk_keeper_ base; /* must be the first member, because the list links these */
    struct {
        kolk_magazine_ magazine;
        uint32_t entries[CACHE];
    } of[DEPOTS];
} keeper;

static kolk_keepers_ keepers;
static keeper all[KEEPERS];
static kolk_depot_ depots[DEPOTS];
static uint64_t sheets[DEPOTS][SLOTS / 64 + 1][KOLK_SHEET_];
static uint32_t alive[DEPOTS][SLOTS]; /* whether a keeper has taken the slot */

static kolk_keeper_ *make_one(uint32_t n) {
    for (unsigned d = 0; d < DEPOTS; d++) {
        all[n].of[d].magazine.depot = &depots[d];
        all[n].of[d].magazine.cache = depots[d].cache;
        kolk_magazine_begin_entries_(&all[n].of[d].magazine);
        kolk_keeper_add_(&all[n].base, &all[n].of[d].magazine);
    }
    kolk_keepers_list_(&keepers, &all[n].base);
    return &all[n].base;
}

/* Takes a keeper that no thread has, or a new one if there are fewer than `limit`. */
static keeper *join_up_to(uint32_t limit) {
    uint32_t n = 0;
    kolk_lock_word_(&keepers.lock);
    kolk_keeper_ *found = kolk_keepers_first_(&keepers);
    for (; found && found->taken; found = found->next) n++;
    if (!found && n < limit) found = make_one(n);
    if (found) kolk_keeper_take_(found);
    kolk_unlock_word_(&keepers.lock);
    return (keeper *)(void *)found;
}

static void begin_depots(uint32_t cache, uint32_t usable) {
    calls = 0;
    memset(&keepers, 0, sizeof keepers);
    memset(all, 0, sizeof all);
    memset(depots, 0, sizeof depots);
    memset(sheets, 0, sizeof sheets);
    memset(alive, 0, sizeof alive);
    for (unsigned d = 0; d < DEPOTS; d++) {
        kolk_depot_begin_(&depots[d], &keepers, SLOTS, cache);
        depots[d].free = (kolk_slot_set_){sheets[d][SLOTS / 64] + KOLK_SHEET_, KOLK_SHEET_};
        kolk_depot_extend_(&depots[d], usable);
    }
}

/* Looks for free slots, then for slots that were never used. */
static uint64_t look(kolk_depot_ *depot, uint32_t *word, uint32_t most) {
    uint64_t bits = kolk_depot_search_(depot, word, most);
    return bits ? bits : kolk_depot_take_fresh_(depot, word, most);
}

/* Takes a slot; returns NONE if there is none. */
static int take(keeper *me, unsigned d) {
    kolk_magazine_ *magazine = &me->of[d].magazine;
    if (kolk_magazine_count_(magazine)) return (int)kolk_magazine_pop_(magazine);
    uint64_t returns, bits;
    kolk_magazine_go_back_(magazine);
    do {
        returns = kolk_load_(&depots[d].returns, KOLK_ACQUIRE_);
        bits = look(&depots[d], &magazine->next_word, kolk_depot_is_uncached_(&depots[d]) ? 1 : KOLK_WHOLE_WORD_);
    } while (!bits && kolk_load_(&depots[d].returns, KOLK_SEQ_CST_) != returns);
    if (bits & (bits - 1)) kolk_magazine_fill_(magazine, bits & (bits - 1));
    kolk_magazine_set_bound_(magazine);
    if (!bits) kolk_magazines_go_uncached_(&depots[d]);
    return bits ? (int)kolk_depot_slot_(&depots[d], magazine->next_word, bits) : NONE;
}

static void give(keeper *me, unsigned d, int slot) {
    kolk_magazine_ *magazine = &me->of[d].magazine;
    bool uncached = kolk_depot_is_uncached_(&depots[d]);
    if (uncached || kolk_magazine_count_(magazine) == magazine->cache)
        kolk_magazine_put_oldest_(magazine, (kolk_magazine_count_(magazine) + !uncached) / (uncached ? 1 : 2));
    if (uncached)
        kolk_depot_put_(&depots[d], (uint32_t)slot);
    else
        kolk_magazine_push_(magazine, (uint32_t)slot);
}

static void leave_depots(keeper *me) {
    for (unsigned d = 0; d < DEPOTS; d++) {
        kolk_magazine_ *magazine = &me->of[d].magazine;
        kolk_magazine_put_oldest_(magazine, kolk_magazine_count_(magazine));
    }
    kolk_lock_word_(&keepers.lock);
    kolk_keeper_release_(&me->base);
    kolk_unlock_word_(&keepers.lock);
}

/* ---- Tests ------------------------------------------------------------------------------------------------------- */

/* Each slot is handed out once, whichever keeper takes it, and none is lost, with magazines and without. */
static void test_all_slots_of_two_depots(void **state) {
    (void)state;
    for (uint32_t cache = 0; cache <= CACHE; cache += CACHE / 2) {
        begin_depots(cache, SLOTS);
        keeper *two[] = {join_up_to(KEEPERS), join_up_to(KEEPERS)};
        for (unsigned round = 0; round < 3; round++) {
            for (unsigned d = 0; d < DEPOTS; d++) {
                unsigned n = 0;
                for (int slot; (slot = take(two[n % 2], d)) != NONE; n++) {
                    assert_in_range(slot, 0, SLOTS - 1);
                    assert_int_equal(alive[d][slot]++, 0);
                }
                assert_in_range(n, SLOTS - cache, SLOTS); /* the others are in the other keeper's magazine */
                assert_true(kolk_depot_is_uncached_(&depots[d]));
                for (int slot = 0; slot < SLOTS; slot++)
                    if (alive[d][slot]) give(two[slot % 2], d, slot);
                memset(alive[d], 0, sizeof alive[d]);
            }
        }
        for (unsigned m = 0; m < 2; m++) leave_depots(two[m]);
        for (unsigned d = 0; d < DEPOTS; d++)
            assert_int_equal(kolk_slot_set_count_(&depots[d].free, kolk_depot_words_(&depots[d], SLOTS)), SLOTS);
        assert_int_equal(calls, 0);
    }
}

/* An empty magazine takes slots of a word that it had before, although the search would find another word first. */
static void test_a_magazine_goes_back_to_its_words(void **state) {
    (void)state;
    begin_depots(CACHE, SLOTS);
    keeper *me = join_up_to(KEEPERS), *other = join_up_to(KEEPERS);
    for (int slot = 0; slot < 2 * CACHE; slot++) assert_int_equal(take(me, 0), slot);
    for (int slot = 2 * CACHE; slot < 4 * CACHE; slot++) assert_int_equal(take(other, 0), slot);
    give(me, 0, 3);
    assert_int_equal(take(me, 0), 3);
    kolk_depot_put_(&depots[0], 2 * CACHE); /* in the next word */
    kolk_depot_put_(&depots[0], 5);
    kolk_depot_put_(&depots[0], 1);
    assert_int_equal(take(me, 0), 1);
    assert_int_equal(take(me, 0), 5);
    assert_int_equal(take(me, 0), 2 * CACHE);
    assert_int_equal(take(me, 0), 4 * CACHE);
    leave_depots(me);
    leave_depots(other);
}

/* Takes near slots for a processor, and notes that. Returns the first slot; NONE if there is none. */
static int take_near(kolk_depot_ *depot, uint32_t processor) {
    uint32_t word = 0;
    uint64_t bits = kolk_depot_search_near_(depot, &word, processor);
    kolk_depot_note_taker_(depot, word, bits, processor);
    return bits ? (int)kolk_depot_slot_(depot, word, bits) : NONE;
}

/* A processor finds the words of which it took at least half last. If few other words have free slots, it gets a new
 * word; if many have, or none, it gets nothing. */
static void test_processors_keep_to_their_words(void **state) {
    enum { FEW = 8, WORD = CACHE };
    (void)state;
    begin_depots(CACHE, SLOTS);
    kolk_depot_ *depot = &depots[0];
    assert_int_equal(kolk_depot_word_bits_(depot), WORD);
    assert_int_equal(take_near(depot, 1), NONE);
    uint32_t word = 0;
    for (uint32_t n = 0; n <= FEW; n++) { /* the last word is processor 2's */
        uint64_t bits = kolk_depot_take_fresh_(depot, &word, KOLK_WHOLE_WORD_);
        kolk_depot_note_taker_(depot, word, bits, 1 + n / FEW);
    }
    for (uint32_t n = 0; n <= FEW; n++) kolk_depot_put_(depot, n * WORD + 1);
    assert_int_equal(take_near(depot, 2), FEW * WORD + 1);
    kolk_depot_note_taker_(depot, 3, UINT64_C(1) << (WORD / 2 - 1), 2); /* one slot of a word: it stays processor 1's */
    assert_int_equal(take_near(depot, 2), (FEW + 1) * WORD);            /* the first word that was never used */
    kolk_depot_put_(depot, FEW * WORD + 1);
    assert_int_equal(take_near(depot, 3), NONE); /* nine words are more than a few */
    for (uint32_t n = 0; n < FEW; n++) assert_int_equal(take_near(depot, 1), n * WORD + 1);
    kolk_depot_note_taker_(depot, FEW, (UINT64_C(1) << WORD / 2) - 1, 1); /* half of it */
    assert_int_equal(take_near(depot, 1), FEW * WORD + 1);
    assert_int_equal(take_near(depot, 1), NONE);
    assert_int_equal(calls, 0);
}

/* Each slot arrives in the depot, even if the words of two slots have the same place while they are gathered. */
static void test_slots_of_many_words_leave_together(void **state) {
    (void)state;
    static const int slots[] = {0, 256, 257, 1};
    begin_depots(4, SLOTS);
    keeper *me = join_up_to(KEEPERS);
    for (int slot = 0; slot < SLOTS; slot++) assert_int_equal(take(me, 0), slot);
    for (unsigned n = 0; n < 4; n++) give(me, 0, slots[n]);
    leave_depots(me);
    assert_int_equal(kolk_slot_set_count_(&depots[0].free, kolk_depot_words_(&depots[0], SLOTS)), 4);
    for (unsigned n = 0; n < 4; n++)
        assert_true(*kolk_slot_set_word_(&depots[0].free, (uint64_t)slots[n] / 4) &
                    kolk_depot_bit_(&depots[0], (uint32_t)slots[n]));
}

/* Slots beyond `usable` are not taken, not even after a search has proved the depot empty; extending the depot makes
 * more of them available. */
static void test_a_depot_is_extended(void **state) {
    (void)state;
    begin_depots(CACHE, 0);
    keeper *me = join_up_to(KEEPERS);
    int last = NONE;
    for (uint32_t usable = 0; usable <= SLOTS; usable += 7) {
        kolk_depot_extend_(&depots[1], usable);
        for (int slot; (slot = take(me, 1)) != NONE; last = slot) assert_int_equal(slot, last + 1);
        assert_int_equal(last + 1, usable);
        assert_int_equal(take(me, 0), NONE);
    }
    assert_int_equal(calls, 0);
}

static void test_members_without_limit(void **state) {
    (void)state;
    begin_depots(CACHE, SLOTS);
    for (uint32_t n = 0; n < KEEPERS; n++) {
        keeper *me = join_up_to(KEEPERS);
        assert_ptr_equal(me, &all[n]);
        assert_true(me->base.taken);
        unsigned magazines = 0, listed = 0;
        for (kolk_magazine_ *it = kolk_keeper_magazines_(&me->base); it; it = it->next, magazines++)
            assert_ptr_equal(it->keeper, me);
        for (const kolk_keeper_ *it = kolk_keepers_first_(&keepers); it; it = it->next) listed++;
        assert_int_equal(magazines, DEPOTS);
        assert_int_equal(listed, n + 1);
    }
    assert_null(join_up_to(KEEPERS)); /* the limit that join_up_to was given */
    leave_depots(&all[17]);
    assert_ptr_equal(join_up_to(KEEPERS), &all[17]);
    assert_null(join_up_to(KEEPERS));
    assert_int_equal(calls, 0);
}

/* When a depot goes uncached, its magazines in all keepers keep nothing until enough slots have returned; other depots'
 * magazines are not affected. */
static void test_bounds(void **state) {
    (void)state;
    begin_depots(CACHE, SLOTS);
    keeper *two[] = {join_up_to(KEEPERS), join_up_to(KEEPERS)};
    int slot = take(two[0], 0);
    for (unsigned m = 0; m < 2; m++)
        for (unsigned d = 0; d < DEPOTS; d++) kolk_magazine_set_bound_(&two[m]->of[d].magazine);
    kolk_magazines_go_uncached_(&depots[0]);
    for (unsigned m = 0; m < 2; m++) {
        assert_int_equal(two[m]->of[0].magazine.bound, 0);
        assert_int_equal(two[m]->of[1].magazine.bound, SLOTS);
    }
    keeper *late = join_up_to(KEEPERS);
    for (unsigned n = 0; n < SLOTS; n++) { /* this many slots must return to the depot */
        assert_true(kolk_depot_is_uncached_(&depots[0]));
        give(two[1], 0, slot);
        assert_int_equal(two[1]->of[0].magazine.top, 0);
        slot = take(late, 0);
        assert_int_equal(late->of[0].magazine.bound, n + 1 < SLOTS ? 0 : SLOTS);
    }
    assert_false(kolk_depot_is_uncached_(&depots[0]));
    give(two[1], 0, slot);
    assert_int_equal(two[1]->of[0].magazine.top, 1);
    assert_int_equal(calls, 0);
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

#define THREADS 4u

static unsigned steps;

static void take_one(keeper *me, unsigned d, int held[SLOTS], unsigned *holds) {
    int slot = take(me, d);
    if (slot == NONE) return;
    REQUIRE(kolk_exchange_(&alive[d][slot], 1, KOLK_RELAXED_) == 0);
    held[(*holds)++] = slot;
}

static void give_one(keeper *me, unsigned d, const int held[SLOTS], unsigned *holds) {
    int slot = held[--*holds];
    REQUIRE(kolk_exchange_(&alive[d][slot], 0, KOLK_RELAXED_) == 1);
    give(me, d, slot);
}

static void *work(void *argument) {
    uint64_t random = (uintptr_t)argument + 1;
    int held[DEPOTS][SLOTS];
    unsigned holds[DEPOTS] = {0};
    keeper *me = join_up_to(KEEPERS);
    for (unsigned n = steps; n > 0; n--) {
        unsigned d = (unsigned)random_below(&random, DEPOTS);
        if (random_below(&random, 2))
            take_one(me, d, held[d], &holds[d]);
        else if (holds[d])
            give_one(me, d, held[d], &holds[d]);
    }
    for (unsigned d = 0; d < DEPOTS; d++)
        while (holds[d]) give_one(me, d, held[d], &holds[d]);
    leave_depots(me);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    steps = does_a_part() ? 20000 : 200000;
    for (uint32_t cache = 0; cache <= CACHE; cache += CACHE) {
        pthread_t threads[THREADS];
        begin_depots(cache, SLOTS);
        for (uintptr_t t = 0; t < THREADS; t++) assert_int_equal(pthread_create(&threads[t], NULL, work, (void *)t), 0);
        for (unsigned t = 0; t < THREADS; t++) assert_int_equal(pthread_join(threads[t], NULL), 0);
        for (unsigned d = 0; d < DEPOTS; d++)
            assert_int_equal(kolk_slot_set_count_(&depots[d].free, kolk_depot_words_(&depots[d], depots[d].fresh)),
                             depots[d].fresh);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_slots_of_two_depots),
        cmocka_unit_test(test_a_magazine_goes_back_to_its_words),
        cmocka_unit_test(test_processors_keep_to_their_words),
        cmocka_unit_test(test_slots_of_many_words_leave_together),
        cmocka_unit_test(test_a_depot_is_extended),
        cmocka_unit_test(test_members_without_limit),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
