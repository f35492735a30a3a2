"""frontend.gguf: files with random weights, and the tokens that NumPy computes from them. Needs PyPI's package gguf."""

import importlib.util
import json
import os
import tempfile
import unittest

import numpy as np
from poprt import Generator, errors
from poprt.frontend import gguf

VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, MLP, LENGTH, EPSILON = 48, 64, 2, 4, 2, 96, 64, 1e-5
WIDTH = HIDDEN // HEADS


def write(path, architecture, kind, tied, window=0):
    """Writes a model and returns its weights as the file has them."""
    import gguf as library

    random = np.random.default_rng(7)
    writer = library.GGUFWriter(path, architecture)
    writer.add_context_length(LENGTH)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(MLP)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(EPSILON)
    writer.add_rope_freq_base(1000.0)
    if window:
        writer.add_sliding_window(window)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([chr(ord("a") + i) if i < 26 else f"<{i}>" for i in range(VOCABULARY)])
    writer.add_token_types([1 if i < 26 else 3 for i in range(VOCABULARY)])
    writer.add_token_merges([])
    writer.add_eos_token_id(VOCABULARY - 1)
    weights = {}

    def add(name, *shape, scale, how):
        value = (random.standard_normal(shape) * scale).astype(np.float32)
        if how is None:
            value = 1 + value if name.endswith("norm.weight") else value
            writer.add_tensor(name, value)
            weights[name] = value.astype(np.float64)
            return
        data = library.quants.quantize(value, how)
        writer.add_tensor(name, data, raw_dtype=how)
        weights[name] = library.quants.dequantize(data, how).astype(np.float64)

    how = getattr(library.GGMLQuantizationType, kind)
    table = how if kind in ("F16", "Q8_0") else library.GGMLQuantizationType.Q8_0
    add("token_embd.weight", VOCABULARY, HIDDEN, scale=1.0, how=table)
    if not tied:
        add("output.weight", VOCABULARY, HIDDEN, scale=0.3, how=how)
    add("output_norm.weight", HIDDEN, scale=0.1, how=None)
    for i in range(LAYERS):
        block = f"blk.{i}."
        for name, rows, columns in (("attn_q", HIDDEN, HIDDEN), ("attn_k", KV_HEADS * WIDTH, HIDDEN), ("attn_v", KV_HEADS * WIDTH, HIDDEN),
                                    ("attn_output", HIDDEN, HIDDEN), ("ffn_gate", MLP, HIDDEN), ("ffn_up", MLP, HIDDEN),
                                    ("ffn_down", HIDDEN, MLP)):
            add(block + name + ".weight", rows, columns, scale=0.25, how=how)
            if architecture == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                add(block + name + ".bias", rows, scale=0.3, how=None)
        add(block + "attn_norm.weight", HIDDEN, scale=0.1, how=None)
        add(block + "ffn_norm.weight", HIDDEN, scale=0.1, how=None)
        if architecture == "qwen3":
            add(block + "attn_q_norm.weight", WIDTH, scale=0.1, how=None)
            add(block + "attn_k_norm.weight", WIDTH, scale=0.1, how=None)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return weights


