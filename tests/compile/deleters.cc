// expect: ok
// flags: -Wpedantic -Wconversion -Wshadow -Iadapters/sqlite -Iadapters/tcp
// dialects: c++11 c++20
/* deinit functions may be deleters of a unique_ptr. g++ would warn of attributes of their parameters. */
#include <kolk/kolk.h>
#include <kolk/sqlite.h>
#include <kolk/tcp.h>
#include <memory>

std::unique_ptr<kolk_pool, decltype(&kolk_pool_deinit)> a{nullptr, kolk_pool_deinit};
std::unique_ptr<kolk_slotmap, decltype(&kolk_slotmap_deinit)> b{nullptr, kolk_slotmap_deinit};
std::unique_ptr<kolk_bytemap, decltype(&kolk_bytemap_flush)> c{nullptr, kolk_bytemap_flush};
std::unique_ptr<kolk_shared, decltype(&kolk_shared_deinit)> d{nullptr, kolk_shared_deinit};
std::unique_ptr<kolk_queue, decltype(&kolk_queue_deinit)> e{nullptr, kolk_queue_deinit};
std::unique_ptr<kolk_heap, decltype(&kolk_heap_deinit)> f{nullptr, kolk_heap_deinit};
std::unique_ptr<kolk_resource_pool, decltype(&kolk_resource_deinit)> g{nullptr, kolk_resource_deinit};
std::unique_ptr<kolk_sqlite, decltype(&kolk_sqlite_deinit)> h{nullptr, kolk_sqlite_deinit};
std::unique_ptr<kolk_tcp, decltype(&kolk_tcp_deinit)> i{nullptr, kolk_tcp_deinit};
