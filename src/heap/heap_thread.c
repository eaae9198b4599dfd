/* heap_thread.c: how threads join heaps and leave them.
 *
 * A thread has a record in each heap that it uses: a keeper, and its magazines. It finds the record through an entry of
 * its own (heap_list.c). When a thread ends, the destructor of the process's key returns the thread's slots to all of
 * its heaps that still exist. If the destructor of another key uses a heap afterwards, the thread gets a record again,
 * and the destructor is called again.
 *
 * Records are not freed before the heap ends: the next new thread takes over a free one. For some threads that
 * destructor is not called, and a fork's child does not have the parent's other threads. The records of such threads
 * are emptied and reused too. But only the system knows whether a thread is alive. So dead threads are searched for
 * only when no record is free and there are one and a half times as many records as threads were alive at the last
 * search. Thus a thread's start costs two or three system calls on average, with many threads as with few. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/block.h"
#include "../os/lock.h"
#include "../os/memory.h"
#include "../os/thread.h"

#define RECORD_UNIT 128u /* data that different threads write is this far apart */

void kolk_heap_flush_(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread) {
    for (uint32_t n = 0; n < inside->n_classes; n++) {
        kolk_magazine_ *magazine = thread->magazines[n];
        if (magazine != &kolk_no_magazine_) kolk_store_flush_(&inside->trays[n].store, magazine);
    }
}

/* ---- Records ----------------------------------------------------------------------------------------------------- */

static size_t size_of_magazine(const kolk_heap_tray_ *tray) {
    return (size_t)round_up(sizeof(kolk_magazine_) + tray->cache * sizeof(uint32_t), RECORD_UNIT);
}

static size_t size_of_record(void) {
    return (size_t)round_up(sizeof(kolk_heap_thread_), RECORD_UNIT);
}

size_t kolk_heap_thread_size_(const kolk_heap *heap, const kolk_heap_inside_ *inside) {
    size_t size = size_of_record();
    for (uint32_t n = 0; n < heap->n_classes; n++) size += size_of_magazine(&inside->trays[n]);
    return size;
}

/* Makes a new record, and adds it to the list of keepers. Call this and the next three functions under the keepers'
 * lock. */
static kolk_heap_thread_ *add_thread(kolk_heap_inside_ *inside) {
    kolk_heap_thread_ *thread = (kolk_heap_thread_ *)kolk_memory_take_(inside->thread_size, inside->thread_size);
    if (!thread) return NULL;
    *thread = kolk_no_heap_thread_;
    thread->unused = (uintptr_t)thread + size_of_record();
    kolk_keepers_list_(&inside->keepers, &thread->keeper);
    inside->records++;
    return thread;
}

/* Adds a record that no thread has any longer to the free ones. */
static void free_thread(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread) {
    kolk_keeper_release_(&thread->keeper);
    thread->next_free = inside->free_threads;
    inside->free_threads = thread;
}

static void reclaim_thread(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread) {
    for (uint32_t n = 0; n < inside->n_classes; n++)
        if (thread->magazines[n] != &kolk_no_magazine_)
            kolk_store_reclaim_(&inside->trays[n].store, thread->magazines[n]);
    free_thread(inside, thread);
}

/* Empties the magazines of threads that ended without calling leave_heap. Rebuilds the list of free records, because
 * the fork may have happened while another thread was changing it. */
static void reclaim_threads(kolk_heap_inside_ *inside) {
    uint32_t me = kolk_thread_(), alive = 0;
    inside->records = 0;
    inside->free_threads = NULL;
    for (kolk_keeper_ *keeper = kolk_keepers_first_(&inside->keepers); keeper; keeper = keeper->next) {
        inside->records++;
        if (!keeper->taken)
            free_thread(inside, (kolk_heap_thread_ *)(void *)keeper);
        else if (kolk_keeper_is_dead_(keeper, me, false))
            reclaim_thread(inside, (kolk_heap_thread_ *)(void *)keeper);
        else
            alive++;
    }
    inside->enough_records = alive + alive / 2;
}

