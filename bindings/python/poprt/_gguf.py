"""Language models of llama.cpp's GGUF files as folders for a Generator.

A linear layer becomes MatMulNBits with the quantised weights of the file:

    Q4_0   d * (q - 8)     4 bits, scale d, zero point 8
    Q4_1   d * q + m       4 bits, scale d, zero point 8, and a product of the sums of blocks of x with m + 8 d
    Q8_0   d * q           8 bits, scale d, zero point 128 (q + 128 is stored)
    F16, BF16, F32         MatMul
    others                 MatMul with the widened weights

GGUF stores numbers j and j + 16 of a block of 32 in one byte; MatMulNBits stores numbers 2 j and 2 j + 1.
"""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any, Optional, Union

import numpy as np

from ._onnx import onnx, package
from .errors import FileMissingError, InvalidArgumentError, UnimplementedError, _path
from .utils import get_logger

__all__ = ["gguf"]

_BLOCK = 32


@dataclasses.dataclass(frozen=True)
class _Form:
    """The facts about an architecture that its files do not contain."""

    kind: str = ""  # model.type in genai_config.json, if it differs from the architecture
    interleaved: int = 0  # 1: rotated elements are neighbours
    rope_factors: bool = False  # rope_freqs.weight divides the frequencies, if the file contains it
    qk_norms: bool = False
    fused: bool = False  # attn_qkv may contain the weights of q, k and v, and ffn_up those of the gate before its own
    gelu: bool = False  # Gelu by tanh instead of SiLU
    scaled_embedding: bool = False  # the rows of the table are multiplied by sqrt(hidden)
    post_norms: bool = False  # norms of the results of attention and of the MLP
    layer_norm: bool = False  # norms subtract the mean and have a bias; the MLP has no gate and reads what attention reads
    window: Optional[int] = 0  # without its key; None: there is no such key
    period: int = 0  # every period-th layer reads the whole text, the others read a window; 0: all read a window
    local_base: float = 0.0  # of rotations in layers with a window, without its key; 0: that of the other layers
    score_cap: Optional[float] = None  # without its key; None: there is no such key
    logit_cap: Optional[float] = None  # likewise
    largest: int = 0  # with this number of layers, scores are divided by sqrt(hidden / heads)


_FORMS = {
    "llama": _Form(interleaved=1, rope_factors=True),
    "qwen2": _Form(),
    "qwen3": _Form(qk_norms=True),
    "gemma": _Form(gelu=True, scaled_embedding=True, window=None),
    "gemma2": _Form(gelu=True, scaled_embedding=True, post_norms=True, window=4096, period=2, score_cap=50.0,
                    logit_cap=30.0, largest=46),
    "gemma3": _Form(kind="gemma3_text", gelu=True, scaled_embedding=True, post_norms=True, qk_norms=True, period=6,
                    local_base=10000.0, logit_cap=0.0, largest=62),
    "phi2": _Form(kind="phi", gelu=True, fused=True, layer_norm=True, window=None),
    "phi3": _Form(fused=True),
}
# Keys after the architecture that change nothing, and keys with the only values that change nothing.
_DESCRIPTIONS = {"vocab_size", "feed_forward_length", "tensor_data_layout", "rope.scaling.original_context_length",
                 "rope.scaling.finetuned"}
_NEUTRAL = {"expert_count": 0, "expert_used_count": 0, "attention.causal": True, "attention.sliding_window": 0,
            "attention.max_alibi_bias": 0.0, "attention.clamp_kqv": 0.0, "attn_logit_softcapping": 0.0,
            "final_logit_softcapping": 0.0, "rope.scaling.attn_factor": 1.0, "rope.scale_linear": 1.0}
