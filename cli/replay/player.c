/* player.c: see player.h. */
#define _DEFAULT_SOURCE
#include "../measure.h"
#include "../print.h"
#include "player.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

/* ---- Building the operations ------------------------------------------------------------------------------------- */

/* State while the operations are being built. */
struct maker {
    struct player *player;
    uint64_t *sizes;  /* sizes of the blocks */
    uint8_t *classes; /* classes of the blocks; PLAYER_NOWHERE: not alive */
    bool *called;     /* callers x classes: this caller allocated in this class */
    uint32_t alive[PLAYER_CLASSES];
    uint64_t large; /* live bytes from malloc */
    uint64_t bytes; /* live bytes of all blocks */
    bool pools;
};

static uint8_t class_of(const struct maker *maker, uint64_t size) {
    bool small = maker->pools && size <= (PLAYER_CLASSES - 1) * PLAYER_STEP;
    return small ? (uint8_t)((size + PLAYER_STEP - 1) / PLAYER_STEP) : 0;
}

static void leave_class(struct maker *maker, uint32_t block) {
    uint8_t from = maker->classes[block];
    if (from == PLAYER_NOWHERE) return;
    maker->bytes -= maker->sizes[block];
    maker->alive[from]--;
    if (from == 0) maker->large -= maker->sizes[block];
}

static void enter_class(struct maker *maker, uint32_t block, uint8_t to, uint64_t size) {
    struct player_class *class = &maker->player->classes[to];
    maker->classes[block] = to;
    maker->sizes[block] = size;
    maker->bytes += size;
    if (++maker->alive[to] > class->peak) class->peak = maker->alive[to];
    if (to == 0) maker->large += size;
    uint64_t bytes = to == 0 ? maker->large : (uint64_t) class->peak * to * PLAYER_STEP;
    if (bytes > class->bytes) class->bytes = bytes;
}

static void count_allocation(struct maker *maker, uint8_t to, uint32_t caller) {
    bool *called = &maker->called[(size_t)caller * PLAYER_CLASSES + to];
    maker->player->classes[to].callers += !*called;
    maker->player->classes[to].allocations++;
    maker->player->allocations++;
    *called = true;
}

static void add_op(struct maker *maker, const trace_op *op) {
    struct player *player = maker->player;
    uint8_t from = maker->classes[op->block];
    uint64_t before = maker->sizes[op->block];
    struct player_op *made = &player->ops[player->count++];
    *made = (struct player_op){.block = op->block, .from = from, .to = PLAYER_NOWHERE};
    leave_class(maker, op->block);
    if (op->kind == TRACE_FREE) {
        maker->classes[op->block] = PLAYER_NOWHERE;
        return;
    }
    made->size = op->size > 0 ? op->size : 1; /* realloc to 0 bytes would be a free */
    made->to = class_of(maker, made->size);
    if (made->to != from) {
        made->keep = (uint16_t)(from == PLAYER_NOWHERE ? 0 : made->size < before ? made->size : before);
        count_allocation(maker, made->to, op->caller);
    }
    enter_class(maker, op->block, made->to, made->size);
    if (maker->bytes <= player->bytes) return;
    player->bytes = maker->bytes;
    player->summit = player->count - 1;
}

static bool fail(struct trace_problem *problem, const char *sentence) {
    snprintf(problem->text, sizeof problem->text, "%s", sentence);
    return false;
}

/* Never lets the blocks take more than half of the machine's memory, so that a damaged size cannot exhaust it. */
static bool make_ops(struct maker *maker, const struct trace *trace, struct trace_problem *problem) {
    uint64_t limit = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
    for (size_t i = 0; i < trace->count; i++) {
        add_op(maker, &trace->ops[i]);
        if (maker->bytes <= limit) continue;
        snprintf(problem->text, sizeof problem->text,
                 "to replay it takes %s after %zu operations, which is more than half of this machine's memory",
                 cli_bytes(maker->bytes).text, i + 1);
        return false;
    }
    for (uint32_t block = 0; block < trace->blocks; block++)
        if (maker->classes[block] != PLAYER_NOWHERE) add_op(maker, &(trace_op){.kind = TRACE_FREE, .block = block});
    return true;
}

