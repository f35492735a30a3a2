"""Emulated devices, and who finds them."""

from __future__ import annotations

import math
import os
from typing import Optional, Union

from . import poprt_raw as _raw
from ._config import Config
from .compiler import Executable

_WAIT_WITH_TIMEOUT, _WAIT_FOREVER = 1, 2  # the numbers of poprt/device.h


class DeviceWaitConfig(Config):
    """How long to try for a device, and how long to sleep between two attempts."""

    timeout_sec: float = 1
    sleep_time_sec: float = 6
    _aliases = {"timeoutSec": "timeout_sec", "sleepTimeSec": "sleep_time_sec"}

    def __init__(self, timeout_sec: float = 1, sleep_time_sec: float = 6):
        super().__init__(timeout_sec=timeout_sec, sleep_time_sec=sleep_time_sec)


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


class ReplicaIdToDevice(dict[int, "Device"]):
    """Replica number to device: ``m[0] = device``."""
