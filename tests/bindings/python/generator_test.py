"""Generators: scenarios 85 to 88, 95 to 99, 109 and 110 of tests/bindings/README.md."""

import itertools
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest
from unittest import mock

import numpy as np
import poprt
from poprt import Generator, errors

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.path.join(TESTS, "data", "generation")
AFFINE = os.path.join(TESTS, "bindings", "data", "affine.onnx")
PROMPT, TOKENS = [6, 42, 26], [33, 33, 24, 21, 43, 37, 34, 43]


def generator(**options):
    return Generator(os.path.join(FOLDER, "genai"), threads=1, **options)


class Letters:
    """A tokenizer: token 33 is "a", 43 is "xy", and 24 and 21 are the two bytes of one letter."""

    def __init__(self):
        self.asked = []

    def encode(self, text, add_special_tokens=True):
        self.asked.append((text, add_special_tokens))
        return types.SimpleNamespace(ids=PROMPT)

    def decode(self, tokens):
        text = b"".join({33: b"a", 24: b"\xc3", 21: b"\xa9", 43: b"xy"}.get(token, b"." if token == 37 else b"-") for token in tokens)
        return text.decode(errors="replace")


class Texts(unittest.TestCase):
    """The tokens 33, 33, 24, 21, 43, 37, 34, 43 are the text aa\u00e9xy.-xy."""

    TEXT = "aa\u00e9xy.-xy"

    def setUp(self):
        self.generator = self.enterContext(generator())
        self.generator.tokenizer = self.tokenizer = Letters()

    def pieces(self, **options):
        return list(self.generator.generate_text("hello", **{"max_new_tokens": 8, "ignore_stop": 1, **options}))

    def test_pieces_are_whole_letters(self):
        self.assertEqual(self.pieces(), ["a", "a", "\u00e9", "xy", ".", "-", "xy"])
        self.assertEqual(self.tokenizer.asked, [("hello", False)])

    def test_an_incomplete_letter_at_the_end_is_given(self):
        self.assertEqual(self.pieces(max_new_tokens=3), ["a", "a", "\N{REPLACEMENT CHARACTER}"])

    def test_the_text_ends_before_the_first_stop_string(self):
        for stops, wanted in ((["\u00e9"], "aa"), (["y."], "aa\u00e9x"), (["zz", "y.-x", "y."], "aa\u00e9x"), (["xy", "\u00e9x"], "aa"),
                              (["a"], ""), (["zzz"], self.TEXT), (["y.-xyz"], self.TEXT), (iter(["."]), "aa\u00e9xy"), ("y.", "aa\u00e9x")):
            with self.subTest(wanted):
                self.assertEqual("".join(self.pieces(stop_strings=stops)), wanted)
        self.assertEqual(self.pieces(stop_strings=["a"]), [])

    def test_a_stop_string_is_a_text_that_is_not_empty(self):
        for stops in ("", ["a", ""], [3], [b"a"]):
            with self.subTest(stops), self.assertRaisesRegex(poprt.errors.InvalidArgumentError, "stop_strings: expected texts that are not empty"):
                self.generator.generate_text("hello", stop_strings=stops)

    def test_a_piece_never_contains_the_beginning_of_a_stop_string(self):
        given = ""
        for piece in self.generator.generate_text("hello", max_new_tokens=8, ignore_stop=1, stop_strings=["xy.-"]):
            given += piece
            self.assertNotIn("x", given)
        self.assertEqual(given, "aa\u00e9")
        # Two letters are held back, because a stop string of three letters may have begun.
        self.assertEqual(self.pieces(stop_strings=["zzz"])[0], "a")
        self.assertEqual("".join(self.pieces(stop_strings=["zzz"])[:-1]), self.TEXT[:-2])

    def test_a_stopped_text_is_cancelled(self):
        first = next(self.generator.generate_text("hello", max_new_tokens=50, ignore_stop=1, stop_strings=["\u00e9"]))
        self.assertEqual(first, "a")
        with mock.patch.object(poprt.generator.Sequence, "cancel", autospec=True) as cancel:
            self.pieces(stop_strings=["zzz"])
            self.assertEqual(cancel.call_count, 0)
            self.pieces(stop_strings=["\u00e9"])
            self.assertEqual(cancel.call_count, 1)

    def test_the_tokenizer_of_the_folder(self):
        library = types.SimpleNamespace(Tokenizer=types.SimpleNamespace(from_file=mock.Mock(side_effect=lambda path: (path, Letters()))))
        with tempfile.TemporaryDirectory() as folder:
            copied = shutil.copytree(os.path.join(FOLDER, "genai"), os.path.join(folder, "genai"))
            with mock.patch.dict(sys.modules, tokenizers=library), Generator(copied) as g:
                with self.assertRaisesRegex(errors.FailedPreconditionError, "there is no '.*tokenizer.json'; set the tokenizer"):
                    g.tokenizer
                file = os.path.join(copied, "tokenizer.json")
                with open(file, "wb"):
                    self.assertEqual(g.tokenizer[0], file)
                self.assertIs(g.tokenizer, g.tokenizer)
                self.assertEqual(library.Tokenizer.from_file.call_count, 1)
            with mock.patch.dict(sys.modules, tokenizers=None), Generator(copied) as g:
                with self.assertRaisesRegex(ImportError, "Generator.tokenizer needs .*pip install tokenizers"):
                    g.tokenizer


