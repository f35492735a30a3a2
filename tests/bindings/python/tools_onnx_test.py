"""examples/tools: each script as PopRT's users call it, and its errors."""

import csv
import os
import subprocess
import sys
import tempfile
import unittest

import numpy as np
import onnx
import onnx_models as m
import poprt
from onnx_models import node

TOOLS = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../examples/tools"))
RNG = np.random.default_rng(3)
W, V = RNG.standard_normal((4, 5)).astype(np.float32), RNG.standard_normal((5, 3)).astype(np.float32)

# The part of ONNX Runtime that the tools use, implemented with NumPy.
ONNXRUNTIME = '''
import types
import numpy as np
import onnx
from onnx import numpy_helper


class InferenceSession:
    def __init__(self, model, providers):
        self.graph = (onnx.load_from_string(model) if isinstance(model, bytes) else onnx.load(model)).graph

    def _values(self, values):
        names = {1: "tensor(float)", 10: "tensor(float16)"}
        return [types.SimpleNamespace(name=v.name, type=names[v.type.tensor_type.elem_type],
                                      shape=[d.dim_value for d in v.type.tensor_type.shape.dim]) for v in values]

    def get_inputs(self):
        return self._values(self.graph.input)

    def get_outputs(self):
        return self._values(self.graph.output)

    def run(self, names, feeds):
        known = {**{t.name: numpy_helper.to_array(t) for t in self.graph.initializer}, **feeds}
        functions = {"MatMul": np.matmul, "Relu": lambda x: np.maximum(x, 0), "Add": np.add}
        for n in self.graph.node:
            known[n.output[0]] = functions[n.op_type](*[known[i] for i in n.input])
        return [known[name] for name in names]
'''


def perceptron(second=V):
    """y = relu(x W) V."""
    return m.make([node("MatMul", ["x", "w"], ["h"], name="first"), node("Relu", ["h"], ["r"]), node("MatMul", ["r", "v"], ["y"], name="last")],
                  {"x": [2, 4]}, {"y": [2, 3]}, {"w": W, "v": second}, opset=11)


