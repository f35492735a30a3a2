"""The callbacks of sessions, which run on a thread that has called a session: one that runs programs, stops or unloads
it, or changes its handlers."""

from __future__ import annotations

import atexit
import itertools
import threading
import weakref
from typing import Any, Optional, Protocol, Sequence

import numpy as np
import popef
from poprt import errors as _errors
from poprt import poprt_raw as _raw
from poprt._describe import DataDesc

from .predicate_factory import AnchorCallbackPolicy, AnchorCallbackPredicate


class Stoppable(Protocol):
    """A session."""

    def stop(self) -> None: ...


ACCEPTS, TIMEOUT, PREFETCH, FETCH, COMPLETE, INVALIDATE, INTERRUPT = range(7)
FNS = [_raw.raw_session_fn(which) for which in range(7)]

# Targets by number, as weak references, so that a session is collected even if its handlers refer to it.
_targets: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()
_numbers = itertools.count(1)
_thread = threading.local()  # .raised: the exception of a callback of this thread, which the call raises


def target(of: Any) -> int:
    number = next(_numbers)
    _targets[number] = of
    return number


def _dispatch(which: int, number: int, *arguments: Any) -> bool:
    target = _targets.get(number)
    if target is None:
        return False
    try:
        return bool(target._called(which, *arguments))
    except BaseException as error:  # noqa: B902  it must not reach the library
        if getattr(_thread, "raised", None) is None:
            _thread.raised = error
        return False


_raw.raw_set_session_dispatch(_dispatch)


def raise_pending() -> None:
    raised = getattr(_thread, "raised", None)
    _thread.raised = None
    if raised is not None:
        raise raised


class Stream:
    """A handler of one anchor: a function of an array, or an object with fetch(array) and, optionally, prefetch(array),
    complete(), invalidatePrefetched() and interrupt()."""

    def __init__(self, handler: Any, desc: DataDesc, is_output: bool):
        self._fetch = handler.fetch if hasattr(handler, "fetch") else handler
        if not callable(self._fetch):
            raise TypeError("a handler is a function, or has fetch()")
        self._prefetch = getattr(handler, "prefetch", None)
        self._events = {which: getattr(handler, name, None) for which, name in
                        ((COMPLETE, "complete"), (INVALIDATE, "invalidatePrefetched"), (INTERRUPT, "interrupt"))}
        self._desc = desc
        self._is_output = is_output

    def _called(self, which: int, view: Any = None) -> bool:
        if which in self._events:
            call = self._events[which]
            if call is not None:
                call()
            return True
        call = self._prefetch if which == PREFETCH else self._fetch
        if call is None:
            return False
        array = np.frombuffer(view, self._desc.numpy_data_type()).reshape(self._array_shape(view))
        if self._is_output:
            array.flags.writeable = False
        answer = call(array)
        return bool(answer) if which == PREFETCH else answer is not False

    def _array_shape(self, view: Any) -> Sequence[int]:
        size = int(np.prod(self._desc.shape, dtype=np.int64)) * self._desc.numpy_data_type().itemsize
        return self._desc.shape if size == len(view) else [-1]  # elements smaller than a byte


class PredicateCall:
    """A predicate for each direction, used while a session or queue manager is created."""

    def __init__(self, accepts_input: AnchorCallbackPredicate, accepts_output: AnchorCallbackPredicate):
        self._predicates = (accepts_input, accepts_output)

    def _called(self, which: int, name: str, is_output: int, programs: list[int]) -> bool:
        kind = popef.TensorType.OUTPUT if is_output else popef.TensorType.INPUT
        anchor = popef.Anchor(name, type=kind, programs=programs)
        return self._predicates[is_output](anchor) == AnchorCallbackPolicy.BIND_USER_CB


# Running sessions. Their threads must leave Python before the interpreter exits.
_running: "dict[int, Optional[Stoppable]]" = {}
_running_lock = threading.Condition()
_leaving = False
_PATIENCE = 10.0


def _leave() -> None:
    global _leaving
    with _running_lock:
        _leaving = True
        sessions = list(_running.values())
    for session in sessions:
        try:
            if session is not None:
                session.stop()
        except Exception:  # the session ends in any case
            pass
    with _running_lock:
        _running_lock.wait_for(lambda: not _running, _PATIENCE)


atexit.register(_leave)


class Running:
    def __init__(self, session: "Optional[Stoppable]"):
        self._session = session
        self._number = next(_numbers)

    def __enter__(self) -> None:
        with _running_lock:
            if _leaving:
                raise _errors.CancelledError("the process ends")
            _running[self._number] = self._session

    def __exit__(self, *_: object) -> None:
        with _running_lock:
            del _running[self._number]
            _running_lock.notify_all()


def destroy(raw: Any) -> None:
    """Frees a raw session, but not when the process exits, because a thread that releases the GIL then ends
    immediately. Raises the exception of a handler that the session calls before it is freed."""
    outer = getattr(_thread, "raised", None)  # the exception of the call that frees the session
    _thread.raised = None
    try:
        with Running(None):
            type(raw).__swig_destroy__(raw)
    except _errors.CancelledError:
        raw.thisown = False
    raised, _thread.raised = getattr(_thread, "raised", None), outer
    if raised is not None:
        raise raised
