/* reslists.h: the pools that resource.cc measures, with one interface:
 *
 *     apr_list list(8, 2);                // at most 8 resources, created 2 at a time if that can be set
 *     auto one = list.borrow();           // waits
 *     list.give_back(one);
 *
 * A create sleeps for create_ns. `creating` counts the creates that are running. */
#ifndef KOLK_BENCH_RESLISTS_H
#define KOLK_BENCH_RESLISTS_H

#include "threads.h"

#include <apr_pools.h>
#include <apr_reslist.h>
#include <dlfcn.h>
#include <unistd.h>
#include <zdb/zdb.h>

#include <condition_variable>
#include <mutex>

/* ---- Creates ----------------------------------------------------------------------------------------------------- */

static std::atomic<int64_t> create_ns{0};
static std::atomic<unsigned> creating{0}, most_creating{0};

static inline void rest(int64_t ns) {
    struct timespec pause = {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
    if (ns > 0) nanosleep(&pause, nullptr);
}

static inline void create_one() {
    unsigned now = ++creating, most = most_creating;
    while (most < now && !most_creating.compare_exchange_weak(most, now)) {}
    rest(create_ns);
    creating--;
}

/* libzdb's connections are SQLite connections. */
extern "C" int sqlite3_open_v2(const char *name, void **out, int flags, const char *system);
extern "C" int sqlite3_open_v2(const char *name, void **out, int flags, const char *system) {
    static const auto real = reinterpret_cast<decltype(&sqlite3_open_v2)>(dlsym(RTLD_NEXT, "sqlite3_open_v2"));
    create_one();
    return real(name, out, flags, system);
}

/* ---- The lists --------------------------------------------------------------------------------------------------- */

struct kolk_list {
    kolk_resource_pool pool = {};

    kolk_list(uint32_t max, uint32_t at_a_time, bool strict_order = false) {
        kolk_resource_pool_desc desc = {};
        desc.create = [](void *, const char *, kolk_deadline, void **resource, kolk_error *) {
            create_one();
            *resource = &create_ns;
            return true;
        };
        desc.max = max;
        desc.max_creating = at_a_time;
        desc.strict_order = strict_order;
        succeed_or_exit(kolk_resource_init(&pool, &desc));
    }
    ~kolk_list() { kolk_resource_deinit(&pool); }
    kolk_borrowed borrow() {
        kolk_borrowed one;
        kolk_borrow_desc desc = {nullptr, KOLK_FOREVER, nullptr};
        succeed_or_exit(kolk_resource_borrow(&pool, &desc, &one));
        return one;
    }
    void give_back(kolk_borrowed &one) { kolk_resource_give_back(&pool, &one); }
};

struct strict_list : kolk_list {
    strict_list(uint32_t max, uint32_t at_a_time) : kolk_list(max, at_a_time, true) {}
};

struct apr_list {
    apr_pool_t *memory = nullptr;
    apr_reslist_t *list = nullptr;

    apr_list(uint32_t max, uint32_t) {
        static const bool begun = apr_initialize() == APR_SUCCESS;
        auto create = [](void **resource, void *, apr_pool_t *) -> apr_status_t {
            create_one();
            *resource = &create_ns;
            return APR_SUCCESS;
        };
        auto destroy = [](void *, void *, apr_pool_t *) -> apr_status_t { return APR_SUCCESS; };
        require(begun && apr_pool_create(&memory, nullptr) == APR_SUCCESS, "apr", "no pool");
        int most = static_cast<int>(max);
        require(apr_reslist_create(&list, 0, most, most, 0, create, destroy, nullptr, memory) == APR_SUCCESS, "apr",
                "no list");
    }
    ~apr_list() { apr_pool_destroy(memory); }
    void *borrow() {
        void *one = nullptr;
        require(apr_reslist_acquire(list, &one) == APR_SUCCESS, "apr", "none");
        return one;
    }
    void give_back(void *one) { apr_reslist_release(list, one); }
};

/* libzdb returns NULL if all are in use, so its users try again after a while. */
struct zdb_list {
    char name[64] = "/tmp/kolk-bench-XXXXXX";
    URL_T url;
    ConnectionPool_T pool;

    zdb_list(uint32_t max, uint32_t) {
        int file = mkstemp(name);
        require(file >= 0, "libzdb", "no file");
        close(file);
        url = URL_new((std::string("sqlite://") + name).c_str());
        pool = ConnectionPool_new(url);
        ConnectionPool_setInitialConnections(pool, 0);
        ConnectionPool_setMaxConnections(pool, static_cast<int>(max));
        ConnectionPool_start(pool);
    }
    ~zdb_list() {
        ConnectionPool_free(&pool);
        URL_free(&url);
        unlink(name);
    }
    Connection_T borrow() {
        Connection_T one;
        while (!(one = ConnectionPool_getConnection(pool))) rest(100000);
        return one;
    }
    void give_back(Connection_T one) { Connection_close(one); }
};

/* A hand-written pool. It checks, counts and times nothing, and serves waiters in no particular order. */
struct mutex_list {
    std::mutex lock;
    std::condition_variable came_back;
    std::vector<void *> idle;
    uint32_t left; /* still to be created */

    mutex_list(uint32_t max, uint32_t) : left(max) { idle.reserve(max); }
    void *borrow() {
        std::unique_lock<std::mutex> locked(lock);
        while (idle.empty()) {
            if (left > 0) {
                left--;
                locked.unlock();
                create_one();
                return &create_ns;
            }
            came_back.wait(locked);
        }
        void *one = idle.back();
        idle.pop_back();
        return one;
    }
    void give_back(void *one) {
        std::lock_guard<std::mutex> locked(lock);
        idle.push_back(one);
        came_back.notify_one();
    }
};

/* The two clock readings that any pool needs if it measures times. */
struct two_clocks {
    two_clocks(uint32_t, uint32_t) {}
    double borrow() { return now_ns(); }
    void give_back(double before) {
        double now = now_ns();
        benchmark::DoNotOptimize(before);
        benchmark::DoNotOptimize(now);
    }
};

#endif
