/* kolk_shared_is_valid finds each broken invariant of src/shared/shared.c: the test simulates a stray write to one
 * field of a valid pool, and undoes it. */
#include "../help/test.h"

#include "shared_test.h"

enum { SIZE = 24, SLOTS = 8 }; /* depot words of 2 slots, two locals, slack 2 */

/* Slots 0, 1 and 5 are alive, 2 and 3 are in magazines, 4 is in the depot, and 6 and 7 were never handed out. */
typedef struct fixture {
    kolk_shared pool;
    kolk_shared_local local, other;
    void *objects[6];
} fixture;

static void set_up(fixture *f, unsigned kind) {
    memset(f, 0, sizeof *f);
    make_shared(&f->pool, &(kolk_shared_desc){.name = "jobs",
                                              .object_size = SIZE,
                                              .capacity = SLOTS - 2,
                                              .max_threads = 2,
                                              .cache = 2,
                                              .generations = kind % 2 ? KOLK_GENERATIONS_NONE : 0,
                                              .exact = kind / 2 % 2});
    make_local(&f->local, &f->pool);
    make_local(&f->other, &f->pool);
    for (int i = 0; i < 6; i++) assert_non_null(f->objects[i] = kolk_shared_alloc(&f->local));
    kolk_shared_free(&f->local, f->objects[4]);
    kolk_shared_local_flush(&f->local);
    kolk_shared_free(&f->local, f->objects[2]);
    kolk_shared_free(&f->other, f->objects[3]);
    assert_true(kolk_shared_is_valid(&f->pool));
}

#define KINDS 4 /* with and without handles, exact or not */

#define assert_seen(what, value) assert_breaks(kolk_shared_is_valid, pool, what, value)

static void break_lives(kolk_shared *pool) {
    for (int slot = 0; slot < SLOTS; slot++) { /* a live slot that is also free, or one that is neither: I2 */
        if (pool->lives)
            assert_seen(pool->lives[slot], before_ ^ 1);
        else
            assert_seen(pool->inside->store.short_lives[slot], before_ ^ 1);
    }
    if (pool->lives)
        assert_seen(pool->lives[7], 2); /* no slot from fresh on has had a life */
    else
        assert_seen(pool->inside->store.short_lives[7], 2);
}

/* promise: "Checks every invariant of src/shared/shared.c" */
static void test_validity(void **state) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fixture f;
        kolk_shared *pool = &f.pool;
        set_up(&f, kind);
        for (int i = 0; i < 2; i++) assert_non_null(kolk_shared_alloc(&f.other)); /* 3 and 4 */
        kolk_shared_free(&f.other, f.objects[4]);
        kolk_shared_local_flush(&f.other);
        kolk_shared_free(&f.other, f.objects[3]); /* as in set_up, except that 4 was fetched */
        assert_true(kolk_shared_is_valid(pool));
        assert_int_equal(f.pool.inside->store.depot.fresh, 6);
        break_lives(pool);
        kolk_magazine_ *magazine = f.local.magazine;
        assert_seen(pool->inside->store.depot.fresh, 5); /* I1, I2 */
        assert_seen(pool->inside->store.depot.fresh, 7);
        assert_seen(pool->inside->store.depot.fresh, SLOTS + 1);
        assert_seen(pool->inside->store.depot.usable, 5);
        assert_seen(pool->inside->store.depot.usable, SLOTS + 1);
        const kolk_slot_set_ *free_ = &pool->inside->store.depot.free;
        assert_seen(*kolk_slot_set_summary_(free_, 0), 0);  /* I3 */
        assert_seen(*kolk_slot_set_word_(free_, 2), 0);     /* I2: slot 4 is in no set */
        assert_seen(*kolk_slot_set_word_(free_, 2), 2);     /* slot 5, which is alive, instead of 4 */
        assert_seen(*kolk_slot_set_word_(free_, 2), 1 | 4); /* beyond the word's slots */
        assert_seen(*kolk_slot_set_word_(free_, 3), 1);     /* above fresh, and not in the summary */
        *kolk_slot_set_summary_(free_, 0) |= 0xff;          /* a needless bit is allowed */
        assert_seen(*kolk_slot_set_word_(free_, 3), 1);     /* above fresh */
        assert_seen(*kolk_slot_set_word_(free_, 0), 1);     /* alive */
        assert_seen(*kolk_slot_set_word_(free_, 1), 1);     /* slot 2, which is in a magazine */
        assert_seen(magazine->top, before_ + 1);            /* a slot would be in it twice, or an old entry */
        assert_seen(magazine->top, before_ - 1);            /* one slot would be in no set */
        assert_seen(magazine->top, before_ + 3);            /* I4 */
        assert_seen(magazine->leaving, 1);
        assert_seen(*kolk_magazine_entry_(magazine, 0), 3); /* I2: in two sets */
        assert_seen(*kolk_magazine_entry_(magazine, 0), 7);
        assert_seen(*kolk_magazine_entry_(magazine, 0), UINT32_MAX);
        if (pool->inside->store.depot.cache == 2)
            assert_seen(pool->inside->store.depot.cache,
                        1); /* I4: words have two slots, but magazines have no room for two */
        assert_seen(pool->inside->store.depot.word_shift, 2); /* I4: a word has more slots than a magazine holds */
        end_shared(&f.pool);
    }
}

