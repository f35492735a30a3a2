"""The cost of a model: floating-point operations and bytes by operator.

A multiplication and an addition are two operations. Products and convolutions are counted completely (including zero
padding). Pooling has one operation for each element of each window, a reduction one for each element of the input,
Softmax five for each element, a normalisation by mean and variance seven, BatchNormalization two, and other
computations one for each element of the result. Operators that only move data have none. For If, the more expensive
branch counts. The body of a Loop or Scan counts once for each known iteration (otherwise once). Bytes are those of all
inputs and outputs of a node.
"""

from __future__ import annotations

from math import prod
from typing import Any, Callable, NamedTuple, Optional, Sequence

from . import _builtin
from ._onnx import GraphProto, ModelProto, NodeProto, load
from .errors import Error
from .passes._graph import get_attribute, get_constant_value, subgraphs
from .passes.shape_inference import infer_light, unknown_nodes
from .utils import get_logger, onnx_tensor_dtype_to_np_dtype

__all__ = ["NodeCost", "Profiler", "get_model_bytes", "get_model_costs", "get_model_flops"]

Shapes = Sequence[Sequence[int]]
# (node, shapes of its inputs, shapes of its outputs) -> operations
Count = Callable[[NodeProto, Shapes, Shapes], int]

_MOVING = frozenset("""Cast CastLike Compress Concat Constant ConstantOfShape DepthToSpace Dropout Expand EyeLike Flatten Gather
    GatherElements GatherND Identity If Loop OneHot Pad Range Reshape ReverseSequence Scan Scatter ScatterElements ScatterND Shape
    Size Slice SpaceToDepth Split Squeeze Tile Transpose Unsqueeze""".split())


class NodeCost(NamedTuple):
    """The cost of one node."""

    name: str
    op_type: str
    flops: int
    bytes: int


def _elements(shapes: Shapes, index: int = 0) -> int:
    return prod(int(d) for d in shapes[index]) if index < len(shapes) else 0


