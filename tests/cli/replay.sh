#!/bin/sh
# The kolk command as people use it: its output and exit code, for good and bad traces. KOLK is the path of the command.
set -u
. tests/cli/checks.sh
trace=$top/traces/sqlite.mtrace.zst

# ---- a good trace, in each form ----

run 0 "$kolk" replay
prints '^sqlite.mtrace.zst: 14,443 operations, 12 call sites, at the peak 343 blocks and ' \
  '^  size  call sites  allocations   share  capacity      bytes$' \
  '^    16 *2 *6,306  87.2 %  *36 *576 B$' '^malloc *3 *130 *1.8 % *42 ' \
  '^pools  *[0-9.]* ' '^malloc alone  *[0-9.]* ' '^98.2 % of the allocations came from pools that grew to ' \
  '^7,238 objects were filled, and found whole when they were freed or resized.$'
check 'no colors in a file' [ -z "$(tr -dc '\033' < out)" ]
check 'nothing on stderr' [ ! -s err ]

run 0 "$kolk" replay "$trace"
prints "^$trace: 14,443 operations"
"$kolk" replay - < "$trace" > out 2> err
check 'stdin, compressed' [ $? -eq 0 ]
prints '^stdin: 14,443 operations'

printf '@ a + 0x10 0x40\n@ a + 0x20 0x800\n@ a < 0x10\n@ b > 0x30 0x80\n@ a + (nil) 0x99\n@ a - 0x77\n' > small
run 0 "$kolk" replay small
prints '^small: 5 operations, 2 call sites, at the peak 2 blocks and 2.1 KiB$' \
  '^Failed allocations, left out: 1$' '^Frees and resizes of what was allocated before the recording, left out: 1$' \
  '^   128 *1 *1  33.3 %' '^66.7 % of the allocations came from pools'

# ---- JSON, read back by somebody else's reader ----

run 0 "$kolk" replay --json --seed 7 -o result.json small
check 'nothing on stdout' [ ! -s out ]
cat > read.cmake << 'END'
file(READ result.json result)
foreach(path IN ITEMS trace operations allocations blocks_at_peak failed_left_out "pools;1;size" "pools;1;capacity"
        "larger;bytes" "from_pools;objects_checked" "from_malloc;objects_checked")
  string(JSON value GET "${result}" ${path})
  string(APPEND values "${value} ")
endforeach()
foreach(path IN ITEMS "from_pools;ns_per_operation" "from_malloc;ns_per_operation" times_as_fast pool_bytes_committed)
  string(JSON value GET "${result}" ${path})
  if(NOT value GREATER 0)
    message(FATAL_ERROR "${path}: ${value}")
  endif()
endforeach()
file(WRITE values "${values}")
END
cmake -P read.cmake > out 2> err
check 'its JSON' [ "$(cat values)" = 'small 5 3 2 1 128 1 2048 3 3 ' ]

# ---- one pool, with other capacities ----

# Three objects live for 1, 3 and 2 allocations of their own pool, the fourth one to the end; there is another pool.
printf '@ a b + 0x10 0x8\n@ c + 0x90 0x8\n@ a b + 0x20 0x8\n@ a b - 0x10\n@ a b + 0x30 0x8\n@ a b + 0x40 0x8\n@ c - 0x90\n@ a b - 0x20\n@ a b - 0x30\n' > pools
run 0 "$kolk" replay --pool 'a b=3' pools
prints '^a b, as recorded: 4 allocations, at most 3 alive$' '^with 3 slots: at most 3 alive, 0 failed, 0 evicted$'
run 0 "$kolk" replay --pool 'a b=2' pools
prints '^with 2 slots: at most 2 alive, 1 failed, 0 evicted$'
run 0 "$kolk" replay --pool 'a b=2,evict_oldest' pools
prints '^with 2 slots, evict_oldest: at most 2 alive, 0 failed, 1 evicted, when they had lived for 2 to 2 allocations$'
run 0 "$kolk" replay --json -p 'a b=1,evict_oldest' pools
prints '^  "pool": "a b",$' '^  "recorded": 4,$' '^  "recorded_peak": 3,$' '^  "capacity": 1,$' '^  "peak": 1,$' '^  "failed": 0,$' \
  '^  "evicted": 3,$' '^  "youngest_evicted": 1,$' '^  "oldest_evicted": 1$'
