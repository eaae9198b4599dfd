#!/bin/sh
# Run by make test: runs all tests, built with gcc. KOLK_TEST_EFFORT=quick, the default, shortens long tests and leaves
# out the longest, which it names. With KOLK_TEST_EFFORT=full, they run completely.
# Usage: tools/test.sh
set -eu
export KOLK_TEST_EFFORT="${KOLK_TEST_EFFORT:-quick}"
[ "$KOLK_TEST_EFFORT" != quick ] || export KOLK_TESTS=short
tools/preset.sh default
sed -n 's/^-- KOLK_TEST_EFFORT/KOLK_TEST_EFFORT/p' build/default/configure.log
