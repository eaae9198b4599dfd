#!/usr/bin/env python3
# runs: once
"""Each member of a descriptor is set by a test of its kind and named in README.md or docs, and has an initialiser for
C++20. A descriptor is a struct kolk_..._desc, or another struct whose members have KOLK_OR_0_. Each status is used in
the sources and in a test. Usage: members.py"""

import glob
import os
import re
import sys

# Members that no model sets but other tests of the kind do.
TESTED_ELSEWHERE = "bytemap.name pool.on_low queue.move slotmap.move".split()

# Members of kolk_pool_desc, `full` and `life` that are not options: pools without options obey them as well.
PLAIN = "name object_size object_align capacity generations tag low_water keep memory_size budget on_evict context debug full life".split()

wrong = 0


def complain(sentence):
    global wrong
    wrong += 1
    print(sentence)


def read(*patterns):
    return "\n".join(open(path, encoding="utf-8").read() for pattern in patterns for path in glob.glob(pattern, recursive=True))


def list_members():
    """Yields header, struct, member, and whether it has no initialiser."""
    for header in glob.glob("include/kolk/*.h") + glob.glob("adapters/*/kolk/*.h"):
        for struct, body in re.findall(r"^typedef struct (kolk_[a-z_]*) \{(.*?)^\}", read(header), re.MULTILINE | re.DOTALL):
            members = []
            for text in re.split(r"; *\n", re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL))[:-1]:
                bare = "KOLK_OR_0_" not in text
                text = " ".join(text.replace(" KOLK_OR_0_", "").split())
                pointer = re.search(r"\(\*([a-z_]+)\)", text)
                members += [(re.sub(r"\[.*|.*[ *]", "", name), bare) for name in (pointer[1] if pointer else text).split(",")]
            if struct.endswith("_desc") or not all(bare for _, bare in members):
                yield from ((header, struct, member, bare) for member, bare in members)


members = list(list_members())
structs = sorted({struct for _, struct, _, _ in members})
if len(structs) < 12:
    complain("Descriptors are not found any more.")
pages, compiled = read("README.md", "docs/**/*.md"), read("tests/compile/descriptors.cc")
for header, struct, member, bare in members:
    if member.endswith("_") or member in ("full", "life"):  # private; groups, whose members have lines of their own
        continue
    kind = os.path.basename(header)[:-2]
    tests = [f"tests/{kind}/*model*", f"tests/{kind}/*descriptor*"]
    if kind == "base":  # kolk_life
        tests = ["tests/pool/*model*", "tests/shared/*.[ch]"]
    elif kind in ("budget", "shared", "resource", "pq", "sqlite", "tcp") or f"{kind}.{member}" in TESTED_ELSEWHERE:
        tests = [f"tests/{kind}/*.[ch]"]  # their models leave options to other tests
    if not re.search(rf"(\.|->){member} *=[^=\n]", read(*tests)):
        complain(f"{header}: {struct}.{member}: no test in {' '.join(tests)} sets it. Let the model take it, or add it to TESTED_ELSEWHERE.")
    if not re.search(rf"(\.|->|`){member}\b", pages):
        complain(f"{header}: {struct}.{member}: neither README.md nor docs name it, as .{member} or in backticks. Say there what it is for.")
    if bare:
        complain(f"{header}: {struct}.{member}: it needs KOLK_OR_0_ (base.h).")
for struct in structs:
    if f"is_plain<{struct}>" not in compiled:
        complain(f"tests/compile/descriptors.cc does not say is_plain<{struct}>.")

asks = re.search(r"^KOLK_FOLDED_INLINE_ bool kolk_pool_has_options_\(.*? kolk_pool_init\(", read("include/kolk/pool.h"), re.MULTILINE | re.DOTALL)[0]
for _, struct, member, _ in members:
    if struct in ("kolk_pool_desc", "kolk_pool_full", "kolk_life") and member not in PLAIN and not re.search(rf"->(life\.)?{member}\b", asks):
        complain(f"include/kolk/pool.h: kolk_pool_has_options_ does not look at .{member}. Without it a program that has no other option ignores it.")

statuses = re.findall(r"^    X\((KOLK_[A-Z0-9_]+), ", read("include/kolk/base.h"), re.MULTILINE)
if len(statuses) < 50:
    complain("Statuses are not found any more.")
used, expected = (set(re.findall(r"\w+", read(*patterns))) for patterns in (("src/*/*.c", "adapters/*/*.c"), ("tests/*/*.[ch]",)))
for status in statuses:
    if status not in used:
        complain(f"include/kolk/base.h: {status}: nothing in src or adapters has it.")
    if status not in expected:
        complain(f"include/kolk/base.h: {status}: no test expects it.")

print(f"{len(members)} members, {len(statuses)} statuses, {wrong} complaints")
sys.exit(wrong != 0)
