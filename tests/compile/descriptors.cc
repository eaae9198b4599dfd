// expect: ok
// dialects: c++11 c++14 c++20
// flags: -Wpedantic -Wconversion -Wshadow -Iadapters/pq -Iadapters/sqlite -Iadapters/tcp
/* In C++ a descriptor takes the same braces as in C, without a warning for omitted members. A pool has no initialiser
 * that would run when the program starts. promise: base.h "leave out is then 0 without a warning" */
#include <kolk/kolk.h>
#include <kolk/pq.h>
#include <kolk/sqlite.h>
#include <kolk/tcp.h>

#include <type_traits>

namespace {

template <typename T> constexpr bool is_plain() {
#if __cplusplus > 201402L
    static_assert(std::is_aggregate<T>::value, "braces give its members");
#endif
    return std::is_trivially_copyable<T>::value && std::is_standard_layout<T>::value;
}

static_assert(is_plain<kolk_pool_desc>(), "");
static_assert(is_plain<kolk_pool_full>(), "");
static_assert(is_plain<kolk_life>(), "");
static_assert(is_plain<kolk_slotmap_desc>(), "");
static_assert(is_plain<kolk_bytemap_view>(), "");
static_assert(is_plain<kolk_queue_desc>(), "");
static_assert(is_plain<kolk_shared_desc>(), "");
static_assert(is_plain<kolk_resource_pool_desc>(), "");
static_assert(is_plain<kolk_borrow_desc>(), "");
static_assert(is_plain<kolk_heap_desc>(), "");
static_assert(is_plain<kolk_heap_class>(), "");
static_assert(is_plain<kolk_ipc_desc>(), "");
static_assert(is_plain<kolk_budget>(), "");
static_assert(is_plain<kolk_pq_desc>(), "");
static_assert(is_plain<kolk_sqlite_desc>(), "");
static_assert(is_plain<kolk_tcp_desc>(), "");

static_assert(std::is_trivial<kolk_pool>::value, "");
static_assert(std::is_trivial<kolk_slotmap>::value, "");
static_assert(std::is_trivial<kolk_bytemap>::value, "");
static_assert(std::is_trivial<kolk_queue>::value, "");
static_assert(std::is_trivial<kolk_shared>::value, "");
static_assert(std::is_trivial<kolk_shared_local>::value, "");
static_assert(std::is_trivial<kolk_resource_pool>::value, "");
static_assert(std::is_trivial<kolk_heap>::value, "");
static_assert(std::is_trivial<kolk_ipc>::value, "");
static_assert(std::is_trivial<kolk_pq>::value, "");
static_assert(std::is_trivial<kolk_sqlite>::value, "");
static_assert(std::is_trivial<kolk_tcp>::value, "");

} // namespace

extern const kolk_pool_desc nothing;
const kolk_pool_desc nothing = {};

#if __cplusplus > 201703L
extern const kolk_pool_desc pool;
extern const kolk_slotmap_desc slotmap;
extern const kolk_bytemap_view view;
extern const kolk_queue_desc queue;
extern const kolk_shared_desc shared;
extern const kolk_resource_pool_desc resources;
extern const kolk_borrow_desc borrow;
extern const kolk_heap_class classes[2];
extern const kolk_heap_desc heap;
extern const kolk_ipc_desc ipc;
extern const kolk_pq_desc pq;
extern const kolk_sqlite_desc sqlite;
extern const kolk_tcp_desc tcp;

const kolk_pool_desc pool = {.name = "x", .capacity = 4, .full = {.headroom = 1}};
const kolk_slotmap_desc slotmap = {.capacity = 4};
const kolk_bytemap_view view = {.name = "x", .count = 4};
const kolk_queue_desc queue = {.capacity = 4};
const kolk_shared_desc shared = {.capacity = 4, .exact = true, .life = {.keep = true}};
const kolk_resource_pool_desc resources = {.name = "x", .max = 4};
const kolk_borrow_desc borrow = {.key = "x"};
const kolk_heap_class classes[2] = {{.size = 16}, {.size = 64, .capacity = 4}};
const kolk_heap_desc heap = {.classes = classes, .n_classes = 2};
const kolk_ipc_desc ipc = {.capacity = 4, .queues = 1};
const kolk_pq_desc pq = {.pool = {.max = 4}};
const kolk_sqlite_desc sqlite = {.path = "x"};
const kolk_tcp_desc tcp = {.pool = {.max = 4}};
#endif
