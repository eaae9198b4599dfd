/* trace.c: see trace.h.
 *
 * A line is read from its end, because a CALLER may contain anything, such as a folder's name with spaces.
 */
#define _POSIX_C_SOURCE 200809L
#include "trace.h"
#include "../../src/watch/cxx_name.h"
#include "../room.h"
#include "input.h"
#include "map.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct span {
    const char *text;
    size_t length;
};

struct record {
    char verb; /* one of + * % - < > ! or = */
    uint64_t address, size;
    uint64_t more; /* of * and %: the count of objects, or their alignment */
    struct span caller;
};

struct reader {
    struct trace *trace;
    struct trace_problem *problem;
    struct input *input;
    bool has_ended; /* the last line has been read, so that nothing can be cut off */
    size_t op_room, name_room;
    uint32_t *unused; /* free block numbers, the last one freed first */
    size_t unused_count, unused_room;
    struct map blocks, callers; /* from addresses to blocks; from hashes of CALLER to numbers */
    uint16_t thread;
    bool resizes;     /* the previous line was a '<' ... */
    uint64_t resized; /* ... with this address */
};

/* ---- Sentences --------------------------------------------------------------------------------------------------- */

static bool fail(struct reader *reader, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes the sentence, behind the number of the line, and returns false. */
static bool fail(struct reader *reader, const char *format, ...) {
    char *text = reader->problem->text;
    size_t room = sizeof reader->problem->text;
    uint64_t line = input_line_number(reader->input); /* 0: not even one line could be read */
    int length = line > 0 ? snprintf(text, room, "line %" PRIu64 ": ", line) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, room - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_memory(struct reader *reader) {
    return fail(reader, "there is no memory for more");
}

/* Text from the file, made fit for a message: short, and without bytes that would move a terminal's cursor. */
struct quote {
    char text[48];
};

static struct quote quote(struct span span) {
    struct quote quote;
    size_t room = sizeof quote.text - 4;
    size_t length = span.length < room ? span.length : room;
    for (size_t i = 0; i < length; i++) quote.text[i] = span.text[i] >= ' ' && span.text[i] <= '~' ? span.text[i] : '?';
    memcpy(quote.text + length, "...", 4);
    if (length == span.length) quote.text[length] = '\0';
    return quote;
}

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

/* Returns the next line. A line that may be cut off is not returned, but noted in the trace. The text is NULL at the
 * end, or if the input cannot be read; only in the second case is_at_end returns false, with a sentence. */
static struct span next_line(struct reader *reader) {
    struct span line = {NULL, 0};
    line.text = input_line(reader->input, &line.length);
    if (line.text && is(line, "= End")) reader->has_ended = true;
    if (!input_cut(reader->input) || reader->has_ended) return line;
    reader->trace->cut_line = input_line_number(reader->input);
    return (struct span){NULL, 0};
}

static bool is_at_end(struct reader *reader) {
    const char *problem = input_problem(reader->input);
    return !problem || fail(reader, "%s", problem);
}

static char verb_of(struct span word, const char *verbs) {
    return word.length == 1 && memchr(verbs, word.text[0], strlen(verbs)) ? word.text[0] : '\0';
}

static bool parse_number(struct reader *reader, struct span word, uint64_t *number) {
    struct span digits = word;
    if (is(word, "(nil)")) digits = (struct span){"0", 1}; /* the way printf writes a null pointer */
    if (digits.length > 2 && memcmp(digits.text, "0x", 2) == 0) digits = (struct span){word.text + 2, word.length - 2};
    *number = 0;
    for (size_t i = 0; i < digits.length; i++) {
        const char *hex = "0123456789abcdef", *digit = memchr(hex, digits.text[i], 16);
        if (!digit || *number >> 60)
            return fail(reader, "'%s' is not a hexadecimal number of 64 bits", quote(word).text);
        *number = *number << 4 | (uint64_t)(digit - hex);
    }
    return digits.length > 0 || fail(reader, "a number is missing");
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
        return fail(reader, "expected '@ CALLER + ADDRESS SIZE' or its like, as glibc's mtrace writes it, not '%s'",
                    quote(line).text);
    if (placed) record->caller = (struct span){rest.text + 2, rest.length - 2};
    if (!parse_number(reader, numbers[count - 1], &record->address)) return false;
    if (count > 1 && !parse_number(reader, numbers[0], &record->size)) return false;
    return count < 3 || parse_number(reader, numbers[1], &record->more);
}

/* ---- Operations, callers and blocks ------------------------------------------------------------------------------ */

static bool add_op(struct reader *reader, trace_op op) {
    struct trace *trace = reader->trace;
    if (trace->count == TRACE_OPS_MOST)
        return fail(reader, "a trace may have no more than %d operations", TRACE_OPS_MOST);
    if (!has_room(&trace->ops, trace->count, &reader->op_room, sizeof op)) return fail_memory(reader);
    op.thread = reader->thread;
    trace->ops[trace->count++] = op;
    return true;
}

static bool name_caller(struct reader *reader, uint32_t number, struct span name) {
    char *copy = malloc(name.length + 1);
    if (!copy) return fail_memory(reader);
    if (name.length > 0) memcpy(copy, name.text, name.length); /* if the line has no caller, there is no text */
    copy[name.length] = '\0';
    free(reader->trace->names[number]);
    reader->trace->names[number] = copy;
    return true;
}

/* Adds a caller with a copy of this name. */
static bool add_caller(struct reader *reader, struct span name, uint32_t *number) {
    struct trace *trace = reader->trace;
    if (!has_room(&trace->names, trace->callers, &reader->name_room, sizeof *trace->names)) return fail_memory(reader);
    *number = trace->callers;
    trace->names[*number] = NULL;
    if (!name_caller(reader, *number, name)) return false;
    trace->callers++;
    return true;
}

/* For a new number, it reserves space in `unused`, so that return_block never allocates. */
static bool take_block(struct reader *reader, uint32_t *block) {
    if (reader->unused_count == 0) {
        if (!has_room(&reader->unused, reader->trace->blocks, &reader->unused_room, sizeof *reader->unused))
            return fail_memory(reader);
        reader->unused[reader->unused_count++] = reader->trace->blocks++;
    }
    *block = reader->unused[--reader->unused_count];
    return true;
}

static void return_block(struct reader *reader, uint32_t block) {
    reader->unused[reader->unused_count++] = block;
}

/* Returns the number of this caller. Callers are identified by a 64-bit hash, not by their text (Fowler, Noll, Vo:
 * FNV-1a). Among a million callers, the chance of a collision is 1 in 40 million. */
static bool number_caller(struct reader *reader, struct span caller, uint32_t *number) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < caller.length; i++) hash = (hash ^ (unsigned char)caller.text[i]) * UINT64_C(0x100000001b3);
    if (hash == 0) hash = 1;
    if (map_get(&reader->callers, hash, number)) return true;
    if (!add_caller(reader, caller, number)) return false;
    return map_put(&reader->callers, hash, *number) || fail_memory(reader);
}

