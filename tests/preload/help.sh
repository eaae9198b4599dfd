# Shared by the scripts of this folder: checks, $build, and $work, a temporary folder. They include it with
# . tests/preload/help.sh BUILD
set -euo pipefail
build=$(realpath "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk-preload.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset KOLK_DEBUG KOLK_STATS KOLK_STATS_AT KOLK_BYPASS KOLK_SIZES KOLK_FAIL LD_PRELOAD
export LC_ALL=C
flags=(-O1 -g -fno-builtin -pthread -Wall -Wextra)
skipped=()

fail() {
  echo "$*" >&2
  exit 1
}

# is PATTERN FILE: at least one line of the file must match.
is() { grep -Eq -- "$1" "$2" || fail "'$1' is not in: $(cat "$2")"; }

# ends CODE COMMAND...: the command must exit with this code. Its output goes to $work/out and $work/err.
ends() {
  local code=0
  { "${@:2}" > "$work/out" 2> "$work/err" < /dev/null || code=$?; } 2> /dev/null
  [[ $code == "$1" ]] || fail "${*:2}: ended with $code, not $1: $(tail -n 20 "$work/out" "$work/err")"
}

compile() { "$CC" "${flags[@]}" "$@" || fail "$* cannot be compiled"; }
