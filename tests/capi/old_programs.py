"""C programs that were built against the headers of the first commit of ABI 1.0 run on the present library.

Usage: old_programs.py --source ROOT --library DIR --data DIR --models DIR --cc CC

The headers and the programs, which are the tests of that commit, come from the history of the repository. Without the
history (a source package, or a shallow clone), the test is skipped (exit code 77). CHANGED lists what a program may see
differently: documented differences (capi/ABI.md, "Differences within 1.0"), and texts of messages, which the ABI does
not cover."""

import argparse
import os
import subprocess
import sys
import tempfile

FIRST = "7a82d96cab49"  # capi: ABI 1.0
PROGRAMS = ("compiler", "device", "error", "executable", "layout", "popef", "popef_writer", "runner", "runners", "session")
ONNX_IS_NO_POPEF = "an ONNX file given as PopEF is invalid_argument"
NAMES = "text: names of options"
CHANGED = {
    "device": [
        ("device_count(manager), 4)", "device_count(manager), 16384)", "default number of devices"),
        ('"1 to 1024"', '"1 to 1048576"', "limit of device_count"),
        ('"not negative"', '"negative"', "text")],
    "compiler": [
        ("assert_int_equal(poprt_popef_reader_count(reader, POPRT_POPEF_OPAQUE), 1);",
         "assert_int_equal(poprt_popef_reader_count(reader, POPRT_POPEF_OPAQUE), 2);", "blobs of the library in a file"),
        ("input x: dtype - f32, shape - [0, 4]", "input x: dtype - f32, shape - [N, 4]", "text: names of unknown dimensions"),
        ("output y: dtype - f32, shape - [0, 4]", "output y: dtype - f32, shape - [N, 4]", "text: names of unknown dimensions"),
        ("float_to_half: 1 constants", "float_to_half: 1 element of 1 constant was", "text"),
        ('"precision 9"', '"`precision` 9"', NAMES), ('"batch_size is -1"', '"`batch_size` is -1"', NAMES),
        ('"batch_axis is -1"', '"`batch_axis` is -1"', NAMES)],
    "executable": [
        ('"poprt 0"', '"poprt 1"', "the version in the package of an executable"),
        ('poprt_executable_open(DATA "/identity.onnx", &e), POPRT_DATA_LOSS', 'poprt_executable_open(DATA "/identity.onnx", &e), '
         'POPRT_INVALID_ARGUMENT', ONNX_IS_NO_POPEF),
        ('poprt_popef_dump(DATA "/identity.onnx", 0, &text), POPRT_DATA_LOSS', 'poprt_popef_dump(DATA "/identity.onnx", 0, &text), '
         'POPRT_INVALID_ARGUMENT', ONNX_IS_NO_POPEF)],
    "popef": [('"/identity.onnx"), POPRT_DATA_LOSS', '"/identity.onnx"), POPRT_INVALID_ARGUMENT', ONNX_IS_NO_POPEF)],
    "popef_writer": [('POPRT_POPEF_APPEND, &w), POPRT_DATA_LOSS', 'POPRT_POPEF_APPEND, &w), POPRT_INVALID_ARGUMENT', ONNX_IS_NO_POPEF)],
    "runner": [
        ("    assert_int_equal(g.code, POPRT_OK);\n    assert_memory_equal(k.x, k.y, sizeof k.x);\n  }",
         "    if (g.code != POPRT_CANCELLED) {\n      assert_int_equal(g.code, POPRT_OK);\n"
         "      assert_memory_equal(k.x, k.y, sizeof k.x);\n    }\n  }", "freeing a runner cancels requests that wait"),
        ('"queue depth"', '"`queue_depth`"', NAMES)],
    "runners": [
        ("  OK(poprt_request_wait(request, -1));\n  poprt_request_free(request);\n  assert_memory_equal(k.x, k.y, 4);\n",
         '  FAILS(poprt_request_wait(request, -1), POPRT_CANCELLED, "");\n  poprt_request_free(request);\n',
         "freeing a runner cancels requests that wait"),
        ("POPRT_INVALID_ARGUMENT, \"'dynamic_input_name'\")", 'POPRT_INVALID_ARGUMENT, "timeout")', "a pack runner finds its input"),
        ('"ring buffer size multiplier"', '"`ring_buffer_size_multiplier`"', NAMES)],
    "session": [('"programs are 1"', '"programs are 0"', "text")],
}


def run(command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=False, **arguments)


def unpack(source, folder):
    """Unpacks the headers and programs of the first commit. Returns whether the history has it."""
    archive = os.path.join(folder, "first.tar")
    made = run(["git", "-C", source, "archive", "-o", archive, FIRST, "capi/include", "tests/capi"])
    if made.returncode != 0:
        return False
    subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
    return True


def build(options, folder, name):
    path = os.path.join(folder, "tests", "capi", name + "_test.c")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for old, new, why in CHANGED.get(name, ()):
        if old not in text:
            sys.exit(f"{name}_test.c does not contain {old!r} ({why})")
        text = text.replace(old, new)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    program = os.path.join(folder, name)
    made = run([options.cc, "-std=c11", "-D_GNU_SOURCE", f'-DDATA="{options.data}"', f'-DMODELS="{options.models}"',
                "-I" + os.path.join(folder, "capi", "include"), path, "-o", program, "-L" + options.library, "-lpoprt", "-lcmocka",
                "-lpthread", "-Wl,-rpath," + options.library])
    if made.returncode != 0:
        sys.exit(f"{name}_test.c: {made.stderr}")
    return program


def main():
    parser = argparse.ArgumentParser()
    for option in ("source", "library", "data", "models", "cc"):
        parser.add_argument("--" + option, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if not unpack(options.source, folder):
            print(f"skipped: there is no commit {FIRST} in the history")
            return 77
        failed = []
        for name in PROGRAMS:
            done = run([build(options, folder, name)], cwd=folder, timeout=300)
            if done.returncode != 0:
                failed.append(name)
                print(f"{name}_test.c:\n{done.stdout}{done.stderr}")
    print(f"{len(PROGRAMS) - len(failed)} of {len(PROGRAMS)} programs pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
