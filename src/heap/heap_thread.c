/* heap_thread.c: threads come to heaps, and go.
 *
 * A thread has a record in each heap that it uses: a member, and its magazines. It finds the record by a few entries of
 * its own, one for each of the heaps that it has used last, and otherwise among the heap's members. When a thread ends,
 * the key of the process tells it to give back what it has, in all heaps that are listed. A destructor of another key
 * may still use a heap afterwards: then the thread gets a record again, and is told again.
 *
 * Records are never freed before the heap: the next thread that comes takes one. Those of threads that ended without
 * being told, and those of other threads in a fork's child, are emptied before a new one is made. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../core/assert.h"
#include "../core/room.h"
#include "../os/key.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/thread.h"

#define RECORD_UNIT 128u /* what different threads write is so far apart */

static kolk_magazine no_magazine; /* has no slot, and every free leaves the fast path */

#define EIGHT(x) x, x, x, x, x, x, x, x
kolk_heap_thread kolk_no_heap_thread = {.magazines = {EIGHT(EIGHT(&no_magazine)), &no_magazine}};

#define NO_HEAP                                                                                                        \
    { 0, &kolk_no_heap_thread }
_Thread_local kolk_near_heap kolk_near_heaps[KOLK_NEAR_HEAPS] = {EIGHT(NO_HEAP)};

/* ---- The process's heaps ----------------------------------------------------------------------------------------- */

static kolk_heap_inside *heaps; /* all that are listed */
static uint32_t heaps_lock;
static uintptr_t key; /* of the threads' ends, + 1 */

void kolk_heap_flush(kolk_heap_inside *inside, kolk_heap_thread *thread) {
    for (uint32_t n = 0; n < inside->heap->n_classes; n++) {
        kolk_local local = {.magazine = thread->magazines[n], .pool = &inside->trays[n].pool};
        if (local.magazine != &no_magazine) kolk_local_flush(&local);
    }
}

static kolk_heap_thread *find_thread(const kolk_heap_inside *inside) {
    uint32_t me = kolk_thread();
    kolk_member *member = kolk_members_first(&inside->members);
    while (member && !kolk_member_is_of(member, me)) member = member->next;
    return (kolk_heap_thread *)(void *)member;
}

static void KOLK_AT_THREADS_END leave_all(void *unused) {
    (void)unused;
    for (unsigned n = 0; n < KOLK_NEAR_HEAPS; n++) kolk_near_heaps[n] = (kolk_near_heap)NO_HEAP;
    kolk_lock_word(&heaps_lock);
    for (kolk_heap_inside *inside = heaps; inside; inside = inside->next) {
        kolk_heap_thread *own = find_thread(inside);
        if (!own) continue;
        kolk_heap_flush(inside, own);
        kolk_members_give(&inside->members, &own->member);
    }
    kolk_unlock_word(&heaps_lock);
}

bool kolk_heap_list(kolk_heap_inside *inside) {
    kolk_lock_word(&heaps_lock);
    uintptr_t made;
    if (!key && kolk_key_make(&made, leave_all)) kolk_store(&key, made + 1, KOLK_RELAXED);
    inside->next = heaps;
    if (key) heaps = inside;
    bool listed = key;
    kolk_unlock_word(&heaps_lock);
    return listed;
}

