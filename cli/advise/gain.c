/* gain.c: see gain.h.
 *
 * Each sample is taken in a child process of its own:
 *
 *     the heap as in a new process | first pass of one side, of the other | passes in turn, the median of each side
 *
 * Which side is first alternates from child to child. Sample number i of all sources is taken before any sample i + 1,
 * because a disturbance of the machine lasts for seconds, and should not hit one source alone. The clock is that of the
 * thread, so time in which the machine does other work does not count. */
#define _GNU_SOURCE
#include "gain.h"
#include "../measure.h"
#include "../print.h"
#include "supply.h"

#include <stdlib.h>
#include <string.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

static const uint64_t ROUNDS_TIME = UINT64_C(20000000); /* of the passes in turn, in one child */
static const uint64_t GAIN_TIME = UINT64_C(1500000000); /* of all children, for each source, unless they are too few */
enum { ROUNDS_LEAST = 3, ROUNDS_MOST = 101 };

enum { MALLOC_ALIGN = 16 };

struct side {
    const struct verdict *verdict;
    void **places; /* of the objects, by number */
    size_t alive;
    struct supply supply;
};

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

/* `from` is a compile-time constant after inlining, as the allocator is in a real program. */
static inline void *take(struct side *side, int from, size_t size) {
    uint32_t align = side->verdict->align;
    void *block = NULL;
    if (from == SUPPLY_MALLOC && align > MALLOC_ALIGN) return posix_memalign(&block, align, size) == 0 ? block : NULL;
    if (from == SUPPLY_MALLOC) return malloc(size);
    return supply_take(&side->supply, from);
}

static inline void give(struct side *side, int from, void *object, size_t alive) {
    if (from == SUPPLY_MALLOC)
        free(object);
    else
        supply_give(&side->supply, from, object, alive);
}

/* Plays the operations from `from` to `to`. */
static inline bool play(struct side *side, int source_of, size_t from, size_t to) {
    const struct source *source = side->verdict->source;
    size_t size = source->most, alive = side->alive;
    for (const struct source_op *op = source->ops + from, *end = source->ops + to; op < end; op++) {
        void **place = &side->places[op->object];
        if (op->ends) {
            give(side, source_of, *place, --alive);
            continue;
        }
        alive++;
        *place = take(side, source_of, size);
        if (!*place) return false;
        if (size >= sizeof size) memcpy(*place, &size, sizeof size);
    }
    side->alive = alive;
    return true;
}

static bool play_malloc(struct side *side, size_t from, size_t to) {
    return play(side, SUPPLY_MALLOC, from, to);
}

static bool play_pool(struct side *side, size_t from, size_t to) {
    return play(side, ADVICE_POOL, from, to);
}

static bool play_shared(struct side *side, size_t from, size_t to) {
    return play(side, ADVICE_SHARED, from, to);
}

static bool play_arena(struct side *side, size_t from, size_t to) {
    return play(side, ADVICE_ARENA, from, to);
}

static bool (*const players[])(struct side *, size_t, size_t) = {
    [ADVICE_POOL] = play_pool,
    [ADVICE_SHARED] = play_shared,
    [ADVICE_ARENA] = play_arena,
    [SUPPLY_MALLOC] = play_malloc,
};

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

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

enum { POOL, MALLOC, SIDES };

/* What one child has measured: nanoseconds of a pass. */
struct sample {
    double first[SIDES], repeated[SIDES];
    uint64_t malloc_bytes, pool_bytes;
    const char *problem; /* a string constant, so that it is valid in the parent too; NULL if there was no problem */
};

/* The input of a child process. */
struct input {
    const struct verdict *verdict;
    size_t number; /* of the child */
};

static int player_of(const struct side *side, size_t which) {
    return which == POOL ? (int)side->verdict->advice : SUPPLY_MALLOC;
}

/* Reads the operations, so that the first side does not wait for them longer than the second. */
static void read_ops(const struct source *source) {
    volatile uint32_t last;
    for (size_t i = 0; i < source->count; i++) last = source->ops[i].object;
    (void)last;
}

/* Ends the objects that the program has left alive. */
static bool finish(struct side *side, int which) {
    const struct source *source = side->verdict->source;
    return players[which](side, source->count, source->count + source->left);
}

/* Plays the first pass, to the end of the program. */
static const char *play_first(struct side *side, int which, double *ns) {
    read_ops(side->verdict->source);
    double begin = supply_now();
    if (which != SUPPLY_MALLOC) {
        const char *problem = supply_init(&side->supply);
        if (problem) return problem;
    }
    if (!players[which](side, 0, side->verdict->source->count))
        return which == SUPPLY_MALLOC ? "there is no memory to replay it" : "a pool of the capacity was full";
    *ns = supply_now() - begin;
    return finish(side, which) ? NULL : "there is no memory to replay it";
}

static const char *play_repeated(struct side *side, double *ns) {
    double times[SIDES][ROUNDS_MOST];
    const struct source *source = side->verdict->source;
    size_t round = 0, to = source->count + source->left;
    for (double end = supply_now() + (double)ROUNDS_TIME;
         round < ROUNDS_LEAST || (round < ROUNDS_MOST && supply_now() < end); round++) {
        for (size_t i = 0; i < SIDES; i++) {
            double begin = supply_now();
            if (!players[player_of(side, i)](side, 0, to)) return "there is no memory to replay it";
            times[i][round] = supply_now() - begin;
        }
    }
    for (size_t i = 0; i < SIDES; i++) ns[i] = cli_quantile(times[i], round, 0.5);
    return NULL;
}

