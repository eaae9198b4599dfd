/* kolk_lua.c: the module kolk for Lua 5.4. kolk_lua.h has the interface for C programs, docs/lua.md that for scripts.
 *
 *     userdata "kolk.pool"    container: its kind, the pool, the table of fields, and the pool itself if it is the
 *                             script's own. `members` is NULL once it is closed or forgotten.
 *     userdata "kolk.object"  object: a container and a handle. Each access looks the handle up.
 *     function of each()      walk: a container, a cursor of kolk, and the fields to return
 *
 * The three kinds (pool, slot map, byte map) have the same methods. What they do differently is in the functions of
 * `struct kind`.
 *
 * Why no script can do harm:
 *   1. Each function begins with open_container or the like, which raises an error unless argument 1 is a userdata
 *      with the right metatable, whose `members` exist. The script's code runs within a method only in on_full, and
 *      in finalisers when Lua allocates: after either, the method looks again.
 *   2. An object is reached only by `find`, which returns NULL for every integer that is not the handle of a live
 *      object. find does not call kolk_pool_get, because in debug mode that reports handles of other pools as a bug.
 *   3. A walk keeps a cursor, not an object. A cursor of kolk may be continued after any operation but the pool's end.
 *   4. Between the lookup of an object and its last use, no code of the script runs: values are read from Lua without
 *      metamethods, and nothing is allocated but the sentence of an error. */
#include "kolk_lua.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#define POOL    "kolk.pool"
#define SLOTMAP "kolk.slotmap"
#define BYTEMAP "kolk.bytemap"
#define OBJECT  "kolk.object"

_Static_assert(sizeof(lua_Integer) >= 8, "a handle is an integer of Lua");

/* ---- Fields ------------------------------------------------------------------------------------------------------ */

enum form { FORM_FLOAT, FORM_DOUBLE, FORM_BOOL, FORM_SIGNED, FORM_UNSIGNED };

struct type {
    const char *name;
    enum form form;
    uint8_t size, align;
};

#define TYPE(name, form, T)                                                                                            \
    { name, form, sizeof(T), _Alignof(T) }

static const struct type types[] = {
    TYPE("float", FORM_FLOAT, float),
    TYPE("double", FORM_DOUBLE, double),
    TYPE("bool", FORM_BOOL, bool),
    TYPE("int", FORM_SIGNED, int),
    TYPE("int8_t", FORM_SIGNED, int8_t),
    TYPE("int16_t", FORM_SIGNED, int16_t),
    TYPE("int32_t", FORM_SIGNED, int32_t),
    TYPE("int64_t", FORM_SIGNED, int64_t),
    TYPE("uint8_t", FORM_UNSIGNED, uint8_t),
    TYPE("uint16_t", FORM_UNSIGNED, uint16_t),
    TYPE("uint32_t", FORM_UNSIGNED, uint32_t),
    TYPE("uint64_t", FORM_UNSIGNED, uint64_t), /* above 2^63: a negative integer of Lua, with the same bits */
    TYPE("kolk_handle", FORM_UNSIGNED, kolk_handle),
};

struct field {
    const char *name; /* a string of the container's table of names */
    const struct type *type;
    uint32_t offset;
};

static bool is_float(const struct field *field) {
    return field->type->form == FORM_FLOAT || field->type->form == FORM_DOUBLE;
}

/* The value of a field that is a float or double. */
static double number_of(const struct field *field, const unsigned char *object) {
    float f;
    double d;
    if (field->type->form == FORM_FLOAT) return memcpy(&f, object + field->offset, sizeof f), (double)f;
    return memcpy(&d, object + field->offset, sizeof d), d;
}

/* The value of any other field. That of a bool may be above 1 after a restore. */
static lua_Integer integer_of(const struct field *field, const unsigned char *object) {
    bool is_signed = field->type->form == FORM_SIGNED;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (field->type->size) {
    case 1:
        memcpy(&u8, object + field->offset, sizeof u8);
        return is_signed ? (int8_t)u8 : u8;
    case 2:
        memcpy(&u16, object + field->offset, sizeof u16);
        return is_signed ? (int16_t)u16 : u16;
    case 4:
        memcpy(&u32, object + field->offset, sizeof u32);
        return is_signed ? (lua_Integer)(int32_t)u32 : (lua_Integer)u32;
    default:
        memcpy(&u64, object + field->offset, sizeof u64);
        return (lua_Integer)u64;
    }
}

static void push_field(lua_State *L, const struct field *field, const unsigned char *object) {
    if (is_float(field))
        lua_pushnumber(L, (lua_Number)number_of(field, object));
    else if (field->type->form == FORM_BOOL)
        lua_pushboolean(L, integer_of(field, object) != 0);
    else
        lua_pushinteger(L, integer_of(field, object));
}

/* Pushes a value in words: a number itself, otherwise its type. */
static const char *push_words(lua_State *L, int index) {
    if (lua_type(L, index) == LUA_TNUMBER) return luaL_tolstring(L, index, NULL);
    return lua_pushstring(L, luaL_typename(L, index));
}

/* Pushes why a value does not suit a field, and returns false. */
static bool refuse(lua_State *L, const struct field *field, const char *expected, int index) {
    lua_pushfstring(L, "the field %s is %s (got %s)", field->name, expected, push_words(L, index));
    return false;
}

static bool store_integer(lua_State *L, const struct field *field, unsigned char *place, int index) {
    unsigned bits = 8u * field->type->size;
    int is_integer = 0;
    lua_Integer value = lua_type(L, index) == LUA_TNUMBER ? lua_tointegerx(L, index, &is_integer) : 0;
    lua_Integer least = INT64_MIN, most = INT64_MAX;
    if (bits < 64 && field->type->form == FORM_SIGNED) {
        least = -((lua_Integer)1 << (bits - 1));
        most = -1 - least;
    } else if (bits < 64) {
        least = 0;
        most = ((lua_Integer)1 << bits) - 1;
    }
    if (!is_integer || value < least || value > most) {
        const char *got = push_words(L, index); /* first, because there may be nothing at the index yet */
        lua_pushfstring(L, "the field %s is an integer from %I to %I (got %s)", field->name, (LUAI_UACINT)least,
                        (LUAI_UACINT)most, got);
        return false;
    }
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;
    uint64_t u64 = (uint64_t)value;
    switch (bits) {
    case 8:
        memcpy(place, &u8, sizeof u8);
        break;
    case 16:
        memcpy(place, &u16, sizeof u16);
        break;
    case 32:
        memcpy(place, &u32, sizeof u32);
        break;
    default:
        memcpy(place, &u64, sizeof u64);
        break;
    }
    return true;
}

