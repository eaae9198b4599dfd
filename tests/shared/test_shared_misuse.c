/* Misuse of a shared pool by one local and another; what is common to all kinds is in contracts/test_all_misuse.c. And
 * kolk_shared_is_valid sees each broken invariant of src/shared/shared.c. */
#include "../help/test.h"

#include "shared_test.h"

enum { SIZE = 24, SLOTS = 8 }; /* words of 2 slots; two locals; slack 2 */

/* 0 and 1 are alive, 2 and 3 in a magazine, 4 is at home, 5 alive; 6 and 7 were never handed out. */
typedef struct fixture {
    kolk_shared pool;
    kolk_local local, other;
    void *objects[6];
    notes taken;
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
    for (int i = 0; i < 6; i++) assert_non_null(f->objects[i] = kolk_local_alloc(&f->local));
    kolk_local_free(&f->local, f->objects[4]);
    kolk_local_flush(&f->local);
    kolk_local_free(&f->local, f->objects[2]);
    kolk_local_free(&f->other, f->objects[3]);
    assert_true(kolk_shared_is_valid(&f->pool));
    begin_notes(&f->taken);
}

static void assert_unchanged(const fixture *f) {
    assert_true(kolk_shared_is_valid(&f->pool));
    assert_int_equal(kolk_shared_count(&f->pool), 3);
    for (int i = 0; i < 6; i++) assert_int_equal(kolk_shared_is_live(&f->pool, f->objects[i]), i < 2 || i == 5);
}

/* Every slot of the pool can be had, and none twice. */
static void end_fixture(fixture *f) {
    assert_unchanged(f);
    assert_silent(&f->taken);
    kolk_local_flush(&f->other);
    for (uint32_t i = 3; i < SLOTS; i++) assert_non_null(kolk_local_alloc(&f->local));
    assert_null(kolk_local_alloc(&f->local));
    end_shared(&f->pool);
}

#define KINDS 4 /* with and without handles, exact and not */

static void test_double_free(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        for (int i = 0; i < 10; i++) { /* by the local that freed it, and by another */
            kolk_local *local = i % 2 ? &f.local : &f.other;
            kolk_local_free(local, f.objects[2]);
            assert_noted(&f.taken, KOLK_DOUBLE_FREE, "jobs", f.objects[2], 2, "kolk: jobs: double free of slot 2");
            kolk_local_free(local, f.objects[3]);
            assert_noted(&f.taken, KOLK_DOUBLE_FREE, "jobs", f.objects[3], 3, "kolk: jobs: double free of slot 3");
            kolk_local_free(local, f.objects[4]); /* at home */
            assert_noted(&f.taken, KOLK_DOUBLE_FREE, "jobs", f.objects[4], 4, "kolk: jobs: double free of slot 4");
        }
        end_fixture(&f);
    }
}

/* The magazine is full, and some of it has gone home before the pointer was looked at. */
static void test_double_free_with_a_full_magazine(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fixture f;
        set_up(&f, kind);
        assert_ptr_equal(kolk_local_alloc(&f.other), f.objects[3]);
        kolk_local_free(&f.local, f.objects[3]);
        kolk_local_free(&f.local, f.objects[3]);
        assert_noted(&f.taken, KOLK_DOUBLE_FREE, "jobs", f.objects[3], 3, "kolk: jobs: double free of slot 3");
        kolk_local_free(&f.local, NULL); /* is nothing */
        end_fixture(&f);
    }
}

