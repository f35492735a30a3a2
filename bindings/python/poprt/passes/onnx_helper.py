"""Helpers for passes over onnx.ModelProto."""

from __future__ import annotations

from typing import Any

from .._onnx import ModelProto
from ._graph import (all_graphs, get_attribute, get_constant, get_constant_value, get_consumers, get_dtype, get_producer,
                     get_shape, get_value_info, subgraphs, topological_sort)
from .shape_inference import infer_shapes

__all__ = ["clean_info", "get_attribute", "get_constant", "get_constant_value", "get_consumers", "get_dtype", "get_producer",
           "get_shape", "get_value_info", "subgraphs", "topological_sort"]


def clean_info(model: ModelProto) -> ModelProto:
    """Forgets what the model says about intermediate values and outputs, and infers it anew, after nodes have changed. What
    is said about an output stays when nothing is inferred."""
    declared = {}
    for graph in all_graphs(model.graph):
        graph.ClearField("value_info")
    for output in model.graph.output:
        declared[output.name] = type(output.type)()
        declared[output.name].CopyFrom(output.type)
        output.ClearField("type")
    try:
        made = infer_shapes(model)
    except Exception:
        _restore(model, declared)
        raise
    _restore(made, declared)
    return made


def _restore(model: ModelProto, declared: dict[str, Any]) -> None:
    for output in model.graph.output:
        tensor = output.type.tensor_type
        if not tensor.elem_type or not tensor.HasField("shape"):
            output.type.CopyFrom(declared[output.name])
