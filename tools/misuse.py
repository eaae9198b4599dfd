#!/usr/bin/env python3
# runs: long two-processors once
# promise: README.md "lists all mistakes"
"""Runs the mistakes of tests/misuse, each as a program, in every setting. Writes the output that a user sees into the
tables of docs/misuse.md. The clean twins of the programs must print nothing.

Usage: [CC=...] tools/misuse.py [--check] LIBRARY

LIBRARY is a libkolk.a built without sanitizers. With --check, the columns for kolk are compared with the existing
tables. (The columns for malloc depend on the C library.) Columns whose tool is missing are left out, and are named.
KOLK_TEST_EFFORT=quick leaves out memcheck's columns of pools, whose slots tools_memcheck has, except resource pools.
"""
import concurrent.futures
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path("tests/misuse")
DOCUMENT = pathlib.Path("docs/misuse.md")
FILES = [SOURCES / f"{kind}.c" for kind in ("pool", "packed", "shared", "ipc", "resource", "heap")]
CC = os.environ.get("CC", "gcc")


POOL = ("-DPOOL",)
PACKED = ("-DPACKED",)
SHARED = ("-DSHARED",)
IPC = ("-DIPC",)
RESOURCE = ("-DRESOURCE",)
HEAP = ("-DHEAP",)
MALLOC = ("-DMALLOC",)
TWINS = WRONG, CLEAN = (), ("clean",)  # what precedes the names in the arguments
ASAN = ("-fsanitize=address",)
# Dead values on the stack sometimes hide a leak, so they are not searched. No cell needs symbols.
NO_DEAD_VALUES = {"LSAN_OPTIONS": "use_stacks=0:use_registers=0", "ASAN_OPTIONS": "symbolize=0"}
MEMCHECK = ("valgrind", "-q", "--leak-check=full", "--sanity-level=0")  # it does not check itself, which takes long
AT_ONCE = 60  # programs per start of a tool, because the start takes longer than some programs


def suffix(flags):
    """Returns what distinguishes the programs of a file that is compiled in this way."""
    return re.sub(r"\W", "", "_".join(["", *flags]))


class Column:
    """One way to build and run all programs."""

    def __init__(self, title, build, environment=None, runner=(), kind="pool"):
        self.title = title
        self.build = build
        self.environment = environment or {}
        self.runner = runner
        self.malloc = "-DMALLOC" in build
        self.kind = kind
        self.bundle = tuple(flag for flag in build if flag in ASAN + MALLOC)
        self.start = (self.bundle, tuple(sorted(self.environment.items())), runner)  # columns that can run together

    def entry(self, name):
        """Returns the name of such a program in the bundle."""
        return name + suffix(self.build)


TABLES = [
    [Column("kolk", POOL), Column("kolk, `KOLK_DEBUG=all`", POOL, {"KOLK_DEBUG": "all"}), Column("malloc", MALLOC)],
    [
        Column("kolk, ASan", POOL + ASAN, NO_DEAD_VALUES),
        Column("malloc, ASan", MALLOC + ASAN, NO_DEAD_VALUES),
        Column("kolk, memcheck", POOL, runner=MEMCHECK),
        Column("malloc, memcheck", MALLOC, runner=MEMCHECK),
    ],
    [  # for the slot map
        Column("kolk", PACKED, kind="packed"),
        Column("`KOLK_DEBUG=all`", PACKED, {"KOLK_DEBUG": "all"}, kind="packed"),
        Column("`KOLK_DEBUG=move`", PACKED, {"KOLK_DEBUG": "move"}, kind="packed"),
        Column("ASan", PACKED + ASAN, NO_DEAD_VALUES, kind="packed"),
        Column("memcheck", PACKED, runner=MEMCHECK, kind="packed"),
    ],
    [  # for the shared pool
        Column("kolk_shared", SHARED, kind="shared"),
        Column("`KOLK_DEBUG=all`", SHARED, {"KOLK_DEBUG": "all"}, kind="shared"),
        Column("ASan", SHARED + ASAN, NO_DEAD_VALUES, kind="shared"),
        Column("memcheck", SHARED, runner=MEMCHECK, kind="shared"),
    ],
    [  # for the pool between processes
        Column("kolk_ipc", IPC, kind="ipc"),
        Column("`KOLK_DEBUG=all`", IPC, {"KOLK_DEBUG": "all"}, kind="ipc"),
    ],
    [  # for the resource pool
        Column("kolk_resource_pool", RESOURCE, kind="resource"),
        Column("`KOLK_DEBUG=all`", RESOURCE, {"KOLK_DEBUG": "all"}, kind="resource"),
        Column("ASan", RESOURCE + ASAN, NO_DEAD_VALUES, kind="resource"),
        Column("memcheck", RESOURCE, runner=MEMCHECK, kind="resource"),
    ],
    [  # for the heap
        Column("kolk_heap", HEAP, kind="heap"),
        Column("kolk_heap, `KOLK_DEBUG=all`", HEAP, {"KOLK_DEBUG": "all"}, kind="heap"),
        Column("malloc", MALLOC, kind="heap"),
        Column("kolk_heap, ASan", HEAP + ASAN, NO_DEAD_VALUES, kind="heap"),
        Column("kolk_heap, memcheck", HEAP, runner=MEMCHECK, kind="heap"),
    ],
]

