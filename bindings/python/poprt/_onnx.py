"""The onnx package, which is only needed for models in memory."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Callable, Protocol, Union

from .errors import InvalidArgumentError

# Messages of protobuf. The onnx package creates their classes when it is imported, and type checkers need not have it.
ModelProto = Any
GraphProto = Any
NodeProto = Any
TensorProto = Any
ValueInfoProto = Any


def package(name: str, why: str, install: str) -> Any:
    """Imports an optional package. The ImportError contains the reason and the command to install it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != name.split(".")[0]:
            raise  # the package is installed but lacks one of its dependencies
        raise ImportError(f"{why} needs Python's package {name}, which is not installed: {install}", name=name) from error


def onnx(why: str) -> Any:
    """The onnx package with its helpers."""
    found = package("onnx", why, "python3 -m pip install onnx, or Debian's package python3-onnx")
    if not hasattr(found, "ModelProto"):  # a folder with that name is also a package
        raise ImportError(f"{why} needs Python's package onnx; {list(found.__path__)[0]} hides it, or it is not installed: "
                          "python3 -m pip install onnx, or Debian's package python3-onnx", name="onnx")
    for name in ("onnx.helper", "onnx.numpy_helper", "onnx.shape_inference"):
        importlib.import_module(name)
    return found


def _parsed(parse: Callable[[Any], Any], source: Any, subject: str) -> ModelProto:
    """Parses a model. Raises InvalidArgumentError if protobuf cannot parse it. Debian's package also warns about such
    bytes."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            model = parse(source)
    except Exception as error:
        if not type(error).__module__.startswith("google.protobuf"):
            raise
        raise InvalidArgumentError(f"{subject} no ONNX model: {' '.join(str(error).split())}") from None
    if not model.HasField("graph"):
        raise InvalidArgumentError(f"{subject} no ONNX model: there is no graph")
    return model


def read(path: str, why: str) -> ModelProto:
    """Reads the model of a file with its external data."""
    return _parsed(onnx(why).load, path, f"'{path}' is")


class Proto(Protocol):
    """The required methods of an ``onnx.ModelProto``, independent of that package."""

    def SerializeToString(self) -> bytes: ...

    def ParseFromString(self, data: bytes, /) -> Any: ...


def checked(model: Any, why: str) -> Any:
    """Returns the model if it has the methods of an onnx.ModelProto."""
    if not hasattr(model, "SerializeToString"):
        raise TypeError(f"{why}: expected an onnx.ModelProto, found {type(model).__name__}; onnx.load reads a file")
    return model


def load(model: Union[str, "os.PathLike[str]", bytes, Any], why: str) -> ModelProto:
    """Returns the model of a path or of the bytes of a file, or the given model."""
    if isinstance(model, (str, os.PathLike)):
        if not os.path.isfile(model):
            raise FileNotFoundError(f"there is no file '{os.fspath(model)}'")
        return read(os.fspath(model), why)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return _parsed(onnx(why).load_from_string, bytes(model), f"the {len(model)} bytes that {why} was given are")
    if not hasattr(model, "graph"):
        raise TypeError(f"expected an onnx.ModelProto, the path of a model or its bytes, found {type(model).__name__}")
    return model
