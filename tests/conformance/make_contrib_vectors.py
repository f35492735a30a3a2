"""Writes the vectors in tests/data/contrib: models of one operator each, with random inputs and the results that
ONNX Runtime computes from them. Needs numpy, onnx, onnxruntime; the tests need none of them.

    python tests/conformance/make_contrib_vectors.py [FILTER]

A vector is one .onnx file. In addition to the operator's constants it has initializers `feed/NAME` (the value of graph input
NAME) and `want/NAME` (the value of output NAME); metadata `rtol` and `atol` are the tolerances of the results.
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
rng = np.random.default_rng(7)
only = sys.argv[1] if len(sys.argv) > 1 else ""
made = []


def f32(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def u8(*shape, low=0, high=256):
    return rng.integers(low, high, shape).astype(np.uint8)


def i8(*shape, low=-128, high=128):
    return rng.integers(low, high, shape).astype(np.int8)


class Const:
    """An input whose value the compiler sees."""

    def __init__(self, value):
        self.value = np.asarray(value)


def case(name, op, inputs, attributes=None, outputs=1, domain=MS, opset=17, rtol=1e-4, atol=1e-5, want=None, types=None,
         domain_version=1, floats=()):
    """`inputs`: arrays (fed at run time), Const, or None for an omitted one. `outputs`: count, or a list of names with
    '' for an omitted one. `want`: expected results instead of ONNX Runtime's. `floats`: outputs whose
    type must be stated."""
    if only and not name.startswith(only):
        return None
    names, graph_inputs, initializers, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        if value is None:
            names.append("")
            continue
        names.append(f"in{i}")
        if isinstance(value, Const):
            v = value.value
            if types and i in types:
                initializers.append(helper.make_tensor(f"in{i}", types[i], v.shape, v.astype(np.int32).ravel()))
            else:
                initializers.append(numpy_helper.from_array(v, f"in{i}"))
        else:
            feeds[f"in{i}"] = value
            graph_inputs.append(helper.make_tensor_value_info(f"in{i}", helper.np_dtype_to_tensor_dtype(value.dtype),
                                                              value.shape))
    while names and not names[-1]:
        names.pop()
    outs = [f"out{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, outs, domain=domain, name=name, **(attributes or {}))
    result_names = [o for o in outs if o]

    def model(extra, results):
        graph = helper.make_graph([node], name, graph_inputs, results, initializers + extra)
        imports = [helper.make_opsetid("", opset)]
        if domain:
            imports.append(helper.make_opsetid(domain, domain_version))
        return helper.make_model(graph, opset_imports=imports, ir_version=10)

    if want is None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.log_severity_level = 4
        untyped = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) if n in floats
                   else helper.make_empty_tensor_value_info(n) for n in result_names]
        try:
            session = ort.InferenceSession(model([], untyped).SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
            want = session.run(result_names, feeds)
        except Exception as error:  # noqa: BLE001: reported, and the other vectors are made
            print(f"{name}: ONNX Runtime: {str(error)[:300]}")
            return None
    if any(isinstance(w, list) for w in want):
        print(f"{name}: results are maps or sequences")
        return None
    results = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(w.dtype), w.shape)
               for n, w in zip(result_names, want)]
    extra = [numpy_helper.from_array(v, "feed/" + n) for n, v in feeds.items()]
    extra += [numpy_helper.from_array(np.ascontiguousarray(w), "want/" + n) for n, w in zip(result_names, want)]
    m = model(extra, results)
    helper.set_model_props(m, {"rtol": str(rtol), "atol": str(atol)})
    for w in want:
        assert w.dtype.kind in "biu" or np.isfinite(w.astype(np.float64)).all() or op in ("Imputer", "NGramRepeatBlock"), name
    onnx.save(m, os.path.join(OUT, name + ".onnx"))
    made.append(name)
    return want


def norms_and_activations():
    x, skip, gamma, beta, bias = f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)
    case("skip_layer_norm", "SkipLayerNormalization", [x, skip, Const(gamma), Const(beta), Const(bias)],
         {"epsilon": 1e-5}, ["out0", "", "", "out3"])
    case("skip_layer_norm_plain", "SkipLayerNormalization", [x, skip, Const(gamma)])
    case("skip_layer_norm_broadcast", "SkipLayerNormalization", [x, f32(1, 3, 8), Const(gamma), Const(beta)])
    case("skip_layer_norm_broadcast_2d", "SkipLayerNormalization", [x, f32(3, 8), Const(gamma), Const(beta)])
    case("skip_layer_norm_fp16", "SkipLayerNormalization",
         [v.astype(np.float16) for v in (x, skip, gamma, beta, bias)], {"epsilon": 1e-5}, rtol=5e-3, atol=5e-3)
    case("skip_simplified_layer_norm", "SkipSimplifiedLayerNormalization", [x, skip, Const(gamma), Const(bias)],
         {"epsilon": 1e-5}, ["out0", "", "", "out3"])
    case("skip_simplified_layer_norm_2d", "SkipSimplifiedLayerNormalization", [f32(5, 8), f32(5, 8), Const(gamma)],
         {"epsilon": 1e-5})
    case("layer_norm_opset12", "LayerNormalization", [x, Const(gamma), Const(beta)], {"axis": -1, "epsilon": 1e-5},
         domain="", opset=12)
    case("simplified_layer_norm_opset12", "SimplifiedLayerNormalization", [x, Const(gamma)],
         {"axis": -1, "epsilon": 1e-5}, domain="", opset=12)
    rms = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * gamma
    case("simplified_layer_norm_microsoft", "SimplifiedLayerNormalization", [x, Const(gamma)],
         {"axis": -1, "epsilon": 1e-5}, want=[rms.astype(np.float32)])
    ids, segments = rng.integers(0, 11, (2, 4)).astype(np.int32), rng.integers(0, 2, (2, 4)).astype(np.int32)
    word, position, segment = f32(11, 8), f32(6, 8), f32(2, 8)
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    tables = [Const(word), Const(position), Const(segment), Const(gamma), Const(beta)]
    case("embed_layer_norm", "EmbedLayerNormalization", [ids, segments, *tables, mask], {"epsilon": 1e-5}, 2)
    case("embed_layer_norm_sum", "EmbedLayerNormalization", [ids, segments, *tables], {"epsilon": 1e-5}, 3)
    case("embed_layer_norm_positions", "EmbedLayerNormalization",
         [ids, None, Const(word), Const(position), None, Const(gamma), Const(beta), None,
          np.array([[3, 2, 1, 0]], np.int32)], {"epsilon": 1e-5}, 2)
    y = f32(2, 3, 8, scale=2)
    case("bias_gelu", "BiasGelu", [y, Const(bias)])
    case("fast_gelu", "FastGelu", [y])
    case("fast_gelu_bias", "FastGelu", [y, Const(bias)])
    case("gelu", "Gelu", [y])
    case("quick_gelu", "QuickGelu", [y])
    case("quick_gelu_alpha", "QuickGelu", [y], {"alpha": 0.5})


def products():
    a, b = f32(2, 3, 4, 5), f32(2, 3, 5, 6)
    t = lambda v: np.ascontiguousarray(np.swapaxes(v, -1, -2))  # noqa: E731
    case("fused_matmul", "FusedMatMul", [a, b], {"alpha": 0.5})
    case("fused_matmul_trans", "FusedMatMul", [t(a), t(b)], {"alpha": 2.0, "transA": 1, "transB": 1})
    case("fused_matmul_constant", "FusedMatMul", [f32(4, 5), Const(f32(6, 5))], {"transB": 1})
    case("fused_matmul_batch", "FusedMatMul", [f32(4, 2, 3, 5), f32(5, 2, 3, 6)],
         {"transBatchA": 1, "transBatchB": 1})
    case("fused_matmul_batch_trans", "FusedMatMul", [f32(5, 2, 3, 4), f32(2, 3, 6, 5)],
         {"transBatchA": 1, "transA": 1, "transB": 1})
    case("transpose_matmul", "TransposeMatMul", [t(a), b], {"alpha": 0.25, "transA": 1})
    x, w, bias = f32(1, 3, 6, 7), f32(4, 3, 3, 3), f32(4)
    for name, parameters in [("Relu", []), ("Tanh", []), ("Sigmoid", []), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.7]),
                             ("HardSigmoid", [0.3, 0.4])]:
        attributes = {"activation": name, "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
        if parameters:
            attributes["activation_params"] = parameters
        case("fused_conv_" + name.lower(), "FusedConv", [x, Const(w), Const(bias)], attributes)
    case("fused_conv_add", "FusedConv", [x, Const(w), Const(bias), f32(1, 4, 6, 7)],
         {"activation": "Relu", "pads": [1, 1, 1, 1], "strides": [1, 1]})
    case("fused_conv_add_no_bias", "FusedConv", [x, Const(w), None, f32(1, 4, 3, 4)],
         {"pads": [1, 1, 1, 1], "strides": [2, 2]}, want=None)
    g = [f32(4, 5), Const(f32(5, 6)), Const(f32(6))]
    for name, attributes in [("Relu", {}), ("LeakyRelu", {"activation_alpha": 0.2}), ("Tanh", {}),
                             ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.4})]:
        case("fused_gemm_" + name.lower(), "FusedGemm", g, {"activation": name, "alpha": 0.5, **attributes})
    case("fused_gemm_trans", "FusedGemm", [f32(5, 4), Const(f32(6, 5)), None],
         {"activation": "Relu", "transA": 1, "transB": 1})


def attention():
    b, s, heads, d = 2, 4, 2, 3
    h = heads * d
    x, w, bias = f32(b, s, 5), Const(f32(5, 3 * h)), Const(f32(3 * h))
    n = {"num_heads": heads}
    case("attention", "Attention", [x, w, bias], n)
    # ONNX Runtime 1.31 crashes without a bias.
    zero_bias = case("attention_zero_bias", "Attention", [x, w, Const(np.zeros(3 * h, np.float32))], n)
    case("attention_no_bias", "Attention", [x, w], n, want=zero_bias)
    case("attention_causal", "Attention", [x, w, bias], {**n, "unidirectional": 1})
    case("attention_scale", "Attention", [x, w, bias], {**n, "scale": 0.3})
    masks = {"lengths": np.array([3, 4]), "ends_starts": np.array([3, 4, 1, 0]),
             "2d": np.array([[0, 1, 1, 1], [1, 1, 1, 0]]), "3d": rng.integers(0, 2, (b, s, s))}
    masks["3d"][:, :, 0] = 1
    for name, mask in masks.items():
        case("attention_mask_" + name, "Attention", [x, w, bias, mask.astype(np.int32)], n)
        case("attention_mask_causal_" + name, "Attention", [x, w, bias, mask.astype(np.int32)],
             {**n, "unidirectional": 1})
    case("attention_mask_hidden_row", "Attention", [x, w, bias, np.array([[0, 0, 0, 0], [1, 1, 1, 0]], np.int32)], n,
         rtol=1e-2, atol=1e-3)
    case("attention_mask_filter", "Attention", [x, w, bias, masks["2d"].astype(np.int32)],
         {**n, "mask_filter_value": -3.0})
    past = f32(2, b, heads, 3, d)
    case("attention_past", "Attention", [x, w, bias, None, past], {**n, "unidirectional": 1}, 2)
    case("attention_past_mask", "Attention", [x, w, bias, rng.integers(0, 2, (b, s + 3)).astype(np.int32), past],
         {**n, "unidirectional": 1}, 2, rtol=1e-3, atol=1e-3)
    case("attention_past_empty", "Attention", [x, w, bias, None, f32(2, b, heads, 0, d)], {**n, "unidirectional": 1}, 2)
    case("attention_present", "Attention", [x, w, bias], {**n, "unidirectional": 1}, 2)
    case("attention_bias", "Attention", [x, w, bias, None, None, f32(b, heads, s, s)], n)
    case("attention_bias_broadcast", "Attention",
         [x, w, bias, masks["2d"].astype(np.int32), None, f32(1, 1, s, s)], n)
    case("attention_hidden_sizes", "Attention", [x, Const(f32(5, 2 * h + 8)), Const(f32(2 * h + 8))],
         {**n, "qkv_hidden_sizes": [h, h, 8]})

    q, k, v = f32(b, s, h), f32(b, 5, h), f32(b, 5, h)
    case("mha", "MultiHeadAttention", [q, k, v], n)
    case("mha_bias", "MultiHeadAttention", [q, k, v, Const(f32(3 * h))], n)
    case("mha_value_size", "MultiHeadAttention", [q, k, f32(b, 5, 8)], n)
    case("mha_causal", "MultiHeadAttention", [q, f32(b, s, h), f32(b, s, h)], {**n, "unidirectional": 1})
    case("mha_mask_lengths", "MultiHeadAttention", [q, k, v, None, np.array([3, 5], np.int32)], n)
    case("mha_mask_2d", "MultiHeadAttention",
         [q, k, v, None, np.array([[1, 1, 0, 1, 0], [1, 1, 1, 1, 0]], np.int32)], n)
    case("mha_mask_3d", "MultiHeadAttention",
         [q, k, v, None, np.concatenate([np.ones((b, s, 1)), rng.integers(0, 2, (b, s, 4))], 2).astype(np.int32)], n)
    case("mha_attention_bias", "MultiHeadAttention", [q, k, v, None, None, f32(1, heads, s, 5)], n)
    case("mha_attention_bias_batch", "MultiHeadAttention", [q, k, v, None, None, f32(b, 1, s, 5)], n)
    # ONNX Runtime has the packed forms on GPUs only; they must give the results of the separate ones.
    apart = case("mha_apart", "MultiHeadAttention", [q, k, v], n)
    split = lambda v: v.reshape(b, -1, heads, d)  # noqa: E731
    case("mha_packed_kv", "MultiHeadAttention", [q, np.stack([split(k), split(v)], 3)], n, want=apart)
    k2, v2 = f32(b, s, h), f32(b, s, h)
    apart = case("mha_apart_2", "MultiHeadAttention", [q, k2, v2], n)
    case("mha_packed_qkv", "MultiHeadAttention", [np.stack([split(q), split(k2), split(v2)], 3)], n, want=apart)
    case("mha_cross_4d", "MultiHeadAttention", [q, f32(b, heads, 5, d), f32(b, heads, 5, d)], n)
    past_k, past_v = f32(b, heads, 2, d), f32(b, heads, 2, d)
    case("mha_past", "MultiHeadAttention", [q, f32(b, s, h), f32(b, s, h), None, None, None, past_k, past_v], n, 3)
    case("mha_past_causal", "MultiHeadAttention",
         [q, f32(b, s, h), f32(b, s, h), Const(f32(3 * h)), None, f32(1, heads, s, s + 2), past_k, past_v],
         {**n, "unidirectional": 1}, 3)
    case("mha_present", "MultiHeadAttention", [q, k, v], n, 3)
    case("mha_scores", "MultiHeadAttention", [q, k, v], n, ["out0", "", "", "out3"], floats=["out3"])
    case("mha_fp16", "MultiHeadAttention", [a.astype(np.float16) for a in (q, k, v)], n, rtol=5e-3, atol=5e-3)
    one = f32(b, 1, h)
    case("dmmha_cross", "DecoderMaskedMultiHeadAttention", [one, f32(b, heads, 5, d), f32(b, heads, 5, d)], n)
    # One token with a past. ONNX Runtime has this operator for shared buffers only, and crashes without beams there.
    k1, v1 = f32(b, 1, h), f32(b, 1, h)
    apart = case("mha_token", "MultiHeadAttention", [one, k1, v1, None, None, None, past_k, past_v], n, 3)
    case("dmmha", "DecoderMaskedMultiHeadAttention", [one, k1, v1, None, None, past_k, past_v], n, 3, want=apart)
    if apart:
        grown = lambda v, rows: np.pad(v, [(0, 0), (0, 0), (0, rows), (0, 0)])  # noqa: E731
        case("dmmha_shared", "DecoderMaskedMultiHeadAttention",
             [one, k1, v1, None, None, grown(past_k, 4), grown(past_v, 4), np.array([2], np.int32)],
             {**n, "past_present_share_buffer": 1}, 3, want=[apart[0], grown(apart[1], 3), grown(apart[2], 3)])
    bias = Const(f32(3 * h))
    apart = case("mha_token_bias", "MultiHeadAttention", [one, k1, v1, bias, None, None, past_k, past_v], n, 3)
    case("dmmha_bias", "DecoderMaskedMultiHeadAttention",
         [one, k1, v1, None, None, past_k, past_v, None, None, None, bias], n, 3, want=apart)
    mask = np.array([[1, 0, 1], [1, 1, 1]], np.int32)
    apart = case("mha_token_mask", "MultiHeadAttention", [one, k1, v1, None, mask, None, past_k, past_v], n, 3)
    case("dmmha_mask", "DecoderMaskedMultiHeadAttention", [one, k1, v1, mask, None, past_k, past_v], n, 3, want=apart)


def rotary(positions, rotated, limit=16):
    angle = np.arange(limit)[:, None] / 10000.0 ** (np.arange(rotated // 2) * 2 / rotated)
    return np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)


def language_models():
    b, s, heads, kv, d = 2, 3, 4, 2, 16
    cos, sin = (Const(t) for t in rotary(None, d))
    q, k, v = f32(b, s, heads * d), f32(b, s, kv * d), f32(b, s, kv * d)
    n = {"num_heads": heads, "kv_num_heads": kv}
    total = lambda x: Const(np.array(x, np.int32))  # noqa: E731
    lengths = lambda *x: np.array(x, np.int32)  # noqa: E731
    case("gqa_prompt", "GroupQueryAttention", [q, k, v, None, None, lengths(2, 2), total(3)], n, 3)
    case("gqa_prompt_rotary", "GroupQueryAttention", [q, k, v, None, None, lengths(2, 2), total(3), cos, sin],
         {**n, "do_rotary": 1}, 3)
    case("gqa_prompt_interleaved", "GroupQueryAttention", [q, k, v, None, None, lengths(2, 2), total(3), cos, sin],
         {**n, "do_rotary": 1, "rotary_interleaved": 1}, 3)
    past_k, past_v = f32(b, kv, 4, d), f32(b, kv, 4, d)
    one = [f32(b, 1, heads * d), f32(b, 1, kv * d), f32(b, 1, kv * d)]
    case("gqa_token", "GroupQueryAttention", [*one, past_k, past_v, lengths(4, 4), total(5), cos, sin],
         {**n, "do_rotary": 1}, 3)
    case("gqa_packed", "GroupQueryAttention",
         [f32(b, 1, (heads + 2 * kv) * d), None, None, past_k, past_v, lengths(4, 4), total(5), cos, sin],
         {**n, "do_rotary": 1}, 3)
    case("gqa_softcap_scale", "GroupQueryAttention", [*one, past_k, past_v, lengths(4, 4), total(5)],
         {**n, "softcap": 2.0, "scale": 0.5}, 3)
    case("gqa_window", "GroupQueryAttention", [*one, past_k, past_v, lengths(4, 4), total(5)],
         {**n, "local_window_size": 3}, 3)
    case("gqa_window_prompt", "GroupQueryAttention", [q, k, v, None, None, lengths(2, 2), total(3)],
         {**n, "local_window_size": 2}, 3)
    case("gqa_bias", "GroupQueryAttention",
         [q, k, v, None, None, lengths(2, 2), total(3), None, None, None, f32(1, heads, s, 3)], n, 3)
    case("gqa_smooth", "GroupQueryAttention", [q, k, v, None, None, lengths(2, 2), total(3)],
         {**n, "smooth_softmax": 1}, 3)
    case("gqa_sink", "GroupQueryAttention",
         [*one, past_k, past_v, lengths(4, 4), total(5), None, None, None, None, Const(f32(heads))], n, 3)
    case("gqa_fp16", "GroupQueryAttention",
         [*(a.astype(np.float16) for a in (*one, past_k, past_v)), lengths(4, 4), total(5)], n, 3, rtol=1e-2, atol=5e-3)
    # A shared cache of eight rows, of which only the rows of existing tokens count.
    cache_k, cache_v = np.zeros((b, kv, 8, d), np.float32), np.zeros((b, kv, 8, d), np.float32)
    cache_k[:, :, :4], cache_v[:, :, :4] = past_k, past_v
    case("gqa_cache", "GroupQueryAttention", [*one, cache_k, cache_v, lengths(4, 4), np.array(5, np.int32), cos, sin],
         {**n, "do_rotary": 1}, 3)
    ragged_k, ragged_v = cache_k.copy(), cache_v.copy()
    ragged_k[1, :, 2:] = ragged_v[1, :, 2:] = 0
    case("gqa_cache_ragged", "GroupQueryAttention", [*one, ragged_k, ragged_v, lengths(4, 2), np.array(5, np.int32), cos, sin],
         {**n, "do_rotary": 1}, 3)
    x = f32(b, s, heads * d)
    case("rotary_offset", "RotaryEmbedding", [x, np.array([3], np.int64), cos, sin])
    case("rotary_positions", "RotaryEmbedding", [x, np.array([[0, 1, 2], [4, 5, 6]], np.int64), cos, sin])
    case("rotary_interleaved", "RotaryEmbedding", [x, np.array([1], np.int64), cos, sin], {"interleaved": 1})
    case("rotary_4d", "RotaryEmbedding", [f32(b, heads, s, d), np.array([2], np.int64), cos, sin])
    half = [Const(t) for t in rotary(None, d // 2)]
    case("rotary_partial", "RotaryEmbedding", [x, np.array([1], np.int64), *half],
         {"rotary_embedding_dim": d // 2, "num_heads": heads})
    for bits in (2, 4, 8):
        for depth, zero in ((64, None), (64, "packed"), (72, "packed"), (72, "float")):
            if bits == 8 and zero == "float":
                continue  # not in ONNX Runtime
            columns, block = 6, 32
            blocks = -(-depth // block)
            weights = u8(columns, blocks, block * bits // 8)
            scales = Const((rng.random((columns, blocks)) * 0.1 + 0.01).astype(np.float32))
            points = None
            if zero == "packed":
                points = Const(u8(columns, -(-blocks * bits // 8)))
            if zero == "float":
                points = Const(rng.random((columns, blocks)).astype(np.float32) * 4)
            case(f"matmul_{bits}bits_{depth}_{zero}", "MatMulNBits", [f32(2, 3, depth), Const(weights), scales, points],
                 {"K": depth, "N": columns, "bits": bits, "block_size": block}, rtol=1e-3, atol=1e-3)
    case("matmul_4bits_bias", "MatMulNBits",
         [f32(3, 32), Const(u8(6, 1, 16)), Const(f32(6, 1, scale=0.1)), None, None, Const(f32(6))],
         {"K": 32, "N": 6, "bits": 4, "block_size": 32}, rtol=1e-3, atol=1e-3)
    r = np.random.default_rng(20)  # a separate generator, so that the vectors after it do not change
    a = r.standard_normal((3, 32)).astype(np.float32)
    q, points = r.integers(0, 16, (6, 32)), r.integers(0, 16, (6, 2))
    scales, group = r.random((6, 2)).astype(np.float32), r.integers(0, 2, 32)
    weights = ((q - points[:, group]) * scales[:, group]).astype(np.float32)
    pack = lambda v: (v[:, 0::2] | v[:, 1::2] << 4).astype(np.uint8)  # noqa: E731
    case("matmul_4bits_groups", "MatMulNBits",
         [a, Const(pack(q).reshape(6, 2, 8)), Const(scales), Const(pack(points)), Const(group.astype(np.int32))],
         {"K": 32, "N": 6, "bits": 4, "block_size": 16}, rtol=1e-3, atol=1e-3, want=[a @ weights.T])
    indices = np.array([[0, 5], [3, 3]], np.int64)
    scales = Const(f32(6, 2, scale=0.1))
    for bits in (4, 8):
        data = Const(u8(6, 64 * bits // 8))
        case(f"gather_block_u8_{bits}", "GatherBlockQuantized", [data, indices, scales],
             {"bits": bits, "block_size": 32, "gather_axis": 0, "quantize_axis": 1})
        points = Const(u8(6, 2 * bits // 8))
        case(f"gather_block_u8_{bits}_zero", "GatherBlockQuantized", [data, indices, scales, points],
             {"bits": bits, "block_size": 32, "gather_axis": 0, "quantize_axis": 1})
    for name, kind, low, high in (("u4", TensorProto.UINT4, 0, 16), ("s4", TensorProto.INT4, -8, 8)):
        data, points = rng.integers(low, high, (6, 64)), rng.integers(low, high, (6, 2))
        case(f"gather_block_{name}", "GatherBlockQuantized", [Const(data), indices, scales, Const(points)],
             {"block_size": 32, "gather_axis": 0, "quantize_axis": 1}, opset=21, types={0: kind, 3: kind})
        data = rng.integers(low, high, (32, 6))
        case(f"gather_block_{name}_axis1", "GatherBlockQuantized", [Const(data), indices, Const(f32(2, 6))],
             {"block_size": 16, "gather_axis": 1, "quantize_axis": 0}, opset=21, types={0: kind})


def quantized():
    scale = lambda x: Const(np.array(x, np.float32))  # noqa: E731
    zero = lambda x, t=np.uint8: Const(np.array(x, t))  # noqa: E731
    step = {"rtol": 0, "atol": 1.01}  # a value on the border between two steps may fall on either side
    a, b = u8(2, 3, 4), u8(3, 4)
    case("qlinear_add", "QLinearAdd", [a, scale(0.1), zero(3), b, scale(0.2), zero(100), scale(0.3), zero(40)], **step)
    case("qlinear_add_s8", "QLinearAdd",
         [i8(2, 3, 4), scale(0.1), zero(3, np.int8), i8(1, 4), scale(0.2), zero(-10, np.int8), scale(0.3),
          zero(4, np.int8)], **step)
    plain = case("qlinear_add_zero", "QLinearAdd",
                 [a, scale(0.1), zero(0), b, scale(0.2), zero(0), scale(0.3), zero(0)], **step)
    case("qlinear_add_no_zero", "QLinearAdd", [a, scale(0.1), None, b, scale(0.2), None, scale(0.3)], want=plain,
         **step)
    case("qlinear_mul", "QLinearMul", [a, scale(0.1), zero(3), b, scale(0.2), zero(100), scale(2.0), zero(40)], **step)
    case("qlinear_mul_s8", "QLinearMul",
         [i8(2, 3, 4), scale(0.1), zero(3, np.int8), i8(2, 1, 4), scale(0.2), zero(-10, np.int8), scale(2.0),
          zero(4, np.int8)], **step)
    case("qlinear_sigmoid", "QLinearSigmoid", [a, scale(0.05), zero(128), Const(np.float32(1 / 256)), zero(0)], **step)
    case("qlinear_leaky_relu", "QLinearLeakyRelu", [a, scale(0.05), zero(128), scale(0.04), zero(30)], {"alpha": 0.2},
         **step)
    image = u8(1, 3, 6, 6)
    pool = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [2, 2]}
    case("qlinear_average_pool", "QLinearAveragePool", [image, scale(0.1), zero(5), scale(0.12), zero(9)], pool, **step)
    case("qlinear_average_pool_pad", "QLinearAveragePool", [image, scale(0.1), zero(5), scale(0.12), zero(9)],
         {**pool, "count_include_pad": 1}, **step)
    case("qlinear_average_pool_nhwc", "QLinearAveragePool", [u8(1, 6, 6, 3), scale(0.1), zero(5), scale(0.12), zero(9)],
         {**pool, "channels_last": 1}, **step)
    case("qlinear_global_average_pool", "QLinearGlobalAveragePool", [image, scale(0.1), zero(5), scale(0.12), zero(9)],
         **step)
    case("qlinear_global_average_pool_nhwc", "QLinearGlobalAveragePool",
         [u8(1, 6, 6, 3), scale(0.1), zero(5), scale(0.12), zero(9)], {"channels_last": 1}, **step)
    case("qlinear_reduce_mean", "QLinearReduceMean", [image, scale(0.1), zero(5), scale(0.12), zero(9)],
         {"axes": [2, 3], "keepdims": 1},
         want=[np.clip(np.rint((image.astype(np.float64) - 5).mean((2, 3), keepdims=True) * 0.1 / 0.12) + 9, 0,
                       255).astype(np.uint8)], **step)
    case("qlinear_concat", "QLinearConcat",
         [scale(0.2), zero(10), u8(2, 3), scale(0.1), zero(3), u8(2, 4), scale(0.2), zero(10)], {"axis": 1}, **step)
    case("qlinear_softmax", "QLinearSoftmax", [a, scale(0.05), zero(128), Const(np.float32(1 / 256)), zero(0)],
         {"axis": -1, "opset": 13}, **step)
    case("qlinear_softmax_12", "QLinearSoftmax", [a, scale(0.05), zero(128), Const(np.float32(1 / 256)), zero(0)],
         {"axis": 1, "opset": 12}, **step)
    case("qlinear_where", "QLinearWhere",
         [rng.integers(0, 2, (2, 3, 4)).astype(bool), a, scale(0.1), zero(3), b, scale(0.2), zero(100), scale(0.3),
          zero(40)], **step)
    x, w = u8(4, 5), u8(5, 6)
    column = Const((rng.random(6) * 0.1).astype(np.float32))
    c = Const(rng.integers(-300, 300, 6).astype(np.int32))
    case("qgemm", "QGemm", [x, scale(0.1), zero(7), Const(w), scale(0.2), zero(9), c, scale(3.0), zero(100)], **step)
    case("qgemm_column", "QGemm",
         [x, scale(0.1), zero(7), Const(i8(5, 6)), column, Const(np.zeros(6, np.int8)), c, scale(3.0), zero(100)],
         **step)
    case("qgemm_float", "QGemm", [u8(5, 4), scale(0.1), zero(7), Const(u8(6, 5)), scale(0.2), zero(9)],
         {"transA": 1, "transB": 1, "alpha": 0.5})
    case("matmul_integer_to_float", "MatMulIntegerToFloat",
         [x, Const(w), scale(0.1), column, zero(3), Const(u8(6)), Const(f32(6))])
    case("matmul_integer_to_float_plain", "MatMulIntegerToFloat", [x, Const(w), scale(0.1), scale(0.2)])
    case("dynamic_quantize_matmul", "DynamicQuantizeMatMul",
         [f32(2, 4, 5), Const(w), column, Const(u8(6)), Const(f32(6))], rtol=1e-3, atol=1e-3)
    case("dynamic_quantize_matmul_s8", "DynamicQuantizeMatMul",
         [f32(4, 5), Const(i8(5, 6)), scale(0.02), zero(3, np.int8)], rtol=1e-3, atol=1e-3)
    b, s, heads, d = 2, 3, 2, 4
    h = heads * d
    q = [u8(b, s, 5), Const(u8(5, 3 * h)), Const(f32(3 * h)), scale(0.02), scale(0.01)]
    n = {"num_heads": heads}
    case("qattention", "QAttention", [*q, None, zero(100), zero(128)], n)
    case("qattention_mask", "QAttention", [*q, np.array([[1, 1, 0], [1, 1, 1]], np.int32), zero(100), zero(128)], n)
    case("qattention_past", "QAttention", [*q, None, zero(100), zero(128), f32(2, b, heads, 2, d)],
         {**n, "unidirectional": 1}, 2)
    for kind in (np.uint16, np.int16):
        point = Const(np.array(1000, kind))
        case(f"quantize_{np.dtype(kind).name}", "QuantizeLinear", [f32(3, 4), scale(0.001), point], rtol=0, atol=1.01)
        case(f"dequantize_{np.dtype(kind).name}", "DequantizeLinear",
             [rng.integers(0, 2000, (3, 4)).astype(kind), scale(0.001), point])
    axis = Const((rng.random(4) * 0.05 + 0.01).astype(np.float32))
    case("quantize_axis", "QuantizeLinear", [f32(3, 4), axis, Const(u8(4))], {"axis": 1}, rtol=0, atol=1.01)
    case("dequantize_axis", "DequantizeLinear", [u8(3, 4), axis, Const(u8(4))], {"axis": 1})
    hidden, size = 3, 4
    for direction, count in (("forward", 1), ("bidirectional", 2)):
        weights = [Const(i8(count, size, 4 * hidden)), Const(i8(count, hidden, 4 * hidden))]
        points = [Const((rng.random(count) * 0.01 + 0.002).astype(np.float32)), Const(np.zeros(count, np.int8))]
        case("dynamic_quantize_lstm_" + direction, "DynamicQuantizeLSTM",
             [f32(5, 2, size), *weights, Const(f32(count, 8 * hidden)), None, None, None, None, *points, *points],
             {"hidden_size": hidden, "direction": direction}, 3, rtol=5e-2, atol=2e-2)


def older():
    case("nhwc_maxpool", "NhwcMaxPool", [u8(1, 6, 7, 3)], {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]})
    case("nhwc_maxpool_s8", "NhwcMaxPool", [i8(1, 6, 7, 3)], {"kernel_shape": [2, 2]})
    case("trilu", "Trilu", [f32(2, 4, 5), Const(np.array(1, np.int64))], {"upper": 1})
    case("trilu_lower", "Trilu", [f32(4, 5)], {"upper": 0})
    case("expand_dims", "ExpandDims", [f32(2, 3), Const(np.array(1, np.int32))])
    case("expand_dims_negative", "ExpandDims", [f32(2, 3), Const(np.array(-1, np.int32))])
    case("pad", "Pad", [f32(3, 4), Const(np.array([1, 0, 2, 1], np.int64)), Const(np.array([2.5], np.float32))])
    case("pad_reflect", "Pad", [f32(3, 4), Const(np.array([1, 0, 2, 1], np.int64))], {"mode": "reflect"})
    case("gather_nd", "GatherND", [f32(3, 4, 2), Const(np.array([[0, 1], [2, 3]], np.int64))])
    case("range", "Range", [Const(np.array(2, np.int64)), Const(np.array(11, np.int64)), Const(np.array(3, np.int64))])
    case("range_no_delta", "Range", [Const(np.array([1], np.float32)), Const(np.array([4], np.float32))])
    for mode in ("bilinear", "nearest", "bicubic"):
        case("grid_sample_" + mode, "GridSample", [f32(1, 2, 4, 5), rng.uniform(-1.2, 1.2, (1, 3, 2, 2)).astype(np.float32)],
             {"mode": mode, "padding_mode": "border" if mode == "bicubic" else "zeros"}, rtol=1e-3, atol=1e-4)
    case("inverse", "Inverse", [f32(2, 4, 4) + 3 * np.eye(4, dtype=np.float32)])
    case("cdist", "CDist", [f32(4, 3), f32(5, 3)], {"metric": "sqeuclidean"})
    case("cdist_euclidean", "CDist", [f32(4, 3), f32(5, 3)], {"metric": "euclidean"})
    boxes = np.array([[0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1], [-0.2, 0.1, 1.3, 0.7]], np.float32)
    which = np.array([0, 1, 0], np.int32)
    case("crop_and_resize", "CropAndResize", [f32(2, 3, 6, 7), boxes, which, Const(np.array([4, 5], np.int32))],
         {"extrapolation_value": 2.0})
    case("crop_and_resize_nearest", "CropAndResize",
         [f32(2, 3, 6, 7), boxes, which, Const(np.array([4, 5], np.int32))], {"mode": "nearest"})


def channels_last():
    number = lambda x, t=np.float32: Const(np.array(x, t))  # noqa: E731
    for name, image, weights, rest in (("", (1, 6, 7, 8), (5, 8, 3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
                                       ("_depthwise", (2, 6, 5, 4), (4, 1, 3, 3), {"group": 4}),
                                       ("_1d", (1, 9, 4), (6, 4, 3), {"dilations": [2]})):
        case("qlinear_conv_nhwc" + name, "QLinearConv",
             [u8(*image), number(0.02), number(120, np.uint8), Const(i8(*weights)),
              Const(rng.uniform(0.01, 0.03, weights[0]).astype(np.float32)), Const(np.zeros(weights[0], np.int8)),
              number(0.6), number(110, np.uint8), Const(rng.integers(-500, 500, weights[0]).astype(np.int32))],
             {"channels_last": 1, **rest}, rtol=0, atol=1.01)
    case("qlinear_conv_microsoft", "QLinearConv",
         [u8(1, 3, 5, 6), number(0.02), number(120, np.uint8), Const(u8(4, 3, 2, 2)), number(0.02), number(100, np.uint8),
          number(0.6), number(110, np.uint8)], rtol=0, atol=1.01)


def attention_forms():
    b, heads, d = 2, 2, 8
    h, n = heads * d, {"num_heads": heads}
    # The bias covers only the keys that count, so it is narrower than the buffer.
    one = [f32(b, 1, 2 * h), f32(b, 1, h), f32(b, 1, h)]
    cache_k, cache_v = np.zeros((b, heads, 8, d), np.float32), np.zeros((b, heads, 8, d), np.float32)
    cache_k[:, :, :4], cache_v[:, :, :4] = f32(b, heads, 4, d), f32(b, heads, 4, d)
    bias, sink = f32(1, 2 * heads, 1, 5), Const(f32(2 * heads))
    for name, rest in (("", []), ("_sink", [sink])):
        case(f"gqa_cache_bias{name}", "GroupQueryAttention",
             [*one, cache_k, cache_v, np.array([4, 4], np.int32), np.array(5, np.int32), None, None, None, bias, *rest],
             {"num_heads": 2 * heads, "kv_num_heads": heads}, 3)
    q1, k1, v1, past_k, past_v = f32(b, 1, h), f32(b, 1, h), f32(b, 1, h), f32(b, heads, 2, d), f32(b, heads, 2, d)
    bias = f32(1, heads, 1, 3)
    apart = case("mha_token_attention_bias", "MultiHeadAttention", [q1, k1, v1, None, None, bias, past_k, past_v], n, 3)
    if apart:
        grown = lambda v, rows: np.pad(v, [(0, 0), (0, 0), (0, rows), (0, 0)])  # noqa: E731
        case("dmmha_shared_attention_bias", "DecoderMaskedMultiHeadAttention",
             [q1, k1, v1, None, bias, grown(past_k, 4), grown(past_v, 4), np.array([2], np.int32)],
             {**n, "past_present_share_buffer": 1}, 3, want=[apart[0], grown(apart[1], 3), grown(apart[2], 3)])


def quantized_lstm():
    # A scale for each column (ONNX Runtime takes one zero point for all of them); initial states; a number of units that is no multiple of the lanes.
    hidden, size, count = 20, 9, 2
    weights = [Const(u8(count, size, 4 * hidden)), Const(u8(count, hidden, 4 * hidden))]
    points = []
    for _ in range(2):
        points += [Const((rng.random((count, 4 * hidden)) * 0.003 + 0.001).astype(np.float32)),
                   Const(np.full((count, 4 * hidden), 131, np.uint8))]
    case("dynamic_quantize_lstm_columns", "DynamicQuantizeLSTM",
         [f32(6, 3, size), *weights, Const(f32(count, 8 * hidden)), np.array([6, 2, 5], np.int32), f32(count, 3, hidden),
          f32(count, 3, hidden), f32(count, 3 * hidden, scale=0.1), *points],
         {"hidden_size": hidden, "direction": "bidirectional"}, 3, rtol=5e-2, atol=2e-2)


def attention_scores():
    b, s, heads, kv, d = 2, 3, 4, 2, 8
    new = [f32(b, s, heads * d), f32(b, s, kv * d), f32(b, s, kv * d)]
    one = [f32(b, 1, heads * d), f32(b, 1, kv * d), f32(b, 1, kv * d)]
    past = [f32(b, kv, 2, d), f32(b, kv, 2, d)]
    cache = [np.pad(f32(b, kv, 4, d), [(0, 0), (0, 0), (0, 3), (0, 0)]) for _ in range(2)]
    bias, sink = f32(1, heads, s, 5), Const(f32(heads))
    first = [v[:1] for v in (*new, *past)]  # ONNX Runtime takes several tokens after others for one text only
    total = lambda x, rows=b: [np.full(rows, x - 1, np.int32), Const(np.array(x, np.int32))]  # noqa: E731
    for name, stage in (("before", 1), ("after", 2)):
        n = {"num_heads": heads, "kv_num_heads": kv, "qk_output": stage}
        case(f"gqa_scores_{name}", "GroupQueryAttention", [*new, None, None, *total(3)], n, 4)
        case(f"gqa_scores_{name}_smooth", "GroupQueryAttention", [*new, None, None, *total(3)], {**n, "smooth_softmax": 1}, 4)
        case(f"gqa_scores_{name}_sink", "GroupQueryAttention", [*first, *total(5, 1), None, None, None, bias, sink],
             {**n, "softcap": 0.5, "local_window_size": 3}, 4)
        case(f"gqa_scores_{name}_cache", "GroupQueryAttention", [*one, *cache, *total(5), None, None, None, None, sink], n, 4)


if __name__ == "__main__":
    os.makedirs(OUT, exist_ok=True)
    for group in (norms_and_activations, products, attention, language_models, quantized, older, channels_last,
                  attention_forms, quantized_lstm, attention_scores):
        group()
    size = sum(os.path.getsize(os.path.join(OUT, f)) for f in os.listdir(OUT))
    print(f"{len(made)} vectors made; the folder holds {size} bytes")
