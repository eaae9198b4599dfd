#!/bin/sh
# Compiles the library without a C library. It may ask for memcpy, memmove, memset, memcmp and the compiler's own integer
# arithmetic (__udivdi3 and its like), and for nothing else.
# Usage: CC=... freestanding.sh
set -eu
object=$(mktemp)
trap 'rm -f "$object"' EXIT

"$CC" -std=c11 -O2 -ffreestanding -fno-pie -fno-stack-protector -nostdlib -Iinclude src/*.c -r -o "$object"
asked=$(nm -u "$object" | awk '{ print $2 }')
echo "undefined:" $asked
if echo "$asked" | grep -Evx 'mem(cpy|move|set|cmp)|__[a-z]+[sdt]i[0-9]|'; then
  echo "The lines above name what a freestanding core must not ask for." >&2
  exit 1
fi
