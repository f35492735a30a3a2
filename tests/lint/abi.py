"""Checks that programs that were built against the recorded ABI still work: abidiff of libpoprt.so against tests/lint/abi.xml.

Usage: abi.py check LIBPOPRT_SO    fails for a change that breaks programs; additions are fine
       abi.py record LIBPOPRT_SO   replaces the record (after a release, or after an accepted break)

Needs abigail-tools, and a library with debug information (every build but sanitizers' has it)."""

import os
import re
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

import tree

RECORD = os.path.join(tree.ROOT, "tests/lint/abi.xml")
# Bits of abidiff's exit code.
ERROR, INCOMPATIBLE = 0b0011, 0b1000
# Lines of its report about structs and parameters that it does not call incompatible by itself.
BROKEN = re.compile(r"data member change|data member deletion|parameter \d+ .*(?:was|were) (?:added|removed)|"
                    r"return type changed|type name changed|offset changed|parameter \d+ .*type changed")


def references(element):
    return {value for e in element.iter() for key, value in e.attrib.items() if key in ("type-id", "naming-typedef-id")}


def public_structs():
    """Names of structs whose members users see; all others are opaque."""
    return {name for path in tree.code_files() if path.startswith("capi/include/") and path.endswith(".h")
            for name in re.findall(r"struct (\w+) \{", tree.read(path))}


def keep_public(path):
    """Removes from the record what the ABI does not promise: members of handles, and the C++ types that implement them."""
    document = ElementTree.parse(path)
    public = public_structs()
    for struct in document.getroot().iter("class-decl"):
        if struct.get("name") not in public:
            struct[:] = []
            kept = {k: v for k, v in struct.attrib.items() if k in ("name", "is-struct", "visibility", "id")}
            struct.attrib.clear()
            struct.attrib.update(kept, **{"is-declaration-only": "yes"})
    units = document.getroot().findall("abi-instr")
    owners = {e.get("id"): child for unit in units for child in unit for e in child.iter() if e.get("id")}
    exported = [child for unit in units for child in unit if child.get("elf-symbol-id")]
    needed, left = set(), list(exported)
    while left:
        element = left.pop()
        if id(element) in needed:
            continue
        needed.add(id(element))
        left += [owners[r] for r in references(element) if r in owners]
    for unit in units:
        # Paths become relative to the root; the compiler may have received absolute ones.
        unit.set("path", re.sub(r"^.*?(?=capi/src/)", "", unit.get("path")))
        for child in list(unit):
            if id(child) not in needed:
                unit.remove(child)
        if not len(unit):
            document.getroot().remove(unit)
    document.write(path)
    with open(path, "a", encoding="utf-8") as file:
        file.write("\n")


def dump(library, path):
    """Writes the public types and functions to `path`, without facts about the machine and the build folder."""
    subprocess.run(["abidw", "--no-corpus-path", "--no-show-locs", "--no-comp-dir-path", "--no-elf-needed",
                    "--out-file", path, library], check=True)
    keep_public(path)


def broken(before, after):
    """Returns the changes that break programs built against `before` or "". New functions, and new
    fields at the end of option structs, which have struct_size for this purpose, are allowed."""
    done = subprocess.run(["abidiff", "--no-added-syms", before, after], capture_output=True, text=True, check=False)
    if done.returncode & ERROR:
        return f"abidiff failed:\n{done.stdout}{done.stderr}"
    return done.stdout if done.returncode & INCOMPATIBLE or BROKEN.search(done.stdout) else ""


def notices(record, old, new):
    """Whether the check reports this library against a changed record."""
    text = tree.read(record)
    assert old in text, f"the record does not have {old}"
    with tempfile.NamedTemporaryFile("w", suffix=".xml") as file:
        file.write(text.replace(old, new))
        file.flush()
        return bool(broken(file.name, record))


def check(library):
    with tempfile.TemporaryDirectory() as folder:
        now = os.path.join(folder, "now.xml")
        dump(library, now)
        report = broken(RECORD, now)
    problems = [report] if report else []
    if not notices(RECORD, '"poprt_version', '"poprt_gone'):
        problems.append("a removed function is not noticed")
    if not notices(RECORD, 'layout-offset-in-bits="128"', 'layout-offset-in-bits="192"'):
        problems.append("a moved field is not noticed")
    tree.finish(problems, 1, "libraries")


def main():
    command, library = sys.argv[1:3]
    if command == "check":
        return check(library)
    dump(library, RECORD)
    return print(f"recorded {os.path.relpath(RECORD, tree.ROOT)}")


if __name__ == "__main__":
    main()
