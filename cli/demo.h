/* cli/demo.h: what the files of the demo share: the stops of the tour, and light. */
#ifndef DEMO_H
#define DEMO_H

#include "cli.h"
#include "demo_sparkles.h"

/* What the command line asks for. */
struct demo {
    struct spell spell;
    bool pictures;         /* to be drawn, and not the animation */
    const char *directory; /* for them */
};

/* A stop of the tour shows something on cli->out or, if `json` is given, adds to the object that is open there, and
 * prints nothing; an exit code. */
int demo_fragments(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_bitpool(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_components(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_gta(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_queue(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_spell(cli_context *cli, const struct demo *demo, cli_json *json);

/* ---- Parts of the spell ------------------------------------------------------------------------------------------ */

/* Shows the spell on the terminal that stdout is, for some seconds. */
int demo_screen(const cli_context *cli, const struct spell *spell);

/* Draws two pictures, and says where they are. */
int demo_pictures(cli_context *cli, const struct demo *demo, cli_json *json);

/* Runs the spell on every storage, and shows the table. */
int demo_race(cli_context *cli, const struct spell *spell, cli_json *json);

/* ---- Light ------------------------------------------------------------------------------------------------------- */

/* Adds up without bound, as light does; what film makes of it is from 0 to 1. */
struct light {
    float red, green, blue;
};

struct light light_of_sparkle(const struct sparkle *sparkle); /* by its age */
struct light light_of_slots(float density);                   /* by the part of them that is alive */
float exposed(float light);

static inline void add_light(struct light *to, struct light light, float amount) {
    to->red += light.red * amount;
    to->green += light.green * amount;
    to->blue += light.blue * amount;
}

/* For each of `count` stretches of the slots, the part that is alive. */
void slot_densities(const sparkles *pool, float *densities, uint32_t count);

struct picture {
    uint32_t width, height;
    struct light *light; /* row after row from the top */
};

bool picture_write(const struct picture *picture, const char *path); /* as PNG */

#endif
