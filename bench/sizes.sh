#!/bin/bash
# Prints the bytes of text of programs that use one part of kolk each (bench/small), compiled with -Os and linked with
# --gc-sections: the tables of docs/small.md. The size of a program without kolk on this machine, `nothing`, is
# subtracted from the others. Then prints, for kolk.c with some members only: its lines, the processor time to compile it
# with gcc -O2 (the median of three times), and its bytes of text.
# Usage: bench/sizes.sh
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
os=(-std=c11 -Os -ffunction-sections -fdata-sections -Iinclude)

# library NAME OPTIONS...
library() {
  mkdir "$folder/$1"
  (root=$PWD; cd "$folder/$1"; gcc -I"$root/include" "${os[@]:0:4}" "${@:2}" -c "$root"/src/*/*.c; ar rcs libkolk.a *.o)
}

# text LIBRARY PROGRAM DEFINITIONS...: bytes of text
text() {
  local program=$folder/program
  local more=()
  [[ $1 != linked ]] || more=("$folder/without.c")
  gcc "${os[@]}" "${@:3}" "bench/small/$2.c" "${more[@]}" "$folder/${1/linked/all}/libkolk.a" -Wl,--gc-sections -pthread -o "$program"
  "$program" >&2
  size "$program" | awk 'END { print $1 }'
}

# row WHAT PROGRAM DEFINITIONS...
row() {
  printf '| %s |' "$1"
  local library bytes
  for library in all linked none; do
    bytes=$(text $library "${@:2}")
    [[ $2 == empty ]] && nothing[$library]=$bytes || bytes=$((bytes - nothing[$library]))
    printf ' %s |' "$(sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<< "$bytes")"
  done
  echo
}

declare -A nothing
library all
library none -DKOLK_NO_DIAGNOSTICS
printf '#include <kolk/base.h>\nKOLK_WITHOUT_DIAGNOSTICS\n' > "$folder/without.c"
gcc --version | head -n 1
echo
echo '| bytes of text | with diagnostics | `KOLK_WITHOUT_DIAGNOSTICS` | `KOLK_NO_DIAGNOSTICS` |'
echo '|---|---:|---:|---:|'
row nothing empty
row 'a pool' pool
row 'a pool with options, say `.full.headroom`' pool -DMORE='.full.headroom = 1'
row 'a slot map' slotmap
row 'a byte map' bytemap
row 'a queue' queue
row 'a shared pool' shared
row 'a heap' heap
row 'a heap on your memory' trays
row 'a resource pool' resource

# part WHAT PATTERN: text of these files of src/watch
part() {
  local bytes
  bytes=$(cd "$folder/all"; find . -regextype posix-extended -regex "\./($2)\.o" -exec size {} + | awk 'NR > 1 { sum += $1 } END { print sum }')
  echo "| $1 | $(sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta' <<< "$bytes") |"
}

echo
echo '| of the diagnostics | bytes of text |'
echo '|---|---:|'
part 'the debug mode' 'debug.*'
part 'sites in words' 'sites.*'
part 'sizes that tune themselves' 'sizes.*'
part 'statistics' 'stats.*|records|writer|table'
part 'the registry, the settings, the process' 'registry|settings|process|profiler'

# compiled FILE OPTIONS...: the median of three times in seconds, and bytes of text: two cells of a row
compiled() {
  local TIMEFORMAT='%U %S' times=
  for _ in 1 2 3; do times+=$({ time gcc -std=c11 -O2 "${@:2}" -c "$1" -o "$folder/kolk.o" >&2; } 2>&1)$'\n'; done
  printf ' %s |' "$(awk 'NF { printf "%.1f\n", $1 + $2 }' <<< "$times" | sort -n | sed -n 2p)" \
    "$(size "$folder/kolk.o" | awk 'NR == 2 { print $1 }' | sed -E ':a; s/([0-9])([0-9]{3})($|,)/\1,\2\3/; ta')"
}

# pair MEMBER...: what a program pays that takes kolk.h and kolk.c of these members
pair() {
  tools/dist.py two "$folder/pair" "$@"
  printf '| %s | %s |' "${*:-all}" "$(wc -l < "$folder/pair/kolk.c" | sed -E 's/([0-9])([0-9]{3})$/\1,\2/')"
  compiled "$folder/pair/kolk.c"
  echo
}

echo
echo '| members | lines of `kolk.c` | seconds | bytes of text |'
echo '|---|---:|---:|---:|'
pair
for member in pool slotmap bytemap queue shared resource heap; do pair $member; done
pair pool slotmap
pair pool watch
