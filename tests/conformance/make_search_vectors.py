"""Writes the vectors search_*.onnx in tests/data/contrib: BeamSearch, GreedySearch and Sampling over tiny decoders with
random weights, and the results of ONNX Runtime. Needs numpy, onnx, onnxruntime; the tests need none of them.

    python tests/conformance/make_search_vectors.py [FILTER]

The form of a vector is that of make_contrib_vectors.py. If all rows end before max_length, ONNX Runtime leaves the places after
the last token unset; here they are padding.
"""

import os
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
OUT = os.path.join(HERE, "..", "data", "contrib")
MS = "com.microsoft"
VOCAB, HIDDEN, HEADS, SIZE, PAD = 19, 8, 2, 4, 0
rng = np.random.default_rng(11)


class Body:
    """Builds a subgraph. Values are names, and constants become initializers of the subgraph (or of the main graph)."""

    def __init__(self, name, outer=None, dtype=np.float32):
        self.name, self.dtype = name, dtype
        self.nodes, self.inits, self.inputs, self.outputs = [], [], [], []
        self.outer = self.inits if outer is None else outer
        self.count = 0

    def fresh(self, stem):
        self.count += 1
        return f"{self.name[0]}{stem}{self.count}"

    def const(self, value):
        name = self.fresh("c")
        self.inits.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def weight(self, value):
        name = self.fresh("w")
        self.outer.append(numpy_helper.from_array(np.asarray(value, self.dtype), name))
        return name

    def op(self, op, *inputs, outputs=1, domain="", **attributes):
        names = [v if isinstance(v, str) else self.const(v) for v in inputs]
        outs = [self.fresh("v") for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, names, outs, domain=domain, **attributes))
        return outs[0] if outputs == 1 else outs

    def add_output(self, value, name, shape, dtype=None):
        self.nodes.append(helper.make_node("Identity", [value], [name]))
        self.outputs.append(helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype or self.dtype)), shape))

    def take(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape))
        return name

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.inits)


def ints(*v):
    return np.array(v, np.int64)


def norm(g, x, w):
    return g.op("LayerNormalization", x, g.weight(w[0]), g.weight(w[1]), axis=-1)


def split_heads(g, x):
    return g.op("Transpose", g.op("Reshape", x, ints(0, 0, HEADS, SIZE)), perm=[0, 2, 1, 3])


def merge_heads(g, x):
    return g.op("Reshape", g.op("Transpose", x, perm=[0, 2, 1, 3]), ints(0, 0, HIDDEN))


def attend(g, q, k, v, visible):
    """visible: bool, broadcast to [B, heads, queries, keys]."""
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 1, 3, 2]))
    scores = g.op("Mul", scores, np.array(SIZE ** -0.5, g.dtype))
    scores = g.op("Where", visible, scores, np.array(-1e4, g.dtype))
    return merge_heads(g, g.op("MatMul", g.op("Softmax", scores, axis=-1), v))


def mlp(g, x, w):
    hidden = g.op("Add", g.op("MatMul", x, g.weight(w[0])), g.weight(w[1]))
    return g.op("MatMul", g.op("Tanh", hidden), g.weight(w[2]))


def axis_size(g, x, axis):
    return g.op("Gather", g.op("Shape", x), np.int64(axis))


def causal(g, keys, queries):
    """bool [queries, keys]: the last `queries` of `keys` places see the places before them."""
    k = g.op("Range", np.int64(0), keys, np.int64(1))
    q = g.op("Range", g.op("Sub", keys, queries), keys, np.int64(1))
    return g.op("LessOrEqual", g.op("Unsqueeze", k, ints(0)), g.op("Unsqueeze", q, ints(1)))


def seen(g, mask):
    return g.op("Unsqueeze", g.op("Cast", mask, to=TensorProto.BOOL), ints(1, 2))


