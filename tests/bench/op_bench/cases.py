"""The cases of op_bench: for every operator that ONNX Runtime's CPU provider also has, single-node models of a
representative large shape. A case is case(operator, inputs, name=..., outputs=1, opset=..., atol=..., rtol=...,
any_size=False, domain=(name, version), types=element types of outputs that are not those of input 0 and that ONNX
does not infer, more=inputs of the model that its subgraphs read, **attributes); an input is R(...) (random, given at run time), C(...) (a constant of the model) or
None (omitted)."""
import numpy as np
from onnx import helper, numpy_helper

CASES = []
rng = np.random.default_rng(1)


class R:
    """A run-time input; integers are in [low, high), floats have the given spread or are in [low, high)."""

    def __init__(self, *shape, dtype="float32", low=None, high=None, data=None):
        dtype = np.dtype(dtype)
        if data is not None:
            self.data = np.ascontiguousarray(data, dtype)
        elif dtype == bool:
            self.data = rng.random(shape) < 0.5
        elif dtype.kind in "iu":
            info = np.iinfo(dtype)
            self.data = rng.integers(max(info.min, -100) if low is None else low, min(info.max, 100) if high is None else high, shape, dtype)
        elif low is not None:
            self.data = rng.uniform(low, high, shape).astype(dtype)
        else:
            self.data = rng.standard_normal(shape).astype(dtype)


class C(R):
    """A constant of the model: C(array) or like R."""

    def __init__(self, *shape, **kw):
        if shape and not isinstance(shape[0], int):
            self.data = np.asarray(shape[0], kw.get("dtype", None) or (np.int64 if np.asarray(shape[0]).dtype == int else None))
        else:
            super().__init__(*shape, **kw)
        if self.data.dtype == np.float64 and kw.get("dtype") != "float64":
            self.data = self.data.astype(np.float32)


def scalar(value, dtype="float32"):
    return C(np.array(value, dtype), dtype=dtype)


def case(op, inputs, name="", outputs=1, opset=21, atol=1e-4, rtol=1e-3, any_size=False, domain=("", 0), types=(), more=(),
         **attributes):
    CASES.append(dict(op=op, name=".".join(p for p in (domain[0], op) if p) + (" " + name if name else ""), types=types, inputs=inputs, more=list(more), outputs=outputs, opset=opset, atol=atol,
                      rtol=rtol, any_size=any_size, domain=domain, attributes=attributes))


IMAGE = (1, 64, 112, 112)  # 3.2 MB of floats
MATRIX = (1024, 1024)

# Elementwise, one input.
for op in ("Abs Atan Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid HardSwish LeakyRelu Neg Reciprocal Relu Round Selu Sigmoid "
           "Sign Sin Sinh Softplus Softsign Tan Tanh ThresholdedRelu Shrink Celu Mish Identity Asinh").split():
    case(op, [R(*IMAGE)], atol=1e-3 if op in ("Tan", "Reciprocal") else 1e-4)
for op in "Acos Asin Atanh".split():
    case(op, [R(*IMAGE, low=-0.99, high=0.99)])
for op in "Log Sqrt".split():
    case(op, [R(*IMAGE, low=0.01, high=9)])
case("Acosh", [R(*IMAGE, low=1, high=9)])
case("Gelu", [R(*IMAGE)])
case("Gelu", [R(*IMAGE)], "tanh", approximate="tanh")
case("Clip", [R(*IMAGE), scalar(-1), scalar(1)])
case("Dropout", [R(*IMAGE)])
case("IsNaN", [R(*IMAGE)])
case("IsInf", [R(*IMAGE)])
case("Not", [R(*IMAGE, dtype=bool)])
case("BitwiseNot", [R(*IMAGE, dtype="int32")])
for op in "Abs Neg Sqrt".split():
    case(op, [R(*MATRIX, dtype="float64", low=0.1, high=1)], "f64")
case("Neg", [R(*MATRIX, dtype="int64")], "i64")
case("Abs", [R(*MATRIX, dtype="int32")], "i32")
case("Exp", [R(*MATRIX, dtype="float64")], "f64")
case("Clip", [R(*IMAGE, dtype="int32"), scalar(-10, "int32"), scalar(10, "int32")], "i32")

# Elementwise, several inputs.
for op in "Add Sub Mul Div Max Min Mean Sum".split():
    case(op, [R(*IMAGE), R(*IMAGE)], atol=1e-2 if op == "Div" else 1e-4)
for op in "Add Mul".split():
    case(op, [R(*IMAGE), R(1, 64, 1, 1)], "channel")
    case(op, [R(1024, 768), R(768)], "row")
    case(op, [R(1024, 768), R(1024, 1)], "column")
    case(op, [R(*IMAGE), R()], "scalar")
    case(op, [R(*MATRIX, dtype="float64"), R(*MATRIX, dtype="float64")], "f64")
    case(op, [R(*MATRIX, dtype="int64"), R(*MATRIX, dtype="int64")], "i64")
    case(op, [R(*MATRIX, dtype="int32"), R(*MATRIX, dtype="int32")], "i32")
case("Div", [R(*MATRIX, dtype="int64"), R(*MATRIX, dtype="int64", low=1, high=50)], "i64")
case("Sub", [R(4, 1, 256, 256), R(4, 16, 1, 256)], "broadcast both")
case("Pow", [R(*IMAGE, low=0.1, high=3), scalar(2)], "square")
case("Pow", [R(*IMAGE, low=0.1, high=3), R(*IMAGE)])
case("PRelu", [R(*IMAGE), C(64, 1, 1)])
case("Mod", [R(*MATRIX, dtype="int64"), R(*MATRIX, dtype="int64", low=1, high=50)], "i64")
case("Mod", [R(*MATRIX), R(*MATRIX, low=1, high=2)], "fmod", fmod=1)
for op in "And Or Xor".split():
    case(op, [R(*IMAGE, dtype=bool), R(*IMAGE, dtype=bool)])
for op in "Equal Greater GreaterOrEqual Less LessOrEqual".split():
    case(op, [R(*IMAGE), R(*IMAGE)])
