/* SPDX-License-Identifier: Zlib */
/* kolk/kolk.hpp: the pools of kolk for C++ objects, in C++17 and C++20. Needs nothing but the C library and kolk.h.
 *
 *     #include <kolk/kolk.hpp>
 *     #include <cstdio>
 *     #include <string>
 *
 *     struct enemy {
 *         std::string name;
 *         int health = 100;
 *         explicit enemy(std::string name_) : name(std::move(name_)) {}
 *     };
 *
 *     int main() {
 *         kolk::pool<enemy> enemies{{.name = "enemies", .capacity = 256}};     // C++17: see below
 *         enemy *boss = enemies.emplace("the dragon");
 *         if (!boss) return 1;                                                 // all 256 are alive
 *         kolk::handle<enemy> target = enemies.handle_of(boss);
 *         for (enemy &each : enemies) std::printf("%s\n", each.name.c_str());  // only what is alive
 *         enemies.erase(boss);                                                 // runs the destructor
 *         std::printf("%s\n", enemies.get(target) ? "still there" : "gone");   // gone
 *     }                                                                        // destroys what is left
 *
 * C++17 has no designated initialisers: `kolk::pool<enemy> enemies(256);` or `enemies({"enemies", 256});`. For more,
 * `kolk::options<enemy> wish; wish.max_capacity = 1000;`, then `kolk::pool<enemy> enemies(wish);`.
 *
 *     pool<T>            objects of one type that never move (pool.h)
 *     static_pool<T, N>  the same, with the memory of N objects in it: for a device, or a static variable
 *     kept_pool<T>       objects that are constructed once and used again and again
 *     pool_of<A, B, C>   objects of several types in slots of one size
 *     slot_map<T>        objects packed in an array, which move; handles follow (slotmap.h)
 *     ref<T>             an object of a slot map or pool, as a pointer: `target->health`
 *     queue<T>           a bounded blocking queue of any movable items (queue.h)
 *     shared_pool<T>     a pool for many threads, each with a shared_pool<T>::local (shared.h)
 *     ipc_pool<T>        a pool and queues between processes; a unique_ptr owns what a pop returns (ipc.h)
 *     resource_pool<T>   lends connections and the like; a `borrowed` gives itself back (resource.h)
 *     heap               a memory_resource of blocks of any size, with every free checked (heap.h)
 *     node_resource      a memory_resource for the nodes of lists, maps and sets; allocator<T> uses it
 *
 * Cost      as in C, plus constructors and destructors. A slot_map moves an object once more to construct it, and once
 *           more to destroy it, if T has a constructor or destructor.
 * Memory    as in C; nothing is allocated with new (but a resource_pool's functions may be).
 * Errors    if an init fails, the constructor throws kolk::error. Without exceptions (-fno-exceptions), the object has
 *           the capacity 0 then, and status() tells why. A full pool returns nullptr. A constructor of T that throws
 *           leaves the pool as it was, but an object that was evicted or renewed for it is gone. Destructors and
 *           hooks must not throw. Bugs of the program go to the failure handler (base.h).
 * Lives     an object's life ends before its destructor runs: its handles are stale, walks do not find it, and to erase
 *           it again is reported. So a destructor may erase and make other objects of its pool, and so may a
 *           constructor. While either runs, pool<T> calls no on_full, and reports a clear or trim (KOLK_IN_HOOK). A
 *           constructor must not erase, renew or pin its own object. No other thread finds an object whose constructor
 *           still runs.
 * Threads   as in C: pool, pool_of, slot_map and node_resource are for one thread at a time, the others for many.
 * Contents  T may be any object type: std::string, std::unique_ptr, over-aligned up to 4,096, with const members,
 *           final. Pools, slot maps, queues and memory resources are pinned: they can't be copied or moved. To return
 *           one from a function, or to keep several in a vector, use std::make_unique<kolk::pool<T>>(options).
 *           A class whose constructors or destructor are private says `friend struct kolk::access;`.
 * Design    each function is a call of the C function of the same purpose, whose header has the details. `untyped`
 *           returns the C struct, for the functions that a class lacks. */
#ifndef KOLK_HPP
#define KOLK_HPP

#include "kolk.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>
#if KOLK_HOSTED
#include <chrono>
#endif
#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

static_assert(__cplusplus >= 201703L, "kolk.hpp needs C++17");

namespace kolk {

template <class T> class pool;

/* ---- Errors, handles, options ------------------------------------------------------------------------------------ */

/* An init that failed. */
class error : public std::exception {
  public:
    explicit error(kolk_status status) noexcept : status_(status) {}
    kolk_status status() const noexcept { return status_; }
    const char *what() const noexcept override { return kolk_status_text(status_); }

  private:
    kolk_status status_;
};

/* Names an object of a pool, also after its end: kolk_handle (base.h) with the object's type. The default is null. */
template <class T> struct handle {
    kolk_handle untyped = {};

    explicit operator bool() const noexcept { return !kolk_handle_is_null(untyped); }
    friend bool operator==(handle a, handle b) noexcept { return kolk_handle_equal(a.untyped, b.untyped); }
    friend bool operator!=(handle a, handle b) noexcept { return !(a == b); }
    /* Any order, for std::map and std::set. */
    friend bool operator<(handle a, handle b) noexcept {
        return kolk_handle_pack(a.untyped) < kolk_handle_pack(b.untyped);
    }
};

/* Constructs and destroys the objects of pools. A class that makes it a friend, and has no public constructor, exists
 * only in pools. */
struct access {
    template <class T, class... A> static T *make(void *slot, A &&...arguments) {
        if constexpr (decltype(can<T, A...>(0))::value)
            return ::new (slot) T(std::forward<A>(arguments)...);
        else
            return ::new (slot) T{std::forward<A>(arguments)...}; /* an aggregate */
    }
    template <class T> static void destroy(T *object) { object->~T(); }

  private:
    template <class T, class... A>
    static auto can(int) -> decltype(::new (std::declval<void *>()) T(std::declval<A>()...), std::true_type());
    template <class T, class... A> static std::false_type can(long);
};

/* ---- Inside: what several classes need ---- */

namespace inside {

/* Throws, or lets the object's status() tell. */
inline kolk_status checked(kolk_status status) {
#if defined(__cpp_exceptions)
    if (status != KOLK_OK) throw error(status);
#endif
    return status;
}

/* Calls a function at the end of its scope, unless it is disarmed. */
template <class F> class guard {
  public:
    explicit guard(F end) : end_(std::move(end)) {}
    ~guard() {
        if (armed) end_();
    }
    guard(const guard &) = delete;
    guard &operator=(const guard &) = delete;
    bool armed = true;

  private:
    F end_;
};
template <class F> guard(F) -> guard<F>;

/* Calls `undo` if the constructor throws. */
template <class T, class Undo, class... A> T *make_or(Undo undo, void *slot, A &&...arguments) {
    if constexpr (std::is_nothrow_constructible_v<T, A...>) {
        return access::make<T>(slot, std::forward<A>(arguments)...);
    } else {
        guard<Undo> until_made(std::move(undo));
        T *object = access::make<T>(slot, std::forward<A>(arguments)...);
        until_made.armed = false;
        return object;
    }
}

/* The result of a function of C that fills in a struct. */
template <class S, class C> S filled(void (*fill)(const C *, S *), const C &of) {
    S result;
    fill(&of, &result);
    return result;
}

/* Room for one object. */
template <class T> struct room {
    alignas(T) unsigned char bytes[sizeof(T)];
    T *object() noexcept { return reinterpret_cast<T *>(bytes); }
};

/* Memory for a pool of N objects. */
template <class T, std::uint32_t N> class slots {
    alignas(T) alignas(8) unsigned char bytes_[KOLK_POOL_BYTES(sizeof(T), alignof(T), N)];

  protected:
    template <class Options> Options given(Options wish) noexcept {
        wish.capacity = wish.ages || wish.full.ranked ? 0 : N;
        wish.memory = bytes_;
        wish.memory_size = sizeof bytes_;
        return wish;
    }
};

/* A hook of C's that destroys an object or an item. */
template <class T> void call_destructor(void *object, void *) {
    access::destroy(static_cast<T *>(object));
}

/* Hooks have numbers, which rise with what they may not do. This is that of a hook which may alloc and free. */
constexpr std::uint8_t hook_of_lives = 2;

/* Until the end of the scope, a constructor or destructor of the pool's objects runs, as such a hook. A full pool then
 * calls no other hook, and refuses what would need all slots. */
inline auto in_hook(kolk_pool &pool) {
    std::uint8_t before = pool.in_hook;
    if (before < hook_of_lives) pool.in_hook = hook_of_lives;
    return guard([&pool, before] { pool.in_hook = before; });
}

/* What begin() returns for a cursor of C: `Next` is the function that advances it. */
struct end_of_walk {};

template <class V, class Cursor, void *(*Next)(Cursor *)> class walker {
  public:
    using iterator_concept = std::input_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = std::remove_const_t<V>;
    using difference_type = std::ptrdiff_t;
    using pointer = V *;
    using reference = V &;

    walker() = default;
    KOLK_INLINE_IN_LOOPS_ explicit walker(const Cursor &begin) : cursor_(begin) { ++*this; }

    V &operator*() const { return *at_; }
    V *operator->() const { return at_; }
    KOLK_INLINE_IN_LOOPS_ walker &operator++() {
        at_ = static_cast<V *>(Next(&cursor_));
        return *this;
    }
    void operator++(int) { ++*this; }

    friend bool operator==(const walker &a, end_of_walk) { return !a.at_; }
#if __cplusplus <= 201703L /* C++20 derives these */
    friend bool operator!=(const walker &a, end_of_walk) {
        return a.at_;
    }
    friend bool operator==(end_of_walk, const walker &a) {
        return !a.at_;
    }
    friend bool operator!=(end_of_walk, const walker &a) {
        return a.at_;
    }
#endif

  private:
    Cursor cursor_ = {};
    V *at_ = nullptr;
};

} // namespace inside

/* What happens when a pool is full: the members of kolk_pool_full (pool.h). */
template <class T> struct full_options {
    /* Called when the pool is full; returns true if it has made room: a function of yours, or
     * pool<T>::evict_cheapest, evict_oldest or trap_full. */
    bool (*on_full)(pool<T> &full, void *context) = nullptr;
    double (*cost)(const T &object, void *context) = nullptr;
    bool ranked = false;                                  /* see recost */
    void (*on_evict)(T &object, void *context) = nullptr; /* before the object's destructor */
    pool<T> *overflow = nullptr;
    std::uint32_t headroom = 0, low_water = 0;
    void (*on_low)(pool<T> &low, void *context) = nullptr;
};

/* How a pool is to be: the members of kolk_pool_desc (pool.h) with C++'s types. 0, nullptr and false mean the default.
 * Members that are missing here are for C: constructors and destructors do the work of setup, reset and teardown. Give
 * pools of one type names of their own, because handles of two pools without a name are not told apart. */
template <class T> struct options {
    const char *name = nullptr; /* copied */
    std::uint32_t capacity = 0, max_capacity = 0;
    kolk_reuse reuse = KOLK_REUSE_LIFO;
    kolk_generations generations = KOLK_GENERATIONS_RECYCLE;
    std::uint32_t tag = 0;
    bool ages = false;      /* see oldest */
    bool pins = false;      /* see pin */
    void *memory = nullptr; /* KOLK_POOL_BYTES(sizeof(T), alignof(T), n) bytes */
    std::size_t memory_size = 0;
    kolk_budget *budget = nullptr;
    full_options<T> full = {};
    void *context = nullptr; /* passed to the functions in `full` */
    const char *debug = nullptr;
};

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

template <class T> class pool {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>, "a pool is for objects");
    static_assert(alignof(T) <= 4096, "kolk aligns objects to 4,096 bytes at most");

