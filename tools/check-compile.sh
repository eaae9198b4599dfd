#!/bin/bash
# Compiles every file in tests/compile, which says in its comments what must come of it:
#     // expect: ok                    it compiles without a warning
#     // expect: error: REGEX          it does not, and the compiler's words match
#     // variant: NAME [REGEX]         with NAME defined it does not (REGEX instead of the file's); with none, it compiles
#     // flags: ...                    more flags
#     // compiler: gcc                 only this one knows
# Usage: [CC=...] [CXX=...] tools/check-compile.sh
set -euo pipefail
CC=${CC:-gcc}
CXX=${CXX:-g++}
failed=0
shopt -s nullglob

directive() { sed -n "s|^// $1: *||p" "$2"; }

# compile FILE REGEX [FLAG]: an empty REGEX says that it must compile. One line a case.
compile() {
  local file=$1 regex=$2 output result=ok
  local command=("$CC" -std=c11)
  [[ $file == *.cc ]] && command=("$CXX" -std=c++17)
  # shellcheck disable=SC2207
  command+=(-Wall -Wextra -Werror -O2 -Iinclude $(directive flags "$file") "${@:3}" -c "$file" -o /dev/null)
  if output=$("${command[@]}" 2>&1); then
    [[ -z $regex ]] || result="FAILED: it compiles"
  elif [[ -z $regex ]]; then
    result="FAILED: it does not compile"
  elif ! grep -Eq -- "$regex" <<< "$output"; then
    result="FAILED: the compiler does not say: $regex"
  fi
  echo "${file#tests/compile/}${3:+ $3}: $result"
  if [[ $result != ok ]]; then
    echo "$output"
    failed=1
  fi
}

for file in tests/compile/*.c tests/compile/*.cc; do
  only=$(directive compiler "$file")
  if [[ -n $only && ${CC##*/} != *"$only"* ]]; then
    echo "${file#tests/compile/}: left to $only"
    continue
  fi
  expected=$(directive expect "$file")
  case $expected in
    ok) regex= ;;
    "error: "*) regex=${expected#error: } ;;
    *) echo "$file: its first line must be // expect: ok, or // expect: error: REGEX"; failed=1; continue ;;
  esac
  variants=$(directive variant "$file")
  if [[ -z $variants ]]; then
    compile "$file" "$regex"
  else
    compile "$file" ""
    while read -r name own; do
      compile "$file" "${own:-$regex}" "-D$name"
    done <<< "$variants"
  fi
done
exit $failed
