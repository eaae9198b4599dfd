/* sources.c: finds the sources of a trace: see sources.h.
 *
 * First it counts the allocations of each pair of caller and size. Then it joins the pairs to sources, by their frames.
 * Finally it assigns each operation to the source of its pair.
 */
#include "sources.h"
#include "../replay/map.h"

#include <stdlib.h>
#include <string.h>

/* If no frame is left to tell sizes apart, a size becomes a source of its own if it makes up 1/SHARE of the
 * allocations. A whole stack identifies one line of the program, so different sizes there mean that the size varies. A
 * single caller may be a wrapper that the whole program calls. */
enum { SHARE_OF_STACK = 2, SHARE_OF_CALLER = 20 };

enum { DEPTH_MOST = 256 }; /* frames; those further out do not help to tell sources apart */

struct frame {
    const char *text; /* NULL: there are no more frames */
    size_t length;
};

/* How many frames a group of pairs has in common, and how many of them it takes to separate it from other groups. */
struct depth {
    size_t common, telling;
};

struct pair {
    uint64_t size, count;
    uint32_t caller;
    uint32_t source;
    struct frame frame; /* the frame by which the groups are being divided */
};

struct finder {
    const struct trace *trace;
    struct pair *pairs;
    size_t count, room;
    struct map numbers; /* of the pairs */
    struct sources *sources;
    size_t source_room;
    bool failed; /* memory ran out */
};

bool source_is_few(uint64_t allocations, uint64_t of_all) {
    return allocations < SOURCE_LEAST || allocations * SOURCE_SHARE_LEAST < of_all;
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------- */

/* A pair is identified by a 64-bit hash (Steele, Lea, Flood: SplitMix, 2014). Among a million pairs, the chance of a
 * collision is 1 in 40 million. */
static uint64_t key_of(const trace_op *op) {
    uint64_t z = (op->size + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (op->caller + 1) * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) | 1;
}

static struct pair *pair_of(struct finder *finder, const trace_op *op) {
    uint32_t number;
    if (map_get(&finder->numbers, key_of(op), &number)) return &finder->pairs[number];
    if (finder->count == finder->room) {
        finder->room = finder->room ? 2 * finder->room : 256;
        struct pair *moved = realloc(finder->pairs, finder->room * sizeof *moved);
        if (!moved) return NULL;
        finder->pairs = moved;
    }
    if (!map_put(&finder->numbers, key_of(op), (uint32_t)finder->count)) return NULL;
    finder->pairs[finder->count] = (struct pair){.size = op->size, .caller = op->caller};
    return &finder->pairs[finder->count++];
}

static bool count_pairs(struct finder *finder) {
    const struct trace *trace = finder->trace;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->ops[i].kind != TRACE_ALLOC) continue;
        struct pair *pair = pair_of(finder, &trace->ops[i]);
        if (!pair) return false;
        pair->count++;
        finder->sources->allocations++;
    }
    return true;
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

static struct frame frame_at(const char *text) {
    const char *end = strstr(text, " < ");
    return (struct frame){text, end ? (size_t)(end - text) : strlen(text)};
}

static struct frame frame_after(struct frame frame) {
    const char *end = frame.text + frame.length;
    return *end ? frame_at(end + strlen(" < ")) : (struct frame){0};
}

static int by_frame(const void *left, const void *right) {
    const struct frame *a = &(*(struct pair *const *)left)->frame, *b = &(*(struct pair *const *)right)->frame;
    size_t length = a->length < b->length ? a->length : b->length;
    int order = length > 0 ? memcmp(a->text, b->text, length) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_size(const void *left, const void *right) {
    uint64_t a = (*(struct pair *const *)left)->size, b = (*(struct pair *const *)right)->size;
    return (a > b) - (a < b);
}

/* ---- Groups of pairs --------------------------------------------------------------------------------------------- */

static uint64_t allocations_of(struct pair *const *pairs, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += pairs[i]->count;
    return sum;
}

static bool has_one_size(struct pair *const *pairs, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (pairs[i]->size != pairs[0]->size) return false;
    return true;
}

/* Makes one source of these pairs. They have `depth` frames in common, the outermost of which identifies the source. */
static void add_source(struct finder *finder, struct pair **pairs, size_t count, size_t depth, bool by_size) {
    struct sources *sources = finder->sources;
    if (sources->count == finder->source_room) {
        finder->source_room = finder->source_room ? 2 * finder->source_room : 64;
        struct source *moved = realloc(sources->sources, finder->source_room * sizeof *moved);
        finder->failed |= !moved;
        if (!moved) {
            finder->source_room = sources->count;
            return;
        }
        sources->sources = moved;
    }
    struct source source = {.frames = finder->trace->names[pairs[0]->caller], .by_size = by_size};
    struct frame frame = frame_at(source.frames);
    for (size_t i = 1; i < depth; i++) frame = frame_after(frame);
    source.innermost = (size_t)(frame.text - source.frames);
    source.length = source.innermost + frame.length;
    source.least = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        source.allocations += pairs[i]->count;
        if (pairs[i]->size < source.least) source.least = pairs[i]->size;
        if (pairs[i]->size > source.most) source.most = pairs[i]->size;
        pairs[i]->source = (uint32_t)sources->count;
    }
    sources->sources[sources->count++] = source;
}

