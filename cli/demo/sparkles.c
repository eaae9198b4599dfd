/* sparkles.c: when, where and how sparkles are born.
 *
 *     a wave, PERIOD frames:   births   . : | | | : .          while the wand is waved
 *                              alive      . : | | | | : : . .  the last ones outlive it
 *
 * The number alive follows from the births and from the lengths of lives, which are distributed uniformly from SHORTEST
 * to LONGEST. So the births are scaled until the highest wave slightly exceeds the requested number. A sparkle that
 * does not fit into the pool is not created. */
#include "sparkles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD = 72, WAVING = 44, SHORTEST = 16, LONGEST = 60, POP_EVERY = 6, STRONGEST = 3, WAVES = 5 };

/* The height of each wave relative to the highest one, and the wand's figure, given by how often the wand swings
 * horizontally and vertically. */
static const struct {
    double height, x_turns, y_turns, phase;
    uint16_t tint;
} waves[WAVES] = {
    {0.55, 0.50, 0.50, 0.50, 2}, {0.80, 0.50, 1.00, 0.75, 1}, {1.00, 0.92, 1.84, 0.29, 0},
    {0.65, 0.50, 1.50, 0.25, 1}, {0.90, 1.00, 1.00, 0.00, 2},
};

static const double pi = 3.14159265358979323846;

/* Returns the fraction of sparkles still alive this many frames after their birth. */
static double survival(uint32_t frames) {
    if (frames < SHORTEST) return 1;
    return frames < LONGEST ? (double)(LONGEST - frames) / (LONGEST - SHORTEST + 1) : 0;
}

/* Returns how many sparkles are born in this frame, relative to other frames. */
static double strength(uint32_t frame) {
    uint32_t at = frame % PERIOD;
    double swing = at < WAVING ? sin(pi * (at + 0.5) / WAVING) : 0;
    double pop = at % POP_EVERY == POP_EVERY / 2 ? STRONGEST : 1;
    return waves[frame / PERIOD % WAVES].height * swing * pop;
}

bool spell_begin(struct spell *spell, uint32_t count, uint64_t seed) {
    double highest = 0;
    for (uint32_t frame = 0; frame < FRAMES; frame++) {
        double alive = 0;
        for (uint32_t age = 0; age <= frame && age < LONGEST; age++) alive += strength(frame - age) * survival(age);
        highest = fmax(highest, alive);
    }
    *spell = (struct spell){.random = seed, .scale = 1.002 * count / highest};
    spell->born = malloc((size_t)(STRONGEST * spell->scale + 2) * sizeof *spell->born);
    return spell->born;
}

void spell_end(struct spell *spell) {
    free(spell->born);
}

/* SplitMix64 (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014). */
static uint64_t mix_bits(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
    return bits ^ (bits >> 31);
}

/* Returns a random number from 0 to below 1. */
static double random_part(struct spell *spell) {
    spell->random += UINT64_C(0x9e3779b97f4a7c15);
    return (double)(mix_bits(spell->random) >> 11) * 0x1p-53;
}

static void find_tip(uint32_t frame, double later, double *x, double *y) {
    uint32_t wave = frame / PERIOD % WAVES;
    double at = (frame % PERIOD + later) / WAVING;
    *x = 1.2 * sin(2 * pi * (at * waves[wave].x_turns + waves[wave].phase));
    *y = 0.6 * sin(2 * pi * (at * waves[wave].y_turns + 2 * waves[wave].phase));
}

/* Creates a sparkle. Most are born along the wand's path in this frame; in a pop, most fly out from its tip instead, in
 * eight petals. */
static struct sparkle born(struct spell *spell, bool pop) {
    double x, y, width, height, along = random_part(spell), distance = sqrt(random_part(spell)), speed = 0.0036;
    double angle = 2 * pi * random_part(spell);
    find_tip(spell->frame, -0.5, &x, &y);
    find_tip(spell->frame, 0.5, &width, &height);
    width -= x;
    height -= y;
    if (pop && random_part(spell) < 0.75) {
        speed = (0.006 + 0.009 * cos(4 * angle) * cos(4 * angle)) * (0.4 + 0.6 * distance);
        distance = along = 1;
    }
    int32_t life = SHORTEST + (int32_t)(random_part(spell) * (LONGEST - SHORTEST + 1));
    return (struct sparkle){
        .frames_left = life,
        .lifetime = (uint16_t)life,
        .tint = waves[spell->frame / PERIOD % WAVES].tint,
        .x = x + width * along,
        .y = y + height * along,
        .x_velocity = distance * cos(angle) * speed + 0.06 * width,
        .y_velocity = distance * sin(angle) * speed + 0.06 * height,
    };
}

uint32_t spell_wave(struct spell *spell) {
    spell->owed += strength(spell->frame) * spell->scale;
    uint32_t count = (uint32_t)spell->owed;
    spell->owed -= count;
    bool pop = spell->frame % PERIOD % POP_EVERY == POP_EVERY / 2;
    for (uint32_t n = 0; n < count; n++) spell->born[n] = born(spell, pop);
    spell->frame++;
    return count;
}

/* ---- The pool ---------------------------------------------------------------------------------------------------- */

uint64_t sparkle_checksum(const struct sparkle *sparkle) {
    uint64_t x, y;
    memcpy(&x, &sparkle->x, sizeof x);
    memcpy(&y, &sparkle->y, sizeof y);
    return mix_bits(x + mix_bits(y + (uint64_t)sparkle->frames_left));
}

void sparkles_create(sparkles *pool, const struct sparkle *born, uint32_t count) {
    for (uint32_t n = 0; n < count; n++) {
        struct sparkle *sparkle = sparkles_alloc(pool);
        if (sparkle) *sparkle = born[n];
    }
}

uint64_t sparkles_animate(sparkles *pool) {
    uint64_t sum = 0;
    KOLK_EACH(sparkles, sparkle, pool) {
        if (!sparkle_animate(sparkle)) continue;
        sum += sparkle_checksum(sparkle);
        sparkles_free(pool, sparkle);
    }
    return sum;
}
