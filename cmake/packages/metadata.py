"""The data of all packages: metadata.json, the version, the date and the notices. Standard library only.

Usage: metadata.py notices KIND... [--bundled LIBRARY...]   prints the third-party notices; kinds are those of "linked_in"
       metadata.py epoch                                    prints the date of this source, seconds since 1970"""

import argparse
import functools
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LINE = "=" * 78
# Kinds of "linked_in" in metadata.json: third-party parts of the runtime, of all libraries, and of the commands.
RUNTIME = ("base", "fmt", "runtime")
LIBRARIES = (*RUNTIME, "onnx", "protobuf")
COMMANDS = ("base", "fmt", "commands")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@functools.cache
def load():
    return json.loads(read(os.path.join(HERE, "metadata.json")))


def version():
    if os.path.exists(os.path.join(HERE, "VERSION")):  # in the source distribution of the Python package
        return read(os.path.join(HERE, "VERSION")).strip()
    return re.search(r"project\(poprt VERSION ([0-9.]+)", read(os.path.join(ROOT, "CMakeLists.txt"))).group(1)


def epoch():
    """Returns SOURCE_DATE_EPOCH; else, in the source distribution of the Python package, the time of its file VERSION;
    else the time of the last commit; else that of the release notes."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    if os.path.exists(os.path.join(HERE, "VERSION")):
        return int(os.path.getmtime(os.path.join(HERE, "VERSION")))
    commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False)
    if commit.returncode == 0 and commit.stdout.strip():
        return int(commit.stdout)
    return int(os.path.getmtime(os.path.join(ROOT, "docs/CHANGELOG.md")))


def changes():
    """Returns the first paragraph below the newest heading of the release notes."""
    text = read(os.path.join(ROOT, "docs/CHANGELOG.md"))
    return " ".join(re.search(r"^## [^\n]*\n\n(.+?)\n\n", text, re.M | re.S).group(1).split())


def copyright_of(package):
    """Returns the copyright file of a Debian package."""
    path = f"/usr/share/doc/{package}/copyright"
    try:
        return read(path)
    except OSError as error:
        sys.exit(f"third-party notices: {package} has no {path} ({error.strerror}); "
                 "packages are made on Debian, with the copyright files of packages kept")


def owner(library):
    """Returns the Debian package that contains a shared library."""
    for path in (library, os.path.realpath(library), library.removeprefix("/usr"), os.path.realpath(library).removeprefix("/usr")):
        found = subprocess.run(["dpkg-query", "--search", path], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    sys.exit(f"third-party notices: no Debian package has {library}")


def parts(kinds, bundled=()):
    """Returns (name, licence, Debian package) of all third-party parts of a package."""
    found = [(p["name"], p["licence"], p["debian"]) for kind in dict.fromkeys(kinds) for p in load()["linked_in"][kind]]
    return found + [(os.path.basename(library), "see below", owner(library)) for library in bundled]


def notices(kinds, bundled=()):
    blocks = [f"{load()['name']} {version()} is under the {load()['licence_name']} (file LICENSE).\n"
              "This package also holds the following work of others.\n"]
    texts = {}
    for name, licence, package in parts(kinds, bundled):
        texts.setdefault(copyright_of(package), []).append(f"{name}: {licence} (Debian package {package})")
    blocks += ["\n".join([LINE, *names, LINE, text]) for text, names in texts.items()]
    return "\n".join(blocks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("notices", "epoch"))
    parser.add_argument("kinds", nargs="*")
    parser.add_argument("--bundled", nargs="*", default=[])
    options = parser.parse_args()
    print(epoch() if options.what == "epoch" else notices(options.kinds, options.bundled))


if __name__ == "__main__":
    main()
