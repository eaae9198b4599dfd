#!/bin/bash
# runs: long once
# Runs the unit tests and the model tests of pool, slot map and byte map on a Cortex-M4 (newlib) and on a RISC-V with 32
# bits (picolibc), under QEMU. They read the same published vectors as everywhere. Work is shortened. Unless
# KOLK_TEST_EFFORT is release, test_*_worn.c are omitted, and the RISC-V runs only the models, snapshots, vectors,
# handles, ages and free_n; if it is quick, the Cortex-M4 runs only those, and the RISC-V only what build_device runs.
# Prints which programs and tests are left out, and why.
# Usage: tests.sh
set -euo pipefail

# Programs that need what a device lacks.
without='
  test_pool_validity: protected pages
  test_slotmap_debug: the debug mode
  test_pool_tick: memory that is given back to the system
  test_pool_storage: kinds that need an operating system
  test_bytemap_view: the pools of other processes
  test_pool_exhaustive test_slotmap_exhaustive test_pool_exhaustive_worn test_slotmap_exhaustive_worn: minutes
  test_pool_limits: the memory of 2^32 slots
'
# Tests, in programs that run, that need what a device lacks.
left_out='
  test_trim_gives_back test_trim_gives_memory_back test_trim_gives_the_last_page_back test_trim_refused
  test_growth_and_trim_under_load test_keep_and_trim test_trim_tears_down_what_it_touches test_a_trim_after_a_restore
  test_the_last_free_gives_memory_back test_flush_gives_memory_back: memory that is given back to the system
  test_what_is_reserved_is_not_committed test_headroom_is_committed_ahead: memory that is only reserved
  test_the_greatest_count test_overhead_per_slot test_other_capacities test_rollback_after_growth test_no_memory
  test_a_reset_that_allocates_in_deinit: more memory
  test_it_is_listed test_the_name_in_lists_and_reports test_a_pool_that_was_moved: the registry
  test_a_longjmp_out_of_an_eviction test_a_quarantine_of_one test_a_stray_write_is_reported_once test_bypass_without_memory
  test_a_handler_that_frees_the_object test_damage_and_sites test_damage_is_found_and_the_object_filled
  test_failing_allocs test_fills
  test_fills_behind_restored_objects test_lives test_move test_places
  test_profilers_hear_of_lives test_quarantine test_sites test_handles_of_other_pools
  test_a_restore_may_be_jumped_out_of: the debug mode, sites and profilers
'

at_least=200 # tests that must run on each machine

# A slot has as many lives as the program says: 2^32 - 1, or as in its line `with:`.
options=(-std=gnu11 -Os -ffunction-sections -fdata-sections -DKOLK_PAGES_=1 -Iinclude -Isrc -Itests/cmocka)
generations=(-include "$PWD/tests/help/generations.h")
wrap=-Wl,--gc-sections,--wrap=kolk_memory_reserve_,--wrap=kolk_memory_commit_,--wrap=kolk_memory_release_
semihosting=(-nographic -monitor none -serial none -semihosting-config enable=on,target=native)

# choose MACHINE: sets `compiler`, `links` and `starts`
choose() {
  if [ "$1" = cortex-m4 ]; then # gcc's stdint.h hides from newlib that there are 64 bits
    compiler=(arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb -D__int64_t_defined=1)
    links=(--specs=rdimon.specs -T tests/device/arm.ld)
    starts=(qemu-system-arm -M mps2-an386)
  else
    compiler=(riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 --specs=picolibc.specs)
    links=(--oslib=semihost --crt0=semihost
      -Wl,--defsym=__flash=0x80000000,--defsym=__flash_size=4M,--defsym=__ram=0x80400000,--defsym=__ram_size=60M)
    starts=(qemu-system-riscv32 -M virt -bios none)
  fi
}

