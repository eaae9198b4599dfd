#!/bin/sh
# runs: once
# Each exported function that may change an initialised struct of the program is marked KOLK_USES_ (compiler.h), or
# KOLK_INLINE_USES_ if it is inline, and no other function is. That struct is its first argument. The first argument of an init is not initialised, but its second may be.
# Usage: uses.sh
set -eu
awk '
  FNR == 1 { inside = 0 }
  /^\/\* ---- Inside/ { inside = 1 }
  !inside && /^KOLK_(API_|USES_|INLINE_)/ { text = ""; open = 1 }
  open { text = text $0 " " }
  open && /;/ {
    open = 0
    has = substr(text, 1, index(text, " ") - 1)
    inline = has ~ /INLINE/ ? "INLINE_" : ""
    sub(/^KOLK_(INLINE_)?USES_\([0-9]\)/, "", text)
    name = substr(text, 1, index(text, "(") - 1)
    sub(/.*[ *]/, "", name)
    split(substr(text, index(text, "(") + 1), parameters, ",")
    n = name ~ /_init$/ ? 2 : 1
    wanted = parameters[n] ~ /^ *kolk_[a-z_]+ \*/ ? "KOLK_" inline "USES_(" n ")" : "KOLK_" (inline ? inline : "API_")
    count++
    if (has == wanted) next
    print FILENAME ": " name ": " has ", but it should be " wanted
    wrong++
  }
  END {
    print count + 0 " functions, " wrong + 0 " are wrong"
    exit wrong || count < 100
  }' include/kolk/*.h adapters/*/kolk/*.h
