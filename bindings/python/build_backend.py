"""PEP 517 backend of the sdist: compiles SWIG's wrapper against an installed libpoprt. Standard library only."""

import os
import re
import shlex
import subprocess
import sysconfig
import tarfile

import package

HERE = os.path.dirname(os.path.abspath(__file__))


def _version():
    with open(os.path.join(HERE, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"VERSION ([0-9.]+)", file.read()).group(1)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    flags = shlex.split(subprocess.run(["pkg-config", "--cflags", "--libs", "poprt"], check=True, capture_output=True,
                                       text=True).stdout)
    libraries = [f[2:] for f in flags if f.startswith("-L")]
    files = {}
    for name in package.PACKAGES:
        files.update(package.tree(os.path.join(HERE, name), name + "/"))
    built = os.path.join(wheel_directory, "_poprt_raw.so")
    subprocess.run([*shlex.split(os.environ.get("CXX", "c++")), "-std=c++17", "-O2", "-fPIC", "-shared",
                    "-fvisibility=hidden", "-fno-strict-aliasing", "-I" + sysconfig.get_path("include"),
                    "-I" + os.path.join(HERE, "src"), os.path.join(HERE, "src", "poprt_raw_wrap.cxx"), *flags,
                    *(f"-Wl,-rpath,{os.path.abspath(p)}" for p in libraries), "-o", built], check=True)
    files["poprt/_poprt_raw.so"] = package.read(built)
    os.remove(built)
    return os.path.basename(package.write_wheel(files, wheel_directory, _version()))


def build_sdist(sdist_directory, config_settings=None):
    number = _version()
    path = os.path.join(sdist_directory, f"{package.NAME}-{number}.tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        archive.add(HERE, f"{package.NAME}-{number}",
                    filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return os.path.basename(path)
