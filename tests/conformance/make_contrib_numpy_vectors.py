"""Writes the vectors in tests/data/contrib of operators whose results NumPy computes here, independently of ONNX Runtime. Needs
numpy, onnx, onnxruntime; the tests need none of them.

    python tests/conformance/make_contrib_numpy_vectors.py [FILTER]

Where ONNX Runtime runs the operator, the results are compared with it, and a difference is an error. The last lines list the
vectors that it does not run, with its message."""

import math
import os
import sys

import numpy as np
import onnxruntime as ort
from onnx import helper

import make_contrib_vectors as contrib
from make_contrib_vectors import Const, case

rng = np.random.default_rng(41)
only = sys.argv[1] if len(sys.argv) > 1 else ""
not_run = []


def f32(*shape, scale=1.0):
    return (rng.standard_normal(shape) * scale).astype(np.float32)


def s32(*values):
    return np.array(values, np.int32)


def sigmoid(x):
    return 1 / (1 + np.exp(-np.asarray(x, np.float64)))


def softplus(x):
    return np.log1p(np.exp(np.asarray(x, np.float64)))


def softmax(x):
    e = np.exp(np.asarray(x, np.float64) - np.max(x, -1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def vector(name, op, inputs, attributes, want, outputs=None, runs=True, types=None, rtol=None, atol=None, shared=None,
           asked=None, **rest):
    """`want`: results, each converted to the type that ONNX Runtime gives or that `types` states. `runs`: whether ONNX
    Runtime has a kernel that gives this result. `asked`: the outputs that ONNX Runtime must compute, if these are more than `outputs`."""
    if only and not name.startswith(only):
        return
    values = [v.value if isinstance(v, Const) else v for v in inputs]
    kind = types or [values[0].dtype] * len(want)
    want = [np.asarray(w).astype(t) for w, t in zip(want, kind)]
    half = any(t == np.float16 for t in kind)
    rtol = rtol if rtol is not None else 5e-3 if half else 1e-4
    atol = atol if atol is not None else 5e-3 if half else 1e-5
    outputs = outputs or len(want)
    if shared:
        for g, w in zip(bound_results(op, inputs, attributes, len(want), shared), want):
            np.testing.assert_allclose(g, w, rtol=10 * rtol, atol=10 * atol, err_msg=name)
    elif runs:
        made = len(contrib.made)
        got = case(name, op, inputs, attributes, asked or outputs, rtol=rtol, atol=atol, **rest)
        if got is None:
            not_run.append(name)
        else:
            del contrib.made[made:]
            for g, w in zip(got, want):
                assert g.shape == w.shape and g.dtype == w.dtype, (name, g.shape, w.shape, g.dtype, w.dtype)
                np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(w, np.float64), rtol=10 * rtol,
                                           atol=10 * atol, err_msg=name)
    else:
        not_run.append(name)
    case(name, op, inputs, attributes, outputs, rtol=rtol, atol=atol, want=want, **rest)


def bound_results(op, inputs, attributes, count, shared):
    """Returns the results of ONNX Runtime. `shared` maps outputs to the inputs whose buffers they share, by number."""
    feeds = {f"in{i}": np.array(v.value if isinstance(v, Const) else v) for i, v in enumerate(inputs) if v is not None}
    names = [f"in{i}" if v is not None else "" for i, v in enumerate(inputs)]
    graph = helper.make_graph(
        [helper.make_node(op, names, [f"out{i}" for i in range(count)], domain=contrib.MS, **attributes)], op,
        [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for n, v in feeds.items()],
        [helper.make_empty_tensor_value_info(f"out{i}") for i in range(count)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(contrib.MS, 1)], ir_version=10)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    binding, values = session.io_binding(), {n: ort.OrtValue.ortvalue_from_numpy(v) for n, v in feeds.items()}
    for n, v in values.items():
        binding.bind_ortvalue_input(n, v)
    for i in range(count):
        if i in shared:
            binding.bind_ortvalue_output(f"out{i}", values[f"in{shared[i]}"])
        else:
            binding.bind_output(f"out{i}")
    session.run_with_iobinding(binding)
    return [v.numpy().copy() for v in binding.get_outputs()]


def halves(name, op, inputs, attributes, want, half_inputs=None, **rest):
    """Writes the vector, and a second one at half precision."""
    vector(name, op, inputs, attributes, want, **rest)
    as_half = lambda v: (Const(v.value.astype(np.float16)) if isinstance(v, Const)  # noqa: E731
                         else v.astype(np.float16))
    changed = [as_half(v) if v is not None and (v.value if isinstance(v, Const) else v).dtype == np.float32
               and (half_inputs is None or i in half_inputs) else v for i, v in enumerate(inputs)]
    vector(name + "_fp16", op, changed, attributes, want, **rest)


def rms(x, epsilon=1e-5):
    x = np.asarray(x, np.float64)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon)


def gates_and_norms():
    x = f32(2, 3, 8)
    halves("scaled_silu", "ScaledSiLU", [x], {"alpha": 1.7}, [1.7 * x * sigmoid(1.7 * x)])
    vector("scaled_silu_default", "ScaledSiLU", [x], {}, [x * sigmoid(x)])
    vector("scaled_silu_input", "ScaledSiLU", [x, np.array(0.5, np.float16)], {"alpha": 3.0}, [0.5 * x * sigmoid(0.5 * x)])
    y, gate = f32(2, 3, 8), f32(2, 3, 1)
    halves("gated_add", "GatedAdd", [x, y, gate], {}, [x + y * gate])
    vector("gated_add_constant", "GatedAdd", [x, Const(y), Const(gate)], {}, [x + y * gate])
    gate, scale = f32(2, 3, 8), f32(4)

    def gated(x, scale, gate, activation, epsilon=1e-5):
        y = (rms(x.reshape(-1, len(scale)), epsilon) * scale).reshape(x.shape)
        return y * (sigmoid(gate) if activation == "sigmoid" else gate * sigmoid(gate))

    halves("gated_rms_norm", "GatedRMSNorm", [x, Const(scale), gate], {}, [gated(x, scale, gate, "silu")])
    vector("gated_rms_norm_swish", "GatedRMSNorm", [x, Const(scale), gate], {"activation": "swish", "epsilon": 0.1},
           [gated(x, scale, gate, "silu", 0.1)])
    whole = f32(8)
    vector("gated_rms_norm_sigmoid", "GatedRMSNorm", [x, whole, gate], {"activation": "sigmoid"},
           [gated(x, whole, gate, "sigmoid")])
    a, b, bias, factor = f32(2, 3, 4), f32(2, 3, 4), f32(4), -np.abs(f32(4))
    want = [factor * softplus(a + bias), sigmoid(b)]
    halves("linear_attention_gate", "LinearAttentionGate", [a, bias, factor, b], {}, want, half_inputs=[0, 3])
    vector("linear_attention_gate_decay", "LinearAttentionGate", [a, Const(bias), Const(factor)], {}, want[:1])
    vector("linear_attention_gate_large", "LinearAttentionGate", [a * 40, Const(bias), Const(factor), b], {},
           [factor * np.where(a * 40 + bias > 30, a * 40 + bias, softplus(np.minimum(a * 40 + bias, 30))), want[1]])


def streams():
    x = f32(2, 3, 4, 8)
    flat = x.reshape(2, 3, 32)
    for name, scale in (("", None), ("_all", f32(32)), ("_branch", f32(4, 8)), ("_shared", f32(8))):
        want = rms(x, 1e-3) * (1 if scale is None else scale.reshape(-1, 8) if scale.size == 32 else scale)
        halves("branchwise_rms_norm" + name, "BranchwiseRMSNorm", [x, None if scale is None else Const(scale)],
               {"epsilon": 1e-3}, [want])
        vector(f"branchwise_rms_norm{name}_flat", "BranchwiseRMSNorm", [flat, scale], {"epsilon": 1e-3, "num_branches": 4},
               [want.reshape(2, 3, 32)])
    block, matrix = f32(2, 3, 8), f32(2, 3, 4, 4)
    for name, gates in (("", f32(2, 3, 4)), ("_column", f32(2, 3, 4, 1)), ("_feature", f32(2, 3, 4, 8))):
        wide = gates.reshape(2, 3, 4, -1)
        halves("hyper_connection_pre_mix" + name, "HyperConnectionPreMix", [x, gates], {"reduction_scale": 0.5},
               [0.5 * (x * wide).sum(2)])
        vector(f"hyper_connection_pre_mix{name}_flat", "HyperConnectionPreMix", [flat, gates], {"num_branches": 4},
               [(x * wide).sum(2)])
        halves("hyper_connection_post_mix" + name, "HyperConnectionPostMix", [x, block, gates], {},
               [x + wide * block[:, :, None]])
        vector(f"hyper_connection_post_mix{name}_flat", "HyperConnectionPostMix", [flat, block, gates, matrix],
               {"num_branches": 4},
               [(np.einsum("bsck,bsch->bskh", matrix, x) + wide * block[:, :, None]).reshape(2, 3, 32)])
    gates = f32(2, 3, 32)
    vector("hyper_connection_pre_mix_both_flat", "HyperConnectionPreMix", [flat, gates], {"num_branches": 4},
           [(x * gates.reshape(x.shape)).sum(2)])
    key, query, value, scales = f32(2, 3, 4, 8), f32(2, 3, 4, 8), f32(2, 3, 8), [f32(4, 8) for _ in range(3)]

    def engram(epsilon):
        dot = (rms(key, epsilon) * scales[0] * rms(query, epsilon) * scales[1]).sum(-1, keepdims=True) / math.sqrt(8)
        y = sigmoid(np.sign(dot) * np.sqrt(np.maximum(np.abs(dot), 1e-6))) * value[:, :, None]
        return [y, rms(y, epsilon) * scales[2]]

    halves("engram_gate", "EngramGate", [key, query, value, *(Const(s) for s in scales)], {}, engram(1e-5))
    vector("engram_gate_epsilon", "EngramGate", [key, query, value, *scales], {"epsilon": 0.1}, engram(0.1))
    vector("engram_gate_output", "EngramGate", [key, query, value, *scales[:2]], {}, engram(1e-5)[:1])


