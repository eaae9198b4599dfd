#!/bin/bash
# runs: long once
# What other package managers read, and who asks for licences. All of them tell the version of the file VERSION and the
# number of the shared library, and name the sources that there are. Each public header tells its licence. Zephyr's
# CMakeLists.txt builds the library for a Cortex-M4, and vcpkg's portfile runs, with CMake functions of the same names in
# place of theirs. None of these package managers is run here.
# Usage: recipes.sh
set -euo pipefail
. tests/help/script.sh
top=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(cat VERSION)
abi=$(sed -n 's/^#define KOLK_ABI *\([0-9]*\).*/\1/p' include/kolk/base.h)

is() { # WHAT VALUE EXPECTED
  [[ $2 == "$3" ]] || fail "$1: $2, not $3"
}

is "docs/building.md, FetchContent and the wrap file" "$(grep -oE 'kolk-[0-9.]*[0-9]' docs/building.md | sort -u)" "kolk-$version"
is "packaging/debian/control" "$(sed -n 's/^Package: libkolk\(-adapters\|\)\([0-9]\)/\2/p' packaging/debian/control | sort -u)" "$abi"
is "docs/building.md, the packages of Debian" "$(sed -n '/^| package | contents/,/^$/s/^| \([^|]*\) |.*/\1/p' docs/building.md | sed 1d | tr -d ' ' | tr ',' '\n' | sort)" \
  "$(sed -n 's/^Package: //p' packaging/debian/control | sort)"
maintainer=$(sed -n 's/^Maintainer: //p' packaging/debian/control)
is "library.json, the authors, and packaging/debian/control, the maintainer" \
  "$(sed -n 's/^  "authors": { "name": "\(.*\)" },$/\1/p' library.json)" "${maintainer% <*}"
is "LICENSE, the authors" "$(sed -n 's/^Copyright (c) [0-9]* the/The/p' LICENSE)" "${maintainer% <*}"
[[ -e packaging/debian/libkolk$abi.install ]] || fail "packaging/debian has no libkolk$abi.install"

/usr/bin/env python3 - "$version" << 'END'
import ast, glob, json, re, sys
version = sys.argv[1]
library, port = (json.load(open(path)) for path in ("library.json", "packaging/vcpkg/kolk/vcpkg.json"))
for path, read in ("library.json", library), ("vcpkg.json", port):
    assert read["name"] == "kolk" and read["version"] == version and read["license"] == "Zlib", f"{path}: {read}"
build = library["build"]
assert set(build) == {"includeDir", "srcDir", "srcFilter", "flags"} and build["flags"] == []
listed = [path for rule in build["srcFilter"] for path in glob.glob(f"{build['srcDir']}/{re.fullmatch('[+]<(.*)>', rule)[1]}")]
assert sorted(listed) == sorted(glob.glob("src/*/*.c")), "library.json has not the sources"
assert all(glob.glob(f"{build['includeDir']}/{header}") for header in library["headers"])
for pattern in library["export"]["include"]:
    assert glob.glob(pattern), f"library.json: {pattern}"
for path in glob.glob("packaging/conan/**/*.py", recursive=True):
    tree = ast.parse(open(path).read(), path)
recipe = ast.parse(open("packaging/conan/conanfile.py").read())
[sources] = [node.value for node in recipe.body if isinstance(node, ast.Assign) and node.targets[0].id == "SOURCES"]
for pattern in ast.literal_eval(sources):
    assert glob.glob(pattern), f"packaging/conan/conanfile.py: {pattern}"
for folder in set(re.findall(r"install\(DIRECTORY (\w+)", open("CMakeLists.txt").read())):
    assert f"{folder}/*" in ast.literal_eval(sources), f"packaging/conan/conanfile.py lacks {folder}"
END

