#!/usr/bin/env python3
"""report.py RESULT JSON... CSV: merges the programs' medians into RESULT.json and RESULT.md, with each ratio beside its
target; the CSV of components becomes tables of RESULT.md."""

import csv
import json
import os
import sys

SIZES = (100, 10000, 1000000)
WAYS = ("pair", "write", "init")
COLUMNS = ("loop", "glibc", "mimalloc", "jemalloc", "boost", "chapter", "kolk_typed", "kolk_untyped", "kolk_fifo",
           "kolk_lowest", "kolk_typed_none", "kolk_untyped_none", "kolk_ages", "packed", "flag", "each", "next", "next_run",
           "handles", "none", "lowest_none", "10%", "90%", "straight", "called", "kolk",
           "array", "plain")


def load(paths):
    """The medians as {program: {(workload, case, who): benchmark}}, and the compiler."""
    programs, compiler = {}, "?"
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        compiler = document["context"].get("compiler", compiler)
        rows = programs.setdefault(os.path.splitext(os.path.basename(path))[0], {})
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


class Report:
    """The Markdown, and the verdicts beside the targets."""

    def __init__(self, programs):
        self.programs = programs
        self.lines = []
        self.verdicts = []

    def time(self, program, workload, case, who):
        """Median nanoseconds, or None if the row was left out."""
        row = self.programs[program].get((workload, case, who))
        return row["cpu_time"] if row else None

    def table(self, title, program, workload, cases):
        """One line a case, one column a competitor, in nanoseconds."""
        found = {who for at, _, who in self.programs[program] if at == workload}
        names = [who for who in COLUMNS if who in found]
        self.lines += [f"\n{title}\n", "| | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
        for case in cases:
            cells = (self.time(program, workload, case, who) for who in names)
            self.lines.append(f"| {case} | " + " | ".join("-" if x is None else f"{x:.2f}" for x in cells) + " |")

    def judge(self, what, value, target, at_most):
        """One line of the table of targets."""
        if value is None:
            word = "not measured"
        else:
            word = "ok" if (value <= target if at_most else value >= target) else "**missed**"
        shown = "-" if value is None else f"{value:.3f}"
        self.verdicts.append(f"| {what} | {shown} | at {'most' if at_most else 'least'} {target:g} | {word} |")

    def ratio(self, program, workload, case, above, below):
        """The time of one competitor in units of another's."""
        first, second = (self.time(program, workload, case, who) for who in (above, below))
        return first / second if first and second else None


def pool(report):
    """alloc and free."""
    for size in SIZES:
        report.table(f"### alloc + free, random churn, {size:,} alive, ns a pair", "pool", f"churn_{size}", WAYS)
    report.table("### alloc 100, free 100, ns a pair", "pool", "burst_100", WAYS)
    for size in SIZES:
        report.table(f"### KOLK_CHECKS=0, no handles: churn, {size:,} alive, ns a pair", "pool_unchecked",
                     f"churn_{size}", WAYS)
    report.table("### KOLK_CHECKS=0, no handles: bursts, ns a pair", "pool_unchecked", "burst_100", WAYS)
    for size, boost, mimalloc in zip(SIZES, (2.0, 1.5, 1.3), (1, 2, 2)):
        for way in WAYS:
            workload, where = f"churn_{size}", f"{size:,} alive, {way}"
            report.judge(f"{where}: kolk_typed / boost", report.ratio("pool", workload, way, "kolk_typed", "boost"),
                         boost, True)
            report.judge(f"{where}: glibc / kolk_typed", report.ratio("pool", workload, way, "glibc", "kolk_typed"),
                         2.5, False)
            report.judge(f"{where}: mimalloc / kolk_typed",
                         report.ratio("pool", workload, way, "mimalloc", "kolk_typed"), mimalloc, False)


    for way in WAYS:
        aged, plain = (report.time("pool", "churn_100", way, who) for who in ("kolk_ages", "kolk_untyped"))
        report.judge(f"100 alive, {way}: the order of births costs, ns", aged - plain, 1.5, True)


def iterate(report):
    """KOLK_EACH."""
    cases = [f"{percent}%" for percent in (100, 90, 50, 10, 1)]
    for work in ("sum", "move"):
        for size in (10000, 1000000):
            report.table(f"### iteration, {work}, {size:,} slots, ns a live object", "iterate", f"{work}_{size}", cases)
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
        report.table(f"### kolk_bytemap, {count:,} slots, ns a New and Delete (full: a New)", "bytemap", workload,
                     ("10%", "50%", "90%", "99%", "burst", "full"))
        for case in ("10%", "50%", "90%", "99%", "burst", "full"):
            report.judge(f"bytemap, {count:,} slots, {case}: kolk / called",
                         report.ratio("bytemap", workload, case, "kolk", "called"), 1.2, True)
            report.judge(f"bytemap, {count:,} slots, {case}: kolk / straight",
                         report.ratio("bytemap", workload, case, "kolk", "straight"), 1.2, True)


def slotmap(report):
    """Packed objects beside a plain array."""
    cases = (1000, 100000, 1000000)
    for work, what in (("churn", "remove + add, ns a pair"), ("get", "get in random order, ns"),
                       ("sum", "sum, ns an object"), ("move", "move, ns an object")):
        report.lines += [f"\n### slot map, {what}\n"]
        names = [who for who in COLUMNS if any(("slotmap_" + work, str(n), who) in report.programs["slotmap"] for n in cases)]
        report.lines += ["| objects | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
        for n in cases:
            cells = (report.time("slotmap", "slotmap_" + work, str(n), who) for who in names)
            report.lines.append(f"| {n:,} | " + " | ".join(f"{x:.2f}" for x in cells) + " |")
    for n in cases:
        report.judge(f"slot map, {n:,} objects, remove + add: kolk_typed / plain",
                     report.ratio("slotmap", "slotmap_churn", str(n), "kolk_typed", "plain"), 1.5, True)
        for work in ("sum", "move"):
            report.judge(f"slot map, {n:,} objects, {work}: kolk_typed / packed",
                         report.ratio("slotmap", f"slotmap_{work}", str(n), "kolk_typed", "packed"), 1.05, True)
    for n in cases[:2]: # with a million in random order, it is the time of one more access to memory beyond the caches
        found, least = (report.time("slotmap", "slotmap_get", str(n), who) for who in ("kolk_typed", "array"))
        report.judge(f"slot map, {n:,} objects, get: ns over an array access", found - least, 2, True)


def memory(report):
    """init."""
    report.lines += ["\n### init of 1,000,000 slots of 64 bytes\n",
                     "| | init + deinit, ns | resident growth, bytes | overhead, bytes a slot |", "|---|---:|---:|---:|"]
    for (workload, how, what), row in report.programs["memory"].items():
        if workload.startswith("tick"):
            report.judge(f"a tick of 1,000,000 slots, {what} alive, nothing changes, ns", row["cpu_time"], 2000, True)
            continue
        report.lines.append(f"| {how}, {what} | {row['cpu_time']:.0f} | {row['resident_bytes']:.0f} "
                            f"| {row['overhead_bytes']:.3f} |")
        report.judge(f"init, {how}, {what}: resident growth, KiB", row["resident_bytes"] / 1024, 64, True)
        target = {"handles": 8.3, "none": 4.2, "lowest_none": 0.3}[what]
        report.judge(f"overhead, {how}, {what}, bytes a slot", row["overhead_bytes"], target, True)


def components(report, path):
    """The containers of components: one table a figure, one line a case, one column a container."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = list(dict.fromkeys(row["container"] for row in rows))
    cases = list(dict.fromkeys((row["slots"], row["alive_percent"]) for row in rows))
    cells = {(row["slots"], row["alive_percent"], row["container"]): row for row in rows}
    for figure, title in (("add_ns", "add, ns"), ("remove_ns", "remove one at random, ns"), ("visit_ns", "visit all, ns each"),
                          ("mean_run", "visited side by side, mean")):
        report.lines += [f"\n### components: {title}\n", "| slots, alive | " + " | ".join(names) + " |",
                         "|---|" + "---:|" * len(names)]
        for slots, percent in cases:
            values = (cells[slots, percent, name][figure] for name in names)
            report.lines.append(f"| {int(slots):,}, {percent} % | " + " | ".join(value or "-" for value in values) + " |")


def main():
    """See the top."""
    result, paths, table = sys.argv[1], sys.argv[2:-1], sys.argv[-1]
    programs, compiler = load(paths)
    report = Report(programs)
    pool(report)
    iterate(report)
    bytemap(report)
    slotmap(report)
    memory(report)
    components(report, table)

    keys = ("cpu_time", "real_time", "resident_bytes", "overhead_bytes")
    rows = [{"program": program, "name": "/".join(name)} | {key: row[key] for key in keys if key in row}
            for program, names in programs.items() for name, row in names.items()]
    with open(result + ".json", "w", encoding="utf-8") as file:
        head = json.dumps({"cpu": cpu(), "compiler": compiler, "flags": "-O2", "unit": "ns", "statistic": "median"})
        body = ",\n".join("  " + json.dumps(row) for row in rows)
        file.write(head[:-1] + ', "medians": [\n' + body + "\n]}\n")
    with open(result + ".md", "w", encoding="utf-8") as file:
        file.write(f"# Benchmark results\n\n{cpu()}; {compiler}, -O2; medians of one run, interleaved within each program.\n\n")
        file.write("## Targets\n\n| | measured | target | |\n|---|---:|---:|---|\n" + "\n".join(report.verdicts) + "\n")
        file.write("\n## Times\n" + "\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
