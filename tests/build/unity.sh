#!/bin/sh
# runs: longest once
# Compiles the whole library as one file that includes all others, then links an example with it and runs the example.
# So every static name in a file of src/ must be the only one of its kind. Then does the same with the code for POSIX
# systems other than Linux.
# Usage: CC=... unity.sh
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

{
  echo '#include "src/os/system.h"' # comes before the first header of the C library
  printf '#include "%s"\n' src/*/*.c
} > "$folder/kolk.c"
for system in "" -U__linux__; do
  $CC -std=c11 -O0 -Wall -Wextra -Werror $system -Iinclude -I. -c "$folder/kolk.c" -o "$folder/kolk.o"
  $CC -std=c11 -Iinclude examples/hello.c "$folder/kolk.o" -o "$folder/program" -pthread
  "$folder/program"
done
