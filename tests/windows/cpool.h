/* cpool.h: a pool of a game, as GTA San Andreas has it, and what the game and a mod call of each other. In a 32-bit
 * game the struct has the 20 bytes of the real one; in 64 bits its pointers are wider. */
#ifndef TESTS_WINDOWS_CPOOL_H
#define TESTS_WINDOWS_CPOOL_H

#include <stdbool.h>
#include <stdint.h>

struct ped {
    float health;
    int32_t model;
    unsigned char unknown[0x7c4 - 8]; /* the size of San Andreas's CCopPed */
};

struct cpool {
    struct ped *objects;
    uint8_t *bytes;
    int32_t count, first_free;
    bool owns, deals_with_no_memory;
};

_Static_assert(sizeof(void *) > 4 || sizeof(struct cpool) == 20, "the game's layout");

/* What the mod exports. */
typedef bool mod_begin(struct cpool *pool);
typedef int32_t mod_spawn(int32_t model);     /* returns a handle, or -1 */
typedef bool mod_kill(int32_t handle);        /* returns false if the handle is of no ped */
typedef int32_t mod_model_of(int32_t handle); /* returns -1 if the handle is of no ped */
typedef int32_t mod_count(void);

#endif