  public:
    using value_type = T;

    explicit pool(std::uint32_t capacity) : pool(options<T>{nullptr, capacity}) {}
    explicit pool(const options<T> &wish) : pool(wish, ends()) {}

    /* Destroys the objects that are left. */
    ~pool() {
        clear();
        kolk_pool_deinit(&pool_);
    }

    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;

    /* ---- What everybody needs ---- */

    /* Constructs an object; nullptr: the pool is full. */
    template <class... A> T *emplace(A &&...arguments) {
        return construct(kolk_pool_alloc_sized_(&pool_, sizeof(T)), std::forward<A>(arguments)...);
    }

    /* Also uses the headroom. */
    template <class... A> T *emplace_urgent(A &&...arguments) {
        return construct(kolk_pool_alloc_urgent(&pool_), std::forward<A>(arguments)...);
    }

    /* If the pool is full, takes the place of the cheapest object, if that costs less than `cost`. */
    template <class... A> T *emplace_over(double cost, A &&...arguments) {
        return construct(kolk_pool_alloc_over(&pool_, cost), std::forward<A>(arguments)...);
    }

    /* Destroys an object. nullptr does nothing; any other pointer that is not a live object of this pool is a bug,
     * which is reported. */
    void erase(T *object) {
        if constexpr (std::is_trivially_destructible_v<T>) {
            kolk_pool_free_sized_(&pool_, object, sizeof(T));
        } else { /* in a free's fast path, the destructor takes the place of `reset` */
            std::uintptr_t slot = kolk_pool_slot_sized_(&pool_, object, sizeof(T));
            std::uint32_t bound = pool_.reuse == KOLK_REUSE_LIFO ? pool_.bound : 0;
            if (!kolk_pool_end_slot_(&pool_, pool_.states, object, slot, bound)) return;
            destroy(object);
            kolk_pool_push_slot_(&pool_, slot);
        }
    }

    /* Erases an object and constructs another, in the same slot unless that is pinned or worn out: all handles of the
     * old one are stale. nullptr: as for kolk_pool_renew. The arguments must not refer to the old object. */
    template <class... A> T *renew(T *object, A &&...arguments) {
        return construct(kolk_pool_renew_sized_(&pool_, object, sizeof(T)), std::forward<A>(arguments)...);
    }

    /* False: the handle is null, stale or from another pool. */
    bool erase(handle<T> of) {
        T *object = get(of);
        if (object) erase(object);
        return object != nullptr;
    }

    /* Destroys all objects, those in the lowest slots first. An object that a destructor makes meanwhile may be
     * destroyed too, or may stay. */
    void clear() { kolk_pool_clear(&pool_); }

    /* A unique_ptr that erases the object. It must not outlive the pool. */
    struct deleter {
        pool *of = nullptr;
        void operator()(T *object) const { of->erase(object); }
    };
    using unique_ptr = std::unique_ptr<T, deleter>;

    /* An empty one: the pool is full. */
    template <class... A> unique_ptr make_unique(A &&...arguments) {
        return unique_ptr(emplace(std::forward<A>(arguments)...), deleter{this});
    }

    /* nullptr: the handle is null, stale or from another pool. */
    T *get(handle<T> of) { return static_cast<T *>(kolk_pool_get_sized_(&pool_, of.untyped, sizeof(T))); }
    const T *get(handle<T> of) const {
        return static_cast<const T *>(kolk_pool_get_sized_(&pool_, of.untyped, sizeof(T)));
    }

    handle<T> handle_of(const T *object) const { return {kolk_pool_handle_of(&pool_, object)}; }

    /* Is this a live object of this pool? Any pointer is allowed. */
    bool contains(const void *object) const { return kolk_pool_is_live(&pool_, object); }
    bool contains(handle<T> of) const { return get(of) != nullptr; }

    /* The slot of a live object, for arrays beside the pool, and the live object in a slot (nullptr: none). */
    std::uint32_t index_of(const T *object) const { return kolk_pool_index(&pool_, object); }
    T *at(std::uint32_t index) { return static_cast<T *>(kolk_pool_at(&pool_, index)); }
    const T *at(std::uint32_t index) const { return static_cast<const T *>(kolk_pool_at(&pool_, index)); }

    std::uint32_t size() const noexcept { return kolk_pool_count(&pool_); }
    bool empty() const noexcept { return size() == 0; }
    std::uint32_t capacity() const noexcept { return pool_.capacity; }
    std::uint32_t available() const noexcept { return kolk_pool_available(&pool_); }

    kolk_stats stats() const { return inside::filled(kolk_pool_stats, pool_); }

    /* KOLK_OK, or why the init failed. */
    kolk_status status() const noexcept { return status_; }

    bool is_valid() const { return kolk_pool_is_valid(&pool_); }

    /* The C pool, for every function of pool.h that this class lacks. Objects that these functions free are destroyed.
     * Those that they allocate are not constructed. */
    kolk_pool &untyped() noexcept { return pool_; }
    const kolk_pool &untyped() const noexcept { return pool_; }

    /* ---- Walks: any object may be erased, also the current one ---- */

    using iterator = inside::walker<T, kolk_cursor, kolk_cursor_next>;
    using const_iterator = inside::walker<const T, kolk_cursor, kolk_cursor_next>;

    iterator begin() { return iterator(kolk_pool_each(&pool_)); }
    const_iterator begin() const { return const_iterator(kolk_pool_each(&pool_)); }
    inside::end_of_walk end() const noexcept { return {}; }

    /* ---- When it is full, memory, age ---- */

    static bool evict_cheapest(pool &full, void *) { return kolk_pool_evict_cheapest(&full.pool_, 0, nullptr); }
    static bool evict_oldest(pool &full, void *) { return kolk_pool_evict_oldest(&full.pool_, 0, nullptr); }
    static bool trap_full(pool &full, void *) { return kolk_pool_trap_full(&full.pool_, sizeof(T), nullptr); }

    kolk_status reserve(std::uint32_t capacity) { return kolk_pool_reserve(&pool_, capacity); }
    std::size_t trim() { return kolk_pool_trim(&pool_); }
    std::size_t tick(std::uint32_t slots) { return kolk_pool_tick(&pool_, slots); }

    /* These change the pool, because they remove dead objects from the order. */
    T *oldest() { return static_cast<T *>(kolk_pool_oldest(&pool_)); }
    T *newest() { return static_cast<T *>(kolk_pool_newest(&pool_)); }
    T *newer(const T *object) { return static_cast<T *>(kolk_pool_newer(&pool_, object)); }
    T *older(const T *object) { return static_cast<T *>(kolk_pool_older(&pool_, object)); }
    void touch(const T *object) { kolk_pool_touch(&pool_, object); }
    void protect(const T *object, bool on) { kolk_pool_protect(&pool_, object, on); }

    /* While the guard exists, an object that is erased keeps its memory, and is destroyed only at the guard's end.
     * Needs `pins`. */
    struct unpinner {
        pool *of = nullptr;
        void operator()(T *object) const { kolk_pool_unpin(&of->pool_, object); }
    };
    using pinned_ptr = std::unique_ptr<T, unpinner>;
    [[nodiscard]] pinned_ptr pin(T *object) {
        kolk_pool_pin(&pool_, object);
        return pinned_ptr(object, unpinner{this});
    }

    /* The cost of this object has changed, or of all. Does nothing without `ranked`. */
    void recost(const T *object) { kolk_pool_recost(&pool_, object); }
    void recost_all() { kolk_pool_recost(&pool_, nullptr); }

    /* For hot reload: the functions of a module that was loaded anew (kolk_pool_rebind). */
    kolk_status rebind(const options<T> &wish) {
        kolk_pool_desc desc = desc_of(wish, ends());
        kolk_status status = kolk_pool_rebind_abi_(&pool_, &desc, sizeof(T), alignof(T), sizeof pool_, KOLK_POOL_ABI_);
        if (status == KOLK_OK) full_ = wish.full, context_ = wish.context;
        return status;
    }

