# For scripts of bash that include it: fail SENTENCE, and quiet COMMAND.
fail() {
  echo "$*" >&2
  exit 1
}

quiet() { # COMMAND...: must succeed, and print nothing
  local said
  said=$("$@" 2>&1) || fail "$*: $said"
  [[ -z $said ]] || fail "$* is not silent: $said"
}
