"""Runs that are not over yet: futures, and how event loops hear of their ends."""

from __future__ import annotations

import weakref
from concurrent.futures import CancelledError as _StandardCancelledError, Future
from typing import Any, Generator, Mapping, Optional

from . import poprt_raw as _raw
from .errors import CancelledError


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


loops: "weakref.WeakKeyDictionary[Any, weakref.ref[_raw.RawLoop]]" = weakref.WeakKeyDictionary()


def raw_loop(loop: Any) -> _raw.RawLoop:
    """What tells an event loop of runs that are over: it is woken once for all of them, without a thread that waits for
    the interpreter. The loop alone holds it, as a file that it watches, so that it goes when the loop is closed."""
    known = loops.get(loop)
    raw = known() if known else None
    if raw is None:
        raw = _raw.RawLoop()
        loop.add_reader(raw.wake(), raw.take)
        loops[loop] = weakref.ref(raw)
    return raw


class Submitted:
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
