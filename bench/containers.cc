/* containers.cc: compares allocators for the nodes of std::list, std::map and std::unordered_map: operator new,
 * std::pmr::unsynchronized_pool_resource, boost::fast_pool_allocator without its lock, kolk::allocator, and
 * kolk::node_resource as a memory_resource. One step erases an element that is drawn, and inserts another one; 10,000
 * are alive. promise: kolk.hpp "A node costs no virtual call" */
#include <kolk/kolk.hpp>

#include <benchmark/benchmark.h>
#include <boost/pool/pool_alloc.hpp>

#include <list>
#include <map>
#include <memory_resource>
#include <unordered_map>
#include <vector>

namespace {

constexpr std::uint32_t alive = 10000;
using pair = std::pair<const std::uint64_t, std::uint64_t>;

struct plain {
    template <class T> using of = std::allocator<T>;
    template <class T> std::allocator<T> get() { return {}; }
};

struct boost_fast {
    template <class T>
    using of =
        boost::fast_pool_allocator<T, boost::default_user_allocator_new_delete, boost::details::pool::null_mutex>;
    template <class T> of<T> get() { return {}; }
};

struct std_pool {
    std::pmr::unsynchronized_pool_resource resource;
    template <class T> using of = std::pmr::polymorphic_allocator<T>;
    template <class T> of<T> get() { return &resource; }
};

struct kolk_pmr {
    kolk::node_resource resource;
    template <class T> using of = std::pmr::polymorphic_allocator<T>;
    template <class T> of<T> get() { return &resource; }
};

struct kolk_nodes {
    kolk::node_resource resource;
    template <class T> using of = kolk::allocator<T>;
    template <class T> of<T> get() { return &resource; }
};

/* xorshift: Marsaglia 2003 */
std::uint64_t drawn(std::uint64_t &state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

template <class Maker> void churn_list(benchmark::State &state) {
    Maker maker;
    using list = std::list<std::uint64_t, typename Maker::template of<std::uint64_t>>;
    list all(maker.template get<std::uint64_t>());
    std::vector<typename list::iterator> places;
    std::uint64_t seed = 1;
    for (std::uint32_t i = 0; i < alive; i++) places.push_back(all.insert(all.end(), i));
    for (auto _ : state) {
        auto &place = places[drawn(seed) % alive];
        all.erase(place);
        place = all.insert(all.end(), seed);
    }
}

template <class Map> void churn_map(benchmark::State &state, Map &all) {
    std::vector<std::uint64_t> keys;
    std::uint64_t seed = 1;
    while (keys.size() < alive) {
        keys.push_back(drawn(seed));
        all.emplace(keys.back(), 0);
    }
    for (auto _ : state) {
        std::uint64_t &key = keys[drawn(seed) % alive];
        all.erase(key);
        key = drawn(seed);
        all.emplace(key, 0);
    }
}

template <class Maker> void churn_tree(benchmark::State &state) {
    Maker maker;
    std::map<std::uint64_t, std::uint64_t, std::less<>, typename Maker::template of<pair>> all(
        maker.template get<pair>());
    churn_map(state, all);
}

template <class Maker> void churn_hash(benchmark::State &state) {
    Maker maker;
    std::unordered_map<std::uint64_t, std::uint64_t, std::hash<std::uint64_t>, std::equal_to<>,
                       typename Maker::template of<pair>>
        all(maker.template get<pair>());
    churn_map(state, all);
}

template <class Maker> void add(const char *name) {
    auto one = [name](const char *container, void (*run)(benchmark::State &)) {
        benchmark::RegisterBenchmark((std::string(container) + "/" + name).c_str(), run);
    };
    one("list", churn_list<Maker>);
    one("map", churn_tree<Maker>);
    one("unordered_map", churn_hash<Maker>);
}

} // namespace

int main(int argc, char **argv) {
    add<plain>("new");
    add<std_pool>("std_pmr_pool");
    add<boost_fast>("boost_fast");
    add<kolk_nodes>("kolk");
    add<kolk_pmr>("kolk_pmr");
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}
