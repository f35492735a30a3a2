"""poprt_exec inspect: the views of the desktop inspector, without a window."""

import json
import os
import random
import subprocess
import unittest

import onnx_writer as w
from support import DIGITS, ROOT, CommandTest

POPEF = os.path.join(ROOT, "tests", "data", "popef", "v1_0.popef")
TEXT = b"""graph "g" opset {"": 17} {
  input %x : f32[1,2]
  const %w : f32[2,2] = [1.0, 2.0, 3.0, 4.0]
  %a : f32[1,2] = MatMul(%x, %w) "first"
  %y : f32[1,2] = Relu(%a) "second"
  output %y
}
"""


def chain(rows=2, layers=3):
    nodes, constants, last = [], [], "x"
    for i in range(layers):
        nodes += [w.node("MatMul", [last, f"w{i}"], [f"m{i}"]), w.node("Relu", [f"m{i}"], [f"r{i}"])]
        constants.append(w.floats(f"w{i}", [4, 4], [(j * 7 + i) % 5 / 8 - 0.125 for j in range(16)]))
        last = f"r{i}"
    return w.model(nodes, [w.value("x", w.F32, [rows, 4])], [w.value(last, w.F32, [rows, 4])], constants)


class Inspect(CommandTest):
    command = "poprt_exec inspect"

    def setUp(self):
        super().setUp()
        self.write("g.ir", TEXT)

    def rows(self, *words):
        return json.loads(self.succeeds(*words, "--json"))

    def test_summary_is_the_default(self):
        text = self.succeeds("g.ir")
        self.assertTrue(text.startswith("summary\n"))
        self.assertIn("IR text", text)

    def test_every_view_of_a_model(self):
        tables = self.rows("g.ir", "--view", "all")
        self.assertLessEqual({"summary", "graph", "operators", "weights", "passes", "program", "memory"}, set(tables))
        self.assertEqual([r["operator"] for r in tables["graph"]], ["input", "MatMul", "Relu", "output"])
        self.assertEqual(tables["weights"][0]["bytes"], 16)
        self.assertEqual(tables["passes"][0]["pass"], "model")
        self.assertGreater(len(tables["program"]), 0)

    def test_every_view_of_a_popef_file(self):
        tables = self.rows(POPEF, "--view", "all")
        self.assertLessEqual({"anchors", "blobs", "metadata", "data", "opaque"}, set(tables))
        self.assertGreater(len(tables["anchors"]), 0)

    def test_digits(self):
        self.assertGreater(len(self.rows(DIGITS, "--view", "graph")["graph"]), 5)

    def test_searches(self):
        self.assertEqual([r["name"] for r in self.rows("g.ir", "--view", "graph", "--filter", "op:relu")["graph"]], ["second"])
        self.assertEqual(len(self.rows("g.ir", "--view", "graph", "--most", "2")["graph"]), 2)

    def test_one_node_with_its_weights(self):
        tables = self.rows("g.ir", "--node", "first")
        statistics = {r["property"]: r["value"] for r in tables["statistics of w"]}
        self.assertEqual((statistics["least"], statistics["most"], statistics["mean"]), (1, 4, 2.5))

    def test_compares(self):
        self.write("h.ir", TEXT.replace(b"Relu", b"Tanh").replace(b"4.0]", b"6.0]"))
        rows = self.rows("g.ir", "--compare", "h.ir")["diff"]
        self.assertIn(("changed", "node", "second"), [(r["change"], r["category"], r["name"]) for r in rows])
        self.assertIn(("changed", "weight", "w"), [(r["change"], r["category"], r["name"]) for r in rows])
        self.assertEqual(self.rows("g.ir", "--compare", "g.ir")["diff"], [])

    def test_svg(self):
        picture = self.succeeds("g.ir", "--svg")
        self.assertTrue(picture.startswith("<svg"))
        self.assertIn("MatMul", picture)

    def test_a_damaged_popef_file_shows_the_rest(self):
        with open(POPEF, "rb") as file:
            data = file.read()
        blobs = self.rows(POPEF, "--view", "blobs")["blobs"]
        last = blobs[-1]["offset"]
        self.write("cut.popef", data[:last + 70])
        summary = [r for r in self.rows("cut.popef")["summary"] if r["property"] == "problem"]
        self.assertGreater(len(summary), 0)
        self.assertEqual(len(self.rows("cut.popef", "--view", "blobs")["blobs"]), len(blobs) - 1)

    def test_watches_and_records_running_processes(self):
        words = self.arguments([DIGITS, "--input_shape", "image=1,1,8,8", "--seconds", "600"], "poprt_exec bench")
        environment = {**os.environ, "POPRT_TELEMETRY": "1", "POPRT_TELEMETRY_DIR": self.folder}
        process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(60):
                rows = self.rows("--view", "queues", "--folder", self.folder, "--seconds", "1", "--record", "r.telemetry")["queues"]
                if rows and rows[0]["completed"] > 0:
                    break
        finally:
            process.kill()
            process.wait()
        self.assertEqual((rows[0]["pid"], rows[0]["alive"]), (process.pid, True))
        replayed = self.rows("r.telemetry", "--view", "queues")["queues"]
        self.assertEqual([r["queue"] for r in replayed], [r["queue"] for r in rows])

    def parts(self, *words):
        return [r["name"] for r in self.rows(*words, "--view", "parts")["parts"]]

    def test_parts_equal_those_of_the_compiled_file(self):
        """The parts of a model are those of the PopEF file that poprt makes of it."""
        self.write("chain.onnx", chain())
        self.write("open.onnx", chain("n"))
        self.write("cuts.yaml", b"- {node: node_r0, device: 0, stage: 0}\n- {node: node_r1, device: 1, stage: 1}\n")
        self.write("devices.yaml", b"- {node: node_r1, device: 0}\n")
        self.write("fusion.yaml", b"""output: fused.popef
keep_converted: True
model_fusion:
  - {input_model: chain.onnx, manual_sharding_config: devices.yaml, compiler_options: [num_ipus=2, virtual_graph_mode=manual]}
  - {input_model: open.onnx, input_shape: ['x=3,4']}
""")
        self.succeeds("-i", "chain.onnx", "--manual_sharding_config", "devices.yaml", "--output", "two.popef", "--output_model",
                      "two.onnx", "--compiler_options", "num_ipus=2", "virtual_graph_mode=manual", command="poprt")
        self.succeeds("-i", "chain.onnx", "--manual_sharding_config", "cuts.yaml", "--output", "piped.popef", "--output_model",
                      "piped.onnx", "--compiler_options", "num_ipus=3", "virtual_graph_mode=manual", "enable_pipelining=True",
                      "batches_per_step=3", command="poprt")
        self.succeeds("--config_yaml", "fusion.yaml", command="poprt")
        self.succeeds("-i", "open.onnx", "--input_shape", "x=1,4/3,4", "--output", "sizes.popef", "--output_model", "sizes.onnx",
                      command="poprt")
        self.assertEqual(self.parts("two.onnx"), self.parts("two.popef"))
        self.assertEqual(self.parts("two.onnx"), ["IPU 0", "IPU 1"])
        self.assertEqual(self.parts("piped.onnx"), self.parts("piped.popef"))
        self.assertEqual(len(self.parts("piped.onnx")), 3)
        self.assertEqual(self.parts("model_fusion.optimized.onnx"), self.parts("fused.popef"))
        self.assertEqual(self.parts("fused.popef"), ["IPU 0", "IPU 1"])
        for words in (["x=1,4/3,4"], ["x=1,4", "x=3,4"]):
            self.assertEqual(self.parts("open.onnx", "--input_shape", *words), self.parts("sizes.popef"))
        self.assertEqual(len(self.parts("sizes.popef")), 2)

    def test_fails(self):
        self.fails([], "FILE", code=2)
        self.fails(["g.ir", "--record", "x"], "--record", code=2)
        self.fails(["missing.onnx"], "missing.onnx")
        self.fails(["g.ir", "--view", "anchors"], "anchors", "graph")
        self.fails(["g.ir", "--node", "nobody"], "nobody")
        self.fails(["g.ir", "--most", "0"], "0", code=2)
        self.fails(["g.ir", "--text", "--json"], code=2)
        self.write("noise.onnx", bytes(range(200)))
        self.fails(["noise.onnx"], "noise.onnx")
        self.fails([POPEF, "--svg"], "--svg", code=2)

    def test_runs_a_model_and_compares_it(self):
        tables = self.rows("g.ir", "--view", "run", "--input", "x=zeros")
        output = [r for r in tables["values"] if r["role"] == "output"][0]
        self.assertEqual((output["name"], output["least"], output["most"]), ("y", 0, 0))
        self.assertEqual([r["index"] for r in tables["top of y"]], [0, 1])
        self.write("names.txt", b"cat\ndog\n")
        named = self.rows("g.ir", "--view", "run", "--input", "x=zeros", "--labels", "names.txt")["top of y"]
        self.assertEqual([(r["class"], r["softmax"]) for r in named], [("cat", 0.5), ("dog", 0.5)])
        self.fails(["g.ir", "--labels", "names.txt"], "--labels", "--view run", code=2)
        self.succeeds("g.ir", "--view", "run", "--output", "y=y.npy", "--seed", "3")
        same = self.rows("g.ir", "--view", "run", "--reference", "y=y.npy", "--seed", "3")
        self.assertTrue(same["differences"][0]["agrees"])
        self.write("h.ir", TEXT.replace(b"1.0, 2.0", b"1.0, -2.0"))
        self.fails(["g.ir", "--view", "run", "--second", "h.ir", "--input", "x=missing.npy"], "missing.npy")
        self.fails(["g.ir", "--view", "run", "--input", "nobody=zeros"], "nobody", "x")
        result = self.run_command("g.ir", "--view", "run", "--second", "h.ir", "--seed", "5", "--json")
        differs = json.loads(result.out)["differences"][0]
        self.assertEqual(result.code, 0 if differs["agrees"] else 1)
        self.assertEqual(differs["elements"], 2)

    def test_compares_models_at_the_given_shape(self):
        for name, weight in (("one.onnx", 1), ("two.onnx", 2)):
            nodes = [w.node("MatMul", ["x", "w"], ["y"])]
            self.write(name, w.model(nodes, [w.value("x", w.F32, ["n", 4])], [w.value("y", w.F32, ["n", 2])],
                                     [w.floats("w", [4, 2], [weight] * 8)]))
        for second, code in (("one.onnx", 0), ("two.onnx", 1)):
            result = self.run_command("one.onnx", "--view", "run", "--input_shape", "x=3,4", "--second", second, "--json")
            self.assertEqual(json.loads(result.out)["differences"][0]["elements"], 6, result.out)
            self.assertEqual(result.code, code)

    def test_measures_a_model(self):
        rows = {r["property"]: r["value"] for r in
                self.rows("g.ir", "--view", "run", "--bench", "0.2", "--clients", "2", "--in-flight", "2")["benchmark"]}
        self.assertGreater(rows["requests"], 0)
        self.assertLessEqual(rows["least_ms"], rows["most_ms"])

    def test_runs_a_model_whose_runner_masks_padding(self):
        """The runner fills the masks of a mean over padded places; no request has them."""
        mean = w.node("ReduceMean", ["x"], ["y"], axes=[1], keepdims=0)
        self.write("mean.onnx", w.model([mean], [w.value("x", w.F32, ["batch", "seq"])],
                                           [w.value("y", w.F32, ["batch"])]))
        shapes = ["--input_shape", "x=1,4/2,8"]
        self.succeeds("-i", "mean.onnx", *shapes, "-o", "mean.popef", command="poprt")
        self.assertIn("poprt.real.", self.succeeds("-m", "mean.popef", command="popef_dump"))
        for words in (["mean.popef", "--branch", "1"], ["mean.onnx", *shapes, "--branch", "1", "--bench", "0.1"]):
            values = self.rows(*words, "--view", "run")["values"]
            self.assertEqual([r["name"] for r in values if r["role"] == "input"], ["x"])
        self.npy("x.npy", "f4", [2, 8], [1] * 8 + [3] * 8)
        self.succeeds("mean.popef", "--view", "run", "--branch", "1", "--input", "x=x.npy", "--output", "y=y.npy")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [1, 3])

    def test_shapes_come_from_files(self):
        self.write("open.onnx", w.model([w.node("Relu", ["x"], ["y"])], [w.value("x", w.F32, ["n", 3])],
                                        [w.value("y", w.F32, ["n", 3])]))
        self.npy("x.npy", "f4", [5, 3], range(15))
        values = self.rows("open.onnx", "--view", "run", "--input", "x=x.npy")["values"]
        self.assertEqual([r["type"] for r in values], ["f32 5\u00d73"] * 2)
        self.succeeds("compare", "--src_model", "open.onnx", "--dst_model", "open.onnx", "--input_data", "x=x.npy", command="poprt_exec debug")

    def test_parts_of_a_fused_model(self):
        self.write("c.yaml", f"output_dir: .\nexport_popef: True\nmodel_fusion:\n- input_model: {DIGITS}\n"
                   f"  input_shape: ['image=1,1,8,8']\n- input_model: {DIGITS}\n  input_shape: ['image=2,1,8,8']\n".encode())
        self.succeeds("--config_yaml", "c.yaml", command="poprt")
        parts = self.rows("executable.popef", "--view", "parts", "--profile", "0.05")["parts"]
        self.assertEqual([p["name"] for p in parts], ["graph0 digits", "graph1 digits"])
        self.assertTrue(all(p["ns"] > 0 for p in parts))
        program = self.rows("executable.popef", "--view", "program")["program"]
        self.assertEqual({r["part"] for r in program}, {"graph0 digits", "graph1 digits"})
        values = self.rows("executable.popef", "--view", "run", "--branch", "1")["values"]
        self.assertEqual({r["name"].split("/")[0] for r in values}, {"graph1"})
        self.fails(["executable.popef", "--view", "run", "--branch", "2"], "variant 2", "2 variants")
        self.fails(["executable.popef", "--branch", "1"], "--view run", code=2)
        with open(self.path("executable.popef"), "rb") as one:
            data = one.read()
        self.succeeds("-i", DIGITS, "--input_shape", "image=1,1,8,8", "--output", "digits.popef", command="poprt")
        with open(self.path("digits.popef"), "rb") as other:
            self.write("both.popef", data + other.read())
        tables = self.rows("both.popef", "--view", "program", "--executable", "digits", "--profile", "0.05")
        self.assertEqual(sorted(tables), ["program of digits", "program of model_fusion"])
        self.assertIn("ns", tables["program of digits"][0])
        self.assertNotIn("ns", tables["program of model_fusion"][0])
        self.rows("both.popef", "--view", "run", "--executable", "digits")
        self.fails(["both.popef", "--view", "run", "--executable", "x"], "x", "digits", "model_fusion")

    def test_shapes_that_a_model_leaves_open(self):
        rows = self.rows(DIGITS, "--view", "run", "--input_shape", "image=3,1,8,8")["values"]
        self.assertTrue(any(r["type"] == "f32 3×1×8×8" for r in rows), rows)
        self.fails([DIGITS, "--view", "program", "--input_shape", "image=3,2,8,8"], "image", "3×2×8×8")
        self.fails([DIGITS, "--view", "program", "--input_shape", "image"], "NAME=1,3,224,224")
        self.fails([POPEF, "--view", "program", "--input_shape", "x=1"], "--input_shape", code=2)
        self.fails([DIGITS, "--view", "graph", "--input_shape", "image=3,1,8,8"], "--view passes, program", code=2)
        self.fails([DIGITS, "--view", "run", "--branch", "x"], "--branch: expected", "found 'x'", code=2)

    def test_nodes_with_equal_names_have_their_own_times(self):
        self.write("twice.ir", b"""graph "g" opset {"": 17} {
  input %x : f32[64,64]
  const %w : f32[64,64] = fill 0.5
  %a : f32[64,64] = MatMul(%x, %w) "mm"
  %b : f32[64,64] = Softmax(%a)
  %c : f32[64,64] = MatMul(%b, %w) "mm"
  output %c
}
""")
        times = [r["ns"] for r in self.rows("twice.ir", "--view", "graph", "--profile", "0.02")["graph"] if r["operator"] in ("MatMul", "Softmax")]
        self.assertTrue(all(ns > 0 for ns in times), times)
        self.fails(["twice.ir", "--node", "mm"], "2 nodes have the name 'mm'; the inspector names them a, c")
        self.assertIn({"property": "name", "value": "mm"}, self.rows("twice.ir", "--node", "c")["node"])

    def test_a_loop_with_scan_outputs_needs_a_bound_of_its_rounds(self):
        self.write("scan.ir", b"""graph "g" opset {"": 17} {
  input %m : s64[]
  input %x : f32[4]
  %y : f32[4], %all : f32[?,4] = Loop(%m, _, %x) {body = graph "b" {
    input %i : s64[]
    input %c : bool[]
    input %v : f32[4]
    %k : bool[] = Identity(%c)
    %n : f32[4] = Exp(%v)
    output %k
    output %n
    output %n
  }} "rounds"
  output %y
  output %all
}
""")
        for view in ("program", "run", "passes"):
            if view != "passes":
                self.fails(["scan.ir", "--view", view], "option max_size: all=N")
            self.rows("scan.ir", "--view", view, "--max_size", "all=3")
        self.fails(["scan.ir", "--view", "program", "--max_size", "all"], "--max_size: expected NAME=N, found 'all'")
        self.fails(["scan.ir", "--view", "graph", "--max_size", "all=3"], "--max_size is for compiled views", code=2)

    def test_run_options_need_the_run_view(self):
        for words in (["--bench", "1"], ["--input", "x=zeros"], ["--labels", "g.ir"], ["--output", "y=y.npy"], ["--reference", "y=y.npy"],
                      ["--second", "g.ir"], ["--branch", "1"]):
            self.fails(["g.ir", *words], "--view run", code=2)
            self.fails(["g.ir", "--view", "graph", *words], "--view run", code=2)
        self.fails(["g.ir", "--view", "graph", "--step", "1"], "--step is for --view passes", code=2)
        self.fails(["g.ir", "--view", "run", "--input", "x=zeros", "x=zeros"], "input 'x' is given twice", code=2)

    def test_shapes_are_for_compiled_views(self):
        shape = ["--input_shape", "image=2,1,8,8"]
        for words in (["--view", "summary"], ["--view", "weights"], ["--view", "all", "--svg"], ["--view", "all", "--compare", DIGITS]):
            self.fails([DIGITS, *words, *shape], "--input_shape is for compiled views", code=2)
        for view in ("passes", "program", "memory", "parts", "all"):
            text = self.succeeds(DIGITS, "--view", view, *shape)
            self.assertNotIn("compiled for", text)
        self.succeeds(DIGITS, "--view", "graph", "--profile", "0.01", *shape)
        for view, printed in (("program", True), ("memory", True), ("run", False), ("graph", False)):
            self.assertEqual(self.succeeds(DIGITS, "--view", view).startswith("compiled for image=1"), printed, view)
        self.rows(DIGITS, "--view", "program")

    def test_programs_are_compared_by_their_times_on_request(self):
        """The rows of programs are then the measured ones, in addition to all others."""
        self.write("h.ir", TEXT.replace(b"Relu", b"Tanh").replace(b"4.0]", b"6.0]"))
        plain = self.rows("g.ir", "--compare", "h.ir")["diff"]
        timed = self.rows("g.ir", "--compare", "h.ir", "--profile", "0.02")["diff"]
        self.assertLessEqual({(r["category"], r["name"]) for r in plain}, {(r["category"], r["name"]) for r in timed})
        self.assertGreater(len(timed), len(plain))

    def test_compared_programs_have_the_given_shapes(self):
        self.write("four.ir", TEXT.replace(b"f32[1,2]", b"f32[4,2]"))
        self.write("open.ir", TEXT.replace(b"f32[1,2]", b"f32[N,2]"))
        words = ["open.ir", "--compare", "four.ir", "--profile", "0.01", "--json"]
        ran = self.run_command(*words)
        self.assertEqual((ran.code, ran.err), (0, "poprt_exec inspect: input 'x' is [1,2] in the first program and [4,2] in the second; "
                                                  "--input_shape fixes variable dimensions\n"))
        ran = self.run_command(*words, "--input_shape", "x=4,2")
        self.assertEqual((ran.code, ran.err), (0, ""))
        self.assertNotIn("arena", {r["name"] for r in json.loads(ran.out)["diff"]})
        self.succeeds("-i", DIGITS, "--input_shape", "image=4,1,8,8", "-o", "four.popef", command="poprt")
        ran = self.run_command("four.popef", "--compare", DIGITS, "--profile", "0.01", "--json")
        self.assertIn("input 'image' is [4,1,8,8] in the first program and [1,1,8,8] in the second", ran.err)

    def test_a_recording_that_ends_within_a_line(self):
        self.write("cut.telemetry", b'{"poprt_telemetry": 1}\n{"time":1.0,"segments":[]}\n{"time":2.0,"segm')
        ran = self.run_command("cut.telemetry")
        self.assertEqual(ran.code, 0)
        self.assertRegex(ran.err, r"WARNING \[poprt\] .*cut\.telemetry:3: the recording ends within this line, which is ignored\n$")

    def test_numbers_of_a_run_on_random_data(self):
        """Numbers of inputs and outputs, and the difference from a reference, equal sums over the same values."""
        generator = random.Random(2)
        x = [generator.randrange(-999, 999) / 64 for _ in range(2)]
        y = [max(0.0, x[0] * 1 + x[1] * 3), max(0.0, x[0] * 2 + x[1] * 4)]
        self.npy("x.npy", "f4", [1, 2], x)
        wanted = [y[0] + 0.5, y[1]]
        self.npy("y.npy", "f4", [1, 2], wanted)
        words = ["g.ir", "--view", "run", "--input", "x=x.npy", "--reference", "y=y.npy", "--json"]
        ran = self.run_command(*words)
        self.assertEqual((ran.code, ran.err), (1, ""))
        tables = json.loads(ran.out)
        rows = {r["name"]: r for r in tables["values"]}
        for name, values in (("x", x), ("y", y)):
            self.assertEqual((rows[name]["least"], rows[name]["most"]), (min(values), max(values)))
        self.assertEqual([r["value"] for r in tables["top of y"]], sorted(y, reverse=True))
        self.assertEqual((tables["differences"][0]["elements"], tables["differences"][0]["agrees"]), (2, False))
        self.assertEqual(len(json.loads(self.run_command(*words, "--top", "1").out)["top of y"]), 1)
        self.succeeds(*words, "--atol", "0.5", "--rtol", "0")
        self.assertEqual(self.run_command(*words, "--atol", "0.49", "--rtol", "0").code, 1)
        self.succeeds(*words, "--rtol", str(0.51 / wanted[0]), "--atol", "0")
        self.assertEqual(self.run_command(*words, "--rtol", str(0.49 / wanted[0]), "--atol", "0").code, 1)

    def test_a_seed_names_the_random_inputs(self):
        made = [self.rows("g.ir", "--view", "run", *words)["values"] for words in ([], ["--seed", "1"], ["--seed", "2"], ["--seed", "2"])]
        self.assertEqual(made[0], made[1])
        self.assertEqual(made[2], made[3])
        self.assertNotEqual(made[1], made[2])


if __name__ == "__main__":
    unittest.main()
