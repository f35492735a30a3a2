"""Converter: converts models of the onnx package, with PopRT's names."""

from __future__ import annotations

import json
import logging
import operator
import os
import tempfile
from typing import Any, Iterable, Mapping, Optional, Sequence, TypeVar, Union, cast

from ._conversion import convert, names_of, read_model
from ._keywords import keywords
from ._onnx import Proto, checked, load
from .compiler import Compiler
from .passes.base_pass import Pass
from .quantizer import METADATA_KEY

__all__ = ["Converter", "MFConverter", "Sharder"]

_Model = TypeVar("_Model", bound=Proto)
_FP8_PARAMS = "F143,F143,0,0"
_Names = Union[str, Iterable[str], None]
_Words = Union[str, Mapping[str, Any], Iterable[str], None]


class _Opset(int):
    """A default opset, which may be replaced by a newer one if an operator needs it."""


_DEFAULT_OPSET = _Opset(11)


def _names(value: _Names) -> str:
    """Returns names separated by commas, from a list or from text."""
    return value if isinstance(value, str) else ",".join(value or ())


def _words(name: str, pairs: _Words, separator: str = "=") -> str:
    """Returns KEY=VAL lines from a mapping, from a list of such words as in YAML files, or from text with one."""
    if isinstance(pairs, str):
        return pairs
    if isinstance(pairs, Mapping):
        return "\n".join(str(key) if value is None else f"{key}{separator}{value}" for key, value in pairs.items())
    words: list[Any] = list(pairs) if isinstance(pairs, Iterable) else [] if pairs is None else [pairs]
    if not all(isinstance(word, str) for word in words):
        raise TypeError(f"{name}: expected a dict, or a list of words KEY{separator}VALUE, found {pairs!r}")
    return "\n".join(words)


def _shape(name: str, shape: Any) -> str:
    """Returns "2,3" for [2, 3], "[]" for the shape of a scalar, and text unchanged."""
    if isinstance(shape, str):
        return shape.strip("[]() ") or ("[]" if shape.strip() else "")
    try:
        return ",".join(str(operator.index(size)) for size in shape) or "[]"
    except TypeError:
        raise TypeError(f"input_shape: expected whole numbers for input '{name}', such as [1, 3, 224, 224], found {shape!r}") from None


def _shapes(given: _Words) -> str:
    """Returns lines of NAME=d0,d1."""
    if isinstance(given, Mapping):
        given = {name: _shape(name, shape) for name, shape in given.items()}
    return _words("input_shape", given)


def _opset(given: Any) -> int:
    try:
        return int(given)
    except (TypeError, ValueError):
        raise ValueError(f"convert_version: expected an opset such as 11, or None for the model's own, found {given!r}") from None


def _cuts(info: Mapping[str, int]) -> str:
    """Returns lines of NODE=NUMBER."""
    return "\n".join(f"{node}={int(number)}" for node, number in info.items())


