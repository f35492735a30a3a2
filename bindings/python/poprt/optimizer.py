"""Optimizer: runs passes by name on a model of a path or in memory."""

from __future__ import annotations

from typing import Any, Sequence

from ._onnx import ModelProto, load
from .passes.pass_manager import AnyPass, PassManager

__all__ = ["Optimizer"]


class Optimizer:
    """``Optimizer(["gelu_pattern", "fused_attention"]).run("model.onnx")`` runs the passes in that order and returns
    the model."""

    def __init__(self, passes: Sequence[AnyPass]):
        self._manager = PassManager(passes, gather_ir_passes=True)

    def __repr__(self) -> str:
        return f"Optimizer({self._manager.get_all_pass_names()!r})"

    def run(self, model: Any) -> ModelProto:
        """``model`` is a path, the bytes of a file, or an onnx.ModelProto."""
        return self._manager.run(load(model, "Optimizer.run"))
