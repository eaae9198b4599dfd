/* pictures.c: draws two pictures: the sparkles at their peak, and the pool's slots over time. */
#include "../print.h"
#include "picture.h"
#include "spell.h"

#include <stdlib.h>

enum { WIDTH = 1080, HEIGHT = 608, SLOTS = 360, PLOT = 110, GAP = 12 };

/* ---- The sparkles ------------------------------------------------------------------------------------------------ */

static void draw_point(struct picture *picture, double x, double y, struct light light, float amount) {
    if (x < 0 || y < 0 || x >= picture->width - 1 || y >= picture->height - 1) return;
    uint32_t left = (uint32_t)x, top = (uint32_t)y;
    float right_part = (float)(x - left), low_part = (float)(y - top); /* the light is shared among four pixels */
    add_light(picture_at(picture, left, top), light, amount * (1 - right_part) * (1 - low_part));
    add_light(picture_at(picture, left + 1, top), light, amount * right_part * (1 - low_part));
    add_light(picture_at(picture, left, top + 1), light, amount * (1 - right_part) * low_part);
    add_light(picture_at(picture, left + 1, top + 1), light, amount * right_part * low_part);
}

static void draw_sparkle(struct picture *picture, const struct sparkle *sparkle, float amount) {
    struct light light = light_of_sparkle(sparkle);
    for (int step = 0; step < 3; step++) { /* drawn along the path that it covered in the last frame */
        double back = step / 3.0;
        double x = sparkle->x - back * sparkle->x_velocity, y = sparkle->y - back * sparkle->y_velocity;
        draw_point(picture, picture->width * (x / 3.56 + 0.5), picture->height * (0.5 - y / 2), light, amount);
    }
}

/* Adds the light, blurred by three passes of a moving average over 2 * radius + 1 pixels, which is nearly a Gaussian
 * blur. */
static void blur_line(struct light *line, uint32_t count, size_t step, uint32_t radius, struct light *scratch) {
    float part = 1 / (float)(2 * radius + 1);
    for (int times = 0; times < 3; times++) {
        struct light sum = {0};
        for (uint32_t n = 0; n < radius && n < count; n++) add_light(&sum, line[n * step], part);
        for (uint32_t n = 0; n < count; n++) {
            if (n + radius < count) add_light(&sum, line[(n + radius) * step], part);
            scratch[n] = sum;
            if (n >= radius) add_light(&sum, line[(n - radius) * step], -part);
        }
        for (uint32_t n = 0; n < count; n++) line[n * step] = scratch[n];
    }
}

static bool add_glow(struct picture *picture, uint32_t radius, float amount) {
    struct picture glow;
    size_t pixels = (size_t)picture->width * picture->height;
    struct light *scratch = malloc((picture->width + picture->height) * sizeof *scratch);
    bool done = picture_init(&glow, picture->width, picture->height) && scratch;
    if (done) {
        memcpy(glow.light, picture->light, pixels * sizeof *glow.light);
        for (uint32_t y = 0; y < glow.height; y++) blur_line(picture_at(&glow, 0, y), glow.width, 1, radius, scratch);
        for (uint32_t x = 0; x < glow.width; x++)
            blur_line(picture_at(&glow, x, 0), glow.height, glow.width, radius, scratch);
        for (size_t n = 0; n < pixels; n++) add_light(&picture->light[n], glow.light[n], amount);
    }
    free(glow.light);
    free(scratch);
    return done;
}

/* The exposure adapts: the more sparkles there are, the less bright each one is. */
static bool draw_sparkles(struct picture *picture, const struct sparkle *alive, uint32_t count) {
    if (!picture_init(picture, WIDTH, HEIGHT)) return false;
    float amount = 12000.0f / (float)(count + 30000);
    for (uint32_t n = 0; n < count; n++) draw_sparkle(picture, &alive[n], amount);
    const struct light night = {0.0008f, 0.0010f, 0.0032f};
    bool done = add_glow(picture, 2, 0.4f) && add_glow(picture, 18, 0.35f);
    for (size_t n = 0; n < (size_t)WIDTH * HEIGHT; n++) add_light(&picture->light[n], night, 1);
    return done;
}