case("Equal", [R(*MATRIX, dtype="int64"), R(*MATRIX, dtype="int64")], "i64")
case("Less", [R(*MATRIX, dtype="int64"), R(1024, dtype="int64")], "i64 row")
for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
    case(op, [R(*IMAGE, dtype="int32"), R(*IMAGE, dtype="int32")])
case("BitShift", [R(*IMAGE, dtype="uint32"), R(*IMAGE, dtype="uint32", high=8, low=0)], direction="LEFT")
case("Where", [R(*IMAGE, dtype=bool), R(*IMAGE), R(*IMAGE)])
case("Where", [R(8, 1, 256, 256, dtype=bool), R(8, 12, 256, 256), scalar(-1e9)], "mask")
case("Where", [R(*MATRIX, dtype=bool), R(*MATRIX, dtype="int64"), R(*MATRIX, dtype="int64")], "i64")

# Types.
for a, b in (("float32", "float16"), ("float16", "float32"), ("float32", "int32"), ("int32", "float32"), ("float32", "uint8"),
             ("uint8", "float32"), ("int64", "float32"), ("float32", "int64"), ("int64", "int32"), ("bool", "float32"),
             ("float32", "bool"), ("float32", "float64"), ("float64", "float32"), ("int32", "int64")):
    codes = dict(float32=1, uint8=2, int32=6, int64=7, bool=9, float16=10, float64=11)
    case("Cast", [R(*IMAGE, dtype=a, low=None if a == "bool" else 0, high=100)], f"{a} {b}", to=codes[b])
case("CastLike", [R(*IMAGE, low=0, high=9), scalar(1, "int32")])

# Moving data.
case("Concat", [R(1, 32, 112, 112), R(1, 64, 112, 112)], "channels", axis=1)
case("Concat", [R(1024, 256), R(1024, 512)], "last axis", axis=1)
case("Split", [R(1024, 1024), C([512, 512])], outputs=2, axis=1)
case("Slice", [R(*IMAGE), C([0, 8, 4, 4]), C([1, 56, 100, 100]), C([0, 1, 2, 3])])
case("Slice", [R(*IMAGE), C([0, 0]), C([112, 112]), C([2, 3]), C([2, 2])], "step 2")
case("Slice", [R(*IMAGE), C([-1]), C([-1000]), C([3]), C([-1])], "reversed")
case("Transpose", [R(*IMAGE)], "nchw nhwc", perm=[0, 2, 3, 1])
case("Transpose", [R(1, 112, 112, 64)], "nhwc nchw", perm=[0, 3, 1, 2])
case("Transpose", [R(8, 128, 12, 64)], "heads", perm=[0, 2, 1, 3])
case("Transpose", [R(*MATRIX)], "matrix", perm=[1, 0])
case("Transpose", [R(8, 12, 128, 64)], "keys", perm=[0, 1, 3, 2])
case("Transpose", [R(1024, 1024, dtype="float16")], "matrix f16", perm=[1, 0])
case("Transpose", [R(1024, 1024, dtype="uint8")], "matrix u8", perm=[1, 0])
case("Transpose", [R(1024, 1024, dtype="int64")], "matrix i64", perm=[1, 0])
case("Transpose", [R(32, 48, 24, 32)], "reversed", perm=[3, 2, 1, 0])
case("Transpose", [R(16, 8, 8, 8, 8, 16)], "windows", perm=[0, 1, 3, 2, 4, 5])
case("Reshape", [R(*IMAGE), C([64, -1])])
case("Flatten", [R(*IMAGE)])
case("Squeeze", [R(*IMAGE), C([0])])
case("Unsqueeze", [R(*IMAGE), C([0])])
case("Shape", [R(*IMAGE)])
case("Size", [R(*IMAGE)])
case("Expand", [R(1, 64, 1, 1), C([1, 64, 112, 112])], "channel")
case("Expand", [R(1024, 1), C([1024, 1024])], "column")
case("Expand", [R(1024), C([1024, 1024])], "row")
case("Tile", [R(1, 16, 112, 112), C([1, 4, 1, 1])])
case("Tile", [R(256, 256), C([4, 4])], "both")
case("Pad", [R(*IMAGE), C([0, 0, 1, 1, 0, 0, 1, 1])], "constant")
case("Pad", [R(*IMAGE), C([0, 0, 3, 3, 0, 0, 3, 3])], "reflect", mode="reflect")
case("Pad", [R(*IMAGE), C([0, 0, 3, 3, 0, 0, 3, 3])], "edge", mode="edge")
case("DepthToSpace", [R(1, 64, 128, 128)], blocksize=2)
case("SpaceToDepth", [R(1, 16, 256, 256)], blocksize=2)
case("CenterCropPad", [R(*IMAGE), C([100, 100])], axes=[2, 3])
case("ReverseSequence", [R(64, 32, 512), R(32, dtype="int64", low=1, high=64)])
case("Trilu", [R(8, 512, 512)], upper=0)
case("Col2Im", [R(1, 16 * 9, 112 * 112), C([112, 112]), C([3, 3])], pads=[1, 1, 1, 1])
case("Gather", [R(30000, 256), R(1024, dtype="int64", low=0, high=30000)], "rows")
case("Gather", [R(1024, 1024), R(512, dtype="int64", low=0, high=1024)], "columns", axis=1)
case("Gather", [R(1024, 1024), C(np.array(5))], "one column", axis=1)
case("GatherElements", [R(*MATRIX), R(*MATRIX, dtype="int64", low=0, high=1024)], "last", axis=1)
case("GatherElements", [R(*MATRIX), R(*MATRIX, dtype="int64", low=0, high=1024)], "first", axis=0)
case("GatherND", [R(512, 512, 8), R(100000, 2, dtype="int64", low=0, high=512)], "slices")
case("GatherND", [R(1024, 1024), R(200000, 2, dtype="int64", low=0, high=1024)], "elements")
case("ScatterElements", [R(*MATRIX), R(data=np.argsort(rng.random((1024, 512)), axis=1), dtype="int64"), R(1024, 512)], "last", axis=1)
case("ScatterElements", [R(*MATRIX), R(512, 1024, dtype="int64", low=0, high=1024), R(512, 1024)], "add", axis=0, reduction="add")
case("ScatterND", [R(512, 512, 8), R(data=np.stack(np.divmod(rng.permutation(512 * 512)[:100000], 512), 1), dtype="int64"), R(100000, 8)], "slices")
case("ScatterND", [R(*MATRIX), R(data=np.stack(np.divmod(rng.permutation(1 << 20)[:200000], 1024), 1), dtype="int64"), R(200000)], "elements")
case("TensorScatter", [R(8, 8, 512, 64), R(8, 8, 64, 64), R(8, dtype="int64", low=0, high=400)], opset=24)
case("OneHot", [R(4096, dtype="int64", low=0, high=256), scalar(256, "int64"), C(np.array([0, 1], np.float32))])
case("Compress", [R(1024, 1024), R(1024, dtype=bool)], axis=0, any_size=True)
case("NonZero", [R(*MATRIX, dtype=bool)], any_size=True)
case("Unique", [R(200000, dtype="int64", low=0, high=1000)], outputs=4, any_size=True)
case("EyeLike", [R(*MATRIX)])
case("ConstantOfShape", [C([1024, 1024])])
case("Range", [scalar(0, "int64"), scalar(1000000, "int64"), scalar(1, "int64")])
case("BitCast", [R(*IMAGE)], opset=26, to=6)

