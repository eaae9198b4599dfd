/* slotmap.c: the slot map: its essay and operations.
 *
 *     handle      | generation 2 | slot 4 |
 *                                   |
 *     cells       slot     0     1     2     3     4     5        place and generation
 *                 place    3     0     4     1     2     -
 *                                            _____/
 *                                           v
 *     owners      place    0     1     2  |  3     4  |           slot
 *                 slot     1     3     4  |  0     2  |
 *                       objects, packed  count     fresh - worn
 *     objects            | A  |  B  |  C  |     |     | ..... | capacity | (reserved, not committed) | max_capacity |
 *
 * owners[] is a permutation of the slots, and cells[].place its inverse (the sparse set of Briggs and Torczon, An
 * Efficient Representation for Sparse Sets, 1993). The places before count hold the objects. Their owners are the live
 * slots; the owners of the other places are the free slots, in the order in which they will be used. So there is no
 * list of free slots: adding advances count, removing swaps the places of two slots, and a slot is alive if its place
 * is below count.
 *
 * `fresh` works as in kolk_pool: slots from there on have never had an object, and it only advances. Beyond it, the
 * arrays' contents do not matter. A slot whose generations are used up moves from the permutation to the worn-out list,
 * which is used when the map would otherwise be full. The place of such a slot is NO_PLACE, and its generation field
 * holds the next slot in the list.
 *
 * The fast paths (slotmap.inl) compare with two bounds, add_bound and remove_bound, which the slow path sets:
 *
 *     what the map has                                     add_bound       remove_bound
 *     no option                                            fresh - worn    fresh
 *     the peak of a scene is counted (KOLK_STATS=sizes)    the peak, if that is less
 *     places that a trim has taken from the budget         counted, if that is less
 *     on_move, on_remove, move                                             0
 *     debug mode, or a tool informed of every place        0               0
 *     a hook that must not add or remove is running        0               0
 *     holes                                                                0
 *
 * get needs no bound, because no option changes how an object is found.
 *
 * A hole is a place before count without an object: a life has ended there, and nothing has moved yet. The hole's owner
 * has the bit HOLE, and so has the place in the owner's cell, which makes it greater than any count: get finds nothing,
 * and a walk sees from the owner that there is nothing to visit. The other bits of that place are the next hole's: the
 * holes form a list, the one made last first. To close them all, the last object moves into each.
 *
 * A removal makes a hole and closes it. But an object whose on_remove is running must not move, because the hook has a
 * pointer to it. The hook may remove other objects; so then all holes stay until the outermost removal ends.
 * kolk_removal_ lists the objects that are being removed, because they cannot be removed again.
 *
 * Invariants (kolk_slotmap_is_valid):
 *     I1  count <= fresh - worn <= fresh <= capacity <= max_capacity; count <= counted <= capacity; peak >= count,
 *         whether the peak is counted or not
 *     I2  cells[owners[p]].place == p for all p < fresh - worn that are no hole; the owners are slots below fresh, all
 *         different, but for the bit HOLE, which `holes` owners below count have: those in the list of holes
 *     I3  the other slots below fresh are in the worn-out list, each once, and their place is NO_PLACE
 *     I4  an owner's generation is at least 1; a hole's may be 0, until it is closed
 *     I5  the bounds are those of the table above
 *     I6  the fills in holes and behind the last object are unchanged since the debug mode wrote them
 * slotmap.h states the time bounds. */
#include "slotmap_inside.h"

#include "../core/begin.h"
#include "../core/fail.h"
#include "../core/handle.h"
#include "../os/memory.h"
#include "../core/probes.h"
#include "../core/stale.h"
#include "../core/tools.h"

#include <string.h>

_Static_assert(sizeof(void *) != 8 || offsetof(kolk_slotmap, capacity) == 48, "the fast paths read 48 bytes");
_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_slotmap) == 208 && sizeof(kolk_slotmap_desc) == 104),
               "the layout has changed: raise KOLK_ABI");

