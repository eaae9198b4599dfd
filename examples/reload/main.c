/* A program whose game is a module that can be replaced while it runs: first the old version is unloaded and then the
 * new one loaded, later the new one is loaded before the old one is unloaded. The pool and its objects stay. */
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

static void play(const game *now, int frames) {
    while (frames-- > 0) now->frame(&world);
}

int main(int count, char **paths) {
    if (count != 3) return 1;
    game now = load(paths[1]);
    take_over(&now);
    play(&now, 2);

    puts("unload the old version, then load the new one");
    dlclose(now.module);
    now = load(paths[2]);
    take_over(&now);
    play(&now, 3);

    puts("load the new version, then unload the old one");
    game next = load(paths[1]);
    take_over(&next);
    dlclose(now.module);
    play(&next, 2);

    bullets_clear(&world.bullets); /* while its reset hook is there */
    bullets_deinit(&world.bullets);
    dlclose(next.module);
    return 0;
}
