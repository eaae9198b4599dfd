#!/bin/sh
# runs: once
# No two files of the library need each other, not even through others; functions defined in include/ do not count. The
# same holds for the files of the kolk command, and of libkolk-record.so. No file of the library includes a file of a
# folder above or beside its own. Of what lies above them, files may know pointers that a program may set to NULL (KOLK_WITHOUT_DIAGNOSTICS).
# Usage: circles.sh LIBRARY OBJECTS SOURCES: the folders of the command's object files, and of libkolk-record.so's
# sources; '' if they are not built
set -eu
objects=$(mktemp -d)
trap 'rm -rf "$objects"' EXIT
inlines=$(sed -nE 's/^KOLK_[A-Z_]*INLINE .*\b(kolk_[a-z_]+)\(.*/\1/p' include/kolk/*.inl)

no_circles() { # OF-WHAT FILE...: checks these libraries or object files
  what=$1
  shift
  pairs=$(nm -A "$@" | sed -nE 's/^(.*)\.c\.o(bj)?:[0-9a-f ]*([A-Z]) _?([a-z0-9_]+)$/\3 \4 \1/p' |
    awk -v inlines="$inlines" '
      BEGIN { n = split(inlines, names, "\n"); while (n) is_inline[names[n--]] = 1 }
      is_inline[$2] || $2 ~ /^kolk_(watch|pool_watched_options)_$/ { next }
      $1 != "U" { file_of[$2] = $3 }
      $1 == "U" { uses[$3 " " $2] }
      END { for (use in uses) { split(use, at, " "); if (at[2] in file_of) print at[1], file_of[at[2]] } }')
  echo "$what: $(echo "$pairs" | sort -u | wc -l) pairs of files, of which the first calls the second"
  echo "$pairs" | grep -q . || { echo "nm tells nothing of $*" >&2; exit 1; }
  echo "$pairs" | tsort > /dev/null
}

no_circles 'the library' "$1"
[ -z "$2" ] || no_circles 'the kolk command' $(find "$2" -name '*.o')
if [ -n "$3" ]; then
  for source in "$3"/*.c; do
    "${CC:-cc}" -std=c11 -w -c "$source" -o "$objects/$(basename "$source").o"
  done
  no_circles 'libkolk-record.so' "$objects"/*.o
fi

# A folder's floor: it may include files of lower floors.
floor() {
  case $1 in
    base) echo 1 ;;
    os) echo 2 ;;
    core) echo 3 ;;
    store) echo 4 ;;
    pool | slotmap | bytemap | queue | shared | ipc | resource | heap) echo 5 ;;
    watch) echo 6 ;;
    ffi) echo 7 ;;
    *) echo "circles.sh: on which floor is src/$1? Name it in floor()." >&2; exit 1 ;;
  esac
}

ups=0
for folder in src/*/; do
  own=$(basename "$folder")
  own_floor=$(floor "$own")
  for other in $(sed -nE 's|^ *# *include "\.\./([a-z]+)/.*|\1|p' "$folder"*.[ch] | sort -u); do
    other_floor=$(floor "$other")
    if [ "$own_floor" -le "$other_floor" ]; then
      echo "src/$own includes src/$other, which is not below it: $(grep -l "include \"../$other/" "$folder"*.[ch])"
      ups=$((ups + 1))
    fi
  done
done
echo "$ups folders include what is not below them"
[ $ups = 0 ]
