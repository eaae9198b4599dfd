/* subjects.c: see subjects.h. Every subject is a pair of functions, take and give, which are compiled into loops of its
 * own, so that kolk's inline calls are inlined as in a program. */
#define _POSIX_C_SOURCE 200809L
#include "subjects.h"

#include "../measure.h"
#include "trials.h"

#include <kolk/kolk.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- The loops --------------------------------------------------------------------------------------------------- */

#define INLINED static inline __attribute__((always_inline))

typedef struct thing *take_function(void *from, union place *place);
typedef void give_function(void *from, union place *place);

INLINED struct thing *take_object(take_function *take, void *from, union place *place) {
    struct thing *object = take(from, place);
    hide_object(object);
    return object;
}

INLINED void write_object(struct thing *object, uint64_t value) {
    *object = (struct thing){{value, value, value, value, value, value, value, value}};
    hide_memory();
}

INLINED void run_replace(struct stand *stand, uint64_t times, take_function *take, give_function *give, bool write) {
    void *from = stand->from;
    union place *places = stand->places;
    uint64_t count = stand->count, random = stand->random;
    for (; times > 0; times--) {
        union place *place = &places[draw_below(&random, count)];
        give(from, place);
        hide_memory();
        struct thing *object = take_object(take, from, place);
        if (write) write_object(object, random);
    }
    stand->random = random;
}

INLINED void run_burst(struct stand *stand, uint64_t times, take_function *take, give_function *give) {
    void *from = stand->from;
    union place places[BURST] = {{NULL}};
    for (; times > 0; times--) {
        for (unsigned n = 0; n < BURST; n++) take_object(take, from, &places[n]);
        for (unsigned n = 0; n < BURST; n++) {
            give(from, &places[n]);
            hide_memory();
        }
    }
}

INLINED void run_fill(struct stand *stand, take_function *take) {
    for (uint32_t n = 0; n < stand->count; n++) write_object(take_object(take, stand->from, &stand->places[n]), n);
}

INLINED void run_empty(struct stand *stand, give_function *give) {
    for (uint32_t n = 0; n < stand->count; n++) {
        give(stand->from, &stand->places[n]);
        hide_memory();
    }
}

INLINED void run_timed(struct stand *stand, double *allocs, double *frees, size_t count, take_function *take,
                       give_function *give) {
    for (size_t n = 0; n < count; n++) {
        union place *place = &stand->places[draw_below(&stand->random, stand->count)];
        uint64_t before = cli_now();
        give(stand->from, place);
        hide_memory();
        uint64_t freed = cli_now();
        take_object(take, stand->from, place);
        uint64_t made = cli_now();
        frees[n] = (double)(freed - before);
        allocs[n] = (double)(made - freed);
    }
}

