#!/bin/bash
# Runs the unit tests and the model tests of pool, slot map and byte map on a Cortex-M4 (newlib) and on a RISC-V with 32
# bits (picolibc), under QEMU. They read the same published vectors as everywhere. Work is shortened. Unless
# KOLK_TEST_EFFORT is release, the RISC-V runs only the models, snapshots, vectors and handles.
# Usage: tests.sh
set -euo pipefail

# These programs need what a device lacks.
without='
  test_bits test_pool_validity                 protected pages
  test_pool_growth test_pool_refused           pages of a system, and its refusals
  test_pool_tick test_slotmap_debug test_pool_overflow            memory that is given back to the system
  test_bytemap_refused test_slotmap_tools      the same
  test_pool_storage test_bytemap_view          kinds that need an operating system, and the registry
  test_pool_headroom                           the debug mode
  test_pool_exhaustive test_slotmap_exhaustive test_pool_limits   more time or memory than an emulated device has
  test_pool_exhaustive_worn test_pool_generations test_pool_model_worn test_pool_snapshot_worn
  test_slotmap_exhaustive_worn test_slotmap_model_worn test_slotmap_snapshot_worn   a library with few generations
'
# These tests look at the debug mode, at sites, or at how much memory a system gives.
left_out='
  test_trim_gives_back test_it_is_listed
  test_a_hook_that_finds_memory_only test_a_longjmp_out_of_an_eviction test_a_map_that_is_gone
  test_a_pool_that_is_gone test_a_pool_that_was_moved test_a_quarantine_of_one test_a_reset_that_allocates_in_deinit
  test_a_restore_may_be_jumped_out_of test_a_stray_write_is_reported_once test_a_trim_after_a_restore test_both_hooks
  test_bypass_without_memory test_damage_and_sites test_evicting_at_low_water test_failing_allocs test_fills
  test_fills_behind_restored_objects test_generations_beyond_the_last test_headroom_is_committed_ahead
  test_keep_and_trim test_lives test_low_water_and_refused_allocs test_low_water_at_its_ends test_low_water_in_hooks
  test_low_water_is_crossed_by_others test_low_water_of_a_growing_pool test_low_water_up_and_down test_move
  test_no_memory test_other_capacities test_overhead_per_slot test_profilers_hear_of_lives test_quarantine test_sites
  test_the_greatest_count test_the_name_in_lists_and_reports test_trim_tears_down_what_it_touches
  test_what_the_hook_may_do test_what_trap_full_says
'

at_least=210 # tests that must run on each machine

options=(-std=gnu11 -Os -ffunction-sections -fdata-sections -DKOLK_PAGES_=1 -Iinclude -Isrc -Itests/cmocka)
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

# The functions __wrap_X of a program and of the headers that it includes, as options of the linker.
wraps_of() {
  "${compiler[@]}" "${options[@]}" -MM "$1" | tr -d '\\' | tr ' ' '\n' | grep '^tests/' | xargs grep -ohE '__wrap_[a-z_]+' |
    sort -u | sed 's/^__wrap_/-Wl,--wrap=/'
}

# check MACHINE PROGRAM: builds the program, runs it, and appends its results to the machine's file
check() {
  choose "$1"
  local name log
  name=$(basename "$2" .c)
  log=$folder/$1/$name.log
  "${compiler[@]}" "${options[@]}" "$2" "$folder/$1"/*.o "${links[@]}" $wrap $(wraps_of "$2") -lm -o "$folder/$1/$name"
  if ! timeout 120 "${starts[@]}" "${semihosting[@]}" -kernel "$folder/$1/$name" > "$log" 2>&1 < /dev/null ||
    ! grep -q '^\[ OK' "$log"; then
    echo "$name fails on $1:"
    grep -v '^\[ \(OK\|RUN\)' "$log"
    return 1
  fi
  grep '^\[ [A-Z]' "$log" | grep -v RUN | sed "s/^/$name /" >> "$folder/$1/results"
}

if [ $# -eq 3 ]; then # from xargs below
  folder=$3
  check "$1" "$2"
  exit
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$PWD
programs=$(ls tests/pool/test_pool*.c tests/slotmap/test_slotmap*.c tests/bytemap/test_bytemap*.c)
for name in $without; do programs=$(grep -v "/$name\.c$" <<< "$programs"); done
some= failed=
for machine in cortex-m4 riscv32; do
  choose $machine
  if ! command -v "${compiler[0]}" > /dev/null || ! command -v "${starts[0]}" > /dev/null; then
    echo "${compiler[0]} or ${starts[0]} is missing: nothing runs on $machine."
    continue
  fi
  some=1
  if [ $machine = riscv32 ] && [ "${KOLK_TEST_EFFORT:-release}" != release ]; then
    programs=$(grep -E 'model|snapshot|vectors|handles' <<< "$programs")
    at_least=40
  fi
  mkdir "$folder/$machine"
  (cd "$folder/$machine" && printf '%s\n' "$root"/src/*/*.c |
    xargs -n 40 -P 2 "${compiler[@]}" "${options[@]/#-I/-I$root/}" -c)
  for file in tests/cmocka/cmocka.c tests/device/begin.c; do
    "${compiler[@]}" "${options[@]}" "-DLEFT_OUT=\"$(tr -s ' \n' ' ' <<< "$left_out")\"" -c "$file" -o "$folder/$machine/$(basename "$file" .c)_.o"
  done
  xargs -P 2 -I{} "$0" $machine {} "$folder" <<< "$programs" || failed=1
  ran=$(grep -c OK "$folder/$machine/results")
  echo "$machine: $(wc -w <<< "$programs") programs, $ran tests pass," \
    "$(grep -c SKIPPED "$folder/$machine/results" || true) are skipped, $(wc -w <<< "$left_out") are left out"
  [ "$ran" -ge $at_least ] || { echo "fewer than $at_least tests" >&2; exit 1; }
done
[ ! "$failed" ] || exit 1
[ "$some" ] || exit 77
