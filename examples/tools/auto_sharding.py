"""Finds the cut points of a converted model for several IPUs. Runs `poprt_exec auto_shard`, which has the options of
    PopRT's script.

    auto_sharding.py --input_model model.optimized.onnx --num_ipus 2 [--optimal_perf] [--num_processes 2] [--output_model cut.onnx]
    """

import os
import sys

if __name__ == "__main__":
    try:
        os.execvp("poprt_exec", ["poprt_exec", "auto_shard", *sys.argv[1:]])
    except FileNotFoundError:
        sys.exit("auto_sharding.py: no command poprt_exec in PATH: it comes with the wheel of poprt, or with Debian package poprt-tools")
