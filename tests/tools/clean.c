/* A program that uses every function of kolk, in which tools must find no mistake. It branches on every value that it
 * gets, so that MemorySanitizer and memcheck report each value that they take for uninitialised. */
#include <kolk/kolk.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPACITY 150u /* enough for more than two groups */
#define MANY     8u

/* Leaves uninitialised bytes where the next function puts its variables: MemorySanitizer does not see the library's
 * writes, so the library must declare its results initialised. */
static __attribute__((noinline)) void soil_stack(void) {
    char bytes[4096];
    __asm__ volatile("" : : "r"(bytes) : "memory");
}

static void require(bool ok, const char *what, int line) {
    soil_stack();
    if (ok) return;
    fprintf(stderr, "clean.c:%d: not so: %s\n", line, what);
    abort();
}
#define REQUIRE(what) require((what), #what, __LINE__)

/* ---- The failure handler reads all of a failure ------------------------------------------------------------------ */

static struct {
    unsigned count;
    kolk_status rule;
    jmp_buf *way_out;
} failures;

static void note(const kolk_failure *failure, void *context) {
    REQUIRE(context == &failures);
    failures.count++;
    failures.rule = failure->rule;
    REQUIRE(strncmp(failure->sentence, "kolk: ", 6) == 0 && strlen(failure->sentence) < 1024);
    REQUIRE(*failure->pool == 0 || strstr(failure->sentence, failure->pool));
    REQUIRE(failure->slot <= CAPACITY || failure->slot == UINT32_MAX);
    REQUIRE(failure->object || failure->slot == UINT32_MAX || failure->rule == KOLK_LEAK);
    REQUIRE(failure->rule != KOLK_WRONG_POOL || !kolk_handle_is_null(failure->handle));
    REQUIRE(failure->offset == 0 && (failure->count == 0 || failure->rule == KOLK_LEAK));
    char text[200];
    const void *sites[] = {failure->site, failure->alloc_site, failure->free_site};
    for (size_t i = 0; i < 3; i++)
        REQUIRE(!sites[i] || strlen(kolk_site_text(sites[i], false, text, sizeof text)) < sizeof text);
    if (failures.way_out) longjmp(*failures.way_out, 1);
}

static void expect(kolk_status rule) {
    REQUIRE(failures.count == 1);
    REQUIRE(failures.rule == rule);
    failures.count = 0;
}

/* Mistakes that are reported in debug mode only. */
static void allow(kolk_status rule) {
    if (failures.count) expect(rule);
}

/* ---- Every kind of pool of objects of one type ------------------------------------------------------------------- */

typedef struct thing {
    struct thing *friend;
    uint32_t number;
    char name[12];
} thing;

KOLK_POOL_TYPE(things, thing)

static bool is_as_made(const thing *object, uint32_t number) {
    return object->number == number && strcmp(object->name, "thing") == 0;
}

static thing *make(things *pool, uint32_t number) {
    thing *object = things_alloc(pool);
    if (object) *object = (thing){.friend = object, .number = number, .name = "thing"};
    return object;
}

static void check_stats(const things *pool) {
    kolk_stats stats;
    things_stats(pool, &stats);
    REQUIRE(strcmp(stats.kind, "pool") == 0 && (*stats.name == 0 || strcmp(stats.name, "things") == 0));
    REQUIRE(stats.object_size == sizeof(thing) && stats.stride >= sizeof(thing));
    REQUIRE(stats.count == things_count(pool) && stats.count <= stats.peak);
    REQUIRE(stats.peak <= stats.capacity && stats.capacity <= stats.max_capacity);
    REQUIRE(stats.unused_bytes == (stats.capacity - stats.peak) * stats.stride);
    REQUIRE(stats.bytes_committed <= stats.bytes_reserved);
    REQUIRE(stats.failed <= 2 && stats.evictions == 0 && stats.wrong_pool <= 1);
    REQUIRE(stats.worn_out == 0 && stats.recycled == 0 && stats.debug < 2 * KOLK_DEBUG_BYPASS);
}

