#!/bin/sh
# runs: long not:asan
# kolk advise, report and replay on what the real heaptrack records: the advice names the lines of the source, and counts
# and peaks are those of kolk record. KOLK is the path of the command.
# Usage: CC=... heaptrack.sh
set -u
command -v heaptrack > /dev/null || { echo "skipped: there is no heaptrack"; exit 77; }
. tests/cli/checks.sh

cat > program.c << 'END'
#include <stdlib.h>

struct node {
    struct node *next;
    char rest[40];
};

static char *volatile text;
static void *volatile kept[300];

__attribute__((noinline)) static struct node *node_new(struct node *next) {
    struct node *node = malloc(sizeof *node);
    node->next = next;
    return node;
}

__attribute__((noinline)) static void slot_fill(int i) {
    free(kept[i % 300]);
    kept[i % 300] = malloc(88); /* <here> */
}

__attribute__((noinline)) static char *line_new(void) {
    return malloc(64);
}

int main(void) {
    for (int round = 0; round < 20; round++) {
        struct node *list = NULL, *next;
        for (int i = 0; i < 100; i++) list = node_new(list);
        for (; list; list = next) {
            next = list->next;
            free(list);
        }
    }
    for (int i = 0; i < 3000; i++) slot_fill(i);
    for (size_t size = 1; size < 500; size++) text = realloc(text, size);
    for (int i = 0; i < 200; i++) {
        char *lines[2] = {line_new(), line_new()};
        free(lines[0]);
        text = realloc(lines[1], 100);
        free(text);
    }
    return 0;
}
END
run 0 "$CC" -g -O1 -w -o program program.c
newline='a
q b'
run 0 timeout 300 heaptrack -o heaptrack.program.17 ./program "$newline"
if [ -e heaptrack.program.17.gz ]; then # where heaptrack has no zstd
  gzip -d heaptrack.program.17.gz
  mv heaptrack.program.17 heaptrack.program.17.zst
fi
check 'its file' [ -s heaptrack.program.17.zst ]

# ---- the advice ----

run 0 "$kolk" advise heaptrack.program.17.zst
prints '^arena  *node_new_pool  *48  *16  *120  *-  *2,000 ' '^pool  *slot_fill_pool  *88  *8  *336  *LIFO  *3,000 ' \
  '^node_new_pool: node_new (program.c:12)$' '^slot_fill_pool: slot_fill (program.c:19)$' \
  '^  2,000 allocations of 48 bytes, at most 100 alive. They die together, 100 at a time on average: ' \
  '^  3,000 allocations of 88 bytes, at most 300 alive. They come and go all along; by which threads is not recorded. ' \
  '^  400 allocations of 64 bytes, at most 2 alive. 200 of them begin or end right next to an operation on a block of another size, as with realloc' \
  '^leave it: main (program.c:[0-9]*)$' 'Sizes vary, from 1 to 499 bytes' \
  '^Recorded by heaptrack, which does not tell which block is freed: ' \
  'cannot be told: the trace has no processor time. kolk record writes it.$' \
  '^heaptrack does not record where blocks are freed, by which threads, which of them are resized '
check 'no place of a free' [ "$(grep -c 'Freed at' out)" -eq 0 ]
run 0 "$kolk" advise -o pools.h heaptrack.program.17.zst
check 'the header says what is not known' grep -q '^ [*] heaptrack does not record where blocks are freed' pools.h
echo '#include "pools.h"' > use.c
run 0 "$CC" -std=c11 -Wall -Wextra -Werror -I"$top/include" -fsyntax-only use.c

# Prints a line for each source of the advice: its place, size, allocations and peak. Those in main are resizes, which
# heaptrack records as allocations, and those in line_new are resized.
sources() {
  awk -F '": ' '{ sub(/,$/, "") } /"source"/ { source = $2 } /"size"/ { size = $2 } /"allocations"/ { allocations = $2 }
    /"peak"/ { print source, size, allocations, $2 }' "$1" | grep -v '"main \|"line_new ' | sort
}

run 0 "$kolk" advise --json -o heaptrack.json heaptrack.program.17.zst
check 'what recorded it' grep -q '"recorded_by": "heaptrack"' heaptrack.json
for key in threads freed_by_others resized freed_at failed_left_out unknown_left_out program_ns low_percent; do
  check "no $key" [ "$(grep -c "\"$key\"" heaptrack.json)" -eq 0 ]
done
sources heaptrack.json > known
check 'two pools' [ "$(wc -l < known)" -eq 2 ]

# ---- the same program, recorded by kolk ----

value() { sed -n "s/^  \"$2\": \([0-9]*\),*$/\1/p" "$1"; }

run 0 "$kolk" report --json --no-advice -o heaptrack.data heaptrack.program.17.zst
check 'no resizes' [ "$(grep -c '"resizes"' heaptrack.data)" -eq 0 ]
if "$kolk" record -q -o program.trace.zst -- ./program "$newline" 2> err; then
  run 0 "$kolk" report --json --no-advice -o record.data program.trace.zst
  run 0 "$kolk" advise --json -o record.json program.trace.zst
  for what in bytes blocks; do # heaptrack brings a block of libstdc++ into the program, which lives to the end
    all=$(($(value heaptrack.data $what) - $(value record.data $what)))
    peak=$(($(value heaptrack.data peak_$what) - $(value record.data peak_$what)))
    check "$what: $all more in all, $peak more at the peak" [ "$all" -eq "$peak" ]
  done
  if grep -q 'node_new (program.c:12)' record.json; then
    sources record.json > out
    check 'the same sources, sizes, counts and peaks' cmp -s known out
  else
    skip "this kolk reads no debug information, so its recordings have no source lines"
  fi
else
  skip "no recording can be made here: $(cat err)"
fi

# ---- the report, and replay ----

run 0 "$kolk" report heaptrack.program.17.zst
check 'the default name' [ -s program.html ]
check 'what recorded it' grep -q '"recorded_by": "heaptrack"' program.html
check 'the line' grep -qF '"19": "    kept[i % 300] = malloc(88); /* \u003chere> */"' program.html
run 0 "$kolk" replay heaptrack.program.17.zst
prints '^Recorded by heaptrack, which does not tell which block is freed: '
run 0 "$kolk" replay --json heaptrack.program.17.zst
prints '"recorded_by": "heaptrack"'
check 'nothing is said of what is left out' [ "$(grep -c left_out out)" -eq 0 ]

# ---- other forms of the file ----

zstd -dcqf heaptrack.program.17.zst > plain 2> err || cp heaptrack.program.17.zst plain
run 0 "$kolk" advise --json -o plain.json plain
sources plain.json > out
check 'the same, plain' cmp -s known out
gzip < plain > plain.gz
refused 3 "plain.gz: line 1: it is compressed by gzip; 'gzip -dc FILE' writes what can be read, and - reads it from there" advise plain.gz
gzip -dc plain.gz > again
run 0 "$kolk" advise --json -o stdin.json - < again
sources stdin.json > out
check 'the same from stdin' cmp -s known out
run 0 timeout 300 heaptrack --raw -o raw ./program
run 3 "$kolk" report raw.raw.*
check 'its sentence' grep -q ': line 2: this is a raw recording of heaptrack, which heaptrack_interpret must read first$' err
finish
