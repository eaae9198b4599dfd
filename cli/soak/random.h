/* cli/soak/random.h: random numbers from a seed (splitmix64, Steele, Lea and Flood, 2014). */
#ifndef SOAK_RANDOM_H
#define SOAK_RANDOM_H

#include <stdint.h>

struct soak_random {
    uint64_t state;
};

static inline uint64_t soak_next(struct soak_random *random) {
    uint64_t mixed = random->state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* Returns a number from 0 to n - 1; n is from 1 to 2^32. */
static inline uint32_t soak_below(struct soak_random *random, uint64_t n) {
    return (uint32_t)(((soak_next(random) >> 32) * n) >> 32);
}

/* Sizes come from a window that shifts by a factor of two in each cycle: from 16 to 63 bytes up to 1,024 to 4,095
 * bytes, and down again. Within the window, small sizes are as frequent as large ones. */
enum { SOAK_LARGEST = 4096, SOAK_SHIFTS = 6 };

static inline uint32_t soak_size(struct soak_random *random, uint64_t cycle) {
    uint32_t at = (uint32_t)(cycle % (2 * SOAK_SHIFTS)), shift = at <= SOAK_SHIFTS ? at : 2 * SOAK_SHIFTS - at;
    uint32_t base = 16u << shift << soak_below(random, 2);
    return base + soak_below(random, base);
}

#endif
