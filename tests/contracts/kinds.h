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
        kolk_slotmap map;
        kolk_shared shared;
        kolk_bytemap bytemap;
        kolk_queue queue;
        kolk_resource_pool resources;
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

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

static void count_reset(void *object, void *context) {
    (void)object;
    ((subject *)context)->resets++;
}

static bool set_up_object(void *object, void *context) {
    (void)object, (void)context;
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
LIMITS(pool_end)

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

APART(pool_end) static void end_of_pool(subject *s) {
    kolk_pool_deinit(&s->of.pool);
    AND_ON();
}

static bool pool_is_valid(const subject *s) {
    return kolk_pool_is_valid(&s->of.pool);
}

static void stats_of_pool(const subject *s, kolk_stats *out) {
    kolk_pool_stats(&s->of.pool, out);
}

static void clear_pool(subject *s) {
    kolk_pool_clear(&s->of.pool);
}

static kolk_handle handle_of_pool(const subject *s, const void *object) {
    return kolk_pool_handle_of(&s->of.pool, object);
}

static void *get_of_pool(const subject *s, kolk_handle handle) {
    return kolk_pool_get(&s->of.pool, handle);
}

static bool give_handle_to_pool(subject *s, kolk_handle handle) {
    return kolk_pool_free_handle(&s->of.pool, handle);
}

static bool is_live_in_pool(const subject *s, const void *object) {
    return kolk_pool_is_live(&s->of.pool, object);
}

static void *slots_of_pool(const subject *s) {
    return s->of.pool.slots;
}

static void *first_of_pool(const subject *s) {
    return first_alive(&s->of.pool);
}

static kolk_status reserve_in_pool(subject *s, uint32_t capacity) {
    return kolk_pool_reserve(&s->of.pool, capacity);
}

static size_t trim_pool(subject *s) {
    return kolk_pool_trim(&s->of.pool);
}

static void *take_far_from_pool(subject *s) {
    return kolk_pool_alloc_at(&s->of.pool, kolk_handle_unpack(UINT64_C(5) << 32 | (2000 ^ s->of.pool.tag)));
}

static size_t snapshot_size_of_pool(const subject *s) {
    return kolk_pool_snapshot_size(&s->of.pool);
}

static size_t snapshot_of_pool(const subject *s, void *block, size_t size) {
    return kolk_pool_snapshot(&s->of.pool, block, size);
}

static kolk_status restore_pool(subject *s, const void *block, size_t size) {
    return kolk_pool_restore(&s->of.pool, block, size);
}

static kolk_status restore_pool_by(subject *s, const void *block, size_t size, converter *convert, void *context) {
    return kolk_pool_restore_converted(&s->of.pool, block, size, convert, context);
}

static bool index_of_pool(subject *s, void *object) {
    return kolk_pool_index(&s->of.pool, object) != UINT32_MAX;
}

static bool pool_has_handle(subject *s, void *object) {
    return !kolk_handle_is_null(kolk_pool_handle_of(&s->of.pool, object));
}

/* ---- Slot maps --------------------------------------------------------------------------------------------------- */

static kolk_status init_map(subject *s, const options *with) {
    kolk_slotmap_desc desc = {.name = with->name,
                              .object_size = with->object_size,
                              .capacity = with->capacity,
                              .max_capacity = with->max_capacity,
                              .memory = with->memory,
                              .memory_size = with->memory_size,
                              .budget = with->budget,
                              .debug = with->debug};
    return kolk_slotmap_init(&s->of.map, &desc);
}

LIMITS(map_take)
LIMITS(map_give)
LIMITS(map_end)

APART(map_take) static void *take_from_map(subject *s) {
    void *object = kolk_slotmap_add(&s->of.map, NULL);
    AND_ON();
    return object;
}

APART(map_give) static void give_to_map(subject *s, void *object) {
    kolk_slotmap_remove(&s->of.map, kolk_slotmap_handle_of(&s->of.map, object));
    AND_ON();
}

APART(map_end) static void end_of_map(subject *s) {
    kolk_slotmap_deinit(&s->of.map);
    AND_ON();
}

static bool map_is_valid(const subject *s) {
    return kolk_slotmap_is_valid(&s->of.map);
}

static void stats_of_map(const subject *s, kolk_stats *out) {
    kolk_slotmap_stats(&s->of.map, out);
}

static void clear_map(subject *s) {
    kolk_slotmap_clear(&s->of.map);
}

static kolk_handle handle_of_map(const subject *s, const void *object) {
    return kolk_slotmap_handle_of(&s->of.map, object);
}

static void *get_of_map(const subject *s, kolk_handle handle) {
    return kolk_slotmap_get(&s->of.map, handle);
}

static bool give_handle_to_map(subject *s, kolk_handle handle) {
    return kolk_slotmap_remove(&s->of.map, handle);
}

static void *slots_of_map(const subject *s) {
    return s->of.map.objects;
}

static void *first_of_map(const subject *s) {
    return kolk_slotmap_count(&s->of.map) ? s->of.map.objects : NULL;
}

static kolk_status reserve_in_map(subject *s, uint32_t capacity) {
    return kolk_slotmap_reserve(&s->of.map, capacity);
}

static size_t trim_map(subject *s) {
    return kolk_slotmap_trim(&s->of.map);
}

static size_t snapshot_size_of_map(const subject *s) {
    return kolk_slotmap_snapshot_size(&s->of.map);
}

static size_t snapshot_of_map(const subject *s, void *block, size_t size) {
    return kolk_slotmap_snapshot(&s->of.map, block, size);
}

static kolk_status restore_map(subject *s, const void *block, size_t size) {
    return kolk_slotmap_restore(&s->of.map, block, size);
}

static kolk_status restore_map_by(subject *s, const void *block, size_t size, converter *convert, void *context) {
    return kolk_slotmap_restore_converted(&s->of.map, block, size, convert, context);
}

static bool index_of_map(subject *s, void *object) {
    return kolk_slotmap_index(&s->of.map, object) != UINT32_MAX;
}

static bool map_has_handle(subject *s, void *object) {
    return !kolk_handle_is_null(kolk_slotmap_handle_of(&s->of.map, object));
}

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

static bool shared_is_valid(const subject *s) {
    return kolk_shared_is_valid(&s->of.shared);
}

static void clear_shared(subject *s) {
    kolk_shared_clear(&s->of.shared);
}

static void stats_of_shared(const subject *s, kolk_stats *out) {
    kolk_shared_stats(&s->of.shared, out);
}

static kolk_handle handle_of_shared(const subject *s, const void *object) {
    return kolk_shared_handle_of(&s->of.shared, object);
}

static void *get_of_shared(const subject *s, kolk_handle handle) {
    return kolk_shared_get(&s->of.shared, handle);
}

static bool is_live_in_shared(const subject *s, const void *object) {
    return kolk_shared_is_live(&s->of.shared, object);
}

static void *slots_of_shared(const subject *s) {
    return s->of.shared.slots;
}

static void *first_of_shared(const subject *s) {
    kolk_shared_cursor cursor = kolk_shared_each(&s->of.shared);
    return kolk_shared_cursor_next(&cursor);
}

static bool shared_has_handle(subject *s, void *object) {
    return !kolk_handle_is_null(kolk_shared_handle_of(&s->of.shared, object));
}

/* ---- GTA pools --------------------------------------------------------------------------------------------------- */

static kolk_status init_bytemap(subject *s, const options *with) {
    kolk_bytemap_view view = {.name = with->name, .object_size = with->object_size, .count = (int32_t)with->capacity};
    if (with->memory) {
        view.object_list = with->memory;
        view.byte_map = (uint8_t *)with->memory + with->object_size * with->capacity;
    }
    return kolk_bytemap_initialise_with(&s->of.bytemap, &view);
}

LIMITS(bytemap_take)
LIMITS(bytemap_give)
LIMITS(bytemap_end)

APART(bytemap_take) static void *take_from_bytemap(subject *s) {
    void *object = kolk_bytemap_new(&s->of.bytemap);
    AND_ON();
    return object;
}

APART(bytemap_give) static void give_to_bytemap(subject *s, void *object) {
    kolk_bytemap_delete(&s->of.bytemap, object);
    AND_ON();
}

APART(bytemap_end) static void end_of_bytemap(subject *s) {
    kolk_bytemap_flush(&s->of.bytemap);
    AND_ON();
}

static bool bytemap_is_valid(const subject *s) {
    return kolk_bytemap_is_valid(&s->of.bytemap);
}

static void stats_of_bytemap(const subject *s, kolk_stats *out) {
    kolk_bytemap_stats(&s->of.bytemap, out);
}

static void clear_bytemap(subject *s) {
    kolk_bytemap_clear(&s->of.bytemap);
}

static void *slots_of_bytemap(const subject *s) {
    return s->of.bytemap.object_list;
}

static void *first_of_bytemap(const subject *s) {
    return kolk_bytemap_next(&s->of.bytemap, NULL);
}

static bool just_index_of_bytemap(subject *s, void *object) {
    return kolk_bytemap_get_just_index(&s->of.bytemap, object) != -1;
}

static bool index_of_bytemap(subject *s, void *object) {
    return kolk_bytemap_get_index(&s->of.bytemap, object) != -1;
}

static bool next_in_bytemap(subject *s, void *object) {
    return kolk_bytemap_next(&s->of.bytemap, object);
}

/* ---- Queues: they hand out no objects, but have memory, a name and statistics ------------------------------------ */

static kolk_status init_queue(subject *s, const options *with) {
    kolk_queue_desc desc = {.name = with->name, .item_size = with->object_size, .capacity = with->capacity};
    return kolk_queue_init(&s->of.queue, &desc);
}

static void end_of_queue(subject *s) {
    kolk_queue_deinit(&s->of.queue);
}

static bool queue_is_valid(const subject *s) {
    return kolk_queue_is_valid(&s->of.queue);
}

static void stats_of_queue(const subject *s, kolk_stats *out) {
    kolk_queue_stats(&s->of.queue, out);
}

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

LIMITS(heap_take)
LIMITS(heap_give)
LIMITS(heap_end)

APART(heap_take) static void *take_from_heap(subject *s) {
    void *object = kolk_heap_alloc(&s->of.heap, 1);
    AND_ON();
    return object;
}

APART(heap_give) static void give_to_heap(subject *s, void *object) {
    kolk_heap_free(&s->of.heap, object);
    AND_ON();
}

APART(heap_end) static void end_of_heap(subject *s) {
    kolk_heap_deinit(&s->of.heap);
    AND_ON();
}

static bool heap_is_valid(const subject *s) {
    return kolk_heap_is_valid(&s->of.heap);
}

static void stats_of_heap(const subject *s, kolk_stats *out) {
    kolk_heap_stats(&s->of.heap, out);
}

static bool is_live_in_heap(const subject *s, const void *object) {
    return kolk_heap_is_live(&s->of.heap, object);
}

static void clear_heap(subject *s) {
    kolk_heap_reset(&s->of.heap);
}

static size_t trim_heap(subject *s) {
    return kolk_heap_trim(&s->of.heap);
}

static void *first_of_heap(const subject *s) {
    return kolk_heap_next(&s->of.heap, NULL);
}

/* ---- Resource pools: with a tick instead of a maker ------------------------------------------------------ */

static bool create_resource(void *context, const char *key, kolk_deadline deadline, void **resource,
                            kolk_error *error) {
    (void)key, (void)deadline, (void)error;
    *resource = context;
    return true;
}

static kolk_status init_resources(subject *s, const options *with) {
    kolk_resource_pool_desc desc = {.name = with->name,
                                    .context = s,
                                    .create = create_resource,
                                    .max = with->capacity,
                                    .debug = with->debug,
                                    .no_housekeeper = true};
    return kolk_resource_init(&s->of.resources, &desc);
}

static void end_of_resources(subject *s) {
    kolk_resource_deinit(&s->of.resources);
}

static bool resources_are_valid(const subject *s) {
    return kolk_resource_is_valid(&s->of.resources);
}

static void stats_of_resources(const subject *s, kolk_stats *out) {
    kolk_resource_pool_stats stats;
    kolk_resource_stats(&s->of.resources, &stats);
    *out = (kolk_stats){.name = stats.name,
                        .kind = "resource",
                        .count = stats.in_use,
                        .peak = stats.peak,
                        .capacity = stats.max,
                        .max_capacity = stats.max};
}

/* ---- The table --------------------------------------------------------------------------------------------------- */

#define OF_ALL   (KOLK_DEBUG_FILL | KOLK_DEBUG_GUARD | KOLK_DEBUG_QUARANTINE | KOLK_DEBUG_SITES)
#define OF_SLOTS (OF_ALL | KOLK_DEBUG_TRACE | KOLK_DEBUG_BYPASS | KOLK_DEBUG_FAIL)
#define OF_PLACES                                                                                                      \
    (KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_BYPASS | KOLK_DEBUG_FAIL | KOLK_DEBUG_MOVE)

#define POOL(name_, also, without, ...)                                                                                \
    {                                                                                                                  \
        .name = name_, .member = "pool", .size = sizeof(kolk_pool), .failed_at = offsetof(kolk_pool, failed),          \
        .can = TAKES | FREES | ASKS | ISSUES | GROWS | DOUBLES | LENT | SIZES | STAYS | DEBUGS | COUNTS | (also),      \
        .debug = OF_SLOTS & ~(unsigned)(without), .init = init_pool, .take = take_from_pool, .give = give_to_pool,     \
        .end = end_of_pool, .in_take = &in_pool_take, .in_give = &in_pool_give, .in_end = &in_pool_end,                \
        .is_valid = pool_is_valid, .stats = stats_of_pool, .clear = clear_pool, .handle = handle_of_pool,              \
        .get = get_of_pool, .is_live = is_live_in_pool, .slots = slots_of_pool, .first = first_of_pool,                \
        .reserve = reserve_in_pool, .trim = trim_pool, .free_verb = "free", .double_free = "double free of slot %u",   \
        .slot = "slot", .dead = "is free", .snapshot_size = snapshot_size_of_pool, .snapshot = snapshot_of_pool,       \
        .restore = restore_pool, .restore_converted = restore_pool_by, __VA_ARGS__                                     \
    }

#define WITH_HANDLES                                                                                                   \
    .give_handle = give_handle_to_pool, .take_far = take_far_from_pool,                                                \
    .questions = {{"index", index_of_pool, false, false}, {"handle", pool_has_handle, false, false}}

#define SHARED(name_, also, ...)                                                                                       \
    {                                                                                                                  \
        .name = name_, .member = "shared", .size = sizeof(kolk_shared),                                                \
        .can = TAKES | FREES | GROWS | STAYS | DEBUGS | COUNTS | (also), .debug = OF_SLOTS, .init = init_shared,       \
        .clear = clear_shared, .take = take_from_shared, .give = give_to_shared, .end = end_of_shared,                 \
        .in_take = &in_shared_take, .in_give = &in_shared_give, .in_end = &in_shared_end, .is_valid = shared_is_valid, \
        .stats = stats_of_shared, .handle = handle_of_shared, .get = get_of_shared, .is_live = is_live_in_shared,      \
        .slots = slots_of_shared, .first = first_of_shared, .free_verb = "free",                                       \
        .double_free = "double free of slot %u", .slot = "slot", .dead = "is free", __VA_ARGS__                        \
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
     .member = "slotmap",
     .size = sizeof(kolk_slotmap),
     .failed_at = offsetof(kolk_slotmap, failed),
     .can = TAKES | ASKS | HANDLES | GROWS | DOUBLES | LENT | SIZES | DEBUGS | SAVES | COUNTS,
     .debug = OF_PLACES,
     .init = init_map,
     .take = take_from_map,
     .give = give_to_map,
     .end = end_of_map,
     .in_take = &in_map_take,
     .in_give = &in_map_give,
     .in_end = &in_map_end,
     .is_valid = map_is_valid,
     .stats = stats_of_map,
     .clear = clear_map,
     .handle = handle_of_map,
     .get = get_of_map,
     .give_handle = give_handle_to_map,
     .slots = slots_of_map,
     .first = first_of_map,
     .reserve = reserve_in_map,
     .trim = trim_map,
     .snapshot_size = snapshot_size_of_map,
     .snapshot = snapshot_of_map,
     .restore = restore_map,
     .restore_converted = restore_map_by,
     .questions = {{"index", index_of_map, false, false}, {"handle", map_has_handle, false, false}},
     .slot = "place",
     .dead = "has no object"},
    SHARED("shared", HANDLES | ISSUES | ASKS, .questions = {{"handle", shared_has_handle, false, false}}),
    SHARED("shared, exact", HANDLES | ISSUES | ASKS, .exact = true,
           .questions = {{"handle", shared_has_handle, false, false}}),
    SHARED("shared, in bulk", HANDLES | ISSUES | ASKS, .in_bulk = true,
           .questions = {{"handle", shared_has_handle, false, false}}),
    SHARED("shared, no handles", NO_HANDLES, .generations = KOLK_GENERATIONS_NONE),
    SHARED("shared, exact, no handles", NO_HANDLES, .generations = KOLK_GENERATIONS_NONE, .exact = true),
    SHARED("shared, exact, no handles, in bulk", NO_HANDLES, .generations = KOLK_GENERATIONS_NONE, .exact = true,
           .in_bulk = true),
    {.name = "GTA pool",
     .member = "bytemap",
     .wants_zero = true,
     .size = sizeof(kolk_bytemap),
     .failed_at = offsetof(kolk_bytemap, failed),
     .can = TAKES | FREES | ASKS | LENT | STAYS,
     .init = init_bytemap,
     .take = take_from_bytemap,
     .give = give_to_bytemap,
     .end = end_of_bytemap,
     .in_take = &in_bytemap_take,
     .in_give = &in_bytemap_give,
     .in_end = &in_bytemap_end,
     .is_valid = bytemap_is_valid,
     .stats = stats_of_bytemap,
     .clear = clear_bytemap,
     .slots = slots_of_bytemap,
     .first = first_of_bytemap,
     .questions = {{"get_just_index", just_index_of_bytemap, true, false},
                   {"get_index", index_of_bytemap, true, false},
                   {"next", next_in_bytemap, true, true}},
     .free_verb = "delete",
     .double_free = "delete of slot %u, which is free",
     .slot = "slot",
     .dead = "is free"},
    {.name = "heap",
     .member = "heap",
     .size = sizeof(kolk_heap),
     .only_64 = true,
     .can = TAKES | GROWS | STAYS | TRIES_LESS |
            COUNTS, /* sizes are rounded up: tests/heap tests mistakes and debug mode */
     .init = init_heap,
     .take = take_from_heap,
     .give = give_to_heap,
     .end = end_of_heap,
     .in_take = &in_heap_take,
     .in_give = &in_heap_give,
     .in_end = &in_heap_end,
     .is_valid = heap_is_valid,
     .stats = stats_of_heap,
     .clear = clear_heap,
     .is_live = is_live_in_heap,
     .first = first_of_heap,
     .trim = trim_heap,
     .slot = "slot",
     .dead = "is free"},
    {.name = "queue",
     .member = "queue",
     .size = sizeof(kolk_queue),
     .init = init_queue,
     .end = end_of_queue,
     .is_valid = queue_is_valid,
     .stats = stats_of_queue},
    {.name = "resource pool",
     .member = "resource",
     .size = sizeof(kolk_resource_pool),
     .init = init_resources,
     .end = end_of_resources,
     .is_valid = resources_are_valid,
     .stats = stats_of_resources},
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
    return (k->can & c->needs) == c->needs && (c->modes & IN(m)) && (m == PLAIN || (k->debug & modes[m].flags));
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
