"""Models in other engines: columns of Spark, batches of Ray Data, deployments of Ray Serve, models of KServe and SavedModels.

Each is a thin layer over ``poprt.runtime.Runner``. The engine's package is imported only when its function is called.
docs/serving.md, "Many machines", describes replicas and their resources.
"""

from __future__ import annotations

import asyncio
import os
import re
import uuid
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from ._describe import DataType
from ._onnx import package
from .compiler import CompilerOptions, Executable
from .errors import InvalidArgumentError, NotFoundError
from .runtime import Runner, RuntimeConfig, _opened

__all__ = ["Predictor", "RayPredictor", "export_saved_model", "kserve_model", "predict_batch_udf", "ray_deployment"]

Model = Union[str, "os.PathLike[str]"]
Arrays = dict[str, "np.ndarray[Any, Any]"]

# The errors of a request that its client caused.
_WRONG_REQUEST = (AttributeError, InvalidArgumentError, KeyError, NotFoundError, OverflowError, TypeError, ValueError)


class Predictor:
    """A runner that accepts any number of rows, which are the first dimension of all inputs and outputs.

    ``model`` is the path of a PopEF file, or of an ONNX file, which is compiled with ``compiler_options`` (for each number
    of rows when it first arrives) and stored in the engine cache. ``threads`` is that of ``RuntimeConfig``. Floats are
    converted to the types of the inputs, and integers if the type represents them. Raises InvalidArgumentError if the
    model has one shape and its rows affect each other. Any thread may call it. Since 1.0."""

    def __init__(self, model: Model, *, threads: int = 0, compiler_options: Optional[CompilerOptions] = None):
        executable = _opened(model, RuntimeConfig(), compiler_options)
        config = RuntimeConfig(threads=threads)
        refusal = ""
        if all(size >= 0 for d in executable.get_inputs() for size in d.shape):  # otherwise shapes are compiled on demand
            try:
                refusal = executable.batching_refusal(0)
            except InvalidArgumentError as error:  # an input without dimensions
                refusal = str(error)
            if not refusal:
                config.batching_dim, config.timeout_ns = 0, 1  # an incomplete batch does not wait for other requests
            elif "several shapes" not in refusal:
                raise InvalidArgumentError(f"{os.fspath(model)}: expected a model whose rows are independent; {refusal}")
        self._runner = Runner(executable, config)
        self.inputs, self.outputs = self._runner.get_inputs(), self._runner.get_outputs()
        #: The largest number of rows of one request; None: any number.
        self.most: Optional[int] = int(self.inputs[0].shape[0]) if refusal else None

    def _parts(self, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the requests that compute the rows of ``inputs``."""
        known = {d.name: d.numpy_data_type() for d in self.inputs}
        arrays: dict[str, Any] = {}
        for name, value in inputs.items():
            array, wanted = np.asarray(value), known.get(name)
            # The runner checks the values of other integers, and refuses other types.
            if wanted is not None and (array.dtype.kind == wanted.kind == "f" or np.can_cast(array.dtype, wanted)):
                array = array.astype(wanted, copy=False)
            arrays[name] = array
        rows = {name: len(array) for name, array in arrays.items()}
        if len(set(rows.values())) != 1:
            raise InvalidArgumentError(f"expected inputs with the same number of rows, given {rows}")
        count = next(iter(rows.values()))
        step = self.most or max(count, 1)
        return [{name: array[at:at + step] for name, array in arrays.items()} for at in range(0, count, step)]

    def _joined(self, parts: Sequence[Arrays]) -> Arrays:
        if len(parts) == 1:
            return parts[0]
        return {d.name: np.concatenate([part[d.name] for part in parts]) if parts
                else np.empty((0, *(max(n, 0) for n in d.shape[1:])), d.numpy_data_type()) for d in self.outputs}

    def __call__(self, inputs: Mapping[str, Any]) -> Arrays:
        """Returns the outputs by name for inputs with the same number of rows."""
        return self._joined([self._runner.run(part) for part in self._parts(inputs)])

    async def submit(self, inputs: Mapping[str, Any]) -> Arrays:
        """Returns the outputs as a call does, for event loops, which it never blocks."""
        return self._joined(await asyncio.gather(*(self._runner.submit(part) for part in self._parts(inputs))))


def predict_batch_udf(model: Model, *, batch_size: int = 256, threads: int = 1,
                      compiler_options: Optional[CompilerOptions] = None) -> Any:
    """Returns a user-defined function of Spark for a model file that every worker can read.

    Its arguments are columns, one for each input in the model's order, of numbers or (nested or flat) arrays. The result
    is an array for each row, or a struct of arrays if the model has several outputs. A worker opens the model once;
    weights of a PopEF file are shared by the workers of a machine. ``threads`` is 1 because Spark assigns one core to a
    task. Needs pyspark, pandas and pyarrow. Since 1.0."""
    functions = package("pyspark.ml.functions", "predict_batch_udf", "python3 -m pip install pyspark pandas pyarrow")
    types = package("pyspark.sql.types", "predict_batch_udf", "python3 -m pip install pyspark pandas pyarrow")
    described = Predictor(model, threads=threads, compiler_options=compiler_options)
    elements = {"float16": types.FloatType, "float32": types.FloatType, "float64": types.DoubleType, "bool": types.BooleanType,
                "int8": types.ByteType, "uint8": types.ShortType, "int16": types.ShortType, "uint16": types.IntegerType,
                "int32": types.IntegerType, "uint32": types.LongType, "int64": types.LongType, "uint64": types.LongType}
    fields = [types.StructField(d.name, types.ArrayType(elements[str(d.numpy_data_type())]())) for d in described.outputs]
    names = [d.name for d in described.inputs]
    single = fields[0].name if len(fields) == 1 else ""

    def make_predict_fn() -> Any:
        predictor = Predictor(model, threads=threads, compiler_options=compiler_options)

        def predict(*columns: Any) -> Any:
            outputs = predictor(dict(zip(names, columns)))
            flat = {name: np.asarray(value).reshape(len(value), -1) for name, value in outputs.items()}
            for name, value in flat.items():
                if value.dtype == np.uint64 and value.size and int(value.max()) > 2**63 - 1:
                    raise InvalidArgumentError(f"output '{name}' has a number above 2**63 - 1, which Spark's LongType does not have")
            return flat[single] if single else flat
        return predict

    return functions.predict_batch_udf(make_predict_fn, return_type=fields[0].dataType if single else types.StructType(fields),
                                       batch_size=batch_size, input_tensor_shapes=[d.shape[1:] for d in described.inputs])


class RayPredictor:
    """A class for ``ray.data.Dataset.map_batches``; each actor opens the model once.

    ``columns`` maps inputs to columns of the dataset; an input that it lacks has the column of its name. The outputs are
    added to the columns of the batch: ``dataset.map_batches(RayPredictor, fn_constructor_args=["model.popef"],
    compute=ray.data.ActorPoolStrategy(size=2), batch_size=64)``. Since 1.0."""

    def __init__(self, model: Model, columns: Optional[Mapping[str, str]] = None, *, threads: int = 1,
                 compiler_options: Optional[CompilerOptions] = None):
        self._predictor = Predictor(model, threads=threads, compiler_options=compiler_options)
        self._columns = {d.name: (columns or {}).get(d.name, d.name) for d in self._predictor.inputs}

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        for name, column in self._columns.items():
            if column not in batch:
                raise InvalidArgumentError(f"input '{name}': expected column '{column}'; columns are: {', '.join(batch)}")
        return {**batch, **self._predictor({name: batch[column] for name, column in self._columns.items()})}


def ray_deployment(model: Model, *, threads: int = 0, compiler_options: Optional[CompilerOptions] = None, **options: Any) -> Any:
    """Returns a deployment of Ray Serve: ``serve.run(ray_deployment("model.popef", num_replicas=2).bind())``.

    ``handle.predict.remote({"image": array})`` returns the outputs by name. By HTTP, the request is a JSON object with
    nested lists by input, and the response has nested lists by output. Requests that arrive during a run form the next
    batch. ``options`` are those of ``serve.deployment``. Needs ray[serve]. Since 1.0."""
    serve = package("ray.serve", "ray_deployment", "python3 -m pip install 'ray[serve]'")

    class PoprtModel:
        def __init__(self) -> None:
            self._predictor = Predictor(model, threads=threads, compiler_options=compiler_options)

        async def predict(self, inputs: Mapping[str, Any]) -> Arrays:
            return await self._predictor.submit(inputs)

        async def __call__(self, request: Any) -> Any:
            types = {d.name: d.numpy_data_type() for d in self._predictor.inputs}
            try:
                inputs = {name: np.array(rows, types.get(name)) for name, rows in (await request.json()).items()}
                outputs = await self.predict(inputs)
            except _WRONG_REQUEST as error:
                responses = package("starlette.responses", "ray_deployment", "python3 -m pip install 'ray[serve]'")
                return responses.JSONResponse({"error": str(error)}, status_code=400)
            return {name: value.tolist() for name, value in outputs.items()}

    return serve.deployment(**options)(PoprtModel) if options else serve.deployment(PoprtModel)


def kserve_model(name: str, model: Model, *, threads: int = 0, compiler_options: Optional[CompilerOptions] = None) -> Any:
    """Returns a ``kserve.Model``: ``kserve.ModelServer().start([kserve_model("digits", "model.popef")])``.

    It answers the Open Inference Protocol (version 2) by HTTP and gRPC, and version 1 for models with one input. The
    model is opened here, so that a file that cannot be used ends the program. Needs kserve. Since 1.0."""
    kserve = package("kserve", "kserve_model", "python3 -m pip install kserve")
    errors = package("kserve.errors", "kserve_model", "python3 -m pip install kserve")
    codec = package("kserve.utils.numpy_codec", "kserve_model", "python3 -m pip install kserve")
    predictor = Predictor(model, threads=threads, compiler_options=compiler_options)

    def described(descs: Any) -> list[dict[str, Any]]:
        return [{"name": d.name, "datatype": codec.from_np_dtype(d.numpy_data_type()), "shape": [-1, *d.shape[1:]]} for d in descs]

    async def predict(self: Any, payload: Any, headers: Any = None, response_headers: Any = None) -> Any:
        try:
            if isinstance(payload, Mapping):
                rows = np.array(payload["instances"], predictor.inputs[0].numpy_data_type())
                outputs = await predictor.submit({predictor.inputs[0].name: rows})
                lists = {key: value.tolist() for key, value in outputs.items()}
                first = next(iter(lists.values()))
                return {"predictions": first if len(lists) == 1 else [dict(zip(lists, row)) for row in zip(*lists.values())]}
            outputs = await predictor.submit({i.name: i.as_numpy() for i in payload.inputs})
        except _WRONG_REQUEST as error:
            raise errors.InvalidInput(str(error)) from error
        made = [kserve.InferOutput(key, list(value.shape), codec.from_np_dtype(value.dtype)) for key, value in outputs.items()]
        for output in made:
            output.set_data_from_numpy(outputs[output.name], binary_data=True)  # KServe converts it to the client's form
        return kserve.InferResponse(payload.id or str(uuid.uuid4()), name, made, use_binary_outputs=payload.use_binary_outputs,
                                    requested_outputs=payload.request_outputs)

    members = {"predict": predict, "get_input_types": lambda self: described(predictor.inputs),
               "get_output_types": lambda self: described(predictor.outputs)}
    served = type("PoprtModel", (kserve.Model,), members)(name)
    served.ready = True
    return served


def export_saved_model(popef: Model, folder: Model, *, operator: Model = "libtensorflow_poprt.so", timeout_us: int = 0,
                       threads: int = 0) -> None:
    """Writes a SavedModel of TensorFlow whose signature ``serving_default`` runs a PopEF file, which becomes its asset.

    The inputs and outputs are those of the model by name; their first dimension may have any size if rows may share a
    batch. ``operator`` is the library of operator PoprtRun, which a program loads by ``tf.load_op_library`` before it
    loads the SavedModel. Rows of concurrent calls share batches; an incomplete batch waits up to ``timeout_us``
    microseconds. Needs tensorflow. Since 1.0."""
    tf = package("tensorflow", "export_saved_model", "python3 -m pip install tensorflow-cpu")
    library = tf.load_op_library(os.fspath(operator))
    executable = Executable(popef)
    try:
        refusal = executable.batching_refusal(0)
    except InvalidArgumentError as error:  # an input without dimensions
        refusal = str(error)
    with Runner(executable) as runner:
        inputs, outputs, all_outputs = runner.get_inputs(), runner.get_outputs(), runner.get_execute_outputs()
    sized = {d.name for d in all_outputs} - {d.name for d in outputs}  # NAME:shape, if the size of NAME depends on data

    def spec(desc: Any) -> Any:
        """The type and shape of a tensor; dimensions of any size are None."""
        kind = {DataType.BF16: tf.bfloat16}.get(desc.data_type) or tf.dtypes.as_dtype(desc.numpy_data_type())
        some = len(desc.shape) if "several shapes" in refusal or desc.name + ":shape" in sized else 0 if refusal else 1
        return tf.TensorSpec([None] * some + list(desc.shape[some:]), kind, re.sub(r"\W", "_", desc.name))

    class Module(tf.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.file = tf.saved_model.Asset(os.fspath(popef))

        @tf.function(input_signature=[spec(d) for d in inputs])  # type: ignore[misc]
        def serve(self, *tensors: Any) -> dict[str, Any]:
            results = library.poprt_run(filename=self.file.asset_path, inputs=list(tensors), input_names=[d.name for d in inputs],
                                        output_names=[d.name for d in outputs], timeout_us=timeout_us, threads=threads,
                                        Tout=[spec(d).dtype for d in outputs])
            return {spec(d).name: tf.ensure_shape(result, spec(d).shape) for d, result in zip(outputs, results)}

    module = Module()
    tf.saved_model.save(module, os.fspath(folder), signatures={"serving_default": module.serve})