/* Slots 3 and 4 are retired, 3 in the previous epoch; 5 is alive. */
static void test_validity_of_what_is_free_later(void **state) {
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fixture f;
        kolk_shared *pool = &f.pool;
        set_up(&f, kind);
        for (int i = 0; i < 2; i++) assert_non_null(kolk_shared_alloc(&f.other)); /* 3 and 4 */
        kolk_shared_free_later(&f.other, f.objects[3]);
        kolk_shared_quiesce(&f.local);
        kolk_shared_quiesce(&f.other);
        kolk_shared_free_later(&f.other, f.objects[4]);
        assert_true(kolk_shared_is_valid(pool));
        uint64_t epoch = pool->inside->epoch;
        kolk_slot_set_ *now = &pool->inside->store.sets[LATER + epoch % 4],
                       *before_now = &pool->inside->store.sets[LATER + (epoch - 1) % 4];
        kolk_slot_set_ *two_before = &pool->inside->store.sets[LATER + (epoch - 2) % 4],
                       *next = &pool->inside->store.sets[LATER + (epoch + 1) % 4];
        assert_int_equal(*kolk_slot_set_word_(before_now, 0), 1 << 3);
        assert_int_equal(*kolk_slot_set_word_(now, 0), 1 << 4);
        break_lives(pool);
        assert_seen(*kolk_slot_set_summary_(now, 0), 0);                        /* I3 */
        assert_seen(*kolk_slot_set_word_(now, 0), 0);                           /* I2: slot 4 is in no set */
        assert_seen(*kolk_slot_set_word_(now, 0), 1 << 5);                      /* alive */
        assert_seen(*kolk_slot_set_word_(now, 0), 1 << 4 | 1 << 5);             /* 5 is alive and retired */
        assert_seen(*kolk_slot_set_word_(now, 0), 1 << 4 | 1 << 3);             /* 3 is in two sets */
        assert_seen(*kolk_slot_set_word_(now, 0), 1 << 4 | 1 << 2);             /* 2 is in a magazine */
        assert_seen(*kolk_slot_set_word_(now, 0), 1 << 4 | 1 << 7);             /* above fresh */
        assert_seen(*kolk_slot_set_word_(now, 0), before_ | UINT64_C(1) << 63); /* no such slot */
        *kolk_slot_set_word_(now, 0) = 0;
        *kolk_slot_set_summary_(&pool->inside->store.sets[LATER + (epoch + 2) % 4], 0) =
            1;                                        /* a needless bit is allowed */
        *kolk_slot_set_word_(two_before, 0) = 1 << 4; /* retired in another of the three epochs whose slots wait */
        assert_true(kolk_shared_is_valid(pool));
        *kolk_slot_set_word_(two_before, 0) = 0;
        *kolk_slot_set_summary_(next, 0) = 1;
        *kolk_slot_set_word_(next, 0) = 1 << 4; /* I6: this set must be empty */
        assert_false(kolk_shared_is_valid(pool));
        *kolk_slot_set_word_(next, 0) = 0;
        *kolk_slot_set_word_(now, 0) = 1 << 4;
        assert_seen(pool->inside->epoch, 0);               /* I6 */
        assert_seen(pool->inside->epoch, before_ + 2);     /* I6: retired 3 epochs ago, and still waiting */
        assert_seen(pool->inside->store.depot.waiting, 1); /* I5 */
        assert_seen(pool->inside->waiters.first, (struct kolk_waiter_ *)(void *)pool);
        assert_seen(pool->inside->waiters.last, (struct kolk_waiter_ *)(void *)pool);
        assert_seen(f.local.magazine->leaving, before_ + 1); /* I4: a slot on its way to the depot */
        end_shared(&f.pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_validity),
        TEST(test_validity_of_what_is_free_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
