/* Every function of pool.h in each mode of debugging, and without: random operations on a pool and on a model of it,
 * arrays and linear searches, that knows what the quarantine, the fill and bypass make of an order and of contents.
 * After each step everything that can be asked about the pool is compared. */
#include "../help/debug_test.h"

#define SLOTS 40u

typedef struct thing {
    unsigned char bytes[21];
} thing;
KOLK_POOL_TYPE(things, thing)

typedef enum place { NEVER, FREE, WAITING, WORN, LIVE } place;

typedef struct list {
    uint32_t slots[SLOTS], count;
} list;

typedef struct model {
    kolk_pool pool;
    kolk_pool_desc desc;
    const char *mode;
    uint64_t random, step;
    uint32_t flags, waits; /* in force; slots in quarantine at most */
    place places[SLOTS];
    uint32_t generations[SLOTS];
    void *objects[SLOTS]; /* where the last life was */
    unsigned char stamps[SLOTS];
    bool set_up[SLOTS];
    list free, waiting, worn;                                  /* in the order of freeing */
    uint32_t fresh, capacity, count, peak, recycled, expected; /* slot that setup is for */
    uint64_t failed, resets, expected_resets;
    bool setup_fails;
    notes taken;
} model;

#define check(m, condition)                                                                                            \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            fail_msg("line %d, step %u: %s: debug = %s, reuse %d, generations %d, hooks %d%d%d%d, memory %d",          \
                     __LINE__, (unsigned)(m)->step, #condition, (m)->mode, (int)(m)->desc.reuse,                       \
                     (int)(m)->desc.generations, (m)->desc.setup != NULL, (m)->desc.reset != NULL,                     \
                     (m)->desc.teardown != NULL, (m)->desc.keep, (m)->desc.memory != NULL);                            \
    } while (0)

/* ---- Lists ------------------------------------------------------------------------------------------------------- */

static void push(model *m, list *l, uint32_t slot, place where) {
    l->slots[l->count++] = slot;
    m->places[slot] = where;
}

static void take_out(list *l, uint32_t slot) {
    uint32_t at = 0;
    while (at < l->count && l->slots[at] != slot) at++;
    assert_true(at < l->count);
    l->count--;
    memmove(l->slots + at, l->slots + at + 1, (l->count - at) * sizeof *l->slots);
}

static bool has_handles(const model *m) {
    return m->desc.generations != KOLK_GENERATIONS_NONE;
}

/* ---- What must happen -------------------------------------------------------------------------------------------- */

static uint32_t next_slot(const model *m) {
    if (m->desc.reuse == KOLK_REUSE_FIFO && m->fresh < m->capacity) return m->fresh;
    uint32_t lowest = 0, last = m->free.count - 1;
    while (lowest < SLOTS && m->places[lowest] != FREE) lowest++;
    if (m->free.count) {
        if (m->desc.reuse == KOLK_REUSE_LOWEST) return lowest;
        return m->free.slots[m->desc.reuse == KOLK_REUSE_LIFO ? last : 0];
    }
    if (m->fresh < m->desc.max_capacity) return m->fresh;
    if (m->waiting.count) return m->waiting.slots[0];
    if (m->worn.count && m->desc.generations == KOLK_GENERATIONS_RECYCLE) return m->worn.slots[0];
    return NO_SLOT;
}

static void take(model *m, uint32_t slot) {
    if (m->places[slot] == NEVER) m->generations[m->fresh++] = 1;
    if (m->places[slot] == FREE) take_out(&m->free, slot);
    if (m->places[slot] == WAITING) take_out(&m->waiting, slot);
    if (m->places[slot] != WORN) return;
    take_out(&m->worn, slot);
    m->generations[slot] = 1;
    m->recycled++;
}

static bool persists(const model *m) {
    return m->desc.keep || m->desc.setup || m->desc.teardown;
}

