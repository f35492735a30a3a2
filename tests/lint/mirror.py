"""Every tests/core/**/x_test.cpp tests a core/**/x.h or x.cpp."""

import os

import tree

# Suites that every file of a folder passes without being listed.
SUITES = {"tests/core/ops/contract_test.cpp"}


def main():
    known = set(tree.files())
    problems = []
    tests = [f for f in known if f.startswith("tests/core/") and f.endswith("_test.cpp")]
    for test in sorted(tests):
        if test in SUITES:
            continue
        stem = test.removeprefix("tests/").removesuffix("_test.cpp")
        if not any(stem + ending in known for ending in (".h", ".cpp", ".capnp")):
            problems.append(f"{test}: there is no {stem}.h or {os.path.basename(stem)}.cpp")
    for suite in sorted(SUITES - known):
        problems.append(f"{suite}: listed in mirror.py, but it is gone")
    tree.finish(problems, len(tests), "tests")


if __name__ == "__main__":
    main()