# Ordering.
case("TopK", [R(1, 100000), C([100])], "long", outputs=2)
case("TopK", [R(1024, 1000), C([5])], "rows", outputs=2)
case("TopK", [R(64, 4096), C([4096])], "sort", outputs=2)
case("TopK", [R(64, 1000, 64), C([10])], "middle", outputs=2, axis=1)
for op in "ArgMax ArgMin".split():
    case(op, [R(1024, 1000)], "last", axis=-1)
    case(op, [R(1, 21, 256, 256)], "channel", axis=1)
case("ArgMax", [R(1024, 1000, dtype="int32")], "i32", axis=-1)
case("CumSum", [R(1024, 1024), scalar(1, "int64")], "last", atol=1e-3)
case("CumSum", [R(1024, 1024), scalar(0, "int64")], "first", atol=1e-3)
case("CumProd", [R(1024, 1024, low=0.9, high=1.1), scalar(1, "int64")], opset=26)
case("Hardmax", [R(1024, 1000)])
case("NonMaxSuppression", [R(data=np.concatenate([c := rng.uniform(0, 500, (1, 2000, 2)), c + rng.uniform(5, 80, (1, 2000, 2))], 2)),
                           R(1, 10, 2000, low=0, high=1), scalar(100, "int64"), scalar(0.5), scalar(0.3)], any_size=True)
case("TfIdfVectorizer", [R(64, 5000, dtype="int64", low=0, high=200)], mode="TF", min_gram_length=1, max_gram_length=2,
     max_skip_count=0, ngram_counts=[0, 100], ngram_indexes=list(range(200)),
     pool_int64s=list(range(100)) + [v for i in range(100) for v in (i, (i * 7) % 200)])

# Reductions.
for op in "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare".split():
    low, high = (0.99, 1.01) if op == "ReduceProd" else (0.01, 1)
    case(op, [R(1024, 1024, low=low, high=high), C([1])], "last", rtol=2e-3)
    case(op, [R(1024, 1024, low=low, high=high), C([0])], "first", rtol=2e-3)
for op in "ReduceMean ReduceSum ReduceMax".split():
    case(op, [R(*IMAGE), C([2, 3])], "image")
    case(op, [R(32, 32, 32, 32), C([0, 2])], "alternating")
    case(op, [R(64, 128, 128), C([1])], "middle")
    case(op, [R(*IMAGE), C([0, 1, 2, 3])], "all", atol=1)
case("ReduceSum", [R(1024, 1024, dtype="int64"), C([1])], "i64")
case("ReduceSum", [R(1024, 1024, dtype="float64"), C([1])], "f64")
case("ReduceMax", [R(1024, 1024, dtype="int32"), C([0])], "i32 first")
case("ReduceMean", [R(1024, 1024, dtype="float64"), C([0])], "f64 first")

# Normalisation.
case("Softmax", [R(1024, 1000)], "last")
case("Softmax", [R(1, 64, 128, 128)], "channel", axis=1)
case("Softmax", [R(8, 12, 128, 128)], "attention")
case("Softmax", [R(512, 1000, dtype="float64")], "f64")
case("LogSoftmax", [R(1024, 1000)], "last")
case("LogSoftmax", [R(1, 64, 128, 128)], "channel", axis=1)
case("BatchNormalization", [R(*IMAGE), C(64), C(64), C(64), C(64, low=0.5, high=1)])
case("InstanceNormalization", [R(*IMAGE), C(64), C(64)])
case("GroupNormalization", [R(*IMAGE), C(64), C(64)], num_groups=8)
case("LayerNormalization", [R(1024, 768), C(768), C(768)])
case("RMSNormalization", [R(1024, 768), C(768)], opset=23)
case("SimplifiedLayerNormalization", [R(1024, 768), C(768)], opset=21)
case("LpNormalization", [R(1024, 768)], "l2")
case("LpNormalization", [R(1024, 768)], "l1 first", p=1, axis=0)
case("LRN", [R(1, 96, 55, 55)], size=5)
case("MeanVarianceNormalization", [R(*IMAGE)])

# Matrix products.
case("MatMul", [R(512, 768), C(768, 768)], "weights", atol=1e-2)
case("MatMul", [R(1, 1024), C(1024, 4096)], "vector", atol=1e-2)
case("MatMul", [R(8, 12, 128, 64), R(8, 12, 64, 128)], "batched", atol=1e-2)
case("MatMul", [R(512, 512), R(512, 512)], "both variable", atol=1e-2)
case("MatMul", [R(256, 256, dtype="float64"), R(256, 256, dtype="float64")], "f64")
case("MatMul", [R(128, 128, dtype="int32"), R(128, 128, dtype="int32")], "i32")
case("Gemm", [R(512, 768), C(768, 768), C(768)], "weights", atol=1e-2)
case("Gemm", [R(512, 768), C(768, 768), C(768)], "transB", atol=1e-2, transB=1)
case("Gemm", [R(512, 256), R(512, 256), R(256, 256)], "transA variable", atol=1e-2, transA=1, alpha=0.5, beta=2.0)
case("Einsum", [R(8, 128, 12, 64), R(8, 128, 12, 64)], "scores", atol=1e-2, equation="bqhd,bkhd->bhqk")
case("Einsum", [R(64, 128, 64), R(64, 64, 128)], "batched", atol=1e-2, equation="bij,bjk->bik")
case("Einsum", [R(1024, 1024), R(1024, 1024)], "diagonal", atol=1e-2, equation="ij,ij->i")
case("Einsum", [R(256, 32, 64)], "transpose", equation="abc->cba")
case("Det", [R(512, 16, 16)], rtol=1e-2, atol=1e-1)

