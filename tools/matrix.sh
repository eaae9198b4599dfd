#!/bin/bash
# Runs every row of the matrix: compilers, sanitizers, machines and checkers. Prints one line per row. If a row fails,
# prints the end of its log. The other rows still run, and the last line names the rows that failed.
#
# KOLK_TEST_EFFORT=quick, the default, is for each change. The row fresh is make test on a new machine, and gcc has what
# make test leaves out. Long tests do a part of their work, what depends on neither compiler nor machine runs in these
# rows only, and the slowest proofs are left out. full adds these to gcc, with nearly all of the work of all tests, more
# programs to clang, and the command to tidy. release, for releases, does all work in gcc, runs on other
# machines all programs that can run there, and gives each row a new machine, on which tools/setup.sh has installed what
# this row needs.
# Usage: tools/matrix.sh [ROW...]
# promise: README.md "kolk needs gcc or clang ... It runs on Linux"
set -euo pipefail
mkdir -p build/matrix
failed=()
begin=$SECONDS

rows=" $* "
effort=${KOLK_TEST_EFFORT:-quick}

# row NAME WHAT COMMAND...
row() {
  local name=$1 what=$2 log=build/matrix/$1.log start=$SECONDS result=ok how=("${@:3}")
  [[ $rows == "  " || $rows == *" $name "* ]] || return 0
  [[ $effort != release || $name == fresh || ${KOLK_FRESH:-} ]] || how=(env KOLK_TEST_EFFORT=release tools/fresh.sh "$name")
  [[ -t 1 ]] && printf '%-14s %-66s ...' "$name" "$what"
  if ! "${how[@]}" > "$log" 2>&1 < /dev/null; then
    result=FAILED
    failed+=("$name")
  fi
  [[ -t 1 ]] && printf '\r'
  printf '%-14s %-66s %4d s  %-6s %s\n' "$name" "$what" $((SECONDS - start)) $result "$(grep -o '^[0-9]*% tests passed.*' "$log" || true)"
  [[ $result == ok ]] || tail -n 60 "$log" | sed 's/^/    | /'
}

# Each test says in words where it runs, which docs/tests.md explains. Words of kinds and names of tests count as well.
if [[ $effort == quick ]]; then
  cxx='' checked=''
else
  cxx="sample:clang build_cxx" checked=cli
fi
what="make test in full: -O2, checks on"
case $effort in
  quick) what="-O2, checks on: what make test leaves out" how=(env KOLK_TEST_EFFORT=quick KOLK_TESTS=long KOLK_TESTS_WITHOUT=longest tools/preset.sh default) ;;
  full) how=(env KOLK_TEST_EFFORT=full KOLK_TEST_SCHEDULE_STEPS=2000000 tools/test.sh) ;;
  *) how=(env KOLK_TEST_EFFORT=release tools/test.sh) ;;
esac
row fresh "a minimal Debian: make demo, make test, the README's lines" tools/fresh.sh
row gcc "$what" "${how[@]}"
# The other rows shorten the long tests even more, because the millions of steps of these test the source and not the compiler.
export KOLK_TEST_EFFORT=quick KOLK_TEST_SCHEDULE_STEPS=50000

# tested NAME WHAT WORDS: runs a row without the tests that have one of these words
tested() { row "$1" "$2" env KOLK_TESTS_WITHOUT="$3" tools/preset.sh "$1"; }

# sampled PRESET WHAT WORDS [WITHOUT]: builds and runs only the tests that have one of these words, and none of WITHOUT
sampled() { row "$1" "$2" env KOLK_TESTS="$3" ${4:+KOLK_TESTS_WITHOUT="$4"} KOLK_TARGETS=kolk-tests tools/preset.sh "$1"; }

# The next row compiles all tests with clang too, and runs those of the adapters.
if [[ $effort == release ]]; then
  tested clang "-O2, from kolk.h and kolk.c, no assertions; headers, freestanding" "once not:clang"
else
  sampled clang "-O2, from kolk.h and kolk.c, no assertions: examples, samples" "sample example $cxx" \
    "not:clang example_reload example_metrics_read"
