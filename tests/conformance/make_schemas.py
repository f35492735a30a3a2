"""Writes tables of operators by the schemas of ONNX (ai.onnx, ai.onnx.ml, ai.onnx.preview, ai.onnx.preview.training) and
of ONNX Runtime (com.microsoft, and its additions to ai.onnx):

    core/ir/schemas.inc                     the versions of an operator and the attributes of each of them
    core/ops/common/schema_types.inc        the element types that an operator takes
    core/ops/common/required_inputs.inc     how many inputs an operator of ai.onnx takes
    core/ops/common/type_parameters.inc     which inputs of an operator have the same type
    core/opsets/{types,type_sets}.inc       the element types of each input and output of each definition of ai.onnx

The tables contain facts only, no text of the schemas. Needs onnx and onnxruntime; the first line of each file names their versions."""

import os
import string
import textwrap

import onnx
import onnxruntime
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

CORE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "core")
# The oldest opset that models are converted to.
OLDEST_TARGET = 11
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")
# Operators that ONNX Runtime defines in ai.onnx for every opset.
OF_RUNTIME = ("LayerNormalization", "SimplifiedLayerNormalization")

# The index of the input whose types are those of the operator, if it is not 0. 9 is the result.
SUBJECT = {"ConstantOfShape": 9, "EmbedLayerNormalization": 2, "GatherBlockQuantized": 2, "OneHot": 2,
           "QLinearConcat": 2, "QLinearWhere": 1, "Where": 1}
NAMES = {"float": "f32", "float16": "f16", "bfloat16": "bf16", "double": "f64", "int8": "s8", "uint8": "u8",
         "int16": "s16", "uint16": "u16", "int32": "s32", "uint32": "u32", "int64": "s64", "uint64": "u64",
         "bool": "bool", "float8e4m3fn": "f8e4m3fn", "float8e4m3fnuz": "f8e4m3fnuz", "float8e5m2": "f8e5m2",
         "float8e5m2fnuz": "f8e5m2fnuz", "float8e8m0": "f8e8m0", "uint4": "u4", "int4": "s4", "uint2": "u2",
         "int2": "s2", "float4e2m1": "f4e2m1", "string": "string", "complex64": "c64", "complex128": "c128"}


def types_of(schema):
    """Returns the types of the subject, in any order."""
    constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    at = SUBJECT.get(schema.name, 0)
    place = schema.inputs[at] if at < len(schema.inputs) else schema.outputs[0] if schema.outputs else None
    if place is None:
        return []
    text = place.type_str if hasattr(place, "type_str") else place.typeStr  # ONNX, ONNX Runtime
    types = constraints.get(text, [text])
    return [NAMES[t[7:-1]] for t in types if t.startswith("tensor(") and t[7:-1] in NAMES]


def main():
    rows = {}
    types = {}
    for s in runtime.get_all_operator_schema():
        if s.domain == "com.microsoft" or (s.domain == "" and s.name in OF_RUNTIME):
            rows[s.domain, s.name, s.since_version] = " ".join(sorted(s.attributes))
            types.setdefault((s.domain, s.name), set()).update(types_of(s))
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain in DOMAINS:
            rows[s.domain, s.name, s.since_version] = " ".join(sorted(s.attributes))
            types.setdefault((s.domain, s.name), set()).update(types_of(s))
    items = []
    before = None
    for (domain, name, since), attributes in sorted(rows.items()):
        same = before == (domain, name, attributes)
        items.append('{"%s", "%s", %d, "%s"}' % (domain, name, since, "=" if same and attributes else attributes))
        before = (domain, name, attributes)
    write("ir/schemas.inc",
          "{domain, operator, first opset of this definition, attributes}; = are those of the row above.", items)
    order = list(NAMES.values())
    write("ops/common/schema_types.inc",
          "{domain, operator, element types in any of its versions}, of the input that op_types.h names.",
          ['{"%s", "%s", "%s"}' % (*key, " ".join(sorted(names, key=order.index)))
           for key, names in sorted(types.items()) if names])
    write_input_counts()
    write_type_parameters()
    write_placed_types()


def schemas():
    """Yields the schema of each operator of ONNX and of com.microsoft, and for each input (text of its type, whether it is
    a list, whether all members of the list have one type)."""
    option = onnx.defs.OpSchema.FormalParameterOption
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain in DOMAINS:
            yield s, [(i.type_str, i.option == option.Variadic, i.is_homogeneous) for i in s.inputs]
    for s in runtime.get_all_operator_schema():
        if s.domain == "com.microsoft":
            yield s, [(i.typeStr, "Variadic" in str(i.option), i.isHomogeneous) for i in s.inputs]