class Tools(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        onnx.save(perceptron(), self.path("m.onnx"))
        with open(self.path("onnxruntime.py"), "w", encoding="utf-8") as file:
            file.write(ONNXRUNTIME)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_tool(self, name, *words, fails=0):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([self.folder, os.environ.get("PYTHONPATH", "")]),
                       "PATH": os.pathsep.join([os.path.join(os.environ["POPRT_BUILD"], "bin"), os.environ["PATH"]])}
        ran = subprocess.run([sys.executable, os.path.join(TOOLS, name), *words], cwd=self.folder, env=environment, text=True,
                             capture_output=True, check=False)
        self.assertEqual(ran.returncode, fails, ran.stderr)
        return ran.stderr if fails else ran.stdout

    def test_all_eight_and_the_sample_say_how_they_are_used(self):
        names = sorted(name for name in os.listdir(TOOLS) if name.endswith(".py"))
        self.assertEqual(len(names), 9)
        for name in names:
            self.assertIn("usage", self.run_tool(name, "--help").lower(), name)

    def test_export_popef_refuses_open_dimensions_in_one_line(self):
        digits = os.path.join(TOOLS, "../digits/digits.onnx")
        result = subprocess.run([sys.executable, os.path.join(TOOLS, "export_popef.py"), "--onnx_model", digits], text=True, capture_output=True,
                                check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1), result.stderr)
        self.assertTrue(result.stderr.startswith("export_popef.py: input 'image' has an open dimension; "), result.stderr)

    def test_export_popef(self):
        self.run_tool("export_popef.py", "--onnx_model", "m.onnx")
        executable = poprt.Executable(self.path("m.popef"))
        recorded = {o.name(): o.value() for o in executable.popef_model().metadata.engineOptions()}
        self.assertEqual({n: recorded[n] for n in ("batches_per_step", "num_io_tiles", "group_host_sync", "partials_type", "stream_buffering_depth")},
                         {"batches_per_step": "1000", "num_io_tiles": "192", "group_host_sync": "True", "partials_type": "float",
                          "stream_buffering_depth": "2"})
        self.run_tool("export_popef.py", "--onnx_model", "m.onnx", "--popef_path", "e.popef", "--batches_per_step", "1", "--num_io_tiles", "0",
                      "--skip_convert")
        x = RNG.standard_normal((2, 4)).astype(np.float32)
        np.testing.assert_allclose(poprt.Runner(self.path("e.popef")).run({"x": x})["y"], np.maximum(x @ W, 0) @ V, rtol=1e-4, atol=1e-5)

    def test_calc_ipu_utilization(self):
        """10^9 operations in 10^6 cycles of 1.5 GHz are 1.5 TFLOPS; on two IPUs of 1.85 GHz they are 0.925 TFLOPS on each."""
        self.assertEqual(self.run_tool("calc_ipu_utilization.py", "-c", "1000000", "-f", "1e9"), "1.5 TFLOPS\n")
        self.assertEqual(self.run_tool("calc_ipu_utilization.py", "-c", "1000000", "-f", "1e9", "-n", "2", "-p", "Bow2000"), "0.925 TFLOPS\n")
        self.assertIn("expected a number above 0", self.run_tool("calc_ipu_utilization.py", "-c", "0", "-f", "1", fails=2))

    def test_extract_onnx(self):
        words = ["--src_onnx", "m.onnx", "--input_names"]
        self.run_tool("extract_onnx.py", "--dst_onnx", "part.onnx", *words, "h", "--output_names", "y")
        part = onnx.load(self.path("part.onnx"))
        self.assertEqual(([v.name for v in part.graph.input], m.op_types(part)), (["h"], ["Relu", "MatMul"]))
        for names, why in ((["h", "--output_names", "none"], "no tensor 'none'"), (["r", "--output_names", "h", "y"], "the outputs need 'x' besides")):
            printed = self.run_tool("extract_onnx.py", "--dst_onnx", "none.onnx", *words, *names, fails=1)
            self.assertIn(why, printed)
            self.assertEqual((printed.count("\n"), os.path.exists(self.path("none.onnx"))), (1, False))

    def test_half_to_float(self):
        onnx.save(poprt.Converter(precision="fp16").convert(perceptron()), self.path("half.onnx"))
        self.run_tool("half_to_float.py", "--fp16_model", "half.onnx", "--fp32_model", "float.onnx")
        wide = onnx.load(self.path("float.onnx"))
        onnx.checker.check_model(wide, full_check=True)
        self.assertEqual(m.op_types(wide), ["Cast", "MatMul", "Relu", "MatMul", "Cast"])
        self.assertEqual({t.data_type for t in wide.graph.initializer}, {onnx.TensorProto.FLOAT})
        x = {"x": RNG.standard_normal((2, 4)).astype(np.float16)}
        found, expected = (poprt.Runner(poprt.Compiler.compile(self.path(name))).run(x)["y"] for name in ("float.onnx", "half.onnx"))
        self.assertEqual(found.dtype, np.float16)
        np.testing.assert_allclose(found.astype(np.float32), expected.astype(np.float32), rtol=1e-2, atol=1e-2)

    def test_half_to_float_in_the_graphs_of_nodes(self):
        """A branch reads values of the outer graph, and an input is also an output."""
        half = m.FLOAT16
        branches = {name: onnx.helper.make_graph([node(op, ["x"], [name])], name, [], [onnx.helper.make_tensor_value_info(name, half, [2])])
                    for name, op in (("t", "Relu"), ("e", "Neg"))}
        model = m.make([node("If", ["c"], ["y"], then_branch=branches["t"], else_branch=branches["e"])],
                       {"x": ([2], half), "c": ([], onnx.TensorProto.BOOL)}, {"y": ([2], half)})
        onnx.save(model, self.path("half.onnx"))
        self.run_tool("half_to_float.py", "--fp16_model", "half.onnx", "--fp32_model", "float.onnx")
        onnx.checker.check_model(onnx.load(self.path("float.onnx")), full_check=True)
        feeds = {"x": np.array([-1, 2], np.float16), "c": np.array(False)}
        np.testing.assert_array_equal(poprt.Runner(poprt.Compiler.compile(self.path("float.onnx"))).run(feeds)["y"], [1, -2])

    def test_run_with_ort(self):
        self.assertEqual(self.run_tool("run_with_ort.py", "--model", "m.onnx"), "y: float32 [2, 3]\n")
        self.assertEqual(self.run_tool("run_with_ort.py", "--model", "m.onnx", "--print").count("\n"), 3)

    def test_debug_numeric_issue(self):
        """The second product of the converted model is doubled, so the difference is the result of the source."""
        changed = perceptron(2 * V)
        onnx.save(changed, self.path("c.onnx"))
        words = ["--src_onnx", "m.onnx", "--dst_onnx", "c.onnx", "--input_func"]
        printed = self.run_tool("debug_numeric_issue.py", *words, "x=ones").splitlines()
        result = np.abs(np.maximum(np.ones((2, 4)) @ W, 0) @ V)
        self.assertEqual([line.split(":")[0] for line in printed], ["h", "y"])
        numbers = [[float(word) for word in line.split(": ")[1].split()[1::2]] for line in printed]
        np.testing.assert_allclose(numbers, [[0, 0, 0], [result.max(), result.min(), result.mean()]], rtol=1e-4, atol=1e-5)
        self.assertEqual(len(self.run_tool("debug_numeric_issue.py", *words, "x=zeros", "--every_n", "2").splitlines()), 1)
        variable = onnx.load(self.path("m.onnx"))
        variable.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        del variable.graph.value_info[:]
        variable.graph.output[0].type.tensor_type.shape.dim[0].dim_param = "N"
        onnx.save(variable, self.path("variable.onnx"))
        self.assertEqual(self.run_tool("debug_numeric_issue.py", "--src_onnx", "variable.onnx", *words[2:], "x=ones").splitlines(), printed)
        self.assertEqual(self.run_tool("debug_numeric_issue.py", *words, "x=rand", "--op_type", "Relu").split(":")[0], "r")
        self.assertIn("no result of Conv", self.run_tool("debug_numeric_issue.py", *words, "x=rand", "--op_type", "Conv", fails=1))
        self.assertIn("found 'x=many'", self.run_tool("debug_numeric_issue.py", *words, "x=many", fails=2))

    def test_auto_sharding(self):
        self.run_tool("auto_sharding.py", "--input_model", "m.onnx", "--num_ipus", "2")
        self.assertIn(b"__ipu_number", onnx.load(self.path("m.auto_sharded.onnx")).SerializeToString())

    def test_model_debugger(self):
        self.assertIn("first", self.run_tool("model_debugger.py", "print", "--model", "m.onnx", "--level", "node"))
        np.save(self.path("x.npy"), np.ones((2, 4), np.float32))
        compared = self.run_tool("model_debugger.py", "compare", "--src_model", "m.onnx", "--src_backend", "poprt", "--dst_model", "m.onnx",
                                 "--input_data", "x=x.npy")
        self.assertIn("y", compared)

    def test_analyze_fp8(self):
        """The tool tries all scales, and then keeps the worst layers in fp16, one after the other."""
        os.mkdir(self.path("val"))
        x = RNG.standard_normal((40, 4)).astype(np.float32)
        np.savez(self.path("val/data.npz"), x=x, labels=(np.maximum(x @ W, 0) @ V).argmax(axis=1))
        words = ["--model_path", "m.onnx", "--val_dir", "val", "--output_path", "out", "--batch_size", "2", "--input_shapes", "x=2,4"]
        self.run_tool("analyze_fp8.py", *words, "--default_skip_layer", "last")
        with open(self.path("out/m.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(list(rows[0]), ["scale", "skip_layer", "accuracy"])
        self.assertEqual([row["scale"] for row in rows[:8]], [str(scale) for scale in range(-5, 3)])
        self.assertEqual({row["skip_layer"] for row in rows[:8]}, {"last"})
        self.assertEqual([row["skip_layer"] for row in rows[8:]], ["last,first"])
        self.assertGreaterEqual(max(float(row["accuracy"]) for row in rows), 0.9)
        os.remove(self.path("val/data.npz"))
        self.assertIn("no .npz", self.run_tool("analyze_fp8.py", *words, fails=1))


if __name__ == "__main__":
    unittest.main()
