"""The values in a PopEF file: ``x()`` reads, ``setX()`` writes. Lists returned by ``x()`` may be changed."""

from __future__ import annotations

import enum
import math
from typing import Any, Iterable, Mapping, Optional, Sequence

import numpy as np

from .. import poprt_raw as _raw
from .._describe import DataType, numpy_dtype

__all__ = ["Anchor", "FeedDataInfo", "Metadata", "Option", "ProgramFlow", "TensorDataInfo", "TensorInfo", "TensorType",
           "popefTypeToNumpyDType"]


class TensorType(enum.IntEnum):
    """INPUT: host to device. OUTPUT: device to host. UNKNOWN: has data but no stream."""
    UNKNOWN = 0
    INPUT = 1
    OUTPUT = 2


def popefTypeToNumpyDType(data_type: DataType) -> np.dtype[Any]:
    """Returns the NumPy type of an element. Of the types that NumPy lacks, bfloat16 is uint16, and the others are
    uint8."""
    return numpy_dtype(data_type)


class _Value:
    """Objects are equal if all fields are."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name[1:]}={value!r}" for name, value in vars(self).items())
        return f"{type(self).__name__}({fields})"


class TensorInfo(_Value):
    """Element type and shape; an empty shape is a scalar."""

    def __init__(self, dataType: DataType = DataType.F32, shape: Iterable[int] = ()):
        self._dataType = DataType(dataType)
        self._shape = list(shape)

    def dataType(self) -> DataType:
        return self._dataType

    def setDataType(self, dataType: DataType) -> None:
        self._dataType = DataType(dataType)

    def shape(self) -> list[int]:
        return self._shape

    def setShape(self, shape: Iterable[int]) -> None:
        self._shape = list(shape)

    def sizeInBytes(self) -> int:
        return math.prod(self._shape) * _raw.raw_dtype_bits(self._dataType) // 8


class TensorDataInfo(_Value):
    """The description of a tensor blob, with the name of an anchor."""

    def __init__(self, name: str = "", tensorInfo: Optional[TensorInfo] = None):
        self._name = name
        self._tensorInfo = tensorInfo or TensorInfo()

    def name(self) -> str:
        return self._name

    def setName(self, name: str) -> None:
        self._name = name

    def tensorInfo(self) -> TensorInfo:
        return self._tensorInfo

    def setTensorInfo(self, tensorInfo: TensorInfo) -> None:
        self._tensorInfo = tensorInfo


class FeedDataInfo(TensorDataInfo):
    """A sequence of values of one input, all with the same info."""

    def __init__(self, name: str = "", tensorInfo: Optional[TensorInfo] = None, numTensors: int = 0):
        super().__init__(name, tensorInfo)
        self._numTensors = numTensors

    def numTensors(self) -> int:
        return self._numTensors

    def setNumTensors(self, numTensors: int) -> None:
        self._numTensors = numTensors


class Option(_Value):
    def __init__(self, name: str, value: str):
        self._name = name
        self._value = value

    def name(self) -> str:
        return self._name

    def value(self) -> str:
        return self._value


class ProgramFlow(_Value):
    """Indices of the programs to run, in order: load once, main repeatedly, save to return state to the host."""

    def __init__(self, load: Iterable[int] = (), main: Iterable[int] = (), save: Iterable[int] = ()):
        self._load, self._main, self._save = list(load), list(main), list(save)

    def load(self) -> list[int]:
        return self._load

    def setLoad(self, programs: Iterable[int]) -> None:
        self._load = list(programs)

    def main(self) -> list[int]:
        return self._main

    def setMain(self, programs: Iterable[int]) -> None:
        self._main = list(programs)

    def save(self) -> list[int]:
        return self._save

    def setSave(self, programs: Iterable[int]) -> None:
        self._save = list(programs)


class Anchor(_Value):
    """A host-visible tensor of a model."""

    def __init__(self, name: str = "", handle: str = "", tensorInfo: Optional[TensorInfo] = None,
                 type: TensorType = TensorType.UNKNOWN, programs: Iterable[int] = (), isPerReplica: bool = False):
        self._name = name
        self._handle = handle
        self._tensorInfo = tensorInfo or TensorInfo()
        self._type = TensorType(type)
        self._programs = list(programs)
        self._isPerReplica = isPerReplica

    def name(self) -> str:
        return self._name

    def setName(self, name: str) -> None:
        self._name = name

    def handle(self) -> str:
        """The stream to which a callback is connected; if empty, none can be connected."""
        return self._handle

    def setHandle(self, handle: str) -> None:
        self._handle = handle

    def tensorInfo(self) -> TensorInfo:
        """The type and shape of one transfer."""
        return self._tensorInfo

    def setTensorInfo(self, tensorInfo: TensorInfo) -> None:
        self._tensorInfo = tensorInfo

    def isPerReplica(self) -> bool:
        """Whether the first dimension is the replication factor."""
        return self._isPerReplica

    def setIsPerReplica(self, isPerReplica: bool) -> None:
        self._isPerReplica = isPerReplica

    def type(self) -> TensorType:
        return self._type

    def setType(self, type: TensorType) -> None:
        self._type = TensorType(type)

    def programs(self) -> list[int]:
        """Indices of the programs that use the stream."""
        return self._programs

    def setPrograms(self, programs: Iterable[int]) -> None:
        self._programs = list(programs)


class Metadata(_Value):
    """The information for running an executable."""

    def __init__(self) -> None:
        # <popef:members>
        self._executable = ""
        self._replicationFactor = 1
        self._numIpus = 1
        self._ipuVersion = 2
        self._isPOD = False
        self._numProcesses = 1
        self._isInference = True
        self._deviceIterations = 1
        self._seedHandle = ""
        # </popef:members>
        self._engineOptions: list[Option] = []
        self._deviceOptions: list[Option] = []
        self._programFlow = ProgramFlow()
        self._programsMap: dict[int, str] = {}
        self._anchors: list[Anchor] = []

    # tests/lint/popef_fields.py generates these from core/popef/metadata.toml.
    # <popef:accessors>
    def executable(self) -> str:
        """Name of the executable that the metadata describes."""
        return self._executable

    def setExecutable(self, name: str) -> None:
        self._executable = name

    def replicationFactor(self) -> int:
        """Number of replicas that are compiled in."""
        return self._replicationFactor

    def setReplicationFactor(self, replicationFactor: int) -> None:
        self._replicationFactor = replicationFactor

    def numIpus(self) -> int:
        """Number of IPUs that all replicas use together."""
        return self._numIpus

    def setNumIpus(self, numIpus: int) -> None:
        self._numIpus = numIpus

    def ipuVersion(self) -> int:
        """Version of the IPU that the executable was compiled for: 1, 2 or 21."""
        return self._ipuVersion

    def setIpuVersion(self, ipuVersion: int) -> None:
        self._ipuVersion = ipuVersion

    def isPOD(self) -> bool:
        """Whether the executable is for a POD."""
        return self._isPOD

    def setIsPOD(self, isPOD: bool) -> None:
        self._isPOD = isPOD

    def numProcesses(self) -> int:
        """Number of host processes that work together."""
        return self._numProcesses

    def setNumProcesses(self, numProcesses: int) -> None:
        self._numProcesses = numProcesses

    def isInference(self) -> bool:
        """Whether the executable is for inference."""
        return self._isInference

    def setIsInference(self, isInference: bool) -> None:
        self._isInference = isInference

    def deviceIterations(self) -> int:
        """Number of transfers of each stream in one run of the main programs."""
        return self._deviceIterations

    def setDeviceIterations(self, deviceIterations: int) -> None:
        self._deviceIterations = deviceIterations

    def seedHandle(self) -> str:
        """Handle of the stream of the random seed; empty if there is none."""
        return self._seedHandle

    def setSeedHandle(self, handle: str) -> None:
        self._seedHandle = handle
    # </popef:accessors>

    def engineOptions(self) -> list[Option]:
        return self._engineOptions

    def setEngineOptions(self, options: Iterable[Option]) -> None:
        self._engineOptions = list(options)

    def deviceOptions(self) -> list[Option]:
        return self._deviceOptions

    def setDeviceOptions(self, options: Iterable[Option]) -> None:
        self._deviceOptions = list(options)

    def programFlow(self) -> ProgramFlow:
        return self._programFlow

    def setProgramFlow(self, flow: ProgramFlow) -> None:
        self._programFlow = flow

    def programsMap(self) -> dict[int, str]:
        """A map from the index of a program to its readable name."""
        return self._programsMap

    def setProgramsMap(self, names: Mapping[int, str]) -> None:
        self._programsMap = dict(names)

    def anchors(self) -> list[Anchor]:
        return self._anchors

    def setAnchors(self, anchors: Sequence[Anchor]) -> None:
        self._anchors = list(anchors)
