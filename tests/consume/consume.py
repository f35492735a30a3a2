"""Installs into a clean prefix and uses the files there as a user does: CMake package, pkg-config, tools.

Usage: consume.py install|deb --build DIR --cmake CMAKE --cc CC --cxx CXX --model MODEL.onnx"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "examples")
PROGRAMS = ("c11", "cpp20")  # of the CMake project; pkg-config serves C99, C11 and C++17
# Programs for PopRT, PopEF and Model Runtime, and the libraries that their users give to the linker.
FRAMEWORKS = {"executor": ("model_runtime", "popef"), "handlers": ("model_runtime", "popef"), "backend": ("poprt_runtime", "pvti"),
              "files": ("popef", "model_runtime"), "client": ("model_runtime", "pvti")}
PACKAGED = ("executor", "client")  # those that are built against packages, whose headers are those of an installed tree
ANSWER = "y: 0 0 0 0 1 2\n"


def run(command, **arguments):
    """Returns the output of a command. If it fails, prints its messages and exits."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **arguments)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}exit code {done.returncode}")
    return done.stdout


def install_tree(options, prefix):
    for component in ("library", "compiler", "dev", "tools"):
        run([options.cmake, "--install", options.build, "--prefix", prefix, "--component", component])


def install_packages(options, prefix):
    """Unpacks the packages that the documented command made. Nothing is installed into the system."""
    folder = os.path.join(options.build, "packages", "deb")
    packages = sorted(f for f in os.listdir(folder) if f.endswith(".deb"))
    names = [p.split("_")[0] for p in packages]
    # These packages are made only if the libraries that they need are installed.
    names = [n for n in names if n not in ("libpoprt-tokenizer1", "poprt-inspector", "poprt-serve", "poprt-tensorflow",
                                      "poprt-triton")]
    assert names == ["libpoprt-compiler1", "libpoprt-dev", "libpoprt1", "poprt-tools"], f"found {packages}"
    root = os.path.dirname(prefix)
    for package in packages:
        path = os.path.join(folder, package)
        fields = run(["dpkg-deb", "--field", path])
        assert "Version: " in fields and "Architecture: " in fields, fields
        if not package.startswith(("libpoprt1", "libpoprt-tokenizer1", "poprt-inspector")):
            assert "libpoprt1 (= " in fields, f"{package} does not depend on its library: {fields}"
        run(["dpkg", "-x", path, root])


def found(prefix, name):
    """The only file of that name under the prefix."""
    hits = [os.path.join(folder, name) for folder, _, files in os.walk(prefix) if name in files]
    assert len(hits) == 1, f"expected one {name} under {prefix}, found {hits}"
    return hits[0]


def use_pkg_config(options, prefix, folder):
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=os.path.dirname(found(prefix, "poprt.pc")))
    flags = run(["pkg-config", "--cflags", "--libs", "poprt"], env=environment).split()
    libraries = os.path.dirname(found(prefix, "libpoprt_compiler.so.1"))
    for name, compiler, source in (("c99", options.cc, "client.c"), ("c11", options.cc, "client.c"), ("cpp17", options.cxx, "client.cpp")):
        program = os.path.join(folder, "pc_" + name)
        standard = name.replace("cpp", "c++")
        run([compiler, f"-std={standard}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
             os.path.join(HERE, "project", source), "-o", program, *flags, f"-Wl,-rpath,{libraries}"])
        expect_answer([program, options.model])


def frameworks(options):
    """The names of the programs of frameworks that are built."""
    return PACKAGED if options.kind == "deb" else tuple(FRAMEWORKS)


def use_cmake(options, prefix, folder):
    run([options.cmake, "-S", os.path.join(HERE, "project"), "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}",
         f"-DCMAKE_C_COMPILER={options.cc}", f"-DCMAKE_CXX_COMPILER={options.cxx}",
         f"-DDIGITS_SOURCE={os.path.join(EXAMPLES, 'c', 'digits.c')}", f"-DFRAMEWORK_PROGRAMS={';'.join(frameworks(options))}"])
    run([options.cmake, "--build", folder])
    for name in PROGRAMS:
        expect_answer([os.path.join(folder, name), options.model])


