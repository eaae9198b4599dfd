#!/bin/sh
# Builds the examples that are C++, without a warning, and runs them: they must print the contents of EXAMPLE.expected.
# Usage: CXX=... cxx.sh LIBRARY
set -eu
program=$(mktemp)
trap 'rm -f "$program"' EXIT
for example in examples/*.cc; do
  for dialect in c++17 c++20; do
    $CXX -std=$dialect -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Werror -Iinclude "$example" "$1" \
      -static-libstdc++ -o "$program" -pthread
    tests/build/example.sh "$program" "${example%.cc}.expected"
    echo "${example##*/} as $dialect: ok"
  done
done
