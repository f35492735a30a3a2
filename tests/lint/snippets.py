"""A code block in a README that names its file, in a comment <!-- path --> above it, is that file."""

import re

import tree

BLOCK = re.compile(r"^<!-- ([\w./-]+) -->\n```\w*\n(.*?)^```$", re.M | re.S)


def main():
    problems = []
    checked = 0
    for path in tree.files():
        if not path.endswith(".md"):
            continue
        text = tree.read(path)
        for match in BLOCK.finditer(text):
            checked += 1
            line = text.count("\n", 0, match.start()) + 1
            if match.group(1) not in tree.files():
                problems.append(f"{path}:{line}: there is no {match.group(1)}")
            elif tree.read(match.group(1)) != match.group(2):
                problems.append(f"{path}:{line}: differs from {match.group(1)}, which is what the tests run")
    if not checked:
        problems.append("no code block names its file: this check checks nothing")
    tree.finish(problems, checked, "code blocks")


if __name__ == "__main__":
    main()
