/* An init that its failure handler leaves by longjmp: every kind of pool, beside everything that an init may report. The
 * program takes it for one that failed, so nothing may be left of it: no byte in the struct, no memory, no entry in the
 * registry that anybody would look at once the struct's storage is gone. */
#include "../help/system_calls.h"

#include "sizes_test.h"

#define SIZE     ((size_t)1 << 20)
#define CAPACITY 64u /* so that a pool's memory is more than all else that the library takes */

/* ---- What is reported --------------------------------------------------------------------------------------------- */

enum { POOL = 1, SLOTMAP = 2, SHARED = 4, QUEUE = 8, BYTEMAP = 16 };

typedef struct row {
    const char *variable, *value;
    const char *file; /* of KOLK_SIZES; NULL: there is none */
    const char *debug;
    bool lent; /* the memory is the caller's */
    unsigned kinds;
    const char *said; /* its beginning */
} row;

#define WITH_DEBUG (POOL | SLOTMAP | SHARED)
#define WITH_SIZES (POOL | SLOTMAP)
#define ALL        (WITH_DEBUG | QUEUE | BYTEMAP)

static const row rows[] = {
    {"KOLK_STATS", "bogus", NULL, NULL, false, ALL, "kolk: KOLK_STATS: \"bogus\" is not understood"},
    {"KOLK_DEBUG", "bogus", NULL, NULL, false, WITH_DEBUG, "kolk: KOLK_DEBUG: \"bogus\" is not a setting"},
    {"KOLK_DEBUG", "sites,bogus", NULL, NULL, false, WITH_DEBUG, "kolk: KOLK_DEBUG: \"bogus\" is not a setting"},
    {"KOLK_FAIL", "bogus", NULL, NULL, false, WITH_DEBUG, "kolk: KOLK_FAIL: \"bogus\" is not understood"},
    {"KOLK_BYPASS", "bogus", NULL, NULL, false, WITH_DEBUG, "kolk: KOLK_BYPASS: \"bogus\" is neither 0 nor 1"},
    {NULL, NULL, NULL, "fill,bogus", false, WITH_DEBUG, "kolk: it: \"bogus\" is not a setting"},
    {"KOLK_SIZES", "/nowhere/at/all", NULL, NULL, false, WITH_SIZES, "kolk: KOLK_SIZES: \"/nowhere/at/all\" cannot"},
    {NULL, NULL, "x\nit = 3\n[boss]\nit = 4\n", NULL, false, WITH_SIZES, BAD "1: \"x\" is not understood"},
    {NULL, NULL, "it = 4294967295\n[boss]\nit = 4\n", NULL, false, WITH_SIZES,
     BAD "1: it keeps 64 slots and cannot have 4294967295: "},
    {NULL, NULL, "it = 9\n[boss]\nit = 4\n", NULL, true, WITH_SIZES,
     BAD "1: it keeps 8 slots and cannot have 9: it is on the caller's memory"},
};

/* ---- What reports it ---------------------------------------------------------------------------------------------- */

static _Alignas(16) unsigned char lent[1000];

static kolk_status init_pool(void *at, const row *now) {
    kolk_pool_desc desc = {.name = "it", .object_size = SIZE, .capacity = CAPACITY, .debug = now->debug};
    if (now->lent) desc.object_size = desc.capacity = 8, desc.memory = lent, desc.memory_size = sizeof lent;
    return kolk_pool_init((kolk_pool *)at, &desc);
}

static kolk_status init_slotmap(void *at, const row *now) {
    kolk_slotmap_desc desc = {.name = "it", .object_size = SIZE, .capacity = CAPACITY, .debug = now->debug};
    if (now->lent) desc.object_size = desc.capacity = 8, desc.memory = lent, desc.memory_size = sizeof lent;
    return kolk_slotmap_init((kolk_slotmap *)at, &desc);
}

static kolk_status init_shared(void *at, const row *now) {
    kolk_shared_desc desc = {.name = "it", .object_size = SIZE, .capacity = CAPACITY, .debug = now->debug};
    return kolk_shared_init((kolk_shared *)at, &desc);
}

static kolk_status init_queue(void *at, const row *now) {
    (void)now;
    return kolk_queue_init((kolk_queue *)at, &(kolk_queue_desc){.name = "it", .item_size = SIZE, .capacity = CAPACITY});
}

static kolk_status init_bytemap(void *at, const row *now) {
    (void)now;
    kolk_bytemap_view view = {.name = "it", .object_size = SIZE, .count = (int32_t)CAPACITY};
    return kolk_bytemap_initialise_with((kolk_bytemap *)at, &view);
}

