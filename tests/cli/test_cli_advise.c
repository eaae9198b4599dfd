/* runs: processes wraps: cli/failing_malloc.h realloc */
/* Advice: how sources are distinguished, statistics of their lives, names, capacities, and that too small a capacity is
 * detected. tests/cli/advise.sh tests the advice as a whole.
 *
 * The linker redirects allocations to the functions below, one of which may fail. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "advise/share.h"
#include "failing_malloc.h"

/* ---- Allocations that fail --------------------------------------------------------------------------------------- */

void *__wrap_realloc(void *object, size_t size) {
    return refused() ? NULL : __real_realloc(object, size);
}

static void fail_nth(unsigned long n) {
    allocations = 0;
    failing = n;
}

/* ---- Traces that the tests write --------------------------------------------------------------------------------- */

static char text[1 << 22]; /* the lines so far */
static size_t length;
static unsigned long address; /* of the last block */
static struct trace trace;

__attribute__((format(printf, 1, 2))) static void line(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
    va_end(arguments);
    assert_true(length < sizeof text);
}

static unsigned long begin(const char *caller, unsigned size) {
    line("@ %s + 0x%lx 0x%x\n", caller, ++address, size);
    return address;
}

static void read_lines(void) {
    struct trace_problem problem;
    FILE *file = fmemopen(text, length, "rb");
    assert_non_null(file);
    if (!trace_read(&trace, file, &problem)) fail_msg("%s", problem.text);
    fclose(file);
}

static struct sources sources;

/* Allocates this many objects, with at most `alive` alive at a time; the last ones are not freed. */
static void churn(const char *caller, unsigned size, unsigned count, unsigned alive) {
    unsigned long first = address + 1;
    for (unsigned i = 0; i < count; i++) {
        if (i >= alive) line("@ %s - 0x%lx\n", caller, first + i - alive);
        begin(caller, size);
    }
}

static void forget(void) {
    sources_free(&sources);
    trace_free(&trace);
    length = address = 0;
    fail_nth(0);
}

static int clean_up(void **state) {
    (void)state;
    forget();
    return 0;
}

static void find(void) {
    read_lines();
    assert_true(sources_find(&sources, &trace));
}