/* `caller` is TRACE_NOBODY if this free was not recorded. */
static bool add_free(struct reader *reader, uint64_t address, uint32_t caller) {
    uint32_t block;
    if (!map_get(&reader->blocks, address, &block)) {
        reader->trace->unknown++;
        return true;
    }
    map_remove(&reader->blocks, address);
    return_block(reader, block);
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
    reader->trace->own += record->address >> 63;
    if (!number_caller(reader, record->caller, &op.caller) || !end_unseen(reader, record->address)) return false;
    if (!take_block(reader, &op.block)) return false;
    return map_put(&reader->blocks, record->address, op.block) ? add_op(reader, op) : fail_memory(reader);
}

static bool add_realloc(struct reader *reader, const struct record *record) {
    trace_op op = {.kind = TRACE_REALLOC, .size = record->size};
    if (reader->resized == 0) return add_alloc(reader, record);
    if (!map_get(&reader->blocks, reader->resized, &op.block)) {
        reader->trace->unknown++;
        return add_alloc(reader, record);
    }
    map_remove(&reader->blocks, reader->resized);
    if (!number_caller(reader, record->caller, &op.caller) || !end_unseen(reader, record->address)) return false;
    return map_put(&reader->blocks, record->address, op.block) ? add_op(reader, op) : fail_memory(reader);
}

/* ---- The trace --------------------------------------------------------------------------------------------------- */