/* Allocates as many objects as possible, and passes each to several functions. */
static void fill(things *pool, thing **objects, bool handles) {
    for (uint32_t i = 0; i < CAPACITY; i++) {
        thing *object = objects[i] = make(pool, i);
        REQUIRE(object && things_is_live(pool, object));
        REQUIRE(things_at(pool, things_index(pool, object)) == object);
        if (handles) REQUIRE(things_get(pool, things_handle_of(pool, object)) == object);
    }
    REQUIRE(!make(pool, CAPACITY));
    REQUIRE(things_count(pool) == CAPACITY && things_available(pool) == 0);
}

static void visit(const things *pool, uint32_t expected) {
    uint32_t by_each = 0, by_cursor = 0, by_runs = 0;
    KOLK_EACH(things, each, pool) {
        REQUIRE(is_as_made(each, each->number) && each->friend == each);
        by_each++;
    }
    kolk_cursor cursor = kolk_pool_each(&pool->pool);
    for (thing *each; (each = kolk_cursor_next(&cursor)) != NULL; by_cursor++) REQUIRE(is_as_made(each, each->number));
    cursor = kolk_pool_each_in(&pool->pool, 0, CAPACITY);
    uint32_t n;
    for (thing *run; (run = kolk_cursor_next_run(&cursor, &n)) != NULL;)
        for (uint32_t i = 0; i < n; i++, by_runs++) REQUIRE(is_as_made(&run[i], run[i].number));
    REQUIRE(by_each == expected && by_cursor == expected && by_runs == expected);
}

static void use_handles(things *pool) {
    thing *object = make(pool, 1);
    things_handle handle = things_handle_of(pool, object);
    uint64_t bits = kolk_handle_pack(handle.untyped);
    REQUIRE(kolk_handle_equal(kolk_handle_unpack(bits), handle.untyped) && !kolk_handle_is_null(handle.untyped));
    REQUIRE(things_free_handle(pool, handle) && !things_free_handle(pool, handle));
    REQUIRE(!things_get(pool, handle) && !things_is_live(pool, object));
    object = things_alloc_at(pool, handle);
    REQUIRE(object && things_get(pool, handle) == object && !things_alloc_at(pool, handle));
    thing *next = things_renew(pool, object);
    REQUIRE(next && !things_get(pool, handle) && things_is_live(pool, next));
    things_free(pool, next);
    things_handle beyond = {{UINT64_C(5) << 32 | ((CAPACITY - 1) ^ pool->pool.tag)}};
    object = things_alloc_at(pool, beyond); /* makes all slots up to it available */
    REQUIRE(object && things_index(pool, object) == CAPACITY - 1);
    REQUIRE(things_free_at(pool, CAPACITY - 1) && !things_free_at(pool, CAPACITY - 1));
    object = things_alloc_at_index(pool, CAPACITY - 1);
    REQUIRE(object && things_index(pool, object) == CAPACITY - 1 && !things_get(pool, beyond));
    REQUIRE(things_can_alloc(pool, 1) && !things_can_alloc(pool, CAPACITY));
    things_free(pool, object);
}

static void use_many(things *pool) {
    thing *objects[MANY], *zeroed = things_alloc_zeroed(pool);
    REQUIRE(zeroed && !zeroed->friend && zeroed->number == 0);
    for (size_t i = 0; i < sizeof zeroed->name; i++) REQUIRE(zeroed->name[i] == 0);
    REQUIRE(things_alloc_n(pool, objects, MANY) == MANY);
    for (size_t i = 0; i < MANY; i++) {
        REQUIRE(objects[i]);
        objects[i]->number = 1;
    }
    things_free_n(pool, objects, MANY / 2);
    REQUIRE(things_count(pool) == MANY - MANY / 2 + 1);
    if (pool->pool.reuse == KOLK_REUSE_LOWEST) {
        thing *run = things_alloc_run(pool, 1); /* under these tools, only a run of one has room */
        REQUIRE(run && things_is_live(pool, run));
        *run = (thing){.number = 2};
        things_free(pool, run);
    }
    things_clear(pool);
    REQUIRE(things_count(pool) == 0);
}