def _each_output(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    return _elements(outputs)


def _each_input(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    return _elements(inputs)


def _nothing(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    return 0


def _times(count: int) -> Count:
    return lambda node, inputs, outputs: count * _elements(outputs)


def _matmul(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    return 2 * _elements(outputs) * int(inputs[0][-1]) if len(inputs[0]) else 0


def _gemm(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    depth = int(inputs[0][0 if get_attribute(node, "transA", 0) else 1])
    return _elements(outputs) * (2 * depth + (len(node.input) > 2 and node.input[2] != ""))


def _conv(weight: int) -> Count:
    def count(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
        bias = node.op_type == "Conv" and len(node.input) > 2 and node.input[2] != ""
        return _elements(outputs) * (2 * prod(int(d) for d in inputs[weight][1:]) + bias)
    return count


def _conv_transpose(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    bias = len(node.input) > 2 and node.input[2] != ""
    return 2 * _elements(inputs) * prod(int(d) for d in inputs[1][1:]) + bias * _elements(outputs)


def _window(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    return _elements(outputs) * prod(int(d) for d in get_attribute(node, "kernel_shape", [1]))


def _recurrent(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    steps = int(inputs[0][0]) * int(inputs[0][1])  # length times batch, in the order of `layout`
    return 2 * steps * (_elements(inputs, 1) + _elements(inputs, 2))


def _attention(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    past = int(inputs[4][-2]) if len(inputs) > 4 and len(inputs[4]) > 1 else 0
    return 2 * (int(inputs[1][-2]) + past) * (_elements(inputs) + _elements(outputs))


def _einsum(node: NodeProto, inputs: Shapes, outputs: Shapes) -> int:
    sizes: dict[str, int] = {}
    words = str(get_attribute(node, "equation", "")).replace(" ", "").split("->")[0].split(",")
    for word, shape in zip(words, inputs):
        letters = word.replace("...", "")
        ellipsis = len(shape) - len(letters)
        names = [*word.split("...")[0], *(f".{i}" for i in range(ellipsis)), *(word.split("...")[1] if "..." in word else "")]
        for name, size in zip(names, shape):
            sizes[name] = max(sizes.get(name, 1), int(size))
    return len(words) * prod(sizes.values()) if len(words) > 1 else prod(sizes.values())


_COUNTS: dict[str, Count] = {
    "MatMul": _matmul, "MatMulInteger": _matmul, "QLinearMatMul": _matmul, "FP8MatMul": _matmul,
    "FP8MatMulWithoutShapeInfer": _matmul, "Gemm": _gemm, "Conv": _conv(1), "ConvInteger": _conv(1), "FP8Conv": _conv(1),
    "QLinearConv": _conv(3), "ConvTranspose": _conv_transpose, "MaxPool": _window, "AveragePool": _window, "LpPool": _window,
    "GlobalAveragePool": _each_input, "GlobalMaxPool": _each_input, "GlobalLpPool": _each_input, "ArgMax": _each_input,
    "ArgMin": _each_input, "Softmax": _times(5), "LogSoftmax": _times(5), "Hardmax": _times(5), "SoftmaxV2": _times(5),
    "LayerNormalization": _times(7), "GroupNormalization": _times(7), "InstanceNormalization": _times(7),
    "RMSNormalization": _times(7), "MeanVarianceNormalization": _times(7), "FastNorm": _times(7),
    "BatchNormalization": _times(2), "LSTM": _recurrent, "GRU": _recurrent, "RNN": _recurrent, "Attention": _attention,
    "Einsum": _einsum}


def _with_unknown(count: Count) -> Count:
    """Extends a count to unknown shapes."""
    def size(dim: Any) -> int:
        try:
            return max(int(dim), 1)
        except (TypeError, ValueError):
            return 1

    def counted(node: NodeProto, inputs: Any, outputs: Any) -> int:
        if any(shape is None for shape in (*inputs, *outputs)):
            return 0
        try:
            return count(node, *([[size(d) for d in shape] for shape in shapes] for shapes in (inputs, outputs)))
        except IndexError:  # too few dimensions, because the shape is unknown
            return 0
    return counted


class Profiler:
    """Counts operations by type of operator."""

    def get_profiler(self, op_type: str) -> Count:
        """Returns the counting function of an operator: ``(node, input_shapes, output_shapes) -> operations``. Shapes
        are sequences or arrays of integers. An unknown dimension (None, a name, or not positive) counts as 1. If one of
        the shapes is unknown (None), the operations are 0."""
        if op_type in _COUNTS:
            return _with_unknown(_COUNTS[op_type])
        if op_type in _MOVING:
            return _nothing
        return _with_unknown(_each_input if op_type.startswith("Reduce") else _each_output)

    def __repr__(self) -> str:
        return f"<Profiler of {len(_COUNTS)} operators by formulas of their own>"


class _Values:
    """Shapes and element sizes of values of a graph and of its enclosing graphs."""

    def __init__(self, graph: GraphProto, outer: Optional[_Values]):
        self._known: dict[str, tuple[list[int], int]] = dict(outer._known) if outer else {}
        for values in (graph.input, graph.value_info, graph.output):
            for value in values:
                tensor = value.type.tensor_type
                if tensor.elem_type and tensor.HasField("shape"):
                    self._known[value.name] = [d.dim_value for d in tensor.shape.dim], _size(tensor.elem_type)
        for tensor in graph.initializer:
            self._known[tensor.name] = list(tensor.dims), _size(tensor.data_type)
        for node in graph.node:
            if node.op_type == "Constant" and node.output and node.output[0] not in self._known:
                array = get_constant_value(graph, node.output[0])
                if array is not None:
                    self._known[node.output[0]] = list(array.shape), array.itemsize

    def shapes(self, names: Sequence[str]) -> list[list[int]]:
        return [self._known[n][0] if n in self._known else [] for n in names]

    def unknown(self, names: Sequence[str]) -> list[str]:
        return [n for n in names if n and (n not in self._known or 0 in self._known[n][0])]

    def bytes(self, names: Sequence[str]) -> int:
        return sum(prod(self._known[n][0]) * self._known[n][1] for n in dict.fromkeys(names) if n in self._known)


def _size(elem_type: int) -> int:
    try:
        return onnx_tensor_dtype_to_np_dtype(elem_type).itemsize
    except ValueError:  # 8-bit floats and smaller types
        return 1


def _inner(node: NodeProto, graph: GraphProto, values: _Values, skipped: list[str]) -> tuple[int, int]:
    """Returns operations and bytes of the subgraphs of a node."""
    costs = []
    for inner in subgraphs(node):
        rows = _graph_costs(inner, skipped, values)
        costs.append((sum(r.flops for r in rows), sum(r.bytes for r in rows)))
    if not costs:
        return 0, 0
    count = 1
    if node.op_type == "Loop" and node.input[0]:
        trips = get_constant_value(graph, node.input[0])
        count = int(trips.reshape(-1)[0]) if trips is not None else 1
    elif node.op_type == "Scan":
        scanned = values.shapes(node.input)[-get_attribute(node, "num_scan_inputs", 1):]
        axes = get_attribute(node, "scan_input_axes", [0])
        count = scanned[0][axes[0]] if scanned and scanned[0] else 1
    flops, size = max(costs)
    return count * flops, count * size


def _graph_costs(graph: GraphProto, skipped: list[str], outer: Optional[_Values] = None) -> list[NodeCost]:
    values, profiler, rows = _Values(graph, outer), Profiler(), []
    for node in graph.node:
        missing = values.unknown([*node.input, *node.output])
        flops = 0
        if not missing:
            flops = int(profiler.get_profiler(node.op_type)(node, values.shapes(node.input), values.shapes(node.output)))
        else:
            skipped.append(f"{node.op_type} {node.name}, where the shape of '{missing[0]}' is not known")
        inner, inner_bytes = _inner(node, graph, values, skipped)
        size = values.bytes(node.input) + values.bytes(node.output) if node.op_type != "Constant" else 0
        rows.append(NodeCost(node.name, node.op_type, flops + inner, size + inner_bytes))
    return rows


def _fix_inputs(graph: GraphProto) -> bool:
    """Sets variable dimensions of inputs to 1 and removes types that depend on them. Returns whether there were any."""
    weights = {tensor.name for tensor in graph.initializer}
    dims = [dim for value in graph.input if value.name not in weights for dim in value.type.tensor_type.shape.dim if dim.dim_value < 1]
    for dim in dims:
        dim.dim_value = 1
    if dims:
        del graph.value_info[:]
        for value in graph.output:
            value.type.tensor_type.ClearField("shape")
    return bool(dims)


def get_model_costs(model: Any) -> list[NodeCost]:
    """Returns operations and bytes of each node. ``model`` is a path, the bytes of a file, or an onnx.ModelProto."""
    given: ModelProto = load(model, "get_model_costs")
    light = infer_light(given)
    if unknown_nodes(light) and _fix_inputs(light.graph):
        light = infer_light(light)
        get_logger().warning("variable dimensions of inputs count as 1: set them first (pass const_input_shape)")
    if unknown_nodes(light):
        try:  # folding makes shapes constant that the model computes
            light = infer_light(_builtin.apply(light, [("constant_folding", {}), ("eliminate_deadend", {})]))
        except Error as error:
            get_logger().debug("shapes are not folded: %s", error)
    skipped: list[str] = []
    rows = _graph_costs(light.graph, skipped)
    if skipped:
        get_logger().warning("%d nodes are not counted, such as %s", len(skipped), skipped[0])
    return rows


def get_model_flops(model: Any, verbose: bool = False) -> int:
    """Returns the operations of a model without changing it; ``verbose`` prints them by node. Variable dimensions of inputs
    count as 1, and nodes whose shapes are unknown nevertheless do not count; both cause a warning."""
    rows = get_model_costs(model)
    total = sum(row.flops for row in rows)
    if verbose:
        for row in rows:
            print(f"{row.op_type:<24} {row.flops:>16} FLOPs {row.bytes:>14} bytes  {row.name}")
        print(f"{'total':<24} {total:>16} FLOPs {sum(row.bytes for row in rows):>14} bytes")
    return total


def get_model_bytes(model: Any) -> int:
    """Returns the number of bytes that the nodes of a model read and write."""
    return sum(row.bytes for row in get_model_costs(model))
