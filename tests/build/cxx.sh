#!/bin/sh
# runs: long 64-bits
# Builds the tests in tests/cpp, the examples that are C++, and a module, without a warning, and runs them. The examples
# must print the contents of EXAMPLE.expected. The tests are built as C++17 without optimisation, and run under memcheck;
# and as C++20 with optimisation, without exceptions and run-time type information. Clang 19 builds all of them with
# libc++. KOLK_TEST_EFFORT=release: also the other combinations. KOLK_TEST_EFFORT=quick: neither memcheck, nor clang 19,
# nor a module, nor a count of instructions; as C++20 only the tests that have more there, with -O1 instead of -O2. CXXFLAGS has the sanitizers of the library.
# Usage: CXX=... [CXXFLAGS=...] cxx.sh LIBRARY
# promise: kolk.hpp "in C++17 and C++20 ... library and kolk.h"
set -eu
quick= release=
level=2
case ${KOLK_TEST_EFFORT:-} in quick) quick=quick level=1 ;; release) release=release ;; esac
program=$(mktemp)
trap 'rm -rf "$program" "$program".*' EXIT
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wextra-semi -Wzero-as-null-pointer-constant -Werror"
case ${CXX##*/} in
  *clang*) ;;
  *) warnings="$warnings -Wuseless-cast" ;;
esac

# build LIBRARY SOURCE OPTION...
build() {
  library=$1 source=$2
  shift 2
  # shellcheck disable=SC2086
  $CXX $warnings ${CXXFLAGS:-} "$@" -Iinclude "$source" "$library" -static-libstdc++ -o "$program" -pthread
}

for example in examples/cpp/*.cc; do
  for dialect in c++17 ${release:+c++20}; do
    build "$1" "$example" -std=$dialect -O0
    tests/build/example.sh "$program" "${example%.cc}.expected"
    echo "${example##*/} as $dialect: ok"
  done
done

plain="-fno-exceptions -fno-rtti"
for test in tests/cpp/*.cc; do
  for options in "-std=c++17 -O0" "-std=c++20 -O$level $plain" "-std=c++17 -O2 $plain" "-std=c++20 -O0"; do
    case $release$options in *"17 -O0" | *"20 -O$level"* | release*) ;; *) continue ;; esac
    case $quick$options in quick*c++20*) grep -q '__cplusplus > 201703L' "$test" || continue ;; esac
    # shellcheck disable=SC2086
    build "$1" "$test" $options
    run=${EMULATOR:-}
    case ${quick:-full}$options in full*"17 -O0") command -v valgrind > /dev/null && run="valgrind -q --leak-check=full --error-exitcode=9" ;; esac
    $run "$program"
    echo "${test##*/} with $options: ok${run:+, under ${run%% *}}"
  done
done

if [ -n "$quick" ]; then
  echo "libc++, a module and a count of instructions are left to more effort"
  exit 0
fi

# Clang 19 warns of nothing except what docs/cpp.md lists, and the programs run with its own C++ library.
newest=$(command -v clang++-19 || true)
if [ -z "$newest" ]; then
  echo "libc++ is not tried: this needs clang++-19"
else
  less=$(tr '\n' ' ' < docs/cpp.md | sed -n 's/.*-Weverything less \([^:]*\):.*/\1/p' | tr -d , | sed 's/-W/-Wno-/g')
  for source in tests/cpp/*.cc examples/cpp/*.cc; do
    everything="-Weverything -Werror ${less:?docs/cpp.md has no list} -Iinclude $source"
    # shellcheck disable=SC2086
    [ -z "$release" ] || "$newest" $everything -std=c++17 -fsyntax-only
    # shellcheck disable=SC2086
    "$newest" $everything -std=c++20 -stdlib=libc++ "$1" -o "$program" -pthread
    "$program" > /dev/null
  done
  echo "clang 19, with libstdc++ and with libc++: ok"
fi

# A module of C++20. The compilers leave its description in the current folder.
root=$PWD library=$(realpath "$1")
mkdir "$program.module"
(
  cd "$program.module"
  options="-std=c++20 -O0 $warnings ${CXXFLAGS:-} -pthread" sources="$root/tests/cpp/module"
  # shellcheck disable=SC2086
  case ${CXX##*/} in
    *clang*)
      $CXX $options -I"$root/include" --precompile "$sources/game.cppm" -o game.pcm
      $CXX $options -c game.pcm -o game.o
      options="$options -fprebuilt-module-path=."
      ;;
    *)
      options="$options -fmodules-ts"
      $CXX $options -I"$root/include" -x c++ -c "$sources/game.cppm" -o game.o
      ;;
  esac
  # shellcheck disable=SC2086
  $CXX $options -I"$root/include" "$sources/use.cc" game.o "$library" -static-libstdc++ -o "$program"
)
${EMULATOR:-} "$program"
echo "a module: ok"

# The classes cost what the macros of C cost: at most one instruction more per call, or per object of a walk of 64, which
# may take 8 more to begin. With a constructor and a destructor, an emplace and an erase may take 14 more together.
count() { valgrind --tool=callgrind --callgrind-out-file=/dev/null "$program.$1" "$2" "$3" 2>&1 | sed -n 's/.*Collected : //p'; }

if ! command -v valgrind > /dev/null; then
  echo "instructions are not counted: this needs valgrind"
  exit 0
fi
source=tests/cpp/cost/churn.cc
build "$1" "$source" -std=c++17 -O2
cp "$program" "$program.macros"
build "$1" "$source" -std=c++17 -O2 -DCLASSES
cp "$program" "$program.classes"
build "$1" "$source" -std=c++17 -O2 -DENDS
cp "$program" "$program.macros.ends"
build "$1" "$source" -std=c++17 -O2 -DENDS -DCLASSES
cp "$program" "$program.classes.ends"
for work in churn:20000:2 ends:20000:14 get:20000:1 walk:500:72; do
  name=${work%%:*} calls=${work##*:} rounds=${work%:*} suffix=
  rounds=${rounds#*:}
  [ "$name" != ends ] || suffix=.ends
  for way in macros classes; do
    eval "$way=$(($(count $way$suffix "$name" "$rounds") - $(count $way$suffix "$name" 0)))"
  done
  # shellcheck disable=SC2154
  echo "$name: $((macros / rounds)) instructions a round by the macros, $((classes / rounds)) by the classes"
  [ $((classes - macros)) -le $((rounds * calls + 100)) ] || { echo "That is too many."; exit 1; }
done
