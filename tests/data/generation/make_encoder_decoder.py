"""Makes small models with an encoder, and the tokens that they generate: python3 make_encoder_decoder.py, with the onnx package.

The models have random weights and the forms that optimum writes for T5, BART and Whisper:

* t5: encoder_model.onnx, decoder_model.onnx, decoder_with_past_model.onnx; relative positions from the size of the cache;
* t5_old: the same with the table of positions of older versions of transformers, of which the last rows are used;
* bart: encoder_model.onnx, decoder_model_merged.onnx, whose input use_cache_branch chooses a branch of an If; learned positions;
* whisper: features, convolutions, no masks; learned positions that are cut from a table.

The model whisper_genai has the weights of whisper in the form of onnxruntime-genai: its encoder computes the keys and values of
cross-attention, and attention and normalisation with the residual are operators of com.microsoft. The first file of whisper_genai_init
is that of versions before 0.6, with the encoder and the first step of the decoder.

NumPy computes the reference without a cache: each token from the whole text. The functions of the models are also used by
tests/long/generation.py, with greater sizes."""

import json
import math
import os
import re

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
EPSILON = 1e-5
LEAST = float(numpy.finfo(numpy.float32).min)


class Sizes:
    """The sizes of a model; those of the test data if none is given."""

    def __init__(self, kind, vocabulary=53, hidden=16, layers=2, heads=4, mlp=24, places=40, source=24, bins=6):
        self.kind, self.vocabulary, self.hidden, self.layers, self.heads, self.mlp = kind, vocabulary, hidden, layers, heads, mlp
        self.places, self.source, self.bins = places, source, bins
        self.width = hidden // heads
        self.buckets, self.distance = 8, 20
        self.t5 = kind.startswith("t5")


def weights(s, seed):
    random = numpy.random.default_rng(seed)
    w = {}

    def normal(name, *shape, scale=1.0, offset=0.0):
        w[name] = (offset + random.standard_normal(shape) * scale).astype(numpy.float32)

    def norm(name):
        normal(name + ".scale", s.hidden, scale=0.1, offset=1.0)
        if not s.t5:
            normal(name + ".bias", s.hidden, scale=0.1)

    def linear(name, k, n, bias, gain=1.0):
        normal(name, k, n, scale=gain * k ** -0.5)
        if bias:
            normal(name + ".bias", n, scale=0.2)

    normal("embed", s.vocabulary, s.hidden)
    normal("head", s.hidden, s.vocabulary, scale=4.0 * s.hidden ** -0.5)
    for part in ("encoder", "decoder"):
        if s.t5:
            normal(f"{part}.relative", s.buckets, s.heads, scale=3.0)
        else:
            count = s.source if part == "encoder" and s.kind == "whisper" else s.places
            normal(f"{part}.places", count + (2 if s.kind == "bart" else 0), s.hidden, scale=2.0 if s.kind == "bart" else 1.5)
        for i in range(s.layers):
            for a in ("self", "cross") if part == "decoder" else ("self",):
                for p, gain in (("q", 2.0 * (s.width ** -0.5 if s.t5 else 1)), ("k", 2.0), ("v", 1.5), ("o", 0.7 if a == "cross" else 2.0)):
                    linear(f"{part}.{i}.{a}.{p}", s.hidden, s.hidden, not s.t5 and (p != "k" or s.kind != "whisper"), gain)
                norm(f"{part}.{i}.{a}.norm")
            linear(f"{part}.{i}.up", s.hidden, s.mlp, not s.t5)
            linear(f"{part}.{i}.down", s.mlp, s.hidden, not s.t5, 2.5)
            norm(f"{part}.{i}.mlp.norm")
        norm(f"{part}.norm")
    if s.kind == "whisper":
        normal("conv1", s.hidden, s.bins, 3, scale=(3 * s.bins) ** -0.5)
        normal("conv1.bias", s.hidden, scale=0.2)
        normal("conv2", s.hidden, s.hidden, 3, scale=(3 * s.hidden) ** -0.5)
        normal("conv2.bias", s.hidden, scale=0.2)
    return w


# The reference.

def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return x * 0.5 * (1 + numpy.vectorize(math.erf)(x / math.sqrt(2)))


def relative_bucket(s, relative, both):
    """T5's buckets: half of them exact, the others logarithmic."""
    buckets, result = s.buckets, 0
    if both:
        buckets //= 2
        result = (relative > 0) * buckets
        relative = abs(relative)
    else:
        relative = -numpy.minimum(relative, 0)
    exact = buckets // 2
    with numpy.errstate(divide="ignore"):
        far = exact + numpy.nan_to_num(numpy.log(relative / exact) / math.log(s.distance / exact) * (buckets - exact), neginf=0)
    return result + numpy.where(relative < exact, relative, numpy.minimum(far.astype(numpy.int64), buckets - 1))


