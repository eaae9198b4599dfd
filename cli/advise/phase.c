/* phase.c: finds phases: see phase.h. */
#include "phase.h"

#include "../replay/frames.h"

#include <stdlib.h>
#include <string.h>

enum {
    PHASES_LEAST = 8,
    BLOCKS_LEAST = 32, /* of a phase, on average: fewer are freed one by one as fast */
    LARGE_LEAST = 16,  /* blocks of a phase; half of the phases must have as many, or they are phases by chance */
    LARGE_SHARE = 2,   /* one in this many */
    PART_LEAST = 10,   /* of all allocations, one in this many must be in a phase */
    SIZES_LEAST = 3,   /* fewer sizes are served by pools */
    LEFT_SHARE = 2,    /* at least one block in this many must be left to the end of its phase */
    ENDED_SHARE = 20,  /* all but one block in this many must be in a phase that has ended */
    FRAMES_MOST = 64,  /* of a stack */
    FUNCTIONS_AT_FIRST = 256
};

struct function {
    const char *name;
    size_t length;
    size_t depth; /* in the first stack that has it: 0 is the innermost frame */
    uint64_t alive, dying, begun;
    uint64_t blocks, ended, together, phases, large, inside;
    uint64_t least, most;
    uint64_t sizes; /* bits for the sizes that occur */
    uint32_t thread;
    bool shared; /* several threads use its blocks */
};

struct list {
    size_t begin, count; /* of functions of a stack */
};

struct seeker {
    const struct trace *trace;
    struct function *functions;
    uint32_t count, room;
    struct list *lists; /* by caller */
    uint32_t *numbers;  /* of functions */
    size_t number_count, number_room;
    struct map map;   /* from names to functions */
    uint32_t *makers; /* by block: the caller that allocated it */
};

/* ---- Functions of stacks ----------------------------------------------------------------------------------------- */

static bool add_function(struct seeker *seeker, const char *name, size_t length, size_t depth, uint32_t *number) {
    uint64_t key = UINT64_C(1469598103934665603);
    for (size_t n = 0; n < length; n++) key = (key ^ (unsigned char)name[n]) * UINT64_C(1099511628211);
    for (key |= 1; map_get(&seeker->map, key, number); key += 2) {
        const struct function *known = &seeker->functions[*number];
        if (known->length == length && memcmp(known->name, name, length) == 0) return true;
    }
    if (seeker->count == seeker->room) {
        uint32_t room = 2 * seeker->room;
        struct function *moved = realloc(seeker->functions, room * sizeof *moved);
        if (!moved) return false;
        seeker->functions = moved;
        seeker->room = room;
    }
    *number = seeker->count;
    seeker->functions[seeker->count++] =
        (struct function){.name = name, .length = length, .depth = depth, .least = UINT64_MAX};
    return map_put(&seeker->map, key, *number);
}

/* Adds the function to the list that was begun last, unless it is there. */
static bool add_number(struct seeker *seeker, struct list *list, uint32_t number) {
    for (size_t n = 0; n < list->count; n++)
        if (seeker->numbers[list->begin + n] == number) return true;
    if (seeker->number_count == seeker->number_room) {
        size_t room = 2 * seeker->number_room;
        uint32_t *moved = realloc(seeker->numbers, room * sizeof *moved);
        if (!moved) return false;
        seeker->numbers = moved;
        seeker->number_room = room;
    }
    seeker->numbers[seeker->number_count++] = number;
    list->count++;
    return true;
}

/* A frame without a function, such as "libz.so.1+0x2a40", is passed over, and so is a stack of one frame. */
static bool list_functions(struct seeker *seeker, uint32_t caller) {
    const char *frame = seeker->trace->names[caller];
    struct list *list = &seeker->lists[caller];
    list->begin = seeker->number_count;
    if (!frames_outside(frame)) return true;
    for (size_t depth = 0; frame && depth < FRAMES_MOST; depth++, frame = frames_outside(frame)) {
        const char *open = strstr(frame, " (");
        uint32_t number;
        if (open && open < frame + frames_first(frame) &&
            (!add_function(seeker, frame, (size_t)(open - frame), depth, &number) || !add_number(seeker, list, number)))
            return false;
    }
    return true;
}

static bool list_all(struct seeker *seeker) {
    const struct trace *trace = seeker->trace;
    seeker->lists = calloc((size_t)trace->callers + 1, sizeof *seeker->lists);
    seeker->makers = malloc(((size_t)trace->blocks + 1) * sizeof *seeker->makers);
    seeker->functions = calloc(FUNCTIONS_AT_FIRST, sizeof *seeker->functions);
    seeker->numbers = calloc(FUNCTIONS_AT_FIRST, sizeof *seeker->numbers);
    seeker->room = FUNCTIONS_AT_FIRST;
    seeker->number_room = FUNCTIONS_AT_FIRST;
    bool done = seeker->lists && seeker->makers && seeker->functions && seeker->numbers;
    for (uint32_t caller = 0; done && caller < trace->callers; caller++) done = list_functions(seeker, caller);
    return done;
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

static bool has_function(const struct seeker *seeker, uint32_t caller, uint32_t function) {
    if (caller == TRACE_NOBODY) return false;
    const struct list *list = &seeker->lists[caller];
    for (size_t n = 0; n < list->count; n++)
        if (seeker->numbers[list->begin + n] == function) return true;
    return false;
}

static void see_size(struct function *function, uint64_t size) {
    if (size < function->least) function->least = size;
    if (size > function->most) function->most = size;
    function->sizes |= UINT64_C(1) << (size / 8 % 64);
}

static void see_thread(struct function *function, uint16_t thread) {
    if (function->blocks == 0) function->thread = thread;
    function->shared |= function->thread != thread;
}

/* Called for each function in the stack that has allocated the block. */
static void see(struct seeker *seeker, uint32_t number, const trace_op *op) {
    struct function *function = &seeker->functions[number];
    see_thread(function, op->thread);
    if (op->kind != TRACE_FREE) {
        see_size(function, op->size);
        function->dying = 0;
    }
    if (op->kind == TRACE_ALLOC) {
        function->alive++;
        function->begun++;
        function->blocks++;
    }
    if (op->kind != TRACE_FREE) return;
    function->dying++;
    if (--function->alive > 0) return;
    function->phases++;
    function->together += function->dying;
    function->ended += function->begun;
    function->large += function->begun >= LARGE_LEAST;
    function->inside += has_function(seeker, op->caller, number);
    function->begun = 0;
}

static void see_all(struct seeker *seeker) {
    const struct trace *trace = seeker->trace;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        if (op->kind == TRACE_ALLOC) seeker->makers[op->block] = op->caller;
        const struct list *list = &seeker->lists[seeker->makers[op->block]];
        for (size_t n = 0; n < list->count; n++) see(seeker, seeker->numbers[list->begin + n], op);
    }
}

