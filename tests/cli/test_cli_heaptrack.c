/* wraps: cli/reading.h */
/* The reader of heaptrack's files: the result of each line, and the sentence for each possible mistake.
 *
 * The linker redirects the reader's allocations to the functions below, so that any of them can be made to fail. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "reading.h"
#include "replay/trace.h"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

static struct trace trace;

static void read_text(const char *text) {
    if (!read_bytes(&trace, text, strlen(text))) fail_msg("%s", problem.text);
    assert_true(trace.by_heaptrack);
}

/* "+0 24 c0;" for an allocation of block 0, 24 bytes, by caller 0; "-0;" for its free. */
static void assert_ops(const char *expected) {
    char text[1024] = "";
    for (size_t i = 0; i < trace.count; i++) {
        const trace_op *op = &trace.ops[i];
        size_t length = strlen(text);
        assert_int_equal(op->thread, 0);
        assert_int_not_equal(op->kind, TRACE_REALLOC);
        if (op->kind == TRACE_FREE)
            snprintf(text + length, sizeof text - length, "-%u;", op->block);
        else
            snprintf(text + length, sizeof text - length, "+%u %llu c%u;", op->block, (unsigned long long)op->size,
                     op->caller);
        if (op->kind == TRACE_FREE) assert_int_equal(op->caller, TRACE_NOBODY);
    }
    assert_string_equal(text, expected);
}

/* What a file begins with: four strings, two places and two stacks, of which the second is in a call of the first. */
#define BEGIN                                                                                                          \
    "v 10400 3\nX ./prog\nI 1000 5e2922\n"                                                                             \
    "s b ./bin/prog:\ns 4 make\ns b /src/tree.c\ns 4 main\n"                                                           \
    "i 401000 1 4 3 3c\nt 1 0\ni 402000 1 2 3 a\nt 2 1\n"

static void lines_become_operations(void **state) {
    (void)state;
    read_text(BEGIN "a 18 2\n+ 0\na 400 1\nc 10\nR 5\n+ 1\n+ 0\n- 1\n+ 1\n- 0\n- 0\n# strings: 4\n\n");
    assert_ops("+0 24 c0;+1 1024 c1;+2 24 c0;-1;+1 1024 c1;-0;-2;");
    assert_int_equal(trace.blocks, 3);
    assert_int_equal(trace.callers, 2);
    assert_string_equal(trace.names[0], "make (tree.c:10) < main (tree.c:60)");
    assert_string_equal(trace.names[1], "main (tree.c:60)");
    assert_int_equal(trace.failed, 0);
    assert_int_equal(trace.unknown, 0);
    assert_int_equal(trace.processor_ns, 0);
    trace_free(&trace);
}

/* Of the live blocks of one size and stack, the oldest is freed; those of others remain. */
static void the_oldest_is_freed(void **state) {
    (void)state;
    read_text(BEGIN "a 8 1\na 8 2\n+ 0\n+ 1\n+ 0\n+ 0\n- 0\n+ 0\n- 0\n- 1\n- 0\n- 0\n+ 0\n- 0\n");
    assert_ops("+0 8 c0;+1 8 c1;+2 8 c0;+3 8 c0;-0;+0 8 c0;-2;-1;-3;-0;+0 8 c0;-0;");
    trace_free(&trace);
}

/* A free may be half of a resize if an allocation of another size is the next operation, and only then. */
static void what_may_be_a_resize(void **state) {
    (void)state;
    read_text(BEGIN "a 8 2\na 10 2\na 8 1\n+ 0\n- 0\n+ 1\n+ 1\n- 1\nc 1\n+ 0\n- 0\n+ 2\n- 1\n- 2\n+ 1\n- 1\n");
    assert_ops("+0 8 c0;-0;+0 16 c0;+1 16 c0;-0;+0 8 c0;-0;+0 8 c1;-1;-0;+0 16 c0;-0;");
    static const bool expected[] = {0, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 0};
    assert_int_equal(trace.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < trace.count; i++) assert_int_equal(trace.ops[i].more, expected[i]);
    trace_free(&trace);
}

/* Several sizes of a stack are one caller, and a block may have no stack. */
static void callers_are_stacks(void **state) {
    (void)state;
    read_text(BEGIN "a 8 2\na 9 2\na 8 0\na 7 0\n+ 0\n+ 1\n+ 2\n+ 3\n");
    assert_ops("+0 8 c0;+1 9 c0;+2 8 c1;+3 7 c1;");
    assert_int_equal(trace.callers, 2);
    assert_string_equal(trace.names[1], "");
    trace_free(&trace);
}

static void assert_name(const char *lines, const char *name) {
    char text[4096];
    snprintf(text, sizeof text, BEGIN "%sa 8 3\n+ 0\n", lines);
    read_text(text);
    assert_string_equal(trace.names[0], name);
    trace_free(&trace);
}

