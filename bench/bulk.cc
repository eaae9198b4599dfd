/* bulk.cc: many objects at once, and objects side by side.
 *
 *     bulk/N/...   allocates N objects of 64 bytes and frees them in the same order; time per object. Names that end in
 *                  _n use alloc_n and free_n, the others call alloc and free for each object.
 *     runs/N/...   with N live runs of 1 to 16 neighbouring objects: frees a random one and allocates another; time per
 *                  pair. kolk_lowest_run is kolk_pool_alloc_run and a free for each object; boost_ordered is boost's
 *                  ordered_malloc and ordered_free of a whole run; glibc is one malloc for the run.
 * promise: pool.h "`free` in pools where it is not inline", "Cost: O(n), plus O(1) for each shorter stretch"; shared.h
 * "costs about two thirds of n single calls", "slots that are neighbours ... served at the end"; heap.h "costs about
 * half of n single calls", "This costs less than n single calls" */
#include "churn.h"

#define BULK_LENGTHS                                                                                                   \
    { 16, 256, 4096 }

/* ---- Bulk -------------------------------------------------------------------------------------------------------- */

template <kolk_reuse reuse> struct pool_bulk {
    kolk_untyped<reuse, KOLK_GENERATIONS_RECYCLE> from;

    explicit pool_bulk(size_t n) : from(n) {}
    void alloc_n(void **objects, uint32_t n) { kolk_pool_alloc_n(&from.pool, objects, n); }
    void free_n(void **objects, uint32_t n) { kolk_pool_free_n(&from.pool, objects, n); }
};

template <uint32_t cache, bool at_once> struct shared_bulk {
    kolk_shared pool;
    kolk_shared_local local;

    explicit shared_bulk(size_t n) {
        kolk_shared_desc desc = {};
        desc.object_size = object_size;
        desc.capacity = static_cast<uint32_t>(2 * n + 1024);
        desc.max_threads = 2;
        desc.cache = cache;
        succeed_or_exit(kolk_shared_init(&pool, &desc));
        succeed_or_exit(kolk_shared_local_init(&local, &pool));
    }
    ~shared_bulk() { kolk_shared_deinit(&pool); }
    void alloc_n(void **objects, uint32_t n) {
        if (at_once)
            kolk_shared_alloc_n(&local, objects, n);
        else
            for (uint32_t i = 0; i < n; i++) objects[i] = kolk_shared_alloc(&local);
    }
    void free_n(void **objects, uint32_t n) {
        if (at_once)
            kolk_shared_free_n(&local, objects, n);
        else
            for (uint32_t i = 0; i < n; i++) kolk_shared_free(&local, objects[i]);
    }
};

/* An allocator that is called for each object. */
template <typename allocator> struct one_by_one {
    allocator from;

    explicit one_by_one(size_t n) : from(n) {}
    void alloc_n(void **objects, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) objects[i] = from.alloc();
    }
    void free_n(void **objects, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) from.free(objects[i]);
    }
};

template <typename allocator> void bulk(benchmark::State &state, uint32_t n) {
    auto from = std::make_unique<allocator>(n);
    std::vector<void *> objects(n);
    while (state.KeepRunningBatch(n)) {
        from->alloc_n(objects.data(), n);
        benchmark::ClobberMemory();
        from->free_n(objects.data(), n);
        benchmark::ClobberMemory();
    }
}

template <typename allocator> void add_bulk(const char *name) {
    for (uint32_t n : BULK_LENGTHS)
        benchmark::RegisterBenchmark(("bulk/" + std::to_string(n) + "/" + name).c_str(),
                                     [n](benchmark::State &state) { bulk<allocator>(state, n); });
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

constexpr uint32_t longest_run = 16;

struct pool_runs {
    kolk_untyped<KOLK_REUSE_LOWEST, KOLK_GENERATIONS_RECYCLE> from;

    explicit pool_runs(size_t runs) : from(runs * longest_run) {}
    void *alloc(uint32_t n) { return kolk_pool_alloc_run(&from.pool, n); }
    void free(void *run, uint32_t n) {
        for (uint32_t i = 0; i < n; i++) kolk_pool_free(&from.pool, static_cast<thing *>(run) + i);
    }
};

struct boost_runs {
    boost::pool<> pool;

    explicit boost_runs(size_t runs) : pool(object_size, runs * longest_run * 2) {}
    void *alloc(uint32_t n) { return pool.ordered_malloc(n); }
    void free(void *run, uint32_t n) { pool.ordered_free(run, n); }
};

struct malloc_runs {
    glibc_malloc from;

    explicit malloc_runs(size_t) {}
    void *alloc(uint32_t n) { return std::malloc(n * object_size); }
    void free(void *run, uint32_t) { std::free(run); }
};

template <typename allocator> void replace_runs(benchmark::State &state, size_t live) {
    struct run {
        void *first;
        uint32_t length;
    };
    auto from = std::make_unique<allocator>(live);
    std::vector<run> runs(live);
    random_index pick(live), length(longest_run);
    for (run &one : runs) one = {from->alloc(longest_run), longest_run};
    auto replace = [&] {
        run &one = runs[pick()];
        from->free(one.first, one.length);
        one.length = static_cast<uint32_t>(length()) + 1;
        one.first = from->alloc(one.length);
        benchmark::DoNotOptimize(one.first);
    };
    for (size_t i = 0; i < 10 * live; i++) replace(); /* so that the free slots are scattered */
    for (auto _ : state) replace();
    for (const run &one : runs) {
        if (!one.first) state.SkipWithError("there were no neighbours");
        if (one.first) from->free(one.first, one.length);
    }
}

template <typename allocator> void add_runs(const char *name) {
    for (size_t live : {size_t{100}, size_t{10000}})
        benchmark::RegisterBenchmark(("runs/" + std::to_string(live) + "/" + name).c_str(),
                                     [live](benchmark::State &state) { replace_runs<allocator>(state, live); });
}

int main(int argc, char **argv) {
    add_bulk<one_by_one<unbounded<glibc_malloc>>>("glibc");
    add_bulk<one_by_one<boost_pool>>("boost");
    add_bulk<one_by_one<kolk_untyped<KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE>>>("kolk_untyped");
    add_bulk<pool_bulk<KOLK_REUSE_LIFO>>("kolk_n");
    add_bulk<one_by_one<kolk_untyped<KOLK_REUSE_LOWEST, KOLK_GENERATIONS_RECYCLE>>>("kolk_lowest");
    add_bulk<pool_bulk<KOLK_REUSE_LOWEST>>("kolk_lowest_n");
    add_bulk<shared_bulk<0, false>>("kolk_shared");
    add_bulk<shared_bulk<0, true>>("kolk_shared_n");
    add_bulk<shared_bulk<KOLK_NO_CACHE, false>>("kolk_no_cache");
    add_bulk<shared_bulk<KOLK_NO_CACHE, true>>("kolk_no_cache_n");
    add_runs<malloc_runs>("glibc");
    add_runs<boost_runs>("boost_ordered");
    add_runs<pool_runs>("kolk_lowest_run");
    int status = measure(argc, argv);
    check_malloc_is_glibc();
    return status;
}
