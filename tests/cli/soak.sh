#!/bin/sh
# runs: long once
# The soak test as people use it: it runs for a second, or 15 with KOLK_TEST_EFFORT=full. Checks its output and its exit
# code. KOLK is the path of the command.
set -u
. tests/cli/checks.sh
unset KOLK_FAIL
long=1s
if [ "${KOLK_TEST_EFFORT:-full}" = full ]; then long=15s; fi

# ---- a run ----

run 0 "$kolk" soak --for $long --seed 5
prints '^[0-9,]*,000,000 operations in [0-9]* s, seed 5' '^fixed pools never fragment  *ok  .* 10,000 times$' \
  '^objects stay whole  *ok  ' '^counters agree  *ok  ' '^is_valid holds  *ok  ' '^mistakes are reported  *ok  ' \
  '^resident memory is flat  *not judged  '
check 'nothing on stderr' [ ! -s err ]

# ---- JSON, and Ctrl-C: it ends in an orderly way ----

"$kolk" soak --for 10m --json -o result.json > out 2> err &
sleep 1
kill -INT $!
wait $!
check 'exit code 0 when it is stopped' [ $? -eq 0 ]
check 'its JSON' grep -q '"stopped": *true' result.json

# ---- faults are found: a pool that refuses now and then. Which check finds it depends on which alloc is refused ----

KOLK_FAIL=soak.fixed:every=100000 run 1 "$kolk" soak --for 20s
prints '^[a-z _]*  *FAILED  *soak.fixed: ' '^objects stay whole  *ok  '

# ---- the command line ----

refused 2 "--for expects a time such as 10s, 3m, 8h or 3d, not '3 minutes'" soak --for '3 minutes'
refused 2 "--for expects a time such as 10s, 3m, 8h or 3d, not '0s'" soak --for 0s
run 0 "$kolk" help soak
prints '^  kolk soak \[OPTION...\]$' '^ *--for TIME' '^Ctrl-C ends it in order'

finish