#define DEFINE_LOOPS(id)                                                                                               \
    static void id##_fill(struct stand *stand) {                                                                       \
        run_fill(stand, id##_take);                                                                                    \
    }                                                                                                                  \
    static void id##_empty(struct stand *stand) {                                                                      \
        run_empty(stand, id##_give);                                                                                   \
    }                                                                                                                  \
    static void id##_replace(void *stand, uint64_t times) {                                                            \
        run_replace(stand, times, id##_take, id##_give, false);                                                        \
    }                                                                                                                  \
    static void id##_write(void *stand, uint64_t times) {                                                              \
        run_replace(stand, times, id##_take, id##_give, true);                                                         \
    }                                                                                                                  \
    static void id##_burst(void *stand, uint64_t times) {                                                              \
        run_burst(stand, times, id##_take, id##_give);                                                                 \
    }                                                                                                                  \
    static void id##_refill(void *stand, uint64_t times) {                                                             \
        for (; times > 0; times--) {                                                                                   \
            id##_fill(stand);                                                                                          \
            id##_empty(stand);                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    static void id##_time_each(struct stand *stand, double *allocs, double *frees, size_t count) {                     \
        run_timed(stand, allocs, frees, count, id##_take, id##_give);                                                  \
    }

/* A row of the table below. */
#define SUBJECT(name, id, begin_function, end_function)                                                                \
    {                                                                                                                  \
        .who = (name), .begin = (begin_function), .end = (end_function), .fill = id##_fill, .empty = id##_empty,       \
        .loops = {id##_replace, id##_write, id##_burst, id##_refill}, .time_each = id##_time_each                      \
    }

/* ---- Without an allocator ---------------------------------------------------------------------------------------- */

/* Every place keeps the object that it has: the loop alone, and the memory that it touches. */
static struct thing *loop_take(void *from, union place *place) {
    (void)from;
    return place->object;
}

static void loop_give(void *from, union place *place) {
    (void)from, (void)place;
}

static bool loop_begin(struct stand *stand) {
    struct thing *all = calloc(stand->count, sizeof *all);
    for (uint32_t n = 0; n < stand->count && all; n++) stand->places[n].object = &all[n];
    return (stand->from = all) != NULL;
}

static void loop_end(struct stand *stand) {
    free(stand->from);
}

DEFINE_LOOPS(loop)

/* ---- Mallocs ----------------------------------------------------------------------------------------------------- */

static struct thing *malloc_take(void *from, union place *place) {
    (void)from;
    return place->object = malloc(sizeof(struct thing));
}

static void malloc_give(void *from, union place *place) {
    (void)from;
    free(place->object);
}

static bool malloc_begin(struct stand *stand) {
    (void)stand;
    return true;
}

static void malloc_end(struct stand *stand) {
    (void)stand;
}

DEFINE_LOOPS(malloc)

/* A malloc from a library. RTLD_LOCAL keeps it from becoming the malloc of the process. */
struct peer {
    void *(*alloc)(size_t size);
    void (*give)(void *object);
};

static struct thing *peer_take(void *from, union place *place) {
    const struct peer *peer = from;
    return place->object = peer->alloc(sizeof(struct thing));
}

static void peer_give(void *from, union place *place) {
    const struct peer *peer = from;
    peer->give(place->object);
}

static bool load_peer(struct stand *stand, const char *library, const char *alloc, const char *give) {
    struct peer *peer = calloc(1, sizeof *peer);
    void *handle = peer ? dlopen(library, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle) {
        void *found[2] = {dlsym(handle, alloc), dlsym(handle, give)};
        memcpy(&peer->alloc, &found[0], sizeof found[0]); /* C has no cast from an object to a function */
        memcpy(&peer->give, &found[1], sizeof found[1]);
    }
    stand->from = peer;
    if (peer && peer->alloc && peer->give) return true;
    stand->problem = peer ? dlerror() : NULL;
    free(peer);
    return false;
}

static bool mimalloc_begin(struct stand *stand) {
    return load_peer(stand, "libmimalloc.so.2", "mi_malloc", "mi_free");
}

static bool jemalloc_begin(struct stand *stand) {
    return load_peer(stand, "libjemalloc.so.2", "malloc", "free");
}

static bool tcmalloc_begin(struct stand *stand) {
    return load_peer(stand, "libtcmalloc_minimal.so.4", "tc_malloc", "tc_free");
}

static void peer_end(struct stand *stand) {
    free(stand->from); /* the library stays, as some cannot be unloaded */
}

DEFINE_LOOPS(peer)

/* ---- The list of the chapter Object Pool (Nystrom, Game Programming Patterns, 2014) ------------------------------ */

/* Dead objects hold the list of free ones. */
union list_slot {
    struct thing live;
    union list_slot *next;
};

struct list {
    union list_slot *first, *slots;
};

static struct thing *list_take(void *from, union place *place) {
    struct list *list = from;
    union list_slot *slot = list->first;
    list->first = slot->next;
    return place->object = &slot->live;
}

static void list_give(void *from, union place *place) {
    struct list *list = from;
    union list_slot *slot = (union list_slot *)place->object;
    slot->next = list->first;
    list->first = slot;
}

static bool list_begin(struct stand *stand) {
    size_t count = (size_t)stand->count + BURST;
    struct list *list = calloc(1, sizeof *list);
    if (!list || !(list->slots = malloc(count * sizeof *list->slots))) {
        free(list);
        return false;
    }
    list->first = list->slots;
    for (size_t n = 0; n < count; n++) list->slots[n].next = n + 1 < count ? &list->slots[n + 1] : NULL;
    stand->from = list;
    return true;
}

static void list_end(struct stand *stand) {
    struct list *list = stand->from;
    free(list->slots);
    free(list);
}

DEFINE_LOOPS(list)

/* ---- kolk -------------------------------------------------------------------------------------------------------- */

/* Twice as many slots as live objects, as a program that does not know its peak would have. */
static uint32_t slots_for(const struct stand *stand) {
    return 2 * stand->count + BURST;
}

/* Makes the allocator, `size` bytes, by its init. */
static bool begin_kolk(struct stand *stand, size_t size, kolk_status (*init)(const struct stand *stand, void *from)) {
    kolk_status status = KOLK_NO_MEMORY;
    stand->from = calloc(1, size);
    if (stand->from) status = init(stand, stand->from);
    if (status == KOLK_OK) return true;
    stand->problem = kolk_status_text(status);
    free(stand->from);
    return false;
}

KOLK_POOL_TYPE(things, struct thing)

static struct thing *typed_take(void *from, union place *place) {
    return place->object = things_alloc(from);
}

static void typed_give(void *from, union place *place) {
    things_free(from, place->object);
}

static kolk_status typed_init(const struct stand *stand, void *from) {
    return things_init(from, &(kolk_pool_desc){.capacity = slots_for(stand)});
}

static kolk_status plain_init(const struct stand *stand, void *from) {
    return things_init(from, &(kolk_pool_desc){.capacity = slots_for(stand), .generations = KOLK_GENERATIONS_NONE});
}

static bool typed_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(things), typed_init);
}

