/* kinds.h: a row for each kind of pool, so that test_all_*.c state the promises of all kinds only once. A new member of
 * the family gets all of these tests in return for a row in kinds[].
 *
 * A contract is a test. It runs for each kind that can do what the contract needs, in each mode that the contract
 * covers and the kind supports. The name of a failed test names contract, kind and mode: "test_double_free: pool, FIFO:
 * fill".
 *
 * Each kind has its own functions to take an object, give it back and end the pool, so that a test can check that a
 * site in a report lies in one of them. */
#ifndef TESTS_KINDS_H
#define TESTS_KINDS_H

#include "../help/code_limits.h"

typedef struct kind kind;

/* The options with which a subject is initialised. A kind ignores options that it does not support. */
typedef struct options {
    const char *name, *debug;
    bool nameless;
    size_t object_size;
    uint32_t capacity, max_capacity;
    void *memory; /* lent memory, for kinds that can be LENT */
    size_t memory_size;
    kolk_budget *budget; /* for kinds that COUNT */
} options;

/* A pool of any kind, and what the tests need in addition. */
typedef struct subject {
    union {
        kolk_pool pool;
        kolk_slotmap slotmap;
        kolk_shared shared;
        kolk_bytemap bytemap;
        kolk_queue queue;
        kolk_resource_pool resource;
        kolk_ipc ipc;
        kolk_heap heap;
    } of;
    kolk_shared_local local;    /* a local of `shared` */
    const struct subject *home; /* the subject that owns the local; a copy of a subject owns none */
    const kind *kind;
    unsigned resets; /* how often its hook was called, for kinds that have one */
} subject;

/* A query that takes a pointer to an object; `ask` returns whether there was an answer. */
typedef struct question {
    const char *verb; /* what failure sentences call it */
    bool (*ask)(subject *s, void *object);
    bool of_the_dead, of_null; /* whether dead objects, or NULL, get an answer too */
} question;

/* The abilities that a kind may have and a contract may need. */
enum {
    TAKES = 1,         /* gives objects, one at a time */
    FREES = 2,         /* frees by pointer, and reports wrong pointers */
    ASKS = 4,          /* has queries */
    HANDLES = 8,       /* has kolk_handles, and counts and reports those of other pools */
    ISSUES = 16,       /* detects slots that were never handed out */
    GROWS = 32,        /* can grow up to max_capacity */
    DOUBLES = 64,      /* can grow to twice its capacity, or by one slot */
    LENT = 128,        /* can live in memory that the caller provides */
    SIZES = 256,       /* KOLK_SIZES can set its capacity */
    STAYS = 512,       /* an object stays where it is when others are freed */
    DEBUGS = 1024,     /* has a debug mode */
    NO_HANDLES = 2048, /* has KOLK_GENERATIONS_NONE */
    TRIES_LESS = 4096, /* if memory is refused, its init tries again with less */
    SAVES = 8192,      /* has snapshots */
    COUNTS = 16384     /* the bytes of its slots count towards a budget */
};

typedef void converter(void *object, const void *saved, size_t saved_size, void *context);
typedef uint64_t hasher(const void *object, void *context);

