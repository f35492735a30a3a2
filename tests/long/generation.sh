#!/usr/bin/env bash
# tokens and logits of language models in the forms of exporters, against ONNX Runtime
#
#   tests/run_long generation [--tokens N] [--seed N] [--only NAME] [--keep FOLDER]
set -euo pipefail

build=${POPRT_BUILD:-build/release}
cmake --build "$build" --target poprt_python_package poprt_compiler_library > /dev/null
python=$POPRT_PYTHON_ENV/bin/python
if ! "$python" -c 'import numpy, onnx, onnxruntime' 2> /dev/null; then
  python3 -m venv "$POPRT_PYTHON_ENV"
  "$POPRT_PYTHON_ENV/bin/pip" install --quiet numpy onnx onnxruntime
fi
PYTHONPATH=$build/python${PYTHONPATH:+:$PYTHONPATH} exec nice "$python" tests/long/generation.py "$@"
