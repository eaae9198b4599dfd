#!/bin/sh
# Installs the packages that a group of work needs on Debian and Ubuntu: without asking as root or with CI=true,
# otherwise after asking. Prints nothing if none is missing. If it cannot install them, prints one sentence that names
# the missing packages.
# Usage: tools/setup.sh GROUP: a target of make, or a row of the matrix
set -u

# ---- the needs of each group: a package, and a command that succeeds if the package's contents are there ----

need_demo() {
  need gcc command -v gcc
  need libc6-dev header stdlib.h
  need cmake command -v cmake
  need ninja-build command -v ninja
  need pkg-config command -v pkg-config
  need libzstd-dev pkg-config --exists libzstd
  need libjansson-dev pkg-config --exists jansson
  need libncurses-dev pkg-config --exists ncursesw
  need libdw-dev pkg-config --exists libdw
}

# The library needs nothing else. The kolk command is built if the libraries that it needs are available.
need_install() {
  need gcc command -v cc
  need libc6-dev header stdlib.h
  need cmake command -v cmake
}

need_dist() {
  need python3 command -v python3
}

need_web() {
  need_dist
  need emscripten command -v emcc
}

need_bank() {
  need_demo
  need postgresql test -x /usr/lib/postgresql/*/bin/initdb
  need libpq-dev pkg-config --exists libpq
}

# The tests that make test runs, and what KOLK_TEST_EFFORT=full adds: the row gcc.
need_test() {
  need_demo
  need g++ command -v g++
  need libcmocka-dev header cmocka.h
  need python3 command -v python3
  need libsdl2-dev pkg-config --exists sdl2
  need libsqlite3-dev pkg-config --exists sqlite3
  need liblua5.4-dev pkg-config --exists lua5.4
  need zlib1g-dev pkg-config --exists zlib
  need redis-server command -v redis-server
  need_bank
  need pgbouncer command -v pgbouncer
  need openssl command -v openssl
  need python3-pyte /usr/bin/python3 -c "import pyte"
  need faketime command -v faketime
  need sqlite3 command -v sqlite3
  need git command -v git
  need zstd command -v zstd
  need xz-utils command -v xz
  need lua5.4 command -v lua5.4
}

need_abi() {
  need_install
  need abigail-tools command -v abidiff
  need xz-utils command -v xz
}

need_bindings() {
  need python3 command -v python3
}

# ---- the rows of the matrix ----

need_fresh() {
  need mmdebstrap command -v mmdebstrap
}

need_gcc() {
  need_test
  need_abi
  need_misuse
  need_web
  need python3-clang-19 /usr/bin/python3 -c "import clang.cindex"
  need python3-cffi /usr/bin/python3 -c "import cffi"
  need luajit command -v luajit
  need rustc command -v rustc
  need cargo command -v cargo
  need gdb command -v gdb
  need perl command -v perl
  need musl-tools command -v musl-gcc
  need spin command -v spin
  need systemtap-sdt-dev header sys/sdt.h
  need bpftrace command -v bpftrace
  need mandoc command -v mandoc
  need groff-base command -v groff
  need man-db command -v lexgrog
  need nodejs command -v node
  need npm command -v npm
  need chromium command -v chromium
  need stress-ng command -v stress-ng
  need zsh command -v zsh
  need fish command -v fish
  need meson command -v meson
  need reuse command -v reuse
  need dpkg-dev command -v dpkg-buildpackage
  need build-essential false
  need debhelper command -v dh
  need lintian command -v lintian
  need mmdebstrap command -v mmdebstrap
  need glibc-source test -d /usr/src/glibc
  need_clang
  need clang-19 command -v clang-19
  need libc++-19-dev test -e /usr/lib/llvm-19/lib/libc++.so
  need libc++abi-19-dev test -e /usr/lib/llvm-19/lib/libc++abi.so
  need gcc-arm-none-eabi command -v arm-none-eabi-gcc
  need libnewlib-arm-none-eabi links arm-none-eabi-gcc -specs=nosys.specs
  need qemu-system-arm command -v qemu-system-arm
  need gcc-riscv64-unknown-elf command -v riscv64-unknown-elf-gcc
  need picolibc-riscv64-unknown-elf test -e /usr/lib/picolibc/riscv64-unknown-elf/lib/rv32imac/ilp32/libsemihost.a
  need qemu-system-misc command -v qemu-system-riscv32
  need_machine i686-linux-gnu
  need_machine s390x-linux-gnu
  need_machine aarch64-linux-gnu
  need_machine arm-linux-gnueabihf
  need_machine riscv64-linux-gnu
  need_mingw
}

need_clang() {
  need_test
  need_services
  need patch command -v patch
  need clang command -v clang
  need libclang-rt-dev links clang -fsanitize=address
  need llvm command -v llvm-symbolizer
}

need_asan() { need_clang; }

# What tests of the programs ask, on each machine.
need_services() {
  need netbase test -e /etc/services
  need redis-server command -v redis-server
  need prometheus command -v promtool
  need python3-prometheus-client /usr/bin/python3 -c "import prometheus_client"
}

need_i686() {
  need_emulated i686-linux-gnu
  need g++-i686-linux-gnu command -v i686-linux-gnu-g++
  need libcmocka-dev:i386 links i686-linux-gnu-gcc -lcmocka
}
need_s390x() { need_emulated s390x-linux-gnu; }
need_aarch64() { need_emulated aarch64-linux-gnu; }
need_armhf() { need_emulated arm-linux-gnueabihf; }
need_riscv64() { need_emulated riscv64-linux-gnu; }

# A compiler for another machine, and its libc: NAME as in its gcc.
need_machine() {
  need "gcc-$1" command -v "$1-gcc"
  case $1 in
    i686*) libc=libc6-dev-i386-cross ;;
    s390x*) libc=libc6-dev-s390x-cross ;;
    aarch64*) libc=libc6-dev-arm64-cross ;;
    arm*) libc=libc6-dev-armhf-cross ;;
    riscv64*) libc=libc6-dev-riscv64-cross ;;
  esac
  need "$libc" links "$1-gcc"
}

need_emulated() {
  need_install
  need_services
  need ninja-build command -v ninja
  need pkg-config command -v pkg-config
  need_machine "$1"
  need qemu-user command -v qemu-s390x
}

need_mingw() {
  need_install
  need ninja-build command -v ninja
  need pkg-config command -v pkg-config
  need gcc-mingw-w64-x86-64-win32 command -v x86_64-w64-mingw32-gcc
  need gcc-mingw-w64-i686-win32 command -v i686-w64-mingw32-gcc
  need wine command -v wine
  need wine64 test -x /usr/lib/wine/wine64
}
need_mingw_x86_64() { need_mingw; }
need_mingw_i686() { need_mingw; }

need_tidy() {
  need_clang
  need_web
  need clang-tidy-14 command -v clang-tidy-14
  need cppcheck command -v cppcheck
}

need_matrix() {
  need_fresh
  need_gcc
  need_i686
  need qemu-user command -v qemu-s390x
  need_format
  need_tidy
}

need_bench() {
  need_demo
  need g++ command -v g++
  need libbenchmark-dev header benchmark/benchmark.h
  need libboost-dev header boost/pool/pool.hpp
  need libmimalloc-dev links gcc -lmimalloc
  need libjemalloc-dev links gcc -ljemalloc
  need libtcmalloc-minimal4 links gcc -l:libtcmalloc_minimal.so.4
  need libconcurrentqueue-dev header concurrentqueue/blockingconcurrentqueue.h
  need libtbb-dev header tbb/concurrent_queue.h
  need libglib2.0-dev pkg-config --exists glib-2.0
  need libaprutil1-dev pkg-config --exists apr-util-1
  need libapr1-dev pkg-config --exists apr-1
  need libtalloc-dev pkg-config --exists talloc
  need libzdb-dev pkg-config --exists zdb
  need valgrind command -v valgrind
}

need_fuzz() {
  need_demo
  need clang command -v clang
  need libclang-rt-dev links clang -fsanitize=address
}

need_coverage() {
  need_test
  need gcovr command -v gcovr
}

need_mcdc() {
  need_test
  need clang-19 command -v clang-19
  need llvm-19 command -v llvm-cov-19
  need libclang-rt-19-dev links clang-19 -fprofile-instr-generate
}

need_mutants() {
  need_test
}

need_misuse() {
  need_demo
  need python3 command -v python3
  need valgrind command -v valgrind
}

need_format() {
  need clang-format-14 command -v clang-format-14
}

header() { echo "#include <$1>" | g++ -E -x c++ - || echo "#include <$1>" | cc -E -; }

links() {
  compiler=$1
  shift
  echo 'int main(void) { return 0; }' | "$compiler" -x c - -x none "$@" -o /dev/null
}

need() {
  package=$1
  shift
  "$@" > /dev/null 2>&1 && return
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null)" = installed ] && return
  case "$missing " in *" $package "*) ;; *) missing="$missing $package" ;; esac
}

look() {
  missing=
  "need_$group"
}

give_up() {
  echo "kolk: please install these by hand, $1:$missing" >&2
  exit 1
}

# ---- install them ----

group=$(echo "${1:-}" | tr -- - _)
grep -q "^need_$group() {" "$0" || { sed -n 's/^# Usage: /usage: /p' "$0" >&2; exit 2; }
look
[ -n "$missing" ] || exit 0
command -v apt-get > /dev/null || give_up "under the names that your system has for them"

if [ "$(id -u)" = 0 ]; then
  as_root=
elif ! command -v sudo > /dev/null; then
  give_up "as there is no sudo here"
elif [ "${CI:-}" = true ]; then
  as_root="sudo -n"
elif [ -t 0 ] && [ -t 1 ]; then
  echo "kolk: make $1 needs these packages:$missing"
  printf 'Install them with sudo? [y/N] '
  read -r answer
  case $answer in y | Y | yes) as_root=sudo ;; *) give_up "then run make $1 again" ;; esac
else
  give_up "as there is no terminal to ask for sudo's password"
fi

echo "kolk: installing for make $1:$missing"
case $missing in *:i386*) $as_root dpkg --add-architecture i386 ;; esac
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get"
[ -t 1 ] || apt="$apt -qq -o Dpkg::Use-Pty=0" # on a terminal, apt shows its progress
$apt update || echo "kolk: apt-get update failed; going on with the lists that are there."
known=
for package in $missing; do
  apt-cache show "$package" > /dev/null 2>&1 && known="$known $package"
done
install="$apt install -y --no-install-recommends $known"
if [ -t 1 ]; then
  $install
else
  said=$($install 2>&1) || echo "$said" >&2
fi
look
[ -z "$missing" ] || give_up "as apt-get could not"
