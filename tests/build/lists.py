#!/usr/bin/env python3
# runs: once
"""Each member has a file that lists its .c files; docs/README.md lists the pages, examples/README.md the examples,
ARCHITECTURE.md the folders of src/ and the headers, base.h the kinds, and CONTRIBUTING.md the rows of the matrix.
tests/contracts/kinds.h has a row for each kind, and test_all_rebinds.c one for each member of a descriptor. Each list is
complete, and has no other entries.
Each file of tests/ and fuzz/ says `wraps: X` for each function __wrap_X that it has.
Each line that tools/mutants.txt lists is in its function, and tools/mutate.py changes files that exist. Each link of a
page leads to a file, and to a heading in it.
A script that asks whether a command is there has no function of that name, because `command -v` finds functions first;
tools/setup.sh installs the command; and a script that skips itself says why. Usage: lists.py"""

import collections
import glob
import os
import re
import sys

LISTS = """src/pool/pool_inside.h src/slotmap/slotmap_inside.h src/bytemap/bytemap.c src/queue/queue_inside.h src/store/store.h
  src/shared/shared.c src/ipc/ipc_inside.h src/resource/resource.c src/heap/heap.c src/watch/watch.c""".split()
wrong = 0


def complain(sentence):
    global wrong
    wrong += 1
    print(sentence)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def find(pattern, text):
    return re.findall(pattern, text, re.MULTILINE)


def part(begin, end, text):
    """The text from a line that matches `begin` to the next one that matches `end`."""
    return re.search(rf"^{begin}.*?\n(?:.*\n)*?.*?{end}", text, re.MULTILINE)[0]


def compare(what, listed, there):
    listed, there = collections.Counter(listed), collections.Counter(there)
    if listed != there:
        complain(f"{what} has too much, or lacks: " + " ".join(sorted((listed - there) + (there - listed))))


def names(pattern, *without):
    return {os.path.basename(path.rstrip("/")) for path in glob.glob(pattern)} - set(without)


def cells(text):
    return [cell.strip().strip("`") for cell in re.split("[|,]", text)]


for path in LISTS:
    listed = " ".join(find(r"^ \*     .*", read(path).split("*/")[0]))
    compare(path, set(find(r"(?<= )[a-z_]+\.c\b", listed)), names(f"{os.path.dirname(path)}/*.c"))
for path in ("docs/README.md", "examples/README.md"):
    folder = os.path.dirname(path)
    there = set().union(*(names(f"{folder}/{pattern}") for pattern in ("*.md", "*.c", "*/")))
    there = there - {"cpp"} | {f"cpp/{name}" for name in names(f"{folder}/cpp/*.cc")}
    compare(path, [name for name, same in find(r"^\| \[([^]]*)\]\((.*?)\) \| [^ |]", read(path)) if name == same], there - {"README.md", "img"})

contributing, architecture, base = read("CONTRIBUTING.md"), read("ARCHITECTURE.md"), read("include/kolk/base.h")
headers = "".join(map(read, sorted(glob.glob("include/kolk/*.h"))))
folders = names("src/*/")
members = {name[:-2] for name in names("include/kolk/*.h")} - {"base", "budget", "compiler", "kolk", "snapshot", "typed"}
compare("tests/build/lists.py: LISTS", [path.split("/")[1] for path in LISTS], folders - {"base", "core", "ffi", "os"})
compare("ARCHITECTURE.md: Floors", [name.removeprefix("src/") for row in find(r"^\| (`src[^|]*)\|", architecture) for name in cells(row)], folders)
compare("ARCHITECTURE.md: include/kolk", find(r"`([a-z]+\.h)`", " ".join(find(r"^\| `include/kolk` .*", architecture))), names("include/kolk/*.h", "kolk.h"))
compare("include/kolk/base.h: kolk_stats.kind", find('"([a-z]+)"', part(r"    const char \*kind; ", r"\*/", base)), members)
compare("tests/contracts/kinds.h", set(find(r"MEMBER\(([a-z]*)\)", read("tests/contracts/kinds.h"))), members)


def members_of(struct):
    """The members of a descriptor; those of `full` and `life` one by one."""
    for line in part(rf"typedef struct {struct} \{{$", r"^\}", headers).splitlines():
        found = re.match(r"    [a-z].*\(\*([a-z_]*)\)\(", line) or re.match(r"    [a-z][a-z_0-9 ]*[ *]([a-z_]*)(?: KOLK_OR_0_;.*)?$", line)
        group = found and {"full": "kolk_pool_full", "life": "kolk_life"}.get(found[1])
        if group:
            yield from (f"{found[1]}.{member}" for member in members_of(group))
        elif found:
            yield found[1]


