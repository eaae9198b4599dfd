#!/bin/bash
# runs: longest once
# Debian's packages: they are built from the source archive, lintian has nothing to say against them, and programs are
# compiled and run with them. KOLK_TEST_EFFORT=release builds them as they are distributed, and once more, which gives the
# same bytes; and installs them in a clean Debian without a network, from which they are then removed without a trace. Any
# other effort builds without optimisation and unpacks the packages.
# Usage: tests/packaging/debian.sh
# promise: README.md "; packages; Meson"
set -euo pipefail
. tests/help/script.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in dh dpkg-buildpackage lintian; do
  command -v $tool > /dev/null || { echo "skipped: there is no $tool"; exit 77; }
done
release=$([[ ${KOLK_TEST_EFFORT:-} != release ]] || echo yes)
if [[ ! $release ]]; then
  export DEB_BUILD_OPTIONS="noopt noautodbgsym" DEB_CFLAGS_APPEND=-g0 DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1
fi

build() { # FOLDER
  tools/deb.sh "$1" > "$1.log" 2>&1 || fail "$(tail -40 "$1.log")"
  rm -r "$1/kolk-$(cat VERSION)"
}

# They close no request of Debian's users.
check() {
  lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs "$work"/debs/*.changes > "$work/said" 2>&1 ||
    fail "$(cat "$work/said")"
}

# Compiles and runs a program, and the kolk command. The packages are below ROOT, or installed: then it is empty.
mkdir "$work/use"
cat > "$work/use/use.sh" << 'END'
set -eu
lib=$(echo "$1"/usr/lib/*-linux-gnu*/libkolk.so.?)
lib=${lib%/*}
if [ -n "$1" ]; then export PKG_CONFIG_PATH="$lib/pkgconfig" LD_LIBRARY_PATH="$lib"; fi
for program in kolk kolk-pq kolk-sqlite kolk-tcp; do
  gcc "$program.c" $(pkg-config --cflags --libs $program) -o "$program"
  "./$program"
done
gcc -static kolk.c $(pkg-config --cflags --libs --static kolk) -o static
./static
"$1/usr/bin/kolk" --version
zgrep -q 'shows the pools of a running process' "$1/usr/share/man/man1/kolk-top.1.gz"
test -s "$1/usr/share/doc/libkolk-dev/docs/misuse.md"
for completion in bash-completion/completions/kolk zsh/vendor-completions/_kolk fish/vendor_completions.d/kolk.fish; do
  test -s "$1/usr/share/$completion" # where Debian's shells look
done
if [ -e "$lib/libkolk-malloc.so" ]; then
  "$1/usr/bin/kolk" run --stats -o stats -- ls > files
  grep -q malloc stats
fi
END
cp tests/packaging/hello.c "$work/use/kolk.c"
for program in tests/packaging/adapters/*.c; do
  cp "$program" "$work/use/kolk-${program##*/}"
done

unpacked() {
  local package
  mkdir "$work/root"
  for package in "$work"/debs/*.deb; do
    dpkg -x "$package" "$work/root"
  done
  (cd "$work/use" && sh use.sh "$work/root")
}

# The root has gcc, pkg-config, and what the packages depend on, so that dpkg itself can install them.
make_root() {
  local needed
  needed=$(for package in "$work"/debs/*.deb; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' | sed 's/^ *//; s/ .*//' |
    grep -v kolk | sort -u | tr '\n' ',')gcc,libc6-dev,pkgconf
  tools/root.sh "$work/clean" "$needed" > "$work/said" 2>&1 || return
  mknod -m 666 "$work/clean/dev/null" c 1 3
}

# The files, without what dpkg and ldconfig write down.
files() { (cd "$work/clean" && find . ! -path './proc/*' ! -path './packages*' ! -path './var/lib/dpkg/*' ! -path './var/cache/ldconfig/*' ! -path './var/log/*' | sort); }

in_root() { chroot "$work/clean" env PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive "$@" > "$work/said" 2>&1 || fail "$*: $(cat "$work/said")"; }

installed() {
  local names
  mkdir "$work/clean/packages"
  files > "$work/before"
  cp "$work"/debs/*.deb "$work"/use/*.[cs]* "$work/clean/packages"
  in_root sh -c 'dpkg --install /packages/*.deb'
  in_root sh -c 'cd /packages && sh use.sh ""'
  cat "$work/said"
  names=$(for package in "$work"/debs/*.deb; do dpkg-deb -f "$package" Package; done)
  in_root dpkg --purge $names
  files > "$work/after"
  diff "$work/before" "$work/after" || fail "The packages leave something when they are removed."
  echo "installed in a clean root, used and removed"
}

mkdir "$work/debs"
build "$work/debs"
check
unpacked
if [[ $release ]]; then
  mkdir "$work/again"
  build "$work/again"
  for package in "$work"/debs/*.deb; do
    cmp "$package" "$work/again/${package##*/}"
  done
  echo "built again: the same bytes"
  if ! make_root; then
    echo "not installed in a clean root, which cannot be made here: $(tail -3 "$work/said")"
  else
    installed
  fi
fi
