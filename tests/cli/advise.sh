#!/bin/sh
# runs: long not:asan
# kolk advise: the exact advice for a program whose types have known lives (advise.awk); the header that it writes,
# compiled as C and C++ with all warnings, in a program that fills each pool, beyond its capacity; and invalid traces. KOLK is the path of
# the command.
# Usage: CC=... CXX=... KOLK=... advise.sh LIBRARY [OPTION...]    what programs are linked with
set -u
library=$(realpath "$1")
shift
. tests/cli/checks.sh
awk -f "$top/tests/cli/advise.awk" > known
awk -v mtrace=1 -f "$top/tests/cli/advise.awk" > flat

# ---- the advice: each line is the advice, its name or source, size, capacity, alignment and threads ----

cat > read.cmake << 'END'
file(READ result.json result)
string(JSON program ERROR_VARIABLE missing GET "${result}" program_ns)

# Both gains at this place must be intervals, in nanoseconds, and in percent if the program's time is known.
function(check_gains)
  foreach(run IN ITEMS one_run repeated)
    foreach(unit IN ITEMS ns percent)
      string(JSON low ERROR_VARIABLE missing GET "${result}" ${ARGN} ${run} low_${unit})
      if(unit STREQUAL "percent" AND NOT program)
        if(NOT missing)
          message(FATAL_ERROR "${run}: ${low} percent of an unknown time")
        endif()
        continue()
      endif()
      string(JSON median GET "${result}" ${ARGN} ${run} median_${unit})
      string(JSON high GET "${result}" ${ARGN} ${run} high_${unit})
      if(missing OR low GREATER median OR median GREATER high)
        message(FATAL_ERROR "${ARGN} ${run}: ${low} to ${median} to ${high} ${unit}")
      endif()
    endforeach()
  endforeach()
endfunction()

string(JSON count LENGTH "${result}" sources)
math(EXPR last "${count} - 1")
foreach(i RANGE ${last})
  set(line)
  foreach(key IN ITEMS advice name source size capacity align threads)
    string(JSON value ERROR_VARIABLE missing GET "${result}" sources ${i} ${key})
    if(missing)
      set(value -)
    endif()
    if(key STREQUAL source AND NOT line MATCHES ",-$")
      continue()
    endif()
    list(APPEND line "${value}")
    string(REPLACE ";" "," line "${line}")
  endforeach()
  list(APPEND lines "${line}")
  string(JSON advice GET "${result}" sources ${i} advice)
  foreach(key IN ITEMS malloc_ns_per_operation pool_ns_per_operation malloc_bytes pool_bytes)
    if(NOT advice STREQUAL "leave it")
      string(JSON value GET "${result}" sources ${i} ${key})
      if(NOT value GREATER 0)
        message(FATAL_ERROR "${key}: ${value}")
      endif()
    endif()
  endforeach()
  if(NOT advice STREQUAL "leave it")
    check_gains(sources ${i})
  endif()
endforeach()
check_gains()
list(SORT lines)
list(JOIN lines "\n" text)
file(WRITE lines "${text}\n")
END

advises() { # TRACE: the advice must equal the file `expected`
  run 0 "$kolk" advise --json -o result.json "$1"
  cmake -P read.cmake > out 2> err
  check "JSON of $1" [ $? -eq 0 ]
  diff expected lines > out
  check "the advice for $1" [ $? -eq 0 ]
}

cat > expected << 'END'
arena,leaf_add_pool,24,440,8,1
arena,request_new_pool,112,40,16,1
arena,token_new_pool,32,1656,16,1
leave it,-,buffer_new (buffer.c:2),128,-,-,1
leave it,-,grid_new (grid.c:2),64,-,-,1
leave it,-,image_new (image.c:2),16384,-,-,1
leave it,-,name_new (name.c:2),37,-,-,1
leave it,-,rows_new (rows.c:2),64,-,-,1
leave it,-,state_new (state.c:2),256,-,-,1
leave it,-,text_new (text.c:3),64,-,-,1
leave it,-,xmalloc (x.c:5) < xstrdup (x.c:19),67,-,-,1
pool,game_sparks_make_pool,64,4400,16,1
pool,list_add_pool,40,32,8,1
pool,node_new_pool,48,120,16,1
pool,vector_new_64_pool,64,16,16,1
shared pool,message_new_pool,80,256,16,2
END
advises known

