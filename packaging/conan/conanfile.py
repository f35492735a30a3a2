"""Conan 2 recipe of poprt: libraries, headers and commands, from the source archive of a release."""

import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get


class PoprtConan(ConanFile):
    name = "poprt"
    version = "@VERSION@"
    description = "Ahead-of-time inference of ONNX models on emulated IPUs"
    license = "Apache-2.0"
    homepage = "https://poprt.example.org"
    url = "https://poprt.example.org/poprt.git"
    topics = ("onnx", "inference", "compiler", "popef", "ipu")
    package_type = "shared-library"
    settings = "os", "arch", "compiler", "build_type"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        for reference in ("onnx/[>=1.12]", "protobuf/[>=3.21 <4]", "re2/[*]", "utf8proc/[>=2.8]", "fmt/[>=9 <11]", "spdlog/[>=1.10]",
                          "zstd/[>=1.5]", "nlohmann_json/[>=3.11]", "cli11/[>=2.1]", "libyaml/[>=0.2.5]", "libzip/[>=1.7]"):
            self.requires(reference)

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")
        self.tool_requires("protobuf/<host_version>")

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration("poprt supports Linux")
        check_min_cppstd(self, 20)

    def source(self):
        get(self, f"https://poprt.example.org/releases/poprt-{self.version}.tar.gz", sha256="@SHA256@", strip_root=True)

    def generate(self):
        CMakeDeps(self).generate()
        toolchain = CMakeToolchain(self)
        toolchain.variables["POPRT_TESTS"] = False
        toolchain.variables["POPRT_BENCH"] = False
        toolchain.variables["POPRT_BINDINGS"] = False
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for component in ("library", "compiler", "dev", "tools"):
            CMake(self).install(component=component)

    def package_info(self):
        self.cpp_info.libs = ["poprt"]
        self.cpp_info.set_property("cmake_file_name", "poprt")
        self.cpp_info.set_property("cmake_target_name", "poprt::poprt")
        self.cpp_info.set_property("pkg_config_name", "poprt")
