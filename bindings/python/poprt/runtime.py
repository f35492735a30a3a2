"""Runtime: devices, and runners that serve a compiled model to any number of threads.

Memory is the caller's: arrays are read and written where they lie. They must stay untouched until a call returns or
its future is done; the runner holds them that long, so they may be dropped.
"""

from __future__ import annotations

import datetime
import enum
import os
import time
from concurrent.futures import Future
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import poprt_raw as _raw
from ._config import Config
from ._describe import DataDesc, describe_all
from .compiler import Executable
from .errors import UnavailableError

__all__ = ["AnyConfig", "BaseRunner", "Binding", "DataDesc", "Device", "DeviceManager", "DeviceWaitConfig",
           "InputDesc", "InputMemoryView", "ModelRunner", "OutputDesc", "OutputFuture", "OutputMemoryView",
           "ReplicaIdToDevice", "Runner", "RunnerType", "RuntimeConfig"]

InputDesc = OutputDesc = DataDesc
UINT32_MAX = 2**32 - 1
INT64_MAX = 2**63 - 1


class RunnerType(enum.IntEnum):
    ModelRunner = 0
    PackRunner = 1
    ModelFusionRunner = 2


class InputMemoryView(dict):
    """Names to arrays, or anything else with a buffer. A dict does as well."""


class OutputMemoryView(dict):
    """Names to arrays that are written."""


class ReplicaIdToDevice(dict):
    """Replica number to device: ``m[0] = device``."""


class DeviceWaitConfig(Config):
    """How long to try for a device, and how long to sleep between two attempts."""

    _defaults = {"timeout_sec": 1, "sleep_time_sec": 6}
    _aliases = {"timeoutSec": "timeout_sec", "sleepTimeSec": "sleep_time_sec"}

    def __init__(self, timeout_sec: float = 1, sleep_time_sec: float = 6):
        super().__init__(timeout_sec=timeout_sec, sleep_time_sec=sleep_time_sec)


class RuntimeConfig(Config):
    """Options of a model runner, by PopRT's names and with its defaults; poprt's own come last.

    Times are in nanoseconds; a ``timedelta`` is taken as well.
    """

    _defaults = {
        "runner_type": RunnerType.ModelRunner,
        "device_wait_config": DeviceWaitConfig(),
        "thread_safe": True,
        "timeout_ns": 10_000_000,
        "validate_io_params": True,
        "batching_dim": UINT32_MAX,
        "check_package_hash": True,
        "ring_buffer_size_multiplier": 2,
        "auto_reset": False,
        "flush_on_waiting_outputs": False,
        "batch_size_timeout_ns": INT64_MAX,
        "data_parallel_timeout_ns": INT64_MAX,
        "is_batch_size_timeout_enabled": False,
        "request_tracepoints_buffer_size": 1000,
        "replica_id_to_device": ReplicaIdToDevice(),
        "flush_by_name": None,
        # poprt's own.
        "threads": 0,  # compute threads; 0: POPRT_THREADS, or all CPUs
        "profile": False,  # time every instruction
        "queue_depth": 0,  # requests in flight before execute_async waits; 0: 64
        "device": None,  # None: any free one
    }
    _aliases = {"replica_to_device": "replica_id_to_device", "replicaIdToDevice": "replica_id_to_device"}

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, datetime.timedelta):
            value = value // datetime.timedelta(microseconds=1) * 1000
        super().__setattr__(name, value)


class Device:
    """An emulated IPU, busy while somebody holds it. From a DeviceManager."""

    def __init__(self, raw: _raw.RawDevice):
        self._raw = raw

    def id(self) -> int:
        return self._open().device_id()

    def ipu_version(self) -> int:
        """21 for "ipu21"."""
        return self._open().ipu_version()

    def close(self) -> None:
        """Gives it back; a runner on it keeps it until it is closed."""
        self._raw = None

    def _open(self) -> _raw.RawDevice:
        if self._raw is None:
            raise ValueError("the device is closed")
        return self._raw

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DeviceManager:
    """Finds devices. All managers see the same ones; ``device_count`` limits how many, 0: POPRT_DEVICES, or 4."""

    def __init__(self, device_count: int = 0):
        self._raw = _raw.RawDeviceManager(device_count)

    def get_num_devices(self) -> int:
        """Busy ones included."""
        return self._raw.device_count()

    def get_device(self, num_ipus: int = 1) -> Device:
        """A free device. UnavailableError when all are busy."""
        return Device(self._raw.get_device(num_ipus))

    def get_specific_device(self, device_id: int) -> Device:
        """NotFoundError, UnavailableError."""
        return Device(self._raw.get_specific_device(device_id))

    def ipu_hardware_version(self) -> str:
        """"ipu21": what the emulator stands for."""
        return self._raw.ipu_hardware_version()


class OutputFuture(Future):
    """Result of an asynchronous run: a ``concurrent.futures.Future`` of the dict of outputs.

    ``asyncio.wrap_future`` makes it awaitable. Its callbacks are called on a thread of the runner: they must not block
    and not wait for other requests.
    """

    def __init__(self, outputs: Mapping[str, Any]):
        super().__init__()
        self.set_running_or_notify_cancel()
        self._outputs = outputs
        self._run: Any = None

    def wait(self, timeout: Optional[float] = None) -> Mapping[str, Any]:
        """Waits and returns the outputs; seconds; raises what the run failed with."""
        return self.result(timeout)

    def __getitem__(self, name: str) -> Any:
        return self.result()[name]

    def _complete(self, error: Optional[BaseException]) -> None:
        self._run = None
        if error is None:
            self.set_result(self._outputs)
        else:
            self.set_exception(error)


