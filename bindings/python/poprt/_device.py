"""Emulated devices and device managers."""

from __future__ import annotations

import datetime
import math
import os
from typing import TYPE_CHECKING, Any, Optional, Union

from . import poprt_raw as _raw
from ._config import Config
from .compiler import Executable

_WAIT_WITH_TIMEOUT, _WAIT_FOREVER = 1, 2  # the numbers of poprt/device.h


class DeviceWaitConfig(Config):
    """The time to wait for a device, and the time between two attempts, in seconds or as a ``timedelta``."""

    timeout_sec: float = 1
    sleep_time_sec: float = 6
    _aliases = {"timeoutSec": "timeout_sec", "sleepTimeSec": "sleep_time_sec"}

    def __init__(self, timeout_sec: Union[float, datetime.timedelta] = 1, sleep_time_sec: Union[float, datetime.timedelta] = 6):
        super().__init__(timeout_sec=timeout_sec, sleep_time_sec=sleep_time_sec)

    if not TYPE_CHECKING:
        def __setattr__(self, name: str, value: Any) -> None:
            super().__setattr__(name, value.total_seconds() if isinstance(value, datetime.timedelta) else value)


class Device:
    """A device of one or several emulated IPUs, which is busy until the object is closed or no longer referenced.
    Returned by a DeviceManager."""

    def __init__(self, raw: _raw.RawDevice):
        self._raw: Optional[_raw.RawDevice] = raw

    def id(self) -> int:
        """The id of its first IPU; -1 for an IPU model."""
        return self._open().device_id()

    def ipu_version(self) -> int:
        """The version of its IPUs as a number: 21 for "ipu21"."""
        return self._open().ipu_version()

    def num_ipus(self) -> int:
        return self._open().num_ipus()

    def tiles_per_ipu(self) -> int:
        return self._open().tiles_per_ipu()

    def is_ipu_model(self) -> bool:
        """Whether it is an IPU model; False for the emulated IPUs of the process."""
        return self._open().is_ipu_model()

    def close(self) -> None:
        """Returns the device. A runner or session on it keeps it until the runner or session is closed."""
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
    """Finds devices. Managers of a process with the same ``shared`` have the same devices. ``device_count`` limits
    their number; 0 means POPRT_DEVICES, or 16384.

    ``visible`` contains the ids of the visible devices, as in "0,2-3". ``shared`` is "1" or an absolute folder to share
    devices with the processes that use the same value, or "0" for none. Empty strings mean POPRT_VISIBLE_DEVICES and
    POPRT_SHARED_DEVICES. Raises InvalidArgumentError, and PermissionDeniedError (the shared folder is of another user
    or cannot be made)."""

    def __init__(self, device_count: int = 0, *, visible: str = "", shared: Union[str, os.PathLike[str]] = ""):
        self._raw = _raw.RawDeviceManager(device_count, visible, os.fspath(shared))

    def __repr__(self) -> str:
        return f"<DeviceManager: {self.get_num_devices()} devices>"

    def get_num_devices(self) -> int:
        """The number of devices, including busy ones."""
        return self._raw.device_count()

    def get_device(self, num_ipus: int = 1) -> Device:
        """Returns a free device. Raises UnavailableError (all are busy), NotFoundError (fewer IPUs are visible) and
        InvalidArgumentError (the number)."""
        return Device(self._raw.get_device(num_ipus))

    def get_specific_device(self, device_id: int) -> Device:
        """Returns the device with that id. Raises NotFoundError and UnavailableError."""
        return Device(self._raw.get_specific_device(device_id))

    def get_device_ids(self) -> list[int]:
        """The ids in ascending order, including busy devices."""
        return [self._raw.device_id(i) for i in range(self._raw.device_count())]

    def acquire(self, num_ipus: int = 0, *, ipu_version: int = 0, min_tiles: int = 0, remote_buffers: bool = False,
                executable: Optional[Executable] = None, device_id: int = -1,
                wait: Optional[DeviceWaitConfig] = None) -> Device:
        """Returns a suitable device. A ``num_ipus`` of 0 means the number that the executable needs, or 1; for the
        other arguments, zero, None and -1 mean any. Only waits with ``wait``. A ``timeout_sec`` of ``math.inf`` means
        no limit. A ``sleep_time_sec`` of 0 means the shortest time, 1 ms.

        Raises NotFoundError if no device can ever be suitable, UnavailableError if the suitable devices are busy, and
        InvalidArgumentError for an invalid request."""
        request = _raw.RawDeviceRequest()
        request.num_ipus, request.min_tiles, request.ipu_version = num_ipus, min_tiles, ipu_version
        request.remote_buffers = int(remote_buffers)
        if wait is not None:
            for_ever = math.isinf(wait.timeout_sec)
            request.wait_strategy = _WAIT_FOREVER if for_ever else _WAIT_WITH_TIMEOUT
            request.wait_timeout_ns = 0 if for_ever else int(wait.timeout_sec * 1e9)
            request.wait_sleep_ns = int(wait.sleep_time_sec * 1e9) or 1  # 0 would mean the default
        if executable is None:
            return Device(self._raw.acquire(request, device_id))
        return Device(self._raw.acquire_for(executable._open(), request, device_id))

    def create_ipu_model_device(self, num_ipus: int = 1, ipu_version: int = 0, tiles_per_ipu: int = 0) -> Device:
        """Creates a separate device that is never busy. Results are those of any device.

        IPU versions are 1, 2 and 21; 0 means 2. If ``tiles_per_ipu`` is 0, it is the number of the version. Raises
        InvalidArgumentError."""
        return Device(self._raw.create_ipu_model_device(num_ipus, ipu_version, tiles_per_ipu))

    def create_small_ipu_model_device(self, num_ipus: int = 1, ipu_version: int = 0) -> Device:
        """Like ``create_ipu_model_device``, with 4 tiles for each IPU."""
        return Device(self._raw.create_small_ipu_model_device(num_ipus, ipu_version))

    def ipu_hardware_version(self) -> str:
        """The emulated hardware version, "ipu21"."""
        return self._raw.ipu_hardware_version()


class ReplicaIdToDevice(dict[int, "Device"]):
    """A map from replica number to device: ``m[0] = device``."""
