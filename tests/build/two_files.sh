#!/bin/bash
# runs: long once
# Tests the two files as users have them, without the rest of kolk. They compile without warnings, as C99 and later,
# hosted and freestanding; examples and a program in C++ run with them. Pairs with only some of the members compile without warnings
# too, and link with an example of each member. An archive of the sources produces the same two files and the same archive
# again. With more than KOLK_TEST_EFFORT=quick they are compiled by both compilers and by the installed cross compilers;
# with KOLK_TEST_EFFORT=release in all dialects.
# Usage: CC=... CXX=... two_files.sh
# promise: README.md "build/dist has kolk.h", "two files are the whole library"; base.h "The same
# holds for kolk.c"; README.md "and compile as C99 or later"
set -euo pipefail
top=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

. tests/help/script.sh

warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wcast-qual -Wold-style-definition -Wundef)
old_warnings=(-Wdeclaration-after-statement -Wredundant-decls -Wstrict-prototypes -Wmissing-prototypes -Wnested-externs)
cxx_warnings=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wold-style-cast -Wextra-semi -Wzero-as-null-pointer-constant)

tools/dist.py all "$folder/dist"
cp "$folder/dist/kolk.h" "$folder/dist/kolk.c" examples/hello.c examples/jobs.c "$folder"
cd "$folder"

"$CC" -std=gnu99 -O0 "${warnings[@]}" "${old_warnings[@]}" -Werror -c kolk.c
for program in hello jobs; do
  quiet "$CC" -std=c11 -O2 "${warnings[@]}" $program.c kolk.o -o $program -pthread
  ${EMULATOR:-} ./$program | diff -u "$top/examples/$program.expected" -
done
echo "hello.c and jobs.c run with the two files"

options=(-std=c99 "-std=c99 -ffreestanding")
[[ ${KOLK_TEST_EFFORT:-} == quick ]] || options+=(-std=c11 -std=gnu17)
for option in "${options[@]}"; do
  quiet "$CC" $option "${warnings[@]}" -fsyntax-only kolk.c
done
sed 's|<kolk/.*>|"kolk.h"|' "$top/tests/compile/every_header.cc" > every_header.cc
quiet "$CXX" -std=c++17 "${cxx_warnings[@]}" every_header.cc kolk.o -static-libstdc++ -o every_header -pthread
${EMULATOR:-} ./every_header
for program in enemies gta; do
  quiet "$CXX" -std=c++17 "${cxx_warnings[@]}" -Idist "$top/examples/cpp/$program.cc" kolk.o -static-libstdc++ -o $program -pthread
  ${EMULATOR:-} ./$program | diff -u "$top/examples/cpp/$program.expected" -
done
[[ ${KOLK_TEST_EFFORT:-} == quick ]] || # all of them, as examples/README.md says
  quiet "$CXX" -std=c++17 "${cxx_warnings[@]}" -Idist -fsyntax-only "$top"/examples/cpp/*.cc
echo "programs of C++ run with them"

if [[ $("$CC" -std=gnu89 -fsyntax-only kolk.c 2>&1) != *"kolk is C: compile its own files as C (not C++), -std=c99 or later"* ]]; then
  fail "kolk.c, compiled as gnu89, does not say that it is C99."
fi
if [[ $("$CC" -U__GNUC__ -U__clang__ -fsyntax-only kolk.c 2>&1) != *"kolk needs gcc, clang or Microsoft's compiler"* ]]; then
  fail "kolk.h, read by another compiler, does not say which compilers it needs."
fi

in_kolk_c=$(grep -cE '^/\* ==== src/.*\.c =' kolk.c)
(( in_kolk_c == $(printf '%s\n' "$top"/src/*/*.c | wc -l) )) || fail "kolk.c does not have all sources, but $in_kolk_c."

