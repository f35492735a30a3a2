#!/usr/bin/env bash
# operators of com.microsoft: the list of ONNX Runtime's, and random forms of them in both
#
#   tests/run_long contrib_operators [--cases N] [--seed N] [--only OPERATOR] [--keep FOLDER]
set -euo pipefail

build=${POPRT_BUILD:-build/release}
cmake --build "$build" --target poprt_exec poprt_compiler_library > /dev/null
python=$POPRT_PYTHON_ENV/bin/python
if ! "$python" -c 'import numpy, onnx, onnxruntime' 2> /dev/null; then
  python3 -m venv "$POPRT_PYTHON_ENV"
  "$POPRT_PYTHON_ENV/bin/pip" install --quiet numpy onnx onnxruntime
fi
"$python" tests/conformance/check_runtime_operators.py "$build/bin/poprt_exec"
exec nice "$python" tests/conformance/fuzz_contrib.py "$build/bin/poprt_exec" "$@"
