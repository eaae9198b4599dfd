/* trace.c: see trace.h.
 *
 * A line is read from its end, because a CALLER may contain anything, such as a folder's name with spaces.
 */
#define _POSIX_C_SOURCE 200809L
#include "trace.h"
#include "../../src/watch/cxx_name.h"
#include "heaptrack.h"
#include "map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct record {
    char verb; /* one of + * % - < > ! or = */
    uint64_t address, size;
    uint64_t more; /* of * and %: the count of objects, or their alignment */
    struct span caller;
};

struct reader {
    struct maker *maker;
    struct map blocks, callers; /* from addresses to blocks; from hashes of CALLER to numbers */
    uint16_t thread;
    bool resizes;     /* the previous line was a '<' ... */
    uint64_t resized; /* ... with this address */
};

/* ---- A line ------------------------------------------------------------------------------------------------------ */

/* Removes the last word of a line and the space before it, and returns the word. */
static struct span take_last(struct span *line) {
    size_t begin = line->length;
    while (begin > 0 && line->text[begin - 1] != ' ') begin--;
    struct span word = {line->text + begin, line->length - begin};
    line->length = begin > 0 ? begin - 1 : 0;
    return word;
}

static bool is(struct span span, const char *text) {
    return span.length == strlen(text) && memcmp(span.text, text, span.length) == 0;
}

static char verb_of(struct span word, const char *verbs) {
    return word.length == 1 && memchr(verbs, word.text[0], strlen(verbs)) ? word.text[0] : '\0';
}

static bool parse_number(struct reader *reader, struct span word, uint64_t *number) {
    struct span digits = word;
    if (is(word, "(nil)")) digits = (struct span){"0", 1}; /* the way printf writes a null pointer */
    if (digits.length > 2 && memcmp(digits.text, "0x", 2) == 0) digits = (struct span){word.text + 2, word.length - 2};
    if (!maker_parse(digits, number))
        return maker_fail(reader->maker, "'%s' is not a hexadecimal number of 64 bits", maker_quote(word).text);
    return digits.length > 0 || maker_fail(reader->maker, "a number is missing");
}

static bool parse_line(struct reader *reader, struct span line, struct record *record) {
    *record = (struct record){.verb = '='};
    if (is(line, "= Start") || is(line, "= End")) return true;
    static const char *const verbs[] = {"-<", "+>!", "*%"}; /* by the count of the numbers after them */
    struct span rest = line, numbers[3], word = take_last(&rest);
    size_t count = 0;
    for (record->verb = '\0'; !record->verb && count < 3; count++) {
        numbers[count] = word; /* the last one first */
        word = take_last(&rest);
        record->verb = verb_of(word, verbs[count]);
    }
    bool placed = rest.length > 2 && memcmp(rest.text, "@ ", 2) == 0; /* the line has a caller */
    if (!record->verb || (rest.length > 0 && !placed))
        return maker_fail(reader->maker,
                          "expected '@ CALLER + ADDRESS SIZE' or its like, as glibc's mtrace writes it, not '%s'",
                          maker_quote(line).text);
    if (placed) record->caller = (struct span){rest.text + 2, rest.length - 2};
    if (!parse_number(reader, numbers[count - 1], &record->address)) return false;
    if (count > 1 && !parse_number(reader, numbers[0], &record->size)) return false;
    return count < 3 || parse_number(reader, numbers[1], &record->more);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static bool add_op(struct reader *reader, trace_op op) {
    op.thread = reader->thread;
    return maker_add_op(reader->maker, op);
}

/* Returns the number of this caller. Callers are identified by a 64-bit hash, not by their text (Fowler, Noll, Vo:
 * FNV-1a). Among a million callers, the chance of a collision is 1 in 40 million. */
static bool number_caller(struct reader *reader, struct span caller, uint32_t *number) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < caller.length; i++) hash = (hash ^ (unsigned char)caller.text[i]) * UINT64_C(0x100000001b3);
    if (hash == 0) hash = 1;
    if (map_get(&reader->callers, hash, number)) return true;
    if (!maker_add_caller(reader->maker, caller, number)) return false;
    return map_put(&reader->callers, hash, *number) || maker_fail_memory(reader->maker);
}

/* `caller` is TRACE_NOBODY if this free was not recorded. */
static bool add_free(struct reader *reader, uint64_t address, uint32_t caller) {
    uint32_t block;
    if (!map_get(&reader->blocks, address, &block)) {
        reader->maker->trace->unknown++;
        return true;
    }
    map_remove(&reader->blocks, address);
    maker_return_block(reader->maker, block);
    return add_op(reader, (trace_op){.kind = TRACE_FREE, .block = block, .caller = caller});
}