def random(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def norm_weights():
    return random(HIDDEN, scale=0.1) + 1, random(HIDDEN, scale=0.1)


def mlp_weights():
    return random(HIDDEN, 16, scale=0.5), random(16, scale=0.2), random(16, HIDDEN, scale=0.5)


class Gpt:
    def __init__(self, layers=2, places=32, head=0.9):
        self.words, self.places = random(VOCAB, HIDDEN), random(places, HIDDEN, scale=0.6)
        self.layers = [dict(n1=norm_weights(), n2=norm_weights(), qkv=random(HIDDEN, 3 * HIDDEN, scale=0.5),
                            bias=random(3 * HIDDEN, scale=0.3), out=random(HIDDEN, HIDDEN, scale=0.5), mlp=mlp_weights())
                       for _ in range(layers)]
        self.final, self.head = norm_weights(), random(HIDDEN, VOCAB, scale=head)

    def rounded(self):
        """Returns the model with its weights rounded to f16."""
        def visit(v):
            if isinstance(v, np.ndarray):
                return v.astype(np.float16).astype(np.float32)
            if isinstance(v, dict):
                return {k: visit(x) for k, x in v.items()}
            return type(v)(visit(x) for x in v)
        copy = Gpt.__new__(Gpt)
        copy.__dict__ = {k: visit(v) for k, v in self.__dict__.items()}
        return copy

    def graph(self, name="decoder", outer=None, fused=False, dtype=np.float32, cast=False):
        """fused: with com.microsoft.Attention. cast: weights are f16, computed in f32."""
        g = Body(name, outer, dtype)
        if cast:
            plain = Body.weight
            g.weight = lambda v: g.op("Cast", plain(g, v), to=TensorProto.FLOAT)
            g.dtype = np.float16
        ids, positions = g.take("input_ids", np.int32, ["b", "s"]), g.take("position_ids", np.int32, ["b", "s"])
        mask = g.take("attention_mask", np.int32, ["b", "t"])
        float_type = np.float32 if cast else dtype
        x = g.op("Add", g.op("Gather", g.weight(self.words), ids), g.op("Gather", g.weight(self.places), positions))
        if cast:
            g.dtype = np.float32
        if not fused:
            visible = g.op("And", causal(g, axis_size(g, mask, 1), axis_size(g, ids, 1)), seen(g, mask))
        presents = []
        for i, w in enumerate(self.layers):
            past = g.take(f"past_{i}", float_type, [2, "b", HEADS, "p", SIZE])
            if cast:
                g.dtype = np.float16
            h = norm(g, x, w["n1"])
            if fused:
                y, present = g.op("Attention", h, g.weight(w["qkv"]), g.weight(w["bias"]), mask, past, outputs=2,
                                  domain=MS, num_heads=HEADS, unidirectional=1)
                presents.append(present)
            else:
                qkv = g.op("Add", g.op("MatMul", h, g.weight(w["qkv"])), g.weight(w["bias"]))
                q, k, v = (split_heads(g, p) for p in g.op("Split", qkv, ints(*[HIDDEN] * 3), outputs=3, axis=-1))
                old_k, old_v = g.op("Split", past, ints(1, 1), outputs=2, axis=0)
                k = g.op("Concat", g.op("Squeeze", old_k, ints(0)), k, axis=2)
                v = g.op("Concat", g.op("Squeeze", old_v, ints(0)), v, axis=2)
                presents.append(g.op("Concat", g.op("Unsqueeze", k, ints(0)), g.op("Unsqueeze", v, ints(0)), axis=0))
                if cast:
                    g.dtype = np.float32
                y = attend(g, q, k, v, visible)
            if cast:
                g.dtype = np.float16
            x = g.op("Add", x, g.op("MatMul", y, g.weight(w["out"])))
            x = g.op("Add", x, mlp(g, norm(g, x, w["n2"]), w["mlp"]))
            if cast:
                g.dtype = np.float32
        if cast:
            g.dtype = np.float16
        logits = g.op("MatMul", norm(g, x, self.final), g.weight(self.head))
        g.dtype = float_type
        g.add_output(logits, "logits", ["b", "s", VOCAB])
        for i, p in enumerate(presents):
            g.add_output(p, f"present_{i}", [2, "b", HEADS, "t", SIZE])
        return g.graph()


class T5:
    """Encoder and decoder; the decoder's first step is part of the encoder graph, unless `cross_only`."""

    def __init__(self, layers=2):
        def attention():
            return [random(HIDDEN, HIDDEN, scale=0.6) for _ in range(4)]
        self.words, self.places = random(VOCAB, HIDDEN, scale=0.6), random(40, HIDDEN, scale=0.5)
        self.final, self.head = norm_weights(), random(HIDDEN, VOCAB, scale=0.8)
        self.enc = dict(n=norm_weights(), a=attention(), m=mlp_weights())
        self.dec = [dict(n1=norm_weights(), n2=norm_weights(), n3=norm_weights(), a=attention(), c=attention(),
                         m=mlp_weights()) for _ in range(layers)]

    def encode(self, g, ids, mask):
        x = g.op("Gather", g.weight(self.words), ids)
        places = g.op("Range", np.int64(0), axis_size(g, ids, 1), np.int64(1))
        x = g.op("Add", x, g.op("Gather", g.weight(self.places), places))
        h, a = norm(g, x, self.enc["n"]), self.enc["a"]
        q, k, v = (split_heads(g, g.op("MatMul", h, g.weight(w))) for w in a[:3])
        x = g.op("Add", x, g.op("MatMul", attend(g, q, k, v, seen(g, mask)), g.weight(a[3])))
        return g.op("Add", x, mlp(g, x, self.enc["m"]))

    def cross(self, g, hidden):
        return [split_heads(g, g.op("MatMul", hidden, g.weight(w))) for d in self.dec for w in d["c"][1:3]]

    def decode(self, g, ids, mask, past, cross):
        """past: key, value of each layer, or None. Returns logits and keys and values of self attention."""
        x = g.op("Gather", g.weight(self.words), ids)
        length = axis_size(g, ids, 1)
        total = length if past is None else g.op("Add", length, axis_size(g, past[0], 2))
        places = g.op("Range", g.op("Sub", total, length), total, np.int64(1))
        x = g.op("Add", x, g.op("Gather", g.weight(self.places), places))
        visible, own = causal(g, total, length), []
        for i, d in enumerate(self.dec):
            h = norm(g, x, d["n1"])
            q, k, v = (split_heads(g, g.op("MatMul", h, g.weight(w))) for w in d["a"][:3])
            if past is not None:
                k, v = g.op("Concat", past[2 * i], k, axis=2), g.op("Concat", past[2 * i + 1], v, axis=2)
            own += [k, v]
            x = g.op("Add", x, g.op("MatMul", attend(g, q, k, v, visible), g.weight(d["a"][3])))
            q = split_heads(g, g.op("MatMul", norm(g, x, d["n2"]), g.weight(d["c"][0])))
            y = attend(g, q, cross[2 * i], cross[2 * i + 1], seen(g, mask))
            x = g.op("Add", x, g.op("MatMul", y, g.weight(d["c"][3])))
            x = g.op("Add", x, mlp(g, norm(g, x, d["n3"]), d["m"]))
        return g.op("MatMul", norm(g, x, self.final), g.weight(self.head)), own

    def names(self, kind):
        return [f"{p}_{kind}_{i}" for i in range(len(self.dec)) for p in ("key", "value")]

    def encoder(self, cross_only=False):
        g = Body("encoder")
        ids, mask = (g.take(f"encoder_{n}", np.int32, ["b", "e"]) for n in ("input_ids", "attention_mask"))
        if not cross_only:
            start = g.take("decoder_input_ids", np.int32, ["b", 1])
        hidden = self.encode(g, ids, mask)
        cross = self.cross(g, hidden)
        if not cross_only:
            logits, own = self.decode(g, start, mask, None, cross)
            g.add_output(logits, "logits", ["b", 1, VOCAB])
            g.add_output(hidden, "encoder_hidden_states", ["b", "e", HIDDEN])
            for v, n in zip(own, self.names("self")):
                g.add_output(v, "present_" + n, ["b", HEADS, 1, SIZE])
        for v, n in zip(cross, self.names("cross")):
            g.add_output(v, "present_" + n, ["b", HEADS, "e", SIZE])
        return g.graph()

    def decoder(self, hidden=True):
        g = Body("decoder")
        ids = g.take("input_ids", np.int32, ["b", 1])
        mask = g.take("encoder_attention_mask", np.int32, ["b", "e"])
        if hidden:
            g.take("encoder_hidden_states", np.float32, ["b", "e", HIDDEN])
        past = [g.take("past_" + n, np.float32, ["b", HEADS, "p", SIZE]) for n in self.names("self")]
        cross = [g.take("past_" + n, np.float32, ["b", HEADS, "e", SIZE]) for n in self.names("cross")]
        logits, own = self.decode(g, ids, mask, past, cross)
        g.add_output(logits, "logits", ["b", 1, VOCAB])
        for v, n in zip(own, self.names("self")):
            g.add_output(v, "present_" + n, ["b", HEADS, "t", SIZE])
        return g.graph()


FEATURES = 6


class Whisper(T5):
    """Encoder of sound, and decoder without a mask."""

    def __init__(self, layers=2):
        super().__init__(layers)
        self.sound = random(FEATURES, HIDDEN, scale=0.6)

    def encode(self, g, sound, mask):
        x = g.op("MatMul", g.op("Transpose", sound, perm=[0, 2, 1]), g.weight(self.sound))
        h, a = norm(g, x, self.enc["n"]), self.enc["a"]
        q, k, v = (split_heads(g, g.op("MatMul", h, g.weight(w))) for w in a[:3])
        x = g.op("Add", x, g.op("MatMul", attend(g, q, k, v, seen(g, mask)), g.weight(a[3])))
        return g.op("Add", x, mlp(g, x, self.enc["m"]))

    def ones(self, g):
        return np.ones((1, 1), np.int32)

    def encoder(self):
        g = Body("encoder")
        sound = g.take("encoder_input_ids", np.float32, ["b", FEATURES, "e"])
        start = g.take("decoder_input_ids", np.int32, ["b", "d"])
        hidden = self.encode(g, sound, self.ones(g))
        cross = self.cross(g, hidden)
        logits, own = self.decode(g, start, self.ones(g), None, cross)
        g.add_output(logits, "logits", ["b", "d", VOCAB])
        g.add_output(hidden, "encoder_hidden_states", ["b", "e", HIDDEN])
        for v, n in zip(own, self.names("self")):
            g.add_output(v, "present_" + n, ["b", HEADS, "d", SIZE])
        for v, n in zip(cross, self.names("cross")):
            g.add_output(v, "present_" + n, ["b", HEADS, "e", SIZE])
        return g.graph()

    def decoder(self, hidden=True):
        g = Body("decoder")
        ids = g.take("input_ids", np.int32, ["b", 1])
        if hidden:
            g.take("encoder_hidden_states", np.float32, ["b", "e", HIDDEN])
        past = [g.take("past_" + n, np.float32, ["b", HEADS, "p", SIZE]) for n in self.names("self")]
        cross = [g.take("past_" + n, np.float32, ["b", HEADS, "e", SIZE]) for n in self.names("cross")]
        logits, own = self.decode(g, ids, self.ones(g), past, cross)
        g.add_output(logits, "logits", ["b", 1, VOCAB])
        for v, n in zip(own, self.names("self")):
            g.add_output(v, "present_" + n, ["b", HEADS, "t", SIZE])
        return g.graph()


ORDER = {
    "BeamSearch": ["input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty",
                   "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask"],
    "WhisperBeamSearch": ["input_ids", "max_length", "min_length", "num_beams", "num_return_sequences", "length_penalty",
                          "repetition_penalty", "vocab_mask", "prefix_vocab_mask", "attention_mask", "decoder_input_ids",
                          "logits_processor", "cross_qk_layer_head", "extra_decoding_ids", "temperature"],
    "GreedySearch": ["input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask",
                     "attention_mask"],
    "Sampling": ["input_ids", "max_length", "min_length", "repetition_penalty", "vocab_mask", "prefix_vocab_mask",
                 "attention_mask", "presence_mask", "seed"],
}
FIXED = ("max_length", "num_beams", "num_return_sequences")
FLOATS = ("length_penalty", "repetition_penalty", "temperature")


def build(op, graphs, values, attributes, outputs, opset, outer, run_time=()):
    """The model and its feeds. Sizes are constants, and so are other scalars unless they are in `run_time`."""
    names, inputs, inits, feeds = [], [], list(outer), {}
    for key in ORDER[op]:
        if key not in values:
            names.append("")
            continue
        names.append(key)
        v = values[key]
        if not isinstance(v, np.ndarray):
            v = np.array([v], np.float32 if key in FLOATS else np.int32)
        if v.shape == (1,) and key not in run_time:
            inits.append(numpy_helper.from_array(v, key))
        else:
            feeds[key] = v
            inputs.append(helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape))
    while not names[-1]:
        names.pop()
    node = helper.make_node(op, names, outputs, domain=MS, name=op, **graphs, **attributes)

    def model(extra=(), results=None):
        results = results or [helper.make_tensor_value_info(o, TensorProto.INT32 if o == "sequences" else
                                                            TensorProto.FLOAT, None) for o in outputs if o]
        graph = helper.make_graph([node], op, inputs, results, inits + list(extra))
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", opset),
                                                                     helper.make_opsetid(MS, 1)])
    return model, feeds


