"""Compiles the digits model at three batch sizes into one executable, and runs requests of other sizes.

    buckets.py MODEL.onnx
    """

import sys

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    options = CompilerOptions(options={"input_shape": "image=1,1,8,8/4,1,8,8/20,1,8,8"})
    images = (np.arange(20 * 64) * 7 % 17).astype(np.float32).reshape(20, 1, 8, 8)
    with Runner(Compiler.compile(sys.argv[1], None, options)) as runner:
        single = np.concatenate([runner.run({"image": images[i:i + 1]})["scores"] for i in range(20)])
        same = all(np.allclose(runner.run({"image": images[:count]})["scores"], single[:count], atol=1e-4)
                   for count in (1, 3, 7, 20))
    print("1, 3, 7 and 20 scans: " + ("the same answers as one by one" if same else "other answers than one by one"))


if __name__ == "__main__":
    main()
