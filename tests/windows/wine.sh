#!/bin/sh
# Runs a program under wine. `begin` starts wine's server, so that not every test has to; the first start makes the prefix,
# WINEPREFIX. The server's output goes nowhere, because ctest would wait until the server closes it. `end` ends the server.
# Where the system permits it, addresses are not random. Otherwise the kernel now and then puts a process's heap at the
# address of the page that wine shares between its processes, and wine cannot start the process.
# Usage: wine.sh begin|end|PROGRAM [ARGUMENT ...]
# promise: README.md "It runs on Linux, Windows ... and [devices]"
set -eu
fixed=
! setarch -R true 2> /dev/null || fixed='setarch -R'
case $1 in
  begin)
    mkdir -p "$WINEPREFIX"
    wineserver -p > /dev/null 2>&1
    WINEDLLOVERRIDES='mscoree,mshtml=' $fixed wine wineboot > /dev/null 2>&1
    ;;
  end)
    wineserver -k
    ;;
  *)
    exec $fixed wine "$@"
    ;;
esac
