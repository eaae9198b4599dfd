/* heaptrack.c: see heaptrack.h. The words of a stack are made when its first 'a' is read; most stacks are only callers
 * of others, and have none. */
#define _GNU_SOURCE /* memmem, memrchr */
#include "heaptrack.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FORMAT_LEAST = 2, FORMAT_MOST = 3 };
enum {
    STACK_MOST = 64,       /* addresses in a stack; heaptrack records no more */
    WORDS_MOST = 16 << 10, /* bytes of a stack in words; frames further out are left out */
    NAME_MOST = 240        /* bytes of a function's name: those of C++ may have thousands */
};

#define NOBODY  UINT32_MAX
#define NO_SIZE UINT64_MAX

struct string {
    size_t begin; /* in the reader's text */
    uint32_t length;
};

/* A function at an address, by the numbers of its strings; 0: unknown. */
struct frame {
    uint32_t function, file, line;
};

struct address {
    uint64_t address;
    uint32_t module;
    uint32_t first, count; /* of its frames: the innermost, and how many */
};

struct stack {
    uint32_t address, parent; /* numbers from 1 on; 0: none */
    uint32_t caller;          /* its number in the trace; NOBODY until an 'a' names the stack */
};

/* An 'a': blocks of one size from one stack. */
struct kind {
    uint64_t size;
    uint32_t caller;
    uint32_t oldest, youngest; /* of the live blocks; NOBODY: there is none */
};

struct table {
    void *rows;
    size_t count, room;
};

struct reader {
    struct maker *maker;
    bool has_lengths; /* strings have, since format 3 */
    char *text;       /* of all strings */
    size_t text_length, text_room;
    struct table strings, frames, addresses, stacks, kinds; /* of the structs above */
    struct table younger; /* uint32_t by block: the next younger block of its kind, or NOBODY */
    uint32_t nothing;     /* the caller for blocks without a stack; NOBODY: there are none yet */
    uint64_t freed_size;  /* of the block that the last operation freed; NO_SIZE if it is none */
    char words[WORDS_MOST];
};

/* ---- Tables ------------------------------------------------------------------------------------------------------ */

/* Returns a new last row, or NULL with a sentence. */
static void *add_row(struct reader *reader, struct table *table, size_t size) {
    if (table->count < NOBODY - 1 && maker_have_room(&table->rows, &table->room, table->count, size))
        return (char *)table->rows + table->count++ * size;
    maker_fail_memory(reader->maker);
    return NULL;
}

static const struct string *string_of(const struct reader *reader, uint32_t number) {
    return (const struct string *)reader->strings.rows + number - 1;
}

static const struct address *address_of(const struct reader *reader, uint32_t number) {
    return (const struct address *)reader->addresses.rows + number - 1;
}

static struct stack *stack_of(const struct reader *reader, uint32_t number) {
    return (struct stack *)reader->stacks.rows + number - 1;
}

