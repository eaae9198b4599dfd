/* wraps: help/no_sites.h */
/* Calls every function of every member in every hook of that member. A call works as its manual says, is refused by its
 * result, or is reported as KOLK_IN_HOOK. Whatever it does, the member is valid afterwards, each object has ended once,
 * and the member goes on.
 *
 * Each member has columns, one for each hook and way to call it, and rows, one for each function. A row's letters are
 * what happens in these columns:
 *
 *     w   it works
 *     n   it returns NULL, false, 0, or the status of a member that is full, empty or ended
 *     s   it returns KOLK_IN_HOOK
 *     r   it is reported, and does nothing
 *     .   it cannot be called there
 *
 * tests/build/hooks.sh checks that no hook and no function is missing. */
#include "../help/test.h"

#include "../help/no_sites.h"

#include "../../src/os/between.h"

typedef struct column {
    const char *hook;
    void (*provoke)(void); /* makes the member call the hook */
} column;

typedef struct row {
    const char *function;
    char (*call)(void); /* w, n or s */
    const char *letters;
} row;

/* ---- A cell ------------------------------------------------------------------------------------------------------ */

static struct {
    char name[200];
    const column *column;
    const row *row;
    bool armed; /* the hook has not run yet */
    char got;
    int reports, resets, others;
} now;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) fail_msg("%s: %s", now.name, #condition);                                                    \
    } while (0)

static void keep_report(const kolk_failure *failure, void *context) {
    if (failure->rule == KOLK_IN_HOOK)
        now.reports++;
    else
        now.others += failure->rule != KOLK_LEAK;
    if (failure->rule != KOLK_IN_HOOK && failure->rule != KOLK_FULL && failure->rule != KOLK_LEAK)
        print_message("%s: %s\n", now.name, failure->sentence);
}

/* Each hook calls this with its name. */
static void run_hook(const char *hook) {
    if (!now.armed || strcmp(hook, now.column->hook) != 0) return;
    now.armed = false;
    now.got = now.row->call();
    if (now.reports > 0 && now.got != 'w') now.got = 'r';
}

static bool is_column(const char *hook) {
    return strcmp(hook, now.column->hook) == 0;
}

static char if_works(bool works) {
    return works ? 'w' : 'n';
}

static char if_silent(void) {
    return if_works(now.reports == 0);
}

static char of_status(kolk_status status) {
    return status == KOLK_OK ? 'w' : status == KOLK_IN_HOOK ? 's' : 'n';
}

/* Functions for the tables: a hook, a hook that returns a value, a call, a call and what shows its effect, and what
 * makes the member call a hook. */
#define HOOK(name, hook, ...)                                                                                          \
    static void name(__VA_ARGS__) {                                                                                    \
        run_hook(hook);                                                                                                \
    }
#define ASKED(type, name, hook, value, ...)                                                                            \
    static type name(__VA_ARGS__) {                                                                                    \
        run_hook(hook);                                                                                                \
        return value;                                                                                                  \
    }
#define CALL(name, result)                                                                                             \
    static char name(void) {                                                                                           \
        return result;                                                                                                 \
    }
#define THEN(name, call, result)                                                                                       \
    static char name(void) {                                                                                           \
        call;                                                                                                          \
        return result;                                                                                                 \
    }
#define PROVOKE(name, call)                                                                                            \
    static void name(void) {                                                                                           \
        call;                                                                                                          \
    }

/* Runs a member's table. `finish` checks the member, uses and ends it, even if the call has ended it. */
static void run_table(const char *member, const column *columns, size_t n_columns, const row *rows, size_t n_rows,
                      void (*begin)(void), void (*finish)(void)) {
    for (size_t r = 0; r < n_rows; r++) {
        assert_int_equal(strlen(rows[r].letters), n_columns);
        for (size_t c = 0; c < n_columns; c++) {
            bool profiles = strcmp(columns[c].hook, "alloc") == 0 || strcmp(columns[c].hook, "free") == 0;
            if (rows[r].letters[c] == '.' || (profiles && !(kolk_features() & KOLK_HAS_DIAGNOSTICS))) continue;
            memset(&now, 0, sizeof now);
            snprintf(now.name, sizeof now.name, "%s: %s in %s", member, rows[r].function, columns[c].hook);
            now.column = &columns[c];
            now.row = &rows[r];
            begin();
            now.armed = true;
            columns[c].provoke();
            CHECK(!now.armed);
            if (now.got != rows[r].letters[c]) fail_msg("%s: %c, not %c", now.name, now.got, rows[r].letters[c]);
            CHECK(now.reports == (now.got == 'r'));
            CHECK(now.others == 0);
            finish();
            CHECK(now.reports == (now.got == 'r') && now.others == 0);
        }
    }
}

#define RUN(member, columns, rows, begin, finish)                                                                      \
    run_table(member, columns, LENGTH_OF(columns), rows, LENGTH_OF(rows), begin, finish)

static void put_nowhere(const char *text, size_t length, void *context) {}

/* Functions of no member, which any hook may call. */
static void look_around(void) {
    kolk_stats_write(KOLK_STATS_TEXT, put_nowhere, NULL);
    (void)kolk_features();
}

/* ---- Pool -------------------------------------------------------------------------------------------------------- */

static struct {
    kolk_pool pool;
    kolk_budget budget;
    kolk_reuse reuse;
    bool ordered; /* with ages, and ranked */
    const char *debug;
    uint32_t started; /* lives */
    void *objects[6];
    kolk_handle free_one;
    void *block;
    size_t block_size;
} p;

ASKED(bool, pool_on_full, "on_full", false, kolk_pool *pool, size_t bytes, void *context)
ASKED(double, pool_cost, "cost", 1, const void *object, void *context)
HOOK(pool_on_evict, "on_evict", void *object, void *context)
HOOK(pool_on_low, "on_low", kolk_pool *pool, void *context)
ASKED(bool, pool_setup, "setup", true, void *object, void *context)

static void pool_reset(void *object, void *context) {
    now.resets++;
    run_hook("reset");
}

HOOK(pool_teardown, "teardown", void *object, void *context)

ASKED(uint64_t, pool_hash, "hash", 1, const void *object, void *context)

static void pool_convert(void *object, const void *saved, size_t saved_size, void *context) {
    memcpy(object, saved, saved_size);
    run_hook("convert");
}

HOOK(pool_on_mark, "on_mark", kolk_budget *budget, void *context)
HOOK(profiler_alloc, "alloc", const char *pool, const void *object, size_t size, void *context)
HOOK(profiler_free, "free", const char *pool, const void *object, void *context)

/* For the init of a pool whose profiler is the hook. */
static void set_profiler(void) {
    const kolk_profiler profiler = {profiler_alloc, profiler_free, NULL};
    if (is_column("alloc") || is_column("free")) kolk_set_profiler(&profiler);
}

static bool counts_resets(void) {
    return is_column("reset") || is_column("teardown") || is_column("on_evict") || is_column("on_full");
}

static void *start(void *object) {
    if (object) p.started++;
    return object;
}

static kolk_pool_desc desc_of_pool(void) {
    bool full = is_column("on_full") || is_column("on_low");
    uint32_t many = is_column("teardown") ? 1024 : 20; /* some whole pages, for trim */
    kolk_pool_desc desc = {.name = "pool", .object_size = 32, .capacity = full ? 9 : many};
    desc.max_capacity = full ? 9 : 2 * many;
    desc.reuse = p.reuse;
    desc.ages = desc.full.ranked = p.ordered;
    desc.debug = p.debug;
    desc.pins = true;
    desc.full.on_full = is_column("on_full") ? pool_on_full : NULL;
    desc.full.on_low = is_column("on_low") ? pool_on_low : NULL;
    desc.full.low_water = is_column("on_low") ? 2 : 0;
    desc.full.cost = pool_cost;
    desc.full.on_evict = pool_on_evict;
    desc.life.setup = is_column("setup") ? pool_setup : NULL;
    desc.life.teardown = is_column("teardown") ? pool_teardown : NULL;
    desc.life.reset = counts_resets() ? pool_reset : NULL;
    desc.budget = is_column("on_mark") ? &p.budget : NULL;
    return desc;
}

