"""Makes the wheel and the sdist of the Python package. Standard library only.

Usage: package.py --build BUILD_FOLDER --out FOLDER [--cmake CMAKE]

The wheel has the native libraries in it and is for one version of CPython. The sdist has SWIG's wrapper in it: what
it needs is a C++ compiler, libpoprt-dev and NumPy; it is a PEP 517 tree with build_backend.py as its own backend."""

import argparse
import base64
import glob
import gzip
import hashlib
import io
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NAME = "poprt"
PACKAGES = ("poprt", "popef", "model_runtime")


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(poprt VERSION ([0-9.]+)", file.read()).group(1)


def metadata(number):
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        description = file.read()
    return (f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {number}\n"
            "Summary: Ahead-of-time inference of ONNX models on emulated IPUs\n"
            "Requires-Python: >=3.9\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n" + description)


def wheel_tag():
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    return f"{python}-{python}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"


def write_wheel(files, out, number):
    """`files`: archive name to bytes. The same files make the same bytes."""
    tag = wheel_tag()
    info = f"{NAME}-{number}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = metadata(number).encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: {NAME} package.py\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
    files[f"{info}/top_level.txt"] = "".join(p + "\n" for p in PACKAGES).encode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in sorted(files.items()))
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    path = os.path.join(out, f"{NAME}-{number}-{tag}.whl")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if ".so" in name else 0o644) << 16
            archive.writestr(entry, data)
    return path


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def tree(folder, prefix=""):
    """Archive name to bytes, of all files below a folder."""
    found = {}
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(d for d in folders if d != "__pycache__")
        for name in names:
            path = os.path.join(where, name)
            with open(path, "rb") as file:
                found[prefix + os.path.relpath(path, folder)] = file.read()
    return found


def make_wheel(options, number):
    with tempfile.TemporaryDirectory() as stage:
        subprocess.run([options.cmake, "--install", options.build, "--component", "python", "--prefix", stage, "--strip"],
                       check=True, stdout=subprocess.DEVNULL)
        files = tree(stage)
    # An archive holds no links: the library goes in once, by the name that programs load it by.
    full = [n for n in files if re.fullmatch(r"poprt/lib\w+\.so\.[0-9]+\.[0-9.]+", n)]
    for name in full:
        del files[name]
    return write_wheel(files, options.out, number)


def make_sdist(options, number):
    base = f"{NAME}-{number}/"
    files = {base + "PKG-INFO": metadata(number).encode()}
    for package in PACKAGES:
        files.update(tree(os.path.join(HERE, package), f"{base}{package}/"))
    for name in ("README.md", "pyproject.toml", "build_backend.py", "package.py"):
        files[base + name] = read(os.path.join(HERE, name))
    files[base + "CMakeLists.txt"] = f"project(poprt VERSION {number})\n".encode()  # where package.py looks
    files[base + "src/poprt_raw_wrap.cxx"] = read(os.path.join(options.build, "bindings/python/poprt_raw_wrap.cxx"))
    for name in ("poprt/poprt_raw.py", "poprt/poprt_raw.pyi"):
        files[base + name] = read(os.path.join(options.build, "python", name))
    for header in sorted(glob.glob(os.path.join(HERE, "*.h")) + glob.glob(os.path.join(ROOT, "bindings/swig/*.h"))):
        files[base + "src/" + os.path.basename(header)] = read(header)
    path = os.path.join(options.out, f"{NAME}-{number}.tar.gz")
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cmake", default="cmake")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    number = version()
    for path in (make_wheel(options, number), make_sdist(options, number)):
        print(path)


if __name__ == "__main__":
    main()
