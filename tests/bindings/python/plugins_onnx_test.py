"""Plug-ins in Python: operators, passes, patterns and transforms of shared libraries."""

import json
import os
import tempfile
import unittest

import numpy as np
import onnx
import onnx_models as m
from onnx_models import node

import poprt
from poprt.compiler import Compiler, CompilerOptions
from poprt.errors import Error, NotFoundError

FOLDER = os.path.join(os.environ["POPRT_BUILD"], "plugins")


def library(name):
    return os.path.join(FOLDER, f"lib{name}.so")


def compute(model, x, options=None):
    with poprt.runtime.Runner(Compiler.compile(model, None, options)) as runner:
        return next(iter(runner.run({"X": x}).values()))


class Plugins(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(3).standard_normal((8, 8), dtype=np.float32)

    def test_an_operator_computes(self):
        poprt.load_plugin(library("leaky_relu"))
        poprt.load_plugin(library("leaky_relu"))
        self.assertIn({"domain": "org.example", "name": "LeakyRelu", "version": 1},
                      [op for plugin in poprt.list_plugins() for op in plugin["operators"]])
        model = m.make([node("LeakyRelu", ["X"], ["Y"], domain="org.example", alpha=0.01)], {"X": [8, 8]}, {"Y": [8, 8]},
                       domains=["org.example"])
        expected = np.where(self.x < 0, np.float32(0.01) * self.x, self.x)
        np.testing.assert_allclose(compute(model, self.x), expected, rtol=1e-6)
        converted = poprt.Converter().convert(model)
        self.assertEqual(m.op_types(converted), ["LeakyRelu"])
        np.testing.assert_allclose(compute(converted, self.x), expected, rtol=1e-6)

    def test_a_pass_is_known_by_its_name(self):
        poprt.get_registered_passes()
        poprt.load_plugin(library("replace_add_with_sub"))
        model = m.make([node("Relu", ["X"], ["A"]), node("Add", ["A", "X"], ["Y"])], {"X": [8, 8]}, {"Y": [8, 8]})
        self.assertIn("replace_add_with_sub", poprt.get_registered_passes())
        self.assertEqual(m.op_types(poprt.get_pass("replace_add_with_sub")(model)), ["Relu", "Sub"])
        managed = poprt.PassManager(["replace_add_with_sub", "eliminate_identity"]).run(model)
        self.assertEqual(m.op_types(managed), ["Relu", "Sub"])
        converted = poprt.Converter(used_passes=["replace_add_with_sub"]).convert(model)
        np.testing.assert_allclose(compute(converted, self.x), np.maximum(self.x, 0) - self.x, rtol=1e-6)

    def test_a_pass_has_its_parameters_as_arguments(self):
        poprt.load_plugin(library("replace_type"))
        model = m.make([node("Add", ["X", "X"], ["A"]), node("Mul", ["A", "X"], ["Y"])], {"X": [8, 8]}, {"Y": [8, 8]})
        self.assertEqual(m.op_types(poprt.get_pass("replace_type", to="Sub")(model)), ["Sub", "Mul"])
        self.assertEqual(m.op_types(poprt.get_pass("replace_type", types=["Add", "Mul"], to="Max", most=1)(model)), ["Max", "Mul"])
        self.assertEqual(m.op_types(poprt.get_pass("replace_type", ["Add", "Mul"], "Max")(model)), ["Max", "Max"])
        both = poprt.Converter(used_passes=[poprt.get_pass("replace_type", to="Max")]).convert(model)
        np.testing.assert_allclose(compute(both, self.x), self.x * self.x, rtol=1e-6)
        poprt.load_plugin(library("trial"))  # its pass has a parameter whose name is a keyword of Python
        self.assertEqual(m.op_types(poprt.get_pass("trial_parameter", **{"from": "here"})(model)), ["Add", "Mul"])
        with self.assertRaisesRegex(Error, "'undeclared' is not a parameter of the pass"):
            poprt.get_pass("trial_parameter")(model)
        for arguments, why in (({}, "needs its parameter 'to'"), ({"to": "Sub", "most": "x"}, "expected a whole number"),
                               ({"to": "Sub", "by": 1}, "there is no argument 'by'")):
            with self.assertRaisesRegex(Error, why):
                poprt.get_pass("replace_type", **arguments)

    def test_patterns_and_transforms_of_the_compiler_options(self):
        poprt.load_plugin(library("replace_relu_with_neg"))
        poprt.load_plugin(library("ir_serialise"))
        model = m.make([node("Relu", ["X"], ["Y"])], {"X": [8, 8]}, {"Y": [8, 8]})
        np.testing.assert_array_equal(compute(model, self.x), np.maximum(self.x, 0))
        with tempfile.TemporaryDirectory() as folder:
            os.environ["IR_SERIALISE_DIR"] = folder
            self.addCleanup(os.environ.pop, "IR_SERIALISE_DIR")
            options = CompilerOptions(custom_patterns=["ReplaceReluWithNeg", "InPlace:0"],
                                      custom_transform_applier_settings={"Fwd0": ["IrSerialise"], "Fwd1": ["IrSerialise"]})
            np.testing.assert_array_equal(compute(model, self.x, options), -self.x)
            for checkpoint, op_type in (("Fwd0", "Relu"), ("Fwd1", "Neg")):
                with open(os.path.join(folder, f"ir_{checkpoint}.json"), encoding="utf-8") as file:
                    self.assertEqual([n["type"] for n in json.load(file)["nodes"]], [op_type])

    def test_the_option_loads_too(self):
        model = m.make([node("SplitSign", ["X"], ["Y", "Z"], domain="ai.graphcore")], {"X": [8, 8]}, {"Y": [8, 8]},
                       domains=["ai.graphcore"])
        np.testing.assert_array_equal(compute(model, self.x, CompilerOptions(options={"custom_library_so_paths": library("trial")})),
                                      np.maximum(self.x, 0))

    def test_a_run_that_fails_raises_and_the_next_one_works(self):
        poprt.load_plugin(library("trial"))
        model = m.make([node("RefuseNegative", ["X"], ["Y"], domain="ai.graphcore")], {"X": [8, 8]}, {"Y": [8, 8]},
                       domains=["ai.graphcore"])
        with poprt.runtime.Runner(Compiler.compile(model)) as runner:
            for _ in range(2):
                with self.assertRaisesRegex(Error, "RefuseNegative.*expected at least 0"):
                    runner.run({"X": np.full((8, 8), -1, np.float32)})
                good = np.abs(self.x)
                np.testing.assert_array_equal(runner.run({"X": good})["Y"], good)

    def test_refuses_unknown_patterns_and_transforms(self):
        model = m.make([node("Relu", ["X"], ["Y"])], {"X": [8, 8]}, {"Y": [8, 8]})
        with self.assertRaisesRegex(NotFoundError, "there is no pattern 'Nobody'"):
            Compiler.compile(model, None, CompilerOptions(custom_patterns=["Nobody"]))
        with self.assertRaisesRegex(NotFoundError, "there is no transform 'Nobody'"):
            Compiler.compile(model, None, CompilerOptions(custom_transform_applier_settings={"Final": ["Nobody"]}))
        onnx.checker.check_model(model)


if __name__ == "__main__":
    unittest.main()