class Reference:
    """A model in f64. `source` are tokens, or features [bins, 2 * frames]."""

    def __init__(self, s, w, source):
        self.s, self.w = s, {k: v.astype(numpy.float64) for k, v in w.items()}
        if s.kind == "whisper":
            x = self.conv(self.conv(numpy.asarray(source, numpy.float64), "conv1", 1), "conv2", 2).T
            x = x + self.w["encoder.places"][:len(x)]
        else:
            x = self.embedded("encoder", source)
        self.memory = self.layers("encoder", x, None)

    def conv(self, x, name, stride):
        x = numpy.pad(x, ((0, 0), (1, 1)))
        w = self.w[name]
        columns = [numpy.einsum("oik,ik->o", w, x[:, i:i + 3]) for i in range(0, x.shape[1] - 2, stride)]
        return gelu(numpy.array(columns).T + self.w[name + ".bias"][:, None])

    def embedded(self, part, ids):
        x = self.w["embed"][list(ids)]
        if self.s.t5:
            return x
        x = x + self.w[f"{part}.places"][2 if self.s.kind == "bart" else 0:][:len(ids)]
        return self.norm(x, f"{part}.norm") if self.s.kind == "bart" else x

    def norm(self, x, name):
        if self.s.t5:
            return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * self.w[name + ".scale"]
        x = x - x.mean(-1, keepdims=True)
        return x / numpy.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * self.w[name + ".scale"] + self.w[name + ".bias"]

    def linear(self, x, name):
        return x @ self.w[name] + self.w.get(name + ".bias", 0)

    def attend(self, x, keys, name, bias):
        s = self.s
        q, k, v = (self.linear(y, f"{name}.{p}").reshape(len(y), s.heads, s.width) for y, p in ((x, "q"), (keys, "k"), (keys, "v")))
        scores = numpy.einsum("shd,thd->hst", q, k) * (1 if s.t5 else s.width ** -0.5) + bias
        return self.linear(numpy.einsum("hst,thd->shd", softmax(scores), v).reshape(len(x), -1), f"{name}.o")

    def layers(self, part, x, memory):
        s, n = self.s, len(x)
        bias = numpy.triu(numpy.full((n, n), -numpy.inf), 1) if memory is not None else 0
        if s.t5:
            places = numpy.arange(n)
            bucket = relative_bucket(s, places[None, :] - places[:, None], part == "encoder")
            bias = bias + self.w[f"{part}.relative"][bucket].transpose(2, 0, 1)
        post = s.kind == "bart"
        for i in range(s.layers):
            steps = [(f"{part}.{i}.self.norm", lambda y, i=i: self.attend(y, y, f"{part}.{i}.self", bias))]
            if memory is not None:
                steps.append((f"{part}.{i}.cross.norm", lambda y, i=i: self.attend(y, memory, f"{part}.{i}.cross", 0)))
            steps.append((f"{part}.{i}.mlp.norm", lambda y, i=i: self.mlp(y, f"{part}.{i}")))
            for name, step in steps:
                x = self.norm(x + step(x), name) if post else x + step(self.norm(x, name))
        return x if post else self.norm(x, f"{part}.norm")

    def mlp(self, x, name):
        x = self.linear(x, f"{name}.up")
        return self.linear(numpy.maximum(x, 0) if self.s.t5 else gelu(x), f"{name}.down")

    def logits(self, ids):
        """The logits after the last token."""
        return (self.layers("decoder", self.embedded("decoder", ids), self.memory) @ self.w["head"])[-1]


# The models.

