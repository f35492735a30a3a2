"""poprt_exec top: the telemetry of other processes."""

import json
import os
import subprocess
import time
import unittest

from support import DIGITS, CommandTest, model


class Top(CommandTest):
    command = "poprt_exec top"

    def publisher(self, *model):
        """A process that runs a model and publishes."""
        environment = {**os.environ, "POPRT_TELEMETRY": "1", "POPRT_TELEMETRY_DIR": self.folder}
        model = model or (DIGITS, "--input_shape", "image=1,1,8,8")
        words = self.arguments([*model, "--seconds", "600"], "poprt_exec bench")
        process = subprocess.Popen(words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def end():
            process.kill()
            process.wait()
        self.addCleanup(end)
        for _ in range(600):
            if any(s["runs"] > 10 for s in self.segments()):
                return process
            time.sleep(0.1)
        self.fail("nothing was published")

    def segments(self):
        return json.loads(self.succeeds("--folder", self.folder, "--json"))

    def test_shows_a_running_process_and_then_that_it_died(self):
        process = self.publisher()
        first, = self.segments()
        self.assertEqual((first["pid"], first["alive"]), (process.pid, True))
        self.assertGreater(first["runs"], 0)
        self.assertGreater(first["busy_ns"], 0)
        self.assertTrue(first["name"])
        out = self.succeeds("--folder", self.folder, "--count", 2, "--interval", 0.05)
        self.assertEqual(out.count("runs/s"), 2)
        self.assertEqual(out.count(str(process.pid)), 2)
        process.kill()
        process.wait()
        left, = self.segments()
        self.assertFalse(left["alive"])
        self.assertIn("dead", self.succeeds("--folder", self.folder))

    def test_shows_the_models_of_a_fused_one(self):
        self.write("c.yaml", f"output_dir: .\nexport_popef: True\nmodel_fusion:\n- input_model: {model('relu')}\n"
                   f"- input_model: {DIGITS}\n  input_shape: ['image=2,1,8,8']\n".encode())
        self.succeeds("--config_yaml", "c.yaml", command="poprt")
        self.publisher(self.path("executable.popef"))
        segment, = self.segments()
        names = [b["name"] for b in segment["branches"]]
        lines = self.succeeds("--folder", self.folder).splitlines()
        shown = [line.split() for line in lines if line.split()[0] == "variant"]
        self.assertEqual([" ".join(words[1:-2]) for words in shown], names)
        self.assertGreater(float(shown[0][-2]), 0)
        self.assertEqual(float(shown[1][-2]), 0, "bench runs one after the other: the second one has not begun")

    def test_without_publishers_the_table_is_empty(self):
        self.assertEqual(self.segments(), [])
        self.assertEqual(self.succeeds("--folder", self.folder).count("\n"), 1)
        self.assertEqual(json.loads(self.succeeds("--folder", self.path("missing"), "--json")), [])

    def test_wrong_usage(self):
        self.fails(["--interval", "0"], "0.01", code=2)
        self.fails(["--count", "0"], "at least 1", code=2)
        self.fails(["--fast"], "--fast", code=2)

    def test_numbers_of_a_process_that_has_ended(self):
        """Rates are averages since its start, each time has a suitable unit, and all numbers agree with --json."""
        process = self.publisher()
        process.kill()
        process.wait()
        s, = self.segments()
        text = self.succeeds("--folder", self.folder)
        after, = self.segments()

        def near(shown, value):
            self.assertAlmostEqual(float(shown), value, delta=0.06 + 1e-3 * value)
        row = text.splitlines()[1].split()
        seconds = s["runs"] / float(row[5])  # from the start to the sample
        self.assertLessEqual(s["sampled_ns"] - s["started_ns"], seconds * 1.001e9)
        self.assertGreaterEqual(after["sampled_ns"] - s["started_ns"], seconds * 0.999e9)
        self.assertEqual(row[:4], [str(s["pid"]), s["name"], str(s["replica"]), "dead"])
        near(row[4], s["requests"]["completed"] / seconds)
        near(row[6].rstrip("%"), s["busy_ns"] / 1e7 / seconds)
        self.assertEqual(row[7:9], [str(s["requests"]["in_flight"]), str(s["requests"]["failed"])])
        units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
        for at, quantile in ((9, "p50"), (11, "p99"), (13, "max")):
            near(row[at], s["latency_ns"][quantile] / units[row[at + 1]])
            self.assertTrue(1 <= float(row[at]) <= 1000, row)
        for line, queue in zip(text.splitlines()[2:], s["queues"]):
            self.assertEqual(line.split(), [queue["direction"], queue["name"], "fill", str(queue["fill"]), "of", str(queue["capacity"]), "high",
                                            "water", str(queue["high_water"]), "stalls", str(queue["stalls"])])
        self.assertEqual(text.count("\n"), 2 + len(s["queues"]))


if __name__ == "__main__":
    unittest.main()