# Convolution.
case("Conv", [R(1, 64, 56, 56), C(64, 64, 3, 3), C(64)], "3x3", atol=1e-2, pads=[1, 1, 1, 1])
case("Conv", [R(1, 256, 56, 56), C(64, 256, 1, 1), C(64)], "1x1", atol=1e-2)
case("Conv", [R(1, 3, 224, 224), C(64, 3, 7, 7), C(64)], "stem", atol=1e-2, pads=[3, 3, 3, 3], strides=[2, 2])
case("Conv", [R(1, 128, 56, 56), C(128, 128, 3, 3), C(128)], "3x3 stride 2", atol=1e-2, pads=[1, 1, 1, 1], strides=[2, 2])
case("Conv", [R(1, 128, 56, 56), C(128, 1, 3, 3), C(128)], "depthwise", atol=1e-2, pads=[1, 1, 1, 1], group=128)
case("Conv", [R(1, 128, 28, 28), C(128, 4, 3, 3), C(128)], "grouped", atol=1e-2, pads=[1, 1, 1, 1], group=32)
case("Conv", [R(1, 64, 56, 56), C(64, 64, 3, 3), C(64)], "dilated", atol=1e-2, pads=[2, 2, 2, 2], dilations=[2, 2])
case("Conv", [R(1, 64, 4096), C(64, 64, 5), C(64)], "1d", atol=1e-2, pads=[2, 2])
case("Conv", [R(1, 16, 16, 56, 56), C(16, 16, 3, 3, 3), C(16)], "3d", atol=1e-2, pads=[1] * 6)
case("ConvTranspose", [R(1, 64, 56, 56), C(64, 32, 2, 2), C(32)], "2x2 stride 2", atol=1e-2, strides=[2, 2])
case("ConvTranspose", [R(1, 64, 28, 28), C(64, 64, 4, 4), C(64)], "4x4 stride 2", atol=1e-2, strides=[2, 2], pads=[1, 1, 1, 1])
case("ConvTranspose", [R(1, 64, 2048), C(64, 32, 8), C(32)], "1d", atol=1e-2, strides=[4], pads=[2, 2])
case("DeformConv", [R(1, 32, 56, 56), C(32, 32, 3, 3), R(1, 18, 56, 56)], opset=22, atol=1e-2, pads=[1, 1, 1, 1])