static struct kind *kind_of(const struct reader *reader, uint64_t number) {
    return (struct kind *)reader->kinds.rows + number;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* Removes the first word of a line and the space after it, which must be a number. */
static bool take_number(struct reader *reader, struct span *line, uint64_t *number) {
    const char *end = line->length > 0 ? memchr(line->text, ' ', line->length) : NULL;
    struct span word = {line->text, end ? (size_t)(end - line->text) : line->length};
    if (word.length == 0) return maker_fail(reader->maker, "a number is missing");
    if (!maker_parse(word, number))
        return maker_fail(reader->maker, "'%s' is not a hexadecimal number of 64 bits", maker_quote(word).text);
    size_t taken = word.length + (end ? 1 : 0);
    *line = (struct span){line->text + taken, line->length - taken};
    return true;
}

/* The same for the number of an earlier line of this kind; 0: none of them. */
static bool take_index(struct reader *reader, struct span *line, const struct table *table, const char *kind,
                       uint32_t *index) {
    uint64_t number;
    if (!take_number(reader, line, &number)) return false;
    if (number > table->count)
        return maker_fail(reader->maker, "0x%" PRIx64 " is more than the 0x%zx %s before it", number, table->count,
                          kind);
    *index = (uint32_t)number;
    return true;
}

static bool is_used_up(struct reader *reader, struct span rest) {
    return rest.length == 0 || maker_fail(reader->maker, "'%s' is more than the line may have", maker_quote(rest).text);
}

/* ---- Definitions ------------------------------------------------------------------------------------------------- */

static bool add_string(struct reader *reader, struct span line) {
    uint64_t length = line.length;
    if (reader->has_lengths && !take_number(reader, &line, &length)) return false;
    if (length != line.length)
        return maker_fail(reader->maker, "a string of %" PRIu64 " bytes is announced, and %zu follow", length,
                          line.length);
    struct string *string = add_row(reader, &reader->strings, sizeof *string);
    if (!string) return false;
    *string = (struct string){reader->text_length, (uint32_t)line.length};
    void *text = reader->text;
    size_t room = reader->text_room ? reader->text_room : 1 << 16;
    while (room - reader->text_length < line.length) room *= 2;
    if (room > reader->text_room && !(text = realloc(text, room))) return maker_fail_memory(reader->maker);
    reader->text = text;
    reader->text_room = room;
    if (line.length > 0) memcpy(reader->text + reader->text_length, line.text, line.length);
    reader->text_length += line.length;
    return true;
}

/* FUNCTION FILE LINE; or FUNCTION alone, if the file is unknown. */
static bool add_frame(struct reader *reader, struct span *line) {
    struct frame frame = {0};
    uint64_t number = 0;
    if (!take_index(reader, line, &reader->strings, "strings", &frame.function)) return false;
    if (line->length > 0 &&
        (!take_index(reader, line, &reader->strings, "strings", &frame.file) || !take_number(reader, line, &number)))
        return false;
    frame.line = number <= INT32_MAX ? (uint32_t)number : 0;
    struct frame *row = add_row(reader, &reader->frames, sizeof *row);
    if (row) *row = frame;
    return row;
}

static bool add_address(struct reader *reader, struct span line) {
    struct address address = {.first = (uint32_t)reader->frames.count};
    if (!take_number(reader, &line, &address.address) ||
        !take_index(reader, &line, &reader->strings, "strings", &address.module))
        return false;
    while (line.length > 0)
        if (!add_frame(reader, &line)) return false;
    address.count = (uint32_t)reader->frames.count - address.first;
    struct address *row = add_row(reader, &reader->addresses, sizeof *row);
    if (row) *row = address;
    return row;
}

static bool add_stack(struct reader *reader, struct span line) {
    struct stack stack = {.caller = NOBODY};
    if (!take_index(reader, &line, &reader->addresses, "addresses", &stack.address) ||
        !take_index(reader, &line, &reader->stacks, "stacks", &stack.parent) || !is_used_up(reader, line))
        return false;
    struct stack *row = add_row(reader, &reader->stacks, sizeof *row);
    if (row) *row = stack;
    return row;
}

/* ---- Words ------------------------------------------------------------------------------------------------------- */

/* What is written in words. It ends where the space ends. */
struct words {
    char *text;
    size_t length, room;
    bool is_full; /* not all of it had space */
};

static void put(struct words *words, const char *text, size_t length) {
    words->is_full |= length > words->room - words->length;
    if (words->is_full) return;
    memcpy(words->text + words->length, text, length);
    words->length += length;
}

static void put_text(struct words *words, const char *text) {
    put(words, text, strlen(text));
}

/* A name must not have " < " in it, which separates frames. */
static void put_name(struct words *words, const char *name, size_t length) {
    bool is_cut = length > NAME_MOST;
    const char *end = name + (is_cut ? NAME_MOST : length);
    for (const char *at; (at = memmem(name, (size_t)(end - name), " < ", 3)); name = at + 3) {
        put(words, name, (size_t)(at - name));
        put_text(words, " <");
    }
    put(words, name, (size_t)(end - name));
    if (is_cut) put_text(words, "...");
}

static void put_string(struct words *words, const struct reader *reader, uint32_t number) {
    const struct string *string = string_of(reader, number);
    put_name(words, reader->text + string->begin, string->length);
}

/* A path without its folders. */
static void put_file(struct words *words, const struct reader *reader, uint32_t number) {
    const struct string *string = string_of(reader, number);
    const char *path = reader->text + string->begin;
    const char *slash = string->length > 0 ? memrchr(path, '/', string->length) : NULL;
    const char *name = slash ? slash + 1 : path;
    put_name(words, name, string->length - (size_t)(name - path));
}

__attribute__((format(printf, 2, 3))) static void put_number(struct words *words, const char *format, ...) {
    char text[48];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(words, text, (size_t)length);
}

/* "insert (tree.c:27)"; "insert (libtree.so at 0x7f12)" without a line; "libtree.so:[0x7f12]" without a function, as in
 * traces by mtrace. kolk record writes "libtree.so+0x12" instead, but where the library begins is not in the file. */
static void put_frame(struct words *words, const struct reader *reader, const struct address *address,
                      const struct frame *frame) {
    size_t before = words->length;
    bool placed = frame->file && frame->line > 0;
    if (before > 0) put_text(words, " < ");
    if (frame->function)
        put_string(words, reader, frame->function);
    else if (placed)
        put_text(words, "?");
    else if (address->module)
        put_file(words, reader, address->module);
    if (frame->function || placed) put_text(words, " (");
    if (placed) {
        put_file(words, reader, frame->file);
        put_number(words, ":%" PRIu32 ")", frame->line);
    } else if (frame->function) {
        if (address->module) put_file(words, reader, address->module);
        put_number(words, " at 0x%" PRIx64 ")", address->address);
    } else {
        put_number(words, address->module ? ":[0x%" PRIx64 "]" : "0x%" PRIx64, address->address);
    }
    if (words->is_full) words->length = before;
}

/* The functions that are inlined at the address too. */
static void put_address(struct words *words, const struct reader *reader, const struct address *address) {
    static const struct frame unknown;
    const struct frame *frames = reader->frames.rows;
    if (address->count == 0) put_frame(words, reader, address, &unknown);
    for (uint32_t i = 0; i < address->count && !words->is_full; i++)
        put_frame(words, reader, address, &frames[address->first + i]);
}

static bool add_caller(struct reader *reader, uint32_t number, uint32_t *caller) {
    struct words words = {.text = reader->words, .room = sizeof reader->words};
    for (uint32_t depth = 0; number && depth < STACK_MOST; depth++) {
        const struct stack *stack = stack_of(reader, number);
        if (stack->address) put_address(&words, reader, address_of(reader, stack->address));
        number = stack->parent;
    }
    return maker_add_caller(reader->maker, (struct span){words.text, words.length}, caller);
}

static bool add_kind(struct reader *reader, struct span line) {
    struct kind kind = {.oldest = NOBODY, .youngest = NOBODY};
    uint32_t stack = 0;
    if (!take_number(reader, &line, &kind.size) || !take_index(reader, &line, &reader->stacks, "stacks", &stack) ||
        !is_used_up(reader, line))
        return false;
    if (kind.size > TRACE_SIZE_MOST)
        return maker_fail(reader->maker, "no block can be so large: 0x%" PRIx64 " bytes", kind.size);
    uint32_t *caller = stack ? &stack_of(reader, stack)->caller : &reader->nothing;
    if (*caller == NOBODY && !add_caller(reader, stack, caller)) return false;
    kind.caller = *caller;
    struct kind *row = add_row(reader, &reader->kinds, sizeof *row);
    if (row) *row = kind;
    return row;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

/* Returns NULL, with a sentence, if the line does not name an 'a'. */
static struct kind *take_kind(struct reader *reader, struct span line) {
    uint64_t number;
    if (!take_number(reader, &line, &number) || !is_used_up(reader, line)) return NULL;
    if (number < reader->kinds.count) return kind_of(reader, number);
    maker_fail(reader->maker, "no 'a' before it has the number 0x%" PRIx64, number);
    return NULL;
}

static bool allocate(struct reader *reader, struct span line) {
    struct kind *kind = take_kind(reader, line);
    trace_op op = {.kind = TRACE_ALLOC, .by = TRACE_BY_MALLOC};
    if (!kind || !maker_take_block(reader->maker, &op.block)) return false;
    if (op.block == reader->younger.count && !add_row(reader, &reader->younger, sizeof(uint32_t))) return false;
    uint32_t *younger = reader->younger.rows;
    younger[op.block] = NOBODY;
    if (kind->youngest == NOBODY)
        kind->oldest = op.block;
    else
        younger[kind->youngest] = op.block;
    kind->youngest = op.block;
    op.size = kind->size;
    op.caller = kind->caller;
    if (reader->freed_size != NO_SIZE && reader->freed_size != kind->size) {
        struct trace *trace = reader->maker->trace; /* its last operation is the free */
        trace->ops[trace->count - 1].more = op.more = 1;
    }
    reader->freed_size = NO_SIZE;
    return maker_add_op(reader->maker, op);
}

static bool release(struct reader *reader, struct span line) {
    struct kind *kind = take_kind(reader, line);
    if (!kind) return false;
    if (kind->oldest == NOBODY)
        return maker_fail(reader->maker, "a block of '%s' is freed, and none is alive", maker_quote(line).text);
    trace_op op = {.kind = TRACE_FREE, .block = kind->oldest, .caller = TRACE_NOBODY};
    kind->oldest = ((const uint32_t *)reader->younger.rows)[op.block];
    if (kind->oldest == NOBODY) kind->youngest = NOBODY;
    maker_return_block(reader->maker, op.block);
    reader->freed_size = kind->size;
    return maker_add_op(reader->maker, op);
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static bool read_line(struct reader *reader, struct span line) {
    if (line.length == 0 || line.text[0] == '#') return true;
    bool is_short = line.length < 2;
    struct span rest = {line.text + (is_short ? 1 : 2), is_short ? 0 : line.length - 2};
    switch (is_short || line.text[1] == ' ' ? line.text[0] : '\0') {
    case 's':
        return add_string(reader, rest);
    case 'i':
        return add_address(reader, rest);
    case 't':
        return add_stack(reader, rest);
    case 'a':
        return add_kind(reader, rest);
    case '+':
        return allocate(reader, rest);
    case '-':
        return release(reader, rest);
    case 'I':
    case 'c':
    case 'R':
    case 'A':
    case 'S':
        return true;
    case 'x':
    case 'm':
        return maker_fail(reader->maker,
                          "this is a raw recording of heaptrack, which heaptrack_interpret must read first");
    default:
        return maker_fail(reader->maker, "expected a line as heaptrack writes it, not '%s'", maker_quote(line).text);
    }
}

/* The command line may have newlines, and then its lines look like anything. The line 'I' follows it. */
static void skip_command(struct reader *reader) {
    for (;;) {
        struct span line = maker_line(reader->maker);
        if (!line.text || (line.length > 1 && memcmp(line.text, "I ", 2) == 0)) return;
    }
}

static bool read_version(struct reader *reader, struct span first) {
    struct span rest = {first.text + 2, first.length - 2};
    uint64_t version, format = 0;
    if (!take_number(reader, &rest, &version) || (rest.length > 0 && !take_number(reader, &rest, &format)))
        return false;
    reader->has_lengths = format > 2;
    if (format < FORMAT_LEAST)
        return maker_fail(reader->maker, "heaptrack's files from before version 1.0 are not read here");
    if (format > FORMAT_MOST)
        return maker_fail(reader->maker, "heaptrack's format %" PRIu64 " is not known here, only %d and %d", format,
                          FORMAT_LEAST, FORMAT_MOST);
    return is_used_up(reader, rest);
}

static bool read_lines(struct reader *reader) {
    for (;;) {
        struct span line = maker_line(reader->maker);
        if (!line.text) return maker_is_at_end(reader->maker);
        if (line.length > 1 && memcmp(line.text, "X ", 2) == 0)
            skip_command(reader);
        else if (!read_line(reader, line))
            return false;
    }
}

bool heaptrack_begins(struct span line) {
    return line.length > 2 && memcmp(line.text, "v ", 2) == 0;
}

bool heaptrack_read(struct maker *maker, struct span first) {
    struct reader *reader = calloc(1, sizeof *reader);
    if (!reader) return maker_fail_memory(maker);
    reader->maker = maker;
    reader->nothing = NOBODY;
    reader->freed_size = NO_SIZE;
    maker->trace->by_heaptrack = true;
    bool done = read_version(reader, first) && read_lines(reader);
    void *const rows[] = {reader->strings.rows, reader->frames.rows, reader->addresses.rows,
                          reader->stacks.rows,  reader->kinds.rows,  reader->younger.rows};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) free(rows[i]);
    free(reader->text);
    free(reader);
    return done;
}