class Graph:
    def __init__(self, s, w):
        self.s, self.w, self.nodes, self.constants, self.used = s, w, [], {}, set()
        self.prefix = ""

    def constant(self, value, dtype=numpy.int64):
        array = numpy.array(value, dtype)
        name = f"{self.prefix}c{len(self.constants)}"
        self.constants[name] = array
        return name

    def f32(self, value):
        return self.constant(value, numpy.float32)

    def add(self, op, *inputs, outputs=None, **attributes):
        outputs = outputs or [f"{self.prefix}t{len(self.nodes)}"]
        self.used.update(inputs)
        self.nodes.append(helper.make_node(op, list(inputs), outputs, name=f"{self.prefix}n{len(self.nodes)}", **attributes))
        return outputs[0]

    def initializers(self):
        return [numpy_helper.from_array(v, k) for k, v in {**self.w, **self.constants}.items() if k in self.used]

    # Parts of the models.

    def dimension(self, name, axis):
        return self.add("Gather", self.add("Shape", name), self.constant(axis), axis=0)

    def linear(self, x, name):
        y = self.add("MatMul", x, name)
        return self.add("Add", y, name + ".bias") if name + ".bias" in self.w else y

    def norm(self, x, name):
        if not self.s.t5:
            return self.add("LayerNormalization", x, name + ".scale", name + ".bias", epsilon=EPSILON)
        mean = self.add("ReduceMean", self.add("Pow", x, self.f32(2)), self.constant([-1]), keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, self.f32(EPSILON)))
        return self.add("Mul", name + ".scale", self.add("Mul", x, self.add("Div", self.f32(1), root)))

    def gelu(self, x):
        y = self.add("Add", self.add("Erf", self.add("Div", x, self.f32(math.sqrt(2)))), self.f32(1))
        return self.add("Mul", self.add("Mul", x, y), self.f32(0.5))

    def split(self, x, batch):
        s = self.s
        shape = self.add("Concat", *(self.add("Unsqueeze", v, self.constant([0])) for v in (
            batch, self.constant(-1), self.constant(s.heads), self.constant(s.width))), axis=0)
        return self.add("Transpose", self.add("Reshape", x, shape), perm=[0, 2, 1, 3])

    def scores(self, q, k, bias):
        y = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        return self.add("Add", y, bias) if bias else y

    def attended(self, q, k, v, bias, name):
        s = self.s
        if not s.t5:
            q = self.add("Mul", q, self.f32(s.width ** -0.5))
        y = self.add("MatMul", self.add("Softmax", self.scores(q, k, bias), axis=-1), v)
        y = self.add("Reshape", self.add("Transpose", y, perm=[0, 2, 1, 3]), self.constant([0, 0, s.hidden]))
        return self.linear(y, f"{name}.o")

    def hidden_mask(self, mask):
        """0 where the mask of tokens is 1, else the least number: [batch, 1, 1, tokens]."""
        wide = self.add("Cast", self.add("Unsqueeze", mask, self.constant([1, 2])), to=TensorProto.FLOAT)
        return self.add("Mul", self.add("Sub", self.f32(1), wide), self.f32(LEAST))

    def bucket(self, relative, both):
        s, buckets, result = self.s, self.s.buckets, None
        if both:
            buckets //= 2
            after = self.add("Cast", self.add("Greater", relative, self.constant(0)), to=TensorProto.INT64)
            result = self.add("Mul", after, self.constant(buckets))
            relative = self.add("Abs", relative)
        else:
            relative = self.add("Neg", self.add("Min", relative, self.constant(0)))
        exact = buckets // 2
        far = self.add("Log", self.add("Div", self.add("Cast", relative, to=TensorProto.FLOAT), self.f32(exact)))
        far = self.add("Mul", self.add("Div", far, self.f32(math.log(s.distance / exact))), self.f32(buckets - exact))
        far = self.add("Add", self.add("Cast", far, to=TensorProto.INT64), self.constant(exact))
        far = self.add("Min", far, self.constant(buckets - 1))
        y = self.add("Where", self.add("Less", relative, self.constant(exact)), relative, far)
        return self.add("Add", result, y) if result else y

    def relative_bias(self, part, queries, keys):
        """[1, heads, queries, keys] for positions of queries and keys."""
        relative = self.add("Sub", self.add("Unsqueeze", keys, self.constant([0])), self.add("Unsqueeze", queries, self.constant([1])))
        values = self.add("Gather", f"{part}.relative", self.bucket(relative, part == "encoder"))
        return self.add("Unsqueeze", self.add("Transpose", values, perm=[2, 0, 1]), self.constant([0]))

    def mlp(self, x, name):
        x = self.linear(x, f"{name}.up")
        return self.linear(self.add("Relu", x) if self.s.t5 else self.gelu(x), f"{name}.down")

    def residual(self, x, name, step):
        if self.s.kind == "bart":
            return self.norm(self.add("Add", x, step(x)), name)
        return self.add("Add", x, step(self.norm(x, name)))

    def encoder(self):
        s = self.s
        zero, one = self.constant(0), self.constant(1)
        if s.kind == "whisper":
            x = self.gelu(self.add("Conv", "input_features", "conv1", "conv1.bias", kernel_shape=[3], pads=[1, 1]))
            x = self.gelu(self.add("Conv", x, "conv2", "conv2.bias", kernel_shape=[3], pads=[1, 1], strides=[2]))
            x = self.add("Add", self.add("Transpose", x, perm=[0, 2, 1]), "encoder.places")
            batch, bias = self.dimension("input_features", 0), None
        else:
            x = self.add("Gather", "embed", "input_ids")
            batch, count = self.dimension("input_ids", 0), self.dimension("input_ids", 1)
            places = self.add("Range", zero, count, one)
            bias = self.hidden_mask("attention_mask")
            if s.t5:
                bias = self.add("Add", self.relative_bias("encoder", places, places), bias)
            else:
                x = self.add("Add", x, self.add("Gather", "encoder.places", self.add("Add", places, self.constant(2))))
                x = self.norm(x, "encoder.norm")
        for i in range(s.layers):
            def attend(y, name=f"encoder.{i}.self"):
                q, k, v = (self.split(self.linear(y, f"{name}.{p}"), batch) for p in "qkv")
                return self.attended(q, k, v, bias, name)
            x = self.residual(x, f"encoder.{i}.self.norm", attend)
            x = self.residual(x, f"encoder.{i}.mlp.norm", lambda y, i=i: self.mlp(y, f"encoder.{i}"))
        if s.kind == "bart":
            self.add("Identity", x, outputs=["last_hidden_state"])
        else:
            y = self.norm(x, "encoder.norm")
            self.add("Identity", y, outputs=["last_hidden_state"])

    def causal(self, places, keys):
        later = self.add("Greater", self.add("Unsqueeze", keys, self.constant([0])), self.add("Unsqueeze", places, self.constant([1])))
        mask = self.add("Where", later, self.f32(LEAST), self.f32(0))
        return self.add("Unsqueeze", mask, self.constant([0, 1]))

    def self_bias(self, places, count, total, past):
        """The bias of scores in self-attention; none for BART's and Whisper's step of one token."""
        s = self.s
        zero, one = self.constant(0), self.constant(1)
        keys = self.add("Range", zero, total, one)
        if not s.t5:
            return None if past else self.causal(places, keys)
        if s.kind == "t5_old":  # a table of all positions, of which the last rows are those of the new tokens
            bias = self.relative_bias("decoder", keys, keys)
            start = self.add("Unsqueeze", self.add("Neg", count), self.constant([0]))
            bias = self.add("Slice", bias, start, self.constant([2 ** 63 - 1]), self.constant([2]))
        else:
            bias = self.relative_bias("decoder", places, keys)
        return self.add("Add", bias, self.causal(places, keys))

    def decoder(self, past, results):
        """`results` maps the names of outputs to the names of values."""
        s = self.s
        batch, count = self.dimension("input_ids", 0), self.dimension("input_ids", 1)
        begin = self.dimension("past_key_values.0.decoder.key", 2) if past else self.constant(0)
        total = self.add("Add", begin, count)
        places = self.add("Range", begin, total, self.constant(1))
        x = self.add("Gather", "embed", "input_ids")
        if s.kind == "bart":
            x = self.add("Add", x, self.add("Gather", "decoder.places", self.add("Add", places, self.constant(2))))
            x = self.norm(x, "decoder.norm")
        elif s.kind == "whisper":
            begin, end = (self.add("Unsqueeze", v, self.constant([0])) for v in (begin, total))
            x = self.add("Add", x, self.add("Slice", "decoder.places", begin, end, self.constant([0])))
        bias = self.self_bias(places, count, total, past)
        memory = None if s.kind == "whisper" else self.hidden_mask("encoder_attention_mask")

        def self_attend(y, i):
            name = f"decoder.{i}.self"
            q, k, v = (self.split(self.linear(y, f"{name}.{p}"), batch) for p in "qkv")
            names = [results[f"present.{i}.decoder.{part}"] for part in ("key", "value")]
            if past:
                k, v = (self.add("Concat", f"past_key_values.{i}.decoder.{part}", new, outputs=[n], axis=2)
                        for part, new, n in (("key", k, names[0]), ("value", v, names[1])))
            else:
                k, v = (self.add("Identity", new, outputs=[n]) for new, n in ((k, names[0]), (v, names[1])))
            return self.attended(q, k, v, bias, name)

        def cross_attend(y, i):
            name = f"decoder.{i}.cross"
            q = self.split(self.linear(y, f"{name}.q"), batch)
            if past:
                k, v = (f"past_key_values.{i}.encoder.{part}" for part in ("key", "value"))
            else:
                k, v = (self.split(self.linear("encoder_hidden_states", f"{name}.{p}"), batch) for p in "kv")
                k, v = (self.add("Identity", new, outputs=[results[f"present.{i}.encoder.{part}"]])
                        for part, new in (("key", k), ("value", v)))
            return self.attended(q, k, v, memory, name)

        for i in range(s.layers):
            x = self.residual(x, f"decoder.{i}.self.norm", lambda y, i=i: self_attend(y, i))
            x = self.residual(x, f"decoder.{i}.cross.norm", lambda y, i=i: cross_attend(y, i))
            x = self.residual(x, f"decoder.{i}.mlp.norm", lambda y, i=i: self.mlp(y, f"decoder.{i}"))
        x = x if s.kind == "bart" else self.norm(x, "decoder.norm")
        self.add("MatMul", x, "head", outputs=[results["logits"]])


