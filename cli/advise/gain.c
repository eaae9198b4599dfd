/* gain.c: see gain.h.
 *
 * A sample is taken in two child processes, because the two sides must not share malloc's heap. They take turns of
 * about a millisecond, so that a disturbance of the machine hits both. What a side had in the processor's caches is
 * partly lost meanwhile, as it is in a program that does more than to allocate.
 *
 *     malloc alone   ###   ###   ###      each: the heap as in a new process, the first pass, more passes
 *     with pools        ###   ###   ###
 *
 * Which side begins alternates from sample to sample. The clock is that of the thread. */
#define _GNU_SOURCE
#include "gain.h"
#include "../measure.h"
#include "../print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

static const uint64_t TIME = UINT64_C(250000000), TIME_OF_ALL = UINT64_C(5000000000); /* unless samples are too few */
enum { ROUNDS_OPS = 2000000, ROUNDS_LEAST = 3, ROUNDS_MOST = 15 }; /* operations of the rounds after the first pass */
enum { TURN = 16384 };                                             /* operations: about a millisecond */
enum { WRITTEN_MOST = 8192 }; /* bytes at the beginning of a block: to use more takes longer than any allocator */
enum { MALLOC_ALIGN_BITS = 4 };

enum op_kind { OP_TAKE, OP_GROW, OP_CLEAR, OP_ALIGN, OP_GIVE, OP_RESIZE };

/* An operation of the program. */
struct op {
    uint64_t size; /* not set for OP_GIVE */
    uint32_t block;
    uint8_t kind; /* enum op_kind */
    uint8_t pool; /* from which the block comes, counted from 1, of at most 100; 0: malloc */
    uint8_t bits; /* of OP_ALIGN: the alignment is 1 << bits */
};

/* What is played. */
struct play {
    const struct verdict *const *verdicts; /* of the pools */
    size_t pools;
    struct op *ops;    /* those that are recorded, and then the frees of the blocks that are left */
    size_t count, all; /* without, and with these frees */
    size_t rounds;     /* after the first pass */
    size_t passes;     /* in a round: a short one is no turn */
    uint32_t blocks;
};

static const char no_memory[] = "there is no memory to replay it", alone[] = "the other child process has ended";

/* ---- The operations ---------------------------------------------------------------------------------------------- */

static uint8_t bits_of(uint32_t align) {
    uint8_t bits = MALLOC_ALIGN_BITS;
    while (bits < 31 && UINT32_C(1) << bits < align) bits++;
    return bits;
}

static struct op op_of(const trace_op *op) {
    struct op made = {.size = op->size > 0 ? op->size : 1, .block = op->block}; /* realloc to 0 would be a free */
    if (op->kind == TRACE_FREE) made.kind = OP_GIVE;
    if (op->kind == TRACE_REALLOC) made.kind = OP_RESIZE;
    if (op->kind != TRACE_ALLOC) return made;
    made.kind = op->by == TRACE_BY_CALLOC    ? OP_CLEAR
                : op->by == TRACE_BY_ALIGNED ? OP_ALIGN
                : op->by == TRACE_BY_REALLOC ? OP_GROW
                                             : OP_TAKE;
    if (made.kind == OP_ALIGN) made.bits = bits_of(op->more);
    return made;
}

/* `pools` is the pool of each source, by its number. `from` has space for the pool of each block, and `sizes` for its
 * size; both are zero. Returns false if the blocks take more than half of the machine's memory. */