/* Sets a field to the value at `index`, an absolute one. Otherwise pushes a sentence and returns false. */
static bool store_field(lua_State *L, const struct field *field, unsigned char *object, int index) {
    unsigned char *place = object + field->offset;
    bool is_bool = field->type->form == FORM_BOOL;
    if (!is_bool && !is_float(field)) return store_integer(L, field, place, index);
    if (lua_type(L, index) != (is_bool ? LUA_TBOOLEAN : LUA_TNUMBER))
        return refuse(L, field, is_bool ? "a boolean" : "a number", index);
    double d = lua_tonumber(L, index);
    float f = (float)d;
    bool b = lua_toboolean(L, index);
    const void *value = is_bool ? (const void *)&b : field->type->form == FORM_FLOAT ? (const void *)&f : &d;
    memcpy(place, value, field->type->size);
    return true;
}

/* ---- Containers -------------------------------------------------------------------------------------------------- */

union cursor {
    kolk_cursor pool;
    kolk_slotmap_cursor map;
    int32_t bytemap;
};

/* What pools, slot maps and byte maps do in different ways. `members` is the kolk_pool, kolk_slotmap or
 * kolk_bytemap. */
struct kind {
    const char *metatable, *noun;
    const char *add, *remove; /* the names of these methods */
    void *(*find)(void *members, lua_Integer handle);
    void *(*create)(void *members, lua_Integer *handle); /* all bytes are 0, unless the pool keeps contents */
    void (*destroy)(void *members, void *object, lua_Integer handle);
    void (*begin)(void *members, union cursor *cursor);
    bool (*next)(void *members, union cursor *cursor, void **object, lua_Integer *handle);
    void (*clear)(void *members);
    void (*stats)(const void *members, kolk_stats *out);
    size_t (*snapshot_size)(const void *members);
    size_t (*snapshot)(const void *members, void *block, size_t size);
    kolk_status (*restore)(void *members, const void *block, size_t size);
    void (*end)(void *members);
    const luaL_Reg *more; /* methods that only some kinds have */
};

struct container {
    const struct kind *kind;
    void *members;            /* NULL: closed or forgotten */
    const struct field *cost; /* the field by which on_full = "cheapest" chooses */
    bool read_only;           /* a byte map that the program has attached so */
    bool in_on_full;          /* the script's function on_full is running */
    union {
        kolk_pool pool;
        kolk_slotmap map;
        kolk_bytemap bytemap;
    } own;
    uint32_t n_fields;
    struct field fields[];
};

/* The user values of a container. */
enum { NAME = 1, FIELDS, ON_FULL };

struct object {
    struct container *container; /* the object's user value 1, so it exists as long as the object does */
    lua_Integer handle;
};

struct walk {
    struct container *container;
    union cursor cursor;
    int n;
    const struct field *fields[];
};

/* Returns the name of a container whose userdata is at `index`, and leaves it on the stack. */
static const char *push_name(lua_State *L, int index) {
    lua_getiuservalue(L, index, NAME);
    return lua_tostring(L, -1);
}

/* Raises an error with the sentence on top of the stack, about the container at `index`. */
_Noreturn static void raise(lua_State *L, int index) {
    const char *sentence = lua_tostring(L, -1);
    luaL_error(L, "%s: %s", push_name(L, index), sentence);
    abort(); /* luaL_error does not return */
}

/* The userdata at `index` if its metatable is the one that the function has as its first upvalue; else NULL. */
static void *own_userdata(lua_State *L, int index) {
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index)) return NULL;
    bool is_own = lua_rawequal(L, -1, lua_upvalueindex(1));
    lua_pop(L, 1);
    return is_own ? lua_touserdata(L, index) : NULL;
}

/* Argument 1 of a method: a container, open or not. */
static struct container *any_container(lua_State *L) {
    struct container *it = own_userdata(L, 1);
    if (!it) {
        lua_getfield(L, lua_upvalueindex(1), "__name");
        const char *expected = lua_tostring(L, -1); /* which the metatable keeps */
        lua_pop(L, 1);
        luaL_typeerror(L, 1, expected);
    }
    return it;
}

static void check_open(lua_State *L, const struct container *it) {
    if (!it->members) luaL_error(L, "%s is closed", push_name(L, 1));
}

static struct container *open_container(lua_State *L) {
    struct container *it = any_container(L);
    check_open(L, it);
    return it;
}

static struct container *writable_container(lua_State *L) {
    struct container *it = open_container(L);
    if (it->read_only) luaL_error(L, "%s: %s", push_name(L, 1), kolk_status_text(KOLK_READ_ONLY));
    return it;
}

/* A handle argument: an integer, or an object. An object of another container gives false. */
static bool handle_argument(lua_State *L, const struct container *it, int index, lua_Integer *handle) {
    if (lua_type(L, index) == LUA_TUSERDATA) {
        const struct object *object = luaL_checkudata(L, index, OBJECT);
        *handle = object->handle;
        return object->container == it;
    }
    *handle = luaL_checkinteger(L, index);
    return true;
}

/* The live object of a handle argument, or NULL. */
static void *object_argument(lua_State *L, const struct container *it, int index, lua_Integer *handle) {
    return handle_argument(L, it, index, handle) ? it->kind->find(it->members, *handle) : NULL;
}

/* The field of this name, or NULL. Short strings of Lua are equal if and only if they have the same address. */
static const struct field *find_field(const struct container *it, const char *name) {
    for (const struct field *field = it->fields; field < it->fields + it->n_fields; field++)
        if (field->name == name) return field;
    for (const struct field *field = it->fields; field < it->fields + it->n_fields; field++)
        if (strcmp(field->name, name) == 0) return field;
    return NULL;
}

/* The field whose name is at `index`. Otherwise pushes a sentence and returns NULL. */
static const struct field *field_at(lua_State *L, const struct container *it, int index) {
    const struct field *field = NULL;
    if (lua_type(L, index) == LUA_TSTRING) {
        const char *name = lua_tostring(L, index);
        if ((field = find_field(it, name)) == NULL) lua_pushfstring(L, "there is no field %s", name);
    } else {
        lua_pushfstring(L, "the name of a field was expected (got %s)", luaL_typename(L, index));
    }
    return field;
}

