/* runs: processes not:qemu not:wine wraps: help/system_calls.h */
/* For every kind, and for everything that an init may report, the failure handler jumps out of the init with longjmp.
 * To the program this is a failed init, so it must leave nothing behind: no byte in the struct, no memory, and no entry
 * in the registry, which would be read when the struct's storage is gone. */
#include "kinds.h"

#include "../watch/sizes_test.h"
#include "../help/system_calls.h"

#define SIZE     ((size_t)1 << 20)
#define CAPACITY 16u /* so that a pool takes more memory than everything else in the library */

/* ---- What is reported -------------------------------------------------------------------------------------------- */

typedef struct reason {
    const char *variable, *value;
    const char *file; /* the contents of KOLK_SIZES; NULL: there is no file */
    const char *debug;
    bool lent;        /* the pool lives in the caller's memory */
    unsigned needs;   /* what the kind must be able to do */
    const char *said; /* the beginning of the report */
} reason;

static const reason reasons[] = {
    {"KOLK_STATS", "bogus", NULL, NULL, false, 0, "kolk: KOLK_STATS: \"bogus\" is not understood"},
    {"KOLK_DEBUG", "bogus", NULL, NULL, false, DEBUGS, "kolk: KOLK_DEBUG: \"bogus\" is not a setting"},
    {"KOLK_DEBUG", "sites,bogus", NULL, NULL, false, DEBUGS, "kolk: KOLK_DEBUG: \"bogus\" is not a setting"},
    {"KOLK_FAIL", "bogus", NULL, NULL, false, DEBUGS, "kolk: KOLK_FAIL: \"bogus\" is not understood"},
    {"KOLK_BYPASS", "bogus", NULL, NULL, false, DEBUGS, "kolk: KOLK_BYPASS: \"bogus\" is neither 0 nor 1"},
    {NULL, NULL, NULL, "fill,bogus", false, DEBUGS, "kolk: it: \"bogus\" is not a setting"},
    {"KOLK_SIZES", "/nowhere/at/all", NULL, NULL, false, SIZES, "kolk: KOLK_SIZES: \"/nowhere/at/all\" cannot"},
    {NULL, NULL, "x\nit = 3\n[boss]\nit = 4\n", NULL, false, SIZES, BAD "1: \"x\" is not understood"},
    {NULL, NULL, "it = 4294967295\n[boss]\nit = 4\n", NULL, false, SIZES,
     BAD "1: it keeps 16 slots and cannot have 4294967295: "},
    {NULL, NULL, "it = 9\n[boss]\nit = 4\n", NULL, true, SIZES,
     BAD "1: it keeps 8 slots and cannot have 9: it is on the caller's memory"},
};

/* ---- The init that reports it ------------------------------------------------------------------------------------ */

static kolk_status init_for(subject *s, const reason *why) {
    static _Alignas(16) unsigned char lent[1000];
    options with = {.name = "it", .object_size = SIZE, .capacity = CAPACITY, .debug = why->debug};
    if (why->lent) with.object_size = with.capacity = 8, with.memory = lent, with.memory_size = sizeof lent;
    return s->kind->init(s, &with);
}

/* ---- The program that continues ---------------------------------------------------------------------------------- */

static jmp_buf out_of_init;

static void jump(const kolk_failure *failure, void *context) {
    fprintf(stderr, "%s\n", failure->sentence);
    longjmp(out_of_init, 1);
}

static bool is_anything_listed(void) {
    kolk_records_ records = {0};
    kolk_registry_collect_(&records);
    bool some = records.first;
    kolk_records_release_(&records);
    return some;
}

/* Returns storage that is unmapped later, so that reading it then ends the program. It starts zeroed, as a byte map's
 * init requires. */
static void *new_storage(size_t size) {
    void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(start != MAP_FAILED);
    return start;
}

static subject *new_subject(size_t number) {
    subject *s = (subject *)new_storage(sizeof *s);
    s->kind = &kinds[number];
    return s;
}

static void play_init(const char *argument) {
    static unsigned number, which;
    static subject *s;
    static long before;
    assert_int_equal(sscanf(argument, "%u %u", &number, &which), 2);
    const reason *why = &reasons[which];
    if (why->variable) setenv(why->variable, why->value, 1);
    s = new_subject(number);
    before = address_space();
    kolk_set_failure_handler(jump, NULL);
    if (setjmp(out_of_init) == 0) {
        init_for(s, why);
        fail_msg("nothing was reported");
    }
    kolk_set_failure_handler(NULL, NULL);
    assert_true(all_bytes_are(&s->of, kinds[number].size, 0));
    assert_true(address_space() - before < (long)(CAPACITY * SIZE / 2) / sysconf(_SC_PAGESIZE));
    assert_false(is_anything_listed());
    memset(&s->of, 0xff, kinds[number].size);
    munmap(s, sizeof *s);

    size_t bytes = 0;
    kolk_stats_write(KOLK_STATS_JSON, count_bytes, &bytes);
    kolk_scene("boss");
    assert_true(bytes > 0);

    /* Nothing is reported twice, the next init succeeds, and its pool is listed at exit. */
    reason later = *why;
    later.debug = NULL;
    assert_int_equal(init_for(new_subject(number), &later), KOLK_OK);
    assert_true(is_anything_listed());
}

static void test_a_longjmp_out_of_init_leaves_nothing(void **state) {
    for (unsigned which = 0; which < LENGTH_OF(reasons); which++) {
        const reason *why = &reasons[which];
        if ((row_now->kind->can & why->needs) != why->needs) continue;
        char argument[20];
        snprintf(argument, sizeof argument, "%u %u", (unsigned)(row_now->kind - kinds), which);
        write_file(why->file ? why->file : "");
        if (why->file) setenv("KOLK_SIZES", path, 1);
        ending ended = run_scenario("init", "text:/dev/null", argument); /* at exit it prints all listed pools */
        unsetenv("KOLK_SIZES");
        put_name(ended.text, path);
        const char *end = strchr(ended.text, '\n');
        if (strncmp(ended.text, why->said, strlen(why->said)) != 0 || ended.status != 0 || !end || end[1])
            fail_msg("%s, status %d: %s", why->said, ended.status, ended.text);
    }
}

static void play_told(const char *argument) {
    static const reason both = {.debug = "bogus"};
    assert_int_equal(init_for(new_subject(strtoul(argument ? argument : "", NULL, 10)), &both), KOLK_OK);
}

/* Each mistake is reported once, even if init fails with the file's capacity and then with the program's own. */
static void test_each_thing_is_said_once(void **state) {
    char number[20];
    snprintf(number, sizeof number, "%d", (int)(row_now->kind - kinds));
    ending ended = run_with("told", "it = 4294967295\n", number);
    assert_memory_equal(ended.text, "kolk: it: \"bogus\"", 17);
    const char *next = strchr(ended.text, '\n');
    assert_non_null(next);
    assert_memory_equal(next + 1, BAD, strlen(BAD));
    assert_ptr_equal(strchr(next + 1, '\n'), ended.text + strlen(ended.text) - 1);
    assert_int_equal(ended.status, 0);
}

int main(int argc, char **argv) {
    static const scenario scenarios[] = {{"init", play_init}, {"told", play_told}};
    RUN_SCENARIO(scenarios);
    static const contract contracts[] = {
        CONTRACT(test_a_longjmp_out_of_init_leaves_nothing, 0, IN(PLAIN)),
        CONTRACT(test_each_thing_is_said_once, SIZES, IN(PLAIN)),
    };
    return run_contracts(contracts, LENGTH_OF(contracts), make_path_for_all, plain_environment);
}
