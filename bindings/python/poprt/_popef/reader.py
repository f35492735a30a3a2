"""Finds the blobs of files without reading their payloads, which are used in place. Payloads of a stream are copied."""

from __future__ import annotations

import contextlib
import enum
import os
import threading
from typing import Any, Callable, Iterator, Sequence, TypeVar, Union

import numpy as np

from .. import errors as _errors
from .. import poprt_raw as _raw
from .._describe import numpy_dtype
from .metadata import from_raw, tensor_info
from .types import FeedDataInfo, Metadata, TensorDataInfo

__all__ = ["BlobReader", "ExecutableReader", "FeedReader", "OpaqueReader", "Reader", "TensorReader"]


class BlobType(enum.IntEnum):
    """The numbers of poprt/popef_reader.h."""
    EXECUTABLE = 1
    METADATA = 2
    TENSOR = 3
    FEED = 4
    OPAQUE = 5


class _Mapped:
    """A payload as memory for NumPy. Arrays over it keep it alive."""

    def __init__(self, payload: _raw.RawPopefPayload):
        self._payload = payload
        self.__array_interface__ = {"version": 3, "shape": (payload.bytes(),), "typestr": "|u1",
                                    "data": (payload.address(), True)}


_thread = threading.local()  # .raised: the exception of a source on this thread


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Raises the exception of a source. The library only knows that there was one."""
    _thread.raised = None
    try:
        yield
    except _errors.Error as error:
        raised, _thread.raised = _thread.raised, None
        if raised is not None:
            raise raised from error
        raise


class _Source:
    """Reads a binary stream that can seek. A call fills ``memory`` from ``offset`` on and returns whether it
    succeeded."""

    def __init__(self, stream: Any):
        self._stream = stream

    def __call__(self, offset: int, memory: memoryview) -> bool:
        try:
            self._stream.seek(offset)
            while len(memory):
                part = self._stream.read(len(memory))
                if not part:
                    return False
                memory[:len(part)] = part
                memory = memory[len(part):]
            return True
        except BaseException as error:  # noqa: B902  it must not reach the library
            _thread.raised = error
            return False


class BlobReader:
    """The base of all blobs. Keeps its reader or model alive."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        self._owner = owner
        self._blob = blob
        self.name: str = blob.name()

    def _bytes(self) -> np.ndarray[Any, Any]:
        """The payload, read-only. It is copied only if it is compressed or comes from a stream."""
        with _reading():
            payload = self._blob.map_payload()
        if payload.bytes() == 0:
            return np.empty(0, np.uint8)
        return np.asarray(_Mapped(payload))

    def getAvailableReadSize(self) -> int:
        """The size of the decompressed payload in bytes."""
        return self._blob.bytes()

    def read(self, offset: int, size: int) -> bytes:
        """Returns a part of the payload. Raises OutOfRangeError."""
        part = bytearray(size)
        address, _ = _raw.raw_address(part)
        with _reading():
            self._blob.read(offset, address, size)
        return bytes(part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.getAvailableReadSize()} bytes)"


def _shaped(elements: np.ndarray[Any, Any], shape: Sequence[int], packed: Sequence[int] = (-1,)) -> np.ndarray[Any, Any]:
    """Returns the elements in their shape. Elements smaller than a byte are packed, so they have the bytes' shape instead."""
    whole = int(np.prod(shape, dtype=np.int64)) == elements.size
    return elements.reshape(shape if whole or not elements.size else packed)


class ExecutableReader(BlobReader):
    def executable(self) -> bytes:
        """Returns a copy of the decompressed bytes of the program. ``data()`` does not copy."""
        return self._bytes().tobytes()

    def data(self) -> memoryview:
        """Returns the bytes in place, read-only. A compressed program is decompressed."""
        return self._bytes().data

    def isCompressed(self) -> bool:
        return self._blob.compressed()


