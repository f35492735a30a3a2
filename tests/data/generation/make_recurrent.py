"""Makes small models with recurrent states, and the tokens that they generate: python3 make_recurrent.py, with the onnx package.

The models have random weights and the forms that exporters write:

* mamba: optimum's names (cache_params.past.conv.N, cache_params.past.ssm.N); a Scan over the tokens; a mask of the new tokens;
* rwkv: RWKV-6 with a token and a packed state (token, input_state -> out, out_state); one token at a time;
* rwkv_states: RWKV-6 with a state each (in, stateN_in -> out, stateN_out), and a Scan over the tokens;
* qwen_next: onnxruntime-genai's form of a hybrid: CausalConvWithState, LinearAttention, and GroupQueryAttention with a cache;
* lfm2: short convolutions (past_conv.N) and attention whose caches grow by Concat;
* lstm: an LSTM whose states have the batch in their second axis.

NumPy computes the reference, token by token in f64. The functions of the models are also used by tests/long/generation.py, with
greater sizes."""

import json
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = {"mamba": 0, "rwkv": 0, "rwkv_states": 2, "qwen_next": 8, "lfm2": 4, "lstm": 5}  # with seeds that give varied tokens
EPSILON = 1e-5
MS = "com.microsoft"


class Sizes:
    """The sizes of a model; those of the test data if none is given."""

    def __init__(self, kind, vocabulary=53, hidden=16, layers=2, heads=2, places=64):
        self.kind, self.vocabulary, self.hidden, self.layers, self.heads, self.places = kind, vocabulary, hidden, layers, heads, places
        self.width = hidden // heads
        self.inner, self.state, self.rank, self.kernel = 2 * hidden, 4, 4, 4  # of Mamba
        self.low = 8  # the rank of RWKV's decay
        self.attends = [kind in ("qwen_next", "lfm2") and i % 2 == 1 for i in range(layers)]


def weights(s, seed):
    random = numpy.random.default_rng(seed)
    w = {}

    def normal(name, *shape, scale=None, offset=0.0):
        w[name] = (offset + random.standard_normal(shape) * (shape[0] ** -0.5 if scale is None else scale)).astype(numpy.float32)

    h = s.hidden
    normal("embed", s.vocabulary, h, scale=1.0)
    normal("head", h, s.vocabulary, scale=4.0 * h ** -0.5)
    normal("norm", h, scale=0.1, offset=1.0)
    for i in range(s.layers):
        normal(f"norm_a{i}", h, scale=0.1, offset=1.0)
        normal(f"norm_b{i}", h, scale=0.1, offset=1.0)
        if s.attends[i]:
            for part in "qkvo":
                normal(f"{part}{i}", h, h, scale=(2.5 if part in "qk" else 1.0) * h ** -0.5)
        elif s.kind == "mamba":
            normal(f"in{i}", h, 2 * s.inner)
            normal(f"conv{i}", s.inner, 1, s.kernel, scale=0.5)
            normal(f"conv_bias{i}", s.inner, scale=0.2)
            normal(f"x{i}", s.inner, s.rank + 2 * s.state)
            normal(f"dt{i}", s.rank, s.inner)
            normal(f"dt_bias{i}", s.inner, scale=0.5, offset=-1.0)
            normal(f"a{i}", s.inner, s.state, scale=0.5)
            w[f"a{i}"] = -numpy.exp(w[f"a{i}"])
            normal(f"d{i}", s.inner, scale=0.5)
            normal(f"out{i}", s.inner, h, scale=2 * s.inner ** -0.5)
        elif s.kind.startswith("rwkv"):
            for part in ("r", "k", "v", "w", "g", "channel_r", "channel_k"):
                w[f"mix_{part}{i}"] = random.random(h).astype(numpy.float32)
            for part in ("r", "k", "v", "g", "o", "channel_r"):
                normal(f"{part}{i}", h, h)
            normal(f"channel_k{i}", h, 2 * h)
            normal(f"channel_v{i}", 2 * h, h)
            normal(f"low_a{i}", h, s.low)
            normal(f"low_b{i}", s.low, h)
            normal(f"decay{i}", h, scale=1.0, offset=-2.0)
            normal(f"first{i}", s.heads, s.width, scale=0.5)
            normal(f"group{i}", h, scale=0.1, offset=1.0)
        elif s.kind == "qwen_next":
            normal(f"qkv{i}", h, 3 * h)
            normal(f"conv{i}", 3 * h, 1, s.kernel, scale=0.5)
            for part in "ab":
                normal(f"{part}{i}", h, s.heads)
            normal(f"rate{i}", s.heads, scale=0.5)
            w[f"rate{i}"] = -numpy.exp(w[f"rate{i}"])
            normal(f"dt_bias{i}", s.heads, scale=0.5)
            normal(f"z{i}", h, h)
            normal(f"out{i}", h, h)
        elif s.kind == "lfm2":
            normal(f"in{i}", h, 3 * h)
            normal(f"conv{i}", h, 1, s.kernel, scale=0.5)
            normal(f"out{i}", h, h, scale=2 * h ** -0.5)
        elif s.kind == "lstm":
            normal(f"w{i}", 1, 4 * h, h, scale=1.5 * h ** -0.5)
            normal(f"r{i}", 1, 4 * h, h, scale=1.5 * h ** -0.5)
            normal(f"lstm_bias{i}", 1, 8 * h, scale=0.2)
    return w


