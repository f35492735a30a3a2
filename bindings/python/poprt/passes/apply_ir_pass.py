"""ApplyIrPass: runs several passes of the library at once."""

from __future__ import annotations

from typing import Sequence, Union

from .._onnx import ModelProto
from .base_pass import Pass
from .pass_manager import PassManager

__all__ = ["ApplyIrPass"]


class ApplyIrPass(Pass):
    """``ApplyIrPass(["eliminate_identity", "unique_name_for_nodes"])(model)`` runs the passes in that order."""

    name = "apply_ir_pass"
    properties = {"type": "ir"}

    def __init__(self, passes: Union[str, Sequence[Union[str, Pass]]] = ()) -> None:
        super().__init__()
        names = passes.split(",") if isinstance(passes, str) else passes
        self._manager = PassManager(list(names), gather_ir_passes=True)

    def __repr__(self) -> str:
        return f"ApplyIrPass({self._manager.get_all_pass_names()!r})"

    def run(self, onnx_model: ModelProto) -> ModelProto:
        return self._manager.run(onnx_model)
