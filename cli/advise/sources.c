/* sources.c: finds the sources of a trace: see sources.h.
 *
 * First the allocations and the frees are grouped: a group of allocations is an origin, one of frees an end. Then it is
 * counted which ends free the objects of which origins, and origins are joined to sources. Finally each operation is
 * assigned to the source of its origin.
 */
#include "sources.h"
#include "../replay/frames.h"
#include "../room.h"

#include <stdlib.h>
#include <string.h>

#define NOBODY UINT32_MAX

/* A block's latest allocation or resize. */
struct life {
    uint64_t size;
    uint32_t caller; /* NOBODY: it was resized, and belongs to no source now */
};

/* Objects of one origin that are freed at one end. */
struct link {
    uint32_t origin, end;
    uint64_t count;
};

struct finder {
    const struct trace *trace;
    struct sources *sources;
    struct groups origins, ends;
    struct life *lives; /* by block */
    struct link *links;
    size_t link_count, link_room;
    struct map numbers; /* of the links */
    uint32_t *joined;   /* by origin: itself, or an earlier origin of the same source */
    uint32_t *owners;   /* by origin: the number of its source */
};

/* ---- Origins and ends -------------------------------------------------------------------------------------------- */

static bool count_op(struct finder *finder, const trace_op *op) {
    struct life *life = &finder->lives[op->block];
    if (op->kind == TRACE_FREE) return op->caller == TRACE_NOBODY || groups_add(&finder->ends, op->caller, life->size);
    life->size = op->size;
    return op->kind != TRACE_ALLOC || groups_add(&finder->origins, op->caller, op->size);
}

static bool find_groups(struct finder *finder) {
    const struct trace *trace = finder->trace;
    finder->lives = calloc((size_t)trace->blocks + 1, sizeof *finder->lives);
    bool done = finder->lives;
    for (size_t i = 0; done && i < trace->count; i++) done = count_op(finder, &trace->ops[i]);
    return done && groups_make(&finder->origins, trace) && groups_make(&finder->ends, trace);
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

static bool count_link(struct finder *finder, uint32_t origin, uint32_t end) {
    uint64_t key = ((uint64_t)origin << 32 | end) + 1;
    uint32_t number;
    if (map_get(&finder->numbers, key, &number)) {
        finder->links[number].count++;
        return true;
    }
    if (!has_room(&finder->links, finder->link_count, &finder->link_room, sizeof *finder->links)) return false;
    if (!map_put(&finder->numbers, key, (uint32_t)finder->link_count)) return false;
    finder->links[finder->link_count++] = (struct link){.origin = origin, .end = end, .count = 1};
    return true;
}

static bool count_links(struct finder *finder) {
    const struct trace *trace = finder->trace;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        struct life *life = &finder->lives[op->block];
        if (op->kind == TRACE_ALLOC) *life = (struct life){.size = op->size, .caller = op->caller};
        if (op->kind == TRACE_REALLOC) life->caller = NOBODY;
        if (op->kind != TRACE_FREE || op->caller == TRACE_NOBODY || life->caller == NOBODY) continue;
        uint32_t origin = groups_find(&finder->origins, life->caller, life->size);
        if (!count_link(finder, origin, groups_find(&finder->ends, op->caller, life->size))) return false;
    }
    return true;
}

/* Returns true if all operations at the group's place have one size. */
static bool has_one_size(const struct group *group) {
    return group->least == group->most && !group->by_size;
}

static uint32_t first_of(const struct finder *finder, uint32_t origin) {
    while (finder->joined[origin] != origin) origin = finder->joined[origin];
    return origin;
}

/* Joins the origins whose objects are freed at the same end, if that end frees objects of one size only. */
static bool join_origins(struct finder *finder) {
    uint32_t *firsts = malloc((finder->ends.count + 1) * sizeof *firsts); /* by end: an origin, or NOBODY */
    finder->joined = malloc((finder->origins.count + 1) * sizeof *finder->joined);
    bool done = firsts && finder->joined;
    for (uint32_t i = 0; done && i < finder->origins.count; i++) finder->joined[i] = i;
    for (uint32_t i = 0; done && i < finder->ends.count; i++) firsts[i] = NOBODY;
    for (size_t i = 0; done && i < finder->link_count; i++) {
        const struct link *link = &finder->links[i];
        const struct group *allocated = &finder->origins.groups[link->origin];
        if (!has_one_size(&finder->ends.groups[link->end]) || allocated->least != allocated->most) continue;
        uint32_t origin = first_of(finder, link->origin), *first = &firsts[link->end];
        if (*first == NOBODY) *first = origin;
        uint32_t other = first_of(finder, *first);
        finder->joined[origin > other ? origin : other] = origin > other ? other : origin;
    }
    free(firsts);
    return done;
}

