#!/bin/sh
# runs: long
# kolk top on a running server, once, as JSON, and live on a terminal (top.py). KOLK is the path of the command.
# Usage: top.sh SERVER
set -u
program=$(realpath "$1")
. tests/cli/checks.sh
server=
trap 'kill -9 $server 2> /dev/null; rm -rf "$folder"' EXIT
live=$top/tests/cli/top.py

begin() { # PROGRAM...: runs the server, until it is ready
  mkfifo said
  "$@" > said &
  server=$!
  read -r _ < said
  rm said
}

begin "$program"
run 0 "$kolk" top -d 300 "$server"
prints '^POOL  *KIND  *ALIVE  *CAPACITY  *PEAK  *ALLOCS/S  *FAILED  *WAITING  *MEMORY  *IDLE  *RESIDENT  *WASTED$' \
  '^sessions  *pool  *[0-9,]*  *[0-9,]*  *[0-9,]*  *[1-9][0-9,]*  *0  *-  ' \
  '^requests  *shared  *[01]  *100  *[0-9]*  *[1-9][0-9,]*  *0  *-  ' \
  '^ti?\[2Jckets  *shared  *1  *1  *1  *0  *0  *1 for 0 s  '
check 'no escape' [ -z "$(tr -dc '\033' < out)" ]
check 'nothing on stderr' [ ! -s err ]
run 0 "$kolk" top -d 10 --sort name --filter E "$server"
check 'sorted, filtered' [ "$(cut -d ' ' -f 1 out | tr '\n' ' ')" = "POOL requests sessions ti?[2Jckets " ]
run 0 "$kolk" top -d 10 --filter SESS "$server"
check 'filtered' [ "$(wc -l < out)" -eq 2 ]
run 0 "$kolk" top -d 10 --filter none-such "$server"
prints "^None of its 3 pools has 'none-such' in its name or kind.$"
run 0 "$kolk" top --json -d 50 --sort waiting "$server"
prints '"resident_bytes": [1-9][0-9]*,$' '"wasted_bytes": [1-9][0-9]*$'
check 'wasted is the rest' awk '
  { value = $2 + 0 }
  /"object_size":/ { size = value } /"alive":/ { alive = value } /"resident_bytes":/ { resident = value }
  /"wasted_bytes":/ { rest = resident - alive * size; if (value != (rest > 0 ? rest : 0)) exit 1; seen++ }
  END { exit seen != 3 }' out
prints "\"process\": $server," '"program": "top_server"' '"name": "ti?\[2Jckets"' '"waiting": 1,' '"waiting_seconds": 0.0'
check 'the waiting one is first' [ "$(grep -m 1 '"name"' out | tr -dc a-z)" = nametickets ]
run 0 "$kolk" top
prints "^ *$server  *3  *[0-9.]* [KM]iB  top_server\$" '^kolk top PROCESS shows'
run 0 "$kolk" top --json
prints "\"process\": $server,"
kill -9 "$server"
wait "$server" 2> err
refused 3 "process $server: there is no such process" top "$server"

for bad in 0 x 1x 99999999999999999999; do run 2 "$kolk" top "$bad"; done
run 2 "$kolk" top --sort size 1
check 'no such column' grep -q "there is no column 'size'" err
run 2 "$kolk" top -d 9 1
sleep 100 &
server=$!
while [ "$(cat /proc/$server/comm)" != sleep ]; do :; done
refused 3 "process $server: there is no kolk in this process" top "$server"
kill "$server"

begin "$program" frames
run 0 "$kolk" top -d 10 --filter frames "$server"
prints '^frames  *ipc  *3  *9  ' "^frames: 3 by process $server (top_server)\$"
run 0 "$kolk" top --json -d 10 --filter frames "$server"
prints "\"held_by\": \"3 by process $server (top_server)\""
kill -9 "$server"

cp "$program" stripped
if strip stripped 2> err; then
  begin ./stripped
  run 0 "$kolk" top -d 10 "$server"
  prints '^sessions  *pool '
  kill -9 "$server"
else
  skip "there is no strip: $(cat err)"
fi

if "$kolk" run true 2> err; then
  begin "$kolk" run -- "$program" # two copies of kolk: the program's, and that of its malloc
  run 0 "$kolk" top -d 10 "$server"
  prints '^malloc  *heap ' '^sessions  *pool '
  kill -9 "$server"
else
  skip "kolk run does not work here: $(cat err)"
fi

if /usr/bin/python3 -c 'import pyte' 2> err; then
  run 0 /usr/bin/python3 "$live" "$kolk" "$program"
  prints '^drawn, filtered, sorted, creeping, ended, held$'
else
  skip 'there is no python3-pyte'
fi
finish
