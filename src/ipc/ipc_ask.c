/* ipc_ask.c: questions about the objects of a pool between processes, reports, statistics, and the invariants. All of
 * it works in a process that may only read. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../core/begin.h"
#include "../core/fail.h"
#include "../core/handle.h"
#include "../core/stale.h"
#include "../core/tools.h"
#include "../os/between.h"
#include "../os/memory.h"

#include <string.h>

/* ---- Reports ----------------------------------------------------------------------------------------------------- */

static kolk_failure ipc_failure(const kolk_ipc *pool, kolk_status rule, uint32_t slot, const void *site) {
    return (kolk_failure){
        .rule = rule, .pool = pool->name ? pool->name : "", .slot = slot, .site = site, .no_debug = true};
}

void kolk_ipc_fail_read_only_(const kolk_ipc *pool, const char *verb, const void *site) {
    kolk_fail_(ipc_failure(pool, KOLK_READ_ONLY, KOLK_NO_SLOT_, site), "%s in a pool that may only be read", verb);
}

void kolk_ipc_fail_queue_(const kolk_ipc *pool, uint32_t queue, const char *verb, const void *site) {
    kolk_fail_(ipc_failure(pool, KOLK_NO_QUEUE, KOLK_NO_SLOT_, site), "%s: there is no queue %u among %u", verb,
               (uint64_t)queue, (uint64_t)pool->queues);
}

/* What another process wrote may be any number. */
static ipc_process process_of(const kolk_ipc *pool, uint32_t n) {
    ipc_process copy = {.pid = 0};
    if (n == 0 || n > pool->max_processes) return copy;
    memcpy(&copy, (const unsigned char *)pool->block + IPC_HEADER + n * sizeof copy, sizeof copy);
    copy.name[sizeof copy.name - 1] = 0;
    for (char *at = copy.name; *at; at++)
        if (*at < 0x20 || *at > 0x7e) *at = '?';
    return copy;
}

static void fail_not_owner(const kolk_ipc *pool, kolk_failure failure, const char *verb) {
    uint64_t life = life_at(pool, failure.slot), slot = failure.slot;
    ipc_process owner = process_of(pool, life_owner(life));
    failure.rule = KOLK_NOT_OWNER;
    if (!has_live_object(life))
        kolk_fail_(failure, "%s of slot %u, which is free", verb, slot);
    else if (life & IPC_QUEUED)
        kolk_fail_(failure, "%s of slot %u, which is in a queue", verb, slot);
    else if (life_owner(life) == 0)
        kolk_fail_(failure, "%s of slot %u, an orphan that nobody has adopted", verb, slot);
    else if (life_owner(life) == number_so_far(pool))
        kolk_fail_(failure, "%s of slot %u, which two threads free or push at the same time", verb, slot);
    else
        kolk_fail_(failure, "%s of slot %u, which belongs to process %u (%s)", verb, slot, (uint64_t)owner.pid,
                   owner.name);
}

void kolk_ipc_fail_object_(const kolk_ipc *pool, const void *object, const char *verb, const void *site) {
    uint64_t inside = 0;
    uint32_t slot = kolk_locate_(pool->slots, pool->stride, pool->capacity, object, &inside);
    kolk_failure failure = ipc_failure(pool, KOLK_DEAD_OBJECT, slot, site);
    failure.object = object;
    if (slot != KOLK_NO_SLOT_ && inside == 0)
        fail_not_owner(pool, failure, verb);
    else
        kolk_fail_object_(failure, verb, "slot", inside);
}

/* ---- Holders ----------------------------------------------------------------------------------------------------- */

static bool holds_more(const kolk_ipc_holder *a, const kolk_ipc_holder *b) {
    return a->count != b->count ? a->count > b->count : a->queued > b->queued;
}

/* What a process holds: objects that it owns, and objects that it has pushed. */
typedef struct ipc_held {
    uint32_t owned, queued;
} ipc_held;

static void count_held(const kolk_ipc *pool, ipc_held *held) {
    uint32_t end = used_slots(pool);
    for (uint32_t slot = 0; slot < end; slot++) {
        uint64_t life = life_at(pool, slot);
        if (!has_live_object(life) || life_owner(life) > pool->max_processes) continue;
        if (life & IPC_QUEUED)
            held[life_owner(life)].queued++;
        else
            held[life_owner(life)].owned++;
    }
}