static bool plain_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(things), plain_init);
}

static void typed_end(struct stand *stand) {
    things_deinit(stand->from);
    free(stand->from);
}

DEFINE_LOOPS(typed)

static struct thing *untyped_take(void *from, union place *place) {
    return place->object = kolk_pool_alloc(from);
}

static void untyped_give(void *from, union place *place) {
    kolk_pool_free(from, place->object);
}

static kolk_status init_untyped(const struct stand *stand, void *from, kolk_reuse reuse) {
    return kolk_pool_init(
        from, &(kolk_pool_desc){.object_size = sizeof(struct thing), .capacity = slots_for(stand), .reuse = reuse});
}

static kolk_status lifo_init(const struct stand *stand, void *from) {
    return init_untyped(stand, from, KOLK_REUSE_LIFO);
}

static kolk_status fifo_init(const struct stand *stand, void *from) {
    return init_untyped(stand, from, KOLK_REUSE_FIFO);
}

static kolk_status lowest_init(const struct stand *stand, void *from) {
    return init_untyped(stand, from, KOLK_REUSE_LOWEST);
}

static bool lifo_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(kolk_pool), lifo_init);
}

static bool fifo_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(kolk_pool), fifo_init);
}

static bool lowest_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(kolk_pool), lowest_init);
}

static void untyped_end(struct stand *stand) {
    kolk_pool_deinit(stand->from);
    free(stand->from);
}

DEFINE_LOOPS(untyped)

KOLK_SLOTMAP_TYPE(thing_map, struct thing)

static struct thing *map_take(void *from, union place *place) {
    thing_map_handle handle;
    struct thing *object = thing_map_add(from, &handle);
    place->handle = handle.untyped;
    return object;
}

static void map_give(void *from, union place *place) {
    thing_map_remove(from, (thing_map_handle){place->handle});
}

static kolk_status map_init(const struct stand *stand, void *from) {
    return thing_map_init(from, &(kolk_slotmap_desc){.capacity = slots_for(stand)});
}

static bool map_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(thing_map), map_init);
}

