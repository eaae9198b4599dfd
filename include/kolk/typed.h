/* SPDX-License-Identifier: Zlib */
/* kolk/typed.h: typed pools. The compiler then reports an object, a pool or a handle of the wrong type. Each kind of
 * pool has a section below. The first example is for pools.
 *
 *     KOLK_POOL_TYPE(bullets, struct bullet)      // at file scope; in a header too
 *
 * makes the types `bullets` (a pool), `bullets_object` (struct bullet) and `bullets_handle`, and the functions
 * bullets_init, _alloc, _alloc_n, _alloc_run, _alloc_zeroed, _alloc_at, _alloc_at_index, _alloc_in, _free, _free_n,
 * _free_handle, _free_at, _renew, _pin, _unpin, _get, _handle_of, _each, _each_in, _each_next, _each_next_run, _index,
 * _at, _is_live, _count, _available, _can_alloc, _clear, _reserve, _trim, _stats, _is_valid and _deinit, and so on.
 * These are the functions of pool.h with your type for void *. The untyped pool is `bullets.pool`: pass it to any
 * function of pool.h but kolk_pool_init. Leave object_size and object_align in the descriptor 0: they follow from the
 * type. A descriptor without a name gets the type's name (this holds for all kinds below), so that only pools of the
 * same type share a tag.
 *
 * C++ has the classes of kolk.hpp, which construct and destroy objects. These macros work there too: `kolk_pool_desc
 * desc = {}; desc.capacity = 256; bullets_init(&pool, &desc);`, or in C++20 `kolk_pool_desc desc{.capacity = 256};`.
 * Pools, shared pools and pools between processes of a type with a destructor do not compile. Slot maps and queues copy
 * bytes: if a type is not trivially copyable, they do not compile. Snapshots copy bytes too, but the compiler cannot
 * check that. A copy of a typed pool does not compile, unless it is a resource pool.
 *
 * A semicolon after this macro, and after the others that make functions, is optional. In C, the last line of a file
 * needs it.
 *
 * To hide the type from all files but one, so that only this file's functions create objects:
 *
 *     particles.h   typedef struct particle particle;              // incomplete
 *                   KOLK_POOL_DECLARE(particles, particle)         // everything but init and alloc
 *     particles.c   struct particle { ... };
 *                   KOLK_POOL_DEFINE(particles, particle)          // init and alloc
 *
 * Objects of several types in one pool: a union is C's list of types, and has the size of the largest one. Each
 * KOLK_POOL_MEMBER adds an alloc and a free for one member of the union. It does not compile if the union has no such
 * member, or if the member has a different type.
 *
 *     union shape { struct circle circle; struct square square; };
 *     KOLK_POOL_TYPE(shapes, union shape)
 *     KOLK_POOL_MEMBER(shapes, struct circle, circle)              // struct circle *shapes_alloc_circle(shapes *)
 *
 * Cost      none: each function is one cast and one call. With KOLK_POOL_TYPE, alloc, free and get are faster than the
 *           untyped ones, because the stride is a constant.
 * Memory    KOLK_POOL_STORAGE(T, n) is the type of static storage for n objects; you write the declaration:
 *               static KOLK_POOL_STORAGE(struct bullet, 256) memory;
 *               ... .capacity = 256, .memory = &memory, .memory_size = sizeof memory
 *           KOLK_POOL_STATIC(bullets, fired, 256); outside of functions defines a static pool that needs no init: the
 *           compiler initialises it, and its storage. Until its first alloc, alloc_at or rebind, or the init of a pool
 *           that overflows into it, it has no slots, like an all-zero pool; statistics do not list it, and a restore
 *           fails. That first call makes the pool, as init does. Options and a name of your own need an init. The pool
 *           has fired_alloc(), fired_free(bullet) and fired_get(handle), which do what bullets_alloc(&fired) and so on
 *           do, and are faster, because the addresses of its arrays are constants. Once the pool has been ended, these
 *           three must not be called, even if an init makes it again. Not in C++. (The program must be compiled with
 *           the headers of the library that it runs with: there is no init that could report KOLK_WRONG_ABI.)
 * Contents, Threads, Design    as in pool.h. */
#ifndef KOLK_TYPED_H
#define KOLK_TYPED_H

#include "base.h"
#include "bytemap.h"
#include "ipc.h"
#include "pool.h"
#include "queue.h"
#include "resource.h"
#include "shared.h"
#include "slotmap.h"

#ifdef __cplusplus
#define KOLK_ALIGNOF_(T)            alignof(T)
#define KOLK_SAME_TYPE_(T, pointer) sizeof(static_cast<char (*)(T *)>(nullptr)(pointer))
#elif !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#define KOLK_ALIGNOF_(T)            (__extension__ _Alignof(T))
#define KOLK_SAME_TYPE_(T, pointer) sizeof(__extension__ _Generic((pointer), T * : (char)0))
#else
#define KOLK_ALIGNOF_(T)            _Alignof(T)
#define KOLK_SAME_TYPE_(T, pointer) sizeof(_Generic((pointer), T * : (char)0))
#endif

/* Check in C++ that a type may be copied as bytes, and that its objects need no destructor. In C every type may, and
 * none does. Typed pools are pinned: C++ does not copy them. */
#ifdef __cplusplus
#define KOLK_COPIED_(T)                                                                                                \
    static_assert(__is_trivially_copyable(T),                                                                          \
                  "kolk copies these as bytes: use kolk::slot_map or kolk::queue (kolk.hpp)");
#if defined(__clang__) || KOLK_MSVC_
#define KOLK_DESTROYED_(T)                                                                                             \
    static_assert(__is_trivially_destructible(T), "kolk calls no destructors here: use kolk::pool (kolk.hpp)");
#else
#define KOLK_DESTROYED_(T)                                                                                             \
    static_assert(__has_trivial_destructor(T), "kolk calls no destructors here: use kolk::pool (kolk.hpp)");
#endif
struct kolk_pinned_ {
    kolk_pinned_() = default;
    kolk_pinned_(const kolk_pinned_ &) = delete;
    kolk_pinned_ &operator=(const kolk_pinned_ &) = delete;
};
#define KOLK_PINNED_ : kolk_pinned_
#else
#define KOLK_COPIED_(T)
#define KOLK_DESTROYED_(T)
#define KOLK_PINNED_
#endif

/* clang-format off */
/* Parameters end in _ so that a type may be called object, handle, pool ... */
#define KOLK_TYPED_      static KOLK_INLINE_AT_O0_ KOLK_UNUSED_
#define KOLK_TYPED_LOOP_ static KOLK_INLINE_IN_LOOPS_ KOLK_UNUSED_

/* ---- Pools (pool.h) ---------------------------------------------------------------------------------------------- */

/* The objects are the first member, so that a debugger shows them. */
#define KOLK_POOL_STORAGE(T, n)                                                                                        \
    union {                                                                                                            \
        T objects[n];                                                                                                  \
        KOLK_ALIGNAS(8) unsigned char bytes[KOLK_POOL_BYTES(sizeof(T), KOLK_ALIGNOF_(T), n)];                          \
    }

