/* The order of births: against a list under random operations; walking both ways while objects are freed; touch; which
 * objects are evicted, and which are protected. KOLK_TEST_SEED and KOLK_TEST_OPS (operations in total) may be set in
 * the environment. */
#include "../help/debug_test.h"

#include <time.h>

#ifndef OPERATIONS
#define OPERATIONS 400000
#endif
#define SLOTS 100u

/* ---- A pool beside a list ---------------------------------------------------------------------------------------- */

typedef struct list {
    void *objects[SLOTS];
    uint32_t count;
} list;

typedef struct run {
    kolk_pool pool;
    kolk_pool_desc desc;
    list order, kept; /* from the oldest; and protected, which are in no order */
    void *victim;     /* that must be evicted next */
    uint64_t random, evictions;
} run;

static uint64_t seed, operations;

static double cost_of(const void *object, void *context) {
    (void)context;
    return *(const double *)object;
}

static uint32_t place_in(const list *l, const void *object) {
    uint32_t n = 0;
    while (n < l->count && l->objects[n] != object) n++;
    return n;
}

static bool is_in(const list *l, const void *object) {
    return place_in(l, object) < l->count;
}

static void add(list *l, void *object) {
    l->objects[l->count++] = object;
}

static void drop(list *l, const void *object) {
    uint32_t n = place_in(l, object);
    assert_true(n < l->count);
    l->count--;
    memmove(l->objects + n, l->objects + n + 1, (l->count - n) * sizeof *l->objects);
}

/* The hook is told of the right object, which is still alive. */
static void on_evict(void *object, void *context) {
    run *r = (run *)context;
    assert_non_null(object);
    assert_ptr_equal(object, r->victim);
    assert_true(kolk_pool_is_live(&r->pool, object));
    drop(&r->order, object);
    r->victim = NULL;
    r->evictions++;
}

static void *oldest(const run *r) {
    return r->order.count ? r->order.objects[0] : NULL;
}

/* Of equals the lowest slot's. */
static void *cheapest(const run *r) {
    void *least = NULL;
    for (void *object = NULL; (object = kolk_pool_next(&r->pool, object));) {
        if (is_in(&r->kept, object)) continue;
        if (!least || cost_of(object, NULL) < cost_of(least, NULL)) least = object;
    }
    return least;
}

static void *victim_of_full(const run *r) {
    if (!r->desc.on_full) return NULL;
    return r->desc.on_full == kolk_pool_evict_oldest ? oldest(r) : cheapest(r);
}

