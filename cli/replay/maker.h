/* cli/replay/maker.h: makes a trace while a file is read: what the readers of all formats have in common. */
#ifndef CLI_MAKER_H
#define CLI_MAKER_H

#include "input.h"
#include "trace.h"

struct span {
    const char *text;
    size_t length;
};

/* All zero but for the first three members, it is ready. */
struct maker {
    struct trace *trace;
    struct trace_problem *problem;
    struct input *input;
    size_t op_room, name_room;
    uint32_t *unused; /* free block numbers, the last one freed first */
    size_t unused_count, unused_room;
    bool has_ended; /* the last line has been returned, so that nothing can be cut off */
};

/* Frees what the maker has for itself; the trace and the input remain. */
void maker_end(struct maker *maker);

/* Returns the next line. A line that may be cut off is not returned, but noted in the trace. The text is NULL at the
 * end, or if the input cannot be read; only in the second case maker_is_at_end returns false, with a sentence. */
struct span maker_line(struct maker *maker);
bool maker_is_at_end(struct maker *maker);

/* Writes the sentence, behind the number of the line, and returns false. */
bool maker_fail(struct maker *maker, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool maker_fail_memory(struct maker *maker);

/* Text from the file, made fit for a message: short, and without bytes that would move a terminal's cursor. */
struct quote {
    char text[48];
};
struct quote maker_quote(struct span span);

/* Returns false if these are not hexadecimal digits of a number of 64 bits. No digits are 0. */
bool maker_parse(struct span digits, uint64_t *number);

/* Makes space for one more element by doubling the array. */
bool maker_have_room(void **array, size_t *room, size_t count, size_t size);

bool maker_add_op(struct maker *maker, trace_op op);

/* Adds a caller with a copy of this name, or replaces a caller's name. */
bool maker_add_caller(struct maker *maker, struct span name, uint32_t *number);
bool maker_name_caller(struct maker *maker, uint32_t number, struct span name);

/* Takes an unused block number, and returns one, which cannot fail. */
bool maker_take_block(struct maker *maker, uint32_t *block);
void maker_return_block(struct maker *maker, uint32_t block);

#endif
