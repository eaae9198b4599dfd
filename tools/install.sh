#!/bin/sh
# Builds all parts that can be built here and installs them below PREFIX, or uninstalls them. If DESTDIR is set in the
# environment, it is put before PREFIX.
# Usage: tools/install.sh install|uninstall PREFIX
set -eu
case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
root=${DESTDIR:-}$prefix
list=$root/share/doc/kolk/installed # lists the paths of all files, without DESTDIR

case $1 in
  install)
    tools/preset.sh release
    cmake --install build/release --prefix "$prefix" > build/release/install.log 2>&1 || { cat build/release/install.log >&2; exit 1; }
    cp build/release/install_manifest.txt "$list"
    what="the library"
    if grep -q '/bin/kolk$' "$list"; then what="$what, the kolk command"; fi
    if grep -q '/man3/' "$list"; then what="$what, manual pages"; fi
    if grep -q '/completion' "$list"; then what="$what, completion for shells"; fi
    echo "kolk $(cat VERSION) is below $root: $what; make uninstall takes it away again"
    ;;
  uninstall)
    if [ ! -r "$list" ]; then
      echo "kolk: make install has put nothing below $root: there is no $list" >&2
      exit 1
    fi
    paths=$(cat "$list" && echo && echo "$prefix/share/doc/kolk/installed")
    echo "$paths" | while IFS= read -r path; do
      [ -n "$path" ] || continue
      rm -f "${DESTDIR:-}$path"
      folder=${path%/*}
      while [ "$folder" != "$prefix" ] && { rmdir "${DESTDIR:-}$folder" 2> /dev/null || [ ! -e "${DESTDIR:-}$folder" ]; }; do
        folder=${folder%/*}
      done
    done
    echo "kolk is removed from $root"
    ;;
  *)
    sed -n 's/^# Usage: /usage: /p' "$0" >&2
    exit 2
    ;;
esac
