"""Back ends: compile a model and run it by names."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from .compiler import Compiler, CompilerOptions, Executable
from .runtime import AnyConfig, Runner

__all__ = ["Backend", "ORTBackend"]


class Backend:
    """Compiles ``path_or_bytes`` (ONNX, or a PopEF file) and runs it.

    ``export_popef`` names a file or folder for the PopEF; ``align_output_dtype`` gives outputs the dtypes that the
    ONNX model declares, when the ``onnx`` package is there to read them.
    """

    def __init__(self, path_or_bytes: Any, *, export_popef: Union[str, os.PathLike[str], None] = None,
                 compiler_options: Optional[CompilerOptions] = None, runtime_options: Optional[AnyConfig] = None,
                 align_output_dtype: bool = False, logger: Any = None):
        self.logger = logger
        if isinstance(path_or_bytes, (str, os.PathLike)) and os.fspath(path_or_bytes).endswith(".popef"):
            executable = Executable(path_or_bytes)
        else:
            executable = Compiler.compile(path_or_bytes, None, compiler_options)
        if export_popef is not None:
            path = os.fspath(export_popef)
            executable.save(os.path.join(path, "executable.popef") if os.path.isdir(path) else path)
        self._declared = _declared_types(path_or_bytes) if align_output_dtype else {}
        self.runner: Runner = Runner(executable, runtime_options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.runner!r}>"

    def run(self, output_names: Optional[Sequence[str]], inputs: Mapping[str, Any],
            align_output_dtype: bool = False) -> list[np.ndarray]:
        """The outputs of those names, of all when None, in that order."""
        outputs = self.runner.run({n: np.ascontiguousarray(a) for n, a in inputs.items()})
        return [outputs[n].astype(self._declared.get(n, outputs[n].dtype), copy=False)
                for n in (output_names or list(outputs))]

    def get_io_info(self) -> tuple[dict[str, tuple[list[int], np.dtype]], dict[str, tuple[list[int], np.dtype]]]:
        """Name to (shape, dtype), of the inputs and of the outputs."""
        return tuple({d.name: (d.shape, d.numpy_data_type()) for d in descs}  # type: ignore[return-value]
                     for descs in (self.runner.get_execute_inputs(), self.runner.get_execute_outputs()))

    def close(self) -> None:
        self.runner.close()

    def __enter__(self) -> "Backend":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _declared_types(model: Any) -> dict[str, np.dtype]:
    try:
        import onnx
    except ImportError as error:
        raise ImportError("align_output_dtype needs the onnx package") from error
    if isinstance(model, (str, os.PathLike)):
        model = onnx.load(os.fspath(model), load_external_data=False)
    elif isinstance(model, bytes):
        model = onnx.load_from_string(model)
    from .utils import onnx_tensor_dtype_to_np_dtype
    return {o.name: onnx_tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type) for o in model.graph.output}


class ORTBackend(Backend):
    """Looks like ``onnxruntime.InferenceSession``; the first three options are for its sake and not used."""

    def __init__(self, path_or_bytes: Any, sess_options: Any = None, providers: Any = None,
                 provider_options: Any = None, lazy_load: bool = False, **options: Any):
        self._load: Optional[Callable[[], None]] = lambda: super(ORTBackend, self).__init__(path_or_bytes, **options)
        if not lazy_load:
            self.load()

    def load(self) -> "ORTBackend":
        load, self._load = self._load, None
        if load is not None:
            load()
        return self

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[np.ndarray]:
        return super().run(output_names, input_feed)
