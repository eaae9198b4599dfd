/* ways.h: the ways from one process to another that ipc.cc measures, with one interface:
 *
 *     kolk_way way;                      // before the fork
 *     way.join(n);                       // in each of the two processes, 0 and 1
 *     void *object = way.alloc();        // room for 64 bytes; never NULL
 *     way.push(0, object);               // into queue 0 or 1; now it belongs to the queue
 *     object = way.pop(0);               // polls, or sleeps, until there is one
 *     way.free(object);
 *     way.leave();                       // at the end, in each of the two
 *
 * All have 1,024 objects and two queues with room for all of them. */
#ifndef KOLK_BENCH_WAYS_H
#define KOLK_BENCH_WAYS_H

#include "threads.h"

#include <boost/interprocess/ipc/message_queue.hpp>
#include <boost/interprocess/managed_shared_memory.hpp>
#include <rte_eal.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <linux/futex.h>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct parcel {
    uint64_t words[8];
};

static constexpr uint32_t most_parcels = 1024;

/* ---- Two processes ----------------------------------------------------------------------------------------------- */

/* An object in memory that a fork's child shares with its parent. */
template <typename type> struct in_both {
    type *it;

    in_both() {
        void *start = mmap(nullptr, sizeof *it, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        require(start != MAP_FAILED, "mmap", "there is no memory");
        it = new (start) type();
    }
    ~in_both() { munmap(it, sizeof *it); }
    in_both(const in_both &) = delete;
    void operator=(const in_both &) = delete;
    type *operator->() { return it; }
};

template <typename body> pid_t in_child(body run) {
    pid_t child = fork();
    if (child) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    stay_on(1);
    run();
    _exit(0);
}

inline void wait_for(pid_t child) {
    int status = -1;
    require(waitpid(child, &status, 0) == child && status == 0, "a child", "it failed");
}

/* Calls run(0) in this process, on the first processor, and run(1) in a child, on the second. Both begin at the same
 * time. Returns the nanoseconds until both are done. */
template <typename body> double apart(body run) {
    struct meeting {
        std::atomic<unsigned> there{0};
        double ends[2];
    };
    in_both<meeting> at;
    auto side = [&](unsigned n) {
        at->there++;
        while (at->there < 2) sched_yield();
        run(n);
        at->ends[n] = now_ns();
    };
    stay_on(0);
    pid_t child = in_child([&] { side(1); });
    while (at->there < 1) sched_yield();
    double begin = now_ns();
    side(0);
    wait_for(child);
    return std::max(at->ends[0], at->ends[1]) - begin;
}

/* ---- kolk -------------------------------------------------------------------------------------------------------- */

/* A child is a process of its own from its first call on, with a number, which it takes in join. */
struct kolk_way {
    kolk_ipc pool = {};

    kolk_way() {
        kolk_ipc_desc desc = {};
        desc.object_size = sizeof(parcel);
        desc.capacity = most_parcels;
        desc.queues = 2;
        succeed_or_exit(kolk_ipc_init(&pool, &desc));
    }
    ~kolk_way() { kolk_ipc_deinit(&pool); }
    kolk_way(const kolk_way &) = delete;
    void operator=(const kolk_way &) = delete;

    void join(unsigned) { succeed_or_exit(kolk_ipc_status(&pool)); }
    void leave() {}
    void *alloc() { return kolk_ipc_alloc_wait(&pool, KOLK_FOREVER); }
    void free(void *object) { kolk_ipc_free(&pool, object); }
    void push(unsigned n, void *object) { kolk_ipc_push(&pool, n, object, KOLK_FOREVER); }
    void *pop(unsigned n) { return kolk_ipc_pop(&pool, n, KOLK_FOREVER); }
};

/* The same, but the program polls, without a pause. */
struct kolk_polled : kolk_way {
    void *pop(unsigned n) {
        void *object;
        do object = kolk_ipc_pop(&pool, n, KOLK_NOW);
        while (!object);
        return object;
    }
};

/* ---- Peers ------------------------------------------------------------------------------------------------------- */

/* What no way can be without: a cell whose cache line crosses with each object, beside the object's own. One object of
 * each side at a time. No alloc, no free, nobody may die. */
struct cell_way {
    struct cells {
        struct alignas(128) {
            std::atomic<uint64_t> full{0};
        } at[2];
        struct alignas(128) {
            parcel one;
        } parcels[2];
    };
    in_both<cells> all;
    unsigned side = 0;

    void join(unsigned n) { side = n; }
    void leave() {}
    void *alloc() { return &all->parcels[side]; }
    void free(void *) {}
    void push(unsigned n, void *) {
        while (all->at[n].full.load(std::memory_order_acquire)) {}
        all->at[n].full.store(1, std::memory_order_release);
    }
    void *pop(unsigned n) {
        while (!all->at[n].full.load(std::memory_order_acquire)) {}
        all->at[n].full.store(0, std::memory_order_release);
        return &all->parcels[n];
    }
};

namespace interprocess = boost::interprocess;

/* boost.interprocess: objects of a managed_shared_memory, whose offsets go through a message_queue. A lock of the dead
 * stays locked. */
template <bool sleeps> struct boost_way {
    std::string name = "kolk-bench-" + std::to_string(getpid());
    interprocess::managed_shared_memory memory{interprocess::create_only, name.c_str(), 1 << 20};
    interprocess::message_queue queues[2] = {
        {interprocess::create_only, (name + "-0").c_str(), most_parcels, sizeof(uint64_t)},
        {interprocess::create_only, (name + "-1").c_str(), most_parcels, sizeof(uint64_t)}};

    /* The mappings stay. */
    boost_way() {
        interprocess::shared_memory_object::remove(name.c_str());
        for (const char *end : {"-0", "-1"}) interprocess::message_queue::remove((name + end).c_str());
    }

    void join(unsigned) {}
    void leave() {}
    void *alloc() {
        void *object;
        do object = memory.allocate(sizeof(parcel), std::nothrow);
        while (!object);
        return object;
    }
    void free(void *object) { memory.deallocate(object); }
    void push(unsigned n, void *object) {
        uint64_t offset = static_cast<uint64_t>(memory.get_handle_from_address(object));
        queues[n].send(&offset, sizeof offset, 0);
    }
    void *pop(unsigned n) {
        uint64_t offset = 0;
        interprocess::message_queue::size_type size;
        unsigned priority;
        if (sleeps)
            queues[n].receive(&offset, sizeof offset, size, priority);
        else
            while (!queues[n].try_receive(&offset, sizeof offset, size, priority)) {}
        return memory.get_address_from_handle(static_cast<interprocess::managed_shared_memory::handle_t>(offset));
    }
};

/* DPDK: an rte_mempool with a cache for each process, and rte_rings for one producer and one consumer, or for many. It
 * always polls, and what the dead owned is lost. Without huge pages its memory is a memfd, which a fork's child
 * shares. */
inline void start_dpdk() {
    static bool started = false;
    char name[] = "ipc", huge[] = "--no-huge", size[] = "-m", size_too[] = "64", pci[] = "--no-pci",
         quiet[] = "--log-level=lib.eal:error", telemetry[] = "--no-telemetry";
    char *arguments[] = {name, huge, size, size_too, pci, quiet, telemetry, nullptr};
    if (started) return;
    started = true;
    require(rte_eal_init(7, arguments) >= 0, "rte_eal_init", "it failed");
}

template <bool many> struct dpdk_way {
    rte_mempool *pool;
    rte_ring *rings[2];
    rte_mempool_cache *cache = nullptr;

    dpdk_way() {
        start_dpdk();
        unsigned flags = many ? 0 : RING_F_SP_ENQ | RING_F_SC_DEQ;
        std::string name = many ? "many" : "one";
        pool = rte_mempool_create((name + "-pool").c_str(), most_parcels - 1, sizeof(parcel), 0, 0, nullptr, nullptr,
                                  nullptr, nullptr, SOCKET_ID_ANY, 0);
        for (unsigned n = 0; n < 2; n++)
            rings[n] = rte_ring_create((name + std::to_string(n)).c_str(), most_parcels, SOCKET_ID_ANY, flags);
        require(pool && rings[0] && rings[1], "rte_mempool_create", "it failed");
    }
    ~dpdk_way() {
        rte_mempool_free(pool);
        for (rte_ring *ring : rings) rte_ring_free(ring);
    }
    dpdk_way(const dpdk_way &) = delete;
    void operator=(const dpdk_way &) = delete;

    /* A child has its parent's cache as well, so each must have a new one; what is left in the old one is put back. */
    void join(unsigned) { cache = rte_mempool_cache_create(32, SOCKET_ID_ANY); }
    void leave() {
        rte_mempool_cache_flush(cache, pool);
        rte_mempool_cache_free(cache);
    }
    void *alloc() {
        void *object;
        while (rte_mempool_generic_get(pool, &object, 1, cache) < 0) rte_pause();
        return object;
    }
    void free(void *object) { rte_mempool_generic_put(pool, &object, 1, cache); }
    void push(unsigned n, void *object) {
        while (rte_ring_enqueue(rings[n], object) < 0) rte_pause();
    }
    void *pop(unsigned n) {
        void *object;
        while (rte_ring_dequeue(rings[n], &object) < 0) rte_pause();
        return object;
    }
};

/* The least that a process which sleeps costs: it sleeps on a word, and is woken by one system call. */
struct futex_way : cell_way {
    in_both<uint32_t> words[2];

    void push(unsigned n, void *object) {
        cell_way::push(n, object);
        __atomic_fetch_add(words[n].it, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, words[n].it, FUTEX_WAKE, 1, nullptr, nullptr, 0);
    }
    void *pop(unsigned n) {
        uint32_t before = __atomic_load_n(words[n].it, __ATOMIC_SEQ_CST);
        while (!all->at[n].full) {
            syscall(SYS_futex, words[n].it, FUTEX_WAIT, before, nullptr, nullptr, 0);
            before = __atomic_load_n(words[n].it, __ATOMIC_SEQ_CST);
        }
        return cell_way::pop(n);
    }
};

#endif
