#!/bin/bash
# Modified condition/decision coverage: for each condition within && and ||, did the tests show that it alone can change
# the decision? Prints the table of all files, then each decision of the pools (src/pool, slotmap and bytemap) that is
# not fully covered, with the combinations that occurred. Fails if less than 98 % of the conditions of these files are
# covered. The long tests are shortened.
# Usage: tools/mcdc.sh
set -euo pipefail
build=build/mcdc
version=19
export LLVM_PROFILE_FILE=$PWD/$build/profiles/%m.profraw # %m: one file per program
export KOLK_TEST_SEED=1 KOLK_TEST_OPS_AT_MOST=1000000 KOLK_TEST_LENGTH=6

rm -rf $build/profiles
tools/preset.sh mcdc
llvm-profdata-$version merge -sparse $build/profiles/*.profraw -o $build/all.profdata

objects=()
for program in $build/tests/test_* $build/fuzz/fuzz_* $build/kolk; do
  [[ ! -f $program || ! -x $program ]] || objects+=(-object "$program")
done

# cover COMMAND SOURCE...: runs llvm-cov without its warnings about functions of the same name in several programs, such
# as main.
cover() {
  { llvm-cov-$version "$1" -instr-profile $build/all.profdata "${objects[@]:1}" "${@:2}" 2>&1 >&3 |
    grep -v 'have mismatched data' >&2 || true; } 3>&1
}

cover report --show-mcdc-summary -sources src include | awk '/^Filename/ || $NF ~ /%$|^-$/ {
  printf "%-24s %10s %10s %8s\n", $1, $1 == "Filename" ? "conditions" : $(NF - 2), $1 == "Filename" ? "missed" : $(NF - 1),
    $1 == "Filename" ? "MC/DC" : $NF }'

pools=(src/{pool,slotmap,bytemap}/*.[ch])
cover show --show-mcdc -sources "${pools[@]}" | awk '
  /^\/.*:$/ { file = $0; sub(".*/src/", "src/", file); sub(":$", "", file) }
  { sub(/^[ |]+/, "") }
  /MC\/DC Decision Region/ { split($0, at, /[(:)]/); seen = missed = ""; conditions = 0 }
  /^Condition C/ { gsub(/[()]/, ""); place[++conditions] = $4 }
  /^[0-9]+ \{/ { sub(/^[0-9]+ /, ""); sub(/ +\}/, " }"); seen = seen " " $0 }
  /^C[0-9]+-Pair: not covered/ { number = $1; gsub(/[^0-9]/, "", number); missed = missed " " place[number] }
  /^MC\/DC Coverage for Decision/ {
    where = file ":" at[2]
    if (missed == "" || shown[where missed seen]++) next
    for (line = 0; line < at[2]; line++) if ((getline text < file) <= 0) break
    close(file)
    sub(/^ +/, "", text)
    printf "%s: %s\n    the condition at%s; seen:%s\n", where, text, missed, seen == "" ? " nothing" : seen
  }'
cover report --show-mcdc-summary -sources "${pools[@]}" | awk '/^TOTAL/ {
  printf "the pools: %d of %d conditions, %s; 98 %% are required\n", $(NF - 2) - $(NF - 1), $(NF - 2), $NF
  exit $NF + 0 < 98 }'
