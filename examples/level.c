#include "kolk.h"
#include <stdio.h>
#include <string.h>

static kolk_heap level; /* a game's level: its objects have any size, and all of them end with it */

struct room {
    struct room *next;
    char name[]; /* as long as it is */
};

static struct room *add_room(struct room *next, const char *name) {
    struct room *room = kolk_heap_alloc(&level, sizeof *room + strlen(name) + 1);
    if (!room) return next;
    room->next = next;
    strcpy(room->name, name);
    return room;
}

int main(void) {
    kolk_stats stats;
    if (kolk_heap_init(&level, &(kolk_heap_desc){.name = "level", .limit = 64 << 20}) != KOLK_OK) return 1;
    struct room *rooms = add_room(add_room(NULL, "hall"), "the library where nobody has read for a hundred years");
    float *map = kolk_heap_alloc_zeroed(&level, 300000 * sizeof *map); /* a large block gets its own pages */
    for (struct room *each = rooms; each; each = each->next) printf("%s\n", each->name);
    kolk_heap_free(&level, map); /* any thread may free, without a size, and a second free is reported */
    kolk_heap_stats(&level, &stats);
    printf("%u blocks are alive\n", stats.count);
    kolk_heap_deinit(&level); /* and now none */
}

/* runs: 64-bits not:qemu */
