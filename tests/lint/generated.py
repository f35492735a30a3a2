"""Pages of docs/ whose table a command of poprt_exec prints. Used by operators.py, opsets.py and passes.py."""

import os
import subprocess
import sys

import tree


def check(page, heading, command, script, option="--markdown"):
    """Compares `page` with `heading` and what `POPRT_EXEC command option` prints; --write writes it instead."""
    path = os.path.join(tree.ROOT, page)
    table = subprocess.run([sys.argv[1], command, option], check=True, capture_output=True, text=True).stdout
    if "--write" in sys.argv:
        with open(path, "w", encoding="utf-8") as f:
            f.write(heading + table)
        return
    problems = []
    try:
        with open(path, encoding="utf-8") as f:
            found = f.read()
    except OSError:
        found = ""
    if found != heading + table:
        have, want = found.splitlines(), (heading + table).splitlines()
        problems += [f"{page} lacks: {line}" for line in [w for w in want if w not in set(have)][:10]]
        problems += [f"{page} should not have: {line}" for line in [h for h in have if h not in set(want)][:10]]
        problems.append(f"run {script} {sys.argv[1]} --write")
    tree.finish(problems, len(table.splitlines()), "lines")
