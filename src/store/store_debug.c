/* store_debug.c: the debug mode of a store.
 *
 * The depot of a store in debug mode is uncached for ever: no magazine keeps slots, every operation leaves the fast
 * path, and each life begins and ends here. The debug mode's record of a slot, like the slot's bytes, belongs to the
 * thread that has the slot. debug_lock protects the data that slots share: the quarantine and, in a malloc-backed
 * store, the lists used to find objects. No lock is held while a failure is reported, because the handler may longjmp.
 * For the same reason, a slot whose fill is being verified is recorded in its thread's magazine as `proving`, and the
 * thread takes this slot next. */
#include "store.h"

#if KOLK_HOSTED

#include "../core/fail.h"
#include "../core/quarantine.h"
#include "../base/assert.h"
#include "../os/lock.h"
#include "../os/thread.h"

void kolk_store_lock_debug_(const kolk_slot_store_ *store) {
    kolk_lock_word_((uint32_t *)(uintptr_t)&store->debug_lock);
}

void kolk_store_unlock_debug_(const kolk_slot_store_ *store) {
    kolk_unlock_word_((uint32_t *)(uintptr_t)&store->debug_lock);
}

kolk_failure kolk_store_failure_(const kolk_slot_store_ *store, kolk_status rule, uint32_t slot, const void *site) {
    kolk_failure failure = {.rule = rule, .pool = store->name, .slot = slot, .site = site};
    if (kolk_debug_of_(store->debug)) kolk_watch_->sites(store->debug, slot, &failure);
    return failure;
}

/* ---- Malloc-backed objects --------------------------------------------------------------------------------------- */

uintptr_t kolk_store_find_bypassed_(const kolk_slot_store_ *store, const void *object) {
    kolk_store_lock_debug_(store);
    uintptr_t slot = kolk_watch_->find(store->debug, object, 0, NULL);
    kolk_store_unlock_debug_(store);
    return slot;
}

uint32_t kolk_store_search_bypassed_(const kolk_slot_store_ *store, const void *pointer, uint64_t *inside) {
    kolk_store_lock_debug_(store);
    uint32_t slot = kolk_watch_->find(store->debug, pointer, kolk_store_fresh_(store), inside);
    kolk_store_unlock_debug_(store);
    return slot;
}

void *kolk_store_bypassed_at_(const kolk_slot_store_ *store, uintptr_t slot) {
    kolk_store_lock_debug_(store);
    void *object = (void *)~store->objects[slot];
    kolk_store_unlock_debug_(store);
    return object;
}

/* ---- Quarantine -------------------------------------------------------------------------------------------------- */

/* Puts a slot into quarantine. Returns the slot that leaves the quarantine to make room, or KOLK_NO_SLOT_. */
static uint32_t enter_quarantine(kolk_slot_store_ *store, uint32_t slot) {
    if (kolk_quarantine_(store->debug) == 0) return slot;
    kolk_store_lock_debug_(store);
    uint32_t leaves = kolk_quarantine_enter_(store->debug, slot, &store->quarantined);
    kolk_store_unlock_debug_(store);
    return leaves;
}

uint64_t kolk_store_take_quarantined_(kolk_slot_store_ *store, uint32_t *word) {
    kolk_store_lock_debug_(store);
    uint32_t slot = kolk_quarantine_leave_(store->debug, &store->quarantined);
    kolk_store_unlock_debug_(store);
    if (slot == KOLK_NO_SLOT_) return 0;
    *word = slot >> store->depot.word_shift;
    return kolk_depot_bit_(&store->depot, slot);
}

/* ---- Lives ------------------------------------------------------------------------------------------------------- */

void *kolk_store_prepare_debug_(kolk_slot_store_ *store, kolk_magazine_ *magazine, uint32_t slot, const void *site) {
    KOLK_ASSERT_(magazine->proving == 0 || magazine->proving == slot + 1);
    KOLK_ASSERT_(!kolk_store_is_alive_(store, slot));
    kolk_store_(&magazine->proving, slot + 1, KOLK_RELAXED_); /* partner: kolk_store_count_ */
    kolk_store_verify_(store, slot, true, site);
    if (store->objects) kolk_store_lock_debug_(store);
    void *object = kolk_watch_->prepare(store->debug, slot, kolk_store_plain_object_(store, slot));
    if (store->objects) kolk_store_unlock_debug_(store);
    if (!object) return NULL;
    kolk_store_(&magazine->proving, 0, KOLK_RELAXED_);
    return object;
}

