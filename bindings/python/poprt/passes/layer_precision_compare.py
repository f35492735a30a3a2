"""layer_precision_compare: compares results of Conv, MatMul and Gemm before and after a conversion."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Union

import numpy as np

from .._onnx import ModelProto, load
from .._array_files import read_arrays
from .._backend import Backend
from ..compiler import CompilerOptions, options_of
from ..errors import Error, FailedPreconditionError, InvalidArgumentError
from ..utils import random_inputs
from ._compare_numbers import TOLERANCES, Largest, Tolerance, difference, unknown_difference
from ._input_sets import InputSet, further_sets
from .base_pass import ImmutablePass

__all__ = ["LayerPrecisionCompare", "layer_precision_compare"]

_Path = Union[str, "os.PathLike[str]"]
_COMPARED = ("Conv", "MatMul", "Gemm")


def _data(data_preprocess: Union[_Path, Mapping[str, Any], None]) -> Optional[dict[str, np.ndarray[Any, Any]]]:
    """Returns {input: samples} from a pickle file or the given dictionary."""
    if data_preprocess is None:
        return None
    found: Any = data_preprocess
    if isinstance(data_preprocess, (str, os.PathLike)):
        found = read_arrays(data_preprocess, "data_preprocess")
    if not isinstance(found, Mapping):
        raise InvalidArgumentError(f"data_preprocess: expected {{input name: array of samples}}, found {type(found).__name__}")
    return {name: np.asarray(samples) for name, samples in found.items()}


def _batch(backend: Backend, data: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Returns one batch for the inputs, selected at random from the data."""
    inputs, _ = backend.get_io_info()
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


def _tolerance(converted: ModelProto) -> Tolerance:
    """Returns the tolerance for the types of the model."""
    half = 10  # onnx.TensorProto.FLOAT16
    tensors = [v.type.tensor_type.elem_type for v in [*converted.graph.input, *converted.graph.output]]
    if any("FP8" in node.op_type for node in converted.graph.node):
        return TOLERANCES["fp8"]
    return TOLERANCES["fp16" if half in [*tensors, *(t.data_type for t in converted.graph.initializer)] else "fp32"]


_Results = Union[dict[str, "np.ndarray[Any, Any]"], Error]


def _results(backend: Backend, names: list[str], inputs: Mapping[str, np.ndarray[Any, Any]]) -> _Results:
    wanted, _ = backend.get_io_info()
    try:
        return dict(zip(names, backend.run(names, {n: inputs[n].astype(dtype) for n, (_, dtype) in wanted.items()})))
    except Error as error:
        return error


