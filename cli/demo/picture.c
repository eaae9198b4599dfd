/* picture.c: writes a picture of light as a PNG of 256 colors, which takes half the bytes of one in full color. The
 * colors are found by median cut (Heckbert, Color Image Quantization for Frame Buffer Display, 1982). The box of all
 * colors is cut in two at the median of its longest side, and then always the most important box is cut, until there
 * are 256. */
#include "picture.h"
#include "../print.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <stdlib.h>

enum { COLORS = 256, LEVELS = 128 }; /* the picture is first reduced to LEVELS of red, green and blue */

struct shade {
    unsigned char level[3];
    uint32_t pixels;
};

struct box {
    struct shade *shades; /* a part of the array that holds all shades */
    size_t count;
    int side; /* the longest side: 0 red, 1 green, 2 blue */
    double importance;
};

static uint32_t level_of(float light) {
    return (uint32_t)lroundf((LEVELS - 1) * exposed(light));
}

static uint32_t key_of(struct light light) {
    return (level_of(light.red) * LEVELS + level_of(light.green)) * LEVELS + level_of(light.blue);
}

static void measure(struct box *box) {
    double pixels = 0;
    int longest = -1;
    for (size_t n = 0; n < box->count; n++) pixels += box->shades[n].pixels;
    for (int side = 0; side < 3; side++) {
        int low = LEVELS, high = 0;
        for (size_t n = 0; n < box->count; n++) {
            int level = box->shades[n].level[side];
            if (level < low) low = level;
            if (level > high) high = level;
        }
        if (high - low <= longest) continue;
        longest = high - low;
        box->side = side;
    }
    box->importance = sqrt(pixels) * longest * longest; /* the root reduces the weight of the background */
}

static int sort_side;

static int compare_shades(const void *left, const void *right) {
    const struct shade *a = left, *b = right;
    return (int)a->level[sort_side] - (int)b->level[sort_side];
}

/* Cuts a box at its median, and returns the upper part. */
static struct box cut(struct box *box) {
    sort_side = box->side;
    qsort(box->shades, box->count, sizeof *box->shades, compare_shades);
    double half = 0, below = 0;
    for (size_t n = 0; n < box->count; n++) half += box->shades[n].pixels / 2.0;
    size_t at = 0;
    while (at + 1 < box->count && (at == 0 || below + box->shades[at].pixels <= half))
        below += box->shades[at++].pixels;
    struct box upper = {.shades = box->shades + at, .count = box->count - at};
    box->count = at;
    measure(box);
    measure(&upper);
    return upper;
}

static size_t cut_all(struct box *boxes, struct shade *shades, size_t count) {
    size_t made = 1;
    boxes[0] = (struct box){.shades = shades, .count = count};
    measure(&boxes[0]);
    while (made < COLORS) {
        struct box *most = &boxes[0];
        for (size_t n = 1; n < made; n++)
            if (boxes[n].importance > most->importance) most = &boxes[n];
        if (most->importance <= 0) break;
        boxes[made++] = cut(most);
    }
    return made;
}

/* Computes the mean color of each box, and stores the box's number for each of the box's shades. */
static void choose_colors(const struct box *boxes, size_t count, unsigned char *colors, uint32_t *table) {
    for (size_t n = 0; n < count; n++) {
        double sums[3] = {0}, pixels = 0;
        for (size_t m = 0; m < boxes[n].count; m++) {
            const struct shade *shade = &boxes[n].shades[m];
            for (int side = 0; side < 3; side++) sums[side] += (double)shade->level[side] * shade->pixels;
            pixels += shade->pixels;
            table[(shade->level[0] * LEVELS + shade->level[1]) * LEVELS + shade->level[2]] = (uint32_t)n;
        }
        for (int side = 0; side < 3; side++)
            colors[3 * n + (size_t)side] = (unsigned char)lround(sums[side] / pixels * 255 / (LEVELS - 1));
    }
}

/* Counts the pixels of each shade in `table`, and returns the number of shades. */
static size_t count_shades(const struct picture *picture, uint32_t *table, struct shade *shades) {
    size_t count = 0;
    for (size_t n = 0; n < (size_t)picture->width * picture->height; n++) table[key_of(picture->light[n])]++;
    for (uint32_t key = 0; key < LEVELS * LEVELS * LEVELS; key++) {
        if (table[key] == 0) continue;
        shades[count++] = (struct shade){{(unsigned char)(key / LEVELS / LEVELS),
                                          (unsigned char)(key / LEVELS % LEVELS), (unsigned char)(key % LEVELS)},
                                         table[key]};
    }
    return count;
}

bool picture_write(const struct picture *picture, const char *path) {
    size_t pixels = (size_t)picture->width * picture->height;
    uint32_t *table = calloc((size_t)LEVELS * LEVELS * LEVELS, sizeof *table);
    struct shade *shades = malloc(pixels * sizeof *shades);
    unsigned char *bytes = malloc(pixels);
    bool written = false;
    if (table && shades && bytes) {
        struct box boxes[COLORS];
        unsigned char colors[3 * COLORS];
        size_t count = cut_all(boxes, shades, count_shades(picture, table, shades));
        choose_colors(boxes, count, colors, table);
        for (size_t n = 0; n < pixels; n++) bytes[n] = (unsigned char)table[key_of(picture->light[n])];
        png_image image = {.version = PNG_IMAGE_VERSION,
                           .width = picture->width,
                           .height = picture->height,
                           .format = PNG_FORMAT_RGB_COLORMAP,
                           .colormap_entries = (png_uint_32)count};
        written = png_image_write_to_file(&image, path, 0, bytes, 0, colors) != 0;
    }
    free(table);
    free(shades);
    free(bytes);
    return written;
}

bool picture_init(struct picture *picture, uint32_t width, uint32_t height) {
    *picture = (struct picture){width, height, calloc((size_t)width * height, sizeof *picture->light)};
    return picture->light != NULL;
}

int picture_save(const cli_context *cli, const struct picture *picture, const char *directory, const char *name,
                 const char *key, cli_json *json) {
    size_t size = strlen(directory) + strlen(name) + 2;
    char *path = malloc(size);
    if (!path) return cli_fail(CLI_FAILED, "there is no memory for a picture");
    snprintf(path, size, "%s/%s", directory, name);
    errno = 0;
    bool written = picture_write(picture, path);
    if (written && json) cli_json_text(json, key, path);
    if (written && !json) fprintf(cli->out, "picture: %s\n", path);
    int code = CLI_OK;
    if (!written) code = cli_fail(CLI_FAILED, "%s: cannot be written: %s", path, strerror(errno ? errno : ENOMEM));
    free(path);
    return code;
}
