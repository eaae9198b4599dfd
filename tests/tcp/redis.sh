#!/bin/bash
# Runs examples/cache_client with a separate Redis server, on a free port, without persistence. Then again, while the
# server breaks all connections several times, is killed and restarted: at most one answer may be lost for each broken
# connection, and two for each connection that the server's death breaks.
# Usage: redis.sh PROGRAM EXPECTED
set -euo pipefail
for tool in redis-server redis-cli; do
  command -v $tool > /dev/null || { echo "skipped: $tool is not installed"; exit 77; }
done
folder=$(mktemp -d)
server=
trap 'stop; rm -rf "$folder"' EXIT

start() { # PORT: fails if the port is not free
  redis-server --bind 127.0.0.1 --port "$1" --save "" --appendonly no --dir "$folder" > "$folder/log" &
  server=$!
  until grep -q "Ready to accept connections" "$folder/log"; do
    kill -0 $server 2> /dev/null || { server=; return 1; }
    sleep 0.02
  done
}

stop() {
  { [[ -z $server ]] || kill -9 "$server" && wait "$server"; } 2> /dev/null || true
  server=
}

ask() { redis-cli -p "$port" "$@"; }

port=$((20000 + RANDOM % 12000)) # below those that clients get
for tries in {1..20}; do
  start $port && break
  [[ $tries -lt 20 ]] || { cat "$folder/log"; exit 1; }
  port=$((20000 + RANDOM % 12000))
done

# ---- all is well ----

timeout 300 ${EMULATOR:-} "$1" 127.0.0.1:$port > "$folder/actual"
diff -u "$2" "$folder/actual"

# ---- trouble ----

alive() { kill -0 $client 2> /dev/null; }

# The program must run during all the trouble. Fails if the program ends before that.
trouble() { # ROUNDS
  timeout 300 ${EMULATOR:-} "$program" 127.0.0.1:$port "$1" > "$folder/actual" 2> "$folder/errors" &
  client=$!
  broken=0
  for tenth in 1 2 3 4 5; do
    until [[ $(ask get visits) -ge $((16 * $1 * tenth / 10)) ]]; do alive || return 1; done
    connections=9
    for tries in {1..1000}; do # a closed one may stay listed until the server notices
      connections=$(($(ask client list type normal | wc -l) - 1))
      [[ $connections -gt 4 ]] || break
    done
    [[ $connections -le 4 ]] || { echo "$connections connections, 4 are the most"; exit 1; }
    broken=$((broken + $(ask client kill type normal)))
  done
  stop
  alive # as it cannot end without a server
}

program=$1
rounds=2000
[[ ${KOLK_TEST_EFFORT:-} != quick ]] || rounds=500
ask flushall > "$folder/said"
until trouble $rounds; do # it was faster than the trouble
  wait $client || { cat "$folder/errors"; exit 1; }
  [[ -n $server ]] || start $port
  ask flushall > "$folder/said"
  rounds=$((2 * rounds))
  [[ $rounds -lt 1000000 ]] || { echo "it is always done before the trouble is over"; exit 1; }
done
start $port
wait $client || { cat "$folder/errors"; exit 1; }
cat "$folder/actual"
grep -qx "16 threads, 4 connections: $((48 * rounds)) answers, each to its own question" "$folder/actual"
read -r missed lost away < <(sed -n 's/ values missed, \| answers lost, \| times no server/ /gp' "$folder/actual")
read -r visits < <(sed -n 's/^visits: //p' "$folder/actual")
# Its death costs each of the 4 connections two answers at most: the system closes the connections of a killed process
# before its listening socket, so a client may connect once more in vain.
echo "$broken connections were broken, and up to 8 by the server's death; $away borrows met no server"
[[ $missed -le 16 ]]
[[ $lost -le $((broken + 8)) ]]
[[ $visits -lt $((16 * rounds)) ]] # the second server counts only later ones
