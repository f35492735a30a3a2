"""Converts objects without a buffer to arrays: numbers, lists, and objects of other packages (DLPack, ``__array__``)."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence, cast

import numpy as np

from . import poprt_raw as _raw
from ._describe import _NUMPY, DataDesc, DataType, numpy_dtype
from .errors import InvalidArgumentError

# Types of other packages that are passed as unsigned integers of their size.
_AS_INTEGERS = {"bfloat16": np.uint16, "float8_e4m3fn": np.uint8, "float8_e4m3fnuz": np.uint8, "float8_e5m2": np.uint8,
                "float8_e5m2fnuz": np.uint8}


def _refuse(direction: str, name: str, why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"{direction} '{name}': {why}")


def _lost(given: np.ndarray[Any, Any], converted: np.ndarray[Any, Any]) -> Any:
    """Returns the first number that the other type cannot represent (it becomes infinity or another integer), or None."""
    if converted.dtype.kind in "fc":
        wrong = np.isfinite(given) & ~np.isfinite(converted)
    else:
        wrong = given != converted
    return given[wrong][0] if np.any(wrong) else None


def _numbers(value: Any, name: str, wanted: DataType) -> np.ndarray[Any, Any]:
    """Converts lists and numbers to the input's type if only digits of floats are lost."""
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
    if wanted == DataType.U64 and given.dtype.kind == "f":  # NumPy's type for small integers next to those from 2**63 on
        whole_numbers = np.asarray(value, object)
        if all(isinstance(v, int) and 0 <= v < 2**64 for v in whole_numbers.flat):
            return whole_numbers.astype(dtype)
    if not np.can_cast(given.dtype, dtype, "same_kind") and not (given.dtype.kind in "iu" and dtype.kind in "iu"):
        raise _refuse("input", name, f"expected {wanted.name.lower()}, the {type(value).__name__} given holds "
                                     f"{given.dtype} that do not fit")
    with np.errstate(over="ignore"):
        converted = given.astype(dtype)
    lost = _lost(np.atleast_1d(given), np.atleast_1d(converted))
    if lost is not None:
        raise _refuse("input", name, f"expected {wanted.name.lower()}, which does not hold {lost} of the "
                                     f"{type(value).__name__} given")
    return converted


def _integers(array: np.ndarray[Any, Any], name: str, wanted: DataType) -> np.ndarray[Any, Any]:
    """Converts between 64-bit and 32-bit integers if the values fit."""
    dtype = np.dtype(_NUMPY[wanted])
    if array.size and array.dtype.itemsize > dtype.itemsize:
        limits: Any = np.iinfo(cast(Any, dtype))
        low, high = array.min(), array.max()
        if low < limits.min or high > limits.max:
            raise _refuse("input", name, f"is {wanted.name.lower()}, which does not hold {low if low < limits.min else high}")
    return array.astype(dtype)


