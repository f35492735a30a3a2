"""poprt_exec flops; tests/bindings/python/profile_onnx_test.py holds it to the formulas, operator by operator."""

import json
import unittest

import onnx_writer as w
from support import DIGITS, CommandTest


class Flops(CommandTest):
    command = "poprt_exec flops"

    def setUp(self):
        super().setUp()
        self.write("m.onnx", w.model([w.node("MatMul", ["x", "w"], ["m"]), w.node("Relu", ["m"], ["y"])],
                                     [w.value("x", w.F32, ["N", 4])], [w.value("y", w.F32, ["N", 3])],
                                     [w.floats("w", [4, 3], [1.0] * 12)]))

    def test_by_node(self):
        said = json.loads(self.succeeds("m.onnx", "--input_shape", "x=5,4", "--json"))
        self.assertEqual(said["flops"], 2 * 5 * 4 * 3 + 5 * 3)
        self.assertEqual(said["bytes"], 4 * (20 + 12 + 15 + 15 + 15))
        self.assertEqual([(n["op_type"], n["flops"]) for n in said["nodes"]], [("MatMul", 120), ("Relu", 15)])
        self.assertEqual(json.loads(self.succeeds("m.onnx", "--batch_size", "5", "--batch_axis", "0", "--json")), said)

    def test_text(self):
        out = self.succeeds("m.onnx", "--input_shape", "x=5,4", "--verbose").splitlines()
        self.assertEqual([line.split()[:2] for line in out], [["MatMul", "120"], ["Relu", "15"], ["total", "135"]])
        self.assertEqual(len(self.succeeds("m.onnx", "--input_shape", "x=5,4").splitlines()), 1)
        self.assertGreater(json.loads(self.succeeds(DIGITS, "--input_shape", "image=1,1,8,8", "--json"))["flops"], 100000)

    def test_what_depends_on_data_is_said_not_to_count(self):
        self.write("z.onnx", w.model([w.node("Relu", ["x"], ["r"]), w.node("NonZero", ["r"], ["n"]), w.node("Neg", ["n"], ["y"])],
                                     [w.value("x", w.F32, [4])], [w.value("y", w.S64, [1, "N"])]))
        ran = self.run_command("z.onnx", "--json")
        self.assertEqual((ran.code, json.loads(ran.out)["flops"]), (0, 4))
        self.assertRegex(ran.err, r"^poprt_exec flops: 2 nodes are not counted, such as NonZero .*'n'")

    def test_errors(self):
        self.fails(["m.onnx"], "the shape of input 'x' (f32[N,4]) is variable", "--input_shape")
        self.fails(["none.onnx"], "none.onnx")
        self.misused([], "MODEL")


if __name__ == "__main__":
    unittest.main()
