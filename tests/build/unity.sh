#!/bin/sh
# Compiles all of the library as one file, which includes every other; then links an example with it and runs that. So every
# name that is static in a file of src/ has to be the only one of its kind. Then the same with what the files have for POSIX
# systems that are not Linux.
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