static void begin_pool(void) {
    set_profiler();
    p.started = 0;
    p.budget = (kolk_budget){.mark = 20 * 32 + 1, .on_mark = pool_on_mark};
    kolk_pool_desc desc = desc_of_pool();
    assert_int_equal(kolk_pool_init(&p.pool, &desc), KOLK_OK);
    kolk_set_profiler(NULL);
    void *dead[600];
    uint32_t few = desc.capacity == 1024 ? 600 : 1;
    for (uint32_t i = 0; i < few; i++) dead[i] = start(kolk_pool_alloc(&p.pool));
    for (uint32_t i = 0; i < LENGTH_OF(p.objects); i++) p.objects[i] = start(kolk_pool_alloc(&p.pool));
    p.free_one = kolk_pool_handle_of(&p.pool, dead[few - 1]);
    for (uint32_t i = 0; i < few; i++) kolk_pool_free(&p.pool, dead[i]);
    p.block_size = kolk_pool_snapshot_size(&p.pool);
    p.block = malloc(p.block_size + 1);
    assert_int_equal(kolk_pool_snapshot(&p.pool, p.block, p.block_size), p.block_size);
}

static void finish_pool(void) {
    CHECK(kolk_pool_is_valid(&p.pool));
    bool ended = p.pool.capacity == 0;
    if (!ended) {
        kolk_pool_clear(&p.pool);
        CHECK(kolk_pool_count(&p.pool) == 0 && kolk_pool_is_valid(&p.pool));
        uint32_t n = 0;
        while (n < p.pool.max_capacity && start(kolk_pool_alloc(&p.pool))) n++;
        CHECK(n == p.pool.max_capacity && kolk_pool_is_valid(&p.pool));
        kolk_pool_deinit(&p.pool);
    }
    CHECK(!p.pool.block && !p.pool.in_hook && kolk_pool_is_valid(&p.pool));
    if (counts_resets()) CHECK(now.resets == (int)p.started);
    free(p.block);
}

static void fill_pool(void) {
    for (int i = 0; i < 4; i++) start(kolk_pool_alloc(&p.pool));
}

PROVOKE(alloc_one, start(kolk_pool_alloc(&p.pool)))

static void alloc_fresh(void) {
    for (int i = 0; now.armed && i < 700; i++) alloc_one(); /* the other slots are set up already */
}

PROVOKE(free_first, kolk_pool_free(&p.pool, p.objects[0]))
PROVOKE(evict_one, kolk_pool_evict_cheapest(&p.pool, 0, NULL))
PROVOKE(trim_pool, kolk_pool_trim(&p.pool))
PROVOKE(restore_pool, kolk_pool_restore_converted(&p.pool, p.block, p.block_size, pool_convert, NULL))
PROVOKE(hash_pool, kolk_pool_hash(&p.pool, pool_hash, NULL))
PROVOKE(reserve_pool, kolk_pool_reserve(&p.pool, 30))

static const column pool_columns[] = {
    {"on_full", fill_pool},  {"on_low", fill_pool},     {"setup", alloc_fresh}, {"reset", free_first},
    {"on_evict", evict_one}, {"teardown", trim_pool},   {"cost", evict_one},    {"convert", restore_pool},
    {"hash", hash_pool},     {"on_mark", reserve_pool}, {"alloc", alloc_one},   {"free", free_first},
};

static char pool_free_(void) {
    uint32_t before = kolk_pool_count(&p.pool);
    kolk_pool_free(&p.pool, p.objects[1]);
    return if_works(kolk_pool_count(&p.pool) < before);
}

static char pool_free_n(void) {
    uint32_t before = kolk_pool_count(&p.pool);
    kolk_pool_free_n(&p.pool, &p.objects[1], 1);
    return if_works(kolk_pool_count(&p.pool) < before);
}

static char pool_free_handle(void) {
    uint32_t before = kolk_pool_count(&p.pool);
    bool freed = kolk_pool_free_handle(&p.pool, kolk_pool_handle_of(&p.pool, p.objects[1]));
    CHECK(freed == (kolk_pool_count(&p.pool) < before));
    return if_works(freed);
}

static char pool_free_at(void) {
    return if_works(kolk_pool_free_at(&p.pool, kolk_pool_index(&p.pool, p.objects[1])));
}

static char pool_renew(void) {
    kolk_handle before = kolk_pool_handle_of(&p.pool, p.objects[1]);
    bool renewed = start(kolk_pool_renew(&p.pool, p.objects[1]));
    CHECK(renewed == !kolk_pool_get(&p.pool, before));
    return if_works(renewed);
}

CALL(pool_alloc, if_works(start(kolk_pool_alloc(&p.pool))))
CALL(pool_alloc_zeroed, if_works(start(kolk_pool_alloc_zeroed(&p.pool))))
CALL(pool_alloc_urgent, if_works(start(kolk_pool_alloc_urgent(&p.pool))))
CALL(pool_alloc_over, if_works(start(kolk_pool_alloc_over(&p.pool, 2))))

static char pool_alloc_n(void) {
    void *objects[1];
    uint32_t n = kolk_pool_alloc_n(&p.pool, objects, 1);
    p.started += n;
    return if_works(n);
}

CALL(pool_alloc_run, if_works(start(kolk_pool_alloc_run(&p.pool, 1))))

static char pool_alloc_at(void) {
    kolk_handle fresh = {UINT64_C(1) << 32 | (p.pool.fresh ^ p.pool.tag)};
    return if_works(start(kolk_pool_alloc_at(&p.pool, p.pool.fresh < p.pool.capacity ? fresh : p.free_one)));
}

static char pool_alloc_at_index(void) {
    uint32_t free_one = (uint32_t)p.free_one.bits ^ p.pool.tag;
    return if_works(start(kolk_pool_alloc_at_index(&p.pool, p.pool.fresh < p.pool.capacity ? p.pool.fresh : free_one)));
}

CALL(pool_alloc_in, if_works(start(kolk_pool_alloc_in(&p.pool, 0, UINT32_MAX))))
THEN(pool_clear, kolk_pool_clear(&p.pool), if_works(kolk_pool_count(&p.pool) == 0))
CALL(pool_evict_cheapest, if_works(kolk_pool_evict_cheapest(&p.pool, 0, NULL)))
CALL(pool_evict_oldest, if_works(kolk_pool_evict_oldest(&p.pool, 0, NULL)))

static char pool_trap_full(void) {
    bool again = kolk_pool_trap_full(&p.pool, 0, NULL);
    now.others--; /* it has reported KOLK_FULL */
    return if_works(!again);
}

THEN(pool_recost, kolk_pool_recost(&p.pool, p.objects[2]), if_silent())
THEN(pool_trim, (void)kolk_pool_trim(&p.pool), if_silent())
THEN(pool_tick, (void)kolk_pool_tick(&p.pool, 64), if_silent())
CALL(pool_reserve, of_status(kolk_pool_reserve(&p.pool, p.pool.capacity + 1)))

static char pool_walk_by_age(void) {
    kolk_age_cursor cursor = kolk_pool_each_oldest(&p.pool);
    void *object = kolk_age_cursor_next(&cursor);
    if (object != kolk_pool_oldest(&p.pool)) return if_works(false);
    object = object ? kolk_pool_newer(&p.pool, object) : NULL;
    object = object ? kolk_pool_older(&p.pool, object) : NULL;
    return if_works(object && kolk_pool_newest(&p.pool) && now.reports == 0);
}

THEN(pool_touch, kolk_pool_touch(&p.pool, p.objects[3]), if_silent())

static char pool_protect(void) {
    kolk_pool_protect(&p.pool, p.objects[4], true);
    kolk_pool_protect(&p.pool, p.objects[4], false);
    return if_silent();
}

static char pool_pin(void) {
    kolk_pool_pin(&p.pool, p.objects[4]);
    if (now.reports == 0) kolk_pool_unpin(&p.pool, p.objects[4]);
    return if_silent();
}

static char pool_rebind(void) {
    kolk_pool_desc desc = desc_of_pool();
    return of_status(kolk_pool_rebind(&p.pool, &desc));
}

static char pool_snapshot(void) {
    char bytes[2000];
    return if_works(kolk_pool_snapshot_size(&p.pool) || kolk_pool_snapshot(&p.pool, bytes, sizeof bytes));
}

CALL(pool_restore, of_status(kolk_pool_restore(&p.pool, p.block, p.block_size)))
CALL(pool_restore_converted, of_status(kolk_pool_restore_converted(&p.pool, p.block, p.block_size, pool_convert, NULL)))
CALL(pool_hash_, if_works(kolk_pool_hash(&p.pool, NULL, NULL)))
THEN(pool_deinit, kolk_pool_deinit(&p.pool), if_works(p.pool.capacity == 0))

static char pool_look(void) {
    kolk_stats stats;
    void *object = p.objects[5];
    kolk_handle handle = kolk_pool_handle_of(&p.pool, object);
    uint32_t n, index = kolk_pool_index(&p.pool, object);
    kolk_cursor walk = kolk_pool_each(&p.pool), runs = kolk_pool_each_in(&p.pool, index, 1);
    bool same = kolk_pool_get(&p.pool, handle) == object && kolk_pool_at(&p.pool, index) == object;
    same = same && kolk_pool_is_live(&p.pool, object) && kolk_cursor_next_run(&runs, &n) == object;
    kolk_pool_stats(&p.pool, &stats);
    look_around();
    (void)kolk_pool_is_valid(&p.pool);
    (void)kolk_pool_available(&p.pool);
    (void)kolk_pool_can_alloc(&p.pool, 1);
    return if_works(same && kolk_cursor_next(&walk) && stats.count == kolk_pool_count(&p.pool));
}

