/* For every kind with a rebind, and for each member of its descriptor: rebind accepts what init has accepted, refuses
 * what init refuses, and refuses a change of what it cannot change. A refused rebind leaves everything as it was.
 * tests/build/lists.py compares the rows with the headers, so that a new member gets a row. */
#include "kinds.h"

/* What a rebind does with a member. */
typedef enum rule {
    REPLACED, /* takes it from the descriptor, also if it is 0, unless init refuses that */
    KEPT,     /* it must be 0 or as it was at the init */
    OBJECT,   /* the same, for what an object takes: a change is KOLK_STRUCT_CHANGED */
    EXACT,    /* it must be as it was at the init; 0 is the default, as there */
    HOOK,     /* replaces it, but it must be NULL if and only if it was NULL at the init */
    PART      /* the same for all members with this rule together: one of them must be there */
} rule;

typedef struct member {
    const char *name;
    size_t at, size;
    rule rule;
    const void *other; /* a value that no base has */
} member;

#define ROW(desc, name_, rule_, type, ...)                                                                             \
    {                                                                                                                  \
        .name = #name_, .at = offsetof(desc, name_), .size = sizeof(type), .rule = (rule_), .other = (type[1]) {       \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }

/* ---- What descriptors point to: no hook is ever called ----------------------------------------------------------- */

static kolk_budget budget, other_budget;
static kolk_pool spill, other_spill;
static kolk_heap parent, other_parent;
static _Alignas(64) unsigned char memory[8192], other_memory[8192];

typedef void any_hook(void);

static void another(void) {
    abort();
}

static bool pool_full(kolk_pool *pool, size_t bytes, void *context) {
    return false;
}

static bool heap_full(kolk_heap *heap, size_t bytes, void *context) {
    return false;
}

static double cost_of(const void *object, void *context) {
    return 0;
}

static void on_low(kolk_pool *pool, void *context) {}

static void end_object(void *object, void *context) {}

static void moved_to(void *object, uint32_t from, uint32_t to, void *context) {}

static void move_object(void *to, void *from, void *context) {}

static void move_item(void *to, void *from, bool in, void *context) {}

static bool check(void *context, void *resource, kolk_deadline deadline) {
    return false;
}

static bool clean(void *context, void *resource) {
    return false;
}

static void note(void *context, const kolk_resource_event *event) {}

/* ---- Rows -------------------------------------------------------------------------------------------------------- */

static const kolk_heap_class classes[] = {{.size = 32, .capacity = 10}, {.size = 64, .capacity = 10}},
                             more[] = {{.size = 32, .capacity = 11}, {.size = 64, .capacity = 10}};

static const member pool_members[] = {
    ROW(kolk_pool_desc, name, REPLACED, const char *, "another"),
    ROW(kolk_pool_desc, object_size, OBJECT, size_t, 56),
    ROW(kolk_pool_desc, object_align, OBJECT, size_t, 64),
    ROW(kolk_pool_desc, capacity, KEPT, uint32_t, 5000),
    ROW(kolk_pool_desc, max_capacity, KEPT, uint32_t, 6000),
    ROW(kolk_pool_desc, full.headroom, REPLACED, uint32_t, 7000),
    ROW(kolk_pool_desc, full.low_water, REPLACED, uint32_t, 3),
    ROW(kolk_pool_desc, reuse, KEPT, kolk_reuse, KOLK_REUSE_FIFO),
    ROW(kolk_pool_desc, generations, KEPT, kolk_generations, KOLK_GENERATIONS_NONE),
    ROW(kolk_pool_desc, tag, KEPT, uint32_t, 99),
    ROW(kolk_pool_desc, life.keep, KEPT, bool, true),
    ROW(kolk_pool_desc, ages, KEPT, bool, true),
    ROW(kolk_pool_desc, pins, KEPT, bool, true),
    ROW(kolk_pool_desc, full.ranked, KEPT, bool, true),
    ROW(kolk_pool_desc, memory, KEPT, void *, other_memory),
    ROW(kolk_pool_desc, memory_size, KEPT, size_t, 8),
    ROW(kolk_pool_desc, budget, KEPT, kolk_budget *, &other_budget),
    ROW(kolk_pool_desc, full.on_full, REPLACED, any_hook *, (any_hook *)kolk_pool_trap_full),
    ROW(kolk_pool_desc, full.cost, REPLACED, any_hook *, another),
    ROW(kolk_pool_desc, full.on_evict, REPLACED, any_hook *, another),
    ROW(kolk_pool_desc, full.overflow, KEPT, kolk_pool *, &other_spill),
    ROW(kolk_pool_desc, full.on_low, REPLACED, any_hook *, another),
    ROW(kolk_pool_desc, life.setup, PART, any_hook *, another),
    ROW(kolk_pool_desc, life.reset, REPLACED, any_hook *, another),
    ROW(kolk_pool_desc, life.teardown, PART, any_hook *, another),
    ROW(kolk_pool_desc, context, REPLACED, void *, other_memory),
    ROW(kolk_pool_desc, debug, REPLACED, const char *, "sites"),
};

static const kolk_pool_desc pools[] = {
    {.name = "a", .object_size = 48, .capacity = 4},
    {.name = "b", .object_size = 48, .capacity = 4, .max_capacity = 400, .reuse = KOLK_REUSE_LOWEST},
    {.object_size = 48, .capacity = 4, .memory = memory, .memory_size = sizeof memory},
    {.object_size = 48, .memory = memory, .memory_size = sizeof memory, .generations = KOLK_GENERATIONS_STRICT},
    {.name = "c", .object_size = 48, .full.overflow = &spill, .life.setup = set_up_object},
    {.name = "d",
     .object_size = 48,
     .max_capacity = 10,
     .full.overflow = &spill,
     .life.teardown = end_object,
     .debug = "fill"},
    {.name = "e",
     .object_size = 48,
     .object_align = 16,
     .capacity = 4,
     .max_capacity = 400,
     .full.headroom = 1,
     .full.low_water = 2,
     .reuse = KOLK_REUSE_LOWEST,
     .generations = KOLK_GENERATIONS_STRICT,
     .tag = 7,
     .life.keep = true,
     .ages = true,
     .pins = true,
     .full.ranked = true,
     .budget = &budget,
     .full.on_full = pool_full,
     .full.cost = cost_of,
     .full.on_evict = end_object,
     .full.on_low = on_low,
     .life.setup = set_up_object,
     .life.reset = end_object,
     .life.teardown = end_object,
     .context = memory,
     .debug = "guard,sites"},
};

static const member map_members[] = {
    ROW(kolk_slotmap_desc, name, REPLACED, const char *, "another"),
    ROW(kolk_slotmap_desc, object_size, OBJECT, size_t, 56),
    ROW(kolk_slotmap_desc, object_align, OBJECT, size_t, 64),
    ROW(kolk_slotmap_desc, capacity, KEPT, uint32_t, 5000),
    ROW(kolk_slotmap_desc, max_capacity, KEPT, uint32_t, 6000),
    ROW(kolk_slotmap_desc, tag, KEPT, uint32_t, 99),
    ROW(kolk_slotmap_desc, memory, KEPT, void *, other_memory),
    ROW(kolk_slotmap_desc, memory_size, KEPT, size_t, 8),
    ROW(kolk_slotmap_desc, budget, KEPT, kolk_budget *, &other_budget),
    ROW(kolk_slotmap_desc, on_move, REPLACED, any_hook *, another),
    ROW(kolk_slotmap_desc, on_remove, REPLACED, any_hook *, another),
    ROW(kolk_slotmap_desc, move, REPLACED, any_hook *, another),
    ROW(kolk_slotmap_desc, context, REPLACED, void *, other_memory),
    ROW(kolk_slotmap_desc, debug, REPLACED, const char *, "sites"),
};

static const kolk_slotmap_desc maps[] = {
    {.name = "a", .object_size = 48, .capacity = 4},
    {.object_size = 48, .memory = memory, .memory_size = sizeof memory, .tag = 7},
    {.name = "b", .object_size = 48, .capacity = 4, .max_capacity = 400, .debug = "fill"},
    {.object_size = 48,
     .object_align = 16,
     .max_capacity = 400,
     .budget = &budget,
     .on_move = moved_to,
     .on_remove = end_object,
     .move = move_object,
     .context = memory},
};

static const member shared_members[] = {
    ROW(kolk_shared_desc, name, REPLACED, const char *, "another"),
    ROW(kolk_shared_desc, object_size, OBJECT, size_t, 56),
    ROW(kolk_shared_desc, object_align, OBJECT, size_t, 64),
    ROW(kolk_shared_desc, capacity, KEPT, uint32_t, 5000),
    ROW(kolk_shared_desc, max_capacity, KEPT, uint32_t, 6000),
    ROW(kolk_shared_desc, max_threads, KEPT, uint32_t, 17),
    ROW(kolk_shared_desc, cache, KEPT, uint32_t, 77),
    ROW(kolk_shared_desc, generations, KEPT, kolk_generations, KOLK_GENERATIONS_STRICT),
    ROW(kolk_shared_desc, tag, KEPT, uint32_t, 99),
    ROW(kolk_shared_desc, budget, KEPT, kolk_budget *, &other_budget),
    ROW(kolk_shared_desc, exact, KEPT, bool, true),
    ROW(kolk_shared_desc, life.keep, KEPT, bool, true),
    ROW(kolk_shared_desc, life.setup, PART, any_hook *, another),
    ROW(kolk_shared_desc, life.reset, HOOK, any_hook *, another),
    ROW(kolk_shared_desc, life.teardown, PART, any_hook *, another),
    ROW(kolk_shared_desc, context, REPLACED, void *, other_memory),
    ROW(kolk_shared_desc, debug, REPLACED, const char *, "sites"),
};

static const kolk_shared_desc shareds[] = {
    {.name = "a", .object_size = 48, .capacity = 100, .max_capacity = 1000},
    {.object_size = 48, .max_capacity = 40, .generations = KOLK_GENERATIONS_NONE, .life.reset = end_object},
    {.object_size = 48, .capacity = 40, .cache = 8, .tag = 7, .life.setup = set_up_object, .debug = "fill"},
    {.name = "b",
     .object_size = 48,
     .object_align = 16,
     .capacity = 100,
     .max_threads = 3,
     .cache = KOLK_NO_CACHE,
     .budget = &budget,
     .exact = true,
     .life.keep = true,
     .life.setup = set_up_object,
     .life.reset = end_object,
     .life.teardown = end_object,
     .context = memory},
};

static const member queue_members[] = {
    ROW(kolk_queue_desc, name, REPLACED, const char *, "another"),
    ROW(kolk_queue_desc, item_size, OBJECT, size_t, 56),
    ROW(kolk_queue_desc, capacity, KEPT, uint32_t, 5),
    ROW(kolk_queue_desc, destroy, REPLACED, any_hook *, another),
    ROW(kolk_queue_desc, move, HOOK, any_hook *, another),
    ROW(kolk_queue_desc, context, REPLACED, void *, other_memory),
};

static const kolk_queue_desc queues[] = {
    {.item_size = 48, .capacity = 10},
    {.name = "a", .item_size = 48, .capacity = 7, .destroy = end_object, .move = move_item, .context = memory},
};

static const member resource_members[] = {
    ROW(kolk_resource_pool_desc, name, REPLACED, const char *, "another"),
    ROW(kolk_resource_pool_desc, context, REPLACED, void *, other_memory),
    ROW(kolk_resource_pool_desc, create, REPLACED, any_hook *, another),
    ROW(kolk_resource_pool_desc, destroy, HOOK, any_hook *, another),
    ROW(kolk_resource_pool_desc, validate, HOOK, any_hook *, another),
    ROW(kolk_resource_pool_desc, reset, HOOK, any_hook *, another),
    ROW(kolk_resource_pool_desc, max, EXACT, uint32_t, 9),
    ROW(kolk_resource_pool_desc, min_idle, EXACT, uint32_t, 2),
    ROW(kolk_resource_pool_desc, max_creating, EXACT, uint32_t, 5),
    ROW(kolk_resource_pool_desc, idle_timeout_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, max_lifetime_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, keepalive_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, validate_after_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, leak_after_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, create_timeout_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, reuse, EXACT, kolk_reuse, KOLK_REUSE_FIFO),
    ROW(kolk_resource_pool_desc, look, EXACT, bool, true),
    ROW(kolk_resource_pool_desc, warn_nested, EXACT, bool, true),
    ROW(kolk_resource_pool_desc, strict_order, EXACT, bool, true),
    ROW(kolk_resource_pool_desc, no_housekeeper, EXACT, bool, true),
    ROW(kolk_resource_pool_desc, log, HOOK, any_hook *, another),
    ROW(kolk_resource_pool_desc, slow_borrow_ms, EXACT, int64_t, 5),
    ROW(kolk_resource_pool_desc, debug, REPLACED, const char *, "sites"),
};

static const kolk_resource_pool_desc resources[] = {
    {.create = create_resource, .no_housekeeper = true},
    {.name = "a",
     .context = memory,
     .create = create_resource,
     .destroy = end_object,
     .validate = check,
     .reset = clean,
     .max = 8,
     .min_idle = 1,
     .max_creating = 3,
     .idle_timeout_ms = 1000,
     .max_lifetime_ms = 2000,
     .keepalive_ms = 300,
     .validate_after_ms = -1,
     .leak_after_ms = 100000,
     .create_timeout_ms = 400,
     .slow_borrow_ms = 500,
     .reuse = KOLK_REUSE_FIFO,
     .look = true,
     .warn_nested = true,
     .strict_order = true,
     .no_housekeeper = true,
     .log = note},
};

static const member heap_members[] = {
    ROW(kolk_heap_desc, name, REPLACED, const char *, "another"),
    ROW(kolk_heap_desc, limit, KEPT, uint64_t, 12345678),
    ROW(kolk_heap_desc, budget, KEPT, kolk_budget *, &other_budget),
    ROW(kolk_heap_desc, debug, REPLACED, const char *, "sites"),
    ROW(kolk_heap_desc, classes, KEPT, const kolk_heap_class *, more),
    ROW(kolk_heap_desc, n_classes, EXACT, uint32_t, 3),
    ROW(kolk_heap_desc, on_full, REPLACED, any_hook *, another),
    ROW(kolk_heap_desc, context, REPLACED, void *, other_memory),
    ROW(kolk_heap_desc, parent, KEPT, kolk_heap *, &other_parent),
    ROW(kolk_heap_desc, memory, KEPT, void *, other_memory),
    ROW(kolk_heap_desc, memory_size, KEPT, size_t, 8),
};

static const kolk_heap_desc fixed_heaps[] = {
    {.name = "a", .classes = classes, .n_classes = 2, .memory = memory, .memory_size = sizeof memory},
};

static const kolk_heap_desc heaps[] = {
    {.name = NULL},
    {.name = "a", .budget = &budget, .classes = classes, .n_classes = 2, .on_full = heap_full, .context = memory},
    {.limit = 1 << 20, .parent = &parent, .debug = "fill"},
};

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

typedef union descriptor {
    unsigned char bytes[400];
    void *aligned;
    uint64_t aligned_too;
} descriptor;

typedef struct changing {
    const char *name, *kind; /* the second one as in kinds.h */
    const member *members;   /* the first one is the name */
    size_t n_members;
    const void *bases;
    size_t n_bases, desc_size;
    kolk_status (*init)(subject *s, const void *desc);
    kolk_status (*rebind)(subject *s, const void *desc);
} changing;

#define OPERATIONS(name, field, desc_type, begin, change)                                                              \
    static kolk_status init_##name(subject *s, const void *desc) {                                                     \
        return begin(&s->of.field, (const desc_type *)desc);                                                           \
    }                                                                                                                  \
    static kolk_status rebind_##name(subject *s, const void *desc) {                                                   \
        return change(&s->of.field, (const desc_type *)desc);                                                          \
    }

