/* memory.cc: what a pool of 1,000,000 slots of 64 bytes costs before its first object: the time of init and deinit
 * together, and as counters the growth of resident memory by init and the bytes for each slot beside the slot itself. */
#include "measure.h"

static constexpr uint32_t slots = 1000000;

/* Bytes of the process that memory backs, counted page by page: /proc/self/statm may lag behind by dozens of pages. */
static double resident_bytes() {
    unsigned long kib = 0;
    std::FILE *rollup = std::fopen("/proc/self/smaps_rollup", "r");
    if (!rollup || std::fscanf(rollup, "%*[^\n] Rss: %lu", &kib) != 1) {
        std::fprintf(stderr, "/proc/self/smaps_rollup cannot be read\n");
        std::exit(1);
    }
    std::fclose(rollup);
    return static_cast<double>(kib) * 1024;
}

static void init(benchmark::State &state, kolk_reuse reuse, kolk_generations generations, bool grows) {
    kolk_pool_desc desc = {};
    desc.object_size = 64;
    desc.capacity = grows ? 0 : slots;
    desc.max_capacity = slots;
    desc.reuse = reuse;
    desc.generations = generations;

    kolk_pool pool;
    kolk_stats stats;
    resident_bytes(); /* stdio's buffers and code are resident from now on */
    double before = resident_bytes();
    succeed_or_exit(kolk_pool_init(&pool, &desc));
    double growth = resident_bytes() - before;
    kolk_pool_stats(&pool, &stats);
    kolk_pool_deinit(&pool);
    for (auto _ : state) {
        succeed_or_exit(kolk_pool_init(&pool, &desc));
        benchmark::DoNotOptimize(pool);
        kolk_pool_deinit(&pool);
    }
    state.counters["resident_bytes"] = growth;
    state.counters["overhead_bytes"] =
        static_cast<double>(stats.bytes_reserved - slots * stats.stride) / static_cast<double>(slots);
}

static void add(const char *name, kolk_reuse reuse, kolk_generations generations, bool grows) {
    benchmark::RegisterBenchmark(name, init, reuse, generations, grows);
}

int main(int argc, char **argv) {
    add("init_1000000/fixed/handles", KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, false);
    add("init_1000000/fixed/none", KOLK_REUSE_LIFO, KOLK_GENERATIONS_NONE, false);
    add("init_1000000/fixed/lowest_none", KOLK_REUSE_LOWEST, KOLK_GENERATIONS_NONE, false);
    add("init_1000000/growing/handles", KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, true);
    return measure(argc, argv);
}
