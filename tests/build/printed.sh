#!/bin/bash
# Compilers and machines must say what the manuals print.
#   headers   an example begins with #include <kolk/...> in the first column of a comment. It compiles without a warning. If it
#             has a main, it runs, and prints line by line what stands behind its printfs: // gone, or // in words: gone
#             An adapter's header has one as well, which is linked with the adapter. Heaps are for 64 bits.
#   docs      each C block of resource.md compiles without a warning
#   README    each C block is a program of examples/, to the letter; the commands behind a $ in the block after it print the
#             lines that follow them
# Usage: CC=... printed.sh LIBRARY [ADAPTER ITS-LIBRARY ITS-OPTIONS]...
set -euo pipefail
library=$1
declare -A adapters options
for ((n = 2; n + 2 <= $#; n += 3)); do
  adapters[${!n}]=${@:n+1:1}
  options[${!n}]=${@:n+2:1}
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0
shopt -s nullglob

check() { # NAME EXPECTED ACTUAL
  if [[ $2 == "$3" ]]; then
    echo "$1: ok"
  else
    echo "$1: FAILED"
    diff <(echo "$2") <(echo "$3") || failed=1
  fi
}

# ---- headers: header_N.c for the Nth example of a header ----

for header in include/kolk/*.h "${!adapters[@]}"; do
  [[ $header == *.h ]] || header=adapters/$header/kolk/$header.h
  name=$(basename "$header" .h)
  awk -v name="$folder/$name" '
    /^ \*     #include <kolk\/[a-z]*\.h>$/ && !within { within = 1; file = name "_" ++n ".c" }
    within && !/^ \*(     .*)?$/ { within = 0 }
    within { sub(/^ \*(     )?/, ""); print > file }' "$header"
done
bits=$(echo __SIZEOF_POINTER__ | "$CC" -E -P - | sed 's/4/32/')
for example in "$folder"/*.c; do
  name=$(basename "$example" .c)
  adapter=${name%_*}
  flags=(-std=c11 -O2 -Wall -Wextra -Werror -Iinclude "-Iadapters/$adapter" "$example")
  if ! grep -q 'int main(void)' "$example" || [[ $adapter == heap && $bits == 32 ]]; then
    "$CC" "${flags[@]}" ${options[$adapter]:-} -Wno-unused-command-line-argument -c -o "$folder/object"
    echo "$name, which cannot run: ok"
    continue
  fi
  "$CC" "${flags[@]}" ${adapters[$adapter]:+"${adapters[$adapter]}"} "$library" ${options[$adapter]:-} -pthread -o "$folder/program"
  expected=$(sed -n '/printf/s|.*// ||p' "$example" | sed 's/.*: //')
  [[ -n $expected ]] || { echo "$name: FAILED: it does not say what it prints"; failed=1; }
  check "$name" "$expected" "$(cd "$folder" && ${EMULATOR:-} ./program)"
done
for header in pool slotmap bytemap queue shared resource heap "${!adapters[@]}"; do
  [[ -e $folder/${header}_1.c ]] || { echo "$header.h: FAILED: no example is found in it"; failed=1; }
done

# ---- docs: resource_N.c ----

mkdir "$folder/docs"
awk -v name="$folder/docs/resource" '
  /^```/ { within = !within; if (within) file = name "_" ++n ".c"; next }
  within { print > file }' docs/resource.md
for block in "$folder"/docs/*.c; do
  "$CC" -std=c11 -O2 -Wall -Wextra -Werror -Iinclude -Iadapters/tcp -c "$block" -o "$folder/object"
  echo "docs, $(basename "$block" .c): ok"
done
[[ -e $folder/docs/resource_1.c ]] || { echo "docs/resource.md: FAILED: no C is found in it"; failed=1; }

# ---- README: block_N.c for C, block_N.text for others ----

awk -v folder="$folder" '
  /^```/ { within = !within; if (within) file = folder "/block_" ++n (/^```c$/ ? ".c" : ".text"); next }
  within { print > file }' README.md
programs=0
for block in "$folder"/block_*.c; do
  program=""
  for example in examples/*.c; do
    if cmp -s "$block" "$example"; then program=$example; fi
  done
  programs=$((programs + 1))
  check "README's program $programs is one of the examples" yes "${program:+yes}"
done
[[ $programs -ge 2 ]] || { echo "README: FAILED: $programs programs are found in it"; failed=1; }

# Those for this machine: a compiler called cc, no emulator.
if [[ -n ${EMULATOR:-} || ${CC##*/} != gcc ]]; then
  echo "README's commands: left to gcc on the machine itself"
  exit $failed
fi
mkdir "$folder/clone"
for file in include src examples tools Makefile VERSION LICENSE; do ln -s "$PWD/$file" "$folder/clone"; done
# The commands compile the whole library; without optimisation that takes a fifth of the time. Each begins in the clone, and what
# `make dist` has made in the first one stays for the others.
mkdir "$folder/bin"
printf '#!/bin/sh\nexec "%s" "$@" -O0\n' "$(command -v cc)" > "$folder/bin/cc"
chmod +x "$folder/bin/cc"
for block in "$folder"/block_*.text; do
  commands=$(sed -n 's/^\$ //p' "$block")
  [[ $commands == *"cc -std"* ]] || continue
  check "README: ${commands//$'\n'/; }" "$(sed '/^\$ /d' "$block")" "$(cd "$folder/clone" && PATH=$folder/bin:$PATH MAKELEVEL= MAKEFLAGS= bash -ec "$commands" 2>&1)"
done
exit $failed