/* A life has begun in this slot, at this object, or failed to. */
static void begin(model *m, uint32_t slot, void *object, bool zeroed) {
    if (slot >= m->capacity) m->capacity = m->pool.capacity;
    take(m, slot);
    if (m->desc.setup && !m->set_up[slot]) {
        check(m, m->setup_fails && !object);
        push(m, &m->free, slot, FREE);
        m->failed++;
        return;
    }
    check(m, object && kolk_pool_index(&m->pool, object) == slot);
    check(m, (uintptr_t)object % m->pool.stride % m->desc.object_align == 0 || m->pool.objects);
    bool slotted = !(m->flags & KOLK_DEBUG_BYPASS);
    check(m, !slotted || object == m->pool.slots + (size_t)slot * m->pool.stride);
    size_t size = m->desc.object_size;
    if (zeroed)
        check(m, all_bytes_are(object, size, 0));
    else if (m->flags & KOLK_DEBUG_FILL)
        check(m, all_bytes_are(object, size, 0xcd));
    else if (persists(m) && m->stamps[slot])
        check(m, all_bytes_are(object, size, m->stamps[slot]));
    if (persists(m) && m->objects[slot]) check(m, m->objects[slot] == object);
    m->objects[slot] = object;
    m->places[slot] = LIVE;
    m->stamps[slot] = (unsigned char)(next_random(&m->random) | 1);
    memset(object, m->stamps[slot], size);
    if (++m->count > m->peak) m->peak = m->count;
}

static void allocated(model *m, void *object, bool zeroed) {
    if (m->expected != NO_SLOT) {
        begin(m, m->expected, object, zeroed);
        return;
    }
    check(m, object == NULL);
    m->failed++;
}

static void end(model *m, uint32_t slot) {
    m->count--;
    m->expected_resets += m->desc.reset != NULL;
    if (has_handles(m)) m->generations[slot] = (m->generations[slot] + 1) & KOLK_GENERATION_MAX;
}

static void freed(model *m, uint32_t slot) {
    end(m, slot);
    if (has_handles(m) && m->generations[slot] == 0) {
        push(m, &m->worn, slot, WORN);
    } else if (m->waits) {
        if (m->waiting.count == m->waits) {
            uint32_t oldest = m->waiting.slots[0];
            take_out(&m->waiting, oldest);
            push(m, &m->free, oldest, FREE);
        }
        push(m, &m->waiting, slot, WAITING);
    } else {
        push(m, &m->free, slot, FREE);
    }
}

/* The lowest free slot is to be next. */
static void sort_free(model *m) {
    m->free.count = 0;
    for (uint32_t n = 0; n < m->fresh; n++) {
        uint32_t slot = m->desc.reuse == KOLK_REUSE_LIFO ? m->fresh - 1 - n : n;
        if (m->places[slot] == FREE) push(m, &m->free, slot, FREE);
    }
}

/* ---- Operations, typed and untyped by turns ---------------------------------------------------------------------- */

static things *typed(model *m) {
    bool possible = m->desc.object_size == sizeof(thing) && random_below(&m->random, 2);
    return possible ? (things *)(void *)&m->pool : NULL;
}

static void do_alloc(model *m) {
    things *pool = typed(m);
    bool zeroed = random_below(&m->random, 3) == 0;
    m->setup_fails = random_below(&m->random, 6) == 0;
    m->expected = next_slot(m);
    void *object;
    if (pool)
        object = zeroed ? things_alloc_zeroed(pool) : things_alloc(pool);
    else
        object = zeroed ? kolk_pool_alloc_zeroed(&m->pool) : kolk_pool_alloc(&m->pool);
    allocated(m, object, zeroed);
    m->setup_fails = false;
}

static void do_alloc_n(model *m) {
    void *objects[4];
    if (m->desc.setup) return; /* its setup would have to be told each slot beforehand */
    uint32_t n = random_below(&m->random, 5), given = kolk_pool_alloc_n(&m->pool, objects, n);
    for (uint32_t i = 0; i < n && i <= given; i++) {
        m->expected = next_slot(m);
        allocated(m, i < given ? objects[i] : NULL, false);
    }
}

static uint32_t random_slot(model *m, bool live) {
    uint32_t from = random_below(&m->random, SLOTS);
    for (uint32_t i = 0; i < SLOTS; i++)
        if ((m->places[(from + i) % SLOTS] == LIVE) == live) return (from + i) % SLOTS;
    return NO_SLOT;
}

static kolk_handle handle_of(const model *m, uint32_t slot, uint32_t generation) {
    return kolk_handle_unpack((uint64_t)generation << 32 | (slot ^ m->pool.tag));
}

static void do_free(model *m) {
    uint32_t slot = random_slot(m, true);
    if (slot == NO_SLOT) return;
    things *pool = typed(m);
    kolk_handle handle = handle_of(m, slot, m->generations[slot]);
    if (has_handles(m) && random_below(&m->random, 3) == 0) {
        check(m, kolk_pool_free_handle(&m->pool, handle));
        check(m, !kolk_pool_free_handle(&m->pool, handle));
    } else if (pool) {
        things_free(pool, (thing *)m->objects[slot]);
    } else {
        kolk_pool_free(&m->pool, m->objects[slot]);
    }
    if (has_handles(m)) check(m, !kolk_pool_get(&m->pool, handle));
    freed(m, slot);
}

