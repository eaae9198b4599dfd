#!/bin/bash
# runs: long sample:clang 64-bits
# Compiles every file in tests/compile. Their comments state the expected result:
#     // expect: ok                    it compiles without a warning
#     // expect: error: REGEX          it does not compile, and the compiler's message matches
#     // variant: NAME [REGEX]         with NAME defined it does not (REGEX replaces the file's); without, it compiles
#     WRONG(code); // REGEX            with this line it does not, and the message is there (REGEX replaces the file's for C)
#     // c++: ok, or error: REGEX      the same holds as C++17, with the message of the C++ compiler
#     // dialects: c++11 c++20         it compiles as each of these too
#     // flags: ...                    more flags
#     // compiler: gcc                 only for this compiler
# Usage: [CC=...] [CXX=...] tools/check-compile.sh
set -euo pipefail
CC=${CC:-gcc}
CXX=${CXX:-g++}
failed=0
shopt -s nullglob

directive() { sed -n "s|^// $1: *||p" "$2"; }

# run FILE LANGUAGE [FLAG...]
run() {
  local command=("$CC" -std=c11)
  [[ $2 == c++ ]] && command=("$CXX" -x c++ -std=c++17)
  # shellcheck disable=SC2207
  command+=(-Wall -Wextra -Werror -O2 -Iinclude $(directive flags "$1") "${@:3}" -c "$1" -o /dev/null)
  "${command[@]}" 2>&1
}

# told CASE RESULT OUTPUT: prints one line per case.
told() {
  echo "${1#tests/compile/}: $2"
  if [[ $2 != ok ]]; then
    echo "$3"
    failed=1
  fi
}

# compile FILE LANGUAGE REGEX [FLAG]: if REGEX is empty, the file must compile.
compile() {
  local regex=$3 output result=ok
  if output=$(run "$1" "$2" "${@:4}"); then
    [[ -z $regex ]] || result="FAILED: it compiles"
  elif [[ -z $regex ]]; then
    result="FAILED: it does not compile"
  elif ! grep -Eq -- "$regex" <<< "$output"; then
    result="FAILED: the compiler does not say: $regex"
  fi
  told "$1 as $2${4:+ $4}" "$result" "$output"
}

# wrong FILE LANGUAGE REGEX: each line with WRONG has an error of its own.
wrong() {
  local output flags=('-DWRONG(...)=__VA_ARGS__')
  if [[ $("$CC" --version) == *clang* ]]; then flags+=(-ferror-limit=0); else flags+=(-fmax-errors=0); fi
  output=$(run "$1" "$2" "${flags[@]}") || true
  awk -v language="$2" -v usual="$3" -v file="$1" '
    NR == FNR && /^ *WRONG\(/ {
      wanted[FNR] = language == "c" && match($0, / \/\/ /) ? substr($0, RSTART + 4) : usual
    }
    NR == FNR { next }
    index($0, file ":") == 1 && / error: / {
      split($0, place, ":")
      if (place[2] in wanted && $0 ~ wanted[place[2]]) told[place[2]] = 1
    }
    END {
      for (n in wanted) {
        print file ":" n " as " language ": " (told[n] ? "ok" : "FAILED: the compiler does not say there: " wanted[n])
        if (!told[n]) bad = 1
      }
      exit bad
    }' "$1" - <<< "$output" && return
  echo "$output"
  failed=1
}

# check FILE LANGUAGE EXPECTED: EXPECTED is ok, or error: REGEX. A variant's own regex matches the C compiler's message.
check() {
  local file=$1 language=$2 regex name own
  case $3 in
    ok) regex= ;;
    "error: "*) regex=${3#error: } ;;
    *) echo "$file: it must say // expect: ok, or // expect: error: REGEX"; failed=1; return ;;
  esac
  if grep -q '^ *WRONG(' "$file"; then
    compile "$file" "$language" "" '-DWRONG(...)='
    wrong "$file" "$language" "$regex"
    return
  fi
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
  for dialect in $(directive dialects "$file"); do compile "$file" "$language" "" "-std=$dialect"; done
done
exit $failed
