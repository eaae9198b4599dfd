/* See zone.h. */
#include "zone.h"
#include <stdio.h>
#include <stdlib.h>

void *Z_Malloc(size_t size, int tag, void *user) {
    header *block = NULL;
    if (tag < 0) exit(1);
    while (!block) block = (header *)malloc(sizeof(header) + size);
    block->size = size;
    block->tag = tag;
    block->id = 0x1d4a11;
    if (user) *(void **)user = block + 1;
    return block + 1;
}

void Z_Free(void *block) {
    header *head = (header *)((char *)block - sizeof(header));
    if (head->id != 0x1d4a11) exit(1);
    head->id = 0;
    free(head);
}

void *ck_calloc(size_t count, size_t size) {
    void *block = calloc(count, size);
    if (!block) exit(1);
    return block;
}

void ck_free(void *block) {
    if (block != NULL) free(block);
}
