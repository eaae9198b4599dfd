/* pool_snapshot.c: saves the state of a core pool as one block of bytes, and restores it.
 *
 *     | header | live | generations | links | objects | 0 to 7 zeros | checksum |
 *       64       8 a     4 a slot     4 a     object_size each,        8 bytes
 *       bytes    word                 slot    the live ones, ascending
 *
 * The block covers all slots below fresh. The links store all orders of slots in one chain:
 *
 *     first -> free slots in their order -> worn-out slots -> slots in quarantine -> live slots by age -> 0
 *              (LIFO: from the bottom of     (the oldest       (the same)            (with ages: except
 *              the stack; FIFO: the oldest   first)                                  protected ones)
 *              first; LOWEST: none, its
 *              order is that of the bits)
 *
 * snapshot.h tells what this block has in common with those of other kinds of pools. Even a forged block with a
 * correct checksum cannot break an invariant of pool.c. These rules are checked:
 *
 *     S1  exactly `live` bits are set, all below fresh                                      (I1, I2)
 *     S2  the chain has fresh - live dead slots (LOWEST: worn + quarantined), then `aged` live ones  (I3, I9)
 *     S3  all generations are within bounds; they are 0 for exactly the worn-out slots       (I5)
 *     S4  links outside the chain and padding before the checksum are 0, so equal states have equal blocks
 *     S5  objects that are converted have a size; the sizes of the parts add up to the size of the block
 *
 * Links and generations do not depend on the slots' addresses, on red zones, or on the width of pointers. */
#include "pool_rank.h"
#include "pool_order.h"

#include "../core/quarantine.h"
#include "../base/assert.h"
#include "../base/hash.h"
#include "../core/fail.h"
#include "../core/budget.h"
#include "../core/snapshot.h"

#include <string.h>

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

static kolk_status has_snapshot(const kolk_pool *pool) {
    if (pool->setup || pool->teardown) return KOLK_NO_SNAPSHOT;
    if (pool->pinned) return KOLK_PINNED;
    return pool->in_hook ? KOLK_IN_HOOK : KOLK_OK; /* inside a hook, a slot may be in no place (I3) */
}

static bool is_live_in(const unsigned char *live, uint64_t slot) {
    return kolk_snapshot_load64_(live + slot / 64 * 8) & kolk_bits_at_(slot);
}

static void save_states(const kolk_pool *pool, unsigned char *live, unsigned char *generations) {
    uint64_t word = 0;
    for (uint32_t slot = 0; slot < pool->fresh; slot++) {
        if (kolk_pool_lives_(pool, slot)) word |= kolk_bits_at_(slot);
        if (pool->high) kolk_snapshot_store32_(generations + (size_t)slot * 4, kolk_pool_generation_(pool, slot));
        if (slot % 64 < 63 && slot + 1 < pool->fresh) continue;
        kolk_snapshot_store64_(live + slot / 64 * 8, word);
        word = 0;
    }
}

/* Makes the states of all slots. `fresh` slots were handed out before. A walk that began then looks at all of them, so
 * those that are no longer in use are cleared. */
static void load_states(kolk_pool *pool, const unsigned char *live, const unsigned char *generations, uint32_t fresh) {
    if (fresh > pool->fresh) memset(pool->states + pool->fresh, 0, fresh - pool->fresh);
    for (uint32_t slot = pool->fresh; slot < fresh && pool->high; slot++) set_high(pool, slot, 0);
    for (uint32_t slot = 0; slot < pool->fresh; slot++) {
        pool->states[slot] = is_live_in(live, slot) ? KOLK_ALIVE_ : 0;
        if (pool->high) set_generation(pool, slot, kolk_snapshot_load32_(generations + (size_t)slot * 4));
    }
}

/* Copies the objects that are alive by the pool's states into the block. */
static void save_objects(const kolk_pool *pool, unsigned char *bytes) {
    kolk_cursor cursor = kolk_pool_each(pool);
    uint32_t n;
    for (const unsigned char *run; (run = kolk_cursor_next_run(&cursor, &n)) != NULL;)
        bytes = kolk_snapshot_save_(bytes, run, pool->stride, pool->object_size, n);
}

