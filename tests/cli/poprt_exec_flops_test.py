"""poprt_exec flops; tests/bindings/python/profile_onnx_test.py compares it with the formula of each operator."""

import json
import struct
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
        output = json.loads(self.succeeds("m.onnx", "--input_shape", "x=5,4", "--json"))
        self.assertEqual(output["flops"], 2 * 5 * 4 * 3 + 5 * 3)
        self.assertEqual(output["bytes"], 4 * (20 + 12 + 15 + 15 + 15))
        self.assertEqual([(n["op_type"], n["flops"]) for n in output["nodes"]], [("MatMul", 120), ("Relu", 15)])
        self.assertEqual(json.loads(self.succeeds("m.onnx", "--batch_size", "5", "--batch_axis", "0", "--json")), output)

    def test_text(self):
        out = self.succeeds("m.onnx", "--input_shape", "x=5,4", "--verbose").splitlines()
        self.assertEqual([line.split()[:2] for line in out], [["MatMul", "120"], ["Relu", "15"], ["total", "135"]])
        self.assertEqual(len(self.succeeds("m.onnx", "--input_shape", "x=5,4").splitlines()), 1)
        self.assertGreater(json.loads(self.succeeds(DIGITS, "--input_shape", "image=1,1,8,8", "--json"))["flops"], 100000)

    def test_reports_nodes_of_data_dependent_shape_as_uncounted(self):
        self.write("z.onnx", w.model([w.node("Relu", ["x"], ["r"]), w.node("NonZero", ["r"], ["n"]), w.node("Neg", ["n"], ["y"])],
                                     [w.value("x", w.F32, [4])], [w.value("y", w.S64, [1, "N"])]))
        ran = self.run_command("z.onnx", "--json")
        self.assertEqual((ran.code, json.loads(ran.out)["flops"]), (0, 4))
        self.assertRegex(ran.err, r"^poprt_exec flops: 2 nodes are not counted, such as NonZero .*'n'")

    def test_graphs_within_nodes(self):
        """A body counts for each of its runs; of two branches, the one with more operations counts."""
        def scalar(name, dtype, data):
            return w.message(5, w.number(2, dtype), w.message(8, name), w.message(9, data))
        v = [w.value(n, w.F32, [4]) for n in ("v", "u")]
        body = w.graph([w.node("Identity", ["on"], ["go"]), w.node("Add", ["v", "v"], ["u"])],
                       [w.value("i", w.S64, []), w.value("on", w.BOOL, []), v[0]], [w.value("go", w.BOOL, []), v[1]])
        for times in (1, 3):
            self.write("loop.onnx", w.model([w.node("Loop", ["m", "c", "x"], ["y"], body=body)], [w.value("x", w.F32, [4])],
                                            [w.value("y", w.F32, [4])], [scalar("m", w.S64, struct.pack("<q", times)), scalar("c", w.BOOL, b"\1")]))
            output = json.loads(self.succeeds("loop.onnx", "--json"))
            self.assertEqual((output["flops"], output["bytes"]), (times * 4, times * (1 + 1 + 16 + 16) + 8 + 1 + 16 + 16))
        body = w.graph([w.node("Add", ["s", "r"], ["t"]), w.node("Neg", ["t"], ["z"])],
                       [w.value("s", w.F32, [4]), w.value("r", w.F32, [4])], [w.value("t", w.F32, [4]), w.value("z", w.F32, [4])])
        for axis, shape in ((0, [6, 4]), (1, [4, 5])):
            self.write("scan.onnx", w.model(
                [w.node("Scan", ["x", "rows"], ["y", "all"], body=body, num_scan_inputs=1, scan_input_axes=[axis])],
                [w.value("x", w.F32, [4]), w.value("rows", w.F32, shape)], [w.value("y", w.F32, [4]), w.value("all", w.F32, [shape[axis], 4])]))
            output = json.loads(self.succeeds("scan.onnx", "--json"))
            self.assertEqual(output["flops"], shape[axis] * (4 + 4))
        branches = {n: w.graph([w.node("MatMul" if n == dear else "Relu", ["x", "k"][:1 + (n == dear)], ["o"])], [], [w.value("o", w.F32, [1, 4])])
                    for dear in ("then_branch",) for n in ("then_branch", "else_branch")}
        for swapped in (False, True):
            names = ["else_branch", "then_branch"] if swapped else ["then_branch", "else_branch"]
            self.write("if.onnx", w.model(
                [w.node("If", ["on"], ["y"], **dict(zip(names, branches.values())))], [w.value("on", w.BOOL, []), w.value("x", w.F32, [1, 4])],
                [w.value("y", w.F32, [1, 4])], [w.floats("k", [4, 4], [1.0] * 16)]))
            self.assertEqual(json.loads(self.succeeds("if.onnx", "--json"))["flops"], 2 * 4 * 4)

    def test_errors(self):
        self.fails(["m.onnx"], "the shape of input 'x' (f32[N,4]) is variable", "--input_shape")
        self.fails(["none.onnx"], "none.onnx")
        self.misused([], "MODEL")


if __name__ == "__main__":
    unittest.main()
