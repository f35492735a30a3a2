"""Compares the operators of com.microsoft that ONNX Runtime has for the CPU with those that poprt supports.

    python tests/conformance/check_runtime_operators.py POPRT_EXEC [--types]

Needs onnxruntime; exits with code 77 (skipped) without it. Operators of training and of ONNX Runtime's own NCHWc layout are left out.
Exit code 1 when poprt lacks an operator that LACKING does not name, or supports one that it names. --types also lists the element types
of the operator that ONNX Runtime has and a trial of poprt does not accept (ops/trial.h)."""

import argparse
import json
import subprocess
import sys

# Operators that poprt does not support, and the reason.
LACKING = {
    "SparseToDenseMatMul": "its input is a sparse tensor, which is not a value of the runtime",
}
NAMES = {"float": "f32", "float16": "f16", "bfloat16": "bf16", "double": "f64", "int8": "s8", "uint8": "u8", "int16": "s16",
         "uint16": "u16", "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64", "bool": "bool", "string": "string"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("poprt_exec")
    parser.add_argument("--types", action="store_true")
    options = parser.parse_args()
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as runtime
    except ImportError:
        print("onnxruntime is not installed; skipped")
        return 77
    listed = json.loads(subprocess.run([options.poprt_exec, "ops", "--json"], capture_output=True, text=True, check=True).stdout)
    ours = {op["name"]: set(op["types"]) for op in listed if op["domain"] == "com.microsoft"}
    theirs = {}
    for kernel in runtime.get_all_opkernel_def():
        if kernel.provider == "CPUExecutionProvider" and kernel.domain == "com.microsoft":
            types = theirs.setdefault(kernel.op_name, {})
            for parameter, allowed in kernel.type_constraints.items():
                types.setdefault(parameter, set()).update(NAMES[t[7:-1]] for t in allowed if t.startswith("tensor(") and t[7:-1] in NAMES)
    missing = sorted(set(theirs) - set(ours) - set(LACKING))
    found = sorted(set(LACKING) & set(ours))
    print(f"ONNX Runtime {onnxruntime.__version__}: {len(theirs)} operators, poprt supports {len(set(theirs) & set(ours))}")
    for name in missing:
        print(f"missing: {name} {theirs[name]}")
    for name in found:
        print(f"supported, but listed in LACKING: {name}")
    if options.types:
        for name in sorted(set(theirs) & set(ours)):
            data = theirs[name].get("T") or theirs[name].get("T1") or set()
            if data - ours[name]:
                print(f"types: {name}: {' '.join(sorted(data - ours[name]))}")
    return 1 if missing or found else 0


if __name__ == "__main__":
    sys.exit(main())