/* Copies the objects that are alive by the pool's states from the block. */
static void load_objects(kolk_pool *pool, const unsigned char *bytes) {
    kolk_cursor cursor = kolk_pool_each(pool);
    uint32_t n;
    for (unsigned char *run; (run = kolk_cursor_next_run(&cursor, &n)) != NULL;)
        bytes = kolk_snapshot_load_(bytes, run, pool->stride, pool->object_size, n);
}

static void *alloc_in_call(kolk_pool *pool, const void *site) {
    kolk_pool_bar_(pool, "alloc", site);
    return NULL;
}

/* Enclose the calls of a function of the user's, which must not change the pool. */
static pool_look begin_calls(kolk_pool *pool, const kolk_pool_options_ **options) {
    static const kolk_pool_options_ only_hook = {.alloc = alloc_in_call, .bar = kolk_pool_bar_};
    *options = pool->options;
    if (!pool->options || !pool->options->bar) pool->options = &only_hook; /* which closes all fast paths */
    return begin_pool_look(pool);
}

static void end_calls(kolk_pool *pool, const pool_look *look, const kolk_pool_options_ *options) {
    end_pool_look(pool, look);
    pool->options = options;
}

/* Makes the objects that are alive by the pool's states from the block. */
static void convert_objects(kolk_pool *pool, const unsigned char *bytes, size_t saved_size,
                            const kolk_conversion_ *by) {
    const kolk_pool_options_ *options;
    pool_look look = begin_calls(pool, &options);
    kolk_cursor cursor = kolk_pool_each(pool);
    for (void *object; (object = kolk_cursor_next(&cursor)) != NULL; bytes += saved_size)
        kolk_conversion_make_(by, object, pool->object_size, bytes, saved_size);
    end_calls(pool, &look, options);
}

/* ---- Taking one -------------------------------------------------------------------------------------------------- */

/* The number of live slots in the order of births. */
static uint32_t count_aged(const kolk_pool *pool) {
    uint32_t count = 0;
    for (uint32_t at = 0; pool->ages && (at = pool->ages[at].newer) != 0;) count += kolk_pool_lives_(pool, at - 1);
    return count;
}

static kolk_pool_header_ header_of(const kolk_pool *pool) {
    kolk_pool_header_ head = {
        .object_size = (uint32_t)pool->object_size,
        .tag = pool->tag,
        .reuse = (uint8_t)pool->reuse,
        .generations = (uint8_t)pool->generations,
        .ages = pool->ages != NULL,
        .capacity = open_capacity(pool),
        .fresh = pool->fresh,
        .live = kolk_pool_count(pool),
        .worn = pool->worn.count,
        .quarantined = pool->quarantined,
        .aged = count_aged(pool),
    };
    head.start = kolk_snapshot_start_of_(POOL_MAGIC, POOL_FORMAT, kolk_pool_parts_(&head).size);
    return head;
}

size_t kolk_pool_snapshot_size(const kolk_pool *pool) {
    return has_snapshot(pool) == KOLK_OK ? (size_t)header_of(pool).start.size : 0;
}

/* Makes these the links of all slots that are listed, worn out or in quarantine. */
static void set_links(const kolk_pool *pool, unsigned char *links, uint32_t link) {
    uint32_t length = queued(pool), worn = pool->worn.first;
    for (uint32_t n = pool->unlisted; n < length; n++)
        kolk_snapshot_store32_(links + (size_t)queue_at(pool, n)->index * 4, link);
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = next_worn(pool, worn))
        kolk_snapshot_store32_(links + (size_t)worn * 4, link);
    for (uint32_t n = 0; n < pool->quarantined; n++)
        kolk_snapshot_store32_(links + (size_t)*kolk_quarantined_(pool->debug, n) * 4, link);
}

/* Writes the slots of unlisted places, in the order in which they would be listed: the dead slots that are in no other
 * place. */
static void write_unlisted(const kolk_pool *pool, kolk_chain_ *to) {
    bool lifo = pool->reuse == KOLK_REUSE_LIFO;
    set_links(pool, to->links, UINT32_MAX);
    for (uint32_t n = 0; n < pool->fresh; n++) {
        uint32_t slot = lifo ? pool->fresh - 1 - n : n;
        if (!kolk_pool_lives_(pool, slot) && !kolk_chain_link_(to->links, slot)) kolk_chain_append_(to, slot);
    }
    set_links(pool, to->links, 0);
}

