#!/usr/bin/env python3
"""Do the tests bite? Changes the library in one small place at a time (tools/mutations.py says how) and runs the unit tests,
which must fail: the mutant is killed. A survivor shows a hole in the tests, unless tools/mutants.txt lists it with the
reason why it behaves as the original. That file also adds mutants that must be killed. Fails if one of these survives,
if more than 5 % of all mutants survive unlisted, or if the list has an entry that is killed or does not exist any more. Mutants that do not compile without errors and warnings are not
counted, nor those with the original's object code.

The tests run on copies of the tree in build/mutants, one for each job: first the test that killed the mutant in an
earlier run, then the tests named after the changed file, then those that have killed most in the least time. The first
failure ends a mutant; a test that takes several times its usual time has failed. The scheduled tests are shortened at
first, and run in full, for some minutes, if everything else has passed. A program whose bytes do not change, because it
does not use the changed function, is not run."""
import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter

sys.dont_write_bytecode = True
from mutations import Mutant, mutants_of  # noqa: E402

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WORK = os.path.join(TOP, "build", "mutants")
RESULTS = os.path.join(WORK, "results.json")
LIST = "tools/mutants.txt"
FILES = ["src/pool/*.[ch]", "src/slotmap/*.[ch]", "src/bytemap/*.c", "src/core/block.[ch]", "src/base/bits.h", "src/core/geometry.h",
         "src/core/handle.h", "src/core/snapshot.[ch]", "src/store/*.[ch]", "src/core/wait_queue.h", "src/core/looks.h", "src/core/stale.h",
         "src/watch/words.h", "src/shared/*.[ch]", "src/ipc/*.[ch]", "src/queue/*.[ch]", "src/resource/*.[ch]",
         "include/kolk/pool.inl", "include/kolk/slotmap.inl", "include/kolk/bytemap.inl",
         "include/kolk/shared.inl", "include/kolk/base.inl"]  # fmt: skip
REQUIRED = 95.0
KILLED, SURVIVED, SAME, REFUSED = "killed", "survived", "same", "refused"
LONG = 1800  # seconds, more than any test takes
SCHEDULE_STEPS = "KOLK_TEST_SCHEDULE_STEPS"
ENVIRONMENT = {
    # The long tests are shortened, in the same way each time.
    "KOLK_TEST_SEED": "1",
    "KOLK_TEST_OPS_AT_MOST": "300000",
    "KOLK_TEST_LENGTH": "5",
    SCHEDULE_STEPS: "50000",
    "CMOCKA_TEST_ABORT": "1",  # the first failure ends the program
}


def stop(message):
    sys.exit(f"mutate: {message}")


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


# ---- The tests, and the trees in which they are built and run ----


class Test:
    def __init__(self, name):
        self.name = name
        self.seconds = 0.0  # to build it after the library and to run it
        self.cpu_limit = self.wall_limit = LONG
        self.runs = self.kills = 0

    def is_scheduled(self):
        return "schedule" in self.name

    def price_of_a_kill(self):
        return self.seconds * (self.runs + 2) / (self.kills + 1)

    def is_about(self, file):
        """Returns true if the test belongs to the file, as test_slotmap_model does to src/slotmap/slotmap_sort.c, and
        test_pool_snapshot to src/pool/pool_snapshot.c."""
        words = os.path.splitext(os.path.basename(file))[0].split("_")
        return any(word in self.name for word in words if word != "pool")


