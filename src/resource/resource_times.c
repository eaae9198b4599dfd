/* resource_times.c: histograms of times. Each octave has eight buckets, so a percentile is exact to within an eighth.
 * Up to 15 ns, each number has its own bucket (HdrHistogram, Gil Tene, 2012). */
#include "resource_inside.h"

#include "../base/bits.h"

#if KOLK_HOSTED

/* Numbers from 8 on have 8 buckets per octave, chosen by the three bits after the leading one. */
static unsigned bucket_of(uint64_t ns) {
    if (ns < 8) return (unsigned)ns;
    unsigned octave = kolk_bits_highest_(ns);
    unsigned bucket = (octave - 2) * 8 + (unsigned)(ns >> (octave - 3) & 7);
    return bucket < TIME_BUCKETS ? bucket : TIME_BUCKETS - 1;
}

/* The greatest number in a bucket. */
static uint64_t end_of_bucket(unsigned bucket) {
    if (bucket < 8) return bucket;
    unsigned octave = bucket / 8 + 2;
    return ((8 + UINT64_C(1) + bucket % 8) << (octave - 3)) - 1;
}

static uint64_t bound_of(unsigned bound) {
    return UINT64_C(1) << (17 + 2 * bound);
}

void kolk_times_add_(resource_times *times, int64_t ns) {
    times->count++;
    if (ns <= 0) { /* most borrows did not wait */
        times->buckets[0]++;
        return;
    }
    uint64_t time = (uint64_t)ns;
    times->sum += time;
    if (times->max < time) times->max = time;
    times->buckets[bucket_of(time)]++;
}

void kolk_times_sum_up_(const resource_times *times, kolk_times *out) {
    static const unsigned parts[] = {500, 900, 990, 999}; /* per thousand */
    uint64_t *percentiles[] = {&out->p50_ns, &out->p90_ns, &out->p99_ns, &out->p999_ns};
    uint64_t seen = 0;
    unsigned last = bucket_of(times->max), part = 0;
    *out = (kolk_times){.count = times->count, .sum_ns = times->sum, .max_ns = times->max};
    for (unsigned bucket = 0; bucket <= last; bucket++) {
        if (!times->buckets[bucket]) continue;
        seen += times->buckets[bucket];
        for (unsigned bound = KOLK_TIME_BOUNDS; bound-- && bucket < bucket_of(bound_of(bound));)
            out->at_most[bound] = seen;
        /* a percentile is the smallest time t such that at least this part of all times is at most t */
        for (; part < 4 && seen * 1000 >= times->count * parts[part]; part++)
            *percentiles[part] = bucket < last ? end_of_bucket(bucket) : times->max;
    }
}

#endif
