#!/bin/sh
# runs: once
# Each member has a file that lists its .c files; docs/README.md lists the pages, examples/README.md the examples,
# ARCHITECTURE.md the folders of src/ and the headers, base.h the kinds, and CONTRIBUTING.md the rows of the matrix.
# tests/contracts/kinds.h has a row for each kind, and test_all_rebinds.c one for each member of a descriptor. Each list is
# complete, and has no other entries.
# Each file of tests/ and fuzz/ says `wraps: X` for each function __wrap_X that it has.
# Each line that tools/mutants.txt lists is in its function, and tools/mutate.py changes files that exist. Each link of a
# page leads to a file, and to a heading in it.
# A script that asks whether a command is there has no function of that name, because `command -v` finds functions first;
# tools/setup.sh installs the command; and a script that skips itself says why.
# Usage: lists.sh
set -u
wrong=0

compare() { # $listed by $list, and $there
  [ "$listed" = "$there" ] && return
  wrong=$((wrong + 1))
  echo "$list has too much, or lacks: " $(printf '%s\n%s\n' "$listed" "$there" | sort | uniq -u)
}

lists='src/pool/pool_inside.h src/slotmap/slotmap_inside.h src/bytemap/bytemap.c src/queue/queue_inside.h src/store/store.h
  src/shared/shared.c src/resource/resource.c src/heap/heap.c src/watch/watch.c'
for list in $lists; do
  listed=$(sed '/\*\//q' "$list" | grep '^ \*     ' | grep -oE ' [a-z_]+\.c\b' | tr -d ' ' | sort -u)
  there=$(basename -a "${list%/*}"/*.c | sort)
  compare
done
for list in docs/README.md examples/README.md; do
  listed=$(sed -n 's/^| \[\([^]]*\)\](\1) | [^ |].*/\1/p' "$list" | sort)
  there=$(cd "${list%/*}" && ls -d ./*.md ./*.c ./*.cc ./*/ 2> /dev/null | sed 's|^\./||; s|/$||' | grep -vxE 'README\.md|img' | sort)
  compare
done

folders=$(basename -a src/*/ | sort)
members=$(basename -as .h include/kolk/*.h | grep -vxE 'base|budget|compiler|kolk|typed' | sort)

list='tests/build/lists.sh: $lists'
listed=$(for file in $lists; do basename "${file%/*}"; done | sort)
there=$(echo "$folders" | grep -vxE 'base|core|ffi|os')
compare

list='ARCHITECTURE.md: Floors'
listed=$(sed -n 's/^| \(`src[^|]*\)|.*/\1/p' ARCHITECTURE.md | tr -d '` ' | tr ',' '\n' | sed 's|^src/||' | sort)
there=$folders
compare

list='ARCHITECTURE.md: include/kolk'
listed=$(grep '^| `include/kolk` ' ARCHITECTURE.md | grep -oE '`[a-z]+\.h`' | tr -d '`' | sort)
there=$(basename -a include/kolk/*.h | grep -vx kolk.h | sort)
compare

list='include/kolk/base.h: kolk_stats.kind'
listed=$(sed -n '/^    const char \*kind; /,/\*\//p' include/kolk/base.h | grep -oE '"[a-z]+"' | tr -d '"' | sort)
there=$members
compare

list=tests/contracts/kinds.h
listed=$(sed -n 's/.*MEMBER(\([a-z]*\)).*/\1/p' tests/contracts/kinds.h | sort -u)
there=$members
compare

list=tests/contracts/test_all_rebinds.c
members_of() { # STRUCT; those of `full` and `life` one by one
  cat include/kolk/*.h | sed -n "/^typedef struct $1 {\$/,/^}/p" |
    sed -n 's/^    [a-z].*(\*\([a-z_]*\))(.*/\1/p; /(\*/d; s/ KOLK_OR_0_;.*//; s/^    [a-z][a-z_0-9 ]*[ *]\([a-z_]*\)$/\1/p' |
    while read -r member; do
      case $member in
        full) members_of kolk_pool_full | sed 's/^/full./' ;;
        life) members_of kolk_life | sed 's/^/life./' ;;
        *) echo "$member" ;;
      esac
    done
}
listed=$(grep -oE '\bROW\(kolk_[a-z_]+_desc, [a-z_.]+' $list | sed 's/ROW(//; s/,//' | sort)
there=$(for desc in $(cat include/kolk/*.h | grep -oE '_rebind\(kolk_[a-z_]+ \*[a-z]+, const kolk_[a-z_]+_desc' | grep -oE '[a-z_]+$'); do
  members_of "$desc" | sed "s/^/$desc /"
done | sort -u)
compare

list='CONTRIBUTING.md: the matrix'
listed=$(sed -n '/^| row of the matrix/,/^$/s/^| \([^|]*\) |.*/\1/p' CONTRIBUTING.md | sed 1d | tr -d ' ' | tr ',' '\n' | sort)
there=$(sed -nE 's/^ *(row|tested|machine) ([a-z0-9_-]+) .*/\2/p' tools/matrix.sh | sort -u)
compare

list='docs/tests.md: the rows of the matrix'
listed=$(sed -n 's/^| fresh | \(.*\) | all |$/fresh | \1/p' docs/tests.md | tr -d ' ' | tr '|' '\n' | sort)
compare

list='the lines "wraps:" of tests and fuzz'
listed=$(grep -r '^/\* .*wraps: ' --include='*.[ch]' tests fuzz | sed 's|:/\*.* wraps:||; s|\*/||' |
  awk '{ for (i = 2; i <= NF; i++) if ($i !~ /\.h$/) print $1, $i }' | sort)
there=$(grep -r '__wrap_[A-Za-z0-9_]*(' --include='*.[ch]' tests fuzz | grep -vE '\);|^tests/device/' |
  sed -E 's/^([^:]*):.*__wrap_([A-Za-z0-9_]*)\(.*/\1 \2/' | sort -u)
compare

# A line of mutants.txt may be several lines of the source.
while read -r mark text; do
  case $mark in
    @)
      at=$text
      body=$(sed -nE "/^([A-Za-z].*)?\\b${at#* }\(/,/^}/ { s|/\*.*\*/||; p }" "${at% *}" | tr -s ' \n' ' ')
      ;;
    -)
      case $body in *"$text"*) continue ;; esac
      wrong=$((wrong + 1))
      echo "tools/mutants.txt: $at has not the line: $text"
      ;;
  esac