static void do_alloc_at(model *m) {
    uint32_t slot = random_slot(m, false);
    if (slot == NO_SLOT || slot >= m->desc.max_capacity || !has_handles(m)) return;
    uint32_t generation = 1 + random_below(&m->random, KOLK_GENERATION_MAX < 9 ? KOLK_GENERATION_MAX : 9);
    bool lost = m->places[slot] == WORN && m->desc.generations == KOLK_GENERATIONS_STRICT;
    m->expected = slot;
    void *object = kolk_pool_alloc_at(&m->pool, handle_of(m, slot, generation));
    if (lost) {
        check(m, !object);
        return;
    }
    uint32_t first = m->fresh;
    if (slot >= m->capacity) m->capacity = m->pool.capacity;
    for (uint32_t n = first; n < slot; n++) m->generations[m->fresh++] = 1;
    for (uint32_t n = 0; slot > first && n < slot - first; n++)
        push(m, &m->free, m->desc.reuse == KOLK_REUSE_LIFO ? slot - 1 - n : first + n, FREE);
    begin(m, slot, object, false);
    if (!object) return;
    m->generations[slot] = generation;
    if (slot >= m->peak) m->peak = slot + 1;
}

static void do_clear(model *m) {
    kolk_pool_clear(&m->pool);
    for (uint32_t slot = 0; slot < m->fresh; slot++) {
        if (m->places[slot] == LIVE) {
            end(m, slot);
            bool is_worn = has_handles(m) && m->generations[slot] == 0;
            if (is_worn) push(m, &m->worn, slot, WORN);
            if (!is_worn) m->places[slot] = FREE;
        }
        if (m->places[slot] == WAITING) m->places[slot] = FREE;
    }
    m->waiting.count = 0;
    sort_free(m);
}

static void do_trim(model *m) {
    size_t bytes = kolk_pool_trim(&m->pool);
    if (m->desc.memory || (m->desc.keep && !m->desc.setup)) check(m, bytes == 0);
    if (m->desc.reuse == KOLK_REUSE_LIFO) sort_free(m);
    for (uint32_t slot = 0; slot < SLOTS; slot++)
        if (m->places[slot] != LIVE && (!persists(m) || (m->desc.setup && !m->set_up[slot]))) m->stamps[slot] = 0;
    if (!m->desc.setup && m->desc.teardown) /* contents are lost, and nobody says whose */
        for (uint32_t slot = 0; slot < SLOTS; slot++)
            if (m->places[slot] != LIVE) m->stamps[slot] = 0;
}

static void do_reserve(model *m) {
    uint32_t capacity = random_below(&m->random, SLOTS + 3);
    kolk_status status = kolk_pool_reserve(&m->pool, capacity);
    check(m, status == (capacity <= m->desc.max_capacity ? KOLK_OK : KOLK_ABOVE_MAX));
    if (status == KOLK_OK && capacity > m->capacity) m->capacity = capacity;
}

/* A double free, a pointer into an object, and one from elsewhere change nothing. */
static void do_misuse(model *m) {
    uint32_t live = random_slot(m, true), dead = random_slot(m, false);
    begin_notes(&m->taken);
    kolk_pool_free(&m->pool, m);
    check(m, m->taken.count == 1 && m->taken.last.rule == KOLK_FOREIGN_POINTER);
    if (live != NO_SLOT) {
        kolk_pool_free(&m->pool, moved(m->objects[live], 1));
        check(m, m->taken.count == 2 && m->taken.last.rule == KOLK_INTERIOR_POINTER && m->taken.last.slot == live);
    }
    void *object = dead != NO_SLOT ? m->objects[dead] : NULL;
    bool known = object != NULL && KOLK_CHECKS;
    for (uint32_t slot = 0; slot < SLOTS; slot++) /* malloc may have used its place again */
        if (m->places[slot] == LIVE && m->objects[slot] == object) known = false;
    m->taken.count = 0;
    if (known) kolk_pool_free(&m->pool, object);
    check(m, !known || (m->taken.count == 1 && m->taken.last.rule == KOLK_DOUBLE_FREE));
    begin_notes(&m->taken);
}

