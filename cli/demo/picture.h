/* cli/demo/picture.h: a picture of light as a file. */
#ifndef DEMO_PICTURE_H
#define DEMO_PICTURE_H

#include "light.h"

struct picture {
    uint32_t width, height;
    struct light *light; /* row after row from the top */
};

bool picture_write(const struct picture *picture, const char *path); /* as PNG */

#endif
