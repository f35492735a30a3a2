"""The environment of a test with an engine from PyPI, and the digits model.

An engine NAME is looked for in the virtual environment POPRT_SERVING_NAME, default ~/.cache/poprt/NAME."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.environ["POPRT_BUILD"]
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples")
DIGITS = os.path.join(EXAMPLES, "digits")


def enter(name, package, install):
    """Continues in the virtual environment of an engine, or ends the test with code 77 and a reason."""
    folder = os.environ.get(f"POPRT_SERVING_{name.upper()}", os.path.expanduser(f"~/.cache/poprt/{name}"))
    python = os.path.join(folder, "bin", "python")
    if os.path.exists(python) and os.path.realpath(sys.prefix) != os.path.realpath(folder):
        os.environ["PYTHONPATH"] = os.path.join(BUILD, "python")
        os.execv(python, [python, "-B", *sys.argv])
    if os.path.realpath(sys.prefix) != os.path.realpath(folder) or not importlib.util.find_spec(package):
        print(f"skipped: there is no {package}: python3 -m venv {folder}; {folder}/bin/pip install {install}")
        sys.exit(77)


def digits():
    """Returns images f32[n,1,8,8], their labels, and the accuracy of the training framework."""
    import numpy
    with open(os.path.join(DIGITS, "heldout-images.idx3-ubyte"), "rb") as file:
        images = numpy.frombuffer(file.read()[16:], numpy.uint8).reshape(-1, 1, 8, 8).astype(numpy.float32) / 16
    with open(os.path.join(DIGITS, "heldout-labels.idx1-ubyte"), "rb") as file:
        labels = numpy.frombuffer(file.read()[8:], numpy.uint8)
    with open(os.path.join(DIGITS, "accuracy.json"), encoding="utf-8") as file:
        return images, labels, json.load(file)["fp32"]


def compiled(test, shape="image=8,1,8,8"):
    """Returns the path of the compiled digits model, in a folder that is removed after the test class."""
    folder = tempfile.mkdtemp()
    test.addClassCleanup(shutil.rmtree, folder)
    subprocess.run([os.path.join(BUILD, "bin/poprt"), "-i", os.path.join(DIGITS, "digits.onnx"), "--input_shape", shape,
                    "--output_dir", folder, "--export_popef"], check=True, capture_output=True)
    return os.path.join(folder, "executable.popef")


def accuracy_of_example(name, popef):
    """Runs examples/engines/NAME.py on the digits and returns the accuracy that it prints."""
    files = [os.path.join(DIGITS, file) for file in ("heldout-images.idx3-ubyte", "heldout-labels.idx1-ubyte")]
    done = subprocess.run([sys.executable, os.path.join(EXAMPLES, "engines", name), popef, *files], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise AssertionError(f"{name} ended with {done.returncode}: {done.stderr[-2000:]}")
    return float(re.search("accuracy ([0-9.]+)", done.stdout)[1])
