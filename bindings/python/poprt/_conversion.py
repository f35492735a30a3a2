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
from .errors import UnimplementedError
from .passes.base_pass import BuiltinPass, Pass, find_class
from .passes.pass_manager import AnyPass, as_pass, in_order, run_passes

__all__ = ["convert", "in_python", "names_of", "read_model"]

_Model = TypeVar("_Model")
# The folder of temporary files; None: that of the system.
temporary_folder: Optional[str] = None
_LAST = "final_check"
_CHECK = "check.json"
# Options that the library applies without the pass that has the same effect, when it reads or compares models.
_WITHOUT_PASS = {"add_checkpoints": ("checkpoints",), "check_with_fake_data": ("check",),
                 "const_input_shape": ("input_shape", "batch_size"), "remove_outputs": ("remove_outputs",)}
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


def convert_in_library(model: _Model, options: Mapping[str, str], reports: dict[str, str],
                       ran: Optional[list[str]] = None) -> _Model:
    """Converts a model with options by name. ``reports`` receives the other files that the library writes, and ``ran`` the
    names of the passes that run."""
    after_pass = None if ran is None else lambda name, *_: ran.append(name)
    with tempfile.TemporaryDirectory(prefix="poprt_", dir=temporary_folder) as folder:
        source, result = os.path.join(folder, "model.onnx"), os.path.join(folder, "converted.onnx")
        with open(source, "wb") as file:
            file.write(model.SerializeToString())  # type: ignore[attr-defined]
        with _Compilation(None, CompilerOptions(options=dict(options), after_pass=after_pass)) as compiler:
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


class _Plan:
    """The passes of one conversion: the options for the library, and the passes in Python after it."""

    def __init__(self, options: Mapping[str, str], used: Sequence[AnyPass]):
        both = [(info.name, info.alias or info.name, info.converts) for info in _builtin.infos()]
        self._aliases = {name: alias for name, alias, _ in both}
        library = {each for name, alias, _ in both for each in (name, alias)}
        default = {each for name, alias, converts in both if converts for each in (name, alias)} | {_LAST}
        skipped = names_of(options.get("skip_passes", ""))
        python = _python_passes()
        others = [name for name in python if name not in [*skipped, *used]]
        self._options = {name: value for name, value in options.items() if name not in ("passes", "skip_passes")}
        self._left_out = [name for name in skipped if name in library or name not in python]
        self._library, self._default = library, default
        self._used = [item for item in used if item not in skipped]
        self._replaced = [name for name in others if name in default]
        # Passes in Python with the name of a pass of the library that only options select.
        self._selectable = [name for name in others if name in library and name not in default]
        for name, applied in _WITHOUT_PASS.items():
            option = next((option for option in applied if option in options), "")
            if option and name in self._selectable:
                raise UnimplementedError(f"pass {name} in Python cannot replace that of the library, because option {option} acts without "
                                         f"a pass; leave the option out, and name the pass in used_passes")
        #: The passes that the library has run, if passes in Python may replace some.
        self.ran: Optional[list[str]] = [] if self._selectable else None

    def replaces_more(self) -> bool:
        """Returns whether the library has run passes that passes in Python replace. Then it must convert again without
        them."""
        ran = {each for name in self.ran or () for each in (name, self._aliases.get(name, name))}
        more = [name for name in self._selectable if name in ran]
        for name in more:
            if name in self._replaced:
                raise UnimplementedError(f"pass {name} in Python cannot replace that of the library in this conversion; "
                                         "give the pass another name")
        self._replaced += more
        self.ran = [] if more else self.ran
        return bool(more)

    def library_options_and_python_passes(self) -> tuple[dict[str, str], list[Pass]]:
        chosen = dict(self._options)
        left_out = self._left_out + [name for name in self._replaced if name in self._library]
        if left_out:
            chosen["skip_passes"] = ",".join(left_out)
        if not self._replaced and not any([in_python(item) for item in self._used]):
            if self._used:  # all at once, as the command does
                chosen["passes"] = ",".join(str(item) for item in self._used)
            return chosen, []
        arguments, others = _split_arguments(self._options, self._used)
        chosen.pop("pass_args", None)
        if others:
            chosen["pass_args"] = "\n".join(others)
        passes = [find_class(item)(**arguments[item]) if isinstance(item, str) and item in arguments else as_pass(item)
                  for item in [*(name for name in self._replaced if name != _LAST), *self._used]]
        done = self._default - set(left_out) - {_LAST}
        return chosen, in_order(passes, done) + [as_pass(name) for name in self._replaced if name == _LAST]


def convert(model: _Model, options: Mapping[str, str], used: Sequence[AnyPass], logger: Optional[logging.Logger] = None,
            reports: Optional[dict[str, str]] = None) -> _Model:
    """Returns the converted model. ``options`` are those of the library by name. ``used`` are the passes after the
    default ones, in their order, or in one that the constraints of passes in Python require. Passes in Python that replace
    passes of the library run after the library and before ``used``, and final_check runs last. ``reports`` receives the
    texts of check.json, precision_compare.log and quantize.log if options request them."""
    made_files: dict[str, str] = {} if reports is None else reports
    plan = _Plan(options, used)
    listening = LogSubscription(logger.log) if logger is not None else None
    try:
        while True:
            chosen, after = plan.library_options_and_python_passes()
            made: _Model = convert_around(model, chosen, lambda m: convert_in_library(m, chosen, made_files, plan.ran))
            if not plan.replaces_more():
                break
        made = run_passes(made, after)
        passes = [f"pass {getattr(p, 'name', type(p).__name__)} in Python" for p in after]
        _note_unchecked(made_files, [f"operator {name}" for name in custom_operators(model)] + passes)
        return made
    finally:
        if listening is not None:
            listening.close()
