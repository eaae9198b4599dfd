/* slotmap.cc: compares the slot map with an array packed by hand, and with objects in a plain array. The packed array
 * swaps with the last object, and has index tables between ids and places and a stack of free ids, but no generations
 * and no checks. promise: slotmap.h "O(1); a remove copies one object", "`clear` and `trim` are O(count)" */
#include "measure.h"

#include <algorithm>
#include <string>
#include <vector>

struct body {
    float x, y, dx, dy, size, heat;
    int32_t frames_left;
    uint32_t colour;
};
static_assert(sizeof(body) == 32, "the figures are for 32 bytes");

KOLK_SLOTMAP_TYPE(bodies, body)

static constexpr body newborn = {1, 2, 0.5f, 0.25f, 1, 1, 1, 0xffffff};

static inline void move_on(body &it) {
    it.x += it.dx;
    it.y += it.dy;
}

/* The loops over both arrays call this one function, so that they run the same instructions. Compiled separately, gcc
 * vectorised one and not the other. */
__attribute__((noinline)) static void move_all(body *it, const body *end) {
    for (; it != end; it++) move_on(*it);
}

__attribute__((noinline)) static float sum_of(const body *it, const body *end) {
    float total = 0;
    for (; it != end; it++) total += it->x;
    return total;
}

/* ---- What is measured -------------------------------------------------------------------------------------------- */

struct plain {
    using name = uint32_t;
    std::vector<body> objects;
    std::vector<uint32_t> places, ids, free_ids;

    explicit plain(size_t n) : places(2 * n) {
        objects.reserve(2 * n);
        ids.reserve(2 * n);
        free_ids.reserve(2 * n);
        for (size_t i = 2 * n; i-- > 0;) free_ids.push_back(static_cast<uint32_t>(i));
    }
    name add(const body &value) {
        uint32_t id = free_ids.back();
        free_ids.pop_back();
        places[id] = static_cast<uint32_t>(objects.size());
        objects.push_back(value);
        ids.push_back(id);
        return id;
    }
    void remove(name id) {
        uint32_t place = places[id];
        objects[place] = objects.back();
        ids[place] = ids.back();
        places[ids[place]] = place;
        objects.pop_back();
        ids.pop_back();
        free_ids.push_back(id);
    }
    body *get(name id) { return &objects[places[id]]; }
    void move() { move_all(objects.data(), objects.data() + objects.size()); }
    float sum() { return sum_of(objects.data(), objects.data() + objects.size()); }
};

/* Only an array, which is the least possible cost of a name. */
struct array_only : plain {
    using plain::plain;
    body *get(name id) { return &objects[id]; }
};

struct typed {
    using name = bodies_handle;
    bodies map;

    explicit typed(size_t n) {
        kolk_slotmap_desc desc = {};
        desc.capacity = static_cast<uint32_t>(2 * n);
        succeed_or_exit(bodies_init(&map, &desc));
    }
    ~typed() { bodies_deinit(&map); }
    name add(const body &value) {
        name handle;
        *bodies_add(&map, &handle) = value;
        return handle;
    }
    void remove(name handle) { bodies_remove(&map, handle); }
    body *get(name handle) { return bodies_get(&map, handle); }
    void move() {
        body *all = bodies_objects(&map);
        move_all(all, all + bodies_count(&map));
    }
    float sum() {
        const body *all = bodies_objects(&map);
        return sum_of(all, all + bodies_count(&map));
    }
};

/* The same with KOLK_EACH, which allows removing the current object. */
struct each : typed {
    using typed::typed;
    void move() {
        KOLK_EACH(bodies, it, &map) move_on(*it);
    }
    float sum() {
        float total = 0;
        KOLK_EACH(bodies, it, &map) total += it->x;
        return total;
    }
};

struct untyped : typed {
    using typed::typed;
    name add(const body &value) {
        name handle;
        *static_cast<body *>(kolk_slotmap_add(&map.map, &handle.untyped)) = value;
        return handle;
    }
    void remove(name handle) { kolk_slotmap_remove(&map.map, handle.untyped); }
    body *get(name handle) { return static_cast<body *>(kolk_slotmap_get(&map.map, handle.untyped)); }
};

/* ---- The loops --------------------------------------------------------------------------------------------------- */

template <typename who> std::vector<typename who::name> fill(who &it, size_t n) {
    std::vector<typename who::name> names;
    for (size_t i = 0; i < n; i++) names.push_back(it.add(newborn));
    return names;
}

/* Removes a random object and adds one. */
template <typename who> void churn(benchmark::State &state, size_t n) {
    who it(n);
    auto names = fill(it, n);
    random_index pick(n);
    for (auto _ : state) {
        auto &name = names[pick()];
        it.remove(name);
        benchmark::ClobberMemory();
        name = it.add(newborn);
        benchmark::ClobberMemory();
    }
}

/* Reads one field of objects in random order. */
template <typename who> void get(benchmark::State &state, size_t n) {
    who it(n);
    auto names = fill(it, n);
    random_index pick(n);
    for (size_t i = n; i-- > 1;) {
        pick.below = i + 1;
        std::swap(names[i], names[pick()]);
    }
    size_t at = 0;
    int32_t total = 0;
    for (auto _ : state) {
        total += it.get(names[at])->frames_left; /* DoNotOptimize alone would not read the value */
        benchmark::DoNotOptimize(total);
        at = at + 1 < n ? at + 1 : 0;
    }
}

template <typename who, bool moves> void iterate(benchmark::State &state, size_t n) {
    who it(n);
    fill(it, n);
    while (state.KeepRunningBatch(static_cast<benchmark::IterationCount>(n))) {
        if (moves)
            it.move();
        else
            benchmark::DoNotOptimize(it.sum());
        benchmark::ClobberMemory();
    }
}

/* Names are workload/size/who. */
static void add(const std::string &workload, const std::string &who, void (*run)(benchmark::State &, size_t)) {
    for (size_t n : {size_t{1000}, size_t{100000}, size_t{1000000}})
        benchmark::RegisterBenchmark((workload + "/" + std::to_string(n) + "/" + who).c_str(),
                                     [run, n](benchmark::State &state) { run(state, n); });
}

int main(int argc, char **argv) {
    add("slotmap_churn", "plain", churn<plain>);
    add("slotmap_churn", "kolk_typed", churn<typed>);
    add("slotmap_churn", "kolk_untyped", churn<untyped>);
    add("slotmap_get", "array", get<array_only>);
    add("slotmap_get", "plain", get<plain>);
    add("slotmap_get", "kolk_typed", get<typed>);
    add("slotmap_get", "kolk_untyped", get<untyped>);
    add("slotmap_sum", "packed", iterate<plain, false>);
    add("slotmap_sum", "kolk_typed", iterate<typed, false>);
    add("slotmap_sum", "each", iterate<each, false>);
    add("slotmap_move", "packed", iterate<plain, true>);
    add("slotmap_move", "kolk_typed", iterate<typed, true>);
    add("slotmap_move", "each", iterate<each, true>);
    return measure(argc, argv);
}
