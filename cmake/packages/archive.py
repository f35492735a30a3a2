"""Archives with the same bytes for the same files: sorted, with the date of the source. Standard library only.

Usage: archive.py OUT.zip FOLDER [FIRST...]     all files of the folder; those named FIRST come first"""

import os
import sys
import time
import zipfile

import metadata

LEVEL = 5  # zlib's default, 6, takes 1.5 times as long for 1 % fewer bytes
EARLIEST = 315532800  # 1980-01-01, the earliest date of a zip archive


def date():
    return time.gmtime(max(metadata.epoch(), EARLIEST))[:6]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def tree(folder, prefix=""):
    """Returns a map from archive name to bytes of all files below a folder."""
    found = {}
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(d for d in folders if d != "__pycache__")
        for name in names:
            path = os.path.join(where, name)
            found[prefix + os.path.relpath(path, folder)] = read(path)
    return found


def write_zip(path, files, programs=(), first=()):
    """`files` maps archive names to bytes. Files in `programs`, and libraries, are executable."""
    stamp = date()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in [*(f for f in first if f in files), *sorted(set(files) - set(first))]:
            entry = zipfile.ZipInfo(name, stamp)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, because of the file modes
            mode = 0o100755 if name in programs or ".so" in os.path.basename(name) else 0o100644
            entry.external_attr = mode << 16
            archive.writestr(entry, files[name], compresslevel=LEVEL)
    return path


if __name__ == "__main__":
    write_zip(sys.argv[1], tree(sys.argv[2]), first=sys.argv[3:])