/* Writes the chain. All links must be 0 before the call. Also writes 0 as the generation of each worn-out slot, because
 * the pool keeps its list of worn-out slots in their generations. */
static void write_chain(const kolk_pool *pool, kolk_chain_ to, unsigned char *generations) {
    uint32_t worn = pool->worn.first;
    if (pool->unlisted) write_unlisted(pool, &to);
    for (uint32_t n = pool->unlisted; pool->reuse != KOLK_REUSE_LOWEST && n < queued(pool); n++)
        kolk_chain_append_(&to, queue_at(pool, n)->index);
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = next_worn(pool, worn)) {
        kolk_chain_append_(&to, worn);
        kolk_snapshot_store32_(generations + (size_t)worn * 4, 0);
    }
    for (uint32_t n = 0; n < pool->quarantined; n++) kolk_chain_append_(&to, *kolk_quarantined_(pool->debug, n));
    for (uint32_t at = 0; pool->ages && (at = pool->ages[at].newer) != 0;)
        if (kolk_pool_lives_(pool, at - 1)) kolk_chain_append_(&to, at - 1);
}

size_t kolk_pool_snapshot(const kolk_pool *pool, void *block, size_t size) {
    if (has_snapshot(pool) != KOLK_OK) return 0;
    kolk_pool_header_ head = header_of(pool);
    kolk_parts_ at = kolk_pool_parts_(&head);
    if (size < at.size) return 0;

    unsigned char *bytes = block;
    save_states(pool, bytes + at.live, bytes + at.generations);
    memset(bytes + at.links, 0, (size_t)(at.objects - at.links));
    write_chain(pool, (kolk_chain_){bytes + at.links, (unsigned char *)&head.first}, bytes + at.generations);
    save_objects(pool, bytes + at.objects);
    memcpy(bytes, &head, sizeof head);
    return kolk_snapshot_seal_(bytes, at.padding, at.size);
}

/* ---- Proving one ------------------------------------------------------------------------------------------------- */

static bool bits_are_right(const kolk_pool_header_ *head, const unsigned char *live) { /* S1 */
    uint64_t count = 0, words = kolk_bits_words_(head->fresh);
    for (uint64_t i = 0; i < words; i++) count += kolk_bits_count_(kolk_snapshot_load64_(live + i * 8));
    if (count != head->live) return false;
    return head->fresh % 64 == 0 || kolk_snapshot_load64_(live + (words - 1) * 8) >> (head->fresh % 64) == 0;
}

static bool generations_are_right(const kolk_pool_header_ *head, const unsigned char *live,
                                  const unsigned char *generations) {
    uint32_t none = 0; /* S3 */
    if (head->generations == KOLK_GENERATIONS_NONE) return head->worn == 0;
    for (uint64_t slot = 0; slot < head->fresh; slot++) {
        uint32_t generation = kolk_snapshot_load32_(generations + slot * 4);
        if (generation > KOLK_GENERATION_MAX || (generation == 0 && is_live_in(live, slot))) return false;
        none += generation == 0;
    }
    return none == head->worn;
}

static bool chain_is_right(const kolk_pool_header_ *head, const unsigned char *bytes,
                           const kolk_parts_ *at) { /* S2, S4 */
    kolk_stretches_ from = kolk_stretches_of_(head);
    uint32_t next = head->first, links = 0;
    for (uint32_t n = 0; n < from.end; n++) {
        uint64_t slot = (uint64_t)next - 1; /* a huge number if the chain has ended */
        if (slot >= head->fresh || is_live_in(bytes + at->live, slot) != (n >= from.aged)) return false;
        bool worn = n >= from.worn && n < from.quarantined;
        if (worn && kolk_snapshot_load32_(bytes + at->generations + slot * 4) != 0) return false;
        next = kolk_chain_link_(bytes + at->links, slot);
    }
    for (uint64_t i = at->links; i < at->objects; i += 4) links += kolk_snapshot_load32_(bytes + i) != 0;
    return next == 0 && links == (from.end > 1 ? from.end - 1 : 0);
}