void kolk_heap_unlist(kolk_heap_inside *inside) {
    kolk_lock_word(&heaps_lock);
    kolk_heap_inside **at = &heaps;
    while (*at != inside) at = &(*at)->next;
    *at = inside->next;
    kolk_unlock_word(&heaps_lock);
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static size_t size_of_magazine(const kolk_heap_tray *tray) {
    return (size_t)round_up(sizeof(kolk_magazine) + tray->cache * sizeof(uint32_t), RECORD_UNIT);
}

static size_t size_of_record(void) {
    return (size_t)round_up(sizeof(kolk_heap_thread), RECORD_UNIT);
}

size_t kolk_heap_thread_size(const kolk_heap *heap, const kolk_heap_inside *inside) {
    size_t size = size_of_record();
    for (uint32_t n = 0; n < heap->n_classes; n++) size += size_of_magazine(&inside->trays[n]);
    return size;
}

static kolk_member *make_thread(void *context, uint32_t n) {
    const kolk_heap_inside *inside = (const kolk_heap_inside *)context;
    (void)n;
    kolk_heap_thread *thread = (kolk_heap_thread *)kolk_memory_take(inside->thread_size, inside->thread_size);
    if (!thread) return NULL;
    thread->room = (uintptr_t)thread + size_of_record();
    for (uint32_t c = 0; c <= KOLK_HEAP_CLASSES; c++) thread->magazines[c] = &no_magazine;
    return &thread->member;
}

/* Empties the magazines of threads that have ended without being told. */
static void reclaim_threads(kolk_heap_inside *inside) {
    uint32_t me = kolk_thread();
    kolk_lock_word(&inside->members.lock);
    for (kolk_member *member = kolk_members_first(&inside->members); member; member = member->next) {
        if (!kolk_member_is_dead(member, me, false)) continue;
        kolk_heap_thread *thread = (kolk_heap_thread *)(void *)member;
        for (uint32_t n = 0; n < inside->heap->n_classes; n++)
            if (thread->magazines[n] != &no_magazine)
                kolk_shared_reclaim_magazine(&inside->trays[n].pool, thread->magazines[n]);
        kolk_store(&member->taken, false, KOLK_RELAXED);
    }
    kolk_unlock_word(&inside->members.lock);
}

bool kolk_heap_reclaim_after_fork(kolk_heap_inside *inside) {
    uint32_t forks = kolk_forks();
    if (kolk_load(&inside->forks, KOLK_ACQUIRE) == forks) return false; /* partner: below */
    reclaim_threads(inside);
    kolk_store(&inside->forks, forks, KOLK_RELEASE); /* partner: above */
    return true;
}

static kolk_member *refuse_thread(void *context, uint32_t n) {
    (void)context, (void)n;
    return NULL;
}

static kolk_member *take_member(kolk_heap_inside *inside) {
    kolk_member *member = kolk_members_take(&inside->members, refuse_thread, NULL);
    if (member) return member;
    reclaim_threads(inside);
    return kolk_members_take(&inside->members, make_thread, inside);
}

kolk_heap_thread *kolk_heap_thread_of(kolk_heap *heap) {
    kolk_near_heap *near_heap = &kolk_near_heaps[heap->place];
    if (near_heap->id == heap->id) return near_heap->thread;
    kolk_heap_thread *thread = find_thread(heap->inside);
    if (thread) {
        *near_heap = (kolk_near_heap){heap->id, thread};
        return thread;
    }
    thread = (kolk_heap_thread *)(void *)take_member(heap->inside);
    if (!thread) return NULL;
    thread->asks = false;                            /* the last one may have ended in on_full */
    *near_heap = (kolk_near_heap){heap->id, thread}; /* first: the key's value may come from malloc, which may be us */
    kolk_key_set(key - 1, near_heap);
    return thread;
}

/* In a fork's child, the record may be that of a thread that was just here, in any of these lines. */
kolk_magazine *kolk_heap_magazine(kolk_heap_thread *thread, kolk_heap_inside *inside, uint32_t n) {
    kolk_magazine *magazine = thread->magazines[n];
    if (magazine != &no_magazine) return magazine;
    kolk_shared *pool = &inside->trays[n].pool;
    magazine = kolk_member_magazine(&thread->member, &pool->depot); /* a fork's child may find it half done */
    if (!magazine) magazine = kolk_shared_add_magazine(pool, &thread->member, (void *)thread->room);
    kolk_store(&thread->room, (uintptr_t)magazine + size_of_magazine(&inside->trays[n]),
               KOLK_RELEASE); /* in this order */
    thread->magazines[n] = magazine;
    return magazine;
}

void kolk_heap_end_threads(kolk_heap_inside *inside) {
    for (kolk_member *member = kolk_members_first(&inside->members); member;) {
        kolk_member *next = member->next;
        kolk_memory_release(member, inside->thread_size);
        member = next;
    }
}

#endif