# Regular expressions by which pre-tokenizers split text; the others of llama.cpp are not known here.
_LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
_SPLITS = {"llama-bpe": _LLAMA3, "qwen2": _LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")}


def gguf(path: Union[str, os.PathLike[str]], folder: Union[str, os.PathLike[str]], *, accuracy_level: int = 0) -> str:
    """Converts a GGUF file of a Llama, SmolLM, Mistral, Qwen, Gemma or Phi model to a folder for
    :class:`poprt.Generator`, and returns the folder. The architectures are llama, qwen2, qwen3, gemma, gemma2, gemma3
    (its language model), phi2 and phi3 (without longrope). Scaled positions of the types none and linear are known; a
    file with another key or tensor that may change results raises UnimplementedError with its name. The folder contains
    genai_config.json, model.onnx with its data, tokenizer_config.json, and tokenizer.json if the tokenizer is a known
    byte-level BPE. Q4_0, Q4_1 and Q8_0 weights stay as they are. ``accuracy_level`` is that of MatMulNBits: with 4,
    products are faster and may round activations to 8 bits, as llama.cpp does; with 0, they do not. The window of phi3
    is that of its key, which llama.cpp ignores. Needs the packages gguf and onnx. Since 1.0."""
    source, target = _path("path", path), _path("folder", folder)
    library = package("gguf", "frontend.gguf", "python3 -m pip install gguf")
    if not os.path.exists(source):
        raise FileMissingError(f"there is no file '{source}'")
    try:
        reader = library.GGUFReader(source)
    except (ValueError, IndexError, OverflowError) as error:
        raise InvalidArgumentError(f"'{source}' is no GGUF file: {error}") from None
    return _Converter(reader, library, source, accuracy_level).write(target)


class _Converter:
    def __init__(self, reader: Any, library: Any, source: str, accuracy_level: int):
        self.reader, self.library, self.source = reader, library, source
        self.accuracy_level = accuracy_level
        self.sums: dict[str, str] = {}  # from the name of a value to the name of the sums of its blocks
        self.onnx = onnx("frontend.gguf")
        self.tensors = {tensor.name: tensor for tensor in reader.tensors}
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.count = 0
        self.read: set[str] = set()  # the names of the fields and tensors that were used
        self.architecture = self.field("general.architecture")
        if self.architecture not in _FORMS:
            raise UnimplementedError(f"'{source}': architecture '{self.architecture}'; known are {', '.join(_FORMS)}")
        self.form = _FORMS[self.architecture]
        if self.setting("expert_count", 0):
            raise UnimplementedError(f"'{source}': a mixture of experts")
        if self.field("split.count", 1) > 1:
            raise UnimplementedError(f"'{source}': a part of a model; llama-gguf-split --merge joins its files")
        self.layers = self.integer("block_count")
        self.hidden = self.integer("embedding_length")
        self.heads = self.integer("attention.head_count")
        self.kv_heads = self.integer("attention.head_count_kv", self.heads)
        self.width = self.integer("attention.key_length", self.hidden // self.heads)
        self.context = self.integer("context_length")
        self.epsilon = float(self.setting(f"attention.layer_norm_{'' if self.form.layer_norm else 'rms_'}epsilon"))
        if self.integer("attention.value_length", self.width) != self.width:
            raise UnimplementedError(f"'{source}': keys and values of different widths")
        # ONNX Runtime reads 0 as 1 / sqrt(width).
        largest = self.form.largest and self.layers == self.form.largest
        self.scale = (self.hidden // self.heads) ** -0.5 if largest else 0.0
        self.read_positions()
        self.read_windows()
        self.score_cap = self.optional("attn_logit_softcapping", self.form.score_cap)
        self.logit_cap = self.optional("final_logit_softcapping", self.form.logit_cap)

    def read_positions(self) -> None:
        """Reads the factors that divide positions: `stretch` in layers that read the whole text."""
        scaling = self.setting("rope.scaling.type", "linear")
        if scaling not in ("none", "linear", ""):
            raise UnimplementedError(f"'{self.source}': scaled positions ({scaling})")
        factor = float(self.setting("rope.scaling.factor", 0.0))
        self.stretch = factor if factor and scaling != "none" else 1.0

    def read_windows(self) -> None:
        """Reads `windows`, the number of keys that the queries of each layer read; 0: all."""
        self.windows = [0] * self.layers
        if self.form.window is None:
            return
        window, period = self.integer("attention.sliding_window", self.form.window), self.form.period
        if period:
            period = self.integer("attention.sliding_window_pattern", period)
            if period < 2:
                key = f"{self.architecture}.attention.sliding_window_pattern"
                raise UnimplementedError(f"'{self.source}': the key '{key}' ({period}) is not supported")
        self.windows = [0 if period and i % period == period - 1 else window for i in range(self.layers)]

    def integer(self, name: str, default: Any = None) -> int:
        value = self.setting(name, default)
        if isinstance(value, (list, tuple)):
            raise UnimplementedError(f"'{self.source}': the key '{self.architecture}.{name}' has a value for each layer")
        return int(value)

    def optional(self, name: str, default: Optional[float]) -> float:
        """The value of a key that some architectures have; 0 in the others, whose files must not contain it."""
        return 0.0 if default is None else float(self.setting(name, default))

    def refuse_rest(self) -> None:
        """Refuses fields and tensors that the graph ignores, because they may change results."""
        prefix = f"{self.architecture}."
        for name in self.reader.fields:
            key = name[len(prefix):]
            if not name.startswith(prefix) or name in self.read or key in _DESCRIPTIONS:
                continue
            value = self.field(name)
            if key not in _NEUTRAL or value != _NEUTRAL[key]:
                raise UnimplementedError(f"'{self.source}': the key '{name}' ({str(value)[:40]}) is not supported")
        for name in self.tensors:
            if name not in self.read:
                raise UnimplementedError(f"'{self.source}': the tensor '{name}' is not supported ({self.architecture})")

    def field(self, name: str, default: Any = None) -> Any:
        self.read.add(name)
        found = self.reader.fields.get(name)
        if found is None:
            if default is None:
                raise InvalidArgumentError(f"'{self.source}': the key '{name}' is missing")
            return default
        return found.contents()

    def setting(self, name: str, default: Any = None) -> Any:
        return self.field(f"{self.architecture}.{name}", default)

    # Parts of the graph.

    def add(self, op: str, inputs: list[str], outputs: Optional[list[str]] = None, domain: str = "", **attributes: Any) -> str:
        if outputs is None:
            self.count += 1
            outputs = [f"t{self.count}"]
        self.nodes.append(self.onnx.helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0]

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(self.onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def tensor(self, name: str) -> Any:
        if name not in self.tensors:
            raise InvalidArgumentError(f"'{self.source}': the tensor '{name}' is missing")
        self.read.add(name)
        return self.tensors[name]

    def floats(self, name: str) -> Any:
        tensor = self.tensor(name)
        return self.library.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)

    def blocks(self, name: str) -> Optional[tuple[int, Any, Any, Any]]:
        """Returns (bits, numbers [N, blocks, bytes], scales, offset of the numbers of each block) for quantised weights, or
        None."""
        tensor = self.tensor(name)
        kind = tensor.tensor_type.name
        sizes = {"Q4_0": 18, "Q4_1": 20, "Q8_0": 34}
        if kind not in sizes:
            return None
        rows = np.asarray(tensor.data)
        raw = rows.reshape(rows.shape[0], -1, sizes[kind])
        scales = raw[..., :2].copy().view(np.float16)[..., 0].astype(np.float32)
        if kind == "Q8_0":
            numbers = (raw[..., 2:].view(np.int8).astype(np.int16) + 128).astype(np.uint8)
            return 8, numbers, scales, None
        packed = raw[..., -16:]
        order = np.concatenate([packed & 15, packed >> 4], -1)
        numbers = (order[..., 0::2] | (order[..., 1::2] << 4)).astype(np.uint8)
        if kind == "Q4_0":
            return 4, numbers, scales, None
        least = raw[..., 2:4].copy().view(np.float16)[..., 0].astype(np.float32)
        return 4, numbers, scales, least + 8 * scales

    def block_sums(self, x: str, depth: int) -> str:
        """The sum of each block of x [batch, sequence, depth]."""
        if x not in self.sums:
            shape = self.constant(f"{x}_blocks", np.array([0, 0, depth // _BLOCK, _BLOCK], np.int64))
            axis = self.constant(f"{x}_axis", np.array([-1], np.int64))
            self.sums[x] = self.add("ReduceSum", [self.add("Reshape", [x, shape]), axis], keepdims=0)
        return self.sums[x]

    def linear(self, x: str, name: str, weight: Optional[str] = None) -> str:
        """x times the transpose of NAME.weight, plus NAME.bias if there is one."""
        stored = weight or name + ".weight"
        blocks = self.blocks(stored)
        rows, depth = (int(n) for n in reversed(self.tensor(stored).shape))
        if blocks is None:
            values = self.floats(stored).T
            half = self.tensor(stored).tensor_type.name == "F16"
            w = self.constant(stored, values.astype(np.float16) if half else values)
            if half:
                w = self.add("Cast", [w], to=self.onnx.TensorProto.FLOAT)
            y = self.add("MatMul", [x, w])
        else:
            bits, numbers, scales, added = blocks
            inputs = [x, self.constant(stored, numbers), self.constant(stored + "_scales", scales.reshape(-1))]
            level: dict[str, Any] = {"accuracy_level": self.accuracy_level} if self.accuracy_level else {}
            y = self.add("MatMulNBits", inputs, domain="com.microsoft", K=depth, N=rows, bits=bits, block_size=_BLOCK, **level)
            if added is not None:
                rest = self.constant(stored + "_added", added.T)
                y = self.add("Add", [y, self.add("MatMul", [self.block_sums(x, depth), rest])])
        if name + ".bias" in self.tensors:
            y = self.add("Add", [y, self.constant(name + ".bias", self.floats(name + ".bias"))])
        return y

    def norm(self, x: str, name: str) -> str:
        scale = self.constant(name + ".weight", self.floats(name + ".weight"))
        if self.form.layer_norm:
            bias = self.constant(name + ".bias", self.floats(name + ".bias"))
            return self.add("LayerNormalization", [x, scale, bias], axis=-1, epsilon=self.epsilon, stash_type=1)
        return self.add("SimplifiedLayerNormalization", [x, scale], axis=-1, epsilon=self.epsilon, stash_type=1)

    def embedding(self) -> str:
        blocks = self.blocks("token_embd.weight")
        if blocks is None or blocks[0] != 8:
            values = self.floats("token_embd.weight").astype(np.float16)
            rows = self.add("Gather", [self.constant("embedding", values), "input_ids"])
            return self.add("Cast", [rows], to=self.onnx.TensorProto.FLOAT)
        _, numbers, scales, _ = blocks
        zeros = np.full(scales.shape, 128, np.uint8)
        inputs = [self.constant("embedding", numbers.reshape(numbers.shape[0], -1)), "input_ids",
                  self.constant("embedding_scales", scales), self.constant("embedding_zeros", zeros)]
        return self.add("GatherBlockQuantized", inputs, domain="com.microsoft", bits=8, block_size=_BLOCK, gather_axis=0,
                        quantize_axis=1)

    def rotations(self) -> None:
        """Adds the tables cos and sin, and local_cos and local_sin if layers with a window rotate in another way."""
        size = self.integer("rope.dimension_count", self.width)
        base = float(self.setting("rope.freq_base", 10000.0))
        local_base, local_stretch = base, self.stretch
        if self.form.period:
            local_base = float(self.setting("rope.freq_base_swa", self.form.local_base or base))
            local_stretch = 1.0 if self.form.local_base else self.stretch
        self.has_local = any(self.windows) and (local_base, local_stretch) != (base, self.stretch)
        self.table("", size, base, self.stretch)
        if self.has_local:
            self.table("local_", size, local_base, local_stretch)

    def table(self, prefix: str, size: int, base: float, stretch: float) -> None:
        frequency = 1.0 / base ** (np.arange(0, size, 2, dtype=np.float64) / size) / stretch
        if self.form.rope_factors and "rope_freqs.weight" in self.tensors:
            frequency = frequency / self.floats("rope_freqs.weight").astype(np.float64)
        angle = np.arange(self.context, dtype=np.float64)[:, None] * frequency[None, :]
        self.constant(prefix + "cos", np.cos(angle).astype(np.float32))
        self.constant(prefix + "sin", np.sin(angle).astype(np.float32))

    def projections(self, y: str, block: str) -> list[str]:
        if self.form.fused and block + "attn_qkv.weight" in self.tensors:
            return [self.linear(y, block + "attn_qkv"), "", ""]
        return [self.linear(y, f"{block}attn_{part}") for part in "qkv"]

    def attention(self, y: str, i: int) -> str:
        block, window = f"blk.{i}.", self.windows[i]
        local = "local_" if window and self.has_local else ""
        inputs = [*self.projections(y, block), f"past_key_values.{i}.key", f"past_key_values.{i}.value", "seqlens_k",
                  "total_length", local + "cos", local + "sin"]
        extra: dict[str, Any] = {}
        if self.form.qk_norms:
            norms = [self.constant(f"{block}attn_{part}_norm", self.floats(f"{block}attn_{part}_norm.weight")) for part in "qk"]
            inputs += [""] * (14 - len(inputs)) + norms
            extra = {"qk_norm_epsilon": self.epsilon}
        if window:
            extra["local_window_size"] = window
        if self.score_cap:
            extra["softcap"] = self.score_cap
        if self.scale:
            extra["scale"] = self.scale
        self.count += 1
        attended = self.add("GroupQueryAttention", inputs, [f"t{self.count}", f"present.{i}.key", f"present.{i}.value"],
                            domain="com.microsoft", num_heads=self.heads, kv_num_heads=self.kv_heads, do_rotary=1,
                            rotary_interleaved=self.form.interleaved, **extra)
        return self.linear(attended, block + "attn_output")

    def activation(self, x: str) -> str:
        if self.form.gelu:
            return self.add("FastGelu", [x], domain="com.microsoft")
        return self.add("Mul", [x, self.add("Sigmoid", [x])])

    def mlp(self, y: str, block: str) -> str:
        if self.form.layer_norm:
            y = self.activation(self.linear(y, block + "ffn_up"))
        elif self.form.fused:
            self.count += 2
            parts = [f"t{self.count - 1}", f"t{self.count}"]
            gate = self.add("Split", [self.linear(y, block + "ffn_up")], parts, axis=-1, num_outputs=2)
            y = self.add("Mul", [self.activation(gate), parts[1]])
        else:
            gate = self.linear(y, block + "ffn_gate")
            y = self.add("Mul", [self.activation(gate), self.linear(y, block + "ffn_up")])
        return self.linear(y, block + "ffn_down")

    def layer(self, x: str, i: int) -> str:
        block = f"blk.{i}."
        y = self.norm(x, block + "attn_norm")
        attended = self.attention(y, i)
        if self.form.layer_norm:
            return self.add("Add", [self.add("Add", [attended, self.mlp(y, block)]), x])
        if self.form.post_norms:
            attended = self.norm(attended, block + "post_attention_norm")
        x = self.add("Add", [x, attended])
        y = self.mlp(self.norm(x, block + "ffn_norm"), block)
        if self.form.post_norms:
            y = self.norm(y, block + "post_ffw_norm")
        return self.add("Add", [x, y])

    def graph(self) -> Any:
        proto, helper = self.onnx.TensorProto, self.onnx.helper
        one, zero = self.constant("one", np.array(1, np.int64)), self.constant("axis", np.array([1], np.int64))
        length = self.add("ReduceSum", ["attention_mask", zero], keepdims=0)
        self.add("Cast", [self.add("Sub", [length, one])], ["seqlens_k"], to=proto.INT32)
        total = self.add("Gather", [self.add("Shape", ["attention_mask"]), one], axis=0)
        self.add("Cast", [total], ["total_length"], to=proto.INT32)
        self.rotations()
        x = self.embedding()
        if self.form.scaled_embedding:
            x = self.add("Mul", [x, self.constant("embedding_scale", np.array(self.hidden ** 0.5, np.float32))])
        for i in range(self.layers):
            x = self.layer(x, i)
        tied = None if "output.weight" in self.tensors else "token_embd.weight"
        logits = self.linear(self.norm(x, "output_norm"), "output", tied)
        if self.logit_cap:
            cap = self.constant("logit_cap", np.array(self.logit_cap, np.float32))
            logits = self.add("Mul", [self.add("Tanh", [self.add("Div", [logits, cap])]), cap])
        self.add("Identity", [logits], ["logits"])
        self.refuse_rest()
        vocabulary = int(self.tensor("token_embd.weight").shape[1])

        def value(name: str, kind: Any, *shape: Any) -> Any:
            return helper.make_tensor_value_info(name, kind, list(shape))

        inputs = [value("input_ids", proto.INT64, "batch", "sequence"), value("attention_mask", proto.INT64, "batch", "total")]
        outputs = [value("logits", proto.FLOAT, "batch", "sequence", vocabulary)]
        for i in range(self.layers):
            for part in ("key", "value"):
                shape = ("batch", self.kv_heads, "past", self.width)
                inputs.append(value(f"past_key_values.{i}.{part}", proto.FLOAT, *shape))
                outputs.append(value(f"present.{i}.{part}", proto.FLOAT, *shape))
        return helper.make_graph(self.nodes, self.architecture, inputs, outputs, self.constants)

    # The folder.

    def stop_tokens(self) -> list[int]:
        found = [self.field(f"tokenizer.ggml.{name}_token_id", -1) for name in ("eos", "eot")]
        return list(dict.fromkeys(int(token) for token in found if token >= 0))

    def write(self, folder: str) -> str:
        opsets = [self.onnx.helper.make_opsetid("", 18), self.onnx.helper.make_opsetid("com.microsoft", 1)]
        model = self.onnx.helper.make_model(self.graph(), opset_imports=opsets, ir_version=8, producer_name="poprt.frontend.gguf")
        os.makedirs(folder, exist_ok=True)
        data = os.path.join(folder, "model.onnx.data")
        if os.path.exists(data):
            os.remove(data)  # onnx appends to an existing file
        self.onnx.save(model, os.path.join(folder, "model.onnx"), save_as_external_data=True, location="model.onnx.data",
                       size_threshold=1024)
        settings = {"model": {"type": self.form.kind or self.architecture, "context_length": self.context,
                              "eos_token_id": self.stop_tokens(),
                              "vocab_size": int(self.tensor("token_embd.weight").shape[1]),
                              "decoder": {"filename": "model.onnx", "inputs": {"input_ids": "input_ids",
                                                                              "attention_mask": "attention_mask"},
                                          "outputs": {"logits": "logits"}}}}
        self.write_json(folder, "genai_config.json", settings)
        self.write_tokenizer(folder)
        return folder

    @staticmethod
    def write_json(folder: str, name: str, value: Any) -> None:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(value, file, ensure_ascii=False, indent=1)

    def write_tokenizer(self, folder: str) -> None:
        """Writes tokenizer_config.json, with the template of chats and the tokens that it names, and tokenizer.json of
        the package tokenizers, if the tokenizer is known."""
        config = {"chat_template": self.field("tokenizer.chat_template", "")}
        texts = self.field("tokenizer.ggml.tokens", [])
        for name in ("bos", "eos"):
            token = int(self.field(f"tokenizer.ggml.{name}_token_id", -1))
            if 0 <= token < len(texts):
                config[f"{name}_token"] = texts[token]
        self.write_json(folder, "tokenizer_config.json", config)
        kind = self.field("tokenizer.ggml.model", "")
        if kind != "gpt2":
            get_logger().warning("'%s': a tokenizer of kind '%s' is not converted; only byte-level BPE is", self.source, kind)
            return
        tokens = self.field("tokenizer.ggml.tokens")
        types = self.field("tokenizer.ggml.token_type", [1] * len(tokens))
        added = [{"id": i, "content": token, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
                  "special": types[i] == 3} for i, token in enumerate(tokens) if types[i] in (3, 4)]
        byte_level: dict[str, Any] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
        before = self.field("tokenizer.ggml.pre", "default")
        if before in _SPLITS:
            split = {"type": "Split", "pattern": {"Regex": _SPLITS[before]}, "behavior": "Isolated", "invert": False}
            steps = [split, {**byte_level, "use_regex": False}]
        elif before == "smollm":
            steps = [{"type": "Digits", "individual_digits": True}, byte_level]
        elif before in ("default", "gpt-2"):
            steps = [byte_level]
        else:
            get_logger().warning("'%s': the tokenizer '%s' is not known and is not converted", self.source, before)
            return
        merges = [merge.split(" ") for merge in self.field("tokenizer.ggml.merges", [])]
        self.write_json(folder, "tokenizer.json", {
            "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}, "post_processor": None, "decoder": byte_level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                      "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "vocab": {token: i for i, token in enumerate(tokens)}, "merges": merges}})
