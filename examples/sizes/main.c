/* Sizes that tune themselves: this program runs itself twice. The first run measures what its pools need in each scene,
 * the second one starts with that. By hand, the same is:
 *
 *     KOLK_STATS=sizes:sizes.txt ./game
 *     KOLK_SIZES=sizes.txt ./game
 */
#include "kolk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct particle {
    float x, y, dx, dy;
};
KOLK_POOL_TYPE(particles, struct particle)

/* A scene whose designer guessed that 1000 particles would be enough. */
static void play(const char *scene, int explosions) {
    particles pool;
    kolk_scene(scene);
    kolk_pool_desc desc = {.name = "particles", .capacity = 1000, .max_capacity = 100000};
    if (particles_init(&pool, &desc) != KOLK_OK) exit(1);
    kolk_stats before, after;
    particles_stats(&pool, &before);
    for (int frame = 0; frame < 60; frame++) {
        for (int i = 0; i < explosions * 50; i++) particles_alloc_zeroed(&pool);
        KOLK_EACH(particles, each, &pool) {
            each->y += 1;
            if (each->y > 3) particles_free(&pool, each);
        }
    }
    particles_stats(&pool, &after);
    printf("%-10s begins with room for %5u, ends with %5u\n", scene, before.capacity, after.capacity);
    particles_deinit(&pool);
    kolk_scene(NULL);
}

static void run(const char *settings, const char *program) {
    char command[1000];
    snprintf(command, sizeof command, "%s '%s' play", settings, program);
    fflush(stdout);
    if (system(command) != 0) exit(1);
}

int main(int argc, char **argv) {
    if (argc > 1) {
        play("village", 1);
        play("boss fight", 20);
        return 0;
    }
    char measuring[300], measured[300], line[200];
    snprintf(measuring, sizeof measuring, "KOLK_STATS='sizes:%s.sizes'", argv[0]);
    snprintf(measured, sizeof measured, "KOLK_SIZES='%s.sizes'", argv[0]);
    printf("first run, measured\n");
    run(measuring, argv[0]);
    char *file = strchr(measuring, ':') + 1;
    file[strlen(file) - 1] = 0; /* the quote */
    FILE *sizes = fopen(file, "r");
    if (!sizes) return 1;
    while (fgets(line, sizeof line, sizes)) printf("    %s", line);
    fclose(sizes);
    printf("second run\n");
    run(measured, argv[0]);
    remove(file);
}

/* runs: not:qemu not:wine */
