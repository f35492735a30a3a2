"""Small helpers of package poprt: what they return, and which arguments they refuse."""

import contextlib
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

import numpy as np
import onnx
import onnx_models as m
import popef
import poprt
from onnx_models import node
from poprt import Compiler, CompilerOptions, Pass, PassManager, Runner, RuntimeConfig
from poprt._conversion import convert
from poprt.backend import get_session
from poprt.compiler import shapes_text
from poprt.errors import InvalidArgumentError
from poprt.passes import register, shape_inference
from poprt.passes._compare_numbers import difference
from poprt.passes._input_sets import _distinct
from poprt.passes.onnx_helper import get_constant, get_constant_value, get_consumers
from poprt.profile import Profiler, get_model_costs, get_model_flops

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
AFFINE = os.path.join(DATA, "affine.onnx")


class Graphs(unittest.TestCase):
    def test_consumers_are_those_of_the_graph_and_of_its_subgraphs(self):
        body = onnx.helper.make_graph([node("Relu", ["x"], ["t"])], "then", [], [onnx.helper.make_tensor_value_info("t", m.FLOAT, [2])])
        other = onnx.helper.make_graph([node("Identity", ["z"], ["e"])], "else", [], [onnx.helper.make_tensor_value_info("e", m.FLOAT, [2])])
        model = m.make([node("If", ["c"], ["y"], name="if", then_branch=body, else_branch=other), node("Neg", ["x"], ["n"], name="neg"),
                        node("Neg", ["n"], ["q"], name="last")], {"x": [2], "z": [2], "c": ([], onnx.TensorProto.BOOL)}, {"y": [2], "q": [2]})
        for name, wanted in (("x", ["if", "neg"]), ("c", ["if"]), ("z", ["if"]), ("n", ["last"]), ("y", []), ("t", [])):
            self.assertEqual([n.name for n in get_consumers(model.graph, name)], wanted, name)

    def test_constants_with_numbers_and_lists(self):
        nodes = [node("Constant", [], ["i"], value_int=7), node("Constant", [], ["is"], value_ints=[1, 2]),
                 node("Constant", [], ["f"], value_float=0.5), node("Constant", [], ["fs"], value_floats=[1.5, 2]),
                 node("Constant", [], ["s"], value_string="text"), node("Neg", ["x"], ["y"])]
        graph = m.make(nodes, {"x": [2]}, {"y": [2]}, opset=13).graph
        for name, wanted in (("i", np.int64(7)), ("is", np.array([1, 2])), ("f", np.float32(0.5)), ("fs", np.array([1.5, 2], np.float32))):
            found = get_constant_value(graph, name)
            np.testing.assert_array_equal(found, wanted)
            self.assertEqual((found.dtype, found.shape, get_constant(graph, name).name), (wanted.dtype, wanted.shape, name))
        for name in ("s", "y", "x", ""):
            self.assertIsNone(get_constant_value(graph, name))

    def test_operations_inside_of_loops_and_of_constants(self):
        body = onnx.helper.make_graph([node("Identity", ["go"], ["more"]), node("Add", ["a", "a"], ["b"])], "body", [
            onnx.helper.make_tensor_value_info("i", m.INT64, []), onnx.helper.make_tensor_value_info("go", onnx.TensorProto.BOOL, []),
            onnx.helper.make_tensor_value_info("a", m.FLOAT, [3])], [
            onnx.helper.make_tensor_value_info("more", onnx.TensorProto.BOOL, []), onnx.helper.make_tensor_value_info("b", m.FLOAT, [3])])
        loop = m.make([node("Constant", [], ["n"], value_int=5), node("Loop", ["n", "", "x"], ["y"], name="loop", body=body)],
                      {"x": [3]}, {"y": [3]}, opset=13)
        costs = {c.name: c for c in get_model_costs(loop)}
        self.assertEqual(costs["loop"].flops, 5 * 3)  # 5 rounds of an Add of 3 elements
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            total = get_model_flops(loop, verbose=True)
        lines = printed.getvalue().splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[-1].split()[:2], ["total", str(total)])
        self.assertRegex(lines[1], rf"^Loop +{total} FLOPs +\d+ bytes  loop$")

    def test_operations_of_unknown_shapes(self):
        count = Profiler().get_profiler("MatMul")
        product = node("MatMul", ["a", "b"], ["y"])
        self.assertEqual(count(product, [[2, 3], [3, 4]], [[2, 4]]), 2 * 2 * 3 * 4)
        self.assertEqual(count(product, [["N", 3], [3, None]], [[-1, 0]]), 2 * 3)
        self.assertEqual(count(product, [[2, 3], None], [[2, 4]]), 0)
        self.assertEqual(count(product, [[], [3]], [[]]), 0)
        self.assertEqual(repr(Profiler())[:12], "<Profiler of")


