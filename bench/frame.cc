/* frame.cc: calls of a game's frame, each timed alone: what the slowest of them take. The lines take turns. It prints
 * tables in Markdown. All times are in ns, and contain two readings of the clock, whose own time is the line "clock".
 *
 *     evict   a full pool of 10,000 voices: the quietest is evicted for a new one. "compare" looks at all voices,
 *             "ranked" keeps their order, "drawn" is an on_full that takes the quietest of 16 random ones (its victim
 *             is seldom the quietest), "oldest" evicts by age
 *     frame   150 such evictions, after all 10,000 costs have changed. "ranked" calls recost of NULL once, "recosted"
 *             recost of each voice
 *     calls   an alloc, and a free of a random object: 10,000 of 64 bytes are alive
 *     tick    kolk_pool_tick of 256 slots, in frames whose demand swings between 0 and 100,000 objects
 *     rollback  a pool of 9,500 objects of 64 bytes: its hash, its snapshot, and deltas of two snapshots, between which
 *             16 bytes of 1 %, 10 % or all objects have changed, or 5 % have died and as many were born
 * promise: pool.h "renewal after it enters the object: O(log n)" */
#include "mallocs.h"
#include "threads.h"

#include <cmath>
#include <utility>
#include <vector>

static std::vector<line> lines; /* of the current workload */

static void print_slowest(const char *title) {
    run_in_turns(lines, 31, 20e6);
    std::printf("\n%s, ns\n\n| | | median | p99 | p99.99 |\n|---|---|---:|---:|---:|\n", title);
    for (line &it : lines) {
        std::sort(it.all.begin(), it.all.end());
        std::printf("| %s | %s | %.0f | %.0f | %.0f |\n", it.workload.c_str(), it.who.c_str(), percentile(it.all, 0.5),
                    percentile(it.all, 0.99), percentile(it.all, 0.9999));
    }
    std::fflush(stdout);
    lines.clear();
}

/* ---- Voices ------------------------------------------------------------------------------------------------------ */

struct voice {
    double loudness;
    uint64_t rest[7];
};

KOLK_POOL_TYPE(voices, voice)

static double loudness(const void *object, void *) {
    return static_cast<const voice *>(object)->loudness;
}

static bool evict_drawn(kolk_pool *pool, size_t, void *) {
    static random_index draw(10000);
    voice *quietest = nullptr;
    for (unsigned n = 0; n < 16; n++) {
        voice *one = static_cast<voice *>(kolk_pool_at(pool, static_cast<uint32_t>(draw())));
        if (one && (!quietest || one->loudness < quietest->loudness)) quietest = one;
    }
    if (quietest) kolk_pool_free(pool, quietest);
    return quietest != nullptr;
}

struct stage {
    voices all = {};
    random_index random{1000000};

    stage(bool (*on_full)(kolk_pool *, size_t, void *), bool ranked) {
        kolk_pool_desc desc = {};
        desc.capacity = 10000;
        desc.full.on_full = on_full;
        desc.full.cost = loudness;
        desc.full.ranked = ranked;
        succeed_or_exit(voices_init(&all, &desc));
        for (unsigned n = 0; n < 20000; n++) begin();
    }
    ~stage() { voices_deinit(&all); }
    void begin() { voices_alloc(&all)->loudness = static_cast<double>(random()); }

    samples evictions(size_t count) {
        samples found(count);
        for (double &spent : found) {
            double before = now_ns();
            voice *made = voices_alloc(&all);
            spent = now_ns() - before;
            made->loudness = static_cast<double>(random());
        }
        return found;
    }
    samples frames(size_t count, bool each) {
        samples found(count);
        for (double &spent : found) {
            double factor = 0.5 + static_cast<double>(random()) / 1e6;
            KOLK_EACH(voices, one, &all) one->loudness = std::fmod(one->loudness * factor + 1, 1e6);
            double before = now_ns();
            if (each)
                KOLK_EACH(voices, one, &all) voices_recost(&all, one);
            if (!each) voices_recost(&all, nullptr);
            for (unsigned n = 0; n < 150; n++) begin();
            spent = now_ns() - before;
        }
        return found;
    }
};