static const row pool_rows[] = {
    {"kolk_pool_free", pool_free_, "wwwwwwrrrrrr"},
    {"kolk_pool_free_n", pool_free_n, "wwwwwwrrrrrr"},
    {"kolk_pool_pin", pool_pin, "wwwwwwrrrrrr"},
    {"kolk_pool_free_handle", pool_free_handle, "wwwwwwrrrrrr"},
    {"kolk_pool_free_at", pool_free_at, "wwwwwwrrrrrr"},
    {"kolk_pool_renew", pool_renew, "wwwwwrrrrrrr"},
    {"kolk_pool_alloc", pool_alloc, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_zeroed", pool_alloc_zeroed, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_urgent", pool_alloc_urgent, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_over", pool_alloc_over, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_n", pool_alloc_n, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_at", pool_alloc_at, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_at_index", pool_alloc_at_index, "nwwwwnrrrrrr"},
    {"kolk_pool_alloc_in", pool_alloc_in, "nwwwwnrrrrrr"},
    {"kolk_pool_clear", pool_clear, "wwrrrrrrrrrr"},
    {"kolk_pool_trap_full", pool_trap_full, "wwwwwwwwwwww"},
    {"kolk_pool_evict_cheapest", pool_evict_cheapest, "wwrrrrrrrrrr"},
    {"kolk_pool_recost", pool_recost, "wwwwwwrrrrrr"},
    {"kolk_pool_reserve", pool_reserve, "nnwwwwssssss"},
    {"kolk_pool_trim", pool_trim, "wwrrrrrrrrrr"},
    {"kolk_pool_tick", pool_tick, "wwrrrrrrrrrr"},
    {"kolk_pool_rebind", pool_rebind, "ssssssssssss"},
    {"kolk_pool_snapshot", pool_snapshot, "nnnnnnnnnnnn"},
    {"kolk_pool_restore", pool_restore, "ssnssnssssss"},
    {"kolk_pool_restore_converted", pool_restore_converted, "ssnssnssssss"},
    {"kolk_pool_hash", pool_hash_, "nnnnnnnnnnnn"},
    {"kolk_pool_deinit", pool_deinit, "wwrrrrrrrrrr"},
    {"kolk_pool_get", pool_look, "wwwwwwwwwwww"},
};

static const row lowest_rows[] = {{"kolk_pool_alloc_run", pool_alloc_run, "nwwwwnrrrrrr"}};

static const row ordered_rows[] = {
    {"kolk_pool_evict_oldest", pool_evict_oldest, "wwrrrrrrrrrr"},
    {"kolk_pool_newer", pool_walk_by_age, "wwwwwwwwwwww"},
    {"kolk_pool_touch", pool_touch, "wwwwwwwwwwww"},
    {"kolk_pool_protect", pool_protect, "wwwwwwwwwwww"},
};

static void test_pool(void **state) {
    static const char *const modes[] = {NULL, "fill,quarantine=4"};
    for (int m = 0; m < 2; m++)
        for (int reuse = KOLK_REUSE_LIFO; reuse <= KOLK_REUSE_LOWEST; reuse++)
            for (int ordered = 0; ordered < 2; ordered++) {
                p.debug = modes[m];
                p.reuse = (kolk_reuse)reuse;
                p.ordered = ordered;
                RUN("pool", pool_columns, pool_rows, begin_pool, finish_pool);
                if (ordered) RUN("pool", pool_columns, ordered_rows, begin_pool, finish_pool);
                if (reuse == KOLK_REUSE_LOWEST) RUN("pool", pool_columns, lowest_rows, begin_pool, finish_pool);
            }
}

/* ---- Slot map ---------------------------------------------------------------------------------------------------- */

static struct {
    kolk_slotmap map;
    kolk_budget budget;
    const char *debug;
    uint32_t started;
    kolk_handle handles[6];
    void *block;
    size_t block_size;
} m;

static void map_on_remove(void *object, void *context) {
    now.resets++;
    run_hook("on_remove");
}

HOOK(map_on_move, "on_move", void *object, uint32_t from, uint32_t to, void *context)

static void map_move(void *to, void *from, void *context) {
    static uint64_t aside[4];
    memcpy(to ? to : aside, from ? from : aside, sizeof aside);
    run_hook("move");
}

ASKED(int, map_compare, "compare", memcmp(b, a, 1), const void *a, const void *b, void *context)

static void *add_to_map(kolk_handle *handle) {
    void *object = kolk_slotmap_add(&m.map, handle);
    if (object) memset(object, (int)m.started++, 32);
    return object;
}

static kolk_slotmap_desc desc_of_map(void) {
    kolk_slotmap_desc desc = {.name = "map", .object_size = 32, .capacity = 16, .max_capacity = 64, .debug = m.debug};
    desc.on_remove = is_column("on_remove") ? map_on_remove : NULL;
    desc.on_move = is_column("on_move") ? map_on_move : NULL;
    desc.move = is_column("move") ? map_move : NULL;
    desc.budget = is_column("on_mark") ? &m.budget : NULL;
    return desc;
}

static void begin_map(void) {
    set_profiler();
    m.started = 0;
    m.budget = (kolk_budget){.mark = 16 * 32 + 1, .on_mark = pool_on_mark};
    kolk_slotmap_desc desc = desc_of_map();
    assert_int_equal(kolk_slotmap_init(&m.map, &desc), KOLK_OK);
    kolk_set_profiler(NULL);
    for (uint32_t i = 0; i < LENGTH_OF(m.handles); i++) add_to_map(&m.handles[i]);
    m.block_size = kolk_slotmap_snapshot_size(&m.map);
    m.block = malloc(m.block_size + 1);
    assert_int_equal(kolk_slotmap_snapshot(&m.map, m.block, m.block_size), m.block_size);
}

static void finish_map(void) {
    CHECK(kolk_slotmap_is_valid(&m.map));
    if (m.map.on_remove) CHECK(now.resets + (int)kolk_slotmap_count(&m.map) == (int)m.started);
    kolk_slotmap_clear(&m.map);
    CHECK(kolk_slotmap_count(&m.map) == 0 && kolk_slotmap_is_valid(&m.map));
    while (add_to_map(NULL)) {}
    CHECK(kolk_slotmap_count(&m.map) == 64 && kolk_slotmap_is_valid(&m.map));
    bool removes = m.map.on_remove;
    kolk_slotmap_deinit(&m.map);
    CHECK(!m.map.block && !m.map.in_hook);
    if (removes) CHECK(now.resets == (int)m.started);
    free(m.block);
}

PROVOKE(remove_first, kolk_slotmap_remove(&m.map, m.handles[0]))
PROVOKE(remove_last, kolk_slotmap_remove(&m.map, m.handles[5]))
PROVOKE(settle_map, (void)kolk_slotmap_remove_in_place(&m.map, m.handles[0]); kolk_slotmap_settle(&m.map))
PROVOKE(clear_map, kolk_slotmap_clear(&m.map))
PROVOKE(sort_map, kolk_slotmap_sort(&m.map, map_compare, NULL))
PROVOKE(restore_map, kolk_slotmap_restore_converted(&m.map, m.block, m.block_size, pool_convert, NULL))
PROVOKE(hash_map, kolk_slotmap_hash(&m.map, pool_hash, NULL))
PROVOKE(reserve_map, kolk_slotmap_reserve(&m.map, 20))
PROVOKE(add_one, add_to_map(NULL))

static const column map_columns[] = {
    {"on_remove", remove_first}, {"on_remove", remove_last}, {"on_remove", clear_map}, {"on_move", remove_first},
    {"on_move", sort_map},       {"move", remove_first},     {"move", sort_map},       {"compare", sort_map},
    {"convert", restore_map},    {"hash", hash_map},         {"on_mark", reserve_map}, {"alloc", add_one},
    {"free", remove_first},      {"on_remove", settle_map},  {"on_move", settle_map},
};

CALL(map_add, if_works(add_to_map(NULL)))
CALL(map_remove_at, if_works(kolk_slotmap_remove_at(&m.map, 1)))
CALL(map_remove, if_works(kolk_slotmap_remove(&m.map, m.handles[1]) && !kolk_slotmap_get(&m.map, m.handles[1])))

CALL(map_remove_in_place, if_works(kolk_slotmap_remove_in_place(&m.map, m.handles[1])))

