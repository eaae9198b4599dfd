/* wraps: cli/failing_malloc.h realloc */
/* The reader of traces: the result of each line, and the sentence for each possible mistake.
 *
 * The linker redirects the reader's allocations to the functions below, so that any of them can be made to fail. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "failing_malloc.h"
#include "replay/input.h"
#include "replay/map.h"
#include "replay/trace.h"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

void *__wrap_realloc(void *object, size_t size) {
    return refused() ? NULL : __real_realloc(object, size);
}

static struct trace_problem problem; /* of the last trace that was read */

static bool read_bytes(struct trace *trace, const void *bytes, size_t size) {
    FILE *file = fmemopen((void *)(uintptr_t)bytes, size, "rb");
    assert_non_null(file);
    problem.text[0] = '\0';
    bool read = trace_read(trace, file, &problem);
    fclose(file);
    if (read) assert_true(trace_is_valid(trace));
    assert_int_equal(read, problem.text[0] == '\0');
    return read;
}

static char *compress(const char *text, size_t length, size_t *size) {
    size_t room = ZSTD_compressBound(length);
    char *packed = malloc(room);
    *size = ZSTD_compress(packed, room, text, length, 3);
    return packed;
}

/* The operations of a trace that is cut off are the first ones of the whole. */
static void assert_is_prefix(const struct trace *cut, const struct trace *whole) {
    assert_true(cut->count <= whole->count);
    for (size_t i = 0; i < cut->count; i++) {
        assert_int_equal(cut->ops[i].kind, whole->ops[i].kind);
        assert_int_equal(cut->ops[i].block, whole->ops[i].block);
        assert_int_equal(cut->ops[i].caller, whole->ops[i].caller);
        assert_int_equal(cut->ops[i].size, whole->ops[i].size);
    }
}

/* Of a text with less than a block of zstd, each part is noticed as such: of the first line, it is no trace. */
static void assert_cuts_are_noticed(const char *text, size_t length) {
    struct trace whole, trace;
    size_t size, first = (size_t)(strchr(text, '\n') - text);
    char *packed = compress(text, length, &size);
    assert_true(read_bytes(&whole, packed, size));
    for (size_t cut = 1; cut < size; cut++) assert_false(read_bytes(&trace, packed, cut));
    assert_string_equal(problem.text, "line 1: its zstd data end too early");
    for (size_t cut = 1; cut < length; cut++) {
        assert_int_equal(read_bytes(&trace, text, cut), cut > first);
        if (cut <= first) continue;
        assert_int_equal(trace.cut_line == 0, text[cut - 1] == '\n'); /* mtrace's may end after any line */
        assert_is_prefix(&trace, &whole);
        trace_free(&trace);
    }
    trace_free(&whole);
    packed[size / 2] ^= 0x40;
    assert_false(read_bytes(&trace, packed, size));
    free(packed);
}

/* Reads a trace again and again, each time with one allocation more that succeeds, until all of it is read. Each
 * failure must be a sentence. Returns how many allocations it takes. */
static unsigned long read_with_less(char *text, size_t length) {
    struct trace trace;
    bool read = false;
    unsigned long n = 0;
    while (!read) {
        FILE *file = fmemopen(text, length, "rb");
        allocations = 0;
        failing = ++n;
        all_after = true;
        problem.text[0] = '\0';
        read = trace_read(&trace, file, &problem);
        failing = 0;
        fclose(file);
        if (read) continue;
        assert_non_null(strstr(problem.text, "there is no memory"));
        assert_null(trace.ops);
    }
    trace_free(&trace);
    return n;
}

static struct trace read_text(const char *text) {
    struct trace trace;
    if (!read_bytes(&trace, text, strlen(text))) fail_msg("%s", problem.text);
    return trace;
}

/* One character per operation, with block, size and caller: "+0 24 c0" and so on. */
static void assert_ops(const struct trace *trace, const char *expected) {
    char text[1024] = "";
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        size_t length = strlen(text);
        if (op->kind == TRACE_FREE)
            snprintf(text + length, sizeof text - length, "-%u;", op->block);
        else
            snprintf(text + length, sizeof text - length, "%c%u %llu c%u;", op->kind == TRACE_ALLOC ? '+' : '>',
                     op->block, (unsigned long long)op->size, op->caller);
    }
    assert_string_equal(text, expected);
}

