# For scripts of bash that include it, from the top of the sources.
fail() { # SENTENCE
  echo "$*" >&2
  exit 1
}

skip() { # REASON
  echo "skipped: $*"
  exit 77
}

quiet() { # COMMAND...: must succeed, and print nothing
  local said
  said=$("$@" 2>&1) || fail "$*: $said"
  [[ -z $said ]] || fail "$* is not silent: $said"
}

# Sets `browser`, and `axe` to the path of axe-core, a checker of accessibility, which is kept in BUILD.
need_browser() { # BUILD
  browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip "there is no chromium"
  command -v npm > /dev/null || skip "there is no npm, which fetches axe-core"
  axe=$1/npm/node_modules/axe-core/axe.min.js
  [[ -e $axe ]] || npm install --silent --no-audit --no-fund --no-save --prefix "$1/npm" axe-core@4.10.3 > /dev/null 2>&1 ||
    skip "axe-core cannot be fetched"
  axe=$(realpath "$axe")
}