class Binding:
    """Arrays that were checked once, for any number of runs: ``execute`` only runs. See ``ModelRunner.bind``."""

    def __init__(self, runner: _raw.RawRunner, raw: Any):
        self._runner = runner
        self._raw = raw

    def execute(self) -> None:
        _raw.raw_execute_bound(self._runner, self._raw)

    __call__ = execute


class BaseRunner:
    """What all runners do."""

    _raw: Any
    _check_types = True

    def execute(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> None:
        """Runs the model; the outputs' arrays are written when it returns. Any thread.

        Arrays are used where they lie; an input that is not C-contiguous is copied. Raises NotFoundError (a name),
        InvalidArgumentError (missing, a wrong size or dtype), CancelledError (the runner was stopped).
        """
        _raw.raw_execute(self._open(), inputs if isinstance(inputs, dict) else dict(inputs),
                         outputs if isinstance(outputs, dict) else dict(outputs), self._check_types)

    def execute_async(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> OutputFuture:
        """Submits a run; blocks while the queue is full. Requests run in the order of submission."""
        future = OutputFuture(outputs)
        raw = self._open()
        future._run = _raw.raw_execute_async(
            raw, inputs if isinstance(inputs, dict) else dict(inputs),
            outputs if isinstance(outputs, dict) else dict(outputs), self._check_types, future._complete, raw)
        return future

    def run(self, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Runs the model into new arrays."""
        outputs = {d.name: d.empty() for d in self.get_execute_outputs()}
        self.execute(inputs, outputs)
        return outputs

    def bind(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Binding:
        """Prepares arrays for many runs; they are held until the binding goes away."""
        raw = self._open()
        return Binding(raw, _raw.raw_bind(raw, dict(inputs), dict(outputs), self._check_types))

    def get_execute_inputs(self) -> list[DataDesc]:
        return describe_all(self._open(), "input")

    def get_execute_outputs(self) -> list[DataDesc]:
        return describe_all(self._open(), "output")

    # Spellings of earlier versions.
    def executeAsync(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> OutputFuture:
        return self.execute_async(inputs, outputs)

    def getExecuteInputs(self) -> list[DataDesc]:
        return self.get_execute_inputs()

    def getExecuteOutputs(self) -> list[DataDesc]:
        return self.get_execute_outputs()

    def get_model_inputs(self) -> list[DataDesc]:
        return self.get_execute_inputs()

    def get_model_outputs(self) -> list[DataDesc]:
        return self.get_execute_outputs()

    def stop(self) -> None:
        """Requests that wait fail with CancelledError, so do later calls."""
        self._open().stop()

    def profile(self) -> str:
        """JSON with times of every instruction; needs ``RuntimeConfig.profile``."""
        return self._open().profile()

    def close(self) -> None:
        """Gives the device back, after the requests that are in flight. Calls under way go on."""
        self._raw = None

    def _open(self) -> Any:
        raw = self._raw
        if raw is None:
            raise ValueError("the runner is closed")
        return raw

    def __enter__(self):
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


AnyConfig = RuntimeConfig
Popef = Union[str, os.PathLike, Sequence[Union[str, os.PathLike]], Executable]


class Runner(BaseRunner):
    """Makes the runner for the kind of configuration that it is given: a ModelRunner for RuntimeConfig or none."""

    def __new__(cls, popef: Popef, config: Optional[AnyConfig] = None):
        if cls is Runner:
            wanted = RuntimeConfig if config is None else type(config)
            cls = _RUNNERS.get(wanted)
            if cls is None:
                raise TypeError(f"expected the configuration of a runner, given {wanted.__name__}")
        return super().__new__(cls)


class ModelRunner(Runner):
    """Runs one model. ``popef`` is a path, a list of paths that make one model, or an Executable."""

    def __init__(self, popef: Popef, config: Optional[RuntimeConfig] = None):
        config = config or RuntimeConfig()
        executable = popef if isinstance(popef, Executable) else Executable(
            popef, check_package_hash=config.check_package_hash)
        self._check_types = bool(config.validate_io_params)
        device = config.device or config.replica_id_to_device.get(0)
        options = _raw.RawRunnerOptions()
        options.threads = config.threads
        options.profile = int(config.profile)
        options.queue_depth = config.queue_depth
        if device is not None:
            options.set_device(device._open())
        self._raw = _waiting(config.device_wait_config, lambda: _raw.RawRunner(executable._open(), options))


def _waiting(wait: DeviceWaitConfig, make):
    """Tries until the time is over: the last attempt is at its end."""
    end = time.monotonic() + wait.timeout_sec
    while True:
        try:
            return make()
        except UnavailableError:
            left = end - time.monotonic()
            if left <= 0:
                raise
            time.sleep(min(left, wait.sleep_time_sec))


_RUNNERS: dict[type, type] = {RuntimeConfig: ModelRunner}
