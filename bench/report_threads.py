#!/usr/bin/env python3
"""report_threads.py CSV MARKDOWN: the lines of queue and backoff, of shared, of resource, or of heap, as tables, and each target."""

import csv
import math
import sys

from report import Report, cpu

TITLES = {
    "throughput": "From so many producers to so many consumers, 8 bytes, ns an item (alone: one thread pushes and pops, ns an operation)",
    "sizes": "Items of so many bytes, 1P1C, ns an item",
    "contention": "So many threads push and pop in turn, ns an operation",
    "latency": "Age of an item at a waiting consumer, and a round trip, ns",
    "backoff": "Backing off: look for/first pause/last pause, ns",
    "churn": "So many threads, each with 256 objects alive, free one and allocate one, ns of a processor's time",
    "ring": "One thread allocates and writes, the other reads or does not, and frees, ns an object",
    "hand_over": "Two threads allocate one and free one of the other's, ns",
    "uncontended": "One thread borrows and gives back, ns of processor time (clock: two readings of it)",
    "asleep": "16 threads over 8 resources, each held asleep for 100 us: ns a borrow, waits, and the longest wait of a round",
    "herd": "200 threads come while there is none, creates take 5 ms: ns until all were served",
    "mixed": "One thread frees a random one of so many blocks of 1 to 1,024 bytes and allocates another, ns",
    "both": "Two threads, each with 1,000 such blocks of its own, ns of a processor's time",
    "handed": "One thread allocates, the other frees, through a ring, ns a block",
    "larson": "Two threads free a random one of 2,000 blocks that they share and allocate another, ns",
    "end": "A heap of 1,000,000 blocks of 16 to 64 bytes ends, ns",
    "worst": "Each alloc and each free, timed alone, 10,000 alive (none: the clock itself), ns",
    "resident": "Resident memory of so many blocks after two replacements of each, in a process of its own, KiB",
    "select": "SELECT 1 on PostgreSQL, on a connection of one's own, on one from kolk's pool, on a new one: ns a query",
}
MALLOCS = ("glibc", "jemalloc", "tcmalloc", "mimalloc")
FIGURES = {"ns": "median", "p99_ns": "p99", "p999_ns": "p99.9"}


def load(path):
    """What was measured, and {workload: {(case, who): row}}, in the file's order."""
    workloads = {}
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        what = reader.fieldnames[2]
        for row in reader:
            workloads.setdefault(row["workload"], {})[row["case"], row[what]] = row
    return what, workloads


def shown(value):
    """Three digits or so."""
    return "-" if not value else f"{float(value):,.0f}" if float(value) >= 100 else f"{float(value):.1f}"


