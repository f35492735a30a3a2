"""Runs the two models of a fused executable (examples/model_fusion).

    fusion.py EXECUTABLE.popef
"""

import sys

import numpy as np
from poprt import runtime


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    config = runtime.RuntimeConfig()
    config.timeout_ns = 0
    config.validate_io_params = False
    runner = runtime.Runner(sys.argv[1], config)

    added = np.zeros([2], np.float32)
    runner.execute({"graph0/X": np.ones([1, 2], np.float32), "graph0/Y": np.full([1, 2], 2, np.float32)},
                   {"graph0/O": added})
    print("graph0:", ", ".join(f"{v:g}" for v in added))

    row = np.ones([1, 3], np.float16)
    runner.execute({"graph1/X": np.zeros([1, 1], np.float16)}, {"graph1/O": row})
    print("graph1:", ", ".join(f"{v:g}" for v in row[0]))


if __name__ == "__main__":
    main()
