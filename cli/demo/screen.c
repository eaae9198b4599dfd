/* screen.c: shows the spell. Each character is two pixels, one above the other (U+2580, the upper half block). Without
 * colors, each is one of ten of increasing density. Under the sparkles are the slots of their pool, row after row, and
 * its counters. On a terminal the spell lasts DURATION. Elsewhere three moments of it are printed. */
#define _DEFAULT_SOURCE /* ioctl(TIOCGWINSZ) */
#include "../measure.h"
#include "../print.h"
#include "sparkles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DURATION (6 * UINT64_C(1000000000)) /* nanoseconds */

enum { MAP_ROWS = 3, LEAST_ROWS = 8 };

struct screen {
    FILE *out;
    bool color, is_paper;
    uint32_t columns, rows; /* of characters, in the sky */
    struct light *pixels;   /* of the sky, then of the slots */
    uint32_t ink, paper;    /* the terminal's current colors */
};

#define UNKNOWN UINT32_MAX

/* ---- Light: amounts add up without an upper limit, and exposed() makes 0 to 1 of them ---------------------------- */

struct light {
    float red, green, blue;
};

static void add_light(struct light *to, struct light light, float amount) {
    to->red += light.red * amount;
    to->green += light.green * amount;
    to->blue += light.blue * amount;
}

static float exposed(float light) {
    return powf(1 - expf(-light), 1 / 1.8f);
}

enum { RAMP = 6 };

/* From white gold through red to deep blue. */
static struct light fire(float place) {
    static const struct light ramp[RAMP] = {{1.00f, 0.90f, 0.60f}, {1.00f, 0.62f, 0.15f}, {1.00f, 0.22f, 0.15f},
                                            {0.80f, 0.08f, 0.50f}, {0.28f, 0.10f, 0.85f}, {0.05f, 0.06f, 0.40f}};
    float step = place * (RAMP - 1);
    uint32_t below = step < RAMP - 2 ? (uint32_t)step : RAMP - 2;
    struct light light = {0};
    add_light(&light, ramp[below], (float)below + 1 - step);
    add_light(&light, ramp[below + 1], step - (float)below);
    return light;
}

/* By its age. The other tints swap two of the three color channels. */
static struct light light_of_sparkle(const struct sparkle *sparkle) {
    struct light light = fire(1 - (float)sparkle->frames_left / (float)sparkle->lifetime);
    if (sparkle->tint == 1) return (struct light){light.green, light.red, light.blue};
    if (sparkle->tint == 2) return (struct light){light.blue, light.green, light.red};
    return light;
}

/* A pixel holds one to hundreds of sparkles, and a few would already make it white. So this compresses the brightness
 * and keeps the color. */
static struct light evened(struct light light) {
    float most = fmaxf(light.red, fmaxf(light.green, light.blue));
    struct light even = {0};
    if (most > 0) add_light(&even, light, 0.45f * powf(most, 0.4f) / most);
    return even;
}

static void draw_sky(struct light *pixels, uint32_t width, uint32_t height, const sparkles *pool) {
    float amount = 0.05f + 1.5f * (float)width * (float)height / (float)pool->pool.capacity;
    KOLK_EACH(sparkles, sparkle, pool) {
        double x = (sparkle->x / 3.56 + 0.5) * width, y = (0.5 - sparkle->y / 2) * height;
        if (x < 0 || y < 0 || x >= width || y >= height) continue;
        add_light(&pixels[(size_t)y * width + (size_t)x], light_of_sparkle(sparkle), amount);
    }
    for (size_t n = 0; n < (size_t)width * height; n++) pixels[n] = evened(pixels[n]);
}

/* A pixel is a stretch of slots. */
static void draw_slots(struct light *pixels, uint32_t count, const sparkles *pool) {
    uint64_t capacity = pool->pool.capacity;
    for (uint32_t n = 0; n < count; n++) {
        uint32_t at = (uint32_t)(n * capacity / count), end = (uint32_t)((n + 1) * capacity / count), alive = 0, length;
        if (end == at) end = at + 1; /* there are fewer slots than stretches */
        kolk_cursor cursor = sparkles_each_in(pool, at, end - at);
        while (sparkles_each_next_run(&cursor, &length)) alive += length;
        float density = (float)alive / (float)(end - at);
        add_light(&pixels[n], fire(1 - density), density);
    }
}

/* ---- Characters -------------------------------------------------------------------------------------------------- */

/* The number of a color among 216: six steps per channel, the first 0 and the others from 95 to 255. */
static uint32_t code_of(struct light light) {
    float parts[3] = {exposed(light.red), exposed(light.green), exposed(light.blue)};
    uint32_t code = 0;
    for (int n = 0; n < 3; n++) code = code * 6 + (uint32_t)(parts[n] < 0.19f ? 0.5f : parts[n] * 255 / 40 - 0.875f);
    return code + 16;
}

