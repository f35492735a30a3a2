"""A compilation ends at an exception of a callback and at Ctrl-C."""

import _thread
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np
import onnx

from onnx_models import make, node
from poprt.compiler import Compiler, CompilerOptions


def long_model(layers=6000):
    """A model that takes seconds to compile."""
    nodes, constants = [], {}
    for i in range(layers):
        constants[f"w{i}"] = np.full((4, 4), 1 + i, np.float32)
        nodes += [node("MatMul", [f"x{i}", f"w{i}"], [f"m{i}"]), node("Softmax", [f"m{i}"], [f"x{i + 1}"])]
    return make(nodes, {"x0": [4, 4]}, {f"x{layers}": [4, 4]}, constants)


class InterruptTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.onnx, cls.popef = (os.path.join(cls.folder.name, name) for name in ("long.onnx", "long.popef"))
        onnx.save(long_model(), cls.onnx)

    def test_an_exception_of_the_logger_ends_the_compilation(self):
        passes = []

        def logger(done, most):
            if passes:
                raise KeyError("enough")

        options = CompilerOptions(compilation_progress_logger=logger, after_pass=lambda *report: passes.append(report[0]))
        with self.assertRaisesRegex(KeyError, "enough") as caught:
            Compiler.compile_and_export(self.onnx, None, self.popef, options)
        self.assertIsNone(caught.exception.__cause__)
        self.assertFalse(os.path.exists(self.popef))

    def test_ctrl_c_ends_the_compilation(self):
        begun = threading.Event()

        def press():
            begun.wait()
            time.sleep(0.1)
            _thread.interrupt_main()

        previous = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, previous)
        presser = threading.Thread(target=press)
        presser.start()
        with self.assertRaises(KeyboardInterrupt):
            begun.set()
            Compiler.compile_and_export(self.onnx, None, self.popef)
            presser.join()
        presser.join()
        self.assertFalse(os.path.exists(self.popef))
        # The stopped compilation has no effect on the next one.
        self.assertEqual(Compiler.compile(make([node("Neg", ["x"], ["y"])], {"x": [2]}, {"y": [2]})).get_outputs()[0].name, "y")

    def test_ctrl_c_while_a_model_is_loaded_leaves_nothing_in_the_cache(self):
        cache = os.path.join(self.folder.name, "cache")
        script = ("import os, signal, sys, threading\n"
                  "from poprt.compiler import CompilerOptions, Executable\n"
                  "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                  "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
                  "Executable.load(sys.argv[1], CompilerOptions(cache_path=sys.argv[2]))\n"
                  "signal.sigtimedwait([signal.SIGINT], 60)\n")
        ended = subprocess.run([sys.executable, "-c", script, self.onnx, cache], capture_output=True, text=True, check=False)
        self.assertEqual(ended.returncode, -signal.SIGINT, ended.stderr)
        self.assertIn("KeyboardInterrupt", ended.stderr)
        self.assertEqual([name for name in os.listdir(cache) if name.endswith(".popef")] if os.path.exists(cache) else [], [])


if __name__ == "__main__":
    unittest.main()