static void map_end(struct stand *stand) {
    thing_map_deinit(stand->from);
    free(stand->from);
}

DEFINE_LOOPS(map)

KOLK_SHARED_TYPE(shared_things, struct thing)

struct sharer {
    shared_things pool;
    shared_things_local local;
};

static struct thing *shared_take(void *from, union place *place) {
    struct sharer *sharer = from;
    return place->object = shared_things_alloc(&sharer->local);
}

static void shared_give(void *from, union place *place) {
    struct sharer *sharer = from;
    shared_things_free(&sharer->local, place->object);
}

static kolk_status shared_init(const struct stand *stand, void *from) {
    struct sharer *sharer = from;
    kolk_status status = shared_things_init(&sharer->pool, &(kolk_shared_desc){.capacity = slots_for(stand)});
    if (status != KOLK_OK) return status;
    status = shared_things_local_init(&sharer->local, &sharer->pool);
    if (status != KOLK_OK) shared_things_deinit(&sharer->pool);
    return status;
}

static bool shared_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(struct sharer), shared_init);
}

static void shared_end(struct stand *stand) {
    struct sharer *sharer = stand->from;
    shared_things_local_deinit(&sharer->local);
    shared_things_deinit(&sharer->pool);
    free(sharer);
}

DEFINE_LOOPS(shared)

static struct thing *heap_take(void *from, union place *place) {
    return place->object = kolk_heap_alloc(from, sizeof(struct thing));
}

static void heap_give(void *from, union place *place) {
    kolk_heap_free(from, place->object);
}

static kolk_status heap_init(const struct stand *stand, void *from) {
    (void)stand;
    return kolk_heap_init(from, &(kolk_heap_desc){.name = "bench"});
}

static bool heap_begin(struct stand *stand) {
    return begin_kolk(stand, sizeof(kolk_heap), heap_init);
}

static void heap_end(struct stand *stand) {
    kolk_heap_deinit(stand->from);
    free(stand->from);
}

DEFINE_LOOPS(heap)

/* ---- The table --------------------------------------------------------------------------------------------------- */

const struct subject subjects[] = {
    [SUBJECT_LOOP] = SUBJECT("no allocator", loop, loop_begin, loop_end),
    [SUBJECT_MALLOC] = SUBJECT("malloc", malloc, malloc_begin, malloc_end),
    SUBJECT("mimalloc", peer, mimalloc_begin, peer_end),
    SUBJECT("jemalloc", peer, jemalloc_begin, peer_end),
    SUBJECT("tcmalloc", peer, tcmalloc_begin, peer_end),
    SUBJECT("the book's list", list, list_begin, list_end),
    SUBJECT("kolk", typed, typed_begin, typed_end),
    SUBJECT("kolk untyped", untyped, lifo_begin, untyped_end),
    SUBJECT("kolk without handles", typed, plain_begin, typed_end),
    SUBJECT("kolk FIFO", untyped, fifo_begin, untyped_end),
    SUBJECT("kolk LOWEST", untyped, lowest_begin, untyped_end),
    SUBJECT("kolk slot map", map, map_begin, map_end),
    SUBJECT("kolk shared pool", shared, shared_begin, shared_end),
    SUBJECT("kolk heap", heap, heap_begin, heap_end),
};
const size_t subject_count = sizeof subjects / sizeof *subjects;

const struct subject *subject_named(const char *who) {
    size_t n = 0;
    while (strcmp(subjects[n].who, who) != 0) n++;
    return &subjects[n];
}

bool stand_begin(struct stand *stand, const struct subject *subject, uint32_t count) {
    *stand = (struct stand){.places = calloc(count, sizeof *stand->places), .count = count};
    stand->random = UINT64_C(0x9e3779b97f4a7c15);
    if (stand->places && subject->begin(stand)) return true;
    if (!stand->problem) stand->problem = "there is no memory";
    free(stand->places);
    return false;
}

void stand_end(struct stand *stand, const struct subject *subject) {
    subject->end(stand);
    free(stand->places);
}
