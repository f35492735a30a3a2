"""Programs that README.md shows are the files that the tests build and run.

Usage: readme.py [--fix]

A line that begins with a link to a file below examples/, and then a code block: the block is the file."""

import os
import re
import sys

import tree

README = "README.md"
BLOCK = re.compile(r"^(\[examples/[^\]\n]+\]\((examples/[^)\n]+)\)[^\n]*\n\n```\w*\n)(.*?)^```$", re.M | re.S)


def main():
    text = tree.read(README)
    found = list(BLOCK.finditer(text))
    if "--fix" in sys.argv:
        fixed = BLOCK.sub(lambda m: m.group(1) + tree.read(m.group(2)) + "```", text)
        with open(os.path.join(tree.ROOT, README), "w", encoding="utf-8") as file:
            file.write(fixed)
        return
    problems = [f"{README}: the program is not {m.group(2)}; run tests/lint/readme.py --fix"
                for m in found if m.group(3) != tree.read(m.group(2))]
    if len(found) < 2:
        problems.append(f"{README} shows {len(found)} programs")
    tree.finish(problems, len(found), "programs")


if __name__ == "__main__":
    main()
