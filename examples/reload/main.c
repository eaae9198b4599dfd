/* A program whose game is a module that can be replaced while it runs: first the old version is unloaded and then the
 * new one loaded, later the new one is loaded before the old one is unloaded. The pool and its objects stay. */
#include "load.h"

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
