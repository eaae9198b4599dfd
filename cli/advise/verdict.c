/* verdict.c: see verdict.h. */
#include "verdict.h"
#include "../print.h"

#include <inttypes.h>
#include <string.h>

enum {
    RESIZED_SHARE = 100,     /* if one life in this many ends with a resize, the source is left with malloc */
    GROWN_LEAST = 1000,      /* if none of so many is resized, it is fewer than 1 in 300 at 95 % */
    SIZE_MOST = 8192,        /* two pages */
    TYPE_STEP = 4,           /* struct sizes are multiples of this, except for structs with only short members */
    ALONE_SHARE = 20,        /* in an arena, one object in this many may die alone */
    PARTY_LEAST = 16,        /* if fewer objects die at a time, a pool's free is as good */
    HEADROOM_PART = 10,      /* adds 1/10, because another run may need a little more ... */
    HEADROOM_ROOTS = 2,      /* ... or twice the root of the peak, if that is more */
    CAPACITY_STEP = 8,       /* capacities are multiples of this */
    ADDRESS_BITS = 38,       /* a pool reserves addresses for this many bytes, so that it is as unlimited as malloc */
    ALIGN_MOST = 4096,       /* a page */
    THREADS_BY_DEFAULT = 16, /* the default of max_threads in shared.h */
    SHARED_PER_THREAD = 16   /* a shared pool with less capacity per thread has no caches: see shared.h */
};

const char *const advice_names[] = {"pool", "shared pool", "arena", "leave it"};

/* ---- Size -------------------------------------------------------------------------------------------------------- */

/* Objects that come and go independently are n at a time on average, and about the root of n more or less. So the peaks
 * of two runs differ by a multiple of the root, which is a large part of a small peak. Where objects depend on each
 * other, peaks differ by a part. docs/malloc.md has what was measured. */
uint32_t verdict_capacity(uint64_t peak) {
    uint64_t part = (peak + HEADROOM_PART - 1) / HEADROOM_PART, root = 0;
    while ((root + 1) * (root + 1) <= peak) root++;
    uint64_t capacity = peak + (part > HEADROOM_ROOTS * root ? part : HEADROOM_ROOTS * root);
    return (uint32_t)((capacity + CAPACITY_STEP - 1) / CAPACITY_STEP * CAPACITY_STEP);
}

kolk_pool_desc verdict_pool(const struct verdict *verdict) {
    return (kolk_pool_desc){
        .object_size = verdict->source->most, .object_align = verdict->align, .capacity = verdict->capacity};
}

uint32_t verdict_most(const struct verdict *verdict) {
    uint64_t most = (UINT64_C(1) << ADDRESS_BITS) / verdict->source->most;
    if (most < verdict->capacity) most = verdict->capacity;
    return most < INT32_MAX ? (uint32_t)most : INT32_MAX;
}

/* An object with a flexible array at its end need not have a size that is a multiple of its type's alignment. So the
 * result is the alignment that callers of malloc may rely on, not the largest power of two that divides the size. */
static uint32_t alignment_of(uint64_t size, uint32_t wanted) {
    uint32_t align = size % 16 == 0 ? 16 : size >= 8 ? 8 : 4;
    while (align < wanted) align *= 2;
    return align;
}

/* ---- Choice ------------------------------------------------------------------------------------------------------ */

static bool die_together(const struct source *source) {
    return (source->allocations - source->together) * ALONE_SHARE <= source->allocations &&
           source->together >= source->parties * PARTY_LEAST;
}