static const struct field *field_argument(lua_State *L, const struct container *it, int index) {
    const struct field *field = field_at(L, it, index);
    if (!field) raise(L, 1);
    return field;
}

/* Sets the fields that the arguments from `index` on name: one table, or pairs of a name and a value. Otherwise pushes
 * a sentence and returns false; fields that came before the wrong one are set. */
static bool store_arguments(lua_State *L, const struct container *it, unsigned char *object, int index) {
    const struct field *field;
    int top = lua_gettop(L);
    if (lua_type(L, index) == LUA_TTABLE) {
        lua_pushnil(L);
        while (lua_next(L, index)) {
            if ((field = field_at(L, it, -2)) == NULL) return false;
            if (!store_field(L, field, object, lua_gettop(L))) return false;
            lua_pop(L, 1);
        }
        return true;
    }
    for (; index <= top; index += 2) {
        if ((field = field_at(L, it, index)) == NULL) return false;
        if (!store_field(L, field, object, index + 1)) return false;
    }
    return true;
}

/* ---- Methods ----------------------------------------------------------------------------------------------------- */

/* Sets the fields of a new object as the arguments from `index` on say, and pushes its handle; nil for NULL. */
static int push_new(lua_State *L, struct container *it, void *object, lua_Integer handle, int index) {
    if (!object) return lua_pushnil(L), 1;
    if (!store_arguments(L, it, object, index)) {
        bool is_there = it->members && it->kind->find(it->members, handle) == object; /* finalisers may have run */
        if (is_there) it->kind->destroy(it->members, object, handle);
        raise(L, 1);
    }
    lua_pushinteger(L, handle);
    return 1;
}

/* it:add(...): the handle of a new object, or nil. The name of the method depends on the kind. */
static int add(lua_State *L) {
    struct container *it = writable_container(L);
    int top = lua_gettop(L);
    lua_Integer handle;
    unsigned char *object = it->kind->create(it->members, &handle);
    if (!object && !it->in_on_full && lua_getiuservalue(L, 1, ON_FULL) == LUA_TFUNCTION) {
        lua_pushvalue(L, 1);
        it->in_on_full = true;
        int status = lua_pcall(L, 1, 1, 0);
        it->in_on_full = false;
        if (status != LUA_OK) return lua_error(L);
        check_open(L, it);
        if (lua_toboolean(L, -1)) object = it->kind->create(it->members, &handle);
    }
    lua_settop(L, top);
    return push_new(L, it, object, handle, 2);
}

/* it:remove(handle): false if it is stale. */
static int remove_object(lua_State *L) {
    struct container *it = writable_container(L);
    lua_Integer handle;
    void *object = object_argument(L, it, 2, &handle);
    if (object) it->kind->destroy(it->members, object, handle);
    lua_pushboolean(L, object != NULL);
    return 1;
}

static int is_alive(lua_State *L) {
    struct container *it = open_container(L);
    lua_Integer handle;
    lua_pushboolean(L, object_argument(L, it, 2, &handle) != NULL);
    return 1;
}

/* it:get(handle, names...): the values, without names those of all fields; nil if the handle is stale. */
static int get(lua_State *L) {
    struct container *it = open_container(L);
    lua_Integer handle;
    int top = lua_gettop(L), n = top - 2;
    const unsigned char *object = object_argument(L, it, 2, &handle);
    if (!object) return lua_pushnil(L), 1;
    luaL_checkstack(L, (n > 0 ? n : (int)it->n_fields) + 4, "too many fields");
    for (int i = 3; i <= top; i++) push_field(L, field_argument(L, it, i), object);
    if (n > 0) return n;
    for (uint32_t i = 0; i < it->n_fields; i++) push_field(L, &it->fields[i], object);
    return (int)it->n_fields;
}

/* it:set(handle, ...): false if the handle is stale. */
static int set(lua_State *L) {
    struct container *it = writable_container(L);
    lua_Integer handle;
    unsigned char *object = object_argument(L, it, 2, &handle);
    if (object && !store_arguments(L, it, object, 3)) raise(L, 1);
    lua_pushboolean(L, object != NULL);
    return 1;
}

/* it:object(handle): an object, or nil. */
static int make_object(lua_State *L) {
    struct container *it = open_container(L);
    lua_Integer handle;
    if (!object_argument(L, it, 2, &handle)) return lua_pushnil(L), 1;
    struct object *made = lua_newuserdatauv(L, sizeof *made, 1);
    *made = (struct object){it, handle};
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    luaL_setmetatable(L, OBJECT);
    return 1;
}

/* it:handle(object): its handle, whether stale or not. */
static int handle_of(lua_State *L) {
    const struct container *it = any_container(L);
    lua_Integer handle;
    if (handle_argument(L, it, 2, &handle))
        lua_pushinteger(L, handle);
    else
        lua_pushnil(L);
    return 1;
}

static int walk_on(lua_State *L) {
    struct walk *walk = lua_touserdata(L, lua_upvalueindex(1));
    const struct container *it = walk->container;
    if (!it->members) return luaL_error(L, "%s was closed during a walk", push_name(L, lua_upvalueindex(2)));
    luaL_checkstack(L, walk->n + 1, "too many fields"); /* before the step, which would be lost if this fails */
    void *object;
    lua_Integer handle;
    if (!it->kind->next(it->members, &walk->cursor, &object, &handle)) return lua_pushnil(L), 1;
    lua_pushinteger(L, handle);
    for (int i = 0; i < walk->n; i++) push_field(L, walk->fields[i], object);
    return 1 + walk->n;
}

/* it:each(names...): a function that returns the next handle and the values of these fields; nil at the end. */
static int each(lua_State *L) {
    struct container *it = open_container(L);
    int n = lua_gettop(L) - 1;
    union cursor cursor;
    it->kind->begin(it->members, &cursor);
    struct walk *begun = lua_newuserdatauv(L, sizeof *begun + (size_t)n * sizeof(const struct field *), 0);
    begun->container = it;
    begun->n = n;
    for (int i = 0; i < n; i++) begun->fields[i] = field_argument(L, it, 2 + i);
    begun->cursor = cursor;
    lua_pushvalue(L, 1);
    lua_pushcclosure(L, walk_on, 2);
    return 1;
}

