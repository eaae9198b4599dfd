"""A pool from Python, by ctypes alone: structs and functions are made from api.json. Usage: python.py LIBKOLK.so API.json"""

import ctypes
import json
import re
import sys

NUMBERS = {name: getattr(ctypes, f"c_{name[:-2]}") for name in ("int8_t", "uint8_t", "uint16_t", "int32_t", "uint32_t", "int64_t", "uint64_t")}
NUMBERS |= {"bool": ctypes.c_bool, "int": ctypes.c_int, "size_t": ctypes.c_size_t, "uintptr_t": ctypes.c_size_t}
NUMBERS |= {"double": ctypes.c_double, "char": ctypes.c_char, "unsigned char": ctypes.c_ubyte}


class Kolk:
    """The library: functions as methods, structs and enumerators as members of `types` and `values`."""

    def __init__(self, path, api):
        self.types = dict(NUMBERS) | {enum["name"]: ctypes.c_int for enum in api["enums"]}
        self.values = {value["name"]: value["value"] for enum in api["enums"] for value in enum["values"]}
        for struct in api["structs"]:
            fields = [(field["name"], self.type_of(field)) for field in struct["fields"]]
            self.types[struct["name"]] = type(struct["name"], (ctypes.Structure,), {"_fields_": fields})
        library = ctypes.CDLL(path)
        for function in api["functions"]:
            symbol = getattr(library, function["name"])
            symbol.argtypes = [self.type_of(each) for each in function["parameters"]]
            symbol.restype = self.type_of({"type": function["returns"]})
            setattr(self, function["name"], symbol)

    def type_of(self, about):
        text = about["type"].removeprefix("const ")
        if "callback" in about or text.endswith("*") and text != "char *":
            return ctypes.c_void_p
        if text in ("void", "char *"):
            return None if text == "void" else ctypes.c_char_p
        name, *bounds = re.split(r"[\[\]]+", text.removeprefix("struct "))
        kind = self.types[name.strip()] if not name.endswith("*") else ctypes.c_void_p
        for bound in reversed([bound for bound in bounds if bound]):
            kind = kind * int(bound)
        return kind


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        api = json.load(file)
    kolk = Kolk(sys.argv[1], api)
    for struct in api["structs"]:
        name = struct["name"].encode()
        size, align = kolk.kolk_size_of(name), kolk.kolk_align_of(name)
        assert (size, align) == ((struct["size"], struct["align"]) if not name.endswith(b"_") else (0, 0)), struct["name"]
        assert ctypes.sizeof(kolk.types[struct["name"]]) == struct["size"], struct["name"]
        for field in struct["fields"]:
            assert getattr(kolk.types[struct["name"]], field["name"]).offset == field["offset"], field["name"]
    assert kolk.kolk_size_of(b"kolk_poo") == kolk.kolk_size_of(b"kolk_pools") == kolk.kolk_size_of(b"") == 0

    class Bullet(ctypes.Structure):
        _fields_ = [("x", ctypes.c_float), ("dx", ctypes.c_float)]

    desc = kolk.types["kolk_pool_desc"](name=b"bullets", object_size=ctypes.sizeof(Bullet), capacity=2)
    pool = ctypes.create_string_buffer(kolk.kolk_size_of(b"kolk_pool"))
    assert kolk.kolk_pool_init(pool, ctypes.byref(desc)) == kolk.values["KOLK_OK"]
    bullet = Bullet.from_address(kolk.kolk_pool_alloc(pool))
    bullet.x, bullet.dx = 0, 1
    handle = kolk.kolk_pool_handle_of(pool, ctypes.addressof(bullet))
    bits = kolk.kolk_handle_pack(handle)
    found = Bullet.from_address(kolk.kolk_pool_get(pool, kolk.kolk_handle_unpack(bits)))
    found.x += found.dx
    print(f"{kolk.kolk_pool_count(pool)} alive, at x = {bullet.x:g}")
    kolk.kolk_pool_free(pool, ctypes.addressof(bullet))
    print("the old handle gives", kolk.kolk_pool_get(pool, handle) or "nothing")
    print("the third of two:", [bool(kolk.kolk_pool_alloc(pool)) for _ in range(3)][2] and "an object" or "nothing")
    print(kolk.kolk_status_text(kolk.values["KOLK_FULL"]).decode())
    kolk.kolk_pool_clear(pool)
    kolk.kolk_pool_deinit(pool)


main()
