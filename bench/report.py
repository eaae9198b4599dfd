#!/usr/bin/env python3
"""report.py PROGRAMS RESULT [NAME...]: writes the medians of google-benchmark's programs, PROGRAMS/NAME.json, to
RESULT.json, and together with RESULT-components.csv and RESULT-instructions.csv to the tables of RESULT.md. Turns the lines of the programs with
threads, RESULT-NAME.csv, into the tables of RESULT-NAME.md. With a NAME (queue, shared, resource, heap, nested, ipc), writes
only these. Prints each ratio beside its target."""

import csv
import datetime
import json
import math
import os
import sys

PROGRAMS = ("memory", "iterate", "pool", "bulk", "slotmap", "bytemap")

SIZES = (100, 10000, 1000000)
WAYS = ("pair", "write", "init")
COLUMNS = ("loop", "glibc", "mimalloc", "jemalloc", "boost", "boost_ordered", "chapter", "kolk_typed", "kolk_untyped", "kolk_n",
           "kolk_fifo", "kolk_lowest", "kolk_lowest_n", "kolk_lowest_run", "kolk_shared", "kolk_shared_n", "kolk_no_cache",
           "kolk_no_cache_n", "kolk_typed_none", "kolk_untyped_none", "kolk_ages", "packed", "flag", "each", "each_run",
           "handles", "none", "lowest_none", "10%", "90%", "straight", "called", "kolk",
           "array", "plain")


def load(folder):
    """Returns the medians as {program: {(workload, case, who): benchmark}}, and the compiler."""
    programs, compiler = {}, "?"
    for program in PROGRAMS:
        with open(os.path.join(folder, program + ".json"), encoding="utf-8") as file:
            document = json.load(file)
        compiler = document["context"].get("compiler", compiler)
        rows = programs.setdefault(program, {})
        for benchmark in document["benchmarks"]:
            if benchmark.get("error_occurred"):
                print("left out:", benchmark["run_name"], benchmark["error_message"], file=sys.stderr)
            elif benchmark.get("aggregate_name") == "median":
                rows[tuple(benchmark["run_name"].split("/"))] = benchmark
    for name, rows in programs.items(): # the programs ran them in random order
        programs[name] = dict(sorted(rows.items(), key=lambda row: (row[0][:2], COLUMNS.index(row[0][2]))))
    return programs, compiler


def cpu():
    """The processor as Linux names it."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        facts = dict(line.split(":", 1) for line in file if ":" in line)
    facts = {key.strip(): value.strip() for key, value in facts.items()}
    name = facts.get("model name", "?")
    if "cpu family" in facts:
        name += f" (family {facts['cpu family']}, model {facts['model']})"
    return f"{name}, {os.cpu_count()} processors"


def facts(folder):
    """On which machine, with what and when it was measured."""
    with open(os.path.join(folder, "pool.json"), encoding="utf-8") as file:
        compiler = json.load(file)["context"].get("compiler", "?")
    return f"{cpu()}; {compiler} -O2; {os.confstr('CS_GNU_LIBC_VERSION')}; {datetime.date.today()}"


class Report:
    """The Markdown text, and the verdicts on the targets."""

    def __init__(self):
        self.lines = []
        self.verdicts = []

    def table(self, title, columns, rows, corner=""):
        """Adds a table. `rows`: the name and the cells of each row."""
        self.lines += [f"\n### {title}\n", f"| {corner}| " + " | ".join(columns) + " |",
                       "|---|" + "---:|" * len(columns)]
        self.lines += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows]

    def judge(self, what, value, target, at_most):
        """Adds one line to the table of targets."""
        if value is None:
            word = "not measured"
        else:
            word = "ok" if (value <= target if at_most else value >= target) else "**missed**"
        shown = "-" if value is None else f"{value:.3f}"
        self.verdicts.append(f"| {what} | {shown} | at {'most' if at_most else 'least'} {target:g} | {word} |")

    def write(self, path, title, head):
        """Writes the file, with the verdicts first."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"# {title}\n\n{head}.\n\n")
            file.write("## Targets\n\n| | measured | target | |\n|---|---:|---:|---|\n" + "\n".join(self.verdicts) + "\n")
            file.write("\n## Times\n" + "\n".join(self.lines) + "\n")


# ---- Programs of google-benchmark ----


