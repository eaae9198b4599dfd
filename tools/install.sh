#!/bin/sh
# Builds all parts that can be built here and installs them below PREFIX, or uninstalls them. If DESTDIR is set in the
# environment, it is put before PREFIX.
# Usage: tools/install.sh install|uninstall PREFIX
set -eu
case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
root=${DESTDIR:-}$prefix
list=$root/share/doc/kolk/installed # lists the files: most by their paths below PREFIX, so that it can be moved

case $1 in
  install)
    tools/preset.sh release
    cmake --install build/release --prefix "$prefix" > build/release/install.log 2>&1 || { cat build/release/install.log >&2; exit 1; }
    while IFS= read -r path || [ -n "$path" ]; do
      echo "${path#"$prefix"/}"
    done < build/release/install_manifest.txt > "$list"
    what="the library"
    if grep -q '^bin/kolk$' "$list"; then what="$what, the kolk command"; fi
    if grep -q '/man3/' "$list"; then what="$what, manual pages"; fi
    if grep -q '/completion' "$list"; then what="$what, completion for shells"; fi
    echo "kolk $(cat VERSION) is below $root: $what; make uninstall takes it away again"
    ;;
  uninstall)
    if [ ! -r "$list" ]; then
      echo "kolk: make install has put nothing below $root: there is no $list" >&2
      exit 1
    fi
    files=$({ cat "$list" && echo share/doc/kolk/installed; } | while IFS= read -r path; do
      case $path in /*) echo "${DESTDIR:-}$path" ;; *) echo "$root/$path" ;; esac
    done)
    echo "$files" | tr '\n' '\0' | xargs -0 rm -f
    # Then the folders that are empty now, the inner ones first.
    echo "$files" | awk -v root="$root" '{ while (sub("/[^/]*$", "") && $0 != "" && $0 != root) folders[$0] } END { for (f in folders) print f }' |
      sort -r | tr '\n' '\0' | xargs -0 rmdir 2> /dev/null || true
    echo "kolk is removed from $root"
    ;;
  *)
    sed -n 's/^# Usage: /usage: /p' "$0" >&2
    exit 2
    ;;
esac