# Without stacks: allocations through xmalloc are distinguished by size, and there is one thread. xfree frees texts and
# nodes, so that the two sources of nodes are not joined.
cat > expected << 'END'
arena,request_new_pool,112,40,16,1
arena,token_new_pool,32,1656,16,1
arena,xmalloc_24_pool,24,464,8,1
leave it,-,prog:(buffer_new+0x10)[0x1000],128,-,-,1
leave it,-,prog:(image_new+0x10)[0x1000],16384,-,-,1
leave it,-,prog:(name_new+0x10)[0x1000],37,-,-,1
leave it,-,prog:(state_new+0x10)[0x1000],256,-,-,1
leave it,-,prog:(text_new+0x10)[0x1000],64,-,-,1
leave it,-,prog:(xmalloc+0x10)[0x1000],67,-,-,1
pool,game_sparks_make_float_pool,64,4400,16,1
pool,message_new_pool,80,16,16,1
pool,node_copy_pool,48,48,16,1
pool,node_new_pool,48,120,16,1
pool,vector_new_64_pool,64,16,16,1
pool,xmalloc_40_pool,40,32,8,1
END
advises flat

printf '= Start\n@ 1 + 1000 10\n= Run c8 64\n= Run 64 5a\n= Run 64 78\n= Ran 64 0 64\n= End\n' > measured # no pool to measure
run 0 "$kolk" advise measured
check 'the first line' [ "$(head -n 1 out)" = 'kolk run -- ...: -20.0 to 50.0 % less processor time, measured in 3 runs' ]
run 0 "$kolk" advise --json measured
prints '"kolk_run": {' '"runs": 3' '"low_percent": -20' '"median_percent": 10' '"high_percent": 50'
run 0 "$kolk" advise known
check 'the first line' [ "$(head -n 1 out)" = 'kolk run -- ...: not measured. It needs no change to the program; kolk record --runs 5 -- ... measures it.' ]
prints '^known: 21,550 allocations by 18 sources$' '^advice  *name  *size  *align  *capacity  *allocations ' \
  '^pool  *node_new_pool  *48  *16  *120  *3,000  *13.9 %  *[0-9.]*  *[0-9.]*  *[0-9]' \
  '^shared pool  *message_new_pool ' '^node_new_pool: node_new (tree.c:10) and node_copy (tree.c:20)$' \
  '^list_add_pool: list_add (list.c:9), through xmalloc$' '^leave it: text_new (text.c:3)$' \
  ' They come from 2 places, and need one pool, as the same code frees them without telling them apart. ' \
  '^  Freed at node_free (tree.c:70), through xfree.$' \
  '^  Freed at xmalloc (x.c:5), as are objects of other sizes.$' \
  ' All of them are arrays, as calloc is asked for several objects at once: ' \
  ' All of them come from realloc of NULL, as arrays do that grow: another run may resize them.$' \
  'They come and go all along, and one thread has them all. 100 live to the end.$' \
  'They are freed together, at the end: token_new_pool_clear or token_new_pool_deinit frees all at once.$' \
  'They die together, 30 at a time on average: request_new_pool_clear frees all at once.$' \
  'They live to the end of the recording: they need no free but leaf_add_pool_deinit.$' \
  '2 threads allocate or free them; 992 are freed by another thread than the one that allocated them.' \
  'Sizes vary, from 5 to 64 bytes, and a pool has one size. A kolk_heap has all sizes.$' \
  'All of them are resized by realloc, which a pool cannot do.$' 'They are large: to use 16.0 KiB takes longer ' \
  'multiples of 4, and 37 is none: ' 'Never more than one is alive: keep one, and use it again.$' \
  '^leave it: sources with less than 1 % of the allocations each, or fewer than 100: 2$' \
  '^From pools would come 78.4 % of the allocations, in [0-9.]* times the time '
prints '^  It saves [-0-9.]* to [-0-9.]* % of the program.s processor time in one run, [-0-9.]* to [-0-9.]* % if its work is repeated.$' \
  '^Together they save [-0-9.]* to [-0-9.]* % of the program.s processor time in one run, [-0-9.]* to [-0-9.]* % if its work' \
  '^The program took 900000.0 ms of processor time. The intervals contain the median at 95 %.$' \
  '^Pools would not make this program faster: together they save no'
