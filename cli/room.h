/* cli/room.h: arrays that grow. */
#ifndef CLI_ROOM_H
#define CLI_ROOM_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for one more element behind `count` ones, by doubling the array. `array` is the address of the pointer to
 * it. Returns false if memory runs out; then the array is unchanged. */
static inline bool has_room(void *array, size_t count, size_t *room, size_t size) {
    void *old, *moved;
    size_t more = *room ? 2 * *room : 64;
    if (count < *room) return true;
    memcpy(&old, array, sizeof old);
    if (!(moved = realloc(old, more * size))) return false;
    memcpy(array, &moved, sizeof moved);
    *room = more;
    return true;
}

#endif
