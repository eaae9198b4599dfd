/* whole.c: see whole.h.
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
#include "whole.h"
#include "../measure.h"
#include "../print.h"
#include "supply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t WHOLE_TIME = UINT64_C(10000000000);          /* of all children, unless the samples are too few */
enum { ROUNDS_OPS = 2000000, ROUNDS_LEAST = 3, ROUNDS_MOST = 51 }; /* operations of the passes after the first one */
enum { TURN = 16384 };                                             /* operations: about a millisecond */
enum { WRITTEN_MOST = 8192 }; /* bytes at the beginning of a block: to use more takes longer than any allocator */

enum whole_kind { WHOLE_TAKE, WHOLE_GROW, WHOLE_CLEAR, WHOLE_ALIGN, WHOLE_GIVE, WHOLE_RESIZE, WHOLE_LEAVE, WHOLE_END };

/* An operation of the program. */
struct whole_op {
    uint64_t size; /* not set for WHOLE_GIVE and the like */
    uint32_t block;
    uint8_t kind; /* enum whole_kind */
    uint8_t pool; /* from which the block comes, counted from 1; 0: malloc; OF_HEAP: the heap of the phase */
    uint8_t bits; /* of WHOLE_ALIGN: the alignment is 1 << bits */
};

enum { OF_HEAP = UINT8_MAX, POOLS_MOST = OF_HEAP - 1 };

struct whole {
    const struct gain_job *jobs;
    size_t pools;              /* number of jobs */
    const struct phase *phase; /* NULL: there are pools only */
    struct whole_op *ops;      /* those of the trace, and then the frees of the blocks that are left */
    size_t count, all;         /* without, and with these frees */
    size_t rounds;             /* passes after the first one */
    uint32_t blocks;
};

/* ---- The operations ---------------------------------------------------------------------------------------------- */

static uint8_t bits_of(uint32_t align) {
    uint8_t bits = 4;
    while (bits < 31 && UINT32_C(1) << bits < align) bits++;
    return bits;
}

static struct whole_op op_of(const trace_op *op) {
    struct whole_op made = {.size = op->size > 0 ? op->size : 1, .block = op->block}; /* realloc to 0 would be a free */
    if (op->kind == TRACE_FREE) made.kind = WHOLE_GIVE;
    if (op->kind == TRACE_REALLOC) made.kind = WHOLE_RESIZE;
    if (op->kind != TRACE_ALLOC) return made;
    made.kind = op->by == TRACE_BY_CALLOC    ? WHOLE_CLEAR
                : op->by == TRACE_BY_ALIGNED ? WHOLE_ALIGN
                : op->by == TRACE_BY_REALLOC ? WHOLE_GROW
                                             : WHOLE_TAKE;
    if (made.kind == WHOLE_ALIGN) made.bits = bits_of(op->more);
    return made;
}

/* Makes of a free in a phase one that the heap's end replaces. With malloc they are the same. */
static uint8_t kind_in_phase(enum phase_op of, uint8_t kind) {
    return of == PHASE_LEFT ? WHOLE_LEAVE : of == PHASE_END ? WHOLE_END : kind;
}

/* `pools` is the pool of each source, by its number; `owners` is NULL if there are none. `from` has space for the pool
 * of each block, and `sizes` for its size; both are zero. Returns false if the blocks take more than half of the
 * machine's memory. */
static bool make_ops(struct whole *whole, const struct trace *trace, const uint32_t *owners, const uint8_t *pools,
                     uint8_t *from, uint64_t *sizes) {
    uint64_t bytes = 0, limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    for (size_t i = 0; i < trace->count; i++) {
        const trace_op *op = &trace->ops[i];
        struct whole_op made = op_of(op);
        enum phase_op of = whole->phase ? whole->phase->ops[i] : PHASE_NONE;
        if (op->kind == TRACE_ALLOC) from[op->block] = of != PHASE_NONE ? OF_HEAP : owners ? pools[owners[i]] : 0;
        made.pool = from[op->block];
        made.kind = kind_in_phase(of, made.kind);
        if (op->kind == TRACE_REALLOC && of == PHASE_NONE) from[op->block] = 0; /* it comes from malloc now */
        bytes -= sizes[op->block];
        sizes[op->block] = op->kind == TRACE_FREE ? 0 : made.size;
        bytes += sizes[op->block];
        whole->ops[whole->count++] = made;
        if (bytes > limit) return false;
    }
    whole->all = whole->count;
    for (uint32_t block = 0; block < trace->blocks; block++)
        if (sizes[block] > 0)
            whole->ops[whole->all++] = (struct whole_op){.block = block, .kind = WHOLE_GIVE, .pool = from[block]};
    return true;
}

