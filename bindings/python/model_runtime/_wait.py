"""The behaviour of runners and sessions if no device is free."""

from __future__ import annotations

import datetime
import enum
from typing import Optional, Union

from poprt import runtime as _runtime


class DeviceWaitStrategy(enum.Enum):
    NO_WAIT = 0
    WAIT_WITH_TIMEOUT = 1
    WAIT_FOREVER = 2


class DeviceWaitConfig:
    """The behaviour if no device is free. ``DeviceWaitConfig(timeout[, sleep])`` means WAIT_WITH_TIMEOUT."""

    def __init__(self, strategy: Union[DeviceWaitStrategy, datetime.timedelta, None] = None,
                 timeout: Optional[datetime.timedelta] = None, sleepTime: Optional[datetime.timedelta] = None):
        if isinstance(strategy, datetime.timedelta):  # (timeout, sleepTime)
            timeout, sleepTime = strategy, timeout
            strategy = DeviceWaitStrategy.WAIT_WITH_TIMEOUT
        self.strategy = strategy or DeviceWaitStrategy.NO_WAIT
        self.timeout = timeout or datetime.timedelta(0)
        self.sleepTime = sleepTime or datetime.timedelta(seconds=15)

    def __repr__(self) -> str:
        return f"DeviceWaitConfig({self.strategy}, {self.timeout!r}, {self.sleepTime!r})"

    def _poprt(self) -> _runtime.DeviceWaitConfig:
        seconds = {DeviceWaitStrategy.NO_WAIT: 0.0, DeviceWaitStrategy.WAIT_FOREVER: 1e9}
        return _runtime.DeviceWaitConfig(seconds.get(self.strategy, self.timeout.total_seconds()),
                                         self.sleepTime.total_seconds())