#ifndef __cplusplus
#define KOLK_POOL_STATIC(type_, pool_, n)                                                                              \
    static KOLK_POOL_STORAGE(type_##_object, n) pool_##_memory_;                                                       \
    static type_ pool_ = {.pool = {.name = #type_, .object_size = sizeof(type_##_object),                              \
        .object_align = KOLK_ALIGNOF_(type_##_object), .first = (n), .slots = pool_##_memory_.bytes,                   \
        .block_size = sizeof pool_##_memory_}};                                                                        \
    enum { pool_##_states_ = KOLK_POOL_STATES_AT_(sizeof(type_##_object), KOLK_ALIGNOF_(type_##_object), n),           \
        pool_##_high_ = KOLK_POOL_HIGH_AT_(sizeof(type_##_object), KOLK_ALIGNOF_(type_##_object), n) };                \
    KOLK_TYPED_ type_##_object *pool_##_alloc(void) {                                                                  \
        return (type_##_object *)kolk_pool_alloc_in_(&pool_.pool, pool_##_memory_.bytes,                               \
            pool_##_memory_.bytes + pool_##_states_, sizeof(type_##_object)); }                                        \
    KOLK_TYPED_ void pool_##_free(type_##_object *object_) {                                                           \
        kolk_pool_free_in_(&pool_.pool, pool_##_memory_.bytes, pool_##_memory_.bytes + pool_##_states_, object_,       \
            sizeof(type_##_object)); }                                                                                 \
    KOLK_TYPED_ type_##_object *pool_##_get(type_##_handle handle_) {                                                  \
        return (type_##_object *)kolk_pool_get_in_(&pool_.pool, pool_##_memory_.bytes,                                 \
            pool_##_memory_.bytes + pool_##_states_,                                                                   \
            (const uint32_t *)(const void *)(pool_##_memory_.bytes + pool_##_high_), handle_.untyped,                  \
            sizeof(type_##_object)); } KOLK_END_
#endif

#define KOLK_POOL_TYPE(name, ...)                                                                                      \
    typedef __VA_ARGS__ name##_object;                                                                                 \
    KOLK_DESTROYED_(name##_object)                                                                                     \
    KOLK_POOL_TYPE_(name, name##_object)
#define KOLK_POOL_TYPE_(name, T)                                                                                       \
    KOLK_POOL_TYPES_(name, T)                                                                                          \
    KOLK_POOL_COMMON_(name, T)                                                                                         \
    KOLK_POOL_DEFINE_(name, T)                                                                                         \
    KOLK_TYPED_ void name##_free(name *pool_, T *object_) { kolk_pool_free_sized_(&pool_->pool, object_, sizeof(T)); } \
    KOLK_TYPED_ T *name##_get(const name *pool_, name##_handle handle_) { \
        return KOLK_CAST_(T *, kolk_pool_get_sized_(&pool_->pool, handle_.untyped, sizeof(T))); } KOLK_END_

#define KOLK_POOL_DECLARE(name, ...)                                                                                   \
    typedef __VA_ARGS__ name##_object;                                                                                 \
    KOLK_POOL_DECLARE_(name, name##_object)
#define KOLK_POOL_DECLARE_(name, T)                                                                                    \
    KOLK_POOL_TYPES_(name, T)                                                                                          \
    KOLK_POOL_COMMON_(name, T)                                                                                         \
    KOLK_TYPED_ void name##_free(name *pool_, T *object_) { kolk_pool_free(&pool_->pool, object_); }                   \
    KOLK_TYPED_ T *name##_get(const name *pool_, name##_handle handle_) { \
        return KOLK_CAST_(T *, kolk_pool_get(&pool_->pool, handle_.untyped)); } KOLK_END_

#define KOLK_POOL_DEFINE(name, T)                                                                                      \
    KOLK_DESTROYED_(T)                                                                                                 \
    KOLK_POOL_DEFINE_(name, T)
#define KOLK_POOL_DEFINE_(name, T)                                                                                     \
    KOLK_TYPED_ kolk_status name##_init(name *pool_, const kolk_pool_desc *desc_) { \
        kolk_pool_desc named_; \
        return kolk_pool_init_typed_(&pool_->pool, kolk_pool_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T)); } \
    KOLK_TYPED_ kolk_status name##_rebind(name *pool_, const kolk_pool_desc *desc_) { \
        kolk_pool_desc named_; \
        return kolk_pool_rebind_abi_(&pool_->pool, kolk_pool_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_pool), KOLK_POOL_ABI_); } \
    KOLK_TYPED_ name##_object *name##_alloc(name *pool_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_sized_(&pool_->pool, sizeof(T))); } \
    KOLK_TYPED_ name##_object *name##_renew(name *pool_, name##_object *object_) { \
        return KOLK_CAST_(T *, kolk_pool_renew_sized_(&pool_->pool, object_, sizeof(T))); } \
    KOLK_TYPED_ name##_object *name##_alloc_zeroed(name *pool_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_zeroed(&pool_->pool)); } \
    KOLK_TYPED_ name##_object *name##_alloc_urgent(name *pool_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_urgent(&pool_->pool)); } \
    KOLK_TYPED_ name##_object *name##_alloc_over(name *pool_, double cost_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_over(&pool_->pool, cost_)); } \
    KOLK_TYPED_ uint32_t name##_alloc_n(name *pool_, name##_object **objects_, uint32_t n_) { \
        return kolk_pool_alloc_n(&pool_->pool, KOLK_CAST_(void **, KOLK_CAST_(void *, objects_)), n_); } \
    KOLK_TYPED_ void name##_free_n(name *pool_, name##_object *const *objects_, uint32_t n_) { \
        kolk_pool_free_n(&pool_->pool, KOLK_CAST_(void *const *, KOLK_CAST_(const void *, objects_)), n_); } \
    KOLK_TYPED_ name##_object *name##_alloc_run(name *pool_, uint32_t n_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_run(&pool_->pool, n_)); } \
    KOLK_TYPED_ name##_object *name##_alloc_at(name *pool_, name##_handle handle_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_at(&pool_->pool, handle_.untyped)); } \
    KOLK_TYPED_ name##_object *name##_alloc_at_index(name *pool_, uint32_t index_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_at_index(&pool_->pool, index_)); } \
    KOLK_TYPED_ name##_object *name##_alloc_in(name *pool_, uint32_t first_, uint32_t n_) { \
        return KOLK_CAST_(T *, kolk_pool_alloc_in(&pool_->pool, first_, n_)); } KOLK_END_

#define KOLK_POOL_MEMBER(name, T, member)                                                                              \
    KOLK_TYPED_ T *name##_alloc_##member(name *pool_) { \
        (void)KOLK_SAME_TYPE_(T, &KOLK_CAST_(name##_object *, NULL)->member); \
        return KOLK_CAST_(T *, KOLK_CAST_(void *, name##_alloc(pool_))); } \
    KOLK_TYPED_ void name##_free_##member(name *pool_, T *object_) { \
        name##_free(pool_, KOLK_CAST_(name##_object *, KOLK_CAST_(void *, object_))); } KOLK_END_

#define KOLK_POOL_TYPES_(name, T)                                                                                      \
    typedef struct name KOLK_PINNED_ { kolk_pool pool; } name;                                                         \
    typedef struct name##_handle { kolk_handle untyped; } name##_handle;                                               \
    typedef kolk_cursor name##_cursor;

#define KOLK_POOL_COMMON_(name, T)                                                                                     \
    KOLK_TYPED_ void name##_deinit(name *pool_) { kolk_pool_deinit(&pool_->pool); }                                    \
    KOLK_TYPED_ void name##_clear(name *pool_) { kolk_pool_clear(&pool_->pool); }                                      \
    KOLK_TYPED_ kolk_status name##_reserve(name *pool_, uint32_t capacity_) { \
        return kolk_pool_reserve(&pool_->pool, capacity_); } \
    KOLK_TYPED_ size_t name##_trim(name *pool_) { return kolk_pool_trim(&pool_->pool); }                               \
    KOLK_TYPED_ size_t name##_tick(name *pool_, uint32_t slots_) { return kolk_pool_tick(&pool_->pool, slots_); }      \
    KOLK_TYPED_ T *name##_oldest(name *pool_) { return KOLK_CAST_(T *, kolk_pool_oldest(&pool_->pool)); }              \
    KOLK_TYPED_ T *name##_newest(name *pool_) { return KOLK_CAST_(T *, kolk_pool_newest(&pool_->pool)); }              \
    KOLK_TYPED_ T *name##_newer(name *pool_, const T *object_) { \
        return KOLK_CAST_(T *, kolk_pool_newer(&pool_->pool, object_)); } \
    KOLK_TYPED_ T *name##_older(name *pool_, const T *object_) { \
        return KOLK_CAST_(T *, kolk_pool_older(&pool_->pool, object_)); } \
    KOLK_TYPED_ void name##_touch(name *pool_, const T *object_) { kolk_pool_touch(&pool_->pool, object_); }           \
    KOLK_TYPED_ void name##_protect(name *pool_, const T *object_, bool on_) { \
        kolk_pool_protect(&pool_->pool, object_, on_); } \
    KOLK_TYPED_ void name##_pin(name *pool_, const T *object_) { kolk_pool_pin(&pool_->pool, object_); }               \
    KOLK_TYPED_ void name##_unpin(name *pool_, const T *object_) { kolk_pool_unpin(&pool_->pool, object_); }           \
    KOLK_TYPED_ void name##_recost(name *pool_, const T *object_) { kolk_pool_recost(&pool_->pool, object_); }         \
    KOLK_TYPED_ size_t name##_snapshot_size(const name *pool_) { return kolk_pool_snapshot_size(&pool_->pool); }       \
    KOLK_TYPED_ size_t name##_snapshot(const name *pool_, void *block_, size_t size_) { \
        return kolk_pool_snapshot(&pool_->pool, block_, size_); } \
    KOLK_TYPED_ kolk_status name##_restore(name *pool_, const void *block_, size_t size_) { \
        return kolk_pool_restore(&pool_->pool, block_, size_); } \
    KOLK_TYPED_ kolk_status name##_restore_converted(name *pool_, const void *block_, size_t size_, \
        void (*convert_)(void *, const void *, size_t, void *), void *context_) { \
        return kolk_pool_restore_converted(&pool_->pool, block_, size_, convert_, context_); } \
    KOLK_TYPED_ uint64_t name##_hash(name *pool_, uint64_t (*hash_)(const void *, void *), void *context_) { \
        return kolk_pool_hash(&pool_->pool, hash_, context_); } \
    KOLK_TYPED_ bool name##_free_handle(name *pool_, name##_handle handle_) { \
        return kolk_pool_free_handle(&pool_->pool, handle_.untyped); } \
    KOLK_TYPED_ bool name##_free_at(name *pool_, uint32_t index_) { \
        return kolk_pool_free_at(&pool_->pool, index_); } \
    KOLK_TYPED_ name##_handle name##_handle_of(const name *pool_, const T *object_) { \
        name##_handle handle_ = {kolk_pool_handle_of(&pool_->pool, object_)}; return handle_; } \
    KOLK_TYPED_ uint32_t name##_index(const name *pool_, const T *object_) { \
        return kolk_pool_index(&pool_->pool, object_); } \
    KOLK_TYPED_ T *name##_at(const name *pool_, uint32_t index_) { \
        return KOLK_CAST_(T *, kolk_pool_at(&pool_->pool, index_)); } \
    KOLK_TYPED_ bool name##_is_live(const name *pool_, const void *object_) { \
        return kolk_pool_is_live(&pool_->pool, object_); } \
    KOLK_TYPED_ uint32_t name##_count(const name *pool_) { return kolk_pool_count(&pool_->pool); }                     \
    KOLK_TYPED_ uint32_t name##_available(const name *pool_) { return kolk_pool_available(&pool_->pool); }             \
    KOLK_TYPED_ bool name##_can_alloc(const name *pool_, uint32_t n_) { \
        return kolk_pool_can_alloc(&pool_->pool, n_); } \
    KOLK_TYPED_ void name##_stats(const name *pool_, kolk_stats *out_) { kolk_pool_stats(&pool_->pool, out_); }        \
    KOLK_TYPED_ bool name##_is_valid(const name *pool_) { return kolk_pool_is_valid(&pool_->pool); }                   \
    KOLK_TYPED_ kolk_cursor name##_each(const name *pool_) { return kolk_pool_each(&pool_->pool); }                    \
    KOLK_TYPED_ kolk_cursor name##_each_in(const name *pool_, uint32_t first_, uint32_t n_) { \
        return kolk_pool_each_in(&pool_->pool, first_, n_); } \
    KOLK_TYPED_LOOP_ T *name##_each_next(kolk_cursor *cursor_) { return KOLK_CAST_(T *, kolk_cursor_next(cursor_)); }  \
    KOLK_TYPED_LOOP_ T *name##_each_next_run(kolk_cursor *cursor_, uint32_t *length_) { \
        return KOLK_CAST_(T *, kolk_cursor_next_run(cursor_, length_)); }

