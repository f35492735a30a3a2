"""No module of the packages imports itself by way of others, whether at once, late or for type checkers."""

import ast
import os
import subprocess
import sys
import unittest

import poprt

ROOT = os.path.dirname(os.path.dirname(poprt.__file__))


def modules():
    """Returns the file of each module by its name."""
    found = {}
    for package in ("poprt", "popef", "model_runtime"):
        for folder, _, names in os.walk(os.path.join(ROOT, package)):
            for name in names:
                stem, _, ending = name.partition(".")
                if ending == "py" or ending.endswith("so"):
                    path = os.path.join(folder, name)
                    module = os.path.relpath(os.path.join(folder, stem), ROOT).replace(os.sep, ".")
                    found[module.removesuffix(".__init__")] = path
    return found


def imports(name, path, known):
    """Returns the modules of `known` that the module imports."""
    if not path.endswith(".py"):
        return []
    parts = name.split(".") if path.endswith("__init__.py") else name.split(".")[:-1]
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            base = ".".join(parts[:len(parts) - node.level + 1]) if node.level else ""
            base = ".".join(filter(None, (base, node.module)))
            found.update(f"{base}.{a.name}" if f"{base}.{a.name}" in known else base for a in node.names)
    return sorted((found & set(known)) - {name})


def cycle(graph):
    """The modules of one cycle, or None."""
    done, path = set(), []

    def visit(name):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return None
        path.append(name)
        for other in graph[name]:
            if found := visit(other):
                return found
        done.add(path.pop())
        return None

    return next(filter(None, map(visit, graph)), None)


class Imports(unittest.TestCase):
    def test_there_is_no_cycle(self):
        known = modules()
        self.assertGreater(len(known), 20)
        graph = {name: imports(name, path, known) for name, path in known.items()}
        self.assertIn("poprt.errors", graph["poprt.compiler"])
        self.assertEqual(cycle(graph), None)

    def test_cycles_are_found(self):
        self.assertEqual(cycle({"a": ["b"], "b": ["c"], "c": ["b"]}), ["b", "c", "b"])
        self.assertEqual(cycle({"a": ["b", "c"], "b": ["c"], "c": []}), None)

    def test_poprt_imports_nothing_of_popef(self):
        known = modules()
        wrong = [name for name, path in known.items() if name.split(".")[0] == "poprt"
                 for other in imports(name, path, known) if other.split(".")[0] != "poprt"]
        self.assertEqual(wrong, [])


class OldNumPy(unittest.TestCase):
    def test_modules_do_not_need_an_ndarray_with_a_subscript(self):
        """NumPy before 1.22, that of Ubuntu 22.04 for example, has none. The modules name such types in annotations only."""
        lines = ["import importlib, numpy", "class Old(numpy.ndarray):", "    def __class_getitem__(cls, item):",
                 "        raise TypeError(\"'type' object is not subscriptable\")", "numpy.ndarray = Old",
                 *(f"importlib.import_module({name!r})" for name in sorted(modules()) if not name.endswith("__main__"))]
        done = subprocess.run([sys.executable, "-W", "error", "-c", "\n".join(lines)], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": ROOT})
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class FreeThreaded(unittest.TestCase):
    def test_each_package_names_the_reason(self):
        """Without the check, the error would be that there is no module _poprt_raw."""
        for package in ("poprt", "popef", "model_runtime"):
            with self.subTest(package):
                done = subprocess.run([sys.executable, "-c", f"import sys; sys.abiflags = 't'; import {package}"],
                                      capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ROOT})
                self.assertEqual(done.returncode, 1)
                self.assertRegex(done.stderr, r"ImportError: poprt: free-threaded builds of CPython are not supported \(found 3\.\d+t\)")


if __name__ == "__main__":
    unittest.main()