OPERATIONS(a_pool, pool, kolk_pool_desc, kolk_pool_init, kolk_pool_rebind)
OPERATIONS(a_map, slotmap, kolk_slotmap_desc, kolk_slotmap_init, kolk_slotmap_rebind)
OPERATIONS(a_heap, heap, kolk_heap_desc, kolk_heap_init, kolk_heap_rebind)
OPERATIONS(a_shared, shared, kolk_shared_desc, kolk_shared_init, kolk_shared_rebind)
OPERATIONS(a_queue, queue, kolk_queue_desc, kolk_queue_init, kolk_queue_rebind)
OPERATIONS(a_resource, resource, kolk_resource_pool_desc, kolk_resource_init, kolk_resource_rebind)

#define CHANGING(name_, kind_, operations, members_, bases_)                                                           \
    {                                                                                                                  \
        .name = (name_), .kind = (kind_), .members = (members_), .n_members = LENGTH_OF(members_), .bases = (bases_),  \
        .n_bases = LENGTH_OF(bases_), .desc_size = sizeof(bases_)[0], .init = init_##operations,                       \
        .rebind = rebind_##operations                                                                                  \
    }

static const changing all[] = {
    CHANGING("pool", "pool", a_pool, pool_members, pools),
    CHANGING("slot map", "slotmap", a_map, map_members, maps),
    CHANGING("fixed heap", "heap", a_heap, heap_members, fixed_heaps),
    CHANGING("shared pool", "shared", a_shared, shared_members, shareds),
    CHANGING("queue", "queue", a_queue, queue_members, queues),
    CHANGING("resource pool", "resource", a_resource, resource_members, resources),
    CHANGING("heap", "heap", a_heap, heap_members, heaps), /* the last one: only on 64-bit machines */
};