class OpaqueReader(BlobReader):
    """Bytes without a defined format."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        super().__init__(owner, blob)
        self.executable: str = blob.executable()

    def data(self) -> memoryview:
        """The bytes in place, read-only."""
        return self._bytes().data


class TensorReader(BlobReader):
    """The value of one anchor. ``executable`` is the executable to which it belongs; if empty, it belongs to all with
    such an anchor."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        super().__init__(owner, blob)
        self.executable: str = blob.executable()
        self.info = TensorDataInfo(self.name, tensor_info(blob))

    def data(self) -> np.ndarray[Any, Any]:
        """The value in place, read-only, without a copy."""
        info = self.info.tensorInfo()
        return _shaped(self._bytes().view(numpy_dtype(info.dataType())), info.shape())


class FeedReader(BlobReader):
    """A sequence of values of one anchor."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        super().__init__(owner, blob)
        self.executable: str = blob.executable()
        self.info = FeedDataInfo(self.name, tensor_info(blob), blob.tensor_count())

    def data(self) -> np.ndarray[Any, Any]:
        """All tensors in place, read-only. The first dimension is their number."""
        info, count = self.info.tensorInfo(), self.info.numTensors()
        return _shaped(self._bytes().view(numpy_dtype(info.dataType())), [count, *info.shape()], [count, -1])


_Blob = TypeVar("_Blob", bound=BlobReader)


def blobs(owner: Union[_raw.RawPopefReader, _raw.RawPopefModel], type: BlobType, make: Callable[[object, _raw.RawPopefBlob], _Blob]) -> list[_Blob]:
    """Returns the blobs of the raw reader or model."""
    return [make(owner, owner.blob(type, i)) for i in range(owner.count(type))]


class Reader:
    """Accumulates the blobs of several files. Only one thread may parse. Afterwards any thread may read."""

    def __init__(self) -> None:
        self._raw = _raw.RawPopefReader()

    def __repr__(self) -> str:
        return f"<Reader of executables {[e.name for e in self.executables()]}>"

    def parseFile(self, path: Union[str, os.PathLike[str]]) -> None:
        """Maps a file. Do not change it while it is used; replacing it by renaming is safe.

        Raises FileNotFoundError, PermissionError, DataLossError and FailedPreconditionError."""
        with _errors._opening(os.fspath(path)):
            self._raw.parse_file(os.fspath(path))

    def parseStream(self, stream: Any, size: int = 0) -> None:
        """Copies ``size`` bytes from a binary stream; 0 means until the end."""
        data = stream.read(size) if size else stream.read()
        address, length = _raw.raw_address(data)
        self._raw.parse_bytes(address, length)

    def parseSource(self, stream: Any, size: int) -> None:
        """Parses PopEF data in the first ``size`` bytes of a binary stream that can seek. Headers are read now, and
        payloads are copied on request, on the requesting thread. The stream must stay open, its bytes must not change,
        and no other code may move its position until the reader, its models and their blobs are freed. The call that
        requests a payload raises the exceptions of the stream. Since 1.0."""
        with _reading():
            self._raw.parse_source(size, _raw.raw_source_read_fn(), _raw.raw_source_release_fn(),
                                   _raw.raw_source(_Source(stream)))

    def executables(self) -> list[ExecutableReader]:
        return blobs(self._raw, BlobType.EXECUTABLE, ExecutableReader)

    def metadata(self) -> list[Metadata]:
        return [from_raw(self._raw.metadata(i)) for i in range(self._raw.count(BlobType.METADATA))]

    def tensors(self) -> list[TensorReader]:
        return blobs(self._raw, BlobType.TENSOR, TensorReader)

    def feeds(self) -> list[FeedReader]:
        return blobs(self._raw, BlobType.FEED, FeedReader)

    def opaqueBlobs(self) -> list[OpaqueReader]:
        return blobs(self._raw, BlobType.OPAQUE, OpaqueReader)

    def warnings(self) -> list[str]:
        """Warnings about unusual data that is not an error."""
        return self._raw.warnings().splitlines()
