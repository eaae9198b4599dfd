/* cli/demo/light.h: light, and the colors of things. */
#ifndef DEMO_LIGHT_H
#define DEMO_LIGHT_H

#include "sparkles.h"

/* Amounts add up without an upper limit, as light does. Film then maps each one to a value from 0 to 1. */
struct light {
    float red, green, blue;
};

struct light light_of_sparkle(const struct sparkle *sparkle); /* from its age */
struct light light_of_slots(float density);                   /* from the fraction of slots that are alive */
float exposed(float light);

static inline void add_light(struct light *to, struct light light, float amount) {
    to->red += light.red * amount;
    to->green += light.green * amount;
    to->blue += light.blue * amount;
}

/* Stores the fraction of slots that are alive, for each of `count` stretches of the slots. */
void slot_densities(const sparkles *pool, float *densities, uint32_t count);

#endif
