#!/bin/sh
# Compiles the library for a Cortex-M4 with arm-none-eabi-gcc, with newlib and without any C library; programs with a
# pool, a slot map and a heap are small, need no 64-bit division and no floating point, and run under QEMU; a pool's init
# takes fewer than 2,000 instructions, and alloc and free of a heap at most 400. Kinds that need an operating system do
# not compile there.
# Usage: device.sh
set -eu
if ! command -v arm-none-eabi-gcc > /dev/null; then
  echo "arm-none-eabi-gcc is missing: nothing is tested."
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
root=$PWD
m4="-std=c11 -mcpu=cortex-m4 -mthumb -Os -ffunction-sections -fdata-sections -I$root/include"
warnings="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wmissing-prototypes -Werror"

arm-none-eabi-gcc $m4 $warnings -fsyntax-only src/*/*.c # with newlib
(cd "$folder" && printf '%s\n' "$root"/src/*/*.c | xargs -n 40 -P 2 arm-none-eabi-gcc $m4 $warnings -ffreestanding -c)

# build PROGRAM FILES OR LIBRARIES...: it lies in $folder
build() {
  program=$1
  shift
  arm-none-eabi-gcc $m4 -ffreestanding -fno-tree-loop-distribute-patterns -nostdlib -T tests/build/device.ld -Wl,--gc-sections \
    tests/build/device.c "$folder"/*.o "$@" -lgcc -o "$folder/$program"
}

run() {
  if ! command -v qemu-system-arm > /dev/null; then
    echo "qemu-system-arm is missing: $1 is built, not run."
  elif ! runs "$1"; then
    echo "$1 fails on the device" >&2
    exit 1
  fi
}

runs() {
  timeout 60 qemu-system-arm -M mps2-an386 -nographic -monitor none -serial none -icount shift=0 -semihosting-config \
    enable=on,target=native -kernel "$folder/$1" < /dev/null
}

text_of() { arm-none-eabi-size "$folder/$1" | awk 'END { print $1 }'; }

# keep PROGRAM LIMIT DEFINITIONS...: the text may exceed an empty program's by this many bytes
keep() {
  program=$1 limit=$2
  shift 2
  build "$program" "$@" "bench/small/$program.c" tests/build/device_memory.c
  set -- "$program" "$limit" "$@"
  bytes=$(($(text_of "$1") - nothing))
  echo "$*: $bytes bytes of text, $2 are allowed"
  if [ "$bytes" -gt "$2" ]; then
    echo "$1 has become too large for a small device" >&2
    exit 1
  fi
  if arm-none-eabi-nm "$folder/$1" | grep -E '__(aeabi_(u?ldivmod|c?[df][a-z0-9]+)|u?(div|mod|divmod)di[34])$'; then
    echo "The lines above name what $1 must not need." >&2
    exit 1
  fi
  run "$1"
}

build empty bench/small/empty.c tests/build/device_memory.c
nothing=$(text_of empty)
keep pool 5000
keep pool 5900 "-DMORE=.reuse = KOLK_REUSE_LOWEST"
keep pool 5900 "-DMORE=.reuse = KOLK_REUSE_FIFO"
keep slotmap 4100
keep trays 4000
build device_count tests/build/device_count.c -lc # with newlib's memcpy and so on, which are fast
run device_count
build device_trays tests/build/device_trays.c -lc
run device_trays
build orders tests/device/orders.c tests/build/device_memory.c
run orders
build interrupt tests/device/interrupt.c tests/build/device_memory.c
run interrupt
build interrupt -DUNPROTECTED tests/device/interrupt.c tests/build/device_memory.c
if command -v qemu-system-arm > /dev/null && runs interrupt; then
  echo "interrupt.c does not notice that interrupts stay on" >&2
  exit 1
fi

# refuse CALL SENTENCE: the compiler says this about an init of such a kind
refuse() {
  printf '#include <kolk/kolk.h>\nkolk_status begin(void);\nkolk_status begin(void) { return %s; }\n' "$1" > "$folder/refused.c"
  if arm-none-eabi-gcc $m4 -c "$folder/refused.c" -o "$folder/refused" 2> "$folder/said" || ! grep -q "error: .*$2" "$folder/said"; then
    cat "$folder/said"
    echo "the compiler does not say: $2" >&2
    exit 1
  fi
}
refuse 'kolk_shared_init(NULL, NULL)' 'shared pools need an operating system, and this is a build without one'
refuse 'kolk_queue_init(NULL, NULL)' 'queues need an operating system, and this is a build without one'
refuse 'kolk_resource_init(NULL, NULL)' 'resource pools need an operating system, and this is a build without one'

# The command of docs/device.md, as printed.
command=$(sed -n '/^    arm-none-eabi-gcc/,/firmware.elf$/p' docs/device.md | tr -d '\\\n' | sed "s|build/dist|$folder/dist|g; s|firmware.elf|$folder/&|")
tools/dist.py two "$folder/dist"
eval "$command" 2> "$folder/said" || { cat "$folder/said"; exit 1; }
[ -s "$folder/firmware.elf" ]
