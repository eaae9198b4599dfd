/* loads.cc: a whole process that only allocates and frees, for bench/preload.py. Usage: loads WORKLOAD. It calls malloc
 * and free, so the malloc that is measured is the one that is preloaded.
 *
 *     server      each of two threads replaces random ones of 5,000 blocks of 8 to 1,000 bytes. After 250,000
 *                 replacements it hands its blocks to a new thread, and ends
 *     server_new  the same by operator new, and operator delete with the size
 *     simple      one thread allocates n blocks of one size, and frees them: the first half in the order of the allocs,
 *                 the others in reverse order. n is 25 to 1,600, sizes are 16 to 4,096
 *     shuffled    the same, but all blocks are freed in random order
 *     random      each of two threads replaces random ones of 20,000 blocks of random sizes, most of them small
 *     rounds      50 rounds: in each, two threads start, allocate, free some of their blocks, exchange others with
 *                 blocks that any thread left behind, keep some until the end of the round, and end
 *     starts      8,000 threads start, allocate and free 100 blocks, and end; two at a time
 *     batches     one thread allocates blocks of 8 to 256 bytes, 1,000 at a time; another frees them */
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

struct quick_random { /* xorshift64*: Vigna, 2016 */
    uint64_t state;
    explicit quick_random(uint64_t seed) : state(seed * 2 + 1) {}
    uint32_t operator()(uint32_t below) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return static_cast<uint32_t>((state * UINT64_C(2685821657736338717) >> 32) * below >> 32);
    }
};

struct block {
    char *at = nullptr;
    uint32_t size = 0;
};

/* Writes both ends of a block, so that both are in this processor's cache. */
static block written(void *at, uint32_t size, uint32_t value) {
    if (!at) std::abort();
    char *bytes = static_cast<char *>(at);
    bytes[0] = bytes[size - 1] = static_cast<char>(value);
    return {bytes, size};
}

struct by_malloc {
    static block alloc(uint32_t size) { return written(std::malloc(size), size, size); }
    static void free(block of) { std::free(of.at); }
};

struct by_new {
    static block alloc(uint32_t size) { return written(::operator new(size), size, size); }
    static void free(block of) { ::operator delete(of.at, of.size); }
};

template <typename run_of_n> void with_threads(uint32_t count, run_of_n run) {
    std::vector<std::thread> all;
    for (uint32_t n = 0; n < count; n++) all.emplace_back(run, n);
    for (std::thread &one : all) one.join();
}

/* ---- Workloads --------------------------------------------------------------------------------------------------- */

/* The successor of a thread starts before the thread ends. */
template <typename how> struct server {
    std::vector<block> blocks;
    std::mutex lock;
    std::condition_variable changed;
    uint32_t lives = 40;

    explicit server(uint32_t seed) : blocks(5000) {
        quick_random random(seed);
        for (block &place : blocks) place = how::alloc(8 + random(993));
    }
    void live(uint32_t seed) {
        quick_random random(seed);
        for (uint32_t n = 0; n < 250000; n++) {
            block &place = blocks[random(static_cast<uint32_t>(blocks.size()))];
            how::free(place);
            place = how::alloc(8 + random(993));
        }
        std::unique_lock<std::mutex> hold(lock);
        if (--lives) std::thread([this, seed] { live(seed + 1); }).detach();
        changed.notify_one();
    }
    void serve(uint32_t seed) {
        std::thread([this, seed] { live(seed); }).detach();
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [this] { return lives == 0; });
    }
};

template <typename how> void run_server() {
    server<how> one(1), other(1000);
    std::thread beside([&] { other.serve(1000); });
    one.serve(1);
    beside.join();
}

static void run_simple(bool shuffled) {
    quick_random random(1);
    for (uint32_t size = 16; size <= 4096; size *= 2)
        for (uint32_t count = 25; count <= 1600; count *= 4) {
            std::vector<block> blocks(count);
            std::vector<uint32_t> order;
            for (uint32_t n = 0; n < count / 2; n++) order.push_back(n);
            for (uint32_t n = count; n > count / 2; n--) order.push_back(n - 1);
            for (uint32_t n = count; shuffled && n > 1; n--) std::swap(order[n - 1], order[random(n)]);
            for (uint32_t turn = 0; turn < 800000 / count; turn++) {
                for (block &place : blocks) place = by_malloc::alloc(size);
                for (uint32_t n : order) by_malloc::free(blocks[n]);
            }
        }
}

