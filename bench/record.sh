#!/bin/bash
# bench/record.sh KOLK [ROUNDS]: measures the cost of recording with kolk record: wall time, and processor time of all
# processes together, as multiples of those of the program alone. Prints medians of rounds that take turns. PROGRAMS may
# name some of: lua python threads.
set -euo pipefail
export LC_ALL=C
kolk=$(realpath "${1:?usage: bench/record.sh KOLK [ROUNDS]}")
rounds=${2:-7}
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk-record.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"

cat > lua.lua << 'END'
local t = {} for i = 1, 1500000 do t[i % 1000] = ("x"):rep(i % 300) .. i end
local n = 0 for k, v in pairs(t) do n = n + #v end print(n)
END
cat > python.py << 'END'
import json
tree = {str(i): [{"a": j, "b": "x" * (j % 900)} for j in range(i % 20)] for i in range(2000)}
for _ in range(20): tree = json.loads(json.dumps(tree))
END
cat > threads.c << 'END'
#include <pthread.h>
#include <stdlib.h>
static void *work(void *blocks) {
    void *own[100] = {0};
    for (unsigned i = 0; i < 1500000; i++) free(own[i * 7919 % 100]), own[i * 7919 % 100] = malloc(i % 500);
    for (int i = 0; i < 100; i++) free(own[i]);
    return blocks;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}
END
${CC:-cc} -O2 -fno-builtin -pthread threads.c -o threads
python=$(python3 -c 'import sys; print(sys.executable)') # the first one on the PATH may be a wrapper script

run() { # PROGRAM
  case $1 in
    lua) echo lua5.4 lua.lua ;;
    python) echo "$python" python.py ;;
    threads) echo ./threads ;;
  esac
}

# timed WAY PROGRAM: adds its wall time and processor time to the file WAY.PROGRAM.
timed() {
  local command
  command=$(run "$2")
  [[ $1 == plain ]] || command="$kolk record -q -o k.zst -- $command"
  TIMEFORMAT='%R %U %S'
  { time $command > out 2> err; } 2> took
  read -r wall user system < took
  awk "BEGIN { print $wall, $user + $system }" >> "$1.$2"
  [[ $1 == plain ]] || stat -c %s k.zst > "$1.$2.size"
}

median() { sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

ways="plain kolk"
programs=${PROGRAMS:-lua python threads}
for ((round = 0; round < rounds; round++)); do
  for program in $programs; do for way in $ways; do timed "$way" "$program"; done; done
done
echo "program,way,wall s,cpu s,wall ratio,cpu ratio,trace bytes"
for program in $programs; do
  for way in $ways; do
    wall=$(cut -d ' ' -f 1 "$way.$program" | median)
    cpu=$(cut -d ' ' -f 2 "$way.$program" | median)
    # Each ratio is taken within a round, so that a slow phase of the machine affects both sides.
    wall_ratio=$(paste -d ' ' "$way.$program" "plain.$program" | awk '{ print $1 / $3 }' | median)
    cpu_ratio=$(paste -d ' ' "$way.$program" "plain.$program" | awk '{ print $2 / $4 }' | median)
    size=$(cat "$way.$program.size" 2> /dev/null || true)
    printf '%s,%s,%.2f,%.2f,%.2f,%.2f,%s\n' "$program" "$way" "$wall" "$cpu" "$wall_ratio" "$cpu_ratio" "$size"
  done
done
