/* remote_heap.c: the statistics of a heap, and of a heap's class, of another process. See remote.h. */
#include "remote.h"

#include "../heap/fixed.h"
#include "../heap/heap_inside.h"
#include "../os/lock.h"

#if KOLK_REMOTE_

#define MOST_PLACES ((size_t)1 << 22) /* of the table of large blocks */

bool kolk_remote_heap_class_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    const kolk_heap_tray_ *at = (const kolk_heap_tray_ *)there,
                          *tray = (const kolk_heap_tray_ *)kolk_remote_copy_(remote, there, sizeof *tray);
    (void)copy;
    return tray && kolk_remote_store_(remote, &tray->store, &at->store, "heap", &out->stats);
}

static void read_tray(const kolk_heap_reader_ *reader, const kolk_heap_tray_ *tray, kolk_stats *out) {
    const kolk_heap_tray_ *there = &reader->there->trays[tray - reader->here->trays];
    if (!kolk_remote_store_(reader->remote, &tray->store, &there->store, "heap", out)) *reader->failed = true;
}

/* The blocks outside of classes. The nurseries' leaves count whole: their first blocks are written when they are
 * taken. */
static void see_others(kolk_remote_ *remote, const kolk_heap_root_ *root) {
    const kolk_heap_inside_ *inside = root->inside;
    const kolk_nursery_ *watch = root->nursery.watch;
    remote->saw = true;
    remote->resident += root->nursery.leaves * (uint64_t)KOLK_LEAF_;
    if (watch) remote->resident += watch->leaves * (uint64_t)KOLK_LEAF_;
    if (!inside) return;
    const kolk_large_ *large = &inside->large;
    const kolk_large_table_ *there = (const kolk_large_table_ *)large->table, *table = NULL;
    size_t places = 0;
    if (there && kolk_remote_read_(remote, &places, &there->places, sizeof places) && places <= MOST_PLACES)
        table =
            (const kolk_large_table_ *)kolk_remote_copy_(remote, there, sizeof *table + places * sizeof *table->blocks);
    if (there && !table) remote->blind = true;
    for (size_t n = 0; table && n < places; n++) {
        const kolk_large_block_ *block = &table->blocks[n];
        if (block->start && block->mapping)
            kolk_remote_see_(remote, (const void *)block->mapping, block->mapped);
        else if (block->start)
            remote->blind = true; /* malloc has it */
    }
    for (unsigned n = 0; n < KOLK_SPARES_; n++) {
        const kolk_spare_ *spare = &large->spares.all[n];
        if (spare->start) kolk_remote_see_(remote, (const void *)spare->start, spare->size);
    }
}

/* Copies what a heap on the caller's memory points to. */
static bool copy_fixed(kolk_remote_ *remote, kolk_heap *heap) {
    heap->root = NULL;
    if (heap->n_classes > KOLK_HEAP_CLASSES) return false;
    heap->fixed = (kolk_fixed_ *)kolk_remote_copy_(remote, heap->fixed,
                                                   sizeof *heap->fixed + heap->n_classes * sizeof(kolk_fixed_tray_));
    return heap->fixed != NULL;
}

static bool copy_inside(kolk_remote_ *remote, kolk_heap_root_ *root) {
    kolk_heap_inside_ *inside = (kolk_heap_inside_ *)kolk_remote_copy_(remote, root->inside, sizeof *inside);
    root->inside = inside;
    if (!inside) return false;
    kolk_guarded_slot_ **slots = &inside->guarded.slots;
    inside->large.spares.lock = 0;
    if (*slots) kolk_remote_see_(remote, *slots, inside->guarded.memory_size);
    return !*slots ||
           (*slots = (kolk_guarded_slot_ *)kolk_remote_copy_(remote, *slots, KOLK_GUARDED_SLOTS_ * sizeof **slots));
}

/* Makes a copy of a nursery one that can be counted. */
static void make_countable(kolk_nursery_ *nursery) {
    kolk_unlock_brief_(&nursery->lock);
    if (nursery->waiting_class >= KOLK_NURSERY_CLASSES_) nursery->waiting = NULL;
}

/* The same for that of a heap, with a copy of the watched one. */
static bool copy_nurseries(kolk_remote_ *remote, kolk_nursery_ *nursery) {
    const kolk_nursery_ *there = nursery->watch;
    kolk_nursery_ *watch = there ? (kolk_nursery_ *)kolk_remote_copy_(remote, there, sizeof *watch) : NULL;
    make_countable(nursery);
    nursery->watch = watch;
    if (!watch) return !there;
    make_countable(watch);
    watch->watch = NULL;
    return true;
}

bool kolk_remote_heap_(kolk_remote_ *remote, const void *there, void *copy, kolk_record_ *out) {
    kolk_heap *heap = (kolk_heap *)copy;
    const void *memory = heap->fixed; /* which begins with this record */
    (void)there;
    if (heap->fixed) {
        if (!copy_fixed(remote, heap)) return false;
        kolk_heap_stats(heap, &out->stats);
        kolk_remote_see_(remote, memory, heap->fixed->memory_size);
        return true;
    }
    kolk_heap_root_ *root = (kolk_heap_root_ *)kolk_remote_copy_(remote, heap->root, sizeof *root);
    const kolk_heap_inside_ *inside_there = root ? root->inside : NULL;
    heap->root = root;
    if (!root || heap->n_classes > KOLK_HEAP_CLASSES) return false;
    if (!copy_nurseries(remote, &root->nursery)) return false;
    root->name = "";
    if (inside_there && !copy_inside(remote, root)) return false;
    bool failed = false;
    kolk_heap_sum_up_(heap, &(kolk_heap_reader_){read_tray, remote, root->inside, inside_there, &failed}, &out->stats);
    see_others(remote, root);
    return !failed;
}

#endif
