"""PassManager: runs passes by name or as they are, in an order that their constraints allow."""

from __future__ import annotations

from typing import Any, Iterable, Sequence, Union

from .. import _builtin
from .._onnx import ModelProto
from ..errors import FailedPreconditionError
from .base_pass import BuiltinPass, Pass, find_class

__all__ = ["PassManager"]

AnyPass = Union[str, Pass, type[Pass]]


def as_pass(item: AnyPass) -> Pass:
    """An instance of what stands for a pass."""
    if isinstance(item, str):
        return find_class(item.strip())()
    if isinstance(item, type) and issubclass(item, Pass):
        return item()
    if isinstance(item, Pass):
        return item
    raise TypeError(f"expected the name of a pass or a pass, found {item!r}")


def name_of(item: Pass) -> str:
    return getattr(type(item), "name", type(item).__name__)


def groups(passes: Sequence[Pass], gather: bool) -> Iterable[Union[Pass, list[BuiltinPass]]]:
    """The passes in their order; with ``gather``, neighbours of the library's are one group."""
    together: list[BuiltinPass] = []
    for item in passes:
        if gather and isinstance(item, BuiltinPass) and type(item).run is BuiltinPass.run:
            together.append(item)
            continue
        if together:
            yield together
            together = []
        yield item
    if together:
        yield together


def run_passes(model: ModelProto, passes: Sequence[Pass], gather: bool = True) -> ModelProto:
    """What the passes make of the model, each of what the one before it made."""
    for step in groups(passes, gather):
        if isinstance(step, list):
            model = _builtin.apply(model, [item.call for item in step])
            continue
        made = step(model)
        if not hasattr(made, "graph"):
            raise TypeError(f"pass {name_of(step)} must return the model; it returned {type(made).__name__}")
        model = made
    return model


class PassManager:
    """Runs passes: names, classes and instances may be mixed.

    ``gather_ir_passes`` runs neighbouring passes of the library in one turn, which reads and writes the model once; the
    result is the same.
    """

    def __init__(self, used_passes: Sequence[AnyPass] = (), gather_ir_passes: bool = False):
        self.gather_ir_passes = gather_ir_passes
        self._passes: list[Pass] = []
        self.add_passes(used_passes)

    def __repr__(self) -> str:
        return f"PassManager({self.get_all_pass_names()!r})"

    def add_passes(self, *passes: Union[AnyPass, Sequence[AnyPass]]) -> None:
        """Adds one or several, or a list of them."""
        for item in passes:
            if isinstance(item, (list, tuple)):
                self.add_passes(*item)
            else:
                self._passes.append(as_pass(item))  # type: ignore[arg-type]

    def get_passes(self) -> list[Pass]:
        return list(self._passes)

    def get_all_pass_names(self) -> list[str]:
        return [name_of(item) for item in self._passes]

    def sort_passes(self) -> list[Pass]:
        """Puts them into an order that holds all constraints and otherwise is theirs; gives them. Passes that others depend
        on are added. FailedPreconditionError when passes are against each other, or wait for each other in a circle."""
        if all(isinstance(item, BuiltinPass) for item in self._passes):
            ordered = _builtin.sort(item.call for item in self._passes if isinstance(item, BuiltinPass))
            present = self.get_all_pass_names()
            self._passes += [as_pass(name) for name in ordered if name not in present]
        else:
            ordered = self._order()
        self._passes.sort(key=lambda item: ordered.index(name_of(item)))
        return self.get_passes()

    def _order(self) -> list[str]:
        names = self._complete()
        after = {name: set(self._constraint(name, "depend")) & set(names) for name in names}
        for name in names:
            for later in self._constraint(name, "before"):
                if later in after:
                    after[later].add(name)
            for other in self._constraint(name, "against"):
                if other in names:
                    raise FailedPreconditionError(f"passes {name} and {other} do not run together; leave one out")
        ordered: list[str] = []
        while len(ordered) < len(names):
            ready = next((n for n in names if n not in ordered and after[n] <= set(ordered)), None)
            if ready is None:
                waiting = [n for n in names if n not in ordered]
                raise FailedPreconditionError(f"passes {', '.join(waiting)} wait for each other: 'depend' and 'before' contradict")
            ordered.append(ready)
        return ordered

    def run(self, model: ModelProto) -> ModelProto:
        """What the passes make of the model, in the order in which they stand."""
        return run_passes(model, self._passes, self.gather_ir_passes)

    def _constraint(self, name: str, kind: str) -> Sequence[str]:
        cls: Any = next(type(item) for item in self._passes if name_of(item) == name)
        found: Sequence[str] = cls.constraints.get(kind, ())
        return found

    def _complete(self) -> list[str]:
        """The names in their order, once; what they depend on is added in front of them."""
        at = 0
        while at < len(self._passes):
            wanted = [n for n in type(self._passes[at]).constraints.get("depend", ()) if n not in self.get_all_pass_names()]
            self._passes[at:at] = [as_pass(n) for n in wanted]
            at += 0 if wanted else 1
        return list(dict.fromkeys(self.get_all_pass_names()))