/* ---- Byte maps (bytemap.h) --------------------------------------------------------------------------------------- */

/* The pool of the GTA trilogy. Its slots may be larger than the type, as they are in the games:
 *
 *     KOLK_BYTEMAP_TYPE(peds, CPed)
 *
 * makes `peds`, `peds_object`, and peds_initialise (of a count), _initialise_with, _attach, _reserve, _export, _clear,
 * _flush, _new, _new_at, _delete, _set_byte, _get_slot, _get_at, _get_just_index, _get_index, _used_count,
 * _free_count, _next, _next_handle, _stats and _is_valid. Handles are int32_t, as they are in scripts. object_size may
 * be 0 or more than the type's. */
#define KOLK_BYTEMAP_TYPE(name, ...)                                                                                   \
    typedef __VA_ARGS__ name##_object;                                                                                 \
    KOLK_BYTEMAP_TYPE_(name, name##_object)
#define KOLK_BYTEMAP_TYPE_(name, T)                                                                                    \
    typedef struct name KOLK_PINNED_ { kolk_bytemap pool; } name;                                                      \
    KOLK_TYPED_ kolk_status name##_initialise_with(name *pool_, const kolk_bytemap_view *view_) { \
        kolk_bytemap_view named_; \
        return kolk_bytemap_init_abi_(&pool_->pool, kolk_bytemap_view_named_(view_, #name, &named_), false, sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_bytemap), \
            KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_attach(name *pool_, const kolk_bytemap_view *view_) { \
        kolk_bytemap_view named_; \
        return kolk_bytemap_init_abi_(&pool_->pool, kolk_bytemap_view_named_(view_, #name, &named_), true, sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_bytemap), \
            KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_initialise(name *pool_, int32_t count_) { \
        return kolk_bytemap_initialise_type_(&pool_->pool, count_, sizeof(T), #name); } \
    KOLK_TYPED_ kolk_status name##_reserve(name *pool_, int32_t count_) { \
        return kolk_bytemap_reserve(&pool_->pool, count_); } \
    KOLK_TYPED_ kolk_status name##_export(name *pool_, kolk_bytemap_layout layout_, void *game_) { \
        return kolk_bytemap_export(&pool_->pool, layout_, game_); } \
    KOLK_TYPED_ void name##_clear(name *pool_) { kolk_bytemap_clear(&pool_->pool); }                                   \
    KOLK_TYPED_ void name##_flush(name *pool_) { kolk_bytemap_flush(&pool_->pool); }                                   \
    KOLK_TYPED_ T *name##_new(name *pool_) { return KOLK_CAST_(T *, kolk_bytemap_new(&pool_->pool)); }                 \
    KOLK_TYPED_ T *name##_new_at(name *pool_, int32_t handle_) { \
        return KOLK_CAST_(T *, kolk_bytemap_new_at(&pool_->pool, handle_)); } \
    KOLK_TYPED_ void name##_delete(name *pool_, T *object_) { kolk_bytemap_delete(&pool_->pool, object_); }            \
    KOLK_TYPED_ bool name##_set_byte(name *pool_, int32_t index_, uint8_t byte_) { \
        return kolk_bytemap_set_byte(&pool_->pool, index_, byte_); } \
    KOLK_TYPED_ T *name##_get_slot(const name *pool_, int32_t index_) { \
        return KOLK_CAST_(T *, kolk_bytemap_get_slot(&pool_->pool, index_)); } \
    KOLK_TYPED_ T *name##_get_at(const name *pool_, int32_t handle_) { \
        return KOLK_CAST_(T *, kolk_bytemap_get_at(&pool_->pool, handle_)); } \
    KOLK_TYPED_ int32_t name##_get_just_index(const name *pool_, const T *object_) { \
        return kolk_bytemap_get_just_index(&pool_->pool, object_); } \
    KOLK_TYPED_ int32_t name##_get_index(const name *pool_, const T *object_) { \
        return kolk_bytemap_get_index(&pool_->pool, object_); } \
    KOLK_TYPED_ int32_t name##_used_count(const name *pool_) { return kolk_bytemap_used_count(&pool_->pool); }         \
    KOLK_TYPED_ int32_t name##_free_count(const name *pool_) { return kolk_bytemap_free_count(&pool_->pool); }         \
    KOLK_TYPED_ T *name##_next(const name *pool_, const T *object_) { \
        return KOLK_CAST_(T *, kolk_bytemap_next(&pool_->pool, object_)); } \
    KOLK_TYPED_ int32_t name##_next_handle(const name *pool_, int32_t handle_) { \
        return kolk_bytemap_next_handle(&pool_->pool, handle_); } \
    KOLK_TYPED_ void name##_stats(const name *pool_, kolk_stats *out_) { kolk_bytemap_stats(&pool_->pool, out_); }     \
    KOLK_TYPED_ bool name##_is_valid(const name *pool_) { return kolk_bytemap_is_valid(&pool_->pool); } KOLK_END_

