"""Runs random models with data-dependent sizes in ONNX Runtime and onnx.reference.

Each model of sized_graph_stream, and the converted model, run in ONNX Runtime with graph optimisation off; a
part of the models also runs in onnx.reference. Sizes and element types must be those of the generator's interpreter, values
within the error that it states. Differences and refusals are counted by program, and each difference is
printed with its seed; `sized_graph_stream --check SEED 1` prints that model as text.

    python3 sized_graphs.py STREAM [COUNT] [--first SEED] [--jobs N] [--reference N]

Needs packages onnx, onnxruntime and numpy.
"""

import argparse
import collections
import json
import multiprocessing
import re
import struct
import subprocess
import sys
import time
import warnings

TENSOR_TYPES = {"tensor(float)": "float32", "tensor(float16)": "float16", "tensor(int64)": "int64",
                "tensor(int32)": "int32", "tensor(bool)": "bool"}
ELEMENT_TYPES = {1: "float32", 10: "float16", 7: "int64", 6: "int32", 9: "bool"}  # of onnx.TensorProto
BATCH = 500  # models of one process of the generator
SHOWN = 20  # differences of one kind that are printed


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("stream", help="the program sized_graph_stream")
    parser.add_argument("count", nargs="?", type=int, default=200000, help="how many models (default: %(default)s)")
    parser.add_argument("--first", type=int, default=1, help="the first seed (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (default: %(default)s)")
    parser.add_argument("--reference", type=int, default=4,
                        help="every how many models onnx.reference runs, 0: never (default: %(default)s)")
    return parser.parse_args(argv)


def records(stream, first, count):
    """Yields (about, model, converted) for each seed."""
    with subprocess.Popen([stream, str(first), str(count)], stdout=subprocess.PIPE) as program:
        def block():
            head = program.stdout.read(4)
            if len(head) < 4:
                return None
            return program.stdout.read(struct.unpack("<I", head)[0])
        seen = 0
        while (about := block()) is not None:
            yield json.loads(about), block(), block()
            seen += 1
    if program.returncode or seen != count:
        raise RuntimeError(f"{stream} {first} {count} ended with {program.returncode} after {seen} models")


def cause(error):
    """The kind of an error: its text without names and numbers."""
    text = re.sub(r"'[^']*'|\"[^\"]*\"|\b[a-z_]*\d[\w]*|\bv\d+\b", "_", str(error).replace("\n", " "))
    return text[:160]


def known_defect(graph):
    """Returns the defect of onnx.reference 1.23 that a graph meets, or None. ONNX Runtime computes these graphs correctly."""
    halves = any(ELEMENT_TYPES[i.type.tensor_type.elem_type] == "float16" for i in graph.input)
    halves = halves or any(ELEMENT_TYPES.get(t.data_type) == "float16" for t in graph.initializer)
    for node in graph.node:
        if halves and node.op_type in ("LogSoftmax", "ReduceLogSumExp"):
            return "logarithms of halves: infinite where the exponential is 0 or too large"
        if node.op_type == "Loop":
            rows = node.attribute[0].g.output[len(node.input) - 1:]
            if any(not row.type.tensor_type.shape.dim for row in rows):
                return "rows of scalars of a Loop: [n, 1] in place of [n]"
            if not node.input[1]:
                return "a Loop without a condition: no rounds"
        if node.op_type == "SequenceInsert" and len(node.input) == 3:
            return "SequenceInsert at the end: at the front"
    return None


class Unjudged(Exception):
    """A model that a program is known to compute wrong."""


