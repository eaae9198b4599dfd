/* resource_times.c: how long things take: counts in buckets. Eight buckets share an octave, so a percentile is right to
 * an eighth; up to 15 ns each number has its own (HdrHistogram, Gil Tene, 2012). */
#include "resource_inside.h"

#if KOLK_HOSTED

/* Of 8 and more: 8 buckets an octave, chosen by the three bits behind the first. */
static unsigned bucket_of(uint64_t ns) {
    if (ns < 8) return (unsigned)ns;
    unsigned octave = 63 - (unsigned)__builtin_clzll(ns);
    unsigned bucket = (octave - 2) * 8 + (unsigned)(ns >> (octave - 3) & 7);
    return bucket < TIME_BUCKETS ? bucket : TIME_BUCKETS - 1;
}

/* The greatest number that is counted there. */
static uint64_t end_of_bucket(unsigned bucket) {
    if (bucket < 8) return bucket;
    unsigned octave = bucket / 8 + 2;
    return ((8 + UINT64_C(1) + bucket % 8) << (octave - 3)) - 1;
}

void kolk_times_add(resource_times *times, int64_t ns) {
    uint64_t time = ns > 0 ? (uint64_t)ns : 0;
    times->sum += time;
    if (times->max < time) times->max = time;
    times->buckets[bucket_of(time)]++;
}

/* The percentile, in thousandths: the least time that this part of all times does not exceed. */
static uint64_t percentile_of(const resource_times *times, uint64_t count, uint64_t of_thousand) {
    uint64_t seen = 0, wanted = (count * of_thousand + 999) / 1000;
    for (unsigned bucket = 0; bucket < TIME_BUCKETS; bucket++) {
        seen += times->buckets[bucket];
        if (seen < wanted || seen == 0) continue;
        uint64_t end = end_of_bucket(bucket);
        return end < times->max && bucket + 1 < TIME_BUCKETS ? end : times->max;
    }
    return 0;
}

static void count_below(const resource_times *times, uint64_t below[KOLK_TIME_BOUNDS]) {
    uint64_t seen = 0;
    unsigned bucket = 0;
    for (unsigned bound = 0; bound < KOLK_TIME_BOUNDS; bound++) {
        unsigned end = bucket_of(UINT64_C(1) << (17 + 2 * bound));
        while (bucket < end) seen += times->buckets[bucket++];
        below[bound] = seen;
    }
}

void kolk_times_sum_up(const resource_times *times, kolk_times *out) {
    uint64_t count = 0;
    for (unsigned bucket = 0; bucket < TIME_BUCKETS; bucket++) count += times->buckets[bucket];
    *out = (kolk_times){.count = count,
                        .sum_ns = times->sum,
                        .max_ns = times->max,
                        .p50_ns = percentile_of(times, count, 500),
                        .p90_ns = percentile_of(times, count, 900),
                        .p99_ns = percentile_of(times, count, 990),
                        .p999_ns = percentile_of(times, count, 999)};
    count_below(times, out->at_most);
}

#endif
