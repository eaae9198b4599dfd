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

enum { PERIOD = 72, WAVING = 44, SHORTEST = 16, LONGEST = 60, POP_EVERY = 6, WAVES = 5 };

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
    double pop = at % POP_EVERY == POP_EVERY / 2 ? 3 : 1;
    return waves[frame / PERIOD % WAVES].height * swing * pop;
}

bool spell_init(struct spell *spell) {
    spell->births = malloc(spell->frames * sizeof *spell->births);
    if (!spell->births) return false;
    double highest = 0;
    for (uint32_t frame = 0; frame < spell->frames; frame++) {
        double alive = 0;
        for (uint32_t age = 0; age <= frame && age < LONGEST; age++) alive += strength(frame - age) * survival(age);
        if (alive > highest) highest = alive;
    }
    double scale = 1.002 * spell->sparkles / highest;
    double owed = 0; /* carries fractions over to the next frame, so that rare births are not rounded down to none */
    spell->most_births = 0;
    for (uint32_t frame = 0; frame < spell->frames; frame++) {
        owed += strength(frame) * scale;
        spell->births[frame] = (uint32_t)owed;
        owed -= spell->births[frame];
        if (spell->births[frame] > spell->most_births) spell->most_births = spell->births[frame];
    }
    return true;
}

void spell_deinit(struct spell *spell) {
    free(spell->births);
    spell->births = NULL;
}

/* ---- The wand ---------------------------------------------------------------------------------------------------- */

bool wand_init(struct wand *wand, const struct spell *spell) {
    *wand = (struct wand){.spell = spell, .random = spell->seed};
    size_t size = (spell->most_births + (size_t)1) * sizeof *wand->births;
    wand->births = malloc(size);
    if (!wand->births) return false;
    memset(wand->births, 0xff, size); /* touches the pages now, so that they do not count as a storage's growth */
    return true;
}

void wand_deinit(struct wand *wand) {
    free(wand->births);
    wand->births = NULL;
}

static uint64_t random_bits(struct wand *wand) {
    wand->random += UINT64_C(0x9e3779b97f4a7c15);
    return mix_bits(wand->random);
}

/* Returns a random number from 0 to below 1. */
static double random_part(struct wand *wand) {
    return (double)(random_bits(wand) >> 11) * 0x1p-53;
}

/* Chooses a random point in the unit circle, and returns the square of its distance from the centre. */
static double random_point(struct wand *wand, double *x, double *y) {
    double square;
    do {
        *x = 2 * random_part(wand) - 1;
        *y = 2 * random_part(wand) - 1;
        square = *x * *x + *y * *y;
    } while (square >= 1 || square == 0);
    return square;
}

static void find_tip(uint32_t wave, double at, double *x, double *y) {
    *x = 1.2 * sin(2 * pi * (at / WAVING * waves[wave].x_turns + waves[wave].phase));
    *y = 0.6 * sin(2 * pi * (at / WAVING * waves[wave].y_turns + 2 * waves[wave].phase));
}

/* The path that the wand's tip has covered since the previous frame. */
struct way {
    double x, y, width, height;
};

static struct way way_of_tip(uint32_t frame) {
    uint32_t wave = frame / PERIOD % WAVES;
    struct way way;
    find_tip(wave, frame % PERIOD - 0.5, &way.x, &way.y);
    find_tip(wave, frame % PERIOD + 0.5, &way.width, &way.height);
    way.width -= way.x;
    way.height -= way.y;
    return way;
}

/* Returns the speed of a pop's sparkle in this direction, so that the pop has eight petals. */
static double petal(double x, double y) {
    double twice = x * x - y * y, four_times = 2 * twice * twice - 1; /* cosines of 2 and 4 times the angle */
    return 0.006 + 0.009 * four_times * four_times;
}

/* Creates a sparkle. Most are born along the wand's path in this frame; in a pop, most fly out from its tip instead. */
static struct sparkle born(struct wand *wand, const struct way *way, bool pop) {
    double x_velocity, y_velocity, along = random_part(wand), speed = 0.0036;
    double square = random_point(wand, &x_velocity, &y_velocity);
    if (pop && random_part(wand) < 0.75) {
        speed = petal(x_velocity / sqrt(square), y_velocity / sqrt(square)) * (0.4 + 0.6 * square) / sqrt(square);
        along = 1;
    }
    int32_t life = SHORTEST + (int32_t)(random_bits(wand) % (LONGEST - SHORTEST + 1));
    return (struct sparkle){
        .frames_left = life,
        .lifetime = (uint16_t)life,
        .tint = waves[wand->frame / PERIOD % WAVES].tint,
        .x = way->x + way->width * along,
        .y = way->y + way->height * along,
        .x_velocity = x_velocity * speed + 0.06 * way->width,
        .y_velocity = y_velocity * speed + 0.06 * way->height,
    };
}

uint32_t wand_wave(struct wand *wand) {
    uint32_t count = wand->spell->births[wand->frame];
    struct way way = way_of_tip(wand->frame);
    bool pop = wand->frame % PERIOD % POP_EVERY == POP_EVERY / 2;
    for (uint32_t n = 0; n < count; n++) wand->births[n] = born(wand, &way, pop);
    wand->frame++;
    return count;
}
