#!/bin/sh
# Run by make test: runs all tests, built with gcc. KOLK_TEST_EFFORT=quick, the default, shortens long tests and leaves
# out the longest. With KOLK_TEST_EFFORT=full, they run completely.
# Usage: tools/test.sh
set -eu
export KOLK_TEST_EFFORT="${KOLK_TEST_EFFORT:-quick}"
if [ "$KOLK_TEST_EFFORT" = quick ]; then
  tools/preset.sh default --label-exclude '^long$'
  echo "KOLK_TEST_EFFORT=quick. Left to make matrix, or to KOLK_TEST_EFFORT=full: $(ctest --preset default --label-regex '^long$' --show-only |
    sed -n 's/.*Test *#[0-9]*: //p' | tr '\n' ' ')"
else
  tools/preset.sh default
fi
