"""Configurations of all kinds of runners."""

from __future__ import annotations

import datetime
import enum
import operator
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence, Union

from . import poprt_raw as _raw
from ._config import Config
from ._convert import whole
from ._device import Device, DeviceWaitConfig, ReplicaIdToDevice
from .compiler import Executable
from .errors import InvalidArgumentError, NotFoundError

UINT32_MAX = 2**32 - 1
INT64_MAX = 2**63 - 1
DO_NOT_WAIT = -(2**63)  # POPRT_DO_NOT_WAIT


class RunnerType(enum.IntEnum):
    ModelRunner = 0
    PackRunner = 1
    ModelFusionRunner = 2


class PackAlgorithm(enum.IntEnum):
    """How the row of a request is chosen if requests must not continue in the next row."""
    next_fit = 0
    first_fit = 1


def nanoseconds(value: Any) -> Any:
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(microseconds=1) * 1000
    return value


_DEFAULT_TIMEOUT = 10_000_000


def _batch_timeout(timeout: int) -> int:
    """Returns the time for the raw layer. There, 0 does not wait for full batches, which PopRT's default means here,
    and -1 waits without limit, which 0 means here."""
    return 0 if timeout == _DEFAULT_TIMEOUT else timeout or -1


class _TimedConfig(Config):
    """A configuration whose times may be given as a ``timedelta``."""

    if not TYPE_CHECKING:  # so that type checkers know the options
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, nanoseconds(value))


def replica_number(replica: Optional[int]) -> int:
    """Returns the number for the raw layer; -1 means any replica."""
    if replica is None:
        return -1
    if not 0 <= replica < 2**32:
        raise NotFoundError(f"there is no replica {replica}")
    return replica


class RequestOptions(_TimedConfig):
    """Options of a request. Since 1.0."""

    # <options:request> made from capi/option_fields.toml by tests/lint/option_fields.py --write
    #: How long the request may wait, counted from the call. A request that has not begun by then fails with
    #: deadline_exceeded. 0: without limit. Nanoseconds, or a ``timedelta``. Since 1.0.
    timeout_ns: Union[int, datetime.timedelta] = 0
    #: The replica that runs the request, counted from 0. The request reads the state (caches) that earlier requests
    #: left on this replica. A replica that the runner does not have fails with not_found. None: any. Since 1.0.
    replica: Optional[int] = None
    #: Whether whole batches run at once, even if the step of batches_per_step batches is not full. Batches of a call
    #: that waits for its result always do. Since 1.0.
    at_once: bool = False
    # </options:request>

    def _raw_options(self) -> _raw.RawRequestOptions:
        raw = _raw.RawRequestOptions()
        # <options:request_copies>
        raw.timeout_ns = nanoseconds(self.timeout_ns)
        raw.set_replica(replica_number(self.replica))
        raw.at_once = int(self.at_once)
        # </options:request_copies>
        return raw