# The reference.

def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class NumpyModel:
    """One sequence. step() returns the logits after a token."""

    def __init__(self, s, w):
        self.s, self.w, self.state = s, {k: v.astype(numpy.float64) for k, v in w.items()}, {}

    def norm(self, x, name):
        if self.s.kind.startswith("rwkv"):
            x = x - x.mean(-1, keepdims=True)
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * self.w[name]

    def attention(self, i, x):
        s, w = self.s, self.w
        q, k, v = ((x @ w[f"{p}{i}"]).reshape(s.heads, s.width) for p in "qkv")
        keys, values = self.state.setdefault(f"kv{i}", ([], []))
        keys.append(k)
        values.append(v)
        p = softmax(numpy.einsum("hd,thd->ht", q, numpy.array(keys)) * s.width ** -0.5)
        return numpy.einsum("ht,thd->hd", p, numpy.array(values)).reshape(-1) @ w[f"o{i}"]

    def convolve(self, i, x):
        window = self.state.get(f"conv{i}", numpy.zeros((x.size, self.s.kernel)))
        window = numpy.concatenate([window[:, 1:], x[:, None]], 1)
        self.state[f"conv{i}"] = window
        return (window * self.w[f"conv{i}"][:, 0]).sum(1)

    def mamba(self, i, x):
        s, w = self.s, self.w
        hidden, gate = numpy.split(x @ w[f"in{i}"], 2)
        hidden = silu(self.convolve(i, hidden) + w[f"conv_bias{i}"])
        low, b, c = numpy.split(hidden @ w[f"x{i}"], [s.rank, s.rank + s.state])
        dt = numpy.log1p(numpy.exp(low @ w[f"dt{i}"] + w[f"dt_bias{i}"]))
        state = self.state.get(f"ssm{i}", numpy.zeros((s.inner, s.state)))
        state = numpy.exp(w[f"a{i}"] * dt[:, None]) * state + (dt * hidden)[:, None] * b
        self.state[f"ssm{i}"] = state
        return ((state @ c + w[f"d{i}"] * hidden) * silu(gate)) @ w[f"out{i}"]

    def shifted(self, name, x):
        before = self.state.get(name, numpy.zeros_like(x))
        self.state[name] = x
        return before - x

    def rwkv(self, i, x):
        s, w = self.s, self.w
        xx = self.shifted(f"shift{i}", x)
        r, k, v, low, g = (x + xx * w[f"mix_{p}{i}"] for p in "rkvwg")
        r, k, v = ((t @ w[f"{p}{i}"]).reshape(s.heads, s.width) for p, t in zip("rkv", (r, k, v)))
        decay = numpy.exp(-numpy.exp(w[f"decay{i}"] + numpy.tanh(low @ w[f"low_a{i}"]) @ w[f"low_b{i}"])).reshape(s.heads, s.width)
        kv = k[:, :, None] * v[:, None, :]
        state = self.state.get(f"wkv{i}", numpy.zeros_like(kv))
        y = numpy.einsum("hk,hkv->hv", r, w[f"first{i}"][:, :, None] * kv + state)
        self.state[f"wkv{i}"] = kv + decay[:, :, None] * state
        y = y - y.mean(-1, keepdims=True)
        y = (y / numpy.sqrt((y * y).mean(-1, keepdims=True) + EPSILON)).reshape(-1) * w[f"group{i}"]
        return (y * silu(g @ w[f"g{i}"])) @ w[f"o{i}"]

    def channels(self, i, x):
        w = self.w
        xx = self.shifted(f"channel_shift{i}", x)
        r, k = (x + xx * w[f"mix_channel_{p}{i}"] for p in "rk")
        return sigmoid(r @ w[f"channel_r{i}"]) * (numpy.maximum(k @ w[f"channel_k{i}"], 0) ** 2 @ w[f"channel_v{i}"])

    def gated_delta(self, i, x):
        s, w = self.s, self.w
        q, k, v = (t.reshape(s.heads, s.width) for t in numpy.split(silu(self.convolve(i, x @ w[f"qkv{i}"])), 3))
        q, k = (t / numpy.sqrt((t * t).sum(-1, keepdims=True)) for t in (q, k))
        beta = sigmoid(x @ w[f"b{i}"])[:, None]
        decay = numpy.exp(w[f"rate{i}"] * numpy.log1p(numpy.exp(x @ w[f"a{i}"] + w[f"dt_bias{i}"])))
        state = self.state.get(f"recurrent{i}", numpy.zeros((s.heads, s.width, s.width))) * decay[:, None, None]
        delta = (v - numpy.einsum("hk,hkv->hv", k, state)) * beta
        state = state + k[:, :, None] * delta[:, None, :]
        self.state[f"recurrent{i}"] = state
        y = numpy.einsum("hk,hkv->hv", q, state) * s.width ** -0.5
        return (y.reshape(-1) * silu(x @ w[f"z{i}"])) @ w[f"out{i}"]

    def short_conv(self, i, x):
        b, c, y = numpy.split(x @ self.w[f"in{i}"], 3)
        return (c * self.convolve(i, b * y)) @ self.w[f"out{i}"]

    def lstm(self, i, x):
        w = self.w
        h, c = self.state.get(f"lstm{i}", (numpy.zeros_like(x), numpy.zeros_like(x)))
        bias = w[f"lstm_bias{i}"][0]
        gates = w[f"w{i}"][0] @ x + w[f"r{i}"][0] @ h + bias[:4 * x.size] + bias[4 * x.size:]
        into, out, forget, cell = numpy.split(gates, 4)
        c = sigmoid(forget) * c + sigmoid(into) * numpy.tanh(cell)
        h = sigmoid(out) * numpy.tanh(c)
        self.state[f"lstm{i}"] = (h, c)
        return h

    def step(self, token):
        s = self.s
        x = self.w["embed"][token]
        blocks = {"mamba": self.mamba, "rwkv": self.rwkv, "rwkv_states": self.rwkv, "qwen_next": self.gated_delta,
                  "lfm2": self.short_conv, "lstm": self.lstm}
        for i in range(s.layers):
            block = self.attention if s.attends[i] else blocks[s.kind]
            x = x + block(i, self.norm(x, f"norm_a{i}"))
            if s.kind.startswith("rwkv"):
                x = x + self.channels(i, self.norm(x, f"norm_b{i}"))
        return self.norm(x, "norm") @ self.w["head"]


