#!/bin/sh
# runs: long sample:clang
# Compiles the library without a C library, and examples that use it. They may need memcpy, memmove, memset, memcmp
# and the compiler's own integer arithmetic (__udivdi3 and its like), and nothing else.
# Usage: CC=... freestanding.sh
# promise: pool.h "the caller's memory, or pages of the system"; budget.h "no budgets: `.budget` has no effect"
set -eu
object=$(mktemp)
library=$(mktemp --suffix=.o)
source=$(mktemp --suffix=.c)
trap 'rm -f "$object" "$library" "$source"' EXIT

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

# As one file, which takes half the time; base.c, which emits inline functions, is separate.
printf '#include "%s"\n' src/*/*.c | sed '/\/base\.c"$/d' > "$source"
compile -I. "$source" src/base/base.c
cp "$object" "$library"
check_example() { # EXAMPLE FUNCTION
  compile "$library" "examples/$1"
  if nm "$object" | grep -q ' T main$' || ! nm "$object" | grep -q " T $2$"; then
    echo "examples/$1 was not compiled as for a device: with its functions, without main." >&2
    exit 1
  fi
}

check_example static_pool.c radio_receive
check_example static_heap.c gateway_receive
