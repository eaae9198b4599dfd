/* light.c: see light.h. */
#include "light.h"

#include <math.h>

static struct light between(const struct light *ramp, uint32_t count, float place) {
    float step = place * (float)(count - 1);
    uint32_t below = step <= 0 ? 0 : step >= (float)(count - 2) ? count - 2 : (uint32_t)step;
    float part = step - (float)below;
    struct light light = {0};
    add_light(&light, ramp[below], 1 - part);
    add_light(&light, ramp[below + 1], part);
    return light;
}

/* Fades from white gold through red to deep blue. The other tints swap two of the three color channels. */
struct light light_of_sparkle(const struct sparkle *sparkle) {
    static const struct light ages[] = {{1.00f, 0.90f, 0.60f}, {1.00f, 0.62f, 0.15f}, {1.00f, 0.22f, 0.15f},
                                        {0.80f, 0.08f, 0.50f}, {0.28f, 0.10f, 0.85f}, {0.05f, 0.06f, 0.40f}};
    float age = 1 - (float)sparkle->frames_left / (float)sparkle->lifetime;
    struct light light = between(ages, sizeof ages / sizeof *ages, age);
    if (sparkle->tint == 1) return (struct light){light.green, light.red, light.blue};
    if (sparkle->tint == 2) return (struct light){light.blue, light.green, light.red};
    return light;
}

struct light light_of_slots(float density) {
    static const struct light densities[] = {{0.002f, 0.002f, 0.010f}, {0.025f, 0.010f, 0.160f},
                                             {0.200f, 0.030f, 0.300f}, {0.900f, 0.140f, 0.160f},
                                             {1.800f, 0.700f, 0.100f}, {2.600f, 1.900f, 0.700f}};
    return between(densities, sizeof densities / sizeof *densities, density);
}

float exposed(float light) {
    return powf(1 - expf(-light), 1 / 1.8f);
}

void slot_densities(const sparkles *pool, float *densities, uint32_t count) {
    uint64_t capacity = kolk_pool_count(&pool->pool) + (uint64_t)kolk_pool_available(&pool->pool);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at = (uint32_t)(n * capacity / count), end = (uint32_t)((n + 1) * capacity / count);
        if (end == at) end = at + 1; /* there are fewer slots than stretches */
        uint32_t alive = 0, length;
        kolk_cursor cursor = sparkles_each_in(pool, at, end - at);
        while (sparkles_each_next_run(&cursor, &length)) alive += length;
        densities[n] = (float)alive / (float)(end - at);
    }
}
