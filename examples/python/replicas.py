"""Two processes serve a model with a cache, each with two replicas, and each replica on its own IPU. The requests of a
session name the replica that has its state.

    replicas.py MODEL.onnx [FOLDER REPLICAS]
"""

import subprocess
import sys
import tempfile

import numpy as np
from poprt.compiler import Compiler
from poprt.runtime import Runner, RuntimeConfig

PROCESSES, REPLICAS, STEPS = 2, 2, 5


def serve(model, folder, replicas):
    """Runs one session on each replica alternately. Prints the number of sessions that only saw their own history."""
    config = RuntimeConfig(replication_factor=replicas, shared_devices=folder)
    right = 0
    with Runner(Compiler.compile(model), config) as runner:
        print("ready", flush=True)
        sys.stdin.readline()  # wait until all processes have their IPUs
        length = runner.get_execute_outputs()[0].shape[0]
        seen = np.zeros((replicas, length), np.float32)
        for step in range(STEPS):
            for replica in range(replicas):
                value = np.float32(100 * replica + step + 1)
                runner.execute({"step": np.array(step, np.int32), "x": value.reshape(1)}, {"y": seen[replica]}, replica=replica)
        for replica in range(replicas):
            newest = [100 * replica + STEPS - i for i in range(length)]
            right += np.array_equal(seen[replica], newest)
    print(right)


def main():
    if len(sys.argv) == 4:
        return serve(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, sys.argv[1], folder, str(REPLICAS)]
        processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
        for process in processes:
            process.stdout.readline()
        right = sum(int(process.communicate("go\n")[0]) for process in processes)
    print(f"{PROCESSES * REPLICAS} sessions in {PROCESSES} processes: {right} saw their own history")


if __name__ == "__main__":
    main()
