/* bytemap.c: the GTA trilogy's pool.
 *
 *     bytemap.c        the essay and the operations
 *     bytemap_debug.c  the debug mode
 *     bytemap_view.c   pools of other programs, and dumps
 *
 *     object_list  | 0 | 1 | 2 | 3 | ... | count |      slots of object_size bytes, side by side, nothing else in them
 *     byte_map     | 01| 83| 02| 80| ... |              1 byte a slot: the flag 0x80 if free, and the seed
 *                        ^ first_free: the slot of the last `new`, or of a later `delete` below it
 *
 * These four fields are the whole pool. A handle has the slot's index in its upper 24 bits and the slot's byte below
 * them. The byte of a live slot does not have the flag. So a handle is valid if its byte equals the slot's byte in the
 * byte map and does not have the flag. The seed counts lives, modulo 128, and `new` advances it. So the handle of a
 * dead object differs from the handle of the next object in its slot.
 *
 * The search for a free slot begins after the cursor, first_free. If the game's own code finds no free slot up to the
 * end, it searches all slots a second time. Only slots up to where the first search began can still be free, so our
 * second pass stops there. The result is the same. Both passes test eight bytes at a time.
 *
 * An attached pool's bytes and cursor belong to another program, so this library keeps no copy of them. Its used slots
 * are counted on demand, and an invalid cursor is treated like one at the end. `bound` is 0, so that `new` and `delete`
 * leave their fast paths (bytemap.inl). The same is so in debug mode. `careful` sends both on, to code that is compiled
 * separately, so that an attached pool without debug mode has none of it.
 *
 * Invariants (kolk_bytemap_is_valid):
 *     I1  0 <= count <= max_count <= 2^23; an initialised pool has both arrays, unless count is 0, and is where it was
 *         initialised
 *     I2  first_free is from -1 to count - 1 (0 in an all-zero pool)
 *     I3  used is the number of bytes without the flag; used <= peak <= count (unless the pool is attached)
 *     I4  object_size == odd << shift, inverse * odd == 1
 *     I5  the pool has a block if it has own arrays or a debug mode; these arrays, and `known`, lie in it
 *     I6  bound == count (0 if the pool is attached or in debug mode); careful: it is read-only or in debug mode
 *     I7  the fills of free slots are unchanged since the debug mode wrote them */
#include "bytemap_inside.h"

#include "../core/begin.h"
#include "../core/block.h"
#include "../os/peek.h"
#include "../core/fail.h"
#include "../core/geometry.h"
#include "../core/probes.h"
#include "../core/tools.h"

#include <string.h>

_Static_assert(sizeof(void *) != 8 || (sizeof(kolk_bytemap) == 136 && sizeof(kolk_bytemap_view) == 80),
               "the layout has changed: raise KOLK_ABI");
_Static_assert(sizeof(void *) != 8 || offsetof(kolk_bytemap, cursor) == 64, "the fast paths read one cache line");

/* Emit each function of bytemap.inl once. */
extern inline void *kolk_bytemap_new(kolk_bytemap *pool);
extern inline void kolk_bytemap_delete(kolk_bytemap *pool, void *object);
extern inline void *kolk_bytemap_get_at(const kolk_bytemap *pool, int32_t handle);
extern inline void *kolk_bytemap_get_slot(const kolk_bytemap *pool, int32_t index);
extern inline kolk_status kolk_bytemap_initialise_type_(kolk_bytemap *pool, int32_t count, size_t object_size,
                                                        const char *name);
extern inline kolk_status kolk_bytemap_initialise(kolk_bytemap *pool, int32_t count, size_t object_size);
extern inline kolk_status kolk_bytemap_initialise_with(kolk_bytemap *pool, const kolk_bytemap_view *view);
extern inline kolk_status kolk_bytemap_attach(kolk_bytemap *pool, const kolk_bytemap_view *view);

#define FREE       KOLK_BYTEMAP_FREE
#define SEED       0x7fu
#define WORD_BYTES 8u /* bytes that are tested in one step */

/* ---- Leaves ------------------------------------------------------------------------------------------------------ */

static bool is_used(const kolk_bytemap *pool, uintptr_t index) {
    return index < (uint32_t)pool->count && !is_free_byte(pool->byte_map[index]);
}

