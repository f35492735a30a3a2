"""No file names a path of the machine that it was written on."""

import re

import tree

# A root folder of a developer's or build machine at the start of an absolute path (not inside one).
MACHINE_PATH = re.compile(rb"(?<![\w.$}~*-])/(?:work|home|root)/[\w.]")


def main():
    problems = []
    checked = 0
    for path in tree.files():
        with open(f"{tree.ROOT}/{path}", "rb") as file:
            content = file.read()
        if b"\0" in content[:8192]:
            continue
        checked += 1
        for match in MACHINE_PATH.finditer(content):
            line = content.count(b"\n", 0, match.start()) + 1
            found = content[match.start():match.start() + 40].split()[0].decode(errors="replace")
            problems.append(f"{path}:{line}: {found} exists on one machine only")
    tree.finish(problems, checked, "text files")


if __name__ == "__main__":
    main()
