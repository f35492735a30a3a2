"""poprt_exec run: a model on data from files."""

import json
import os
import shutil
import statistics
import struct
import unittest
import zipfile

import onnx_writer as onnx
from support import BIN, DIGITS, CommandTest, model

X = [-2.0, -1.0, 0.0, 1.0, 2.0, 3.0]


class Run(CommandTest):
    command = "poprt_exec run"

    def setUp(self):
        super().setUp()
        self.x = self.npy("x.npy", "f4", [2, 3], X)

    def relu(self):
        return self.popef(model("relu"))

    def test_popef_and_onnx_give_the_result(self):
        for m in (self.relu(), model("relu")):
            text = self.succeeds(m, "--input", "x=x.npy", "--output", "y=y.npy")
            self.assertIn("output y: f32[2,3]", text)
            self.assertIn("wrote y.npy", text)
            header, values = self.read_npy(self.path("y.npy"))
            self.assertIn("'shape': (2,3)", header.replace(", ", ","))
            self.assertEqual(values, [max(v, 0.0) for v in X])

    def test_on_demand_compiles_the_source_in_a_file(self):
        self.succeeds("-i", DIGITS, "--input_shape", "image=2,1,8,8", "--embed_source", "-o", "d.popef", command="poprt")
        values = [i % 17 / 16 for i in range(3 * 64)]
        self.npy("image.npy", "f4", [3, 1, 8, 8], values)
        words = ("--input", "image=image.npy", "--output")
        text = self.succeeds("d.popef", "--on_demand", *words, "scores=a.npy")
        self.assertIn("output scores: f32[3,10]", text)
        self.succeeds(DIGITS, *words, "scores=b.npy", "--input_shape", "image=3,1,8,8")
        self.assertEqual(self.read_npy(self.path("a.npy")), self.read_npy(self.path("b.npy")))
        self.fails(["d.popef", *words, "scores=a.npy"], "[2,1,8,8]")
        self.misused([DIGITS, "--on_demand", *words, "scores=a.npy"], "--on_demand is for a .popef file")
        self.succeeds("-i", DIGITS, "--input_shape", "image=2,1,8,8", "-o", "plain.popef", command="poprt")
        self.fails(["plain.popef", "--on_demand", *words, "scores=a.npy"], "embed_source")
        text = self.succeeds("d.popef", "--on_demand", "--random", "--input_shape", "image=7,1,8,8")
        self.assertIn("output scores: f32[7,10]", text)
        self.fails(["d.popef", "--on_demand", "--random", "--input_shape", "image=7,2,8,8"], "image")
        self.fails(["d.popef", "--on_demand", "--random", "--input_shape", f"image={2**40},1,{2**40},8"], "elements")
        self.fails(["d.popef", "--on_demand", "--random", "--input_shape", "other=7,1,8,8"], "other")
        self.misused(["d.popef", "--on_demand", "--random", *words[:2], "--input_shape", "image=7,1,8,8"], "omit one")
        self.misused(["d.popef", "--on_demand", "--input_shape", "image=7,1,8,8"], "needs --random")
        self.misused(["d.popef", "--on_demand", "--random", "--input_shape", "image=7,1,8,8/8,1,8,8"], "several shapes")
        self.misused(["d.popef", "--random", "--input_shape", "image=7,1,8,8"], "already compiled")
        # `bench` measures one shape.
        self.command = "poprt_exec bench"
        self.succeeds("d.popef", "--on_demand", "--input_shape", "image=5,1,8,8", "--iterations", "3", "--clients", "2")
        self.fails(["d.popef", "--on_demand", "--input_shape", "image=5,2,8,8", "--iterations", "3"], "image")
        self.misused(["d.popef", "--on_demand", "--async"], "--on_demand")

    def test_input_pb_reads_a_tensor_proto(self):
        self.tensor_pb("x.pb", 1, [2, 3], struct.pack("<6f", *X))
        self.succeeds(self.relu(), "--input-pb", "x=x.pb", "--output", "y=y.npy")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [max(v, 0.0) for v in X])

    def test_a_value_that_decides_a_shape_becomes_part_of_the_program(self):
        self.npy("shape.npy", "i8", [2], [3, 2])
        text = self.succeeds(model("reshape_input"), "--input", "x=x.npy", "shape=shape.npy", "--output", "y=y.npy")
        self.assertIn("compiled with the values of: shape", text)
        header, values = self.read_npy(self.path("y.npy"))
        self.assertIn("'shape': (3,2)", header.replace(", ", ","))
        self.assertEqual(values, X)

    def test_wider_floats_are_rounded_for_inputs_of_halves(self):
        words = [model("relu"), "--precision", "fp16", "--output", "y=y.npy", "--input"]
        for code in ("f4", "f8"):
            self.npy("wide.npy", code, [2, 3], [0.1, 1.0, 2049.0, 65504.0, -1.0, 0.0])
            self.succeeds(*words, "x=wide.npy")
            self.assertEqual(self.read_npy(self.path("y.npy"))[1], [0.0999755859375, 1.0, 2048.0, 65504.0, 0.0, 0.0])
            self.npy("large.npy", code, [2, 3], [70000.0] * 6)
            self.fails([*words, "x=large.npy"], "input 'x' is f16, which cannot represent 70000")

    def test_faithful_numerics_are_those_of_the_chip(self):
        pixels = [((i * 7) % 17) / 16 for i in range(128)]
        self.npy("image.npy", "f2", [2, 1, 8, 8], pixels)
        half = [DIGITS, "--input_shape", "image=2,1,8,8", "--precision", "fp16", "--input", "image=image.npy"]
        self.succeeds(*half, "--output", "scores=fast.npy")
        text = self.succeeds(*half, "--numerics", "faithful", "--output", "scores=chip.npy")
        self.assertIn("output scores: f16[2,10]", text)
        fast, chip = self.read_npy(self.path("fast.npy"))[1], self.read_npy(self.path("chip.npy"))[1]
        distance = max(abs(a - b) for a, b in zip(fast, chip))
        self.assertTrue(0 < distance < 0.02 * max(map(abs, fast)), (fast, chip))
        self.npy("x.npy", "f2", [2, 3], [1, 2, 3, 60000, 1, 1])
        for word in ("nan", "saturate"):
            self.succeeds(model("relu"), "--precision", "fp16", "--input", "x=x.npy", "--numerics", "faithful", "--overflow", word)
        self.fails([self.relu(), "--numerics", "faithful", "--random"], "contains no model for faithful numerics", "poprt --numerics faithful")
        self.fails([*half, "--numerics", "faithful", "--random"], "--numerics faithful runs once", code=2)
        self.fails([*half, "--overflow", "saturate"], "--overflow needs --numerics faithful", code=2)
        self.fails([*half[:-1], "image=x.npy", "--numerics", "faithful"], "input 'image' is f16[2,1,8,8], given are f16 [2,3]")

    def test_faithful_numerics_of_an_executable_are_those_of_its_model(self):
        """They are equal bit for bit for fp16 and fp8 models; the fast run of the same executable is unchanged."""
        self.npy("image.npy", "f2", [2, 1, 8, 8], [((i * 7) % 17) / 16 for i in range(128)])
        given = ["--input", "image=image.npy"]
        shape = ["--input_shape", "image=2,1,8,8"]
        for precision in (["fp16"], ["fp8", "--ipu_version", "ipu21", "--fp8_params", "F143,F143,0,0"], ["fp8_weight"]):
            with self.subTest(precision[0]):
                plain = self.popef(DIGITS, *shape, "--precision", *precision)
                popef = self.popef(DIGITS, *shape, "--precision", *precision, "--numerics", "faithful")
                self.succeeds(popef, *given, "--numerics", "faithful", "--output", "scores=chip.npy")
                self.succeeds(popef, *given, "--output", "scores=fast.npy")
                self.succeeds(plain, *given, "--output", "scores=plain.npy")
                tree = self.tree()
                self.assertEqual(tree["fast.npy"], tree["plain.npy"])
                self.assertNotEqual(tree["fast.npy"], tree["chip.npy"])
                if precision == ["fp16"]:
                    self.succeeds(DIGITS, *shape, "--precision", "fp16", *given, "--numerics", "faithful", "--output", "scores=onnx.npy")
                    self.assertEqual(self.tree()["onnx.npy"], tree["chip.npy"])

    def test_executables_that_cannot_keep_a_model_for_faithful_numerics(self):
        for words, why in ((["--input_shape", "image=1,1,8,8/2,1,8,8"], "at several shapes"),
                           (["--input_shape", "image=2,1,8,8", "--compiler_options", "constant_weights=False"], "weights that change")):
            ran = self.run_command("-i", DIGITS, *words, "--numerics", "faithful", "--export_popef", command="poprt")
            self.assertEqual((ran.code, ran.err.count("\n")), (1, 1), ran.err)
            self.assertIn("--numerics faithful", ran.err)
            self.assertIn(why, ran.err)

    @unittest.skipUnless(os.path.exists(os.path.join(BIN, "../lib/libpoprt_images.so.1")), "built without Leptonica")
    def test_an_image_is_decoded_when_the_model_is_compiled(self):
        self.npy("image.npy", "u1", [17], [*b"P6 2 1 255\n", 1, 2, 3, 4, 5, 6])
        text = self.succeeds(model("image"), "--input", "stream=image.npy", "--output", "image=y.npy")
        self.assertIn("compiled with the values of: stream", text)
        header, values = self.read_npy(self.path("y.npy"))
        self.assertIn("'shape': (1,2,3)", header.replace(", ", ","))
        self.assertEqual(values, [3, 2, 1, 6, 5, 4])
        self.npy("image.npy", "u1", [16], [*b"P6 2 1 255\n", 1, 2, 3, 4, 5])
        self.fails([model("image"), "--input", "stream=image.npy"], "ImageDecoder", "the PNM data is damaged")
        self.fails([model("image"), "--random", "--input_shape", "stream=17"], "ImageDecoder", "the node's input must be constant")

    def test_an_output_of_variable_size_is_cropped(self):
        text = self.succeeds(model("nonzero"), "--input", "x=x.npy", "--output", "at=at.npy", "at:shape=n.npy")
        self.assertIn("output at: s64[2,6], of which [2,5] is real", text)
        header, values = self.read_npy(self.path("at.npy"))
        self.assertIn("'shape': (2,5)", header.replace(", ", ","))
        self.assertEqual(values, [0, 0, 1, 1, 1, 0, 1, 0, 1, 2])
        self.assertEqual(self.read_npy(self.path("n.npy"))[1], [2, 5])

    def test_an_output_is_cropped_in_the_middle(self):
        """The second of three dimensions depends on the data."""
        self.write("m.onnx", onnx.model(
            [onnx.node("NonZero", ["x"], ["n"]), onnx.node("Unsqueeze", ["n"], ["u"], axes=[2]), onnx.node("Concat", ["u", "u"], ["c"], axis=2)],
            [onnx.value("x", 1, [2, 3])], [onnx.value("c", 7, [2, "N", 2])], opset=11))
        for given in (X, [0.0] * 5 + [1.0], [0.0] * 6, [1.0] * 6):
            self.npy("x.npy", "f4", [2, 3], given)
            places = [divmod(i, 3) for i, v in enumerate(given) if v]
            self.succeeds("m.onnx", "--input", "x=x.npy", "--output", "c=c.npy")
            header, values = self.read_npy(self.path("c.npy"))
            self.assertIn(f"'shape': (2,{len(places)},2)", header.replace(", ", ","))
            self.assertEqual(values, [p[row] for row in (0, 1) for p in places for _ in range(2)])

    def test_an_output_that_only_has_the_name_of_a_size_is_none(self):
        self.write("m.onnx", onnx.model([onnx.node("Neg", ["x"], ["y"]), onnx.node("Identity", ["i"], ["y:shape"])],
                                        [onnx.value("x", 1, [2, 3]), onnx.value("i", 6, [4])], [onnx.value("y", 1, [2, 3]), onnx.value("y:shape", 6, [4])]))
        self.npy("i.npy", "i4", [4], [1, 0, 0, 0])  # the same bytes as two 64-bit numbers, 1 and 0
        text = self.succeeds("m.onnx", "--input", "x=x.npy", "i=i.npy", "--output", "y=y.npy")
        self.assertIn("output y: f32[2,3]\n", text)
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], [-v for v in X])

    def test_text_is_printed(self):
        self.assertIn('"one!"', self.succeeds(model("text"), "--input", "x=x.npy"))

    def test_a_sequence_is_given_by_its_elements(self):
        self.npy("b.npy", "f4", [1, 3], X[:3])
        text = self.succeeds(model("sequence"), "--input", "s[0]=x.npy", "s[1]=b.npy", "--output", "y=y.npy")
        self.assertIn("output y: f32[3,3]", text)
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], X + X[:3])

    def test_an_archive_is_for_a_sequence(self):
        self.npy("image.npy", "f4", [2, 1, 8, 8], [0] * 128)
        self.npz("images.npz", ["image.npy"])
        for shape, found in (([], "[N,1,8,8]"), (["--input_shape", "image=2,1,8,8"], "[2,1,8,8]")):
            ran = self.run_command(DIGITS, *shape, "--input", "image=images.npz")
            self.assertEqual((ran.code, ran.err), (1, "poprt_exec run: 'images.npz' is for a sequence, but input 'image' is "
                                                   f"f32{found}; give image=FILE.npy\n"))

    def test_an_output_replaces_only_arrays(self):
        self.npy("x.npy", "f4", [2, 3], X)
        words = [self.relu(), "--input", "x=x.npy", "--output"]
        shutil.copy(DIGITS, self.path("other.onnx"))
        shutil.copy(self.relu(), self.path("other.popef"))
        for name in ("other.onnx", "other.popef"):
            self.misused([*words, f"y={name}"], f"--output: cannot write '{name}': the file exists and contains no arrays of NumPy; give another path")
        self.write("empty", b"")
        for name in ("empty", "y.txt", "y.txt"):
            self.succeeds(*words, f"y={name}")
            self.assertEqual(self.read_npy(self.path(name))[1], [max(v, 0.0) for v in X])

    def test_hints_for_a_file_of_another_kind(self):
        self.npy("wide.npy", "f8", [2, 3], X)
        self.fails([self.relu(), "--input", "x=wide.npy"], "input 'x' is f32[2,3], but 'wide.npy' contains f64[2,3]; NumPy's astype('float32') converts it")
        self.npy("long.npy", "f4", [1, 6], X)
        self.fails([self.relu(), "--input", "x=long.npy"], "'long.npy' contains f32[1,6]\n")
        self.tensor_pb("x.pb", 1, [2, 3], struct.pack("<6f", *X))
        self.fails([self.relu(), "--input", "x=x.pb"], "'x.pb'", "; give a tensor of ONNX by --input-pb x=x.pb")

    def npz(self, name, members, compression=zipfile.ZIP_STORED):
        with zipfile.ZipFile(self.path(name), "w", compression) as archive:
            for member in members:
                archive.write(self.path(member), member)

    def test_a_sequence_is_given_as_an_archive(self):
        self.npy("b.npy", "f4", [1, 3], X[:3])
        for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            self.npz("s.npz", ["x.npy", "b.npy"], compression)
            text = self.succeeds(model("sequence"), "--input", "s=s.npz", "--output", "y=y.npy")
            self.assertIn("output y: f32[3,3]", text)
            self.assertEqual(self.read_npy(self.path("y.npy"))[1], X + X[:3])

    def test_a_sequence_is_written_as_an_archive(self):
        self.succeeds(model("split"), "--input", "x=x.npy", "--output", "s=s.npz", "s[1]=b.npy")
        with zipfile.ZipFile(self.path("s.npz")) as archive:
            self.assertEqual(archive.namelist(), ["000000.npy", "000001.npy"])
            self.assertIsNone(archive.testzip())
            archive.extractall(self.folder)
        self.assertEqual(self.read_npy(self.path("000000.npy"))[1], X[:3])
        self.assertEqual(self.read_npy(self.path("000001.npy"))[1], X[3:])
        self.assertEqual(self.read_npy(self.path("b.npy"))[1], X[3:])
        # The command reads its own output.
        self.succeeds(model("sequence"), "--input", "s=s.npz", "--output", "y=y.npy")
        self.assertEqual(self.read_npy(self.path("y.npy"))[1], X)

    def test_an_optional_is_there_or_not(self):
        self.write("o.none", b"")
        for file, there in (("x.npy", 1), ("o.none", 0)):
            self.succeeds(model("optional"), "--input", f"o={file}", "--output", "y=y.npy")
            with open(self.path("y.npy"), "rb") as result:
                self.assertEqual(result.read()[-1], there)

    def test_text_in_files(self):
        words = ["one", "", "zwölf", "\U0001f600"]
        self.text_npy("a.npy", [4], words)
        self.succeeds(model("join"), "--input", "a=a.npy", "--output", "t=t.npy")
        self.assertEqual(self.read_text_npy("t.npy"), [w + "!" for w in words])

    def test_text_that_is_not_given_is_made_up(self):
        shown = self.succeeds(model("join"), "--random", "--output", "t=t.npy")
        self.assertIn("output t: string[4]", shown)
        words = self.read_text_npy("t.npy")
        self.assertEqual(len(set(words)), 4)
        self.assertTrue(all(len(w) > 1 and w.endswith("!") for w in words), words)

    def test_json_of_text_has_the_keys_of_other_models(self):
        self.text_npy("a.npy", [4], ["one", "\"two\"", "zw\u00f6lf", ""])
        numbers = json.loads(self.succeeds(model("text"), "--input", "x=x.npy", "--json"))
        for words in (["--input", "a=a.npy"], ["--random"]):
            j = json.loads(self.succeeds(model("join"), *words, "--json"))
            self.assertLessEqual({"model", "load_ms", "latency_ms", "outputs", "texts"}, j.keys() & numbers.keys())
            self.assertEqual(j["outputs"], [{"name": "t", "dtype": "string", "shape": [4]}])
            self.assertEqual(j["latency_ms"], [])
            self.assertEqual(j["folded_inputs"], ["a"])
        self.assertEqual([o["name"] for o in numbers["outputs"]], ["y", "t"])
        given = json.loads(self.succeeds(model("join"), "--input", "a=a.npy", "--json"))
        self.assertEqual(given["texts"], [{"name": "t", "shape": [4], "values": ["one!", "\"two\"!", "zw\u00f6lf!", "!"]}])

    def test_json_of_text_that_is_no_utf8(self):
        with open(model("text"), "rb") as file:
            self.write("bytes.onnx", file.read().replace(b"one", b"\xff\xfe\xfd"))
        j = json.loads(self.succeeds("bytes.onnx", "--input", "x=x.npy", "--json"))
        self.assertEqual(j["texts"][0]["values"], ["\ufffd\ufffd\ufffd!", "two!"])
        self.assertIn("\ufffd", self.succeeds("bytes.onnx", "--input", "x=x.npy"))

    def test_json_is_whole_or_nothing(self):
        self.text_npy("short.npy", [3], ["a", "b", "c"])
        self.write("no.npy", b"no array")
        for words in ([model("join"), "--json"], [model("join"), "--input", "a=short.npy", "--json"],
                      [model("join"), "--input", "a=x.npy", "--json"], [model("join"), "--input", "a=no.npy", "--json"],
                      [model("join"), "--random", "--json", "--output", "nope=t.npy"],
                      [model("join"), "--random", "--json", "--output", "t=missing/t.npy"],
                      [model("join"), "--random", "--json", "--output", "t=t.npy", "nope=y.npy"],
                      [model("text"), "--random", "--json", "--output", "t=t.npy", "nope=y.npy"],
                      [model("relu"), "--random", "--json", "--output", "y=missing/y.npy"],
                      [model("relu"), "--random", "--json", "--output", "nope=y.npy"],
                      [model("unknown_op"), "--random", "--json"], ["nope.onnx", "--random", "--json"]):
            self.fails(words)  # fails() requires an empty stdout

    def test_wrong_archives(self):
        sequence = model("sequence")
        self.npz("s.npz", ["x.npy"])
        with open(self.path("s.npz"), "rb") as file:
            data = file.read()
        with zipfile.ZipFile(self.path("s.npz")) as archive:
            member = archive.getinfo("x.npy")
        end = member.header_offset + 30 + len(member.filename) + member.compress_size  # a local header has 30 bytes
        self.assertEqual(data[end - 4 * len(X):end], struct.pack("<6f", *X))
        damaged = bytearray(data)
        # By position: the bytes of X[0] also occur in the header of a file written in the first second of some minutes.
        damaged[end - 1] ^= 1
        for name, content in (("empty", b""), ("text", b"no archive" * 9), ("cut", data[:-30]), ("head", data[30:]),
                              ("damaged", bytes(damaged))):
            self.write(name + ".npz", content)
        for name in ("empty", "text", "cut", "head", "damaged", "nope"):
            self.fails([sequence, "--input", f"s={name}.npz"], f"'{name}.npz'")
        self.fails([self.relu(), "--input", "x=damaged.npz"], "'damaged.npz'", "damaged")
        self.fails([self.relu(), "--input", "x=head.npz"], "'head.npz'")
        self.fails([self.relu(), "--input", "x=s.npz"], "'s.npz' is for a sequence, but input 'x' is f32[2,3]; give x=FILE.npy")

    def test_archives_that_unpack_to_more_than_they_can(self):
        """DEFLATE packs at most 1032 bytes into one. Zeros nearly reach this ratio; a header that claims more is refused."""
        rows = 400_000
        self.npy("zeros.npy", "f4", [rows, 3], [0.0] * (3 * rows))
        self.npz("s.npz", ["zeros.npy"], zipfile.ZIP_DEFLATED)
        ratio = os.path.getsize(self.path("zeros.npy")) / os.path.getsize(self.path("s.npz"))
        self.assertTrue(900 < ratio < 1032, ratio)
        self.assertIn(f"output y: f32[{rows},3]", self.succeeds(model("sequence"), "--input", "s=s.npz"))
        self.npz("s.npz", ["x.npy"], zipfile.ZIP_DEFLATED)
        with open(self.path("s.npz"), "rb") as file:
            data = bytearray(file.read())
        claimed = 1032 * (len(data) + 1)
        for at in (22, data.index(b"PK\x01\x02") + 24):  # the sizes in the local header and in the directory
            data[at:at + 4] = struct.pack("<I", claimed)
        self.write("s.npz", bytes(data))
        self.fails([model("sequence"), "--input", "s=s.npz"], f"'s.npz' is not a valid .npz file: member 'x.npy' cannot have {claimed} bytes")
        for at in (22, data.index(b"PK\x01\x02") + 24):
            data[at:at + 4] = struct.pack("<I", claimed - 1)
        self.write("s.npz", bytes(data))
        self.fails([model("sequence"), "--input", "s=s.npz"], "'s.npz' is not a valid .npz file: member 'x.npy' is damaged")

    def test_types_that_numpy_lacks_are_given_and_written_as_their_bits(self):
        self.npy("b.npy", "u2", [3], [0x3F80, 0xC000, 0x3FC0])
        self.npy("i.npy", "i1", [5], [-8, 7, -1, 0, 3])
        outputs = [f"{name}={name}.npy" for name in ("wide", "real", "same", "brief")]
        self.succeeds(model("bits"), "--input", "b=b.npy", "i=i.npy", "--output", *outputs)
        self.assertEqual(self.read_npy(self.path("wide.npy"))[1], [1.0, -2.0, 1.5])
        self.assertEqual(self.read_npy(self.path("real.npy"))[1], [-8.0, 7.0, -1.0, 0.0, 3.0])
        self.assertEqual(self.read_npy(self.path("same.npy"))[1], [-8, 7, -1, 0, 3])
        self.assertEqual(self.read_npy(self.path("brief.npy"))[1], [0x3F80, 0xC000, 0x3FC0])
        self.npy("i.npy", "i1", [5], [-8, 7, 8, 0, 3])
        self.fails([model("bits"), "--input", "b=b.npy", "i=i.npy"], "i.npy: element 2 is 8, s4 holds -8 to 7")

    def test_numbers_of_four_bits_at_their_ends(self):
        for dtype, name, code, low, high in ((21, "u4", "u1", 0, 15), (22, "s4", "i1", -8, 7)):
            self.write("m.onnx", onnx.model([onnx.node("Cast", ["x"], ["real"], to=1), onnx.node("Identity", ["x"], ["same"])],
                                            [onnx.value("x", dtype, [5])], [onnx.value("real", 1, [5]), onnx.value("same", dtype, [5])], opset=21))
            values = [low, high, 1, low, 2]
            self.npy("x.npy", code, [5], values)
            self.succeeds("m.onnx", "--input", "x=x.npy", "--output", "real=real.npy", "same=same.npy")
            self.assertEqual(self.read_npy(self.path("real.npy"))[1], values)
            self.assertEqual(self.read_npy(self.path("same.npy"))[1], values)
            for wrong in ([high + 1] if low == 0 else [low - 1, high + 1]):
                self.npy("x.npy", code, [5], [0, 1, 2, 3, wrong])
                self.fails(["m.onnx", "--input", "x=x.npy"], f"x.npy: element 4 is {wrong}, {name} holds {low} to {high}")
            self.npy("x.npy", "i4", [5], [0] * 5)
            self.fails(["m.onnx", "--input", "x=x.npy"], "'x'", f"{name}[5]", "s32[5]")

    def test_integers_are_given_in_either_width(self):
        for dtype, code, other in ((6, "i4", "i8"), (7, "i8", "i4")):
            self.write("m.onnx", onnx.model([onnx.node("Identity", ["x"], ["y"])], [onnx.value("x", dtype, [3])], [onnx.value("y", dtype, [3])]))
            values = [2**31 - 1, -2**31, -1]
            for given in (code, other):
                self.npy("x.npy", given, [3], values)
                self.succeeds("m.onnx", "--input", "x=x.npy", "--output", "y=y.npy")
                header, found = self.read_npy(self.path("y.npy"))
                self.assertIn(code, header)
                self.assertEqual(found, values)
        self.write("m.onnx", onnx.model([onnx.node("Identity", ["x"], ["y"])], [onnx.value("x", 6, [3])], [onnx.value("y", 6, [3])]))
        for beyond in (2**31, -2**31 - 1):
            self.npy("x.npy", "i8", [3], [0, beyond, 0])
            self.fails(["m.onnx", "--input", "x=x.npy"], f"input 'x' is s32, which cannot represent {beyond}")

    def test_halves_that_are_not_finite_stay_so(self):
        self.write("m.onnx", onnx.model([onnx.node("Neg", ["x"], ["y"])], [onnx.value("x", 10, [4])], [onnx.value("y", 10, [4])]))
        for code in ("f4", "f8"):
            self.npy("x.npy", code, [4], [float("inf"), float("nan"), -65504.0, 65519.0])
            self.succeeds("m.onnx", "--input", "x=x.npy", "--output", "y=y.npy")
            inf, nan, most, rounds = self.read_npy(self.path("y.npy"))[1]
            self.assertEqual((inf, most, rounds), (-float("inf"), 65504.0, -65504.0))
            self.assertNotEqual(nan, nan)
            self.npy("x.npy", code, [4], [0, 0, 0, 65520.0])
            self.fails(["m.onnx", "--input", "x=x.npy"], "input 'x' is f16, which cannot represent 65520")

    def test_text_that_is_no_utf8_in_files(self):
        """A byte that belongs to no character becomes U+FFFD; the bytes around it stay."""
        words = ["ascii", "\x7f", "\u0080", "\u07ff", "\u0800", "\uffff", "\U00010000", "\U0010ffff", ""]
        words = [w.encode() for w in words] + [b"\x80", b"a\xbfb", b"\xc1\x80", b"\xc2", b"\xc2a", b"\xe2\x82", b"\xe2\x82a", b"\xf0\x9f\x98", b"\xf0\x9f\x98b",
                                               b"\xf5\x80\x80\x80", b"\xff\xfe", b"\xe2\x28\xa1", b"\xc3\xa9\xc3"]

        def decoded(data):
            text, at = "", 0
            while at < len(data):
                for size in (1, 2, 3, 4):
                    try:
                        text, at = text + data[at:at + size].decode(), at + size
                        break
                    except UnicodeDecodeError:
                        pass
                else:
                    text, at = text + "\ufffd", at + 1
            return text
        texts = onnx.message(5, onnx.number(1, len(words)), onnx.number(2, 8), *[onnx.message(6, w) for w in words], onnx.message(8, "c"))
        self.write("m.onnx", onnx.model([onnx.node("Identity", ["c"], ["t"]), onnx.node("Neg", ["x"], ["y"])], [onnx.value("x", 1, [2, 3])],
                                        [onnx.value("t", 8, [len(words)]), onnx.value("y", 1, [2, 3])], [texts]))
        self.succeeds("m.onnx", "--input", "x=x.npy", "--output", "t=t.npy")
        self.assertEqual(self.read_text_npy("t.npy"), [decoded(w) for w in words])

    def test_several_inputs(self):
        self.npy("table.npy", "f4", [3, 2], X)
        self.npy("ids.npy", "i8", [2], [2, 0])
        self.succeeds(model("gather"), "--input", "table=table.npy", "ids=ids.npy", "--output", "rows=r.npy")
        self.assertEqual(self.read_npy(self.path("r.npy"))[1], [2.0, 3.0, -2.0, -1.0])

    def test_random_fills_the_rest(self):
        self.succeeds(model("gather"), "--random")
        self.succeeds(self.relu(), "--random", "--input", "x=x.npy")

    def test_made_up_inputs_by_type(self):
        """Floats are around zero, halves have both signs and are less than 1, other types are 0 and 1; each input has other values."""
        types = {"a": (1, "<f4"), "b": (1, "<f4"), "c": (11, "<f8"), "d": (10, "<f2"), "e": (16, "<u2"), "f": (7, "<i8"), "g": (6, "<i4"),
                 "h": (3, "|i1"), "i": (9, "|b1")}
        count = 2000
        self.write("m.onnx", onnx.model([onnx.node("Identity", [n], [n + "y"]) for n in types],
                                        [onnx.value(n, t, [count]) for n, (t, _) in types.items()],
                                        [onnx.value(n + "y", t, [count]) for n, (t, _) in types.items()]))
        self.succeeds("m.onnx", "--random", "--output", *[f"{n}y={n}.npy" for n in types])
        found = {}
        for name, (_, code) in types.items():
            with open(self.path(name + ".npy"), "rb") as file:
                data = file.read()
            self.assertIn(f"'descr': '{code}'", data[:80].decode("latin1"))
            letter = {"<f4": "f", "<f8": "d", "<f2": "e", "<u2": "H", "<i8": "q", "<i4": "i", "|i1": "b", "|b1": "?"}[code]
            found[name] = struct.unpack(f"<{count}{letter}", data[128:])
        for name in "abc":
            self.assertAlmostEqual(statistics.fmean(found[name]), 0, delta=0.1)
            self.assertAlmostEqual(statistics.pstdev(found[name]), 1, delta=0.1)
        self.assertNotEqual(found["a"], found["b"])
        found["e"] = struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *[v << 16 for v in found["e"]]))
        for name, least in (("d", 0.125), ("e", 0.25)):
            sizes = [abs(v) for v in found[name]]
            self.assertTrue(least <= min(sizes) < 1.01 * least and 0.99 < max(sizes) < 1, (min(sizes), max(sizes)))
            self.assertTrue(0.4 * count < sum(v < 0 for v in found[name]) < 0.6 * count)
        for name in "fghi":
            self.assertEqual(set(found[name]), {0, 1})
            self.assertTrue(0.4 * count < sum(found[name]) < 0.6 * count)

    def test_compile_options_for_onnx(self):
        text = self.succeeds(model("dynamic"), "--random", "--input_shape", "x=4,3")
        self.assertIn("f32[4,3]", text)
        self.assertIn("f32[5,3]", self.succeeds(model("dynamic"), "--random", "--batch_size", "5", "--batch_axis", "0"))
        self.assertIn("f16[4,3]", self.succeeds(model("dynamic"), "--random", "--input_shape", "x=4,3",
                                                "--precision", "fp16"))

    def test_threads_do_not_change_the_result(self):
        popef = self.popef(DIGITS, "--input_shape", "image=4,1,8,8")
        self.npy("image.npy", "f4", [4, 1, 8, 8], [(i * 37 % 17) / 16 for i in range(256)])
        for threads in (1, 2):
            self.succeeds(popef, "--input", "image=image.npy", "--output", f"scores={threads}.npy", "--threads", threads)
        self.assertEqual(self.read_npy(self.path("1.npy")), self.read_npy(self.path("2.npy")))

    def test_json(self):
        j = json.loads(self.succeeds(self.relu(), "--random", "--json", "--iterations", "3"))
        self.assertEqual(len(j["latency_ms"]), 3)
        self.assertEqual(j["outputs"], [{"name": "y", "dtype": "f32", "shape": [2, 3]}])

    def test_a_misspelt_input_of_a_model_with_variable_dimensions(self):
        self.write("open.onnx", onnx.model([onnx.node("Relu", ["x"], ["y"])], [onnx.value("x", onnx.F32, ["n", 3])],
                                           [onnx.value("y", onnx.F32, ["n", 3])]))
        self.succeeds("open.onnx", "--input", "x=x.npy")
        self.fails(["open.onnx", "--input", "X=x.npy"], "the model has no input 'X'; it has: x")

    def test_several_models_or_shapes_have_no_profile(self):
        self.write("c.yaml", f"output_dir: .\nexport_popef: True\nmodel_fusion:\n- input_model: {model('relu')}\n".encode())
        self.succeeds("--config_yaml", "c.yaml", command="poprt")
        self.succeeds("-i", DIGITS, "--input_shape", "image=1,1,8,8/2,1,8,8", "--embed_source", "-o", "d.popef", command="poprt")
        for words in (["executable.popef", "--input", "graph0/x=x.npy"], ["d.popef", "--random"]):
            self.misused([*words, "--profile", "--json"], "poprt_exec inspect FILE --view program --profile 1 measures")
            self.succeeds(words[0], "--view", "program", "--profile", "0.01", command="poprt_exec inspect")
        self.fails(["d.popef", "--on_demand", "--random", "--input_shape", "image=3,1,8,8"], "so others are not compiled on demand: compile a file at one shape")
        self.succeeds("-i", DIGITS, "--input_shape", "image=1,1,8,8", "--embed_source", "-o", "e.popef", command="poprt")
        self.misused(["e.popef", "--on_demand", "--random", "--input_shape", "image=3,1,8,8", "--profile"], "compile one shape")

    def test_profile_lists_instructions(self):
        self.assertIn("kernel", self.succeeds(self.relu(), "--random", "--profile"))
        self.assertIn("instructions", json.loads(self.succeeds(self.relu(), "--random", "--profile", "--json"))["profile"])

    def test_shares_of_a_profile(self):
        """Rows have their share of the time of all instructions, the longest first."""
        text = self.succeeds(DIGITS, "--input_shape", "image=2,1,8,8", "--random", "--profile", "--iterations", "3")
        rows = [line.split() for line in text[text.index("        us"):].splitlines()[1:]]
        times, shares = [float(r[0]) for r in rows], [float(r[1]) for r in rows]
        self.assertGreater(len(rows), 2)
        self.assertEqual(times, sorted(times, reverse=True))
        for took, share in zip(times, shares):
            self.assertAlmostEqual(share, 100 * took / sum(times), delta=0.02 + 100 * 0.005 * (len(rows) + 1) / sum(times))

    def test_wrong_usage(self):
        popef = self.relu()
        self.misused([], "MODEL")
        self.misused([popef, "--frobnicate"], "--frobnicate")
        self.misused([popef, "--threads", "-1"], "--threads", "'-1'")
        self.misused([popef, "--iterations", "0"], "--iterations", "'0'")
        self.misused([popef, "--input", "x"], "--input: ", "'x'")
        self.misused([popef, "--input-pb", "x"], "--input-pb: ", "'x'")
        self.misused([popef, "--random", "--output", ""], "--output", "empty")
        self.misused([""], "MODEL", "empty")
        self.misused([popef, "--random", "--output", "y="], "--output", "'y='")
        self.misused([popef, "--random", "--precision", "fp16"], "executable.popef", "already compiled")

    def test_wrong_model(self):
        self.fails(["nope.popef", "--random"], "'nope.popef'", "No such file")
        self.fails(["nope.onnx", "--random"], "'nope.onnx'", "No such file")
        self.fails([self.folder, "--random"], self.folder, "directory")
        self.fails([model("unknown_op"), "--random"], "Frobnicate")
        self.fails([model("dynamic"), "--random"], "'x'", "--input_shape x=")
        self.write("text.popef", b"no PopEF at all" * 10)
        self.fails(["text.popef", "--random"], "text.popef", "PopEF")

    def test_truncated_popef(self):
        with open(self.relu(), "rb") as file:
            data = file.read()
        for size in (0, 10, 64, 1000, 4096, len(data) - 1):
            self.write("cut.popef", data[:size])
            self.fails(["cut.popef", "--random"], "cut.popef")

    def test_wrong_input(self):
        popef = self.relu()
        self.fails([popef], "'x'", "f32[2,3]", "--input x=")
        self.fails([popef, "--input", "z=x.npy"], "'z'", "x")
        self.fails([popef, "--input", "x=nope.npy"], "'nope.npy'", "No such file")
        self.fails([popef, "--input", f"x={self.folder}"], self.folder, "folder")
        self.npy("double.npy", "f8", [2, 3], X)
        self.fails([popef, "--input", "x=double.npy"], "'x'", "f32[2,3]", "f64[2,3]")
        self.npy("flat.npy", "f4", [6], X)
        self.fails([popef, "--input", "x=flat.npy"], "'x'", "f32[2,3]", "f32[6]")
        self.npy("big.npy", "f4", [2, 4], X + [0.0, 0.0])
        self.fails([popef, "--input", "x=big.npy"], "f32[2,4]")

    def test_input_given_twice(self):
        self.misused([self.relu(), "--input", "x=x.npy", "x=x.npy"], "'x'", "twice")

    def test_wrong_npy(self):
        popef = self.relu()
        with open(self.x, "rb") as file:
            data = file.read()
        for name, content, fact in (("empty", b"", "magic"), ("text", b"hello world, hello", "magic"),
                                    ("head", data[:40], "truncated"), ("short", data[:-4], "24 bytes"),
                                    ("long", data + b"\0" * 4, "24 bytes"),
                                    ("version", data[:6] + b"\x09" + data[7:], "version"),
                                    ("object", data.replace(b"<f4", b"|O "), "dtype"),
                                    ("negative", data.replace(b"(2, 3)", b"(-2,3)"), "shape")):
            self.write(name + ".npy", content)
            self.fails([popef, "--input", f"x={name}.npy"], f"'{name}.npy'", fact)
        self.npy("be.npy", "f4", [2, 3], X, order=">")
        self.fails([popef, "--input", "x=be.npy"], "'be.npy'", "big-endian")
        self.npy("fortran.npy", "f4", [2, 3], X, fortran=True)
        self.fails([popef, "--input", "x=fortran.npy"], "'fortran.npy'", "Fortran")

    def test_wrong_pb(self):
        popef = self.relu()
        self.fails([popef, "--input-pb", "x=nope.pb"], "nope.pb", "No such file")
        self.write("text.pb", b"no tensor")
        self.fails([popef, "--input-pb", "x=text.pb"], "text.pb")
        self.tensor_pb("ids.pb", 7, [2], struct.pack("<2q", 0, 1))
        self.fails([popef, "--input-pb", "x=ids.pb"], "'x'", "s64[2]")

    def test_wrong_output(self):
        popef = self.relu()
        self.fails([popef, "--random", "--output", "z=z.npy"], "'z'", "y")
        self.fails([popef, "--random", "--output", "y=nope/y.npy"], "'nope/y.npy'", "No such file")
        os.mkdir(self.path("folder"))
        self.fails([popef, "--random", "--output", "y=folder"], "'folder'", "directory")
        os.symlink("/dev/null", self.path("null"))
        self.fails([popef, "--random", "--output", "y=null"], "'/dev/null'", "regular file")
        self.assertTrue(os.path.islink(self.path("null")))


if __name__ == "__main__":
    unittest.main()