static int32_t handle_at(const kolk_bytemap *pool, uint32_t index) {
    KOLK_ASSERT_(index < (uint32_t)pool->count);
    return (int32_t)(index << 8 | pool->byte_map[index]);
}

#define FLAGS UINT64_C(0x8080808080808080)

/* Returns the free flags of eight slots: the flag bit of each byte. */
static uint64_t flags_at(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word & FLAGS;
}

/* Returns the first of eight slots whose flag is set. */
static uint32_t first_of(uint64_t flags) {
    KOLK_ASSERT_(flags != 0);
#if KOLK_IS_LITTLE_ENDIAN_
    return KOLK_LOWEST_BIT_(flags) / 8;
#else
    return (uint32_t)__builtin_clzll(flags) / 8;
#endif
}

/* Counts the flags of eight slots: the multiplication adds them up in the highest byte. */
static uint32_t count_of(uint64_t flags) {
    return (uint32_t)((flags >> 7) * UINT64_C(0x0101010101010101) >> 56);
}

/* Returns the first slot in [from, end) that is free or, if `free` is false, used. Returns `end` if there is none. */
static inline uint32_t find_byte(const kolk_bytemap *pool, uint32_t from, uint32_t end, bool free) {
    KOLK_ASSERT_(from <= end && end <= (uint32_t)pool->count);
    const uint8_t *bytes = pool->byte_map;
    uint64_t flip = free ? 0 : FLAGS;
    for (; end - from >= WORD_BYTES; from += WORD_BYTES) {
        uint64_t found = flags_at(bytes + from) ^ flip;
        if (found) return from + first_of(found);
    }
    while (from < end && is_free_byte(bytes[from]) != free) from++;
    return from;
}

static uint32_t count_used(const kolk_bytemap *pool) {
    uint32_t used = 0, count = (uint32_t)pool->count, i = 0;
    for (; count - i >= WORD_BYTES; i += WORD_BYTES) used += WORD_BYTES - count_of(flags_at(pool->byte_map + i));
    for (; i < count; i++) used += !is_free_byte(pool->byte_map[i]);
    return used;
}

static int32_t *cursor_of(kolk_bytemap *pool) {
    return pool->cursor ? pool->cursor : &pool->first_free;
}

/* Returns the slot that begins at `object`, or a number not below count if there is none. */
static uintptr_t bytemap_slot_of(const kolk_bytemap *pool, const void *object) {
    return kolk_exact_slot_((uintptr_t)object - (uintptr_t)pool->object_list, pool->shift, pool->inverse);
}

/* ---- Bugs of the caller ------------------------------------------------------------------------------------------ */

/* Reports why the caller cannot `verb` this pointer. A pointer to a slot's start is wrong only if the slot is free. */
static void fail_bytemap_object(const kolk_bytemap *pool, const void *object, const char *verb, const void *site) {
    uint64_t inside;
    uint32_t slot = kolk_locate_(pool->object_list, pool->object_size, (uint32_t)pool->count, object, &inside);
    kolk_failure failure = kolk_bytemap_failure_(pool, KOLK_DOUBLE_FREE, slot, site);
    failure.object = object;
    if (slot != KOLK_NO_SLOT_ && !inside)
        kolk_fail_(failure, "%s of slot %u, which is free", verb, (uint64_t)slot);
    else
        kolk_fail_object_(failure, verb, "slot", inside);
}

/* May the pool be written to? If not, reports an error. */
static bool may_write(const kolk_bytemap *pool, const char *verb, const void *site) {
    if (!pool->read_only) return true;
    kolk_fail_(kolk_bytemap_failure_(pool, KOLK_READ_ONLY, KOLK_NO_SLOT_, site),
               "%s in a pool that was attached without .writable", verb);
    return false;
}

/* ---- Life of a pool ---------------------------------------------------------------------------------------------- */

/* Can the bytes of an attached pool still be read? They belong to the game, which may have freed them. */
static bool has_its_bytes(const kolk_bytemap *pool) {
#if KOLK_HOSTED
    unsigned char bytes[4096];
    for (size_t at = 0, count = (size_t)pool->count; pool->attached && at < count; at += sizeof bytes)
        if (!kolk_peek_(bytes, pool->byte_map + at, count - at < sizeof bytes ? count - at : sizeof bytes))
            return false;
#endif
    return pool->initialized_state;
}

