"""Front ends: models of a framework as onnx.ModelProto."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from . import _exporters
from ._gguf import gguf
from ._onnx import ModelProto, load, onnx, package, read
from .errors import FailedPreconditionError, FileMissingError, InvalidArgumentError, _path
from .utils import get_logger

__all__ = ["ExporterFrontend", "Frontend", "OnnxFrontend", "TensorflowFrontend", "convert", "get_frontend", "gguf"]

FRAMEWORKS = ("onnx", "pytorch", "tensorflow", "keras", "paddle", "sklearn", "lightgbm", "xgboost")

_Names = Union[str, Sequence[str], None]


class Frontend:
    """Base of the loaders of models."""

    def __init__(self, path: Union[str, "os.PathLike[str]"]):
        self.path = _path("path", path)

    def load_model(self) -> ModelProto:
        raise NotImplementedError(f"{type(self).__name__} must define load_model()")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.path!r})"


class OnnxFrontend(Frontend):
    """An .onnx file, or a folder that contains exactly one."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], **kwargs: Any):
        super().__init__(path)
        for name in kwargs:
            get_logger().warning("OnnxFrontend has no use for argument '%s'", name)

    @staticmethod
    def get_onnx_name(dir_or_name: Union[str, "os.PathLike[str]"]) -> str:
        """Returns the path of the ONNX file: ``dir_or_name``, or the only .onnx file of that folder."""
        path = _path("dir_or_name", dir_or_name)
        if not os.path.isdir(path):
            if not os.path.exists(path):
                raise FileMissingError(f"there is no file or folder '{path}'")
            return path
        found = sorted(name for name in os.listdir(path) if name.endswith(".onnx"))
        if len(found) != 1:
            raise InvalidArgumentError(f"the folder '{path}' holds {len(found)} .onnx files; expected exactly one, name the file")
        return os.path.join(path, found[0])

    def load_model(self) -> ModelProto:
        return read(self.get_onnx_name(self.path), "OnnxFrontend")


