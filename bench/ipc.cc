/* ipc.cc: compares kolk_ipc with other ways between two processes: boost.interprocess and DPDK. Usage: ipc
 * [WORKLOAD...], by default all. Prints CSV: nanoseconds, medians of rounds in which all lines of a workload take turns
 * in random order; for single operations also p99 and p99.9.
 *
 *     ping_pong  an object of 64 bytes goes to the other process and another one comes back: half of the time. Each
 *                trip is alloc, write, push; pop, read, free. "cell": what the processor's cache lines take
 *     stream     the same in one direction, as many as there is room for; ns per object
 *     sleeper    age of an object at a receiver that sleeps: one object every 200 us. "futex": the bare system call
 *     alone      alloc and free in one process
 *     attach     a process attaches to a pool of 1,024 or of a million slots. "mmap": mmap and the first read alone
 *     recovery   another process has been killed that owned all but 1,024 of the slots: recover
 *     survivor   alloc and free in a third process while that happens to a million slots, or to none ("quiet")
 *
 * The two processes are pinned to two processors. promise: ipc.h "alloc, free, push and pop are O(1)", "attach is
 * O(1)", "A push that finds a sleeper makes one system call", "O(max_processes" */
#include "ways.h"

#include <array>

static std::vector<line> lines; /* of the current workload */

/* ---- To another process ------------------------------------------------------------------------------------------ */

#define INLINED inline __attribute__((always_inline)) /* so that all lines have the same loop */

template <typename way> INLINED void send(way &mine, unsigned queue, uint64_t value) {
    parcel *object = static_cast<parcel *>(mine.alloc());
    for (uint64_t &word : object->words) word = value;
    benchmark::ClobberMemory();
    mine.push(queue, object);
}

template <typename way> INLINED uint64_t receive(way &mine, unsigned queue) {
    const parcel *object = static_cast<const parcel *>(mine.pop(queue));
    uint64_t sum = 0;
    for (uint64_t word : object->words) sum += word;
    benchmark::DoNotOptimize(sum);
    mine.free(const_cast<parcel *>(object));
    return sum;
}

/* Runs body(n) in two processes, with the way. */
template <typename way, typename body> double along(way &mine, body run) {
    return apart([&](unsigned n) {
        mine.join(n);
        run(n);
        mine.leave();
    });
}

template <typename way> samples ping_pong(size_t count) {
    way mine;
    double spent = along(mine, [&](unsigned n) {
        for (size_t i = 1; i <= count; i++) {
            if (n == 0) send(mine, 0, i);
            require(receive(mine, 1 - n) == 8 * i, "ping_pong", "what went in did not come out");
            if (n == 1) send(mine, 1, i);
        }
    });
    return {spent / static_cast<double>(2 * count)};
}

template <typename way> samples stream(size_t count) {
    way mine;
    double spent = along(mine, [&](unsigned n) {
        for (size_t i = 1; i <= count; i++) {
            if (n == 0)
                send(mine, 0, i);
            else
                require(receive(mine, 0) == 8 * i, "stream", "what went in did not come out");
        }
    });
    return {spent / static_cast<double>(count)};
}

/* Returns the age of each object when the receiver has it. */
template <typename way> samples sleeper(size_t count) {
    static constexpr size_t most = 1 << 16;
    in_both<std::array<double, most>> ages;
    count = std::min(count, most);
    way mine;
    along(mine, [&](unsigned n) {
        for (size_t i = 0; i < count; i++) {
            if (n == 1) {
                const parcel *object = static_cast<const parcel *>(mine.pop(0));
                (*ages.it)[i] = now_ns() - static_cast<double>(object->words[0]);
                mine.free(const_cast<parcel *>(object));
                continue;
            }
            struct timespec pause = {0, 200000};
            nanosleep(&pause, nullptr);
            parcel *object = static_cast<parcel *>(mine.alloc());
            object->words[0] = static_cast<uint64_t>(now_ns());
            mine.push(0, object);
        }
    });
    return samples(ages->begin(), ages->begin() + static_cast<ptrdiff_t>(count));
}