check 'no advice to record stacks' [ "$(grep -c 'kolk record writes' out)" -eq 0 ]
run 0 "$kolk" advise flat
prints '^Where the trace has no stacks, sources are told apart by caller and size; kolk record writes stacks.$' \
  'The other sizes vary, from 8 to 67 bytes' \
  '^  It saves \(an amount \|.* to [-0-9.]* ms of processor time \)' \
  '^How much of the program.s time that is cannot be told: the trace has no processor time. kolk record writes it.$'
check 'no share of an unknown time' [ "$(grep -c 'no more than about 1 %' out)" -eq 0 ]

# ---- blocks of many sizes that die together ----

awk 'BEGIN {
  print "= Start"
  for (i = 0; i < 10; i++) {
    for (n = 1; n <= 60; n++) printf "@ a + 0x%x 0x%x\n", 4096 * n, 16 + 8 * (n * 7 % 120)
    for (n = 1; n <= 60; n++) printf "@ b - 0x%x\n", 4096 * (n * 7 % 61)
  }
}' > requests
run 0 "$kolk" advise requests
prints 'Sizes vary, from 48 to 968 bytes, and a pool has one size. As they die together, a kolk_heap of their own would end them'

# ---- objects that KOLK_RECORD_POOLS has recorded, beside those of malloc and of a zone ----

for own in 0 8; do
  awk -v own=$own 'BEGIN {
    print "= Start"
    for (i = 2; i < 1000; i++)
      for (by = 1; by <= 3; by++) {
        high = by < 3 ? own : 0
        printf "@ %d + 0x%d%015x 0x18\n", by, high, 64 * (3 * i + by)
        if (i >= 4) printf "@ %d - 0x%d%015x\n", by, high, 64 * (3 * i - 6 + by)
      }
    print "= Call 1 bullets\n= Call 2 spawn (game.c:22)\n= Call 3 game+0x1a2b\n= End"
  }' > pooled
  run 0 "$kolk" advise pooled
  prints '^spawn_pool: spawn (game.c:22)$' '_pool: game+0x1a2b$'
  [ $own = 8 ] || prints '^bullets_pool: bullets$'
  [ $own = 0 ] || prints '^leave it: bullets$' " alive. They are in a pool of kolk's already.$"
done

# ---- an allocator of the program's own, in one block ----

zone() { # SIZE OTHERS END: a block of this size, so many other ones, and where the first one is freed
  awk -v size="$1" -v others="$2" -v end="$3" 'BEGIN {
    print "= Start\n= Call z Z_Init (z_zone.c:77) < main\n= Call a add (a.c:1) < main"
    print "@ z + 0x1000 0x" size
    for (i = 1; i <= others; i++) {
      if (i == others && end == "before") print "@ z - 0x1000"
      printf "@ a + 0x%x 0x%x\n", 1048576 * 64 + 4096 * i, 16 + i % 1000
      if (i < others) printf "@ a - 0x%x\n", 1048576 * 64 + 4096 * i
    }
    if (end == "after") print "@ z - 0x1000"
  }' > zone
  run 0 "$kolk" advise zone
}
own='^1 block of 16.0 MiB lives throughout, by Z_Init (z_zone.c:77): perhaps an allocator of the program.s own is in it'
zone 1000000 500 after
prints '^no pool: ' "$own"
zone 1000000 500 never
prints "$own"
for others in '1000000 500 before' '1000000 9999 never' 'fffff 500 never' '8 500 never'; do
  zone $others
  check "no allocator: $others" [ "$(grep -c throughout out)" -eq 0 ]
done

run 0 "$kolk" advise
prints '^sqlite.mtrace.zst: 7,205 allocations by ' '^pool  *libsqlite3_16_pool  *16  *16  *48  *6,305 '

# ---- the header, used by a program that grows each pool as far as it goes ----

strict="-pedantic -Wall -Wextra -Wconversion -Wshadow -Wcast-align -Wundef -Werror -O1 -I$top/include"
run 0 "$kolk" advise -o pools.h known
check 'nothing on stdout' [ ! -s out ]
check 'one line on stderr' [ "$(grep -c '' err)" -eq 1 ]
check 'the totals' grep -q '^kolk: pools.h: 8 pools; together they save [-0-9.]* to [-0-9.]* % of the program.s processor time' err
cat > use.c << 'END'
#include "pools.h"
#include "pools.h"
#include <stdio.h>

