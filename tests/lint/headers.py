"""Every public header compiles alone: .h as C99, C11 and C++17, .hpp as C++17, all warnings on.

A header that only includes other public headers is not compiled: those must exist and compile alone.

Usage: headers.py CC CXX"""

import os
import re
import subprocess
import sys

import tree

FOLDER = "capi/include"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Wno-sign-conversion", "-Werror"]


def compile_alone(command, header):
    """The compiler's messages, empty when it accepts a file that includes the header twice."""
    name = os.path.relpath(header, FOLDER)
    source = f'#include "{name}"\n#include "{name}"\nextern int poprt_lint_unused;\n'
    command = [*command, *WARNINGS, "-fsyntax-only", "-I", os.path.join(tree.ROOT, FOLDER), "-"]
    result = subprocess.run(command, input=source, text=True, capture_output=True, check=False)
    return "" if result.returncode == 0 else result.stderr or f"exit code {result.returncode}"


def included_alone(header):
    """The public headers that it includes if it has no other code, else None."""
    with open(os.path.join(tree.ROOT, header), encoding="utf-8") as file:
        code = [line for line in file.read().splitlines() if line and not line.startswith("//") and line != "#pragma once"]
    includes = [re.fullmatch(r'#include "(.+)"', line) for line in code]
    return [match.group(1) for match in includes] if code and all(includes) else None


def main():
    cc, cxx = sys.argv[1:3]
    modes = {"C99": ([cc, "-x", "c", "-std=c99"], (".h",)),
             "C11": ([cc, "-x", "c", "-std=c11", "-Wstrict-prototypes"], (".h",)),
             "C++17": ([cxx, "-x", "c++", "-std=c++17"], (".h", ".hpp"))}
    headers = [f for f in tree.code_files() if f.startswith(FOLDER + "/")]
    problems = []
    for header in headers:
        included = included_alone(header)
        if included:
            problems += [f"{header} includes {name}, which is not a public header" for name in included
                         if f"{FOLDER}/{name}" not in headers]
            continue
        for mode, (command, endings) in modes.items():
            if not header.endswith(endings):
                continue
            messages = compile_alone(command, header)
            if messages:
                problems.append(f"{header} does not compile alone as {mode}:\n{messages}")
    if not headers:
        problems.append(f"{FOLDER} holds no header")
    tree.finish(problems, len(headers), "headers")


if __name__ == "__main__":
    main()
