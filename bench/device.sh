#!/bin/bash
# Prints the table of docs/device.md: what pools, slot maps, byte maps and heaps cost on a Cortex-M4 and on an RV32IMAC,
# compiled with -Os from the two files of `make dist`, and run under QEMU. bench/small has the programs whose text is
# measured, less that of an empty program; bench/device has those that count instructions and stack (count.h). Each kind
# of pool has programs of its own, because the options that one pool uses would be linked for all.
# Usage: bench/device.sh [--write | FOLDER], with the names of some MACHINES in the environment
#   --write: put the table into docs/device.md    FOLDER: leave libraries, programs and figures in this folder
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-}
if [[ ! $folder || $folder == --write ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
fi

read -ra machines <<< "${MACHINES:-Cortex-M4 RV32IMAC}"
kinds=(pool LOWEST FIFO option slotmap bytemap trays) # the columns of the table
declare -A titles=([pool]='a pool' [LOWEST]='`LOWEST`' [FIFO]='`FIFO`' [option]='another option'
  [slotmap]='a slot map' [bytemap]='a byte map' [trays]='a heap')
declare -A definitions=([LOWEST]='-DMORE=.reuse = KOLK_REUSE_LOWEST' [FIFO]='-DMORE=.reuse = KOLK_REUSE_FIFO'
  [option]='-DMORE=.full.headroom = 1')
options=(-std=c11 -Os -ffreestanding -ffunction-sections -fdata-sections "-I$folder/dist" -Iinclude
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wundef -Wdouble-promotion -Wmissing-prototypes -Werror)
links=(-nostdlib -Wl,--gc-sections)

# choose MACHINE: sets `compiler`, `script` and `starts`
choose() {
  if [[ $1 == Cortex-M4 ]]; then
    compiler=(arm-none-eabi-gcc -mcpu=cortex-m4 -mthumb)
    script=bench/device/arm.ld
    starts=(qemu-system-arm -M mps2-an386 -icount shift=8)
  else
    compiler=(riscv64-unknown-elf-gcc -march=rv32imac -mabi=ilp32 --specs=picolibc.specs)
    script=bench/device/riscv.ld
    starts=(qemu-system-riscv32 -M virt -bios none -icount shift=0)
  fi
}

# build PROGRAM FILES...
build() { "${compiler[@]}" "${options[@]}" "${@:2}" "$folder/$machine"/*.o "${links[@]}" -T $script -lc -lgcc -o "$1"; }

text_of() { "${compiler[0]%gcc}size" "$1" | awk 'END { print $1 }'; }

run() {
  timeout 60 "${starts[@]}" -nographic -monitor none -serial none -semihosting-config enable=on,target=native -kernel "$1" \
    < /dev/null 2>&1 || { echo "$1 fails" >&2; return 1; }
}

# measure KIND: prints lines of a name and numbers
measure() {
  local program=$folder/$machine-$1 file
  case $1 in LOWEST | FIFO | option) file=pool ;; *) file=$1 ;; esac
  build "$program" ${definitions[$1]:+"${definitions[$1]}"} bench/small/$file.c "$folder/$machine.memory.o"
  run "$program"
  echo "text $(($(text_of "$program") - nothing))"
  build "$program-count" ${definitions[$1]:+"${definitions[$1]}"} bench/device/$file.c # with the C library's memcpy
  run "$program-count"
}

# row TITLE CELL: a row of the table; CELL is awk that prints a cell, with a kind's numbers in f[name, 1] and so on
row() {
  awk "function cell() { $2; printf \" | \"; split(\"\", f) }
    BEGIN { printf \"| $1 | \" }
    FNR == 1 && NR > 1 { cell() }
    { for (i = 2; i <= NF; i++) f[\$1, i - 1] = \$i }
    END { cell(); print \"\" }" "${kinds[@]/#/$folder/$machine.}"
}

# call TITLE NAME: a row of instructions
call() { row "$1" "if ((\"$2\", 1) in f) printf f[\"$2\", 1] \" / \" f[\"$2\", 2]"; }

table() {
  printf '| |'
  for kind in "${kinds[@]}"; do printf ' %s |' "${titles[$kind]}"; done
  printf '\n|---|---:|---:|---:|---:|---:|---:|---:|\n'
  for machine in "${machines[@]}"; do
    [[ -e $folder/$machine.trays ]] || continue
    choose $machine
    echo "| **$machine**, gcc $("${compiler[0]}" -dumpfullversion) | | | | | | | |"
    row 'bytes of text' 'printf f["text", 1]'
    row 'bytes of the struct' 'printf f["struct", 1]'
    row 'bytes for each slot' 'printf f["slot", 1]'
    row 'bytes of stack: init, alloc, free' 'printf f["init", 3] ", " f["alloc", 3] ", " f["free", 3]'
    row 'of a mistake that is reported' 'printf f["mistake", 3]'
    row 'instructions of init, at most' 'printf f["init", 2]'
    call 'alloc, average / at most' alloc
    call free free
    call get get
    call handle_of handle_of
    call is_live is_live
  done
}

tools/dist.py two "$folder/dist"
for machine in "${machines[@]}"; do
  choose $machine
  if ! command -v "${compiler[0]}" > /dev/null || ! command -v "${starts[0]}" > /dev/null; then
    echo "bench/device.sh: ${compiler[0]} or ${starts[0]} is missing: no figures of $machine" >&2
    continue
  fi
  mkdir "$folder/$machine"
  "${compiler[@]}" "${options[@]}" -c "$folder/dist/kolk.c" -o "$folder/$machine/kolk.o"
  "${compiler[@]}" "${options[@]}" -c bench/device/start.c -o "$folder/$machine/start.o"
  "${compiler[@]}" "${options[@]}" -fno-tree-loop-distribute-patterns -c bench/device/memory.c \
    -o "$folder/$machine.memory.o"
  build "$folder/empty" bench/small/empty.c "$folder/$machine.memory.o"
  nothing=$(text_of "$folder/empty")
  for kind in "${kinds[@]}"; do measure $kind > "$folder/$machine.$kind"; done
done
table | sed -E 's/ $//; :a; s/([0-9])([0-9]{3})($|[^0-9])/\1,\2\3/; ta' > "$folder/table"
if [[ ${1:-} == --write ]]; then
  sed -i -e "/^| | a pool |/{r $folder/table
    N; d}" -e '/^| \*\*Cortex-M4/,/^$/{/^$/!d}' docs/device.md
else
  cat "$folder/table"
fi