class Converter:
    """Converts an ONNX model to a static model for inference with the requested precision.

    The arguments are options of command ``poprt``, which docs/options.md documents. An option that tunes a chip is
    recorded when the model is compiled with it (``CompilerOptions.options``). An option that is not available is an
    UnimplementedError. ``input_shape`` is a dict, or a list of NAME=d0,d1,... as in YAML files, and so are the other
    options of KEY=VAL words. With ``quantize``, ``quantizer.quantize`` chooses 8-bit floats by data later. With the
    default of ``convert_version``, the model gets opset 11 or, with a warning, the lowest one above it that its
    operators allow; None keeps the model's own. 64-bit integers become 32-bit, including those of inputs and outputs;
    ``skip_passes="int64_to_int32"`` keeps them. There is no progress bar, so ``disable_progress_bar`` has no effect.
    Messages of the library go to ``logger`` while a model is converted. With ``check``, the original and the converted
    model run several times with the same inputs. If they differ too much, DataLossError contains the output, the
    largest differences, the tolerance and the inputs. Otherwise ``check_report`` is the report of the last conversion
    (docs/precision.md), and its lines go to ``logger``, or to the logger "poprt", as INFO.
    """

    @keywords()
    def __init__(self, *, input_shape: _Words = None, convert_version: Optional[int] = _DEFAULT_OPSET,
                 precision: str = "fp32", checkpoints: _Names = None, eightbitsio: bool = False,
                 fp16_skip_op_types: _Names = None, skip_passes: _Names = None, used_passes: Union[str, Iterable[Any]] = (), check: bool = False,
                 disable_fast_norm: bool = False, pack_args: _Words = None, fp8_skip_op_names: _Names = None,
                 fp8_params: Union[str, Iterable[Any], None] = _FP8_PARAMS, quantize: bool = False, enable_insert_remap: bool = False,
                 enable_erf_gelu: bool = False, serialize_matmul: _Words = None,
                 serialize_matmul_add: _Words = None, merge_matmul: _Names = None,
                 merge_matmul_add: _Names = None, merge_moe: _Names = None, remap_mode: _Names = ("after_matmul",),
                 max_tensor_size: int = -1, infer_shape_ahead: bool = False, enable_avoid_overflow_patterns: bool = False,
                 disable_progress_bar: bool = False, batch_size: Optional[int] = None, batch_axis: Optional[int] = None,
                 remove_outputs: _Names = (), fold_periodic_initializer: bool = False, enable_compress_pattern: bool = False,
                 merge_if_with_same_cond: bool = False, apply_hcsr: _Words = None,
                 logger: Optional[logging.Logger] = None):
        if logger is not None and not hasattr(logger, "log"):
            raise TypeError(f"logger: expected a logging.Logger, found {logger!r}; poprt.utils.get_logger makes one")
        if fp8_params is not None and not isinstance(fp8_params, str):
            fp8_params = ",".join(map(str, fp8_params))
        flags = {"eightbitsio": eightbitsio, "check": check, "disable_fast_norm": disable_fast_norm,
                 "enable_insert_remap": enable_insert_remap, "enable_erf_gelu": enable_erf_gelu,
                 "infer_shape_ahead": infer_shape_ahead, "enable_avoid_overflow_patterns": enable_avoid_overflow_patterns,
                 "fold_periodic_initializer": fold_periodic_initializer, "enable_compress_pattern": enable_compress_pattern,
                 "merge_if_with_same_cond": merge_if_with_same_cond}
        texts = {"input_shape": _shapes(input_shape), "precision": precision, "checkpoints": _names(checkpoints),
                 "fp16_skip_op_types": _names(fp16_skip_op_types), "skip_passes": _names(skip_passes),
                 "pack_args": _words("pack_args", pack_args), "fp8_skip_op_names": _names(fp8_skip_op_names),
                 "fp8_params": "" if fp8_params == _FP8_PARAMS else fp8_params or "",
                 "serialize_matmul": _words("serialize_matmul", serialize_matmul),
                 "serialize_matmul_add": _words("serialize_matmul_add", serialize_matmul_add),
                 "merge_matmul": _names(merge_matmul), "merge_matmul_add": _names(merge_matmul_add),
                 "merge_moe": _names(merge_moe), "remap_mode": _names(remap_mode) if enable_insert_remap else "",
                 "remove_outputs": _names(remove_outputs),
                 "apply_hcsr": _words("apply_hcsr", apply_hcsr, ",")}
        wish = "lowest_opset" if isinstance(convert_version, _Opset) else "convert_version"
        numbers = {wish: None if convert_version is None else _opset(convert_version), "batch_size": batch_size, "batch_axis": batch_axis,
                   "max_tensor_size": None if max_tensor_size == -1 else max_tensor_size}
        # The options of command poprt of the arguments, by name.
        self.options: dict[str, str] = {name: "True" for name, on in flags.items() if on}
        self.options.update((name, text) for name, text in texts.items() if text)
        self.options.update((name, str(number)) for name, number in numbers.items() if number is not None)
        self.options["narrow_int64"] = "True"
        # Only ipu21 has 8-bit floats. As in PopRT, their default formats differ from those of the command line.
        self.deferred: dict[str, str] = {}
        if precision in ("fp8", "fp8_weight"):
            self.options.update(ipu_version="ipu21", fp8_params=fp8_params or _FP8_PARAMS)
            if quantize:  # quantizer.quantize chooses formats for numbers that are not rounded yet
                for name in ("fp8_params", "fp8_skip_op_names", "fp16_skip_op_types", "enable_avoid_overflow_patterns"):
                    if name in self.options:
                        self.deferred[name] = self.options.pop(name)
                del self.options["precision"], self.options["ipu_version"]
        elif quantize:
            raise ValueError(f"quantize goes with precision fp8 or fp8_weight, given {precision!r}")
        # The passes after the default ones: names, including those of passes in Python, and instances.
        self.used_passes = names_of(used_passes)
        if "float_to_fp8" in self.used_passes and not self.deferred:
            self.options["fp8_params"] = fp8_params or _FP8_PARAMS
        if self.used_passes:
            self.options["passes"] = ",".join(item if isinstance(item, str) else repr(item) for item in self.used_passes)
        # The report of check of the last conversion.
        self.check_report: Optional[dict[str, Any]] = None
        self.disable_progress_bar = disable_progress_bar  # there is no progress bar
        self.logger = logger

    def __repr__(self) -> str:
        return f"Converter({', '.join(f'{name}={text!r}' for name, text in self.options.items())})"

    def convert(self, model: _Model) -> _Model:
        """Returns the converted model with the type of ``model`` (onnx.ModelProto). External data in other files is not
        found, so load the model with it."""
        reports: dict[str, str] = {}
        made: _Model = convert(checked(model, "Converter.convert"), self.options, self.used_passes, self.logger, reports)
        self.check_report = json.loads(reports["check.json"]) if "check.json" in reports else None
        for line in (self.check_report or {}).get("text", ()):
            (self.logger or logging.getLogger("poprt")).info("check: %s", line)
        if self.deferred:
            cast(Any, made).metadata_props.add(key=METADATA_KEY, value=json.dumps(self.deferred))
        return made


