/* ipc.c: a pool of objects between processes: alloc and free. ipc_inside.h lists the other files.
 *
 *     block     | header | processes | queues | hints | lives | rings | slots |      one file, which all of them map
 *     life      | generation | pushes | queued? | owner |                           64 bits for each slot
 *
 * **The life of a slot is all that is true about it.** It says in one word whether the slot is free, and whose object
 * it has. An alloc changes it from free to owned, a free back, a push from owned to queued, and a pop from queued to
 * owned: each by one compare-and-exchange, which is the moment when it takes effect. So there is no moment at which a
 * process could die and leave a slot that is neither free nor somebody's. Everything else in the block is a hint, or is
 * completed by the next who meets it:
 *
 *     hints     a bit for a slot that is probably free (slot_set.h). A bit too many costs an alloc a vain attempt; one
 *               too few, a search through all lives. A thread keeps the hints of two words to itself: one from which it
 *               allocates, one into which it frees. If it ends, they are just gone (ipc_hints.c).
 *     rings     the queues' entries, which ipc_queue.c explains
 *     records   which process has which number, for people
 *
 * So recovery is two walks: one over the queues, whose objects the dead owner loses to them, and one over all lives,
 * where its number still stands (ipc_recover.c). It can be done at any time, again, and half.
 *
 * What was tried instead: a free list, or bits that are the truth, need a record of what each thread is about to take,
 * written before each exchange and cleared after it, a lock for recovery, and a proof for each step between the two. A
 * life in one plain store, as in shared.h, needs a magazine in the block whose slots nobody else may use.
 *
 * Invariants (kolk_ipc_is_valid looks at all but the last, while nobody is inside a call):
 *     I1  a free slot has no owner, no pushes and is not queued; an owner is 0 or at most max_processes
 *     I2  each queue has a head that is not behind its tail, at most queue_capacity entries, and empty cells around it
 *     I3  a slot is queued if and only if exactly one ring has it
 *     I4  hints are of slots, and the summary has a bit for each word that has hints
 *     I5  no slot behind the words that were noted as used has had a life
 *     I6  while `search` is odd, each free slot has a hint, or is among those that a thread keeps to itself */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../core/begin.h"
#include "../core/fail.h"

/* ---- Alloc and free ---------------------------------------------------------------------------------------------- */

/* Begins a life in a slot that is free. */
static void *begin_life(const kolk_ipc *pool, uint32_t slot, uint32_t me) {
    uint64_t life = life_at(pool, slot);
    if (has_live_object(life) || !change_life(pool, slot, life, next_life(life, me))) return NULL;
    return object_at(pool, slot);
}

/* Tries slots that have hints. Gives up when it has found no hint `looks` times, or when *vain is 0: each hint of a
 * slot that is not free after all takes one from it. */
static void *alloc_hinted(const kolk_ipc *pool, uint32_t me, uint32_t looks, uint32_t *vain) {
    while (looks && *vain) {
        uint32_t slot = kolk_ipc_next_hint_(pool);
        if (slot == KOLK_NO_SLOT_) {
            looks--;
            continue;
        }
        void *object = begin_life(pool, slot, me);
        if (object) return object;
        --*vain;
    }
    return NULL;
}

/* Others may take each slot that becomes free while this thread searches all slots. So it looks for their hints many
 * times before it searches again, and gives up when it has searched some 2^26 slots in vain. */
static void *try_alloc(kolk_ipc *pool, uint32_t me) {
    uint32_t vain = IPC_MOST_ROUNDS + pool->capacity, searches = 16 + (1u << 26) / (pool->capacity + (1u << 16));
    void *object = alloc_hinted(pool, me, 1, &vain);
    for (; !object && vain && searches && kolk_ipc_search_(pool); searches--)
        object = alloc_hinted(pool, me, IPC_LOOKS, &vain);
    if (!vain) note_corruption(pool);
    return object;
}

/* Is the call possible? Sets *me to the number of this process. */
static bool may_change(kolk_ipc *pool, uint32_t *me, const char *verb, const void *site) {
    *me = number_here(pool);
    if (*me) return true;
    if (pool->read_only) kolk_ipc_fail_read_only_(pool, verb, site);
    return false;
}

#define LOOK_AGAIN_NS INT64_C(1000000) /* between two looks for dead processes, when allocs fail */

static void *alloc_or_look(kolk_ipc *pool, uint32_t me) {
    void *object = try_alloc(pool, me);
    return object || !kolk_ipc_look_for_dead_(pool, LOOK_AGAIN_NS) ? object : try_alloc(pool, me);
}

static void *fail_alloc(kolk_ipc *pool, const void *site) {
    kolk_fetch_add_(&pool->failed, 1, KOLK_RELAXED_);
    if (pool->trap_full) kolk_ipc_fail_full_(pool, site);
    return NULL;
}

KOLK_NOINLINE_ void *kolk_ipc_alloc(kolk_ipc *pool) {
    uint32_t me;
    if (!may_change(pool, &me, "alloc", SITE)) return NULL;
    void *object = alloc_or_look(pool, me);
    return KOLK_UNLIKELY_(!object) ? fail_alloc(pool, SITE) : object;
}

KOLK_NOINLINE_ void *kolk_ipc_alloc_wait(kolk_ipc *pool, kolk_deadline deadline) {
    uint32_t me;
    if (!may_change(pool, &me, "alloc_wait", SITE)) return NULL;
    ipc_wait wait = {.deadline = deadline};
    ipc_event *free = &pool->block->free;
    void *object;
    do object = alloc_or_look(pool, me);
    while (!object && kolk_ipc_wait_(pool, free, &wait));
    if (kolk_ipc_end_wait_(pool, free, &wait) && object) kolk_ipc_call_(free, 1);
    return object ? object : fail_alloc(pool, SITE);
}

KOLK_NOINLINE_ void kolk_ipc_free(kolk_ipc *pool, void *object) {
    uint32_t me;
    if (!object || !may_change(pool, &me, "free", SITE)) return;
    uint32_t slot = slot_of(pool, object);
    uint64_t life = slot != KOLK_NO_SLOT_ ? life_at(pool, slot) : 0;
    bool owned = has_live_object(life) && !(life & IPC_QUEUED) && life_owner(life) == me;
    if (KOLK_UNLIKELY_(!owned || !change_life(pool, slot, life, next_life(life, 0)))) {
        kolk_ipc_fail_object_(pool, object, "free", SITE);
        return;
    }
    kolk_ipc_keep_hint_(pool, slot);
}

#endif
