"""Compares operations and bytes of each operator with formulas in plain loops, and with command poprt_exec flops."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import onnx
import onnx_models as m
from onnx_models import node
from poprt.profile import Profiler, get_model_bytes, get_model_costs, get_model_flops

COMMAND = os.path.join(os.environ["POPRT_BUILD"], "bin", "poprt_exec")


def weights(*shape):
    return np.ones(shape, np.float32)


def documented():
    return m.make([node("MatMul", ["X", "Y"], ["Z"]), node("Add", ["Z", "A"], ["B"])],
                  {"X": [4, 4, 8, 16], "Y": [4, 4, 16, 8], "A": [4, 4, 8, 8]}, {"B": [4, 4, 8, 8]})


def vision():
    return m.make([node("Conv", ["x", "w", "b"], ["c"], name="conv", strides=[2, 2], pads=[1, 1, 1, 1], group=2),
                   node("BatchNormalization", ["c", "s", "s", "s", "s"], ["n"]), node("Relu", ["n"], ["r"]),
                   node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]), node("ConvTranspose", ["p", "t"], ["u"]),
                   node("GlobalAveragePool", ["u"], ["a"]), node("Flatten", ["a"], ["f"]), node("Gemm", ["f", "g", "h"], ["l"], transB=1),
                   node("Softmax", ["l"], ["y"], axis=1), node("ReduceMean", ["l"], ["z"], axes=[1])],
                  {"x": [2, 4, 8, 8]}, {"y": [2, 10], "z": [2, 1]},
                  {"w": weights(6, 2, 3, 3), "b": weights(6), "s": weights(6), "t": weights(6, 3, 2, 2), "g": weights(10, 3),
                   "h": weights(10)})


def language():
    return m.make([node("Gather", ["table", "ids"], ["e"]), node("LayerNormalization", ["e", "s", "s"], ["n"]),
                   node("Transpose", ["n"], ["t"], perm=[0, 2, 1]), node("MatMul", ["n", "t"], ["q"]), node("Softmax", ["q"], ["p"]),
                   node("Einsum", ["p", "n"], ["o"], equation="bij,bjk->bik"), node("Concat", ["o", "n"], ["k"], axis=2),
                   node("Cast", ["k"], ["h"], to=10), node("LSTM", ["n", "w", "r"], ["all", "last"], hidden_size=3),
                   node("ReduceSum", ["all"], ["y"])],
                  {"ids": ([5, 2], m.INT64)}, {"h": ([5, 2, 8], m.FLOAT16), "y": [1, 1, 1, 1], "last": [1, 2, 3]},
                  {"table": weights(7, 4), "s": weights(4), "w": weights(1, 12, 4), "r": weights(1, 12, 3)}, opset=17)


# Operators with the shapes of their inputs and outputs, their attributes, and the operations of each formula.
EACH = [
    ("Add", [[2, 3], [2, 3]], [[2, 3]], {}, 6),
    ("MatMul", [[2, 3], [3, 4]], [[2, 4]], {}, 2 * 8 * 3), ("MatMulInteger", [[2, 3], [3, 4]], [[2, 4]], {}, 2 * 8 * 3),
    ("QLinearMatMul", [[2, 3], [], [], [3, 4], [], [], [], []], [[2, 4]], {}, 2 * 8 * 3),
    ("Gemm", [[2, 3], [3, 4]], [[2, 4]], {}, 2 * 8 * 3), ("Gemm", [[3, 2], [3, 4], [4]], [[2, 4]], {"transA": 1}, 8 * (2 * 3 + 1)),
    ("Conv", [[1, 4, 5, 5], [6, 2, 3, 3]], [[1, 6, 3, 3]], {}, 54 * 2 * 18),
    ("ConvInteger", [[1, 4, 5, 5], [6, 4, 3, 3]], [[1, 6, 3, 3]], {}, 54 * 2 * 36),
    ("QLinearConv", [[1, 4, 5, 5], [], [], [6, 4, 3, 3], [], [], [], []], [[1, 6, 3, 3]], {}, 54 * 2 * 36),
    ("ConvTranspose", [[1, 4, 2, 2], [4, 6, 3, 3]], [[1, 6, 4, 4]], {}, 2 * 16 * 54),
    ("ConvTranspose", [[1, 4, 2, 2], [4, 6, 3, 3], [6]], [[1, 6, 4, 4]], {}, 2 * 16 * 54 + 96),
    *((op, [[1, 2, 4, 4]], [[1, 2, 3, 3]], {"kernel_shape": [2, 2]}, 18 * 4) for op in ("MaxPool", "AveragePool", "LpPool")),
    *((op, [[1, 2, 4, 5]], [[1, 2, 1, 1]], {}, 40) for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "ArgMax", "ArgMin")),
    *((op, [[2, 3]], [[2, 3]], {}, 5 * 6) for op in ("Softmax", "LogSoftmax", "Hardmax")),
    *((op, [[2, 3]], [[2, 3]], {}, 7 * 6) for op in ("LayerNormalization", "GroupNormalization", "InstanceNormalization",
                                                     "RMSNormalization", "MeanVarianceNormalization")),
    ("BatchNormalization", [[2, 3]] + [[3]] * 4, [[2, 3]], {}, 2 * 6),
    *((op, [[5, 2, 4], [1, gates * 3, 4], [1, gates * 3, 3]], [[5, 1, 2, 3]], {}, 2 * 10 * gates * 3 * (4 + 3))
      for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1))),
    ("Attention", [[1, 2, 3, 4], [1, 2, 5, 4], [1, 2, 5, 6]], [[1, 2, 3, 6]], {}, 2 * (2 * 3 * 5 * 4 + 2 * 3 * 5 * 6)),
    ("Attention", [[1, 2, 3, 4], [1, 2, 5, 4], [1, 2, 5, 6], [], [1, 2, 7, 4], [1, 2, 7, 6]], [[1, 2, 3, 6]], {},
     2 * (2 * 3 * 12 * 4 + 2 * 3 * 12 * 6)),
    ("Einsum", [[2, 3], [3, 4]], [[2, 4]], {"equation": "ij,jk->ik"}, 2 * 24),
    ("Einsum", [[2, 3]], [[2]], {"equation": "ij->i"}, 6), ("Einsum", [[5, 2, 3], [3, 4]], [[5, 2, 4]], {"equation": "...ij,jk"}, 2 * 120),
    ("Einsum", [[2], [3], [4]], [[2, 3, 4]], {"equation": "i,j,k->ijk"}, 3 * 24),
    ("Reshape", [[2, 3], [1]], [[6]], {}, 0),
]


class Formulas(unittest.TestCase):
    def test_each_operator_is_counted_by_its_formula(self):
        for op, inputs, outputs, attributes, flops in EACH:
            with self.subTest(op, inputs=inputs):
                made = node(op, [f"i{k}" for k in range(len(inputs))], ["o"], **attributes)
                self.assertEqual(Profiler().get_profiler(op)(made, inputs, outputs), flops)

    def test_the_documented_example(self):
        macs = sum(1 for _ in range(4 * 4) for _ in range(8) for _ in range(8) for _ in range(16))
        self.assertEqual(get_model_flops(documented(), False), 2 * macs + 4 * 4 * 8 * 8)

    def test_convolutions_count_every_window(self):
        rows = {row.op_type: row for row in get_model_costs(vision())}
        out = 2 * 6 * 4 * 4
        self.assertEqual(rows["Conv"].flops, sum(2 * 2 * 3 * 3 + 1 for _ in range(out)))  # two channels in each group
        self.assertEqual(rows["Conv"].name, "conv")
        self.assertEqual(rows["BatchNormalization"].flops, 2 * out)
        self.assertEqual(rows["MaxPool"].flops, 2 * 6 * 2 * 2 * 4)
        self.assertEqual(rows["ConvTranspose"].flops, 2 * (2 * 6 * 2 * 2) * (3 * 2 * 2))
        self.assertEqual(rows["GlobalAveragePool"].flops, 2 * 3 * 3 * 3)
        self.assertEqual(rows["Gemm"].flops, 2 * 10 * (2 * 3 + 1))
        self.assertEqual(rows["Softmax"].flops, 5 * 20)
        self.assertEqual(rows["ReduceMean"].flops, 20)
        self.assertEqual((rows["Flatten"].flops, rows["Flatten"].bytes), (0, 2 * 2 * 3 * 4))
        self.assertEqual(rows["Conv"].bytes, 4 * (2 * 4 * 8 * 8 + 6 * 2 * 9 + 6 + out))

    def test_sequences(self):
        rows = {row.op_type: row.flops for row in get_model_costs(language())}
        self.assertEqual(rows["MatMul"], 2 * 5 * 2 * 2 * 4)
        self.assertEqual(rows["Einsum"], rows["MatMul"])
        self.assertEqual(rows["LSTM"], 2 * 5 * 2 * (12 * 4 + 12 * 3))
        self.assertEqual([rows[op] for op in ("Gather", "Transpose", "Concat", "Cast")], [0] * 4)
        self.assertEqual(rows["LayerNormalization"], 7 * 40)

    def test_profilers_take_shapes(self):
        matmul = Profiler().get_profiler("MatMul")
        self.assertEqual(matmul(node("MatMul", ["a", "b"], ["c"]), [np.array([3, 4]), np.array([4, 5])], [np.array([3, 5])]), 120)
        empty = np.array([]).astype(np.int64)
        self.assertEqual(Profiler().get_profiler("Reshape")(node("Reshape", ["a", "s"], ["c"]), [empty, empty], [empty]), 0)
        self.assertEqual(Profiler().get_profiler("NobodyKnows")(node("NobodyKnows", ["a"], ["c"]), [[2, 3]], [[2, 3]]), 6)

    def test_graphs_in_nodes(self):
        def body(name, op, inputs=()):
            return onnx.helper.make_graph([node(op, ["x", "x"], [name])], name, list(inputs),
                                          [onnx.helper.make_tensor_value_info(name, m.FLOAT, [4, 4])])
        model = m.make([node("If", ["c"], ["y"], then_branch=body("t", "Add"), else_branch=body("e", "MatMul"))],
                       {"x": [4, 4], "c": ([], onnx.TensorProto.BOOL)}, {"y": [4, 4]})
        self.assertEqual(get_model_flops(model), 2 * 4 * 4 * 4)

    def test_the_model_stays_and_variable_shapes_are_warned_of(self):
        model = documented()
        before = model.SerializeToString()
        self.assertEqual(get_model_bytes(model), 4 * (2048 + 2048 + 1024 + 3 * 1024))
        self.assertEqual(model.SerializeToString(), before)
        model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
        with self.assertLogs("poprt", "WARNING") as logs:
            self.assertEqual(get_model_flops(model), 0 if len(logs.output) > 1 else 1024)

    def test_the_command_counts_the_same(self):
        for make in (documented, vision, language):
            with self.subTest(make.__name__), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "m.onnx")
                onnx.save(make(), path)
                printed = json.loads(subprocess.run([COMMAND, "flops", path, "--json"], check=True, capture_output=True, text=True).stdout)
                self.assertEqual([(n["op_type"], n["flops"], n["bytes"]) for n in printed["nodes"]],
                                 [(r.op_type, r.flops, r.bytes) for r in get_model_costs(make())])
                self.assertEqual(printed["flops"], get_model_flops(make()))


if __name__ == "__main__":
    unittest.main()