class TensorflowFrontend(Frontend):
    """A TensorFlow SavedModel (a folder), converted by tf2onnx, which must be installed together with TensorFlow.

    ``inputs`` and ``outputs`` are names of tensors ("x:0", also "x:0[1,224,224,3]"). Those in ``inputs_as_nchw`` and
    ``outputs_as_nchw`` change from NHWC to NCHW. ``input_shape`` sets variable dimensions by name.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, saved_model: bool = True, signature_def: str = "", tag: str = "",
                 opset: int = 11, inputs_as_nchw: _Names = None, outputs_as_nchw: _Names = None, inputs: _Names = None,
                 input_shape: Mapping[str, Sequence[int]] = {}, outputs: _Names = None):
        super().__init__(path)
        if not saved_model:
            raise InvalidArgumentError("TensorflowFrontend: expected a SavedModel (saved_model=True); frozen graphs are converted "
                                       "with python3 -m tf2onnx.convert --graphdef")
        self.signature_def, self.tag, self.opset = signature_def, tag, opset
        self.inputs, self.outputs = _list(inputs), _list(outputs)
        self.inputs_as_nchw, self.outputs_as_nchw = _list(inputs_as_nchw), _list(outputs_as_nchw)
        self.input_shape = dict(input_shape)

    @staticmethod
    def split_nodename_and_shape(name: Optional[str]) -> tuple[Optional[list[str]], Optional[dict[str, list[int]]]]:
        """Parses "x:0[1,2],y:0" to (["x:0", "y:0"], {"x:0": [1, 2]}). Without shapes, the second is None."""
        if not name:
            return None, None
        names, shapes = [], {}
        for word, shape in re.findall(r"([^\[\],]+)(?:\[([^\]]*)\])?", name):
            names.append(word.strip())
            if shape:
                shapes[names[-1]] = [int(d) for d in shape.split(",")]
        return names, shapes or None

    @staticmethod
    def get_inputs_meta(graph: Any) -> dict[str, tuple[list[int], Any]]:
        """Returns (shape, NumPy type) of a TensorFlow graph's placeholders by name, with 0 for unknown dimensions.
        Excludes handles of variables, which are also placeholders in a SavedModel."""
        return _metas(op.outputs[0] for op in graph.get_operations() if op.type == "Placeholder")

    @staticmethod
    def get_outputs_meta(graph: Any) -> dict[str, tuple[list[int], Any]]:
        """Returns the same for the tensors that no operation reads."""
        return _metas(t for op in graph.get_operations() for t in op.outputs if not t.consumers())

    def command(self, output: str, opset: Optional[int] = None) -> list[str]:
        """Returns the arguments for tf2onnx.convert. Without an opset, tf2onnx uses its default."""
        words = ["--saved-model", self.path, "--output", output, *(["--opset", str(opset)] if opset else [])]
        shaped = [f"{name}[{','.join(map(str, self.input_shape[name]))}]" if name in self.input_shape else name
                  for name in self.inputs]
        for option, value in (("--signature_def", self.signature_def), ("--tag", self.tag), ("--inputs", ",".join(shaped)),
                              ("--outputs", ",".join(self.outputs)), ("--inputs-as-nchw", ",".join(self.inputs_as_nchw)),
                              ("--outputs-as-nchw", ",".join(self.outputs_as_nchw))):
            if value:
                words += [option, value]
        return words

    def _run(self, folder: str, opset: Optional[int]) -> tuple[Optional[str], list[str]]:
        """Returns the path of the result of tf2onnx, or None if it failed, and the lines that it has printed."""
        path = os.path.join(folder, f"model{opset or ''}.onnx")
        done = subprocess.run([sys.executable, "-m", "tf2onnx.convert", *self.command(path, opset)], capture_output=True, text=True)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        return (None if done.returncode or not os.path.exists(path) else path), lines

    def load_model(self) -> ModelProto:
        if not os.path.isdir(self.path):
            raise FileMissingError(f"'{self.path}' is no folder of a SavedModel")
        helper = onnx("TensorflowFrontend")
        package("tf2onnx", "TensorflowFrontend", "python3 -m pip install tf2onnx tensorflow")
        with tempfile.TemporaryDirectory(prefix="poprt_") as folder:
            path, lines = self._run(folder, self.opset)
            lacks = _text_after(lines, "Unsupported ops: ")
            if path is None or lacks:
                # The opset lacks an operator, which tf2onnx then keeps as a TensorFlow operator (commonly Einsum, of
                # opset 12).
                again, lines_again = self._run(folder, None)
                if again is not None and not _text_after(lines_again, "Unsupported ops: "):
                    get_logger().warning("tf2onnx cannot write the model with opset %d%s; it was written with the opset that tf2onnx "
                                         "takes by default", self.opset, f" ({lacks})" if lacks else "")
                    path, lines = again, lines_again
            if path is None:
                raise FailedPreconditionError(f"tf2onnx could not convert '{self.path}': {lines[-1] if lines else 'it printed nothing'}")
            model = helper.load(path)
        self._check_names(model, lines)
        for value in model.graph.input:
            shape = self.input_shape.get(value.name)
            if shape is not None and not self.inputs:
                for dim, size in zip(value.type.tensor_type.shape.dim, shape):
                    dim.dim_value = size
        return model

    def _check_names(self, model: ModelProto, lines: Sequence[str]) -> None:
        """Raises InvalidArgumentError for names in inputs_as_nchw and outputs_as_nchw that the model does not have,
        because tf2onnx silently ignores them. It accepts the names of the ONNX model and of the tensors in the
        signature's function: NAME:0 for an input, Identity:0, Identity_1:0, ... for outputs."""
        inputs, outputs = ([v.name for v in values] for values in (model.graph.input, model.graph.output))
        for direction, names, found, given, tensors in (
                ("input", self.inputs_as_nchw, inputs, self.inputs, [f"{name}:0" for name in inputs]),
                ("output", self.outputs_as_nchw, outputs, self.outputs, [f"Identity_{i}:0" if i else "Identity:0" for i in range(len(outputs))])):
            for name in names:
                if name not in {*found, *tensors, *given}:
                    raise InvalidArgumentError(f"{direction}s_as_nchw: the model has no {direction} '{name}'; it has {', '.join(found)}")
            wrong = _text_after(lines, f"transpose_{direction} for ") if names else ""
            if wrong:
                raise InvalidArgumentError(f"{direction}s_as_nchw: {wrong.split(': ')[0]}: expected four dimensions")


def get_frontend(path: Union[str, "os.PathLike[str]"], framework: str = "onnx", **kwargs: Any) -> Frontend:
    """Returns the front end of a framework; see ``convert`` for their names. Further arguments are passed to it."""
    if framework == "onnx":
        return OnnxFrontend(path, **kwargs)
    if framework == "tensorflow":
        return TensorflowFrontend(path, **kwargs)
    return ExporterFrontend(path, framework, **kwargs)


def _tensorflow(request: _exporters.Request) -> ModelProto:
    """A SavedModel, a Keras model, or its file (.keras, .h5)."""
    path, model = request.path, request.model
    options: dict[str, Any] = dict(request.options)
    if request.opset is not None:
        options["opset"] = request.opset
    if request.input_shape:
        options["input_shape"] = {name: request.reshape(shape) for name, shape in request.input_shape.items()}
    if path is not None and os.path.isdir(path):
        return TensorflowFrontend(path, **options).load_model()
    request.need("tf2onnx", "tf2onnx tensorflow")
    tf = request.need("tensorflow")
    if path is not None:
        model = tf.keras.models.load_model(path, compile=False)
    with tempfile.TemporaryDirectory(prefix="poprt_") as folder:
        saved = os.path.join(folder, "model")
        if hasattr(model, "export"):
            model.export(saved)
        else:
            tf.saved_model.save(model, saved)
        options.setdefault("opset", 15)
        return TensorflowFrontend(saved, **options).load_model()



