/* shared.cc: compares kolk_shared with mallocs for many threads, and with free lists that threads share. Usage: shared
 * [WORKLOAD...], by default all. Prints CSV: nanoseconds for one alloc and one free of a 64-byte object, whose first 8
 * bytes are written in between; medians of rounds in which all lines of a workload take turns in random order.
 *
 *     churn      each of n threads frees a random one of its 256 objects and allocates another; processor time
 *     ring       one thread allocates, the other frees, through a ring; "read": it reads the 8 bytes before
 *     hand_over  each of two threads allocates, and frees what the other allocated, in random order, 1,024 at a time
 *
 * "none" is the loop without an allocator. For ring and hand_over it includes the time of the ring and of moving
 * objects between processors, which all other lines include as well. Threads are pinned: the n-th thread to the n-th
 * processor, starting over after the last one.
 * promise: shared.h "alloc, free and get are O(1)", "About every ... few atomic operations" */
#include "ring.h"
#include "sharers.h"
#include "threads.h"

static std::vector<line> lines; /* of the current workload */

#define INLINED inline __attribute__((always_inline)) /* so that all lines have the same loop */

/* Allocates an object and writes its first 8 bytes. Hides it and all memory from the optimiser, as churn.h does. */
template <typename user> INLINED void *alloc_and_write(user &mine, uint64_t value) {
    void *memory = mine.alloc();
    benchmark::DoNotOptimize(memory);
    static_cast<thing *>(memory)->words[0] = value;
    benchmark::ClobberMemory();
    return memory;
}

template <typename user> INLINED void give_back(user &mine, void *memory) {
    mine.free(memory);
    benchmark::ClobberMemory();
}

/* ---- churn ------------------------------------------------------------------------------------------------------- */

template <typename pool> struct churner {
    static constexpr unsigned bits = 8;
    typename pool::user mine;
    quick_random pick;
    void *objects[1 << bits];

    explicit churner(pool &of) : mine(of) {
        for (void *&object : objects) object = alloc_and_write(mine, 1);
    }
    ~churner() {
        for (void *object : objects) give_back(mine, object);
    }
    void run(size_t count) {
        for (size_t done = 0; done < count; done++) {
            void *&place = objects[pick(bits)];
            give_back(mine, place);
            place = alloc_and_write(mine, done);
        }
    }
};

template <typename pool> samples churn(pool &shared, unsigned threads, size_t count) {
    double spent = together(
        threads, placement::APART, [&](unsigned) { return churner<pool>(shared); },
        [&](unsigned, churner<pool> &one) { one.run(count); });
    unsigned at_once = std::min(threads, std::thread::hardware_concurrency());
    return {spent * at_once / static_cast<double>(count * threads)};
}

/* ---- ring and hand_over ------------------------------------------------------------------------------------------ */

template <typename pool> samples produce_and_consume(pool &shared, bool reads, size_t count) {
    auto through = std::make_unique<ring>();
    uint64_t sum = 0;
    double spent = together(
        2, placement::APART, [&](unsigned) { return typename pool::user(shared); },
        [&](unsigned n, typename pool::user &mine) {
            if (n == 0) {
                for (size_t done = 1; done <= count; done++) through->push(alloc_and_write(mine, done));
                return;
            }
            for (size_t done = 0; done < count; done++) {
                void *object = through->pop();
                if (reads) sum += static_cast<thing *>(object)->words[0];
                give_back(mine, object);
            }
        });
    require(!reads || sum == count * (count + 1) / 2, "ring", "what went in did not come out");
    return {spent / static_cast<double>(count)};
}

template <typename pool> struct swapper {
    static constexpr unsigned bits = 10;
    static constexpr size_t batch = 1 << bits;
    typename pool::user mine;
    quick_random pick;
    uint16_t order[batch];
    void *objects[batch];

    explicit swapper(pool &of) : mine(of) {
        for (size_t i = 0; i < batch; i++) order[i] = static_cast<uint16_t>(i);
        for (size_t i = batch - 1; i > 0; i--) std::swap(order[i], order[pick(32) % (i + 1)]);
    }
    /* Each batch has a different order: xor turns one permutation into another. */
    void run(ring &to, ring &from, size_t count) {
        for (size_t done = 0; done < count; done += batch) {
            size_t turn = pick(bits);
            for (size_t i = 0; i < batch; i++) objects[order[i] ^ turn] = alloc_and_write(mine, done);
            for (void *object : objects) to.push(object);
            for (size_t i = 0; i < batch; i++) give_back(mine, from.pop());
        }
    }
};

template <typename pool> samples swap_batches(pool &shared, size_t count) {
    auto rings = std::make_unique<ring[]>(2);
    double spent = together(
        2, placement::APART, [&](unsigned) { return swapper<pool>(shared); },
        [&](unsigned n, swapper<pool> &one) { one.run(rings[n], rings[1 - n], count); });
    return {spent / static_cast<double>(count)};
}

/* ---- Workloads --------------------------------------------------------------------------------------------------- */

/* A pool lives from its first line to the end, so that its memory is warm in all rounds. */
template <typename pool, typename run_of>
void add(const char *workload, const std::string &where, const char *who, run_of run) {
    auto shared = std::make_shared<pool>();
    lines.push_back({workload, where, who, [=](size_t count) { return run(*shared, count); }});
}

template <typename malloc, typename run_of>
void add_malloc(const char *workload, const std::string &where, const char *who, run_of run) {
    std::string error = malloc().error;
    if (error.empty())
        add<shared_malloc<malloc>>(workload, where, who, run);
    else
        std::fprintf(stderr, "left out: %s: %s\n", who, error.c_str());
}

/* Adds a line for each pool, with run(pool, count). */
template <typename none, typename run_of> void add_all(const char *workload, const std::string &where, run_of run) {
    add<none>(workload, where, "none", run);
    add<kolk_typed<>>(workload, where, "kolk", run);
    add<kolk_untyped>(workload, where, "kolk_untyped", run);
    add<kolk_typed<KOLK_GENERATIONS_NONE>>(workload, where, "kolk_no_handles", run);
    add<kolk_typed<KOLK_GENERATIONS_RECYCLE, true>>(workload, where, "kolk_exact", run);
    add_malloc<glibc_malloc>(workload, where, "glibc", run);
    add_malloc<jemalloc>(workload, where, "jemalloc", run);
    add_malloc<tcmalloc>(workload, where, "tcmalloc", run);
    add_malloc<mimalloc>(workload, where, "mimalloc", run);
    add<mutex_list>(workload, where, "mutex_list", run);
    add<boost_stack>(workload, where, "boost_stack", run);
}

static void run_churn() {
    for (unsigned threads = 1; threads <= most_threads; threads *= 2)
        add_all<no_pool<1>>("churn", std::to_string(threads),
                            [=](auto &pool, size_t count) { return churn(pool, threads, count); });
    take_turns(std::move(lines), 15, 8e6);
}

static void run_ring() {
    for (bool reads : {false, true})
        add_all<no_pool<4096>>("ring", reads ? "read" : "write",
                               [=](auto &pool, size_t count) { return produce_and_consume(pool, reads, count); });
    take_turns(std::move(lines), 15, 8e6);
}

static void run_hand_over() {
    add_all<no_pool<4096>>("hand_over", "random", [](auto &pool, size_t count) { return swap_batches(pool, count); });
    take_turns(std::move(lines), 15, 8e6);
}

int main(int argc, char **argv) {
    run_asked(argc, argv, "pool", {{"churn", run_churn}, {"ring", run_ring}, {"hand_over", run_hand_over}});
    check_malloc_is_glibc();
}
