"""How two tensors differ, in numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["difference"]

_BINS = 32


def _moments(values: np.ndarray[Any, Any]) -> dict[str, Any]:
    """What an array's elements are like. Skewness and kurtosis of what does not vary are 0."""
    mean, deviation = float(values.mean()), float(values.std())
    scaled = (values - mean) / deviation if deviation > 0 else np.zeros_like(values)
    counts, edges = np.histogram(values, _BINS)
    return {"mean": mean, "std": deviation, "min": float(values.min()), "max": float(values.max()),
            "skewness": float((scaled**3).mean()), "kurtosis": float((scaled**4).mean() - 3) if deviation > 0 else 0.0,
            "hist": counts.tolist(), "hist_edges": [float(f"{edges[0]:.6g}"), float(f"{edges[-1]:.6g}")]}


def difference(origin: np.ndarray[Any, Any], converted: np.ndarray[Any, Any]) -> dict[str, Any]:
    """MSE, MAE, SNR (of the noise's energy to the signal's), cosine distance, and what origin, converted and their
    difference are like. Computed in double."""
    a, b = np.asarray(origin, np.float64).ravel(), np.asarray(converted, np.float64).ravel()
    if a.shape != b.shape:
        raise ValueError(f"expected arrays of one shape, found {list(np.shape(origin))} and {list(np.shape(converted))}")
    if not a.size:
        raise ValueError("the arrays have no elements")
    noise = b - a
    signal, product = float((a**2).sum()), float(np.sqrt((a**2).sum() * (b**2).sum()))
    snr = float((noise**2).sum()) / signal if signal > 0 else (0.0 if not noise.any() else float("inf"))
    cosine = 1 - float((a * b).sum()) / product if product > 0 else float(a.any() != b.any())
    return {"mse": float((noise**2).mean()), "mae": float(np.abs(noise).mean()), "snr": snr, "cosine_distance": max(cosine, 0.0),
            "origin": _moments(a), "converted": _moments(b), "noise": _moments(noise)}
