"""Checks that docs/operators.md is a heading followed by the output of `poprt_exec ops --markdown`. Writes it with --write.

    operators.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Operators

The operators of the compiler, generated from its own table by `tests/lint/operators.py POPRT_EXEC --write`.

* *opsets*: the first and, if later models use another definition, the last version of the domain.
* *types*: element types that the definition allows in any opset (by the schemas of ONNX and ONNX Runtime,
  `core/ops/common/schema_types.inc`) and that a trial on small tensors accepts (`core/ops/trial.h`). They are the types of input 0. If
  input 0 is an index, a condition or a scale (Where, OneHot, QLinearConcat ...), they are the types of the data, and if there is no
  input or only a shape, of the result. *inner*: control flow, sequences and optionals accept the types of their subgraphs or elements.
* *implementation*: *fast kernel* (compiled for each instruction set, or a plain copy), *reference kernel* (portable
  C++), *decomposition* into other operators, *view* (no code), *compiler* (evaluated when a model is compiled; text
  and encoded images must be constant), *control* (begins or ends a region of the device's instructions).

Some results are not tensors in the specification. The maps of ai.onnx.ml ZipMap are the tensor [rows, classes] of their values, in
the order of the class labels. Class labels that are strings (classlabels_strings) become their indices, s64. The strings are in the
PopEF file as opaque blob `class_labels/OUTPUT`, a JSON array that `popef_dump` prints, and in a converted model as property
`poprt.class_labels/OUTPUT`. String keys of LabelEncoder are looked up when a model is compiled, on constants only.

Two operators of `ai.graphcore` have no published definition. MaskCompress is Compress with a static shape: the selected elements
move to the front, zeros follow, and a second output (s32 [1]) contains their number. FP8Conv has the inputs of FP8MatMul (X, W,
scaleX, scaleW, and an optional bias) and the attributes of Conv. Int4ToHalf, BeamSearch, KVCache and KVCachePipeline follow
PopTransformer. Caches keep their state between runs.

Random operators (RandomNormal, RandomUniform, Bernoulli, Multinomial, Dropout in training) repeat their numbers in every run if they
have attribute `seed`, and otherwise draw new ones in each run, in a sequence that begins again when the model is loaded
([decision](decisions/random-numbers.md)).

Domain `poprt` is internal: passes create these operators, and models must not contain them.

"""


if __name__ == "__main__":
    generated.check("docs/operators.md", HEADING, "ops", "tests/lint/operators.py")
