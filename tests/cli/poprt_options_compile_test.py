"""poprt: options of the executable and its compiler."""

import json
import os
import unittest
from unittest import mock

from option_support import SHAPE, OptionTest
from support import DIGITS, model


class Compile(OptionTest):
    def test_ipu_version(self):
        self.assertEqual(self.recorded("--ipu_version", "ipu21")["ipu_version"], "ipu21")
        self.misused(["-i", DIGITS, "--precision", "fp8", "--ipu_version", "ipu2"], "fp8 needs --ipu_version ipu21")
        self.misused(["-i", DIGITS, "--ipu_version", "ipu3"], "ipu2 or ipu21", "'ipu3'")

    def test_estimate(self):
        words = ["-i", model("relu"), "--output", "m.popef", "--estimate", "--estimate_target", "bow"]
        self.succeeds(*words)
        blobs = json.loads(self.succeeds("m.popef", "--json", command="popef_dump"))["opaque_blobs"]
        estimate = next(b["estimate"] for b in blobs if b["name"] == "poprt.estimate")
        self.assertEqual(estimate["target"]["name"], "bow")
        self.assertRegex(self.succeeds("m.popef", command="popef_dump"), rf"Estimate for bow: {estimate['cycles']} cycles \[")
        alone = json.loads(self.succeeds("estimate", model("relu"), "--target", "bow", "--json", command="poprt_exec"))
        self.assertEqual(estimate["cycles"], alone["cycles"])
        self.assertNotIn("poprt.estimate", self.succeeds("-i", model("relu"), "--output", "n.popef") + self.succeeds(
            "n.popef", command="popef_dump"))
        self.misused(["-i", model("relu"), "--export_popef", "--estimate", "--estimate_target", "ipu9"], "ipu9")
        ran = self.run_command("-i", model("relu"), "--output", "o.popef", "--estimate_target", "bow")
        self.assertIn("--estimate_target has no effect without --estimate", ran.err)
        self.assertIn(", except on poprt_exec estimate of the executable\n", ran.err)
        with open(self.path("tiny.json"), "w", encoding="utf-8") as file:
            file.write('{"base": "mk2", "name": "tiny", "tiles": 2, "bytes_per_tile": 4000}')
        ran = self.run_command("-i", model("relu"), "--output", "o.popef", "--estimate", "--estimate_target", self.path("tiny.json"))
        self.assertEqual(ran.code, 0, ran.err)
        self.assertIn("the model does not fit on an IPU of tiny; popef_dump prints the estimate", ran.err)
        self.run_command("-i", model("relu"), "--output", "e.popef", "--embed_source", "--estimate_target", "bow")
        self.assertIn("Target: bow ", self.succeeds("estimate", "e.popef", command="poprt_exec"))

    def test_run_prints_an_estimate_next_to_the_measured_numbers(self):
        text = self.succeeds("-i", model("relu"), "--run", "--ipu_version", "ipu21")
        measured, title, estimate = text.partition("Estimate for a chip (c600), not measured")
        self.assertRegex(measured, r"Bs: \d+\nLatency: [0-9.]+ms\nTput: \d+\n$")
        self.assertRegex(title + estimate, r"  Latency: [0-9.]+ms, \d+ cycles \[unchecked: ")
        self.assertRegex(estimate, r"  Tput: \d+\n  Memory: \d+ of 638976 bytes on the busiest tile, fits \[")
        self.assertNotIn("Estimate", self.succeeds("-i", model("relu"), "--run"))

    def test_batches_per_step(self):
        self.assertEqual(self.recorded("--batches_per_step", "16")["batches_per_step"], "16")
        self.assertEqual(self.recorded("--batch_per_step", "8")["batches_per_step"], "8")
        self.misused(["-i", DIGITS, "--batches_per_step", "0"], "--batches_per_step", "at least 1")

    def test_options_of_the_executable_say_so_where_there_is_none(self):
        options = {"max_padding": "0.2", "pad_values": "x=0", "batches_per_step": "2", "num_io_tiles": "32",
                   "available_memory_proportion": "0.3", "compiler_options": "num_ipus=1", "popart_options": "enableOutlining=1",
                   "optimize_internal_exchange_code": None, "winograd": "off", "numerics": "faithful", "execution_precision": "bf16",
                   "max_size": "y=4", "out_of_range": "zero", "estimate": None, "estimate_target": "bow", "compact": None,
                   "reproducible": None}
        warning = "{0} has no effect without --export_popef, because it is for the executable and not for the converted model"
        table = json.loads(self.succeeds("--json", command="poprt_exec options"))["options"]
        self.assertEqual({o["name"] for o in table if o.get("executable")}, set(options))
        for name, value in options.items():
            words = ["-i", model("relu"), "--" + name, *([value] if value else [])]
            with self.subTest(name):
                ran = self.run_command(*words)
                self.assertEqual((ran.code, ran.err.count(warning.format("--" + name))), (0, 1), ran.err)
                for also in ("--export_popef", "--run", "--check"):
                    ran = self.run_command(*words, also)
                    self.assertEqual(ran.code, 0, ran.err)
                    self.assertNotIn("without --export_popef", ran.err)

    def test_available_memory_proportion_range(self):
        self.assertEqual(self.recorded("--available_memory_proportion", "0.1")["available_memory_proportion"], "0.1")
        self.recorded("--available_memory_proportion", "1")
        for value in ("0", "1.5", "-1", "nan", "half"):
            self.misused(["-i", DIGITS, f"--available_memory_proportion={value}"], "--available_memory_proportion",
                         "above 0 and at most 1", f"'{value}'")

    def test_compiler_options_key_val(self):
        fields = {f["name"]: f for f in json.loads(self.succeeds("--json", command="poprt_exec options"))["compiler_options"]}
        self.assertEqual(len(fields), 39)  # of 40; compilation_progress_logger is a function
        for name, field in fields.items():
            value = {"opaque_blobs": "{}", "virtual_graph_split_ratios": "[0.5]", "custom_patterns": "InPlace:0",
                     "custom_transform_applier_settings": "{}"}.get(name) or {
                         "flag": "False", "integer": "1", "number": "0.5"}.get(field["kind"], field.get("choices", ["word"])[0])
            words = ["-i", model("relu"), "--export_popef", "--compiler_options", f"{name}={value}"]
            with self.subTest(name):
                if field["effect"] == "fails":
                    self.fails(words, "--compiler_options", name, field["note"])
                    continue
                ran = self.run_command(*words)
                self.assertEqual(ran.code, 0, ran.err)
                if field["effect"] != "acts":
                    self.assertEqual(self.metadata()[name], value)

    def test_compiler_options_that_are_wrong(self):
        for word, why in (("nonsense=1", "no field 'nonsense'"), ("num_io_tiles=x", "whole number"), ("num_io_tiles", "KEY=VAL"),
                          ("enable_outlining=maybe", "True or False"), ("partials_type=double", "half or float"),
                          ("available_memory_proportion=2", "at most 1"), ("opaque_blobs=x", "JSON object of texts"),
                          ('opaque_blobs={"a": 1}', "JSON object of texts"), ("opaque_blobs=" + "[" * 100000, "JSON object")):
            self.misused(["-i", model("relu"), "--compiler_options", word], "--compiler_options", why)
        self.fails(["-i", model("relu"), "--compiler_options", "virtual_graph_mode=executionPhases"], "is for training")
        for word, why in (("num_ipus=2", "needs virtual_graph_mode"), ("enable_pipelining=True", "needs several IPUs"),
                          ("num_ipus=0", "at least 1"), ("num_ipus=1025", "at most 1024")):
            self.misused(["-i", model("relu"), "--compiler_options", word], "--compiler_options", why)
        for word, why in (("virtual_graph_mode=manual", "no node has __ipu_number"),
                          ("virtual_graph_split_ratios=1.5", "between 0 and 1, found '1.5'")):
            ran = self.run_command("-i", model("relu"), "--export_popef", "--compiler_options", word)
            self.assertEqual((ran.code, why in ran.err), (1, True), ran.err)

    def test_one_value_by_two_ways(self):
        self.recorded("--num_io_tiles", "32", "--compiler_options", "num_io_tiles=32")
        self.misused(["-i", model("relu"), "--num_io_tiles", "32", "--compiler_options", "num_io_tiles=64"], "num_io_tiles", "32",
                     "64")

    def test_compiler_options_that_act(self):
        with mock.patch.dict(os.environ, {"POPART_CACHE_DIR": "", "POPXL_CACHE_DIR": ""}):
            self.succeeds("-i", model("relu"), "--export_popef", "--compiler_options", "enable_engine_caching=True",
                          "cache_path=cached")
        self.assertEqual(len(os.listdir(self.path("cached"))), 1)
        self.succeeds("-i", model("relu"), "--output", "r.popef", "--compiler_options", 'opaque_blobs={"a": "1", "b": "two"}')
        blobs = json.loads(self.succeeds("--json", "r.popef", command="popef_dump"))["opaque_blobs"]
        self.assertEqual([b["name"] for b in blobs if b["name"] in "ab"], ["a", "b"])
        self.succeeds("-i", DIGITS, *SHAPE, "--output", "d.popef", "--compiler_options", "constant_weights=False")
        self.assertIn("weight_d2h_", self.succeeds("-m", "d.popef", command="popef_dump"))

    def test_serialize_ir(self):
        """The graph that is lowered differs from the converted one: its weights are packed."""
        self.succeeds("-i", DIGITS, *SHAPE, "--export_popef", "--compiler_options", "serialize_ir=True")
        with open(self.path("executable.ir.json"), encoding="utf-8") as file:
            text = file.read()
        ir = json.loads(text)
        graph, = ir["graphs"]
        items = sum(len(graph[part]) for part in ("inputs", "constants", "nodes"))
        self.assertEqual(sum(line.startswith('  {"name":') for line in text.splitlines()), items)  # one item in each line
        self.assertEqual((ir["format"], [(v["name"], v["dtype"], v["shape"]) for v in graph["inputs"]], graph["outputs"]),
                         ("poprt ir 1", [("image", "f32", [2, 1, 8, 8])], ["scores"]))
        self.assertIn(("Conv", "poprt"), [(n["op_type"], n["domain"]) for n in graph["nodes"]])
        known = {v["name"] for v in graph["inputs"] + graph["constants"]}
        for node in graph["nodes"]:  # nodes are sorted: every value is computed before it is read
            self.assertLessEqual({name for name in node["inputs"] if name}, known)
            known |= {v["name"] for v in node["outputs"]}
        self.assertLessEqual(set(graph["outputs"]), known)
        weights = [c for c in graph["constants"] if "values" not in c]
        self.assertTrue(weights and all(c["dtype"] and len(c["shape"]) for c in weights))

    def test_serialized_ir_dest(self):
        words = ["-i", model("relu"), "--export_popef", "--compiler_options", "serialize_ir=True"]
        os.mkdir(self.path("folder"))
        self.succeeds(*words, "serialized_ir_dest=folder")
        self.assertIn("folder/serialized_ir.json", self.tree())
        self.succeeds(*words, "serialized_ir_dest=relu.txt", "enable_engine_caching=True", "cache_path=cached")
        self.assertIn("input %x : f32", self.tree()["relu.txt"].decode())
        self.assertNotIn("cached", self.tree())
        before = self.tree()
        ran = self.run_command(*words, "serialized_ir_dest=nowhere/ir.json", "--output_dir", "new")
        self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
        self.assertIn("serialized_ir_dest", ran.err)
        self.assertNotIn("new/executable.popef", self.tree())
        self.assertNotIn("ir.json", " ".join(set(self.tree()) - set(before)))
        self.assertIn("without serialize_ir=True", self.warned(*words[:-1], "serialized_ir_dest=x.json"))
        self.assertNotIn("x.json", self.tree())

    def test_serialize_ir_of_several_shapes_and_none_by_a_check(self):
        for words, rows in ((["image=1,1,8,8/2,1,8,8"], [1, 2]), (["image=3,1,8,8", "--check"], [3])):
            self.succeeds("-i", DIGITS, "--input_shape", *words, "--export_popef", "--compiler_options", "serialize_ir=True",
                          "serialized_ir_dest=ir.json")
            graphs = json.loads(self.tree()["ir.json"])["graphs"]
            self.assertEqual([g["inputs"][0]["shape"][0] for g in graphs], rows)

    def test_popart_options(self):
        found = self.recorded("--popart_options", "outlineThreshold=5", "engineOptions.debug.allowOutOfMemory=true")
        self.assertEqual((found["popart.outlineThreshold"], found["popart.engineOptions.debug.allowOutOfMemory"]), ("5", "true"))
        self.misused(["-i", model("relu"), "--popart_options", "outline=5"], "--popart_options", "'outline'")

    def test_results_do_not_depend_on_recorded_options(self):
        self.succeeds("-i", DIGITS, *SHAPE, "--output", "a.popef")
        self.succeeds("-i", DIGITS, *SHAPE, "--output", "b.popef", "--num_io_tiles", "64", "--batches_per_step", "8",
                      "--compiler_options", "partials_type=float", "outline_threshold=1e-7")
        self.npy("x.npy", "f4", [2, 1, 8, 8], [i / 128 for i in range(128)])
        for name in "ab":
            self.succeeds(f"{name}.popef", "--input", "image=x.npy", "--output", f"scores={name}.npy", command="poprt_exec run")
        self.assertEqual(self.tree()["a.npy"], self.tree()["b.npy"])


if __name__ == "__main__":
    unittest.main()
