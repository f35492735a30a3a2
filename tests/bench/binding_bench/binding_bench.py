"""binding_bench.py MODEL ROUNDS RUNS bound|dict: nanoseconds of one execute, the fastest round, and bytes copied."""

import sys
import time

import numpy as np
import poprt
from poprt.runtime import Runner, RuntimeConfig


def main():
    rounds, runs = int(sys.argv[2]), int(sys.argv[3])
    with Runner(sys.argv[1], RuntimeConfig(threads=1)) as runner:
        inputs, outputs = {"x": np.zeros((2, 4), np.float32)}, {"y": np.empty((2, 4), np.float32)}
        inputs["x"][0, 0] = 3
        if sys.argv[4] == "bound":
            execute, arguments = runner.bind(inputs, outputs).execute, ()
        else:
            execute, arguments = runner.execute, (inputs, outputs)
        best = float("inf")
        for _ in range(rounds):
            start = time.perf_counter_ns()
            for _ in range(runs):
                execute(*arguments)
            best = min(best, (time.perf_counter_ns() - start) / runs)
    assert outputs["y"][0, 0] == 7
    print(best, poprt.bytes_copied())


if __name__ == "__main__":
    main()
