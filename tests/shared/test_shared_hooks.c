/* Objects of a shared pool that are set up once: each promise about setup, reset, teardown and keep, with and without
 * caches, in each debug mode, and with objects from malloc. Threads are in test_shared_hooks_threads.c. */
#include "../help/debug_test.h"

#include "os/thread.h"
#include "shared_test.h"

#include <pthread.h>
#include <unistd.h>

/* ---- A diary of hooks -------------------------------------------------------------------------------------------- */

/* Setup numbers each object. Without setup, an object contains what the test wrote. */
typedef struct part {
    unsigned number;
    struct part *child;
} part;

typedef struct diary {
    kolk_shared pool;
    kolk_shared_local local;
    char text[600]; /* "s0 r0 t0": the hook and the object's number */
    unsigned made;
    int setups_that_fail;
    bool ends; /* set for deinit, when the pool answers no queries */
} diary;

static void write_down(diary *d, char hook, unsigned number) {
    size_t length = strlen(d->text);
    snprintf(d->text + length, sizeof d->text - length, "%s%c%u", length ? " " : "", hook, number);
}

#define assert_diary(d, expected)                                                                                      \
    do {                                                                                                               \
        assert_string_equal((d)->text, expected);                                                                      \
        assert_true(kolk_shared_is_valid(&(d)->pool));                                                                 \
        (d)->text[0] = 0;                                                                                              \
    } while (0)

static bool set_up(void *object, void *context) {
    diary *d = (diary *)context;
    if (!d->ends) assert_false(kolk_shared_is_live(&d->pool, object));
    if (d->setups_that_fail-- > 0) {
        write_down(d, 'f', d->made);
        return false;
    }
    *(part *)object = (part){.number = d->made++};
    write_down(d, 's', ((part *)object)->number);
    return true;
}

static void reset(void *object, void *context) {
    diary *d = (diary *)context;
    if (!d->ends) assert_false(kolk_shared_is_live(&d->pool, object)); /* in a hook the object is dead */
    write_down(d, 'r', ((part *)object)->number);
}

static void tear_down(void *object, void *context) {
    write_down((diary *)context, 't', ((part *)object)->number);
}

/* The pool has caches if n is odd. */
static void begin_diary(diary *d, kolk_shared_desc desc, size_t n) {
    memset(d, 0, sizeof *d);
    desc.object_size = sizeof(part);
    desc.context = d;
    if (!desc.max_threads) desc.max_threads = 1; /* so that there are no slots beyond the capacity */
    desc.debug = begin_debug_mode(n / 2);
    if (n % 2) desc.cache = 5;
    make_shared(&d->pool, &desc);
    make_local(&d->local, &d->pool);
}

static void end_diary(diary *d) {
    assert_true(kolk_shared_is_valid(&d->pool));
    kolk_shared_local_deinit(&d->local);
    d->ends = true;
    kolk_shared_deinit(&d->pool);
}

static part *take_one(diary *d) {
    part *object = (part *)kolk_shared_alloc(&d->local);
    assert_non_null(object);
    return object;
}

static uint64_t failed(const diary *d) {
    kolk_stats stats;
    kolk_shared_stats(&d->pool, &stats);
    return stats.failed;
}

#define EACH_WAY(n) for (size_t n = 0; n < 2 * DEBUG_MODES; n++)
#define HOOKED      .life = {.setup = set_up, .reset = reset, .teardown = tear_down}

/* ---- When they run ----------------------------------------------------------------------------------------------- */

/* promise: "Runs reset for each live object and teardown", "called once per slot, before ... tried again", "called once
 * after ... includes it", "called once per slot that is set up, at deinit" */
