#!/bin/sh
# runs: longest once
# kolk doctor as people use it: with this machine's tools and without any, stripped, outside the build folder, under
# valgrind. KOLK is the path of the command.
set -u
. tests/cli/checks.sh
library=$(dirname "$kolk")/libkolk.so
HOME=$folder
export HOME
unset KOLK_DEBUG KOLK_STATS KOLK_STATS_AT KOLK_BYPASS XDG_CONFIG_HOME

# ---- on this machine ----

run 0 "$kolk" doctor
prints '^The library$' '^  version  *yes  *[0-9.]*, ABI [0-9]*; ' '^  stale handle  *yes ' '^  queue  *yes  *threads are woken, ' '^  shared pool  *yes  *threads free ' '^  heap  *yes  *blocks of all sizes ' '^The debug mode$' \
  '^  fill  *yes ' '^  guard  *yes ' '^Tools$' '^  watched now  *[a-z]*  *by ' '^The environment$' \
  '^  KOLK_DEBUG  *no  *not set: ' '^The library works\.$'
sanitized=$(grep -c '^  watched now  *yes' out)
check 'nothing on stderr' [ ! -s err ]
check 'no colors in a file' [ -z "$(tr -dc '\033' < out)" ]
for tool in valgrind gdb; do
  if command -v $tool > found; then
    check "$tool is found" grep -Eq "^  $tool  *(yes|partly|no  *it is here)" out
  else
    check "$tool is not found" grep -q "^  $tool  *no  *install $tool" out
  fi
done

run 0 env KOLK_STATS=text 'KOLK_DEBUG=fill,sites:voi*' KOLK_BYPASS=0 "$kolk" doctor --pool voices
prints '^  KOLK_DEBUG  *yes  *a pool named voices gets fill, sites$' '^  KOLK_BYPASS  *no  *objects are in pools$' \
  '^  KOLK_STATS  *yes  *programs write statistics at exit: text$'
check 'the doctor has no statistics of its own' [ ! -s err ]
run 0 env KOLK_STATS=json:pools.json KOLK_STATS_AT=TERM,10s "$kolk" doctor
prints '^  KOLK_STATS  *yes  *programs write statistics at TERM,10s: json:pools\.json$'
run 0 env KOLK_STATS_AT=TERM "$kolk" doctor
prints '^  KOLK_STATS  *no  *.*KOLK_STATS_AT: is set to "TERM", but KOLK_STATS, which says what to write, is not'
check 'the doctor writes no statistics' [ ! -e pools.json ]
run 0 env KOLK_BYPASS=1 "$kolk" doctor
prints '^  fill  *yes ' '^  KOLK_BYPASS  *yes  *objects come from malloc, one by one$' '^The library works\.$'
run 0 env PATH= "$kolk" doctor
prints '^  file and line  *no  *' '^  valgrind  *no  *install ' '^  gdb  *no  *install ' '^  probes  *[a-z]*  *kolk ' \
  '^The library works\.$'

# ---- as JSON, in a file ----

cat > read.cmake << 'END'
file(READ result.json result)
foreach(path IN ITEMS works pool "library;double free;answer" "debug;fill;text" "environment;KOLK_BYPASS;answer")
  string(JSON value GET "${result}" ${path})
  string(APPEND values "${value}|")
endforeach()
foreach(group IN ITEMS library debug tools environment)
  string(JSON checks LENGTH "${result}" ${group})
  math(EXPR last "${checks} - 1")
  foreach(n RANGE ${last})
    string(JSON name MEMBER "${result}" ${group} ${n})
    string(JSON answer GET "${result}" ${group} ${name} answer)
    string(JSON text GET "${result}" ${group} ${name} text)
    if(NOT answer MATCHES "^(yes|partly|no)$" OR text STREQUAL "")
      message(FATAL_ERROR "${group}, ${name}: ${answer}: ${text}")
    endif()
    math(EXPR count "${count} + 1")
  endforeach()
endforeach()
file(WRITE values "${values}${count}\n")
END
run 0 env KOLK_BYPASS=1 "$kolk" doctor --json -p 'a"b' -o result.json
check 'nothing on stdout' [ ! -s out ]
cmake -P read.cmake > out 2> err
lines=$(env PATH= "$kolk" doctor | grep -c '^  ')
check 'its JSON' grep -Eqx "(true|ON)\|a\"b\|(yes|partly)\|it is reported: kolk: doctor: write after free to slot 0: .*\|yes\|$lines" values

