/* stacks.c: stores the call stacks of allocs and frees, each stack only once.
 *
 *     index    | 0 | 9 | 0 | 1 | 0 | ...      by a stack's hash: its position in words; 0 if none
 *     words    | - | a b c 0 | d e 0 | ...    return addresses; `used` of them
 *
 * There is one table for all pools. Nothing in it is ever changed or removed, so a pointer into the words identifies a
 * stack for ever. A kept site is such a pointer or an address of code.
 *
 * Threads add stacks without a lock. A thread that adds one reserves words, writes them, and publishes their position
 * by a compare-and-exchange of the index. If another thread was faster with the same stack, the reserved words are
 * wasted.
 *
 * The table is full when all words or three quarters of the index are used. From then on, only the site's address is
 * kept for a stack that is not in the table. */
#include "places.h"

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/fail.h"
#include "../base/hash.h"

#if KOLK_HOSTED
#include "../os/memory.h"
#include "../os/stack.h"

#include <string.h>

#define STACK_PLACES ((size_t)1 << 16)
#define STACK_WORDS  ((size_t)1 << 19)

typedef struct stack_table {
    uint32_t index[STACK_PLACES];
    uint32_t used, stacks;
    const void *words[STACK_WORDS];
} stack_table;

static uintptr_t stacks_at; /* the address of the table; 0 until it is needed */

static stack_table *seen_stacks(void) {
    return (stack_table *)kolk_load_(&stacks_at, KOLK_ACQUIRE_); /* partner: the exchange below */
}

/* Returns the table, which is made on the first call; NULL if there is no memory. */
static stack_table *have_stacks(void) {
    stack_table *table = seen_stacks();
    if (table) return table;
    table = (stack_table *)kolk_memory_take_(sizeof *table, sizeof *table);
    if (!table) return NULL;
    table->used = 1; /* position 0 means none */
    uintptr_t none = 0;
    if (kolk_compare_exchange_(&stacks_at, &none, (uintptr_t)table, KOLK_ACQ_REL_, KOLK_ACQUIRE_)) return table;
    kolk_memory_release_(table, sizeof *table);
    return (stack_table *)none;
}

static size_t place_of_stack(const void *const *frames) {
    uint64_t hash = 0;
    for (; *frames; frames++) hash = kolk_mixed_(hash + (uintptr_t)*frames);
    return (size_t)(hash % STACK_PLACES);
}

static bool is_same_stack(const void *const *a, const void *const *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* Copies the stack into the words, where no thread finds it yet. Returns its position; 0 if there is no room. */
static uint32_t write_stack(stack_table *table, const void *const *frames) {
    uint32_t length = 1;
    while (frames[length - 1]) length++;
    if (kolk_load_(&table->used, KOLK_RELAXED_) > STACK_WORDS - length) return 0;
    if (kolk_load_(&table->stacks, KOLK_RELAXED_) >= STACK_PLACES / 4 * 3) return 0;
    uint32_t start = kolk_fetch_add_(&table->used, length, KOLK_RELAXED_);
    if (start > STACK_WORDS - length) return 0; /* other threads were faster */
    memcpy(&table->words[start], frames, length * sizeof *frames);
    return start;
}

/* Adds the stack if it is new. Returns its position in the words; 0 if there is no room. */
static uint32_t number_stack(stack_table *table, const void *const *frames) {
    uint32_t added = 0;
    for (size_t at = place_of_stack(frames);; at = (at + 1) % STACK_PLACES) {
        uint32_t found = kolk_load_(&table->index[at], KOLK_ACQUIRE_); /* partner: the exchange below */
        if (!found) {
            if (!added) added = write_stack(table, frames);
            if (!added) return 0;
            if (kolk_compare_exchange_(&table->index[at], &found, added, KOLK_ACQ_REL_, KOLK_ACQUIRE_)) {
                kolk_fetch_add_(&table->stacks, 1, KOLK_RELAXED_);
                return added;
            }
        }
        if (is_same_stack(&table->words[found], frames)) return found;
    }
}

kolk_kept_site_ kolk_stack_keep_(const void *site, uint32_t depth) {
    if (!site || depth <= 1) return (kolk_kept_site_)site;
    const void *frames[KOLK_STACK_ROOM_(KOLK_STACK_MOST_)];
    KOLK_ASSERT_(depth <= KOLK_STACK_MOST_);
    kolk_stack_walk_(site, frames, KOLK_STACK_ROOM_(depth));
    stack_table *table = frames[1] ? have_stacks() : NULL;
    uint32_t start = table ? number_stack(table, frames) : 0;
    return start ? (kolk_kept_site_)&table->words[start] : (kolk_kept_site_)site;
}

const void *const *kolk_stack_kept_(kolk_kept_site_ kept) {
    const stack_table *table = seen_stacks();
    if (!table || kept - (uintptr_t)table->words >= sizeof table->words) return NULL;
    return (const void *const *)kept;
}

#endif
