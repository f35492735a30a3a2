"""The same model and options give the same bytes: in another process, with another number of threads, in another folder,
and whatever was in memory before."""

import os
import shutil
import subprocess
import unittest

from support import DIGITS, ROOT, CommandTest, model

DIGITS_SHAPE = ("--input_shape", "image=2,1,8,8")
FEW = {"POPRT_THREADS": "1", "MALLOC_PERTURB_": "85", "TZ": "UTC"}
MANY = {"POPRT_THREADS": "2", "MALLOC_PERTURB_": "170", "TZ": "Asia/Tokyo"}  # the allocator fills memory with other bytes


def data(folder, name):
    return os.path.join(ROOT, "tests", "data", folder, name + ".onnx")


class SameBytes(CommandTest):
    command = "poprt"

    def compiled_files(self, folder, onnx, words, environment, cpus):
        """Compiles the model in a separate folder and returns the files that this makes."""
        os.makedirs(self.path(folder))
        shutil.copy(onnx, self.path(folder))
        command = self.arguments(["-i", os.path.basename(onnx), "-o", "a.popef", "--keep_converted", *words])
        ran = subprocess.run(command, cwd=self.path(folder), env={**os.environ, **environment}, text=True, timeout=300,
                             stdin=subprocess.DEVNULL, capture_output=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, cpus))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        files = {}
        for name in os.listdir(self.path(folder)):
            with open(os.path.join(self.path(folder), name), "rb") as file:
                files[name] = file.read()
        shutil.rmtree(self.path(folder))
        self.assertIn("a.popef", files)
        self.assertEqual(len(files), 3, list(files))  # the model, the converted model, the executable
        return files

    def compiled_twice(self, onnx, *words):
        """The bytes of the executable, which are equal in both runs."""
        cpus = os.sched_getaffinity(0)
        first = self.compiled_files("a", onnx, words, FEW, {min(cpus)})
        second = self.compiled_files("another/folder with a long name", onnx, words, MANY, cpus)
        self.assertEqual(sorted(first), sorted(second))
        for name, content in first.items():
            if content != second[name]:
                differ = [i for i, (a, b) in enumerate(zip(content, second[name])) if a != b]
                self.fail(f"{os.path.basename(onnx)} {words}: {name} has {len(content)} and {len(second[name])} bytes, "
                          f"{len(differ)} differ, at {differ[:10]}")
        return first["a.popef"]

    def test_a_network_in_each_precision(self):
        single = self.compiled_twice(DIGITS, *DIGITS_SHAPE)
        half = self.compiled_twice(DIGITS, *DIGITS_SHAPE, "--precision", "fp16")
        self.assertNotEqual(single, half)

    def test_with_the_source_embedded(self):
        with_source = self.compiled_twice(DIGITS, *DIGITS_SHAPE, "--embed_source")
        with open(DIGITS, "rb") as file:
            self.assertIn(file.read(), with_source)

    def test_subgraphs(self):
        self.compiled_twice(data("contrib", "search_beam"))
        self.compiled_twice(data("contrib", "search_greedy"), "--precision", "fp16")

    def test_labels_that_are_text_and_opaque_blobs(self):
        self.assertIn(b"fish", self.compiled_twice(model("labels")))
        blobs = self.compiled_twice(model("relu"), "--compiler_options", 'opaque_blobs={"b": "two", "a": "1"}')
        self.assertNotEqual(blobs, self.compiled_twice(model("relu")))

    def test_sequences_and_results_of_variable_size(self):
        self.compiled_twice(model("split"))
        self.compiled_twice(model("nonzero"))

    def test_state_on_the_device_and_narrow_types(self):
        self.compiled_twice(data("graphcore", "kv_cache"))
        self.compiled_twice(data("graphcore", "int4_to_half_rows"))
        self.compiled_twice(data("contrib", "dynamic_quantize_lstm_bidirectional"))


if __name__ == "__main__":
    unittest.main()