def table(lines, title, rows):
    """One line a queue or pool; of cases with percentiles three columns."""
    cases = list(dict.fromkeys(case for case, _ in rows))
    columns = [(case, figure) for case in cases for figure in FIGURES
               if figure == "ns" or any(row[figure] for (at, _), row in rows.items() if at == case)]
    with_percentiles = {case for case, figure in columns if figure != "ns"}
    heads = [f"{case} {FIGURES[figure]}" if case in with_percentiles else case for case, figure in columns]
    lines += [f"\n### {title}\n", "| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for who in dict.fromkeys(who for _, who in rows):
        cells = (shown(rows.get((case, who), {}).get(figure)) for case, figure in columns)
        lines.append(f"| {who} | " + " | ".join(cells) + " |")


class Judge:
    """Ratios of times beside the targets."""

    def __init__(self, report, workloads):
        self.report = report
        self.workloads = workloads

    def value(self, workload, case, who, figure="ns"):
        """A time, or None if it was not measured."""
        row = self.workloads.get(workload, {}).get((case, who))
        return float(row[figure]) if row and row[figure] else None

    def ratio(self, what, above, below, target, at_most=False):
        """One line of the table of targets."""
        self.report.judge(what, above / below if above and below else None, target, at_most)

    def contention(self, workload):
        """What other threads on the same processors cost."""
        for threads in ("4", "8", "16"):
            self.ratio(f"{workload}, kolk: {threads} threads / 2", self.value(workload, threads, "kolk"),
                       self.value(workload, "2", "kolk"), 1.5, True)


def judge_queues(judge):
    """The targets of queue."""
    value, ratio = judge.value, judge.ratio
    for case, moodycamel in (("1P1C", 3), ("2P2C", 3), ("4P4C", 2)):
        for other, target in (("moodycamel", moodycamel), ("tbb", 5), ("conditions", 3)):
            ratio(f"{case}: {other} / kolk", value("throughput", case, other), value("throughput", case, "kolk"), target)
        ratio(f"{case}: kolk / kolk_16", value("throughput", case, "kolk"), value("throughput", case, "kolk_16"), 3)
    judge.contention("contention")
    for case in ("asleep", "each_20us", "each_2us", "round_trip"):
        for other in ("conditions", "moodycamel"):
            for figure, name in FIGURES.items():
                if value("latency", case, "kolk", figure):
                    ratio(f"{case}, {name}: kolk / {other}", value("latency", case, "kolk", figure),
                          value("latency", case, other, figure), 1, True)


def judge_pools(judge):
    """The targets of shared."""

    def best(workload, case):
        return min(filter(None, (judge.value(workload, case, name) for name in MALLOCS)), default=None)

    for workload, case, malloc, others in (("churn", "2", 1.5, {"mutex_list": 20}),
                                           ("ring", "write", 2.5, {"mutex_list": 10, "boost_stack": 10}),
                                           ("hand_over", "random", 1, {})):
        kolk = judge.value(workload, case, "kolk")
        judge.ratio(f"{workload}, {case}: the best malloc / kolk", best(workload, case), kolk, malloc)
        for other, target in others.items():
            judge.ratio(f"{workload}, {case}: {other} / kolk", judge.value(workload, case, other), kolk, target)
    judge.contention("churn")


def judge_lists(judge):
    """The targets of resource."""
    value = judge.value
    judge.ratio("borrow and give_back, ns", value("uncontended", "1", "kolk"), 1, 80, True)
    judge.ratio("asleep: time for a borrow, kolk / apr_reslist", value("asleep", "rate", "kolk"),
                value("asleep", "rate", "apr_reslist"), 1.05, True)
    judge.ratio("asleep: longest wait / median", value("asleep", "longest", "kolk"), value("asleep", "wait", "kolk"), 3, True)
    judge.ratio("herd: libzdb / kolk", value("herd", "200", "libzdb"), value("herd", "200", "kolk"), 1)
    judge.ratio("SELECT 1: kolk / a connection of one's own", value("select", "1", "kolk"), value("select", "1", "own"), 1.03, True)
    judge.ratio("SELECT 1: a new connection / kolk", value("select", "1", "new"), value("select", "1", "kolk"), 50)


def judge_heaps(judge):
    """The targets of heap: each figure of kolk's in units of the best malloc's."""
    value = judge.value

    def of_best(workload, case, figure="ns"):
        others = [found for name in MALLOCS if (found := value(workload, case, name, figure))]
        kolk = value(workload, case, "kolk", figure)
        return kolk / min(others) if kolk and others else None

    sizes = "100", "10000", "1000000"
    mixed = [of_best("mixed", size) for size in sizes]
    for size, ratio in zip(sizes, mixed):
        judge.report.judge(f"mixed, {size} alive: kolk / the best malloc", ratio, 1.25, True)
    judge.report.judge("mixed, geometric mean of these", math.prod(mixed) ** (1 / 3) if all(mixed) else None, 1, True)
    for workload, case, target in (("both", "2", 1), ("handed", "ring", 1 / 1.5), ("larson", "2", 1 / 1.5)):
        judge.report.judge(f"{workload}: kolk / the best malloc", of_best(workload, case), round(target, 3), True)
    judge.report.judge("worst, p99.99: kolk / the best malloc", of_best("worst", "p99.99"), 1, True)
    judge.ratio("end: one by one / at once", value("end", "one by one", "kolk"), value("end", "at once", "kolk"), 50)
    for size in sizes:
        judge.report.judge(f"resident, {size} alive: kolk / the best malloc", of_best("resident", size), 1.2, True)


KINDS = {"queue": ("Queues", judge_queues), "pool": ("Shared pools", judge_pools), "list": ("Resource pools", judge_lists),
         "heap": ("Heaps", judge_heaps)}


def main():
    """See the top."""
    path, result = sys.argv[1:]
    what, workloads = load(path)
    title, judge_all = KINDS[what]
    report = Report({})
    judge_all(Judge(report, workloads))
    for workload, rows in workloads.items():
        table(report.lines, TITLES[workload], rows)
    with open(result, "w", encoding="utf-8") as file:
        file.write(f"# {title}\n\n{cpu()}; -O2; medians of one run, interleaved within each table.\n\n")
        file.write("## Targets\n\n| | measured | target | |\n|---|---:|---:|---|\n" + "\n".join(report.verdicts) + "\n")
        file.write("\n## Times\n" + "\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
