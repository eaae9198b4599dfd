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
 * C++17 has no designated initialisers: `kolk::options<enemy> wish; wish.capacity = 256;`, then
 * `kolk::pool<enemy> enemies{wish};`.
 *
 *     pool<T>            objects of one type that never move (pool.h)
 *     pool_of<A, B, C>   objects of several types in slots of one size
 *     slot_map<T>        objects packed in an array, which move; handles follow (slotmap.h)
 *     queue<T>           a bounded blocking queue of any movable items (queue.h)
 *     shared_pool<T>     a pool for many threads, each with a shared_pool<T>::local (shared.h)
 *     resource_pool<T>   lends connections and the like; a `borrowed` gives itself back (resource.h)
 *     heap               a memory_resource of blocks of any size, with every free checked (heap.h)
 *     node_resource      a memory_resource for the nodes of lists, maps and sets; allocator<T> uses it
 *
 * Cost      as in C, plus constructors and destructors. If T has a destructor, pool<T>::erase tests once more than free
 *           whether the object is alive, so that a second erase does not run the destructor again. It is reported as in
 *           C.
 * Memory    as in C; nothing is allocated with new (but a resource_pool's functions may be).
 * Errors    if an init fails, the constructor throws kolk::error. Without exceptions (-fno-exceptions), the object has
 *           the capacity 0 then, and status() tells why. A full pool returns nullptr. A constructor of T that throws
 *           leaves the pool as it was. Destructors and hooks must not throw. Bugs of the program go to the failure
 *           handler (base.h).
 * Threads   as in C: pool, slot_map and node_resource are for one thread at a time, the others for many.
 * Contents  T may be any object type: std::string, std::unique_ptr, over-aligned up to 4,096, with const members, final.
 *           All classes but handles and borrows are pinned: they can't be copied or moved. To return one from a
 *           function, or to keep several in a vector, use std::make_unique<kolk::pool<T>>(options).
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

/* Constructs an object in a slot. Calls `undo` if the constructor throws. */
template <class T, class Undo, class... A> T *construct(void *slot, Undo undo, A &&...arguments) {
    struct guard {
        Undo undo;
        bool armed = true;
        explicit guard(Undo undo_) : undo(std::move(undo_)) {}
        guard(const guard &) = delete;
        guard &operator=(const guard &) = delete;
        ~guard() {
            if (armed) undo();
        }
    };
    if constexpr (std::is_nothrow_constructible_v<T, A...>) {
        return ::new (slot) T(std::forward<A>(arguments)...);
    } else {
        guard until_made(std::move(undo));
        T *object = nullptr;
        if constexpr (std::is_constructible_v<T, A...>)
            object = ::new (slot) T(std::forward<A>(arguments)...);
        else
            object = ::new (slot) T{std::forward<A>(arguments)...}; /* an aggregate */
        until_made.armed = false;
        return object;
    }
}

/* Room for one object. */
template <class T> struct room {
    alignas(T) unsigned char bytes[sizeof(T)];
    T *object() noexcept { return reinterpret_cast<T *>(bytes); }
};

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
    explicit walker(const Cursor &begin) : cursor_(begin) { ++*this; }

    V &operator*() const { return *at_; }
    V *operator->() const { return at_; }
    walker &operator++() {
        at_ = static_cast<V *>(Next(&cursor_));
        return *this;
    }
    void operator++(int) { ++*this; }

    friend bool operator==(const walker &a, end_of_walk) { return !a.at_; }
#if __cplusplus <= 201703L /* C++20 derives these */
    friend bool operator!=(const walker &a, end_of_walk) { return a.at_; }
    friend bool operator==(end_of_walk, const walker &a) { return !a.at_; }
    friend bool operator!=(end_of_walk, const walker &a) { return a.at_; }
#endif

  private:
    Cursor cursor_ = {};
    V *at_ = nullptr;
};

} // namespace inside

/* How a pool is to be: the members of kolk_pool_desc (pool.h) with C++'s types. 0, nullptr and false mean the default.
 * Members that are missing here are for C: constructors and destructors do the work of setup, reset and teardown. Give
 * pools of one type names of their own, because handles of two pools without a name are not told apart. */
template <class T> struct options {
    const char *name = nullptr; /* must outlive the pool */
    std::uint32_t capacity = 0, max_capacity = 0, headroom = 0, low_water = 0;
    kolk_reuse reuse = KOLK_REUSE_LIFO;
    kolk_generations generations = KOLK_GENERATIONS_RECYCLE;
    std::uint32_t tag = 0;
    bool ages = false;
    void *memory = nullptr; /* KOLK_POOL_BYTES(sizeof(T), alignof(T), n) bytes */
    std::size_t memory_size = 0;
    /* Called when the pool is full; returns true if it has made room: a function of yours, or
     * pool<T>::evict_cheapest, evict_oldest or trap_full. */
    bool (*on_full)(pool<T> &full, void *context) = nullptr;
    double (*cost)(const T &object, void *context) = nullptr;
    void (*on_evict)(T &object, void *context) = nullptr; /* before the object's destructor */
    pool<T> *overflow = nullptr;
    void (*on_low)(pool<T> &low, void *context) = nullptr;
    void *context = nullptr;
    const char *debug = nullptr;
};

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