static void list_bytemap_stats(const void *given, kolk_stats *out) {
    const kolk_bytemap *pool = (const kolk_bytemap *)given;
    *out = (kolk_stats){.name = "", .kind = "bytemap"};
    if (has_its_bytes(pool)) kolk_bytemap_stats(pool, out);
}

/* Is the pool initialised? The struct may also be all zero, flushed or, by mistake, uninitialised memory. */
static bool is_initialised(const kolk_bytemap *pool) {
    return pool->self == pool;
}

/* A typed pool's slots may be larger than its type: in the games, slots also hold derived types. */
static kolk_status fit_type(kolk_bytemap_view *view, size_t size, size_t align) {
    if (view->object_size == 0) view->object_size = size;
    if (view->object_size < size || view->object_size % align) return KOLK_TYPE_MISMATCH;
    if ((uintptr_t)view->object_list % align) return KOLK_MEMORY_MISALIGNED;
    return KOLK_OK;
}

enum { OBJECTS, BYTES, KNOWN, BYTEMAP_REGIONS };

static kolk_status check_view(const kolk_bytemap_view *view, bool attach) {
    if (view->object_size == 0) return KOLK_ZERO_SIZE;
    if (view->count < 0 || view->count > KOLK_BYTEMAP_MAX_COUNT) return KOLK_BAD_COUNT;
    int32_t most = view->max_count ? view->max_count : view->count;
    if (most < 0 || most > KOLK_BYTEMAP_MAX_COUNT) return KOLK_BAD_COUNT;
    if (most < view->count) return KOLK_MAX_BELOW_CAPACITY;
    if (most > view->count && (attach || view->byte_map)) return KOLK_CANNOT_GROW;
    size_t count = (size_t)most;
    size_t others =
        2 * count + BYTEMAP_REGIONS * KOLK_MAX_ALIGN_; /* the bytes, twice, and what regions are rounded up */
    if (count && view->object_size > (PTRDIFF_MAX - others) / count) return KOLK_SIZE_OVERFLOW;
    if (!view->object_list != !view->byte_map) return KOLK_ARRAY_MISSING;
    if (attach && view->count && !view->byte_map) return KOLK_ARRAY_MISSING;
    if ((unsigned)view->seeds > KOLK_BYTEMAP_SEED_OF_HANDLE) return KOLK_BAD_SEEDS;
    return KOLK_OK;
}

/* Commits the memory of this many slots, in the pool's own arrays. */
static bool commit_bytemap(kolk_bytemap *pool, int32_t count) {
    void *const starts[] = {pool->object_list, pool->byte_map, pool->known};
    const uint64_t bytes = (uint64_t)count, sizes[] = {bytes * pool->object_size, bytes, pool->known ? bytes : 0};
    if (bytemap_debug_of(pool) && !kolk_watch_->committed(pool->debug, (uint32_t)count)) return false;
    return kolk_block_commit_(starts, sizes, BYTEMAP_REGIONS);
}

/* Makes the pool's block: both arrays, unless they were given, and what the debug mode knows. */
static bool make_bytemap_block(kolk_bytemap *pool) {
    KOLK_ASSERT_(!pool->block && pool->count >= 0);
    uint64_t most = (uint64_t)pool->max_count, own = pool->byte_map ? 0 : most;
    const uint64_t sizes[] = {own * pool->object_size, own, bytemap_debug_of(pool) ? most : 0};
    void *starts[BYTEMAP_REGIONS] = {NULL};
    kolk_block_ block = {.capacity = (uint32_t)pool->count, .max_capacity = (uint32_t)most};
    bool made = kolk_block_make_(&block, sizes, BYTEMAP_REGIONS, starts);
    pool->block = block.start;
    pool->block_size = block.size;
    if (own) pool->object_list = starts[OBJECTS];
    if (own) pool->byte_map = starts[BYTES];
    pool->known = starts[KNOWN];
    return made && (block.kind != MEMORY_GROWS || commit_bytemap(pool, pool->count));
}

static void take_view(kolk_bytemap *pool, const kolk_bytemap_view *view, bool attach) {
    pool->object_list = view->object_list;
    pool->byte_map = view->byte_map;
    pool->object_size = view->object_size;
    pool->count = view->count;
    pool->max_count = view->max_count ? view->max_count : view->count;
    pool->seeds = view->seeds;
    pool->name = kolk_name_kept_(view->name);
    kolk_set_divisor_(view->object_size, &pool->shift, &pool->inverse);
    pool->first_free = attach ? view->first_free : -1;
    pool->cursor = attach ? view->cursor : NULL;
    pool->attached = attach;
    pool->read_only = attach && !view->writable;
    pool->initialized_state = true;
    pool->self = pool;
}