static void test_each_hook_runs_when_it_is_due(void **state) {
    EACH_WAY(n) {
        static diary d;
        part *objects[3];
        begin_diary(&d, (kolk_shared_desc){.capacity = 3, HOOKED}, n);
        assert_diary(&d, ""); /* init calls no hook */
        for (unsigned i = 0; i < 3; i++) assert_int_equal((objects[i] = take_one(&d))->number, i);
        assert_diary(&d, "s0 s1 s2");
        kolk_shared_free(&d.local, objects[2]);
        kolk_shared_free(&d.local, objects[0]);
        assert_diary(&d, "r2 r0");
        assert_int_equal(kolk_shared_count(&d.pool), 1);
        for (unsigned i = 0; i < 2; i++) take_one(&d);
        assert_diary(&d, ""); /* both were already set up */
        kolk_shared_local_flush(&d.local);
        kolk_shared_free(&d.local, objects[1]);
        assert_diary(&d, "r1");
        end_diary(&d);
        assert_string_equal(d.text, "r0 r2 t0 t1 t2");
    }
}

/* promise: "called once per slot that is set up, at deinit", "With reset ... there is no cost" */
static void test_each_hook_works_alone(void **state) {
    EACH_WAY(n) for (int only = 0; only < 3; only++) {
        static diary d;
        kolk_shared_desc desc = {.capacity = 3};
        if (only == 0) desc.life.setup = set_up;
        if (only == 1) desc.life.reset = reset;
        if (only == 2) desc.life.teardown = tear_down;
        begin_diary(&d, desc, n);
        part *first = take_one(&d), *second = take_one(&d);
        first->number = 0;
        second->number = 1;
        assert_diary(&d, only == 0 ? "s0 s1" : "");
        kolk_shared_free(&d.local, second);
        assert_diary(&d, only == 1 ? "r1" : "");
        assert_true(kolk_shared_is_live(&d.pool, first));
        end_diary(&d);
        assert_string_equal(d.text, only == 1 ? "r0" : only == 2 ? "t0 t1" : "");
    }
}

static void test_a_setup_that_fails(void **state) {
    EACH_WAY(n) {
        static diary d;
        begin_diary(&d, (kolk_shared_desc){.capacity = 1, HOOKED}, n);
        d.setups_that_fail = 3;
        assert_null(kolk_shared_alloc(&d.local));
        assert_null(kolk_shared_alloc_wait(&d.local, KOLK_FOREVER)); /* a failed setup ends the wait */
        assert_null(kolk_shared_alloc(&d.local));
        assert_diary(&d, "f0 f0 f0"); /* the slot stays free, and its setup is tried again */
        assert_int_equal(failed(&d), 3);
        assert_int_equal(d.pool.inside->store.depot.fresh, 1);
        assert_int_equal(kolk_shared_count(&d.pool), 0);
        part *object = take_one(&d);
        kolk_shared_free(&d.local, object);
        assert_diary(&d, "s0 r0");
        d.setups_that_fail = 1;
        take_one(&d); /* it is already set up */
        assert_diary(&d, "");
        end_diary(&d);
        assert_string_equal(d.text, "r0 t0"); /* no teardown for an object that is not set up */
    }
}

/* A magazine holds only slots that are set up. promise: "setup or teardown, a slot costs 2 bits more" */
static void test_setups_are_not_made_ahead(void **state) {
    static diary d;
    begin_diary(&d, (kolk_shared_desc){.capacity = 100, .cache = 64, .life.setup = set_up}, 1);
    part *object = take_one(&d);
    assert_diary(&d, "s0");
    assert_int_equal(d.pool.inside->store.depot.fresh, 1);
    kolk_shared_free(&d.local, object); /* takes the fast path, because there is no reset */
    assert_int_equal(d.local.magazine->top, 1);
    assert_ptr_equal(take_one(&d), object);
    assert_diary(&d, "");
    end_diary(&d);
}

/* promise: "Free slots ... with a setup or teardown hook", "So for costly ... freed, at a time" */
static void test_costly_parts_have_no_cache(void **state) {
    for (unsigned n = 0; n < 4; n++) {
        kolk_shared pool;
        kolk_shared_desc desc = {.object_size = 8, .capacity = 1000};
        if (n == 1) desc.life.setup = set_up;
        if (n == 2) desc.life.reset = reset;
        if (n == 3) desc.life.teardown = tear_down;
        make_shared(&pool, &desc);
        assert_int_equal(pool.inside->store.slack != 0, n == 0 || n == 2);
        end_shared(&pool);
    }
}

