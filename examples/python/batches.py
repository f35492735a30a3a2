"""Compiles the digits model for 16 batches in a call of the device. The inputs of the next step are copied while one
computes. Three threads submit requests, as PopRT's manual recommends.

    batches.py MODEL.onnx
"""

import sys
import threading

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import Runner, RuntimeConfig

THREADS, SCANS = 3, 64


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    shape = {"image": [1, 1, 8, 8]}
    images = (np.arange(THREADS * SCANS * 64) * 7 % 17).astype(np.float32).reshape(THREADS, SCANS, 1, 1, 8, 8)
    with Runner(Compiler.compile(sys.argv[1], None, CompilerOptions(input_shape=shape))) as runner:
        expected = np.stack([[runner.run({"image": image})["scores"] for image in part] for part in images])

    options = CompilerOptions(input_shape=shape, batches_per_step=16, num_io_tiles=32)
    executable = Compiler.compile(sys.argv[1], None, options)
    scores = np.empty_like(expected)
    # With timeout_ns=0, a step that is not full waits for more requests without limit. All steps become full, because
    # the number of requests is a multiple of 16.
    with Runner(executable, RuntimeConfig(timeout_ns=0)) as runner:

        def client(mine):
            requests = [runner.execute_async({"image": image}, {"scores": s}) for image, s in zip(images[mine], scores[mine])]
            for request in requests:
                request.wait()

        clients = [threading.Thread(target=client, args=(n,)) for n in range(THREADS)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()
        counts = runner.statistics()
    same = "the same answers as one by one" if np.array_equal(scores, expected) else "other answers than one by one"
    print(f"{THREADS * SCANS} scans in {counts['steps']} steps of {executable.popef_model().metadata.deviceIterations()}: {same}")


if __name__ == "__main__":
    main()
