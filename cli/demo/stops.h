/* cli/demo/stops.h: the stops of the tour that the demo is. */
#ifndef DEMO_STOPS_H
#define DEMO_STOPS_H

#include "../context.h"
#include "../json.h"
#include "sparkles.h"

/* The wishes of the command line. */
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
int demo_luggage(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_spell(cli_context *cli, const struct demo *demo, cli_json *json);

#endif
