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
    """Loads a library for all compilers and runners of the process, for ever; the second time nothing happens. Its code runs.

    ``CompilerOptions(options={"custom_library_so_paths": path})`` loads it, too, and so does environment variable
    POPRT_PLUGINS. Its passes are there by name, as the library's own. docs/plugins.md says how one is made. Since 1.0."""
    with _opening(os.fspath(path)):
        _raw.RawCompiler.load_plugin(os.fspath(path))
    # What is known of passes and operators is asked for again.
    _builtin.infos.cache_clear()
    base_pass.forget_builtins()
    _custom_ops.forget_operators()


def list_plugins() -> list[dict[str, Any]]:
    """What is loaded: name, version, path, operators, passes, patterns and transforms of each. Since 1.0."""
    found: list[dict[str, Any]] = json.loads(_raw.RawCompiler.list_plugins())
    return found
