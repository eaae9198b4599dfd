#!/usr/bin/env python3
"""preload.py LIBKOLK-MALLOC.SO [ROUNDS [LOADS [WORKLOAD...]]]: runs programs on kolk_heap, and on other mallocs, by
LD_PRELOAD. Prints Markdown. Of unchanged programs: processor time and peak resident memory as ratios to glibc's. Of the
workloads of loads.cc, which the program LOADS runs: seconds from start to end. With named workloads, it runs only
these. All numbers are medians of rounds (7) in which the mallocs take turns in random order. Missing programs and
mallocs are left out, and named."""

import glob
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

LUA = """local t = {} for i = 1, 2000000 do t[i % 1000] = ("x"):rep(i % 300) .. i end
local n = 0 for k, v in pairs(t) do n = n + #v end print(n)"""
PYTHON = """import json
tree = {str(i): [{"a": j, "b": "x" * (j % 900)} for j in range(i % 20)] for i in range(2000)}
for _ in range(25): tree = json.loads(json.dumps(tree))"""
PERL = """my %t; for my $i (1 .. 700000) { $t{$i % 20000} = [$i, "x" x ($i % 300)] } print scalar(keys %t), "\\n";"""
SQL = """with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000)
select count(*), sum(length(s)) from (select i % 1000 g, group_concat(i) s from n group by g);
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 200000)
insert into t select i, printf('%d and %d', i, i * 7919 % 1000) from n;
create index u on t(b); select count(distinct b) from t; delete from t where a % 3 = 0;"""
NODE = """let m = new Map(); for (let i = 0; i < 400000; i++) m.set(i % 5000, Buffer.alloc(i % 2000, 1)); console.log(m.size)"""


def programs(work):
    """Returns {name: command} for the available programs."""
    text = os.path.join(work, "lines")
    with open(text, "w", encoding="ascii") as file:
        numbers = random.Random(1)
        file.writelines(f"{numbers.getrandbits(64):x} {'y' * (n % 60)}\n" for n in range(150000))
    source = os.path.join(work, "large.c")
    with open(source, "w", encoding="ascii") as file:
        file.write("#include <stdio.h>\n#include <math.h>\n")
        file.writelines(f"double f{n}(const double *x) {{ double s = {n}; for (int i = 0; i < {n % 90}; i++) "
                        f"s += x[i] * sin(s) + x[{n % 7}]; return s > {n} ? s / 3 : sqrt(s); }}\n" for n in range(900))
    top = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    wanted = {
        "lua": ["lua5.4", "-e", LUA],
        "python": [os.path.realpath(sys.executable), "-c", PYTHON],
        "perl": ["perl", "-e", PERL],
        "sqlite": ["sqlite3", ":memory:", SQL],
        "git": ["git", "-C", top, "log", "-p", "--stat", "-n", "60"],
        "gcc": ["gcc", "-O2", "-c", source, "-o", os.path.join(work, "large.o")],
        "node": ["node", "-e", NODE],
        "xz": ["xz", "-T2", "-3", "-k", "-c", text],
        "sort": ["sort", "--parallel=2", "-S", "64M", text],
    }
    for name, command in wanted.items():
        if not shutil.which(command[0]):
            print(f"left out: {command[0]} is not installed", file=sys.stderr)
    return {name: command for name, command in wanted.items() if shutil.which(command[0])}


def mallocs(kolk):
    """Returns {name: the library to preload}."""
    found = {"glibc": "", "kolk": os.path.abspath(kolk)}
    for name in ("mimalloc", "jemalloc", "tcmalloc_minimal"):
        at = sorted(glob.glob(f"/usr/lib/*/lib{name}.so.*"))
        if at:
            found[name.split("_")[0]] = at[0]
        else:
            print(f"left out: lib{name}.so is not installed", file=sys.stderr)
    return found


def run(command, preloaded):
    """Returns the seconds of processor time, the KiB of peak resident memory, and the seconds from start to end. The
    first two include all children."""
    environment = dict(os.environ, LD_PRELOAD=preloaded) if preloaded else os.environ
    begin = time.monotonic()
    child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - begin
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]} ended with {child.returncode} under {preloaded or 'glibc'}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss, seconds