static void lines_become_operations(void **state) {
    (void)state;
    struct trace trace = read_text("= Start\n"
                                   "@ ./my program:(make+12)[0x1] + 0x5581e2a0 0x18\n"
                                   "@ ./my program:[0x2] + 0x5581e2d0 0x400\n"
                                   "@ ./my program:(make+12)[0x1] + 0x5581f2d0 0\n"
                                   "@ ./my program:[0x2] - 0x5581e2d0\n"
                                   "@ ./my program:[0x2] < 0x5581e2a0\n"
                                   "@ ./my program:[0x3] > 0x5581e2d0 0x20\n"
                                   "+ 0xffffffffffffffff 0x10\n"
                                   "- 0x5581e2d0\n"
                                   "= End\n");
    assert_ops(&trace, "+0 24 c0;+1 1024 c1;+2 0 c0;-1;>0 32 c2;+1 16 c3;-0;");
    assert_int_equal(trace.blocks, 3);
    assert_int_equal(trace.callers, 4); /* one of them unknown */
    assert_int_equal(trace.failed, 0);
    assert_int_equal(trace.unknown, 0);
    trace_free(&trace);
}

static void what_cannot_be_replayed_is_counted(void **state) {
    (void)state;
    struct trace trace = read_text("@ a + (nil) 0x7fffffffffffffff\n"
                                   "@ a + 0x10 0x8\n"
                                   "@ a ! 0x10 0xffffffffffffffff\n"
                                   "@ a - 0x99\n"
                                   "@ a < 0x98\n"
                                   "@ a > 0x20 0x9\n"
                                   "@ a - (nil)\n");
    assert_ops(&trace, "+0 8 c0;+1 9 c0;");
    assert_int_equal(trace.failed, 2);
    assert_int_equal(trace.unknown, 3);
    trace_free(&trace);
}

static void an_address_given_out_twice_ends_its_block(void **state) {
    (void)state;
    struct trace trace = read_text("@ a + 0x10 0x1\n@ a + 0x10 0x2\n"
                                   "@ a + 0x20 0x3\n@ a < 0x20\n@ a > 0x10 0x4\n"
                                   "@ a < 0x10\n@ a > 0x10 0x5\n");
    assert_ops(&trace, "+0 1 c0;-0;+0 2 c0;+1 3 c0;-0;>1 4 c0;>1 5 c0;");
    assert_int_equal(trace.blocks, 2);
    trace_free(&trace);
}

static void threads_and_calls(void **state) {
    (void)state;
    struct trace trace = read_text("= Start\n"
                                   "@ 1 + 0x10 0x8\n"
                                   "= Thread 0xffff\n"
                                   "= Call 2 node_new < parse < main\n"
                                   "@ 2 + 0x20 0x9\n"
                                   "@ 1 - 0x10\n"
                                   "= Thread 0\n"
                                   "+ 0x30 0x1\n"
                                   "= Call 1 name with spaces\n"
                                   "= Call 3 never\n"
                                   "= End\n");
    assert_ops(&trace, "+0 8 c0;+1 9 c1;-0;+0 1 c2;");
    static const int threads[] = {0, 0xffff, 0xffff, 0};
    for (size_t i = 0; i < 4; i++) assert_int_equal(trace.ops[i].thread, threads[i]);
    assert_int_equal(trace.callers, 4);
    static const char *const names[] = {"name with spaces", "node_new < parse < main", "", "never"};
    for (size_t i = 0; i < 4; i++) assert_string_equal(trace.names[i], names[i]);
    trace_free(&trace);
}

