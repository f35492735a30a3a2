"""Packs sequences for a small transformer and checks that each result equals that of the sequence alone.

    packing.py FOLDER      # of examples/packing
    """

import os
import sys

import numpy as np
from poprt.compiler import Compiler, CompilerOptions
from poprt.runtime import PackAlgorithm, PackRunner, PackRunnerConfig, Runner

ITEMS, LENGTH = 8, 16
NARROW = {"narrow_int64": "True"}  # makes the ids int32


def requests():
    random = np.random.default_rng(1)
    for n in (3, 16, 7, 1, 12, 5, 9, 4, 16, 2):
        yield {"input_ids": random.integers(1, 50, (1, n), np.int32), "attention_mask": np.ones((1, n), np.int32)}


def padded(request):
    return {name: np.pad(a, ((0, 3), (0, LENGTH - a.shape[1]))) for name, a in request.items()}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    model = os.path.join(sys.argv[1], "encoder.onnx")
    with Runner(Compiler.compile(model, None, CompilerOptions(options=NARROW))) as runner:
        alone = [runner.run(padded(r))["hidden"][:1, :r["input_ids"].shape[1]] for r in requests()]

    # Sequences are unpacked before attention and packed again after it. The runner only needs a timeout.
    unpacking = CompilerOptions(options={**NARROW, "pack_args": f"max_valid_num={ITEMS}\nsegment_max_size={LENGTH}"})
    # A mask with the numbers of the sequences separates them within a row. The runner needs the name of the mask.
    masked = CompilerOptions(options=NARROW, passes=["insert_attention_mask"])
    rows = PackRunnerConfig(timeout_microseconds=1000, max_valid_num=ITEMS)
    rows.enable_input_single_row_mode("attention_mask", delimiter=1)
    rows.algorithm = PackAlgorithm.first_fit
    for name, options, config in (("unpack and repack", unpacking, PackRunnerConfig(timeout_microseconds=1000)),
                                  ("attention mask", masked, rows)):
        with PackRunner(Compiler.compile(model, None, options), config) as runner:
            width = runner.get_execute_outputs()[0].shape[1]
            outputs = [{"hidden": np.empty((1, width, 12), np.float32)} for _ in alone]
            for future in [runner.execute_async(r, out) for r, out in zip(requests(), outputs)]:
                future.wait()
            worst = max(np.abs(out["hidden"].reshape(-1)[:want.size] - want.reshape(-1)).max() for out, want in zip(outputs, alone))
            packs = runner.statistics()["steps"]
        print(f"{name}: {len(alone)} sequences in {packs} packs, " + ("as alone" if worst < 1e-4 else f"wrong by {worst}"))


if __name__ == "__main__":
    main()