/* ---- The contracts ----------------------------------------------------------------------------------------------- */

static const changing *of;
static size_t base_number;
static subject self;
static descriptor own;

/* Calls `check_base` for each base of each kind, with a `self` that was initialised as the base says. It may end it. */
static void for_each_base(void (*check_base)(void)) {
    for (of = all; of < all + LENGTH_OF(all) - (sizeof(void *) < 8); of++) {
        assert_true(of->desc_size <= sizeof own);
        for (base_number = 0; base_number < of->n_bases; base_number++) {
            own = (descriptor){{0}};
            memcpy(&own, (const char *)of->bases + base_number * of->desc_size, of->desc_size);
            memset(&self, 0, sizeof self);
            self.kind = kinds;
            while (strcmp(self.kind->member, of->kind) != 0) self.kind++;
            kolk_status status = of->init(&self, &own);
            if (status != KOLK_OK) fail_msg("%s %zu: init returns %u", of->name, base_number, (unsigned)status);
            check_base();
            self.kind->end(&self);
        }
    }
}

static bool is_zero(const descriptor *desc, const member *m) {
    return all_bytes_are(desc->bytes + m->at, m->size, 0);
}

/* The base with another name and this member. */
static descriptor with(const member *m, const void *value) {
    static const char *const name = "another";
    descriptor desc = own;
    memcpy(desc.bytes + of->members->at, &name, of->members->size);
    memset(desc.bytes + m->at, 0, m->size);
    if (value) memcpy(desc.bytes + m->at, value, m->size);
    return desc;
}