/* Emit each function of slotmap.inl once. */
extern inline bool kolk_slotmap_finds_(const kolk_slotmap *map, uint32_t slot, kolk_handle handle);
extern inline void *kolk_slotmap_get_sized_(const kolk_slotmap *map, kolk_handle handle, size_t stride);
extern inline void *kolk_slotmap_get(const kolk_slotmap *map, kolk_handle handle);
extern inline uint32_t kolk_slotmap_slot(const kolk_slotmap *map, kolk_handle handle);
extern inline void *kolk_slotmap_add_sized_(kolk_slotmap *map, kolk_handle *out, size_t stride);
extern inline void *kolk_slotmap_add(kolk_slotmap *map, kolk_handle *out);
extern inline bool kolk_slotmap_remove_sized_(kolk_slotmap *map, kolk_handle handle, size_t stride);
extern inline bool kolk_slotmap_remove(kolk_slotmap *map, kolk_handle handle);
extern inline void *kolk_slotmap_objects(const kolk_slotmap *map);
extern inline uint32_t kolk_slotmap_count(const kolk_slotmap *map);
extern inline uint32_t kolk_slotmap_available(const kolk_slotmap *map);
extern inline bool kolk_slotmap_remove_at(kolk_slotmap *map, uint32_t index);
extern inline void *kolk_slotmap_at(const kolk_slotmap *map, uint32_t index);
extern inline kolk_slotmap_cursor kolk_slotmap_each(const kolk_slotmap *map);
extern inline void *kolk_slotmap_cursor_next_sized_(kolk_slotmap_cursor *cursor, size_t stride);
extern inline void *kolk_slotmap_cursor_next(kolk_slotmap_cursor *cursor);
extern inline kolk_status kolk_slotmap_init(kolk_slotmap *map, const kolk_slotmap_desc *desc);
extern inline kolk_status kolk_slotmap_rebind(kolk_slotmap *map, const kolk_slotmap_desc *desc);

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

static const char *map_name_of(const kolk_slotmap *map) {
    return map->name ? map->name : "";
}

/* Sites are kept by slot, but the report names a place. */
static kolk_failure map_failure_of(const kolk_slotmap *map, kolk_status rule, uint32_t place, const void *site) {
    kolk_failure failure = {.rule = rule, .pool = map_name_of(map), .slot = place, .site = site};
    if (map_debug_of(map))
        kolk_watch_->sites(map->debug, place < owned(map) ? map->owners[place] & ~HOLE : KOLK_NO_SLOT_, &failure);
    return failure;
}

static kolk_handle map_handle_of(const kolk_slotmap *map, uint32_t slot) {
    KOLK_ASSERT_(slot < map->fresh && map->cells[slot].generation != 0);
    return kolk_handle_make_(map->cells[slot].generation, slot, map->tag);
}

/* The place of an object, or a number not below count if it has none. */
static uintptr_t place_of(const kolk_slotmap *map, const void *object) {
    return kolk_exact_slot_((uintptr_t)object - (uintptr_t)map->objects, map->shift, map->inverse);
}

/* Reports why the caller cannot `verb` this pointer. */
static void fail_map_object(const kolk_slotmap *map, const void *object, const char *verb, const void *site) {
    uint64_t inside;
    bool moved;
    uint32_t place = kolk_slotmap_locate_(map, object, &inside, &moved);
    kolk_failure failure = map_failure_of(map, KOLK_DEAD_OBJECT, place, site);
    failure.object = object;
    if (moved)
        kolk_fail_(failure, "%s of a pointer to place %u from before a removal: keep handles", verb, (uint64_t)place);
    else if (place != NO_PLACE && !inside)
        kolk_fail_(failure, "%s of place %u, which has no object", verb, (uint64_t)place);
    else
        kolk_fail_object_(failure, verb, "place", inside);
}

/* ---- Hooks ------------------------------------------------------------------------------------------------------- */

/* An object whose on_remove is running. */
typedef struct kolk_removal_ {
    uint32_t slot;
    struct kolk_removal_ *outer; /* the removal whose hook has called this one */
} kolk_removal_;

static bool is_being_removed(const kolk_slotmap *map, uint32_t slot) {
    const kolk_removal_ *removal = map->removals;
    while (removal && removal->slot != slot) removal = removal->outer;
    return removal != NULL;
}