static int clear(lua_State *L) {
    const struct container *it = writable_container(L);
    it->kind->clear(it->members);
    return 0;
}

static void read_stats(const struct container *it, kolk_stats *out) {
    it->kind->stats(it->members, out);
}

static int count(lua_State *L) {
    kolk_stats stats;
    read_stats(open_container(L), &stats);
    lua_pushinteger(L, stats.count);
    return 1;
}

static int capacity(lua_State *L) {
    kolk_stats stats;
    read_stats(open_container(L), &stats);
    lua_pushinteger(L, stats.capacity);
    return 1;
}

static int push_stats(lua_State *L) {
    kolk_stats stats;
    read_stats(open_container(L), &stats);
    const struct {
        const char *name;
        uint64_t value;
    } rows[] = {{"object_size", stats.object_size},
                {"stride", stats.stride},
                {"count", stats.count},
                {"peak", stats.peak},
                {"capacity", stats.capacity},
                {"max_capacity", stats.max_capacity},
                {"failed", stats.failed},
                {"evictions", stats.evictions},
                {"worn_out", stats.worn_out},
                {"recycled", stats.recycled},
                {"bytes_reserved", stats.bytes_reserved},
                {"bytes_committed", stats.bytes_committed}};
    lua_createtable(L, 0, sizeof rows / sizeof *rows + 2);
    lua_pushstring(L, stats.name);
    lua_setfield(L, -2, "name");
    lua_pushstring(L, stats.kind);
    lua_setfield(L, -2, "kind");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        lua_pushinteger(L, (lua_Integer)rows[i].value);
        lua_setfield(L, -2, rows[i].name);
    }
    return 1;
}

static int to_string(lua_State *L) {
    const struct container *it = any_container(L);
    const char *name = push_name(L, 1);
    if (!it->members) return lua_pushfstring(L, "%s %s, closed", it->kind->noun, name), 1;
    kolk_stats stats;
    read_stats(it, &stats);
    lua_pushfstring(L, "%s %s: %d of %d", it->kind->noun, name, (int)stats.count, (int)stats.max_capacity);
    return 1;
}

static int push_status(lua_State *L, kolk_status status) {
    if (status == KOLK_OK) return lua_pushboolean(L, true), 1;
    luaL_pushfail(L);
    lua_pushstring(L, kolk_status_text(status));
    return 2;
}

/* Argument 1: a container that is the script's own. A program's objects may have members that a script must neither see
 * nor forge. */
static const struct container *own_container(lua_State *L) {
    const struct container *it = open_container(L);
    if (it->members != &it->own) {
        lua_pushstring(L, "only the program may save and restore its own objects");
        raise(L, 1);
    }
    return it;
}

/* it:snapshot(): a string; nil and a sentence if none can be made. A finaliser may change the container, or close it,
 * while Lua makes room for the block. */
static int push_snapshot(lua_State *L) {
    const struct container *it = own_container(L);
    size_t size, written = 0;
    while (written == 0) {
        if ((size = it->kind->snapshot_size(it->members)) == 0) return push_status(L, KOLK_NO_SNAPSHOT);
        void *block = lua_newuserdatauv(L, size, 0);
        check_open(L, it);
        written = it->kind->snapshot(it->members, block, size);
        if (written) lua_pushlstring(L, block, written);
    }
    return 1;
}

/* it:restore(string): true; or nil and a sentence. */
static int restore(lua_State *L) {
    size_t size;
    const char *block = luaL_checklstring(L, 2, &size); /* before the container is looked at: this may run finalisers */
    const struct container *it = own_container(L);
    return push_status(L, it->kind->restore(it->members, block, size));
}

/* Ends a container of the script, and the script's access to one of the program. A second close does nothing. */
static int close_container(lua_State *L) {
    struct container *it = any_container(L);
    void *members = it->members;
    it->members = NULL;
    if (members == &it->own)
        it->kind->end(members);
    else if (members)
        kolk_lua_forget(L, members);
    return 0;
}

static const luaL_Reg methods[] = {{"is_alive", is_alive},
                                   {"get", get},
                                   {"set", set},
                                   {"object", make_object},
                                   {"handle", handle_of},
                                   {"each", each},
                                   {"clear", clear},
                                   {"count", count},
                                   {"capacity", capacity},
                                   {"stats", push_stats},
                                   {"close", close_container},
                                   {NULL, NULL}};

static const luaL_Reg metamethods[] = {
    {"__len", count}, {"__tostring", to_string}, {"__gc", close_container}, {"__close", close_container}, {NULL, NULL}};

/* ---- Objects ----------------------------------------------------------------------------------------------------- */

/* Argument 1 of a metamethod of objects. Pushes its container. */
static const struct object *checked_object(lua_State *L) {
    const struct object *it = own_userdata(L, 1);
    if (!it) luaL_typeerror(L, 1, OBJECT);
    lua_getiuservalue(L, 1, 1);
    return it;
}

static unsigned char *find_object(const struct object *it) {
    return it->container->members ? it->container->kind->find(it->container->members, it->handle) : NULL;
}

/* The live object of argument 1, and *field for argument 2, its name. Raises an error otherwise. */
static unsigned char *object_and_field(lua_State *L, const struct field **field) {
    const struct object *it = checked_object(L);
    int container = lua_gettop(L);
    unsigned char *found = find_object(it);
    if (!found) lua_pushstring(L, it->container->members ? "the object is gone" : "it is closed");
    if (!found || (*field = field_at(L, it->container, 2)) == NULL) raise(L, container);
    return found;
}

static int get_member(lua_State *L) {
    const struct field *field;
    const unsigned char *found = object_and_field(L, &field);
    push_field(L, field, found);
    return 1;
}

static int set_member(lua_State *L) {
    const struct field *field;
    unsigned char *found = object_and_field(L, &field);
    const struct object *it = lua_touserdata(L, 1);
    int container = lua_gettop(L);
    if (it->container->read_only)
        lua_pushstring(L, kolk_status_text(KOLK_READ_ONLY));
    else if (store_field(L, field, found, 3))
        return 0;
    raise(L, container);
}

static int are_equal(lua_State *L) {
    const struct object *a = own_userdata(L, 1), *b = own_userdata(L, 2);
    lua_pushboolean(L, a && b && a->container == b->container && a->handle == b->handle);
    return 1;
}

