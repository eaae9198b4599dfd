/* measure.h: used by all benchmark programs. */
#ifndef KOLK_BENCH_MEASURE_H
#define KOLK_BENCH_MEASURE_H

#include <benchmark/benchmark.h>
#include <kolk/kolk.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

/* xorshift64 (Marsaglia, 2003), scaled to 0 ... below - 1 without a division. */
struct random_index {
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15);
    size_t below;

    explicit random_index(size_t below_) : below(below_) {}
    size_t operator()() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        return static_cast<size_t>((state >> 32) * below >> 32);
    }
};

inline void succeed_or_exit(kolk_status status) {
    if (status == KOLK_OK) return;
    std::fprintf(stderr, "kolk_pool_init: %s\n", kolk_status_text(status));
    std::exit(1);
}

/* Returns the resident bytes of the process, counted page by page, because /proc/self/statm may lag behind by dozens of
 * pages. */
inline double resident_bytes() {
    unsigned long kib = 0;
    std::FILE *rollup = std::fopen("/proc/self/smaps_rollup", "r");
    if (!rollup || std::fscanf(rollup, "%*[^\n] Rss: %lu", &kib) != 1) {
        std::fprintf(stderr, "/proc/self/smaps_rollup cannot be read\n");
        std::exit(1);
    }
    std::fclose(rollup);
    return static_cast<double>(kib) * 1024;
}

/* Runs the registered benchmarks; returns the program's exit code. */
inline int measure(int argc, char **argv) {
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
#ifdef __clang__
    benchmark::AddCustomContext("compiler", "clang " __clang_version__);
#else
    benchmark::AddCustomContext("compiler", "gcc " __VERSION__);
#endif
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

#endif
