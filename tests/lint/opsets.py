"""docs/opsets.md is what `poprt_exec ops --opsets` prints below its heading. Writes it with --write.

    opsets.py POPRT_EXEC [--write]"""

import generated

HEADING = """# Opsets and 64-bit integers of converted models

Made by `tests/lint/opsets.py POPRT_EXEC --write`.

## Which opset a converted model has

Models of opsets 7 to 28 become models of opsets 11 to 28, up and down, by our own table (`core/opsets/table.cpp`). Subgraphs of If,
Loop and Scan are converted with the rest; functions of the model are inlined; other domains (com.microsoft, ai.onnx.ml ...)
stay as they are. The converter's passes have run by then, so shapes are known and what was arithmetic of constants is a
constant.

| face | says nothing | `--convert_version N` (Python: `convert_version=N`) |
|---|---|---|
| command `poprt`, `poprt.Converter` | 11 (PopRT's default: the newest opset that PopART knows), or the lowest one above it that works, with a warning that says why | N, or an error |
| C ABI and other languages | the model's own opset | N, or an error |

* *The lowest one that works* is that of option `lowest_opset`, which every face takes by name. It also keeps operators whose parts would
  compile to a slower program than they do (*slower* in the table: a model with Attention of opset 23 stays at 23, one with scales
  for each channel at 13); who asks for 11 by `--convert_version 11` gets the parts. `--lowest_opset 0`, or
  `convert_version=None` in Python, keeps the model's own opset.
* *An error* names node, operator, both opsets and the reason, and nothing is written.
* *Executables have no opset.* `poprt --export_popef`, and every compiler, compile the model that they are given,
  whatever opset the converted file has; `convert_version` is recorded in the PopEF file and does nothing else there. Decompositions
  that a converted file needs are spelled so that the compiler's patterns find LayerNormalization, GELU, SiLU and HardSwish again.
* Models of opsets before 7 run, but are not converted: broadcasting was another thing then. By default they keep their opset, with a
  warning.

## 64-bit integers

The IPU has no 64-bit integers, and PopRT's converter makes them 32-bit, inputs and outputs too. Command `poprt` and
`poprt.Converter` do the same (pass `int64_to_int32`, last of the converter's own passes); `--skip_passes int64_to_int32`
(`skip_passes="int64_to_int32"`) keeps them. A constant that does not fit becomes the nearest 32-bit number, with a warning unless it is
one of the two extremes of 64 bits, which mean "without end". Operators that ONNX defines for 64 bits alone (Shape, ArgMax, NonZero
...) keep them between Casts.

Everywhere else (`Runner("model.onnx")`, `poprt.compiler`, the C ABI and its languages, `poprt_exec`) a model is compiled with the
types that it declares, because programs written for ONNX Runtime bind 64-bit memory to such inputs and their results; option
`narrow_int64` (or pass `int64_to_int32`) asks for 32 bits there. Runners of Python take arrays of either width for an integer
input and refuse, by name, a value that 32 bits do not hold; so does `poprt_exec`, for .npy files. Memory that other languages hand
over is of the anchor's type.

## Tried on

`tests/conformance/opset_round_trip.py FOLDER --opsets 11` on 91 exports (torchvision and transformers by both exporters of PyTorch,
scikit-learn; opsets 17 and 20), every model to opset 11 and that one back again, each compared with its source in poprt's runtime:

| models | to 11 and back |
|---|---|
| classification, segmentation, video (torchvision), transformers, recurrent (opsets 17 and 20) | all compute the same |
| detection | all compute the same, but two (keypoint and mask R-CNN) that are converted and not compared: their loops have no static results |
| scikit-learn (ai.onnx.ml) | all compute the same |

An executable that is compiled from the file of opset 11 has as many instructions as one from the original (BERT, Swin, ViT, a
LLaMA decoder, MobileNetV3).

## What changes with the opset

One row for each definition of an operator of ai.onnx that changes more than element types. *From older ones* is what a model of an
earlier opset goes through on its way up, *to older ones* what one of this opset or a later one goes through on its way
down. A type that the older definition lacks is an error, unless the row says what is done about it; *of constants only*: the
operator goes when its inputs are constants, else it is an error.

"""


if __name__ == "__main__":
    generated.check("docs/opsets.md", HEADING, "ops", "tests/lint/opsets.py", "--opsets")