class Tree:
    """A copy of the sources, and a build of it without debug information."""

    def __init__(self, number, tests):
        self.top = os.path.join(WORK, str(number))
        self.build = os.path.join(self.top, "build")
        self.changed = None
        self.killer = None
        shutil.rmtree(self.top, ignore_errors=True)
        shutil.copytree(TOP, self.top, ignore=lambda folder, _: ["build", ".git"] if folder == TOP else [], symlinks=True)
        self.run("cmake", "-G", "Ninja", "-S", self.top, "-B", self.build, "-DCMAKE_C_COMPILER=gcc", "-DKOLK_STRICT=ON",
                 "-DCMAKE_C_FLAGS=-O1 -ffunction-sections -Wno-clobbered -Wno-format-truncation", "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--gc-sections", "-DKOLK_BUILD_TESTS=ON", "-DKOLK_BUILD_CLI=OFF",
                 "-DCMAKE_SUPPRESS_REGENERATION=ON")  # fmt: skip
        self.run("ninja", "-C", self.build, "kolk-tests")
        self.original_library, self.original_objects = self.library(), self.objects()
        self.commands = {}
        for test in json.loads(self.run("ctest", "--test-dir", self.build, "--show-only=json-v1"))["tests"]:
            labels = [label for p in test["properties"] if p["name"] == "LABELS" for label in p["value"]]
            is_program = glob.glob(os.path.join(self.build, "*", test["name"]))  # and not a script
            if is_program and ("unit" in labels or "fuzz" in labels) and re.search(tests, test["name"]):
                self.commands[test["name"]] = test["command"]
        self.original_programs = {name: self.program(name) for name in self.commands}

    def run(self, *command):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            stop(f"{' '.join(command)} failed:\n{done.stdout}")
        return done.stdout

    def builds(self, *targets):
        command = ["ninja", "-C", self.build, "-j1", *targets]
        return subprocess.run(command, capture_output=True).returncode == 0

    def library(self):
        return self.objects("CMakeFiles/kolk-static.dir")

    def objects(self, folder=""):
        return self.hash(os.path.join(folder, "**", "*.o"))

    def program(self, name):
        return self.hash(os.path.join("*", name))

    def hash(self, pattern):
        """Returns a hash of these files of the build."""
        digest = hashlib.sha256()
        for path in sorted(glob.glob(os.path.join(self.build, pattern), recursive=True)):
            with open(path, "rb") as file:
                digest.update(path.encode() + file.read())
        return digest.digest()

    def write(self, file, text):
        with open(os.path.join(self.top, file), "w", encoding="utf-8") as out:
            out.write(text)

    def change(self, mutant, originals):
        if self.changed not in (None, mutant.file):
            self.write(self.changed, originals[self.changed])
        self.changed = mutant.file
        text = originals[mutant.file]
        self.write(mutant.file, text[: mutant.start] + mutant.replacement + text[mutant.end :])

    def passes(self, test, in_full=False):
        """Runs a test that has been built."""
        environment = {**os.environ, **ENVIRONMENT}
        cpu_limit, wall_limit = test.cpu_limit, test.wall_limit
        if in_full:
            del environment[SCHEDULE_STEPS]
            cpu_limit = wall_limit = LONG

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_limit, cpu_limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        process = subprocess.Popen(self.commands[test.name], cwd=self.top, env=environment, **quiet,
                                   preexec_fn=limit, start_new_session=True)  # fmt: skip
        try:
            return process.wait(wall_limit) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:  # the test and its child processes
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def judge(self, mutant, originals, tests):
        """Returns the verdict and the test that killed the mutant."""
        self.change(mutant, originals)
        if not self.builds("kolk-static"):
            return REFUSED, ""
        if self.library() == self.original_library:
            if not self.builds():
                return REFUSED, ""
            if self.objects() == self.original_objects:
                return SAME, ""

        def order(test):
            return test is not self.killer, not test.is_about(mutant.file), test.price_of_a_kill()

        changed = []
        for test in sorted(tests, key=order):
            if not self.builds(test.name):
                return REFUSED, ""
            if self.program(test.name) == self.original_programs[test.name]:
                continue
            changed.append(test)
            test.runs += 1
            if not self.passes(test):
                test.kills += 1
                self.killer = test
                return KILLED, test.name
        for test in changed:
            if test.is_scheduled() and not self.passes(test, in_full=True):
                return KILLED, test.name
        return SURVIVED, ""