/* If it `converts`, the saved objects may have another size. */
static kolk_status prove(const kolk_pool *pool, const unsigned char *bytes, size_t size, bool converts,
                         kolk_pool_header_ *head) {
    kolk_status status = kolk_snapshot_prove_(bytes, size, POOL_MAGIC, POOL_FORMAT, sizeof *head);
    if (status != KOLK_OK) return status;
    memcpy(head, bytes, sizeof *head);

    if (!converts && head->object_size != pool->object_size) return KOLK_OTHER_POOL;
    if (head->tag != pool->tag) return KOLK_OTHER_POOL;
    if (head->reuse != pool->reuse || head->generations != pool->generations) return KOLK_OTHER_POOL;
    if (head->ages != (pool->ages != NULL)) return KOLK_OTHER_POOL;

    if (!kolk_pool_header_is_possible_(head)) return KOLK_FORGED_SNAPSHOT;
    if (converts && !kolk_conversion_is_possible_(head->object_size)) return KOLK_FORGED_SNAPSHOT;
    kolk_parts_ at = kolk_pool_parts_(head);
    if (at.size != size) return KOLK_FORGED_SNAPSHOT; /* S5 */
    if (!bits_are_right(head, bytes + at.live)) return KOLK_FORGED_SNAPSHOT;
    if (!generations_are_right(head, bytes + at.live, bytes + at.generations)) return KOLK_FORGED_SNAPSHOT;
    if (!kolk_snapshot_is_padded_(bytes, at.padding, at.size)) return KOLK_FORGED_SNAPSHOT;
    return chain_is_right(head, bytes, &at) ? KOLK_OK : KOLK_FORGED_SNAPSHOT;
}

/* ---- Putting it in place ----------------------------------------------------------------------------------------- */

/* Grows so that the slots fit that the saved pool had handed out. The saved pool's capacity proves nothing, because
 * slots that were never handed out are not in the block. So the pool grows to it by no more than an alloc would grow
 * the pool, and only if that succeeds; with FIFO, whose future depends on it, as far as max_capacity. */
static kolk_status grow_to_fit(kolk_pool *pool, const kolk_pool_header_ *head) {
    uint32_t needed = head->fresh > pool->capacity ? head->fresh : pool->capacity;
    if (needed >= pool->max_capacity) return kolk_pool_reserve(pool, head->fresh); /* there is no more, or too little */
    uint32_t wish = kolk_block_next_capacity_(needed, pool->max_capacity, pool->stride);
    wish = needed + kolk_budget_step_(pool->budget, wish - needed, pool->stride);
    if (wish > head->capacity || pool->reuse == KOLK_REUSE_FIFO) wish = head->capacity;
    return wish > needed && kolk_pool_reserve(pool, wish) == KOLK_OK ? KOLK_OK : kolk_pool_reserve(pool, head->fresh);
}

/* Is a slot alive in the saved state? */
static bool is_alive_then(const kolk_pool_header_ *head, const unsigned char *live, uint32_t slot) {
    return slot < head->fresh && is_live_in(live, slot);
}

static void end_life_untold(kolk_pool *pool, uint32_t slot, const void *site) {
    kolk_watch_->dies(pool->debug, slot, site);
    kolk_watch_->wiped(pool->debug, slot, pool_slot_at(pool, slot));
}

/* Updates the debug mode: verifies all slots, begins the lives that only the block has, and ends those that only the
 * pool has. If malloc fails for an object, changes nothing and returns false. */
static bool change_lives(kolk_pool *pool, const kolk_pool_header_ *head, const unsigned char *live, const void *site) {
    kolk_pool_verify_all_(pool, site);
    for (uint32_t i = 0; i < head->fresh; i++) {
        if (pool_is_alive(pool, i) || !is_alive_then(head, live, i)) continue;
        void *object = kolk_watch_->prepare(pool->debug, i, pool_slot_at(pool, i));
        if (object) {
            kolk_watch_->born(pool->debug, i, object, site);
            continue;
        }
        while (i-- > 0)
            if (!pool_is_alive(pool, i) && is_alive_then(head, live, i)) end_life_untold(pool, i, site);
        kolk_watch_->lost(pool->debug, pool->fresh, head->fresh, true);
        return false;
    }
    for (uint32_t i = 0; i < pool->fresh; i++)
        if (pool_is_alive(pool, i) && !is_alive_then(head, live, i)) end_life_untold(pool, i, site);
    kolk_watch_->lost(pool->debug, head->fresh, pool->fresh, true);
    return true;
}

