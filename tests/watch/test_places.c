/* runs: processes not:wine */
/* The places where live objects were allocated, in the statistics of a running program: of each kind of pool, more than
 * can be listed, and while threads allocate. */
#include "../help/debug_test.h"

#include "../help/fakes.h"
#include "../help/threads.h"

#include <kolk/kolk.h>

#define NOINLINE __attribute__((noinline))

static char written[100000];

static void append(const char *piece, size_t length, void *used) {
    size_t *at = (size_t *)used;
    assert_true(*at + length < sizeof written);
    memcpy(written + *at, piece, length);
    written[ *at += length] = 0;
}

static const char *write_in(kolk_stats_format format) {
    size_t used = 0;
    written[0] = 0;
    kolk_stats_write(format, append, &used);
    return written;
}

/* Returns the number of live objects that the JSON in `written` lists for this function; 0 if it is not listed. */
static unsigned written_by(const char *function) {
    char by[100];
    snprintf(by, sizeof by, ", \"by\": \"%s+", function);
    const char *at = strstr(written, by);
    if (!at) return 0;
    while (at > written && at[-1] != ' ') at--;
    return (unsigned)strtoul(at, NULL, 10);
}

static unsigned alive_by(const char *function) {
    write_in(KOLK_STATS_JSON);
    return written_by(function);
}

/* The objects elsewhere come last. */
static unsigned written_elsewhere(void) {
    const char *at = strstr(written, "}]}");
    while (at && at > written && at[-1] != ' ') at--;
    return at ? (unsigned)strtoul(at, NULL, 10) : 0;
}

/* ---- One pool ---------------------------------------------------------------------------------------------------- */

/* The empty statement after a call keeps it from becoming a jump. */
#define MAKE(name)                                                                                                     \
    static NOINLINE void *name(kolk_pool *pool) {                                                                      \
        void *object = kolk_pool_alloc(pool);                                                                          \
        __asm__ volatile("");                                                                                          \
        return object;                                                                                                 \
    }

MAKE(login)
MAKE(guest)

/* promise: base.h "it lists where the live objects were allocated", "with `sites`, also" */
static void test_a_pool(void **state) {
    kolk_pool pool;
    void *objects[8];
    make_pool(&pool, &(kolk_pool_desc){.name = "sessions", .object_size = 16, .capacity = 8, .debug = "sites=1"});
    assert_null(strstr(write_in(KOLK_STATS_JSON), "places"));
    assert_null(strstr(write_in(KOLK_STATS_TEXT), "alive:"));
    for (int i = 0; i < 8; i++) objects[i] = i % 3 ? login(&pool) : guest(&pool);
    assert_int_equal(alive_by("login"), 5);
    assert_int_equal(alive_by("guest"), 3);
    assert_non_null(strstr(write_in(KOLK_STATS_JSON), "\"places\": [{\"alive\": 5, \"by\": \"login+"));
    assert_non_null(strstr(written, "(test_places.c:"));
    assert_non_null(strstr(write_in(KOLK_STATS_TEXT), "\nsessions, alive:\n         5 by login+"));
    assert_non_null(strstr(written, ")\n         3 by guest+"));
    assert_null(strstr(written, "elsewhere"));
    assert_null(strstr(write_in(KOLK_STATS_OPENMETRICS), "login"));

    for (int i = 0; i < 8; i++)
        if (i % 3) kolk_pool_free(&pool, objects[i]);
    assert_int_equal(alive_by("login"), 0);
    assert_int_equal(alive_by("guest"), 3);
    login(&pool);
    assert_non_null(strstr(write_in(KOLK_STATS_TEXT), "\nsessions, alive:\n         3 by guest+"));
    assert_non_null(strstr(written, ")\n         1 by login+"));
    kolk_pool_clear(&pool);
    assert_null(strstr(write_in(KOLK_STATS_JSON), "places"));
    end_pool(&pool);
}

static void test_without_the_setting(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "sessions", .object_size = 16, .capacity = 8, .debug = "fill"});
    login(&pool);
    assert_null(strstr(write_in(KOLK_STATS_JSON), "places"));
    assert_null(strstr(write_in(KOLK_STATS_TEXT), "alive:"));
    kolk_pool_clear(&pool);
    end_pool(&pool);
}

