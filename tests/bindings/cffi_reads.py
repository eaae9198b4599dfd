"""A pool from Python, by cffi, which reads kolk_ffi.h. Usage: cffi_reads.py LIBKOLK.so KOLK_FFI.h"""

import sys

import cffi

ffi = cffi.FFI()
with open(sys.argv[2], encoding="utf-8") as file:
    ffi.cdef("".join(line for line in file if not line.startswith("#")))
ffi.cdef("struct bullet { float x, dx; };")
kolk = ffi.dlopen(sys.argv[1])

pool = ffi.new("kolk_pool *")
name = ffi.new("char[]", b"bullets")
desc = ffi.new("kolk_pool_desc *", {"name": name, "object_size": ffi.sizeof("struct bullet"), "capacity": 2})
assert kolk.kolk_pool_init(pool, desc) == kolk.KOLK_OK
bullet = ffi.cast("struct bullet *", kolk.kolk_pool_alloc(pool))
bullet.x, bullet.dx = 0, 1
handle = kolk.kolk_pool_handle_of(pool, bullet)
bits = kolk.kolk_handle_pack(handle)
found = ffi.cast("struct bullet *", kolk.kolk_pool_get(pool, kolk.kolk_handle_unpack(bits)))
found.x += found.dx
print(f"{kolk.kolk_pool_count(pool)} alive, at x = {bullet.x:g}")
kolk.kolk_pool_free(pool, bullet)
print("the old handle gives", "an object" if kolk.kolk_pool_get(pool, handle) else "nothing")
print("the third of two:", "an object" if [kolk.kolk_pool_alloc(pool) for _ in range(3)][2] else "nothing")
print(ffi.string(kolk.kolk_status_text(kolk.KOLK_FULL)).decode())
kolk.kolk_pool_clear(pool)
kolk.kolk_pool_deinit(pool)
