"""Reads PopEF files: executables, metadata, tensors, feeds and opaque blobs, by the names of the PopEF library.

>>> import popef
>>> reader = popef.Reader()
>>> reader.parseFile("model.popef")
>>> [anchor.name() for anchor in reader.metadata()[0].anchors()]
['image', 'scores']
"""

from __future__ import annotations

import enum
import json
import mmap
import os
import tempfile
from typing import Any, Optional, Union

import numpy as np
import poprt
from poprt import errors as _errors
from poprt import poprt_raw as _raw
from poprt._describe import DataType, numpy_dtype

__all__ = ["Anchor", "DataType", "Error", "ExecutableReader", "FeedDataInfo", "FeedReader", "Metadata",
           "OpaqueReader", "Option", "ProgramFlow", "Reader", "TensorDataInfo", "TensorInfo", "TensorReader",
           "TensorType", "popefTypeToNumpyDType"]

Error = poprt.Error


class TensorType(enum.Enum):
    UNKNOWN = "UNKNOWN"
    INPUT = "INPUT"
    OUTPUT = "OUTPUT"


def popefTypeToNumpyDType(data_type: DataType) -> np.dtype:
    """The NumPy type of an element. Types that NumPy does not have are unsigned integers of their size."""
    return numpy_dtype(data_type)


class _Named:
    """Values by method, as the C++ library has them."""

    def __init__(self, values: dict[str, Any]):
        self._values = values

    def name(self) -> str:
        return self._values["name"]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._values.get('name', '')!r})"


class TensorInfo:
    def __init__(self, values: dict[str, Any]):
        self._values = values

    def shape(self) -> list[int]:
        return list(self._values["shape"])

    def dataType(self) -> DataType:
        return DataType.__members__.get(self._values["data_type"], DataType.UNDEFINED)

    def sizeInBytes(self) -> int:
        return self._values["bytes"]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TensorInfo) and (self.shape(), self.dataType()) == (other.shape(), other.dataType())


class Anchor(_Named):
    """A named input or output of an executable."""

    def handle(self) -> str:
        return self._values["handle"]

    def tensorInfo(self) -> TensorInfo:
        return TensorInfo(self._values)

    def isPerReplica(self) -> bool:
        return self._values["per_replica"]

    def type(self) -> TensorType:
        return TensorType.__members__.get(self._values["type"], TensorType.UNKNOWN)

    def programs(self) -> list[int]:
        return list(self._values["programs"])


class Option(_Named):
    def value(self) -> str:
        return self._values["value"]


class ProgramFlow:
    """Indices of the programs to run, in order."""

    def __init__(self, values: dict[str, list[int]]):
        self._values = values

    def load(self) -> list[int]:
        return list(self._values["load"])

    def main(self) -> list[int]:
        return list(self._values["main"])

    def save(self) -> list[int]:
        return list(self._values["save"])


class Metadata:
    """How an executable is to be run."""

    def __init__(self, values: dict[str, Any]):
        self._values = values

    def executable(self) -> str:
        return self._values["executable"]

    def replicationFactor(self) -> int:
        return self._values["replication_factor"]

    def numIpus(self) -> int:
        return self._values["num_ipus"]

    def ipuVersion(self) -> int:
        return self._values["ipu_version"]

    def isPOD(self) -> bool:
        return self._values["is_pod"]

    def numProcesses(self) -> int:
        return self._values["num_processes"]

    def isInference(self) -> bool:
        return self._values["is_inference"]

    def deviceIterations(self) -> int:
        return self._values["device_iterations"]

    def seedHandle(self) -> str:
        return self._values["seed_handle"]

    def engineOptions(self) -> list[Option]:
        return [Option(o) for o in self._values["engine_options"]]

    def deviceOptions(self) -> list[Option]:
        return [Option(o) for o in self._values["device_options"]]

    def programFlow(self) -> ProgramFlow:
        return ProgramFlow(self._values["program_flow"])

    def programsMap(self) -> dict[int, str]:
        return {int(index): name for index, name in self._values["programs"].items()}

    def anchors(self) -> list[Anchor]:
        return [Anchor(a) for a in self._values["anchors"]]

    def userInputs(self) -> list[Anchor]:
        """Anchors that the caller must serve."""
        return [Anchor(a) for a in self._values.get("user_inputs", [])]

    def userOutputs(self) -> list[Anchor]:
        return [Anchor(a) for a in self._values.get("user_outputs", [])]


class TensorDataInfo(_Named):
    def tensorInfo(self) -> TensorInfo:
        return TensorInfo(self._values)


class FeedDataInfo(TensorDataInfo):
    def numTensors(self) -> int:
        return self._values["tensors"]


class _BlobReader:
    def __init__(self, path: str, values: dict[str, Any]):
        self._path = path
        self._values = values

    def _stored(self) -> bytes:
        """Bytes where they lie in the file, read when they are asked for."""
        size = self._values["bytes"] * self._values.get("tensors", 1)
        with open(self._path, "rb") as file:
            if size == 0:
                return b""
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
                start = self._values["payload_offset"]
                data = view[start:start + size]
        if len(data) != size:
            raise _errors.DataLossError(f"'{self._path}': expected {size} bytes at {start}, found {len(data)}")
        return data


class ExecutableReader(_BlobReader):
    @property
    def name(self) -> str:
        return self._values["name"]

    def executable(self) -> bytes:
        """The program's bytes."""
        if self._values["compressed"]:
            raise _errors.UnimplementedError(f"executable '{self.name}' is compressed; popef_dump and the runtime read it")
        return self._stored()


class _TensorData(_BlobReader):
    _export: Any
    executable: str

    def data(self) -> np.ndarray:
        """Its values; an array of its own."""
        with tempfile.TemporaryDirectory() as folder:
            npy = os.path.join(folder, "data.npy")
            self._export(self._path, self._values["name"], self._values.get("executable", ""), npy)
            return np.load(npy)


class TensorReader(_TensorData):
    _export = staticmethod(_raw.raw_popef_export_tensor)

    @property
    def info(self) -> TensorDataInfo:
        return TensorDataInfo(self._values)


class FeedReader(_TensorData):
    _export = staticmethod(_raw.raw_popef_export_feed)

    @property
    def info(self) -> FeedDataInfo:
        return FeedDataInfo(self._values)


class OpaqueReader(_BlobReader):
    @property
    def name(self) -> str:
        return self._values["name"]

    @property
    def executable(self) -> str:
        return self._values["executable"]

    def data(self) -> bytes:
        return self._stored()


class Reader:
    """Indexes the blobs of files; several files accumulate. Contents are read when they are asked for."""

    def __init__(self) -> None:
        self._files: list[tuple[str, dict[str, Any]]] = []

    def parseFile(self, path: Union[str, os.PathLike]) -> None:
        """Errors: FileNotFoundError, PermissionError, DataLossError."""
        name = os.fspath(path)
        self._files.append((name, json.loads(poprt.dump_popef(name, "json"))))

    def _all(self, key: str, make: Any) -> list[Any]:
        return [make(path, values) for path, file in self._files for values in file[key]]

    def executables(self) -> list[ExecutableReader]:
        return self._all("executables", ExecutableReader)

    def metadata(self) -> list[Metadata]:
        return self._all("models", lambda _, values: Metadata(values))

    def tensors(self) -> list[TensorReader]:
        return self._all("tensors", TensorReader)

    def feeds(self) -> list[FeedReader]:
        return self._all("feeds", FeedReader)

    def opaqueBlobs(self) -> list[OpaqueReader]:
        return self._all("opaque_blobs", OpaqueReader)
