/* The kinds of programs in docs/adopt.md, each as it is and as it becomes. Both do the same work, and must have the
 * same result. `adopt times` does twenty times the work, and prints how long each takes: the least of nine runs. */
#include "kolk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint32_t seed, scale = 1;

static uint32_t random_below(uint32_t n) {
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* ---- A free list in an array: 512 effects, of which the oldest goes when all are in use -------------------------- */

enum { EFFECTS = 512, FRAMES = 200 };

struct effect {
    struct effect *previous, *next; /* in the program as it is */
    float position[3];
    int end_time;
};
KOLK_POOL_TYPE(effects, struct effect)

static struct effect entities[EFFECTS], active, *unused;

static void end_effect(struct effect *effect) {
    effect->previous->next = effect->next;
    effect->next->previous = effect->previous;
    effect->next = unused;
    unused = effect;
}

static struct effect *begin_effect(void) {
    if (!unused) end_effect(active.previous);
    struct effect *effect = unused;
    unused = effect->next;
    effect->next = active.next;
    effect->previous = &active;
    active.next->previous = effect;
    active.next = effect;
    return effect;
}

static uint32_t effects_before(void) {
    uint32_t sum = 0;
    active.next = active.previous = &active;
    for (int n = 0; n < EFFECTS; n++) entities[n].next = n + 1 < EFFECTS ? &entities[n + 1] : NULL;
    unused = entities;
    for (int now = 0; now < FRAMES * (int)scale; now++) {
        for (uint32_t n = random_below(40); n > 0; n--) begin_effect()->end_time = now + 5 + (int)random_below(40);
        struct effect *next;
        for (struct effect *each = active.previous; each != &active; each = next) {
            next = each->previous;
            sum = sum * 31 + (uint32_t)each->end_time;
            if (each->end_time < now) end_effect(each);
        }
    }
    return sum;
}

static uint32_t effects_after(void) {
    uint32_t sum = 0;
    effects pool;
    kolk_pool_desc desc = {.capacity = EFFECTS, .ages = true, .full.on_full = kolk_pool_evict_oldest};
    if (effects_init(&pool, &desc) != KOLK_OK) return 0;
    for (int now = 0; now < FRAMES * (int)scale; now++) {
        for (uint32_t n = random_below(40); n > 0; n--)
            effects_alloc(&pool)->end_time = now + 5 + (int)random_below(40);
        KOLK_EACH_OLDEST(effects, each, &pool) {
            sum = sum * 31 + (uint32_t)each->end_time;
            if (each->end_time < now) effects_free(&pool, each);
        }
    }
    effects_clear(&pool);
    effects_deinit(&pool);
    return sum;
}

/* ---- A zone: blocks in a ring, the next free one that is large enough; neighbours are joined --------------------- */

enum { ZONE = 1 << 21, MOBJS = 2000, STEPS = 50000 };

typedef struct zone_block {
    struct zone_block *previous, *next;
    size_t size;
    bool is_used;
} zone_block;

static union {
    zone_block first;
    max_align_t alignment;
    char bytes[ZONE];
} zone;
static zone_block *rover;

static void zone_clear(void) {
    zone.first = (zone_block){&zone.first, &zone.first, ZONE, false};
    rover = &zone.first;
}

static void *zone_alloc(size_t size) {
    size = (size + sizeof(zone_block) + 15) / 16 * 16;
    const zone_block *begin = rover;
    while (rover->is_used || rover->size < size)
        if ((rover = rover->next) == begin) return NULL;
    zone_block *found = rover;
    if (found->size - size > 64) {
        zone_block *rest = (zone_block *)(void *)((char *)found + size);
        *rest = (zone_block){found, found->next, found->size - size, false};
        found->next = rest->next->previous = rest;
        found->size = size;
    }
    found->is_used = true;
    rover = found->next;
    return found + 1;
}

static void zone_join(zone_block *left) {
    zone_block *right = left->next;
    if (left->is_used || right->is_used || right <= left) return;
    left->size += right->size;
    left->next = right->next;
    left->next->previous = left;
    if (rover == right) rover = left;
}

static void zone_free(void *memory) {
    zone_block *it = (zone_block *)memory - 1;
    it->is_used = false;
    zone_join(it);
    zone_join(it->previous);
}

struct mobj {
    int x, y, health;
    char rest[212];
};
KOLK_POOL_TYPE(mobjs, struct mobj)

/* The zone serves the names in both. */
static uint32_t play_level(mobjs *pool) {
    static struct mobj *all[MOBJS];
    static char *names[MOBJS];
    uint32_t sum = 0;
    memset(all, 0, sizeof all);
    memset(names, 0, sizeof names);
    zone_clear();
    for (uint32_t step = 0; step < STEPS * scale; step++) {
        uint32_t n = random_below(MOBJS);
        if (all[n]) {
            sum = sum * 31 + (uint32_t)all[n]->x;
            if (pool)
                mobjs_free(pool, all[n]);
            else
                zone_free(all[n]);
            if (names[n]) zone_free(names[n]);
            all[n] = NULL, names[n] = NULL;
            continue;
        }
        all[n] = pool ? mobjs_alloc(pool) : zone_alloc(sizeof **all);
        if (!all[n]) return 0;
        memset(all[n], 0, sizeof **all);
        all[n]->x = (int)step;
        if (step % 8 == 0) names[n] = zone_alloc(8 + random_below(100));
    }
    return sum;
}

static uint32_t zone_before(void) {
    return play_level(NULL);
}

static uint32_t zone_after(void) {
    mobjs pool;
    if (mobjs_init(&pool, &(kolk_pool_desc){.max_capacity = 1000000}) != KOLK_OK) return 0;
    uint32_t sum = play_level(&pool);
    mobjs_clear(&pool); /* the level ends */
    mobjs_deinit(&pool);
    return sum;
}

/* ---- A reallocate hook: blocks of all sizes, of which some grow -------------------------------------------------- */

enum { VALUES = 3000, TURNS = 100000 };

static void *from_malloc(void *block, size_t size, void *context) {
    (void)context;
    if (size > 0) return realloc(block, size);
    free(block);
    return NULL;
}

static void *from_heap(void *block, size_t size, void *heap) {
    if (size > 0) return kolk_heap_realloc(heap, block, size);
    kolk_heap_free(heap, block);
    return NULL;
}

static uint32_t interpret(void *(*reallocate)(void *block, size_t size, void *context), void *context) {
    static unsigned char *values[VALUES];
    uint32_t sum = 0;
    memset(values, 0, sizeof values);
    for (uint32_t turn = 0; turn < TURNS * scale; turn++) {
        unsigned char **value = &values[random_below(VALUES)];
        size_t size = random_below(4) == 0 ? 0 : 16 + random_below(random_below(16) == 0 ? 500 : 80);
        if (*value) sum = sum * 31 + **value;
        *value = size > 0 || *value ? reallocate(*value, size, context) : NULL;
        if (*value) **value = (unsigned char)turn;
    }
    for (int n = 0; n < VALUES; n++)
        if (values[n]) reallocate(values[n], 0, context);
    return sum;
}

static uint32_t hook_before(void) {
    return interpret(from_malloc, NULL);
}

static uint32_t hook_after(void) {
    kolk_heap heap;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "script"}) != KOLK_OK) return 0;
    uint32_t sum = interpret(from_heap, &heap);
    kolk_heap_deinit(&heap);
    return sum;
}

