"""poprt_exec debug: compare, modify, extract and print."""

import json
import math
import os
import random
import statistics
import struct
import subprocess
import sys
import unittest
from unittest import mock

import onnx_writer as w
from support import CommandTest

# Replaces ONNX Runtime: every output is the first input plus 1.
ORT = b'''import json
class SessionOptions:
    pass
class Value:
    def __init__(self, name, type):
        self.name, self.type = name, type
class InferenceSession:
    def __init__(self, model, options, providers):
        assert providers == ["CPUExecutionProvider"]
    def get_inputs(self):
        return [Value("x", "tensor(float)")]
    def get_outputs(self):
        return [Value("y", "tensor(float)")]
    def run(self, names, feeds):
        return [feeds["x"] + 1 for _ in names]
'''


def python_with_numpy():
    """An interpreter of Python that has NumPy, or None."""
    for path in (os.environ.get("POPRT_ONNX_PYTHON"), sys.executable, "/usr/bin/python3"):
        if path and os.path.exists(path) and subprocess.run([path, "-c", "import numpy"], capture_output=True).returncode == 0:
            return path
    return None


PYTHON = python_with_numpy()


def npy(values, shape):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


class DebugTest(CommandTest):
    command = "poprt_exec debug"

    def fails(self, words, *facts, code=1):
        """Errors begin with the name of the sub-command."""
        with mock.patch.object(self, "command", " ".join([self.command, *words[:1]])):
            return super().fails(words[1:], *facts, code=code)

    def setUp(self):
        super().setUp()
        for name, factor in (("one", 2.0), ("two", 2.5)):
            self.write(name + ".onnx", w.model(
                [w.node("Mul", ["x", "scale"], ["m"]), w.node("Relu", ["m"], ["r/0"]), w.node("Add", ["r/0", "b"], ["y"])],
                [w.value("x", w.F32, [2, 2])], [w.value("y", w.F32, [2, 2])],
                [w.floats("scale", [1], [factor]), w.floats("b", [2], [1.0, 1.0])]))
        self.write("x.npy", npy([1, -1, 2, 4], [2, 2]))

    def ops(self, name):
        printed = json.loads(self.succeeds(name, "--json", command="poprt_exec flops"))
        return [node["op_type"] for node in printed["nodes"]]


