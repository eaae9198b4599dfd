#!/bin/bash
# The clock of the day jumps by years, forward and back, many times a second, while the programs run: no deadline and no
# lifetime goes by it. (The monotonic clock is left alone, as a system's is when its time is set.)
# Usage: clock_jumps.sh PROGRAM...
set -euo pipefail
library=$(find /usr/lib -name libfaketime.so.1 -print -quit)
[[ -n $library ]] || { echo "skipped: libfaketime is missing (tools/setup.sh test)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk clock.XXXXXX")
jumper=
trap '[[ -z $jumper ]] || kill "$jumper"; rm -rf "$work"' EXIT

# A new file each time, so that no program reads half of one.
jump() {
  local by
  while true; do
    for by in +9y -9y +30d +0; do
      echo "$by" > "$work/new"
      mv "$work/new" "$work/time"
      sleep 0.02
    done
  done
}
echo +0 > "$work/time"
jump &
jumper=$!

# Times of files are left alone too: for them libfaketime has a lock that all processes share, and a process of a test
# may be killed while it holds it.
export NO_FAKE_STAT=1 FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_NO_CACHE=1 FAKETIME_TIMESTAMP_FILE="$work/time" KOLK_TEST_EFFORT=quick
years=$(for ((i = 0; i < 40; i++)); do LD_PRELOAD=$library date +%Y; sleep 0.01; done | sort -u | wc -l)
[[ $years -ge 3 ]] || { echo "the clock does not jump: $years years were seen"; exit 1; }
for program in "$@"; do
  echo "${program##*/}"
  timeout 120 env LD_PRELOAD="$library" "$program" > "$work/said" 2>&1 || { echo "exit code $?:"; cat "$work/said"; exit 1; }
done
