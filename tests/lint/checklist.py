"""tests/CHECKLIST.md and SNIPPETS.md name tests that exist, and each documented feature of PopRT has one. Prints the counts.

    checklist.py POPRT_EXEC"""

import ast
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
# The page whose table has the changes of operators between opsets.
OPSETS = ROOT / "docs" / "opsets.md"


def python_tests():
    """Names as CHECKLIST.md has them: file, file.Class and file.Class.test."""
    names = set()
    for path in [*TESTS.glob("cli/*_test.py"), *TESTS.glob("bindings/python/*_test.py"), *TESTS.glob("packages/*_test.py")]:
        stem = path.stem.removesuffix("_test")
        names.add(stem)
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                names.add(f"{stem}.{node.name}")
                names.update(f"{stem}.{node.name}.{f.name}" for f in node.body if isinstance(f, ast.FunctionDef))
    return names


def cpp_tests():
    """Suite.Name of GoogleTest."""
    names = set()
    for path in TESTS.rglob("*_test.cpp"):
        names.update(".".join(found) for found in re.findall(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", path.read_text(encoding="utf-8")))
    return names


def examples():
    """examples.LANGUAGE.KIND, as CTest calls them."""
    names = {f"examples.{path.parent.name}.{path.stem.lower()}" for path in ROOT.glob("examples/*/*.*")}
    return names | {f"examples.go.{path.parent.name}" for path in ROOT.glob("examples/go/*/main.go")}


def listed():
    """Yields (line, name) for each test that CHECKLIST.md names for a feature."""
    for number, line in enumerate((TESTS / "CHECKLIST.md").read_text(encoding="utf-8").splitlines(), 1):
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 4 and cells[1] not in ("feature", "---"):
            yield from ((number, name) for name in re.findall(r"`([^`]+)`", cells[2]) or [""])


def missing_tests():
    """A line for each name that no test has."""
    known = python_tests() | cpp_tests() | examples()
    return [f"tests/CHECKLIST.md:{line}: there is no test '{name}'" for line, name in listed() if name not in known]


def tested_options(poprt_exec):
    """The documented options that the tests of the commands use."""
    tables = json.loads(subprocess.run([poprt_exec, "options", "--json"], check=True, capture_output=True, text=True).stdout)
    text = "".join(path.read_text(encoding="utf-8") for path in TESTS.glob("cli/*_test.py"))
    names = [o["name"] for part in ("options", "tf2onnx") for o in tables[part] if "since" in o]
    return names, [name for name in names if re.search(rf"--{name}\b", text)]


def tested_arguments():
    """Keywords of Converter, and those of them that its tests use."""
    tree = ast.parse((ROOT / "bindings" / "python" / "poprt" / "converter.py").read_text(encoding="utf-8"))
    maker = next(f for c in tree.body if isinstance(c, ast.ClassDef) and c.name == "Converter" for f in c.body
                 if isinstance(f, ast.FunctionDef) and f.name == "__init__")
    names = [argument.arg for argument in maker.args.kwonlyargs]
    text = "".join((TESTS / "bindings" / "python" / file).read_text(encoding="utf-8") for file in ("converter_test.py", "user_scripts_onnx_test.py"))
    return names, [name for name in names if re.search(rf"\b{name}=|\"{name}\":", text)]


def tested_passes():
    """The documented passes, and those that have text and numbers. PopRT.HasItsPassesAndEachHasBothTests
    (core/passes/cases_test.cpp) checks these tests: a pass that does nothing, or whose results no test compares, is an error."""
    names = (TESTS / "data" / "poprt_passes.txt").read_text(encoding="utf-8").split()
    elsewhere = set(re.findall(r'\{"(\w+)",\s*\{"', (TESTS / "core" / "passes" / "cases_test.cpp").read_text(encoding="utf-8")))
    elsewhere.add("layer_precision_compare")  # this pass is in Python

    def acts(name):
        path = TESTS / "data" / "passes" / f"{name}.txt"
        return path.exists() and re.search(r"^--- (before|says|fails )", path.read_text(encoding="utf-8"), re.M)
    return names, [name for name in names if name in elsewhere or acts(name)]


# The parts of a form of SNIPPETS.md that a user replaces: names, numbers and descriptions.
OPEN = {"self", "kwargs", "args", "model", "models", "names", "path", "node", "device", "stage", "input", "name", "bool", "float32", "int8", "and",
        "None", "True", "False", "ModelProto", "str", "dict", "poprt", "onnx_model", "array", "types"}


def words_of(form):
    return {w for w in re.findall(r"[A-Za-z_][A-Za-z_0-9]{2,}", form) if w not in OPEN and not w.isupper()}


def sources():
    """Returns the text of each test by its name."""
    found = {}
    for path in [*TESTS.glob("cli/*_test.py"), *TESTS.glob("bindings/python/*_test.py")]:
        text, stem = path.read_text(encoding="utf-8"), path.stem.removesuffix("_test")
        lines = text.splitlines(keepends=True)
        for c in ast.parse(text).body:
            if isinstance(c, ast.ClassDef):
                found.update((f"{stem}.{c.name}.{f.name}", "".join(lines[f.lineno - 1:f.end_lineno])) for f in c.body
                             if isinstance(f, ast.FunctionDef))
    for path in TESTS.rglob("*_test.cpp"):
        pieces = re.split(r"^TEST\(", path.read_text(encoding="utf-8"), flags=re.M)[1:]
        found.update((".".join(re.match(r"(\w+),\s*(\w+)", p).groups()), p) for p in pieces)
    return found


def snippets():
    """Forms of SNIPPETS.md, and a line for each whose test is not there or does not have its words."""
    wrong, count, known = [], 0, sources()
    for number, line in enumerate((TESTS / "SNIPPETS.md").read_text(encoding="utf-8").splitlines(), 1):
        row = re.fullmatch(r"\| `(.*)` \| `([\w.]+)` \|", line)
        if not row:
            continue
        count += 1
        missing = [w for w in sorted(words_of(row[1])) if not re.search(rf"(?<!\w){w}(?!\w)", known.get(row[2], ""))]
        if missing:
            wrong.append(f"tests/SNIPPETS.md:{number}: '{row[2]}' " + ("has no " + ", ".join(missing) if row[2] in known else "is no test"))
    return count, wrong


def main():
    wrong = missing_tests()
    for what, (names, tested), count in (("options", tested_options(sys.argv[1]), 71), ("converter arguments", tested_arguments(), 34),
                                         ("passes with both tests", tested_passes(), 105)):
        print(f"{len(tested)} of {count} {what}")
        wrong += [f"{what}: expected {count}, found {len(names)}"] if len(names) != count else []
        wrong += [f"{what}: no test of '{name}'" for name in names if name not in tested]
    count, unlike = snippets()
    print(f"{count - len(unlike)} of {count} documented forms as they are printed")
    wrong += unlike
    table = OPSETS.read_text(encoding="utf-8").split("## What changes with the opset\n")[1]
    print(f"opset conversion table\n{table[table.index('| operator'):]}")
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
