// expect: ok
// flags: -Wpedantic -Wconversion -Wshadow
// dialects: c++20
/* kolk.hpp and kolk_gta.hpp after macros that programs have, some of them from windows.h. */
#include <algorithm>
#include <chrono>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))
#define near
#define far
#define small     char
#define interface struct
#define IN
#define OUT
#define OPTIONAL
#define ERROR  0
#define DELETE 0x00010000L
#define Yield()
#define check(condition)
#define verify(condition)
#define debug(...)
#define T_ 1
#include <kolk/kolk.hpp>
#include <kolk/kolk_gta.hpp>

template class kolk::pool<int>; // every member
template class kolk::slot_map<int>;
template class kolk::queue<int>;
template class kolk::shared_pool<int>;
template class kolk::resource_pool<int>;
template class kolk::pool_of<int, double>;
template class kolk::allocator<int>;
template class kolk::gta::pool<int>;

int main() {
    kolk::node_resource nodes;
    return nodes.size() != 0;
}
