"""Converts an fp16 model to fp32 with fp16 inputs and outputs, for tools that cannot compute halves.

    half_to_float.py --fp16_model half.onnx --fp32_model float.onnx
    """

import argparse

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def widen_tensor(tensor):
    """Converts a constant of halves to floats."""
    if tensor.data_type == TensorProto.FLOAT16:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))


def widen_values(values):
    """Converts the declared types of tensors."""
    for value in values:
        if value.type.tensor_type.elem_type == TensorProto.FLOAT16:
            value.type.tensor_type.elem_type = TensorProto.FLOAT


def widen_graph(graph):
    """Converts a graph and its subgraphs."""
    for tensor in graph.initializer:
        widen_tensor(tensor)
    for values in (graph.input, graph.output, graph.value_info):
        widen_values(values)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                widen_tensor(attribute.t)
            elif attribute.name in ("to", "dtype") and attribute.i == TensorProto.FLOAT16:
                attribute.i = TensorProto.FLOAT
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                widen_graph(inner)


def rename(graph, old, new):
    """Renames the tensor ``old`` to ``new`` in all nodes and subgraphs."""
    for node in graph.node:
        for names in (node.input, node.output):
            for i, name in enumerate(names):
                if name == old:
                    names[i] = new
        for attribute in node.attribute:
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                rename(inner, old, new)


def widen(model):
    """Returns the fp32 model between Casts of its fp16 inputs and outputs."""
    graph = model.graph
    halves = [[v.name for v in part if v.type.tensor_type.elem_type == TensorProto.FLOAT16] for part in (graph.input, graph.output)]
    constants = {tensor.name for tensor in graph.initializer}
    widen_graph(graph)
    first, last = [], []
    for name in halves[0]:
        if name not in constants:
            rename(graph, name, name + "_fp32")
            first.append(helper.make_node("Cast", [name], [name + "_fp32"], name=name + "_to_fp32", to=TensorProto.FLOAT))
    for name in halves[1]:
        inner = name + "_fp32"
        if name not in halves[0]:
            rename(graph, name, inner)
            last.append(helper.make_node("Cast", [inner], [name], name=name + "_to_fp16", to=TensorProto.FLOAT16))
    nodes = [*first, *graph.node, *last]
    graph.ClearField("node")
    graph.node.extend(nodes)
    for part, names in ((graph.input, halves[0]), (graph.output, halves[1])):
        for value in part:
            if value.name in names and value.name not in constants:
                value.type.tensor_type.elem_type = TensorProto.FLOAT16
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--fp16_model", required=True)
    parser.add_argument("--fp32_model", required=True)
    words = parser.parse_args()
    onnx.save(widen(onnx.load(words.fp16_model)), words.fp32_model)


if __name__ == "__main__":
    main()
