"""Messages of the library, for a receiver in Python."""

from __future__ import annotations

import atexit
import threading
import weakref
from typing import Any, Callable

from . import poprt_raw as _raw

_LEVELS = (5, 10, 20, 30, 40, 50)  # the library's levels from TRACE on, as numbers of logging
_PATIENCE = 10.0
_subscriptions: "weakref.WeakSet[LogSubscription]" = weakref.WeakSet()


class LogSubscription:
    """Passes the library's messages to a receiver until it is closed; see ``poprt.subscribe_log``."""

    def __init__(self, receive: Callable[[int, str], Any]):
        self._receive = receive
        self._raw = _raw.RawLog()
        self._thread = threading.Thread(target=self._take, name="poprt log", daemon=True)
        self._thread.start()
        _subscriptions.add(self)

    def _take(self) -> None:
        while self._raw.take():
            try:
                self._receive(_LEVELS[min(self._raw.level(), len(_LEVELS) - 1)], self._raw.text())
            except BaseException as error:  # noqa: B902  reported as for threads, and later messages are still received
                threading.excepthook(threading.ExceptHookArgs((type(error), error, error.__traceback__, self._thread)))

    def __repr__(self) -> str:
        return f"<LogSubscription of {self._receive!r}>"

    def close(self) -> None:
        """Ends the subscription after earlier messages are delivered, and waits for that unless called in the receiver."""
        self._raw.close()
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def __enter__(self) -> "LogSubscription":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _leave() -> None:
    """Ends all subscriptions, because no thread may wait in the library when the interpreter exits."""
    for subscription in list(_subscriptions):
        subscription._raw.close()
        subscription._thread.join(_PATIENCE)


atexit.register(_leave)