/* If there is a reason to leave the source with malloc, records it and returns true. */
static bool leave(struct verdict *verdict) {
    const struct source *source = verdict->source;
    if (source->pooled) {
        verdict_say(verdict, "They are in a pool of kolk's already.");
    } else if (source->least != source->most) {
        verdict_say(verdict, "%s vary, from %s to %s bytes, and a pool has one size. %s",
                    source->by_size ? "The other sizes" : "Sizes", cli_count(source->least).text,
                    cli_count(source->most).text,
                    die_together(source) ? "As they die together, a kolk_heap of their own would end them at once."
                                         : "A kolk_heap has all sizes.");
    } else if (source->resized * RESIZED_SHARE >= source->allocations) {
        verdict_say(verdict, "%s of them are resized by realloc, which a pool cannot do.",
                    source->resized == source->allocations ? "All" : cli_count(source->resized).text);
    } else if (source->arrays * RESIZED_SHARE >= source->allocations) {
        verdict_say(verdict,
                    "%s of them are arrays, as calloc is asked for several objects at once: another run may need other "
                    "lengths.",
                    source->arrays == source->allocations ? "All" : cli_count(source->arrays).text);
    } else if (source->grown * RESIZED_SHARE >= source->allocations && source->allocations < GROWN_LEAST) {
        verdict_say(verdict,
                    "%s of them come from realloc of NULL, as arrays do that grow: another run may resize them.",
                    source->grown == source->allocations ? "All" : cli_count(source->grown).text);
    } else if (source->align > ALIGN_MOST) {
        verdict_say(verdict, "They are aligned to %s, which is more than a page.", cli_bytes(source->align).text);
    } else if (source->least > SIZE_MOST) {
        verdict_say(verdict, "They are large: to use %s takes longer than to allocate them.",
                    cli_bytes(source->least).text);
    } else if (source->least % TYPE_STEP != 0 || source->least == 0) {
        verdict_say(verdict,
                    "Sizes of structs are multiples of %d, and %" PRIu64 " is none: it is probably text, whose "
                    "length another run changes.",
                    TYPE_STEP, source->least);
    } else if (source->peak == 1) {
        verdict_say(verdict, "Never more than one is alive: keep one, and use it again.");
    } else {
        return false;
    }
    return true;
}

static void say_arena(struct verdict *verdict) {
    const struct source *source = verdict->source;
    uint64_t alone = source->allocations - source->together;
    if (verdict->cxx != CXX_NOT) { /* containers have a clear of their own, and so have the classes */
        verdict_say(verdict, "They die together, %s at a time on average%s",
                    cli_count(source->together / (source->parties > 0 ? source->parties : 1)).text,
                    verdict->cxx == CXX_CLASS ? ": clear ends all at once." : ".");
        return;
    }
    if (source->left == source->together)
        verdict_say(verdict, "They live to the end of the recording: they need no free but %s_deinit.", verdict->name);
    else if (source->parties == 1)
        verdict_say(verdict, "They are freed together, at the end: %s_clear or %s_deinit frees all at once.",
                    verdict->name, verdict->name);
    else
        verdict_say(verdict, "They die together, %s at a time on average: %s_clear frees all at once.",
                    cli_count(source->together / source->parties).text, verdict->name);
    if (alone > 0) verdict_say(verdict, " %s that were freed before can wait for that.", cli_count(alone).text);
}

static void say_shared(struct verdict *verdict) {
    const struct source *source = verdict->source;
    verdict_say(verdict, "%s threads allocate or free them; ", cli_count(source->threads).text);
    if (source->handed == 0)
        verdict_say(verdict, "as each frees its own, a pool for each thread would do as well.");
    else
        verdict_say(verdict, "%s are freed by another thread than the one that allocated them.",
                    cli_count(source->handed).text);
    verdict_say(verdict, " They are replayed by one thread, where malloc is at its best.");
}

static void share(struct verdict *verdict) {
    uint32_t threads = verdict->source->threads;
    if (threads > THREADS_BY_DEFAULT) verdict->max_threads = verdict_capacity(threads);
    uint32_t least = SHARED_PER_THREAD * (verdict->max_threads > 0 ? verdict->max_threads : THREADS_BY_DEFAULT);
    if (verdict->capacity < least) verdict->capacity = least;
    say_shared(verdict);
}

static void say_pool(struct verdict *verdict) {
    const struct source *source = verdict->source;
    verdict_say(verdict, "They come and go all along, and one thread has them all.");
    if (source->left > 0) verdict_say(verdict, " %s live to the end.", cli_count(source->left).text);
}

