"""The comment of every function of the C ABI has "Since VERSION", and the examples in the headers compile.

Usage: docs.py CC

An example is in a comment below a line "Example:", indented by four more blanks. It is the body of a function
or, if it begins with "static", whole functions."""

import os
import re
import subprocess
import sys
import textwrap

import tree

FOLDER = "capi/include/poprt/"
PRELUDE = """#include <poprt/poprt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
void check(poprt_error* error);
"""


def comments_and_code(text):
    """Alternating ("comment", its text without marks) and ("code", text)."""
    parts, end = [], 0
    for match in re.finditer(r"/\*(.*?)\*/", text, re.S):
        parts.append(("code", text[end:match.start()]))
        parts.append(("comment", re.sub(r"^ \* ?", "", match.group(1), flags=re.M)))
        end = match.end()
    return parts + [("code", text[end:])]


def without_since(text):
    """Functions whose group of declarations has no comment with "Since" before it."""
    names, comment = [], ""
    for kind, part in comments_and_code(text):
        if kind == "comment":
            comment = part
            continue
        # Code after a blank line belongs to no comment.
        for number, group in enumerate(re.split(r"\n\s*\n", part)):
            if number > 0:
                comment = ""
            part_names = re.findall(r"^POPRT_API\b[^;(]*\b(poprt_\w+)\s*\(", group, re.M)
            if part_names and not re.search(r"\bSince \d+\.\d+\.", comment):
                names += part_names
    return names


def examples(text):
    for kind, part in comments_and_code(text):
        if kind == "comment":
            for match in re.finditer(r"^Example:\n((?:(?: {4}.*)?\n)+)", part, re.M):
                yield textwrap.dedent(match.group(1)).strip() + "\n"


def compile_example(cc, code):
    whole = bool(re.search(r"^static ", code, re.M))
    source = PRELUDE + (code if whole else "void example(void);\nvoid example(void) {\n" + code + "}\n")
    command = [cc, "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Wno-unused-function", "-Werror",
               "-fsyntax-only", "-I", os.path.join(tree.ROOT, "capi/include"), "-"]
    done = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    return "" if done.returncode == 0 else done.stderr


def main():
    problems, count = [], 0
    for path in [f for f in tree.code_files() if f.startswith(FOLDER) and f.endswith(".h")]:
        text = tree.read(path)
        problems += [f"{path}: {name} has no \"Since VERSION\" in its comment" for name in without_since(text)]
        found = list(examples(text))
        if not found and "POPRT_API" in re.sub(r"/\*.*?\*/", "", text, flags=re.S):
            problems.append(f"{path} has no example")
        for code in found:
            count += 1
            messages = compile_example(sys.argv[1], code)
            if messages:
                problems.append(f"{path}: an example does not compile:\n{messages}")
    tree.finish(problems, count, "examples")


if __name__ == "__main__":
    main()