class RunnerConfig(_TimedConfig):
    """The base of the configurations of all runners."""

    _kind = "model"

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
        """Returns the arrays of fields by name, each checked against the executable's anchor."""
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
        """Returns the fields of poprt_runner_options. ``keep`` receives the objects to which they point."""
        wait = self._get("device_wait_config", DeviceWaitConfig(0, 1))
        never: Callable[[int], int] = lambda ns: 0 if ns >= INT64_MAX else max(ns, 1)  # 0 means never in C
        options = {
            "threads": self._get("threads", 0),
            "profile": int(self._get("profile", False)),
            "queue_depth": self._count("queue_depth", 0),
            "telemetry": int(self._get("telemetry", False)),
            "timeout_ns": _batch_timeout(self._count("timeout_ns", _DEFAULT_TIMEOUT)),
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
            "max_shapes": self._get("max_shapes", 0),
            "max_shape_memory": self._get("max_shape_memory", 0),
            "batches_per_step": self._get("batches_per_step", 0),
            "faults": self._get("faults", None),
            "numerics": self._get("numerics", None),
            "shared_devices": self._get("shared_devices", None),
            "load": self._get("load", None),
            "execution_precision": self._get("execution_precision", None),
            "verify": int(self._get("verify", False)),
            "device_wait_timeout_ns": int(min(wait.timeout_sec * 1e9, INT64_MAX // 2)) or DO_NOT_WAIT,
            "device_wait_sleep_ns": max(1, int(wait.sleep_time_sec * 1e9)),
        }
        if self._get("batching_dim", UINT32_MAX) != UINT32_MAX:
            options.update({"use_batching_dim": 1, "batching_dim": self._get("batching_dim", 0)})
        devices = dict(self._get("replica_id_to_device", {}))
        if self._get("device", None) is not None:
            devices[0] = self._get("device", None)
        with self._naming("replica_id_to_device"):
            opens = [(operator.index(replica), device._open) for replica, device in devices.items()]
        raws = [(replica, opened()) for replica, opened in opens]  # the error of a closed device does not name the option
        keep += raws
        options["replica_devices"] = [(replica, int(raw.this)) for replica, raw in raws]
        for field, arrays in self._memory(executable).items():
            keep += arrays.values()
            options[field] = [(name, *_raw.raw_address(array)) for name, array in arrays.items()]
        return options

    def _extra(self) -> dict[str, Any]:
        return {}

    def _make(self, executable: Executable, keep: list[Any]) -> Any:
        """Returns the raw runner. ``keep`` receives the objects that must live as long as the raw runner."""
        return _raw.raw_make_runner(self._kind, executable._open(), self._options(executable, keep), self._extra())


class RuntimeConfig(RunnerConfig):
    """Options of a model runner with PopRT's names and defaults, and additions.

    Times are in nanoseconds; a ``timedelta`` is also accepted.
    """

    # <options:runner> made from capi/option_fields.toml by tests/lint/option_fields.py --write
    #: Compute threads. Results are bit-equal for any number. 0: POPRT_THREADS from the environment, or all CPUs. Since
    #: 0.1.
    threads: int = 0
    #: Whether to measure the time of every instruction, which ``profile()`` returns. Runs are slower. Since 0.1.
    profile: bool = False
    #: The device to run on. None: any free device. Since 0.1.
    device: Optional["Device"] = None
    #: How many requests per replica may be in the queue; see ``execute_async()``. 0: the size of the ring. Since 0.1.
    queue_depth: int = 0
    #: The kind of runner. A runner of fused models finds the model by the names of a request. Since 0.1.
    runner_type: RunnerType = RunnerType.ModelRunner
    #: How long to try again while no device is free, and how long to sleep between two attempts. Default: 1 and 6
    #: seconds. Since 0.1.
    device_wait_config: DeviceWaitConfig = DeviceWaitConfig()
    #: Whether several threads may use the runner at once. Off saves a lock. Since 0.1.
    thread_safe: bool = True
    #: How long a batch that has some rows waits for more before it is padded with zeros. 0: without limit; 10 ms, the
    #: default: it does not wait, but runs as soon as the device is idle, and rows are gathered while the device is
    #: busy. Nanoseconds, or a ``timedelta``. Since 0.1.
    timeout_ns: Union[int, datetime.timedelta] = 10_000_000
    #: Whether each run checks names and sizes. Without the checks, unknown names are ignored, missing inputs are zeros,
    #: missing outputs are dropped, the size of the first binding determines the number of rows, and others may be
    #: larger. Fused and conditional models need this. Since 0.1.
    validate_io_params: bool = True
    #: The dimension along which requests may have any size. UINT32_MAX: none; requests are whole compiled batches.
    #: Since 0.1.
    batching_dim: int = UINT32_MAX
    #: Whether files that another version compiled are refused. Since 0.1.
    check_package_hash: bool = True
    #: The ring has places for this number times the rows of a step; without a batching dimension a row is a batch. With
    #: 2, the ring has at least 64 places. Since 0.1.
    ring_buffer_size_multiplier: int = 2
    #: Whether the device is reset after an error that a reset repairs. Since 0.1.
    auto_reset: bool = False
    #: Whether a batch is padded only while a caller waits for one of its requests or has given a callback for it.
    #: Without a limit by the timeout, a batch is then padded at once. This also records tracepoints. Since 0.1.
    flush_on_waiting_outputs: bool = False
    #: How long a batch waits, from its first row until it is padded. With it, the default of timeout has no effect.
    #: Nanoseconds, or a ``timedelta``. Since 0.1.
    batch_size_timeout_ns: Union[int, datetime.timedelta] = INT64_MAX
    #: How long a step waits, from its first complete batch until it runs without the missing batches. Nanoseconds, or a
    #: ``timedelta``. Since 0.1.
    data_parallel_timeout_ns: Union[int, datetime.timedelta] = INT64_MAX
    #: Whether the timeouts of batches and of steps are used. Since 0.1.
    is_batch_size_timeout_enabled: bool = False
    #: How many of the last requests ``tracepoints()`` reports. 0: all. Since 0.1.
    request_tracepoints_buffer_size: int = 1000
    #: Devices of the replicas, which are counted from 0. None given: any free devices. Since 0.1.
    replica_id_to_device: dict[int, "Device"] = ReplicaIdToDevice()
    #: Rows that pad batches instead of zeros, and memory for their results, by name, for all inputs of requests and all
    #: outputs. The memory must stay valid while the runner exists. Since 0.1.
    flush_by_name: Optional[tuple[Mapping[str, Any], Mapping[str, Any]]] = None
    #: Number of copies of the model, each on a different device. None: 1. Since 0.1.
    replication_factor: Optional[int] = None
    #: Constant values of inputs, which requests then leave out. The values are copied. Since 0.1.
    frozen_inputs: Optional[dict[str, Any]] = None
    #: Whether separate threads copy the inputs of the next step and the outputs of the last step while a step computes.
    #: An executable that was compiled with num_io_tiles turns this on. Since 0.1.
    overlap_io: bool = False
    #: Number of batches in a step. Submitted requests wait, within the timeouts, until a step is full; whole batches of
    #: a call that waits for its result do not. 0: the executable's number. Since 0.1.
    batches_per_step: int = 0
    #: Device errors to inject, for tests: "CLASS[:ACTION][@RUN][*COUNT][/REPLICA];...", see capi/ABI.md. "":
    #: POPRT_INJECT_FAULTS from the environment. Since 1.0.
    faults: Optional[str] = None
    #: Whether to publish the runner's activity, as POPRT_TELEMETRY=1 does; see ``model_runtime.read_telemetry``. Since
    #: 1.0.
    telemetry: bool = False
    #: The precision of products with constant weights: "f32"; "bf16", which rounds both factors; "f16", which rounds
    #: the weights of MatMul and Gemm, and both factors on CPUs with AVX512-FP16; or "auto", which is bf16 for weights
    #: that bf16 represents, and f16 for those that are stored as f16. Weights are packed once and kept in the cache
    #: folder: POPXL_CACHE_DIR or POPART_CACHE_DIR, else poprt in XDG_CACHE_HOME or ~/.cache. "": that of the
    #: executable. Since 1.0.
    execution_precision: Optional[str] = None
    #: The arithmetic: "fast"; "faithful", which rounds as the chip does and gives NaN when a half overflows; or
    #: "saturating", which differs from faithful in that an overflow gives the greatest half. With a seed, as in
    #: "faithful:7", halves are rounded stochastically, and equal runs have equal results. The last two are slow and
    #: need an executable that was compiled with the option numerics=faithful. "": "fast". Since 1.0.
    numerics: Optional[str] = None
    #: Which processes share the devices of the replicas: "0": none; "1": all processes of the user; an absolute path:
    #: all processes that give the same folder. Two replicas never have the same device, even in different processes.
    #: "": POPRT_SHARED_DEVICES from the environment, or none. Since 1.0.
    shared_devices: Optional[str] = None
    #: How the runner uses a PopEF file: "map" uses weights in the memory map of the file; "copy" copies them into
    #: memory, so that later changes of the file have no effect. If a mapped file is truncated, the process receives
    #: SIGBUS. "": "map". Since 1.0.
    load: Optional[str] = None
    #: Whether to check the checksums of the PopEF file, which reads all of it. If one differs, the runner is refused
    #: with data_loss, and the message names the file and the blob. A file without checksums causes a warning. Since
    #: 1.0.
    verify: bool = False
    #: How many shapes of a model whose shapes are compiled on demand are kept, without the one that was compiled ahead.
    #: Beyond it, the least recently used shape is removed. 0: 16. Since 1.0.
    max_shapes: int = 0
    #: The largest number of bytes of memory that the shapes which are compiled on demand may need for one run each,
    #: with the inputs and outputs of a request, without the shape that was compiled ahead. A request whose shape needs
    #: more is refused with invalid_argument, and the message contains the needed and the allowed bytes. To make room
    #: for a shape, the least recently used ones are removed. 0: no limit; negative: half of the memory of the computer
    #: or, if that is smaller, of the limit of the process's control group. Since 1.0.
    max_shape_memory: int = 0
    # </options:runner>
    _aliases = {"replica_to_device": "replica_id_to_device", "replicaIdToDevice": "replica_id_to_device"}

    @property
    def _kind(self) -> str:  # type: ignore[override]
        if self.runner_type == RunnerType.PackRunner:
            raise InvalidArgumentError("RuntimeConfig: runner_type is PackRunner: give a PackRunnerConfig")
        return "fusion" if self.runner_type == RunnerType.ModelFusionRunner else "model"


class PackRunnerConfig(RunnerConfig):
    """Options of a runner that packs requests of variable length into the compiled batch."""

    _kind = "pack"
    # The time from the first item of a pack until the submission of the pack. It must be set.
    timeout_microseconds: Union[int, datetime.timedelta] = 0
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

    def __init__(self, timeout_microseconds: Union[int, datetime.timedelta] = 0, max_valid_num: int = 0,
                 dynamic_input_name: str = "", unpack_info_input_name: str = "", **options: Any):
        super().__init__(timeout_microseconds=timeout_microseconds, max_valid_num=max_valid_num,
                         dynamic_input_name=dynamic_input_name, unpack_info_input_name=unpack_info_input_name,
                         **options)

    if not TYPE_CHECKING:
        def __setattr__(self, name: str, value: Any) -> None:
            if name in ("timeout_microseconds", "timeout_in_micro_seconds") and isinstance(value, datetime.timedelta):
                value = value // datetime.timedelta(microseconds=1)
            super().__setattr__(name, value)

    def enable_input_single_row_mode(self, mask: str, unpack_info: str = "", delimiter: int = 0) -> None:
        """Prevents requests from continuing in the next row."""
        self.disable_data_across_rows = True
        self.mask_name, self.unpack_info_input_name, self.delimiter_num = mask, unpack_info, delimiter

    def enable_padding_remove_mode(self, mask: str, group: Sequence[str] = ()) -> None:
        """Removes the padding of requests, which the mask marks."""
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


class LightRunnerConfig(RunnerConfig):
    """Options of a runner with little overhead, whose weights can be replaced."""

    _kind = "light"
    check_package_hash: bool = True
    replica_id_to_device: dict[int, "Device"] = ReplicaIdToDevice()
    threads: int = 0
    _aliases = RuntimeConfig._aliases


class HostConcatConfig(Config):
    """``tensor_name`` is an input of the model that consists of the bytes of several inputs in order."""

    tensor_name: str = ""
    input_tensor_names: list[str] = []
    shape: list[int] = []  # of the joined tensor; empty: not checked
    data_size_bytes: int = 0  # of the joined tensor; 0: not checked
    # Additions.
    sizes: list[int] = []  # bytes of each input; empty: equal parts


class HostConcatRunnerConfig(RunnerConfig):
    """Options of a runner that joins inputs. Without ``host_concat_config``, the configuration is that of the PopEF
    file."""

    _kind = "host_concat"
    check_package_hash: bool = True
    ring_buffer_size_multiplier: int = 2
    timeout_ns: Union[int, datetime.timedelta] = 10_000_000
    host_concat_config: dict[str, HostConcatConfig] = {}
    threads: int = 0

    def _extra(self) -> dict[str, Any]:
        fields = tuple(HostConcatConfig._defaults)
        return {"host_concat": [{f: getattr(c, f) for f in fields} for c in self.host_concat_config.values()]}


AnyConfig = Union[RuntimeConfig, PackRunnerConfig, LightRunnerConfig, HostConcatRunnerConfig]