class Compare(DebugTest):
    WORDS = ["compare", "--src_model", "one.onnx", "--dst_model", "two.onnx", "--src_backend", "poprt", "--input_data"]

    def test_outputs_by_every_method(self):
        rows = json.loads(self.succeeds(*self.WORDS, "x=x.npy", "--compare_method", "mse,rmse,mae, mape,r2", "--json"))
        a, b = [3, 1, 5, 9], [3.5, 1, 6, 11]
        mse = sum((p - q) ** 2 for p, q in zip(a, b)) / 4
        spread = sum((p - 4.5) ** 2 for p in a)
        expected = {"mse": mse, "rmse": mse ** 0.5, "mae": sum(abs(p - q) for p, q in zip(a, b)) / 4,
                    "mape": sum(abs(p - q) / p for p, q in zip(a, b)) / 4 * 100, "r2": 1 - 4 * mse / spread}
        self.assertEqual([(r["src"], r["dst"], r["shape"]) for r in rows], [("y", "y", [2, 2])])
        for method, value in expected.items():
            self.assertAlmostEqual(rows[0][method], value, 6)

    def test_metrics_of_random_data(self):
        generator = random.Random(9)
        x = [generator.randrange(1, 400) / 16 for _ in range(4)]
        self.write("x.npy", npy(x, [2, 2]))
        a, b = [2 * v + 1 for v in x], [2.5 * v + 1 for v in x]
        noise = [p - q for p, q in zip(a, b)]
        mse = statistics.fmean(d * d for d in noise)
        expected = {"mse": mse, "rmse": math.sqrt(mse), "mae": statistics.fmean(map(abs, noise)),
                    "mape": 100 * statistics.fmean(abs(d) / p for d, p in zip(noise, a)), "r2": 1 - mse / statistics.pvariance(a)}
        rows = json.loads(self.succeeds(*self.WORDS, "x=x.npy", "--compare_method", ",".join(expected), "--json"))
        shown = self.succeeds(*self.WORDS, "x=x.npy", "--compare_method", ",".join(expected))
        for method, value in expected.items():
            self.assertAlmostEqual(rows[0][method], value, 4)
            self.assertIn(f"    {method} - diff: {rows[0][method]:g}\n", shown)
        same = json.loads(self.succeeds(*self.WORDS, "x=zeros", "--compare_method", ",".join(expected), "--json"))[0]
        self.assertEqual([same[method] for method in expected], [0, 0, 0, 0, 1])

    def test_all_tensors_and_text(self):
        out = self.succeeds(*self.WORDS, "x=ones", "--mark_outputs", "all")
        self.assertEqual(out.splitlines(), [line for name, rel in (("m", "0.25"), ("r/0", "0.25"), ("y", "0.166667"))
                                            for line in (f"{name} - shape: [2,2]", f"    rel - diff: {rel}", "    mse - diff: 0.25")])
        self.assertEqual(self.succeeds(*self.WORDS, "x=zeros", "--mark_outputs", "m").splitlines(),
                         ["m - shape: [2,2]", "    rel - diff: 0", "    mse - diff: 0"])
        self.assertEqual(self.succeeds(*self.WORDS, "x=rand", "--json"), self.succeeds(*self.WORDS, "x=rand", "--json"))

    def test_names_that_differ(self):
        self.write("three.onnx", w.model([w.node("Relu", ["in"], ["out"])], [w.value("in", w.F32, [2, 2])],
                                         [w.value("out", w.F32, [2, 2])]))
        words = ["compare", "--src_model", "one.onnx", "--dst_model", "three.onnx", "--src_backend", "poprt", "--input_data", "x=x.npy"]
        rows = json.loads(self.succeeds(*words, "--mark_io_mapping", "x=in", "m=out", "--json"))
        self.assertEqual([(r["src"], r["dst"], r["mse"]) for r in rows], [("m", "out", (1 + 4 + 4 + 16) / 4)])
        self.misused(words, "no output in common")
        self.misused([*words, "--mark_io_mapping", "m=none"], "'none'")

    def test_data_is_dumped(self):
        before = set(self.tree())
        self.succeeds(*self.WORDS, "x=x.npy")
        self.assertEqual(set(self.tree()), before, "nothing without the option")
        self.succeeds(*self.WORDS, "x=x.npy", "--mark_outputs", "r/0", "--dump_data", "--dump_dir", "d")
        self.assertEqual(sorted(f for f in self.tree() if f.startswith("d/")), ["d/r_0_dst.npy", "d/r_0_src.npy"])
        self.assertEqual(struct.unpack("<4f", self.tree()["d/r_0_src.npy"][-16:]), (2, 0, 4, 8))

    def test_dumped_files_have_different_names(self):
        self.write("near.onnx", w.model([w.node(op, ["x"], [name]) for op, name in (("Neg", "a/b"), ("Abs", "a_b"), ("Relu", "a_b_2"))],
                                        [w.value("x", w.F32, [1])], [w.value(name, w.F32, [1]) for name in ("a/b", "a_b", "a_b_2")]))
        self.npy("one.npy", "f4", [1], [1])
        self.succeeds("compare", "--src_model", "near.onnx", "--dst_model", "near.onnx", "--input_data", "x=one.npy", "--dump_data",
                      "--dump_dir", "d", "--mark_outputs", "all")
        first = {name: struct.unpack("<f", data[-4:]) for name, data in self.tree().items() if name.endswith("_src.npy")}
        self.assertEqual(first, {"d/a_b_src.npy": (-1,), "d/a_b_2_src.npy": (1,), "d/a_b_2_2_src.npy": (1,)})

    def test_shapes_that_differ_exit_with_1(self):
        self.write("wide.onnx", w.model([w.node("Concat", ["x", "x"], ["y"], axis=0)], [w.value("x", w.F32, [2, 2])],
                                        [w.value("y", w.F32, [4, 2])]))
        ran = self.run_command("compare", "--src_model", "one.onnx", "--dst_model", "wide.onnx", "--src_backend", "poprt",
                               "--input_data", "x=ones")
        self.assertEqual((ran.code, ran.out), (1, "y - shapes differ: [2,2] and [4,2] (y)\n"))

    def test_wrong_words(self):
        self.misused([*self.WORDS, "z=ones"], "'z' is not an input of 'one.onnx'")
        self.misused([*self.WORDS, "x=ones", "--mark_outputs", "none"], "'none' is not in both models")
        self.misused([*self.WORDS, "x=ones", "--compare_method", "psnr"], "expected rel or mse or rmse or mae or mape or r2, found 'psnr'")
        self.misused([*self.WORDS, "x=ones", "--dst_backend", "torch"], "expected onnxruntime or poprt, found 'torch'")
        self.misused([*self.WORDS, "x=ones", "--dst_backend", "tensorflow"], "--framework tensorflow")
        self.misused(self.WORDS[:-1], "input 'x' (f32[2,2]) is missing")
        self.fails([*self.WORDS, "x=twos"], "expected zeros, ones, rand or a .npy file", "'twos'")
        self.write("short.npy", npy([1], [1]))
        self.fails([*self.WORDS, "x=short.npy"], "expected [2,2] (4 elements), 'short.npy' contains [1]")
        self.misused(["compare"], "--src_model", "; see poprt_exec debug compare --help")

    @unittest.skipUnless(PYTHON, "no Python with NumPy")
    def test_onnxruntime_in_python(self):
        words = ["onnxruntime" if w == "poprt" else w for w in self.WORDS]
        os.mkdir(self.path("packages"))
        self.write("packages/onnxruntime.py", ORT)
        self.write("json.py", b"raise SystemExit(5)\n")
        with mock.patch.dict(os.environ, {"POPRT_PYTHON": PYTHON, "PYTHONPATH": self.path("packages")}):
            rows = json.loads(self.succeeds(*words, "x=x.npy", "--json"))
            self.assertEqual(rows[0]["mse"], ((2 - 3.5) ** 2 + (0 - 1) ** 2 + (3 - 6) ** 2 + (5 - 11) ** 2) / 4)
            self.write("packages/onnxruntime.py", b"def InferenceSession(*a, **b): raise ValueError('no\\nmodel')\nclass SessionOptions: pass\n")
            self.fails([*words, "x=x.npy"], "back end onnxruntime: no model")
            self.write("packages/onnxruntime.py", b"raise ImportError('x', name='onnxruntime')\n")
            self.fails([*words, "x=x.npy"], "pip install onnxruntime, or choose back end poprt")
        with mock.patch.dict(os.environ, {"POPRT_PYTHON": "no_such_python"}):
            self.fails([*words, "x=x.npy"], "back end onnxruntime: cannot start no_such_python")