def write_type_parameters():
    """Writes one letter for each input: inputs with equal letters share a type, '-' is an input with a separate type, and
    '+' follows an input that is a list."""
    rows = {}
    for s, inputs in schemas():
        names = [text for text, _, _ in inputs]
        letters = {}
        word = ""
        for text, is_list, homogeneous in inputs:
            parameter = "(" not in text and (names.count(text) > 1 or (is_list and homogeneous))
            word += letters.setdefault(text, chr(ord("a") + len(letters))) if parameter else "-"
            if is_list and homogeneous:
                word += "+"
        rows[s.domain, s.name, s.since_version] = word if letters else ""
    known = {key[:2] for key, word in rows.items() if word}
    items = []
    before = None
    for (domain, name, since), word in sorted(rows.items()):
        if (domain, name) in known and before != (domain, name, word):
            items.append('{"%s", "%s", %d, "%s"}' % (domain, name, since, word))
        before = (domain, name, word)
    write("ops/common/type_parameters.inc",
          "{domain, operator, first opset, inputs}: Inputs with equal letters have one type; - has an independent type; + is a list.", items)


def input_counts(schema):
    """Returns the number of required inputs and the largest number of inputs (-1: any number)."""
    option = onnx.defs.OpSchema.FormalParameterOption
    needed = 0
    for place in schema.inputs:
        if place.option == option.Optional:
            break
        if place.option == option.Variadic:
            needed += max(schema.min_input - len(schema.inputs) + 1, 0)
            break
        needed += 1
    variadic = any(place.option == option.Variadic for place in schema.inputs)
    return needed, -1 if variadic else len(schema.inputs)


def write_input_counts():
    rows = {}
    for s in onnx.defs.get_all_schemas_with_history():
        # The first inputs of Loop and Scan may be omitted, although they are no optional ones.
        if s.domain == "" and s.name not in ("Loop", "Scan"):
            rows[s.name, s.since_version] = input_counts(s)
    items = []
    before = None
    for (name, since), counts in sorted(rows.items()):
        if before != (name, counts):
            items.append('{"%s", %d, %d, %d}' % (name, since, *counts))
        before = (name, counts)
    write("ops/common/required_inputs.inc",
          "{operator of ai.onnx, first opset, number of required inputs, largest number of inputs (-1: any)}.", items)


def write_placed_types():
    """Writes a letter for the set of types of each input and output of the definitions in opset 11 and later. '*' is an
    input or output that is no tensor or has any type, and '+' follows a list."""
    order = list(NAMES.values())
    sets = {}
    rows = {}

    def letter(schema, place):
        constraints = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
        types = constraints.get(place.type_str, [place.type_str])
        names = [NAMES[t[7:-1]] for t in types if t.startswith("tensor(") and t[7:-1] in NAMES]
        if not names:
            return "*"
        text = " ".join(sorted(names, key=order.index))
        return sets.setdefault(text, (string.ascii_letters + string.digits + "!#$%&-./:;<=>?@^_~")[len(sets)])

    def word(schema, places):
        text = ""
        for place in places:
            text += letter(schema, place)
            if place.option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
                text += "+"
        return text

    schemas = [s for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and not s.deprecated]
    for s in sorted(schemas, key=lambda s: (s.name, s.since_version)):
        later = [t.since_version for t in schemas if t.name == s.name and t.since_version > s.since_version]
        if not later or min(later) > OLDEST_TARGET:
            rows[s.name, s.since_version] = (word(s, s.inputs), word(s, s.outputs))
    write("opsets/type_sets.inc", "{letter, element types}: what core/opsets/types.inc calls a set.",
          ["{'%s', \"%s\"}" % (letter, text) for text, letter in sets.items()])
    write("opsets/types.inc", "{operator of ai.onnx, first opset, sets of inputs, sets of outputs}; + is a list, * anything.",
          ['{"%s", %d, "%s", "%s"}' % (*key, *words) for key, words in sorted(rows.items())])


def write(path, title, items):
    text = [""]
    for item in items:
        if len(item) > 98:
            text += split(item) + [""]
        elif len(text[-1]) + len(item) + 2 > 100:
            text.append(item + ",")
        else:
            text[-1] += (" " if text[-1] else "") + item + ","
    with open(os.path.join(CORE, path), "w", encoding="utf-8") as f:
        f.write(f"// Made by tests/conformance/make_schemas.py with onnx {onnx.__version__} and onnxruntime "
                f"{onnxruntime.__version__}.\n// {title}\n")
        f.write("\n".join(line for line in text if line) + "\n")


def split(item):
    """Wraps `item` over several lines, with its attributes as adjacent literals, which C++ joins."""
    head, attributes = item[:-2].rsplit('"', 1)
    parts = textwrap.wrap(attributes, 90)
    return [head.rstrip()] + [f'    "{p} "' for p in parts[:-1]] + [f'    "{parts[-1]}"}},']


if __name__ == "__main__":
    main()
