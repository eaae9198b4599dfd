#!/bin/sh
# Runs the tests with gcc's coverage and prints which lines and branches of the library they miss. Fails under 100 % of
# the lines or 95 % of the branches; what no test can reach carries a GCOVR_EXCL mark and the reason in the source.
# Usage: tools/coverage.sh
set -eu
[ ! -d build/coverage ] || find build/coverage -name '*.gcda' -delete
tools/preset.sh coverage
# Without the library that has other functions of the same names, which gcovr can't tell apart.
gcovr --root . --filter src/ --filter include/ --exclude-directories '.*KOLK_NO_FUTEX.*' --json build/coverage/all.json build/coverage
gcovr --root . --add-tracefile build/coverage/all.json --html-details build/coverage/index.html
gcovr --root . --add-tracefile build/coverage/all.json --branches
gcovr --root . --add-tracefile build/coverage/all.json --print-summary --fail-under-line 100 --fail-under-branch 95
echo "Every line, coloured: build/coverage/index.html"
