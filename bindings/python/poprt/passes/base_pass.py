"""Pass: the base class of passes, their names, and the library's passes."""

from __future__ import annotations

import difflib
import inspect
import keyword
import logging
import os
import tempfile
import weakref
from typing import Any, Callable, ClassVar, Mapping, Optional, Sequence, TypeVar, Union

import numpy as np

from .. import _builtin
from .._onnx import GraphProto, ModelProto
from ..errors import InvalidArgumentError, NotFoundError
from ..utils import get_logger

__all__ = ["BuiltinPass", "ImmutablePass", "Pass", "get_all_named_subclasses"]

_Class = TypeVar("_Class", bound="type[Pass]")
_Graph = TypeVar("_Graph")
_KINDS = ("against", "depend", "before")


class Pass:
    """A rewrite of an onnx.ModelProto. A subclass defines ``run(onnx_model)``, or ``run_transform(graph,
    is_main_graph)``, which is called for the graph and its subgraphs. Instances are called with a model.

    The name of a pass is that of ``@register("name")``, or its attribute ``name``. A pass with the name of one of the
    library replaces it.
    """

    name: ClassVar[str]
    properties: ClassVar[Mapping[str, Any]] = {}
    constraints: ClassVar[Mapping[str, Sequence[str]]] = {}
    logger: logging.Logger = get_logger()

    def __init__(self) -> None:
        pass

    def run(self, onnx_model: ModelProto) -> ModelProto:
        transform = getattr(self, "run_transform", None)
        if transform is None:
            raise NotImplementedError(f"pass {type(self).__name__} defines neither run(onnx_model) nor "
                                      "run_transform(graph, is_main_graph)")
        made = self.traverse_graph(onnx_model.graph, transform)
        if made is not onnx_model.graph:
            onnx_model.graph.CopyFrom(made)
        return onnx_model

    def __call__(self, model: ModelProto) -> ModelProto:
        made = self.run(model)
        if made is None:
            raise TypeError(f"pass {getattr(type(self), 'name', type(self).__name__)} must return the model; it returned NoneType")
        return made

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(type(self), 'name', 'without a name')!r}>"

    def traverse_graph(self, graph: _Graph, transform: Callable[[_Graph, bool], _Graph], is_main_graph: bool = True) -> _Graph:
        """Calls ``transform(graph, is_main_graph)`` for the graph, then for the subgraphs of the result (of If, Loop,
        Scan). Returns the graph."""
        result = transform(graph, is_main_graph)
        made: GraphProto = result
        if made is None:
            raise TypeError(f"pass {type(self).__name__}: the function for traverse_graph must return the graph; it returned "
                            "None")
        for node in made.node:
            for attribute in node.attribute:
                inner = ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)
                for target in inner:
                    changed = self.traverse_graph(target, transform, False)
                    if changed is not target:
                        target.CopyFrom(changed)
        return result

    @staticmethod
    def get_pass(name: str, *args: Any, **kwargs: Any) -> Pass:
        """Returns an instance of the pass with that name. Further arguments are passed to its constructor."""
        return find_class(name)(*args, **kwargs)

    @staticmethod
    def get_registered_passes() -> dict[str, type[Pass]]:
        """Returns all passes by name."""
        return dict(_known())

    @staticmethod
    def get_typed_registered_passes(type: Union[str, type[Pass]]) -> dict[str, type[Pass]]:
        """Returns the passes with that property "type" ("ir": the library's, "onnx": those in Python), or the
        subclasses of a class."""
        if isinstance(type, str):
            return {n: c for n, c in _known().items() if c.properties.get("type", "onnx") == type}
        return {n: c for n, c in _known().items() if issubclass(c, type)}

    @staticmethod
    def register_pass(name: str) -> Callable[[_Class], _Class]:
        """A decorator that registers the class by name. Raises ValueError if the name is in use."""
        return _registration(name, False)

    @staticmethod
    def override_register_pass(name: str) -> Callable[[_Class], _Class]:
        """A decorator that registers the class in place of the pass with that name."""
        return _registration(name, True)

    @staticmethod
    def property_register(k: str, v: Any) -> Callable[[_Class], _Class]:
        """A decorator that sets a property, such as "type"."""
        def decorate(cls: _Class) -> _Class:
            cls.properties = {**cls.properties, k: v}
            return cls
        return decorate

    @staticmethod
    def against_passes(passes: Sequence[str]) -> Callable[[_Class], _Class]:
        """A decorator: the pass must not run together with ``passes``."""
        return Pass.constraint_passes("against", passes)

    @staticmethod
    def constraint_passes(kind: str, passes: Sequence[str]) -> Callable[[_Class], _Class]:
        """A decorator that adds a constraint. ``kind`` "against": never together with ``passes``; "depend": after them,
        and they must run; "before": before those of them that run."""
        if kind not in _KINDS:
            raise ValueError(f"constraint_passes: expected one of {', '.join(_KINDS)}, found {kind!r}")
        names = [passes] if isinstance(passes, str) else list(passes)

        def decorate(cls: _Class) -> _Class:
            cls.constraints = {**cls.constraints, kind: [*cls.constraints.get(kind, ()), *names]}
            return cls
        return decorate


