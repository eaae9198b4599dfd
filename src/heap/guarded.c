/* guarded.c: blocks that end where an inaccessible page begins (as in GWP-ASan; Serebryany and others, 2024).
 *
 *     memory  | slots[] | X | ........ block | X | ....... block | X | ... | X |
 *                       first                first + 1 slot                        X: an inaccessible page
 *
 * Each slot has a page X and room for the largest block. Its block lies at the end of the room, so that the next slot's
 * X follows it. Only the block's own pages are committed, so the addresses before them are inaccessible too. A freed
 * block's pages are decommitted. The next block takes the slot that has been free for longest. As KOLK_GUARDED_ALIVE_
 * is less than the number of slots, a few dozen freed slots always wait, in the order in which they were freed. So no
 * ring or list is needed.
 *
 * A slot's state is one word: the number of its last free, with IS_FREE, IS_BUSY or IS_ALIVE in the low bits. The
 * thread that sets IS_BUSY by a compare-and-exchange owns the slot until it stores another state. No two frees have the
 * same number, so ABA cannot occur. A fork's child loses the slots that other threads own at that moment.
 *
 * If the system refuses to take back a freed block's pages, they stay accessible, and a use after free goes unnoticed.
 *
 * Invariants:
 *     I1  a live block has a size that is a multiple of 16, and ends where its slot ends
 *     I2  no state has a number above `frees`, and no two slots have the same number, except 0
 *     I3  peak is at least the number of live blocks, which is at most KOLK_GUARDED_ALIVE_, or a few more if several
 *         threads took the last slots at the same moment */
#include "kolk/base.h"

#include "guarded.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../base/atomics.h"
#include "../core/block.h"
#include "../os/memory.h"

#include <string.h>

enum { IS_FREE, IS_BUSY, IS_ALIVE, GUARDED_STATES = 4 };

#define GUARDED_GRAIN 16u
#define NO_GUARDED    UINT32_MAX

/* ---- Places ------------------------------------------------------------------------------------------------------ */

static size_t guarded_slot_bytes(void) {
    return kolk_memory_page_() + (size_t)round_up(KOLK_GUARDED_LARGEST_, kolk_memory_page_());
}

static size_t guarded_record_bytes(void) {
    return (size_t)round_up(KOLK_GUARDED_SLOTS_ * sizeof(kolk_guarded_slot_), kolk_memory_page_());
}

static uintptr_t end_of_slot(const kolk_guarded_ *guarded, uint32_t n) {
    return guarded->first + (n + 1) * guarded_slot_bytes();
}

static size_t usable_of(size_t align, size_t size) {
    return (size_t)round_up(size ? size : 1, align > GUARDED_GRAIN ? align : GUARDED_GRAIN);
}

/* The bytes of the pages for a block of this size and alignment; 0: no guarded block can have these. */
static size_t guarded_pages_of(size_t align, size_t size) {
    if (align > kolk_memory_page_() || size > KOLK_GUARDED_LARGEST_) return 0;
    size_t usable = usable_of(align, size);
    return usable > KOLK_GUARDED_LARGEST_ ? 0 : (size_t)round_up(usable, kolk_memory_page_());
}

bool kolk_guarded_has_(const kolk_guarded_ *guarded, const void *pointer) {
    return guarded->slots && (uintptr_t)pointer - guarded->first < KOLK_GUARDED_SLOTS_ * guarded_slot_bytes();
}

uint32_t kolk_guarded_slot_of_(const kolk_guarded_ *guarded, const void *pointer) {
    KOLK_ASSERT_(kolk_guarded_has_(guarded, pointer));
    return (uint32_t)(((uintptr_t)pointer - guarded->first) / guarded_slot_bytes());
}

/* ---- Life -------------------------------------------------------------------------------------------------------- */

bool kolk_guarded_begin_(kolk_guarded_ *guarded, kolk_budget *budget) {
    size_t size = guarded_record_bytes() + KOLK_GUARDED_SLOTS_ * guarded_slot_bytes() + kolk_memory_page_();
    void *memory = kolk_memory_take_(size, guarded_record_bytes());
    if (!memory) return false;
    *guarded = (kolk_guarded_){.slots = (kolk_guarded_slot_ *)memory, .memory_size = size, .budget = budget};
    guarded->first = (uintptr_t)memory + guarded_record_bytes();
    return true;
}