/* What an init says of this descriptor. It gets other memory than the pool that is there. */
static kolk_status init_says(descriptor desc) {
    static subject second;
    static void *const there = memory, *const spare = other_memory;
    for (size_t n = 0; n < of->n_members; n++) {
        const member *m = &of->members[n];
        if (strcmp(m->name, "memory") == 0 && memcmp(desc.bytes + m->at, &there, sizeof there) == 0)
            memcpy(desc.bytes + m->at, &spare, sizeof spare);
    }
    kolk_status status = of->init(&second, &desc);
    if (status == KOLK_OK) self.kind->end(&second);
    return status;
}

static const char *name_of_self(void) {
    kolk_stats stats;
    self.kind->stats(&self, &stats);
    return stats.name;
}

static bool is_same(const void *a, const void *b, size_t size) {
    return memcmp(a, b, size) == 0;
}

static void expect(const void *desc, kolk_status expected, const char *what, const char *value) {
    subject before;
    char name[20];
    memcpy(&before, &self, sizeof before);
    snprintf(name, sizeof name, "%s", name_of_self());
    kolk_status status = of->rebind(&self, desc);
    assert_true(self.kind->is_valid(&self));
    if (status != expected)
        fail_msg("%s %zu, %s%s: rebind returns %u, not %u", of->name, base_number, what, value, (unsigned)status,
                 (unsigned)expected);
    if (status == KOLK_OK) {
        if (of->rebind(&self, &own) != KOLK_OK)
            fail_msg("%s %zu, after %s%s: no way back", of->name, base_number, what, value);
    } else if (!is_same(&self, &before, sizeof self) || strcmp(name_of_self(), name) != 0) {
        fail_msg("%s %zu, %s%s: refused, but changed", of->name, base_number, what, value);
    }
}

