#!/bin/sh
# Runs the tests with gcc's coverage and prints which lines and branches of the library they miss. Fails if they reach
# less than 100 % of the lines or 95 % of the branches. Code that no test can reach has a GCOVR_EXCL mark and the reason
# in the source.
# Usage: tools/coverage.sh
set -eu
[ ! -d build/coverage ] || find build/coverage -name '*.gcda' -delete
tools/preset.sh coverage
# Excludes a file that has functions with the same names as others, because gcovr cannot tell these apart. Libraries
# with other definitions are compiled as one file, for which gcc makes lines that exist nowhere else. No test calls the
# byte map there.
gcovr --root . --filter src/ --filter include/ --exclude src/bytemap/ --exclude-directories '.*portable.*' \
  --json build/coverage/most.json build/coverage
gcovr --root . --filter src/bytemap/ --exclude-directories '.*kolk_with_.*' --json build/coverage/bytemap.json build/coverage
all='--root . --add-tracefile build/coverage/most.json --add-tracefile build/coverage/bytemap.json'
# shellcheck disable=SC2086 # they are words
gcovr $all --html-details build/coverage/index.html
gcovr $all --branches
gcovr $all --print-summary --fail-under-line 100 --fail-under-branch 95
echo "Every line, coloured: build/coverage/index.html"
