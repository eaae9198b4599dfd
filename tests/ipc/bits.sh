#!/bin/bash
# runs: long once
# A program with 32 bits and one with 64 use the same pool: each makes it once, each is killed once, and the other
# recovers what it owned. See bits.c.
# Usage: CC=... bits.sh
# promise: "A process with 32 bits may attach", "the same functions as below, with your type for void *"
set -euo pipefail
. tests/help/script.sh
[[ $(uname -m) == x86_64 ]] || skip "this machine has no 32-bit x86 beside it"
command -v i686-linux-gnu-gcc > /dev/null || skip "there is no i686-linux-gnu-gcc"
emulator=
tools/runs_i686.sh 2> /dev/null || emulator=$(command -v qemu-i386) || skip "nothing here runs 32-bit programs"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

tools/dist.py two "$folder" ipc > /dev/null # the pool alone, which compiles in a moment
mkdir "$folder/kolk"
echo '#include "../kolk.h"' > "$folder/kolk/kolk.h"
files="-std=gnu11 -O1 -I$folder tests/ipc/bits.c $folder/kolk.c -pthread -lm"
"${CC:-cc}" $files -o "$folder/bits64"
i686-linux-gnu-gcc $files -static -o "$folder/i686"
printf '#!/bin/sh\nexec %s %s/i686 "$@"\n' "$emulator" "$folder" > "$folder/bits32"
chmod +x "$folder/bits32"
for first in 64 32; do
  second=$((96 - first))
  echo "$first bits make the pool, and the other is killed"
  "$folder/bits$first" "$folder/bits$second" second
  echo "$first bits make the pool, and are killed"
  status=0
  said=$("$folder/bits$first" "$folder/bits$second" first | cat) || status=$?
  [[ $said == "$second bits have recovered the other" ]] || fail "$said ($status)"
done
