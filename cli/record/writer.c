/* writer.c: see writer.h. The lines are those of cli/replay/trace.h. */
#define _GNU_SOURCE
#include "writer.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLEEP_MS = 100,              /* the reader's longest sleep when the program writes little */
    SHOW_WORDS = WIRE_WORDS / 64 /* words read before their space is returned to the program */
};

/* ---- The ring ---------------------------------------------------------------------------------------------------- */

/* Returns the space of the words that were read to the program. */
static void show_room(struct writer *writer) {
    struct wire *wire = writer->wire;
    if (wire->tail == writer->tail) return;
    __atomic_store_n(&wire->tail, writer->tail, __ATOMIC_RELEASE); /* partner: the program's acquire */
    __atomic_fetch_add(&wire->turn, 1, __ATOMIC_SEQ_CST);
    if (__atomic_exchange_n(&wire->is_full, 0, __ATOMIC_SEQ_CST)) wire_wake(&wire->turn);
}

/* Waits for words. Returns false if no more will come. */
static bool wait_for_words(struct writer *writer) {
    struct wire *wire = writer->wire;
    show_room(writer);
    for (;;) {
        bool has_ended = __atomic_load_n(&writer->has_ended, __ATOMIC_ACQUIRE);
        writer->head = __atomic_load_n(&wire->head, __ATOMIC_ACQUIRE); /* partner: the program's release */
        if (writer->head != writer->tail) return true;
        if (has_ended) return false;
        __atomic_store_n(&wire->asleep, 1, __ATOMIC_SEQ_CST);
        if (!__atomic_load_n(&writer->has_ended, __ATOMIC_SEQ_CST)) wire_sleep(&wire->asleep, 1, SLEEP_MS);
        __atomic_store_n(&wire->asleep, 0, __ATOMIC_SEQ_CST);
    }
}

