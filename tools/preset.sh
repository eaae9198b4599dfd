#!/bin/sh
# Configures and builds a preset of CMakePresets.json, and runs its tests if it has any. All of it lies in build/PRESET.
# With KOLK_TEST_EFFORT=quick long tests do a part of their work, and the longest are left out.
# Usage: tools/preset.sh PRESET [CTEST OPTIONS]
set -eu
preset=$1
shift
mkdir -p "build/$preset"
cmake --preset "$preset" > "build/$preset/configure.log" 2>&1 || { cat "build/$preset/configure.log"; exit 1; }
grep 'left out' "build/$preset/configure.log" || true
cmake --build --preset "$preset"
if [ -e "build/$preset/CTestTestfile.cmake" ]; then
  if [ "${KOLK_TEST_EFFORT:-full}" = quick ]; then
    long=$(ctest --preset "$preset" --label-regex '^long$' --show-only | sed -n 's/.*Test *#[0-9]*: //p' | tr '\n' ' ')
    echo "KOLK_TEST_EFFORT=quick. Left to make matrix: ${long:-nothing}"
    set -- --label-exclude '^long$' "$@"
  fi
  ctest --preset "$preset" --parallel "$(nproc)" "$@"
fi
