"""Writes PopEF blob by blob, with payloads in pieces.

One blob writer is active at a time: beginning the next one finishes the last one. If a blob cannot be finished, the
whole writer has failed, and the file is unchanged.
"""

from __future__ import annotations

import enum
import os
from typing import Any, Optional, Sequence, TypeVar, Union

from .. import errors as _errors
from .. import poprt_raw as _raw
from .metadata import to_raw
from .reader import BlobType
from .types import FeedDataInfo, Metadata, TensorDataInfo

__all__ = ["BlobWriter", "FeedGroupWriter", "FileWriter", "Writer"]


_Self = TypeVar("_Self", bound="_Finished")


class _Finished:
    """A ``with`` block finishes the blob or writer, or discards it after an exception."""

    _raw: Any

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self.close()
        else:
            self._raw = None


class BlobWriter(_Finished):
    """Writes the payload of one blob. The next blob, the writer's close or the end of the scope finishes it. A ``with``
    block that ends with an exception makes the whole writer fail."""

    def __init__(self, writer: "Writer", raw: _raw.RawPopefBlobWriter):
        self._writer = writer  # keeps its stream alive
        self._raw: Optional[_raw.RawPopefBlobWriter] = raw

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{', closed' if self._raw is None else ''}>"

    def _write(self, feed: int, data: Any, size: Optional[int]) -> None:
        if self._raw is None:
            raise _errors.FailedPreconditionError("the blob's writer has given up")
        view = memoryview(data)
        if not view.c_contiguous:
            view = memoryview(view.tobytes())
        if size is not None and not 0 <= size <= view.nbytes:
            raise ValueError(f"{size} bytes were requested, the data has {view.nbytes}")
        if view.nbytes == 0 or size == 0:
            return
        address, length = _raw.raw_address(view)
        with self._writer._stream_errors():
            self._raw.write(feed, address, length if size is None else size)

    def write(self, data: Any, size: Optional[int] = None) -> None:
        """Appends the bytes of anything with a buffer, or the first ``size`` of them."""
        self._write(0, data, size)

    def close(self) -> None:
        """Finishes the blob. Raises InvalidArgumentError if a tensor or feed is incomplete."""
        if self._raw is not None:
            with self._writer._stream_errors():
                self._raw.close()

    def __del__(self) -> None:
        try:
            if getattr(self, "_raw", None) is not None:
                self.close()
        except Exception:
            pass  # the writer has failed and reports the error


class FeedGroupWriter(BlobWriter):
    """Several feeds that are written alternately."""

    def write(self, feed: int, data: Any, size: Optional[int] = None) -> None:  # type: ignore[override]
        """Appends bytes to one of the feeds."""
        self._write(feed, data, size)

    def writeStep(self, tensors: Sequence[Any]) -> None:
        """Appends one tensor to every feed, in their order."""
        for feed, tensor in enumerate(tensors):
            self._write(feed, tensor, None)


class _StreamErrors:
    """Raises exceptions of a stream's write() in the caller."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: Optional[BaseException], trace: object) -> None:
        raised = _raw.raw_take_progress_error() if isinstance(error, _errors.CancelledError) else None
        if raised is not None:
            raise raised from None


class Writer(_Finished):
    """Writes to a path, or to an object with a ``write`` method for bytes.

    As a context manager, it closes at the end of the block, and writes nothing after an exception."""

    def __init__(self, target: Union[str, os.PathLike[str], Any]):
        self._stream: Any = None
        if isinstance(target, (str, os.PathLike)):
            self._open(target, FileWriter.Mode.TRUNCATE)
        else:
            self._stream = target  # the raw layer uses its address
            self._raw: Optional[_raw.RawPopefWriter] = _raw.RawPopefWriter.create_stream(
                _raw.raw_write_fn(), _raw.raw_object_address(target))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{', closed' if self._raw is None else ''}>"

    def _open(self, path: Union[str, os.PathLike[str]], mode: int) -> None:
        folder = os.path.dirname(os.fspath(path)) or "."
        with _errors._opening(folder):
            self._raw = _raw.RawPopefWriter.create_file(os.fspath(path), mode)

    def _stream_errors(self) -> _StreamErrors:
        return _StreamErrors()

    def _active(self) -> _raw.RawPopefWriter:
        if self._raw is None:
            raise _errors.FailedPreconditionError("the PopEF writer has given up")
        return self._raw

    def _begin(self, info: _raw.RawPopefBlobInfo) -> BlobWriter:
        with self._stream_errors():
            return BlobWriter(self, self._active().begin(info))

    def createExecutable(self, name: str, compress: bool = False) -> BlobWriter:
        info = _raw.RawPopefBlobInfo(BlobType.EXECUTABLE, name, "")
        info.set_compressed(bool(compress))
        return self._begin(info)

    def createOpaqueBlob(self, name: str, executable: str) -> BlobWriter:
        return self._begin(_raw.RawPopefBlobInfo(BlobType.OPAQUE, name, executable))

    def createTensorData(self, info: TensorDataInfo, executable: str = "") -> BlobWriter:
        """``executable`` links the data to one of several models; if empty, to all models with such an anchor."""
        return self._begin(_data_info(BlobType.TENSOR, info, executable))

    def createFeedData(self, info: FeedDataInfo, executable: str = "") -> BlobWriter:
        return self._begin(_data_info(BlobType.FEED, info, executable))

    def createFeedGroup(self, infos: Sequence[FeedDataInfo], executable: str = "") -> FeedGroupWriter:
        """Begins feeds that are written alternately."""
        feeds = _raw.RawPopefFeeds()
        for info in infos:
            feeds.add(_data_info(BlobType.FEED, info, executable))
        with self._stream_errors():
            return FeedGroupWriter(self, self._active().begin_feeds(feeds))

    def writeMetadata(self, metadata: Metadata) -> None:
        raw = to_raw(metadata)
        with self._stream_errors():
            self._active().add_metadata(raw)

    write = writeMetadata  # the C++ name

    def close(self) -> None:
        """Finishes the active blob and the writer, and makes the file visible. A second call has no effect."""
        with self._stream_errors():
            self._active().close()


class FileWriter(Writer):
    """Writes a new file, or appends blobs to an existing one."""

    class Mode(enum.IntEnum):
        TRUNCATE = 0
        APPEND = 1

    def __init__(self, path: Union[str, os.PathLike[str]], mode: "FileWriter.Mode" = Mode.TRUNCATE):
        self._stream = None
        self._open(path, FileWriter.Mode(mode))


def _data_info(type: BlobType, info: TensorDataInfo, executable: str) -> _raw.RawPopefBlobInfo:
    tensor = info.tensorInfo()
    raw = _raw.RawPopefBlobInfo(type, info.name(), executable)
    raw.set_tensor(tensor.dataType(), tensor.shape(), len(tensor.shape()))
    if isinstance(info, FeedDataInfo):
        raw.set_tensor_count(info.numTensors())
    return raw
