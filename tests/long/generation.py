"""Compares generated tokens and logits with ONNX Runtime on language models with random weights, in the forms that exporters write:

    python generation.py [--tokens 256] [--seed 1] [--only NAME] [--keep FOLDER]      with poprt, numpy, onnx and onnxruntime

The architectures are Llama, Qwen (biases; norms of heads), Gemma (soft caps, windows), Phi (partial rotation, parallel layers),
GPT-2 and Mixtral (experts). Attention has the forms of GroupQueryAttention, MultiHeadAttention, Attention-23 and MatMul-Softmax with
caches that grow by Concat, and of Attention-24 on a static cache that TensorScatter writes (linear and circular). Weights are f32 or
4-bit (MatMulNBits, QMoE).

Each model is checked in three ways:

* teacher-forced: the logits of each of the tokens that ONNX Runtime chooses, within BOUND of the greatest logit;
* alone, with 1, 3 and 8 slots: equal tokens, until ONNX Runtime's two best logits are closer than twice that bound;
* together: sequences that join and leave 3 and 8 slots at random give the same tokens as alone.

With accuracy_level 4, both libraries round activations to 8 bits, in different blocks. There the error of the logits, against the same
weights without that rounding, is at most RATIO times the error of ONNX Runtime, and tokens are not compared with ONNX Runtime's.

Models with an encoder (T5, BART, Whisper) are made by encoder_decoder.py, in the forms of optimum, separate and merged, and checked in
the same ways. Their texts have at most 400 tokens.

Models with recurrent states (Mamba, RWKV, linear attention, short convolutions, LSTM) are made by recurrent.py. They are checked in the
same ways, and a text that is saved at a random token continues with the same tokens in another generator.

Exit code 1 when one differs. A model that ONNX Runtime refuses is listed as skipped, and does not count."""

import argparse
import json
import os
import sys
import tempfile
import threading
import time

import encoder_decoder
import numpy as np
import onnx
import onnxruntime as ort
import poprt
import recurrent
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"
VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, WIDTH, MLP, PLACES = 211, 64, 3, 4, 2, 16, 96, 512
EXPERTS = 4
BOUND = 5e-5
RATIO = 1.25


class Family:
    """An architecture. The fields name the differences from Llama."""

    def __init__(self, name, attention="gqa", bits=0, level=None, **different):
        self.given = {"name": name, "attention": attention, "bits": bits, "level": level, **different}
        self.name, self.attention, self.bits, self.level = name, attention, bits, level
        self.biases = self.layer_norm = self.parallel = self.places = self.experts = self.head_norm = False
        self.softcap, self.logit_cap, self.window, self.rotated, self.scale = 0.0, 0.0, 0, WIDTH, 1.0
        self.activation = "silu"
        self.__dict__.update(different)
        self.kv = HEADS if attention == "mha" or self.places else KV_HEADS


