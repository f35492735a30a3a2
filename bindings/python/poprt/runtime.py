"""Runtime: devices, and runners that serve a compiled model to any number of threads.

Memory is the caller's: arrays are read and written where they lie. They must stay untouched until a call returns or
its future is done; the runner holds them that long, so they may be dropped.
"""

from __future__ import annotations

import datetime
import enum
import json
import math
import operator
import os
import weakref
from concurrent.futures import CancelledError as _StandardCancelledError, Future
from typing import TYPE_CHECKING, Any, Callable, Generator, Mapping, Optional, Sequence, SupportsIndex, TypedDict, TypeVar, Union, overload

import numpy as np

from . import _load, poprt_raw as _raw
from ._config import Config
from ._convert import whole
from ._describe import DataDesc, describe, describe_all
from ._onnx import Proto
from .compiler import Compiler, CompilerOptions, Executable
from .errors import CancelledError, InvalidArgumentError, NotFoundError

__all__ = ["AnyConfig", "BaseRunner", "Binding", "BucketStatistics", "DataDesc", "Device", "DeviceManager", "DeviceWaitConfig",
           "HostConcatConfig", "HostConcatRunner", "HostConcatRunnerConfig", "InputDesc", "InputMemoryView",
           "Latency", "LightRunner", "LightRunnerConfig", "ModelFusionRunner", "ModelRunner", "OutputDesc", "OutputFuture",
           "OutputMemoryView", "PackAlgorithm", "PackRunner", "PackRunnerConfig", "ReplicaIdToDevice", "ReplicaStatistics",
           "Runner", "RunnerStatistics", "RunnerType", "RuntimeConfig", "Tracepoint"]

InputDesc = OutputDesc = DataDesc
_WAIT_WITH_TIMEOUT, _WAIT_FOREVER = 1, 2  # the numbers of poprt/device.h
UINT32_MAX = 2**32 - 1
INT64_MAX = 2**63 - 1
DO_NOT_WAIT = -(2**63)  # POPRT_DO_NOT_WAIT


class RunnerType(enum.IntEnum):
    ModelRunner = 0
    PackRunner = 1
    ModelFusionRunner = 2


class PackAlgorithm(enum.IntEnum):
    """How requests that do not cross rows are put into rows."""
    next_fit = 0
    first_fit = 1


class InputMemoryView(dict[str, Any]):
    """Names to arrays, or anything else with a buffer. A dict does as well."""


class OutputMemoryView(dict[str, Any]):
    """Names to arrays that are written."""


class ReplicaIdToDevice(dict[int, "Device"]):
    """Replica number to device: ``m[0] = device``."""


class DeviceWaitConfig(Config):
    """How long to try for a device, and how long to sleep between two attempts."""

    timeout_sec: float = 1
    sleep_time_sec: float = 6
    _aliases = {"timeoutSec": "timeout_sec", "sleepTimeSec": "sleep_time_sec"}

    def __init__(self, timeout_sec: float = 1, sleep_time_sec: float = 6):
        super().__init__(timeout_sec=timeout_sec, sleep_time_sec=sleep_time_sec)


def _nanoseconds(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1) * 1000
    return value


