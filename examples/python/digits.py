"""Compiles the digits model and classifies handwritten digits with it.

    digits.py MODEL.onnx IMAGES.idx3-ubyte LABELS.idx1-ubyte
    """

import sys
import time

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner

BATCH = 8


def read_idx(path):
    """Returns the array of an IDX file of bytes."""
    with open(path, "rb") as file:
        data = file.read()
    if len(data) < 4 or data[2] != 8:
        raise ValueError(f"{path} is no IDX file of bytes")
    shape = np.frombuffer(data, ">u4", data[3], 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * data[3]).reshape(shape)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    images, labels = read_idx(sys.argv[2]), read_idx(sys.argv[3])
    model = Compiler.compile(sys.argv[1], None, CompilerOptions(input_shape={"image": [BATCH, 1, 8, 8]}))
    with Runner(model) as runner:
        image, scores = np.zeros((BATCH, 1, 8, 8), np.float32), np.empty((BATCH, 10), np.float32)
        bound = runner.bind({"image": image}, {"scores": scores})
        correct, fastest = 0, float("inf")
        for first in range(0, len(images), BATCH):
            n = len(images[first:first + BATCH])
            image[:n, 0] = images[first:first + n] / 16  # scales pixels 0..16 to 0..1; a last batch that is not full keeps old rows
            start = time.perf_counter()
            bound.execute()
            fastest = min(fastest, time.perf_counter() - start)
            correct += np.count_nonzero(scores[:n].argmax(axis=1) == labels[first:first + n])
    print(f"{len(images)} held-out images, accuracy {correct / len(images):.4f}")
    print(f"  batch {BATCH}: fastest {fastest * 1e3:.4f} ms")


if __name__ == "__main__":
    main()