/* ---- A pool of ids: a stack of those that are free --------------------------------------------------------------- */

enum { BODIES = 5000, CHANGES = 50000 };

static uint32_t free_ids[BODIES], free_count, next_id;
static kolk_pool ids;

static uint32_t take_from_stack(void) {
    return free_count > 0 ? free_ids[--free_count] : next_id++;
}

static void give_to_stack(uint32_t id) {
    free_ids[free_count++] = id;
}

static uint32_t take_from_pool(void) {
    void *one = kolk_pool_alloc(&ids);
    return one ? kolk_pool_index(&ids, one) : UINT32_MAX;
}

static void give_to_pool(uint32_t id) {
    kolk_pool_free_at(&ids, id);
}

static uint32_t simulate(uint32_t (*take)(void), void (*give)(uint32_t id)) {
    static uint32_t bodies[BODIES];
    static bool exists[BODIES];
    uint32_t sum = 0;
    memset(exists, 0, sizeof exists);
    for (uint32_t step = 0; step < CHANGES * scale; step++) {
        uint32_t n = random_below(BODIES);
        if (exists[n])
            give(bodies[n]);
        else
            sum = sum * 31 + (bodies[n] = take());
        exists[n] = !exists[n];
    }
    return sum;
}

static uint32_t ids_before(void) {
    free_count = next_id = 0;
    return simulate(take_from_stack, give_to_stack);
}