/* ---- Sources ----------------------------------------------------------------------------------------------------- */

static int by_count(const void *left, const void *right) {
    const struct place *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return strcmp(a->frames, b->frames); /* makes the order the same each time */
}

/* Gives each origin to a source. Sites are joined to earlier ones only. */
static bool make_sources(struct finder *finder) {
    struct sources *sources = finder->sources;
    size_t count = finder->origins.count;
    finder->owners = malloc((count + 1) * sizeof *finder->owners);
    sources->sources = calloc(count + 1, sizeof *sources->sources);
    sources->places = malloc((count + finder->link_count + 1) * sizeof *sources->places);
    if (!finder->owners || !sources->sources || !sources->places) return false;
    for (uint32_t origin = 0; origin < count; origin++) {
        uint32_t first = first_of(finder, origin);
        if (first == origin) sources->sources[sources->count].number = (uint32_t)sources->count;
        finder->owners[origin] = first == origin ? (uint32_t)sources->count++ : finder->owners[first];
        sources->sources[finder->owners[origin]].origin_count++;
    }
    return true;
}

static void add_origin(struct source *source, const struct group *group) {
    source->origins[source->origin_count++] =
        (struct place){group->frames, group->length, group->innermost, group->count, false};
    if (source->allocations == 0 || group->least < source->least) source->least = group->least;
    if (group->most > source->most) source->most = group->most;
    source->by_size |= group->by_size;
    source->allocations += group->count;
}

/* Returns the first unused place. */
static struct place *add_origins(const struct finder *finder) {
    const struct sources *sources = finder->sources;
    struct place *next = sources->places;
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->sources[i];
        source->origins = next;
        next += source->origin_count;
        source->origin_count = 0;
    }
    for (size_t origin = 0; origin < finder->origins.count; origin++)
        add_origin(&sources->sources[finder->owners[origin]], &finder->origins.groups[origin]);
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->sources[i];
        qsort(source->origins, source->origin_count, sizeof *source->origins, by_count);
        source->frames = source->origins[0].frames;
        source->length = source->origins[0].length;
        source->innermost = source->origins[0].innermost;
    }
    return next;
}

