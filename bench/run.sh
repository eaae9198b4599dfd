#!/bin/sh
# bench/run.sh PROGRAMS [RESULT]: runs the benchmark programs in the directory PROGRAMS and writes RESULT.json,
# RESULT.md, RESULT-components.csv, RESULT-instructions.csv, RESULT-flat.md,
# RESULT-frame.md and RESULT-preload.md, and for queue, shared, resource, heap, nested and ipc RESULT-queue.csv,
# RESULT-queue.md and so on (default: PROGRAMS/results). REPETITIONS=12 (three at each alignment) and MIN_TIME=0.05
# (seconds per repetition) may be set. A run takes about 20 minutes.
set -eu
programs=${1:?usage: bench/run.sh PROGRAMS [RESULT]}
result=${2:-$programs/results}
here=$(dirname "$0")

# jemalloc needs more thread-local storage than a library loaded at run time normally gets.
export GLIBC_TUNABLES=glibc.rtld.optional_static_tls=20000

for name in memory iterate pool bulk slotmap bytemap; do
    echo "$name ..." >&2
    "$programs/$name" --benchmark_enable_random_interleaving=true --benchmark_repetitions="${REPETITIONS:-12}" \
        --benchmark_min_time="${MIN_TIME:-0.05}" --benchmark_report_aggregates_only=true \
        --benchmark_format=console --benchmark_out_format=json --benchmark_out="$programs/$name.json" >/dev/null
done
echo "instructions ..." >&2
"$here/instructions.sh" "$programs" > "$result-instructions.csv"
echo "components ..." >&2
"$programs/components" > "$result-components.csv"
echo "queue, backoff ..." >&2
{ "$programs/queue"; "$programs/backoff" | tail -n +2; } > "$result-queue.csv"
echo "shared ..." >&2
"$programs/shared" > "$result-shared.csv"
echo "resource ..." >&2
"$programs/resource" > "$result-resource.csv"
if [ -x "$programs/select" ]; then # 77: no server is installed, as tools/postgres.sh has printed
  "$here/../tools/with_postgres.sh" "$programs/select" >> "$result-resource.csv" || [ $? = 77 ]
fi
"$programs/flat" > "$result-flat.md"
"$programs/frame" > "$result-frame.md"
echo "heap ..." >&2
"$programs/heap" > "$result-heap.csv"
echo "nested ..." >&2
"$programs/nested" > "$result-nested.csv"
echo "ipc ..." >&2
"$programs/ipc" > "$result-ipc.csv"
echo "preload ..." >&2
python3 "$here/preload.py" "$programs/../libkolk-malloc.so" 5 "$programs/loads" > "$result-preload.md"
python3 "$here/report.py" "$programs" "$result"
cat "$result.md" "$result-queue.md" "$result-shared.md" "$result-resource.md" "$result-flat.md" "$result-frame.md" "$result-heap.md" "$result-nested.md" "$result-ipc.md" "$result-preload.md"