static const struct {
    unsigned kind;
    size_t size;
    kolk_status (*init)(void *at, const row *now);
} kinds[] = {
    {POOL, sizeof(kolk_pool), init_pool},          {SLOTMAP, sizeof(kolk_slotmap), init_slotmap},
    {SHARED, sizeof(kolk_shared), init_shared},    {QUEUE, sizeof(kolk_queue), init_queue},
    {BYTEMAP, sizeof(kolk_bytemap), init_bytemap},
};

/* ---- The program that goes on ------------------------------------------------------------------------------------- */

static jmp_buf out_of_init;

static void jump(const kolk_failure *failure, void *context) {
    (void)context;
    fprintf(stderr, "%s\n", failure->sentence);
    longjmp(out_of_init, 1);
}

static void count_bytes(const char *text, size_t length, void *context) {
    (void)text;
    *(size_t *)context += length;
}

static bool is_anything_listed(void) {
    kolk_records records = {0};
    kolk_registry_collect(&records);
    bool some = records.first;
    kolk_records_release(&records);
    return some;
}

/* Storage that can die, so that a look at it ends the program. It reads as 0, as a byte map's init wants it. */
static void *new_storage(size_t size) {
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(start != MAP_FAILED);
    return start;
}

static void play_init(const char *argument) {
    static unsigned kind, which;
    static void *at;
    static long before;
    assert_int_equal(sscanf(argument, "%u %u", &kind, &which), 2);
    const row *now = &rows[which];
    if (now->variable) setenv(now->variable, now->value, 1);
    at = new_storage(kinds[kind].size);
    before = address_space();
    kolk_set_failure_handler(jump, NULL);
    if (setjmp(out_of_init) == 0) {
        kinds[kind].init(at, now);
        fail_msg("nothing was reported");
    }
    kolk_set_failure_handler(NULL, NULL);
    assert_true(all_bytes_are(at, kinds[kind].size, 0));
    assert_true(address_space() - before < (long)(CAPACITY * SIZE / 2) / sysconf(_SC_PAGESIZE));
    assert_false(is_anything_listed());
    memset(at, 0xff, kinds[kind].size);
    munmap(at, kinds[kind].size);

    size_t bytes = 0;
    kolk_stats_write(KOLK_STATS_JSON, count_bytes, &bytes);
    kolk_scene("boss");
    assert_true(bytes > 0);

    /* What was said is not said again, and the next pool is as good as any: it is there at exit. */
    row later = *now;
    later.debug = NULL;
    at = new_storage(kinds[kind].size);
    assert_int_equal(kinds[kind].init(at, &later), KOLK_OK);
    assert_true(is_anything_listed());
}

static void test_a_longjmp_out_of_init_leaves_nothing(void **state) {
    (void)state;
    for (unsigned n = 0; n < LENGTH_OF(kinds) * LENGTH_OF(rows); n++) {
        unsigned kind = n % LENGTH_OF(kinds), which = n / LENGTH_OF(kinds);
        const row *now = &rows[which];
        if (!(now->kinds & kinds[kind].kind)) continue;
        char argument[20];
        snprintf(argument, sizeof argument, "%u %u", kind, which);
        write_file(now->file ? now->file : "");
        if (now->file) setenv("KOLK_SIZES", path, 1);
        ending it = run_scenario("init", "text:/dev/null", argument); /* which looks at all that is listed at exit */
        unsetenv("KOLK_SIZES");
        put_name(it.text, path);
        const char *end = strchr(it.text, '\n');
        if (strncmp(it.text, now->said, strlen(now->said)) != 0 || it.status != 0 || !end || end[1])
            fail_msg("kind %u, row %u, status %d: %s", kind, which, it.status, it.text);
    }
}

static void play_told(const char *argument) {
    static const row both = {.debug = "bogus"};
    size_t kind = argument ? strtoul(argument, NULL, 10) : 0;
    assert_int_equal(kinds[kind].init(new_storage(kinds[kind].size), &both), KOLK_OK);
}

/* Also if the capacity that the file says is tried in vain, and then the program's own. */
static void test_each_thing_is_said_once(void **state) {
    (void)state;
    for (size_t kind = 0; kind < LENGTH_OF(kinds); kind++) {
        if (!(kinds[kind].kind & WITH_SIZES)) continue;
        ending it = run_with("told", "it = 4294967295\n", kind ? "1" : "0");
        assert_memory_equal(it.text, "kolk: it: \"bogus\"", 17);
        const char *next = strchr(it.text, '\n');
        assert_non_null(next);
        assert_memory_equal(next + 1, BAD, strlen(BAD));
        assert_ptr_equal(strchr(next + 1, '\n'), it.text + strlen(it.text) - 1);
        assert_int_equal(it.status, 0);
    }
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {{"init", play_init}, {"told", play_told}};
    RUN_SCENARIO(scenarios);
    const struct CMUnitTest tests[] = {
        TEST(test_a_longjmp_out_of_init_leaves_nothing),
        TEST(test_each_thing_is_said_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
