"""Makes the language models of this folder and the tokens that they generate: python3 make.py, with the onnx package.

The models have random weights and the forms that exporters write:

* genai: the folder of onnxruntime-genai's model builder, with GroupQueryAttention and a shared cache;
* optimum: the folder of optimum, whose caches grow by Concat, with standard operators, grouped heads and rotated positions;
* gpt2: learned positions, LayerNormalization, no grouped heads, caches that grow by Concat;
* static: the same with the static cache of mobius: TensorScatter writes at write_indices, in one layer as a ring, and Attention-24
  reads nonpad_kv_seqlen places;
* ring: the same, with rings of a fixed size in all layers, so a token attends to the last WINDOW ones;
* gpt2_packed: gpt2 as onnxruntime.transformers writes it, with com.microsoft.Attention and one past of keys and values for each layer;
* transformers: optimum with the input cache_position, the place of the new tokens in the mask, and position_ids [3, batch, sequence];
* sliding: optimum with a window of WINDOW tokens in the mask;
* sizes: gpt2 whose positions and mask follow from the sizes of its caches, with logits of the last token only;
* causal: gpt2 with Attention-23, past keys and no mask.

NumPy computes the reference without a cache: each token from the whole text.
"""

import json
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
STATIC = ("static", "ring")
VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, WIDTH, MLP, LENGTH = 53, 16, 2, 4, 2, 4, 24, 64
WINDOW = 16  # of ring and sliding
EPSILON = 1e-5


def weights(kind, seed):
    random = numpy.random.default_rng(seed)

    def normal(*shape, scale=0.35):
        return (random.standard_normal(shape) * scale).astype(numpy.float32)

    kv = HEADS if kind == "gpt2" else KV_HEADS
    w = {"embed": normal(VOCABULARY, HIDDEN, scale=1.0), "norm": 1 + normal(HIDDEN, scale=0.1),
         "head": normal(HIDDEN, VOCABULARY, scale=0.8)}
    if kind == "gpt2":
        w["places"] = normal(LENGTH, HIDDEN, scale=0.7)
        w["norm_bias"] = normal(HIDDEN, scale=0.1)
    for i in range(LAYERS):
        w[f"q{i}"] = normal(HIDDEN, HEADS * WIDTH)
        w[f"k{i}"] = normal(HIDDEN, kv * WIDTH)
        w[f"v{i}"] = normal(HIDDEN, kv * WIDTH)
        w[f"o{i}"] = normal(HEADS * WIDTH, HIDDEN)
        w[f"up{i}"] = normal(HIDDEN, MLP)
        w[f"down{i}"] = normal(MLP, HIDDEN)
        w[f"norm_a{i}"] = 1 + normal(HIDDEN, scale=0.1)
        w[f"norm_b{i}"] = 1 + normal(HIDDEN, scale=0.1)
        if kind == "gpt2":
            w[f"bias_a{i}"] = normal(HIDDEN, scale=0.1)
            w[f"bias_b{i}"] = normal(HIDDEN, scale=0.1)
        else:
            w[f"gate{i}"] = normal(HIDDEN, MLP)
    return w