static int object_to_string(lua_State *L) {
    const struct object *it = checked_object(L);
    lua_pushfstring(L, "%s of %s: %I", find_object(it) ? "object" : "stale object", push_name(L, -1),
                    (LUAI_UACINT)it->handle);
    return 1;
}

static const luaL_Reg object_metamethods[] = {{"__index", get_member},
                                              {"__newindex", set_member},
                                              {"__eq", are_equal},
                                              {"__tostring", object_to_string},
                                              {NULL, NULL}};

/* ---- Kinds ------------------------------------------------------------------------------------------------------- */

/* Functions of kolk for `void *members`. */
#define WITHOUT_TYPE(noun)                                                                                             \
    static void clear_##noun(void *members) {                                                                          \
        kolk_##noun##_clear(members);                                                                                  \
    }                                                                                                                  \
    static void stats_##noun(const void *members, kolk_stats *out) {                                                   \
        kolk_##noun##_stats(members, out);                                                                             \
    }

/* Those of pools and slot maps. Objects that are alive at the end of a script's container are no leak. */
#define WITHOUT_TYPE_WITH_SNAPSHOTS(noun)                                                                              \
    WITHOUT_TYPE(noun)                                                                                                 \
    static size_t size_##noun(const void *members) {                                                                   \
        return kolk_##noun##_snapshot_size(members);                                                                   \
    }                                                                                                                  \
    static size_t snapshot_##noun(const void *members, void *block, size_t size) {                                     \
        return kolk_##noun##_snapshot(members, block, size);                                                           \
    }                                                                                                                  \
    static kolk_status restore_##noun(void *members, const void *block, size_t size) {                                 \
        return kolk_##noun##_restore(members, block, size);                                                            \
    }                                                                                                                  \
    static void end_##noun(void *members) {                                                                            \
        kolk_##noun##_clear(members);                                                                                  \
        kolk_##noun##_deinit(members);                                                                                 \
    }

WITHOUT_TYPE_WITH_SNAPSHOTS(pool)
WITHOUT_TYPE_WITH_SNAPSHOTS(slotmap)
WITHOUT_TYPE(bytemap)

/* ---- Pools ------------------------------------------------------------------------------------------------------- */

/* A handle's lower half is the index, XORed with the pool's tag (base.h). */
static void *find_in_pool(void *members, lua_Integer handle) {
    for (const kolk_pool *pool = members; pool; pool = pool->overflow) {
        void *object = kolk_pool_at(pool, (uint32_t)handle ^ pool->tag);
        if (object && kolk_pool_handle_of(pool, object).bits == (uint64_t)handle) return object;
    }
    return NULL;
}

/* Returns the new object, all zero unless the pool keeps contents, and its handle. */
static void *begin_object(void *members, void *object, lua_Integer *handle) {
    if (!object) return NULL;
    *handle = (lua_Integer)kolk_pool_handle_of(members, object).bits;
    const kolk_pool *holder = members; /* or one of its overflow pools, which decides for itself what it keeps */
    while (kolk_pool_at(holder, (uint32_t)*handle ^ holder->tag) != object) holder = holder->overflow;
    if (!holder->keep && !holder->setup) memset(object, 0, holder->object_size);
    return object;
}

static void *create_in_pool(void *members, lua_Integer *handle) {
    return begin_object(members, kolk_pool_alloc(members), handle);
}

/* it:renew(handle, ...): the handle of a new object in the same slot; nil if the handle is stale. */
static int renew(lua_State *L) {
    struct container *it = writable_container(L);
    lua_Integer handle;
    void *object = object_argument(L, it, 2, &handle);
    object = object ? begin_object(it->members, kolk_pool_renew(it->members, object), &handle) : NULL;
    return push_new(L, it, object, handle, 3);
}

static void destroy_in_pool(void *members, void *object, lua_Integer handle) {
    (void)handle;
    kolk_pool_free(members, object);
}

static void begin_in_pool(void *members, union cursor *cursor) {
    cursor->pool = kolk_pool_each(members);
}

static bool next_in_pool(void *members, union cursor *cursor, void **object, lua_Integer *handle) {
    if ((*object = kolk_cursor_next(&cursor->pool)) == NULL) return false;
    *handle = (lua_Integer)kolk_pool_handle_of(members, *object).bits;
    return true;
}

static const luaL_Reg pool_methods[] = {
    {"renew", renew}, {"snapshot", push_snapshot}, {"restore", restore}, {NULL, NULL}};

static const struct kind pool_kind = {
    .metatable = POOL,
    .noun = "pool",
    .add = "alloc",
    .remove = "free",
    .find = find_in_pool,
    .create = create_in_pool,
    .destroy = destroy_in_pool,
    .begin = begin_in_pool,
    .next = next_in_pool,
    .clear = clear_pool,
    .stats = stats_pool,
    .snapshot_size = size_pool,
    .snapshot = snapshot_pool,
    .restore = restore_pool,
    .end = end_pool,
    .more = pool_methods,
};

/* ---- Slot maps --------------------------------------------------------------------------------------------------- */

static void *find_in_map(void *members, lua_Integer handle) {
    const kolk_slotmap *map = members;
    uint32_t slot = (uint32_t)handle ^ map->tag;
    void *object =
        slot < map->fresh ? kolk_slotmap_at(map, map->cells[slot].place) : NULL; /* NULL for a free slot's place */
    return object && kolk_slotmap_handle_of(map, object).bits == (uint64_t)handle ? object : NULL;
}

static void *create_in_map(void *members, lua_Integer *handle) {
    kolk_handle made;
    void *object = kolk_slotmap_add(members, &made);
    if (!object) return NULL;
    *handle = (lua_Integer)made.bits;
    return memset(object, 0, ((const kolk_slotmap *)members)->object_size);
}

static void destroy_in_map(void *members, void *object, lua_Integer handle) {
    (void)object;
    kolk_slotmap_remove(members, (kolk_handle){(uint64_t)handle});
}

static void begin_in_map(void *members, union cursor *cursor) {
    cursor->map = kolk_slotmap_each(members);
}

static bool next_in_map(void *members, union cursor *cursor, void **object, lua_Integer *handle) {
    if ((*object = kolk_slotmap_cursor_next(&cursor->map)) == NULL) return false;
    *handle = (lua_Integer)kolk_slotmap_handle_of(members, *object).bits;
    return true;
}

