/* The functions of tests/cli/zone, on a zone of their own: one block of malloc's, cut into pieces of 8 sizes, with a
 * list of free ones for each. record.sh records the program with these macros, and without them (-DSILENT). */
#include "../cli/zone/zone.h"
#ifndef SILENT
#include "../../preload/record/kolk_record.h"
#else
#define KOLK_RECORD_ALLOC(block, size)
#define KOLK_RECORD_FREE(block)
#endif
#include <stdlib.h>
#include <string.h>

enum { GRAIN = 16, SIZES = 8, ZONE = 1 << 21 };

static char *zone;
static size_t used;
static void *unused[SIZES + 1];

void *Z_Malloc(size_t size, int tag, void *user) {
    (void)tag, (void)user;
    size_t units = (size + sizeof(header) + GRAIN - 1) / GRAIN;
    if (units > SIZES) exit(1);
    if (!zone && !(zone = malloc(ZONE))) exit(1);
    header *head = unused[units];
    if (head) {
        memcpy(&unused[units], head + 1, sizeof *unused);
    } else {
        if (used + units * GRAIN > ZONE) exit(1);
        head = (header *)(void *)(zone + used);
        used += units * GRAIN;
    }
    head->size = units;
    KOLK_RECORD_ALLOC(head + 1, size);
    return head + 1;
}

static void put_back(void *block) {
    header *head = (header *)block - 1;
    memcpy(head + 1, &unused[head->size], sizeof *unused);
    unused[head->size] = head;
}

void Z_Free(void *block) {
    KOLK_RECORD_FREE(block);
    put_back(block);
}

void *ck_calloc(size_t count, size_t size) {
    return memset(Z_Malloc(count * size, 0, NULL), 0, count * size);
}

/* The macro comes last: there is only one thread. */
void ck_free(void *block) {
    put_back(block);
    KOLK_RECORD_FREE(block);
}
