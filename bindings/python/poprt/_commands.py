"""The commands of the wheel, which run the programs in bin/ of this folder."""

import os
import sys


def _start(name: str) -> None:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", name)
    if not os.path.exists(path):
        sys.exit(f"{name}: {path} does not exist; it comes with the wheel of poprt, or with Debian package poprt-tools")
    # Passes and scripts in Python run in the interpreter that has this package.
    os.environ.setdefault("POPRT_PYTHON", sys.executable)
    os.execv(path, [name, *sys.argv[1:]])


def poprt() -> None:
    _start("poprt")


def poprt_exec() -> None:
    _start("poprt_exec")


def popef_dump() -> None:
    _start("popef_dump")
