/* components.h: the containers that the article on component pools compares, and kolk in two orders.
 *
 * A place is the value by which an owner removes a component. If components move (PACKED), it is a position, and any
 * position below count is valid. Otherwise it is a pointer, or something similar, that stays valid. */
#ifndef KOLK_BENCH_COMPONENTS_H
#define KOLK_BENCH_COMPONENTS_H

#include "measure.h"

#include <algorithm>
#include <functional>
#include <list>
#include <vector>

/* If different containers have the same visiting loop, keeps it in one function, so that the instructions are the same
 * and have the same address. */
#define NOT_INLINED __attribute__((noinline))

struct component {
    float x, y, dx, dy, size, heat;
    uint32_t owner, layer;
};
static_assert(sizeof(component) == 32, "the figures are for 32 bytes");

inline component newborn(uint32_t owner) {
    return {1, 2, 0.5f, 0.25f, 1, 1, owner, 0};
}

/* ---- No container: the time of the loops alone ------------------------------------------------------------------- */

struct nothing {
    using place = component *;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = sizeof(component);
    component only = {};

    explicit nothing(size_t) {}
    place add(uint32_t owner) {
        only = newborn(owner);
        return &only;
    }
    void remove(place) {}
    template <typename function> void each(function) {}
};

/* ---- Packed: components move, so what an owner keeps of one does not stay valid ---------------------------------- */

struct packed_vector {
    using place = size_t;
    static constexpr bool packed = true;
    static constexpr size_t stride = sizeof(component);
    std::vector<component> objects;
    size_t size = 0; /* live elements; the rest is unused */

    explicit packed_vector(size_t slots) : objects(slots) {}
    place add(uint32_t owner) {
        objects[size] = newborn(owner);
        return size++;
    }
    template <typename function> NOT_INLINED void each(function visit) {
        for (size_t at = 0; at < size; at++) visit(objects[at]);
    }
};

/* The last component moves into the hole. */
struct vector_swap : packed_vector {
    static constexpr bool linear = false;
    using packed_vector::packed_vector;
    void remove(place at) { objects[at] = objects[--size]; }
};

/* All components behind the hole move up, so the order is kept. */
struct vector_shift : packed_vector {
    static constexpr bool linear = true;
    using packed_vector::packed_vector;
    void remove(place at) {
        std::copy(&objects[at] + 1, &objects[0] + size, &objects[at]);
        size--;
    }
};

/* ---- With holes: components stay where they are ------------------------------------------------------------------ */

/* The article's first try: a vector whose live components also form a doubly linked list, oldest first. Links are
 * indices, 8 bytes per component. The element after the last slot is both ends of the list. */
struct vector_list {
    struct element {
        component it;
        uint32_t previous, next; /* in a free element, next is the next free one */
    };
    using place = component *;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = sizeof(element);
    std::vector<element> elements;
    uint32_t end, first_empty = 0;

    explicit vector_list(size_t slots) : elements(slots + 1), end(static_cast<uint32_t>(slots)) {
        for (uint32_t id = 0; id < end; id++) elements[id].next = id + 1;
        elements[end].previous = elements[end].next = end;
    }
    place add(uint32_t owner) {
        uint32_t id = first_empty, last = elements[end].previous;
        element &added = elements[id];
        first_empty = added.next;
        added = {newborn(owner), last, end};
        elements[last].next = elements[end].previous = id;
        return &added.it;
    }
    void remove(place object) {
        element &removed = *reinterpret_cast<element *>(object); /* the element is the object's first member */
        elements[removed.previous].next = removed.next;
        elements[removed.next].previous = removed.previous;
        removed.next = first_empty;
        first_empty = static_cast<uint32_t>(&removed - elements.data());
    }
    template <typename function> NOT_INLINED void each(function visit) {
        for (uint32_t id = elements[end].next; id != end; id = elements[id].next) visit(elements[id].it);
    }
};

/* The article's second version: a flag, and a chain of free elements that starts with the one removed last. */
struct flag_chain {
    struct element {
        component it;
        uint32_t next_empty;
        bool alive;
    };
    using place = component *;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = sizeof(element);
    std::vector<element> elements;
    uint32_t first_empty = 0;

