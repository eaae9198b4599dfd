/* cli/demo/sparkles.h: the spell from the chapter on object pools in Game Programming Patterns (Robert Nystrom, 2014):
 * the hero waves the wand, and sparkles burst out, move for some frames and die, wave after wave. Everything follows
 * from the seed alone, never from a sparkle's address, so every storage must end with the same checksum. */
#ifndef DEMO_SPARKLES_H
#define DEMO_SPARKLES_H

#include <kolk/kolk.h>
#include <string.h>

/* x ranges from -1.78 to 1.78, y from -1 (bottom) to 1. */
struct sparkle {
    int32_t frames_left;
    uint16_t lifetime; /* frames_left at its birth */
    uint16_t tint;     /* the tint of its wave */
    union {
        struct {
            double x, y, x_velocity, y_velocity;
        };
        struct sparkle *next; /* used only by the chapter's second pool, while the sparkle is dead */
    };
};

KOLK_POOL_TYPE(sparkles, struct sparkle)

struct spell {
    uint32_t sparkles; /* how many are alive at the peak */
    uint32_t frames;
    uint64_t seed;
    bool physics;         /* gravity, wind and friction */
    uint32_t *births;     /* how many are requested, for each frame */
    uint32_t most_births; /* the most in one frame */
};

bool spell_init(struct spell *spell); /* reads the first four fields; returns false if memory runs out */
void spell_deinit(struct spell *spell);

/* Produces the births, frame by frame. */
struct wand {
    const struct spell *spell;
    uint64_t random;
    uint32_t frame;
    struct sparkle *births; /* of the current frame */
};

bool wand_init(struct wand *wand, const struct spell *spell);
void wand_deinit(struct wand *wand);
uint32_t wand_wave(struct wand *wand); /* advances by a frame; returns the number of births */

/* Moves a sparkle by one frame; returns true if it was its last. */
static inline bool sparkle_animate(struct sparkle *sparkle, bool physics) {
    sparkle->frames_left--;
    sparkle->x += sparkle->x_velocity;
    sparkle->y += sparkle->y_velocity;
    if (physics) {
        const double friction = 0.985, wind = 0.00004, gravity = 0.00016;
        sparkle->x_velocity = sparkle->x_velocity * friction + wind;
        sparkle->y_velocity = sparkle->y_velocity * friction - gravity;
    }
    return sparkle->frames_left == 0;
}

/* SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014). */
static inline uint64_t mix_bits(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

/* Mixes all bits of the position. The sum over many sparkles does not depend on their order. */
static inline uint64_t sparkle_checksum(const struct sparkle *sparkle) {
    uint64_t x, y;
    memcpy(&x, &sparkle->x, sizeof x);
    memcpy(&y, &sparkle->y, sizeof y);
    return mix_bits(x + mix_bits(y + (uint64_t)sparkle->frames_left));
}

/* ---- Ways to store them ------------------------------------------------------------------------------------------ */

struct store;

struct storage {
    const char *name;
    bool alone; /* runs alone in its heap, without the rest of a game */
    struct store *(*begin)(uint32_t capacity);
    uint32_t (*create)(struct store *store, const struct sparkle *births,
                       uint32_t count);                     /* returns the number that did not fit */
    uint64_t (*animate)(struct store *store, bool physics); /* returns the sum of checksums of the sparkles that died */
    uint64_t (*alive)(const struct store *store);           /* returns the same sum for live sparkles */
    void (*end)(struct store *store);
};

enum { STORAGES = 5, STORAGE_KOLK = STORAGES - 1 };
extern const struct storage storages[STORAGES];

sparkles *store_pool(struct store *store); /* the pool of storages[STORAGE_KOLK] */
uint64_t store_allocations(void);          /* calls of malloc so far, by all stores */

#endif