static void run_ping_pong() {
    lines.push_back({"ping_pong", "64", "cell", ping_pong<cell_way>});
    lines.push_back({"ping_pong", "64", "kolk", ping_pong<kolk_way>});
    lines.push_back({"ping_pong", "64", "kolk_polled", ping_pong<kolk_polled>});
    lines.push_back({"ping_pong", "64", "dpdk", ping_pong<dpdk_way<true>>});
    lines.push_back({"ping_pong", "64", "dpdk_one_to_one", ping_pong<dpdk_way<false>>});
    lines.push_back({"ping_pong", "64", "boost", ping_pong<boost_way<false>>});
    take_turns(std::move(lines), 25, 8e6);
}

static void run_stream() {
    lines.push_back({"stream", "64", "kolk", stream<kolk_way>});
    lines.push_back({"stream", "64", "kolk_polled", stream<kolk_polled>});
    lines.push_back({"stream", "64", "dpdk", stream<dpdk_way<true>>});
    lines.push_back({"stream", "64", "dpdk_one_to_one", stream<dpdk_way<false>>});
    lines.push_back({"stream", "64", "boost", stream<boost_way<false>>});
    take_turns(std::move(lines), 25, 8e6);
}

static void run_sleeper() {
    lines.push_back({"sleeper", "64", "futex", sleeper<futex_way>});
    lines.push_back({"sleeper", "64", "kolk", sleeper<kolk_way>});
    lines.push_back({"sleeper", "64", "boost", sleeper<boost_way<true>>});
    take_turns(std::move(lines), 25, 30e6);
}

/* ---- In one process ---------------------------------------------------------------------------------------------- */

template <typename way> samples alone(size_t count) {
    way mine;
    mine.join(0);
    double begin = now_ns();
    for (size_t i = 0; i < count; i++) {
        void *object = mine.alloc();
        benchmark::DoNotOptimize(object);
        mine.free(object);
    }
    double spent = now_ns() - begin;
    mine.leave();
    return {spent / static_cast<double>(count)};
}

static void run_alone() {
    lines.push_back({"alone", "pair", "kolk", alone<kolk_way>});
    lines.push_back({"alone", "pair", "dpdk", alone<dpdk_way<true>>});
    lines.push_back({"alone", "pair", "boost", alone<boost_way<false>>});
    take_turns(std::move(lines), 25, 8e6);
}

/* ---- Attach ------------------------------------------------------------------------------------------------------ */

static void make(kolk_ipc *pool, uint32_t slots) {
    kolk_ipc_desc desc = {};
    desc.object_size = sizeof(parcel);
    desc.capacity = slots;
    desc.queues = 1;
    succeed_or_exit(kolk_ipc_init(pool, &desc));
}

/* Returns the nanoseconds of each call of run(). */
template <typename body, typename rest> samples each_of(size_t count, body run, rest after) {
    samples all(count);
    for (double &spent : all) {
        double begin = now_ns();
        run();
        spent = now_ns() - begin;
        after();
    }
    return all;
}

static samples attach(uint32_t slots, size_t count) {
    kolk_ipc pool = {}, again = {};
    kolk_ipc_desc desc = {};
    make(&pool, slots);
    samples all = each_of(
        count, [&] { succeed_or_exit(kolk_ipc_attach(&again, kolk_ipc_fd(&pool), &desc)); },
        [&] { kolk_ipc_deinit(&again); });
    kolk_ipc_deinit(&pool);
    return all;
}

static samples map(uint32_t slots, size_t count) {
    kolk_ipc pool = {};
    make(&pool, slots);
    kolk_stats stats;
    kolk_ipc_stats(&pool, &stats);
    size_t size = static_cast<size_t>(stats.bytes_reserved);
    void *start = nullptr;
    samples all = each_of(
        count,
        [&] {
            start = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, kolk_ipc_fd(&pool), 0);
            benchmark::DoNotOptimize(*static_cast<volatile uint64_t *>(start));
        },
        [&] { munmap(start, size); });
    kolk_ipc_deinit(&pool);
    return all;
}