static bool whole_init(struct whole *whole, const struct trace *trace, const struct sources *sources) {
    size_t blocks = (size_t)trace->blocks + 1;
    uint8_t *pools = calloc(sources ? sources->count + 1 : 1, 1), *from = calloc(blocks, 1);
    uint64_t *sizes = calloc(blocks, sizeof *sizes);
    whole->blocks = trace->blocks;
    whole->ops = malloc((trace->count + blocks) * sizeof *whole->ops);
    bool done = pools && from && sizes && whole->ops;
    for (size_t i = 0; done && i < whole->pools; i++) pools[whole->jobs[i].verdict->source->number] = (uint8_t)(i + 1);
    done = done && make_ops(whole, trace, sources ? sources->owners : NULL, pools, from, sizes);
    free(pools);
    free(from);
    free(sizes);
    return done;
}

/* ---- Playing ----------------------------------------------------------------------------------------------------- */

struct player_side {
    const struct whole *whole;
    void **places;                        /* addresses of the live blocks */
    struct supply *of_pools[OF_HEAP + 1]; /* by whole_op.pool; NULL: malloc */
    size_t alive[OF_HEAP + 1];
    struct supply *supplies; /* NULL: malloc alone */
    bool in_heap;            /* blocks of the phase come from its heap */
    bool begun;              /* the heap has begun */
    kolk_heap heap;
};

/* ---- A phase's heap ---------------------------------------------------------------------------------------------- */

static void *take_from_heap(struct player_side *side, const struct whole_op *op) {
    if (!side->begun && kolk_heap_init(&side->heap, &(kolk_heap_desc){.name = "phase"}) != KOLK_OK) return NULL;
    side->begun = true;
    if (op->kind == WHOLE_CLEAR) return kolk_heap_alloc_zeroed(&side->heap, op->size);
    if (op->kind == WHOLE_ALIGN) return kolk_heap_alloc_aligned(&side->heap, (size_t)1 << op->bits, op->size);
    return kolk_heap_alloc(&side->heap, op->size);
}

static void end_heap(struct player_side *side) {
    if (side->begun) kolk_heap_deinit(&side->heap);
    side->begun = false;
}

