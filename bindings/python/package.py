"""Makes the wheel and the sdist of the Python package. Standard library and binutils.

Usage: package.py --build BUILD_FOLDER --out FOLDER [--cmake CMAKE]

The wheel contains all parts that a Linux system lacks. One wheel is for CPython 3.9 and newer, and for systems whose
glibc is at least as new as the one in the name of the wheel. The sdist contains SWIG's wrapper and needs a C++
compiler, Python.h, pkg-config and libpoprt-dev. It is a PEP 517 tree with build_backend.py as its backend. The same
build makes the same bytes."""

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
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "cmake/packages"))  # the sdist has these modules in the folder of this file
import archive  # noqa: E402
import documents  # noqa: E402
import metadata  # noqa: E402

NAME = "poprt"
PACKAGES = ("poprt", "popef", "model_runtime")
COMMANDS = ("poprt", "poprt_exec", "popef_dump")
STABLE_ABI = "0x03090000"  # also in bindings/python/CMakeLists.txt


def readme():
    return documents.rewritten(archive.read(os.path.join(HERE, "README.md")).decode(), "bindings/python/README.md", [])


def core_metadata():
    data = metadata.load()
    fields = [("Metadata-Version", "2.1"), ("Name", NAME), ("Version", metadata.version()), ("Summary", data["summary"]),
              ("Home-page", data["url"]), ("Author", data["authors"]), ("Author-email", data["email"]),
              ("License", data["licence"]), ("License-File", "LICENSE"), ("License-File", "THIRD_PARTY_NOTICES"),
              ("Project-URL", f"Source, {data['scm']}"), ("Keywords", ",".join(data["keywords"])), ("Platform", "Linux"),
              *(("Classifier", c) for c in data["classifiers"]), ("Requires-Python", ">=3.9"), ("Requires-Dist", "numpy>=1.19"),
              ("Description-Content-Type", "text/markdown")]
    return "".join(f"{name}: {value}\n" for name, value in fields) + "\n" + readme()


def write_wheel(files, out, platform, programs=()):
    """`files` maps archive names to bytes."""
    tag = f"cp39-abi3-{platform}"
    info = f"{NAME}-{metadata.version()}.dist-info"
    files = dict(files)
    files[f"{info}/METADATA"] = core_metadata().encode()
    files[f"{info}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: {NAME} package.py\nRoot-Is-Purelib: false\n"
                              f"Tag: {tag}\n").encode()
    files[f"{info}/top_level.txt"] = "".join(p + "\n" for p in PACKAGES).encode()
    if programs:
        files[f"{info}/entry_points.txt"] = ("[console_scripts]\n" + "".join(
            f"{c} = poprt._commands:{c}\n" for c in COMMANDS)).encode()
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in sorted(files.items()))
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    return archive.write_zip(os.path.join(out, f"{NAME}-{metadata.version()}-{tag}.whl"), files, programs)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def oldest_linux(folder):
    """Returns the platform tag for the newest glibc that a file in the folder needs."""
    listed = "".join(subprocess.run(["objdump", "-T", path], check=True, capture_output=True, text=True).stdout
                     for path in glob.glob(folder + "/**", recursive=True) if os.path.isfile(path) and is_elf(path))
    minor = max(int(v) for v in re.findall(r"\(?GLIBC_2\.(\d+)", listed))
    return f"manylinux_2_{minor}_{os.uname().machine}"


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def make_wheel(options):
    bundle = os.path.join(options.build, "bundle")
    with tempfile.TemporaryDirectory() as stage:
        subprocess.run([options.cmake, "--install", options.build, "--component", "python", "--prefix", stage, "--strip"],
                       check=True, stdout=subprocess.DEVNULL)
        files = archive.tree(stage)
        platform = max((oldest_linux(f) for f in (stage, bundle)), key=lambda tag: int(tag.split("_")[2]))
    for folder in ("lib", "commands"):
        files.update(archive.tree(os.path.join(bundle, folder), "poprt/"))
    files.update(archive.tree(os.path.join(bundle, "bin"), "poprt/bin/"))
    info = f"{NAME}-{metadata.version()}.dist-info"
    files[f"{info}/LICENSE"] = archive.read(os.path.join(bundle, "LICENSE"))
    files[f"{info}/THIRD_PARTY_NOTICES"] = archive.read(os.path.join(bundle, "THIRD_PARTY_NOTICES.commands"))
    files[f"{info}/sboms/poprt.cdx.json"] = archive.read(os.path.join(bundle, "sbom.commands.cdx.json"))
    return write_wheel(files, options.out, platform, [f"poprt/bin/{c}" for c in COMMANDS])


def make_sdist(options):
    import sbom  # not in the sdist, which imports this file

    base = f"{NAME}-{metadata.version()}/"
    files = {base + "PKG-INFO": core_metadata().encode()}
    for package in PACKAGES:
        files.update(archive.tree(os.path.join(HERE, package), f"{base}{package}/"))
    files[base + "README.md"] = readme().encode()
    for name in ("pyproject.toml", "build_backend.py", "package.py", "../../LICENSE",
                 *(f"../../cmake/packages/{n}" for n in ("archive.py", "documents.py", "metadata.py", "metadata.json"))):
        files[base + os.path.basename(name)] = archive.read(os.path.join(HERE, name))
    files[base + "THIRD_PARTY_NOTICES"] = b"The source distribution holds nothing of others.\n"
    files[base + "sbom.cdx.json"] = sbom.document(NAME, []).encode()
    files[base + "VERSION"] = metadata.version().encode() + b"\n"
    files[base + "src/poprt_raw_wrap.cxx"] = archive.read(os.path.join(options.build, "bindings/python/poprt_raw_stable.cxx"))
    for name in ("poprt/poprt_raw.py", "poprt/poprt_raw.pyi"):
        files[base + name] = archive.read(os.path.join(options.build, "python", name))
    for header in sorted(glob.glob(os.path.join(HERE, "*.h")) + glob.glob(os.path.join(ROOT, "bindings/swig/*.h"))):
        files[base + "src/" + os.path.basename(header)] = archive.read(header)
    path = os.path.join(options.out, f"{NAME}-{metadata.version()}.tar.gz")
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archived:
        for name, data in sorted(files.items()):
            entry = tarfile.TarInfo(name)
            entry.size, entry.mtime = len(data), metadata.epoch()
            archived.addfile(entry, io.BytesIO(data))
    return path


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cmake", default="cmake")
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for old in glob.glob(os.path.join(options.out, NAME + "-*")):
        os.remove(old)
    for path in (make_wheel(options), make_sdist(options)):
        print(path)


if __name__ == "__main__":
    main()
