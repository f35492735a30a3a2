"""Which scale of F143, and which layers left in fp16, keep most of a classifier's accuracy, by trials on the CPU.

    analyze_fp8.py --model_path model.onnx --val_dir data --output_path out --batch_size 8 --input_shapes image=8,3,224,224

`--val_dir` holds .npz files as numpy.savez writes them, with an array for each input, ready for the model, and `labels`. All scales
from -5 to 2 are tried for inputs and weights with the first layer, the last or both in fp16; then each of the eight layers that
8 bits harm most stays in fp16, too. OUTPUT_PATH/MODEL.csv has all trials, the last line that is printed is the best of them.
"""

import argparse
import csv
import glob
import os
import sys

import numpy as np
import onnx
import poprt

LAYERS = ("Conv", "MatMul", "Gemm")
SCALES = range(-5, 3)
RANKED_BY = 200  # samples
WORST = 8


def read_data(folder):
    """({input: array}, labels) of all files in the folder."""
    files = [dict(np.load(path)) for path in sorted(glob.glob(os.path.join(folder, "*.npz")))]
    if not files:
        sys.exit(f"analyze_fp8.py: there is no .npz file in '{folder}'")
    if any("labels" not in file for file in files):
        sys.exit("analyze_fp8.py: expected an array `labels` beside the inputs in each .npz file")
    arrays = {name: np.concatenate([file[name] for file in files]) for name in files[0]}
    return arrays, arrays.pop("labels")


def layers_of(model):
    """Names of the nodes that fp8 is for, in order: products with constant weights."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [node.name for node in model.graph.node if node.op_type in LAYERS and node.input[1] in constants]


class Trial:
    """Compiles a model with some formats and says what it gives for the data."""

    def __init__(self, model, shapes, batch):
        self.model, self.shapes, self.batch = model, shapes, batch

    def outputs(self, data, **options):
        """The first output for all samples, which are run in batches, the last one filled up."""
        made = poprt.Converter(input_shape=self.shapes, **options).convert(self.model)
        results, count = [], len(next(iter(data.values())))
        with poprt.Runner(poprt.Compiler.compile(made)) as runner:
            inputs, output = runner.get_execute_inputs(), runner.get_execute_outputs()[0].name
            for begin in range(0, count, self.batch):
                rows = np.arange(begin, begin + self.batch) % count
                results.append(runner.run({d.name: data[d.name][rows].astype(d.numpy_data_type()) for d in inputs})[output])
        return np.concatenate(results)[:count].astype(np.float32)

    def fp8(self, data, scale, skipped):
        """The same with 8-bit floats in all layers but some."""
        return self.outputs(data, precision="fp8", fp8_params=f"F143,F143,{scale},{scale}", fp8_skip_op_names=",".join(skipped))


def worst_layers(trial, data, scale, layers):
    """Those whose 8 bits alone change the results most, the worst first."""
    few = {name: array[:RANKED_BY] for name, array in data.items()}
    wanted = trial.outputs(few)
    errors = {name: ((trial.fp8(few, scale, [other for other in layers if other != name]) - wanted) ** 2).mean() for name in layers}
    return sorted(layers, key=errors.get, reverse=True)[:WORST]


def search(trial, data, labels, skipped):
    """Rows of scale, what stays fp16 and accuracy; `skipped` is (what it is called, names)."""
    rows = []

    def measure(scale, called, names):
        rows.append((scale, called, float((trial.fp8(data, scale, names).argmax(axis=-1) == labels).mean())))
        print(*rows[-1], flush=True)

    called, names = skipped
    for scale in SCALES:
        measure(scale, called, names)
    best = max(rows, key=lambda row: row[2])[0]
    layers = [name for name in layers_of(trial.model) if name not in names]
    for name in worst_layers(trial, data, best, layers) if len(layers) > 1 else layers:
        measure(best, f"{called},{name}", [*names, name])
    return rows


def words_of_command():
    """What the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--model_path", required=True)
    parser.add_argument("--val_dir", required=True)
    parser.add_argument("--output_path", required=True)
    parser.add_argument("--batch_size", type=int, default=1)
    parser.add_argument("--input_shapes", nargs="*", default=[], metavar="NAME=d0,d1,...")
    parser.add_argument("--default_skip_layer", choices=["first", "last", "both"], default="both")
    return parser.parse_args()


def main():
    words = words_of_command()
    data, labels = read_data(words.val_dir)
    model = onnx.load(words.model_path)
    for i, node in enumerate(model.graph.node):  # they are told apart by their names
        node.name = node.name or f"{node.op_type}_{i}"
    layers = layers_of(model)
    if not layers:
        sys.exit("analyze_fp8.py: the model has no Conv, MatMul or Gemm with constant weights")
    skipped = {"first": layers[:1], "last": layers[-1:], "both": [layers[0], layers[-1]]}[words.default_skip_layer]
    trial = Trial(model, words.input_shapes or None, words.batch_size)
    rows = search(trial, data, labels, (words.default_skip_layer, skipped))
    os.makedirs(words.output_path, exist_ok=True)
    stem = os.path.splitext(os.path.basename(words.model_path))[0]
    with open(os.path.join(words.output_path, stem + ".csv"), "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("scale", "skip_layer", "accuracy"), *rows])
    print("best:", *max(rows, key=lambda row: row[2]))


if __name__ == "__main__":
    main()