class GenaiGraph(Graph):
    """Whisper as the model builder of onnxruntime-genai writes it."""

    def add(self, op, *inputs, outputs=None, **attributes):
        super().add(op, *inputs, outputs=outputs, **attributes)
        if op in ("MultiHeadAttention", "SkipLayerNormalization"):
            self.nodes[-1].domain = "com.microsoft"
        return self.nodes[-1].output[0]

    def gelu(self, x):
        return self.add("Gelu", x, approximate="none")

    def attention(self, x, name, keys=None, bias="", past=(), present=(), causal=0):
        """Adds the attention of projected queries x over the given keys and values, or of x = (queries, keys, values)."""
        s = self.s
        y = self.add("MultiHeadAttention", *((x, *keys) if keys else x), *((bias, "", "", *past) if past else (bias,) if bias else ()),
                     outputs=[f"{name}.y", *present], num_heads=s.heads, scale=float(s.width ** -0.5), unidirectional=causal)
        return Graph.linear(self, y, f"{name}.o")

    def projected(self, x, name, with_bias):
        return tuple((Graph.linear(self, x, f"{name}.{p}") if with_bias else self.add("MatMul", x, f"{name}.{p}")) for p in "qkv")

    def layers(self, part, x, last, step):
        """Each residual is a part of the next normalisation. `step` returns the attention blocks of a layer."""
        s, skip = self.s, None
        blocks = []
        for i in range(s.layers):
            blocks += step(i)
            blocks.append((f"{part}.{i}.mlp.norm", lambda y, i=i: self.mlp(y, f"{part}.{i}")))
        for n, (norm, block) in enumerate([*blocks, (f"{part}.norm", None)]):
            if n == 0:
                y = self.norm(x, norm)
            else:
                outputs = [last if block is None else f"{norm}.y", "", "", f"{norm}.sum"]
                y = self.add("SkipLayerNormalization", x, skip, f"{norm}.scale", f"{norm}.bias", outputs=outputs[:1] if block is None else outputs,
                             epsilon=EPSILON)
                x = f"{norm}.sum"
            skip = block and block(y)
        return y

    def encoder(self, features="audio_features", cross=True):
        s = self.s
        x = self.gelu(self.add("Conv", features, "conv1", "conv1.bias", kernel_shape=[3], pads=[1, 1], strides=[1], dilations=[1], group=1))
        x = self.gelu(self.add("Conv", x, "conv2", "conv2.bias", kernel_shape=[3], pads=[1, 1], strides=[2], dilations=[1], group=1))
        x = self.add("Add", self.add("Transpose", x, perm=[0, 2, 1]), "encoder.places")

        def step(i):
            name = f"encoder.{i}.self"
            return [(f"{name}.norm", lambda y: self.attention(self.projected(y, name, True), name))]
        hidden = self.layers("encoder", x, "encoder_hidden_states", step)
        for i in range(s.layers if cross else 0):
            for p, kind in (("k", "key"), ("v", "value")):
                y = Graph.linear(self, hidden, f"decoder.{i}.cross.{p}")
                y = self.add("Reshape", y, self.constant([-1, s.source, s.heads, s.width]))
                self.add("Transpose", y, outputs=[f"present_{kind}_cross_{i}"], perm=[0, 2, 1, 3])

    def encoder_and_first_step(self):
        self.encoder("encoder_input_ids", cross=False)
        names = {f"present.{i}.{part}.{kind}": f"present_{kind}_{name}_{i}" for i in range(self.s.layers)
                 for part, name in (("decoder", "self"), ("encoder", "cross")) for kind in ("key", "value")}
        self.decoder(False, {"logits": "logits", **names})
        for node in self.nodes:
            node.input[:] = ["decoder_input_ids" if n == "input_ids" else n for n in node.input]

    def decoder_with_past(self):
        s = self.s
        count, past = self.dimension("input_ids", 1), self.dimension("past_key_self_0", 2)
        begin, end = (self.add("Unsqueeze", v, self.constant([0])) for v in (past, self.add("Add", count, past)))
        places = self.add("Slice", "decoder.places", begin, end, self.constant([0]), self.constant([1]))
        x = self.add("Add", self.add("Gather", "embed", "input_ids", axis=0), places)

        def step(i):
            own, cross = f"decoder.{i}.self", f"decoder.{i}.cross"
            self.w[f"{own}.packed"] = numpy.concatenate([self.w.get(f"{own}.{p}.bias", numpy.zeros(s.hidden, numpy.float32)) for p in "qkv"])
            ends = [[f"{when}_{kind}_self_{i}" for kind in ("key", "value")] for when in ("past", "present")]
            return [(f"{own}.norm", lambda y: self.attention(self.projected(y, own, False), own, bias=f"{own}.packed", past=ends[0], present=ends[1],
                                                              causal=1)),
                    (f"{cross}.norm", lambda y: self.attention(Graph.linear(self, y, f"{cross}.q"), cross,
                                                               keys=[f"past_{kind}_cross_{i}" for kind in ("key", "value")]))]
        y = self.layers("decoder", x, "hidden_states", step)
        self.add("MatMul", y, "head", outputs=["logits"])


