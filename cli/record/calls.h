/* cli/record/calls.h: the stacks of a recorded program: where its modules lay, and in the end words for each stack. */
#ifndef CLI_CALLS_H
#define CLI_CALLS_H

#include "output.h"
#include "symbols.h"
#include "../../preload/record/wire.h"
#include "../replay/map.h"

struct call {
    uint64_t frames[WIRE_DEPTH];  /* 0: there are no more */
    uint32_t modules[WIRE_DEPTH]; /* of each frame, its number and 1; 0: it lies in none */
};

/* All zero: none. */
struct calls {
    struct call *calls; /* by number; what 0 stands for has no frames */
    size_t count, room;
    struct module *modules;
    size_t module_count, module_room;
    struct map places; /* frames to their words */
    char **words;
    size_t word_count, word_room;
    bool has_no_memory; /* some have no names therefore */
};

/* A module; is_first: it begins a new list of those that are there. The path becomes the list's. */
void calls_add_module(struct calls *calls, bool is_first, struct module module);

/* The stack of the next number. */
void calls_add(struct calls *calls, uint32_t number, const uint64_t *frames, uint32_t count);

/* A line for each. */
void calls_write(struct calls *calls, struct output *output);

/* It is all zero then. */
void calls_free(struct calls *calls);

#endif
