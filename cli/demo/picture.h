/* cli/demo/picture.h: a picture of light as a file. */
#ifndef DEMO_PICTURE_H
#define DEMO_PICTURE_H

#include "../context.h"
#include "../json.h"
#include "light.h"

struct picture {
    uint32_t width, height;
    struct light *light; /* row after row from the top */
};

bool picture_init(struct picture *picture, uint32_t width, uint32_t height); /* starts dark; the caller frees `light` */
bool picture_write(const struct picture *picture, const char *path);         /* as PNG */

/* Writes the picture into this directory, and prints its path or adds it to the JSON. Returns an exit code. */
int picture_save(const cli_context *cli, const struct picture *picture, const char *directory, const char *name,
                 const char *key, cli_json *json);

static inline struct light *picture_at(const struct picture *picture, uint32_t x, uint32_t y) {
    return &picture->light[(size_t)y * picture->width + x];
}

#endif
