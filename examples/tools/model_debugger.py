"""Finds the place where two models compute different numbers, and prints models. Runs `poprt_exec debug`, which has the
    options of PopRT's script.

    model_debugger.py compare|modify|print ...
    """

import os
import sys

if __name__ == "__main__":
    try:
        os.execvp("poprt_exec", ["poprt_exec", "debug", *sys.argv[1:]])
    except FileNotFoundError:
        sys.exit("model_debugger.py: no command poprt_exec in PATH: it comes with the wheel of poprt, or with Debian package poprt-tools")
