"""Functions on a graph of onnx.ModelProto: nodes in order, types, shapes, constants."""

from __future__ import annotations

import heapq
from typing import Any, Iterator, Optional

import numpy as np

from .._onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto, onnx

__all__ = ["all_graphs", "get_attribute", "get_constant", "get_constant_value", "get_consumers", "get_dtype", "get_producer",
           "get_shape", "get_value_info", "is_known", "node_title", "subgraphs", "topological_sort"]


def subgraphs(node: NodeProto) -> list[GraphProto]:
    """Returns the subgraphs of a node (If, Loop, Scan)."""
    found: list[GraphProto] = []
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found.append(attribute.g)
        found.extend(attribute.graphs)
    return found


def _captured(graph: GraphProto) -> set[str]:
    """Returns the values of enclosing graphs that a nested graph reads."""
    made = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    made.update(name for node in graph.node for name in node.output)
    read = {o.name for o in graph.output}.union(*(_reads(node) for node in graph.node))
    return read - made - {""}


def _reads(node: NodeProto) -> set[str]:
    return set(node.input).union(*(_captured(g) for g in subgraphs(node)))


def topological_sort(graph: GraphProto) -> list[NodeProto]:
    """Returns the nodes in topological order, including the reads of nested graphs, and otherwise in their order.
    Raises ValueError for a cycle, with its nodes."""
    nodes = list(graph.node)
    maker = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    reads = [{maker[name] for name in _reads(node) if name in maker} for node in nodes]
    readers: list[list[int]] = [[] for _ in nodes]
    for i, needs in enumerate(reads):
        for j in needs:
            readers[j].append(i)
    missing = [len(needs) for needs in reads]
    ready = [i for i, count in enumerate(missing) if count == 0]
    order: list[NodeProto] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(nodes[i])
        for j in readers[i]:
            missing[j] -= 1
            if missing[j] == 0:
                heapq.heappush(ready, j)
    if len(order) < len(nodes):
        names = [node_title(nodes[i]) for i, count in enumerate(missing) if count]
        raise ValueError(f"graph '{graph.name}' has a cycle through {', '.join(names[:5])}{' ...' if len(names) > 5 else ''}")
    return order


def node_title(node: NodeProto) -> str:
    return node.name or f"{node.op_type} that makes {next(iter(node.output), 'nothing')}"


def get_value_info(graph: GraphProto, name: str) -> Optional[ValueInfoProto]:
    """Returns the entry of a value in the inputs, outputs or value_info of the graph."""
    for values in (graph.value_info, graph.output, graph.input):
        for value in values:
            if value.name == name:
                return value
    return None


def get_dtype(graph: GraphProto, name: str) -> Optional[int]:
    """Returns the element type (onnx.TensorProto.FLOAT ...) of a value or initializer, or None if it is unknown."""
    for tensor in graph.initializer:
        if tensor.name == name:
            return int(tensor.data_type)
    for values in (graph.value_info, graph.output, graph.input):
        for value in values:
            if value.name == name and value.type.tensor_type.elem_type:
                return int(value.type.tensor_type.elem_type)
    constant = get_constant(graph, name)
    return int(constant.data_type) if constant is not None else None


def get_shape(graph: GraphProto, name: str) -> Optional[list[int]]:
    """Returns the shape of a value or initializer, with 0 for unknown dimensions, or None if the rank is unknown."""
    for tensor in graph.initializer:
        if tensor.name == name:
            return list(tensor.dims)
    for values in (graph.value_info, graph.output, graph.input):
        for value in values:
            if value.name == name and value.type.tensor_type.HasField("shape"):
                return [d.dim_value for d in value.type.tensor_type.shape.dim]
    constant = get_constant(graph, name)
    return list(constant.dims) if constant is not None else None


def get_producer(graph: GraphProto, name: str) -> Optional[NodeProto]:
    """Returns the node that produces a value, or None for inputs and initializers."""
    return next((node for node in graph.node if name in node.output), None) if name else None


def get_consumers(graph: GraphProto, name: str) -> list[NodeProto]:
    """Returns the nodes that read a value, directly or in a subgraph."""
    return [node for node in graph.node if name in _reads(node)]


def get_constant(graph: GraphProto, name: str) -> Optional[TensorProto]:
    """Returns the tensor of an initializer or of a Constant node, or None for other values. Changing it changes the
    model, except for Constants with a number or list."""
    for tensor in graph.initializer:
        if tensor.name == name:
            return tensor
    node = get_producer(graph, name)
    if node is None or node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
        return None
    for attribute in node.attribute:
        if attribute.name == "value":
            return attribute.t
        if attribute.name in ("value_int", "value_ints", "value_float", "value_floats"):
            helper = onnx("get_constant")
            dtype = np.int64 if "int" in attribute.name else np.float32
            return helper.numpy_helper.from_array(np.asarray(helper.helper.get_attribute_value(attribute), dtype), name)
    return None


def get_constant_value(graph: GraphProto, name: str) -> Optional[np.ndarray[Any, Any]]:
    """Returns the constant as an array."""
    tensor = get_constant(graph, name)
    return None if tensor is None else np.asarray(onnx("get_constant_value").numpy_helper.to_array(tensor))


def get_attribute(node: NodeProto, name: str, default: Any = None) -> Any:
    """Returns the value of an attribute, with text as str."""
    for attribute in node.attribute:
        if attribute.name == name:
            value = onnx("get_attribute").helper.get_attribute_value(attribute)
            return value.decode() if isinstance(value, bytes) else value
    return default


def is_known(graph: GraphProto, name: str) -> bool:
    """Returns whether element type and all dimensions are known. An omitted value is known."""
    shape = get_shape(graph, name) if name else []
    return not name or bool(get_dtype(graph, name)) and shape is not None and 0 not in shape


def all_graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """Yields the graph and its subgraphs."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from all_graphs(inner)