static bool is_full(const run *r) {
    return r->pool.capacity == r->pool.desc.max_capacity && kolk_pool_available(&r->pool) == 0;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* An alloc has given this object; the victim has gone. */
static void born(run *r, void *object, bool full, bool evicts) {
    assert_null(r->victim);
    assert_true(object || (full && (!evicts || r->desc.generations == KOLK_GENERATIONS_STRICT)));
    if (full && !evicts) assert_null(object);
    if (!object) return;
    *(double *)object = random_below(&r->random, 8);
    add(&r->order, object);
}

static void alloc(run *r) {
    bool full = is_full(r);
    r->victim = full ? victim_of_full(r) : NULL;
    bool evicts = r->victim != NULL;
    born(r, random_below(&r->random, 4) ? kolk_pool_alloc(&r->pool) : kolk_pool_alloc_zeroed(&r->pool), full, evicts);
}

static void alloc_over(run *r) {
    double cost = random_below(&r->random, 9);
    bool full = is_full(r);
    void *least = full ? cheapest(r) : NULL;
    if (least && cost_of(least, NULL) < cost) r->victim = least;
    bool evicts = r->victim != NULL;
    born(r, kolk_pool_alloc_over(&r->pool, cost), full, evicts);
}

static void alloc_several(run *r) {
    void *objects[5];
    uint32_t room = r->pool.desc.max_capacity - r->pool.capacity + kolk_pool_available(&r->pool);
    uint32_t n = kolk_pool_alloc_n(&r->pool, objects, room < 5 ? room : 5);
    assert_int_equal(n, room < 5 ? room : 5);
    for (uint32_t i = 0; i < n; i++) born(r, objects[i], false, false);
}

/* A life that is given back to a slot is the newest, whatever the slot. */
static void alloc_at(run *r) {
    uint32_t slot = random_below(&r->random, r->pool.desc.max_capacity);
    void *object = kolk_pool_alloc_at(&r->pool, kolk_handle_unpack(UINT64_C(1) << 32 | (slot ^ r->pool.tag)));
    if (object) born(r, object, false, false);
}

/* Any live object, mostly one that is in the order. */
static void *some(run *r, list **of) {
    *of = r->kept.count && random_below(&r->random, 4) == 0 ? &r->kept : &r->order;
    return (*of)->count ? (*of)->objects[random_below(&r->random, (*of)->count)] : NULL;
}

static void free_one(run *r) {
    list *of;
    void *object = some(r, &of);
    if (!object) return;
    kolk_pool_free(&r->pool, object);
    drop(of, object);
}

/* One that is protected stays so. */
static void touch(run *r) {
    list *of;
    void *object = some(r, &of);
    if (!object) return;
    kolk_pool_touch(&r->pool, object);
    drop(of, object);
    add(of, object);
}

/* Protected, or no more, and then the newest; twice is as good as once. */
static void protect(run *r) {
    list *of;
    void *object = some(r, &of);
    if (!object) return;
    bool on = random_below(&r->random, 2);
    kolk_pool_protect(&r->pool, object, on);
    if (on == (of == &r->kept)) return;
    drop(of, object);
    add(on ? &r->kept : &r->order, object);
}

static void evict_by_hand(run *r) {
    bool by_age = random_below(&r->random, 2);
    r->victim = by_age ? oldest(r) : cheapest(r);
    uint32_t before = r->order.count;
    bool evicts = r->victim != NULL;
    if (by_age)
        kolk_pool_evict_oldest(&r->pool, r);
    else
        kolk_pool_evict_cheapest(&r->pool, r);
    r->evictions -= evicts; /* those that on_full and alloc_over ask for count */
    assert_int_equal(r->order.count, before - evicts);
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

static void assert_order(run *r) {
    void *object = kolk_pool_oldest(&r->pool);
    for (uint32_t n = 0; n < r->order.count; n++, object = kolk_pool_newer(&r->pool, object))
        assert_ptr_equal(object, r->order.objects[n]);
    assert_null(object);
    object = kolk_pool_newest(&r->pool);
    for (uint32_t n = r->order.count; n-- > 0; object = kolk_pool_older(&r->pool, object))
        assert_ptr_equal(object, r->order.objects[n]);
    assert_null(object);
    for (uint32_t n = 0; n < r->kept.count; n++) assert_true(kolk_pool_is_live(&r->pool, r->kept.objects[n]));
}

/* Frees in the body: the current object, and others on both sides of it. */
static void walk_and_free(run *r, bool up) {
    list all = r->order;
    uint32_t n = 0;
    if (!up)
        for (uint32_t i = 0; i < all.count; i++) all.objects[i] = r->order.objects[all.count - 1 - i];
    void *object = up ? kolk_pool_oldest(&r->pool) : kolk_pool_newest(&r->pool);
    for (; object; n++) {
        while (n < all.count && !is_in(&r->order, all.objects[n])) n++; /* it has been freed in the meantime */
        assert_true(n < all.count);
        assert_ptr_equal(object, all.objects[n]);
        if (random_below(&r->random, 3) == 0) free_one(r);
        if (random_below(&r->random, 3) == 0 && is_in(&r->order, object)) {
            kolk_pool_free(&r->pool, object);
            drop(&r->order, object);
        }
        if (random_below(&r->random, 3) == 0) free_one(r);
        if (random_below(&r->random, 64) == 0) return; /* it need not come to an end */
        object = up ? kolk_pool_newer(&r->pool, object) : kolk_pool_older(&r->pool, object);
    }
    while (n < all.count && !is_in(&r->order, all.objects[n])) n++;
    assert_int_equal(n, all.count);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static void operate(run *r) {
    uint32_t choice = random_below(&r->random, 100);
    if (choice < 40)
        alloc(r);
    else if (choice < 45)
        alloc_over(r);
    else if (choice < 48)
        alloc_several(r);
    else if (choice < 51 && r->pool.generations)
        alloc_at(r);
    else if (choice < 76)
        free_one(r);
    else if (choice < 84)
        touch(r);
    else if (choice < 87)
        protect(r);
    else if (choice < 90)
        evict_by_hand(r);
    else if (choice < 92)
        walk_and_free(r, choice % 2);
    else if (choice < 96)
        assert_order(r);
    else if (choice < 98)
        kolk_pool_trim(&r->pool);
    else if (choice < 99)
        kolk_pool_tick(&r->pool, 64);
    else if (random_below(&r->random, 8) == 0)
        kolk_pool_clear(&r->pool), r->order.count = r->kept.count = 0;
}

enum { ORDERS = 3, GENERATIONS = 3, MEMORIES = 3, HOOKS = 3, SHAPES = ORDERS * GENERATIONS * MEMORIES * HOOKS * 4 };

static void describe(run *r, unsigned n, unsigned char *memory, size_t memory_size) {
    static void (*const hooks[HOOKS])(kolk_pool *, void *) = {NULL, kolk_pool_evict_oldest, kolk_pool_evict_cheapest};
    r->desc = (kolk_pool_desc){.name = "ages", .object_size = 24, .ages = true, .cost = cost_of, .on_evict = on_evict};
    r->desc.context = r;
    r->desc.reuse = orders[n % ORDERS], n /= ORDERS;
    r->desc.generations = (kolk_generations)(n % GENERATIONS), n /= GENERATIONS;
    unsigned kind = n % MEMORIES;
    r->desc.on_full = hooks[n / MEMORIES % HOOKS];
    r->desc.capacity = 1 + random_below(&r->random, random_below(&r->random, 2) ? 9 : SLOTS - 5);
    r->desc.debug = begin_debug_mode(n / MEMORIES / HOOKS);
    if (kind == 1) {
        r->desc.object_size = 400; /* more than a few pages, so that it grows in steps */
        r->desc.max_capacity = SLOTS;
        r->desc.capacity = random_below(&r->random, 2) ? r->desc.capacity : 0;
    }
    if (kind == 2) r->desc.memory = memory, r->desc.memory_size = memory_size;
}

static void test_against_a_list(void **state) {
    (void)state;
    static _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(24, 8, SLOTS) + KOLK_POOL_AGE_BYTES(SLOTS)];
    uint64_t random = seed;
    run *r = (run *)malloc(sizeof *r);
    assert_non_null(r);
    for (uint64_t done = 0, n = 0; done < operations || n < SHAPES; n++) {
        memset(r, 0, sizeof *r);
        r->random = next_random(&random);
        fill_random(&r->random, memory, sizeof memory);
        describe(r, (unsigned)(n % SHAPES), memory, sizeof memory);
        make_pool(&r->pool, &r->desc);
        for (uint32_t step = 0; step < 600; step++, done++) {
            operate(r);
            assert_true(kolk_pool_is_valid(&r->pool));
            assert_int_equal(kolk_pool_count(&r->pool), r->order.count + r->kept.count);
        }
        assert_order(r);
        kolk_stats stats;
        kolk_pool_stats(&r->pool, &stats);
        assert_int_equal(stats.evictions, r->evictions);
        kolk_pool_deinit(&r->pool);
    }
    free(r);
}

/* ---- What the example says --------------------------------------------------------------------------------------- */

static void make_four(kolk_pool *pool, kolk_reuse reuse, void *objects[4]) {
    make_pool(pool, &(kolk_pool_desc){.name = "four",
                                      .object_size = 8,
                                      .capacity = 4,
                                      .reuse = reuse,
                                      .ages = true,
                                      .on_full = kolk_pool_evict_oldest});
    for (int i = 0; i < 4; i++) objects[i] = taken_from(pool);
}

static void test_the_oldest_goes_first(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        void *objects[4];
        make_four(&pool, orders[i], objects);
        for (int n = 0; n < 12; n++) assert_ptr_equal(taken_from(&pool), objects[n % 4]);
        kolk_pool_touch(&pool, objects[0]); /* used: now the second is the one least recently used */
        assert_ptr_equal(taken_from(&pool), objects[1]);
        kolk_pool_protect(&pool, objects[2], true);
        assert_ptr_equal(kolk_pool_oldest(&pool), objects[3]); /* and not one that is in no order */
        assert_null(kolk_pool_newer(&pool, objects[2]));
        assert_null(kolk_pool_older(&pool, objects[2]));
        kolk_pool_touch(&pool, objects[2]);
        assert_ptr_equal(taken_from(&pool), objects[3]);
        assert_ptr_equal(taken_from(&pool), objects[0]);
        kolk_pool_protect(&pool, objects[2], false);
        assert_ptr_equal(kolk_pool_newest(&pool), objects[2]);
        assert_ptr_equal(taken_from(&pool), objects[1]);
        end_pool(&pool);
    }
}

/* Protection is for one life, however that ends. */
static void test_a_protected_mark_ends_with_its_life(void **state) {
    (void)state;
    for (unsigned way = 0; way < 3; way++) {
        kolk_pool pool;
        void *objects[4];
        make_four(&pool, KOLK_REUSE_LIFO, objects);
        for (int i = 0; i < 4; i++) kolk_pool_protect(&pool, objects[i], true);
        assert_null(kolk_pool_alloc(&pool)); /* everything is protected */
        kolk_pool_evict_oldest(&pool, NULL);
        assert_int_equal(kolk_pool_count(&pool), 4);
        if (way == 0) kolk_pool_free(&pool, objects[3]);
        if (way == 1) assert_true(kolk_pool_free_handle(&pool, kolk_pool_handle(&pool, objects[3])));
        if (way == 2) {
            kolk_pool_clear(&pool);
            for (int i = 0; i < 3; i++) kolk_pool_protect(&pool, taken_from(&pool), true);
        }
        void *again = taken_from(&pool);
        assert_ptr_equal(again, objects[3]);
        assert_ptr_equal(taken_from(&pool), again); /* evicted, as it is not protected any more */
        end_pool(&pool);
    }
}

static void test_alloc_over(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        kolk_pool pool;
        kolk_stats stats;
        make_pool(&pool, &(kolk_pool_desc){.name = "sounds",
                                           .object_size = sizeof(double),
                                           .capacity = 3,
                                           .reuse = orders[i],
                                           .ages = i % 2,
                                           .cost = cost_of,
                                           .on_full = kolk_pool_trap_full}); /* which is not asked */
        for (int n = 0; n < 3; n++) {
            double *sound = (double *)kolk_pool_alloc_over(&pool, -100); /* not full: whatever it costs */
            assert_non_null(sound);
            *sound = 5 + n % 2;
        }
        assert_null(kolk_pool_alloc_over(&pool, 4.5));
        assert_null(kolk_pool_alloc_over(&pool, 5)); /* not less */
        double *sound = (double *)kolk_pool_alloc_over(&pool, 5.5);
        assert_int_equal(kolk_pool_index(&pool, sound), 0); /* the lower of the two equals */
        *sound = 7;
        if (i % 2) kolk_pool_protect(&pool, kolk_pool_at(&pool, 2), true);
        assert_ptr_equal(kolk_pool_alloc_over(&pool, 5.5), i % 2 ? NULL : kolk_pool_at(&pool, 2));
        if (i % 2 == 0) *(double *)kolk_pool_at(&pool, 2) = 8;
        assert_int_equal(kolk_pool_index(&pool, kolk_pool_alloc_over(&pool, 1000)), 1);
        kolk_pool_stats(&pool, &stats);
        assert_int_equal(stats.failed, 2 + i % 2);
        assert_int_equal(stats.evictions, 3 - i % 2);
        assert_int_equal(stats.count, 3);
        assert_true(kolk_pool_is_valid(&pool));
        end_pool(&pool);
    }
}

