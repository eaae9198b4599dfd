#!/bin/sh
# runs: long once
# On a Cortex-M4 and (with full effort) an RV32IMAC, pools, slot maps, byte maps and heaps cost what the table of
# docs/device.md says, and on any compiler not much more; they need no 64-bit division and no floating point. tests/device/orders.c and interrupt.c
# run on a Cortex-M3 and a Cortex-M4. The library compiles with newlib and without any C library. Kinds that need an
# operating system do not compile there. The command of docs/device.md links a program.
# Usage: device.sh
# promise: heap.h "32-bit machines, there are only fixed heaps", "alloc and free are O(1): a step ... over blocks";
# README.md "It runs on Linux, Windows ... and [devices]"; ipc.h "Not in freestanding builds"
set -eu
if ! command -v arm-none-eabi-gcc > /dev/null || ! command -v qemu-system-arm > /dev/null; then
  echo "skipped: arm-none-eabi-gcc or qemu-system-arm is missing"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
wrong=0
complain() {
  echo "$*" >&2
  wrong=1
}

# ---- What it costs ----

machines="Cortex-M4 RV32IMAC"
[ "${KOLK_TEST_EFFORT:-}" != quick ] || machines=Cortex-M4
MACHINES=$machines bench/device.sh "$folder"

# block MACHINE FILE: the machine's rows of the table
block() { awk -v machine="| **$1**" '/^\| \*\*/ || !/^\|/ { on = index($0, machine) == 1 } on' "$2"; }

for machine in $machines; do
  block "$machine" "$folder/table" > "$folder/now"
  block "$machine" docs/device.md > "$folder/then"
  if [ "$(head -n 1 "$folder/now")" != "$(head -n 1 "$folder/then")" ]; then
    echo "$machine: docs/device.md has the figures of another compiler; they are not compared."
  elif ! diff "$folder/then" "$folder/now"; then
    complain "$machine: docs/device.md has other figures: bench/device.sh --write"
  fi
done

# bound KIND NAME FIELD LIMIT: on a Cortex-M4, for any compiler; FIELD 2 is the text, or the average, and 3 the maximum
bound() {
  number=$(awk -v name="$2" -v field="$3" '$1 == name { print $field }' "$folder/Cortex-M4.$1")
  [ "$number" -gt 0 ] && [ "$number" -le "$4" ] || complain "$1: $2 costs $number, and $4 are allowed"
}
bound pool text 2 5000
bound LOWEST text 2 7000
bound FIFO text 2 7000
bound slotmap text 2 4100
bound bytemap text 2 4100
bound trays text 2 4000
for kind in pool LOWEST FIFO option; do
  bound $kind init 3 3000
  bound $kind first_alloc 3 3000
  bound $kind alloc 3 400
  bound $kind free 3 400
done
bound trays alloc 3 400
bound trays free 3 400

for kind in pool LOWEST FIFO slotmap bytemap trays; do
  if arm-none-eabi-nm "$folder/Cortex-M4-$kind" | grep -E '__(aeabi_(u?ldivmod|c?[df][a-z0-9]+)|u?(div|mod|divmod)di[34])$'; then
    complain "The lines above name what $kind must not need."
  fi
done

# ---- Programs on a Cortex-M3 and a Cortex-M4 ----

thumb="-std=c11 -mthumb -Os -ffunction-sections -fdata-sections -Iinclude"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wmissing-prototypes -Werror"

# runs CORE BOARD FILES...: does this program return 0?
runs() {
  core=$1 board=$2
  shift 2
  arm-none-eabi-gcc $thumb $warnings "-mcpu=$core" -ffreestanding -nostdlib -T bench/device/arm.ld -Wl,--gc-sections "$@" \
    bench/device/start.c bench/device/memory.c -fno-tree-loop-distribute-patterns -lgcc -o "$folder/program" || exit 1
  timeout 60 qemu-system-arm -M "$board" -nographic -monitor none -serial none -icount shift=0 -semihosting-config \
    enable=on,target=native -kernel "$folder/program" < /dev/null
}

tools/dist.py two "$folder/members" pool
arm-none-eabi-gcc $thumb $warnings -mcpu=cortex-m3 -c "$folder/members/kolk.c" -o "$folder/kolk-m3.o" # with newlib
try() { # CORE BOARD LIBRARY
  for program in orders interrupt; do
    runs "$@" tests/device/$program.c || complain "$program fails on a $1"
  done
  ! runs "$@" -DUNPROTECTED tests/device/interrupt.c || complain "interrupt.c does not notice that interrupts stay on"
}
try cortex-m3 mps2-an385 "$folder/kolk-m3.o"
try cortex-m4 mps2-an386 "$folder/Cortex-M4/kolk.o"

# ---- What compiles, and what does not ----

# refuse CALL SENTENCE: the compiler says this about an init of such a kind
refuse() {
  printf '#include <kolk/kolk.h>\nkolk_status begin(void);\nkolk_status begin(void) { return %s; }\n' "$1" > "$folder/refused.c"
  if arm-none-eabi-gcc $thumb -mcpu=cortex-m4 -c "$folder/refused.c" -o "$folder/refused" 2> "$folder/said" ||
    ! grep -q "error: .*$2" "$folder/said"; then
    cat "$folder/said"
    complain "the compiler does not say: $2"
  fi
}
refuse 'kolk_shared_init(NULL, NULL)' 'shared pools need an operating system, and this is a build without one'
refuse 'kolk_queue_init(NULL, NULL)' 'queues need an operating system, and this is a build without one'
refuse 'kolk_ipc_init(NULL, NULL)' 'pools between processes need an operating system, and this is a build without one'
refuse 'kolk_resource_init(NULL, NULL)' 'resource pools need an operating system, and this is a build without one'

# The command of docs/device.md, as printed; a pool is all that its program needs.
command=$(sed -n '/^    arm-none-eabi-gcc/,/firmware.elf$/p' docs/device.md | tr -d '\\\n' | sed "s|build/dist|$folder/members|g; s|firmware.elf|$folder/&|")
eval "$command" 2> "$folder/said" && [ -s "$folder/firmware.elf" ] || { cat "$folder/said"; complain "docs/device.md: its command fails"; }
exit $wrong