static void use_things(const kolk_pool_desc *desc) {
    static thing *objects[CAPACITY];
    things pool;
    bool handles = desc->generations != KOLK_GENERATIONS_NONE;
    REQUIRE(things_init(&pool, desc) == KOLK_OK);
    use_many(&pool);
    if (handles) use_handles(&pool);
    REQUIRE(things_reserve(&pool, CAPACITY) == KOLK_OK && things_reserve(&pool, CAPACITY + 1) == KOLK_ABOVE_MAX);
    fill(&pool, objects, handles);
    visit(&pool, CAPACITY);
    for (uint32_t i = 0; i < CAPACITY; i += 3) things_free(&pool, objects[i]);
    things_free(&pool, NULL);
    visit(&pool, CAPACITY - CAPACITY / 3);
    REQUIRE(things_is_valid(&pool));
    REQUIRE(things_trim(&pool) < 100000);
    for (uint32_t i = 0; i < CAPACITY; i += 3) REQUIRE(make(&pool, i));
    KOLK_EACH(things, each, &pool)
        if (each->number % 2) things_free(&pool, each);
    visit(&pool, CAPACITY / 2);
    check_stats(&pool);
    REQUIRE(things_is_valid(&pool) && failures.count == 0);
    things_clear(&pool);
    things_deinit(&pool);
}

static void use_all_kinds(void) {
    static KOLK_POOL_STORAGE(thing, CAPACITY) storage;
    for (unsigned kind = 0; kind < 36; kind++) {
        kolk_pool_desc desc = {.name = kind % 2 ? "things" : NULL, .capacity = CAPACITY};
        desc.reuse = (kolk_reuse)(kind % 3);
        desc.generations = (kolk_generations)(kind / 3 % 3);
        void *block = NULL;
        if (kind / 9 == 1) { /* uninitialised memory of the program's */
            desc.memory_size = kolk_pool_memory_size(&(kolk_pool_desc){.object_size = sizeof(thing),
                                                                       .capacity = CAPACITY,
                                                                       .reuse = desc.reuse,
                                                                       .generations = desc.generations});
            REQUIRE(desc.memory_size <= KOLK_POOL_BYTES(sizeof(thing), 8, CAPACITY));
            desc.memory = block = malloc(desc.memory_size);
        } else if (kind / 9 == 2) {
            desc.memory = &storage;
            desc.memory_size = sizeof storage;
        } else if (kind / 9 == 3) {
            desc.capacity = 0;
            desc.max_capacity = CAPACITY;
        }
        use_things(&desc);
        free(block);
    }
}

/* ---- Growth in steps, alignment, untyped ------------------------------------------------------------------------- */