/* Slot 6 lies in a magazine, fetched but never given out; of 7 nobody has heard. */
static void test_slots_that_were_never_handed_out(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind += 2) {
        fixture f;
        set_up(&f, kind);
        for (uint32_t slot = 6; slot < SLOTS; slot++) {
            char sentence[100];
            void *object = moved(f.pool.slots, (ptrdiff_t)slot * SIZE);
            snprintf(sentence, sizeof sentence, "kolk: jobs: free of slot %u, which was never handed out", slot);
            kolk_local_free(&f.local, object);
            assert_noted(&f.taken, KOLK_NEVER_ISSUED, "jobs", object, slot, sentence);
            snprintf(sentence, sizeof sentence, "kolk: jobs: handle of slot %u, which was never handed out", slot);
            assert_true(kolk_handle_is_null(kolk_shared_handle(&f.pool, object)));
            assert_noted(&f.taken, KOLK_NEVER_ISSUED, "jobs", object, slot, sentence);
        }
        end_fixture(&f);
        set_up(&f, kind);
        assert_ptr_equal(kolk_local_alloc(&f.other), f.objects[3]);
        assert_ptr_equal(kolk_local_alloc(&f.other), f.objects[4]);
        assert_ptr_equal(kolk_local_alloc(&f.other), moved(f.pool.slots, 6 * SIZE));
        void *object = moved(f.pool.slots, 7 * SIZE);
        kolk_local_free(&f.local, object);
        assert_noted(&f.taken, KOLK_NEVER_ISSUED, "jobs", object, 7,
                     "kolk: jobs: free of slot 7, which was never handed out");
        end_shared(&f.pool);
    }
}

/* A slot's byte of lives wraps round after 128 of them: a double free is one all the same. */
static void test_many_lives_without_handles(void **state) {
    (void)state;
    for (unsigned kind = 1; kind < KINDS; kind += 2) {
        fixture f;
        set_up(&f, kind);
        for (int life = 0; life < 600; life++) {
            assert_ptr_equal(kolk_local_alloc(&f.local), f.objects[2]);
            assert_true(kolk_shared_is_live(&f.pool, f.objects[2]));
            kolk_local_free(&f.local, f.objects[2]);
            kolk_local_free(&f.local, f.objects[2]);
            assert_noted(&f.taken, KOLK_DOUBLE_FREE, "jobs", f.objects[2], 2, "kolk: jobs: double free of slot 2");
        }
        end_fixture(&f);
    }
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

#define assert_seen(what, value) assert_breaks(kolk_shared_is_valid, pool, what, value)

static void break_lives(kolk_shared *pool) {
    for (int slot = 0; slot < SLOTS; slot++) { /* a live one that is free too, and the reverse; I2 */
        if (pool->lives)
            assert_seen(pool->lives[slot], before_ ^ 1);
        else
            assert_seen(pool->short_lives[slot], before_ ^ 1);
    }
    if (pool->lives)
        assert_seen(pool->lives[7], 2); /* above fresh nobody has lived */
    else
        assert_seen(pool->short_lives[7], 2);
}

static void test_validity(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fixture f;
        kolk_shared *pool = &f.pool;
        set_up(&f, kind);
        for (int i = 0; i < 2; i++) assert_non_null(kolk_local_alloc(&f.other)); /* 3 and 4 */
        kolk_local_free(&f.other, f.objects[4]);
        kolk_local_flush(&f.other);
        kolk_local_free(&f.other, f.objects[3]); /* as it was, but that 4 has been fetched */
        assert_unchanged(&f);
        assert_int_equal(f.pool.depot.fresh, 6);
        break_lives(pool);
        kolk_magazine *magazine = f.local.magazine;
        assert_seen(pool->depot.fresh, 5); /* I1, I2 */
        assert_seen(pool->depot.fresh, 7);
        assert_seen(pool->depot.fresh, SLOTS + 1);
        assert_seen(pool->depot.usable, 5);
        assert_seen(pool->depot.usable, SLOTS + 1);
        assert_seen(pool->depot.free.sheets->summary, 0);      /* I3 */
        assert_seen(pool->depot.free.sheets->words[2], 0);     /* I2: slot 4 is nowhere */
        assert_seen(pool->depot.free.sheets->words[2], 2);     /* slot 5, which is alive, for it */
        assert_seen(pool->depot.free.sheets->words[2], 1 | 4); /* beyond the word */
        assert_seen(pool->depot.free.sheets->words[3], 1);     /* above fresh; not in the summary */
        pool->depot.free.sheets->summary |= 0xff;              /* is no sin */
        assert_seen(pool->depot.free.sheets->words[3], 1);     /* above fresh */
        assert_seen(pool->depot.free.sheets->words[0], 1);     /* alive */
        assert_seen(pool->depot.free.sheets->words[1], 1);     /* slot 2, which is in a magazine */
        assert_seen(magazine->top, before_ + 1);               /* twice, or what lay there before_ */
        assert_seen(magazine->top, before_ - 1);               /* nowhere */
        assert_seen(magazine->top, before_ + 3);               /* I4 */
        assert_seen(magazine->leaving, 1);
        assert_seen(*kolk_magazine_entry(magazine, 0), 3); /* I2: in two */
        assert_seen(*kolk_magazine_entry(magazine, 0), 7);
        assert_seen(*kolk_magazine_entry(magazine, 0), UINT32_MAX);
        if (pool->depot.cache == 2)
            assert_seen(pool->depot.cache, 1);  /* I4: two slots in a word, and no magazine has room for them */
        assert_seen(pool->depot.word_shift, 2); /* I4: a word is more than a magazine holds */
        kolk_set_failure_handler(NULL, NULL);
        end_shared(&f.pool);
    }
}

