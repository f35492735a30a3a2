"""Every file that a Markdown page names exists.

Checked are the targets of links and the words in backticks that look like a path of this repository: they hold a
slash, and their first part is a folder at the root, next to the page or in core/. `{a,b}` and `*` mean any that fits;
words with a placeholder in capitals, `...` or `foo`, and places outside the repository, name no file."""

import glob
import os
import re

import tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.S | re.M)
WORD = re.compile(r"`([\w.+*{},/-]+/[\w.+*{},-]*)`")
MADE = ("build/", "out/")  # by a build or an example, not in the repository
PLACEHOLDER = re.compile(r"\.\.\.|[A-Z]{3,}/|NAME|vX|\b(?:x|foo)(?:_\w+)?\.")


def choices(path):
    """The paths that {a,b} expands to."""
    found = re.search(r"\{([^{}]*)\}", path)
    if not found:
        return [path]
    return [c for part in found.group(1).split(",")
            for c in choices(path[:found.start()] + part + path[found.end():])]


def exists(folders, path):
    return any(glob.glob(os.path.join(tree.ROOT, folder, path), recursive=True) for folder in folders)


def named_here(path, folders):
    first = path.split("/")[0]
    return any(os.path.isdir(os.path.join(tree.ROOT, folder, first)) for folder in folders)


def main():
    problems, checked = [], 0
    for page in (f for f in tree.files() if f.endswith(".md")):
        text, here = tree.read(page), os.path.dirname(page)
        for match in LINK.finditer(text):
            target = match.group(1).split("#")[0]
            if not target or re.match(r"\w+:", target):
                continue
            checked += 1
            if not exists([here], target):
                problems.append(f"{page}: links to '{target}', which does not exist")
        places = [here, "", "core"]
        blank = CODE_BLOCK.sub("", text)
        for match in WORD.finditer(blank):
            word = match.group(1).rstrip(".,")
            if word.startswith(("/", *MADE)) or PLACEHOLDER.search(word):
                continue
            for path in choices(word):
                if not named_here(path, places):
                    continue
                checked += 1
                if not (exists(places, path) or exists(places, path + ".*")):
                    problems.append(f"{page}: names '{path}', which does not exist")
    tree.finish(problems, checked, "names of files")


if __name__ == "__main__":
    main()