/* Some callers of a trace only free. */
static uint32_t count_callers(const struct maker *maker, uint32_t callers) {
    uint32_t count = 0;
    for (uint32_t caller = 0; caller < callers; caller++)
        count += memchr(&maker->called[(size_t)caller * PLAYER_CLASSES], true, PLAYER_CLASSES) != NULL;
    return count;
}

static bool make_pools(struct player *player, struct trace_problem *problem) {
    for (size_t i = 1; i < PLAYER_CLASSES; i++) {
        kolk_pool_desc desc = {
            .name = "replay",
            .object_size = i * PLAYER_STEP,
            .max_capacity = player->classes[i].peak ? player->classes[i].peak : 1, /* it grows up to this */
            .generations = KOLK_GENERATIONS_NONE,                                  /* malloc has no handles either */
        };
        kolk_status status = kolk_pool_init(&player->pools[i], &desc);
        if (status != KOLK_OK) return fail(problem, kolk_status_text(status));
    }
    return true;
}

static bool make_heap(struct player *player, struct trace_problem *problem) {
    kolk_status status = kolk_heap_init(&player->heap, &(kolk_heap_desc){.name = "replay"});
    player->has_heap = status == KOLK_OK;
    return player->has_heap || fail(problem, kolk_status_text(status));
}

bool player_init(struct player *player, const struct trace *trace, enum player_supply supply,
                 struct trace_problem *problem) {
    size_t blocks = (size_t)trace->blocks + 1, calls = (size_t)trace->callers * PLAYER_CLASSES + 1;
    struct maker maker = {.player = player, .pools = supply == PLAYER_POOLS};
    *player = (struct player){.blocks = trace->blocks};
    player->ops = malloc((trace->count + blocks) * sizeof *player->ops);
    player->places = malloc(blocks * sizeof *player->places);
    maker.sizes = calloc(blocks, sizeof *maker.sizes);
    maker.classes = malloc(blocks);
    maker.called = calloc(calls, sizeof *maker.called);
    bool done = player->ops && player->places && maker.sizes && maker.classes && maker.called;
    if (done) {
        memset(player->places, 0xff, blocks * sizeof *player->places); /* touched before memory is measured */
        memset(maker.classes, PLAYER_NOWHERE, blocks);
        done = make_ops(&maker, trace, problem);
        player->callers = count_callers(&maker, trace->callers);
        if (supply == PLAYER_POOLS) done = done && make_pools(player, problem);
        if (supply == PLAYER_HEAP) done = done && make_heap(player, problem);
    } else {
        fail(problem, "there is no memory to replay it");
    }
    free(maker.sizes);
    free(maker.classes);
    free(maker.called);
    if (!done) player_deinit(player);
    return done;
}

void player_deinit(struct player *player) {
    for (size_t i = 1; i < PLAYER_CLASSES; i++) kolk_pool_deinit(&player->pools[i]);
    kolk_heap_deinit(&player->heap);
    free(player->ops);
    free(player->places);
    *player = (struct player){0};
}

/* ---- Playing the operations -------------------------------------------------------------------------------------- */

static void *take(struct player *player, uint8_t class, uint64_t size) {
    if (class) return kolk_pool_alloc(&player->pools[class]);
    return player->has_heap ? kolk_heap_alloc(&player->heap, size) : malloc(size);
}

static void *resize(struct player *player, uint8_t class, void *object, uint64_t size) {
    if (class) return object;
    return player->has_heap ? kolk_heap_realloc(&player->heap, object, size) : realloc(object, size);
}

static void give(struct player *player, uint8_t class, void *object) {
    if (class)
        kolk_pool_free(&player->pools[class], object);
    else if (player->has_heap)
        kolk_heap_free(&player->heap, object);
    else
        free(object);
}

/* Performs an operation. Returns the block's new address, or NULL if it has none. */
static inline void *play(struct player *player, const struct player_op *op) {
    void *object = player->places[op->block];
    if (op->from == PLAYER_NOWHERE) return take(player, op->to, op->size);
    if (op->from == op->to) return resize(player, op->to, object, op->size);
    void *moved = NULL;
    if (op->to != PLAYER_NOWHERE) {
        moved = take(player, op->to, op->size);
        if (!moved) return NULL;
        memcpy(moved, object, op->keep);
    }
    give(player, op->from, object);
    return moved;
}

