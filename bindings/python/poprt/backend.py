"""Sessions by the name of a back end."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional, Sequence

from .backends import Backend
from .compiler import CompilerOptions

__all__ = ["get_session"]


class _Session:
    """``load()``, ``run(names, feed)``, ``get_io_info()``."""

    def __init__(self, make: Callable[[], Any]):
        self._make = make
        self._backend: Any = None  # a Backend, or a session of ONNX Runtime

    def load(self) -> "_Session":
        if self._backend is None:
            self._backend = self._make()
        return self

    def run(self, output_names: Optional[Sequence[str]], inputs: Mapping[str, Any]) -> list[Any]:
        return list(self.load()._backend.run(output_names, inputs))

    def get_io_info(self) -> dict[str, tuple[Any, Any]]:
        """Name to (shape, dtype) of inputs and outputs."""
        inputs, outputs = self.load()._backend.get_io_info()
        return {**inputs, **outputs}


class _OrtSession(_Session):
    def get_io_info(self) -> dict[str, tuple[Any, Any]]:
        session = self.load()._backend
        return {i.name: (i.shape, i.type) for i in [*session.get_inputs(), *session.get_outputs()]}


def get_session(model: Any, num_ipus: int = 1, backend: str = "poprt", *, output_dir: Optional[str] = None,
                options: Optional[CompilerOptions] = None, batches_per_step: int = 1, export_popef: bool = False,
                align_output_dtype: bool = False) -> _Session:
    """``backend`` is ``poprt``, or ``onnxruntime`` when that package is installed."""
    if backend == "onnxruntime":
        def make_ort() -> Any:
            import onnxruntime  # type: ignore
            return onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
        return _OrtSession(make_ort)
    if backend != "poprt":
        raise ValueError(f"backend must be 'poprt' or 'onnxruntime', given {backend!r}")

    def make() -> Backend:
        chosen = options or CompilerOptions()
        chosen.num_ipus, chosen.batches_per_step = num_ipus, batches_per_step
        path = os.path.join(output_dir or os.curdir, "executable.popef") if export_popef else None
        return Backend(model, export_popef=path, compiler_options=chosen, align_output_dtype=align_output_dtype)
    return _Session(make)
