"""poprt_exec generate, with the models and tokens of tests/data/generation."""

import json
import os
import shutil
import sys
import unittest

from support import BIN, DATA, CommandTest

FOLDER = os.path.join(os.path.dirname(DATA), "generation")
TOKENIZERS = os.path.join(FOLDER, "tokenizers")
SENTENCEPIECE = os.path.exists(os.path.join(BIN, "..", "lib", "libpoprt_tokenizer.so.1"))
# Replaces PyPI's package tokenizers: a token is the index of a letter.
PACKAGE = """
LETTERS = " abcdefghijklmnopqrstuvwxyz"
class Tokenizer:
    @staticmethod
    def from_file(path):
        if open(path).read() != "{}":
            raise Exception("no tokenizer")
        return Tokenizer()
    def get_vocab_size(self, with_added_tokens):
        return len(LETTERS)
    def encode(self, text, add_special_tokens):
        self.ids = [LETTERS.index(c) for c in text]
        return self
    def decode(self, ids, skip_special_tokens):
        return "".join(LETTERS[i] for i in ids if i < len(LETTERS))
"""


class Generate(CommandTest):
    command = "poprt_exec generate"

    def setUp(self):
        super().setUp()
        with open(os.path.join(FOLDER, "expected.json"), encoding="utf-8") as file:
            self.expected = json.load(file)

        with open(os.path.join(FOLDER, "expected_recurrent.json"), encoding="utf-8") as file:
            self.recurrent = json.load(file)

    def ids(self, text):
        return ",".join(str(token) for token in text["prompt"])

    def test_tokens_are_those_of_the_reference(self):
        for kind, texts in {**self.expected, **self.recurrent}.items():
            count = min(len(text["tokens"]) for text in texts)
            output = json.loads(self.succeeds(os.path.join(FOLDER, kind), "--ids", *(self.ids(text) for text in texts),
                                            "--max-new-tokens", str(count), "--ignore-stop", "--json"))
            self.assertEqual([text["tokens"] for text in output["texts"]], [text["tokens"][:count] for text in texts])
            self.assertEqual({text["finish_reason"] for text in output["texts"]}, {"length"})
            for text, wanted in zip(output["texts"], texts):
                for a, b in zip(text["log_probabilities"], wanted["log_probabilities"]):
                    self.assertAlmostEqual(a, b, 3)
            self.assertGreater(output["decode_tokens_per_second"], 0)

    def test_states_can_be_named(self):
        text = self.recurrent["lstm"][1]
        words = [os.path.join(FOLDER, "lstm", "model.onnx"), "--ids", self.ids(text), "--max-new-tokens", "8", "--ignore-stop"]
        out = self.succeeds(*words, "--states", "h%d_in=h%d_out,c%d_in=c%d_out").splitlines()
        self.assertEqual(out[0], " ".join(str(token) for token in text["tokens"][:8]))
        self.fails([*words, "--states", "h%d_in"], "'h%d_in' is not past=present")
        self.fails([*words, "--states", "none_in=none_out"], "the model has no output 'none_out'")

    def test_caches_have_eight_bits(self):
        text = self.expected["genai"][1]
        words = ["--ids", self.ids(text), "--max-new-tokens", "8", "--cache-precision", "int8"]
        out = self.succeeds(os.path.join(FOLDER, "genai"), *words, "--save", "bytes.popef").splitlines()
        self.assertEqual(out[0], " ".join(str(token) for token in text["tokens"][:8]))
        self.assertEqual(self.succeeds("bytes.popef", *words).splitlines()[0], out[0])
        self.fails([os.path.join(FOLDER, "lstm"), *words, "--max-length", "64"], "cache_precision 'int8' has no effect")
        self.fails([os.path.join(FOLDER, "t5"), *words], "cache_precision 'int8' of a decoder with an encoder")
        self.misused([os.path.join(FOLDER, "genai"), *words[:-1], "int4"], "--cache-precision", "int8")

    def test_a_saved_model_gives_the_same(self):
        text = self.expected["genai"][1]
        words = ["--ids", self.ids(text), "--max-new-tokens", "8"]
        out = self.succeeds(os.path.join(FOLDER, "genai"), *words, "--save", "saved.popef").splitlines()
        self.assertEqual(out[0], " ".join(str(token) for token in text["tokens"][:8]))
        self.assertEqual(out[1], "wrote saved.popef")
        self.assertRegex(out[2], r"^ready after \d+ ms; first token after [\d.]+ ms; prefill [\d.]+ tokens/s, decode [\d.]+ tokens/s$")
        self.assertEqual(self.succeeds("saved.popef", *words).splitlines()[0], out[0])
        # The model has the name of its folder, by which `poprt_exec top` shows it.
        self.assertIn("Model genai: ", self.succeeds("saved.popef", command="popef_dump"))
        self.fails(["saved.popef", *words, "--slots", "2"], "slots is 2, and the PopEF file was compiled with 1")

    def test_a_saved_model_replaces_only_its_own_file(self):
        words = [os.path.join(FOLDER, "genai"), "--ids", "3,4", "--max-new-tokens", "2"]
        self.misused([*words, "--save", "model.onnx"], "--save: expected a name that ends in .popef", "model.onnx")
        self.assertFalse(os.path.exists(self.path("model.onnx")))
        self.succeeds(*words, "--save", "own.popef")
        self.succeeds(*words, "--save", "own.popef")
        lstm = [os.path.join(FOLDER, "lstm"), *words[1:], "--states", "h%d_in=h%d_out,c%d_in=c%d_out"]
        self.fails([*lstm, "--save", "own.popef"], "'own.popef' contains the model 'genai', not 'lstm'; give --save another name")

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

    def test_options_without_an_effect_are_reported(self):
        words = [os.path.join(FOLDER, "genai"), "--ids", "1", "--max-new-tokens", "1"]
        for option, value, needed in (("--top-k", "5", "--temperature"), ("--top-p", ".5", "--temperature"),
                                      ("--min-p", ".2", "--temperature"), ("--seed", "4", "--temperature"),
                                      ("--length-penalty", "2", "--num-beams"), ("--early-stopping", "yes", "--num-beams")):
            ran = self.run_command(*words, option, value)
            self.assertEqual((ran.code, ran.err.count("\n")), (0, 1), ran.err)
            self.assertIn(f"{option} has no effect without", ran.err)
            self.assertIn(needed, ran.err)
        self.assertEqual(self.run_command(*words, "--top-k", "5", "--temperature", "1").err, "")

    def test_models_with_an_encoder(self):
        with open(os.path.join(FOLDER, "expected_encoder_decoder.json"), encoding="utf-8") as file:
            expected = json.load(file)
        words = ["--max-new-tokens", "12", "--ignore-stop", "--json"]
        for kind in ("t5", "t5_old", "bart"):
            text = expected[kind][1]
            output = json.loads(self.succeeds(os.path.join(FOLDER, kind), "--ids", ",".join(map(str, text["source"])), "--decoder-ids",
                                            self.ids(text), "--encoder-length", "16", *words))
            self.assertEqual(output["texts"][0]["tokens"], text["tokens"][:12], kind)
        whisper = os.path.join(FOLDER, "whisper")
        features = os.path.join(whisper, "features.npy")
        output = json.loads(self.succeeds(whisper, "--features", features, features, *words))
        self.assertEqual([t["tokens"] for t in output["texts"]], [expected["whisper"][0]["tokens"][:12]] * 2)
        self.fails([whisper, "--features", "absent.npy"], "absent.npy")
        self.fails([whisper, "--ids", "1"], "the encoder takes 288 features")
        self.fails([os.path.join(FOLDER, "t5"), "--ids", "1", "--prefill", "8"], "prefill has no effect")

    def test_beam_search(self):
        with open(os.path.join(FOLDER, "expected_beams.json"), encoding="utf-8") as file:
            search = json.load(file)["gpt2"][1]
        words = [os.path.join(FOLDER, "gpt2"), "--ids", self.ids(search), "--num-beams", "3", "--num-return-sequences", "3",
                 "--length-penalty", "2", "--early-stopping", "yes", "--max-new-tokens", str(search["max_new_tokens"])]
        output = json.loads(self.succeeds(*words, "--json"))
        self.assertEqual([t["tokens"] for t in output["texts"]], [t["tokens"] for t in search["texts"]])
        for text, wanted in zip(output["texts"], search["texts"]):
            self.assertAlmostEqual(text["score"], wanted["score"], 3)
        self.fails([*words, "--slots", "2"], "each beam needs one")
        self.misused([*words, "--temperature", "1"], "--num-beams: a beam search needs --temperature 0")

    def test_wrong_words(self):
        model = os.path.join(FOLDER, "genai")
        self.fails([model], "--prompt", code=2)
        self.fails([model, "--ids", "1", "--prompt", "a"], "--prompt", code=2)
        self.fails([model, "--ids", "1", "--stop-text", ""], "--stop-text", code=2)
        self.fails([model, "--prompt", "a"], "has no tokenizer (tokenizer.model, spiece.model or tokenizer.json)")
        self.fails(["nowhere", "--prompt", "a"], "there is no model 'nowhere'")
        self.fails([model, "--ids", "1,x"], "expected numbers of tokens", code=2)
        self.fails([model, "--ids", "53"], "token 53")
        for words, why in ((["--top-p", "2"], "--top-p: expected a number from 1e-09 to 1, found '2'"), (["--temperature", "-1"], "--temperature: "),
                           (["--top-k", "-1"], "--top-k: "), (["--min-p", "1.5"], "--min-p: "), (["--max-length", "1"], "--max-length: "),
                           (["--repetition-penalty", "0"], "--repetition-penalty: "), (["--length-penalty", "101"], "--length-penalty: "),
                           (["--slots", "0"], "--slots: "), (["--num-beams", "2", "--temperature", "1"], "--num-beams: a beam search needs"),
                           (["--num-return-sequences", "2"], "--num-return-sequences: expected at most --num-beams (1), found 2")):
            self.misused([model, "--ids", "1", *words], f"poprt_exec generate: {why}")
        self.fails([model, "--ids", "1", "--max-length", "65"], "context of 64")
        self.fails(["nowhere", "--ids", "1"], "there is no model 'nowhere'")

    @unittest.skipUnless(SENTENCEPIECE, "built without sentencepiece")
    def test_texts_are_those_of_sentencepiece(self):
        shutil.copytree(os.path.join(FOLDER, "genai"), self.path("model"))
        shutil.copy(os.path.join(TOKENIZERS, "words.model"), self.path("model/tokenizer.model"))
        with open(os.path.join(TOKENIZERS, "expected.json"), encoding="utf-8") as file:
            texts = json.load(file)["words"]["texts"]
        options = ["--max-new-tokens", "12", "--ignore-stop"]
        for text in texts[:2]:
            ids = [1, *text["tokens"]]  # <s>
            (tokens,) = json.loads(self.succeeds("model", "--ids", ",".join(map(str, ids)), *options, "--json"))["texts"]
            (output,) = json.loads(self.succeeds("model", "--prompt", text["text"], *options, "--json"))["texts"]
            self.assertEqual((output["prompt"], output["tokens"]), (ids, tokens["tokens"]))
            self.assertNotIn("text", tokens)
            whole = self.succeeds("model", "--prompt", text["text"], *options).splitlines()[0]
            self.assertEqual(whole, output["text"])
            self.assertEqual(self.succeeds("model", "--prompt", text["text"], *options, "--stream").splitlines()[0], whole)
            lines = [json.loads(line) for line in
                     self.succeeds("model", "--prompt", text["text"], *options, "--stream", "--json").splitlines()]
            self.assertEqual("".join(line["piece"] for line in lines[:-1]), whole)
            self.assertEqual([line["token"] for line in lines if "token" in line], output["tokens"])
            self.assertEqual(lines[-1]["texts"], [{**output, "first_token_ms": lines[-1]["texts"][0]["first_token_ms"]}])
            given = os.path.join(TOKENIZERS, "words.model")
            self.assertEqual(self.succeeds(os.path.join(FOLDER, "genai"), "--prompt", text["text"], "--tokenizer", given,
                                           *options).splitlines()[0], whole)

    @unittest.skipUnless(SENTENCEPIECE, "built without sentencepiece")
    def test_a_text_ends_before_a_stop_text(self):
        model = [os.path.join(FOLDER, "genai"), "--tokenizer", os.path.join(TOKENIZERS, "words.model"), "--prompt", "the cat",
                 "--max-new-tokens", "12", "--ignore-stop", "--json"]
        (whole,) = json.loads(self.succeeds(*model))["texts"]
        stop = whole["text"][5:8]
        (cut,) = json.loads(self.succeeds(*model, "--stop-text", "#", "--stop-text", stop))["texts"]
        self.assertEqual((cut["text"], cut["finish_reason"]), (whole["text"][:whole["text"].index(stop)], "stop"))
        self.assertEqual(cut["tokens"], whole["tokens"][:len(cut["tokens"])])
        self.assertLess(len(cut["tokens"]), 12)

    @unittest.skipUnless(SENTENCEPIECE, "built without sentencepiece")
    def test_a_tokenizer_of_another_model_is_refused(self):
        model = os.path.join(FOLDER, "genai")
        self.fails([model, "--prompt", "a", "--tokenizer", os.path.join(TOKENIZERS, "bytes.model")],
                   "the tokenizer has 309 tokens, and the model knows 53")
        self.fails([model, "--prompt", "a", "--tokenizer", os.path.join(model, "model.onnx")], "is not a model of sentencepiece")
        self.write("a.py", b"import json\n")
        self.fails([model, "--prompt", "a", "--tokenizer", "a.py"], "poprt_exec generate: 'a.py' is not a model of sentencepiece\n")

    def test_the_package_tokenizers_reads_a_tokenizer_json(self):
        shutil.copytree(os.path.join(FOLDER, "genai"), self.path("model"))
        with open(self.path("model/tokenizer.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        os.mkdir(self.path("packages"))
        os.environ["POPRT_PYTHON"] = sys.executable
        os.environ["PYTHONPATH"] = self.path("packages")
        self.addCleanup(os.environ.pop, "POPRT_PYTHON")
        self.addCleanup(os.environ.pop, "PYTHONPATH")
        with open(self.path("packages/tokenizers.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError('missing')")
        words = ["model", "--prompt", "ab c", "--max-new-tokens", "12", "--ignore-stop"]
        self.write("json.py", b"raise SystemExit(5)\n")
        self.fails(words, "python3 -m pip install tokenizers")
        with open(self.path("packages/tokenizers.py"), "w", encoding="utf-8") as file:
            file.write(PACKAGE)
        (output,) = json.loads(self.succeeds(*words, "--json"))["texts"]
        self.assertEqual(output["prompt"], [1, 2, 0, 3])
        letters = " abcdefghijklmnopqrstuvwxyz"
        self.assertEqual(output["text"], "".join(letters[t] for t in output["tokens"] if t < len(letters)))
        self.assertEqual(self.succeeds(*words).splitlines()[0], output["text"])
        self.fails(["model", "--prompt", "A"], "substring not found")
        # A token without a letter, such as the end of a text.
        first = {}
        for letter in letters:
            (text,) = json.loads(self.succeeds("model", "--prompt", letter, *words[3:], "--json"))["texts"]
            first[letter] = text["tokens"][0]
        silent, ending = next((k, t) for k, t in first.items() if t >= len(letters))
        ended = self.run_command("model", "--prompt", silent, "--stop", str(ending))
        self.assertEqual((ended.code, ended.out.splitlines()[0]), (0, ""))
        self.assertIn("the text of prompt 0 is empty: the model ended it at once", ended.err)
        with open(self.path("wrong.json"), "w", encoding="utf-8") as file:
            file.write("[]")
        self.fails([*words, "--tokenizer", "wrong.json"], "no tokenizer")

    def with_packages(self, **files):
        """A copy of the model with a tokenizer.json, and an interpreter that finds these packages first."""
        shutil.copytree(os.path.join(FOLDER, "genai"), self.path("model"))
        os.mkdir(self.path("packages"))
        for name, value in (("POPRT_PYTHON", sys.executable), ("PYTHONPATH", self.path("packages"))):
            os.environ[name] = value
            self.addCleanup(os.environ.pop, name)
        for name, text in {"model/tokenizer.json": "{}", "packages/tokenizers.py": PACKAGE, **files}.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            with open(self.path(name), "w", encoding="utf-8") as file:
                file.write(text)

    def test_a_chat_has_the_template_of_the_model(self):
        template = ("{% for m in messages %}{{ bos_token }}{{ m['role'] }} {{ m['content'] }}{{ eos_token }}{% endfor %}"
                    "{% if add_generation_prompt %} assistant{% endif %}")
        config = {"chat_template": template, "bos_token": {"content": "b"}, "eos_token": "e", "pad_token": None}
        self.with_packages(**{"model/tokenizer_config.json": json.dumps(config)})
        words = ["model", "--chat", "--max-new-tokens", "2", "--ignore-stop", "--json", "--prompt"]
        letters = " abcdefghijklmnopqrstuvwxyz"

        def prompt_of(text):
            (output,) = json.loads(self.succeeds(*words, text))["texts"]
            return "".join(letters[token] for token in output["prompt"])

        try:
            import jinja2  # noqa: F401
        except ImportError:
            self.fails([*words, "hi"], "python3 -m pip install jinja2")
            return
        self.assertEqual(prompt_of("hi"), "buser hie assistant")
        (plain,) = json.loads(self.succeeds("model", "--prompt", "hi", *words[2:-1]))["texts"]
        self.assertEqual(plain["prompt"], [8, 9], "without --chat, the prompt is the text")
        for changed, message in (
                ({}, "the model has no template for chats (chat_template of tokenizer_config.json)"),
                ({"chat_template": [{"name": "tools", "template": "x"}]}, "the model has no template for chats"),
                ({"chat_template": "{{ raise_exception('no user') }}"}, "no user"),
                ({"chat_template": "{{ ''.__class__.__mro__ }}"}, "is unsafe")):
            with open(self.path("model/tokenizer_config.json"), "w", encoding="utf-8") as file:
                json.dump(changed, file)
            self.fails([*words, "hi"], message)
        with open(self.path("model/tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"chat_template": [{"name": "default", "template": "d {{ messages[0].content }}"}]}, file)
        self.assertEqual(prompt_of("hi"), "d hi")
        with open(self.path("model/chat_template.jinja"), "w", encoding="utf-8") as file:
            file.write("file {{ messages[0].content }}")
        self.assertEqual(prompt_of("hi"), "file hi", "the file comes first")

    def test_a_chat_is_a_text_with_a_template(self):
        model = os.path.join(FOLDER, "genai")
        self.fails([model, "--chat", "--ids", "1"], "--chat: expected prompts as texts by --prompt", code=2)
        if SENTENCEPIECE:
            self.fails([model, "--chat", "--prompt", "a", "--tokenizer", os.path.join(TOKENIZERS, "words.model")],
                       "a model of sentencepiece has no template for chats")


if __name__ == "__main__":
    unittest.main()