def run(model, feeds, outputs):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(model().SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run([o for o in outputs if o], feeds)


def case(name, op, graphs, values, outputs=("sequences",), opset=17, outer=(), reference=None, run_time=(),
         rtol=1e-4, atol=1e-4, change=None, **attributes):
    """`reference`: graphs for ONNX Runtime if it cannot run those of the model. `change`: a function that changes its results."""
    if not name.startswith(sys.argv[1] if len(sys.argv) > 1 else ""):
        return
    attributes = {"eos_token_id": 3, "pad_token_id": PAD, **attributes}
    model, feeds = build(op, graphs, values, attributes, outputs, opset, outer, run_time)
    twin = build(op, reference or graphs, values, attributes, outputs, opset, outer if not reference else (), run_time)
    want = run(*twin, outputs)
    if change:
        want = change(want)
    if not op.endswith("BeamSearch"):
        # A second run without an end token shows which places were written.
        free = dict(attributes, eos_token_id=VOCAB + 5)
        endless = run(*build(op, reference or graphs, values, free, outputs, opset, outer if not reference else (),
                             run_time), outputs)[0]
        first, eos = values["input_ids"].shape[1], attributes["eos_token_id"]
        at = [next((i for i in range(first, endless.shape[1]) if row[i] == eos), None) for row in endless]
        if op == "GreedySearch" and None not in at:
            want[0] = want[0].copy()
            want[0][:, max(at) + 1:] = PAD
    print(name, *(w.tolist() for w in want[:1]))
    results = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(w.dtype), w.shape)
               for o, w in zip([o for o in outputs if o], want)]
    extra = [numpy_helper.from_array(v, "feed/" + n) for n, v in feeds.items()]
    extra += [numpy_helper.from_array(w, "want/" + o) for o, w in zip([o for o in outputs if o], want)]
    m = model(extra, results)
    helper.set_model_props(m, {"rtol": str(rtol), "atol": str(atol)})
    onnx.save(m, os.path.join(OUT, f"search_{name}.onnx"))


