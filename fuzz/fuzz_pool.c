/* runs: not:qemu not:wine with: KOLK_GENERATION_MAX=7 wraps: help/no_sites.h mprotect */
/* fuzz_pool.c: interprets any bytes as a program that uses a pool, correctly or not, and compares it with the model of
 * tests/pool/model.h. After each operation, the model states the expected result and which rule was broken.
 *
 *     descriptor | operation, arguments | operation, arguments | ... | restart | descriptor | operation ...
 *
 * Missing bytes at the end are 0. A slot is worn out after seven lives. These are few enough for a short program or one
 * alloc_at to use up, and enough for handles to become stale in several ways before. */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include "../tests/pool/model.h"
#include "../tests/pool/model_ask.h"
#include "../tests/help/no_sites.h"

#include <errno.h>

#define REMEMBERED 16u

typedef struct run {
    model m;
    const uint8_t *at, *end;            /* bytes that have not been read yet */
    kolk_handle remembered[REMEMBERED]; /* most of them are stale */
    uint32_t next_remembered;
    kolk_pool other;
    void *others[4];
    const void *on_stack;
    char what[200], debug[80];
} run;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- The system -------------------------------------------------------------------------------------------------- */

static const run *running; /* NULL: none */

int __real_mprotect(void *start, size_t size, int protection);
int __wrap_mprotect(void *start, size_t size, int protection);

/* Refuses memory as long as the model requires it. */
int __wrap_mprotect(void *start, size_t size, int protection) {
    if (!running || !running->m.refused) return __real_mprotect(start, size, protection);
    errno = ENOMEM;
    return -1;
}

/* ---- Values drawn from the bytes --------------------------------------------------------------------------------- */

static uint32_t draw(run *r) {
    return r->at < r->end ? *r->at++ : 0;
}

static uint64_t draw_word(run *r) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 8; i++) word = word << 8 | draw(r);
    return word;
}

/* Draws any slot, or one of a few beyond the last. */
static uint32_t draw_slot(run *r) {
    return draw(r) % (r->m.desc.max_capacity + 2);
}

/* Draws any slot that was once handed out, dead or alive, or NO_SLOT. */
static uint32_t draw_issued(run *r) {
    return r->m.fresh ? draw(r) % r->m.fresh : NO_SLOT;
}

static uint32_t draw_live(run *r) {
    return r->m.live ? model_live(&r->m, draw(r) % r->m.live) : NO_SLOT;
}

/* Draws a pointer to the start of a slot, into a slot, into another pool, to the stack, to the heap, or into the pool's
 * metadata; or a wild pointer, or NULL. */
static const void *draw_pointer(run *r) {
    model *m = &r->m;
    uint32_t choice = draw(r);
    switch (choice % 8) {
    case 0:
        return model_object(m, draw_slot(r));
    case 1:
        return moved(model_object(m, draw_slot(r)), (ptrdiff_t)draw(r));
    case 2:
        return moved(model_object(m, draw_slot(r)), -(ptrdiff_t)draw(r));
    case 3:
        return r->others[draw(r) % LENGTH_OF(r->others)];
    case 4:
        return r->on_stack;
    case 5:
        return choice / 8 % 2 ? (const void *)r : (const void *)m->pool.stack;
    case 6:
        return moved(model_object(m, 0), (ptrdiff_t)draw_word(r));
    default:
        return NULL;
    }
}

/* Draws a handle of the current life, of any life, of a moment ago, or of another pool; or a forged one, or null. */
static kolk_handle draw_handle(run *r) {
    model *m = &r->m;
    uint32_t choice = draw(r), slot;
    switch (choice % 6) {
    case 0:
        slot = draw(r) % MODEL_SLOTS;
        return model_handle(m, slot, m->generations[slot]);
    case 1:
        slot = draw(r);
        return model_handle(m, slot, draw(r));
    case 2:
        return r->remembered[draw(r) % REMEMBERED];
    case 3:
        return kolk_pool_handle_of(&r->other, r->others[draw(r) % LENGTH_OF(r->others)]);
    case 4:
        return kolk_handle_unpack(draw_word(r));
    default:
        return kolk_handle_unpack(0);
    }
}

/* ---- Descriptor -------------------------------------------------------------------------------------------------- */