/* As if the object had these children. They leave holes. */
static char map_remove_many(void) {
    bool removed = true;
    for (int i = 1; i < 5; i++) removed = removed && kolk_slotmap_remove(&m.map, m.handles[i]);
    kolk_stats stats;
    kolk_slotmap_stats(&m.map, &stats);
    return if_works(removed && stats.count <= 2);
}

/* In all columns of on_remove, one of these is being removed. */
static char map_remove_own(void) {
    bool first = now.column->provoke == remove_first || now.column->provoke == settle_map;
    kolk_handle own = m.handles[first ? 0 : 5];
    bool found = kolk_slotmap_get(&m.map, own) != NULL;
    bool removed = kolk_slotmap_remove(&m.map, own);
    return if_works(removed || kolk_slotmap_get(&m.map, own) == NULL || !found);
}

THEN(map_clear_, kolk_slotmap_clear(&m.map), if_works(kolk_slotmap_count(&m.map) == 0))
THEN(map_settle, kolk_slotmap_settle(&m.map), if_silent())
THEN(map_sort, kolk_slotmap_sort(&m.map, map_compare, NULL), if_silent())
THEN(map_trim, (void)kolk_slotmap_trim(&m.map), if_silent())
CALL(map_reserve, of_status(kolk_slotmap_reserve(&m.map, m.map.capacity + 1)))

static char map_rebind(void) {
    kolk_slotmap_desc desc = desc_of_map();
    return of_status(kolk_slotmap_rebind(&m.map, &desc));
}

static char map_snapshot(void) {
    char bytes[2000];
    return if_works(kolk_slotmap_snapshot_size(&m.map) || kolk_slotmap_snapshot(&m.map, bytes, sizeof bytes));
}

CALL(map_restore, of_status(kolk_slotmap_restore(&m.map, m.block, m.block_size)))
CALL(map_restore_converted,
     of_status(kolk_slotmap_restore_converted(&m.map, m.block, m.block_size, pool_convert, NULL)))
CALL(map_hash, if_works(kolk_slotmap_hash(&m.map, NULL, NULL)))
THEN(map_deinit, kolk_slotmap_deinit(&m.map), if_works(!m.map.block))

static bool finds_in_map(kolk_handle handle) {
    void *object = kolk_slotmap_get(&m.map, handle);
    uint32_t place = object ? kolk_slotmap_index(&m.map, object) : UINT32_MAX;
    bool same = object && kolk_slotmap_handle_of(&m.map, object).bits == handle.bits;
    return same && kolk_slotmap_at(&m.map, place) == object && kolk_slotmap_slot(&m.map, handle) < 64;
}

static char map_look(void) {
    kolk_stats stats;
    kolk_slotmap_cursor walk = kolk_slotmap_each(&m.map);
    uint32_t seen = 0;
    while (kolk_slotmap_cursor_next(&walk)) seen++;
    kolk_slotmap_stats(&m.map, &stats);
    look_around();
    (void)kolk_slotmap_is_valid(&m.map);
    (void)kolk_slotmap_available(&m.map);
    bool sorts = now.column->provoke == sort_map && !is_column("compare"); /* then objects are under way */
    bool same = seen <= kolk_slotmap_count(&m.map) && stats.count == seen && kolk_slotmap_objects(&m.map);
    return if_works(same && (sorts || finds_in_map(m.handles[2])));
}

static const row map_rows[] = {
    {"kolk_slotmap_add", map_add, "wwnrrrrrrrrrrwr"},
    {"kolk_slotmap_remove", map_remove, "wwwrrrrrrrrrrwr"},
    {"kolk_slotmap_remove_at", map_remove_at, "wwwrrrrrrrrrrwr"},
    {"kolk_slotmap_remove_in_place", map_remove_in_place, "wwwrrrrrrrrrrwr"},
    {"kolk_slotmap_remove (many)", map_remove_many, "wwwrrrrrrrrrrwr"},
    {"kolk_slotmap_remove (its own)", map_remove_own, "nnn..........n."},
    {"kolk_slotmap_clear", map_clear_, "rrrrrrrrrrrrrrr"},
    {"kolk_slotmap_settle", map_settle, "rrrrrrrrrrrrrrr"},
    {"kolk_slotmap_sort", map_sort, "rrrrrrrrrrrrrrr"},
    {"kolk_slotmap_trim", map_trim, "rrrrrrrrrrrrrrr"},
    {"kolk_slotmap_reserve", map_reserve, "wwwssssssssssws"},
    {"kolk_slotmap_rebind", map_rebind, "sssssssssssssss"},
    {"kolk_slotmap_snapshot", map_snapshot, "nnnnnnnnnnnnnnn"},
    {"kolk_slotmap_restore", map_restore, "sssssnnssssssss"},
    {"kolk_slotmap_restore_converted", map_restore_converted, "sssssnnssssssss"},
    {"kolk_slotmap_hash", map_hash, "nnnnnnnnnnnnnnn"},
    {"kolk_slotmap_deinit", map_deinit, "rrrrrrrrrrrrrrr"},
    {"kolk_slotmap_get", map_look, "wwwwwwwwwwwwwww"},
};

/* promise: slotmap.h "Returns 0 inside a hook, and while there are holes", "The hook may remove ... add returns NULL",
 * "Each may call ... return KOLK_IN_HOOK", "replaces the hooks ... KOLK_IN_HOOK or KOLK_MOVED", "In it, handle_of and
 * `index` take O(slots)" */
static void test_slotmap(void **state) {
    static const char *const modes[] = {NULL, "fill,sites", "move"};
    for (size_t i = 0; i < LENGTH_OF(modes); i++) {
        m.debug = modes[i];
        RUN("slot map", map_columns, map_rows, begin_map, finish_map);
    }
}

/* ---- Shared pool ------------------------------------------------------------------------------------------------- */

static struct {
    kolk_shared pool;
    kolk_shared_local local, other;
    const char *debug;
    uint32_t cache;
    uint32_t started;
    void *objects[6];
} s;

static kolk_shared_desc desc_of_shared(void) {
    kolk_shared_desc desc = {.name = "shared", .object_size = 32, .capacity = 32, .cache = s.cache, .debug = s.debug};
    desc.life.setup = is_column("setup") ? pool_setup : NULL;
    desc.life.teardown = is_column("teardown") ? pool_teardown : NULL;
    desc.life.reset = is_column("reset") ? pool_reset : NULL;
    return desc;
}

static void *start_shared(void *object) {
    if (object) s.started++;
    return object;
}

static void begin_shared(void) {
    s.started = 0;
    kolk_shared_desc desc = desc_of_shared();
    assert_int_equal(kolk_shared_init(&s.pool, &desc), KOLK_OK);
    assert_int_equal(kolk_shared_local_init(&s.local, &s.pool), KOLK_OK);
    memset(&s.other, 0, sizeof s.other);
    for (uint32_t i = 0; i < LENGTH_OF(s.objects); i++) s.objects[i] = start_shared(kolk_shared_alloc(&s.local));
}

static void finish_shared(void) {
    if (s.pool.inside) {
        CHECK(kolk_shared_is_valid(&s.pool));
        kolk_shared_clear(&s.pool);
        CHECK(kolk_shared_count(&s.pool) == 0 && kolk_shared_is_valid(&s.pool));
        CHECK(start_shared(kolk_shared_alloc(&s.local)));
        kolk_shared_local_deinit(&s.local);
        kolk_shared_local_deinit(&s.other);
        kolk_shared_deinit(&s.pool);
    }
    CHECK(!s.pool.inside);
    if (is_column("reset")) CHECK(now.resets == (int)s.started);
}

static void alloc_shared(void) {
    for (int i = 0; i < 4; i++) start_shared(kolk_shared_alloc(&s.local)); /* some may be set up already */
}

PROVOKE(free_shared, kolk_shared_free(&s.local, s.objects[0]))

static void quiesce_shared(void) {
    kolk_shared_free_later(&s.local, s.objects[0]);
    for (int i = 0; i < 4; i++) kolk_shared_quiesce(&s.local);
}

PROVOKE(clear_shared, kolk_shared_clear(&s.pool))
PROVOKE(end_shared, kolk_shared_deinit(&s.pool))

static const column shared_columns[] = {
    {"setup", alloc_shared}, {"reset", free_shared}, {"reset", quiesce_shared},
    {"reset", clear_shared}, {"reset", end_shared},  {"teardown", end_shared},
};

CALL(shared_alloc, if_works(start_shared(kolk_shared_alloc(&s.local))))
CALL(shared_alloc_now, if_works(start_shared(kolk_shared_alloc_wait(&s.local, KOLK_NOW))))
CALL(shared_alloc_wait, if_works(start_shared(kolk_shared_alloc_wait(&s.local, KOLK_FOREVER))))

