"""Models with recurrent states for generation.py, in the forms of tests/data/generation/make_recurrent.py."""

import os
import sys

import numpy as np
import onnxruntime as ort

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "generation"))
import make_recurrent as make  # noqa: E402  pylint: disable=wrong-import-position

NAMES = list(make.KINDS)
VOCABULARY = 211


def save(name, folder, seed, places):
    sizes = make.Sizes(name, vocabulary=VOCABULARY, hidden=64, layers=3, heads=4, places=places)
    make.save(sizes, make.weights(sizes, seed), folder)


class Reference:
    """Runs ONNX Runtime on one sequence; the caches and states that a call returns are inputs of the next call."""

    def __init__(self, folder, name):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(os.path.join(folder, "model.onnx"), options, providers=["CPUExecutionProvider"])
        self.name = name
        self.inputs = self.session.get_inputs()

    def empty(self):
        """Returns the caches and states before the first token: caches of length 0, and states of zeros."""
        def size(d):
            return d if isinstance(d, int) else 1 if d.startswith("batch") else 0

        return {i.name: np.zeros([size(d) for d in i.shape], np.float32) for i in self.inputs if i.type == "tensor(float)"}

    def run(self, tokens, states, length):
        feeds = dict(states)
        total = len(tokens) + (0 if self.name == "mamba" else length)
        values = {"token": np.array(tokens), "in": np.array([tokens]), "input_ids": np.array([tokens]),
                  "attention_mask": np.ones((1, total), np.int64), "position_ids": np.arange(length, length + len(tokens))[None]}
        feeds.update({i.name: values[i.name] for i in self.inputs if i.name in values})
        logits, *after = self.session.run(None, feeds)
        return logits.reshape(-1, VOCABULARY)[-1], dict(zip(states, after))

    def greedy(self, prompt, count):
        """The tokens, and the logits before each of them."""
        states = self.empty()
        tokens, all_logits, length, new = [], [], 0, list(prompt)
        for _ in range(count):
            for piece in ([[t] for t in new] if self.name == "rwkv" else [new]):
                logits, states = self.run(piece, states, length)
                length += len(piece)
            new = [int(logits.argmax())]
            tokens += new
            all_logits.append(logits)
        return tokens, np.array(all_logits)