class Modify(DebugTest):
    def test_weights_get_values(self):
        self.write("new.npy", npy([3], [1]))
        self.succeeds("modify", "--src_model", "one.onnx", "--update", "scale=new.npy", "b=zeros")
        self.assertIn("one.onnx.updated.onnx", self.tree())
        self.assertIn("Value: [3]", self.succeeds("print", "--model", "one.onnx.updated.onnx", "--name", "^scale$"))
        self.assertIn("Value: [0, 0]", self.succeeds("print", "--model", "one.onnx.updated.onnx", "--name", "^b$"))
        self.assertEqual(self.ops("one.onnx.updated.onnx"), ["Mul", "Relu", "Add"])

    def test_random_values(self):
        """Floats are uniform from 0 to 1, others are 0 or 1; the name of a tensor determines its values, which are the same each time."""
        count = 1000
        self.write("many.onnx", w.model(
            [w.node("Identity", [n], [n + "y"]) for n in "abc"], [w.value("a", w.F32, [count]), w.value("b", w.F32, [count]), w.value("c", w.S32, [count])],
            [w.value(n + "y", w.S32 if n == "c" else w.F32, [count]) for n in "abc"]))
        words = ["modify", "--model", "many.onnx", "--update", "a=rand", "b=rand", "c=rand", "--output_model"]
        self.succeeds(*words, "one_time.onnx")
        self.succeeds(*words, "again.onnx")
        self.assertEqual(self.tree()["one_time.onnx"], self.tree()["again.onnx"])
        found = {}
        for name in "abc":
            text = self.succeeds("print", "--model", "again.onnx", "--name", f"^{name}$")
            found[name] = [float(v) for v in text.split("Value: [")[1].split("]")[0].split(", ")]
            self.assertEqual(len(found[name]), count)
            self.assertAlmostEqual(statistics.fmean(found[name]), 0.5, delta=0.05)
        for name in "ab":
            self.assertGreaterEqual(min(found[name]), 0)
            self.assertLessEqual(max(found[name]), 1)
            self.assertAlmostEqual(statistics.pstdev(found[name]), 1 / math.sqrt(12), delta=0.02)
        self.assertNotEqual(found["a"], found["b"])
        self.assertEqual(set(found["c"]), {0, 1})

    def test_inputs_become_constants(self):
        self.succeeds("modify", "--model", "one.onnx", "--update", "x=x.npy", "--output_model", "fixed.onnx")
        self.assertEqual(self.succeeds("-i", "fixed.onnx", "--show", command="poprt").count("input"), 0)
        self.assertIn("Value: [1, -1, 2, 4]", self.succeeds("print", "--model", "fixed.onnx", "--name", "^x$"))

    def test_a_part_is_extracted(self):
        for words in (["modify", "--src_model", "one.onnx", "--extract", "input_names=m", "output_names=r/0", "--output_model", "p.onnx"],
                      ["extract", "--src_onnx", "one.onnx", "--input_names", "m", "--output_names", "r/0", "--dst_onnx", "p.onnx"]):
            self.succeeds(*words)
            self.assertEqual(self.ops("p.onnx"), ["Relu"])
            shown = self.succeeds("-i", "p.onnx", "--show", command="poprt")
            self.assertIn("input m: dtype - f32, shape - [2, 2]", shown)
            self.assertIn("output r/0: dtype - f32, shape - [2, 2]", shown)
            os.remove(self.path("p.onnx"))

    def test_extract_keeps_other_needed_inputs(self):
        self.succeeds("extract", "--model", "one.onnx", "--output_names", "m,", "r/0", "--output_model", "p.onnx")
        self.assertEqual(self.ops("p.onnx"), ["Mul", "Relu"])
        self.assertIn("input x", self.succeeds("-i", "p.onnx", "--show", command="poprt"))

    def test_sort(self):
        self.write("mixed.onnx", w.model([w.node("Relu", ["a"], ["y"]), w.node("Neg", ["x"], ["a"])], [w.value("x", w.F32, [2])],
                                         [w.value("y", w.F32, [2])]))
        self.succeeds("modify", "--model", "mixed.onnx", "--sort", "--output_model", "sorted.onnx")
        data = self.tree()["sorted.onnx"]
        self.assertLess(data.index(b"Neg"), data.index(b"Relu"))

    def test_wrong_words(self):
        self.misused(["modify", "--model", "one.onnx"], "there is no change to make")
        self.misused(["modify", "--model", "one.onnx", "--update", "none=ones"], "no tensor 'none'")
        self.misused(["modify", "--model", "one.onnx", "--update", "m=ones"], "'m' is computed by Mul", "only weights and inputs")
        self.misused(["modify", "--model", "one.onnx", "--extract", "inputs=m", "output_names=y"], "expected input_names=")
        self.misused(["extract", "--model", "one.onnx", "--output_names", "none"], "no tensor 'none'")
        self.misused(["extract", "--model", "one.onnx", "--input_names", "y", "--output_names", "m"], "no output needs 'y'")
        self.misused(["extract", "--model", "one.onnx", "--input_names", "m", "--output_names", "m"], "both an input and an output of the part")
        self.misused(["modify", "--model", "one.onnx", "--sort", "--output_model", "one.onnx"], "is the same file as 'one.onnx'")
        self.fails(["modify", "--model", "none.onnx", "--sort"], "none.onnx")