static void functions_and_frees_are_kept(void **state) {
    (void)state;
    struct trace trace = read_text("@ a + 0x10 0x8\n"
                                   "@ b * 0x20 0x3 0x10\n"
                                   "@ c % 0x30 0x40 0x80\n"
                                   "@ d < (nil)\n@ d > 0x40 0x5\n"
                                   "@ a * (nil) 0xffffffffffffffff 0x10\n@ a % (nil) 0x10 0x10\n@ a ! (nil) 0x10\n"
                                   "@ a * 0x50 0x100000000 0x1\n"
                                   "@ e - 0x10\n- 0x20\n@ a + 0x30 0x9\n"
                                   "@ d < 0x40\n@ f > 0x60 0x6\n");
    assert_ops(&trace, "+0 8 c0;+1 48 c1;+2 128 c2;+3 5 c3;+4 4294967296 c0;-0;-1;-2;+2 9 c0;>3 6 c6;");
    static const struct {
        uint32_t caller, more;
        trace_by by;
    } ops[] = {{0, 0, TRACE_BY_MALLOC},          {1, 3, TRACE_BY_CALLOC},
               {2, 0x40, TRACE_BY_ALIGNED},      {3, 0, TRACE_BY_REALLOC},
               {0, UINT32_MAX, TRACE_BY_CALLOC}, {4, 0, TRACE_BY_MALLOC},
               {5, 0, TRACE_BY_MALLOC},          {TRACE_NOBODY, 0, TRACE_BY_MALLOC},
               {0, 0, TRACE_BY_MALLOC},          {6, 0, TRACE_BY_MALLOC}};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        assert_int_equal(trace.ops[i].caller, ops[i].caller);
        assert_int_equal(trace.ops[i].by, ops[i].by);
        assert_int_equal(trace.ops[i].more, ops[i].more);
    }
    assert_string_equal(trace.names[4], "e");
    assert_string_equal(trace.names[5], "");
    assert_int_equal(trace.failed, 3);
    assert_int_equal(trace.unknown, 0);
    trace_free(&trace);
}

/* Both names of a stack, where a frame begins; tests/watch/test_site_names.c has more names. */
static void names_of_cxx_are_read(void **state) {
    (void)state;
    static const struct {
        const char *mangled, *name;
    } rows[] = {
        {"_ZN4shop5store3addEi", "shop::store::add"},
        {"_ZN4shop9toolarge", "_ZN4shop9toolarge"},
        {"z_Z3addi", "z_Z3addi"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512], expected[512];
        snprintf(text, sizeof text, "@ 1 + 0x10 0x8\n= Call 1 %s (a.cc:1) < %s < main (a.cc:2)\n= End\n",
                 rows[i].mangled, rows[i].mangled);
        snprintf(expected, sizeof expected, "%s (a.cc:1) < %s < main (a.cc:2)", rows[i].name, rows[i].name);
        struct trace trace = read_text(text);
        assert_string_equal(trace.names[0], expected);
        trace_free(&trace);
    }
}

static void times_are_kept(void **state) {
    (void)state;
    struct trace trace = read_text("= Start\n@ a + 0x10 0x8\n= Ran 3b9aca00 0x10 ffffffffffffffff\n= End\n");
    assert_int_equal(trace.processor_ns, 1000000000);
    assert_int_equal(trace.recording_ns, 16);
    assert_int_equal(trace.wall_ns, UINT64_MAX);
    trace_free(&trace);
    assert_int_equal(trace_program_ns(100, 0), 100);
    assert_int_equal(trace_program_ns(100, 33), 67);
    assert_int_equal(trace_program_ns(100, 34), 0);
    assert_int_equal(trace_program_ns(100, UINT64_MAX), 0);
    assert_int_equal(trace_program_ns(0, 0), 0);
    trace = read_text("= Start\n= End\n");
    assert_int_equal(trace.processor_ns, 0);
    assert_int_equal(trace.run_count, 0);
    trace_free(&trace);
    trace = read_text("= Start\n= Run 3b9aca00 10\n= Run 0x1 ffffffffffffffff\n= End\n");
    assert_int_equal(trace.run_count, 2);
    assert_int_equal(trace.runs[0].plain_ns, 1000000000);
    assert_int_equal(trace.runs[0].kolk_ns, 16);
    assert_int_equal(trace.runs[1].plain_ns, 1);
    assert_int_equal(trace.runs[1].kolk_ns, UINT64_MAX);
    trace_free(&trace);
}

