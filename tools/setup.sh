#!/bin/sh
# Installs the packages that a group of work needs on Debian and Ubuntu: without asking as root or with CI=true,
# otherwise after asking. Prints nothing if none is missing. If it cannot install them, prints one sentence that names
# the missing packages.
# Usage: tools/setup.sh GROUP: a target of make, or a row of the matrix
set -u

# ---- the needs of each group: a package, and a command that succeeds if the package's contents are there ----

need_demo() {
  need libc6-dev header stdlib.h
  commands gcc cmake ninja-build=ninja pkg-config
  modules libzstd-dev=libzstd libjansson-dev=jansson libncurses-dev=ncursesw libdw-dev=libdw
}

# The library needs nothing else. The kolk command is built if the libraries that it needs are available.
need_install() {
  need libc6-dev header stdlib.h
  commands gcc=cc cmake
}

need_dist() {
  commands python3
}

need_web() {
  need_dist
  commands emscripten=emcc
}

need_bank() {
  need_demo
  need postgresql test -x /usr/lib/postgresql/*/bin/initdb
  modules libpq-dev=libpq
}

# The tests that make test runs.
need_test() {
  need_demo
  need libcmocka-dev header cmocka.h
  need netbase test -e /etc/services
  modules libsqlite3-dev=sqlite3 liblua5.4-dev=lua5.4 zlib1g-dev=zlib libpq-dev=libpq
  commands g++ python3 faketime git zstd
}

# What the long tests add: servers, a window, programs that run under malloc's library.
need_long() {
  need_test
  need_bank
  need python3-pyte /usr/bin/python3 -c "import pyte"
  commands redis-server pgbouncer openssl lua5.4 sqlite3 xz-utils=xz
  modules libsdl2-dev=sdl2
}

need_abi() {
  need_install
  commands abigail-tools=abidiff xz-utils=xz
}

need_bindings() {
  commands python3
}

# ---- the rows of the matrix ----

need_fresh() {
  commands mmdebstrap
}

# What KOLK_TEST_EFFORT=full adds: the row gcc.
need_gcc() {
  need_long
  need_abi
  need_misuse
  need_web
  need python3-clang-19 /usr/bin/python3 -c "import clang.cindex"
  need python3-cffi /usr/bin/python3 -c "import cffi"
  need systemtap-sdt-dev header sys/sdt.h
  need build-essential false
  need glibc-source test -d /usr/src/glibc
  commands luajit rustc cargo gdb perl musl-tools=musl-gcc spin bpftrace mandoc groff-base=groff man-db=lexgrog
  commands nodejs=node npm chromium stress-ng zsh fish meson reuse dpkg-dev=dpkg-buildpackage debhelper=dh lintian
  commands mmdebstrap
  need_clang
  need libc++-19-dev test -e /usr/lib/llvm-19/lib/libc++.so
  need libc++abi-19-dev test -e /usr/lib/llvm-19/lib/libc++abi.so
  need libnewlib-arm-none-eabi links arm-none-eabi-gcc -specs=nosys.specs
  need picolibc-riscv64-unknown-elf test -e /usr/lib/picolibc/riscv64-unknown-elf/lib/rv32imac/ilp32/libsemihost.a
  commands clang-19 gcc-arm-none-eabi=arm-none-eabi-gcc qemu-system-arm
  commands gcc-riscv64-unknown-elf=riscv64-unknown-elf-gcc qemu-system-misc=qemu-system-riscv32
  need_machine i686-linux-gnu
  commands gcc-i686-linux-gnu=i686-linux-gnu-gcc qemu-user=qemu-i386
  need_machine s390x-linux-gnu
  need_machine aarch64-linux-gnu
  need_machine arm-linux-gnueabihf
  need_machine riscv64-linux-gnu
  need_mingw
}

need_clang() {
  need_long
  need_services
  need patch command -v patch
  need clang command -v clang
  need libclang-rt-dev links clang -fsanitize=address
  commands heaptrack patch clang llvm=llvm-symbolizer
}

need_asan() { need_clang; }

# What tests of the programs ask, on each machine.
need_services() {
  need netbase test -e /etc/services
  need python3-prometheus-client /usr/bin/python3 -c "import prometheus_client"
  commands redis-server prometheus=promtool
}

need_i686() {
  need_emulated i686-linux-gnu
  need libcmocka-dev:i386 links i686-linux-gnu-gcc -lcmocka
  commands g++-i686-linux-gnu=i686-linux-gnu-g++
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
  commands ninja-build=ninja pkg-config
  need_machine "$1"
  commands qemu-user=qemu-s390x
}

need_mingw() {
  need_install
  need wine64 test -x /usr/lib/wine/wine64
  commands ninja-build=ninja pkg-config gcc-mingw-w64-x86-64-win32=x86_64-w64-mingw32-gcc
  commands gcc-mingw-w64-i686-win32=i686-w64-mingw32-gcc wine
}
need_mingw_x86_64() { need_mingw; }
need_mingw_i686() { need_mingw; }

need_tidy() {
  need_clang
  need_web
  commands clang-tidy-14 cppcheck
}

need_matrix() {
  need_fresh
  need_gcc
  need_i686
  commands qemu-user=qemu-s390x
  need_format
  need_tidy
}

need_bench() {
  need_demo
  need libbenchmark-dev header benchmark/benchmark.h
  need libboost-dev header boost/pool/pool.hpp
  need libmimalloc-dev links gcc -lmimalloc
  need libjemalloc-dev links gcc -ljemalloc
  need libtcmalloc-minimal4 links gcc -l:libtcmalloc_minimal.so.4
  need libconcurrentqueue-dev header concurrentqueue/blockingconcurrentqueue.h
  need libtbb-dev header tbb/concurrent_queue.h
  commands g++ valgrind
  modules libglib2.0-dev=glib-2.0 libaprutil1-dev=apr-util-1 libapr1-dev=apr-1 libtalloc-dev=talloc libzdb-dev=zdb libdpdk-dev=libdpdk
}

need_fuzz() {
  need_demo
  need libclang-rt-dev links clang -fsanitize=address
  commands clang
}

need_coverage() {
  need_long
  commands gcovr
}

need_mcdc() {
  need_long
  need libclang-rt-19-dev links clang-19 -fprofile-instr-generate
  commands clang-19 llvm-19=llvm-cov-19
}

need_mutants() {
  need_long
}

need_misuse() {
  need_demo
  commands python3 valgrind
}

need_format() {
  commands clang-format-14
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

# Packages whose command, or whose module of pkg-config, has another name behind `=`, or the package's own.
commands() { for each in "$@"; do need "${each%%=*}" command -v "${each#*=}"; done; }
modules() { for each in "$@"; do need "${each%%=*}" pkg-config --exists "${each#*=}"; done; }

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