  protected:
    pool(const options<T> &wish, const kolk_life &life)
        : full_(wish.full), context_(wish.context), status_(inside::checked(init(wish, life))) {}

  private:
    static kolk_life ends() {
        kolk_life life = {};
        if (!std::is_trivially_destructible_v<T>) life.reset = call_destructor;
        return life;
    }

    void destroy(T *object) {
        auto running = inside::in_hook(pool_);
        access::destroy(object);
    }

    static bool call_on_full(kolk_pool *, std::size_t, void *self) {
        pool &of = *static_cast<pool *>(self);
        return of.full_.on_full(of, of.context_);
    }
    static double call_cost(const void *object, void *self) {
        const pool &of = *static_cast<pool *>(self);
        return of.full_.cost(*static_cast<const T *>(object), of.context_);
    }
    static void call_on_evict(void *object, void *self) {
        const pool &of = *static_cast<pool *>(self);
        of.full_.on_evict(*static_cast<T *>(object), of.context_);
    }
    static void call_destructor(void *object, void *self) {
        if (object != static_cast<pool *>(self)->unmade_) access::destroy(static_cast<T *>(object));
    }
    static void call_on_low(kolk_pool *, void *self) {
        pool &of = *static_cast<pool *>(self);
        of.full_.on_low(of, of.context_);
    }

    kolk_pool_desc desc_of(const options<T> &wish, const kolk_life &life) {
        kolk_pool_desc desc = {};
        desc.name = wish.name;
        desc.capacity = wish.capacity;
        desc.max_capacity = wish.max_capacity;
        desc.reuse = wish.reuse;
        desc.generations = wish.generations;
        desc.tag = wish.tag;
        desc.ages = wish.ages;
        desc.pins = wish.pins;
        desc.memory = wish.memory;
        desc.memory_size = wish.memory_size;
        desc.budget = wish.budget;
        const full_options<T> &full = wish.full;
        if (full.on_full == evict_cheapest) /* init checks what the ready-made ones need */
            desc.full.on_full = kolk_pool_evict_cheapest;
        else if (full.on_full == evict_oldest)
            desc.full.on_full = kolk_pool_evict_oldest;
        else if (full.on_full == trap_full)
            desc.full.on_full = kolk_pool_trap_full;
        else if (full.on_full)
            desc.full.on_full = call_on_full;
        if (full.cost) desc.full.cost = call_cost;
        desc.full.ranked = full.ranked;
        if (full.on_evict) desc.full.on_evict = call_on_evict;
        if (full.overflow) desc.full.overflow = &full.overflow->pool_;
        desc.full.headroom = full.headroom;
        desc.full.low_water = full.low_water;
        if (full.on_low) desc.full.on_low = call_on_low;
        desc.life = life;
        desc.context = this;
        desc.debug = wish.debug;
        return desc;
    }

    kolk_status init(const options<T> &wish, const kolk_life &life) {
        kolk_pool_desc desc = desc_of(wish, life);
        return kolk_pool_init_typed_(&pool_, &desc, sizeof(T), alignof(T));
    }

    template <class... A> T *construct(void *slot, A &&...arguments) {
        if (!slot) return nullptr;
        if constexpr (std::is_trivially_constructible_v<T, A...>) {
            return ::new (slot) T(std::forward<A>(arguments)...);
        } else { /* the object may lie in an overflow pool, whose context is its class */
            kolk_pool &holder = pool_.overflow ? *kolk_pool_holder_(&pool_, slot) : pool_;
            auto running = inside::in_hook(holder);
            auto undo = [this, slot, &holder] {
                pool &of = *static_cast<pool *>(holder.context);
                of.unmade_ = slot; /* there is nothing to destroy */
                kolk_pool_free(&pool_, slot);
                of.unmade_ = nullptr;
            };
            return inside::make_or<T>(undo, slot, std::forward<A>(arguments)...);
        }
    }

    const void *unmade_ = nullptr;
    kolk_pool pool_ = {};
    full_options<T> full_;
    void *context_;
    kolk_status status_;
};

/* A pool with the memory of its objects in it: `static kolk::static_pool<bullet, 256> bullets;`. It asks the system for
 * nothing. With `ages` or `ranked`, fewer objects than N fit. */
template <class T, std::uint32_t N> class static_pool : private inside::slots<T, N>, public pool<T> {
  public:
    explicit static_pool(const options<T> &wish = {}) : pool<T>(this->given(wish)) {}
};

/* Objects that are constructed once, by T's default constructor when their slot is first used, and keep what they hold:
 * a buffer, a compiled pattern, a texture. They are destroyed at the pool's end, or by trim. */
template <class T> class kept_pool : private pool<T> {
  public:
    using typename pool<T>::value_type, typename pool<T>::iterator, typename pool<T>::const_iterator;
    using pool<T>::get, pool<T>::handle_of, pool<T>::contains, pool<T>::index_of, pool<T>::at, pool<T>::begin;
    using pool<T>::end, pool<T>::size, pool<T>::empty, pool<T>::capacity, pool<T>::available, pool<T>::stats;
    using pool<T>::status, pool<T>::is_valid, pool<T>::untyped, pool<T>::reserve, pool<T>::trim, pool<T>::clear;

    /* `reset` is called for an object that is given back, for what must not stay in it. It must not throw. */
    using reset_function = void (*)(T &object);
    explicit kept_pool(std::uint32_t slots, reset_function reset = nullptr)
        : kept_pool(options<T>{nullptr, slots}, reset) {}
    explicit kept_pool(const options<T> &wish, reset_function reset = nullptr)
        : pool<T>(wish, {true, call_make, reset ? call_reset : nullptr, inside::call_destructor<T>}), reset_(reset) {}
    ~kept_pool() { kolk_pool_deinit(&untyped()); } /* while reset_ exists */

    /* An object as it was when it was last given back, or a new one. nullptr: the pool is full, or the constructor has
     * thrown. */
    T *take() { return static_cast<T *>(kolk_pool_alloc_sized_(&untyped(), sizeof(T))); }
    /* nullptr does nothing; any other pointer that is not a live object of this pool is a bug, which is reported. */
    void give_back(T *object) { kolk_pool_free_sized_(&untyped(), object, sizeof(T)); }

  private:
    static bool call_make(void *slot, void *) {
#if defined(__cpp_exceptions)
        try {
            access::make<T>(slot);
        } catch (...) {
            return false;
        }
#else
        access::make<T>(slot);
#endif
        return true;
    }
    static void call_reset(void *object, void *self) {
        static_cast<kept_pool *>(static_cast<pool<T> *>(self))->reset_(*static_cast<T *>(object));
    }

    reset_function reset_;
};

/* ---- One pool for a family of types ------------------------------------------------------------------------------ */

/* A slot of a pool_of: holds an object of one of the types. */
template <class... Ts> class one_of {
  public:
    template <class U, class... A> explicit one_of(std::in_place_type_t<U>, A &&...arguments) : kind_(kind_of<U>()) {
        access::make<U>(room_, std::forward<A>(arguments)...);
    }
    one_of(const one_of &) = delete;
    one_of &operator=(const one_of &) = delete;
    ~one_of() {
        visit([](auto &object) { access::destroy(std::addressof(object)); });
    }

    /* The object, if it is of this type; otherwise nullptr. */
    template <class U> U *as() noexcept {
        return kind_ == kind_of<U>() ? static_cast<U *>(static_cast<void *>(room_)) : nullptr;
    }
    template <class U> const U *as() const noexcept { return const_cast<one_of *>(this)->template as<U>(); }

    /* Calls the function with the object. */
    template <class F> void visit(F &&function) {
        (void)((as<Ts>() && (static_cast<void>(function(*as<Ts>())), true)) || ...);
    }
    template <class F> void visit(F &&function) const {
        const_cast<one_of *>(this)->visit([&](const auto &object) { function(object); });
    }

  private:
    template <class U> static constexpr std::uint8_t kind_of() noexcept {
        static_assert((std::is_same_v<U, Ts> || ...), "the pool has no objects of this type");
        std::uint8_t kind = 0;
        (void)((std::is_same_v<U, Ts> || (static_cast<void>(kind++), false)) || ...);
        return kind;
    }

    alignas(Ts...) unsigned char room_[(std::max)({sizeof(Ts)...})]; /* first: an object has its slot's address */
    std::uint8_t kind_;
};

/* A pool whose slots have room for the largest of the types. A walk visits one_of<Ts...>. */
template <class... Ts> class pool_of : public pool<one_of<Ts...>> {
    using slots = pool<one_of<Ts...>>;

  public:
    using slots::erase;
    using slots::slots;

    template <class U, class... A> U *emplace(A &&...arguments) {
        one_of<Ts...> *slot = slots::emplace(std::in_place_type<U>, std::forward<A>(arguments)...);
        return slot ? slot->template as<U>() : nullptr;
    }

    /* Destroys an object, which may be given by a pointer to a base of it that has virtual functions. Through such a
     * pointer a second erase is undefined, because the address of the object is found in the object. */
    template <class U> void erase(U *object) { slots::erase(slot_of(object)); }

    /* Destroys an object of any of the types, and constructs one of type U in its slot. */
    template <class U, class V, class... A> U *renew(V *object, A &&...arguments) {
        one_of<Ts...> *slot = slots::renew(slot_of(object), std::in_place_type<U>, std::forward<A>(arguments)...);
        return slot ? slot->template as<U>() : nullptr;
    }

    template <class U> handle<one_of<Ts...>> handle_of(U *object) const { return slots::handle_of(slot_of(object)); }

    /* nullptr: the handle is null, stale or from another pool, or its object is not of this type. */
    template <class U> U *get(handle<one_of<Ts...>> of) {
        one_of<Ts...> *slot = slots::get(of);
        return slot ? slot->template as<U>() : nullptr;
    }
    template <class U> const U *get(handle<one_of<Ts...>> of) const {
        const one_of<Ts...> *slot = slots::get(of);
        return slot ? slot->template as<U>() : nullptr;
    }

  private:
    template <class U> static one_of<Ts...> *slot_of(U *object) {
        using type = std::remove_const_t<U>;
        if constexpr (std::is_same_v<type, one_of<Ts...>>) {
            return const_cast<type *>(object);
        } else if constexpr ((std::is_same_v<type, Ts> || ...)) {
            return static_cast<one_of<Ts...> *>(static_cast<void *>(const_cast<type *>(object)));
        } else {
            static_assert(std::is_polymorphic_v<U>,
                          "this is neither one of the types nor a base with virtual functions");
            return static_cast<one_of<Ts...> *>(dynamic_cast<void *>(const_cast<type *>(object)));
        }
    }
};