def tables():
    angle = numpy.arange(LENGTH)[:, None] / 100.0 ** (numpy.arange(WIDTH // 2) * 2 / WIDTH)[None, :]
    return numpy.cos(angle).astype(numpy.float32), numpy.sin(angle).astype(numpy.float32)


# The reference.

def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def reference_logits(kind, w, ids, window):
    """The logits after the last token, in f64."""
    w = {k: v.astype(numpy.float64) for k, v in w.items()}
    n = len(ids)
    x = w["embed"][ids]
    if kind == "gpt2":
        x = x + w["places"][:n]

    def norm(x, scale, bias):
        if kind == "gpt2":
            x = x - x.mean(-1, keepdims=True)
        y = x / numpy.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w[scale]
        return y + w[bias] if kind == "gpt2" else y

    def rotate(x):  # [n, heads, width]
        if kind == "gpt2":
            return x
        cos, sin = (t[:n, None, :].astype(numpy.float64) for t in tables())
        a, b = x[..., :WIDTH // 2], x[..., WIDTH // 2:]
        return numpy.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    hidden = numpy.triu(numpy.full((n, n), -numpy.inf), 1) + numpy.tril(numpy.full((n, n), -numpy.inf), -window)
    for i in range(LAYERS):
        y = norm(x, f"norm_a{i}", f"bias_a{i}")
        q = rotate((y @ w[f"q{i}"]).reshape(n, HEADS, WIDTH))
        k = rotate((y @ w[f"k{i}"]).reshape(n, -1, WIDTH))
        v = (y @ w[f"v{i}"]).reshape(n, -1, WIDTH)
        k, v = (numpy.repeat(t, HEADS // t.shape[1], axis=1) for t in (k, v))
        p = softmax(numpy.einsum("shd,thd->hst", q, k) / numpy.sqrt(WIDTH) + hidden)
        x = x + numpy.einsum("hst,thd->shd", p, v).reshape(n, -1) @ w[f"o{i}"]
        y = norm(x, f"norm_b{i}", f"bias_b{i}")
        if kind == "gpt2":
            y = numpy.tanh(y @ w[f"up{i}"])
        else:
            g = y @ w[f"gate{i}"]
            y = g / (1 + numpy.exp(-g)) * (y @ w[f"up{i}"])
        x = x + y @ w[f"down{i}"]
    return (norm(x, "norm", "norm_bias") @ w["head"])[-1]


def reference(kind, w, prompt, count, window=LENGTH):
    """Greedy tokens with their log-probabilities, until two tokens are nearly as probable."""
    ids, logs = list(prompt), []
    for _ in range(count):
        logits = reference_logits(kind, w, ids, window)
        best = numpy.sort(logits)[-2:]
        if best[1] - best[0] < 1e-3:
            break
        ids.append(int(logits.argmax()))
        logs.append(float(numpy.log(softmax(logits))[ids[-1]]))
    return {"prompt": list(prompt), "tokens": ids[len(prompt):], "log_probabilities": logs}


# The models.

class Graph:
    def __init__(self, w):
        self.nodes, self.constants, self.count = [], {k: v for k, v in w.items()}, 0

    def constant(self, value, dtype=numpy.int64):
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy.array(value, dtype)
        return name

    def add(self, op, inputs, outputs=None, domain="", **attributes):
        if outputs is None:
            self.count += 1
            outputs = [f"t{self.count}"]
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]


def norm(g, kind, x, scale, bias):
    if kind == "gpt2":
        return g.add("LayerNormalization", [x, scale, bias], epsilon=EPSILON)
    if kind == "genai":
        return g.add("SimplifiedLayerNormalization", [x, scale], epsilon=EPSILON, axis=-1, stash_type=1)
    square = g.add("ReduceMean", [g.add("Mul", [x, x]), g.constant([-1])], keepdims=1)
    root = g.add("Sqrt", [g.add("Add", [square, g.constant(EPSILON, numpy.float32)])])
    return g.add("Mul", [g.add("Div", [x, root]), scale])


def heads(g, x, count):
    split = g.add("Reshape", [x, g.constant([0, 0, count, WIDTH])])
    return g.add("Transpose", [split], perm=[0, 2, 1, 3])


def grown_attention(g, kind, i, y, mask, cos, sin):
    """Attention whose caches grow by Concat."""
    kv = HEADS if kind == "gpt2" else KV_HEADS

    def rotate(x):
        if kind == "gpt2":
            return x
        half = g.constant([WIDTH // 2])
        a = g.add("Slice", [x, g.constant([0]), half, g.constant([3])])
        b = g.add("Slice", [x, half, g.constant([WIDTH]), g.constant([3])])
        turned = g.add("Concat", [g.add("Neg", [b]), a], axis=-1)
        return g.add("Add", [g.add("Mul", [x, cos]), g.add("Mul", [turned, sin])])

    q = rotate(heads(g, g.add("MatMul", [y, f"q{i}"]), HEADS))
    new = {"key": rotate(heads(g, g.add("MatMul", [y, f"k{i}"]), kv)),
           "value": heads(g, g.add("MatMul", [y, f"v{i}"]), kv)}
    parts = []
    for part in ("key", "value"):
        all_of = g.add("Concat", [f"past_key_values.{i}.{part}", new[part]], [f"present.{i}.{part}"], axis=-2)
        if kv != HEADS:
            shape = g.add("Shape", [all_of])
            length = g.add("Gather", [shape, g.constant([2])], axis=0)
            batch = g.add("Gather", [shape, g.constant([0])], axis=0)
            wide = g.add("Concat", [batch, g.constant([kv, HEADS // kv]), length, g.constant([WIDTH])], axis=0)
            flat = g.add("Concat", [batch, g.constant([HEADS]), length, g.constant([WIDTH])], axis=0)
            all_of = g.add("Expand", [g.add("Unsqueeze", [all_of, g.constant([2])]), wide])
            all_of = g.add("Reshape", [all_of, flat])
        parts.append(all_of)
    scores = g.add("MatMul", [q, g.add("Transpose", [parts[0]], perm=[0, 1, 3, 2])])
    scores = g.add("Mul", [scores, g.constant(WIDTH ** -0.5, numpy.float32)])
    p = g.add("Softmax", [g.add("Add", [scores, mask])], axis=-1)
    y = g.add("Transpose", [g.add("MatMul", [p, parts[1]])], perm=[0, 2, 1, 3])
    return g.add("Reshape", [y, g.constant([0, 0, HEADS * WIDTH])])


def packed_attention(g, i, y):
    """Attention of com.microsoft, which projects its input and returns past and new keys and values in one tensor."""
    g.count += 1
    inputs = [y, f"qkv{i}", f"qkv_bias{i}", "mask_of_keys", f"past_{i}"]
    return g.add("Attention", inputs, [f"t{g.count}", f"present_{i}"], domain="com.microsoft", num_heads=HEADS, unidirectional=1)


def sizes(g):
    """The number of past tokens, and with the new ones."""
    def dimension(name, axis):
        return g.add("Gather", [g.add("Shape", [name]), g.constant(axis)], axis=0)

    past = dimension("past_key_values.0.key", 2)
    return past, g.add("Add", [past, dimension("input_ids", 1)])


def table_mask(g):
    """The part of a table of causality that belongs to the tokens, and the mask of the caller."""
    past, total = (g.add("Unsqueeze", [size, g.constant([0])]) for size in sizes(g))
    seen = g.add("Slice", [g.constant(numpy.tril(numpy.ones((1, 1, LENGTH, LENGTH))), bool), past, total, g.constant([2])])
    seen = g.add("Slice", [seen, g.constant([0]), total, g.constant([3])])
    given = g.add("Unsqueeze", [g.add("Cast", ["attention_mask"], to=TensorProto.BOOL), g.constant([1, 2])])
    return g.add("Where", [g.add("And", [seen, given]), g.constant(0, numpy.float32), g.constant(-1e4, numpy.float32)])


def causal_attention(g, i, y):
    q, k, v = (heads(g, g.add("MatMul", [y, f"{p}{i}"]), HEADS) for p in "qkv")
    g.count += 1
    made = g.add("Attention", [q, k, v, "", f"past_key_values.{i}.key", f"past_key_values.{i}.value"],
                 [f"t{g.count}", f"present.{i}.key", f"present.{i}.value"], is_causal=1)
    return g.add("Reshape", [g.add("Transpose", [made], perm=[0, 2, 1, 3]), g.constant([0, 0, HEADS * WIDTH])])


def grown_mask(g, cache_position=False, window=0):
    """A key is visible if the mask of the caller has a 1, and it is not after the query and not before the window."""
    past, total = sizes(g)
    zero, one = g.constant(0), g.constant(1)
    keys = g.add("Range", [zero, total, one])
    queries = "cache_position" if cache_position else g.add("Range", [past, total, one])
    queries = g.add("Unsqueeze", [queries, g.constant([1])])
    seen = g.add("LessOrEqual", [keys, queries])
    if window:
        seen = g.add("And", [seen, g.add("Greater", [keys, g.add("Sub", [queries, g.constant(window)])])])
    given = g.add("Cast", ["attention_mask"], to=TensorProto.BOOL)
    seen = g.add("And", [seen, g.add("Unsqueeze", [given, g.constant([1, 2])])])
    least = float(numpy.finfo(numpy.float32).min)
    return g.add("Where", [seen, g.constant(0, numpy.float32), g.constant(least, numpy.float32)])


def shared_attention(g, i, y):
    qkv = g.add("MatMul", [y, f"qkv{i}"])
    g.count += 1
    inputs = [qkv, "", "", f"past_key_values.{i}.key", f"past_key_values.{i}.value", "seqlens_k", "total_length", "cos",
              "sin"]
    return g.add("GroupQueryAttention", inputs, [f"t{g.count}", f"present.{i}.key", f"present.{i}.value"],
                 domain="com.microsoft", num_heads=HEADS, kv_num_heads=KV_HEADS, do_rotary=1, rotary_interleaved=0)


def static_attention(g, i, y, rings):
    """Attention on a cache of fixed size, with heads in the last axis."""
    q, k, v = (g.add("MatMul", [y, f"{p}{i}"]) for p in "qkv")
    mode = {"mode": "circular"} if i % 2 or rings else {}
    k, v = (g.add("TensorScatter", [f"{part}_cache.{i}", new, "write_indices"], [f"updated_{part}_cache.{i}"], axis=1, **mode)
            for part, new in (("key", k), ("value", v)))
    return g.add("Attention", [q, k, v, "", "", "", "nonpad_kv_seqlen"], is_causal=1, q_num_heads=HEADS, kv_num_heads=HEADS)


def model(kind, w):
    static, packed, transformers, rings = kind in STATIC, kind == "gpt2_packed", kind == "transformers", kind == "ring"
    own_sizes, causal, window = kind == "sizes", kind == "causal", WINDOW if kind == "sliding" else 0
    kind = reference_kind(kind)
    g = Graph(w)
    cos, sin = tables()
    x = g.add("Gather", ["embed", "input_ids"])
    if kind == "genai":
        g.constants.update(cos=cos, sin=sin)
        length = g.add("ReduceSum", ["attention_mask", g.constant([1])], keepdims=0)
        g.add("Cast", [g.add("Sub", [length, g.constant(1)])], ["seqlens_k"], to=TensorProto.INT32)
        total = g.add("Gather", [g.add("Shape", ["attention_mask"]), g.constant(1)], axis=0)
        g.add("Cast", [total], ["total_length"], to=TensorProto.INT32)
        for i in range(LAYERS):
            parts = [g.constants.pop(f"{p}{i}") for p in "qkv"]
            g.constants[f"qkv{i}"] = numpy.concatenate(parts, 1)
        mask = cos_of = sin_of = None
    else:
        mask = None if static or packed or causal else table_mask(g) if own_sizes else grown_mask(g, transformers, window)
        cos_of = sin_of = None
        if packed:
            g.add("Cast", ["attention_mask"], ["mask_of_keys"], to=TensorProto.INT32)
            for i in range(LAYERS):
                parts = [g.constants.pop(f"{p}{i}") for p in "qkv"]
                g.constants[f"qkv{i}"] = numpy.concatenate(parts, 1)
                g.constants[f"qkv_bias{i}"] = numpy.zeros(3 * HEADS * WIDTH, numpy.float32)
        if kind == "gpt2":
            places = g.add("Unsqueeze", [g.add("Range", [*sizes(g), g.constant(1)]), g.constant([0])]) if own_sizes else "position_ids"
            x = g.add("Add", [x, g.add("Gather", ["places", places])])
        else:
            places = g.add("Gather", ["position_ids", g.constant(1)], axis=0) if transformers else "position_ids"
            cos_of, sin_of = (
                g.add("Unsqueeze", [g.add("Gather", [g.constant(numpy.concatenate([t, t], 1), numpy.float32), places]),
                                    g.constant([1])]) for t in (cos, sin))
    for i in range(LAYERS):
        y = norm(g, kind, x, f"norm_a{i}", f"bias_a{i}")
        if static:
            a = static_attention(g, i, y, rings)
        elif packed:
            a = packed_attention(g, i, y)
        elif causal:
            a = causal_attention(g, i, y)
        elif kind == "genai":
            a = shared_attention(g, i, y)
        else:
            a = grown_attention(g, kind, i, y, mask, cos_of, sin_of)
        x = g.add("Add", [x, g.add("MatMul", [a, f"o{i}"])])
        y = norm(g, kind, x, f"norm_b{i}", f"bias_b{i}")
        up = g.add("MatMul", [y, f"up{i}"])
        if kind == "gpt2":
            y = g.add("Tanh", [up])
        else:
            gate = g.add("MatMul", [y, f"gate{i}"])
            y = g.add("Mul", [g.add("Mul", [gate, g.add("Sigmoid", [gate])]), up])
        x = g.add("Add", [x, g.add("MatMul", [y, f"down{i}"])])
    if own_sizes:
        x = g.add("Slice", [x, g.constant([-1]), g.constant([2 ** 31 - 1]), g.constant([1])])
    g.add("MatMul", [norm(g, kind, x, "norm", "norm_bias"), "head"], ["logits"])
    return g


def reference_kind(kind):
    return {"static": "gpt2", "ring": "gpt2", "gpt2_packed": "gpt2", "sizes": "gpt2", "causal": "gpt2", "transformers": "optimum",
            "sliding": "optimum"}.get(kind, kind)


def save(kind, w, file):
    g = model(kind, w)
    kv = HEADS if reference_kind(kind) == "gpt2" else KV_HEADS

    def value(name, dtype, *shape):
        return helper.make_tensor_value_info(name, dtype, list(shape))

    total = "total" if kind == "genai" else "past + sequence"
    inputs = [value("input_ids", TensorProto.INT64, "batch", "sequence")]
    if kind in STATIC:
        inputs += [value(name, TensorProto.INT64, "batch") for name in ("write_indices", "nonpad_kv_seqlen")]
    else:
        inputs.append(value("attention_mask", TensorProto.INT64, "batch", total))
    if kind not in ("genai", "sizes"):
        axes = [3] if kind == "transformers" else []
        inputs.append(value("position_ids", TensorProto.INT64, *axes, "batch", "sequence"))
    if kind == "transformers":
        inputs.append(value("cache_position", TensorProto.INT64, "sequence"))
    outputs = [value("logits", TensorProto.FLOAT, "batch", 1 if kind == "sizes" else "sequence", VOCABULARY)]
    for i in range(LAYERS):
        if kind == "gpt2_packed":
            inputs.append(value(f"past_{i}", TensorProto.FLOAT, 2, "batch", HEADS, "past", WIDTH))
            outputs.append(value(f"present_{i}", TensorProto.FLOAT, 2, "batch", HEADS, total, WIDTH))
            continue
        for part in ("key", "value"):
            if kind in STATIC:
                places = WINDOW if kind == "ring" else "places"
                inputs.append(value(f"{part}_cache.{i}", TensorProto.FLOAT, "batch", places, HEADS * WIDTH))
                outputs.append(value(f"updated_{part}_cache.{i}", TensorProto.FLOAT, "batch", places, HEADS * WIDTH))
                continue
            inputs.append(value(f"past_key_values.{i}.{part}", TensorProto.FLOAT, "batch", kv, "past", WIDTH))
            outputs.append(value(f"present.{i}.{part}", TensorProto.FLOAT, "batch", kv, total, WIDTH))
    constants = [numpy_helper.from_array(v, k) for k, v in g.constants.items()]
    graph = helper.make_graph(g.nodes, kind, inputs, outputs, constants)
    opsets = [helper.make_opsetid("", 24 if kind in STATIC else 23 if kind == "causal" else 18)]
    if kind in ("genai", "gpt2_packed"):
        opsets.append(helper.make_opsetid("com.microsoft", 1))
    made = helper.make_model(graph, opset_imports=opsets, ir_version=11 if kind in STATIC or kind == "causal" else 8)
    made.producer_name = ""
    os.makedirs(os.path.dirname(file), exist_ok=True)
    onnx.save(made, file)


def write_json(path, value):
    with open(os.path.join(HERE, path), "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.write("\n")


def main():
    expected = {}
    for kind, seed, stop in (("genai", 1, 7), ("optimum", 2, 9), ("gpt2", 3, 11), ("static", 4, 11),
                             ("gpt2_packed", 5, 11), ("transformers", 6, 9), ("ring", 12, 11), ("sliding", 13, 9),
                             ("sizes", 14, 11), ("causal", 15, 11)):
        form = reference_kind(kind)
        w = weights(form, seed)
        save(kind, w, os.path.join(HERE, kind, "model.onnx"))
        random = numpy.random.default_rng(10 + seed)
        far = kind in ("ring", "sliding")
        lengths, count, window = ((1, 3, 14, 21, 40), 62, WINDOW) if far else ((1, 3, 8, 11, 20), 24, LENGTH)
        expected[kind] = [reference(form, w, [int(t) for t in random.integers(0, VOCABULARY, n)], min(count, LENGTH - 1 - n), window)
                          for n in lengths]
        if kind == "genai":
            names = {"past_key_names": "past_key_values.%d.key", "past_value_names": "past_key_values.%d.value"}
            write_json("genai/genai_config.json", {"model": {
                "type": "llama", "context_length": LENGTH, "vocab_size": VOCABULARY, "eos_token_id": stop,
                "decoder": {"filename": "model.onnx",
                            "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask", **names},
                            "outputs": {"logits": "logits", "present_key_names": "present.%d.key",
                                        "present_value_names": "present.%d.value"}}},
                "search": {"max_length": LENGTH}})
        else:
            write_json(f"{kind}/config.json", {"model_type": "llama" if form == "optimum" else "gpt2",
                                               "max_position_embeddings": LENGTH, "eos_token_id": stop})
    write_json("expected.json", expected)


if __name__ == "__main__":
    main()