/* ---- Contents ---------------------------------------------------------------------------------------------------- */

/* promise: "contents survive from one life to the next", "teardown does ... keep, setup or teardown" */
static void test_contents_live_on(void **state) {
    EACH_WAY(n) for (unsigned with_setup = 0; with_setup < 2; with_setup++) {
        static diary d;
        begin_diary(&d, (kolk_shared_desc){.capacity = 1, .life.keep = !with_setup}, n);
        if (with_setup) {
            end_diary(&d);
            begin_diary(&d, (kolk_shared_desc){.capacity = 1, .life.setup = set_up}, n);
        }
        part *object = take_one(&d);
        object->number = 12345;
        kolk_shared_free(&d.local, object);
        assert_ptr_equal(take_one(&d), object);
        assert_int_equal(object->number, 12345);
        kolk_shared_free_later(&d.local, object);
        for (int i = 0; i < 3; i++) kolk_shared_quiesce(&d.local);
        assert_ptr_equal(take_one(&d), object);
        assert_int_equal(object->number, 12345);
        end_diary(&d);
    }
}

/* ---- What reset may do ------------------------------------------------------------------------------------------- */

static void free_child(void *object, void *context) {
    diary *d = (diary *)context;
    part *child = ((part *)object)->child;
    ((part *)object)->child = NULL;
    if (kolk_shared_is_live(&d->pool, child)) kolk_shared_free(&d->local, child);
}

/* The hook refills the magazine. promise: "setup and reset ... reset too" */
static void test_a_reset_that_frees_others(void **state) {
    EACH_WAY(n) {
        static diary d;
        part *first = NULL;
        begin_diary(&d, (kolk_shared_desc){.capacity = 40, .life.reset = free_child}, n);
        for (int i = 0; i < 40; i++) {
            part *object = take_one(&d);
            *object = (part){.child = first};
            first = object;
        }
        kolk_shared_free(&d.local, first);
        assert_int_equal(kolk_shared_count(&d.pool), 0);
        assert_true(kolk_shared_is_valid(&d.pool));
        for (int i = 0; i < 40; i++) first = memcpy(take_one(&d), &(part){.child = first}, sizeof(part));
        kolk_shared_deinit(&d.pool); /* the hook still needs the local */
    }
}

static unsigned allocated, was_reset;

static void allocate_another(void *object, void *context) {
    diary *d = (diary *)context;
    was_reset++;
    if (kolk_shared_alloc(&d->local)) allocated++;
}

/* Deinit ends, although its resets allocate. promise: "setup and reset ... reset too" */
static void test_a_reset_that_allocates(void **state) {
    EACH_WAY(n) {
        static diary d;
        begin_diary(&d, (kolk_shared_desc){.capacity = 10, .life.reset = allocate_another}, n);
        allocated = was_reset = 0;
        for (int i = 0; i < 5; i++) take_one(&d);
        part *object = take_one(&d);
        kolk_shared_free(&d.local, object);
        assert_int_equal(allocated, 1);
        kolk_shared_deinit(&d.pool);
        assert_int_equal(was_reset, 1 + 6 + allocated - 1);
    }
}

/* ---- Deferred free ----------------------------------------------------------------------------------------------- */