static int by_origin(const void *left, const void *right) {
    const struct link *a = left, *b = right;
    if (a->origin != b->origin) return a->origin < b->origin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

/* Is the innermost part of these frames, of this length, called from several places where blocks are freed? */
static bool has_callers(const struct groups *ends, const struct group *end, size_t length) {
    size_t caller = length + strlen(" < ") + frames_first(end->frames + length + strlen(" < "));
    for (size_t i = 0; i < ends->count; i++) {
        const char *frames = ends->groups[i].frames;
        bool same = ends->groups[i].length > length && strncmp(frames, end->frames, length + strlen(" < ")) == 0;
        if (same && (strncmp(frames, end->frames, caller) != 0 || (frames[caller] && frames[caller] != ' ')))
            return true;
    }
    return false;
}

/* The line of code where the group frees: its innermost frame, or the one that calls a wrapper like xfree. If only
 * frames further out tell sizes apart, then the line frees several sizes. */
static struct place place_of(const struct groups *ends, const struct group *end) {
    struct place place = {.frames = end->frames, .length = frames_first(end->frames), .mixed = !has_one_size(end)};
    while (place.length < end->length && has_callers(ends, end, place.length)) {
        place.innermost = place.length + strlen(" < ");
        place.length = place.innermost + frames_first(end->frames + place.innermost);
    }
    place.mixed |= place.length < end->length;
    return place;
}

/* Adds objects to the place, which is new if the source has none with its frames. */
static void add_end(struct source *source, struct place place) {
    for (size_t i = 0; i < source->end_count; i++) {
        struct place *known = &source->ends[i];
        if (known->length != place.length || strncmp(known->frames, place.frames, place.length) != 0) continue;
        known->count += place.count;
        known->mixed |= place.mixed;
        return;
    }
    source->ends[source->end_count++] = place;
}

/* The links now lead from sources to ends. */
static void add_ends(const struct finder *finder, struct place *next) {
    const struct sources *sources = finder->sources;
    struct link *links = finder->links;
    for (size_t i = 0; i < finder->link_count; i++) links[i].origin = finder->owners[links[i].origin];
    if (finder->link_count > 0) qsort(links, finder->link_count, sizeof *links, by_origin);
    for (size_t i = 0; i < finder->link_count; i++) {
        struct source *source = &sources->sources[links[i].origin];
        struct place place = place_of(&finder->ends, &finder->ends.groups[links[i].end]);
        place.count = links[i].count;
        if (source->end_count == 0) source->ends = next + i;
        add_end(source, place);
    }
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->sources[i];
        if (source->end_count > 0) qsort(source->ends, source->end_count, sizeof *source->ends, by_count);
    }
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static void count_functions(struct source *source, const trace_op *op) {
    bool several = op->by == TRACE_BY_CALLOC && op->more > 1;
    source->arrays += several && op->size > op->more; /* calloc(size, 1) is for one object, or for text */
    source->grown += op->by == TRACE_BY_REALLOC;
    if (op->by == TRACE_BY_ALIGNED && op->more > source->align) source->align = op->more;
}

static void add_op(struct source *source, uint32_t block, uint16_t thread, bool ends) {
    source->ops[source->count++] = (struct source_op){.object = block, .thread = thread, .ends = ends};
}

/* Copies the operations of the trace to their sources. `owners` has space for the source of each block. */
static void share_out(const struct finder *finder, uint32_t *owners) {
    const struct trace *trace = finder->trace;
    struct source *sources = finder->sources->sources;
    for (uint32_t block = 0; block < trace->blocks; block++) owners[block] = NOBODY;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        uint32_t *owner = &owners[op->block];
        if (op->kind == TRACE_ALLOC) {
            *owner = finder->owners[groups_find(&finder->origins, op->caller, op->size)];
            finder->sources->owners[i] = *owner;
            add_op(&sources[*owner], op->block, op->thread, false);
            count_functions(&sources[*owner], op);
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
static bool collect_ops(const struct finder *finder) {
    struct sources *sources = finder->sources;
    uint32_t *owners = malloc(((size_t)finder->trace->blocks + 1) * sizeof *owners);
    sources->ops = malloc((2 * (size_t)sources->allocations + 1) * sizeof *sources->ops);
    sources->owners = malloc((finder->trace->count + 1) * sizeof *sources->owners);
    bool done = owners && sources->ops && sources->owners;
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

static bool find(struct finder *finder) {
    struct sources *sources = finder->sources;
    if (!find_groups(finder) || !count_links(finder) || !join_origins(finder) || !make_sources(finder)) return false;
    sources->allocations = finder->origins.operations;
    add_ends(finder, add_origins(finder));
    return collect_ops(finder);
}

/* The frames of a function have a file or an address, unlike the name of a pool. Of a recording that is cut off there
 * are no names. */
static bool is_in_pool(const struct trace *trace, const struct source *source) {
    return trace->own > 0 && trace->cut_line == 0 && *source->frames && !strpbrk(source->frames, "(+");
}

/* Looks at those that have enough allocations. */
static bool look(const struct finder *finder) {
    struct sources *sources = finder->sources;
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = &sources->sources[i];
        if (source_is_few(source->allocations, sources->allocations)) continue;
        source->pooled = is_in_pool(finder->trace, source);
        if (!source_look(source, finder->trace->blocks)) return false;
    }
    return true;
}

bool sources_find(struct sources *sources, const struct trace *trace) {
    struct finder finder = {.trace = trace, .sources = sources};
    *sources = (struct sources){0};
    bool done = find(&finder);
    if (done && sources->count > 0) qsort(sources->sources, sources->count, sizeof *sources->sources, by_allocations);
    done = done && look(&finder);
    map_free(&finder.numbers);
    free(finder.lives);
    free(finder.links);
    free(finder.joined);
    free(finder.owners);
    groups_free(&finder.origins);
    groups_free(&finder.ends);
    if (!done) sources_free(sources);
    return done;
}

void sources_free(struct sources *sources) {
    free(sources->sources);
    free(sources->ops);
    free(sources->owners);
    free(sources->places);
    *sources = (struct sources){0};
}