/* Is another member with the rule PART there? */
static bool has_other_part(const member *m) {
    for (size_t n = 0; n < of->n_members; n++)
        if (of->members[n].rule == PART && &of->members[n] != m && !is_zero(&own, &of->members[n])) return true;
    return false;
}

/* What a rebind says of a member that was there at the init or not, and now has another value. */
static kolk_status says_of_other(const member *m, const descriptor *desc, bool had) {
    if (m->rule == REPLACED) return init_says(*desc);
    if (m->rule == OBJECT) return KOLK_STRUCT_CHANGED;
    bool accepted = (m->rule == HOOK && had) || (m->rule == PART && (had || has_other_part(m)));
    return accepted ? KOLK_OK : KOLK_LAYOUT_CHANGED;
}

/* What it says of a member that was there and is no longer. */
static kolk_status says_of_none(const member *m, const descriptor *desc) {
    if (m->rule == REPLACED) return init_says(*desc);
    bool accepted = m->rule == KEPT || m->rule == OBJECT || (m->rule == PART && has_other_part(m));
    return accepted ? KOLK_OK : KOLK_LAYOUT_CHANGED;
}

static void check_member(const member *m) {
    descriptor other = with(m, m->other), none = with(m, NULL);
    bool had = !is_zero(&own, m), same = is_same(other.bytes + m->at, own.bytes + m->at, m->size);
    if (!same) expect(&other, says_of_other(m, &other, had), m->name, " of another value");
    if (had) expect(&none, says_of_none(m, &none), m->name, " of 0");
}

