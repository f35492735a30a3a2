"""Models of other frameworks as onnx.ModelProto, each by its own exporter, which is an optional package."""

from __future__ import annotations

import io
import os
import tempfile
from typing import Any, Callable, Mapping, NamedTuple, Optional, Sequence

from ._onnx import ModelProto, onnx, package
from .errors import FileMissingError, InvalidArgumentError

Shapes = Mapping[str, Sequence[Optional[int]]]


class Request(NamedTuple):
    """A model and how to export it. ``why`` names the caller for messages."""

    model: Any  # an object of the framework, or a path
    why: str
    example_inputs: Any
    input_shape: Shapes
    opset: Optional[int]
    options: Mapping[str, Any]

    @property
    def path(self) -> Optional[str]:
        if not isinstance(self.model, (str, os.PathLike)):
            return None
        path = os.fspath(self.model)
        if not os.path.exists(path):
            raise FileMissingError(f"there is no file or folder '{path}'")
        return path

    def need(self, name: str, install: str = "") -> Any:
        return package(name, self.why, f"python3 -m pip install {install or name}")

    def reshape(self, shape: Sequence[Optional[int]]) -> list[int]:
        """Returns the shape with 1 for variable dimensions."""
        return [1 if d is None else int(d) for d in shape]

    def refuse(self, what: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"{self.why}: {what}")


def _saved(request: Request, data: bytes) -> ModelProto:
    helper = onnx(request.why)
    return helper.load_from_string(data)


def pytorch(request: Request) -> ModelProto:
    """A torch.nn.Module, a TorchScript module (.pt, .pth), or an ExportedProgram of torch.export (.pt2)."""
    torch = request.need("torch", "torch onnxscript")
    model, path = request.model, request.path
    if path is not None:
        model = torch.export.load(path) if path.endswith(".pt2") else torch.jit.load(path, map_location="cpu")
    program = hasattr(torch, "export") and isinstance(model, torch.export.ExportedProgram)
    inputs = request.example_inputs
    if inputs is None and request.input_shape:
        inputs = tuple(torch.zeros(request.reshape(s)) for s in request.input_shape.values())
    if inputs is None and not program:
        raise request.refuse("give example_inputs (a tuple of tensors), or input_shape={name: shape} of float inputs; torch.onnx runs "
                             "the model once")
    args = () if inputs is None else inputs if isinstance(inputs, tuple) else (inputs,)
    options: dict[str, Any] = {"opset_version": request.opset or 18, **request.options}
    if request.input_shape:
        options.setdefault("input_names", list(request.input_shape))
    if not program and hasattr(model, "eval"):
        model.eval()
    scripted = isinstance(model, torch.jit.ScriptModule)
    if not scripted:
        request.need("onnxscript", "onnxscript")
        result = torch.onnx.export(model, args, dynamo=True, **{"verbose": False, **options})
        helper = onnx(request.why)
        return helper.load_from_string(result.model_proto.SerializeToString())
    stream = io.BytesIO()
    options["opset_version"] = request.opset or 17
    try:
        torch.onnx.export(model, args, stream, dynamo=False, **options)
    except TypeError as error:
        if "dynamo" not in str(error):
            raise
        torch.onnx.export(model, args, stream, **options)  # before version 2.5
    return _saved(request, stream.getvalue())


def paddle(request: Request) -> ModelProto:
    """A paddle.nn.Layer, or a file of paddle.jit.save (.pdmodel, .json)."""
    exporter = request.need("paddle2onnx", "paddle2onnx paddlepaddle")
    path = request.path
    with tempfile.TemporaryDirectory(prefix="poprt_") as folder:
        target = os.path.join(folder, "model")
        if path is None:
            library = request.need("paddle", "paddlepaddle")
            shapes, inputs = request.input_shape, request.example_inputs
            spec = inputs if inputs is not None else [library.static.InputSpec(list(s), "float32", name) for name, s in shapes.items()]
            if not spec:
                raise request.refuse("give input_shape={name: shape} of float inputs, or example_inputs (a list of InputSpec)")
            request.model.eval()
            library.jit.save(request.model, target, input_spec=list(spec))
            path = target + next(end for end in (".json", ".pdmodel") if os.path.exists(target + end))
        weights = os.path.splitext(path)[0] + ".pdiparams"
        made = target + ".onnx"
        exporter.export(path, weights if os.path.exists(weights) else "", made, opset_version=request.opset or 15, **request.options)
        return onnx(request.why).load(made)


