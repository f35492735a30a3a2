"""Futures of asynchronous runs, and the notification of event loops."""

from __future__ import annotations

import datetime
import weakref
from concurrent.futures import CancelledError as _StandardCancelledError, Future
from typing import Any, Generator, Mapping, Optional, Union

from . import poprt_raw as _raw
from .errors import CancelledError


class OutputFuture(Future[Mapping[str, Any]]):
    """The result of an asynchronous run: a ``concurrent.futures.Future`` of the dict of outputs, which can also be
    awaited.

    Callbacks are called on the thread that completes the request: a thread of the runner, or the thread that cancels
    the request, stops the runner, or ends the request after its time limit. They must not block or wait for other
    requests. The arrays of the request are in use until it is done, even if a task that awaits it is cancelled before.
    """

    def __init__(self, outputs: Mapping[str, Any]):
        super().__init__()
        self._outputs = outputs
        self._run: Any = None
        self._asked_to_cancel = False

    def __await__(self) -> Generator[Any, None, Mapping[str, Any]]:
        import asyncio  # its import takes longer than that of the rest of this module, and most programs need no event loop

        return asyncio.wrap_future(self).__await__()

    def result(self, timeout: Union[float, datetime.timedelta, None] = None) -> Mapping[str, Any]:
        try:
            return super().result(timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout)
        except CancelledError:
            raise
        except _StandardCancelledError:
            raise CancelledError("the request was not run: it was cancelled") from None

    def wait(self, timeout: Union[float, datetime.timedelta, None] = None) -> Mapping[str, Any]:
        """Waits at most ``timeout``, in seconds or as a ``timedelta``, and returns the outputs. Raises the error of the run."""
        return self.result(timeout)

    def __getitem__(self, name: str) -> Any:
        return self.result()[name]

    def cancel(self) -> bool:
        """Cancels a request that has not begun and returns True; its arrays are then free. Returns False if the request
        has begun or is done, except that it returns True again after a successful cancellation."""
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


loops: "weakref.WeakKeyDictionary[Any, weakref.ref[_raw.RawLoop]]" = weakref.WeakKeyDictionary()


def raw_loop(loop: Any) -> _raw.RawLoop:
    """Returns the object that notifies an event loop of completed runs. The loop is woken once for all of them, and no
    runner thread waits for the interpreter. Only the loop refers to the object, as a file that it watches, so it is
    freed when the loop is closed."""
    known = loops.get(loop)
    raw = known() if known else None
    if raw is None:
        raw = _raw.RawLoop()
        loop.add_reader(raw.wake(), raw.take)
        loops[loop] = weakref.ref(raw)
    return raw


class Submitted:
    """A run that a task awaits. It is called on the loop's thread when the memory of the run is free, with the error of
    the run or None."""

    __slots__ = ("future", "free", "over")

    def __init__(self, future: Any):
        self.future = future
        self.free: Any = None  # a cancelled task waits for it
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

    def deliver(self, done: "Future[Mapping[str, Any]]") -> None:
        """Calls the object on the loop's thread with the error of a run that is done, for loops that cannot watch files."""
        try:
            self.future.get_loop().call_soon_threadsafe(self, None if done.cancelled() else done.exception())
        except RuntimeError:
            pass  # the loop is closed
