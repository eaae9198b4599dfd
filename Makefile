# The entry point. Each target installs what it needs (tools/setup.sh), then leaves the work to CMake and to tools/.

PREFIX ?= /usr/local
export DESTDIR
SECONDS ?= 60

.PHONY: help demo web bank test try abi bindings matrix bench fuzz coverage mcdc mutants misuse format dist install uninstall clean
.DEFAULT_GOAL := help

help:
	@echo 'make demo      what kolk is, in a minute: reported mistakes, connections, a recorded program'
	@echo 'make web       a game of pools in the browser: build/web/kolk.html, one page that needs no network'
	@echo 'make bank      money moves by a pool of connections to PostgreSQL, on a server that is thrown away'
	@echo 'make test      the tests, the long ones in part; KOLK_TEST_EFFORT=full: all of their work'
	@echo 'make try       one test, TEST=test_pool_full, or those of a folder, TEST=pool: built and run in seconds'
	@echo 'make abi       the interface of the shared library as it is, for the test that compares it'
	@echo 'make bindings  the crate kolk-sys, which declares the headers for Rust'
	@echo 'make matrix    all tests with every compiler, sanitizer and checker; ROWS="fresh asan": these only'
	@echo 'make bench     the measurements, beside other allocators'
	@echo 'make fuzz      each fuzzer for SECONDS=60'
	@echo 'make coverage  the lines and branches that the tests reach'
	@echo 'make mcdc      the conditions of the pools that the tests show to matter'
	@echo 'make mutants   small changes to the pools that the tests must notice: some hours'
	@echo 'make misuse    what comes of each mistake, into docs/misuse.md'
	@echo 'make format    clang-format over all files'
	@echo 'make dist      all of the library as two files, kolk.h and kolk.c, and the source archive, into build/dist;'
	@echo '               with MEMBERS="pool slotmap" the two files have these members only'
	@echo 'make install   the library, and the kolk command if it can be built, below PREFIX=/usr/local; DESTDIR is put before it'
	@echo 'make uninstall what make install has put there'
	@echo 'make clean     remove build/'

demo:
	@tools/setup.sh demo
	@KOLK_TARGETS=kolk tools/preset.sh release
	@build/release/kolk demo
	@if pkg-config --exists sqlite3; then \
	  cc -std=c11 -O2 -Iinclude -Iadapters/sqlite examples/links.c adapters/sqlite/*.c build/release/libkolk.a \
	    $$(pkg-config --cflags --libs sqlite3) -pthread -o build/release/links && \
	  printf '\nConnections are pooled too: examples/links.c on SQLite\n\n' && build/release/links; fi
	@build/release/kolk replay

web:
	@tools/setup.sh web
	@tools/web.sh build/web
	@echo 'Open build/web/kolk.html in a browser.'

bank:
	@tools/setup.sh bank
	@tools/preset.sh release
	@cc -O2 -Iinclude -Iadapters/pq $$(pkg-config --cflags libpq) examples/bank.c build/release/adapters/libkolk-pq.a \
	  build/release/libkolk.a $$(pkg-config --libs libpq) -pthread -o build/release/bank
	@tools/with_postgres.sh build/release/bank

test:
	@tools/setup.sh $(if $(filter full release,$(KOLK_TEST_EFFORT)),gcc,test)
	@tools/test.sh

try:
	@tools/setup.sh test
	@tools/try.sh $(TEST)

abi:
	@tools/setup.sh abi
	@cmake -S . -B build/abi -DCMAKE_BUILD_TYPE=RelWithDebInfo > /dev/null
	@cmake --build build/abi --target kolk-shared > /dev/null
	@tests/build/abi.sh --write build/abi/libkolk.so

bindings:
	@tools/setup.sh bindings
	@tools/rust.py

matrix:
	@tools/setup.sh matrix
	@tools/matrix.sh $(ROWS)

# jemalloc, loaded with dlopen, needs more of the static thread-local storage than glibc leaves.
bench: export GLIBC_TUNABLES = glibc.rtld.optional_static_tls=20000
bench:
	@tools/setup.sh bench
	@tools/preset.sh bench
	@if [ -e bench/run.sh ]; then bench/run.sh build/bench/bench; \
	else for program in bench/*.cc; do "build/bench/$${program%.cc}" || exit 1; done; fi

fuzz:
	@tools/setup.sh fuzz
	@tools/preset.sh fuzz
	@tools/fuzz.sh $(SECONDS)

coverage:
	@tools/setup.sh coverage
	@tools/coverage.sh

mcdc:
	@tools/setup.sh mcdc
	@tools/mcdc.sh

mutants:
	@tools/setup.sh mutants
	@tools/mutate.py

misuse:
	@tools/setup.sh misuse
	@tools/preset.sh release
	@tools/misuse.py build/release/libkolk.a

format:
	@tools/setup.sh format
	@tools/format.sh

dist:
	@tools/setup.sh dist
	@tools/dist.py all build/dist $(MEMBERS)
	@echo 'build/dist has kolk.h and kolk.c$(if $(MEMBERS), with $(MEMBERS),, kolk.hpp and kolk_gta.hpp for C++), a source archive, a bill of materials (SPDX), and SHA256SUMS'

install:
	@tools/setup.sh install
	@tools/install.sh install "$(PREFIX)"

uninstall:
	@tools/install.sh uninstall "$(PREFIX)"

clean:
	@rm -rf build
