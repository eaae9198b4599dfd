#!/bin/sh
# runs: long once
# A library that contains kolk is unloaded after its pools have ended, while threads that have used them live on. When
# such a thread ends, it must not call unloaded code. The process must not lose addresses at each reload.
# Usage: CC=... unload.sh
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

{
  echo '#include "src/os/system.h"' # comes before the first header of the C library
  printf '#include "%s"\n' src/*/*.c
} > "$folder/kolk.c"
$CC -std=c11 -O0 -fPIC -fvisibility=hidden -Iinclude -I. -c "$folder/kolk.c" -o "$folder/kolk.o"
$CC -std=c11 -O0 -fPIC -shared -Wall -Wextra -Werror -Iinclude "$folder/kolk.o" tests/build/unload_inside.c -o "$folder/inside.so" -pthread
$CC -std=c11 -O0 -Wall -Wextra -Werror tests/build/unload.c -o "$folder/program" -pthread -ldl
"$folder/program" "$folder/inside.so"
echo "threads outlive a library that they have used"