def use_static_library(options, prefix, folder, cmake_folder):
    """Builds examples/c/digits.c with libpoprt.a, by pkg-config and by CMake, and runs it without any shared library of poprt."""
    archive = found(prefix, "libpoprt.a")
    exported = {line.split()[-1] for line in run(["nm", "-g", "--defined-only", archive]).splitlines() if len(line.split()) == 3}
    with open(os.path.join(os.path.dirname(EXAMPLES), "capi", "poprt.map"), encoding="utf-8") as file:
        expected = set(re.findall(r"^ +(poprt_(?!private_)\w+);", file.read(), re.M))
    assert exported == expected, f"libpoprt.a has other global symbols than capi/poprt.map: {sorted(exported ^ expected)}"
    digits = os.path.join(EXAMPLES, "digits")
    here = dict(os.environ)
    if options.kind == "deb":
        here["LD_LIBRARY_PATH"] = os.path.dirname(found(prefix, "libpoprt_compiler.so.1"))
    run([f"{prefix}/bin/poprt", "-i", f"{digits}/digits.onnx", "--input_shape", "image=8,1,8,8", "--output_dir", folder,
         "--export_popef"], env=here)
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=os.path.dirname(found(prefix, "poprt-static.pc")))
    flags = run(["pkg-config", "--cflags", "--libs", "poprt-static"], env=environment).split()
    program = os.path.join(folder, "digits_static")
    run([options.cc, "-std=c11", os.path.join(EXAMPLES, "c", "digits.c"), "-o", program, *flags])
    for built in (program, os.path.join(cmake_folder, "digits_static")):
        assert "poprt" not in run(["readelf", "-d", built]), f"{built} needs a shared library of poprt"
        printed = run([built, f"{folder}/executable.popef", f"{digits}/heldout-images.idx3-ubyte", f"{digits}/heldout-labels.idx1-ubyte"],
                      env={k: v for k, v in os.environ.items() if not k.startswith("LD_")})
        assert "360 held-out images, accuracy 0.9" in printed, printed


def use_frameworks(options, prefix, folder, cmake_folder):
    """Builds programs for PopRT, PopEF and Model Runtime by CMake and pkg-config, links their objects with -lNAME, and runs them."""
    here = dict(os.environ)
    libraries = os.path.dirname(found(prefix, "libpoprt_compiler.so.1"))
    if options.kind == "deb":
        here["LD_LIBRARY_PATH"] = libraries
    output = os.path.join(folder, "frameworks")
    run([f"{prefix}/bin/poprt", "-i", options.model, "--output_dir", output, "--export_popef"], env=here)
    popef = os.path.join(output, "executable.popef")
    here = dict(os.environ, PKG_CONFIG_LIBDIR=os.path.dirname(found(prefix, "poprt.pc")))
    for name in frameworks(options):
        links = FRAMEWORKS[name]
        program = os.path.join(folder, "framework_" + name)
        command = [options.cxx, "-o", program, "-pthread", f"-Wl,-rpath,{libraries}"]
        if name == "executor":
            source = os.path.join(HERE, "project", "frameworks", name + ".cpp")
            command += ["-std=c++17", source, *run(["pkg-config", "--cflags", "--libs", *links], env=here).split()]
        else:
            object_file = os.path.join(cmake_folder, "CMakeFiles", name + ".dir", "frameworks", name + ".cpp.o")
            command += [object_file, f"-L{libraries}", *(f"-l{link}" for link in links)]
        run(command)
        needed = run(["readelf", "-d", program])
        assert "[libpoprt.so.1]" in needed and "model_runtime" not in needed, needed
        expect_answer([program, popef])
        expect_answer([os.path.join(cmake_folder, name), popef])