/* promise: "The thread that allocates runs ... previous one" */
static void test_reset_comes_when_nobody_looks_any_more(void **state) {
    EACH_WAY(n) {
        static diary d;
        kolk_shared_local reader;
        begin_diary(&d, (kolk_shared_desc){.capacity = 4, .max_threads = 2, HOOKED}, n);
        make_local(&reader, &d.pool);
        part *object = take_one(&d), *other = take_one(&d);
        assert_diary(&d, "s0 s1");
        kolk_shared_free_later(&d.local, object);
        for (int i = 0; i < 5; i++) kolk_shared_quiesce(&d.local);
        assert_diary(&d, ""); /* the reader may still read the object */
        assert_int_equal(object->number, 0);
        for (int i = 0; i < 3; i++) {
            kolk_shared_quiesce(&reader);
            kolk_shared_quiesce(&d.local);
        }
        assert_diary(&d, "r0");
        kolk_shared_free_later(&d.local, other);
        kolk_shared_local_deinit(&reader);
        end_diary(&d); /* the reset runs at deinit at the latest */
        assert_string_equal(d.text, "r1 t0 t1");
    }
}

/* ---- Threads that have ended, forks ------------------------------------------------------------------------------ */

static uint32_t leaver;

static void *leave_without_a_word(void *argument) {
    diary *d = (diary *)argument;
    kolk_shared_local local;
    leaver = kolk_thread_();
    if (kolk_shared_local_init(&local, &d->pool) != KOLK_OK) return NULL;
    void *object = kolk_shared_alloc(&local);
    kolk_shared_free(&local, object);
    return object;
}

/* A dead thread's slots return to the depot, still set up. promise: "teardown does ... keep, setup or teardown" */
static void test_no_hook_runs_for_a_reclaim(void **state) {
    EACH_WAY(n) {
        static diary d;
        pthread_t thread;
        void *object;
        begin_diary(&d, (kolk_shared_desc){.capacity = 4, .max_threads = 3, HOOKED}, n);
        assert_int_equal(pthread_create(&thread, NULL, leave_without_a_word, &d), 0);
        assert_int_equal(pthread_join(thread, &object), 0);
        while (!kolk_thread_is_gone_(leaver)) usleep(100); /* may take a moment */
        assert_diary(&d, "s0 r0");
        kolk_shared_local again;
        make_local(&again, &d.pool);
        assert_diary(&d, "");
        kolk_shared_local_deinit(&again);
        kolk_shared_local_flush(&d.local);
        if (!(d.pool.inside->store.debug_flags & KOLK_DEBUG_QUARANTINE)) {
            assert_ptr_equal(take_one(&d), object);
            assert_diary(&d, "");
            kolk_shared_free(&d.local, object);
            assert_diary(&d, "r0");
        }
        end_diary(&d);
        assert_string_equal(d.text, "t0");
    }
}

static void test_that_broken_bits_are_seen(void **state) {
    static diary d;
    begin_diary(&d, (kolk_shared_desc){.capacity = 4, HOOKED}, 0);
    d.setups_that_fail = 1;
    assert_null(kolk_shared_alloc(&d.local));
    assert_breaks(kolk_shared_is_valid, &d.pool, *kolk_slot_set_word_(&d.pool.inside->store.sets[READY], 0), 1u);
    assert_breaks(kolk_shared_is_valid, &d.pool, *kolk_slot_set_word_(&d.pool.inside->store.sets[RAW], 0), 0u);
    take_one(&d);
    assert_breaks(kolk_shared_is_valid, &d.pool, *kolk_slot_set_word_(&d.pool.inside->store.sets[READY], 0), 0u);
    assert_breaks(kolk_shared_is_valid, &d.pool, *kolk_slot_set_word_(&d.pool.inside->store.sets[READY], 0), 3u);
    end_diary(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_each_hook_runs_when_it_is_due),
        DEBUG_TEST(test_each_hook_works_alone),
        DEBUG_TEST(test_a_setup_that_fails),
        DEBUG_TEST(test_setups_are_not_made_ahead),
        DEBUG_TEST(test_costly_parts_have_no_cache),
        DEBUG_TEST(test_contents_live_on),
        DEBUG_TEST(test_a_reset_that_frees_others),
        DEBUG_TEST(test_a_reset_that_allocates),
        DEBUG_TEST(test_reset_comes_when_nobody_looks_any_more),
        DEBUG_TEST(test_no_hook_runs_for_a_reclaim),
        DEBUG_TEST(test_that_broken_bits_are_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