static void use_growth(void) {
    kolk_pool pool;
    kolk_pool_desc desc = {.object_size = 4096, .object_align = 4096, .max_capacity = 100};
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    for (int i = 0; i < 100; i++) {
        char *object = kolk_pool_alloc(&pool);
        REQUIRE(object && (uintptr_t)object % 4096 == 0);
        memset(object, i, 4096);
    }
    uint32_t sum = 0;
    kolk_cursor cursor = kolk_pool_each(&pool);
    for (char *each; (each = kolk_cursor_next(&cursor));) {
        sum += (unsigned char)each[4095];
        if (*each % 2) kolk_pool_free(&pool, each);
    }
    REQUIRE(sum == 99 * 100 / 2 && kolk_pool_trim(&pool) < 1000000 && kolk_pool_count(&pool) == 50);
    kolk_pool_clear(&pool);
    kolk_pool_deinit(&pool);
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

typedef struct voice {
    char *buffer;
    double loudness;
    int uses;
} voice;

KOLK_POOL_TYPE(voices, voice)

static struct calls { unsigned setups, resets, teardowns, costs, fulls; } calls;

static bool set_up(void *object, void *context) {
    REQUIRE(context == &calls);
    voice *self = object;
    if (calls.setups == 3) return calls.setups++, false; /* fails once */
    *self = (voice){.buffer = malloc(16), .loudness = 0};
    memcpy(self->buffer, "silence", sizeof "silence");
    calls.setups++;
    return true;
}

static void reset(void *object, void *context) {
    REQUIRE(context == &calls && strcmp(((voice *)object)->buffer, "silence") == 0);
    calls.resets++;
}

static void tear_down(void *object, void *context) {
    REQUIRE(context == &calls);
    free(((voice *)object)->buffer);
    calls.teardowns++;
}

static double cost(const void *object, void *context) {
    REQUIRE(context == &calls);
    calls.costs++;
    return ((const voice *)object)->loudness;
}

static bool make_room(kolk_pool *pool, size_t bytes, void *context) {
    REQUIRE(context == &calls && kolk_pool_count(pool) == pool->capacity);
    calls.fulls++;
    return kolk_pool_evict_cheapest(pool, bytes, context);
}

static void use_hooks(kolk_reuse reuse) {
    kolk_pool_desc desc = {.name = "voices", .capacity = 8, .reuse = reuse, .life.setup = set_up, .life.reset = reset};
    desc.life.teardown = tear_down;
    desc.full.cost = cost;
    desc.full.on_full = make_room;
    desc.context = &calls;
    memset(&calls, 0, sizeof calls);
    voices pool;
    REQUIRE(voices_init(&pool, &desc) == KOLK_OK);
    for (int i = 0; i < 12; i++) {
        voice *self = voices_alloc(&pool);
        if (i == 3) {
            REQUIRE(!self);
            continue;
        }
        REQUIRE(self && strcmp(self->buffer, "silence") == 0);
        self->loudness = i;
        self->uses++;
    }
    REQUIRE(calls.fulls == 3 && calls.costs == 24 && calls.setups == 9);
    kolk_stats stats;
    voices_stats(&pool, &stats);
    REQUIRE(stats.evictions == 3 && stats.failed == 1);
    REQUIRE(voices_trim(&pool) == 0);
    voices_clear(&pool);
    REQUIRE(calls.resets == 11);
    REQUIRE(voices_alloc(&pool)->uses >= 1); /* what setup and users wrote is kept */
    voices_deinit(&pool);
    allow(KOLK_LEAK);
    REQUIRE(calls.resets == 12 && calls.teardowns == 8);
}

/* Ways to make room in a full pool, and the order of births. */
static void evicted(void *object, void *context) {
    REQUIRE(((voice *)object)->uses == 1 && context == &calls);
    calls.resets++;
}

static void use_a_full_pool(kolk_reuse reuse) {
    voices spare, pool;
    memset(&calls, 0, sizeof calls);
    kolk_pool_desc desc = {.name = "spare voices", .capacity = 2, .reuse = reuse};
    REQUIRE(voices_init(&spare, &desc) == KOLK_OK);
    desc = (kolk_pool_desc){.name = "old voices", .capacity = 8, .reuse = reuse, .ages = true, .full.headroom = 1};
    desc.full.on_evict = evicted;
    desc.full.on_full = kolk_pool_evict_oldest;
    desc.full.cost = cost;
    desc.full.ranked = true;
    desc.full.overflow = &spare.pool;
    desc.context = &calls;
    REQUIRE(voices_init(&pool, &desc) == KOLK_OK);
    for (int i = 0; i < 12; i++) { /* the last three are evictions of 1, 2 and 3 */
        voice *self = voices_alloc(&pool);
        REQUIRE(self && voices_is_live(&pool, self));
        self->loudness = i;
        self->uses = 1;
        if (i == 0) voices_protect(&pool, self, true);
        if (i == 1) voices_touch(&pool, voices_oldest(&pool));
    }
    REQUIRE(calls.resets == 3 && voices_count(&spare) == 2);
    voice *urgent = voices_alloc_urgent(&pool);
    REQUIRE(urgent && voices_newest(&pool) == urgent && voices_older(&pool, urgent)->loudness == 11);
    urgent->loudness = 100;
    urgent->uses = 1;
    REQUIRE(!voices_alloc_over(&pool, -1) && voices_alloc_over(&pool, 50)); /* in place of the fourth object */
    voices_recost(&pool, voices_oldest(&pool));
    voices_recost(&pool, NULL);
    int walked = 0;
    for (voice *each = voices_oldest(&pool); each; each = voices_newer(&pool, each)) walked++;
    KOLK_EACH_OLDEST(voices, each, &pool) walked--;
    REQUIRE(walked == 0);
    kolk_age_cursor by_age = kolk_pool_each_oldest(&pool.pool);
    while (kolk_age_cursor_next(&by_age)) walked++;
    REQUIRE(walked == 7 && voices_is_valid(&pool)); /* and one more is protected */
    voices_protect(&pool, voices_at(&pool, 0), false);
    for (voice *each; (each = voices_oldest(&pool));) voices_free(&pool, each);
    KOLK_EACH(voices, each, &spare) voices_free(&pool, each);
    REQUIRE(voices_tick(&pool, 64) == 0 && voices_count(&spare) == 0);
    voices_deinit(&pool);
    voices_deinit(&spare);
}

static void use_keep(void) {
    kolk_pool pool;
    REQUIRE(kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = sizeof(int), .capacity = 1, .life.keep = true}) ==
            KOLK_OK);
    int *first = kolk_pool_alloc(&pool);
    *first = 17;
    kolk_pool_free(&pool, first);
    REQUIRE(kolk_pool_alloc(&pool) == first && *first == 17);
    kolk_pool_deinit(&pool);
    allow(KOLK_LEAK);
}