def reference(s, w, prompt, count):
    """Greedy tokens with their log-probabilities, until two tokens are nearly as probable."""
    model = NumpyModel(s, w)
    tokens, logs = [], []
    for token in prompt:
        logits = model.step(token)
    while len(tokens) < count:
        best = numpy.sort(logits)[-2:]
        if best[1] - best[0] < 1e-3:
            break
        tokens.append(int(logits.argmax()))
        logs.append(float(numpy.log(softmax(logits))[tokens[-1]]))
        logits = model.step(tokens[-1])
    return {"prompt": list(prompt), "tokens": tokens, "log_probabilities": logs}


# The models.

class Graph:
    """A graph in the making. With `one`, values have no axis of the sequence."""

    def __init__(self, s, w):
        self.s, self.nodes, self.constants = s, [], dict(w)
        self.inputs, self.outputs = [], []
        self.one = s.kind == "rwkv"
        self.packed = []  # next states of `rwkv`

    def constant(self, value, dtype=numpy.int64):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy.array(value, dtype)
        return name

    def f32(self, value):
        return self.constant(value, numpy.float32)

    def add(self, op, *inputs, outputs=None, domain="", **attributes):
        outputs = outputs or [f"t{len(self.nodes)}"]
        self.nodes.append(helper.make_node(op, list(inputs), outputs, domain=domain, **attributes))
        return outputs[0]

    def state(self, past, present, *shape):
        self.inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, list(shape)))
        self.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, list(shape)))
        return past

    def slice(self, x, begin, end, axis):
        return self.add("Slice", x, self.constant([begin]), self.constant([end]), self.constant([axis]))

    def split(self, x, sizes):
        names = [f"s{len(self.nodes)}_{i}" for i in range(len(sizes))]
        self.add("Split", x, self.constant(sizes), outputs=names, axis=-1)
        return names

    def silu(self, x):
        return self.add("Mul", x, self.add("Sigmoid", x))

    def norm(self, x, name):
        if self.s.kind.startswith("rwkv"):
            return self.add("LayerNormalization", x, name, epsilon=EPSILON)
        mean = self.add("ReduceMean", self.add("Mul", x, x), self.constant([-1]), keepdims=1)
        return self.add("Mul", self.add("Div", x, self.add("Sqrt", self.add("Add", mean, self.f32(EPSILON)))), name)

    def transposed(self, x):
        return self.add("Transpose", x, perm=[0, 2, 1])

    def by_heads(self, x):
        return self.add("Reshape", x, self.constant([0] * (1 if self.one else 2) + [self.s.heads, self.s.width]))