bool player_run(struct player *player) {
    const struct player_op *end = player->ops + player->count;
    for (const struct player_op *op = player->ops; op < end; op++) {
        void *object = play(player, op);
        if (op->to == PLAYER_NOWHERE) continue;
        if (!object) return false;
        player->places[op->block] = object;
        if (op->size >= sizeof op->size) memcpy(object, &op->size, sizeof op->size);
    }
    return true;
}

/* ---- Checking the objects ---------------------------------------------------------------------------------------- */

/* Returns a word of a life's fill pattern, generated from the life's number (Steele, Lea, Flood: SplitMix, 2014). */
static uint64_t pattern_word(uint64_t life, size_t word) {
    uint64_t z = life + (word + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

static void write_pattern(void *object, size_t size, uint64_t life) {
    for (size_t at = 0; at < size; at += sizeof life) {
        uint64_t word = pattern_word(life, at / sizeof life);
        memcpy((char *)object + at, &word, size - at < sizeof word ? size - at : sizeof word);
    }
}

static bool has_pattern(const void *object, size_t size, uint64_t life) {
    for (size_t at = 0; at < size; at += sizeof life) {
        uint64_t word = pattern_word(life, at / sizeof life);
        if (memcmp((const char *)object + at, &word, size - at < sizeof word ? size - at : sizeof word) != 0)
            return false;
    }
    return true;
}

/* The contents that a block should have. */
struct contents {
    uint64_t size, life;
};

/* Plays one operation with checks. Returns a description of the problem, or NULL. */
static const char *check_op(struct player *player, const struct player_op *op, struct contents *held, uint64_t life) {
    void **place = &player->places[op->block];
    bool lives = op->from != PLAYER_NOWHERE;
    if (lives && !has_pattern(*place, held->size, held->life)) return "something else wrote into the object";
    void *object = play(player, op);
    if (op->to == PLAYER_NOWHERE) return NULL;
    if (!object) return "there is no memory for the object";
    *place = object;
    size_t kept = held->size < op->size ? held->size : op->size;
    if (lives && !has_pattern(object, kept, held->life)) return "the resized object lost its contents";
    if ((uintptr_t)object % PLAYER_STEP != 0) return "the object is not aligned to 16 bytes";
    *held = (struct contents){.size = op->size, .life = life};
    write_pattern(object, op->size, life);
    return NULL;
}

static const char *check_pools(const struct player *player) {
    kolk_stats stats;
    kolk_heap_stats(&player->heap, &stats);
    if (stats.count != 0) return "blocks are left alive in the heap";
    if (!kolk_heap_is_valid(&player->heap)) return "the heap is not valid any more";
    for (size_t i = 1; i < PLAYER_CLASSES; i++) {
        if (kolk_pool_count(&player->pools[i]) != 0) return "objects are left alive in a pool";
        if (!kolk_pool_is_valid(&player->pools[i])) return "a pool is not valid any more";
    }
    return NULL;
}

void player_check(struct player *player, uint64_t seed, struct player_check *check) {
    *check = (struct player_check){0};
    size_t bytes = ((size_t)player->blocks + 1) * sizeof(struct contents);
    struct contents *contents = malloc(bytes);
    if (!contents) {
        fail(&check->problem, "there is no memory to check it");
        return;
    }
    memset(contents, 0xff, bytes); /* touched before memory is measured */
#if defined(__GLIBC__)
    malloc_trim(0); /* so that memory freed before is not reused */
#endif
    uint64_t before = cli_resident();
    const char *wrong = NULL;
    for (size_t i = 0; !wrong && i < player->count; i++) {
        const struct player_op *op = &player->ops[i];
        wrong = check_op(player, op, &contents[op->block], seed ^ (i + 1) * UINT64_C(0xd1342543de82ef95));
        bool lives = op->from != PLAYER_NOWHERE;
        check->checked += lives;
        if (wrong)
            snprintf(check->problem.text, sizeof check->problem.text, "operation %zu, %" PRIu64 " bytes: %s", i + 1,
                     lives ? contents[op->block].size : op->size, wrong);
        if (i != player->summit) continue;
        uint64_t now = cli_resident();
        check->resident = before > 0 && now > before ? now - before : 0;
    }
    if (!wrong && (wrong = check_pools(player))) fail(&check->problem, wrong);
    free(contents);
}
