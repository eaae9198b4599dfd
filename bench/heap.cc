/* heap.cc: compares kolk_heap with mallocs. Usage: heap [WORKLOAD...], by default all. Prints CSV: nanoseconds, medians
 * of rounds in which all lines of a workload take turns in random order. Seven of ten blocks have up to 128 bytes, the
 * others up to 1,024. The first 8 bytes of each block are written.
 *
 *     mixed      one thread frees a random one of its blocks and allocates another: an alloc and a free
 *     both       each of two threads does this with 1,000 blocks of its own; processor time
 *     handed     one thread allocates, the other frees, through a ring
 *     larson     each of two threads frees a random one of 2,000 blocks that they share, and allocates another
 *     end        1,000,000 blocks of 16 to 64 bytes: freed one by one before the heap ends, or with it; ns for all.
 *                "none" is the time that the system takes for the same amount of memory. Then the same without the
 *                heap's end: each freed, or all by kolk_heap_reset
 *     large      one thread replaces a random one of 20 blocks, and writes all of the new one; alive is the KiB of the
 *                largest blocks, and the smallest have a fifth
 *     worst      each alloc and each free of mixed, 10,000 alive, timed alone; "none" is the time of the clock itself
 *     resident   KiB by which a process with one such heap or malloc has grown after mixed
 *
 * In the other workloads, "none" is the loop without an allocator.
 * promise: heap.h "alloc and free are O(1): two ... free some 240", "Cost: nothing for other allocs, some 75", "small
 * constant: 0.3 ns a block", "constant, 0.2 ns a block" */
#include "mallocs.h"
#include "ring.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static std::vector<line> lines; /* of the current workload */

/* ---- Allocators -------------------------------------------------------------------------------------------------- */

struct no_heap {
    static constexpr size_t blocks = 8192;
    char all[blocks][64];
    std::atomic<size_t> next{0};
    void *alloc(size_t) {
        size_t n = next.load(std::memory_order_relaxed);
        next.store(n + 1, std::memory_order_relaxed);
        return all[n % blocks];
    }
    void free(void *) {}
};

struct kolk_blocks {
    kolk_heap heap;
    kolk_blocks() {
        kolk_heap_desc desc = {};
        succeed_or_exit(kolk_heap_init(&heap, &desc));
    }
    ~kolk_blocks() { kolk_heap_deinit(&heap); }
    void *alloc(size_t size) { return kolk_heap_alloc(&heap, size); }
    void free(void *block) { kolk_heap_free(&heap, block); }
};

/* ---- Workloads --------------------------------------------------------------------------------------------------- */

struct random_sizes {
    quick_random random;
    size_t operator()() {
        uint64_t bits = random(20);
        return bits % 1024 < 717 ? 1 + (bits >> 10) % 128 : 129 + (bits >> 10) % 896;
    }
};

template <typename heap> void *alloc_and_write(heap &from, size_t size, uint64_t value) {
    void *block = from.alloc(size);
    benchmark::DoNotOptimize(block);
    std::memcpy(block, &value, sizeof value < size ? sizeof value : size);
    benchmark::ClobberMemory();
    return block;
}

/* A thread with blocks of its own. */
template <typename heap> struct churner {
    heap &from;
    std::vector<void *> blocks;
    random_index pick;
    random_sizes size;

    churner(heap &of, size_t alive) : from(of), blocks(alive), pick(alive) {
        for (void *&block : blocks) block = alloc_and_write(from, size(), 1);
        for (size_t n = 0; n < 2 * alive; n++) turn(n);
    }
    churner(churner &&) = default;
    ~churner() {
        for (void *block : blocks) from.free(block);
    }
    void turn(size_t value) {
        void *&place = blocks[pick()];
        from.free(place);
        benchmark::ClobberMemory();
        place = alloc_and_write(from, size(), value);
    }
};

template <typename heap> samples churn_on(churner<heap> &one, size_t count) {
    double begin = now_ns();
    for (size_t n = 0; n < count; n++) one.turn(n);
    return {(now_ns() - begin) / static_cast<double>(count)};
}

template <typename heap> samples both(heap &shared, size_t count) {
    double spent = together(
        2, placement::APART, [&](unsigned) { return churner<heap>(shared, 1000); },
        [&](unsigned, churner<heap> &one) {
            for (size_t n = 0; n < count; n++) one.turn(n);
        });
    return {spent / static_cast<double>(count)};
}

template <typename heap> samples handed(heap &shared, size_t count) {
    auto through = std::make_unique<ring>();
    double spent = together(2, placement::APART, [&](unsigned n) {
        random_sizes size;
        for (size_t done = 0; done < count; done++) {
            if (n == 0)
                through->push(alloc_and_write(shared, size(), done));
            else
                shared.free(through->pop());
        }
    });
    return {spent / static_cast<double>(count)};
}

