"""Models: the blobs of a reader assembled by their links."""

from __future__ import annotations

from typing import Optional

from .. import poprt_raw as _raw
from .metadata import from_raw
from .reader import BlobType, ExecutableReader, FeedReader, OpaqueReader, Reader, TensorReader, blobs
from .types import Anchor, TensorType

__all__ = ["Model", "ModelBuilder"]


class Model:
    """One executable with all blobs that belong to it: ``metadata``, ``executable``, ``tensors``, ``feeds``,
    ``opaqueBlobs``."""

    def __init__(self, raw: _raw.RawPopefModel):
        self._raw = raw
        self.metadata = from_raw(raw.metadata())
        self.executable = blobs(raw, BlobType.EXECUTABLE, ExecutableReader)[0]
        self.tensors = blobs(raw, BlobType.TENSOR, TensorReader)
        self.feeds = blobs(raw, BlobType.FEED, FeedReader)
        self.opaqueBlobs = blobs(raw, BlobType.OPAQUE, OpaqueReader)

    def _user_anchors(self, type: TensorType) -> list[Anchor]:
        return [self.metadata.anchors()[self._raw.user_anchor(type, i)]
                for i in range(self._raw.user_anchor_count(type))]

    def getUserInputAnchors(self) -> list[Anchor]:
        """The inputs of the main programs without data, which the caller must serve."""
        return self._user_anchors(TensorType.INPUT)

    def getUserOutputAnchors(self) -> list[Anchor]:
        """The outputs of the main programs."""
        return self._user_anchors(TensorType.OUTPUT)

    def warnings(self) -> list[str]:
        """Warnings about parts that were ignored when the model was created."""
        return self._raw.warnings().splitlines()

    def __repr__(self) -> str:
        return f"<Model {self.executable.name!r}>"


class ModelBuilder:
    """Assembles models. Raises FailedPreconditionError (an invalid link) and DataLossError (data that does not fit its
    anchor)."""

    def __init__(self, reader: Reader):
        self._reader = reader

    def __repr__(self) -> str:
        return f"<ModelBuilder of {self._reader!r}>"

    def createModel(self, executable: Optional[str] = None) -> Model:
        """Returns the model of the executable with that name, or of the only one for None."""
        return Model(_raw.RawPopefModel.create(self._reader._raw, executable or ""))

    def createModels(self) -> list[Model]:
        """Returns the models of all executables."""
        raw = _raw.RawPopefModels(self._reader._raw)
        return [Model(raw.take(i)) for i in range(raw.count())]
