#!/bin/sh
# Compiles the library without a C library, and an example that uses it. They may need memcpy, memmove, memset, memcmp
# and the compiler's own integer arithmetic (__udivdi3 and its like), and nothing else.
# Usage: CC=... freestanding.sh
set -eu
object=$(mktemp)
library=$(mktemp --suffix=.o)
trap 'rm -f "$object" "$library"' EXIT

compile() { # SOURCE...
  "$CC" -std=c11 -pedantic -Wall -Wextra -Werror -O2 -ffreestanding -fno-pie -fno-stack-protector -nostdlib -Iinclude \
    "$@" -r -o "$object"
  asked=$(nm -u "$object" | awk '{ print $2 }')
  echo "undefined:" $asked
  if echo "$asked" | grep -Evx 'mem(cpy|move|set|cmp)|__[a-z]+[sdt]i[0-9]|'; then
    echo "The lines above name what a freestanding core must not ask for."
    exit 1
  fi >&2
}

compile src/*/*.c
cp "$object" "$library"
compile "$library" examples/static_pool.c
if nm "$object" | grep -q ' T main$' || ! nm "$object" | grep -q ' T radio_receive$'; then
  echo "examples/static_pool.c was not compiled as for a device: with its functions, without main." >&2
  exit 1
fi
