"""Makes the models of this folder: python3 make.py, with the onnx package (1.12 or newer)."""

import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


def save(name, nodes, inputs, outputs, initializers=(), domains=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    opsets = [helper.make_opsetid("", 13)] + [helper.make_opsetid(domain, 1) for domain in domains]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=7)
    model.producer_name = ""
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def affine(name, dtype, numpy_dtype, x, y):
    """y = 2 x + 1, in which every product and sum of small integers is exact."""
    constants = [numpy_helper.from_array(numpy.array(v, numpy_dtype), n) for n, v in (("two", 2), ("one", 1))]
    save(name, [helper.make_node("Mul", [x, "two"], ["twice"]), helper.make_node("Add", ["twice", "one"], [y])],
         [value(x, dtype, ["N", 4])], [value(y, dtype, ["N", 4])], constants)


affine("affine", TensorProto.FLOAT, numpy.float32, "x", "y")
affine("half", TensorProto.FLOAT16, numpy.float16, "x", "y")
# Two variable dimensions, and a number: y = x s.
save("scaled", [helper.make_node("Mul", ["x", "s"], ["y"])],
     [value("x", TensorProto.FLOAT, ["N", "M"]), value("s", TensorProto.FLOAT, [])],
     [value("y", TensorProto.FLOAT, ["N", "M"])])
# Names beyond ASCII and beyond the Basic Multilingual Plane.
affine("unicode", TensorProto.FLOAT, numpy.float32, "størrelse", "ut_\N{ROCKET}")
# Two inputs and two outputs of different types and shapes: rows = table[ids], next = ids + 1.
save("lookup", [helper.make_node("Gather", ["table", "ids"], ["rows"]), helper.make_node("Add", ["ids", "one"], ["next"])],
     [value("table", TensorProto.FLOAT, [3, 2]), value("ids", TensorProto.INT64, [4])],
     [value("rows", TensorProto.FLOAT, [4, 2]), value("next", TensorProto.INT64, [4])],
     [numpy_helper.from_array(numpy.array(1, numpy.int64), "one")])
# y = x w, where w is 1 + 2^-10 + 2^-12 on the diagonal. f16 rounds it to 1 + 2^-10, and bf16 to 1. All products of small
# integers are exact.
save("linear", [helper.make_node("MatMul", ["x", "w"], ["y"])], [value("x", TensorProto.FLOAT, ["N", 4])],
     [value("y", TensorProto.FLOAT, ["N", 4])],
     [numpy_helper.from_array(numpy.eye(4, dtype=numpy.float32) * numpy.float32(1 + 2**-10 + 2**-12), "w")])
# Takes long enough to be caught in flight: a chain of 512 x 512 matrix products, scaled to stay finite.
STEPS = 8
names = ["x"] + [f"x{i}" for i in range(1, STEPS)] + ["y"]
nodes = []
for i in range(STEPS):
    nodes.append(helper.make_node("MatMul", [names[i], "x"], [f"p{i}"]))
    nodes.append(helper.make_node("Mul", [f"p{i}", "small"], [names[i + 1]]))
save("slow", nodes, [value("x", TensorProto.FLOAT, [512, 512])], [value("y", TensorProto.FLOAT, [512, 512])],
     [numpy_helper.from_array(numpy.array(1 / 512, numpy.float32), "small")])
# Each place plus the sum of its row; if packed, plus the sum of its sequence. Exact for small integers.
save("sums", [helper.make_node("ReduceSum", ["x", "axis"], ["sum"], keepdims=1), helper.make_node("Add", ["x", "sum"], ["y"])],
     [value("x", TensorProto.FLOAT, [2, 8])], [value("y", TensorProto.FLOAT, [2, 8])],
     [numpy_helper.from_array(numpy.array([1], numpy.int64), "axis")])
# A cache, which stays on the device from run to run: y = the last three x, the newest first. Step 0 begins anew.
save("cache", [helper.make_node("KVCache", ["step", "x"], ["y"], domain="ai.graphcore", max_len=3, sequence_axis=0)],
     [value("step", TensorProto.INT32, []), value("x", TensorProto.FLOAT, [1])], [value("y", TensorProto.FLOAT, [3])],
     domains=["ai.graphcore"])
# A loop that never ends, and 0, 1 ... n - 1 for an n that is known only in a run.
body = helper.make_graph([helper.make_node("Identity", ["go"], ["goes"]), helper.make_node("Add", ["v", "one"], ["sum"])], "body",
                         [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("v", TensorProto.FLOAT, [1])],
                         [value("goes", TensorProto.BOOL, []), value("sum", TensorProto.FLOAT, [1])])
