#!/bin/bash
# The two files, as a program outside has them, with nothing of kolk beside them. They compile in silence, hosted and not; examples
# run with them, and a program of C++. An archive of the sources makes the same two files and the same archive again. With
# KOLK_TEST_EFFORT=full they are read in all dialects by both compilers, and by those for other machines that are here.
# Usage: CC=... CXX=... two_files.sh
set -euo pipefail
top=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
  echo "$*" >&2
  exit 1
}

quiet() { # COMMAND...: ends well, and says nothing
  local said
  said=$("$@" 2>&1) || fail "$*: $said"
  [[ -z $said ]] || fail "$* is not silent: $said"
}

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Wold-style-definition -Wundef)
cxx_warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wextra-semi -Wzero-as-null-pointer-constant)

tools/dist.py all "$folder/dist"
cp "$folder/dist/kolk.h" "$folder/dist/kolk.c" examples/hello.c examples/jobs.c "$folder"
cd "$folder"

"$CC" -std=c11 -O0 "${warnings[@]}" -Werror -c kolk.c
for program in hello jobs; do
  quiet "$CC" -std=c11 -O2 "${warnings[@]}" $program.c kolk.o -o $program -pthread
  ${EMULATOR:-} ./$program | diff -u "$top/examples/$program.expected" -
done
echo "hello.c and jobs.c run with the two files"

for option in -std=gnu17 "-std=c11 -ffreestanding"; do
  quiet "$CC" $option "${warnings[@]}" -fsyntax-only kolk.c
done
sed 's|<kolk/.*>|"kolk.h"|' "$top/tests/compile/every_header.cc" > every_header.cc
quiet "$CXX" -std=c++17 "${cxx_warnings[@]}" every_header.cc kolk.o -static-libstdc++ -o every_header -pthread
${EMULATOR:-} ./every_header
echo "a program of C++ runs with them"

if [[ $("$CC" -std=gnu99 -fsyntax-only kolk.c 2>&1) != *"kolk is C11: compile its own files as C"* ]]; then
  fail "kolk.c, compiled as C99, does not say that it is C11."
fi
if [[ $("$CC" -U__GNUC__ -U__clang__ -fsyntax-only kolk.c 2>&1) != *"kolk needs gcc or clang"* ]]; then
  fail "kolk.h, read by another compiler, does not say that it needs gcc or clang."
fi

if [[ ${KOLK_TEST_EFFORT:-} == full ]]; then
  for other in gcc clang i686-linux-gnu-gcc s390x-linux-gnu-gcc x86_64-w64-mingw32-gcc i686-w64-mingw32-gcc; do
    command -v $other > /dev/null || continue
    options=("-std=gnu11 -ffreestanding" "-std=c11 -D_GNU_SOURCE -DKOLK_EXTERN -DKOLK_CHECKS=0")
    [[ $other == *-* ]] || options+=(-std={c11,gnu11,c17,gnu17,c2x})
    for option in "${options[@]}"; do
      quiet $other $option "${warnings[@]}" -fsyntax-only kolk.c
    done
    echo "kolk.c is silent: $other"
  done
  for other in "g++ -Wuseless-cast" clang++; do
    command -v ${other%% *} > /dev/null || continue
    for dialect in c++17 c++20; do quiet $other -std=$dialect "${cxx_warnings[@]}" -fsyntax-only every_header.cc; done
    echo "kolk.h is silent: $other"
  done
  if command -v emcc > /dev/null; then # with no option for kolk's sake
    emcc -O1 hello.c kolk.c -o hello.js
    node --no-experimental-fetch hello.js | diff -u "$top/examples/hello.expected" -
    echo "hello.c runs on the web"
  fi
fi

# The archive, unpacked where there is no git, makes all of it anew.
cd dist
sha256sum --quiet --check SHA256SUMS
tar xf kolk-*.tar.gz
kolk-*/tools/dist.py all again
diff SHA256SUMS again/SHA256SUMS
echo "the archive makes the same files"