static int compare_by_field(const void *a, const void *b, void *context) {
    const struct field *by = context;
    if (is_float(by)) {
        double left = number_of(by, a), right = number_of(by, b);
        if (left != left || right != right) return (left != left) - (right != right); /* not a number: comes last */
        return (left > right) - (left < right);
    }
    lua_Integer left = integer_of(by, a), right = integer_of(by, b);
    return (left > right) - (left < right);
}

/* it:sort(name): by this field, ascending. Equal objects keep their order. */
static int sort_map(lua_State *L) {
    const struct container *it = open_container(L);
    const struct field *field = field_argument(L, it, 2);
    kolk_slotmap_sort(it->members, compare_by_field, (void *)(uintptr_t)field);
    return 0;
}

static const luaL_Reg map_methods[] = {
    {"snapshot", push_snapshot}, {"restore", restore}, {"sort", sort_map}, {NULL, NULL}};

static const struct kind slotmap_kind = {
    .metatable = SLOTMAP,
    .noun = "slot map",
    .add = "add",
    .remove = "remove",
    .find = find_in_map,
    .create = create_in_map,
    .destroy = destroy_in_map,
    .begin = begin_in_map,
    .next = next_in_map,
    .clear = clear_slotmap,
    .stats = stats_slotmap,
    .snapshot_size = size_slotmap,
    .snapshot = snapshot_slotmap,
    .restore = restore_slotmap,
    .end = end_slotmap,
    .more = map_methods,
};

/* ---- Byte maps --------------------------------------------------------------------------------------------------- */

static void *find_in_bytemap(void *members, lua_Integer handle) {
    bool is_possible = handle >= 0 && handle <= INT32_MAX;
    return is_possible ? kolk_bytemap_get_at(members, (int32_t)handle) : NULL;
}

static void *create_in_bytemap(void *members, lua_Integer *handle) {
    void *object = kolk_bytemap_new(members);
    if (!object) return NULL;
    *handle = kolk_bytemap_get_index(members, object);
    return memset(object, 0, ((const kolk_bytemap *)members)->object_size);
}

static void destroy_in_bytemap(void *members, void *object, lua_Integer handle) {
    (void)handle;
    kolk_bytemap_delete(members, object);
}

static void begin_in_bytemap(void *members, union cursor *cursor) {
    (void)members;
    cursor->bytemap = KOLK_BYTEMAP_NULL;
}

static bool next_in_bytemap(void *members, union cursor *cursor, void **object, lua_Integer *handle) {
    int32_t next = kolk_bytemap_next_handle(members, cursor->bytemap);
    if (next == KOLK_BYTEMAP_NULL) return false;
    cursor->bytemap = next;
    *object = kolk_bytemap_get_at(members, next);
    *handle = next;
    return true;
}

static void end_bytemap(void *members) {
    kolk_bytemap_flush(members);
}

static const luaL_Reg bytemap_methods[] = {{NULL, NULL}};

static const struct kind bytemap_kind = {
    .metatable = BYTEMAP,
    .noun = "byte map",
    .add = "new",
    .remove = "delete",
    .find = find_in_bytemap,
    .create = create_in_bytemap,
    .destroy = destroy_in_bytemap,
    .begin = begin_in_bytemap,
    .next = next_in_bytemap,
    .clear = clear_bytemap,
    .stats = stats_bytemap,
    .end = end_bytemap,
    .more = bytemap_methods,
};

/* ---- Making them ------------------------------------------------------------------------------------------------- */

/* Adds these functions to the table on top of the stack. Each gets the metatable below it as its upvalue. */
static void add_functions(lua_State *L, int metatable, const luaL_Reg *functions) {
    lua_pushvalue(L, metatable);
    luaL_setfuncs(L, functions, 1);
}

/* Makes a metatable with these metamethods, and leaves it on the stack. It is not registered before it is complete. */
static void push_new_metatable(lua_State *L, const char *name, const luaL_Reg *functions) {
    lua_createtable(L, 0, 8);
    add_functions(L, lua_gettop(L), functions);
    lua_pushstring(L, name);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "__name");
    lua_setfield(L, -2, "__metatable"); /* scripts see the name only */
}

static void push_metatable(lua_State *L, const struct kind *kind) {
    if (luaL_getmetatable(L, OBJECT) == LUA_TNIL) {
        push_new_metatable(L, OBJECT, object_metamethods);
        lua_setfield(L, LUA_REGISTRYINDEX, OBJECT);
    }
    lua_pop(L, 1);
    if (luaL_getmetatable(L, kind->metatable) != LUA_TNIL) return;
    lua_pop(L, 1);
    push_new_metatable(L, kind->metatable, metamethods);
    int metatable = lua_gettop(L);
    const luaL_Reg named[] = {{kind->add, add}, {kind->remove, remove_object}, {NULL, NULL}};
    lua_createtable(L, 0, 20);
    add_functions(L, metatable, methods);
    add_functions(L, metatable, named);
    add_functions(L, metatable, kind->more);
    lua_setfield(L, metatable, "__index");
    lua_pushvalue(L, metatable);
    lua_setfield(L, LUA_REGISTRYINDEX, kind->metatable);
}

static size_t round_up(size_t size, size_t align) {
    return (size + align - 1) / align * align;
}

static const char *skip_space(const char *at) {
    return at + strspn(at, " \t\r\n");
}

static size_t word_length(const char *at) {
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
}

/* The type of this name, with or without its _t. */
static const struct type *find_type(const char *name, size_t length) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strncmp(types[i].name, name, length) != 0) continue;
        const char *rest = types[i].name + length;
        if (!*rest || strcmp(rest, "_t") == 0) return &types[i];
    }
    return NULL;
}

/* Fills in the fields that the text declares, and the table of their names on top of the stack. `align` is that of the
 * struct. Returns the end of the last field. */
