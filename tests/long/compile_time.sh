#!/usr/bin/env bash
# the exponent with which compile time grows with the number of nodes
#
#   tests/run_long compile_time [--sizes N,N,...] [--repeat N]
set -euo pipefail

build=${POPRT_BUILD:-build/release}
cmake --build "$build" --target poprt poprt_compiler_library > /dev/null
python=$POPRT_PYTHON_ENV/bin/python
if ! "$python" -c 'import numpy, onnx' 2> /dev/null; then
  python3 -m venv "$POPRT_PYTHON_ENV"
  "$POPRT_PYTHON_ENV/bin/pip" install --quiet numpy onnx
fi
exec nice "$python" tests/long/compile_time.py "$build/bin/poprt" "$@"