bool kolk_heap_reclaim_after_fork_(kolk_heap_inside_ *inside) {
    uint32_t forks = kolk_forks_();
    if (kolk_load_(&inside->forks, KOLK_ACQUIRE_) == forks) return false; /* partner: below */
    kolk_lock_word_(&inside->keepers.lock);
    reclaim_threads(inside);
    kolk_unlock_word_(&inside->keepers.lock);
    kolk_store_(&inside->forks, forks, KOLK_RELEASE_); /* partner: above */
    return true;
}

static kolk_heap_thread_ *take_thread(kolk_heap_inside_ *inside) {
    kolk_heap_reclaim_after_fork_(inside);
    kolk_lock_word_(&inside->keepers.lock);
    if (!inside->free_threads && inside->records >= inside->enough_records) reclaim_threads(inside);
    kolk_heap_thread_ *thread = inside->free_threads;
    if (thread)
        inside->free_threads = thread->next_free;
    else
        thread = add_thread(inside);
    if (thread) kolk_keeper_take_(&thread->keeper);
    kolk_unlock_word_(&inside->keepers.lock);
    return thread;
}

/* ---- Coming and going -------------------------------------------------------------------------------------------- */

kolk_heap_thread_ *kolk_heap_thread_of_(kolk_heap *heap) {
    kolk_near_heap_ *near_heap = &kolk_near_heaps_[heap->place];
    if (near_heap->id == heap->id) return near_heap->thread;
    kolk_near_heap_ *entry = kolk_heaps_entry_(heap->id);
    if (!entry) return NULL;
    if (entry->id == heap->id) {
        *near_heap = *entry;
        return entry->thread;
    }
    kolk_heap_thread_ *thread = take_thread(heap->inside);
    if (!thread) return NULL;
    *near_heap = *entry = (kolk_near_heap_){heap->id, thread};
    kolk_heaps_await_end_(); /* last: setting the key may call malloc, which may be this heap */
    return thread;
}

static void leave_heap(kolk_heap_inside_ *inside, kolk_heap_thread_ *own) {
    KOLK_ASSERT_(own->keeper.taken);
    KOLK_ASSERT_(own->keeper.owner == kolk_thread_());
    kolk_heap_flush_(inside, own);
    kolk_lock_word_(&inside->keepers.lock);
    free_thread(inside, own);
    kolk_unlock_word_(&inside->keepers.lock);
}

static void KOLK_AT_THREADS_END_ leave_all(void *unused) {
    (void)unused;
    if (!kolk_key_ends_late_()) kolk_heaps_leave_(leave_heap);
}

bool kolk_heap_list_(kolk_heap *heap, kolk_heap_inside_ *inside) {
    return kolk_heaps_add_(heap, inside, leave_all);
}

/* In a fork's child, the record may come from a thread that was at any line of this function when the fork happened. */
kolk_magazine_ *kolk_heap_magazine_(kolk_heap_thread_ *thread, const kolk_heap *heap, uint32_t n) {
    kolk_heap_inside_ *inside = heap->inside;
    kolk_magazine_ *magazine = thread->magazines[n];
    if (magazine != &kolk_no_magazine_) return magazine;
    kolk_slot_store_ *store = &inside->trays[n].store;
    magazine = kolk_keeper_magazine_(&thread->keeper, &store->depot); /* a fork's child may find this half done */
    if (!magazine) magazine = kolk_store_add_magazine_(store, &thread->keeper, (void *)thread->unused);
    kolk_store_(&thread->unused, (uintptr_t)magazine + size_of_magazine(&inside->trays[n]),
                KOLK_RELEASE_); /* before the next store */
    for (uint32_t at = 0; at < KOLK_SMALL_SIZES_; at++)
        if (heap->by_size[at] == n) thread->by_size[at] = magazine;
    kolk_raw_store_(&thread->magazines[n], magazine, KOLK_RELEASE_); /* last: by_size is complete then */
    return magazine;
}

void kolk_heap_end_threads_(kolk_heap_inside_ *inside) {
    for (kolk_keeper_ *keeper = kolk_keepers_first_(&inside->keepers); keeper;) {
        kolk_keeper_ *next = keeper->next;
        kolk_memory_release_(keeper, inside->thread_size);
        keeper = next;
    }
}

#endif