QWEN = {"biases": True}
QWEN3 = {"head_norm": True}
GEMMA = {"softcap": 20.0, "logit_cap": 10.0, "window": 24, "scale": HIDDEN ** 0.5 / 4, "activation": "gelu"}
PHI = {"layer_norm": True, "biases": True, "parallel": True, "rotated": WIDTH // 2, "activation": "gelu_mlp"}
GPT2 = {"layer_norm": True, "biases": True, "places": True, "rotated": 0, "activation": "gelu_mlp"}

FAMILIES = [
    Family("llama-gqa"), Family("llama-gqa-int4", bits=4), Family("llama-gqa-int4-level4", bits=4, level=4),
    Family("llama-concat", "concat"), Family("llama-concat-int4", "concat", bits=4), Family("llama-attention23", "attention"),
    Family("qwen-gqa", **QWEN), Family("qwen-gqa-int4", bits=4, **QWEN), Family("qwen-concat", "concat", **QWEN),
    Family("qwen3-gqa-int4", bits=4, **QWEN3), Family("qwen3-concat", "concat", **QWEN3),
    Family("gemma-concat", "concat", **GEMMA), Family("gemma-attention23", "attention", **GEMMA),
    Family("gemma-gqa", **GEMMA), Family("gemma-gqa-int4", bits=4, **GEMMA),
    Family("phi-gqa", **PHI), Family("phi-gqa-int4", bits=4, **PHI), Family("phi-concat", "concat", **PHI),
    Family("gpt2-concat", "concat", **GPT2), Family("gpt2-concat-int4", "concat", bits=4, **GPT2),
    Family("gpt2-mha", "mha", **GPT2), Family("mixtral-gqa", experts=True), Family("mixtral-concat", "concat", experts=True),
    Family("llama-static", "static"), Family("gpt2-static-int4", "static", bits=4, **GPT2),
    Family("mixtral-gqa-int4", bits=4, experts=True), Family("gpt-oss-gqa-int4", bits=4, experts="gpt-oss"),
]


class Graph:
    """Builds a graph, whose weights come from one random generator."""

    def __init__(self, family, seed):
        self.f, self.random = family, np.random.default_rng(seed)
        self.nodes, self.constants, self.known = [], {}, {}

    def weight(self, *shape, scale=1.0, offset=0.0):
        name = f"w{len(self.constants)}"
        self.constants[name] = (offset + self.random.standard_normal(shape) * scale).astype(np.float32)
        return name

    def constant(self, value, dtype=np.int64):
        array = np.array(value, dtype)
        key = (array.tobytes(), array.shape, array.dtype.str)
        if key not in self.known:
            self.known[key] = f"c{len(self.constants)}"
            self.constants[self.known[key]] = array
        return self.known[key]

    def f32(self, value):
        return self.constant(value, np.float32)

    def add(self, op, *inputs, outputs=None, domain="", **attributes):
        outputs = outputs or [f"t{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return outputs[0]

    def linear(self, x, k, n, bias=False, gain=1.0):
        scale = gain * k ** -0.5
        if self.f.bits:
            values = self.weight(n, k // 32, scale=scale / 30, offset=scale / 4.6)
            bytes_of = f"w{len(self.constants)}"
            self.constants[bytes_of] = self.random.integers(0, 256, (n, k // 32, 16), np.uint8)
            level = {} if self.f.level is None else {"accuracy_level": self.f.level}
            y = self.add("MatMulNBits", x, bytes_of, values, domain=MS, K=k, N=n, bits=4, block_size=32, **level)
        else:
            y = self.add("MatMul", x, self.weight(k, n, scale=scale))
        return self.add("Add", y, self.weight(n, scale=0.2)) if bias else y

    def norm(self, x, width=HIDDEN):
        scale = self.weight(width, scale=0.1, offset=1.0)
        if self.f.layer_norm:
            return self.add("LayerNormalization", x, scale, self.weight(width, scale=0.1), epsilon=1e-5)
        if self.f.attention == "gqa":
            return self.add("SimplifiedLayerNormalization", x, scale, epsilon=1e-5, axis=-1, stash_type=1)
        mean = self.add("ReduceMean", self.add("Pow", x, self.f32(2)), self.constant([-1]), keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, self.f32(1e-5)))
        return self.add("Mul", scale, self.add("Mul", x, self.add("Div", self.f32(1), root)))

    def gelu(self, x):
        """The form of torch: tanh of a polynomial."""
        cube = self.add("Mul", self.add("Pow", x, self.f32(3)), self.f32(0.044715))
        inner = self.add("Tanh", self.add("Mul", self.add("Add", x, cube), self.f32((2 / np.pi) ** 0.5)))
        return self.add("Mul", self.add("Mul", x, self.f32(0.5)), self.add("Add", inner, self.f32(1)))

    def mlp(self, x):
        f = self.f
        if f.experts:
            return self.moe(x)
        if f.activation == "gelu_mlp":
            return self.linear(self.gelu(self.linear(x, HIDDEN, MLP, True)), MLP, HIDDEN, True)
        gate, up = self.linear(x, HIDDEN, MLP), self.linear(x, HIDDEN, MLP)
        gate = self.gelu(gate) if f.activation == "gelu" else self.add("Mul", gate, self.add("Sigmoid", gate))
        return self.linear(self.add("Mul", gate, up), MLP, HIDDEN)

    def experts(self, n, k):
        """Weights, scales for blocks of 32, and biases of the experts."""
        codes = f"w{len(self.constants)}"
        self.constants[codes] = self.random.integers(0, 256, (EXPERTS, n, k // 2), np.uint8)
        return codes, self.weight(EXPERTS, n, k // 32, scale=k ** -0.5 / 30, offset=k ** -0.5 / 4.6), self.weight(EXPERTS, n, scale=0.2)

    def quantised_moe(self, x, rows):
        """Gate and up are the even and odd rows of the first product. gpt-oss clamps them and adds 1 to `up`."""
        clamp = {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 7.0} if self.f.experts == "gpt-oss" else {
            "activation_alpha": 1.0, "activation_beta": 0.0}
        return self.add("QMoE", x, rows, *self.experts(2 * MLP, HIDDEN), *self.experts(HIDDEN, MLP), domain=MS, k=2,
                        activation_type="swiglu", swiglu_fusion=1, expert_weight_bits=4, block_size=32, normalize_routing_weights=1,
                        **clamp)

    def moe(self, x):
        """GQA form: the operator MoE, or QMoE with 4 bits (of Mixtral or gpt-oss). Concat form: all experts, weighted by the two best probabilities, as transformers exports it."""
        router = self.linear(x, HIDDEN, EXPERTS, gain=2.0)
        if self.f.attention == "gqa":
            rows = self.add("Reshape", router, self.constant([-1, EXPERTS]))
            if self.f.bits:
                return self.quantised_moe(x, rows)
            return self.add("MoE", x, rows, self.weight(EXPERTS, MLP, HIDDEN, scale=HIDDEN ** -0.5), "",
                            self.weight(EXPERTS, HIDDEN, MLP, scale=MLP ** -0.5), domain=MS, k=2, activation_type="silu",
                            normalize_routing_weights=1)
        p = self.add("Softmax", router, axis=-1)
        self.add("TopK", p, self.constant([2]), outputs=[f"best{len(self.nodes)}", f"chosen{len(self.nodes)}"], axis=-1)
        best, chosen = self.nodes[-1].output
        best = self.add("Div", best, self.add("ReduceSum", best, self.constant([-1]), keepdims=1))
        zeros = self.add("Mul", p, self.f32(0))
        share = self.add("ScatterElements", zeros, chosen, best, axis=-1)
        total = None
        for e in range(EXPERTS):
            gate, up = self.linear(x, HIDDEN, MLP), self.linear(x, HIDDEN, MLP)
            y = self.linear(self.add("Mul", self.add("Mul", gate, self.add("Sigmoid", gate)), up), MLP, HIDDEN)
            y = self.add("Mul", y, self.add("Gather", share, self.constant([e]), axis=-1))
            total = y if total is None else self.add("Add", total, y)
        return total


def tables(rotated):
    angle = np.arange(PLACES)[:, None] / 1000.0 ** (np.arange(rotated // 2) * 2 / rotated)[None, :]
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def dimension(g, name, axis):
    return g.add("Gather", g.add("Shape", name), g.constant(axis), axis=0)


def causal_mask(g, as_bool, window=0):
    """A key is visible if the caller's mask has a 1, and it is not after the query and not before the window."""
    past, new = dimension(g, "past_key_values.0.key", 2), dimension(g, "input_ids", 1)
    total = g.add("Add", past, new)
    keys = g.add("Range", g.constant(0), total, g.constant(1))
    queries = g.add("Unsqueeze", g.add("Range", past, total, g.constant(1)), g.constant([1]))
    given = g.add("Unsqueeze", g.add("Cast", "attention_mask", to=TensorProto.BOOL), g.constant([1, 2]))
    seen = g.add("And", g.add("LessOrEqual", keys, queries), given)
    if window:
        seen = g.add("And", seen, g.add("Greater", keys, g.add("Sub", queries, g.constant(window))))
    return seen if as_bool else g.add("Where", seen, g.f32(0), g.f32(np.finfo(np.float32).min))


def split_heads(g, x, count):
    return g.add("Transpose", g.add("Reshape", x, g.constant([0, 0, count, WIDTH])), perm=[0, 2, 1, 3])


def rotate(g, x, cos, sin):
    """The form of transformers, on the first `rotated` elements of each head."""
    r = g.f.rotated
    if not r:
        return x

    def piece(begin, end):
        return g.add("Slice", x, g.constant([begin]), g.constant([end]), g.constant([3]))

    rest = None
    whole = x
    if r < WIDTH:
        whole, rest = piece(0, r), piece(r, WIDTH)
    turned = g.add("Concat", g.add("Neg", piece(r // 2, r)), piece(0, r // 2), axis=-1)
    y = g.add("Add", g.add("Mul", whole, cos), g.add("Mul", turned, sin))
    return g.add("Concat", y, rest, axis=-1) if rest else y


def repeat_heads(g, x, kv):
    if kv == HEADS:
        return x
    batch, length = (g.add("Unsqueeze", dimension(g, x, a), g.constant([0])) for a in (0, 2))
    wide = g.add("Concat", batch, g.constant([kv, HEADS // kv]), length, g.constant([WIDTH]), axis=0)
    flat = g.add("Concat", batch, g.constant([HEADS]), length, g.constant([WIDTH]), axis=0)
    return g.add("Reshape", g.add("Expand", g.add("Unsqueeze", x, g.constant([2])), wide), flat)


def attend_static(g, i, q, k, v, shared):
    """TensorScatter writes into caches of fixed size, whose last axis has the heads."""
    f = g.f
    if f.rotated:
        q, k = (g.add("Reshape", g.add("Transpose", rotate(g, split_heads(g, x, n), shared["cos"], shared["sin"]), perm=[0, 2, 1, 3]),
                      g.constant([0, 0, n * WIDTH])) for x, n in ((q, HEADS), (k, f.kv)))
    mode = {"mode": "circular"} if i % 2 else {}
    k, v = (g.add("TensorScatter", f"{part}_cache.{i}", x, "write_indices", outputs=[f"updated_{part}_cache.{i}"], axis=1, **mode)
            for part, x in (("key", k), ("value", v)))
    return g.add("Attention", q, k, v, "", "", "", "nonpad_kv_seqlen", is_causal=1, q_num_heads=HEADS, kv_num_heads=f.kv,
                 scale=WIDTH ** -0.5)


def attend(g, i, y, shared):
    f = g.f
    q, k, v = (g.linear(y, HIDDEN, n * WIDTH, f.biases, gain) for n, gain in ((HEADS, 2.5), (f.kv, 2.5), (f.kv, 1.0)))
    if f.head_norm:
        q, k = (g.add("Reshape", g.norm(g.add("Reshape", x, g.constant([0, 0, n, WIDTH])), WIDTH), g.constant([0, 0, n * WIDTH]))
                for x, n in ((q, HEADS), (k, f.kv)))
    if f.attention == "static":
        return attend_static(g, i, q, k, v, shared)
    window = f.window if i % 2 == 0 else 0
    mask = shared.get("window_mask" if window else "mask")
    past = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
    results = [f"attention{i}", f"present.{i}.key", f"present.{i}.value"]
    if f.attention == "gqa":
        fused = f.rotated == WIDTH
        if not fused:
            q, k = (g.add("RotaryEmbedding", x, "position_ids", "cos", "sin", domain=MS, num_heads=n, rotary_embedding_dim=f.rotated)
                    for x, n in ((q, HEADS), (k, f.kv)))
        return g.add("GroupQueryAttention", q, k, v, *past, "seqlens_k", "total_length", *(["cos", "sin"] if fused else []),
                     outputs=results, domain=MS, num_heads=HEADS, kv_num_heads=f.kv, do_rotary=int(fused), rotary_interleaved=0,
                     local_window_size=window or -1, softcap=f.softcap, scale=WIDTH ** -0.5)
    if f.attention == "mha":
        return g.add("MultiHeadAttention", q, k, v, "", "", mask, *past, outputs=results, domain=MS, num_heads=HEADS)
    q, k, v = split_heads(g, q, HEADS), split_heads(g, k, f.kv), split_heads(g, v, f.kv)
    q, k = (rotate(g, x, shared["cos"], shared["sin"]) for x in (q, k))
    if f.attention == "attention":
        y = g.add("Attention", q, k, v, mask, *past, outputs=results, scale=WIDTH ** -0.5, softcap=f.softcap)
    else:
        k, v = (g.add("Concat", p, x, outputs=[r], axis=-2) for p, x, r in zip(past, (k, v), results[1:]))
        k, v = repeat_heads(g, k, f.kv), repeat_heads(g, v, f.kv)
        scores = g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = g.add("Mul", scores, g.f32(WIDTH ** -0.5))
        if f.softcap:
            scores = g.add("Mul", g.add("Tanh", g.add("Div", scores, g.f32(f.softcap))), g.f32(f.softcap))
        scores = g.add("Add", scores, mask)
        y = g.add("MatMul", g.add("Softmax", scores, axis=-1), v)
    return g.add("Reshape", g.add("Transpose", y, perm=[0, 2, 1, 3]), g.constant([0, 0, HIDDEN]))


def prepare(g):
    """Adds the values that all layers use: lengths, masks, tables of the rotation."""
    f, shared = g.f, {}
    if f.rotated:
        cos, sin = tables(f.rotated)
    if f.attention == "gqa":
        length = g.add("ReduceSum", "attention_mask", g.constant([1]), keepdims=0)
        g.add("Cast", g.add("Sub", length, g.constant(1)), outputs=["seqlens_k"], to=TensorProto.INT32)
        g.add("Cast", dimension(g, "attention_mask", 1), outputs=["total_length"], to=TensorProto.INT32)
        g.constants.update(cos=cos, sin=sin)
        return shared
    if f.attention != "static":
        shared["mask"] = causal_mask(g, f.attention == "attention")
        if f.window:
            shared["window_mask"] = causal_mask(g, f.attention == "attention", f.window)
    for name, table in (("cos", cos), ("sin", sin)) if f.rotated else ():
        rows = g.add("Gather", g.f32(np.concatenate([table, table], 1)), "position_ids")
        shared[name] = g.add("Unsqueeze", rows, g.constant([1]))
    return shared if f.rotated else {**shared, "cos": None, "sin": None}


def make_model(f, seed):
    g = Graph(f, seed)
    shared = prepare(g)
    x = g.add("Gather", g.weight(VOCABULARY, HIDDEN), "input_ids")
    if f.scale != 1.0:
        x = g.add("Mul", x, g.f32(f.scale))
    if f.places:
        x = g.add("Add", x, g.add("Gather", g.weight(PLACES, HIDDEN, scale=0.7), "position_ids"))
    for i in range(LAYERS):
        y = g.norm(x)
        a = g.linear(attend(g, i, y, shared), HIDDEN, HIDDEN, f.biases)
        if f.parallel:
            x = g.add("Add", x, g.add("Add", a, g.mlp(y)))
        else:
            x = g.add("Add", x, a)
            x = g.add("Add", x, g.mlp(g.norm(x)))
    logits = g.linear(g.norm(x), HIDDEN, VOCABULARY, gain=4.0)
    if f.logit_cap:
        logits = g.add("Mul", g.add("Tanh", g.add("Div", logits, g.f32(f.logit_cap))), g.f32(f.logit_cap))
    g.nodes[-1].output[0] = "logits"
    return finish(g)


def finish(g):
    f = g.f
    value = helper.make_tensor_value_info
    total = "total" if f.attention == "gqa" else "past + sequence"
    inputs = [value("input_ids", TensorProto.INT64, ["batch", "sequence"])]
    if f.attention == "static":
        inputs += [value(name, TensorProto.INT64, ["batch"]) for name in ("write_indices", "nonpad_kv_seqlen")]
    else:
        inputs.append(value("attention_mask", TensorProto.INT64, ["batch", total]))
    if f.attention != "gqa" or f.rotated < WIDTH:
        inputs.append(value("position_ids", TensorProto.INT64, ["batch", "sequence"]))
    outputs = [value("logits", TensorProto.FLOAT, ["batch", "sequence", VOCABULARY])]
    for i in range(LAYERS):
        for part in ("key", "value"):
            if f.attention == "static":
                inputs.append(value(f"{part}_cache.{i}", TensorProto.FLOAT, ["batch", "places", f.kv * WIDTH]))
                outputs.append(value(f"updated_{part}_cache.{i}", TensorProto.FLOAT, ["batch", "places", f.kv * WIDTH]))
                continue
            inputs.append(value(f"past_key_values.{i}.{part}", TensorProto.FLOAT, ["batch", f.kv, "past", WIDTH]))
            outputs.append(value(f"present.{i}.{part}", TensorProto.FLOAT, ["batch", f.kv, total, WIDTH]))
    constants = [numpy_helper.from_array(array, name) for name, array in g.constants.items()]
    graph = helper.make_graph(g.nodes, f.name, inputs, outputs, constants)
    opset = {"attention": 23, "static": 24}.get(f.attention, 18)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)],
                             ir_version=11 if opset > 18 else 8)


class Reference:
    """Runs ONNX Runtime on one sequence; the caches that a call returns are inputs of the next call."""

    def __init__(self, path, f):
        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self.session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.names = [i.name for i in self.session.get_inputs()]
        self.f = f

    def run(self, tokens, caches, length):
        end = length + len(tokens)
        values = {"input_ids": np.array([tokens]), "attention_mask": np.ones((1, end), np.int64),
                  "position_ids": np.arange(length, end)[None], "write_indices": np.array([length]), "nonpad_kv_seqlen": np.array([end])}
        feeds = {**{n: values[n] for n in self.names if n in values}, **caches}
        logits, *present = self.session.run(None, feeds)
        return logits[0, -1], dict(zip(caches, present))

    def greedy(self, prompt, count, given=None):
        """The tokens, and the logits before each of them. `given` are tokens that replace the most probable ones."""
        static = self.f.attention == "static"
        empty = np.zeros((1, PLACES, self.f.kv * WIDTH) if static else (1, self.f.kv, 0, WIDTH), np.float32)
        caches = {n: empty for n in self.names if n.startswith("past") or "_cache." in n}
        tokens, all_logits, length, new = [], [], 0, list(prompt)
        for _ in range(count):
            logits, caches = self.run(new, caches, length)
            length += len(new)
            new = [given[len(tokens)] if given else int(logits.argmax())]
            tokens += new
            all_logits.append(logits)
        return tokens, np.array(all_logits)


def forced(generator, prompt, tokens, **source):
    """The logits before each of the given tokens."""
    seen = []

    def choose(logits):
        seen.append(np.array(logits))
        only = np.full(len(logits), -1e9, np.float32)
        only[tokens[len(seen) - 1]] = 0
        return only

    list(generator.generate(prompt, max_new_tokens=len(tokens), ignore_stop=1, logits_processor=choose, **source))
    return np.array(seen)


def sure_tokens(logits):
    """The number of first tokens whose choice does not depend on rounding."""
    best = np.sort(logits, -1)
    unsure = np.flatnonzero(best[:, -1] - best[:, -2] < 2 * BOUND * np.abs(logits).max())
    return int(unsure[0]) if len(unsure) else len(logits)


def together(generator, prompts, alone, random, inputs=None):
    """Starts sequences at random times, each with a part of its text; some are cancelled. Returns the number that differ."""
    wrong = []

    def one(i, delay, count, leaves):
        time.sleep(delay)
        sequence = generator.generate(max_new_tokens=count, ignore_stop=1, **(inputs[i] if inputs else {"prompt": prompts[i]}))
        made = []
        for token in sequence:
            made.append(token)
            if leaves and len(made) == count // 2:
                sequence.cancel()
        if made != alone[i][:len(made)] or (not leaves and len(made) != count):
            wrong.append(i)

    threads = []
    for _ in range(4):
        for i in range(len(prompts)):
            count = int(random.integers(1, len(alone[i]) + 1))
            threads.append(threading.Thread(target=one, args=(i, random.random() * 0.2, count, random.random() < 0.25)))
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return len(wrong), len(threads)


def generator_of(folder, count, slots=1):
    return poprt.Generator(folder, max_length=count + 48, prefill=16, slots=slots)


def check_logits(f, folder, prompts, expected, seed):
    """Returns the greatest difference as text, and whether it is within the bound."""
    count = len(expected[0][0])
    with generator_of(folder, count) as generator:
        ours = np.array([forced(generator, p, tokens) for p, (tokens, _) in zip(prompts, expected)])
    theirs = np.array([logits for _, logits in expected])
    if not f.level:
        worst = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
        return f"logits differ by {worst:.1e}", worst <= BOUND
    exact_family = Family(**{**f.given, "level": None})
    path = os.path.join(folder, "exact.onnx")
    onnx.save(make_model(exact_family, seed), path)
    exact = Reference(path, exact_family)
    right = np.array([exact.greedy(p, count, tokens)[1] for p, (tokens, _) in zip(prompts, expected)])
    our_error, their_error = (float(np.sqrt(np.mean((x - right) ** 2)) / np.abs(right).max()) for x in (ours, theirs))
    return f"logits have the error {our_error:.1e}, ONNX Runtime's {their_error:.1e}", our_error <= RATIO * their_error


def check(f, folder, count, seed):
    """Returns the result as (kind, text); kind is ok, skipped or FAILED."""
    path = os.path.join(folder, "model.onnx")
    onnx.save(make_model(f, seed), path)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump({"model_type": f.name.split("-")[0], "max_position_embeddings": PLACES}, file)
    random = np.random.default_rng(seed + 1)
    prompts = [[int(t) for t in random.integers(0, VOCABULARY, n)] for n in (1, 5, 40)]
    try:
        reference = Reference(path, f)
        expected = [reference.greedy(p, count) for p in prompts]
    except Exception as e:  # pylint: disable=broad-exception-caught
        return "skipped", f"ONNX Runtime: {str(e).splitlines()[0][:120]}"
    text, good = check_logits(f, folder, prompts, expected, seed)
    notes = [text if good else text + ", above the bound"]
    sure = [0 if f.level else sure_tokens(logits) for _, logits in expected]
    for slots in (1, 3, 8):
        with generator_of(folder, count, slots) as generator:
            alone = [list(generator.generate(p, max_new_tokens=count, ignore_stop=1)) for p in prompts]
            for prompt, made, (tokens, _), n in zip(prompts, alone, expected, sure):
                if len(made) != count or made[:n] != tokens[:n]:
                    good = False
                    notes.append(f"other tokens than ONNX Runtime after a prompt of {len(prompt)}, with {slots} slots")
            differ, all_of = together(generator, prompts, alone, random) if slots > 1 else (0, 0)
        if differ:
            good = False
            notes.append(f"{differ} of {all_of} sequences differ with {slots} slots")
    distinct = len({t for tokens, _ in expected for t in tokens})
    notes.append(f"{sum(sure)} of {count * len(prompts)} tokens compared, {distinct} distinct")
    return ("ok" if good else "FAILED"), "; ".join(notes)


def check_encoder(name, folder, count, seed):
    """As check(), for a model with an encoder."""
    count = min(count, encoder_decoder.MOST_TOKENS)
    encoder_decoder.save(name, folder, seed)
    reference = encoder_decoder.Reference(folder, name)
    sources = encoder_decoder.sources(name, seed + 1)
    expected = [reference.greedy(source, [3], count) for source in sources]
    whisper = name.startswith("whisper")
    inputs = [{"features": s} if whisper else {"prompt": s} for s in sources]

    def generator(slots):
        return poprt.Generator(folder, max_length=count + 8, slots=slots, encoder_length=0 if whisper else 96)

    with generator(1) as one:
        ours = np.array([forced(one, **{"prompt": (), **i}, tokens=tokens) for i, (tokens, _) in zip(inputs, expected)])
    theirs = np.array([logits for _, logits in expected])
    worst = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    good, notes = worst <= BOUND, [f"logits differ by {worst:.1e}"]
    random = np.random.default_rng(seed + 2)
    sure = [sure_tokens(logits) for _, logits in expected]
    for slots in (1, 3):
        with generator(slots) as several:
            alone = [list(several.generate(max_new_tokens=count, ignore_stop=1, **i)) for i in inputs]
            for made, (tokens, _), n in zip(alone, expected, sure):
                if len(made) != count or made[:n] != tokens[:n]:
                    good = False
                    notes.append(f"other tokens than ONNX Runtime with {slots} slots")
            differ, all_of = together(several, inputs, alone, random, inputs) if slots > 1 else (0, 0)
        if differ:
            good = False
            notes.append(f"{differ} of {all_of} sequences differ with {slots} slots")
    distinct = len({t for tokens, _ in expected for t in tokens})
    notes.append(f"{sum(sure)} of {count * len(inputs)} tokens compared, {distinct} distinct")
    return ("ok" if good else "FAILED"), "; ".join(notes)


def saved_differ(folder, make, prompts, alone, random):
    """Saves texts at random tokens and continues them in another generator. Returns the number that differ."""
    differ = 0
    path = os.path.join(folder, "saved.bin")
    with make() as first, make() as second:
        for prompt, text in zip(prompts, alone):
            sequence = first.generate(prompt, max_new_tokens=len(text), ignore_stop=1)
            made = [sequence.next(-1) for _ in range(int(random.integers(0, len(text))))]
            sequence.save(path)
            sequence.cancel()
            differ += made + list(second.restore(path)) != text
    os.remove(path)
    return differ


def check_recurrent(name, folder, count, seed):
    """As check(), for a model with recurrent states."""
    recurrent.save(name, folder, seed, PLACES)
    random = np.random.default_rng(seed + 1)
    prompts = [[int(t) for t in random.integers(0, recurrent.VOCABULARY, n)] for n in (1, 5, 40)]
    reference = recurrent.Reference(folder, name)
    expected = [reference.greedy(p, count) for p in prompts]

    def generator(slots=1):
        return poprt.Generator(folder, max_length=count + 48, slots=slots, **({} if name == "rwkv" else {"prefill": 16}))

    with generator() as one:
        ours = np.array([forced(one, p, tokens) for p, (tokens, _) in zip(prompts, expected)])
    theirs = np.array([logits for _, logits in expected])
    worst = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    good, notes = worst <= BOUND, [f"logits differ by {worst:.1e}"]
    sure = [sure_tokens(logits) for _, logits in expected]
    for slots in (1, 3, 8):
        with generator(slots) as several:
            alone = [list(several.generate(p, max_new_tokens=count, ignore_stop=1)) for p in prompts]
            for made, (tokens, _), n in zip(alone, expected, sure):
                if len(made) != count or made[:n] != tokens[:n]:
                    good = False
                    notes.append(f"other tokens than ONNX Runtime with {slots} slots")
            differ, all_of = together(several, prompts, alone, random) if slots > 1 else (0, 0)
        if differ:
            good = False
            notes.append(f"{differ} of {all_of} sequences differ with {slots} slots")
    if differ := saved_differ(folder, lambda: generator(3), prompts, alone, random):
        good = False
        notes.append(f"{differ} texts differ after saving")
    distinct = len({t for tokens, _ in expected for t in tokens})
    notes.append(f"{sum(sure)} of {count * len(prompts)} tokens compared, {distinct} distinct")
    return ("ok" if good else "FAILED"), "; ".join(notes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    a = parser.parse_args()
    families = [f for f in FAMILIES if a.only in f.name]
    encoders = [name for name in encoder_decoder.NAMES if a.only in name]
    states = [name for name in recurrent.NAMES if a.only in name]
    none = not families and not encoders and not states
    if none or not 1 <= a.tokens <= PLACES - 48:
        parser.error(f"--only: no model has '{a.only}' in its name" if none else f"--tokens: 1 to {PLACES - 48}")
    counts = {"ok": 0, "skipped": 0, "FAILED": 0}
    with tempfile.TemporaryDirectory() as scratch:
        for name, run in [(f.name, lambda *given, f=f: check(f, *given)) for f in families] + [
                (name, lambda *given, name=name: check_encoder(name, *given)) for name in encoders] + [
                (name, lambda *given, name=name: check_recurrent(name, *given)) for name in states]:
            folder = os.path.join(a.keep or scratch, name)
            os.makedirs(folder, exist_ok=True)
            begin = time.monotonic()
            try:
                kind, text = run(folder, a.tokens, a.seed)
            except poprt.Error as e:
                kind, text = "FAILED", str(e).splitlines()[0]
            counts[kind] += 1
            print(f"{name:24} {kind:8} {text} ({time.monotonic() - begin:.0f} s)", flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.items()))
    return 1 if counts["FAILED"] or not counts["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