def scan(g, body, states, sequences, count):
    """Runs a body over the second axis. The body gets states and elements, and returns states and `count` results."""
    names = [f"scan{len(g.nodes)}_{i}" for i in range(len(states) + count)]
    values = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in body["inputs"]]
    results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in body["outputs"]]
    graph = helper.make_graph(body["nodes"], "body", values, results)
    g.add("Scan", *states, *sequences, outputs=names, body=graph, num_scan_inputs=len(sequences), scan_input_axes=[1] * len(sequences),
          scan_output_axes=[1] * count)
    return names


def node(op, inputs, output, **attributes):
    return helper.make_node(op, inputs, [output], **attributes)


def mamba(g, i, x):
    s = g.s
    conv = g.state(f"cache_params.past.conv.{i}", f"cache_params.present.conv.{i}", "batch_size", s.inner, s.kernel)
    ssm = g.state(f"cache_params.past.ssm.{i}", f"cache_params.present.ssm.{i}", "batch_size", s.inner, s.state)
    mask = g.add("Unsqueeze", g.add("Cast", "attention_mask", to=TensorProto.FLOAT), g.constant([-1]))
    hidden, gate = g.split(g.add("MatMul", x, f"in{i}"), [s.inner, s.inner])
    hidden = g.transposed(g.add("Mul", hidden, mask))
    both = g.add("Concat", conv, hidden, axis=2)
    g.add("Slice", both, g.constant([-s.kernel]), g.constant([2 ** 62]), g.constant([2]), outputs=[f"cache_params.present.conv.{i}"])
    y = g.add("Conv", g.slice(both, 1, 2 ** 62, 2), f"conv{i}", f"conv_bias{i}", group=s.inner, kernel_shape=[s.kernel])
    hidden = g.add("Mul", g.transposed(g.silu(y)), mask)
    low, b, c = g.split(g.add("MatMul", hidden, f"x{i}"), [s.rank, s.state, s.state])
    dt = g.add("Softplus", g.add("Add", g.add("MatMul", low, f"dt{i}"), f"dt_bias{i}"))
    last, first = g.constant([-1]), g.constant([1])
    body = {"inputs": ["state", "dt", "x", "b", "c"], "outputs": ["next", "y"], "nodes": [
        node("Unsqueeze", ["dt", last], "wide"), node("Mul", ["wide", f"a{i}"], "rate"), node("Exp", ["rate"], "decay"),
        node("Mul", ["decay", "state"], "kept"), node("Mul", ["dt", "x"], "given"), node("Unsqueeze", ["given", last], "column"),
        node("Unsqueeze", ["b", first], "row"), node("Mul", ["column", "row"], "added"), node("Add", ["kept", "added"], "next"),
        node("Unsqueeze", ["c", last], "reader"), node("MatMul", ["next", "reader"], "read"), node("Squeeze", ["read", last], "y")]}
    state, y = scan(g, body, [ssm], [dt, hidden, b, c], 1)
    g.add("Identity", state, outputs=[f"cache_params.present.ssm.{i}"])
    y = g.add("Add", y, g.add("Mul", hidden, f"d{i}"))
    return g.add("MatMul", g.add("Mul", y, g.silu(gate)), f"out{i}")