static char shared_alloc_n(void) {
    void *objects[2];
    uint32_t n = kolk_shared_alloc_n(&s.local, objects, 2);
    s.started += n;
    return if_works(n == 2);
}

THEN(shared_free, kolk_shared_free(&s.local, s.objects[5]), if_works(!kolk_shared_is_live(&s.pool, s.objects[5])))
THEN(shared_free_n, kolk_shared_free_n(&s.local, &s.objects[4], 2),
     if_works(!kolk_shared_is_live(&s.pool, s.objects[4])))
THEN(shared_free_later, kolk_shared_free_later(&s.local, s.objects[5]),
     if_works(!kolk_shared_is_live(&s.pool, s.objects[5])))
THEN(shared_quiesce, kolk_shared_quiesce(&s.local), if_silent())
THEN(shared_offline, kolk_shared_offline(&s.local), if_silent())
THEN(shared_online, kolk_shared_online(&s.local), if_silent())
THEN(shared_flush, kolk_shared_local_flush(&s.local), if_silent())
THEN(shared_local_deinit, kolk_shared_local_deinit(&s.local), if_silent())

static char shared_local_init(void) {
    kolk_status status = kolk_shared_local_init(&s.other, &s.pool);
    return if_works(status == KOLK_OK && kolk_shared_local_of_thread(&s.pool));
}

static char shared_shutdown(void) {
    kolk_shared_shutdown(&s.pool);
    kolk_shared_reopen(&s.pool);
    return if_silent();
}

THEN(shared_clear, kolk_shared_clear(&s.pool), if_works(kolk_shared_count(&s.pool) == 0))
THEN(shared_deinit, kolk_shared_deinit(&s.pool), if_works(!s.pool.inside))

static char shared_rebind(void) {
    kolk_shared_desc desc = desc_of_shared();
    return of_status(kolk_shared_rebind(&s.pool, &desc));
}

static char shared_look(void) {
    kolk_stats stats;
    kolk_shared_cursor walk = kolk_shared_each(&s.pool);
    void *object = kolk_shared_cursor_next(&walk);
    bool same = !object || kolk_shared_get(&s.pool, kolk_shared_handle_of(&s.pool, object)) == object;
    kolk_shared_stats(&s.pool, &stats);
    look_around();
    (void)kolk_shared_is_valid(&s.pool);
    (void)kolk_shared_count(&s.pool);
    return if_works(same && (!object || kolk_shared_is_live(&s.pool, object)));
}

static const row shared_rows[] = {
    {"kolk_shared_alloc", shared_alloc, "wwwwwn"},
    {"kolk_shared_alloc_wait (now)", shared_alloc_now, "wwwwwn"},
    {"kolk_shared_alloc_wait", shared_alloc_wait, "rrrrrr"},
    {"kolk_shared_alloc_n", shared_alloc_n, "wwwwwn"},
    {"kolk_shared_free", shared_free, "wwwww."},
    {"kolk_shared_free_n", shared_free_n, "wwwww."},
    {"kolk_shared_free_later", shared_free_later, "wwwww."},
    {"kolk_shared_quiesce", shared_quiesce, "rrrrrr"},
    {"kolk_shared_offline", shared_offline, "rrrrrr"},
    {"kolk_shared_online", shared_online, "rrrrrr"},
    {"kolk_shared_local_flush", shared_flush, "wwwwww"},
    {"kolk_shared_local_deinit", shared_local_deinit, "rrrrrr"},
    {"kolk_shared_local_init", shared_local_init, "wwwwww"},
    {"kolk_shared_shutdown", shared_shutdown, "wwwwww"},
    {"kolk_shared_clear", shared_clear, "rrrrrr"},
    {"kolk_shared_deinit", shared_deinit, "rrrrrr"},
    {"kolk_shared_rebind", shared_rebind, "ssssss"},
    {"kolk_shared_get", shared_look, "wwwwww"},
};

/* promise: shared.h "replaces the hooks ... Locals stay usable", "In teardown ... returns KOLK_IN_HOOK" */
static void test_shared(void **state) {
    static const char *const modes[] = {NULL, "fill,sites"};
    for (size_t i = 0; i < LENGTH_OF(modes); i++)
        for (s.cache = 0; s.cache <= 4; s.cache += 4) {
            s.debug = modes[i];
            RUN("shared pool", shared_columns, shared_rows, begin_shared, finish_shared);
        }
}

/* ---- Heap -------------------------------------------------------------------------------------------------------- */

static struct {
    kolk_heap heap, child;
    bool is_fixed;
    _Alignas(16) unsigned char memory[4096];
    void *block;
    int ends;
} h;

static const kolk_heap_class trays[] = {{.size = 32, .capacity = 8, .when_full = KOLK_HEAP_NULL},
                                        {.size = 64, .capacity = 8}};

ASKED(bool, heap_on_full, "on_full", false, kolk_heap *heap, size_t bytes, void *context)

static void heap_at_end(void *context) {
    h.ends++;
    run_hook("function");
}

static kolk_heap_desc desc_of_heap(void) {
    kolk_heap_desc desc = {.name = "heap", .on_full = heap_on_full};
    if (h.is_fixed) {
        desc.classes = trays;
        desc.n_classes = LENGTH_OF(trays);
        desc.memory = h.memory;
        desc.memory_size = sizeof h.memory;
    } else {
        desc.limit = 4 << 20;
    }
    return desc;
}

static void begin_heap(void) {
    kolk_heap_desc desc = desc_of_heap();
    h.ends = 0;
    assert_int_equal(kolk_heap_init(&h.heap, &desc), KOLK_OK);
    h.block = kolk_heap_alloc(&h.heap, 20);
    memset(&h.child, 0, sizeof h.child);
    if (h.is_fixed) return;
    assert_int_equal(kolk_heap_init(&h.child, &(kolk_heap_desc){.parent = &h.heap, .on_full = heap_on_full}), KOLK_OK);
}

static void finish_heap(void) {
    if (h.heap.root || h.heap.fixed) {
        CHECK(kolk_heap_is_valid(&h.heap));
        kolk_heap_reset(&h.heap);
        CHECK(kolk_heap_alloc(&h.heap, 30) && kolk_heap_is_valid(&h.heap));
        kolk_heap_deinit(&h.heap);
    }
    CHECK(!h.heap.root && !h.heap.fixed && !h.child.root);
    if (is_column("function")) CHECK(h.ends == 2);
}

static void fill_heap(void) {
    while (kolk_heap_alloc(&h.heap, h.is_fixed ? 32 : 200000)) {}
}

static void fill_child(void) {
    while (kolk_heap_alloc(&h.child, 200000)) {}
}

static void add_ends(kolk_heap *heap) {
    CHECK(kolk_heap_on_end(heap, heap_at_end, NULL) && kolk_heap_on_end(heap, heap_at_end, NULL));
}

static void end_heap(void) {
    add_ends(&h.heap);
    kolk_heap_deinit(&h.heap);
}

static void reset_heap(void) {
    add_ends(&h.heap);
    kolk_heap_reset(&h.heap);
}

static void end_child(void) {
    add_ends(&h.child);
    kolk_heap_deinit(&h.child);
}

static void end_with_child(void) {
    add_ends(&h.child);
    kolk_heap_deinit(&h.heap);
}

static const column heap_columns[] = {
    {"on_full", fill_heap},   {"on_full", fill_child}, {"function", end_heap},
    {"function", reset_heap}, {"function", end_child}, {"function", end_with_child},
};

static const column fixed_columns[] = {{"on_full", fill_heap}};

CALL(heap_alloc, if_works(kolk_heap_alloc(&h.heap, 40) && kolk_heap_alloc_zeroed(&h.heap, 40) &&
                          kolk_heap_alloc_aligned(&h.heap, 16, 40)))

static char heap_alloc_n(void) {
    void *blocks[2];
    size_t n = kolk_heap_alloc_n(&h.heap, 40, blocks, 2);
    kolk_heap_free_n(&h.heap, blocks, n);
    return if_works(n == 2);
}

static char heap_realloc(void) {
    void *block = kolk_heap_realloc(&h.heap, h.block, 60);
    return if_works(block && kolk_heap_usable_size(&h.heap, block) >= 60);
}

THEN(heap_free, kolk_heap_free(&h.heap, h.block), if_works(!kolk_heap_is_live(&h.heap, h.block)))

static char heap_on_end(void) {
    bool added = kolk_heap_on_end(&h.heap, heap_at_end, NULL);
    if (added) h.ends--; /* finish_heap expects two */
    return if_works(added);
}

static char heap_trim(void) {
    (void)kolk_heap_trim(&h.heap);
    (void)kolk_trim_all();
    return if_silent();
}

