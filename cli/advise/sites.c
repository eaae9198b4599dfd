/* sites.c: finds the sites of a trace: see sites.h.
 *
 * First the allocations of one caller and one size are counted: a kind. Then kinds are put together to sites, by their
 * frames. In the end each operation goes to the site of its kind.
 */
#include "sites.h"
#include "../replay/map.h"

#include <stdlib.h>
#include <string.h>

/* Where the frames of a site are used up, a size is told apart from the others if it has one part of so many of the
 * allocations. A whole stack leads to one line of the program, where other sizes mean that the size varies. A single
 * caller may be a wrapper that all of the program goes through. */
enum { SHARE_OF_STACK = 2, SHARE_OF_CALLER = 20 };

enum { DEPTH_MOST = 256 }; /* frames: what is further out tells nothing more */

struct frame {
    const char *text; /* NULL: there are no more */
    size_t length;
};

/* Frames that a group of kinds has in common, and the last of them that told it apart from others. */
struct depth {
    size_t common, telling;
};

struct kind {
    uint64_t size, count;
    uint32_t caller;
    uint32_t site;
    struct frame frame; /* the one that groups are told apart by now */
};

struct finder {
    const struct trace *trace;
    struct kind *kinds;
    size_t count, room;
    struct map numbers; /* of the kinds */
    struct sites *sites;
    size_t site_room;
    bool failed; /* there was no memory */
};

bool site_is_few(uint64_t allocations, uint64_t of_all) {
    return allocations < SITE_LEAST || allocations * SITE_SHARE_LEAST < of_all;
}

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

/* Kinds are told apart by this number of 64 bits (Steele, Lea, Flood: SplitMix, 2014): with a million of them, the
 * chance that two are taken for one is 1 in 40 million. */
static uint64_t key_of(const trace_op *op) {
    uint64_t z = (op->size + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ (op->caller + 1) * UINT64_C(0xd1342543de82ef95);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) | 1;
}

static struct kind *kind_of(struct finder *finder, const trace_op *op) {
    uint32_t number;
    if (map_get(&finder->numbers, key_of(op), &number)) return &finder->kinds[number];
    if (finder->count == finder->room) {
        finder->room = finder->room ? 2 * finder->room : 256;
        struct kind *moved = realloc(finder->kinds, finder->room * sizeof *moved);
        if (!moved) return NULL;
        finder->kinds = moved;
    }
    if (!map_put(&finder->numbers, key_of(op), (uint32_t)finder->count)) return NULL;
    finder->kinds[finder->count] = (struct kind){.size = op->size, .caller = op->caller};
    return &finder->kinds[finder->count++];
}

static bool count_kinds(struct finder *finder) {
    const struct trace *trace = finder->trace;
    for (size_t i = 0; i < trace->count; i++) {
        if (trace->ops[i].kind != TRACE_ALLOC) continue;
        struct kind *kind = kind_of(finder, &trace->ops[i]);
        if (!kind) return false;
        kind->count++;
        finder->sites->allocations++;
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
    const struct frame *a = &(*(struct kind *const *)left)->frame, *b = &(*(struct kind *const *)right)->frame;
    size_t length = a->length < b->length ? a->length : b->length;
    int order = length > 0 ? memcmp(a->text, b->text, length) : 0;
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int by_size(const void *left, const void *right) {
    uint64_t a = (*(struct kind *const *)left)->size, b = (*(struct kind *const *)right)->size;
    return (a > b) - (a < b);
}

/* ---- Groups of kinds --------------------------------------------------------------------------------------------- */

static uint64_t allocations_of(struct kind *const *kinds, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) sum += kinds[i]->count;
    return sum;
}

static bool has_one_size(struct kind *const *kinds, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (kinds[i]->size != kinds[0]->size) return false;
    return true;
}

/* Makes a site of kinds; the outermost of `depth` frames, which they have in common, tells it apart. */
static void add_site(struct finder *finder, struct kind **kinds, size_t count, size_t depth, bool by_size) {
    struct sites *sites = finder->sites;
    if (sites->count == finder->site_room) {
        finder->site_room = finder->site_room ? 2 * finder->site_room : 64;
        struct site *moved = realloc(sites->sites, finder->site_room * sizeof *moved);
        finder->failed |= !moved;
        if (!moved) {
            finder->site_room = sites->count;
            return;
        }
        sites->sites = moved;
    }
    struct site site = {.frames = finder->trace->names[kinds[0]->caller], .by_size = by_size};
    struct frame frame = frame_at(site.frames);
    for (size_t i = 1; i < depth; i++) frame = frame_after(frame);
    site.innermost = (size_t)(frame.text - site.frames);
    site.length = site.innermost + frame.length;
    site.least = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        site.allocations += kinds[i]->count;
        if (kinds[i]->size < site.least) site.least = kinds[i]->size;
        if (kinds[i]->size > site.most) site.most = kinds[i]->size;
        kinds[i]->site = (uint32_t)sites->count;
    }
    sites->sites[sites->count++] = site;
}

/* The frames of these are used up. True: a size was told apart that is not few. */
static bool divide_by_size(struct finder *finder, struct kind **kinds, size_t count, struct depth depth) {
    uint64_t all = allocations_of(kinds, count), share = depth.common > 1 ? SHARE_OF_STACK : SHARE_OF_CALLER;
    size_t rest = 0;
    bool told = false, mixed = !has_one_size(kinds, count);
    qsort(kinds, count, sizeof(struct kind *), by_size);
    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && kinds[end]->size == kinds[begin]->size;) end++;
        uint64_t allocations = allocations_of(kinds + begin, end - begin);
        if (allocations * share < all || site_is_few(allocations, finder->sites->allocations)) {
            while (begin < end) kinds[rest++] = kinds[begin++];
        } else {
            told = true;
            add_site(finder, kinds + begin, end - begin, depth.telling, mixed);
        }
    }
    if (rest > 0) add_site(finder, kinds, rest, depth.telling, mixed);
    return told;
}

