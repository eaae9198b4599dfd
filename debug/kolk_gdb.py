"""kolk in gdb: pools, slot maps, shared pools and their locals, pools between processes, queues, resource pools, heaps,
handles in words, and $kolk_get. libkolk.so contains this file: see docs/debugging.md.

Everything is read from memory, and no function of the program is called. So it works on a core dump, and on a program
that was stopped in the middle of an alloc. A pool may contain arbitrary bytes: it may be a local variable before its
init, or have been overwritten. So `fault` checks it before any member is used.
"""
import collections
import struct

import gdb
import gdb.printing
import gdb.types

ORDERS = ("LIFO", "FIFO", "LOWEST")
SLOTS_AT_A_TIME = 16384
NAME_AT_MOST = 64
THREAD_BYTES = 128  # bytes of a shared pool's record of a thread, up to the magazine


def read(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def byte_order():
    return "<" if gdb.execute("show endian", to_string=True).find("little") >= 0 else ">"


def is_readable(address, size):
    """Tries to read the first and the last byte, because each region of a pool is contiguous."""
    try:
        for at in (address, address + size - 1) if size else ():
            read(at, 1)
    except (gdb.error, OverflowError):
        return False
    return True


def name_at(address):
    """Returns the string as a C program would write it."""
    name = b""
    try:
        while len(name) < NAME_AT_MOST and not name.endswith(b"\0"):
            name += read(address + len(name), 1)
    except (gdb.error, OverflowError):
        return f"<name at {address:#x} is not readable>"
    dots = "" if name.endswith(b"\0") else "..."
    plain = (chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:03o}" for c in name.rstrip(b"\0"))
    return '"' + "".join(plain) + '"' + dots


NO_DEBUG_INFORMATION = "libkolk has no debug information"
NO_SHARED_MEMORY = "its shared memory is missing: a core dump may lack it"
NOT_TO_BE_READ = NO_DEBUG_INFORMATION, NO_SHARED_MEMORY


def without(noun, fault):
    """Returns the words for what cannot be read, or is none."""
    return f"{noun} ({fault})" if fault in NOT_TO_BE_READ else f"no {noun} ({fault})"


class Store:
    """A container of objects. object_type is their type, or None if it is unknown."""

    def __init__(self, value, object_type=None):
        self.value = value
        self.fresh = self.number("fresh")
        self.capacity = self.number("capacity")
        self.max_capacity = self.number("max_capacity")
        self.stride = self.number("stride")
        self.object_size = self.number("object_size")
        # Another file may have a different type of the same name.
        self.object_type = object_type if object_type and object_type.sizeof == self.object_size else None

    def field(self, name):
        return self.value[name]

    def number(self, name):
        return int(self.field(name))

    def fault(self):
        """Returns why this is not a valid container, or None if it is valid."""
        if not any(map(self.number, self.NOT_ZERO)):
            return "all zero, as before init and after deinit"
        if not self.fresh <= self.capacity <= self.max_capacity:
            return f"fresh {self.fresh}, capacity {self.capacity}, max_capacity {self.max_capacity} do not ascend"
        word = 1 << 8 * self.field("inverse").type.sizeof
        if (self.stride >> self.number("shift")) * self.number("inverse") % word != 1:
            return f"inverse is not that of stride {self.stride}"
        if not 0 < self.object_size <= self.stride:
            return f"object_size {self.object_size} does not fit stride {self.stride}"
        fault = self.fault_of_counts()
        if fault:
            return fault
        for field, size in self.arrays():
            if not is_readable(self.number(field), size):
                return f"{field} is not readable"
        return None

    def to_string(self):
        fault = self.fault()
        if fault:
            return without(self.NOUN, fault)
        words = name_at(self.number("name")) + ": " if self.number("name") else ""
        words += f"{self.NOUN} of {self.object_size}-byte objects, {self.count - self.holes()} of {self.capacity} alive"
        if self.max_capacity > self.capacity:
            words += f", grows to {self.max_capacity}"
        words += f", peak {self.peak()}{self.order()}"
        if self.failed():
            words += f", {self.failed()} failed"
        return words + self.mode()

    def holes(self):
        return 0

    def peak(self):
        peak = self.number("peak")
        return self.fresh if peak == 0xFFFFFFFF else peak

    def failed(self):
        return self.number("failed")

    def children(self):
        for index in () if self.fault() else self.live():
            pointer = self.pointer(index)
            yield f"[{index}]", pointer.dereference() if self.object_type else pointer

    def as_pointer(self, value):
        return value.cast((self.object_type or gdb.lookup_type("void")).pointer())

    def get(self, bits):
        """Does the same as kolk_pool_get or kolk_slotmap_get."""
        index = self.find(bits & 0xFFFFFFFF ^ self.number("tag"), bits >> 32)
        return self.as_pointer(gdb.Value(0)) if index is None else self.pointer(index)


class Pool(Store):
    """A kolk_pool; its objects are found by slot."""

    NOUN = "pool"
    NOT_ZERO = ("slots", "states", "stride", "inverse", "max_capacity")

    def __init__(self, value, object_type=None):
        super().__init__(value, object_type)
        self.index_size = self.value["stack"].type.target().sizeof
        self.stack_bytes = self.number("top") - self.number("stack")
        self.count = self.fresh - self.stack_bytes // self.index_size - self.number("aside")

    def fault_of_counts(self):
        if self.number("reuse") >= len(ORDERS):
            return f"reuse {self.number('reuse')} is no order"
        if not 0 <= self.stack_bytes <= self.index_size * self.fresh or self.count < 0:
            free = f"{self.stack_bytes // self.index_size} free slots on the stack and {self.number('aside')} elsewhere"
            return f"{free} do not fit fresh {self.fresh}"
        return None

    def arrays(self):
        """Yields the regions that must exist, and their sizes."""
        yield "states", self.fresh
        if self.number("high"):
            yield "high", self.fresh * 4
        if self.number("objects"):
            yield "objects", self.fresh * self.value["objects"].type.sizeof

    def order(self):
        return ", " + ORDERS[self.number("reuse")]

    def mode(self):
        return ", served from malloc" if self.number("objects") else ", debug mode" if self.number("debug") else ""

    def live(self):
        """Yields live slots in ascending order. Reads memory only as far as necessary."""
        start = self.number("states")
        for first in range(0, self.fresh, SLOTS_AT_A_TIME):
            states = read(start + first, min(SLOTS_AT_A_TIME, self.fresh - first))
            yield from (first + n for n, state in enumerate(states) if state & 0x80)

    def pointer(self, slot):
        """Returns a pointer to the object in this slot."""
        objects = self.value["objects"]
        return self.as_pointer(~objects[slot] if objects else self.value["slots"] + slot * self.stride)

    def find(self, slot, generation):
        """Returns the slot if its object is alive in this generation."""
        found = (
            slot < self.fresh
            and self.number("high")
            and int(self.value["high"][slot]) == generation >> 7
            and int(self.value["states"][slot]) == 0x80 | generation & 0x7F
        )
        return slot if found else None


class SlotMap(Store):
    """A kolk_slotmap; its objects are found by place."""

    NOUN = "slot map"
    NOT_ZERO = ("objects", "cells", "stride", "inverse", "max_capacity")

    def __init__(self, value, object_type=None):
        super().__init__(value, object_type)
        self.count = self.number("count")
        self.owned = self.fresh - self.number("worn")

    def fault_of_counts(self):
        if self.count > self.owned:
            return f"count {self.count} and worn {self.number('worn')} do not fit fresh {self.fresh}"
        return None

    def arrays(self):
        yield "objects", self.count * self.stride
        yield "cells", self.fresh * 8
        yield "owners", self.owned * 4

    def order(self):
        return ""

    def mode(self):
        return ", debug mode" if self.number("debug_flags") else ""

    def holes(self):
        return self.number("holes")

    def live(self):
        return [place for place in range(self.count) if not int(self.value["owners"][place]) >> 31]

    def pointer(self, place):
        return self.as_pointer(self.value["objects"] + place * self.stride)

    def find(self, slot, generation):
        """Returns the place of the object of this slot, if it is alive in this generation."""
        if slot >= self.fresh:
            return None
        cell = self.value["cells"][slot]
        place = int(cell["place"])
        return place if int(cell["generation"]) == generation and place < self.count else None


def inside_of(pointer, tag):
    """Returns the target of a struct's `inside` and None, or None and why the target cannot be read."""
    its_type = struct_named(tag)
    if not int(pointer):
        return None, "all zero, as before init and after deinit"
    if not its_type:
        return None, NO_DEBUG_INFORMATION
    if not is_readable(int(pointer), its_type.sizeof):
        return None, "inside is not readable"
    return pointer.cast(its_type.pointer()).dereference(), None


class SlotStore(Store):
    """A kolk_slot_store_; its objects are found by slot. Other threads may change it."""

    OF_DEPOT = {"fresh": "fresh", "capacity": "usable", "max_capacity": "slots", "waiting": "waiting"}

    def __init__(self, value, object_type=None):
        super().__init__(value, object_type)
        self.lives = "lives" if self.number("lives") else "short_lives"

    def field(self, name):
        return self.value["depot"][self.OF_DEPOT[name]] if name in self.OF_DEPOT else self.value[name]

    def number(self, name):
        number = super().number(name)
        return 0 if name == "name" and name_at(number) == '""' else number

    @property
    def count(self):
        return sum(1 for _ in self.live())

    def live(self):
        """Yields live slots in ascending order; the life of a live slot is an odd number. Reads memory only as far as
        necessary."""
        start, size = self.number(self.lives), self.value[self.lives].type.target().sizeof
        lowest = 0 if byte_order() == "<" else size - 1
        for first in range(0, self.fresh, SLOTS_AT_A_TIME):
            length = min(SLOTS_AT_A_TIME, self.fresh - first)
            lives = read(start + first * size, length * size)
            yield from (first + n for n in range(length) if lives[n * size + lowest] & 1)


class Shared(SlotStore):
    """The inside of a kolk_shared. It is readable if libkolk has debug information."""

    NOUN = "shared pool"
    NOT_ZERO = ("slots", "records", "stride", "inverse", "max_capacity")
    OF_INSIDE = ("records", "record_size", "max_threads", "tag")

    def __init__(self, inside, object_type=None):
        self.inside, self.inside_fault = inside_of(inside, "struct kolk_shared_inside_")
        if self.inside:
            super().__init__(self.inside["store"], object_type)

    def field(self, name):
        return self.inside[name] if name in self.OF_INSIDE else super().field(name)

    def fault(self):
        return self.inside_fault or super().fault()

    def fault_of_counts(self):
        if self.number("max_threads") == 0:
            return "max_threads 0 is none"
        return None

    def arrays(self):
        yield self.lives, self.fresh * self.value[self.lives].type.target().sizeof
        yield "records", self.number("max_threads") * self.number("record_size")
        if self.number("objects"):
            yield "objects", self.fresh * self.value["objects"].type.target().sizeof

    def keepers(self):
        """Yields all locals ever made, in the order of their records, whether or not they are in use."""
        pointer = gdb.lookup_type("struct kolk_shared_keeper_").pointer()
        for n in range(self.number("max_threads")):
            keeper = (self.inside["records"] + n * self.number("record_size")).cast(pointer).dereference()
            if int(keeper["base"]["magazines"]):
                yield keeper

    def all_magazines(self):
        pointer = gdb.lookup_type("struct kolk_magazine_").pointer()
        for keeper in self.keepers():
            yield gdb.Value(int(keeper.address) + THREAD_BYTES).cast(pointer).dereference()

    def peak(self):
        return self.fresh

    def failed(self):
        return sum(int(magazine["failed"]) for magazine in self.all_magazines())

    def order(self):
        taken = sum(bool(keeper["base"]["taken"]) for keeper in self.keepers())
        waiting = f", {self.number('waiting')} waiting" if self.number("waiting") else ""
        return f", {taken} of {self.number('max_threads')} locals{waiting}"

    def mode(self):
        return ", served from malloc" if self.number("objects") else ", debug mode" if self.number("debug") else ""

    def pointer(self, slot):
        """Returns a pointer to the object in this slot."""
        objects = self.value["objects"]
        return self.as_pointer(~objects[slot] if self.number("objects") else self.value["slots"] + slot * self.stride)

    def find(self, slot, generation):
        """Returns the slot if its object is alive in this generation."""
        found = slot < self.fresh and generation & 1 and self.number("lives")
        return slot if found and int(self.value["lives"][slot]) == generation else None


class Local:
    """A kolk_shared_local: a thread's access to a shared pool."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        if not int(self.value["pool"]):
            return "no local (of no pool, as before init and after deinit)"
        pool = Shared(self.value["pool"])
        fault = pool.fault()
        if fault == NO_DEBUG_INFORMATION:
            return f"local of a shared pool ({fault})"
        if fault:
            return f"no local (of no shared pool: {fault})"
        known = {int(keeper.address) + THREAD_BYTES: keeper for keeper in pool.keepers()}
        keeper = known.get(int(self.value["magazine"]))
        if keeper is None:
            return "no local (its magazine is not the pool's)"
        magazine = self.value["magazine"].dereference()
        name = name_at(pool.number("name")) if pool.number("name") else "a shared pool without a name"
        free = int(magazine["top"])
        offline = "" if int(keeper["epoch"]) else ", offline"
        return f"local of {name}, {free} of {int(magazine['cache'])} free slots at hand{offline}"


class Ipc(Store):
    """A kolk_ipc; its objects are found by slot. Other processes may change it. It is readable if libkolk has debug
    information."""

    NOUN = "pool between processes"
    NOT_ZERO = ("slots", "block", "stride", "inverse", "capacity")
    STRUCTS = ("struct kolk_ipc_block_", "struct ipc_process", "struct kolk_ipc_queue_")
    RECORDS = 1024  # bytes of the block before the records of the processes
    OWNER, QUEUED = 0xFFF, 0x1000  # of a life
    END = 0xFFFFFFFF  # in the last cell of a closed queue
    FLAGS = ("read_only", "may only be read"), ("corrupt", "corrupt")

    def __init__(self, value, object_type=None):
        super().__init__(value, object_type)
        self.block, self.process, self.queue = map(struct_named, self.STRUCTS)
        self.ring = self.number("ring_mask") + 1
        self.holders = self.number("max_processes") + 1  # number 0 stands for the dead

    def field(self, name):
        return self.value["capacity" if name in ("fresh", "max_capacity") else name]

    @property
    def count(self):
        return sum(1 for _ in self.live())

    def regions(self):
        """Yields the regions of the block in their order, and the sizes that they need."""
        yield "block", self.RECORDS + self.holders * self.process.sizeof
        yield "queues_at", self.number("queues") * self.queue.sizeof
        yield "lives", self.capacity * 8
        yield "rings", self.number("queues") * self.ring * 8
        yield "slots", self.capacity * self.stride

    def fault_of_counts(self):
        if not (self.block and self.process and self.queue):
            return NO_DEBUG_INFORMATION
        start, size = self.number("block"), self.number("size")
        end = start
        for region, needs in self.regions():
            if self.number(region) < end:
                return f"{region} is too low for what lies before it"
            end = self.number(region) + needs
        if end > start + size:
            return "its file ends before its slots"
        if not is_readable(start, size) or not int(self.value["block"].cast(self.block.pointer())["magic"]):
            return NO_SHARED_MEMORY  # gdb reads zeros where some core dumps have nothing
        return None

    def arrays(self):
        return ()

    def lives(self):
        """Yields the slots that were ever used, and their lives."""
        start, block = self.number("lives"), self.value["block"].cast(self.block.pointer())
        used = min(int(block["used_words"]) * 64, self.capacity)  # a look at other pages would take memory for them
        for first in range(0, used, SLOTS_AT_A_TIME):
            length = min(SLOTS_AT_A_TIME, used - first)
            lives = struct.unpack(f"{byte_order()}{length}Q", read(start + first * 8, length * 8))
            yield from ((first + n, life) for n, life in enumerate(lives) if life)

    def live(self):
        return (slot for slot, life in self.lives() if life >> 32 & 1)

    def peak(self):
        return sum(1 for _ in self.lives())

    def queues(self):
        """Yields, for each queue, how many objects it has, and whether it is closed. A push or a pop that has not ended
        may count or not."""
        queues = self.value["queues_at"].cast(self.queue.pointer())
        for n in range(self.number("queues")):
            head, tail = int(queues[n]["head"]), int(queues[n]["tail"])
            last = int(self.value["rings"][n * self.ring + (tail - 1) % self.ring])
            is_closed = last & 0xFFFFFFFF == self.END
            yield min(max(tail - head - is_closed, 0), self.ring), is_closed

    def order(self):
        records = gdb.Value(self.number("block") + self.RECORDS).cast(self.process.pointer())
        used = sum(bool(records[n]["used"]) for n in range(1, self.holders))
        words = f", {used} of {self.holders - 1} processes"
        words += f", {self.value['waiting']} waiting" if self.number("waiting") else ""
        for n, (count, is_closed) in enumerate(self.queues()):
            words += f", queue {n} has {count}" if count or is_closed else ""
            words += " and is closed" if is_closed else ""
        owned, pushed = collections.Counter(), collections.Counter()
        for _, life in self.lives():
            if life >> 32 & 1:
                (pushed if life & self.QUEUED else owned)[life & self.OWNER] += 1
        for n in sorted(owned + pushed, key=lambda n: (-owned[n], -pushed[n], n)):
            who = f"process {n}" if n else "the dead"
            if 0 < n < self.holders:
                who += f" ({name_at(int(records[n]['name'].address))}, pid {records[n]['pid']})"
            words += f", {who}: {owned[n]} owned and {pushed[n]} pushed"
        return words

    def mode(self):
        return "".join(f", {words}" for flag, words in self.FLAGS if self.number(flag))

    def pointer(self, slot):
        return self.as_pointer(self.value["slots"] + slot * self.stride)

    def find(self, slot, generation):
        """Returns the slot if its object is alive in this generation."""
        found = slot < self.capacity and generation & 1
        return slot if found and int(self.value["lives"][slot]) >> 32 == generation else None


class Queue:
    """A kolk_queue. item_type is the type of its items, or None if it is unknown."""

    PUSH, POP = 0, 1  # the ends
    OPEN, TICKETS = 1, 3  # of an end's ticket: the bit of an open gate; the ticket is above these bits
    CELL_HEAD = 8  # bytes of a cell before the item

    def __init__(self, value, item_type=None):
        self.value = value
        self.item_size, self.stride, self.capacity = map(self.number, ("item_size", "stride", "capacity"))
        self.lap = self.number("mask") + 1
        self.item_type = item_type if item_type and item_type.sizeof == self.item_size else None
        tickets = [int(value["ends"][end]["ticket"]) for end in (self.PUSH, self.POP)]
        self.tail, self.head = (ticket >> self.TICKETS for ticket in tickets)
        self.is_open = [bool(ticket & self.OPEN) for ticket in tickets]
        laps = self.tail // self.lap - self.head // self.lap
        self.count = self.tail % self.lap - self.head % self.lap + laps * self.capacity
        self.waiting, self.waiting_fault = zip(*map(self.waiters, (self.PUSH, self.POP)))

    def number(self, name):
        return int(self.value[name])

    def waiters(self, end):
        """Returns how many threads wait at an end, and why their list cannot be read or None. Without libkolk's debug
        information the number is "some"."""
        waiter, its_type = self.value["ends"][end]["waiters"]["first"], struct_named("struct kolk_waiter_")
        if not int(waiter) or not its_type:
            return "some" if int(waiter) else 0, None
        known = set()
        while int(waiter):
            if int(waiter) in known or not is_readable(int(waiter), its_type.sizeof):
                return len(known), "the list of waiters is damaged"
            known.add(int(waiter))
            waiter = waiter.cast(its_type.pointer())["behind"]
        return len(known), None

    def fault(self):
        """Returns why this is not a valid queue, or None if it is valid."""
        if not any(map(self.number, ("cells", "mask", "stride", "item_size", "capacity"))):
            return "all zero, as before init and after deinit"
        if not self.item_size or self.stride != (self.CELL_HEAD + self.item_size + 7) // 8 * 8:
            return f"item_size {self.item_size} does not fit stride {self.stride}"
        if self.lap != max(2, 1 << (self.capacity - 1).bit_length()):
            return f"mask {self.lap - 1} is not that of capacity {self.capacity}"
        if self.number("bytes") != self.capacity * self.stride:
            return f"{self.value['bytes']} bytes are not {self.capacity} cells of stride {self.stride}"
        if max(self.head % self.lap, self.tail % self.lap) >= self.capacity or not 0 <= self.count <= self.capacity:
            return f"tickets {self.head} to {self.tail} do not fit capacity {self.capacity}"
        if self.is_open[self.PUSH] and not self.is_open[self.POP]:
            return "only pops are shut down"
        if not is_readable(self.number("cells"), self.number("bytes")):
            return "cells is not readable"
        return self.waiting_fault[self.PUSH] or self.waiting_fault[self.POP]

    def to_string(self):
        fault = self.fault()
        if fault:
            return f"no queue ({fault})"
        pushes = self.value["ends"][self.PUSH]
        words = name_at(self.number("name")) + ": " if self.number("name") else ""
        words += f"queue of {self.item_size}-byte items, {self.count} of {self.capacity} queued"
        words += f", peak {self.capacity if int(pushes['was_blocked']) else self.count}"
        for waiting, what in zip(self.waiting, ("room", "items")):
            words += f", {waiting} waiting for {what}" if waiting else ""
        words += f", {pushes['failed']} failed" if int(pushes["failed"]) else ""
        return words + ("" if self.is_open[self.PUSH] else ", closed" if self.is_open[self.POP] else ", shut down")

    def children(self):
        """Yields the items, the first to be popped first."""
        for n in range(0 if self.fault() else self.count):
            lap, number = self.head // self.lap * self.lap, self.head % self.lap + n
            if number >= self.capacity:
                lap, number = lap + self.lap, number - self.capacity
            yield f"[{n}]", self.item(self.value["cells"] + number * self.stride, lap + 1)

    def item(self, cell, turn):
        """Returns the item of a cell, or words if the cell has not the turn that a push leaves."""
        try:
            if int(cell.cast(self.value["mask"].type.pointer()).dereference()) != turn:
                return "being pushed"
        except gdb.error:
            return "not readable"
        pointer = (cell + self.CELL_HEAD).cast((self.item_type or gdb.lookup_type("void")).pointer())
        return pointer.dereference() if self.item_type else pointer


class Resources:
    """A kolk_resource_pool. Its contents are readable if libkolk has debug information."""

    STATES = ("idle", "being validated", "lent", "in hand", "being created", "to be destroyed", "being destroyed")

    def __init__(self, value):
        self.inside, self.fault = inside_of(value["inside"], "struct kolk_resource_inside_")

    def count(self, state):
        lists = {"idle": 0, "lent": 1}
        count = int(self.inside["lists"][lists[state]]["count"])
        return count - int(self.inside["asked"]) if state == "idle" else count

    def to_string(self):
        pool = self.inside
        if self.fault:
            return without("resource pool", self.fault)
        words = name_at(int(pool["desc"]["name"])) + ": " if int(pool["desc"]["name"]) else ""
        words += f"resource pool, {self.count('lent')} of {pool['max']} in use, {self.count('idle')} idle"
        for field, noun in (("creating", "being created"), ("waiting", "waiting")):
            if int(pool[field]):
                words += f", {pool[field]} {noun}"
        return words + "".join(f", {flag}" for flag in ("paused", "closed") if pool[flag])

    def children(self):
        """Yields each resource by its slot: its state, its key, its borrower and its pointer."""
        if self.fault:
            return
        entries = Pool(self.inside["entries"])
        pointer = gdb.lookup_type("struct resource_entry").pointer()
        for slot in entries.live() if not entries.fault() else ():
            entry = entries.pointer(slot).cast(pointer).dereference()
            yield f"[{slot}]", self.words(entry)

    def words(self, entry):
        words = f"{self.STATES[int(entry['state']) % len(self.STATES)]}"
        key = entry["key"]["text"].string(errors="replace")
        words += f", key {key}" if key else ""
        if int(entry["state"]) == self.STATES.index("lent"):
            who = f" {name_at(int(entry['who']))}," if int(entry["who"]) else ""
            words += f" to{who} thread {entry['thread']}"
        return words if "created" in words else words + f", {entry['resource']}"


class Heap:
    """A kolk_heap. Its contents are readable if libkolk has debug information."""

    def __init__(self, value):
        self.value = value
        self.inside = self.fixed = self.root = None
        if int(value["fixed"]):
            self.fixed, self.fault = inside_of(value["fixed"], "struct kolk_fixed_")
            return
        self.root, self.fault = inside_of(value["root"], "struct kolk_heap_root_")
        if self.root and int(value["inside"]):
            self.inside, self.fault = inside_of(value["inside"], "struct kolk_heap_inside_")
        if self.inside and int(value["n_classes"]) > self.inside["trays"].type.range()[1] + 1:
            self.fault = f"{value['n_classes']} classes"

    def young(self):
        """Yields, for each class of the nursery, the size of its blocks, how many are alive, and how many there are."""
        young = self.root["nursery"]["of"]
        for n in range(young.type.range()[1] + 1):
            alive, freed = int(young[n]["alive"]), int(young[n]["freed"])
            if alive + freed:
                yield (16 * (n + 1) if n < 4 else (16 << (n - 4) // 4) * (5 + n % 4)), alive, alive + freed

    def trays(self):
        """Yields, for each used class, the size of its blocks, how many are alive, and how many have memory."""
        for n in range(int(self.value["n_classes"]) if self.fixed else 0):
            tray = self.fixed["trays"][n]
            yield int(tray["size"]), int(tray["count"]), int(tray["capacity"])
        sums = {size: (alive, capacity) for size, alive, capacity in self.young()} if not self.fixed else {}
        for n in range(int(self.value["n_classes"]) if self.inside else 0):
            tray = self.inside["trays"][n]
            if int(tray["is_made"]):
                store, (alive, capacity) = SlotStore(tray["store"]), sums.get(int(tray["size"]), (0, 0))
                sums[int(tray["size"])] = (alive + store.count, capacity + store.capacity)
        for size in sorted(sums):
            yield (size, *sums[size])

    def to_string(self):
        if self.fault:
            return without("heap", self.fault)
        top = self.fixed or self.root
        words = name_at(int(top["name"])) + ": " if int(top["name"]) else ""
        words += f"heap, {sum(alive for _, alive, _ in self.trays())} blocks alive"
        if self.inside and int(self.inside["large"]["count"]):
            words += f" and {self.inside['large']['count']} large of {self.inside['large']['bytes']} bytes"
        limit = int(self.root["own"]["limit"]) if self.root else 0
        if limit:
            words += f", {limit - int(self.root['own']['used_'])} bytes left of {limit}"
        failed = int(top["failed"])
        return words + (f", {failed} failed" if failed else "")

    def children(self):
        """Yields each class that has been used, by the size of its blocks."""
        for size, alive, capacity in self.trays() if not self.fault else ():
            yield f"[{size}]", f"{alive} of {capacity} alive"


class Handle:
    """A handle. Its slot is XORed with the tag of the pool, which is unknown here."""

    def __init__(self, value):
        self.bits = int(value["bits"])

    def to_string(self):
        if self.bits == 0:
            return "null"
        return f"generation {self.bits >> 32}, slot ^ tag {self.bits & 0xFFFFFFFF:#x}"


def wrapped(value, member, tag):
    """Returns the only member of a typed struct of typed.h, or None for other values."""
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


def struct_named(name):
    """Returns a struct of kolk's sources, or None without their debug information."""
    found = type_named(name)
    return found if found and found.fields() else None


def type_of_typedef(name):
    """Returns the type that typed.h calls so, or None."""
    found = type_named(name)
    return found.target() if found and found.code == gdb.TYPE_CODE_TYPEDEF else None


def shared(value, object_type=None):
    return Shared(value["inside"], object_type)


KINDS = (
    (Pool, "pool", "kolk_pool"),
    (SlotMap, "map", "kolk_slotmap"),
    (shared, "pool", "kolk_shared"),
    (Ipc, "pool", "kolk_ipc"),
)


def store_of(value):
    """Returns a pool of any kind or a slot map, typed or not, or None for other values."""
    tag = gdb.types.get_basic_type(value.type).tag
    for kind, member, untyped_tag in KINDS:
        if tag == untyped_tag:
            return kind(value)
        untyped = wrapped(value, member, untyped_tag)
        if untyped is not None:
            return kind(untyped, type_of_typedef(f"{tag}_object"))
    return None


def local_of(value):
    if gdb.types.get_basic_type(value.type).tag == "kolk_shared_local":
        return Local(value)
    untyped = wrapped(value, "local", "kolk_shared_local")
    return None if untyped is None else Local(untyped)


def queue_of(value):
    tag = gdb.types.get_basic_type(value.type).tag
    if tag == "kolk_queue":
        return Queue(value)
    untyped = wrapped(value, "queue", "kolk_queue")
    return None if untyped is None else Queue(untyped, type_of_typedef(f"{tag}_item"))


def resources_of(value):
    if gdb.types.get_basic_type(value.type).tag == "kolk_resource_pool":
        return Resources(value)
    untyped = wrapped(value, "pool", "kolk_resource_pool")
    return None if untyped is None else Resources(untyped)


def heap_of(value):
    return Heap(value) if gdb.types.get_basic_type(value.type).tag == "kolk_heap" else None


def handle_of(value):
    if gdb.types.get_basic_type(value.type).tag == "kolk_handle":
        return Handle(value)
    untyped = wrapped(value, "untyped", "kolk_handle")
    return None if untyped is None else Handle(untyped)


class Printer(gdb.printing.PrettyPrinter):
    def __init__(self):
        super().__init__("kolk")

    def __call__(self, value):
        kinds = store_of, local_of, queue_of, resources_of, heap_of, handle_of
        return next(filter(None, (kind(value) for kind in kinds)), None)


class Get(gdb.Function):
    """$kolk_get(POOL, HANDLE): pointer to the object of a handle; 0 if the handle is stale.
POOL may also be a slot map, a shared pool or a pool between processes, or a pointer to one, and HANDLE the bits of one."""

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
        found = store_of(pool)
        if not found:
            raise gdb.GdbError(f"$kolk_get: the first argument is no pool, but of type {pool.type}.")
        fault = found.fault()
        if fault:
            article = "a " if fault in NOT_TO_BE_READ else ""
            raise gdb.GdbError(f"$kolk_get: this is {article}{without(found.NOUN, fault)}.")
        known = handle_of(handle)
        return found.get(known.bits if known else int(handle) & (1 << 64) - 1)


Get()
# gdb may load this file twice, from within an installed library and from the same folder.
gdb.printing.register_pretty_printer(gdb.current_objfile(), Printer(), replace=True)
