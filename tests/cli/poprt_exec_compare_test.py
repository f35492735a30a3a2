"""poprt_exec compare: outputs against references."""

import json
import math
import os
import random
import shutil
import struct
import unittest

import onnx_writer as onnx
from support import DIGITS, CommandTest, model

X = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]
Y = [0.0, 0.0, 0.0, 1.0, 2.0, 3.0]


def rounded(values):
    """The values rounded to float32."""
    return list(struct.unpack(f"<{len(values)}f", struct.pack(f"<{len(values)}f", *values)))


class Compare(CommandTest):
    command = "poprt_exec compare"

    def setUp(self):
        super().setUp()
        self.npy("x.npy", "f4", [2, 3], X)
        self.npy("y.npy", "f4", [2, 3], Y)

    def compare(self, reference, *words):
        return self.run_command(model("relu"), "--input", "x=x.npy", "--reference", f"y={reference}", *words)

    def test_agrees(self):
        result = self.compare("y.npy")
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("agrees  y: 0 of 6", result.out)

    def test_differs(self):
        self.npy("off.npy", "f4", [2, 3], [0.0, 0.0, 0.0, 1.0, 2.5, 3.0])
        result = self.compare("off.npy")
        self.assertEqual((result.code, result.err), (1, ""))
        self.assertIn("DIFFERS y: 1 of 6", result.out)

    def open_model(self):
        self.write("open.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, ["n", 3])],
                                           [onnx.value("y", onnx.F32, ["n", 3])]))
        return "open.onnx"

    def test_files_of_a_model_with_variable_dimensions(self):
        """A missing file and a misspelt name are not reported as variable dimensions."""
        words = [self.open_model(), "--reference", "y=y.npy", "--input"]
        self.assertIn("agrees  y: 0 of 6", self.succeeds(*words, "x=x.npy"))
        self.fails([*words, "x=none.npy"], "'none.npy'", "No such file")
        self.fails([*words, "X=x.npy"], "the model has no input 'X'; it has: x")

    def test_a_folder_that_is_no_data_set(self):
        for name in (self.open_model(), model("relu")):
            os.makedirs(self.path("sets/test_data_set_0"), exist_ok=True)
            self.fails([name, "--data_set", "sets"], "--data_set: there is no input_0.pb in 'sets'\n")
            self.tensor_pb("sets/test_data_set_0/input_0.pb", 1, [2, 3], struct.pack("<6f", *X))
            self.fails([name, "--data_set", "sets/test_data_set_0"], "there is no output_0.pb in 'sets/test_data_set_0'")
            self.tensor_pb("sets/test_data_set_0/output_0.pb", 1, [2, 3], struct.pack("<6f", *Y))
            self.fails([name, "--data_set", "sets"], "no input_0.pb in 'sets'; there is one in 'sets/test_data_set_0'")
            self.assertIn("agrees", self.succeeds(name, "--data_set", "sets/test_data_set_0"))
            shutil.rmtree(self.path("sets"))

    def test_models_of_a_fused_one(self):
        self.write("c.yaml", f"output_dir: .\nexport_popef: True\nmodel_fusion:\n- input_model: {model('relu')}\n"
                             f"- input_model: {model('relu')}\n".encode())
        self.succeeds("--config_yaml", "c.yaml", command="poprt")
        self.npy("off.npy", "f4", [2, 3], [-v for v in X])
        self.npy("neg.npy", "f4", [2, 3], [max(-v, 0.0) for v in X])
        words = ["executable.popef", "--input", "graph0/x=x.npy", "graph1/x=off.npy", "--reference", "graph0/y=y.npy"]
        both = self.succeeds(*words, "graph1/y=neg.npy")
        self.assertIn("agrees  graph0/y: 0 of 6", both)
        self.assertIn("agrees  graph1/y: 0 of 6", both)
        differs = self.run_command(*words, "graph1/y=y.npy")
        self.assertEqual((differs.code, differs.err), (1, ""))
        self.assertIn("DIFFERS graph1/y", differs.out)
        self.fails(["executable.popef", "--input", "graph0/x=x.npy", "--reference", "graph1/y=y.npy"], "without given inputs", "graph1/NAME")
        self.fails(["executable.popef", "--input", "graph0/x=x.npy", "--reference", "graph2/y=y.npy"], "no output 'graph2/y'")
        self.fails(["executable.popef", "--input", "x=x.npy", "--reference", "graph0/y=y.npy"], "no input 'x'")

    def test_a_model_at_several_shapes_takes_any(self):
        popef = self.popef(DIGITS, "--input_shape", "image=2,1,8,8/8,1,8,8")
        for rows in (1, 2, 5, 8):
            one = self.popef(DIGITS, "--input_shape", f"image={rows},1,8,8")
            self.npy("i.npy", "f4", [rows, 1, 8, 8], [(k * 37 % 101) / 101 for k in range(rows * 64)])
            self.succeeds(one, "--input", "image=i.npy", "--output", "scores=s.npy", command="poprt_exec run")
            self.assertIn("agrees  scores", self.succeeds(popef, "--input", "image=i.npy", "--reference", "scores=s.npy"))
        self.npy("i.npy", "f4", [9, 1, 8, 8], [0.0] * 9 * 64)
        self.fails([popef, "--input", "image=i.npy", "--reference", "scores=s.npy"], "1 to 8")
        self.npy("i.npy", "f4", [3, 1, 8, 8], [0.0] * 3 * 64)
        self.fails([popef, "--input", "image=i.npy", "--reference", "scores=s.npy"], "f32[3,10]", "[8,10]")

    def test_a_size_that_depends_on_data_is_that_of_the_reference(self):
        self.npy("z.npy", "i8", [2, 4], [0, 1, 1, 1, 0, 0, 1, 2])
        words = [model("nonzero"), "--input", "x=in.npy", "--reference"]
        self.npy("in.npy", "f4", [2, 3], [1.0, 0.0, 0.0, 2.0, 3.0, 4.0])
        self.assertIn("agrees  at: 0 of 8", self.succeeds(*words, "at=z.npy"))
        self.npy("off.npy", "i8", [2, 4], [0, 1, 1, 1, 0, 1, 1, 2])
        self.assertIn("DIFFERS at: 1 of 8", self.run_command(*words, "at=off.npy").out)
        self.npy("short.npy", "i8", [2, 3], [0, 1, 1, 0, 0, 1])
        self.assertIn("its reference has shape [2,3]", self.run_command(*words, "at=short.npy").err)

    def test_data_of_another_model(self):
        os.mkdir(self.path("set"))
        self.tensor_pb("set/input_0.pb", 1, [2, 1, 8, 1], struct.pack("<16f", *range(16)))
        self.fails([DIGITS, "--data_set", "set"], "input 'image' is f32[N,1,8,8], but 'set/input_0.pb' has shape [2,1,8,1]")
        self.npy("x.npy", "f4", [2, 3], X)
        self.fails([DIGITS, "--input", "image=x.npy", "--reference", "scores=y.npy"], "but 'x.npy' has shape [2,3]")

    def test_tolerances(self):
        self.npy("off.npy", "f4", [2, 3], [0.0, 0.0, 0.0, 1.0, 2.5, 3.0])
        self.assertEqual(self.compare("off.npy", "--atol", "0.6").code, 0)
        self.assertEqual(self.compare("off.npy", "--rtol", "0.25").code, 0)
        self.assertEqual(self.compare("y.npy", "--rtol", "0", "--atol", "0").code, 0)

    def test_nan_agrees_with_nan_only(self):
        nan = float("nan")
        self.npy("n.npy", "f4", [2, 3], [0.0, 0.0, 0.0, 1.0, 2.0, nan])
        ran = self.compare("n.npy")
        self.assertEqual((ran.code, ran.out), (1, "DIFFERS y: 1 of 6 outside rtol 0.001 atol 0.0001; 1 NaN in the result or the reference alone, "
                                                  "the first at [1,2]; largest difference of the others 0 absolute, 0 relative\n"))
        out, = json.loads(self.compare("n.npy", "--json").out)["outputs"]
        self.assertEqual((out["nans"], out["first_nan"]), (1, [1, 2]))
        self.npy("x.npy", "f4", [2, 3], [nan, nan, *X[2:]])
        self.npy("n.npy", "f4", [2, 3], [nan, *Y[1:]])
        self.assertIn("; 1 NaN in the result or the reference alone, the first at [0,1]; ", self.compare("n.npy").out)

    def test_reference_of_another_float_type(self):
        self.npy("wide.npy", "f8", [2, 3], Y)
        self.assertEqual(self.compare("wide.npy").code, 0)

    def test_numbers_of_random_data(self):
        """They equal the formulas of the help text, with references that are zero, not finite and much larger than others."""
        generator = random.Random(3)
        x = [generator.uniform(0, 4) for _ in range(60)]
        y = rounded([v + generator.choice([0, 0, 1e-4, -0.01, 0.25]) * generator.random() for v in x])
        for i, v in ((3, 0.0), (17, math.inf), (29, math.nan), (40, 90.0)):
            y[i] = v
        x[17], x[41] = math.inf, math.nan
        x = rounded(x)
        self.write("net.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, [3, 20])],
                                          [onnx.value("y", onnx.F32, [3, 20])]))
        self.npy("x.npy", "f4", [3, 20], x)
        self.npy("y.npy", "f4", [3, 20], y)
        for rtol, atol, norm in ((0, 0, 0), (1e-3, 1e-4, 0), (0, 0.005, 0), (0.002, 0, 0), (0, 0, 1e-4), (1e-3, 1e-4, 0.5)):
            pairs = [(a, b) for a, b in zip(x, y) if a != b and not (math.isnan(a) and math.isnan(b))]
            largest = max(abs(b) for b in y if math.isfinite(b))
            bad = sum(not abs(a - b) <= max(atol + rtol * abs(b), norm * largest) for a, b in pairs)
            finite = [(abs(a - b), b) for a, b in pairs if not math.isnan(a - b)]
            ran = self.run_command("net.onnx", "--input", "x=x.npy", "--reference", "y=y.npy", "--json",
                                   "--rtol", rtol, "--atol", atol, "--norm", norm, "--bad_frac", (bad - 1) / 60)
            self.assertEqual((ran.code, ran.err), (1, ""))
            report = json.loads(ran.out)
            out, = report["outputs"]
            self.assertEqual((out["elements"], out["mismatches"], report["agrees"]), (60, bad, False))
            self.assertAlmostEqual(out["max_abs"], max(d for d, _ in finite))
            self.assertAlmostEqual(out["max_rel"], max(d / abs(b) for d, b in finite if b))
            self.assertEqual([report[k] for k in ("rtol", "atol", "norm")], [rtol, atol, norm])
            text = self.succeeds("net.onnx", "--input", "x=x.npy", "--reference", "y=y.npy", "--rtol", rtol, "--atol", atol,
                                 "--norm", norm, "--bad_frac", bad / 60)
            self.assertIn(f"agrees  y: {bad} of 60 outside", text)
            self.assertEqual(" norm " in text, norm > 0)

    def test_files_of_a_data_set_are_counted_as_the_model_counts(self):
        """An output for a size that depends on data has no file in the set, and neither has an input with a value in the model."""
        self.write("net.onnx", onnx.model(
            [onnx.node("NonZero", ["x"], ["at"]), onnx.node("Mul", ["v", "c"], ["y"])],
            [onnx.value("x", onnx.F32, [2, 3]), onnx.value("c", onnx.F32, [1]), onnx.value("v", onnx.F32, ["N", 2])],
            [onnx.value("at", onnx.S64, [2, "K"]), onnx.value("y", onnx.F32, ["N", 2])], [onnx.floats("c", [1], [2.0])]))
        os.mkdir(self.path("set"))
        self.tensor_pb("set/input_0.pb", 1, [2, 3], struct.pack("<6f", 1, 0, 0, 2, 3, 0))
        self.tensor_pb("set/input_1.pb", 1, [3, 2], struct.pack("<6f", *range(6)))
        self.tensor_pb("set/output_0.pb", 7, [2, 3], struct.pack("<6q", 0, 1, 1, 0, 0, 1))
        self.tensor_pb("set/output_1.pb", 1, [3, 2], struct.pack("<6f", *range(0, 12, 2)))
        text = self.succeeds("net.onnx", "--data_set", "set", "--atol", "0", "--rtol", "0")
        self.assertRegex(text, r"agrees  at: 0 of 6 .*\nagrees  y: 0 of 6 ")
        self.tensor_pb("set/output_1.pb", 1, [3, 2], struct.pack("<6f", *range(6)))
        self.assertIn("DIFFERS y: 5 of 6", self.run_command("net.onnx", "--data_set", "set").out)

    def test_json(self):
        j = json.loads(self.compare("y.npy", "--json").out)
        self.assertTrue(j["agrees"])
        self.assertEqual((j["outputs"][0]["output"], j["outputs"][0]["mismatches"]), ("y", 0))

    def test_data_set_of_tensor_protos(self):
        os.mkdir(self.path("set"))
        self.tensor_pb("set/input_0.pb", 1, [2, 3], struct.pack("<6f", *X))
        self.tensor_pb("set/output_0.pb", 1, [2, 3], struct.pack("<6f", *Y))
        self.assertIn("agrees", self.succeeds(self.popef(model("relu")), "--data_set", "set"))

    def data_set(self, result, **tolerances):
        os.mkdir(self.path("set"))
        self.tensor_pb("set/input_0.pb", 1, [2, 3], struct.pack("<6f", *X))
        self.tensor_pb("set/output_0.pb", 1, [2, 3], struct.pack("<6f", *result))
        with open(self.path("data.json"), "w") as f:
            json.dump(tolerances, f)
        return self.run_command(self.popef(model("relu")), "--data_set", "set")

    def test_tolerances_of_the_data_set(self):
        off = [0.0, 0.0, 0.0, 1.2, 2.0, 3.0]
        self.assertEqual(self.data_set(off, rtol=1e-3, atol=1e-5).code, 1)

    def test_norm_is_relative_to_the_largest(self):
        off = [0.0, 0.0, 0.0, 1.2, 2.0, 3.0]
        result = self.data_set(off, rtol=1e-3, atol=1e-5, norm=0.07)
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("norm 0.07", result.out)

    def test_bad_frac_accepts_a_part(self):
        off = [0.0, 0.0, 0.0, 1.2, 2.0, 3.0]
        result = self.data_set(off, rtol=1e-3, atol=1e-5, bad_frac=0.17)
        self.assertEqual((result.code, result.err), (0, ""))
        self.assertIn("1 of 6", result.out)

    def test_options_come_before_the_data_set(self):
        self.data_set(Y, rtol=1e-3, atol=1e-5)
        self.tensor_pb("set/output_0.pb", 1, [2, 3], struct.pack("<6f", 0.0, 0.0, 0.0, 1.2, 2.0, 3.0))
        self.assertEqual(self.run_command(self.popef(model("relu")), "--data_set", "set", "--atol", "0.3").code, 0)

    def test_a_damaged_data_json(self):
        self.data_set(Y, rtol=-1)
        self.fails([self.popef(model("relu")), "--data_set", "set"], "data.json", "rtol")

    def test_wrong_usage(self):
        self.misused([], "MODEL")
        self.misused([model("relu"), "--input", "x=x.npy"], "--reference", "--data_set")
        self.misused([model("relu"), "--data_set", "nope"], "--data_set", "nope")
        self.misused([model("relu"), "--atol", "-1"], "--atol", "'-1'")

    def test_errors(self):
        given = [model("relu"), "--input", "x=x.npy", "--reference"]
        self.fails(["nope.onnx", "--reference", "y=y.npy"], "'nope.onnx'")
        self.fails([model("relu"), "--reference", "y=y.npy"], "'x'", "--input x=")
        self.fails([*given, "z=y.npy"], "'z'", "y")
        self.fails([*given, "y=nope.npy"], "'nope.npy'")
        self.npy("flat.npy", "f4", [6], Y)
        self.fails([*given, "y=flat.npy"], "'y'", "f32[2,3]", "[6]")


if __name__ == "__main__":
    unittest.main()