static void set_free(kolk_bytemap *pool, int32_t from) {
    size_t slots = (size_t)(pool->count - from);
    if (!slots) return;
    memset(pool->byte_map + from, (int)FREE, slots);
    if (pool->known) memset(pool->known + from, (int)FREE, slots);
    kolk_tools_wrote_(pool->byte_map + from, slots);
}

/* An attached pool's objects, which the game may have freed by now, are listed when the pool is flushed. */
static kolk_debug *debug_of_listed_bytemap(const void *given, uint32_t *end) {
    const kolk_bytemap *pool = (const kolk_bytemap *)given;
    *end = (uint32_t)pool->count;
    return pool->attached ? NULL : pool->debug;
}

static uintptr_t bytemap_facts(const void *given) {
    const kolk_bytemap *pool = (const kolk_bytemap *)given;
    if (pool->used > pool->count || pool->peak > pool->count || pool->used < 0) return 0;
    if (pool->count > pool->max_count) return 0;
    const unsigned char *attached = (const unsigned char *)&pool->attached; /* its byte may not be a valid bool */
    const unsigned char *initialised = (const unsigned char *)&pool->initialized_state;
    return KOLK_FACTS_(pool->number, *attached, *initialised, (uintptr_t)pool->object_list, (uintptr_t)pool->byte_map,
                       (uintptr_t)pool->max_count, pool->object_size, (uintptr_t)pool->block, (uintptr_t)pool->name,
                       (uintptr_t)pool->self, (uintptr_t)pool->debug, pool->debug_flags);
}

const kolk_kind_ kolk_bytemap_kind_ = {.stats = list_bytemap_stats,
                                       .debug = debug_of_listed_bytemap,
                                       .facts = bytemap_facts,
                                       .size = sizeof(kolk_bytemap),
                                       .id = KOLK_KIND_BYTEMAP_};

static void unmake_bytemap(kolk_bytemap *pool) {
    if (bytemap_debug_of(pool)) kolk_watch_->unmade(pool->debug, (uint32_t)pool->count);
    kolk_block_end_(&(kolk_block_){.start = pool->block, .size = pool->block_size});
    memset(pool, 0, sizeof *pool);
}

kolk_status kolk_bytemap_init_abi_(kolk_bytemap *pool, const kolk_bytemap_view *given, bool attach, size_t type_size,
                                   size_t type_align, size_t pool_size, uint32_t abi) {
    if (abi == KOLK_ABI && pool_size == sizeof *pool && is_initialised(pool)) return KOLK_NOT_FLUSHED;
    kolk_status status = kolk_begin_(pool, pool_size, sizeof *pool, abi, given);
    if (status != KOLK_OK) return status;
    kolk_bytemap_view view = *given;
    if (type_size) status = fit_type(&view, type_size, type_align);
    if (status == KOLK_OK) status = check_view(&view, attach);
    if (status != KOLK_OK) return status;
    kolk_settings_ settings = {0};
    if (!attach || view.writable) settings = kolk_settings_of_(view.name, view.debug, true);
    take_view(pool, &view, attach);
    if (!kolk_bytemap_begin_debug_(pool, settings) || !make_bytemap_block(pool)) {
        unmake_bytemap(pool);
        return KOLK_NO_MEMORY;
    }
    if (!attach) set_free(pool, 0);
    if (attach && pool->known) memcpy(pool->known, pool->byte_map, (size_t)pool->count);
    pool->careful = pool->read_only || bytemap_debug_of(pool);
    pool->bound = attach || pool->careful ? 0 : (uint32_t)pool->count;
    kolk_list_(pool, sizeof *pool, &pool->number, &kolk_bytemap_kind_);
    return KOLK_OK;
}

kolk_status kolk_bytemap_reserve(kolk_bytemap *pool, int32_t count) {
    int32_t before = pool->count;
    if (count <= before) return KOLK_OK;
    if (count > pool->max_count) return KOLK_ABOVE_MAX;
    if (!commit_bytemap(pool, count)) return KOLK_NO_MEMORY;
    PROBE3(grow, kolk_probe_name_(pool->name), before, count);
    pool->count = count;
    if (!pool->attached && !pool->careful) pool->bound = (uint32_t)count;
    set_free(pool, before);
    return KOLK_OK;
}

