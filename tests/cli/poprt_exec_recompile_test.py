"""poprt --embed_source, what an executable records of its source, and poprt_exec recompile."""

import hashlib
import json
import os
import re
import shutil
import struct
import unittest

from support import DATA, DIGITS, CommandTest, model

SHAPE = ("--input_shape", "image=2,1,8,8")
STRANGER = b"poprt 0.0.0"


def field(number, value):
    """One field of a protobuf message."""
    if isinstance(value, int):
        return struct.pack("B", number << 3) + struct.pack("B", value)
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("BB", number << 3 | 2, len(data)) + data


def added_to_external(location):
    """An ONNX model y = x + w, three floats, with w in a file."""
    where, length = field(1, "location") + field(2, location), field(1, "length") + field(2, "12")
    weight = field(1, 3) + field(2, 1) + field(8, "w") + field(13, where) + field(13, length) + field(14, 1)
    floats = field(1, field(1, 1) + field(2, field(1, field(1, 3))))  # a type of three floats
    node = field(1, "x") + field(1, "w") + field(2, "y") + field(4, "Add")
    graph = (field(1, node) + field(2, "g") + field(5, weight) + field(11, field(1, "x") + field(2, floats)) +
             field(12, field(1, "y") + field(2, floats)))
    return field(1, 8) + field(7, graph) + field(8, field(2, 17))