/* ---- Slot maps (slotmap.h) --------------------------------------------------------------------------------------- */

/* Packed objects:
 *
 *     KOLK_SLOTMAP_TYPE(bodies, struct body)
 *
 * makes `bodies` (a slot map), `bodies_object`, `bodies_handle`, and bodies_init, _rebind, _add, _remove, _remove_at,
 * _remove_in_place, _settle, _get, _objects, _count, _available, _handle_of, _index, _at, _slot, _sort (whose compare
 * takes const void *), _clear, _reserve, _trim, _snapshot_size, _snapshot, _restore, _restore_converted, _hash, _stats,
 * _is_valid and _deinit, which work as in slotmap.h. The untyped map is `bodies.map`. */
#define KOLK_SLOTMAP_TYPE(name, ...)                                                                                   \
    typedef __VA_ARGS__ name##_object;                                                                                 \
    KOLK_SLOTMAP_TYPE_(name, name##_object)
#define KOLK_SLOTMAP_TYPE_(name, T)                                                                                    \
    KOLK_COPIED_(T)                                                                                                    \
    typedef struct name KOLK_PINNED_ { kolk_slotmap map; } name;                                                       \
    typedef struct name##_handle { kolk_handle untyped; } name##_handle;                                               \
    typedef kolk_slotmap_cursor name##_cursor;                                                                         \
    KOLK_TYPED_ kolk_status name##_init(name *map_, const kolk_slotmap_desc *desc_) { \
        kolk_slotmap_desc named_; \
        return kolk_slotmap_init_abi_(&map_->map, kolk_slotmap_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_slotmap), KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_rebind(name *map_, const kolk_slotmap_desc *desc_) { \
        kolk_slotmap_desc named_; \
        return kolk_slotmap_rebind_abi_(&map_->map, kolk_slotmap_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_slotmap), KOLK_ABI); } \
    KOLK_TYPED_ void name##_deinit(name *map_) { kolk_slotmap_deinit(&map_->map); }                                    \
    KOLK_TYPED_ name##_object *name##_add(name *map_, name##_handle *out_) { \
        return KOLK_CAST_(T *, kolk_slotmap_add_sized_( \
            &map_->map, KOLK_CAST_(kolk_handle *, KOLK_CAST_(void *, out_)), sizeof(T))); } \
    KOLK_TYPED_ bool name##_remove(name *map_, name##_handle handle_) { \
        return kolk_slotmap_remove_sized_(&map_->map, handle_.untyped, sizeof(T)); } \
    KOLK_TYPED_ bool name##_remove_at(name *map_, uint32_t index_) { \
        return kolk_slotmap_remove_at(&map_->map, index_); } \
    KOLK_TYPED_ bool name##_remove_in_place(name *map_, name##_handle handle_) { \
        return kolk_slotmap_remove_in_place(&map_->map, handle_.untyped); } \
    KOLK_TYPED_ void name##_settle(name *map_) { kolk_slotmap_settle(&map_->map); }                                    \
    KOLK_TYPED_ void name##_clear(name *map_) { kolk_slotmap_clear(&map_->map); }                                      \
    KOLK_TYPED_ T *name##_get(const name *map_, name##_handle handle_) { \
        return KOLK_CAST_(T *, kolk_slotmap_get_sized_(&map_->map, handle_.untyped, sizeof(T))); } \
    KOLK_TYPED_ T *name##_objects(const name *map_) { return KOLK_CAST_(T *, kolk_slotmap_objects(&map_->map)); }      \
    KOLK_TYPED_ uint32_t name##_count(const name *map_) { return kolk_slotmap_count(&map_->map); }                     \
    KOLK_TYPED_ uint32_t name##_available(const name *map_) { return kolk_slotmap_available(&map_->map); }             \
    KOLK_TYPED_ name##_handle name##_handle_of(const name *map_, const T *object_) { \
        name##_handle handle_ = {kolk_slotmap_handle_of(&map_->map, object_)}; return handle_; } \
    KOLK_TYPED_ uint32_t name##_index(const name *map_, const T *object_) { \
        return kolk_slotmap_index(&map_->map, object_); } \
    KOLK_TYPED_ T *name##_at(const name *map_, uint32_t index_) { \
        return KOLK_CAST_(T *, kolk_slotmap_at(&map_->map, index_)); } \
    KOLK_TYPED_ uint32_t name##_slot(const name *map_, name##_handle handle_) { \
        return kolk_slotmap_slot(&map_->map, handle_.untyped); } \
    KOLK_TYPED_ void name##_sort(name *map_, int (*compare_)(const void *, const void *, void *), void *context_) { \
        kolk_slotmap_sort(&map_->map, compare_, context_); } \
    KOLK_TYPED_ kolk_status name##_reserve(name *map_, uint32_t capacity_) { \
        return kolk_slotmap_reserve(&map_->map, capacity_); } \
    KOLK_TYPED_ size_t name##_trim(name *map_) { return kolk_slotmap_trim(&map_->map); }                               \
    KOLK_TYPED_ size_t name##_snapshot_size(const name *map_) { return kolk_slotmap_snapshot_size(&map_->map); }       \
    KOLK_TYPED_ size_t name##_snapshot(const name *map_, void *block_, size_t size_) { \
        return kolk_slotmap_snapshot(&map_->map, block_, size_); } \
    KOLK_TYPED_ kolk_status name##_restore(name *map_, const void *block_, size_t size_) { \
        return kolk_slotmap_restore(&map_->map, block_, size_); } \
    KOLK_TYPED_ kolk_status name##_restore_converted(name *map_, const void *block_, size_t size_, \
        void (*convert_)(void *, const void *, size_t, void *), void *context_) { \
        return kolk_slotmap_restore_converted(&map_->map, block_, size_, convert_, context_); } \
    KOLK_TYPED_ uint64_t name##_hash(name *map_, uint64_t (*hash_)(const void *, void *), void *context_) { \
        return kolk_slotmap_hash(&map_->map, hash_, context_); } \
    KOLK_TYPED_ void name##_stats(const name *map_, kolk_stats *out_) { kolk_slotmap_stats(&map_->map, out_); }        \
    KOLK_TYPED_ bool name##_is_valid(const name *map_) { return kolk_slotmap_is_valid(&map_->map); }                   \
    KOLK_TYPED_ name##_cursor name##_each(const name *map_) { return kolk_slotmap_each(&map_->map); }                  \
    KOLK_TYPED_ T *name##_each_next(name##_cursor *cursor_) { \
        return KOLK_CAST_(T *, kolk_slotmap_cursor_next_sized_(cursor_, sizeof(T))); } KOLK_END_

