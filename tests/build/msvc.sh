#!/bin/bash
# runs: long once
# Tests the code for Microsoft's compiler, which is not here. clang compiles kolk.c and the headers with nothing but the
# macros, words and headers that Microsoft's compiler has, for x86-64, x86 and ARM64: the headers of its C library and of
# Windows are those in tests/build/msvc, and gcc's words are poisoned. Programs with KOLK_EXTERN find all functions in
# the object file. The machine code shows whether each memory order is kept. clang also compiles the same as clang-cl does.
# KOLK_TEST_EFFORT=quick leaves all this out, because it does not depend on the compiler of this build; all variants are
# compiled for all processors with KOLK_TEST_EFFORT=release, otherwise for x86-64.
#
# So that the code also runs, the compiler of this build compiles it with the intrinsics in tests/build/msvc/gcc.h: with
# operations.c, examples, and tests that are linked with such a library.
# Usage: CC=... msvc.sh
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for needed in clang llvm-nm; do
  command -v $needed > /dev/null && continue
  echo "skipped: $needed is missing, which is needed to imitate Microsoft's compiler"
  exit 77
done

. tests/help/script.sh

tools/dist.py two "$folder"
mkdir -p "$folder/ms/sys" "$folder/gcc"
for header in errno inttypes limits stdarg stdbool stddef stdint stdio stdlib string sys/stat; do
  echo "#include \"$PWD/tests/build/msvc/crt.h\"" > "$folder/ms/$header.h"
done
cp "$folder/ms/string.h" "$folder/ms/cstring"
cp tests/build/msvc/{intrin,psapi,windows}.h "$folder/ms"
cp tests/build/msvc/gcc.h "$folder/gcc/intrin.h"
{
  echo "#pragma GCC poison __attribute__ __extension__ asm __asm__ typeof __typeof__ _Atomic _Thread_local __thread __int128"
  echo "#pragma GCC poison _Pragma" $(grep -rhoE '__(builtin|atomic|sync)_[a-z0-9_]+' include src | sort -u)
} > "$folder/ms/only_msvc.h"

warnings=(-Werror -Wall -Wextra -Wpedantic -Wundef -Wno-language-extension-token -Wno-unused-function)
imitate() { # PROCESSOR OPTION...: clang, as clang-cl
  clang --target="$1-pc-windows-msvc" -fms-extensions -fms-compatibility -fms-compatibility-version=19.30 -nostdinc \
    -isystem "$folder/ms" "${warnings[@]}" "${@:2}"
}
as_msvc() { # PROCESSOR OPTION...: clang, as far as possible as Microsoft's compiler
  local macros
  case $1 in
    x86_64) macros=(-D_WIN64=1 -D_M_X64=100) ;;
    i686) macros=(-D_M_IX86=600) ;;
    aarch64) macros=(-D_WIN64=1 -D_M_ARM64=1) ;;
  esac
  imitate "$1" -undef -D_MSC_VER=1930 -D_WIN32=1 "${macros[@]}" -include only_msvc.h "${@:2}"
}

check_programs() { # imitate|as_msvc PROCESSOR OPTION...: compiles programs that use each typed macro
  quiet "$@" -std=c11 -fsyntax-only -Iinclude -x c tests/compile/c99.c
  quiet "$@" -std=c++17 -fsyntax-only -Iinclude -x c++ tests/compile/every_header.cc
}
check_library() { # imitate|as_msvc PROCESSOR OPTION...
  quiet "$@" -std=c11 -fsyntax-only "$folder/kolk.c"
}