/* Frees the block that still has this address. Its own free was not recorded. */
static bool end_unseen(struct reader *reader, uint64_t address) {
    uint32_t block;
    return !map_get(&reader->blocks, address, &block) || add_free(reader, address, TRACE_NOBODY);
}

static uint8_t function_of(char verb) {
    if (verb == '*') return TRACE_BY_CALLOC;
    if (verb == '%') return TRACE_BY_ALIGNED;
    return verb == '>' ? TRACE_BY_REALLOC : TRACE_BY_MALLOC; /* a realloc of NULL, or of a block that is not known */
}

static bool add_alloc(struct reader *reader, const struct record *record) {
    trace_op op = {.kind = TRACE_ALLOC, .size = record->size, .by = function_of(record->verb)};
    op.more = record->more < UINT32_MAX ? (uint32_t)record->more : UINT32_MAX;
    if (!number_caller(reader, record->caller, &op.caller) || !end_unseen(reader, record->address)) return false;
    if (!maker_take_block(reader->maker, &op.block)) return false;
    return map_put(&reader->blocks, record->address, op.block) ? add_op(reader, op) : maker_fail_memory(reader->maker);
}

static bool add_realloc(struct reader *reader, const struct record *record) {
    trace_op op = {.kind = TRACE_REALLOC, .size = record->size};
    if (reader->resized == 0) return add_alloc(reader, record);
    if (!map_get(&reader->blocks, reader->resized, &op.block)) {
        reader->maker->trace->unknown++;
        return add_alloc(reader, record);
    }
    map_remove(&reader->blocks, reader->resized);
    if (!number_caller(reader, record->caller, &op.caller) || !end_unseen(reader, record->address)) return false;
    return map_put(&reader->blocks, record->address, op.block) ? add_op(reader, op) : maker_fail_memory(reader->maker);
}

/* ---- The trace --------------------------------------------------------------------------------------------------- */

static bool apply(struct reader *reader, const struct record *record) {
    if (reader->resizes != (record->verb == '>'))
        return reader->resizes
                   ? maker_fail(reader->maker, "expected the '>' that belongs to the '<' of the line before")
                   : maker_fail(reader->maker, "a '>' needs a '<' in the line before");
    reader->resizes = record->verb == '<';
    struct record sized = *record;
    if (record->verb == '*' && __builtin_mul_overflow(record->more, record->size, &sized.size)) sized.size = UINT64_MAX;
    if (sized.size > TRACE_SIZE_MOST && record->address != 0 && record->verb != '!')
        return maker_fail(reader->maker, "no block can be so large: 0x%" PRIx64 " bytes", sized.size);
    uint32_t caller;
    switch (record->verb) {
    case '+':
    case '*':
    case '%':
        if (record->address != 0) return add_alloc(reader, &sized);
        reader->maker->trace->failed++;
        return true;
    case '-':
        return number_caller(reader, record->caller, &caller) && add_free(reader, record->address, caller);
    case '<':
        reader->resized = record->address;
        return true;
    case '>':
        if (record->address != 0) return add_realloc(reader, record);
        return maker_fail(reader->maker, "a block cannot be moved to the address 0");
    case '!':
        reader->maker->trace->failed++;
        return true;
    default:
        return true;
    }
}

/* Removes `word` and the space after it from the beginning of a line. */
static bool take_first(struct span *line, const char *word) {
    size_t length = strlen(word);
    if (line->length <= length || memcmp(line->text, word, length) != 0 || line->text[length] != ' ') return false;
    *line = (struct span){line->text + length + 1, line->length - length - 1};
    return true;
}

static bool change_thread(struct reader *reader, struct span number) {
    uint64_t thread;
    if (!parse_number(reader, number, &thread)) return false;
    if (thread > TRACE_THREAD_MOST)
        return maker_fail(reader->maker, "the number of a thread may be no more than 0x%x", TRACE_THREAD_MOST);
    reader->thread = (uint16_t)thread;
    return true;
}

/* Names a caller by these frames, in which names of C++ become readable. */
static bool name_frames(struct reader *reader, uint32_t number, struct span frames) {
    char *text = NULL;
    kolk_cxx_name_ name;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return maker_fail_memory(reader->maker);
    for (size_t at = 0, skipped; at < frames.length; at += skipped) {
        bool begins = at == 0 || (at >= 3 && memcmp(frames.text + at - 3, " < ", 3) == 0);
        skipped = begins ? kolk_cxx_name_read_(frames.text + at, frames.length - at, &name) : 0;
        if (skipped > 0)
            fwrite(name.text, 1, name.length, out);
        else
            fputc(frames.text[at], out), skipped = 1;
    }
    bool done = fclose(out) == 0 ? maker_name_caller(reader->maker, number, (struct span){text, length})
                                 : maker_fail_memory(reader->maker);
    free(text);
    return done;
}