KOLK_NOINLINE_ void kolk_bytemap_clear(kolk_bytemap *pool) {
    if (!may_write(pool, "clear", SITE)) return;
    kolk_bytemap_verify_(pool, 0, (uint32_t)pool->count, SITE);
    kolk_bytemap_dies_(pool, 0, (uint32_t)pool->count, SITE);
    set_free(pool, 0);
    pool->used = 0;
}

KOLK_NOINLINE_ void kolk_bytemap_flush(kolk_bytemap *pool) {
    if (!kolk_is_home_(pool, pool->number, pool->name, SITE)) return;
    uint32_t count = (uint32_t)pool->count;
    kolk_bytemap_verify_(pool, 0, count, SITE); /* first, because the handler may longjmp */
    if (bytemap_debug_of(pool)) kolk_watch_->leaks(pool->debug, count);
    kolk_unlist_(pool->number);
    pool->number = 0;
    if (!pool->attached) kolk_bytemap_dies_(pool, 0, count, SITE); /* a game's objects live on */
    unmake_bytemap(pool);
}

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Begins a life in a free slot. `debug` is a constant: the pool is in debug mode. */
static KOLK_ALWAYS_INLINE_ void *issue_byte(kolk_bytemap *pool, uint32_t index, unsigned seed, bool debug,
                                            const void *site) {
    KOLK_ASSERT_(index < (uint32_t)pool->count && is_free_byte(pool->byte_map[index]));
    pool->byte_map[index] = (uint8_t)(seed & SEED);
    if (!pool->attached && ++pool->used > pool->peak) pool->peak = pool->used;
    if (debug) kolk_bytemap_born_(pool, index, site);
    return bytemap_slot_at(pool, index);
}

static void report_full(kolk_bytemap *pool, const void *site) {
    kolk_failure failure = kolk_bytemap_failure_(pool, KOLK_FULL, KOLK_NO_SLOT_, site);
    uint64_t count = (uint32_t)pool->count, used = (uint32_t)kolk_bytemap_used_count(pool);
    char holders[KOLK_HOLDERS_WORDS_];
    kolk_bytemap_verify_(pool, 0, (uint32_t)count, site);
    if (bytemap_debug_of(pool))
        failure.holders = kolk_watch_->holders(pool->debug, (uint32_t)count, holders, sizeof holders);
    if (used < count)
        kolk_fail_(failure, "full: KOLK_FAIL says so; %u of %u slots are in use", used, count);
    else
        kolk_fail_(failure, "full: all %u slots are in use", count);
}

/* A function of its own, which leaves the stack of `new` as it was. */
static KOLK_NOINLINE_ void *refuse_new(kolk_bytemap *pool, int32_t *cursor, const void *site) {
    *cursor = -1;
    pool->failed++;
    PROBE2(full, kolk_probe_name_(pool->name), pool->count);
    if (pool->trap_full) report_full(pool, site);
    return NULL;
}

/* Returns the first free slot after the cursor, or before it; count if there is none. */
static KOLK_ALWAYS_INLINE_ uint32_t find_free(const kolk_bytemap *pool, int32_t cursor) {
    uint32_t count = (uint32_t)pool->count, from = (uint32_t)cursor + 1;
    if (from > count) from = count;
    uint32_t index = find_byte(pool, from, count, true);
    if (index < count) return index;
    index = find_byte(pool, 0, from, true);
    return index < from ? index : count;
}

static KOLK_ALWAYS_INLINE_ void *new_object(kolk_bytemap *pool, bool debug, const void *site) {
    int32_t *cursor = cursor_of(pool);
    uint32_t count = (uint32_t)pool->count;
    uint32_t index = debug && kolk_debug_fails_(pool->debug) ? count : find_free(pool, *cursor);
    if (index == count) return refuse_new(pool, cursor, site);
    if (debug) kolk_bytemap_verify_(pool, index, index + 1, site); /* first, because the handler may longjmp */
    *cursor = (int32_t)index;
    return issue_byte(pool, index, pool->byte_map[index] + 1u, debug, site);
}

static KOLK_NOINLINE_ void *new_carefully(kolk_bytemap *pool, const void *site) {
    return may_write(pool, "new", site) ? new_object(pool, true, site) : NULL;
}