static const char *measure(struct side *side, size_t number, struct sample *sample) {
    const char *problem = NULL;
    supply_begin_kolk(side->verdict);
    supply_renew_malloc();
    for (size_t i = 0; !problem && i < SIDES; i++) {
        size_t which = (i + number) % SIDES;
        problem = play_first(side, player_of(side, which), &sample->first[which]);
    }
    if (!problem) problem = play_repeated(side, sample->repeated);
    if (problem) return problem;
    if (!supply_is_sound(&side->supply)) return "the pool is not valid any more";
    sample->pool_bytes = supply_bytes(&side->supply);
    if (number > 0) return NULL;
    sample->malloc_bytes = malloc_bytes(side);
    return sample->malloc_bytes > 0 ? NULL : "there is no memory to replay it";
}

static void work(const void *input, void *result) {
    const struct input *given = input;
    struct sample *sample = result;
    struct side side = {.verdict = given->verdict, .supply = {.verdict = given->verdict}};
    size_t bytes = ((size_t)side.verdict->source->peak + 1) * sizeof *side.places;
    side.places = malloc(bytes);
    if (side.places) memset(side.places, 0xff, bytes); /* touched before anything is timed */
    sample->problem = side.places ? measure(&side, given->number, sample) : "there is no memory to replay it";
    free(side.places);
    supply_deinit(&side.supply);
}

/* ---- Intervals --------------------------------------------------------------------------------------------------- */

static int compare(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The number of values below the median is binomial. So of n sorted values, the k-th from both ends enclose the median
 * unless k or more of n coins fall on one side. */
struct range gain_range(const double *samples, size_t count) {
    double values[GAIN_SAMPLES], outside = 0, fewer = 1;
    memcpy(values, samples, count * sizeof *values);
    qsort(values, count, sizeof *values, compare);
    for (size_t i = 0; i < count; i++) fewer /= 2; /* the probability that no coin falls on one side */
    size_t k = 0;
    for (; 2 * k + 2 <= count; k++) {
        outside += 2 * fewer;
        if (outside > 0.05) break;
        fewer *= (double)(count - k) / (double)(k + 1);
    }
    if (k > 0) k--;
    return (struct range){values[k], (values[(count - 1) / 2] + values[count / 2]) / 2, values[count - 1 - k]};
}

static void summarize(struct gain *gain, const struct sample *samples) {
    double times[SIDES][GAIN_SAMPLES];
    for (size_t i = 0; i < gain->samples; i++) {
        gain->first[i] = samples[i].first[MALLOC] - samples[i].first[POOL];
        gain->repeated[i] = samples[i].repeated[MALLOC] - samples[i].repeated[POOL];
        for (int side = 0; side < SIDES; side++) times[side][i] = samples[i].repeated[side];
    }
    gain->pool_ns = cli_quantile(times[POOL], gain->samples, 0.5) / (double)gain->operations;
    gain->malloc_ns = cli_quantile(times[MALLOC], gain->samples, 0.5) / (double)gain->operations;
    gain->malloc_bytes = samples[0].malloc_bytes;
    gain->pool_bytes = samples[0].pool_bytes;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Measures sample number `number` of each verdict. */
static int take_samples(const struct gain_job *jobs, size_t count, struct sample *samples, size_t number) {
    for (size_t i = 0; i < count; i++) {
        struct input input = {jobs[i].verdict, number};
        struct sample *sample = &samples[i * GAIN_SAMPLES + number];
        *sample = (struct sample){.problem = NULL};
        if (!cli_isolated(work, &input, sample, sizeof *sample)) return CLI_FAILED;
        if (sample->problem) return cli_fail(CLI_FAILED, "%s: %s", jobs[i].verdict->name, sample->problem);
        jobs[i].gain->samples = number + 1;
    }
    return CLI_OK;
}

int gain_measure(const cli_context *cli, const struct gain_job *jobs, size_t count) {
    struct sample *samples = malloc((count * GAIN_SAMPLES + 1) * sizeof *samples);
    if (!samples) return cli_fail(CLI_FAILED, "there is no memory to measure the gains");
    uint64_t begin = cli_now(), time = count * GAIN_TIME;
    int code = CLI_OK;
    for (size_t i = 0; i < count; i++)
        *jobs[i].gain = (struct gain){.operations = jobs[i].verdict->source->count + jobs[i].verdict->source->left};
    for (size_t i = 0; i < GAIN_SAMPLES && (i < GAIN_LEAST || cli_now() - begin < time) && code == CLI_OK; i++) {
        cli_progress(cli, "measuring", i, GAIN_SAMPLES);
        code = take_samples(jobs, count, samples, i);
    }
    for (size_t i = 0; i < count && code == CLI_OK; i++) summarize(jobs[i].gain, &samples[i * GAIN_SAMPLES]);
    free(samples);
    return code;
}