    explicit flag_chain(size_t slots) : elements(slots) {
        for (uint32_t id = 0; id < slots; id++) elements[id].next_empty = id + 1;
    }
    place add(uint32_t owner) {
        element &added = elements[first_empty];
        first_empty = added.next_empty;
        added.it = newborn(owner);
        added.alive = true;
        return &added.it;
    }
    void remove(place object) {
        element &removed = *reinterpret_cast<element *>(object);
        removed.alive = false;
        removed.next_empty = first_empty;
        first_empty = static_cast<uint32_t>(&removed - elements.data());
    }
    template <typename function> NOT_INLINED void each(function visit) {
        for (element &at : elements)
            if (at.alive) visit(at.it);
    }
};

/* The article's other version: a flag, and a sorted vector of the free elements, with the lowest at its end. */
struct flag_sorted {
    struct element {
        component it;
        bool alive;
    };
    using place = component *;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = sizeof(element);
    std::vector<element> elements;
    std::vector<uint32_t> empty;

    explicit flag_sorted(size_t slots) : elements(slots), empty(slots) {
        for (uint32_t id = 0; id < slots; id++) empty[id] = static_cast<uint32_t>(slots) - 1 - id;
    }
    place add(uint32_t owner) {
        element &added = elements[empty.back()];
        empty.pop_back();
        added = {newborn(owner), true};
        return &added.it;
    }
    void remove(place object) {
        element &removed = *reinterpret_cast<element *>(object);
        uint32_t id = static_cast<uint32_t>(&removed - elements.data());
        removed.alive = false;
        empty.insert(std::lower_bound(empty.begin(), empty.end(), id, std::greater<uint32_t>()), id);
    }
    template <typename function> NOT_INLINED void each(function visit) {
        for (element &at : elements)
            if (at.alive) visit(at.it);
    }
};

struct standard_list {
    using place = std::list<component>::iterator;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = 2 * sizeof(void *) + sizeof(component);
    std::list<component> objects;

    explicit standard_list(size_t) {}
    place add(uint32_t owner) { return objects.insert(objects.end(), newborn(owner)); }
    void remove(place at) { objects.erase(at); }
    template <typename function> NOT_INLINED void each(function visit) {
        for (component &it : objects) visit(it);
    }
};

KOLK_POOL_TYPE(component_pool, component)

template <kolk_reuse reuse> struct kolk_components {
    using place = component *;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = sizeof(component);
    component_pool pool;

    explicit kolk_components(size_t slots) {
        kolk_pool_desc desc = {};
        desc.capacity = static_cast<uint32_t>(slots);
        desc.reuse = reuse;
        succeed_or_exit(component_pool_init(&pool, &desc));
    }
    kolk_components(const kolk_components &) = delete;
    ~kolk_components() { component_pool_deinit(&pool); }
    place add(uint32_t owner) {
        component *added = component_pool_alloc(&pool);
        *added = newborn(owner);
        return added;
    }
    void remove(place object) { component_pool_free(&pool, object); }
    template <typename function> NOT_INLINED void each(function visit) {
        KOLK_EACH(component_pool, it, &pool) visit(*it);
    }
};

KOLK_SLOTMAP_TYPE(component_map, component)

/* Packed like vector_swap, but an owner keeps a handle to a component. */
struct slot_map {
    using place = component_map_handle;
    static constexpr bool packed = false, linear = false;
    static constexpr size_t stride = sizeof(component);
    component_map map;

    explicit slot_map(size_t slots) {
        kolk_slotmap_desc desc = {};
        desc.capacity = static_cast<uint32_t>(slots);
        succeed_or_exit(component_map_init(&map, &desc));
    }
    slot_map(const slot_map &) = delete;
    ~slot_map() { component_map_deinit(&map); }
    place add(uint32_t owner) {
        place added = {};
        *component_map_add(&map, &added) = newborn(owner);
        return added;
    }
    void remove(place handle) { component_map_remove(&map, handle); }
    template <typename function> NOT_INLINED void each(function visit) {
        component *objects = component_map_objects(&map);
        for (uint32_t n = component_map_count(&map), i = 0; i < n; i++) visit(objects[i]);
    }
};

/* The same, but nothing moves before the end of a batch. */
struct settling_map : slot_map {
    using slot_map::slot_map;
    void remove(place handle) { component_map_remove_in_place(&map, handle); }
    void settle() { component_map_settle(&map); }
    template <typename function> void each(function visit) {
        settle();
        slot_map::each(visit);
    }
};

#endif
