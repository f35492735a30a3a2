#!/usr/bin/env bash
# the wheel in CPython 3.9 to 3.14: those that are installed or that POPRT_PYTHONS names, with NumPy from PyPI
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${POPRT_BUILD:-build/release}
wheel=$(echo "$build"/packages/python/poprt-*.whl)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if [[ -z ${POPRT_PYTHONS:-} ]]; then
  for minor in 9 10 11 12 13 14; do
    POPRT_PYTHONS+=" $(compgen -G "$HOME/.pyenv/versions/3.$minor.*/bin/python3" | head -1 || command -v "python3.$minor" || true)"
  done
fi
count=0
for python in $POPRT_PYTHONS; do
  "$python" -m venv "$folder/venv"
  "$folder/venv/bin/pip" install -q --disable-pip-version-check "$wheel"
  "$folder/venv/bin/python" -W error examples/python/digits.py examples/digits/digits.onnx \
    examples/digits/heldout-images.idx3-ubyte examples/digits/heldout-labels.idx1-ubyte | tail -1 |
    sed "s|^|$("$folder/venv/bin/python" -V): |"
  rm -rf "$folder/venv"
  count=$((count + 1))
done
[[ $count -gt 0 ]] || { echo "no CPython 3.9 to 3.14 is installed" >&2; exit 1; }
echo "$count versions of CPython load the wheel"
