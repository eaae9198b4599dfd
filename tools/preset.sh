#!/bin/sh
# Configures and builds a preset of CMakePresets.json, and runs its tests if it has any. All of it lies in build/PRESET. Of the
# build a terminal shows one line; elsewhere it goes to build/PRESET/build.log, which is shown if it fails. KOLK_TESTS_WITHOUT is
# a pattern: the tests whose names match are neither built nor run.
# Usage: tools/preset.sh PRESET [CTEST OPTIONS]
set -eu
preset=$1
shift
folder=build/$preset
processors=$(getconf _NPROCESSORS_ONLN)

configure() {
  cmake --preset "$preset" ${KOLK_TESTS_WITHOUT:+"-DKOLK_TESTS_WITHOUT=$KOLK_TESTS_WITHOUT"} "$@" > "$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log"
    exit 1
  }
}

mkdir -p "$folder"
if command -v ninja > /dev/null; then configure; else configure -G "Unix Makefiles"; fi
grep 'left out' "$folder/configure.log" || true
if [ -t 1 ] && command -v ninja > /dev/null; then
  cmake --build --preset "$preset"
else
  echo "building $folder ..."
  cmake --build --preset "$preset" --parallel "$processors" > "$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
fi
if [ -e "$folder/CTestTestfile.cmake" ]; then
  # one more than there are processors: some tests wait, for servers, deadlines and tools that hang
  ctest --preset "$preset" --parallel "$((processors + 1))" "$@"
fi
