"""kolk in gdb: pools and handles in words, and $kolk_get. libkolk.so contains this file: see docs/debugging.md.

Everything is read from memory and nothing of the program is called, so that a core dump will do, and a program that
stopped in the middle of an alloc. What is said to be a pool may be any bytes: a local one before its init, or one that
was overwritten. So nothing in it is used before `fault` has looked at it.
"""
import gdb
import gdb.printing
import gdb.types

ORDERS = ("LIFO", "FIFO", "LOWEST")
WORDS_AT_A_TIME = 512
NAME_AT_MOST = 64


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def is_readable(address, size):
    """Tries the first and the last byte: what a pool has between them is of one piece."""
    try:
        for at in (address, address + size - 1) if size else ():
            read(at, 1)
    except (gdb.error, OverflowError):
        return False
    return True


def name_at(address):
    """As a C program would write it."""
    name = b""
    try:
        while len(name) < NAME_AT_MOST and not name.endswith(b"\0"):
            name += read(address + len(name), 1)
    except gdb.error:
        return f"<name at {address:#x} is not readable>"
    dots = "" if name.endswith(b"\0") else "..."
    plain = (chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:03o}" for c in name.rstrip(b"\0"))
    return '"' + "".join(plain) + '"' + dots


class Pool:
    """A kolk_pool whose objects have this type; None: it is not known."""

    def __init__(self, value, object_type=None):
        self.value = value
        self.fresh = self.number("fresh")
        self.capacity = self.number("capacity")
        self.max_capacity = self.number("max_capacity")
        self.stride = self.number("stride")
        self.object_size = self.number("object_size")
        self.stack_bytes = self.number("top") - self.number("stack")
        self.count = self.fresh - self.stack_bytes // 4 - self.number("held")
        # It may have been another file's type of the same name.
        self.object_type = object_type if object_type and object_type.sizeof == self.object_size else None

    def number(self, field):
        return int(self.value[field])

    def fault(self):
        """Why this is no pool, or None if it is one."""
        if not any(map(self.number, ("slots", "live", "stride", "inverse", "max_capacity"))):
            return "all zero, as before init and after deinit"
        if not self.fresh <= self.capacity <= self.max_capacity:
            return f"fresh {self.fresh}, capacity {self.capacity}, max_capacity {self.max_capacity} do not ascend"
        if not 0 < self.object_size <= self.stride:
            return f"object_size {self.object_size} does not fit stride {self.stride}"
        word = 1 << 8 * self.value["inverse"].type.sizeof
        if (self.stride >> self.number("shift")) * self.number("inverse") % word != 1:
            return f"inverse is not that of stride {self.stride}"
        if self.number("reuse") >= len(ORDERS):
            return f"reuse {self.number('reuse')} is no order"
        if not 0 <= self.stack_bytes <= 4 * self.fresh or self.count < 0:
            free = f"{self.stack_bytes // 4} free slots on the stack and {self.number('held')} elsewhere"
            return f"{free} do not fit fresh {self.fresh}"
        for field, size, needed in (
            ("live", (self.fresh + 63) // 64 * 8, True),
            ("generations", self.fresh * 4, self.number("generations")),
            ("objects", self.fresh * self.value["objects"].type.sizeof, self.number("objects")),
        ):
            if needed and not is_readable(self.number(field), size):
                return f"{field} is not readable"
        return None

    def to_string(self):
        fault = self.fault()
        if fault:
            return f"no pool ({fault})"
        order = ORDERS[self.number("reuse")]
        words = name_at(self.number("name")) + ": " if self.number("name") else ""
        words += f"pool of {self.object_size}-byte objects, {self.count} of {self.capacity} alive"
        if self.max_capacity > self.capacity:
            words += f", grows to {self.max_capacity}"
        peak = self.number("peak")
        words += f", peak {self.fresh if peak == 0xFFFFFFFF else peak}, {order}"
        if self.number("failed"):
            words += f", {self.number('failed')} failed"
        if self.number("objects"):
            words += ", served from malloc"
        elif self.number("debug"):
            words += ", debug mode"
        return words

    def children(self):
        for slot in () if self.fault() else self.live_slots():
            pointer = self.pointer(slot)
            yield f"[{slot}]", pointer.dereference() if self.object_type else pointer

    def live_slots(self):
        """Ascending; reads no further than it is asked."""
        live, end = self.value["live"], (self.fresh + 63) // 64
        for start in range(0, end, WORDS_AT_A_TIME):
            length = min(WORDS_AT_A_TIME, end - start)
            if not any(read(int(live + start), length * 8)):
                continue
            for index in range(start, start + length):
                bits = int(live[index])
                while bits:
                    lowest = bits & -bits
                    yield index * 64 + lowest.bit_length() - 1
                    bits ^= lowest

    def pointer(self, slot):
        """To the object in this slot."""
        objects = self.value["objects"]
        return self.as_pointer(~objects[slot] if objects else self.value["slots"] + slot * self.stride)

    def as_pointer(self, value):
        return value.cast(self.object_type.pointer() if self.object_type else self.value["context"].type)

    def get(self, bits):
        """As kolk_pool_get."""
        slot, generation = bits & 0xFFFFFFFF ^ self.number("tag"), bits >> 32
        found = (
            slot < self.fresh
            and self.number("generations")
            and int(self.value["generations"][slot]) == generation
            and int(self.value["live"][slot // 64]) >> slot % 64 & 1
        )
        return self.pointer(slot) if found else self.as_pointer(gdb.Value(0))


class Handle:
    """Its slot is mixed with the tag of the pool, which nobody knows here."""

    def __init__(self, value):
        self.bits = int(value["bits"])

    def to_string(self):
        if self.bits == 0:
            return "null"
        return f"generation {self.bits >> 32}, slot ^ tag {self.bits & 0xFFFFFFFF:#x}"


def wrapped(value, member, tag):
    """What a struct of typed.h is made of: its only member; None for other values."""
    type_ = gdb.types.get_basic_type(value.type)
    fields = type_.fields() if type_.code == gdb.TYPE_CODE_STRUCT else []
    if len(fields) != 1 or fields[0].name != member or fields[0].type.strip_typedefs().tag != tag:
        return None
    return value[member]


def type_named(name):
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        return None


def pool_of(value):
    tag = gdb.types.get_basic_type(value.type).tag
    if tag == "kolk_pool":
        return Pool(value)
    untyped = wrapped(value, "pool", "kolk_pool")
    if untyped is None:
        return None
    object_type = type_named(f"{tag}_object")
    is_typedef = object_type and object_type.code == gdb.TYPE_CODE_TYPEDEF
    return Pool(untyped, object_type.target() if is_typedef else None)


def handle_of(value):
    if gdb.types.get_basic_type(value.type).tag == "kolk_handle":
        return Handle(value)
    untyped = wrapped(value, "untyped", "kolk_handle")
    return None if untyped is None else Handle(untyped)


class Printer(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__("kolk")

    def __call__(self, value):
        return pool_of(value) or handle_of(value)


class Get(gdb.Function):
    """$kolk_get(POOL, HANDLE): pointer to the object of a handle; 0 if the handle is stale.
POOL may be a pointer, and HANDLE the bits of one."""

    def __init__(self):
        super().__init__("kolk_get")

    def invoke(self, pool, handle):
        try:
            return self.get(pool, handle)
        except gdb.error as error:
            raise gdb.GdbError(f"$kolk_get: {error}")

    def get(self, pool, handle):
        if gdb.types.get_basic_type(pool.type).code == gdb.TYPE_CODE_PTR:
            pool = pool.dereference()
        found = pool_of(pool)
        if not found:
            raise gdb.GdbError(f"$kolk_get: the first argument is no pool, but of type {pool.type}.")
        fault = found.fault()
        if fault:
            raise gdb.GdbError(f"$kolk_get: this is no pool ({fault}).")
        known = handle_of(handle)
        return found.get(known.bits if known else int(handle) & (1 << 64) - 1)


Get()
# An installed library may bring this file twice, inside it and beside it.
gdb.printing.register_pretty_printer(gdb.current_objfile(), Printer(), replace=True)