template <typename heap> samples larson(heap &shared, size_t count) {
    static constexpr size_t places = 2000;
    auto blocks = std::make_unique<std::atomic<void *>[]>(places);
    for (size_t n = 0; n < places; n++) blocks[n] = nullptr;
    double spent = together(2, placement::APART, [&](unsigned n) {
        random_index pick(places);
        random_sizes size;
        pick.state += n;
        for (size_t done = 0; done < count; done++) {
            void *old = blocks[pick()].exchange(alloc_and_write(shared, size(), done), std::memory_order_acq_rel);
            if (old) shared.free(old);
        }
    });
    for (size_t n = 0; n < places; n++)
        if (void *left = blocks[n]) shared.free(left);
    return {spent / static_cast<double>(count)};
}

/* Twenty large blocks. */
template <typename heap> struct large_blocks {
    heap &from;
    size_t largest;
    std::vector<void *> blocks;
    quick_random random;

    large_blocks(heap &of, size_t bytes) : from(of), largest(bytes), blocks(20) {
        for (void *&block : blocks) replace(block);
    }
    large_blocks(large_blocks &&) = default;
    ~large_blocks() {
        for (void *block : blocks) from.free(block);
    }
    void replace(void *&block) {
        if (block) from.free(block);
        size_t size = largest / 5 + (largest / 5 * 4 * random(20) >> 20);
        block = from.alloc(size);
        std::memset(block, 1, size);
        benchmark::ClobberMemory();
    }
};

/* The first half of the replacements gets back the pages that were released while other lines had their turns. */
template <typename heap> samples replace_large(large_blocks<heap> &large, size_t count) {
    double begin = 0;
    for (size_t n = 0; n < 2 * count; n++) {
        if (n == count) begin = now_ns();
        large.replace(large.blocks[large.random(20) % large.blocks.size()]);
    }
    return {(now_ns() - begin) / static_cast<double>(count)};
}

/* Frees 1,000,000 blocks and keeps their memory. */
static samples empty_heap(bool one_by_one) {
    static std::vector<void *> blocks(1000000);
    static kolk_blocks heap;
    random_sizes size;
    for (void *&block : blocks) block = alloc_and_write(heap, 16 + size() % 49, 1);
    double begin = now_ns();
    if (one_by_one)
        for (void *block : blocks) heap.free(block);
    else
        kolk_heap_reset(&heap.heap);
    return {now_ns() - begin};
}

static samples end_heap(bool one_by_one) {
    static std::vector<void *> blocks(1000000);
    auto heap = std::make_unique<kolk_blocks>();
    random_sizes size;
    for (void *&block : blocks) block = alloc_and_write(*heap, 16 + size() % 49, 1);
    double begin = now_ns();
    if (one_by_one)
        for (void *block : blocks) heap->free(block);
    heap.reset();
    return {now_ns() - begin};
}

template <typename heap> samples worst(churner<heap> &one, size_t count) {
    samples found(2 * count);
    for (size_t n = 0; n < count; n++) {
        void *&place = one.blocks[one.pick()];
        double begin = now_ns();
        one.from.free(place);
        double freed = now_ns();
        size_t size = one.size();
        double again = now_ns();
        place = one.from.alloc(size);
        found[2 * n] = freed - begin;
        found[2 * n + 1] = now_ns() - again;
        static_cast<char *>(place)[0] = 1;
    }
    return found;
}

/* Returns the 99.99th percentile of the samples. */
static samples worst_of_all(samples found) {
    size_t at = found.size() - 1 - found.size() / 10000;
    std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(at), found.end());
    return {found[at]};
}

/* Runs in a child process, so that it cannot reuse memory of other allocators. */
template <typename heap> void print_resident(size_t alive, const char *who) {
    std::fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        resident_bytes(); /* makes stdio's buffers resident */
        double before = resident_bytes();
        heap from;
        if constexpr (!std::is_same_v<heap, kolk_blocks>)
            if (!from.error.empty()) _exit(0);
        churner<heap> one(from, alive);
        double more = resident_bytes() - before - static_cast<double>(alive * sizeof(void *));
        std::printf("resident,%zu,%s,%.0f,,\n", alive, who, more / 1024);
        std::fflush(stdout);
        _exit(0);
    }
    int status = 0;
    require(child > 0 && waitpid(child, &status, 0) == child && status == 0, who, "its process failed");
}

