"""Makes the models beside this file: python3 make.py, with the onnx package (1.12 or newer)."""

import os

import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(name, nodes, inputs, outputs, opset=13, initializers=()):
    graph = helper.make_graph(nodes, name, inputs, outputs, list(initializers))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=7)
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