KOLK_NOINLINE_ void *kolk_bytemap_new_slow_(kolk_bytemap *pool) {
    return pool->careful ? new_carefully(pool, SITE) : new_object(pool, false, SITE);
}

KOLK_NOINLINE_ void *kolk_bytemap_new_at(kolk_bytemap *pool, int32_t handle) {
    if (!may_write(pool, "new_at", SITE)) return NULL;
    uint32_t index = (uint32_t)handle >> 8, count = (uint32_t)pool->count; /* a negative handle has an index >= 2^23 */
    if (index >= count || !is_free_byte(pool->byte_map[index])) return NULL;
    bool given = pool->seeds == KOLK_BYTEMAP_SEED_OF_HANDLE;
    kolk_bytemap_verify_(pool, index, index + 1, SITE);
    void *object = issue_byte(pool, index, given ? (uint32_t)handle : pool->byte_map[index] + 1u, true, SITE);
    uint32_t first = find_byte(pool, 0, count, true);
    *cursor_of(pool) = first < count ? (int32_t)first : -1;
    return object;
}

static KOLK_ALWAYS_INLINE_ void delete_object(kolk_bytemap *pool, void *object, bool debug, const void *site) {
    uintptr_t index = bytemap_slot_of(pool, object);
    if (!is_used(pool, index)) {
        fail_bytemap_object(pool, object, "delete", site);
        return;
    }
    int32_t *cursor = cursor_of(pool);
    if (debug) kolk_bytemap_verify_(pool, (uint32_t)index, (uint32_t)index + 1, site);
    if (debug) kolk_bytemap_dies_(pool, (uint32_t)index, (uint32_t)index + 1, site);
    if (debug && !pool->attached) pool->used--;
    pool->byte_map[index] |= FREE;
    if ((int32_t)index < *cursor) *cursor = (int32_t)index;
}

static KOLK_NOINLINE_ void delete_carefully(kolk_bytemap *pool, void *object, const void *site) {
    if (may_write(pool, "delete", site)) delete_object(pool, object, true, site);
}

/* Deletes objects of attached pools and in debug mode, and reports mistakes for all pools. */
KOLK_NOINLINE_ void kolk_bytemap_delete_slow_(kolk_bytemap *pool, void *object) {
    if (!object) return;
    if (pool->careful)
        delete_carefully(pool, object, SITE);
    else
        delete_object(pool, object, false, SITE);
}

KOLK_NOINLINE_ bool kolk_bytemap_set_byte(kolk_bytemap *pool, int32_t index, uint8_t byte) {
    if (!may_write(pool, "set_byte", SITE) || (uint32_t)index >= (uint32_t)pool->count) return false;
    int32_t more = is_free_byte(pool->byte_map[index]) - is_free_byte(byte);
    kolk_bytemap_note_byte_(pool, (uint32_t)index, byte, SITE);
    pool->byte_map[index] = byte;
    if (pool->attached) return true;
    pool->used += more;
    if (pool->used > pool->peak) pool->peak = pool->used;
    return true;
}

/* ---- Handles and indices ----------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ int32_t kolk_bytemap_get_just_index(const kolk_bytemap *pool, const void *object) {
    uintptr_t index = bytemap_slot_of(pool, object);
    if (index < (uint32_t)pool->count) return (int32_t)index;
    fail_bytemap_object(pool, object, "get_just_index", SITE);
    return -1;
}

KOLK_NOINLINE_ int32_t kolk_bytemap_get_index(const kolk_bytemap *pool, const void *object) {
    uintptr_t index = bytemap_slot_of(pool, object);
    if (index < (uint32_t)pool->count) return handle_at(pool, (uint32_t)index);
    fail_bytemap_object(pool, object, "get_index", SITE);
    return KOLK_BYTEMAP_NULL;
}

/* ---- Questions --------------------------------------------------------------------------------------------------- */

int32_t kolk_bytemap_used_count(const kolk_bytemap *pool) {
    return pool->attached ? (int32_t)count_used(pool) : pool->used;
}

int32_t kolk_bytemap_free_count(const kolk_bytemap *pool) {
    return pool->count - kolk_bytemap_used_count(pool);
}

