/* bytemap.cc: compares New and Delete of kolk_bytemap with a direct implementation of the documented pool, which has no
 * checks and searches in two passes, one byte at a time.
 * promise: bytemap.h "get_slot, get_at ... O(count) for an attached pool" */
#include "measure.h"

#include <string>
#include <vector>

namespace {

struct ped {
    unsigned char bytes[0x7c4]; /* San Andreas's widest */
};

/* As in the games, this is a class template whose functions the compiler may inline. */
struct straight {
    std::vector<ped> objects;
    std::vector<uint8_t> bytes;
    int32_t count, first_free = -1;

    explicit straight(int32_t count_)
        : objects(static_cast<size_t>(count_)), bytes(static_cast<size_t>(count_), 0x80), count(count_) {}
    ped *make() {
        bool wrapped = false;
        do {
            if (++first_free == count) {
                if (wrapped) {
                    first_free = -1;
                    return nullptr;
                }
                wrapped = true;
                first_free = 0;
            }
        } while (!(bytes[static_cast<size_t>(first_free)] & 0x80));
        uint8_t &byte = bytes[static_cast<size_t>(first_free)];
        byte = static_cast<uint8_t>((byte + 1) & 0x7f);
        return &objects[static_cast<size_t>(first_free)];
    }
    void destroy(ped *object) {
        int32_t index = static_cast<int32_t>(object - objects.data());
        bytes[static_cast<size_t>(index)] |= 0x80;
        if (index < first_free) first_free = index;
    }
};

/* The same with calls that are not inlined, like those into a library or a game. */
struct called : straight {
    using straight::straight;
    [[gnu::noinline]] ped *make() { return straight::make(); }
    [[gnu::noinline]] void destroy(ped *object) { straight::destroy(object); }
};

KOLK_BYTEMAP_TYPE(peds, ped)

struct kolk {
    peds pool = {};

    explicit kolk(int32_t count) { succeed_or_exit(peds_initialise(&pool, count)); }
    ~kolk() { peds_flush(&pool); }
    ped *make() { return peds_new(&pool); }
    void destroy(ped *object) { peds_delete(&pool, object); }
};

/* Hides the pointer's origin from the optimiser. */
inline ped *hidden(ped *object) {
    benchmark::DoNotOptimize(object);
    benchmark::ClobberMemory();
    return object;
}

/* One iteration deletes a random object and creates another. */
template <typename pool> void churn(benchmark::State &state, int32_t count, int32_t used) {
    pool from(count);
    std::vector<ped *> objects(static_cast<size_t>(used));
    for (ped *&object : objects) object = from.make();
    random_index pick(objects.size());
    for (auto _ : state) {
        ped *&place = objects[pick()];
        from.destroy(place);
        benchmark::ClobberMemory();
        place = hidden(from.make());
    }
}

/* 100 iterations make 100 objects, each in the first slot searched, then delete them in the same order. */
template <typename pool> void burst(benchmark::State &state, int32_t count) {
    pool from(count);
    ped *objects[100];
    while (state.KeepRunningBatch(100)) {
        for (ped *&object : objects) {
            object = hidden(from.make());
        }
        for (ped *object : objects) {
            from.destroy(object);
            benchmark::ClobberMemory();
        }
    }
}

/* One iteration calls New on a full pool. */
template <typename pool> void full(benchmark::State &state, int32_t count) {
    pool from(count);
    for (int32_t i = 0; i < count; i++) from.make();
    for (auto _ : state) {
        hidden(from.make());
    }
}

/* Names are workload/case/pool: bytemap_140/90%/kolk. */
template <typename pool> void add(const std::string &name) {
    for (int32_t count : {140, 13000}) {
        std::string workload = "bytemap_" + std::to_string(count) + "/";
        for (int32_t percent : {10, 50, 90, 99})
            benchmark::RegisterBenchmark((workload + std::to_string(percent) + "%/" + name).c_str(), churn<pool>, count,
                                         count * percent / 100);
        benchmark::RegisterBenchmark((workload + "burst/" + name).c_str(), burst<pool>, count);
        benchmark::RegisterBenchmark((workload + "full/" + name).c_str(), full<pool>, count);
    }
}

} // namespace

int main(int argc, char **argv) {
    add<straight>("straight");
    add<called>("called");
    add<kolk>("kolk");
    return measure(argc, argv);
}
