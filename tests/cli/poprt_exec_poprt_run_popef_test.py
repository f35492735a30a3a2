"""poprt_exec poprt_run_popef: runs any PopEF file with random data. Nothing here asserts a time."""

import json
import os
import re
import unittest

from support import ROOT, CommandTest

MODELS = os.path.join(ROOT, "tests", "bindings", "data")


class PoprtRunPopef(CommandTest):
    command = "poprt_exec poprt_run_popef"

    def report(self, popef, *words):
        text = self.succeeds("--popef", popef, *words)
        first = re.match(r"runner: (\w+), threads: (\d+), iterations: (\d+), batch size: (\d+)\n", text)
        self.assertRegex(text, r"\nlatency ms: max [\d.]+ min [\d.]+ average [\d.]+ P99 [\d.]+\n"
                               r"total: [\d.]+ ms, throughput: [\d.]+ samples/s\n$")
        return first.groups()

    def affine(self, *words):
        return self.popef(os.path.join(MODELS, "affine.onnx"), "--input_shape", "x=2,4", *words)

    def test_four_runner_modes_run(self):
        self.assertEqual(self.report(self.affine(), "--iteration", "5"), ("modelRunner", "1", "5", "2"))
        self.assertEqual(self.report(self.affine(), "--runner", "lightRunner", "--numThreads", "2")[:3], ("lightRunner", "2", "100"))
        self.assertEqual(self.report(self.affine(), "--runner", "packRunner", "--dynamicInputName", "x", "--iteration", "20",
                                     "--numThreads", "3", "--packTimeout", "500", "--maxValidNum", "2", "--batchSize", "2"),
                         ("packRunner", "3", "20", "1"))
        self.assertEqual(self.report(self.affine(), "--runner", "packRunner", "--iteration", "20", "--batchSize", "1"),
                         ("packRunner", "1", "20", "1"))
        concat = {"x": {"tensor_name": "x", "input_tensor_names": ["a", "b"], "shape": [2, 4], "data_size_bytes": 32}}
        blob = json.dumps({"HostConcatRunnerConfig": json.dumps(concat)})
        popef = self.affine("--compiler_options", "opaque_blobs=" + blob)
        self.assertEqual(self.report(popef, "--runner", "hostConcatRunner", "--iteration", "3")[0], "hostConcatRunner")

    def test_numbers_belong_together(self):
        """For any times, the statistics of the report agree with each other and with the number of rows."""
        popef = self.affine()
        for threads, iterations in ((1, 1), (2, 30)):
            text = self.succeeds("--popef", popef, "--iteration", iterations, "--numThreads", threads)
            most, least, mean, p99, total, rate = map(float, re.search(
                r"latency ms: max ([\d.]+) min ([\d.]+) average ([\d.]+) P99 ([\d.]+)\ntotal: ([\d.]+) ms, throughput: ([\d.]+) ", text).groups())
            self.assertTrue(0 < least <= mean <= most and least <= p99 <= most, text)
            if iterations == 1:
                self.assertEqual((least, mean, p99), (most, most, most))
            rows = 2 * threads * iterations
            self.assertAlmostEqual(1000 * rows / rate, total, delta=0.006 + 0.06 / rate * total)  # rounded to 0.01 ms and 0.1 samples/s
            self.assertLessEqual(mean * iterations, total + 0.006 + 0.0001 * iterations)

    def test_index_chooses_the_graph_of_a_fused_model(self):
        popef = self.popef(os.path.join(MODELS, "fused.onnx"))
        for index in ("0", "1"):
            self.assertEqual(self.report(popef, "--index", index, "--iteration", "4")[0], "modelFusionRunner")
        self.misused(["--popef", popef, "--index", "7"], "--index", "no graph 7")
        self.misused(["--popef", self.affine(), "--index", "1"], "--index", "because it is not fused")

    def test_replicas_in_several_processes_share_the_ipus(self):
        popef = self.affine()
        os.environ["POPRT_DEVICES"] = "4"
        self.addCleanup(os.environ.pop, "POPRT_DEVICES")
        words = ["--popef", popef, "--iteration", "20", "--numThreads", "2"]
        text = self.succeeds(*words, "--replicationFactor", "2", "--numProcesses", "2")
        self.assertIn("\nprocesses: 2, replicas in each: 2\n", text)
        self.assertRegex(text, r"\ntotal: [\d.]+ ms, throughput: [\d.]+ samples/s\n$")
        self.assertIn("processes: 1, replicas in each: 4", self.succeeds(*words, "--replicationFactor", "4"))
        self.fails([*words, "--replicationFactor", "5"], "all 4 devices are busy")
        self.fails([*words, "--numProcesses", "2", "--replicationFactor", "5"], "process ", "devices are busy")
        self.fails(["--popef", "none.popef", "--numProcesses", "2"], "process 0: ", "none.popef")
        self.misused([*words, "--runner", "lightRunner", "--replicationFactor", "2"], "--replicationFactor", "lightRunner")

    def test_refuses_invalid_arguments(self):
        self.fails(["--popef", "none.popef"], "none.popef")
        self.fails(["--popef", self.affine(), "--runner", "hostConcatRunner"], "HostConcatRunnerConfig")
        self.fails(["--popef", self.affine(), "--runner", "packRunner", "--dynamicInputName", "nope"], "nope")
        self.misused(["--popef", self.affine(), "--runner", "fastRunner"], "--runner", "'fastRunner'")
        self.misused(["--popef", self.affine(), "--iteration", "0"], "--iteration", "at least 1")
        self.misused([], "--popef")


if __name__ == "__main__":
    unittest.main()