class Runner:
    """Runs models, compares and counts."""

    def __init__(self):
        import numpy
        import onnxruntime
        self.numpy, self.ort = numpy, onnxruntime
        onnxruntime.set_default_logger_severity(4)
        self.options = onnxruntime.SessionOptions()
        self.options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.options.intra_op_num_threads = self.options.inter_op_num_threads = 1
        self.options.log_severity_level = 4
        self.counts, self.faults = collections.Counter(), []
        self.refusals = {}  # (program, cause) -> count and the first refusal

    def array(self, value, dtype):
        return self.numpy.array(value["values"], dtype=dtype).reshape(value["shape"])

    def difference(self, name, wanted, got):
        numpy = self.numpy
        if list(got.shape) != wanted["shape"]:
            return f"'{name}' has the shape {list(got.shape)}, expected {wanted['shape']}"
        expected = self.array(wanted, numpy.float64)
        errors = numpy.array(wanted.get("errors", 0.0)).reshape(wanted["shape"] if "errors" in wanted else [])
        off = numpy.abs(got.astype(numpy.float64) - expected)
        if not (off <= 4 * errors).all():
            at = int(numpy.argmax(numpy.nan_to_num(off - 4 * errors, nan=1e30)))
            return f"'{name}' is {got.reshape(-1)[at]} at {at}, expected {expected.reshape(-1)[at]}"
        return None

    def session(self, model):
        session = self.ort.InferenceSession(model, self.options, providers=["CPUExecutionProvider"])
        types = {i.name: TENSOR_TYPES[i.type] for i in session.get_inputs()}
        return types, lambda feeds: dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))

    def reference(self, model):
        import onnx
        from onnx.reference import ReferenceEvaluator
        proto = onnx.load_from_string(model)
        if defect := known_defect(proto.graph):
            raise Unjudged(defect)
        types = {i.name: ELEMENT_TYPES[i.type.tensor_type.elem_type] for i in proto.graph.input}
        evaluator = ReferenceEvaluator(proto)
        return types, lambda feeds: dict(zip(evaluator.output_names, evaluator.run(None, feeds)))

    def compare(self, who, about, model, load):
        """Runs one model on all inputs with one program and counts the outcome. Returns whether all results are equal."""
        try:
            types, run = load(model)
            for number, given in enumerate(about["runs"]):
                feeds = {n: self.array(v, types[n]) for n, v in given["feeds"].items() if n in types}
                results = run(feeds)
                for name, wanted in given["results"].items():
                    if name not in results:
                        fault = f"there is no output '{name}'"
                    else:
                        fault = self.difference(name, wanted, self.numpy.asarray(results[name]))
                    if fault:
                        self.counts[who, "different"] += 1
                        self.faults.append((who, about["seed"], f"run {number}: {fault}", about["config"]))
                        return False
            self.counts[who, "equal"] += 1
            return True
        except Unjudged:
            self.counts[who, "unjudged"] += 1
            return False
        except Exception as error:  # programs refuse models with many types of exceptions
            self.refuse(who, about, error)
            return False

    def refuse(self, who, about, error):
        self.counts[who, "refused"] += 1
        known = self.refusals.setdefault((who, cause(error)), [0, about["seed"], " ".join(str(error).split())])
        known[0] += 1

    def models(self, stream, first, count, every):
        warnings.simplefilter("ignore")
        for about, model, converted in records(stream, first, count):
            self.compare("ONNX Runtime, original", about, model, self.session)
            # onnx.reference judges the converted model only if its results for the original are right.
            referenced = (every and about["seed"] % every == 0 and
                          self.compare("onnx.reference, original", about, model, self.reference))
            if not converted:
                self.refuse("poprt, conversion", about, about["refusal"])
                continue
            self.counts["poprt, conversion", "done"] += 1
            self.compare("ONNX Runtime, converted", about, converted, self.session)
            if referenced:
                self.compare("onnx.reference, converted", about, converted, self.reference)
        return self.counts, self.refusals, self.faults


def batch(work):
    return Runner().models(*work)


def main(argv):
    options = parse(argv)
    begin = time.monotonic()
    work = [(options.stream, first, min(BATCH, options.first + options.count - first), options.reference)
            for first in range(options.first, options.first + options.count, BATCH)]
    counts, refusals, shown, done = collections.Counter(), {}, collections.Counter(), 0
    with multiprocessing.Pool(options.jobs, maxtasksperchild=20) as pool:
        for part in pool.imap_unordered(batch, work):
            counts.update(part[0])
            for key, (n, seed, text) in part[1].items():
                refusals.setdefault(key, [0, seed, text])[0] += n
            for who, seed, text, config in part[2]:
                shown[who] += 1
                if shown[who] <= SHOWN:
                    print(f"seed {seed} ({config}): {who}: {text}", flush=True)
            done += 1
            if done % 20 == 0:
                rate = done * BATCH / (time.monotonic() - begin)
                print(f"# {done * BATCH} models, {rate:.0f} a second", file=sys.stderr, flush=True)
    for (who, _), (n, seed, text) in sorted(refusals.items(), key=lambda item: -item[1][0]):
        print(f"{n:7} refused, {who}, seed {seed}: {text[:240]}")
    for (who, outcome), n in sorted(counts.items()):
        print(f"{n:7} {outcome:9} {who}")
    print(f"{options.count} models in {time.monotonic() - begin:.0f} s")
    return 1 if any(outcome == "different" for _, outcome in counts) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