static bool make_ops(struct play *play, const struct trace *trace, const uint32_t *owners, const uint8_t *pools,
                     uint8_t *from, uint64_t *sizes) {
    uint64_t bytes = 0, limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        struct op made = op_of(op);
        if (op->kind == TRACE_ALLOC) from[op->block] = pools[owners[i]];
        made.pool = from[op->block];
        if (op->kind == TRACE_REALLOC) from[op->block] = 0; /* it comes from malloc now */
        bytes -= sizes[op->block];
        sizes[op->block] = op->kind == TRACE_FREE ? 0 : made.size;
        bytes += sizes[op->block];
        play->ops[play->count++] = made;
        if (bytes > limit) return false;
    }
    play->all = play->count;
    for (uint32_t block = 0; block < trace->blocks; block++)
        if (sizes[block] > 0)
            play->ops[play->all++] = (struct op){.block = block, .kind = OP_GIVE, .pool = from[block]};
    return true;
}

static bool play_of_trace(struct play *play, const struct trace *trace, const struct sources *sources) {
    size_t blocks = (size_t)trace->blocks + 1;
    uint8_t *pools = calloc(sources->count + 1, 1), *from = calloc(blocks, 1);
    uint64_t *sizes = calloc(blocks, sizeof *sizes);
    play->blocks = trace->blocks;
    play->ops = malloc((trace->count + blocks) * sizeof *play->ops);
    bool done = pools && from && sizes && play->ops;
    for (size_t i = 0; done && i < play->pools; i++) pools[play->verdicts[i]->source->number] = (uint8_t)(i + 1);
    done = done && make_ops(play, trace, sources->owners, pools, from, sizes);
    free(pools);
    free(from);
    free(sizes);
    return done;
}

static bool play_of_source(struct play *play, const struct verdict *verdict) {
    const struct source *source = verdict->source;
    struct op take = {.size = source->most, .kind = OP_TAKE, .pool = 1, .bits = bits_of(verdict->align)};
    if (take.bits > MALLOC_ALIGN_BITS) take.kind = OP_ALIGN;
    play->blocks = source->peak;
    play->count = source->count;
    play->all = source->count + source->left;
    play->ops = malloc((play->all + 1) * sizeof *play->ops);
    for (size_t i = 0; play->ops && i < play->all; i++) {
        play->ops[i] = take;
        play->ops[i].block = source->ops[i].object;
        if (source->ops[i].ends) play->ops[i].kind = OP_GIVE;
    }
    return play->ops;
}

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

struct supply {
    const struct verdict *verdict;
    size_t alive;
    kolk_pool pool;
    kolk_shared shared;
    kolk_shared_local local;
};

/* Makes the pool exactly as the advice describes it. Returns the problem, or NULL if there is none. */
static const char *supply_init(struct supply *supply) {
    const struct verdict *verdict = supply->verdict;
    kolk_status status;
    if (verdict->advice == ADVICE_SHARED) {
        kolk_shared_desc desc = {.object_size = verdict->source->most,
                                 .object_align = verdict->align,
                                 .capacity = verdict->capacity,
                                 .max_threads = verdict->max_threads};
        status = kolk_shared_init(&supply->shared, &desc);
        if (status == KOLK_OK) status = kolk_shared_local_init(&supply->local, &supply->shared);
    } else {
        kolk_pool_desc desc = verdict_pool(verdict);
        status = kolk_pool_init(&supply->pool, &desc);
    }
    return status == KOLK_OK ? NULL : kolk_status_text(status);
}

static void supply_deinit(struct supply *supply) {
    kolk_shared_local_deinit(&supply->local);
    kolk_shared_deinit(&supply->shared);
    kolk_pool_deinit(&supply->pool);
}

/* Returns the bytes that the pool has committed; 0 if something is alive in it, or it is not valid. */
static uint64_t supply_bytes(const struct supply *supply) {
    kolk_stats stats;
    bool shared = supply->verdict->advice == ADVICE_SHARED;
    if (shared)
        kolk_shared_stats(&supply->shared, &stats);
    else
        kolk_pool_stats(&supply->pool, &stats);
    bool valid = shared ? kolk_shared_is_valid(&supply->shared) : kolk_pool_is_valid(&supply->pool);
    return valid && stats.count == 0 ? stats.bytes_committed : 0;
}

