/* gain.c: see gain.h. */
#include "gain.h"
#include "../measure.h"
#include "../print.h"

#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

static const uint64_t GAIN_TIME = UINT64_C(100000000);

enum { MALLOC_ALIGN = 16 };
enum { SIDE_MALLOC = ADVICE_LEAVE }; /* the other sides are the values of enum advice */

struct side {
    const struct verdict *verdict;
    void **places; /* of the objects, by number */
    kolk_pool pool;
    kolk_shared shared;
    kolk_shared_local local;
};

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

/* `from` is a compile-time constant after inlining, as the allocator is in a real program. */
static inline void *take(struct side *side, int from, size_t size) {
    uint32_t align = side->verdict->align;
    void *block = NULL;
    if (from == SIDE_MALLOC && align > MALLOC_ALIGN) return posix_memalign(&block, align, size) == 0 ? block : NULL;
    if (from == SIDE_MALLOC) return malloc(size);
    return from == ADVICE_SHARED ? kolk_shared_alloc(&side->local) : kolk_pool_alloc(&side->pool);
}

static inline void give(struct side *side, int from, void *object, size_t alive) {
    if (from == SIDE_MALLOC)
        free(object);
    else if (from == ADVICE_SHARED)
        kolk_shared_free(&side->local, object);
    else if (from == ADVICE_POOL)
        kolk_pool_free(&side->pool, object);
    else if (alive == 0)
        kolk_pool_clear(&side->pool);
}

static inline bool play(struct side *side, int from) {
    const struct source *source = side->verdict->source;
    size_t size = source->most, alive = 0;
    for (const struct source_op *op = source->ops, *end = op + source->count + source->left; op < end; op++) {
        void **place = &side->places[op->object];
        if (op->ends) {
            give(side, from, *place, --alive);
            continue;
        }
        alive++;
        *place = take(side, from, size);
        if (!*place) return false;
        if (size >= sizeof size) memcpy(*place, &size, sizeof size);
    }
    return true;
}

static bool play_malloc(void *side) {
    return play(side, SIDE_MALLOC);
}

static bool play_pool(void *side) {
    return play(side, ADVICE_POOL);
}

static bool play_shared(void *side) {
    return play(side, ADVICE_SHARED);
}

static bool play_arena(void *side) {
    return play(side, ADVICE_ARENA);
}

static bool (*const players[])(void *) = {play_pool, play_shared, play_arena};

/* ---- Memory ------------------------------------------------------------------------------------------------------ */

static uint64_t bytes_of(void *object, uint64_t size) {
#if defined(__GLIBC__)
    (void)size;
    return malloc_usable_size(object) + sizeof(size_t);
#else
    (void)object;
    return size;
#endif
}

/* Returns the bytes that malloc uses at the peak of live objects, or 0 if memory runs out. */
static uint64_t malloc_bytes(const struct side *side) {
    const struct source *source = side->verdict->source;
    uint64_t bytes = 0, most = 0;
    for (size_t i = 0; i < source->count + source->left; i++) {
        void **place = &side->places[source->ops[i].object];
        if (source->ops[i].ends) {
            bytes -= bytes_of(*place, source->most);
            free(*place);
        } else {
            *place = malloc(source->most);
            if (!*place) return 0;
            bytes += bytes_of(*place, source->most);
            if (bytes > most) most = bytes;
        }
    }
    return most;
}

static uint64_t pool_bytes(const struct side *side) {
    kolk_stats stats;
    if (side->verdict->advice == ADVICE_SHARED)
        kolk_shared_stats(&side->shared, &stats);
    else
        kolk_pool_stats(&side->pool, &stats);
    return stats.bytes_committed;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

static bool is_sound(const struct side *side) {
    if (side->verdict->advice == ADVICE_SHARED)
        return kolk_shared_count(&side->shared) == 0 && kolk_shared_is_valid(&side->shared);
    return kolk_pool_count(&side->pool) == 0 && kolk_pool_is_valid(&side->pool);
}

static const char *make(struct side *side) {
    const struct verdict *verdict = side->verdict;
    kolk_status status;
    if (verdict->advice == ADVICE_SHARED) {
        kolk_shared_desc desc = {.object_size = verdict->source->most,
                                 .object_align = verdict->align,
                                 .capacity = verdict->capacity,
                                 .max_threads = verdict->max_threads};
        status = kolk_shared_init(&side->shared, &desc);
        if (status == KOLK_OK) status = kolk_shared_local_init(&side->local, &side->shared);
    } else {
        kolk_pool_desc desc = verdict_pool(verdict, verdict->order);
        status = kolk_pool_init(&side->pool, &desc);
    }
    return status == KOLK_OK ? NULL : kolk_status_text(status);
}

/* The input and the result of a child process. */
struct input {
    const cli_context *cli;
    const struct verdict *verdict;
};

struct result {
    struct gain gain;
    const char *problem; /* a string constant, so that it is valid in the parent too; NULL if there was no problem */
};

static const char *measure(const cli_context *cli, struct side *side, struct gain *gain) {
    enum advice advice = side->verdict->advice;
    const char *problem = make(side);
    if (problem) return problem;
    if (!players[advice](side)) return "a pool of the capacity was full";
    if (!is_sound(side)) return "the pool is not valid any more";
    gain->malloc_bytes = malloc_bytes(side);
    if (gain->malloc_bytes == 0) return "there is no memory to replay it";
    struct cli_side sides[] = {{.run = players[advice], .what = side}, {.run = play_malloc, .what = side}};
    gain->rounds = cli_rounds(cli, sides, 2, GAIN_TIME);
    if (gain->rounds == 0) return "there is no memory to replay it";
    gain->pool_bytes = pool_bytes(side);
    gain->pool_ns = sides[0].ns / (double)gain->operations;
    gain->malloc_ns = sides[1].ns / (double)gain->operations;
    return NULL;
}

static void work(const void *input, void *result) {
    const struct input *given = input;
    struct result *brought = result;
    struct side side = {.verdict = given->verdict};
    side.places = calloc((size_t)side.verdict->source->peak + 1, sizeof *side.places);
    brought->gain.operations = side.verdict->source->count + side.verdict->source->left;
    brought->problem = side.places ? measure(given->cli, &side, &brought->gain) : "there is no memory to replay it";
    free(side.places);
    kolk_shared_local_deinit(&side.local);
    kolk_shared_deinit(&side.shared);
    kolk_pool_deinit(&side.pool);
}

int gain_measure(const cli_context *cli, const struct verdict *verdict, struct gain *gain) {
    struct input input = {cli, verdict};
    struct result result = {.problem = NULL};
    if (!cli_isolated(work, &input, &result, sizeof result)) return CLI_FAILED;
    *gain = result.gain;
    return result.problem ? cli_fail(CLI_FAILED, "%s: %s", verdict->name, result.problem) : CLI_OK;
}

double gain_of(const struct gain *gain) {
    return (gain->malloc_ns - gain->pool_ns) * (double)gain->operations;
}