def reference(w, architecture, prompt, count, window=0):
    """Greedy tokens, each from the whole text, until two tokens are nearly as probable."""
    frequency = 1.0 / 1000.0 ** (np.arange(0, WIDTH, 2) / WIDTH)

    def norm(x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w[name + ".weight"]

    def linear(x, name):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def rotate(x):
        angle = np.arange(len(x))[:, None, None] * frequency
        cos, sin = np.cos(angle), np.sin(angle)
        y = np.empty_like(x)
        if architecture == "llama":  # pairs of neighbours
            a, b = x[..., 0::2], x[..., 1::2]
            y[..., 0::2], y[..., 1::2] = a * cos - b * sin, b * cos + a * sin
        else:
            a, b = np.split(x, 2, -1)
            y = np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
        return y

    ids = list(prompt)
    for _ in range(count):
        n, x = len(ids), w["token_embd.weight"][ids]
        hidden = np.triu(np.full((n, n), -np.inf), 1)
        if window:
            hidden += np.tril(np.full((n, n), -np.inf), -window)
        for i in range(LAYERS):
            block = f"blk.{i}."
            y = norm(x, block + "attn_norm")
            q, k, v = (linear(y, f"{block}attn_{p}").reshape(n, -1, WIDTH) for p in "qkv")
            if architecture == "qwen3":
                q, k = norm(q, block + "attn_q_norm"), norm(k, block + "attn_k_norm")
            q, k = rotate(q), np.repeat(rotate(k), HEADS // KV_HEADS, 1)
            v = np.repeat(v, HEADS // KV_HEADS, 1)
            scores = np.einsum("shd,thd->hst", q, k) / np.sqrt(WIDTH) + hidden
            p = np.exp(scores - scores.max(-1, keepdims=True))
            y = np.einsum("hst,thd->shd", p / p.sum(-1, keepdims=True), v).reshape(n, -1)
            x = x + linear(y, block + "attn_output")
            y = norm(x, block + "ffn_norm")
            gate = linear(y, block + "ffn_gate")
            x = x + linear(gate / (1 + np.exp(-gate)) * linear(y, block + "ffn_up"), block + "ffn_down")
        y = norm(x, "output_norm")[-1]
        logits = y @ w.get("output.weight", w["token_embd.weight"]).T
        best = np.sort(logits)[-2:]
        if best[1] - best[0] < 1e-2:
            break
        ids.append(int(logits.argmax()))
    return ids[len(prompt):]


@unittest.skipIf(importlib.util.find_spec("gguf") is None, "there is no package gguf")
class Gguf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def test_every_type_gives_the_tokens_of_the_reference(self):
        for architecture, kind, tied, window in (("llama", "Q4_0", False, 0), ("llama", "Q4_1", True, 0), ("llama", "Q8_0", True, 0),
                                                 ("llama", "F16", False, 0), ("llama", "Q8_0", False, 5), ("qwen2", "Q4_0", False, 0),
                                                 ("qwen3", "Q4_1", False, 0)):
            name = f"{architecture}-{kind}-{window}"
            path, folder = (os.path.join(self.folder, name + ending) for ending in (".gguf", ""))
            weights = write(path, architecture, kind, tied, window)
            self.assertEqual(gguf(path, folder, accuracy_level=0), folder)
            compared = 0
            with Generator(folder, prefill=8) as g:
                self.assertEqual((g.vocabulary, g.max_length), (VOCABULARY, LENGTH))
                for prompt in ([5], [9, 2, 40], list(range(20, 31))):
                    wanted = reference(weights, architecture, prompt, 16, window)
                    got = list(g.generate(prompt, max_new_tokens=max(len(wanted), 1), ignore_stop=1))
                    self.assertEqual(got[:len(wanted)], wanted, name)
                    compared += len(wanted)
            self.assertGreater(compared, 20, name)

    def test_the_folder_has_a_tokenizer(self):
        path, folder = os.path.join(self.folder, "m.gguf"), os.path.join(self.folder, "m")
        write(path, "llama", "Q8_0", True)
        gguf(path, folder)
        with open(os.path.join(folder, "tokenizer.json"), encoding="utf-8") as file:
            tokenizer = json.load(file)
        self.assertEqual(tokenizer["model"]["vocab"]["c"], 2)
        self.assertEqual(tokenizer["added_tokens"][0]["content"], "<26>")
        with open(os.path.join(folder, "genai_config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["model"]["eos_token_id"], [VOCABULARY - 1])

    @unittest.skipIf(importlib.util.find_spec("tokenizers") is None, "there is no package tokenizers")
    def test_texts_are_those_of_the_tokens(self):
        path, folder = os.path.join(self.folder, "m.gguf"), os.path.join(self.folder, "m")
        write(path, "llama", "Q8_0", True)
        gguf(path, folder)
        with Generator(folder) as g:
            tokens = list(g.generate([0, 1, 2], max_new_tokens=24, ignore_stop=1))
            pieces = list(g.generate_text("abc", max_new_tokens=24, ignore_stop=1))
            text = g.tokenizer.decode(tokens)
            self.assertEqual("".join(pieces), text)
            self.assertGreater(len(pieces), 1)
            stop = text[3:5]
            stopped = "".join(g.generate_text("abc", max_new_tokens=24, ignore_stop=1, stop_strings=[stop, "zzzzz"]))
            self.assertEqual(stopped, text[:text.find(stop)])
            self.assertEqual("".join(g.generate_text("abc", max_new_tokens=24, ignore_stop=1, stop_strings=["zzzzz"])), text)
            os.remove(os.path.join(folder, "tokenizer.json"))
            with Generator(folder) as other, self.assertRaisesRegex(errors.FailedPreconditionError, "tokenizer.json"):
                other.tokenizer

    def test_wrong_files_are_refused(self):
        with self.assertRaisesRegex(errors.FileMissingError, "missing.gguf"):
            gguf("missing.gguf", self.folder)
        path = os.path.join(self.folder, "wrong.gguf")
        with open(path, "wb") as file:
            file.write(b"GGUX" + bytes(100))
        with self.assertRaisesRegex(errors.InvalidArgumentError, "wrong.gguf"):
            gguf(path, os.path.join(self.folder, "out"))
        write(path, "gemma", "Q8_0", True)
        with self.assertRaisesRegex(errors.UnimplementedError, "gemma"):
            gguf(path, os.path.join(self.folder, "out"))


if __name__ == "__main__":
    unittest.main()
