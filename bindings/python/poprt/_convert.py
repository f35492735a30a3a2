"""Arrays of what has no buffer: numbers and lists of them, and what other packages have (DLPack, ``__array__``)."""

from __future__ import annotations

import ctypes
from typing import Any, Optional

import numpy as np

from . import poprt_raw as _raw
from ._describe import _NUMPY, DataType
from .errors import InvalidArgumentError

# Types of other packages that travel as unsigned integers of their size.
_AS_INTEGERS = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e4m3fnuz": np.uint8, "float8_e5m2": np.uint8,
                "float8_e5m2fnuz": np.uint8}


def _refuse(direction: str, name: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{direction} '{name}': {why}")


def _numbers(value: Any, name: str, wanted: DataType) -> np.ndarray:
    """Lists and numbers become elements of the input's type when that loses nothing but digits of floats."""
    if wanted not in _NUMPY or wanted == DataType.BF16:
        raise _refuse("input", name, f"a {type(value).__name__} cannot become {wanted.name.lower()}; give an array")
    dtype = np.dtype(_NUMPY[wanted])
    try:
        given = np.asarray(value)
    except ValueError:  # rows of different lengths
        given = np.asarray(None)
    if given.dtype == object:
        raise _refuse("input", name, f"the {type(value).__name__} is no array of numbers: its rows differ in length, or "
                                     "it holds something else")
    if given.size == 0:
        return given.astype(dtype)
    converted = given.astype(dtype) if np.can_cast(given.dtype, dtype, "same_kind") or given.dtype.kind in "iu" \
        and dtype.kind in "iu" else None
    if converted is None or given.dtype.kind in "iu" and dtype.kind in "iu" and not np.array_equal(given, converted):
        raise _refuse("input", name, f"expected {wanted.name.lower()}, the {type(value).__name__} given holds "
                                     f"{given.dtype} that do not fit")
    return converted


def _integers(array: np.ndarray, name: str, wanted: DataType) -> np.ndarray:
    """64-bit integers for an input of 32 bits, when they fit, and the other way round."""
    dtype = np.dtype(_NUMPY[wanted])
    if array.size and array.dtype.itemsize > dtype.itemsize:
        limits, low, high = np.iinfo(dtype), array.min(), array.max()
        if low < limits.min or high > limits.max:
            raise _refuse("input", name, f"is {wanted.name.lower()}, which does not hold {low if low < limits.min else high}")
    return array.astype(dtype)


def _writable(array: np.ndarray) -> np.ndarray:
    """NumPy marks what comes by DLPack as read-only; who gives it as an output means it to be written."""
    if array.flags.writeable or not array.flags.c_contiguous:
        return array
    memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory._owner = array  # type: ignore[attr-defined]
    return np.frombuffer(memory, array.dtype).reshape(array.shape)


def convert(value: Any, direction: str, name: str, dtype: int, error: Optional[BaseException]) -> Any:
    """What has a buffer for memory of an anchor; called when ``value`` has none, or refused it with ``error``."""
    output = direction == "output"
    if error is None and not output and DataType(dtype) in (DataType.S32, DataType.S64):
        try:
            array = np.asarray(value)
        except Exception:  # what has no buffer is looked at below
            array = np.asarray(None)
        if array.dtype in (np.dtype(np.int32), np.dtype(np.int64)) and array.dtype != np.dtype(_NUMPY[DataType(dtype)]) \
                and not isinstance(value, (list, tuple, int)):
            return _integers(array, name, DataType(dtype))
    if isinstance(value, np.ndarray) or isinstance(value, np.generic) and not output:
        if value.dtype.name in _AS_INTEGERS:
            return value.view(_AS_INTEGERS[value.dtype.name])
        raise _refuse(direction, name, f"the array of {value.dtype} cannot be used: {error}")
    if isinstance(value, (list, tuple, int, float, complex)) and not output:
        return _numbers(value, name, DataType(dtype))
    try:
        if hasattr(value, "__dlpack__"):
            array = np.from_dlpack(value)
            return _writable(array) if output else array
        if hasattr(value, "__array__") and not output:  # which may be a copy
            return np.asarray(value)
    except Exception as other:
        raise _refuse(direction, name, f"the {type(value).__name__} gives no array: {other}") from other
    if error is not None and isinstance(value, (memoryview, bytes)):
        raise _refuse(direction, name, f"the {type(value).__name__} cannot be written: {error}")
    takes = "something that is written by the buffer protocol or DLPack" if output else \
        "an array (buffer protocol, DLPack, __array__) or a list"
    raise _refuse(direction, name, f"expected {takes}, given {type(value).__name__}")


_raw.raw_set_converter(convert)