static samples end_pages() {
    size_t size = 1000000 * 47; /* the mean size of such blocks, rounded up to their classes */
    void *pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(pages != MAP_FAILED, "end", "no memory");
    std::memset(pages, 1, size);
    double begin = now_ns();
    munmap(pages, size);
    return {now_ns() - begin};
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

/* A heap and the objects of `make` live from the first line to the end, so that their memory is warm in all rounds. */
template <typename heap, typename make_on, typename run_on>
void add(const char *workload, const std::string &where, const char *who, make_on make, run_on run) {
    struct both_of_them {
        heap from;
        decltype(make(from)) made;
        explicit both_of_them(make_on how) : made(how(from)) {}
    };
    std::shared_ptr<both_of_them> its;
    lines.push_back({workload, where, who, [=](size_t count) mutable {
                         if (!its) its = std::make_shared<both_of_them>(make);
                         return run(its->made, count);
                     }});
}

template <typename malloc, typename make_on, typename run_on>
void add_malloc(const char *workload, const std::string &where, const char *who, make_on make, run_on run) {
    std::string error = malloc().error;
    if (error.empty())
        add<malloc>(workload, where, who, make, run);
    else
        std::fprintf(stderr, "left out: %s: %s\n", who, error.c_str());
}

template <typename make_on, typename run_on>
void add_all(const char *workload, const std::string &where, make_on make, run_on run) {
    add<no_heap>(workload, where, "none", make, run);
    add<kolk_blocks>(workload, where, "kolk", make, run);
    add_malloc<glibc_malloc>(workload, where, "glibc", make, run);
    add_malloc<jemalloc>(workload, where, "jemalloc", make, run);
    add_malloc<tcmalloc>(workload, where, "tcmalloc", make, run);
    add_malloc<mimalloc>(workload, where, "mimalloc", make, run);
}

static auto by_itself = [](auto &heap) { return std::ref(heap); };

static void run_mixed() {
    for (size_t alive : {size_t{100}, size_t{10000}, size_t{1000000}}) {
        add_all(
            "mixed", std::to_string(alive),
            [=](auto &heap) { return churner<std::remove_reference_t<decltype(heap)>>(heap, alive); },
            [](auto &one, size_t count) { return churn_on(one, count); });
        take_turns(std::move(lines), 15, 20e6);
        lines.clear();
    }
}

static void run_both() {
    add_all("both", "2", by_itself, [](auto &heap, size_t count) { return both(heap.get(), count); });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_handed() {
    add_all("handed", "ring", by_itself, [](auto &heap, size_t count) { return handed(heap.get(), count); });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_larson() {
    add_all("larson", "2", by_itself, [](auto &heap, size_t count) { return larson(heap.get(), count); });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_large() {
    for (size_t kib : {1500, 8000, 25600}) {
        std::string largest = std::to_string(kib);
        auto make = [=](auto &heap) { return large_blocks<std::remove_reference_t<decltype(heap)>>(heap, kib * 1024); };
        auto run = [](auto &large, size_t count) { return replace_large(large, count); };
        add<kolk_blocks>("large", largest, "kolk", make, run);
        add_malloc<glibc_malloc>("large", largest, "glibc", make, run);
        add_malloc<jemalloc>("large", largest, "jemalloc", make, run);
        add_malloc<tcmalloc>("large", largest, "tcmalloc", make, run);
        add_malloc<mimalloc>("large", largest, "mimalloc", make, run);
        for (line &it : lines) it.count = 700000 / kib;
        take_turns(std::move(lines), 25, 20e6);
        lines.clear();
    }
}

static void run_end() {
    for (bool one_by_one : {true, false})
        lines.push_back(
            {"end", one_by_one ? "one by one" : "at once", "kolk", [=](size_t) { return end_heap(one_by_one); }});
    lines.push_back({"end", "at once", "none", [](size_t) { return end_pages(); }});
    for (bool one_by_one : {true, false})
        lines.push_back(
            {"end", one_by_one ? "each freed" : "reset", "kolk", [=](size_t) { return empty_heap(one_by_one); }});
    take_turns(std::move(lines), 7, 1);
}

static void run_worst() {
    add_all(
        "worst", "each", [](auto &heap) { return churner<std::remove_reference_t<decltype(heap)>>(heap, 10000); },
        [](auto &one, size_t count) { return worst(one, count); });
    add_all(
        "worst", "p99.99", [](auto &heap) { return churner<std::remove_reference_t<decltype(heap)>>(heap, 10000); },
        [](auto &one, size_t count) { return worst_of_all(worst(one, std::max(count, size_t{20000}))); });
    take_turns(std::move(lines), 15, 20e6);
}

static void run_resident() {
    for (size_t alive : {size_t{100}, size_t{10000}, size_t{1000000}}) {
        print_resident<kolk_blocks>(alive, "kolk");
        print_resident<glibc_malloc>(alive, "glibc");
        print_resident<jemalloc>(alive, "jemalloc");
        print_resident<tcmalloc>(alive, "tcmalloc");
        print_resident<mimalloc>(alive, "mimalloc");
    }
}

int main(int argc, char **argv) {
    run_asked(argc, argv, "heap",
              {{"resident", run_resident}, /* first, so that its children find no memory to reuse */
               {"mixed", run_mixed},
               {"both", run_both},
               {"handed", run_handed},
               {"larson", run_larson},
               {"large", run_large},
               {"end", run_end},
               {"worst", run_worst}});
    check_malloc_is_glibc();
}
