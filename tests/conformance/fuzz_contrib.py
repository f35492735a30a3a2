"""Runs operators of com.microsoft in the forms that exporters write (torch, onnxruntime-genai, the quantisers of ONNX Runtime) with random
shapes, options, optional inputs and values, and compares the results with those of ONNX Runtime. Needs numpy, onnx, onnxruntime.

    python tests/conformance/fuzz_contrib.py POPRT_EXEC [--cases 500] [--seed 1] [--only OPERATOR] [--keep FOLDER]

A case that ONNX Runtime refuses is not counted. Prints each case that differs, or that poprt refuses, and a table with the counts of each
operator. Exit code 1 when a result differs. --keep writes the models of those cases to a folder."""

import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"


class Case:
    """Collects the inputs and attributes of a random node. `rng` makes all decisions."""

    def __init__(self, rng):
        self.rng = rng
        self.half = False
        self.inputs, self.attributes, self.outputs, self.constants, self.kinds = [], {}, 1, set(), {}
        self.rtol, self.atol, self.opset = 1e-3, 1e-4, 21

    def pick(self, *values):
        return values[int(self.rng.integers(len(values)))]

    def chance(self, share=0.5):
        return bool(self.rng.random() < share)

    def f(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float16 if self.half else np.float32)

    def f32(self, *shape, scale=1.0):
        return (self.rng.standard_normal(shape) * scale).astype(np.float32)

    def positive(self, *shape, low=0.005, high=0.05):
        return self.rng.uniform(low, high, shape).astype(np.float16 if self.half else np.float32)

    def integers(self, kind, *shape, low=None, high=None):
        info = np.iinfo(kind)
        return self.rng.integers(info.min if low is None else low, info.max + 1 if high is None else high, shape).astype(kind)

    def add_input(self, value, constant=None):
        """Appends an input; a constant one with probability 1/2."""
        if value is not None and (constant if constant is not None else self.chance()):
            self.constants.add(len(self.inputs))
        self.inputs.append(value)

    def absent(self, count=1):
        self.inputs += [None] * count

    def fp16(self, share=0.25):
        self.half = self.chance(share)
        if self.half:
            self.rtol, self.atol = 2e-2, 2e-2


def group_query_attention(c):
    c.fp16()
    b, kv = c.pick(1, 2, 3), c.pick(1, 2)  # with a past, ONNX Runtime takes several tokens only if the batch is 1
    heads, d = kv * c.pick(1, 2, 4), c.pick(16, 32)
    packed, rotary, shared = c.chance(0.3), c.chance(), c.chance()
    past = c.pick(0, 0, 3, 5)
    s = c.pick(1, 1, 3) if past else c.pick(1, 4, 7)
    if past and s > 1:
        b = 1
    total = past + s
    lengths = np.full(b, total - 1, np.int32)
    if past and s == 1 and c.chance(0.4):
        lengths = c.integers(np.int32, b, low=s, high=total)
        lengths[0] = total - 1
    rows = total + c.pick(0, 3) if shared else past
    c.attributes = {"num_heads": heads, "kv_num_heads": kv}
    if c.chance(0.3):
        c.attributes["scale"] = float(c.pick(0.2, 0.5))
    if c.chance(0.3):
        c.attributes["softcap"] = float(c.pick(1.0, 5.0))
    if c.chance(0.3):
        c.attributes["local_window_size"] = c.pick(1, 2, 4)
    sink = c.chance(0.25)
    if not sink and c.chance(0.25):
        c.attributes["smooth_softmax"] = 1
    if packed:
        c.add_input(c.f(b, s, (heads + 2 * kv) * d), False)
        c.absent(2)
    else:
        for n in (heads, kv, kv):
            c.add_input(c.f(b, s, n * d), False)
    if past or (shared and rows):
        for _ in range(2):
            cache = np.zeros((b, kv, rows, d), np.float16 if c.half else np.float32)
            for i in range(b):
                known = lengths[i] + 1 - s
                cache[i, :, :known] = c.f(kv, known, d)
            c.add_input(cache, False)
    else:
        c.absent(2)
    c.add_input(lengths, False)
    c.add_input(np.array(total, np.int32), True if not shared else None)
    if rotary:
        half = d // 2 if c.chance(0.7) else 8
        angle = np.arange(16)[:, None] / 100.0 ** (np.arange(half) / half)
        c.add_input(np.cos(angle).astype(c.inputs[0].dtype), True)
        c.add_input(np.sin(angle).astype(c.inputs[0].dtype), True)
        c.attributes |= {"do_rotary": 1, "rotary_interleaved": int(c.chance(0.3))}
    else:
        c.absent(2)
    if c.chance(0.15) and rotary and past:
        c.add_input((lengths[:, None] + 1 - s + np.arange(s)).astype(np.int64), False)
    else:
        c.absent()
    c.add_input(c.f(c.pick(1, b), c.pick(1, heads), s, total) if c.chance(0.3) else None, False)
    c.add_input(c.f(heads) if sink else None)
    c.outputs = 3