# The patterns that find a report's first line.
REPORTS = [
    r"kolk: [^:]+: (a resource that was borrowed) .+ (is not given back) after .+",
    r"kolk: [^:]+: (.+ process) \d+ (\(.+?\)) by .+",
    r"kolk: [^:]+: (.+?)(?:(?:, seen|, after it was .+|, now that it is .+)? by .+|; .+)?$",
    r"SUMMARY: AddressSanitizer: ([a-zA-Z-]+) ",
    r"==\d+==ERROR: LeakSanitizer: (.+)",
    r"==\d+== (Invalid (?:(?:read|write) of size \d+|free\(\)))",
    r"==\d+== (Conditional jump or move depends on uninitialised value)",
    r"==\d+== .* blocks are (\w+ (?:lost|reachable))",
    r"((?:free|malloc)\(\): .+|double free or corruption.*|munmap_chunk\(\): .+)",
]


class Mistake:
    def __init__(self, source, name, row, tables):
        self.source, self.name, self.row, self.kinds = source, name, row, tables.split()

    def is_in(self, column):
        return column.kind in self.kinds and not (column.malloc and "malloc" not in self.kinds)


def all_mistakes():
    """Returns the mistakes in the order of the tables."""
    pattern = r'^(?:WHOLE_)?MISTAKE\((\w+),\s*"(.*?)",\s*"(.*?)"\)'
    return [Mistake(source, *found) for source in FILES for found in re.findall(pattern, source.read_text(), re.M)]


# Without debug information, in the library too: no cell needs it, and Valgrind cannot read every version.
COMPILE = [CC, "-std=c11", "-O1", "-w", "-Iinclude"]
UNWINDER = ["-Wl,--no-as-needed", "-lgcc_s"]  # or glibc would load it at each report, and Valgrind read all of it


def run_programs(start, binary, twin, entries):
    """Maps each program's name in the bundle to its stderr and its exit status; if a signal ended it, the status is
    minus the signal's number."""
    _, settings, runner = start
    ours = ("KOLK_", "ASAN_", "LSAN_", "MALLOC_", "GLIBC_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    environment.update(settings)
    command = [*runner, binary, *twin, *entries]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=600)
    output = done.stderr.decode(errors="replace")
    found = re.findall(r"^program: (\w+)\n(.*?)^status: (-?\d+)$", output, re.M | re.S)
    if [name for name, _, _ in found] != entries:
        raise SystemExit(f"misuse.py: {command}: exit status {done.returncode}, and\n{output}")
    return {name: (said, int(status)) for name, said, status in found}


def report_in(line):
    for pattern in REPORTS:
        match = re.match(pattern, line)
        if match:
            return " ... ".join(match.groups())
    return None


def cell_of(output, status):
    """Returns the text for a mistake: the first report, with its stage if it was late; or the results that the program
    got."""
    stage, answers = None, []
    for line in output.splitlines():
        key, _, value = line.partition(": ")
        report = report_in(line)
        if key == "stage":
            stage = value if stage or value == "misuse" else None
        elif stage and report:
            return f"`{report}`" if stage == "misuse" else f"later, at {stage}: `{report}`"
        elif stage and key == "answer":
            answers.append(value)
    if status == -signal.SIGALRM:
        raise SystemExit(f"misuse.py: a program hangs:\n{output}")
    if status < 0:
        return "crash"
    if status > 0 or not stage:
        raise SystemExit(f"misuse.py: exit status {status}, and no mistake, or no report that is known, in:\n{output}")
    return ", ".join(answers) or "silent"


