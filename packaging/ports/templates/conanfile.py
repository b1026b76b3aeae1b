"""A recipe of Conan 2 for Allomon.  fill.py has made this file from a template.

The recipe takes the three archives from one place, and builds the installation of CMake.
"""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain
from conan.tools.files import copy, get
from conan.tools.gnu import PkgConfigDeps

ARCHIVES = {
    ".": ("@URL@/@ALLOMON_FILE@", "@ALLOMON_SHA256@"),
    "mimalloc": ("@URL@/@MIMALLOC_FILE@", "@MIMALLOC_SHA256@"),
    "cpp-httplib": ("@URL@/@HTTPLIB_FILE@", "@HTTPLIB_SHA256@"),
}


class Allomon(ConanFile):
    name = "allomon"
    version = "@VERSION@"
    license = "Apache-2.0"
    description = "Heap profiler for C++ programs, preloaded or linked"
    settings = "os", "arch", "compiler", "build_type"
    options = {
        # The commands.  They also need the system's libiberty, of which no package is known here.
        "tools": [True, False],
        # Abseil, libdw and the others are those that the machine has installed.
        "system_libraries": [True, False],
    }
    default_options = {"tools": False, "system_libraries": False}

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration("allomon is for Linux on x86-64")

    def requirements(self):
        if self.options.system_libraries:
            return
        # Headers of ours include Abseil's.
        self.requires("abseil/[>=20220623]", transitive_headers=True, transitive_libs=True)
        if self.options.tools:
            self.requires("elfutils/[>=0.186]")
            self.requires("nlohmann_json/[>=3.11]")
            self.requires("zlib/[>=1.2.13 <2]")
            self.requires("zstd/[>=1.5]")

    def source(self):
        for folder, (url, sha256) in ARCHIVES.items():
            get(self, url, sha256=sha256, strip_root=True, destination=folder)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["ALLOMON_BUILD_TOOLS"] = bool(self.options.tools)
        for name, folder in (("MIMALLOC", "mimalloc"), ("HTTPLIB", "cpp-httplib")):
            path = os.path.join(self.source_folder, folder)
            toolchain.cache_variables[f"ALLOMON_{name}_SOURCE"] = path
        toolchain.generate()
        if not self.options.system_libraries:
            CMakeDeps(self).generate()
            PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        licences = os.path.join(self.package_folder, "licenses")
        copy(self, "LICENSE", src=self.source_folder, dst=licences)

    # Our own lib/cmake/Allomon says how each target is linked; a generated one would not know that
    # the linker keeps all of the archive of Allomon::malloc.
    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "Allomon")]
        self.cpp_info.includedirs = [os.path.join("include", "allomon"), "include"]
        self.runenv_info.append_path("PATH", os.path.join(self.package_folder, "bin"))