/* ---- More than are listed ---------------------------------------------------------------------------------------- */

#define TWENTY(one)                                                                                                    \
    one(a01) one(a02) one(a03) one(a04) one(a05) one(a06) one(a07) one(a08) one(a09) one(a10) one(a11) one(a12)        \
        one(a13) one(a14) one(a15) one(a16) one(a17) one(a18) one(a19) one(a20)
#define NAME(name) #name,
#define CALL(name) name,

TWENTY(MAKE)

/* Twenty places with 1 to 20 objects: the four with the fewest are summed up. */
static void test_more_than_are_listed(void **state) {
    static const char *const names[] = {TWENTY(NAME)};
    static void *(*const makers[])(kolk_pool *) = {TWENTY(CALL)};
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "sessions", .object_size = 16, .capacity = 210, .debug = "sites=1"});
    for (size_t n = 0; n < 20; n++)
        for (size_t i = 0; i <= n * 7 % 20; i++) makers[n](&pool);
    write_in(KOLK_STATS_JSON);
    for (size_t n = 0; n < 20; n++) assert_int_equal(written_by(names[n]), n * 7 % 20 < 4 ? 0 : n * 7 % 20 + 1);
    assert_int_equal(written_elsewhere(), 1 + 2 + 3 + 4);
    assert_non_null(strstr(write_in(KOLK_STATS_TEXT), ")\n        10 elsewhere\n"));
    kolk_pool_clear(&pool);
    end_pool(&pool);
}

/* Stacks that differ only in calls that are not named are one place. */
static NOINLINE void call_from_here(kolk_pool *pool) {
    login(pool);
    __asm__ volatile("");
}

static void test_stacks_of_one_name(void **state) {
    kolk_pool pool;
    make_pool(&pool, &(kolk_pool_desc){.name = "sessions", .object_size = 16, .capacity = 8, .debug = "sites=2"});
    call_from_here(&pool);
    call_from_here(&pool);
    guest(&pool);
    guest(&pool);
    call_from_here(&pool);
    assert_non_null(strstr(write_in(KOLK_STATS_JSON), "\"places\": [{\"alive\": 3, \"by\": \"login+"));
    assert_non_null(strstr(written, " < call_from_here+"));
    kolk_pool_clear(&pool);
    end_pool(&pool);
}

/* A row for many pools has no places. */
static void test_many_pools(void **state) {
    static kolk_pool pools[102];
    for (size_t n = 0; n < LENGTH_OF(pools); n++) {
        make_pool(&pools[n], &(kolk_pool_desc){.name = "many", .object_size = 16, .capacity = 8, .debug = "sites=1"});
        login(&pools[n]);
    }
    assert_non_null(strstr(write_in(KOLK_STATS_JSON), "\"pools\": 102"));
    assert_null(strstr(written, "places"));
    for (size_t n = 0; n < LENGTH_OF(pools); n++) {
        kolk_pool_clear(&pools[n]);
        kolk_pool_deinit(&pools[n]);
    }
}

/* ---- Processes --------------------------------------------------------------------------------------------------- */

/* Twelve processes, of which eleven are dead, own 1 to 12 objects and have pushed as many again: the four with the
 * fewest are summed up. What a process calls itself cannot control a terminal. */