struct kind {
    const char *name;
    const char *member; /* its name in statistics */
    size_t size;        /* the size of its struct, which is a subject's first member */
    size_t failed_at;   /* the offset of its counter of failed takes; 0: counted elsewhere */
    unsigned can;
    uint32_t debug; /* the debug settings that it supports */
    kolk_status (*init)(subject *s, const options *with);
    void *(*take)(subject *s);
    void (*give)(subject *s, void *object);
    void (*end)(subject *s);
    const limits *in_take, *in_give, *in_end;
    bool (*is_valid)(const subject *s);
    void (*stats)(const subject *s, kolk_stats *out);
    void (*clear)(subject *s);
    kolk_handle (*handle)(const subject *s, const void *object);
    void *(*get)(const subject *s, kolk_handle handle);
    bool (*give_handle)(subject *s, kolk_handle handle);
    bool (*is_live)(const subject *s, const void *object);
    void *(*slots)(const subject *s);
    void *(*first)(const subject *s); /* the first live object, or NULL */
    kolk_status (*reserve)(subject *s, uint32_t capacity);
    size_t (*trim)(subject *s);
    void *(*take_far)(subject *s); /* takes a slot beyond its capacity */
    size_t (*snapshot_size)(const subject *s);
    size_t (*snapshot)(const subject *s, void *block, size_t size);
    kolk_status (*restore)(subject *s, const void *block, size_t size);
    kolk_status (*restore_converted)(subject *s, const void *block, size_t size, converter *convert, void *context);
    uint64_t (*hash)(subject *s, hasher *hash, void *context);
    question questions[3];
    const char *free_verb, *double_free; /* %u: the slot's index */
    const char *slot, *dead;             /* what its reports call a slot, and a slot without an object */
    kolk_reuse reuse;
    kolk_generations generations;
    bool exact, hook, sets_up;
    bool in_bulk;    /* takes and gives by alloc_n and free_n */
    bool wants_zero; /* init needs a zeroed struct */
    bool only_64;    /* exists only on 64-bit machines */
};

/* ---- Functions that only pass their arguments on ----------------------------------------------------------------- */

#define RETURNS(type, name, value, ...)                                                                                \
    static type name(__VA_ARGS__) {                                                                                    \
        return value;                                                                                                  \
    }
#define DOES(name, call, ...)                                                                                          \
    static void name(__VA_ARGS__) {                                                                                    \
        call;                                                                                                          \
    }

