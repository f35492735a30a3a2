"""Runs a model in ONNX Runtime with random inputs.

    run_with_ort.py --model model.onnx --print
    """

import argparse
import sys

import numpy as np
from poprt.backend import get_session


def random_input(shape, dtype, rng):
    """Returns values that are also valid for indices, masks and images. A variable dimension is 1."""
    shape = [d if isinstance(d, int) and d > 0 else 1 for d in shape]
    if np.issubdtype(dtype, np.floating):
        return rng.random(shape).astype(dtype)
    return rng.integers(0, 2, shape).astype(dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model", required=True)
    parser.add_argument("--print", action="store_true", help="the numbers, too")
    words = parser.parse_args()
    try:
        session = get_session(words.model, backend="onnxruntime").load()
    except ImportError as error:
        sys.exit(f"run_with_ort.py: {error}")
    inputs, outputs = session.get_io_info()
    rng = np.random.default_rng(0)
    results = session.run(list(outputs), {name: random_input(*info, rng) for name, info in inputs.items()})
    for name, result in zip(outputs, results):
        print(f"{name}: {result.dtype} {list(result.shape)}")
        if words.print:
            print(result)


if __name__ == "__main__":
    main()