/* ---- Misuse ------------------------------------------------------------------------------------------------------ */

#define NEEDS(verb) "kolk: plain: " verb " needs .ages"

static void test_a_pool_without_ages_says_so(void **state) {
    (void)state;
    kolk_pool pool, before;
    notes taken;
    begin_notes(&taken);
    make_pool(&pool, &(kolk_pool_desc){.name = "plain", .object_size = 8, .capacity = 4});
    void *object = taken_from(&pool);
    before = pool;
    assert_null(kolk_pool_oldest(&pool));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("oldest"));
    assert_null(kolk_pool_newest(&pool));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("newest"));
    assert_null(kolk_pool_newer(&pool, object));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("newer"));
    assert_null(kolk_pool_older(&pool, object));
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("older"));
    kolk_pool_touch(&pool, object);
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("touch"));
    kolk_pool_evict_oldest(&pool, NULL);
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("evict_oldest"));
    kolk_pool_protect(&pool, object, true);
    assert_noted(&taken, KOLK_AGES_MISSING, "plain", NULL, NO_SLOT, NEEDS("protect"));
    assert_null(kolk_pool_alloc_over(&pool, 1));
    assert_noted(&taken, KOLK_COST_MISSING, "plain", NULL, NO_SLOT, "kolk: plain: alloc_over needs .cost");
    kolk_pool_evict_cheapest(&pool, NULL);
    assert_noted(&taken, KOLK_COST_MISSING, "plain", NULL, NO_SLOT, "kolk: plain: evict_cheapest needs .cost");
    assert_memory_equal(&pool, &before, sizeof pool);
    end_pool(&pool);
}

