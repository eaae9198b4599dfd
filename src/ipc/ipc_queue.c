/* ipc_queue.c: push, pop and close. ipc_ring.c has the rings. */
#include "ipc_inside.h"

#if KOLK_HOSTED

#include "../core/begin.h"

/* Returns the queue, if this process may change it; NULL, after a report, if there is none. */
static ipc_queue *numbered_queue(kolk_ipc *pool, uint32_t number, uint32_t *me, const char *verb, const void *site) {
    *me = number_here(pool);
    if (!*me) {
        if (pool->read_only) kolk_ipc_fail_read_only_(pool, verb, site);
        return NULL;
    }
    if (number < pool->queues) return &pool->queues_at[number];
    kolk_ipc_fail_queue_(pool, number, verb, site);
    return NULL;
}

/* ---- Push -------------------------------------------------------------------------------------------------------- */

/* The object is not in the ring: takes it back. */
static void take_back(const kolk_ipc *pool, uint32_t slot, uint32_t me) {
    uint64_t life = life_at(pool, slot);
    change_life(pool, slot, life, owned_life(life, me));
}

static kolk_status try_push(const kolk_ipc *pool, ipc_queue *in, uint32_t slot, uint32_t me) {
    uint64_t life = life_at(pool, slot), pushes = (life + IPC_ONE_PUSH) & IPC_PUSHES;
    if (!has_live_object(life) || (life & IPC_QUEUED) || life_owner(life) != me) return KOLK_NOT_OWNER;
    uint64_t queued = (life & ~IPC_PUSHES) | pushes | IPC_QUEUED;
    if (!change_life(pool, slot, life, queued)) return KOLK_NOT_OWNER;
    kolk_status status = kolk_ipc_put_(pool, in, slot);
    if (status != KOLK_OK) take_back(pool, slot, me);
    return status;
}

KOLK_NOINLINE_ kolk_status kolk_ipc_push(kolk_ipc *pool, uint32_t number, void *object, kolk_deadline deadline) {
    uint32_t me, slot = slot_of(pool, object);
    ipc_queue *in = numbered_queue(pool, number, &me, "push", SITE);
    if (!in) return me ? KOLK_NO_QUEUE : kolk_ipc_status(pool);
    ipc_wait wait = {.deadline = deadline};
    kolk_status status;
    do status = slot == KOLK_NO_SLOT_ ? KOLK_NOT_OWNER : try_push(pool, in, slot, me);
    while (status == KOLK_FULL && (look_while_waiting(pool, &wait), kolk_ipc_wait_(pool, &in->room, &wait)));
    if (kolk_ipc_end_wait_(pool, &in->room, &wait) && kolk_ipc_entries_(pool, in) < pool->queue_capacity)
        kolk_ipc_call_(&in->room, 1);
    if (status == KOLK_OK) call_one(&in->items);
    if (status == KOLK_NOT_OWNER) kolk_ipc_fail_object_(pool, object, "push", SITE);
    if (status != KOLK_FULL || deadline.ns <= 0) return status;
    return is_corrupt(pool) ? KOLK_CORRUPT : KOLK_TIMEOUT;
}

/* ---- Pop --------------------------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ void *kolk_ipc_pop(kolk_ipc *pool, uint32_t number, kolk_deadline deadline) {
    uint32_t me, slot = 0;
    ipc_queue *in = numbered_queue(pool, number, &me, "pop", SITE);
    if (!in) return NULL;
    ipc_wait wait = {.deadline = deadline};
    kolk_status status;
    do status = kolk_ipc_take_(pool, in, me, &slot);
    while (status == KOLK_EMPTY && (look_while_waiting(pool, &wait), kolk_ipc_wait_(pool, &in->items, &wait)));
    if (kolk_ipc_end_wait_(pool, &in->items, &wait) && kolk_ipc_entries_(pool, in)) kolk_ipc_call_(&in->items, 1);
    if (status != KOLK_OK) return NULL;
    call_one(&in->room);
    return object_at(pool, slot);
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ void kolk_ipc_close(kolk_ipc *pool, uint32_t number) {
    uint32_t me;
    ipc_queue *in = numbered_queue(pool, number, &me, "close", SITE);
    if (!in) return;
    kolk_ipc_mark_end_(pool, in);
    kolk_ipc_call_(&in->items, UINT32_MAX);
    kolk_ipc_call_(&in->room, UINT32_MAX);
}

bool kolk_ipc_is_closed(const kolk_ipc *pool, uint32_t number) {
    return number < pool->queues && kolk_ipc_is_at_end_(pool, &pool->queues_at[number]);
}

uint32_t kolk_ipc_queued(const kolk_ipc *pool, uint32_t number) {
    return number < pool->queues ? kolk_ipc_entries_(pool, &pool->queues_at[number]) : 0;
}

#endif