# A header that a program copies on its own tells its licence in its first line.
headers=$(find include adapters/*/kolk bindings -name '*.h' -o -name '*.hpp' -o -name '*.inl')
lacking=$(awk 'FNR == 1 && $0 != "/* SPDX-License-""Identifier: Zlib */" { print FILENAME }' $headers)
is "headers whose first line is not the licence's identifier" "$lacking" ""

if [[ ! -e .git ]] || ! command -v reuse > /dev/null; then
  echo "left out: reuse lint, which needs reuse and git"
else
  reuse lint > "$work/said" 2>&1 || fail "$(cat "$work/said")"
fi

# vcpkg
{
  for name in vcpkg_cmake_configure vcpkg_cmake_install vcpkg_cmake_config_fixup vcpkg_fixup_pkgconfig vcpkg_install_copyright; do
    echo "function($name)"
    echo "  message(\"$name \${ARGN}\")"
    echo "endfunction()"
  done
  echo "set(CURRENT_PORT_DIR \"$top/packaging/vcpkg/kolk\")"
  echo "set(CURRENT_PACKAGES_DIR \"$work/packages\")"
  echo "include(\"$top/packaging/vcpkg/kolk/portfile.cmake\")"
} > "$work/vcpkg.cmake"
cmake -P "$work/vcpkg.cmake" > "$work/said" 2>&1 || fail "$(cat "$work/said")"
is "vcpkg's SOURCE_PATH" "$(sed -n 's/^vcpkg_cmake_configure SOURCE_PATH;\([^;]*\);.*/\1/p' "$work/said")" "$top"
for option in $(grep -oE 'KOLK_[A-Z_]+' packaging/vcpkg/kolk/portfile.cmake); do
  grep -q "^option($option " CMakeLists.txt || fail "The port has an option that there is not: $option"
done

# Zephyr
is "zephyr/module.yml, the folder of CMakeLists.txt" "$(sed -n 's/^  cmake: //p' zephyr/module.yml)" zephyr
[[ -s $(sed -n 's/^  kconfig: //p' zephyr/module.yml) ]] || fail "zephyr/module.yml names a Kconfig that there is not."
if ! command -v arm-none-eabi-gcc > /dev/null; then
  echo "left out: building Zephyr's module, because there is no arm-none-eabi-gcc"
  exit 0
fi
cat > "$work/CMakeLists.txt" << END
cmake_minimum_required(VERSION 3.20)
project(zephyr C)
add_library(zephyr_interface INTERFACE)
macro(zephyr_include_directories)
  target_include_directories(zephyr_interface INTERFACE \${ARGN})
endmacro()
macro(zephyr_library)
  add_library(module STATIC)
  target_link_libraries(module PUBLIC zephyr_interface)
endmacro()
macro(zephyr_library_sources)
  target_sources(module PRIVATE \${ARGN})
endmacro()
macro(zephyr_library_compile_options)
  target_compile_options(module PRIVATE \${ARGN})
endmacro()
set(CONFIG_KOLK y)
add_subdirectory("$top/zephyr" zephyr)
add_executable(device "$top/bench/small/pool.c" "$top/bench/device/memory.c" "$top/bench/device/start.c")
target_link_libraries(device module)
END
cmake -G Ninja -S "$work" -B "$work/build" -DCMAKE_SYSTEM_NAME=Generic -DCMAKE_C_COMPILER=arm-none-eabi-gcc -DCMAKE_TRY_COMPILE_TARGET_TYPE=STATIC_LIBRARY \
  -DCMAKE_C_FLAGS="-mcpu=cortex-m4 -mthumb -ffunction-sections" \
  -DCMAKE_EXE_LINKER_FLAGS="-nostdlib -T $top/bench/device/arm.ld -Wl,--gc-sections -fno-tree-loop-distribute-patterns" \
  -DCMAKE_C_STANDARD_LIBRARIES=-lgcc -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=0 > "$work/said" 2>&1 || fail "$(cat "$work/said")"
cmake --build "$work/build" > "$work/said" 2>&1 || fail "$(tail -20 "$work/said")"