void kolk_bytemap_stats(const kolk_bytemap *pool, kolk_stats *out) {
    uint32_t used = (uint32_t)kolk_bytemap_used_count(pool), count = (uint32_t)pool->count;
    uint32_t peak = pool->attached ? used : (uint32_t)pool->peak;
    uint64_t each = (uint64_t)pool->object_size + 1;
    *out = (kolk_stats){
        .name = pool->name ? pool->name : "",
        .kind = "bytemap",
        .object_size = pool->object_size,
        .stride = pool->object_size,
        .count = used,
        .peak = peak,
        .capacity = count,
        .max_capacity = (uint32_t)pool->max_count,
        .unused_bytes = (uint64_t)(count - peak) * pool->object_size,
        .bytes_reserved = (uint64_t)pool->max_count * each,
        .bytes_committed = count * each,
        .failed = pool->failed,
        .debug = pool->debug_flags,
    };
    kolk_tools_wrote_(out, sizeof *out);
}

/* ---- Walking ----------------------------------------------------------------------------------------------------- */

KOLK_NOINLINE_ void *kolk_bytemap_next(const kolk_bytemap *pool, const void *object) {
    uint32_t count = (uint32_t)pool->count, from = 0;
    if (object) {
        uintptr_t before = bytemap_slot_of(pool, object);
        if (before >= count) {
            fail_bytemap_object(pool, object, "next", SITE);
            return NULL;
        }
        from = (uint32_t)before + 1;
    }
    uint32_t index = find_byte(pool, from, count, false);
    return index < count ? bytemap_slot_at(pool, index) : NULL;
}

int32_t kolk_bytemap_next_handle(const kolk_bytemap *pool, int32_t handle) {
    uint32_t count = (uint32_t)pool->count, from = ((uint32_t)handle >> 8) + 1;
    if (handle == KOLK_BYTEMAP_NULL) from = 0;
    if (from > count) from = count;
    uint32_t index = find_byte(pool, from, count, false);
    return index < count ? handle_at(pool, index) : KOLK_BYTEMAP_NULL;
}

/* ---- Validity ---------------------------------------------------------------------------------------------------- */

static bool is_in_block(const kolk_bytemap *pool, const uint8_t *bytes) {
    uintptr_t from = (uintptr_t)bytes - (uintptr_t)pool->block;
    return from <= pool->block_size && (size_t)pool->count <= pool->block_size - from;
}

static bool is_block_valid(const kolk_bytemap *pool) {
    bool own = pool->block && pool->object_list == pool->block;
    if (own && !is_in_block(pool, pool->byte_map)) return false;
    if (pool->debug && pool->count && !pool->known) return false;
    return pool->known ? pool->debug && is_in_block(pool, pool->known) : own || !pool->block;
}

static bool are_fills_intact(const kolk_bytemap *pool) {
    for (uint32_t i = 0; bytemap_debug_of(pool) && i < (uint32_t)pool->count; i++)
        if (is_free_byte(pool->byte_map[i]) && kolk_bytemap_knows_(pool, i) &&
            !kolk_watch_->is_intact(pool->debug, i, bytemap_slot_at(pool, i), false))
            return false;
    return true;
}

bool kolk_bytemap_is_valid(const kolk_bytemap *pool) {
    int32_t count = pool->count, cursor = pool->cursor ? *pool->cursor : pool->first_free;
    if (count < 0 || count > pool->max_count || pool->max_count > KOLK_BYTEMAP_MAX_COUNT) return false; /* I1 */
    if (cursor < -1 || cursor > (count ? count - 1 : 0)) return false;                                  /* I2 */
    bool is_zero = count == 0 && pool->bound == 0 && !pool->object_list && !pool->byte_map && pool->used == 0;
    if (!pool->initialized_state) return is_zero;
    if (pool->self != pool || (count && (!pool->object_list || !pool->byte_map))) return false; /* I1 */
    if (pool->object_size >> pool->shift << pool->shift != pool->object_size) return false;
    if ((uintptr_t)(pool->object_size >> pool->shift) * pool->inverse != 1) return false;     /* I4 */
    if (pool->bound != (pool->attached || pool->careful ? 0 : (uint32_t)count)) return false; /* I6 */
    if (pool->careful != (pool->read_only || bytemap_debug_of(pool))) return false;
    if (!is_block_valid(pool) || !are_fills_intact(pool)) return false; /* I5, I7 */
    if (pool->attached) return true;
    return (uint32_t)pool->used == count_used(pool) && pool->used <= pool->peak && pool->peak <= count; /* I3 */
}
