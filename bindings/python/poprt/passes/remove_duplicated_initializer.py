"""RemoveDuplicatedInitializer, which published programs import by its class."""

from __future__ import annotations

from .._onnx import ModelProto
from .base_pass import Pass

__all__ = ["RemoveDuplicatedInitializer"]


class RemoveDuplicatedInitializer(Pass):
    """Shares equal initializers: pass remove_duplicated_initializer of the library, or the one in its place."""

    def run(self, onnx_model: ModelProto) -> ModelProto:
        return self.get_pass("remove_duplicated_initializer")(onnx_model)
