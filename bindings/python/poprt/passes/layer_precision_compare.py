"""layer_precision_compare: what Conv, MatMul and Gemm make before and after a conversion."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union

import numpy as np

from .._onnx import ModelProto, load
from .._arrays import read_arrays
from .._backend import Backend
from ..compiler import CompilerOptions, options_of
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..utils import random_inputs
from ._compare_numbers import difference
from .base_pass import ImmutablePass

__all__ = ["LayerPrecisionCompare", "layer_precision_compare"]

_Path = Union[str, "os.PathLike[str]"]
_COMPARED = ("Conv", "MatMul", "Gemm")


def _data(data_preprocess: Union[_Path, Mapping[str, Any], None]) -> Optional[dict[str, np.ndarray[Any, Any]]]:
    """{input: samples}, of a pickle file or as it is."""
    if data_preprocess is None:
        return None
    found: Any = data_preprocess
    if isinstance(data_preprocess, (str, os.PathLike)):
        found = read_arrays(data_preprocess, "data_preprocess")
    if not isinstance(found, Mapping):
        raise InvalidArgumentError(f"data_preprocess: expected {{input name: array of samples}}, found {type(found).__name__}")
    return {name: np.asarray(samples) for name, samples in found.items()}


def _batch(backend: Backend, data: Optional[dict[str, np.ndarray[Any, Any]]]) -> dict[str, np.ndarray[Any, Any]]:
    """One batch for the inputs: a random one of the data's, or random numbers."""
    inputs, _ = backend.get_io_info()
    if data is None:
        return random_inputs(inputs)
    missing = sorted(set(inputs) - set(data))
    if missing:
        raise InvalidArgumentError(f"data_preprocess lacks input '{missing[0]}'; it has: {', '.join(sorted(data))}")
    made, start = {}, None
    for name, (shape, dtype) in inputs.items():
        rows, most = (shape[0] if shape else 1), len(data[name])
        if most < rows:
            raise InvalidArgumentError(f"data_preprocess: input '{name}' needs {rows} samples for a batch, found {most}")
        if start is None:
            start = int(np.random.default_rng(0).integers(0, most - rows + 1))
        made[name] = data[name][min(start, most - rows):][:rows].reshape(shape).astype(dtype)
    return made


def _outputs(model: ModelProto) -> set[str]:
    return {name for node in model.graph.node for name in node.output if name}


def _run(model: ModelProto, names: list[str], options: Any) -> Backend:
    chosen = options_of(options)
    already = {o.name for o in model.graph.output}
    marked = ",".join(n for n in names if n not in already)
    if marked:
        chosen = CompilerOptions(**{**chosen.changed(), "options": {**chosen.options, "checkpoints": marked}})
    return Backend(model.SerializeToString(), compiler_options=chosen)


def layer_precision_compare(origin_model_path: Union[_Path, ModelProto], converted_model: Union[_Path, ModelProto],
                            data_preprocess: Union[_Path, Mapping[str, Any], None] = None, options: Any = None,
                            output_dir: _Path = "./") -> dict[str, dict[str, Any]]:
    """Runs both models on one batch and compares what each Conv, MatMul and Gemm of the original makes with what is called the
    same in the converted one. Writes precision_compare.log into ``output_dir``, and gives the numbers by name of the tensor.

    ``data_preprocess`` is a pickle file of {input: samples}, or such a dictionary; without it inputs are random.
    ``options`` are those of the compiler.
    """
    origin, converted = (load(m, "layer_precision_compare") for m in (origin_model_path, converted_model))
    there = _outputs(converted)
    rows = [(node, name) for node in origin.graph.node if node.op_type in _COMPARED for name in node.output]
    names = [name for _, name in rows if name in there]
    if not names:
        raise FailedPreconditionError(f"layer_precision_compare: none of the {len(rows)} results of Conv, MatMul and Gemm is in the "
                                      "converted model under its name")
    with _run(converted, names, options) as second:
        inputs = _batch(second, _data(data_preprocess))
        results = dict(zip(names, second.run(names, inputs)))
        shapes = {name: list(np.shape(value)) for name, value in inputs.items()}
    with _run(origin, names, CompilerOptions(input_shape=shapes)) as first:
        wanted, _ = first.get_io_info()
        expected = dict(zip(names, first.run(names, {n: inputs[n].astype(dtype) for n, (_, dtype) in wanted.items()})))
    found = {name: difference(expected[name], results[name]) for name in names}
    lines = []
    for node, name in rows:
        lines.append(f"{node.op_type} {node.name or '(no name)'} -> {name}")
        if name not in found:
            lines.append("  not in the converted model")
            continue
        lines += [f"  {metric}: {found[name][metric]:.6g}" for metric in ("cosine_distance", "mse", "mae", "snr")]
        for part in ("origin", "converted", "noise"):
            numbers = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in found[name][part].items()}
            lines.append(f"  {part}: " + ", ".join(f"{k}={v}" for k, v in numbers.items()))
    os.makedirs(output_dir, exist_ok=True)
    path = os.path.realpath(os.path.join(os.fspath(output_dir), "precision_compare.log"))
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(path + ".part", path)
    return found


class LayerPrecisionCompare(ImmutablePass):
    """The same as a pass, for the converted model that it is called with, which stays as it is."""

    name = "layer_precision_compare"

    def __init__(self, origin_model: Union[_Path, ModelProto], data_preprocess: Union[_Path, Mapping[str, Any], None] = None,
                 options: Any = None, output_dir: _Path = "./"):
        super().__init__()
        self.origin_model, self.data_preprocess, self.options, self.output_dir = origin_model, data_preprocess, options, output_dir

    def run(self, onnx_model: ModelProto) -> ModelProto:
        layer_precision_compare(self.origin_model, onnx_model, self.data_preprocess, self.options, self.output_dir)
        return onnx_model