done < tools/mutants.txt

for file in $(sed -n '/^FILES = /,/]  #/p' tools/mutate.py | grep -oE '"[^"]+"' | tr -d '"'); do
  [ -e "$file" ] && continue
  wrong=$((wrong + 1))
  echo "tools/mutate.py: FILES has $file, which is not there"
done

asked_in() { grep -hoE 'command -v "?[A-Za-z0-9][A-Za-z0-9_.+-]*' "$@" | sed 's/.* "*//' | sort -u; }
installed=" $({ asked_in tools/setup.sh; sed -n 's/^  commands //p' tools/setup.sh; } | tr ' ' '\n' | sed 's/.*=//' | tr '\n' ' ')"
# In packages that are installed for another reason; or, under other names, what setup.sh installs.
installed="$installed addr2line chromium-browser clang++-19 gcore google-chrome llvm-addr2line pgbench redis-benchmark script true "
for script in tests/*/*.sh tools/*.sh bench/*.sh; do
  asked=$(asked_in "$script" | tr '\n' ' ')
  for name in $(sed -nE 's/^ *(function +)?([A-Za-z0-9_.+-]+) *\(\).*/\2/p' "$script" | sort -u); do
    case $installed" "$asked in *" $name "*) ;; *) continue ;; esac
    wrong=$((wrong + 1))
    echo "$script: the function $name has the name of a command, for which it would be taken"
  done
  for name in $asked; do
    case $installed in *" $name "*) continue ;; esac
    wrong=$((wrong + 1))
    echo "$script asks for $name, which tools/setup.sh does not install"
  done
  silent=$(awk '/(^|[ ;{])exit 77/ && before " " $0 !~ /skipped: / { print FNR }
    /(^|[ ;{])skip *("" *)?([;)}&|]|$)/ { print FNR }
    { before = $0 }' "$script")
  if [ -n "$silent" ]; then
    wrong=$((wrong + 1))
    echo "$script skips itself without a reason, in line $silent"
  fi
  if grep -qE '^set .*pipefail' "$script" && grep -nE '[|] *grep -[a-zA-Z]*q' "$script"; then
    wrong=$((wrong + 1))
    echo "$script: with pipefail, the program before grep -q may end by SIGPIPE: use grep > /dev/null"
  fi
done

# A heading's anchor is its text in lower case, with - for a space, and without other signs.
anchors() { # PAGE
  sed -n '/^```/,/^```/d; s/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9_\n-'
}
for page in $(find . \( -path ./build -o -path ./.git \) -prune -o -name '*.md' -print); do
  for link in $(sed '/^```/,/^```/d' "$page" | grep -oE '\]\([^): ]+\)' | sed 's/^](//; s/)$//' | sort -u); do
    to=${link%%#*}
    to=${to:+${page%/*}/$to}
    case $link in
      *#*) [ -e "${to:-$page}" ] && anchors "${to:-$page}" | grep -qxF "${link##*#}" && continue ;;
      *) [ -e "$to" ] && continue ;;
    esac
    wrong=$((wrong + 1))
    echo "$page: nothing is at $link"
  done
done

echo "$wrong lists or links are wrong"
[ $wrong = 0 ]
