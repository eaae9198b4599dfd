#!/bin/bash
# runs: longest once
# Runs the code for Microsoft's compiler, which is not here: the compiler of this build compiles kolk.c as if it were that
# one, with intrinsics made of its builtins (tests/build/intrin.h). Examples and tests with threads are linked with it.
# Usage: CC=... msvc.sh
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

. tests/help/script.sh

case $("$CC" -dumpmachine) in
  x86_64*) processor=-D_M_X64=100 with_heaps=level ;;
  i?86*) processor=-D_M_IX86=600 with_heaps= ;;
  *) echo "skipped: intrin.h is for x86"; exit 77 ;;
esac
tools/dist.py two "$folder"
imitation=(-std=gnu11 -O0 -U__clang__ -D_MSC_VER=1930 $processor -fno-strict-aliasing -isystem tests/build -w)
"$CC" "${imitation[@]}" -DKOLK_ASSERTIONS=1 -Iinclude -c "$folder/kolk.c" -o "$folder/kolk.o"
for example in hello packed gta jobs blocking_queue routes sieves $with_heaps; do
  "$CC" "${imitation[@]}" -Iinclude examples/$example.c "$folder/kolk.o" -o "$folder/example" -pthread -lm
  ${EMULATOR:-} "$folder/example" | diff -u examples/$example.expected -
done
echo "examples print the same"
for test in queue/test_queue queue/test_queue_threads shared/test_shared_threads shared/test_shared_wait_threads; do
  "$CC" -std=gnu11 -DKOLK_ASSERTIONS=1 -Iinclude -Isrc tests/$test.c "$folder/kolk.o" -o "$folder/test" -pthread -lcmocka -lm
  KOLK_TEST_EFFORT=quick ${EMULATOR:-} "$folder/test" > "$folder/said" 2>&1 || fail "$test: $(tail -20 "$folder/said")"
done
echo "tests with threads pass"
