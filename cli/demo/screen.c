/* screen.c: shows the spell on a terminal. Each character is two pixels, one above the other (U+2580, the upper half
 * block). Without colors, each character is one of ten of increasing density. Under the sparkles are the slots of the
 * pool, row after row, and its counters. The animation lasts DURATION; a slow terminal gets fewer frames. */
#define _DEFAULT_SOURCE /* ioctl(TIOCGWINSZ) */
#include "../measure.h"
#include "../print.h"
#include "picture.h"
#include "spell.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DURATION            (6 * UINT64_C(1000000000)) /* nanoseconds */
#define PICTURES_PER_SECOND 30

enum { MAP_ROWS = 3, LEAST_ROWS = 8 };

/* ---- The terminal: taken over, and restored in every case -------------------------------------------------------- */

static const char take_over[] = "\033[?1049h\033[?25l\033[2J"; /* alternate screen, no cursor, clear */
static const char give_back[] = "\033[0m\033[?25h\033[?1049l";

static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
enum { SIGNALS = sizeof signals / sizeof *signals };

/* Restores the terminal. Once the handler returns, the signal has its default effect. */
static void on_signal(int number) {
    ssize_t written = write(STDOUT_FILENO, give_back, sizeof give_back - 1);
    (void)written; /* a failure cannot be handled here */
    signal(number, SIG_DFL);
    raise(number);
}

static void catch_signals(struct sigaction *before) {
    for (int n = 0; n < SIGNALS; n++) {
        struct sigaction action = {0};
        action.sa_handler = signals[n] == SIGTSTP ? SIG_IGN : on_signal; /* its screen would remain */
        sigemptyset(&action.sa_mask);
        sigaction(signals[n], &action, &before[n]);
    }
}

static void restore_signals(const struct sigaction *before) {
    for (int n = 0; n < SIGNALS; n++) sigaction(signals[n], &before[n], NULL);
}

/* ---- Pixels and characters --------------------------------------------------------------------------------------- */

enum depth { PLAIN, CUBE, FULL }; /* no colors, 256 colors, 2^24 colors */

struct terminal {
    enum depth depth;
    FILE *out; /* buffers a whole frame */
    uint32_t columns, rows;
    uint32_t ink, paper; /* the terminal's current colors; UNKNOWN at first */
};

#define UNKNOWN UINT32_MAX

/* The canvas of a frame before it goes to the terminal: two rows of pixels for each row of characters. */
struct canvas {
    struct picture sky;
    struct light *map;
    float *densities; /* one per pixel of the map */
};

static enum depth depth_of(const cli_context *cli) {
    const char *term = getenv("COLORTERM");
    if (!cli->color) return PLAIN;
    return term && (strstr(term, "truecolor") || strstr(term, "24bit")) ? FULL : CUBE;
}

static void free_canvas(struct canvas *canvas) {
    free(canvas->sky.light);
    free(canvas->map);
    free(canvas->densities);
    *canvas = (struct canvas){0};
}

static bool new_canvas(struct canvas *canvas, uint32_t columns, uint32_t rows) {
    uint32_t high = rows < LEAST_ROWS ? 0 : 2 * (rows - MAP_ROWS - 1); /* 0: only the counters fit */
    size_t map = (size_t)columns * 2 * MAP_ROWS;
    free_canvas(canvas);
    canvas->sky = (struct picture){columns, high, malloc(((size_t)columns * high + 1) * sizeof *canvas->sky.light)};
    canvas->map = malloc(map * sizeof *canvas->map);
    canvas->densities = malloc(map * sizeof *canvas->densities);
    return canvas->sky.light && canvas->map && canvas->densities;
}

/* Adapts to the terminal's size; returns false if memory runs out. */
static bool fit(struct terminal *terminal, struct canvas *canvas) {
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size = (struct winsize){.ws_row = 24, .ws_col = 80};
    if (size.ws_col == terminal->columns && size.ws_row == terminal->rows) return true;
    terminal->columns = size.ws_col;
    terminal->rows = size.ws_row;
    fputs("\033[0m\033[2J", terminal->out);
    return new_canvas(canvas, terminal->columns, terminal->rows);
}