void kolk_slotmap_bar_(const kolk_slotmap *map, const char *verb, const void *site) {
    kolk_fail_(map_failure_of(map, KOLK_IN_HOOK, NO_PLACE, site), "%s in a hook of this map, which %s", verb,
               map->in_hook == HOOK_LOOKS ? "must not change it" : "may only add and remove");
}

void kolk_slotmap_tell_of_move_(kolk_slotmap *map, uint32_t at, uint32_t from, uint32_t to) {
    if (!map->on_move) return;
    uint8_t before = enter_map_hook(map, HOOK_LOOKS);
    map->on_move(map_object_at(map, at), from, to, map->context);
    leave_map_hook(map, before);
}

static void run_on_remove(kolk_slotmap *map, uint32_t slot) {
    kolk_removal_ removal = {slot, map->removals};
    uint8_t before = map->in_hook;
    if (before < HOOK_LIVES) map->in_hook = HOOK_LIVES;
    map->removals = &removal;
    map->on_remove(map_object_at(map, map->cells[slot].place), map->context);
    map->removals = removal.outer;
    map->in_hook = before;
}

/* ---- Life of a map ----------------------------------------------------------------------------------------------- */

static void list_map_stats(const void *map, kolk_stats *out) {
    kolk_slotmap_stats(map, out);
}

static kolk_debug *debug_of_listed_map(const void *given, uint32_t *end) {
    const kolk_slotmap *map = given;
    *end = map->fresh;
    return map->debug;
}

static kolk_status map_enter_scene(void *given, uint32_t capacity, bool measured) {
    kolk_slotmap *map = given;
    if (measured) {
        map->peak = map->count;
        show_map_bounds(map);
    }
    return kolk_slotmap_reserve(map, capacity);
}

static uintptr_t map_facts(const void *given) {
    const kolk_slotmap *map = given;
    if (map->count > map->fresh || map->fresh > map->capacity || map->capacity > map->max_capacity) return 0;
    return KOLK_FACTS_(map->number, (uintptr_t)map->block, (uintptr_t)map->cells, (uintptr_t)map->owners, map->stride,
                       (uintptr_t)map->name, map->object_size, map->max_capacity, map->debug_flags,
                       (uintptr_t)map->debug, (uintptr_t)map->blocks, map->memory);
}

const kolk_kind_ kolk_slotmap_kind_ = {.stats = list_map_stats,
                                       .debug = debug_of_listed_map,
                                       .enter = map_enter_scene,
                                       .facts = map_facts,
                                       .size = sizeof(kolk_slotmap),
                                       .id = KOLK_KIND_SLOTMAP_};

kolk_status kolk_slotmap_init_abi_(kolk_slotmap *map, const kolk_slotmap_desc *given, size_t type_size,
                                   size_t type_align, size_t map_size, uint32_t abi) {
    kolk_status status = kolk_begin_(map, map_size, sizeof *map, abi, given);
    if (status != KOLK_OK) return status;
    kolk_slotmap_desc desc = *given;
    desc.name = kolk_name_kept_(given->name);
    kolk_settings_ settings = kolk_settings_of_(desc.name, desc.debug, true);
    kolk_size_ size = kolk_size_of_(desc.name, desc.memory, &desc.capacity, &desc.max_capacity);
    do {
        status = kolk_slotmap_resolve_(&desc, type_size, type_align);
        if (status == KOLK_OK) kolk_size_settle_(&size, desc.capacity);
        if (status == KOLK_OK) status = kolk_slotmap_make_(map, &desc, &settings);
    } while (status != KOLK_OK && kolk_size_withdraw_(&size, status));
    if (status != KOLK_OK) return status;
    map->name = desc.name;
    map->tag = kolk_tag_bits_(desc.tag, desc.name);
    map->on_move = desc.on_move;
    map->on_remove = desc.on_remove;
    map->move = desc.move;
    map->context = desc.context;
    map->peak = PEAK_IS_FRESH; /* until the first scene; the bounds are 0, because there are no slots yet (I5) */
    kolk_list_(map, sizeof *map, &map->number, &kolk_slotmap_kind_);
    return KOLK_OK;
}

