"""Runs PopEF files, with the names of the Model Runtime library.

>>> import numpy, model_runtime
>>> runner = model_runtime.ModelRunner("model.popef")
>>> inputs = model_runtime.InputMemoryView()
>>> inputs["image"] = numpy.zeros((8, 1, 8, 8), numpy.float32)
>>> scores = runner.execute(inputs)["scores"]
"""

from __future__ import annotations

import json
import os
from typing import Any, Mapping, Optional, Union

from poprt import poprt_raw as _raw
from poprt import runtime as _runtime
from poprt._keywords import keywords
from poprt._popef.model import Model as PopefModel
from poprt.compiler import Executable
from poprt.errors import Error
from poprt.runtime import DataDesc, InputDesc, InputMemoryView, OutputDesc, OutputFuture, OutputMemoryView

from . import predicate_factory
from ._wait import DeviceWaitConfig, DeviceWaitStrategy
from .predicate_factory import AnchorCallbackPolicy, AnchorCallbackPredicate
from .queues import InputQueue, OutputQueue, QueueManager
from .session import LaunchPolicy, Model, Session, SessionConfig

__all__ = ["AnchorCallbackPolicy", "AnchorCallbackPredicate", "DataDesc", "Device", "DeviceManager",
           "DeviceWaitConfig", "DeviceWaitStrategy", "Error", "InputDesc", "InputMemory", "InputMemoryView",
           "InputQueue", "LaunchPolicy", "Model", "ModelRunner", "ModelRunnerConfig", "OutputDesc",
           "OutputFutureMemory", "OutputFutureMemoryView", "OutputMemory", "OutputMemoryView", "OutputQueue",
           "PopefPaths", "QueueManager", "Session", "SessionConfig", "predicate_factory", "read_telemetry"]

InputMemory, OutputMemory = InputMemoryView, OutputMemoryView
OutputFutureMemory = OutputFutureMemoryView = OutputFuture
Device = _runtime.Device


class DeviceManager(_runtime.DeviceManager):
    """A poprt.runtime.DeviceManager with the names of Model Runtime."""

    def getDevice(self, model: Union[int, PopefModel, Executable] = 1, wait_config: Optional[DeviceWaitConfig] = None) -> Device:
        """Returns a free device for a model, or with a number of IPUs. By default, it does not wait. Raises UnavailableError
        and NotFoundError."""
        wait = wait_config._poprt() if wait_config is not None and wait_config.strategy != DeviceWaitStrategy.NO_WAIT else None
        if isinstance(model, int):
            return self.acquire(model, wait=wait)
        return self.acquire(executable=_opened(model), wait=wait)

    def getSpecificDevice(self, device_id: int, model: Optional[Union[PopefModel, Executable]] = None,
                          wait_config: Optional[DeviceWaitConfig] = None) -> Device:
        """Returns the device with that id, and checks that it suits the model. Raises NotFoundError and UnavailableError."""
        wait = wait_config._poprt() if wait_config is not None and wait_config.strategy != DeviceWaitStrategy.NO_WAIT else None
        return self.acquire(executable=None if model is None else _opened(model), device_id=device_id, wait=wait)

    def getNumDevices(self) -> int:
        return self.get_num_devices()

    def ipuHardwareVersion(self) -> str:
        return self.ipu_hardware_version()

    def createIpuModelDevice(self, model: Union[int, PopefModel] = 1, ipuVersion: int = 2, tilesPerIpu: int = 0) -> Device:
        """Creates an IPU model for a model, or with a number of IPUs. Raises InvalidArgumentError."""
        if isinstance(model, int):
            return self.create_ipu_model_device(model, ipuVersion, tilesPerIpu)
        return self.create_ipu_model_device(model.metadata.numIpus(), model.metadata.ipuVersion(), tilesPerIpu)

    def createSmallIpuModelDevice(self, model: Union[int, PopefModel] = 1, ipuVersion: int = 2) -> Device:
        if isinstance(model, int):
            return self.create_small_ipu_model_device(model, ipuVersion)
        return self.create_small_ipu_model_device(model.metadata.numIpus(), model.metadata.ipuVersion())


def _opened(model: Union[PopefModel, Executable]) -> Executable:
    return model if isinstance(model, Executable) else Executable.from_model(model, check_package_hash=False)


class ModelRunnerConfig(_runtime.RuntimeConfig):
    """Options of a runner, documented at :class:`poprt.runtime.RuntimeConfig`. By default, a runner does not wait for a
    device."""

    device_wait_config: DeviceWaitConfig = DeviceWaitConfig()  # type: ignore[assignment]


class PopefPaths(list[str]):
    """Files that form one model."""

    def __init__(self, *paths: Any):
        flat = paths[0] if len(paths) == 1 and not isinstance(paths[0], (str, os.PathLike)) else paths
        super().__init__(os.fspath(p) for p in flat)


class ModelRunner:
    """Runs one model from a PopEF file, from several (``ModelRunner(PopefPaths("program", "weights"))``), or from a
    popef.Model."""

    @keywords(config=ModelRunnerConfig)
    def __init__(self, popef: Union[str, os.PathLike[str], PopefPaths, Executable, PopefModel],
                 config: Optional[ModelRunnerConfig] = None):
        config = config or ModelRunnerConfig()
        self._runner = _runtime.ModelRunner(popef, _poprt_config(config))

    def __repr__(self) -> str:
        return repr(self._runner)

    def execute(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]] = None) -> Mapping[str, Any]:
        """Runs the model and returns the outputs. Allocates arrays if no outputs are given."""
        if outputs is None:
            return self._runner.run(inputs)
        self._runner.execute(inputs, outputs)
        return outputs

    def executeAsync(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]] = None) -> OutputFuture:
        """Submits a run. After ``wait()``, ``result[name]`` is an output. Allocates arrays for as many rows as the inputs
        have if no outputs are given."""
        if outputs is None:
            outputs = self._runner._new_outputs(inputs)
        return self._runner.execute_async(inputs, outputs)

    execute_async = executeAsync

    def getExecuteInputs(self) -> list[DataDesc]:
        return self._runner.get_execute_inputs()

    def getExecuteOutputs(self) -> list[DataDesc]:
        return self._runner.get_execute_outputs()

    get_execute_inputs = getExecuteInputs
    get_execute_outputs = getExecuteOutputs

    def close(self) -> None:
        self._runner.close()

    def __enter__(self) -> "ModelRunner":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _poprt_config(config: ModelRunnerConfig) -> _runtime.RuntimeConfig:
    values = {name: getattr(config, name) for name in _runtime.RuntimeConfig._defaults}
    if isinstance(config.device_wait_config, DeviceWaitConfig):
        values["device_wait_config"] = config.device_wait_config._poprt()
    return _runtime.RuntimeConfig(**values)


def read_telemetry(folder: Union[str, os.PathLike[str]] = "") -> list[dict[str, Any]]:
    """Returns the activity of sessions and runners of all processes that publish it (POPRT_TELEMETRY=1), one entry for
    each. ``folder`` is the folder of the telemetry; "" is the default, which may raise PermissionDeniedError and
    InvalidArgumentError."""
    entries: list[dict[str, Any]] = json.loads(_raw.raw_telemetry_read(os.fspath(folder)))
    return entries
