"""The part of a model between some of its tensors.

    extract_onnx.py --src_onnx model.onnx --dst_onnx part.onnx --input_names a b --output_names c
"""

import argparse
import sys

import onnx
import onnx.checker
import onnx.utils
from poprt.passes.shape_inference import infer_shapes


def extract(model, input_names, output_names):
    """A model whose inputs and outputs are those tensors; ValueError when there is none of a name, or no way between them."""
    model = infer_shapes(model)  # the new inputs and outputs need types
    known = {v.name for part in (model.graph.input, model.graph.output, model.graph.value_info) for v in part}
    missing = [name for name in [*input_names, *output_names] if name not in known]
    if missing:
        raise ValueError(f"the model has no tensor '{missing[0]}' whose type is known")
    part = onnx.utils.Extractor(model).extract_model(list(input_names), list(output_names))
    onnx.checker.check_model(part)  # what reads a tensor that is outside
    return part


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--src_onnx", required=True)
    parser.add_argument("--dst_onnx", required=True)
    parser.add_argument("--input_names", nargs="+", required=True)
    parser.add_argument("--output_names", nargs="+", required=True)
    words = parser.parse_args()
    try:
        part = extract(onnx.load(words.src_onnx), words.input_names, words.output_names)
    except (ValueError, onnx.checker.ValidationError) as error:
        sys.exit(f"extract_onnx.py: {' '.join(str(error).split())}")
    onnx.save(part, words.dst_onnx)
    print(f"{words.dst_onnx}: {len(part.graph.node)} nodes")


if __name__ == "__main__":
    main()
