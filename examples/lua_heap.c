/* Lua in a heap: the interpreter has its own kolk_heap. So its memory is limited, all of it can be counted, and misuse
 * of memory by your C functions is reported. `lua_heap FILE` runs a script with malloc and with kolk in turn, and
 * prints the times. */
#include "kolk.h"
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <time.h>

enum { MANY = 1000, ROUNDS = 15 };

static void *from_kolk(void *heap, void *block, size_t before, size_t size) {
    (void)before; /* the heap knows the size */
    if (size) return kolk_heap_realloc(heap, block, size);
    kolk_heap_free(heap, block);
    return NULL;
}

static void run(lua_State *lua, int loaded) {
    if (loaded == LUA_OK && lua_pcall(lua, 0, 0, 0) == LUA_OK) return;
    printf("Lua says: %s\n", lua_tostring(lua, -1));
}

/* Prints the memory of 1,000 such values: the bytes that Lua requests, and the blocks that it gets. */
static void count(const kolk_heap *heap, lua_State *lua, const char *what, const char *expression) {
    int64_t blocks[KOLK_HEAP_CLASSES];
    kolk_heap_class_stats class_;
    lua_createtable(lua, MANY, 0);
    lua_setglobal(lua, "kept");
    int loaded = luaL_loadstring(lua, lua_pushfstring(lua, "for n = 1, %d do kept[n] = %s end", MANY + 0, expression));
    for (uint32_t n = 0; n < heap->n_classes; n++)
        kolk_heap_stats_of_class(heap, n, &class_), blocks[n] = class_.stats.count;
    int bytes = lua_gc(lua, LUA_GCCOUNT) * 1024 + lua_gc(lua, LUA_GCCOUNTB);
    run(lua, loaded);
    bytes = lua_gc(lua, LUA_GCCOUNT) * 1024 + lua_gc(lua, LUA_GCCOUNTB) - bytes;
    printf("%-24s %3d bytes, in blocks of", what, bytes / MANY);
    for (uint32_t n = 0; n < heap->n_classes; n++) {
        kolk_heap_stats_of_class(heap, n, &class_);
        for (int64_t more = class_.stats.count - blocks[n]; more >= MANY; more -= MANY)
            printf(" %u", (unsigned)class_.stats.object_size);
    }
    printf("\n");
}

static void time_script(kolk_heap *heap, const char *file) {
    for (int turn = 0; turn < 2 * ROUNDS; turn++) {
        clock_t begin = clock();
        lua_State *lua = turn % 2 ? lua_newstate(from_kolk, heap) : luaL_newstate(); /* the latter uses malloc */
        luaL_openlibs(lua);
        run(lua, luaL_loadfile(lua, file));
        lua_close(lua);
        printf("%s %.2f ms\n", turn % 2 ? "kolk  " : "malloc", (double)(clock() - begin) * 1e3 / CLOCKS_PER_SEC);
    }
}

int main(int argc, char **argv) {
    kolk_heap heap;
    kolk_stats left;
    if (kolk_heap_init(&heap, &(kolk_heap_desc){.name = "Lua", .limit = argc > 1 ? 0 : 8 << 20}) != KOLK_OK) return 1;
    if (heap.n_classes == 0) return 77; /* under a tool that watches malloc, each block comes from malloc */
    if (argc > 1) return time_script(&heap, argv[1]), 0;
    lua_State *lua = lua_newstate(from_kolk, &heap);
    luaL_openlibs(lua);
    lua_gc(lua, LUA_GCSTOP);
    count(&heap, lua, "a string of 100 letters", "('x'):rep(100)");
    count(&heap, lua, "an empty table", "{}");
    count(&heap, lua, "a table of one field", "{n = n}");
    count(&heap, lua, "a closure of one local", "function() n = n + 1 end");
    count(&heap, lua, "a coroutine", "coroutine.create(print)");
    lua_gc(lua, LUA_GCRESTART);
    run(lua, luaL_loadstring(lua, "local all = {} for n = 1, math.huge do all[n] = {n} end"));
    run(lua, luaL_loadstring(lua, "error('still there, after ' .. #('x'):rep(100000) .. ' letters more', 0)"));
    lua_close(lua);
    kolk_heap_stats(&heap, &left);
    printf("%u blocks are left\n", left.count);
    kolk_heap_deinit(&heap);
}

/* runs: 64-bits not:qemu not:wine */