#define KOLK_SLOTMAP_STORAGE(T, n)                                                                                     \
    union {                                                                                                            \
        T objects[n];                                                                                                  \
        KOLK_ALIGNAS(8) unsigned char bytes[KOLK_SLOTMAP_BYTES(sizeof(T), KOLK_ALIGNOF_(T), n)];                       \
    }

/* ---- Queues (queue.h) -------------------------------------------------------------------------------------------- */

/* A queue between threads:
 *
 *     KOLK_QUEUE_TYPE(jobs, struct job)
 *
 * makes `jobs` (a queue), `jobs_item`, and jobs_init, _rebind, _push (of a const struct job *), _pop (to a struct job
 * *), _push_n, _pop_n, _count, _clear, _close, _shutdown, _reopen, _fd, _stats, _is_valid and _deinit, which work as in
 * queue.h. Leave item_size of the descriptor 0. The untyped queue is `jobs.queue`. The type may be a pointer: then
 * pointers travel, not objects. */
#define KOLK_QUEUE_TYPE(name, ...)                                                                                     \
    typedef __VA_ARGS__ name##_item;                                                                                   \
    KOLK_QUEUE_TYPE_(name, name##_item)
#define KOLK_QUEUE_TYPE_(name, T)                                                                                      \
    KOLK_COPIED_(T)                                                                                                    \
    typedef struct name KOLK_PINNED_ { kolk_queue queue; } name;                                                       \
    KOLK_TYPED_ kolk_status name##_init(name *queue_, const kolk_queue_desc *desc_) { \
        kolk_queue_desc named_; \
        return kolk_queue_init_abi_(&queue_->queue, kolk_queue_desc_named_(desc_, #name, &named_), sizeof(T), \
            sizeof(kolk_queue), KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_rebind(name *queue_, const kolk_queue_desc *desc_) { \
        kolk_queue_desc named_; \
        return kolk_queue_rebind_abi_(&queue_->queue, kolk_queue_desc_named_(desc_, #name, &named_), sizeof(T), \
            sizeof(kolk_queue), KOLK_ABI); } \
    KOLK_TYPED_ void name##_deinit(name *queue_) { kolk_queue_deinit(&queue_->queue); }                                \
    KOLK_TYPED_ kolk_status name##_push(name *queue_, const name##_item *item_, kolk_deadline deadline_) { \
        return kolk_queue_push(&queue_->queue, item_, deadline_); } \
    KOLK_TYPED_ kolk_status name##_pop(name *queue_, name##_item *item_, kolk_deadline deadline_) { \
        return kolk_queue_pop(&queue_->queue, item_, deadline_); } \
    KOLK_TYPED_ kolk_status name##_push_n(name *queue_, const name##_item *items_, size_t *n_, \
        kolk_deadline deadline_) { \
        return kolk_queue_push_n(&queue_->queue, items_, n_, deadline_); } \
    KOLK_TYPED_ kolk_status name##_pop_n(name *queue_, name##_item *items_, size_t *n_, kolk_deadline deadline_) { \
        return kolk_queue_pop_n(&queue_->queue, items_, n_, deadline_); } \
    KOLK_TYPED_ size_t name##_count(const name *queue_) { return kolk_queue_count(&queue_->queue); }                   \
    KOLK_TYPED_ size_t name##_clear(name *queue_) { return kolk_queue_clear(&queue_->queue); }                         \
    KOLK_TYPED_ void name##_close(name *queue_) { kolk_queue_close(&queue_->queue); }                                  \
    KOLK_TYPED_ void name##_shutdown(name *queue_) { kolk_queue_shutdown(&queue_->queue); }                            \
    KOLK_TYPED_ void name##_reopen(name *queue_) { kolk_queue_reopen(&queue_->queue); }                                \
    KOLK_TYPED_ int name##_fd(name *queue_, kolk_queue_event event_) { return kolk_queue_fd(&queue_->queue, event_); } \
    KOLK_TYPED_ void name##_stats(const name *queue_, kolk_stats *out_) { kolk_queue_stats(&queue_->queue, out_); }    \
    KOLK_TYPED_ bool name##_is_valid(const name *queue_) { return kolk_queue_is_valid(&queue_->queue); } KOLK_END_

/* ---- Shared pools (shared.h) ------------------------------------------------------------------------------------- */

/* A pool that threads share:
 *
 *     KOLK_SHARED_TYPE(messages, struct message)
 *
 * makes `messages` (the pool), `messages_local` (a thread's access to it), `messages_object`, `messages_handle`, and
 * messages_init, _local_init, _local_of_thread, _local_flush, _local_deinit, _alloc, _alloc_n, _alloc_wait, _free,
 * _free_n, _free_later, _quiesce, _offline and _online (of a local), _clear, _shutdown, _reopen, _handle_of, _get,
 * _is_live, _each, _each_next, _count, _stats, _is_valid and _deinit, which work as in shared.h. The untyped ones are
 * `messages.pool` and `messages_local.local`. */
