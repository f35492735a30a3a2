"""RemoveDuplicatedInitializer, a class that published programs import."""

from __future__ import annotations

from .._onnx import ModelProto
from .base_pass import Pass

__all__ = ["RemoveDuplicatedInitializer"]


class RemoveDuplicatedInitializer(Pass):
    """Merges equal initializers by pass remove_duplicated_initializer of the library, or its replacement."""

    def run(self, onnx_model: ModelProto) -> ModelProto:
        return self.get_pass("remove_duplicated_initializer")(onnx_model)