/* ---- What can be wrong ------------------------------------------------------------------------------------------- */

#define NOT_A_LINE(line, text)                                                                                         \
    "line " line ": expected '@ CALLER + ADDRESS SIZE' or its like, as glibc's mtrace writes it, not '" text "'"

#define RUN "= Run 1 1\n= Run 1 1\n= Run 1 1\n"

static void each_fault_has_its_sentence(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } faults[] = {
        {"PK\003\004 a zip file\n", NOT_A_LINE("1", "PK?? a zip file")},
        {"= Start\n#include <stdio.h>\n", NOT_A_LINE("2", "#include <stdio.h>")},
        {"\n", NOT_A_LINE("1", "")},
        {"@ a * 0x10 0x10\n", NOT_A_LINE("1", "@ a * 0x10 0x10")},
        {"@ a +\n", NOT_A_LINE("1", "@ a +")},
        {"a + 0x10 0x10\n", NOT_A_LINE("1", "a + 0x10 0x10")},
        {"= Start\r\n", NOT_A_LINE("1", "= Start?")},
        {"an endless line: 0123456789 0123456789 0123456789 0123456789\n",
         NOT_A_LINE("1", "an endless line: 0123456789 0123456789 01234...")},
        {"@ a + 0x10 0x1g\n", "line 1: '0x1g' is not a hexadecimal number of 64 bits"},
        {"@ a + 0x10 -1\n", "line 1: '-1' is not a hexadecimal number of 64 bits"},
        {"@ a + 0x 0x1\n", "line 1: '0x' is not a hexadecimal number of 64 bits"},
        {"@ a - 0x10000000000000000\n", "line 1: '0x10000000000000000' is not a hexadecimal number of 64 bits"},
        {"@ a + 0x10 \n", "line 1: a number is missing"},
        {"@ a + 0x10 0x800000000001\n", "line 1: no block can be so large: 0x800000000001 bytes"},
        {"@ a * 0x10 0x10000 0x80000001\n", "line 1: no block can be so large: 0x800000010000 bytes"},
        {"@ a * 0x10 0x100000000 0x100000000\n", "line 1: no block can be so large: 0xffffffffffffffff bytes"},
        {"@ a % 0x10 0x10 0x800000000001\n", "line 1: no block can be so large: 0x800000000001 bytes"},
        {"@ a % 0x10 0x1g 0x10\n", "line 1: '0x1g' is not a hexadecimal number of 64 bits"},
        {"@ a % 0x10 0x10 0x10 0x10\n", NOT_A_LINE("1", "@ a % 0x10 0x10 0x10 0x10")},
        {"@ a > 0x10 0x10\n", "line 1: a '>' needs a '<' in the line before"},
        {"@ a < 0x10\n@ a - 0x10\n", "line 2: expected the '>' that belongs to the '<' of the line before"},
        {"@ a < 0x10\n= End\n", "line 2: expected the '>' that belongs to the '<' of the line before"},
        {"@ a < 0x10\n", "line 2: the file ends before the '>' that belongs to the last '<'"},
        {"@ a < 0x10\n@ a > (nil) 0x10\n", "line 2: a block cannot be moved to the address 0"},
        {"= Thread 0x10000\n", "line 1: the number of a thread may be no more than 0xffff"},
        {"= Thread one\n", "line 1: 'one' is not a hexadecimal number of 64 bits"},
        {"= Thread\n", NOT_A_LINE("1", "= Thread")},
        {"= Call 7\n", "line 1: expected '= Call CALLER FRAMES', not '7' behind '= Call'"},
        {"= Run\n", NOT_A_LINE("1", "= Run")},
        {"= Run 1\n", "line 1: expected '= Run PLAIN KOLK', not '1' behind '= Run'"},
        {"= Run 1 2 3\n", "line 1: expected '= Run PLAIN KOLK', not '1 2 3' behind '= Run'"},
        {"= Run x 2\n", "line 1: 'x' is not a hexadecimal number of 64 bits"},
        {"= Run 2 x\n", "line 1: 'x' is not a hexadecimal number of 64 bits"},
        {RUN RUN RUN RUN RUN RUN RUN "= Run 1 1\n", "line 22: a trace may have no more than 21 lines '= Run'"},
        {"= Ran\n", NOT_A_LINE("1", "= Ran")},
        {"= Ran 1 2\n", "line 1: expected '= Ran PROCESSOR RECORDING WALL', not '1 2' behind '= Ran'"},
        {"= Ran 1 2 3 4\n", "line 1: expected '= Ran PROCESSOR RECORDING WALL', not '1 2 3 4' behind '= Ran'"},
        {"= Ran 1 2 x\n", "line 1: 'x' is not a hexadecimal number of 64 bits"},
        {"= Ran 1 10000000000000000 3\n", "line 1: '10000000000000000' is not a hexadecimal number of 64 bits"},
        {"@ a + 0x10 0x1", "line 1: the file ends within the line: it is cut off"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct trace trace;
        assert_false(read_bytes(&trace, faults[i].text, strlen(faults[i].text)));
        assert_string_equal(problem.text, faults[i].sentence);
        assert_null(trace.ops);
    }
}