/* 3 and 4 are to be free later, 3 since the epoch before; 5 is alive. */
static void test_validity_of_what_is_free_later(void **state) {
    (void)state;
    for (unsigned kind = 0; kind < KINDS; kind++) {
        fixture f;
        kolk_shared *pool = &f.pool;
        set_up(&f, kind);
        for (int i = 0; i < 2; i++) assert_non_null(kolk_local_alloc(&f.other)); /* 3 and 4 */
        kolk_local_free_later(&f.other, f.objects[3]);
        kolk_local_quiesce(&f.local);
        kolk_local_quiesce(&f.other);
        kolk_local_free_later(&f.other, f.objects[4]);
        assert_true(kolk_shared_is_valid(pool));
        uint64_t epoch = pool->epoch;
        kolk_slot_set *now = &pool->later[epoch % 4], *before_now = &pool->later[(epoch - 1) % 4];
        kolk_slot_set *two_before = &pool->later[(epoch - 2) % 4], *next = &pool->later[(epoch + 1) % 4];
        assert_int_equal(before_now->sheets->words[0], 1 << 3);
        assert_int_equal(now->sheets->words[0], 1 << 4);
        break_lives(pool);
        assert_seen(now->sheets->summary, 0);                            /* I3 */
        assert_seen(now->sheets->words[0], 0);                           /* I2: slot 4 is nowhere */
        assert_seen(now->sheets->words[0], 1 << 5);                      /* alive */
        assert_seen(now->sheets->words[0], 1 << 4 | 1 << 5);             /* alive, and later too */
        assert_seen(now->sheets->words[0], 1 << 4 | 1 << 3);             /* 3 is in two sets */
        assert_seen(now->sheets->words[0], 1 << 4 | 1 << 2);             /* 2 is in a magazine */
        assert_seen(now->sheets->words[0], 1 << 4 | 1 << 7);             /* above fresh */
        assert_seen(now->sheets->words[0], before_ | UINT64_C(1) << 63); /* there is no such slot */
        now->sheets->words[0] = 0;
        pool->later[(epoch + 2) % 4].sheets->summary = 1; /* is no sin */
        two_before->sheets->words[0] = 1 << 4;            /* of another epoch, of the three that wait */
        assert_true(kolk_shared_is_valid(pool));
        two_before->sheets->words[0] = 0;
        next->sheets->summary = 1;
        next->sheets->words[0] = 1 << 4; /* I6: of the one that is none of them */
        assert_false(kolk_shared_is_valid(pool));
        next->sheets->words[0] = 0;
        now->sheets->words[0] = 1 << 4;
        assert_seen(pool->epoch, 0);           /* I6 */
        assert_seen(pool->epoch, before_ + 2); /* I6: of 3 epochs ago, and still waiting */
        assert_seen(pool->depot.waiting, 1);   /* I5 */
        assert_seen(pool->waiters.first, (struct kolk_waiter *)(void *)pool);
        assert_seen(pool->waiters.last, (struct kolk_waiter *)(void *)pool);
        assert_seen(f.local.magazine->leaving, before_ + 1); /* I4: on its way home */
        kolk_set_failure_handler(NULL, NULL);
        end_shared(&f.pool);
    }
}

#define TEST(name) cmocka_unit_test_teardown(name, abort_on_failure)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_double_free),
        TEST(test_double_free_with_a_full_magazine),
        TEST(test_slots_that_were_never_handed_out),
        TEST(test_many_lives_without_handles),
        TEST(test_validity),
        TEST(test_validity_of_what_is_free_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
