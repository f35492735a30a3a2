"""Conversion: runs the library's default passes, then the requested ones, which may be written in Python."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from typing import Any, Mapping, Optional, Sequence, TypeVar

from . import _builtin
from ._custom_ops import convert_around, custom_operators
from ._log import LogSubscription
from .compiler import CompilerOptions, _Compilation
from .passes.base_pass import BuiltinPass, Pass, find_class
from .passes.pass_manager import AnyPass, as_pass, run_passes

__all__ = ["convert", "in_python", "names_of", "read_model"]

_Model = TypeVar("_Model")
_LAST = "final_check"
_CHECK = "check.json"
_REPORTS = (_CHECK, "precision_compare.log", "quantize.log")  # files that options write to the folder of a converted model


def names_of(passes: Any) -> list[Any]:
    """Returns a list of names and passes from text separated by commas, or from a list."""
    items = passes.split(",") if isinstance(passes, str) else passes or ()
    named = [item.strip() if isinstance(item, str) else item for item in items]
    return [item for item in named if item != ""]


def in_python(item: AnyPass) -> bool:
    """Returns whether a pass is written in Python. Raises NotFoundError for an unknown name."""
    if isinstance(item, str):
        return not issubclass(find_class(item), BuiltinPass)
    return True


def read_model(kind: type[_Model], path: str, files: int) -> _Model:
    """Reads a model that the library has written to a folder. If the folder contains more than ``files`` files, the
    model has external data, because it is larger than 2 GiB, and a ValueError is raised."""
    if len(os.listdir(os.path.dirname(path))) > files:
        raise ValueError("the converted model is larger than the 2 GiB that a ModelProto holds: use Compiler.convert or "
                         "Compiler.fuse, which write files")
    made = kind()
    with open(path, "rb") as file:
        made.ParseFromString(file.read())  # type: ignore[attr-defined]
    return made


def _take_reports(folder: str, reports: dict[str, str]) -> None:
    """Moves the reports of a conversion from their files into texts by name."""
    for name in _REPORTS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                reports[name] = file.read()
            os.remove(path)


def convert_in_library(model: _Model, options: Mapping[str, str], reports: dict[str, str]) -> _Model:
    """Converts a model with options by name. ``reports`` receives the other files that the library writes."""
    with tempfile.TemporaryDirectory(prefix="poprt_") as folder:
        source, result = os.path.join(folder, "model.onnx"), os.path.join(folder, "converted.onnx")
        with open(source, "wb") as file:
            file.write(model.SerializeToString())  # type: ignore[attr-defined]
        with _Compilation(None, CompilerOptions(options=dict(options))) as compiler:
            compiler.convert_file(source, result)
        _take_reports(folder, reports)
        return read_model(type(model), result, 2)


def _python_passes() -> dict[str, type[Pass]]:
    return {name: cls for name, cls in Pass.get_registered_passes().items() if not issubclass(cls, BuiltinPass)}


def _split_arguments(options: Mapping[str, str], used: Sequence[AnyPass]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Splits option pass_args, with one PASS.PARAMETER=TEXT per line, into the arguments of the passes in ``used`` and
    the other lines."""
    found: dict[str, dict[str, str]] = {}
    others = []
    for word in options.get("pass_args", "").splitlines():
        target, _, text = word.partition("=")
        name, _, parameter = target.partition(".")
        if name in used:
            found.setdefault(name, {})[parameter] = text
        else:
            others.append(word)
    return found, others


def _note_unchecked(reports: dict[str, str], unchecked: Sequence[str]) -> None:
    """Adds a note to the report: the library's check excludes passes in Python, which run later, and custom operators."""
    if _CHECK not in reports or not unchecked:
        return
    report = json.loads(reports[_CHECK])
    report["not_checked"] = list(unchecked)
    report["text"][0] += f"; not checked: {', '.join(unchecked)}"
    reports[_CHECK] = json.dumps(report, indent=2) + "\n"


def convert(model: _Model, options: Mapping[str, str], used: Sequence[AnyPass], logger: Optional[logging.Logger] = None,
            reports: Optional[dict[str, str]] = None) -> _Model:
    """Returns the converted model. ``options`` are those of the library by name. ``used`` are the passes after the
    default ones, in their order. Passes in Python that replace default ones run after the passes of the library and
    before ``used``, and final_check runs last. ``reports`` receives the texts of check.json, precision_compare.log and
    quantize.log if options request them."""
    made_files: dict[str, str] = {} if reports is None else reports
    default = {info.name for info in _builtin.infos() if info.converts} | {_LAST}
    library = {name for info in _builtin.infos() for name in (info.name, info.alias)}
    skipped = names_of(options.get("skip_passes", ""))
    used = [item for item in used if item not in skipped]
    python = _python_passes()
    replaced = [name for name in python if name in default and name not in [*skipped, *used]]
    chosen = {name: value for name, value in options.items() if name not in ("passes", "skip_passes")}
    left_out = [name for name in skipped if name in library or name not in python]
    left_out += [name for name in replaced if name in library]
    if left_out:
        chosen["skip_passes"] = ",".join(left_out)
    after: list[Pass] = []
    if replaced or any([in_python(item) for item in used]):
        first = [name for name in replaced if name != _LAST]
        arguments, others = _split_arguments(options, used)
        chosen.pop("pass_args", None)
        if others:
            chosen["pass_args"] = "\n".join(others)
        after = [find_class(item)(**arguments[item]) if isinstance(item, str) and item in arguments else as_pass(item)
                 for item in [*first, *used, *(name for name in replaced if name == _LAST)]]
    elif used:  # all at once, as the command does
        chosen["passes"] = ",".join(str(item) for item in used)
    listening = LogSubscription(logger.log) if logger is not None else None
    try:
        made: _Model = run_passes(convert_around(model, chosen, lambda m: convert_in_library(m, chosen, made_files)), after)
        passes = [f"pass {getattr(p, 'name', type(p).__name__)} in Python" for p in after]
        _note_unchecked(made_files, [f"operator {name}" for name in custom_operators(model)] + passes)
        return made
    finally:
        if listening is not None:
            listening.close()