def rwkv_state(g, i, part):
    """A state: a part of the packed one, or an input. Returns the value and the name of the next state."""
    s = g.s
    number = 3 * i + ("shift", "wkv", "channel_shift").index(part)
    shape = [s.heads, s.width, s.width] if part == "wkv" else [s.hidden]
    if not g.one:
        return g.state(f"state{number}_in", f"state{number}_out", "batch", *shape), f"state{number}_out"
    rows = s.width + 2
    first = i * rows + {"shift": 0, "wkv": 1, "channel_shift": 1 + s.width}[part]
    value = g.slice("input_state", first, first + (s.width if part == "wkv" else 1), 1)
    name = f"next{number}"
    g.packed.append((name, [0, -1, s.hidden]))
    return g.add("Reshape", value, g.constant([0] + shape)), name


def shifted(g, i, part, x):
    before, after = rwkv_state(g, i, part)
    if g.one:
        g.add("Identity", x, outputs=[after])
    else:
        axis = g.constant([1])
        both = g.add("Concat", g.add("Unsqueeze", before, axis), x, axis=1)
        g.add("Squeeze", g.slice(x, -1, 2 ** 62, 1), axis, outputs=[after])
        before = g.slice(both, 0, -1, 1)
    return g.add("Sub", before, x)


def mixed(g, i, x, xx, name):
    return g.add("Add", x, g.add("Mul", xx, f"mix_{name}{i}"))