/* What all members have, */
#define ANSWER(member) RETURNS(bool, member##_is_valid, kolk_##member##_is_valid(&s->of.member), const subject *s)
#define COUNT(member)                                                                                                  \
    DOES(stats_of_##member, kolk_##member##_stats(&s->of.member, out), const subject *s, kolk_stats *out)

/* members with handles, */
#define KNOW_HANDLES(member)                                                                                           \
    RETURNS(kolk_handle, handle_of_##member, kolk_##member##_handle_of(&s->of.member, object), const subject *s,       \
            const void *object)                                                                                        \
    RETURNS(void *, get_of_##member, kolk_##member##_get(&s->of.member, handle), const subject *s, kolk_handle handle) \
    RETURNS(bool, member##_has_handle, !kolk_handle_is_null(kolk_##member##_handle_of(&s->of.member, object)),         \
            subject * s, void *object)

/* and members with snapshots. */
#define SAVE(member)                                                                                                   \
    RETURNS(bool, index_of_##member, kolk_##member##_index(&s->of.member, object) != UINT32_MAX, subject * s,          \
            void *object)                                                                                              \
    RETURNS(kolk_status, reserve_in_##member, kolk_##member##_reserve(&s->of.member, capacity), subject *s,            \
            uint32_t capacity)                                                                                         \
    RETURNS(size_t, trim_##member, kolk_##member##_trim(&s->of.member), subject *s)                                    \
    RETURNS(size_t, snapshot_size_of_##member, kolk_##member##_snapshot_size(&s->of.member), const subject *s)         \
    RETURNS(size_t, snapshot_of_##member, kolk_##member##_snapshot(&s->of.member, block, size), const subject *s,      \
            void *block, size_t size)                                                                                  \
    RETURNS(kolk_status, restore_##member, kolk_##member##_restore(&s->of.member, block, size), subject *s,            \
            const void *block, size_t size)                                                                            \
    RETURNS(kolk_status, restore_##member##_by,                                                                        \
            kolk_##member##_restore_converted(&s->of.member, block, size, convert, context), subject *s,               \
            const void *block, size_t size, converter *convert, void *context)                                         \
    RETURNS(uint64_t, hash_of_##member, kolk_##member##_hash(&s->of.member, hash, context), subject *s, hasher *hash,  \
            void *context)

/* Functions to take, give and end, whose code has known limits. */
#define TAKE(member, call)                                                                                             \
    LIMITS(member##_take)                                                                                              \
    APART(member##_take) static void *take_from_##member(subject *s) {                                                 \
        void *object = call;                                                                                           \
        AND_ON();                                                                                                      \
        return object;                                                                                                 \
    }
#define GIVE(member, call)                                                                                             \
    LIMITS(member##_give)                                                                                              \
    APART(member##_give) static void give_to_##member(subject *s, void *object) {                                      \
        call;                                                                                                          \
        AND_ON();                                                                                                      \
    }
#define END(member, call)                                                                                              \
    LIMITS(member##_end)                                                                                               \
    APART(member##_end) static void end_of_##member(subject *s) {                                                      \
        call;                                                                                                          \
        AND_ON();                                                                                                      \
    }

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static void count_reset(void *object, void *context) {
    ((subject *)context)->resets++;
}

static bool set_up_object(void *object, void *context) {
    return true;
}

static kolk_status init_pool(subject *s, const options *with) {
    kolk_pool_desc desc = {.name = with->name,
                           .object_size = with->object_size,
                           .capacity = with->capacity,
                           .max_capacity = with->max_capacity,
                           .memory = with->memory,
                           .memory_size = with->memory_size,
                           .debug = with->debug,
                           .budget = with->budget,
                           .reuse = s->kind->reuse,
                           .generations = s->kind->generations,
                           .life.setup = s->kind->sets_up ? set_up_object : NULL,
                           .life.reset = s->kind->hook ? count_reset : NULL,
                           .context = s};
    return kolk_pool_init(&s->of.pool, &desc);
}

LIMITS(pool_take)
LIMITS(pool_give)

APART(pool_take) static void *take_from_pool(subject *s) {
    void *object = NULL;
    if (!s->kind->in_bulk)
        object = kolk_pool_alloc(&s->of.pool);
    else if (kolk_pool_alloc_n(&s->of.pool, &object, 1) == 0)
        object = NULL;
    AND_ON();
    return object;
}

APART(pool_give) static void give_to_pool(subject *s, void *object) {
    void *objects[] = {NULL, object, NULL};
    if (s->kind->in_bulk)
        kolk_pool_free_n(&s->of.pool, objects, LENGTH_OF(objects));
    else
        kolk_pool_free(&s->of.pool, object);
    AND_ON();
}

END(pool, kolk_pool_deinit(&s->of.pool))
ANSWER(pool)
COUNT(pool)
KNOW_HANDLES(pool)
SAVE(pool)
DOES(clear_pool, kolk_pool_clear(&s->of.pool), subject *s)
RETURNS(bool, give_handle_to_pool, kolk_pool_free_handle(&s->of.pool, handle), subject *s, kolk_handle handle)
RETURNS(bool, is_live_in_pool, kolk_pool_is_live(&s->of.pool, object), const subject *s, const void *object)
RETURNS(void *, slots_of_pool, s->of.pool.slots, const subject *s)
RETURNS(void *, first_of_pool, first_alive(&s->of.pool), const subject *s)

static void *take_far_from_pool(subject *s) {
    return kolk_pool_alloc_at(&s->of.pool, kolk_handle_unpack(UINT64_C(5) << 32 | (2000 ^ s->of.pool.tag)));
}

/* ---- Slot maps --------------------------------------------------------------------------------------------------- */

static kolk_status init_slotmap(subject *s, const options *with) {
    kolk_slotmap_desc desc = {.name = with->name,
                              .object_size = with->object_size,
                              .capacity = with->capacity,
                              .max_capacity = with->max_capacity,
                              .memory = with->memory,
                              .memory_size = with->memory_size,
                              .budget = with->budget,
                              .debug = with->debug};
    return kolk_slotmap_init(&s->of.slotmap, &desc);
}

TAKE(slotmap, kolk_slotmap_add(&s->of.slotmap, NULL))
GIVE(slotmap, kolk_slotmap_remove(&s->of.slotmap, kolk_slotmap_handle_of(&s->of.slotmap, object)))
END(slotmap, kolk_slotmap_deinit(&s->of.slotmap))
ANSWER(slotmap)
COUNT(slotmap)
KNOW_HANDLES(slotmap)
SAVE(slotmap)
DOES(clear_slotmap, kolk_slotmap_clear(&s->of.slotmap), subject *s)
RETURNS(bool, give_handle_to_slotmap, kolk_slotmap_remove(&s->of.slotmap, handle), subject *s, kolk_handle handle)
RETURNS(void *, slots_of_slotmap, s->of.slotmap.objects, const subject *s)
RETURNS(void *, first_of_slotmap, kolk_slotmap_at(&s->of.slotmap, 0), const subject *s)

/* ---- Shared pools, used by one thread ---------------------------------------------------------------------------- */

static kolk_status init_shared(subject *s, const options *with) {
    kolk_shared_desc desc = {.name = with->name,
                             .object_size = with->object_size,
                             .capacity = with->capacity,
                             .max_capacity = with->max_capacity,
                             .max_threads = 1, /* so there are no slots beyond the capacity */
                             .cache = 2,
                             .debug = with->debug,
                             .budget = with->budget,
                             .generations = s->kind->generations,
                             .exact = s->kind->exact};
    kolk_status status = kolk_shared_init(&s->of.shared, &desc);
    s->home = s;
    return status == KOLK_OK ? kolk_shared_local_init(&s->local, &s->of.shared) : status;
}

LIMITS(shared_take)
LIMITS(shared_give)
LIMITS(shared_end)

/* Makes a new local if the handler jumped out of the pool's end after the local was deinitialised. */
static void have_local(subject *s) {
    if (!s->local.pool) kolk_shared_local_init(&s->local, &s->of.shared);
    s->home = s;
}

APART(shared_take) static void *take_from_shared(subject *s) {
    have_local(s);
    void *object = NULL;
    if (!s->kind->in_bulk)
        object = kolk_shared_alloc(&s->local);
    else if (kolk_shared_alloc_n(&s->local, &object, 1) == 0)
        object = NULL;
    AND_ON();
    return object;
}

APART(shared_give) static void give_to_shared(subject *s, void *object) {
    void *objects[] = {NULL, object, NULL};
    have_local(s);
    if (s->kind->in_bulk)
        kolk_shared_free_n(&s->local, objects, LENGTH_OF(objects));
    else
        kolk_shared_free(&s->local, object);
    AND_ON();
}

APART(shared_end) static void end_of_shared(subject *s) {
    if (s->home == s) kolk_shared_local_deinit(&s->local);
    kolk_shared_deinit(&s->of.shared);
    AND_ON();
}

ANSWER(shared)
COUNT(shared)
KNOW_HANDLES(shared)
DOES(clear_shared, kolk_shared_clear(&s->of.shared), subject *s)
RETURNS(bool, is_live_in_shared, kolk_shared_is_live(&s->of.shared, object), const subject *s, const void *object)
RETURNS(void *, slots_of_shared, s->of.shared.slots, const subject *s)

static void *first_of_shared(const subject *s) {
    kolk_shared_cursor cursor = kolk_shared_each(&s->of.shared);
    return kolk_shared_cursor_next(&cursor);
}

/* ---- GTA pools --------------------------------------------------------------------------------------------------- */

static kolk_status init_bytemap(subject *s, const options *with) {
    kolk_bytemap_view view = {
        .name = with->name, .object_size = with->object_size, .count = (int32_t)with->capacity, .debug = with->debug};
    if (with->memory) {
        view.object_list = with->memory;
        view.byte_map = (uint8_t *)with->memory + with->object_size * with->capacity;
    }
    return kolk_bytemap_initialise_with(&s->of.bytemap, &view);
}

TAKE(bytemap, kolk_bytemap_new(&s->of.bytemap))
GIVE(bytemap, kolk_bytemap_delete(&s->of.bytemap, object))
END(bytemap, kolk_bytemap_flush(&s->of.bytemap))
ANSWER(bytemap)
COUNT(bytemap)
DOES(clear_bytemap, kolk_bytemap_clear(&s->of.bytemap), subject *s)
RETURNS(void *, slots_of_bytemap, s->of.bytemap.object_list, const subject *s)
RETURNS(void *, first_of_bytemap, kolk_bytemap_next(&s->of.bytemap, NULL), const subject *s)
RETURNS(bool, just_index_of_bytemap, kolk_bytemap_get_just_index(&s->of.bytemap, object) != -1, subject *s,
        void *object)
RETURNS(bool, index_of_bytemap, kolk_bytemap_get_index(&s->of.bytemap, object) != -1, subject *s, void *object)
RETURNS(bool, next_in_bytemap, kolk_bytemap_next(&s->of.bytemap, object), subject *s, void *object)

/* ---- Heaps: with a single tray, which has the heap's name -------------------------------------------------------- */

static kolk_status init_heap(subject *s, const options *with) {
    const kolk_heap_class tray = {.name = with->name,
                                  .size = with->object_size,
                                  .capacity = with->capacity,
                                  .max_capacity = with->max_capacity,
                                  .when_full = KOLK_HEAP_NULL};
    kolk_heap_desc desc = {
        .name = with->name, .debug = with->debug, .budget = with->budget, .classes = &tray, .n_classes = 1};
    return kolk_heap_init(&s->of.heap, &desc);
}

TAKE(heap, kolk_heap_alloc(&s->of.heap, 1))
GIVE(heap, kolk_heap_free(&s->of.heap, object))
END(heap, kolk_heap_deinit(&s->of.heap))
ANSWER(heap)
COUNT(heap)
DOES(clear_heap, kolk_heap_reset(&s->of.heap), subject *s)
RETURNS(bool, is_live_in_heap, kolk_heap_is_live(&s->of.heap, object), const subject *s, const void *object)
RETURNS(size_t, trim_heap, kolk_heap_trim(&s->of.heap), subject *s)
RETURNS(void *, first_of_heap, kolk_heap_next(&s->of.heap, NULL), const subject *s)

/* ---- Queues and resource pools: they hand out no objects, but have memory, a name and statistics ----------------- */

static kolk_status init_queue(subject *s, const options *with) {
    kolk_queue_desc desc = {.name = with->name, .item_size = with->object_size, .capacity = with->capacity};
    return kolk_queue_init(&s->of.queue, &desc);
}

DOES(end_of_queue, kolk_queue_deinit(&s->of.queue), subject *s)
ANSWER(queue)
COUNT(queue)

static bool create_resource(void *context, const char *key, kolk_deadline deadline, void **resource,
                            kolk_error *error) {
    *resource = context;
    return true;
}

/* With a tick instead of a maker. */
static kolk_status init_resource(subject *s, const options *with) {
    kolk_resource_pool_desc desc = {.name = with->name,
                                    .context = s,
                                    .create = create_resource,
                                    .max = with->capacity,
                                    .debug = with->debug,
                                    .no_housekeeper = true};
    return kolk_resource_init(&s->of.resource, &desc);
}

DOES(end_of_resource, kolk_resource_deinit(&s->of.resource), subject *s)
ANSWER(resource)

static void stats_of_resource(const subject *s, kolk_stats *out) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&s->of.resource, &stats);
    *out = (kolk_stats){.name = stats.name,
                        .kind = "resource",
                        .count = stats.in_use,
                        .peak = stats.peak,
                        .capacity = stats.max,
                        .max_capacity = stats.max};
}

/* ---- Pools between processes: the debug mode is for one process -------------------------------------------------- */

#ifdef __linux__
static kolk_status init_ipc(subject *s, const options *with) {
    kolk_ipc_desc desc = {.name = with->name, .object_size = with->object_size, .capacity = with->capacity};
    return kolk_ipc_init(&s->of.ipc, &desc);
}

DOES(end_of_ipc, kolk_ipc_deinit(&s->of.ipc), subject *s)
ANSWER(ipc)
COUNT(ipc)
#endif

/* ---- The table --------------------------------------------------------------------------------------------------- */

#define OF_ALL   (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES)
#define OF_SLOTS (OF_ALL | KOLK_DEBUG_TRACE | KOLK_DEBUG_BYPASS | KOLK_DEBUG_FAIL)
#define OF_PLACES                                                                                                      \
    (KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_BYPASS | KOLK_DEBUG_FAIL | KOLK_DEBUG_MOVE)

/* The functions above, for a row. */
#define MEMBER(name_)                                                                                                  \
    .member = #name_, .size = sizeof(((subject *)0)->of.name_), .init = init_##name_, .end = end_of_##name_,           \
    .is_valid = name_##_is_valid, .stats = stats_of_##name_
#define HANDS_OUT(member)                                                                                              \
    .take = take_from_##member, .give = give_to_##member, .clear = clear_##member, .first = first_of_##member,         \
    .in_take = &in_##member##_take, .in_give = &in_##member##_give, .in_end = &in_##member##_end
#define HAS_HANDLES(member) .handle = handle_of_##member, .get = get_of_##member
#define HAS_SNAPSHOTS(member)                                                                                          \
    .snapshot_size = snapshot_size_of_##member, .snapshot = snapshot_of_##member, .restore = restore_##member,         \
    .restore_converted = restore_##member##_by, .hash = hash_of_##member, .reserve = reserve_in_##member,              \
    .trim = trim_##member

#define POOL(name_, also, without, ...)                                                                                \
    {                                                                                                                  \
        .name = name_, .failed_at = offsetof(kolk_pool, failed),                                                       \
        .can = TAKES | FREES | ASKS | ISSUES | GROWS | DOUBLES | LENT | SIZES | STAYS | DEBUGS | COUNTS | (also),      \
        .debug = OF_SLOTS & ~(unsigned)(without), MEMBER(pool), HANDS_OUT(pool), HAS_HANDLES(pool),                    \
        HAS_SNAPSHOTS(pool), .is_live = is_live_in_pool, .slots = slots_of_pool, .free_verb = "free",                  \
        .double_free = "double free of slot %u", .slot = "slot", .dead = "is free", __VA_ARGS__                        \
    }

#define WITH_HANDLES                                                                                                   \
    .give_handle = give_handle_to_pool, .take_far = take_far_from_pool,                                                \
    .questions = {{"index", index_of_pool, false, false}, {"handle", pool_has_handle, false, false}}

#define SHARED(name_, also, ...)                                                                                       \
    {                                                                                                                  \
        .name = name_, .can = TAKES | FREES | GROWS | STAYS | DEBUGS | COUNTS | (also), .debug = OF_SLOTS,             \
        MEMBER(shared), HANDS_OUT(shared), HAS_HANDLES(shared), .is_live = is_live_in_shared,                          \
        .slots = slots_of_shared, .free_verb = "free", .double_free = "double free of slot %u", .slot = "slot",        \
        .dead = "is free", .questions = {{"handle", shared_has_handle, false, false}}, __VA_ARGS__                     \
    }

static const kind kinds[] = {
    POOL("pool, LIFO", HANDLES | SAVES, 0, .reuse = KOLK_REUSE_LIFO, WITH_HANDLES),
    POOL("pool, FIFO", HANDLES | SAVES, 0, .reuse = KOLK_REUSE_FIFO, WITH_HANDLES),
    POOL("pool, LOWEST", HANDLES | SAVES, 0, .reuse = KOLK_REUSE_LOWEST, WITH_HANDLES),
    POOL("pool, in bulk", HANDLES, 0, .in_bulk = true, WITH_HANDLES),
    POOL("pool, a hook", HANDLES, 0, .hook = true, WITH_HANDLES),
    POOL("pool, setup", HANDLES, KOLK_DEBUG_FILL, .sets_up = true, WITH_HANDLES),
    POOL("pool, no handles", NO_HANDLES | SAVES, 0, .generations = KOLK_GENERATIONS_NONE,
         .questions = {{"index", index_of_pool, false, false}}),
    {.name = "slot map",
     .failed_at = offsetof(kolk_slotmap, failed),
     .can = TAKES | ASKS | HANDLES | GROWS | DOUBLES | LENT | SIZES | DEBUGS | SAVES | COUNTS,
     .debug = OF_PLACES,
     MEMBER(slotmap),
     HANDS_OUT(slotmap),
     HAS_HANDLES(slotmap),
     HAS_SNAPSHOTS(slotmap),
     .give_handle = give_handle_to_slotmap,
     .slots = slots_of_slotmap,
     .questions = {{"index", index_of_slotmap, false, false}, {"handle", slotmap_has_handle, false, false}},
     .slot = "place",
     .dead = "has no object"},
    SHARED("shared", HANDLES | ISSUES | ASKS, .exact = false),
    SHARED("shared, exact", HANDLES | ISSUES | ASKS, .exact = true),
    SHARED("shared, in bulk", HANDLES | ISSUES | ASKS, .in_bulk = true),
    SHARED("shared, no handles", NO_HANDLES, .generations = KOLK_GENERATIONS_NONE),
    SHARED("shared, exact, no handles", NO_HANDLES, .generations = KOLK_GENERATIONS_NONE, .exact = true),
    SHARED("shared, exact, no handles, in bulk", NO_HANDLES, .generations = KOLK_GENERATIONS_NONE, .exact = true,
           .in_bulk = true),
    {.name = "GTA pool",
     .wants_zero = true,
     .failed_at = offsetof(kolk_bytemap, failed),
     .can = TAKES | FREES | ASKS | LENT | STAYS | DEBUGS,
     .debug = KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_FAIL,
     MEMBER(bytemap),
     HANDS_OUT(bytemap),
     .slots = slots_of_bytemap,
     .questions = {{"get_just_index", just_index_of_bytemap, true, false},
                   {"get_index", index_of_bytemap, true, false},
                   {"next", next_in_bytemap, true, true}},
     .free_verb = "delete",
     .double_free = "delete of slot %u, which is free",
     .slot = "slot",
     .dead = "is free"},
    {.name = "heap",
     .only_64 = true, /* sizes are rounded up: tests/heap tests mistakes and debug mode */
     .can = TAKES | GROWS | STAYS | TRIES_LESS | COUNTS,
     MEMBER(heap),
     HANDS_OUT(heap),
     .is_live = is_live_in_heap,
     .trim = trim_heap,
     .slot = "slot",
     .dead = "is free"},
    {.name = "queue", MEMBER(queue)},
    {.name = "resource pool", MEMBER(resource)},
#ifdef __linux__
    {.name = "pool between processes", MEMBER(ipc)},
#endif
};

/* ---- Modes ------------------------------------------------------------------------------------------------------- */

enum { PLAIN, TRACE, FILL, GUARD, QUARANTINE, SITES, ALL_SETTINGS, BYPASS, BYPASS_AND_SITES, MODES };

typedef struct mode {
    const char *name, *debug;
    uint32_t flags;
} mode;

static const mode modes[MODES] = {
    {"plain", NULL, 0},
    {"trace", "trace", KOLK_DEBUG_TRACE},
    {"fill", "fill", KOLK_DEBUG_FILL},
    {"guard", "guard", KOLK_DEBUG_GUARD},
    {"quarantine", "quarantine=2", KOLK_DEBUG_QUARANTINE},
    {"sites", "sites", KOLK_DEBUG_SITES},
    {"all", "all", OF_ALL},
    {"bypass", NULL, KOLK_DEBUG_BYPASS},
    {"bypass and sites", "sites", KOLK_DEBUG_BYPASS | KOLK_DEBUG_SITES},
};

#define IN(mode)      (1u << (mode))
#define IN_EVERY_MODE (IN(MODES) - 1)

/* ---- Contracts --------------------------------------------------------------------------------------------------- */

typedef struct row {
    const kind *kind;
    const mode *mode;
} row;

static subject *it; /* the subject of the running test; static, so that longjmp preserves it */
static const row *row_now;

/* Initialises `it` with the given options, and otherwise by the row. */
static inline kolk_status init_it(options with) {
    memset(it, 0, sizeof *it);
    if (!row_now->kind->wants_zero) memset(&it->of, 0xff, row_now->kind->size);
    it->kind = row_now->kind;
    if (!with.name && !with.nameless) with.name = "it";
    if (!with.object_size) with.object_size = 24;
    if (!with.debug) with.debug = row_now->mode->debug;
    if (!(it->kind->can & GROWS)) with.max_capacity = 0;
    if (!(it->kind->can & LENT)) with.memory = NULL, with.memory_size = 0;
    return it->kind->init(it, &with);
}

static inline void begin_it(options with) {
    kolk_status status = init_it(with);
    if (status != KOLK_OK) fail_msg("init: %s", kolk_status_text(status));
    assert_true(it->kind->is_valid(it));
}

static inline void assert_is_valid(void) {
    assert_true(it->kind->is_valid(it));
}

static inline bool it_is_zero(void) {
    return all_bytes_are(&it->of, it->kind->size, 0);
}

static inline void end_it(void) {
    assert_is_valid();
    it->kind->end(it);
    assert_true(it_is_zero());
}

static inline void *take_one(void) {
    void *object = it->kind->take(it);
    assert_non_null(object);
    assert_is_valid();
    return object;
}

static inline void give_one(void *object) {
    it->kind->give(it, object);
    assert_is_valid();
}

static inline kolk_stats stats_of_it(void) {
    kolk_stats stats;
    it->kind->stats(it, &stats);
    return stats;
}

static inline uint32_t count_of_it(void) {
    return stats_of_it().count;
}

/* Frees all live objects, so that no leak is reported. */
static inline void give_back_all(void **objects, uint32_t n) {
    while (n-- > 0) give_one(objects[n]);
}

typedef struct contract {
    const char *name;
    void (*test)(void **state);
    unsigned needs, modes;
} contract;

#define CONTRACT(test, needs, modes)                                                                                   \
    { #test, test, needs, modes }

static inline int set_row(void **state) {
    row_now = (const row *)*state;
    plain_environment(state);
    return setenv("KOLK_BYPASS", row_now->mode->flags & KOLK_DEBUG_BYPASS ? "1" : "0", 1);
}

static inline bool is_row_of(const contract *c, const kind *k, unsigned m) {
    if (k->only_64 && sizeof(void *) < 8) return false;
    return (k->can & c->needs) == c->needs && (c->modes & IN(m)) && (m == PLAIN || (k->debug & modes[m].flags)) &&
           !(modes[m].flags & ~k->debug & KOLK_DEBUG_BYPASS);
}

/* Runs each contract for each kind in each mode, as a test of its own. */
static inline int run_contracts(const contract *contracts, size_t n, CMFixtureFunction setup,
                                CMFixtureFunction teardown) {
    static subject own;
    static row rows[LENGTH_OF(kinds)][MODES];
    static struct CMUnitTest tests[2000];
    static char names[LENGTH_OF(tests)][100];
    size_t count = 0;
    it = &own;
    for (size_t c = 0; c < n; c++) {
        size_t before = count;
        for (size_t k = 0; k < LENGTH_OF(kinds); k++) {
            for (unsigned m = 0; m < MODES; m++) {
                if (!is_row_of(&contracts[c], &kinds[k], m)) continue;
                rows[k][m] = (row){&kinds[k], &modes[m]};
                snprintf(names[count], sizeof *names, "%s: %s: %s", contracts[c].name, kinds[k].name, modes[m].name);
                if (count == LENGTH_OF(tests)) abort();
                tests[count] = (struct CMUnitTest){names[count], contracts[c].test, set_row, teardown, &rows[k][m]};
                count++;
            }
        }
        if (count == before) abort(); /* no kind runs this contract */
    }
    return _cmocka_run_group_tests("contracts", tests, count, setup, NULL);
}

#endif
