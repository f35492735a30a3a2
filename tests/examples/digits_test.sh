#!/usr/bin/env bash
# digits_test.sh POPRT DIGITS DATA PRECISION: compiles the digits model and compares the accuracy on the
# held-out images with what the training framework reached (within 0.1 %).
set -euo pipefail
poprt=$1 digits=$2 data=$3 precision=$4
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
"$poprt" -i "$data/digits.onnx" --input_shape image=8,1,8,8 --precision "$precision" --output_dir "$dir" --export_popef
report=$("$digits" "$dir/executable.popef" "$data/heldout-images.idx3-ubyte" "$data/heldout-labels.idx1-ubyte")
echo "$report"
python3 - "$report" "$data/accuracy.json" "$precision" <<'PY'
import json, re, sys
reached = float(re.search(r"accuracy ([0-9.]+)", sys.argv[1]).group(1))
expected = json.load(open(sys.argv[2]))[sys.argv[3]]
print(f"reached {reached:.4f}, training framework {expected:.4f}")
sys.exit(0 if abs(reached - expected) <= 0.001 else 1)
PY
