#!/bin/sh
# Includes each header alone and twice, as C11 and as C++17, hosted and freestanding, with the strictest warnings; then
# builds and runs a C++17 program that uses every header, and one for which all is compiled with KOLK_EXTERN.
# Usage: CC=... CXX=... headers.sh LIBRARY
set -eu
strict="-pedantic -Wall -Wextra -Wconversion -Wshadow -Wcast-align -Wundef -Werror -O2 -Iinclude"
program=$(mktemp)
trap 'rm -f "$program"' EXIT

for header in include/kolk/*.h; do
  for variant in "" -DKOLK_EXTERN -DKOLK_CHECKS=0 -ffreestanding; do
    for language in "$CC -std=c11 -x c" "$CXX -std=c++17 -x c++"; do
      echo "${header##*/} ${variant:-plain} ${language#* }"
      printf '#include <%s>\n' "${header#include/}" "${header#include/}" | $language $strict $variant -c -o "$program" -
    done
  done
done

echo "every_header.cc, linked with ${1##*/}"
$CXX -std=c++17 $strict tests/compile/every_header.cc "$1" -static-libstdc++ -o "$program"
"$program"

echo "hello.c and the library's files, all with -DKOLK_EXTERN"
$CC -std=c11 -DKOLK_EXTERN -Iinclude src/*.c examples/hello.c -o "$program" -pthread
"$program"
