// Tests each promise of kolk::heap, kolk::node_resource and kolk::allocator in kolk.hpp.
#include <kolk/kolk.hpp>

#include "test.h"

#if defined(__cpp_lib_memory_resource)
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

/* promise: kolk.hpp "A kolk_heap ... ends the program", "Frees all blocks, without destructors", "Frees all blocks at
 * once" */
void test_heap() {
    kolk_heap_desc wish = {};
    wish.name = "level";
    kolk::heap heap(wish);
    {
        std::pmr::vector<std::pmr::string> names(&heap);
        for (int i = 0; i < 1000; i++) names.emplace_back("a name that is longer than a short string");
        CHECK(heap.stats().count > 1000 && heap.is_valid() && heap.status() == KOLK_OK);
    }
    CHECK(heap.stats().count == 0);
    void *wide = heap.allocate(100, 256);
    CHECK(reinterpret_cast<std::uintptr_t>(wide) % 256 == 0);
    heap.deallocate(wide, 100, 256);
    (void)heap.allocate(10);
    CHECK(heap.stats().count == 1);
    heap.reset();
    heap.trim();
    CHECK(heap.stats().count == 0 && heap.is_equal(heap));
    kolk::heap other;
    CHECK(!heap.is_equal(other));
    failures told;
    void *block = other.allocate(16);
    other.deallocate(block, 16);
    other.deallocate(block, 16);
    CHECK(told.count == 1);
#if defined(__cpp_exceptions)
    kolk_heap_desc small = {};
    small.limit = 100000;
    kolk::heap limited(small);
    CHECK(throws_an<std::bad_alloc>([&] { std::pmr::vector<char>(1000000, 'x', &limited); }));
#endif
}

// Sizes that wrap when they are rounded up.
void test_huge(std::pmr::memory_resource &from) {
    if (!has_exceptions) return;
    for (std::size_t less = 0; less < 40; less++)
        for (std::size_t most : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - 4096})
            for (std::size_t align = 1; align <= 4096; align *= 2)
                CHECK(throws_an<std::bad_alloc>([&] { return from.allocate(most - less, align); }));
    std::pmr::polymorphic_allocator<char> chars(&from);
    CHECK(throws_an<std::bad_alloc>([&] { return chars.allocate(SIZE_MAX); }));
}

/* promise: kolk.hpp "A pool for each ... nodes, without destructors", "system what the pools do not use", "How many
 * nodes are alive", "node, or 0 if this is not a node" */
void test_nodes() {
    kolk::node_options wish;
    wish.name = "nodes";
    wish.max_bytes = 1 << 20; /* memcheck needs 10 s for the address space that is usual */
    kolk::node_resource nodes(wish);
    {
        std::pmr::list<int> list(&nodes);
        std::pmr::map<std::string, int> map(&nodes);
        std::list<int, kolk::allocator<int>> own(&nodes);
        std::set<int, std::less<int>, kolk::allocator<int>> set(&nodes);
        std::unordered_map<int, int, std::hash<int>, std::equal_to<int>, kolk::allocator<std::pair<const int, int>>>
            hash(&nodes);
        for (int i = 0; i < 1000; i++) {
            list.push_back(i);
            map[std::to_string(i)] = i;
            own.push_front(i);
            set.insert(i * 7919 % 1000);
            hash[i] = i;
        }
        CHECK(nodes.size() == 5000 && list.back() == 999 && map["77"] == 77 && own.back() == 0 && hash[500] == 500);
        CHECK(set.size() == 1000 && *set.begin() == 0);
        auto copy = own;
        CHECK(copy.get_allocator() == own.get_allocator() && nodes.size() == 6000);
        own.remove_if([](int each) { return each % 2; });
        CHECK(nodes.size() == 5500);
        own.splice(own.begin(), copy); // the same resource, so nodes can change hands
        CHECK(own.size() == 1500 && nodes.size() == 5500);
    }
    CHECK(nodes.size() == 0);
    nodes.trim();
    struct alignas(16) wide {
        char bytes[48];
    };
    void *block = nodes.allocate(sizeof(wide), alignof(wide));
    CHECK(reinterpret_cast<std::uintptr_t>(block) % 16 == 0 && nodes.size() == 1);
    failures told;
    nodes.deallocate(block, sizeof(wide), alignof(wide));
    nodes.deallocate(block, sizeof(wide), alignof(wide));
    CHECK(told.count == 1 && told.last == KOLK_DOUBLE_FREE);
    void *large = nodes.allocate(1000, 64); // from upstream
    CHECK(nodes.size() == 0 && reinterpret_cast<std::uintptr_t>(large) % 64 == 0);
    nodes.deallocate(large, 1000, 64);
    wish.upstream = std::pmr::null_memory_resource(); // libstdc++'s own sums wrap, too
    kolk::node_resource only_nodes(wish);
    test_huge(only_nodes);
    kolk::heap heap;
    test_huge(heap);
    struct some {
        char bytes[200];
    };
    kolk::allocator<char> chars(&only_nodes);
    kolk::allocator<some> all(&only_nodes);
    for (std::size_t n : {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX / sizeof(some), SIZE_MAX / sizeof(some) + 1}) {
        if (!has_exceptions) break;
        CHECK(throws_an<std::bad_alloc>([&] { return chars.allocate(n == SIZE_MAX ? n : SIZE_MAX - n % 100); }));
        CHECK(throws_an<std::bad_alloc>([&] { return all.allocate(n); }));
    }
    static_assert(
        kolk::node_resource::node_size(SIZE_MAX, 1) == 0 && kolk::node_resource::node_size(SIZE_MAX - 6, 1) == 0 &&
        kolk::node_resource::node_size(SIZE_MAX - 14, 16) == 0 &&
        kolk::node_resource::node_size(SIZE_MAX / 2 + 1, 8) == 0 &&
        kolk::node_resource::node_size(0, SIZE_MAX / 2 + 1) == 0 && kolk::node_resource::node_size(256, 16) == 256);
    static_assert(kolk::node_resource::node_size(0, 1) == 8 && kolk::node_resource::node_size(17, 16) == 32 &&
                  kolk::node_resource::node_size(257, 1) == 0 && kolk::node_resource::node_size(8, 32) == 0);
#if defined(__cpp_exceptions)
    wish.max_bytes = 24 * 100;
    kolk::node_resource small(wish);
    std::list<int, kolk::allocator<int>> list(&small);
    while (!throws_an<std::bad_alloc>([&] { list.push_back(1); })) {}
    CHECK(list.size() == 100 && small.size() == 100);
#endif
}

} // namespace

int main() {
    test_heap();
    test_nodes();
    return 0;
}
#else
int main() {
    std::puts("left out: this C++ library has no <memory_resource>");
    return 0;
}
#endif
