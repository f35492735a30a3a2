"""Refuses interpreters that cannot load the extension, whose own error would only say that there is no such module."""

import sys

if "t" in sys.abiflags:
    raise ImportError(f"poprt: free-threaded builds of CPython are not supported (found {sys.version_info[0]}.{sys.version_info[1]}t), "
                      "because their extensions cannot use the stable ABI; use a build with the global interpreter lock")