static void draw_debug(run *r) {
    static const struct {
        const char *text;
        uint32_t flag;
    } words[] = {{"fill", KOLK_DEBUG_FILL},
                 {" guard ", KOLK_DEBUG_GUARD},
                 {"sites", KOLK_DEBUG_SITES},
                 {"trace", KOLK_DEBUG_TRACE},
                 {"gaurd", 0}};
    model *m = &r->m;
    uint32_t choice = draw(r);
    size_t length = 0;
    for (unsigned n = 0; n < LENGTH_OF(words); n++) {
        if (!(choice >> n & 1)) continue;
        length += (size_t)snprintf(r->debug + length, sizeof r->debug - length, "%s,", words[n].text);
        m->debug |= words[n].flag;
        m->bad_setting = n == LENGTH_OF(words) - 1;
    }
    m->quarantine = choice >> 5;
    if (m->quarantine) {
        snprintf(r->debug + length, sizeof r->debug - length, "quarantine=%u", m->quarantine);
        m->debug |= KOLK_DEBUG_QUARANTINE;
    }
    if (choice) m->desc.debug = r->debug;
}

static void draw_hooks(run *r) {
    static bool (*const ways[])(kolk_pool *, size_t, void *) = {NULL, model_on_full, model_on_full,
                                                                kolk_pool_trap_full};
    model *m = &r->m;
    uint32_t hooks = draw(r), uses = draw(r);
    m->desc.life.setup = hooks & 1 ? model_setup : NULL;
    m->desc.life.reset = hooks & 2 ? model_reset : NULL;
    m->desc.life.teardown = hooks & 4 ? model_teardown : NULL;
    m->desc.full.cost = hooks & 8 ? model_cost : NULL;
    m->desc.full.ranked = (hooks & 8) && (uses & 16);
    m->desc.full.on_full = ways[hooks >> 4 & 3];
    m->setup_frees = uses & 1;
    m->setup_allocs = uses & 2;
    m->reset_frees = uses & 4;
    m->reset_allocs = uses & 8;
}

/* Draws a count, which may be small or large. */
static uint32_t draw_count(run *r) {
    uint32_t choice = draw(r);
    return choice < 192 ? choice % 9 : 60 + (choice - 192) / 2;
}

enum { FIXED, GROWING, LENT, FITTING, ZERO, MEMORIES };

static unsigned draw_descriptor(run *r) {
    static const size_t sizes[] = {8, 1, 2, 3, 4, 7, 12, 16, 24, 33, 40, 64, 100, 600, 1000, 5000};
    static const size_t aligns[] = {0, 0, 1, 2, 4, 8, 16, 32, 64, 256, 4096};
    kolk_pool_desc *desc = &r->m.desc;
    uint32_t choice = draw(r), memory = draw(r) % MEMORIES, tag = draw(r);
    if (memory == ZERO) {
        desc->generations = KOLK_GENERATIONS_NONE;
        return memory;
    }
    desc->reuse = (kolk_reuse)(choice % 3);
    desc->generations = (kolk_generations)(choice / 3 % 3);
    desc->life.keep = choice / 9 % 2;
    desc->ages = choice / 18 % 2;
    desc->object_size = sizes[draw(r) % LENGTH_OF(sizes)];
    desc->object_align = aligns[draw(r) % LENGTH_OF(aligns)];
    desc->capacity = draw_count(r);
    desc->name = tag % 2 ? NULL : "fuzzed";
    desc->tag = tag / 2;
    if (desc->object_size >= 1000) desc->capacity %= 9; /* so that there are not megabytes to check */
    if (memory == GROWING) desc->max_capacity = desc->capacity + 1 + draw_count(r);
    draw_hooks(r);
    draw_debug(r);
    if (memory != GROWING && (memory >= LENT || desc->capacity == 0)) desc->capacity++; /* 0: as many as fit */
    desc->full.headroom = choice / 36;
    if (desc->full.headroom > (desc->max_capacity ? desc->max_capacity : desc->capacity)) desc->full.headroom = 0;
    if (memory == FITTING) desc->memory_size = kolk_pool_memory_size(desc) + draw(r) % 64;
    return memory;
}

static void begin(run *r) {
    model *m = &r->m;
    memset(m, 0, sizeof *m);
    m->what = "at its beginning";
    unsigned memory = draw_descriptor(r);
    snprintf(r->what, sizeof r->what, "memory %u, reuse %d, generations %d%s, %u bytes by %u, %u to %u slots%s%s%s%s%s",
             memory, (int)m->desc.reuse, (int)m->desc.generations, m->desc.life.keep ? ", keep" : "",
             (unsigned)m->desc.object_size, (unsigned)m->desc.object_align, m->desc.capacity, m->desc.max_capacity,
             m->desc.life.setup ? ", setup" : "", m->desc.life.reset ? ", reset" : "",
             m->desc.life.teardown ? ", teardown" : "", m->desc.debug ? ", debug " : "",
             m->desc.debug ? m->desc.debug : "");
    m->what = r->what;
    if (memory == ZERO)
        model_listen(m); /* an all-zero pool is valid too */
    else
        model_init(m, memory == LENT || memory == FITTING);
}