def rwkv(g, i, x):
    s = g.s
    xx = shifted(g, i, "shift", x)
    r, k, v = (g.by_heads(g.add("MatMul", mixed(g, i, x, xx, p), f"{p}{i}")) for p in "rkv")
    low = g.add("MatMul", g.add("Tanh", g.add("MatMul", mixed(g, i, x, xx, "w"), f"low_a{i}")), f"low_b{i}")
    decay = g.by_heads(g.add("Exp", g.add("Neg", g.add("Exp", g.add("Add", low, f"decay{i}")))))
    before, after = rwkv_state(g, i, "wkv")
    last, row, first = g.constant([-1]), g.constant([-2]), g.add("Unsqueeze", f"first{i}", g.constant([-1]))
    nodes = [node("Unsqueeze", ["k", last], "kc"), node("Unsqueeze", ["v", row], "vr"), node("Mul", ["kc", "vr"], "kv"),
             node("Mul", ["kv", first], "now"), node("Add", ["now", "state"], "seen"), node("Unsqueeze", ["r", row], "rr"),
             node("MatMul", ["rr", "seen"], "read"), node("Squeeze", ["read", row], "y"), node("Unsqueeze", ["w", last], "wc"),
             node("Mul", ["state", "wc"], "kept"), node("Add", ["kept", "kv"], "next")]
    if g.one:
        names = {"k": k, "v": v, "r": r, "w": decay, "state": before}

        def name_of(n):
            return names.get(n, n if n in g.constants or n == first else f"{n}_{i}")

        for n in nodes:
            g.add(n.op_type, *(name_of(x) for x in n.input), outputs=[name_of(n.output[0])])
        y = f"y_{i}"
        g.add("Identity", f"next_{i}", outputs=[after])
    else:
        body = {"inputs": ["state", "r", "k", "v", "w"], "outputs": ["next", "y"], "nodes": nodes}
        state, y = scan(g, body, [before], [r, k, v, decay], 1)
        g.add("Identity", state, outputs=[after])
    y = g.add("LayerNormalization", y, g.constant(numpy.ones(s.width), numpy.float32), epsilon=EPSILON)
    y = g.add("Mul", g.add("Reshape", y, g.constant([0] * (1 if g.one else 2) + [s.hidden])), f"group{i}")
    gate = g.silu(g.add("MatMul", mixed(g, i, x, xx, "g"), f"g{i}"))
    return g.add("MatMul", g.add("Mul", y, gate), f"o{i}")


def channels(g, i, x):
    xx = shifted(g, i, "channel_shift", x)
    r = g.add("Sigmoid", g.add("MatMul", mixed(g, i, x, xx, "channel_r"), f"channel_r{i}"))
    k = g.add("Relu", g.add("MatMul", mixed(g, i, x, xx, "channel_k"), f"channel_k{i}"))
    return g.add("Mul", r, g.add("MatMul", g.add("Mul", k, k), f"channel_v{i}"))


def gated_delta(g, i, x):
    s = g.s
    conv = g.state(f"past.{i}.conv", f"present.{i}.conv", "batch_size", 3 * s.hidden, s.kernel - 1)
    state = g.state(f"past.{i}.recurrent", f"present.{i}.recurrent", "batch_size", s.heads, s.width, s.width)
    qkv = g.transposed(g.add("MatMul", x, f"qkv{i}"))
    y = g.add("CausalConvWithState", qkv, f"conv{i}", "", conv, outputs=[f"conv_out{i}", f"present.{i}.conv"], domain=MS,
              activation="silu")
    q, k, v = g.split(g.transposed(y), [s.hidden] * 3)
    flat = g.constant([0, 0, s.hidden])
    q, k = (g.add("Reshape", g.add("LpNormalization", g.by_heads(t), axis=-1, p=2), flat) for t in (q, k))
    beta = g.add("Sigmoid", g.add("MatMul", x, f"b{i}"))
    decay = g.add("Mul", g.add("Softplus", g.add("Add", g.add("MatMul", x, f"a{i}"), f"dt_bias{i}")), f"rate{i}")
    y = g.add("LinearAttention", q, k, v, state, decay, beta, outputs=[f"linear{i}", f"present.{i}.recurrent"], domain=MS,
              q_num_heads=s.heads, kv_num_heads=s.heads, update_rule="gated_delta", scale=s.width ** -0.5)
    return g.add("MatMul", g.add("Mul", y, g.silu(g.add("MatMul", x, f"z{i}"))), f"out{i}")