/* The sources as a text: "symbol xmalloc < add 40 x 100; ..." */
static void assert_sources(const char *expected) {
    char found[1024] = "";
    for (size_t i = 0; i < sources.count; i++) {
        const struct source *source = &sources.sources[i];
        size_t at = strlen(found);
        for (size_t j = 0; j < source->origin_count; j++, at = strlen(found))
            snprintf(found + at, sizeof found - at, "%s%.*s",
                     j > 0   ? " and "
                     : i > 0 ? "; "
                             : "",
                     (int)source->origins[j].length, source->origins[j].frames);
        snprintf(found + at, sizeof found - at, "%s %" PRIu64 "-%" PRIu64 " x %" PRIu64,
                 source->by_size ? " by size" : "", source->least, source->most, source->allocations);
    }
    assert_string_equal(found, expected);
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

static void sources_are_told_apart_by_the_fewest_frames(void **state) {
    (void)state;
    line("= Call a get < add < main\n= Call b get < put < main\n= Call c put < main\n= Call d get < add < other\n");
    churn("a", 40, 300, 10);
    churn("b", 48, 200, 10);
    churn("c", 56, 150, 10);
    churn("d", 40, 100, 10);
    find();
    assert_sources("get < add 40-40 x 400; get < put 48-48 x 200; put 56-56 x 150");
    forget();

    /* Frames that don't distinguish sources are not in the source's name; distinguishing frames are found further
     * out. */
    line("= Call a get < wrap < one\n= Call b get < wrap < two\n= Call c get < wrap < two < three\n");
    churn("a", 40, 300, 10);
    churn("b", 48, 200, 10);
    churn("c", 56, 150, 10);
    find();
    assert_sources("get < wrap < one 40-40 x 300; get < wrap < two 48-48 x 200; get < wrap < two < three 56-56 x 150");
    forget();
}

static void sizes_that_no_frame_tells_apart_stay_together(void **state) {
    (void)state;
    line("= Call a get < one\n= Call b get < two\n");
    for (unsigned i = 0; i < 200; i++) begin(i % 2 ? "a" : "b", 8 + i % 50);
    find();
    assert_sources("get 8-57 x 200");
    forget();
}

static void sizes_are_told_apart_where_there_is_no_stack(void **state) {
    (void)state;
    churn("lib:[0x1]", 40, 300, 10);
    churn("lib:[0x1]", 48, 200, 10);
    for (unsigned i = 0; i < 100; i++) begin("lib:[0x1]", 100 + i);
    find();
    assert_sources("lib:[0x1] by size 40-40 x 300; lib:[0x1] by size 48-48 x 200; lib:[0x1] by size 100-199 x 100");
    forget();

    /* With a whole stack, a size must make up half of the allocations. */
    line("= Call a get < one\n");
    churn("a", 40, 210, 10);
    churn("a", 48, 200, 10);
    find();
    assert_sources("get by size 40-40 x 210; get by size 48-48 x 200");
    forget();
    line("= Call a get < one\n");
    churn("a", 40, 210, 10);
    churn("a", 48, 211, 10);
    churn("a", 56, 10, 10);
    find();
    assert_sources("get 40-56 x 431");
    forget();
}

static void frames_without_end_are_looked_at_in_part(void **state) {
    (void)state;
    for (int which = 'a'; which <= 'b'; which++) {
        line("= Call %c f", which);
        for (unsigned i = 0; i < 10000; i++) line(" < f");
        line(" < %c\n", which);
    }
    churn("a", 40, 300, 10);
    churn("b", 48, 200, 10);
    find();
    assert_sources("f by size 40-40 x 300; f by size 48-48 x 200");
    forget();
}

/* ---- Frees ------------------------------------------------------------------------------------------------------- */

/* Allocates this many objects, and frees them at this place. */
static void live(const char *caller, unsigned size, unsigned count, const char *end) {
    for (unsigned i = 0; i < count; i++) line("@ %s - 0x%lx\n", end, begin(caller, size));
}

static void assert_ends(size_t i, const char *expected) {
    char *found = NULL;
    size_t size;
    FILE *out = open_memstream(&found, &size);
    name_print_ends(out, &sources.sources[i]);
    fclose(out);
    assert_string_equal(found, expected);
    free(found);
}

static void what_is_freed_at_one_place_is_one_source(void **state) {
    (void)state;
    line("= Call e xfree < node_free < main\n= Call f xfree < text_free < main\n= Call g xfree < list_end\n");
    live("a", 40, 300, "e");
    live("b", 40, 200, "e");
    live("c", 40, 150, "f"); /* texts of other sizes are freed there too */
    for (unsigned i = 0; i < 120; i++) live("d", 8 + i % 30, 1, "f");
    live("h", 48, 110, "g");
    live("b", 40, 10, "f");
    begin("b", 40);
    find();
    assert_sources("a and b 40-40 x 511; c 40-40 x 150; d 8-37 x 120; h 48-48 x 110");
    assert_ends(
        0, "Freed at node_free, through xfree (500); at text_free, through xfree (10), as are objects of other sizes.");
    assert_ends(1, "Freed at text_free, through xfree, as are objects of other sizes.");
    assert_ends(3, "Freed at list_end, through xfree.");
    forget();

    /* An end tells nothing about a source whose sizes vary. */
    line("= Call e xfree < node_free\n= Call f xfree < text_free\n");
    live("a", 40, 300, "e");
    for (unsigned i = 0; i < 120; i++) live("d", 8 + i % 60, 1, i % 60 == 32 ? "e" : "f");
    find();
    assert_sources("a 40-40 x 300; d 8-67 x 120");
    forget();

    /* Two sources may be joined by a third one. */
    live("a", 40, 200, "e");
    live("b", 40, 300, "f");
    live("c", 40, 100, "e");
    live("c", 40, 150, "f");
    live("d", 40, 100, "g");
    find();
    assert_sources("b and c and a 40-40 x 750; d 40-40 x 100");
    assert_ends(0, "Freed at f (450); at e (300).");
    forget();

    /* A line is named once, even if only callers far outside of it tell sizes apart. */
    line("= Call e run (p.c:107) < tick < draw\n= Call f run (p.c:107) < tick < load\n");
    line("= Call i zfree (z.c:1) < end (p.c:8)\n= Call g zfree (z.c:1) < clear (p.c:9) < tick < draw\n= Call h zfree "
         "(z.c:1) < clear (p.c:9) < tick < load\n");
    live("a", 40, 300, "e");
    live("b", 48, 200, "e");
    live("a", 40, 150, "f");
    live("c", 56, 250, "g");
    live("c", 56, 100, "h");
    live("b", 48, 110, "h");
    live("d", 64, 120, "i");
    find();
    assert_ends(0, "Freed at run (p.c:107), as are objects of other sizes.");
    assert_ends(1, "Freed at clear (p.c:9), through zfree, as are objects of other sizes.");
    forget();

    /* The most frequent places are named. */
    live("a", 40, 200, "e");
    static const char *const places[] = {"f", "g", "h", "i", "j", "k"};
    for (unsigned i = 0; i < 6; i++) live("a", 40, 10 + i, places[i]);
    churn("b", 48, 200, 200);
    find();
    assert_ends(0, "Freed at e (200); at k (15); at j (14); at i (13); and at 3 more places.");
    assert_ends(1, "");
    forget();

    /* A free that was not recorded has no place; what was resized belongs to no source. */
    for (unsigned i = 0; i < 200; i++) {
        begin("a", 40);
        address--;
    }
    line("@ a < 0x1\n@ a > 0x2 0x28\n@ f - 0x2\n");
    live("b", 40, 300, "f");
    find();
    assert_sources("b 40-40 x 300; a 40-40 x 200");
    assert_ends(1, "");
    forget();
}

/* ---- Functions --------------------------------------------------------------------------------------------------- */

static struct verdict verdict_on(size_t i);

static int measure(const struct verdict *verdict, struct gain *gain) {
    cli_context cli = {.out = stdout};
    return gain_measure(&cli, verdict, gain);
}

/* Allocates by calloc of so many objects, or by realloc of NULL if `count` is 0. Two are alive. */
static void allocate_by(const char *caller, unsigned count, unsigned size, unsigned times) {
    for (unsigned i = 0; i < times; i++) {
        address++;
        if (i >= 2) line("@ %s - 0x%lx\n", caller, address - 2);
        if (count > 0)
            line("@ %s * 0x%lx 0x%x 0x%x\n", caller, address, count, size);
        else
            line("@ %s < (nil)\n@ %s > 0x%lx 0x%x\n", caller, caller, address, size);
    }
}

static void arrays_are_left(void **state) {
    (void)state;
    static const struct {
        unsigned count, size, others;
        enum advice advice;
    } rows[] = {
        {1, 48, 0, ADVICE_POOL},   {48, 1, 0, ADVICE_POOL},   {2, 24, 0, ADVICE_LEAVE},
        {24, 2, 0, ADVICE_LEAVE},  {0, 48, 0, ADVICE_LEAVE},  {0, 48, 396, ADVICE_LEAVE},
        {0, 48, 397, ADVICE_POOL}, {6, 8, 396, ADVICE_LEAVE}, {6, 8, 397, ADVICE_POOL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        allocate_by("a", rows[i].count, rows[i].size, rows[i].others > 0 ? 4 : 200);
        churn("a", 48, rows[i].others, 2);
        find();
        assert_int_equal(verdict_on(0).advice, rows[i].advice);
        forget();
    }
}

/* Each source is judged by its own resizes, whatever function it comes through: one realloc may serve all. */
static void realloc_of_null_allocates_objects_that_are_never_resized(void **state) {
    (void)state;
    static const struct {
        unsigned count, resized;
        enum advice advice;
        const char *reason;
    } rows[] = {
        {999, 0, ADVICE_LEAVE, "come from realloc of NULL, as arrays do that grow"},
        {1000, 0, ADVICE_POOL, "They come from realloc of NULL, but none is resized. "},
        {1000, 9, ADVICE_POOL, "They come from realloc of NULL, but hardly any are resized. "},
        {1000, 10, ADVICE_LEAVE, "10 of them are resized by realloc, which a pool cannot do."},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        line("= Call a hook < node_new\n= Call b hook < array_new\n= Call c hook < array_grow\n");
        allocate_by("a", 0, 48, rows[i].count - rows[i].resized);
        for (unsigned j = 0; j < rows[i].resized; j++) {
            allocate_by("a", 0, 48, 1);
            line("@ c < 0x%lx\n@ c > 0x99999 0x80\n@ c - 0x99999\n", address);
        }
        for (unsigned j = 0; j < 300; j++) { /* those of others do not matter */
            allocate_by("b", 0, 40, 1);
            line("@ c < 0x%lx\n@ c > 0x99999 0x80\n@ c - 0x99999\n", address);
        }
        find();
        struct verdict verdict = verdict_on(0);
        assert_int_equal(sources.sources[0].allocations, rows[i].count);
        assert_int_equal(verdict.advice, rows[i].advice);
        assert_non_null(strstr(verdict.reason, rows[i].reason));
        assert_int_equal(verdict_on(1).advice, ADVICE_LEAVE);
        forget();
    }
}

static void alignment_is_kept(void **state) {
    (void)state;
    static const struct { uint32_t asked, align; } rows[] = {{8, 8}, {32, 32}, {48, 64}, {4096, 4096}, {4097, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (unsigned j = 0; j < 200; j++) {
            if (j >= 10) line("@ a - 0x%lx\n", address - 9);
            line("@ a %% 0x%lx 0x%x 0x28\n", ++address, j == 7 ? rows[i].asked : 8);
        }
        find();
        struct verdict verdict = verdict_on(0);
        assert_int_equal(verdict.advice, rows[i].align > 0 ? ADVICE_POOL : ADVICE_LEAVE);
        assert_int_equal(verdict.align, rows[i].align);
        struct gain gain;
        if (rows[i].align > 0) assert_int_equal(measure(&verdict, &gain), CLI_OK);
        forget();
    }
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

/* Each operation belongs to an object whose number is below the peak. The begins and ends of each object alternate, and
 * every object has ended when the trace ends. */
static void assert_sound(const struct source *source) {
    bool *alive = calloc(source->peak, sizeof *alive);
    assert_non_null(alive);
    assert_int_equal(source->count + source->left, 2 * source->allocations);
    for (size_t i = 0; i < source->count + source->left; i++) {
        const struct source_op *op = &source->ops[i];
        assert_true(op->object < source->peak);
        assert_int_equal(alive[op->object], op->ends);
        alive[op->object] = !op->ends;
    }
    for (uint32_t i = 0; i < source->peak; i++) assert_false(alive[i]);
    free(alive);
}

static void lives_are_counted(void **state) {
    (void)state;
    unsigned long first = address + 1;
    line("= Thread 1\n");
    for (unsigned i = 0; i < 60; i++) begin("a", 32);
    line("= Thread 2\n");
    for (unsigned i = 0; i < 60; i++) line("@ f - 0x%lx\n", first + 59 - i); /* the first party */
    for (unsigned i = 0; i < 70; i++) begin("a", 32);
    line("@ f < 0x%lx\n@ f > 0x99999 0x80\n", first + 60); /* resized: it belongs to another source now */
    line("@ f - 0x99999\n");
    for (unsigned i = 0; i < 10; i++) begin("a", 32);
    line("= Thread 3\n");
    for (unsigned i = 0; i < 70; i++) line("@ f - 0x%lx\n", first + 61 + i);
    find(); /* nine are left; they and the 70 freed last form the second party */
    const struct source *source = &sources.sources[0];
    assert_int_equal(source->allocations, 140);
    assert_int_equal(source->resized, 1);
    assert_int_equal(source->left, 9);
    assert_int_equal(source->peak, 79);
    assert_int_equal(source->threads, 3);
    assert_int_equal(source->handed, 60 + 70);
    assert_int_equal(source->together, 60 + 79);
    assert_int_equal(source->parties, 2);
    assert_int_equal(source->most_begun, 80);
    assert_sound(source);
    forget();
}

/* ---- Verdicts ---------------------------------------------------------------------------------------------------- */

static struct verdict verdict_on(size_t i) {
    struct verdict verdict;
    verdict_of(&verdict, &sources.sources[i], NULL, 0);
    return verdict;
}

static void a_name_is_made_from_a_frame(void **state) {
    (void)state;
    static const struct {
        const char *caller, *frames, *name;
    } rows[] = {
        {"a", "node_new (tree.c:10) < main", "node_new_pool"},
        {"a", "node_new+0x1f (tree.c:10) < main", "node_new_pool"},
        {"a", "operator new(unsigned long) < main", "operator_new_pool"},
        {"a", "a::list<int>::add(int) (a.cc:3)", "a_list_int_add_pool"},
        {"a", "7zip", "p7zip_pool"},
        {"a", "inflate (libz.so.1+0x2a40) < main", "inflate_pool"},
        {"a", "libz.so.1+0x2a40 < main", "libz_32_pool"},
        {"a", "my program+0x2a40 < main", "my_program_32_pool"},
        {"a", "_ZN4shop5store3addEi (shop.cc:8) < main", "shop_store_add_pool"},
        {"a", "_ZNSt15__new_allocatorISt10_List_nodeIiEE8allocateEmPKv (a.h:1)", "std_new_allocator_allocate_pool"},
        {"a", "_Znwm", "operator_new_pool"},
        {"a", "_ZN4shop9toolarge", "ZN4shop9toolarge_pool"},
        {"a", "_ZN99999999999999999999999999999999a", "ZN99999999999999999999999999999999a_pool"},
        {"a", "_Z", "Z_pool"},
        {"a", "(anonymous namespace)::f()", "f_pool"},
        {"a", "shop::(anonymous namespace)::make(int) (cart.cc:3)", "make_pool"},
        {"a", "(anonymous namespace)::(anonymous namespace)::make (libz.so at 0x12)", "make_pool"},
        {"a", "make<shop::(anonymous namespace)::item> (cart.cc:3)", "make_shop_pool"},
        {"a", "make(shop::(anonymous namespace)::item) (cart.cc:3)", "make_pool"},
        {"a", "(lambda)", "object_pool"},
        {"a", "libz.so.1:[0x12]", "libz_32_pool"},
        {"a", "inflate (libz.so.1 at 0x12)", "inflate_pool"},
        {"a", "a_function_whose_name_is_much_too_long_for_a_pool", "a_function_whose_name_is_much_too_lo_pool"},
        {"/usr/lib/libz.so.1:(inflateInit2_+56)[0xc096]", NULL, "inflateInit2_pool"},
        {"/usr/lib/libz.so.1:(+0xc096)[0xc096]", NULL, "libz_32_pool"},
        {"/usr/bin/lua5.4:[0x1230d]", NULL, "lua5_4_32_pool"},
        {"./my program:(get)[0x1]", NULL, "get_pool"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].frames) line("= Call %s %s\n", rows[i].caller, rows[i].frames);
        churn(rows[i].caller, 32, 200, 10);
        find();
        assert_string_equal(verdict_on(0).name, rows[i].name);
        forget();
    }
    for (unsigned i = 0; i < 200; i++) line("+ 0x%x 0x20\n", i + 1); /* without a caller */
    find();
    assert_string_equal(verdict_on(0).name, "object_pool");
    forget();
}

static void names_differ(void **state) {
    (void)state;
    line("= Call a get (a.c:1)\n= Call b get (b.c:1)\n= Call c get (c.c:1)\n");
    churn("a", 32, 300, 10);
    churn("b", 32, 200, 10);
    churn("c", 32, 200, 10);
    find();
    static struct verdict verdicts[3];
    for (size_t i = 0; i < 3; i++) verdict_of(&verdicts[i], &sources.sources[i], verdicts, i);
    assert_string_equal(verdicts[0].name, "get_pool");
    assert_string_equal(verdicts[1].name, "get_2_pool");
    assert_string_equal(verdicts[2].name, "get_3_pool");
    forget();
}

static void the_advice_follows_from_the_lives(void **state) {
    (void)state;
    static const struct {
        unsigned size, count, alive;
        enum advice advice;
        uint32_t capacity, align;
    } rows[] = {
        {8192, 200, 100, ADVICE_POOL, 120, 16}, {8196, 200, 100, ADVICE_LEAVE, 0, 0},
        {28, 200, 100, ADVICE_POOL, 120, 8},    {4, 200, 100, ADVICE_POOL, 120, 4},
        {30, 200, 100, ADVICE_LEAVE, 0, 0},     {0, 200, 100, ADVICE_LEAVE, 0, 0},
        {32, 200, 2, ADVICE_POOL, 8, 16},       {32, 200, 1, ADVICE_LEAVE, 0, 0},
        {32, 200, 200, ADVICE_ARENA, 232, 16},  {32, 200, 190, ADVICE_ARENA, 232, 16},
        {32, 200, 189, ADVICE_POOL, 216, 16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        churn("a", rows[i].size, rows[i].count, rows[i].alive);
        find();
        struct verdict verdict = verdict_on(0);
        assert_int_equal(verdict.advice, rows[i].advice);
        assert_int_equal(verdict.capacity, rows[i].capacity);
        assert_int_equal(verdict.align, rows[i].align);
        assert_int_equal(verdict.max_threads, 0);
        forget();
    }
}

/* With this many deaths at a time the advice is an arena; with fewer, a pool. */
static void an_arena_frees_enough_at_once(void **state) {
    (void)state;
    for (unsigned party = 15; party <= 16; party++) {
        for (unsigned i = 0; i < 20; i++) {
            unsigned long first = address + 1;
            for (unsigned j = 0; j < party; j++) begin("a", 32);
            for (unsigned j = 0; j < party; j++) line("@ f - 0x%lx\n", first + j);
        }
        find();
        assert_int_equal(verdict_on(0).advice, party < 16 ? ADVICE_POOL : ADVICE_ARENA);
        forget();
    }
}

static void many_threads_get_a_shared_pool_for_as_many(void **state) {
    (void)state;
    for (unsigned thread = 0; thread < 20; thread++) {
        line("= Thread %x\n", thread);
        churn("a", 32, 50, 5);
    }
    find();
    struct verdict verdict = verdict_on(0);
    assert_int_equal(verdict.advice, ADVICE_SHARED);
    assert_int_equal(verdict.max_threads, 32);
    assert_int_equal(verdict.capacity, 512); /* 120 for the peak, but 16 for each thread */
    assert_non_null(strstr(verdict.reason, "as each frees its own, a pool for each thread would do as well."));

    struct gain gain;
    assert_int_equal(measure(&verdict, &gain), CLI_OK);
    assert_int_equal(gain.operations, 2000);
    forget();
}

/* ---- Gains ------------------------------------------------------------------------------------------------------- */

static void a_capacity_is_proved(void **state) {
    (void)state;
    struct gain gain;
    churn("a", 32, 1000, 100);
    find();
    struct verdict verdict = verdict_on(0);
    assert_int_equal(measure(&verdict, &gain), CLI_OK);
    assert_true(gain.samples >= GAIN_LEAST && gain.malloc_ns > 0 && gain.pool_ns > 0);
    assert_true(gain.malloc_bytes >= 100 * 32 && gain.pool_bytes >= 128 * 32);
    assert_int_equal(gain.operations, 2000);
    verdict.capacity = 100;
    assert_int_equal(measure(&verdict, &gain), CLI_OK);
    forget();

    struct advice_row {
        enum advice advice;
        uint32_t capacity;
    } rows[] = {{ADVICE_POOL, 99}, {ADVICE_ARENA, 999}, {ADVICE_ARENA, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        churn("a", 32, 1000, 100);
        find();
        verdict = verdict_on(0);
        verdict.advice = rows[i].advice;
        verdict.capacity = rows[i].capacity;
        assert_int_equal(measure(&verdict, &gain), CLI_FAILED);
        forget();
    }
}

/* A trace with all kinds of operations, of a pool, an arena and blocks that come from malloc in any case. */
static void write_program(void) {
    for (unsigned i = 0; i < 200; i++) {
        unsigned long object = begin("pooled", 32);
        begin("arena", 48);
        line("@ other * 0x%lx 0x2 0x%x\n@ other - 0x%lx\n", object + 100000, 8 + i, object + 100000);
        line("@ other %% 0x%lx 0x80 0x%x\n@ other < 0x%lx\n", object + 200000, 8 + i, object + 200000);
        line("@ other > 0x%lx 0x%x\n< (nil)\n@ other > 0x%lx 0x10\n", object + 300000, 0U, object + 400000);
        line("@ other - 0x%lx\n", object + 300000);
        if (i == 100) line("@ grow < 0x%lx\n@ grow > 0x%lx 0x1000\n", object, object + 500000);
        if (i % 2) line("@ end - 0x%lx\n", object);
    }
}

static int measure_whole(const struct verdict *verdicts, struct gain *gain) {
    cli_context cli = {.out = stdout};
    return gain_measure_all(&cli, &trace, &sources, (const struct verdict *[]){&verdicts[0], &verdicts[1]}, 2, gain);
}

/* Finds the pools of write_program: 32 and 48 bytes. */
static void find_pools(struct verdict *verdicts) {
    write_program();
    find();
    for (size_t i = 0; i < sources.count; i++) {
        const struct source *source = &sources.sources[i];
        if (source->least == source->most && (source->most == 32 || source->most == 48))
            verdict_of(&verdicts[source->most == 48], source, NULL, 0);
    }
    assert_int_equal(verdicts[0].advice, ADVICE_POOL);
    assert_int_equal(verdicts[1].advice, ADVICE_ARENA);
}

static void the_whole_program_is_played(void **state) {
    (void)state;
    struct verdict verdicts[2];
    struct gain gain;
    find_pools(verdicts);
    assert_int_equal(measure_whole(verdicts, &gain), CLI_OK);
    assert_true(gain.samples >= GAIN_LEAST);
    uint64_t kinds[] = {[TRACE_ALLOC] = 0, [TRACE_FREE] = 0, [TRACE_REALLOC] = 0};
    for (size_t i = 0; i < trace.count; i++) kinds[trace.ops[i].kind]++;
    assert_int_equal(kinds[TRACE_REALLOC], 201);
    assert_int_equal(gain.operations, 2 * kinds[TRACE_ALLOC] + kinds[TRACE_REALLOC]);

    /* The objects come from these pools, and from no others. */
    for (size_t i = 0; i < 2; i++) {
        uint32_t capacity = verdicts[i].capacity;
        verdicts[i].capacity = i == 0 ? 64 : 199;
        assert_int_equal(measure_whole(verdicts, &gain), CLI_FAILED);
        verdicts[i].capacity = capacity;
    }
}

static void no_memory_for_the_whole_is_told(void **state) {
    (void)state;
    struct verdict verdicts[2];
    struct gain gain;
    find_pools(verdicts);
    for (unsigned long n = 1; n <= 8; n++) {
        fail_nth(n);
        assert_int_equal(measure_whole(verdicts, &gain), CLI_FAILED);
    }
}

/* For each count of samples, the interval is the smallest one by order that contains the median at 95 %. */
static void an_interval_contains_the_median(void **state) {
    (void)state;
    for (unsigned count = 1; count <= GAIN_SAMPLES; count++) {
        double samples[GAIN_SAMPLES];
        for (unsigned i = 0; i < count; i++) samples[(i * 7) % count * (count % 7 != 0) + i * (count % 7 == 0)] = i;
        struct range range = gain_range(samples, count);
        assert_true(range.median * 2 == count - 1 && range.low + range.high == count - 1);
        unsigned left_out = (unsigned)range.low, outside[2] = {0, 0};
        for (unsigned coins = 0; coins < 1U << count; coins++) {
            unsigned heads = (unsigned)__builtin_popcount(coins);
            for (unsigned more = 0; more < 2; more++)
                outside[more] += heads <= left_out + more || heads >= count - left_out - more;
        }
        if (count >= GAIN_LEAST) assert_true(outside[0] * 20 <= 1U << count);
        if (count < GAIN_LEAST) assert_int_equal(left_out, 0);
        assert_true(outside[1] * 20 > 1U << count);
    }
}

static void assert_share(const struct gain *gain, double program_ns, const char *expected) {
    char *found = NULL;
    size_t size;
    FILE *out = open_memstream(&found, &size);
    share_print(out, gain, program_ns);
    fclose(out);
    assert_string_equal(found, expected);
    free(found);
}

static void gains_are_shares_of_the_programs_time(void **state) {
    (void)state;
    struct gain one = {.samples = 3, .first = {3e6, 1e6, 2e6}, .repeated = {5e6, 4e6, 6e6}};
    assert_share(&one, 0, "1.0 to 3.0 ms of processor time in one run, 4.0 to 6.0 ms if its work is repeated");
    assert_share(&one, 200e6,
                 "0.5 to 1.5 % of the program's processor time in one run, 2.0 to 3.0 % if its work is repeated");

    /* An interval with gains and losses tells nothing, unless all are within 1 % of the program's time. */
    struct gain wide = {.samples = 2, .first = {-50e6, 63e6}, .repeated = {4e6, 6e6}};
    assert_share(&wide, 100e6,
                 "4.0 to 6.0 % of the program's processor time if its work is repeated; too short to tell for one run");
    wide = (struct gain){.samples = 2, .first = {4e6, 6e6}, .repeated = {-1.1e6, 0.5e6}};
    assert_share(
        &wide, 100e6,
        "4.0 to 6.0 % of the program's processor time in one run; too short to tell what that saves if repeated");
    assert_true(share_is_told(&wide, 100e6));
    wide.first[0] = -1e6;
    assert_share(&wide, 100e6, "an amount that this run is too short to tell: repeat the work");
    assert_share(&wide, 0, "an amount that this run is too short to tell: repeat the work");
    assert_false(share_is_told(&wide, 100e6));
    wide = (struct gain){.samples = 2, .first = {-0.9e6, 0.9e6}, .repeated = {-9e6, 0}};
    assert_share(&wide, 100e6,
                 "-0.9 to 0.9 % of the program's processor time in one run, -9.0 to 0.0 % if its work is repeated");
    struct gain part = {.samples = 1};
    share_take(&part, &one, 0.5, 0.25);
    assert_int_equal(part.samples, 3);
    assert_share(&part, 0, "0.5 to 1.5 ms of processor time in one run, 1.0 to 1.5 ms if its work is repeated");

    one = (struct gain){.samples = 1, .first = {0.9e6}, .repeated = {0.9e6}};
    assert_true(share_is_small(&one, 100e6));
    assert_false(share_is_small(&one, 80e6));
    assert_false(share_is_small(&one, 0));
    one.repeated[0] = 1.1e6;
    assert_false(share_is_small(&one, 100e6));
    one = (struct gain){.samples = 1, .first = {1.1e6}, .repeated = {0.9e6}};
    assert_false(share_is_small(&one, 100e6));

    one = (struct gain){.samples = 1, .first = {-0.04e6}, .repeated = {-0.06e6}};
    assert_share(&one, 0, "0.0 to 0.0 ms of processor time in one run, -0.1 to -0.1 ms if its work is repeated");

    struct trace runs = {.runs = {{900, 100}, {0, 50}, {100, 90}, {100, 120}, {1000, 0}}, .run_count = 4};
    struct range range;
    assert_true(share_of_runs(&runs, &range));
    assert_true(range.low == -20 && range.median == 10 && range.high > 88 && range.high < 89);
    runs.run_count = 5;
    assert_true(share_of_runs(&runs, &range) && range.high == 100); /* never more */
    runs = (struct trace){.run_count = 1};
    assert_false(share_of_runs(&runs, &range));

    struct trace run = {.processor_ns = 300, .recording_ns = 100};
    assert_true(share_program_ns(&run) == 200);
    run.recording_ns = 200; /* an estimate so large that the rest is not known */
    assert_true(share_program_ns(&run) == 0);
    run.recording_ns = 400;
    assert_true(share_program_ns(&run) == 0);
    assert_non_null(strstr(share_why_unknown(&run), "for recording"));
    run = (struct trace){.processor_ns = 0};
    assert_non_null(strstr(share_why_unknown(&run), "no processor time"));

    one = (struct gain){.samples = 1, .first = {-100}, .repeated = {100}};
    assert_true(share_is_possible(&one, 100));
    assert_false(share_is_possible(&one, 99));
    one.first[0] = one.repeated[0] = 0;
    assert_true(share_is_possible(&one, 0));
}

/* ---- Lack of memory ---------------------------------------------------------------------------------------------- */

static void no_memory_is_told(void **state) {
    (void)state;
    line("= Call a get < add\n");
    for (unsigned i = 0; i < 600; i++) begin("a", 32 + 4 * i); /* more pairs than the first array holds */
    churn("b", 512, 1000, 400);
    for (int which = 'c'; which < 'z'; which++) {
        for (unsigned i = 0; i < 5; i++) line("= Call %c%u %c%u\n", which, i, which, i);
    }
    for (unsigned i = 0; i < 115; i++) line("@ %c%u + 0x%lx 0x20\n", 'c' + (int)i / 5, i % 5, ++address);
    read_lines();
    unsigned long n = 0;
    bool done = false;
    while (!done) {
        fail_nth(++n);
        done = sources_find(&sources, &trace);
        fail_nth(0);
        if (!done) assert_null(sources.sources);
    }
    assert_true(n > 8);
    struct verdict verdict = verdict_on(0);
    struct gain gain;
    for (n = 1; n <= 2; n++) { /* for the operations, and in a child */
        fail_nth(n);
        assert_int_equal(measure(&verdict, &gain), CLI_FAILED);
    }
    forget();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(sources_are_told_apart_by_the_fewest_frames, clean_up),
        cmocka_unit_test_teardown(sizes_that_no_frame_tells_apart_stay_together, clean_up),
        cmocka_unit_test_teardown(sizes_are_told_apart_where_there_is_no_stack, clean_up),
        cmocka_unit_test_teardown(frames_without_end_are_looked_at_in_part, clean_up),
        cmocka_unit_test_teardown(what_is_freed_at_one_place_is_one_source, clean_up),
        cmocka_unit_test_teardown(arrays_are_left, clean_up),
        cmocka_unit_test_teardown(realloc_of_null_allocates_objects_that_are_never_resized, clean_up),
        cmocka_unit_test_teardown(alignment_is_kept, clean_up),
        cmocka_unit_test_teardown(lives_are_counted, clean_up),
        cmocka_unit_test_teardown(a_name_is_made_from_a_frame, clean_up),
        cmocka_unit_test_teardown(names_differ, clean_up),
        cmocka_unit_test_teardown(the_advice_follows_from_the_lives, clean_up),
        cmocka_unit_test_teardown(an_arena_frees_enough_at_once, clean_up),
        cmocka_unit_test_teardown(many_threads_get_a_shared_pool_for_as_many, clean_up),
        cmocka_unit_test_teardown(a_capacity_is_proved, clean_up),
        cmocka_unit_test_teardown(the_whole_program_is_played, clean_up),
        cmocka_unit_test_teardown(no_memory_for_the_whole_is_told, clean_up),
        cmocka_unit_test(an_interval_contains_the_median),
        cmocka_unit_test(gains_are_shares_of_the_programs_time),
        cmocka_unit_test_teardown(no_memory_is_told, clean_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
