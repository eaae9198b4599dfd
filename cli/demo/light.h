/* cli/demo/light.h: light, and the colors of things. */
#ifndef DEMO_LIGHT_H
#define DEMO_LIGHT_H

#include "sparkles.h"

/* Adds up without bound, as light does. Film then maps it to 0 to 1. */
struct light {
    float red, green, blue;
};

struct light light_of_sparkle(const struct sparkle *sparkle); /* by its age */
struct light light_of_slots(float density);                   /* by the fraction of them that is alive */
float exposed(float light);

static inline void add_light(struct light *to, struct light light, float amount) {
    to->red += light.red * amount;
    to->green += light.green * amount;
    to->blue += light.blue * amount;
}

/* Stores, for each of `count` stretches of the slots, the fraction that is alive. */
void slot_densities(const sparkles *pool, float *densities, uint32_t count);

#endif