def prompts(batch=2, length=3, padded=()):
    ids = rng.integers(4, VOCAB, (batch, length)).astype(np.int32)
    for row, count in padded:
        ids[row, :count] = PAD
    return ids


def mask_of(*shape, share=0.8, keep=()):
    m = (rng.random(shape) < share).astype(np.int32)
    m[..., list(keep)] = 1
    return m


def greedy_cases():
    gpt = Gpt()
    plain = {"decoder": gpt.graph()}
    two = prompts()
    case("greedy", "GreedySearch", plain, {"input_ids": two, "max_length": 14}, eos_token_id=VOCAB - 1)
    case("greedy_ends", "GreedySearch", plain, {"input_ids": two, "max_length": 14}, eos_token_id=EOS["greedy"])
    case("greedy_padded", "GreedySearch", plain,
         {"input_ids": prompts(3, 4, [(0, 2), (2, 1)]), "max_length": 12}, eos_token_id=VOCAB - 1)
    ids = prompts(2, 4)
    case("greedy_attention_mask", "GreedySearch", plain,
         {"input_ids": ids, "max_length": 12, "attention_mask": np.array([[0, 1, 1, 1], [1, 0, 1, 1]], np.int32)},
         eos_token_id=VOCAB - 1)
    case("greedy_penalties", "GreedySearch", plain,
         {"input_ids": two, "max_length": 14, "min_length": 8, "repetition_penalty": 1.7,
          "vocab_mask": mask_of(VOCAB), "prefix_vocab_mask": mask_of(2, VOCAB)}, no_repeat_ngram_size=2)
    case("greedy_run_time_scalars", "GreedySearch", plain,
         {"input_ids": two, "max_length": 14, "min_length": 8, "repetition_penalty": 1.7}, eos_token_id=EOS["greedy"],
         run_time=("min_length", "repetition_penalty"))
    case("greedy_init_decoder", "GreedySearch", {**plain, "init_decoder": gpt.graph("init_decoder")},
         {"input_ids": two, "max_length": 9}, eos_token_id=VOCAB - 1)
    outer = []
    shared = {"decoder": gpt.graph("decoder", outer, fused=True)}
    case("greedy_fused_attention", "GreedySearch", shared,
         {"input_ids": prompts(2, 4, [(1, 2)]), "max_length": 12}, outer=outer, eos_token_id=VOCAB - 1)
    # The prompt is one token of one row: with more, ONNX Runtime reads wrong places if there are more logits than vocab_size.
    case("greedy_vocab_size", "GreedySearch", plain, {"input_ids": prompts(1, 1), "max_length": 10}, vocab_size=13)
    half = gpt.rounded()
    case("greedy_fp16_weights", "GreedySearch", {"decoder": half.graph(cast=True)},
         {"input_ids": two, "max_length": 12}, eos_token_id=VOCAB - 1)
    case("greedy_fp16", "GreedySearch", {"decoder": half.graph(dtype=np.float16)},
         {"input_ids": two, "max_length": 12}, reference={"decoder": half.graph()}, eos_token_id=VOCAB - 1)