#define USE(pool_name, object, size, most)                                                                \
    do {                                                                                                  \
        pool_name pool;                                                                                   \
        kolk_pool_desc desc = pool_name##_desc();                                                         \
        unsigned n = 0;                                                                                   \
        if (desc.capacity != (most)) return 1;                                                            \
        if (sizeof(object) != (size) || pool_name##_init(&pool, &desc) != KOLK_OK) return 1;              \
        while (n < 20 * (most) && pool_name##_alloc(&pool)) n++;                                          \
        printf(#pool_name " %u %s\n", n, desc.name);                                                     \
        if (n != 20 * (most)) return 1; /* beyond the capacity it grows */                                \
        pool_name##_clear(&pool);                                                                         \
        pool_name##_deinit(&pool);                                                                        \
    } while (0)

int main(void) {
    message_new_pool shared;
    message_new_pool_local local;
    kolk_shared_desc mail = message_new_pool_desc();
    unsigned mails = 0;
    USE(node_new_pool, node_new_object, 48, 120);
    USE(token_new_pool, token_new_object, 32, 1656);
    USE(list_add_pool, list_add_object, 40, 32);
    USE(leaf_add_pool, leaf_add_object, 24, 440);
    USE(request_new_pool, request_new_object, 112, 40);
    USE(vector_new_64_pool, vector_new_64_object, 64, 16);
    USE(game_sparks_make_pool, game_sparks_make_object, 64, 4400);
    if (message_new_pool_init(&shared, &mail) != KOLK_OK) return 1;
    if (message_new_pool_local_init(&local, &shared) != KOLK_OK) return 1;
    while (mails < 20 * 256 && message_new_pool_alloc(&local)) mails++;
    message_new_pool_local_deinit(&local);
    message_new_pool_deinit(&shared);
    return mail.capacity != 256 || mails < 20 * 256;
}
END
run 0 $CC -std=c11 $strict use.c "$library" -o use -pthread "$@"
run 0 ./use
prints "^node_new_pool 2400 node_new$" "^game_sparks_make_pool 88000 game_sparks_make$"
run 0 $CXX -std=c++17 $strict -x c++ use.c -x none "$library" -o use -pthread "$@"
run 0 ./use
for form in '/[*] list_add (list.c:9), through xmalloc' 'node_free (tree.c:70), through xfree[.]$' \
  'It saves [-0-9.]* to [-0-9.]* % of the program.s processor time in one run, ' 'replace it by your own type' '#ifndef KOLK_ADVISED_POOLS_H' \
  'desc.max_capacity = 2147483647; /[*] in effect no limit, ' 'Replayed: [0-9.]* ns an operation, malloc [0-9.]*; '; do
  check "the header has $form" grep -q "$form" pools.h
done

printf '= Call a f*/ ]x; /* (a.c:1)\n' > rough
for i in $(seq 200); do printf '@ a + 0x%x00 0x40\n' "$i"; done >> rough
printf '= Call b 0x12\n@ b + 0x10 0x40\n' >> rough
run 0 "$kolk" advise -o rough.h rough
echo '#include "rough.h"' > rough.c
run 0 $CC -std=c11 $strict -fsyntax-only rough.c
check 'a name from what is no identifier' grep -q 'KOLK_POOL_TYPE(f_x_pool, f_x_object)' rough.h

printf '@ a + 0x10 0x40\n' > small
run 0 "$kolk" advise small
prints '^no pool: nothing here is allocated as ' '^leave it: sources with less than 1 % .*: 1$'
run 0 "$kolk" advise -o small.h small
run 0 $CC -std=c11 $strict -fsyntax-only -x c small.h
check 'that there are none' grep -q 'None: nothing is allocated there' small.h

# ---- invalid traces, and words that are not understood ----

refused 3 'none: cannot be opened: No such file or directory' advise none
: > empty
refused 3 'empty: line 1: the file is empty' advise empty
printf '= Start\n= End\n' > idle
refused 3 'idle: no allocation is recorded in it' advise idle
refused 3 'idle: no allocation is recorded in it' advise -o idle.h idle
check 'and no header' [ ! -e idle.h ]
printf '= Call a\n' > half
refused 3 "half: line 1: expected '= Call CALLER FRAMES', not 'a' behind '= Call'" advise half
refused 2 "x.h: its name asks for a header, and --json for something else" advise --json -o x.h known
refused 2 "advise takes [TRACE], and there is one more: 'b'" advise a b
refused 1 'none/x.h: cannot be written: No such file or directory' advise -o none/x.h small
run 0 "$kolk" help advise
prints '^  kolk advise \[OPTION...\] \[TRACE\]$' 'pools.h'

finish
