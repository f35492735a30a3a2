"""Generates cache.onnx, a model with state: y contains its last three x, the newest first. Needs the package onnx."""

import os

import onnx
from onnx import TensorProto, helper

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    value = helper.make_tensor_value_info
    node = helper.make_node("KVCache", ["step", "x"], ["y"], domain="ai.graphcore", max_len=3, sequence_axis=0)
    graph = helper.make_graph([node], "cache", [value("step", TensorProto.INT32, []), value("x", TensorProto.FLOAT, [1])],
                              [value("y", TensorProto.FLOAT, [3])])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.graphcore", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), os.path.join(HERE, "cache.onnx"))


if __name__ == "__main__":
    main()
