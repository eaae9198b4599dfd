/* A game that loads a mod, which makes and frees peds in the game's pool as the game does itself, and unloads it.
 * Usage: game MOD.DLL */
#include "cpool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

#define REQUIRE(what)                                                                                                  \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: not so: %s\n", __LINE__, #what);                                                          \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define PEDS 6

static struct ped objects[PEDS];
static uint8_t bytes[PEDS];
static struct cpool pool = {objects, bytes, PEDS, -1, true, false};

/* ---- The game's own functions ------------------------------------------------------------------------------------ */

static struct ped *new_ped(int32_t model) {
    bool again = false;
    for (;;) {
        if (++pool.first_free == pool.count) {
            pool.first_free = again ? -1 : 0;
            if (again) return NULL;
            again = true;
        }
        uint8_t *byte = &pool.bytes[pool.first_free];
        if (!(*byte & 0x80)) continue;
        *byte = (*byte + 1) & 0x7f;
        pool.objects[pool.first_free].model = model;
        return &pool.objects[pool.first_free];
    }
}

static int32_t handle_of(const struct ped *ped) {
    int32_t index = (int32_t)(ped - pool.objects);
    return index << 8 | pool.bytes[index];
}

static struct ped *at(int32_t handle) {
    int32_t index = handle >> 8;
    return handle >= 0 && index < pool.count && pool.bytes[index] == (handle & 0xff) ? &pool.objects[index] : NULL;
}

static void delete_ped(struct ped *ped) {
    int32_t index = (int32_t)(ped - pool.objects);
    pool.bytes[index] |= 0x80;
    if (index < pool.first_free) pool.first_free = index;
}

/* ---- The mod ----------------------------------------------------------------------------------------------------- */

static void *found(HMODULE module, const char *name) {
    FARPROC function = GetProcAddress(module, name);
    void *address;
    REQUIRE(function);
    memcpy(&address, &function, sizeof address);
    return address;
}

static void play(const char *path) {
    HMODULE module = LoadLibraryA(path);
    REQUIRE(module);
    mod_begin *begin;
    mod_spawn *spawn;
    mod_kill *kill_it;
    mod_model_of *model_of;
    mod_count *count;
    memcpy(&begin, &(void *){found(module, "begin")}, sizeof begin);
    memcpy(&spawn, &(void *){found(module, "spawn")}, sizeof spawn);
    memcpy(&kill_it, &(void *){found(module, "kill_it")}, sizeof kill_it);
    memcpy(&model_of, &(void *){found(module, "model_of")}, sizeof model_of);
    memcpy(&count, &(void *){found(module, "count")}, sizeof count);

    int32_t before = handle_of(new_ped(7));
    REQUIRE(begin(&pool));
    REQUIRE(count() == 1 && model_of(before) == 7);
    int32_t by_mod = spawn(280), by_game = handle_of(new_ped(9)), another = spawn(281);
    REQUIRE(at(by_mod)->model == 280 && at(another)->model == 281 && model_of(by_game) == 9);
    REQUIRE(count() == 4);
    REQUIRE(kill_it(by_game) && !kill_it(by_game) && !at(by_game));
    delete_ped(at(by_mod));
    REQUIRE(model_of(by_mod) == -1 && count() == 2);
    while (new_ped(1)) {}
    REQUIRE(count() == PEDS && spawn(2) == -1);
    for (int32_t n = 0; n < PEDS; n++)
        if (&pool.objects[n] != at(another)) delete_ped(&pool.objects[n]);

    REQUIRE(FreeLibrary(module) && !GetModuleHandleA(path));
    REQUIRE(at(another)->model == 281); /* the mod's ped outlives the mod */
    delete_ped(at(another));
}

int main(int n, char **arguments) {
    REQUIRE(n == 2);
    memset(bytes, 0x80, sizeof bytes);
    for (int times = 0; times < 3; times++) play(arguments[1]);
    printf("a mod came and went, three times; the game's pool has %zu bytes\n", sizeof pool);
    return 0;
}