/* ---- Slot maps --------------------------------------------------------------------------------------------------- */

/* The members of kolk_slotmap_desc (slotmap.h) with C++'s types. T's move constructor and destructor do the rest. */
template <class T> struct slot_map_options {
    const char *name = nullptr; /* copied */
    std::uint32_t capacity = 0, max_capacity = 0, tag = 0;
    void *memory = nullptr; /* KOLK_SLOTMAP_BYTES(sizeof(T), alignof(T), n) bytes */
    std::size_t memory_size = 0;
    kolk_budget *budget = nullptr;
    void (*on_move)(T &object, std::uint32_t from, std::uint32_t to, void *context) = nullptr; /* after a move */
    void *context = nullptr;
    const char *debug = nullptr;
};

/* Objects in a plain array: begin() and end() are pointers. erase, settle, clear and sort move objects: keep handles.
 * An object is constructed before the map has it, and leaves the map before its destructor runs: both may change the
 * map. T's move constructor must not, nor the destructor of an object that was moved from. */
template <class T> class slot_map {
    static_assert(std::is_nothrow_move_constructible_v<T>, "a slot map moves its objects: T needs a move constructor "
                                                           "that does not throw");
    static constexpr bool is_bytes = std::is_trivially_copyable_v<T>;

  public:
    using value_type = T;
    using iterator = T *;
    using const_iterator = const T *;

    explicit slot_map(std::uint32_t capacity) : slot_map(slot_map_options<T>{nullptr, capacity}) {}
    explicit slot_map(const slot_map_options<T> &wish)
        : on_move_(wish.on_move), context_(wish.context), status_(inside::checked(init(wish))) {}
    ~slot_map() {
        clear();
        kolk_slotmap_deinit(&map_);
    }
    slot_map(const slot_map &) = delete;
    slot_map &operator=(const slot_map &) = delete;

    /* A new object, as of kolk_slotmap_add, and its handle: `auto [body, handle] = map.emplace(...)`. The pointer is
     * valid until the next erase, settle, clear or sort. nullptr and the null handle: the map is full. */
    struct added {
        T *object;
        kolk::handle<T> handle;
        explicit operator bool() const noexcept { return object != nullptr; }
    };

    template <class... A> added emplace(A &&...arguments) {
        handle<T> of;
        if constexpr (std::is_trivially_constructible_v<T, A...>) {
            void *place = add(of);
            return {place ? ::new (place) T(std::forward<A>(arguments)...) : nullptr, of};
        } else {
            if (size() - map_.holes == map_.max_capacity) return {static_cast<T *>(add(of)), of}; /* which is counted */
            inside::room<T> made;
            access::make<T>(made.bytes, std::forward<A>(arguments)...);
            inside::guard destroyed_later([&made] { made.object()->~T(); });
            void *place = add(of);
            return {place ? ::new (place) T(std::move(*made.object())) : nullptr, of};
        }
    }

    /* Destroys the object; the last one moves to its place. False: the handle is null, stale or from another map. */
    bool erase(handle<T> of) {
        if constexpr (std::is_trivially_destructible_v<T>)
            return kolk_slotmap_remove_sized_(&map_, of.untyped, sizeof(T));
        else
            return erase_by(kolk_slotmap_remove_slow_, of); /* as always with on_remove */
    }

    /* The same, but nothing moves before `settle` closes the holes, so pointers stay valid. Until then at() returns
     * nullptr for a hole; size() and begin() to end() include it. */
    bool erase_in_place(handle<T> of) { return erase_by(kolk_slotmap_remove_in_place, of); }
    void settle() { kolk_slotmap_settle(&map_); }

    /* The same for the object at this address, where another one may be afterwards. */
    bool erase(const T *object) { return erase(handle_of(object)); }

    /* Erases each object for which the function returns true; returns how many. */
    template <class F> std::uint32_t erase_if(F &&wanted) {
        std::uint32_t erased = 0;
        for (std::uint32_t i = (settle(), size()); i-- > 0;)
            if (T *object = at(i); object && wanted(*object)) erased += erase(object);
        return erased;
    }

    /* Destroys all objects, the last one first. An object that a destructor adds meanwhile may be destroyed too, or may
     * stay. */
    void clear() {
        if constexpr (std::is_trivially_destructible_v<T>)
            kolk_slotmap_clear(&map_);
        else
            for (std::uint32_t i = (settle(), size()); i-- > 0;)
                if (T *object = at(i)) erase(object);
    }

    T *get(handle<T> of) { return static_cast<T *>(kolk_slotmap_get_sized_(&map_, of.untyped, sizeof(T))); }
    const T *get(handle<T> of) const {
        return static_cast<const T *>(kolk_slotmap_get_sized_(&map_, of.untyped, sizeof(T)));
    }
    bool contains(handle<T> of) const { return get(of) != nullptr; }
    handle<T> handle_of(const T *object) const { return {kolk_slotmap_handle_of(&map_, object)}; }

    /* The object's slot, which it keeps for life, for arrays beside the map. */
    std::uint32_t slot(handle<T> of) const { return kolk_slotmap_slot(&map_, of.untyped); }

    T *data() noexcept { return static_cast<T *>(kolk_slotmap_objects(&map_)); }
    const T *data() const noexcept { return static_cast<const T *>(kolk_slotmap_objects(&map_)); }
    std::uint32_t size() const noexcept { return kolk_slotmap_count(&map_); }
    bool empty() const noexcept { return size() == 0; }
    T *begin() noexcept { return data(); }
    T *end() noexcept { return data() + size(); }
    const T *begin() const noexcept { return data(); }
    const T *end() const noexcept { return data() + size(); }
    T *at(std::uint32_t place) noexcept { return static_cast<T *>(kolk_slotmap_at(&map_, place)); }
    const T *at(std::uint32_t place) const noexcept { return static_cast<const T *>(kolk_slotmap_at(&map_, place)); }
    std::uint32_t index_of(const T *object) const { return kolk_slotmap_index(&map_, object); }
    T &operator[](std::uint32_t place) noexcept { return data()[place]; }
    const T &operator[](std::uint32_t place) const noexcept { return data()[place]; }

    /* Sorts by `less`, which must not throw; handles follow. Equal objects keep their order. */
    template <class F = std::less<T>> void sort(F less = {}) {
        auto compare = [](const void *a, const void *b, void *by) {
            const T &first = *static_cast<const T *>(a), &second = *static_cast<const T *>(b);
            F &before = *static_cast<F *>(by);
            return before(first, second) ? -1 : before(second, first) ? 1 : 0;
        };
        kolk_slotmap_sort(&map_, compare, std::addressof(less));
    }

    std::uint32_t capacity() const noexcept { return map_.capacity; }
    std::uint32_t available() const noexcept { return kolk_slotmap_available(&map_); }
    kolk_status reserve(std::uint32_t capacity) { return kolk_slotmap_reserve(&map_, capacity); }
    std::size_t trim() { return kolk_slotmap_trim(&map_); }

    kolk_stats stats() const { return inside::filled(kolk_slotmap_stats, map_); }
    kolk_status status() const noexcept { return status_; }
    bool is_valid() const { return kolk_slotmap_is_valid(&map_); }
    kolk_slotmap &untyped() noexcept { return map_; }
    const kolk_slotmap &untyped() const noexcept { return map_; }

    /* For hot reload, as for pools. */
    kolk_status rebind(const slot_map_options<T> &wish) {
        kolk_slotmap_desc desc = desc_of(wish);
        kolk_status status = kolk_slotmap_rebind_abi_(&map_, &desc, sizeof(T), alignof(T), sizeof map_, KOLK_ABI);
        if (status != KOLK_OK) return status;
        on_move_ = wish.on_move;
        context_ = wish.context;
        return status;
    }

  private:
    static void call_move(void *to, void *from, void *self) {
        slot_map &of = *static_cast<slot_map *>(self);
        T *source = from ? static_cast<T *>(from) : of.aside_.object();
        ::new (to ? to : of.aside_.bytes) T(std::move(*source));
        source->~T();
    }
    static void call_on_move(void *object, std::uint32_t from, std::uint32_t to, void *self) {
        slot_map &of = *static_cast<slot_map *>(self);
        of.on_move_(*static_cast<T *>(object), from, to, of.context_);
    }
    void *add(handle<T> &of) { return kolk_slotmap_add_sized_(&map_, &of.untyped, sizeof(T)); }

    /* Moves the object out first, so that the map no longer has it when its destructor runs. */
    bool erase_by(bool (*remove)(kolk_slotmap *map, kolk_handle handle), handle<T> of) {
        T *object = get(of);
        if (!object) return false;
        [[maybe_unused]] T ended(std::move(*object));
        return remove(&map_, of.untyped);
    }

    kolk_slotmap_desc desc_of(const slot_map_options<T> &wish) {
        kolk_slotmap_desc desc = {};
        desc.name = wish.name;
        desc.capacity = wish.capacity;
        desc.max_capacity = wish.max_capacity;
        desc.tag = wish.tag;
        desc.memory = wish.memory;
        desc.memory_size = wish.memory_size;
        desc.budget = wish.budget;
        if (wish.on_move) desc.on_move = call_on_move;
        if (!std::is_trivially_destructible_v<T>) desc.on_remove = inside::call_destructor<T>;
        if (!is_bytes) desc.move = call_move;
        desc.context = this;
        desc.debug = wish.debug;
        return desc;
    }

    kolk_status init(const slot_map_options<T> &wish) {
        kolk_slotmap_desc desc = desc_of(wish);
        return kolk_slotmap_init_abi_(&map_, &desc, sizeof(T), alignof(T), sizeof map_, KOLK_ABI);
    }

    kolk_slotmap map_ = {};
    void (*on_move_)(T &, std::uint32_t, std::uint32_t, void *);
    void *context_;
    inside::room<T> aside_; /* for sort */
    kolk_status status_;
};

