/* heap_list.c: the process's heaps, and the heaps that each thread uses.
 *
 *     rows              | 0: none | heap | heap | (free) | heap | ...    of the process; an id ends in its row
 *     kolk_near_heaps_   | 8, 16, ... | 1, 9, ... | ... | 7, 15, ... |   of each thread, for the fast paths
 *     far heaps         | by row: ................................ |     of a thread that uses a row beyond 8
 *
 * A heap keeps its row until it ends. Then another heap may get the row, but never the id. So a thread need not be
 * notified when a heap ends, because an entry with an old id matches no heap. As long as a thread uses no row beyond 8,
 * no two of its heaps share a place, so its near heaps list all heaps that it has used. Once it uses such a row, its
 * far heaps list them. So finding a thread's record takes as long with many threads and heaps as with few.
 *
 * When the last heap ends, everything here is freed: the key, so that a thread that ends later does not call code that
 * may be unloaded by then; and all far heaps, even those of running threads. The era counts how often this has
 * happened. If a thread has a different era, its far heaps are gone.
 *
 * A fork may interrupt another thread at any line of this file. The child may lose a row or far heaps, but nothing
 * else. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../os/lock.h"
#include "../os/memory.h"

#include <string.h>

#define ROW_BITS   20u /* the low bits of an id */
#define ROWS       (1u << ROW_BITS)
#define FIRST_ROWS 16u
#define FAR_BYTES  4096u /* size of the smallest far heaps */
#define EIGHT(x)   x, x, x, x, x, x, x, x

kolk_magazine_ kolk_no_magazine_; /* has no slot, and every free leaves the fast path */
#define NO_MAGAZINES                                                                                                   \
    { EIGHT(EIGHT(&kolk_no_magazine_)), &kolk_no_magazine_ }
kolk_heap_thread_ kolk_no_heap_thread_ = {.magazines = NO_MAGAZINES, .by_size = NO_MAGAZINES};

#define NO_HEAP                                                                                                        \
    { 0, &kolk_no_heap_thread_ }
KOLK_THREAD_LOCAL_ kolk_near_heap_ kolk_near_heaps_[KOLK_NEAR_HEAPS_] = {EIGHT(NO_HEAP)};

static uint32_t row_of(uint64_t id) {
    return (uint32_t)(id % ROWS);
}

/* ---- Far heaps --------------------------------------------------------------------------------------------------- */

typedef struct far_heaps {
    struct far_heaps *next;      /* in the list of all far heaps */
    struct far_heaps *next_free; /* in the list of far heaps of this size that no thread has */
    unsigned doublings;          /* the size is FAR_BYTES << doublings */
    kolk_near_heap_ heaps[];     /* by row */
} far_heaps;

static struct {
    uint32_t lock; /* protects `all` and `unused` */
    far_heaps *all;
    far_heaps *unused[ROW_BITS];
    uint32_t era; /* counts the ends of the process's last heap */
} far_pages;

static KOLK_NEAR_THREAD_LOCAL_ struct {
    far_heaps *heaps;
    uint32_t era;
} own_far;

static size_t far_size(unsigned doublings) {
    return (size_t)FAR_BYTES << doublings;
}

static uint32_t far_rows(const far_heaps *page) {
    return (uint32_t)((far_size(page->doublings) - sizeof *page) / sizeof page->heaps[0]);
}

static far_heaps *take_far(unsigned doublings) {
    kolk_lock_word_(&far_pages.lock);
    far_heaps *page = far_pages.unused[doublings];
    if (page) {
        far_pages.unused[doublings] = page->next_free;
        memset(page->heaps, 0, far_size(doublings) - sizeof *page);
    } else if ((page = (far_heaps *)kolk_memory_take_(far_size(doublings), far_size(doublings)))) {
        page->doublings = doublings;
        page->next = far_pages.all;
        far_pages.all = page;
    }
    kolk_unlock_word_(&far_pages.lock);
    return page;
}

static void give_far(far_heaps *page) {
    kolk_lock_word_(&far_pages.lock);
    page->next_free = far_pages.unused[page->doublings];
    far_pages.unused[page->doublings] = page;
    kolk_unlock_word_(&far_pages.lock);
}

static void release_all_far(void) {
    kolk_lock_word_(&far_pages.lock);
    far_heaps *page = far_pages.all;
    far_pages.all = NULL;
    memset(far_pages.unused, 0, sizeof far_pages.unused);
    far_pages.era++;
    kolk_unlock_word_(&far_pages.lock);
    while (page) {
        far_heaps *next = page->next;
        kolk_memory_release_(page, far_size(page->doublings));
        page = next;
    }
}

