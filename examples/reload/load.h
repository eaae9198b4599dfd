/* What both programs do to load a version of the game. */
#include "world.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world world;

typedef struct game {
    void *module;
    game_begin *begin;
    game_frame *frame;
} game;

static game load(const char *path) {
    game loaded = {dlopen(path, RTLD_NOW | RTLD_LOCAL), NULL, NULL};
    void *begin = loaded.module ? dlsym(loaded.module, "begin") : NULL;
    void *frame = loaded.module ? dlsym(loaded.module, "frame") : NULL;
    if (!begin || !frame) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    memcpy(&loaded.begin, &begin, sizeof begin);
    memcpy(&loaded.frame, &frame, sizeof frame);
    return loaded;
}

/* From here on, the pool has the hooks of this version. */
static void take_over(const game *now) {
    kolk_status status = now->begin(&world);
    if (status == KOLK_OK) return;
    fprintf(stderr, "the new version cannot take over: %s\n", kolk_status_text(status));
    exit(1);
}
