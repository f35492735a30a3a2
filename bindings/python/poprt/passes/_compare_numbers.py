"""Numbers of the differences between tensors."""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

import numpy as np

__all__ = ["TOLERANCES", "Largest", "Tolerance", "difference", "unknown_difference"]

_BINS = 32


class Tolerance(NamedTuple):
    """The tolerance of option check: an element may differ by ``relative`` of its value plus ``of_largest`` of the
    largest magnitude of the tensor."""

    precision: str
    relative: float
    of_largest: float

    def __str__(self) -> str:
        return (f"{self.precision}: {100 * self.relative:.4g} % of the original's value + {100 * self.of_largest:.4g} % of the tensor's "
                "largest magnitude")


TOLERANCES = {t.precision: t for t in (Tolerance("fp32", 1e-3, 1e-4), Tolerance("fp16", 2e-2, 1e-2), Tolerance("fp8", 0.2, 0.2))}


class Largest:
    """The largest absolute and relative differences of tensors over several runs."""

    def __init__(self, tolerance: Tolerance):
        self.absolute: Optional[dict[str, Any]] = None
        self.relative: Optional[dict[str, Any]] = None
        self.outside: list[str] = []  # sentences about differences outside the tolerance
        self._tolerance = tolerance
        self._first: dict[str, float] = {}

    def add(self, name: str, inputs: str, origin: np.ndarray[Any, Any], converted: np.ndarray[Any, Any]) -> None:
        """Adds one tensor of one run. Arrays of different shapes are outside any tolerance. NaN equals NaN. The
        difference of two elements is infinite if one of them is NaN or infinite and the other one is not equal."""
        if origin.shape != converted.shape:
            self.outside.append(f"'{name}' has the size {list(origin.shape)} in the original and {list(converted.shape)} in the "
                                f"converted model (inputs: {inputs})")
            return
        a, b = origin.astype(np.float64).ravel(), converted.astype(np.float64).ravel()
        finite = np.isfinite(a)
        most = float(np.abs(a[finite]).max(initial=0))
        scale = max(most, self._first.setdefault(name, most))
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        near = finite & np.isfinite(b)
        apart = np.where(same, 0.0, np.inf)
        apart[near] = np.abs(a[near] - b[near])
        magnitude = np.where(finite, np.abs(a), 0.0)
        allowed = self._tolerance.relative * magnitude + self._tolerance.of_largest * scale
        if np.any(apart > allowed):
            self.outside.append(f"'{name}' differs in {int(np.sum(apart > allowed))} of {a.size} elements by more than the tolerance "
                                f"(inputs: {inputs})")
        small = finite & (magnitude <= self._tolerance.of_largest * scale)
        part = np.divide(apart, magnitude, out=np.where(apart > 0, np.inf, 0.0), where=magnitude > 0)
        part[small] = 0
        self.absolute = _larger(self.absolute, name, inputs, apart, origin, converted)
        self.relative = _larger(self.relative, name, inputs, part, origin, converted)

    def lines(self) -> list[str]:
        texts = []
        for kind, found in (("absolute", self.absolute), (f"relative (elements above {100 * self._tolerance.of_largest:.4g} % of the "
                                                          "largest)", self.relative)):
            if found is not None:
                texts.append(f"largest {kind} difference: {found['difference']:.6g} in '{found['tensor']}' at {found['index']}: "
                             f"{found['origin']:.9g} in the original, {found['converted']:.9g} in the converted model (inputs: "
                             f"{found['inputs']})")
        return texts + [f"tolerance of check: {self._tolerance}", *(f"outside the tolerance: {text}" for text in self.outside)]


def _larger(known: Optional[dict[str, Any]], name: str, inputs: str, amounts: np.ndarray[Any, Any], origin: np.ndarray[Any, Any],
            converted: np.ndarray[Any, Any]) -> Optional[dict[str, Any]]:
    if not amounts.size:
        return known
    place = int(np.argmax(amounts))
    amount = float(amounts[place])
    if amount == 0 or (known is not None and amount <= known["difference"]):
        return known
    return {"difference": amount, "tensor": name, "index": [int(i) for i in np.unravel_index(place, origin.shape)],
            "origin": float(origin.ravel()[place]), "converted": float(converted.ravel()[place]), "inputs": inputs}


def _moments(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Returns statistics of an array's finite elements and the number of the others. Skewness and kurtosis of constants
    are 0."""
    finite = values[np.isfinite(values)]
    made: dict[str, Any] = dict.fromkeys(("mean", "std", "min", "max", "skewness", "kurtosis"), 0.0)
    made |= {"hist": [0] * _BINS, "hist_edges": [0.0, 0.0], "not_finite": int(values.size - finite.size)}
    if not finite.size:
        return made
    mean, deviation = float(finite.mean()), float(finite.std())
    scaled = (finite - mean) / deviation if deviation > 0 else np.zeros_like(finite)
    low, high = float(finite.min()), float(finite.max())
    around = max(0.5, abs(low) / 2) if low == high else 0.0
    counts, edges = np.histogram(finite, _BINS, (low - around, high + around))
    return made | {"mean": mean, "std": deviation, "min": low, "max": high,
                   "skewness": float((scaled**3).mean()), "kurtosis": float((scaled**4).mean() - 3) if deviation > 0 else 0.0,
                   "hist": counts.tolist(), "hist_edges": [float(f"{edges[0]:.6g}"), float(f"{edges[-1]:.6g}")]}


def unknown_difference() -> dict[str, Any]:
    """Returns the numbers of ``difference`` as NaN, for tensors without elements."""
    nothing = np.zeros(0)
    return {**dict.fromkeys(("mse", "mae", "snr", "cosine_distance"), float("nan")),
            **{part: _moments(nothing) for part in ("origin", "converted", "noise")}}


def difference(origin: np.ndarray[Any, Any], converted: np.ndarray[Any, Any]) -> dict[str, Any]:
    """Returns MSE, MAE, SNR (energy of the noise divided by that of the signal), cosine distance, and statistics of
    origin, converted and their difference. Computed in double."""
    a, b = np.asarray(origin, np.float64).ravel(), np.asarray(converted, np.float64).ravel()
    if a.shape != b.shape:
        raise ValueError(f"expected arrays of one shape, found {list(np.shape(origin))} and {list(np.shape(converted))}")
    if not a.size:
        raise ValueError("the arrays have no elements")
    with np.errstate(invalid="ignore", over="ignore"):
        noise = b - a
        signal, product = float((a**2).sum()), float(np.sqrt((a**2).sum() * (b**2).sum()))
        snr = float((noise**2).sum()) / signal if signal > 0 else (0.0 if not noise.any() else float("inf"))
        cosine = 1 - float((a * b).sum()) / product if product > 0 else float(a.any() != b.any())
        numbers = {"mse": float((noise**2).mean()), "mae": float(np.abs(noise).mean()), "snr": snr,
                   "cosine_distance": cosine if np.isnan(cosine) else max(cosine, 0.0)}
    return {**numbers, "origin": _moments(a), "converted": _moments(b), "noise": _moments(noise)}