static char heap_child(void) {
    kolk_heap_deinit(&h.child);
    kolk_status status = kolk_heap_init(&h.child, &(kolk_heap_desc){.parent = &h.heap});
    return if_works(status == KOLK_OK && kolk_heap_alloc(&h.child, 40));
}

THEN(heap_reset, kolk_heap_reset(&h.heap), if_silent())
THEN(heap_deinit, kolk_heap_deinit(&h.heap), if_works(!h.heap.root && !h.heap.fixed))
THEN(child_reset, kolk_heap_reset(&h.child), if_silent())
THEN(child_deinit, kolk_heap_deinit(&h.child), if_works(!h.child.root))

static char heap_rebind(void) {
    kolk_heap_desc desc = desc_of_heap();
    return of_status(kolk_heap_rebind(&h.heap, &desc));
}

static char heap_look(void) {
    kolk_stats stats;
    kolk_heap_class_stats of_class;
    kolk_heap_stats(&h.heap, &stats);
    (void)kolk_heap_stats_of_class(&h.heap, 0, &of_class);
    look_around();
    return if_works(kolk_heap_next(&h.heap, NULL) && kolk_heap_is_live(&h.heap, h.block) &&
                    kolk_heap_is_valid(&h.heap));
}

static const row heap_rows[] = {
    {"kolk_heap_alloc", heap_alloc, "wwwwww"},
    {"kolk_heap_alloc_n", heap_alloc_n, "wwwwww"},
    {"kolk_heap_realloc", heap_realloc, "wwwwww"},
    {"kolk_heap_free", heap_free, "wwwwww"},
    {"kolk_heap_on_end", heap_on_end, "wwwwww"},
    {"kolk_heap_trim", heap_trim, "wwwwww"},
    {"kolk_heap_init (a child)", heap_child, "w.ww.."},
    {"kolk_heap_reset", heap_reset, "rrrrrr"},
    {"kolk_heap_deinit", heap_deinit, "rrrrrr"},
    {"kolk_heap_reset (the child)", child_reset, "wrwwrr"},
    {"kolk_heap_deinit (the child)", child_deinit, "wrwwrr"},
    {"kolk_heap_rebind", heap_rebind, "swssww"},
    {"kolk_heap_next", heap_look, "wwwwww"},
};

static const row fixed_rows[] = {
    {"kolk_heap_alloc", heap_alloc, "w"},   {"kolk_heap_realloc", heap_realloc, "w"},
    {"kolk_heap_free", heap_free, "w"},     {"kolk_heap_on_end", heap_on_end, "n"},
    {"kolk_heap_trim", heap_trim, "w"},     {"kolk_heap_reset", heap_reset, "r"},
    {"kolk_heap_deinit", heap_deinit, "r"}, {"kolk_heap_rebind", heap_rebind, "s"},
    {"kolk_heap_next", heap_look, "w"},
};

/* promise: heap.h "They must return ... (KOLK_IN_HOOK), and changes nothing" */
static void test_heap(void **state) {
    h.is_fixed = false;
    if (sizeof(void *) == 8) RUN("heap", heap_columns, heap_rows, begin_heap, finish_heap);
    h.is_fixed = true;
    RUN("fixed heap", fixed_columns, fixed_rows, begin_heap, finish_heap);
}

/* ---- Queue ------------------------------------------------------------------------------------------------------- */

static struct {
    kolk_queue queue;
    bool moves;
    int made, destroyed;
} q;

static void queue_destroy(void *item, void *context) {
    q.destroyed++;
    run_hook("destroy");
}

static void queue_move(void *to, void *from, bool in, void *context) {
    memcpy(to, from, sizeof(int));
    run_hook("move");
}

static kolk_status push_one(kolk_deadline deadline) {
    int item = q.made;
    kolk_status status = kolk_queue_push(&q.queue, &item, deadline);
    if (status == KOLK_OK) q.made++;
    return status;
}

static kolk_status pop_one(kolk_deadline deadline) {
    int item;
    kolk_status status = kolk_queue_pop(&q.queue, &item, deadline);
    if (status == KOLK_OK) q.destroyed++;
    return status;
}

static kolk_queue_desc desc_of_queue(void) {
    kolk_queue_desc desc = {.name = "queue", .item_size = sizeof(int), .capacity = 4, .destroy = queue_destroy};
    desc.move = is_column("move") ? queue_move : NULL;
    return desc;
}

static void begin_queue(void) {
    kolk_queue_desc desc = desc_of_queue();
    q.made = q.destroyed = 0;
    assert_int_equal(kolk_queue_init(&q.queue, &desc), KOLK_OK);
    for (int i = 0; i < 2; i++) push_one(KOLK_NOW);
}

static void finish_queue(void) {
    if (q.queue.cells) {
        CHECK(kolk_queue_is_valid(&q.queue));
        kolk_queue_clear(&q.queue);
        CHECK(q.destroyed == q.made && kolk_queue_count(&q.queue) == 0);
        while (push_one(KOLK_NOW) == KOLK_OK) {}
        CHECK(kolk_queue_count(&q.queue) == 4);
        kolk_queue_deinit(&q.queue);
    }
    CHECK(q.destroyed == q.made);
}

PROVOKE(clear_queue, kolk_queue_clear(&q.queue))
PROVOKE(end_queue, kolk_queue_deinit(&q.queue))
PROVOKE(push_to_queue, push_one(KOLK_NOW))
PROVOKE(pop_from_queue, pop_one(KOLK_NOW))

static const column queue_columns[] = {
    {"destroy", clear_queue}, {"destroy", end_queue}, {"move", push_to_queue}, {"move", pop_from_queue}};

CALL(queue_push, of_status(push_one(KOLK_NOW)))
CALL(queue_pop, of_status(pop_one(KOLK_NOW)))

static char queue_push_much(void) {
    kolk_status status;
    while ((status = push_one(KOLK_FOREVER)) == KOLK_OK) {}
    return of_status(status);
}

static char queue_pop_much(void) {
    kolk_status status;
    while ((status = pop_one(KOLK_FOREVER)) == KOLK_OK) {}
    return of_status(status);
}

static char queue_push_n(void) {
    int items[1] = {0};
    size_t n = 1;
    kolk_status status = kolk_queue_push_n(&q.queue, items, &n, KOLK_NOW);
    q.made += (int)n;
    return of_status(status);
}

static char queue_pop_n(void) {
    int items[1];
    size_t n = 1;
    kolk_status status = kolk_queue_pop_n(&q.queue, items, &n, KOLK_NOW);
    q.destroyed += (int)n;
    return of_status(status);
}

THEN(queue_clear, kolk_queue_clear(&q.queue), if_silent())
THEN(queue_deinit, kolk_queue_deinit(&q.queue), if_works(!q.queue.cells))

static char queue_rebind(void) {
    kolk_queue_desc desc = desc_of_queue();
    return of_status(kolk_queue_rebind(&q.queue, &desc));
}

static char queue_end(void) {
    if (now.column->provoke == end_queue) return 'w'; /* the queue stays shut down */
    kolk_queue_close(&q.queue);
    kolk_queue_shutdown(&q.queue);
    kolk_queue_reopen(&q.queue);
    return if_silent();
}

static char queue_look(void) {
    kolk_stats stats;
    kolk_queue_stats(&q.queue, &stats);
    look_around();
    (void)kolk_queue_is_valid(&q.queue);
    (void)kolk_queue_fd(&q.queue, KOLK_QUEUE_READABLE);
    return if_works(kolk_queue_count(&q.queue) == stats.count);
}

static const row queue_rows[] = {
    {"kolk_queue_push", queue_push, "wnww"},
    {"kolk_queue_push_n", queue_push_n, "wnww"},
    {"kolk_queue_push (much)", queue_push_much, "snss"},
    {"kolk_queue_pop", queue_pop, "nnww"},
    {"kolk_queue_pop_n", queue_pop_n, "nnww"},
    {"kolk_queue_pop (much)", queue_pop_much, "snss"},
    {"kolk_queue_clear", queue_clear, "rrrr"},
    {"kolk_queue_deinit", queue_deinit, "rrrr"},
    {"kolk_queue_rebind", queue_rebind, "ssss"},
    {"kolk_queue_close", queue_end, "wwww"},
    {"kolk_queue_count", queue_look, "wwww"},
};

/* promise: queue.h "a push or pop ... deinit returns KOLK_SHUTDOWN" */
static void test_queue(void **state) {
    RUN("queue", queue_columns, queue_rows, begin_queue, finish_queue);
}

/* ---- Resource pool ----------------------------------------------------------------------------------------------- */

static struct {
    kolk_resource_pool pool;
    int created, destroyed, resources[64];
    bool fails;
} r;