def _columns(request: Request, found: Any) -> tuple[str, list[Optional[int]]]:
    """Returns the name and shape of the input of a model with ``found`` features."""
    if request.input_shape:
        if len(request.input_shape) != 1:
            raise request.refuse(f"the model has one input, input_shape has {len(request.input_shape)}")
        name, shape = next(iter(request.input_shape.items()))
        return name, list(shape)
    given: Any = getattr(request.example_inputs, "shape", ())
    if len(given) == 2:
        return "input", [None, int(given[1])]
    if not found:
        raise request.refuse("the number of features is not known: give input_shape={name: [rows, features]}")
    return "input", [None, int(found)]


def sklearn(request: Request) -> ModelProto:
    """A fitted estimator or pipeline, or a file of joblib. Loading a file runs code in it."""
    exporter = request.need("skl2onnx", "skl2onnx scikit-learn")
    types = request.need("skl2onnx.common.data_types", "skl2onnx")
    model, path = request.model, request.path
    if path is not None:
        model = request.need("joblib").load(path)
    name, shape = _columns(request, getattr(model, "n_features_in_", None))
    options: dict[str, Any] = dict(request.options)
    if hasattr(model, "predict_proba"):
        options.setdefault("options", {"zipmap": False})
    return exporter.to_onnx(model, initial_types=[(name, types.FloatTensorType(shape))], target_opset=request.opset, **options)


def _trees(request: Request, model: Any, features: Any, convert: str, target_opset: int) -> ModelProto:
    exporter = request.need("onnxmltools", "onnxmltools packaging")
    types = request.need("onnxmltools.convert.common.data_types", "onnxmltools")
    name, shape = _columns(request, features)
    options = {"zipmap": False, **request.options} if convert == "convert_lightgbm" else dict(request.options)
    return getattr(exporter, convert)(model, initial_types=[(name, types.FloatTensorType(shape))],
                                      target_opset=request.opset or target_opset, **options)


def lightgbm(request: Request) -> ModelProto:
    """A Booster or an estimator, or a file of Booster.save_model."""
    library = request.need("lightgbm", "lightgbm onnxmltools packaging")
    model = request.model if request.path is None else library.Booster(model_file=request.path)
    features = model.num_feature() if hasattr(model, "num_feature") else getattr(model, "n_features_in_", None)
    return _trees(request, model, features, "convert_lightgbm", 15)


def xgboost(request: Request) -> ModelProto:
    """A Booster or an estimator, or a file of Booster.save_model."""
    library = request.need("xgboost", "xgboost onnxmltools packaging")
    model = request.model
    if request.path is not None:
        model = library.Booster()
        model.load_model(request.path)
    features = model.num_features() if hasattr(model, "num_features") else getattr(model, "n_features_in_", None)
    return _trees(request, model, features, "convert_xgboost", 15)


#: Exporters by framework. poprt.frontend adds those that use its classes.
EXPORTERS: dict[str, Callable[[Request], ModelProto]] = {
    "pytorch": pytorch, "paddle": paddle, "sklearn": sklearn, "lightgbm": lightgbm, "xgboost": xgboost}
_MODULES = {"torch": "pytorch", "tensorflow": "tensorflow", "keras": "keras", "tf_keras": "keras", "paddle": "paddle", "sklearn": "sklearn",
            "lightgbm": "lightgbm", "xgboost": "xgboost"}
_ENDINGS = {".onnx": "onnx", ".pt": "pytorch", ".pth": "pytorch", ".pt2": "pytorch", ".keras": "keras", ".h5": "keras", ".pdmodel": "paddle"}


def framework_of(model: Any) -> Optional[str]:
    """Returns the framework of a model or path, or None if it cannot be recognised."""
    if isinstance(model, (str, os.PathLike)):
        path = os.fspath(model)
        if os.path.isdir(path):
            return "tensorflow" if os.path.exists(os.path.join(path, "saved_model.pb")) else "onnx"
        return _ENDINGS.get(os.path.splitext(path)[1].lower())
    if hasattr(model, "SerializeToString"):
        return "onnx"
    # The own classes of a program derive from those of the framework.
    for kind in type(model).__mro__:
        found = _MODULES.get(kind.__module__.split(".")[0])
        if found:
            return found
    return None
