"""Infers shapes and types of a model's values, including those of custom operators."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Optional, TypeVar, Union

from .. import _builtin
from .._onnx import ModelProto, NodeProto, ValueInfoProto, onnx
from ..errors import Error
from ..utils import get_logger
from ._graph import all_graphs, get_value_info, is_known, node_title, subgraphs

__all__ = ["ShapeFunc", "ShapeInference", "get_shape_func", "infer_shapes", "register", "register_shape_func",
           "update_value_info"]

_Class = TypeVar("_Class", bound="type[ShapeFunc]")
_functions: dict[str, "type[ShapeFunc]"] = {}
_FEW = 4096  # most elements of an initializer that may be a shape


def update_value_info(model: ModelProto, value_info: ValueInfoProto) -> ModelProto:
    """Stores ``value_info`` for the value with its name: replaces its entry in value_info, the outputs or the inputs, or
    adds one to value_info."""
    found = get_value_info(model.graph, value_info.name)
    if found is None:
        model.graph.value_info.append(value_info)
    else:
        found.CopyFrom(value_info)
    return model


class ShapeFunc:
    """Infers shape and type of the results of an operator. A subclass defines ``__call__(model, node)``, which stores
    the result with ``update_value_info`` and returns the model and whether it succeeded. Otherwise it is called
    again when more is known."""

    def __init__(self) -> None:
        pass

    def __call__(self, model: ModelProto, node: NodeProto) -> tuple[ModelProto, bool]:
        raise NotImplementedError(f"{type(self).__name__} must define __call__(model, node)")

    def update_value_info(self, model: ModelProto, value_info: ValueInfoProto) -> ModelProto:
        return update_value_info(model, value_info)

    def __repr__(self) -> str:
        return f"<shape function {type(self).__name__}>"


def register_shape_func(op_types: Union[str, Iterable[str]]) -> Callable[[_Class], _Class]:
    """A decorator that registers the class (a ShapeFunc) for operators. A later class replaces an earlier one."""
    if not isinstance(op_types, Iterable):
        raise TypeError(f"register_shape_func: expected types of operators, found {op_types!r}")
    names = [op_types] if isinstance(op_types, str) else list(op_types)

    def decorate(cls: _Class) -> _Class:
        if not (isinstance(cls, type) and issubclass(cls, ShapeFunc)):
            raise TypeError(f"register_shape_func: expected a subclass of ShapeFunc, found {cls!r}")
        _functions.update((name, cls) for name in names)
        return cls
    return decorate


# The names in PopRT 1.1.
ShapeInference = ShapeFunc
register = register_shape_func


def get_shape_func(op_type: str) -> Optional[type[ShapeFunc]]:
    """Returns the class that is registered for an operator."""
    return _functions.get(op_type)


def has_shape_funcs() -> bool:
    return bool(_functions)


def unknown_nodes(model: ModelProto) -> list[NodeProto]:
    """Returns nodes of the main graph with a result of unknown type or shape."""
    known = {t.name for t in model.graph.initializer}
    for values in (model.graph.value_info, model.graph.output):
        for value in values:
            tensor = value.type.tensor_type
            if tensor.elem_type and tensor.HasField("shape") and all(d.dim_value > 0 for d in tensor.shape.dim):
                known.add(value.name)
    return [node for node in model.graph.node if any(name and name not in known for name in node.output)]


def _infer_function_types(model: ModelProto) -> tuple[ModelProto, bool]:
    """Calls the functions of all nodes with an unknown result once. Returns the model and whether one of them
    succeeded."""
    progress = False
    for node in unknown_nodes(model):
        function = _functions.get(node.op_type)
        if function is None:
            continue
        result: Any = function()(model, node)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise TypeError(f"shape function {function.__name__} must return (model, found), returned {result!r:.60}")
        model, found = result
        if found and not all(is_known(model.graph, name) for name in node.output):
            raise ValueError(f"shape function {function.__name__} reports that it found what {node_title(node)} makes, but type or "
                             "shape are not in the model: call update_value_info")
        progress = progress or bool(found)
    return model, progress


def _could_be_known(model: ModelProto) -> bool:
    """Returns whether a node with an unknown result has only known inputs. ONNX's inference does not know its operator
    then, but the library may know it."""
    return any(all(is_known(model.graph, name) for name in node.input) for node in unknown_nodes(model))


def _infer_by_library(model: ModelProto) -> bool:
    """Stores types that the library infers beyond ONNX's inference, for operators of other domains and some of ONNX's
    own. Returns whether there were any."""
    try:
        inferred = _builtin.apply(model, [("shape_inference", {})])
    except Error as error:
        get_logger().debug("shape inference of the library: %s", error)
        return False
    wanted = {name for node in unknown_nodes(model) for name in node.output}
    found = False
    for values in (inferred.graph.value_info, inferred.graph.output):
        for value in values:
            if value.name in wanted and is_known(inferred.graph, value.name):
                update_value_info(model, value)
                found = True
    return found


def _without_weights(model: ModelProto) -> ModelProto:
    """Returns a copy in which large initializers are inputs: shapes do not depend on their values, and inference copies
    a model several times."""
    light = type(model)()
    light.ir_version = model.ir_version
    light.opset_import.extend(model.opset_import)
    if hasattr(model, "functions"):
        light.functions.extend(model.functions)
    # The library assumes version 1 for a domain without an import, and ONNX reports an error.
    used = {node.domain for g in all_graphs(model.graph) for node in g.node}
    for domain in sorted(used - {o.domain for o in model.opset_import} - {"", "ai.onnx"}):
        light.opset_import.add(domain=domain, version=1)
    graph, inputs = light.graph, {value.name for value in model.graph.input}
    graph.name = model.graph.name or "graph"
    for field in ("node", "input", "output", "value_info", "sparse_initializer"):
        getattr(graph, field).extend(getattr(model.graph, field))
    for tensor in model.graph.initializer:
        count = 1
        for dim in tensor.dims:
            count *= dim
        if count <= _FEW:
            graph.initializer.append(tensor)
        elif tensor.name not in inputs:
            value = graph.input.add(name=tensor.name)
            value.type.tensor_type.elem_type = tensor.data_type
            for dim in tensor.dims:
                value.type.tensor_type.shape.dim.add(dim_value=dim)
    return light


def infer_light(model: ModelProto) -> ModelProto:
    """Returns the result of infer_shapes for a copy without large weights."""
    infer = onnx("infer_shapes").shape_inference.infer_shapes
    light = _without_weights(model)
    for _ in range(len(light.graph.node) + 1):  # each round resolves at least one node, or is the last
        light = infer(light, data_prop=True)
        light, progress = _infer_function_types(light)
        if progress:
            continue
        if not _could_be_known(light) or not _infer_by_library(light):
            break
    return light


def infer_shapes(model: ModelProto) -> ModelProto:
    """Returns the model with the types and shapes of its values, from ONNX's inference, the functions of
    ``register_shape_func``, and the library. Others stay unknown."""
    light = infer_light(model)
    made = type(model)()
    made.CopyFrom(model)
    made.graph.ClearField("value_info")
    made.graph.value_info.extend(light.graph.value_info)
    made.graph.ClearField("output")
    made.graph.output.extend(light.graph.output)
    for node, inferred in zip(made.graph.node, light.graph.node):
        if subgraphs(node):
            node.CopyFrom(inferred)
    return made
