/* sharers.h: the allocators of 64-byte objects for many threads that shared.cc measures, with one interface:
 *
 *     mutex_list shared;
 *     mutex_list::user mine(shared);     // one per thread
 *     void *object = mine.alloc();       // never NULL
 *     mine.free(object);                 // by any thread
 *
 * All have 16,384 slots, four times as many as the workloads need, except that the mallocs are unbounded. */
#ifndef KOLK_BENCH_SHARERS_H
#define KOLK_BENCH_SHARERS_H

#include "mallocs.h"
#include "measure.h"

#include <boost/lockfree/stack.hpp>

#include <mutex>
#include <vector>

static constexpr uint32_t room = 16384;
static constexpr uint32_t most_threads = 16;

/* Reuses the same objects, to measure only the loops and the transfer of objects between processors. */
template <size_t objects> struct no_pool {
    struct user {
        thing all[objects];
        size_t next = 0;
        explicit user(no_pool &) {}
        void *alloc() { return &all[next++ % objects]; }
        void free(void *) {}
    };
};

template <typename malloc> struct shared_malloc {
    malloc from;

    struct user {
        malloc &from;
        explicit user(shared_malloc &of) : from(of.from) {}
        void *alloc() { return from.alloc(); }
        void free(void *memory) { from.free(memory); }
    };
};

/* A shared list as one would write it by hand. */
struct mutex_list {
    union slot {
        thing live;
        slot *next;
    };
    std::mutex lock;
    std::vector<slot> slots = std::vector<slot>(room);
    slot *first = nullptr;

    mutex_list() {
        for (slot &each : slots) {
            each.next = first;
            first = &each;
        }
    }

    struct user {
        mutex_list &of;
        explicit user(mutex_list &of_) : of(of_) {}
        void *alloc() {
            std::lock_guard<std::mutex> locked(of.lock);
            slot *taken = of.first;
            of.first = taken->next;
            return taken;
        }
        void free(void *memory) {
            slot *given = static_cast<slot *>(memory);
            std::lock_guard<std::mutex> locked(of.lock);
            given->next = of.first;
            of.first = given;
        }
    };
};

/* A lock-free stack (Treiber, 1986) of pointers to free objects. */
struct boost_stack {
    std::vector<thing> things = std::vector<thing>(room);
    boost::lockfree::stack<void *> free_ones{room};

    boost_stack() {
        for (thing &each : things) free_ones.bounded_push(&each);
    }

    struct user {
        boost_stack &of;
        explicit user(boost_stack &of_) : of(of_) {}
        void *alloc() {
            void *taken = nullptr;
            of.free_ones.pop(taken);
            return taken;
        }
        void free(void *memory) { of.free_ones.bounded_push(memory); }
    };
};

KOLK_SHARED_TYPE(things, thing)

inline kolk_shared_desc described(kolk_generations generations, bool exact) {
    kolk_shared_desc desc = {};
    desc.object_size = sizeof(thing);
    desc.capacity = room;
    desc.max_threads = most_threads;
    desc.generations = generations;
    desc.exact = exact;
    return desc;
}

template <kolk_generations generations = KOLK_GENERATIONS_RECYCLE, bool exact = false> struct kolk_typed {
    things pool;

    kolk_typed() {
        kolk_shared_desc desc = described(generations, exact);
        succeed_or_exit(things_init(&pool, &desc));
    }
    ~kolk_typed() { things_deinit(&pool); }
    kolk_typed(const kolk_typed &) = delete;
    void operator=(const kolk_typed &) = delete;

    struct user {
        things_local local;
        explicit user(kolk_typed &of) { succeed_or_exit(things_local_init(&local, &of.pool)); }
        ~user() { things_local_deinit(&local); }
        user(const user &) = delete;
        void operator=(const user &) = delete;
        void *alloc() { return things_alloc(&local); }
        void free(void *memory) { things_free(&local, static_cast<thing *>(memory)); }
    };
};

struct kolk_untyped {
    kolk_shared pool;

    kolk_untyped() {
        kolk_shared_desc desc = described(KOLK_GENERATIONS_RECYCLE, false);
        succeed_or_exit(kolk_shared_init(&pool, &desc));
    }
    ~kolk_untyped() { kolk_shared_deinit(&pool); }
    kolk_untyped(const kolk_untyped &) = delete;
    void operator=(const kolk_untyped &) = delete;

    struct user {
        kolk_shared_local local;
        explicit user(kolk_untyped &of) { succeed_or_exit(kolk_shared_local_init(&local, &of.pool)); }
        ~user() { kolk_shared_local_deinit(&local); }
        user(const user &) = delete;
        void operator=(const user &) = delete;
        void *alloc() { return kolk_shared_alloc(&local); }
        void free(void *memory) { kolk_shared_free(&local, memory); }
    };
};

#endif