/* ---- Operations -------------------------------------------------------------------------------------------------- */

static void op_alloc(run *r) {
    model_alloc(&r->m, false);
}

static void op_alloc_zeroed(run *r) {
    model_alloc(&r->m, true);
}

static void op_alloc_urgent(run *r) {
    model_alloc_urgent(&r->m);
}

static void op_alloc_n(run *r) {
    model_alloc_n(&r->m, draw(r));
}

static void op_alloc_run(run *r) {
    model_alloc_run(&r->m, draw(r));
}

static void op_alloc_at(run *r) {
    model_alloc_at(&r->m, draw_handle(r));
}

static void op_free(run *r) {
    model *m = &r->m;
    uint32_t slot = draw_live(r);
    if (slot == NO_SLOT) return;
    r->remembered[r->next_remembered++ % REMEMBERED] = model_handle(m, slot, m->generations[slot]);
    model_free(m, slot, BY_POINTER);
}

static void op_renew(run *r) {
    uint32_t slot = draw_live(r);
    if (slot != NO_SLOT) model_renew(&r->m, slot);
}

static void op_free_handle(run *r) {
    model_free_handle(&r->m, draw_handle(r));
}

/* A stale pointer may point to a later life, which is then freed by mistake. */
static void op_free_pointer(run *r) {
    model *m = &r->m;
    const void *object = draw_pointer(r);
    if (!object) kolk_pool_free(&m->pool, NULL);
    if (!object || model_refuses(m, object, ASK_FREE)) return;
    if (kolk_pool_is_live(&m->pool, object)) model_free(m, kolk_pool_index(&m->pool, object), BY_POINTER);
}

static void op_ask(run *r) {
    verb asked = (verb)(1 + draw(r) % (VERBS - 1));
    model_refuses(&r->m, draw_pointer(r), asked);
}

static void op_is_live(run *r) {
    model *m = &r->m;
    const void *object = draw_pointer(r);
    uint32_t slot;
    bool live = object && model_rule_of(m, object, ASK_INDEX, &slot) == KOLK_OK;
    model_assert(m, kolk_pool_is_live(&m->pool, object) == live);
}

static void op_get(run *r) {
    model_get(&r->m, draw_handle(r));
}

static void ask_at(run *r, uint32_t slot) {
    model *m = &r->m;
    bool live = slot < MODEL_SLOTS && m->places[slot] == LIVE;
    model_assert(m, kolk_pool_at(&m->pool, slot) == (live ? model_object(m, slot) : NULL));
}

static void op_at(run *r) {
    ask_at(r, (uint32_t)draw_word(r));
}

static void op_at_issued(run *r) {
    ask_at(r, draw_issued(r));
}

static void op_sweep_by_runs(run *r) {
    uint32_t from = draw(r), n = draw(r);
    model_sweep_by_runs(&r->m, from, n == 255 ? UINT32_MAX : n);
}

static void op_sweep(run *r) {
    uint32_t choice = draw(r), from = draw(r);
    if (choice % 3 == 2)
        model_sweep_by_runs(&r->m, from, draw(r));
    else
        model_sweep_by_cursor(&r->m);
}

static void op_sweep_and_free(run *r) {
    model_sweep_and_free(&r->m, draw(r) % 2);
}

static void op_reserve(run *r) {
    model_reserve(&r->m, draw(r));
}

static void op_trim(run *r) {
    model_trim(&r->m);
}

static void op_tick(run *r) {
    uint32_t slots = draw(r);
    model_tick(&r->m, slots, draw(r));
}

static void op_age(run *r) {
    uint32_t choice = draw(r) % 4, slot = draw_live(r);
    if (choice == 0) model_ask_ages(&r->m);
    if (choice == 1) model_evict_oldest(&r->m);
    if (choice >= 2 && slot != NO_SLOT) model_touch(&r->m, slot);
}

static void op_clear(run *r) {
    model_clear(&r->m);
}

static void op_write_dead(run *r) {
    uint32_t slot = draw_slot(r);
    if (slot < r->m.capacity) model_scribble(&r->m, slot);
}