static size_t parse_fields(lua_State *L, struct container *it, const char *name, const char *text, size_t *align) {
    size_t end = 0;
    *align = 1;
    lua_newtable(L); /* has the names as keys */
    for (const char *at = skip_space(text); *at; at = skip_space(at)) {
        const struct type *type = find_type(at, word_length(at));
        if (!type) return (size_t)luaL_error(L, "%s: fields: a type was expected here: %s", name, at);
        at += word_length(at);
        do {
            at = skip_space(at);
            size_t length = word_length(at);
            if (length == 0 || (*at >= '0' && *at <= '9'))
                luaL_error(L, "%s: fields: a name was expected here: %s", name, at);
            lua_pushlstring(L, at, length);
            const char *word = lua_tostring(L, -1);
            lua_pushvalue(L, -1);
            if (lua_rawget(L, -3) != LUA_TNIL) luaL_error(L, "%s: fields: there are two fields %s", name, word);
            lua_pop(L, 1);
            lua_pushvalue(L, -1);
            lua_pushboolean(L, true);
            lua_rawset(L, -4);
            size_t offset = round_up(end, type->align);
            end = offset + type->size;
            if (end > INT32_MAX) luaL_error(L, "%s: %s", name, kolk_status_text(KOLK_SIZE_OVERFLOW));
            it->fields[it->n_fields++] = (struct field){word, type, (uint32_t)offset};
            lua_rawseti(L, -3, it->n_fields);
            at = skip_space(at + length);
        } while (*at == ',' && at++);
        if (*at && *at != ';') luaL_error(L, "%s: fields: , or ; was expected here: %s", name, at);
        if (*at) at++;
        if (type->align > *align) *align = type->align;
    }
    if (end == 0) luaL_error(L, "%s: fields declares none", name);
    lua_pop(L, 1);
    return end;
}

/* Pushes a closed container with these fields. */
static struct container *push_container(lua_State *L, const struct kind *kind, const char *name, const char *text,
                                        size_t *end, size_t *align) {
    size_t most = 1; /* fields */
    for (const char *at = text; *at; at++) most += *at == ',' || *at == ';';
    struct container *it = lua_newuserdatauv(L, sizeof *it + most * sizeof it->fields[0], ON_FULL);
    memset(it, 0, sizeof *it);
    it->kind = kind;
    lua_pushstring(L, name);
    lua_setiuservalue(L, -2, NAME);
    lua_newtable(L);
    lua_pushstring(L, text);
    lua_rawseti(L, -2, 0);
    *end = parse_fields(L, it, name, text, align);
    lua_setiuservalue(L, -2, FIELDS);
    push_metatable(L, kind);
    lua_setmetatable(L, -2);
    return it;
}

/* ---- A script's own ---------------------------------------------------------------------------------------------- */

static const char budget_key, programs_key; /* their addresses are keys of the registry */

/* Pushes an option; no metamethod is called. */
static int push_option(lua_State *L, const char *name) {
    lua_pushstring(L, name);
    return lua_rawget(L, 1);
}

static const char *text_option(lua_State *L, const struct kind *kind, const char *name) {
    if (push_option(L, name) != LUA_TSTRING)
        luaL_error(L, "%s: the option %s must be a string (got %s)", kind->metatable, name, luaL_typename(L, -1));
    return lua_tostring(L, -1); /* which stays on the stack */
}

static uint32_t number_option(lua_State *L, const struct kind *kind, const char *name) {
    int is_integer = 1;
    lua_Integer value = push_option(L, name) == LUA_TNIL ? 0 : lua_tointegerx(L, -1, &is_integer);
    if (!is_integer || value < 0 || value > UINT32_MAX)
        luaL_error(L, "%s: the option %s must be an integer from 0 to %I (got %s)", kind->metatable, name,
                   (LUAI_UACINT)UINT32_MAX, push_words(L, -1));
    lua_pop(L, 1);
    return (uint32_t)value;
}

/* The number of the word that the option is, or 0 if there is no option. `expected` lists the words. */
static int word_option(lua_State *L, const struct kind *kind, const char *name, const char *const *words,
                       const char *expected) {
    int word = 0;
    if (push_option(L, name) != LUA_TNIL) {
        while (words[word] && (lua_type(L, -1) != LUA_TSTRING || strcmp(words[word], lua_tostring(L, -1)) != 0)) word++;
        if (!words[word]) {
            const char *got = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : push_words(L, -1);
            luaL_error(L, "%s: the option %s must be %s (got %s)", kind->metatable, name, expected, got);
        }
    }
    lua_pop(L, 1);
    return word;
}

/* Argument 1 must be a table with known options only. Pushes a closed container with the fields that it declares. */
static struct container *push_own(lua_State *L, const struct kind *kind, const char *const *known, size_t *size,
                                  size_t *align) {
    /* What a finaliser makes at the end of the state gets no finaliser. Before Lua 5.4.4, this test is always false. */
    if (lua_gc(L, LUA_GCCOUNT) < 0) luaL_error(L, "%s: a finaliser cannot make one", kind->metatable);
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "without a name";
        const char *const *option = known;
        while (*option && strcmp(*option, key) != 0) option++;
        if (!*option) luaL_error(L, "%s: there is no option %s", kind->metatable, key);
    }
    const char *name = text_option(L, kind, "name"), *text = text_option(L, kind, "fields");
    struct container *it = push_container(L, kind, name, text, size, align);
    *size = round_up(*size, *align);
    return it;
}

/* Has the init succeeded? If it lacked memory, ends what is garbage first, and returns false once. */
static bool is_settled(lua_State *L, const struct container *it, kolk_status status, bool *collected) {
    if (!*collected && (status == KOLK_NO_MEMORY || status == KOLK_OVER_BUDGET)) {
        *collected = true;
        lua_gc(L, LUA_GCCOLLECT);
        return false;
    }
    if (status != KOLK_OK) {
        lua_getiuservalue(L, -1, NAME);
        luaL_error(L, "%s: %s: %s", it->kind->metatable, lua_tostring(L, -1), kolk_status_text(status));
    }
    return true;
}

static kolk_budget *budget_of(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &budget_key);
    kolk_budget *budget = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return budget;
}

/* The name that the container keeps for kolk. */
static const char *kept_name(lua_State *L) {
    const char *name = push_name(L, -1);
    lua_pop(L, 1);
    return name;
}

static double cost_of(const void *object, void *context) {
    const struct field *cost = ((const struct container *)context)->cost;
    return is_float(cost) ? number_of(cost, object) : (double)integer_of(cost, object);
}

