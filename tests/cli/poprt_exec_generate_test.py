"""poprt_exec generate, with the models and tokens of tests/data/generation."""

import json
import os
import unittest

from support import DATA, CommandTest

FOLDER = os.path.join(os.path.dirname(DATA), "generation")


class Generate(CommandTest):
    command = "poprt_exec generate"

    def setUp(self):
        super().setUp()
        with open(os.path.join(FOLDER, "expected.json"), encoding="utf-8") as file:
            self.expected = json.load(file)

    def ids(self, text):
        return ",".join(str(token) for token in text["prompt"])

    def test_tokens_are_those_of_the_reference(self):
        for kind, texts in self.expected.items():
            count = min(len(text["tokens"]) for text in texts)
            said = json.loads(self.succeeds(os.path.join(FOLDER, kind), "--ids", *(self.ids(text) for text in texts),
                                            "--max-new-tokens", str(count), "--ignore-stop", "--json"))
            self.assertEqual([text["tokens"] for text in said["texts"]], [text["tokens"][:count] for text in texts])
            self.assertEqual({text["finish_reason"] for text in said["texts"]}, {"length"})
            for text, wanted in zip(said["texts"], texts):
                for a, b in zip(text["log_probabilities"], wanted["log_probabilities"]):
                    self.assertAlmostEqual(a, b, 3)
            self.assertGreater(said["decode_tokens_per_second"], 0)

    def test_a_saved_model_gives_the_same(self):
        text = self.expected["genai"][1]
        words = ["--ids", self.ids(text), "--max-new-tokens", "8"]
        out = self.succeeds(os.path.join(FOLDER, "genai"), *words, "--save", "saved.popef").splitlines()
        self.assertEqual(out[0], " ".join(str(token) for token in text["tokens"][:8]))
        self.assertEqual(out[1], "wrote saved.popef")
        self.assertRegex(out[2], r"^ready after \d+ ms; first token after [\d.]+ ms; prefill [\d.]+ tokens/s, decode [\d.]+ tokens/s$")
        self.assertEqual(self.succeeds("saved.popef", *words).splitlines()[0], out[0])
        self.fails(["saved.popef", *words, "--slots", "2"], "slots is 2, and the PopEF file was compiled with 1")

    def test_options_of_sampling(self):
        text = self.expected["genai"][1]
        words = [os.path.join(FOLDER, "genai"), "--ids", self.ids(text), "--max-new-tokens", "12", "--ignore-stop", "--temperature", "2"]
        one, again, other = (self.succeeds(*words, "--seed", seed).splitlines()[0] for seed in ("1", "1", "2"))
        self.assertEqual(one, again)
        self.assertNotEqual(one, other)
        greedy = self.succeeds(*words, "--top-k", "1").splitlines()[0]
        self.assertEqual(greedy, " ".join(str(token) for token in text["tokens"][:12]))
        self.assertEqual(self.succeeds(*words, "--min-p", "1").splitlines()[0], greedy)
        self.assertEqual(self.succeeds(*words, "--top-p", "0.000001").splitlines()[0], greedy)
        stopped = self.succeeds(*words, "--top-k", "1", "--stop", "24,50").splitlines()[0]
        self.assertEqual(stopped, "33 33 24")

    def test_wrong_words(self):
        model = os.path.join(FOLDER, "genai")
        self.fails([model, "--ids", "1,x"], "expected numbers of tokens", code=2)
        self.fails([model, "--ids", "53"], "token 53")
        self.fails([model, "--ids", "1", "--top-p", "2"], "top_p")
        self.fails([model, "--ids", "1", "--max-length", "65"], "context of 64")
        self.fails(["nowhere", "--ids", "1"], "there is no model 'nowhere'")


if __name__ == "__main__":
    unittest.main()
