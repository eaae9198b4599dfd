/* spell.c: the tour's last stop: see spell.h. */
#include "spell.h"
#include "stops.h"

int demo_spell(cli_context *cli, const struct demo *demo, cli_json *json) {
    const struct spell *spell = &demo->spell;
    int code = demo->pictures ? demo_pictures(cli, spell, demo->directory, json) : demo_screen(cli, spell);
    return code == CLI_OK ? demo_race(cli, spell, json) : code;
}
