"""PassManager: runs passes, given by name or as objects, in an order that satisfies their constraints."""

from __future__ import annotations

from typing import AbstractSet, Any, Iterable, Optional, Sequence, Union

from .. import _builtin
from .._onnx import ModelProto
from ..errors import Error, FailedPreconditionError
from .base_pass import BuiltinPass, Pass, find_class

__all__ = ["PassManager"]

AnyPass = Union[str, Pass, type[Pass]]


def as_pass(item: AnyPass) -> Pass:
    """Returns an instance of the pass for a name, class or instance."""
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
    """Returns the passes in order. With ``gather``, consecutive passes of the library form a group."""
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


def broken_constraint(passes: Sequence[Pass], done: AbstractSet[str] = frozenset()) -> str:
    """Returns which constraint of a pass in Python this order breaks, or an empty text. The library has run the passes
    ``done`` before."""
    names = [name_of(item) for item in passes]
    for at, item in enumerate(passes):
        if isinstance(item, BuiltinPass):
            continue
        for other in item.constraints.get("against", ()):
            if other in names or other in done:
                return f"passes {names[at]} and {other} do not run together; leave one out"
        for other in item.constraints.get("depend", ()):
            if other not in names[:at] and other not in done:
                return f"pass {names[at]} depends on pass {other}, which does not run before it"
        for other in item.constraints.get("before", ()):
            if other in names[:at] or other in done:
                return f"pass {names[at]} must run before pass {other}, and runs after it"
    return ""


def in_order(passes: Sequence[Pass], done: AbstractSet[str]) -> list[Pass]:
    """Returns the passes in an order that the constraints of those in Python allow, with those on which they depend. The
    library has run the passes ``done`` before. Raises FailedPreconditionError if there is no such order."""
    if not broken_constraint(passes, done):
        return list(passes)
    ordered = PassManager(passes)._sort(done)
    broken = broken_constraint(ordered, done)
    if broken:
        raise FailedPreconditionError(broken)
    return ordered


# An initializer of more bytes is not needed to verify a model: no shape depends on so many numbers.
_MANY_BYTES = 1 << 16


def _problem(model: ModelProto) -> Optional[Error]:
    """Returns why the library cannot read the model and infer its types, or None. Large initializers become inputs."""
    light = type(model)(**{field.name: value for field, value in model.ListFields() if field.name != "graph"})
    fields = {field.name: value for field, value in model.graph.ListFields() if field.name != "initializer"}
    light.graph.CopyFrom(type(model.graph)(**fields))
    inputs = {value.name for value in model.graph.input}
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= _MANY_BYTES:
            light.graph.initializer.add().CopyFrom(tensor)
        elif tensor.name not in inputs:
            kind = light.graph.input.add(name=tensor.name).type.tensor_type
            kind.elem_type = tensor.data_type
            for size in tensor.dims:
                kind.shape.dim.add().dim_value = size
    try:
        _builtin.apply(light, [("shape_inference", {})])
    except Error as error:
        return error
    return None


def _run_verified(step: Pass, model: ModelProto, is_valid: bool) -> tuple[ModelProto, bool]:
    """Runs a pass in Python, whose result is verified if the model was valid before. Returns the model, and whether it is
    valid. A model with operators that the library does not know is not valid."""
    is_valid = is_valid or _problem(model) is None
    try:
        made = step(model)
    except Exception as error:
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(f"in pass {name_of(step)}")
        raise
    if not hasattr(made, "graph"):
        raise TypeError(f"pass {name_of(step)} must return the model; it returned {type(made).__name__}")
    problem = _problem(made) if is_valid else None
    if problem is not None:
        raise type(problem)(f"the graph that pass {name_of(step)} left: {problem}")
    return made, is_valid


def run_passes(model: ModelProto, passes: Sequence[Pass], gather: bool = True) -> ModelProto:
    """Runs the passes one after the other and returns the model. Raises the error of the library for a pass in Python that
    leaves a graph with an unknown operator, an input that nothing defines, a cycle, or types that contradict each other."""
    is_valid = False
    for step in groups(passes, gather):
        if isinstance(step, list):
            model = _builtin.apply_by_name(model, [item.call for item in step])
            continue
        if isinstance(step, BuiltinPass):
            model = step(model)
        else:
            model, is_valid = _run_verified(step, model, is_valid)
    return model


class PassManager:
    """Runs passes: names, classes and instances may be mixed.

    ``gather_ir_passes`` runs consecutive passes of the library at once, which reads and writes the model only once. The
    result is the same.
    """

    def __init__(self, used_passes: Sequence[AnyPass] = (), gather_ir_passes: bool = False):
        self.gather_ir_passes = gather_ir_passes
        self._passes: list[Pass] = []
        self.add_passes(used_passes)

    def __repr__(self) -> str:
        return f"PassManager({self.get_all_pass_names()!r})"

    def add_passes(self, *passes: Union[AnyPass, Sequence[AnyPass]]) -> None:
        """Adds one or several passes, or a list of them."""
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
        """Sorts the passes by their constraints, otherwise keeping their order, adds those on which others depend, and
        returns them. Raises FailedPreconditionError if passes exclude each other or depend on each other in a cycle."""
        return self._sort(frozenset())

    def _sort(self, done: AbstractSet[str]) -> list[Pass]:
        if all(isinstance(item, BuiltinPass) for item in self._passes):
            ordered = _builtin.sort(item.call for item in self._passes if isinstance(item, BuiltinPass))
            present = self.get_all_pass_names()
            self._passes += [as_pass(name) for name in ordered if name not in present]
        else:
            ordered = self._order(done)
        self._passes.sort(key=lambda item: ordered.index(name_of(item)))
        return self.get_passes()

    def _order(self, done: AbstractSet[str]) -> list[str]:
        names = self._complete(done)
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
        """Runs the passes in their present order and returns the model. Raises FailedPreconditionError if this order breaks
        a constraint of a pass in Python; ``sort_passes`` finds another."""
        broken = broken_constraint(self._passes)
        if broken:
            raise FailedPreconditionError(f"{broken}; sort_passes() sorts the passes, and adds those on which others depend")
        return run_passes(model, self._passes, self.gather_ir_passes)

    def _constraint(self, name: str, kind: str) -> Sequence[str]:
        cls: Any = next(type(item) for item in self._passes if name_of(item) == name)
        found: Sequence[str] = cls.constraints.get(kind, ())
        return found

    def _complete(self, done: AbstractSet[str]) -> list[str]:
        """Returns the unique names in order, preceded by the passes on which they depend."""
        at = 0
        while at < len(self._passes):
            present = {*self.get_all_pass_names(), *done}
            wanted = [n for n in type(self._passes[at]).constraints.get("depend", ()) if n not in present]
            self._passes[at:at] = [as_pass(n) for n in wanted]
            at += 0 if wanted else 1
        return list(dict.fromkeys(self.get_all_pass_names()))