/* The calling thread's far heaps; NULL: its near heaps list all heaps that it has used. */
static far_heaps *my_far(void) {
    return own_far.era == far_pages.era ? own_far.heaps : NULL;
}

/* Replaces the thread's far heaps with larger ones that include this row. NULL: there is no memory, and nothing has
 * changed. */
static far_heaps *widen_far(far_heaps *old, uint32_t row) {
    unsigned doublings = 0;
    while ((far_size(doublings) - sizeof *old) / sizeof old->heaps[0] <= row) doublings++;
    far_heaps *page = take_far(doublings);
    if (!page) return NULL;
    KOLK_ASSERT_(row < far_rows(page));
    if (old) memcpy(page->heaps, old->heaps, far_rows(old) * sizeof old->heaps[0]);
    for (uint32_t n = 0; n < KOLK_NEAR_HEAPS_ && !old; n++)
        if (row_of(kolk_near_heaps_[n].id) <= KOLK_NEAR_HEAPS_)
            page->heaps[row_of(kolk_near_heaps_[n].id)] = kolk_near_heaps_[n];
    own_far.heaps = page;
    own_far.era = far_pages.era;
    if (old) give_far(old);
    return page;
}

/* The thread's entry of this row; NULL: it has none yet. */
static kolk_near_heap_ *my_entry(uint32_t row) {
    far_heaps *page = my_far();
    if (!page) return row <= KOLK_NEAR_HEAPS_ ? &kolk_near_heaps_[row % KOLK_NEAR_HEAPS_] : NULL;
    return row < far_rows(page) ? &page->heaps[row] : NULL;
}

kolk_near_heap_ *kolk_heaps_entry_(uint64_t id) {
    uint32_t row = row_of(id);
    KOLK_ASSERT_(row > 0);
    kolk_near_heap_ *entry = my_entry(row);
    return entry || !widen_far(my_far(), row) ? entry : my_entry(row);
}

/* ---- All heaps --------------------------------------------------------------------------------------------------- */

typedef struct heap_row {
    uint64_t id;      /* of the current heap, or of the last one if the row is free */
    uintptr_t inside; /* the heap's kolk_heap_inside_; 0: the row is free */
    uint32_t next_free;
} heap_row;

static heap_row first_rows[FIRST_ROWS];

static struct {
    uint32_t lock;
    heap_row *rows;
    uint32_t room, used; /* numbers of rows; row 0 means none */
    uint32_t unused;     /* the first row that is free again; 0: none */
    uint32_t count;      /* number of heaps; in a fork's child there may be fewer */
    uint64_t made;       /* number of heaps made so far */
    uintptr_t key;       /* the key for threads' ends, plus 1; 0: there is no heap */
} all_heaps = {.rows = first_rows, .room = FIRST_ROWS, .used = 1};

static bool add_rows(void) {
    uint32_t room = 2 * all_heaps.room;
    if (room > ROWS) return false;
    heap_row *old = all_heaps.rows, *rows = (heap_row *)kolk_memory_take_(room * sizeof *rows, room * sizeof *rows);
    if (!rows) return false;
    memcpy(rows, old, all_heaps.room * sizeof *rows);
    all_heaps.rows = rows; /* before `room` is raised */
    kolk_store_(&all_heaps.room, room, KOLK_RELEASE_);
    if (old != first_rows) kolk_memory_release_(old, room / 2 * sizeof *old);
    return true;
}

static uint32_t take_row(void) {
    uint32_t row = all_heaps.unused;
    if (row) {
        all_heaps.unused = all_heaps.rows[row].next_free;
        return row;
    }
    return all_heaps.used < all_heaps.room || add_rows() ? all_heaps.used++ : 0;
}

/* Returns a new key + 1; 0: the system has no key left. The caller must not have the lock, because on Windows a thread
 * that is ending may have the system's lock of all keys, and wait for ours. */
static uintptr_t key_for_ends(void(KOLK_AT_THREADS_END_ *leave)(void *unused)) {
    uintptr_t key;
    return kolk_key_make_(&key, leave) ? key + 1 : 0;
}