def use_tools(options, prefix, folder):
    """Runs the tools. Those of an installed tree find their libraries wherever it is; those of packages search the system's folders."""
    here = dict(os.environ)
    if options.kind == "deb":
        here["LD_LIBRARY_PATH"] = os.path.dirname(found(prefix, "libpoprt_compiler.so.1"))
    commands = os.path.join(prefix, "bin")
    popef = os.path.join(folder, "executable.popef")
    run([f"{commands}/poprt", "-i", options.model, "--output_dir", folder, "--export_popef"], env=here)
    assert "Anchors" in run([f"{commands}/popef_dump", popef], env=here)
    assert "Tput" in run([f"{commands}/poprt", "-i", options.model, "--run", "--output_dir", folder], env=here)
    assert "relu" in run([f"{commands}/poprt_exec", "ops"], env=here).lower()


def use_plugins(options, prefix, folder):
    """Builds examples/plugins with the installed headers only."""
    source = os.path.join(EXAMPLES, "plugins")
    environment = dict(os.environ, PKG_CONFIG_LIBDIR=os.path.dirname(found(prefix, "poprt.pc")))
    run([options.cmake, "-S", source, "-B", folder, f"-DCMAKE_C_COMPILER={options.cc}", f"-DCMAKE_CXX_COMPILER={options.cxx}"],
        env=environment)
    run([options.cmake, "--build", folder])
    commands = os.path.join(prefix, "bin")
    library = os.path.join(folder, "libir_serialise.so")
    assert "poprt" not in run(["nm", "-D", "--undefined-only", library]), "a plug-in needs symbols of poprt"
    if options.kind == "deb":
        environment["LD_LIBRARY_PATH"] = os.path.dirname(found(prefix, "libpoprt_compiler.so.1"))
    environment["IR_SERIALISE_DIR"] = folder
    run([f"{commands}/poprt", "-i", options.model, "--output_dir", os.path.join(folder, "out"), "--custom_library_so_paths", library,
         "--compiler_options", "custom_transform_applier_settings={'Fwd0': ['IrSerialise']}", "--export_popef"], env=environment)
    with open(os.path.join(folder, "ir_Fwd0.json"), encoding="utf-8") as file:
        assert '"type": "Relu"' in file.read()


def expect_answer(command):
    # No file of the build tree or the system may replace an installed one.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LD_")}
    printed = run(command, env=environment)
    assert printed == ANSWER, f"{command[0]}: expected {ANSWER!r}, found {printed!r}"


def check_layout(prefix):
    """Checks that the library has all symbols that it needs, and that no file is installed in a wrong folder."""
    tops = sorted(os.listdir(prefix))
    assert set(tops) <= {"bin", "include", "lib", "share"}, tops
    header_folder = os.path.dirname(found(prefix, "poprt.hpp"))
    assert header_folder.endswith(os.path.join("include", "poprt")), header_folder
    headers = sorted(os.listdir(os.path.dirname(header_folder)))
    assert headers == ["model_runtime", "popef", "poprt", "pvti"], headers


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=("install", "deb"))
    for option in ("build", "cmake", "cc", "cxx", "model"):
        parser.add_argument("--" + option, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "root", "usr")
        (install_tree if options.kind == "install" else install_packages)(options, prefix)
        check_layout(prefix)
        use_pkg_config(options, prefix, folder)
        use_cmake(options, prefix, os.path.join(folder, "project"))
        use_static_library(options, prefix, os.path.join(folder, "static"), os.path.join(folder, "project"))
        use_frameworks(options, prefix, folder, os.path.join(folder, "project"))
        use_tools(options, prefix, folder)
        use_plugins(options, prefix, os.path.join(folder, "plugins"))
    print(f"{options.kind}: programs by pkg-config and by CMake, and the tools work")


if __name__ == "__main__":
    main()