static void check_members(void) {
    expect(&own, KOLK_OK, "the same descriptor", "");
    expect(NULL, KOLK_NO_DESCRIPTOR, "NULL", "");
    for (size_t n = 0; n < of->n_members; n++) check_member(&of->members[n]);
}

/* promise: pool.h "Members that determine ... one at the init"; budget.h "which keep it until their deinit" */
static void test_what_a_rebind_accepts(void **state) {
    for_each_base(check_members);
    assert_int_equal(kolk_budget_used(&budget), 0); /* each has kept it until its end */
}

static void check_copy(void) {
    static reports kept;
    static subject copy;
    copy = self;
    self.kind->end(&self);
    begin_reports(&kept);
    if (strcmp(of->kind, "resource") != 0) { /* its struct only points to what is gone */
        assert_int_equal(of->rebind(&copy, &own), KOLK_MOVED);
        assert_int_equal(next_report(&kept)->failure.rule, KOLK_MOVED);
    }
    assert_no_more(&kept);
}

static void test_a_copy_of_a_pool_that_is_gone(void **state) {
    for_each_base(check_copy);
}

static int make_others(void **state) {
    kolk_pool_desc desc = {.name = "spill", .object_size = 48, .object_align = 16, .capacity = 4};
    kolk_pool_init(&spill, &desc);
    desc.name = "another spill";
    kolk_pool_init(&other_spill, &desc);
    if (sizeof(void *) == 8) {
        kolk_heap_init(&parent, &(kolk_heap_desc){.name = "parent"});
        kolk_heap_init(&other_parent, &(kolk_heap_desc){.name = "another parent"});
    }
    return plain_environment(state);
}

static int end_others(void **state) {
    kolk_pool_deinit(&spill);
    kolk_pool_deinit(&other_spill);
    kolk_heap_deinit(&parent);
    kolk_heap_deinit(&other_parent);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_what_a_rebind_accepts),
        DEBUG_TEST(test_a_copy_of_a_pool_that_is_gone),
    };
    return cmocka_run_group_tests(tests, make_others, end_others);
}
