/* A program that runs scripts of Lua with the module kolk, and has pools of its own that scripts make, use and lose. It
 * includes kolk_lua.c to look into the scripts' pools. Usage: host SCRIPT [ARGUMENT]...
 *
 * The scripts get a table `host`:
 *     make(what)             makes a container of the program, and returns its number: 16 slots of struct thing
 *     push(number, fields)   its userdata
 *     create(number)         a handle of an object that the program makes, with a secret; nil if it is full
 *     resets()               how often the hook reset of a "hooked" pool was called
 *     forget(number)         kolk_lua_forget, several times if you like
 *     finish(number)         the same, then ends it
 *     fail(n)                after n more requests, Lua gets no memory; -1: it gets all it wants
 *     budget(bytes)          sets a budget for the scripts' pools; nil: none
 *     check(container...)    everything is valid, and no secret was changed; aborts otherwise
 * What is not finished ends after the state. */
#include "../../../bindings/lua/kolk_lua.c" /* NOLINT(bugprone-suspicious-include) */

#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 16, MOST = 64 };

struct thing {
    float x;
    int32_t hp;
    double rest[2];
    const void *secret; /* the scripts don't know of it: NULL, or `secret` below */
};

struct thing_container {
    const char *what; /* NULL: there is none */
    union {
        kolk_pool pool;
        kolk_slotmap map;
        kolk_bytemap bytemap;
    } it;
    kolk_pool spare;
    uint8_t bytes[SLOTS];
    struct thing things[SLOTS];
};

static const char *const whats[] = {"pool",   "hooked",  "kept",    "mixed",    "handleless",
                                    "barren", "slotmap", "bytemap", "attached", NULL};
static struct thing_container all[MOST];
static const char secret;
static lua_Integer resets;
static kolk_budget budget;
static lua_Integer until_failure = -1;

static void require(bool is_so, const char *what) {
    if (is_so) return;
    fprintf(stderr, "host: not so: %s\n", what);
    abort();
}

/* Lua loses a finaliser that it cannot call, and what that would have closed. So it gets the record of each call. */
#define CALL_RECORD 64u /* of Lua 5.4, with 64 bits */

static void *allocate(void *context, void *block, size_t before, size_t size) {
    (void)context;
    if (size == 0) return free(block), NULL;
    if (block && size <= before) return realloc(block, size); /* Lua relies on it */
    if (until_failure == 0 && size != CALL_RECORD) return NULL;
    if (until_failure > 0) until_failure--;
    return realloc(block, size);
}

static int fail(lua_State *L) {
    until_failure = luaL_checkinteger(L, 1);
    return 0;
}

static void count_reset(void *object, void *context) {
    (void)context;
    resets++;
    require(!((struct thing *)object)->secret || ((struct thing *)object)->secret == &secret,
            "the secret of a dead thing");
}

static bool set_up(void *object, void *context) {
    (void)context;
    *(struct thing *)object = (struct thing){.hp = 1};
    return true;
}

static int make(lua_State *L) {
    const char *what = whats[luaL_checkoption(L, 1, NULL, whats)];
    struct thing_container *made = all;
    while (made < all + MOST && made->what) made++;
    if (made == all + MOST) return luaL_error(L, "too many");
    memset(made, 0, sizeof *made);
    kolk_pool_desc desc = {.name = what, .object_size = sizeof(struct thing), .capacity = SLOTS};
    kolk_slotmap_desc map = {.name = what, .object_size = sizeof(struct thing), .capacity = SLOTS};
    kolk_bytemap_view view = {.name = what, .object_size = sizeof(struct thing), .count = SLOTS};
    kolk_status status = KOLK_OK;
    if (strcmp(what, "slotmap") == 0) {
        status = kolk_slotmap_init(&made->it.map, &map);
    } else if (strcmp(what, "bytemap") == 0) {
        status = kolk_bytemap_initialise_with(&made->it.bytemap, &view);
    } else if (strcmp(what, "attached") == 0) { /* read-only; every second slot is used */
        for (int i = 0; i < SLOTS; i++) made->bytes[i] = i % 2 ? 0x80 : 5;
        for (int i = 0; i < SLOTS; i++) made->things[i] = (struct thing){.x = (float)i, .hp = i, .secret = &secret};
        view.object_list = made->things;
        view.byte_map = made->bytes;
        status = kolk_bytemap_attach(&made->it.bytemap, &view);
    } else {
        if (strcmp(what, "hooked") == 0 || strcmp(what, "mixed") == 0 || strcmp(what, "barren") == 0) {
            kolk_pool_desc spare =
                desc; /* an overflow pool of as many slots: another one, one with setup, or without handles */
            spare.name = "spare";
            if (strcmp(what, "mixed") == 0) spare.life.setup = set_up;
            if (strcmp(what, "barren") == 0) spare.generations = KOLK_GENERATIONS_NONE;
            status = kolk_pool_init(&made->spare, &spare);
            desc.full.overflow = &made->spare;
            if (strcmp(what, "hooked") == 0) desc.life.reset = count_reset;
        }
        if (strcmp(what, "kept") == 0) desc.life.setup = set_up;
        if (strcmp(what, "handleless") == 0) desc.generations = KOLK_GENERATIONS_NONE;
        if (status == KOLK_OK) status = kolk_pool_init(&made->it.pool, &desc);
    }
    require(status == KOLK_OK, kolk_status_text(status));
    made->what = what;
    lua_pushinteger(L, made - all);
    return 1;
}

