/* "Big trays for luggage, little trays for pocket stuff": puts the luggage of 2,000 passengers first into a pool with
 * trays as large as the largest suitcase, then into a heap with kolk's sizes, and then into a heap with the airport's
 * own sizes. */
#include "kolk.h"
#include <stdio.h>
#include <stdlib.h>

enum { THINGS = 2000, WALLET = 60, SUITCASE = 8192 };

/* The trays that this airport has bought. */
static const kolk_heap_class bought[] = {
    {.name = "keys, coins", .size = 32},
    {.name = "wallets, phones", .size = 160, .max_capacity = 512, .when_full = KOLK_HEAP_NEXT},
    {.name = "handbags", .size = 768},
    {.name = "suitcases", .size = SUITCASE, .capacity = 100, .when_full = KOLK_HEAP_NULL},
};
static size_t sizes[THINGS], trays[THINGS]; /* in bytes: of each thing, and of its tray */

/* Of 20 things, 13 fit into a small tray, and one is a suitcase. */
static void pack(void) {
    uint32_t random = 1;
    for (int i = 0; i < THINGS; i++) {
        random = random * 1664525 + 1013904223;
        size_t part = random >> 8 & 1023, kind = (random >> 18) % 20;
        sizes[i] = kind < 13 ? 8 + part % 25 : kind < 18 ? 33 + part / 8 : kind < 19 ? 200 + part / 2 : 3000 + part * 5;
        trays[i] = SUITCASE;
    }
}

/* Prints how many things are in trays of this size, or of all sizes (0), and how much of the trays is wasted. */
static void report(const char *name, size_t size) {
    size_t needed = 0, asked = 0, given = 0;
    for (int i = 0; i < THINGS; i++)
        if (!size || trays[i] == size) needed++, asked += sizes[i], given += trays[i];
    double waste = 100.0 * (double)(given - asked) / (double)given;
    if (!needed) return;
    printf("%8zu bytes for %4zu things, %4.1f %% waste: %s", given, needed, waste, name);
    if (size) printf(" (%zu)", size);
    printf("\n");
}

static void put_on_belt(kolk_heap *heap, const kolk_heap_desc *desc, void **suitcase) {
    if (kolk_heap_init(heap, desc) != KOLK_OK) exit(1);
    if (heap->n_classes == 0) exit(77); /* under a tool that watches malloc, each block comes from malloc */
    for (int i = 0; i < THINGS; i++) {
        void *tray = kolk_heap_alloc(heap, sizes[i]);
        trays[i] = kolk_heap_usable_size(heap, tray);
        if (trays[i] == SUITCASE) *suitcase = tray;
    }
    report(desc->name, 0);
    kolk_heap_class_stats class_; /* also has samples of requested and allocated bytes */
    for (uint32_t n = 0; n < heap->n_classes; n++)
        if (kolk_heap_stats_of_class(heap, n, &class_)) report(class_.stats.name, class_.stats.object_size);
}

/* Takes the last suitcase off the belt, once. */
static bool fetch(kolk_heap *heap, size_t bytes, void *suitcase) {
    void *fetched = *(void **)suitcase;
    (void)bytes;
    *(void **)suitcase = NULL;
    kolk_heap_free(heap, fetched);
    return fetched;
}

int main(void) {
    kolk_heap own, airport;
    void *suitcase = NULL;
    pack();
    report("one size for all", 0);
    put_on_belt(&own, &(kolk_heap_desc){.name = "kolk's sizes"}, &suitcase);
    kolk_heap_deinit(&own); /* together with everything in it */
    kolk_heap_desc desc = {
        .name = "the airport's", .classes = bought, .n_classes = 4, .on_full = fetch, .context = &suitcase};
    put_on_belt(&airport, &desc, &suitcase);

    int wallets = 0, suitcases = 0;
    while (kolk_heap_usable_size(&airport, kolk_heap_alloc(&airport, WALLET)) < 768) wallets++;
    printf("%d more wallets; the next one gets a handbag's tray\n", wallets);
    while (kolk_heap_alloc(&airport, SUITCASE) && suitcase) suitcases++;
    printf("%d more suitcases; for the next one another has to go\n", suitcases);
    printf("the one after that: %s\n", kolk_heap_alloc(&airport, SUITCASE) ? "has a tray" : "waits outside");
    kolk_heap_deinit(&airport);
}

/* runs: 64-bits not:qemu */