void kolk_guarded_end_(kolk_guarded_ *guarded) {
    if (guarded->slots) kolk_memory_release_(guarded->slots, guarded->memory_size);
    *guarded = (kolk_guarded_){0};
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static bool change_state(kolk_guarded_slot_ *slot, uint64_t seen, unsigned to) {
    uint64_t now = seen / GUARDED_STATES * GUARDED_STATES + to;
    return kolk_compare_exchange_(&slot->state, &seen, now, KOLK_ACQUIRE_, KOLK_RELAXED_);
}

/* The slot that has been free for longest, with its state; NO_GUARDED: too many slots are in use. */
static uint32_t longest_free(const kolk_guarded_ *guarded, uint64_t *state, uint32_t *used) {
    uint32_t found = NO_GUARDED;
    *used = 0;
    for (uint32_t n = 0; n < KOLK_GUARDED_SLOTS_; n++) {
        uint64_t now = kolk_load_(&guarded->slots[n].state, KOLK_RELAXED_);
        if (now % GUARDED_STATES != IS_FREE) {
            ++*used;
        } else if (found == NO_GUARDED || now < *state) {
            found = n;
            *state = now;
        }
    }
    return *used < KOLK_GUARDED_ALIVE_ ? found : NO_GUARDED;
}

/* Takes a slot for the calling thread, and sets it to IS_BUSY. */
static uint32_t take_guarded_slot(kolk_guarded_ *guarded) {
    uint64_t state = 0;
    uint32_t used, n;
    do {
        n = longest_free(guarded, &state, &used);
        if (n == NO_GUARDED) return n;
    } while (!change_state(&guarded->slots[n], state, IS_BUSY));
    uint32_t peak = kolk_load_(&guarded->peak, KOLK_RELAXED_);
    while (peak <= used &&
           !kolk_compare_exchange_weak_(&guarded->peak, &peak, used + 1, KOLK_RELAXED_, KOLK_RELAXED_)) {}
    return n;
}

/* Takes a slot and makes a block in it: `size` usable bytes, at the end of `pages` bytes of pages. NULL: no slot is
 * free, or there is no memory. */
static void *fill_guarded_slot(kolk_guarded_ *guarded, size_t size, size_t pages, const void *site) {
    uint32_t n = take_guarded_slot(guarded);
    if (n == NO_GUARDED) return NULL;
    kolk_guarded_slot_ *slot = &guarded->slots[n];
    uintptr_t end = end_of_slot(guarded, n);
    uint64_t state = slot->state / GUARDED_STATES * GUARDED_STATES;
    if (!kolk_memory_commit_((void *)(end - pages), pages)) {
        kolk_store_(&slot->state, state + IS_FREE, KOLK_RELEASE_);
        return NULL;
    }
    memset((void *)(end - size), 0, size); /* the system may not have taken back the last block's pages */
    kolk_store_(&slot->start, end - size, KOLK_RELAXED_);
    kolk_store_(&slot->size, size, KOLK_RELAXED_);
    kolk_store_(&slot->alloc_site, (uintptr_t)site, KOLK_RELAXED_);
    kolk_store_(&slot->free_site, 0, KOLK_RELAXED_);
    kolk_store_(&slot->state, state + IS_ALIVE, KOLK_RELEASE_); /* partner: live_slot */
    return (void *)(end - size);
}

void *kolk_guarded_alloc_(kolk_guarded_ *guarded, size_t align, size_t size, const void *site) {
    size_t pages = guarded_pages_of(align, size);
    if (!pages || !kolk_budget_take_all_(guarded->budget, pages)) return NULL;
    void *block = fill_guarded_slot(guarded, usable_of(align, size), pages, site);
    if (!block) kolk_budget_give_(guarded->budget, pages);
    return block;
}

/* The slot of a live block; NULL: this is not the start of a live block. */
static kolk_guarded_slot_ *live_slot(const kolk_guarded_ *guarded, const void *block, uint64_t *state) {
    if (!kolk_guarded_has_(guarded, block)) return NULL;
    kolk_guarded_slot_ *slot = &guarded->slots[kolk_guarded_slot_of_(guarded, block)];
    *state = kolk_load_(&slot->state, KOLK_ACQUIRE_); /* partner: kolk_guarded_alloc_ */
    bool found = *state % GUARDED_STATES == IS_ALIVE && kolk_load_(&slot->start, KOLK_RELAXED_) == (uintptr_t)block;
    return found ? slot : NULL;
}

bool kolk_guarded_free_(kolk_guarded_ *guarded, const void *block, const void *site) {
    uint64_t state;
    kolk_guarded_slot_ *slot = live_slot(guarded, block, &state);
    if (!slot || !change_state(slot, state, IS_BUSY)) return false;
    size_t pages = guarded_pages_of(1, slot->size);
    uintptr_t end = slot->start + slot->size;
    kolk_store_(&slot->free_site, (uintptr_t)site, KOLK_RELAXED_);
    kolk_memory_decommit_((void *)(end - pages), pages);
    uint64_t number = kolk_fetch_add_(&guarded->frees, 1, KOLK_RELAXED_) + 1;
    kolk_store_(&slot->state, number * GUARDED_STATES + IS_FREE, KOLK_RELEASE_); /* partner: change_state */
    kolk_budget_give_(guarded->budget, pages);
    return true;
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

size_t kolk_guarded_size_(const kolk_guarded_ *guarded, const void *block) {
    uint64_t state;
    const kolk_guarded_slot_ *slot = live_slot(guarded, block, &state);
    return slot ? kolk_load_(&slot->size, KOLK_RELAXED_) : 0;
}

static bool is_alive_slot(const kolk_guarded_ *guarded, uint32_t n) {
    return kolk_load_(&guarded->slots[n].state, KOLK_ACQUIRE_) % GUARDED_STATES == IS_ALIVE;
}

void *kolk_guarded_next_(const kolk_guarded_ *guarded, const void *block) {
    if (!guarded->slots) return NULL;
    for (uint32_t n = block ? kolk_guarded_slot_of_(guarded, block) + 1 : 0; n < KOLK_GUARDED_SLOTS_; n++)
        if (is_alive_slot(guarded, n)) return (void *)kolk_load_(&guarded->slots[n].start, KOLK_RELAXED_);
    return NULL;
}

uint32_t kolk_guarded_count_(const kolk_guarded_ *guarded, uint64_t *bytes) {
    uint32_t count = 0;
    *bytes = 0;
    for (uint32_t n = 0; guarded->slots && n < KOLK_GUARDED_SLOTS_; n++) {
        if (!is_alive_slot(guarded, n)) continue;
        *bytes += guarded_pages_of(1, kolk_load_(&guarded->slots[n].size, KOLK_RELAXED_));
        count++;
    }
    return count;
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

static bool is_guarded_slot_valid(const kolk_guarded_ *guarded, uint32_t n) {
    const kolk_guarded_slot_ *slot = &guarded->slots[n];
    uint64_t number = slot->state / GUARDED_STATES;
    if (slot->state % GUARDED_STATES == IS_ALIVE) {
        if (slot->size == 0 || slot->size % GUARDED_GRAIN || slot->size > KOLK_GUARDED_LARGEST_) return false; /* I1 */
        if (slot->start + slot->size != end_of_slot(guarded, n)) return false;                                 /* I1 */
    }
    if (number > guarded->frees) return false; /* I2 */
    for (uint32_t other = 0; number && other < n; other++)
        if (guarded->slots[other].state / GUARDED_STATES == number) return false; /* I2 */
    return true;
}

bool kolk_guarded_is_valid_(const kolk_guarded_ *guarded) {
    uint64_t bytes;
    if (!guarded->slots) return guarded->memory_size == 0;
    for (uint32_t n = 0; n < KOLK_GUARDED_SLOTS_; n++)
        if (!is_guarded_slot_valid(guarded, n)) return false;
    return guarded->peak <= KOLK_GUARDED_SLOTS_ && kolk_guarded_count_(guarded, &bytes) <= guarded->peak; /* I3 */
}

#endif
