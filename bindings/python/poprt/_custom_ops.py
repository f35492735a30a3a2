"""Conversion of models with custom operators.

The library only converts operators that it knows. A node with another operator that has a shape function
(``register_shape_func``) is removed before the conversion: its results become inputs of the model, with the type and
shape of the function, and its inputs become outputs. After the conversion, the node is inserted again between the
values of those names.
"""

from __future__ import annotations

import functools
from typing import Any, Callable, Mapping

import numpy as np

from . import poprt_raw as _raw
from ._onnx import ModelProto, NodeProto, onnx
from .errors import InvalidArgumentError
from .passes._graph import get_value_info, node_title, subgraphs, topological_sort
from .passes.shape_inference import get_shape_func, has_shape_funcs, infer_shapes

__all__ = ["convert_around", "custom_operators"]


@functools.lru_cache(maxsize=None)
def _known_operators() -> frozenset[str]:
    """Returns the names of the library's operators, such as "Relu" or, in another domain,
    "ai.graphcore.AttentionMask"."""
    return frozenset(line.split()[0] for line in _raw.RawCompiler.list_ops().splitlines() if line.strip())


def forget_operators() -> None:
    """Reads the set of operators again at its next use, because it may have changed."""
    _known_operators.cache_clear()


def custom_nodes(model: ModelProto) -> list[NodeProto]:
    """Returns the nodes with operators that the library does not know but that have a shape function."""
    return [node for node in model.graph.node if get_shape_func(node.op_type) is not None
            and (f"{node.domain}." if node.domain not in ("", "ai.onnx") else "") + node.op_type not in _known_operators()]


def custom_operators(model: ModelProto) -> list[str]:
    """Returns the operators of custom_nodes(), each once and in alphabetical order."""
    return sorted({node.op_type for node in custom_nodes(model)}) if has_shape_funcs() else []


def fix_shapes(model: ModelProto, options: Mapping[str, str]) -> None:
    """Sets the shapes of inputs by options input_shape, batch_size and batch_axis."""
    shapes: dict[str, list[int]] = {}
    for word in options.get("input_shape", "").splitlines():
        name, _, numbers = word.rpartition("=")
        shapes[name] = [int(d) for d in numbers.rpartition("/")[2].strip("[]").split(",") if d]  # the last one, as in the library
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if "batch_size" in options and int(options.get("batch_axis", 0)) < len(dims) and value.name not in shapes:
            dims[int(options.get("batch_axis", 0))].dim_value = int(options["batch_size"])
        for dim, size in zip(dims, shapes.get(value.name, ())):
            dim.dim_value = size


def convert_around(model: ModelProto, options: Mapping[str, str], convert: Callable[[ModelProto], ModelProto]) -> ModelProto:
    """Calls ``convert(model)`` and keeps custom operators unchanged."""
    if not has_shape_funcs() or not custom_nodes(model):
        return convert(model)
    whole = type(model)()
    whole.CopyFrom(model)
    fix_shapes(whole, options)
    whole = infer_shapes(whole)
    nodes = custom_nodes(whole)
    kept = set(options.get("fp16_skip_op_types", "").replace(" ", "").split(","))
    for node in nodes:
        if node.op_type in kept:
            raise InvalidArgumentError(f"fp16_skip_op_types: {node_title(node)} keeps its fp32 operands only if a plug-in has its operator; "
                                       f"load the plug-in of {node.op_type}, or leave it out")
    made = {name for node in nodes for name in node.output if name}
    read = {name for node in nodes for name in node.input if name}
    without = type(model)()
    without.CopyFrom(whole)
    graph = without.graph
    given = {v.name for v in graph.input}
    constants = {t.name: t for t in whole.graph.initializer if t.name in read}
    for node in custom_nodes(without):
        graph.node.remove(node)
    for name in sorted(made):
        info = get_value_info(whole.graph, name)
        if info is None or not info.type.tensor_type.elem_type or any(not d.dim_value for d in info.type.tensor_type.shape.dim):
            owner = next(node for node in nodes if name in node.output)
            raise InvalidArgumentError(f"the shape function of {owner.op_type} does not determine what {node_title(owner)} makes: shapes "
                                       "of all inputs must be fixed")
        graph.input.add().CopyFrom(info)
    outputs = [o.name for o in graph.output]
    stay = [o for o in graph.output if o.name not in made]
    added = sorted(read - made - given - set(constants) - set(outputs))
    infos = [get_value_info(whole.graph, name) for name in added]
    kept_copies = [_copy(o) for o in stay] + [_copy(i) for i in infos if i is not None]
    probes = _probes(graph, (made | read & given) - set(constants))
    graph.ClearField("output")
    graph.output.extend(kept_copies + list(probes.values()))
    converted = convert(without)
    for node in [n for n in converted.graph.node if set(n.output) & set(probes)]:
        converted.graph.node.remove(node)
    return _put_back(converted, nodes, made, outputs, constants, set(added))