static void *supply_take(struct supply *supply) {
    supply->alive++;
    if (supply->verdict->advice == ADVICE_SHARED) return kolk_shared_alloc(&supply->local);
    return kolk_pool_alloc(&supply->pool);
}

/* An arena frees all at once, when none is alive any more. */
static void supply_give(struct supply *supply, void *object) {
    supply->alive--;
    if (supply->verdict->advice == ADVICE_SHARED)
        kolk_shared_free(&supply->local, object);
    else if (supply->verdict->advice == ADVICE_POOL)
        kolk_pool_free(&supply->pool, object);
    else if (supply->alive == 0)
        kolk_pool_clear(&supply->pool);
}

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

struct side {
    const struct play *play;
    void **places;           /* addresses of the live blocks */
    struct supply *supplies; /* NULL: malloc alone */
};

static void *take_block(const struct op *op) {
    void *block = NULL;
    if (op->kind == OP_CLEAR) return calloc(1, op->size);
    if (op->kind == OP_ALIGN) return posix_memalign(&block, (size_t)1 << op->bits, op->size) == 0 ? block : NULL;
    if (op->kind == OP_GROW) return realloc(NULL, op->size);
    return malloc(op->size);
}

static void *take(const struct op *op, struct supply *supply) {
    void *block = supply ? supply_take(supply) : take_block(op);
    if (supply && block && op->kind == OP_CLEAR) memset(block, 0, op->size);
    if (block) memset(block, 1, op->size < WRITTEN_MOST ? op->size : WRITTEN_MOST);
    return block;
}

/* Before it frees a block, a program usually reads it: it follows the pointers in it, or has just found it. */
static void give(struct supply *supply, void *block) {
    volatile unsigned char first = *(const unsigned char *)block;
    (void)first;
    if (supply)
        supply_give(supply, block);
    else
        free(block);
}

static void *resize(const struct op *op, struct supply *supply, void *block) {
    if (!supply) return realloc(block, op->size);
    void *moved = malloc(op->size);
    uint64_t size = supply->verdict->source->most;
    if (moved) memcpy(moved, block, size < op->size ? size : op->size);
    give(supply, block);
    return moved;
}

