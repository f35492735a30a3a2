"""Adapts the output of SWIG 4.1 to Python's stable ABI, so that one extension works with CPython 3.9 and newer, and
makes its messages name arguments.

Usage: stable_abi.py WRAPPER MODULE.py OUT

SWIG 4.2 supports the stable ABI. The output of 4.1 has three static types and accesses their fields, which the stable
ABI hides. Every such place is replaced by the code of 4.2. poprt_stable_abi.h declares the parts that the stable ABI of
3.9 lacks."""

import ast
import re
import sys

SLOTS = ("dealloc", "getattr", "setattr", "repr", "str", "getattro", "doc", "richcompare", "methods")
TYPE = re.compile(r"  static PyTypeObject (\w+);\n  static int type_init = 0;\n  if \(!type_init\) \{\n"
                  r"    const PyTypeObject tmp = \{\n(.*?)\n    \};\n.*?\n  return &\1;\n", re.S)
NUMBERS = re.compile(r"  static PyNumberMethods \w+ = \{\n.*?\n  \};\n", re.S)
NUMBER_SLOTS = {"SwigPyObject": ["{Py_nb_int, (void*)SwigPyObject_long}"]}

# The text of SWIG, its replacement, and the number of occurrences.
PLACES = (
    ("(Py_TYPE(op) == SwigPyObject_type())\n    || (strcmp(Py_TYPE(op)->tp_name,\"SwigPyObject\") == 0)",
     "Py_TYPE(op) == SwigPyObject_type()", 1),
    ("((op)->ob_type == SwigPyPacked_TypeOnce()) \n    || (strcmp((op)->ob_type->tp_name,\"SwigPyPacked\") == 0)",
     "Py_TYPE(op) == SwigPyPacked_type()", 1),
    ("PyObject_DEL(v);", "poprt_delete(v);", 2),
    ("(((PyCFunctionObject *)obj) -> m_ml -> ml_doc)", "(const char*)0", 1),
    ("((PyTypeObject *)data->newargs)->tp_new(", "((newfunc)PyType_GetSlot((PyTypeObject *)data->newargs, Py_tp_new))(", 1),
    ("clientdata->pytype->tp_alloc(", "((allocfunc)PyType_GetSlot(clientdata->pytype, Py_tp_alloc))(", 1),
    # Names may be invalid UTF-8, and SWIG's strings then contain surrogates.
    ("obj = PyUnicode_AsUTF8String(obj);", "obj = PyUnicode_AsEncodedString(obj, \"utf-8\", \"surrogateescape\");", 2),
    ("(obj ? obj->ob_type->tp_name : 0)", "(obj ? poprt_type_name(obj) : 0)", 1),
)


def heap_type(match):
    """Returns a type created by PyType_FromSpec with the slots of the static one."""
    fields = dict((name, value) for value, name in re.findall(r"^\s*(.+?),\s*/\* ?tp_(\w+)", match.group(2), re.M))
    name = fields["name"].strip('"')
    slots = [f"{{Py_tp_{slot}, (void*){fields[slot]}}}" for slot in SLOTS if fields.get(slot, "0").split(")")[-1] != "0"]
    slots += NUMBER_SLOTS.get(name, [])
    listed = ",\n    ".join([*slots, "{0, 0}"])
    return (f"  static PyType_Slot slots[] = {{\n    {listed}\n  }};\n"
            f"  static PyType_Spec spec = {{\"poprt.poprt_raw.{name}\", {fields['basicsize']}, 0, Py_TPFLAGS_DEFAULT, slots}};\n"
            "  static PyTypeObject* type = 0;\n  if (!type) type = (PyTypeObject*)PyType_FromSpec(&spec);\n  return type;\n")


# "in method 'RawQueueOptions_set_buffers', argument 2 of type 'int64_t'": users know neither the method nor the number.
ARGUMENT = re.compile(r'"in method \'" "(\w+)" "\', argument " "(\d+)"" of type \'" "([\w *]+)""\'"')
WORDS = {"int64_t": "a whole number of 64 bits", "int32_t": "a whole number of 32 bits", "uint32_t": "a whole number from 0 to 2^32 - 1",
         "bool": "True or False", "char const *": "a str", "double": "a number"}


def argument_names(module):
    """Returns argument names by the names of the wrapped functions."""
    names = {}
    for node in ast.parse(module).body:
        if isinstance(node, ast.FunctionDef):
            names[node.name] = [a.arg for a in node.args.args]
        for child in node.body if isinstance(node, ast.ClassDef) else []:
            if isinstance(child, ast.FunctionDef):
                arguments = [a.arg for a in child.args.args]
                made = child.name == "__init__"
                names[f"new_{node.name}" if made else f"{node.name}_{child.name}"] = arguments[1:] if made else arguments
            elif isinstance(child, ast.AnnAssign):
                names[f"{node.name}_{child.target.id}_set"] = ["self", child.target.id]
    return names


def with_names(text, module):
    names = argument_names(module)

    def message(match):
        known, at = names.get(match.group(1), []), int(match.group(2)) - 1
        if match.group(3) not in WORDS or at >= len(known):
            return match.group(0)
        return f'"{known[at]}: expected {WORDS[match.group(3)]}"'

    return ARGUMENT.sub(message, text)


def replaced(text):
    text, types = TYPE.subn(heap_type, text)
    text, numbers = NUMBERS.subn("", text)
    problems = [] if (types, numbers) == (3, 1) else [f"{types} types and {numbers} number protocols, expected 3 and 1"]
    for old, new, times in PLACES:
        if text.count(old) != times:
            problems.append(f"{text.count(old)} of '{old}', expected {times}")
        text = text.replace(old, new)
    if problems:
        sys.exit("stable_abi.py: this SWIG writes something that is not known (4.1 is): " + "; ".join(problems))
    return text


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    with open(sys.argv[2], encoding="utf-8") as file:
        module = file.read()
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(with_names(text if "PyType_FromSpec" in text else replaced(text), module))


if __name__ == "__main__":
    main()
