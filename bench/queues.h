/* queues.h: the queues that queue.cc measures, all with one interface:
 *
 *     kolk_single<item> queue;
 *     kolk_single<item>::user mine(queue);     // one per thread
 *     mine.push(items, n);                     // pushes all n, at most batch; waits for room
 *     n = mine.pop(items, most);               // pops at least one; waits for it
 *
 * All hold up to 1,024 items, except moodycamel's and GLib's, which are unbounded. */
#ifndef KOLK_BENCH_QUEUES_H
#define KOLK_BENCH_QUEUES_H

#include "measure.h"

#include <boost/lockfree/queue.hpp>
#include <concurrentqueue/blockingconcurrentqueue.h>
#include <glib.h>
#include <tbb/concurrent_queue.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

static constexpr uint32_t queue_capacity = 1024;

template <size_t size> struct item_of {
    uint64_t value;
    unsigned char rest[size - sizeof(uint64_t)];
};
template <> struct item_of<8> { uint64_t value; };

/* kolk_queue with single items (batch 1) or with push_n and pop_n. */
template <typename item, size_t batch_> struct kolk_queue_of {
    static constexpr size_t batch = batch_;
    kolk_queue queue;

    kolk_queue_of() {
        kolk_queue_desc desc = {};
        desc.item_size = sizeof(item);
        desc.capacity = queue_capacity;
        succeed_or_exit(kolk_queue_init(&queue, &desc));
    }
    ~kolk_queue_of() { kolk_queue_deinit(&queue); }
    kolk_queue_of(const kolk_queue_of &) = delete;
    void operator=(const kolk_queue_of &) = delete;

    struct user {
        kolk_queue *queue;
        explicit user(kolk_queue_of &of) : queue(&of.queue) {}
        void push(const item *items, size_t n) {
            if constexpr (batch == 1) {
                kolk_queue_push(queue, items, KOLK_FOREVER);
                return;
            }
            for (size_t some = n; n > 0; n -= some, items += some, some = n)
                kolk_queue_push_n(queue, items, &some, KOLK_FOREVER);
        }
        size_t pop(item *items, size_t most) {
            if constexpr (batch == 1) {
                kolk_queue_pop(queue, items, KOLK_FOREVER);
                return 1;
            }
            kolk_queue_pop_n(queue, items, &most, KOLK_FOREVER);
            return most;
        }
    };
};
template <typename item> using kolk_single = kolk_queue_of<item, 1>;
template <typename item> using kolk_16 = kolk_queue_of<item, 16>;

/* Used as in most programs. */
template <typename item> struct moodycamel_queue {
    static constexpr size_t batch = 1;
    moodycamel::BlockingConcurrentQueue<item> queue{queue_capacity};

    struct user {
        moodycamel_queue &of;
        explicit user(moodycamel_queue &of_) : of(of_) {}
        void push(const item *items, size_t) { of.queue.enqueue(*items); }
        size_t pop(item *items, size_t) {
            of.queue.wait_dequeue(*items);
            return 1;
        }
    };
};

/* With a token per thread, which is the fastest way according to its author; single items or 16 at a time. */
template <typename item, size_t batch_> struct moodycamel_tokens {
    static constexpr size_t batch = batch_;
    moodycamel::BlockingConcurrentQueue<item> queue{queue_capacity};

    struct user {
        moodycamel_tokens &of;
        moodycamel::ProducerToken pushes;
        moodycamel::ConsumerToken pops;
        explicit user(moodycamel_tokens &of_) : of(of_), pushes(of.queue), pops(of.queue) {}
        void push(const item *items, size_t n) {
            if constexpr (batch == 1)
                of.queue.enqueue(pushes, *items);
            else
                of.queue.enqueue_bulk(pushes, items, n);
        }
        size_t pop(item *items, size_t most) {
            if constexpr (batch > 1) return of.queue.wait_dequeue_bulk(pops, items, most);
            of.queue.wait_dequeue(pops, *items);
            return 1;
        }
    };
};