/* Makes every dead slot a hole. The caller then clears the holes that are not free. */
static void make_holes(kolk_pool *pool) {
    uint64_t words = kolk_bits_words_(pool->fresh);
    for (unsigned k = 0; k < pool->levels; k++, words = kolk_bits_words_(words))
        memset(pool->holes[k], 0, (size_t)words * 8);
    for (uint64_t i = 0; (i = kolk_pool_next_(pool, false, i, pool->fresh)) < pool->fresh; i++)
        kolk_levels_set_(pool->holes, pool->levels, (size_t)i);
}

/* Moves the slots of the chain to their places (pool.c, I3). If this pool's quarantine is shorter than the saved one,
 * or off, the oldest slots leave it. */
static void place_chain(kolk_pool *pool, const kolk_pool_header_ *head, const unsigned char *links) {
    KOLK_ASSERT_(pool->fresh == head->fresh && head->fresh <= pool->capacity);
    bool lowest = pool->reuse == KOLK_REUSE_LOWEST;
    kolk_stretches_ from = kolk_stretches_of_(head);
    uint32_t room = pool_debug_of(pool) ? kolk_quarantine_(pool->debug) : 0, free = 0, slot = head->first - 1;
    uint32_t kept = head->quarantined < room ? head->quarantined : room;
    if (lowest) make_holes(pool);
    for (uint32_t n = 0; n < from.end; n++, slot = kolk_chain_link_(links, slot) - 1) {
        KOLK_ASSERT_(slot < head->fresh);
        if (pool->ages && n >= from.aged) {
            become_newest(pool, slot);
            continue;
        }
        bool worn = n >= from.worn && n < from.quarantined, waits = n >= from.aged - kept;
        if (worn && n == from.worn) pool->worn.first = slot;
        if (worn && n > from.worn) pool->high[pool->worn.last] = slot;
        if (worn) pool->worn.last = slot;
        if (waits) *kolk_quarantined_(pool->debug, pool->quarantined++) = slot;
        if (lowest && (worn || waits)) kolk_levels_clear_(pool->holes, pool->levels, slot);
        if (!lowest && !worn && !waits) pool->stack[free++].index = (kolk_index_)slot;
    }
    pool->worn.count = head->worn;
    bool stacked = pool->reuse == KOLK_REUSE_LIFO && free > 0;
    pool->top = stacked ? pool->stack + free : pool->stack; /* NULL if there are no slots */
    pool->aside = head->fresh - head->live - (uint32_t)(pool->top - pool->stack);
}

/* Restores the state; this cannot fail. The pool keeps its peak. If `fresh` decreases, it can no longer serve as the
 * peak, so the peak is counted from then on. */
static void take_in(kolk_pool *pool, const kolk_pool_header_ *head, const unsigned char *bytes,
                    const kolk_conversion_ *by) {
    kolk_parts_ at = kolk_pool_parts_(head);
    uint32_t peak = peak_of(pool);
    uint32_t fresh = pool->fresh;
    bool fifo = pool->reuse == KOLK_REUSE_FIFO;
    pool->fresh = head->fresh;
    pool->held_back = fifo && head->capacity < pool->capacity ? pool->capacity - head->capacity : 0;
    pool->first = pool->worn.first = pool->worn.last = pool->quarantined = pool->unlisted = 0;
    pool->tick.sweep = 0; /* the tick's sweep starts again */
    if (pool->tick.peak > pool->fresh) pool->tick.peak = pool->fresh;
    pool->ranking = 0;
    if (pool->ages) pool->ages[0] = (kolk_age_){0, 0, 0};
    for (uint32_t i = 0; pool->ages && i < pool->fresh; i++) be_alone(pool, i);
    if (pool->pins) memset(pool->pins, 0, pool->fresh * sizeof *pool->pins);
    load_states(pool, bytes + at.live, bytes + at.generations, fresh);
    place_chain(pool, head, bytes + at.links);
    if (keeps_peak(pool) || peak > pool->fresh) pool->peak = peak > head->live ? peak : head->live;
    show_bounds(pool);
    if (by->convert)
        convert_objects(pool, bytes + at.objects, head->object_size, by);
    else
        load_objects(pool, bytes + at.objects);
}