def router():
    logits, bias = f32(5, 8), f32(8)

    def routed(logits, groups, active, group_top, top, sentinel=-10000.0):
        s = sigmoid(logits)
        c, size = s + bias, logits.shape[1] // groups
        out = np.full(s.shape, float(sentinel))
        for t, row in enumerate(c):
            sums = [np.sort(row[g * size:(g + 1) * size])[::-1][:group_top].sum() for g in range(groups)]
            hidden = np.full(len(row), -np.inf)
            for g in np.argsort(-np.array(sums), kind="stable")[:active]:
                hidden[g * size:(g + 1) * size] = row[g * size:(g + 1) * size]
            for e in np.argsort(-hidden, kind="stable")[:top]:
                out[t, e] = np.log(max(s[t, e], 1e-20))
        return out

    vector("moe_group_router", "MoEGroupRouter", [logits, Const(bias)],
           {"n_group": 4, "topk_group": 2, "group_topk": 2, "top_k": 3, "router_sentinel": -50.0},
           [routed(logits, 4, 2, 2, 3, -50)])
    half = logits.astype(np.float16)
    vector("moe_group_router_fp16", "MoEGroupRouter", [half, Const(bias)],
           {"n_group": 2, "topk_group": 1, "group_topk": 3, "top_k": 2}, [routed(half.astype(np.float64), 2, 1, 3, 2)])
    vector("moe_group_router_3d", "MoEGroupRouter", [logits.reshape(1, 5, 8), Const(bias)], {"top_k": 3},
           [routed(logits, 1, 1, 1, 3)])
    vector("moe_group_router_scores", "MoEGroupRouter", [logits, bias], {"top_k": 3},
           [sigmoid(logits) + bias, sigmoid(logits)], outputs=["", "out1", "out2"])
    x, w = f32(5, 256, scale=0.1), f32(8, 256, scale=0.1)
    vector("moe_group_router_projection", "MoEGroupRouter", [x, bias, Const(w)], {"top_k": 3},
           [sigmoid(x @ w.T) + bias, sigmoid(x @ w.T)], outputs=["", "out1", "out2"])


def rotated(x, cos, sin, interleaved, factor=1.0):
    """x [B,S,heads,D]; cos, sin [B,S,half]."""
    y = x.astype(np.float64)
    c, s = factor * cos[:, :, None].astype(np.float64), factor * sin[:, :, None].astype(np.float64)
    h = c.shape[-1]
    part = x[..., :2 * h].astype(np.float64)
    if interleaved:
        a, b = part[..., 0::2], part[..., 1::2]
        y[..., 0:2 * h:2], y[..., 1:2 * h:2] = a * c - b * s, a * s + b * c
    else:
        a, b = part[..., :h], part[..., h:]
        y[..., :h], y[..., h:2 * h] = a * c - b * s, a * s + b * c
    return y


def rotary():
    b, s, heads, d = 2, 3, 2, 16
    angle = np.arange(20)[:, None] / 10000.0 ** (np.arange(8) / 8)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    positions = rng.integers(0, 20, (3, b, s))
    x = f32(b, s, heads * d)
    split = x.reshape(b, s, heads, d)

    def table(t, section, layout):
        stream = np.repeat([0, 1, 2], section)
        if layout == 1:
            stream = [i % 3 if i % 3 and i < 3 * section[i % 3] else 0 for i in range(t.shape[1])]
        return np.stack([t[positions[stream[i]], i] for i in range(t.shape[1])], -1)

    n = {"num_heads": heads}
    for name, section, layout, inter in (("", [2, 3, 3], 0, 0), ("_interleaved", [2, 3, 3], 0, 1),
                                         ("_every_third", [4, 2, 2], 1, 0), ("_every_third_interleaved", [2, 3, 3], 1, 1)):
        y = rotated(split, table(cos, section, layout), table(sin, section, layout), inter)
        halves("mrotary" + name, "MRotaryEmbedding", [x, positions, Const(cos), Const(sin)],
               {**n, "mrope_section": section, "mrope_layout": layout, "interleaved": inter}, [y.reshape(x.shape)])
    section = [2, 1, 1]
    half = [cos[:, :4], sin[:, :4]]
    for factor in (1.0, 2.0):
        y = rotated(split, table(half[0], section, 0), table(half[1], section, 0), 0, factor)
        vector(f"mrotary_partial_{factor:g}", "MRotaryEmbedding", [x, positions, *(Const(t) for t in half)],
               {**n, "mrope_section": section, "rotary_embedding_dim": 8, "scale": factor}, [y.reshape(x.shape)])
    section = [2, 3, 3]
    y = rotated(split, table(cos, section, 0), table(sin, section, 0), 0)
    vector("mrotary_4d", "MRotaryEmbedding", [np.ascontiguousarray(split.transpose(0, 2, 1, 3)), positions, cos, sin],
           {"mrope_section": section}, [y.transpose(0, 2, 1, 3)])


NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                -0.18477343022823334, -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725,
                0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1])
FP4 = np.array([0, 5.208333333e-03, 2 / 3, 1, 1 / 3, 0.5, 1 / 6, 0.25])
FP4 = np.concatenate([FP4, -FP4])


