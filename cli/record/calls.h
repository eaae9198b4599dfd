/* cli/record/calls.h: the stacks of a recorded program. Records where the program's modules are in memory, and finally
 * prints each stack as text. */
#ifndef CLI_CALLS_H
#define CLI_CALLS_H

#include "output.h"
#include "symbols.h"
#include "../../preload/record/wire.h"
#include "../replay/map.h"

struct call {
    uint64_t frames[WIRE_DEPTH];  /* 0: there are no more frames */
    uint32_t modules[WIRE_DEPTH]; /* the number of each frame's module plus 1; 0: no module */
};

/* If it is all zero, there are none. */
struct calls {
    struct call *calls; /* by number; number 0 has no frames */
    size_t count, room;
    struct module *modules;
    size_t module_count, module_room;
    struct map places; /* from frames to their words */
    char **words;
    size_t word_count, word_room;
    bool has_no_memory; /* memory ran out, so some calls have no names */
};

/* Adds a module. With `is_first`, starts a new list of the loaded modules. Takes ownership of the module's path. */
void calls_add_module(struct calls *calls, bool is_first, struct module module);

/* Adds the stack with the next number. */
void calls_add(struct calls *calls, uint32_t number, const uint64_t *frames, uint32_t count);

/* Adds a name, which lies at this address in the program, in place of a stack. */
void calls_add_name(struct calls *calls, uint32_t number, uint64_t address, const char *name);

/* Writes a line for each call. */
void calls_write(struct calls *calls, struct output *output);

/* Frees everything, and leaves the struct all zero. */
void calls_free(struct calls *calls);

#endif
