"""Runs an example and checks its output.

Usage: example_test.py readme|guide|digits|serving|anchors|export|fusion|buckets|sharding|batches|packing|replicas DIGITS_FOLDER POPRT COMMAND..."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

LANGUAGE_MODEL = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data/generation/genai")
# The lines of the chapters of examples/LANGUAGE/guide.*, which are the same in each language.
CHAPTERS = """load: image
load: scores
run: 1 10
async: [13]
batch: 20 10
shapes: [34] 10
state: 33 33 24 21 43 37 34 43
serve: 40
.* at the 99th percentile
errors: .*missing.onnx.*
"""


def main():
    kind, data, poprt = sys.argv[1:4]
    command = sys.argv[4:]
    data = os.path.abspath(data)
    model = os.path.join(data, "digits.onnx")
    with tempfile.TemporaryDirectory() as folder:
        if kind == "digits":
            command += [model] + [os.path.join(data, f"heldout-{n}-ubyte") for n in ("images.idx3", "labels.idx1")]
        elif kind == "serving":
            command += [model]
        elif kind in ("anchors", "export"):
            subprocess.run([poprt, "-i", model, "--input_shape", "image=8,1,8,8", "--output_dir", folder,
                            "--export_popef"], check=True, stdout=subprocess.DEVNULL)
            command += [os.path.join(folder, "executable.popef")]
            if kind == "export":
                command += [os.path.join(folder, "by_hand.popef")]
        elif kind == "fusion":
            models = os.path.join(os.path.dirname(data), "model_fusion")
            for name in os.listdir(models):
                shutil.copy(os.path.join(models, name), folder)
            subprocess.run([poprt, "--config_yaml", "config.yaml"], check=True, stdout=subprocess.DEVNULL, cwd=folder)
            command += [os.path.join(folder, "executable.popef")]
        elif kind in ("buckets", "sharding", "batches"):
            command += [model]
        elif kind == "replicas":
            command += [os.path.join(os.path.dirname(data), "replicas", "cache.onnx")]
        elif kind == "packing":
            command += [os.path.join(os.path.dirname(data), "packing")]
        elif kind == "guide":
            os.symlink(model, os.path.join(folder, "digits.onnx"))
            os.symlink(LANGUAGE_MODEL, os.path.join(folder, "language_model"))
        done = subprocess.run(command, cwd=folder if kind == "guide" else data, capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode}")
    check(kind, data, done.stdout)


def check(kind, data, printed):
    if kind == "readme":
        assert re.search(r"scores.*\[8, ?10\]", printed), "expected the scores' shape"
    elif kind == "guide":
        assert re.fullmatch(CHAPTERS, printed), f"expected the lines\n{CHAPTERS}"
    elif kind == "digits":
        reached = float(re.search(r"360 held-out images, accuracy ([0-9.]+)", printed).group(1))
        with open(os.path.join(data, "accuracy.json"), encoding="utf-8") as file:
            expected = json.load(file)["fp32"]
        assert abs(reached - expected) <= 0.001, f"reached {reached}, training framework {expected}"
    elif kind == "serving":
        assert printed == "200 requests from 4 clients, 200 right\n"
    elif kind == "fusion":
        assert printed == "graph0: 3, 3\ngraph1: 0, 1.5, 2\n"
    elif kind == "buckets":
        assert printed == "1, 3, 7 and 20 scans: the same answers as one by one\n"
    elif kind == "sharding":
        assert printed == "20 scans on 2 IPUs: the same answers as on one\n"
    elif kind == "batches":
        assert printed == "192 scans in 12 steps of 16: the same answers as one by one\n"
    elif kind == "replicas":
        assert printed == "4 sessions in 2 processes: 4 saw their own history\n"
    elif kind == "packing":
        lines = printed.splitlines()
        assert len(lines) == 2 and all(re.search(r"10 sequences in [2-9] packs, as alone$", line) for line in lines), "expected two ways"
    elif kind == "export":
        assert printed == "by hand: made by an example\noutput scores: 320 bytes, as compiled\n"
    else:
        assert printed == "input image f32 [8,1,8,8] 2048 bytes\noutput scores f32 [8,10] 320 bytes\n"


if __name__ == "__main__":
    main()
