"""Lists the library's passes and applies them to models."""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import Any, Iterable, Mapping, Sequence, TypeVar

import numpy as np

from . import poprt_raw as _raw
from ._onnx import checked
from .errors import InvalidArgumentError
from .utils import onnx_tensor_dtype_to_np_dtype

_Model = TypeVar("_Model")

# One pass with its arguments as text.
Call = tuple[str, dict[str, str]]


@dataclasses.dataclass(frozen=True)
class PassInfo:
    """The library's description of a pass."""

    name: str
    alias: str
    summary: str
    kind: str
    stage: str
    parameters: Sequence[Mapping[str, Any]]
    constraints: Mapping[str, Sequence[str]]

    @property
    def converts(self) -> bool:
        """Whether every conversion runs the pass."""
        return "convert" in self.stage.split(", ")


@functools.lru_cache(maxsize=None)
def infos() -> tuple[PassInfo, ...]:
    listed = json.loads(_raw.RawPasses.list_json())
    return tuple(PassInfo(p["name"], p.get("alias") or "", p["summary"], p.get("kind", "rewrite"), p.get("stage", ""),
                          p.get("parameters", ()), {k: p.get(k, []) for k in ("against", "depend", "before")}) for p in listed)


def _text(value: Any, separator: str) -> str:
    """Converts a value to text for the library: {"x": [1, 3]} is x=1,3, and ["a", "b"] is a,b."""
    if isinstance(value, Mapping):
        return "\n".join(f"{key}={_text(item, ',')}" for key, item in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return separator.join(_text(item, ",") for item in value)
    return str(value)


def make_call(info: PassInfo, arguments: Mapping[str, Any]) -> Call:
    """Returns the call of a pass with its arguments as text. None selects the default of an argument."""
    kinds = {parameter["name"]: parameter["kind"] for parameter in info.parameters}
    for name in arguments:
        if name not in kinds:
            raise InvalidArgumentError(f"pass {info.name}: there is no argument '{name}'; "
                                       f"{'arguments are: ' + ', '.join(kinds) if kinds else 'it has none'}")
    texts = {n: _text(v, "\n" if kinds[n] == "words" else ",") for n, v in arguments.items() if v is not None}
    inputs = arguments.get("merged_inputs")
    if isinstance(inputs, Mapping):  # words have the form DTYPE,[SHAPE],COUNT of --apply_hcsr
        texts["merged_inputs"] = "\n".join(kind if count is None else f"{kind},{count}" for kind, count in inputs.items())
    elif isinstance(inputs, (list, tuple)):
        texts["merged_inputs"] = "\n".join(_merged(item) for item in ([inputs] if _is_merged(inputs) else inputs))
    return info.name, texts


def _is_merged(item: Any) -> bool:
    """Returns whether it is (type, shape) or (type, shape, count)."""
    return isinstance(item, (list, tuple)) and len(item) in (2, 3) and isinstance(item[1], (list, tuple))


def _merged(item: Any) -> str:
    """Converts such a tuple, whose type is a name or a number of onnx.TensorProto, to DTYPE,[SHAPE],COUNT."""
    if not _is_merged(item):
        return str(item)
    kind, shape, *count = item
    if not isinstance(kind, str):
        kind = str(onnx_tensor_dtype_to_np_dtype(kind) if isinstance(kind, int) else np.dtype(kind))
    words = [kind.lower(), f"[{','.join(str(d) for d in shape)}]", *(str(c) for c in count if c is not None)]
    return ",".join(words)


def _raw_passes(calls: Iterable[Call]) -> _raw.RawPasses:
    passes = _raw.RawPasses()
    for name, arguments in calls:
        passes.add(name)
        for key, value in arguments.items():
            passes.add_argument(key, value)
    return passes


def check(calls: Iterable[Call]) -> None:
    """Checks arguments without a model."""
    _raw_passes(calls).check()


def sort(calls: Iterable[Call]) -> list[str]:
    """Returns the names in an order that satisfies their constraints, with the passes on which they depend."""
    return _raw_passes(calls).in_order().split()


def apply_by_name(model: Any, calls: Sequence[Call]) -> Any:
    """Like apply(), for passes that a program selects. It adds no value_info, except for pass shape_inference: types of values
    become wrong when the program then changes a shape of an input."""
    made = apply(model, calls)
    if hasattr(model, "graph") and all(name != "shape_inference" for name, _ in calls):
        known = {value.name for value in model.graph.value_info}
        kept = [value for value in made.graph.value_info if value.name in known]
        if len(kept) != len(made.graph.value_info):
            del made.graph.value_info[:]
            made.graph.value_info.extend(kept)
    return made


def apply(model: _Model, calls: Sequence[Call]) -> _Model:
    """Runs the passes in order and returns a model of the same type (onnx.ModelProto)."""
    data = checked(model, f"pass {calls[0][0]}" if len(calls) == 1 else "passes").SerializeToString()
    address, size = _raw.raw_address(data)
    result = _raw_passes(calls).apply_to(address, size, "")
    if result.text():
        print(result.text(), end="")
    made = type(model)()
    made.ParseFromString(_raw.raw_bytes(result.address(), result.bytes()))  # type: ignore[attr-defined]
    return made
