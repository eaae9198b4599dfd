/* The same with a window, by SDL2: R unloads the old version and then loads the new one, N loads the new one first, Q
 * ends. Keys can also be given: each character of "..r..n.q" is a frame's key, and a dot is none. */
#include "load.h"

#include <SDL.h>

enum { CELL = 24, WIDE = 12, HIGH = 10 };

static bool draw(SDL_Window *window) {
    SDL_Surface *surface = SDL_GetWindowSurface(window);
    if (!surface) return false;
    SDL_FillRect(surface, NULL, SDL_MapRGB(surface->format, 16, 16, 32));
    KOLK_EACH(bullets, each, &world.bullets) {
        SDL_Rect at = {each->x * CELL, each->number % HIGH * CELL, CELL - 4, CELL - 4};
        SDL_FillRect(surface, &at, SDL_MapRGB(surface->format, 255, 200, 64));
    }
    return SDL_UpdateWindowSurface(window) == 0;
}

/* Returns the key that was pressed last, or 'q' if the window is closed. */
static int read_key(void) {
    SDL_Event event;
    int key = 0;
    while (SDL_PollEvent(&event)) {
        if (event.type == SDL_QUIT) return 'q';
        if (event.type == SDL_KEYDOWN) key = event.key.keysym.sym;
    }
    return key;
}

static void press(char key) {
    SDL_Event event = {.key = {.type = SDL_KEYDOWN, .keysym.sym = key}};
    SDL_PushEvent(&event);
}

int main(int count, char **arguments) {
    if (count < 3) return 1;
    const char *keys = count > 3 ? arguments[3] : NULL;
    SDL_Window *window = NULL;
    if (SDL_Init(SDL_INIT_VIDEO) == 0) window = SDL_CreateWindow("kolk", 0, 0, WIDE * CELL, HIGH * CELL, 0);
    bool works = window != NULL;
    int version = 1;
    game now = load(arguments[1]);
    take_over(&now);
    while (works) {
        if (keys && *keys) press(*keys++);
        int key = read_key();
        if (key == 'q') break;
        if (key == 'r') {
            puts("unload the old version, then load the new one");
            dlclose(now.module);
            now = load(arguments[version = 3 - version]);
            take_over(&now);
        } else if (key == 'n') {
            puts("load the new version, then unload the old one");
            game next = load(arguments[version = 3 - version]);
            take_over(&next);
            dlclose(now.module);
            now = next;
        }
        now.frame(&world);
        works = draw(window);
        if (!keys) SDL_Delay(200);
    }
    if (!works) fprintf(stderr, "%s\n", SDL_GetError());

    bullets_clear(&world.bullets); /* while its reset hook is there */
    bullets_deinit(&world.bullets);
    dlclose(now.module);
    SDL_Quit();
    return !works;
}