/* Divides pairs by size if no frames are left. Returns true if a size with enough allocations became a source. */
static bool divide_by_size(struct finder *finder, struct pair **pairs, size_t count, struct depth depth) {
    uint64_t all = allocations_of(pairs, count), share = depth.common > 1 ? SHARE_OF_STACK : SHARE_OF_CALLER;
    size_t rest = 0;
    bool told = false, mixed = !has_one_size(pairs, count);
    qsort(pairs, count, sizeof(struct pair *), by_size);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && pairs[end]->size == pairs[begin]->size;) end++;
        uint64_t allocations = allocations_of(pairs + begin, end - begin);
        if (allocations * share < all || source_is_few(allocations, finder->sources->allocations)) {
            while (begin < end) pairs[rest++] = pairs[begin++];
        } else {
            told = true;
            add_source(finder, pairs + begin, end - begin, depth.telling, mixed);
        }
    }
    if (rest > 0) add_source(finder, pairs, rest, depth.telling, mixed);
    return told;
}

static bool divide(struct finder *finder, struct pair **pairs, size_t count, struct depth depth);

/* Makes sources of the pairs. Returns true if at least one of these has a single size and enough allocations. */
static bool make_sources(struct finder *finder, struct pair **pairs, size_t count, struct depth depth) {
    if (has_one_size(pairs, count)) {
        add_source(finder, pairs, count, depth.telling, false);
        return !source_is_few(allocations_of(pairs, count), finder->sources->allocations);
    }
    size_t before = finder->sources->count;
    for (size_t i = 0; i < count; i++)
        pairs[i]->frame = depth.common < DEPTH_MOST ? frame_after(pairs[i]->frame) : (struct frame){0};
    if (divide(finder, pairs, count, depth)) return true;
    finder->sources->count = before; /* dividing by outer frames gained nothing */
    add_source(finder, pairs, count, depth.telling, false);
    return false;
}

/* Groups the pairs by the next frame after those that they have in common. */
static bool divide(struct finder *finder, struct pair **pairs, size_t count, struct depth depth) {
    bool told = false;
    qsort(pairs, count, sizeof(struct pair *), by_frame);
    for (size_t begin = 0, end; begin < count; begin = end) {
        struct depth deeper = {depth.common + 1, depth.common + 1};
        for (end = begin + 1; end < count && by_frame(&pairs[begin], &pairs[end]) == 0;) end++;
        if (end - begin == count && depth.common > 0) deeper.telling = depth.telling;
        bool used_up = !pairs[begin]->frame.text;
        told |= used_up ? divide_by_size(finder, pairs + begin, end - begin, depth)
                        : make_sources(finder, pairs + begin, end - begin, deeper);
    }
    return told;
}

static bool group_pairs(struct finder *finder) {
    struct pair **pairs = malloc((finder->count + 1) * sizeof(struct pair *));
    if (!pairs) return false;
    for (size_t i = 0; i < finder->count; i++) {
        pairs[i] = &finder->pairs[i];
        pairs[i]->frame = frame_at(finder->trace->names[pairs[i]->caller]);
    }
    divide(finder, pairs, finder->count, (struct depth){0});
    free(pairs);
    return !finder->failed;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

#define NOBODY UINT32_MAX

static void add_op(struct source *source, uint32_t block, uint16_t thread, bool ends) {
    source->ops[source->count++] = (struct source_op){.object = block, .thread = thread, .ends = ends};
}

/* Copies the operations of the trace to their sources. `owners` has space for the source of each block. */
static void share_out(struct finder *finder, uint32_t *owners) {
    const struct trace *trace = finder->trace;
    struct source *sources = finder->sources->sources;
    for (uint32_t block = 0; block < trace->blocks; block++) owners[block] = NOBODY;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        uint32_t *owner = &owners[op->block];
        if (op->kind == TRACE_ALLOC) {
            *owner = pair_of(finder, op)->source;
            add_op(&sources[*owner], op->block, op->thread, false);
        } else if (*owner != NOBODY) {
            add_op(&sources[*owner], op->block, op->thread, true);
            sources[*owner].resized += op->kind == TRACE_REALLOC;
            *owner = NOBODY;
        }
    }
    for (uint32_t block = 0; block < trace->blocks; block++) {
        if (owners[block] == NOBODY) continue;
        struct source *source = &sources[owners[block]];
        source->ops[source->count + source->left++] = (struct source_op){.object = block, .ends = true};
    }
}

/* Each life has two operations. */
static bool collect_ops(struct finder *finder) {
    struct sources *sources = finder->sources;
    uint32_t *owners = malloc(((size_t)finder->trace->blocks + 1) * sizeof *owners);
    sources->ops = malloc((2 * (size_t)sources->allocations + 1) * sizeof *sources->ops);
    bool done = owners && sources->ops;
    struct source_op *next = sources->ops;
    for (size_t i = 0; done && i < sources->count; i++) {
        sources->sources[i].ops = next;
        next += 2 * sources->sources[i].allocations;
    }
    if (done) share_out(finder, owners);
    free(owners);
    return done;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int by_allocations(const void *left, const void *right) {
    const struct source *a = left, *b = right;
    if (a->allocations != b->allocations) return a->allocations < b->allocations ? 1 : -1;
    return (a->ops > b->ops) - (a->ops < b->ops); /* makes the order the same each time */
}

bool sources_find(struct sources *sources, const struct trace *trace) {
    struct finder finder = {.trace = trace, .sources = sources};
    *sources = (struct sources){0};
    bool done = count_pairs(&finder) && group_pairs(&finder) && collect_ops(&finder);
    map_free(&finder.numbers);
    free(finder.pairs);
    if (done) qsort(sources->sources, sources->count, sizeof *sources->sources, by_allocations);
    for (size_t i = 0; done && i < sources->count; i++)
        done = source_is_few(sources->sources[i].allocations, sources->allocations) ||
               source_look(&sources->sources[i], trace->blocks);
    if (!done) sources_free(sources);
    return done;
}

void sources_free(struct sources *sources) {
    free(sources->sources);
    free(sources->ops);
    *sources = (struct sources){0};
}