class Print(DebugTest):
    def test_levels(self):
        model = self.succeeds("print", "--src_model", "one.onnx")
        for line in ("Model metadata:", "  opset ai.onnx: 17", "Model inputs:", "  x: f32[2,2]", "Model outputs:", "  y: f32[2,2]"):
            self.assertIn(line, model.splitlines())
        graph = self.succeeds("print", "--src_model", "one.onnx", "--level", "graph")
        self.assertEqual(graph.splitlines(), ["Model graph: graph", "  Node: node_m", "  Node: node_r/0", "  Node: node_y"])
        node = self.succeeds("print", "--src_model", "one.onnx", "--level", "node")
        self.assertIn("    Op type: Mul\n    Inputs: x, scale\n    Outputs: m\n", node)
        tensor = self.succeeds("print", "--src_model", "one.onnx", "--level", "tensor")
        self.assertIn("      scale: f32[1], constant\n", tensor)
        self.assertIn("      r/0: f32[2,2]\n", tensor)

    def test_names_are_regular_expressions(self):
        self.assertEqual(self.succeeds("print", "--model", "one.onnx", "--name", "^(scale|b)$"),
                         "Tensor: scale\n  f32[1], constant\n  Value: [2]\nTensor: b\n  f32[2], constant\n  Value: [1, 1]\n")
        self.assertIn("Op type: Relu", self.succeeds("print", "--model", "one.onnx", "--name", "node_r"))
        self.misused(["print", "--model", "one.onnx", "--name", "nothing"], "no node and no tensor")
        self.misused(["print", "--model", "one.onnx", "--name", "("], "not a regular expression")
        self.misused(["print", "--model", "one.onnx", "--level", "all"], "model or graph or node or tensor")
        self.misused([], "expected a command, found none")


if __name__ == "__main__":
    unittest.main()