static struct thing_container *numbered(lua_State *L) {
    lua_Integer number = luaL_checkinteger(L, 1);
    luaL_argcheck(L, number >= 0 && number < MOST && all[number].what, 1, "there is none");
    return &all[number];
}

static bool is_map(const struct thing_container *it) {
    return strcmp(it->what, "slotmap") == 0;
}

static bool is_bytemap(const struct thing_container *it) {
    return strcmp(it->what, "bytemap") == 0 || strcmp(it->what, "attached") == 0;
}

/* Does nobody create objects with handles in it? */
static bool is_passive(const struct thing_container *it) {
    return strcmp(it->what, "attached") == 0 || strcmp(it->what, "handleless") == 0 || strcmp(it->what, "barren") == 0;
}

static int push(lua_State *L) {
    struct thing_container *it = numbered(L);
    const char *fields = luaL_checkstring(L, 2);
    if (is_map(it))
        kolk_lua_push_slotmap(L, &it->it.map, fields);
    else if (is_bytemap(it))
        kolk_lua_push_bytemap(L, &it->it.bytemap, fields);
    else
        kolk_lua_push_pool(L, &it->it.pool, fields);
    return 1;
}

static int create(lua_State *L) {
    struct thing_container *it = numbered(L);
    const struct kind *kind = is_map(it) ? &slotmap_kind : is_bytemap(it) ? &bytemap_kind : &pool_kind;
    lua_Integer handle;
    struct thing *thing = is_passive(it) ? NULL : kind->create(&it->it, &handle);
    if (!thing) return lua_pushnil(L), 1;
    *thing = (struct thing){.x = -1, .hp = 100, .secret = &secret};
    lua_pushinteger(L, handle);
    return 1;
}

static int count_resets(lua_State *L) {
    lua_pushinteger(L, resets);
    return 1;
}

static int forget(lua_State *L) {
    kolk_lua_forget(L, &numbered(L)->it);
    return 0;
}

static void end(struct thing_container *it) {
    if (is_map(it))
        end_slotmap(&it->it.map);
    else if (is_bytemap(it))
        end_bytemap(&it->it.bytemap);
    else
        end_pool(&it->it.pool);
    end_pool(&it->spare); /* all zero if there is none */
    it->what = NULL;
}

static int finish(lua_State *L) {
    struct thing_container *it = numbered(L);
    kolk_lua_forget(L, &it->it);
    end(it);
    return 0;
}

static int set_budget(lua_State *L) {
    budget = (kolk_budget){.limit = (uint64_t)luaL_optinteger(L, 1, 0), .used_ = budget.used_};
    kolk_lua_set_budget(L, lua_isnoneornil(L, 1) ? NULL : &budget);
    return 0;
}

static void check_members(const struct kind *kind, void *members, bool has_secrets) {
    if (kind == &pool_kind)
        require(kolk_pool_is_valid(members), "kolk_pool_is_valid");
    else if (kind == &slotmap_kind)
        require(kolk_slotmap_is_valid(members), "kolk_slotmap_is_valid");
    else
        require(kolk_bytemap_is_valid(members), "kolk_bytemap_is_valid");
    if (!has_secrets) return;
    union cursor cursor;
    void *object;
    lua_Integer handle;
    kind->begin(members, &cursor);
    while (kind->next(members, &cursor, &object, &handle)) {
        const void *found = ((struct thing *)object)->secret;
        require(!found || found == &secret, "the secret of a thing");
    }
}

static void check_all(void) {
    for (struct thing_container *it = all; it < all + MOST; it++) {
        if (!it->what || strcmp(it->what, "handleless") == 0) continue;
        const struct kind *kind = is_map(it) ? &slotmap_kind : is_bytemap(it) ? &bytemap_kind : &pool_kind;
        check_members(kind, &it->it, true);
    }
}

static int check(lua_State *L) {
    check_all();
    for (int i = 1; i <= lua_gettop(L); i++) {
        struct container *it = lua_touserdata(L, i);
        if (it->members == &it->own) check_members(it->kind, it->members, false);
    }
    return 0;
}

static const luaL_Reg host_functions[] = {
    {"make", make},           {"push", push},   {"create", create}, {"forget", forget},     {"finish", finish},
    {"resets", count_resets}, {"check", check}, {"fail", fail},     {"budget", set_budget}, {NULL, NULL}};

int main(int argc, char **argv) {
    lua_State *L = lua_newstate(allocate, NULL);
    luaL_openlibs(L);
    luaL_requiref(L, "kolk", luaopen_kolk, 0);
    luaL_newlib(L, host_functions);
    lua_setglobal(L, "host");
    lua_createtable(L, argc, 0);
    for (int i = 1; i < argc; i++) lua_pushstring(L, argv[i]), lua_rawseti(L, -2, i - 1);
    lua_setglobal(L, "arg");
    lua_settop(L, 0);
    int failed = luaL_dofile(L, argv[1]);
    if (failed) fprintf(stderr, "%s\n", lua_tostring(L, -1));
    lua_close(L);
    check_all();
    for (struct thing_container *it = all; it < all + MOST; it++)
        if (it->what) end(it);
    require(kolk_budget_used(&budget) == 0, "nothing of the budget is used at the end");
    return failed ? 1 : 0;
}