static bool divide(struct finder *finder, struct kind **kinds, size_t count, struct depth depth);

/* Makes sites of kinds. True: one of them has one size and is not few. */
static bool make_sites(struct finder *finder, struct kind **kinds, size_t count, struct depth depth) {
    if (has_one_size(kinds, count)) {
        add_site(finder, kinds, count, depth.telling, false);
        return !site_is_few(allocations_of(kinds, count), finder->sites->allocations);
    }
    size_t before = finder->sites->count;
    for (size_t i = 0; i < count; i++)
        kinds[i]->frame = depth.common < DEPTH_MOST ? frame_after(kinds[i]->frame) : (struct frame){0};
    if (divide(finder, kinds, count, depth)) return true;
    finder->sites->count = before; /* nothing was gained by looking further out */
    add_site(finder, kinds, count, depth.telling, false);
    return false;
}

/* Groups kinds by the frame behind those that they have in common. */
static bool divide(struct finder *finder, struct kind **kinds, size_t count, struct depth depth) {
    bool told = false;
    qsort(kinds, count, sizeof(struct kind *), by_frame);
    for (size_t begin = 0, end; begin < count; begin = end) {
        struct depth deeper = {depth.common + 1, depth.common + 1};
        for (end = begin + 1; end < count && by_frame(&kinds[begin], &kinds[end]) == 0;) end++;
        if (end - begin == count && depth.common > 0) deeper.telling = depth.telling;
        bool used_up = !kinds[begin]->frame.text;
        told |= used_up ? divide_by_size(finder, kinds + begin, end - begin, depth)
                        : make_sites(finder, kinds + begin, end - begin, deeper);
    }
    return told;
}

static bool group_kinds(struct finder *finder) {
    struct kind **kinds = malloc((finder->count + 1) * sizeof(struct kind *));
    if (!kinds) return false;
    for (size_t i = 0; i < finder->count; i++) {
        kinds[i] = &finder->kinds[i];
        kinds[i]->frame = frame_at(finder->trace->names[kinds[i]->caller]);
    }
    divide(finder, kinds, finder->count, (struct depth){0});
    free(kinds);
    return !finder->failed;
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

enum { NOBODY = UINT32_MAX };

static void add_op(struct site *site, uint32_t block, uint16_t thread, bool ends) {
    site->ops[site->count++] = (struct site_op){.object = block, .thread = thread, .ends = ends};
}

/* Hands the operations of the trace to their sites; owners is room for the site of each block. */
static void share_out(struct finder *finder, uint32_t *owners) {
    const struct trace *trace = finder->trace;
    struct site *sites = finder->sites->sites;
    for (uint32_t block = 0; block < trace->blocks; block++) owners[block] = NOBODY;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        uint32_t *owner = &owners[op->block];
        if (op->kind == TRACE_ALLOC) {
            *owner = kind_of(finder, op)->site;
            add_op(&sites[*owner], op->block, op->thread, false);
        } else if (*owner != NOBODY) {
            add_op(&sites[*owner], op->block, op->thread, true);
            sites[*owner].resized += op->kind == TRACE_REALLOC;
            *owner = NOBODY;
        }
    }
    for (uint32_t block = 0; block < trace->blocks; block++) {
        if (owners[block] == NOBODY) continue;
        struct site *site = &sites[owners[block]];
        site->ops[site->count + site->left++] = (struct site_op){.object = block, .ends = true};
    }
}

/* Each life has two operations. */
static bool collect_ops(struct finder *finder) {
    struct sites *sites = finder->sites;
    uint32_t *owners = malloc(((size_t)finder->trace->blocks + 1) * sizeof *owners);
    sites->ops = malloc((2 * (size_t)sites->allocations + 1) * sizeof *sites->ops);
    bool done = owners && sites->ops;
    struct site_op *next = sites->ops;
    for (size_t i = 0; done && i < sites->count; i++) {
        sites->sites[i].ops = next;
        next += 2 * sites->sites[i].allocations;
    }
    if (done) share_out(finder, owners);
    free(owners);
    return done;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int by_allocations(const void *left, const void *right) {
    const struct site *a = left, *b = right;
    if (a->allocations != b->allocations) return a->allocations < b->allocations ? 1 : -1;
    return (a->ops > b->ops) - (a->ops < b->ops); /* always the same order */
}

bool sites_find(struct sites *sites, const struct trace *trace) {
    struct finder finder = {.trace = trace, .sites = sites};
    *sites = (struct sites){0};
    bool done = count_kinds(&finder) && group_kinds(&finder) && collect_ops(&finder);
    map_free(&finder.numbers);
    free(finder.kinds);
    if (done) qsort(sites->sites, sites->count, sizeof *sites->sites, by_allocations);
    for (size_t i = 0; done && i < sites->count; i++)
        done =
            site_is_few(sites->sites[i].allocations, sites->allocations) || site_look(&sites->sites[i], trace->blocks);
    if (!done) sites_free(sites);
    return done;
}

void sites_free(struct sites *sites) {
    free(sites->sites);
    free(sites->ops);
    *sites = (struct sites){0};
}
