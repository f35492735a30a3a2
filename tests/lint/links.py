"""Every file that a Markdown page names exists, and so does every heading.

Checked are the targets of links outside of code, with their headings, and the words in backticks that look like a path of this repository: they contain a
slash, and their first part is a folder at the root, next to the page or in core/. `{a,b}` and `*` match any file that fits;
words with a placeholder in capitals, `...` or `foo`, and places outside the repository, name no file."""

import glob
import os
import re

import tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE_BLOCK = re.compile(r"^```.*?^```", re.S | re.M)
WORD = re.compile(r"`([\w.+*{},/-]+/[\w.+*{},-]*)`")
MADE = ("build/", "out/")  # a build or an example makes these files
PLACEHOLDER = re.compile(r"\.\.\.|[A-Z]{3,}/|NAME|vX|\b(?:x|foo)(?:_\w+)?\.")


CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.M)


def headings(page):
    """The anchors that GitHub and mkdocs make of the headings of a page."""
    found = {}
    for title in HEADING.findall(CODE_BLOCK.sub("", tree.read(page))):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
        found[slug] = found.get(slug, -1) + 1
    return {slug if i == 0 else f"{slug}-{i}" for slug, last in found.items() for i in range(last + 1)}


def missing_heading(page, target, anchor):
    """The message for a link to a heading that its page lacks, or None."""
    path = os.path.normpath(os.path.join(os.path.dirname(page), target)) if target else page
    if not anchor or not path.endswith(".md") or anchor in headings(path):
        return None
    return f"{page}: links to heading '{anchor}' of {path}, which does not exist"


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
        blank = CODE_BLOCK.sub("", text)
        for match in LINK.finditer(CODE.sub("", blank)):
            target, _, anchor = match.group(1).partition("#")
            if re.match(r"\w+:", target):
                continue
            checked += 1
            if target and not exists([here], target):
                problems.append(f"{page}: links to '{target}', which does not exist")
            elif problem := missing_heading(page, target, anchor):
                problems.append(problem)
        places = [here, "", "core"]
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
