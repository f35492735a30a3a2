"""lint.counter_fields notices each generated part that was edited by hand."""

import unittest
from unittest import mock

import counter_fields
import tree


class CounterFields(unittest.TestCase):
    def test_generated_parts_are_current(self):
        self.assertEqual(counter_fields.check(False)[0], [])

    def test_an_edit_by_hand_is_named_with_its_line(self):
        real = tree.read
        for path, name, _ in counter_fields.PARTS:
            with self.subTest(path=path, part=name):
                lines = real(path).split("\n")
                at = next(i for i, line in enumerate(lines) if f"<counters:{name}>" in line) + 1
                lines[at] += " "
                with mock.patch.object(tree, "read", lambda asked, path=path, text="\n".join(lines): text if asked == path else real(asked)):
                    self.assertEqual(counter_fields.check(False)[0],
                                     [f"{path}:{at + 1}: differs from capi/counters.toml; run tests/lint/counter_fields.py --write"])

    def test_a_time_has_its_unit_in_c_alone(self):
        row = counter_fields.Counter("wait", {"kind": "time", "text": "Time in the queue."}, {})
        self.assertIn("  uint64_t wait_ns;", counter_fields.c_fields([row]))
        self.assertIn("    wait = Duration.ofNanos(raw.getWait_ns());", counter_fields.java_members([row]))
        self.assertIn("\tWait time.Duration", counter_fields.go_members([row]))


if __name__ == "__main__":
    unittest.main()
