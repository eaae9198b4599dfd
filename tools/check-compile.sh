#!/bin/bash
# Compiles every file in tests/compile, which says in its comments what must come of it:
#     // expect: ok                    it compiles without a warning
#     // expect: error: REGEX          it does not, and the compiler's words match
#     // variant: NAME [REGEX]         with NAME defined it does not (REGEX instead of the file's); with none, it compiles
#     // c++: ok, or error: REGEX      the same as C++17 too, in the words of its compiler
#     // flags: ...                    more flags
#     // compiler: gcc                 only this one knows
# Usage: [CC=...] [CXX=...] tools/check-compile.sh
set -euo pipefail
CC=${CC:-gcc}
CXX=${CXX:-g++}
failed=0
shopt -s nullglob

directive() { sed -n "s|^// $1: *||p" "$2"; }

# compile FILE LANGUAGE REGEX [FLAG]: an empty REGEX says that it must compile. One line a case.
compile() {
  local file=$1 language=$2 regex=$3 output result=ok
  local command=("$CC" -std=c11)
  [[ $language == c++ ]] && command=("$CXX" -x c++ -std=c++17)
  # shellcheck disable=SC2207
  command+=(-Wall -Wextra -Werror -O2 -Iinclude $(directive flags "$file") "${@:4}" -c "$file" -o /dev/null)
  if output=$("${command[@]}" 2>&1); then
    [[ -z $regex ]] || result="FAILED: it compiles"
  elif [[ -z $regex ]]; then
    result="FAILED: it does not compile"
  elif ! grep -Eq -- "$regex" <<< "$output"; then
    result="FAILED: the compiler does not say: $regex"
  fi
  echo "${file#tests/compile/} as $language${4:+ $4}: $result"
  if [[ $result != ok ]]; then
    echo "$output"
    failed=1
  fi
}

# check FILE LANGUAGE EXPECTED: EXPECTED is ok, or error: REGEX. A variant's own regex is in the words of the C compiler.
check() {
  local file=$1 language=$2 regex name own
  case $3 in
    ok) regex= ;;
    "error: "*) regex=${3#error: } ;;
    *) echo "$file: it must say // expect: ok, or // expect: error: REGEX"; failed=1; return ;;
  esac
  if ! grep -q '^// variant: ' "$file"; then
    compile "$file" "$language" "$regex"
    return
  fi
  compile "$file" "$language" ""
  while read -r name own; do
    [[ $language == c++ ]] && own=
    compile "$file" "$language" "${own:-$regex}" "-D$name"
  done < <(directive variant "$file")
}

for file in tests/compile/*.c tests/compile/*.cc; do
  only=$(directive compiler "$file")
  if [[ -n $only && ${CC##*/} != *"$only"* ]]; then
    echo "${file#tests/compile/}: left to $only"
    continue
  fi
  language=c
  [[ $file == *.cc ]] && language=c++
  check "$file" $language "$(directive expect "$file")"
  also=$(directive c++ "$file")
  [[ -z $also ]] || check "$file" c++ "$also"
done
exit $failed
