"""Writes the type stub of the raw layer from SWIG's module, whose annotations are C types.

Usage: stub.py POPRT_RAW.py OUT.pyi INTERFACE.i..."""

import ast
import re
import sys

PYTHON_TYPES = {"void": "None", "poprt_result": "None", "poprt_text": "str", "char const *": "str", "const char*": "str",
                "int32_t": "int", "uint32_t": "int", "int64_t": "int", "double": "float", "bool": "bool", "PyObject *": "Any",
                "PyObject*": "Any", "poprt_values": "Sequence[int]"}
OPTIONAL = {"RawRequestOptions"}  # functions accept None for the defaults


class Stub:
    def __init__(self, interfaces):
        self.interfaces = interfaces
        self.classes = {c: name for c, name in re.findall(r"POPRT_HANDLE\((\w+), (\w+)\)", interfaces)}
        self.classes.update({c: name for name, c in re.findall(r"%rename\((\w+)\) (\w+);", interfaces)})

    def type_of(self, c_type):
        if c_type in PYTHON_TYPES:
            return PYTHON_TYPES[c_type]
        name = re.sub(r"\b(const|static)\b|[*&]", "", c_type).strip()
        if name in self.classes.values():
            return name
        return self.classes[name]  # a KeyError names a class that the tables above lack

    def result_of(self, function, owner=None):
        c_type = function.returns.value
        if c_type == "poprt_result *" and function.name == "create":
            return owner
        if c_type == "poprt_result *":  # SWIG treats the error argument of static functions as the result
            c_type = re.search(rf"([\w ]+?[ *]+){function.name}\(", self.interfaces).group(1)
            c_type = re.sub(r"^static ", "", c_type.strip())
        return self.type_of(c_type)

    def function(self, node, indent="", owner=None):
        static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)
        arguments = []
        for argument in node.args.args:
            typed = "" if argument.annotation is None else self.type_of(argument.annotation.value)
            typed = f"Optional[{typed}]" if typed in OPTIONAL else typed
            arguments.append(argument.arg + (typed and ": " + typed))
        result = "None" if node.name == "__init__" else self.result_of(node, owner)
        lines = [f"{indent}@staticmethod"] if static else []
        return lines + [f"{indent}def {node.name}({', '.join(arguments)}) -> {result}: ..."]

    def class_(self, node):
        lines = []
        for child in node.body:
            if isinstance(child, ast.FunctionDef) and (child.name == "__init__" or not child.name.startswith("_")):
                if child.args.vararg is None:  # otherwise it has no constructor
                    lines += self.function(child, "    ", node.name)
            elif isinstance(child, ast.AnnAssign):
                lines.append(f"    {child.target.id}: {self.type_of(child.annotation.value)}")
        return [f"class {node.name}:"] + (lines or ["    ..."])

    def module(self, tree):
        lines = ["# Made by stub.py.", "from typing import Any, Optional, Sequence", ""]
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Raw"):
                lines += self.class_(node)
            elif isinstance(node, ast.FunctionDef) and node.name.startswith("raw_"):
                lines += self.function(node)
        return "\n".join(lines) + "\n"


def main():
    generated, out, *interfaces = sys.argv[1:]
    texts = []
    for path in interfaces:
        with open(path, encoding="utf-8") as file:
            texts.append(file.read())
    with open(generated, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    with open(out, "w", encoding="utf-8") as file:
        file.write(Stub("\n".join(texts)).module(tree))


if __name__ == "__main__":
    main()
