"""Back ends: compile a model and run it by names."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Callable, Mapping, Optional, Sequence, Union

import numpy as np

from ._keywords import keywords
from ._onnx import onnx
from .compiler import Compiler, CompilerOptions, Executable, options_of
from .errors import NotFoundError, _path
from .runtime import AnyConfig, Runner, RuntimeConfig
from .utils import onnx_tensor_dtype_to_np_dtype

__all__ = ["Backend", "NodeArg", "ORTBackend"]

_Options = Union[CompilerOptions, Mapping[str, Any], None]


class Backend:
    """Compiles ``path_or_bytes`` (an ONNX model), or loads it (the path of a PopEF file), and runs it. Like a Runner, it
    takes any shape if the model has open dimensions.

    ``export_popef`` is a file or folder for the PopEF file, which has fixed shapes; True means executable.popef.
    ``compiler_options`` may be a dictionary of fields, and has no effect on a PopEF file. ``align_output_dtype``
    converts outputs to the dtypes that the ONNX model declares, and needs the ``onnx`` package.
    """

    @keywords(compiler_options=CompilerOptions, runtime_options=RuntimeConfig)
    def __init__(self, path_or_bytes: Any, *, export_popef: Union[str, os.PathLike[str], bool, None] = None,
                 compiler_options: _Options = None, runtime_options: Optional[AnyConfig] = None,
                 align_output_dtype: bool = False, logger: Any = None):
        self.logger = logger
        is_popef = isinstance(path_or_bytes, (str, os.PathLike)) and os.fspath(path_or_bytes).endswith(".popef")
        exports = export_popef is not None and export_popef is not False
        executable = path_or_bytes  # for the runner, which compiles it
        if is_popef:
            executable = Executable(path_or_bytes)
        elif exports:
            executable = Compiler.compile(path_or_bytes, None, options_of(compiler_options))
        if exports:
            path = os.curdir if export_popef is True else _path("export_popef", export_popef)
            executable.save(os.path.join(path, "executable.popef") if os.path.isdir(path) else path)
        self._source = path_or_bytes
        self._aligned = align_output_dtype
        self._declared: Optional[dict[str, np.dtype[Any]]] = _declared_types(path_or_bytes) if align_output_dtype else None
        given = None if is_popef or exports else options_of(compiler_options)
        self.runner: Runner = Runner(executable, runtime_options, compiler_options=given)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.runner!r}>"

    def run(self, output_names: Optional[Sequence[str]], inputs: Mapping[str, Any],
            align_output_dtype: bool = False) -> list[np.ndarray[Any, Any]]:
        """Returns the outputs with those names in that order, or all for None. ``align_output_dtype`` applies to this
        run, the constructor's to all runs."""
        if align_output_dtype and self._declared is None:
            self._declared = _declared_types(self._source)
        declared = self._declared if align_output_dtype or self._aligned else None
        if not isinstance(inputs, Mapping):
            raise TypeError(f"inputs: expected a dict of name to array, found {inputs!r}")
        outputs = self.runner.run({n: np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for n, a in inputs.items()})
        output_names = [output_names] if isinstance(output_names, str) else output_names
        unknown = [n for n in output_names or () if n not in outputs]
        if unknown:
            raise NotFoundError(f"the model has no output '{unknown[0]}'; it has: {', '.join(outputs)}")
        return [outputs[n].astype((declared or {}).get(n, outputs[n].dtype), copy=False)
                for n in (output_names or list(outputs))]

    def get_io_info(self) -> tuple[dict[str, tuple[list[int], np.dtype[Any]]], dict[str, tuple[list[int], np.dtype[Any]]]]:
        """Returns two dictionaries of (shape, dtype) by name, for inputs and outputs."""
        return tuple({d.name: (d.shape, d.numpy_data_type()) for d in descs}  # type: ignore[return-value]
                     for descs in (self.runner.get_execute_inputs(), self.runner.get_execute_outputs()))

    def close(self) -> None:
        self.runner.close()

    def __enter__(self) -> "Backend":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _node_arg(name: str, shape: Sequence[int], dtype: np.dtype[Any]) -> NodeArg:
    kind = {"float32": "float", "float64": "double"}.get(dtype.name, dtype.name)
    return NodeArg(name, f"tensor({kind})", list(shape))


def _declared_types(model: Any) -> dict[str, np.dtype[Any]]:
    helper = onnx("align_output_dtype")
    if isinstance(model, (str, os.PathLike)):
        model = helper.load(os.fspath(model), load_external_data=False)
    elif isinstance(model, bytes):
        model = helper.load_from_string(model)
    return {o.name: onnx_tensor_dtype_to_np_dtype(o.type.tensor_type.elem_type) for o in model.graph.output}


@dataclasses.dataclass(frozen=True)
class NodeArg:
    """The description of an input or output in a session of ONNX Runtime."""

    name: str
    type: str  # "tensor(float)"
    shape: list[int]


class ORTBackend(Backend):
    """Has the interface of ``onnxruntime.InferenceSession``; the first three options are for compatibility and ignored.
    With ``lazy_load``, the model is compiled by ``load()`` or at the first use."""

    def __init__(self, path_or_bytes: Any, sess_options: Any = None, providers: Any = None,
                 provider_options: Any = None, lazy_load: bool = False, **options: Any):
        self._load: Optional[Callable[[], None]] = lambda: super(ORTBackend, self).__init__(path_or_bytes, **options)
        if not lazy_load:
            self.load()

    def load(self) -> "ORTBackend":
        load, self._load = self._load, None
        try:
            if load is not None:
                load()
        except BaseException:
            self._load = load
            raise
        return self

    def __repr__(self) -> str:
        return super().__repr__() if self._load is None else f"<{type(self).__name__}, not loaded>"

    def close(self) -> None:
        if self._load is None:
            super().close()

    def __getattr__(self, name: str) -> Any:
        if name not in ("runner", "_aligned", "_declared", "_source") or self.__dict__.get("_load") is None:
            raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")
        return getattr(self.load(), name)

    def get_inputs(self) -> list[NodeArg]:
        return [_node_arg(name, *kind) for name, kind in self.get_io_info()[0].items()]

    def get_outputs(self) -> list[NodeArg]:
        return [_node_arg(name, *kind) for name, kind in self.get_io_info()[1].items()]

    def get_providers(self) -> list[str]:
        """The provider of the emulated IPU, which is not one of ONNX Runtime's."""
        return ["PoprtExecutionProvider"]

    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: Any = None) -> list[np.ndarray[Any, Any]]:
        return super().run(output_names, input_feed)
