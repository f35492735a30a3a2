"""Base of option classes: attributes with defaults, nothing else may be set."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Callable, ClassVar, TypeVar

_Self = TypeVar("_Self", bound="Config")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:
    def dataclass_transform(**_: Any) -> Callable[[type], type]:
        return lambda cls: cls


@dataclass_transform(kw_only_default=True)
class Config:
    """Options with documented defaults; an attribute that does not exist is an AttributeError, for type checkers too.

    A sub-class annotates its options and gives them their defaults; all are keywords of its constructor."""

    _defaults: ClassVar[dict[str, Any]] = {}
    _aliases: ClassVar[dict[str, str]] = {}

    def __init_subclass__(cls) -> None:
        names = [n for n in getattr(cls, "__annotations__", {}) if n in vars(cls) and not n.startswith("_")]
        cls._defaults = {**cls._defaults, **{n: vars(cls)[n] for n in names}}
        for name in names:
            delattr(cls, name)  # an instance has its own, from the start

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

    if not TYPE_CHECKING:  # which then know what there is
        def __setattr__(self, name: str, value: Any) -> None:
            name = self._aliases.get(name, name)
            if name not in self._defaults:
                raise AttributeError(f"{type(self).__name__} has no option '{name}'; "
                                     f"options are: {', '.join(sorted(self._defaults))}")
            object.__setattr__(self, name, value)

        def __getattr__(self, name: str) -> Any:
            known = type(self)._aliases.get(name)
            if known is None:
                raise AttributeError(f"{type(self).__name__} has no option '{name}'")
            return getattr(self, known)

    def changed(self) -> dict[str, Any]:
        """Options that do not have their default value."""
        return {n: getattr(self, n) for n, d in self._defaults.items() if getattr(self, n) != d}

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={v!r}' for n, v in self.changed().items())})"