/* Each pointer that is no live object is reported by touch and protect; a dead one may still be walked on from. */
static void test_wrong_pointers(void **state) {
    (void)state;
    for (unsigned mode = 0; mode < DEBUG_MODES; mode++) {
        kolk_pool pool;
        notes taken;
        int foreign = 0;
        const char *debug = begin_debug_mode(mode);
        make_pool(&pool,
                  &(kolk_pool_desc){.name = "aged", .object_size = 16, .capacity = 4, .ages = true, .debug = debug});
        void *dead = taken_from(&pool), *live = taken_from(&pool);
        kolk_pool_free(&pool, dead);
        begin_notes(&taken);
        kolk_pool_touch(&pool, dead);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "aged", dead, 0, "kolk: aged: touch of slot 0, which is free");
        kolk_pool_protect(&pool, dead, true);
        assert_noted(&taken, KOLK_DEAD_OBJECT, "aged", dead, 0, "kolk: aged: protect of slot 0, which is free");
        kolk_pool_touch(&pool, &foreign);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", &foreign, NO_SLOT,
                     "kolk: aged: touch of a pointer that is not of this pool");
        kolk_pool_protect(&pool, NULL, true);
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", NULL, NO_SLOT, "kolk: aged: protect of NULL");
        kolk_pool_touch(&pool, moved(live, 4));
        assert_noted(&taken, KOLK_INTERIOR_POINTER, "aged", moved(live, 4), 1,
                     "kolk: aged: touch of a pointer into slot 1, at byte 4 of it");
        assert_null(kolk_pool_newer(&pool, NULL));
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", NULL, NO_SLOT, "kolk: aged: newer of NULL");
        assert_null(kolk_pool_older(&pool, &foreign));
        assert_noted(&taken, KOLK_FOREIGN_POINTER, "aged", &foreign, NO_SLOT,
                     "kolk: aged: older of a pointer that is not of this pool");
        if (mode == 0) {
            void *never = moved(live, 16);
            assert_null(kolk_pool_newer(&pool, never));
            assert_noted(&taken, KOLK_NEVER_ISSUED, "aged", never, 2,
                         "kolk: aged: newer of slot 2, which was never handed out");
        }
        assert_ptr_equal(kolk_pool_newer(&pool, dead), live);
        assert_null(kolk_pool_newer(&pool, live));
        assert_silent(&taken);
        assert_true(kolk_pool_is_valid(&pool));
        end_pool(&pool);
        abort_on_failure(state);
    }
}

