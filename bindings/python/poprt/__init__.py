"""poprt: compile ONNX models ahead of time and run them on emulated IPUs.

>>> import numpy, poprt
>>> executable = poprt.compiler.Compiler.compile("digits.onnx")
>>> with poprt.runtime.Runner(executable) as runner:
...     outputs = runner.run({"image": numpy.zeros((8, 1, 8, 8), numpy.float32)})
"""

import atexit as _atexit
import os as _os
from typing import Union as _Union

from . import _load
from . import poprt_raw as _raw
from . import errors, compiler, runtime, utils, backends, backend  # noqa: F401  in the order of what needs what
from ._describe import DataDesc, DataType
from .compiler import Compiler, CompilerOptions, Executable
from .errors import Error
from .runtime import Runner, RuntimeConfig

__all__ = ["Compiler", "CompilerOptions", "DataDesc", "DataType", "Error", "Executable", "Runner", "RuntimeConfig",
           "backend", "backends", "bytes_copied", "compiler", "dump_popef", "errors", "runtime", "set_log_level", "utils", "version"]
__version__ = _raw.raw_version_string()

_load.check_version()
# Requests may be in flight when the interpreter ends: their threads must not enter it any more.
_atexit.register(_raw.raw_close_door)


def version() -> str:
    """Version of the library that was loaded."""
    return _raw.raw_version_string()


def bytes_copied() -> int:
    """Bytes that were copied between arrays and memory of runs: inputs that were not contiguous."""
    return _raw.raw_bytes_copied()


def set_log_level(level: str) -> None:
    """TRACE, DEBUG, INFO, WARNING, ERROR, CRITICAL or OFF."""
    _raw.raw_set_log_level(level)


def dump_popef(path: _Union[str, "_os.PathLike[str]"], format: str = "summary") -> str:
    """Describes a PopEF file: ``summary``, ``metadata``, ``all``, ``json`` or ``user_anchors``."""
    formats = ("summary", "metadata", "all", "json", "user_anchors")
    if format not in formats:
        raise ValueError(f"format must be one of {', '.join(formats)}, given {format!r}")
    with errors._opening(_os.fspath(path)):
        return _raw.raw_popef_dump(_os.fspath(path), formats.index(format))
