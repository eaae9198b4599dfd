#!/bin/bash
# runs: longest once
# kolk on the web: the two files of make dist and examples, compiled by emscripten, with threads and without. Node.js runs
# them, and they must print what they print elsewhere. A pool that is trimmed takes no more memory.
# Usage: examples.sh
# promise: README.md "It runs on Linux, Windows ... and [devices]"
set -euo pipefail
. tests/help/script.sh
command -v emcc > /dev/null || skip "there is no emscripten"
command -v node > /dev/null || skip "there is no node"
export NODE_PATH=${NODE_PATH:+$NODE_PATH:}/usr/share/nodejs # where Debian's emscripten has its modules, for other nodes
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
tools/dist.py two "$folder" > /dev/null
mkdir "$folder/kolk"
cp "$folder/kolk.h" "$folder/kolk" # most examples include <kolk/kolk.h>

emcc -std=c11 -Wall -Wextra -Werror -O0 -c "$folder/kolk.c" -o "$folder/plain.o" &
emcc -std=c11 -Wall -Wextra -Werror -O0 -pthread -c "$folder/kolk.c" -o "$folder/threads.o"
wait $!

# compare LIBRARY OPTIONS EXAMPLE...
compare() {
  for name in "${@:3}"; do
    emcc -O0 -sASSERTIONS=0 -I"$folder" $2 "examples/$name.c" "$folder/$1.o" -lm -sSINGLE_FILE -o "$folder/$name.js"
    timeout 120 node "$folder/$name.js" > "$folder/$name.out"
    diff -u "examples/$name.expected" "$folder/$name.out"
    echo "ok: $name, $1"
  done
}

compare plain -sALLOW_MEMORY_GROWTH hello bullets bitpool gta packed savegame > "$folder/said" 2>&1 &
# Each thread is a worker. A browser does not let its own thread wait, so main runs in a worker too.
compare threads "-pthread -sPROXY_TO_PTHREAD -sEXIT_RUNTIME -sINITIAL_MEMORY=64MB" desks handover jobs workers
emcc -O0 -I"$folder" tests/web/memory.c "$folder/plain.o" -sSINGLE_FILE -sALLOW_MEMORY_GROWTH -o "$folder/memory.js" # with assertions
said=$(timeout 120 node "$folder/memory.js" 2>&1)
[[ -z $said ]] || { echo "memory: $said"; exit 1; }
wait $! || { cat "$folder/said"; exit 1; }
cat "$folder/said"