/* ---- Objects of an incomplete type, and of several types --------------------------------------------------------- */

typedef struct hidden hidden;
KOLK_POOL_DECLARE(hiddens, hidden)
struct hidden {
    int value;
};
KOLK_POOL_DEFINE(hiddens, hidden)

typedef union shape {
    struct circle {
        double radius;
    } circle;
    struct square {
        float side;
    } square;
} shape;
KOLK_POOL_TYPE(shapes, shape)
KOLK_POOL_MEMBER(shapes, struct circle, circle)
KOLK_POOL_MEMBER(shapes, struct square, square)

static void use_types(void) {
    hiddens hidden_ones;
    REQUIRE(hiddens_init(&hidden_ones, &(kolk_pool_desc){.capacity = 1}) == KOLK_OK);
    hidden *only = hiddens_alloc(&hidden_ones);
    only->value = 3;
    REQUIRE(hiddens_get(&hidden_ones, hiddens_handle_of(&hidden_ones, only))->value == 3);
    hiddens_free(&hidden_ones, only);
    hiddens_deinit(&hidden_ones);

    shapes pool;
    REQUIRE(shapes_init(&pool, &(kolk_pool_desc){.capacity = 2}) == KOLK_OK);
    struct circle *circle = shapes_alloc_circle(&pool);
    struct square *square = shapes_alloc_square(&pool);
    circle->radius = square->side = 1;
    REQUIRE(circle->radius + (double)square->side > 1);
    shapes_free_circle(&pool, circle);
    shapes_free_square(&pool, square);
    shapes_deinit(&pool);
}

/* ---- Mistakes that the pool itself reports ----------------------------------------------------------------------- */

static void make_mistakes(void) {
    kolk_pool_desc desc = {.name = "mistakes", .object_size = 32, .capacity = 2, .tag = 1};
    kolk_pool pool, other;
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    desc.tag = 2;
    desc.name = "others";
    desc.full.on_full = kolk_pool_trap_full;
    REQUIRE(kolk_pool_init(&other, &desc) == KOLK_OK);

    char *object = memset(kolk_pool_alloc(&pool), 0, 32);
    kolk_pool_free(&pool, object + 1);
    expect(KOLK_INTERIOR_POINTER);
    kolk_pool_free(&other, object);
    expect(KOLK_FOREIGN_POINTER);
    REQUIRE(!kolk_pool_is_live(&other, object));
    REQUIRE(!kolk_pool_get(&other, kolk_pool_handle_of(&pool, object)));
    allow(KOLK_WRONG_POOL);
    kolk_pool_free(&pool, object);
    kolk_pool_free(&pool, object);
    expect(KOLK_DOUBLE_FREE);
    REQUIRE(kolk_handle_is_null(kolk_pool_handle_of(&pool, object)));
    expect(KOLK_DEAD_OBJECT);
    REQUIRE(kolk_pool_index(&pool, object) == UINT32_MAX && !kolk_pool_at(&pool, 0));
    expect(KOLK_DEAD_OBJECT);

    void *all[2];
    REQUIRE(kolk_pool_alloc_n(&other, all, 2) == 2 && !kolk_pool_alloc(&other));
    expect(KOLK_FULL);
    jmp_buf way_out;
    failures.way_out = &way_out;
    if (setjmp(way_out) == 0) {
        REQUIRE(!kolk_pool_alloc(&other));
        REQUIRE(false);
    }
    failures.way_out = NULL;
    expect(KOLK_FULL);
    REQUIRE(kolk_pool_is_valid(&other) && kolk_pool_is_valid(&pool));
    kolk_pool_deinit(&pool);
    kolk_pool_deinit(&other);
    allow(KOLK_LEAK);
}

