"""Files of arrays by name, for data_preprocess.

Arrays that a run reads and writes are checked and borrowed by class Memory of poprt_python.h, in the folder above.
"""

from __future__ import annotations

import os
import pickle
import zipfile
from typing import Any, Mapping, Union

import numpy as np

from .errors import InvalidArgumentError

__all__ = ["read_arrays"]

# The objects to which a pickle of arrays refers. Other objects could execute code of the file's author.
_ALLOWED = {("_codecs", "encode"), ("numpy", "dtype"), ("numpy", "ndarray")}
_ALLOWED |= {(f"numpy.{core}.{module}", name) for core in ("core", "_core")
             for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))}
_WRONG = (pickle.UnpicklingError, EOFError, ValueError, TypeError, IndexError, KeyError, AttributeError, ImportError, OverflowError,
          MemoryError, RecursionError, UnicodeDecodeError, zipfile.BadZipFile)


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it refers to '{module}.{name}', which is no array")
        return super().find_class(module, name)


def read_arrays(path: Union[str, "os.PathLike[str]"], label: str) -> Mapping[str, Any]:
    """Returns {name: array} of a pickle or an .npz file without executing code. Raises InvalidArgumentError with the
    label as prefix."""
    with open(path, "rb") as file:
        start = file.read(2)
        file.seek(0)
        try:
            if start == b"PK":
                with np.load(file, allow_pickle=False) as archive:
                    return dict(archive)
            found = _Unpickler(file).load()
        except _WRONG as error:
            why = " ".join(str(error).split()) or type(error).__name__
            raise InvalidArgumentError(f"{label}: '{os.fspath(path)}' is no pickle of arrays by name: {why}") from None
    if not isinstance(found, dict):
        raise InvalidArgumentError(f"{label}: '{os.fspath(path)}' is no pickle of arrays by name: expected a dict, "
                                   f"{{'input': array}}, found {type(found).__name__}")
    return found