def quantized_cache(c):
    b, kv, d, past, bits = c.pick(1, 2), c.pick(1, 2), 16, c.pick(0, 3), c.pick(4, 8)
    heads, s = kv * c.pick(1, 2), c.pick(1, 4)
    if past and s > 1:
        b = 1
    rows, total, how = past + c.pick(0, s, s + 2), past + s, c.pick("PER_TENSOR", "PER_CHANNEL")
    c.attributes = {"num_heads": heads, "kv_num_heads": kv, "k_quant_type": how, "v_quant_type": how, "kv_cache_bit_width": bits}
    if c.chance(0.3):
        c.attributes["local_window_size"] = 2
    for n in (heads, kv, kv):
        c.add_input(c.f(b, s, n * d), False)
    if rows:
        kind, width = (np.int8, d) if bits == 8 else (np.uint8, d // 2)
        for _ in range(2):
            cache = c.integers(kind, b, kv, rows, width)
            cache[:, :, past:] = 0
            c.add_input(cache, False)
    else:
        c.absent(2)
    c.add_input(np.full(b, total - 1, np.int32), False)
    c.add_input(np.array(total, np.int32), rows < total)
    c.absent(5)
    for _ in range(2):
        c.add_input(c.positive(*((1,) if how == "PER_TENSOR" else (kv, d)), low=0.1 / bits, high=0.5 / bits), True)
    c.outputs = 3
    c.rtol, c.atol = 2e-3, 2e-3


def sliding_cache(c):
    b, kv, d, window = c.pick(1, 2), c.pick(1, 2), 16, c.pick(2, 4)
    heads, room, s = kv * c.pick(1, 2), window + c.pick(0, 1, 3), c.pick(1, 1, 3, 9)
    b = 1 if s > 1 else b
    kept = lambda t: t if t <= room else window + (t - room - 1) % (room - window + 1)  # noqa: E731
    # All lengths fill the cache, because ONNX Runtime leaves free rows unset.
    full = [t for t in range(max(s, 2), 30) if kept(t) == room]
    lengths = [int(c.pick(*full)) for _ in range(b)]
    for n in (heads, kv, kv):
        c.add_input(c.f(b, s, n * d), False)
    for _ in range(2):
        c.add_input(c.f(b, kv, room, d), False)
    c.add_input(np.array(lengths, np.int32) - 1, False)
    c.add_input(np.array(max(lengths), np.int32), False)
    c.attributes = {"num_heads": heads, "kv_num_heads": kv, "local_window_size": window, "sliding_window_cache": 1}
    if c.chance(0.3):
        c.attributes["softcap"] = 3.0
    if c.chance(0.3):
        c.absent(4)
        c.add_input(c.f(heads))
    c.outputs = 3


def attention_mask(c, b, s, total):
    kind = c.pick(None, None, "2d", "3d", "lengths")
    if kind == "2d":
        m = c.integers(np.int32, b, total, low=0, high=2)
        m[:, 0] = 1
        return m
    if kind == "3d":
        m = c.integers(np.int32, b, s, total, low=0, high=2)
        m[:, :, 0] = 1
        return m
    if kind == "lengths":
        return c.integers(np.int32, b, low=1, high=total + 1)
    return None


def multi_head_attention(c):
    c.fp16()
    b, heads, d, s = c.pick(1, 2), c.pick(1, 2, 3), c.pick(4, 8), c.pick(1, 3, 5)
    h = heads * d
    form = c.pick("apart", "apart", "cross", "past")
    keys = s if form == "past" else c.pick(s, 6)
    past = c.pick(1, 4) if form == "past" else 0
    width = c.pick(d, 6) if form == "apart" else d
    c.attributes = {"num_heads": heads}
    if c.chance(0.3):
        c.attributes["scale"] = 0.4
    if keys == s and c.chance(0.3):
        c.attributes["unidirectional"] = 1
    if c.chance(0.2):
        c.attributes["mask_filter_value"] = -5.0
    c.add_input(c.f(b, s, h), False)
    for n in (d, width):
        c.add_input(c.f(b, heads, keys, n) if form == "cross" else c.f(b, keys, heads * n), False)
    c.add_input(c.f(2 * h + heads * width) if c.chance(0.4) and form != "cross" else None)
    total = past + keys
    mask = attention_mask(c, b, s, total)
    if mask is not None and mask.ndim == 1 and past:
        mask = None
    c.add_input(mask, False)
    c.add_input(c.f(c.pick(1, b), c.pick(1, heads), s, total) if c.chance(0.3) else None, False)
    if form == "past":
        c.add_input(c.f(b, heads, past, d), False)
        c.add_input(c.f(b, heads, past, d), False)
    c.outputs = 3 if form == "past" or (form == "apart" and width == d and c.chance(0.3)) else 1


def attention(c):
    b, heads, d, s, k = c.pick(1, 2), c.pick(1, 2, 3), c.pick(4, 8), c.pick(1, 3, 5), c.pick(5, 8)
    h = heads * d
    past = c.pick(0, 0, 2)
    vw = c.pick(d, 6) if not past else d
    c.attributes = {"num_heads": heads}
    if c.chance():
        c.attributes["unidirectional"] = 1
    if c.chance(0.2):
        c.attributes["scale"] = 0.3
    if c.chance(0.2):
        c.attributes["mask_filter_value"] = -4.0
    if vw != d:
        c.attributes["qkv_hidden_sizes"] = [h, h, heads * vw]
    c.add_input(c.f(b, s, k), False)
    c.add_input(c.f(k, 2 * h + heads * vw, scale=0.5), True)
    c.add_input(c.f(2 * h + heads * vw), True)
    mask = attention_mask(c, b, s, past + s)
    if past and mask is not None and mask.ndim == 1:
        mask = None
    c.add_input(mask, False)
    c.add_input(c.f(2, b, heads, past, d) if past else None, False)
    c.add_input(c.f(c.pick(1, b), c.pick(1, heads), s, past + s) if c.chance(0.3) else None, False)
    c.outputs = 2 if past else 1


def matmul_nbits(c):
    c.fp16()
    bits, block = c.pick(2, 4, 8), c.pick(16, 32, 64)
    depth, columns = c.pick(16, 32, 64, 72, 100), c.pick(1, 5, 16)
    blocks = -(-depth // block)
    c.attributes = {"K": depth, "N": columns, "bits": bits, "block_size": block}
    c.add_input(c.f(*c.pick((3,), (2, 3), ()), depth), False)
    c.add_input(c.integers(np.uint8, columns, blocks, block * bits // 8), True)
    c.add_input(c.positive(*c.pick((columns, blocks), (columns * blocks,))), True)
    zero = c.pick(None, "packed", "float")
    if zero == "packed":
        c.add_input(c.integers(np.uint8, *c.pick((columns, -(-blocks * bits // 8)), (columns * -(-blocks * bits // 8),))), True)
    elif zero == "float":
        c.add_input(c.positive(columns, blocks, low=0, high=2 ** bits), True)
    else:
        c.absent()
    c.absent()
    c.add_input(c.f(columns) if c.chance(0.3) else None, True)
    c.rtol, c.atol = (3e-2, 5e-2) if c.half else (2e-3, 2e-3)
    if bits == 8:
        c.rtol, c.atol = 3e-2, 8e-2  # ONNX Runtime quantises A


def gather_block_quantized(c):
    kind = c.pick("u4", "s4", "u8")
    block = c.pick(16, 32)
    rows, columns = c.pick(3, 6), c.pick(32, 64, 48)
    bits = c.pick(4, 8) if kind == "u8" else 4
    c.fp16()
    index = c.integers(c.pick(np.int32, np.int64), *c.pick((3,), (2, 2), ()), low=0, high=rows)
    if kind == "u8":
        blocks = -(-columns // block)
        c.add_input(c.integers(np.uint8, rows, columns * bits // 8), True)
        c.add_input(index, False)
        c.add_input(c.positive(rows, blocks), True)
        c.add_input(c.integers(np.uint8, rows, -(-blocks * bits // 8)) if c.chance() else None, True)
        c.attributes = {"bits": bits, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
        return
    gather, quantize = c.pick((0, 1), (1, 0), (0, 2), (1, 2))
    shape = [4, 3, columns] if quantize == 2 else [rows, columns] if quantize == 1 else [columns, rows]
    scales = list(shape)
    scales[quantize] = -(-shape[quantize] // block)
    low, high = (0, 16) if kind == "u4" else (-8, 8)
    code = TensorProto.UINT4 if kind == "u4" else TensorProto.INT4
    index %= shape[gather]
    for value in (c.rng.integers(low, high, shape), index, c.positive(*scales), c.rng.integers(low, high, scales) if c.chance() else None):
        if value is not None and value.dtype == np.int64 and value is not index:
            c.kinds[len(c.inputs)] = code
        c.add_input(value, value is not index)
    c.attributes = {"block_size": block, "gather_axis": gather, "quantize_axis": quantize}


def skip_normalization(c, simplified):
    c.fp16()
    b, s, h = c.pick(1, 2), c.pick(1, 3), c.pick(8, 20)
    shape = c.pick((b, s, h), (s, h))
    skip = c.pick(shape, (1, s, h), (s, h)) if len(shape) == 3 else shape
    c.add_input(c.f(*shape), False)
    c.add_input(c.f(*skip), False)
    c.add_input(c.f(h))
    if not simplified:
        c.add_input(c.f(h) if c.chance() else None)
    c.add_input(c.f(h) if c.chance() else None)
    c.attributes = {"epsilon": float(c.pick(1e-5, 1e-3))}
    c.outputs = ["out0", "", "", "out3"] if c.chance() else 1


def rotary_embedding(c):
    c.fp16()
    b, heads, s, d = c.pick(1, 2), c.pick(1, 2, 3), c.pick(1, 4), c.pick(8, 16)
    partial = c.chance(0.3)
    half = d // 4 if partial else d // 2
    c.attributes = {"interleaved": int(c.chance())}
    four = c.chance(0.3)
    if partial:
        c.attributes |= {"rotary_embedding_dim": 2 * half, "num_heads": heads}
    elif c.chance(0.3):
        c.attributes["num_heads"] = heads
    c.add_input(c.f(b, heads, s, d) if four else c.f(b, s, heads * d), False)
    c.add_input(c.integers(np.int64, *c.pick((1,), (b, s)), low=0, high=9), False)
    for _ in range(2):
        c.add_input(c.f(16, half), True)


def q_attention(c):
    b, heads, d, s, k = c.pick(1, 2), c.pick(1, 2), c.pick(4, 8), c.pick(1, 4), c.pick(5, 8)
    h, past = heads * d, c.pick(0, 0, 3)
    signed = c.chance()
    c.add_input(c.integers(np.uint8, b, s, k), False)
    c.add_input(c.integers(np.int8 if signed else np.uint8, k, 3 * h), True)
    c.add_input(c.f32(3 * h), True)
    c.add_input(np.array(0.02, np.float32), True)
    c.add_input(c.positive(3 * h) if c.chance(0.3) else np.array(0.01, np.float32), True)
    mask = attention_mask(c, b, s, past + s)
    if past and mask is not None and mask.ndim == 1:
        mask = None
    c.add_input(mask, False)
    c.add_input(np.array(c.pick(0, 100), np.uint8) if c.chance(0.7) else None, True)
    c.add_input(np.array(0 if signed else 128, np.int8 if signed else np.uint8) if c.chance(0.7) else None, True)
    c.add_input(c.f32(2, b, heads, past, d) if past else None, False)
    c.attributes = {"num_heads": heads, "unidirectional": int(c.chance() or past > 0)}
    c.outputs = 2 if past else 1


def moe(c):
    rows, hidden, inner, experts = c.pick(1, 3, 8), c.pick(4, 16), c.pick(8, 12), c.pick(2, 4, 16)
    activation = c.pick("relu", "gelu", "silu", "identity", "swiglu")
    fused = 2 if activation == "swiglu" else 1
    c.attributes = {"k": c.pick(1, 2), "activation_type": activation, "normalize_routing_weights": int(c.chance())}
    if fused == 2:
        c.attributes |= {"swiglu_fusion": 1, "activation_alpha": 1.702, "activation_beta": float(c.pick(0.0, 1.0))}
        if c.chance():
            c.attributes["swiglu_limit"] = 7.0
    c.add_input(c.f(*c.pick((rows, hidden), (1, rows, hidden))), False)
    c.add_input(c.f(rows, experts), False)
    c.add_input(c.f(experts, fused * inner, hidden, scale=0.3))
    c.add_input(c.f(experts, fused * inner) if c.chance() else None)
    c.add_input(c.f(experts, hidden, inner, scale=0.3))
    c.add_input(c.f(experts, hidden) if c.chance() else None)


def qmoe(c):
    c.fp16()
    rows, hidden, inner, experts, bits = c.pick(1, 3, 8), c.pick(32, 64), c.pick(32, 64), c.pick(2, 4, 16), c.pick(2, 4, 8)
    activation, block = c.pick("relu", "gelu", "silu", "swiglu"), c.pick(0, 16, 32)
    fused = 2 if activation == "swiglu" else 1
    c.attributes = {"k": c.pick(1, 2), "activation_type": activation, "expert_weight_bits": bits}
    if fused == 2:
        c.attributes["swiglu_fusion"] = 1
    if block:
        c.attributes["block_size"] = block
    c.add_input(c.f(rows, hidden), False)
    c.add_input(c.f(rows, experts), False)
    zeros = []
    for columns, depth in ((fused * inner, hidden), (hidden, inner)):
        blocks = depth // block if block else 1
        c.add_input(c.integers(np.uint8, experts, columns, depth * bits // 8), True)
        c.add_input(c.positive(*((experts, columns, blocks) if block else (experts, columns)), low=0.1 / 2 ** bits, high=0.5 / 2 ** bits), True)
        c.add_input(c.f(experts, columns) if c.chance() else None, True)
        zeros.append(c.integers(np.uint8, *((experts, columns, -(-blocks * bits // 8)) if block else (experts, -(-columns * bits // 8)))))
    if c.chance():
        c.absent(3)
        for z in zeros:
            c.add_input(z, True)
    c.rtol, c.atol = (5e-2, 5e-2) if c.half else (2e-2, 2e-2)
    if bits == 8 and block:
        c.rtol, c.atol = 5e-2, 0.15  # ONNX Runtime quantises the rows


def linear_attention(c):
    b, t, dk, dv = c.pick(1, 2), c.pick(1, 3, 6), c.pick(4, 8), c.pick(3, 8)
    heads, kv = c.pick((1, 1), (2, 2), (4, 2), (2, 4))
    rule = c.pick("linear", "gated", "delta", "gated_delta")
    c.attributes = {"q_num_heads": heads, "kv_num_heads": kv, "update_rule": rule}
    if c.chance(0.3):
        c.attributes["scale"] = 0.7
    for n in (heads * dk, kv * dk, kv * dv):
        c.add_input(c.f(b, t, n, scale=0.5), False)
    c.add_input(c.f(b, kv, dk, dv) if c.chance() else None, False)
    c.add_input(-np.abs(c.f(b, t, kv * c.pick(1, dk))) if "gated" in rule else None, False)
    c.add_input(c.positive(b, t, c.pick(1, kv), low=0, high=1) if "delta" in rule else None, False)
    c.outputs = 2


def causal_conv(c):
    b, ch, length, taps, dilation = c.pick(1, 2), c.pick(1, 4, 6), c.pick(1, 2, 7), c.pick(1, 2, 4), c.pick(1, 2)
    last, past = c.chance(), (taps - 1) * dilation
    if past == 0:
        taps, past = 2, dilation
    c.attributes = {"dilation": dilation, "channels_last": int(last), "activation": c.pick("none", "silu", "swish")}
    order = lambda *s: (s[0], s[2], s[1]) if last else s  # noqa: E731
    c.add_input(c.f(*order(b, ch, length)), False)
    c.add_input(c.f(ch, 1, taps))
    c.add_input(c.f(ch) if c.chance() else None)
    c.add_input(c.f(*order(b, ch, past)) if c.chance() else None, False)
    c.outputs = 2


def q_gemm(c):
    m, k, n = c.pick(1, 4), c.pick(3, 8), c.pick(2, 6)
    ta, tb = int(c.chance()), int(c.chance())
    per = c.chance()
    c.add_input(c.integers(np.uint8, *((k, m) if ta else (m, k))), False)
    c.add_input(np.array(0.02, np.float32), True)
    c.add_input(np.array(c.pick(0, 120), np.uint8), True)
    c.add_input(c.integers(np.int8, *((n, k) if tb else (k, n))), True)
    c.add_input(c.positive(n) if per else np.array(0.02, np.float32), True)
    c.add_input(np.zeros(n, np.int8) if per else np.array(c.pick(0, 5), np.int8), True)
    c.add_input(c.integers(np.int32, n, low=-900, high=900) if c.chance() else None, True)
    if c.chance():
        c.add_input(np.array(0.1, np.float32), True)
        c.add_input(np.array(100, np.uint8), True)
        c.rtol, c.atol = 0, 1.01
    c.attributes = {"transA": ta, "transB": tb, "alpha": float(c.pick(1.0, 0.5))}


def dynamic_quantize_matmul(c):
    k, n = c.pick(4, 9), c.pick(3, 8)
    signed = c.chance()
    kind = np.int8 if signed else np.uint8
    per = c.chance()
    c.add_input(c.f32(*c.pick((3,), (2, 3)), k), False)
    c.add_input(c.integers(kind, k, n), True)
    c.add_input(c.positive(n) if per else np.array(0.02, np.float32), True)
    c.add_input((np.zeros(n, kind) if signed else c.integers(kind, n)) if per and c.chance() else
                np.array(c.pick(0, 9), kind) if not per and c.chance() else None, True)
    c.add_input(c.f32(n) if c.chance() else None, True)
    c.rtol, c.atol = 2e-3, 2e-3


def gated_rms_norm(c):
    c.fp16()
    size, heads = c.pick(4, 16), c.pick(1, 3)
    shape = (*c.pick((2,), (1, 3)), heads * size)
    c.add_input(c.f(*shape), False)
    c.add_input(c.f(size))
    c.add_input(c.f(*shape), False)
    c.attributes = {"activation": c.pick("silu", "swish", "sigmoid"), "epsilon": float(c.pick(1e-6, 1e-3))}


def matmul_bnb4(c):
    depth, columns, block = c.pick(16, 33, 64), c.pick(1, 5, 8), c.pick(16, 32, 64)
    c.add_input(c.f(*c.pick((2,), (1, 3)), depth), False)
    c.add_input(c.integers(np.uint8, (depth * columns + 1) // 2), True)
    c.add_input(c.positive(-(-depth * columns // block), low=0.1, high=1), True)
    c.attributes = {"K": depth, "N": columns, "block_size": block, "quant_type": c.pick(0, 1)}


def fused_matmul(c):
    c.fp16(0.1)
    a, b = [c.pick(1, 2), 3, 4], [1, 4, 5]
    ta, tb = int(c.chance()), int(c.chance())
    b[0] = a[0]
    if ta:
        a[1], a[2] = a[2], a[1]
    if tb:
        b[1], b[2] = b[2], b[1]
    c.add_input(c.f(*a), False)
    c.add_input(c.f(*b))
    c.attributes = {"transA": ta, "transB": tb, "alpha": float(c.pick(1.0, 0.25))}


def elementwise(c, op):
    c.fp16()
    shape = c.pick((2, 3, 8), (4, 8))
    c.add_input(c.f(*shape, scale=2), False)
    if op == "BiasGelu" or (op == "FastGelu" and c.chance()):
        c.add_input(c.f(shape[-1]))
    if op == "QuickGelu" and c.chance():
        c.attributes["alpha"] = 1.3


def q_linear_binary(c):
    kind = c.pick(np.uint8, np.int8)
    shape = c.pick((2, 3, 4), (3, 8))
    other = c.pick(shape, shape[-1:], (1,) * (len(shape) - 1) + shape[-1:], shape[:-1] + (1,))
    for part in (shape, other):
        c.add_input(c.integers(kind, *part))
        c.add_input(c.positive(), True)
        c.add_input(c.integers(kind) if c.chance(0.8) else None, True)
    c.add_input(c.positive(low=0.02, high=0.1), True)
    c.add_input(c.integers(kind), True)
    c.rtol, c.atol = 0, 1.01


def matmul_integer_to_float(c):
    m, k, n = c.pick(1, 3), c.pick(4, 9), c.pick(3, 8)
    kind, weights = c.pick((np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8))
    per = c.chance()
    c.add_input(c.integers(kind, *c.pick((m,), (2, m)), k), False)
    c.add_input(c.integers(weights, k, n), True)
    c.add_input(np.array(0.02, np.float32), True)
    c.add_input(c.positive(n) if per else np.array(0.01, np.float32), True)
    c.add_input(np.array(c.pick(0, 7), kind) if c.chance() else None, True)
    c.add_input((c.integers(weights, n, low=0, high=9) if per else np.array(c.pick(0, 5), weights)) if c.chance() else None, True)
    c.add_input(c.f32(n) if c.chance() else None, True)


def embed_layer_normalization(c):
    b, s, h = c.pick(1, 2), c.pick(1, 4), 8
    segments = c.chance()
    c.add_input(c.integers(np.int32, b, s, low=0, high=11), False)
    c.add_input(c.integers(np.int32, b, s, low=0, high=2) if segments else None, False)
    c.add_input(c.f32(11, h), True)
    c.add_input(c.f32(6, h), True)
    c.add_input(c.f32(2, h) if segments else None, True)
    c.add_input(c.f32(h), True)
    c.add_input(c.f32(h), True)
    mask = np.ones((b, s), np.int32)
    mask[:, s // 2 + 1:] = 0
    c.add_input(mask if c.chance() else None, False)
    c.add_input(c.integers(np.int32, c.pick(1, b), s, low=0, high=6) if c.chance() else None, False)
    c.attributes = {"epsilon": float(c.pick(1e-12, 1e-5))}
    c.outputs = 2


def fused_conv(c):
    ch, m, group = c.pick((4, 4, 1), (4, 8, 2), (4, 4, 4))
    activation, parameters = c.pick(("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.7]))
    c.attributes = {"activation": activation, "group": group, "kernel_shape": [3, 3], "pads": c.pick([1, 1, 1, 1], [0, 0, 0, 0]),
                    "strides": c.pick([1, 1], [2, 2])}
    if parameters:
        c.attributes["activation_params"] = parameters
    c.add_input(c.f32(c.pick(1, 2), ch, 7, 6), False)
    c.add_input(c.f32(m, ch // group, 3, 3), True)
    c.add_input(c.f32(m) if c.chance() else None, True)


def gated_delta_net(c):
    c.fp16()
    b, heads, dk, dv = c.pick(1, 2, 3), c.pick(1, 2), 4, c.pick(3, 8)
    v_heads, rule = heads * c.pick(1, 2), c.pick("linear", "gated", "delta", "gated_delta")
    ragged = c.chance()
    lengths = [c.pick(1, 2, 5) for _ in range(b)] if ragged else [3] * b
    tokens = sum(lengths)
    gate = c.pick("none", "softplus", "sigmoid") if "gated" in rule else "none"
    c.attributes = {"update_rule": rule, "gate_activation": gate, "qk_l2_norm": int(c.chance())}
    for n in (heads, heads):
        c.add_input(c.f(tokens, n, dk, scale=0.5), False)
    c.add_input(c.f(tokens, v_heads, dv), False)
    c.add_input(np.cumsum([0, *lengths]).astype(np.int32) if ragged else None, False)
    wide = c.chance(0.3)
    c.add_input(-np.abs(c.f32(tokens, v_heads, *((dk,) if wide else ()))) if "gated" in rule else None, False)
    c.add_input(c.rng.random((tokens, v_heads)).astype(np.float32) if "delta" in rule else None, False)
    c.add_input(c.f32(b, v_heads, dv, dk, scale=0.5) if not ragged or c.chance() else None, False)
    if gate != "none":
        c.add_input(c.f32(v_heads, scale=0.5))
        c.add_input(c.f32(v_heads, *((dk,) if wide else ()), scale=0.5))
    c.outputs = 2


def ngram_hash(c):
    kind, n, heads, b, length = c.pick(np.int32, np.int64), c.pick(2, 3, 4), c.pick(1, 2), c.pick(1, 2), c.pick(1, 3, 6)
    c.add_input(c.integers(kind, b, length, low=0, high=5), False)
    c.add_input(c.integers(kind, n, low=1, high=1 << 30))
    c.add_input(c.integers(kind, (n - 1) * heads, low=1, high=100))
    c.add_input(c.integers(kind, b, n - 1, low=0, high=5) if c.chance() else None, False)
    c.add_input(c.integers(kind, (n - 1) * heads, low=0, high=100) if c.chance() else None)
    c.add_input(np.array(c.pick(0, 2), kind) if c.chance() else None)
    c.add_input(c.integers(np.int32, b, length, low=0, high=2) if c.chance() else None, False)
    c.attributes = {"max_ngram_size": n, "n_head_per_ngram": heads, "pad_id": 1, "reset_on_eos": int(c.chance())}
    c.outputs = 2


def mrotary(c):
    c.fp16()
    b, heads, s, d = c.pick(1, 2), c.pick(1, 3), c.pick(1, 4), 16
    layout = c.pick(0, 1)
    section = c.pick([2, 3, 3], [4, 2, 2], [8, 0, 0]) if layout == 0 else c.pick([2, 3, 3], [4, 2, 2])
    c.add_input(c.f(b, heads, s, d) if c.chance(0.3) else c.f(b, s, heads * d), False)
    c.add_input(c.integers(np.int64, 3, b, s, low=0, high=9), False)
    for _ in range(2):
        c.add_input(c.f(9, d // 2))
    c.attributes = {"num_heads": heads, "mrope_section": section, "mrope_layout": layout, "interleaved": int(c.chance())}


def streams_mixed(c):
    c.fp16()
    lead, ch, h = c.pick((3,), (2, 3)), c.pick(2, 4), c.pick(4, 8)
    c.add_input(c.f(*lead, ch, h), False)
    c.add_input(c.f(*lead, h), False)
    c.add_input(c.f(*lead, *c.pick((ch,), (ch, 1), (ch, h))), False)
    c.add_input(c.f(*lead, ch, ch) if c.chance() else None, False)


def warping(c):
    x = c.f32(c.pick(1, 3, 7), c.pick(1, 4, 6))
    c.add_input(np.round(x).astype(np.float32) if c.chance() else x, False)


def bifurcation(c):
    source = c.integers(np.int64, c.pick(1, 4, 8), low=0, high=3)
    start = int(c.rng.integers(len(source) + 1))
    c.add_input(source, False)
    c.add_input(c.integers(np.int64, c.pick(1, 3), low=0, high=3), False)
    c.add_input(np.array([start]), False)
    predicted = np.concatenate([source[start:], [1]])
    predicted[int(c.rng.integers(len(predicted)))] = c.pick(0, 1, 2)
    c.add_input(predicted if c.chance(0.8) else None, False)
    least = c.pick(1, 2)
    c.attributes = {"min_ngram_size": least, "max_ngram_size": least + c.pick(0, 1, 3)}
    c.outputs = 2


FORMS = {
    "DynamicTimeWarping": (warping, 1), "BifurcationDetector": (bifurcation, 1),
    "QLinearAdd": (q_linear_binary, 1), "QLinearMul": (q_linear_binary, 1), "MatMulIntegerToFloat": (matmul_integer_to_float, 1),
    "EmbedLayerNormalization": (embed_layer_normalization, 1), "FusedConv": (fused_conv, 1), "GatedDeltaNet": (gated_delta_net, 2),
    "NGramHashMapping": (ngram_hash, 1), "MRotaryEmbedding": (mrotary, 1), "HyperConnectionPostMix": (streams_mixed, 1),
    "GroupQueryAttention": (group_query_attention, 6), "GroupQueryAttention of quantised caches": (quantized_cache, 2),
    "GroupQueryAttention of sliding caches": (sliding_cache, 2), "MultiHeadAttention": (multi_head_attention, 5), "Attention": (attention, 4),
    "MatMulNBits": (matmul_nbits, 4), "GatherBlockQuantized": (gather_block_quantized, 3),
    "SkipLayerNormalization": (lambda c: skip_normalization(c, False), 2),
    "SkipSimplifiedLayerNormalization": (lambda c: skip_normalization(c, True), 2), "RotaryEmbedding": (rotary_embedding, 2),
    "QAttention": (q_attention, 3), "MoE": (moe, 2), "QMoE": (qmoe, 2), "LinearAttention": (linear_attention, 2),
    "CausalConvWithState": (causal_conv, 2), "QGemm": (q_gemm, 1), "DynamicQuantizeMatMul": (dynamic_quantize_matmul, 1),
    "GatedRMSNorm": (gated_rms_norm, 1), "MatMulBnb4": (matmul_bnb4, 1), "FusedMatMul": (fused_matmul, 1),
    "BiasGelu": (lambda c: elementwise(c, "BiasGelu"), 1), "FastGelu": (lambda c: elementwise(c, "FastGelu"), 1),
    "QuickGelu": (lambda c: elementwise(c, "QuickGelu"), 1),
}


def build(form, c):
    op = form.split()[0]
    names, inputs, inits, feeds = [], [], [], {}
    for i, value in enumerate(c.inputs):
        names.append("" if value is None else f"in{i}")
        if value is None:
            continue
        if i in c.kinds:
            inits.append(helper.make_tensor(f"in{i}", c.kinds[i], value.shape, value.ravel().tolist()))
        elif i in c.constants:
            inits.append(numpy_helper.from_array(value, f"in{i}"))
        else:
            feeds[f"in{i}"] = value
            inputs.append(helper.make_tensor_value_info(f"in{i}", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
    while not names[-1]:
        names.pop()
    outputs = [f"out{i}" for i in range(c.outputs)] if isinstance(c.outputs, int) else c.outputs
    node = helper.make_node(op, names, outputs, domain=MS, name=op, **c.attributes)

    def model(results):
        graph = helper.make_graph([node], op, inputs, results, inits)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", c.opset), helper.make_opsetid(MS, 1)], ir_version=10)
    return model, feeds, [o for o in outputs if o]


def reference(model, feeds, outputs):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model([helper.make_empty_tensor_value_info(o) for o in outputs]).SerializeToString(), options,
                                   providers=["CPUExecutionProvider"])
    return session.run(outputs, feeds)


def ours(tool, path, feeds, outputs, folder):
    words = [tool, "run", path]
    for name, value in feeds.items():
        np.save(os.path.join(folder, name + ".npy"), value)
        words += ["--input", f"{name}={os.path.join(folder, name)}.npy"]
    for name in outputs:
        words += ["--output", f"{name}={os.path.join(folder, name)}.npy"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError((ran.stderr or ran.stdout).strip().splitlines()[-1])
    return [np.load(os.path.join(folder, name + ".npy")) for name in outputs]


def difference(got, want, c):
    """The text of the first difference, or None."""
    for i, (g, w) in enumerate(zip(got, want)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"output {i} is {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}"
        g, w = g.astype(np.float64), w.astype(np.float64)
        off = ~((g == w) | (np.isnan(g) & np.isnan(w)) | (np.abs(g - w) <= c.atol + c.rtol * np.abs(w)))
        if off.any():
            at = tuple(int(v[0]) for v in np.nonzero(off))
            return f"output {i} {list(at)} is {g[at]:.6g}, expected {w[at]:.6g}; {int(off.sum())} of {off.size} differ"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("poprt_exec")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", default="")
    options = parser.parse_args()
    forms = [(op, make) for op, (make, weight) in FORMS.items() for _ in range(weight) if options.only in op]
    counts = collections.defaultdict(collections.Counter)
    done, number = 0, 0
    while done < options.cases and number < 4 * options.cases:
        number += 1
        rng = np.random.default_rng([options.seed, number])
        op, make = forms[int(rng.integers(len(forms)))]
        c = Case(rng)
        make(c)
        model, feeds, outputs = build(op, c)
        try:
            want = reference(model, feeds, outputs)
        except Exception as error:  # noqa: BLE001: ONNX Runtime decides which forms exist
            counts[op]["not in ONNX Runtime"] += 1
            if options.only:
                print(f"{number} {op}: ONNX Runtime: {str(error)[:200]}")
            continue
        done += 1
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            # Sizes that depend on data are not declared.
            sized = op in ("DynamicTimeWarping", "BifurcationDetector")
            results = [helper.make_tensor_value_info(o, helper.np_dtype_to_tensor_dtype(w.dtype), None if sized else w.shape)
                       for o, w in zip(outputs, want)]
            onnx.save(model(results), path)
            given = {k: list(np.shape(v)) for k, v in zip([f"in{i}" for i in range(len(c.inputs))], c.inputs) if v is not None}
            try:
                problem, kind = difference(ours(options.poprt_exec, path, feeds, outputs, folder), want, c), "differs"
            except RuntimeError as error:
                problem, kind = str(error)[:300], "refused"
            if problem:
                print(f"{number} {op} {kind}: {problem}\n    {c.attributes} {given}{' fp16' if c.half else ''}", flush=True)
                if options.keep:
                    os.makedirs(options.keep, exist_ok=True)
                    onnx.save(model(results), os.path.join(options.keep, f"{options.seed}_{number}_{op}.onnx"))
            counts[op][kind if problem else "equal"] += 1
    for op, count in sorted(counts.items()):
        print(f"{op}: " + ", ".join(f"{v} {k}" for k, v in sorted(count.items())))
    print(f"{done} cases, {sum(c['differs'] for c in counts.values())} differ, {sum(c['refused'] for c in counts.values())} refused")
    return 1 if any(c["differs"] for c in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