def _compare(names: list[str], sets: list[InputSet], origin: list[_Results], converted: list[_Results],
             largest: Largest) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Returns numbers by tensor, with the first inputs for which the original runs, and a line for each set of inputs."""
    found: dict[str, dict[str, Any]] = {}
    lines = []
    for (inputs, how, _), was, now in zip(sets, origin, converted):
        lines.append(f"inputs '{inputs}': {how}" + (f"; not compared, the original fails: {was}" if isinstance(was, Error) else ""))
        if isinstance(was, Error):
            continue
        if isinstance(now, Error):
            raise type(now)(f"layer_precision_compare: the converted model fails with the inputs '{inputs}', with which the original "
                            f"runs: {now}")
        for name in names:
            a, b = was[name], now[name]
            largest.add(name, inputs, a, b)
            if name not in found:
                found[name] = difference(a, b) if a.shape == b.shape and a.size else unknown_difference()
                found[name]["sizes"] = {}
            if not a.size or a.shape != b.shape:
                found[name]["sizes"][inputs] = {"origin": list(a.shape), "converted": list(b.shape)}
    return found, lines


def _rows_of_log(rows: list[tuple[Any, str]], found: dict[str, dict[str, Any]]) -> list[str]:
    lines = []
    for node, name in rows:
        lines.append(f"{node.op_type} {node.name or '(no name)'} -> {name}")
        if name not in found:
            lines.append("  not in the converted model")
            continue
        for inputs, sizes in found[name]["sizes"].items():
            lines.append(f"  size with {inputs}: {sizes['origin']} in the original, {sizes['converted']} in the converted model")
        lines += [f"  {metric}: {found[name][metric]:.6g}" for metric in ("cosine_distance", "mse", "mae", "snr")]
        for part in ("origin", "converted", "noise"):
            numbers = {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in found[name][part].items()}
            lines.append(f"  {part}: " + ", ".join(f"{k}={v}" for k, v in numbers.items()))
    return lines


def layer_precision_compare(origin_model_path: Union[_Path, ModelProto], converted_model: Union[_Path, ModelProto],
                            data_preprocess: Union[_Path, Mapping[str, Any], None] = None, options: Any = None,
                            output_dir: _Path = "./") -> dict[str, dict[str, Any]]:
    """Runs both models several times with the same inputs, and compares the results of each Conv, MatMul and Gemm of
    the original with the values of the same names in the converted model. Writes precision_compare.log to
    ``output_dir``: it begins with the largest absolute and relative differences with their places, the tolerance of
    option check, and the description of the inputs.

    Returns the numbers of the first inputs by name of the tensor. The first inputs are one batch of
    ``data_preprocess``, a pickle file of {input: samples} or such a dictionary, else random numbers. The others are
    random, zeros, ones, of one sign, sparse, repeated, distinct, and 100 for inputs of one element, so that sizes that
    depend on data are zero, small and as large as possible; "sizes" of a tensor contains those that differ or are
    empty. ``options`` are those of the compiler. Raises FailedPreconditionError (no tensor is in both models),
    InvalidArgumentError (data that does not fit), and the errors of a run of the original with the first inputs, or of
    the converted model.
    """
    origin, converted = (load(m, "layer_precision_compare") for m in (origin_model_path, converted_model))
    there = _outputs(converted)
    rows = [(node, name) for node in origin.graph.node if node.op_type in _COMPARED for name in node.output]
    names = [name for _, name in rows if name in there]
    if not names:
        raise FailedPreconditionError(f"layer_precision_compare: none of the {len(rows)} results of Conv, MatMul and Gemm is in the "
                                      "converted model under its name")
    with _run(converted, names, options) as second:
        infos, _ = second.get_io_info()
        data = _data(data_preprocess)
        first = (InputSet("random", "floats of a normal distribution, integers and conditions 0 or 1, seed 0", random_inputs(infos))
                 if data is None else InputSet("data", "one batch of data_preprocess, seed 0", _batch(second, data)))
        sets = further_sets(infos, first)
        results = [_results(second, names, s.inputs) for s in sets]
    shapes = {name: list(np.shape(value)) for name, value in first.inputs.items()}
    with _run(origin, names, CompilerOptions(input_shape=shapes)) as backend:
        expected = [_results(backend, names, s.inputs) for s in sets]
    if isinstance(expected[0], Error):
        raise expected[0]
    largest = Largest(_tolerance(converted))
    found, lines = _compare(names, sets, expected, results, largest)
    text = [*largest.lines(), *lines, f"numbers of each layer: with inputs '{first.name}'", "", *_rows_of_log(rows, found)]
    os.makedirs(output_dir, exist_ok=True)
    path = os.path.realpath(os.path.join(os.fspath(output_dir), "precision_compare.log"))
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write("\n".join(text) + "\n")
    os.replace(path + ".part", path)
    return found


class LayerPrecisionCompare(ImmutablePass):
    """The same as a pass, which is called with the converted model and does not change it."""

    name = "layer_precision_compare"

    def __init__(self, origin_model: Union[_Path, ModelProto], data_preprocess: Union[_Path, Mapping[str, Any], None] = None,
                 options: Any = None, output_dir: _Path = "./"):
        super().__init__()
        self.origin_model, self.data_preprocess, self.options, self.output_dir = origin_model, data_preprocess, options, output_dir

    def run(self, onnx_model: ModelProto) -> ModelProto:
        layer_precision_compare(self.origin_model, onnx_model, self.data_preprocess, self.options, self.output_dir)
        return onnx_model
