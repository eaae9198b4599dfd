/* beside.c: see beside.h.
 *
 * The load is the one from the fragmentation chapter. A rush fills RUSH bytes with blocks of its cycle's sizes,
 * replaces blocks for a while, and shrinks to a tenth. Some blocks are pins: they live for many cycles, even after
 * their size has gone out of use. The sizes stay the same for STAY cycles of a second each. Between the rushes, A_FRAME
 * blocks change in each frame. All allocators get the same operations at the pace of a game. They return resting memory
 * only after some time, so a load at full speed would show little. */
#define _POSIX_C_SOURCE 200809L
#include "beside.h"
#include "random.h"

#include <kolk/kolk.h>

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RUSH = 8 << 20, QUIET = RUSH / 10, BLOCKS = RUSH / 16, PIN_EVERY = 64, PIN_BYTES = RUSH / 20, PINS = 1 << 15 };
enum { STAY = 4, CYCLE_NS = 1000000000, FRAME_NS = 20000000, A_FRAME = 100 };

_Static_assert(BESIDE_PERIOD == 2 * SOAK_SHIFTS * STAY, "sizes go up and down");

/* ---- Allocators -------------------------------------------------------------------------------------------------- */

static kolk_heap heap;

static void *kolk_malloc(size_t size) {
    return kolk_heap_alloc(&heap, size);
}

static void kolk_free(void *block) {
    kolk_heap_free(&heap, block);
}

/* The other allocators are loaded by dlopen, so that none of them replaces the process's malloc. Under a sanitizer they
 * are left out, because it watches the memory that they manage. */
static const struct allocator {
    const char *name, *library, *alloc, *free;
} allocators[BESIDES] = {
    {"kolk_heap", NULL, NULL, NULL},
    {"malloc", NULL, NULL, NULL},
    {"jemalloc", "libjemalloc.so.2", "malloc", "free"},
    {"mimalloc", "libmimalloc.so.2", "mi_malloc", "mi_free"},
    {"tcmalloc", "libtcmalloc_minimal.so.4", "tc_malloc", "tc_free"},
};

#if defined(__has_feature)
#define UNDER_SANITIZER __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define UNDER_SANITIZER 1
#else
#define UNDER_SANITIZER 0
#endif

struct functions {
    void *(*alloc)(size_t size);
    void (*free)(void *block);
};

/* On failure returns false and sets `why`. */
static bool find_functions(const struct allocator *allocator, struct functions *functions, char *why, size_t size) {
    if (allocator->library && UNDER_SANITIZER) {
        snprintf(why, size, "left out under sanitizers");
        return false;
    }
    if (!allocator->library) {
        bool ours = allocator == &allocators[BESIDE_KOLK];
        *functions = ours ? (struct functions){kolk_malloc, kolk_free} : (struct functions){malloc, free};
        kolk_status status = ours ? kolk_heap_init(&heap, &(kolk_heap_desc){.name = "soak.beside"}) : KOLK_OK;
        if (status != KOLK_OK) snprintf(why, size, "%s", kolk_status_text(status));
        return status == KOLK_OK;
    }
    void *library = dlopen(allocator->library, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, size, "%s", dlerror());
        return false;
    }
    void *symbols[] = {dlsym(library, allocator->alloc), dlsym(library, allocator->free)};
    memcpy(&functions->alloc, &symbols[0], sizeof symbols[0]); /* as POSIX requires: C has no such cast */
    memcpy(&functions->free, &symbols[1], sizeof symbols[1]);
    if (!functions->alloc || !functions->free) snprintf(why, size, "%s", dlerror());
    return functions->alloc && functions->free;
}

/* ---- The load ---------------------------------------------------------------------------------------------------- */

struct block {
    void *start;
    uint32_t size;
};

struct pinned_load {
    struct functions functions;
    struct soak_random random;
    uint64_t cycle, operations;
    struct block *blocks; /* BLOCKS of them, followed by a ring of PINS */
    struct block *pins;
    uint32_t count, first_pin, last_pin;
    uint64_t live, pinned;
    uint64_t resident; /* resident bytes before the first allocation */
    const struct besides *all;
};

static bool new_block(struct pinned_load *load, struct block *block) {
    block->size = soak_size(&load->random, load->cycle / STAY);
    block->start = load->functions.alloc(block->size);
    if (!block->start) return false;
    memset(block->start, 1, block->size);
    load->live += block->size;
    load->operations++;
    return true;
}

static void end_block(struct pinned_load *load, const struct block *block) {
    load->functions.free(block->start);
    load->live -= block->size;
    load->operations++;
}

