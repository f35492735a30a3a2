"""Writes the vectors in tests/data/graphcore as make_contrib_vectors.py writes those of com.microsoft. NumPy
computes the expected results by the definitions of the PopART and PopRT documents. Needs numpy, onnx, onnxruntime, ml_dtypes."""

import math
import os

import make_contrib_vectors as vectors
import ml_dtypes
import numpy as np
from make_contrib_vectors import Const, case, f32

GC = "ai.graphcore"
rng = np.random.default_rng(13)


def gc(name, op, inputs, want, attributes=None, **rest):
    want = want if isinstance(want, list) else [want]
    case(name, op, inputs, attributes, len(want), domain=GC, want=[np.asarray(w) for w in want], opset=rest.pop("opset", 11),
         **rest)


def elementwise_and_norms(x, y, wide):
    tanh = (0.5 * wide * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3)))).astype(np.float32)
    erf = np.vectorize(math.erf)
    exact = (0.5 * wide * (1 + erf(wide / math.sqrt(2)))).astype(np.float32)
    gc("gelu", "Gelu", [x], tanh)
    gc("gelu_erf", "GeluErf", [x], exact)
    gc("erf_gelu", "ErfGelu", [x], exact)
    gc("erf_v2", "ErfV2", [x], erf(wide).astype(np.float32))
    soft = (np.exp(wide) / np.exp(wide).sum(1, keepdims=True)).astype(np.float32)
    gc("softmax_v2", "SoftmaxV2", [x], soft, {"axis": 1})
    gc("softmax_v3", "SoftmaxV3", [x], soft, {"axis": -1})
    keep = rng.integers(0, 2, (3, 4)).astype(bool)
    gc("where_v2", "WhereV2", [keep, x, y], np.where(keep, x, y))
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.7], np.float32)
    gc("round_v2", "RoundV2", [halves], np.rint(halves))
    image, gamma, beta = f32(2, 4, 3), f32(4), f32(4)
    grouped = image.reshape(2, 2, -1).astype(np.float64)
    mean, deviation = grouped.mean(2), 1 / np.sqrt(grouped.var(2) + 1e-3)
    normal = ((grouped - mean[..., None]) * deviation[..., None]).reshape(2, 4, 3)
    gc("group_normalization", "GroupNormalization", [image, Const(gamma), Const(beta)],
       [(normal * gamma[:, None] + beta[:, None]).astype(np.float32), mean.ravel().astype(np.float32),
        deviation.ravel().astype(np.float32)], {"num_groups": 2, "epsilon": 1e-3})
    layer = ((wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gamma + beta)
    gc("fast_norm", "FastNorm", [x, Const(gamma), Const(beta)], layer.astype(np.float32), {"epsilon": 1e-5})
    gc("norm_ce", "NormCE", [x, Const(gamma), Const(beta)], layer.astype(np.float32), {"epsilon": 1e-5})
    gc("scale", "Scale", [x], x * np.float32(0.3), {"scale": 0.3})
    for name, op in (("nop", "Nop"), ("detach", "Detach"), ("print_tensor", "PrintTensor"), ("remap", "Remap"),
                     ("tensor_remap", "TensorRemap"), ("print_tile_mapping", "PrintTileMapping")):
        gc(name, op, [x], x)


def moves():
    gc("subsample", "Subsample", [f := f32(5, 6)], f[::2, ::3], {"strides": [2, 3]})
    gc("reverse", "Reverse", [f], f[::-1, ::-1], {"dimensions": [0, 1]})
    gc("reverse_one", "Reverse", [f], f[:, ::-1], {"dimensions": [1]})
    window = {"axes": [0, 1], "sizes": [2, 3]}
    index, part = np.array([1, 2], np.uint32), f32(2, 3)
    gc("dynamic_slice", "DynamicSlice", [f, index], f[1:3, 2:5], window)
    updated = f.copy()
    updated[1:3, 2:5] = part
    gc("dynamic_update", "DynamicUpdate", [f, index, part], updated, window)
    return f


def arithmetic():
    a, b = np.array([1, -1, 1, -1, 0, 2, 0, -3], np.float32), np.array([1, 1, -1, -1, 1, 0, -2, 0], np.float32)
    gc("atan2", "Atan2", [a, b], np.arctan2(a, b))
    tiny = np.array([1e-7, -1e-6, 0.01, 1, -3, 8], np.float32)
    gc("expm1", "Expm1", [tiny], np.expm1(tiny), atol=0)
    tiny = np.array([1e-7, -1e-6, 0.01, 1, -0.9, 1e6], np.float32)
    gc("log1p", "Log1p", [tiny], np.log1p(tiny), atol=0)
    dividend, divisor = np.array([5.5, -5.5, 5.5, -5.5], np.float32), np.array([2, 2, -2, -2], np.float32)
    gc("fmod", "Fmod", [dividend, divisor], np.fmod(dividend, divisor))
    gc("remainder", "Remainder", [dividend, divisor], np.remainder(dividend, divisor))
    left, right = np.array([5, -5, 5, -5], np.int32), np.array([3, 3, -3, -3], np.int32)
    gc("remainder_int", "Remainder", [left, right], np.remainder(left, right))
    p, q = rng.integers(-99, 99, 6).astype(np.int32), rng.integers(-99, 99, 6).astype(np.int32)
    gc("bitwise_and", "BitwiseAnd", [p, q], p & q)
    gc("bitwise_or", "BitwiseOr", [p, q], p | q)
    gc("bitwise_xor", "BitwiseXor", [p, q], p ^ q)
    gc("bitwise_not", "BitwiseNot", [p], ~p)
    bounds, v = np.array([-1, 0, 1, 2], np.float32), np.array([[-2, -1, 0.5], [1, 2, 3]], np.float32)
    gc("bucketize", "Bucketize", [v, Const(bounds)], np.searchsorted(bounds, v, "left").astype(np.int32))
    gc("bucketize_right", "Bucketize", [v, Const(bounds)], np.searchsorted(bounds, v, "right").astype(np.int32), {"right": 1})


def sorts_and_scatters(x):
    gc("sort", "Sort", [x], [np.sort(x, 0), np.argsort(x, 0).astype(np.int32)], {"axis": 0})
    gc("sort_descending", "Sort", [x], [-np.sort(-x, 1), np.argsort(-x, 1).astype(np.int32)], {"axis": 1, "descending": 1})
    rows = np.array([[0, 1, 4, 0], [4, 1, 0, 0], [1, 1, 4, 0]], np.int32)
    for how, at in (("sum", np.add), ("max", np.maximum), ("min", np.minimum), ("mul", np.multiply)):
        start = {"sum": 0, "max": -np.inf, "min": np.inf, "mul": 1}[how]
        result, hit = np.full((5, 4), float(start)), np.zeros((5, 4), bool)
        for i in range(3):
            for j in range(4):
                result[rows[i, j], j] = at(result[rows[i, j], j], x[i, j])
                hit[rows[i, j], j] = True
        gc("scatter_reduce_" + how, "ScatterReduce", [x, rows], np.where(hit, result, 0).astype(np.float32),
           {"axis": 0, "axis_size": 5, "reduction": how})


def eight_bits(half, shift):
    for fmt, kind in (("F143", ml_dtypes.float8_e4m3fnuz), ("F152", ml_dtypes.float8_e5m2fnuz)):
        bits = (half.astype(np.float32) * 2).astype(kind).view(np.uint8)
        gc("cast_to_fp8_" + fmt.lower(), "CastToFP8", [half, Const(shift)], bits, {"fp8Format": fmt})
        gc("cast_to_uint8_" + fmt.lower(), "CastToUint8", [half, Const(shift)], bits, {"fp8Format": fmt})
        gc("cast_to_uint8_without_shape_infer_" + fmt.lower(), "CastToUint8WithoutShapeInfer", [half, Const(shift)], bits,
           {"fp8Format": fmt})
        other = f32(5, 3).astype(kind)
        product = (half.astype(np.float32) * 2).astype(kind).astype(np.float32) / 2 @ (other.astype(np.float32) * 4)
        for op in ("FP8MatMul", "FP8MatMulWithoutShapeInfer"):
            gc(f"{op.lower()}_{fmt.lower()}", op, [bits, Const(other.view(np.uint8)), Const(shift), Const(np.array(2, np.int32))],
               product.astype(np.float16), {"fp8FormatLHS": fmt, "fp8FormatRHS": fmt}, rtol=2e-3, atol=2e-3)


def scaled_eight_bits(half, shift):
    for fmt, kind in (("FLOAT8_143", ml_dtypes.float8_e4m3fnuz), ("FLOAT8_152", ml_dtypes.float8_e5m2fnuz)):
        small = fmt[-3:]
        bits = (half.astype(np.float32) / 2).astype(kind).view(np.uint8)
        gc("pow2_scale_then_cast_" + small, "Pow2ScaleThenCast", [half, shift], bits, {"to": fmt})
        for to in (np.float16, np.float32):
            gc(f"cast_then_pow2_scale_{small}_{to.__name__}", "CastThenPow2Scale", [bits, shift],
               (bits.view(kind).astype(np.float32) / 2).astype(to),
               {"from": fmt, "to": "FLOAT16" if to == np.float16 else "FLOAT"})


def masks(x, f):
    mask = np.array([1, 0, 0, 1, 1, 0], bool)
    gc("mask_compress", "MaskCompress", [f, mask], [np.concatenate([f[:, mask], np.zeros((5, 3), np.float32)], 1),
                                                    np.array([3], np.int32)], {"axis": 1})
    gc("mask_compress_flat", "MaskCompress", [x, np.tile(mask, 2)], np.concatenate([x.ravel()[np.tile(mask, 2)],
                                                                                   np.zeros(6, np.float32)]))
    gc("mask_compress_numbers", "MaskCompress", [f[0], rng.integers(-1, 2, 6).astype(np.float32) * 0], [np.zeros(6, np.float32)],
       {"axis": 0})


def main():
    x, y = f32(3, 4), f32(3, 4)
    wide = x.astype(np.float64)
    elementwise_and_norms(x, y, wide)
    f = moves()
    arithmetic()
    sorts_and_scatters(x)
    gc("swish", "Swish", [x], (wide / (1 + np.exp(-wide))).astype(np.float32))
    gc("not_zero", "NotZero", [np.array([0, 2, -3, 0.5], np.float32)], np.array([0, 1, 1, 1], np.float32))
    gc("increment_mod", "IncrementMod", [np.array([0, 3, 4], np.float32)], np.array([2, 0, 1], np.float32),
       {"increment": 2.0, "modulus": 5.0})
    half, shift = f32(4, 5).astype(np.float16), np.array(-1, np.int32)
    eight_bits(half, shift)
    infinite = np.array([1, np.inf, -np.inf, 0], np.float32)
    gc("is_inf_v2", "IsInfV2", [infinite], np.array([False, True, False, False]), {"detect_negative": 0})
    packed_sequences()
    stacked = f32(3, 2, 4)
    gc("hcsr", "HCSR", [stacked], list(stacked))
    scaled_eight_bits(half, shift)
    quarter_convolutions()
    halves_of_bytes()
    beam_steps()
    caches()
    masks(x, f)


def halves_of_bytes():
    packed, scale = rng.integers(-128, 128, (6, 5)).astype(np.int8), f32(6).astype(np.float16)
    high, low = packed >> 4, (packed << 4).astype(np.int8) >> 4
    rows = np.stack([high, low], 1).reshape(12, 5).astype(np.float16) * scale[:5]
    columns = np.stack([high, low], 2).reshape(6, 10).astype(np.float16).T * scale
    reference = f32(2, 3).astype(np.float16)
    gc("int4_to_half_rows", "Int4ToHalf", [packed, Const(scale[:5])], rows, {"axis": 0, "remap": 0}, rtol=0, atol=0)
    gc("int4_to_half_columns", "Int4ToHalf", [packed, Const(scale), reference], columns, {"axis": 1}, rtol=0, atol=0)


def beam_steps():
    batch, length, k, words = 2, 4, 3, 7
    logits, tokens = f32(batch, k, words), rng.integers(0, words, (batch, length, k)).astype(np.int32)
    sums = f32(batch, k)
    for step in (0, 2):
        best = np.argsort(-logits, 2, kind="stable")[:, :, :k]
        value = np.take_along_axis(logits, best, 2)
        hyp, prob = tokens.copy(), sums.copy()
        if step == 0:
            next_id = place = best[:, 0]
            hyp[:, 0], prob = next_id, value[:, 0]
        else:
            total = (value + sums[:, :, None]).reshape(batch, k * k)
            place = np.argsort(-total, 1, kind="stable")[:, :k]
            next_id = np.take_along_axis(best.reshape(batch, k * k), place, 1)
            hyp = np.take_along_axis(np.repeat(tokens, k, 2), place[:, None], 2)
            hyp[:, step] = next_id
            prob = np.take_along_axis(total, place, 1)
        gc(f"beam_search_{step}", "BeamSearch", [logits, tokens, sums, np.array(step, np.int32)],
           [next_id.astype(np.int32), place.astype(np.int32), hyp, prob], {"beam_size": k})


def caches():
    # Each vector is the first step, which clears the state; tests in C++ cover a state that is kept between runs.
    x, first = f32(2, 1, 3), np.array(0, np.int32)
    full = np.zeros((2, 4, 3), np.float32)
    full[:, :1] = x
    sizes = {"max_len": 4, "step_len": 1}
    gc("kv_cache", "KVCache", [first, x], full, {**sizes, "sequence_axis": 1})
    gc("kv_cache_pipeline", "KVCachePipeline", [first, x], full, {**sizes, "max_bps": 2})
    kind = ml_dtypes.float8_e4m3fnuz
    rounded = (x / 2).astype(kind).astype(np.float32) * 2
    gc("kv_cache_fp8", "KVCache", [first, x], np.concatenate([rounded, full[:, 1:]], 1), {**sizes, "sequence_axis": 1, "fp8": 1})


def quarter_convolutions():
    x, w, bias = f32(2, 4, 5, 6).astype(np.float16), f32(6, 2, 3, 2), f32(6).astype(np.float16)
    down, up = np.array(-1, np.int32), np.array(2, np.int32)
    for fmt, kind in (("F143", ml_dtypes.float8_e4m3fnuz), ("F152", ml_dtypes.float8_e5m2fnuz)):
        x_bits, w_bits = (x.astype(np.float32) * 2).astype(kind), w.astype(kind)
        padded = np.pad(x_bits.astype(np.float64) / 2, ((0, 0), (0, 0), (1, 1), (0, 1)))
        weights = w_bits.astype(np.float64) * 4
        y = np.zeros((2, 6, 3, 6))
        for n, m, i, j in np.ndindex(y.shape):
            group = m // 3 * 2
            y[n, m, i, j] = (padded[n, group:group + 2, 2 * i:2 * i + 3, j:j + 2] * weights[m]).sum() + bias[m]
        gc("fp8conv_" + fmt.lower(), "FP8Conv",
           [x_bits.view(np.uint8), Const(w_bits.view(np.uint8)), Const(down), Const(up), Const(bias)], y.astype(np.float16),
           {"fp8FormatLHS": fmt, "fp8FormatRHS": fmt, "group": 2, "strides": [2, 1], "pads": [1, 0, 1, 1]}, rtol=2e-3,
           atol=2e-3)


def packed_sequences():
    items = np.array([[1, 1, 2, 2, 2, 0], [1, 2, 3, 3, 0, 0]], np.int32)
    same = (items[:, :, None] == items[:, None, :]) & (items[:, None, :] != 0)
    for kind, name in ((np.float32, "FLOAT"), (np.float16, "FLOAT16")):
        gc("attention_mask_" + name.lower(), "AttentionMask", [items, f32(2, 6, 8)],
           np.where(same, 0, -10000)[:, None].astype(kind), {"dataType": name})
    room, info = [4, 3], np.array([[4, 1], [0, 3], [2, 0], [0, 0]], np.int32)
    rows = f32(12, 5)
    unpacked, at = np.zeros((4, 7, 5), np.float32), 0
    for k in range(4):
        for s, begin in ((0, 0), (1, 4)):
            unpacked[k, begin:begin + info[k, s]] = rows[at:at + info[k, s]]
            at += info[k, s]
    sizes = {"max_valid_num": 4, "segment_max_size": room}
    gc("unpack", "Unpack", [rows, info], unpacked, sizes)
    gc("unpack_batch", "Unpack", [rows.reshape(2, 6, 5), info], unpacked, sizes)
    gc("unpack_heads", "Unpack", [rows.reshape(12, 5, 1), info], unpacked[..., None], {**sizes, "tail": 2})
    back = np.zeros((28, 5), np.float32)
    back[:at] = rows[:at]
    gc("pack", "Pack", [unpacked, info], back, sizes)
    gc("repack", "Repack", [unpacked, info, rows], back[:12], sizes)
    gc("repack_batch", "Repack", [unpacked, info, rows.reshape(2, 6, 5)], back[:12], sizes)
    long = np.array([[9, -1], [0, 2], [0, 0], [0, 0]], np.int32)  # lengths beyond the size and negative lengths are clipped
    cut = np.zeros((4, 7, 5), np.float32)
    cut[0, :4], cut[1, 4:6] = rows[:4], rows[4:6]
    gc("unpack_cut", "Unpack", [rows, long], cut, sizes)


if __name__ == "__main__":
    vectors.OUT = os.path.join(vectors.HERE, "..", "data", "graphcore")
    os.makedirs(vectors.OUT, exist_ok=True)
    main()
    print(f"{len(vectors.made)} vectors made")
