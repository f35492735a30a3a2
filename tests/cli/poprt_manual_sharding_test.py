"""poprt --manual_sharding_config: a model is cut by the nodes in a file, and runs on several IPUs."""

import json
import struct
import unittest

import onnx_writer as w
from support import CommandTest

# Twelve layers, which are cut after every third one.
LAYERS = 12


def chain(rows=2):
    nodes, constants, last = [], [], "x"
    for i in range(LAYERS):
        nodes += [w.node("MatMul", [last, f"w{i}"], [f"m{i}"]), w.node("Relu", [f"m{i}"], [f"r{i}"])]
        constants.append(w.floats(f"w{i}", [8, 8], [(j * 7 + i) % 5 / 8 - 0.125 for j in range(64)]))
        last = f"r{i}"
    return w.model(nodes, [w.value("x", w.F32, [rows, 8])], [w.value(last, w.F32, [rows, 8])], constants)


class ManualSharding(CommandTest):
    command = "poprt"

    def setUp(self):
        super().setUp()
        self.write("m.onnx", chain())
        self.write("cuts.yaml", b"""
- {node: node_r2, device: 0, stage: 0}
- node: node_r5
  device: 1
  stage: 1
- {node: 'node_r8', device: 2, stage: 2}
""")

    def attributes(self, path):
        """The IPU and the stage of each node, as text."""
        printed = self.succeeds(path, "--elide", command="poprt_exec opt")
        return {line.split('"')[1]: line[line.index("{"):line.index("}") + 1]
                for line in printed.splitlines() if "__ipu_number" in line}

    def test_attributes_of_a_converted_model(self):
        self.succeeds("-i", "m.onnx", "--manual_sharding_config", "cuts.yaml", "--output_model", "cut.onnx")
        found = self.attributes("cut.onnx")
        self.assertEqual(len(found), 2 * LAYERS)
        for i in range(LAYERS):
            self.assertEqual(found[f"node_r{i}"], f"{{__ipu_number = {i // 3}, __pipeline_stage = {i // 3}}}")

    def test_only_that(self):
        out = self.succeeds("-i", "m.onnx", "--only_manual_sharding", "--manual_sharding_config", "cuts.yaml", "--output_model",
                            "only.onnx", "--precision", "fp16")
        self.assertIn("only.onnx", out)
        self.assertEqual(len(self.attributes("only.onnx")), 2 * LAYERS)
        self.assertNotIn("f16", self.succeeds("only.onnx", "--elide", command="poprt_exec opt"))
        self.misused(["-i", "m.onnx", "--only_manual_sharding"], "needs --manual_sharding_config")

    def test_only_devices(self):
        self.write("devices.yaml", b"- {node: node_r2, device: 0}")
        self.succeeds("-i", "m.onnx", "--only_manual_sharding", "--manual_sharding_config", "devices.yaml", "--output_model", "only.onnx")
        self.assertEqual(self.attributes("only.onnx")["node_r3"], "{__ipu_number = 1}")

    def test_four_ipus_give_the_results_of_one(self):
        self.succeeds("-i", "m.onnx", "--output", "one.popef")
        values = b"".join(struct.pack("<f", i / 4 - 2) for i in range(16))
        header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 8), }".ljust(117) + "\n"
        self.write("x.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + values)
        results = []
        for name, words in (("one", None), ("cut", []), ("piped", ["enable_pipelining=True", "batches_per_step=16"])):
            if words is not None:
                self.succeeds("-i", "m.onnx", "--manual_sharding_config", "cuts.yaml", "--output", f"{name}.popef", "--overwrite",
                              "--compiler_options", "num_ipus=4", "virtual_graph_mode=manual", *words)
                dumped = json.loads(self.succeeds("--json", f"{name}.popef", command="popef_dump"))
                self.assertEqual(dumped["models"][0]["num_ipus"], 4)
            self.succeeds(f"{name}.popef", "--input", "x=x.npy", "--output", f"r{LAYERS - 1}={name}.npy", command="poprt_exec run")
            with open(self.path(f"{name}.npy"), "rb") as file:
                results.append(file.read())
        self.assertEqual(results[0], results[1])
        self.assertEqual(results[0], results[2])
        self.assertIn("Tput", self.succeeds("-i", "m.onnx", "--manual_sharding_config", "cuts.yaml", "--run", "--compiler_options",
                                            "num_ipus=4", "virtual_graph_mode=manual"))

    def results(self, popef, name, rows):
        """The output for fixed data of the input {name}x, as bytes without its name."""
        self.npy("x.npy", "f4", [rows, 8], [i / 4 - 2 for i in range(8 * rows)])
        self.succeeds(popef, "--input", f"{name}x=x.npy", "--output", f"{name}r{LAYERS - 1}=y.npy", command="poprt_exec run")
        with open(self.path("y.npy"), "rb") as file:
            return file.read()

    def test_fused_models_on_own_ipus_give_the_results_of_one(self):
        models = ["input_model: m.onnx, manual_sharding_config: cuts.yaml, compiler_options: [num_ipus=4, virtual_graph_mode=manual{}]",
                  "input_model: m.onnx, compiler_options: [num_ipus=2, virtual_graph_mode=auto{}]", "input_model: m.onnx{}"]
        for name, more, last in (("one", None, ""), ("several", "", ""),
                                 ("piped", ", enable_pipelining=True, batches_per_step=4", ", compiler_options: [batches_per_step=4]")):
            each = models if more is not None else ["input_model: m.onnx{}"] * 3
            listed = "".join(f"  - {{{text.format(end)}}}\n" for text, end in zip(each, (more or "", more or "", last)))
            self.write("c.yaml", f"output: {name}.popef\noverwrite: True\nkeep_converted: True\nmodel_fusion:\n{listed}".encode())
            self.succeeds("--config_yaml", "c.yaml")
        dumped = json.loads(self.succeeds("--json", "piped.popef", command="popef_dump"))
        self.assertEqual(dumped["models"][0]["num_ipus"], 4)
        for k in range(3):
            wanted = self.results("one.popef", f"graph{k}/", 2)
            for name in ("several", "piped"):
                self.assertEqual(self.results(f"{name}.popef", f"graph{k}/", 2), wanted, (name, k))
        self.succeeds("--popef", "piped.popef", "--index", "1", "--iteration", "8", command="poprt_exec poprt_run_popef")
        # The fused ONNX file also has the placement of nodes; the model that is not cut is on IPU 0.
        self.succeeds("-i", "model_fusion.optimized.onnx", "--output", "again.popef", "--output_model", "again.onnx",
                      "--compiler_options", "num_ipus=4", "virtual_graph_mode=manual")
        for k in range(3):
            self.assertEqual(self.results("again.popef", f"graph{k}/", 2), self.results("one.popef", f"graph{k}/", 2))

    def test_several_shapes_on_several_ipus_give_the_results_of_one(self):
        text = chain(rows="n")
        self.write("m.onnx", text)
        shapes = ["--input_shape", "x=1,8/2,8/5,8", "--overwrite", "--output"]
        self.succeeds("-i", "m.onnx", *shapes, "one.popef")
        self.succeeds("-i", "m.onnx", *shapes, "auto.popef", "--compiler_options", "num_ipus=2", "virtual_graph_mode=auto",
                      "enable_pipelining=True", "batches_per_step=2")
        self.succeeds("-i", "m.onnx", "--manual_sharding_config", "cuts.yaml", *shapes, "cut.popef", "--compiler_options", "num_ipus=4",
                      "virtual_graph_mode=manual")
        self.assertIn("poprt.shards", self.succeeds("auto.popef", command="popef_dump"))
        for rows in (1, 2, 3, 4, 5):
            wanted = self.results("one.popef", "", rows)
            for name in ("auto", "cut"):
                self.assertEqual(self.results(f"{name}.popef", "", rows), wanted, (name, rows))

    def test_words_instead_of_a_file(self):
        self.succeeds("-i", "m.onnx", "--sharding_info", "node_r3=0", "node_r7=1", "--output_model", "cut.onnx")
        self.assertEqual(self.attributes("cut.onnx")["node_r11"], "{__ipu_number = 2}")
        self.misused(["-i", "m.onnx", "--sharding_info", "node_r3=0", "--manual_sharding_config", "cuts.yaml"], "only one of them")

    def test_files_that_are_wrong(self):
        for text, why in (("", "no cut points"), ("[]", "no cut points"), ("{}", "expected a list"), ("- x", "expected a map"),
                          ("- {node: node_r1}", "neither device nor stage"), ("- {device: 1}", "has no node"),
                          ("- {node: node_r1, device: -1}", "device: expected a whole number"),
                          ("- {node: node_r1, device: one}", "device: expected a whole number"),
                          ("- {node: node_r1, device: [1]}", "device: expected one value"),
                          ("- {node: node_r1, place: 1}", "found 'place'"), ("- {node: a, node: b, device: 1}", "given twice"),
                          ("- {node: node_r1, device: 1}\n--- \n- 1", "more than one document"), ("- &a {node: x}\n- *a", "")):
            self.write("wrong.yaml", text.encode())
            self.misused(["-i", "m.onnx", "--manual_sharding_config", "wrong.yaml"], "--manual_sharding_config", "wrong.yaml", why)
        self.fails(["-i", "m.onnx", "--manual_sharding_config", "none.yaml"], "cannot open 'none.yaml': No such file or directory")
        self.write("wrong.yaml", b"- {node: nowhere, device: 1}")
        self.fails(["-i", "m.onnx", "--manual_sharding_config", "wrong.yaml"], "no node 'nowhere'")
        self.write("wrong.yaml", b"- {node: node_r1, stage: 1}")
        self.fails(["-i", "m.onnx", "--manual_sharding_config", "wrong.yaml"], "requires a sharded model")

    def test_refuses_compiler_options_that_do_not_fit(self):
        cut = ["-i", "m.onnx", "--manual_sharding_config", "cuts.yaml", "--output", "x.popef", "--compiler_options"]
        self.misused([*cut, "num_ipus=4"], "num_ipus=4 needs virtual_graph_mode")
        for words, why in ((["virtual_graph_mode=manual", "num_ipus=3"], "4 or more, found 3"),
                           (["virtual_graph_mode=manual", "num_ipus=4", "enable_pipelining=True", "batches_per_step=6"],
                            "batches_per_step=6 must be a multiple of the 4 stages")):
            ran = self.run_command(*cut, *words)
            self.assertEqual(ran.code, 1)
            self.assertIn(why, ran.err)
        ran = self.run_command(*cut, "virtual_graph_mode=off")
        self.assertEqual(ran.code, 0)
        self.assertIn("virtual_graph_mode=manual num_ipus=4 uses it", ran.err)


if __name__ == "__main__":
    unittest.main()