static uint32_t random_size(quick_random &random) {
    uint32_t kind = random(100);
    if (kind < 70) return 1 + random(128);
    if (kind < 95) return 129 + random(896);
    return kind < 99 ? 1025 + random(7000) : 8025 + random(50000);
}

static void run_random() {
    with_threads(2, [](uint32_t n) {
        quick_random random(n);
        std::vector<block> blocks(20000);
        for (block &place : blocks) place = by_malloc::alloc(random_size(random));
        for (uint32_t turn = 0; turn < 4000000; turn++) {
            block &place = blocks[random(20000)];
            by_malloc::free(place);
            place = by_malloc::alloc(random_size(random));
        }
        for (block place : blocks) by_malloc::free(place);
    });
}

static void run_rounds() {
    static std::atomic<char *> left[1000];
    for (uint32_t round = 0; round < 50; round++)
        with_threads(2, [round](uint32_t n) {
            quick_random random(2 * round + n);
            std::vector<char *> own, kept;
            for (uint32_t turn = 0; turn < 60000; turn++) {
                uint32_t what = random(100);
                if (what < 50 || own.empty()) {
                    own.push_back(by_malloc::alloc(random_size(random)).at);
                    if (what < 10) kept.push_back(by_malloc::alloc(1 + random(64)).at);
                } else {
                    char *&place = own[random(static_cast<uint32_t>(own.size()))];
                    if (what < 75) {
                        place = left[random(1000)].exchange(place);
                    } else {
                        std::free(place);
                        place = nullptr;
                    }
                    if (!place) {
                        place = own.back();
                        own.pop_back();
                    }
                }
            }
            for (char *place : kept) std::free(place);
            for (char *place : own) std::free(place);
        });
    for (std::atomic<char *> &place : left) std::free(place);
}

static void run_starts() {
    for (uint32_t round = 0; round < 4000; round++)
        with_threads(2, [](uint32_t n) {
            quick_random random(n);
            block blocks[100];
            for (block &place : blocks) place = by_malloc::alloc(8 + random(993));
            for (block place : blocks) by_malloc::free(place);
        });
}

/* At most 20 batches are under way. */
struct batches {
    std::mutex lock;
    std::condition_variable changed;
    std::vector<std::vector<block>> waiting;

    void put(std::vector<block> batch) {
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [this] { return waiting.size() < 20; });
        waiting.push_back(std::move(batch));
        changed.notify_all();
    }
    std::vector<block> take() {
        std::unique_lock<std::mutex> hold(lock);
        changed.wait(hold, [this] { return !waiting.empty(); });
        std::vector<block> batch = std::move(waiting.front());
        waiting.erase(waiting.begin());
        changed.notify_all();
        return batch;
    }
};

static void run_batches() {
    batches between;
    with_threads(2, [&](uint32_t n) {
        quick_random random(n);
        for (uint32_t turn = 0; turn < 20000; turn++) {
            if (n == 0) {
                std::vector<block> batch(1000);
                for (block &place : batch) place = by_malloc::alloc(8 + random(249));
                between.put(std::move(batch));
            } else {
                for (block place : between.take()) by_malloc::free(place);
            }
        }
    });
}

int main(int argc, char **argv) {
    const struct {
        const char *name;
        void (*run)();
    } workloads[] = {{"server", run_server<by_malloc>},
                     {"server_new", run_server<by_new>},
                     {"simple", [] { run_simple(false); }},
                     {"shuffled", [] { run_simple(true); }},
                     {"random", run_random},
                     {"rounds", run_rounds},
                     {"starts", run_starts},
                     {"batches", run_batches}};
    for (const auto &it : workloads) {
        if (argc == 1) std::puts(it.name);
        if (argc != 2 || std::strcmp(argv[1], it.name) != 0) continue;
        it.run();
        return 0;
    }
    return argc == 1 ? 0 : 1;
}
