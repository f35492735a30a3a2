"""Compiles the digits model for two IPUs, which work on different requests at the same time.

    sharding.py MODEL.onnx
"""

import sys

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shape = {"image": [1, 1, 8, 8]}
    options = CompilerOptions(input_shape=shape, num_ipus=2, virtual_graph_mode="auto", enable_pipelining=True, batches_per_step=2)
    executable = Compiler.compile(sys.argv[1], None, options)
    ipus = executable.popef_model().metadata.numIpus()
    images = (np.arange(20 * 64) * 7 % 17).astype(np.float32).reshape(20, 1, 1, 8, 8)
    with Runner(Compiler.compile(sys.argv[1], None, CompilerOptions(input_shape=shape))) as runner:
        expected = [runner.run({"image": image})["scores"] for image in images]
    with Runner(executable) as runner:
        scores = [np.empty_like(e) for e in expected]
        requests = [runner.execute_async({"image": image}, {"scores": s}) for image, s in zip(images, scores)]
        for request in requests:
            request.wait()
    same = all(np.array_equal(s, e) for s, e in zip(scores, expected))
    print(f"20 scans on {ipus} IPUs: " + ("the same answers as on one" if same else "other answers than on one"))


if __name__ == "__main__":
    main()