def measure(tree, some_file):
    """Returns the tests, with the cost of each after a change of this file. All of them must pass."""
    tests = [Test(name) for name in tree.commands]
    for test in tests:
        os.utime(os.path.join(tree.top, some_file))
        tree.builds("kolk-static")
        start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
        if not tree.builds(test.name):
            stop(f"{test.name} can't be built before anything is changed")
        built = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not tree.passes(test):
            stop(f"{test.name} fails before anything is changed")
        test.seconds = time.monotonic() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        test.wall_limit = 10 + 10 * test.seconds  # for a test that sleeps; one that computes is stopped by its CPU time
        test.cpu_limit = 1 + int(4 * (after.ru_utime + after.ru_stime - built.ru_utime - built.ru_stime))
    return tests


# ---- The list of equivalent mutants ----


def listed():
    """Returns the reasons by the mutants' names, and the names of those that must be killed. An entry is
        @ FILE FUNCTION
        - LINE as it is
        + LINE after the change; there may be several
        = reason why no test can kill it
        ! LINE after a change that tests must kill, even if mutations.py does not make it
    """
    reasons, fatal, where, before, after = {}, [], None, None, []
    for number, line in enumerate(read(LIST).splitlines(), 1):
        mark, words = line[:1], " ".join(line[1:].split())
        if mark == "@":
            where = tuple(words.split())
        elif mark == "-":
            before, after = words, []
        elif mark == "+":
            after.append(words)
        elif mark == "=" and where and len(where) == 2 and before and after:
            reasons.update({(*where, before, changed): words for changed in after})
            after = []
        elif mark == "!" and where and len(where) == 2 and before:
            fatal.append((*where, before, words))
        elif mark not in ("", "#"):
            stop(f"{LIST}:{number}: not understood: {line}")
    return reasons, fatal


# ---- A run ----


def all_mutants(files, originals, fatal):
    for pattern in files:
        for file in sorted(glob.glob(pattern, root_dir=TOP)) or stop(f"no such file: {pattern}"):
            text = originals[file] = read(file)
            mutants = mutants_of(file, text)
            yield from mutants
            names = {mutant.name for mutant in mutants}
            for name in fatal:
                if name[0] == file and name not in names:
                    yield whole_line(name, mutants, text)


def whole_line(name, mutants, text):
    """Returns the mutant of this name. Its line is found by another mutant of the same line."""
    for near in mutants:
        if near.name[:3] == name[:3]:
            start, end = text.rfind("\n", 0, near.start) + 1, text.find("\n", near.end)
            return near._replace(start=start, end=end, replacement=name[3], after=name[3])
    return stop(f"{LIST}: no mutant is on this line of {name[0]} {name[1]}: {name[2]}")