/* The hook that evicts the cheapest spares protected objects too. */
static void test_protect_from_evict_cheapest(void **state) {
    (void)state;
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "dear",
                                       .object_size = 8,
                                       .capacity = 2,
                                       .ages = true,
                                       .cost = cost_of,
                                       .on_full = kolk_pool_evict_cheapest});
    double *cheap = (double *)kolk_pool_alloc(&pool), *dear = (double *)kolk_pool_alloc(&pool);
    *cheap = 1, *dear = 2;
    kolk_pool_protect(&pool, cheap, true);
    assert_ptr_equal(kolk_pool_alloc(&pool), dear);
    *dear = 0;
    kolk_pool_protect(&pool, cheap, true);
    kolk_pool_protect(&pool, dear, true);
    assert_null(kolk_pool_alloc(&pool));
    kolk_pool_protect(&pool, cheap, false);
    assert_ptr_equal(kolk_pool_alloc(&pool), cheap);
    end_pool(&pool);
}

/* ---- Hooks in hooks ---------------------------------------------------------------------------------------------- */

typedef struct chain {
    kolk_pool pool;
    void *follower; /* that dies with the first object that dies */
    unsigned evicted, reset;
} chain;

static void count_eviction(void *object, void *context) {
    chain *c = (chain *)context;
    assert_true(kolk_pool_is_live(&c->pool, object));
    c->evicted++;
}

