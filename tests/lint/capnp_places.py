"""core/*/*_places.h are the places that the Cap'n Proto schemas next to them give to their fields. Checks them, or with --write
makes them. Needs the program capnp, which the tests need too.

Usage: capnp_places.py [--write]"""

import os
import re
import subprocess
import sys

import tree
from generated_parts import settle

SCHEMAS = {"core/popef/metadata.capnp": "poprt::popef::places", "core/program/program.capnp": "poprt::program::places"}


def snake(name):
    """tensorInfo -> tensor_info, TensorInfo -> tensor_info."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def structs(schema):
    """{struct: [(field, type, place)]} in the order of the schema. A place is in the unit that codecs/capnp_message.h takes:
    bytes of a number, the bit of a flag, the pointer of anything else."""
    text = subprocess.run(["capnp", "compile", "-ocapnp", os.path.basename(schema)], check=True, capture_output=True, text=True,
                          cwd=os.path.join(tree.ROOT, os.path.dirname(schema))).stdout
    found = {}
    for line in text.splitlines():
        begin = re.match(r"\s*struct (\w+)", line)
        if begin:
            fields = found[begin.group(1)] = []
        field = re.match(r"\s*(\w+) @\d+ :(.+?)(?: = .*)?;  # (bits|ptr)\[(\d+)", line)
        if field:
            name, kind, unit, at = field.groups()
            fields.append((name, kind, int(at) // (8 if unit == "bits" and kind != "Bool" else 1)))
        elif re.search(r"\bunion\b|:group\b|@\d+ :", line):
            raise ValueError(f"{schema}: expected a field with a place, found {line.strip()}")
    return found


def header(schema, space):
    lines = [f"// The positions of the fields of {os.path.basename(schema)}: byte, bit or pointer index.",
             "// tests/lint/capnp_places.py --write generates this file from the schema.",
             "#pragma once", "", "#include <cstdint>", "", f"namespace {space} {{", ""]
    for name, fields in structs(schema).items():
        lines.append(f"namespace {snake(name)} {{")
        lines += [f"inline constexpr uint32_t k{field[0].upper()}{field[1:]} = {place};" for field, _, place in fields]
        lines += [f"}}  // namespace {snake(name)}", ""]
    return lines + [f"}}  // namespace {space}"]


def check(write):
    return [settle(schema.replace(".capnp", "_places.h"), None, header(schema, space), schema, "tests/lint/capnp_places.py", write)
            for schema, space in SCHEMAS.items()]


def main():
    problems = check("--write" in sys.argv)
    tree.finish([p for p in problems if p], len(problems), "headers of places")


if __name__ == "__main__":
    main()
