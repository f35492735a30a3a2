"""A fact that only one operator states, and that code outside core/ops reads, is that operator's name in another form.

Fields of Facts (core/ops/facts.h) and values of its enums are counted by the files of core/ops that state them. A property
of one operator should be a hook of OpDef, which the operator implements, or a fact of several operators.

The axis map of an operator (core/ops/axes.h) contains the axis along which it works, so only the file of the operator contains its default
axis. Other code reads attribute `axis` only if the map does not contain the answer."""

import re

import tree

# Allowed facts: of an operator that only the compiler makes, or of a form that only one operator has so far.
ALLOWED = {
    "Marker::unspecified": "the compiler makes it, for a branch without a result",
    "Marker::loop_begin": "the compiler makes it, as the begin of a region",
    "Marker::loop_end": "the compiler makes it, as the end of a region",
    "LayerForm::gemm": "one of three forms of a layer",
    "CastForm::to_quarter": "one of two forms of a cast",
    "Monotone::quotient": "one of three ways to rise",
    "QdqForm::orders": "one of two forms between DequantizeLinear and QuantizeLinear",
    "TextForm::to_text": "one of four forms of text",
    "TextForm::translates": "one of four forms of text",
    "text_form_of": "the attribute of a Cast selects text or numbers",
    "runs_rounds": "the two forms of Loop have one definition",
    "unpacks": "the compiler folds what makes no constant larger; DequantizeLinear alone does",
    "winograd": "an option chooses the algorithm of the compiler's convolution",
    "misjudged_by_onnx": "what ONNX's own inference gets wrong; STFT is the only such operator in Debian's version",
}

# Files outside core/ops that read attribute `axis`.
AXIS_READERS = {
    "core/passes/common/decoder_caches.cpp": "the sizes of a cache that grows are open, and an axis map needs static types",
    "core/opsets/axes.cpp": "rules write the attribute of another opset; a node between two opsets has no axis map",
    "core/opsets/normalization.cpp": "rules write an operator in others; a node between two opsets has no axis map",
    "core/opsets/quantization.cpp": "rules write an operator in others; a node between two opsets has no axis map",
    "core/passes/cleanup/remove_empty_concat_inputs.cpp": "shapes of the other inputs may be unknown",
    "core/passes/popart/onehot_workaround.cpp": "the pass writes the attribute, also where the size of the result is unknown",
    "core/passes/popart/topk_workaround.cpp": "the pass writes the attribute, also where the size of the result is unknown",
    "core/passes/transformer/compress_pattern.cpp": "the size of the result is unknown",
}


def stated():
    """Returns for each field or Enum::value the files that state it."""
    files = {}
    for path in tree.code_files():
        if not path.startswith("core/ops/") or path.startswith("core/ops/facts.h"):
            continue
        text = re.sub(r"//[^\n]*", "", tree.read(path))
        for field in set(re.findall(r"\.(\w+) = ", text)):
            files.setdefault(field, set()).add(path)
        for value in set(re.findall(r"\b([A-Z]\w+::\w+)\b", text)):
            files.setdefault(value, set()).add(path)
    return files


def declared():
    """The fields of Facts, and the values of its enums."""
    text = re.sub(r"//[^\n]*", "", tree.read("core/ops/facts.h"))
    body = text[text.index("struct Facts {"):]
    body = body[:body.index("\n};")]
    names = set(re.findall(r"\b(\w+) = [^;]*;", body)) | set(re.findall(r"\(\*(\w+)\)\(", body))
    enums = set()
    for name, values in re.findall(r"enum class (\w+) : \w+ \{([^}]*)\}", text):
        enums |= {f"{name}::{value}" for value in re.findall(r"\w+", values) if value != "none"}
    return names, enums


def main():
    fields, values = declared()
    files = stated()
    outside = "\n".join(re.sub(r"//[^\n]*", "", tree.read(path)) for path in tree.code_files()
                        if path.startswith(("core/", "capi/", "cli/", "inspector/")) and not path.startswith("core/ops/"))
    problems, used = [], set()
    for name in sorted(fields | values):
        owners = files.get(name, set())
        read = f"::{name}" in outside or re.search(rf"\b{name}\b", outside) if "::" in name else \
            re.search(rf"(?:\.|->){name}\b", outside)
        if len(owners) != 1 or not read:
            continue
        used.add(name)
        if name not in ALLOWED:
            problems.append(f"core/ops/facts.h: {name} belongs to {min(owners)} alone and is read outside of core/ops: make it a hook of "
                            "OpDef, or a fact of several operators")
    for name in sorted(set(ALLOWED) - used):
        problems.append(f"tests/lint/facts.py: {name} need not be allowed any more")
    readers = set()
    for path in tree.code_files():
        if path.startswith(("core/", "capi/", "cli/", "inspector/")) and not path.startswith("core/ops/") and \
                re.search(r'int_attr\("axis"', tree.read(path)):
            readers.add(path)
    for path in sorted(readers - set(AXIS_READERS)):
        problems.append(f"{path}: attribute `axis` is read: ask the axis map of the operator (core/ops/axes.h)")
    for path in sorted(set(AXIS_READERS) - readers):
        problems.append(f"tests/lint/facts.py: {path} need not read attribute `axis` any more")
    if len(fields) < 20 or len(values) < 10:
        problems.append(f"only {len(fields)} fields and {len(values)} values were found in core/ops/facts.h")
    tree.finish(problems, len(fields | values), "facts")


if __name__ == "__main__":
    main()
