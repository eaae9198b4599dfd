-- A pool from LuaJIT, whose FFI reads kolk_ffi.h. Usage: luajit luajit.lua LIBKOLK.so KOLK_FFI.h
local ffi = require "ffi"
local lines = {}
for line in io.lines(arg[2]) do
  if line:sub(1, 1) ~= "#" then lines[#lines + 1] = line end
end
ffi.cdef(table.concat(lines, "\n"))
ffi.cdef "struct bullet { float x, dx; };"
local kolk = ffi.load(arg[1])

local pool = ffi.new("kolk_pool")
local desc = ffi.new("kolk_pool_desc", {name = "bullets", object_size = ffi.sizeof("struct bullet"), capacity = 2})
assert(kolk.kolk_pool_init(pool, desc) == kolk.KOLK_OK)
local bullet = ffi.cast("struct bullet *", kolk.kolk_pool_alloc(pool))
bullet.x, bullet.dx = 0, 1
local handle = kolk.kolk_pool_handle_of(pool, bullet)
local bits = kolk.kolk_handle_pack(handle)
local found = ffi.cast("struct bullet *", kolk.kolk_pool_get(pool, kolk.kolk_handle_unpack(bits)))
found.x = found.x + found.dx
print(string.format("%d alive, at x = %g", kolk.kolk_pool_count(pool), bullet.x))
kolk.kolk_pool_free(pool, bullet)
print("the old handle gives " .. (kolk.kolk_pool_get(pool, handle) ~= nil and "an object" or "nothing"))
local third
for _ = 1, 3 do third = kolk.kolk_pool_alloc(pool) end
print("the third of two: " .. (third ~= nil and "an object" or "nothing"))
print(ffi.string(kolk.kolk_status_text(kolk.KOLK_FULL)))
kolk.kolk_pool_clear(pool)
kolk.kolk_pool_deinit(pool)