/* ---- Choice ------------------------------------------------------------------------------------------------------ */

static unsigned count_bits(uint64_t bits) {
    unsigned count = 0;
    for (; bits; bits &= bits - 1) count++;
    return count;
}

static bool has_phases(const struct function *function, uint64_t allocations) {
    return function->phases >= PHASES_LEAST && function->ended >= function->phases * BLOCKS_LEAST &&
           function->together * LEFT_SHARE >= function->ended && !function->shared &&
           function->inside == function->phases && function->large * LARGE_SHARE >= function->phases &&
           count_bits(function->sizes) >= SIZES_LEAST && function->ended * PART_LEAST >= allocations &&
           (function->blocks - function->ended) * ENDED_SHARE <= function->blocks;
}

/* The function with more blocks. If they are the same blocks, the inner one. */
static bool is_better(const struct function *a, const struct function *b) {
    if (a->ended != b->ended) return a->ended > b->ended;
    return a->phases != b->phases ? a->phases > b->phases : a->depth < b->depth;
}

static const struct function *choose(const struct seeker *seeker) {
    const struct function *best = NULL;
    uint64_t allocations = 0;
    for (size_t i = 0; i < seeker->trace->count; i++) allocations += seeker->trace->ops[i].kind == TRACE_ALLOC;
    for (uint32_t n = 0; n < seeker->count; n++) {
        const struct function *function = &seeker->functions[n];
        if (has_phases(function, allocations) && (!best || is_better(function, best))) best = function;
    }
    return best;
}

/* Notes where a phase ends: up to the frame of the function. */
static void note_end(struct phase *phase, const char *frames) {
    phase->end = frames;
    phase->end_length = strlen(frames);
    for (const char *frame = frames; frame; frame = frames_outside(frame)) {
        bool own = strncmp(frame, phase->function, phase->length) == 0 && frame[phase->length] == ' ';
        if (own) phase->end_length = (size_t)(frame - frames) + frames_first(frame);
        if (own) return;
    }
}

/* Marks the free that ends a phase, and those before it, up to the phase's last allocation or resize. */
static void mark_end(const struct seeker *seeker, struct phase *phase, size_t last) {
    const struct trace *trace = seeker->trace;
    phase->ops[last] = PHASE_END;
    note_end(phase, trace->names[trace->ops[last].caller]); /* a free that is not recorded is not in the function */
    for (size_t i = last; i-- > 0;) {
        if (phase->ops[i] == PHASE_NONE) continue;
        if (phase->ops[i] != PHASE_BLOCK || trace->ops[i].kind != TRACE_FREE) return;
        phase->ops[i] = PHASE_LEFT;
    }
}

static bool mark(const struct seeker *seeker, struct phase *phase, uint32_t number) {
    const struct trace *trace = seeker->trace;
    uint64_t alive = 0;
    phase->ops = calloc(trace->count + 1, sizeof *phase->ops);
    if (!phase->ops) return false;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        if (op->kind == TRACE_ALLOC) seeker->makers[op->block] = op->caller;
        if (!has_function(seeker, seeker->makers[op->block], number)) continue;
        phase->ops[i] = PHASE_BLOCK;
        alive += op->kind == TRACE_ALLOC;
        if (op->kind == TRACE_FREE && --alive == 0) mark_end(seeker, phase, i);
    }
    return true;
}

bool phase_find(struct phase *phase, const struct trace *trace) {
    struct seeker seeker = {.trace = trace};
    *phase = (struct phase){.function = NULL};
    bool done = list_all(&seeker);
    if (done) see_all(&seeker);
    const struct function *best = done ? choose(&seeker) : NULL;
    if (best) {
        *phase = (struct phase){.function = best->name,
                                .length = best->length,
                                .phases = best->phases,
                                .blocks = best->ended,
                                .together = best->together,
                                .least = best->least,
                                .most = best->most};
        done = mark(&seeker, phase, (uint32_t)(best - seeker.functions));
    }
    map_free(&seeker.map);
    free(seeker.functions);
    free(seeker.lists);
    free(seeker.numbers);
    free(seeker.makers);
    return done;
}

void phase_free(struct phase *phase) {
    free(phase->ops);
    *phase = (struct phase){.function = NULL};
}

bool phase_gains(const struct phase *phase) {
    const struct gain *gain = &phase->gain;
    if (!phase->function || gain->samples == 0) return false;
    return gain_range(gain->first, gain->samples).low > 0 || gain_range(gain->repeated, gain->samples).low > 0;
}