class Medians(Report):
    """The report on all programs."""

    def __init__(self, programs):
        super().__init__()
        self.programs = programs

    def time(self, program, workload, case, who):
        """Returns the median nanoseconds, or None if the row was left out."""
        row = self.programs[program].get((workload, case, who))
        return row["cpu_time"] if row else None

    def times(self, title, program, workload, cases):
        """Adds a table in nanoseconds, with one line per case and one column per competitor."""
        found = {who for at, _, who in self.programs[program] if at == workload}
        names = [who for who in COLUMNS if who in found]
        cells = ((self.time(program, workload, case, who) for who in names) for case in cases)
        self.table(title, names, ((case, ["-" if x is None else f"{x:.2f}" for x in row]) for case, row in zip(cases, cells)))

    def ratio(self, program, workload, case, above, below):
        """Returns the time of one competitor in units of another's."""
        first, second = (self.time(program, workload, case, who) for who in (above, below))
        return first / second if first and second else None


def pool(report):
    """alloc and free."""
    for size in SIZES:
        report.times(f"alloc + free, random churn, {size:,} alive, ns a pair", "pool", f"churn_{size}", WAYS)
    for size in SIZES:
        report.times(f"the same, recorded, {size:,} alive, ns a pair", "pool", f"recorded_{size}", WAYS)
    report.times("alloc 100, free 100, ns a pair", "pool", "burst_100", WAYS)
    for size, chapter, mimalloc in zip(SIZES, (1.45, 1.35, 1.3), (1, 2, 2)):
        for way in WAYS:
            workload, where = f"churn_{size}", f"{size:,} alive, {way}"
            if (size, way) != (1000000, "pair"):
                report.judge(f"{where}: kolk_typed / chapter",
                             report.ratio("pool", workload, way, "kolk_typed", "chapter"), chapter, True)
            report.judge(f"{where}: glibc / kolk_typed", report.ratio("pool", workload, way, "glibc", "kolk_typed"),
                         2.5, False)
            report.judge(f"{where}: mimalloc / kolk_typed",
                         report.ratio("pool", workload, way, "mimalloc", "kolk_typed"), mimalloc, False)
    for workload, what, rival, target in (
        ("churn_1000000", "1,000,000 alive", "boost", 1), ("recorded_10000", "10,000 alive, recorded", "chapter", 1.1),
        ("burst_100", "100, then 100 freed", "chapter", 1.1),
    ):  # fmt: skip
        report.judge(f"{what}, pair: kolk_typed / {rival}",
                     report.ratio("pool", workload, "pair", "kolk_typed", rival), target, True)
    for way in WAYS:
        aged, plain = (report.time("pool", "churn_100", way, who) for who in ("kolk_ages", "kolk_untyped"))
        report.judge(f"100 alive, {way}: the order of births costs, ns", aged - plain, 1.5, True)