static uint32_t ids_after(void) {
    kolk_pool_desc desc = {.name = "bodies", .object_size = 1, .max_capacity = 1000000};
    if (kolk_pool_init(&ids, &desc) != KOLK_OK) return 0;
    uint32_t sum = simulate(take_from_pool, give_to_pool);
    kolk_pool_clear(&ids);
    kolk_pool_deinit(&ids);
    return sum;
}

/* ---- An engine's entities: what aims at an entity that dies must forget it --------------------------------------- */

enum { ENTITIES = 1000, TICKS = 500 };

struct entity {
    uint32_t number;
    struct entity *target;     /* as it is: cleared by a loop over all entities whenever one dies */
    kolk_handle target_handle; /* as it becomes */
};
KOLK_POOL_TYPE(engine, struct entity)

static uint32_t run_engine(engine *pool) {
    static struct entity *all[ENTITIES];
    uint32_t sum = 0;
    for (uint32_t n = 0; n < ENTITIES; n++) {
        if (!(all[n] = pool ? engine_alloc_zeroed(pool) : calloc(1, sizeof **all))) return 0;
        all[n]->number = n;
    }
    for (uint32_t tick = 0; tick < TICKS * scale; tick++) {
        struct entity **dies = &all[random_below(ENTITIES)];
        if (pool) {
            engine_free(pool, *dies);
            *dies = engine_alloc_zeroed(pool);
        } else {
            for (uint32_t n = 0; n < ENTITIES; n++)
                if (all[n]->target == *dies) all[n]->target = NULL;
            free(*dies);
            *dies = calloc(1, sizeof **dies);
        }
        if (!*dies) return 0;
        (*dies)->number = ENTITIES + tick;
        for (uint32_t n = 0; n < 10; n++) {
            struct entity *it = all[random_below(ENTITIES)], *aim = all[random_below(ENTITIES)];
            const struct entity *target = pool ? kolk_pool_get(&pool->pool, it->target_handle) : it->target;
            sum = sum * 31 + (target ? target->number : 7);
            if (pool)
                it->target_handle = engine_handle_of(pool, aim).untyped;
            else
                it->target = aim;
        }
    }
    for (uint32_t n = 0; !pool && n < ENTITIES; n++) free(all[n]);
    return sum;
}

static uint32_t engine_before(void) {
    return run_engine(NULL);
}

static uint32_t engine_after(void) {
    engine pool;
    if (engine_init(&pool, &(kolk_pool_desc){.capacity = ENTITIES}) != KOLK_OK) return 0;
    uint32_t sum = run_engine(&pool);
    engine_clear(&pool);
    engine_deinit(&pool);
    return sum;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    uint32_t (*before)(void), (*after)(void);
} kinds[] = {
    {"a free list in an array", effects_before, effects_after},
    {"a zone", zone_before, zone_after},
    {"a reallocate hook", hook_before, hook_after},
    {"a pool of ids", ids_before, ids_after},
    {"an engine's entities", engine_before, engine_after},
};

static uint32_t run(uint32_t (*work)(void), double *least) {
    seed = 1;
    clock_t begin = clock();
    uint32_t sum = work();
    double took = (double)(clock() - begin) * 1000 / CLOCKS_PER_SEC;
    if (*least == 0 || took < *least) *least = took;
    return sum;
}

int main(int count, char **arguments) {
    bool times = count > 1 && strcmp(arguments[1], "times") == 0;
    if (times) scale = 20;
    for (size_t n = 0; n < sizeof kinds / sizeof *kinds; n++) {
        double before = 0, after = 0;
        bool same = true;
        for (int round = 0; round < (times ? 9 : 1); round++)
            same &= run(kinds[n].before, &before) == run(kinds[n].after, &after);
        printf("%s: %s", kinds[n].name, same ? "the same result" : "ANOTHER RESULT");
        if (times) printf(": %.1f ms, then %.1f ms", before, after);
        putchar('\n');
    }
    return 0;
}
