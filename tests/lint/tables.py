"""Writes everything that is made from a table: the places of Cap'n Proto fields, fields of PopEF metadata, options, functions of
the C ABI, and, if there are swig and gofmt, Go's raw layer. The lints of the same names check that it is committed.

Usage: tables.py"""

import os
import shutil
import subprocess
import sys

import tree

SCRIPTS = ("capnp_places", "popef_fields", "option_fields", "counter_fields", "functions")


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for script in SCRIPTS:  # a script may read the files that earlier ones write
        subprocess.run([sys.executable, os.path.join(here, script + ".py"), "--write"], check=True)
    if shutil.which("swig") and shutil.which("gofmt"):
        subprocess.run([sys.executable, os.path.join(tree.ROOT, "bindings/go/generate.py")], check=True)
    else:
        print("bindings/go/generate.py was left out: there is no swig or no gofmt")


if __name__ == "__main__":
    main()