static void put_character(struct screen *screen, struct light upper, struct light lower) {
    static const char shades[] = " .:-=+*#%@";
    if (!screen->color) {
        add_light(&upper, lower, 1);
        fputc(shades[(int)(9.99f * exposed((upper.red + upper.green + upper.blue) / 6))], screen->out);
        return;
    }
    uint32_t ink = code_of(upper), paper = code_of(lower);
    if (paper != screen->paper) fprintf(screen->out, "\033[48;5;%um", paper);
    if (ink != screen->ink) fprintf(screen->out, "\033[38;5;%um", ink);
    screen->paper = paper;
    screen->ink = ink;
    fputs("\xe2\x96\x80", screen->out);
}

static void put_counters(const struct screen *screen, const sparkles *pool) {
    char line[256];
    kolk_stats stats;
    sparkles_stats(pool, &stats);
    int length = snprintf(line, sizeof line, "alive %s  peak %s  capacity %s  failed %s", cli_count(stats.count).text,
                          cli_count(stats.peak).text, cli_count(stats.capacity).text, cli_count(stats.failed).text);
    int most = (int)screen->columns - 1; /* some terminals scroll when the last column is written */
    fprintf(screen->out, "%.*s%s\n", length < most ? length : most, line, screen->is_paper ? "\n" : "\033[K");
}

static void draw(struct screen *screen, const sparkles *pool) {
    uint32_t width = screen->columns, sky = 2 * screen->rows;
    memset(screen->pixels, 0, (size_t)width * (sky + 2 * MAP_ROWS) * sizeof *screen->pixels);
    draw_sky(screen->pixels, width, sky, pool);
    draw_slots(screen->pixels + (size_t)width * sky, width * 2 * MAP_ROWS, pool);
    for (uint32_t row = 0; row < screen->rows + MAP_ROWS; row++) {
        const struct light *pixels = screen->pixels + (size_t)2 * row * width;
        screen->ink = screen->paper = UNKNOWN;
        for (uint32_t x = 0; x < width; x++) put_character(screen, pixels[x], pixels[width + x]);
        fputs(screen->color ? "\033[0m\n" : "\n", screen->out);
    }
    put_counters(screen, pool);
    fflush(screen->out);
}

/* ---- Moments of the spell ---------------------------------------------------------------------------------------- */

static void go_on(struct spell *spell, sparkles *pool, uint64_t frame) {
    while (spell->frame < frame && spell->frame < FRAMES) {
        sparkles_create(pool, spell->born, spell_wave(spell));
        sparkles_animate(pool);
    }
}

static void print_moments(struct screen *screen, struct spell *spell, sparkles *pool) {
    for (uint64_t frame = FRAMES / 6; frame < FRAMES; frame += FRAMES / 3) {
        go_on(spell, pool, frame);
        draw(screen, pool);
    }
}

/* Each picture covers the one before. As many are drawn as there is time for. */
static void play(struct screen *screen, struct spell *spell, sparkles *pool) {
    uint64_t begin = cli_now();
    for (bool is_first = true; spell->frame < FRAMES; is_first = false) {
        go_on(spell, pool, (cli_now() - begin) * FRAMES / DURATION + 1);
        if (!is_first) fprintf(screen->out, "\033[%uA", screen->rows + MAP_ROWS + 1);
        draw(screen, pool);
        nanosleep(&(struct timespec){.tv_nsec = DURATION / FRAMES}, NULL);
    }
    fputc('\n', screen->out);
}

int demo_screen(const cli_context *cli, uint32_t count) {
    struct winsize size = {0};
    struct spell spell = {0};
    sparkles pool = {0};
    if (!cli->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 78};
    struct screen screen = {.out = cli->out, .color = cli->color, .is_paper = !cli->terminal, .columns = size.ws_col};
    screen.rows = size.ws_row > LEAST_ROWS ? size.ws_row - MAP_ROWS - 3u : 1;
    screen.pixels = calloc((size_t)screen.columns * 2 * (screen.rows + MAP_ROWS), sizeof *screen.pixels);
    kolk_pool_desc desc = {.name = "sparkles", .capacity = count};
    bool ready = screen.pixels && spell_begin(&spell, count, cli->seed) && sparkles_init(&pool, &desc) == KOLK_OK;
    if (ready) (cli->terminal ? play : print_moments)(&screen, &spell, &pool);
    free(screen.pixels);
    sparkles_deinit(&pool);
    spell_end(&spell);
    return ready ? CLI_OK : cli_fail(CLI_FAILED, "there is no memory for so many sparkles");
}
