"""PEP 517 backend of the sdist: compiles SWIG's wrapper against an installed libpoprt. Standard library only."""

import os
import shlex
import shutil
import subprocess
import sysconfig
import tarfile

import archive
import metadata
import package

HERE = os.path.dirname(os.path.abspath(__file__))


class MissingTools(SystemExit):
    """Ends the build with one line instead of a traceback."""


def compiler():
    return shlex.split(os.environ.get("CXX", "c++"))


def pkg_config(*arguments):
    return subprocess.run(["pkg-config", *arguments, "poprt"], check=False, capture_output=True, text=True)


def check_tools():
    """Reports all missing parts in one message."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):  # its extensions cannot use the stable ABI
        raise MissingTools("poprt: free-threaded builds of CPython are not supported (found "
                           f"{sysconfig.get_python_version()}t); use a build with the global interpreter lock")
    missing = []
    if not shutil.which(compiler()[0]):
        missing.append(f"a C++ compiler ({compiler()[0]} is not there; Debian package g++)")
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        missing.append(f"Python.h (looked in {sysconfig.get_path('include')}; Debian package python3-dev)")
    if not shutil.which("pkg-config"):
        missing.append("pkg-config (Debian package pkg-config)")
    elif pkg_config("--exists").returncode != 0:
        missing.append("libpoprt with its headers (pkg-config does not find poprt; package libpoprt-dev)")
    elif pkg_config(f"--atleast-version={metadata.version()}").returncode != 0:
        missing.append(f"libpoprt {metadata.version()} or newer (found {pkg_config('--modversion').stdout.strip()})")
    if missing:
        raise MissingTools("poprt: building from source needs " + ", ".join(missing) +
                           "; the wheel poprt-VERSION-*.whl of the same release needs none of these")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    check_tools()
    flags = shlex.split(pkg_config("--cflags", "--libs").stdout)
    libraries = [f[2:] for f in flags if f.startswith("-L")]
    files = {}
    for name in package.PACKAGES:
        files.update(archive.tree(os.path.join(HERE, name), name + "/"))
    source = os.path.join(HERE, "src")
    built = os.path.join(wheel_directory, "_poprt_raw.abi3.so")
    wanted = shlex.split(os.environ.get("CXXFLAGS", ""))
    subprocess.run([*compiler(), "-std=c++17", "-O2", *wanted, "-fPIC", "-shared", "-fvisibility=hidden", "-fno-strict-aliasing",
                    f"-DPy_LIMITED_API={package.STABLE_ABI}", "-DSWIG_TYPE_TABLE=poprt",
                    "-include", os.path.join(source, "poprt_stable_abi.h"), "-I" + sysconfig.get_path("include"), "-I" + source,
                    os.path.join(source, "poprt_raw_wrap.cxx"), *flags,
                    *(f"-Wl,-rpath,{os.path.abspath(p)}" for p in libraries), "-o", built], check=True)
    files["poprt/_poprt_raw.abi3.so"] = archive.read(built)
    os.remove(built)
    info = f"{package.NAME}-{metadata.version()}.dist-info"
    for name in ("LICENSE", "THIRD_PARTY_NOTICES"):
        files[f"{info}/{name}"] = archive.read(os.path.join(HERE, name))
    files[f"{info}/sboms/poprt.cdx.json"] = archive.read(os.path.join(HERE, "sbom.cdx.json"))
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return os.path.basename(package.write_wheel(files, wheel_directory, platform))


def build_sdist(sdist_directory, config_settings=None):
    base = f"{package.NAME}-{metadata.version()}"
    path = os.path.join(sdist_directory, base + ".tar.gz")
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archived:
        archived.add(HERE, base, filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return os.path.basename(path)
