"""Exceptions: one class for each error code of the library.

Each also derives from the built-in exception that Python code expects in its place, and all are RuntimeErrors, so
that ``except ValueError``, ``except FileNotFoundError`` and ``except RuntimeError`` do what they look like.
"""

from __future__ import annotations

import contextlib
import os
from concurrent import futures
from typing import Iterator

from . import poprt_raw as _raw

__all__ = ["AbortedError", "AlreadyExistsError", "CancelledError", "DataLossError", "DeadlineExceededError", "Error",
           "FailedPreconditionError", "FileMissingError", "InternalError", "InvalidArgumentError", "NotFoundError",
           "OutOfRangeError", "PermissionDeniedError", "ResourceExhaustedError", "UnavailableError",
           "UnimplementedError", "UnknownError"]


class Error(RuntimeError):
    """What the library fails with. ``code`` is its number, ``code_name`` its name."""

    code: int = 2

    @property
    def code_name(self) -> str:
        return _raw.raw_error_code_name(self.code)


class CancelledError(Error, futures.CancelledError):
    """The runner was stopped, or the request cancelled."""
    code = 1


class UnknownError(Error):
    code = 2


class InvalidArgumentError(Error, ValueError):
    """A wrong size, dtype, option or model."""
    code = 3


class DeadlineExceededError(Error, TimeoutError):
    code = 4


class NotFoundError(Error, LookupError):
    """No input, output, pass, device or blob of that name."""
    code = 5


class FileMissingError(NotFoundError, FileNotFoundError):
    """No file of that name."""


class AlreadyExistsError(Error, FileExistsError):
    code = 6


class PermissionDeniedError(Error, PermissionError):
    code = 7


class ResourceExhaustedError(Error, MemoryError):
    """Out of memory, threads or disk space."""
    code = 8


class FailedPreconditionError(Error):
    """Not in this state: another version's executable, a device in use, a compiler that is not installed."""
    code = 9


class AbortedError(Error):
    code = 10


class OutOfRangeError(Error, IndexError):
    code = 11


class UnimplementedError(Error, NotImplementedError):
    """An operator, type or option that there is not."""
    code = 12


class InternalError(Error, SystemError):
    """A bug of the library."""
    code = 13


class UnavailableError(Error, BlockingIOError):
    """All devices are busy."""
    code = 14


class DataLossError(Error, EOFError):
    """A damaged or truncated file."""
    code = 15


_raw.raw_set_exceptions({c.code: c for c in (
    CancelledError, UnknownError, InvalidArgumentError, DeadlineExceededError, NotFoundError, AlreadyExistsError,
    PermissionDeniedError, ResourceExhaustedError, FailedPreconditionError, AbortedError, OutOfRangeError,
    UnimplementedError, InternalError, UnavailableError, DataLossError)})


@contextlib.contextmanager
def _opening(*paths: str) -> Iterator[None]:
    """Turns "not found" into FileMissingError when one of the files is missing."""
    try:
        yield
    except FileMissingError:
        raise
    except NotFoundError as error:
        missing = [p for p in paths if not os.path.exists(p)]
        if not missing:
            raise
        # Two arguments would make OSError's "[Errno 2] ..." of it: the library's line says more.
        raise FileMissingError(str(error)) from None
