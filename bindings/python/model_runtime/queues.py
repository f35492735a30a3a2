"""Queues of arrays that a session reads and writes."""

from __future__ import annotations

import contextlib
import weakref
from concurrent.futures import Future
from typing import Any, Callable, Iterator, Optional

from poprt import errors as _errors
from poprt import poprt_raw as _raw
from poprt._convert import convert, type_text
from poprt._describe import DataDesc, describe

from . import _callbacks

__all__ = ["InputQueue", "OutputQueue", "QueueManager"]


class Queues:
    """The state of queues to which a session refers. It does not refer to the manager, which refers to the session."""

    raw: Any = None
    closed = False

    def __init__(self, session: Any, timeout: "Optional[Callable[[InputQueue], Any]]"):
        self._session = weakref.ref(session)
        self._timeout = timeout
        self._manager: Optional[weakref.ref[QueueManager]] = None

    def manager(self) -> "QueueManager":
        manager = self._manager() if self._manager else None
        if manager is None:
            session = self._session()
            assert session is not None  # it is used in a call of the session
            manager = QueueManager(session, self)
            self._manager = weakref.ref(manager)
        return manager

    def _called(self, which: int, name: str) -> bool:
        manager = self.manager()
        try:
            self._timeout(manager.inputQueue(name))  # type: ignore[misc]
        except BaseException:
            manager._session.stop()  # otherwise the run would wait without end
            raise
        return True


class QueueManager:
    """The queues of a session, one for each anchor that a predicate of ``Session.createQueueManager`` accepts. The
    queues are closed when the session is closed or creates another QueueManager, and all methods then raise
    ValueError."""

    def __init__(self, session: Any, queues: Queues):
        self._session = session
        self._queues = queues
        self._raw: _raw.RawQueueManager = queues.raw
        self._found: weakref.WeakValueDictionary[tuple[str, bool], Any] = weakref.WeakValueDictionary()

    def __repr__(self) -> str:
        return f"<QueueManager{', closed' if self._queues.closed else ''} of {self._session!r}>"

    @contextlib.contextmanager
    def _using(self) -> Iterator[None]:
        """Keeps the session alive during a call."""
        if self._queues.closed:
            raise ValueError("the queue manager is closed")
        with self._session._using():
            yield

    def _queue(self, name: str, is_output: bool) -> Any:
        with self._using():
            queue = self._found.get((name, is_output))
            if queue is None:
                raw = self._raw.output_queue(name) if is_output else self._raw.input_queue(name)
                queue = self._found.setdefault((name, is_output), (OutputQueue if is_output else InputQueue)(self, raw))
            return queue

    def inputQueue(self, name: str) -> "InputQueue":
        """Returns the queue of an input. Raises NotFoundError."""
        queue: InputQueue = self._queue(name, False)
        return queue

    def outputQueue(self, name: str) -> "OutputQueue":
        """Returns the queue of an output. Raises NotFoundError."""
        queue: OutputQueue = self._queue(name, True)
        return queue

    def flushAll(self) -> None:
        """Cancels every waiting element, except for memory that the device is using. The queues stay in use."""
        with self._using():
            self._raw.flush_all()

    def disconnectAll(self) -> None:
        """Cancels every waiting element permanently: nothing can be enqueued afterwards, and runs find no data."""
        with self._using():
            self._raw.disconnect_all()


class _Queue:
    """A queue of arrays for one anchor of a session. Any thread may use it."""

    _is_output = False

    def __init__(self, manager: QueueManager, raw: _raw.RawQueue):
        self._manager = manager
        self._raw = raw
        anchor = raw.anchor()
        if anchor is None:
            raise ValueError("the queue manager is closed")
        self._desc = describe(anchor)
        self._ends = [tuple(self._desc.shape[i:]) for i in range(len(self._desc.shape) + 1)]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._desc!r}>"

    def tensorInfo(self) -> DataDesc:
        """The anchor of the queue."""
        return self._desc

    def capacity(self) -> int:
        """The number of elements that fit into the queue."""
        with self._manager._using():
            return int(self._raw.capacity())

    def readAvailable(self) -> int:
        """The number of waiting elements."""
        with self._manager._using():
            return int(self._raw.read_available())

    def enqueue(self, array: Any, callback: Optional[Callable[[], Any]] = None) -> Future[None]:
        """Appends memory of any size: a part of a transfer, one, or several. Blocks while the queue is full.

        The dtype is checked, and the shape: it must have one dimension, or its dimensions after the first must be the
        last dimensions of the anchor. For an anchor [2, 4], [4] and [1, 4] are parts of a transfer, [6, 4] and [3, 2,
        4] are three transfers, and [4, 2] is refused although its size fits.

        The array must be C-contiguous (for inputs, lists become arrays). It is used in place, referenced, and must stay
        unchanged until the future is done: with None when it was consumed or filled, with a CancelledError when it was
        discarded (flushed, disconnected, closed). ``callback`` is then called on the thread that runs programs, on the
        thread that discards the element, or on a thread of the library. It must not block. Raises CancelledError
        (disconnected, or full while the session was stopped) and InvalidArgumentError (the dtype, the shape, an empty
        array).
        """
        array = self._checked(array)
        future: Future[None] = Future()
        future.set_running_or_notify_cancel()
        if callback is not None:
            call = callback
            future.add_done_callback(lambda _: call())

        def done(message: Optional[str]) -> None:
            if message is None:
                future.set_result(None)
            else:
                future.set_exception(_errors.CancelledError(message))

        with self._manager._using(), _callbacks.Running(self._manager._session):
            _raw.raw_enqueue(self._raw, self._is_output, array, done)
        return future


    def _checked(self, array: Any) -> Any:
        shape = getattr(array, "shape", None)
        try:
            view = memoryview(array)
            if self._is_output and view.readonly:
                raise BufferError("it is read-only")
            if not view.c_contiguous:
                raise BufferError("it is not C-contiguous, and the queue uses its memory directly")
        except (TypeError, ValueError, BufferError) as error:
            direction = "output" if self._is_output else "input"
            if isinstance(error, BufferError):
                raise _errors.InvalidArgumentError(f"queue '{self._desc.name}': the {type(array).__name__} cannot be used: {error}") from None
            array = convert(array, direction, self._desc.name, self._desc.data_type, error)
            shape = getattr(array, "shape", None)
        if shape is not None and len(shape) > 1 and tuple(shape[1:]) not in self._ends:
            raise _errors.InvalidArgumentError(
                f"queue '{self._desc.name}': expected {type_text(self._desc.data_type, self._desc.shape)}, parts of it or several, "
                f"given shape {type_text('', shape)}")
        return array


class InputQueue(_Queue):
    """A queue of arrays from which an input is read."""


class OutputQueue(_Queue):
    """A queue of arrays to which an output is written."""

    _is_output = True