/* ---- C++ --------------------------------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *what) {
    return strncmp(text, what, strlen(what)) == 0;
}

/* A container allocates its nodes in a function of the library. make_unique does too, but for the program's objects. */
static bool is_of_library(const char *frame) {
    size_t name = strcspn(frame, "<(");
    for (size_t i = 0; i < name; i++) {
        if (begins_with(frame + i, "std::make_unique")) return false;
        if (begins_with(frame + i, "std::") || begins_with(frame + i, "__gnu_cxx::")) return true;
    }
    return false;
}

static enum cxx cxx_of(const struct source *source) {
    const char *outer = strstr(source->frames, " < ");
    bool by_new = begins_with(source->frames, "operator new") || strstr(source->frames, "(_Znw"); /* by mtrace */
    if (!by_new) return CXX_NOT;
    return outer && is_of_library(outer + strlen(" < ")) ? CXX_NODE : CXX_CLASS;
}

const char *verdict_class(const struct verdict *verdict) {
    if (verdict->cxx == CXX_NOT) return NULL;
    if (verdict->cxx == CXX_NODE) return "kolk::node_resource";
    return verdict->advice == ADVICE_SHARED ? "kolk::shared_pool" : "kolk::pool";
}

static void say_class(struct verdict *verdict) {
    if (verdict->cxx == CXX_NODE)
        verdict_say(verdict,
                    " They are nodes of a container of C++: give it a kolk::allocator, or a std::pmr container a "
                    "kolk::node_resource.");
    if (verdict->cxx == CXX_CLASS)
        verdict_say(verdict, " In C++, that is a %s of their class: emplace replaces new, and erase delete.",
                    verdict_class(verdict));
}

int verdict_stem(const struct verdict *verdict) {
    return (int)(strlen(verdict->name) - strlen("_pool"));
}

void verdict_print_desc(FILE *out, const struct verdict *verdict) {
    fprintf(out, "{.name = \"%.*s\", .capacity = %u, .max_capacity = %u", verdict_stem(verdict), verdict->name,
            (unsigned)verdict->capacity, (unsigned)verdict_most(verdict));
    if (verdict->max_threads > 0) fprintf(out, ", .max_threads = %u", (unsigned)verdict->max_threads);
    fputc('}', out);
}

void verdict_print_class(FILE *out, const struct verdict *verdict, const char *indent) {
    int stem = verdict_stem(verdict);
    if (verdict->cxx == CXX_NODE) {
        fprintf(out, "%skolk::node_resource %.*s_nodes; // std::pmr::list<T> list{&%.*s_nodes},\n", indent, stem,
                verdict->name, stem, verdict->name);
        fprintf(out, "%s                                // or std::list<T, kolk::allocator<T>> list{&%.*s_nodes}\n",
                indent, stem, verdict->name);
        return;
    }
    fprintf(out, "%s%s<YOUR_CLASS> %s{", indent, verdict_class(verdict), verdict->name);
    verdict_print_desc(out, verdict);
    fputs("};\n", out);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

void verdict_of(struct verdict *verdict, const struct source *source, const struct verdict *others, size_t count) {
    *verdict = (struct verdict){.source = source, .advice = ADVICE_LEAVE};
    if (leave(verdict)) return;
    if (source->origin_count > 1)
        verdict_say(verdict,
                    "They come from %s places, and need one pool, as the same code frees them without telling them "
                    "apart. ",
                    cli_count(source->origin_count).text);
    if (source->grown > 0)
        verdict_say(verdict, "They come from realloc of NULL, but %s resized. ",
                    source->resized == 0 ? "none is" : "hardly any are");
    bool shared = source->threads > 1, arena = !shared && die_together(source);
    name_pool(verdict, others, count);
    verdict->advice = shared ? ADVICE_SHARED : arena ? ADVICE_ARENA : ADVICE_POOL;
    verdict->cxx = cxx_of(source);
    verdict->capacity = verdict_capacity(arena ? source->most_begun : source->peak);
    verdict->align = alignment_of(source->most, source->align);
    if (shared) share(verdict);
    if (arena) say_arena(verdict);
    if (!shared && !arena) say_pool(verdict);
    say_class(verdict);
}
