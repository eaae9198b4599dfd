#!/bin/sh
# Runs each fuzzer of build/fuzz for some seconds, starting with its committed corpus. The inputs that it finds stay in
# build/fuzz: new inputs in corpus/NAME, and, beside that folder, inputs that crash.
# Usage: tools/fuzz.sh [SECONDS]
set -eu
for fuzzer in build/fuzz/fuzz/fuzz_*[!.]; do
  [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
  name=${fuzzer##*/fuzz_}
  mkdir -p "build/fuzz/corpus/$name"
  echo "$name, ${1:-60} seconds:"
  "$fuzzer" -max_total_time="${1:-60}" -artifact_prefix="build/fuzz/$name-" "build/fuzz/corpus/$name" "fuzz/corpus/$name"
done