static void give_to_heap(struct player_side *side, const struct whole_op *op, void *block) {
    if (op->kind == WHOLE_GIVE) kolk_heap_free(&side->heap, block);
    if (op->kind == WHOLE_END) end_heap(side);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static void *take_block(const struct whole_op *op) {
    void *block = NULL;
    if (op->kind == WHOLE_CLEAR) return calloc(1, op->size);
    if (op->kind == WHOLE_ALIGN) return posix_memalign(&block, (size_t)1 << op->bits, op->size) == 0 ? block : NULL;
    if (op->kind == WHOLE_GROW) return realloc(NULL, op->size);
    return malloc(op->size);
}

static void write_block(void *block, uint64_t size) {
    memset(block, 1, size < WRITTEN_MOST ? size : WRITTEN_MOST);
}

/* Before it frees a block, a program usually reads it: it follows the pointers in it, or has just found it. */
static void read_block(const void *block) {
    volatile unsigned char first = *(const unsigned char *)block;
    (void)first;
}

static void *take(struct player_side *side, const struct whole_op *op, struct supply *supply) {
    void *block;
    if (side->in_heap && op->pool == OF_HEAP) {
        block = take_from_heap(side, op);
    } else if (!supply) {
        block = take_block(op);
    } else {
        side->alive[op->pool]++;
        block = supply_take(supply, (int)supply->verdict->advice);
        if (block && op->kind == WHOLE_CLEAR) memset(block, 0, op->size);
    }
    if (block) write_block(block, op->size);
    return block;
}

static void give(struct player_side *side, const struct whole_op *op, struct supply *supply, void *block) {
    if (side->in_heap && op->pool == OF_HEAP)
        give_to_heap(side, op, block);
    else if (supply)
        supply_give(supply, (int)supply->verdict->advice, block, --side->alive[op->pool]);
    else
        free(block);
}

static void *resize(struct player_side *side, const struct whole_op *op, struct supply *supply, void *block) {
    if (side->in_heap && op->pool == OF_HEAP) return kolk_heap_realloc(&side->heap, block, op->size);
    if (!supply) return realloc(block, op->size);
    void *moved = malloc(op->size);
    uint64_t size = supply->verdict->source->most;
    if (moved) memcpy(moved, block, size < op->size ? size : op->size);
    give(side, op, supply, block);
    return moved;
}

static bool play(struct player_side *side, size_t from, size_t to) {
    for (const struct whole_op *op = side->whole->ops + from, *end = side->whole->ops + to; op < end; op++) {
        struct supply *supply = side->of_pools[op->pool];
        void **place = &side->places[op->block];
        if (op->kind == WHOLE_GIVE || op->kind == WHOLE_LEAVE || op->kind == WHOLE_END) {
            read_block(*place);
            give(side, op, supply, *place);
            continue;
        }
        void *block = op->kind == WHOLE_RESIZE ? resize(side, op, supply, *place) : take(side, op, supply);
        if (!block) return false;
        *place = block;
    }
    return true;
}

/* ---- Measuring --------------------------------------------------------------------------------------------------- */

/* What one child has measured: nanoseconds of a pass. */
struct whole_sample {
    double first, repeated;
    const char *problem; /* a string constant, so that it is valid in the parent too; NULL if there was no problem */
};

/* The input of a child process. */
struct whole_input {
    const struct whole *whole;
    bool pooled;
    bool begins;    /* it has the first turn */
    int own, other; /* the sockets of the two children */
};

static const char no_memory[] = "there is no memory to replay it", alone[] = "the other child process has ended";

static bool wait_for_turn(const struct whole_input *input) {
    char token;
    return recv(input->own, &token, 1, 0) == 1;
}

/* The other child may have ended, because it was its last turn. */
static void end_turn(const struct whole_input *input) {
    char token = 0;
    ssize_t unused = send(input->own, &token, 1, MSG_NOSIGNAL);
    (void)unused;
}

/* Plays a part of the trace, in turns, and adds the time that it took. The child has its turn before and after. */
static const char *play_part(struct player_side *side, const struct whole_input *input, size_t from, size_t to,
                             double *ns) {
    while (from < to) {
        size_t next = to - from < TURN ? to : from + TURN;
        double begin = supply_now();
        if (!play(side, from, next)) return no_memory;
        *ns += supply_now() - begin;
        from = next;
        end_turn(input);
        if (!wait_for_turn(input)) return alone;
    }
    return NULL;
}

static const char *make_pools(struct player_side *side) {
    const char *problem = NULL;
    for (size_t i = 0; !problem && side->supplies && i < side->whole->pools; i++) {
        struct supply *supply = &side->supplies[i];
        supply->verdict = side->whole->jobs[i].verdict;
        side->of_pools[i + 1] = supply;
        problem = supply_init(supply);
    }
    return problem;
}

/* What the first heap of a process does once. */
static void begin_heaps(void) {
    kolk_heap heap;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "phase"}) != KOLK_OK) return;
    kolk_heap_free(&heap, kolk_heap_alloc(&heap, 1));
    kolk_heap_deinit(&heap);
}

static const char *measure(struct player_side *side, const struct whole_input *input, struct whole_sample *sample) {
    const struct whole *whole = side->whole;
    double times[ROUNDS_MOST] = {0}, unused = 0;
    if (whole->phase)
        begin_heaps();
    else
        supply_begin_kolk(whole->jobs[0].verdict);
    supply_renew_malloc();
    double begin = supply_now();
    const char *problem = make_pools(side);
    sample->first = supply_now() - begin;
    if (!problem && !input->begins && !wait_for_turn(input)) problem = alone;
    if (!problem) problem = play_part(side, input, 0, whole->count, &sample->first);
    if (!problem) problem = play_part(side, input, whole->count, whole->all, &unused);
    for (size_t round = 0; !problem && round < whole->rounds; round++)
        problem = play_part(side, input, 0, whole->all, &times[round]);
    end_turn(input);
    if (problem) return problem;
    sample->repeated = cli_quantile(times, whole->rounds, 0.5);
    for (size_t i = 0; side->supplies && i < whole->pools; i++)
        if (!supply_is_sound(&side->supplies[i])) return "a pool is not valid any more";
    return NULL;
}