kolk_status kolk_slotmap_rebind_abi_(kolk_slotmap *map, const kolk_slotmap_desc *desc, size_t type_size,
                                     size_t type_align, size_t map_size, uint32_t abi) {
    kolk_status status = kolk_check_call_(map_size, sizeof *map, abi, desc);
    if (status != KOLK_OK) return status;
    if (!kolk_is_home_(map, map->number, map->name, SITE)) return KOLK_MOVED;
    if (map->in_hook) return KOLK_IN_HOOK;
    status = kolk_block_match_size_(desc->object_size, desc->object_align, type_size, type_align, map->object_size,
                                    map->objects, map->stride);
    if (status != KOLK_OK) return status;
    bool callers = map->memory == MEMORY_CALLERS; /* the map does not know how much more than the block there was */
    bool memory = !desc->memory || (callers && desc->memory == map->block);
    memory = memory && (!desc->memory_size || (callers && desc->memory_size >= map->block_size));
    memory = memory && kolk_is_kept_((uintptr_t)desc->budget, (uintptr_t)map->budget);
    bool tag = kolk_is_tag_kept_(desc->tag, map->tag);
    bool sizes = kolk_is_capacity_kept_(desc->capacity, desc->max_capacity, map->capacity, map->max_capacity);
    if (!memory || !tag || (!sizes && !kolk_sizes_matter_())) return KOLK_LAYOUT_CHANGED;
    map->name = kolk_name_kept_(desc->name);
    map->on_move = desc->on_move;
    map->on_remove = desc->on_remove;
    map->move = desc->move;
    map->context = desc->context;
    show_map_bounds(map);
    kolk_relist_(map->number, map->name, map->debug);
    return KOLK_OK;
}

static void verify_holes(const kolk_slotmap *map, const void *site) {
    for (uint32_t place = map->first_hole, n = map->holes; map_debug_of(map) && n > 0; n--) {
        kolk_watch_->verify(map->debug, place, map_object_at(map, place), false,
                            map_failure_of(map, KOLK_OK, place, site));
        place = map->cells[map->owners[place] & ~HOLE].place & ~HOLE;
    }
}

void kolk_slotmap_verify_all_(const kolk_slotmap *map, const void *site) {
    verify_holes(map, site);
    for (uint32_t place = map->count; map_debug_of(map) && place < map->fresh; place++)
        kolk_watch_->verify(map->debug, place, map_object_at(map, place), false,
                            map_failure_of(map, KOLK_OK, place, site));
}

static void clear_map(kolk_slotmap *map, const void *site);

KOLK_NOINLINE_ void kolk_slotmap_deinit(kolk_slotmap *map) {
    const void *site = SITE;
    if (!kolk_is_home_(map, map->number, map->name, site)) return;
    if (kolk_slotmap_is_barred_(map, NO_HOOK, "deinit", site)) return;
    kolk_slotmap_verify_all_(map, site); /* first, because the handler may longjmp */
    if (map_debug_of(map)) kolk_watch_->leaks(map->debug, map->fresh);
    kolk_unlist_(map->number);
    map->number = 0;
    if (map_debug_of(map) || map->on_remove) clear_map(map, site);
    kolk_slotmap_unmake_(map);
}

/* ---- Free slots: where they come from ---------------------------------------------------------------------------- */

kolk_status kolk_slotmap_reserve(kolk_slotmap *map, uint32_t capacity) {
    if (capacity <= map->counted) return KOLK_OK;
    if (map->in_hook == HOOK_LOOKS) return KOLK_IN_HOOK;
    if (capacity > map->max_capacity) return KOLK_ABOVE_MAX;
    uint64_t bytes = map_bytes_that_count(map, capacity - map->counted);
    uint8_t before = enter_map_hook(map, HOOK_LOOKS); /* on_mark */
    bool fits = kolk_budget_take_all_(map->budget, bytes);
    leave_map_hook(map, before);
    if (!fits) return KOLK_OVER_BUDGET;
    if (capacity > map->capacity && !kolk_slotmap_commit_(map, capacity)) {
        kolk_budget_give_(map->budget, bytes);
        return KOLK_NO_MEMORY;
    }
    map->counted = capacity;
    show_map_bounds(map);
    if (capacity <= map->capacity) return KOLK_OK;
    PROBE3(grow, map_name_of(map), map->capacity, capacity);
    map->capacity = capacity;
    return KOLK_OK;
}

