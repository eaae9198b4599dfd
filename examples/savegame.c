/* Saves a game by a snapshot: the whole pool is written to a file as one block, and every handle in the game is valid
 * after loading. A crash while it saves leaves the older file. */
#include "kolk.h"
#include <stdio.h>
#include <stdlib.h>

struct ship {
    char name[12];
    float x;
    kolk_handle target; /* plain bits without a pointer, so it can be saved */
};
KOLK_POOL_TYPE(ships, struct ship)

static ships_handle launch(ships *fleet, const char *name, kolk_handle target) {
    struct ship *ship = ships_alloc_zeroed(fleet);
    snprintf(ship->name, sizeof ship->name, "%s", name);
    ship->target = target;
    return ships_handle_of(fleet, ship);
}

static void list(const ships *fleet, const char *when) {
    printf("%s:", when);
    KOLK_EACH(ships, ship, fleet) {
        const struct ship *target = ships_get(fleet, (ships_handle){ship->target});
        printf(" %s at %g", ship->name, ship->x);
        printf(target ? " after %s," : ",", target ? target->name : "");
    }
    printf(" %u of %u\n", ships_count(fleet), ships_count(fleet) + ships_available(fleet));
}

static kolk_status save(const ships *fleet, const char *path) {
    size_t size = ships_snapshot_size(fleet);
    void *block = malloc(size);
    if (!block) return KOLK_NO_MEMORY;
    kolk_status status = kolk_snapshot_save(path, block, ships_snapshot(fleet, block, size));
    free(block);
    return status;
}

static kolk_status load(ships *fleet, const char *path) {
    size_t size = 0;
    kolk_status status = kolk_snapshot_load(path, NULL, &size); /* asks for the size */
    void *block = malloc(size);
    if (!block || status != KOLK_NO_ROOM) return free(block), status;
    status = kolk_snapshot_load(path, block, &size);
    if (status == KOLK_OK) status = ships_restore(fleet, block, size); /* a damaged file changes nothing */
    free(block);
    return status;
}

static void damage(const char *path) {
    FILE *file = fopen(path, "r+b");
    if (!file || fseek(file, 70, SEEK_SET) != 0 || fputc('x', file) == EOF || fclose(file) != 0) exit(1);
}

int main(int argc, char **argv) {
    char path[4096];
    (void)argc;
    snprintf(path, sizeof path, "%s.save", argv[0]);
    remove(path);
    ships fleet, other;
    kolk_pool_desc desc = {.name = "fleet", .capacity = 4};
    if (ships_init(&fleet, &desc) != KOLK_OK) return 1;
    printf("before the first save: %s\n", kolk_status_text(load(&fleet, path)));
    ships_handle ada = launch(&fleet, "Ada", (kolk_handle){0});
    ships_handle bela = launch(&fleet, "Bela", ada.untyped);
    launch(&fleet, "Cara", bela.untyped);
    ships_get(&fleet, ada)->x = 7;
    ships_free_handle(&fleet, bela);
    list(&fleet, "saved");
    if (save(&fleet, path) != KOLK_OK) return 1;
    ships_handle dora = launch(&fleet, "Dora", ada.untyped);
    list(&fleet, "later");
    ships_deinit(&fleet);

    desc.capacity = 100; /* the next version of the game has a larger pool */
    if (ships_init(&other, &desc) != KOLK_OK || load(&other, path) != KOLK_OK) return 1;
    list(&other, "loaded");
    printf("Ada's handle gives %s, that of Dora, who came later, gives %s\n", ships_get(&other, ada)->name,
           ships_get(&other, dora) ? "somebody" : "NULL");
    damage(path);
    printf("a damaged file: %s\n", kolk_status_text(load(&other, path)));
    list(&other, "still");
    ships_deinit(&other);
    remove(path);
}

/* runs: sample */
