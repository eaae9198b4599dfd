#!/bin/sh
# Sourced by the scripts of the models, in the top folder: run() runs SPIN over the model of the script's name. Exits
# with 77 if SPIN is missing. The script ends with `exit $failed`.
set -u
model=$PWD/tests/models/$(basename "$0" .sh).pml
command -v spin > /dev/null || { echo "skipped: spin is not installed"; exit 77; }
cc=
for each in gcc cc clang; do # not $CC, which may build for another machine
  command -v $each > /dev/null && { cc=$each; break; }
done
[ -n "$cc" ] || { echo "skipped: there is no C compiler for this machine"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# run ERRORS WHAT DEFINITION...: expects 0 errors in all states, or 1. A mistake is found early, and compiling the
# search takes longer than running it, so it is not optimised, and has a table of 2^20 places.
run() {
  errors=$1 what=$2 level=-O1 table=24
  shift 2
  [ "$errors" = 0 ] || level=-O0 table=20
  liveness= search=-DSAFETY
  case "$*" in *-DFAIR*) liveness="-a -f" search=-DNFAIR=3 ;; esac
  rm -f pan*
  # shellcheck disable=SC2086
  {
    spin -a "$@" "$model" && "$cc" $level -w $search -o pan pan.c && ./pan -E -n -m2000000 -w$table $liveness
  } > said 2>&1
  result=ok
  grep -q "errors: $errors\$" said || result=FAILED
  [ "$errors" = 1 ] || ! grep -Eq "depth too small|not completed|out of memory" said || result=FAILED
  echo "$what: $result$(sed -n 's/ states, stored.*/ states/p' said | sed 's/^ */, /')"
  [ $result = ok ] || { failed=1; cat said; }
}
