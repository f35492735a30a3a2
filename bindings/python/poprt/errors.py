"""Exceptions: one class for each error code of the library. errors.pyi lists them for type checkers.

Most also derive from the corresponding built-in exception, and all are RuntimeErrors, so ``except ValueError``,
``except FileNotFoundError`` and ``except RuntimeError`` work as expected.
"""

from __future__ import annotations

import contextlib
import os
from concurrent import futures
from typing import Iterator, Optional

from . import poprt_raw as _raw


class Error(RuntimeError):
    """An error of the library. ``code`` is its number, ``code_name`` its name."""

    code: int = 2
    _popef_class: int = 0  # the library's number

    @property
    def code_name(self) -> str:
        return _raw.raw_error_code_name(self.code)

    @property
    def popef_error(self) -> str:
        """The kind of a PopEF error: "file", "format", "version", "link", "inactive_writer" or "size"; "" for other
        errors. The code does not distinguish a missing link from a newer file. Since 1.0."""
        return _POPEF_ERRORS[self._popef_class] if self._popef_class < len(_POPEF_ERRORS) else ""


_POPEF_ERRORS = ("", "file", "format", "version", "link", "inactive_writer", "size")


# Code, name without "Error", built-in class, and the meaning if the name does not contain it.
_CLASSES: tuple[tuple[int, str, Optional[type], str], ...] = (
    (1, "Cancelled", futures.CancelledError, "The runner was stopped, or the request cancelled."),
    (2, "Unknown", None, "An unknown error of a device."),
    (3, "InvalidArgument", ValueError, "A wrong size, dtype, option or model."),
    (4, "DeadlineExceeded", TimeoutError, ""),
    (5, "NotFound", LookupError, "No input, output, pass, device or blob of that name."),
    (6, "AlreadyExists", FileExistsError, ""),
    (7, "PermissionDenied", PermissionError, ""),
    (8, "ResourceExhausted", MemoryError, "Out of memory, threads or disk space."),
    (9, "FailedPrecondition", None, "Not in this state: another version's executable, a device in use, a compiler that "
                                    "is not installed, a PopEF writer that is closed or has failed."),
    (10, "Aborted", None, "The program on the device has failed."),
    (11, "OutOfRange", IndexError, ""),
    (12, "Unimplemented", NotImplementedError, "An operator, type or option that there is not."),
    (13, "Internal", SystemError, "A bug of the library, or an error of a device that cannot be repaired."),
    (14, "Unavailable", BlockingIOError, "All devices are busy, or a device must be reset."),
    (15, "DataLoss", EOFError, "A damaged or truncated file."),
)


def _error_class(name: str, code: int, bases: tuple[type, ...], meaning: str) -> type[Error]:
    return type(name, bases, {"__module__": __name__, "__doc__": meaning, "code": code})


_by_code = {code: _error_class(name + "Error", code, (Error, base) if base else (Error,), meaning)
            for code, name, base, meaning in _CLASSES}
NotFoundError = _by_code[5]
FileMissingError = _error_class("FileMissingError", 5, (NotFoundError, FileNotFoundError), "No file of that name.")
globals().update({c.__name__: c for c in _by_code.values()})
__all__ = ["Error", "FileMissingError", *sorted(c.__name__ for c in _by_code.values())]

_raw.raw_set_exceptions(_by_code)


def _path(argument: str, value: object) -> str:
    """Returns a path as text. The error for other objects contains the name of the argument."""
    if isinstance(value, (str, os.PathLike)):
        path = os.fspath(value)
        if "\0" in path if isinstance(path, str) else b"\0" in path:
            raise _by_code[3](f"argument '{argument}' contains the character \\0")
        return path
    raise TypeError(f"{argument}: expected a path, found {value!r}")


@contextlib.contextmanager
def _opening(*paths: str) -> Iterator[None]:
    """Turns "not found" into FileMissingError if one of the files is missing."""
    try:
        yield
    except FileMissingError:
        raise
    except NotFoundError as error:
        missing = [p for p in paths if not os.path.exists(p)]
        if not missing:
            raise
        # Only one argument is passed: with an error number, the text would be OSError's "[Errno 2] ..." instead of the
        # library's line, which contains more facts.
        renamed = FileMissingError(str(error))
        renamed._popef_class = error._popef_class
        raise renamed from None