static const char *play_ops(struct side *side, size_t from, size_t to) {
    for (const struct op *op = side->play->ops + from, *end = side->play->ops + to; op < end; op++) {
        struct supply *supply = side->supplies && op->pool > 0 ? &side->supplies[op->pool - 1] : NULL;
        void **place = &side->places[op->block];
        if (op->kind == OP_GIVE) {
            give(supply, *place);
            continue;
        }
        *place = op->kind == OP_RESIZE ? resize(op, supply, *place) : take(op, supply);
        if (!*place) return supply && op->kind != OP_RESIZE ? "a pool of the capacity was full" : no_memory;
    }
    return NULL;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

enum { MALLOC, POOLS, SIDES };

/* What one child has measured: nanoseconds of a pass. */
struct sample {
    double first, repeated;
    uint64_t bytes;      /* that the pools have committed */
    const char *problem; /* a string constant, so that it is valid in the parent too; NULL if there was no problem */
};

/* The input of a child process. */
struct input {
    const struct play *play;
    bool pooled;
    bool begins;    /* it has the first turn */
    int own, other; /* the sockets of the two children */
};

/* Returns the processor time of this thread, in nanoseconds. */
static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static bool wait_for_turn(const struct input *input) {
    char token;
    return recv(input->own, &token, 1, 0) == 1;
}

/* The other child may have ended, because it was its last turn. */
static void end_turn(const struct input *input) {
    char token = 0;
    ssize_t unused = send(input->own, &token, 1, MSG_NOSIGNAL);
    (void)unused;
}

/* Plays a part of the operations so many times, in turns, and adds the time that it took. The child has its turn before
 * and after. */
static const char *play_part(struct side *side, const struct input *input, size_t from, size_t to, size_t passes,
                             double *ns) {
    const char *problem = NULL;
    while (from < to) {
        size_t next = to - from < TURN ? to : from + TURN;
        double begin = now();
        for (size_t pass = 0; !problem && pass < passes; pass++) problem = play_ops(side, from, next);
        *ns += now() - begin;
        from = next;
        if (problem) return problem;
        end_turn(input);
        if (!wait_for_turn(input)) return alone;
    }
    return NULL;
}

/* Does what the first pool of a process does once, and makes malloc as it is in a new process: its free pages belong to
 * the system, and so will those that are freed. */
static void renew(const struct verdict *verdict) {
    kolk_pool pool = {0};
    kolk_pool_desc desc = verdict_pool(verdict);
    desc.capacity = 1;
    void *object = kolk_pool_init(&pool, &desc) == KOLK_OK ? kolk_pool_alloc(&pool) : NULL;
    if (object) kolk_pool_free(&pool, object);
    kolk_pool_deinit(&pool);
#if defined(__GLIBC__)
    mallopt(M_TRIM_THRESHOLD, 128 * 1024);
    malloc_trim(0);
#endif
}

static const char *make_pools(struct side *side) {
    const char *problem = NULL;
    for (size_t i = 0; !problem && side->supplies && i < side->play->pools; i++) {
        side->supplies[i].verdict = side->play->verdicts[i];
        problem = supply_init(&side->supplies[i]);
    }
    return problem;
}

static const char *measure(struct side *side, const struct input *input, struct sample *sample) {
    const struct play *play = side->play;
    double times[ROUNDS_MOST] = {0}, unused = 0;
    renew(play->verdicts[0]);
    double begin = now();
    const char *problem = make_pools(side);
    sample->first = now() - begin;
    if (!problem && !input->begins && !wait_for_turn(input)) problem = alone;
    if (!problem) problem = play_part(side, input, 0, play->count, 1, &sample->first);
    if (!problem) problem = play_part(side, input, play->count, play->all, 1, &unused);
    for (size_t round = 0; !problem && round < play->rounds; round++)
        problem = play_part(side, input, 0, play->all, play->passes, &times[round]);
    end_turn(input);
    if (problem) return problem;
    sample->repeated = cli_quantile(times, play->rounds, 0.5) / (double)play->passes;
    for (size_t i = 0; side->supplies && i < play->pools; i++) {
        uint64_t bytes = supply_bytes(&side->supplies[i]);
        if (bytes == 0) return "a pool is not valid any more";
        sample->bytes += bytes;
    }
    return NULL;
}

static void work(const void *given, void *result) {
    const struct input *input = given;
    const struct play *play = input->play;
    struct sample *sample = result;
    struct side side = {.play = play};
    size_t bytes = ((size_t)play->blocks + 1) * sizeof *side.places;
    close(input->other); /* so that the end of the other child ends the wait for it */
    side.places = malloc(bytes);
    if (input->pooled) side.supplies = calloc(play->pools, sizeof *side.supplies);
    bool done = side.places && (side.supplies || !input->pooled);
    if (done) memset(side.places, 0xff, bytes); /* touched before anything is timed */
    sample->problem = done ? measure(&side, input, sample) : no_memory;
    for (size_t i = 0; side.supplies && i < play->pools; i++) supply_deinit(&side.supplies[i]);
    free(side.supplies);
    free(side.places);
}

/* Runs the two children at once, each of which works in its turns. Returns false if a sentence has been printed. */
static bool run_children(const struct play *play, size_t number, struct sample *samples, const int *ends) {
    struct cli_isolation children[SIDES];
    size_t begun = 0;
    for (; begun < SIDES; begun++) {
        struct input input = {play, begun == POOLS, (begun + number) % 2 == 0, ends[begun], ends[1 - begun]};
        samples[begun] = (struct sample){.problem = NULL};
        if (!cli_isolated_begin(&children[begun], work, &input, &samples[begun], sizeof *samples)) break;
    }
    close(ends[0]);
    close(ends[1]);
    bool done = begun == SIDES;
    for (size_t i = 0; i < begun; i++) done = cli_isolated_end(&children[i], &samples[i], sizeof *samples) && done;
    return done;
}

static int take_sample(const struct play *play, const char *name, size_t number, struct sample *samples) {
    int ends[SIDES];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cli_fail(CLI_FAILED, "the system gives no sockets: %s", strerror(errno));
    if (!run_children(play, number, samples, ends)) return CLI_FAILED;
    for (size_t i = SIDES; i-- > 0;)
        if (samples[i].problem && samples[i].problem != alone)
            return cli_fail(CLI_FAILED, "%s: %s", name, samples[i].problem);
    if (samples[MALLOC].problem || samples[POOLS].problem) return cli_fail(CLI_FAILED, "%s: %s", name, alone);
    return CLI_OK;
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static int take_samples(const cli_context *cli, struct play *play, const char *name, uint64_t time, struct gain *gain) {
    double repeated[SIDES][GAIN_SAMPLES];
    int code = CLI_OK;
    *gain = (struct gain){.operations = play->all};
    play->passes = play->all < TURN ? TURN / (play->all + 1) + 1 : 1;
    play->rounds = ROUNDS_OPS / (play->all * play->passes + 1);
    if (play->rounds < ROUNDS_LEAST) play->rounds = ROUNDS_LEAST;
    if (play->rounds > ROUNDS_MOST) play->rounds = ROUNDS_MOST;
    uint64_t begin = cli_now();
    for (size_t i = 0; i < GAIN_SAMPLES && (i < GAIN_LEAST || cli_now() - begin < time) && code == CLI_OK; i++) {
        struct sample samples[SIDES] = {{0}};
        cli_progress(cli, "measuring", i, GAIN_SAMPLES);
        code = take_sample(play, name, i, samples);
        for (size_t side = 0; side < SIDES; side++) repeated[side][i] = samples[side].repeated;
        gain->first[i] = samples[MALLOC].first - samples[POOLS].first;
        gain->repeated[i] = samples[MALLOC].repeated - samples[POOLS].repeated;
        gain->pool_bytes = samples[POOLS].bytes;
        gain->samples = i + 1;
    }
    gain->malloc_ns = cli_quantile(repeated[MALLOC], gain->samples, 0.5) / (double)play->all;
    gain->pool_ns = cli_quantile(repeated[POOLS], gain->samples, 0.5) / (double)play->all;
    return code;
}

static uint64_t malloc_bytes(uint64_t size) {
#if defined(__GLIBC__)
    void *object = malloc(size);
    if (object) size = malloc_usable_size(object) + sizeof(size_t);
    free(object);
#endif
    return size;
}

int gain_measure(const cli_context *cli, const struct verdict *verdict, struct gain *gain) {
    struct play play = {.verdicts = &verdict, .pools = 1};
    if (!play_of_source(&play, verdict)) return cli_fail(CLI_FAILED, "%s: %s", verdict->name, no_memory);
    int code = take_samples(cli, &play, verdict->name, TIME, gain);
    gain->malloc_bytes = verdict->source->peak * malloc_bytes(verdict->source->most);
    free(play.ops);
    return code;
}

int gain_measure_all(const cli_context *cli, const struct trace *trace, const struct sources *sources,
                     const struct verdict *const *verdicts, size_t count, struct gain *gain) {
    struct play play = {.verdicts = verdicts, .pools = count};
    int code = CLI_FAILED;
    if (play_of_trace(&play, trace, sources))
        code = take_samples(cli, &play, "all pools together", TIME_OF_ALL, gain);
    else
        cli_fail(code, "all pools together: %s", no_memory);
    free(play.ops);
    return code;
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
