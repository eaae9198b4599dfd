/* maker.c: see maker.h. */
#define _POSIX_C_SOURCE 200809L
#include "maker.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void maker_end(struct maker *maker) {
    free(maker->unused);
}

/* ---- Sentences --------------------------------------------------------------------------------------------------- */

bool maker_fail(struct maker *maker, const char *format, ...) {
    char *text = maker->problem->text;
    size_t room = sizeof maker->problem->text;
    uint64_t line = input_line_number(maker->input); /* 0: not even one line could be read */
    int length = line > 0 ? snprintf(text, room, "line %" PRIu64 ": ", line) : 0;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + length, room - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

bool maker_fail_memory(struct maker *maker) {
    return maker_fail(maker, "there is no memory for more");
}

struct quote maker_quote(struct span span) {
    struct quote quote;
    size_t room = sizeof quote.text - 4;
    size_t length = span.length < room ? span.length : room;
    for (size_t i = 0; i < length; i++) quote.text[i] = span.text[i] >= ' ' && span.text[i] <= '~' ? span.text[i] : '?';
    memcpy(quote.text + length, "...", 4);
    if (length == span.length) quote.text[length] = '\0';
    return quote;
}

bool maker_parse(struct span digits, uint64_t *number) {
    *number = 0;
    for (size_t i = 0; i < digits.length; i++) {
        const char *hex = "0123456789abcdef";
        const char *digit = memchr(hex, digits.text[i], 16);
        if (!digit || *number >> 60) return false;
        *number = *number << 4 | (uint64_t)(digit - hex);
    }
    return true;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

struct span maker_line(struct maker *maker) {
    struct span line = {NULL, 0};
    line.text = input_line(maker->input, &line.length);
    if (line.text && line.length == strlen("= End") && memcmp(line.text, "= End", line.length) == 0)
        maker->has_ended = true;
    if (!input_cut(maker->input) || maker->has_ended) return line;
    maker->trace->cut_line = input_line_number(maker->input);
    return (struct span){NULL, 0};
}

bool maker_is_at_end(struct maker *maker) {
    const char *problem = input_problem(maker->input);
    return !problem || maker_fail(maker, "%s", problem);
}

/* ---- Operations and callers -------------------------------------------------------------------------------------- */

bool maker_have_room(void **array, size_t *room, size_t count, size_t size) {
    if (count < *room) return true;
    size_t more = *room ? 2 * *room : 1024;
    void *moved = realloc(*array, more * size);
    if (!moved) return false;
    *array = moved;
    *room = more;
    return true;
}

bool maker_add_op(struct maker *maker, trace_op op) {
    struct trace *trace = maker->trace;
    if (trace->count == TRACE_OPS_MOST)
        return maker_fail(maker, "a trace may have no more than %d operations", TRACE_OPS_MOST);
    void *ops = trace->ops;
    if (!maker_have_room(&ops, &maker->op_room, trace->count, sizeof op)) return maker_fail_memory(maker);
    trace->ops = ops;
    trace->ops[trace->count++] = op;
    return true;
}

bool maker_name_caller(struct maker *maker, uint32_t number, struct span name) {
    char *copy = malloc(name.length + 1);
    if (!copy) return maker_fail_memory(maker);
    if (name.length > 0) memcpy(copy, name.text, name.length); /* if the line has no caller, there is no text */
    copy[name.length] = '\0';
    free(maker->trace->names[number]);
    maker->trace->names[number] = copy;
    return true;
}

bool maker_add_caller(struct maker *maker, struct span name, uint32_t *number) {
    struct trace *trace = maker->trace;
    void *names = trace->names;
    if (!maker_have_room(&names, &maker->name_room, trace->callers, sizeof *trace->names))
        return maker_fail_memory(maker);
    trace->names = names;
    *number = trace->callers;
    trace->names[*number] = NULL;
    if (!maker_name_caller(maker, *number, name)) return false;
    trace->callers++;
    return true;
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

/* For a new number, it reserves space in `unused`, so that maker_return_block never allocates. */
bool maker_take_block(struct maker *maker, uint32_t *block) {
    if (maker->unused_count == 0) {
        void *unused = maker->unused;
        if (!maker_have_room(&unused, &maker->unused_room, maker->trace->blocks, sizeof *maker->unused))
            return maker_fail_memory(maker);
        maker->unused = unused;
        maker->unused[maker->unused_count++] = maker->trace->blocks++;
    }
    *block = maker->unused[--maker->unused_count];
    return true;
}

void maker_return_block(struct maker *maker, uint32_t block) {
    maker->unused[maker->unused_count++] = block;
}
