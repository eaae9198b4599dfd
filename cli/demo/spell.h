/* cli/demo/spell.h: the parts of the spell, the tour's last stop. */
#ifndef DEMO_SPELL_H
#define DEMO_SPELL_H

#include "../context.h"
#include "../json.h"
#include "sparkles.h"

/* Shows the spell for some seconds on the terminal to which stdout goes. */
int demo_screen(const cli_context *cli, const struct spell *spell);

/* Draws two pictures into this directory, and prints their paths. */
int demo_pictures(cli_context *cli, const struct spell *spell, const char *directory, cli_json *json);

/* Runs the spell on every storage, and shows the table. */
int demo_race(cli_context *cli, const struct spell *spell, cli_json *json);

#endif
