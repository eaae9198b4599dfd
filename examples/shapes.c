/* Objects of several types in one pool. The union lists the types, and has the size of the largest one. Each
 * KOLK_POOL_MEMBER adds an alloc for its type, so that a type outside the list does not compile. */
#include "kolk.h"
#include <stdio.h>

enum kind { CIRCLE, BOX };

struct circle {
    enum kind kind;
    double radius;
};

struct box {
    enum kind kind;
    double width, height;
};

union shape {
    enum kind kind;
    struct circle circle;
    struct box box;
};

KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, struct circle, circle)
KOLK_POOL_MEMBER(shapes, struct box, box)

static KOLK_POOL_STORAGE(union shape, 8) memory; /* no heap: the pool lives here */

int main(void) {
    shapes pool;
    kolk_pool_desc desc = {.name = "shapes", .capacity = 8, .memory = &memory, .memory_size = sizeof memory};
    kolk_status status = shapes_init(&pool, &desc);
    if (status != KOLK_OK) {
        printf("%s\n", kolk_status_text(status));
        return 1;
    }

    struct circle *circle = shapes_alloc_circle(&pool);
    struct box *box = shapes_alloc_box(&pool);
    if (!circle || !box) return 1;
    *circle = (struct circle){CIRCLE, 2};
    *box = (struct box){BOX, 3, 4};

    double area = 0;
    KOLK_EACH(shapes, each, &pool) {
        if (each->kind == CIRCLE) area += 3 * each->circle.radius * each->circle.radius;
        if (each->kind == BOX) area += each->box.width * each->box.height;
    }
    printf("%u shapes in slots of the largest's size, area about %g\n", shapes_count(&pool), area);

    shapes_free_circle(&pool, circle);
    shapes_free_box(&pool, box);
    printf("%u of %u free\n", shapes_available(&pool), pool.pool.capacity);
}