static void a_file_may_hold_anything(void **state) {
    (void)state;
    struct trace trace;
    assert_false(read_bytes(&trace, "= Start\n\0\0\0\n", 12));
    assert_string_equal(problem.text, NOT_A_LINE("2", "???"));

    FILE *empty = fopen("/dev/null", "rb");
    assert_false(trace_read(&trace, empty, &problem));
    assert_string_equal(problem.text, "line 1: the file is empty");
    fclose(empty);

    FILE *folder = fopen("/", "rb");
    assert_non_null(folder);
    assert_false(trace_read(&trace, folder, &problem));
    assert_string_equal(problem.text, "it cannot be read: Is a directory");
    fclose(folder);
}

static void lines_have_a_longest(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        char *text = NULL;
        size_t length = 0;
        FILE *out = open_memstream(&text, &length);
        fprintf(out, "= Start\n@ %0*d + 0x10 0x10\n", INPUT_LINE_MOST - (int)strlen("@  + 0x10 0x10") + more, 0);
        fclose(out);
        struct trace trace;
        assert_int_equal(read_bytes(&trace, text, length), more == 0);
        if (more > 0) assert_string_equal(problem.text, "line 2: the line is too long");
        trace_free(&trace);
        free(text);
    }
}

/* ---- Long traces, plain and compressed --------------------------------------------------------------------------- */

static char *long_text(size_t blocks, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    fprintf(out, "= Start\n");
    for (size_t i = 1; i <= blocks; i++) fprintf(out, "@ main:[%#zx] + %#zx %#zx\n", i % 1000, i * 16, i * 7919 % 5000);
    for (size_t i = 1; i <= blocks; i++) fprintf(out, "@ main:[0x9] - %#zx\n", i * 16);
    fclose(out);
    return text;
}

/* Compresses the text in two frames, with the boundary within a line. */
static void assert_same_compressed(size_t blocks) {
    size_t length;
    char *text = long_text(blocks, &length);
    size_t room = ZSTD_compressBound(length);
    char *packed = malloc(2 * room);
    size_t size = ZSTD_compress(packed, room, text, length / 2, 3);
    size += ZSTD_compress(packed + size, room, text + length / 2, length - length / 2, 3);

    struct trace plain, same;
    assert_true(read_bytes(&plain, text, length));
    assert_true(read_bytes(&same, packed, size));
    assert_int_equal(plain.count, 2 * blocks);
    assert_int_equal(plain.blocks, blocks);
    assert_int_equal(plain.callers, blocks < 1000 ? blocks : 1000);
    assert_int_equal(same.count, plain.count);
    assert_int_equal(same.callers, plain.callers);
    assert_is_prefix(&same, &plain);
    trace_free(&plain);
    trace_free(&same);
    free(text);
    free(packed);
}