/* ---- References -------------------------------------------------------------------------------------------------- */

/* An object of a slot map or pool, wherever it is: `kolk::ref target(bodies, body); target->x += 1;`. Each access looks
 * it up. A ref may be copied, and may outlive the object, but not the map. */
template <class T, class Of = slot_map<T>> class ref {
  public:
    ref() = default;
    ref(Of &of, kolk::handle<T> object) : of_(&of), handle_(object) {}
    ref(Of &of, const T *object) : ref(of, of.handle_of(object)) {}

    /* nullptr once the object is erased. */
    T *get() const { return of_ ? of_->get(handle_) : nullptr; }
    explicit operator bool() const { return get() != nullptr; }
    T *operator->() const { return get(); }
    T &operator*() const { return *get(); }

    /* Looks the object up once and passes it to a function, which must not move it: in a slot map it may erase in place
     * only. False: there is no object. */
    template <class F> bool with(F &&function) const {
        T *object = get();
        if (object) std::forward<F>(function)(*object);
        return object != nullptr;
    }
    kolk::handle<T> handle() const noexcept { return handle_; }

    friend bool operator==(const ref &a, const ref &b) noexcept { return a.of_ == b.of_ && a.handle_ == b.handle_; }
    friend bool operator!=(const ref &a, const ref &b) noexcept { return !(a == b); }

  private:
    Of *of_ = nullptr;
    kolk::handle<T> handle_ = {};
};
template <class T, class Of> ref(Of &, T *) -> ref<T, Of>;

#if KOLK_HOSTED

/* ---- Deadlines --------------------------------------------------------------------------------------------------- */

/* When to stop waiting: a duration from now, rounded up to milliseconds (`std::chrono::seconds(5)`), a moment of the
 * steady clock, or one of C's (KOLK_NOW, KOLK_FOREVER). */
class deadline {
  public:
    deadline(kolk_deadline at) noexcept : at_(at) {}
    template <class R, class P> deadline(std::chrono::duration<R, P> wait) : at_(KOLK_FOREVER) {
        if (wait < std::chrono::hours(1000000))
            at_ = kolk_deadline_after(std::chrono::ceil<std::chrono::milliseconds>(wait).count());
    }
    template <class D>
    deadline(std::chrono::time_point<std::chrono::steady_clock, D> at)
        : deadline(at - std::chrono::steady_clock::now()) {}
    operator kolk_deadline() const noexcept { return at_; }

  private:
    kolk_deadline at_;
};

/* ---- Queues ------------------------------------------------------------------------------------------------------ */

struct queue_options {
    const char *name = nullptr; /* copied */
    std::uint32_t capacity = 0;
};

/* Items are moved in and out; trivially copyable ones are copied as bytes. Neither T's move constructor, nor its
 * destructor after a move, in clear or at the queue's end, may use the queue. */
template <class T> class queue {
    static constexpr bool is_bytes = std::is_trivially_copyable_v<T>;
    static_assert(std::is_nothrow_move_constructible_v<T> && std::is_nothrow_destructible_v<T>,
                  "other threads wait while an item moves: T needs a move constructor that does not throw");
    static_assert(is_bytes || alignof(T) <= 8, "a queue aligns its items to 8: pass a std::unique_ptr");

  public:
    using value_type = T;

    explicit queue(std::uint32_t capacity) : queue(queue_options{nullptr, capacity}) {}
    explicit queue(const queue_options &wish) : status_(inside::checked(init(wish))) {}
    /* Destroys the items that are left. */
    ~queue() { kolk_queue_deinit(&queue_); }
    queue(const queue &) = delete;
    queue &operator=(const queue &) = delete;

    /* If the status is not KOLK_OK (kolk_queue_push), the item stays as it is, with its owner. */
    kolk_status push(T &&item, deadline until = KOLK_FOREVER) {
        return kolk_queue_push(&queue_, std::addressof(item), until);
    }
    kolk_status push(const T &item, deadline until = KOLK_FOREVER) {
        T copy(item);
        return push(std::move(copy), until);
    }

    /* If the status is not KOLK_OK (kolk_queue_pop), `item` is as it was. */
    kolk_status pop(T &item, deadline until = KOLK_FOREVER) {
        if constexpr (is_bytes && std::is_move_assignable_v<T>) {
            return kolk_queue_pop(&queue_, std::addressof(item), until);
        } else {
            return take(until, [&item](T &&taken) { item = std::move(taken); });
        }
    }

    /* No item: the reason is what the other pop would have returned. */
    std::optional<T> pop(deadline until = KOLK_FOREVER) {
        std::optional<T> item;
        take(until, [&item](T &&taken) { item.emplace(std::move(taken)); });
        return item;
    }

    std::size_t size() const { return kolk_queue_count(&queue_); }
    bool empty() const { return size() == 0; }
    std::uint32_t capacity() const noexcept { return queue_.capacity; }
    std::size_t clear() { return kolk_queue_clear(&queue_); }
    void close() { kolk_queue_close(&queue_); }
    void shutdown() { kolk_queue_shutdown(&queue_); }
    void reopen() { kolk_queue_reopen(&queue_); }
    int fd(kolk_queue_event event) { return kolk_queue_fd(&queue_, event); }

    kolk_stats stats() const { return inside::filled(kolk_queue_stats, queue_); }
    kolk_status status() const noexcept { return status_; }
    bool is_valid() const { return kolk_queue_is_valid(&queue_); }
    kolk_queue &untyped() noexcept { return queue_; }
    const kolk_queue &untyped() const noexcept { return queue_; }

    /* For hot reload, as for pools. If T is not copied as bytes, no thread may be inside a call. */
    kolk_status rebind(const queue_options &wish) {
        kolk_queue_desc desc = desc_of(wish);
        return kolk_queue_rebind_abi_(&queue_, &desc, sizeof(T), sizeof queue_, KOLK_ABI);
    }

  private:
    static void call_move(void *to, void *from, bool in, void *) {
        T *source = static_cast<T *>(from);
        ::new (to) T(std::move(*source));
        if (!in) source->~T();
    }

    template <class F> kolk_status take(deadline until, F use) {
        inside::room<T> room;
        kolk_status status = kolk_queue_pop(&queue_, room.bytes, until);
        if (status == KOLK_OK) {
            inside::guard destroyed_later([&room] { room.object()->~T(); });
            use(std::move(*room.object()));
        }
        return status;
    }

    static kolk_queue_desc desc_of(const queue_options &wish) {
        kolk_queue_desc desc = {};
        desc.name = wish.name;
        desc.capacity = wish.capacity;
        if (!std::is_trivially_destructible_v<T>) desc.destroy = inside::call_destructor<T>;
        if (!is_bytes) desc.move = call_move;
        return desc;
    }

    kolk_status init(const queue_options &wish) {
        kolk_queue_desc desc = desc_of(wish);
        return kolk_queue_init_abi_(&queue_, &desc, sizeof(T), sizeof queue_, KOLK_ABI);
    }

    kolk_queue queue_ = {};
    kolk_status status_;
};

/* ---- Shared pools ------------------------------------------------------------------------------------------------ */

/* The members of kolk_shared_desc (shared.h). */
struct shared_options {
    const char *name = nullptr; /* copied */
    std::uint32_t capacity = 0, max_capacity = 0, max_threads = 0, cache = 0;
    kolk_generations generations = KOLK_GENERATIONS_RECYCLE;
    std::uint32_t tag = 0;
    kolk_budget *budget = nullptr;
    bool exact = false;
    const char *debug = nullptr;
};

/* A pool for many threads. Each makes a shared_pool<T>::local of its own. If T has a destructor, it runs as the pool's
 * `reset` hook: in the thread that erases, or after erase_later in the thread that reclaims the memory. No erase takes
 * C's fast path then. */
