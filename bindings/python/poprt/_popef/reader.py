"""Finds the blobs of files without reading their payloads, which are used where they lie."""

from __future__ import annotations

import contextlib
import enum
import os
import threading
from typing import Any, Callable, Iterator, TypeVar, Union

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
    """A payload as NumPy sees memory; arrays over it keep it."""

    def __init__(self, payload: _raw.RawPopefPayload):
        self._payload = payload
        self.__array_interface__ = {"version": 3, "shape": (payload.bytes(),), "typestr": "|u1",
                                    "data": (payload.address(), True)}


_thread = threading.local()  # .raised: what a source has raised on this thread


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    """Raises what a source has raised, where the library only knows that it has."""
    _thread.raised = None
    try:
        yield
    except _errors.Error as error:
        raised, _thread.raised = _thread.raised, None
        if raised is not None:
            raise raised from error
        raise


class _Source:
    """A binary stream that can seek."""

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
    """Common to all blobs. Keeps what it was read from."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        self._owner = owner
        self._blob = blob
        self.name: str = blob.name()

    def _bytes(self) -> np.ndarray[Any, Any]:
        """The payload where it lies, read-only; only compressed ones are copied."""
        with _reading():
            payload = self._blob.map_payload()
        if payload.bytes() == 0:
            return np.empty(0, np.uint8)
        return np.asarray(_Mapped(payload))

    def getAvailableReadSize(self) -> int:
        """Bytes of the payload, decompressed."""
        return self._blob.bytes()

    def read(self, offset: int, size: int) -> bytes:
        """A part of the payload. Errors: OutOfRangeError."""
        part = bytearray(size)
        address, _ = _raw.raw_address(part)
        with _reading():
            self._blob.read(offset, address, size)
        return bytes(part)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.getAvailableReadSize()} bytes)"


class ExecutableReader(BlobReader):
    def executable(self) -> bytes:
        """The program's bytes, decompressed: a copy. ``data()`` is none."""
        return self._bytes().tobytes()

    def data(self) -> memoryview:
        """The same where it lies, read-only; a compressed one is decompressed."""
        return self._bytes().data

    def isCompressed(self) -> bool:
        return self._blob.compressed()


class OpaqueReader(BlobReader):
    """Bytes of whoever wrote them."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        super().__init__(owner, blob)
        self.executable: str = blob.executable()

    def data(self) -> memoryview:
        """Its bytes where they lie, read-only."""
        return self._bytes().data


class TensorReader(BlobReader):
    """The value of one anchor. ``executable`` is the one that it belongs to; empty: every one with such an anchor."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        super().__init__(owner, blob)
        self.executable: str = blob.executable()
        self.info = TensorDataInfo(self.name, tensor_info(blob))

    def data(self) -> np.ndarray[Any, Any]:
        """Its value where it lies, read-only; nothing is copied."""
        info = self.info.tensorInfo()
        return self._bytes().view(numpy_dtype(info.dataType())).reshape(info.shape())


class FeedReader(BlobReader):
    """A sequence of values of one anchor."""

    def __init__(self, owner: object, blob: _raw.RawPopefBlob):
        super().__init__(owner, blob)
        self.executable: str = blob.executable()
        self.info = FeedDataInfo(self.name, tensor_info(blob), blob.tensor_count())

    def data(self) -> np.ndarray[Any, Any]:
        """All of them where they lie, read-only; the first dimension counts them."""
        info = self.info.tensorInfo()
        return self._bytes().view(numpy_dtype(info.dataType())).reshape([self.info.numTensors(), *info.shape()])


_Blob = TypeVar("_Blob", bound=BlobReader)


def blobs(owner: Union[_raw.RawPopefReader, _raw.RawPopefModel], type: BlobType, make: Callable[[object, _raw.RawPopefBlob], _Blob]) -> list[_Blob]:
    """Of the raw reader or model."""
    return [make(owner, owner.blob(type, i)) for i in range(owner.count(type))]


class Reader:
    """Several files accumulate. Parsing belongs to one thread; afterwards any may read."""

    def __init__(self) -> None:
        self._raw = _raw.RawPopefReader()

    def __repr__(self) -> str:
        return f"<Reader of executables {[e.name for e in self.executables()]}>"

    def parseFile(self, path: Union[str, os.PathLike[str]]) -> None:
        """Maps a file. Do not change it while it is used; replacing it by renaming is fine.

        Errors: FileNotFoundError, PermissionError, DataLossError, FailedPreconditionError."""
        with _errors._opening(os.fspath(path)):
            self._raw.parse_file(os.fspath(path))

    def parseStream(self, stream: Any, size: int = 0) -> None:
        """Copies ``size`` bytes from a binary stream; 0: all that follow."""
        data = stream.read(size) if size else stream.read()
        address, length = _raw.raw_address(data)
        self._raw.parse_bytes(address, length)

    def parseSource(self, stream: Any, size: int) -> None:
        """Finds PopEF in the first ``size`` bytes of a binary stream that can seek: headers are read now, payloads when
        they are asked for, on the thread that asks. The stream must stay open, its bytes must not change and nobody else
        may move its position until all that was read from it is gone. What it raises comes out of the call that asks.
        Since 1.0."""
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
        """What was odd but no error."""
        return self._raw.warnings().splitlines()