static uint32_t code_of(enum depth depth, struct light light) {
    float parts[3] = {exposed(light.red), exposed(light.green), exposed(light.blue)};
    uint32_t code = 0;
    for (int n = 0; n < 3; n++) { /* the color cube has six steps per channel: 0, then 95 to 255 */
        float step = parts[n] < 0.19f ? 0 : parts[n] * 255 / 40 - 1.375f;
        code = depth == FULL ? code << 8 | (uint32_t)(parts[n] * 255) : code * 6 + (uint32_t)(step + 0.5f);
    }
    return depth == FULL ? code : code + 16;
}

static void set_color(struct terminal *terminal, uint32_t *current, uint32_t code, int layer) {
    if (*current == code) return;
    *current = code;
    if (terminal->depth == FULL)
        fprintf(terminal->out, "\033[%d;2;%u;%u;%um", layer, code >> 16, code >> 8 & 255, code & 255);
    else
        fprintf(terminal->out, "\033[%d;5;%um", layer, code);
}

static void put_character(struct terminal *terminal, struct light upper, struct light lower) {
    static const char shades[] = " .:-=+*#%@";
    if (terminal->depth == PLAIN) {
        struct light sum = upper;
        add_light(&sum, lower, 1);
        fputc(shades[(int)(9.99f * exposed((sum.red + sum.green + sum.blue) / 6))], terminal->out);
        return;
    }
    uint32_t ink = code_of(terminal->depth, upper), paper = code_of(terminal->depth, lower);
    set_color(terminal, &terminal->paper, paper, 48);
    if (ink == paper) {
        fputc(' ', terminal->out);
        return;
    }
    set_color(terminal, &terminal->ink, ink, 38);
    fputs("\xe2\x96\x80", terminal->out);
}

/* Prints the terminal's rows from `first` on. The pixels have the terminal's width. */
static void put_rows(struct terminal *terminal, uint32_t first, const struct light *pixels, uint32_t rows) {
    for (uint32_t row = 0; row < rows; row++) {
        fprintf(terminal->out, "\033[%u;1H", first + row + 1);
        for (uint32_t x = 0; x < terminal->columns; x++, pixels++)
            put_character(terminal, pixels[0], pixels[terminal->columns]);
        pixels += terminal->columns;
    }
}

/* ---- A frame ----------------------------------------------------------------------------------------------------- */

/* A pixel holds one to hundreds of sparkles, and a few would already make it white. So this compresses the brightness
 * and keeps the color. */
static struct light evened(struct light light) {
    float most = fmaxf(light.red, fmaxf(light.green, light.blue));
    float least = fminf(light.red, fminf(light.green, light.blue));
    const struct light white = {1, 1, 1};
    struct light even = {0};
    if (most <= 0) return even;
    add_light(&light, white, -0.6f * least);
    add_light(&even, light, 0.45f * powf(most, 0.4f) / most);
    return even;
}

static void draw_sky(const struct picture *sky, const struct spell *spell, const sparkles *pool) {
    float amount = 0.05f + 1.5f * (float)sky->width * (float)sky->height / (float)spell->sparkles;
    size_t pixels = (size_t)sky->width * sky->height;
    for (size_t n = 0; n < pixels; n++) sky->light[n] = (struct light){0};
    KOLK_EACH(sparkles, sparkle, pool) {
        double x = (sparkle->x / 3.56 + 0.5) * sky->width, y = (0.5 - sparkle->y / 2) * sky->height;
        if (x < 0 || y < 0 || x >= sky->width || y >= sky->height) continue;
        add_light(&sky->light[(size_t)y * sky->width + (size_t)x], light_of_sparkle(sparkle), amount);
    }
    for (size_t n = 0; n < pixels; n++) sky->light[n] = evened(sky->light[n]);
}

static void draw_map(const struct canvas *canvas, uint32_t pixels, const sparkles *pool) {
    slot_densities(pool, canvas->densities, pixels);
    for (uint32_t n = 0; n < pixels; n++) canvas->map[n] = light_of_slots(canvas->densities[n]);
}

