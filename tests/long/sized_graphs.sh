#!/usr/bin/env bash
# random models with data-dependent sizes, original and converted, in ONNX Runtime and onnx.reference
#
#   tests/run_long sized_graphs [COUNT] [--first SEED] [--jobs N] [--reference N]
set -euo pipefail

build=${POPRT_BUILD:-build/release}
cmake --build "$build" --target sized_graph_stream > /dev/null
python=$POPRT_PYTHON_ENV/bin/python
if ! "$python" -c 'import numpy, onnx, onnxruntime' 2> /dev/null; then
  python3 -m venv "$POPRT_PYTHON_ENV"
  "$POPRT_PYTHON_ENV/bin/pip" install --quiet numpy onnx onnxruntime
fi
exec nice "$python" tests/long/sized_graphs.py "$build/bin/sized_graph_stream" "$@"
