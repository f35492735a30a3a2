"""Makes the models beside this file: python3 make.py, with the onnx package (1.12 or newer)."""

import os

import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(name, nodes, inputs, outputs, opset=13, initializers=(), ir_version=7):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version)
    model.producer_name = ""
    onnx.save(model, os.path.join(HERE, name + ".onnx"))


F32, S64 = TensorProto.FLOAT, TensorProto.INT64

save("relu", [helper.make_node("Relu", ["x"], ["y"])],
     [value("x", F32, [2, 3])], [value("y", F32, [2, 3])])
save("dynamic", [helper.make_node("Relu", ["x"], ["y"])],
     [value("x", F32, ["N", 3])], [value("y", F32, ["N", 3])])
# Two inputs of different types.
save("gather", [helper.make_node("Gather", ["table", "ids"], ["rows"])],
     [value("table", F32, [3, 2]), value("ids", S64, [2])], [value("rows", F32, [2, 2])])
save("unknown_op", [helper.make_node("Frobnicate", ["x"], ["y"], name="the_node")],
     [value("x", F32, [2, 3])], [value("y", F32, [2, 3])])
# Squeeze has its axes as an attribute until opset 12, as an input from 13 on.
save("squeeze_opset11", [helper.make_node("Squeeze", ["x"], ["y"], axes=[0])],
     [value("x", F32, [1, 3])], [value("y", F32, [3])], opset=11)
# A value that decides a shape, a size that depends on data, a sequence, text.
save("reshape_input", [helper.make_node("Reshape", ["x", "shape"], ["y"])],
     [value("x", F32, [2, 3]), value("shape", S64, [2])], [value("y", F32, None)], opset=17, ir_version=8)
save("nonzero", [helper.make_node("NonZero", ["x"], ["at"])],
     [value("x", F32, [2, 3])], [value("at", S64, [2, "n"])], opset=17, ir_version=8)
save("sequence", [helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)],
     [helper.make_tensor_sequence_value_info("s", F32, ["n", 3])], [value("y", F32, None)], opset=17, ir_version=8)
save("text", [helper.make_node("StringConcat", ["a", "b"], ["t"]), helper.make_node("Neg", ["x"], ["y"])],
     [value("x", F32, [2, 3])], [value("t", TensorProto.STRING, [2]), value("y", F32, [2, 3])], opset=20, ir_version=9,
     initializers=[helper.make_tensor("a", TensorProto.STRING, [2], [b"one", b"two"]),
                   helper.make_tensor("b", TensorProto.STRING, [], [b"!"])])
# An image, whose size is in its bytes.
save("image", [helper.make_node("ImageDecoder", ["stream"], ["image"], pixel_format="BGR")],
     [value("stream", TensorProto.UINT8, ["n"])], [value("image", TensorProto.UINT8, [None, None, 3])], opset=20,
     ir_version=9)
# Types that NumPy lacks.
S4 = 22
save("bits", [helper.make_node("Cast", ["b"], ["wide"], to=F32), helper.make_node("Cast", ["i"], ["real"], to=F32),
              helper.make_node("Identity", ["i"], ["same"]), helper.make_node("Identity", ["b"], ["brief"])],
     [value("b", TensorProto.BFLOAT16, [3]), value("i", S4, [5])],
     [value("wide", F32, [3]), value("real", F32, [5]), value("same", S4, [5]), value("brief", TensorProto.BFLOAT16, [3])],
     opset=21)
# Class labels that are strings.
graph = helper.make_graph(
    [helper.make_node("LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", coefficients=[1.0, 0, 0, 1, -1, -1],
                      intercepts=[0.0, 0, 0], classlabels_strings=["cat", "dog", "a \"fish\""])],
    "labels", [value("x", F32, [3, 2])], [value("label", TensorProto.STRING, [3]), value("scores", F32, [3, 3])])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8, producer_name=""),
          os.path.join(HERE, "labels.onnx"))
# Containers and text at the interface.
save("split", [helper.make_node("SplitToSequence", ["x"], ["s"], axis=0)],
     [value("x", F32, [2, 3])], [helper.make_tensor_sequence_value_info("s", F32, [1, 3])], opset=17, ir_version=8)
save("optional", [helper.make_node("OptionalHasElement", ["o"], ["y"])],
     [helper.make_value_info("o", helper.make_optional_type_proto(helper.make_tensor_type_proto(F32, [2, 3])))],
     [value("y", TensorProto.BOOL, [])], opset=17, ir_version=8)
save("join", [helper.make_node("StringConcat", ["a", "b"], ["t"])],
     [value("a", TensorProto.STRING, [4])], [value("t", TensorProto.STRING, [4])], opset=20, ir_version=9,
     initializers=[helper.make_tensor("b", TensorProto.STRING, [], [b"!"])])
# What other tools write: unknown dimensions as negative numbers, attributes that no definition has, no opset import.
save("negative", [helper.make_node("Neg", ["x"], ["n"]), helper.make_node("Relu", ["n"], ["y"])],
     [value("x", F32, [-1, 3])], [value("y", F32, [-1, 3])], opset=17, ir_version=8)
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["r"], name="the_node", of_another_tool=1),
                           helper.make_node("Scaler", ["r"], ["y"], domain="ai.onnx.ml", offset=[1.0], scale=[2.0])],
                          "stray", [value("x", F32, [2, 3])], [value("y", F32, [2, 3])])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, producer_name=""),
          os.path.join(HERE, "stray.onnx"))
