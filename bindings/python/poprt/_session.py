"""Sessions by the name of a back end."""

from __future__ import annotations

import os
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from ._backend import Backend, _Options
from ._onnx import package
from .compiler import options_of
from .errors import InvalidArgumentError

__all__ = ["Session", "get_session"]

# Name -> (shape, NumPy type), in the order of the graph.
Info = dict[str, tuple[Any, "np.dtype[Any]"]]

_ORT_TYPES: dict[str, Any] = {"float": np.float32, "double": np.float64, "float16": np.float16, "bfloat16": np.uint16, "bool": np.bool_,
              "string": np.object_, **{f"{u}int{bits}": np.dtype(f"{u}int{bits}") for u in ("", "u") for bits in (8, 16, 32, 64)}}


class Session:
    """A model on a back end. ``load()`` prepares it. The other methods call it if necessary."""

    def __init__(self, model: Any):
        self._model = model
        self._backend: Any = None

    def _make(self) -> Any:
        raise NotImplementedError

    def load(self) -> "Session":
        if self._backend is None:
            self._backend = self._make()
        return self

    def run(self, output_names: Optional[Sequence[str]], inputs: Mapping[str, Any]) -> list[Any]:
        """Returns the outputs with those names, or all for None."""
        return list(self.load()._backend.run(output_names, inputs))

    def get_io_info(self) -> tuple[Info, Info]:
        """Returns (shape, NumPy type) of the inputs and of the outputs by name, in the order of the model."""
        inputs, outputs = self.load()._backend.get_io_info()
        return inputs, outputs

    def set_input_names(self, names: Sequence[str]) -> None:
        raise NotImplementedError(f"{self!r}: names of inputs are for back end tensorflow")

    def set_output_names(self, names: Sequence[str]) -> None:
        raise NotImplementedError(f"{self!r}: names of outputs are for back end tensorflow")

    def __repr__(self) -> str:
        return f"<{type(self).__name__}{'' if self._backend is not None else ', not loaded'}>"


class PoprtSession(Session):
    """The emulated IPU."""

    def __init__(self, model: Any, **options: Any):
        super().__init__(model)
        self._options = options

    def _make(self) -> Backend:
        return Backend(self._model, **self._options)


class OrtSession(Session):
    """ONNX Runtime, on the CPU."""

    def _make(self) -> Any:
        ort = package("onnxruntime", "back end onnxruntime", "python3 -m pip install onnxruntime")
        model = self._model.SerializeToString() if hasattr(self._model, "SerializeToString") else self._model
        if isinstance(model, os.PathLike):
            model = os.fspath(model)
        return ort.InferenceSession(model, providers=["CPUExecutionProvider"])

    def get_io_info(self) -> tuple[Info, Info]:
        session = self.load()._backend
        inputs, outputs = ({v.name: (list(v.shape), _ort_type(v.type)) for v in values}
                           for values in (session.get_inputs(), session.get_outputs()))
        return inputs, outputs


