/* SPDX-License-Identifier: Zlib */
/* kolk_lua.h: kolk's pools, slot maps and byte maps for scripts of Lua 5.4, and for the C programs that run them.
 *
 *     lua_State *lua = luaL_newstate();
 *     luaL_openlibs(lua);
 *     luaL_requiref(lua, "kolk", luaopen_kolk, 0);     // scripts call: local kolk = require "kolk"
 *     kolk_lua_push_pool(lua, &sparkles, "float x, y, dx, dy; int frames_left");
 *     lua_setglobal(lua, "sparkles");                  // scripts call: for sparkle, x, y in sparkles:each("x", "y") do
 *     ...
 *     kolk_lua_forget(lua, &sparkles);
 *     kolk_pool_deinit(&sparkles);
 *
 * docs/lua.md is the manual of what scripts can do. Compile kolk_lua.c with the program, or as a module (kolk.so).
 *
 * Cost      a method is one call of a C function. For each field that it reads or writes by its name, it searches the
 *           names of the fields by comparing pointers.
 * Memory    that of the pools. In Lua's own memory are a pool's userdata, and each object and walk that a script makes.
 * Contents  a new object has all bytes 0, unless its pool has .keep or a setup hook.
 * Threads   one thread at a time may use a state of Lua and its pools.
 * Safety    whatever a script passes, no call corrupts a pool, ends the process or reports a bug to kolk's failure
 *           handler: a mistake is an error of Lua, nil or false. Lua itself must be safe for this: give scripts
 *           that you don't trust neither its library `debug` nor binary chunks (load, dofile).
 */
#ifndef KOLK_LUA_H
#define KOLK_LUA_H

#include "kolk.h"

#ifdef __cplusplus
extern "C" {
#endif

#include <lua.h> /* which has no extern "C" of its own */

/* Returns the module: a table with the functions pool, slotmap and bytemap. */
LUAMOD_API int luaopen_kolk(lua_State *L);

/* Pushes the userdata by which scripts use a pool of the program. `fields` declares the first members of its objects as
 * C does: "float x, dx; int32_t hp". Members after these are the program's own. Scripts can do with it all that they
 * can do with pools of their own, but close() only ends their access. For the same pool, the same userdata is pushed
 * until it is forgotten. Raises an error of Lua if `fields` is not understood or longer than the pool's objects, or if
 * the pool or one of its overflow pools has no handles (KOLK_GENERATIONS_NONE). */
void kolk_lua_push_pool(lua_State *L, kolk_pool *pool, const char *fields);
void kolk_lua_push_slotmap(lua_State *L, kolk_slotmap *map, const char *fields);
void kolk_lua_push_bytemap(lua_State *L, kolk_bytemap *pool, const char *fields);

/* Ends the scripts' access to a pool, slot map or byte map of the program. From then on, each use of it in a script is
 * an error of Lua. Call it before the pool ends, unless the state ends first. Does nothing if it was never pushed.
 * Raises no error of Lua, and needs three places on the stack. */
void kolk_lua_forget(lua_State *L, const void *pool);

/* From now on, the bytes of pools and slot maps that scripts make count towards this budget (kolk/budget.h), which
 * must outlive the state. NULL: no budget. */
void kolk_lua_set_budget(lua_State *L, kolk_budget *budget);

#ifdef __cplusplus
}
#endif
#endif
