"""lint.popef_fields and lint.capnp_places report each kind of error: each generated part edited by hand, a field that one
of table and schema lacks, and a number that is used twice."""

import unittest
from unittest import mock

import capnp_places
import popef_fields
import tree

STRUCTS = capnp_places.structs


def reading(path, change):
    """Patches the tree so that the file `path` has the text that `change` returns."""
    real = tree.read
    return mock.patch.object(tree, "read", lambda asked: change(real(asked)) if asked == path else real(asked))


class PopefFields(unittest.TestCase):
    def schema_with(self, *more):
        changed = STRUCTS(popef_fields.SCHEMA)
        changed["Metadata"] += more
        return mock.patch.object(capnp_places, "structs", lambda _: changed)

    def test_generated_parts_are_current(self):
        self.assertEqual(popef_fields.check(False)[0], [])
        self.assertEqual(capnp_places.check(False), [None, None])

    def test_an_edit_by_hand_is_named_with_its_line(self):
        for path, name, _ in popef_fields.PARTS:
            with self.subTest(path=path, part=name):
                lines = tree.read(path).split("\n")
                at = next(i for i, line in enumerate(lines) if f"<popef:{name}>" in line) + 1
                lines[at] += " "
                with reading(path, lambda _, text="\n".join(lines): text):
                    self.assertEqual(popef_fields.check(False)[0],
                                     [f"{path}:{at + 1}: differs from core/popef/metadata.toml; run tests/lint/popef_fields.py --write"])

    def test_a_place_that_is_wrong_is_named(self):
        path = "core/popef/metadata_places.h"
        with reading(path, lambda text: text.replace("kNumIpus = 4", "kNumIpus = 8")):
            self.assertIn(path, capnp_places.check(False)[0])

    def test_places_are_bytes_bits_and_pointers(self):
        places = {name: place for name, _, place in STRUCTS(popef_fields.SCHEMA)["Metadata"]}
        # The encoding gives a field the first place that is free and aligned.
        self.assertEqual([places[f] for f in ("numIpus", "isInference", "numProcesses", "seedHandle")], [4, 97, 16, 1])

    def test_a_field_of_the_schema_needs_a_row(self):
        with self.schema_with(("colour", "Text", 9)), self.assertRaisesRegex(ValueError, "lacks what .* has: colour"):
            popef_fields.read()

    def test_a_row_needs_a_field_of_the_schema(self):
        with mock.patch.object(popef_fields.tomllib, "load", lambda _: {"colour": {"text": "A colour.", "since": "1.0"}}):
            with self.assertRaisesRegex(ValueError, "should have colour"):
                popef_fields.read()

    def test_numbers_are_used_once(self):
        rows = popef_fields.tomllib.loads(tree.read(popef_fields.TABLE))
        rows["num_ipus"]["number"] = 1
        with mock.patch.object(popef_fields.tomllib, "load", lambda _: rows), self.assertRaisesRegex(ValueError, "should be 1 to 7"):
            popef_fields.read()


if __name__ == "__main__":
    unittest.main()
