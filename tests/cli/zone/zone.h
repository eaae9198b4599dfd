/* Allocators of the program's own, through which everything goes: see game.c. */
#ifndef ZONE_H
#define ZONE_H
#include <stddef.h>

typedef struct header {
    size_t size;
    int tag;
    unsigned id;
} header;

void *Z_Malloc(size_t size, int tag, void *user);
void Z_Free(void *block);
void *ck_calloc(size_t count, size_t size);
void ck_free(void *block);

#endif
