"""kolk for Conan 2: conan create packaging/conan. The package has the library, static or shared, and its headers."""

import os

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load, rm, rmdir

TOP = os.path.join("..", "..")
SOURCES = ["CMakeLists.txt", "VERSION", "LICENSE", "*.md", "cmake/*", "debug/*", "include/*", "src/*", "bindings/*", "tools/*", "docs/*", "examples/*"]


class Kolk(ConanFile):
    name = "kolk"
    description = "Object pools for C"
    license = "Zlib"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": False}

    def set_version(self):
        self.version = load(self, os.path.join(self.recipe_folder, TOP, "VERSION")).strip()

    def export_sources(self):
        for pattern in SOURCES:
            copy(self, pattern, src=os.path.join(self.recipe_folder, TOP), dst=self.export_sources_folder)

    def configure(self):
        self.settings.rm_safe("compiler.libcxx")
        self.settings.rm_safe("compiler.cppstd")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("CLI", "ADAPTERS", "MALLOC"):
            toolchain.cache_variables[f"KOLK_BUILD_{part}"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        for folder in ("share", os.path.join("lib", "cmake"), os.path.join("lib", "pkgconfig")):
            rmdir(self, os.path.join(self.package_folder, folder))
        for pattern in ("*.a",) if self.options.shared else ("*.so*", "*.dylib", "*.dll"):
            rm(self, pattern, self.package_folder, recursive=True)

    def package_info(self):
        self.cpp_info.libs = ["kolk"]
        self.cpp_info.set_property("cmake_target_name", "kolk::kolk")
        if self.settings.os != "Windows":
            self.cpp_info.system_libs = ["pthread"]
