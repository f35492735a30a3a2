"""Helpers for passes over onnx.ModelProto."""

from __future__ import annotations

from .._onnx import ModelProto
from ._graph import (all_graphs, get_attribute, get_constant, get_constant_value, get_consumers, get_dtype, get_producer,
                     get_shape, get_value_info, subgraphs, topological_sort)
from .shape_inference import infer_shapes

__all__ = ["clean_info", "get_attribute", "get_constant", "get_constant_value", "get_consumers", "get_dtype", "get_producer",
           "get_shape", "get_value_info", "subgraphs", "topological_sort"]


def clean_info(model: ModelProto) -> ModelProto:
    """Returns a copy of the model in which types of intermediate values and outputs are inferred again, for use after
    changes of nodes. The declared type of an output stays if none is inferred."""
    fresh = type(model)()
    fresh.CopyFrom(model)
    for graph in all_graphs(fresh.graph):
        graph.ClearField("value_info")
    for output in fresh.graph.output:
        output.ClearField("type")
    made = infer_shapes(fresh)
    for output, declared in zip(made.graph.output, model.graph.output):
        tensor = output.type.tensor_type
        if not tensor.elem_type or not tensor.HasField("shape"):
            output.type.CopyFrom(declared.type)
    return made