fi
# (Tests with forks would hang: AddressSanitizer's allocator may be locked in the child. kolk advise alone takes two
# minutes there, and each start of a process a quarter of a second. The parts of the commands have tests of their own.
# Where threads meet, ThreadSanitizer looks: tools_races in gcc. So a change has what hands out memory, and samples.)
if [[ $effort == quick ]]; then
  sampled asan "clang -O1, AddressSanitizer, UndefinedBehaviorSanitizer: memory" \
    "sample tests/contracts tests/core tests/store tests/pool tests/slotmap tests/bytemap tests/heap tests/budget tests/ipc" \
    "once not:asan build cli processes"
else
  tested asan "clang -O1, AddressSanitizer, UndefinedBehaviorSanitizer" "once not:asan build"
fi
# The programs for other machines run under qemu. Some 64-bit kernels run no 32-bit programs of x86: there these do too.
# On an emulated machine, threads do not reorder memory accesses in other ways than this processor does. Tests are left
# out (not:qemu) that reserve gigabytes, because qemu keeps a table of all pages; that expect a thread to be gone once it
# was joined, because qemu's own thread lives a little longer; and that start a process for each case, which takes qemu
# longest, or themselves through a shell.
i686=i686
tools/runs_i686.sh 2> /dev/null || i686=i686-emulated
machine() { # PRESET WHAT
  if [[ $effort == release ]]; then
    row "$1" "gcc -O2, $2: all programs, shortened" tools/preset.sh "$1"
  else
    sampled "$1" "gcc -O2, $2: one program of each kind" sample
  fi
}
if [[ $effort == release && $i686 == i686 ]]; then # the schedules of the queue run on the emulated machines
  tested i686 "gcc -O2, 32 bits; headers, freestanding core" "once test_queue_schedules"
else
  machine "$i686" "32-bit x86"
fi
machine s390x "big endian"
machine aarch64 "64-bit ARM"
if [[ $effort != quick ]]; then # of these, the source knows only how a stack is walked on 32-bit ARM
  machine armhf "32-bit ARM"
  machine riscv64 "64-bit RISC-V"
fi
# Excludes what Windows lacks, and the tests of mistakes that start hundreds of children (not:wine). For a change, the
# contracts of all kinds, what waits or asks the system, and a sample of the rest.
if [[ $effort == release ]]; then
  row mingw-x86_64 "64-bit Windows, under wine: programs, shortened" tools/preset.sh mingw-x86_64
else
  sampled mingw-x86_64 "64-bit Windows, under wine: contracts, waiting, samples" \
    "sample tests/contracts tests/os tests/queue tests/windows windows_unload" "once not:wine build"
fi
if /usr/lib/wine/wine --version > /dev/null 2>&1; then # wine32's, a 32-bit program itself
  row mingw-i686 "32-bit Windows, under wine: the DLL and a game's mod" tools/preset.sh mingw-i686
else
  targets=kolk-shared what="the DLL"
  [[ $effort == quick ]] || targets="$targets mod windows_mod" what="$what and a game's mod"
  row mingw-i686 "32-bit Windows: $what, built, not run, because wine32 does not run here" \
    env KOLK_TARGETS="$targets" tools/preset.sh mingw-i686 -N
fi
row format "clang-format" tools/format.sh --check
if [[ $effort == release ]]; then
  row tidy "clang-tidy, cppcheck: all files" tools/tidy.sh
else # tests, fuzzers and examples take as long as everything else, and their mistakes show when they run
  # shellcheck disable=SC2046
  row tidy "clang-tidy, cppcheck: what is installed" tools/tidy.sh $(tools/files.sh src adapters preload web bindings $checked | grep '\.c$')
fi

if [[ ${#failed[@]} -gt 0 ]]; then
  echo "matrix: $((SECONDS - begin)) s, failed: ${failed[*]} (logs in build/matrix)"
  exit 1
fi
echo "matrix: all rows passed in $((SECONDS - begin)) s"
