"""A type checker sees the whole public API: complete annotations, and stubs that agree with the modules."""

import ast
import importlib
import inspect
import os
import pydoc
import typing
import unittest

import model_runtime
import numpy as np
import popef
import poprt

MODULES = ("poprt", "poprt.compiler", "poprt.converter", "poprt.passes", "poprt.passes.base_pass", "poprt.passes.onnx_helper",
           "poprt.passes.pattern_helper", "poprt.passes.shape_inference", "poprt.passes.pass_manager", "poprt.optimizer", "poprt.profile",
           "poprt.frontend", "poprt.runtime", "poprt.utils", "poprt.backends", "poprt.backend", "popef",
           "model_runtime", "model_runtime.session",
           "model_runtime.queues", "model_runtime.predicate_factory")
DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../data")
LATE = {"Session": model_runtime.Session}  # names that modules import for type checkers only
FOLDER = os.path.dirname(poprt.__file__)


def stub(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return ast.parse(file.read())


def functions(module):
    """Yields (name, function) of the functions and methods that users call."""
    for name in module.__all__:
        value = getattr(module, name)
        if inspect.isfunction(value):
            yield name, value
        if not inspect.isclass(value) or not value.__module__.startswith(("poprt", "popef", "model_runtime")):
            continue
        for member, found in vars(value).items():
            if member.startswith("_") and member not in ("__init__", "__enter__", "__exit__", "__getitem__"):
                continue
            function = found.fget if isinstance(found, property) else getattr(found, "__func__", found)
            if inspect.isfunction(function) and not hasattr(function, "__wrapped__") and "<string>" not in \
                    function.__code__.co_filename:
                yield f"{name}.{member}", function


class Configurations(unittest.TestCase):
    def test_options_are_typed_keywords_that_type_checkers_know(self):
        from poprt._config import Config

        def kinds(cls):
            return [k for sub in cls.__subclasses__() for k in (sub, *kinds(sub))]

        count = 0
        for kind in kinds(Config):
            with self.subTest(kind.__name__):
                declared = {n for base in kind.__mro__ for n in getattr(base, "__annotations__", {}) if not n.startswith("_")}
                self.assertEqual(set(kind._defaults), declared)
                for name in kind._defaults:
                    self.assertNotIn(name, vars(kind))  # defaults are attributes of objects, not of the class
                count += len(declared)
        self.assertGreater(count, 100)

    def test_help_names_the_options(self):
        for kind in (poprt.CompilerOptions, poprt.RuntimeConfig, poprt.runtime.PackRunnerConfig):
            text = pydoc.plain(pydoc.render_doc(kind))
            for name in kind._defaults:
                self.assertRegex(text, rf"\b{name}: .* = .*")


class Text(unittest.TestCase):
    def test_every_public_class_has_a_repr(self):
        for module_name in MODULES:
            module = importlib.import_module(module_name)
            for name in module.__all__:
                value = getattr(module, name)
                if inspect.isclass(value) and name != "anchor_callbacks":  # a namespace
                    with self.subTest(f"{module_name}.{name}"):
                        self.assertIsNot(value.__repr__, object.__repr__)

    def test_runner_has_annotated_return_types(self):
        makes = typing.get_overloads(poprt.runtime.Runner.__new__) if hasattr(typing, "get_overloads") else []
        self.assertIn("ModelRunner", [o.__annotations__["return"].strip("\"'") for o in makes] or ["ModelRunner"])
        statistics = typing.get_type_hints(poprt.runtime.Runner.statistics)["return"]
        self.assertLessEqual({"completed", "latency", "replicas"}, set(typing.get_type_hints(statistics)))

    def test_statistics_of_shapes_on_demand_have_their_keys(self):
        with poprt.Runner(os.path.join(DATA, "affine.onnx")) as runner:
            runner.run({"x": np.ones((2, 4), np.float32)})
            found = runner.statistics()
        hints = typing.get_type_hints(poprt.runtime.RunnerStatistics)
        self.assertLessEqual(set(found), set(hints))
        self.assertEqual(set(found["shapes"]), set(typing.get_type_hints(poprt.runtime.ShapesStatistics)))
        self.assertEqual(set(found["shapes"]["kept"][0]), set(typing.get_type_hints(poprt.runtime.ShapeStatistics)))


class Annotations(unittest.TestCase):
    def test_every_public_function_is_annotated(self):
        count = 0
        for module_name in MODULES:
            module = importlib.import_module(module_name)
            for name, function in functions(module):
                with self.subTest(f"{module_name}.{name}"):
                    count += 1
                    parameters = list(inspect.signature(function).parameters.values())
                    if "." in name and parameters and parameters[0].name in ("self", "cls"):
                        del parameters[0]
                    missing = [p.name for p in parameters if p.annotation is inspect.Parameter.empty]
                    self.assertEqual(missing, [])
                    hints = typing.get_type_hints(function, localns=LATE)  # the names in them exist
                    if not name.endswith("__init__"):
                        self.assertIn("return", hints)
        self.assertGreater(count, 200)

    def test_packages_are_marked_as_typed(self):
        root = os.path.dirname(FOLDER)
        for package in ("poprt", "popef", "model_runtime"):
            self.assertTrue(os.path.exists(os.path.join(root, package, "py.typed")), package)


class Stubs(unittest.TestCase):
    def test_the_raw_layer_is_described(self):
        from poprt import poprt_raw
        described = {}
        for node in stub("poprt_raw.pyi").body:
            if isinstance(node, ast.FunctionDef):
                described[node.name] = node
            if isinstance(node, ast.ClassDef):
                described[node.name] = node
                for child in node.body:
                    if isinstance(child, ast.FunctionDef):
                        described[f"{node.name}.{child.name}"] = child
                    if isinstance(child, ast.AnnAssign):
                        described[f"{node.name}.{child.target.id}"] = child
        known = set()
        for name, value in vars(poprt_raw).items():
            if name.startswith("raw_"):
                known.add(name)
            if name.startswith("Raw") and inspect.isclass(value):
                known.add(name)
                known.update(f"{name}.{m}" for m in vars(value) if not m.startswith("_") and m != "thisown")
        self.assertEqual({n for n in described if not n.endswith(".__init__")}, known)
        for name, node in described.items():
            if isinstance(node, ast.FunctionDef):
                self.assertIsNotNone(node.returns, name)
                self.assertTrue(all(a.annotation or a.arg == "self" for a in node.args.args), name)

    def test_the_errors_are_described(self):
        described = {n.name: [ast.unparse(b) for b in n.bases] for n in stub("errors.pyi").body
                     if isinstance(n, ast.ClassDef)}
        self.assertEqual(set(described), set(poprt.errors.__all__))
        for name, bases in described.items():
            real = getattr(poprt.errors, name)
            self.assertEqual([b.rsplit(".", 1)[-1] for b in bases], [b.__name__ for b in real.__bases__], name)
            self.assertEqual(real.__module__, "poprt.errors")
            self.assertTrue(issubclass(real, RuntimeError))


if __name__ == "__main__":
    unittest.main()
