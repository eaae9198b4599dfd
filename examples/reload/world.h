/* What the program keeps while versions of the game come and go. Both sides include this file. */
#include <kolk/kolk.h>

struct bullet {
    int number, x;
};
KOLK_POOL_TYPE(bullets, struct bullet)

struct world {
    bullets bullets;
    bullets_handle first;
    int fired;
    bool begun;
};

/* The functions that a version of the game exports. */
typedef kolk_status game_begin(struct world *world); /* after each load: prepares the world, or takes it over */
typedef void game_frame(struct world *world);