class _RunnerConfig(Config):
    """What the configurations of all runners have in common."""

    _kind = "model"

    if not TYPE_CHECKING:  # which then know what there is
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, _nanoseconds(value))

    def _get(self, name: str, default: Any) -> Any:
        return getattr(self, name) if name in self._defaults else default

    def _count(self, name: str, default: int) -> int:
        value = self._get(name, default)
        try:
            number = operator.index(value)
        except TypeError:
            raise TypeError(f"{type(self).__name__}.{name}: expected a whole number, found {value!r}") from None
        if number < 0:
            raise InvalidArgumentError(f"{type(self).__name__}.{name}: expected 0 or more, found {number}")
        return number

    def _memory(self, executable: Executable) -> dict[str, dict[str, Any]]:
        """Arrays of the fields that have them, by name, each checked against the executable's anchor."""
        pair: Any = self._get("flush_by_name", None) or ({}, {})
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"{type(self).__name__}.flush_by_name: expected a pair of dicts, inputs and outputs, found {pair!r}")
        anchors = {"input": {d.name: d for d in executable.get_inputs()}, "output": {d.name: d for d in executable.get_outputs()}}
        made: dict[str, dict[str, Any]] = {}
        for field, option, direction, arrays in (("frozen_inputs", "frozen_inputs", "input", self._get("frozen_inputs", None) or {}),
                                                 ("flush_inputs", "flush_by_name", "input", pair[0]),
                                                 ("flush_outputs", "flush_by_name", "output", pair[1])):
            if not isinstance(arrays, Mapping):
                raise TypeError(f"{type(self).__name__}.{option}: expected a dict of name to array, found {arrays!r}")
            label = {"frozen_inputs": "frozen input", "flush_inputs": "flush input", "flush_outputs": "flush output"}[field]
            for name in arrays:
                if name not in anchors[direction]:
                    raise NotFoundError(f"there is no {direction} '{name}', which {option} has; {direction}s are: "
                                        + ", ".join(f"'{n}'" for n in anchors[direction]))
            made[field] = {n: whole(a, direction, anchors[direction][n], label) for n, a in arrays.items()}
        return made

    def _options(self, executable: Executable, keep: list[Any]) -> dict[str, Any]:
        """Fields of poprt_runner_options. ``keep`` gets what they point to."""
        wait = self._get("device_wait_config", DeviceWaitConfig(0, 1))
        never: Callable[[int], int] = lambda ns: 0 if ns >= INT64_MAX else ns
        options = {
            "threads": self._get("threads", 0),
            "profile": int(self._get("profile", False)),
            "queue_depth": self._count("queue_depth", 0),
            "telemetry": int(self._get("telemetry", False)),
            "timeout_ns": self._count("timeout_ns", 10_000_000) or -1,  # 0 is never, there and here
            "not_thread_safe": int(not self._get("thread_safe", True)),
            "no_validate_io_params": int(not self._get("validate_io_params", True)),
            "ring_buffer_size_multiplier": self._count("ring_buffer_size_multiplier", 0),
            "auto_reset": int(self._get("auto_reset", False)),
            "flush_on_waiting_outputs": int(self._get("flush_on_waiting_outputs", False)),
            "is_batch_size_timeout_enabled": int(self._get("is_batch_size_timeout_enabled", False)),
            "batch_size_timeout_ns": never(self._count("batch_size_timeout_ns", INT64_MAX)),
            "data_parallel_timeout_ns": never(self._count("data_parallel_timeout_ns", INT64_MAX)),
            "request_tracepoints_buffer_size": self._count("request_tracepoints_buffer_size", 1000) or -1,  # 0: all
            "replication_factor": self._get("replication_factor", None) or 0,
            "overlap_io": int(self._get("overlap_io", False)),
            "batches_per_step": self._get("batches_per_step", 0),
            "faults": self._get("faults", None),
            "numerics": self._get("numerics", None),
            "shared_devices": self._get("shared_devices", None),
            "device_wait_timeout_ns": int(min(wait.timeout_sec * 1e9, INT64_MAX // 2)) or DO_NOT_WAIT,
            "device_wait_sleep_ns": max(1, int(wait.sleep_time_sec * 1e9)),
        }
        if self._get("batching_dim", UINT32_MAX) != UINT32_MAX:
            options.update({"use_batching_dim": 1, "batching_dim": self._get("batching_dim", 0)})
        devices = dict(self._get("replica_id_to_device", {}))
        if self._get("device", None) is not None:
            devices[0] = self._get("device", None)
        with self._naming("replica_id_to_device"):
            raws = [(operator.index(replica), device._open()) for replica, device in devices.items()]
        keep += raws
        options["replica_devices"] = [(replica, int(raw.this)) for replica, raw in raws]
        for field, arrays in self._memory(executable).items():
            keep += arrays.values()
            options[field] = [(name, *_raw.raw_address(array)) for name, array in arrays.items()]
        return options

    def _extra(self) -> dict[str, Any]:
        return {}


class RuntimeConfig(_RunnerConfig):
    """Options of a model runner, by PopRT's names and with its defaults, and poprt's own.

    Times are in nanoseconds; a ``timedelta`` is taken as well.
    """

    # <options:runner> made from capi/options.toml by tests/lint/option_fields.py --write
    #: Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or all CPUs. Since
    #: 0.1.
    threads: int = 0
    #: Whether to time every instruction, for ``profile()``; slower. Since 0.1.
    profile: bool = False
    #: The device to run on. None: any free one. Since 0.1.
    device: Optional["Device"] = None
    #: Requests in flight per replica that the queue has places for; see ``execute_async()``. 0: the size of the ring.
    #: Since 0.1.
    queue_depth: int = 0
    #: Which runner: one of fused models finds the model by the names of a request. Since 0.1.
    runner_type: RunnerType = RunnerType.ModelRunner
    #: What to do while no device is free: how long to try, and how long to sleep between two attempts. Default: 1 and 6
    #: seconds. Since 0.1.
    device_wait_config: DeviceWaitConfig = DeviceWaitConfig()
    #: Whether several threads may use the runner at once; off saves a lock. Since 0.1.
    thread_safe: bool = True
    #: How long a started batch waits for its next rows before it is padded with zeros. 0: for ever. Nanoseconds, or a
    #: ``timedelta``. Since 0.1.
    timeout_ns: Union[int, datetime.timedelta] = 10_000_000
    #: Whether names and sizes are checked in each run. Without, unknown names are ignored, inputs that are not given
    #: are zeros, such outputs are dropped, and sizes believed (the first tells them all); fused and conditional models
    #: need that. Since 0.1.
    validate_io_params: bool = True
    #: The dimension along which requests may have any size. UINT32_MAX: none, requests are whole compiled batches.
    #: Since 0.1.
    batching_dim: int = UINT32_MAX
    #: Whether files that another version has compiled are refused. Since 0.1.
    check_package_hash: bool = True
    #: Size of the ring in requests: it times the rows of a step, rows being batches without a batching dimension. With
    #: 2 it is at least 64. Since 0.1.
    ring_buffer_size_multiplier: int = 2
    #: Whether the device is reset after errors that allow it. Since 0.1.
    auto_reset: bool = False
    #: Whether batches are padded only while somebody waits for one of their requests or has given a callback; turns
    #: tracing on. Since 0.1.
    flush_on_waiting_outputs: bool = False
    #: How long batches are waited for: from a batch's first row until it is padded. Nanoseconds, or a ``timedelta``.
    #: Since 0.1.
    batch_size_timeout_ns: Union[int, datetime.timedelta] = INT64_MAX
    #: How long steps are waited for: from the first complete batch of a step until the step goes without the others.
    #: Nanoseconds, or a ``timedelta``. Since 0.1.
    data_parallel_timeout_ns: Union[int, datetime.timedelta] = INT64_MAX
    #: Whether the timeouts of batches and of steps hold. Since 0.1.
    is_batch_size_timeout_enabled: bool = False
    #: How many requests ``tracepoints()`` remembers. 0: all. Since 0.1.
    request_tracepoints_buffer_size: int = 1000
    #: Devices of replicas, from 0 on. None given: any free ones. Since 0.1.
    replica_id_to_device: dict[int, "Device"] = ReplicaIdToDevice()
    #: By name: rows for padding, instead of zeros, and where their results go; all inputs that requests give, all
    #: outputs. Must stay valid while the runner lives. Since 0.1.
    flush_by_name: Optional[tuple[Mapping[str, Any], Mapping[str, Any]]] = None
    #: Copies of the model, each on a device of its own. None: 1. Since 0.1.
    replication_factor: Optional[int] = None
    #: Constant values, copied, for inputs that requests then leave out. Since 0.1.
    frozen_inputs: Optional[dict[str, Any]] = None
    #: Whether the next step's inputs are copied in and the last one's outputs out while one computes, on threads of
    #: their own; on also when the executable was compiled with num_io_tiles. Since 0.1.
    overlap_io: bool = False
    #: Batches of one step. What is submitted waits for a step to fill, as the timeouts say; whole batches of a call
    #: that waits for its answer do not. 0: as the executable says. Since 0.1.
    batches_per_step: int = 0
    #: Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see capi/ABI.md. "":
    #: POPRT_INJECT_FAULTS from the environment. Since 1.0.
    faults: Optional[str] = None
    #: Whether to publish what it does, as POPRT_TELEMETRY=1 does; see ``model_runtime.read_telemetry``. Since 1.0.
    telemetry: bool = False
    #: What it computes with: "fast", or "faithful", with the roundings of the chip and NaN where halves overflow, or
    #: "saturating", the same with the greatest half. Faithful ones are slow, and need an executable that was compiled
    #: with the option numerics=faithful. "": "fast". Since 1.0.
    numerics: Optional[str] = None
    #: Which processes share the devices of the replicas: "0" none, "1" all of the user, an absolute path those that
    #: name the same folder. Two replicas, of whatever process, never have the same device. "": POPRT_SHARED_DEVICES
    #: from the environment, or none. Since 1.0.
    shared_devices: Optional[str] = None
    # </options:runner>
    _aliases = {"replica_to_device": "replica_id_to_device", "replicaIdToDevice": "replica_id_to_device"}

    @property
    def _kind(self) -> str:  # type: ignore[override]
        return "fusion" if self.runner_type == RunnerType.ModelFusionRunner else "model"


class PackRunnerConfig(_RunnerConfig):
    """Options of a runner that packs requests of variable length into the compiled batch."""

    _kind = "pack"
    timeout_microseconds: int = 0  # must be set: from a pack's first item until it goes
    max_valid_num: int = 0  # items per pack; 0: as many as fit
    dynamic_input_name: str = ""
    unpack_info_input_name: str = ""
    mask_name: str = ""
    dynamic_group: list[str] = []
    algorithm: PackAlgorithm = PackAlgorithm.next_fit
    compile_batch_size: int = -1
    disable_data_across_rows: bool = False
    enable_padding_remove: bool = False
    delimiter_num: int = 0
    enable_prefetch_datastreams: bool = True
    device_wait_config: DeviceWaitConfig = DeviceWaitConfig()
    check_package_hash: bool = True
    threads: int = 0
    replica_id_to_device: dict[int, "Device"] = ReplicaIdToDevice()
    _aliases = {"algo": "algorithm", "algorithom": "algorithm", "timeout_in_micro_seconds": "timeout_microseconds"}

    def __init__(self, timeout_microseconds: int = 0, max_valid_num: int = 0, dynamic_input_name: str = "",
                 unpack_info_input_name: str = "", **options: Any):
        super().__init__(timeout_microseconds=timeout_microseconds, max_valid_num=max_valid_num,
                         dynamic_input_name=dynamic_input_name, unpack_info_input_name=unpack_info_input_name,
                         **options)

    def enable_input_single_row_mode(self, mask: str, unpack_info: str = "", delimiter: int = 0) -> None:
        """No request crosses a row."""
        self.disable_data_across_rows = True
        self.mask_name, self.unpack_info_input_name, self.delimiter_num = mask, unpack_info, delimiter

    def enable_padding_remove_mode(self, mask: str, group: Sequence[str] = ()) -> None:
        """Strips the callers' padding, which the mask tells."""
        self.enable_padding_remove = True
        self.mask_name, self.dynamic_group = mask, list(group)

    enable_single_row_mode = enable_input_single_row_mode
    enable_padding_remove_pattern = enable_padding_remove_mode

    def _extra(self) -> dict[str, Any]:
        names = ("dynamic_input_name", "unpack_info_input_name", "mask_name")
        return {**{n: getattr(self, n) or None for n in names},
                "timeout_microseconds": self.timeout_microseconds, "max_valid_num": self.max_valid_num,
                "dynamic_group": list(self.dynamic_group), "algorithm": int(self.algorithm),
                "compile_batch_size": max(self.compile_batch_size, 0),
                "disable_data_across_rows": int(self.disable_data_across_rows),
                "enable_padding_remove": int(self.enable_padding_remove), "delimiter_num": self.delimiter_num,
                "disable_prefetch_datastreams": int(not self.enable_prefetch_datastreams)}


class LightRunnerConfig(_RunnerConfig):
    """Options of a runner with little overhead, whose weights can be replaced."""

    _kind = "light"
    check_package_hash: bool = True
    replica_id_to_device: dict[int, "Device"] = ReplicaIdToDevice()
    threads: int = 0
    _aliases = RuntimeConfig._aliases


class HostConcatConfig(Config):
    """One input of the model, ``tensor_name``, is other inputs' bytes one after the other."""

    tensor_name: str = ""
    input_tensor_names: list[str] = []
    shape: list[int] = []  # of the joined tensor; empty: not checked
    data_size_bytes: int = 0  # of the joined tensor; 0: not checked
    # poprt's own.
    sizes: list[int] = []  # bytes of each input; empty: equal parts


class HostConcatRunnerConfig(_RunnerConfig):
    """Options of a runner that joins inputs. Without ``host_concat_config`` the PopEF file says which."""

    _kind = "host_concat"
    check_package_hash: bool = True
    ring_buffer_size_multiplier: int = 2
    timeout_ns: Union[int, datetime.timedelta] = 10_000_000
    host_concat_config: dict[str, HostConcatConfig] = {}
    threads: int = 0

    def _extra(self) -> dict[str, Any]:
        fields = tuple(HostConcatConfig._defaults)
        return {"host_concat": [{f: getattr(c, f) for f in fields} for c in self.host_concat_config.values()]}


class Device:
    """An emulated IPU, busy while somebody holds it. From a DeviceManager."""

    def __init__(self, raw: _raw.RawDevice):
        self._raw: Optional[_raw.RawDevice] = raw

    def id(self) -> int:
        """The first of its IPUs; -1 for an IPU model."""
        return self._open().device_id()

    def ipu_version(self) -> int:
        """21 for "ipu21"."""
        return self._open().ipu_version()

    def num_ipus(self) -> int:
        return self._open().num_ipus()

    def tiles_per_ipu(self) -> int:
        return self._open().tiles_per_ipu()

    def is_ipu_model(self) -> bool:
        """False for the emulated IPUs of the process."""
        return self._open().is_ipu_model()

    def close(self) -> None:
        """Gives it back; a runner on it keeps it until it is closed."""
        self._raw = None

    def __repr__(self) -> str:
        if self._raw is None:
            return "<Device, closed>"
        kind = "IPU model" if self.is_ipu_model() else f"device {self._raw.device_id()}"
        return f"<Device: {kind}, {self.num_ipus()} x ipu{self.ipu_version()}>"

    def _open(self) -> _raw.RawDevice:
        if self._raw is None:
            raise ValueError("the device is closed")
        return self._raw

    def __enter__(self) -> "Device":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DeviceManager:
    """Finds devices. All managers see the same ones; ``device_count`` limits how many, 0: POPRT_DEVICES, or 16384.

    ``visible`` is the ids of those that it sees, as in "0,2-3"; ``shared`` is "1" or an absolute folder: with the processes
    that say the same, "0": with none. Empty: POPRT_VISIBLE_DEVICES and POPRT_SHARED_DEVICES."""

    def __init__(self, device_count: int = 0, *, visible: str = "", shared: Union[str, os.PathLike[str]] = ""):
        self._raw = _raw.RawDeviceManager(device_count, visible, os.fspath(shared))

    def __repr__(self) -> str:
        return f"<DeviceManager: {self.get_num_devices()} devices>"

    def get_num_devices(self) -> int:
        """Busy ones included."""
        return self._raw.device_count()

    def get_device(self, num_ipus: int = 1) -> Device:
        """A free device. UnavailableError when all are busy."""
        return Device(self._raw.get_device(num_ipus))

    def get_specific_device(self, device_id: int) -> Device:
        """NotFoundError, UnavailableError."""
        return Device(self._raw.get_specific_device(device_id))

    def get_device_ids(self) -> list[int]:
        """In ascending order, busy ones included."""
        return [self._raw.device_id(i) for i in range(self._raw.device_count())]

    def acquire(self, num_ipus: int = 0, *, ipu_version: int = 0, min_tiles: int = 0, remote_buffers: bool = False,
                executable: Optional[Executable] = None, device_id: int = -1,
                wait: Optional[DeviceWaitConfig] = None) -> Device:
        """A device that fits; zero, None and -1 mean any. Without ``wait`` it does not wait; a ``timeout_sec`` of
        ``math.inf`` has no end, a ``sleep_time_sec`` of 0 is 15 s between two looks at other processes.

        NotFoundError when none can ever fit, UnavailableError when those that fit are busy."""
        request = _raw.RawDeviceRequest()
        request.num_ipus, request.min_tiles, request.ipu_version = num_ipus, min_tiles, ipu_version
        request.remote_buffers = int(remote_buffers)
        if wait is not None:
            for_ever = math.isinf(wait.timeout_sec)
            request.wait_strategy = _WAIT_FOREVER if for_ever else _WAIT_WITH_TIMEOUT
            request.wait_timeout_ns = 0 if for_ever else int(wait.timeout_sec * 1e9)
            request.wait_sleep_ns = int(wait.sleep_time_sec * 1e9)
        if executable is None:
            return Device(self._raw.acquire(request, device_id))
        return Device(self._raw.acquire_for(executable._open(), request, device_id))

    def create_ipu_model_device(self, num_ipus: int = 1, ipu_version: int = 0, tiles_per_ipu: int = 0) -> Device:
        """A device of its own, which nobody waits for; results are those of any device.

        IPU versions are 1, 2 and 21; 0: 2. ``tiles_per_ipu`` 0: what the version has. InvalidArgumentError."""
        return Device(self._raw.create_ipu_model_device(num_ipus, ipu_version, tiles_per_ipu))

    def create_small_ipu_model_device(self, num_ipus: int = 1, ipu_version: int = 0) -> Device:
        """The same with 4 tiles for each IPU."""
        return Device(self._raw.create_small_ipu_model_device(num_ipus, ipu_version))

    def ipu_hardware_version(self) -> str:
        """"ipu21": what the emulator stands for."""
        return self._raw.ipu_hardware_version()


class OutputFuture(Future[Mapping[str, Any]]):
    """Result of an asynchronous run: a ``concurrent.futures.Future`` of the dict of outputs, which ``await`` takes too.

    Its callbacks are called on a thread of the runner: they must not block and not wait for other requests. The arrays
    of the request are in use until it is done, also when a task that awaits it is cancelled before.
    """

    def __init__(self, outputs: Mapping[str, Any]):
        super().__init__()
        self._outputs = outputs
        self._run: Any = None
        self._asked_to_cancel = False

    def __await__(self) -> Generator[Any, None, Mapping[str, Any]]:
        import asyncio  # takes longer than the rest of this module, and most programs have no event loop

        return asyncio.wrap_future(self).__await__()

    def result(self, timeout: Optional[float] = None) -> Mapping[str, Any]:
        try:
            return super().result(timeout)
        except CancelledError:
            raise
        except _StandardCancelledError:
            raise CancelledError("the request was not run: it was cancelled") from None

    def wait(self, timeout: Optional[float] = None) -> Mapping[str, Any]:
        """Waits and returns the outputs; seconds; raises what the run failed with."""
        return self.result(timeout)

    def __getitem__(self, name: str) -> Any:
        return self.result()[name]

    def cancel(self) -> bool:
        """Cancels a request that has not begun: True, and its arrays are free. False when it has begun or is done."""
        run = self._run
        if run is None:
            return self.cancelled()
        self._asked_to_cancel = True
        return bool(run.cancel())

    def _complete(self, error: Optional[BaseException]) -> None:
        self._run = None
        if self._asked_to_cancel and isinstance(error, CancelledError):
            super().cancel()
        if not self.set_running_or_notify_cancel():
            return
        if error is None:
            self.set_result(self._outputs)
        else:
            self.set_exception(error)


_loops: "weakref.WeakKeyDictionary[Any, weakref.ref[_raw.RawLoop]]" = weakref.WeakKeyDictionary()


def _raw_loop(loop: Any) -> _raw.RawLoop:
    """What tells an event loop of runs that are over: it is woken once for all of them, without a thread that waits for
    the interpreter. The loop alone holds it, as a file that it watches, so that it goes when the loop is closed."""
    known = _loops.get(loop)
    raw = known() if known else None
    if raw is None:
        raw = _raw.RawLoop()
        loop.add_reader(raw.wake(), raw.take)
        _loops[loop] = weakref.ref(raw)
    return raw


class _Submitted:
    """A run that a task awaits. Called on the loop's thread, with what it failed with, when its memory is free."""

    __slots__ = ("future", "free", "over")

    def __init__(self, future: Any):
        self.future = future
        self.free: Any = None  # what a task that was cancelled waits for
        self.over = False

    def __call__(self, error: Optional[BaseException]) -> None:
        self.over = True
        if self.future.cancelled():
            if self.free is not None and not self.free.cancelled():
                self.free.set_result(None)
        elif error is None:
            self.future.set_result(None)
        else:
            self.future.set_exception(error)


class Binding:
    """Arrays that were checked once, for any number of runs: ``execute`` only runs. See ``ModelRunner.bind``."""

    def __init__(self, runner: _raw.RawRunner, raw: Any):
        self._runner = runner
        self._raw = raw

    def execute(self) -> None:
        _raw.raw_execute_bound(self._runner, self._raw)

    __call__ = execute

    def __repr__(self) -> str:
        return "<Binding of a runner's memory>"


_Self = TypeVar("_Self", bound="BaseRunner")


def _named(what: str, value: Any) -> dict[str, Any]:
    """What the raw layer takes of arrays by name."""
    try:
        return value if isinstance(value, dict) else dict(value)
    except (TypeError, ValueError):
        raise TypeError(f"expected the {what}s as a dict of name to array, given {type(value).__name__}") from None


def _limit_ns(begin_within: Optional[float]) -> int:
    """0: no limit. One that is over already is the shortest that there is."""
    if begin_within is None:
        return 0
    if not isinstance(begin_within, (int, float, np.integer, np.floating)):
        raise TypeError(f"begin_within: expected seconds, given {begin_within!r}")
    if math.isnan(begin_within):
        raise ValueError("begin_within: expected seconds, given nan")
    nanoseconds = float(begin_within) * 1e9
    return 0 if nanoseconds >= INT64_MAX else max(1, int(nanoseconds))


class _OutputPlan:
    """How the outputs of runs are made, found out once."""

    def __init__(self, runner: "BaseRunner"):
        descs = runner.get_execute_outputs()
        self.outputs = [(d.name, tuple(d.shape), d.numpy_data_type()) for d in descs]
        self.inputs = {d.name: tuple(d.shape) for d in runner.get_execute_inputs()
                       if not d.popef_contains_tensor_data}
        names = {d.name: d for d in descs}
        #: Name of a padded output: name of the output that says how much of it is real.
        self.sizes = {d.name: d.name + ":shape" for d in descs
                      if d.name + ":shape" in names and names[d.name + ":shape"].shape == [len(d.shape)]}

    def is_one_batch(self, inputs: Mapping[str, Any]) -> bool:
        """So that there are all outputs, of the shapes that the runner tells."""
        if len(inputs) < len(self.inputs):  # those of one graph of a fused model
            return False
        for name, value in inputs.items():
            if getattr(value, "shape", None) != self.inputs.get(name):
                return False
        return True

    def allocate(self, shapes: Optional[Sequence[tuple[int, tuple[int, ...]]]]) -> dict[str, np.ndarray[Any, Any]]:
        """``shapes``: of some outputs, each with its position."""
        if shapes is None:
            return {name: np.empty(shape, dtype) for name, shape, dtype in self.outputs}
        return {self.outputs[at][0]: np.empty(shape, self.outputs[at][2]) for at, shape in shapes}

    def crop(self, outputs: dict[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
        made = dict(outputs)
        for name, size in self.sizes.items():
            if size in outputs and outputs[size].shape == (outputs[name].ndim,):  # one batch: several have a size each
                made[name] = outputs[name][tuple(slice(n) for n in made.pop(size).tolist())]
        return made


def _replica(replica: Optional[int]) -> int:
    """-1: any."""
    if replica is None:
        return -1
    if not 0 <= replica < 2**32:
        raise NotFoundError(f"there is no replica {replica}")
    return replica


class BaseRunner:
    """What all runners do."""

    _raw: Any
    _check_types = True
    _check_shapes = True  # of outputs that are bound
    _outputs: Optional[_OutputPlan] = None

    def execute(self, input: Mapping[str, Any], output: Mapping[str, Any], replica: Optional[int] = None) -> None:
        """Runs the model; the outputs' arrays are written when it returns. Any thread.

        Arrays are used where they lie; an input that is not C-contiguous is copied. Raises NotFoundError (a name),
        InvalidArgumentError (missing, a wrong size or dtype), CancelledError (the runner was stopped).

        ``replica``, counted from 0, is the one that it runs on, where it meets the state (caches) that earlier requests
        have left; without, any.
        """
        _raw.raw_execute(self._open(), _named("input", input), _named("output", output), self._check_types, _replica(replica))

    def execute_async(self, input: Mapping[str, Any], output: Mapping[str, Any],
                      begin_within: Optional[float] = None, replica: Optional[int] = None) -> OutputFuture:
        """Submits a run and returns at once. Requests run in the order of submission; those for which the queue has no
        place (``queue_depth``) stand in a line without limit, so bound what you submit by waiting for results.

        With ``begin_within``, in seconds from the call, it fails with DeadlineExceededError unless it begins by then.
        ``replica``, counted from 0, is the one that it runs on; without, any."""
        future = OutputFuture(output)
        raw = self._open()
        future._run = _raw.raw_execute_async(
            raw, _named("input", input), _named("output", output), self._check_types, _limit_ns(begin_within), _replica(replica),
            future._complete, raw)
        return future

    async def submit(self, inputs: Mapping[str, Any], outputs: Optional[Mapping[str, Any]] = None,
                     begin_within: Optional[float] = None, replica: Optional[int] = None) -> Mapping[str, Any]:
        """Submits a run and awaits it; without ``outputs`` into new arrays. The event loop is never blocked: what the
        queue has no place for waits in line. A task that is cancelled cancels a run that has not begun; when it has,
        the cancellation arrives when it is over: in any case the arrays are free then."""
        if outputs is not None:
            await self._submit(inputs, outputs, begin_within, replica)
            return outputs
        inputs = _named("input", inputs)
        made = self._new_outputs(inputs)
        await self._submit(inputs, made, begin_within, replica)
        return self._crop(made)

    async def _submit(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any], begin_within: Optional[float],
                      replica: Optional[int]) -> None:
        import asyncio  # takes longer than the rest of this module, and most programs have no event loop

        loop = asyncio.get_running_loop()
        submitted, raw = _Submitted(loop.create_future()), self._open()
        if loop not in _loops:
            try:
                _raw_loop(loop)
            except NotImplementedError:  # it cannot watch files
                await self.execute_async(inputs, outputs, begin_within, replica)
                return
        run = _raw.raw_submit_on_loop(
            raw, _named("input", inputs), _named("output", outputs), self._check_types, _limit_ns(begin_within), _replica(replica),
            _raw_loop(loop),
            submitted, raw)
        try:
            await submitted.future
        except asyncio.CancelledError:
            if submitted.future.cancelled() and not run.cancel():
                while not submitted.over:  # it computes, or nobody has taken its end yet
                    submitted.free = loop.create_future()
                    try:
                        await submitted.free
                    except asyncio.CancelledError:
                        pass  # again
            raise

    @overload
    def run(self, inputs: Mapping[str, Any], /) -> dict[str, np.ndarray[Any, Any]]: ...
    @overload
    def run(self, output_names: Optional[Sequence[str]], input_feed: Mapping[str, Any],
            run_options: None = None) -> list[np.ndarray[Any, Any]]: ...

    def run(self, output_names: Any = None, input_feed: Optional[Mapping[str, Any]] = None, run_options: None = None) -> Any:
        """Runs the model into new arrays, for as many rows as the inputs have; of what the model pads (an output NAME
        that comes with NAME:shape) only the real part.

        ``run(inputs)`` returns them by name. ``run(names, inputs)`` is ONNX Runtime's way: a list in the order of the
        names, or of all outputs for None, with its keywords, too; there are no ``run_options``."""
        if run_options is not None:
            raise TypeError(f"run_options: expected None, given {type(run_options).__name__}")
        by_name = input_feed is None and isinstance(output_names, Mapping)
        inputs: Any = output_names if by_name else input_feed if input_feed is not None else output_names
        if not isinstance(inputs, Mapping):
            raise TypeError(f"expected the inputs as a dict of name to array, given {type(inputs).__name__}")
        outputs = self._new_outputs(inputs)
        self.execute(inputs, outputs)
        outputs = self._crop(outputs)
        if by_name:
            return outputs
        names = list(outputs) if output_names is None else [output_names] if isinstance(output_names, str) else list(output_names)
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

    def get_inputs(self) -> list[DataDesc]:
        """What a request gives; those that come with the executable are left out."""
        return [d for d in self.get_execute_inputs() if not d.popef_contains_tensor_data]

    def get_outputs(self) -> list[DataDesc]:
        """What a request makes, :meth:`run` without the sizes NAME:shape."""
        return [d for d in self.get_execute_outputs() if d.name not in self._plan().sizes.values()]

    def __repr__(self) -> str:
        if self._raw is None:
            return f"<{type(self).__name__}, closed>"
        inputs, outputs = (", ".join(map(repr, ds)) for ds in (self.get_inputs(), self.get_outputs()))
        return f"<{type(self).__name__} {inputs} -> {outputs}>"

    def bind(self, inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Binding:
        """Checks arrays once for many runs: names, that none is missing, dtypes and shapes. They are held until the binding
        goes away, and each run uses what they have then; so inputs must be C-contiguous. Errors: as :meth:`execute`."""
        raw = self._open()
        return Binding(raw, _raw.raw_bind(raw, _named("input", inputs), _named("output", outputs), self._check_types, self._check_shapes))

    def get_execute_inputs(self) -> list[DataDesc]:
        """``popef_contains_tensor_data`` says which need not be given."""
        raw = self._open()
        described = describe_all(raw, "input")
        for i, desc in enumerate(described):
            desc.popef_contains_tensor_data = raw.input_has_data(i)
        return described

    def get_execute_outputs(self) -> list[DataDesc]:
        return describe_all(self._open(), "output")

    # Spellings of earlier versions.
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

    def stop(self) -> None:
        """Requests that wait or run fail with CancelledError, so do later calls."""
        self._open().stop()

    def profile(self) -> str:
        """JSON with times of every instruction; needs ``RuntimeConfig.profile``."""
        return str(self._open().profile())

    def close(self) -> None:
        """Gives the device back, after the requests that are in flight. Calls under way go on."""
        self._raw = None

    def _open(self) -> Any:
        raw = self._raw
        if raw is None:
            raise ValueError("the runner is closed")
        return raw

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """Neither pickled nor copied: it has a device and threads of this process."""
        raise _load.of_this_process(self)

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Latency(TypedDict):
    """A histogram of how long requests took; entry i of ``buckets`` counts those of 2**i to 2**(i+1) ns."""
    count: int
    total_ns: int
    max_ns: int
    p50_ns: int
    p99_ns: int
    buckets: list[int]


class ReplicaStatistics(TypedDict):
    """What one replica has done."""
    submitted: int
    completed: int
    failed: int
    cancelled: int
    timed_out: int
    rows: int
    padded_rows: int
    batches: int
    steps: int
    device_errors: int
    resets: int
    in_flight: int
    queue_capacity: int
    latency: Latency


class BucketStatistics(TypedDict):
    """What one shape of a model at several has done; ``elements`` of the requests' inputs, ``room`` that it had for them."""
    sizes: dict[str, int]
    requests: int
    padded: int
    elements: int
    room: int


class _BranchStatistics(TypedDict, total=False):
    graph_requests: list[int]
    shape_buckets: list[BucketStatistics]


class RunnerStatistics(ReplicaStatistics, _BranchStatistics):
    """What a runner has done: of all replicas, and of each; of a fused model the requests of each graph, of one at several
    shapes what each shape has done."""
    replicas: list[ReplicaStatistics]


class Tracepoint(TypedDict):
    """One request: its number, and when it came from one stage to the next, in ns."""
    request: int
    rows: int
    replica: int
    code: int
    submitted: int
    begun: int
    loaded: int
    compute_begin: int
    compute_end: int
    stored: int


AnyConfig = Union[RuntimeConfig, PackRunnerConfig, LightRunnerConfig, HostConcatRunnerConfig]
Popef = Union[str, os.PathLike[str], Sequence[Union[str, os.PathLike[str]]], Executable, bytes, bytearray, memoryview, Proto]


def _is_model(given: object) -> bool:
    """Whether that is an ONNX model: by the end of its path, by its first byte (a field of protobuf), by its type."""
    if isinstance(given, (str, os.PathLike)):
        return str(os.fspath(given)).lower().endswith(".onnx")
    if isinstance(given, (bytes, bytearray, memoryview)):
        return 0 < len(given) and bytes(given[:1]) < b" "
    return hasattr(given, "SerializeToString")


def _opened(given: Popef, config: Any, compiler_options: Optional[CompilerOptions]) -> Executable:
    """What a runner runs of what it is given."""
    if _is_model(given):
        if isinstance(given, (str, os.PathLike)):
            return Executable.load(given, compiler_options)
        return Compiler.compile(given, None, compiler_options)  # type: ignore[arg-type]
    if compiler_options is not None:
        raise InvalidArgumentError("compiler_options are for a model that ends with .onnx; what is given was compiled already")
    if isinstance(given, Executable):
        return given
    return Executable(given, check_package_hash=config._get("check_package_hash", True))  # type: ignore[arg-type]


class Runner(BaseRunner):
    """Makes the runner for the kind of configuration that it is given: a ModelRunner for RuntimeConfig or none. What it
    is given is what ModelRunner takes."""

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
                compiler_options: Optional[CompilerOptions] = None) -> "Runner":
        if cls is Runner:
            wanted = RuntimeConfig if config is None else type(config)
            kinds = [runner for kind, runner in _RUNNERS.items() if issubclass(wanted, kind)]
            if not kinds:
                raise TypeError(f"expected the configuration of a runner, given {wanted.__name__}")
            cls = kinds[0]
        return super().__new__(cls)

    #: What the ONNX model says about itself, see ``Executable.metadata``.
    metadata: dict[str, str]

    def statistics(self) -> RunnerStatistics:
        """Counters, a latency histogram (entry i: 2**i to 2**(i+1) ns), and those of each replica."""
        counters: RunnerStatistics = json.loads(_raw.raw_statistics(self._open()))
        return counters

    def tracepoints(self) -> list[Tracepoint]:
        """Times of the last requests' stages, in ns; needs ``flush_on_waiting_outputs``."""
        points: list[Tracepoint] = json.loads(_raw.raw_tracepoints(self._open()))
        return points


class ModelRunner(Runner):
    """Runs one model. ``popef`` is a path, a list of paths that make one model, the bytes of a PopEF file, or an
    Executable. A path to an ONNX model (``.onnx``) is compiled with ``compiler_options``; what that makes is kept in a cache
    for the next time (see ``Executable.load``). A model in memory, its bytes or an ``onnx.ModelProto``, is compiled each
    time."""

    _config: type = RuntimeConfig

    def __init__(self, popef: Popef, config: Optional[AnyConfig] = None, *,
                 compiler_options: Optional[CompilerOptions] = None):
        config = self._config() if config is None else config
        executable = _opened(popef, config, compiler_options)
        self.metadata = executable.metadata
        self._check_types = bool(config._get("validate_io_params", True))
        keep: list[Any] = []
        self._keep = keep
        self._raw = _raw.raw_make_runner(config._kind, executable._open(), config._options(executable, keep), config._extra())


class ModelFusionRunner(ModelRunner):
    """Serves a fused model; a request names the anchors of one graph, ``graphK/NAME``."""

    def __init__(self, popef: Popef, config: Optional[AnyConfig] = None, *,
                 compiler_options: Optional[CompilerOptions] = None):
        config = RuntimeConfig() if config is None else config
        if not isinstance(config, RuntimeConfig):
            raise TypeError(f"expected a RuntimeConfig, given {type(config).__name__}")
        config.runner_type = RunnerType.ModelFusionRunner
        super().__init__(popef, config, compiler_options=compiler_options)


class PackRunner(ModelRunner):
    """Packs requests of variable length. Arrays have the request's own length."""

    _check_shapes = False
    _config = PackRunnerConfig


class HostConcatRunner(ModelRunner):
    """Takes the inputs that the model's own were joined from."""

    _config = HostConcatRunnerConfig


class LightRunner(ModelRunner):
    """Can let its device go (``stop``) and take one back (``reload``), and have its weights replaced. One thread."""

    _config = LightRunnerConfig

    def get_model_inputs(self) -> list[DataDesc]:
        """All inputs; those that come with the executable have ``popef_contains_tensor_data``."""
        raw = self._open()
        described = []
        for i in range(_raw.raw_light_model_input_count(raw)):
            desc = describe(_raw.raw_light_model_input(raw, i))
            desc.popef_contains_tensor_data = _raw.raw_light_model_input_has_data(raw, i)
            described.append(desc)
        return described

    def set_input_anchor(self, name: str, array: Any) -> None:
        """A new value, copied, for an input that comes with the executable; see ``update_weights``. NotFoundError,
        InvalidArgumentError (the dtype or the shape)."""
        raw = self._open()
        known = {d.name: d for d in self.get_model_inputs()}
        if name not in known:
            raise NotFoundError(f"there is no input '{name}'; inputs are: " + ", ".join(f"'{n}'" for n in known))
        array = whole(array, "input", known[name])
        _raw.raw_light_set_input_anchor(raw, name, *_raw.raw_address(array))

    def update_weights(self) -> None:
        """The next run uses all that was set."""
        _raw.raw_light_update_weights(self._open())

    def reload(self) -> None:
        """Takes a device again after ``stop``."""
        _raw.raw_light_reload(self._open())


_RUNNERS: dict[type, type[Runner]] = {RuntimeConfig: ModelRunner, PackRunnerConfig: PackRunner,
                              LightRunnerConfig: LightRunner, HostConcatRunnerConfig: HostConcatRunner}
