"""The inputs of both models in layer_precision_compare."""

from __future__ import annotations

from typing import Any, Callable, Mapping, NamedTuple, Sequence

import numpy as np

from ..utils import random_inputs

__all__ = ["InputSet", "further_sets"]

_LARGE = 100


class InputSet(NamedTuple):
    """A set of inputs. ``how`` describes ``inputs``, which are arrays by name."""

    name: str
    how: str
    inputs: dict[str, np.ndarray[Any, Any]]


def _has_floats(array: np.ndarray[Any, Any]) -> bool:
    return bool(array.dtype.kind == "f")


def _signed(sign: int) -> Callable[[np.ndarray[Any, Any], "np.random.Generator"], Any]:
    return lambda array, rng: sign * np.abs(array) if _has_floats(array) else np.full_like(array, sign > 0)


def _sparse(array: np.ndarray[Any, Any], rng: "np.random.Generator") -> Any:
    return np.where(rng.integers(0, 8, array.shape) == 0, array if _has_floats(array) else np.ones_like(array), np.zeros_like(array))


def _repeated(array: np.ndarray[Any, Any], rng: "np.random.Generator") -> Any:
    row = array.reshape(-1, array.shape[-1])[:1] if array.ndim and array.size else array
    return np.broadcast_to(row.reshape(-1), array.shape) if array.ndim and array.size else array


def _distinct(array: np.ndarray[Any, Any], rng: "np.random.Generator") -> Any:
    return array if _has_floats(array) else np.arange(array.size).reshape(array.shape)


def _large(array: np.ndarray[Any, Any], rng: "np.random.Generator") -> Any:
    return np.full_like(array, _LARGE) if array.size == 1 and array.dtype.kind != "b" else array


_KINDS: list[tuple[str, str, Callable[[np.ndarray[Any, Any], "np.random.Generator"], Any]]] = [
    ("random", "floats of a normal distribution, integers and conditions 0 or 1", lambda array, rng: array),
    ("zeros", "0 and false", lambda array, rng: np.zeros_like(array)),
    ("ones", "1 and true", lambda array, rng: np.ones_like(array)),
    ("negative", "floats below 0, integers 0, conditions false", _signed(-1)),
    ("positive", "floats above 0, integers 1, conditions true", _signed(1)),
    ("sparse", "as random, but 7 of 8 elements are 0 or false", _sparse),
    ("repeated", "as random, but all vectors along the last axis are equal", _repeated),
    ("distinct", "floats as random, integers and conditions 0, 1, 2 ...", _distinct),
    ("large scalars", f"inputs of one element are {_LARGE}, others as random", _large),
]


def further_sets(infos: Mapping[str, tuple[Sequence[int], Any]], first: InputSet) -> list[InputSet]:
    """Returns ``first``, then the sets that give an input a new value. ``infos`` contains shapes and dtypes by name.

    The sets make sizes that depend on data zero, small and as large as possible. The seed of a set is its position in
    ``_KINDS``.
    """
    sets = [first]
    kinds = [(int(np.prod(shape)), np.dtype(dtype).kind) for shape, dtype in infos.values()]
    useful = {"distinct": any(count > 1 and kind in "iu" for count, kind in kinds),
              "large scalars": any(count == 1 and kind != "b" for count, kind in kinds)}
    for seed, (name, how, fill) in enumerate(_KINDS):
        if not useful.get(name, True):
            continue
        rng = np.random.default_rng(seed)
        inputs = {key: np.asarray(fill(array, rng)).astype(array.dtype) for key, array in random_inputs(infos, seed).items()}
        if not any(all(np.array_equal(inputs[key], known.inputs[key]) for key in inputs) for known in sets):
            sets.append(InputSet(name, f"{how}, seed {seed}", inputs))
    return sets