def _writable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns a writable array over the same memory: NumPy marks arrays from DLPack as read-only, but outputs must be
    writable."""
    if array.flags.writeable:
        return array
    memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
    memory._owner = array  # type: ignore[attr-defined]
    return np.ndarray(array.shape, array.dtype, cast(Any, memory))


def convert(value: Any, direction: str, name: str, dtype: int, error: Optional[BaseException]) -> Any:
    """Returns an object with a buffer for memory of an anchor. Called if ``value`` has no buffer, or refused it with
    ``error``, or without an error if it has 64-bit integers for an anchor of 32-bit ones, or vice versa."""
    output = direction == "output"
    if direction == "bound input":  # runs read later values in place, so a copy is not possible
        direction = "input"
        if isinstance(value, (list, tuple, int, float, complex)):
            raise _refuse(direction, name, f"expected an array that can be bound (buffer protocol, DLPack), given {type(value).__name__}")
    if error is None and not output and DataType(dtype) in (DataType.S32, DataType.S64):
        try:
            array = np.asarray(value)
        except Exception:  # objects without a buffer are handled below
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
    found: Optional[np.ndarray[Any, Any]]
    try:
        found = np.from_dlpack(value) if hasattr(value, "__dlpack__") and hasattr(np, "from_dlpack") else \
            np.asarray(value) if hasattr(value, "__array__") and not output else None  # this may be a copy
    except Exception as other:
        wanted = DataType(dtype)
        hint = f"; {wanted.name.lower()} travels as {numpy_dtype(wanted)}" * wanted.name.startswith(("BF", "F8"))
        raise _refuse(direction, name, f"the {type(value).__name__} cannot be converted to an array: {other}{hint}") from other
    if found is not None:
        if output and not found.flags.c_contiguous:
            raise _refuse(direction, name, f"the {type(value).__name__} is not C-contiguous; results are written to its memory directly")
        if found.dtype.name in _AS_INTEGERS:
            found = found.view(_AS_INTEGERS[found.dtype.name])
        return _writable(found) if output else found
    if error is not None and isinstance(value, (memoryview, bytes)):
        raise _refuse(direction, name, f"the {type(value).__name__} cannot be written: {error}")
    takes = "something that is written by the buffer protocol or DLPack" if output else \
        "an array (buffer protocol, DLPack, __array__) or a list"
    raise _refuse(direction, name, f"expected {takes}, given {type(value).__name__}")


def type_text(dtype: Any, shape: Sequence[int]) -> str:
    """Formats a type like the library: "f32[2,4]". ``dtype`` is PopEF's or NumPy's."""
    if not isinstance(dtype, DataType):
        dtype = next((ours for ours, numpy in _NUMPY.items() if numpy == dtype and ours != DataType.BF16), dtype)
    name = str(dtype) if not isinstance(dtype, DataType) else _OWN_NAMES.get(dtype, dtype.name.lower())
    return f"{name}[{','.join(map(str, shape))}]"


_OWN_NAMES = {DataType.F8143: "f8_143", DataType.F8152: "f8_152"}
_SMALL = (DataType.S4, DataType.U4, DataType.S2, DataType.U2, DataType.F4E2M1)


def whole(value: Any, direction: str, desc: DataDesc, label: str = "") -> Any:
    """Returns ``value`` as memory of a whole anchor: with its type and shape, and C-contiguous. Memory of an output is
    the caller's and writable. Bytes and ``array.array`` have no shape, and the library compares their size.
    ``label`` is the description in messages."""
    output = direction == "output"
    label = label or direction
    if isinstance(value, (list, tuple, int, float, complex)) and output:
        raise _refuse(label, desc.name, f"expected something that is written, given {type(value).__name__}")
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError) as error:
        try:
            value = convert(value, direction, desc.name, desc.data_type, error)
        except InvalidArgumentError as refused:
            raise InvalidArgumentError(str(refused).replace(direction, label, 1)) from None
    else:
        if output and view.readonly:
            raise _refuse(label, desc.name, f"the {type(value).__name__} cannot be written")
        if isinstance(view.obj, (bytes, bytearray)):
            return value
    flat = not hasattr(value, "shape") and not isinstance(value, (bytes, bytearray))
    array = np.asarray(value)
    expected = numpy_dtype(desc.data_type)
    if array.dtype != expected and not output and array.dtype in (np.int32, np.int64) and expected in (np.int32, np.int64):
        array = _integers(array, desc.name, desc.data_type)
    fits = desc.data_type in _SMALL or array.shape == tuple(desc.shape) or flat and array.ndim == 1
    if array.dtype != expected or not fits:
        raise _refuse(label, desc.name, f"expected {type_text(desc.data_type, desc.shape)}, "
                                        f"given {type_text(array.dtype, array.shape)}")
    if not output:
        return np.ascontiguousarray(array)
    if not array.flags.c_contiguous:
        raise _refuse(label, desc.name, "the array is not C-contiguous; results are written to its memory directly")
    return array


_raw.raw_set_converter(convert)