static void test_processes(void **state) {
    kolk_ipc pool;
    char by[100];
    kolk_ipc_desc desc = {.name = "frames", .object_size = 8, .capacity = 200, .queues = 1};
    if (kolk_ipc_init(&pool, &desc) == KOLK_NEEDS_LINUX) skip();
    assert_null(strstr(write_in(KOLK_STATS_JSON), "places"));
    for (unsigned n = 1; n <= 12; n++) {
        unsigned char *record = (unsigned char *)pool.block + 1024 + (size_t)64 * n;
        memcpy(record, &(uint32_t[2]){1, 1000 + n}, 8);
        snprintf((char *)record + 8, 16, "\033[2J\"%c\x9b", '`' + (char)n);
        for (unsigned i = 0; i < 2 * n; i++) {
            void *frame = kolk_ipc_alloc(&pool);
            size_t slot = (size_t)((unsigned char *)frame - pool.slots) / pool.stride;
            if (i % 2) assert_int_equal(kolk_ipc_push(&pool, 0, frame, KOLK_NOW), KOLK_OK);
            pool.lives[slot] += n - 1; /* its owner */
        }
    }
    write_in(KOLK_STATS_TEXT);
    for (unsigned n = 1; n <= 12; n++) {
        snprintf(by, sizeof by, "%10u by process %u (?[2J\"%c?)\n", n, 1000 + n, '`' + (char)n);
        assert_int_equal(strstr(written, by) != NULL, n > 4);
        strcpy(strchr(by, ')'), "), in queues\n");
        assert_int_equal(strstr(written, by) != NULL, n > 4);
    }
    assert_non_null(strstr(written, "\n        20 elsewhere\n"));
    assert_non_null(strstr(write_in(KOLK_STATS_JSON), "{\"alive\": 12, \"by\": \"process 1012 (?[2J\\\"l?)\"}"));
    assert_non_null(strstr(written, ", {\"alive\": 20}]"));
    assert_null(strstr(write_in(KOLK_STATS_OPENMETRICS), "process"));
    assert_int_equal(kolk_ipc_recover(&pool), 77);
    assert_non_null(
        strstr(write_in(KOLK_STATS_TEXT), "\n        77 by no process, in queues\n         1 by process 1001 "));
    kolk_ipc_deinit(&pool);
}

/* ---- The other kinds --------------------------------------------------------------------------------------------- */

typedef struct thing {
    char bytes[24];
} thing;

KOLK_SLOTMAP_TYPE(things, thing)
KOLK_SHARED_TYPE(desks, thing)

/* Each makes one call in a loop. The number of rounds is volatile, so that the compiler doesn't make several calls. */
static NOINLINE void fill_map(things *map) {
    static volatile int count = 5;
    for (int i = 0; i < count; i++) things_add(map, NULL);
    __asm__ volatile("");
}

static NOINLINE thing *fill_shared(desks_local *local) {
    static volatile int more = 4;
    thing *one = NULL;
    for (int i = 0; i < more; i++) one = desks_alloc(local);
    __asm__ volatile("");
    return one;
}

static NOINLINE void *fill_heap(kolk_heap *heap) {
    static volatile size_t step = 180;
    void *one = NULL;
    for (size_t size = 40; size <= 400; size += step) one = kolk_heap_alloc(heap, size);
    __asm__ volatile("");
    return one;
}

static void test_other_kinds(void **state) {
    reports kept;
    begin_reports(&kept); /* of what the deinits find */
    things map;
    assert_int_equal(things_init(&map, &(kolk_slotmap_desc){.name = "map", .capacity = 9, .debug = "sites=1"}), 0);
    fill_map(&map);
    assert_int_equal(alive_by("fill_map"), 5);
    things_deinit(&map);

    desks shared;
    desks_local local;
    assert_int_equal(desks_init(&shared, &(kolk_shared_desc){.name = "shared", .capacity = 9, .debug = "sites=1"}), 0);
    assert_int_equal(desks_local_init(&local, &shared), 0);
    desks_free(&local, fill_shared(&local));
    assert_int_equal(alive_by("fill_shared"), 3);
    desks_local_deinit(&local);
    desks_deinit(&shared);

    if (sizeof(void *) < 8) return; /* heaps have no classes there */
    kolk_heap heap = {0};
    assert_int_equal(kolk_heap_init(&heap, &(kolk_heap_desc){.name = "heap", .debug = "sites=1"}), 0);
    kolk_heap_free(&heap, fill_heap(&heap));
    assert_int_equal(alive_by("fill_heap"), 2);
    kolk_heap_deinit(&heap);
}

static bool create(void *context, const char *key, kolk_deadline deadline, void **resource, kolk_error *error) {
    *resource = context;
    return true;
}

static NOINLINE void borrow(kolk_resource_pool *pool, kolk_borrowed *borrowed) {
    assert_int_equal(kolk_resource_borrow(pool, NULL, borrowed), KOLK_OK);
    __asm__ volatile("");
}

