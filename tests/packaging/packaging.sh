#!/bin/bash
# runs: long once
# Uses kolk as an outside program would, in one of the ways below. Every path has a space in it.
# Usage: CC=... CXX=... packaging.sh WAY BUILD
# promise: README.md "`make install`, then pkg-config"
set -euo pipefail
. tests/help/script.sh
build=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/kolk packaging.XXXXXX")
trap 'rm -rf "$work"' EXIT
export CMAKE_BUILD_PARALLEL_LEVEL=2

program=tests/packaging/hello.c
copy_project() {
  mkdir -p "$work/our game"
  cp tests/packaging/outside/CMakeLists.txt "$work/our game"
  cp "$program" "$work/our game/hello.c"
}

# The outside project, built with kolk as a static and as a shared library, or as one of them (shared=OFF or ON), and run:
# outside HOW [CMAKE OPTIONS]
outside() {
  local how=$1 kind needed
  copy_project
  for kind in ${shared:-OFF ON}; do
    cmake -S "$work/our game" -B "$work/build $kind" -DCMAKE_C_COMPILER="$CC" -DHOW="$how" -DBUILD_SHARED_LIBS=$kind "${@:2}"
    [[ -e "$work/our game/hello.cc" ]] || is_c99 "$work/build $kind"
    cmake --build "$work/build $kind"
    "$work/build $kind/hello"
    needed=$(readelf -d "$work/build $kind/hello" | grep -c 'NEEDED.*libkolk\.so' || true)
    [[ $kind$needed == OFF0 || $kind$needed == ON1 ]] || fail "BUILD_SHARED_LIBS=$kind, and libkolk.so is asked for $needed times."
  done
}

is_c99() { # FOLDER: where the outside project is configured
  grep -Eq 'std=gnu99.* -c .*hello\.c' "$1/compile_commands.json" || fail "A project of C99 is compiled as another dialect."
}

# Calls a function for each adapter that was built, with its name, and with its program in `program`.
each_adapter() {
  local name
  for program in tests/packaging/adapters/*.c; do
    name=$(basename "$program" .c)
    if [[ -e $build/adapters/libkolk-$name.a ]]; then
      "$@" "$name"
    else
      echo "left out: the adapter $name"
    fi
  done
}

copy_library() { # into the outside project
  local third="$work/our game/third party/kolk"
  mkdir -p "$third"
  cp -R CMakeLists.txt VERSION cmake debug include src "$third"
}

# The outside project with the library's sources, which must then install nothing of kolk: inside HOW [CMAKE OPTIONS], with
# `shared` set.
inside() {
  copy_library
  outside "$@"
  cmake --install "$work/build $shared" --prefix "$work/prefix" > /dev/null
  [[ $(cd "$work/prefix" && find . -type f) == ./bin/hello ]] || fail "A project that contains kolk installs it as well."
}

# Installs kolk, then moves the installation.
install_and_move() {
  cmake --install "$build" --prefix "$work/a prefix" > /dev/null
  mv "$work/a prefix" "$work/another prefix"
}

# A program compiled together with all files of the library: all_files COMPILER [FLAG...]
all_files() {
  "$@" -std=c11 -Iinclude src/*/*.c tests/packaging/hello.c -o "$work/hello" 2> "$work/said" || fail "$(cat "$work/said")"
  [[ ! -s $work/said ]] || fail "The compiler was not silent: $(cat "$work/said")"
  "$work/hello"
}

plain_cc() { # runs: longest
  local level=-O0 # the compiler takes four times as long with -O2, and its warnings are looked for by other tests
  [[ ${KOLK_TEST_EFFORT:-} != release ]] || level=-O2
  all_files "$CC" $level
}

