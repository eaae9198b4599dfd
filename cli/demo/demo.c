/* demo.c: `kolk demo`, a tour of what pools are for. */
#define _POSIX_C_SOURCE 200809L
#include "../cli.h"
#include "../print.h"
#include "stops.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t want_sparkles, want_frames;
static bool want_physics, want_pictures;

static const cli_option options[] = {
    {.name = "sparkles",
     .letter = 'n',
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &want_sparkles,
     .least = 1,
     .most = 10000000,
     .fallback = 100000,
     .help = "sparkles alive at the peak"},
    {.name = "frames",
     .letter = 'f',
     .kind = CLI_COUNT,
     .argument = "N",
     .value = &want_frames,
     .least = 1,
     .most = 100000,
     .fallback = 360,
     .help = "frames of the animation; a wave has 72"},
    {.name = "physics", .kind = CLI_FLAG, .value = &want_physics, .help = "gravity, wind and friction"},
    {.name = "png",
     .kind = CLI_FLAG,
     .value = &want_pictures,
     .help = "pictures instead of the animation on a terminal"},
    {0},
};

static const struct stop {
    const char *name, *title;
    int (*show)(cli_context *cli, const struct demo *demo, cli_json *json);
} stops[] = {
    {"fragmentation", "The curse of fragmentation", demo_fragments},
    {"bitpool", "A bit a slot: Bitpool", demo_bitpool},
    {"components", "Which hole is filled first: component pools", demo_components},
    {"gta", "A byte a slot: the GTA trilogy's pool", demo_gta},
    {"queue", "Full blocks, empty blocks: BlockingQueue", demo_queue},
    {"trays", "Big trays for luggage, little trays for pocket stuff", demo_luggage},
    {"spell", "The wave of a wand", demo_spell},
};

static int show(cli_context *cli, const struct demo *demo, cli_json *json) {
    int code = CLI_OK;
    for (size_t n = 0; n < sizeof stops / sizeof *stops && code == CLI_OK; n++) {
        if (json) {
            cli_json_open(json, stops[n].name, '{');
            code = stops[n].show(cli, demo, json);
            cli_json_close(json, '}');
        } else {
            fprintf(cli->out, "%s%s%s%s\n\n", n > 0 ? "\n" : "", cli_bold(cli), stops[n].title, cli_plain(cli));
            code = stops[n].show(cli, demo, NULL);
        }
    }
    return code;
}

/* Makes the folder if it is not there. Returns false if a sentence has been printed. */
static bool have_folder(const char *path) {
    struct stat facts;
    bool is_there = stat(path, &facts) == 0;
    if (is_there && !S_ISDIR(facts.st_mode))
        cli_fail(CLI_FAILED, "%s: this is no folder, and pictures go to one", path);
    if (is_there) return S_ISDIR(facts.st_mode);
    if (mkdir(path, 0777) == 0) return true;
    cli_fail(CLI_FAILED, "%s: there is no such folder for the pictures, and it cannot be made: %s", path,
             strerror(errno));
    return false;
}

static int run(cli_context *cli, int count, char **arguments) {
    struct demo demo = {
        .spell = {(uint32_t)want_sparkles, (uint32_t)want_frames, cli->seed, want_physics, NULL, 0},
        .pictures = want_pictures || count > 0 || !cli->terminal,
        .directory = count > 0 ? arguments[0] : ".",
    };
    if (count > 0 && !have_folder(arguments[0])) return CLI_FAILED;
    if (!spell_init(&demo.spell)) return cli_fail(CLI_FAILED, "there is no memory");
    int code;
    if (cli->json) {
        cli_json json = {.out = cli->out};
        cli_json_open(&json, NULL, '{');
        code = show(cli, &demo, &json);
        cli_json_close(&json, '}');
    } else {
        cli_context here = *cli;
        if (cli->terminal) here.out = stdout; /* the tour is shown as it runs, not when it has ended */
        code = show(&here, &demo, NULL);
    }
    spell_deinit(&demo.spell);
    return code;
}

const cli_verb cli_demo = {
    .name = "demo",
    .arguments = "[DIRECTORY]",
    .most_arguments = 1,
    .summary = "a tour: fragmentation, bits, holes, bytes, threads, trays, sparkles",
    .details = "On a terminal the sparkles are shown at once, with the pool's slots under them.\n"
               "Elsewhere, with --png or with a DIRECTORY, pictures are written there (or here;\n"
               "a missing DIRECTORY is made): kolk-demo-sparkles.png, when most are alive;\n"
               "kolk-demo-slots.png, the slots of the pool from bottom to top over the frames\n"
               "from left to right; and kolk-demo-trays.png, things of many sizes in trays of\n"
               "one size, of four, and of kolk's own.\n"
               "\n"
               "The table measures four ways of storing the sparkles, on the same seed: objects\n"
               "from malloc, the two pools of the chapter on object pools in Game Programming\n"
               "Patterns, and kolk. Creating and moving them is measured, drawing is not. They\n"
               "must end with the same checksum of all positions, or else the demo fails.\n",
    .options = options,
    .run = run,
};