# Pooling and sampling.
case("MaxPool", [R(*IMAGE)], "3x3", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
case("MaxPool", [R(*IMAGE)], "2x2", kernel_shape=[2, 2], strides=[2, 2])
case("MaxPool", [R(1, 64, 56, 56)], "indices", outputs=2, kernel_shape=[2, 2], strides=[2, 2])
case("MaxPool", [R(1, 64, 56, 56)], "dilated", kernel_shape=[3, 3], dilations=[2, 2])
case("MaxPool", [R(1, 64, 56, 56, dtype="uint8", low=0, high=255)], "u8", kernel_shape=[3, 3], strides=[2, 2])
case("MaxPool", [R(1, 16, 16, 56, 56)], "3d", kernel_shape=[2, 2, 2], strides=[2, 2, 2])
case("MaxPool", [R(1, 64, 16384)], "1d", kernel_shape=[3], strides=[2])
case("AveragePool", [R(*IMAGE)], "2x2", kernel_shape=[2, 2], strides=[2, 2])
case("AveragePool", [R(1, 64, 56, 56)], "3x3 padded", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
case("AveragePool", [R(1, 16, 16, 56, 56)], "3d", kernel_shape=[2, 2, 2], strides=[2, 2, 2])
case("LpPool", [R(1, 64, 56, 56)], opset=18, kernel_shape=[3, 3], p=2)
for op in "GlobalAveragePool GlobalMaxPool GlobalLpPool".split():
    case(op, [R(*IMAGE)])
x = rng.standard_normal((1, 64, 28, 28)).astype(np.float32)
case("MaxUnpool", [R(data=x), R(data=(np.arange(64)[:, None, None] * 56 * 56 + (np.arange(28)[:, None] * 2 + 1) * 56 + np.arange(28) * 2)[None], dtype="int64")],
     kernel_shape=[2, 2], strides=[2, 2])
FACTOR = C(np.array([1, 1, 2, 2], np.float32))
case("Resize", [R(1, 32, 112, 112), None, FACTOR], "nearest", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
case("Resize", [R(1, 32, 112, 112), None, FACTOR], "linear", mode="linear")
case("Resize", [R(1, 32, 112, 112), None, FACTOR], "linear corners", mode="linear", coordinate_transformation_mode="align_corners")
case("Resize", [R(1, 16, 112, 112), None, FACTOR], "cubic", mode="cubic")
case("Resize", [R(1, 3, 480, 640), None, None, C([1, 3, 224, 224])], "linear shrink", mode="linear")
case("Resize", [R(1, 3, 480, 640), None, None, C([1, 3, 224, 224])], "antialias", mode="linear", antialias=1)
case("Resize", [R(1, 4, 32, 32, 32), None, C(np.array([1, 1, 2, 2, 2], np.float32))], "trilinear", mode="linear")
case("Upsample", [R(1, 32, 112, 112), FACTOR], opset=9, mode="nearest")
case("GridSample", [R(1, 16, 128, 128), R(1, 128, 128, 2, low=-1, high=1)], "linear", opset=20)
case("GridSample", [R(1, 16, 128, 128), R(1, 128, 128, 2, low=-1, high=1)], "cubic", opset=20, mode="cubic")
case("GridSample", [R(1, 16, 128, 128), R(1, 128, 128, 2, low=-1, high=1)], "nearest", opset=20, mode="nearest")
case("AffineGrid", [R(8, 2, 3), C([8, 3, 224, 224])], opset=20)
boxes = np.concatenate([c := rng.uniform(0, 30, (200, 2)), c + rng.uniform(2, 25, (200, 2))], 1)
case("RoiAlign", [R(1, 64, 56, 56), R(data=boxes), R(data=np.zeros(200), dtype="int64")], output_height=7, output_width=7, sampling_ratio=2)
case("MaxRoiPool", [R(1, 64, 56, 56), R(data=np.concatenate([np.zeros((200, 1)), boxes.round()], 1))], pooled_shape=[7, 7])

# Quantisation.
u8, s8 = dict(dtype="uint8", low=0, high=255), dict(dtype="int8", low=-127, high=127)
case("QuantizeLinear", [R(*IMAGE), scalar(0.02), scalar(128, "uint8")], "u8", atol=1)
case("QuantizeLinear", [R(*IMAGE), C(64, low=0.01, high=0.03), C(np.zeros(64), dtype="int8")], "channels", atol=1, axis=1)
case("QuantizeLinear", [R(1024, 1024), C(1024, low=0.01, high=0.03), C(np.zeros(1024), dtype="int8")], "last axis", atol=1, axis=1)
case("DequantizeLinear", [R(*IMAGE, **u8), scalar(0.02), scalar(128, "uint8")], "u8")
case("DequantizeLinear", [R(*IMAGE, **s8), C(64, low=0.01, high=0.03), C(np.zeros(64), dtype="int8")], "channels", axis=1)
case("DequantizeLinear", [R(1024, 1024, **s8), C(1024, low=0.01, high=0.03), C(np.zeros(1024), dtype="int8")], "last axis", axis=1)
case("DynamicQuantizeLinear", [R(*IMAGE)], outputs=3, atol=1)
case("MatMulInteger", [R(512, 768, **u8), C(768, 768, **s8), scalar(120, "uint8"), scalar(0, "int8")], "u8 s8")
case("MatMulInteger", [R(512, 768, **u8), C(768, 768, **u8), scalar(120, "uint8"), scalar(125, "uint8")], "u8 u8")
case("MatMulInteger", [R(256, 256, **u8), R(256, 256, **s8)], "both variable")
case("MatMulInteger", [R(1, 1024, **u8), C(1024, 4096, **s8), scalar(120, "uint8"), scalar(0, "int8")], "vector")
case("QLinearMatMul", [R(512, 768, **u8), scalar(0.02), scalar(120, "uint8"), C(768, 768, **s8), scalar(0.01), scalar(0, "int8"),
                       scalar(2.0), scalar(118, "uint8")], atol=1)
case("ConvInteger", [R(1, 64, 56, 56, **u8), C(64, 64, 3, 3, **u8), scalar(120, "uint8"), scalar(125, "uint8")], "3x3", pads=[1, 1, 1, 1])
case("QLinearConv", [R(1, 64, 56, 56, **u8), scalar(0.02), scalar(120, "uint8"), C(64, 64, 3, 3, **s8), C(64, low=0.005, high=0.01),
                     C(np.zeros(64), dtype="int8"), scalar(1.0), scalar(118, "uint8"), C(np.arange(64), dtype="int32")], "3x3", atol=1, pads=[1, 1, 1, 1])
case("QLinearConv", [R(1, 256, 28, 28, **u8), scalar(0.02), scalar(120, "uint8"), C(64, 256, 1, 1, **s8), scalar(0.005),
                     scalar(0, "int8"), scalar(1.0), scalar(118, "uint8")], "1x1", atol=1)
case("QLinearConv", [R(1, 128, 56, 56, **u8), scalar(0.02), scalar(120, "uint8"), C(128, 1, 3, 3, **s8), scalar(0.005),
                     scalar(0, "int8"), scalar(0.5), scalar(118, "uint8")], "depthwise", atol=1, pads=[1, 1, 1, 1], group=128)

# Sequences and attention.
case("LSTM", [R(32, 8, 256), C(1, 1024, 256, low=-.05, high=.05), C(1, 1024, 256, low=-.05, high=.05), C(1, 2048, low=-.05, high=.05)], outputs=3, hidden_size=256)
case("GRU", [R(32, 8, 256), C(1, 768, 256, low=-.05, high=.05), C(1, 768, 256, low=-.05, high=.05), C(1, 1536, low=-.05, high=.05)],
     outputs=2, hidden_size=256, linear_before_reset=1)
case("GRU", [R(32, 8, 256), C(1, 768, 256, low=-.05, high=.05), C(1, 768, 256, low=-.05, high=.05), C(1, 1536, low=-.05, high=.05)],
     "reset before", outputs=2, hidden_size=256)
case("RNN", [R(32, 8, 256), C(1, 256, 256, low=-.05, high=.05), C(1, 256, 256, low=-.05, high=.05), C(1, 512, low=-.05, high=.05)], outputs=2, hidden_size=256)
case("Attention", [R(2, 8, 256, 64), R(2, 8, 256, 64), R(2, 8, 256, 64)], opset=23)
case("RotaryEmbedding", [R(2, 12, 256, 64), R(512, 32), R(512, 32), R(data=np.tile(np.arange(256), (2, 1)), dtype="int64")], opset=23)
case("NegativeLogLikelihoodLoss", [R(8, 100, 64, 64), R(8, 64, 64, dtype="int64", low=0, high=100)], opset=22)
case("SoftmaxCrossEntropyLoss", [R(2048, 1000), R(2048, dtype="int64", low=0, high=1000)], opset=13)

# Signals and random numbers.
case("DFT", [R(64, 1024, 1)], "1024", opset=20, atol=1e-2, rtol=1e-2)
# The results of ONNX Runtime differ by 0.03 if the length is not a power of two.
case("DFT", [R(16, 1000, 2)], "1000 complex", opset=20, atol=5e-2, rtol=1e-2)
case("STFT", [R(1, 32000, 1), scalar(160, "int64"), C(np.hanning(512).astype(np.float32)), scalar(512, "int64")], opset=17, atol=1e-2)
for op in "HannWindow HammingWindow BlackmanWindow".split():
    case(op, [scalar(100000, "int64")], opset=17)
case("MelWeightMatrix", [scalar(80, "int64"), scalar(1024, "int64"), scalar(16000, "int64"), scalar(20.0), scalar(8000.0)], opset=17)
case("RandomNormal", [], shape=[1024, 1024], atol=1e9)
case("RandomUniform", [], shape=[1024, 1024], atol=1e9)
case("RandomNormalLike", [R(*MATRIX)], atol=1e9)
case("RandomUniformLike", [R(*MATRIX)], atol=1e9)
case("Bernoulli", [R(*MATRIX, low=0, high=1)], atol=1e9)
case("Multinomial", [R(256, 1000)], sample_size=100, atol=1e9)
case("Swish", [R(*IMAGE)], opset=24)
case("LinearAttention", [R(2, 256, 512), R(2, 256, 512), R(2, 256, 512)], opset=27, outputs=2, atol=1e-2, q_num_heads=8, kv_num_heads=8,
     update_rule="linear")
case("CausalConvWithState", [R(2, 512, 256), R(512, 1, 4), R(512)], opset=27, outputs=2)

# Control flow.


def graph(name, nodes, inputs, outputs):
    tensor = lambda v: helper.make_tensor_value_info(v[0], helper.np_dtype_to_tensor_dtype(np.dtype(v[1])), v[2])
    return helper.make_graph(nodes, name, [tensor(v) for v in inputs], [tensor(v) for v in outputs])


branch = lambda op: graph(op, [helper.make_node(op, ["x1"], [op])], [], [(op, "float32", IMAGE)])
case("If", [R(dtype=bool)], then_branch=branch("Sigmoid"), else_branch=branch("Tanh"), more=[R(*IMAGE)], types=("float32",))
STEP = [helper.make_node("Tanh", ["state"], ["t"]), helper.make_node("Add", ["t", "state"], ["next"]),
        helper.make_node("Identity", ["next"], ["row"])]
STATE = (64, 1024)
LOOP = graph("body", [helper.make_node("Identity", ["go"], ["on"]), *STEP],
             [("i", "int64", []), ("go", "bool", []), ("state", "float32", STATE)],
             [("on", "bool", []), ("next", "float32", STATE), ("row", "float32", STATE)])
SCAN = graph("body", [helper.make_node("Add", ["old", "part"], ["state"]), *STEP], [("old", "float32", STATE), ("part", "float32", STATE)],
             [("next", "float32", STATE), ("row", "float32", STATE)])
case("Loop", [scalar(16, "int64"), None, R(*STATE)], outputs=2, body=LOOP, types=("float32", "float32"))
case("Scan", [R(*STATE), R(16, *STATE)], outputs=2, atol=1e-3, body=SCAN, num_scan_inputs=1, types=("float32", "float32"))

# ai.onnx.ml: a forest of 100 trees of depth 6 and linear models over 1000 rows of 50 features.
ML, ROWS, FEATURES = ("ai.onnx.ml", 3), 1000, 50
DEPTH, TREES = 6, 100
INNER, NODES = 2 ** DEPTH - 1, 2 ** (DEPTH + 1) - 1
FOREST = dict(nodes_treeids=[t for t in range(TREES) for _ in range(NODES)], nodes_nodeids=list(range(NODES)) * TREES,
              nodes_featureids=[int(v) for v in rng.integers(0, FEATURES, NODES * TREES)],
              nodes_values=[float(v) for v in rng.standard_normal(NODES * TREES).astype(np.float32)],
              nodes_modes=(["BRANCH_LEQ"] * INNER + ["LEAF"] * (NODES - INNER)) * TREES,
              nodes_truenodeids=[2 * n + 1 if n < INNER else 0 for n in range(NODES)] * TREES,
              nodes_falsenodeids=[2 * n + 2 if n < INNER else 0 for n in range(NODES)] * TREES)
LEAVES = dict(treeids=[t for t in range(TREES) for _ in range(NODES - INNER)], nodeids=list(range(INNER, NODES)) * TREES,
              weights=[float(v) for v in rng.standard_normal((NODES - INNER) * TREES).astype(np.float32)])
LEAF_IDS = [int(v) for v in rng.integers(0, 3, (NODES - INNER) * TREES)]
floats = lambda *shape: [float(v) for v in rng.standard_normal(shape).astype(np.float32).ravel()]
x = R(ROWS, FEATURES)
case("TreeEnsembleRegressor", [x], domain=ML, types=("float32",), atol=1e-2, n_targets=1, target_ids=[0] * len(LEAF_IDS), **FOREST,
     **{"target_" + k: v for k, v in LEAVES.items()})
case("TreeEnsembleClassifier", [x], domain=ML, types=("int64", "float32"), outputs=2, atol=1e-2, class_ids=LEAF_IDS,
     classlabels_int64s=[0, 1, 2], post_transform="SOFTMAX", **FOREST, **{"class_" + k: v for k, v in LEAVES.items()})
# The same forest in the form of TreeEnsemble, which has separate lists of inner nodes and leaves.
LEAF_COUNT = NODES - INNER
child = lambda tree, n: (tree * INNER + n, 0) if n < INNER else (tree * LEAF_COUNT + n - INNER, 1)
true_children = [child(t, 2 * n + 1) for t in range(TREES) for n in range(INNER)]
false_children = [child(t, 2 * n + 2) for t in range(TREES) for n in range(INNER)]
inner = [t * NODES + n for t in range(TREES) for n in range(INNER)]
tensor = lambda values, dtype: numpy_helper.from_array(np.array(values, dtype))
case("TreeEnsemble", [x], domain=("ai.onnx.ml", 5), types=("float32",), atol=1e-2, n_targets=1, aggregate_function=1,
     tree_roots=[t * INNER for t in range(TREES)], nodes_featureids=[FOREST["nodes_featureids"][n] for n in inner],
     nodes_splits=tensor([FOREST["nodes_values"][n] for n in inner], "float32"), nodes_modes=tensor([0] * len(inner), "uint8"),
     nodes_truenodeids=[c[0] for c in true_children], nodes_trueleafs=[c[1] for c in true_children],
     nodes_falsenodeids=[c[0] for c in false_children], nodes_falseleafs=[c[1] for c in false_children],
     leaf_targetids=[0] * (TREES * LEAF_COUNT), leaf_weights=tensor(LEAVES["weights"], "float32"))
case("LinearRegressor", [x], domain=ML, types=("float32",), atol=1e-3, coefficients=floats(FEATURES), intercepts=[0.5])
case("LinearClassifier", [x], domain=ML, types=("int64", "float32"), outputs=2, atol=1e-3, coefficients=floats(10, FEATURES),
     intercepts=floats(10), classlabels_ints=list(range(10)), post_transform="SOFTMAX", multi_class=1)
case("SVMRegressor", [x], domain=ML, types=("float32",), atol=1e-2, kernel_type="RBF", kernel_params=[0.02, 0.0, 3.0], n_supports=200,
     support_vectors=floats(200, FEATURES), coefficients=floats(200), rho=[0.1])
case("SVMClassifier", [x], domain=ML, types=("int64", "float32"), outputs=2, atol=1e-2, kernel_type="RBF", kernel_params=[0.02, 0.0, 3.0],
     classlabels_ints=[0, 1, 2], vectors_per_class=[60, 70, 70], support_vectors=floats(200, FEATURES), coefficients=floats(2, 200),
     rho=[0.1, 0.2, 0.3])
case("Scaler", [R(20000, FEATURES)], domain=ML, types=("float32",), offset=floats(FEATURES), scale=floats(FEATURES))
for norm in ("L1", "L2", "MAX"):
    case("Normalizer", [R(20000, FEATURES)], norm, domain=ML, types=("float32",), norm=norm)
case("Binarizer", [R(20000, FEATURES)], domain=ML, types=("float32",), threshold=0.1)
case("Imputer", [R(20000, FEATURES)], domain=ML, types=("float32",), imputed_value_floats=floats(FEATURES), replaced_value_float=0.0)
case("ArrayFeatureExtractor", [R(20000, FEATURES), C(list(range(0, FEATURES, 2)))], domain=ML, types=("float32",))
case("FeatureVectorizer", [R(20000, 20), R(20000, 30)], domain=ML, types=("float32",), inputdimensions=[20, 30])
case("OneHotEncoder", [R(20000, 4, dtype="int64", low=0, high=20)], domain=ML, types=("float32",), cats_int64s=list(range(20)))
case("LabelEncoder", [R(20000, 4, dtype="int64", low=0, high=100)], domain=ML, types=("float32",), keys_int64s=list(range(100)),
     values_floats=floats(100), default_float=-1.0)

# Operators of com.microsoft that ONNX Runtime's optimiser and quantisers and GenAI's model builder write.
MS = ("com.microsoft", 1)
f32, tokens = ("float32",), R(2, 256, 768)
hidden = lambda *shape: C(*shape, low=-0.05, high=0.05)
case("Gelu", [R(*IMAGE)], domain=MS)
case("FastGelu", [tokens, C(768)], domain=MS)
case("QuickGelu", [R(*IMAGE)], domain=MS)
case("BiasGelu", [tokens, C(768)], domain=MS)
case("SkipLayerNormalization", [tokens, R(2, 256, 768), C(768), C(768), C(768)], domain=MS, types=f32)
case("SkipSimplifiedLayerNormalization", [tokens, R(2, 256, 768), C(768)], domain=MS, types=f32)
case("EmbedLayerNormalization", [R(2, 256, dtype="int32", low=0, high=5000), R(2, 256, dtype="int32", low=0, high=2), C(5000, 768),
                                 C(512, 768), C(2, 768), C(768), C(768), R(data=np.ones((2, 256)), dtype="int32")],
     domain=MS, outputs=2, types=("float32", "int32"))
case("Attention", [tokens, hidden(768, 2304), C(2304)], domain=MS, types=f32, atol=1e-2, num_heads=12)
case("MultiHeadAttention", [tokens, R(2, 256, 768), R(2, 256, 768)], domain=MS, types=f32, atol=1e-2, num_heads=12)
past = lambda *shape: R(*shape, low=-1, high=1)
case("DecoderMaskedMultiHeadAttention", [R(2, 1, 768), past(2, 12, 256, 64), past(2, 12, 256, 64)], "cross", domain=MS, types=f32,
     atol=1e-2, num_heads=12)
lengths = lambda n: [C(np.full(2, n - 1), dtype="int32"), scalar(n, "int32")]
case("GroupQueryAttention", [R(2, 256, 768), R(2, 256, 256), R(2, 256, 256), None, None, *lengths(256)], "prompt", domain=MS, types=f32 * 3,
     outputs=3, atol=1e-2, num_heads=12, kv_num_heads=4)
case("GroupQueryAttention", [R(2, 1, 768), R(2, 1, 256), R(2, 1, 256), past(2, 4, 255, 64), past(2, 4, 255, 64), *lengths(256)], "token",
     domain=MS, types=f32 * 3, outputs=3, atol=1e-2, num_heads=12, kv_num_heads=4)
case("RotaryEmbedding", [R(2, 12, 256, 64), C([0]), C(512, 32), C(512, 32)], domain=MS, types=f32)
case("QAttention", [R(2, 128, 768, dtype="uint8", low=0, high=255), C(768, 2304, dtype="int8", low=-127, high=127), C(2304), scalar(0.01),
                    scalar(0.002), None, scalar(128, "uint8"), scalar(0, "int8")], domain=MS, types=f32, atol=1e-1, num_heads=12)
case("FusedMatMul", [R(8, 128, 256), R(8, 128, 256)], domain=MS, types=f32, atol=1e-2, transB=1, alpha=0.125)
case("TransposeMatMul", [R(8, 128, 256), R(8, 128, 256)], domain=MS, types=f32, atol=1e-2, transB=1)
case("FusedGemm", [R(512, 768), C(768, 768), C(768)], domain=MS, types=f32, atol=1e-2, activation="Relu")
case("FusedConv", [R(1, 64, 56, 56), C(64, 64, 3, 3), C(64)], domain=MS, types=f32, atol=1e-2, pads=[1, 1, 1, 1], activation="Relu")
for bits in (4, 8):
    case("MatMulNBits", [R(32, 1024), C(1024, 1024 // 32, 32 * bits // 8, dtype="uint8", low=0, high=255),
                         C(1024 * 32, low=0.005, high=0.01)], f"{bits} bits", domain=MS, types=f32, atol=5e-2, K=1024, N=1024, bits=bits, block_size=32)
case("MatMulNBits", [R(1, 1024), C(1024, 32, 16, dtype="uint8", low=0, high=255), C(1024 * 32, low=0.005, high=0.01)], "vector", domain=MS,
     types=f32, atol=5e-2, K=1024, N=1024, bits=4, block_size=32)
case("GatherBlockQuantized", [C(20000, 128, dtype="uint8", low=0, high=255), R(512, dtype="int64", low=0, high=20000), C(20000, 8)], domain=MS,
     types=f32, bits=4, block_size=32)
case("MatMulIntegerToFloat", [R(512, 768, **u8), C(768, 768, **s8), scalar(0.02), scalar(0.01), scalar(120, "uint8"), scalar(0, "int8")],
     domain=MS, types=f32, atol=1e-2)
case("DynamicQuantizeMatMul", [R(512, 768), C(768, 768, **s8), scalar(0.01), scalar(0, "int8")], domain=MS, types=f32, atol=2.0)
case("DynamicQuantizeLSTM", [R(16, 8, 256), C(1, 256, 1024, **s8), C(1, 256, 1024, **s8), C(1, 2048, low=-.05, high=.05), None, None, None, None,
                             C(1, low=0.001, high=0.0011), C(np.zeros(1), dtype="int8"), C(1, low=0.001, high=0.0011),
                             C(np.zeros(1), dtype="int8")], domain=MS, types=f32 * 3, outputs=3, atol=5e-2, hidden_size=256)
QUANTUM = [scalar(0.05), scalar(128, "uint8")]
BYTES = (1, 64, 112, 112)
byte = lambda *shape: R(*shape, **u8)
case("QLinearAdd", [byte(*BYTES), *QUANTUM, byte(*BYTES), *QUANTUM, scalar(0.1), scalar(128, "uint8")], domain=MS, atol=1)
case("QLinearMul", [byte(*BYTES), *QUANTUM, byte(*BYTES), *QUANTUM, scalar(0.3), scalar(128, "uint8")], domain=MS, atol=1)
case("QLinearSigmoid", [byte(*BYTES), *QUANTUM, scalar(1 / 256), scalar(0, "uint8")], domain=MS, atol=1)
case("QLinearLeakyRelu", [byte(*BYTES), *QUANTUM, *QUANTUM], domain=MS, atol=1, alpha=0.1)
case("QLinearSoftmax", [byte(1024, 1000), *QUANTUM, scalar(1 / 256), scalar(0, "uint8")], domain=MS, atol=1, axis=-1)
CASES[-1]["attributes"]["opset"] = 13
case("QLinearAveragePool", [byte(*BYTES), *QUANTUM, *QUANTUM], domain=MS, atol=1, kernel_shape=[2, 2], strides=[2, 2])
case("QLinearGlobalAveragePool", [byte(*BYTES), *QUANTUM, *QUANTUM], domain=MS, atol=1, channels_last=0)
case("QLinearConcat", [*QUANTUM, byte(1, 32, 112, 112), *QUANTUM, byte(1, 64, 112, 112), scalar(0.07), scalar(120, "uint8")], domain=MS,
     types=("uint8",), atol=1, axis=1)
case("QLinearWhere", [R(*BYTES, dtype=bool), byte(*BYTES), *QUANTUM, byte(*BYTES), *QUANTUM, *QUANTUM], domain=MS, types=("uint8",), atol=1)
case("QGemm", [byte(512, 768), scalar(0.02), scalar(120, "uint8"), C(768, 768, **s8), scalar(0.01), scalar(0, "int8"), None, scalar(2.0),
               scalar(118, "uint8")], domain=MS, atol=1)
case("QLinearConv", [byte(1, 56, 56, 64), scalar(0.02), scalar(120, "uint8"), C(64, 64, 3, 3, **s8), C(64, low=0.005, high=0.01),
                     C(np.zeros(64), dtype="int8"), scalar(1.0), scalar(118, "uint8")], "channels last", domain=MS, atol=1, pads=[1, 1, 1, 1],
     channels_last=1)
case("NhwcMaxPool", [byte(1, 112, 112, 64)], domain=MS, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
case("QuantizeLinear", [R(*IMAGE), *QUANTUM], domain=MS, types=("uint8",), atol=1)
case("DequantizeLinear", [byte(*IMAGE), *QUANTUM], domain=MS, types=f32)
case("CDist", [R(1000, 64), R(800, 64)], domain=MS, types=f32, atol=1e-1, metric="sqeuclidean")
case("CropAndResize", [R(2, 16, 112, 112), R(64, 4, low=0, high=1), C(np.zeros(64), dtype="int32"), C(np.array([14, 14]), dtype="int32")],
     domain=MS, types=f32, atol=1e-2)
case("ExpandDims", [R(*IMAGE), scalar(1, "int32")], domain=MS, types=f32)
case("GatherND", [R(1024, 1024), R(200000, 2, dtype="int64", low=0, high=1024)], domain=MS, types=f32)
case("GridSample", [R(1, 16, 128, 128), R(1, 128, 128, 2, low=-1, high=1)], domain=MS, types=f32)
case("Inverse", [R(data=rng.standard_normal((512, 16, 16)) + 8 * np.eye(16))], domain=MS, types=f32, atol=1e-2)
case("Pad", [R(*IMAGE), C([0, 0, 1, 1, 0, 0, 1, 1]), scalar([0.5])], domain=MS, types=f32)
case("Range", [scalar(0, "int64"), scalar(1000000, "int64"), scalar(1, "int64")], domain=MS, types=("int64",))
case("Trilu", [R(8, 512, 512)], domain=MS, types=f32, upper=0)
