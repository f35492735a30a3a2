"""Chooses 8-bit floats for a model by the loss of its layers on data, with PopRT's names."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import tempfile
from typing import Any, Mapping, Optional, TypeVar, Union

import numpy as np

from ._onnx import Proto, checked
from .compiler import CompilerOptions, _Compilation, options_of
from .errors import _path

__all__ = ["FP8Quantizer", "SimpleQuantizer", "quantize"]

_Model = TypeVar("_Model", bound=Proto)
_Data = Union[str, "os.PathLike[str]", Mapping[str, "np.ndarray[Any, Any]"], None]
# The entry of the model's metadata in which Converter(quantize=True) stores the options of quantize().
METADATA_KEY = "poprt.quantize"


def _deferred(model: Any) -> dict[str, str]:
    """Removes the options of the converter from ``model`` and returns them."""
    for index, entry in enumerate(getattr(model, "metadata_props", ())):
        if entry.key == METADATA_KEY:
            options = json.loads(entry.value)
            del model.metadata_props[index]
            return dict(options)
    return {}


class FP8Quantizer:
    """Turns converted models into models of 8-bit floats (``precision`` fp8, or fp8_weight for storage only).

    ``data_preprocess`` is a dict of arrays by names of inputs, or the path of its pickle (or .npz), with samples along
    the first axis. ``loss_type`` is mse, mae, snr, kld, cos_dist, or gptq (with fp8_weight). The
    ``num_of_layers_keep_fp16`` layers with the largest loss stay fp16. quantize.log in ``output_dir`` contains the
    trials and the choice. ``options`` are those of the compiler, or a dict of them.
    """

    def __init__(self, output_dir: Union[str, "os.PathLike[str]"] = "./", loss_type: str = "kld", data_preprocess: _Data = None,
                 precision: str = "fp8", num_of_layers_keep_fp16: int = 0,
                 options: Union[CompilerOptions, Mapping[str, Any], None] = None):
        if precision not in ("fp8", "fp8_weight"):
            raise ValueError(f"precision must be fp8 or fp8_weight, given {precision!r}")
        if data_preprocess is None:
            raise ValueError("data_preprocess is needed: a dict of arrays by names of inputs, or the path of its pickle")
        if not isinstance(data_preprocess, (str, os.PathLike, Mapping)):
            raise TypeError("data_preprocess: expected a dict of arrays by names of inputs, or the path of its pickle, found "
                            f"{type(data_preprocess).__name__}")
        self.output_dir = _path("output_dir", output_dir)
        self.data_preprocess = data_preprocess
        self.options = {"precision": precision, "ipu_version": "ipu21", "calibration_with_data": "True",
                        "calibration_loss_type": loss_type, "num_of_layers_keep_fp16": str(num_of_layers_keep_fp16)}
        self.compiler_options = options_of(options)

    def _data_file(self, folder: str) -> str:
        data = self.data_preprocess
        if isinstance(data, (str, os.PathLike)):
            return os.fspath(data)
        path = os.path.join(folder, "data.pickle")
        with open(path, "wb") as file:
            pickle.dump({name: np.ascontiguousarray(array) for name, array in (data or {}).items()}, file, protocol=4)
        return path

    def quantize(self, model: _Model) -> _Model:
        """Returns the quantized model with the type of ``model`` (onnx.ModelProto), which is not changed."""
        source = type(checked(model, "FP8Quantizer.quantize"))()
        source.ParseFromString(model.SerializeToString())
        with tempfile.TemporaryDirectory(prefix="poprt_") as folder:
            fields = self.compiler_options.changed()
            named = {**_deferred(source), **fields.pop("options", {}), **self.options, "data_preprocess": self._data_file(folder)}
            options = CompilerOptions(**fields, options=named)
            path, result = os.path.join(folder, "model.onnx"), os.path.join(folder, "out", "quantized.onnx")
            os.mkdir(os.path.dirname(result))
            with open(path, "wb") as file:
                file.write(source.SerializeToString())
            with _Compilation(None, options) as compiler:
                compiler.convert_file(path, result)
            made = type(model)()
            with open(result, "rb") as file:
                made.ParseFromString(file.read())
            os.makedirs(self.output_dir, exist_ok=True)
            shutil.copyfile(os.path.join(folder, "out", "quantize.log"), os.path.join(self.output_dir, "quantize.log"))
        return made


# The name of the class in the text of PopRT's manual.
SimpleQuantizer = FP8Quantizer


def quantize(onnx_model: _Model, input_model: Union[str, "os.PathLike[str]", None], output_dir: Union[str, "os.PathLike[str]"],
             data_preprocess: _Data = None, precision: str = "fp8", quantize_loss_type: str = "kld", num_of_layers_keep_fp16: int = 0,
             options: Union[CompilerOptions, Mapping[str, Any], None] = None) -> _Model:
    """Runs FP8Quantizer. ``onnx_model`` is the result of ``Converter(precision=..., quantize=True)`` for the file
    ``input_model``, which must exist if it is given, but is not read. The losses are those of the layers of
    ``onnx_model``."""
    if input_model is not None and not hasattr(input_model, "SerializeToString") and not os.path.exists(input_model):
        raise FileNotFoundError(f"input_model: there is no file '{os.fspath(input_model)}'")
    return FP8Quantizer(output_dir, quantize_loss_type, data_preprocess, precision, num_of_layers_keep_fp16, options).quantize(onnx_model)
