#!/bin/sh
# runs: longest once
# Runs SPIN over tests/models/queue.pml: all states of the protocol in several settings, and each seeded mistake, which
# must be found. Exits with 77 if SPIN is missing.
# Usage: tests/models/queue.sh
# promise: README.md "No thread sleeps for ever at a queue"
. tests/models/spin.sh
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