#define KOLK_SHARED_TYPE(name, ...)                                                                                    \
    typedef __VA_ARGS__ name##_object;                                                                                 \
    KOLK_DESTROYED_(name##_object) KOLK_SHARED_TYPE_(name, name##_object)
#define KOLK_SHARED_TYPE_(name, T)                                                                                     \
    typedef struct name KOLK_PINNED_ { kolk_shared pool; } name;                                                       \
    typedef struct name##_local KOLK_PINNED_ { kolk_shared_local local; } name##_local;                                \
    typedef struct name##_handle { kolk_handle untyped; } name##_handle;                                               \
    typedef kolk_shared_cursor name##_cursor;                                                                          \
    KOLK_TYPED_ kolk_status name##_init(name *pool_, const kolk_shared_desc *desc_) { \
        kolk_shared_desc named_; \
        return kolk_shared_init_abi_(&pool_->pool, kolk_shared_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_shared), KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_rebind(name *pool_, const kolk_shared_desc *desc_) { \
        kolk_shared_desc named_; \
        return kolk_shared_rebind_abi_(&pool_->pool, kolk_shared_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_shared), KOLK_ABI); } \
    KOLK_TYPED_ void name##_deinit(name *pool_) { kolk_shared_deinit(&pool_->pool); }                                  \
    KOLK_TYPED_ void name##_clear(name *pool_) { kolk_shared_clear(&pool_->pool); }                                    \
    KOLK_TYPED_ kolk_status name##_local_init(name##_local *local_, name *pool_) { \
        return kolk_shared_local_init(&local_->local, &pool_->pool); } \
    KOLK_TYPED_ void name##_local_deinit(name##_local *local_) { kolk_shared_local_deinit(&local_->local); }           \
    KOLK_TYPED_ void name##_local_flush(name##_local *local_) { kolk_shared_local_flush(&local_->local); }             \
    KOLK_TYPED_ name##_local *name##_local_of_thread(name *pool_) { \
        return KOLK_CAST_(name##_local *, KOLK_CAST_(void *, kolk_shared_local_of_thread(&pool_->pool))); } \
    KOLK_TYPED_ name##_object *name##_alloc(name##_local *local_) { \
        return KOLK_CAST_(T *, kolk_shared_alloc_sized_(&local_->local, sizeof(T))); } \
    KOLK_TYPED_ T *name##_alloc_wait(name##_local *local_, kolk_deadline deadline_) { \
        return KOLK_CAST_(T *, kolk_shared_alloc_wait(&local_->local, deadline_)); } \
    KOLK_TYPED_ void name##_free(name##_local *local_, T *object_) { \
        kolk_shared_free_sized_(&local_->local, KOLK_CAST_(void *, object_), sizeof(T)); } \
    KOLK_TYPED_ uint32_t name##_alloc_n(name##_local *local_, name##_object **objects_, uint32_t n_) { \
        return kolk_shared_alloc_n(&local_->local, KOLK_CAST_(void **, KOLK_CAST_(void *, objects_)), n_); } \
    KOLK_TYPED_ void name##_free_n(name##_local *local_, T *const *objects_, uint32_t n_) { \
        kolk_shared_free_n(&local_->local, KOLK_CAST_(void *const *, KOLK_CAST_(const void *, objects_)), n_); } \
    KOLK_TYPED_ void name##_free_later(name##_local *local_, T *object_) { \
        kolk_shared_free_later(&local_->local, KOLK_CAST_(void *, object_)); } \
    KOLK_TYPED_ void name##_quiesce(name##_local *local_) { kolk_shared_quiesce(&local_->local); }                     \
    KOLK_TYPED_ void name##_offline(name##_local *local_) { kolk_shared_offline(&local_->local); }                     \
    KOLK_TYPED_ void name##_online(name##_local *local_) { kolk_shared_online(&local_->local); }                       \
    KOLK_TYPED_ name##_handle name##_handle_of(const name *pool_, const T *object_) { \
        name##_handle handle_ = {kolk_shared_handle_of(&pool_->pool, object_)}; return handle_; } \
    KOLK_TYPED_ T *name##_get(const name *pool_, name##_handle handle_) { \
        return KOLK_CAST_(T *, kolk_shared_get_sized_(&pool_->pool, handle_.untyped, sizeof(T))); } \
    KOLK_TYPED_ bool name##_is_live(const name *pool_, const T *object_) { \
        return kolk_shared_is_live(&pool_->pool, object_); } \
    KOLK_TYPED_ kolk_shared_cursor name##_each(const name *pool_) { return kolk_shared_each(&pool_->pool); }           \
    KOLK_TYPED_ T *name##_each_next(kolk_shared_cursor *cursor_) { \
        return KOLK_CAST_(T *, kolk_shared_cursor_next(cursor_)); } \
    KOLK_TYPED_ void name##_shutdown(name *pool_) { kolk_shared_shutdown(&pool_->pool); }                              \
    KOLK_TYPED_ void name##_reopen(name *pool_) { kolk_shared_reopen(&pool_->pool); }                                  \
    KOLK_TYPED_ uint32_t name##_count(const name *pool_) { return kolk_shared_count(&pool_->pool); }                   \
    KOLK_TYPED_ void name##_stats(const name *pool_, kolk_stats *out_) { kolk_shared_stats(&pool_->pool, out_); }      \
    KOLK_TYPED_ bool name##_is_valid(const name *pool_) { return kolk_shared_is_valid(&pool_->pool); } KOLK_END_

/* ---- Pools between processes (ipc.h) ----------------------------------------------------------------------------- */

/* A pool between processes and its queues:
 *
 *     KOLK_IPC_TYPE(frames, struct frame)
 *
 * makes `frames` (the pool), `frames_object`, `frames_handle`, and frames_init, _init_in, _attach, _fd, _status,
 * _alloc, _alloc_wait, _free, _push, _pop, _close, _is_closed, _queued, _recover, _adopt, _handle_of, _get, _is_live,
 * _is_owned, _each, _each_next, _count, _holders, _stats, _is_valid and _deinit, which work as in ipc.h. The untyped
 * pool is `frames.pool`. */