/* Reserves at least one more place than the first `from`, and twice as many if possible, but not more than `most`. */
static bool reserve_more(kolk_slotmap *map, uint32_t from, uint32_t most) {
    if (from == most) return false;
    uint32_t wish = kolk_block_next_capacity_(from, most, map->stride);
    wish = from + kolk_budget_step_(map->budget, wish - from, map->stride);
    return kolk_slotmap_reserve(map, wish) == KOLK_OK || kolk_slotmap_reserve(map, from + 1) == KOLK_OK;
}

/* Does a place below the capacity count towards the budget, perhaps again? */
static bool place_counts(kolk_slotmap *map, uint32_t place) {
    bool gone = KOLK_HOSTED && place >= map->counted && map->counted < map->capacity;
    return !gone || reserve_more(map, map->counted, map->capacity);
}

/* Adds the slot to the permutation, as the owner of its last place. */
static void put_owner(kolk_slotmap *map, uint32_t slot) {
    KOLK_ASSERT_(slot < map->fresh && owned(map) > 0);
    uint32_t place = owned(map) - 1;
    map->owners[place] = slot;
    map->cells[slot] = (kolk_cell_){place, 1};
    show_map_bounds(map);
}

/* Provides a free slot when there is none: a new slot, or a worn-out one. */
static bool make_free_slot(kolk_slotmap *map) {
    if (map->fresh < map->capacity || reserve_more(map, map->capacity, map->max_capacity)) {
        map->fresh++;
        put_owner(map, map->fresh - 1);
        return true;
    }
    if (map->worn == 0) return false;
    uint32_t slot = map->worn_first;
    map->worn_first = map->cells[slot].generation;
    map->worn--;
    map->recycled++;
    put_owner(map, slot);
    return true;
}

/* Moves a free slot, whose generations are used up, to the worn-out list. The slot at the last place moves to its
 * place. */