/* Bounded by moodycamel's own semaphore, the kind that also counts its items. */
template <typename item> struct moodycamel_bounded {
    static constexpr size_t batch = 1;
    moodycamel::BlockingConcurrentQueue<item> queue{queue_capacity};
    moodycamel::LightweightSemaphore room{queue_capacity};

    struct user {
        moodycamel_bounded &of;
        explicit user(moodycamel_bounded &of_) : of(of_) {}
        void push(const item *items, size_t) {
            of.room.wait();
            of.queue.enqueue(*items);
        }
        size_t pop(item *items, size_t) {
            of.queue.wait_dequeue(*items);
            of.room.signal();
            return 1;
        }
    };
};

template <typename item> struct tbb_queue {
    static constexpr size_t batch = 1;
    tbb::concurrent_bounded_queue<item> queue;

    tbb_queue() { queue.set_capacity(queue_capacity); }

    struct user {
        tbb_queue &of;
        explicit user(tbb_queue &of_) : of(of_) {}
        void push(const item *items, size_t) { of.queue.push(*items); }
        size_t pop(item *items, size_t) {
            of.queue.pop(*items);
            return 1;
        }
    };
};

/* A typical hand-written queue: a ring, a mutex, and two condition variables that are signalled only if a thread
 * waits. */
template <typename item> struct condition_queue {
    static constexpr size_t batch = 1;
    std::mutex lock;
    std::condition_variable has_room, has_items;
    unsigned pushes_wait = 0, pops_wait = 0;
    size_t first = 0, count = 0;
    std::vector<item> ring = std::vector<item>(queue_capacity);

    struct user {
        condition_queue &of;
        explicit user(condition_queue &of_) : of(of_) {}
        void push(const item *items, size_t) {
            std::unique_lock<std::mutex> locked(of.lock);
            of.pushes_wait++;
            while (of.count == queue_capacity) of.has_room.wait(locked);
            of.pushes_wait--;
            of.ring[(of.first + of.count++) % queue_capacity] = *items;
            bool wake = of.pops_wait > 0;
            locked.unlock();
            if (wake) of.has_items.notify_one();
        }
        size_t pop(item *items, size_t) {
            std::unique_lock<std::mutex> locked(of.lock);
            of.pops_wait++;
            while (of.count == 0) of.has_items.wait(locked);
            of.pops_wait--;
            *items = of.ring[of.first];
            of.first = (of.first + 1) % queue_capacity;
            of.count--;
            bool wake = of.pushes_wait > 0;
            locked.unlock();
            if (wake) of.has_room.notify_one();
            return 1;
        }
    };
};

/* Carries pointers: items of 8 bytes that are not 0. */
template <typename item> struct glib_queue {
    static constexpr size_t batch = 1;
    GAsyncQueue *queue = g_async_queue_new();

    glib_queue() = default;
    ~glib_queue() { g_async_queue_unref(queue); }
    glib_queue(const glib_queue &) = delete;
    void operator=(const glib_queue &) = delete;

    struct user {
        glib_queue &of;
        explicit user(glib_queue &of_) : of(of_) {}
        void push(const item *items, size_t) { g_async_queue_push(of.queue, reinterpret_cast<gpointer>(items->value)); }
        size_t pop(item *items, size_t) {
            items->value = reinterpret_cast<uint64_t>(g_async_queue_pop(of.queue));
            return 1;
        }
    };
};

/* Cannot sleep: a thread that finds nothing yields in a loop, which keeps a processor busy for the whole wait. */
template <typename item> struct boost_queue {
    static constexpr size_t batch = 1;
    boost::lockfree::queue<item, boost::lockfree::capacity<queue_capacity>> queue;

    struct user {
        boost_queue &of;
        explicit user(boost_queue &of_) : of(of_) {}
        void push(const item *items, size_t) {
            while (!of.queue.bounded_push(*items)) std::this_thread::yield();
        }
        size_t pop(item *items, size_t) {
            while (!of.queue.pop(*items)) std::this_thread::yield();
            return 1;
        }
    };
};

#endif