@functools.cache
def missing_tool(flags, runner):
    """Returns the tool that is needed to build with these flags and to run so, if it does not work here."""
    with tempfile.TemporaryDirectory() as folder:
        binary = f"{folder}/probe"
        try:
            subprocess.run([CC, *flags, "-xc", "-", "-o", binary], input=b"int main(void) { return 0; }", check=True, capture_output=True)
            subprocess.run([*runner, binary], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            return runner[0] if runner else " ".join([CC, *flags])
    return None


def make_bundles(runs, library, folder, workers):
    """Returns the executables, by Column.bundle: each has all programs that can run in one process."""
    keys = {(column.bundle, column.build, mistake.source): None for mistake, column in runs}
    made = {key: folder / f"{number}.o" for number, key in enumerate(keys)}
    bundles = {key[0]: folder / "".join(["all", *key[0]]) for key in keys}

    def compile_one(key):
        _, flags, source = key
        subprocess.run([*COMPILE, *flags, f"-DBUILD={suffix(flags)}", "-c", source, "-o", made[key]], check=True)

    def link(bundle):
        objects = [made[key] for key in keys if key[0] == bundle]
        libraries = UNWINDER if "-DMALLOC" in bundle else [library, *UNWINDER]
        subprocess.run([CC, "-Wl,-S", *bundle, *objects, *libraries, "-o", bundles[bundle]], check=True)

    list(workers.map(compile_one, keys))
    list(workers.map(link, bundles))
    return bundles


def run_all(mistakes, columns, library, folder):
    """Returns the cells by mistake and column. Exits if a clean twin is not silent."""
    runs = [(mistake, column) for column in columns for mistake in mistakes if mistake.is_in(column)]
    starts = {}  # the programs, by their tools and settings
    for mistake, column in sorted(runs, key=lambda run: not run[1].runner):  # the slow ones start first
        starts.setdefault(column.start, []).append(column.entry(mistake.name))
    jobs = [
        (start, twin, entries[at : at + AT_ONCE])
        for start, entries in starts.items()
        for twin in TWINS
        for at in range(0, len(entries), AT_ONCE)
    ]
    said = {(start, twin): {} for start in starts for twin in TWINS}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        bundles = make_bundles(runs, library, folder, workers)
        done = workers.map(lambda job: run_programs(job[0], bundles[job[0][0]], *job[1:]), jobs)
        for (start, twin, _), results in zip(jobs, done):
            said[start, twin].update(results)
    cells, failed = {}, False
    for mistake, column in runs:
        cells[mistake, column] = cell_of(*said[column.start, WRONG][column.entry(mistake.name)])
        output, status = said[column.start, CLEAN][column.entry(mistake.name)]
        lines = [line for line in output.splitlines() if not line.startswith("stage: ")]
        if lines or status != 0:
            print(f"{mistake.name}, its clean twin, {column.title}: exit status {status}", *lines[:1])
            failed = True
    if failed:
        raise SystemExit(1)
    return cells


def table(columns, mistakes, cells):
    lines = ["| | " + " | ".join(column.title for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for mistake in mistakes:
        if columns[0].kind in mistake.kinds:
            lines.append(f"| {mistake.row} | " + " | ".join(cells.get((mistake, column), "-") for column in columns) + " |")
    return "\n".join(lines) + "\n"


def read_tables(text):
    """Returns the cells of all tables, by the titles of the table's columns, the row and the column's title."""
    cells, titles = {}, ()
    for line in text.splitlines():
        name, *row = [cell.strip() for cell in line.split("|")[1:-1]] or [None]
        if name == "":
            titles = tuple(row)
        elif name and titles and not name.startswith("---"):
            cells.update(((titles, name, title), cell) for title, cell in zip(titles, row))
        elif name is None:
            titles = ()
    return cells


def check(cells):
    """Returns true if the tables agree with the results in these columns."""
    titles = {column: tuple(each.title for each in columns) for columns in TABLES for column in columns}
    found = {(titles[column], mistake.row, column.title): cell for (mistake, column), cell in cells.items()}
    asked = {(titles[column], column.title) for _, column in cells}
    written = {key: cell for key, cell in read_tables(DOCUMENT.read_text()).items() if (key[0], key[2]) in asked}
    wrong = [key for key in sorted(found | written) if found.get(key) != written.get(key)]
    for key in wrong:
        print(f"{key[0][0]}: {key[1]}, {key[2]}: {found.get(key)}, {DOCUMENT} says: {written.get(key)}")
    print(f"{len(found)} cells of {len(asked)} columns, {len(wrong)} of them not as in {DOCUMENT}")
    return not wrong


def write(mistakes, cells):
    text = DOCUMENT.read_text()
    for columns in TABLES:
        head = re.escape(table(columns, [], {}))
        text, found = re.subn(f"^{head}(\\|.*\n)*", lambda _: table(columns, mistakes, cells), text, flags=re.M)
        assert found == 1, f"{DOCUMENT} has no table of these columns: {[column.title for column in columns]}"
    DOCUMENT.write_text(text)


def main():
    arguments = sys.argv[1:]
    checking = arguments[:1] == ["--check"]
    if len(arguments) != 1 + checking or arguments[-1].startswith("-"):
        raise SystemExit("usage: [CC=...] tools/misuse.py [--check] LIBRARY")
    mistakes = all_mistakes()
    columns = [column for columns in TABLES for column in columns if not (checking and column.malloc)]
    if checking and os.environ.get("KOLK_TEST_EFFORT") == "quick":
        columns = [column for column in columns if not (column.runner and column.kind in ("pool", "packed", "shared"))]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        missing = {column: missing_tool(column.bundle, column.runner) for column in columns}
        for column in filter(missing.get, columns):
            print(f"{column.title}: left out, as {missing[column]} does not work here")
        columns = [column for column in columns if not missing[column]]
        if not checking and any(missing.values()):
            raise SystemExit(1)
        cells = run_all(mistakes, columns, arguments[-1], folder)
    if checking:
        raise SystemExit(not check(cells))
    write(mistakes, cells)


main()