def instructions(report, path):
    """Instructions of alloc and free."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = {row["who"]: row for row in csv.DictReader(file)}
    report.table("instructions of an alloc and a free", list(rows),
                 ((loop, [row[loop] for row in rows.values()]) for loop in ("recorded", "burst")))
    for who, target in ("kolk_typed", 32), ("kolk_untyped", 38):
        report.judge(f"instructions, {who}", float(rows[who]["recorded"]), target, True)


def bulk(report):
    """alloc_n, free_n and alloc_run."""
    report.times("alloc N and free N, ns per object", "bulk", "bulk", ("16", "256", "4096"))
    report.times("free one of N runs of 1 to 16 neighbours, and allocate another, ns", "bulk", "runs", ("100", "10000"))


def iterate(report):
    """KOLK_EACH."""
    cases = [f"{percent}%" for percent in (100, 90, 50, 10, 1)]
    for work in ("sum", "move"):
        for size in (10000, 1000000):
            report.times(f"iteration, {work}, {size:,} slots, ns a live object", "iterate", f"{work}_{size}", cases)
    for work in ("sum", "move"):
        for size in (10000, 1000000):
            report.judge(f"{work}, {size:,} slots, 100%: each / packed",
                         report.ratio("iterate", f"{work}_{size}", "100%", "each", "packed"), 1.1, True)
    for work in ("sum", "move"):
        for case, factor in (("50%", 3), ("1%", 10)):
            report.judge(f"{work}, 1,000,000 slots, {case}: flag / each",
                         report.ratio("iterate", f"{work}_1000000", case, "flag", "each"), factor, False)


def bytemap(report):
    """New and Delete of the GTA pool."""
    for count in (140, 13000):
        workload = f"bytemap_{count}"
        report.times(f"kolk_bytemap, {count:,} slots, ns a New and Delete (full: a New)", "bytemap", workload,
                     ("10%", "50%", "90%", "99%", "burst", "full"))
        for case in ("10%", "50%", "90%", "99%", "burst", "full"):
            report.judge(f"bytemap, {count:,} slots, {case}: kolk / called",
                         report.ratio("bytemap", workload, case, "kolk", "called"), 1.2, True)
            report.judge(f"bytemap, {count:,} slots, {case}: kolk / straight",
                         report.ratio("bytemap", workload, case, "kolk", "straight"), 1.2, True)


def slotmap(report):
    """Packed objects compared with a plain array."""
    cases = (1000, 100000, 1000000)
    for work, what in (("churn", "remove + add, ns a pair"), ("get", "get in random order, ns"),
                       ("sum", "sum, ns an object"), ("move", "move, ns an object")):
        names = [who for who in COLUMNS if any(("slotmap_" + work, str(n), who) in report.programs["slotmap"] for n in cases)]
        report.table(f"slot map, {what}", names, (
            (f"{n:,}", [f"{report.time('slotmap', 'slotmap_' + work, str(n), who):.2f}" for who in names])
            for n in cases), "objects ")
    for n in cases:
        report.judge(f"slot map, {n:,} objects, remove + add: kolk_typed / plain",
                     report.ratio("slotmap", "slotmap_churn", str(n), "kolk_typed", "plain"), 1.5, True)
        for work in ("sum", "move"):
            report.judge(f"slot map, {n:,} objects, {work}: kolk_typed / packed",
                         report.ratio("slotmap", f"slotmap_{work}", str(n), "kolk_typed", "packed"), 1.05, True)
    for n in cases[:2]: # with a million in random order, the ratio is the cost of one more cache miss
        found, least = (report.time("slotmap", "slotmap_get", str(n), who) for who in ("kolk_typed", "array"))
        report.judge(f"slot map, {n:,} objects, get: ns over an array access", found - least, 2, True)


def memory(report):
    """init."""
    lines = []
    for (workload, how, what), row in report.programs["memory"].items():
        if workload.startswith("tick"):
            report.judge(f"a tick of 1,000,000 slots, {what} alive, nothing changes, ns", row["cpu_time"], 2000, True)
            continue
        cells = [f"{row['cpu_time']:.0f}", f"{row['resident_bytes']:.0f}", f"{row['overhead_bytes']:.3f}"]
        lines.append((f"{how}, {what}", cells))
        report.judge(f"init, {how}, {what}: resident growth, KiB", row["resident_bytes"] / 1024, 64, True)
        target = {"handles": 8.3, "none": 4.2, "lowest_none": 0.3}[what]
        report.judge(f"overhead, {how}, {what}, bytes a slot", row["overhead_bytes"], target, True)
    report.table("init of 1,000,000 slots of 64 bytes",
                 ["init + deinit, ns", "resident growth, bytes", "overhead, bytes a slot"], lines)


def components(report, path):
    """The containers of components: one table per figure, one line per case and one column per container."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = list(dict.fromkeys(row["container"] for row in rows))
    cases = list(dict.fromkeys((row["slots"], row["alive_percent"]) for row in rows))
    cells = {(row["slots"], row["alive_percent"], row["container"]): row for row in rows}
    for figure, title in (("add_ns", "add, ns"), ("remove_ns", "remove one at random, ns"), ("visit_ns", "visit all, ns each"),
                          ("mean_run", "visited side by side, mean")):
        report.table(f"components: {title}", names, (
            (f"{int(slots):,}, {percent} %", [cells[slots, percent, name][figure] or "-" for name in names])
            for slots, percent in cases), "slots, alive ")