static kolk_status restore_pool(kolk_pool *pool, const void *block, size_t size, kolk_conversion_ by,
                                const void *site) {
    kolk_pool_header_ head;
    kolk_status status = has_snapshot(pool);
    if (status == KOLK_OK) status = prove(pool, block, size, by.convert != NULL, &head);
    if (status == KOLK_OK) status = grow_to_fit(pool, &head);
    if (status != KOLK_OK) return status;
    const unsigned char *bytes = block;
    if (pool_debug_of(pool) && !change_lives(pool, &head, bytes + sizeof head, site)) return KOLK_NO_MEMORY;
    take_in(pool, &head, bytes, &by);
    return KOLK_OK;
}

KOLK_NOINLINE_ kolk_status kolk_pool_restore(kolk_pool *pool, const void *block, size_t size) {
    return restore_pool(pool, block, size, (kolk_conversion_){.convert = NULL}, SITE);
}

KOLK_NOINLINE_ kolk_status kolk_pool_restore_converted(kolk_pool *pool, const void *block, size_t size,
                                                       void (*convert)(void *object, const void *saved,
                                                                       size_t saved_size, void *context),
                                                       void *context) {
    return restore_pool(pool, block, size, (kolk_conversion_){convert, context}, SITE);
}

/* ---- The hash ---------------------------------------------------------------------------------------------------- */

typedef uint64_t hash_object(const void *object, void *context);

/* The hash of a slot: of its number, its generation, and whether it is alive. */
static uint64_t hash_of_slot(const kolk_pool *pool, uint32_t slot) {
    uint64_t generation = pool->high ? kolk_pool_generation_(pool, slot) : 0;
    return kolk_mixed_((uint64_t)slot << 33 | generation << 1 | kolk_pool_lives_(pool, slot));
}

/* The sum does not depend on the order of the slots. So those that are worn out, and have no generation but a link, are
 * left out by subtraction. */
static uint64_t hash_slots(const kolk_pool *pool, hash_object *hash, void *context) {
    uint64_t sum = 0;
    uint32_t worn = pool->worn.first;
    for (uint32_t slot = 0; slot < pool->fresh; slot++) {
        uint64_t of_slot = hash_of_slot(pool, slot);
        if (!kolk_pool_lives_(pool, slot)) {
            sum += of_slot;
            continue;
        }
        const void *object = pool_slot_at(pool, slot);
        sum += kolk_mixed_(of_slot ^ (hash ? hash(object, context) : kolk_hash_bytes_(object, pool->object_size)));
    }
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = next_worn(pool, worn)) sum -= hash_of_slot(pool, worn);
    return sum;
}

/* The orders, as in the chain of a block, and the capacity, which decides when FIFO uses its never-issued slots. No
 * place may be unlisted. */
static uint64_t hash_orders(const kolk_pool *pool) {
    uint64_t sum = kolk_hash_word_(pool->fresh, pool->reuse == KOLK_REUSE_FIFO ? open_capacity(pool) : 0);
    uint32_t free = pool->reuse == KOLK_REUSE_LOWEST ? 0 : queued(pool), worn = pool->worn.first;
    KOLK_ASSERT_(!pool->unlisted);
    sum = kolk_hash_word_(sum, (uint64_t)pool->worn.count << 32 | pool->quarantined);
    for (uint32_t n = 0; n < free; n++) sum = kolk_hash_word_(sum, queue_at(pool, n)->index);
    for (uint32_t n = 0; n < pool->worn.count; n++, worn = next_worn(pool, worn)) sum = kolk_hash_word_(sum, worn);
    for (uint32_t n = 0; n < pool->quarantined; n++) sum = kolk_hash_word_(sum, *kolk_quarantined_(pool->debug, n));
    for (uint32_t at = 0; pool->ages && (at = pool->ages[at].newer) != 0;)
        if (kolk_pool_lives_(pool, at - 1)) sum = kolk_hash_word_(sum, at - 1);
    return sum;
}

uint64_t kolk_pool_hash(kolk_pool *pool, hash_object *hash, void *context) {
    const kolk_pool_options_ *options;
    if (pool->in_hook) return 0;
    kolk_pool_list_all_(pool);
    pool_look look = begin_calls(pool, &options);
    uint64_t sum = hash_slots(pool, hash, context);
    end_calls(pool, &look, options);
    return kolk_mixed_(sum ^ hash_orders(pool));
}
