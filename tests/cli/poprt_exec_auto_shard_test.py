"""poprt_exec auto_shard: the cuts of a model, and the results of the cut model."""

import itertools
import json
import os
import unittest

import onnx_writer as onnx
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

    def test_a_variable_batch_is_one(self):
        """The model is not converted, as in PopRT's example of sharding."""
        ran = self.run_command("-i", DIGITS, "--num_ipus", "2", "--runs", "5", "--output_model", "v.onnx")
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("input 'image' has variable dimensions; it is cut as [1,1,8,8]", ran.err)
        self.assertTrue(os.path.exists(self.path("v.onnx")))

    def test_a_model_is_cut_by_the_estimate_of_a_chip(self):
        """Equal products are equal parts, whatever the host measures."""
        nodes, weights = self.chain([64] * 9)
        found = self.sharded(nodes, weights, ["--num_ipus", "2", "--target", "bow"])
        self.assertEqual(found["estimated_for"], "bow")
        self.assertEqual([row["cut"] for row in found["ipus"]], [["node_v3"], []])
        self.assertGreater(found["latency_ms"], 0)
        slower = self.sharded(nodes, weights, ["--num_ipus", "2", "--target", "mk2"])
        self.assertGreater(slower["latency_ms"], found["latency_ms"])
        printed = self.succeeds("-i", "m.onnx", "--num_ipus", "2", "--target", "c600")
        self.assertIn("Estimate for c600, not measured", printed)
        self.misused(["-i", "m.onnx", "--num_ipus", "2", "--target", "c600", "--optimal_perf"], "--optimal_perf")
        self.misused(["-i", "m.onnx", "--num_ipus", "2", "--target", "c600", "--runs", "3"], "--runs")
        self.misused(["-i", "m.onnx", "--num_ipus", "2", "--available_memory_proportion", "0.2"], "--target")
        self.misused(["-i", "m.onnx", "--num_ipus", "2", "--target", "ipu9"], "--target: there is no target 'ipu9'")

    def sharded(self, nodes, weights, words, outputs="y"):
        """The nodes at which a model of x[1,w] is cut, IPU by IPU."""
        self.write("m.onnx", onnx.model(nodes, [onnx.value("x", onnx.F32, [1, 64])], [onnx.value(outputs, onnx.F32, [1, "n"])], weights))
        runs = [] if "--target" in words else ["--runs", "1"]
        ran = self.run_command("-i", "m.onnx", *runs, "--json", *words)
        self.assertEqual(ran.code, 0, ran.err)
        return json.loads(ran.out)

    def chain(self, widths):
        """Products; the weights of each have two successive widths as rows and columns."""
        nodes, weights = [], []
        for i, (rows, columns) in enumerate(zip(widths, widths[1:])):
            made = "y" if i + 2 == len(widths) else f"v{i}"
            nodes.append(onnx.node("MatMul", ["x" if i == 0 else f"v{i - 1}", f"w{i}"], [made]))
            weights.append(onnx.floats(f"w{i}", [rows, columns], [0.125] * (rows * columns)))
        return nodes, weights

    def test_a_chain_is_cut_where_the_fullest_ipu_has_least(self):
        """The cuts are compared with all possible ones."""
        for widths in ([64, 8, 40, 72, 24, 56, 16], [64, 16, 16, 16, 120, 8, 8, 8], [64, 120, 8, 16, 24, 32]):
            nodes, weights = self.chain(widths)
            amounts = [4 * a * b + 1 for a, b in zip(widths, widths[1:])]
            for ipus in (2, 3):
                with self.subTest(widths=widths, ipus=ipus):
                    best = min(itertools.combinations(range(1, len(amounts)), ipus - 1), key=lambda cuts: max(
                        sum(amounts[a:b]) for a, b in zip((0, *cuts), (*cuts, len(amounts)))))
                    found = self.sharded(nodes, weights, ["--num_ipus", ipus])["ipus"]
                    self.assertEqual([row["cut"] for row in found], [[f"node_v{cut - 1}"] for cut in best] + [[]])
                    for row, begin, end in zip(found, (0, *best), (*best, len(amounts))):
                        self.assertGreaterEqual(row["bytes"], sum(amounts[begin:end]) - (end - begin))

    def test_branches_are_cut_where_they_meet(self):
        """A node with one changing input is no place to cut as long as others have two."""
        nodes = [onnx.node("MatMul", ["x", "a"], ["p"]), onnx.node("Relu", ["p"], ["q"]), onnx.node("Add", ["p", "q"], ["r"]),
                 onnx.node("MatMul", ["r", "b"], ["s"]), onnx.node("Relu", ["s"], ["t"]), onnx.node("Mul", ["r", "t"], ["u"]),
                 onnx.node("MatMul", ["u", "c"], ["v"]), onnx.node("Neg", ["v"], ["y"])]
        weights = [onnx.floats(n, [64, 64], [0.125] * 4096) for n in "abc"]
        cuts = {n: [row["cut"] for row in self.sharded(nodes, weights, ["--num_ipus", n])["ipus"]] for n in (2, 3)}
        self.assertEqual(cuts, {2: [["node_r"], []], 3: [["node_r"], ["node_u"], []]})
        self.misused(["-i", "m.onnx", "--num_ipus", "4"], "--num_ipus: the model has 3 places for cuts, found 4")

    def test_warns_of_an_ipu_above_the_memory_proportion(self):
        nodes, weights = self.chain([64, 2560, 2560, 8])
        ran = self.run_command("-i", "m.onnx", "--num_ipus", "2")  # the model does not exist yet
        self.assertEqual(ran.code, 1)
        self.sharded(nodes, weights, ["--num_ipus", "2", "--memory_proportion", "0.03"])
        ran = self.run_command("-i", "m.onnx", "--num_ipus", "2", "--runs", "1", "--json", "--memory_proportion", "0.02")
        most = max(row["bytes"] for row in json.loads(ran.out)["ipus"])
        self.assertIn(f"an IPU is {100 * most / (1472 * 624 * 1024):.0f} % full, --memory_proportion allows 2 %", ran.err)

    def test_the_best_of_several_cuts(self):
        ran = self.run_command("-i", "d.onnx", "--num_ipus", "3", "--optimal_perf", "--num_processes", "3", "--runs", "20", "--json",
                               "--output_model", "best.onnx")
        self.assertEqual(ran.code, 0, ran.err)  # it may warn of cuts that leave an IPU without work
        found = json.loads(ran.out)
        self.assertEqual([row["ipu"] for row in found["ipus"]], [0, 1, 2])
        self.assertEqual(found["ipus"][2]["cut"], [])
        self.assertGreater(found["throughput"], 0)
        self.assertTrue(os.path.exists(self.path("best.onnx")))

    def test_refuses_invalid_options(self):
        self.misused(["-i", "d.onnx", "--num_ipus", "1"], "--num_ipus: expected more than 1, found 1")
        self.misused(["-i", "d.onnx", "--num_ipus", "500"], "places for cuts")
        self.misused(["-i", "d.onnx", "--num_ipus", "2", "--num_processes", "0"], "--num_processes")
        self.misused(["-i", "d.onnx", "--num_ipus", "2", "--output_model", "d.onnx"], "same file as 'd.onnx', which the command reads")
        self.misused(["--num_ipus", "2"], "--input_model")
        self.fails(["-i", "none.onnx", "--num_ipus", "2"], "none.onnx")


if __name__ == "__main__":
    unittest.main()