template <class T> class shared_pool {
  public:
    using value_type = T;
    using iterator = inside::walker<T, kolk_shared_cursor, kolk_shared_cursor_next>;
    using const_iterator = inside::walker<const T, kolk_shared_cursor, kolk_shared_cursor_next>;

    explicit shared_pool(std::uint32_t capacity) : shared_pool(shared_options{nullptr, capacity}) {}
    explicit shared_pool(const shared_options &wish) : status_(inside::checked(init(wish))) {}
    /* Destroys the objects that are left. No thread uses the pool any more. */
    ~shared_pool() { kolk_shared_deinit(&pool_); }
    shared_pool(const shared_pool &) = delete;
    shared_pool &operator=(const shared_pool &) = delete;

    /* One thread's access to the pool, on this thread's stack. It ends before the pool. */
    class local {
      public:
        explicit local(shared_pool &of) : status_(inside::checked(kolk_shared_local_init(&local_, &of.pool_))) {}
        ~local() { kolk_shared_local_deinit(&local_); }
        local(const local &) = delete;
        local &operator=(const local &) = delete;

        /* Constructs an object; nullptr: the pool is full. */
        template <class... A> T *emplace(A &&...arguments) {
            std::uint32_t *life;
            void *slot = kolk_shared_take_sized_(&local_, sizeof(T), &life);
            return construct(slot, life, std::forward<A>(arguments)...);
        }

        /* Waits for an object that another thread erases; nullptr: none came, or the pool was shut down. */
        template <class... A> T *emplace_wait(deadline until, A &&...arguments) {
            return construct(kolk_shared_take_slow_(&local_, until), nullptr, std::forward<A>(arguments)...);
        }

        /* Destroys an object that any thread has made. */
        void erase(T *object) { kolk_shared_free_sized_(&local_, object, sizeof(T)); }

        /* The same, but the destructor runs only when no thread looks at the object any more: see Deferred free in
         * shared.h. */
        void erase_later(T *object) { kolk_shared_free_later(&local_, object); }
        void quiesce() { kolk_shared_quiesce(&local_); }
        void offline() { kolk_shared_offline(&local_); }
        void online() { kolk_shared_online(&local_); }
        void flush() { kolk_shared_local_flush(&local_); }

        /* A unique_ptr that erases the object through this local: in the same thread, and before the local ends. */
        struct deleter {
            local *by = nullptr;
            void operator()(T *object) const { by->erase(object); }
        };
        using unique_ptr = std::unique_ptr<T, deleter>;
        template <class... A> unique_ptr make_unique(A &&...arguments) {
            return unique_ptr(emplace(std::forward<A>(arguments)...), deleter{this});
        }

        kolk_status status() const noexcept { return status_; }
        kolk_shared_local &untyped() noexcept { return local_; }

      private:
        template <class... A> T *construct(void *slot, std::uint32_t *life, A &&...arguments) {
            if (!slot) return nullptr;
            auto undo = [this, slot] { kolk_shared_give_up_(&local_, slot); };
            T *object = inside::make_or<T>(undo, slot, std::forward<A>(arguments)...);
            kolk_shared_begin_(&local_, object, life);
            return object;
        }

        kolk_shared_local local_ = {};
        kolk_status status_;
    };

    T *get(handle<T> of) const { return static_cast<T *>(kolk_shared_get_sized_(&pool_, of.untyped, sizeof(T))); }
    handle<T> handle_of(const T *object) const { return {kolk_shared_handle_of(&pool_, object)}; }
    bool contains(const void *object) const { return kolk_shared_is_live(&pool_, object); }
    bool contains(handle<T> of) const { return get(of) != nullptr; }

    /* Exact while no thread makes or erases objects. */
    std::uint32_t size() const { return kolk_shared_count(&pool_); }
    bool empty() const { return size() == 0; }
    std::uint32_t capacity() const { return stats().capacity; }

    iterator begin() { return iterator(kolk_shared_each(&pool_)); }
    const_iterator begin() const { return const_iterator(kolk_shared_each(&pool_)); }
    inside::end_of_walk end() const noexcept { return {}; }

    /* Destroys all objects, while no other thread uses the pool, and no constructor of its objects runs. */
    void clear() { kolk_shared_clear(&pool_); }
    void shutdown() { kolk_shared_shutdown(&pool_); }
    void reopen() { kolk_shared_reopen(&pool_); }

    kolk_stats stats() const { return inside::filled(kolk_shared_stats, pool_); }
    kolk_status status() const noexcept { return status_; }
    bool is_valid() const { return kolk_shared_is_valid(&pool_); }
    kolk_shared &untyped() noexcept { return pool_; }
    const kolk_shared &untyped() const noexcept { return pool_; }

    /* For hot reload, as for pools. No thread may be inside a call. */
    kolk_status rebind(const shared_options &wish) {
        kolk_shared_desc desc = desc_of(wish);
        return kolk_shared_rebind_abi_(&pool_, &desc, sizeof(T), alignof(T), sizeof pool_, KOLK_ABI);
    }

  private:
    static kolk_shared_desc desc_of(const shared_options &wish) {
        kolk_shared_desc desc = {};
        desc.name = wish.name;
        desc.capacity = wish.capacity;
        desc.max_capacity = wish.max_capacity;
        desc.max_threads = wish.max_threads;
        desc.cache = wish.cache;
        desc.generations = wish.generations;
        desc.tag = wish.tag;
        desc.budget = wish.budget;
        desc.exact = wish.exact;
        if (!std::is_trivially_destructible_v<T>) desc.life.reset = inside::call_destructor<T>;
        desc.debug = wish.debug;
        return desc;
    }

    kolk_status init(const shared_options &wish) {
        kolk_shared_desc desc = desc_of(wish);
        return kolk_shared_init_abi_(&pool_, &desc, sizeof(T), alignof(T), sizeof pool_, KOLK_ABI);
    }

    kolk_shared pool_ = {};
    kolk_status status_;
};

/* ---- Pools between processes ------------------------------------------------------------------------------------- */

/* The members of kolk_ipc_desc (ipc.h) with C++'s types. */
template <class T> struct ipc_options {
    const char *name = nullptr; /* copied */
    std::uint32_t capacity = 0, queues = 0, queue_capacity = 0, max_processes = 0;
    std::uint32_t version = 0, tag = 0;
    kolk_ipc_orphans orphans = KOLK_IPC_FREE;
    void (*on_orphan)(T &object, void *context) = nullptr; /* must not throw */
    void *context = nullptr;
    bool trap_full = false, unsealed = false;
};

/* A pool of objects that several processes use, and its queues. A pool that is made or attached in a function can be
 * returned from it by value: `kolk::ipc_pool<frame> pool = kolk::ipc_pool<frame>::attach(fd);`. */
template <class T> class ipc_pool {
    static_assert(std::is_trivially_copyable_v<T>,
                  "other processes use these objects as bytes, and free them if this one dies: T must be trivially "
                  "copyable");

  public:
    using value_type = T;
    using iterator = inside::walker<T, kolk_ipc_cursor, kolk_ipc_cursor_next>;
    using const_iterator = inside::walker<const T, kolk_ipc_cursor, kolk_ipc_cursor_next>;

    explicit ipc_pool(const ipc_options<T> &wish) : ipc_pool(wish, KOLK_IPC_NEW_, &kolk_ipc_init_abi_) {}
    /* Leaves the pool. What this process still owns becomes orphans, and the other processes go on. */
    ~ipc_pool() { kolk_ipc_deinit(&pool_); }
    ipc_pool(const ipc_pool &) = delete;
    ipc_pool &operator=(const ipc_pool &) = delete;

    /* See kolk_ipc_init_in and kolk_ipc_attach. */
    static ipc_pool init_in(int fd, const ipc_options<T> &wish) {
        return ipc_pool(wish, fd < 0 ? -2 : fd, &kolk_ipc_init_abi_);
    }
    static ipc_pool attach(int fd, const ipc_options<T> &wish = {}) {
        return ipc_pool(wish, fd, &kolk_ipc_attach_abi_);
    }
    int fd() const { return kolk_ipc_fd(&pool_); }

    /* Constructs an object, which this process owns; nullptr: no slot is free. Other processes find the object while
     * its constructor runs. */
    template <class... A> T *emplace(A &&...arguments) {
        return construct(kolk_ipc_alloc(&pool_), std::forward<A>(arguments)...);
    }
    /* Waits for a slot. */
    template <class... A> T *emplace_wait(deadline until, A &&...arguments) {
        return construct(kolk_ipc_alloc_wait(&pool_, until), std::forward<A>(arguments)...);
    }
    void erase(T *object) { kolk_ipc_free(&pool_, object); }

    /* A unique_ptr that erases the object. Push it, or let it end, before the pool does. */
    struct deleter {
        ipc_pool *of = nullptr;
        void operator()(T *object) const { of->erase(object); }
    };
    using unique_ptr = std::unique_ptr<T, deleter>;
    template <class... A> unique_ptr make_unique(A &&...arguments) {
        return own(emplace(std::forward<A>(arguments)...));
    }

    /* If the status is not KOLK_OK (kolk_ipc_push), this process still owns the object, and so does the unique_ptr. */
    kolk_status push(std::uint32_t queue, T *object, deadline until = KOLK_FOREVER) {
        return kolk_ipc_push(&pool_, queue, object, until);
    }
    kolk_status push(std::uint32_t queue, unique_ptr &&object, deadline until = KOLK_FOREVER) {
        kolk_status status = push(queue, object.get(), until);
        if (status == KOLK_OK) object.release();
        return status;
    }

    /* An empty one: see kolk_ipc_pop and kolk_ipc_adopt. Its release() gives the object itself. */
    unique_ptr pop(std::uint32_t queue, deadline until = KOLK_FOREVER) {
        return own(static_cast<T *>(kolk_ipc_pop(&pool_, queue, until)));
    }
    unique_ptr adopt() { return own(static_cast<T *>(kolk_ipc_adopt(&pool_))); }

    void close(std::uint32_t queue) { kolk_ipc_close(&pool_, queue); }
    bool is_closed(std::uint32_t queue) const { return kolk_ipc_is_closed(&pool_, queue); }
    std::uint32_t queued(std::uint32_t queue) const { return kolk_ipc_queued(&pool_, queue); }
    std::uint32_t recover() { return kolk_ipc_recover(&pool_); }

    T *get(handle<T> of) const { return static_cast<T *>(kolk_ipc_get(&pool_, of.untyped)); }
    handle<T> handle_of(const T *object) const { return {kolk_ipc_handle_of(&pool_, object)}; }
    bool contains(const void *object) const { return kolk_ipc_is_live(&pool_, object); }
    bool contains(handle<T> of) const { return get(of) != nullptr; }
    bool is_owned(const void *object) const { return kolk_ipc_is_owned(&pool_, object); }

    /* Exact while no process makes or erases objects. O(capacity). */
    std::uint32_t size() const { return kolk_ipc_count(&pool_); }
    bool empty() const { return size() == 0; }
    std::uint32_t capacity() const noexcept { return pool_.capacity; }

    iterator begin() { return iterator(kolk_ipc_each(&pool_)); }
    const_iterator begin() const { return const_iterator(kolk_ipc_each(&pool_)); }
    inside::end_of_walk end() const noexcept { return {}; }

    std::uint32_t holders(kolk_ipc_holder *holders, std::uint32_t n) const {
        return kolk_ipc_holders(&pool_, holders, n);
    }
    kolk_stats stats() const { return inside::filled(kolk_ipc_stats, pool_); }
    /* KOLK_OK, why the init or attach failed, or kolk_ipc_status. */
    kolk_status status() { return status_ == KOLK_OK ? kolk_ipc_status(&pool_) : status_; }
    bool is_valid() const { return kolk_ipc_is_valid(&pool_); }
    kolk_ipc &untyped() noexcept { return pool_; }
    const kolk_ipc &untyped() const noexcept { return pool_; }

  private:
    using maker = kolk_status(kolk_ipc *, int, const kolk_ipc_desc *, std::size_t, std::size_t, std::size_t,
                              std::uint32_t);

    ipc_pool(const ipc_options<T> &wish, int fd, maker *make)
        : on_orphan_(wish.on_orphan), context_(wish.context), status_(inside::checked(init(wish, fd, make))) {}

    static void call_on_orphan(void *object, void *self) {
        const ipc_pool &of = *static_cast<ipc_pool *>(self);
        of.on_orphan_(*static_cast<T *>(object), of.context_);
    }

    kolk_status init(const ipc_options<T> &wish, int fd, maker *make) {
        kolk_ipc_desc desc = {};
        desc.name = wish.name;
        desc.capacity = wish.capacity;
        desc.queues = wish.queues;
        desc.queue_capacity = wish.queue_capacity;
        desc.max_processes = wish.max_processes;
        desc.version = wish.version;
        desc.tag = wish.tag;
        desc.orphans = wish.orphans;
        if (wish.on_orphan) desc.on_orphan = call_on_orphan;
        desc.context = this;
        desc.trap_full = wish.trap_full;
        desc.unsealed = wish.unsealed;
        return make(&pool_, fd, &desc, sizeof(T), alignof(T), sizeof pool_, KOLK_ABI);
    }

    unique_ptr own(T *object) { return unique_ptr(object, deleter{this}); }

    template <class... A> T *construct(void *slot, A &&...arguments) {
        if (!slot) return nullptr;
        auto undo = [this, slot] { kolk_ipc_free(&pool_, slot); };
        return inside::make_or<T>(undo, slot, std::forward<A>(arguments)...);
    }

    void (*on_orphan_)(T &object, void *context);
    void *context_;
    kolk_ipc pool_ = {};
    kolk_status status_;
};