def _probes(graph: Any, names: set[str]) -> dict[str, Any]:
    """Adds an output with an Identity node for each of these inputs that no node reads. The library then also converts
    the types of these inputs, and the graph has an output even if all operators are custom."""
    still_read = {name for node in graph.node for name in node.input}
    found = {}
    for value in [v for v in graph.input if v.name in names - still_read]:
        probe = _copy(value)
        probe.name = f"{value.name}_poprt_probe"
        node = graph.node.add()
        node.op_type, node.name = "Identity", probe.name
        node.input.append(value.name)
        node.output.append(probe.name)
        found[probe.name] = probe
    return found


def _copy(message: Any) -> Any:
    made = type(message)()
    made.CopyFrom(message)
    return made


def _put_back(model: ModelProto, nodes: list[NodeProto], made: set[str], outputs: list[str], constants: Mapping[str, Any],
              added: set[str]) -> ModelProto:
    graph = model.graph
    infos = {v.name: _copy(v) for v in [*graph.input, *graph.output]}
    halved = any(infos[name].type.tensor_type.elem_type == 10 for name in made if name in infos)
    stay = [_copy(v) for v in graph.input if v.name not in made]
    graph.ClearField("input")
    graph.input.extend(stay)
    graph.ClearField("output")
    graph.output.extend(infos[name] for name in outputs)
    graph.value_info.extend(infos[name] for name in sorted((made | added) - set(outputs)) if name in infos)
    present = {t.name for t in graph.initializer}
    for name, tensor in constants.items():
        if name not in present:
            graph.initializer.append(_halved(tensor) if halved else tensor)
    graph.node.extend(nodes)
    _bypass_identities(graph, added)
    ordered = [_copy(node) for node in topological_sort(graph)]
    graph.ClearField("node")
    graph.node.extend(ordered)
    imported = {o.domain for o in model.opset_import}
    for domain in sorted({node.domain for node in nodes} - imported - {""}):
        model.opset_import.append(onnx("custom operators").helper.make_opsetid(domain, 1))
    return model


def _bypass_identities(graph: Any, names: set[str]) -> None:
    """Removes the nodes that only renamed values for temporary outputs."""
    sources = {node.output[0]: node for node in graph.node if node.op_type == "Identity" and node.domain == ""
               and node.output[0] in names and not subgraphs(node)}
    if any(name in sources for node in graph.node for inner in subgraphs(node) for n in inner.node for name in n.input):
        return  # a nested graph reads it by name
    renamed = {name: node.input[0] for name, node in sources.items()}
    for node in graph.node:
        for i, name in enumerate(node.input):
            while name in renamed:
                name = node.input[i] = renamed[name]
    for node in sources.values():
        graph.node.remove(node)
    stay = [_copy(v) for v in graph.value_info if v.name not in renamed]
    graph.ClearField("value_info")
    graph.value_info.extend(stay)


def _halved(tensor: Any) -> Any:
    """Returns a float weight of a custom operator as fp16, like the data of the operator; other types are unchanged."""
    if tensor.data_type != 1:
        return tensor
    helper = onnx("custom operators").numpy_helper
    return helper.from_array(helper.to_array(tensor).astype(np.float16), tensor.name)