def report_medians(folder, result):
    """Writes RESULT.json and RESULT.md."""
    programs, compiler = load(folder)
    report = Medians(programs)
    pool(report)
    instructions(report, f"{result}-instructions.csv")
    bulk(report)
    iterate(report)
    bytemap(report)
    slotmap(report)
    memory(report)
    components(report, f"{result}-components.csv")
    report.write(result + ".md", "Benchmark results", f"{facts(folder)}; medians of one run, interleaved within each program")

    keys = ("cpu_time", "real_time", "resident_bytes", "overhead_bytes")
    rows = [{"program": program, "name": "/".join(name)} | {key: row[key] for key in keys if key in row}
            for program, names in programs.items() for name, row in names.items()]
    with open(result + ".json", "w", encoding="utf-8") as file:
        head = json.dumps({"cpu": cpu(), "compiler": compiler, "flags": "-O2", "malloc": os.confstr("CS_GNU_LIBC_VERSION"), "date": str(datetime.date.today()), "unit": "ns", "statistic": "median"})
        body = ",\n".join("  " + json.dumps(row) for row in rows)
        file.write(head[:-1] + ', "medians": [\n' + body + "\n]}\n")


# ---- Programs with threads ----

TITLES = {
    "throughput": "By number of producers and consumers, items of 8 bytes, ns per item (alone: one thread pushes and pops, ns per operation)",
    "sizes": "By size of the items in bytes, 1P1C, ns per item",
    "contention": "Threads push and pop in turn, by number of threads, ns per operation",
    "latency": "Age of an item at a waiting consumer, and a round trip, ns",
    "backoff": "Backing off: look for/spin for/first pause, ns",
    "churn": "Threads with 256 live objects each free one and allocate one, by number of threads, ns of a processor's time",
    "ring": "One thread allocates and writes, the other reads or does not, and frees, ns an object",
    "hand_over": "Two threads allocate one and free one of the other's, ns",
    "uncontended": "One thread borrows and gives back, ns of processor time (clock: two readings of it)",
    "brief": "Threads borrow and give back at once, by threads and resources, wall time per borrow, all threads together, ns",
    "asleep": "16 threads over 8 resources, each held asleep for 100 us: ns a borrow, waits, and the longest wait of a round",
    "herd": "200 threads arrive while no resource exists, and each create takes 5 ms: ns until all are served",
    "mixed": "One thread frees a random block of 1 to 1,024 bytes and allocates another, by number of live blocks, ns",
    "both": "Two threads, each with 1,000 such blocks of its own, ns of a processor's time",
    "handed": "One thread allocates, the other frees, through a ring, ns a block",
    "larson": "Two threads free a random one of 2,000 blocks that they share and allocate another, ns",
    "large": "One of 20 blocks is replaced and written, ns, by the KiB of the largest",
    "end": "A heap of 1,000,000 blocks of 16 to 64 bytes ends, ns",
    "worst": "Each alloc and each free, timed alone, 10,000 alive (none: the clock itself), ns",
    "resident": "Resident memory after two replacements of each block, in a process of its own, by number of blocks, KiB",
    "alive": "100,000 heaps with three blocks of 32 bytes: bytes of resident memory, ns to make one, ns to end one",
    "empty": "A heap begins and ends (glibc: the loop alone), ns",
    "twenty": "A heap begins, gets one block of each of 20 sizes from 16 to 1,024 bytes, and ends, ns",
    "request": "A heap gets 52 blocks, of which 10 are freed one by one, and ends or is reset, ns",
    "tree": "A heap with 10 heaps in it begins and ends, each of the 11 with a block of 64 bytes, ns",
    "ping_pong": "Between two processes: an object of 64 bytes goes there and another one comes back, half of the time, ns",
    "stream": "The same in one direction, as many as there is room for, ns an object",
    "sleeper": "Age of an object at a receiver that sleeps, one every 200 us, ns",
    "alone": "One process allocates and frees, ns",
    "attach": "A process attaches, by number of slots, ns",
    "recovery": "A process has been killed that owned all but 1,024 of the slots: recover, by number of slots, ns",
    "survivor": "A third process allocates and frees meanwhile, or while nobody is dead, ns",
    "select": "SELECT 1 on PostgreSQL, on a connection of one's own, on one from kolk's pool, on a new one: ns a query",
}
MALLOCS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
FIGURES = {"ns": "median", "p99_ns": "p99", "p999_ns": "p99.9"}


def load_lines(path):
    """Returns {workload: {(case, who): row}}, in the file's order."""
    workloads = {}
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        what = reader.fieldnames[2]
        for row in reader:
            workloads.setdefault(row["workload"], {})[row["case"], row[what]] = row
    return workloads


def shown(value):
    """Formats a number with about three digits."""
    return "-" if not value else f"{float(value):,.0f}" if float(value) >= 100 else f"{float(value):.1f}"