def mean(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def table(title, programs_, names, value):
    print(f"\n### {title}\n\n| | {' | '.join(names[1:])} |\n|---|{'---:|' * (len(names) - 1)}")
    ratios = {name: [] for name in names[1:]}
    for program in programs_:
        for name in names[1:]:
            ratios[name].append(value(program, name) / value(program, "glibc"))
        print(f"| {program} | {' | '.join(f'{ratios[name][-1]:.2f}' for name in names[1:])} |")
    print(f"| **geometric mean** | {' | '.join(f'**{mean(ratios[name]):.2f}**' for name in names[1:])} |")
    return {name: mean(all_) for name, all_ in ratios.items()}


def take_turns(commands, mallocs_, rounds):
    """Returns {(command, malloc): what run returned in each round}."""
    took = {}
    for _ in range(rounds):
        for name, command in commands.items():
            for malloc in random.sample(list(mallocs_), len(mallocs_)):
                took.setdefault((name, malloc), []).append(run(command, mallocs_[malloc]))
    return took


def judge(what, measured, most):
    print(f"| {what} | {measured:.2f} | at most {most:.2f} | {'ok' if measured <= most else '**missed**'} |")


def print_programs(all_programs, all_mallocs, rounds):
    took, names = take_turns(all_programs, all_mallocs, rounds), list(all_mallocs)
    print("# Unchanged programs on other mallocs\n\nRatios to glibc's malloc; medians of "
          f"{rounds} rounds in which the mallocs take turns.")
    spent = table("Processor time", all_programs, names, lambda *at: statistics.median(it[0] for it in took[at]))
    memory = table("Greatest resident memory", all_programs, names,
                   lambda *at: statistics.median(it[1] for it in took[at]))
    print("\n## Targets\n\n| | measured | target | |\n|---|---:|---:|---|")
    judge("processor time: kolk / glibc", spent["kolk"], 0.95)
    if "mimalloc" in spent:
        judge("processor time: kolk / mimalloc", spent["kolk"] / spent["mimalloc"], 1.05)
    judge("resident memory: kolk / glibc", memory["kolk"], 1.2)


def print_loads(workloads, all_mallocs, rounds):
    took, names = take_turns(workloads, all_mallocs, rounds), list(all_mallocs)
    ratios, worst = {name: [] for name in names}, 0.0
    print("\n# Processes that only allocate and free\n\nSeconds from start to end, and in the last row the ratio to the "
          f"fastest other malloc; medians of {rounds} rounds in which the mallocs take turns.\n\n"
          f"| | {' | '.join(names)} |\n|---|{'---:|' * len(names)}")
    for workload in workloads:
        seconds = {name: statistics.median(it[2] for it in took[workload, name]) for name in names}
        best = min(seconds[name] for name in names if name != "kolk")
        for name in names:
            ratios[name].append(seconds[name] / best)
        worst = max(worst, ratios["kolk"][-1])
        print(f"| {workload} | {' | '.join(f'{seconds[name]:.3f}' for name in names)} |")
    print(f"| **geometric mean** | {' | '.join(f'**{mean(ratios[name]):.2f}**' for name in names)} |")
    print("\n## Targets of these processes\n\n| | measured | target | |\n|---|---:|---:|---|")
    judge("geometric mean of kolk", mean(ratios["kolk"]), min(mean(ratios[name]) for name in names if name != "kolk"))
    judge("worst row: kolk / fastest other malloc", worst, 1.25)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    rounds, all_mallocs = int(sys.argv[2]) if len(sys.argv) > 2 else 7, mallocs(sys.argv[1])
    loads, only = sys.argv[3:4], sys.argv[4:]
    if not only:
        with tempfile.TemporaryDirectory() as work:
            print_programs(programs(work), all_mallocs, rounds)
    if loads:
        known = subprocess.run(loads, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        print_loads({name: [*loads, name] for name in only or known}, all_mallocs, rounds)


if __name__ == "__main__":
    main()