# check MACHINE PROGRAM: builds the program and runs it
check() {
  local name=${2##*/} log first symbol lives='' wraps=()
  name=${name%.c} log=$folder/$1/programs/$name
  read -r first < "$2"
  [[ $first != *KOLK_GENERATION_MAX=* ]] || lives=${first##*KOLK_GENERATION_MAX=} lives=${lives%% *}
  echo "const unsigned kolk_generation_max = ${lives:-0xffffffff};" > "$log.h"
  "${compiler[@]}" "${options[@]}" -O0 ${lives:+-DKOLK_GENERATION_MAX=$lives} -include "$log.h" -c "$2" -o "$log.o"
  for symbol in $("${compiler[0]%gcc}nm" --defined-only --format=just-symbols "$log.o"); do
    [[ $symbol != __wrap_* ]] || wraps+=("-Wl,--wrap=${symbol#__wrap_}")
  done
  "${compiler[@]}" "$log.o" "$folder/$1"/*.o "${links[@]}" $wrap "${wraps[@]}" -lm -o "$log"
  if ! timeout 120 "${starts[@]}" "${semihosting[@]}" -kernel "$log" > "$log.log" 2>&1 < /dev/null ||
    [[ $'\n'$(< "$log.log") != *$'\n[ OK'* ]]; then
    echo "$name fails on $1:"
    grep -v '^\[ \(OK\|RUN\)' "$log.log"
    failed=1
  fi
}

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$PWD
programs=$(ls tests/pool/test_pool*.c tests/slotmap/test_slotmap*.c tests/bytemap/test_bytemap*.c)
# The names in such a list, without the reasons.
names_in() { sed 's/:.*//' <<< "$1" | tr -s '\n' ' '; }
for name in $(names_in "$without"); do programs=$(grep -v "/$name\.c$" <<< "$programs"); done
some= failed=
[ "${KOLK_TEST_EFFORT:-release}" = quick ] && machines=cortex-m4 || machines='cortex-m4 riscv32'
for machine in $machines; do
  choose $machine
  if ! command -v "${compiler[0]}" > /dev/null || ! command -v "${starts[0]}" > /dev/null; then
    echo "left out: $machine, as ${compiler[0]} or ${starts[0]} is missing"
    continue
  fi
  some=1
  if [ "${KOLK_TEST_EFFORT:-release}" != release ]; then
    programs=$(grep -v '_worn\.c$' <<< "$programs")
    if [ $machine = riscv32 ] || [ "$KOLK_TEST_EFFORT" = quick ]; then
      programs=$(grep -E 'model|snapshot|vectors|handles|ages|oldest|free_n' <<< "$programs")
      at_least=40
    fi
  fi
  mkdir -p "$folder/$machine/programs"
  (cd "$folder/$machine" && printf '%s\n' "$root"/src/{base,bytemap,core,ffi,os,pool,slotmap,watch}/*.c |
    xargs -n 20 -P 2 "${compiler[@]}" "${options[@]/#-I/-I$root/}" "${generations[@]}" -c)
  for file in tests/cmocka/cmocka.c tests/device/begin.c; do
    "${compiler[@]}" "${options[@]}" "-DLEFT_OUT=\"$(names_in "$left_out" | tr -s ' ')\"" -c "$file" -o "$folder/$machine/$(basename "$file" .c)_.o"
  done
  for half in 0 1; do
    (for program in $(awk "NR % 2 == $half" <<< "$programs"); do check $machine "$program"; done; [ ! "$failed" ]) &
    halves[half]=$!
  done
  for half in "${halves[@]}"; do wait $half || failed=1; done
  cat "$folder/$machine"/programs/*.log > "$folder/$machine/results"
  ran=$(grep -c '^\[ *OK' "$folder/$machine/results")
  echo "$machine: $(wc -w <<< "$programs") programs, $ran tests pass," \
    "$(grep -c '^\[ *SKIPPED' "$folder/$machine/results" || true) are skipped, $(names_in "$left_out" | wc -w) are left out"
  [ "$ran" -ge $at_least ] || { echo "fewer than $at_least tests" >&2; exit 1; }
done
echo "Programs that are left out:$without"
echo "Tests that are left out:$left_out"
[ ! "$failed" ] || exit 1
[ "$some" ] || { echo "skipped: there is no machine"; exit 77; }