static bool pin(struct pinned_load *load) {
    while (load->pinned > PIN_BYTES || load->last_pin - load->first_pin == PINS) {
        const struct block *oldest = &load->pins[load->first_pin++ % PINS];
        load->pinned -= oldest->size;
        end_block(load, oldest);
    }
    struct block *newest = &load->pins[load->last_pin % PINS];
    if (!new_block(load, newest)) return false;
    load->pinned += newest->size;
    load->last_pin++;
    return true;
}

static bool grow(struct pinned_load *load) {
    if (load->count == BLOCKS) return true;
    if (soak_below(&load->random, PIN_EVERY) == 0 && !pin(load)) return false;
    return new_block(load, &load->blocks[load->count]) && ++load->count;
}

static void shrink(struct pinned_load *load) {
    if (load->count == 0) return;
    struct block *place = &load->blocks[soak_below(&load->random, load->count)];
    end_block(load, place);
    *place = load->blocks[--load->count];
}

static double per_live_byte(const struct pinned_load *load) {
    uint64_t resident = cli_resident();
    return resident > load->resident ? (double)(resident - load->resident) / (double)load->live : 0;
}

static bool change(struct pinned_load *load, uint32_t count) {
    for (; count > 0; count--) {
        shrink(load);
        if (!grow(load)) return false;
    }
    return true;
}

static void sleep_until(uint64_t ns) {
    uint64_t now = cli_now();
    if (ns <= now) return;
    struct timespec rest = {.tv_sec = (time_t)((ns - now) / 1000000000), .tv_nsec = (long)((ns - now) % 1000000000)};
    nanosleep(&rest, NULL); /* a signal may end it early, which does no harm */
}

static bool run_cycle(struct pinned_load *load, struct beside *out, uint64_t end) {
    while (load->live < RUSH)
        if (!grow(load)) return false;
    if (!change(load, load->count / 2)) return false;
    watch_add(&out->high, (double)load->cycle, per_live_byte(load));
    while (load->live > QUIET && load->count > 0) shrink(load);
    for (uint64_t frame = end - CYCLE_NS / 2; frame <= end && load->all->go_on(); frame += FRAME_NS) {
        if (!change(load, A_FRAME)) return false;
        sleep_until(frame);
    }
    watch_add(&out->low, (double)load->cycle, per_live_byte(load));
    load->cycle++;
    return true;
}

/* ---- The child processes ----------------------------------------------------------------------------------------- */

static void run_load(struct pinned_load *load, struct beside *out) {
    memset(load->blocks, 1, (BLOCKS + PINS) * sizeof *load->blocks); /* touched now so as not to be counted later */
    load->pins = load->blocks + BLOCKS;
    load->resident = cli_resident();
    for (uint64_t begin = cli_now(); cli_now() - begin < load->all->ns && load->all->go_on();) {
        if (!run_cycle(load, out, begin + (load->cycle + 1) * CYCLE_NS)) {
            snprintf(out->why, sizeof out->why, "it gave no more memory");
            return;
        }
        out->cycles = load->cycle;
        out->operations = load->operations;
    }
}

static void run_one(const void *given, void *result) {
    const struct besides *all = given;
    struct beside *out = result;
    struct pinned_load load = {.random = {all->seed}, .all = all};
    if (!find_functions(&allocators[all->begun], &load.functions, out->why, sizeof out->why)) return;
    load.blocks = malloc((BLOCKS + PINS) * sizeof *load.blocks);
    if (load.blocks)
        run_load(&load, out);
    else
        snprintf(out->why, sizeof out->why, "there is no memory");
    free(load.blocks);
}

bool beside_begin(struct besides *besides) {
    for (uint32_t n = 0; n < BESIDES; n++) besides->each[n] = (struct beside){.name = allocators[n].name};
    for (; besides->begun < BESIDES; besides->begun++) {
        struct beside *each = &besides->each[besides->begun];
        if (!cli_isolated_begin(&besides->children[besides->begun], run_one, besides, each, sizeof *each)) return false;
    }
    return true;
}

bool beside_end(struct besides *besides, bool hurry) {
    bool all = true;
    for (uint32_t n = 0; n < besides->begun && hurry; n++) kill(besides->children[n].pid, SIGTERM);
    for (uint32_t n = 0; n < besides->begun; n++)
        all &= cli_isolated_end(&besides->children[n], &besides->each[n], sizeof besides->each[n]);
    besides->begun = 0;
    return all;
}