static int new_pool(lua_State *L) {
    static const char *const known[] = {"name",    "fields", "capacity", "max_capacity", "reuse", "tag",
                                        "on_full", "cost",   NULL};
    static const char *const orders[] = {"lifo", "fifo", "lowest", NULL}; /* the order of kolk_reuse */
    static const char *const evictions[] = {"", "oldest", "cheapest", NULL};
    kolk_pool_desc desc = {0};
    struct container *it = push_own(L, &pool_kind, known, &desc.object_size, &desc.object_align);
    desc.name = kept_name(L);
    desc.capacity = number_option(L, it->kind, "capacity");
    desc.max_capacity = number_option(L, it->kind, "max_capacity");
    desc.tag = number_option(L, it->kind, "tag");
    desc.reuse = (kolk_reuse)word_option(L, it->kind, "reuse", orders, "lifo, fifo or lowest");
    desc.budget = budget_of(L);
    desc.context = it;
    if (push_option(L, "cost") != LUA_TNIL) {
        if ((it->cost = field_at(L, it, lua_gettop(L))) == NULL) raise(L, -3);
        desc.full.cost = cost_of;
    }
    lua_pop(L, 1);
    if (push_option(L, "on_full") == LUA_TFUNCTION) {
        lua_setiuservalue(L, -2, ON_FULL);
    } else {
        lua_pop(L, 1);
        int eviction = word_option(L, it->kind, "on_full", evictions, "oldest, cheapest or a function");
        if (eviction == 2 && !it->cost)
            luaL_error(L, "%s: on_full = \"cheapest\" needs the option cost", it->kind->metatable);
        desc.full.on_full = eviction == 0 ? NULL : eviction == 1 ? kolk_pool_evict_oldest : kolk_pool_evict_cheapest;
    }
    bool collected = false;
    while (!is_settled(L, it, kolk_pool_init(&it->own.pool, &desc), &collected)) continue;
    it->members = &it->own;
    return 1;
}

static int new_slotmap(lua_State *L) {
    static const char *const known[] = {"name", "fields", "capacity", "max_capacity", "tag", NULL};
    kolk_slotmap_desc desc = {0};
    struct container *it = push_own(L, &slotmap_kind, known, &desc.object_size, &desc.object_align);
    desc.name = kept_name(L);
    desc.capacity = number_option(L, it->kind, "capacity");
    desc.max_capacity = number_option(L, it->kind, "max_capacity");
    desc.tag = number_option(L, it->kind, "tag");
    desc.budget = budget_of(L);
    bool collected = false;
    while (!is_settled(L, it, kolk_slotmap_init(&it->own.map, &desc), &collected)) continue;
    it->members = &it->own;
    return 1;
}

static int new_bytemap(lua_State *L) {
    static const char *const known[] = {"name", "fields", "count", NULL};
    kolk_bytemap_view view = {0};
    size_t align;
    struct container *it = push_own(L, &bytemap_kind, known, &view.object_size, &align);
    uint32_t slots = number_option(L, it->kind, "count");
    view.name = kept_name(L);
    view.count = slots <= INT32_MAX ? (int32_t)slots : INT32_MAX; /* which kolk refuses */
    bool collected = false;
    while (!is_settled(L, it, kolk_bytemap_initialise_with(&it->own.bytemap, &view), &collected)) continue;
    it->members = &it->own;
    return 1;
}

/* ---- The program's ----------------------------------------------------------------------------------------------- */

/* Pushes the table of the program's containers, by the addresses of their pools. They stay until they are forgotten, so
 * that kolk_lua_forget finds each one that a script can reach. */
static void push_programs(lua_State *L) {
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &programs_key) == LUA_TTABLE) return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &programs_key);
}

static struct container *push_program(lua_State *L, const struct kind *kind, void *members, const char *name,
                                      const char *text, size_t object_size) {
    luaL_checkstack(L, 10, NULL);
    push_programs(L);
    int programs = lua_gettop(L);
    if (!name || !*name) name = kind->noun;
    struct container *it;
    if (lua_rawgetp(L, programs, members) == LUA_TUSERDATA) {
        it = lua_touserdata(L, -1);
        lua_getiuservalue(L, -1, FIELDS);
        lua_rawgeti(L, -1, 0);
        if (it->kind != kind || strcmp(lua_tostring(L, -1), text) != 0)
            luaL_error(L, "%s: it was pushed with other fields: forget it first", name);
        lua_pop(L, 2);
    } else {
        size_t end, align;
        lua_pop(L, 1);
        it = push_container(L, kind, name, text, &end, &align);
        if (end > object_size)
            luaL_error(L, "%s: the fields take %d bytes, an object has %d", name, (int)end, (int)object_size);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, programs, members);
        it->members = members;
    }
    lua_remove(L, programs);
    return it;
}

void kolk_lua_push_pool(lua_State *L, kolk_pool *pool, const char *fields) {
    const kolk_pool *each = pool;
    do {
        if (each->generations == KOLK_GENERATIONS_NONE) luaL_error(L, "%s", kolk_status_text(KOLK_NO_HANDLES));
    } while ((each = each->overflow) != NULL);
    push_program(L, &pool_kind, pool, pool->name, fields, pool->object_size);
}

void kolk_lua_push_slotmap(lua_State *L, kolk_slotmap *map, const char *fields) {
    push_program(L, &slotmap_kind, map, map->name, fields, map->object_size);
}

void kolk_lua_push_bytemap(lua_State *L, kolk_bytemap *pool, const char *fields) {
    struct container *it = push_program(L, &bytemap_kind, pool, pool->name, fields, pool->object_size);
    it->read_only = pool->read_only;
}

/* Allocates nothing, so it raises no error. */
void kolk_lua_forget(lua_State *L, const void *pool) {
    bool has_some = lua_rawgetp(L, LUA_REGISTRYINDEX, &programs_key) == LUA_TTABLE;
    if (has_some && lua_rawgetp(L, -1, pool) == LUA_TUSERDATA) {
        ((struct container *)lua_touserdata(L, -1))->members = NULL;
        lua_pushnil(L);
        lua_rawsetp(L, -3, pool);
    }
    lua_pop(L, has_some ? 2 : 1);
}

void kolk_lua_set_budget(lua_State *L, kolk_budget *budget) {
    lua_pushlightuserdata(L, budget);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &budget_key);
}

int luaopen_kolk(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"pool", new_pool}, {"slotmap", new_slotmap}, {"bytemap", new_bytemap}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
