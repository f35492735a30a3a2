"""The Python part of command poprt, for --custom_pass_config and --custom_shape_inference.

``python3 -c "from poprt import _scripts; _scripts.main()" REQUEST ANSWER`` uses two JSON files. The request contains
"scripts", and for a conversion "source", "target", "passes" (names in their order) and "options" (of the library, by
name). The answer contains "passes", the passes in Python with their descriptions, or "error", one line, and "usage":
whether the command line is wrong.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import sys
import traceback
from typing import Any

from . import poprt_raw as _raw
from . import _conversion
from ._conversion import convert, in_python
from ._onnx import onnx
from ._plugins import load_plugin
from .errors import Error, NotFoundError
from .passes.base_pass import BuiltinPass, Pass

__all__ = ["load_script", "main"]


class ScriptError(Exception):
    """An error of a user's file, as one line."""


def _place(error: BaseException, paths: tuple[str, ...]) -> str:
    """Returns the place of an exception in a script: its last line in the traceback."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.abspath(f.filename) in paths]
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if frames else ""


def load_script(path: str) -> None:
    """Imports a file that registers passes and shape functions. It can import modules of its folder."""
    if not os.path.isfile(path):
        raise ScriptError(f"there is no file '{path}'")
    folder, stem = os.path.dirname(os.path.abspath(path)), os.path.splitext(os.path.basename(path))[0]
    if folder not in sys.path:
        sys.path.insert(0, folder)
    spec = importlib.util.spec_from_file_location(stem, os.path.abspath(path))
    if spec is None or spec.loader is None:
        raise ScriptError(f"'{path}' is no file of Python: its name should end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(stem, module)
    spec.loader.exec_module(module)


def _summary(cls: type[Pass]) -> str:
    text = (cls.__doc__ or "").strip() if cls.__doc__ is not Pass.__doc__ else ""
    return text.splitlines()[0].rstrip(".") if text else "a pass in Python"


def _convert(request: dict[str, Any]) -> None:
    for name in request["passes"]:
        in_python(name)  # reports an unknown pass before any work
    helper = onnx("a pass in Python")
    reports: dict[str, str] = {}
    converted = convert(helper.load(request["source"]), request["options"], request["passes"], reports=reports)
    target = os.path.realpath(request["target"])  # a link stays a link
    part = target + ".part"
    try:
        try:
            helper.save(converted, part)
        except ValueError as error:  # too large for protobuf
            raise ScriptError(f"the converted model cannot be written: {error}") from error
        os.replace(part, target)
        for name, text in reports.items():
            with open(part, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(part, os.path.join(os.path.dirname(target), name))
    finally:
        if os.path.exists(part):
            os.remove(part)


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    paths = tuple(os.path.abspath(path) for path in request["scripts"])
    try:
        for library in request.get("options", {}).get("custom_library_so_paths", "").replace(",", "\n").splitlines():
            if library.strip():
                load_plugin(library.strip())
        for path in request["scripts"]:
            load_script(path)
        if "source" in request:
            _convert(request)
        return {"passes": [{"name": n, "summary": _summary(c)} for n, c in Pass.get_registered_passes().items()
                           if not issubclass(c, BuiltinPass) and not c.__module__.startswith("poprt.")]}
    except BaseException as error:
        if logging.getLogger("poprt").isEnabledFor(logging.DEBUG):
            traceback.print_exc()
        if isinstance(error, SystemExit):
            text = f"a script ended Python with {error.code!r}"
        else:
            text = str(error) if isinstance(error, (ScriptError, Error)) else f"{type(error).__name__}: {error}"
        if isinstance(error, (ImportError, FileNotFoundError)) and not _place(error, paths):
            text = str(error)
        return {"error": _place(error, paths) + " ".join(text.split()), "usage": isinstance(error, NotFoundError)}


def main() -> None:
    request_path, answer_path = sys.argv[1:3]
    with open(request_path, encoding="utf-8") as file:
        request = json.load(file)
    level = request.get("logging_level", "WARNING")
    logging.basicConfig(format="%(asctime)s %(levelname)s [%(name)s] %(filename)s:%(lineno)d] %(message)s")
    logging.getLogger("poprt").setLevel(level)
    _raw.raw_set_log_level(level)
    # The command removes this folder, also when a signal ends it and this process.
    _conversion.temporary_folder = os.path.dirname(os.path.abspath(request_path))
    answer = _answer(request)
    with open(answer_path, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    sys.stdout.flush()