def sampling_cases():
    plain = {"decoder": Gpt(head=0.4).graph()}
    ids = prompts(3, 3)
    common = {"input_ids": ids, "max_length": 13}
    case("sampling_all", "Sampling", plain, {**common, "seed": 5}, top_p=1.0)
    case("sampling_top", "Sampling", plain, {**common, "seed": 71}, top_p=0.7)
    case("sampling_custom", "Sampling", plain, {**common, "seed": 9}, top_p=0.7, custom=1)
    case("sampling_keep", "Sampling", plain, {**common, "seed": 2}, top_p=0.2, min_tokens_to_keep=3, temperature=1.6)
    case("sampling_filter_value", "Sampling", plain, {**common, "seed": 3}, top_p=0.6, filter_value=-3.0)
    case("sampling_best", "Sampling", plain, {**common, "seed": 4}, top_p=0.0, min_tokens_to_keep=1,
         eos_token_id=VOCAB - 1)
    case("sampling_no_seed", "Sampling", plain, common, top_p=0.9)
    case("sampling_run_time_seed", "Sampling", plain, {**common, "seed": 2147483647}, top_p=0.9, run_time=("seed",))
    case("sampling_penalties", "Sampling", plain,
         {**common, "min_length": 8, "repetition_penalty": 0.8, "vocab_mask": mask_of(VOCAB),
          "prefix_vocab_mask": mask_of(3, VOCAB), "seed": 6}, top_p=0.8, no_repeat_ngram_size=3)