static void places_have_names(void **state) {
    (void)state;
    assert_name("i 9 1 2 3 7 4 3 8 4 3 9\nt 3 0\n", "make (tree.c:7) < main (tree.c:8) < main (tree.c:9)");
    assert_name("i 9 1 2 3 7\nt 3 1\n", "make (tree.c:7) < main (tree.c:60)");
    assert_name("i 9 1 2\nt 3 0\n", "make (prog: at 0x9)");
    assert_name("i 9 1 2 3 0\nt 3 0\n", "make (prog: at 0x9)");
    assert_name("i 9 1 2 0 7\nt 3 0\n", "make (prog: at 0x9)");
    assert_name("i 9 0 2\nt 3 0\n", "make ( at 0x9)");
    assert_name("i 9 1\nt 3 0\n", "prog::[0x9]");
    assert_name("i 9 1 0 3 7\nt 3 0\n", "? (tree.c:7)");
    assert_name("i 9 0\nt 3 0\n", "0x9");
    assert_name("t 0 1\n", "main (tree.c:60)");
    assert_name("s 0 \ns 6 a < b \ni 9 5 6 5 1\nt 3 0\n", "a <b  (:1)");
    assert_name("i 9 1 2 3 80000000\nt 3 0\n", "make (prog: at 0x9)");
}

/* Long names and deep stacks have an end, at which a frame is whole. */
static void names_have_an_end(void **state) {
    (void)state;
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    fprintf(out, BEGIN "s 12c %0300d\n", 0);
    fprintf(out, "i 9 1 5 3 7\nt 3 0\n");
    for (int i = 3; i < 100; i++) fprintf(out, "t 3 %x\n", i);
    for (int i = 0; i < 100; i++) fprintf(out, "t 2 %x\n", 100 + i); /* the innermost ones */
    fprintf(out, "a 8 64\na 8 c8\n+ 0\n+ 1\n");
    fclose(out);
    read_text(text);
    char frame[512];
    snprintf(frame, sizeof frame, "%0240d... (tree.c:7)", 0);
    assert_int_equal(strncmp(trace.names[0], frame, strlen(frame)), 0);
    size_t each = strlen(frame) + strlen(" < ");
    assert_int_equal(strlen(trace.names[0]) % each, strlen(frame));
    assert_in_range(strlen(trace.names[0]) / each, 50, 16384 / each);
    assert_int_equal(strlen(trace.names[1]), 64 * strlen("make (tree.c:10) < ") - strlen(" < "));
    trace_free(&trace);
    free(text);
}

static void the_command_may_be_anything(void **state) {
    (void)state;
    read_text("v 10400 3\nX python3 -c import x\n- 7\ns 9 short\n\nv\nx\nI 1000 1\na 8 0\n+ 0\n");
    assert_ops("+0 8 c0;");
    trace_free(&trace);
}

static void format_2_has_no_lengths(void **state) {
    (void)state;
    read_text("v 10000 2\nX david\nI 1000 3e44e5\nS leak:foobar\ns /bin/da vid\ns make\ns tree.c\ns \ns\n"
              "i 9 1 2 3 7\nt 1 0\nA\na 8 1\n+ 0\n");
    assert_string_equal(trace.names[0], "make (tree.c:7)");
    trace_free(&trace);
}

/* ---- What can be wrong ------------------------------------------------------------------------------------------- */

