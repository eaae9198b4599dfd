/* digest.c: see digest.h. */
#include "digest.h"

#include "../replay/frames.h"

#include <stdlib.h>
#include <string.h>

struct block {
    uint64_t size;
    uint32_t caller;
    bool alive;
    size_t birth; /* the operation that allocated it */
};

struct counts {
    uint64_t peak_bytes, bytes, blocks;
};

/* What is alive, while the operations are read in their order. */
struct play {
    struct block *blocks;
    uint64_t bytes, alive;
};

static unsigned doubling_of(uint64_t number) {
    unsigned n = 0;
    while (number && n < DIGEST_DOUBLINGS - 1) number >>= 1, n++;
    return n;
}

static void add_to_class(struct digest_class *classes, uint64_t number, uint64_t bytes) {
    struct digest_class *class_ = &classes[doubling_of(number)];
    class_->blocks++;
    class_->bytes += bytes;
}

static void play_op(struct play *play, const trace_op *op, size_t at) {
    struct block *block = &play->blocks[op->block];
    if (op->kind != TRACE_ALLOC) play->bytes -= block->size;
    if (op->kind == TRACE_FREE) {
        block->alive = false;
        play->alive--;
        return;
    }
    play->bytes += op->size;
    if (op->kind == TRACE_ALLOC) {
        play->alive++;
        block->birth = at;
    }
    block->size = op->size;
    block->caller = op->caller;
    block->alive = true;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

static void count_op(struct digest *digest, struct counts *callers, const struct play *play, const trace_op *op,
                     size_t at) {
    if (op->kind == TRACE_FREE) {
        const struct block *block = &play->blocks[op->block]; /* as before the free */
        digest->frees++;
        add_to_class(digest->lives, at - block->birth, block->size);
        return;
    }
    digest->resizes += op->kind == TRACE_REALLOC;
    digest->blocks++;
    digest->bytes += op->size;
    callers[op->caller].blocks++;
    callers[op->caller].bytes += op->size;
    add_to_class(digest->sizes, op->size, op->size);
}

static void note_most(struct digest *digest, const struct play *play, size_t at) {
    size_t step = at / digest->per_step;
    struct digest_step *now = &digest->steps[step];
    if (now->bytes < play->bytes) now->bytes = play->bytes;
    if (now->blocks < play->alive) now->blocks = play->alive;
    if (digest->step_count <= step) digest->step_count = step + 1;
    if (play->bytes <= digest->peak_bytes) return;
    digest->peak_bytes = play->bytes;
    digest->peak_blocks = play->alive;
    digest->peak_at = at;
}

static void count_all(struct digest *digest, const struct trace *trace, struct play *play, struct counts *callers) {
    digest->per_step = (trace->count + DIGEST_STEPS - 1) / DIGEST_STEPS;
    for (size_t at = 0; at < trace->count; at++) {
        count_op(digest, callers, play, &trace->ops[at], at);
        play_op(play, &trace->ops[at], at);
        note_most(digest, play, at);
    }
    digest->left_bytes = play->bytes;
    digest->left_blocks = play->alive;
}

/* Plays the operations again, up to the peak. */
static void count_peak(const struct digest *digest, const struct trace *trace, struct play *play,
                       struct counts *callers) {
    memset(play->blocks, 0, trace->blocks * sizeof *play->blocks);
    for (size_t at = 0; at <= digest->peak_at; at++) play_op(play, &trace->ops[at], at);
    for (uint32_t n = 0; n < trace->blocks; n++)
        if (play->blocks[n].alive) callers[play->blocks[n].caller].peak_bytes += play->blocks[n].size;
}

/* ---- The tree ---------------------------------------------------------------------------------------------------- */

static void add_counts(struct digest_path *path, const struct counts *counts) {
    path->peak_bytes += counts->peak_bytes;
    path->bytes += counts->bytes;
    path->blocks += counts->blocks;
}

/* Returns the number of a path's child with this frame, which is added if it is new; 0: memory ran out. */
static uint32_t child_of(struct digest *digest, uint32_t parent, const char *frame, size_t length, uint32_t *room) {
    uint32_t child = digest->paths[parent].first;
    for (; child; child = digest->paths[child].next) {
        const struct digest_path *path = &digest->paths[child];
        if (path->length == length && memcmp(path->frame, frame, length) == 0) return child;
    }
    if (digest->path_count == *room) {
        if (*room > UINT32_MAX / 2) return 0;
        struct digest_path *more = realloc(digest->paths, 2 * (size_t)*room * sizeof *more);
        if (!more) return 0;
        digest->paths = more;
        *room *= 2;
    }
    child = digest->path_count++;
    digest->paths[child] = (struct digest_path){.frame = frame, .length = length};
    digest->paths[child].next = digest->paths[parent].first;
    digest->paths[parent].first = child;
    return child;
}

/* Returns where the DIGEST_DEPTH innermost frames end. */
static const char *end_of(const char *frames) {
    const char *last = frames;
    for (unsigned depth = 1; depth < DIGEST_DEPTH && frames_outside(last); depth++) last = frames_outside(last);
    return last + frames_first(last);
}

/* Adds a caller's path, from its outermost frame on. */
static bool add_path(struct digest *digest, const char *frames, const struct counts *counts, uint32_t *room) {
    const char *end = end_of(frames);
    uint32_t path = 0;
    add_counts(&digest->paths[0], counts);
    while (end > frames || path == 0) {
        const char *start = end;
        while (start > frames && !(start - frames >= 3 && memcmp(start - 3, " < ", 3) == 0)) start--;
        path = child_of(digest, path, start, (size_t)(end - start), room);
        if (!path) return false;
        add_counts(&digest->paths[path], counts);
        if (start == frames) break;
        end = start - 3;
    }
    return true;
}

static bool make_tree(struct digest *digest, const struct trace *trace, const struct counts *callers) {
    uint32_t room = 256;
    digest->paths = calloc(room, sizeof *digest->paths);
    digest->path_count = 1;
    for (uint32_t n = 0; digest->paths && n < trace->callers; n++)
        if (callers[n].blocks && !add_path(digest, trace->names[n], &callers[n], &room)) return false;
    return digest->paths;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

bool digest_make(struct digest *digest, const struct trace *trace) {
    struct play play = {.blocks = calloc(trace->blocks + 1, sizeof *play.blocks)};
    struct counts *callers = calloc(trace->callers + (size_t)1, sizeof *callers);
    *digest = (struct digest){0};
    bool done = play.blocks && callers;
    if (done) {
        count_all(digest, trace, &play, callers);
        count_peak(digest, trace, &play, callers);
        done = make_tree(digest, trace, callers);
    }
    free(play.blocks);
    free(callers);
    if (!done) digest_free(digest);
    return done;
}

void digest_free(struct digest *digest) {
    free(digest->paths);
    *digest = (struct digest){0};
}