def value(name, dtype, *shape):
    return helper.make_tensor_value_info(name, dtype, list(shape))


def cache_values(s, stem, part, length):
    return [value(f"{stem}.{i}.{part}.{kv}", TensorProto.FLOAT, "batch", s.heads, length, s.width)
            for i in range(s.layers) for kv in ("key", "value")]


def decoder_values(s, past):
    """The inputs and the outputs of a decoder."""
    inputs = [value("input_ids", TensorProto.INT64, "batch", 1 if past else "sequence")]
    if s.kind != "whisper":
        inputs.insert(0, value("encoder_attention_mask", TensorProto.INT64, "batch", "source"))
    outputs = [value("logits", TensorProto.FLOAT, "batch", "sequence", s.vocabulary)]
    if past:
        inputs += cache_values(s, "past_key_values", "decoder", "past") + cache_values(s, "past_key_values", "encoder", "source")
        outputs += cache_values(s, "present", "decoder", "past + 1")
    else:
        inputs.append(value("encoder_hidden_states", TensorProto.FLOAT, "batch", "source", s.hidden))
        outputs += cache_values(s, "present", "decoder", "sequence") + cache_values(s, "present", "encoder", "source")
    return inputs, outputs


def save_graph(nodes, name, inputs, outputs, initializers, file, opset=18):
    opsets = [helper.make_opsetid("", opset)]
    if any(n.domain for n in nodes):
        opsets.append(helper.make_opsetid("com.microsoft", 1))
    made = helper.make_model(helper.make_graph(nodes, name, inputs, outputs, initializers), opset_imports=opsets, ir_version=8)
    made.producer_name = ""
    onnx.save(made, file)