class TensorflowSession(Session):
    """A frozen graph (tf.compat.v1.GraphDef, or the path or bytes of one) in TensorFlow, or a SavedModel (the path of a
    folder) by its signature: "serving_default", or the only one. Names are those of tensors, and for a SavedModel
    also those of the signature."""

    def __init__(self, model: Any):
        super().__init__(model)
        self._inputs: Optional[list[str]] = None
        self._outputs: Optional[list[str]] = None
        # The names of tensors in the signature of a SavedModel.
        self._signature: tuple[dict[str, str], dict[str, str]] = {}, {}

    def set_input_names(self, names: Sequence[str]) -> None:
        self._inputs = list(names)

    def set_output_names(self, names: Sequence[str]) -> None:
        self._outputs = list(names)

    def _make(self) -> Any:
        tf = package("tensorflow", "back end tensorflow", "python3 -m pip install tensorflow").compat.v1
        graph_def = self._model
        if isinstance(graph_def, (str, os.PathLike)) and os.path.isdir(graph_def):
            return self._make_saved(tf, os.fspath(graph_def))
        if isinstance(graph_def, (str, os.PathLike)):
            with open(graph_def, "rb") as file:
                graph_def = file.read()
        if isinstance(graph_def, bytes):
            data, graph_def = graph_def, tf.GraphDef()
            graph_def.ParseFromString(data)
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
        return tf.Session(graph=graph)

    def _make_saved(self, tf: Any, path: str) -> Any:
        session = tf.Session(graph=tf.Graph())
        with session.graph.as_default():
            loaded = tf.saved_model.load(session, ["serve"], path).signature_def
        # The function that initialises variables also has a signature.
        callable_ones = {name: s for name, s in loaded.items() if not name.startswith("__")}
        name = "serving_default" if "serving_default" in callable_ones or len(callable_ones) != 1 else next(iter(callable_ones))
        if name not in callable_ones:
            raise InvalidArgumentError(f"the SavedModel '{path}' has no signature 'serving_default'; it has "
                                       f"{', '.join(sorted(callable_ones)) or 'none'}")
        given, made = ({key: info.name for key, info in part.items()} for part in (loaded[name].inputs, loaded[name].outputs))
        self._signature = given, made
        return session

    def get_io_info(self) -> tuple[Info, Info]:
        graph = self.load()._backend.graph
        operations = graph.get_operations()
        known = self._signature[0] | self._signature[1]
        inputs = self._inputs or list(self._signature[0]) or [op.outputs[0].name for op in operations if op.type == "Placeholder"]
        outputs = self._outputs or list(self._signature[1]) or [t.name for op in operations for t in op.outputs if not t.consumers()]
        first, second = ({n: _tensorflow_type(graph.get_tensor_by_name(known.get(n, n))) for n in names} for names in (inputs, outputs))
        return first, second

    def run(self, output_names: Optional[Sequence[str]], inputs: Mapping[str, Any]) -> list[Any]:
        wanted = list(output_names) if output_names else list(self.get_io_info()[1])
        backend, (given, made) = self.load()._backend, self._signature
        return list(backend.run([made.get(n, n) for n in wanted], {given.get(n, n): array for n, array in inputs.items()}))


def _ort_type(text: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = np.dtype(_ORT_TYPES.get(text.removeprefix("tensor(").removesuffix(")"), np.object_))
    return dtype


def _tensorflow_type(tensor: Any) -> tuple[list[Any], np.dtype[Any]]:
    return ([] if tensor.shape.rank is None else tensor.shape.as_list()), np.dtype(tensor.dtype.as_numpy_dtype)


def get_session(model: Any, num_ipus: int = 1, backend: str = "poprt", *, output_dir: Optional[str] = None,
                options: _Options = None, batches_per_step: int = 1, export_popef: bool = False,
                align_output_dtype: bool = False) -> Session:
    """Returns a session for a model (path, bytes or onnx.ModelProto) on back end ``poprt``, or on ``onnxruntime`` or
    ``tensorflow`` if that package is installed. ``options`` are CompilerOptions or a dictionary of them. All
    arguments except ``model`` and ``backend`` are only for poprt."""
    if backend == "onnxruntime":
        return OrtSession(model)
    if backend == "tensorflow":
        return TensorflowSession(model)
    if backend != "poprt":
        raise ValueError(f"backend must be 'poprt', 'onnxruntime' or 'tensorflow', given {backend!r}")
    given = options_of(options)
    chosen = type(given)(**given.changed())
    if num_ipus != 1:
        chosen.num_ipus = num_ipus
    if batches_per_step != 1:
        chosen.batches_per_step = batches_per_step
    path = os.path.join(output_dir or os.curdir, "executable.popef") if export_popef else None
    if path is not None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    return PoprtSession(model, export_popef=path, compiler_options=chosen, align_output_dtype=align_output_dtype)
