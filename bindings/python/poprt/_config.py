"""The base of option classes: attributes with defaults. Other attributes cannot be set."""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import inspect
import numbers
import operator
import os
import re
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Iterator, TypeVar

_Self = TypeVar("_Self", bound="Config")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_: Any) -> Callable[[type], type]:
        return lambda cls: cls


def _whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


# For each kind of annotation: a description of its values for messages, and a check of a value. Annotations of no kind
# accept any value.
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", _whole),
    "bool": ("True or False", lambda v: isinstance(v, bool) or type(v).__name__ in ("bool_", "bool") or _whole(v) and v in (0, 1)),
    "float": ("a number", lambda v: isinstance(v, numbers.Real) or hasattr(v, "__float__") and not isinstance(v, str)),
    "str": ("a str", lambda v: isinstance(v, str)),
    "path": ("a path", lambda v: isinstance(v, (str, os.PathLike))),
    "dict": ("a dict", lambda v: isinstance(v, collections.abc.Mapping)),
    "list": ("a list", lambda v: isinstance(v, collections.abc.Iterable) and not isinstance(v, (str, bytes, collections.abc.Mapping))),
    "shapes": ("shapes", lambda v: isinstance(v, collections.abc.Mapping) or isinstance(v, (list, tuple))
               and all(isinstance(one, collections.abc.Mapping) for one in v)),
    "function": ("a function", callable),
    "device": ("a Device", lambda v: hasattr(v, "_open")),
}
_HEADS = {"Union[int, datetime.timedelta]": "int", "Union[str, os.PathLike[str]]": "path", "RunnerType": "int", "PackAlgorithm": "int",
          "Device": "device", "Union[dict[str, Any], list[dict[str, Any]]]": "shapes", **{kind: kind for kind in ("int", "bool", "float", "str")}}


# Descriptions of values for messages about options whose annotations do not describe their values.
_EXPECTED = {"input_shape": "a dict of name to shape, or to a list of shapes, or a list of dicts of name to shape", "opaque_blobs": "a dict of name to str or bytes",
             "replica_id_to_device": "a dict of number to Device"}


def _kind(annotation: str) -> tuple[str, bool]:
    """Returns the kind of an annotation, "" for any value, and whether it allows None."""
    text = re.sub("[\"']", "", annotation)
    optional = text.startswith("Optional[") and text.endswith("]")
    if optional:
        text = text[len("Optional["):-1]
    starts = {"dict[": "dict", "list[": "list", "Callable[": "function"}
    kind = _HEADS.get(text, "")
    return kind or next((k for start, k in starts.items() if text.startswith(start)), ""), optional


_classes: list[type[Config]] = []  # all public subclasses of Config, in the order of their definition


# Names of options in other packages, and the corresponding options here.
OTHER_NAMES = {
    "num_threads": "threads", "n_threads": "threads", "intra_op_num_threads": "threads", "max_batch_size": "batch_size", "dtype": "precision",
    "fp16": "precision", "half": "precision", "input_shapes": "input_shape", "shape": "input_shape", "cache_dir": "cache_path",
    "timeout": "begin_within",
}


def _elsewhere(name: str, kind: type[Config]) -> str:
    """Returns a hint for a message: the option that is meant by a name of another package, or the class that has an
    option which ``kind`` does not have. Returns an empty text if there is neither."""
    wanted = OTHER_NAMES.get(name, name)
    if wanted in kind._defaults:
        return f"did you mean '{wanted}'?"
    for other in _classes:
        if wanted in other._defaults:
            return f"it is an option of {other.__name__}" if wanted == name else f"did you mean '{wanted}' of {other.__name__}?"
    return ""


@dataclass_transform(kw_only_default=True)
class Config:
    """Options with documented defaults. An unknown attribute is an AttributeError, also for type checkers.

    A subclass annotates its options with their defaults. All are keywords of its constructor."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _aliases: ClassVar[dict[str, str]] = {}
    _annotations: ClassVar[dict[str, str]] = {}
    __signature__: ClassVar[inspect.Signature]

    def __init_subclass__(cls) -> None:
        names = [n for n in getattr(cls, "__annotations__", {}) if n in vars(cls) and not n.startswith("_")]
        cls._defaults = {**cls._defaults, **{n: vars(cls)[n] for n in names}}
        cls._annotations = {**cls._annotations, **{n: str(cls.__annotations__[n]) for n in names}}
        for name in names:
            delattr(cls, name)  # each instance has its own value
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD if "__init__" in vars(cls) else inspect.Parameter.KEYWORD_ONLY
        cls.__signature__ = inspect.Signature(  # for help()
            [inspect.Parameter(n, kind, default=v, annotation=cls._annotations[n]) for n, v in cls._defaults.items()])
        if cls.__name__[0] != "_":
            _classes.append(cls)

    def __init__(self, **values: Any):
        for name, default in self._defaults.items():
            object.__setattr__(self, name, copy.copy(default))
        for name, value in values.items():
            try:
                setattr(self, name, value)
            except AttributeError as error:
                raise TypeError(str(error)) from None

    @classmethod
    def from_dict(cls: type[_Self], values: dict[str, Any]) -> _Self:
        return cls(**values)

    if not TYPE_CHECKING:  # so that type checkers know the options
        def __setattr__(self, name: str, value: Any) -> None:
            name = self._aliases.get(name, name)
            if name not in self._defaults:
                import difflib  # takes longer than the rest of this module

                near = difflib.get_close_matches(name, self._defaults, 1)
                hint = (_elsewhere(name, type(self)) or (f"did you mean '{near[0]}'?" if near else "")
                        or f"options are: {', '.join(sorted(self._defaults))}")
                raise AttributeError(f"{type(self).__name__} has no option '{name}'; {hint}")
            self._check(name, value)
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> Any:
            known = type(self)._aliases.get(name)
            if known is None:
                raise AttributeError(f"{type(self).__name__} has no option '{name}'")
            return getattr(self, known)

    def _check(self, name: str, value: Any) -> None:
        """Checks the kind of a value. Its contents are checked when they are used."""
        kind, optional = _kind(self._annotations[name])
        if kind and not (optional and value is None) and not _KINDS[kind][1](value):
            raise TypeError(f"{type(self).__name__}.{name}: expected {_KINDS[kind][0]}{' or None' if optional else ''}, "
                            f"found {value!r}")

    @contextlib.contextmanager
    def _naming(self, name: str) -> Iterator[None]:
        """Adds the name of the option to errors of its value."""
        try:
            yield
        except (TypeError, AttributeError, OverflowError, ValueError) as error:
            if isinstance(error, RuntimeError):  # errors of the library are complete already
                raise
            wanted = self._annotations[name].replace("os.PathLike[str]", "os.PathLike")
            raise TypeError(f"{type(self).__name__}.{name}: expected {_EXPECTED.get(name, wanted)}, "
                            f"found {getattr(self, name)!r}") from None

    def changed(self) -> dict[str, Any]:
        """Options that do not have their default value."""
        return {n: getattr(self, n) for n, d in self._defaults.items() if getattr(self, n) != d}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.changed().items())})"