pair() { # EXAMPLE MEMBER...: makes kolk.h and kolk.c of these members in EXAMPLE_pair, and links the example with them
  local folder=$1_pair example=$top/examples/$1
  if [[ -d $example ]]; then example+=/main; fi
  "$top/tools/dist.py" two "$folder" "${@:2}"
  quiet "$CC" -std=c11 -O0 "${warnings[@]}" -I"$folder" "$example.c" "$folder/kolk.c" -o "$folder/$1" -pthread
  quiet "$CXX" -std=c++17 "${cxx_warnings[@]}" -fsyntax-only -x c++ -include "$folder/kolk.h" /dev/null
}

if [[ ${KOLK_TEST_EFFORT:-} != quick ]]; then # the last two pairs have more than these
  pair hello pool
  pair packed slotmap
fi
pair gta bytemap
quiet "$CXX" -std=c++11 "${cxx_warnings[@]}" -fsyntax-only -x c++ -include gta_pair/kolk_gta.hpp /dev/null
pair blocking_queue queue
pair routes shared
pair processes ipc
pair sieves resource
pair level heap
pair bullets pool watch
KOLK_STATS=1 ${EMULATOR:-} bullets_pair/bullets 2>&1 | grep '^bullets  *pool ' > /dev/null || fail "kolk.c of pool and watch writes no statistics."
pair shapes slotmap pool
${EMULATOR:-} shapes_pair/shapes | diff -u "$top/examples/shapes.expected" -
! grep -E '/\* ==== src/watch/' shapes_pair/kolk.c || fail "kolk.c of pool and slotmap has the diagnostics."
cp -r dist before
"$top/tools/dist.py" two before pool
for name in kolk.hpp kolk_gta.hpp; do
  [[ ! -e before/$name ]] || fail "A $name, which needs other members, stays beside the kolk.h of some."
done
for left_out in BYTEMAP QUEUE SHARED IPC RESOURCE; do
  ! grep "#define KOLK_${left_out}_" shapes_pair/kolk.h || fail "kolk.h of pool and slotmap has macros of another member."
done
! grep -E '/\* ==== src/(bytemap|queue|shared|ipc|resource|heap|store)/' shapes_pair/kolk.c || fail "kolk.c of pool and slotmap has files of other members."
if said=$("$top/tools/dist.py" two wrong pool pools 2>&1) || [[ $said != *"pools is not a member of kolk: the members are bytemap heap ipc pool"* ]]; then
  fail "tools/dist.py, asked for a member that there is not, says: $said"
fi
echo "pairs of some members compile and link"

if [[ ${KOLK_TEST_EFFORT:-} != quick ]]; then
  for other in gcc clang i686-linux-gnu-gcc s390x-linux-gnu-gcc x86_64-w64-mingw32-gcc i686-w64-mingw32-gcc; do
    command -v $other > /dev/null || { echo "left out: $other, as there is none"; continue; }
    options=(-std=gnu99 "-std=gnu11 -ffreestanding" "-std=c11 -D_GNU_SOURCE -DKOLK_EXTERN")
    [[ $other == *-* ]] || options+=(-std=c2x)
    [[ $other == *-* || ${KOLK_TEST_EFFORT:-} != release ]] || options+=(-std={c11,gnu11,c17,gnu17})
    for option in "${options[@]}"; do
      quiet $other $option "${warnings[@]}" -fsyntax-only kolk.c
    done
    echo "kolk.c is silent: $other"
  done
  for other in "g++ -Wuseless-cast" clang++; do
    command -v ${other%% *} > /dev/null || { echo "left out: ${other%% *}, as there is none"; continue; }
    for dialect in c++17 c++20; do quiet $other -std=$dialect "${cxx_warnings[@]}" -fsyntax-only every_header.cc; done
    echo "kolk.h is silent: $other"
  done
fi

# The archive, unpacked outside git, produces all of it again.
cd dist
sha256sum --quiet --check SHA256SUMS
(cd "$top" && python3 tests/packaging/bill.py "$folder/dist" "$(cat VERSION)")
tar xf kolk-*.tar.gz
for file in api.json kolk_ffi.h; do [[ -s $(echo kolk-*/bindings/$file) ]] || fail "The archive lacks bindings/$file."; done
kolk-*/tools/dist.py all again
diff SHA256SUMS again/SHA256SUMS
echo "the archive makes the same files"
