"""Errors for keywords that a function does not have. They state where an option of that name belongs."""

from __future__ import annotations

import functools
from typing import Any, Callable, Iterable, Mapping, TypeVar, cast

from ._config import OTHER_NAMES, Config

_Function = TypeVar("_Function", bound=Callable[..., Any])

_ONNX_RUNTIME = {"providers", "provider_options", "sess_options", "session_options"}


def _places(name: str, places: Mapping[str, type[Config]]) -> list[str]:
    """Returns the arguments that take the option. A precision is one of the compilation or of the runner."""
    names = (name, "execution_precision") if name == "precision" else (name,)
    return [f"{argument}={kind.__name__}({option}=...)" for option in names for argument, kind in places.items()
            if option in kind._defaults or option in kind._aliases]


def unknown(function: str, names: Iterable[str], own: Iterable[str], places: Mapping[str, type[Config]]) -> TypeError:
    """Returns the error for keywords that ``function`` does not have. ``own`` are its keywords, and ``places`` those of
    them that take options."""
    name = next(iter(names))
    error = f"{function}() has no argument '{name}'"
    if name in _ONNX_RUNTIME and places:
        return TypeError(f"{error}; give config=RuntimeConfig(...), or use poprt.backends.ORTBackend, which has ONNX Runtime's interface")
    for wanted in (name, OTHER_NAMES.get(name, name)):
        if found := _places(wanted, places):
            return TypeError(f"{error}; give {' or '.join(found)}")
        if wanted in own:
            return TypeError(f"{error}; did you mean '{wanted}'?")
    import difflib  # takes longer than the rest of this module

    known = [*own, *(option for kind in places.values() for option in kind._defaults)]
    for near in difflib.get_close_matches(name, known, 1):
        return TypeError(f"{error}; did you mean '{near}'?" if near in own else f"{error}; give {' or '.join(_places(near, places))}")
    return TypeError(f"{error}; arguments are: {', '.join(own)}")


def keywords(**places: type[Config]) -> Callable[[_Function], _Function]:
    """A decorator: the function refuses unknown keywords, and the error states where an option of that name belongs."""
    def wrap(function: _Function) -> _Function:
        code = function.__code__
        own = [n for n in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if n not in ("self", "cls")]

        @functools.wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            wrong = [name for name in given if name not in own]
            if wrong:
                raise unknown(function.__qualname__.removesuffix(".__init__"), wrong, own, places)
            return function(*args, **given)

        return cast(_Function, call)

    return wrap