static void test_resources(void **state) {
    int resource;
    kolk_resource_pool pool = {0};
    kolk_borrowed borrowed[3];
    kolk_resource_pool_desc desc = {.name = "db", .create = create, .context = &resource, .max = 3, .debug = "sites=1"};
    assert_int_equal(kolk_resource_init(&pool, &desc), KOLK_OK);
    for (int i = 0; i < 3; i++) borrow(&pool, &borrowed[i]);
    assert_int_equal(alive_by("borrow"), 3);
    kolk_resource_give_back(&pool, &borrowed[0]);
    assert_int_equal(alive_by("borrow"), 2);
    for (int i = 1; i < 3; i++) kolk_resource_give_back(&pool, &borrowed[i]);
    assert_null(strstr(write_in(KOLK_STATS_JSON), "places"));
    kolk_resource_deinit(&pool);
}

/* ---- While threads allocate -------------------------------------------------------------------------------------- */

enum { THREADS = 3, EACH = 20 };

static desks crowded;
static bool ends;

static NOINLINE thing *sit_down(desks_local *local) {
    thing *one = desks_alloc(local);
    __asm__ volatile("");
    return one;
}

static void *come_and_go(void *unused) {
    desks_local local;
    thing *mine[EACH];
    REQUIRE(desks_local_init(&local, &crowded) == KOLK_OK);
    while (!__atomic_load_n(&ends, __ATOMIC_RELAXED)) {
        for (int i = 0; i < EACH; i++) REQUIRE((mine[i] = sit_down(&local)));
        for (int i = 0; i < EACH; i++) desks_free(&local, mine[i]);
    }
    desks_local_deinit(&local);
    return unused;
}

static void test_while_threads_allocate(void **state) {
    pthread_t threads[THREADS];
    kolk_shared_desc desc = {.name = "crowded", .capacity = 500, .debug = "sites=1"};
    assert_int_equal(desks_init(&crowded, &desc), KOLK_OK);
    for (int t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, come_and_go, NULL);
    unsigned most = 0;
    for (int looks = 0; looks < 10 || most == 0; looks++) {
        unsigned alive = alive_by("sit_down");
        assert_true(alive <= THREADS * EACH);
        if (most < alive) most = alive;
    }
    __atomic_store_n(&ends, true, __ATOMIC_RELAXED);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    assert_null(strstr(write_in(KOLK_STATS_JSON), "places"));
    desks_deinit(&crowded);
}

/* ---- KOLK_STATS -------------------------------------------------------------------------------------------------- */

/* A pool that has ended shares the row of a later pool of the same name, which has places. At exit there are none,
 * because the report of leaks has named them. */
static void play_now(const char *unused) {
    static kolk_pool pool;
    END_IF_IT_HANGS();
    for (int life = 0; life < 2; life++) {
        make_pool(&pool, &(kolk_pool_desc){.name = "sessions", .object_size = 16, .capacity = 8, .debug = "sites=1"});
        void *object = login(&pool);
        if (life > 0) break;
        kolk_pool_free(&pool, object);
        kolk_pool_deinit(&pool);
    }
    kolk_set_failure_handler(NULL, NULL);
    kolk_stats_now();
    fputs("now the end\n", stderr);
}

static void test_kolk_stats(void **state) {
    ending ended = run_scenario("now", "text", NULL);
    const char *text = ended.text, *row = strstr(text, "\nsessions "), *end;
    assert_non_null(row);
    end = strstr(text, "now the end");
    assert_non_null(end);
    assert_non_null(strstr(row, "sessions, alive:\n         1 by login+"));
    assert_non_null(strstr(end, "1 object is still alive, in slot 0; allocated by login+"));
    assert_null(strstr(end, "sessions, alive:"));
}

static const scenario scenarios[] = {{"now", play_now}};

int main(int argc, char **argv) {
    RUN_SCENARIO(scenarios);
    END_IF_IT_HANGS();
    const struct CMUnitTest tests[] = {
        DEBUG_TEST(test_a_pool),
        DEBUG_TEST(test_without_the_setting),
        DEBUG_TEST(test_more_than_are_listed),
        DEBUG_TEST(test_stacks_of_one_name),
        DEBUG_TEST(test_processes),
        DEBUG_TEST(test_other_kinds),
        DEBUG_TEST(test_resources),
        DEBUG_TEST(test_many_pools),
        DEBUG_TEST(test_while_threads_allocate),
        DEBUG_TEST(test_kolk_stats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