class ImmutablePass(Pass):
    """A pass that inspects a model. ``run`` works on a copy and returns the model unchanged, unless the subclass
    overrides it."""

    def run(self, onnx_model: ModelProto) -> ModelProto:
        copy = type(onnx_model)()
        copy.CopyFrom(onnx_model)
        super().run(copy)
        return onnx_model


def _int8_parts(weights: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Converts {"w": {"value": int8, "offset": float32, "scale": float32}}, or {"w": (value, offset, scale)}, to
    {"w.value": int8, "w.offset": float32, "w.scale": float32}."""
    fields = ("value", "offset", "scale")
    made = {}
    for name, given in weights.items():
        parts = dict(zip(fields, given)) if isinstance(given, (tuple, list)) and len(given) == len(fields) else given
        if not isinstance(parts, Mapping) or set(parts) != set(fields):
            found = ", ".join(map(str, given)) if isinstance(given, Mapping) else " ".join(repr(given)[:100].split())
            raise InvalidArgumentError(f"int8_offset_scale: expected value, offset and scale of weight '{name}', found {found}")
        for field in fields:
            array = np.asarray(parts[field])
            made[f"{name}.{field}"] = array if field == "value" else array.astype(np.float32)
    return made


class BuiltinPass(Pass):
    """A pass of the library, with its parameters as keywords or in their order."""

    info: ClassVar[_builtin.PassInfo]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        names = [parameter["name"] for parameter in self.info.parameters]
        if len(args) > len(names):
            raise InvalidArgumentError(f"pass {self.name}: expected at most {len(names)} arguments "
                                       f"({', '.join(names) or 'it has none'}), found {len(args)}")
        twice = set(names[:len(args)]) & set(kwargs)
        if twice:
            raise InvalidArgumentError(f"pass {self.name}: argument {sorted(twice)[0]} is given twice")
        self.arguments: dict[str, Any] = {**dict(zip(names, args)), **kwargs}
        self.call = _builtin.make_call(self.info, {n: self._file_of(n, v) for n, v in self.arguments.items()})
        _builtin.check([self.call])

    def _file_of(self, name: str, value: Any) -> Any:
        """Returns the path of a file with a model or arrays, because the library takes these as files, and other values
        unchanged. The file exists as long as the pass."""
        arrays = name == "int8_offset_scale" and isinstance(value, Mapping)
        if not arrays and not hasattr(value, "SerializeToString"):
            return value
        parts = _int8_parts(value) if arrays else {}
        folder = tempfile.TemporaryDirectory(prefix="poprt_")
        weakref.finalize(self, folder.cleanup)
        path = os.path.join(folder.name, "weights.npz" if arrays else "model.onnx")
        with open(path, "wb") as file:
            if arrays:
                np.savez(file, **parts)
            else:
                file.write(value.SerializeToString())
        return path

    def run(self, onnx_model: ModelProto) -> ModelProto:
        return _builtin.apply_by_name(onnx_model, [self.call])

    def __repr__(self) -> str:
        shown = {n: "..." if hasattr(v, "SerializeToString") or n == "int8_offset_scale" else v for n, v in self.arguments.items()}
        return f"<pass {self.name}{shown or ''}>"


# Classes registered by a decorator. Classes with an attribute `name` are found without it.
_registered: dict[str, type[Pass]] = {}
_decorated: "weakref.WeakSet[type[Pass]]" = weakref.WeakSet()
_builtins: dict[str, type[Pass]] = {}
_listed: list[bool] = []  # empty if _builtins may lack passes


def _signature(parameters: Sequence[Mapping[str, Any]]) -> inspect.Signature:
    """Returns the signature of a pass. If a plug-in's parameter has a name that is not a Python identifier, it is
    ``(*args, **kwargs)``, and the argument is passed as ``**{"from": ...}``."""
    if all(p["name"].isidentifier() and not keyword.iskeyword(p["name"]) for p in parameters):
        return inspect.Signature([inspect.Parameter(p["name"], inspect.Parameter.POSITIONAL_OR_KEYWORD, default=p["default"])
                                  for p in parameters])
    return inspect.Signature([inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                              inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])


def builtin_classes() -> dict[str, type[Pass]]:
    """Returns the library's passes by name and alias, as classes that are created once."""
    if not _listed:
        for info in _builtin.infos():
            if info.name in _builtins:
                continue
            title = "".join(word.capitalize() for word in info.name.split("_"))
            made = type(title, (BuiltinPass,), {"name": info.name, "info": info, "__doc__": f"{info.summary}.",
                                                "properties": {"type": "ir"}, "constraints": info.constraints})
            made.__signature__ = _signature(info.parameters)  # type: ignore[attr-defined]
            _builtins[info.name] = made
            if info.alias:
                _builtins[info.alias] = made
        _listed.append(True)
    return _builtins


def forget_builtins() -> None:
    """Lists the library's passes again at their next use, because their set may have changed."""
    _listed.clear()


def get_all_named_subclasses(cls: Any) -> dict[str, Any]:
    """Returns the subclasses of ``cls`` with an attribute ``name``, by that name. A program can replace this function
    in its module to define the set of passes."""
    found: dict[str, Any] = {}

    def visit(parent: Any) -> None:
        for child in parent.__subclasses__():
            if isinstance(vars(child).get("name"), str) and not (issubclass(child, BuiltinPass) and child.name in found):
                found[child.name] = child
            visit(child)

    visit(cls)
    return found


def _known() -> dict[str, type[Pass]]:
    """Returns all passes. Classes with a name replace the library's, and registered classes replace both."""
    known = dict(builtin_classes())
    for name, cls in get_all_named_subclasses(Pass).items():
        if not issubclass(cls, BuiltinPass) and cls not in _decorated:
            known[name] = cls
    known.update(_registered)
    return known


def find_class(name: str) -> type[Pass]:
    if not isinstance(name, str):
        raise TypeError(f"expected the name of a pass, found {name!r}")
    known = _known()
    if name not in known:
        near = difflib.get_close_matches(name, known, 3)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise NotFoundError(f"there is no pass '{name}'; {hint}poprt.get_registered_passes() has all, a pass in Python must be "
                            "imported first")
    return known[name]


def _registration(name: str, override: bool) -> Callable[[_Class], _Class]:
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a pass is a text, found {name!r}; write @register('name')")

    def decorate(cls: _Class) -> _Class:
        if not (isinstance(cls, type) and issubclass(cls, Pass)):
            raise TypeError(f"register('{name}'): expected a subclass of poprt.Pass, found {cls!r}")
        other: Optional[type[Pass]] = _known().get(name)
        same = other is not None and (other.__module__, other.__qualname__) == (cls.__module__, cls.__qualname__)
        if other is not None and not same and not override:
            raise ValueError(f"there is a pass '{name}' already, {other.__module__}.{other.__qualname__}; "
                             "override_register_pass puts another one in its place")
        if "name" not in vars(cls):
            cls.name = name
        _registered[name] = cls
        _decorated.add(cls)
        return cls
    return decorate