/* Returns false if there is no such process, or if nothing belongs to no process (n = 0). */
static bool is_holder(const kolk_ipc *pool, uint32_t n, const ipc_held *held, kolk_ipc_holder *out) {
    ipc_process process = process_of(pool, n);
    *out = (kolk_ipc_holder){.number = n, .pid = process.pid, .count = held[n].owned, .queued = held[n].queued};
    memcpy(out->name, process.name, sizeof out->name);
    return n ? process.used : out->count || out->queued;
}

/* Keeps the n greatest, in order. */
static void insert_holder(kolk_ipc_holder *holders, uint32_t have, uint32_t n, const kolk_ipc_holder *one) {
    uint32_t at = have < n ? have : n;
    for (; at > 0 && holds_more(one, &holders[at - 1]); at--)
        if (at < n) holders[at] = holders[at - 1];
    if (at < n) holders[at] = *one;
}

uint32_t kolk_ipc_holders(const kolk_ipc *pool, kolk_ipc_holder *holders, uint32_t n) {
    size_t size = (size_t)(pool->max_processes + 1) * sizeof(ipc_held);
    ipc_held *held = pool->block ? (ipc_held *)kolk_memory_take_(size, size) : NULL; /* reads as 0 */
    uint32_t count = 0;
    if (!held) return 0;
    count_held(pool, held);
    for (uint32_t each = 0; each <= pool->max_processes; each++) {
        kolk_ipc_holder one;
        if (is_holder(pool, each, held, &one)) insert_holder(holders, count++, n, &one);
    }
    kolk_memory_release_(held, size);
    return count;
}

void kolk_ipc_fail_full_(const kolk_ipc *pool, const void *site) {
    kolk_ipc_holder most = {.number = 0};
    kolk_failure failure = ipc_failure(pool, KOLK_FULL, KOLK_NO_SLOT_, site);
    if (!kolk_ipc_holders(pool, &most, 1) || !most.number)
        kolk_fail_(failure, "alloc, but all %u objects are in queues, or orphans", (uint64_t)pool->capacity);
    else
        kolk_fail_(failure, "alloc, but all %u objects are alive: process %u (%s) holds %u, and %u more wait in queues",
                   (uint64_t)pool->capacity, (uint64_t)most.pid, most.name, (uint64_t)most.count,
                   (uint64_t)most.queued);
}

/* ---- Handles and questions --------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ kolk_handle kolk_ipc_handle_of(const kolk_ipc *pool, const void *object) {
    uint32_t slot = slot_of(pool, object);
    uint64_t life = slot != KOLK_NO_SLOT_ ? life_at(pool, slot) : 0;
    if (has_live_object(life)) return kolk_handle_make_(generation_of(life), slot, pool->tag);
    kolk_ipc_fail_object_(pool, object, "handle", SITE);
    return (kolk_handle){0};
}

KOLK_NOINLINE_ void *kolk_ipc_get(const kolk_ipc *pool, kolk_handle handle) {
    uint32_t slot = kolk_handle_index_(handle, pool->tag), generation = kolk_handle_generation_(handle);
    if (slot < pool->capacity && (generation & 1) && generation_of(life_at(pool, slot)) == generation)
        return object_at(pool, slot);
    if (kolk_note_stale_(&pool->name, handle) && kolk_handle_is_foreign_(handle, pool->tag, pool->capacity))
        kolk_note_foreign_(&pool->wrong_pool, false);
    return NULL;
}

bool kolk_ipc_is_live(const kolk_ipc *pool, const void *object) {
    uint32_t slot = slot_of(pool, object);
    return slot != KOLK_NO_SLOT_ && has_live_object(life_at(pool, slot));
}

bool kolk_ipc_is_owned(const kolk_ipc *pool, const void *object) {
    uint32_t me = pool->block ? number_so_far(pool) : 0, slot = slot_of(pool, object);
    uint64_t life = me && slot != KOLK_NO_SLOT_ ? life_at(pool, slot) : 0;
    return has_live_object(life) && !(life & IPC_QUEUED) && life_owner(life) == me;
}

kolk_ipc_cursor kolk_ipc_each(const kolk_ipc *pool) {
    return (kolk_ipc_cursor){pool, 0, used_slots(pool), true};
}

void *kolk_ipc_cursor_next(kolk_ipc_cursor *cursor) {
    const kolk_ipc *pool = cursor->pool;
    while (cursor->slot < cursor->end) {
        uint32_t slot = cursor->slot++;
        if (has_live_object(life_at(pool, slot))) return object_at(pool, slot);
    }
    return NULL;
}

/* Counts the lives that go on, and those slots that had any. */
static uint32_t count_lives(const kolk_ipc *pool, uint32_t *used) {
    uint32_t count = 0, end = used_slots(pool);
    *used = 0;
    for (uint32_t slot = 0; slot < end; slot++) {
        uint64_t life = life_at(pool, slot);
        count += has_live_object(life);
        *used += life != 0;
    }
    return count;
}

