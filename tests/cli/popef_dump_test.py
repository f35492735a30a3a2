"""popef_dump: the contents of a PopEF file."""

import json
import os
import struct
import subprocess
import unittest

from support import DIGITS, ROOT, CommandTest, model

PEAK = """import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"""
RELEASED = os.path.join(ROOT, "tests", "data", "popef", "v1_0.popef")


class PopefDump(CommandTest):
    command = "popef_dump"

    def digits(self):
        return self.popef(DIGITS, "--input_shape", "image=2,1,8,8")

    def test_summary_names_executable_and_anchors(self):
        text = self.succeeds(self.digits())
        for fact in ("executable.popef", "Executable digits", "Inputs", "image", "[2,1,8,8]", "Outputs", "scores",
                     "[2,10]"):
            self.assertIn(fact, text)

    def test_class_labels_that_are_strings(self):
        popef = self.popef(model("labels"))
        text = self.succeeds(popef)
        self.assertIn("label   S32   [3]", text)
        self.assertIn("Opaque class_labels/label: ", text)
        blob, = [b for b in json.loads(self.succeeds("--json", popef))["opaque_blobs"] if b["name"] != "poprt.rows"]
        self.assertEqual(json.loads(blob["text"]), ["cat", "dog", 'a "fish"'])

    def test_metadata(self):
        popef = self.digits()
        text = self.succeeds("-m", popef)
        self.assertEqual(text, self.succeeds("--metadata", popef))
        for fact in ("Metadata", "replication_factor", "program_flow", "INPUT image", "OUTPUT scores"):
            self.assertIn(fact, text)

    def test_metadata_contains_the_onnx_metadata(self):
        popef = self.digits()
        text = self.succeeds("-m", popef)
        for line in ("  onnx:\n", "    producer_name: pytorch\n", "    producer_version: 1.13.0\n"):
            self.assertIn(line, text)
        described, = json.loads(self.succeeds("--json", popef))["models"]
        self.assertEqual(described["onnx"]["producer_name"], "pytorch")
        self.assertNotIn("  onnx:", self.succeeds("-m", self.popef(model("labels"))))

    def test_all_shows_more_than_the_metadata(self):
        popef = self.digits()
        summary, everything = self.succeeds(popef), self.succeeds("--all", popef)
        self.assertGreater(len(everything), len(summary))
        self.assertIn("replication_factor", everything)

    def test_json_parses(self):
        popef = self.digits()
        j = json.loads(self.succeeds("--json", popef))
        self.assertEqual(j["bytes"], os.path.getsize(popef))

    def test_user_anchors(self):
        text = self.succeeds("--user-anchors", self.digits())
        for fact in ("Inputs (user-provided): 1", "Name: image", "dtype: F32, sizeInBytes: 512, shape: [2,1,8,8]",
                     "Handle: h2d_image", "Programs: [1]", "IsPerReplica: false", "Outputs (user-provided): 1"):
            self.assertIn(fact, text)

    def test_tensor_and_feed_export(self):
        self.assertEqual(self.succeeds("--tensor", "w", RELEASED), "w.npy\n")
        with open(self.path("w.npy"), "rb") as file:
            data = file.read()
        self.assertIn(b"'descr': '<f2', 'fortran_order': False, 'shape': (4,)", data)
        self.assertEqual(data[-8:], b"12345678")
        self.succeeds("--feed", "x", "--executable", "compressed", "--output", "feed.npy", RELEASED)
        header, values = self.read_npy(self.path("feed.npy"))
        self.assertIn("'shape': (2, 2, 3)", header)
        self.assertEqual(len(values), 12)

    def sparse(self, name, size, tensor=b"huge"):
        """A file with one tensor of `size` zeros, of which only the header takes room (see FORMAT.md)."""

        def record(tag, value):
            return struct.pack("<HHI", tag, 0, len(value)) + value.ljust(-(-len(value) // 8) * 8, b"\0")

        descriptor = record(1, tensor) + record(3, struct.pack("<I", 6)) + record(4, struct.pack("<q", size))
        offset = 64 + -(-len(descriptor) // 64) * 64
        header = struct.pack("<16sIIQIIQQQ", b"PopEF 1.0", 3, 0, offset + size, 64, len(descriptor), offset, size, size)
        path = self.write(name, header + descriptor)
        os.truncate(path, offset + size)
        return path

    def test_huge_files_take_constant_memory(self):
        def peak_of(path, *words):
            words = ["python3", "-c", PEAK, *self.arguments([*words, path])]
            code, peak = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True).stdout.split()
            self.assertEqual(code, "0")
            return int(peak)

        small, huge = self.sparse("small.popef", 64), self.sparse("huge.popef", 6 << 30)
        self.addCleanup(os.remove, huge)
        self.assertIn("Tensor huge: U8[6442450944], 6442450944 bytes", self.succeeds(huge))
        for words in ([], ["--metadata"], ["--all"], ["--json"], ["--user-anchors"]):
            self.assertLess(peak_of(huge, *words), peak_of(small, *words) + (8 << 10), words)  # KiB
        # Export reads all of it, in pieces.
        large, npy = self.sparse("large.popef", 256 << 20), self.path("huge.npy")
        words = ["--tensor", "huge", "--output", npy]
        least = peak_of(small, *words)
        self.assertLess(peak_of(large, *words), least + (32 << 10))
        self.assertEqual(os.path.getsize(npy), 128 + (256 << 20))

    def test_file_names_are_sanitized_tensor_names(self):
        for tensor, file in (("a b.c~", "a b.c~.npy"), ("a/b/", "a_b_.npy"), ("tab\there", "tab_here.npy"),
                             ("..", "_.npy"), (".", "_.npy"), ("...", "....npy"), ("\u00e9", "\u00e9.npy")):
            popef = self.sparse("named.popef", 64, tensor.encode())
            self.assertEqual(self.succeeds("--tensor", tensor, popef), file + "\n")
            self.assertEqual(os.path.getsize(self.path(file)), 128 + 64)

    def test_options_of_an_export_need_an_export(self):
        for words in (["--executable", "digits"], ["--output", "w.npy"], ["--executable", "x", "--output", "w.npy"]):
            for mode in ([], ["--all"], ["--json"], ["-m"]):
                self.misused([*words, *mode, RELEASED], "--executable and --output need --tensor or --feed")

    def test_every_mode_shows_something_else(self):
        shown = {mode: self.succeeds(*mode, RELEASED) for mode in ((), ("-m",), ("--all",), ("--json",),
                                                                   ("--user-anchors",))}
        self.assertEqual(len(set(shown.values())), len(shown))
        self.assertNotIn("replication_factor", shown[()])

    def test_export_errors(self):
        self.fails(["--tensor", "nope", RELEASED], "'nope'", "there are: 'w'")
        self.fails(["--feed", "w", RELEASED], "'w'", "'x'")
        self.fails(["--tensor", "w", "-o", "none/w.npy", RELEASED], "none/w.npy")
        self.misused(["--tensor", "w", "--feed", "x", RELEASED], "--tensor", "--feed")
        self.misused(["--output", "w.npy", RELEASED], "--output")

    def test_wrong_usage(self):
        self.misused([], "FILE")
        self.misused(["-m", "--all", "x"], "--metadata", "--all")
        self.misused(["--frobnicate", "x"], "--frobnicate")
        for option in ("--tensor", "--feed", "--output", "--executable"):
            self.misused([option, "", RELEASED], option, "empty")

    def test_missing_file_and_folder(self):
        self.fails(["nope.popef"], "'nope.popef'", "No such file")
        self.fails([self.folder], self.folder, "directory")

    def test_not_popef(self):
        self.fails([DIGITS], DIGITS, "PopEF")
        self.write("empty.popef", b"")
        self.fails(["empty.popef"], "empty.popef", "empty")

    def test_truncated_anywhere(self):
        with open(self.popef(model("relu")), "rb") as file:
            data = file.read()
        for size in (1, 10, 63, 64, 300, 600, 4096, len(data) - 1):
            self.write("cut.popef", data[:size])
            for more in ([], ["-m"], ["--all"], ["--json"]):
                self.fails([*more, "cut.popef"], "cut.popef")


if __name__ == "__main__":
    unittest.main()
