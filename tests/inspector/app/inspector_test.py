"""poprt-inspector as a user starts it: pictures without a display, a window under Xvfb."""

import json
import os
import shutil
import struct
import subprocess
import tempfile
import time
import unittest
import zlib

import x11_client

BIN = os.path.abspath(os.environ["POPRT_BIN"])
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
DIGITS = os.path.join(ROOT, "examples", "digits", "digits.onnx")
POPEF = os.path.join(ROOT, "tests", "data", "popef", "v1_0.popef")
PROGRAM = os.path.join(BIN, "poprt-inspector")
TEXT = b"""graph "g" opset {"": 17} {
  input %x : f32[2,3]
  %a : f32[2,3] = Relu(%x) "first"
  %y : f32[2,3] = Tanh(%a) "second"
  output %y
}
"""
ROW_TEXT = b"""graph "g" opset {"": 17} {
  input %x : f32[4,8]
  input %row : s64[1]
  %y : f32[1,8] = Gather(%x, %row) "pick"
  output %y
}
"""


def pixels(path):
    """Returns (width, height, rows of RGB bytes) of an unfiltered PNG."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        if kind == b"IDAT":
            packed += body
        at += 12 + size
    raw = zlib.decompress(packed)
    step = 1 + 3 * width
    return width, height, [raw[y * step + 1:(y + 1) * step] for y in range(height)]


def colours(rows, left, top, right, bottom):
    return {rows[y][3 * x:3 * x + 3] for y in range(top, bottom, 2) for x in range(left, right, 2)}


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {**os.environ, "XDG_CONFIG_HOME": self.folder, "POPRT_TELEMETRY_DIR": self.folder}
        # Memory that OpenGL drivers keep until the end is not a leak of the inspector.
        self.environment["ASAN_OPTIONS"] = "detect_leaks=0"
        self.environment.pop("DISPLAY", None)
        self.environment.pop("WAYLAND_DISPLAY", None)

    def path(self, name, data=None):
        path = os.path.join(self.folder, name)
        if data is not None:
            with open(path, "wb") as file:
                file.write(data)
        return path

    def run_inspector(self, *words):
        return subprocess.run([PROGRAM, *words], env=self.environment, cwd=self.folder, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def shoot(self, *words, size="1280x800", code=0):
        picture = self.path("picture.png")
        result = self.run_inspector(*words, "--screenshot", picture, "--size", size)
        self.assertEqual(result.returncode, code, result.stderr)
        width, height, rows = pixels(picture)
        self.assertEqual(f"{width}x{height}", size)
        return width, height, rows, result.stderr


class Pictures(Program):
    def test_help_and_version(self):
        text = self.run_inspector("--help").stdout
        for part in ("--screenshot", "Examples:", "--help_sheet", "Pictures without a display:"):
            self.assertIn(part, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        for words in ("--version", "-v"):
            self.assertTrue(self.run_inspector(words).stdout.startswith("poprt-inspector "))

    def test_wrong_usage_is_one_line(self):
        picture = ["--screenshot", self.path("a.png")]
        for words, names in ((["--view", "nothing"], "graph"), (["--theme", "blue"], "dark"), (["--no-such"], "--no-such"),
                             (["--them", "blue"], "dark"), (["--help-shet"], "did you mean --help_sheet?"),
                             (["--scale", "9"], "'9'"), ([*picture, "--size", "3x3"], "3x3"), ([*picture, "--step", "-2"], "'-2'"),
                             ([*picture, DIGITS, "--view", "run", "--input", "image"], "NAME=FILE"),
                             ([*picture, DIGITS, "--input", "image=zeros"], "--input is for --view run, and for --profile"),
                             ([*picture, DIGITS, "--input", "image=zeros"], "--input is for --view run, and for --profile"),
                             ([DIGITS, "--screenshot", "a.txt"], "expected FILE.png, found 'a.txt'"),
                             ([DIGITS, "--export", "graph.svg"], "expected FILE.png, found 'graph.svg'")):
            result = self.run_inspector(*words)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
            self.assertIn(names, result.stderr)

    def test_options_of_pictures_need_a_picture(self):
        for words in (["--select", "first"], ["--size", "640x480"], ["--page", "data"], ["--step", "1"], ["--bench", "1"], ["--profile"],
                      ["--help_sheet"], ["--palette"]):
            result = self.run_inspector(DIGITS, *words)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)
            self.assertIn(words[0] + " needs --screenshot FILE.png or --export FILE.png", result.stderr)

    def test_every_view_of_a_model_is_drawn(self):
        model = self.path("g.ir", TEXT)
        for view in ("graph", "popef", "program", "passes", "run", "queues", "compare", "chip"):
            width, height, rows, _ = self.shoot(model, "--view", view)
            # The bar is at the top, and the middle shows more than the background.
            self.assertGreater(len(colours(rows, 0, 0, width, 60)), 20, view)
            self.assertGreater(len(colours(rows, 0, 70, width, height - 40)), 8, view)

    def test_opens_each_kind_of_file(self):
        for file, view in ((DIGITS, "graph"), (POPEF, "popef"), (self.path("g.ir", TEXT), "graph")):
            width, height, rows, errors = self.shoot(file)
            self.assertEqual(errors, "", file)
            self.assertGreater(len(colours(rows, 0, 70, width, height - 40)), 20, view)

    def test_selects_a_node_and_refuses_an_unknown_one(self):
        model = self.path("g.ir", TEXT)
        plain = self.shoot(model)[2]
        self.assertNotEqual(plain, self.shoot(model, "--select", "first")[2])
        result = self.run_inspector(model, "--select", "nobody", "--screenshot", self.path("b.png"))
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertFalse(os.path.exists(self.path("b.png")))

    def test_what_a_view_cannot_show_is_an_error(self):
        self.path("values.csv", b"/0/Conv,1\n")
        self.path("others.csv", b"layer_9,1\n")
        for words, error in (
                ([DIGITS, "--view", "program", "--input_shape", "image=2,1,9,9"], "which does not match 2\u00d71\u00d79\u00d79"),
                ([DIGITS, "--view", "run", "--input", "image=none.npy"], "cannot read 'none.npy'"),
                ([DIGITS, "--view", "run", "--labels", "none.txt"], "none.txt"),
                (["values.csv"], "open it after the model"),
                ([POPEF, "--view", "chip"], "is estimated from a graph, which this file does not have"),
                ([POPEF, "--view", "passes"], "Passes are shown for models"),
                ([DIGITS, "others.csv"], "has no value for a node of this graph; its first name is 'layer_9'"),
                ([DIGITS, "others.csv", "--view", "passes"], "has no value for a node of this graph")):
            errors = self.shoot(*words, code=1)[3]
            self.assertIn(error, errors)
            self.assertEqual(errors.count("\n"), 1, errors)
        self.assertEqual(self.shoot(DIGITS, "values.csv")[3], "")
        result = self.run_inspector(DIGITS, "--page", "opaque", "--screenshot", "a.png")
        self.assertEqual((result.returncode, os.path.exists(self.path("a.png"))), (2, False), result.stderr)
        self.assertIn("--page opaque is for --view popef, the picture shows graph", result.stderr)

    def test_a_profile_runs_on_the_inputs_of_the_command_line(self):
        """A run that fails is an error, and so is an input that the program does not have."""
        model = self.path("row.ir", ROW_TEXT)
        header = b"{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n"
        for row in (3, 4):
            self.path(f"{row}.npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<q", row))
        for view in ("program", "graph"):
            self.assertEqual(self.shoot(model, "--view", view, "--profile", "--input", "row=3.npy")[3], "")
        errors = self.shoot(model, "--view", "program", "--profile", "--input", "row=4.npy", code=1)[3]
        self.assertIn("node 'pick': index 4", errors)
        result = self.run_inspector(model, "--profile", "--view", "program", "--input", "column=3.npy", "--screenshot", self.path("b.png"))
        self.assertEqual((result.returncode, result.stderr), (1, "poprt-inspector: --input: the model has no input 'column'\n"))

    def test_a_chip_is_chosen_by_options(self):
        """Each choice changes the picture; an option without effect is an error."""
        words = [DIGITS, "--input_shape", "image=8,1,8,8", "--view", "chip"]
        pictures = [self.shoot(*words, *more)[2] for more in (
            [], ["--target", "mk1"], ["--precision", "fp32"], ["--num_ipus", "2"], ["--page", "graph"])]
        for i, picture in enumerate(pictures):
            self.assertNotIn(picture, pictures[:i])
        for more, error in ((["--target", "mk9"], "expected mk1 or mk2"), (["--view", "run", "--target", "mk1"], "are for --view chip")):
            result = self.run_inspector(DIGITS, *more, "--screenshot", "a.png")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn(error, result.stderr)

    def test_a_pass_is_chosen_by_its_row(self):
        first, second = (self.shoot(DIGITS, "--input_shape", "image=1,1,8,8", "--view", "passes", "--step", row)[2] for row in ("1", "2"))
        self.assertNotEqual(first, second)
        result = self.run_inspector(DIGITS, "--view", "passes", "--step", "99", "--screenshot", self.path("b.png"))
        self.assertEqual((result.returncode, result.stderr), (1, "poprt-inspector: --step: the passes view has no row 99\n"))

    def test_themes_differ_and_pictures_repeat(self):
        model = self.path("g.ir", TEXT)
        dark, light = (self.shoot(model, "--theme", theme)[2] for theme in ("dark", "light"))
        self.assertLess(sum(dark[400][:300]), sum(light[400][:300]))
        self.assertEqual(dark, self.shoot(model, "--theme", "dark")[2])

    def test_options_are_equal_with_dashes_and_underscores(self):
        model = self.path("g.ir", TEXT)
        sheets = [self.shoot(model, option)[2] for option in ("--help-sheet", "--help_sheet")]
        self.assertEqual(*sheets)
        self.assertNotEqual(sheets[0], self.shoot(model)[2])

    def test_large_pictures(self):
        self.shoot(self.path("g.ir", TEXT), "--scale", "1.5", size="2560x1440")

    def test_bad_files_are_shown_and_named(self):
        with open(POPEF, "rb") as file:
            popef = file.read()
        with open(DIGITS, "rb") as file:
            onnx = file.read()
        bad = {"empty.onnx": b"", "noise.onnx": bytes(range(256)) * 8, "cut.onnx": onnx[:len(onnx) // 2], "empty.popef": b"",
               "noise.popef": b"\xff" * 5000, "half.popef": popef[:100], "broken.ir": TEXT[:80], "bad.telemetry": b"{}\n"}
        for name, data in bad.items():
            _, _, rows, errors = self.shoot(self.path(name, data), code=1)
            self.assertIn(name, errors)
            self.assertEqual(errors.count("\n"), 1, errors)
            self.assertGreater(len(colours(rows, 0, 0, 1280, 200)), 20)
        for view in ("popef", "program"):
            errors = self.shoot(self.path("most.popef", popef[:-40]), "--view", view, code=1)[3]
            self.assertIn("most.popef", errors)
            self.assertEqual(errors.count("\n"), 1, errors)
        _, _, _, errors = self.shoot(self.path("missing.onnx"), code=1)
        self.assertIn("missing.onnx", errors)

    def test_a_run_is_drawn_with_its_input(self):
        model = self.path("g.ir", TEXT)
        random, zeros = (self.shoot(model, "--view", "run", *words)[2] for words in ([], ["--input", "x=zeros"]))
        self.assertNotEqual(random, zeros)
        result = self.run_inspector(model, "--view", "run", "--input", "nobody=zeros", "--screenshot", self.path("b.png"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no input 'nobody'", result.stderr)
        self.assertFalse(os.path.exists(self.path("b.png")))
        result = self.run_inspector(model, "--view", "run", "--input", "x", "--screenshot", self.path("b.png"))
        self.assertEqual((result.returncode, result.stderr.count("\n")), (2, 1), result.stderr)

    def test_exports_a_graph(self):
        picture = self.path("graph.png")
        result = self.run_inspector(self.path("g.ir", TEXT), "--export", picture)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        width, height, rows = pixels(picture)
        self.assertGreater(len(colours(rows, 0, 0, width, height)), 8)
        result = self.run_inspector(POPEF, "--export", self.path("none.png"))
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)

    def test_without_a_display_a_window_is_refused_in_one_line(self):
        result = self.run_inspector()
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertIn("--screenshot", result.stderr)

    def test_plugins_are_loaded_before_files(self):
        result = self.run_inspector("--plugins", self.path("none.so"), "--screenshot", self.path("b.png"))
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
        self.assertIn("none.so", result.stderr)
        self.environment["POPRT_PLUGINS"] = self.path("other.so")
        self.assertIn("other.so", self.run_inspector("--screenshot", self.path("b.png")).stderr)


class Window(Program):
    """The program on a separate X server."""

    def setUp(self):
        super().setUp()
        if not shutil.which("Xvfb"):
            self.skipTest("there is no Xvfb (package xvfb)")
        read, write = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
                                       pass_fds=[write], stderr=subprocess.DEVNULL)
        os.close(write)
        with os.fdopen(read) as file:
            number = file.readline().strip()
        self.addCleanup(self.end, self.server)
        self.environment |= {"DISPLAY": f":{number}", "LIBGL_ALWAYS_SOFTWARE": "1"}
        self.client = x11_client.Client(f":{number}")
        self.addCleanup(self.client.close)

    def end(self, process):
        if process.poll() is None:
            process.terminate()
            process.wait(20)

    def start(self, *words):
        process = subprocess.Popen([PROGRAM, *words], env=self.environment, cwd=self.folder, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(self.end, process)
        self.process = process
        return self.client.find_window("poprt inspector")

    def opened(self, path):
        """Waits until the recent files in the settings contain `path`. Returns whether they do."""
        for _ in range(400):
            self.assertIsNone(self.process.poll())
            try:
                with open(self.path("poprt/inspector.json"), encoding="utf-8") as file:
                    if os.path.realpath(path) in map(os.path.realpath, json.load(file)["recent"]):
                        return True
            except (FileNotFoundError, json.JSONDecodeError):
                pass
            time.sleep(0.05)
        return False

    def test_a_window_opens_and_idles(self):
        self.start(DIGITS)
        self.assertTrue(self.opened(DIGITS))
        time.sleep(1)
        self.assertIsNone(self.process.poll())

    def test_a_dropped_file_opens(self):
        window = self.start()
        time.sleep(0.5)
        model = self.path("g.ir", TEXT)
        self.client.drop(window, model, DIGITS)
        self.assertTrue(self.opened(model))
        self.assertTrue(self.opened(DIGITS))

    def test_the_desktops_dialog_chooses_a_file(self):
        dialog = self.path("zenity", f"#!/bin/sh\necho {DIGITS}\n".encode())
        os.chmod(dialog, 0o755)
        self.environment["PATH"] = self.folder + ":" + self.environment["PATH"]
        window = self.start()
        time.sleep(0.5)
        self.client.press(window, "Control_L", "o")
        self.assertTrue(self.opened(DIGITS))

    def test_a_dialog_may_write_more_than_a_pipe_contains(self):
        """Lines before the name are longer than the pipe; the program must read while the dialog runs."""
        done = self.path("done")
        dialog = self.path("zenity", f"#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' x\ntouch {done}\n".encode())
        os.chmod(dialog, 0o755)
        self.environment["PATH"] = self.folder + ":" + self.environment["PATH"]
        window = self.start()
        time.sleep(0.5)
        self.client.press(window, "Control_L", "o")
        until = time.monotonic() + 20
        while not os.path.exists(done) and time.monotonic() < until:
            time.sleep(0.05)
        self.assertTrue(os.path.exists(done), "the dialog waits for its reader")
        self.assertIsNone(self.process.poll())

    def test_ctrl_q_ends_it_and_the_settings_stay(self):
        window = self.start(DIGITS)
        self.assertTrue(self.opened(DIGITS))
        self.client.press(window, "Control_L", "q")
        self.assertEqual(self.process.wait(20), 0)


if __name__ == "__main__":
    unittest.main()
