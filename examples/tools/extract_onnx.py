"""Extracts the part of a model between tensors.

    extract_onnx.py --src_onnx model.onnx --dst_onnx part.onnx --input_names a b --output_names c
    """

import argparse
import sys

import onnx
from poprt.passes.shape_inference import infer_shapes


def names_read(node):
    """Returns the tensors that a node reads, including those read by its subgraphs."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
            names += [name for made in inner.node for name in names_read(made)]
    return names


def nodes_between(graph, begin, end):
    """Returns the nodes between the tensors `begin` and `end`, and the names of the tensors that they read."""
    makers = {name: i for i, node in enumerate(graph.node) for name in node.output if name}
    found, read, waiting = set(), set(), [name for name in end if name not in begin]
    while waiting:
        maker = makers.get(waiting.pop())
        if maker is None or maker in found:
            continue
        found.add(maker)
        names = set(names_read(graph.node[maker])) - set(begin)
        waiting += names - read
        read |= names
    return [graph.node[i] for i in sorted(found)], read


def extract(model, input_names, output_names):
    """Returns a model with those inputs and outputs. Raises ValueError if a tensor does not exist or further inputs are
    needed."""
    model = infer_shapes(model)  # the new inputs and outputs need types
    graph = model.graph
    known = {v.name: v for part in (graph.input, graph.output, graph.value_info) for v in part}
    for name in [*input_names, *output_names]:
        if name not in known:
            raise ValueError(f"the model has no tensor '{name}' whose type is known")
    nodes, read = nodes_between(graph, input_names, output_names)
    constants = [tensor for tensor in graph.initializer if tensor.name in read]
    missing = {v.name for v in graph.input} & (read | set(output_names)) - {t.name for t in constants} - set(input_names)
    if missing:
        raise ValueError(f"the outputs need '{sorted(missing)[0]}' besides")
    part = type(model)()
    part.CopyFrom(model)
    part.graph.Clear()
    part.graph.name = graph.name
    part.graph.node.extend(nodes)
    part.graph.initializer.extend(constants)
    part.graph.input.extend(known[name] for name in input_names)
    part.graph.output.extend(known[name] for name in output_names)
    return part


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--src_onnx", required=True)
    parser.add_argument("--dst_onnx", required=True)
    parser.add_argument("--input_names", nargs="+", required=True)
    parser.add_argument("--output_names", nargs="+", required=True)
    words = parser.parse_args()
    try:
        part = extract(onnx.load(words.src_onnx), words.input_names, words.output_names)
    except ValueError as error:
        sys.exit(f"extract_onnx.py: {error}")
    onnx.save(part, words.dst_onnx)
    print(f"{words.dst_onnx}: {len(part.graph.node)} nodes")


if __name__ == "__main__":
    main()
