"""Runtime: devices, and runners, which any number of threads may use.

Memory belongs to the caller: arrays are read and written in place, except for inputs that are not C-contiguous or have
to be converted, which are copied. Arrays must stay unchanged until a call returns or its future is done. The runner
refers to them until then, so the caller does not have to keep references.
"""

from __future__ import annotations

import copy
import datetime
import json
import math
import os
import stat
from typing import Any, Mapping, Optional, Sequence, SupportsIndex, TypeVar, Union, overload

import numpy as np

from . import _load, poprt_raw as _raw
from ._convert import whole
from ._describe import DataDesc, describe, describe_all
from ._device import Device, DeviceManager, DeviceWaitConfig, ReplicaIdToDevice
from ._futures import OutputFuture, Submitted, raw_loop
from ._keywords import unknown
from ._onnx import Proto
from ._popef.model import Model as _PopefModel
from ._runner_config import (DO_NOT_WAIT as DO_NOT_WAIT, INT64_MAX as INT64_MAX, UINT32_MAX as UINT32_MAX, AnyConfig, HostConcatConfig,
                             HostConcatRunnerConfig, LightRunnerConfig, PackAlgorithm, PackRunnerConfig, RequestOptions, RunnerType,
                             RuntimeConfig, replica_number)
from ._statistics import BucketStatistics, Latency, ReplicaStatistics, RunnerStatistics, ShapesStatistics, ShapeStatistics, Tracepoint
from .compiler import Compiler, CompilerOptions, Executable, Shapes, _shapes_by_name, options_of, shapes_text
from .errors import DataLossError, InvalidArgumentError, NotFoundError

__all__ = ["AnyConfig", "BaseRunner", "Binding", "BucketStatistics", "DataDesc", "Device", "DeviceManager", "DeviceWaitConfig",
           "HostConcatConfig", "HostConcatRunner", "HostConcatRunnerConfig", "InputDesc", "InputMemoryView",
           "Latency", "LightRunner", "LightRunnerConfig", "ModelFusionRunner", "ModelRunner", "OutputDesc", "OutputFuture",
           "OutputMemoryView", "PackAlgorithm", "PackRunner", "PackRunnerConfig", "ReplicaIdToDevice", "RequestOptions", "ReplicaStatistics",
           "Runner", "RunnerStatistics", "RunnerType", "RuntimeConfig", "ShapeStatistics", "ShapesStatistics", "Tracepoint"]

InputDesc = OutputDesc = DataDesc


class InputMemoryView(dict[str, Any]):
    """A map from names to arrays or other objects with a buffer. A dict works as well."""


class OutputMemoryView(dict[str, Any]):
    """A map from names to arrays that are written."""


class Binding:
    """Arrays that were checked once for any number of runs. See ``ModelRunner.bind``."""

    def __init__(self, runner: "BaseRunner", raw: Any):
        self._runner = runner
        self._raw = raw

    def execute(self) -> None:
        """Runs the model with the arrays. Raises ValueError if the runner is closed, and the errors of
        ``ModelRunner.execute``."""
        _raw.raw_execute_bound(self._runner._open(), self._raw)

    __call__ = execute

    def __repr__(self) -> str:
        return "<Binding of a runner's memory>"


_Self = TypeVar("_Self", bound="BaseRunner")


def _named(what: str, value: Any) -> dict[str, Any]:
    """Converts arrays by name for the raw layer."""
    try:
        return value if isinstance(value, dict) else dict(value)
    except (TypeError, ValueError):
        raise TypeError(f"expected the {what}s as a dict of name to array, given {type(value).__name__}") from None