/* ---- Comparison -------------------------------------------------------------------------------------------------- */

static void compare_counts(const model *m) {
    kolk_stats stats;
    kolk_pool_stats(&m->pool, &stats);
    uint32_t lost = m->desc.generations == KOLK_GENERATIONS_STRICT ? m->worn.count : 0;
    bool counted = m->flags || m->desc.reuse == KOLK_REUSE_FIFO;
    check(m, m->taken.count == 0);
    check(m, stats.count == m->count && kolk_pool_count(&m->pool) == m->count);
    check(m, kolk_pool_available(&m->pool) == m->capacity - m->count - lost);
    check(m, stats.capacity == m->capacity && stats.max_capacity == m->desc.max_capacity);
    check(m, stats.peak == (counted ? m->peak : m->fresh));
    check(m, stats.failed == m->failed && stats.worn_out == m->worn.count && stats.recycled == m->recycled);
    check(m, stats.debug == m->flags && stats.object_size == m->desc.object_size);
    check(m, m->resets == m->expected_resets);
}

static void compare_slots(const model *m) {
    const kolk_pool *pool = &m->pool;
    void *next = kolk_pool_next(pool, NULL);
    kolk_cursor cursor = kolk_pool_each(pool);
    uint32_t at = 0, length = 0, runs = 0;
    for (uint32_t slot = 0; slot < m->desc.max_capacity; slot++) {
        void *object = m->places[slot] == LIVE ? m->objects[slot] : NULL;
        check(m, kolk_pool_at(pool, slot) == object);
        if (!object) continue;
        check(m, kolk_pool_is_live(pool, object) && kolk_pool_index(pool, object) == slot);
        check(m, all_bytes_are(object, m->desc.object_size, m->stamps[slot]));
        check(m, next == object && kolk_cursor_next(&cursor) == object);
        next = kolk_pool_next(pool, object);
        if (at + length <= slot) {
            at = slot ? slot - 1 : 0; /* look from a little before */
            at = slot && m->places[at] == LIVE ? slot : at;
            length = m->desc.max_capacity - at;
            check(m, kolk_pool_next_run(pool, &at, &length) == object && at == slot);
            runs++;
        }
        if (!has_handles(m)) continue;
        kolk_handle handle = handle_of(m, slot, m->generations[slot]);
        check(m, kolk_handle_equal(kolk_pool_handle(pool, object), handle));
        check(m, kolk_pool_get(pool, handle) == object);
        check(m, things_get((const things *)(const void *)pool, (things_handle){handle}) == object ||
                     m->desc.object_size != sizeof(thing));
        check(m, !kolk_pool_get(pool, handle_of(m, slot, m->generations[slot] + 1)));
    }
    check(m, next == NULL && kolk_cursor_next(&cursor) == NULL);
    if (m->flags & (KOLK_DEBUG_GUARD | KOLK_DEBUG_BYPASS)) check(m, runs == m->count);
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

static bool set_up(void *object, void *context) {
    model *m = (model *)context;
    check(m, !m->set_up[m->expected]);
    if (m->setup_fails) return false;
    m->set_up[m->expected] = true;
    m->stamps[m->expected] = 0x5e;
    m->objects[m->expected] = NULL;
    memset(object, 0x5e, m->desc.object_size);
    return true;
}

static void reset(void *object, void *context) {
    model *m = (model *)context;
    m->resets++;
    check(m, !kolk_pool_is_live(&m->pool, object));
    check(m, all_bytes_are(object, m->desc.object_size, *(unsigned char *)object));
}

static void tear_down(void *object, void *context) {
    model *m = (model *)context;
    uint32_t slot = 0;
    while (slot < SLOTS && m->objects[slot] != object) slot++;
    if (!m->desc.setup) return;
    check(m, slot < SLOTS && m->set_up[slot] && all_bytes_are(object, m->desc.object_size, m->stamps[slot]));
    m->set_up[slot] = false;
    m->objects[slot] = NULL;
}

/* ---- Configurations ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *debug, *bypass;
    uint32_t flags, waits;
} modes[] = {
    {NULL, "0", 0, 0}, /* the model is right without debugging, too */
    {"trace", "0", KOLK_DEBUG_TRACE, 0},
    {"fill", "0", KOLK_DEBUG_FILL, 0},
    {"guard", "0", KOLK_DEBUG_GUARD, 0},
    {"quarantine=3", "0", KOLK_DEBUG_QUARANTINE, 3},
    {"quarantine=3,fill", "0", KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_FILL, 3},
    {"all", "0", KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES, 64},
    {NULL, "1", KOLK_DEBUG_BYPASS, 0},
    {"all", "1", KOLK_DEBUG_BYPASS | KOLK_DEBUG_SITES, 0},
};

