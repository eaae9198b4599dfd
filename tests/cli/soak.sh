#!/bin/sh
# runs: long once
# The soak test as people use it: it runs for a second, or 15 with KOLK_TEST_EFFORT=full. Checks its output, its exit
# code, and its continuation. KOLK is the path of the command.
set -u
. tests/cli/checks.sh
unset KOLK_FAIL
long=1s
if [ "${KOLK_TEST_EFFORT:-full}" = full ]; then long=15s; fi

# ---- a run, and another that continues it ----

run 0 "$kolk" soak --for $long --seed 5 --state state --picture picture.png
prints '^[0-9,]*,000,000 operations in [0-9]* s, seed 5' '^fixed pools never fragment  *ok  .* 1[0-9],[0-9]* times$' \
  '^objects stay whole  *ok  ' '^counters agree  *ok  ' '^is_valid holds  *ok  ' '^mistakes are reported  *ok  ' \
  '^resident memory is flat  ' '^p99.99 stays  *not judged  ' '^kolk_heap  ' '^malloc  ' '^picture: picture.png$'
check 'nothing on stderr' [ ! -s err ]
check 'a picture' [ "$(head -c 4 picture.png | tail -c 3)" = PNG ]
run 0 "$kolk" soak --for 1s --state state
prints '^[0-9,]*,000,000 operations in [0-9]* s, seed 5, by 2 processes'

# ---- JSON, and Ctrl-C: it ends in an orderly way ----

"$kolk" soak --for 10m --json -o result.json --state stopped > out 2> err &
sleep 1
kill -INT $!
wait $!
check 'exit code 0 when it is stopped' [ $? -eq 0 ]
check 'its JSON' grep -q '"stopped": *true' result.json
check 'its state' [ -s stopped ]

# ---- faults are found: a pool that refuses now and then ----

KOLK_FAIL=soak.fixed:every=100000 run 1 "$kolk" soak --for 20s
prints '^fixed pools never fragment  *FAILED  *soak.fixed: ' '^objects stay whole  *ok  '

# ---- the command line and the file ----

refused 2 "--for expects a time such as 10s, 3m, 8h or 3d, not '3 minutes'" soak --for '3 minutes'
refused 2 "--for expects a time such as 10s, 3m, 8h or 3d, not '0s'" soak --for 0s
echo hello > letter
refused 3 'letter: it is not the state of a soak test' soak --for 1s --state letter
head -c 5000 state > cut
refused 3 'cut: it is cut off, or there is more than its head says' soak --for 1s --state cut
refused 3 '.: it is no file, but a folder, a pipe or a device' soak --for 1s --state .
refused 3 '/dev/zero: it is no file, but a folder, a pipe or a device' soak --for 1s --state /dev/zero
refused 1 'none/state: cannot be written: No such file or directory' soak --for 1s --state none/state
refused 1 'none/picture.png: cannot be written: No such file or directory' soak --for 1s --picture none/picture.png
run 0 "$kolk" help soak
prints '^  kolk soak \[OPTION...\]$' '^ *--for TIME' '^Ctrl-C ends it in order'
check 'nothing is left behind' [ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'kolk-soak.*' -newer letter 2> /dev/null)" ]

finish
