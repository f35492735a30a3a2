"""poprt: compile ONNX models ahead of time and run them on emulated IPUs.

>>> import numpy, poprt
>>> executable = poprt.compiler.Compiler.compile("digits.onnx")
>>> with poprt.runtime.Runner(executable) as runner:
...     outputs = runner.run({"image": numpy.zeros((8, 1, 8, 8), numpy.float32)})
"""

import atexit as _atexit
import os as _os
from typing import Any as _Any, Callable as _Callable, Union as _Union

from . import _interpreter  # noqa: F401  before the extension
from . import _load
from . import poprt_raw as _raw
from . import errors, compiler, runtime, utils, backends, backend, passes, quantizer, converter  # noqa: F401  in the order of their dependencies
from . import generator, optimizer, frontend, profile, _names  # noqa: F401
from ._describe import DataDesc, DataType
from ._estimate import Estimate
from ._log import LogSubscription
from ._plugins import list_plugins, load_plugin
from .backends import Backend
from .compiler import Compiler, CompilerOptions, Executable
from .converter import Converter
from .errors import Error
from .generator import Generator, Sequence
from .passes import Pass, PassManager, get_pass, get_registered_passes
from .runtime import Runner, RuntimeConfig

__all__ = ["Backend", "Compiler", "CompilerOptions", "Converter", "DataDesc", "DataType", "Error", "Estimate", "Executable",
           "Generator", "LogSubscription", "Pass", "PassManager", "Runner", "RuntimeConfig", "Sequence", "backend", "backends",
           "bytes_copied", "compiler", "converter", "dump_popef", "errors", "export_popef_feed", "export_popef_tensor", "frontend",
           "generator", "get_pass", "get_registered_passes",
           "list_plugins", "load_plugin", "optimizer", "passes", "profile", "quantizer", "runtime", "set_log_level", "subscribe_log", "utils", "version"]
__version__ = _raw.raw_version_string()

_load.check_version()
_load.refuse_copies()
# Requests may be in flight when the interpreter exits. Their threads must not enter it afterwards.
_atexit.register(_raw.raw_close_door)


def version() -> str:
    """The version of the loaded library."""
    return _raw.raw_version_string()


def bytes_copied() -> int:
    """The number of bytes of inputs that were copied for runs, because they were not contiguous or were converted between
    32-bit and 64-bit integers."""
    return _raw.raw_bytes_copied()


def set_log_level(level: str) -> None:
    """Sets the log level: TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF, in upper or lower case. Messages go to
    stderr, or to the receivers of ``subscribe_log``. Raises InvalidArgumentError for another name."""
    _raw.raw_set_log_level(level)


def subscribe_log(receive: _Callable[[int, str], _Any]) -> LogSubscription:
    """Passes the library's messages to ``receive(level, message)`` instead of stderr, until the returned object is
    closed.

    Levels are those of ``logging``, and TRACE is 5: ``subscribe_log(logging.getLogger("poprt").log)``. ``receive`` is
    called on a separate thread, in the order of the messages, and may call the library. Its exceptions go to
    ``threading.excepthook``, and it still receives later messages. If there are several receivers, each gets every
    message. A receiver that is 10 000 messages late loses some, and a warning reports it. Since 1.0."""
    return LogSubscription(receive)


def dump_popef(path: _Union[str, "_os.PathLike[str]"], format: str = "summary") -> str:
    """Describes a PopEF file: ``summary``, ``metadata``, ``all``, ``json``, ``user_anchors``, or ``verify``, which
    checks the checksums of all blobs. Raises FileNotFoundError, PermissionError and DataLossError (a damaged file, or a
    checksum that differs)."""
    formats = ("summary", "metadata", "all", "json", "user_anchors", "verify")
    if format not in formats:
        raise ValueError(f"format must be one of {', '.join(formats)}, given {format!r}")
    path = errors._path("path", path)
    with errors._opening(path):
        return _raw.raw_popef_dump(path, formats.index(format))


def export_popef_tensor(path: _Union[str, "_os.PathLike[str]"], name: str, npy: _Union[str, "_os.PathLike[str]"],
                        executable: str = "") -> None:
    """Writes the data of a tensor blob to a .npy file of NumPy. ``executable`` is the name of its model; "" means any.
    Raises NotFoundError (the blob), and the errors of :func:`dump_popef`."""
    path = errors._path("path", path)
    with errors._opening(path):
        _raw.raw_popef_export_tensor(path, name, executable, errors._path("npy", npy))


def export_popef_feed(path: _Union[str, "_os.PathLike[str]"], name: str, npy: _Union[str, "_os.PathLike[str]"],
                      executable: str = "") -> None:
    """Writes the data of a feed blob like :func:`export_popef_tensor`. The first dimension of the array is the number
    of its tensors."""
    path = errors._path("path", path)
    with errors._opening(path):
        _raw.raw_popef_export_feed(path, name, executable, errors._path("npy", npy))