static void work(const void *given, void *result) {
    const struct whole_input *input = given;
    const struct whole *whole = input->whole;
    struct whole_sample *sample = result;
    struct player_side side = {.whole = whole};
    size_t bytes = ((size_t)whole->blocks + 1) * sizeof *side.places;
    close(input->other); /* so that the end of the other child ends the wait for it */
    side.places = malloc(bytes);
    if (input->pooled && !whole->phase) side.supplies = calloc(whole->pools, sizeof *side.supplies);
    side.in_heap = input->pooled && whole->phase;
    bool done = side.places && (side.supplies || !input->pooled || whole->phase);
    if (done) memset(side.places, 0xff, bytes); /* touched before anything is timed */
    sample->problem = done ? measure(&side, input, sample) : no_memory;
    for (size_t i = 0; side.supplies && i < whole->pools; i++) supply_deinit(&side.supplies[i]);
    end_heap(&side);
    free(side.supplies);
    free(side.places);
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

/* Runs the two children at once, each of which works in its turns. Returns false if a sentence has been printed. */
static bool run_children(const struct whole *whole, size_t number, struct whole_sample *samples, const int *ends) {
    struct cli_isolation children[2];
    size_t begun = 0;
    for (; begun < 2; begun++) {
        struct whole_input input = {whole, begun == 1, (begun + number) % 2 == 0, ends[begun], ends[1 - begun]};
        samples[begun] = (struct whole_sample){.problem = NULL};
        if (!cli_isolated_begin(&children[begun], work, &input, &samples[begun], sizeof *samples)) break;
    }
    close(ends[0]);
    close(ends[1]);
    bool done = begun == 2;
    for (size_t i = 0; i < begun; i++) done = cli_isolated_end(&children[i], &samples[i], sizeof *samples) && done;
    return done;
}

static int take_sample(const struct whole *whole, size_t number, struct gain *gain) {
    struct whole_sample samples[2]; /* with malloc alone, and with pools */
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return cli_fail(CLI_FAILED, "the system gives no sockets: %s", strerror(errno));
    if (!run_children(whole, number, samples, ends)) return CLI_FAILED;
    for (size_t i = 2; i-- > 0;)
        if (samples[i].problem && samples[i].problem != alone)
            return cli_fail(CLI_FAILED, "all pools together: %s", samples[i].problem);
    if (samples[0].problem || samples[1].problem) return cli_fail(CLI_FAILED, "all pools together: %s", alone);
    gain->first[number] = samples[0].first - samples[1].first;
    gain->repeated[number] = samples[0].repeated - samples[1].repeated;
    gain->samples = number + 1;
    return CLI_OK;
}

static int measure_all(const cli_context *cli, struct whole *whole, const struct trace *trace,
                       const struct sources *sources, struct gain *gain) {
    int code = whole_init(whole, trace, sources) ? CLI_OK : cli_fail(CLI_FAILED, "all pools together: %s", no_memory);
    gain->operations = whole->all;
    whole->rounds = ROUNDS_OPS / (whole->all + 1);
    if (whole->rounds < ROUNDS_LEAST) whole->rounds = ROUNDS_LEAST;
    if (whole->rounds > ROUNDS_MOST) whole->rounds = ROUNDS_MOST;
    uint64_t begin = cli_now();
    for (size_t i = 0; i < GAIN_SAMPLES && (i < GAIN_LEAST || cli_now() - begin < WHOLE_TIME) && code == CLI_OK; i++) {
        cli_progress(cli, "measuring all together", i, GAIN_SAMPLES);
        code = take_sample(whole, i, gain);
    }
    free(whole->ops);
    return code;
}

int whole_measure(const cli_context *cli, const struct trace *trace, const struct sources *sources,
                  const struct gain_job *jobs, size_t count, struct gain *gain) {
    struct whole whole = {.jobs = jobs, .pools = count};
    *gain = (struct gain){.samples = 0};
    return count > 0 ? measure_all(cli, &whole, trace, sources, gain) : CLI_OK;
}

int whole_measure_phase(const cli_context *cli, const struct trace *trace, struct phase *phase) {
    struct whole whole = {.phase = phase};
    phase->gain = (struct gain){.samples = 0};
    return phase->function ? measure_all(cli, &whole, trace, NULL, &phase->gain) : CLI_OK;
}