static void run_evict() {
    auto compare = std::make_shared<stage>(kolk_pool_evict_cheapest, false);
    auto ranked = std::make_shared<stage>(kolk_pool_evict_cheapest, true);
    auto drawn = std::make_shared<stage>(evict_drawn, false);
    auto oldest = std::make_shared<stage>(kolk_pool_evict_oldest, false);
    lines.push_back({"one eviction", "", "compare", [=](size_t count) { return compare->evictions(count); }});
    lines.push_back({"one eviction", "", "ranked", [=](size_t count) { return ranked->evictions(count); }});
    lines.push_back({"one eviction", "", "drawn", [=](size_t count) { return drawn->evictions(count); }});
    lines.push_back({"one eviction", "", "oldest", [=](size_t count) { return oldest->evictions(count); }});
    print_slowest("One eviction, and the alloc after it, among 10,000 objects");
    lines.push_back({"150 evictions", "", "compare", [=](size_t count) { return compare->frames(count, false); }, 1});
    lines.push_back({"150 evictions", "", "ranked", [=](size_t count) { return ranked->frames(count, false); }, 1});
    lines.push_back({"150 evictions", "", "recosted", [=](size_t count) { return ranked->frames(count, true); }, 1});
    lines.push_back({"150 evictions", "", "drawn", [=](size_t count) { return drawn->frames(count, false); }, 1});
    print_slowest("A frame of 150 evictions among 10,000 objects, whose costs have all changed");
}

/* ---- Calls ------------------------------------------------------------------------------------------------------- */

struct no_calls : glibc_malloc {
    static constexpr const char *name = "clock";
    char place[64] = {};
    void *alloc() { return place; }
    void free(void *) {}
};

struct glibc_calls : glibc_malloc {
    static constexpr const char *name = "glibc";
};

struct mimalloc_calls : mimalloc {
    static constexpr const char *name = "mimalloc";
};

struct jemalloc_calls : jemalloc {
    static constexpr const char *name = "jemalloc";
};

KOLK_POOL_TYPE(things, thing)
KOLK_SHARED_TYPE(shared_things, thing)

template <kolk_reuse reuse> struct pool_calls {
    static constexpr const char *name = reuse == KOLK_REUSE_LIFO     ? "pool"
                                        : reuse == KOLK_REUSE_LOWEST ? "pool, lowest"
                                                                     : "pool, FIFO";
    std::string error;
    things all = {};
    pool_calls() {
        kolk_pool_desc desc = {};
        desc.capacity = 16384;
        desc.reuse = reuse;
        succeed_or_exit(things_init(&all, &desc));
    }
    ~pool_calls() { things_deinit(&all); }
    void *alloc() { return things_alloc(&all); }
    void free(void *object) { things_free(&all, static_cast<thing *>(object)); }
};

struct shared_calls {
    static constexpr const char *name = "shared pool";
    std::string error;
    shared_things all = {};
    shared_things_local mine = {};
    shared_calls() {
        kolk_shared_desc desc = {};
        desc.capacity = 16384;
        succeed_or_exit(shared_things_init(&all, &desc));
        succeed_or_exit(shared_things_local_init(&mine, &all));
    }
    ~shared_calls() {
        shared_things_local_deinit(&mine);
        shared_things_deinit(&all);
    }
    void *alloc() { return shared_things_alloc(&mine); }
    void free(void *object) { shared_things_free(&mine, static_cast<thing *>(object)); }
};

struct map_calls { /* the objects move, so each place keeps a handle */
    static constexpr const char *name = "slot map";
    std::string error;
    kolk_slotmap all = {};
    map_calls() {
        kolk_slotmap_desc desc = {};
        desc.object_size = sizeof(thing);
        desc.capacity = 16384;
        succeed_or_exit(kolk_slotmap_init(&all, &desc));
    }
    ~map_calls() { kolk_slotmap_deinit(&all); }
    void *alloc() {
        kolk_handle made = {};
        kolk_slotmap_add(&all, &made);
        void *bits;
        std::memcpy(&bits, &made.bits, sizeof bits);
        return bits;
    }
    void free(void *bits) {
        kolk_handle which = {};
        std::memcpy(&which.bits, &bits, sizeof bits);
        kolk_slotmap_remove(&all, which);
    }
};