save("endless", [helper.make_node("Loop", ["", "yes", "x"], ["y"], name="turns", body=body)],
     [value("x", TensorProto.FLOAT, [1])], [value("y", TensorProto.FLOAT, [1])],
     [numpy_helper.from_array(numpy.array(True), "yes"), numpy_helper.from_array(numpy.array([1], numpy.float32), "one")])
save("range", [helper.make_node("Range", ["zero", "n", "one"], ["y"])], [value("n", TensorProto.INT64, [])],
     [value("y", TensorProto.INT64, ["L"])],
     [numpy_helper.from_array(numpy.array(v, numpy.int64), n) for n, v in (("zero", 0), ("one", 1))])
# An unknown operator.
save("unknown_op", [helper.make_node("Frobnicate", ["x"], ["y"], name="the_node")],
     [value("x", TensorProto.FLOAT, [2, 3])], [value("y", TensorProto.FLOAT, [2, 3])])

# Two models in one, as a fusion runner needs them: the input "index" selects one, and both return it.
nodes, inputs, outputs = [], [value("index", TensorProto.UINT32, [1])], []
for g, factor in (("graph0", "two"), ("graph1", "three")):
    nodes += [helper.make_node("Mul", [g + "/x", factor], [g + "/y"]), helper.make_node("Identity", ["index"], [g + "/k"])]
    inputs.append(value(g + "/x", TensorProto.FLOAT, [4]))
    outputs += [value(g + "/y", TensorProto.FLOAT, [4]), value(g + "/k", TensorProto.UINT32, [1])]
save("fused", nodes, inputs, outputs,
     [numpy_helper.from_array(numpy.array(v, numpy.float32), n) for n, v in (("two", 2), ("three", 3))])
# Weights that a session or a light runner can replace: y = x w + b.
save("weights", [helper.make_node("Mul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["y"])],
     [value("x", TensorProto.FLOAT, [2, 4])], [value("y", TensorProto.FLOAT, [2, 4])],
     [numpy_helper.from_array(numpy.array(v, numpy.float32), n) for n, v in (("w", [1, 2, 3, 4]), ("b", [1, 1, 1, 1]))])
# A sequence, whose length the compiler needs: y contains its elements as rows.
save("sequence", [helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)],
     [helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, ["n", 3])], [value("y", TensorProto.FLOAT, None)])
# With several shapes, padding must not affect the result: each row of y adds up to 1.
save("softmax", [helper.make_node("Softmax", ["x"], ["y"], axis=1)],
     [value("x", TensorProto.FLOAT, [2, "N"])], [value("y", TensorProto.FLOAT, [2, "N"])])
# Every code of the 16-bit floats as f32, and f32 as both of them.
save("floats", [helper.make_node("Cast", ["half"], ["half_value"], to=TensorProto.FLOAT),
                helper.make_node("Cast", ["brain"], ["brain_value"], to=TensorProto.FLOAT),
                helper.make_node("Cast", ["value"], ["value_half"], to=TensorProto.FLOAT16),
                helper.make_node("Cast", ["value"], ["value_brain"], to=TensorProto.BFLOAT16)],
     [value("half", TensorProto.FLOAT16, [65536]), value("brain", TensorProto.BFLOAT16, [65536]),
      value("value", TensorProto.FLOAT, [65536])],
     [value("half_value", TensorProto.FLOAT, [65536]), value("brain_value", TensorProto.FLOAT, [65536]),
      value("value_half", TensorProto.FLOAT16, [65536]), value("value_brain", TensorProto.BFLOAT16, [65536])])
# Every type that a language has arrays for.
TYPES = [("f32", TensorProto.FLOAT), ("f64", TensorProto.DOUBLE), ("f16", TensorProto.FLOAT16), ("bf16", TensorProto.BFLOAT16),
         ("s8", TensorProto.INT8), ("u8", TensorProto.UINT8), ("s16", TensorProto.INT16), ("u16", TensorProto.UINT16),
         ("s32", TensorProto.INT32), ("u32", TensorProto.UINT32), ("s64", TensorProto.INT64), ("u64", TensorProto.UINT64),
         ("bool", TensorProto.BOOL)]
save("types", [helper.make_node("Identity", [n], [n + "_y"]) for n, _ in TYPES],
     [value(n, t, [2, 3]) for n, t in TYPES], [value(n + "_y", t, [2, 3]) for n, t in TYPES])
