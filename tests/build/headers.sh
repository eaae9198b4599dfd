#!/bin/sh
# runs: long sample:clang
# Includes each header alone and twice, as C11, C99 and C++17, hosted and freestanding, with the strictest warnings, also
# those of projects in the style of C90; then builds and runs programs of C++17, C99 and gnu89 that use the library, a
# shared library that contains it, and a program compiled entirely with KOLK_EXTERN. KOLK_TEST_EFFORT=quick
# tries all of this with kolk.h, which includes the other headers, and with adapters. The other headers are then C11 only,
# hosted and freestanding, because neither the language nor KOLK_EXTERN changes what a header includes, and kolk.hpp has
# its variants as C++20 only. The program with KOLK_EXTERN is left out as well, because the source, not the compiler, decides which file emits a function.
# Usage: CC=... CXX=... headers.sh LIBRARY
# promise: base.h "valid C++17 and freestanding C, where kolk"; kolk_gta.hpp "C++11 or later"; README.md "Programs may be C99 or later"
set -eu
strict="-pedantic -Wall -Wextra -Wconversion -Wshadow -Wcast-align -Wundef -Werror -O2 -Iinclude"
quick=
[ "${KOLK_TEST_EFFORT:-}" != quick ] || quick=quick
old="-Wdeclaration-after-statement -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wnested-externs"
cxx_strict="-Wold-style-cast -Wextra-semi -Wzero-as-null-pointer-constant"
case ${CXX##*/} in # on 32 bits, casts between size_t and uint32_t are useless
  *clang* | i686-*) ;;
  *) cxx_strict="$cxx_strict -Wuseless-cast" ;;
esac
program=$(mktemp)
trap 'rm -rf "$program" "$program".*' EXIT

for header in include/kolk.h include/kolk/*.h adapters/*/kolk/*.h preload/record/kolk_record.h; do
  folder=-I${header%/kolk*}
  [ "$folder" != -Iinclude/kolk ] || folder=-Iinclude
  for variant in "" -DKOLK_EXTERN -ffreestanding; do
    for language in "$CC -std=c11 $old -x c" "$CC -std=c99 $old -x c" "$CXX -std=c++17 $cxx_strict -x c++"; do
      case $quick$header$variant$language in quickinclude/kolk/*-DKOLK_* | quickinclude/kolk/*-std=c[!1]*) continue ;; esac
      name=${header#"${folder#-I}/"}
      echo "$name ${variant:-plain} ${language#* }"
      printf '#include <%s>\n' "$name" "$name" | $language $strict $folder $variant -c -o "$program" -
    done
  done
done

case $($CC -dumpmachine) in
  x86_64* | i?86*)
    echo "the assembly of a free, in Intel's syntax"
    $CC -std=c11 -O2 -Iinclude -masm=intel -c tests/packaging/hello.c -o "$program"
    echo "a program of gnu89, for a processor without SSE2"
    $CC -std=gnu89 -mno-sse2 -Iinclude -fsyntax-only tests/compile/gnu89.c
    ;;
esac

echo "kolk_gta.hpp as c++11"
for variant in "" -DKOLK_EXTERN "-fno-exceptions -fno-rtti"; do
  printf '#include <%s>\n' kolk_gta.hpp kolk/kolk_gta.hpp | sed '$a template class kolk::gta::pool<char, int>;' |
    $CXX -std=c++11 $strict $cxx_strict $variant -x c++ -fsyntax-only -
done
for dialect in c++17 c++20; do
  for variant in "" -DKOLK_EXTERN "-fno-exceptions -fno-rtti"; do
    case $quick$dialect$variant in quickc++17-*) continue ;; esac
    echo "kolk.hpp ${variant:-plain} as $dialect"
    printf '#include <kolk.hpp>\n#include <kolk/kolk.hpp>\n' | $CXX -std=$dialect $strict $cxx_strict $variant -x c++ -fsyntax-only -
  done
done
echo "every_header.cc as c++20"
$CXX -std=c++20 $strict $cxx_strict -fsyntax-only tests/compile/every_header.cc
echo "every_header.cc as c++17, linked with ${1##*/}"
$CXX -std=c++17 $strict $cxx_strict tests/compile/every_header.cc "$1" -static-libstdc++ -o "$program"
"$program"

echo "a program of C99, linked with ${1##*/}"
$CC -std=gnu99 $strict tests/packaging/hello.c "$1" -o "$program" -pthread
"$program"
echo "two files of gnu89 that include all, linked with ${1##*/}"
for level in 0 2; do
  $CC -std=gnu89 -O$level -Duse=use$level -Iinclude -c tests/compile/gnu89.c -o "$program.$level.o"
done
echo 'int use0(void), use2(void); int main(void) { return use0() + use2(); }' > "$program.c"
$CC "$program.c" "$program.0.o" "$program.2.o" "$1" -o "$program" -pthread
"$program"

echo "${1##*/} within a shared library"
$CC -shared -Wl,-z,text -Wl,--whole-archive "$1" -Wl,--no-whole-archive -o "$program.so" -pthread

if $CC -std=gnu89 -Iinclude -c -o "$program" src/base/base.c 2> "$program.said" || ! grep -q 'kolk is C: compile its own files as C' "$program.said"; then
  cat "$program.said" >&2
  echo "The library's files, compiled as gnu89, do not say that they are C99." >&2
  exit 1
fi

if [ -n "$quick" ]; then
  echo "hello.c and the library's files, all with -DKOLK_EXTERN: left to more effort"
  exit 0
fi
echo "hello.c and the library's files, all with -DKOLK_EXTERN"
$CC -std=c11 -DKOLK_EXTERN -Iinclude src/*/*.c examples/hello.c -o "$program" -pthread
"$program"