# Memory accesses of each function of orders.c, in their order: on x86, m for one and L for a locked one.
shapes() { # PROCESSOR
  as_msvc "$1" -std=c11 -O2 -Iinclude -Isrc -S -o - tests/build/msvc/orders.c |
    awk -v x86="$([[ $1 == aarch64 ]] || echo 1)" '
      /^_?[a-z][a-z0-9_]*:/ { name = $1; sub(/:.*/, "", name); sub(/^_/, "", name); names[++n] = name }
      { sub(/[ \t]*(\/\/|#[^0-9]).*/, "") }
      x86 && /lock/ { shape[name] = shape[name] "L" }
      x86 && !/lock|lea|[0-9(]%?[er]sp\)/ && /\(%[er]/ { shape[name] = shape[name] "m" }
      !x86 && $1 ~ /^(ldr|str|dmb|ldaxr|stlxr)$/ { shape[name] = shape[name] " " $1 }
      /[$#]36(,|$)/ { shape[name] = shape[name] " 36" }
      END { for (i = 1; i <= n; i++) print names[i] ": " shape[names[i]] }'
}

imitate_all() {
  local processor missing
  for processor in x86_64 i686 aarch64; do
    quiet as_msvc $processor -std=c11 -O0 -c "$folder/kolk.c" -o "$folder/kolk.obj"
    check_programs as_msvc $processor -DKOLK_EXTERN
    if [[ $processor == x86_64 || ${KOLK_TEST_EFFORT:-} == release ]]; then
      check_library as_msvc $processor -DKOLK_NO_DIAGNOSTICS -DKOLK_ASSERTIONS=1
      check_library as_msvc $processor -DKOLK_EXTERN
      check_library as_msvc $processor -DKOLK_BUILD -DKOLK_SHARED
      check_library imitate $processor
      check_programs as_msvc $processor
      check_programs imitate $processor
    fi
    echo "$processor: the two files and the headers compile"

    quiet as_msvc $processor -std=c++17 -O1 -DKOLK_EXTERN -Iinclude -c -x c++ tests/compile/every_header.cc -o "$folder/program.obj"
    llvm-nm -u "$folder/program.obj" | grep -oE 'kolk_\w+' | sort -u > "$folder/wanted"
    llvm-nm --defined-only "$folder/kolk.obj" | grep -oE 'kolk_\w+' | sort -u > "$folder/there"
    (($(wc -l < "$folder/wanted") > 30)) || fail "$processor: a program with KOLK_EXTERN calls too few functions."
    missing=$(comm -23 "$folder/wanted" "$folder/there")
    [[ -z $missing ]] || fail "$processor: kolk.c does not emit" $missing
  done

  diff -u <(printf '%s\n' 'load_relaxed: m' 'load_acquire: mmm' 'load_seq_cst: m' 'store_relaxed: m' 'store_release: mmm' 'publish: mmm' \
    'store_seq_cst: mL' 'load_64: m' 'store_64: m' 'folded: m 36') <(shapes x86_64)
  diff -u <(printf '%s\n' 'load_relaxed: m' 'load_acquire: mmm' 'load_seq_cst: m' 'store_relaxed: m' 'store_release: mmm' 'publish: mmm' \
    'store_seq_cst: mL' 'load_64: L' 'store_64: LL' 'folded: m 36') <(shapes i686)
  diff -u <(printf '%s\n' 'load_relaxed:  ldr' 'load_acquire:  ldr ldr dmb ldr' 'load_seq_cst:  dmb ldr dmb' 'store_relaxed:  str' \
    'store_release:  str dmb str str' 'publish:  str dmb str str' 'store_seq_cst:  ldr ldaxr stlxr' 'load_64:  ldr' 'store_64:  str' \
    'folded:  36 str') <(shapes aarch64)
  echo "the machine code keeps the memory orders"
}

if [[ ${KOLK_TEST_EFFORT:-} == quick ]]; then
  echo "clang in the place of Microsoft's compiler: left to more effort"
else
  imitate_all
fi

case $("$CC" -dumpmachine) in
  x86_64*) processor=-D_M_X64=100 with_heaps=level ;;
  i?86*) processor=-D_M_IX86=600 with_heaps= ;;
  *) echo "nothing is run: gcc.h is for x86"; exit ;;
esac
imitation=(-std=gnu11 -O1 -U__clang__ -D_MSC_VER=1930 $processor -fno-strict-aliasing -isystem "$folder/gcc" -w)
"$CC" "${imitation[@]}" -Iinclude -Isrc tests/build/msvc/operations.c -o "$folder/operations" -pthread
${EMULATOR:-} "$folder/operations"
echo "each operation works"
"$CC" "${imitation[@]}" -DKOLK_ASSERTIONS=1 -Iinclude -c "$folder/kolk.c" -o "$folder/kolk.o"
for example in hello packed gta jobs blocking_queue routes sieves $with_heaps; do
  "$CC" "${imitation[@]}" -Iinclude examples/$example.c "$folder/kolk.o" -o "$folder/example" -pthread -lm
  ${EMULATOR:-} "$folder/example" | diff -u examples/$example.expected -
done
echo "examples print the same"
for test in queue/test_queue queue/test_queue_threads shared/test_shared_threads shared/test_shared_wait_threads; do
  "$CC" -std=gnu11 -DKOLK_ASSERTIONS=1 -Iinclude -Isrc tests/$test.c "$folder/kolk.o" -o "$folder/test" -pthread -lcmocka -lm
  KOLK_TEST_EFFORT=quick ${EMULATOR:-} "$folder/test" > "$folder/said" 2>&1 || fail "$test: $(tail -20 "$folder/said")"
done
echo "tests with threads pass"
