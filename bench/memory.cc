/* memory.cc: measures a pool of 1,000,000 slots of 64 bytes before its first object. Reports the time of init and
 * deinit together and, as counters, the growth of resident memory by init and the bytes of metadata per slot. Also
 * measures a tick while nothing changes. */
#include "measure.h"

static constexpr uint32_t slots = 1000000;

static void init(benchmark::State &state, kolk_reuse reuse, kolk_generations generations, bool grows) {
    kolk_pool_desc desc = {};
    desc.object_size = 64;
    desc.capacity = grows ? 0 : slots;
    desc.max_capacity = slots;
    desc.reuse = reuse;
    desc.generations = generations;

    kolk_pool pool;
    kolk_stats stats;
    resident_bytes(); /* makes stdio's buffers and code resident */
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

static void tick(benchmark::State &state, uint32_t percent) {
    kolk_pool_desc desc = {};
    desc.object_size = 64;
    desc.max_capacity = slots;
    kolk_pool pool;
    succeed_or_exit(kolk_pool_init(&pool, &desc));
    for (uint32_t n = 0; n < slots; n++) kolk_pool_alloc(&pool);
    for (uint32_t n = 0; n < slots; n++)
        if (n % 100 >= percent) kolk_pool_free(&pool, kolk_pool_at(&pool, n));
    for (int n = 0; n < 2000; n++) kolk_pool_tick(&pool, 4096); /* until the demand has faded and memory is released */
    for (auto _ : state) benchmark::DoNotOptimize(kolk_pool_tick(&pool, 4096));
    kolk_pool_deinit(&pool);
}

int main(int argc, char **argv) {
    add("init_1000000/fixed/handles", KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, false);
    add("init_1000000/fixed/none", KOLK_REUSE_LIFO, KOLK_GENERATIONS_NONE, false);
    add("init_1000000/fixed/lowest_none", KOLK_REUSE_LOWEST, KOLK_GENERATIONS_NONE, false);
    add("init_1000000/growing/handles", KOLK_REUSE_LIFO, KOLK_GENERATIONS_RECYCLE, true);
    benchmark::RegisterBenchmark("tick_1000000/alive/10%", tick, 10u);
    benchmark::RegisterBenchmark("tick_1000000/alive/90%", tick, 90u);
    return measure(argc, argv);
}