static void take_along(void *object, void *context) {
    chain *c = (chain *)context;
    void *follower = c->follower;
    assert_false(kolk_pool_is_live(&c->pool, object));
    c->follower = NULL;
    c->reset++;
    if (follower && follower != object) kolk_pool_free(&c->pool, follower);
}

/* A reset hook frees another object while the oldest is evicted: one eviction is told, two have left. */
static void test_an_eviction_that_takes_another_along(void **state) {
    (void)state;
    for (size_t i = 0; i < LENGTH_OF(orders); i++) {
        chain c = {.follower = NULL};
        make_pool(&c.pool, &(kolk_pool_desc){.name = "chain",
                                             .object_size = 8,
                                             .capacity = 3,
                                             .reuse = orders[i],
                                             .ages = true,
                                             .on_full = kolk_pool_evict_oldest,
                                             .on_evict = count_eviction,
                                             .reset = take_along,
                                             .context = &c});
        void *first = taken_from(&c.pool), *second = taken_from(&c.pool), *third = taken_from(&c.pool);
        c.follower = second;
        void *fourth = taken_from(&c.pool);
        assert_int_equal(c.evicted, 1);
        assert_int_equal(c.reset, 2);
        assert_true(fourth == first || fourth == second);
        assert_ptr_equal(kolk_pool_oldest(&c.pool), third);
        assert_ptr_equal(kolk_pool_newer(&c.pool, third), fourth);
        assert_null(kolk_pool_newer(&c.pool, fourth));
        kolk_pool_free(&c.pool, third); /* by hand: nobody is told */
        assert_int_equal(c.evicted, 1);
        kolk_pool_clear(&c.pool);
        assert_int_equal(c.evicted, 1);
        assert_null(kolk_pool_oldest(&c.pool));
        end_pool(&c.pool);
    }
}

static bool never_ready(void *object, void *context) {
    (void)object;
    return !*(const bool *)context;
}

/* An object whose setup fails is not born; nor does the slot's old place in the order come back. */
static void test_a_failed_setup_is_no_birth(void **state) {
    (void)state;
    kolk_pool pool;
    bool fails = false;
    make_pool(&pool, &(kolk_pool_desc){.name = "setup",
                                       .object_size = 5000,
                                       .capacity = 3,
                                       .ages = true,
                                       .setup = never_ready,
                                       .context = &fails});
    void *first = taken_from(&pool), *second = taken_from(&pool);
    kolk_pool_free(&pool, first);
    kolk_pool_trim(&pool); /* which ends its set-up */
    fails = true;
    assert_null(kolk_pool_alloc(&pool));
    assert_ptr_equal(kolk_pool_oldest(&pool), second);
    assert_null(kolk_pool_newer(&pool, second));
    assert_true(kolk_pool_is_valid(&pool));
    fails = false;
    assert_non_null(kolk_pool_alloc(&pool));
    assert_ptr_equal(kolk_pool_oldest(&pool), second);
    assert_ptr_equal(kolk_pool_newest(&pool), first);
    end_pool(&pool);
}

static void jump_out(const kolk_failure *failure, void *context) {
    assert_int_equal(failure->rule, KOLK_OVERFLOW);
    longjmp(*(jmp_buf *)context, 1);
}

static bool alloc_jumps_out(kolk_pool *pool, double cost) {
    jmp_buf back;
    kolk_set_failure_handler(jump_out, &back);
    if (setjmp(back) != 0) return true;
    if (cost > 0)
        kolk_pool_alloc_over(pool, cost);
    else
        kolk_pool_alloc(pool);
    return false;
}

/* The object that an eviction is about to free is found damaged, and the handler does not return: the next eviction
 * works. */
