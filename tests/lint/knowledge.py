"""What is known about an operator stands in its own file (core/ops/facts.h), not in lists of names elsewhere.

Each domain of operators has a folder. Outside core/ops and core/onnx no list holds more than a few names of operators, and no
file compares nodes with more than a few, except passes, which name what they match or make, and the files of NAMING."""

import re

import tree

MOST = 3  # names in one braced list
MOST_COMPARED = 3  # names that a file compares nodes with
NAMING = {
    "core/compiler/faithful.cpp": "computes each product as the chip's formula for it says",
    "core/compiler/flow/size_ranges.cpp": "has a rule of its own for each of five operators",
}
PATTERNS = ("core/passes/attention/", "core/passes/fuse/")
KNOWING = ("core/ops/", "core/onnx/", "core/ir/schemas.inc")


# The folder says the domain.
DOMAINS = {"": "", "poprt": "poprt", "microsoft": "com.microsoft", "ml": "ai.onnx.ml", "graphcore": "ai.graphcore",
           "training": "ai.onnx.preview.training"}
ELSEWHERE = {"core/ops/flex_attention.cpp": "ai.onnx.preview"}


def misplaced():
    """Definitions in a folder of another domain."""
    for path in tree.code_files():
        if not path.startswith("core/ops/") or not path.endswith(".cpp") or "/common/" in path:
            continue
        folder = path.split("/")[2] if path.count("/") > 2 else ""
        wanted = ELSEWHERE.get(path, DOMAINS.get(folder))
        text = tree.read(path)
        stated = re.search(r'\.domain = "([\w.]*)"', text) or re.search(r'POPRT_EXPANSION\w*\(\s*\w+,\s*"([\w.]*)"', text)
        if wanted is None or (stated.group(1) if stated else "") != wanted:
            yield (f"{path}: defines an operator of '{stated.group(1) if stated else ''}', the folder is for "
                   f"'{wanted}'")


def operators():
    names = set()
    for path in tree.code_files():
        if path.startswith("core/ops/") and "/common/" not in path:
            text = tree.read(path)
            names.update(re.findall(r'\.name = "(\w+)"', text))
            names.update(re.findall(r'POPRT_\w+\(\s*\w+,\s*(?:"[\w.]*",\s*)?"(\w+)"', text))
    return names


def lists(text):
    """Braced lists of string literals: (line number, literals)."""
    text = re.sub(r"//[^\n]*", "", text)
    for m in re.finditer(r'\{[^{};]*"[A-Z]\w*"[^{};]*\}|=\s*\{(?:\s*\{[^{}]*\},?)+\s*\}', text):
        yield text.count("\n", 0, m.start()) + 1, re.findall(r'"([A-Z]\w*)"', m.group(0))


def compared(text):
    """Names that nodes are compared with."""
    text = re.sub(r"//[^\n]*", "", text)
    return set(re.findall(r'(?:\bis\(|\bop_type [!=]= )"([A-Z]\w*)"', text))


def main():
    known = operators()
    problems, checked = list(misplaced()), 0
    for path in tree.code_files():
        if not path.startswith(("core/", "capi/", "cli/", "inspector/")) or path.startswith(PATTERNS + KNOWING):
            continue
        checked += 1
        for line, literals in lists(tree.read(path)):
            named = [name for name in literals if name in known]
            if len(named) > MOST:
                problems.append(f"{path}:{line}: a list of operators ({', '.join(named[:4])} ...): make it a fact of "
                                "core/ops/facts.h")
        named = sorted(compared(tree.read(path)) & known)
        if len(named) > MOST_COMPARED and not path.startswith("core/passes/") and path not in NAMING:
            problems.append(f"{path}: compares nodes with {', '.join(named)}: make it a fact of core/ops/facts.h")
    for path in NAMING:
        if len(compared(tree.read(path)) & known) <= MOST_COMPARED:
            problems.append(f"tests/lint/knowledge.py: {path} need not be in NAMING")
    if len(known) < 150:
        problems.append(f"only {len(known)} operators were found in core/ops")
    tree.finish(problems, checked, "files")


if __name__ == "__main__":
    main()