def beam_cases():
    gpt = Gpt()
    plain = {"decoder": gpt.graph()}
    both, three = ("sequences", "sequences_scores"), ("sequences", "sequences_scores", "scores")
    two = prompts()

    def beams(k, returned=1, length=1.0, repetition=1.0, ids=two, longest=13, shortest=0, **more):
        return {"input_ids": ids, "max_length": longest, "min_length": shortest, "num_beams": k,
                "num_return_sequences": returned, "length_penalty": length, "repetition_penalty": repetition, **more}
    case("beam", "BeamSearch", plain, beams(4, 2), both, eos_token_id=EOS["beam"])
    case("beam_scores", "BeamSearch", plain, beams(3, 3), three, eos_token_id=NEVER)
    case("beam_one", "BeamSearch", plain, beams(1), both, eos_token_id=EOS["beam"])
    case("beam_one_text", "BeamSearch", plain, beams(4, 4, ids=prompts(1)), both, eos_token_id=EOS["beam"])
    case("beam_early_stopping", "BeamSearch", plain, beams(3, 2), both, early_stopping=1, eos_token_id=EOS["beam"])
    case("beam_length_penalty", "BeamSearch", plain, beams(3, 2, length=0.4), both, eos_token_id=EOS["beam"])
    case("beam_no_length_penalty", "BeamSearch", plain, beams(3, 2, length=0.0), both, eos_token_id=EOS["beam"])
    case("beam_min_length", "BeamSearch", plain, beams(3, 2, shortest=9), both, eos_token_id=EOS["beam"])
    case("beam_penalties", "BeamSearch", plain,
         beams(3, 3, repetition=1.4, vocab_mask=mask_of(VOCAB, keep=[EOS["beam"]]),
               prefix_vocab_mask=mask_of(2, VOCAB)), both, no_repeat_ngram_size=2, eos_token_id=EOS["beam"])
    case("beam_run_time_scalars", "BeamSearch", plain, beams(3, 2, 1.5, 1.2, shortest=6), both,
         eos_token_id=EOS["beam"], run_time=("min_length", "length_penalty", "repetition_penalty"))
    case("beam_padded", "BeamSearch", plain, beams(3, 2, ids=prompts(3, 4, [(0, 2), (1, 1)])), both,
         eos_token_id=EOS["beam"])
    ids = prompts(2, 4)
    case("beam_attention_mask", "BeamSearch", plain,
         beams(2, ids=ids, attention_mask=np.array([[0, 1, 1, 1], [1, 1, 0, 1]], np.int32)), both)
    case("beam_init_decoder", "BeamSearch", {**plain, "init_decoder": gpt.graph("init_decoder")}, beams(2), both)
    outer = []
    case("beam_fused_attention", "BeamSearch", {"decoder": gpt.graph("decoder", outer, fused=True)},
         beams(3, 2, ids=prompts(2, 4, [(1, 1)])), both, outer=outer)
    half = gpt.rounded()
    case("beam_fp16_weights", "BeamSearch", {"decoder": half.graph(cast=True)}, beams(3, 2), both)
    for i, seed in enumerate(range(3)):
        case(f"beam_many_ends_{i}", "BeamSearch", {"decoder": Gpt(1).graph()},
             beams(3, 3, ids=prompts(3, 2), longest=11, length=(1.0, 0.5, 2.0)[i]), both, eos_token_id=7 + i)
    t5 = T5()
    old = {"encoder": t5.encoder(), "decoder": t5.decoder()}
    start = {"model_type": 1, "decoder_start_token_id": 2}
    text = prompts(2, 6, [(1, 2)])
    case("beam_t5", "BeamSearch", old, beams(3, 2, ids=text), both, eos_token_id=EOS["t5"], **start)
    case("beam_t5_scores", "BeamSearch", old, beams(2, 2, ids=text, longest=8), three, eos_token_id=NEVER, **start)
    case("beam_t5_one", "BeamSearch", old, beams(1, ids=text), both, **start)
    case("beam_t5_no_hidden_states", "BeamSearch", {**old, "decoder": t5.decoder(False)}, beams(2, ids=text), both,
         **start)
    case("beam_t5_cross_only", "BeamSearch", {"encoder": t5.encoder(True), "decoder": t5.decoder(False)},
         beams(3, 2, ids=text), both, eos_token_id=EOS["t5"], **start)
    case("beam_t5_attention_mask", "BeamSearch", old,
         beams(2, ids=text, attention_mask=mask_of(2, 6, keep=[5])), both, **start)
    text = prompts(2, 6, [(1, 2)])
    text[0, 5] = PAD  # padding on the right is not masked
    case("beam_t5_padded_right", "BeamSearch", old, beams(2, ids=text), both, **start)