static void run_attach() {
    for (uint32_t slots : {1024u, 1000000u}) {
        std::string where = std::to_string(slots);
        lines.push_back({"attach", where, "mmap", [=](size_t count) { return map(slots, count); }, 64});
        lines.push_back({"attach", where, "kolk", [=](size_t count) { return attach(slots, count); }, 64});
    }
    take_turns(std::move(lines), 25, 8e6);
}

/* ---- Recovery ---------------------------------------------------------------------------------------------------- */

/* A process dies with this many objects, one in 16 of which are in the queue. */
static void die_with(kolk_ipc *pool, uint32_t objects) {
    pid_t child = fork();
    if (child == 0) {
        for (uint32_t n = 0; n < objects; n++) {
            void *object = kolk_ipc_alloc(pool);
            if (n % 16 == 0) kolk_ipc_push(pool, 0, object, KOLK_NOW);
        }
        kill(getpid(), SIGKILL);
    }
    int status = 0;
    require(waitpid(child, &status, 0) == child && WIFSIGNALED(status), "a child", "it was not killed");
}

static double recover_once(kolk_ipc *pool, uint32_t objects) {
    die_with(pool, objects);
    double begin = now_ns();
    uint32_t count = kolk_ipc_recover(pool);
    double spent = now_ns() - begin;
    require(count == objects - (objects + 15) / 16, "recover", "another number of orphans");
    for (void *object; (object = kolk_ipc_pop(pool, 0, KOLK_NOW));) kolk_ipc_free(pool, object);
    return spent;
}

static samples recovery(uint32_t slots, size_t count) {
    kolk_ipc pool = {};
    make(&pool, slots);
    samples all(std::min<size_t>(count, 64));
    for (double &spent : all) spent = recover_once(&pool, slots - (slots > 2048 ? 1024 : 0));
    kolk_ipc_deinit(&pool);
    return all;
}

/* Returns the time of each pair of a process that goes on during the recovery of a million slots. */
static samples survivor(bool dies) {
    static constexpr uint32_t slots = 1000000;
    struct record {
        std::atomic<unsigned> state{0}; /* 1: the survivor is ready, 2: it measures, 3: enough */
        size_t count;
        double pairs[1 << 20];
    };
    in_both<record> of;
    kolk_ipc pool = {};
    make(&pool, slots);
    pid_t child = in_child([&] {
        void *object = kolk_ipc_alloc(&pool);
        of->state = 1;
        while (of->state < 2) sched_yield();
        for (of->count = 0; of->state < 3 && of->count < 1 << 20; of->count++) {
            double begin = now_ns();
            kolk_ipc_free(&pool, object);
            object = kolk_ipc_alloc(&pool);
            of->pairs[of->count] = now_ns() - begin;
        }
        kolk_ipc_free(&pool, object);
    });
    while (of->state < 1) sched_yield();
    if (dies) die_with(&pool, slots - 1024);
    of->state = 2;
    double begin = now_ns();
    if (dies)
        kolk_ipc_recover(&pool);
    else
        while (now_ns() - begin < 5e6) {}
    of->state = 3;
    wait_for(child);
    kolk_ipc_deinit(&pool);
    return samples(of->pairs, of->pairs + of->count);
}

static void run_recovery() {
    for (uint32_t slots : {1024u, 1000000u})
        lines.push_back({"recovery", std::to_string(slots), "kolk", [=](size_t n) { return recovery(slots, n); }, 1});
    take_turns(std::move(lines), 15, 8e6);
}

static void run_survivor() {
    lines.push_back({"survivor", "quiet", "kolk", [](size_t) { return survivor(false); }, 1 << 20});
    lines.push_back({"survivor", "recovery", "kolk", [](size_t) { return survivor(true); }, 1 << 20});
    take_turns(std::move(lines), 15, 1);
}

int main(int argc, char **argv) {
    run_asked(argc, argv, "way",
              {{"ping_pong", run_ping_pong},
               {"stream", run_stream},
               {"sleeper", run_sleeper},
               {"alone", run_alone},
               {"attach", run_attach},
               {"recovery", run_recovery},
               {"survivor", run_survivor}});
}