# With _GNU_SOURCE, with which some projects compile all their files; C++ compilers always define it.
gnu_source() {
  "$CC" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Iinclude src/*/*.c
}

# Link-time optimisation, which may cause more warnings, of one program with three examples: a pool, a queue and a
# shared pool, chosen by the number of arguments.
lto() { # runs: longest
  local file arguments=() flags=(-std=c11 -O2 -flto -Wall -Wextra -Iinclude)
  case ${CC##*/} in *gcc*) flags+=(-flto=auto) ;; esac
  echo 'int main(void) { return 0; }' > "$work/empty.c"
  "$CC" "${flags[@]}" "$work/empty.c" -o "$work/empty" 2> "$work/said" || skip "$CC can't link with -flto here: $(cat "$work/said")"
  for file in src/*/*.c; do
    "$CC" "${flags[@]}" -c "$file" -o "$work/$(basename "$file" .c).o" 2>> "$work/said" || fail "$(cat "$work/said")"
  done
  cat > "$work/main.c" << 'END'
int example_bullets(void), example_blocking_queue(void), example_desks(void);
int main(int n, char **words) {
    (void)words;
    (void)(n == 1 ? example_bullets() : n == 2 ? example_blocking_queue() : example_desks());
    return 0;
}
END
  for file in bullets blocking_queue desks; do
    "$CC" "${flags[@]}" -Dmain="example_$file" -Wno-return-type -c "examples/$file.c" -o "$work/$file.o" 2>> "$work/said" || fail "$(cat "$work/said")"
  done
  "$CC" "${flags[@]}" "$work/main.c" "$work"/*.o -o "$work/all" -pthread -lm 2>> "$work/said" || fail "$(cat "$work/said")"
  for file in bullets blocking_queue desks; do
    "$work/all" "${arguments[@]}" > "$work/$file.out"
    diff -u "examples/$file.expected" "$work/$file.out"
    arguments+=(one)
  done
  [[ ! -s $work/said ]] || fail "The compiler was not silent: $(cat "$work/said")"
}

# Another C library, whose compiler finds no kernel headers. It builds static programs for this machine.
musl() { # runs: longest
  command -v musl-gcc > /dev/null || skip "there is no musl-gcc"
  [[ ${CC##*/} == gcc ]] || skip "musl-gcc is another gcc"
  all_files musl-gcc -static
}

