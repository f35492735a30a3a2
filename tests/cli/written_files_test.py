"""No command replaces a file that it reads, or writes two outputs to one file."""

import os
import shutil
import unittest

import onnx_writer as onnx
from poprt_exec_recompile_test import added_to_external
from support import DATA, CommandTest, model

GENERATOR = os.path.join(os.path.dirname(DATA), "generation", "genai")


class WrittenFiles(CommandTest):
    def refused(self, command, words, *facts):
        """Fails for the files, and leaves every file as it was."""
        self.command = command
        self.misused(words, *facts, "give another path")

    def external(self):
        """A model with its weight in a file with a blank in its name."""
        self.write("ext weights.bin", bytes(12))
        return self.write("ext.onnx", added_to_external("ext weights.bin"))

    def test_external_data_stays(self):
        self.external()
        reads = "same file as 'ext weights.bin', which the command reads"
        self.refused("poprt", ["-i", "ext.onnx", "--output_model", "ext weights.bin"], reads)
        os.link(self.path("ext weights.bin"), self.path("hard.bin"))
        self.refused("poprt", ["-i", "ext.onnx", "--output_model", "hard.bin"], reads)
        os.unlink(self.path("hard.bin"))  # hard links of external data are refused
        self.refused("poprt", ["-i", "ext.onnx", "-o", "e.popef", "--compiler_options", "serialize_ir=True",
                               "serialized_ir_dest=ext weights.bin"], reads)
        self.refused("poprt_exec debug modify", ["--model", "ext.onnx", "--sort", "--output_model", "ext weights.bin"], reads)
        self.refused("poprt_exec run", ["ext.onnx", "--random", "--output", "y=ext weights.bin"], reads)
        self.refused("poprt_exec estimate", ["ext.onnx", "--svg", "ext weights.bin"], reads)
        self.refused("poprt_exec inspect", ["ext.onnx", "--view", "run", "--output", "y=ext weights.bin"], reads)

    def test_models_and_inputs_stay(self):
        shutil.copy(model("relu"), self.path("a.onnx"))
        self.succeeds("-i", "a.onnx", "-o", "a.popef", command="poprt")
        self.npy("x.npy", "f4", [2, 3], [0] * 6)
        for name in ("a.onnx", "a.popef"):
            reads = f"same file as '{name}', which the command reads"
            self.refused("poprt_exec run", [name, "--random", "--output", f"y={name}"], reads)
            self.refused("poprt_exec run", [name, "--random", "--output", f"y=./{name}"], reads)
            self.refused("poprt_exec estimate", [name, "--svg", name], reads)
        self.refused("poprt_exec run", ["a.onnx", "--numerics", "faithful", "--input", "x=x.npy", "--output", "y=x.npy"],
                     "same file as 'x.npy'")
        self.refused("poprt_exec run", ["a.popef", "--input", "x=x.npy", "--output", "y=x.npy"], "same file as 'x.npy'")
        self.refused("poprt", ["-i", "a.onnx", "-o", "b.popef", "--compiler_options", "serialize_ir=True",
                               "serialized_ir_dest=a.onnx"], "same file as 'a.onnx'")

    def test_the_configuration_stays(self):
        self.write("c.yaml", f"input_model: {model('relu')}\n".encode())
        self.refused("poprt", ["--config_yaml", "c.yaml", "--output_model", "c.yaml"], "same file as 'c.yaml'")

    def test_a_generator_stays(self):
        shutil.copytree(GENERATOR, self.path("lm"))
        words = ["--ids", "3", "--max-new-tokens", "1"]
        for name in os.listdir(self.path("lm")):
            self.refused("poprt_exec generate", ["lm", *words, "--save", f"lm/{name}"], f"'lm/{name}'", "which the command reads")
        self.refused("poprt_exec generate", ["lm/model.onnx", *words, "--save", "lm/model.onnx"], "which the command reads")
        for _ in range(2):
            self.succeeds("lm", *words, "--save", "lm/saved.popef")

    def test_recompile_writes_a_popef(self):
        shutil.copy(model("relu"), self.path("a.onnx"))
        self.succeeds("-i", "a.onnx", "-o", "c.popef", command="poprt")
        self.command = "poprt_exec recompile"
        self.misused(["c.popef", "--force", "-o", "a.onnx"], "ends in .popef")
        os.symlink("a.onnx", self.path("d.popef"))
        self.refused(self.command, ["c.popef", "--force", "-o", "d.popef"], "same file as")

    def test_a_file_that_is_no_popef_file_stays(self):
        """An empty file, such as that of mktemp, and a damaged PopEF file are replaced."""
        self.write("notes.popef", b"my notes")
        exists = "cannot write 'notes.popef': the file exists and is no PopEF file"
        self.refused("poprt", ["-i", model("relu"), "-o", "notes.popef"], "--output: " + exists, "or --overwrite")
        self.refused("poprt", ["-i", model("relu"), "--popef_name", "notes.popef"], "--popef_name: ", "is no PopEF file")
        self.refused("poprt_exec generate", [GENERATOR, "--ids", "3", "--max-new-tokens", "1", "--save", "notes.popef"], "--save: " + exists)
        self.succeeds("-i", model("relu"), "-o", "c.popef", command="poprt")
        self.refused("poprt_exec recompile", ["c.popef", "--force", "--source", model("relu"), "-o", "notes.popef"], "--output: " + exists)
        self.write("empty.popef", b"")
        self.write("damaged.popef", b"PopEF \0\0")
        for words in (["empty.popef"], ["damaged.popef"], ["notes.popef", "--overwrite"]):
            self.succeeds("-i", model("relu"), "-o", *words, command="poprt")

    def test_a_file_of_another_kind_stays(self):
        """Every output replaces only files of its own kind."""
        shutil.copy(model("relu"), self.path("m.onnx"))
        shutil.copy(model("relu"), self.path("model.svg"))
        self.write("notes.txt", b"my notes")
        self.write("cuts.yaml", b"- node: y\n  device: 0\n")
        self.succeeds("-i", "m.onnx", "-o", "m.popef", command="poprt")
        notes = "cannot write 'notes.txt': the file exists and "
        for words in ([], ["--manual_sharding_config", "cuts.yaml", "--only_manual_sharding"]):
            self.refused("poprt", ["-i", "m.onnx", *words, "--output_model", "notes.txt"], "cannot write './notes.txt'", "is no ONNX model", "or --overwrite")
        self.refused("poprt", ["-i", "m.onnx", "-o", "n.popef", "--compiler_options", "serialize_ir=True",
                               "serialized_ir_dest=notes.txt"], notes + "contains no IR of poprt")
        self.refused("poprt_exec debug extract", ["--src_model", "m.onnx", "--input_names", "x", "--output_names", "y",
                                                  "--output_model", "notes.txt"], notes + "is no ONNX model")
        self.refused("poprt_exec debug modify", ["--model", "m.onnx", "--sort", "--output_model", "notes.txt"], notes + "is no ONNX model")
        self.refused("poprt_exec auto_shard", ["-i", "m.onnx", "--num_ipus", "2", "--output_model", "notes.txt"], notes + "is no ONNX model")
        for name in ("notes.txt", "model.svg"):
            self.refused("poprt_exec estimate", ["m.onnx", "--svg", name], f"cannot write '{name}': the file exists and is no SVG picture")
        self.refused("poprt_exec inspect", ["--view", "queues", "--seconds", "0.1", "--record", "notes.txt"],
                     notes + "is no recording of telemetry")
        self.refused("popef_dump", ["m.popef", "--tensor", "y", "--output", "notes.txt"], notes + "contains no arrays of NumPy")
        self.refused("popef_dump", ["m.popef", "--tensor", "y", "--output", "m.popef"], "same file as 'm.popef', which the command reads")

    def test_every_output_replaces_an_earlier_one(self):
        shutil.copy(model("relu"), self.path("m.onnx"))
        for _ in range(2):
            self.succeeds("-i", "m.onnx", "-o", "m.popef", "--keep_converted", "--compiler_options", "serialize_ir=True", command="poprt")
            self.succeeds("--model", "m.onnx", "--sort", "--output_model", "s.onnx", command="poprt_exec debug modify")
            self.succeeds("m.onnx", "--svg", "e.svg", command="poprt_exec estimate")
            self.succeeds("--view", "queues", "--seconds", "0.1", "--record", "r.txt", command="poprt_exec inspect")

    def test_the_file_of_serialize_ir_has_a_name_of_the_executable(self):
        words = ["-o", "x.popef", "--compiler_options", "serialize_ir=True"]
        shutil.copy(model("relu"), self.path("x.onnx"))
        for _ in range(2):  # the second command replaces the files of the first one
            self.succeeds("-i", "x.onnx", *words, command="poprt")
            self.assertEqual(sorted(self.tree()), ["x.ir.json", "x.onnx", "x.popef"])
        os.rename(self.path("x.onnx"), self.path("x.ir.json"))
        os.remove(self.path("x.popef"))
        self.refused("poprt", ["-i", "x.ir.json", *words], "serialized_ir_dest", "same file as 'x.ir.json', which the command reads")
        os.rename(self.path("x.ir.json"), self.path("serialized_ir.json"))
        self.refused("poprt", ["-i", "serialized_ir.json", "--run", "--compiler_options", "serialize_ir=True"], "same file as")

    def test_two_outputs_are_two_files(self):
        self.write("two.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"]), onnx.node("Neg", ["x"], ["z"])],
                                          [onnx.value("x", onnx.F32, [2])],
                                          [onnx.value("y", onnx.F32, [2]), onnx.value("z", onnx.F32, [2])]))
        self.npy("x.npy", "f4", [2], [1, -1])
        words = ["two.onnx", "--input", "x=x.npy", "--output", "y=o.npy", "z=./o.npy"]
        self.refused("poprt_exec run", words, "'./o.npy'", "another output has the same file")
        self.refused("poprt_exec run", [*words, "--numerics", "faithful"], "another output has the same file")
        self.refused("poprt", ["-i", "two.onnx", "-o", "r.popef", "--compiler_options", "serialize_ir=True",
                               "serialized_ir_dest=r.popef"], "same file as that of --output")


if __name__ == "__main__":
    unittest.main()
