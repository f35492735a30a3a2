#!/usr/bin/env python3
"""Compare a model's latency in poprt and in OpenVINO by turns in one process, on one thread unless --threads is given.

    python3 tests/bench/openvino_turns.py [--build build/release] [--execution_precision bf16]
                                          [--openvino_precision f32] [--threads 1] [--turns 15] MODEL.onnx...

Needs the packages openvino, onnx and numpy. Models have static shapes. OpenVINO computes in its default
precision (bf16 on CPUs that have it) unless --openvino_precision is given. The ratio is OpenVINO's time divided
by poprt's in each turn; above 1, poprt is faster. The difference is the root mean square of the difference of
the first output, as a part of that of the output.
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time


def feeds_of(model, rng):
    """Return random inputs by name; integers index tables of at least 1000 rows, masks and types are 0 or 1."""
    feeds = {}
    for value in model.graph.input:
        shape = [d.dim_value for d in value.type.tensor_type.shape.dim]
        if value.type.tensor_type.elem_type == onnx.TensorProto.INT64:
            limit = 2 if "mask" in value.name or "type" in value.name else 1000
            feeds[value.name] = rng.integers(0, limit, shape)
        else:
            feeds[value.name] = rng.standard_normal(shape).astype("float32")
    return feeds


def poprt_runner(path, folder, arguments, feeds):
    """Compile the model and return a function that runs it and the array of its first output."""
    command = [f"{arguments.build}/bin/poprt", "-i", path, "--output_dir", folder, "--export_popef"]
    if arguments.execution_precision:
        command += ["--execution_precision", arguments.execution_precision]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    runner = runtime.Runner(f"{folder}/executable.popef")
    inputs = {i.name: feeds[i.name].astype(i.numpy_data_type()) for i in runner.get_execute_inputs()}
    outputs = {o.name: numpy.zeros(o.shape, o.numpy_data_type()) for o in runner.get_execute_outputs()}
    return lambda: runner.execute(inputs, outputs), next(iter(outputs.values()))


def openvino_runner(path, arguments, feeds):
    """Return a function that runs the model in OpenVINO and its request."""
    config = {"INFERENCE_NUM_THREADS": arguments.threads, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
    if arguments.openvino_precision:
        config["INFERENCE_PRECISION_HINT"] = arguments.openvino_precision
    compiled = openvino.Core().compile_model(path, "CPU", config)
    request = compiled.create_infer_request()
    inputs = [feeds[i.get_any_name()] for i in compiled.inputs]
    return lambda: request.infer(inputs), request


def seconds(run):
    """Return the time of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def compare(path, arguments):
    """Print one line for a model."""
    feeds = feeds_of(onnx.load(path), numpy.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        ours, result = poprt_runner(path, folder, arguments, feeds)
        theirs, request = openvino_runner(path, arguments, feeds)
        for run in (ours, theirs):
            for _ in range(3):
                run()
        want = request.get_output_tensor(0).data.astype("float64").ravel()
        got = result.astype("float64").ravel()
        difference = numpy.sqrt(((got - want) ** 2).mean() / (want**2).mean())
        turns = [(seconds(ours), seconds(theirs)) for _ in range(arguments.turns)]
    a, b = (sorted(1e3 * t[i] for t in turns) for i in (0, 1))
    ratios = sorted(t[1] / t[0] for t in turns)
    middle = len(turns) // 2
    print(
        f"{os.path.basename(path)}: poprt {a[0]:.2f} / {a[middle]:.2f} ms, OpenVINO {b[0]:.2f} / {b[middle]:.2f} ms, "
        f"ratio {ratios[middle]:.2f} [{ratios[0]:.2f}, {ratios[-1]:.2f}], difference {difference:.1e}",
        flush=True,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--execution_precision")
    parser.add_argument("--openvino_precision")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--turns", type=int, default=15)
    options = parser.parse_args()
    os.environ["POPRT_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(options.threads)
    sys.path.insert(0, f"{options.build}/python")
    import numpy
    import onnx
    import openvino
    from poprt import runtime

    for name in options.models:
        compare(name, options)