exports() {
  local abi soname
  abi=$(sed -n 's/^#define KOLK_ABI *\([0-9]*\).*/\1/p' include/kolk/base.h)
  soname=$(readelf -d "$build/libkolk.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
  [[ $soname == "libkolk.so.$abi" ]] || fail "The SONAME is $soname, not libkolk.so.$abi."
  nm -D --defined-only "$build/libkolk.so" | grep ' T kolk_' > /dev/null || fail "The shared library exports no kolk_ function."
  exports_only "$build/libkolk" '^kolk_' '^(kolk_|__x86|_.stapsdt.base)'
  each_adapter adapter_exports
}

exports_only() { # LIBRARY NAMES-IN-SHARED NAMES-IN-STATIC
  local others
  others=$(nm -D --defined-only "$1.so" | awk -v names="$2" '$3 !~ names { print $3 }')
  [[ -z $others ]] || fail "$1.so also exports: $others"
  others=$(nm -g --defined-only "$1.a" | awk -v names="$3" 'NF == 3 && $3 !~ names { print $3 }')
  [[ -z $others ]] || fail "$1.a also defines: $others"
}

adapter_exports() { exports_only "$build/adapters/libkolk-$1" "^kolk_$1_" "^(kolk_$1_|__x86)"; }

# The adapters: from the build folder, installed, by pkg-config; and one that does not exist.
adapters() { # runs: longest
  local at
  install_and_move
  at=$(dirname "$(find "$work/another prefix" -name kolk.pc)")
  each_adapter use_adapter "$at"
  copy_project
  if cmake -S "$work/our game" -B "$work/build none" -DCMAKE_C_COMPILER="$CC" -DHOW=package -DADAPTER=telepathy \
    -DCMAKE_PREFIX_PATH="$work/another prefix" 2> "$work/said"; then
    fail "An adapter is found that there is not."
  fi
  grep -q 'The adapter telepathy is not installed' "$work/said" || fail "CMake does not say what is missing: $(cat "$work/said")"
}

use_adapter() { # FOLDER-OF-PC-FILES NAME
  local from
  for from in "-Dkolk_DIR=$build" "-DCMAKE_PREFIX_PATH=$work/another prefix"; do
    rm -rf "$work/build OFF" "$work/build ON"
    outside package -DADAPTER="$2" "$from"
  done
  eval "\"\$CC\" $program -o \"\$work/$2\" $(PKG_CONFIG_PATH=$1 pkg-config --cflags --libs "kolk-$2")"
  LD_LIBRARY_PATH=$(dirname "$1") "$work/$2"
}

# KOLK_TEST_EFFORT=quick compiles the library only once: the project of C is only configured.
subdirectory() {
  local kind=OFF
  if [[ ${KOLK_TEST_EFFORT:-} == quick ]]; then
    kind=ON
    copy_project
    copy_library
    cmake -S "$work/our game" -B "$work/build C" -DCMAKE_C_COMPILER="$CC" -DHOW=subdirectory -DBUILD_SHARED_LIBS=ON
    is_c99 "$work/build C"
  else
    shared=ON inside subdirectory
  fi

  # In a project that uses C only for kolk and compiles several files at once, on a machine where C has exception tables
  # only on request.
  cp tests/compile/every_header.cc "$work/our game/hello.cc"
  shared=$kind inside subdirectory -DCMAKE_CXX_COMPILER="$CXX" -DLANGUAGE=CXX -DCMAKE_UNITY_BUILD=ON \
    -DCMAKE_C_FLAGS="-fno-unwind-tables -fno-asynchronous-unwind-tables"
}

fetch_content() { # runs: longest
  shared=OFF inside fetch_content # a subdirectory too from then on
}
build_tree() { outside package -Dkolk_DIR="$build"; }

installed() {
  install_and_move
  grep -q 'LINK_ONLY:Threads::Threads' "$(find "$work/another prefix" -name kolkTargets.cmake)" ||
    fail "The installed static library does not ask for threads."
  outside package -DCMAKE_PREFIX_PATH="$work/another prefix"
}

# make install and make uninstall with an existing build: the user's files are installed, and afterwards none of them is
# left. For a package, DESTDIR is put before the paths.
make_install() {
  local file tree="$work/tree"
  mkdir -p "$tree/tools" "$tree/build"
  cp Makefile VERSION "$tree"
  cp tools/install.sh "$tree/tools"
  ln -s "$(realpath "$build")" "$tree/build/release"
  printf '#!/bin/sh\n' | tee "$tree/tools/setup.sh" > "$tree/tools/preset.sh"
  chmod +x "$tree"/tools/*.sh
  for DESTDIR in "" "$work/a package"; do
    export DESTDIR
    mkdir -p "$work/a prefix" "$DESTDIR$work/a prefix"
    touch "$DESTDIR$work/a prefix/of somebody else"
    make -C "$tree" install PREFIX="$work/a prefix"
    for file in include/kolk.h include/kolk.hpp include/kolk_gta.hpp include/kolk/kolk_gta.hpp include/kolk/pool.h include/kolk_ffi.h share/kolk/api.json share/kolk/lua/kolk_lua.h share/kolk/rust/kolk/src/lib.rs share/doc/kolk/LICENSE share/doc/kolk/docs/misuse.md; do
      [[ -s "$DESTDIR$work/a prefix/$file" ]] || fail "$file is not installed."
    done
    if [[ -e $build/man3 ]]; then
      grep -q 'man3/kolk_pool\.3' "$DESTDIR$work/a prefix/share/man/man3/kolk_pool_alloc.3" || fail "A function has no manual page."
    fi
    if [[ -e $build/man1 ]]; then
      grep -q 'shows the pools of a running process' "$DESTDIR$work/a prefix/share/man/man1/kolk-top.1" || fail "A verb has no manual page."
      for file in bash-completion/completions/kolk zsh/site-functions/_kolk fish/vendor_completions.d/kolk.fish; do
        [[ -s "$DESTDIR$work/a prefix/share/$file" ]] || fail "$file is not installed."
      done
    fi
    mv "$DESTDIR$work/a prefix" "$DESTDIR$work/another prefix" # as a user may
    make -C "$tree" uninstall PREFIX="$work/another prefix"
    [[ $(cd "$DESTDIR$work/another prefix" && find . -mindepth 1) == "./of somebody else" ]] ||
      fail "make uninstall leaves: $(cd "$DESTDIR$work/another prefix" && find .)"
    if make -C "$tree" uninstall PREFIX="$work/another prefix" 2> "$work/said"; then fail "It is uninstalled twice."; fi
    grep -q 'make install has put nothing below' "$work/said" || fail "It does not say why: $(cat "$work/said")"
  done
}

# With only a compiler and CMake, the library can still be configured, and prints which parts are left out. Without python3,
# only a source archive has what other languages read.
alone() {
  command -v pkg-config > /dev/null || skip "there is no pkg-config whose modules could be hidden"
  PKG_CONFIG_LIBDIR=/nonexistent cmake -S . -B "$work/alone" -DCMAKE_C_COMPILER="$CC" > "$work/said" 2>&1 || fail "$(cat "$work/said")"
  grep -q 'The kolk command is left out: it needs' "$work/said" || fail "It is not said that the kolk command is left out: $(cat "$work/said")"
  cmake -S . -B "$work/alone" -DCMAKE_C_COMPILER="$CC" -Dkolk_python3= > "$work/said" 2>&1 || fail "$(cat "$work/said")"
  grep -q 'The manual pages and .* are left out: they need' "$work/said" || fail "It is not said that manual pages are left out: $(cat "$work/said")"
  [[ -e bindings/api.json ]] || grep 'kolk_ffi.h and api.json, .* are left out: they need' > /dev/null "$work/said" ||
    fail "It is not said that kolk_ffi.h is left out: $(cat "$work/said")"
}

by_pkg_config() { # FOLDER-OF-PC-FILE
  # pkg-config quotes for the shell; eval undoes it.
  eval "\"\$CC\" tests/packaging/hello.c -o \"\$work/shared\" $(PKG_CONFIG_PATH=$1 pkg-config --cflags --libs kolk)"
  LD_LIBRARY_PATH=$(dirname "$1") "$work/shared"
  eval "\"\$CC\" -static tests/packaging/hello.c -o \"\$work/static\" $(PKG_CONFIG_PATH=$1 pkg-config --static --cflags --libs kolk)"
  "$work/static"
}

pkg_config() {
  local at libdir prefix found
  install_and_move
  at=$(dirname "$(find "$work/another prefix" -name kolk.pc)")
  by_pkg_config "$at"
  [[ $(PKG_CONFIG_PATH=$at pkg-config --static --libs kolk) == *-pthread* ]] || fail "kolk.pc does not ask for threads."
  [[ $(PKG_CONFIG_PATH=$at pkg-config --libs kolk) != *-pthread* ]] || fail "The shared library has its threads already."

  # As distributions configure it: a libdir of several parts (the prefix follows kolk.pc), or an absolute one (it does not).
  at="$work/moved/lib/some machine/pkgconfig"
  mkdir -p "$at"
  for libdir in "lib/some machine" /opt/kolk/lib; do
    cmake -S . -B "$work/pc" -DCMAKE_C_COMPILER="$CC" -DKOLK_BUILD_CLI=OFF \
      -DCMAKE_INSTALL_PREFIX=/opt/kolk -DCMAKE_INSTALL_LIBDIR="$libdir"
    cp "$work/pc/kolk.pc" "$at"
    prefix=$(PKG_CONFIG_PATH=$at pkg-config --variable=prefix kolk | tr -d '\\')
    found=$(PKG_CONFIG_PATH=$at pkg-config --variable=libdir kolk | tr -d '\\')
    case $libdir in
      /*) [[ $prefix == /opt/kolk && $found == "$libdir" ]] ;;
      *) [[ $(realpath "$prefix") == "$work/moved" && $(realpath "$found") == "$work/moved/$libdir" ]] ;;
    esac || fail "With libdir $libdir, kolk.pc says prefix $prefix, libdir $found."
  done
}

# As a subproject of Meson, by the wrap file that docs/building.md prints, from the archive of make dist. Both kinds of
# library are installed with the project, and found by pkg-config. With KOLK_TEST_EFFORT=release, each kind also alone.
with_meson() { # runs: longest
  local kind kinds=both needed at archive version
  command -v meson > /dev/null || skip "there is no meson"
  [[ ${KOLK_TEST_EFFORT:-} != release ]] || kinds="both static shared"
  version=$(cat VERSION)
  archive=kolk-$version.tar.gz
  tools/dist.py all "$work/dist"
  mkdir -p "$work/our game/subprojects/packagecache"
  cp "$work/dist/$archive" "$work/our game/subprojects/packagecache"
  sed -n '/^\[wrap-file\]/,/^```/p' docs/building.md | sed "/^\`/d; s/^\(source_hash = \).*/\1$(sed -n "s/  $archive//p" "$work/dist/SHA256SUMS")/" \
    > "$work/our game/subprojects/kolk.wrap"
  cp tests/packaging/hello.c "$work/our game"
  cat > "$work/our game/meson.build" << 'END'
project('game', 'c')
executable('hello', 'hello.c', dependencies: dependency('kolk', version: '>=0.1'), install: true)
END
  for kind in $kinds; do
    meson setup "$work/build $kind" "$work/our game" -Ddefault_library=$kind --prefix "$work/prefix $kind" -Dwarning_level=2 -Dwerror=true
    meson compile -C "$work/build $kind" > "$work/said" 2>&1 || fail "$(tail -40 "$work/said")"
    meson install -C "$work/build $kind" > /dev/null
    needed=$(readelf -d "$work/build $kind/hello" | grep -c 'NEEDED.*libkolk\.so\.' || true)
    [[ $kind$needed == static0 || $kind$needed == both1 || $kind$needed == shared1 ]] || fail "default_library=$kind, and libkolk.so is asked for $needed times."
    "$work/build $kind/hello"
  done
  at=$(dirname "$(find "$work/prefix both" -name kolk.pc)")
  exports_only "$(dirname "$at")/libkolk" '^kolk_' '^(kolk_|__x86|_.stapsdt.base)'
  [[ $(PKG_CONFIG_PATH=$at pkg-config --modversion kolk) == "$version" ]] || fail "kolk.pc tells another version."
  [[ $(readelf -d "$build/libkolk.so" | grep SONAME) == "$(readelf -d "$(dirname "$at")/libkolk.so" | grep SONAME)" ]] || fail "The SONAME is not the one that CMake gives."
  readelf -SW "$(dirname "$at")/libkolk.so" | grep '\.debug_gdb_scripts' > /dev/null || fail "The shared library has no script for gdb."
  by_pkg_config "$at"
}

"$1"
