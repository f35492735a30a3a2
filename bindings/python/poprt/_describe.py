"""Element types and descriptions of inputs and outputs."""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from . import poprt_raw as _raw


class DataType(enum.IntEnum):
    """Element types with PopEF's names."""
    UNDEFINED = 0
    F32 = 1
    F64 = 2
    F16 = 3
    BF16 = 4
    S8 = 5
    U8 = 6
    S16 = 7
    U16 = 8
    S32 = 9
    U32 = 10
    S64 = 11
    U64 = 12
    BOOL = 13
    F8E4M3FN = 14
    F8E4M3FNUZ = 15
    F8E5M2 = 16
    F8E5M2FNUZ = 17
    F8143 = 18
    F8152 = 19
    S4 = 20
    U4 = 21
    S2 = 22
    U2 = 23
    F4E2M1 = 24
    STRING = 25
    C64 = 26
    C128 = 27
    F8E8M0 = 28
    F8 = 29  # PopEF's generic 8-bit float

    @classmethod
    def _missing_(cls, value: object) -> "DataType":
        return cls.UNDEFINED  # a type of a newer library


_NUMPY = {
    DataType.F32: np.float32, DataType.F64: np.float64, DataType.F16: np.float16, DataType.BF16: np.uint16,
    DataType.S8: np.int8, DataType.U8: np.uint8, DataType.S16: np.int16, DataType.U16: np.uint16,
    DataType.S32: np.int32, DataType.U32: np.uint32, DataType.S64: np.int64, DataType.U64: np.uint64,
    DataType.BOOL: np.bool_, DataType.C64: np.complex64, DataType.C128: np.complex128,
}


# Names of element types in ONNX Runtime. Types without an entry have the name in lower case.
_ONNX_RUNTIME = {
    DataType.F32: "float", DataType.F64: "double", DataType.F16: "float16", DataType.BF16: "bfloat16", DataType.S8: "int8",
    DataType.U8: "uint8", DataType.S16: "int16", DataType.U16: "uint16", DataType.S32: "int32", DataType.U32: "uint32",
    DataType.S64: "int64", DataType.U64: "uint64", DataType.BOOL: "bool", DataType.F8E4M3FN: "float8e4m3fn",
    DataType.F8E4M3FNUZ: "float8e4m3fnuz", DataType.F8E5M2: "float8e5m2", DataType.F8E5M2FNUZ: "float8e5m2fnuz",
    DataType.S4: "int4", DataType.U4: "uint4", DataType.C64: "complex64", DataType.C128: "complex128",
}


def numpy_dtype(data_type: DataType) -> np.dtype[Any]:
    """Returns the NumPy type of an element. Of the types that NumPy lacks, bfloat16 is uint16, and the others are
    uint8."""
    return np.dtype(_NUMPY.get(data_type, np.uint8))


class DataDesc:
    """The description of an input or output: ``name``, ``shape``, ``data_type``, ``size_in_bytes``. A dimension is -1 if
    runs may have any size there, because the shapes are compiled on demand; ``size_in_bytes`` is then 0."""

    __slots__ = ("name", "shape", "data_type", "size_in_bytes", "popef_contains_tensor_data")

    def __init__(self, name: str, shape: list[int], data_type: DataType, size_in_bytes: int,
                 popef_contains_tensor_data: bool = False):
        self.name = name
        self.shape = shape
        self.data_type = data_type
        self.size_in_bytes = size_in_bytes
        #: The executable contains the value, or the input is frozen, so requests may omit it.
        self.popef_contains_tensor_data = popef_contains_tensor_data

    @property
    def type(self) -> str:
        """The type in the words of ONNX Runtime, such as "tensor(float)"."""
        return f"tensor({_ONNX_RUNTIME.get(self.data_type, self.data_type.name.lower())})"

    def numpy_data_type(self) -> np.dtype[Any]:
        """See :func:`numpy_dtype`."""
        return numpy_dtype(self.data_type)

    def empty(self) -> np.ndarray[Any, Any]:
        """Returns an uninitialised array for it. Raises ValueError if a dimension is -1."""
        return np.empty(self.shape, self.numpy_data_type())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.shape}, {self.data_type.name})"


def describe(anchor: _raw.RawAnchor) -> DataDesc:
    """Copies the borrowed anchor of the raw layer."""
    return DataDesc(anchor.name(), [anchor.dimension(i) for i in range(anchor.rank())],
                    DataType(anchor.dtype()), anchor.bytes())


def describe_all(owner: Any, kind: str) -> list[DataDesc]:
    count = getattr(owner, kind + "_count")()
    return [describe(getattr(owner, kind + "_anchor")(i)) for i in range(count)]
