"""Small helpers with PopRT's names."""

from __future__ import annotations

import importlib
import logging
import types
from typing import Any, Mapping, Optional, Sequence

import numpy as np

__all__ = ["LazyImport", "convert_float_to_uint8", "get_input_info_from_model_proto", "get_logger",
           "onnx_tensor_dtype_to_np_dtype", "random_inputs"]

# Numbers of onnx.TensorProto.DataType.
_ONNX_TO_NUMPY = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64,
                  9: np.bool_, 10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64, 14: np.complex64,
                  15: np.complex128, 16: np.uint16}


def get_logger(name: str = "poprt", level: Optional[str] = None) -> logging.Logger:
    """Returns the logger with that name, at WARNING unless its level is set."""
    logger = logging.getLogger(name)
    if level is not None:
        logger.setLevel(level.upper())
    elif logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING)
    return logger


class LazyImport(types.ModuleType):
    """A module that is imported when it is first used."""

    def __init__(self, name: str):
        super().__init__(name)
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


def onnx_tensor_dtype_to_np_dtype(tensor_dtype: int) -> np.dtype[Any]:
    """Returns NumPy's type for a number of onnx.TensorProto.DataType; bfloat16 is uint16."""
    if tensor_dtype not in _ONNX_TO_NUMPY:
        raise ValueError(f"NumPy has no type for ONNX element type {tensor_dtype}")
    return np.dtype(_ONNX_TO_NUMPY[tensor_dtype])


def get_input_info_from_model_proto(model_proto: Any) -> tuple[dict[str, list[int]], dict[str, np.dtype[Any]]]:
    """Returns shapes and types of the inputs without an initializer as two dictionaries by name. Variable dimensions
    are 0."""
    if not hasattr(model_proto, "graph"):
        raise TypeError(f"get_input_info_from_model_proto: expected an onnx.ModelProto, found {type(model_proto).__name__}")
    constants = {t.name for t in model_proto.graph.initializer}
    inputs = {i.name: i.type.tensor_type for i in model_proto.graph.input if i.name not in constants}
    return ({name: [d.dim_value for d in kind.shape.dim] for name, kind in inputs.items()},
            {name: onnx_tensor_dtype_to_np_dtype(kind.elem_type) for name, kind in inputs.items()})


def random_inputs(inputs: Mapping[str, tuple[Sequence[int], Any]], seed: int = 0) -> dict[str, np.ndarray[Any, Any]]:
    """Returns arrays for {name: (shape, dtype)}, equal for equal seeds: normally distributed floats, integers 0 and 1."""
    generator = np.random.default_rng(seed)
    return {name: (generator.standard_normal(shape) if np.dtype(dtype).kind == "f" else generator.integers(0, 2, shape)).astype(dtype)
            for name, (shape, dtype) in inputs.items()}


def convert_float_to_uint8(values: np.ndarray[Any, Any], format: str = "F143", scale: int = 0) -> np.ndarray[Any, Any]:
    """Returns bytes of IPU 8-bit floats: ``F143`` (1 sign, 4 exponent, 3 mantissa bits, bias 8) or ``F152`` (bias 16),
    of ``values / 2**scale``, rounded to nearest, ties to even, saturated; NaN is 0x80. The value of a byte is its
    float times ``2**scale``, as in FP8MatMul and CastToFP8.

    Source of the formats: https://arxiv.org/abs/2206.02915.
    """
    if format not in ("F143", "F152"):
        raise ValueError(f"format must be F143 or F152, given {format!r}")
    mantissa, bias = (3, 8) if format == "F143" else (2, 16)
    x = np.asarray(values, np.float64) * 2.0**-scale
    nan = np.isnan(x)
    sign = np.signbit(x) & ~nan
    largest = 2.0 ** ((1 << (7 - mantissa)) - 1 - bias) * (2 - 2.0**-mantissa)
    magnitude = np.minimum(np.where(nan, 0.0, np.abs(x)), largest)
    exponent = np.maximum(np.frexp(np.where(magnitude == 0, 1.0, magnitude))[1] - 1, 1 - bias)
    steps = np.rint(np.ldexp(magnitude, mantissa - exponent)).astype(np.int64)  # ties to even
    # A carry of the mantissa increments the exponent; subnormal numbers have exponent field 0.
    code = np.where(magnitude == 0, 0, steps + ((exponent + bias - 1) << mantissa))
    code = np.where(sign & (code != 0), code | 0x80, code)  # there is no negative zero
    return np.where(nan, 0x80, code).astype(np.uint8)