static void compressed_traces_are_the_same(void **state) {
    (void)state;
    assert_same_compressed(10);
    assert_same_compressed(3000); /* the last block of the zstd data has more text than the reader can hold */
    assert_same_compressed(30000);
}

static void what_is_before_a_cut_is_used(void **state) {
    (void)state;
    size_t length;
    char *text = long_text(60000, &length);
    size_t size, used = 0, least = SIZE_MAX, most = 0;
    char *packed = compress(text, length, &size);
    struct trace whole, trace;
    assert_true(read_bytes(&whole, packed, size));
    assert_int_equal(whole.cut_line, 0);
    for (size_t cut = size - 1; cut > 0; cut -= cut > size / 16 ? size / 16 : cut) {
        if (!read_bytes(&trace, packed, cut)) {
            assert_string_equal(problem.text, "line 1: its zstd data end too early");
            continue;
        }
        assert_true(trace.cut_line > 0);
        assert_is_prefix(&trace, &whole);
        if (trace.count < least) least = trace.count;
        if (trace.count > most) most = trace.count;
        used++;
        trace_free(&trace);
    }
    assert_true(used > 4 && most > whole.count / 2 && least < most);
    trace_free(&whole);
    free(text);
    free(packed);

    assert_true(read_bytes(&trace, "@ a + 0x10 0x40\n@ a < 0x10\n@ a > 0x2", 36));
    assert_int_equal(trace.count, 1);
    assert_int_equal(trace.cut_line, 3);
    trace_free(&trace);
    assert_true(read_bytes(&trace, "@ a + 0x10 0x40\n= End", 21));
    assert_int_equal(trace.cut_line, 0);
    trace_free(&trace);
}

static void every_cut_is_noticed(void **state) {
    (void)state;
    size_t length;
    char *text = long_text(40, &length);
    assert_cuts_are_noticed(text, length);
    free(text);
}

static void no_memory_is_a_sentence(void **state) {
    (void)state;
    size_t length;
    char *text = long_text(3000, &length);
    assert_true(read_with_less(text, length) > 10);
    free(text);
}

/* ---- The map that the reader uses -------------------------------------------------------------------------------- */

static void a_map_is_as_an_array(void **state) {
    (void)state;
    enum { KEYS = 3000, STEPS = 300000 };
    static uint32_t model[KEYS + 1]; /* 0: absent */
    struct map map = {0};
    uint64_t random = 1;
    size_t count = 0;
    uint32_t value;
    assert_false(map_get(&map, 5, &value));
    map_remove(&map, 5);
    for (uint32_t step = 1; step <= STEPS; step++) {
        random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        size_t key = 1 + (random >> 33) % KEYS;
        if (random >> 40 & 1) {
            assert_true(map_put(&map, key, step));
            count += model[key] == 0;
            model[key] = step;
        } else {
            map_remove(&map, key);
            count -= model[key] != 0;
            model[key] = 0;
        }
        assert_int_equal(map.count, count);
        if (step % 1000 != 0) continue;
        for (key = 1; key <= KEYS; key++) {
            assert_int_equal(map_get(&map, key, &value), model[key] != 0);
            if (model[key]) assert_int_equal(value, model[key]);
        }
    }
    assert_false(map_get(&map, 0, &value));
    map_free(&map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_operations),
        cmocka_unit_test(what_cannot_be_replayed_is_counted),
        cmocka_unit_test(an_address_given_out_twice_ends_its_block),
        cmocka_unit_test(threads_and_calls),
        cmocka_unit_test(functions_and_frees_are_kept),
        cmocka_unit_test(names_of_cxx_are_read),
        cmocka_unit_test(times_are_kept),
        cmocka_unit_test(each_fault_has_its_sentence),
        cmocka_unit_test(a_file_may_hold_anything),
        cmocka_unit_test(lines_have_a_longest),
        cmocka_unit_test(compressed_traces_are_the_same),
        cmocka_unit_test(what_is_before_a_cut_is_used),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(no_memory_is_a_sentence),
        cmocka_unit_test(a_map_is_as_an_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