#define KOLK_IPC_TYPE(name, ...)                                                                                       \
    typedef __VA_ARGS__ name##_object;                                                                                 \
    KOLK_DESTROYED_(name##_object) KOLK_IPC_TYPE_(name, name##_object)
#define KOLK_IPC_TYPE_(name, T)                                                                                        \
    typedef struct name KOLK_PINNED_ { kolk_ipc pool; } name;                                                          \
    typedef struct name##_handle { kolk_handle untyped; } name##_handle;                                               \
    typedef kolk_ipc_cursor name##_cursor;                                                                             \
    KOLK_TYPED_ kolk_status name##_init(name *pool_, const kolk_ipc_desc *desc_) { \
        kolk_ipc_desc named_; \
        return kolk_ipc_init_abi_(&pool_->pool, KOLK_IPC_NEW_, kolk_ipc_desc_named_(desc_, #name, &named_), sizeof(T), \
            KOLK_ALIGNOF_(T), sizeof(kolk_ipc), KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_init_in(name *pool_, int fd_, const kolk_ipc_desc *desc_) { \
        kolk_ipc_desc named_; \
        return kolk_ipc_init_abi_(&pool_->pool, fd_ < 0 ? -2 : fd_, kolk_ipc_desc_named_(desc_, #name, &named_), \
            sizeof(T), KOLK_ALIGNOF_(T), sizeof(kolk_ipc), KOLK_ABI); } \
    KOLK_TYPED_ kolk_status name##_attach(name *pool_, int fd_, const kolk_ipc_desc *desc_) { \
        return kolk_ipc_attach_abi_(&pool_->pool, fd_, desc_, sizeof(T), KOLK_ALIGNOF_(T), \
            sizeof(kolk_ipc), KOLK_ABI); } \
    KOLK_TYPED_ int name##_fd(const name *pool_) { return kolk_ipc_fd(&pool_->pool); }                                 \
    KOLK_TYPED_ void name##_deinit(name *pool_) { kolk_ipc_deinit(&pool_->pool); }                                     \
    KOLK_TYPED_ kolk_status name##_status(name *pool_) { return kolk_ipc_status(&pool_->pool); }                       \
    KOLK_TYPED_ T *name##_alloc(name *pool_) { return KOLK_CAST_(T *, kolk_ipc_alloc(&pool_->pool)); }                 \
    KOLK_TYPED_ T *name##_alloc_wait(name *pool_, kolk_deadline deadline_) { \
        return KOLK_CAST_(T *, kolk_ipc_alloc_wait(&pool_->pool, deadline_)); } \
    KOLK_TYPED_ void name##_free(name *pool_, T *object_) { \
        kolk_ipc_free(&pool_->pool, KOLK_CAST_(void *, object_)); } \
    KOLK_TYPED_ kolk_status name##_push(name *pool_, uint32_t queue_, T *object_, kolk_deadline deadline_) { \
        return kolk_ipc_push(&pool_->pool, queue_, KOLK_CAST_(void *, object_), deadline_); } \
    KOLK_TYPED_ T *name##_pop(name *pool_, uint32_t queue_, kolk_deadline deadline_) { \
        return KOLK_CAST_(T *, kolk_ipc_pop(&pool_->pool, queue_, deadline_)); } \
    KOLK_TYPED_ void name##_close(name *pool_, uint32_t queue_) { kolk_ipc_close(&pool_->pool, queue_); }              \
    KOLK_TYPED_ bool name##_is_closed(const name *pool_, uint32_t queue_) { \
        return kolk_ipc_is_closed(&pool_->pool, queue_); } \
    KOLK_TYPED_ uint32_t name##_queued(const name *pool_, uint32_t queue_) { \
        return kolk_ipc_queued(&pool_->pool, queue_); } \
    KOLK_TYPED_ uint32_t name##_recover(name *pool_) { return kolk_ipc_recover(&pool_->pool); }                        \
    KOLK_TYPED_ T *name##_adopt(name *pool_) { return KOLK_CAST_(T *, kolk_ipc_adopt(&pool_->pool)); }                 \
    KOLK_TYPED_ name##_handle name##_handle_of(const name *pool_, const T *object_) { \
        name##_handle handle_ = {kolk_ipc_handle_of(&pool_->pool, object_)}; return handle_; } \
    KOLK_TYPED_ T *name##_get(const name *pool_, name##_handle handle_) { \
        return KOLK_CAST_(T *, kolk_ipc_get(&pool_->pool, handle_.untyped)); } \
    KOLK_TYPED_ bool name##_is_live(const name *pool_, const T *object_) { \
        return kolk_ipc_is_live(&pool_->pool, object_); } \
    KOLK_TYPED_ bool name##_is_owned(const name *pool_, const T *object_) { \
        return kolk_ipc_is_owned(&pool_->pool, object_); } \
    KOLK_TYPED_ kolk_ipc_cursor name##_each(const name *pool_) { return kolk_ipc_each(&pool_->pool); }                 \
    KOLK_TYPED_ T *name##_each_next(kolk_ipc_cursor *cursor_) { \
        return KOLK_CAST_(T *, kolk_ipc_cursor_next(cursor_)); } \
    KOLK_TYPED_ uint32_t name##_count(const name *pool_) { return kolk_ipc_count(&pool_->pool); }                      \
    KOLK_TYPED_ uint32_t name##_holders(const name *pool_, kolk_ipc_holder *holders_, uint32_t n_) { \
        return kolk_ipc_holders(&pool_->pool, holders_, n_); } \
    KOLK_TYPED_ void name##_stats(const name *pool_, kolk_stats *out_) { kolk_ipc_stats(&pool_->pool, out_); }         \
    KOLK_TYPED_ bool name##_is_valid(const name *pool_) { return kolk_ipc_is_valid(&pool_->pool); } KOLK_END_

/* ---- Resource pools (resource.h) --------------------------------------------------------------------------------- */

/* Things that are expensive to make:
 *
 *     KOLK_RESOURCE_TYPE(connections, PGconn)
 *
 * makes `connections` (the pool), `connections_borrowed` (a borrow), `connections_resource`, and connections_init,
 * _rebind, _borrow, _resource_of (the PGconn * of a borrow), _give_back, _discard, _detach, _fd, _close, _evict,
 * _evict_generation (of a borrow), _evict_if, _pause, _resume, _resize, _tick, _stats, _is_valid and _deinit, which
 * work as in resource.h. The factory keeps its void *. The untyped ones are `connections.pool` and `borrowed.borrow`.
 * */
