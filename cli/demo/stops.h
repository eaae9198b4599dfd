/* cli/demo/stops.h: the stops of the demo's tour. */
#ifndef DEMO_STOPS_H
#define DEMO_STOPS_H

#include "../context.h"
#include "../json.h"
#include "sparkles.h"

/* The options of the command line. */
struct demo {
    struct spell spell;
    bool pictures;         /* draw pictures instead of the animation */
    const char *directory; /* where the pictures go */
};

/* Each stop of the tour prints to cli->out. With `json` it prints nothing, and adds its result to the open JSON object.
 * Returns an exit code. */
int demo_fragments(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_bitpool(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_components(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_gta(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_queue(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_luggage(cli_context *cli, const struct demo *demo, cli_json *json);
int demo_spell(cli_context *cli, const struct demo *demo, cli_json *json);

#endif