uint32_t kolk_ipc_count(const kolk_ipc *pool) {
    uint32_t used;
    return count_lives(pool, &used);
}

void kolk_ipc_stats(const kolk_ipc *pool, kolk_stats *out) {
    uint32_t used, count = count_lives(pool, &used);
    *out = (kolk_stats){
        .name = pool->name ? pool->name : "",
        .kind = "ipc",
        .object_size = pool->object_size,
        .stride = pool->stride,
        .count = count,
        .peak = used,
        .capacity = pool->capacity,
        .max_capacity = pool->capacity,
        .unused_bytes = (uint64_t)(pool->capacity - used) * pool->stride,
        .bytes_reserved = pool->size,
        .bytes_committed = pool->size,
        .failed = kolk_load_(&pool->failed, KOLK_RELAXED_),
        .waits = kolk_load_(&pool->waits, KOLK_RELAXED_),
        .wrong_pool = kolk_load_(&pool->wrong_pool, KOLK_RELAXED_),
        .waiting = kolk_load_(&pool->waiting, KOLK_RELAXED_),
    };
    kolk_tools_wrote_(out, sizeof *out);
}

/* ---- Invariants, which ipc.c lists ------------------------------------------------------------------------------- */

static bool is_life_valid(const kolk_ipc *pool, uint64_t life) {
    if (!has_live_object(life)) return (uint32_t)life == 0;
    return life_owner(life) <= pool->max_processes;
}

static bool are_hints_valid(const kolk_ipc *pool) {
    kolk_slot_set_ hints = hints_of(pool);
    for (uint32_t word = 0; word < kolk_bits_words_(pool->capacity); word++) {
        uint64_t bits = *kolk_slot_set_word_(&hints, word);
        if (bits & ~bits_in_word(pool, word)) return false;
        if (bits && !(*kolk_slot_set_summary_(&hints, word) & kolk_bits_at_(word))) return false;
    }
    return true;
}

/* A queued slot without a mark is in no ring. */
static bool are_lives_valid(const kolk_ipc *pool, const uint64_t *marks) {
    for (uint32_t slot = 0; slot < pool->capacity; slot++) {
        uint64_t life = life_at(pool, slot);
        if (!is_life_valid(pool, life)) return false;
        if (life != 0 && slot >= used_slots(pool)) return false;
        if ((life & IPC_QUEUED) && !(marks[slot / 64] & kolk_bits_at_(slot))) return false;
    }
    return true;
}

bool kolk_ipc_is_valid(const kolk_ipc *pool) {
    if (!pool->block) return !pool->slots && !pool->capacity;
    size_t size = (size_t)kolk_bits_words_(pool->capacity) * sizeof(uint64_t);
    uint64_t *marks = (uint64_t *)kolk_memory_take_(size, size); /* of slots that are in a ring; read as 0 */
    bool valid = marks && are_hints_valid(pool);                 /* I4 */
    for (uint32_t n = 0; valid && n < pool->queues; n++)
        valid = kolk_ipc_is_ring_valid_(pool, &pool->queues_at[n], marks); /* I2, I3 */
    valid = valid && are_lives_valid(pool, marks);                         /* I1, I3, I5 */
    if (marks) kolk_memory_release_(marks, size);
    return valid;
}

#endif
