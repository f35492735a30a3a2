"""Generates the two models of this example. Needs the Python package onnx."""

import os

import numpy
from onnx import TensorProto, helper, numpy_helper, save

HERE = os.path.dirname(os.path.abspath(__file__))


def write(name, nodes, inputs, output, constants):
    graph = helper.make_graph(nodes, name, inputs, [output], constants)
    save(helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 11)], producer_name="poprt examples"),
         os.path.join(HERE, name + ".onnx"))


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


write("model0", [helper.make_node("Add", ["X", "Y"], ["sum"]), helper.make_node("Reshape", ["sum", "shape"], ["O"])],
      [value("X", ["n", 2]), value("Y", ["n", 2])], value("O", [2]),
      [numpy_helper.from_array(numpy.array([2], numpy.int64), "shape")])
write("model1", [helper.make_node("Concat", ["X", "constant"], ["O"], axis=1)], [value("X", ["n", 1])], value("O", ["n", 3]),
      [numpy_helper.from_array(numpy.array([[1.5, 2.0]], numpy.float32), "constant")])