class Sharder:
    """Assigns each node of a model to an IPU and to a stage of a pipeline.

    ``Sharder(sharding_info={"conv_7": 0}, pipelining_info={"conv_7": 0}).run(model)``: in the order of the graph, each
    cut point places the nodes that it needs, and that no earlier one has placed. The other nodes are on the IPU and the
    stage after the last one. The model is a copy of the given one (a path, bytes or an onnx.ModelProto) whose nodes
    have the attributes ``__ipu_number`` and ``__pipeline_stage``. ``CompilerOptions(num_ipus=2,
    virtual_graph_mode="manual")`` compiles it.
    """

    def __init__(self, sharding_info: Optional[Mapping[str, int]] = None, pipelining_info: Optional[Mapping[str, int]] = None):
        self.sharding_info = dict(sharding_info or {})
        self.pipelining_info = dict(pipelining_info or {})
        if not self.sharding_info and not self.pipelining_info:
            raise ValueError("there is no cut point: give sharding_info={node: device}, or pipelining_info={node: stage} for a "
                             "model that is sharded")

    def __repr__(self) -> str:
        return f"Sharder(sharding_info={self.sharding_info!r}, pipelining_info={self.pipelining_info!r})"

    def run(self, model: Any) -> Any:
        infos = {"sharding_info": _cuts(self.sharding_info), "pipelining_info": _cuts(self.pipelining_info)}
        sharding = Pass.get_pass("manual_sharding", **{name: text for name, text in infos.items() if text})
        return sharding.run(model if hasattr(model, "SerializeToString") else load(model, "Sharder.run"))


class MFConverter:
    """Fuses several ONNX models into one. Each run computes one of them.

    Inputs and outputs of the first are called ``graph0/NAME``, of the second ``graph1/NAME`` and so on. The input
    ``index`` (uint32, one element) selects the model, and runners set it. Compile the result with
    ``Compiler.compile(model, None, options)``.
    """

    def __repr__(self) -> str:
        return "MFConverter()"

    def convert(self, models: Sequence[_Model]) -> _Model:
        """Returns the fused model with the type of the given ones (onnx.ModelProto), which must be converted before,
        each with its own options. If models have several opsets, the newest is used."""
        if hasattr(models, "SerializeToString"):
            raise TypeError("MFConverter.convert: expected a list of onnx.ModelProto, found one")
        if not isinstance(models, Iterable):
            raise TypeError(f"MFConverter.convert: expected a list of onnx.ModelProto, found {models!r}")
        models = [checked(model, "MFConverter.convert") for model in models]
        if not models:
            raise ValueError("there are no models to fuse")
        with tempfile.TemporaryDirectory(prefix="poprt_") as folder:
            result, paths = os.path.join(folder, "fused.onnx"), []
            for number, model in enumerate(models):
                paths.append(os.path.join(folder, f"model{number}.onnx"))
                with open(paths[-1], "wb") as file:
                    file.write(model.SerializeToString())
            Compiler.fuse(paths, result)
            return read_model(type(models[0]), result, len(paths) + 1)