class Options(unittest.TestCase):
    def test_words_outside_of_an_enumeration_are_refused_by_name(self):
        for name, value in (("partials_type", "double"), ("precision", "fp64"), ("winograd", "slow")):
            with self.assertRaisesRegex(ValueError, f"{name} must be .*, given '{value}'"):
                Compiler.compile(AFFINE, None, CompilerOptions(**{name: value}))

    def test_sets_of_shapes(self):
        self.assertEqual(shapes_text({"x": [2, 4], "y": [[1], [2]], "z": []}), "x=2,4\ny=1/2\nz=[]")
        self.assertEqual(shapes_text([{"x": [2, 4], "y": [1]}, {"x": [2, 4], "y": [3]}]), "x=2,4\ny=1/3")
        self.assertEqual(shapes_text("x=1"), "x=1")
        with self.assertRaisesRegex(InvalidArgumentError, "'y' has a shape in 1 of 2 sets"):
            shapes_text([{"x": [1]}, {"x": [2], "y": [3]}])
        with self.assertRaisesRegex(InvalidArgumentError, "'y' has a shape in 1 of 2 sets"):
            shapes_text([{"x": [1], "y": [3]}, {"x": [2]}])
        for wrong in ({"x": "2"}, {"x": ["a"]}, [3], 3):
            with self.assertRaisesRegex(TypeError, "expected a dict of input name to shape, or a list of them, found"):
                shapes_text(wrong)

    def test_lists_of_passes_operators_and_options_are_three_lists(self):
        self.assertIn("constant_folding", Compiler.list_passes())
        self.assertIn("Softmax", Compiler.list_ops())
        self.assertNotIn("constant_folding", Compiler.list_ops())
        self.assertIn("num_io_tiles", Compiler.list_options())
        self.assertNotIn("num_io_tiles", Compiler.list_ops() + Compiler.list_passes())

    def test_a_file_is_converted_to_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "made.onnx")
            Compiler.convert(AFFINE, pathlib.Path(out), None, CompilerOptions(input_shape={"x": [2, 4]}))
            self.assertEqual([d.dim_value for d in onnx.load(out).graph.input[0].type.tensor_type.shape.dim], [2, 4])

    def test_a_wrong_configuration_of_a_runner(self):
        executable = Compiler.compile(AFFINE, None, CompilerOptions(input_shape={"x": [2, 4]}))
        with self.assertRaisesRegex(TypeError, "expected the configuration of a runner, given int"):
            Runner(executable, 3)
        for name, value, kind, text in (("queue_depth", -1, InvalidArgumentError, "queue_depth: expected 0 or more, found -1"),
                                        ("frozen_inputs", [1], TypeError, "frozen_inputs: expected"),
                                        ("frozen_inputs", {"z": [1]}, poprt.errors.NotFoundError, "there is no input 'z', which frozen_inputs has; "
                                         "inputs are: 'x'")):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                Runner(executable, RuntimeConfig(**{name: value}))


class Unusual:
    def __init__(self, found):
        self.found = found

    def __array__(self, *_):
        if isinstance(self.found, Exception):
            raise self.found
        return self.found


