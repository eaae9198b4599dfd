#!/bin/bash
# runs: long once
# Compilers and programs must print what the manuals promise.
#   headers   an example begins with #include <kolk/...> in the first column of a comment. It compiles without a
#             warning. If it has a main, it runs, and prints line by line what the comments after its printfs say:
#             // gone, or // in words: gone
#             An adapter's header has an example as well, which is linked with the adapter. Heaps are for 64 bits.
#   pages     README.md and docs/*.md: a C or C++ block with an #include compiles without a warning; a C block
#             with a main equals a program of examples/ exactly; in a block that calls a compiler, the commands after a
#             $ print the lines that follow them; they find the blocks that begin with /* NAME.c: as these files
# KOLK_TEST_EFFORT=quick compiles without optimisation.
# Usage: CC=... CXX=... printed.sh LIBRARY [ADAPTER ITS-LIBRARY ITS-OPTIONS]...
# promise: README.md "1 alive, at x ... old handle gives NULL"
set -euo pipefail
library=$1
declare -A adapters options
for ((n = 2; n + 2 <= $#; n += 3)); do
  adapters[${!n}]=${@:n+1:1}
  options[${!n}]=${@:n+2:1}
done
level=-O2
[[ ${KOLK_TEST_EFFORT:-} != quick ]] || level=-O0
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
  flags=(-std=c11 $level -Wall -Wextra -Werror -Iinclude "-Iadapters/$adapter" "$example")
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
for header in $(basename -as .h include/kolk/*.h | grep -vxE 'base|budget|compiler|kolk|snapshot|typed') "${!adapters[@]}"; do
  [[ -e $folder/${header}_1.c ]] || { echo "$header.h: FAILED: no example is found in it"; failed=1; }
done

# ---- pages: PAGE_N.c for C, PAGE_N.cc for C++, PAGE_N.text for others ----

mkdir "$folder/pages"
for page in README.md docs/*.md; do
  name=${page%.md}
  name=${name//\//_}
  awk -v name="$folder/pages/$name" '
    /^```/ { within = !within; if (within) file = name "_" ++n (/^```c$/ ? ".c" : /^```cpp$/ ? ".cc" : ".text"); next }
    within { print > file }' "$page"
  programs=0 compiled=0
  for block in "$folder/pages/$name"_*.c "$folder/pages/$name"_*.cc; do
    if [[ $block == *.c ]] && grep -q 'int main(void)' "$block"; then
      program=""
      for example in examples/*.c; do
        if sed '/^$/{N;/\n.\* runs: /d;}' "$example" | cmp -s "$block" -; then program=$example; fi
      done
      programs=$((programs + 1))
      check "$page: program $programs is one of the examples" yes "${program:+yes}"
    elif grep -q '#include' "$block"; then
      compiler=("$CC" -std=c11)
      [[ $block == *.c ]] || compiler=("$CXX" -std=c++20 -Wold-style-cast)
      "${compiler[@]}" $level -Wall -Wextra -Werror -Iinclude -Iadapters/tcp -Iadapters/pq -c "$block" -o "$folder/object"
      compiled=$((compiled + 1))
      echo "$page: $(basename "$block"): ok"
    fi
  done
  case $name in
    README | docs_threads | docs_heap) expected=$programs ;;
    docs_processes) expected=$compiled ;;
    docs_resource) expected=$((programs * compiled)) ;;
    docs_bindings | docs_cpp) expected=$compiled ;;
    *) continue ;;
  esac
  [[ $expected -ge 1 ]] || { echo "$page: FAILED: $programs programs and $compiled other blocks are found in it"; failed=1; }
done

# The commands are for this machine: a compiler called cc, no emulator.
if [[ -n ${EMULATOR:-} || ${CC##*/} != gcc ]]; then
  echo "the pages' commands: left to gcc on the machine itself"
  exit $failed
fi
mkdir "$folder/clone"
for file in include src examples tools Makefile VERSION LICENSE; do ln -s "$PWD/$file" "$folder/clone"; done
# The commands compile the whole library, without optimisation, which takes a fifth of the time. Each block begins in the clone.
# What several blocks begin with, as they make the same two files and compile them, is run once.
mkdir "$folder/bin"
# If cc is ccache, it must not find this script when it looks for the compiler.
printf '#!/bin/sh\nPATH="%s"\nexec "%s" "$@" -O0\n' "$PATH" "$(command -v cc)" > "$folder/bin/cc"
chmod +x "$folder/bin/cc"
once() { # COMMAND: prints what it prints, in this folder
  local said
  said=$folder/said/$(md5sum <<< "$PWD: $1" | cut -c -32)
  [[ -e $said ]] || eval "$1" > "$said" 2>&1
  cat "$said"
}
run_all() { # COMMANDS
  cd "$folder/clone"
  export PATH=$folder/bin:$PATH MAKELEVEL='' MAKEFLAGS=''
  while IFS= read -r command; do once "$command" || break; done <<< "$1"
}
mkdir "$folder/said"
for name in README docs_threads docs_resource docs_heap docs_processes; do
  run=0
  for block in "$folder/pages/$name"_*.c; do
    file=$(sed -n '1s|^/\* \([a-z]*\.c\): .*|\1|p' "$block")
    [[ -z $file ]] || cp "$block" "$folder/clone/$file"
  done
  for block in "$folder/pages/$name"_*.text; do
    commands=$(sed -n 's/^\$ //p' "$block")
    [[ $commands == *"cc -O2"* ]] || continue
    run=$((run + 1))
    check "$name: ${commands//$'\n'/; }" "$(sed '/^\$ /d' "$block")" "$(run_all "$commands")"
  done
  [[ $run -ge 1 ]] || { echo "$name: FAILED: no commands are found in it"; failed=1; }
done
exit $failed
