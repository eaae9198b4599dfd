#!/usr/bin/env python3
# runs: once
"""figures.py [--check]: writes the figures of bench/results into README.md, docs and bench/README.md. With --check,
fails if they differ, or if a result does not say on which machine, with what and when it was measured. Each sentence
below must occur there exactly once, with any text in place of {}."""

import csv
import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULT = os.path.join(TOP, "bench", "results", "amd-epyc-gcc-12")
RESOURCES = os.path.join(TOP, "bench", "results", "intel-xeon-gcc-12-resource.md")
HEAPS = os.path.join(TOP, "bench", "results", "intel-xeon-gcc-12-heap.md")
QUEUES = os.path.join(TOP, "bench", "results", "intel-xeon-gcc-12-queue.md")
NUMBER = r"([\d.,]*\d)"


def tables(path):
    """Returns the Markdown tables of a result: {title: {row: {column: number}}}."""
    found, title, columns = {}, "", None
    with open(path, encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.startswith("#"):
                title, columns = line.strip("# \n"), None
            elif not line.startswith("|") or cells[0].startswith("---"):
                continue
            elif columns is None:
                columns = cells[1:]
            else:
                found.setdefault(title, {})[cells[0]] = dict(zip(columns, cells[1:]))
    return found


def slowest():
    """Returns {(what, who): {column: number}} of the calls that are timed alone."""
    found, columns = {}, []
    with open(f"{RESULT}-frame.md", encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.startswith("| | |"):
                columns = cells[2:]
            elif line.startswith("|") and not cells[0].startswith("---"):
                found[cells[0], cells[1]] = dict(zip(columns, cells[2:]))
    return found


def components():
    """Returns {(slots, percent alive, container): row} from the CSV."""
    with open(f"{RESULT}-components.csv", encoding="utf-8") as file:
        return {(row["slots"], row["alive_percent"], row["container"]): row for row in csv.DictReader(file)}


def text(number):
    """Rounds to two significant digits, or to one decimal."""
    value = float(number.replace(",", ""))
    return f"{value:.1f}" if value < 20 else f"{value:,.0f}"


def readme():
    """The sentences of README.md with their figures."""
    pool = tables(f"{RESULT}.md")
    for alive in "100", "10,000", "1,000,000":
        row = pool[f"alloc + free, random churn, {alive} alive, ns a pair"]["init"]
        numbers = [row[column] for column in ("loop", "glibc", "mimalloc", "boost", "kolk_typed")]
        yield f"| {alive} | {{}} | {{}} | {{}} | {{}} | **{{}}** |", numbers
    full = pool["iteration, move, 1,000,000 slots, ns a live object"]["100%"]
    yield "a full pool of a million takes kolk {} ns each, and an array {}.", [full[c] for c in ("each", "packed")]


def pools():
    """The sentences of bench/README.md with the figures of pools."""
    pool = tables(f"{RESULT}.md")
    columns = "loop glibc mimalloc jemalloc boost chapter kolk_typed kolk_untyped kolk_typed_none kolk_fifo kolk_lowest".split()
    cells = "".join(" **{}** |" if column == "kolk_typed" else " {} |" for column in columns)
    for way, label in ("pair", "nothing"), ("init", "64 bytes"):
        for alive in "100", "10,000", "1,000,000":
            row = pool[f"alloc + free, random churn, {alive} alive, ns a pair"][way]
            yield f"| {alive} | {label} |{cells}", [row[column] for column in columns]
    row = pool["alloc 100, free 100, ns a pair"]["pair"]
    yield f"| 100, then 100 freed | nothing |{cells}", [row[column] for column in columns]
    moves = pool["iteration, move, 1,000,000 slots, ns a live object"]
    for alive in "100", "50", "1":
        row = moves[f"{alive}%"]
        yield f"| {alive} % | {{}} | {{}} | {{}} |", [row[c] for c in ("each", "packed", "flag")]
    near = pool["iteration, move, 10,000 slots, ns a live object"]["100%"]
    yield "where a packed array takes {}, KOLK_EACH takes {};", [near["packed"], near["each"]]


def threads():
    """The sentences of docs/threads.md with their figures."""
    churn, ring, hand_over = list(tables(f"{RESULT}-shared.md").values())[1:4]
    for label, name in (
        ("the loop, the ring alone", "none"), ("**kolk_shared**", "kolk"), ("tcmalloc", "tcmalloc"),
        ("jemalloc", "jemalloc"), ("mimalloc", "mimalloc"), ("glibc", "glibc"), ("a list under a mutex", "mutex_list"),
    ):  # fmt: skip
        figure = "**{}**" if name == "kolk" else "{}"
        numbers = [churn[name]["2"], ring[name]["write"], hand_over[name]["random"]]
        yield f"| {label} | {figure} | {figure} | {figure} |\n", numbers


def resources():
    """The sentences of docs/resource.md with their figures."""
    alone, _brief, asleep = list(tables(RESOURCES).values())[1:4]
    yield "a borrow and its give_back take {} ns, of which {} are two readings of the clock", [
        alone[name]["1"] for name in ("kolk", "clock")]  # fmt: skip
    longest = [asleep[name]["longest"].replace(",", "") for name in ("kolk", "apr_reslist")]
    yield "no borrow waited longer than {} us; with apr_reslist, which serves nobody in order, one waited {} us", [
        str(float(ns) / 1000) for ns in longest]  # fmt: skip


def heaps():
    """The sentences of docs/heap.md with their figures."""
    mixed, both, handed, larson = list(tables(HEAPS).values())[2:6]
    yield "seven of ten up to 128; the loop takes {})", [mixed["none"]["100"]]
    for label, name in ("**kolk_heap**", "kolk"), *((name, name) for name in ("tcmalloc", "mimalloc", "jemalloc", "glibc")):
        numbers = [mixed[name][alive] for alive in ("100", "10000", "1000000")]
        numbers += [both[name]["2"], handed[name]["ring"], larson[name]["2"]]
        yield f"| {label} |" + (" **{}** |" if name == "kolk" else " {} |") * len(numbers), numbers


def programs():
    """The sentences of docs/malloc.md with their figures."""
    time, memory = list(tables(f"{RESULT}-preload.md").values())[:2]

    def percent(table):
        means = table["**geometric mean**"]
        return [str(100 * float(means[name].strip("*"))) for name in ("kolk", "mimalloc", "jemalloc", "tcmalloc")]

    yield "kolk needs {} % of glibc's processor time, mimalloc {} %, jemalloc {} % and tcmalloc {} %.", percent(time)
    memory_text = "The greatest resident memory is {} % of glibc's with kolk, {} % with mimalloc, {} % with jemalloc and {} % with tcmalloc."
    yield memory_text, percent(memory)


def texts():
    """The sentences of docs/texts.md with their figures."""
    with open(os.path.join(TOP, "examples", "trays.expected"), encoding="utf-8") as file:
        waste = {name: percent for percent, name in re.findall(r" ([\d.]+) % waste: (.*)", file.read())}
    yield "{} % of the memory is wasted with trays of the largest size, {} % with four sizes, and {} % with kolk's own", [
        waste[name] for name in ("one size for all", "the airport's", "kolk's sizes")]  # fmt: skip

    gets = tables(f"{RESULT}.md")["slot map, get in random order, ns"]
    yield "a get of one of 1,000 objects takes {} ns, where an access to an array that holds still takes {}; of 100,000 " \
        "objects {} instead of {}, and of 1,000,000, which no cache holds, {} instead of {} (", [
        gets[objects][name] for objects in ("1,000", "100,000", "1,000,000") for name in ("kolk_typed", "array")]  # fmt: skip

    rows = components()
    names = "vector_list flag_chain flag_sorted kolk_lifo kolk_lowest vector_swap kolk_slotmap".split()
    for slots, alive in (
        (1000, 10), (1000, 50), (1000, 90), (100000, 10), (100000, 50), (1000000, 10), (1000000, 50)
    ):  # fmt: skip
        numbers = [rows[(str(slots), str(alive), name)]["visit_ns"] for name in names]
        yield f"| {slots:,}, {alive} % |" + " {} |" * len(names), numbers

    def get(slots, alive, name, column):
        return rows[(str(slots), str(alive), name)][column]

    yield "LIFO's live slots lie in runs of {} on average, as if", [get(100000, 50, "kolk_lifo", "mean_run")]
    yield "and LOWEST's in runs of {}.", [get(100000, 50, "kolk_lowest", "mean_run")]
    yield "to add there ({} ns instead of {}), and", [
        get(100000, 50, "kolk_lowest", "add_ns"), get(100000, 50, "kolk_lifo", "add_ns")]  # fmt: skip
    yield "(1,000,000 slots, 10 %: {} ns each instead of {})", [
        get(1000000, 10, "kolk_lowest", "visit_ns"), get(1000000, 10, "kolk_lifo", "visit_ns")]  # fmt: skip
    yield "(1,000 slots, 10 %: {} ns instead of {}). But it visits", [
        get(1000, 10, "vector_list", "visit_ns"), get(1000, 10, "flag_sorted", "visit_ns")]  # fmt: skip
    yield "a removal costs {} ns there in the cache and {} in a million slots, where the swapping vector pays {} and {}", [
        get(slots, 50, name, "remove_ns") for name in ("kolk_slotmap", "vector_swap") for slots in (1000, 1000000)]  # fmt: skip


def queues():
    """The sentences of bench/README.md with their figures."""
    result = tables(QUEUES)
    ages = result["Age of an item at a waiting consumer, and a round trip, ns"]
    contention = result["Threads push and pop in turn, by number of threads, ns per operation"]
    yield "(*contention*): {} ns with a mutex, {} with kolk", [contention[name]["2"] for name in ("conditions", "kolk")]
    yield "comes then is {} ns old when it is popped, and {} with kolk; of 100 such items, one is older than {} and {} ns.", [
        ages[name][f"each_2us {figure}"] for figure in ("median", "p99") for name in ("moodycamel", "kolk")]  # fmt: skip
    yield "A round trip takes {} ns, and {} with kolk.", [ages[name]["round_trip"] for name in ("moodycamel", "kolk")]
    columns = ("round_trip", "each_20us median", "each_2us median", "1P1C", "2P2C", "4P4C", "16P16C", "1P1C_1core",
               "round_trip_1core")  # fmt: skip
    for name, row in result["Backing off: look for/spin for/first pause, ns"].items():
        label = {"50000/10000/100": f"**{name}**", "50000/0/100": f"{name} (yields at once)",
                 "50000/50000/100": f"{name} (never yields)",
                 "0/10000/100": f"{name} (sleeps at once)"}.get(name, name)  # fmt: skip
        yield f"| {label} |" + " {} |" * len(columns), [row[column] for column in columns]


def calls():
    """The sentences of bench/README.md with the slowest calls."""
    rows = slowest()
    whos = "pool", "pool, FIFO", "pool, lowest", "slot map", "shared pool", "heap", "glibc", "jemalloc", "mimalloc"
    for call in "alloc", "free":
        yield f"| {call} |" + " {} |" * len(whos), [rows[call, who]["p99.99"] for who in whos]
    quantiles = "median", "p99", "p99.99"
    for label, row in (
        ("one: compares all objects", ("one eviction", "compare")), ("one: `.full.ranked`", ("one eviction", "ranked")),
        ("one: the cheapest of 16 that are drawn", ("one eviction", "drawn")), ("one: the oldest", ("one eviction", "oldest")),
        ("150: compare all objects each time", ("150 evictions", "compare")),
        ("150: `.full.ranked`, `kolk_pool_recost(pool, NULL)`", ("150 evictions", "ranked")),
        ("150: `.full.ranked`, kolk_pool_recost of each object", ("150 evictions", "recosted")),
        ("150: the cheapest of 16 that are drawn", ("150 evictions", "drawn")),
    ):  # fmt: skip
        yield f"| {label} |" + " {} |" * 3, [rows[row][quantile] for quantile in quantiles]
    tick = rows["tick", "256 slots"]
    yield "A tick of 256 slots took {} ns at the median, {} us at p99 and {} us at p99.99", [
        tick["median"], str(float(tick["p99"]) / 1000), str(float(tick["p99.99"]) / 1000)]  # fmt: skip


def heads():
    """Returns the results whose first lines do not tell the machine, the compiler, the malloc and the date."""
    folder, wrong = os.path.dirname(RESULT), []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            head = file.read(600)
        if not name.endswith(".csv") and not all(re.search(fact, head) for fact in (
            r"(AMD|Intel)[^,]* \(family \d+, model \d+\), \d+ processors", r"(gcc|clang) \d+\.\d", r"glibc \d\.\d+", r"20\d\d-\d\d-\d\d")):  # fmt: skip
            wrong.append(name)
    return wrong


def main():
    check = sys.argv[1:] == ["--check"]
    wrong = 0
    documents = {
        "README.md": readme(), "docs/threads.md": threads(), "docs/resource.md": resources(), "docs/heap.md": heaps(),
        "docs/texts.md": texts(), "docs/malloc.md": programs(), "bench/README.md": [*pools(), *queues(), *calls()],
    }  # fmt: skip
    for path, sentences in documents.items():
        with open(os.path.join(TOP, path), encoding="utf-8") as file:
            document = file.read()
        for sentence, numbers in sentences:
            words = [r"\s+".join(map(re.escape, part.split(" "))) for part in sentence.split("{}")]
            found = list(re.finditer(NUMBER.join(words), document))
            if len(found) != 1:
                sys.exit(f"{path}: this is there {len(found)} times, not once: {sentence}")
            for group in range(len(numbers), 0, -1):
                is_so, to_be = found[0].group(group), text(numbers[group - 1])
                if is_so != to_be and check:
                    print(f"{path}: {is_so} should be {to_be}: {sentence}")
                wrong += is_so != to_be
                document = document[: found[0].start(group)] + to_be + document[found[0].end(group) :]
        if not check:
            with open(os.path.join(TOP, path), "w", encoding="utf-8") as file:
                file.write(document)
    if heads():
        sys.exit(f"no machine, compiler, malloc or date: {' '.join(heads())}")
    if check and wrong:
        sys.exit(f"{wrong} figures are not those of bench/results: bench/figures.py puts them in")


if __name__ == "__main__":
    main()
