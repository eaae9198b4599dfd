/* A byte map on arrays of its own: new, delete, get_at. Returns 0 if all of it works. */
#include <kolk/kolk.h>

struct ped {
    uint32_t id;
    uint8_t length, data[8];
};
KOLK_BYTEMAP_TYPE(peds, struct ped)

enum { PEDS = 32 };
static struct ped memory[PEDS];
static uint8_t bytes[PEDS];
static peds pool;

int main(void) {
    kolk_bytemap_view view = {.name = "peds", .object_list = memory, .byte_map = bytes, .count = PEDS};
    if (peds_initialise_with(&pool, &view) != KOLK_OK) return 1;
    struct ped *ped = peds_new(&pool);
    if (!ped) return 2;
    int32_t handle = peds_get_index(&pool, ped);
    if (peds_get_at(&pool, handle) != ped) return 3;
    peds_delete(&pool, ped);
#if KOLK_HOSTED
    bool gone = !peds_get_at(&pool, handle);
    peds_flush(&pool);
    return gone ? 0 : 4;
#else
    return peds_get_at(&pool, handle) ? 4 : 0;
#endif
}
