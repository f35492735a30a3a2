"""poprt_exec auto_shard: where a model is cut, and what the cut model gives."""

import json
import os
import unittest

from support import DIGITS, CommandTest


class AutoShard(CommandTest):
    command = "poprt_exec auto_shard"

    def setUp(self):
        super().setUp()
        self.succeeds("-i", DIGITS, "--input_shape", "image=1,1,8,8", "--output_model", "d.onnx", command="poprt")

    def test_a_model_is_cut_for_two(self):
        printed = self.succeeds("-i", "d.onnx", "--num_ipus", "2", "--runs", "20")
        self.assertRegex(printed, r"IPU 0: [0-9.]+ MB, cut at .+\nIPU 1: [0-9.]+ MB, the rest\nLatency: [0-9.]+ ms\nThroughput: ")
        self.assertTrue(os.path.exists(self.path("d.auto_sharded.onnx")))
        self.succeeds("-i", "d.auto_sharded.onnx", "--output", "two.popef", "--compiler_options", "num_ipus=2",
                      "virtual_graph_mode=manual", "enable_pipelining=True", "batches_per_step=4", command="poprt")
        dumped = json.loads(self.succeeds("--json", "two.popef", command="popef_dump"))
        self.assertEqual(dumped["models"][0]["num_ipus"], 2)
        self.assertIn("poprt.shards", [blob["name"] for blob in dumped["opaque_blobs"]])

    def test_the_best_of_several_cuts(self):
        ran = self.run_command("-i", "d.onnx", "--num_ipus", "3", "--optimal_perf", "--num_processes", "3", "--runs", "20", "--json",
                               "--output_model", "best.onnx")
        self.assertEqual(ran.code, 0, ran.err)  # it may warn of cuts that leave an IPU without work
        found = json.loads(ran.out)
        self.assertEqual([row["ipu"] for row in found["ipus"]], [0, 1, 2])
        self.assertEqual(found["ipus"][2]["cut"], [])
        self.assertGreater(found["throughput"], 0)
        self.assertTrue(os.path.exists(self.path("best.onnx")))

    def test_what_is_wrong_is_said(self):
        self.misused(["-i", "d.onnx", "--num_ipus", "1"], "--num_ipus: expected more than 1, found 1")
        self.misused(["-i", "d.onnx", "--num_ipus", "500"], "places to share")
        self.misused(["-i", "d.onnx", "--num_ipus", "2", "--num_processes", "0"], "--num_processes")
        self.misused(["-i", "d.onnx", "--num_ipus", "2", "--output_model", "d.onnx"], "overwrite its source")
        self.misused(["--num_ipus", "2"], "--input_model")
        self.fails(["-i", "none.onnx", "--num_ipus", "2"], "none.onnx")


if __name__ == "__main__":
    unittest.main()