class Values(unittest.TestCase):
    def setUp(self):
        self.runner = Runner(Compiler.compile(AFFINE, None, CompilerOptions(input_shape={"x": [2, 4]})))
        self.addCleanup(self.runner.close)
        self.x = np.arange(8, dtype=np.float32).reshape(2, 4)

    def test_inputs_that_are_no_arrays(self):
        np.testing.assert_array_equal(self.runner.run({"x": Unusual(self.x)})["y"], 2 * self.x + 1)
        for value, text in ((Unusual(ValueError("no way")), "the Unusual cannot be converted to an array: no way"),
                            (object(), r"expected an array \(buffer protocol, DLPack, __array__\) or a list, given object"),
                            ([[1, 2, 3, 4], [1]], "the list is no array of numbers: its rows differ in length"),
                            (["a"] * 8, "expected f32, the list given holds"), ([1e39] * 8, "expected f32, which does not hold 1e"),
                            ([], "'x'")):
            with self.subTest(text), self.assertRaisesRegex(InvalidArgumentError, "(?s)'x'.*" + text if text != "'x'" else text):
                self.runner.run({"x": value})

    def test_outputs_that_are_not_written(self):
        for value, text in (([0] * 8, "expected something that is written by the buffer protocol or DLPack, given list"),
                            (b"\0" * 32, "the bytes cannot be written"), (memoryview(b"\0" * 32), "the memoryview cannot be written"),
                            (Unusual(self.x), "expected something that is written by the buffer protocol or DLPack, given Unusual"),
                            (np.zeros((4, 2), np.float32).T, "ontiguous")):
            with self.subTest(text), self.assertRaisesRegex(InvalidArgumentError, "'y'.*" + text):
                self.runner.execute({"x": self.x}, {"y": value})

    def test_lists_for_types_of_all_kinds(self):
        with Runner(Compiler.compile(os.path.join(DATA, "types.onnx"))) as runner:
            arrays = {d.name: np.zeros(d.shape, d.numpy_data_type()) for d in runner.get_inputs()}
            with self.assertRaisesRegex(InvalidArgumentError, "input 'bf16': a list cannot become bf16; give an array"):
                runner.run({**arrays, "bf16": [[1, 2, 3]] * 2})
            big = [[2**64 - 1, 0, 1], [2**63, 5, 2]]
            self.assertEqual(runner.run({**arrays, "u64": big})["u64_y"].tolist(), big)
            for name, value in (("u64", 2**64), ("u64", -1), ("s64", 2**63), ("u8", 256), ("s8", -129), ("u8", 0.5)):
                with self.subTest(name=name, value=value), self.assertRaisesRegex(InvalidArgumentError, f"input '{name}'"):
                    runner.run({**arrays, name: [[value, 0, 0]] * 2})
            # Arrays of 64 bits become 32 bits, and the reverse; a value outside of the range is refused, and the error names the first one.
            limits = np.array([[2**31 - 1, -2**31, 0]] * 2)
            np.testing.assert_array_equal(runner.run({**arrays, "s32": limits})["s32_y"], limits)
            np.testing.assert_array_equal(runner.run({**arrays, "s64": limits.astype(np.int32)})["s64_y"], limits)
            for wrong in (2**31, -2**31 - 1):
                with self.assertRaisesRegex(InvalidArgumentError, f"input 's32': is s32, which does not hold {wrong}"):
                    runner.run({**arrays, "s32": np.array([[wrong, 0, 0]] * 2)})

    def test_frozen_inputs_are_converted_and_named(self):
        executable = Compiler.compile(os.path.join(DATA, "lookup.onnx"))
        table = np.arange(6, dtype=np.float32).reshape(3, 2)
        with Runner(executable, RuntimeConfig(frozen_inputs={"ids": np.array([2, 0, 1, 2], np.int32)})) as runner:
            np.testing.assert_array_equal(runner.run({"table": table})["rows"], table[[2, 0, 1, 2]])
        for value, text in ((np.zeros(3, np.int64), r"frozen input 'ids': expected s64\[4\], given s64\[3\]"),
                            (np.zeros(4, np.float32), r"frozen input 'ids': expected s64\[4\], given f32\[4\]"),
                            (object(), "frozen input 'ids': expected an array")):
            with self.subTest(text), self.assertRaisesRegex(InvalidArgumentError, text):
                Runner(executable, RuntimeConfig(frozen_inputs={"ids": value}))

    def test_numbers_of_a_comparison(self):
        with self.assertRaisesRegex(ValueError, "no elements"):
            difference(np.zeros(0), np.zeros(0))
        found = difference(np.array([3.0, 4.0]), np.array([3.0, 5.0]))
        self.assertEqual((found["mse"], found["mae"], found["snr"]), (0.5, 0.5, 1 / 25))
        self.assertAlmostEqual(found["cosine_distance"], 1 - 29 / math.sqrt(25 * 34), 6)
        self.assertEqual((found["origin"]["min"], found["converted"]["max"], found["noise"]["mean"]), (3, 5, 0.5))
        self.assertEqual((found["origin"]["hist_edges"], sum(found["origin"]["hist"])), ([3, 4], 2))
        self.assertEqual(difference(np.full(3, 8.0), np.full(3, 8.0))["origin"]["hist_edges"], [4, 12])
        self.assertEqual(difference(np.zeros(3), np.zeros(3))["origin"]["hist_edges"], [-0.5, 0.5])
        self.assertEqual(difference(np.zeros(2), np.ones(2))["snr"], float("inf"))
        self.assertEqual([difference(np.zeros(2), b)["cosine_distance"] for b in (np.zeros(2), np.ones(2))], [0, 1])

    def test_distinct_inputs(self):
        floats = np.ones((2, 2), np.float32)
        self.assertIs(_distinct(floats, None), floats)
        np.testing.assert_array_equal(_distinct(np.zeros((2, 2), np.int64), None), [[0, 1], [2, 3]])


