"""Kernels are called by name (core/kernels/README.md), and so are the fields of Cap'n Proto messages.

Only core/kernels/calls/ and core/program/control.cpp use the positions of an instruction's numbers, and only the headers that a
script makes from the schemas contain the places of a message's fields."""

import re

import tree

RULES = [
    ("core/kernels/", ("core/kernels/calls/",), r"\bcall_?\.(ints|floats)\b",
     "reads numbers of a call: take them from calls::decode()"),
    ("core/", ("core/program/control.cpp",), r"[.>](ints|floats)(\[|\.at\()",
     "reads a number of an instruction by its place: decode the struct of the call"),
    ("core/ops/", (), r"\bemit\(\s*\"", "names a kernel as a text: emit a struct of core/kernels/calls/"),
    ("core/", ("core/base/",), r"[.>](set|set_bit|set_text|set_texts|set_numbers|init_structs?|get_bit|get<\w+>|texts?|"
     r"numbers<\w+>|structs|structure)\(\d", "writes the place of a field as a literal: core/*/*_places.h name them"),
]


def main():
    problems, checked = [], 0
    for path in tree.code_files():
        if not path.startswith("core/"):
            continue
        checked += 1
        lines = re.sub(r"//[^\n]*", "", tree.read(path)).split("\n")
        for folder, known, pattern, what in RULES:
            if path.startswith(folder) and not path.startswith(known):
                problems += [f"{path}:{n}: {what}" for n, line in enumerate(lines, 1) if re.search(pattern, line)]
    tree.finish(problems, checked, "files")


if __name__ == "__main__":
    main()
