"""Compiles a model to a PopEF file with settings for throughput.

    export_popef.py --onnx_model model.onnx
    """

import argparse
import os
import sys

import onnx
import poprt
from poprt.compiler import Compiler, CompilerOptions

# The settings of PopRT's benchmarks. Most are only recorded for the chip model (docs/options.md).
THROUGHPUT = {"group_host_sync": True, "stream_buffering_depth": 2, "enable_prefetch_datastreams": True,
              "rearrange_anchors_on_host": False, "partials_type": "float", "time_limit_scheduler": 0, "swap_limit_scheduler": 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--onnx_model", required=True, help="an ONNX model of static shapes")
    parser.add_argument("--popef_path", help="where the file goes; else beside the model, model.popef")
    parser.add_argument("--batches_per_step", type=int, default=1000, help="how often the device runs the model for one call")
    parser.add_argument("--num_io_tiles", type=int, default=192, help="tiles that exchange while others compute")
    parser.add_argument("--skip_convert", action="store_true", help="the model is converted already")
    words = parser.parse_args()

    model = onnx.load(words.onnx_model)
    for given in model.graph.input:
        if any(not dim.HasField("dim_value") for dim in given.type.tensor_type.shape.dim):
            sys.exit(f"export_popef.py: input '{given.name}' has an open dimension; poprt --input_shape {given.name}=SIZES converts the model "
                     "to a static one")
    if not words.skip_convert:
        model = poprt.Converter().convert(model)
    options = CompilerOptions.from_dict({**THROUGHPUT, "batches_per_step": words.batches_per_step, "num_io_tiles": words.num_io_tiles})
    path = words.popef_path or os.path.splitext(words.onnx_model)[0] + ".popef"
    Compiler.compile_and_export(model, [output.name for output in model.graph.output], path, options)
    print(f"{path}: {os.path.getsize(path)} bytes")


if __name__ == "__main__":
    main()
