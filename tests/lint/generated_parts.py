"""Parts of files that are made from a table: the lines between the comments <NAME> and </NAME>, or a whole file. For counter_fields.py,
functions.py, option_fields.py and popef_fields.py."""

import os
import re
import subprocess
import textwrap

import tree


def camel(name, first_upper=False, words=None):
    parts = [(words or {}).get(p, p.capitalize()) for p in name.split("_")]
    return "".join(parts) if first_upper else name.split("_")[0] + "".join(parts[1:])


def comment(text, first, rest, width, last=""):
    """Lines of a comment: `first` before the first, `rest` before the others, `last` after the last."""
    # References such as <see cref=...> and {@link ...} must not be broken at a blank.
    held = re.sub(r"<see cref=[^>]*>|\{@\w+ [^}]*\}", lambda m: m.group().replace(" ", "\0"), text)
    lines = textwrap.wrap(held + last.replace(" ", "\0"), width - max(len(first.expandtabs(4)), len(rest.expandtabs(4))),
                          break_long_words=False, break_on_hyphens=False)
    return [((first if i == 0 else rest) + line).replace("\0", " ") for i, line in enumerate(lines)]


def code(text, language):
    """Marks text in backticks and special characters as the documentation of the language does."""
    if language == "csharp":
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    spelled = {"java": r"{@code \1}", "csharp": r"<c>\1</c>", "python": r"``\1``"}.get(language, r"`\1`")
    return re.sub("`([^`]*)`", spelled, text)


def formatted(lines):
    """Formats declarations of C or C++ outside of classes with clang-format."""
    made = subprocess.run(["clang-format-19", "--assume-filename=capi/x.h"], input="\n".join(lines), check=True, cwd=tree.ROOT,
                          capture_output=True, text=True)
    return made.stdout.splitlines()


def put(path, text):
    with open(os.path.join(tree.ROOT, path), "w", encoding="utf-8") as file:
        file.write(text)


def settle(path, name, lines, table, script, write):
    """The problem, if any, of one part that should consist of `lines`; `write` puts them there. Without `name`: the file."""
    text = tree.read(path) if os.path.exists(os.path.join(tree.ROOT, path)) else ""
    begin, end = 0, len(text)
    if name:
        found = re.search(rf"^[^\n]*<{name}>[^\n]*\n(.*?)^[^\n]*</{name}>", text, re.S | re.M)
        if not found:
            return f"{path}: there are no comments <{name}> and </{name}>"
        begin, end = found.span(1)
    made = "".join(line + "\n" for line in lines)
    if text[begin:end] == made:
        return None
    if write:
        put(path, text[:begin] + made + text[end:])
        return None
    have, want = text[begin:end].splitlines(), made.splitlines()
    first = next((i for i, (h, w) in enumerate(zip(have, want)) if h != w), min(len(have), len(want)))
    return f"{path}:{text[:begin].count(chr(10)) + first + 1}: differs from {table}; run {script} --write"
