#!/bin/sh
# Starts wine's server, so that not every test has to, or ends it. The first start makes the prefix, WINEPREFIX.
# The server's output goes nowhere, because ctest would wait until the server closes it.
# Usage: wine.sh begin|end
set -eu
case $1 in
  begin)
    mkdir -p "$WINEPREFIX"
    wineserver -p > /dev/null 2>&1
    WINEDLLOVERRIDES='mscoree,mshtml=' wine wineboot > /dev/null 2>&1
    ;;
  end)
    wineserver -k
    ;;
esac