def short_conv(g, i, x):
    s = g.s
    past = g.state(f"past_conv.{i}", f"present_conv.{i}", "batch_size", s.hidden, s.kernel)
    b, c, y = g.split(g.add("MatMul", x, f"in{i}"), [s.hidden] * 3)
    both = g.add("Concat", past, g.transposed(g.add("Mul", b, y)), axis=2)
    g.add("Slice", both, g.constant([-s.kernel]), g.constant([2 ** 62]), g.constant([2]), outputs=[f"present_conv.{i}"])
    y = g.add("Conv", g.slice(both, 1, 2 ** 62, 2), f"conv{i}", group=s.hidden, kernel_shape=[s.kernel])
    return g.add("MatMul", g.add("Mul", c, g.transposed(y)), f"out{i}")


def lstm(g, i, x):
    s = g.s
    h = g.state(f"h{i}_in", f"h{i}_out", 1, "batch", s.hidden)
    c = g.state(f"c{i}_in", f"c{i}_out", 1, "batch", s.hidden)
    names = [f"lstm{i}", f"h{i}_out", f"c{i}_out"]
    y = g.add("LSTM", g.add("Transpose", x, perm=[1, 0, 2]), f"w{i}", f"r{i}", f"lstm_bias{i}", "", h, c, outputs=names,
              hidden_size=s.hidden)
    return g.add("Transpose", g.add("Squeeze", y, g.constant([1])), perm=[1, 0, 2])


def attention(g, i, x):
    s = g.s
    q, k, v = (g.add("MatMul", x, f"{p}{i}") for p in "qkv")
    grows = s.kind == "lfm2"
    names = [[f"{when}.{i}.{part}" for part in ("key", "value")] for when in ("past_key_values", "present")]
    for past, present in zip(*names):
        g.inputs.append(helper.make_tensor_value_info(past, TensorProto.FLOAT, ["batch_size", s.heads, "past", s.width]))
        g.outputs.append(helper.make_tensor_value_info(present, TensorProto.FLOAT, ["batch_size", s.heads, "total", s.width]))
    if not grows:
        y = g.add("GroupQueryAttention", q, k, v, *names[0], "seqlens_k", "total_length", outputs=[f"attention{i}", *names[1]],
                  domain=MS, num_heads=s.heads, kv_num_heads=s.heads)
        return g.add("MatMul", y, f"o{i}")
    q, k, v = (g.add("Transpose", g.by_heads(t), perm=[0, 2, 1, 3]) for t in (q, k, v))
    k, v = (g.add("Concat", past, t, axis=2, outputs=[present]) for past, t, present in zip(names[0], (k, v), names[1]))
    scores = g.add("Mul", g.add("MatMul", q, g.add("Transpose", k, perm=[0, 1, 3, 2])), g.f32(s.width ** -0.5))
    scores = g.add("Where", "seen", scores, g.f32(numpy.finfo(numpy.float32).min))
    y = g.add("Transpose", g.add("MatMul", g.add("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return g.add("MatMul", g.add("Reshape", y, g.constant([0, 0, s.hidden])), f"o{i}")


def prepare(g):
    """The inputs other than the states, and the values that all layers use."""
    kind = g.s.kind

    def ints(name, *shape):
        g.inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, list(shape)))

    batch = "batch" if kind in ("rwkv", "rwkv_states", "lstm") else "batch_size"
    if kind == "rwkv":
        ints("token", "batch")
        rows = g.s.layers * (2 + g.s.width)
        g.state("input_state", "out_state", "batch", rows, g.s.hidden)
    else:
        ints("in" if kind == "rwkv_states" else "input_ids", batch, "sequence_length")
    if kind == "mamba":
        ints("attention_mask", batch, "sequence_length")
    if g.s.kind == "qwen_next":
        ints("attention_mask", batch, "total_sequence_length")
        length = g.add("ReduceSum", "attention_mask", g.constant([1]), keepdims=0)
        g.add("Cast", g.add("Sub", length, g.constant(1)), outputs=["seqlens_k"], to=TensorProto.INT32)
        total = g.add("Gather", g.add("Shape", "attention_mask"), g.constant(1), axis=0)
        g.add("Cast", total, outputs=["total_length"], to=TensorProto.INT32)
    if kind == "lfm2":
        ints("attention_mask", batch, "total_sequence_length")
        ints("position_ids", batch, "sequence_length")
        keys = g.add("Sub", g.add("CumSum", "attention_mask", g.constant(1)), g.constant(1))
        keys, queries = (g.add("Unsqueeze", t, g.constant([1, n])) for t, n in ((keys, 2), ("position_ids", 3)))
        given = g.add("Unsqueeze", g.add("Cast", "attention_mask", to=TensorProto.BOOL), g.constant([1, 2]))
        g.add("And", g.add("LessOrEqual", keys, queries), given, outputs=["seen"])


def model(s, w):
    g = Graph(s, w)
    prepare(g)
    ids = {"rwkv": "token", "rwkv_states": "in"}.get(s.kind, "input_ids")
    logits = "out" if s.kind.startswith("rwkv") else "logits"
    x = g.add("Gather", "embed", ids)
    blocks = {"mamba": mamba, "rwkv": rwkv, "rwkv_states": rwkv, "qwen_next": gated_delta, "lfm2": short_conv, "lstm": lstm}
    for i in range(s.layers):
        block = attention if s.attends[i] else blocks[s.kind]
        x = g.add("Add", x, block(g, i, g.norm(x, f"norm_a{i}")))
        if s.kind.startswith("rwkv"):
            x = g.add("Add", x, channels(g, i, g.norm(x, f"norm_b{i}")))
    g.add("MatMul", g.norm(x, "norm"), "head", outputs=[logits])
    if g.packed:
        parts = [g.add("Reshape", name, g.constant(shape)) for name, shape in g.packed]
        g.add("Concat", *parts, axis=1, outputs=["out_state"])
    sequence = [] if s.kind == "rwkv" else ["sequence_length"]
    result = helper.make_tensor_value_info(logits, TensorProto.FLOAT, ["batch_size", *sequence, s.vocabulary])
    used = {n for node_of in g.nodes for n in node_of.input}
    for node_of in g.nodes:
        for attribute in node_of.attribute:
            used |= {n for inner in attribute.g.node for n in inner.input}
    constants = [numpy_helper.from_array(v, k) for k, v in g.constants.items() if k in used]
    graph = helper.make_graph(g.nodes, s.kind, g.inputs, [result, *g.outputs], constants)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(MS, 1)]
    return helper.make_model(graph, opset_imports=opsets[:2 if s.kind == "qwen_next" else 1], ir_version=8)


