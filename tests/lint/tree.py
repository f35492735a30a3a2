"""Files of the repository, for the lint scripts. Standard library only."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CODE = (".h", ".hpp", ".c", ".cpp")
SKIPPED_FOLDERS = {".git", "build", "out", "__pycache__", "node_modules"}


def files():
    """Paths of all files, relative to the root, sorted: those that git tracks or would add; without git, all."""
    try:
        listed = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, capture_output=True).stdout.decode().split("\0")
        found = [f for f in listed if f and os.path.isfile(os.path.join(ROOT, f))]
    except (OSError, subprocess.CalledProcessError):
        found = []
    if not found:  # an unpacked archive
        for folder, names, leaves in os.walk(ROOT):
            names[:] = [n for n in names if n not in SKIPPED_FOLDERS]
            found += [os.path.relpath(os.path.join(folder, leaf), ROOT) for leaf in leaves]
    return sorted(set(found))


def code_files():
    return [f for f in files() if f.endswith(CODE)]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def finish(problems, checked, what):
    """Prints the problems and exits: 0 when there is none, else 1."""
    for problem in problems:
        print(problem)
    print(f"{checked} {what} checked, {len(problems)} problems")
    sys.exit(1 if problems else 0)
