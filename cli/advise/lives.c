/* lives.c: computes the statistics of the lives of a source's objects: see sources.h. */
#include "sources.h"

#include <stdlib.h>

struct look {
    struct source *source;
    uint32_t *numbers; /* of live objects, by block */
    uint32_t *unused;  /* the object numbers below the peak that are free, the last one freed first */
    uint16_t *threads; /* by object number: the thread that allocated it */
    bool *seen;        /* by thread: it has done an operation */
    uint32_t alive;
    uint64_t dying; /* objects that have ended since the last one began */
    uint64_t begun; /* objects that have begun since last none was alive */
};

static void see_thread(struct look *look, uint16_t thread) {
    look->source->threads += !look->seen[thread];
    look->seen[thread] = true;
}

static void begin(struct look *look, struct source_op *op) {
    uint32_t block = op->object, peak = look->source->peak;
    op->object = look->alive < peak ? look->unused[peak - look->alive - 1] : look->source->peak++;
    look->numbers[block] = op->object;
    look->threads[op->object] = op->thread;
    look->alive++;
    look->dying = 0;
    if (++look->begun > look->source->most_begun) look->source->most_begun = look->begun;
}

static void end(struct look *look, struct source_op *op) {
    uint32_t block = op->object;
    op->object = look->numbers[block];
    look->unused[look->source->peak - look->alive] = op->object;
    look->alive--;
    look->dying++;
}

/* Called when no object is alive any more: those that ended since the last one began died together. */
static void end_party(struct look *look) {
    look->source->together += look->dying;
    look->source->parties += look->dying > 0;
    look->dying = look->begun = 0;
}

static void look_at_all(struct look *look) {
    struct source *source = look->source;
    for (size_t i = 0; i < source->count; i++) {
        struct source_op *op = &source->ops[i];
        see_thread(look, op->thread);
        if (!op->ends) {
            begin(look, op);
            continue;
        }
        end(look, op);
        source->handed += look->threads[op->object] != op->thread;
        if (look->alive == 0) end_party(look);
    }
    for (size_t i = source->count; i < source->count + source->left; i++) end(look, &source->ops[i]);
    end_party(look); /* the end of the program ends all objects that are left */
}

bool source_look(struct source *source, uint32_t blocks) {
    struct look look = {.source = source};
    look.numbers = malloc(((size_t)blocks + 1) * sizeof *look.numbers);
    look.unused = malloc(((size_t)source->allocations + 1) * sizeof *look.unused);
    look.threads = malloc(((size_t)source->allocations + 1) * sizeof *look.threads);
    look.seen = calloc((size_t)TRACE_THREAD_MOST + 1, sizeof *look.seen);
    bool done = look.numbers && look.unused && look.threads && look.seen;
    if (done) look_at_all(&look);
    free(look.numbers);
    free(look.unused);
    free(look.threads);
    free(look.seen);
    return done;
}