class Estimates(unittest.TestCase):
    def test_scenario_114_numbers_of_an_estimate(self):
        e = Compiler.estimate(AFFINE, None, CompilerOptions(input_shape={"x": [2, 4]}))
        found = json.loads(e.json())
        numbers = ("cycles", "milliseconds", "fits", "samples", "throughput", "period_milliseconds", "latency_milliseconds", "host_milliseconds",
                   "utilization")
        self.assertEqual({n: getattr(e, n) for n in numbers}, {n: found[n] for n in numbers})
        self.assertEqual(len({found[n] for n in numbers}), len(numbers))
        memory, = found["memory"]
        self.assertEqual((e.tile_bytes, e.available_bytes), (memory["bytes_with_gaps"], memory["available"]))
        for name in ("cycle", "memory", "host"):
            quality = found["quality"]["cycles" if name == "cycle" else name]
            self.assertEqual(getattr(e, name + "_quality")(), f"{quality['trust']}: error {quality['error']}")
        self.assertEqual(e.target(), found["target"]["name"])

    def test_scenario_125_an_estimate_of_the_command(self):
        for name, target in (("affine.onnx", "mk2"), ("linear.onnx", "bow")):
            model = os.path.join(os.path.dirname(AFFINE), name)
            e = Compiler.estimate(model, None, CompilerOptions(input_shape={"x": [2, 4]}, options={"estimate_target": target}))
            printed = subprocess.run([os.path.join(os.environ["POPRT_BUILD"], "bin", "poprt_exec"), "estimate", model, "--input_shape", "x=2,4",
                                      "--target", target, "--verbose", "--json"], stdout=subprocess.PIPE, check=True).stdout
            self.assertEqual(json.loads(e.json()), json.loads(printed))


@register("test_halves")
class Halves(Pass):
    """A pass in Python with an argument, which arrives as text."""

    def __init__(self, factor="1"):
        self.factor = factor

    def run(self, model):
        tensor = get_constant(model.graph, "b")
        tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor) * np.float32(self.factor), "b"))
        return model


class Passes(unittest.TestCase):
    def test_arguments_of_passes_in_python_are_separated_from_those_of_the_library(self):
        for given, left in (("test_halves.factor=4\nconstant_folding.size=3=4", "constant_folding.size=3=4"), ("test_halves.factor=4", None)):
            with mock.patch("poprt._conversion.convert_in_library", autospec=True, side_effect=lambda model, *_: model) as library:
                made = convert(m.add_model(), {"pass_args": given}, ["test_halves"])
            self.assertEqual(library.call_args.args[1].get("pass_args"), left)
            np.testing.assert_array_equal(get_constant_value(made.graph, "b"), [12, 12, 12])

    def test_a_pass_may_return_another_graph(self):
        class Other(Pass):
            name = "test_other"

            def run_transform(self, graph, is_main_graph):
                made = onnx.GraphProto()
                made.CopyFrom(graph)
                for n in made.node:
                    if n.op_type == "Add":
                        n.op_type = "Sub"
                return made

        model = m.add_model()
        self.assertEqual(m.op_types(Other().run(model)), ["Sub", "Sub"])
        self.assertEqual(m.op_types(model), ["Sub", "Sub"])
        body = onnx.helper.make_graph([node("Add", ["x", "x"], ["t"])], "then", [], [onnx.helper.make_tensor_value_info("t", m.FLOAT, [2])])
        inner = m.make([node("If", ["c"], ["y"], then_branch=body, else_branch=body)], {"x": [2], "c": ([], onnx.TensorProto.BOOL)}, {"y": [2]})
        made = Other().run(inner)
        self.assertEqual([n.op_type for a in made.graph.node[0].attribute for n in a.g.node], ["Sub", "Sub"])

    def test_wrong_names_and_arguments(self):
        for call, kind, text in ((lambda: register(""), TypeError, "the name of a pass is a text, found ''"),
                                 (lambda: register(None), TypeError, "the name of a pass is a text, found None"),
                                 (lambda: PassManager([3]), TypeError, "expected the name of a pass or a pass, found 3"),
                                 (lambda: Pass.get_pass(3), TypeError, "expected the name of a pass, found 3")):
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                call()
        info = next(i for i in poprt.passes.base_pass._builtin.infos() if i.parameters)
        name = info.parameters[0]["name"]
        with self.assertRaisesRegex(InvalidArgumentError, f"pass {info.name}: argument {name} is given twice"):
            Pass.get_pass(info.name, "1", **{name: "1"})

    def test_shape_functions(self):
        class Wrong(shape_inference.ShapeFunc):
            pass

        with self.assertRaisesRegex(NotImplementedError, r"Wrong must define __call__\(model, node\)"):
            Wrong()(None, None)
        self.assertEqual(repr(Wrong()), "<shape function Wrong>")