static void put_counters(struct terminal *terminal, const sparkles *pool, double ms) {
    char line[512];
    kolk_stats stats;
    sparkles_stats(pool, &stats);
    snprintf(line, sizeof line, "alive %s  peak %s  capacity %s  failed %s  frame %.3f ms", cli_count(stats.count).text,
             cli_count(stats.peak).text, cli_count(stats.capacity).text, cli_count(stats.failed).text, ms);
    int most = (int)terminal->columns - 1; /* some terminals scroll when the last column is written */
    fprintf(terminal->out, "\033[%u;1H\033[0m%.*s\033[K", terminal->rows, most, line);
    terminal->ink = terminal->paper = UNKNOWN;
}

static bool draw(struct terminal *terminal, struct canvas *canvas, const struct spell *spell, const sparkles *pool,
                 double ms) {
    if (!fit(terminal, canvas)) return false;
    if (canvas->sky.height > 0) {
        draw_sky(&canvas->sky, spell, pool);
        draw_map(canvas, terminal->columns * 2 * MAP_ROWS, pool);
        put_rows(terminal, 0, canvas->sky.light, canvas->sky.height / 2);
        put_rows(terminal, canvas->sky.height / 2, canvas->map, MAP_ROWS);
    }
    put_counters(terminal, pool, ms);
    return fflush(terminal->out) == 0;
}

/* ---- The animation ----------------------------------------------------------------------------------------------- */

static void sleep_until(uint64_t moment) {
    uint64_t now = cli_now();
    if (now >= moment) return;
    struct timespec rest = {(time_t)((moment - now) / 1000000000), (long)((moment - now) % 1000000000)};
    nanosleep(&rest, NULL);
}

static void play(const struct spell *spell, struct wand *wand, struct store *store, struct terminal *terminal) {
    const struct storage *kolk = &storages[STORAGE_KOLK];
    struct canvas canvas = {0};
    uint64_t begin = cli_now();
    for (uint64_t shown = 0; wand->frame < spell->frames; shown++) {
        uint64_t due = (cli_now() - begin) * spell->frames / DURATION + 1;
        double ms = 0;
        while (wand->frame < due && wand->frame < spell->frames) {
            uint32_t births = wand_wave(wand);
            uint64_t before = cli_now();
            kolk->create(store, wand->births, births);
            kolk->animate(store, spell->physics);
            ms = (double)(cli_now() - before) / 1e6;
        }
        if (!draw(terminal, &canvas, spell, store_pool(store), ms)) break; /* the terminal is gone */
        sleep_until(begin + (shown + 1) * UINT64_C(1000000000) / PICTURES_PER_SECOND);
    }
    free_canvas(&canvas);
}

/* Takes over the terminal for the duration of the animation. */
static void show(const struct spell *spell, struct wand *wand, struct store *store, struct terminal *terminal) {
    struct sigaction before[SIGNALS];
    fflush(stdout);
    catch_signals(before);
    fputs(take_over, terminal->out);
    play(spell, wand, store, terminal);
    fputs(give_back, terminal->out);
    fflush(terminal->out);
    restore_signals(before);
}

/* Opens a separate stream to the terminal, so that stdout keeps its buffer. */
static FILE *open_terminal(void) {
    int file = dup(STDOUT_FILENO);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (out) setvbuf(out, NULL, _IOFBF, 1 << 18);
    return out;
}

int demo_screen(const cli_context *cli, const struct spell *spell) {
    struct wand wand = {0};
    struct terminal terminal = {.depth = depth_of(cli), .ink = UNKNOWN, .paper = UNKNOWN, .out = open_terminal()};
    struct store *store = storages[STORAGE_KOLK].begin(spell->sparkles);
    bool ready = terminal.out && store && wand_init(&wand, spell);
    if (ready) show(spell, &wand, store, &terminal);
    if (store) storages[STORAGE_KOLK].end(store);
    if (terminal.out) fclose(terminal.out);
    wand_deinit(&wand);
    return ready ? CLI_OK : cli_fail(CLI_FAILED, "there is no memory for so many sparkles");
}