/* ---- Resource pools ---------------------------------------------------------------------------------------------- */

/* The members of kolk_resource_pool_desc (resource.h) with C++'s types; a time of 0 means the default, and -1 ms means
 * off. The functions may throw: create has then failed, with what() as the reason; validate and reset have returned
 * false; destroy and log are done. */
template <class T> struct resource_options {
    const char *name = nullptr; /* copied */
    /* Returns nullptr if it fails, with the reason in error.text. */
    std::function<T *(const char *key, kolk_deadline until, kolk_error &error)> create = nullptr;
    std::function<void(T *)> destroy = nullptr; /* none: delete, for which T must be complete */
    std::function<bool(T &, kolk_deadline until)> validate = nullptr;
    std::function<bool(T &)> reset = nullptr;
    std::function<void(const kolk_resource_event &)> log = nullptr;
    std::uint32_t max = 0, min_idle = 0, max_creating = 0;
    std::chrono::milliseconds idle_timeout{}, max_lifetime{}, keepalive{}, validate_after{}, leak_after{},
        create_timeout{}, slow_borrow{};
    kolk_reuse reuse = KOLK_REUSE_LIFO;
    bool look = false, no_housekeeper = false, warn_nested = false;
    const char *debug = nullptr;
};

template <class T> class resource_pool {
  public:
    explicit resource_pool(resource_options<T> wish) : wish_(std::move(wish)), status_(inside::checked(init())) {}
    ~resource_pool() { kolk_resource_deinit(&pool_); }
    resource_pool(const resource_pool &) = delete;
    resource_pool &operator=(const resource_pool &) = delete;

    /* A resource that is lent, or why none was. Gives it back at the end of its scope; discards it if an exception ends
     * the scope, because the resource may be in any state then. It must not outlive the pool. */
    class borrowed {
      public:
        borrowed() = default;
        borrowed(borrowed &&other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)), borrow_(other.borrow_), status_(other.status_),
              flying_(std::uncaught_exceptions()) {}
        borrowed &operator=(borrowed &&other) noexcept {
            if (this != &other) {
                end();
                pool_ = std::exchange(other.pool_, nullptr);
                borrow_ = other.borrow_;
                status_ = other.status_;
                flying_ = std::uncaught_exceptions();
            }
            return *this;
        }
        ~borrowed() { end(); }

        explicit operator bool() const noexcept { return get() != nullptr; }
        T *get() const noexcept { return pool_ ? static_cast<T *>(borrow_.resource) : nullptr; }
        T &operator*() const noexcept { return *get(); }
        T *operator->() const noexcept { return get(); }

        /* KOLK_OK, or why there is no resource, with a sentence. */
        kolk_status status() const noexcept { return status_; }
        const kolk_error &error() const noexcept { return borrow_.error; }

        /* End the borrow now. discard also destroys the resource. */
        void give_back() {
            if (resource_pool *of = std::exchange(pool_, nullptr)) kolk_resource_give_back(&of->pool_, &borrow_);
        }
        void discard() {
            if (resource_pool *of = std::exchange(pool_, nullptr)) kolk_resource_discard(&of->pool_, &borrow_);
        }

        /* See kolk_resource_detach. */
        T *detach() {
            resource_pool *of = std::exchange(pool_, nullptr);
            return of ? static_cast<T *>(kolk_resource_detach(&of->pool_, &borrow_)) : nullptr;
        }

        /* See kolk_resource_evict_generation. */
        std::uint32_t generation() const noexcept { return borrow_.generation; }

      private:
        friend class resource_pool;
        borrowed(resource_pool *of, const kolk_borrow_desc *wish) {
            status_ = kolk_resource_borrow(&of->pool_, wish, &borrow_);
            if (status_ == KOLK_OK) pool_ = of;
        }
        void end() {
            if (std::uncaught_exceptions() > flying_)
                discard();
            else
                give_back();
        }

        resource_pool *pool_ = nullptr; /* nullptr: nothing is lent */
        kolk_borrowed borrow_ = {};
        kolk_status status_ = KOLK_EMPTY;
        int flying_ = std::uncaught_exceptions();
    };

    /* Waits for 30 s at most. */
    borrowed borrow() { return borrowed(this, nullptr); }
    borrowed borrow(deadline until, const char *key = nullptr, const char *who = nullptr) {
        kolk_borrow_desc desc = {};
        desc.key = key;
        desc.deadline = until;
        desc.who = who;
        return borrowed(this, &desc);
    }

    kolk_status close(deadline until) { return kolk_resource_close(&pool_, until); }
    void evict() { kolk_resource_evict(&pool_); }
    bool evict_generation(std::uint32_t generation) { return kolk_resource_evict_generation(&pool_, generation); }
    void pause() { kolk_resource_pause(&pool_); }
    void resume() { kolk_resource_resume(&pool_); }
    kolk_status resize(std::uint32_t max) { return kolk_resource_resize(&pool_, max); }
    void tick(deadline until) { kolk_resource_tick(&pool_, until); }
    int fd() { return kolk_resource_fd(&pool_); }

    kolk_resource_pool_stats stats() const { return inside::filled(kolk_resource_stats, pool_); }
    kolk_status status() const noexcept { return status_; }
    bool is_valid() const { return kolk_resource_is_valid(&pool_); }
    kolk_resource_pool &untyped() noexcept { return pool_; }
    const kolk_resource_pool &untyped() const noexcept { return pool_; }

  private:
    /* Runs a function of the user's, below which C frames lie. */
    template <class F> static bool caught(F function, kolk_error *error) {
#if defined(__cpp_exceptions)
        try {
            return function();
        } catch (const std::exception &problem) {
            if (error) std::snprintf(error->text, sizeof error->text, "%s", problem.what());
        } catch (...) {
            if (error) std::snprintf(error->text, sizeof error->text, "the function threw something");
        }
        return false;
#else
        (void)error;
        return function();
#endif
    }

    static bool call_create(void *self, const char *key, kolk_deadline until, void **resource, kolk_error *error) {
        resource_pool *of = static_cast<resource_pool *>(self);
        return caught([&] { return (*resource = of->wish_.create(key, until, *error)) != nullptr; }, error);
    }
    /* False: its type is incomplete here, so that only `destroy` can end it. */
    template <class U> static auto delete_it(U *resource, int) -> decltype(sizeof(U) > 0) {
        delete resource;
        return true;
    }
    template <class U> static bool delete_it(U *, long) {
        return false;
    }

    static void call_destroy(void *self, void *resource) {
        resource_pool *of = static_cast<resource_pool *>(self);
        auto destroy = [&] {
            if (!of->wish_.destroy) return delete_it(static_cast<T *>(resource), 0);
            of->wish_.destroy(static_cast<T *>(resource));
            return true;
        };
        caught(destroy, nullptr);
    }
    static bool call_validate(void *self, void *resource, kolk_deadline until) {
        resource_pool *of = static_cast<resource_pool *>(self);
        return caught([&] { return of->wish_.validate(*static_cast<T *>(resource), until); }, nullptr);
    }
    static bool call_reset(void *self, void *resource) {
        resource_pool *of = static_cast<resource_pool *>(self);
        return caught([&] { return of->wish_.reset(*static_cast<T *>(resource)); }, nullptr);
    }
    static void call_log(void *self, const kolk_resource_event *event) {
        resource_pool *of = static_cast<resource_pool *>(self);
        auto log = [&] {
            of->wish_.log(*event);
            return true;
        };
        caught(log, nullptr);
    }

    kolk_status init() {
        if (!wish_.destroy && !delete_it(static_cast<T *>(nullptr), 0)) return KOLK_CREATE_MISSING;
        kolk_resource_pool_desc desc = {};
        desc.name = wish_.name;
        desc.context = this;
        if (wish_.create) desc.create = call_create;
        desc.destroy = call_destroy;
        if (wish_.validate) desc.validate = call_validate;
        if (wish_.reset) desc.reset = call_reset;
        if (wish_.log) desc.log = call_log;
        desc.max = wish_.max;
        desc.min_idle = wish_.min_idle;
        desc.max_creating = wish_.max_creating;
        desc.idle_timeout_ms = wish_.idle_timeout.count();
        desc.max_lifetime_ms = wish_.max_lifetime.count();
        desc.keepalive_ms = wish_.keepalive.count();
        desc.validate_after_ms = wish_.validate_after.count();
        desc.leak_after_ms = wish_.leak_after.count();
        desc.create_timeout_ms = wish_.create_timeout.count();
        desc.slow_borrow_ms = wish_.slow_borrow.count();
        desc.reuse = wish_.reuse;
        desc.look = wish_.look;
        desc.warn_nested = wish_.warn_nested;
        desc.no_housekeeper = wish_.no_housekeeper;
        desc.debug = wish_.debug;
        return kolk_resource_init(&pool_, &desc);
    }

    resource_options<T> wish_; /* before the pool, whose functions it has */
    kolk_resource_pool pool_ = {};
    kolk_status status_;
};