def save_merged(s, w, file):
    """One decoder, whose If has the first step and the step with past. A branch gives empty tensors for what it does not compute."""
    branches, initializers, all_values = {}, {}, decoder_values(s, False)[1]
    names = [v.name for v in all_values]
    for branch, past in (("else_branch", False), ("then_branch", True)):
        g = Graph(s, w)
        g.prefix = f"{branch}/"
        results = {n: f"{branch}/{n}" for n in names}
        g.decoder(past, results)
        if past:
            for n in names:
                if ".encoder." in n:
                    empty = numpy_helper.from_array(numpy.zeros((0, s.heads, 1, s.width), numpy.float32))
                    g.add("Constant", outputs=[results[n]], value=empty)
        outputs = [helper.make_tensor_value_info(results[n], TensorProto.FLOAT, None) for n in names]
        branches[branch] = helper.make_graph(g.nodes, branch, [], outputs)
        initializers.update({i.name: i for i in g.initializers()})
    inputs = {v.name: v for past in (False, True) for v in decoder_values(s, past)[0]}
    inputs["input_ids"] = value("input_ids", TensorProto.INT64, "batch", "sequence")
    inputs["use_cache_branch"] = value("use_cache_branch", TensorProto.BOOL, 1)
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [None] * (3 if n == "logits" else 4)) for n in names]
    node = helper.make_node("If", ["use_cache_branch"], names, name="merged", **branches)
    save_graph([node], "merged", list(inputs.values()), outputs, list(initializers.values()), file)


def save(s, w, folder, merged):
    os.makedirs(folder, exist_ok=True)
    g = Graph(s, w)
    g.encoder()
    hidden = [value("last_hidden_state", TensorProto.FLOAT, "batch", "source", s.hidden)]
    if s.kind == "whisper":
        inputs = [value("input_features", TensorProto.FLOAT, "batch", s.bins, 2 * s.source)]
    else:
        inputs = [value(n, TensorProto.INT64, "batch", "source") for n in ("input_ids", "attention_mask")]
    save_graph(g.nodes, "encoder", inputs, hidden, g.initializers(), os.path.join(folder, "encoder_model.onnx"))
    if merged:
        save_merged(s, w, os.path.join(folder, "decoder_model_merged.onnx"))
    for past, name in ((False, "decoder_model.onnx"), (True, "decoder_with_past_model.onnx")):
        if merged:
            break
        g = Graph(s, w)
        inputs, outputs = decoder_values(s, past)
        g.decoder(past, {v.name: v.name for v in decoder_values(s, False)[1]})
        save_graph(g.nodes, name[:-5], inputs, outputs, g.initializers(), os.path.join(folder, name))
    config = {"model_type": s.kind[:2] if s.t5 else s.kind, "is_encoder_decoder": True, "decoder_start_token_id": 3, "eos_token_id": 2}
    if s.kind == "whisper":
        config.update(max_source_positions=s.source, max_target_positions=s.places, num_mel_bins=s.bins)
    else:
        config["n_positions" if s.t5 else "max_position_embeddings"] = s.places
    write_json(os.path.join(folder, "config.json"), config)