def tabulate(report, title, rows):
    """Adds a table with one line per queue or pool. Cases with percentiles have three columns."""
    cases = list(dict.fromkeys(case for case, _ in rows))
    columns = [(case, figure) for case in cases for figure in FIGURES
               if figure == "ns" or any(row[figure] for (at, _), row in rows.items() if at == case)]
    with_percentiles = {case for case, figure in columns if figure != "ns"}
    report.table(title, [f"{case} {FIGURES[figure]}" if case in with_percentiles else case for case, figure in columns], (
        (who, [shown(rows.get((case, who), {}).get(figure)) for case, figure in columns])
        for who in dict.fromkeys(who for _, who in rows)))


class Lines(Report):
    """The report on one program with threads."""

    def __init__(self, workloads):
        super().__init__()
        self.workloads = workloads

    def value(self, workload, case, who, figure="ns"):
        """Returns a time, or None if it was not measured."""
        row = self.workloads.get(workload, {}).get((case, who))
        return float(row[figure]) if row and row[figure] else None

    def ratio(self, what, above, below, target, at_most=False):
        """Adds one line to the table of targets."""
        self.judge(what, above / below if above and below else None, target, at_most)

    def contention(self, workload):
        """The cost of other threads on the same processors."""
        for threads in ("4", "8", "16"):
            self.ratio(f"{workload}, kolk: {threads} threads / 2", self.value(workload, threads, "kolk"),
                       self.value(workload, "2", "kolk"), 1.5, True)


def judge_queues(report):
    """The targets of queue."""
    value, ratio = report.value, report.ratio
    for case, moodycamel in (("1P1C", 3), ("2P2C", 3), ("4P4C", 2)):
        for other, target in (("moodycamel", moodycamel), ("tbb", 5), ("conditions", 3)):
            ratio(f"{case}: {other} / kolk", value("throughput", case, other), value("throughput", case, "kolk"), target)
        ratio(f"{case}: kolk / kolk_16", value("throughput", case, "kolk"), value("throughput", case, "kolk_16"), 3)
    report.contention("contention")
    for case in ("asleep", "each_20us", "each_2us", "round_trip"):
        for other in ("conditions", "moodycamel"):
            for figure, name in FIGURES.items():
                if value("latency", case, "kolk", figure):
                    ratio(f"{case}, {name}: kolk / {other}", value("latency", case, "kolk", figure),
                          value("latency", case, other, figure), 1, True)


def judge_pools(report):
    """The targets of shared."""

    def best(workload, case):
        return min(filter(None, (report.value(workload, case, name) for name in MALLOCS)), default=None)

    for workload, case, malloc, others in (("churn", "2", 1.5, {"mutex_list": 20}),
                                           ("ring", "write", 2.5, {"mutex_list": 10, "boost_stack": 10}),
                                           ("hand_over", "random", 1, {})):
        kolk = report.value(workload, case, "kolk")
        report.ratio(f"{workload}, {case}: the best malloc / kolk", best(workload, case), kolk, malloc)
        for other, target in others.items():
            report.ratio(f"{workload}, {case}: {other} / kolk", report.value(workload, case, other), kolk, target)
    report.contention("churn")


def judge_lists(report):
    """The targets of resource."""
    value = report.value
    report.ratio("borrow and give_back, ns", value("uncontended", "1", "kolk"), 1, 80, True)
    report.ratio("64 threads over 4: time for a borrow, ns", value("brief", "64 over 4", "kolk"), 1, 300, True)
    report.ratio("asleep: time for a borrow, kolk / apr_reslist", value("asleep", "rate", "kolk"),
                value("asleep", "rate", "apr_reslist"), 1.05, True)
    report.ratio("asleep: longest wait / median", value("asleep", "longest", "kolk"), value("asleep", "wait", "kolk"), 3, True)
    report.ratio("herd: libzdb / kolk", value("herd", "200", "libzdb"), value("herd", "200", "kolk"), 1)
    report.ratio("SELECT 1: kolk / a connection of one's own", value("select", "1", "kolk"), value("select", "1", "own"), 1.03, True)
    report.ratio("SELECT 1: a new connection / kolk", value("select", "1", "new"), value("select", "1", "kolk"), 50)