struct heap_calls {
    static constexpr const char *name = "heap";
    std::string error;
    kolk_heap all = {};
    heap_calls() {
        kolk_heap_desc desc = {};
        succeed_or_exit(kolk_heap_init(&all, &desc));
    }
    ~heap_calls() { kolk_heap_deinit(&all); }
    void *alloc() { return kolk_heap_alloc(&all, object_size); }
    void free(void *object) { kolk_heap_free(&all, object); }
};

template <typename kind> struct population {
    kind from = {};
    std::vector<void *> alive;
    random_index pick{10000};

    population() { /* stays empty if the library cannot be loaded */
        while (from.error.empty() && alive.size() < 10000) alive.push_back(from.alloc());
    }
    ~population() {
        for (void *one : alive) from.free(one);
    }
    samples run(size_t count, bool frees) {
        samples found(count);
        for (double &spent : found) {
            void *&one = alive[pick()];
            double begin = now_ns();
            from.free(one);
            benchmark::ClobberMemory();
            double freed = now_ns(), again = now_ns();
            void *another = from.alloc();
            benchmark::DoNotOptimize(another); /* not of a place in memory, from which gcc 12 keeps the value then */
            one = another;
            double made = now_ns();
            spent = frees ? freed - begin : made - again;
        }
        return found;
    }
};

template <typename kind> void add_calls() {
    auto all = std::make_shared<population<kind>>();
    if (!all->from.error.empty()) {
        std::fprintf(stderr, "%s is left out: %s\n", kind::name, all->from.error.c_str());
        return;
    }
    lines.push_back({"alloc", "", kind::name, [=](size_t count) { return all->run(count, false); }});
    lines.push_back({"free", "", kind::name, [=](size_t count) { return all->run(count, true); }});
}

static void run_calls() {
    add_calls<no_calls>();
    add_calls<pool_calls<KOLK_REUSE_LIFO>>();
    add_calls<pool_calls<KOLK_REUSE_FIFO>>();
    add_calls<pool_calls<KOLK_REUSE_LOWEST>>();
    add_calls<map_calls>();
    add_calls<shared_calls>();
    add_calls<heap_calls>();
    add_calls<glibc_calls>();
    add_calls<jemalloc_calls>();
    add_calls<mimalloc_calls>();
    print_slowest("A call, with 10,000 objects of 64 bytes alive");
}

/* ---- Ticks ------------------------------------------------------------------------------------------------------- */

static samples ticks(size_t count) {
    things pool = {};
    kolk_pool_desc desc = {};
    desc.max_capacity = 100000;
    succeed_or_exit(things_init(&pool, &desc));
    samples found(count);
    std::vector<thing *> alive;
    for (size_t n = 0; n < count; n++) {
        double swing = 0.5 - 0.5 * std::cos(static_cast<double>(n) / 300);
        size_t wanted = static_cast<size_t>(swing * 100000);
        while (alive.size() > wanted) things_free(&pool, alive.back()), alive.pop_back();
        while (alive.size() < wanted) {
            alive.push_back(things_alloc(&pool));
            alive.back()->words[0] = 1;
        }
        double begin = now_ns();
        things_tick(&pool, 256);
        found[n] = now_ns() - begin;
    }
    things_deinit(&pool);
    return found;
}

static void run_tick() {
    lines.push_back({"tick", "", "256 slots", ticks, 2000});
    print_slowest("A tick, with a demand that swings between 0 and 100,000 objects");
}

/* ---- Rollback ---------------------------------------------------------------------------------------------------- */

using bytes = std::vector<unsigned char>;

/* Two moments of a pool, and what makes the later one of the earlier one. */
struct moments {
    things pool = {};
    bytes base, now, delta, out;