static void op_damage(run *r) {
    model *m = &r->m;
    uint32_t slot = draw_issued(r), choice = draw(r), at = choice / PARTS;
    unsigned part = choice % PARTS;
    if (slot == NO_SLOT) return;
    if (part == BEFORE) at = 1 + at % 16;
    if (part == BEHIND) at = at % 16;
    if (part == BODY) at = at % (uint32_t)m->desc.object_size;
    model_damage(m, slot, part, at);
}

static void op_setup_fails(run *r) {
    r->m.setup_fails = !r->m.setup_fails;
}

static void op_refuse_memory(run *r) {
    r->m.refused = !r->m.refused;
}

static void add_length(const char *text, size_t length, void *context) {
    (void)text;
    *(size_t *)context += length;
}

/* Statistics include this pool if it has a name and there is memory to collect them. They are then longer than those
 * without a pool. */
static void op_write_stats(run *r) {
    static size_t of_none[3]; /* the length of statistics without a pool, by format */
    kolk_stats_format format = (kolk_stats_format)(draw(r) % LENGTH_OF(of_none));
    bool named = r->m.pool.name != NULL;
    size_t length = 0;
    kolk_stats_write(format, add_length, &length);
    if (!named) of_none[format] = length;
    model_assert(&r->m, length > (named && !r->m.refused ? of_none[format] : 0));
}

static void op_restart(run *r) {
    model_deinit(&r->m);
    begin(r);
}

/* Returns the bytes that a pool with this descriptor needs from the caller, or 0 if they exceed the address space. */
static size_t bytes_needed(kolk_pool_desc desc) {
    if (desc.capacity == 0) desc.capacity = 1;
    return kolk_pool_memory_size(&desc);
}

/* Returns true if a descriptor breaks the rule of this status, or any rule for KOLK_OK. */
static bool breaks_rule(const kolk_pool_desc *desc, kolk_status rule) {
    size_t align = desc->object_align > 8 ? desc->object_align : 8;
    const struct {
        kolk_status status;
        bool broken;
    } rules[] = {
        {KOLK_ZERO_SIZE, desc->object_size == 0},
        {KOLK_SIZE_OVERFLOW, desc->object_size > INT32_MAX},
        {KOLK_BAD_ALIGN, desc->object_align & (desc->object_align - 1)},
        {KOLK_ALIGN_TOO_LARGE, desc->object_align > 4096},
        {KOLK_BAD_REUSE, desc->reuse > KOLK_REUSE_LOWEST},
        {KOLK_BAD_GENERATIONS, desc->generations > KOLK_GENERATIONS_NONE},
        {KOLK_COST_MISSING, (desc->full.on_full == kolk_pool_evict_cheapest || desc->full.ranked) && !desc->full.cost},
        {KOLK_BAD_HEADROOM, desc->full.headroom > (desc->max_capacity ? desc->max_capacity : desc->capacity)},
        {KOLK_BAD_CAPACITY, desc->capacity > INT32_MAX},
        {KOLK_MAX_BELOW_CAPACITY, desc->max_capacity && desc->max_capacity < desc->capacity},
        {KOLK_ZERO_CAPACITY, !desc->memory && !desc->memory_size && !desc->capacity && !desc->max_capacity},
        {KOLK_CANNOT_GROW, desc->memory && desc->max_capacity && desc->max_capacity != desc->capacity},
        {KOLK_MEMORY_MISALIGNED, (uintptr_t)desc->memory % align},
        {KOLK_MEMORY_MISSING, desc->memory_size && !desc->memory},
        {KOLK_MEMORY_TOO_SMALL, desc->memory && desc->memory_size <= bytes_needed(*desc) - 1},
    };
    for (size_t i = 0; i < LENGTH_OF(rules); i++)
        if (rules[i].broken && (rule == KOLK_OK || rule == rules[i].status)) return true;
    return false;
}