static void retire_slot(kolk_slotmap *map, uint32_t slot) {
    uint32_t place = map->cells[slot].place, other = map->owners[owned(map) - 1];
    KOLK_ASSERT_(place >= map->count && place < owned(map) && map->cells[slot].generation == 0);
    map->owners[place] = other;
    map->cells[other].place = place;
    map->cells[slot] = (kolk_cell_){NO_PLACE, KOLK_NO_SLOT_};
    if (map->worn++ == 0)
        map->worn_first = slot;
    else
        map->cells[map->worn_last].generation = slot;
    map->worn_last = slot;
    show_map_bounds(map);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Nobody may read the object of this slot any more. The profiler, which does not hear of moves, hears of the place that
 * has become free. */
static void wipe_place(kolk_slotmap *map, uint32_t slot, uint32_t place) {
    if (!map_debug_of(map)) return;
    uint8_t before = enter_map_hook(map, HOOK_LOOKS); /* the profiler */
    kolk_watch_->wiped(map->debug, slot, map_object_at(map, place));
    leave_map_hook(map, before);
}

/* Takes the first hole off the list, for a new object. */
static void use_hole(kolk_slotmap *map) {
    uint32_t place = map->first_hole, slot = map->owners[place] & ~HOLE;
    map->first_hole = map->cells[slot].place & ~HOLE;
    map->holes--;
    map->owners[place] = slot;
    map->cells[slot].place = place;
    show_map_bounds(map);
    if (map->cells[slot].generation != 0) return;
    map->cells[slot].generation = 1; /* all slots of the map are in use, or in holes */
    map->recycled++;
}

KOLK_NOINLINE_ void *kolk_slotmap_add_slow_(kolk_slotmap *map, kolk_handle *out) {
    const void *site = SITE;
    (void)kolk_is_home_(map, map->number, map->name, site);
    bool barred = map->in_hook > HOOK_LIVES;
    if (barred) (void)kolk_slotmap_is_barred_(map, HOOK_FREES, "add", site);
    bool fails = barred || (map_debug_of(map) && kolk_debug_fails_(map->debug));
    bool extends = !fails && place_counts(map, map->count) && (map->count < owned(map) || make_free_slot(map));
    if (fails || (!extends && map->holes == 0)) {
        map->failed++;
        PROBE2(full, map_name_of(map), map->capacity);
        if (out) *out = (kolk_handle){0};
        if (out) kolk_tools_wrote_(out, sizeof *out);
        return NULL;
    }
    uint32_t place = extends ? map->count : map->first_hole, slot = map->owners[place] & ~HOLE;
    void *object = map_object_at(map, place);
    kolk_debug *debug = map_debug_of(map);
    if (debug) { /* first, because the handler may longjmp */
        kolk_watch_->verify(debug, place, object, false, map_failure_of(map, KOLK_OK, place, site));
        if (!extends) wipe_place(map, slot, place);
        kolk_watch_->prepare(debug, place, object);
        uint8_t before = enter_map_hook(map, HOOK_LOOKS); /* the profiler */
        kolk_watch_->born(debug, slot, object, site);
        leave_map_hook(map, before);
    }
    kolk_slotmap_show_free_(map, place);
    if (extends)
        map->count++;
    else
        use_hole(map);
    if (map->count > map->peak) {
        map->peak = map->count;
        show_map_bounds(map);
    }
    if (out) *out = map_handle_of(map, slot);
    if (out) kolk_tools_wrote_(out, sizeof *out);
    return object;
}

static void move_object(kolk_slotmap *map, uint32_t to, uint32_t from) {
    if (!map->move) {
        memcpy(map_object_at(map, to), map_object_at(map, from), map->stride);
        return;
    }
    uint8_t before = enter_map_hook(map, HOOK_LOOKS);
    kolk_slotmap_move_(map, map_object_at(map, to), map_object_at(map, from), 1);
    leave_map_hook(map, before);
}

/* Ends the life in this slot. Its place is a hole now. */
static void end_map_life(kolk_slotmap *map, uint32_t slot, const void *site) {
    KOLK_ASSERT_(slot < map->fresh && map->cells[slot].place < map->count);
    if (map->on_remove) run_on_remove(map, slot);
    uint32_t place = map->cells[slot].place;
    map->cells[slot] = (kolk_cell_){map->first_hole | HOLE, (map->cells[slot].generation + 1) & KOLK_GENERATION_MAX};
    map->owners[place] = slot | HOLE;
    map->first_hole = place;
    if (map->holes++ == 0) map->remove_bound = 0; /* I5 */
    if (!map_has(map, UINT32_MAX)) return;
    if (map_debug_of(map)) kolk_watch_->dies(map->debug, slot, site);
    if (map_debug_of(map)) kolk_watch_->filled(map->debug, map_object_at(map, place));
    kolk_slotmap_hide_free_(map, place);
}

/* Moves the last object, and its slot with it, into a hole. If it is not `whole`, only the slot moves. */
static void fill_hole(kolk_slotmap *map, uint32_t place, uint32_t last, bool whole) {
    uint32_t moved = map->owners[last];
    if (map_has(map, UINT32_MAX)) kolk_slotmap_show_free_(map, place);
    if (whole) move_object(map, place, last);
    map->cells[moved].place = place;
    map->owners[place] = moved;
}

/* Closes the first hole of the list, and ends the array before holes at its end. Returns its slot, which is free. */
static uint32_t close_first_hole(kolk_slotmap *map, bool whole) {
    uint32_t place = map->first_hole, slot = map->owners[place] & ~HOLE, vacated = place;
    map->first_hole = map->cells[slot].place & ~HOLE;
    while (map->count > 0 && is_hole(map, map->count - 1)) map->count--;
    if (place < map->count) {
        vacated = map->count - 1;
        fill_hole(map, place, vacated, whole);
        map->count = vacated;
    }
    map->owners[vacated] = slot;
    map->cells[slot].place = vacated;
    map->holes--;
    if (map_has(map, UINT32_MAX)) wipe_place(map, slot, vacated);
    if (map_has(map, UINT32_MAX)) kolk_slotmap_hide_free_(map, vacated);
    if (map->on_move && vacated != place && whole) kolk_slotmap_tell_of_move_(map, place, vacated, place);
    return slot;
}

bool kolk_slotmap_close_holes_(kolk_slotmap *map, bool whole, const void *site) {
    if (map->holes == 0) return false;
    if (whole) verify_holes(map, site); /* first, because the handler may longjmp */
    bool wears = false;
    while (map->holes > 0) wears |= map->cells[close_first_hole(map, whole)].generation == 0;
    show_map_bounds(map);
    for (uint32_t place = map->count; wears && place < owned(map);)
        if (map->cells[map->owners[place]].generation == 0)
            retire_slot(map, map->owners[place]);
        else
            place++;
    return true;
}

KOLK_NOINLINE_ void kolk_slotmap_settle(kolk_slotmap *map) {
    if (kolk_slotmap_is_barred_(map, NO_HOOK, "settle", SITE)) return;
    if (kolk_slotmap_close_holes_(map, true, SITE)) kolk_slotmap_readdress_(map);
}

void kolk_slotmap_readdress_(kolk_slotmap *map) {
    if (!map_has(map, KOLK_DEBUG_MOVE) || map->holes) return;
    uint8_t before = enter_map_hook(map, HOOK_LOOKS);
    kolk_slotmap_relocate_(map);
    leave_map_hook(map, before);
    for (uint32_t place = 0; place < map->count; place++) kolk_slotmap_tell_of_move_(map, place, place, place);
}

/* Records that a handle has found no object. */
static void note_none(const kolk_slotmap *map, kolk_handle handle, const void *site) {
    if (kolk_note_stale_(&map->name, handle) && kolk_handle_is_foreign_(handle, map->tag, map->max_capacity) &&
        kolk_note_foreign_(&map->wrong_pool, map_has(map, KOLK_DEBUG_STRICT_)))
        kolk_fail_handle_(map_failure_of(map, KOLK_WRONG_POOL, NO_PLACE, site), handle);
}

/* Returns the slot of the object to remove, or KOLK_NO_SLOT_ if there is none. */
static uint32_t slot_to_remove(const kolk_slotmap *map, kolk_handle handle, const void *site) {
    uint32_t slot = kolk_handle_index_(handle, map->tag);
    if (kolk_slotmap_is_barred_(map, HOOK_FREES, "remove", site)) return KOLK_NO_SLOT_;
    if (!kolk_slotmap_finds_(map, slot, handle)) {
        note_none(map, handle, site);
        return KOLK_NO_SLOT_;
    }
    return is_being_removed(map, slot) ? KOLK_NO_SLOT_ : slot;
}

KOLK_NOINLINE_ bool kolk_slotmap_remove_in_place(kolk_slotmap *map, kolk_handle handle) {
    uint32_t slot = slot_to_remove(map, handle, SITE);
    if (slot != KOLK_NO_SLOT_) end_map_life(map, slot, SITE);
    return slot != KOLK_NO_SLOT_;
}

KOLK_NOINLINE_ bool kolk_slotmap_remove_slow_(kolk_slotmap *map, kolk_handle handle) {
    uint32_t slot = slot_to_remove(map, handle, SITE);
    if (slot == KOLK_NO_SLOT_) return false;
    end_map_life(map, slot, SITE);
    if (!map->removals && kolk_slotmap_close_holes_(map, true, SITE)) kolk_slotmap_readdress_(map);
    return true;
}

static void clear_map(kolk_slotmap *map, const void *site) {
    kolk_slotmap_verify_all_(map, site);
    uint8_t before = enter_map_hook(map, HOOK_FREES);
    for (uint32_t place = map->count; place-- > 0;)
        if (!is_hole(map, place)) end_map_life(map, map->owners[place], site);
    (void)kolk_slotmap_close_holes_(map, true, site);
    leave_map_hook(map, before);
    kolk_slotmap_readdress_(map);
}

KOLK_NOINLINE_ void kolk_slotmap_clear(kolk_slotmap *map) {
    if (!kolk_slotmap_is_barred_(map, NO_HOOK, "clear", SITE)) clear_map(map, SITE);
}

KOLK_NOINLINE_ void *kolk_slotmap_get_slow_(const kolk_slotmap *map, kolk_handle handle) {
    note_none(map, handle, SITE);
    return NULL;
}

KOLK_NOINLINE_ uint32_t kolk_slotmap_slot_slow_(const kolk_slotmap *map, kolk_handle handle) {
    note_none(map, handle, SITE);
    return KOLK_NO_SLOT_;
}

/* ---- From an object to its handle -------------------------------------------------------------------------------- */

static bool has_object(const kolk_slotmap *map, uintptr_t place) {
    return place < map->count && !is_hole(map, (uint32_t)place);
}

/* The slot of the object at a place. In the hooks of a sort, I2 is broken: only the cells are right. */
static uint32_t owner_of(const kolk_slotmap *map, uint32_t place) {
    uint32_t slot = map->owners[place];
    if (map->cells[slot].place == place) return slot;
    for (slot = 0; map->cells[slot].place != place; slot++) KOLK_ASSERT_(slot < map->fresh);
    return slot;
}

KOLK_NOINLINE_ kolk_handle kolk_slotmap_handle_of(const kolk_slotmap *map, const void *object) {
    uintptr_t place = place_of(map, object);
    if (has_object(map, place)) return map_handle_of(map, owner_of(map, (uint32_t)place));
    fail_map_object(map, object, "handle", SITE);
    return (kolk_handle){0};
}

KOLK_NOINLINE_ uint32_t kolk_slotmap_index(const kolk_slotmap *map, const void *object) {
    uintptr_t place = place_of(map, object);
    if (has_object(map, place)) return (uint32_t)place;
    fail_map_object(map, object, "index", SITE);
    return NO_PLACE;
}

/* ---- Memory and questions ---------------------------------------------------------------------------------------- */

/* Gives the bytes of the places in these pages back to the budget, unless the system has refused to release them. */
static void uncount_places(kolk_slotmap *map, uint64_t from, uint64_t end, size_t released) {
    uint32_t kept = (uint32_t)((from + map->stride - 1) / map->stride);
    if (!KOLK_HOSTED || !map->budget || kept >= map->counted) return;
    if (!released && !kolk_memory_discard_(map->objects + from, (size_t)(end - from), false)) return;
    kolk_budget_give_(map->budget, map_bytes_that_count(map, map->counted - kept));
    map->counted = kept;
    show_map_bounds(map);
}

KOLK_NOINLINE_ size_t kolk_slotmap_trim(kolk_slotmap *map) {
    if (kolk_slotmap_is_barred_(map, NO_HOOK, "trim", SITE)) return 0;
    uint64_t page = kolk_memory_page_();
    uint64_t from = round_up((uint64_t)map->count * map->stride, page); /* the objects begin at a page boundary */
    uint64_t end = (uint64_t)map->capacity * map->stride / page * page;
    if (map->memory == MEMORY_CALLERS || from >= end) return 0;
    if (map_debug_of(map)) kolk_watch_->lost(map->debug, (uint32_t)(from / map->stride), map->fresh, false);
    size_t bytes = kolk_memory_discard_(map->objects + from, (size_t)(end - from), true);
    uncount_places(map, from, end, bytes);
    return bytes;
}

void kolk_slotmap_stats(const kolk_slotmap *map, kolk_stats *out) {
    uint32_t peak = kolk_peak_(map->peak, map->fresh);
    *out = (kolk_stats){
        .name = map_name_of(map),
        .kind = "slotmap",
        .object_size = map->object_size,
        .stride = map->stride,
        .count = map->count - map->holes,
        .peak = peak,
        .capacity = map->capacity,
        .max_capacity = map->max_capacity,
        .unused_bytes = (uint64_t)(map->capacity - peak) * map->stride,
        .bytes_reserved = kolk_slotmap_reserved_(map),
        .bytes_committed = kolk_slotmap_committed_(map),
        .failed = map->failed,
        .wrong_pool = kolk_raw_load_(&map->wrong_pool, KOLK_RELAXED_),
        .worn_out = map->worn,
        .recycled = map->recycled,
        .debug = map->debug_flags,
    };
    kolk_tools_wrote_(out, sizeof *out);
}
