"""The onnx package, which users need for models in memory and for nothing else."""

from __future__ import annotations

import importlib
import os
from typing import Any, Union

# Messages of protobuf: the onnx package makes their classes when it is imported, and need not be there for type checkers.
ModelProto = Any
GraphProto = Any
NodeProto = Any
TensorProto = Any
ValueInfoProto = Any


def package(name: str, why: str, install: str) -> Any:
    """An optional package. ImportError says who needs it and how it is installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != name.split(".")[0]:
            raise  # the package is there and lacks something of its own
        raise ImportError(f"{why} needs Python's package {name}, which is not installed: {install}", name=name) from error


def onnx(why: str) -> Any:
    """The onnx package with its helpers."""
    found = package("onnx", why, "python3 -m pip install onnx, or Debian's package python3-onnx")
    if not hasattr(found, "ModelProto"):  # a folder of that name is a package, too
        raise ImportError(f"{why} needs Python's package onnx; {list(found.__path__)[0]} hides it, or it is not installed: "
                          "python3 -m pip install onnx, or Debian's package python3-onnx", name="onnx")
    for name in ("onnx.helper", "onnx.numpy_helper", "onnx.shape_inference"):
        importlib.import_module(name)
    return found


def load(model: Union[str, "os.PathLike[str]", bytes, Any], why: str) -> ModelProto:
    """A model of a path, of the bytes of a file, or as it is."""
    if isinstance(model, (str, os.PathLike)):
        package = onnx(why)
        if not os.path.isfile(model):
            raise FileNotFoundError(f"there is no file '{os.fspath(model)}'")
        return package.load(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return onnx(why).load_from_string(bytes(model))
    if not hasattr(model, "graph"):
        raise TypeError(f"expected an onnx.ModelProto, the path of a model or its bytes, found {type(model).__name__}")
    return model