def whisper_cases():
    both, three = ("sequences", "sequences_scores"), ("sequences", "sequences_scores", "scores")
    whisper = Whisper()
    graphs = {"encoder": whisper.encoder(), "decoder": whisper.decoder()}
    sound, start = random(2, FEATURES, 5), {"model_type": 2, "decoder_start_token_id": 2}

    def beams(k, returned=1, length=1.0, repetition=1.0, longest=13, shortest=0, **more):
        return {"input_ids": sound, "max_length": longest, "min_length": shortest, "num_beams": k,
                "num_return_sequences": returned, "length_penalty": length, "repetition_penalty": repetition, **more}
    first = prompts(2, 3)
    case("whisper", "WhisperBeamSearch", graphs, beams(3, 2), both, eos_token_id=EOS["whisper"], **start)
    case("whisper_one", "WhisperBeamSearch", graphs, beams(1), both, eos_token_id=EOS["whisper"], **start)
    case("whisper_scores", "WhisperBeamSearch", graphs, beams(2, 2, longest=8), three, eos_token_id=NEVER, **start)
    case("whisper_no_hidden_states", "WhisperBeamSearch", {**graphs, "decoder": whisper.decoder(False)}, beams(2), both,
         eos_token_id=EOS["whisper"], **start)
    case("whisper_prompt", "WhisperBeamSearch", graphs, beams(3, 2, decoder_input_ids=first), both,
         eos_token_id=EOS["whisper"], **start)
    case("whisper_penalties", "WhisperBeamSearch", graphs,
         beams(3, 3, repetition=1.4, shortest=6, vocab_mask=mask_of(VOCAB, keep=[EOS["whisper"]]), decoder_input_ids=first), both,
         no_repeat_ngram_size=2, eos_token_id=EOS["whisper"], **start)
    case("whisper_temperature", "WhisperBeamSearch", graphs, beams(3, 2, decoder_input_ids=first, temperature=1.7), both,
         eos_token_id=EOS["whisper"], **start)
    # ONNX Runtime computes non_speech_probs on GPUs only; the scores of the first step are the logarithms of all probabilities.
    values, attributes = beams(2, longest=8), {"eos_token_id": NEVER, "pad_token_id": PAD, "no_speech_token_id": 5, **start}
    scores = run(*build("WhisperBeamSearch", graphs, values, attributes, three, 17, ()), three)[2]
    case("whisper_no_speech", "WhisperBeamSearch", graphs, values, ("sequences", "sequences_scores", "", "", "non_speech_probs"),
         change=lambda want: [*want[:2], np.exp(scores[0, :, 0, 5])], **attributes)
    case("whisper_of_beam_search", "BeamSearch", graphs, beams(2), both, eos_token_id=EOS["whisper"], **start)


# Tokens that end some rows before others.
EOS = {"greedy": 7, "beam": 6, "t5": 12, "whisper": 9}
NEVER = VOCAB + 1

if __name__ == "__main__":
    greedy_cases()
    sampling_cases()
    beam_cases()
    whisper_cases()