static bool define_call(struct reader *reader, struct span line) {
    uint32_t number;
    const char *end = memchr(line.text, ' ', line.length);
    if (!end)
        return maker_fail(reader->maker, "expected '= Call CALLER FRAMES', not '%s' behind '= Call'",
                          maker_quote(line).text);
    struct span caller = {line.text, (size_t)(end - line.text)};
    struct span frames = {end + 1, line.length - caller.length - 1};
    return number_caller(reader, caller, &number) && name_frames(reader, number, frames);
}

static bool end_run(struct reader *reader, struct span line) {
    struct trace *trace = reader->maker->trace;
    struct span rest = line, wall = take_last(&rest), recording = take_last(&rest);
    if (memchr(rest.text, ' ', rest.length) || rest.length == 0)
        return maker_fail(reader->maker, "expected '= Ran PROCESSOR RECORDING WALL', not '%s' behind '= Ran'",
                          maker_quote(line).text);
    return parse_number(reader, rest, &trace->processor_ns) && parse_number(reader, recording, &trace->recording_ns) &&
           parse_number(reader, wall, &trace->wall_ns);
}

static bool add_run(struct reader *reader, struct span line) {
    struct trace *trace = reader->maker->trace;
    struct span rest = line, kolk = take_last(&rest);
    if (memchr(rest.text, ' ', rest.length) || rest.length == 0)
        return maker_fail(reader->maker, "expected '= Run PLAIN KOLK', not '%s' behind '= Run'",
                          maker_quote(line).text);
    if (trace->run_count == TRACE_RUNS_MOST)
        return maker_fail(reader->maker, "a trace may have no more than %d lines '= Run'", TRACE_RUNS_MOST);
    struct trace_run *run = &trace->runs[trace->run_count++];
    return parse_number(reader, rest, &run->plain_ns) && parse_number(reader, kolk, &run->kolk_ns);
}

static bool read_line(struct reader *reader, struct span line) {
    struct record record;
    if (take_first(&line, "= Thread")) return change_thread(reader, line);
    if (take_first(&line, "= Call")) return define_call(reader, line);
    if (take_first(&line, "= Run")) return add_run(reader, line);
    if (take_first(&line, "= Ran")) return end_run(reader, line);
    return parse_line(reader, line, &record) && apply(reader, &record);
}

/* Reads the lines of mtrace and kolk record, of which this is the first. */
static bool read_lines(struct reader *reader, struct span line) {
    while (line.text) {
        if (!read_line(reader, line)) return false;
        line = maker_line(reader->maker);
    }
    if (!maker_is_at_end(reader->maker)) return false;
    if (reader->resizes && reader->maker->trace->cut_line == 0)
        return maker_fail(reader->maker, "the file ends before the '>' that belongs to the last '<'");
    return true;
}

static bool read_any(struct maker *maker) {
    struct span first = maker_line(maker);
    const char *cut = input_cut(maker->input);
    if (!first.text) return maker_is_at_end(maker) && maker_fail(maker, "%s", cut ? cut : "the file is empty");
    if (heaptrack_begins(first)) return heaptrack_read(maker, first);
    struct reader reader = {.maker = maker};
    bool done = read_lines(&reader, first);
    map_free(&reader.blocks);
    map_free(&reader.callers);
    return done;
}

bool trace_read(struct trace *trace, FILE *file, struct trace_problem *problem) {
    *trace = (struct trace){0};
    struct maker maker = {.trace = trace, .problem = problem, .input = input_open(file)};
    if (!maker.input) {
        snprintf(problem->text, sizeof problem->text, "there is no memory to read it");
        return false;
    }
    bool done = read_any(&maker);
    if (!done) trace_free(trace);
    input_close(maker.input);
    maker_end(&maker);
    return done;
}

uint64_t trace_program_ns(uint64_t processor_ns, uint64_t recording_ns) {
    return recording_ns <= processor_ns / 3 ? processor_ns - recording_ns : 0;
}

void trace_free(struct trace *trace) {
    free(trace->ops);
    for (uint32_t i = 0; i < trace->callers; i++) free(trace->names[i]);
    free(trace->names);
    *trace = (struct trace){0};
}

bool trace_is_valid(const struct trace *trace) {
    bool *alive = calloc((size_t)trace->blocks + 1, sizeof *alive);
    bool valid = alive != NULL;
    for (size_t i = 0; valid && i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        valid = op->block < trace->blocks && alive[op->block] == (op->kind != TRACE_ALLOC) &&
                (op->caller < trace->callers || (op->kind == TRACE_FREE && op->caller == TRACE_NOBODY)) &&
                (op->kind == TRACE_FREE || op->size <= TRACE_SIZE_MOST);
        if (valid) alive[op->block] = op->kind != TRACE_FREE;
    }
    free(alive);
    return valid;
}
