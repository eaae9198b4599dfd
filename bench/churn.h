/* churn.h: the timed loops, and the allocators to compare with kolk.
 *
 * Every allocator is a class with alloc() and free(object). After each alloc and each free, the loops hide the object
 * and all of memory from the optimiser (DoNotOptimize, ClobberMemory). Otherwise it would merge a free with the alloc
 * that follows, which it cannot do in a real program. */
#ifndef KOLK_BENCH_CHURN_H
#define KOLK_BENCH_CHURN_H

#include "mallocs.h"
#include "measure.h"

#include <boost/pool/pool.hpp>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

constexpr size_t burst_length = 100;

/* The use of a new object: none, writing its first 8 bytes, or initialising all 64. */
enum class use { pair, write, init };

template <use how> inline void use_object(void *memory, uint64_t value) {
    thing *fresh = static_cast<thing *>(memory);
    if (how == use::write) fresh->words[0] = value;
    if (how == use::init) *fresh = {{value, value, value, value, value, value, value, value}};
}

/* ---- The allocators: those with a limit have room for 2 * alive objects ------------------------------------------ */

/* Always returns the same object, to measure the loop alone. */
struct no_allocator {
    thing only;

    explicit no_allocator(size_t) {}
    void *alloc() { return &only; }
    void free(void *) {}
};

/* A malloc, which ignores the number of objects. */
template <typename malloc> struct unbounded : malloc {
    explicit unbounded(size_t) {}
};

struct boost_pool {
    boost::pool<> pool;

    explicit boost_pool(size_t alive) : pool(object_size, 2 * alive) {}
    void *alloc() { return pool.malloc(); }
    void free(void *memory) { pool.free(memory); }
};

/* The second pool of the chapter Object Pool (Nystrom, Game Programming Patterns, 2014): dead objects hold the free
 * list. */
struct chapter_list {
    union slot {
        thing live;
        slot *next;
    };
    std::vector<slot> slots;
    slot *first;

    explicit chapter_list(size_t alive) : slots(2 * alive), first(slots.data()) {
        for (size_t i = 0; i + 1 < slots.size(); i++) slots[i].next = &slots[i + 1];
        slots.back().next = nullptr;
    }
    void *alloc() {
        slot *taken = first;
        if (taken) first = taken->next;
        return taken;
    }
    void free(void *memory) {
        slot *given = static_cast<slot *>(memory);
        given->next = first;
        first = given;
    }
};

template <kolk_reuse reuse, kolk_generations generations, bool ages = false> struct kolk_untyped {
    kolk_pool pool;

    explicit kolk_untyped(size_t alive) {
        kolk_pool_desc desc = {};
        desc.object_size = object_size;
        desc.capacity = static_cast<uint32_t>(2 * alive);
        desc.reuse = reuse;
        desc.generations = generations;
        desc.ages = ages;
        succeed_or_exit(kolk_pool_init(&pool, &desc));
    }
    ~kolk_untyped() { kolk_pool_deinit(&pool); }
    void *alloc() { return kolk_pool_alloc(&pool); }
    void free(void *memory) { kolk_pool_free(&pool, memory); }
};

KOLK_POOL_TYPE(thing_pool, thing)

template <kolk_generations generations> struct kolk_typed {
    thing_pool pool;

    explicit kolk_typed(size_t alive) {
        kolk_pool_desc desc = {};
        desc.capacity = static_cast<uint32_t>(2 * alive);
        desc.generations = generations;
        succeed_or_exit(thing_pool_init(&pool, &desc));
    }
    ~kolk_typed() { thing_pool_deinit(&pool); }
    void *alloc() { return thing_pool_alloc(&pool); }
    void free(void *memory) { thing_pool_free(&pool, static_cast<thing *>(memory)); }
};

/* ---- The loops --------------------------------------------------------------------------------------------------- */

/* If the allocator's library cannot be loaded, skips the row, gives the reason and returns false. */
template <typename allocator> bool is_usable(benchmark::State &state, const allocator &from) {
    if constexpr (std::is_base_of_v<loaded_malloc, allocator>) {
        if (!from.error.empty()) {
            state.SkipWithError(from.error.c_str());
            return false;
        }
    }
    return true;
}

template <use how, typename allocator> inline void *alloc_and_use(allocator &from, uint64_t value) {
    void *memory = from.alloc();
    benchmark::DoNotOptimize(memory);
    use_object<how>(memory, value);
    benchmark::ClobberMemory();
    return memory;
}

/* One iteration frees a random live object and allocates another in its place. */
template <typename allocator, use how, typename index, int alignment>
NOT_INLINED void churn(benchmark::State &state, size_t alive) {
    align_code<alignment>();
    auto owner = std::make_unique<allocator>(alive);
    allocator &from = *owner;
    if (!is_usable(state, from)) return;
    std::vector<void *> places(alive);
    void **objects = places.data();
    for (void *&memory : places) memory = alloc_and_use<use::init>(from, 1);
    index pick(alive);
    for (auto _ : state) {
        void *&place = objects[pick()];
        from.free(place);
        benchmark::ClobberMemory();
        place = alloc_and_use<how>(from, pick.state);
    }
    for (void *memory : places) from.free(memory);
}

/* 100 iterations allocate 100 objects, then free them in the same order. */
template <typename allocator, use how, int alignment> NOT_INLINED void burst(benchmark::State &state) {
    align_code<alignment>();
    auto owner = std::make_unique<allocator>(burst_length);
    allocator &from = *owner;
    if (!is_usable(state, from)) return;
    void *objects[burst_length];
    while (state.KeepRunningBatch(burst_length)) {
        for (void *&memory : objects) memory = alloc_and_use<how>(from, 1);
        for (void *memory : objects) {
            from.free(memory);
            benchmark::ClobberMemory();
        }
    }
}

/* Names are workload/way/allocator: churn_10000/write/boost. In recorded_10000/write/boost, the random numbers were
 * drawn before. */
template <typename allocator, use how> void add_way(const std::string &way, const std::string &name) {
    for (size_t alive : {size_t{100}, size_t{10000}, size_t{1000000}}) {
        std::string rest = "_" + std::to_string(alive) + "/" + way + "/" + name;
        add_loop("churn" + rest, [alive](benchmark::State &state, auto alignment) {
            churn<allocator, how, random_index, alignment>(state, alive);
        });
        add_loop("recorded" + rest, [alive](benchmark::State &state, auto alignment) {
            churn<allocator, how, recorded_index, alignment>(state, alive);
        });
    }
    add_loop("burst_" + std::to_string(burst_length) + "/" + way + "/" + name,
             [](benchmark::State &state, auto alignment) { burst<allocator, how, alignment>(state); });
}

template <typename allocator> void add(const std::string &name) {
    add_way<allocator, use::pair>("pair", name);
    add_way<allocator, use::write>("write", name);
    add_way<allocator, use::init>("init", name);
}

#endif