_exporters.EXPORTERS.update(tensorflow=_tensorflow, keras=_tensorflow)


class ExporterFrontend(Frontend):
    """A file of another framework. The arguments are those of ``convert``."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], framework: str, **kwargs: Any):
        super().__init__(path)
        self.framework = _known(framework)
        self.arguments = kwargs

    def load_model(self) -> ModelProto:
        return convert(self.path, self.framework, **self.arguments)


def convert(model_or_path: Any, framework: Optional[str] = None, *, example_inputs: Any = None,
            input_shape: Mapping[str, Sequence[Optional[int]]] = {}, opset: Optional[int] = None, **options: Any) -> ModelProto:
    """Converts a model of a framework to an onnx.ModelProto by the exporter of that framework, which must be installed.

    ``framework`` is one of the following; None recognises objects, and paths with the endings listed:

    - "pytorch": a torch.nn.Module, a TorchScript file (.pt, .pth), an ExportedProgram (.pt2); by torch.onnx
    - "tensorflow" and "keras": a SavedModel (a folder), a Keras model or its file (.keras, .h5); by tf2onnx
    - "paddle": a paddle.nn.Layer, or a file of paddle.jit.save (.pdmodel); by paddle2onnx
    - "sklearn": an estimator or a pipeline, or a file of joblib, which can run any code; by skl2onnx
    - "lightgbm" and "xgboost": a model or its file; by onnxmltools
    - "onnx": a path (.onnx), bytes, or an onnx.ModelProto

    ``example_inputs`` are the inputs with which torch.onnx runs the model, or whose width is that of a table.
    ``input_shape`` contains shapes of float inputs by name instead; None is a variable dimension, which becomes 1 for
    "pytorch", "tensorflow" and "keras". ``opset`` is the version of ONNX's operators. Further options are passed to the
    exporter.

    Raises InvalidArgumentError (an unknown framework, or an argument that the exporter needs), FileMissingError, and
    ImportError with the command that installs a missing package.
    """
    found = _known(framework) if framework is not None else _exporters.framework_of(model_or_path)
    if found is None:
        what = f"'{os.fspath(model_or_path)}'" if isinstance(model_or_path, (str, os.PathLike)) else f"a {type(model_or_path).__name__}"
        raise InvalidArgumentError(f"convert: the framework of {what} is not recognised; give framework, one of {', '.join(FRAMEWORKS)}")
    if found == "onnx":
        for name in options:
            get_logger().warning("convert has no use for argument '%s' of an ONNX model", name)
        is_path = isinstance(model_or_path, (str, os.PathLike))
        return OnnxFrontend(model_or_path).load_model() if is_path else load(model_or_path, "convert")
    return _exporters.EXPORTERS[found](_exporters.Request(model_or_path, f"convert of {found}", example_inputs, input_shape, opset, options))


def _known(framework: str) -> str:
    if framework not in FRAMEWORKS:
        raise InvalidArgumentError(f"framework: expected one of {', '.join(FRAMEWORKS)}, found {framework!r}")
    return framework


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """``python3 -m poprt.frontend --framework NAME --output ONNX [--input_shape NAME=D,D ...] MODEL`` converts a file.
    Command ``poprt --framework`` runs it."""
    parser = argparse.ArgumentParser(prog="python3 -m poprt.frontend")
    parser.add_argument("--framework", choices=FRAMEWORKS, required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--input_shape", nargs="*", default=[])
    parser.add_argument("model")
    given = parser.parse_args(arguments)
    try:
        shapes: dict[str, list[Optional[int]]] = {}
        for word in given.input_shape:
            name, _, dims = word.partition("=")
            shapes[name] = [int(d) if int(d) > 0 else None for d in dims.split(",") if d]
        model = convert(given.model, given.framework, input_shape=shapes)
        onnx("convert").save(model, given.output)
    except Exception as error:  # an exporter raises anything; the command prints one line
        print(f"{type(error).__name__}: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    return 0


def _list(names: _Names) -> list[str]:
    words = names.split(",") if isinstance(names, str) else names or ()
    return [word.strip() for word in words if word.strip()]


def _text_after(lines: Iterable[str], mark: str) -> str:
    """Returns the text after ``mark`` in the first line that contains it."""
    return next((line.split(mark, 1)[1] for line in lines if mark in line), "")


def _metas(tensors: Iterable[Any]) -> dict[str, tuple[list[int], Any]]:
    """Returns tensors of numbers or text by name. Resources and variants have no NumPy type."""
    found = {}
    for tensor in tensors:
        try:
            dtype = tensor.dtype.as_numpy_dtype
        except KeyError:
            continue
        shape = tensor.shape
        found[tensor.name] = [d or 0 for d in shape.as_list()] if shape.rank is not None else [], dtype
    return found


if __name__ == "__main__":
    sys.exit(main())
