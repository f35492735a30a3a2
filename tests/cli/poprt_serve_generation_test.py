"""poprt_serve: completions of generators, for prompts of tokens and of text."""

import concurrent.futures
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

from serve_support import SERVE, call, compiled, curl, image_request, serving
from support import BIN, DIGITS, ROOT, model

GENERATION = os.path.join(ROOT, "tests", "data", "generation")
TOKENIZERS = os.path.join(GENERATION, "tokenizers")
SENTENCEPIECE = os.path.exists(os.path.join(BIN, "..", "lib", "libpoprt_tokenizer.so.1"))


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
class Completions(unittest.TestCase):
    """Generators: a compiled PopEF file and a folder of onnxruntime-genai, next to another model."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        with open(os.path.join(GENERATION, "expected.json"), encoding="utf-8") as file:
            cls.expected = json.load(file)
        cls.repository = os.path.join(cls.folder, "models")
        os.makedirs(os.path.join(cls.repository, "text"))
        subprocess.run([os.path.join(BIN, "poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1",
                        "--max-new-tokens", "1", "--slots", "2", "--save", os.path.join(cls.repository, "saved.popef")],
                       check=True, capture_output=True)
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "text", "1"))
        compiled(DIGITS, os.path.join(cls.repository, "digits.popef"), "--input_shape", "image=8,1,8,8")
        cls.port, cls.grpc_port, _ = cls.enterClassContext(serving(cls.repository, "--compile", "--max_texts", "128"))

    def complete(self, model="saved", text=1, **more):
        wanted = self.expected["genai"][text]
        request = {"model": model, "prompt": wanted["prompt"], "max_tokens": 8, "temperature": 0, "ignore_eos": True, **more}
        return call(self.port, "/v1/completions", request)

    def events(self, **more):
        request = {"model": "saved", "prompt": self.expected["genai"][1]["prompt"], "max_tokens": 8, "temperature": 0,
                   "ignore_eos": True, "stream": True, **more}
        status, header, body = curl(self.port, "/v1/completions", "--data-binary", "@-", "--no-buffer",
                                    data=json.dumps(request).encode())
        self.assertEqual(status, 200)
        self.assertIn("Content-Type: text/event-stream", header)
        parts = body.decode().split("\n\n")
        self.assertEqual(parts[-2:], ["data: [DONE]", ""])
        return [json.loads(part.removeprefix("data: ")) for part in parts[:-2]]

    def metric(self, name, model="saved"):
        text = curl(self.port, "/metrics")[2].decode()
        return float(re.search(rf'^poprt_{name}{{model="{model}"}} (\S+)$', text, re.M)[1])

    def test_models_are_listed_and_ready(self):
        listed = call(self.port, "/v1/models")[1]
        self.assertEqual([(m["id"], m["max_model_len"]) for m in listed["data"]], [("saved", 64), ("text", 64)])
        self.assertEqual(call(self.port, "/v2/models/saved/ready"), (200, {"ready": True}))
        self.assertEqual(call(self.port, "/v2/health/ready"), (200, {"ready": True}))
        self.assertIn("is a generator", call(self.port, "/v2/models/saved/infer", image_request(1))[1]["error"])
        self.assertEqual(call(self.port, "/v2/models/digits/infer", image_request(1))[0], 200)

    def test_tokens_are_those_of_the_reference(self):
        for model in ("saved", "text"):
            for text, wanted in enumerate(self.expected["genai"]):
                status, answer = self.complete(model, text, logprobs=0)
                self.assertEqual((status, answer["object"], answer["model"]), (200, "text_completion", model))
                (choice,) = answer["choices"]
                self.assertEqual(choice["token_ids"], wanted["tokens"][:8])
                for a, b in zip(choice["logprobs"]["token_logprobs"], wanted["log_probabilities"]):
                    self.assertAlmostEqual(a, b, 3)
                self.assertEqual(choice["finish_reason"], "length")
                count = len(wanted["prompt"])
                self.assertEqual(answer["usage"], {"prompt_tokens": count, "completion_tokens": 8, "total_tokens": count + 8})

    def test_the_most_probable_tokens(self):
        for text, wanted in enumerate(self.expected["genai"]):
            plain = self.complete("saved", text, logprobs=0)[1]["choices"][0]
            for count in (1, 5, 20):
                (choice,) = self.complete("saved", text, logprobs=count)[1]["choices"]
                self.assertEqual(choice["token_ids"], plain["token_ids"])
                for token, log, top, expected in zip(choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"],
                                                     choice["logprobs"]["top_logprobs"], wanted["log_probabilities"]):
                    self.assertEqual(len(top), count)
                    self.assertEqual(list(top.values()), sorted(top.values(), reverse=True))
                    self.assertEqual(next(iter(top)), token)  # the choice is greedy
                    self.assertAlmostEqual(top[token], expected, 3)
                    self.assertAlmostEqual(log, expected, 3)
        _, answer = self.complete(logprobs=20, n=4, temperature=2, seed=1)
        _, again = self.complete(n=4, temperature=2, seed=1)
        self.assertEqual([c["token_ids"] for c in answer["choices"]], [c["token_ids"] for c in again["choices"]])
        for choice in answer["choices"]:
            for token, log, top in zip(choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"], choice["logprobs"]["top_logprobs"]):
                self.assertAlmostEqual(top[token], log, 5)  # the chosen token is always there
                self.assertIn(len(top), (20, 21))
        events = self.events(logprobs=2)
        self.assertEqual([len(e["choices"][0]["logprobs"]["top_logprobs"]) for e in events], [1] * 8 + [0])

    def test_a_stream_has_an_event_for_each_token(self):
        events = self.events(stream_options={"include_usage": True})
        wanted = self.expected["genai"][1]
        choices = [e["choices"][0] for e in events[:-1]]
        self.assertEqual([c["token_ids"] for c in choices], [[t] for t in wanted["tokens"][:8]] + [[]])
        self.assertEqual([c["finish_reason"] for c in choices], [None] * 8 + ["length"])
        self.assertEqual(events[-1]["usage"]["completion_tokens"], 8)

    def test_several_prompts_and_texts(self):
        texts = self.expected["genai"][:2]
        _, answer = self.complete(prompt=[t["prompt"] for t in texts], n=2)
        self.assertEqual([c["token_ids"] for c in answer["choices"]], [t["tokens"][:8] for t in texts for _ in range(2)])
        self.assertEqual([c["index"] for c in answer["choices"]], [0, 1, 2, 3])
        found = {}
        for event in self.events(prompt=[t["prompt"] for t in texts]):
            for choice in event["choices"]:
                found.setdefault(choice["index"], []).extend(choice["token_ids"])
        self.assertEqual(found, {i: t["tokens"][:8] for i, t in enumerate(texts)})

    def test_options_of_sampling(self):
        def tokens(**more):
            return [c["token_ids"] for c in self.complete(temperature=2, max_tokens=12, **more)[1]["choices"]]
        self.assertEqual(tokens(seed=1), tokens(seed=1))
        self.assertNotEqual(tokens(seed=1), tokens(seed=2))
        self.assertEqual(tokens(seed=1, n=2), tokens(seed=1) + tokens(seed=2))
        greedy = self.expected["genai"][1]["tokens"]
        self.assertEqual(tokens(top_p=1e-6), [greedy[:12]])
        _, stopped = self.complete(stop_token_ids=[greedy[2]])
        self.assertEqual((stopped["choices"][0]["token_ids"], stopped["choices"][0]["finish_reason"]), (greedy[:3], "stop"))

    def test_fields_of_other_servers_may_request_nothing(self):
        status, answer = self.complete(frequency_penalty=0, presence_penalty=0.0, best_of=1, echo=False, suffix=None, logit_bias={}, user="me",
                                       seed=None, stop=None)
        self.assertEqual(status, 200, answer)
        for name, value in (("frequency_penalty", 0.5), ("presence_penalty", "0"), ("echo", True), ("suffix", "x"), ("logit_bias", {"1": 2})):
            status, answer = self.complete(**{name: value})
            self.assertEqual(status, 400)
            self.assertIn(f"'{name}': expected", answer["error"]["message"])
        self.assertEqual(call(self.port, "/v1/models/saved")[1]["id"], "saved")
        status, answer = call(self.port, "/v1/models/nothing")
        self.assertEqual((status, answer["error"]["type"]), (404, "not_found_error"))
        self.assertEqual(call(self.port, "/v1/models/digits")[0], 404)
        status, answer = call(self.port, "/v1/chat/completions", {"model": "saved", "messages": []})
        self.assertEqual(status, 404)
        self.assertIn("/v1/completions", answer["error"]["message"])

    def test_refusals_name_the_field(self):
        for more, fact in (({"prompt": "Hello"}, "no tokenizer"), ({"prompt": []}, "'prompt'"), ({"prompt": [1.5]}, "'prompt'"),
                           ({"prompt": [[1], "x"]}, "'prompt'"), ({"prompt": [-1]}, "'prompt'"), ({"prompt": [53]}, "token 53"),
                           ({"prompt": [[1], [53]]}, "prompt 1, counted from 0: token 53"),
                           ({"prompt": [[]]}, "prompt"), ({"prompt": [1] * 100000}, "100000 tokens"), ({"prompt": {"a": 1}}, "'prompt'"),
                           ({"max_tokens": 0}, "'max_tokens'"), ({"max_tokens": "8"}, "'max_tokens'"), ({"max_tokens": 1e300}, "max_tokens is 1e+300"),
                           ({"temperature": -1}, "temperature"), ({"top_p": 2}, "top_p"), ({"seed": -1}, "'seed'"), ({"n": 0}, "'n'"),
                           ({"n": 129}, "'n'"), ({"prompt": [[1]] * 65, "n": 2}, "more than 128 texts"), ({"stream": 1}, "'stream'"),
                           ({"logprobs": 21}, "'logprobs'"), ({"logprobs": -1}, "'logprobs'"), ({"stop": ["x"]}, "'stop_token_ids'"), ({"stop": ""}, "'stop'"),
                           ({"stop": ["x"] * 17}, "'stop'"), ({"stop": "x" * 1025}, "'stop'"), ({"stop": [[]]}, "'stop'"),
                           ({"prompt": ["a", [1]]}, "no tokenizer"), ({"prompt": ["a", 1]}, "'prompt'"),
                           ({"add_special_tokens": 1}, "'add_special_tokens'"), ({"best_of": 2}, "'best_of'"),
                           ({"min_tokens": 9, "max_tokens": 6}, "'min_tokens': expected at most 'max_tokens', which is 6"),
                           ({"stream_options": {"include_usage": True}, "stream": False}, "'stream_options'"),
                           ({"stop_token_ids": [99]}, "token 99"), ({"model": 3}, "'model'"), ({"model": "digits"}, "not a generator")):
            status, answer = self.complete(**more)
            self.assertEqual(status, 400, (more, answer))
            self.assertIn(fact, answer["error"]["message"])
            if "model" not in more:
                self.assertEqual(self.complete(**{**more, "stream": more.get("stream", True)})[0], 400)
        self.assertEqual(self.complete(model="nothing")[0], 404)
        for body in ("{", "[]", "[" * 100000, '{"model":"saved"}'):
            self.assertEqual(call(self.port, "/v1/completions", body)[0], 400)
        self.assertEqual(curl(self.port, "/v1/completions")[0], 405)
        self.assertEqual(self.complete()[0], 200)

    def test_clients_share_the_generator(self):
        wanted = self.expected["genai"]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for i, (status, answer) in enumerate(pool.map(lambda i: self.complete(text=i % len(wanted)), range(32))):
                self.assertEqual((status, answer["choices"][0]["token_ids"]), (200, wanted[i % len(wanted)]["tokens"][:8]))
        self.assertGreater(self.metric("generated_tokens_total"), 32 * 8 - 1)
        self.assertGreater(self.metric("time_to_first_token_seconds_sum"), 0)
        self.assertEqual(self.metric("generator_slots"), 2)
        for name, least in (("prompt_seconds_total", 1e-9), ("decode_tokens_total", 32 * 7), ("decode_seconds_total", 1e-9),
                            ("cache_places", 2), ("cache_bytes", 1)):
            self.assertGreaterEqual(self.metric("generator_" + name), least, name)
        # The thread of the generator frees the slots after the last token.
        self.wait_until(lambda: all(self.metric("generator_" + name) == 0
                                    for name in ("busy_slots", "waiting_texts", "cache_used_places")))

    def wait_until(self, happened):
        end = time.monotonic() + 60
        while not happened():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def test_texts_end_when_the_client_disconnects(self):
        for stream in (True, False):
            body = json.dumps({"model": "saved", "prompt": [7], "max_tokens": 60, "n": 128, "ignore_eos": True, "stream": stream})
            failed, end = self.metric("texts_failed_total"), time.monotonic() + 60
            while self.metric("texts_failed_total") == failed:  # all texts may have ended before
                self.assertLess(time.monotonic(), end)
                prompts = self.metric("prompt_tokens_total")
                with socket.create_connection(("127.0.0.1", self.port), 10) as client:
                    client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
                    if stream:
                        self.assertIn(b" 200 ", client.recv(1000))
                    self.wait_until(lambda prompts=prompts: self.metric("prompt_tokens_total") > prompts)
                self.wait_until(lambda: self.metric("texts_in_flight") == 0)
        self.assertEqual(self.complete()[0], 200)

    def test_a_client_that_does_not_read_delays_no_other(self):
        body = json.dumps({"model": "saved", "prompt": [7], "max_tokens": 60, "n": 100, "ignore_eos": True, "stream": True})
        with socket.create_connection(("127.0.0.1", self.port), 10) as client:
            client.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            self.assertEqual(self.complete()[0], 200)

    def test_limit_of_texts(self):
        def post(port, **more):
            request = json.dumps({"model": "saved", "prompt": [1], **more})
            return subprocess.run(["curl", "-s", "-g", "-i", "-d", request, f"http://[::1]:{port}/v1/completions"],
                                  capture_output=True, text=True, check=True).stdout
        with serving(self.repository, "--compile", "--max_texts", "1", "--address", "::1") as (port, _, _):
            printed = post(port, n=2)
            self.assertIn(" 400 ", printed.splitlines()[0])
            self.assertIn("the request has 2 texts; the limit is 1", printed)
            refused, end = [], time.monotonic() + 60
            with concurrent.futures.ThreadPoolExecutor(8) as pool:
                while not refused:
                    self.assertLess(time.monotonic(), end)
                    refused = [p for p in pool.map(lambda _: post(port, max_tokens=60, ignore_eos=True), range(16)) if " 200 " not in p]
            for printed in refused:
                self.assertIn(" 429 ", printed.splitlines()[0])
                self.assertIn("Retry-After: 1", printed)
                self.assertIn("more than 1 texts wait", printed)


@unittest.skipUnless(os.path.exists(SERVE), "poprt_serve is not built")
@unittest.skipUnless(SENTENCEPIECE, "built without sentencepiece")
class Texts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.repository = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.repository)
        with open(os.path.join(TOKENIZERS, "expected.json"), encoding="utf-8") as file:
            cls.expected = json.load(file)["words"]["texts"]
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "text", "1"))
        shutil.copy(os.path.join(TOKENIZERS, "words.model"), os.path.join(cls.repository, "text", "1", "tokenizer.model"))
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "json", "1"))
        with open(os.path.join(cls.repository, "json", "1", "tokenizer.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        saved = os.path.join(cls.repository, "saved", "1")
        os.makedirs(saved)
        subprocess.run([os.path.join(BIN, "poprt_exec"), "generate", os.path.join(GENERATION, "genai"), "--ids", "1",
                        "--max-new-tokens", "1", "--slots", "2", "--save", os.path.join(saved, "text.popef")],
                       check=True, capture_output=True)
        shutil.copy(os.path.join(TOKENIZERS, "words.model"), os.path.join(saved, "spiece.model"))
        shutil.copytree(os.path.join(GENERATION, "genai"), os.path.join(cls.repository, "other", "1"))
        shutil.copy(os.path.join(TOKENIZERS, "bytes.model"), os.path.join(cls.repository, "other", "1", "tokenizer.model"))
        cls.port, _, _ = cls.enterClassContext(serving(cls.repository, "--compile", "--poll_seconds", "0.1"))

    def complete(self, prompt="the cat", model="text", **more):
        return call(self.port, "/v1/completions", {"model": model, "prompt": prompt, "max_tokens": 12, "temperature": 0,
                                                   "ignore_eos": True, **more})

    def choice(self, *prompt, **more):
        status, answer = self.complete(*prompt, **more)
        self.assertEqual(status, 200, answer)
        return answer["choices"][0]

    def events(self, **more):
        request = {"model": "text", "prompt": "the cat", "max_tokens": 12, "temperature": 0, "ignore_eos": True, "stream": True, **more}
        body = curl(self.port, "/v1/completions", "--data-binary", "@-", "--no-buffer", data=json.dumps(request).encode())[2]
        parts = body.decode().split("\n\n")
        self.assertEqual(parts[-2:], ["data: [DONE]", ""])
        return [json.loads(part.removeprefix("data: "))["choices"][0] for part in parts[:-2]]

    def test_a_text_is_the_same_as_its_tokens(self):
        for text in self.expected[:3]:
            for model in ("text", "saved"):
                ids = [1, *text["tokens"]]
                tokens, texts = self.choice(ids, model=model), self.choice(text["text"], model=model)
                self.assertEqual(texts, tokens)
                self.assertTrue(texts["text"])
                self.assertEqual(self.complete(text["text"], model=model)[1]["usage"]["prompt_tokens"], len(ids))
            self.assertEqual(self.choice(text["text"], add_special_tokens=False), self.choice(text["tokens"]))
            spm = shutil.which("spm_decode")
            if spm:
                command = [spm, "--model=" + os.path.join(TOKENIZERS, "words.model"), "--input_format=id"]
                decode = [subprocess.run(command, input=" ".join(map(str, ids + more)), capture_output=True, check=True, text=True)
                          .stdout.removesuffix("\n") for more in ([], texts["token_ids"])]
                self.assertEqual(decode[1], decode[0] + texts["text"])

    def test_without_the_library_prompts_are_tokens(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libpoprt_tokenizer.so.1"), "wb") as file:
                file.write(b"not a library")
            os.environ["LD_LIBRARY_PATH"] = folder
            self.addCleanup(os.environ.pop, "LD_LIBRARY_PATH")
            with serving(self.repository, "--compile") as (port, _, _):
                request = {"model": "text", "prompt": "the cat", "max_tokens": 4, "temperature": 0, "ignore_eos": True}
                status, answer = call(port, "/v1/completions", request)
                self.assertEqual(status, 400)
                for fact in ("libpoprt_tokenizer.so.1", "install package libpoprt-tokenizer1", "expected an array of tokens"):
                    self.assertIn(fact, answer["error"]["message"])
                self.assertEqual(call(port, "/v1/completions", {**request, "prompt": [1, 30]})[0], 200)
                index = {m["name"]: m for m in call(port, "/v2/repository/index", {})[1]}
                self.assertEqual((index["text"]["state"], index["json"]["reason"]), ("READY", ""))
                self.assertIn("install package", index["text"]["reason"])

    def test_several_texts(self):
        texts = [t["text"] for t in self.expected[:3]]
        _, answer = self.complete(texts, n=2)
        self.assertEqual([c["text"] for c in answer["choices"]], [self.choice(text)["text"] for text in texts for _ in range(2)])
        self.assertEqual(self.complete([texts[0], [1, 30]])[1]["choices"][1]["text"], self.choice([1, 30])["text"])

    def test_a_stream_has_the_pieces_of_the_text(self):
        whole, events = self.choice(logprobs=0), self.events(logprobs=0)
        self.assertEqual("".join(e["text"] for e in events), whole["text"])
        self.assertEqual(sum((e["token_ids"] for e in events), []), whole["token_ids"])
        self.assertEqual(events[-1]["finish_reason"], "length")
        self.assertEqual("".join(whole["logprobs"]["tokens"]), whole["text"])

    def test_a_text_ends_before_a_stop_string(self):
        whole = self.choice()["text"]
        stop = whole[5:8]
        for stops in (stop, ["#", stop]):
            cut = self.choice(stop=stops)
            self.assertEqual((cut["text"], cut["finish_reason"]), (whole[:whole.index(stop)], "stop"))
            self.assertLess(len(cut["token_ids"]), 12)
            events = self.events(stop=stops)
            self.assertEqual("".join(e["text"] for e in events), cut["text"])
            self.assertEqual((events[-1]["finish_reason"], events[-1]["token_ids"]), ("stop", []))
        self.assertEqual(self.choice(stop="#")["text"], whole)
        self.assertEqual(self.choice(stop=stop, min_tokens=12)["finish_reason"], "length")
        self.assertEqual(self.choice(stop=whole[-2:] + "#")["text"], whole)  # the end only begins the stop string

    def test_refusals_name_the_reason(self):
        for more, fact in (({"prompt": "a" * 100000}, "100000 bytes"), ({"prompt": "a" * 500}, "64"), ({"prompt": "", "add_special_tokens": False}, "no tokens"),
                           ({"model": "json"}, "tokenizer.json is not read"), ({"model": "json", "prompt": [1], "stop": "a"}, "no tokenizer")):
            status, answer = self.complete(**{"prompt": "the cat", **more})
            self.assertEqual(status, 400, answer)
            self.assertIn(fact, answer["error"]["message"])
        (other,) = [m for m in call(self.port, "/v2/repository/index", {})[1] if m["name"] == "other"]
        self.assertIn("309 tokens, and the model knows 53", other["reason"])
        status, _, body = curl(self.port, "/v1/completions", "--data-binary", "@-", data=b'{"model": "text", "prompt": "\xff"}')
        self.assertEqual(status, 400, body)
        self.assertEqual(self.choice("\u20ac \U0001f600")["finish_reason"], "length")

    def test_a_replaced_tokenizer_is_loaded(self):
        folder = os.path.join(self.repository, "saved", "1")
        before = self.complete(model="saved")[1]["usage"]["prompt_tokens"]
        with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
            json.dump({"add_bos_token": False}, file)
        end = time.monotonic() + 60
        while self.complete(model="saved")[1]["usage"]["prompt_tokens"] != before - 1:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        os.remove(os.path.join(folder, "tokenizer_config.json"))
        while self.complete(model="saved")[1]["usage"]["prompt_tokens"] != before:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)


if __name__ == "__main__":
    unittest.main()
