"""Collects the native files of the language packages: the stripped libraries, the shared libraries that they need
beyond those of every Linux, the notices and the bills of materials. Standard library and binutils.

Usage: bundle.py --build BUILD_FOLDER --out FOLDER [--cmake CMAKE]

FOLDER/lib contains the libraries by the names by which they are loaded, FOLDER/bin the commands, and FOLDER/commands
the libraries that only the commands need. FOLDER/optional contains the library that decodes images. Packages with it
use the system's Leptonica, because a part of Leptonica's dependencies is under the GPL and must not be included."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import tempfile

import metadata
import sbom

# The libraries that manylinux requires of every system: the C library, the C++ and GCC runtimes, zlib.
SYSTEM = re.compile(r"^(lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|z)\.so|ld-linux|linux-vdso)")
PROGRAMS = ("poprt", "poprt_exec", "popef_dump")


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def needed(files, own):
    """Returns the shared libraries that the files load, except the system's, by name."""
    found = {}
    for file in files:
        for name, path in re.findall(r"^\s+(\S+) => (\S+)", run(["ldd", file]), re.M):
            if path == "not":
                raise SystemExit(f"bundle.py: {file} needs {name}, which is not found")
            if not SYSTEM.match(name) and name not in own:
                found[name] = path
    return found


def strip(source, target):
    os.makedirs(os.path.dirname(target), exist_ok=True)
    run(["strip", "--strip-unneeded", "--remove-section=.comment", "--remove-section=.note", "-o", target, source])


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--cmake", default="cmake")
    options = parser.parse_args()
    out = options.out
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as stage:
        for component in ("library", "compiler", "tools"):
            run([options.cmake, "--install", options.build, "--prefix", stage, "--component", component])
        libraries = {os.path.basename(p): p for p in glob.glob(stage + "/lib/**/*.so.1", recursive=True)}
        images = libraries.pop("libpoprt_images.so.1", None)
        for name, path in libraries.items():
            strip(path, f"{out}/lib/{name}")
        if images:
            strip(images, f"{out}/optional/libpoprt_images.so.1")
        bundled = needed(libraries.values(), libraries)
        for name, path in bundled.items():
            shutil.copy(path, f"{out}/lib/{name}")
        programs = [f"{stage}/bin/{name}" for name in PROGRAMS]
        for path in programs:
            target = f"{out}/bin/{os.path.basename(path)}"
            strip(path, target)
            rpath = re.search(r"\(R(?:UN)?PATH\).*\[(.*)\]", run(["readelf", "-d", target])).group(1)
            write(stage + "/rpath.cmake", f'file(RPATH_CHANGE FILE "{target}" OLD_RPATH [[{rpath}]] NEW_RPATH [[$ORIGIN/..]])\n')
            run([options.cmake, "-P", stage + "/rpath.cmake"])
        commands = needed(programs, {**libraries, **bundled})
        os.makedirs(f"{out}/commands")
        for name, path in commands.items():
            shutil.copy(path, f"{out}/commands/{name}")
    write(out + "/THIRD_PARTY_NOTICES", metadata.notices(metadata.LIBRARIES, bundled.values()))
    write(out + "/THIRD_PARTY_NOTICES.commands", metadata.notices([*metadata.LIBRARIES, *metadata.COMMANDS], [*bundled.values(), *commands.values()]))
    write(out + "/sbom.cdx.json", sbom.document("poprt", metadata.LIBRARIES, bundled.values()))
    write(out + "/sbom.commands.cdx.json", sbom.document("poprt", [*metadata.LIBRARIES, *metadata.COMMANDS], [*bundled.values(), *commands.values()]))
    shutil.copy(os.path.join(metadata.ROOT, "LICENSE"), out)


if __name__ == "__main__":
    main()
