"""Builds a program with the package, records a run with it and replays it."""
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.gnu import PkgConfigDeps


class FlorTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"

    def requirements(self):
        self.requires(self.tested_reference_str, run=True)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        CMakeToolchain(self).generate()
        CMakeDeps(self).generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def test(self):
        if can_run(self):
            train = os.path.join(self.cpp.build.bindirs[0], "train")
            home = os.path.join(self.build_folder, "home")
            self.run(f"{train} --flor first --flor_home {home} --flor_no_git", env="conanrun")
            self.run(f"{train} --replay_flor --flor_home {home}", env="conanrun")
            if self.dependencies["flor"].options.tool:
                self.run(f"flor --home {home} list", env="conanrun")
