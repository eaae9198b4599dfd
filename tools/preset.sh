#!/bin/sh
# Configures and builds a preset of CMakePresets.json, and runs its tests if it has any. All of it lies in build/PRESET.
# Usage: tools/preset.sh PRESET [CTEST OPTIONS]
set -eu
preset=$1
shift
mkdir -p "build/$preset"
cmake --preset "$preset" > "build/$preset/configure.log" 2>&1 || { cat "build/$preset/configure.log"; exit 1; }
grep 'left out' "build/$preset/configure.log" || true
cmake --build --preset "$preset"
if [ -e "build/$preset/CTestTestfile.cmake" ]; then
  # one more than there are processors: some tests wait, for servers, deadlines and tools that hang
  ctest --preset "$preset" --parallel "$(($(nproc) + 1))" "$@"
fi