static void make_settings_mistake(void) {
    kolk_pool pool;
    REQUIRE(kolk_pool_init(&pool, &(kolk_pool_desc){.object_size = 8, .capacity = 1, .debug = "nonsense"}) == KOLK_OK);
    allow(KOLK_BAD_SETTING);
    kolk_pool_deinit(&pool);
    REQUIRE(kolk_pool_init(&pool, NULL) == KOLK_NO_DESCRIPTOR);
    REQUIRE(*kolk_status_text(KOLK_NO_DESCRIPTOR));
    REQUIRE(!kolk_pool_alloc(&pool)); /* all zero: a valid pool of capacity 0 */
}

/* ---- Seen from outside ------------------------------------------------------------------------------------------- */

static uint64_t profiled;

static void told_of_alloc(const char *pool, const void *object, size_t size, void *context) {
    REQUIRE(strcmp(pool, "profiled") == 0 && object && size == 48 && context == &profiled);
    profiled++;
}

static void told_of_free(const char *pool, const void *object, void *context) {
    REQUIRE(strcmp(pool, "profiled") == 0 && object && context == &profiled);
    profiled++;
}

static void put(const char *text, size_t length, void *context) {
    size_t *lines = context;
    for (size_t i = 0; i < length; i++) *lines += text[i] == '\n';
}

static void use_the_rest(void) {
    kolk_pool pool;
    kolk_set_profiler(&(kolk_profiler){told_of_alloc, told_of_free, &profiled});
    kolk_pool_desc desc = {.name = "profiled", .object_size = 48, .capacity = 4};
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    kolk_set_profiler(NULL);
    kolk_pool_free(&pool, kolk_pool_alloc(&pool));
    REQUIRE(profiled == 2);
    for (int format = KOLK_STATS_TEXT; format <= KOLK_STATS_PROMETHEUS; format++) {
        size_t lines = 0;
        kolk_stats_write((kolk_stats_format)format, put, &lines);
        REQUIRE(lines > 0);
    }
    size_t lines = 0;
    REQUIRE(kolk_stats_now() == (getenv("KOLK_STATS") != NULL));
    REQUIRE(!kolk_stats_write_of(getpid(), KOLK_STATS_TEXT, put, &lines) && lines > 1);
    kolk_pool_deinit(&pool);
    kolk_deadline soon = kolk_deadline_after(1000);
    REQUIRE(soon.ns > KOLK_NOW.ns && soon.ns < KOLK_FOREVER.ns);
    REQUIRE(kolk_features() & KOLK_HAS_PAGES);
    REQUIRE(kolk_size_of("kolk_pool") == sizeof(kolk_pool) && kolk_align_of("kolk_pool") == _Alignof(kolk_pool));
    REQUIRE(kolk_size_of("kolk_pools") == 0);
    char text[100];
    const void *somewhere = (const void *)((uintptr_t)use_the_rest + 1), *nowhere = (const void *)16;
    REQUIRE(strstr(kolk_site_text(somewhere, true, text, sizeof text), "use_the_rest+0x1"));
    REQUIRE(strcmp(kolk_site_text(nowhere, true, text, sizeof text), "0x10") == 0);
    const void *stack[] = {somewhere, nowhere, NULL};
    REQUIRE(kolk_stack_text(stack, 1, false, text, sizeof text) == 1 && strstr(text, "use_the_rest+0x1"));
}

/* Saves the pool into a block and loads it again, with a scene in between. */
static void copy_saved(void *object, const void *saved, size_t saved_size, void *context) {
    REQUIRE(context == &calls);
    memcpy(object, saved, saved_size);
}

