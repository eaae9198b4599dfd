#!/bin/sh
# runs: longest once
# Runs SPIN over tests/models/queue.pml: all states of the protocol in several settings, and each seeded mistake, which
# must be found. Exits with 77 if SPIN is missing.
# Usage: tests/models/queue.sh
# promise: README.md "No thread sleeps for ever at a queue"
set -u
model=$PWD/tests/models/queue.pml
command -v spin > /dev/null || { echo "skipped: spin is not installed"; exit 77; }
cc=
for each in gcc cc clang; do # not $CC, which may build for another machine
  command -v $each > /dev/null && { cc=$each; break; }
done
[ -n "$cc" ] || { echo "skipped: there is no C compiler for this machine"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# run ERRORS WHAT DEFINITION...: expects 0 errors in all states, or 1. A mistake is found early, and compiling the
# search takes longer than running it, so it is not optimised, and has a table of 2^20 places.
run() {
  errors=$1 what=$2 level=-O1 table=24
  shift 2
  [ "$errors" = 0 ] || level=-O0 table=20
  liveness= search=-DSAFETY
  case "$*" in *-DFAIR*) liveness="-a -f" search=-DNFAIR=3 ;; esac
  rm -f pan*
  # shellcheck disable=SC2086
  {
    spin -a "$@" "$model" && "$cc" $level -w $search -o pan pan.c && ./pan -E -n -m2000000 -w$table $liveness
  } > said 2>&1
  result=ok
  grep -q "errors: $errors\$" said || result=FAILED
  [ "$errors" = 1 ] || ! grep -Eq "depth too small|not completed|out of memory" said || result=FAILED
  echo "$what: $result$(sed -n 's/ states, stored.*/ states/p' said | sed 's/^ */, /')"
  [ $result = ok ] || { failed=1; cat said; }
}

line="-DPUSHERS=1 -DPOPPERS=2 -DCAPACITY=2"
one_ends="$line -DTIMES=2"
# shellcheck disable=SC2086
{
  run 0 "deadlines" $line -DALL_DEADLINES=1
  run 0 "close or shutdown" $one_ends -DENDER=1
  run 0 "an end, and shutdown or reopen" -DPUSHERS=1 -DPOPPERS=1 -DCAPACITY=1 -DTIMES=2 -DENDER=2
  run 0 "two endings and reopens" -DPUSHERS=1 -DPOPPERS=1 -DCAPACITY=1 -DTIMES=2 -DENDER=4
  run 0 "clear" -DPUSHERS=2 -DPOPPERS=1 -DCAPACITY=2 -DTIMES=2 -DENDER=3
  run 0 "a pusher is served" -DPUSHERS=1 -DPOPPERS=2 -DCAPACITY=1 -DFAIR=1
  run 0 "a popper is served" -DPUSHERS=1 -DPOPPERS=2 -DCAPACITY=1 -DFAIR=2
  run 1 "mistake 1, asleep set too late, is found" $line -DBUG=1
  run 1 "mistake 2, leaving without calling the next, is found" $line -DBUG=2
  run 1 "mistake 3, looking at asleep too early, is found" $line -DBUG=3
  run 1 "mistake 4, leaving an ended queue silently, is found" $one_ends -DENDER=1 -DBUG=4
  run 1 "mistake 5, waiting on after an ending, is found" -DPUSHERS=1 -DPOPPERS=1 -DCAPACITY=1 -DTIMES=2 -DENDER=2 -DBUG=5
  run 1 "mistake 7, noting the last ending only, is found" -DPUSHERS=1 -DPOPPERS=1 -DCAPACITY=1 -DTIMES=2 -DENDER=4 -DBUG=7
  run 1 "mistake 8, holding without being the first, is found" $one_ends -DENDER=1 -DBUG=8
  run 1 "mistake 6, not holding the gate, is found" -DPUSHERS=1 -DPOPPERS=2 -DCAPACITY=1 -DFAIR=2 -DBUG=6
}
exit $failed
