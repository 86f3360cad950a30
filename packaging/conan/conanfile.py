"""Flor as a package of Conan 2: `conan create packaging/conan`, from a checkout or a tarball of the sources."""
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps


class Flor(ConanFile):
    name = "flor"
    description = "Record-replay runtime for model training, with git integration"
    license = "Apache-2.0"
    package_type = "static-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"torch": [True, False], "tool": [True, False]}
    default_options = {"torch": False, "tool": False}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        lists = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(flor VERSION ([0-9.]+)", lists).group(1)

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "CHANGELOG.md", "cmake/*", "store/*", "runtime/*", "cli/*", "examples/*",
                        "docs/sample/*"):
            copy(self, pattern, self._root, self.export_sources_folder)

    def requirements(self):
        for library in ("fmt/[>=9 <12]", "libgit2/[>=1.5 <2]", "nlohmann_json/[>=3.11 <4]", "sqlite3/[>=3.40 <4]",
                        "xxhash/[>=0.8 <1]", "zstd/[>=1.5 <2]"):
            self.requires(library)
        if self.options.tool:
            for library in ("cairo/[>=1.16 <2]", "cli11/[>=2.1 <3]", "hiredis/[>=0.14 <2]", "libcurl/[>=7.88 <9]",
                            "libmicrohttpd/[>=0.9.75 <2]", "openssl/[>=3 <4]", "pugixml/[>=1.13 <2]", "zlib/[>=1.2.13 <2]"):
                self.requires(library)

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("Flor runs on Linux")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for name, value in (("WITH_TORCH", bool(self.options.torch)), ("BUILD_TOOL", bool(self.options.tool)),
                            ("BUILD_TESTS", False), ("BUILD_EXAMPLES", False), ("UPLOT", "OFF")):
            toolchain.cache_variables["FLOR_" + name] = value
        toolchain.cache_variables["CMAKE_UNITY_BUILD"] = True
        toolchain.cache_variables["CMAKE_UNITY_BUILD_BATCH_SIZE"] = "12"
        toolchain.generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        # The files that Flor installs for CMake find its libraries: they are used as they are.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "flor")]
        self.cpp_info.libs = ["flor_core", "flor_git", "flor_protocol", "flor_sources", "flor_data", "flor_store"]
        if self.options.torch:
            self.cpp_info.libs = ["flor_torch_data", "flor_torch"] + self.cpp_info.libs
        self.cpp_info.system_libs = ["pthread", "dl", "m"]