def _limit_ns(begin_within: Union[float, datetime.timedelta, None]) -> int:
    """Returns nanoseconds for seconds; 0 means no limit. A limit that has passed already becomes 1 ns."""
    if begin_within is None:
        return 0
    if isinstance(begin_within, datetime.timedelta):
        begin_within = begin_within.total_seconds()
    if not isinstance(begin_within, (int, float, np.integer, np.floating)):
        raise TypeError(f"begin_within: expected seconds, given {begin_within!r}")
    if math.isnan(begin_within):
        raise ValueError("begin_within: expected seconds, given nan")
    nanoseconds = float(begin_within) * 1e9
    return 0 if nanoseconds >= INT64_MAX else int(max(1, nanoseconds))


class _OutputPlan:
    """The description of the outputs of runs, determined once."""

    def __init__(self, runner: "BaseRunner"):
        descs = runner.get_execute_outputs()
        self.outputs = [(d.name, tuple(d.shape), d.numpy_data_type()) for d in descs]
        self.inputs = {d.name: tuple(d.shape) for d in runner.get_execute_inputs()
                       if not d.popef_contains_tensor_data}
        names = {d.name: d for d in descs}
        # A map from the name of a padded output to the name of the output with its real size.
        self.sizes = {d.name: d.name + ":shape" for d in descs
                      if d.name + ":shape" in names and names[d.name + ":shape"].shape == [len(d.shape)]}

    def is_one_batch(self, inputs: Mapping[str, Any]) -> bool:
        """Returns whether the inputs have exactly the shapes of the runner, so that the outputs do, too."""
        if len(inputs) < len(self.inputs):  # inputs of one graph of a fused model
            return False
        for name, value in inputs.items():
            if getattr(value, "shape", None) != self.inputs.get(name):
                return False
        return True

    def allocate(self, shapes: Optional[Sequence[tuple[int, tuple[int, ...]]]]) -> dict[str, np.ndarray[Any, Any]]:
        """Allocates the outputs whose positions and shapes ``shapes`` contains; None means all, with the shapes of the
        runner."""
        if shapes is None:
            return {name: np.empty(shape, dtype) for name, shape, dtype in self.outputs}
        return {self.outputs[at][0]: np.empty(shape, self.outputs[at][2]) for at, shape in shapes}

    def crop(self, outputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        made = dict(outputs)
        for name, size in self.sizes.items():
            if size in outputs and outputs[size].shape == (outputs[name].ndim,):  # one batch: several batches have several sizes
                whole, real = outputs[name], made.pop(size).tolist()
                for axis, (n, most) in enumerate(zip(real, whole.shape)):
                    if not 0 <= n <= most:  # the outputs come from a file
                        raise DataLossError(f"output '{name}' has a size of {n} along dimension {axis}, at most {most} is possible")
                made[name] = whole[tuple(slice(n) for n in real)]
        return made


def _request(options: Optional[RequestOptions], begin_within: Union[float, datetime.timedelta, None] = None,
             replica: Optional[int] = None) -> Optional[_raw.RawRequestOptions]:
    """Returns the raw options of a call, or None for the defaults. ``begin_within`` and ``replica`` take precedence
    over ``options``."""
    if options is None and begin_within is None and replica is None:
        return None
    if not isinstance(options, (RequestOptions, type(None))):
        raise TypeError(f"options: expected a RequestOptions or None, found {options!r}")
    raw = (options or RequestOptions())._raw_options()
    if begin_within is not None:
        raw.timeout_ns = _limit_ns(begin_within)
    if replica is not None:
        raw.set_replica(replica_number(replica))
    return raw


class BaseRunner:
    """The base of all runners."""

    _raw: Any
    _check_types = True
    _check_shapes = True  # of bound outputs
    _outputs: Optional[_OutputPlan] = None

    def execute(self, input: Mapping[str, Any], output: Mapping[str, Any], replica: Optional[int] = None,
                options: Optional[RequestOptions] = None) -> None:
        """Runs the model. The arrays of outputs are written when it returns. Any thread may call it.

        Arrays are used in place; an input that is not C-contiguous is copied. Raises NotFoundError (a name),
        InvalidArgumentError (missing, a wrong size or dtype), CancelledError (the runner was stopped),
        DeadlineExceededError (the run has not begun within the limit in ``options``), and the error of the device:
        AbortedError, UnavailableError, InternalError, UnknownError or FailedPreconditionError.

        ``replica``, counted from 0, is the replica whose state (caches) the run uses; by default any. ``options``
        contains further options; arguments take precedence over them.
        """
        _raw.raw_execute(self._open(), _named("input", input), _named("output", output), self._check_types,
                         _request(options, None, replica))

    def execute_async(self, input: Mapping[str, Any], output: Mapping[str, Any],
                      begin_within: Union[float, datetime.timedelta, None] = None, replica: Optional[int] = None,
                      options: Optional[RequestOptions] = None) -> OutputFuture:
        """Submits a run and returns immediately. Requests of one replica run in the order of submission, except that
        those of whole steps do not wait for an incomplete batch. Requests beyond the queue (``queue_depth``) wait in a
        list without limit, so wait for results to limit their number.

        With ``begin_within``, in seconds from the call or as a ``timedelta``, the request fails with
        DeadlineExceededError if it has not begun by then. ``replica``, counted from 0, is the replica that runs it; by
        default any. ``options`` contains further options."""
        future = OutputFuture(output)
        raw = self._open()
        future._run = _raw.raw_execute_async(
            raw, _named("input", input), _named("output", output), self._check_types, _request(options, begin_within, replica),
            future._complete, raw)
        return future

    async def submit(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]] = None,
                     begin_within: Union[float, datetime.timedelta, None] = None, replica: Optional[int] = None,
                     options: Optional[RequestOptions] = None) -> Mapping[str, Any]:
        """Submits a run and awaits it. Allocates arrays if ``outputs`` is not given. The event loop is never blocked:
        requests beyond the queue wait in a list. Cancelling the task cancels a run that has not begun. If it has
        begun, the cancellation is raised after its end. In both cases, the arrays are free then."""
        if outputs is not None:
            await self._submit(inputs, outputs, begin_within, replica, options)
            return outputs
        inputs = _named("input", inputs)
        made = self._new_outputs(inputs)
        await self._submit(inputs, made, begin_within, replica, options)
        return self._crop(made)

    async def _submit(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any],
                      begin_within: Union[float, datetime.timedelta, None],
                      replica: Optional[int], options: Optional[RequestOptions]) -> None:
        import asyncio  # its import takes longer than that of the rest of this module, and most programs need no event loop

        loop = asyncio.get_running_loop()
        submitted, raw = Submitted(loop.create_future()), self._open()
        run: Any  # of either kind, which have cancel()
        try:
            raw_loop(loop)
        except NotImplementedError:  # the loop cannot watch files
            run = self.execute_async(inputs, outputs, begin_within, replica, options)
            run.add_done_callback(submitted.deliver)
        else:
            run = _raw.raw_submit_on_loop(
                raw, _named("input", inputs), _named("output", outputs), self._check_types, _request(options, begin_within, replica),
                raw_loop(loop), submitted, raw)  # a variable would keep a loop that ends
        try:
            await submitted.future
        except asyncio.CancelledError:
            if submitted.future.cancelled() and not run.cancel():
                while not submitted.over:  # it computes, or its end was not processed yet
                    submitted.free = loop.create_future()
                    try:
                        await submitted.free
                    except asyncio.CancelledError:
                        pass  # wait again
            raise

    @overload
    def run(self, inputs: Mapping[str, Any], /) -> dict[str, np.ndarray[Any, Any]]: ...
    @overload
    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: None = None) -> list[np.ndarray[Any, Any]]: ...

    def run(self, output_names: Any = None, input_feed: Optional[Mapping[str, Any]] = None, run_options: None = None, **other: Any) -> Any:
        """Runs the model into new arrays for as many rows as the inputs have. If there is an output NAME:shape, and the
        request is one batch, output NAME only contains the real part, and NAME:shape is left out.

        ``run(inputs)`` returns a dict by name. ``run(names, inputs)`` works as in ONNX Runtime: it returns a list in
        the order of the names, or of all outputs for None or an empty list, and accepts the keywords of ONNX Runtime.
        There are no ``run_options``."""
        if run_options is not None:
            raise TypeError(f"run_options: expected None, given {type(run_options).__name__}")
        if other:
            raise self._keyword_of_run(next(iter(other)))
        by_name = input_feed is None and isinstance(output_names, Mapping)
        inputs: Any = output_names if by_name else input_feed if input_feed is not None else output_names
        if not isinstance(inputs, Mapping):
            raise TypeError(f"expected the inputs as a dict of name to array, given {type(inputs).__name__}")
        outputs = self._new_outputs(inputs)
        self.execute(inputs, outputs)
        outputs = self._crop(outputs)
        if by_name:
            return outputs
        names = [output_names] if isinstance(output_names, str) else list(output_names or outputs)
        missing = [n for n in names if n not in outputs]
        if missing:
            raise NotFoundError(f"there is no output '{missing[0]}'; outputs are: "
                                + ", ".join(f"'{n}'" for n in outputs))
        return [outputs[n] for n in names]

    def _plan(self) -> _OutputPlan:
        plan = self._outputs
        if plan is None:
            plan = self._outputs = _OutputPlan(self)
        return plan

    def _new_outputs(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
        plan = self._plan()
        shapes = None if plan.is_one_batch(inputs) else _raw.raw_output_shapes(
            self._open(), dict(inputs), self._check_types)
        return plan.allocate(shapes)

    def _crop(self, outputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        plan = self._plan()
        return plan.crop(outputs) if plan.sizes else outputs

    def _keyword_of_run(self, name: str) -> TypeError:
        """Returns the error for a keyword that :meth:`run` does not have."""
        if any(name == desc.name for desc in self.get_execute_inputs()):
            return TypeError(f"inputs are given as a dict of name to array: run({{'{name}': ...}})")
        if name in ("timeout", "begin_within", "replica", "options"):
            return TypeError(f"run() has no argument '{name}'; execute_async() and submit() have begin_within, replica and options")
        return unknown("run", (name,), ("output_names", "input_feed", "run_options"), {})

    def get_inputs(self) -> list[DataDesc]:
        """The inputs of a request, without those that the executable contains or that are frozen."""
        return [d for d in self.get_execute_inputs() if not d.popef_contains_tensor_data]

    def get_outputs(self) -> list[DataDesc]:
        """The outputs of :meth:`run`, without the sizes NAME:shape."""
        return [d for d in self.get_execute_outputs() if d.name not in self._plan().sizes.values()]

    def __repr__(self) -> str:
        if self._raw is None:
            return f"<{type(self).__name__}, closed>"
        inputs, outputs = (", ".join(map(repr, ds)) for ds in (self.get_inputs(), self.get_outputs()))
        return f"<{type(self).__name__} {inputs} -> {outputs}>"

    def bind(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Binding:
        """Checks arrays once for many runs: names, missing arrays, dtypes and shapes. The binding refers to them, and
        each run reads their current values, so inputs must be C-contiguous. Raises the errors of :meth:`execute`."""
        raw = self._open()
        return Binding(self, _raw.raw_bind(raw, _named("input", inputs), _named("output", outputs), self._check_types, self._check_shapes))

    def warm_up(self, shapes: Shapes) -> None:
        """Compiles shapes of a model whose shapes are compiled on demand, and waits until they are ready: a dict of
        input name to shape, a list of such dicts, or the text of the option ``input_shape``. Inputs whose sizes follow
        from the others may be left out. Raises InvalidArgumentError (a shape that contradicts the model),
        UnimplementedError (the shapes of the runner are fixed), FailedPreconditionError (there is no compiler library).
        Since 1.0."""
        self._open().warm_up(shapes_text(shapes))

    def open_dimensions(self) -> dict[str, Any]:
        """The dimensions of all inputs and outputs, which state the sizes that requests decide: ``on_demand``, and ``inputs`` and
        ``outputs`` with a list for each name. A str is the name of a size that may be any, because shapes are compiled on demand;
        dimensions with the same name have the same size. None is a size that is known when the shape of a request is compiled. An
        int is a fixed size, or the largest one if the model was compiled at several shapes. Since 1.0."""
        dimensions: dict[str, Any] = json.loads(self._open().open_dimensions())
        return dimensions

    def get_execute_inputs(self) -> list[DataDesc]:
        """All inputs. Those with ``popef_contains_tensor_data`` may be omitted."""
        raw = self._open()
        described = describe_all(raw, "input")
        for i, desc in enumerate(described):
            desc.popef_contains_tensor_data = raw.input_has_data(i)
        return described

    def get_execute_outputs(self) -> list[DataDesc]:
        return describe_all(self._open(), "output")

    # The five methods below have names of earlier versions.
    def executeAsync(self, input: Mapping[str, Any], output: Mapping[str, Any]) -> OutputFuture:
        return self.execute_async(input, output)

    def getExecuteInputs(self) -> list[DataDesc]:
        return self.get_execute_inputs()

    def getExecuteOutputs(self) -> list[DataDesc]:
        return self.get_execute_outputs()

    def get_model_inputs(self) -> list[DataDesc]:
        return self.get_execute_inputs()

    def get_model_outputs(self) -> list[DataDesc]:
        return self.get_execute_outputs()

    # <functions:runner> made from capi/functions.toml by tests/lint/functions.py --write
    def input_index(self, name: str) -> int:
        """The position of the input with a name, for bindings by position. Raises NotFoundError (no input of requests
        has the name; the message lists the names). Since 1.0."""
        return int(self._open().input_index(name))

    def output_index(self, name: str) -> int:
        """The position of the output with a name, for bindings by position. Raises NotFoundError (no output has the
        name; the message lists the names). Since 1.0."""
        return int(self._open().output_index(name))

    def profile(self) -> str:
        """A JSON object with the times of every instruction on the first device of replica 0 since the model was last
        loaded on it: when the runner was created, or by ``auto_reset`` after an error. Raises
        FailedPreconditionError (the runner was created without the option ``profile``); UnimplementedError (this
        kind of runner has no profile). Since 0.1."""
        return str(self._open().profile())

    def stop(self) -> None:
        """Ends the runner. Waiting requests are cancelled, and the request on the device ends early with cancelled.
        Later requests fail with cancelled. Since 0.1."""
        self._open().stop()

    def drain(self) -> None:
        """Lets incomplete batches run at once from now on: requests do not wait for others that would fill their batch.
        Nothing changes for a runner that packs sequences, whose requests wait at most its timeout. Since 1.0."""
        self._open().drain()
    # </functions:runner>

    def close(self) -> None:
        """Returns the device when no request is in flight. Requests in flight are completed, also those that wait for
        others to fill their batch, and running calls continue."""
        raw, self._raw = self._raw, None
        if raw is not None:
            raw.drain()

    def _open(self) -> _raw.RawRunner:
        raw = self._raw
        if raw is None:
            raise ValueError("the runner is closed")
        return raw

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A runner can neither be pickled nor copied because it has a device and threads of this process."""
        raise _load.of_this_process(self)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


Popef = Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]], Executable, bytes, bytearray, memoryview, Proto,
              _PopefModel]


def _is_model(given: object) -> bool:
    """Returns whether ``given`` is an ONNX model, by the end of its path, by its first byte (a field of protobuf), or
    by its type."""
    if isinstance(given, (str, os.PathLike)):
        if str(os.fspath(given)).lower().endswith(".onnx"):
            return True
        try:
            if not stat.S_ISREG(os.stat(given).st_mode):  # opening a FIFO would wait
                return False
            with open(given, "rb") as file:
                given = file.read(1)
        except (OSError, ValueError):
            return False  # the error of the library names the path
    if isinstance(given, (bytes, bytearray, memoryview)):
        return 0 < len(given) and bytes(given[:1]) < b" "
    return hasattr(given, "SerializeToString")


def _to_run(options: Optional[CompilerOptions]) -> CompilerOptions:
    """Returns the options of a model in memory that is compiled to run it: as for a file, shapes are compiled on demand unless
    the options concern one executable."""
    made = copy.copy(options_of(options))
    several = any(len(shapes) > 1 for shapes in _shapes_by_name(made.input_shape).values())
    if not (made.shapes or several or made.input_length or made.after_pass or made.serialize_ir or not made.constant_weights):
        made.shapes = "on_demand"
    return made


def _opened(given: Popef, config: Any, compiler_options: Optional[CompilerOptions]) -> Executable:
    """Returns the executable for the argument of a runner."""
    if _is_model(given):
        if isinstance(given, (str, os.PathLike)):
            return Executable.load(given, compiler_options)
        return Compiler.compile(given, None, _to_run(compiler_options))  # type: ignore[arg-type]
    if compiler_options is not None:
        if isinstance(given, (str, os.PathLike)) and options_of(compiler_options).shapes == "on_demand":
            return Executable.load(given, compiler_options)
        raise InvalidArgumentError("compiler_options are for an ONNX model, or a PopEF file with shapes on_demand; "
                                   "what is given was compiled already")
    if isinstance(given, Executable):
        return given
    return Executable(given, check_package_hash=config._get("check_package_hash", True))  # type: ignore[arg-type]


class Runner(BaseRunner):
    """Creates the runner for the kind of its configuration: a ModelRunner for RuntimeConfig or none. The arguments are
    those of ModelRunner."""

    @overload
    def __new__(cls, popef: Popef, config: Optional[RuntimeConfig] = None, *,
                compiler_options: Optional[CompilerOptions] = None) -> "ModelRunner": ...
    @overload
    def __new__(cls, popef: Popef, config: PackRunnerConfig, *,
                compiler_options: Optional[CompilerOptions] = None) -> "PackRunner": ...
    @overload
    def __new__(cls, popef: Popef, config: LightRunnerConfig, *,
                compiler_options: Optional[CompilerOptions] = None) -> "LightRunner": ...
    @overload
    def __new__(cls, popef: Popef, config: HostConcatRunnerConfig, *,
                compiler_options: Optional[CompilerOptions] = None) -> "HostConcatRunner": ...

    def __new__(cls, popef: Popef, config: Optional[AnyConfig] = None, *,
                compiler_options: Optional[CompilerOptions] = None, **other: Any) -> "Runner":
        if other:
            raise unknown(cls.__name__, other, ("popef", "config", "compiler_options"),
                          {"compiler_options": CompilerOptions, "config": getattr(cls, "_config", RuntimeConfig)})
        if isinstance(config, CompilerOptions):
            raise TypeError(f"config: expected the configuration of a runner, given CompilerOptions; give {cls.__name__}(popef, "
                            "compiler_options=CompilerOptions(...))")
        if isinstance(config, Mapping):
            raise TypeError(f"config: expected the configuration of a runner, given {type(config).__name__}; give "
                            "RuntimeConfig(threads=1, ...), or RuntimeConfig.from_dict(...)")
        if cls is Runner:
            wanted = RuntimeConfig if config is None else type(config)
            kinds = [runner for kind, runner in _RUNNERS.items() if issubclass(wanted, kind)]
            if not kinds:
                raise TypeError(f"config: expected the configuration of a runner, given {wanted.__name__}")
            cls = kinds[0]
        return super().__new__(cls)

    #: The metadata of the ONNX model, see ``Executable.metadata``.
    metadata: dict[str, str]

    def statistics(self) -> RunnerStatistics:
        """Returns counters, a latency histogram (entry i: 2**i to 2**(i+1) ns), and the same for each replica."""
        counters: RunnerStatistics = json.loads(self._open().statistics())
        return counters

    def tracepoints(self) -> list[Tracepoint]:
        """Returns the times of the stages of the last requests in ns; needs ``flush_on_waiting_outputs``."""
        points: list[Tracepoint] = json.loads(self._open().tracepoints())
        return points


class ModelRunner(Runner):
    """Runs one model. ``popef`` is a path, a list of paths that form one model, the bytes of a PopEF file, a
    popef.Model, or an Executable. An ONNX model (a path ``.onnx``) is compiled with ``compiler_options``, and the
    result is stored in a cache for later calls (see ``Executable.load``). A model in memory, its bytes or an
    ``onnx.ModelProto``, is compiled each time. For a PopEF file, ``compiler_options`` must have
    ``shapes="on_demand"``."""

    _config: type = RuntimeConfig

    def __init__(self, popef: Popef, config: Optional[AnyConfig] = None, *,
                 compiler_options: Optional[CompilerOptions] = None):
        config = self._config() if config is None else config
        executable = _opened(popef, config, compiler_options)
        self.metadata = executable.metadata
        self._check_types = bool(config._get("validate_io_params", True))
        keep: list[Any] = []
        self._raw = config._make(executable, keep)
        self._raw.kept = keep  # runs refer to the raw runner, which may outlive this object


class ModelFusionRunner(ModelRunner):
    """Runs a fused model. A request names the anchors of one graph, ``graphK/NAME``."""

    def __init__(self, popef: Popef, config: Optional[AnyConfig] = None, *,
                 compiler_options: Optional[CompilerOptions] = None):
        config = RuntimeConfig() if config is None else config
        if not isinstance(config, RuntimeConfig):
            raise TypeError(f"expected a RuntimeConfig, given {type(config).__name__}")
        config = copy.copy(config)
        config.runner_type = RunnerType.ModelFusionRunner
        super().__init__(popef, config, compiler_options=compiler_options)


class PackRunner(ModelRunner):
    """Packs requests of variable length. Arrays have the length of the request."""

    _check_shapes = False
    _config = PackRunnerConfig


class HostConcatRunner(ModelRunner):
    """Takes the original inputs of a model with joined inputs."""

    _config = HostConcatRunnerConfig


class LightRunner(ModelRunner):
    """A runner that can release its device (``stop``) and acquire one again (``reload``), and whose weights can be
    replaced. For one thread."""

    _config = LightRunnerConfig

    def get_model_inputs(self) -> list[DataDesc]:
        """Returns all inputs. Those that the executable contains have ``popef_contains_tensor_data``."""
        raw = self._open()
        described = []
        for i in range(_raw.raw_light_model_input_count(raw)):
            desc = describe(_raw.raw_light_model_input(raw, i))
            desc.popef_contains_tensor_data = _raw.raw_light_model_input_has_data(raw, i)
            described.append(desc)
        return described

    def set_input_anchor(self, name: str, array: Any) -> None:
        """Copies a new value for an input that the executable contains; see ``update_weights``. Raises NotFoundError,
        InvalidArgumentError (the dtype or the shape) and FailedPreconditionError (an input of requests)."""
        raw = self._open()
        known = {d.name: d for d in self.get_model_inputs()}
        if name not in known:
            raise NotFoundError(f"there is no input '{name}'; inputs are: " + ", ".join(f"'{n}'" for n in known))
        array = whole(array, "input", known[name])
        _raw.raw_light_set_input_anchor(raw, name, *_raw.raw_address(array))

    def update_weights(self) -> None:
        """Makes the next run use the new values."""
        _raw.raw_light_update_weights(self._open())

    def reload(self) -> None:
        """Acquires a device again after ``stop``."""
        _raw.raw_light_reload(self._open())


_RUNNERS: dict[type, type[Runner]] = {RuntimeConfig: ModelRunner, PackRunnerConfig: PackRunner,
                              LightRunnerConfig: LightRunner, HostConcatRunnerConfig: HostConcatRunner}