static void each_fault_has_its_sentence(void **state) {
    (void)state;
    static const struct {
        const char *text, *sentence;
    } faults[] = {
        {"v 10400 4\n", "line 1: heaptrack's format 4 is not known here, only 2 and 3"},
        {"v 10200 1\n", "line 1: heaptrack's files from before version 1.0 are not read here"},
        {"v 10200\n", "line 1: heaptrack's files from before version 1.0 are not read here"},
        {"v 10400 3 1\n", "line 1: '1' is more than the line may have"},
        {"v x 3\n", "line 1: 'x' is not a hexadecimal number of 64 bits"},
        {"v  3\n", "line 1: a number is missing"},
        {"v 10550 3\nx 3b /home\n",
         "line 2: this is a raw recording of heaptrack, which heaptrack_interpret must read first"},
        {"v 10550 3\nm 1 -\n",
         "line 2: this is a raw recording of heaptrack, which heaptrack_interpret must read first"},
        {"v 1 3\nq 1\n", "line 2: expected a line as heaptrack writes it, not 'q 1'"},
        {"v 1 3\nalpha\n", "line 2: expected a line as heaptrack writes it, not 'alpha'"},
        {"v 1 3\nX\n", "line 2: expected a line as heaptrack writes it, not 'X'"},
        {"v 1 3\ns 5 four\n", "line 2: a string of 5 bytes is announced, and 4 follow"},
        {"v 1 3\ns 3 four\n", "line 2: a string of 3 bytes is announced, and 4 follow"},
        {"v 1 3\ns x four\n", "line 2: 'x' is not a hexadecimal number of 64 bits"},
        {"v 1 3\ns\n", "line 2: a number is missing"},
        {"v 1 3\ni\n", "line 2: a number is missing"},
        {"v 1 3\ni 1\n", "line 2: a number is missing"},
        {"v 1 3\ni 10000000000000000 0\n", "line 2: '10000000000000000' is not a hexadecimal number of 64 bits"},
        {BEGIN "i 1 5\n", "line 12: 0x5 is more than the 0x4 strings before it"},
        {BEGIN "i 1 4 5\n", "line 12: 0x5 is more than the 0x4 strings before it"},
        {BEGIN "i 1 4 1 5 1\n", "line 12: 0x5 is more than the 0x4 strings before it"},
        {BEGIN "i 1 4 1 1\n", "line 12: a number is missing"},
        {BEGIN "i 1 4 1 1 1g\n", "line 12: '1g' is not a hexadecimal number of 64 bits"},
        {BEGIN "i 1 4 1 1 1 1 ffffffffffffffff 1\n",
         "line 12: 0xffffffffffffffff is more than the 0x4 strings before it"},
        {BEGIN "t 3 0\n", "line 12: 0x3 is more than the 0x2 addresses before it"},
        {BEGIN "t 1 3\n", "line 12: 0x3 is more than the 0x2 stacks before it"},
        {BEGIN "t 1\n", "line 12: a number is missing"},
        {BEGIN "t 1 1 1\n", "line 12: '1' is more than the line may have"},
        {BEGIN "a 8 3\n", "line 12: 0x3 is more than the 0x2 stacks before it"},
        {BEGIN "a 8\n", "line 12: a number is missing"},
        {BEGIN "a 8 1 more words than there may be behind it, I say\n",
         "line 12: 'more words than there may be behind it, I sa...' is more than the line may have"},
        {BEGIN "a 800000000001 1\n", "line 12: no block can be so large: 0x800000000001 bytes"},
        {BEGIN "+ 0\n", "line 12: no 'a' before it has the number 0x0"},
        {BEGIN "a 8 1\n+ 1\n", "line 13: no 'a' before it has the number 0x1"},
        {BEGIN "a 8 1\n+\n", "line 13: a number is missing"},
        {BEGIN "a 8 1\n+ 0 0\n", "line 13: '0' is more than the line may have"},
        {BEGIN "a 8 1\n- 1\n", "line 13: no 'a' before it has the number 0x1"},
        {BEGIN "a 8 1\n- 0\n", "line 13: a block of '0' is freed, and none is alive"},
        {BEGIN "a 8 1\n+ 0\n- 0\n- 0\n", "line 15: a block of '0' is freed, and none is alive"},
        {"\x1f\x8b\x08 compressed",
         "line 1: it is compressed by gzip; 'gzip -dc FILE' writes what can be read, and - reads "
         "it from there"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (read_bytes(&trace, faults[i].text, strlen(faults[i].text))) fail_msg("it is read: %s", faults[i].text);
        assert_string_equal(problem.text, faults[i].sentence);
        assert_null(trace.ops);
    }
}

/* ---- Long files -------------------------------------------------------------------------------------------------- */

/* Each block has its own string, place, stack and size. Each is allocated by its own stack, or all by one of them. */
static char *long_text(size_t blocks, bool one_stack, size_t *length) {
    char *text = NULL;
    FILE *out = open_memstream(&text, length);
    fprintf(out, BEGIN);
    for (size_t i = 0; i < blocks; i++) {
        fprintf(out, "s 6 %06zu\ni %zx 1 %zx 3 %zx\nt %zx %zx\n", i, i, i + 5, i + 1, i + 3, i + 2);
        fprintf(out, "a %zx %zx\n+ %zx\n", i * 7919 % 5000, one_stack ? 3 : i + 3, i);
    }
    for (size_t i = 0; i < blocks; i++) fprintf(out, "- %zx\n", i);
    fclose(out);
    return text;
}

static void every_cut_is_noticed(void **state) {
    (void)state;
    size_t length;
    char *text = long_text(40, false, &length);
    size_t size;
    char *packed = compress(text, length, &size);
    assert_true(read_bytes(&trace, packed, size));
    assert_int_equal(trace.count, 80);
    assert_int_equal(trace.blocks, 40);
    assert_int_equal(trace.callers, 40);
    trace_free(&trace);
    assert_cuts_are_noticed(text, length);
    free(text);
    free(packed);
}

static void no_memory_is_a_sentence(void **state) {
    (void)state;
    size_t length;
    char *text = long_text(3000, true, &length);
    assert_true(read_with_less(text, length) > 20);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_operations),     cmocka_unit_test(the_oldest_is_freed),
        cmocka_unit_test(what_may_be_a_resize),        cmocka_unit_test(callers_are_stacks),
        cmocka_unit_test(places_have_names),           cmocka_unit_test(names_have_an_end),
        cmocka_unit_test(the_command_may_be_anything), cmocka_unit_test(format_2_has_no_lengths),
        cmocka_unit_test(each_fault_has_its_sentence), cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(no_memory_is_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
