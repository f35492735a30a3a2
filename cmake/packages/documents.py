"""Collects the documents and examples that package poprt-tools installs. Standard library only.

Usage: documents.py SOURCE OUT      writes them to OUT, with the same paths as in the source tree
       documents.py SOURCE PAGE     prints one page as it is in a package that has no other page

A link to a file that is not there becomes a text with the path of the file in the sources."""

import fnmatch
import os
import re
import shutil
import sys

PATTERNS = ("docs/*.md", "docs/inspector/*.png", "examples/*", "bindings/*/README.md", "capi/ABI.md", "core/popef/FORMAT.md",
            "cli/serve/inference.proto", "tests/data/generation/genai/*")
NOT_INSTALLED = ("examples/CMakeLists.txt", "examples/quickstart")  # need the rest of the source tree
LEFT_BY_BUILDS = {"__pycache__", "target", "obj", "bin", "node_modules"}
CODE = re.compile(r"(^```.*?^```\n?)", re.S | re.M)
LINK = re.compile(r"!?\[([^\]]+)\]\(([^)\s]+)\)")


def installed(source):
    found = []
    for top in sorted({p.split("/")[0] for p in PATTERNS}):
        for folder, folders, names in os.walk(os.path.join(source, top)):
            folders[:] = sorted(set(folders) - LEFT_BY_BUILDS)
            found += [os.path.relpath(os.path.join(folder, name), source) for name in sorted(names)]
    return [f for f in found if f not in NOT_INSTALLED and any(fnmatch.fnmatchcase(f, p) for p in PATTERNS)]


def rewritten(text, page, files):
    """Returns the text of a page with links to FILES, and to folders with some of them, alone."""
    known = {page, *files, *(os.path.dirname(f) for f in files)}

    def replace(link):
        words, target = link.groups()
        if re.match(r"[a-z]+:|#", target):
            return link[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target.split("#")[0]))
        if path in known:
            return link[0]
        return f"`{path}` of the sources" if words.strip("`") == path else f"{words} (`{path}` of the sources)"

    parts = CODE.split(text)
    return "".join(part if i % 2 else LINK.sub(replace, part) for i, part in enumerate(parts))


def page_alone(source, page):
    with open(os.path.join(source, page), encoding="utf-8") as file:
        return rewritten(file.read(), page, [])


def main():
    source, target = sys.argv[1:]
    if target.endswith(".md"):
        print(page_alone(source, target), end="")
        return
    shutil.rmtree(target, ignore_errors=True)
    files = installed(source)
    for name in files:
        out = os.path.join(target, name)
        os.makedirs(os.path.dirname(out), exist_ok=True)
        if not name.endswith(".md"):
            shutil.copy(os.path.join(source, name), out)
            continue
        with open(os.path.join(source, name), encoding="utf-8") as file, open(out, "w", encoding="utf-8") as written:
            written.write(rewritten(file.read(), name, files))


if __name__ == "__main__":
    main()
