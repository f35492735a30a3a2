"""tests/bench/compare_peers/readme_claims: ranges of README, and which measurements they hold for."""

import json
import subprocess
import tempfile
import unittest

import tree

SCRIPT = f"{tree.ROOT}/tests/bench/compare_peers/readme_claims"


def row(model, ratio, cold, memory, **other):
    """A row of compare_peers --json with medians; its minimum and maximum are far away."""
    return {"model": model, "batch": 1, "threads": 1, "ratio": [0.1, ratio, 99], "cold": [0.1, cold, 99], "memory": [0.01, memory, 9], **other}


class Claims(unittest.TestCase):
    def judge(self, *rows):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(rows, file)
            file.flush()
            return subprocess.run([SCRIPT, "--json", file.name], capture_output=True, text=True, check=False)

    def test_equal_and_better_measurements_hold(self):
        done = self.judge(row("mlp", 2.78, 15.2, 0.50), row("gpt2", 1.07, 30, 0.2))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = [line.split() for line in done.stdout.splitlines()]
        self.assertEqual([line[-1] for line in lines[1:]], ["holds"] * 3)
        self.assertIn("1.07 (gpt2) to 2.78 (mlp)", done.stdout)

    def test_a_slower_model_fails(self):
        done = self.judge(row("mlp", 2.78, 14.9, 0.50), row("gpt2", 0.9, 9, 0.5))
        self.assertEqual(done.returncode, 1)
        (failed,) = [line for line in done.stdout.splitlines() if "DOES NOT HOLD" in line]
        self.assertTrue(failed.startswith("latency"), failed)

    def test_more_memory_fails(self):
        done = self.judge(row("unet", 2, 9, 1.2))
        self.assertEqual(done.returncode, 1)
        (failed,) = [line for line in done.stdout.splitlines() if "DOES NOT HOLD" in line]
        self.assertTrue(failed.startswith("peak memory"), failed)

    def test_other_batches_and_threads_do_not_count(self):
        done = self.judge(row("mlp", 2, 9, 0.5), row("mlp", 0.5, 1, 2, threads=2), row("mlp", 0.5, 1, 2, batch=8))
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_measurement_without_a_value_is_refused(self):
        done = self.judge({"model": "mlp", "batch": 1, "threads": 1, "ratio": [1, 2, 3]})
        self.assertEqual(done.returncode, 1)
        self.assertIn("no 'cold'", done.stderr)

    def test_models_or_a_measurement_must_be_given(self):
        done = subprocess.run([SCRIPT], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("give either --models or --json", done.stderr)


if __name__ == "__main__":
    unittest.main()
