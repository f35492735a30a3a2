"""poprt --batches_per_step and --num_io_tiles: the numbers in the file, and unchanged results."""

import json
import unittest

import onnx_writer as onnx
from support import DIGITS, CommandTest, model

QUIET = "--disable_compilation_progress_bar"


def three_inputs():
    """Two inputs of one shape and a third: y = a * b, z = a + b, w = -c."""
    inputs = [onnx.value("a", onnx.F32, [2, 3]), onnx.value("b", onnx.F32, [2, 3]), onnx.value("c", onnx.F32, [4])]
    nodes = [onnx.node("Mul", ["a", "b"], ["y"]), onnx.node("Add", ["a", "b"], ["z"]), onnx.node("Neg", ["c"], ["w"])]
    outputs = [onnx.value("y", onnx.F32, [2, 3]), onnx.value("z", onnx.F32, [2, 3]), onnx.value("w", onnx.F32, [4])]
    return onnx.model(nodes, inputs, outputs)


class BatchesPerStep(CommandTest):
    command = "poprt"

    def compiled(self, name, *words, onnx_model=DIGITS, shape=("--input_shape", "image=2,1,8,8")):
        self.succeeds("-i", onnx_model, *shape, "--output", name, QUIET, *words)
        return json.loads(self.succeeds("--json", name, command="popef_dump"))["models"][0]

    def test_the_file_records_batches_per_step(self):
        for words, batches in (([], 1), (["--batches_per_step", "4"], 4), (["--batch_per_step", "3"], 3),
                               (["--compiler_options", "batches_per_step=5"], 5),
                               (["--batches_per_step", "1000000", "--num_io_tiles", "64"], 1000000)):
            with self.subTest(words):
                found = self.compiled("d.popef", *words)
                self.assertEqual(found["device_iterations"], batches)
                # An anchor has the shape of one transfer, regardless of the number of batches in a step.
                self.assertEqual([(a["name"], a["shape"]) for a in found["anchors"]],
                                 [("image", [2, 1, 8, 8]), ("scores", [2, 10])])
        self.assertIn("device_iterations: 1000000", self.succeeds("-m", "d.popef", command="popef_dump"))

    def test_as_the_config_and_the_cache_have_it(self):
        self.write("c.yaml", f"input_model: {model('relu')}\nexport_popef: True\nbatches_per_step: 6\nnum_io_tiles: 32\n".encode())
        for _ in range(2):  # the first one compiles, the second one finds the executable in the cache
            self.succeeds("--config_yaml", "c.yaml", QUIET, "--compiler_options", "enable_engine_caching=True", "cache_path=cache")
            found = json.loads(self.succeeds("--json", "executable.popef", command="popef_dump"))["models"][0]
            self.assertEqual(found["device_iterations"], 6)
        self.assertEqual(len([n for n in self.tree() if n.startswith("cache/")]), 1)

    def test_the_cache_tells_one_ipu_from_several(self):
        several = ["num_ipus=2", "virtual_graph_mode=auto", "enable_pipelining=True"]
        cached = ["-i", DIGITS, "--input_shape", "image=2,1,8,8", "--output", "d.popef", QUIET, "--compiler_options",
                  "enable_engine_caching=True", "cache_path=cache"]
        for words, ipus in (([], "1"), ([*several, "batches_per_step=2"], "2"), ([], "1")):
            self.run_command(*cached, *words)
            self.assertIn(f"num_ipus: {ipus}", self.succeeds("-m", "d.popef", command="popef_dump"))
        self.assertIn("multiple of the 2 stages", self.run_command(*cached, *several, "batches_per_step=3").err)

    def test_it_is_compiled_again_and_fused_as_it_was(self):
        self.compiled("d.popef", "--batches_per_step", "4", "--embed_source")
        self.succeeds("d.popef", "--force", "-o", "again.popef", command="poprt_exec recompile")
        self.assertIn("device_iterations: 4", self.succeeds("-m", "again.popef", command="popef_dump"))

    def test_results_are_those_of_one_at_a_time(self):
        self.npy("x.npy", "f4", [2, 1, 8, 8], [(i * 37 % 101) / 101 for i in range(128)])
        results = set()
        for batches in (1, 3, 4):
            for tiles in (0, 32):
                self.compiled("d.popef", "--batches_per_step", batches, "--num_io_tiles", tiles)
                self.succeeds("d.popef", "--input", "image=x.npy", "--output", "scores=y.npy", command="poprt_exec run")
                results.add(self.tree()["y.npy"])
        self.assertEqual(len(results), 1)

    def test_every_kind_of_run(self):
        self.compiled("d.popef", "--batches_per_step", "4", "--num_io_tiles", "32")
        for words in ([], ["--async"], ["--through", "callbacks"], ["--through", "queues"], ["--clients", "3"]):
            with self.subTest(words):
                text = self.succeeds("d.popef", "--iterations", "10", *words, command="poprt_exec bench")
                requests = {"callbacks": 12, "": 10}[words[-1] if words[-1:] == ["callbacks"] else ""]
                self.assertIn(f" {3 * requests if '3' in words else requests} requests", text)
        self.assertIn("iterations: 5", self.succeeds("--popef", "d.popef", "--iteration", "5", command="poprt_exec poprt_run_popef"))

    def test_with_joined_inputs(self):
        self.write("m.onnx", three_inputs())
        self.compiled("m.popef", "--apply_hcsr", "fp32,[2,3]", "--batches_per_step", "4", "--num_io_tiles", "32",
                      onnx_model="m.onnx", shape=())
        self.assertIn("hostConcatRunner", self.succeeds("--popef", "m.popef", "--runner", "hostConcatRunner", "--iteration", "9",
                                                        "--numThreads", "3", command="poprt_exec poprt_run_popef"))

    def test_a_fused_model_and_several_shapes(self):
        self.write("one.onnx", three_inputs())
        self.write("c.yaml", b"output_dir: .\nexport_popef: True\nmodel_fusion:\n- input_model: one.onnx\n- input_model: one.onnx\n")
        self.succeeds("--config_yaml", "c.yaml", QUIET, "--batches_per_step", "3", "--num_io_tiles", "32")
        self.assertIn("device_iterations: 3", self.succeeds("-m", "executable.popef", command="popef_dump"))
        for index in "01":
            self.succeeds("--popef", "executable.popef", "--index", index, "--iteration", "9", "--numThreads", "3",
                          command="poprt_exec poprt_run_popef")
        shapes = ["-i", DIGITS, "--input_shape", "image=1,1,8,8/2,1,8,8", "--output", "s.popef", QUIET, "--batches_per_step", "3"]
        self.succeeds(*shapes)
        ran = self.run_command(*shapes, "--num_io_tiles", "32")
        self.assertEqual(ran.code, 0)
        self.assertRegex(ran.err, "^[^\n]*num_io_tiles=32 is only recorded: a model at several shapes[^\n]*\n$")

    def test_refuses_invalid_values_and_warns_of_odd_ones(self):
        for value in ("0", "-1", "1000001", "two", "1.5", ""):
            self.misused(["-i", DIGITS, f"--batches_per_step={value}"], "--batches_per_step")
        for value in ("-1", "x"):
            self.misused(["-i", DIGITS, f"--num_io_tiles={value}"], "--num_io_tiles")
        for tiles in (1, 31, 33, 1472):
            ran = self.run_command("-i", model("relu"), "--output", "r.popef", QUIET, "--num_io_tiles", tiles)
            self.assertEqual(ran.code, 0)
            self.assertRegex(ran.err, f"^[^\n]*num_io_tiles={tiles}: a chip takes an even number from 32 on[^\n]*\n$")
        ran = self.run_command("-i", model("relu"), "--output", "r.popef", QUIET, "--num_io_tiles", "32", "--logging_level", "INFO")
        self.assertIn("give 3 or more", ran.err)


if __name__ == "__main__":
    unittest.main()