def judge_heaps(report):
    """The targets of heap: each figure of kolk divided by that of the best malloc."""
    value = report.value

    def of_best(workload, case, figure="ns"):
        others = [found for name in MALLOCS if (found := value(workload, case, name, figure))]
        kolk = value(workload, case, "kolk", figure)
        return kolk / min(others) if kolk and others else None

    sizes = "100", "10000", "1000000"
    mixed = [of_best("mixed", size) for size in sizes]
    for size, ratio in zip(sizes, mixed):
        report.judge(f"mixed, {size} alive: kolk / the best malloc", ratio, 1.25, True)
    report.judge("mixed, geometric mean of these", math.prod(mixed) ** (1 / 3) if all(mixed) else None, 1, True)
    for workload, case, target in (("both", "2", 1), ("handed", "ring", 1 / 1.5), ("larson", "2", 1 / 1.5)):
        report.judge(f"{workload}: kolk / the best malloc", of_best(workload, case), round(target, 3), True)
    report.judge("worst, p99.99: kolk / the best malloc", of_best("worst", "p99.99"), 1, True)
    report.ratio("end: one by one / at once", value("end", "one by one", "kolk"), value("end", "at once", "kolk"), 50)
    for size in sizes:
        report.judge(f"resident, {size} alive: kolk / the best malloc", of_best("resident", size), 1.2, True)


def judge_nested(report):
    """The targets of nested. Pools of APR and contexts of talloc are the usual heaps for one request."""
    value, ratio = report.value, report.ratio
    ratio("a heap begins and ends, ns", value("empty", "begin and end", "kolk"), 1, 500, True)
    ratio("20 blocks of 20 sizes, ns", value("twenty", "20 blocks", "kolk"), 1, 5000, True)
    for case in ("new", "reset"):
        for other in ("glibc", "apr", "talloc"):
            ratio(f"request, {case}: kolk / {other}", value("request", case, "kolk"), value("request", case, other), 1, True)
    for other in ("apr", "talloc"):
        ratio(f"tree: kolk / {other}", value("tree", "all", "kolk"), value("tree", "all", other), 1, True)
    ratio("100,000 heaps alive, bytes of each: kolk / apr", value("alive", "bytes", "kolk"), value("alive", "bytes", "apr"), 1, True)


def judge_processes(report):
    """The targets of ipc. A cell is what the cache lines alone take, and a bare futex what the system takes."""
    value, ratio = report.value, report.ratio
    for who in ("cell", "dpdk", "boost"):
        ratio(f"ping_pong: kolk_polled / {who}", value("ping_pong", "64", "kolk_polled"), value("ping_pong", "64", who), 1, True)
    for who in ("dpdk", "boost"):
        ratio(f"stream: kolk / {who}", value("stream", "64", "kolk"), value("stream", "64", who), 1, True)
    ratio("sleeper: kolk / futex", value("sleeper", "64", "kolk"), value("sleeper", "64", "futex"), 1, True)
    ratio("ping_pong, ns", value("ping_pong", "64", "kolk_polled"), 1, 150, True)
    ratio("attach to a million slots, ns", value("attach", "1000000", "kolk"), 1, 50e3, True)
    ratio("recovery of 1,024 slots, ns", value("recovery", "1024", "kolk"), 1, 1e6, True)
    ratio("recovery of a million slots, ns", value("recovery", "1000000", "kolk"), 1, 5e6, True)


KINDS = {"queue": ("Queues", judge_queues), "shared": ("Shared pools", judge_pools),
         "resource": ("Resource pools", judge_lists), "heap": ("Heaps", judge_heaps),
         "nested": ("Thousands of heaps", judge_nested), "ipc": ("Between processes", judge_processes)}


def report_lines(folder, result, name):
    """Writes RESULT-NAME.md."""
    title, judge_all = KINDS[name]
    report = Lines(load_lines(f"{result}-{name}.csv"))
    judge_all(report)
    for workload, rows in report.workloads.items():
        tabulate(report, TITLES[workload], rows)
    report.write(f"{result}-{name}.md", title, f"{facts(folder)}; medians of one run, interleaved within each table")


def add_facts(folder, path):
    """Puts the facts below the title of what a program printed."""
    with open(path, encoding="utf-8") as file:
        title, rest = file.read().split("\n", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{title}\n\n{facts(folder)}.\n{rest}")


def main():
    """Does what is described at the top."""
    folder, result, *names = sys.argv[1:]
    if not names:
        report_medians(folder, result)
    for name in names or KINDS:
        report_lines(folder, result, name)
    for name in ("flat", "frame", "preload") if not names else ():
        add_facts(folder, f"{result}-{name}.md")


if __name__ == "__main__":
    main()
