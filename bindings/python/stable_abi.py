"""Makes what SWIG 4.1 writes compile against Python's stable ABI, so that one extension is for CPython 3.9 and newer.

Usage: stable_abi.py WRAPPER OUT

SWIG 4.2 does this itself; what 4.1 writes has three static types and looks into them, which the stable ABI hides. Every
place is replaced by what 4.2 has there. poprt_stable_abi.h says what the stable ABI of 3.9 lacks."""

import re
import sys

SLOTS = ("dealloc", "getattr", "setattr", "repr", "str", "getattro", "doc", "richcompare", "methods")
TYPE = re.compile(r"  static PyTypeObject (\w+);\n  static int type_init = 0;\n  if \(!type_init\) \{\n"
                  r"    const PyTypeObject tmp = \{\n(.*?)\n    \};\n.*?\n  return &\1;\n", re.S)
NUMBERS = re.compile(r"  static PyNumberMethods \w+ = \{\n.*?\n  \};\n", re.S)
NUMBER_SLOTS = {"SwigPyObject": ["{Py_nb_int, (void*)SwigPyObject_long}"]}

# What SWIG writes, what stands there afterwards, how often.
PLACES = (
    ("(Py_TYPE(op) == SwigPyObject_type())\n    || (strcmp(Py_TYPE(op)->tp_name,\"SwigPyObject\") == 0)",
     "Py_TYPE(op) == SwigPyObject_type()", 1),
    ("((op)->ob_type == SwigPyPacked_TypeOnce()) \n    || (strcmp((op)->ob_type->tp_name,\"SwigPyPacked\") == 0)",
     "Py_TYPE(op) == SwigPyPacked_type()", 1),
    ("PyObject_DEL(v);", "poprt_delete(v);", 2),
    ("(((PyCFunctionObject *)obj) -> m_ml -> ml_doc)", "(const char*)0", 1),
    ("((PyTypeObject *)data->newargs)->tp_new(", "((newfunc)PyType_GetSlot((PyTypeObject *)data->newargs, Py_tp_new))(", 1),
    ("clientdata->pytype->tp_alloc(", "((allocfunc)PyType_GetSlot(clientdata->pytype, Py_tp_alloc))(", 1),
    ("(obj ? obj->ob_type->tp_name : 0)", "(obj ? poprt_type_name(obj) : 0)", 1),
)


def heap_type(match):
    """A type made by PyType_FromSpec with the slots of the static one."""
    fields = dict((name, value) for value, name in re.findall(r"^\s*(.+?),\s*/\* ?tp_(\w+)", match.group(2), re.M))
    name = fields["name"].strip('"')
    slots = [f"{{Py_tp_{slot}, (void*){fields[slot]}}}" for slot in SLOTS if fields.get(slot, "0").split(")")[-1] != "0"]
    slots += NUMBER_SLOTS.get(name, [])
    listed = ",\n    ".join([*slots, "{0, 0}"])
    return (f"  static PyType_Slot slots[] = {{\n    {listed}\n  }};\n"
            f"  static PyType_Spec spec = {{\"poprt.poprt_raw.{name}\", {fields['basicsize']}, 0, Py_TPFLAGS_DEFAULT, slots}};\n"
            "  static PyTypeObject* type = 0;\n  if (!type) type = (PyTypeObject*)PyType_FromSpec(&spec);\n  return type;\n")


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
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(text if "PyType_FromSpec" in text else replaced(text))


if __name__ == "__main__":
    main()