class Generators(unittest.TestCase):
    def test_scenario_85_generate(self):
        with generator(slots=2) as g:
            self.assertEqual((g.max_length, g.slots, g.vocabulary), (64, 2, 53))
            first, second = (g.generate(PROMPT, max_new_tokens=8, ignore_stop=1) for _ in range(2))
            self.assertEqual(list(first), TOKENS)
            self.assertLess(first.log_probability, 0)
            self.assertEqual(first.finish_reason(), "length")
            self.assertEqual(list(second), TOKENS)
            self.assertEqual(json.loads(g.statistics())["ended"], 2)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "saved.popef")
                g.save(path)
                with Generator(path) as saved:
                    again = saved.generate(PROMPT, max_new_tokens=8, ignore_stop=1)
                self.assertEqual(list(again), TOKENS)
            with self.assertRaises(ValueError):
                saved.generate(PROMPT)

    def test_every_form_gives_the_tokens_of_the_reference(self):
        with open(os.path.join(FOLDER, "expected.json"), encoding="utf-8") as file:
            expected = json.load(file)
        for kind, texts in expected.items():
            with Generator(os.path.join(FOLDER, kind), slots=3) as g:
                running = [g.generate(t["prompt"], max_new_tokens=len(t["tokens"]), ignore_stop=1) for t in texts]
                for text, sequence in zip(texts, running):
                    self.assertEqual(list(sequence), text["tokens"], kind)

    def test_scenario_86_wrong_generators(self):
        with self.assertRaisesRegex(errors.NotFoundError, "missing_folder"):
            Generator("missing_folder")
        with self.assertRaisesRegex(errors.UnimplementedError, "input_ids"):
            Generator(AFFINE)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "affine.popef")
            poprt.Compiler.compile(AFFINE, None, poprt.CompilerOptions(input_shape={"x": [2, 4]})).save(path)
            with self.assertRaisesRegex(errors.FailedPreconditionError, "not compiled for generation"):
                Generator(path)
        with generator() as g:
            with self.assertRaisesRegex(errors.InvalidArgumentError, "53"):
                g.new_sequence([53])
            s = g.new_sequence()
            with self.assertRaisesRegex(errors.NotFoundError, "temperature"):
                s.set_option("heat", 1)
            with self.assertRaisesRegex(errors.InvalidArgumentError, "top_p"):
                s.set_option("top_p", 2)
            with self.assertRaisesRegex(errors.InvalidArgumentError, "empty"):
                s.start()
            with self.assertRaisesRegex(errors.FailedPreconditionError, "not started"):
                s.next(-1)

    def test_scenario_131_a_text_after_wrong_options(self):
        with generator() as g:
            s = g.new_sequence(PROMPT)
            s.set_option("max_new_tokens", 8)
            s.set_option("ignore_stop", 1)
            for call, error in ((lambda: s.set_option("heat", 1), errors.NotFoundError), (lambda: s.append(53), errors.InvalidArgumentError),
                                (lambda: s.set_option("top_p", 2), errors.InvalidArgumentError)):
                self.assertRaises(error, call)
            s.set_option("num_beams", 2)
            with self.assertRaisesRegex(errors.InvalidArgumentError, "slots"):
                s.start()
            s.set_option("num_beams", 1)
            s.start()
            self.assertEqual(list(s), TOKENS)

    def test_scenario_87_logits(self):
        with generator() as g:
            s = g.new_sequence(PROMPT)
            s.set_option("wait_for_logits", 1)
            s.set_option("max_new_tokens", 1)
            s.start()
            logits = s.logits()
            self.assertEqual((len(logits), int(logits.argmax())), (53, TOKENS[0]))
            logits[5] = 1e6
            s.set_logits(logits)
            self.assertEqual(list(s), [5])

    def test_a_logits_processor_changes_the_choice(self):
        seen = []

        def avoid(logits):
            seen.append(int(logits.argmax()))
            logits[33] = -np.inf
            return logits

        with generator() as g:
            tokens = list(g.generate(PROMPT, max_new_tokens=4, logits_processor=avoid))
            wanted = list(g.generate(PROMPT, max_new_tokens=4, bad_tokens=[33]))
        self.assertEqual(tokens, wanted)
        self.assertEqual((seen[0], len(seen)), (33, 4))

    def test_a_logits_processor_returns_one_logit_for_each_token(self):
        with generator() as g:
            for wrong in (lambda logits: logits[:3], lambda logits: np.append(logits, 0), lambda logits: logits[None], lambda logits: None):
                with self.assertRaisesRegex(errors.InvalidArgumentError, "expected 53 logits"):
                    list(g.generate(PROMPT, max_new_tokens=4, logits_processor=wrong))
            s = g.generate(PROMPT, max_new_tokens=1, wait_for_logits=1)
            logits = s.logits()
            with self.assertRaisesRegex(errors.InvalidArgumentError, "expected 53 logits"):
                s.set_logits(logits[:52])
            s.set_logits(logits)
            self.assertEqual(list(s), TOKENS[:1])

    def test_tokens_are_integers(self):
        with generator() as g:
            for wrong in (1.5, 1.0, "1", np.float32(1), None):
                for name, call in (("prompt", lambda: g.generate([wrong])), ("prompt", lambda: g.new_sequence([1, wrong])),
                                   ("stop_tokens", lambda: g.generate(PROMPT, stop_tokens=[wrong])),
                                   ("bad_tokens", lambda: g.generate(PROMPT, bad_tokens=[wrong])),
                                   ("decoder_prompt", lambda: g.generate(PROMPT, decoder_prompt=[wrong]))):
                    with self.assertRaisesRegex(TypeError, f"^{name}: expected tokens, which are integers, given "):
                        call()
            with self.assertRaises(TypeError):
                g.generate(np.array(PROMPT, np.float32))
            for dtype in (np.int32, np.int64, np.uint8):
                self.assertEqual(list(g.generate(np.array(PROMPT, dtype), max_new_tokens=2)), TOKENS[:2])

    def test_options_are_numbers(self):
        with generator() as g:
            for wrong in ("3", b"3", None, [3]):
                with self.assertRaisesRegex(TypeError, "^max_new_tokens: expected a number, given "):
                    g.generate(PROMPT, max_new_tokens=wrong)
            with self.assertRaisesRegex(TypeError, r"^stop_strings: .* generate_text\(\)"):
                g.generate(PROMPT, stop_strings=["a"])
            self.assertEqual(list(g.generate(PROMPT, max_new_tokens=np.float32(2))), TOKENS[:2])

    def test_a_sequence_is_an_iterator(self):
        with generator() as g:
            s = g.generate(PROMPT, max_new_tokens=4, ignore_stop=1)
            self.assertEqual(next(s), TOKENS[0])
            self.assertEqual(list(itertools.islice(s, 2)), TOKENS[1:3])
            self.assertEqual(list(s), TOKENS[3:4])
            self.assertIsNone(next(s, None))

    def test_scenario_127_close_ends_waiting(self):
        with generator() as g:
            holder = g.generate(PROMPT, wait_for_logits=1)
            holder.logits()  # it has the only slot
            for read in (list, lambda sequence: sequence.next(-1)):
                waiting = g.generate(PROMPT, max_new_tokens=8, ignore_stop=1)
                ended = []

                def wait(waiting=waiting, read=read, ended=ended):
                    try:
                        ended.append(read(waiting))
                    except ValueError as error:
                        ended.append(str(error))

                thread = threading.Thread(target=wait, daemon=True)
                thread.start()
                thread.join(0.05)  # it waits for a slot
                waiting.close()
                thread.join(60)
                self.assertEqual(ended, ["the sequence is closed"])
                self.assertRaises(ValueError, waiting.cancel)
            holder.close()
            self.assertEqual(list(g.generate(PROMPT, max_new_tokens=8, ignore_stop=1)), TOKENS)

    def test_scenario_88_ends(self):
        with generator() as g:
            s = g.generate(PROMPT, ignore_stop=1, stop_tokens=[24], bad_tokens=[21])
            self.assertEqual(list(s), [33, 33, 24])
            self.assertEqual(s.finish_reason(), "stop")
            first = g.generate(PROMPT, wait_for_logits=1)
            second = g.generate(PROMPT, max_new_tokens=8, ignore_stop=1)
            with self.assertRaisesRegex(errors.DeadlineExceededError, "1000 ns"):
                second.next(1000)
            first.cancel()
            self.assertEqual(list(second), TOKENS)
            self.assertEqual(list(first), [])
            self.assertEqual(first.finish_reason(), "cancelled")

    def test_a_closed_sequence_is_refused(self):
        with generator() as g:
            with g.generate(PROMPT, max_new_tokens=8) as text:
                self.assertEqual(text.next(-1), TOKENS[0])
            text.close()
            for use in (lambda: text.next(-1), lambda: text.append(1), lambda: text.logit(0), lambda: text.score):
                with self.assertRaisesRegex(ValueError, "sequence is closed"):
                    use()
            self.assertEqual(list(g.generate(PROMPT, max_new_tokens=2, ignore_stop=1)), TOKENS[:2])

    def test_one_logit_is_read_and_changed(self):
        with generator() as g:
            s = g.new_sequence(PROMPT)
            s.set_option("wait_for_logits", 1)
            s.start()
            count = s.wait_logits(-1)
            self.assertEqual(max(range(count), key=s.logit), TOKENS[0])
            s.set_logit(7, s.logit(TOKENS[0]) + 1)
            s.resume()
            self.assertEqual(s.next(-1), 7)

    def test_a_wait_is_cut_into_pieces_so_that_ctrl_c_has_an_effect(self):
        from poprt import generator as module

        limits = []

        def late(limit):
            limits.append(limit)
            if len(limits) < 3:
                raise errors.DeadlineExceededError("no token in time")
            return 5

        self.assertEqual(module._waiting(late), 5)
        self.assertEqual(len(set(limits)), 1)
        self.assertTrue(10**6 <= limits[0] <= 10**9, limits)

    def test_samples_depend_on_the_seed(self):
        with generator(slots=2) as g:
            texts = [list(g.generate(PROMPT, temperature=2, seed=seed, max_new_tokens=20)) for seed in (1, 1, 2)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_threads_share_a_generator(self):
        results = []
        with generator(slots=3) as g:
            def work():
                results.append(list(g.generate(PROMPT, max_new_tokens=8, ignore_stop=1)))

            threads = [threading.Thread(target=work) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(results, list(itertools.repeat(TOKENS, 8)))

    def test_scenario_95_encoder(self):
        folder = os.path.join(FOLDER, "t5")
        with Generator(folder, threads=1, encoder_length=40) as g:
            text = g.generate([11, 16, 27, 26, 4], decoder_prompt=[3, 8, 1], max_new_tokens=8, ignore_stop=1)
            self.assertEqual(list(text), [1, 1, 30, 18, 35, 35, 42, 10])
            with self.assertRaisesRegex(errors.InvalidArgumentError, "features"):
                g.new_sequence([1]).append_feature(1)
            with self.assertRaisesRegex(errors.OutOfRangeError, "encoder_length"):
                g.generate([1] * 41)
        for name in ("t5", "genai"):
            with self.assertRaisesRegex(errors.InvalidArgumentError, "encoder_length"):
                Generator(os.path.join(FOLDER, name), encoder_length=41)

    def test_scenario_96_features(self):
        folder = os.path.join(FOLDER, "whisper")
        file = os.path.join(folder, "features.npy")
        with Generator(folder, threads=1) as g:
            s = g.new_sequence()
            s.read_features(file)
            s.set_option("max_new_tokens", 8)
            s.set_option("ignore_stop", 1)
            with self.assertRaisesRegex(errors.OutOfRangeError, "288"):
                s.append_feature(1)
            s.start()
            tokens = list(s)
            self.assertEqual(tokens, [14, 29, 41, 13, 40, 13, 15, 13])
            self.assertEqual(list(g.generate(features=np.load(file), max_new_tokens=8, ignore_stop=1)), tokens)
            wrong = g.new_sequence()
            with self.assertRaisesRegex(errors.NotFoundError, "missing.npy"):
                wrong.read_features("missing.npy")
            with self.assertRaisesRegex(errors.InvalidArgumentError, "features"):
                wrong.start()

    def test_scenario_97_beams(self):
        with generator(slots=3) as g:
            search = g.generate([5, 9, 2], num_beams=3, num_return_sequences=2, length_penalty=2, early_stopping=True, max_new_tokens=10)
            (best, score), (second, lower) = search.texts()
            self.assertEqual(best, [46, 25, 4, 46, 20, 33, 11, 25, 4, 47])
            self.assertEqual(second, [46, 25, 4, 46, 20, 33, 9, 23, 0, 34])
            self.assertAlmostEqual(score, -0.053866, 4)
            self.assertAlmostEqual(lower, -0.064983, 4)
            self.assertFalse(search.next_text())
            with self.assertRaisesRegex(errors.InvalidArgumentError, "slots"):
                g.generate([1], num_beams=4)

    def test_scenario_98_saved_text(self):
        with generator() as g, generator(slots=2) as more, tempfile.TemporaryDirectory() as folder:
            file, part = os.path.join(folder, "text.bin"), os.path.join(folder, "cut.bin")
            sequence = g.generate(PROMPT, max_new_tokens=8, ignore_stop=1)
            for wanted in TOKENS[:3]:
                self.assertEqual(sequence.next(-1), wanted)
            sequence.save(file)
            with open(file, "rb") as whole, open(part, "wb") as cut:
                cut.write(whole.read(100))
            again = g.new_sequence()
            with self.assertRaisesRegex(errors.DataLossError, "cut.bin"):
                again.restore(part)
            again.restore(file)
            with self.assertRaisesRegex(errors.FailedPreconditionError, "saved text"):
                again.append(1)
            again.start()
            self.assertEqual(list(again), TOKENS[3:])
            self.assertEqual(list(g.restore(file)), TOKENS[3:])
            self.assertEqual(list(sequence), TOKENS[3:])
            with self.assertRaisesRegex(errors.FailedPreconditionError, "another model"):
                more.restore(file)

    def test_scenario_109_saved_text_in_memory(self):
        with generator() as g, generator(slots=2) as more:
            sequence = g.new_sequence(PROMPT)
            sequence.set_option("max_new_tokens", 8)
            sequence.set_option("ignore_stop", 1)
            with self.assertRaisesRegex(errors.FailedPreconditionError, "not started"):
                sequence.to_bytes()
            sequence.start()
            for wanted in TOKENS[:3]:
                self.assertEqual(sequence.next(-1), wanted)
            saved = sequence.to_bytes()
            again = g.new_sequence()
            with self.assertRaisesRegex(errors.DataLossError, "damaged"):
                again.restore_bytes(saved[:100])
            with self.assertRaisesRegex(errors.DataLossError, "saved sequence"):
                again.restore_bytes(b"")
            again.restore_bytes(memoryview(saved))
            with self.assertRaisesRegex(errors.FailedPreconditionError, "saved text"):
                again.append(1)
            again.start()
            self.assertEqual(list(again), TOKENS[3:])
            self.assertEqual(list(g.restore(saved)), TOKENS[3:])
            self.assertEqual(list(sequence), TOKENS[3:])
            with self.assertRaisesRegex(errors.FailedPreconditionError, "another model"):
                more.restore(saved)

    def test_scenario_110_byte_caches(self):
        genai = os.path.join(FOLDER, "genai")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "bytes.popef")
            with Generator(genai, threads=1, cache_precision="int8") as g:
                self.assertIn('"cache_bytes":4096', g.statistics())
                g.save(file)
            with Generator(file, threads=1, cache_precision="int8") as g:
                self.assertEqual(list(g.generate(PROMPT, max_new_tokens=8, ignore_stop=1)), TOKENS)
            with generator() as exact:
                exact.save(file)
            with self.assertRaisesRegex(errors.InvalidArgumentError, "cache_precision"):
                Generator(file, cache_precision="int8")
        with self.assertRaisesRegex(errors.InvalidArgumentError, "cache_precision"):
            Generator(os.path.join(FOLDER, "lstm"), max_length=64, cache_precision="int8")
        with self.assertRaisesRegex(errors.InvalidArgumentError, "cache_precision"):
            Generator(genai, cache_precision="int4")

    def test_scenario_99_named_states(self):
        lstm = os.path.join(FOLDER, "lstm")
        with Generator(os.path.join(lstm, "model.onnx"), max_length=64, states={"h%d_in": "h%d_out", "c%d_in": "c%d_out"}) as g:
            self.assertEqual(list(g.generate([36, 37, 43], max_new_tokens=8, ignore_stop=1)), [17, 1, 6, 52, 30, 7, 48, 19])
        with self.assertRaisesRegex(errors.InvalidArgumentError, "past=present"):
            Generator(lstm, states={"h%d_in": ""})
        with self.assertRaisesRegex(errors.NotFoundError, "none_out"):
            Generator(lstm, states={"none_in": "none_out"})

    def test_models_with_recurrent_states_give_the_tokens_of_the_reference(self):
        with open(os.path.join(FOLDER, "expected_recurrent.json"), encoding="utf-8") as file:
            expected = json.load(file)
        for kind, texts in expected.items():
            with Generator(os.path.join(FOLDER, kind), slots=3) as g:
                running = [g.generate(t["prompt"], max_new_tokens=len(t["tokens"]), ignore_stop=1) for t in texts]
                for text, sequence in zip(texts, running):
                    self.assertEqual(list(sequence), text["tokens"], kind)

    def test_models_with_an_encoder_give_the_tokens_of_the_reference(self):
        with open(os.path.join(FOLDER, "expected_encoder_decoder.json"), encoding="utf-8") as file:
            expected = json.load(file)
        for kind, texts in expected.items():
            with Generator(os.path.join(FOLDER, kind), slots=3) as g:
                running = [g.generate(t.get("source", ()), features=t.get("features"), decoder_prompt=t["prompt"],
                                      max_new_tokens=len(t["tokens"]), ignore_stop=1) for t in texts]
                for text, sequence in zip(texts, running):
                    self.assertEqual(list(sequence), text["tokens"], kind)


class Exit(unittest.TestCase):
    """CPython before 3.14 ends a daemon thread that takes the GIL while the interpreter exits."""

    CALLS = {
        "a text": "g = poprt.Generator(FOLDER, threads=1); f = lambda: list(g.generate([1, 2], max_new_tokens=2))",
        "statistics": "r = poprt.Runner(MODEL); f = lambda: r.statistics()",
        "a compilation": "f = lambda: poprt.Compiler.compile(MODEL, None, poprt.CompilerOptions(batch_size=2))",
    }

    def test_daemon_threads_may_be_in_any_call(self):
        for name, call in self.CALLS.items():
            script = f"import poprt, threading, time\nMODEL, FOLDER = {AFFINE!r}, {os.path.join(FOLDER, 'genai')!r}\n{call}\n" \
                     "def loop():\n    while True: f()\nf()\n" \
                     "for _ in range(3): threading.Thread(target=loop, daemon=True).start()\ntime.sleep(0.05)\nprint('end')\n"
            for _ in range(3):
                with self.subTest(name):
                    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "end\n", ""))


if __name__ == "__main__":
    unittest.main()
