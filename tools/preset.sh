#!/bin/sh
# Configures and builds a preset of CMakePresets.json, and runs its tests if it has any. All output goes to
# build/PRESET. On a terminal, the build shows one line. Elsewhere its output goes to build/PRESET/build.log, which is
# printed if the build fails. Only tests that have one of the words in KOLK_TESTS, and none of those in
# KOLK_TESTS_WITHOUT, are built and run: docs/tests.md. KOLK_TESTS=short leaves out the long tests, as make test does.
# KOLK_TARGETS names the targets to build, instead of all; kolk-tests are all test programs. At the end, prints what the tests have left out, and why.
# Usage: tools/preset.sh PRESET [CTEST OPTIONS]
set -eu
preset=$1
shift
folder=build/$preset
processors=$(getconf _NPROCESSORS_ONLN)

configure() {
  cmake --preset "$preset" ${KOLK_TESTS:+"-DKOLK_TESTS=$KOLK_TESTS"} \
    ${KOLK_TESTS_WITHOUT:+"-DKOLK_TESTS_WITHOUT=$KOLK_TESTS_WITHOUT"} "$@" > "$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log"
    exit 1
  }
}

# A folder of another user, say of root after sudo make install, would end in pages of cmake's own words.
for file in "$folder" "$folder/configure.log" "$folder/build.log" "$folder/CMakeCache.txt" "$folder/build.ninja"; do
  mkdir -p "$folder" 2> /dev/null || true
  if [ ! -d "$folder" ] || { [ -e "$file" ] && [ ! -w "$file" ]; }; then
    echo "tools/preset.sh: $file cannot be written: remove build/, or build in a copy of this folder that is yours" >&2
    exit 1
  fi
done
if command -v ninja > /dev/null; then configure; else configure -G "Unix Makefiles"; fi
grep 'left out' "$folder/configure.log" || true
if [ -t 1 ] && command -v ninja > /dev/null; then
  cmake --build --preset "$preset" ${KOLK_TARGETS:+--target $KOLK_TARGETS}
else
  echo "building $folder ..."
  cmake --build --preset "$preset" ${KOLK_TARGETS:+--target $KOLK_TARGETS} --parallel "$processors" \
    > "$folder/build.log" 2>&1 || { cat "$folder/build.log"; exit 1; }
fi
if [ -e "$folder/CTestTestfile.cmake" ]; then
  # one more than there are processors, because some tests wait for servers, deadlines and tools that hang
  result=0
  ctest --preset "$preset" --parallel "$((processors + 1))" "$@" || result=$?
  awk '/^[0-9]+\/[0-9]+ Testing: / { name = $3 } /^(skipped|left out)[:, ]/ { print name ": " $0 }' \
    "$folder/Testing/Temporary/LastTest.log" 2> /dev/null || true
  exit $result
fi
