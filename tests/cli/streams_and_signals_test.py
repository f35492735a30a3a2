"""The output and files of poprt_exec and popef_dump when their streams are closed, and when they are interrupted."""

import os
import signal
import subprocess
import time
import unittest

import onnx_writer as onnx
import popef_dump_test
from support import CommandTest, model

NAMED = {**os.environ, "POPRT_NAMED_TEMPORARIES": "1"}  # as on file systems without unnamed files


class ClosedStreams(CommandTest):
    def test_files_are_the_same_with_closed_streams(self):
        self.npy("x.npy", "f4", [2, 3], [-1, 2, -3, 4, -5, 6])
        calls = {"poprt_exec run": [model("relu"), "--input", "x=x.npy", "--output", "y={}"],
                 "popef_dump": ["--tensor", "w", popef_dump_test.RELEASED, "--output", "{}"]}
        for command, words in calls.items():
            self.succeeds(*[w.format("whole") for w in words], command=command)
            closed = self.arguments([w.format("closed") for w in words], command)
            closed = ["sh", "-c", 'exec <&- >&- 2>&-; exec "$@"', "sh", *closed]
            ran = subprocess.run(closed, cwd=self.folder, timeout=300, check=False)
            self.assertEqual(ran.returncode, 1, command)
            tree = self.tree()
            self.assertEqual(tree["closed"], tree["whole"], command)


class Interrupted(CommandTest):
    def interrupt(self, words, command):
        """Interrupts a command as soon as it writes; returns the files in its folder."""
        os.mkdir(self.path("out"))
        process = self.begun(words, self.path("out"), NAMED, command)
        while process.poll() is None and not os.listdir(self.path("out")):
            time.sleep(0.001)
        process.send_signal(signal.SIGTERM)
        self.assertIn(process.wait(timeout=300), (0, -signal.SIGTERM))
        left = os.listdir(self.path("out"))
        for name in left:
            os.remove(self.path("out/" + name))
        os.rmdir(self.path("out"))
        return set(left)

    def test_an_export_leaves_nothing(self):
        huge = popef_dump_test.PopefDump.sparse(self, "huge.popef", 2 << 30)
        self.assertEqual(self.interrupt(["--tensor", "huge", "--output", "w.npy", huge], "popef_dump"), set())

    def test_a_run_leaves_nothing_or_all(self):
        count = 1 << 24
        shape = onnx.message(5, onnx.number(1, 1), onnx.number(2, onnx.S64), onnx.message(8, "n"),
                             onnx.message(9, count.to_bytes(8, "little")))
        x, y = onnx.value("x", onnx.F32, [1]), onnx.value("y", onnx.F32, [count])
        large = self.write("m.onnx", onnx.model([onnx.node("Expand", ["x", "n"], ["y"])], [x], [y], [shape]))
        left = self.interrupt([large, "--random", "--output", "y=y.npy"], "poprt_exec run")
        self.assertLessEqual(left, {"y.npy"})


if __name__ == "__main__":
    unittest.main()
