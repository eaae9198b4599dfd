/* The particle system of the Game Programming Patterns chapter: only one file uses its objects. */
#include "particles.h"

#include <stdio.h>

int main(void) {
    particles pool;
    if (particles_start(&pool, 3) != KOLK_OK) return 1;

    particles_create(&pool, 1, 2);
    particles_create_thrown(&pool, 0, 0, 0);
    particles_create_moving(&pool, 5, 5, 0.25, -0.5, 4);
    printf("a fourth one: %s\n", particles_create(&pool, 9, 9) ? "created" : "not created, the pool is full");

    while (particles_count(&pool)) {
        particles_print(&pool);
        particles_animate(&pool);
    }
    particles_deinit(&pool);
}