static bool resource_create(void *context, const char *key, kolk_deadline deadline, void **resource,
                            kolk_error *error) {
    run_hook("create");
    if (r.fails) return false;
    *resource = &r.resources[r.created++];
    return true;
}

static void resource_destroy(void *context, void *resource) {
    r.destroyed++;
    run_hook("destroy");
}

ASKED(bool, resource_validate, "validate", true, void *context, void *resource, kolk_deadline deadline)
ASKED(bool, resource_reset, "reset", true, void *context, void *resource)
HOOK(resource_log, "log", void *context, const kolk_resource_event *event)
ASKED(bool, resource_wants, "wants", false, const char *key, const void *resource, bool in_use, void *context)

static kolk_status borrow_for(int64_t milliseconds, kolk_borrowed *out) {
    kolk_borrow_desc desc = {.deadline = milliseconds ? kolk_deadline_after(milliseconds) : KOLK_NOW};
    return kolk_resource_borrow(&r.pool, &desc, out);
}

static kolk_resource_pool_desc desc_of_resources(void) {
    return (kolk_resource_pool_desc){.name = "resources",
                                     .create = resource_create,
                                     .destroy = resource_destroy,
                                     .validate = resource_validate,
                                     .reset = resource_reset,
                                     .log = resource_log,
                                     .max = 1,
                                     .validate_after_ms = -1,
                                     .no_housekeeper = true};
}

static void begin_resources(void) {
    memset(&r, 0, sizeof r);
    kolk_resource_pool_desc desc = desc_of_resources();
    assert_int_equal(kolk_resource_init(&r.pool, &desc), KOLK_OK);
}

static void finish_resources(void) {
    r.fails = false;
    CHECK(kolk_resource_is_valid(&r.pool));
    kolk_resource_resume(&r.pool);
    kolk_borrowed one;
    if (borrow_for(0, &one) == KOLK_OK) kolk_resource_give_back(&r.pool, &one);
    kolk_resource_deinit(&r.pool);
    CHECK(!r.pool.inside && r.destroyed == r.created);
}

static void borrow_once(void) {
    kolk_borrowed one;
    if (borrow_for(30, &one) == KOLK_OK) kolk_resource_give_back(&r.pool, &one);
}

static void borrow_twice(void) {
    borrow_once();
    borrow_once();
}

static void evict_all(void) {
    borrow_once();
    kolk_resource_evict(&r.pool);
}

static void fail_to_borrow(void) {
    r.fails = true;
    borrow_once();
}

static void wait_in_vain(void) {
    kolk_borrowed one, none;
    CHECK(borrow_for(30, &one) == KOLK_OK);
    CHECK(borrow_for(1, &none) != KOLK_OK);
    kolk_resource_give_back(&r.pool, &one);
}

static void evict_wanted(void) {
    borrow_once();
    kolk_resource_evict_if(&r.pool, resource_wants, NULL);
}

static const column resource_columns[] = {
    {"create", borrow_once}, {"destroy", evict_all}, {"validate", borrow_twice}, {"reset", borrow_once},
    {"log", fail_to_borrow}, {"log", wait_in_vain},  {"wants", evict_wanted},
};

static char resource_borrow(void) {
    kolk_borrowed one;
    kolk_status status = borrow_for(30, &one);
    if (status == KOLK_OK) kolk_resource_give_back(&r.pool, &one);
    return of_status(status);
}

static char resource_borrow_now(void) {
    kolk_borrowed one;
    kolk_status status = borrow_for(0, &one);
    if (status == KOLK_OK) kolk_resource_discard(&r.pool, &one);
    return of_status(status);
}

CALL(resource_detach, if_works(!kolk_resource_detach(&r.pool, &(kolk_borrowed){.resource = NULL})))

static char resource_evict(void) {
    kolk_resource_evict(&r.pool);
    (void)kolk_resource_evict_generation(&r.pool, 0);
    (void)kolk_resource_evict_if(&r.pool, resource_wants, NULL);
    return if_silent();
}

static char resource_pause(void) {
    kolk_resource_pause(&r.pool);
    kolk_resource_resume(&r.pool);
    return of_status(kolk_resource_resize(&r.pool, 2));
}

THEN(resource_tick, kolk_resource_tick(&r.pool, KOLK_NOW), if_silent())

static char resource_close(void) {
    kolk_status status = kolk_resource_close(&r.pool, KOLK_NOW);
    return if_works(status == KOLK_OK || status == KOLK_TIMEOUT);
}

CALL(resource_close_and_wait, of_status(kolk_resource_close(&r.pool, KOLK_FOREVER)))
THEN(resource_deinit, kolk_resource_deinit(&r.pool), if_works(!r.pool.inside))

static char resource_rebind(void) {
    kolk_resource_pool_desc desc = desc_of_resources();
    return of_status(kolk_resource_rebind(&r.pool, &desc));
}

static char resource_look(void) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&r.pool, &stats);
    (void)kolk_resource_fd(&r.pool);
    (void)kolk_resource_interrupt_fd();
    look_around();
    return if_works(kolk_resource_is_valid(&r.pool) && !kolk_resource_is_interrupted());
}

static const row resource_rows[] = {
    {"kolk_resource_borrow", resource_borrow, "sssssss"},
    {"kolk_resource_borrow (now)", resource_borrow_now, "nnnnnnn"},
    {"kolk_resource_detach", resource_detach, "wwwwwww"},
    {"kolk_resource_evict", resource_evict, "wwwwwww"},
    {"kolk_resource_pause", resource_pause, "wwwwwww"},
    {"kolk_resource_tick", resource_tick, "rrrrrrr"},
    {"kolk_resource_close", resource_close, "wwwwwww"},
    {"kolk_resource_close (and wait)", resource_close_and_wait, "sssssss"},
    {"kolk_resource_deinit", resource_deinit, "rrrrrrr"},
    {"kolk_resource_rebind", resource_rebind, "sssssss"},
    {"kolk_resource_stats", resource_look, "wwwwwww"},
};

/* promise: resource.h "`log` does not receive its own borrows", "call deinit in one of the pool's own functions", "Each
 * function ... pool is all zero", "only KOLK_NOW is possible", "To call it in one of the pool's own functions" */
static void test_resource(void **state) {
    RUN("resource pool", resource_columns, resource_rows, begin_resources, finish_resources);
}

/* ---- Pool between processes -------------------------------------------------------------------------------------- */

static struct {
    kolk_ipc pool, dying; /* one block */
    void *own, *other;    /* an object of `pool`; one that `dying` leaves */
    int orphans;
} ipc;

static void ipc_on_orphan(void *object, void *context) {
    ipc.orphans++;
    ipc.other = object;
    run_hook("on_orphan");
}

static void begin_ipc(void) {
    memset(&ipc, 0, sizeof ipc);
    kolk_ipc_desc desc = {.name = "ipc", .object_size = 8, .capacity = 4, .queues = 1, .on_orphan = ipc_on_orphan};
    assert_int_equal(kolk_ipc_init(&ipc.pool, &desc), KOLK_OK);
    assert_int_equal(kolk_ipc_attach(&ipc.dying, kolk_ipc_fd(&ipc.pool), &(kolk_ipc_desc){.tag = 0}), KOLK_OK);
    ipc.own = kolk_ipc_alloc(&ipc.pool);
    assert_true(ipc.own && kolk_ipc_alloc(&ipc.dying));
}

static void finish_ipc(void) {
    CHECK(ipc.orphans == 1 && kolk_ipc_is_valid(&ipc.pool));
    kolk_ipc_deinit(&ipc.dying);
    kolk_ipc_deinit(&ipc.pool);
    CHECK(!ipc.pool.block);
}

/* The system releases a process's lock when it dies. */
static void find_a_dead_one(void) {
    kolk_between_release_(ipc.dying.lock_kept, ipc.dying.page);
    ipc.dying.lock_kept = NULL;
    CHECK(kolk_ipc_recover(&ipc.pool) == 1);
}

static const column ipc_columns[] = {{"on_orphan", find_a_dead_one}};

CALL(ipc_alloc, if_works(kolk_ipc_alloc(&ipc.pool) && kolk_ipc_alloc_wait(&ipc.pool, KOLK_NOW)))
CALL(ipc_alloc_much, if_works(ipc_alloc() == 'w' && kolk_ipc_alloc_wait(&ipc.pool, kolk_deadline_after(1))))
THEN(ipc_free, kolk_ipc_free(&ipc.pool, ipc.other), if_works(!kolk_ipc_is_live(&ipc.pool, ipc.other)))
CALL(ipc_push, of_status(kolk_ipc_push(&ipc.pool, 0, ipc.other, KOLK_FOREVER)))
CALL(ipc_pop, if_works(ipc_push() == 'w' && kolk_ipc_pop(&ipc.pool, 0, KOLK_FOREVER) == ipc.other))
CALL(ipc_pop_much, if_works(kolk_ipc_pop(&ipc.pool, 0, kolk_deadline_after(1))))
THEN(ipc_close, kolk_ipc_close(&ipc.pool, 0), if_works(kolk_ipc_is_closed(&ipc.pool, 0)))
CALL(ipc_recover, if_works(kolk_ipc_recover(&ipc.pool)))
CALL(ipc_adopt, if_works(kolk_ipc_adopt(&ipc.pool)))