refused 2 "pools: no pool has the name 'a' in it. KOLK_RECORD_POOLS (kolk_record.h) records pools" replay --pool a=1 pools
for wrong in '' a '=1' 'a=' 'a=0' 'a=x' 'a=1,' 'a=1,evict' 'a=1000000000' 'a=1,evict_oldest '; do
  refused 2 "--pool expects NAME=SLOTS or NAME=SLOTS,evict_oldest, not '$wrong'" replay --pool "$wrong" pools
done

# ---- invalid traces ----

not_ours="expected '@ CALLER + ADDRESS SIZE' or its like, as glibc's mtrace writes it, not"
refused 3 'none: cannot be opened: No such file or directory' replay none
mkdir folder
refused 3 'folder: it cannot be read: Is a directory' replay folder
: > empty
refused 3 'empty: line 1: the file is empty' replay empty
printf '= Start\n= End\n' > idle
refused 3 'idle: no allocation is recorded in it' replay idle
printf '\177ELF\002\001' > program
refused 3 'program: line 1: the file ends within the line: it is cut off' replay program
printf 'hello\n' > letter
refused 3 "letter: line 1: $not_ours 'hello'" replay letter
{ cat small && printf '\000\000\n'; } > nul
refused 3 "nul: line 7: $not_ours '??'" replay nul
head -c 2000000 /dev/zero | tr '\000' x > long
refused 3 'long: line 1: the line is too long' replay long
head -c 5000 "$trace" > cut.zst
run 0 "$kolk" replay cut.zst
check 'where it is cut' grep -q '^kolk: cut.zst: the recording is cut off in line [0-9,]*, and used up to there; ' err
head -c 1000 "$trace" > cut.zst
refused 3 'cut.zst: line 1: its zstd data end too early' replay cut.zst

# What is before the cut is used, and a sentence says what is missing.
awk 'BEGIN { srand(1); print "= Start"
  for (i = 1; i <= 20000; i++) printf "@ caller%d + 0x%x 0x%x\n", rand() * 1000, i * 4096, rand() * 1000 }' > much
if command -v zstd > /dev/null; then
  zstd -q much
  head -c 80000 much.zst > most.zst
  run 0 "$kolk" replay --json most.zst
  check 'what is missing' grep -q '^kolk: most.zst: the recording is cut off in line [0-9,]*, and used up to there; what kolk record writes last is missing: ' err
  prints '"cut_off_in_line": [0-9]*,$' '"operations": [0-9]*,$'
fi
head -c 2000 much > part
run 0 "$kolk" replay part
check 'what is missing' grep -q '^kolk: part: the recording is cut off in line [0-9]*, and used' err
{ head -c 3000 "$trace" && printf 'x' && tail -c +3002 "$trace"; } > damaged.zst
run 3 "$kolk" replay damaged.zst
check 'that it is damaged' grep -q '^kolk: damaged.zst: line [0-9]*: ' err
printf '@ a + 0x10 0xfffffffffff\n' > huge
run 1 "$kolk" replay huge
check 'how huge it is' grep -q '^kolk: huge: to replay it takes 16.0 TiB after 1 operations, which is more than half' err
check 'and no result' [ ! -s out ]

# ---- the command line ----

run 2 "$kolk"
prints '^  demo ' '^  replay ' '^  3 '
refused 2 "replay takes [TRACE], and there is one more: 'b'" replay a b
refused 2 "replay has no option --fast; 'kolk help replay' lists what it has" replay --fast
refused 2 "--seed expects a whole number from 0, not 'x'" replay --seed x
run 0 "$kolk" help
prints '^  demo ' '^  replay ' '^      --no-color ' '^  3 '
run 0 "$kolk" replay --help
prints '^  kolk replay \[OPTION...\] \[TRACE\]$' 'LD_PRELOAD'
run 0 "$kolk" --version
prints "^kolk [0-9]*\.[0-9]*\.[0-9]*$"

# ---- on a terminal ----

if command -v script > /dev/null; then
  script -qec "'$kolk' replay small" typescript > out 2> err < /dev/null
  check 'colors on a terminal' grep -q "$(printf '\033')\[1m" out
  check 'progress on a terminal' grep -q 'measuring [0-9]* %' out
  script -qec "NO_COLOR=1 '$kolk' replay small 2> err" typescript > out < /dev/null
  check 'no colors with NO_COLOR' [ "$(tr -dc '\033' < out | wc -c)" -eq 0 ]
  script -qec "'$kolk' replay --no-color small 2> err" typescript > out < /dev/null
  check 'no colors with --no-color' [ "$(tr -dc '\033' < out | wc -c)" -eq 0 ]
else
  skip 'there is no command script to play a terminal'
fi

finish
