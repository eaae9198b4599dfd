#!/bin/sh
# runs: once
# Each member of a descriptor is set by a test of its kind and named in README.md or docs, and has an initialiser for
# C++20. A descriptor is a struct kolk_..._desc, or another struct whose members have KOLK_OR_0_. Each status is used in
# the sources and in a test.
# Usage: members.sh
set -eu
wrong=$(mktemp)
trap 'rm -f "$wrong" "$wrong".*' EXIT

# Members that no model sets but other tests of the kind do.
tested_elsewhere=' bytemap.name pool.on_low queue.move slotmap.move '

# Members of kolk_pool_desc, `full` and `life` that are not options: pools without options obey them as well.
plain=' name object_size object_align capacity generations tag low_water keep memory_size budget on_evict context debug full life '

pages=$(find docs -name '*.md')

# Prints a line for each member: file, struct, member, and "bare" if it has no initialiser.
list_members() {
  awk '
    /^typedef struct kolk_[a-z_]* [{]/ { name = $3; text = ""; count = marked = 0; next }
    name == "" { next }
    /^}/ {
      if (name ~ /_desc$/ || marked) for (n = 1; n <= count; n++) print FILENAME, name, members[n]
      name = ""
      next
    }
    {
      text = text " " $0
      gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "", text)
      if (text ~ /\/\*/ || text !~ /; *$/) next
      bare = text ~ /KOLK_OR_0_/ ? "" : " bare"
      if (!bare) marked = 1
      gsub(/ KOLK_OR_0_|; *$/, "", text)
      if (match(text, /\(\*[a-z_]+\)/)) text = substr(text, RSTART + 2, RLENGTH - 3)
      declared = split(text, names, /,/)
      for (n = 1; n <= declared; n++) {
        sub(/\[.*/, "", names[n])
        sub(/.*[ *]/, "", names[n])
        members[++count] = names[n] bare
      }
      text = ""
    }' "$@"
}

list_members include/kolk/*.h adapters/*/kolk/*.h > "$wrong.members"
[ "$(awk '{ print $2 }' "$wrong.members" | sort -u | wc -l)" -ge 12 ] || { echo "Descriptors are not found any more."; exit 1; }

while read -r header name member bare; do
  case $member in *_ | full | life) continue ;; esac # private; groups, whose members have lines of their own
  kind=$(basename "$header" .h)
  case $kind in
    base) tests="tests/pool/*model* tests/shared/*.[ch]" ;; # kolk_life
    budget | shared | resource | pq | sqlite | tcp) tests="tests/$kind/*.[ch]" ;; # their models leave options to other tests
    *) tests="tests/$kind/*model* tests/$kind/*descriptor*" ;;
  esac
  case $tested_elsewhere in *" $kind.$member "*) tests="tests/$kind/*.[ch]" ;; esac
  # shellcheck disable=SC2086
  grep -Eqs "(\.|->)$member *=[^=]" $tests ||
    echo "$header: $name.$member: no test in $tests sets it. Let the model take it, or add it to tested_elsewhere."
  # shellcheck disable=SC2086
  grep -Eq "(\.|->|\`)$member\b" README.md $pages ||
    echo "$header: $name.$member: neither README.md nor docs name it, as .$member or in backticks. Say there what it is for."
  [ -z "$bare" ] || echo "$header: $name.$member: it needs KOLK_OR_0_ (base.h)."
done < "$wrong.members" > "$wrong"

for name in $(awk '{ print $2 }' "$wrong.members" | sort -u); do
  grep -q "is_plain<$name>" tests/compile/descriptors.cc || echo "tests/compile/descriptors.cc does not say is_plain<$name>."
done >> "$wrong"

awk '$2 ~ /^(kolk_pool_desc|kolk_pool_full|kolk_life)$/ { print $3 }' "$wrong.members" > "$wrong.given"
sed -n '/^KOLK_FOLDED_INLINE_ bool kolk_pool_has_options_(/,/ kolk_pool_init(/p' include/kolk/pool.h > "$wrong.is_plain"
while read -r member; do
  case $plain in *" $member "*) continue ;; esac
  grep -Eq -- "->(life\.)?$member\b" "$wrong.is_plain" ||
    echo "include/kolk/pool.h: kolk_pool_has_options_ does not look at .$member. Without it a program that has no other option ignores it."
done < "$wrong.given" >> "$wrong"

sed -nE 's/^    X\((KOLK_[A-Z0-9_]+), .*/\1/p' include/kolk/base.h > "$wrong.statuses"
[ "$(wc -l < "$wrong.statuses")" -ge 50 ] || { echo "Statuses are not found any more."; exit 1; }
while read -r status; do
  grep -qw "$status" src/*/*.c adapters/*/*.c || echo "include/kolk/base.h: $status: nothing in src or adapters has it."
  grep -qw "$status" tests/*/*.[ch] || echo "include/kolk/base.h: $status: no test expects it."
done < "$wrong.statuses" >> "$wrong"

cat "$wrong"
echo "$(wc -l < "$wrong.members") members, $(wc -l < "$wrong.statuses") statuses, $(wc -l < "$wrong") complaints"
[ ! -s "$wrong" ]