void kolk_store_put_poisoned_(kolk_slot_store_ *store, uint32_t slot) {
    KOLK_ASSERT_(!kolk_store_is_alive_(store, slot));
    kolk_watch_->wiped(store->debug, slot, kolk_store_object_(store, slot));
    uint32_t leaves = enter_quarantine(store, slot);
    if (leaves == KOLK_NO_SLOT_)
        kolk_depot_count_return_(&store->depot);
    else
        kolk_depot_put_(&store->depot, leaves);
}

/* Is the slot in one of the owner's sets, for example because it is to be freed later and its object may still be
 * read? */
static bool is_set_apart(const kolk_slot_store_ *store, uint32_t slot) {
    uint64_t any = 0;
    for (unsigned n = 0; n < kolk_store_free_sets_(store); n++)
        any |= kolk_load_(kolk_slot_set_word_(&store->sets[n], slot / 64), KOLK_RELAXED_);
    return any & kolk_bits_at_(slot);
}

static bool is_filled(const kolk_slot_store_ *store, uint32_t slot) {
    return !kolk_store_is_alive_(store, slot) && !is_set_apart(store, slot);
}

void kolk_store_verify_(const kolk_slot_store_ *store, uint32_t slot, bool filled, const void *site) {
    if (store->objects) return;
    kolk_watch_->verify(store->debug, slot, kolk_store_plain_object_(store, slot), !filled,
                        kolk_store_failure_(store, KOLK_OK, slot, site));
}

/* ---- The store --------------------------------------------------------------------------------------------------- */

kolk_debug_desc_ kolk_store_debug_desc_(kolk_slot_store_ *store, const kolk_settings_ *settings, size_t align,
                                        bool persistent) {
    kolk_debug_desc_ debug = {
        .name = store->name,
        .noun = "slot",
        .settings = *settings,
        .object_size = store->object_size,
        .object_align = (uint32_t)align,
        .max_capacity = store->depot.slots,
        .persistent = persistent,
    };
    kolk_settle_(&debug);
    if (debug.front) kolk_store_set_stride_(store, debug.front + debug.object_size + debug.back);
    return debug;
}

bool kolk_store_begin_debug_(kolk_slot_store_ *store, const kolk_debug_desc_ *desc) {
    store->debug_flags = (uint8_t)desc->settings.flags;
    if (!desc->settings.flags) return true;
    store->debug = kolk_watch_->laid_out(desc);
    if (!store->debug) return false;
    store->objects = store->debug->objects;
    store->depot.uncached_until = store->depot.lowered_until = UINT64_MAX;
    return true;
}

bool kolk_store_is_intact_(const kolk_slot_store_ *store) {
    for (uint32_t slot = 0; slot < store->depot.fresh; slot++)
        if (!store->objects &&
            !kolk_watch_->is_intact(store->debug, slot, kolk_store_plain_object_(store, slot), !is_filled(store, slot)))
            return false;
    return true;
}

static bool is_in_depot(const kolk_slot_store_ *store, uint32_t slot) {
    return *kolk_slot_set_word_(&store->depot.free, slot >> store->depot.word_shift) &
           kolk_depot_bit_(&store->depot, slot);
}

/* Verifies a slot in quarantine, or one whose fill was being verified. */
static void prove_free(const kolk_slot_store_ *store, uint32_t slot, const void *site) {
    if (is_filled(store, slot)) kolk_store_verify_(store, slot, true, site);
}

/* Verifies a free slot only if it is found in the depot or in quarantine, or if a thread that still exists was
 * verifying it. In a fork's child, some slots may be nowhere, or a thread that is gone was verifying them. Such slots
 * are lost, and their fill may be half written. */
void kolk_store_prove_all_(const kolk_slot_store_ *store, const void *site) {
    for (uint32_t slot = 0; slot < store->depot.fresh; slot++)
        if (!is_filled(store, slot) || is_in_depot(store, slot))
            kolk_store_verify_(store, slot, is_filled(store, slot), site);
    for (uint32_t n = 0; n < store->quarantined; n++) prove_free(store, *kolk_quarantined_(store->debug, n), site);
    for (const kolk_magazine_ *magazine = NULL; (magazine = kolk_keepers_next_magazine_(&store->depot, magazine));)
        if (magazine->proving && !kolk_thread_is_gone_(magazine->keeper->owner))
            prove_free(store, magazine->proving - 1, site);
}

void kolk_store_report_leaks_(const kolk_slot_store_ *store) {
    if (kolk_debug_of_(store->debug)) kolk_watch_->leaks(store->debug, store->depot.fresh);
}

#endif
