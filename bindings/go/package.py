"""Writes a version of the Go module as a folder that GOPROXY=file://FOLDER takes: what a module proxy serves for the
tag bindings/go/vVERSION. Standard library only.

Usage: package.py VERSION FOLDER"""

import datetime
import json
import os
import re
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
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
        epoch = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "0")), datetime.timezone.utc)
        json.dump({"Version": version, "Time": epoch.strftime("%Y-%m-%dT%H:%M:%SZ")}, file)
    with open(os.path.join(HERE, "go.mod"), encoding="utf-8") as source, \
            open(os.path.join(folder, version + ".mod"), "w", encoding="utf-8") as file:
        file.write(source.read())
    path = os.path.join(folder, version + ".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for where, folders, names in os.walk(HERE):
            folders[:] = sorted(d for d in folders if d not in SKIPPED and not d.startswith((".", "__")))
            for name in sorted(n for n in names if n not in SKIPPED):
                full = os.path.join(where, name)
                entry = zipfile.ZipInfo(f"{module}@{version}/{os.path.relpath(full, HERE)}", (1980, 1, 1, 0, 0, 0))
                with open(full, "rb") as file:
                    archive.writestr(entry, file.read(), zipfile.ZIP_DEFLATED)
    print(path)


if __name__ == "__main__":
    main()
