#!/usr/bin/env python3
"""report_queue.py CSV MARKDOWN: the lines of queue and backoff as tables, and each ratio beside its target."""

import csv
import sys

from report import Report, cpu

TITLES = {
    "throughput": "From so many producers to so many consumers, 8 bytes, ns an item (alone: one thread pushes and pops, ns an operation)",
    "sizes": "Items of so many bytes, 1P1C, ns an item",
    "contention": "So many threads push and pop in turn, ns an operation",
    "latency": "Age of an item at a waiting consumer, and a round trip, ns",
    "backoff": "Backing off: look for/first pause/last pause, ns",
}
FIGURES = {"ns": "median", "p99_ns": "p99", "p999_ns": "p99.9"}


def load(path):
    """{workload: {(case, queue): row}}, in the file's order."""
    workloads = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            workloads.setdefault(row["workload"], {})[row["case"], row["queue"]] = row
    return workloads


def shown(value):
    """Three digits or so."""
    return "-" if not value else f"{float(value):,.0f}" if float(value) >= 100 else f"{float(value):.1f}"


def table(lines, title, rows):
    """One line a queue; of cases with percentiles three columns."""
    cases = list(dict.fromkeys(case for case, _ in rows))
    columns = [(case, figure) for case in cases for figure in FIGURES
               if figure == "ns" or any(row[figure] for (at, _), row in rows.items() if at == case)]
    with_percentiles = {case for case, figure in columns if figure != "ns"}
    heads = [f"{case} {FIGURES[figure]}" if case in with_percentiles else case for case, figure in columns]
    lines += [f"\n### {title}\n", "| | " + " | ".join(heads) + " |", "|---|" + "---:|" * len(heads)]
    for queue in dict.fromkeys(queue for _, queue in rows):
        cells = (shown(rows.get((case, queue), {}).get(figure)) for case, figure in columns)
        lines.append(f"| {queue} | " + " | ".join(cells) + " |")


def judge_all(report, workloads):
    """The targets."""

    def value(workload, case, queue, figure="ns"):
        row = workloads.get(workload, {}).get((case, queue))
        return float(row[figure]) if row and row[figure] else None

    def ratio(what, above, below, target, at_most=False):
        report.judge(what, above / below if above and below else None, target, at_most)

    for case, moodycamel in (("1P1C", 3), ("2P2C", 3), ("4P4C", 2)):
        for other, target in (("moodycamel", moodycamel), ("tbb", 5), ("conditions", 3)):
            ratio(f"{case}: {other} / kolk", value("throughput", case, other), value("throughput", case, "kolk"), target)
        ratio(f"{case}: kolk / kolk_16", value("throughput", case, "kolk"), value("throughput", case, "kolk_16"), 3)
    for threads in ("4", "8", "16"):
        ratio(f"contention, kolk: {threads} threads / 2", value("contention", threads, "kolk"),
              value("contention", "2", "kolk"), 1.5, True)
    for case in ("asleep", "each_20us", "each_2us", "round_trip"):
        for other in ("conditions", "moodycamel"):
            for figure, name in FIGURES.items():
                if value("latency", case, "kolk", figure):
                    ratio(f"{case}, {name}: kolk / {other}", value("latency", case, "kolk", figure),
                          value("latency", case, other, figure), 1, True)


def main():
    """See the top."""
    path, result = sys.argv[1:]
    workloads = load(path)
    report = Report({})
    judge_all(report, workloads)
    for workload, rows in workloads.items():
        table(report.lines, TITLES[workload], rows)
    with open(result, "w", encoding="utf-8") as file:
        file.write(f"# Queues\n\n{cpu()}; -O2; medians of one run, interleaved within each table.\n\n")
        file.write("## Targets\n\n| | measured | target | |\n|---|---:|---:|---|\n" + "\n".join(report.verdicts) + "\n")
        file.write("\n## Times\n" + "\n".join(report.lines) + "\n")


if __name__ == "__main__":
    main()