/* Returns the next word, or 0 at the end. */
static uint64_t take(struct writer *writer) {
    if (writer->tail == writer->head && !wait_for_words(writer)) return 0;
    if (writer->tail - writer->wire->tail >= SHOW_WORDS) show_room(writer);
    return writer->wire->words[writer->tail++ % WIRE_WORDS];
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static char *put_hex(char *at, uint64_t number) {
    int shift = number ? (63 - __builtin_clzll(number)) / 4 * 4 : 0;
    for (; shift >= 0; shift -= 4) *at++ = "0123456789abcdef"[number >> shift & 15];
    return at;
}

static char *put(char *at, const char *text) {
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static char *put_address(char *at, uint64_t address) {
    return address ? put_hex(at, address) : put(at, "(nil)");
}

static char *change_thread(struct writer *writer, char *at, uint32_t thread) {
    writer->thread = thread;
    uint64_t *word = &writer->known[thread / 64], bit = UINT64_C(1) << thread % 64;
    writer->threads += (*word & bit) == 0;
    *word |= bit;
    at = put_hex(put(at, "= Thread "), thread);
    *at++ = '\n';
    return at;
}

static char *put_caller(char *at, uint64_t stack, char verb) {
    at = put_hex(put(at, "@ "), (uint32_t)stack);
    *at++ = ' ';
    *at++ = verb;
    *at++ = ' ';
    return at;
}

/* Appends " SIZE\n". */
static char *put_size(char *at, uint64_t size) {
    *at++ = ' ';
    at = put_hex(at, size);
    *at++ = '\n';
    return at;
}

static char *take_alloc(struct writer *writer, char *at, uint64_t word) {
    unsigned kind = WIRE_KIND(word);
    uint64_t size = take(writer), stack = take(writer);
    at = put_caller(at, stack, kind == WIRE_ALLOC ? '+' : kind == WIRE_CALLOC ? '*' : '%');
    at = put_address(at, WIRE_ADDRESS(word) | WIRE_LOW(stack));
    if (kind != WIRE_ALLOC) {
        *at++ = ' ';
        at = put_hex(at, take(writer));
    }
    return put_size(at, size);
}

static char *take_realloc(struct writer *writer, char *at, uint64_t from) {
    uint64_t size = take(writer), stack = take(writer), to = take(writer);
    from |= WIRE_LOW(stack);
    if (to == 0) return put_size(put_address(put_caller(at, stack, '!'), from), size);
    at = put_address(put(at, "< "), from);
    *at++ = '\n';
    return put_size(put_address(put_caller(at, stack, '>'), to), size);
}

static void write_operation(struct writer *writer, uint64_t word) {
    char *begin = output_room(writer->output, 256), *at = begin;
    uint64_t address = WIRE_ADDRESS(word), stack;
    if (WIRE_THREAD(word) != writer->thread) at = change_thread(writer, at, WIRE_THREAD(word));
    switch (WIRE_KIND(word)) {
    case WIRE_FREE:
        stack = take(writer);
        at = put_address(put_caller(at, stack, '-'), address | WIRE_LOW(stack));
        *at++ = '\n';
        break;
    case WIRE_REALLOC:
        at = take_realloc(writer, at, address);
        break;
    default:
        at = take_alloc(writer, at, word);
    }
    writer->output->used += (size_t)(at - begin);
    writer->operations++;
    writer->calls_timed++;
}

/* ---- Modules and stacks ------------------------------------------------------------------------------------------ */

static void take_module(struct writer *writer, uint64_t word) {
    uint32_t length = WIRE_COUNT(word);
    struct module module = {.bias = take(writer), .begin = take(writer), .end = take(writer)};
    module.path = malloc((size_t)length + 8);
    for (uint32_t i = 0; i < length; i += 8) {
        uint64_t part = take(writer);
        if (module.path) memcpy(module.path + i, &part, 8);
    }
    if (!module.path) {
        writer->calls.has_no_memory = true;
        return;
    }
    module.path[length] = '\0';
    calls_add_module(&writer->calls, WIRE_IS_FIRST(word), module);
}

static void take_name(struct writer *writer, uint64_t word) {
    uint32_t number = (uint32_t)take(writer), length = WIRE_COUNT(word);
    uint64_t address = take(writer);
    char text[WIRE_NAME_ROOM + 1];
    for (uint32_t i = 0; i < length; i += 8) {
        uint64_t part = take(writer);
        memcpy(text + i % WIRE_NAME_ROOM, &part, 8);
    }
    text[length] = '\0';
    calls_add_name(&writer->calls, number, address, text);
}

static void take_stack(struct writer *writer, uint64_t word) {
    if (WIRE_IS_NAME(word)) {
        take_name(writer, word);
        return;
    }
    uint64_t frames[WIRE_DEPTH] = {0};
    uint32_t number = (uint32_t)take(writer);
    for (uint32_t i = 0; i < WIRE_COUNT(word); i++) frames[i % WIRE_DEPTH] = take(writer);
    calls_add(&writer->calls, number, frames, WIRE_COUNT(word));
}

/* ---- The trace --------------------------------------------------------------------------------------------------- */

/* Starts the trace again, because the records so far belong to another program. */
static void begin_program(struct writer *writer) {
    static const char start[] = "= Start\n";
    output_restart(writer->output);
    output_text(writer->output, start, sizeof start - 1);
    calls_free(&writer->calls);
    memset(writer->known, 0, WIRE_THREADS / 8);
    writer->operations = writer->threads = 0;
    writer->thread = UINT32_MAX;
}

static void *read_all(void *data) {
    struct writer *writer = data;
    while (writer->tail != writer->head || wait_for_words(writer)) {
        uint64_t word = take(writer);
        if (WIRE_KIND(word) == WIRE_STACK)
            take_stack(writer, word);
        else if (WIRE_KIND(word) == WIRE_MODULE)
            take_module(writer, word);
        else if (WIRE_KIND(word) == WIRE_PROGRAM)
            begin_program(writer);
        else
            write_operation(writer, word);
    }
    return NULL;
}

bool writer_begin(struct writer *writer) {
    writer->known = calloc(WIRE_THREADS / 64, sizeof *writer->known);
    return writer->known && pthread_create(&writer->reader, NULL, read_all, writer) == 0;
}

/* The mean of a few samples may be negative. Recording cannot take longer than the program as a whole. */
uint64_t writer_recording_ns(const struct writer *writer, uint64_t processor_ns) {
    const struct wire *wire = writer->wire;
    double mean = wire->samples > 0 ? (double)wire->sampled_ns / (double)wire->samples : 0;
    double ns = (double)wire->slow_ns + (mean > 0 ? mean : 0) * (double)writer->calls_timed;
    return ns < (double)processor_ns ? (uint64_t)ns : processor_ns;
}

/* Writes "= Ran PROCESSOR RECORDING WALL". */
static void write_ran(struct writer *writer, const struct program *program, bool is_recorded) {
    uint64_t recording_ns = is_recorded ? writer_recording_ns(writer, program->processor_ns) : 0;
    char *begin = output_room(writer->output, 256);
    char *at = put_hex(put(begin, "= Ran "), program->processor_ns);
    *at++ = ' ';
    at = put_size(put_hex(at, recording_ns), program->wall_ns);
    writer->output->used += (size_t)(at - begin);
}

/* Writes "= Run PLAIN KOLK". */
static void write_run(struct writer *writer, const struct trace_run *run) {
    char *begin = output_room(writer->output, 256);
    char *at = put_size(put_hex(put(begin, "= Run "), run->plain_ns), run->kolk_ns);
    writer->output->used += (size_t)(at - begin);
}

void writer_end(struct writer *writer, const struct program *program, bool is_recorded) {
    static const char end[] = "= End\n";
    __atomic_store_n(&writer->has_ended, 1, __ATOMIC_SEQ_CST);
    __atomic_store_n(&writer->wire->asleep, 0, __ATOMIC_SEQ_CST);
    wire_wake(&writer->wire->asleep);
    pthread_join(writer->reader, NULL);
    calls_write(&writer->calls, writer->output);
    for (size_t i = 0; i < writer->run_count; i++) write_run(writer, &writer->runs[i]);
    write_ran(writer, program, is_recorded);
    output_text(writer->output, end, sizeof end - 1);
    free(writer->known);
}
