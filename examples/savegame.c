/* Saves a game by a snapshot: the whole pool is written to a file as one block, and every handle in the game is valid
 * after loading. */
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

static void save(const ships *fleet, FILE *file) {
    size_t size = ships_snapshot_size(fleet);
    void *block = malloc(size);
    if (!block || fwrite(block, 1, ships_snapshot(fleet, block, size), file) != size) exit(1);
    free(block);
}

static kolk_status load(ships *fleet, FILE *file) {
    if (fseek(file, 0, SEEK_END) != 0) exit(1);
    size_t size = (size_t)ftell(file);
    void *block = malloc(size);
    rewind(file);
    if (!block || fread(block, 1, size, file) != size) exit(1);
    kolk_status status = ships_restore(fleet, block, size); /* a damaged file changes nothing */
    free(block);
    return status;
}

int main(void) {
    ships fleet, other;
    kolk_pool_desc desc = {.name = "fleet", .capacity = 4};
    FILE *file = tmpfile();
    if (!file || ships_init(&fleet, &desc) != KOLK_OK) return 1;
    ships_handle ada = launch(&fleet, "Ada", (kolk_handle){0});
    ships_handle bela = launch(&fleet, "Bela", ada.untyped);
    launch(&fleet, "Cara", bela.untyped);
    ships_get(&fleet, ada)->x = 7;
    ships_free_handle(&fleet, bela);
    list(&fleet, "saved");
    save(&fleet, file);
    ships_handle dora = launch(&fleet, "Dora", ada.untyped);
    list(&fleet, "later");
    ships_deinit(&fleet);

    desc.capacity = 100; /* the next version of the game has a larger pool */
    if (ships_init(&other, &desc) != KOLK_OK || load(&other, file) != KOLK_OK) return 1;
    list(&other, "loaded");
    printf("Ada's handle gives %s, that of Dora, who came later, gives %s\n", ships_get(&other, ada)->name,
           ships_get(&other, dora) ? "somebody" : "NULL");
    if (fseek(file, 40, SEEK_SET) != 0 || fputc('x', file) == EOF) return 1;
    printf("a damaged file: %s\n", kolk_status_text(load(&other, file)));
    list(&other, "still");
    ships_deinit(&other);
    fclose(file);
}

/* runs: sample */