static void test_a_longjmp_out_of_an_eviction(void **state) {
    static void (*const hooks[])(kolk_pool *, void *) = {kolk_pool_evict_oldest, kolk_pool_evict_cheapest, NULL};
    for (unsigned n = 0; n < 3 * LENGTH_OF(hooks) * 2; n++) {
        kolk_pool pool;
        bool low = n / 9;
        void (*hook)(kolk_pool *, void *) = hooks[n / 3 % 3];
        if (low && !hook) continue;
        make_pool(&pool, &(kolk_pool_desc){.name = "hurt",
                                           .object_size = 8,
                                           .capacity = 3,
                                           .reuse = orders[n % 3],
                                           .ages = true,
                                           .cost = cost_of,
                                           .on_full = low ? NULL : hook,
                                           .on_low = low ? hook : NULL,
                                           .low_water = low,
                                           .debug = "guard"});
        for (int i = 0; i < 3 - low; i++) *(double *)kolk_pool_alloc(&pool) = i;
        unsigned char *first = (unsigned char *)kolk_pool_at(&pool, 0);
        first[8] ^= 1;
        assert_true(alloc_jumps_out(&pool, hook ? 0 : 1));
        abort_on_failure(state);
        assert_true(kolk_pool_is_valid(&pool)); /* the damage is put right */
        assert_int_equal(kolk_pool_count(&pool), 3 - low);
        assert_ptr_equal(kolk_pool_oldest(&pool), first);
        if (low) assert_non_null(kolk_pool_alloc(&pool)); /* it has been told */
        if (!low) assert_ptr_equal(hook ? kolk_pool_alloc(&pool) : kolk_pool_alloc_over(&pool, 1), first);
        assert_int_equal(kolk_pool_count(&pool), 3);
        end_pool(&pool);
    }
}

/* Each hook is handed the pool's context, whoever calls the ready-made ones, and with what. */
static void test_the_context_of_on_evict(void **state) {
    (void)state;
    chain c = {.follower = NULL};
    make_pool(&c.pool, &(kolk_pool_desc){
                           .object_size = 8, .capacity = 3, .ages = true, .on_evict = count_eviction, .context = &c});
    for (int i = 0; i < 3; i++) taken_from(&c.pool);
    kolk_pool_evict_oldest(&c.pool, NULL);
    assert_int_equal(c.evicted, 1);
    end_pool(&c.pool);
}

/* ---- The typed skin ---------------------------------------------------------------------------------------------- */

typedef struct voice {
    double volume;
} voice;

KOLK_POOL_TYPE(voices, voice)

static double volume_of(const void *object, void *context) {
    (void)context;
    return ((const voice *)object)->volume;
}

static void test_typed(void **state) {
    (void)state;
    voices pool;
    assert_int_equal(
        voices_init(&pool,
                    &(kolk_pool_desc){.name = "voices", .capacity = 3, .ages = true, .cost = volume_of, .headroom = 1}),
        KOLK_OK);
    voice *a = voices_alloc(&pool), *b = voices_alloc(&pool);
    a->volume = 1, b->volume = 2;
    assert_null(voices_alloc(&pool));
    voice *urgent = voices_alloc_urgent(&pool);
    assert_non_null(urgent);
    urgent->volume = 3;
    voices_touch(&pool, a);
    assert_ptr_equal(voices_oldest(&pool), b);
    assert_ptr_equal(voices_newest(&pool), a);
    assert_ptr_equal(voices_newer(&pool, b), urgent);
    assert_ptr_equal(voices_older(&pool, a), urgent);
    voices_protect(&pool, a, true);
    assert_null(voices_alloc_over(&pool, 1.5));
    voices_protect(&pool, a, false);
    assert_ptr_equal(voices_alloc_over(&pool, 1.5), a);
    assert_int_equal(voices_tick(&pool, 64), 0);
    assert_true(voices_is_valid(&pool));
    voices_deinit(&pool);
}

int main(void) {
    seed = number_from_environment("KOLK_TEST_SEED", (uint64_t)time(NULL));
    operations = number_from_environment("KOLK_TEST_OPS", does_a_part() ? OPERATIONS / 8 : OPERATIONS);
    print_message("KOLK_TEST_SEED=%" PRIu64 " KOLK_TEST_OPS=%" PRIu64 "\n", seed, operations);
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_against_a_list),
        DEBUG_TEST(test_the_oldest_goes_first),
        DEBUG_TEST(test_a_protected_mark_ends_with_its_life),
        DEBUG_TEST(test_alloc_over),
        DEBUG_TEST(test_a_pool_without_ages_says_so),
        DEBUG_TEST(test_wrong_pointers),
        DEBUG_TEST(test_protect_from_evict_cheapest),
        DEBUG_TEST(test_an_eviction_that_takes_another_along),
        DEBUG_TEST(test_a_failed_setup_is_no_birth),
        DEBUG_TEST(test_a_longjmp_out_of_an_eviction),
        DEBUG_TEST(test_the_context_of_on_evict),
        DEBUG_TEST(test_typed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