def configuration(s):
    """The name and the contents of the configuration in the folder of a model."""
    if s.kind != "qwen_next":
        return "config.json", {"model_type": s.kind, "max_position_embeddings": s.places, "eos_token_id": 7}
    names = {"key": "past_key_values.%d.key", "value": "past_key_values.%d.value", "conv": "past.%d.conv", "recurrent": "past.%d.recurrent"}
    return "genai_config.json", {"model": {
        "type": "qwen3_next", "context_length": s.places, "vocab_size": s.vocabulary, "eos_token_id": 7,
        "decoder": {"filename": "model.onnx",
                    "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask",
                               **{f"past_{k}_names": v for k, v in names.items()}},
                    "outputs": {"logits": "logits", **{f"present_{k}_names": v.replace("past_key_values", "present").replace("past", "present")
                                                       for k, v in names.items()}}}}}


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def save(s, w, folder):
    os.makedirs(folder, exist_ok=True)
    onnx.save(model(s, w), os.path.join(folder, "model.onnx"))
    name, contents = configuration(s)
    write_json(os.path.join(folder, name), contents)


def main():
    expected = {}
    for kind, seed in KINDS.items():
        s = Sizes(kind)
        w = weights(s, seed)
        save(s, w, os.path.join(HERE, kind))
        random = numpy.random.default_rng(10 + seed)
        expected[kind] = [reference(s, w, [int(t) for t in random.integers(0, s.vocabulary, n)], 24) for n in (1, 3, 8, 11, 20)]
    write_json(os.path.join(HERE, "expected_recurrent.json"), expected)


if __name__ == "__main__":
    main()
