/* subjects.c: see subjects.h. Every subject is a pair of functions, take and give, which are compiled into loops of its
 * own, so that kolk's inline calls are inlined as in a program. */
#define _POSIX_C_SOURCE 200809L
#include "subjects.h"

#include "trials.h"

#include <kolk/kolk.h>

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "there is no memory";

/* ---- The loops --------------------------------------------------------------------------------------------------- */

typedef struct thing *take_function(void *from, struct thing **place);
typedef void give_function(void *from, struct thing **place);

INLINED struct thing *take_object(take_function *take, void *from, struct thing **place) {
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
    struct thing **places = stand->places;
    uint64_t count = stand->count, random = stand->random;
    for (; times > 0; times--) {
        struct thing **place = &places[draw_below(&random, count)];
        give(from, place);
        hide_memory();
        struct thing *object = take_object(take, from, place);
        if (write) write_object(object, random);
    }
    stand->random = random;
}

INLINED void run_burst(struct stand *stand, uint64_t times, take_function *take, give_function *give) {
    void *from = stand->from;
    struct thing *places[BURST] = {NULL};
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

#define DEFINE_LOOPS(id)                                                                                               \
    static void id##_fill(struct stand *stand) {                                                                       \
        run_fill(stand, id##_take);                                                                                    \
    }                                                                                                                  \
    static void id##_empty(struct stand *stand) {                                                                      \
        run_empty(stand, id##_give);                                                                                   \
    }                                                                                                                  \
    DEFINE_ALIGNED(id##_replace, run_replace(what, times, id##_take, id##_give, false))                                \
    DEFINE_ALIGNED(id##_write, run_replace(what, times, id##_take, id##_give, true))                                   \
    DEFINE_ALIGNED(id##_burst, run_burst(what, times, id##_take, id##_give))

/* A row of the table below. */
#define SUBJECT(name, id, type, begin_function, end_function)                                                          \
    {                                                                                                                  \
        .who = (name), .size = sizeof(type), .begin = (begin_function), .end = (end_function), .fill = id##_fill,      \
        .empty = id##_empty, .loops = {                                                                                \
            id##_replace,                                                                                              \
            id##_write,                                                                                                \
            id##_burst                                                                                                 \
        }                                                                                                              \
    }

/* ---- Without an allocator ---------------------------------------------------------------------------------------- */

/* Every place keeps the object that it has: the loop alone, and the memory that it touches. */
struct objects {
    struct thing *all;
};

static struct thing *loop_take(void *from, struct thing **place) {
    (void)from;
    return *place;
}

static void loop_give(void *from, struct thing **place) {
    (void)from, (void)place;
}

static const char *loop_begin(struct stand *stand) {
    struct objects *objects = stand->from;
    objects->all = calloc(stand->count, sizeof *objects->all);
    for (uint32_t n = 0; n < stand->count && objects->all; n++) stand->places[n] = &objects->all[n];
    return objects->all ? NULL : no_memory;
}

static void loop_end(void *from) {
    struct objects *objects = from;
    free(objects->all);
}

DEFINE_LOOPS(loop)

/* ---- Mallocs ----------------------------------------------------------------------------------------------------- */

static struct thing *malloc_take(void *from, struct thing **place) {
    (void)from;
    return *place = malloc(sizeof(struct thing));
}

static void malloc_give(void *from, struct thing **place) {
    (void)from;
    free(*place);
}

static const char *malloc_begin(struct stand *stand) {
    (void)stand;
    return NULL;
}

static void malloc_end(void *from) {
    (void)from;
}

DEFINE_LOOPS(malloc)

/* A malloc from a library. RTLD_LOCAL keeps it from becoming the malloc of the process. */
struct peer {
    void *(*alloc)(size_t size);
    void (*give)(void *object);
};

static struct thing *peer_take(void *from, struct thing **place) {
    const struct peer *peer = from;
    return *place = peer->alloc(sizeof(struct thing));
}

static void peer_give(void *from, struct thing **place) {
    const struct peer *peer = from;
    peer->give(*place);
}

static const char *load_peer(struct stand *stand, const char *library, const char *alloc, const char *give) {
    struct peer *peer = stand->from;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle) return dlerror();
    void *found[2] = {dlsym(handle, alloc), dlsym(handle, give)};
    memcpy(&peer->alloc, &found[0], sizeof found[0]); /* C has no cast from an object to a function */
    memcpy(&peer->give, &found[1], sizeof found[1]);
    return found[0] && found[1] ? NULL : dlerror();
}

static const char *mimalloc_begin(struct stand *stand) {
    return load_peer(stand, "libmimalloc.so.2", "mi_malloc", "mi_free");
}

static const char *jemalloc_begin(struct stand *stand) {
    return load_peer(stand, "libjemalloc.so.2", "malloc", "free");
}

static const char *tcmalloc_begin(struct stand *stand) {
    return load_peer(stand, "libtcmalloc_minimal.so.4", "tc_malloc", "tc_free");
}

static void peer_end(void *from) {
    (void)from; /* the library stays, as some cannot be unloaded */
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

static struct thing *list_take(void *from, struct thing **place) {
    struct list *list = from;
    union list_slot *slot = list->first;
    list->first = slot->next;
    return *place = &slot->live;
}

static void list_give(void *from, struct thing **place) {
    struct list *list = from;
    union list_slot *slot = (union list_slot *)*place;
    slot->next = list->first;
    list->first = slot;
}

static const char *list_begin(struct stand *stand) {
    size_t count = (size_t)stand->count + BURST;
    struct list *list = stand->from;
    list->first = list->slots = malloc(count * sizeof *list->slots);
    for (size_t n = 0; n < count && list->slots; n++) list->slots[n].next = n + 1 < count ? &list->slots[n + 1] : NULL;
    return list->slots ? NULL : no_memory;
}

static void list_end(void *from) {
    struct list *list = from;
    free(list->slots);
}

DEFINE_LOOPS(list)

/* ---- kolk -------------------------------------------------------------------------------------------------------- */

/* Twice as many slots as live objects, as a program that does not know its peak would have. */
static uint32_t slots_for(const struct stand *stand) {
    return 2 * stand->count + BURST;
}

static const char *problem_of(kolk_status status) {
    return status == KOLK_OK ? NULL : kolk_status_text(status);
}

KOLK_POOL_TYPE(things, struct thing)

static struct thing *typed_take(void *from, struct thing **place) {
    return *place = things_alloc(from);
}

static void typed_give(void *from, struct thing **place) {
    things_free(from, *place);
}

static const char *begin_typed(struct stand *stand, kolk_generations generations) {
    kolk_pool_desc desc = {.capacity = slots_for(stand), .generations = generations};
    return problem_of(things_init(stand->from, &desc));
}

static const char *typed_begin(struct stand *stand) {
    return begin_typed(stand, KOLK_GENERATIONS_RECYCLE);
}

static const char *plain_begin(struct stand *stand) {
    return begin_typed(stand, KOLK_GENERATIONS_NONE);
}

static void typed_end(void *from) {
    things_deinit(from);
}

DEFINE_LOOPS(typed)

static struct thing *untyped_take(void *from, struct thing **place) {
    return *place = kolk_pool_alloc(from);
}

static void untyped_give(void *from, struct thing **place) {
    kolk_pool_free(from, *place);
}

static const char *begin_untyped(struct stand *stand, kolk_reuse reuse) {
    kolk_pool_desc desc = {.object_size = sizeof(struct thing), .capacity = slots_for(stand), .reuse = reuse};
    return problem_of(kolk_pool_init(stand->from, &desc));
}

static const char *lifo_begin(struct stand *stand) {
    return begin_untyped(stand, KOLK_REUSE_LIFO);
}

static const char *fifo_begin(struct stand *stand) {
    return begin_untyped(stand, KOLK_REUSE_FIFO);
}

static const char *lowest_begin(struct stand *stand) {
    return begin_untyped(stand, KOLK_REUSE_LOWEST);
}

static void untyped_end(void *from) {
    kolk_pool_deinit(from);
}

DEFINE_LOOPS(untyped)

/* ---- The table --------------------------------------------------------------------------------------------------- */

const struct subject subjects[] = {
    [SUBJECT_LOOP] = SUBJECT("no allocator", loop, struct objects, loop_begin, loop_end),
    [SUBJECT_MALLOC] = SUBJECT("malloc", malloc, char, malloc_begin, malloc_end),
    SUBJECT("mimalloc", peer, struct peer, mimalloc_begin, peer_end),
    SUBJECT("jemalloc", peer, struct peer, jemalloc_begin, peer_end),
    SUBJECT("tcmalloc", peer, struct peer, tcmalloc_begin, peer_end),
    SUBJECT("the book's list", list, struct list, list_begin, list_end),
    SUBJECT("kolk", typed, things, typed_begin, typed_end),
    SUBJECT("kolk untyped", untyped, kolk_pool, lifo_begin, untyped_end),
    SUBJECT("kolk without handles", typed, things, plain_begin, typed_end),
    SUBJECT("kolk FIFO", untyped, kolk_pool, fifo_begin, untyped_end),
    SUBJECT("kolk LOWEST", untyped, kolk_pool, lowest_begin, untyped_end),
};
const size_t subject_count = sizeof subjects / sizeof *subjects;

static void free_stand(struct stand *stand) {
    free(stand->from);
    free(stand->places);
}

bool stand_begin(struct stand *stand, const struct subject *subject, uint32_t count) {
    *stand = (struct stand){.from = calloc(1, subject->size), .places = calloc(count, sizeof(struct thing *))};
    stand->count = count;
    stand->random = UINT64_C(0x9e3779b97f4a7c15);
    stand->problem = stand->from && stand->places ? subject->begin(stand) : no_memory;
    if (stand->problem) free_stand(stand);
    return !stand->problem;
}

void stand_end(struct stand *stand, const struct subject *subject) {
    subject->end(stand->from);
    free_stand(stand);
}
