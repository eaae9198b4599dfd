/* chart.c: draws two panels, one above the other: resident bytes per live byte over time, at the rushes and after
 * them. */
#include "chart.h"
#include "../demo/picture.h"
#include "../print.h"
#include "letters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1080, HEIGHT = 640, LEFT = 90, RIGHT = 890, LETTER = 2, LINE = 36 };

struct panel {
    const char *title;
    uint32_t top, bottom; /* rows at which the panel's highest and lowest values are drawn */
    bool high;            /* shows the `high` series of beside.h, not `low` */
    double most, cycles;
};

static const struct light paper = {0.012f, 0.014f, 0.022f}, grid = {0.05f, 0.055f, 0.07f}, ink = {0.9f, 0.9f, 0.9f};
static const struct light colors[BESIDES] = {
    {3.0f, 1.8f, 0.15f}, {1.6f, 0.10f, 0.08f}, {0.10f, 0.9f, 0.15f}, {0.10f, 0.45f, 2.2f}, {0.9f, 0.12f, 1.2f}};

static void set(const struct picture *picture, int64_t x, int64_t y, struct light light) {
    if (x < 0 || y < 0 || x >= picture->width || y >= picture->height) return;
    picture->light[(size_t)y * picture->width + (size_t)x] = light;
}

static void write_text(const struct picture *picture, uint32_t x, uint32_t y, struct light light, const char *text) {
    for (; *text; text++, x += 4 * LETTER)
        for (uint32_t row = 0; row < LETTERS_ROWS * LETTER; row++)
            for (uint32_t column = 0; column < LETTERS_COLUMNS * LETTER; column++)
                if (letters_dot(*text, column / LETTER, row / LETTER)) set(picture, x + column, y + row, light);
}

static double row_of(const struct panel *panel, double value) {
    if (value > panel->most) value = panel->most;
    return panel->bottom - value / panel->most * (panel->bottom - panel->top);
}

static const struct watch_series *series_of(const struct panel *panel, const struct beside *beside) {
    return panel->high ? &beside->high : &beside->low;
}

/* ---- Drawing ----------------------------------------------------------------------------------------------------- */

/* Returns the step between about five grid lines: 1, 2 or 5 times a power of ten. */
static double step_of(double most) {
    double power = pow(10, floor(log10(most / 5)));
    double times = most / 5 / power;
    return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

static void draw_grid(const struct picture *picture, const struct panel *panel) {
    char text[32];
    double step = step_of(panel->most);
    for (uint32_t n = 0; n * step <= panel->most; n++) {
        double value = n * step;
        int64_t y = (int64_t)row_of(panel, value);
        for (uint32_t x = LEFT; x < RIGHT; x++) set(picture, x, y, grid);
        snprintf(text, sizeof text, "%5.*f", step < 1 ? 1 : 0, value);
        write_text(picture, LEFT - 50, (uint32_t)y - 5, ink, text);
    }
    write_text(picture, LEFT, panel->top - 24, ink, panel->title);
}

static void draw_line(const struct picture *picture, const struct panel *panel, const struct watch_series *series,
                      struct light light) {
    double from = 0;
    uint32_t at = 0;
    for (uint32_t x = LEFT; series->count > 0 && x < RIGHT; x++) {
        double cycle = (double)(x - LEFT) / (RIGHT - LEFT) * panel->cycles;
        while (at + 1 < series->count && series->x[at + 1] <= cycle) at++;
        double part = 0, value = series->y[at];
        if (at + 1 < series->count && cycle > series->x[at])
            part = (cycle - series->x[at]) / (series->x[at + 1] - series->x[at]);
        if (part > 0) value += part * (series->y[at + 1] - series->y[at]);
        double to = row_of(panel, value);
        if (x == LEFT) from = to;
        int64_t top = (int64_t)fmin(from, to) - 1, bottom = (int64_t)fmax(from, to) + 1;
        for (int64_t y = top; y <= bottom; y++) set(picture, x, y, light);
        from = to;
    }
}

/* ---- All of it --------------------------------------------------------------------------------------------------- */

static void measure(struct panel *panel, const struct beside *besides) {
    panel->most = 1;
    for (uint32_t n = 0; n < BESIDES; n++) {
        if (besides[n].why[0]) continue;
        const struct watch_series *series = series_of(panel, &besides[n]);
        if ((double)besides[n].cycles > panel->cycles) panel->cycles = (double)besides[n].cycles;
        for (uint32_t at = 0; at < series->count; at++) panel->most = fmax(panel->most, series->y[at]);
    }
    panel->most *= 1.05;
}

static void draw(const struct picture *picture, const struct beside *besides) {
    struct panel panels[] = {
        {.title = "resident bytes a live byte, at the rush of each cycle", .top = 50, .bottom = 290, .high = true},
        {.title = "behind it, with a tenth alive", .top = 350, .bottom = 590},
    };
    char text[64];
    for (uint32_t m = 0; m < 2; m++) {
        measure(&panels[m], besides);
        draw_grid(picture, &panels[m]);
        for (uint32_t n = BESIDES; n-- > 0;) /* backwards, so that kolk's line is on top */
            if (!besides[n].why[0]) draw_line(picture, &panels[m], series_of(&panels[m], &besides[n]), colors[n]);
    }
    for (uint32_t n = 0, y = panels[0].top; n < BESIDES; n++) {
        if (besides[n].why[0]) continue;
        for (uint32_t x = 0; x < LINE; x++)
            for (uint32_t row = 3; row < 7; row++) set(picture, RIGHT + 20 + x, y + row, colors[n]);
        write_text(picture, RIGHT + 30 + LINE, y, ink, besides[n].name);
        y += 24;
    }
    snprintf(text, sizeof text, "%s", cli_time(panels[0].cycles, 0, " s").text);
    write_text(picture, LEFT, HEIGHT - 30, ink, "0");
    write_text(picture, RIGHT - 60, HEIGHT - 30, ink, text);
}

bool chart_write(const struct beside *besides, const char *path) {
    struct picture picture = {WIDTH, HEIGHT, malloc((size_t)WIDTH * HEIGHT * sizeof *picture.light)};
    if (!picture.light) return false;
    for (size_t n = 0; n < (size_t)WIDTH * HEIGHT; n++) picture.light[n] = paper;
    draw(&picture, besides);
    bool written = picture_write(&picture, path);
    free(picture.light);
    return written;
}