    moments(unsigned changed, unsigned replaced) { /* of 100 objects */
        kolk_pool_desc desc = {};
        desc.capacity = 11000;
        succeed_or_exit(things_init(&pool, &desc));
        random_index any{1u << 30}, percent{100};
        std::vector<thing *> all(10000);
        auto make = [&](thing *&it) {
            it = things_alloc(&pool);
            for (auto &word : it->words) word = static_cast<decltype(+word)>(any());
        };
        for (thing *&it : all) make(it);
        for (int n = 0; n < 500; n++)
            things_free(&pool, std::exchange(all[any() % all.size()], all.back())), all.pop_back();
        base = snapshot();
        for (thing *&it : all) {
            if (percent() < changed) it->words[0]++, it->words[1]--;
            if (percent() < replaced) things_free(&pool, it), it = nullptr;
        }
        for (thing *&it : all)
            if (!it) make(it);
        now = snapshot();
        delta.resize(now.size() + 96);
        delta.resize(kolk_snapshot_delta(base.data(), base.size(), now.data(), now.size(), delta.data(), delta.size()));
        out.resize(now.size() + 96);
    }
    ~moments() { things_deinit(&pool); }
    bytes snapshot() {
        bytes made(things_snapshot_size(&pool));
        things_snapshot(&pool, made.data(), made.size());
        return made;
    }
    void compare() { kolk_snapshot_delta(base.data(), base.size(), now.data(), now.size(), out.data(), out.size()); }
    void apply() {
        size_t size = out.size();
        succeed_or_exit(kolk_snapshot_apply(base.data(), base.size(), delta.data(), delta.size(), out.data(), &size));
    }
};

template <typename call> samples times(size_t count, call once) {
    samples found(count);
    for (double &spent : found) {
        double begin = now_ns();
        once();
        benchmark::ClobberMemory();
        spent = now_ns() - begin;
    }
    return found;
}

static void run_rollback() {
    static const struct {
        const char *name;
        unsigned changed, replaced;
    } rows[] = {{"1 % changed", 1, 0}, {"10 % changed", 10, 0}, {"all changed", 100, 0}, {"5 % replaced", 0, 5}};
    std::printf("\nBytes of a delta\n\n| | snapshot | delta |\n|---|---:|---:|\n");
    for (auto &row : rows) {
        auto it = std::make_shared<moments>(row.changed, row.replaced);
        std::printf("| %s | %zu | %zu |\n", row.name, it->now.size(), it->delta.size());
        lines.push_back({"delta", "", row.name, [=](size_t n) { return times(n, [&] { it->compare(); }); }, 8});
        lines.push_back({"apply", "", row.name, [=](size_t n) { return times(n, [&] { it->apply(); }); }, 8});
        if (row.changed != 1) continue;
        auto save = [=] { things_snapshot(&it->pool, it->out.data(), it->out.size()); };
        auto load = [=] { succeed_or_exit(things_restore(&it->pool, it->now.data(), it->now.size())); };
        auto hash = [=] { benchmark::DoNotOptimize(things_hash(&it->pool, nullptr, nullptr)); };
        auto copy = [=] { std::memcpy(it->out.data(), it->now.data(), it->now.size()); };
        lines.push_back({"snapshot", "", "", [=](size_t n) { return times(n, save); }, 8});
        lines.push_back({"restore", "", "", [=](size_t n) { return times(n, load); }, 8});
        lines.push_back({"hash", "", "", [=](size_t n) { return times(n, hash); }, 8});
        lines.push_back({"memcpy", "", "of a snapshot", [=](size_t n) { return times(n, copy); }, 8});
    }
    print_slowest("Rollback, with 9,500 objects of 64 bytes");
}

int main(int argc, char **argv) {
    std::printf("# The slowest calls\n");
    static const workload all[] = {
        {"evict", run_evict}, {"calls", run_calls}, {"tick", run_tick}, {"rollback", run_rollback}};
    for (const workload &it : all) {
        bool asked = argc == 1;
        for (int n = 1; n < argc; n++) asked |= std::strcmp(argv[n], it.name) == 0;
        if (asked) it.run();
    }
    check_malloc_is_glibc();
}