template <class T> class pool {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T>, "a pool is for objects");
    static_assert(alignof(T) <= 4096, "kolk aligns objects to 4,096 bytes at most");

  public:
    using value_type = T;

    explicit pool(const options<T> &wish) : hooks_(wish), status_(inside::checked(init(wish))) {}

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

    /* Destroys an object. nullptr does nothing; any other pointer that is not a live object of this pool is a bug, which
     * is reported. */
    void erase(T *object) {
        if constexpr (!std::is_trivially_destructible_v<T>)
            if (kolk_pool_is_live(&pool_, object)) object->~T();
        kolk_pool_free_sized_(&pool_, object, sizeof(T));
    }

    /* False: the handle is null, stale or from another pool. */
    bool erase(handle<T> of) {
        T *object = get(of);
        if (object) erase(object);
        return object != nullptr;
    }

    /* Destroys all objects, those in the lowest slots first. A destructor may erase other objects that are alive. */
    void clear() {
        if constexpr (!std::is_trivially_destructible_v<T>)
            while (size() != 0)
                for (T &each : *this) erase(&each);
        kolk_pool_clear(&pool_);
    }

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

    kolk_stats stats() const {
        kolk_stats of;
        kolk_pool_stats(&pool_, &of);
        return of;
    }

    /* KOLK_OK, or why the init failed. */
    kolk_status status() const noexcept { return status_; }

    bool is_valid() const { return kolk_pool_is_valid(&pool_); }

    /* The C pool, for every function of pool.h that this class lacks. Objects that these functions free are not
     * destroyed. */
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
    std::size_t tick(std::uint32_t budget) { return kolk_pool_tick(&pool_, budget); }

    T *oldest() { return static_cast<T *>(kolk_pool_oldest(&pool_)); }
    T *newest() { return static_cast<T *>(kolk_pool_newest(&pool_)); }
    T *newer(const T *object) { return static_cast<T *>(kolk_pool_newer(&pool_, object)); }
    T *older(const T *object) { return static_cast<T *>(kolk_pool_older(&pool_, object)); }
    void touch(const T *object) { kolk_pool_touch(&pool_, object); }
    void protect(const T *object, bool on) { kolk_pool_protect(&pool_, object, on); }

  private:
    struct hooks {
        explicit hooks(const options<T> &wish)
            : on_full(wish.on_full), cost(wish.cost), on_evict(wish.on_evict), on_low(wish.on_low),
              context(wish.context) {}
        bool (*on_full)(pool &, void *);
        double (*cost)(const T &, void *);
        void (*on_evict)(T &, void *);
        void (*on_low)(pool &, void *);
        void *context;
    };

    static bool call_on_full(kolk_pool *, std::size_t, void *self) {
        pool &of = *static_cast<pool *>(self);
        return of.hooks_.on_full(of, of.hooks_.context);
    }
    static double call_cost(const void *object, void *self) {
        const hooks &of = static_cast<pool *>(self)->hooks_;
        return of.cost(*static_cast<const T *>(object), of.context);
    }
    static void call_on_evict(void *object, void *self) {
        const hooks &of = static_cast<pool *>(self)->hooks_;
        if (of.on_evict) of.on_evict(*static_cast<T *>(object), of.context);
        static_cast<T *>(object)->~T();
    }
    static void call_on_low(kolk_pool *, void *self) {
        pool &of = *static_cast<pool *>(self);
        of.hooks_.on_low(of, of.hooks_.context);
    }

    kolk_status init(const options<T> &wish) {
        kolk_pool_desc desc = {};
        desc.name = wish.name;
        desc.capacity = wish.capacity;
        desc.max_capacity = wish.max_capacity;
        desc.headroom = wish.headroom;
        desc.low_water = wish.low_water;
        desc.reuse = wish.reuse;
        desc.generations = wish.generations;
        desc.tag = wish.tag;
        desc.ages = wish.ages;
        desc.memory = wish.memory;
        desc.memory_size = wish.memory_size;
        if (wish.on_full == evict_cheapest) /* init checks what the ready-made ones need */
            desc.on_full = kolk_pool_evict_cheapest;
        else if (wish.on_full == evict_oldest)
            desc.on_full = kolk_pool_evict_oldest;
        else if (wish.on_full == trap_full)
            desc.on_full = kolk_pool_trap_full;
        else if (wish.on_full)
            desc.on_full = call_on_full;
        if (wish.cost) desc.cost = call_cost;
        if (wish.on_evict || !std::is_trivially_destructible_v<T>) desc.on_evict = call_on_evict;
        if (wish.overflow) desc.overflow = &wish.overflow->pool_;
        if (wish.on_low) desc.on_low = call_on_low;
        desc.context = this;
        desc.debug = wish.debug;
        return kolk_pool_init_typed_(&pool_, &desc, sizeof(T), alignof(T));
    }

    template <class... A> T *construct(void *slot, A &&...arguments) {
        if (!slot) return nullptr;
        return inside::construct<T>(slot, [this, slot] { kolk_pool_free(&pool_, slot); }, std::forward<A>(arguments)...);
    }

    kolk_pool pool_ = {};
    hooks hooks_;
    kolk_status status_;
};

} // namespace kolk

template <class T> struct std::hash<kolk::handle<T>> {
    std::size_t operator()(kolk::handle<T> of) const noexcept {
        return std::hash<std::uint64_t>()(kolk_handle_pack(of.untyped));
    }
};

#endif
