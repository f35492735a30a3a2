"""frontend.gguf: files with random weights, and the tokens that NumPy computes from them. gguf_stand_in.py replaces PyPI's package gguf
where it is not installed."""

import importlib.util
import json
import os
import sys
import tempfile
import unittest
from unittest import mock

import gguf_stand_in
import numpy as np
import onnx
from poprt import Generator, errors
from poprt.frontend import gguf

VOCABULARY, HIDDEN, LAYERS, HEADS, KV_HEADS, MLP, LENGTH, EPSILON = 48, 64, 2, 4, 2, 96, 64, 1e-5
WIDTH = HIDDEN // HEADS


def setUpModule():
    if importlib.util.find_spec("gguf") is None:
        unittest.enterModuleContext(mock.patch.dict(sys.modules, gguf=gguf_stand_in))


class File:
    """A file with the form of a model: fields by their keys after the architecture, types of tensors by the ends of their names."""

    def __init__(self, architecture="llama", kind="Q8_0", *, tied=True, table="", window=0, width=WIDTH, kv_heads=KV_HEADS, rotated=None,
                 base=1000.0, stretched=False, output_bias=False, vocabulary=VOCABULARY, layers=LAYERS, fused=True, more=(),
                 without=(), tensors=()):
        self.architecture, self.kind, self.tied, self.window, self.vocabulary = architecture, kind, tied, window, vocabulary
        self.width, self.kv_heads, self.rotated, self.base = width, kv_heads, rotated or width, base
        self.table = table or (kind if kind in ("F16", "Q8_0") else "Q8_0")
        self.stretched, self.output_bias, self.layers = stretched, output_bias, layers
        self.gemma, self.phi2, self.phi3 = architecture.startswith("gemma"), architecture == "phi2", architecture == "phi3"
        self.fused = fused and architecture.startswith("phi")
        self.post_norms, self.qk_norms = architecture in ("gemma2", "gemma3"), architecture in ("qwen3", "gemma3")
        self.epsilon = "attention.layer_norm_epsilon" if self.phi2 else "attention.layer_norm_rms_epsilon"
        self.fields = {"context_length": LENGTH, "embedding_length": HIDDEN, "block_count": layers, "feed_forward_length": MLP,
                       "attention.head_count": HEADS, self.epsilon: EPSILON}
        if kv_heads != HEADS:
            self.fields["attention.head_count_kv"] = kv_heads
        if width != WIDTH:
            self.fields.update({"attention.key_length": width, "attention.value_length": width})
        if rotated:
            self.fields["rope.dimension_count"] = rotated
        if base != 10000.0:
            self.fields["rope.freq_base"] = base
        if window:
            self.fields["attention.sliding_window"] = window
        self.general = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "default",
                        "tokenizer.ggml.tokens": [chr(ord("a") + i) if i < 26 else f"<{i}>" for i in range(VOCABULARY)],
                        "tokenizer.ggml.token_type": [1 if i < 26 else 3 for i in range(VOCABULARY)],
                        "tokenizer.ggml.merges": ["a b"], "tokenizer.ggml.eos_token_id": VOCABULARY - 1}
        for key, value in dict(more).items():
            (self.general if key.startswith(("tokenizer.", "split.")) else self.fields)[key] = value
        self.without, self.tensors = without, tensors

    def field(self, key, default):
        return default if key in self.without else self.fields.get(key, default)

    def window_of(self, i):
        """The window of layer i, or 0."""
        period = self.field("attention.sliding_window_pattern", {"gemma2": 2, "gemma3": 6}.get(self.architecture, 0))
        if period and (i + 1) % period == 0:
            return 0
        return self.field("attention.sliding_window", 4096 if self.architecture == "gemma2" else 0)

    def frequencies(self, i, factors):
        """The angles by which layer i rotates the elements of two neighbouring tokens."""
        base, stretch = self.field("rope.freq_base", 10000.0), self.field("rope.scaling.factor", 1.0)
        if self.field("rope.scaling.type", "") == "none":
            stretch = 1.0
        if self.window_of(i) and self.architecture == "gemma3":
            base, stretch = self.field("rope.freq_base_swa", 10000.0), 1.0
        return 1.0 / base ** (np.arange(0, self.rotated, 2) / self.rotated) / stretch / factors

    def write(self, path):
        """Writes the file and returns its weights, rounded as in the file."""
        import gguf as library

        random = np.random.default_rng(7)
        writer = library.GGUFWriter(path, self.architecture)
        for key, value in [*((f"{self.architecture}.{k}", v) for k, v in self.fields.items()), *self.general.items()]:
            if key in self.without or key.partition(".")[2] in self.without:
                continue
            adders = {str: writer.add_string, float: writer.add_float32, list: writer.add_array, bool: writer.add_bool}
            adders.get(type(value), writer.add_uint32)(key, value)
        weights = {}

        def add_tensor(name, *shape, scale, how):
            value = (random.standard_normal(shape) * scale).astype(np.float32)
            value = 1 + value if name.endswith("norm.weight") else np.abs(value) + 1 if name.startswith("rope") else value
            kind = getattr(library.GGMLQuantizationType, how)
            data = library.quants.quantize(value, kind)
            weights[name] = library.quants.dequantize(data, kind).astype(np.float64)
            if name not in self.without:
                writer.add_tensor(name, data, raw_dtype=kind)

        if self.stretched:
            add_tensor("rope_freqs.weight", self.rotated // 2, scale=1.0, how="F32")
        add_tensor("token_embd.weight", self.vocabulary, HIDDEN, scale=1.0, how=self.table)
        if not self.tied:
            add_tensor("output.weight", self.vocabulary, HIDDEN, scale=0.3, how=self.kind)
        if self.output_bias:
            add_tensor("output.bias", self.vocabulary, scale=3.0, how="F32")
        add_tensor("output_norm.weight", HIDDEN, scale=0.1, how="F32")
        if self.phi2:
            add_tensor("output_norm.bias", HIDDEN, scale=0.3, how="F32")
        query, keys = HEADS * self.width, self.kv_heads * self.width
        for i in range(self.layers):
            block = f"blk.{i}."
            rows_of = {"attn_q": query, "attn_k": keys, "attn_v": keys}
            if self.fused:
                rows_of = {"attn_qkv": query + 2 * keys}
            rows_of.update({"attn_output": HIDDEN, "ffn_gate": MLP, "ffn_up": MLP * (1 + self.phi3), "ffn_down": HIDDEN})
            if self.phi2 or self.phi3:
                del rows_of["ffn_gate"]
            for name, rows in rows_of.items():
                columns = {"attn_output": query, "ffn_down": MLP}.get(name, HIDDEN)
                add_tensor(block + name + ".weight", rows, columns, scale=0.25, how=self.kind)
                if self.phi2 or self.architecture == "qwen2" and name in ("attn_q", "attn_k", "attn_v"):
                    add_tensor(block + name + ".bias", rows, scale=0.3, how="F32")
            norms = ["attn_norm", *["ffn_norm"] * (not self.phi2), *["post_attention_norm", "post_ffw_norm"] * self.post_norms]
            for name in norms:
                add_tensor(f"{block}{name}.weight", HIDDEN, scale=0.1, how="F32")
                if self.phi2:
                    add_tensor(f"{block}{name}.bias", HIDDEN, scale=0.3, how="F32")
            if self.qk_norms:
                add_tensor(block + "attn_q_norm.weight", self.width, scale=0.1, how="F32")
                add_tensor(block + "attn_k_norm.weight", self.width, scale=0.1, how="F32")
        for name in self.tensors:
            add_tensor(name, 8, scale=1.0, how="F32")
        writer.write_header_to_file()
        writer.write_kv_data_to_file()
        writer.write_tensors_to_file()
        writer.close()
        return weights


def reference_logits(form, w, ids):
    """The logits after each of the tokens, in 64 bits."""
    width, rotated, n = form.width, form.rotated, len(ids)

    def norm(x, name):
        if form.phi2:
            x = x - x.mean(-1, keepdims=True)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPSILON) * w[name + ".weight"] + w.get(name + ".bias", 0)

    def linear(x, name):
        return x @ w[name + ".weight"].T + w.get(name + ".bias", 0)

    def rotate(whole, frequency):
        x, rest = whole[..., :rotated], whole[..., rotated:]
        angle = np.arange(len(x))[:, None, None] * frequency
        cos, sin = np.cos(angle), np.sin(angle)
        y = np.empty_like(x)
        if form.architecture == "llama":  # pairs of neighbours
            a, b = x[..., 0::2], x[..., 1::2]
            y[..., 0::2], y[..., 1::2] = a * cos - b * sin, b * cos + a * sin
        else:
            a, b = np.split(x, 2, -1)
            y = np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)
        return np.concatenate([y, rest], -1)

    def active(x):
        if form.gemma or form.phi2:
            return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
        return x / (1 + np.exp(-x))

    def capped(x, cap):
        return cap * np.tanh(x / cap) if cap else x

    def attention(y, i):
        block, age = f"blk.{i}.", np.arange(n)[:, None] - np.arange(n)
        query, keys = HEADS * width, form.kv_heads * width
        if form.fused:
            parts = np.split(linear(y, block + "attn_qkv"), [query, query + keys], -1)
        else:
            parts = [linear(y, f"{block}attn_{p}") for p in "qkv"]
        q, k, v = (part.reshape(n, -1, width) for part in parts)
        if form.qk_norms:
            q, k = norm(q, block + "attn_q_norm"), norm(k, block + "attn_k_norm")
        frequency = form.frequencies(i, w.get("rope_freqs.weight", 1))
        q, k = rotate(q, frequency), np.repeat(rotate(k, frequency), HEADS // form.kv_heads, 1)
        v = np.repeat(v, HEADS // form.kv_heads, 1)
        large = form.layers == {"gemma2": 46, "gemma3": 62}.get(form.architecture)
        scores = np.einsum("shd,thd->hst", q, k) / np.sqrt(HIDDEN // HEADS if large else width)
        if form.architecture == "gemma2":
            scores = capped(scores, form.field("attn_logit_softcapping", 50.0))
        scores[:, (age < 0) | (age >= (form.window_of(i) or n))] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        y = np.einsum("hst,thd->shd", p / p.sum(-1, keepdims=True), v).reshape(n, -1)
        return linear(y, block + "attn_output")

    def mlp(y, block):
        up = linear(y, block + "ffn_up")
        if form.phi2:
            return linear(active(up), block + "ffn_down")
        gate, up = np.split(up, 2, -1) if form.phi3 else (linear(y, block + "ffn_gate"), up)
        return linear(active(gate) * up, block + "ffn_down")

    x = w["token_embd.weight"][ids]
    if form.gemma:
        x = x * np.sqrt(HIDDEN)
    for i in range(form.layers):
        block = f"blk.{i}."
        y = norm(x, block + "attn_norm")
        attended = attention(y, i)
        if form.phi2:
            x = x + attended + mlp(y, block)
            continue
        x = x + (norm(attended, block + "post_attention_norm") if form.post_norms else attended)
        y = mlp(norm(x, block + "ffn_norm"), block)
        x = x + (norm(y, block + "post_ffw_norm") if form.post_norms else y)
    logits = norm(x, "output_norm") @ w.get("output.weight", w["token_embd.weight"]).T + w.get("output.bias", 0)
    return capped(logits, form.field("final_logit_softcapping", 30.0 if form.architecture == "gemma2" else 0.0))


def reference(form, w, prompt, count):
    """Greedy tokens, each from the whole text, until two tokens are nearly as probable."""
    ids = list(prompt)
    for _ in range(count):
        logits = reference_logits(form, w, ids)[-1]
        best = np.sort(logits)[-2:]
        if best[1] - best[0] < 1e-2:
            break
        ids.append(int(logits.argmax()))
    return ids[len(prompt):]


def generated_logits(folder, ids, prompt, **options):
    """The logits after each token from the last one of the prompt on, if the generator chooses these tokens."""
    found, following = [], ids[prompt:] + [0]

    def choose(logits):
        found.append(np.array(logits, np.float64))
        forced = np.zeros_like(logits)
        forced[following[len(found) - 1]] = 1000
        return forced

    with Generator(folder, **options) as g:
        list(g.generate(ids[:prompt], max_new_tokens=len(following), ignore_stop=1, logits_processor=choose))
    return np.array(found)


class Gguf(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path, self.made = os.path.join(self.folder, "m.gguf"), os.path.join(self.folder, "m")

    def check(self, form, **options):
        weights = form.write(self.path)
        self.assertEqual(gguf(self.path, self.made, **options), self.made)
        compared = 0
        with Generator(self.made, prefill=8) as g:
            self.assertEqual((g.vocabulary, g.max_length), (form.vocabulary, LENGTH))
            for prompt in ([5], [9, 2, 40], list(range(20, 31))):
                wanted = reference(form, weights, prompt, 16)
                got = list(g.generate(prompt, max_new_tokens=max(len(wanted), 1), ignore_stop=1))
                self.assertEqual(got[:len(wanted)], wanted)
                compared += len(wanted)
        self.assertGreater(compared, 20)

    def test_every_type_gives_the_tokens_of_the_reference(self):
        for form in (File("llama", "Q4_0", tied=False), File("llama", "Q4_1"), File("llama", "Q8_0"), File("llama", "F16", tied=False),
                     File("llama", "BF16", tied=False), File("llama", "F32"), File("llama", "Q8_0", tied=False, window=5),
                     File("qwen2", "Q4_0", tied=False), File("qwen3", "Q4_1", tied=False)):
            with self.subTest(architecture=form.architecture, kind=form.kind, window=form.window):
                self.check(form)

    def test_fields_and_tensors_that_a_model_may_have(self):
        for name, form in (("as many heads of keys", File(kv_heads=HEADS)), ("a width of its own", File(width=32)),
                           ("rotated in part", File("qwen2", rotated=8)), ("base of angles", File(base=10000.0)),
                           ("stretched positions", File(stretched=True)), ("bias of the output", File(tied=False, output_bias=True)),
                           ("tied 4-bit table", File(kind="Q4_0", table="Q4_0")), ("32-bit table", File(table="F32")),
                           ("unscaled positions", File(more={"rope.scaling.type": "none", "expert_count": 0, "attention.value_length": WIDTH})),
                           ("more tokens than the tokenizer", File(vocabulary=VOCABULARY + 3))):
            with self.subTest(name):
                self.check(form)

    def check_logits(self, form):
        weights = form.write(self.path)
        gguf(self.path, self.made)
        ids = [int(token) for token in np.random.default_rng(3).integers(0, form.vocabulary, 40)]
        wanted = reference_logits(form, weights, ids)
        self.assertGreater(np.std(wanted), 1)
        for prompt in (1, 24):  # in one step for each token, and in pieces of 8
            got = generated_logits(self.made, ids, prompt, prefill=8)
            np.testing.assert_allclose(got, wanted[prompt - 1:], rtol=0, atol=5e-4)

    def test_logits_of_gemma(self):
        window = {"attention.sliding_window": 5}
        linear = {"rope.scaling.type": "linear", "rope.scaling.factor": 8.0}
        for name, form in (
                ("one head of keys", File("gemma", "Q8_0", width=32, kv_heads=1)),
                ("16 bits", File("gemma", "F16")),
                ("caps without keys", File("gemma2", "Q4_0", width=32, layers=3)),
                ("strong caps", File("gemma2", "Q8_0", layers=4, more={**window, "attn_logit_softcapping": 2.0,
                                                                                       "final_logit_softcapping": 10.0})),
                ("no caps", File("gemma2", "F32", more={**window, "attn_logit_softcapping": 0.0, "final_logit_softcapping": 0.0})),
                ("stretched", File("gemma2", "F16", layers=4, more={**window, **linear})),
                ("every third layer reads all", File("gemma2", "F32", layers=5, more={**window, "attention.sliding_window_pattern": 3})),
                ("27 billion", File("gemma2", "F32", width=32, layers=46, more=window)),
                ("five layers with windows", File("gemma3", "Q8_0", width=32, layers=7, base=1e6, more=window)),
                ("stretched in layers that read all", File("gemma3", "Q4_0", layers=7, base=1e6, more={**window, **linear})),
                ("base and pattern", File("gemma3", "F16", layers=4, base=1e6, more={**window, "rope.freq_base_swa": 500.0,
                                                                                    "attention.sliding_window_pattern": 3})),
                ("no window", File("gemma3", "Q8_0", layers=3, base=1e5, tied=False, more={"final_logit_softcapping": 10.0})),
                ("27 billion", File("gemma3", "F32", width=32, layers=62, base=1e6, more=window))):
            with self.subTest(name, architecture=form.architecture):
                self.check_logits(form)

    def test_logits_of_phi(self):
        for name, form in (("fused", File("phi3", "Q4_0", tied=False)), ("tied", File("phi3", "Q8_0", kv_heads=HEADS)),
                           ("not fused", File("phi3", "Q8_0", fused=False, tied=False)),
                           ("window", File("phi3", "F16", window=5, tied=False)),
                           ("rotated in part", File("phi3", "F32", rotated=8, base=10000.0, tied=False)),
                           ("stretched", File("phi3", "Q4_1", tied=False, more={"rope.scaling.factor": 4.0})),
                           ("fused", File("phi2", "Q4_0", tied=False, output_bias=True)),
                           ("as released", File("phi2", "F16", fused=False, kv_heads=HEADS, rotated=8, base=10000.0, tied=False,
                                                output_bias=True))):
            with self.subTest(name, architecture=form.architecture):
                self.check_logits(form)

    def test_logits_of_stretched_positions(self):
        for scaling in ({"rope.scaling.type": "linear", "rope.scaling.factor": 4.0}, {"rope.scaling.factor": 4.0},
                        {"rope.scaling.type": "none", "rope.scaling.factor": 4.0}, {"rope.scaling.type": "linear"}):
            for architecture in ("llama", "qwen3"):
                with self.subTest(architecture, **{key.rpartition(".")[2]: value for key, value in scaling.items()}):
                    self.check_logits(File(architecture, more=scaling))

    def test_layers_without_keys_have_the_windows_of_the_architecture(self):
        def attributes(form):
            form.write(self.path)
            gguf(self.path, self.made)
            graph = onnx.load(os.path.join(self.made, "model.onnx")).graph
            nodes = [n for n in graph.node if n.op_type == "GroupQueryAttention"]
            return [({a.name: onnx.helper.get_attribute_value(a) for a in n.attribute}, n.input[7]) for n in nodes]

        found = attributes(File("gemma2", layers=4))
        self.assertEqual([(a.get("local_window_size"), a["softcap"], table) for a, table in found],
                         [(4096, 50, "cos"), (None, 50, "cos")] * 2)
        found = attributes(File("gemma3", layers=13, base=1e6, more={"attention.sliding_window": 512}))
        self.assertEqual([(a.get("local_window_size"), table) for a, table in found],
                         ([(512, "local_cos")] * 5 + [(None, "cos")]) * 2 + [(512, "local_cos")])
        for architecture in ("gemma", "gemma3", "phi2", "phi3"):
            found = attributes(File(architecture))
            self.assertEqual([set(a) & {"local_window_size", "softcap", "scale"} for a, _ in found], [set()] * LAYERS)
        for architecture, kind in (("gemma", "gemma"), ("gemma2", "gemma2"), ("gemma3", "gemma3_text"), ("phi2", "phi"), ("phi3", "phi3")):
            File(architecture).write(self.path)
            gguf(self.path, self.made)
            self.assertEqual(self.json("genai_config.json")["model"]["type"], kind)

    def test_keys_and_tensors_that_change_nothing_are_read(self):
        neutral = {"vocab_size": VOCABULARY, "tensor_data_layout": "Meta", "rope.scaling.original_context_length": 32,
                   "rope.scaling.finetuned": True, "expert_used_count": 0, "attention.causal": True, "attention.max_alibi_bias": 0.0,
                   "attention.clamp_kqv": 0.0, "rope.scaling.attn_factor": 1.0, "rope.scale_linear": 1.0,
                   "attn_logit_softcapping": 0.0}
        for architecture in ("llama", "gemma", "gemma3", "phi2", "phi3"):
            with self.subTest(architecture):
                self.check_logits(File(architecture, more={**neutral, "attention.sliding_window": 0}))

    def test_weights_keep_their_bits_and_the_level_of_accuracy(self):
        stored = {"Q4_0": 4, "Q4_1": 4, "Q8_0": 8}
        for kind in (*stored, "F16", "F32"):
            File(kind=kind, tied=False).write(self.path)
            for level in (0, 4):
                gguf(self.path, self.made, accuracy_level=level)
                model = onnx.load(os.path.join(self.made, "model.onnx"))
                products = [{a.name: a.i for a in n.attribute} for n in model.graph.node if n.op_type == "MatMulNBits"]
                with self.subTest(kind=kind, level=level):
                    self.assertEqual(len(products), 15 * (kind in stored))
                    self.assertEqual({(p["bits"], p["block_size"], p.get("accuracy_level", 0)) for p in products},
                                     {(stored[kind], 32, level)} if kind in stored else set())
        table = {t.name: t for t in model.graph.initializer}["embedding"]
        self.assertEqual(table.data_type, onnx.TensorProto.UINT8)  # the table is Q8_0
        weights = [t.data_type for t in model.graph.initializer if t.name.startswith("blk.") and "norm" not in t.name]
        self.assertEqual(set(weights), {onnx.TensorProto.FLOAT})

    def test_sums_of_blocks_are_computed_once_for_each_input(self):
        File(kind="Q4_1").write(self.path)
        gguf(self.path, self.made)
        operators = [n.op_type for n in onnx.load(os.path.join(self.made, "model.onnx")).graph.node]
        self.assertEqual(operators.count("ReduceSum"), 1 + 4 * LAYERS)  # one for the mask; q, k and v share one, and gate and up, too

    def test_the_folder_is_written_anew(self):
        sizes = []
        for _ in range(2):
            File(tied=False).write(self.path)
            gguf(self.path, self.made)
            sizes.append(os.path.getsize(os.path.join(self.made, "model.onnx.data")))
        self.assertEqual(sizes[0], sizes[1])
        model = onnx.load(os.path.join(self.made, "model.onnx"), load_external_data=False)
        self.assertEqual({(o.domain, o.version) for o in model.opset_import}, {("", 18), ("com.microsoft", 1)})
        self.assertEqual((model.ir_version, model.producer_name, model.graph.name), (8, "poprt.frontend.gguf", "llama"))
        outside = {t.name for t in model.graph.initializer if t.data_location == onnx.TensorProto.EXTERNAL}
        self.assertLess({"embedding", "cos", "blk.0.attn_q.weight"}, outside)
        shapes = {v.name: [d.dim_param or d.dim_value for d in v.type.tensor_type.shape.dim] for v in (*model.graph.input, *model.graph.output)}
        self.assertEqual(shapes["past_key_values.1.value"], ["batch", KV_HEADS, "past", WIDTH])
        self.assertEqual(shapes["present.0.key"], ["batch", KV_HEADS, "past", WIDTH])
        self.assertEqual((shapes["attention_mask"], shapes["logits"]), (["batch", "total"], ["batch", "sequence", VOCABULARY]))

    def json(self, name):
        with open(os.path.join(self.made, name), encoding="utf-8") as file:
            return json.load(file)

    def test_the_folder_has_a_tokenizer(self):
        File(more={"tokenizer.chat_template": "{{ größe }}", "tokenizer.ggml.bos_token_id": 3}).write(self.path)
        gguf(self.path, self.made)
        tokenizer = self.json("tokenizer.json")
        self.assertEqual({k: v for k, v in tokenizer.items() if k not in ("added_tokens", "pre_tokenizer", "decoder", "model")},
                         {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None})
        self.assertEqual(tokenizer["model"]["vocab"], {chr(ord("a") + i) if i < 26 else f"<{i}>": i for i in range(VOCABULARY)})
        self.assertEqual(tokenizer["model"]["merges"], [["a", "b"]])
        self.assertEqual([t["id"] for t in tokenizer["added_tokens"]], list(range(26, VOCABULARY)))
        self.assertEqual(tokenizer["added_tokens"][0], {"id": 26, "content": "<26>", "single_word": False, "lstrip": False, "rstrip": False,
                                                        "normalized": False, "special": True})
        level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        self.assertEqual(tokenizer["pre_tokenizer"], {"type": "Sequence", "pretokenizers": [level]})
        self.assertEqual(tokenizer["decoder"], level)
        self.assertEqual({k: v for k, v in tokenizer["model"].items() if k not in ("vocab", "merges")},
                         {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                          "fuse_unk": False, "byte_fallback": False})
        self.assertEqual(self.json("genai_config.json"), {"model": {
            "type": "llama", "context_length": LENGTH, "eos_token_id": [VOCABULARY - 1], "vocab_size": VOCABULARY,
            "decoder": {"filename": "model.onnx", "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask"},
                        "outputs": {"logits": "logits"}}}})
        self.assertEqual(self.json("tokenizer_config.json"), {"chat_template": "{{ größe }}", "bos_token": "d",
                                                              "eos_token": f"<{VOCABULARY - 1}>"})
        with open(os.path.join(self.made, "tokenizer_config.json"), encoding="utf-8") as file:
            self.assertIn("größe", file.read())

    def test_texts_are_split_as_the_tokenizer_of_the_model_does(self):
        kinds = {"llama-bpe": (["Split", "ByteLevel"], r"\p{N}{1,3}"), "qwen2": (["Split", "ByteLevel"], r"|\p{N}|"),
                 "smollm": (["Digits", "ByteLevel"], ""), "gpt-2": (["ByteLevel"], "")}
        for before, (steps, numbers) in kinds.items():
            File(more={"tokenizer.ggml.pre": before}).write(self.path)
            gguf(self.path, self.made)
            found = self.json("tokenizer.json")["pre_tokenizer"]["pretokenizers"]
            with self.subTest(before):
                self.assertEqual([step["type"] for step in found], steps)
                self.assertEqual(found[-1]["use_regex"], "Split" not in steps)  # with Split, ByteLevel does not use its own expression
                if numbers:
                    self.assertIn(numbers, found[0]["pattern"]["Regex"])
                    self.assertEqual((found[0]["behavior"], found[0]["invert"]), ("Isolated", False))
                if before == "smollm":
                    self.assertTrue(found[0]["individual_digits"])

    def test_kinds_of_tokens_and_ends(self):
        types = [1] * 40 + [3, 4, 2, 6, 5, 1, 4, 3]
        File(more={"tokenizer.ggml.token_type": types, "tokenizer.ggml.eot_token_id": 40, "tokenizer.ggml.eos_token_id": 0}).write(self.path)
        gguf(self.path, self.made)
        self.assertEqual([(t["id"], t["special"]) for t in self.json("tokenizer.json")["added_tokens"]],
                         [(40, True), (41, False), (46, False), (47, True)])
        self.assertEqual(self.json("genai_config.json")["model"]["eos_token_id"], [0, 40])
        File(more={"tokenizer.ggml.eot_token_id": VOCABULARY - 1}, without=("tokenizer.ggml.token_type", "tokenizer.ggml.merges",
                                                                             "tokenizer.ggml.pre")).write(self.path)
        gguf(self.path, self.made)
        self.assertEqual(self.json("genai_config.json")["model"]["eos_token_id"], [VOCABULARY - 1])
        self.assertEqual((self.json("tokenizer.json")["added_tokens"], self.json("tokenizer.json")["model"]["merges"]), ([], []))
        File(without=("tokenizer.ggml.eos_token_id",)).write(self.path)
        gguf(self.path, self.made)
        self.assertEqual(self.json("genai_config.json")["model"]["eos_token_id"], [])

    def test_tokenizers_that_are_not_converted_cause_a_warning(self):
        for more, without, text in (({"tokenizer.ggml.model": "llama"}, (), "m.gguf': a tokenizer of kind 'llama' is not converted"),
                                    ({}, ("tokenizer.ggml.model",), "a tokenizer of kind '' is not converted"),
                                    ({"tokenizer.ggml.pre": "tekken"}, (), "m.gguf': the tokenizer 'tekken' is not known")):
            File(more=more, without=without).write(self.path)
            made = os.path.join(self.folder, text[-12:])
            with self.subTest(text), self.assertLogs("poprt", "WARNING") as logs:
                gguf(self.path, made)
            self.assertIn(text, logs.output[0])
            self.assertFalse(os.path.exists(os.path.join(made, "tokenizer.json")))
            with open(os.path.join(made, "tokenizer_config.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), {"chat_template": "", "eos_token": f"<{VOCABULARY - 1}>"})

    @unittest.skipIf(importlib.util.find_spec("tokenizers") is None, "there is no package tokenizers")
    def test_texts_are_those_of_the_tokens(self):
        File(more={"tokenizer.ggml.merges": []}).write(self.path)
        folder = gguf(self.path, self.made)
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
        for form, kind, text in (
                (File("gemma3n"), errors.UnimplementedError,
                 "wrong.gguf': architecture 'gemma3n'; known are llama, qwen2, qwen3, gemma, gemma2, gemma3, phi2, phi3"),
                (File(more={"rope.scaling.type": "yarn"}), errors.UnimplementedError, r"scaled positions \(yarn\)"),
                (File("phi3", more={"rope.scaling.type": "longrope"}), errors.UnimplementedError, r"scaled positions \(longrope\)"),
                (File(more={"attention.value_length": 2 * WIDTH}), errors.UnimplementedError, "keys and values of different widths"),
                (File(more={"expert_count": 8}), errors.UnimplementedError, "a mixture of experts"),
                (File(more={"expert_used_count": 2}), errors.UnimplementedError,
                 r"the key 'llama.expert_used_count' \(2\) is not supported"),
                (File(more={"logit_scale": 2.0}), errors.UnimplementedError, r"the key 'llama.logit_scale' \(2.0\) is not supported"),
                (File(more={"attention.causal": False}), errors.UnimplementedError,
                 "the key 'llama.attention.causal' .False. is not supported"),
                (File(more={"attention.head_count_kv": [2, 1]}), errors.UnimplementedError,
                 "the key 'llama.attention.head_count_kv' has a value for each layer"),
                (File("gemma", window=5), errors.UnimplementedError, r"the key 'gemma.attention.sliding_window' \(5\) is not supported"),
                (File("gemma3", more={"attn_logit_softcapping": 50.0}), errors.UnimplementedError,
                 r"the key 'gemma3.attn_logit_softcapping' \(50.0\) is not supported"),
                (File("gemma3", more={"attention.sliding_window_pattern": 1}), errors.UnimplementedError,
                 r"the key 'gemma3.attention.sliding_window_pattern' \(1\)"),
                (File("gemma3", more={"attention.sliding_window_pattern": [True, False]}), errors.UnimplementedError,
                 "the key 'gemma3.attention.sliding_window_pattern' has a value for each layer"),
                (File("phi3", more={"rope.scaling.attn_factor": 1.19}), errors.UnimplementedError,
                 r"the key 'phi3.rope.scaling.attn_factor' \(1.19"),
                (File("phi3", tensors=("rope_factors_long.weight",)), errors.UnimplementedError,
                 r"the tensor 'rope_factors_long.weight' is not supported \(phi3\)"),
                (File("gemma2", stretched=True), errors.UnimplementedError, r"the tensor 'rope_freqs.weight' is not supported \(gemma2\)"),
                (File(more={"split.count": 2}), errors.UnimplementedError, "a part of a model"),
                (File("gemma2", without=("blk.0.post_ffw_norm.weight",)), errors.InvalidArgumentError,
                 "the tensor 'blk.0.post_ffw_norm.weight' is missing"),
                (File("gemma3", without=("blk.1.attn_k_norm.weight",)), errors.InvalidArgumentError,
                 "the tensor 'blk.1.attn_k_norm.weight' is missing"),
                (File("phi2", without=("output_norm.bias",)), errors.InvalidArgumentError, "the tensor 'output_norm.bias' is missing"),
                (File(without=("block_count",)), errors.InvalidArgumentError, "wrong.gguf': the key 'llama.block_count' is missing"),
                (File(without=("blk.1.ffn_up.weight",)), errors.InvalidArgumentError, "the tensor 'blk.1.ffn_up.weight' is missing")):
            form.write(path)
            with self.subTest(text), self.assertRaisesRegex(kind, text):
                gguf(path, os.path.join(self.folder, "out"))
            self.assertFalse(os.path.exists(os.path.join(self.folder, "out")))

    def test_a_missing_package_is_an_error_with_its_installation(self):
        File().write(self.path)
        with mock.patch.dict(sys.modules, gguf=None), self.assertRaisesRegex(ImportError, "frontend.gguf needs .*pip install gguf"):
            gguf(self.path, self.made)


if __name__ == "__main__":
    unittest.main()
