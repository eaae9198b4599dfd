#!/bin/bash
# Runs examples/cache_client with a Redis server of its own, on a port that is free, without persistence. Then once more, while
# the server breaks all connections several times, is killed and comes back: not more answers may be lost than connections.
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

rounds=2000
[[ ${KOLK_TEST_EFFORT:-} != quick ]] || rounds=500
ask flushall > "$folder/said"
timeout 300 ${EMULATOR:-} "$1" 127.0.0.1:$port $rounds > "$folder/actual" 2> "$folder/errors" &
client=$!
broken=0
for tenth in 1 2 3 4 5; do
  until [[ $(ask get visits) -ge $((16 * rounds * tenth / 10)) ]]; do kill -0 $client; done
  connections=$(ask client list type normal | wc -l)
  [[ $connections -le 5 ]] || { echo "$((connections - 1)) connections, 4 are the most"; exit 1; }
  broken=$((broken + $(ask client kill type normal)))
done
kill -0 $client
stop
sleep 0.1
start $port
wait $client || { cat "$folder/errors"; exit 1; }
cat "$folder/actual"
grep -qx "16 threads, 4 connections: $((48 * rounds)) answers, each to its own question" "$folder/actual"
read -r missed lost away < <(sed -n 's/ values missed, \| answers lost, \| times no server/ /gp' "$folder/actual")
echo "$broken connections were broken, and up to 4 by the server's death"
[[ $missed -le 16 ]]
[[ $lost -le $((broken + 4)) ]]
[[ $away -ge 1 ]]