static char ipc_attach(void) {
    kolk_ipc again, in;
    kolk_status status = kolk_ipc_attach(&again, kolk_ipc_fd(&ipc.pool), &(kolk_ipc_desc){.tag = 0});
    CHECK(kolk_ipc_init_in(&in, kolk_ipc_fd(&ipc.pool), &(kolk_ipc_desc){.object_size = 8, .capacity = 1}) ==
          KOLK_NOT_EMPTY);
    kolk_ipc_deinit(&again);
    return of_status(status);
}

static char ipc_look(void) {
    kolk_stats stats;
    kolk_ipc_holder holders[2];
    kolk_ipc_cursor cursor = kolk_ipc_each(&ipc.pool);
    kolk_handle handle = kolk_ipc_handle_of(&ipc.pool, ipc.other);
    kolk_ipc_stats(&ipc.pool, &stats);
    look_around();
    return if_works(kolk_ipc_cursor_next(&cursor) && kolk_ipc_get(&ipc.pool, handle) == ipc.other &&
                    kolk_ipc_is_owned(&ipc.pool, ipc.other) && kolk_ipc_is_live(&ipc.pool, ipc.own) &&
                    kolk_ipc_count(&ipc.pool) == 2 && stats.count == 2 && kolk_ipc_queued(&ipc.pool, 0) == 0 &&
                    kolk_ipc_holders(&ipc.pool, holders, 2) == 2 && kolk_ipc_status(&ipc.pool) == KOLK_OK &&
                    kolk_ipc_is_valid(&ipc.pool));
}

static const row ipc_rows[] = {
    {"kolk_ipc_alloc", ipc_alloc, "w"}, {"kolk_ipc_alloc_wait", ipc_alloc_much, "n"}, /* two are alive */
    {"kolk_ipc_free", ipc_free, "w"},   {"kolk_ipc_push", ipc_push, "w"},
    {"kolk_ipc_pop", ipc_pop, "w"},     {"kolk_ipc_pop (much)", ipc_pop_much, "n"},
    {"kolk_ipc_close", ipc_close, "w"}, {"kolk_ipc_recover", ipc_recover, "n"},
    {"kolk_ipc_adopt", ipc_adopt, "n"}, {"kolk_ipc_attach", ipc_attach, "w"},
    {"kolk_ipc_deinit", NULL, "."},     {"kolk_ipc_stats", ipc_look, "w"},
};

/* promise: ipc.h "It may call any function of the pool except deinit", "The object is this process's now ... keep it",
 * "Returns 0 if another thread of this process is doing it" */
static void test_ipc(void **state) {
    if (KOLK_BETWEEN_) RUN("pool between processes", ipc_columns, ipc_rows, begin_ipc, finish_ipc);
}

/* ---- More than one cell ------------------------------------------------------------------------------------------ */

/* An object of a family in a slot map, which removes its children when it is removed. Families overlap, so that an
 * object may be the child of its own child. */
typedef struct node {
    uint32_t id, children;
    kolk_handle own, child[3];
    struct node *self; /* updated by on_move */
} node;

static struct {
    kolk_slotmap map;
    uint32_t made, removed[2000];
    uint64_t random;
    bool adds;
} tree;

static uint32_t any(uint32_t below) {
    return random_below(&tree.random, below);
}

static void add_node(void) {
    kolk_handle handle;
    node *it = kolk_slotmap_add(&tree.map, &handle);
    if (!it) return;
    *it = (node){.id = tree.made++, .own = handle, .self = it};
}

static void node_moved(void *object, uint32_t from, uint32_t to, void *context) {
    node *it = object;
    it->self = it;
}

static void remove_family(void *object, void *context) {
    const node *it = object;
    uint32_t id = it->id;
    tree.removed[id]++;
    assert_ptr_equal(kolk_slotmap_get(&tree.map, it->own), it);
    for (uint32_t i = 0; i < it->children; i++) {
        kolk_slotmap_remove(&tree.map, it->child[i]);
        if (tree.adds && any(2)) add_node();
        assert_int_equal(it->id, id); /* neither moved nor overwritten */
        assert_false(kolk_slotmap_remove(&tree.map, it->own));
        assert_ptr_equal(kolk_slotmap_get(&tree.map, it->own), it);
        assert_int_equal(kolk_slotmap_handle_of(&tree.map, it).bits, it->own.bits);
        assert_true(kolk_slotmap_index(&tree.map, it) < 200 && kolk_slotmap_slot(&tree.map, it->own) < 200);
    }
}

static void check_tree(void) {
    uint32_t alive = 0;
    assert_true(kolk_slotmap_is_valid(&tree.map));
    for (uint32_t i = 0; i < tree.made; i++) {
        assert_in_range(tree.removed[i], 0, 1);
        alive += !tree.removed[i];
    }
    assert_int_equal(alive, kolk_slotmap_count(&tree.map));
    for (uint32_t place = 0; place < alive; place++) {
        node *it = kolk_slotmap_at(&tree.map, place);
        assert_ptr_equal(kolk_slotmap_get(&tree.map, it->own), it);
        assert_true(!tree.removed[it->id] && (!tree.map.on_move || it->self == it));
    }
}

static void test_families(void **state) {
    for (uint32_t seed = 1; seed <= (does_a_part() ? 20 : 200); seed++) {
        memset(&tree, 0, sizeof tree);
        tree.random = seed;
        tree.adds = seed % 3 == 0;
        kolk_slotmap_desc desc = {.object_size = sizeof(node), .capacity = seed % 2 ? 40 : 0, .max_capacity = 200};
        desc.on_remove = remove_family;
        desc.on_move = seed % 5 == 0 ? node_moved : NULL;
        desc.debug = seed % 7 == 0 ? "fill,move" : NULL;
        assert_int_equal(kolk_slotmap_init(&tree.map, &desc), KOLK_OK);
        for (int round = 0; round < 60; round++) {
            for (int i = 0; i < 10; i++) add_node();
            uint32_t count = kolk_slotmap_count(&tree.map);
            for (uint32_t place = 0; place < count; place++) {
                node *it = kolk_slotmap_at(&tree.map, place);
                it->children = any(2) ? any(4) : 0;
                for (uint32_t i = 0; i < it->children; i++)
                    it->child[i] = ((node *)kolk_slotmap_at(&tree.map, any(count)))->own;
            }
            if (any(20) == 0)
                kolk_slotmap_clear(&tree.map);
            else
                kolk_slotmap_remove(&tree.map, ((node *)kolk_slotmap_at(&tree.map, any(count)))->own);
            check_tree();
        }
        kolk_slotmap_deinit(&tree.map);
        for (uint32_t i = 0; i < tree.made; i++) assert_int_equal(tree.removed[i], 1);
    }
}

static void free_own(void *object, void *context) {
    kolk_pool_free(context, object);
}

/* on_evict may free the object that is being evicted. promise: pool.h "on_full, on_low ... return KOLK_IN_HOOK",
 * "Returns 0 inside a hook" */
static void test_an_eviction_of_what_is_free(void **state) {
    kolk_pool pool;
    memset(&now, 0, sizeof now);
    for (int generations = KOLK_GENERATIONS_RECYCLE; generations <= KOLK_GENERATIONS_NONE; generations++) {
        kolk_pool_desc desc = {.object_size = 8, .capacity = 2, .ages = true, .full.on_full = kolk_pool_evict_oldest};
        desc.generations = (kolk_generations)generations;
        desc.full.on_evict = free_own;
        desc.context = &pool;
        make_pool(&pool, &desc);
        for (int i = 0; i < 5; i++) assert_non_null(kolk_pool_alloc(&pool));
        assert_true(kolk_pool_count(&pool) == 2 && kolk_pool_is_valid(&pool));
        kolk_pool_deinit(&pool);
    }
    assert_int_equal(now.others + now.reports, 0);
}

static int set_handler(void **state) {
    kolk_set_failure_handler(keep_report, NULL);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pool),
        cmocka_unit_test(test_slotmap),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_heap),
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_resource),
        cmocka_unit_test(test_ipc),
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_an_eviction_of_what_is_free),
    };
    return cmocka_run_group_tests(tests, set_handler, NULL);
}