def save_genai(s, w, folder, older=False):
    """The files and the configuration of onnxruntime-genai for Whisper."""
    os.makedirs(folder, exist_ok=True)

    def caches(stem, part, length):
        return [value(f"{stem}_{kind}_{part}_{i}", TensorProto.FLOAT, "batch_size", s.heads, length, s.width)
                for i in range(s.layers) for kind in ("key", "value")]
    g = GenaiGraph(s, dict(w))
    features = value("encoder_input_ids" if older else "audio_features", TensorProto.FLOAT, "batch_size", s.bins, 2 * s.source)
    hidden = value("encoder_hidden_states", TensorProto.FLOAT, "batch_size", s.source, s.hidden)
    encoder = "encoder_decoder_init.onnx" if older else "encoder.onnx"
    if older:
        g.encoder_and_first_step()
        logits = value("logits", TensorProto.FLOAT, "batch_size", "sequence_length", s.vocabulary)
        save_graph(g.nodes, "encoder", [features, value("decoder_input_ids", TensorProto.INT32, "batch_size", "sequence_length")],
                   [logits, hidden, *caches("present", "self", "sequence_length"), *caches("present", "cross", s.source)], g.initializers(),
                   os.path.join(folder, encoder), 20)
    else:
        g.encoder()
        save_graph(g.nodes, "encoder", [features], [hidden, *caches("present", "cross", s.source)], g.initializers(),
                   os.path.join(folder, encoder), 20)
    g = GenaiGraph(s, dict(w))
    g.decoder_with_past()
    inputs = [value("input_ids", TensorProto.INT32, "batch_size", "sequence_length"), *caches("past", "self", "past_sequence_length"),
              *caches("past", "cross", s.source)]
    outputs = [value("logits", TensorProto.FLOAT, "batch_size", "sequence_length", s.vocabulary),
               *caches("present", "self", "total_sequence_length")]
    save_graph(g.nodes, "decoder", inputs, outputs, g.initializers(), os.path.join(folder, "decoder.onnx"), 20)

    def names(stem, part):
        return {f"{'cross_' if part == 'cross' else ''}{stem}_{kind}_names": f"{stem}_{kind}_{part}_%d" for kind in ("key", "value")}
    sizes = {"head_size": s.width, "hidden_size": s.hidden, "num_attention_heads": s.heads, "num_hidden_layers": s.layers,
             "num_key_value_heads": s.heads}
    write_json(os.path.join(folder, "genai_config.json"), {
        "model": {"type": "whisper", "bos_token_id": 2, "eos_token_id": 2, "pad_token_id": 2, "decoder_start_token_id": 3,
                  "context_length": s.places, "vocab_size": s.vocabulary,
                  "decoder": {"filename": "decoder.onnx", **sizes,
                              "inputs": {"input_ids": "input_ids", **names("past", "self"), **names("past", "cross")},
                              "outputs": {"logits": "logits", **names("present", "self")}},
                  "encoder_decoder_init" if older else "encoder": {
                      "filename": encoder, **({} if older else sizes), "inputs": {} if older else {"audio_features": "audio_features"},
                      "outputs": {"encoder_hidden_states": "encoder_hidden_states", **names("present", "cross")}}},
        "search": {"do_sample": False, "early_stopping": True, "max_length": s.places, "min_length": 0, "num_beams": 1,
                   "past_present_share_buffer": False}})


def write_json(path, content):
    """Writes lists of numbers on one line each."""
    text = re.sub(r"\[\s+([-\d][^\[\]{}]*?)\s+\]", lambda m: "[" + " ".join(m[1].split()) + "]", json.dumps(content, indent=1))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


# Decoding.

def greedy(logits_of, prompt, count):
    """Greedy tokens with their log-probabilities, until two tokens are nearly as probable."""
    ids, logs = list(prompt), []
    for _ in range(count):
        logits = logits_of(ids)
        best = numpy.sort(logits)[-2:]
        if best[1] - best[0] < 1e-3:
            break
        ids.append(int(logits.argmax()))
        logs.append(float(numpy.log(softmax(logits))[ids[-1]]))
    return {"prompt": list(prompt), "tokens": ids[len(prompt):], "log_probabilities": logs}