class Sessions(unittest.TestCase):
    def test_names_are_for_tensorflow_alone(self):
        session = get_session(AFFINE)
        for call, what in ((session.set_input_names, "inputs"), (session.set_output_names, "outputs")):
            with self.assertRaisesRegex(NotImplementedError, f"names of {what} are for back end tensorflow"):
                call(["x"])

    def test_several_ipus(self):
        session = get_session(AFFINE, num_ipus=2, batches_per_step=3)
        chosen = session._options["compiler_options"]
        self.assertEqual((chosen.num_ipus, chosen.batches_per_step), (2, 3))
        chosen = get_session(AFFINE, options={"num_ipus": 4})._options["compiler_options"]
        self.assertEqual((chosen.num_ipus, chosen.batches_per_step), (4, 1))

    def test_onnxruntime_gets_a_path_or_bytes(self):
        made = mock.Mock()
        with mock.patch.dict(sys.modules, onnxruntime=types.SimpleNamespace(InferenceSession=made)):
            for model, wanted in ((pathlib.Path(AFFINE), AFFINE), (AFFINE, AFFINE), (m.add_model(), m.add_model().SerializeToString())):
                get_session(model, backend="onnxruntime").load()
                self.assertEqual(made.call_args, mock.call(wanted, providers=["CPUExecutionProvider"]))


class Descriptions(unittest.TestCase):
    """Every setter of a description of PopEF changes what its getter returns, and nothing else."""

    VALUES = {"Name": "n", "Handle": "h", "TensorInfo": popef.TensorInfo(popef.DataType.S32, [3]), "NumTensors": 7,
              "Load": [1], "Main": [2], "Save": [3], "Type": popef.TensorType.OUTPUT, "Programs": [4], "IsPerReplica": True,
              "DataType": popef.DataType.S8, "Shape": [9]}

    def test_every_setter(self):
        for kind in (popef.TensorInfo, popef.TensorDataInfo, popef.FeedDataInfo, popef.ProgramFlow, popef.Anchor):
            setters = [name for name in dir(kind) if name.startswith("set")]
            self.assertTrue(setters)
            for setter in setters:
                made = kind()
                getters = {s: getattr(made, s[3].lower() + s[4:]) for s in setters}
                before = {s: get() for s, get in getters.items()}
                getattr(made, setter)(self.VALUES[setter[3:]])
                changed = {s for s, get in getters.items() if get() != before[s]}
                self.assertEqual(changed, {setter}, kind)
                self.assertEqual(getters[setter](), self.VALUES[setter[3:]])

    def test_texts_name_the_values(self):
        self.assertEqual(repr(popef.Option("a", "b")), "Option(name='a', value='b')")
        self.assertIn("shape=[9]", repr(popef.TensorInfo(popef.DataType.S8, [9])))
        self.assertEqual(popef.TensorInfo(popef.DataType.S32, [3, 2]).sizeInBytes(), 24)


if __name__ == "__main__":
    unittest.main()