#define KOLK_RESOURCE_TYPE(name, ...)                                                                                  \
    typedef __VA_ARGS__ name##_resource;                                                                               \
    KOLK_RESOURCE_TYPE_(name, name##_resource)
#define KOLK_RESOURCE_TYPE_(name, T)                                                                                   \
    typedef struct name { kolk_resource_pool pool; } name;                                                             \
    typedef struct name##_borrowed { kolk_borrowed borrow; } name##_borrowed;                                          \
    KOLK_TYPED_ kolk_status name##_init(name *pool_, const kolk_resource_pool_desc *desc_) { \
        kolk_resource_pool_desc named_; \
        return kolk_resource_init(&pool_->pool, kolk_resource_desc_named_(desc_, #name, &named_)); } \
    KOLK_TYPED_ kolk_status name##_rebind(name *pool_, const kolk_resource_pool_desc *desc_) { \
        kolk_resource_pool_desc named_; \
        return kolk_resource_rebind(&pool_->pool, kolk_resource_desc_named_(desc_, #name, &named_)); } \
    KOLK_TYPED_ void name##_deinit(name *pool_) { kolk_resource_deinit(&pool_->pool); }                                \
    KOLK_TYPED_ kolk_status name##_borrow(name *pool_, const kolk_borrow_desc *desc_, name##_borrowed *out_) { \
        return kolk_resource_borrow(&pool_->pool, desc_, &out_->borrow); } \
    KOLK_TYPED_ name##_resource *name##_resource_of(const name##_borrowed *borrowed_) { \
        return KOLK_CAST_(name##_resource *, borrowed_->borrow.resource); } \
    KOLK_TYPED_ void name##_give_back(name *pool_, name##_borrowed *borrowed_) { \
        kolk_resource_give_back(&pool_->pool, &borrowed_->borrow); } \
    KOLK_TYPED_ void name##_discard(name *pool_, name##_borrowed *borrowed_) { \
        kolk_resource_discard(&pool_->pool, &borrowed_->borrow); } \
    KOLK_TYPED_ name##_resource *name##_detach(name *pool_, name##_borrowed *borrowed_) { \
        return KOLK_CAST_(name##_resource *, kolk_resource_detach(&pool_->pool, &borrowed_->borrow)); } \
    KOLK_TYPED_ int name##_fd(name *pool_) { return kolk_resource_fd(&pool_->pool); }                                  \
    KOLK_TYPED_ kolk_status name##_close(name *pool_, kolk_deadline deadline_) { \
        return kolk_resource_close(&pool_->pool, deadline_); } \
    KOLK_TYPED_ void name##_evict(name *pool_) { kolk_resource_evict(&pool_->pool); }                                  \
    KOLK_TYPED_ bool name##_evict_generation(name *pool_, const name##_borrowed *borrowed_) { \
        return kolk_resource_evict_generation(&pool_->pool, borrowed_->borrow.generation); } \
    KOLK_TYPED_ uint32_t name##_evict_if(name *pool_, bool (*wants_)(const char *, const void *, bool, void *), \
        void *context_) { \
        return kolk_resource_evict_if(&pool_->pool, wants_, context_); } \
    KOLK_TYPED_ void name##_pause(name *pool_) { kolk_resource_pause(&pool_->pool); }                                  \
    KOLK_TYPED_ void name##_resume(name *pool_) { kolk_resource_resume(&pool_->pool); }                                \
    KOLK_TYPED_ kolk_status name##_resize(name *pool_, uint32_t max_) { \
        return kolk_resource_resize(&pool_->pool, max_); } \
    KOLK_TYPED_ void name##_tick(name *pool_, kolk_deadline deadline_) { \
        kolk_resource_tick(&pool_->pool, deadline_); } \
    KOLK_TYPED_ void name##_stats(const name *pool_, kolk_resource_pool_stats *out_) { \
        kolk_resource_stats(&pool_->pool, out_); } \
    KOLK_TYPED_ bool name##_is_valid(const name *pool_) { return kolk_resource_is_valid(&pool_->pool); } KOLK_END_

/* ---- Side tables ------------------------------------------------------------------------------------------------- */

/* Data beside the objects of a pool, a slot map or a shared pool, which goes with them:
 *
 *     KOLK_SIDE_TYPE(labels, bullets, struct label)
 *
 *     static labels_entry memory[256];            // a power of two, at least max_capacity; all zero
 *     labels beside = {&pool, memory, 256};
 *     struct label *label = labels_set(&beside, handle);
 *     ... labels_get(&beside, handle) ...
 *
 * labels_set returns the object's label, which is a new one if it had none: then initialise all of it. NULL: the object
 * is gone. labels_get returns its label, or NULL if it has none or is gone; so a label ends with its object, also if
 * the slot is used again. labels_remove ends it before that. Each is O(1). An entry is a T and the 8 bytes of the
 * handle; the array is yours, and there is nothing to deinit. Make it all zero again after a restore and a new init of
 * the pool, which give the same handles again. With fewer entries than the pool and its overflow pools have slots, some
 * objects take each other's: a get of the one that was set before is NULL. One thread at a time, while no other frees
 * these objects. A pool without handles has none of this. */
#define KOLK_SIDE_TYPE(name, pool_type, ...)                                                                           \
    typedef __VA_ARGS__ name##_value;                                                                                  \
    typedef struct name##_entry { name##_value value; kolk_handle of; } name##_entry;                                  \
    typedef struct name { const pool_type *pool; name##_entry *entries; uint32_t n; } name;                            \
    KOLK_TYPED_ kolk_handle *name##_of_(const name *side_, pool_type##_handle handle_) { \
        return &side_->entries[KOLK_CAST_(uint32_t, handle_.untyped.bits) & (side_->n - 1)].of; } \
    KOLK_TYPED_ name##_value *name##_get(const name *side_, pool_type##_handle handle_) { \
        return KOLK_CAST_(name##_value *, kolk_side_get_(name##_of_(side_, handle_), offsetof(name##_entry, of), \
            handle_.untyped, pool_type##_get(side_->pool, handle_))); } \
    KOLK_TYPED_ name##_value *name##_set(const name *side_, pool_type##_handle handle_) { \
        return KOLK_CAST_(name##_value *, kolk_side_set_(name##_of_(side_, handle_), offsetof(name##_entry, of), \
            handle_.untyped, pool_type##_get(side_->pool, handle_))); } \
    KOLK_TYPED_ bool name##_remove(const name *side_, pool_type##_handle handle_) { \
        return kolk_side_remove_(name##_of_(side_, handle_), handle_.untyped); } KOLK_END_

KOLK_BODIES_BEGIN_
KOLK_TYPED_ void *kolk_side_get_(kolk_handle *of, size_t behind_value, kolk_handle handle, const void *object) {
    return object && of->bits == handle.bits ? KOLK_CAST_(char *, KOLK_CAST_(void *, of)) - behind_value : NULL;
}

KOLK_TYPED_ void *kolk_side_set_(kolk_handle *of, size_t behind_value, kolk_handle handle, const void *object) {
    if (object) *of = handle;
    return kolk_side_get_(of, behind_value, handle, object);
}

KOLK_TYPED_ bool kolk_side_remove_(kolk_handle *of, kolk_handle handle) {
    bool had = handle.bits && of->bits == handle.bits;
    if (had) of->bits = 0;
    return had;
}
KOLK_BODIES_END_

/* ---- Loops over pools, slot maps and shared pools ---------------------------------------------------------------- */

/* Loops over each live object of a pool, a shared pool (see kolk_shared_cursor in shared.h) or a slot map. `it` is a T
 * *, and the object may be freed or removed; break, continue and return work. */
#define KOLK_EACH(name, it, pool_)                                                                                     \
    for (name##_cursor it##_cursor = name##_each(pool_); it##_cursor.more; it##_cursor.more = false) \
        for (name##_object *it; (it = name##_each_next(&it##_cursor));)

/* Loops over each live object of a pool with .ages, the oldest first (kolk_pool_each_oldest). Any object may be freed,
 * evicted and touched; break, continue and return work. */
#define KOLK_EACH_OLDEST(name, it, pool_)                                                                              \
    for (kolk_age_cursor it##_cursor = kolk_pool_each_oldest(&(pool_)->pool); it##_cursor.more; it##_cursor.more = false) \
        for (name##_object *it; (it = KOLK_CAST_(name##_object *, kolk_age_cursor_next(&it##_cursor)));)

/* Loops over the runs of a pool (kolk_cursor_next_run): `run` is a T *, the first of n neighbours that are all alive.
 * n is KOLK_GROUP or 1. They may be freed; break, continue and return work.
 *
 *     KOLK_EACH_RUN(bullets, run, n, &pool)
 *         for (uint32_t i = 0; i < n; i++) run[i].x += run[i].dx;
 */
#define KOLK_EACH_RUN(name, run, n, pool_)                                                                             \
    for (uint32_t n = 1; n; n = 0) \
        for (name##_cursor run##_cursor = name##_each(pool_); run##_cursor.more; run##_cursor.more = false) \
            for (name##_object *run; (run = name##_each_next_run(&run##_cursor, &n));)
/* clang-format on */

#endif