#if defined(__cpp_lib_memory_resource)

/* ---- Heaps and nodes: memory resources --------------------------------------------------------------------------- */

namespace inside {

[[noreturn]] inline void no_memory() {
#if defined(__cpp_exceptions)
    throw std::bad_alloc();
#else
    std::abort();
#endif
}

} // namespace inside

/* A kolk_heap (heap.h): `std::pmr::vector<int> numbers(&heap)`. If there is no memory, allocate throws std::bad_alloc;
 * without exceptions it ends the program. */
class heap : public std::pmr::memory_resource {
  public:
    explicit heap(const kolk_heap_desc &wish = {}) : status_(inside::checked(kolk_heap_init(&heap_, &wish))) {}
    /* Frees all blocks, without destructors. */
    ~heap() override { kolk_heap_deinit(&heap_); }
    heap(const heap &) = delete;
    heap &operator=(const heap &) = delete;

    /* Frees all blocks at once, and keeps the memory for new ones. */
    void reset() { kolk_heap_reset(&heap_); }
    std::size_t trim() { return kolk_heap_trim(&heap_); }

    kolk_stats stats() const { return inside::filled(kolk_heap_stats, heap_); }
    kolk_status status() const noexcept { return status_; }
    bool is_valid() const { return kolk_heap_is_valid(&heap_); }
    kolk_heap &untyped() noexcept { return heap_; }
    const kolk_heap &untyped() const noexcept { return heap_; }

  protected:
    void *do_allocate(std::size_t bytes, std::size_t align) override {
        void *block = align <= 16 ? kolk_heap_alloc(&heap_, bytes) : kolk_heap_alloc_aligned(&heap_, align, bytes);
        if (!block) inside::no_memory();
        return block;
    }
    void do_deallocate(void *block, std::size_t, std::size_t) override { kolk_heap_free(&heap_, block); }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  private:
    kolk_heap heap_ = {};
    kolk_status status_;
};

struct node_options {
    const char *name = nullptr; /* must outlive the resource */
    /* Address space for the nodes of one size; 0: 16 GiB on 64-bit machines, else 64 MiB, or less if the system
     * refuses. Memory is taken as needed. */
    std::size_t max_bytes = 0;
    std::pmr::memory_resource *upstream = nullptr; /* for all but nodes; nullptr: std::pmr::get_default_resource() */
    const char *debug = nullptr;
};

/* A pool for each size of nodes up to 256 bytes, in steps of 8, for one thread at a time. Larger blocks, such as the
 * buckets of an unordered_map, and blocks aligned to more than 16 come from upstream. Any number of containers may
 * share it. Its end frees all nodes, without destructors. */
class node_resource : public std::pmr::memory_resource {
  public:
    static constexpr std::size_t largest = 256;

    explicit node_resource(const node_options &wish = {})
        : wish_(wish), upstream_(wish.upstream ? wish.upstream : std::pmr::get_default_resource()) {}
    ~node_resource() override {
        for (kolk_pool &each : pools_) kolk_pool_deinit(&each);
    }
    node_resource(const node_resource &) = delete;
    node_resource &operator=(const node_resource &) = delete;

    /* A block of `size` bytes, a multiple of 8 up to `largest`, and its end. A multiple of 16 is aligned to 16. */
    void *node(std::size_t size) {
        void *block = kolk_pool_alloc_sized_(&pools_[size / 8 - 1], size);
        return block ? block : first_node(size);
    }
    void end_node(void *block, std::size_t size) { kolk_pool_free_sized_(&pools_[size / 8 - 1], block, size); }

    /* Returns to the system what the pools do not use. */
    std::size_t trim() {
        std::size_t bytes = 0;
        for (kolk_pool &each : pools_) bytes += kolk_pool_trim(&each);
        return bytes;
    }

    /* How many nodes are alive. */
    std::size_t size() const noexcept {
        std::size_t count = 0;
        for (const kolk_pool &each : pools_) count += kolk_pool_count(&each);
        return count;
    }
    std::pmr::memory_resource *upstream() const noexcept { return upstream_; }

    /* The bytes of a node, or 0 if this is not a node. */
    static constexpr std::size_t node_size(std::size_t bytes, std::size_t align) noexcept {
        std::size_t unit = align > 8 ? align : 8;
        if (unit > 16 || bytes > largest) return 0; /* first, so that the sum does not wrap */
        return bytes ? (bytes + unit - 1) / unit * unit : unit;
    }

  protected:
    void *do_allocate(std::size_t bytes, std::size_t align) override {
        std::size_t size = node_size(bytes, align);
        return size ? node(size) : upstream_->allocate(bytes, align);
    }
    void do_deallocate(void *block, std::size_t bytes, std::size_t align) override {
        if (std::size_t size = node_size(bytes, align))
            end_node(block, size);
        else
            upstream_->deallocate(block, bytes, align);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override { return this == &other; }

  private:
    void *first_node(std::size_t size) {
        kolk_pool &of = pools_[size / 8 - 1];
        if (of.capacity == 0) {
            std::size_t bytes = wish_.max_bytes ? wish_.max_bytes : std::size_t(64) << (sizeof(void *) > 4 ? 28 : 20);
            kolk_pool_desc desc = {};
            desc.name = wish_.name;
            desc.object_size = size;
            desc.generations = KOLK_GENERATIONS_NONE;
            desc.debug = wish_.debug;
            kolk_status status;
            do { /* the process may be allowed less address space */
                desc.max_capacity = static_cast<std::uint32_t>((std::min<std::size_t>)(bytes / size, 0x7fffffff));
                status = kolk_pool_init(&of, &desc);
                bytes /= 4;
            } while (status == KOLK_NO_MEMORY && !wish_.max_bytes && bytes > 1 << 20);
            if (void *block = kolk_pool_alloc(&of)) return block;
        }
        inside::no_memory();
    }

    node_options wish_;
    std::pmr::memory_resource *upstream_;
    kolk_pool pools_[largest / 8] = {};
};

/* For containers with a type parameter: `std::list<int, kolk::allocator<int>> numbers(&nodes)`. A node costs no virtual
 * call. */
template <class T> class allocator {
  public:
    using value_type = T;

    allocator(node_resource *from) noexcept : from_(from) {}
    template <class U> allocator(const allocator<U> &other) noexcept : from_(other.from()) {}

    T *allocate(std::size_t n) {
        constexpr std::size_t size = node_resource::node_size(sizeof(T), alignof(T));
        if (size && n == 1) return static_cast<T *>(from_->node(size));
        if (n > static_cast<std::size_t>(-1) / sizeof(T)) inside::no_memory();
        return static_cast<T *>(from_->allocate(n * sizeof(T), alignof(T)));
    }
    void deallocate(T *block, std::size_t n) {
        constexpr std::size_t size = node_resource::node_size(sizeof(T), alignof(T));
        if (size && n == 1)
            from_->end_node(block, size);
        else
            from_->deallocate(block, n * sizeof(T), alignof(T));
    }

    node_resource *from() const noexcept { return from_; }
    friend bool operator==(const allocator &a, const allocator &b) noexcept { return a.from_ == b.from_; }
    friend bool operator!=(const allocator &a, const allocator &b) noexcept { return a.from_ != b.from_; }

  private:
    node_resource *from_;
};

#endif /* memory resources */
#endif /* KOLK_HOSTED */

} // namespace kolk

template <class T> struct std::hash<kolk::handle<T>> {
    std::size_t operator()(kolk::handle<T> of) const noexcept {
        return std::hash<std::uint64_t>()(kolk_handle_pack(of.untyped));
    }
};

#endif