def four_bits():
    for kind, codes in (("fp4", FP4), ("nf4", NF4)):
        for depth, columns, block in ((32, 5, 16), (5, 3, 16), (64, 6, 32)):
            count = depth * columns
            q = rng.integers(0, 16, count + count % 2)
            factors = (rng.random(-(-count // block)) + 0.1).astype(np.float32)
            weights = (codes[q[:count]] * np.repeat(factors, block)[:count]).reshape(columns, depth)
            a = f32(3, depth)
            packed = Const((q[0::2] << 4 | q[1::2]).astype(np.uint8))
            sizes = {"K": depth, "N": columns, "block_size": block, "quant_type": int(kind == "nf4")}
            vector(f"matmul_bnb4_{kind}_{depth}", "MatMulBnb4", [a, packed, Const(factors)], sizes, [a @ weights.T])
        # ONNX Runtime 1.32 returns other values in each run with transB = 0.
        a = f32(2, 2, columns)
        vector(f"matmul_bnb4_{kind}_plain", "MatMulBnb4", [a, packed, Const(factors)], {**sizes, "transB": 0}, [a @ weights],
               runs=False)
        a = f32(3, depth).astype(np.float16)
        vector(f"matmul_bnb4_{kind}_fp16", "MatMulBnb4", [a, packed, Const(factors.astype(np.float16))], sizes,
               [a.astype(np.float64) @ weights.T], runs=False, rtol=1e-2, atol=2e-2)


def gelu_tanh(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


ACTIVATIONS = {"relu": lambda x: np.maximum(x, 0), "relu2": lambda x: np.maximum(x, 0) ** 2, "gelu": gelu_tanh,
               "silu": lambda x: x * sigmoid(x), "identity": lambda x: x}


def experts(x, chosen, shares, layers, attributes):
    """layers: (weights, bias) of fc1, fc2, fc3."""
    name, fusion = attributes.get("activation_type", "relu"), attributes.get("swiglu_fusion", 0)
    limit, after = attributes.get("swiglu_limit"), attributes.get("swiglu_limit_after_activation", 0)
    y = np.zeros(x.shape)

    def layer(v, i, e):
        return v @ layers[i][0][e].astype(np.float64).T + (0 if layers[i][1] is None else layers[i][1][e])

    for t, row in enumerate(x.astype(np.float64)):
        for e, share in zip(chosen[t], shares[t]):
            h = layer(row, 0, e)
            if name in ("swiglu", "geglu"):
                g, v = (h[0::2], h[1::2]) if fusion == 1 else np.split(h, 2) if fusion == 2 else (h, layer(row, 2, e))
                if name == "geglu":
                    h = gelu_tanh(g) * v
                else:
                    if limit is not None:
                        g, v = g if after else np.minimum(g, limit), np.clip(v, -limit, limit)
                    g = g * sigmoid(attributes.get("activation_alpha", 1.0) * g)
                    h = (np.minimum(g, limit) if after else g) * (v + attributes.get("activation_beta", 0.0))
            else:
                h = ACTIVATIONS[name](h)
                if len(layers) > 2:
                    h = h * layer(row, 2, e)
            y[t] += share * layer(h, 1, e)
    return y


def moe():
    rows, hidden, inner, count = 5, 8, 12, 4
    x, logits = f32(rows, hidden), f32(rows, count)
    layers = [(f32(count, inner, hidden, scale=0.3), f32(count, inner)), (f32(count, hidden, inner, scale=0.3), f32(count, hidden))]
    third = (f32(count, inner, hidden, scale=0.3), f32(count, inner))
    double = (f32(count, 2 * inner, hidden, scale=0.3), f32(count, 2 * inner))

    def routed(logits, k, normalize):
        chosen = np.argsort(-logits, -1, kind="stable")[:, :k]
        shares = np.take_along_axis(softmax(logits), chosen, 1)
        return chosen, shares / shares.sum(-1, keepdims=True) if normalize else shares

    def write_case(name, attributes, of=layers, x=x, logits=logits, runs=True, biased=True, both=False):
        chosen, shares = routed(logits, attributes.get("k", 1), attributes.get("normalize_routing_weights", 0))
        of = of if biased else [(w, None) for w, _ in of]
        want = experts(x.reshape(-1, x.shape[-1]), chosen, shares, of, attributes).reshape(x.shape)
        flat = [Const(v) if v is not None else None for pair in of for v in pair]
        vector("moe_" + name, "MoE", [x, logits, *flat], attributes, [want], runs=runs)
        if both:
            half = [None if v is None else Const(v.value.astype(np.float16)) for v in flat]
            vector(f"moe_{name}_fp16", "MoE", [x.astype(np.float16), logits.astype(np.float16), *half], attributes, [want],
                   runs=False, rtol=1e-2, atol=2e-2)

    for activation in ("relu", "gelu", "silu", "identity"):
        write_case(activation, {"k": 2, "activation_type": activation}, both=activation == "relu")
    write_case("relu2", {"k": 2, "activation_type": "relu2"}, runs=False)
    write_case("normalized", {"k": 3, "normalize_routing_weights": 1})
    write_case("one", {})
    write_case("no_bias", {"k": 2, "activation_type": "silu"}, biased=False)
    write_case("3d", {"k": 2}, x=f32(2, 3, hidden), logits=f32(6, count))
    swiglu = {"k": 2, "activation_type": "swiglu", "activation_alpha": 1.7, "activation_beta": 1.0,
              "normalize_routing_weights": 1}
    write_case("swiglu", {**swiglu, "swiglu_fusion": 1}, of=[double, layers[1]], both=True)
    write_case("swiglu_limit", {**swiglu, "swiglu_fusion": 1, "swiglu_limit": 0.7}, of=[double, layers[1]])
    write_case("swiglu_limit_after", {**swiglu, "swiglu_fusion": 1, "swiglu_limit": 0.7, "swiglu_limit_after_activation": 1},
               of=[double, layers[1]], runs=False)
    write_case("swiglu_default", {"activation_type": "swiglu", "swiglu_fusion": 1}, of=[double, layers[1]])
    write_case("swiglu_halves", {**swiglu, "swiglu_fusion": 2}, of=[double, layers[1]], runs=False)
    write_case("swiglu_apart", swiglu, of=[*layers, third], runs=False)
    write_case("geglu", {"k": 2, "activation_type": "geglu", "swiglu_fusion": 2}, of=[double, layers[1]], runs=False)
    write_case("third", {"k": 2, "activation_type": "silu"}, of=[*layers, third], runs=False)
    # Few rows of many experts.
    many = [(f32(16, inner, hidden, scale=0.3), f32(16, inner)), (f32(16, hidden, inner, scale=0.3), f32(16, hidden))]
    write_case("many", {"k": 2}, of=many, x=f32(2, hidden), logits=f32(2, 16))
    write_case("many_one", {"k": 4, "activation_type": "gelu", "normalize_routing_weights": 1}, of=many, x=f32(1, hidden), logits=f32(1, 16))


def qmoe():
    rows, hidden, inner, count = 5, 32, 64, 4
    x, logits = f32(rows, hidden), f32(rows, count)

    def pack(v, bits):
        per = 8 // bits
        v = np.pad(v, [(0, 0)] * (v.ndim - 1) + [(0, -v.shape[-1] % per)]).reshape(v.shape[:-1] + (-1, per))
        return sum(v[..., i] << (bits * i) for i in range(per)).astype(np.uint8)

    def quantized(columns, depth, bits, block, with_zero):
        blocks = depth // block if block else 1
        q = rng.integers(0, 1 << bits, (count, columns, depth))
        scales = (rng.random((count, columns, blocks)) * 0.4 / (1 << bits) + 0.05 / (1 << bits)).astype(np.float32)
        zero = rng.integers(0, 1 << bits, scales.shape) if with_zero else np.full(scales.shape, 1 << (bits - 1))
        spread = lambda v: np.repeat(v, depth // blocks, 2)  # noqa: E731
        weights = (q - spread(zero)) * spread(scales).astype(np.float64)
        if not block:
            scales, zero = scales[:, :, 0], zero[:, :, 0]
        return weights, [Const(pack(q, bits)), Const(scales)], Const(pack(zero, bits)) if with_zero else None

    def write_case(name, attributes, bits=(4, 4), block=0, with_zero=False, router=False, biased=True, third=False, runs=True,
                   half=False):
        fused = 2 if attributes.get("swiglu_fusion", 0) else 1
        w1, in1, zero1 = quantized(fused * inner, hidden, bits[0], block, with_zero)
        w2, in2, zero2 = quantized(hidden, inner, bits[1], block, with_zero)
        b1, b2 = (f32(count, fused * inner), f32(count, hidden)) if biased else (None, None)
        layers, rest = [(w1, b1), (w2, b2)], [None, None, None]
        zero3 = None
        if third:
            w3, in3, zero3 = quantized(inner, hidden, bits[0], block, with_zero)
            layers.append((w3, None))
            rest = [*in3, None]
        chosen = np.argsort(-logits, -1, kind="stable")[:, :attributes.get("k", 1)]
        weights = None
        if router:
            weights = np.abs(f32(rows, count))
            shares = np.take_along_axis(weights, chosen, 1).astype(np.float64)
            if attributes.get("normalize_routing_weights", 0):
                shares /= shares.sum(-1, keepdims=True)
        else:
            shares = softmax(np.take_along_axis(logits, chosen, 1))
        if block:
            attributes = {**attributes, "block_size": block}
        constant = lambda v: None if v is None else Const(v)  # noqa: E731
        inputs = [x, logits, *in1, constant(b1), *in2, constant(b2), *rest, zero1, zero2, zero3, weights]
        want = experts(x, chosen, shares, layers, attributes)
        if half:
            as_half = lambda v: (v if v is None else Const(v.value.astype(np.float16)) if isinstance(v, Const) else  # noqa: E731
                                 v.astype(np.float16))
            inputs = [v if v is None or (v.value if isinstance(v, Const) else v).dtype == np.uint8 else as_half(v) for v in inputs]
        vector("qmoe_" + name, "QMoE", inputs, attributes, [want], runs=runs, rtol=1e-2 if half else 1e-3,
               atol=2e-2 if half else 1e-3)

    for bits in (2, 4, 8):
        for block in (0, 16):
            for with_zero in (False, True):
                write_case(f"{bits}bits_{block}{'_zero' if with_zero else ''}", {"k": 2, "activation_type": "silu", "expert_weight_bits": bits},
                           (bits, bits), block, with_zero)
    swiglu = {"k": 2, "activation_type": "swiglu", "activation_alpha": 1.7, "activation_beta": 1.0}
    write_case("swiglu", {**swiglu, "swiglu_fusion": 1}, block=32)
    write_case("swiglu_halves", {**swiglu, "swiglu_fusion": 2}, block=32, runs=False)
    write_case("swiglu_apart", swiglu, block=32, third=True, runs=False, with_zero=True)
    write_case("router_weights", {"k": 2}, router=True, biased=False)
    write_case("router_weights_normalized", {"k": 3, "normalize_routing_weights": 1}, router=True)
    write_case("mixed", {"k": 2, "fc1_expert_weight_bits": 8, "fc2_expert_weight_bits": 2}, (8, 2), 32, True, runs=False)
    write_case("fp16", {"k": 2}, block=16, half=True)
    write_case("default", {})


def recurrence(q, k, v, past, decay, beta, heads, kv_heads, scale=0.0):
    """The outputs, and the state after each token. q, k, v [B,T,heads*D]."""
    b, t = q.shape[:2]
    dk, dv, h = q.shape[2] // heads, v.shape[2] // kv_heads, max(heads, kv_heads)
    q, k, v = (a.astype(np.float64).reshape(b, t, n, -1) for a, n in ((q, heads), (k, kv_heads), (v, kv_heads)))
    state = np.zeros((b, kv_heads, dk, dv)) if past is None else past.astype(np.float64)
    y, states = np.zeros((b, t, h, dv)), []
    for i in range(t):
        if decay is not None:
            state = state * np.exp(decay[:, i].astype(np.float64)).reshape(b, kv_heads, -1)[..., None]
        update = v[:, i]
        if beta is not None:
            update = (update - np.einsum("bhkv,bhk->bhv", state, k[:, i])) * beta[:, i].reshape(b, -1, 1)
        state = state + k[:, i][..., None] * update[:, :, None]
        for j in range(h):
            y[:, i, j] = np.einsum("bkv,bk->bv", state[:, j * kv_heads // h], q[:, i, j * heads // h])
        states.append(state)
    return y.reshape(b, t, -1) * (scale or 1 / math.sqrt(dk)), states


def linear_attention():
    b, t, dk, dv = 2, 4, 4, 3
    for heads, kv_heads in ((2, 2), (4, 2), (2, 4)):
        for rule in ("linear", "gated", "delta", "gated_delta"):
            q, k, v = f32(b, t, heads * dk), f32(b, t, kv_heads * dk, scale=0.4), f32(b, t, kv_heads * dv)
            per_key = heads == 2
            decay = -np.abs(f32(b, t, kv_heads * (dk if per_key else 1))) if "gated" in rule else None
            beta = sigmoid(f32(b, t, 1 if per_key else kv_heads)).astype(np.float32) if "delta" in rule else None
            past = f32(b, kv_heads, dk, dv) if kv_heads == 2 else None
            y, states = recurrence(q, k, v, past, decay, beta, heads, kv_heads)
            vector(f"linear_attention_{rule}_{heads}_{kv_heads}", "LinearAttention", [q, k, v, past, decay, beta],
                   {"q_num_heads": heads, "kv_num_heads": kv_heads, "update_rule": rule}, [y, states[-1]])
    n = {"q_num_heads": 2, "kv_num_heads": 4}
    y, states = recurrence(q, k, v, None, decay, beta, 2, 4, 0.5)
    half = [a.astype(np.float16) for a in (q, k, v)]
    vector("linear_attention_fp16", "LinearAttention", [*half, None, decay.astype(np.float16), beta.astype(np.float16)],
           {**n, "scale": 0.5}, [y, states[-1]], runs=False)
    for tokens in (4, 2, 1):
        window, past = 3, f32(3, b, 4, dk, dv)
        part = [a[:, :tokens] for a in (q, k, v, decay, beta)]
        y, states = recurrence(*part[:3], past[-1], *part[3:], 2, 4)
        states = [np.zeros_like(states[0])] * (window - tokens) + states
        vector(f"linear_attention_window_{tokens}", "LinearAttention", [*part[:3], past, *part[3:]], {**n, "state_window": window},
               [y, np.stack(states[-window:])], runs=False)


def causal_conv(x, w, bias, past, dilation=1, silu=False):
    """The outputs, and the past followed by the input. x [B,C,L]."""
    n = (w.shape[2] - 1) * dilation
    all_x = np.concatenate([np.zeros((*x.shape[:2], n)) if past is None else past, x], 2).astype(np.float64)
    y = sum(w[None, :, 0, j, None].astype(np.float64) * all_x[:, :, j * dilation:j * dilation + x.shape[2]] for j in range(w.shape[2]))
    if bias is not None:
        y = y + bias[None, :, None]
    return y * sigmoid(y) if silu else y, all_x


def causal_convolution():
    b, c, length, taps = 2, 6, 5, 3
    x, w, bias = f32(b, c, length), f32(c, 1, taps), f32(c)
    last = lambda v: np.ascontiguousarray(np.moveaxis(v, -2, -1))  # noqa: E731
    for dilation in (1, 2):
        n, attributes = (taps - 1) * dilation, {"dilation": dilation}
        past = f32(b, c, n)
        y, all_x = causal_conv(x, w, bias, past, dilation)
        state = all_x[:, :, length:]
        vector(f"causal_conv_{dilation}", "CausalConvWithState", [x, Const(w), Const(bias), past], attributes, [y, state])
        z = causal_conv(x, w, bias, past, dilation, True)[0]
        vector(f"causal_conv_silu_{dilation}", "CausalConvWithState", [x, Const(w), Const(bias), past],
               {**attributes, "activation": "silu"}, [z, state])
        vector(f"causal_conv_last_{dilation}", "CausalConvWithState", [last(x), Const(w), Const(bias), last(past)],
               {**attributes, "channels_last": 1, "activation": "swish"}, [last(z), last(state)])
        split = lambda v: v.reshape(*v.shape[:2], 2, 3)  # noqa: E731
        vector(f"causal_conv_last_axes_{dilation}", "CausalConvWithState", [split(last(x)), Const(w), None, None],
               {**attributes, "channels_last": 1},
               [split(last(causal_conv(x, w, None, None, dilation)[0])), split(last(causal_conv(x, w, None, None, dilation)[1][:, :, length:]))])
        window, past = 3, f32(3, b, c, n)
        for tokens in (5, 2):
            y, all_x = causal_conv(x[:, :, :tokens], w, bias, past[-1], dilation)
            states = [all_x[:, :, i:i + n] if i > 0 else np.zeros((b, c, n)) for i in range(tokens - window + 1, tokens + 1)]
            vector(f"causal_conv_window_{dilation}_{tokens}", "CausalConvWithState", [x[:, :, :tokens], Const(w), Const(bias), past],
                   {**attributes, "state_window": window}, [y, np.stack(states)], runs=False)
    vector("causal_conv_plain", "CausalConvWithState", [x, w], {},
           [causal_conv(x, w, None, None)[0], x[:, :, -2:]])
    y, all_x = causal_conv(x, w, bias, None)
    vector("causal_conv_fp16", "CausalConvWithState", [a.astype(np.float16) for a in (x, w, bias)], {}, [y, all_x[:, :, length:]],
           runs=False, rtol=1e-2, atol=1e-2)
    sums = s32(0, 3, 4, 9)
    tokens = f32(9, c)
    for dilation in (1, 2):
        state = f32(3, c, (taps - 1) * dilation)
        counts, ys, states, updates = s32(2, 5, -1), [], [], np.zeros((3, 2, c))
        for i in range(3):
            part = tokens[sums[i]:sums[i + 1]]
            y, all_x = causal_conv(part.T[None], w, bias, state[i:i + 1], dilation, True)
            ys.append(y[0].T)
            states.append(all_x[0, :, len(part):])
            kept = min(max(counts[i], 0), 2, len(part))
            updates[i, :kept] = part[:kept]
        attributes = {"dilation": dilation, "activation": "silu"}
        halves(f"varlen_causal_conv_{dilation}", "VarlenCausalConvWithState", [tokens, Const(w), sums, Const(bias), state], attributes,
               [np.concatenate(ys), np.stack(states)], rtol=1e-2, atol=1e-2)
        vector(f"varlen_causal_conv_updates_{dilation}", "VarlenCausalConvWithState", [tokens, Const(w), sums, Const(bias), state, counts],
               {**attributes, "state_update_capacity": 2}, [np.concatenate(ys), np.stack(states), updates])
    y = [causal_conv(tokens[sums[i]:sums[i + 1]].T[None], w, None, state[i:i + 1], 2)[0][0].T for i in range(3)]
    vector("varlen_causal_conv_no_bias", "VarlenCausalConvWithState", [tokens, w, sums, None, state], {"dilation": 2},
           [np.concatenate(y), np.stack(states)])


def delta_net():
    b, t, heads, v_heads, dk, dv = 2, 3, 2, 4, 4, 3
    q, k, v = f32(b * t, heads, dk), f32(b * t, heads, dk, scale=0.4), f32(b * t, v_heads, dv)
    decay, beta, state = -np.abs(f32(b * t, v_heads)), sigmoid(f32(b * t, v_heads)).astype(np.float32), f32(b, v_heads, dv, dk)
    even, sums = s32(0, 3, 6), s32(0, 1, 6)

    def net(q, k, v, decay, beta, state, sums, scale=0.0):
        ys, states = [], []
        for i in range(len(sums) - 1):
            part = [a[sums[i]:sums[i + 1]] for a in (q, k, v)]
            n = len(part[0])
            rows = [np.repeat(a, v_heads // heads, 1).reshape(1, n, -1) for a in part[:2]]
            some = lambda a: None if a is None else a[sums[i]:sums[i + 1]].reshape(1, n, -1)  # noqa: E731
            y, s = recurrence(*rows, part[2].reshape(1, n, -1), None if state is None else state[i:i + 1].transpose(0, 1, 3, 2),
                              some(decay), some(beta), v_heads, v_heads, scale)
            ys.append(y.reshape(n, v_heads, -1))
            states.append(s[-1][0].transpose(0, 2, 1))
        return [np.concatenate(ys), np.stack(states)]

    f = np.float32
    types = {"types": [f, f]}
    vector("gated_delta_net", "GatedDeltaNet", [q, k, v, None, decay, beta, state], {}, net(q, k, v, decay, beta, state, even))
    vector("gated_delta_net_lengths", "GatedDeltaNet", [q, k, v, sums, decay, beta, state], {}, net(q, k, v, decay, beta, state, sums))
    half = [a.astype(np.float16) for a in (q, k, v)]
    vector("gated_delta_net_fp16", "GatedDeltaNet", [*half, sums, decay, beta, state], {}, net(q, k, v, decay, beta, state, sums),
           types=[np.float16, f], rtol=1e-2, atol=1e-2)
    keys = -np.abs(f32(b * t, v_heads, dk))
    vector("gated_delta_net_keys", "GatedDeltaNet", [q, k, v, sums, keys, beta, state], {}, net(q, k, v, keys, beta, state, sums))
    vector("gated_delta_net_linear", "GatedDeltaNet", [q, k, v, sums, None, None, state], {"update_rule": "linear", "scale": 0.7},
           net(q, k, v, None, None, state, sums, 0.7))
    vector("gated_delta_net_gated", "GatedDeltaNet", [q, k, v, sums, decay], {"update_rule": "gated"},
           net(q, k, v, decay, None, None, sums))
    vector("gated_delta_net_delta", "GatedDeltaNet", [q, k, v, sums, None, beta, state], {"update_rule": "delta"},
           net(q, k, v, None, beta, state, sums))
    a_log, bias, raw, raw_beta = f32(v_heads), f32(v_heads), f32(b * t, v_heads), f32(b * t, v_heads)
    unit = lambda x: x / np.sqrt((x.astype(np.float64) ** 2).sum(-1, keepdims=True) + 1e-12)  # noqa: E731
    vector("gated_delta_net_softplus", "GatedDeltaNet", [q, k, v, sums, raw, raw_beta, state, Const(a_log), Const(bias)],
           {"gate_activation": "softplus", "beta_activation": "sigmoid", "qk_l2_norm": 1},
           net(unit(q), unit(k), v, -np.exp(a_log) * softplus(raw + bias), sigmoid(raw_beta), state, sums))
    for rule, gate in (("gated_delta", decay), ("gated_delta", keys), ("delta", None)):
        counts, part = s32(2, 5), s32(0, 2, 6)
        y, states = net(q, k, v, gate, beta, state, part)
        rows = []
        for i in range(b):
            s, row = state[i].astype(np.float64).transpose(0, 2, 1), [[], [], []]
            for at in (part[i], part[i] + 1):
                factor = np.ones(v_heads) if gate is None else np.exp(gate[at].astype(np.float64))
                key = np.repeat(k[at], v_heads // heads, 0).astype(np.float64)
                s = s * factor.reshape(v_heads, -1, 1)
                change = (v[at] - np.einsum("hkv,hk->hv", s, key)) * beta[at][:, None]
                s = s + key[:, :, None] * change[:, None]
                for values, x in zip(row, (factor, k[at], change)):
                    values.append(x.ravel())
            rows.append(np.concatenate([x for values in row for x in values]))
        vector(f"gated_delta_net_updates_{rule}{'_keys' if gate is keys else ''}", "GatedDeltaNet",
               [q, k, v, part, gate, beta, state, None, None, counts], {"state_update_capacity": 2, "update_rule": rule}, [y, states, rows])
    wide, raw = f32(v_heads, dk), f32(b * t, v_heads, dk)
    vector("gated_delta_net_sigmoid", "GatedDeltaNet", [q, k, v, sums, raw, beta, state, Const(a_log), Const(wide)],
           {"gate_activation": "sigmoid", "gate_lower_bound": -3.0},
           net(q, k, v, -3 * sigmoid(np.exp(a_log)[:, None] * (raw + wide)), beta, state, sums))
    packed = np.concatenate([a.reshape(b * t, -1) for a in (q, k, v)], 1)
    vector("gated_delta_net_packed", "GatedDeltaNet", [packed, None, None, sums, decay, beta, state], {},
           net(q, k, v, decay, beta, state, sums), **types)
    y, s = net(q, k, v, decay, beta, None, even)
    four = [a.reshape(b, t, *a.shape[1:]) for a in (q, k, v)]
    vector("gated_delta_net_4d", "GatedDeltaNet", [*four, None, decay.reshape(b, t, -1), beta.reshape(b, t, -1)], {},
           [y.reshape(b, t, v_heads, dv), s])


def sparse_attention():
    b, heads, kv, d, block, most = 2, 4, 2, 16, 16, 64
    blocks = most // block
    seen = np.tril(np.ones((2, blocks, blocks), bool))
    seen[0, 2, 0] = seen[0, 3, 1] = seen[1, 3, 0] = False
    columns = [[c for row in layout for c in np.nonzero(row)[0]] for layout in seen]
    width = max(map(len, columns))
    rows = np.array([[0, *np.cumsum(layout.sum(1))] for layout in seen], np.int32)
    columns = np.array([c + [-1] * (width - len(c)) for c in columns], np.int32)
    n = {"num_heads": heads, "kv_num_heads": kv, "sparse_block_size": block}
    angle = np.arange(most)[:, None] / 10000.0 ** (np.arange(d // 2) * 2 / d)
    cos, sin = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)

    def attended(q, k, v, past_k, past_v, seen, total, lengths, scale=0.0, turn=None):
        s = q.shape[1]
        q, k, v = (a.reshape(b, s, h, d).astype(np.float64) for a, h in ((q, heads), (k, kv), (v, kv)))
        past_k, past_v = past_k.astype(np.float64), past_v.astype(np.float64)
        start = np.array([0 if total == s else length - s for length in lengths])
        if turn is not None:
            places = start[:, None] + np.arange(s)
            q, k = (rotated(a, cos[places], sin[places], turn) for a in (q, k))
        y = np.zeros((b, s, heads, d))
        for i in range(b):
            past_k[i, :, start[i]:start[i] + s] = k[i].transpose(1, 0, 2)
            past_v[i, :, start[i]:start[i] + s] = v[i].transpose(1, 0, 2)
            for h in range(heads):
                for t in range(s):
                    at = start[i] + t
                    score = past_k[i, h * kv // heads, :at + 1] @ q[i, t, h] * (scale or 1 / math.sqrt(d))
                    visible = seen[h % len(seen), at // block, np.arange(at + 1) // block]
                    y[i, t, h] = softmax(np.where(visible, score, -np.inf)) @ past_v[i, h * kv // heads, :at + 1]
        return [y.reshape(b, s, -1), past_k, past_v]

    def write_case(name, tokens, total, lengths, packed=False, rotate=None, layouts=2, half=False, attributes=None, run_time=False, **rest):
        q, k, v = f32(b, tokens, heads * d), f32(b, tokens, kv * d), f32(b, tokens, kv * d)
        past_k, past_v = (np.zeros((b, kv, most, d), np.float32) if total == tokens else f32(b, kv, most, d) for _ in range(2))
        attributes = {**n, **(attributes or {})}
        want = attended(q, k, v, past_k, past_v, seen[:layouts], total, lengths, attributes.get("scale", 0.0), rotate)
        given = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
        sum_of_lengths = np.array(total, np.int32)
        inputs = [*given, past_k, past_v, Const(rows[:layouts]), Const(columns[:layouts]),
                  sum_of_lengths if run_time else Const(sum_of_lengths), np.array(lengths, np.int32)]
        if rotate is not None:
            inputs += [Const(cos), Const(sin)]
            attributes |= {"do_rotary": 1, "rotary_interleaved": rotate}
        if half:
            inputs = [v.astype(np.float16) if isinstance(v, np.ndarray) and v.dtype == np.float32 else v for v in inputs]
        shared = {"shared": {1: 3, 2: 4}} if len(set(lengths)) == 1 and not half else {"runs": False}
        vector("sparse_attention_" + name, "SparseAttention", inputs, attributes, want, **shared, **rest)

    write_case("prompt", 40, 40, [40, 40])
    write_case("token", 1, 51, [51, 51], run_time=True)
    write_case("tokens", 3, 50, [50, 50])
    write_case("packed", 1, 51, [51, 51], packed=True)
    write_case("one_layout", 1, 51, [51, 51], layouts=1, attributes={"scale": 0.5})
    write_case("rotary", 1, 51, [51, 51], rotate=0)
    write_case("rotary_interleaved", 20, 20, [20, 20], rotate=1)
    # ONNX Runtime 1.32 reads scores of other rows if the lengths differ.
    write_case("lengths", 1, 51, [51, 40])
    write_case("fp16", 1, 51, [51, 51], half=True, rtol=1e-2, atol=1e-2)


def beams():
    """Attention of one token to the caches of the beams that cache_indirection names. ONNX Runtime 1.32 reads the same beam
    for all keys on the CPU, and crashes without attention_bias."""
    batch, width, heads, d, most, past = 2, 2, 2, 4, 6, 3
    rows, h = batch * width, heads * d
    for op in ("DecoderMaskedMultiHeadAttention", "MultiHeadAttention"):
        q, k, v = f32(rows, 1, h), f32(rows, 1, h), f32(rows, 1, h)
        past_k, past_v = f32(rows, heads, most, d), f32(rows, heads, most, d)
        chosen = rng.integers(0, width, (batch, width, most)).astype(np.int32)
        for name, bias, mask in (("", None, None), ("_bias", f32(1, heads, 1, past + 1), None),
                                 ("_mask", None, np.array([[1, 0, 1, 1], [1, 1, 1, 1]] * width, np.int32))):
            caches = [past_k.copy(), past_v.copy()]
            for cache, new in zip(caches, (k, v)):
                cache[:, :, past] = new.reshape(rows, heads, d)
            y = np.zeros((rows, 1, heads, d))
            for r in range(rows):
                of = [r // width * width + chosen[r // width, r % width, t] for t in range(past)] + [r]
                for i in range(heads):
                    keys, values = (np.stack([c[of[t], i, t] for t in range(past + 1)]).astype(np.float64) for c in caches)
                    score = keys @ q[r, 0, i * d:(i + 1) * d] / math.sqrt(d)
                    score = score + (0 if bias is None else bias[0, i, 0]) + (0 if mask is None else np.where(mask[r], 0, -10000.0))
                    y[r, 0, i] = softmax(score) @ values
            length, beam_count = s32(past), s32(width)
            inputs = ([q, k, v, mask, bias, past_k, past_v, length, beam_count, chosen] if op.startswith("Decoder") else
                      [q, k, v, None, mask, bias, past_k, past_v, length, chosen])
            vector(f"{'dmmha' if op.startswith('Decoder') else 'mha'}_beams{name}", op, inputs,
                   {"num_heads": heads, **({"past_present_share_buffer": 1} if op.startswith("Decoder") else {})},
                   [y.reshape(rows, 1, h), *caches], runs=False)


def caches():
    """GroupQueryAttention with quantised caches, and with caches that slide."""
    b, heads, kv, d = 2, 4, 2, 16
    n = {"num_heads": heads, "kv_num_heads": kv}
    by_head = lambda x: x.reshape(b, -1, kv, d).transpose(0, 2, 1, 3)  # noqa: E731

    def attended(q, keys, values, places, first, window=None):
        """places [B, keys]: the position of each key, or -1."""
        y = np.zeros((b, q.shape[1], heads, d))
        q = q.reshape(b, -1, heads, d).astype(np.float64)
        for i in range(b):
            for t in range(q.shape[1]):
                at = first[i] + t
                seen = (places[i] >= 0) & (places[i] <= at) & (places[i] > at - (window or 1 << 20))
                for h in range(heads):
                    score = np.where(seen, keys[i, h * kv // heads] @ q[i, t, h] / math.sqrt(d), -np.inf)
                    y[i, t, h] = softmax(score) @ np.where(seen[:, None], values[i, h * kv // heads], 0)
        return y.reshape(b, -1, heads * d)

    for bits in (8, 4):
        low, high = -1 << bits - 1, (1 << bits - 1) - 1
        pack = lambda x: (x.astype(np.int8) if bits == 8 else  # noqa: E731
                          ((x + 8)[..., 0::2] | (x + 8)[..., 1::2] << 4).astype(np.uint8))
        kind = np.int8 if bits == 8 else np.uint8
        for how in ("PER_TENSOR", "PER_CHANNEL"):
            for tokens, past, rows in ((1, 4, 4), (1, 4, 7), (5, 0, 8), (3, 4, 7)):
                if tokens > 1 and past:
                    b = 1
                q, k, v = f32(b, tokens, heads * d), f32(b, tokens, kv * d), f32(b, tokens, kv * d)
                size = 1 if how == "PER_TENSOR" else (kv, d)
                scale = (rng.random(size) * 0.02 + 0.01).astype(np.float32) * np.float32(1 if bits == 8 else 16)
                wide = scale if how == "PER_TENSOR" else scale.reshape(1, kv, 1, d)
                new = [np.clip(np.rint(by_head(x) / wide), low, high).astype(np.int64) for x in (k, v)]
                old = [rng.integers(low, high + 1, (b, kv, rows, d)) for _ in range(2)]
                for o in old:
                    o[:, :, past:] = 0 if bits == 8 else low  # their bytes are 0, as in ONNX Runtime
                total = past + tokens
                now = [np.concatenate([o[:, :, :past], x, o[:, :, total:]], 2) for o, x in zip(old, new)]
                real = [x.astype(np.float64) * wide for x in now]
                count = now[0].shape[2]
                y = attended(q, *real, np.tile(np.where(np.arange(count) < total, np.arange(count), -1), (b, 1)), [past] * b)
                lengths = np.full(b, total - 1, np.int32)
                vector(f"gqa_{bits}bits_{how.lower()}_{tokens}_{rows}", "GroupQueryAttention",
                       [q, k, v, *(pack(o) for o in old), lengths, Const(np.array(total, np.int32)) if past == 0 or rows == past else np.array(total, np.int32),
                        None, None, None, None, None, Const(scale), Const(scale)],
                       {**n, "k_quant_type": how, "v_quant_type": how, "kv_cache_bit_width": bits}, [y, *(pack(x) for x in now)],
                       types=[np.float32, kind, kind])
                b = 2
    for window, room in ((4, 4), (4, 6), (3, 8)):
        kept = lambda t: t if t <= room else window + (t - room - 1) % (room - window + 1)  # noqa: E731
        for tokens, lengths in ((1, [room + 4, room + 5]), (1, [3, 12]), (9, [9, 9]), (2, [9])):
            b = len(lengths)
            texts = [f32(b, kv, max(lengths), d) for _ in range(2)]
            old, now, places = [np.zeros((b, kv, room, d), np.float32) for _ in range(2)], [np.zeros((b, kv, room, d), np.float32) for _ in range(2)], []
            for i, t in enumerate(lengths):
                for text, o, x in zip(texts, old, now):
                    before, after = kept(t - tokens), kept(t)
                    o[i, :, :before] = text[i, :, t - tokens - before:t - tokens]
                    x[i, :, :after] = text[i, :, t - after:t]
            first = [t - tokens for t in lengths]
            k, v = (np.stack([text[i, :, t - tokens:t] for i, t in enumerate(lengths)]).transpose(0, 2, 1, 3).reshape(b, tokens, -1) for text in texts)
            q = f32(b, tokens, heads * d)
            y = attended(q, *texts, np.tile(np.arange(max(lengths)), (b, 1)), first, window)
            # ONNX Runtime leaves free rows unset.
            whole = all(kept(t) == room for t in lengths)
            vector(f"gqa_slides_{window}_{room}_{tokens}_{lengths[-1]}", "GroupQueryAttention",
                   [q, k, v, *old, np.array(lengths, np.int32) - 1, np.array(max(lengths), np.int32)],
                   {**n, "sliding_window_cache": 1, "local_window_size": window}, [y, *now] if whole else [y],
                   asked=3)
            b = 2


def ngrams():
    def hashed(ids, multipliers, sizes, n, heads, pad, past=None, offsets=None, eos=None, segments=None, resets=False,
               past_segments=None):
        kind, state = ids.dtype.type, n - 1
        missing = pad if eos is None else eos
        tokens = np.concatenate([np.full(state, missing, ids.dtype) if past is None else past, ids])
        out = np.zeros((len(ids), state * heads), ids.dtype)
        for t in range(len(ids)):
            visible = []
            for k in range(n):
                hidden = False
                for j in range(k):
                    at = state + t - j  # a boundary in front of this place?
                    hidden |= resets and eos is not None and tokens[at - 1] == eos
                    if segments is not None:
                        both = [past_segments[p] if p < state and past_segments is not None else segments[max(p - state, 0)]
                                for p in (at - 1, at)]
                        hidden |= both[0] != both[1]
                visible.append(kind(missing) if hidden else tokens[state + t - k])
            mix = kind(0)
            with np.errstate(over="ignore"):
                for k in range(n):
                    mix = mix ^ kind(visible[k] * multipliers[k])
                    for head in range(heads if k else 0):
                        o = (k - 1) * heads + head
                        out[t, o] = int(mix) % int(sizes[o])
                        if offsets is not None:
                            out[t, o] += offsets[o]
        return out, tokens[len(tokens) - state:]

    for kind in (np.int64, np.int32):
        name, n, heads, b, length = f"_{np.dtype(kind).name}", 3, 2, 2, 6
        ids = rng.integers(0, 9, (b, length)).astype(kind)
        factors = (rng.integers(1, 1 << 29, n) * 2 + 1).astype(kind) * (kind(1 << 20 | 1) if kind == np.int64 else kind(1))
        sizes, offsets = np.array([11, 13, 17, 19], kind), np.array([0, 11, 24, 41], kind)
        past, segments = rng.integers(0, 9, (3, 2)).astype(kind), rng.integers(0, 2, (b, length)).astype(np.int32)
        past_segments = rng.integers(0, 2, (3, 2)).astype(np.int32)
        attributes, constants = {"max_ngram_size": n, "n_head_per_ngram": heads, "pad_id": 7}, [Const(factors), Const(sizes)]
        both = lambda rows: [np.stack([r[0] for r in rows]), np.stack([r[1] for r in rows])]  # noqa: E731
        parts = lambda rows: [np.concatenate([r[0] for r in rows]), np.stack([r[1] for r in rows])]  # noqa: E731
        vector("ngram_hash" + name, "NGramHashMapping", [ids, *constants], attributes,
               both([hashed(i, factors, sizes, n, heads, 7) for i in ids]))
        for resets in (0, 1):
            vector(f"ngram_hash_all{name}_{resets}", "NGramHashMapping",
                   [ids, factors, sizes, past[:b], Const(offsets), Const(np.array(3, kind)), segments],
                   {**attributes, "reset_on_eos": resets},
                   both([hashed(i, factors, sizes, n, heads, 7, p, offsets, 3, s, resets) for i, p, s in zip(ids, past, segments)]))
        sums, x, s = s32(0, 1, 5, 6), ids[0], segments[0]
        span = [slice(sums[i], sums[i + 1]) for i in range(3)]
        vector("varlen_ngram_hash" + name, "VarlenNGramHashMapping", [x, *constants, sums], attributes,
               parts([hashed(x[p], factors, sizes, n, heads, 7) for p in span]))
        for resets in (0, 1):
            want = parts([hashed(x[p], factors, sizes, n, heads, 7, past[i], offsets, 3, s[p], resets, past_segments[i])
                          for i, p in enumerate(span)])
            last = np.stack([np.concatenate([past_segments[i], s[p]])[-2:] for i, p in enumerate(span)])
            vector(f"varlen_ngram_hash_all{name}_{resets}", "VarlenNGramHashMapping",
                   [x, *constants, sums, past, Const(offsets), Const(np.array(3, kind)), s, past_segments],
                   {**attributes, "reset_on_eos": resets}, [*want, last], types=[kind, kind, np.int32])
        want, counts, states = parts([hashed(x[p], factors, sizes, n, heads, 7, past[i]) for i, p in enumerate(span)]), s32(2, 2, 0), []
        for i, p in enumerate(span):
            tokens = np.concatenate([past[i], x[p]])
            states.append([tokens[t + 1:t + 3] if t < min(counts[i], len(tokens) - 2) else [7, 7] for t in range(3)])
        vector("varlen_ngram_hash_updates" + name, "VarlenNGramHashMapping", [x, *constants, sums, past, None, None, None, None, counts],
               {**attributes, "state_update_capacity": 3}, [*want, states], outputs=["out0", "out1", "", "out3"])
    ids, scores = np.array([[1, 2, 3, 1, 2], [4, 4, 4, 4, 4], [1, 2, 3, 4, 5]]), f32(3, 6)
    for n in (1, 2, 3, 6):
        want = scores.copy()
        for row, out in zip(ids, want):
            for i in range(len(row) - n + 1):
                if (row[i:i + n - 1] == row[len(row) - n + 1:]).all():
                    out[row[i + n - 1]] = -np.inf
        vector(f"ngram_repeat_block_{n}", "NGramRepeatBlock", [ids, scores], {"ngram_size": n}, [want], types=[np.float32])


def murmur(data, seed=0):
    mask = 0xffffffff
    turn = lambda v, r: (v << r | v >> 32 - r) & mask  # noqa: E731
    h = seed
    for i in range(0, len(data) // 4 * 4, 4):
        k = turn(int.from_bytes(data[i:i + 4], "little") * 0xcc9e2d51 & mask, 15) * 0x1b873593 & mask
        h = (turn(h ^ k, 13) * 5 + 0xe6546b64) & mask
    tail = data[len(data) // 4 * 4:]
    if tail:
        h ^= turn(int.from_bytes(tail, "little") * 0xcc9e2d51 & mask, 15) * 0x1b873593 & mask
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85ebca6b & mask
    h = (h ^ h >> 13) * 0xc2b2ae35 & mask
    return h ^ h >> 16


def small():
    for kind in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64):
        x = rng.standard_normal((3, 4)) * 1e4
        x = (np.abs(x) if np.dtype(kind).kind == "u" else x).astype(kind)
        values = np.array([murmur(v.tobytes()) for v in x.ravel()], np.uint32).reshape(x.shape)
        vector("murmur_hash3_" + np.dtype(kind).name, "MurmurHash3", [x], {}, [values], types=[np.uint32])
    x = np.array([[0, 1, -1]], np.int64)
    values = np.array([[murmur(v.tobytes(), 5) for v in x[0]]], np.uint32).view(np.int32)
    vector("murmur_hash3_seed", "MurmurHash3", [x], {"positive": 0, "seed": 5}, [values], types=[np.int32])
    x = f32(2, 5, 3)
    halves("sample_op", "SampleOp", [x], {}, [x])
    vector("sample_op_constant", "SampleOp", [Const(x)], {}, [x])
    for dim, size, step in ((-1, 2, 1), (1, 3, 2), (0, 2, 1)):
        axis = dim % 3
        count = (x.shape[axis] - size) // step + 1
        parts = [np.moveaxis(np.take(x, range(i * step, i * step + size), axis), axis, -1) for i in range(count)]
        vector(f"unfold_tensor_{axis}", "UnfoldTensor", [x], {"dim": dim, "size": size, "step": step}, [np.stack(parts, axis)])
    a, c = rng.integers(-9999, 9999, (2, 3, 4)).astype(np.int16), rng.integers(-9999, 9999, (4, 5)).astype(np.int16)
    vector("matmul_integer16", "MatMulInteger16", [a, Const(c)], {}, [a.astype(np.int64) @ c], types=[np.int32])
    vector("matmul_integer16_vector", "MatMulInteger16", [a[0, 0], c], {}, [a[0, 0].astype(np.int64) @ c], types=[np.int32])
    vector("matmul_integer16_batch", "MatMulInteger16", [a, np.ascontiguousarray(a.transpose(0, 2, 1))], {},
           [a.astype(np.int64) @ a.transpose(0, 2, 1)], types=[np.int32])
    x, w = f32(2, 3, 4, 5), f32(3, 2, 3, 3)

    def transposed(x, w, strides, dilations, group=1):
        m = w.shape[1] * group
        size = [(x.shape[2 + i] - 1) * strides[i] + dilations[i] * (w.shape[2 + i] - 1) + 1 for i in range(2)]
        y = np.zeros((x.shape[0], m, *size))
        per = x.shape[1] // group
        for c in range(x.shape[1]):
            for o in range(w.shape[1]):
                for i in range(w.shape[2]):
                    for j in range(w.shape[3]):
                        rows = slice(i * dilations[0], i * dilations[0] + (x.shape[2] - 1) * strides[0] + 1, strides[0])
                        cols = slice(j * dilations[1], j * dilations[1] + (x.shape[3] - 1) * strides[1] + 1, strides[1])
                        y[:, c // per * w.shape[1] + o, rows, cols] += x[:, c].astype(np.float64) * w[c, o, i, j]
        return y

    bias = f32(2)
    y = transposed(x, w, (2, 2), (1, 1))
    vector("conv_transpose_pads", "ConvTransposeWithDynamicPads", [x, Const(w), Const(np.array([1, 0, 1, 2])), Const(bias)],
           {"strides": [2, 2]}, [y[:, :, 1:-1, :y.shape[3] - 2] + bias[:, None, None]])
    vector("conv_transpose_pads_zero", "ConvTransposeWithDynamicPads", [x, Const(w), Const(np.zeros(4, np.int64))], {"strides": [2, 2]}, [y])
    y = transposed(x, f := f32(3, 1, 3, 3), (1, 2), (2, 1), 3)
    vector("conv_transpose_pads_group", "ConvTransposeWithDynamicPads", [x, f, Const(np.array([1, 1, 1, 1]))],
           {"strides": [1, 2], "dilations": [2, 1], "group": 3}, [y[:, :, 1:-1, 1:-1]])


def pooled_with_mask():
    def pooled(x, mask, kernel, strides, pads):
        rank = len(kernel)
        size = [(x.shape[2 + i] + pads[i] + pads[rank + i] - kernel[i]) // strides[i] + 1 for i in range(rank)]
        y = np.full((*x.shape[:2], *size), np.finfo(np.float32).min)
        for place in np.ndindex(*size):
            begin = [max(place[i] * strides[i] - pads[i], 0) for i in range(rank)]
            end = [min(place[i] * strides[i] - pads[i] + kernel[i], x.shape[2 + i]) for i in range(rank)]
            for row in np.ndindex(*[max(end[i] - begin[i], 0) for i in range(rank - 1)]):
                for last in range(begin[-1], end[-1]):
                    at = (*[begin[i] + row[i] for i in range(rank - 1)], last)
                    if mask[(0, 0, *at)] == 0 and (rank == 1 or any(at)):
                        break
                    y[(slice(None), slice(None), *place)] = np.maximum(y[(slice(None), slice(None), *place)], x[(slice(None), slice(None), *at)])
        return y

    for name, shape, kernel, strides, pads in (("2d", (2, 3, 5, 6), [2, 3], [1, 2], [0, 1, 1, 1]), ("1d", (1, 2, 9), [3], [2], [1, 1]),
                                               ("3d", (1, 2, 3, 4, 4), [2, 2, 2], [1, 1, 2], [0, 0, 0, 0, 0, 0])):
        x, mask = f32(*shape), (rng.random((1, 1, *shape[2:])) < 0.8).astype(np.int32)
        mask.ravel()[0] = 0
        vector("maxpool_with_mask_" + name, "MaxpoolWithMask", [x, mask], {"kernel_shape": kernel, "strides": strides, "pads": pads},
               [pooled(x, mask, kernel, strides, pads)])


def tables():
    ids, segments = rng.integers(0, 11, (2, 4)).astype(np.int32), rng.integers(0, 2, (2, 4)).astype(np.int32)
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int32)
    for kind, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
        shapes = [(11, 8), (6, 8), (2, 8), (8,), (8,)]
        quantized = [rng.integers(low, high, s).astype(kind) for s in shapes]
        scales = [np.array(0.01 * (i + 1), np.float32) for i in range(5)]
        zeros = [np.array(3 * i + 1, kind) for i in range(5)]
        word, position, segment, gamma, beta = ((q.astype(np.float64) - float(z)) * float(s) for q, z, s in zip(quantized, zeros, scales))

        def normalised(x, epsilon):
            x = x - x.mean(-1, keepdims=True)
            return x / np.sqrt((x * x).mean(-1, keepdims=True) + epsilon) * gamma + beta

        q, s, z = ([Const(v) for v in values] for values in (quantized, scales, zeros))
        name = np.dtype(kind).name
        vector("qembed_layer_norm_" + name, "QEmbedLayerNormalization", [ids, segments, *q, mask, *s, *z], {"epsilon": 1e-3},
               [normalised(word[ids] + position[None, :4] + segment[segments], 1e-3), [3, 4]], types=[np.float32, np.int32], rtol=1e-3, atol=1e-4)
        vector("qembed_layer_norm_plain_" + name, "QEmbedLayerNormalization",
               [ids, None, *q[:2], None, *q[3:], None, *s[:2], None, *s[3:], *z[:2], None, *z[3:]], {},
               [normalised(word[ids] + position[None, :4], 1e-12), [0, 0]], types=[np.float32, np.int32], rtol=1e-3, atol=1e-4)
    words = np.array([[3, 1, 4, 1, 5, 2, 6], [2, 7, 0, 0, 0, 0, 0], [5, 3, 5, 8, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0]], np.int32)
    for window in (1, 2, 3):
        w, bias, table = f32(6, 1, window, 5), f32(6), f32(9, 5)
        want = []
        for word in words:
            x = table[word].astype(np.float64)
            count = max((word > 0).sum(), window) - window + 1
            want.append(np.max([np.tanh(sum(w[:, 0, j] @ x[i + j] for j in range(window)) + bias) for i in range(count)], 0))
        vector(f"word_conv_embedding_{window}", "WordConvEmbedding", [words, Const(w), Const(bias), Const(table)],
               {"embedding_size": 6, "conv_window_size": window, "char_embedding_size": 5}, [np.stack(want)], types=[np.float32], rtol=1e-3, atol=1e-4)
    for kind in (0, 1):
        for depth in (64, 40):
            columns, blocks = 3, -(-depth // 32)
            q, scale = rng.integers(0, 16, (columns, blocks * 32)), (rng.random((columns, blocks)) * 0.1 + 0.05).astype(np.float32)
            zero = rng.integers(0, 16, (columns, blocks)) if kind else np.full((columns, blocks), 8)
            blob = b""
            for c in range(columns):
                for i in range(blocks):
                    v = q[c, 32 * i:32 * i + 32]
                    blob += scale[c, i].tobytes() + (bytes([zero[c, i]]) if kind else b"") + (v[:16] | v[16:] << 4).astype(np.uint8).tobytes()
            weights = ((q - np.repeat(zero, 32, 1)) * np.repeat(scale, 32, 1).astype(np.float64))[:, :depth]
            a = f32(2, 3, depth)
            vector(f"matmul_fpq4_{kind}_{depth}", "MatMulFpQ4", [a, Const(np.frombuffer(blob, np.uint8)), Const(np.array([depth, columns]))],
                   {"blk_quant_type": kind}, [a @ weights.T], rtol=1e-3, atol=1e-3)
    for name, x in (("", [2, 1, 1, 3, 4, 3]), ("_equal", [5, 5, 5]), ("_one", [7])):
        x = np.array(x, np.float32)
        distinct = list(dict.fromkeys(x))
        places = [distinct.index(v) for v in x]
        vector("unique_microsoft" + name, "Unique", [Const(x)], {}, [distinct, places, np.bincount(places)],
               types=[np.float32, np.int64, np.int64])


def attention_lstm():
    def lstm(x, w, r, bias, lengths, h0, c0, peep, qw, mw, v, memory, places, aw, backward):
        steps, b, hidden = x.shape[0], x.shape[1], r.shape[2]
        directions = len(backward)
        y, last_h, last_c = np.zeros((steps, directions, b, hidden)), np.zeros((directions, b, hidden)), np.zeros((directions, b, hidden))
        for d in range(directions):
            for i in range(b):
                real = np.arange(memory.shape[1]) < (memory.shape[1] if places is None else places[i])
                values = memory[i].astype(np.float64) * real[:, None]
                keys, count = values @ mw[d], steps if lengths is None else lengths[i]
                h, c = (np.zeros(hidden) if s is None else s[d, i].astype(np.float64) for s in (h0, c0))
                attended = np.zeros(memory.shape[2] if aw is None else aw.shape[2])
                for s in range(count):
                    t = count - 1 - s if backward[d] else s
                    gates = w[d] @ np.concatenate([x[t, i], attended]) + r[d] @ h
                    if bias is not None:
                        gates = gates + bias[d, :4 * hidden] + bias[d, 4 * hidden:]
                    gate_i, gate_o, gate_f, gate_c = np.split(gates, 4)
                    p = np.zeros(3 * hidden) if peep is None else peep[d]
                    new = sigmoid(gate_f + p[2 * hidden:] * c) * c + sigmoid(gate_i + p[:hidden] * c) * np.tanh(gate_c)
                    h, c = sigmoid(gate_o + p[hidden:2 * hidden] * new) * np.tanh(new), new
                    score = np.where(real, (v[d] * np.tanh(keys + h @ qw[d])).sum(-1), -np.inf)
                    context = softmax(score) @ values
                    attended = context if aw is None else np.concatenate([h, context]) @ aw[d]
                    y[t, d, i] = h
                last_h[d, i], last_c[d, i] = h, c
        return [y, last_h, last_c]

    steps, b, size, hidden, width, places, k = 4, 2, 3, 5, 4, 6, 3
    for direction, backward in (("forward", [0]), ("reverse", [1]), ("bidirectional", [0, 1])):
        n = len(backward)
        for name, layer, all_inputs in (("", 2, True), ("_context", None, True), ("_plain", 2, False)):
            a = layer or width
            x, w, r = f32(steps, b, size), f32(n, 4 * hidden, size + a, scale=0.5), f32(n, 4 * hidden, hidden, scale=0.5)
            qw, mw, v, memory = f32(n, hidden, k), f32(n, width, k), f32(n, k), f32(b, places, width)
            rest = [f32(n, 8 * hidden, scale=0.3), s32(4, 2), f32(n, b, hidden), f32(n, b, hidden), f32(n, 3 * hidden)]
            if not all_inputs:
                rest = [None] * 5
            lengths, aw = s32(6, 3) if all_inputs else None, f32(n, width + hidden, layer) if layer else None
            want = lstm(x, w, r, *rest, qw, mw, v, memory, lengths, aw, backward)
            constant = lambda t: None if t is None else Const(t)  # noqa: E731
            vector(f"attn_lstm_{direction}{name}", "AttnLSTM",
                   [x, Const(w), Const(r), constant(rest[0]), *rest[1:4], constant(rest[4]), Const(qw), Const(mw), Const(v), memory, lengths,
                    constant(aw)], {"hidden_size": hidden, "direction": direction}, want)


IQ4 = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113])


def packed_tables():
    """Blocks of GGML's formats: their bytes, numbers, and the places of halves."""
    half = lambda b, at=0: np.ascontiguousarray(b[:, at:at + 2]).view(np.float16).astype(np.float64)  # noqa: E731
    wide = lambda b, kind: np.ascontiguousarray(b).view(kind).astype(np.int64)  # noqa: E731

    def q4_0(b):
        q = b[:, 2:].astype(int)
        return half(b) * (np.concatenate([q & 15, q >> 4], 1) - 8)

    def q5_0(b):
        fifth = (wide(b[:, 2:6], np.uint32) >> np.arange(32)) & 1
        q = b[:, 6:].astype(int)
        return half(b) * ((np.concatenate([q & 15, q >> 4], 1) | fifth << 4) - 16)

    def q5_k(b):
        s, fifth, q, out = b[:, 4:16].astype(int), b[:, 16:48].astype(int), b[:, 48:].astype(int), []
        for j in range(8):
            scale, least = ((s[:, j] & 63, s[:, j + 4] & 63) if j < 4 else
                            (s[:, j + 4] & 15 | (s[:, j - 4] >> 6) << 4, s[:, j + 4] >> 4 | (s[:, j] >> 6) << 4))
            x = q[:, 32 * (j // 2):32 * (j // 2) + 32]
            x = (x >> 4 if j % 2 else x & 15) + 16 * (fifth >> j & 1)
            out.append(half(b) * scale[:, None] * x - half(b, 2) * least[:, None])
        return np.concatenate(out, 1)

    def q6_k(b):
        low, high, scale, out = b[:, :128].astype(int), b[:, 128:192].astype(int), b[:, 192:208].view(np.int8).astype(int), []
        for n in range(2):
            for i in range(4):
                x = low[:, 64 * n + 32 * (i % 2):][:, :32]
                x = (x & 15 if i < 2 else x >> 4) | (high[:, 32 * n:32 * n + 32] >> 2 * i & 3) << 4
                out.append(half(b, 208) * np.repeat(scale[:, 8 * n + 2 * i:8 * n + 2 * i + 2], 16, 1) * (x - 32))
        return np.concatenate(out, 1)

    def iq4_xs(b):
        out = []
        for i in range(8):
            scale = (b[:, 4 + i // 2].astype(int) >> 4 * (i % 2) & 15) | (wide(b[:, 2:4], np.uint16)[:, 0] >> 2 * i & 3) << 4
            x = b[:, 8 + 16 * i:24 + 16 * i]
            out.append(half(b) * (scale - 32)[:, None] * np.concatenate([IQ4[x & 15], IQ4[x >> 4]], 1))
        return np.concatenate(out, 1)

    formats = {
        "f32": (0, 4, 1, None, lambda b: np.ascontiguousarray(b).view(np.float32)), "f16": (1, 2, 1, None, half),
        "bf16": (30, 2, 1, None, lambda b: (wide(b, np.uint16) << 16).astype(np.uint32).view(np.float32)),
        "q4_0": (2, 18, 32, [0], q4_0), "q5_0": (6, 22, 32, [0], q5_0),
        "q8_0": (8, 34, 32, [0], lambda b: half(b) * b[:, 2:].view(np.int8)), "q5_k": (13, 176, 256, [0, 2], q5_k),
        "q6_k": (14, 210, 256, [208], q6_k),
        "iq4_nl": (20, 18, 32, [0], lambda b: half(b) * np.concatenate([IQ4[b[:, 2:] & 15], IQ4[b[:, 2:] >> 4]], 1)),
        "iq4_xs": (23, 136, 256, [0], iq4_xs)}
    for name, (kind, size, count, places, numbers) in formats.items():
        depth, rows = 8 if count == 1 else 2 * count if count == 32 else 256, 3
        blocks = rows * depth // count
        if places is None:
            x = f32(blocks, 1)
            data = (x if kind == 0 else x.astype(np.float16) if kind == 1 else (x.view(np.uint32) >> 16).astype(np.uint16)).view(np.uint8)
        else:
            data = rng.integers(0, 256, (blocks, size)).astype(np.uint8)
            for at in places:
                data[:, at:at + 2] = (rng.random((blocks, 1)) * 0.1 + 0.01).astype(np.float16).view(np.uint8)
        table = np.asarray(numbers(data), np.float64).reshape(rows, depth)
        for suffix, indices, to in (("", np.array([[0, 2], [9, -1]], np.int64), 1), ("_fp16", np.array([1, 2], np.int32), 10)):
            if suffix and name not in ("q8_0", "q6_k"):
                continue
            want = table[np.where((indices < 0) | (indices >= rows), 0, indices)]
            vector(f"gather_packed_{name}{suffix}", "GatherPacked", [Const(data.reshape(rows, -1)), indices],
                   {"K": depth, "packed_type": kind, "output_dtype": to}, [want], types=[np.float16 if to == 10 else np.float32])


GROUPS = [gates_and_norms, streams, router, rotary, four_bits, moe, qmoe, linear_attention, causal_convolution, delta_net,
          sparse_attention, beams, caches, ngrams, small, pooled_with_mask, tables,
          attention_lstm, packed_tables]

if __name__ == "__main__":
    os.makedirs(contrib.OUT, exist_ok=True)
    for group in GROUPS:
        group()
    print(f"{len(contrib.made)} vectors made; ONNX Runtime does not run {len(not_run)}: {' '.join(not_run)}")
