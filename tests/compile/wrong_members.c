// expect: error: (no member|not compatible|incompatible)
// c++: error: (no member|static_cast|convert|no known conversion)
// variant: MEMBER_OF_ANOTHER_TYPE not compatible
// variant: TYPE_THAT_IS_NOT_DECLARED no member
// variant: TYPE_THAT_IS_TOO_LARGE (no member|not compatible)
// variant: POINTER_INSTEAD not compatible
// variant: FREE_ANOTHER_MEMBER incompatible
/* A pool for several types takes the types of its union, each under its own name, and no others. */
#include <kolk/kolk.h>

struct circle {
    double radius;
};
struct square {
    double side;
};
struct polygon {
    double x[100], y[100];
};
union shape {
    struct circle circle;
    struct square square;
};

KOLK_POOL_TYPE(shapes, union shape)
KOLK_POOL_MEMBER(shapes, struct circle, circle)
#ifdef MEMBER_OF_ANOTHER_TYPE
KOLK_POOL_MEMBER(shapes, struct circle, square)
#elif defined(TYPE_THAT_IS_NOT_DECLARED)
KOLK_POOL_MEMBER(shapes, struct polygon, polygon)
#elif defined(TYPE_THAT_IS_TOO_LARGE)
KOLK_POOL_MEMBER(shapes, struct polygon, square)
#elif defined(POINTER_INSTEAD)
KOLK_POOL_MEMBER(shapes, struct square *, square)
#else
KOLK_POOL_MEMBER(shapes, struct square, square)
#endif

void use(shapes *all) {
    struct circle *circle = shapes_alloc_circle(all);
    shapes_free_circle(all, circle);
#ifdef FREE_ANOTHER_MEMBER
    shapes_free_square(all, circle);
#endif
}
