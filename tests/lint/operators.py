"""docs/operators.md is what `poprt_exec ops --markdown` prints below its heading. Writes it with --write.

    operators.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Operators

What the compiler takes, by the same table that it uses. Made by `tests/lint/operators.py POPRT_EXEC --write`.

* *opsets*: the first and, where later models use another definition, the last version of the domain.
* *types*: element types that the operator's definition allows in any opset (by the schemas of ONNX and ONNX Runtime,
  `core/ops/common/schema_types.inc`) and that a trial on small tensors accepts (`core/ops/trial.h`): those of input 0, of the data where input 0 is an index, a condition or a scale
  (Where, OneHot, QLinearConcat ...), or of the result where there is no input or only a shape. *inner*: control flow, sequences and
  optionals have no element types of their own and take what their subgraphs or containers hold.
* *implementation*: *fast kernel* (built for each instruction set, or a plain copy), *reference kernel* (portable
  C++), *decomposition* into other operators, *view* (no code), *compiler* (resolved when a model is compiled; text
  and encoded images must be constant), *control* (begins or ends a region of the device's instructions).

Where the data make no tensor: the maps of ai.onnx.ml ZipMap stay the tensor [rows, classes] of their values, in the
order of its class labels. Class labels of classifiers that are strings (classlabels_strings) become their indices, s64; the PopEF
file has the strings as opaque blob `class_labels/OUTPUT`, a JSON array that `popef_dump` shows, and a converted model as
property `poprt.class_labels/OUTPUT`. Keys of LabelEncoder that are strings are looked up when a model is compiled, on
constants only.

Of `ai.graphcore`, no definition was published for two. MaskCompress is Compress with a static shape: what the mask keeps moves
to the front, zeros follow, and a second output (s32 [1]) counts it. FP8Conv takes its inputs as FP8MatMul does (X, W, scaleX,
scaleW, and an optional bias), with the attributes of Conv. Int4ToHalf, BeamSearch, KVCache and KVCachePipeline are as
PopTransformer has them; caches keep their state from run to run.

Domain `poprt` is internal: passes make these operators, models cannot hold them.

"""


if __name__ == "__main__":
    generated.check("docs/operators.md", HEADING, "ops", "tests/lint/operators.py")
