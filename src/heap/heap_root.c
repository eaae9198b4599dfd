/* heap_root.c: what each heap has from its init on: its limit, its place among other heaps, and the functions that are
 * to be called at its end. */
#include "heap_inside.h"

#if KOLK_HOSTED

#include "../base/assert.h"
#include "../core/begin.h"
#include "../os/lock.h"

#include <string.h>

/* ---- Root -------------------------------------------------------------------------------------------------------- */

/* A fork may interrupt another thread between any two of these stores, and those of the next function. In this order,
 * the child's list lacks a complete heap at worst, and never has one that is incomplete. */
static void join_parent(kolk_heap_root_ *root, kolk_heap_root_ *parent) {
    kolk_lock_word_(&parent->lock);
    root->parent = parent;
    root->older = parent->child;
    kolk_raw_store_(&parent->child, root, KOLK_RELEASE_);
    if (root->older) kolk_raw_store_(&root->older->newer, root, KOLK_RELEASE_);
    kolk_unlock_word_(&parent->lock);
}

void kolk_heap_leave_parent_(kolk_heap_root_ *root) {
    kolk_heap_root_ *parent = root->parent;
    if (!parent) return;
    kolk_lock_word_(&parent->lock);
    if (root->older) kolk_raw_store_(&root->older->newer, root->newer, KOLK_RELEASE_);
    if (root->newer)
        kolk_raw_store_(&root->newer->older, root->older, KOLK_RELEASE_);
    else
        kolk_raw_store_(&parent->child, root->older, KOLK_RELEASE_);
    kolk_unlock_word_(&parent->lock);
    root->parent = NULL;
}

kolk_heap_root_ *kolk_heap_make_root_(kolk_heap *heap, const kolk_heap_desc *desc) {
    _Static_assert(sizeof(kolk_heap_root_) <= KOLK_LEAF_ - 4 * sizeof(kolk_heap_end_record_), "a leaf is too small");
    kolk_heap_root_ *parent = desc->parent ? desc->parent->root : NULL;
    uint32_t leaf = kolk_leaf_alone_();
    if (!leaf) return NULL;
    kolk_heap_root_ *root = (kolk_heap_root_ *)(void *)kolk_leaf_start_(leaf);
    memset(root, 0, sizeof *root);
    root->heap = heap;
    root->name = kolk_name_kept_(desc->name);
    root->debug = kolk_name_kept_(desc->debug); /* classes are made later */
    root->on_full = desc->on_full;
    root->context = desc->context;
    root->own = (kolk_budget){.limit = desc->limit, .parent = parent ? parent->budget : desc->budget};
    root->budget = root->own.limit || root->own.parent ? &root->own : NULL;
    kolk_nursery_begin_(&root->nursery, root->budget);
    if (parent) join_parent(root, parent);
    kolk_store_(&kolk_leaf_record_(leaf)->next, root->nursery.owner, KOLK_RELEASE_); /* partner: is_root */
    heap->root = root;
    return root;
}

void kolk_heap_end_root_(kolk_heap_root_ *root) {
    kolk_heap_leave_parent_(root);
    kolk_nursery_end_(&root->nursery);
    kolk_budget_give_(root->own.parent, kolk_budget_used(&root->own));
    uint32_t leaf = kolk_leaf_of_(root);
    kolk_leaf_ *record = kolk_leaf_record_(leaf);
    kolk_lock_(); /* while trim_nurseries has it, each root that it finds stays one */
    kolk_raw_store_(&record->next, 0, KOLK_RELAXED_);
    kolk_unlock_();
    kolk_leaves_give_(leaf, 1);
}

/* Is a root in this leaf? A leaf that is just being taken or returned may have a stale `next`, with which no root
 * began: it changes before the owner does. */
static bool is_root(const kolk_leaf_ *record) {
    uint32_t next = kolk_load_(&record->next, KOLK_ACQUIRE_); /* partner: kolk_heap_make_root_ */
    return next && !kolk_load_(&record->owner, KOLK_ACQUIRE_) && kolk_load_(&record->next, KOLK_RELAXED_) == next;
}

const kolk_heap_root_ *kolk_heap_next_root_(const kolk_heap_root_ *root) {
    uint32_t leaf = root ? kolk_leaf_of_(root) : 0, end = kolk_load_(&kolk_leaves_all_.fresh, KOLK_ACQUIRE_);
    while (++leaf < end)
        if (is_root(kolk_leaf_record_(leaf))) return (const kolk_heap_root_ *)(const void *)kolk_leaf_start_(leaf);
    return NULL;
}

/* ---- Functions to be called at the end --------------------------------------------------------------------------- */

/* The records lie behind the root in its leaf, and then in leaves of their own, which begin with the number of the leaf
 * before. The newest record is the last one of the newest leaf. */
typedef struct ends_leaf {
    uint32_t before;
    kolk_heap_end_record_ first[];
} ends_leaf;

static kolk_heap_end_record_ *first_place(kolk_heap_root_ *root) {
    return root->ends_leaf ? ((ends_leaf *)(void *)kolk_leaf_start_(root->ends_leaf))->first
                           : (kolk_heap_end_record_ *)(void *)(root + 1);
}

/* A place for a new record; NULL: there is no memory. */
static kolk_heap_end_record_ *next_place(kolk_heap_root_ *root) {
    kolk_heap_end_record_ *place = root->ends ? root->ends + 1 : first_place(root);
    unsigned char *end = kolk_leaf_start_(kolk_leaf_of_(place - 1)) + KOLK_LEAF_;
    if ((unsigned char *)(place + 1) <= end) return place;
    uint32_t leaf = kolk_leaf_alone_();
    if (!leaf) return NULL;
    *(uint32_t *)(void *)kolk_leaf_start_(leaf) = root->ends_leaf;
    root->ends_leaf = leaf;
    return first_place(root);
}

bool kolk_heap_on_end(kolk_heap *heap, void (*function)(void *context), void *context) {
    kolk_heap_root_ *root = heap->root;
    if (!root) return false;
    kolk_lock_word_(&root->lock);
    kolk_heap_end_record_ *end = next_place(root);
    if (end) {
        *end = (kolk_heap_end_record_){root->ends, function, context};
        root->ends = end;
    }
    kolk_unlock_word_(&root->lock);
    return end;
}

bool kolk_heap_take_end_(kolk_heap_root_ *root, kolk_heap_end_record_ *out) {
    kolk_lock_word_(&root->lock);
    kolk_heap_end_record_ *end = root->ends;
    if (end) {
        *out = *end;
        root->ends = end->before;
        if (root->ends_leaf && end == first_place(root)) {
            uint32_t leaf = root->ends_leaf;
            root->ends_leaf = *(const uint32_t *)(const void *)kolk_leaf_start_(leaf);
            kolk_leaves_give_(leaf, 1);
        }
    }
    kolk_unlock_word_(&root->lock);
    return end;
}

#endif