def run(mutants, originals, reasons, jobs, names_of_tests):
    """Judges the mutants and returns the verdicts in their order. Prints unlisted survivors as it finds them."""
    verdicts, todo, start = [None] * len(mutants), iter(range(len(mutants))), time.monotonic()

    def work(tree):
        for n in todo:  # the threads share this iterator
            verdicts[n] = tree.judge(mutants[n], originals, tests)
            if verdicts[n][0] == SURVIVED and mutants[n].name not in reasons:
                print(f"\r{described(mutants[n])}", flush=True)
            done = len(mutants) - verdicts.count(None)
            if sys.stdout.isatty() or done % 100 == 0:
                end = "" if sys.stdout.isatty() else "\n"
                print(f"\r{done} of {len(mutants)}, {time.monotonic() - start:.0f} s", end=end, flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as workers:
        trees = list(workers.map(lambda number: Tree(number, names_of_tests), range(jobs)))
        tests = measure(trees[0], mutants[0].file)
        start = time.monotonic()
        try:
            list(workers.map(work, trees))
        except KeyboardInterrupt:
            for _ in todo:
                pass
            stop("interrupted")
    print("\rkills:", ", ".join(f"{t.name[5:]} {t.kills}" for t in sorted(tests, key=lambda t: -t.kills) if t.kills))
    return verdicts


def described(mutant):
    return f"{mutant.file}:{mutant.line}: {mutant.function}\n  - {mutant.before}\n  + {mutant.after}"


def report(mutants, verdicts, reasons, fatal, is_complete):
    """Prints the figures. Returns true if they are good enough."""
    unlisted, stale = [], []
    print(f"{'':24}{'mutants':>8}{'killed':>8}{'listed':>8}{'survived':>9}   not counted: same code, refused")
    total = Counter()
    for file in dict.fromkeys(mutant.file for mutant in mutants):
        count = Counter()
        for mutant, (verdict, test) in zip(mutants, verdicts):
            if mutant.file != file:
                continue
            is_listed = mutant.name in reasons
            count["listed" if verdict == SURVIVED and is_listed else verdict] += 1
            if verdict == SURVIVED and not is_listed:
                unlisted.append(mutant)
            if verdict != (SURVIVED if is_listed else KILLED if mutant.name in fatal else verdict):
                stale.append((mutant.name, f"{verdict} {test}".strip()))
        print_row(file, count)
        total += count
    print_row("all", total)
    if is_complete:
        names = {mutant.name for mutant in mutants}
        files = {mutant.file for mutant in mutants}
        stale += [(name, "does not exist") for name in reasons if name not in names and name[0] in files]
    for (file, function, before, after), why in stale:
        print(f"{LIST}: {why}: {file} {function}\n  - {before}\n  + {after}")
    counted = total[KILLED] + total["listed"] + total[SURVIVED]
    good = 100.0 * (counted - total[SURVIVED]) / max(counted, 1)
    print(f"{good:.1f} % of the mutants are killed or listed; {REQUIRED:.0f} % are required")
    return unlisted, good >= REQUIRED and not stale


def print_row(name, count):
    counted = count[KILLED] + count["listed"] + count[SURVIVED]
    print(f"{name:24}{counted:8}{count[KILLED]:8}{count['listed']:8}{count[SURVIVED]:9}{count[SAME]:15}, {count[REFUSED]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=FILES, help=f"what to change: {' '.join(FILES)}")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--sample", type=int, metavar="N", help="only N mutants, taken at random")
    parser.add_argument("--seed", type=int, default=1, help="of that sample")
    parser.add_argument("--tests", metavar="REGEX", default="", help="only these: what some of the tests kill all would kill")
    parser.add_argument("--again", action="store_true", help="only those that survived the last run")
    parser.add_argument("--list", action="store_true", help="show those that survived the last run, and do nothing")
    options = parser.parse_args()

    last = []
    if options.list or options.again:
        if not os.path.exists(RESULTS):
            stop("there was no run yet")
        last = [Mutant(*fields) for fields in json.loads(read(RESULTS))]
    if options.list:
        print("\n".join(map(described, last)))
        return
    originals = {}
    reasons, fatal = listed()
    mutants = list(all_mutants(options.files, originals, fatal))
    is_complete = not (options.again or options.sample)
    if options.again:
        names = {mutant.name for mutant in last}
        mutants = [mutant for mutant in mutants if mutant.name in names]
    if options.sample and options.sample < len(mutants):
        chosen = sorted(random.Random(options.seed).sample(range(len(mutants)), options.sample))
        mutants = [mutants[n] for n in chosen]
    if not mutants:
        print("no mutants")
        return
    os.makedirs(WORK, exist_ok=True)
    start = time.monotonic()
    verdicts = run(mutants, originals, reasons, max(1, options.jobs), options.tests)
    unlisted, good = report(mutants, verdicts, reasons, fatal, is_complete)
    with open(RESULTS, "w", encoding="utf-8") as file:
        json.dump(unlisted, file)
    print(f"{time.monotonic() - start:.0f} s; those that survived: tools/mutate.py --list, and --again runs only these")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
