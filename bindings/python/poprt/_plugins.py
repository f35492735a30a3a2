"""Plug-ins: shared libraries with operators, passes, patterns and transforms."""

from __future__ import annotations

import json
import os
from typing import Any, Union

from . import _builtin, _custom_ops
from . import poprt_raw as _raw
from .errors import _opening
from .passes import base_pass

__all__ = ["list_plugins", "load_plugin"]


def load_plugin(path: Union[str, os.PathLike[str]]) -> None:
    """Loads a plug-in, a shared library, for all compilers and runners of the process, until the process ends. Loading
    it again has no effect. Its code is executed.

    ``CompilerOptions(options={"custom_library_so_paths": path})`` and environment variable POPRT_PLUGINS also load
    plug-ins. The passes of the plug-in are available by name, like those of poprt. docs/plugins.md describes how to
    write a plug-in. Since 1.0."""
    with _opening(os.fspath(path)):
        _raw.RawCompiler.load_plugin(os.fspath(path))
    # The lists of passes and operators are read again.
    _builtin.infos.cache_clear()
    base_pass.forget_builtins()
    _custom_ops.forget_operators()


def list_plugins() -> list[dict[str, Any]]:
    """Returns the loaded libraries: name, version, path, operators, passes, patterns and transforms of each. Since 1.0."""
    found: list[dict[str, Any]] = json.loads(_raw.RawCompiler.list_plugins())
    return found
