#!/bin/sh
# Writes a manual page of the kolk command to stdout, made from its --help and the --help of each verb.
# Usage: tools/man.sh PROGRAM
set -eu
help() { # prints a command's output so that roff shows it unchanged
  echo .nf
  "$@" | sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/"
  echo .fi
}

echo ".TH KOLK 1 \"\" \"$("$1" --version)\""
echo .SH NAME
echo 'kolk \- object pools for C: see them, measure them, and find out which ones a program should have'
echo .SH DESCRIPTION
help "$1" --help
for verb in $("$1" --help | sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  [ "$verb" != help ] || continue
  echo ".SH kolk $verb"
  help "$1" "$verb" --help
done
