/* ring.h: shared by shared.cc, heap.cc and nested.cc: a ring that passes objects from one thread to another, and random
 * numbers. */
#ifndef KOLK_BENCH_RING_H
#define KOLK_BENCH_RING_H

#include "threads.h"

/* Knuth's (MMIX) linear congruential generator: a multiplication and an addition. Its upper bits are good. */
struct quick_random {
    uint64_t state = 1;
    size_t operator()(unsigned bits) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return static_cast<size_t>(state >> (64 - bits));
    }
};

/* One thread pushes and one pops. Each reads the other's position only once it has reached the last position that it
 * knows. If that has not changed, it pauses for a microsecond. Meanwhile the other thread gets ahead, and a cache line
 * then brings many items. */
class ring {
    static constexpr size_t length = 2048;
    alignas(128) std::atomic<size_t> tail{0};
    size_t seen_head = 0;
    alignas(128) std::atomic<size_t> head{0};
    size_t seen_tail = 0;
    alignas(128) void *items[length];

  public:
    void push(void *item) {
        size_t at = tail.load(std::memory_order_relaxed);
        while (at - seen_head == length) wait(seen_head, head);
        items[at % length] = item;
        tail.store(at + 1, std::memory_order_release);
    }
    void *pop() {
        size_t at = head.load(std::memory_order_relaxed);
        while (at == seen_tail) wait(seen_tail, tail);
        void *item = items[at % length];
        head.store(at + 1, std::memory_order_release);
        return item;
    }

  private:
    static void wait(size_t &seen, const std::atomic<size_t> &position) {
        size_t before = seen;
        while ((seen = position.load(std::memory_order_acquire)) == before) {
            for (double until = now_ns() + 1000; now_ns() < until;) {}
            std::this_thread::yield();
        }
    }
};

#endif