static kolk_pool_desc draw_any_descriptor(run *r) {
    static const size_t sizes[] = {24, 1, 0, 1000, (size_t)INT32_MAX + 1}, aligns[] = {0, 8, 64, 3, 8192};
    static const uint32_t counts[] = {0, 1, 3, 70, UINT32_MAX};
    static _Alignas(64) unsigned char memory[1024];
    uint32_t choice = draw(r), shape = draw(r), count = draw(r);
    kolk_pool_desc desc = {.object_size = sizes[shape % 5], .object_align = aligns[shape / 5 % 5]};
    desc.capacity = counts[count % 5];
    desc.max_capacity = counts[count / 5 % 5];
    desc.reuse = (kolk_reuse)(choice % 4);
    desc.generations = (kolk_generations)(choice / 4 % 4);
    if (choice & 16) desc.full.on_full = kolk_pool_evict_cheapest;
    if (choice & 32) desc.full.cost = model_cost;
    if (choice & 64) desc.memory = memory + count / 25;
    if (choice & 128) desc.memory_size = sizeof memory - count / 25;
    if (shape / 25 % 2) desc.debug = "all";
    if (shape / 50 % 2) desc.full.on_full = kolk_pool_evict_oldest;
    desc.ages = shape / 100 % 2;
    desc.full.ranked = shape / 200;
    if (!desc.memory || desc.capacity)
        desc.full.headroom = count / 125 * 2; /* not if the capacity is as much as fits */
    return desc;
}

/* Initialises another pool, whose descriptor may be bad. The status must then name one of the broken rules. */
static void op_try_descriptor(run *r) {
    model *m = &r->m;
    kolk_pool pool;
    kolk_pool_desc desc = draw_any_descriptor(r);
    bool breaks = breaks_rule(&desc, KOLK_OK);
    double bytes = (double)desc.object_size * (desc.max_capacity > desc.capacity ? desc.max_capacity : desc.capacity);
    bool may_lack = m->refused || bytes > 1e9;
    memset(&pool, 0xee, sizeof pool);
    kolk_status status = kolk_pool_init(&pool, &desc);
    if (status == KOLK_OK) {
        model_assert(m, !breaks && kolk_pool_is_valid(&pool));
        void *object = kolk_pool_alloc(&pool);
        model_assert(m, (object != NULL) == (pool.capacity > desc.full.headroom));
        kolk_pool_free(&pool, object);
        kolk_pool_deinit(&pool);
    } else {
        bool lacks = may_lack && (status == KOLK_SIZE_OVERFLOW || (!breaks && status == KOLK_NO_MEMORY));
        model_assert(m, lacks || breaks_rule(&desc, status));
    }
    model_assert(m, is_all_zero(&pool));
}

/* All 32 values are operations, some of them more than once. A new operation replaces a repetition, so that the corpus
 * keeps its meaning. */
static void (*const operations[32])(run *) = {op_alloc,
                                              op_free,
                                              op_alloc,
                                              op_free,
                                              op_alloc_n,
                                              op_alloc_zeroed,
                                              op_alloc_at,
                                              op_free_handle,
                                              op_get,
                                              op_free_pointer,
                                              op_ask,
                                              op_is_live,
                                              op_at,
                                              op_at_issued,
                                              op_sweep_by_runs,
                                              op_sweep,
                                              op_sweep_and_free,
                                              op_reserve,
                                              op_trim,
                                              op_clear,
                                              op_write_dead,
                                              op_damage,
                                              op_setup_fails,
                                              op_refuse_memory,
                                              op_restart,
                                              op_try_descriptor,
                                              op_alloc_run,
                                              op_renew,
                                              op_tick,
                                              op_alloc_urgent,
                                              op_age,
                                              op_write_stats};

static void operate(run *r) {
    model *m = &r->m;
    uint32_t choice = draw(r);
    m->random = m->step << 8 | choice; /* for the hooks' actions and for the contents */
    operations[choice % LENGTH_OF(operations)](r);
    m->step++;
    model_assert(m, m->taken.count == 0);
    bool thoroughly = (size_t)m->desc.max_capacity * m->desc.object_size < 1024 || m->step % 16 == 0;
    if (!thoroughly) model_assert(m, kolk_pool_is_valid(&m->pool) == (m->damages == 0));
    model_compare(m, thoroughly);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static _Alignas(16) unsigned char memory[KOLK_POOL_BYTES(8, 8, 4)];
    run *r = (run *)calloc(1, sizeof *r);
    if (!r) abort();
    r->on_stack = &r;
    r->at = data;
    r->end = data + size;
    running = r;
    begin(r);
    kolk_pool_desc other = {.object_size = 8, .memory = memory, .memory_size = sizeof memory, .tag = 1};
    if (kolk_pool_init(&r->other, &other) != KOLK_OK) abort();
    for (size_t i = 0; i < LENGTH_OF(r->others); i++) r->others[i] = kolk_pool_alloc(&r->other);
    while (r->at < r->end) operate(r);
    model_deinit(&r->m);
    kolk_pool_deinit(&r->other);
    running = NULL;
    free(r);
    return 0;
}
