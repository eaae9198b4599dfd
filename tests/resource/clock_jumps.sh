#!/bin/bash
# runs: once
# Runs the programs while the wall clock jumps by years, forward and back, many times a second: no deadline or lifetime
# may depend on it. (The monotonic clock is left alone, as it is when a system's time is set.)
# Usage: clock_jumps.sh PROGRAM...
set -euo pipefail
library=$(find /usr/lib -name libfaketime.so.1 -print -quit)
[[ -n $library ]] || { echo "skipped: libfaketime is missing (tools/setup.sh test)"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk clock.XXXXXX")
jumper=
trap '[[ -z $jumper ]] || kill "$jumper"; rm -rf "$work"' EXIT

# Renames a new file each time, so that no program reads an incomplete one.
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

# File times are left alone too: to fake them, libfaketime takes a lock that all processes share, and a test's process
# may be killed while it holds that lock.
export NO_FAKE_STAT=1 FAKETIME_DONT_FAKE_MONOTONIC=1 FAKETIME_NO_CACHE=1 FAKETIME_TIMESTAMP_FILE="$work/time" KOLK_TEST_EFFORT=quick
for ((i = 0, years = 0; years < 3 && i < 5000; i++)); do
  LD_PRELOAD=$library date +%Y >> "$work/years"
  years=$(sort -u "$work/years" | wc -l)
done
[[ $years -ge 3 ]] || { echo "the clock does not jump: $years years were seen"; exit 1; }
for program in "$@"; do
  echo "${program##*/}"
  timeout 600 env LD_PRELOAD="$library" "$program" > "$work/said" 2>&1 || { echo "exit code $?:"; cat "$work/said"; exit 1; }
done
