#!/bin/sh
# runs: longest once
# Runs SPIN over tests/models/ipc.pml: all states of the protocol, while processes die, and each seeded mistake, which
# must be found. With KOLK_TEST_EFFORT=full, also larger settings. Exits with 77 if SPIN is missing.
# Usage: tests/models/ipc.sh
. tests/models/spin.sh
two="-DPROCESSES=2 -DNUMBERS=2"
queue="-DPART=1 $two -DCELLS=2 -DCAPACITY=1"
hints="-DPART=2 $two"
# shellcheck disable=SC2086
{
  run 0 "a queue, and who recovers dies" $queue -DDEATHS=2 -DBIRTHS=0 -DTIMES=2
  run 0 "hints, and one dies" $hints -DDEATHS=1 -DBIRTHS=0 -DTIMES=2
  if [ "${KOLK_TEST_EFFORT:-full}" = full ]; then
    run 0 "a queue, and a number is used again" $queue -DDEATHS=1 -DBIRTHS=1 -DTIMES=2
    run 0 "a queue, and one dies" $queue -DDEATHS=1 -DBIRTHS=0 -DTIMES=3
  fi
  run 1 "mistake 3, the head is not read again, is found" $queue -DDEATHS=1 -DBIRTHS=0 -DTIMES=4 -DBUG=3
  run 1 "mistake 4, a cell without a lap, is found" $queue -DDEATHS=1 -DBIRTHS=0 -DTIMES=4 -DBUG=4
  run 1 "mistake 5, not keeping the lock of the dead, is found" $queue -DDEATHS=1 -DBIRTHS=1 -DTIMES=2 -DBUG=5
  run 1 "mistake 6, clearing used before the recovery, is found" $queue -DDEATHS=2 -DBIRTHS=0 -DTIMES=1 -DBUG=6
  run 1 "mistake 7, completing what nobody has claimed, is found" $queue -DDEATHS=1 -DBIRTHS=1 -DTIMES=2 -DBUG=7
}
exit $failed