static _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(sizeof(thing), 1, SLOTS)];
static model now;
static uint64_t steps;

static void configure(model *m, unsigned n) {
    unsigned mode = n % LENGTH_OF(modes), hooks = n / LENGTH_OF(modes) % 5, where = n / LENGTH_OF(modes) / 5 % 3;
    uint32_t slots = n % 2 ? SLOTS : where == 1 ? n % 5 + 1 : n % 5; /* few show what many hide */
    uint64_t random = n;
    memset(m, 0, sizeof *m);
    m->random = n;
    m->mode = modes[mode].debug && *modes[mode].bypass == '0' ? modes[mode].debug : modes[mode].bypass;
    m->desc = (kolk_pool_desc){.name = "modes", .capacity = slots, .context = m, .debug = modes[mode].debug};
    m->desc.object_size = where == 2 ? 2000 : sizeof(thing);
    m->desc.object_align = where == 2 ? 1u << n % 7 : 1;
    m->desc.reuse = (kolk_reuse)(n / LENGTH_OF(modes) / 15 % 3);
    m->desc.generations = (kolk_generations)(n / LENGTH_OF(modes) / 45 % 3);
    m->desc.setup = hooks == 1 ? set_up : NULL;
    m->desc.teardown = hooks == 1 || hooks == 2 ? tear_down : NULL;
    m->desc.reset = hooks == 1 || hooks == 3 ? reset : NULL;
    m->desc.keep = hooks == 4;
    m->flags = modes[mode].flags;
    m->waits = modes[mode].waits < slots ? modes[mode].waits : slots;
    if (persists(m)) m->flags &= ~(uint32_t)KOLK_DEBUG_FILL;
    if (where == 1) {
        m->desc.memory = memory;
        m->desc.memory_size = sizeof memory;
        m->flags &= ~(uint32_t)KOLK_DEBUG_GUARD;
        fill_random(&random, memory, sizeof memory);
    }
    if (where == 2) m->desc.capacity = slots / 4 * (n % 4);
    m->desc.max_capacity = where == 2 ? slots : 0;
    setenv("KOLK_BYPASS", modes[mode].bypass, 1);
}

static void live(model *m) {
    unsigned tendency = random_below(&m->random, 3);
    for (m->step = 0; m->step < steps; m->step++) {
        if (m->step % 40 == 0) tendency = random_below(&m->random, 3);
        uint32_t choice = random_below(&m->random, 100);
        if (choice < 25 + 20 * tendency)
            do_alloc(m);
        else if (choice < 80)
            do_free(m);
        else if (choice < 87)
            do_alloc_at(m);
        else if (choice < 92)
            do_alloc_n(m);
        else if (choice < 95)
            do_misuse(m);
        else if (choice < 97)
            do_trim(m);
        else if (choice < 99)
            do_reserve(m);
        else
            do_clear(m);
        check(m, kolk_pool_is_valid(&m->pool));
        compare_counts(m);
        compare_slots(m);
    }
}

static void test_every_function_in_every_mode(void **state) {
    (void)state;
    for (unsigned n = 0; n < LENGTH_OF(modes) * 5 * 3 * 3 * 3; n++) {
        model *m = &now;
        configure(m, n);
        begin_notes(&m->taken);
        make_pool(&m->pool, &m->desc);
        if (!m->desc.max_capacity) m->desc.max_capacity = m->desc.capacity;
        m->capacity = m->desc.capacity;
        live(m);
        if (m->flags & KOLK_DEBUG_SITES) do_clear(m); /* nothing is left for the list of leaks */
        m->expected_resets += m->desc.reset ? m->count : 0;
        kolk_pool_deinit(&m->pool);
        check(m, is_all_zero(&m->pool) && m->taken.count == 0 && m->resets == m->expected_resets);
        for (uint32_t slot = 0; slot < SLOTS; slot++) check(m, !m->set_up[slot]);
    }
}

int main(void) {
    steps = number_from_environment("KOLK_TEST_STEPS", does_a_part() ? 20 : 60);
    const struct CMUnitTest tests[] = {DEBUG_TEST(test_every_function_in_every_mode)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
