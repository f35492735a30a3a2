"""poprt_exec recompile with files that Python wrote: some options, and data and blobs that were added later."""

import json
import os
import subprocess
import tempfile
import unittest

import numpy as np
import popef
from poprt.compiler import Compiler, CompilerOptions, Executable
from poprt.runtime import Runner, RuntimeConfig

DATA = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
POPRT_EXEC = os.path.join(os.environ["POPRT_BUILD"], "bin", "poprt_exec")


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Recompile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "a.popef")

    def recompile(self, *words):
        ran = subprocess.run([POPRT_EXEC, "recompile", self.file, "--force", "--json", *words], text=True, check=False,
                             capture_output=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return json.loads(ran.stdout)

    def test_every_option_gives_the_same_bytes_again(self):
        for name, options in (
                ("sequence.onnx", {"batch_size": 2, "input_length": {"s": 2}, "rewrite_limit": 1000}),
                ("affine.onnx", {"input_shape": {"x": [2, 4]}, "stop_after": "eliminate_identity"}),
                ("lookup.onnx", {"precision": "fp32"}),
                ("weights.onnx", {"constant_weights": False})):
            with self.subTest(name):
                path = os.path.join(DATA, name)
                Compiler.compile_and_export(path, None, self.file, CompilerOptions(embed_source=True, **options))
                fresh = read(self.file)
                self.assertTrue(self.recompile()["recompiled"])
                self.assertEqual(read(self.file), fresh)

    def test_outputs_are_kept_in_their_order(self):
        path = os.path.join(DATA, "lookup.onnx")
        Compiler.compile_and_export(path, ["next", "rows"], self.file, CompilerOptions())
        fresh = read(self.file)
        output = self.recompile("--source", path)
        self.assertEqual([o["value"] for o in output["options"] if o["name"] == "outputs"], ["next", "rows"])
        self.assertEqual(read(self.file), fresh)

    def test_a_model_from_memory_has_no_name(self):
        data = read(os.path.join(DATA, "affine.onnx"))
        options = {"input_shape": {"x": [2, 4]}}
        Compiler.compile(data, None, CompilerOptions(**options)).save(self.file)
        ran = subprocess.run([POPRT_EXEC, "recompile", self.file, "--force"], text=True, check=False, capture_output=True)
        self.assertEqual(ran.returncode, 1)
        self.assertIn("neither contains its ONNX model nor records its path; give --source", ran.stderr)
        self.recompile("--source", os.path.join(DATA, "affine.onnx"))
        Compiler.compile(data, None, CompilerOptions(embed_source=True, **options)).save(self.file)
        fresh = read(self.file)
        self.assertEqual(self.recompile()["source"], "embedded")
        self.assertEqual(read(self.file), fresh)

    def test_changed_weights_and_blobs_stay(self):
        path = os.path.join(DATA, "weights.onnx")
        Compiler.compile_and_export(path, None, self.file, CompilerOptions(constant_weights=False))
        reader = popef.Reader()
        reader.parseFile(self.file)
        info = next(t.info for t in reader.tensors() if t.info.name() == "w")
        w = np.full(info.tensorInfo().shape(), 3, np.float32)
        with popef.FileWriter(self.file, popef.FileWriter.Mode.APPEND) as writer:
            tensor = writer.createTensorData(info)
            tensor.write(w.tobytes())
            tensor.close()
            blob = writer.createOpaqueBlob("notes", "weights")
            blob.write(b"free text")
            blob.close()

        def result():
            with Runner(Executable(self.file), RuntimeConfig(threads=1)) as runner:
                x = np.ones(runner.get_inputs()[0].shape, np.float32)
                return next(iter(runner.run({"x": x}).values()))

        before = result()
        self.recompile("--source", path)
        self.assertTrue(np.array_equal(result(), before))
        again = popef.Reader()
        again.parseFile(self.file)
        self.assertEqual([bytes(o.data()) for o in again.opaqueBlobs() if o.name == "notes"], [b"free text"])


if __name__ == "__main__":
    unittest.main()
