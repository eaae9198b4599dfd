/* Answers a modder's questions about a game's pools: how full they are, which objects are alive, and which ones a mod
 * has spawned. The "game" here is a few foreign arrays; kolk attaches to them and writes nothing. */
#include "kolk.h"
#include <stdio.h>
#include <string.h>

struct entity {
    int model, health;
};
KOLK_BYTEMAP_TYPE(entities, struct entity)

/* ---- The game: its own arrays and its own functions -------------------------------------------------------------- */
#define PEDS     7
#define VEHICLES 4
static struct entity peds[PEDS], vehicles[VEHICLES];
static uint8_t ped_bytes[PEDS] = {0x01, 0x80, 0x01, 0x83, 0x80, 0x80, 0x80};
static uint8_t vehicle_bytes[VEHICLES] = {0x02, 0x80, 0x01, 0x80};

static void a_mod_runs(void) {
    ped_bytes[2] |= 0x80; /* one ped dies, */
    ped_bytes[3] = 0x04;  /* one is born, */
    ped_bytes[0] = 0x02;  /* and one was replaced */
    peds[3] = (struct entity){280, 100};
    peds[0] = (struct entity){265, 50};
}

/* ---- The modder -------------------------------------------------------------------------------------------------- */
static void list(const entities *pool) {
    printf("%-8s %d / %d\n", pool->pool.name, entities_used_count(pool), pool->pool.count);
}

static void walk(const entities *pool) {
    for (int32_t handle = -1; (handle = entities_next_handle(pool, handle)) != -1;) {
        const struct entity *entity = entities_get_at(pool, handle);
        printf("  handle %4d: model %d, health %d\n", handle, entity->model, entity->health);
    }
}

int main(void) {
    static entities all[2];
    kolk_bytemap_view view = {.name = "peds", .object_list = peds, .byte_map = ped_bytes, .count = PEDS};
    if (entities_attach(&all[0], &view) != KOLK_OK) return 1;
    view =
        (kolk_bytemap_view){.name = "vehicles", .object_list = vehicles, .byte_map = vehicle_bytes, .count = VEHICLES};
    if (entities_attach(&all[1], &view) != KOLK_OK) return 1;
    peds[0] = (struct entity){7, 100}, peds[2] = (struct entity){9, 35};
    vehicles[0] = (struct entity){400, 1000}, vehicles[2] = (struct entity){522, 880};
    for (int i = 0; i < 2; i++) list(&all[i]), walk(&all[i]);

    uint8_t before[PEDS];
    memcpy(before, all[0].pool.byte_map, sizeof before);
    a_mod_runs();
    static const char *const words[] = {"", "born", "died", "replaced"};
    printf("what did the mod do?\n");
    kolk_bytemap_difference difference = {0};
    while (kolk_bytemap_compare(before, all[0].pool.byte_map, PEDS, &difference))
        printf("  slot %d %s: %d, now %d\n", difference.index, words[difference.change], difference.before,
               difference.after);

    const kolk_bytemap *const pools[] = {&all[0].pool, &all[1].pool};
    static const int32_t handles[] = {1, 2, 513};
    for (int i = 0; i < 3; i++) { /* a script's handle does not show which pool it belongs to */
        printf("handle %d:", handles[i]);
        size_t which = 0;
        for (; kolk_bytemap_find(pools, 2, handles[i], &which); which++) printf(" in %s", pools[which]->name);
        printf("\n");
    }
    for (int i = 0; i < 2; i++) entities_flush(&all[i]); /* detaches from its arrays */
}

/* runs: sample */