class Recompile(CommandTest):
    command = "poprt_exec recompile"

    def compile(self, onnx, *words):
        """Compiles an executable a.popef in the folder and returns its bytes."""
        self.succeeds("-i", onnx, "-o", self.path("a.popef"), "--overwrite", "--output_model", self.path("gone.onnx"),
                      *words, command="poprt")
        os.unlink(self.path("gone.onnx"))
        return self.read("a.popef")

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def age(self):
        """Makes a.popef look like the work of an older version; returns the package that compiled it."""
        data = self.read("a.popef")
        package = re.search(rb"poprt \d+\.\d+\.\d+\0", data)[0][:-1]
        self.write("a.popef", data.replace(package + b"\0", STRANGER.ljust(len(package), b"\0") + b"\0", 1))
        return package.decode()

    def metadata(self):
        described, = json.loads(self.succeeds("--json", "a.popef", command="popef_dump"))["models"]
        return [(o["name"], o["value"]) for o in described["engine_options"]]

    def blobs(self):
        return [b["name"] for b in json.loads(self.succeeds("--json", "a.popef", command="popef_dump"))["opaque_blobs"]]

    def digits_beside(self):
        shutil.copy(DIGITS, self.path("digits.onnx"))
        return self.path("digits.onnx")

    def test_an_executable_names_its_source_and_nothing_of_where_it_lay(self):
        first = self.compile(DIGITS, *SHAPE)
        options = dict(self.metadata())
        self.assertEqual(options["source"], "digits.onnx")
        with open(DIGITS, "rb") as file:
            data = file.read()
        self.assertEqual(options["source_hash"], hashlib.sha256(struct.pack("<Q", len(data)) + data).hexdigest())
        self.assertEqual(self.blobs(), ["onnx_metadata", "poprt.rows"])
        self.assertEqual(self.compile(self.digits_beside(), *SHAPE), first)
        self.assertNotIn(self.folder.encode(), self.read("a.popef"))

    def test_embed_source_holds_the_model(self):
        self.compile(DIGITS, *SHAPE, "--embed_source")
        self.assertEqual(self.blobs(), ["onnx_metadata", "poprt.rows", "poprt.source"])
        with open(DIGITS, "rb") as file:
            self.assertIn(file.read(), self.read("a.popef"))
        self.assertIn("Latency", self.succeeds("-i", DIGITS, *SHAPE, "--embed_source", "-o", "b.popef", "--run",
                                               command="poprt"))
        self.assertIn("1 client", self.succeeds("a.popef", "--iterations", "3", command="poprt_exec bench"))

    def test_embed_source_needs_an_executable(self):
        ran = self.run_command("-i", DIGITS, *SHAPE, "--embed_source", "--run", command="poprt")
        self.assertEqual((ran.code, ran.err), (2, "poprt: --embed_source needs an executable: give --export_popef, "
                                                  "--output or --popef_name; see poprt --help\n"))

    def test_nothing_happens_when_the_package_is_this_one(self):
        before = self.compile(DIGITS, *SHAPE)
        self.assertIn("it is not compiled again (give --force to compile it)", self.succeeds("a.popef"))
        printed = json.loads(self.succeeds("a.popef", "--json"))
        self.assertEqual((printed["recompiled"], printed["package_before"]), (False, printed["package_after"]))
        self.assertEqual(self.read("a.popef"), before)

    def test_embedded_source_gives_the_file_of_this_version(self):
        fresh = self.compile(DIGITS, *SHAPE, "--precision", "fp16", "--embed_source")
        package = self.age()
        ran = self.run_command("a.popef", "--random", command="poprt_exec run")
        self.assertIn("poprt_exec recompile", ran.err)
        printed = json.loads(self.succeeds("a.popef", "--json"))
        self.assertEqual(self.read("a.popef"), fresh)
        self.assertEqual(os.listdir(self.folder), ["a.popef"])
        self.assertEqual((printed["recompiled"], printed["source"], printed["package_before"], printed["package_after"], printed["bytes"]),
                         (True, "embedded", STRANGER.decode(), package, len(fresh)))
        self.assertIn({"name": "precision", "value": "fp16"}, printed["options"])

    def test_finds_the_source_next_to_the_file_or_elsewhere(self):
        fresh = self.compile(self.digits_beside(), *SHAPE)
        self.age()
        self.assertIn("compiled again from 'digits.onnx'", self.succeeds("a.popef"))
        self.assertEqual(self.read("a.popef"), fresh)
        os.unlink(self.path("digits.onnx"))
        self.age()
        self.fails(["a.popef"], "'digits.onnx'", "--source MODEL.onnx", "--embed_source")
        self.succeeds("a.popef", "--source", DIGITS)
        self.assertEqual(self.read("a.popef"), fresh)

    def test_output_leaves_the_file_alone(self):
        fresh = self.compile(DIGITS, *SHAPE, "--embed_source")
        self.age()
        old = self.read("a.popef")
        self.succeeds("a.popef", "-o", "b.popef")
        self.assertEqual((self.read("a.popef"), self.read("b.popef")), (old, fresh))
        self.fails(["a.popef", "-o", "nowhere/b.popef"], "nowhere")

    def test_another_source_is_refused_with_both_hashes(self):
        self.compile(self.digits_beside(), *SHAPE)
        self.age()
        recorded = dict(self.metadata())["source_hash"]
        with open(model("relu"), "rb") as file:
            data = file.read()
        self.write("digits.onnx", data)
        found = hashlib.sha256(struct.pack("<Q", len(data)) + data).hexdigest()
        self.fails(["a.popef"], f"'digits.onnx' is not the source of 'a.popef': its hash is {found}, expected the "
                   f"recorded hash {recorded} of 'digits.onnx'")
        self.fails(["a.popef", "--force", "--source", model("relu")], "relu.onnx", recorded, found)

    def test_a_damaged_embedded_source_is_refused(self):
        self.compile(DIGITS, *SHAPE, "--embed_source")
        self.age()
        data = self.read("a.popef")
        with open(DIGITS, "rb") as file:
            at = data.index(file.read())
        self.write("a.popef", data[:at + 4000] + bytes([data[at + 4000] ^ 1]) + data[at + 4001:])
        self.fails(["a.popef"], "the embedded source is not the source of 'a.popef'")

    def test_every_recorded_option_is_used_again(self):
        words = ("--batch_size", "4", "--batch_axis", "0", "--winograd", "exact", "--skip_passes",
                 "eliminate_identity,eliminate_nop_cast", "--passes", "eliminate_identity", "--max_tensor_size", "100000",
                 "--strict", "--convert_version", "15", "--embed_source")
        fresh = self.compile(DIGITS, *words)
        options = self.metadata()
        for name in ("batch_size", "batch_axis", "winograd", "skip_passes", "passes", "max_tensor_size", "strict",
                     "convert_version", "embed_source"):
            self.assertIn(name, dict(options))
        self.age()
        self.succeeds("a.popef")
        self.assertEqual(self.metadata(), options)
        self.assertEqual(self.read("a.popef"), fresh)

    def test_options_alone_are_used_again(self):
        """Each option has a value that changes the executable, or is at least recorded in it."""
        halves = ("--precision", "fp16")
        plain = self.compile(DIGITS, *SHAPE, "--embed_source")
        for words in (halves, ("--precision", "fp8_weight"), ("--precision", "fp8", "--ipu_version", "ipu21"), (*halves, "--fp16_skip_op_types", "Gemm"),
                      ("--input_shape", "image=1,1,8,8/4,1,8,8", "--max_padding", "0.25"), ("--input_shape", "image=1,1,8,8/4,1,8,8", "--pad_values", "image=0.5"),
                      ("--winograd", "off"), ("--winograd", "fast"), ("--convert_version", "17"),
                      ("--compiler_options", "constant_weights=False"), ("--compiler_options", "num_ipus=2", "virtual_graph_mode=auto"),
                      ("--batches_per_step", "3"), ("--num_io_tiles", "64"), ("--numerics", "faithful"), ("--ipu_version", "ipu21"),
                      ("--popart_options", "dotChecks=final", "numIOTiles=3"), ("--passes", "eliminate_identity", "--skip_passes", "constant_folding")):
            with self.subTest(words):
                shape = () if "--input_shape" in words else SHAPE
                fresh = self.compile(DIGITS, *shape, *words, "--embed_source")
                self.assertTrue(fresh != plain)
                self.succeeds("a.popef", "--force")
                self.assertTrue(self.read("a.popef") == fresh)

    def test_external_data_is_embedded_and_found_again(self):
        os.mkdir(self.path("m"))
        os.mkdir(self.path("m/data"))
        self.write("m/add.onnx", added_to_external("data/w.bin"))
        self.write("m/data/w.bin", struct.pack("3f", 1, 2, 3))
        fresh = self.compile("m/add.onnx", "--embed_source")
        self.assertEqual(self.blobs(), ["poprt.rows", "poprt.source", "poprt.source/data/w.bin"])
        shutil.rmtree(self.path("m"))
        self.age()
        self.succeeds("a.popef")
        self.assertEqual(self.read("a.popef"), fresh)
        self.npy("x.npy", "f4", [3], [10, 10, 10])
        self.succeeds("a.popef", "--input", "x=x.npy", "--output", "y=y.npy", command="poprt_exec run")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [11, 12, 13])

    def test_an_embedded_file_outside_its_folder_is_refused(self):
        os.mkdir(self.path("m"))
        self.write("m/add.onnx", added_to_external("aa/w.bin"))
        os.mkdir(self.path("m/aa"))
        self.write("m/aa/w.bin", struct.pack("3f", 1, 2, 3))
        self.compile("m/add.onnx", "--embed_source")
        self.age()
        self.write("a.popef", self.read("a.popef").replace(b"aa/w.bin", b"../w.bin"))
        self.fails(["a.popef"], "'../w.bin' outside its folder")

    def test_external_data_too_large_to_embed(self):
        self.write("add.onnx", added_to_external("w.bin"))
        with open(self.path("w.bin"), "wb") as file:
            file.write(struct.pack("3f", 1, 2, 3))
            file.truncate((2 << 30) + 1)
        ran = self.run_command("-i", "add.onnx", "-o", "a.popef", "--embed_source", command="poprt")
        self.assertEqual((ran.code, ran.err.count("\n")), (1, 1))
        for fact in ("--embed_source", "2147483", "at most 2147483648", "folder of the PopEF file"):
            self.assertIn(fact, ran.err)
        self.assertFalse(os.path.exists(self.path("a.popef")))

    def test_options_by_name_are_given_again(self):
        self.digits_beside()
        given = self.compile(self.path("digits.onnx"), *SHAPE, "--compiler_options", "partials_type=float",
                             "outline_threshold=2", "--popart_options", "dotChecks=final", "--num_io_tiles", "32",
                             "--checkpoints", "scores", "--strict")
        names = [name for name, _ in self.metadata()]
        for name in ("partials_type", "outline_threshold", "popart.dotChecks", "num_io_tiles", "strict"):
            self.assertIn(name, names)
        self.succeeds("a.popef", "--force")
        self.assertEqual(self.read("a.popef"), given)

    def test_a_file_that_names_no_source(self):
        # A model that was compiled from memory, for example from the standard input, has no file name.
        self.compile(DIGITS, *SHAPE)
        data = self.read("a.popef")
        # The option gets an unknown name of the same length, so that the rest of the file does not move.
        self.write("a.popef", data.replace(b"source\0", b"sauce!\0", 1))
        self.age()
        self.fails(["a.popef"], "records the compile option 'sauce!'", "does not support")

    def test_a_file_of_generate(self):
        genai = os.path.join(os.path.dirname(DATA), "generation", "genai")
        self.succeeds(genai, "--ids", "3,4", "--max-new-tokens", "1", "--save", "a.popef", command="poprt_exec generate")
        self.fails(["a.popef", "--force"], "'a.popef' is a file of poprt_exec generate --save, which cannot be compiled again; write it "
                                           "again with poprt_exec generate MODEL --save FILE")
        self.age()
        self.fails(["a.popef"], "is a file of poprt_exec generate --save")

    def test_wrong_usage(self):
        self.misused([], "FILE")
        self.misused(["a.popef", "--sauce", "b"], "--sauce")
        self.fails(["none.popef"], "none.popef")
        self.fails([DIGITS], "an ONNX model, not a PopEF file")


if __name__ == "__main__":
    unittest.main()
