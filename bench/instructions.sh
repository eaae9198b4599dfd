#!/bin/sh
# bench/instructions.sh PROGRAMS: prints, as CSV, the instructions of an alloc and a free, as callgrind counts them in
# two loops of PROGRAMS/pool: `recorded`, with 100 objects alive, and `burst`. A figure is what 100,000 more iterations
# take, without the loop's own instructions. It includes the share of slow paths, and differs from run to run by less
# than its last digit.
set -eu
pool=${1:?usage: bench/instructions.sh PROGRAMS}/pool
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=20000 # see run.sh

# total ITERATIONS BENCHMARK
total() {
  PAIRS=$1 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$pool" --benchmark_filter="^$2/iterations" \
    2>&1 > /dev/null | awk '/Collected :/ { print $NF }'
}

more() { echo $(($(total 200000 "$1") - $(total 100000 "$1"))); }

"$pool" --benchmark_list_tests | sed -n 's|^burst_100/pair/||p' | {
  echo who,recorded,burst
  while read -r who; do
    recorded=$(more "recorded_100/pair/$who")
    burst=$(more "burst_100/pair/$who")
    [ "$recorded" -ge 100000 ] || continue # its library is not there
    if [ "$who" = loop ]; then
      recorded_loop=$recorded burst_loop=$burst
    fi
    awk "BEGIN { printf \"$who,%.1f,%.1f\n\", ($recorded - $recorded_loop) / 1e5, ($burst - $burst_loop) / 1e5 }"
  done
}
