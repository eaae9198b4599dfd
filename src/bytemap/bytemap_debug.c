/* bytemap_debug.c: the debug mode of a byte map: fill, sites, trace and forced failures. Slots keep their size, their
 * place and their order, so guard, quarantine and malloc's blocks are not for this pool.
 *
 *     byte_map   | 01 | 83 | 02 | 81 | ...    the game's, or the pool's own
 *     known      | 01 | 83 | 05 | 80 | ...    in the pool's block: the byte that kolk wrote last
 *                            ^    ^ the game has used these slots by itself since
 *
 * A game may make and delete objects in an attached pool by code that no mod has hooked. What the debug mode knows of
 * a slot counts only while the slot's byte is the known one. Otherwise the slot is forgotten, as if it had never been
 * handed out: it has no sites, it is no leak, and its fill is not verified. (If the game has used a slot 128 times, or
 * has brought its byte back, that goes unnoticed.) */
#include "bytemap_inside.h"

#include "../core/fail.h"
#include "../core/geometry.h"

#define SETTINGS ((uint32_t)(KOLK_DEBUG_FILL | KOLK_DEBUG_SITES | KOLK_DEBUG_TRACE | KOLK_DEBUG_FAIL))

kolk_failure kolk_bytemap_failure_(const kolk_bytemap *pool, kolk_status rule, uint32_t slot, const void *site) {
    kolk_failure failure = {
        .rule = rule, .pool = pool->name ? pool->name : "", .slot = slot, .site = site, .no_debug = pool->read_only};
    bool knows = bytemap_debug_of(pool) && slot != KOLK_NO_SLOT_ && kolk_bytemap_knows_(pool, slot);
    if (bytemap_debug_of(pool)) kolk_watch_->sites(pool->debug, knows ? slot : KOLK_NO_SLOT_, &failure);
    return failure;
}

bool kolk_bytemap_begin_debug_(kolk_bytemap *pool, kolk_settings_ settings) {
    settings.flags &= pool->object_size <= UINT32_MAX ? SETTINGS : 0;
    kolk_debug_desc_ desc = {
        .name = pool->name ? pool->name : "",
        .noun = "slot",
        .settings = settings,
        .object_size = (uint32_t)pool->object_size,
        .object_align = 1,
        .max_capacity = (uint32_t)pool->max_count,
    };
    kolk_settle_(&desc);
    if (!KOLK_WATCHED_ || !desc.settings.flags) return true;
    pool->debug_flags = (uint8_t)desc.settings.flags;
    pool->debug = kolk_watch_->laid_out(&desc);
    return pool->debug && kolk_watch_->committed(pool->debug, (uint32_t)pool->count);
}

/* If the game has changed this slot, forgets what was known of it. */
static void look_at_slot(kolk_bytemap *pool, uint32_t index) {
    if (kolk_bytemap_knows_(pool, index)) return;
    pool->known[index] = pool->byte_map[index];
    kolk_watch_->lost(pool->debug, index, index + 1, true);
}

void kolk_bytemap_verify_(kolk_bytemap *pool, uint32_t from, uint32_t end, const void *site) {
    for (uint32_t i = from; bytemap_debug_of(pool) && i < end; i++) {
        look_at_slot(pool, i);
        if (is_free_byte(pool->byte_map[i]))
            kolk_watch_->verify(pool->debug, i, bytemap_slot_at(pool, i), false,
                                kolk_bytemap_failure_(pool, KOLK_OK, i, site));
    }
}

void kolk_bytemap_born_(kolk_bytemap *pool, uint32_t index, const void *site) {
    if (!bytemap_debug_of(pool)) return;
    void *object = bytemap_slot_at(pool, index);
    pool->known[index] = pool->byte_map[index];
    kolk_watch_->prepare(pool->debug, index, object);
    kolk_watch_->born(pool->debug, index, object, site);
}

static void end_slot(kolk_bytemap *pool, uint32_t index, const void *site) {
    pool->known[index] = pool->byte_map[index] | KOLK_BYTEMAP_FREE;
    kolk_watch_->dies(pool->debug, index, site);
    kolk_watch_->wiped(pool->debug, index, bytemap_slot_at(pool, index));
}

void kolk_bytemap_dies_(kolk_bytemap *pool, uint32_t from, uint32_t end, const void *site) {
    for (uint32_t i = from; bytemap_debug_of(pool) && i < end; i++)
        if (!is_free_byte(pool->byte_map[i])) end_slot(pool, i, site);
}

/* The caller may write the object's bytes itself, so they are not verified. */
void kolk_bytemap_note_byte_(kolk_bytemap *pool, uint32_t index, uint8_t byte, const void *site) {
    if (!bytemap_debug_of(pool)) return;
    look_at_slot(pool, index);
    bool was_free = is_free_byte(pool->byte_map[index]);
    if (!was_free && is_free_byte(byte)) end_slot(pool, index, site);
    if (was_free && !is_free_byte(byte)) kolk_watch_->born(pool->debug, index, bytemap_slot_at(pool, index), site);
    kolk_watch_->lost(pool->debug, index, index + 1, false);
    pool->known[index] = byte;
}