def beam_search(logits_of, prompt, count, beams, returned, penalty, early, stops):
    """The definition of transformers: of the best 2 * beams continuations, those that end join the finished texts if they are
    among the first `beams`; the others continue. A score is the sum of the log-probabilities, divided by the length to the power
    `penalty`."""
    running, finished, begin = [(0.0, list(prompt))], [], len(prompt)
    while True:
        length = len(running[0][1]) + 1 - begin
        candidates = []
        for total, ids in running:
            logs = numpy.log(softmax(logits_of(ids)))
            candidates += [(total + float(logs[t]), ids + [t]) for t in range(len(logs))]
        candidates = sorted(candidates, key=lambda c: -c[0])[:max(2, 1 + len(stops)) * beams]
        ends = [c[1][-1] in stops or length == count for c in candidates]
        full = len(finished) == beams
        for rank, ((total, ids), ended) in enumerate(zip(candidates, ends)):
            if ended and rank < beams and not (full and early is True):
                finished.append((total / length ** penalty, ids[begin:]))
        finished = sorted(finished, key=lambda f: -f[0])[:beams]
        running = [c for c, ended in zip(candidates, ends) if not ended][:beams]
        if all(ends) or (len(finished) == beams and early is True):
            break
        most = count if early == "never" and penalty > 0 else length
        if len(finished) == beams and running[0][0] / most ** penalty <= finished[-1][0]:
            break
    return [{"score": score, "tokens": ids} for score, ids in finished[:returned]]


def beam_cases(logits_of, prompt, source, stops):
    cases = []
    for beams, returned, penalty, early, count in ((2, 1, 1.0, False, 12), (3, 3, 2.0, True, 10), (3, 2, 0.0, "never", 9), (4, 4, -0.5, False, 8)):
        texts = beam_search(logits_of, prompt, count, beams, returned, penalty, early, stops)
        cases.append({**source, "prompt": list(prompt), "num_beams": beams, "num_return_sequences": returned, "length_penalty": penalty,
                      "early_stopping": early, "max_new_tokens": count, "stops": list(stops), "texts": texts})
    return cases


def some_stops(logits_of, prompt, stop):
    """Stop tokens, of which some occur."""
    tokens = greedy(logits_of, prompt, 8)["tokens"]
    return sorted({stop, tokens[3], tokens[-1]})


def main():
    expected, beams = {}, {}
    for kind, seed, merged in (("t5", 34, False), ("t5_old", 7, False), ("bart", 22, True), ("whisper", 25, False)):
        s = Sizes(kind)
        w = weights(s, seed)
        save(s, w, os.path.join(HERE, kind), merged)
        if kind == "whisper":
            save_genai(s, w, os.path.join(HERE, "whisper_genai"))
            save_genai(s, w, os.path.join(HERE, "whisper_genai_init"), older=True)
        random = numpy.random.default_rng(20 + seed)
        expected[kind], beams[kind] = [], []
        for n in (1, 5, 11, 24):
            if kind == "whisper":
                source = {"features": [[round(float(x), 3) for x in row] for row in random.standard_normal((s.bins, 2 * s.source))]}
            else:
                source = {"source": [int(t) for t in random.integers(0, s.vocabulary, n)]}
            if kind == "whisper" and n == 1:
                numpy.save(os.path.join(HERE, kind, "features.npy"), numpy.array(source["features"], numpy.float32))
            reference = Reference(s, w, list(source.values())[0])
            prompt = [3] if n != 5 else [3, 8, 1]
            expected[kind].append({**source, **greedy(reference.logits, prompt, 24)})
            if n == 5:
                beams[kind] += beam_cases(reference.logits, prompt, source, [2])
                beams[kind] += beam_cases(reference.logits, [3], source, some_stops(reference.logits, [3], 2))
    import make  # pylint: disable=import-outside-toplevel
    for kind, seed, stop in (("genai", 1, 7), ("optimum", 2, 9), ("gpt2", 3, 11)):
        w = make.weights(kind, seed)

        def logits_of(ids, kind=kind, w=w):
            return make.reference_logits(kind, w, ids)

        beams[kind] = beam_cases(logits_of, [5, 9, 2], {}, [stop])
        beams[kind] += beam_cases(logits_of, [5], {}, some_stops(logits_of, [5], stop))
    write_json(os.path.join(HERE, "expected_encoder_decoder.json"), expected)
    write_json(os.path.join(HERE, "expected_beams.json"), beams)


if __name__ == "__main__":
    main()
