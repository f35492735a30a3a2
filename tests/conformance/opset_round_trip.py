"""Converts every model of a folder to other opsets and back, and compares their results in poprt's runtime.

    opset_round_trip.py FOLDER [--poprt build/release/bin/poprt] [--opsets 11,17,18,20] [--only PART] [--dimension 2] [--onnx] [--json]

FOLDER holds .onnx files. Each model is converted to each opset of the list, and the result back to the model's own opset (if that
can be a target, that is 11 or later); `poprt --check` runs both models of each conversion on equal random inputs. Dimensions that
vary become --dimension. --onnx also runs the onnx package's checker and compares both in ONNX Runtime, which must be importable then.
Prints a Markdown table with a cell for each conversion: `ok`, `refused` (poprt named a node that has no counterpart), `not run` (poprt
does not run the model in its own opset either) or `FAILED`, and below it the messages. Exit code 1 when something failed."""

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile


class Tools:
    def __init__(self, poprt, dimension, onnx):
        self.poprt, self.dimension, self.onnx = poprt, dimension, onnx

    def run(self, *words):
        ran = subprocess.run([self.poprt, *map(str, words)], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout, ran.stderr.strip()

    def shapes(self, path):
        """Returns the options that fix the variable dimensions."""
        code, out, err = self.run("-i", path, "--show")
        if code:
            raise RuntimeError(err)
        words = []
        for name, dims in re.findall(r"^input (.*): dtype - \S+, shape - \[(.*)\]$", out, re.M):
            fixed = [d if d.isdigit() else str(self.dimension) for d in dims.split(", ")] if dims else []
            if fixed != dims.split(", ") and dims:
                words.append(f"{name}={','.join(fixed)}")
        return ["--input_shape", *words] if words else []

    def convert(self, source, target, opset, shapes):
        """`ok`, `refused` or `FAILED`, and the messages."""
        code, _, err = self.run("-i", source, "--output_model", target, "--convert_version", opset, "--check", "--skip_passes",
                                "int64_to_int32", *shapes)
        if code == 0:
            return "ok", ""
        if "no conversion from opset" in err:
            return "refused", err.splitlines()[-1]
        # A model that cannot run in its own opset cannot be compared.
        if self.run("-i", source, "--output_model", target, "--lowest_opset", 0, "--check", "--skip_passes", "int64_to_int32", *shapes)[0]:
            return "not run", err.splitlines()[-1]
        return "FAILED", err.splitlines()[-1]


def compare_elsewhere(original, converted, dimension):
    """Checks the converted model with the onnx package and compares both models in ONNX Runtime. Returns the differences."""
    import numpy
    import onnx
    import onnxruntime

    try:
        onnx.checker.check_model(converted)
    except Exception as error:  # every error is a result
        return f"onnx.checker: {str(error).splitlines()[0]}"
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    random = numpy.random.default_rng(1)
    results = []
    feeds = {}
    for path in (original, converted):
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        for given in session.get_inputs():
            shape = [d if isinstance(d, int) else dimension for d in given.shape]
            if given.name in feeds:
                continue
            kind = {"tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(bool)": "?", "tensor(uint8)": "u1"}.get(given.type)
            feeds[given.name] = (random.integers(0, 2, shape).astype(kind) if kind else
                                 random.standard_normal(shape).astype({"tensor(double)": "f8", "tensor(float16)": "f2"}.get(given.type, "f4")))
        results.append(session.run(None, feeds))
    for a, b in zip(*results):
        if getattr(a, "dtype", None) is None or a.dtype.kind not in "fiub":
            continue
        if a.shape != b.shape:
            return f"ONNX Runtime: {a.shape} became {b.shape}"
        if a.size and not numpy.allclose(a, b, rtol=1e-3, atol=1e-4 * max(1.0, float(numpy.nanmax(numpy.abs(a.astype("f8")))))):
            return f"ONNX Runtime: differs by {numpy.nanmax(numpy.abs(a.astype('f8') - b.astype('f8'))):.3g}"
    return ""


def opset_of(path):
    """The opset of ai.onnx that a model imports, which protobuf writes after the graph."""
    with open(path, "rb") as file:
        data = file.read()
    # opset_import: field 8 of ModelProto, {domain: 1, version: 2}; the last of the standard domain counts.
    found = re.findall(rb"\x42(?:\x02\x10|\x04\x0a\x00\x10)([\x01-\x7f])", data)
    return found[-1][0] if found else 0


def round_trips(tools, path, opsets):
    """Returns a list of (opset, result of the conversion to it, result of the conversion back, messages)."""
    own = opset_of(path)
    shapes = tools.shapes(path)
    rows = []
    for opset in opsets:
        with tempfile.TemporaryDirectory() as folder:
            there, again = os.path.join(folder, "there.onnx"), os.path.join(folder, "again.onnx")
            state, output = tools.convert(path, there, opset, shapes)
            back = ""
            if state == "ok" and tools.onnx:
                output = compare_elsewhere(path, there, tools.dimension)
                state = "FAILED" if output else state
            if state == "ok" and own >= 11:
                back, output = tools.convert(there, again, own, [])
                if back == "ok" and tools.onnx:
                    output = compare_elsewhere(path, again, tools.dimension)
                    back = "FAILED" if output else back
            rows.append((opset, state, back, output))
    return own, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--poprt", default="build/release/bin/poprt")
    parser.add_argument("--opsets", default="11,17,18,20")
    parser.add_argument("--only", default="")
    parser.add_argument("--dimension", type=int, default=2)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    paths = sorted(p for p in glob.glob(os.path.join(given.folder, "*.onnx")) if given.only in os.path.basename(p))
    if not paths:
        parser.error(f"'{given.folder}' has no .onnx file")
    opsets = [int(o) for o in given.opsets.split(",")]
    tools = Tools(given.poprt, given.dimension, given.onnx)
    remarks, all_rows, failed = [], {}, False
    if not given.json:
        print("| model | opset | " + " | ".join(f"{o} and back" for o in opsets) + " |")
        print("|---|---|" + "---|" * len(opsets), flush=True)
    for path in paths:
        name = os.path.basename(path)[:-5]
        try:
            own, rows = round_trips(tools, path, opsets)
        except Exception as error:
            own, rows = 0, [(o, "FAILED", "", str(error).splitlines()[0]) for o in opsets[:1]]
        all_rows[name] = {"opset": own, "conversions": rows}
        failed = failed or any("FAILED" in row[1:3] for row in rows)
        remarks += [f"{name} to {opset}: {output}" for opset, _, _, output in rows if output]
        if not given.json:
            print(f"| {name} | {own} | " + " | ".join(f"{a}{', ' + b if b else ''}" for _, a, b, _ in rows) + " |", flush=True)
    print(json.dumps(all_rows, indent=1) if given.json else "\n" + "\n".join(dict.fromkeys(remarks)))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