bool kolk_heaps_add_(kolk_heap *heap, kolk_heap_inside_ *inside, void(KOLK_AT_THREADS_END_ *leave)(void *unused)) {
    uintptr_t spare = 0;
    kolk_lock_word_(&all_heaps.lock);
    if (!all_heaps.key) {
        kolk_unlock_word_(&all_heaps.lock);
        spare = key_for_ends(leave);
        kolk_lock_word_(&all_heaps.lock);
        if (!all_heaps.key) {
            all_heaps.key = spare;
            spare = 0;
        }
    }
    uint32_t row = all_heaps.key ? take_row() : 0;
    if (row) {
        all_heaps.count++; /* first, so that a fork's child counts too many at worst, and keeps the key */
        kolk_store_(&heap->place, row % KOLK_NEAR_HEAPS_, KOLK_RELAXED_);
        kolk_store_(&heap->id, ++all_heaps.made << ROW_BITS | row, KOLK_RELAXED_);
        all_heaps.rows[row].id = heap->id;
        kolk_store_(&all_heaps.rows[row].inside, (uintptr_t)inside, KOLK_RELEASE_);
    }
    kolk_unlock_word_(&all_heaps.lock);
    if (spare) kolk_key_drop_(spare - 1);
    return row;
}

/* Frees everything after the last heap has ended. Returns the key. The caller must drop it without the lock, because on
 * Windows this runs the functions for threads' ends. */
static uintptr_t end_era(void) {
    heap_row *rows = all_heaps.rows;
    uint32_t room = all_heaps.room;
    uintptr_t key = all_heaps.key;
    all_heaps.key = 0;
    release_all_far();
    memset(first_rows, 0, sizeof first_rows);
    all_heaps.unused = 0;
    all_heaps.used = 1;
    kolk_store_(&all_heaps.room, FIRST_ROWS, KOLK_RELEASE_);
    all_heaps.rows = first_rows;
    if (rows != first_rows) kolk_memory_release_(rows, room * sizeof *rows);
    return key;
}

void kolk_heaps_remove_(uint64_t id) {
    uint32_t row = row_of(id);
    kolk_lock_word_(&all_heaps.lock);
    heap_row *its = &all_heaps.rows[row];
    KOLK_ASSERT_(its->id == id);
    kolk_store_(&its->inside, 0, KOLK_RELEASE_);
    its->next_free = all_heaps.unused;
    kolk_store_(&all_heaps.unused, row, KOLK_RELEASE_);
    uintptr_t key = --all_heaps.count == 0 ? end_era() : 0;
    kolk_unlock_word_(&all_heaps.lock);
    if (key) kolk_key_drop_(key - 1);
}

size_t kolk_heaps_each_(size_t (*visit)(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread)) {
    size_t sum = 0;
    kolk_lock_word_(&all_heaps.lock);
    for (uint32_t row = 1; row < all_heaps.used; row++) {
        const heap_row *its = &all_heaps.rows[row];
        const kolk_near_heap_ *entry = my_entry(row);
        kolk_heap_thread_ *thread = entry && entry->id == its->id ? entry->thread : NULL;
        if (its->inside) sum += visit((kolk_heap_inside_ *)its->inside, thread);
    }
    kolk_unlock_word_(&all_heaps.lock);
    return sum;
}

/* ---- A thread's end ---------------------------------------------------------------------------------------------- */

void kolk_heaps_await_end_(void) {
    KOLK_ASSERT_(all_heaps.key);
    kolk_key_set_(all_heaps.key - 1, &all_heaps);
}

static kolk_heap_inside_ *inside_of(uint64_t id) {
    uint32_t row = row_of(id);
    if (row == 0 || row >= all_heaps.used || all_heaps.rows[row].id != id) return NULL;
    return (kolk_heap_inside_ *)all_heaps.rows[row].inside;
}

void kolk_heaps_leave_(void (*leave)(kolk_heap_inside_ *inside, kolk_heap_thread_ *thread)) {
    kolk_near_heap_ own[KOLK_NEAR_HEAPS_];
    memcpy(own, kolk_near_heaps_, sizeof own);
    for (uint32_t n = 0; n < KOLK_NEAR_HEAPS_; n++) kolk_near_heaps_[n] = (kolk_near_heap_)NO_HEAP;
    kolk_lock_word_(&all_heaps.lock);
    far_heaps *page = my_far();
    own_far.heaps = NULL; /* first, so that the thread starts anew if `leave` uses a heap */
    const kolk_near_heap_ *entries = page ? page->heaps : own;
    uint32_t count = page ? far_rows(page) : KOLK_NEAR_HEAPS_;
    for (uint32_t n = 0; n < count; n++) {
        kolk_heap_inside_ *inside = inside_of(entries[n].id);
        if (inside) leave(inside, entries[n].thread);
    }
    if (page) give_far(page);
    kolk_unlock_word_(&all_heaps.lock);
}

#endif
