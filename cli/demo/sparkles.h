/* cli/demo/sparkles.h: the spell from the chapter on object pools in Game Programming Patterns (Robert Nystrom, 2014):
 * the hero waves the wand, and sparkles burst out, move for some frames and die, wave after wave. Everything follows
 * from the seed alone, never from a sparkle's address, so every way to store them must end with the same checksum. */
#ifndef DEMO_SPARKLES_H
#define DEMO_SPARKLES_H

#include "../context.h"

#include <kolk/kolk.h>

/* x ranges from -1.78 to 1.78, y from -1 (bottom) to 1. */
struct sparkle {
    int32_t frames_left; /* 0: dead */
    uint16_t lifetime;   /* frames_left at its birth */
    uint16_t tint;
    union {
        struct {
            double x, y, x_velocity, y_velocity;
        };
        struct sparkle *next; /* used only by the chapter's pool, while the sparkle is dead */
    };
};

KOLK_POOL_TYPE(sparkles, struct sparkle)

enum { FRAMES = 360 }; /* of a spell */

struct spell {
    uint32_t frame;
    uint64_t random;
    double scale, owed;   /* births for a strength of 1; fractions of a birth that are due */
    struct sparkle *born; /* in the current frame */
};

/* `count`: how many are alive at the peak. Returns false if memory ran out. */
bool spell_begin(struct spell *spell, uint32_t count, uint64_t seed);
void spell_end(struct spell *spell);

/* Goes on by a frame, and returns how many sparkles are born in it. */
uint32_t spell_wave(struct spell *spell);

/* Moves a sparkle by one frame; returns true if it was its last. */
static inline bool sparkle_animate(struct sparkle *sparkle) {
    sparkle->x += sparkle->x_velocity;
    sparkle->y += sparkle->y_velocity;
    return --sparkle->frames_left == 0;
}

/* Mixes all bits of the position. The sum over many sparkles does not depend on their order. */
uint64_t sparkle_checksum(const struct sparkle *sparkle);

/* A frame of the pool: puts in as many of the newborn as fit; moves all, and returns the checksum of who died. */
void sparkles_create(sparkles *pool, const struct sparkle *born, uint32_t count);
uint64_t sparkles_animate(sparkles *pool);

/* ---- The scenes: each prints to cli->out and returns an exit code ------------------------------------------------ */

int demo_screen(const cli_context *cli, uint32_t count); /* an animation, or on paper three moments */
int demo_race(const cli_context *cli, uint32_t count);

#endif
