"""The file of an operator has all facts about it (core/ops/facts.h); other folders have no lists of names.

Each domain of operators has a folder. Outside core/ops and core/onnx no list has more than a few names of operators, and nothing
is compared with such a name, except in passes, which name the operators that they match, and in the tables of opsets."""

import re

import tree

MOST = 3  # names in one braced list
PATTERNS = ("core/passes/fuse/",)
KNOWING = ("core/ops/", "core/onnx/", "core/ir/schemas.inc")
MATCHING = ("core/passes/", "core/opsets/")


# The domain of the operators in each folder of core/ops.
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
    """Names that something is compared with: (line number, name)."""
    text = re.sub(r"//[^\n]*", "", text)
    for m in re.finditer(r'(?:\bis\(|[!=]= )"([A-Z]\w*)"|"([A-Z]\w*)" [!=]=', text):
        yield text.count("\n", 0, m.start()) + 1, m.group(1) or m.group(2)


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
        if path.startswith(MATCHING):
            continue
        for line, name in compared(tree.read(path)):
            if name in known:
                problems.append(f"{path}:{line}: compares with {name}: make it a fact of core/ops/facts.h")
    if len(known) < 150:
        problems.append(f"only {len(known)} operators were found in core/ops")
    tree.finish(problems, checked, "files")


if __name__ == "__main__":
    main()
