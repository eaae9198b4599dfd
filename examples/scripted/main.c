/* Sparkles whose life is in a script. The program has the pool, and moves all sparkles in a loop of C, which is fast.
 * sparkles.lua decides which ones are born, and which ones die; it has a pool of its own too. What the script does
 * wrong is an error of Lua, which the program prints. */
#include "kolk_lua.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

struct sparkle {
    float x, y, dx, dy;
    int frames_left;
    const char *sprite; /* the program's own: the script does not see it */
};
KOLK_POOL_TYPE(sparkles, struct sparkle)

static void run(lua_State *lua, int status) {
    if (status == LUA_OK) status = lua_pcall(lua, 0, 0, 0);
    if (status != LUA_OK) printf("the script failed: %s\n", lua_tostring(lua, -1));
    lua_settop(lua, 0);
}

static void call(lua_State *lua, const char *function) {
    run(lua, lua_getglobal(lua, function) == LUA_TNIL ? LUA_ERRRUN : LUA_OK);
}

int main(int argc, char **argv) {
    static const luaL_Reg libraries[] = {{LUA_GNAME, luaopen_base},
                                         {LUA_MATHLIBNAME, luaopen_math},
                                         {LUA_STRLIBNAME, luaopen_string},
                                         {"kolk", luaopen_kolk}};
    sparkles pool;
    if (sparkles_init(&pool, &(kolk_pool_desc){.name = "sparkles", .capacity = 6}) != KOLK_OK) return 1;
    lua_State *lua = luaL_newstate();
    if (!lua) return 1;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
    kolk_lua_push_pool(lua, &pool.pool, "float x, y, dx, dy; int frames_left");
    lua_setglobal(lua, "sparkles");
    run(lua, luaL_loadfilex(lua, argc > 1 ? argv[1] : "examples/scripted/sparkles.lua", "t"));

    for (int frame = 1; frame <= 4; frame++) {
        call(lua, "frame");
        KOLK_EACH(sparkles, each, &pool) {
            each->x += each->dx;
            each->y += each->dy;
        }
        printf("frame %d, %u sparkles:", frame, sparkles_count(&pool));
        KOLK_EACH(sparkles, each, &pool) printf(" (%g, %g)", each->x, each->y);
        printf("\n");
    }

    kolk_lua_forget(lua, &pool.pool); /* the script keeps its variable `sparkles`, but cannot use the pool any more */
    sparkles_deinit(&pool);
    call(lua, "frame");
    lua_close(lua);
}

/* runs: not:qemu not:wine */
