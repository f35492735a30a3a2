"""Commands that are killed while they write: the old file or the new one, and nothing else."""

import itertools
import os
import random
import signal
import time
import unittest

import onnx_writer as onnx
from support import CommandTest

NAMED = {**os.environ, "POPRT_NAMED_TEMPORARIES": "1"}  # as on file systems without unnamed files


def add_model(value, size=1 << 20):
    """y = x + w, where every element of w is `value`."""
    x, y = (onnx.value(name, onnx.F32, [size]) for name in "xy")
    return onnx.model([onnx.node("Add", ["x", "w"], ["y"])], [x], [y], [onnx.floats("w", [size], [value] * size)])


class Interrupted(CommandTest):
    command = "poprt"
    made = ("m.optimized.onnx", "executable.popef")

    def setUp(self):
        super().setUp()
        self.random = random.Random(14)
        self.whole = {name: [] for name in self.made}
        for value in (1.0, 2.0):
            self.write("m.onnx", add_model(value))
            os.replace(self.path("m.onnx"), self.path(f"{value}.onnx"))
            begin = time.monotonic()
            self.succeeds(*self.words(value))
            self.seconds = time.monotonic() - begin
            for name in self.made:
                with open(self.path(f"out/{name}"), "rb") as file:
                    self.whole[name].append(file.read())

    def words(self, value):
        return ["-i", f"{value}.onnx", "--output_dir", "out", "--output_model", self.made[0], "--export_popef",
                "--overwrite"]

    def check_outputs(self):
        for name in self.made:
            with open(self.path(f"out/{name}"), "rb") as file:
                self.assertIn(file.read(), self.whole[name], f"{name} is damaged")

    def left_behind(self):
        return sorted(set(os.listdir(self.path("out"))) - set(self.made))

    def kill_often(self, signals, environment, kills=24):
        """Kills runs that replace both files at random times; returns the files that each left."""
        left = []
        for kill, value in zip(itertools.islice(itertools.cycle(signals), kills), itertools.cycle((1.0, 2.0))):
            process = self.begun(self.words(value), self.folder, environment)
            time.sleep(self.random.uniform(0, self.seconds))
            process.send_signal(kill)
            self.assertIn(process.wait(timeout=300), (0, -kill))
            self.check_outputs()
            left += self.left_behind()
        return left

    def test_signals_leave_nothing_where_files_have_temporary_names(self):
        self.assertEqual(self.kill_often((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), NAMED), [])

    def test_the_next_export_removes_files_left_by_a_kill(self):
        for environment in (NAMED, os.environ):
            self.kill_often((signal.SIGKILL, signal.SIGTERM), environment)
            self.succeeds(*self.words(1.0))
            self.assertEqual(self.left_behind(), [])
            self.check_outputs()

    def test_a_signal_that_the_caller_ignores_stays_ignored(self):
        process = self.begun(self.words(2.0), self.folder, NAMED,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(self.seconds / 20)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.left_behind(), [])


if __name__ == "__main__":
    unittest.main()