# ---- without symbols, and little address space ----

cp "$kolk" stripped
if ! strip stripped 2> err; then
  rm stripped
  skip 'there is no strip'
else
  run 0 ./stripped doctor
  prints '^  function names  *no  *addresses instead: stripped+0x' '^  sites  *yes .* by stripped+0x' \
    '^  gdb .*\(install gdb\|runs no Python\|not beside this program$\)'
fi
if [ "$sanitized" -eq 0 ]; then
  (ulimit -v 2000000 && "$kolk" doctor > out 2> err)
  check 'little address space is no failure' [ $? -eq 0 ]
  prints '^  growth  *partly  *in place: .*max_capacity may come to .*, for want of address space' \
    '^  unused capacity  *partly  *the system gives no '
else
  skip 'sanitizers need more address space than a limit would leave'
fi

# ---- gdb's printers, beside the command and installed ----

if ! gdb -nx -batch -ex 'python print("here")' 2> err | grep -q '^here$'; then
  skip 'there is no gdb with Python'
elif [ ! -e "$library" ]; then
  skip 'there is no libkolk.so beside the command'
else
  library=$(realpath "$library")
  run 0 "$kolk" doctor
  prints "^  gdb  *partly  .*~/.gdbinit says: add-auto-load-safe-path $library\$"
  sed -n 's/^  gdb .* says: //p' out > .gdbinit
  run 0 "$kolk" doctor
  prints "^  gdb  *yes  *it prints pools and handles, as $library tells it\$"
  mkdir -p 'usr[1]/bin' 'usr[1]/lib/some-machine'
  cp "$kolk" 'usr[1]/bin/kolk'
  cp "$library" 'usr[1]/lib/some-machine/libkolk.so.1'
  echo "add-auto-load-safe-path $folder" > .gdbinit
  run 0 'usr[1]/bin/kolk' doctor
  prints "^  gdb  *yes .*/usr\[1\]/lib/some-machine/libkolk.so.1 tells it\$"
  if strip 'usr[1]/lib/some-machine/libkolk.so.1' 2> err; then
    run 0 'usr[1]/bin/kolk' doctor
    prints '^  gdb  *partly .*finds no printers in .*/libkolk.so.1: is that stripped?$'
  fi
fi

# ---- tools that don't end ----

mkdir bin
printf '#!/bin/sh\necho $$ > pid\nexec sleep 1000\n' > bin/gdb
chmod +x bin/gdb
run 0 env PATH="$folder/bin:$PATH" "$kolk" doctor
prints '^  gdb  *no  *it crashed, or took more than 5 seconds$' '^  probes ' '^The library works\.$'
ended() { ! kill -0 "$1" 2> err || grep -q '^State:.Z' "/proc/$1/status"; } # a zombie counts as ended
check 'a tool that hangs is ended' ended "$(cat pid)"

# ---- under memcheck, which does not read the debug information of every compiler ----

if [ "$sanitized" -ne 0 ] || [ ! -e stripped ] || ! valgrind -q true 2> err; then
  skip 'there is no valgrind that can run this program'
else
  run 0 valgrind -q ./stripped doctor
  check 'memcheck has nothing to say' [ ! -s err ]
  if grep -q '^  valgrind  *yes' out; then
    prints '^  watched now  *yes  *by memcheck' '^  unused capacity  *partly  *not tried: memcheck' \
      '^  KOLK_BYPASS  *yes  *not set, but watched'
  fi
fi

# ---- the command line ----

run 0 "$kolk" help doctor
prints '^kolk doctor: says what works on this machine$' '^  -p, --pool NAME  *'
refused 2 "doctor takes no arguments, and there is one more: 'bullets'" doctor bullets

# ---- on a terminal ----

if command -v script > found; then
  script -qec "'$kolk' doctor" typescript > out 2> err < /dev/null
  check 'bold headings on a terminal' grep -q "$(printf '\033')\[1mThe debug mode" out
  script -qec "'$kolk' doctor --no-color 2> err" typescript > out < /dev/null
  check 'no colors with --no-color' [ "$(tr -dc '\033' < out | wc -c)" -eq 0 ]
else
  skip 'there is no command script to play a terminal'
fi

finish