/* ---- The slots --------------------------------------------------------------------------------------------------- */

/* Draws one column: above, the number of live slots; below, the slots, the first one at the bottom. */
static void draw_column(struct picture *picture, uint32_t x, float alive, const float *densities) {
    uint32_t top = (uint32_t)((1 - alive) * (PLOT - 1));
    for (uint32_t y = top; y < PLOT; y++) *picture_at(picture, x, y) = light_of_slots(y < top + 2 ? 0.9f : 0.3f);
    for (uint32_t n = 0; n < SLOTS; n++)
        *picture_at(picture, x, PLOT + GAP + SLOTS - 1 - n) = light_of_slots(densities[n]);
}

/* ---- Both -------------------------------------------------------------------------------------------------------- */

struct peak {
    struct sparkle *sparkles;
    uint32_t count;
};

static void keep_peak(struct peak *peak, const sparkles *pool) {
    uint32_t count = sparkles_count(pool);
    if (count <= peak->count) return;
    peak->count = 0;
    KOLK_EACH(sparkles, object, pool) peak->sparkles[peak->count++] = *object;
}

/* Runs the spell for the picture of the slots, and keeps a copy of the sparkles from the frame in which most are
 * alive. */
static void watch(const struct spell *spell, struct wand *wand, struct store *store, struct picture *slots,
                  struct peak *peak) {
    const struct storage *kolk = &storages[STORAGE_KOLK];
    const sparkles *pool = store_pool(store);
    float densities[SLOTS];
    for (uint32_t frame = 0; frame < spell->frames; frame++) {
        kolk->create(store, wand->births, wand_wave(wand));
        kolk->animate(store, spell->physics);
        keep_peak(peak, pool);
        uint64_t from = (uint64_t)frame * WIDTH / spell->frames, to = (frame + UINT64_C(1)) * WIDTH / spell->frames;
        if (from == to) continue; /* there are more frames than columns */
        slot_densities(pool, densities, SLOTS);
        float alive = (float)sparkles_count(pool) / (float)spell->sparkles;
        for (uint64_t x = from; x < to; x++) draw_column(slots, (uint32_t)x, alive, densities);
    }
}

static bool draw(const struct spell *spell, struct picture *sky, struct picture *slots) {
    struct wand wand = {0};
    struct peak peak = {malloc(spell->sparkles * sizeof *peak.sparkles), 0};
    struct store *store = storages[STORAGE_KOLK].begin(spell->sparkles);
    bool done = peak.sparkles && store && wand_init(&wand, spell) && picture_init(slots, WIDTH, PLOT + GAP + SLOTS);
    if (done) {
        watch(spell, &wand, store, slots, &peak);
        done = draw_sparkles(sky, peak.sparkles, peak.count);
    }
    if (store) storages[STORAGE_KOLK].end(store);
    wand_deinit(&wand);
    free(peak.sparkles);
    return done;
}

int demo_pictures(cli_context *cli, const struct spell *spell, const char *directory, cli_json *json) {
    struct picture sky = {0}, slots = {0};
    int code = CLI_OK;
    cli_progress(cli, "drawing", 0, 1);
    if (!draw(spell, &sky, &slots)) code = cli_fail(CLI_FAILED, "there is no memory for pictures");
    if (json) cli_json_open(json, "pictures", '[');
    if (code == CLI_OK) code = picture_save(cli, &sky, directory, "kolk-demo-sparkles.png", NULL, json);
    if (code == CLI_OK) code = picture_save(cli, &slots, directory, "kolk-demo-slots.png", NULL, json);
    if (json) cli_json_close(json, ']');
    if (!json) fputc('\n', cli->out);
    free(sky.light);
    free(slots.light);
    return code;
}
