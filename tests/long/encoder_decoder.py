"""Compares models with an encoder (T5, BART, Whisper) with ONNX Runtime; tests/long/generation.py calls it."""

import os
import sys

import numpy as np
import onnxruntime as ort

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "generation"))
import make_encoder_decoder as make  # noqa: E402  pylint: disable=wrong-import-position

NAMES = ["t5", "t5_old", "bart", "whisper", "t5_merged", "whisper_merged", "bart_separate"]
MOST_TOKENS = 400


def sizes_of(name):
    kind = name.replace("_merged", "").replace("_separate", "")
    return make.Sizes(kind, vocabulary=211, hidden=64, layers=3, heads=4, mlp=96, places=448, source=96, bins=20)


def is_merged(name):
    return name == "bart" or name.endswith("_merged")


class Reference:
    """Runs ONNX Runtime on one sequence; the caches that a call returns are inputs of the next call."""

    def __init__(self, folder, name):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3

        def session(file):
            return ort.InferenceSession(os.path.join(folder, file), options, providers=["CPUExecutionProvider"])

        self.s = sizes_of(name)
        self.encoder = session("encoder_model.onnx")
        self.merged = session("decoder_model_merged.onnx") if is_merged(name) else None
        self.first = self.merged or session("decoder_model.onnx")
        self.next = self.merged or session("decoder_with_past_model.onnx")

    def run(self, session, feeds):
        names = [i.name for i in session.get_inputs()]
        empty = np.zeros((1, self.s.heads, 1, self.s.width), np.float32)
        values = session.run(None, {n: feeds.get(n, empty) for n in names})
        return dict(zip([o.name for o in session.get_outputs()], values))

    def greedy(self, source, prompt, count):
        """The tokens, and the logits before each of them."""
        if self.s.kind == "whisper":
            feeds = {"input_features": np.array([source], np.float32)}
        else:
            feeds = {"input_ids": np.array([source]), "attention_mask": np.ones((1, len(source)), np.int64)}
        common = {"encoder_attention_mask": feeds.get("attention_mask"),
                  "encoder_hidden_states": self.run(self.encoder, feeds)["last_hidden_state"]}
        made = self.run(self.first, {**common, "input_ids": np.array([prompt]), "use_cache_branch": np.array([False])})
        caches = {n.replace("present", "past_key_values"): v for n, v in made.items() if n != "logits"}
        tokens, logits = [], []
        for _ in range(count):
            logits.append(made["logits"][0, -1])
            tokens.append(int(logits[-1].argmax()))
            made = self.run(self.next, {**common, **caches, "input_ids": np.array([[tokens[-1]]]), "use_cache_branch": np.array([True])})
            caches.update({n.replace("present", "past_key_values"): v for n, v in made.items() if ".decoder." in n})
        return tokens, np.array(logits)


def sources(name, seed):
    random = np.random.default_rng(seed)
    s = sizes_of(name)
    if s.kind == "whisper":
        return [random.standard_normal((s.bins, 2 * s.source)).astype(np.float32) for _ in range(3)]
    return [[int(t) for t in random.integers(0, s.vocabulary, n)] for n in (1, 40, 96)]


def save(name, folder, seed):
    s = sizes_of(name)
    make.save(s, make.weights(s, seed), folder, is_merged(name))
