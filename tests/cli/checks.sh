# Shared by the tests of the command, which include it in the top folder. It goes to a folder that is removed at the end.
# `top` is the top folder, and `kolk` the command. `out` and `err` hold the output of the last command.
passed=0 failed=0 skipped=0
top=$PWD
kolk=$(realpath "$KOLK")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

check() { # NAME COMMAND...: the command must succeed
  name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "failed: $name"
    sed 's/^/  stdout: /' out
    sed 's/^/  stderr: /' err
  fi
}

run() { # CODE COMMAND...: out and err hold what it printed
  expected=$1
  shift
  "$@" > out 2> err
  code=$?
  check "$*: exit code $code, not $expected" [ $code -eq "$expected" ]
}

refused() { # CODE SENTENCE ARGUMENT...: kolk prints this sentence and nothing else
  wanted=$1 sentence=$2
  shift 2
  run "$wanted" "$kolk" "$@"
  check "its sentence: $sentence" [ "$(cat err)" = "kolk: $sentence" ]
  check "and no result" [ ! -s out ]
}

prints() { # PATTERN...: each must match a line of the output
  for pattern; do check "prints '$pattern'" grep -q -- "$pattern" out; done
}

skip() {
  echo "skipped: $*"
  skipped=$((skipped + 1))
}

finish() { # the end of the script
  echo "$passed passed, $failed failed, $skipped skipped"
  [ $failed -eq 0 ]
}
