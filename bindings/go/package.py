"""Writes a version of the Go module as a folder for GOPROXY=file://FOLDER, with the files that a module proxy serves
for the tag bindings/go/vVERSION. Standard library only.

Usage: package.py VERSION FOLDER"""

import datetime
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "cmake/packages"))
import archive  # noqa: E402
import metadata  # noqa: E402
import sbom  # noqa: E402

SKIPPED = {"CMakeLists.txt", "generate.py", "package.py", "poprt_lang.i"}


def module_path():
    with open(os.path.join(HERE, "go.mod"), encoding="utf-8") as file:
        return re.search(r"^module (\S+)", file.read(), re.M).group(1)


def main():
    version, out = "v" + sys.argv[1], sys.argv[2]
    module = module_path()
    folder = os.path.join(out, module, "@v")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "list"), "w", encoding="utf-8") as file:
        file.write(version + "\n")
    with open(os.path.join(folder, version + ".info"), "w", encoding="utf-8") as file:
        date = datetime.datetime.fromtimestamp(metadata.epoch(), datetime.timezone.utc)
        json.dump({"Version": version, "Time": date.strftime("%Y-%m-%dT%H:%M:%SZ")}, file)
    with open(os.path.join(HERE, "go.mod"), encoding="utf-8") as source, \
            open(os.path.join(folder, version + ".mod"), "w", encoding="utf-8") as file:
        file.write(source.read())
    base = f"{module}@{version}/"
    files = {name: data for name, data in archive.tree(HERE, base).items()
             if not SKIPPED.intersection(name[len(base):].split("/")) and not name[len(base):].startswith(".")}
    files[base + "LICENSE"] = archive.read(os.path.join(ROOT, "LICENSE"))
    files[base + "sbom.cdx.json"] = sbom.document(module, []).encode()
    path = archive.write_zip(os.path.join(folder, version + ".zip"), files)
    print(path)


if __name__ == "__main__":
    main()
