/* measure.h: used by all benchmark programs. */
#ifndef KOLK_BENCH_MEASURE_H
#define KOLK_BENCH_MEASURE_H

#include <benchmark/benchmark.h>
#include <kolk/kolk.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

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

/* As many of these numbers as the least power of two that is not below `below`, but at least 2^14. */
inline const std::vector<uint32_t> &recorded_indices(size_t below) {
    static std::map<size_t, std::vector<uint32_t>> all;
    std::vector<uint32_t> &found = all[below];
    size_t count = 1 << 14;
    while (count < below) count *= 2;
    for (random_index draw(below); found.size() < count;) found.push_back(static_cast<uint32_t>(draw()));
    return found;
}

/* Reads the numbers from an array, in order. Drawing a number takes 6 operations, each of which waits for the one
 * before, and hides what the processor does beside them. */
struct recorded_index {
    uint64_t state = 0; /* how many were read */
    size_t mask;
    const uint32_t *indices;

    /* Inlined, so that the members are in registers. */
    __attribute__((always_inline)) explicit recorded_index(size_t below)
        : mask(recorded_indices(below).size() - 1), indices(recorded_indices(below).data()) {}
    size_t operator()() { return indices[state++ & mask]; }
};

/* ---- Alignments -------------------------------------------------------------------------------------------------- */

/* The time of a loop depends on where its code lies, by a third and more. So the function that contains it is compiled
 * four times, begins with align_code<0> ... align_code<3>, which move the code 16 bytes on each time, and is not
 * inlined. */
#define NOT_INLINED __attribute__((noinline))

template <int alignment> inline __attribute__((always_inline)) void align_code() {
    asm volatile(".balign 64\n\t.rept %c0\n\tnop\n\t.balign 16\n\t.endr" : : "i"(alignment));
}

/* Registers a loop. Its repetitions take turns at the alignments, so that their median is one over the alignments.
 * `run`: takes the state, and a std::integral_constant, which is the alignment. PAIRS in the environment is the number
 * of iterations (bench/instructions.sh). */
template <typename loop> void add_loop(const std::string &name, loop run) {
    auto *added = benchmark::RegisterBenchmark(name.c_str(), [run, turn = 0](benchmark::State &state) mutable {
        switch (turn++ % 4) {
        case 0:
            return run(state, std::integral_constant<int, 0>());
        case 1:
            return run(state, std::integral_constant<int, 1>());
        case 2:
            return run(state, std::integral_constant<int, 2>());
        default:
            return run(state, std::integral_constant<int, 3>());
        }
    });
    if (const char *pairs = std::getenv("PAIRS")) added->Iterations(std::atoi(pairs));
}

/* ------------------------------------------------------------------------------------------------------------------ */

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
