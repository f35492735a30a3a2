"""poprt --reproducible: equal bits for every instruction set from AVX2 on, number of threads, and place in a batch."""

import os
import random
import struct
import subprocess
import unittest

import onnx_writer as onnx
from option_support import OptionTest
from support import DIGITS

THREADS = (1, 2, 3, 5)
UINT8 = 2  # its number in ONNX


def instruction_sets():
    """The instruction sets of this CPU on which the bits are equal."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = set(next((line for line in file if line.startswith("flags")), "").split())
    return [isa for isa, flag in (("avx2", "avx2"), ("avx512", "avx512vl")) if flag in flags]


class Network:
    """A random network over batches; the first dimension of the input and of each output counts samples."""

    def __init__(self, seed, shape):
        self.random, self.shape = random.Random(seed), shape
        self.nodes, self.weights, self.outputs, self.count = [], [], [], 0

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def constant(self, *shape, scale=1.0):
        name, size = self.name("w"), 1
        for d in shape:
            size *= d
        self.weights.append(onnx.floats(name, shape, [self.random.gauss(0, scale) for _ in range(size)]))
        return name

    def bytes(self, shape, dtype, data):
        """A constant of `dtype`, a number of ONNX, from its bytes."""
        name = self.name("b")
        self.weights.append(onnx.message(5, *[onnx.number(1, d) for d in shape], onnx.number(2, dtype), onnx.message(8, name),
                                         onnx.message(9, data)))
        return name

    def integers(self, *values):
        name = self.name("i")
        self.weights.append(onnx.message(5, onnx.number(1, len(values)), onnx.number(2, onnx.S64), onnx.message(8, name),
                                         *[onnx.number(7, v & 0xFFFFFFFFFFFFFFFF) for v in values]))
        return name

    def add(self, op_type, *inputs, domain="", **attributes):
        output = self.name("v")
        self.nodes.append(onnx.node(op_type, inputs, [output], domain, **attributes))
        return output

    def result(self, *values):
        self.outputs.extend(values)

    def model(self):
        return onnx.model(self.nodes, [onnx.value("x", onnx.F32, self.shape)],
                          [onnx.message(1, name) for name in self.outputs], self.weights, domains=["com.microsoft"])


def convolutions(seed, batch):
    """One layer of each kind, each with a separate result."""
    n = Network(seed, [batch, 32, 13, 11])
    kinds = [((40, 32, 3, 3), {"pads": [1, 1, 1, 1]}), ((24, 32, 1, 1), {}), ((32, 1, 3, 3), {"group": 32, "pads": [1, 1, 1, 1]}),
             ((32, 8, 3, 3), {"group": 4, "pads": [1, 1, 1, 1], "strides": [2, 2]}), ((20, 32, 3, 3), {"dilations": [2, 2]}),
             ((16, 32, 5, 5), {"pads": [2, 2, 2, 2], "strides": [2, 1]}), ((7, 32, 2, 3), {}),
             ((33, 32, 1, 7), {"pads": [0, 3, 0, 3]})]
    for weight, attributes in kinds:
        fan = weight[1] * weight[2] * weight[3]
        v = n.add("Conv", "x", n.constant(*weight, scale=fan ** -0.5), n.constant(weight[0]), **attributes)
        n.result(n.add(n.random.choice(["Relu", "Sigmoid", "Tanh", "HardSwish"]), v))
    n.result(n.add("ConvTranspose", "x", n.constant(32, 12, 3, 3, scale=0.1), strides=[2, 2]))
    n.result(n.add("ConvTranspose", "x", n.constant(32, 5, 4, 4, scale=0.1), dilations=[2, 1]))
    n.result(n.add("AveragePool", "x", kernel_shape=[3, 3]), n.add("GlobalAveragePool", "x"))
    return n


def deep(seed, batch):
    """A chain of layers, as of an image classifier."""
    n = Network(seed, [batch, 3, 37, 33])
    v, channels = "x", 3
    for i in range(5):
        to = n.random.choice([16, 24, 40, 64])
        v = n.add("Conv", v, n.constant(to, channels, 3, 3, scale=(channels * 9) ** -0.5), n.constant(to, scale=0.1),
                  pads=[1, 1, 1, 1], strides=[1 + i % 2, 1 + i % 2])
        v, channels = n.add(n.random.choice(["Relu", "Tanh"]), v), to
    v = n.add("Flatten", n.add("GlobalAveragePool", v))
    v = n.add("Gemm", v, n.constant(19, channels, scale=0.2), n.constant(19), transB=1)
    n.result(n.add("Softmax", v), n.add("LogSoftmax", v))
    return n


def products(seed, batch):
    """Matrix products of several sizes, with one row for each sample, and reductions of their results."""
    n = Network(seed, [batch, 5, 97])
    for columns in (1, 16, 17, 50, 130):
        v = n.add("MatMul", "x", n.constant(97, columns, scale=0.1))
        v = n.add("Add", v, n.constant(columns))
        n.result(n.add(n.random.choice(["Erf", "Exp", "Tanh", "Softplus"]), v))
    flat = n.add("Flatten", "x")
    for columns in (8, 48, 100):
        n.result(n.add("MatMul", flat, n.constant(485, columns, scale=0.05)))
    rows = n.add("Transpose", "x", perm=[0, 2, 1])
    n.result(n.add("MatMul", "x", rows), n.add("MatMul", rows, "x"))
    for op_type in ("ReduceSum", "ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceSumSquare", "ReduceProd"):
        for axes in ([1], [2], [1, 2]):
            given = [n.integers(*axes)] if op_type == "ReduceSum" else []
            n.result(n.add(op_type, "x", *given, **({} if given else {"axes": axes})))
    for axis in (1, 2):
        n.result(n.add("Softmax", "x", axis=axis))
    n.result(n.add("LayerNormalization", "x", n.constant(97), n.constant(97)), n.add("LpNormalization", "x", axis=2),
             n.add("CumSum", "x", n.integers(2)))
    return n


def transformer(seed, batch):
    """Self-attention with four heads, and a feed-forward layer."""
    n, length, width, heads = Network(seed, [batch, 9, 64]), 9, 64, 4
    v = "x"
    for _ in range(2):
        parts = []
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]):
            p = n.add("Add", n.add("MatMul", v, n.constant(width, width, scale=0.1)), n.constant(width, scale=0.1))
            p = n.add("Reshape", p, n.integers(batch, length, heads, width // heads))
            parts.append(n.add("Transpose", p, perm=perm))
        scores = n.add("Div", n.add("MatMul", parts[0], parts[1]), n.constant(1))
        mixed = n.add("Transpose", n.add("MatMul", n.add("Softmax", scores), parts[2]), perm=[0, 2, 1, 3])
        mixed = n.add("MatMul", n.add("Reshape", mixed, n.integers(batch, length, width)), n.constant(width, width, scale=0.1))
        v = n.add("LayerNormalization", n.add("Add", v, mixed), n.constant(width), n.constant(width))
        h = n.add("MatMul", v, n.constant(width, 150, scale=0.1))
        h = n.add("MatMul", n.add("Mul", h, n.add("Sigmoid", h)), n.constant(150, width, scale=0.1))
        v = n.add("LayerNormalization", n.add("Add", v, h), n.constant(width), n.constant(width))
    n.result(v)
    return n


def recurrent(seed, batch):
    """LSTM, GRU and RNN over a sequence; the batch is the second dimension of their inputs."""
    n, width, hidden = Network(seed, [batch, 6, 20]), 20, 37
    sequence = n.add("Transpose", "x", perm=[1, 0, 2])
    for op_type, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        y = n.add(op_type, sequence, n.constant(1, gates * hidden, width, scale=0.2), n.constant(1, gates * hidden, hidden, scale=0.2),
                  n.constant(1, 2 * gates * hidden, scale=0.1), hidden_size=hidden)
        n.result(n.add("Transpose", n.add("Squeeze", y, n.integers(1)), perm=[1, 0, 2]))
    return n


def others(seed, batch):
    """Normalisations and resampling."""
    n = Network(seed, [batch, 8, 12, 10])
    n.result(n.add("InstanceNormalization", "x", n.constant(8), n.constant(8)), n.add("LRN", "x", size=3),
             n.add("LpPool", "x", kernel_shape=[2, 3]))
    sizes = n.name("w")
    n.weights.append(onnx.floats(sizes, [4], [1.0, 1.0, 1.5, 2.0]))
    n.result(n.add("Resize", "x", "", sizes, mode="linear"), n.add("Resize", "x", "", sizes, mode="cubic"))
    var = n.add("Exp", n.constant(8, scale=0.3))
    n.result(n.add("BatchNormalization", "x", n.constant(8), n.constant(8), n.constant(8), var))
    v = n.add("MatMul", "x", n.constant(10, 10, scale=0.2))
    for op_type in ("Elu", "Selu", "Mish", "Softsign", "Log", "Sqrt", "Sin", "Cos", "Atan", "Sinh", "Reciprocal"):
        n.result(n.add(op_type, n.add("Abs", v) if op_type in ("Log", "Sqrt") else v) if op_type != "Mish" else
                 n.add("Mul", v, n.add("Tanh", n.add("Softplus", v))))
    return n


def narrow(seed, batch):
    """Products with weights of 4, 8 and 16 bits; the shape of x decides whether they have few rows or many."""
    n, k, columns = Network(seed, [batch, 2, 256]), 256, 80
    random_bytes = n.random.randbytes
    for level in (0, 4):
        q = n.bytes([columns, k // 32, 16], UINT8, random_bytes(columns * k // 2))
        n.result(n.add("MatMulNBits", "x", q, n.constant(columns * k // 32, scale=0.05), domain="com.microsoft", K=k, N=columns, bits=4,
                       block_size=32, accuracy_level=level))
    q, zeros = n.bytes([k, columns], UINT8, random_bytes(k * columns)), n.bytes([columns], UINT8, random_bytes(columns))
    n.result(n.add("MatMul", "x", n.add("DequantizeLinear", q, n.constant(columns, scale=0.01), zeros, axis=1)))
    halves = struct.pack(f"<{k * columns}e", *[n.random.gauss(0, 0.1) for _ in range(k * columns)])
    n.result(n.add("MatMul", "x", n.add("Cast", n.bytes([k, columns], onnx.F16, halves), to=onnx.F32)))
    return n


FAMILIES = (convolutions, deep, products, transformer, recurrent, others, narrow)


class Reproducible(OptionTest):
    def run_with(self, popef, outputs, isa, threads):
        words = [w for i, name in enumerate(outputs) for w in ("--output", f"{name}=y{i}.npy")]
        environment = {**os.environ, "POPRT_ISA": isa}
        ran = subprocess.run(self.arguments([popef, "--input", "x=x.npy", "--threads", threads, *words], "poprt_exec run"),
                             cwd=self.folder, env=environment, text=True, capture_output=True, timeout=300, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        results = []
        for i in range(len(outputs)):
            with open(self.path(f"y{i}.npy"), "rb") as file:
                results.append(file.read())
        return results

    def compiled(self, network, *options):
        self.write("m.onnx", network.model())
        self.succeeds("-i", "m.onnx", "--popef_name", "m.popef", "--overwrite", "--lowest_opset", "0", *options)
        return "m.popef"

    def test_bits_do_not_depend_on_threads_and_instruction_set(self):
        rng = random.Random(1)
        for family in FAMILIES:
            for batch in (1, 3):
                network = family(rng.randrange(1 << 30), batch)
                popef = self.compiled(network, "--reproducible")
                size = 1
                for d in network.shape:
                    size *= d
                self.npy("x.npy", "f4", network.shape, [rng.gauss(0, 1) for _ in range(size)])
                first = None
                for isa in instruction_sets():
                    for threads in THREADS:
                        results = self.run_with(popef, network.outputs, isa, threads)
                        first = first or results
                        for name, was, is_ in zip(network.outputs, first, results):
                            self.assertEqual(was, is_, (family.__name__, batch, name, isa, threads))

    def test_bits_do_not_depend_on_the_place_in_a_batch(self):
        rng = random.Random(2)
        batch = 7
        for family in FAMILIES:
            network = family(rng.randrange(1 << 30), batch)
            popef = self.compiled(network, "--reproducible")
            size = 1
            for d in network.shape[1:]:
                size *= d
            sample = [rng.gauss(0, 1) for _ in range(size)]
            self.npy("x.npy", "f4", network.shape, sample * batch)
            for isa in instruction_sets():
                for i, name in enumerate(network.outputs):
                    result = self.run_with(popef, network.outputs, isa, 2)[i]
                    data = result[10 + int.from_bytes(result[8:10], "little"):]
                    row = len(data) // batch
                    for place in range(1, batch):
                        self.assertEqual(data[place * row:(place + 1) * row], data[:row], (family.__name__, name, isa, place))

    def test_weights_stay_narrow(self):
        sizes = []
        for options in ([], ["--reproducible"]):
            sizes.append(os.path.getsize(self.path(self.compiled(narrow(1, 1), *options))))
        self.assertLess(sizes[1], 1.05 * sizes[0])
        weights = 256 * 80
        self.assertLess(sizes[1], 2 * weights * (0.5 + 0.5 + 1 + 2))  # f32 takes 16 bytes instead of 4

    def test_it_implies_f32(self):
        reproducible = ["-i", DIGITS, "--input_shape", "image=8,1,8,8", "--reproducible"]
        for words in (["--precision", "bf16"], ["--execution_precision", "bf16"], ["--execution_precision", "f16"],
                      ["--execution_precision", "auto"]):
            self.misused([*reproducible, *words], "--reproducible computes products in f32", words[0])
        self.succeeds(*reproducible, "--execution_precision", "f32", "--export_popef")
        self.assertEqual(self.metadata()["reproducible"], "1")


if __name__ == "__main__":
    unittest.main()
