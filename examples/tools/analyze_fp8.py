"""Finds the scale of F143, and the layers to keep in fp16, with the best accuracy of a classifier, by trials on the
CPU.

    analyze_fp8.py --model_path model.onnx --val_dir data --output_path out --batch_size 8 --input_shapes image=8,3,224,224

`--val_dir` contains .npz files of numpy.savez with a preprocessed array for each input, and `labels`. All scales from
-5 to 2 are tried for inputs and weights with the first layer, the last or both in fp16. Then each of the eight layers
with the largest error in 8 bits is also kept in fp16. OUTPUT_PATH/MODEL.csv contains all trials. The last output line
is the best of them.
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
    """Returns ({input: array}, labels) of all files in the folder."""
    files = [dict(np.load(path)) for path in sorted(glob.glob(os.path.join(folder, "*.npz")))]
    if not files:
        sys.exit(f"analyze_fp8.py: there is no .npz file in '{folder}'")
    if any("labels" not in file for file in files):
        sys.exit("analyze_fp8.py: expected an array `labels` beside the inputs in each .npz file")
    arrays = {name: np.concatenate([file[name] for file in files]) for name in files[0]}
    return arrays, arrays.pop("labels")


def layers_of(model):
    """Returns the names of the nodes that fp8 changes, in order: products with constant weights."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return [node.name for node in model.graph.node if node.op_type in LAYERS and node.input[1] in constants]


class Trial:
    """Compiles a model with given formats and computes its outputs."""

    def __init__(self, model, shapes, batch):
        self.model, self.shapes, self.batch = model, shapes, batch

    def outputs(self, data, **options):
        """Returns the first output for all samples, which are run in batches. The last batch is padded."""
        made = poprt.Converter(input_shape=self.shapes, **options).convert(self.model)
        results, count = [], len(next(iter(data.values())))
        with poprt.Runner(poprt.Compiler.compile(made)) as runner:
            inputs, output = runner.get_execute_inputs(), runner.get_execute_outputs()[0].name
            for begin in range(0, count, self.batch):
                rows = np.arange(begin, begin + self.batch) % count
                results.append(runner.run({d.name: data[d.name][rows].astype(d.numpy_data_type()) for d in inputs})[output])
        return np.concatenate(results)[:count].astype(np.float32)

    def fp8(self, data, scale, skipped):
        """Returns the outputs with 8-bit floats in all layers except some."""
        return self.outputs(data, precision="fp8", fp8_params=f"F143,F143,{scale},{scale}", fp8_skip_op_names=",".join(skipped))


def worst_layers(trial, data, scale, layers):
    """Returns the layers whose 8 bits change the results most, in decreasing order."""
    few = {name: array[:RANKED_BY] for name, array in data.items()}
    wanted = trial.outputs(few)
    errors = {name: ((trial.fp8(few, scale, [other for other in layers if other != name]) - wanted) ** 2).mean() for name in layers}
    return sorted(layers, key=errors.get, reverse=True)[:WORST]


def search(trial, data, labels, skipped):
    """Returns rows of scale, fp16 layers and accuracy. `skipped` is (description, names)."""
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
    """Parses the command line."""
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
    for i, node in enumerate(model.graph.node):  # nodes are identified by name
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
