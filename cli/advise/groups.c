/* groups.c: see groups.h. First the operations of each pair of caller and size are counted. Then the pairs are joined
 * to groups, by their frames. */
#include "groups.h"
#include "../room.h"

#include "../replay/frames.h"

#include <stdlib.h>
#include <string.h>

/* If no frame is left to tell sizes apart, a size becomes a group of its own if it makes up 1/SHARE of the
 * operations. A whole stack identifies one line of the program, so different sizes there mean that the size varies. A
 * single caller may be a wrapper that the whole program calls. */
enum { SHARE_OF_STACK = 2, SHARE_OF_CALLER = 20 };

enum { DEPTH_MOST = 256 }; /* frames; those further out do not help to tell groups apart */

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
    uint32_t group;
    struct frame frame; /* the frame by which the groups are being divided */
};

struct divider {
    struct groups *groups;
    const struct trace *trace;
    bool failed; /* memory ran out */
};

bool source_is_few(uint64_t allocations, uint64_t of_all) {
    return allocations < SOURCE_LEAST || allocations * SOURCE_SHARE_LEAST < of_all;
}

/* ---- Pairs ------------------------------------------------------------------------------------------------------- */

/* A pair is identified by a 64-bit hash (Steele, Lea, Flood: SplitMix, 2014). Among a million pairs, the chance of a
 * collision is 1 in 40 million. */
static uint64_t key_of(uint32_t caller, uint64_t size) {
    uint64_t z = (size + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (caller + 1) * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) | 1;
}

static struct pair *pair_of(struct groups *groups, uint32_t caller, uint64_t size) {
    uint64_t key = key_of(caller, size);
    uint32_t number;
    if (map_get(&groups->numbers, key, &number)) return &groups->pairs[number];
    if (!has_room(&groups->pairs, groups->pair_count, &groups->pair_room, sizeof *groups->pairs)) return NULL;
    if (!map_put(&groups->numbers, key, (uint32_t)groups->pair_count)) return NULL;
    groups->pairs[groups->pair_count] = (struct pair){.size = size, .caller = caller};
    return &groups->pairs[groups->pair_count++];
}

bool groups_add(struct groups *groups, uint32_t caller, uint64_t size) {
    struct pair *pair = pair_of(groups, caller, size);
    if (!pair) return false;
    pair->count++;
    groups->operations++;
    return true;
}

uint32_t groups_find(const struct groups *groups, uint32_t caller, uint64_t size) {
    uint32_t number = 0;
    map_get(&groups->numbers, key_of(caller, size), &number);
    return groups->pairs[number].group;
}

/* ---- Frames ------------------------------------------------------------------------------------------------------ */

static struct frame frame_at(const char *text) {
    return (struct frame){text, frames_first(text)};
}

static struct frame frame_after(struct frame frame) {
    const char *outside = frames_outside(frame.text);
    return outside ? frame_at(outside) : (struct frame){0};
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

static uint64_t operations_of(struct pair *const *pairs, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += pairs[i]->count;
    return sum;
}

static bool has_one_size(struct pair *const *pairs, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (pairs[i]->size != pairs[0]->size) return false;
    return true;
}

/* Makes one group of these pairs. They have `depth` frames in common, the outermost of which identifies the group. */
static void add_group(struct divider *divider, struct pair **pairs, size_t count, size_t depth, bool by_size) {
    struct groups *groups = divider->groups;
    if (!has_room(&groups->groups, groups->count, &groups->room, sizeof *groups->groups)) {
        divider->failed = true;
        return;
    }
    struct group group = {.frames = divider->trace->names[pairs[0]->caller], .by_size = by_size};
    struct frame frame = frame_at(group.frames);
    for (size_t i = 1; i < depth; i++) frame = frame_after(frame);
    group.innermost = (size_t)(frame.text - group.frames);
    group.length = group.innermost + frame.length;
    group.least = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        group.count += pairs[i]->count;
        if (pairs[i]->size < group.least) group.least = pairs[i]->size;
        if (pairs[i]->size > group.most) group.most = pairs[i]->size;
        pairs[i]->group = (uint32_t)groups->count;
    }
    groups->groups[groups->count++] = group;
}

/* Divides pairs by size if no frames are left. Returns true if a size with enough operations became a group. */
static bool divide_by_size(struct divider *divider, struct pair **pairs, size_t count, struct depth depth) {
    uint64_t all = operations_of(pairs, count), share = depth.common > 1 ? SHARE_OF_STACK : SHARE_OF_CALLER;
    size_t rest = 0;
    bool told = false, mixed = !has_one_size(pairs, count);
    qsort(pairs, count, sizeof(struct pair *), by_size);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && pairs[end]->size == pairs[begin]->size;) end++;
        uint64_t operations = operations_of(pairs + begin, end - begin);
        if (operations * share < all || source_is_few(operations, divider->groups->operations)) {
            while (begin < end) pairs[rest++] = pairs[begin++];
        } else {
            told = true;
            add_group(divider, pairs + begin, end - begin, depth.telling, mixed);
        }
    }
    if (rest > 0) add_group(divider, pairs, rest, depth.telling, mixed);
    return told;
}

static bool divide(struct divider *divider, struct pair **pairs, size_t count, struct depth depth);

/* Makes groups of the pairs. Returns true if at least one of these has a single size and enough operations. */
static bool make_groups(struct divider *divider, struct pair **pairs, size_t count, struct depth depth) {
    if (has_one_size(pairs, count)) {
        add_group(divider, pairs, count, depth.telling, false);
        return !source_is_few(operations_of(pairs, count), divider->groups->operations);
    }
    size_t before = divider->groups->count;
    for (size_t i = 0; i < count; i++)
        pairs[i]->frame = depth.common < DEPTH_MOST ? frame_after(pairs[i]->frame) : (struct frame){0};
    if (divide(divider, pairs, count, depth)) return true;
    divider->groups->count = before; /* dividing by outer frames gained nothing */
    add_group(divider, pairs, count, depth.telling, false);
    return false;
}

/* Groups the pairs by the next frame after those that they have in common. */
static bool divide(struct divider *divider, struct pair **pairs, size_t count, struct depth depth) {
    bool told = false;
    qsort(pairs, count, sizeof(struct pair *), by_frame);
    for (size_t begin = 0, end; begin < count; begin = end) {
        struct depth deeper = {depth.common + 1, depth.common + 1};
        for (end = begin + 1; end < count && by_frame(&pairs[begin], &pairs[end]) == 0;) end++;
        if (end - begin == count && depth.common > 0) deeper.telling = depth.telling;
        bool used_up = !pairs[begin]->frame.text;
        told |= used_up ? divide_by_size(divider, pairs + begin, end - begin, depth)
                        : make_groups(divider, pairs + begin, end - begin, deeper);
    }
    return told;
}

bool groups_make(struct groups *groups, const struct trace *trace) {
    struct divider divider = {.groups = groups, .trace = trace};
    struct pair **pairs = malloc((groups->pair_count + 1) * sizeof(struct pair *));
    if (!pairs) return false;
    for (size_t i = 0; i < groups->pair_count; i++) {
        pairs[i] = &groups->pairs[i];
        pairs[i]->frame = frame_at(trace->names[pairs[i]->caller]);
    }
    divide(&divider, pairs, groups->pair_count, (struct depth){0});
    free(pairs);
    return !divider.failed;
}

void groups_free(struct groups *groups) {
    map_free(&groups->numbers);
    free(groups->pairs);
    free(groups->groups);
    *groups = (struct groups){0};
}
