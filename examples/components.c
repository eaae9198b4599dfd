/* A pool of components that never move: a removal leaves a hole, and an addition fills one. The map shows which one: x
 * is in use, o was added in a hole, - is a hole, and ^ is the hole to be filled next. */
#include "kolk.h"
#include <stdio.h>

enum { SLOTS = 10 };

struct transform {
    float x, y, angle;
    char letter; /* shown in the map */
};
KOLK_POOL_TYPE(components, struct transform)

/* Allocates a slot and frees it again, which changes neither of the two orders. */
static uint32_t first_empty(components *pool) {
    struct transform *next = components_alloc(pool);
    if (!next) return SLOTS; /* the pool is full */
    uint32_t slot = components_index(pool, next);
    components_free(pool, next);
    return slot;
}

static void print_map(components *pool, const char *step) {
    uint32_t mark = first_empty(pool);
    printf("  %-10s ", step);
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        const struct transform *component = components_at(pool, slot); /* NULL for a hole */
        putchar(component ? component->letter : '-');
    }
    printf("\n");
    if (mark < SLOTS) printf("%*s\n", 14 + (int)mark, "^");
}

static struct transform *add(components *pool, char letter) {
    struct transform *component = components_alloc(pool);
    if (component) *component = (struct transform){.letter = letter};
    return component;
}

static int show(const char *title, kolk_reuse reuse) {
    static const uint32_t removed[] = {3, 8, 5, 4};
    components pool;
    kolk_status status = components_init(&pool, &(kolk_pool_desc){.name = title, .capacity = SLOTS, .reuse = reuse});
    if (status != KOLK_OK) return 1;

    printf("%s\n", title);
    while (add(&pool, 'x')) continue;
    print_map(&pool, "full");
    for (int n = 0; n < 4; n++) {
        char step[16];
        snprintf(step, sizeof step, "remove(%u)", removed[n]);
        components_free(&pool, components_at(&pool, removed[n])); /* the other components stay in their slots */
        print_map(&pool, step);
    }
    uint32_t filled[4];
    for (int n = 0; n < 4; n++) {
        filled[n] = components_index(&pool, add(&pool, 'o'));
        print_map(&pool, "add()");
    }
    printf("  filled in this order: %u, %u, %u, %u\n", filled[0], filled[1], filled[2], filled[3]);
    components_deinit(&pool);
    return 0;
}

int main(void) {
    if (show("LIFO: the hole that was made last is filled first", KOLK_REUSE_LIFO)) return 1;
    return show("LOWEST: the first hole is filled first, so that objects stay close together", KOLK_REUSE_LOWEST);
}