descs = set(find(r"_rebind\(kolk_[a-z_]+ \*[a-z]+, const (kolk_[a-z_]+_desc)", headers))
listed = find(r"\bROW\((kolk_[a-z_]+_desc, [a-z_.]+)", read("tests/contracts/test_all_rebinds.c"))
compare("tests/contracts/test_all_rebinds.c", listed, [f"{desc}, {member}" for desc in descs for member in members_of(desc)])

rows = set(find(r"^ *(?:row|tested|machine) ([a-z0-9_-]+) ", read("tools/matrix.sh")))
table = find(r"^\| ([^|]*) \|", part(r"\| row of the matrix", "^$", contributing))[1:]
compare("CONTRIBUTING.md: the matrix", [name for row in table for name in cells(row)], rows)
compare("docs/tests.md: the rows of the matrix", cells(find(r"^\| (fresh \| .*) \| all \|$", read("docs/tests.md"))[0]), rows)

listed, there = [], set()
for path in [f"{at}/{name}" for folder in ("tests", "fuzz") for at, _, files in os.walk(folder) for name in files if name.endswith((".c", ".h"))]:
    text = read(path)
    listed += [f"{path} {word}" for words in find(r"^/\*.* wraps: (.*)", text) for word in words.split() if not word.endswith((".h", "*/"))]
    if not path.startswith("tests/device/"):
        there |= {f"{path} {name}" for name in find(r"^(?!.*\);).*__wrap_([A-Za-z0-9_]*)\(", text)}
compare('the lines "wraps:" of tests and fuzz', listed, there)

# A line of mutants.txt may be several lines of the source.
for line in read("tools/mutants.txt").splitlines():
    mark, _, text = line.partition(" ")
    if mark == "@":
        at, (path, function) = text, text.rsplit(" ", 1)
        body = "\n".join(re.findall(rf"(?ms)^(?:[A-Za-z][^\n]*)?\b{function}\(.*?(?:^\}}|\Z)", read(path)))
        body = re.sub(r"\s+", " ", re.sub(r"/\*.*\*/", "", body))
    elif mark == "-" and text.strip() not in body:
        complain(f"tools/mutants.txt: {at} has not the line: {text}")

for path in find('"([^"]+)"', part("FILES = ", r"\]  #", read("tools/mutate.py"))):
    if not glob.glob(path):
        complain(f"tools/mutate.py: FILES has {path}, which is not there")

# In packages that are installed for another reason; or, under other names, what setup.sh installs.
INSTALLED = "addr2line chromium-browser clang++-19 gcore google-chrome llvm-addr2line pgbench redis-benchmark script true".split()
ASKED = r'command -v "?([A-Za-z0-9][A-Za-z0-9_.+-]*)'
setup = read("tools/setup.sh")
installed = {*INSTALLED, *find(ASKED, setup), *(word.split("=")[-1] for words in find("^  commands (.*)", setup) for word in words.split())}
for path in sorted(glob.glob("tests/*/*.sh") + glob.glob("tools/*.sh") + glob.glob("bench/*.sh")):
    text = read(path)
    asked = sorted(set(find(ASKED, text)))
    for name in set(find(r"^ *(?:function +)?([A-Za-z0-9_.+-]+) *\(\)", text)) & {*installed, *asked}:
        complain(f"{path}: the function {name} has the name of a command, for which it would be taken")
    for name in asked:
        if name not in installed:
            complain(f"{path} asks for {name}, which tools/setup.sh does not install")
    lines = text.splitlines()
    for number, (before, line) in enumerate(zip(["", *lines], lines), 1):
        ends = re.search(r"(^|[ ;{])exit 77", line) and "skipped: " not in f"{before} {line}"
        if ends or re.search(r'(^|[ ;{])skip *("" *)?([;)}&|]|$)', line):
            complain(f"{path} skips itself without a reason, in line {number}")
        if re.search("[|] *grep -[a-zA-Z]*q", line) and find("^set .*pipefail", text):
            complain(f"{path}:{number}: with pipefail, the program before grep -q may end by SIGPIPE: use grep > /dev/null")


def without_code(path):
    return re.sub(r"(?ms)^```.*?^```", "", read(path))


def anchors(path):
    """A heading's anchor is its text in lower case, with - for a space, and without other signs."""
    return [re.sub("[^a-z0-9_-]", "", text.lower().replace(" ", "-")) for text in find("^#+ (.*)", without_code(path))]


for at, below, files in os.walk("."):
    below[:] = [name for name in below if at != "." or name not in ("build", ".git")]
    for page in [f"{at}/{name}" for name in files if name.endswith(".md")]:
        for link in sorted(set(find(r"\]\(([^): ]+)\)", without_code(page)))):
            path, sign, heading = link.partition("#")
            path = f"{at}/{path}" if path else page
            if not os.path.exists(path) or sign and heading not in anchors(path):
                complain(f"{page}: nothing is at {link}")

print(f"{wrong} lists or links are wrong")
sys.exit(wrong != 0)