static void use_pins(void) {
    kolk_pool pool;
    kolk_pool_desc desc = {.name = "pinned", .object_size = sizeof(int), .capacity = 10, .pins = true};
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    int *object = kolk_pool_alloc_in(&pool, 5, 3);
    REQUIRE(object && kolk_pool_index(&pool, object) == 5);
    *object = 17;
    kolk_pool_pin(&pool, object);
    kolk_pool_free(&pool, object);
    REQUIRE(*object == 17 && !kolk_pool_is_live(&pool, object));
    kolk_pool_unpin(&pool, object);
    REQUIRE(kolk_pool_count(&pool) == 0);
    kolk_pool_deinit(&pool);
}

static void use_snapshots(void) {
    kolk_pool pool;
    kolk_pool_desc desc = {.name = "saved", .object_size = sizeof(int), .capacity = 10, .ages = true};
    REQUIRE(kolk_pool_init(&pool, &desc) == KOLK_OK);
    int *first = kolk_pool_alloc(&pool);
    *first = 17;
    kolk_handle handle = kolk_pool_handle_of(&pool, first);
    size_t size = kolk_pool_snapshot_size(&pool);
    unsigned char *block = malloc(size);
    REQUIRE(block && kolk_pool_snapshot(&pool, block, size) == size);
    kolk_scene("boss fight");
    kolk_pool_free(&pool, first);
    REQUIRE(!kolk_pool_get(&pool, handle));
    kolk_scene(NULL);
    REQUIRE(kolk_pool_restore(&pool, block, size) == KOLK_OK);
    REQUIRE(kolk_pool_rebind(&pool, &(kolk_pool_desc){.name = "renamed"}) == KOLK_OK);
    REQUIRE(kolk_pool_restore_converted(&pool, block, size, copy_saved, &calls) == KOLK_OK);
    REQUIRE(*(int *)kolk_pool_get(&pool, handle) == 17);
    block[size / 2] ^= 1;
    REQUIRE(kolk_pool_restore(&pool, block, size) != KOLK_OK);
    free(block);
    kolk_pool_free(&pool, kolk_pool_get(&pool, handle));
    kolk_pool_deinit(&pool);
}

/* The same for a slot map whose objects have padding. */
static void use_snapshots_of_a_map(void) {
    struct padded {
        char letter;
        int number;
    };
    kolk_slotmap map;
    kolk_slotmap_desc desc = {.name = "saved", .object_size = sizeof(struct padded), .max_capacity = 10};
    REQUIRE(kolk_slotmap_init(&map, &desc) == KOLK_OK);
    kolk_handle handle;
    struct padded *first = kolk_slotmap_add(&map, &handle);
    first->letter = 'a';
    first->number = 17;
    size_t size = kolk_slotmap_snapshot_size(&map);
    unsigned char *block = malloc(size);
    REQUIRE(block && kolk_slotmap_snapshot(&map, block, size) == size);
    REQUIRE(kolk_slotmap_remove(&map, handle));
    REQUIRE(kolk_slotmap_restore(&map, block, size) == KOLK_OK);
    first = kolk_slotmap_get(&map, handle);
    REQUIRE(first && first->letter == 'a' && first->number == 17);
    block[size / 2] ^= 1;
    REQUIRE(kolk_slotmap_restore(&map, block, size) != KOLK_OK);
    free(block);
    kolk_slotmap_clear(&map);
    kolk_slotmap_deinit(&map);
}

int main(void) {
    kolk_set_failure_handler(note, &failures);
    use_all_kinds();
    use_growth();
    for (int reuse = KOLK_REUSE_LIFO; reuse <= KOLK_REUSE_LOWEST; reuse++) {
        use_hooks((kolk_reuse)reuse);
        use_a_full_pool((kolk_reuse)reuse);
    }
    make_mistakes();
    use_keep();
    use_pins();
    use_snapshots();
    use_snapshots_of_a_map();
    use_types();
    make_settings_mistake();
    use_the_rest();
    REQUIRE(failures.count == 0);
    kolk_set_failure_handler(NULL, NULL);
    return 0;
}