static bool apply(struct reader *reader, const struct record *record) {
    if (reader->resizes != (record->verb == '>'))
        return reader->resizes ? fail(reader, "expected the '>' that belongs to the '<' of the line before")
                               : fail(reader, "a '>' needs a '<' in the line before");
    reader->resizes = record->verb == '<';
    struct record sized = *record;
    if (record->verb == '*' && __builtin_mul_overflow(record->more, record->size, &sized.size)) sized.size = UINT64_MAX;
    if (sized.size > TRACE_SIZE_MOST && record->address != 0 && record->verb != '!')
        return fail(reader, "no block can be so large: 0x%" PRIx64 " bytes", sized.size);
    uint32_t caller;
    switch (record->verb) {
    case '+':
    case '*':
    case '%':
        if (record->address != 0) return add_alloc(reader, &sized);
        reader->trace->failed++;
        return true;
    case '-':
        return number_caller(reader, record->caller, &caller) && add_free(reader, record->address, caller);
    case '<':
        reader->resized = record->address;
        return true;
    case '>':
        if (record->address != 0) return add_realloc(reader, record);
        return fail(reader, "a block cannot be moved to the address 0");
    case '!':
        reader->trace->failed++;
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
        return fail(reader, "the number of a thread may be no more than 0x%x", TRACE_THREAD_MOST);
    reader->thread = (uint16_t)thread;
    return true;
}

/* Names a caller by these frames, in which names of C++ become readable. */
static bool name_frames(struct reader *reader, uint32_t number, struct span frames) {
    char *text = NULL;
    kolk_cxx_name_ name;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    if (!out) return fail_memory(reader);
    for (size_t at = 0, skipped; at < frames.length; at += skipped) {
        bool begins = at == 0 || (at >= 3 && memcmp(frames.text + at - 3, " < ", 3) == 0);
        skipped = begins ? kolk_cxx_name_read_(frames.text + at, frames.length - at, &name) : 0;
        if (skipped > 0)
            fwrite(name.text, 1, name.length, out);
        else
            fputc(frames.text[at], out), skipped = 1;
    }
    bool done = fclose(out) == 0 ? name_caller(reader, number, (struct span){text, length}) : fail_memory(reader);
    free(text);
    return done;
}

static bool define_call(struct reader *reader, struct span line) {
    uint32_t number;
    const char *end = memchr(line.text, ' ', line.length);
    if (!end) return fail(reader, "expected '= Call CALLER FRAMES', not '%s' behind '= Call'", quote(line).text);
    struct span caller = {line.text, (size_t)(end - line.text)};
    struct span frames = {end + 1, line.length - caller.length - 1};
    return number_caller(reader, caller, &number) && name_frames(reader, number, frames);
}

static bool end_run(struct reader *reader, struct span line) {
    struct trace *trace = reader->trace;
    struct span rest = line, wall = take_last(&rest), recording = take_last(&rest);
    if (memchr(rest.text, ' ', rest.length) || rest.length == 0)
        return fail(reader, "expected '= Ran PROCESSOR RECORDING WALL', not '%s' behind '= Ran'", quote(line).text);
    return parse_number(reader, rest, &trace->processor_ns) && parse_number(reader, recording, &trace->recording_ns) &&
           parse_number(reader, wall, &trace->wall_ns);
}

static bool add_run(struct reader *reader, struct span line) {
    struct trace *trace = reader->trace;
    struct span rest = line, kolk = take_last(&rest);
    if (memchr(rest.text, ' ', rest.length) || rest.length == 0)
        return fail(reader, "expected '= Run PLAIN KOLK', not '%s' behind '= Run'", quote(line).text);
    if (trace->run_count == TRACE_RUNS_MOST)
        return fail(reader, "a trace may have no more than %d lines '= Run'", TRACE_RUNS_MOST);
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

static bool read_lines(struct reader *reader) {
    struct span line = next_line(reader);
    const char *cut = input_cut(reader->input);
    if (!line.text) return is_at_end(reader) && fail(reader, "%s", cut ? cut : "the file is empty");
    for (; line.text; line = next_line(reader))
        if (!read_line(reader, line)) return false;
    if (!is_at_end(reader)) return false;
    if (reader->resizes && reader->trace->cut_line == 0)
        return fail(reader, "the file ends before the '>' that belongs to the last '<'");
    return true;
}

bool trace_read(struct trace *trace, FILE *file, struct trace_problem *problem) {
    *trace = (struct trace){0};
    struct reader reader = {.trace = trace, .problem = problem, .input = input_open(file)};
    if (!reader.input) {
        snprintf(problem->text, sizeof problem->text, "there is no memory to read it");
        return false;
    }
    bool done = read_lines(&reader);
    if (!done) trace_free(trace);
    input_close(reader.input);
    map_free(&reader.blocks);
    map_free(&reader.callers);
    free(reader.unused);
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
