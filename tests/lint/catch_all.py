"""`catch (...)` is allowed only at the border of a thread, of a callback or of a clean-up.

A handler for every exception hides programming errors, so each one is listed here with the border that it is at:

  thread    an exception must not leave the function that a thread runs; it is stored, and the thread that waits throws it
  callback  an exception must not leave a function that is called through a C interface
  clean-up  something that was taken is given back, and the exception is thrown again; or a destructor, which must not throw

Other code catches the exceptions that it can name: Error, std::bad_alloc, std::exception.
"""

import re

import tree

# By file: one (border, reason) for each handler, in the order of the file.
ALLOWED = {
    "capi/include/poprt/compiler.hpp": [("callback", "functions of the user, called by the compiler through C")],
    "capi/include/poprt/log.hpp": [("callback", "the user's receiver of messages, called by the logger through C")],
    "capi/include/poprt/passes.hpp": [("callback", "functions of the user, called by the pass manager through C")],
    "capi/include/poprt/popef.hpp": [("callback", "reading the user's stream, called by the reader through C")],
    "capi/include/poprt/runner.hpp": [("callback", "the end of a request, which fills promises")],
    "capi/src/libpoprt/compiler.cpp": [("callback", "the receiver of a model's files, called by the compiler library")],
    "capi/src/libpoprt_compiler/passes.h": [("callback", "functions of the compiler library, called by libpoprt.so")],
    "capi/src/libpoprt/guard.h": [("callback", "every function of the C ABI")],
    "capi/src/libpoprt/library_calls.h": [("callback", "the receiver of bytes, called by the compiler library"),
                                          ("callback", "memory for bytes, called by the compiler library")],
    "core/base/threads.cpp": [("thread", "work_on_threads()")],
    "core/device/device_manager.cpp": [("clean-up", "IPUs that were taken go back to the pool"),
                                       ("clean-up", "IPUs whose device cannot be made go back to the pool")],
    "core/plugins/registration.cpp": [("callback", "log messages of plug-ins")],
    "core/plugins/report.h": [("callback", "functions of plug-ins, which may throw anything")],
    "core/popef/feed_group.cpp": [("clean-up", "destructor")],
    "core/popef/sink.cpp": [("clean-up", "the file is closed when the constructor fails")],
    "core/popef/writer.cpp": [("clean-up", "destructor"), ("clean-up", "destructor")],
    "core/program/serialize.cpp": [("thread", "making weights"), ("thread", "writing weights")],
    "core/runtime/queue/request_queue.h": [("clean-up", "the place of a request that fails is given back"),
                                           ("clean-up", "the place of the request in the queue is given back")],
    "core/runtime/session/io_overlap.cpp": [("thread", "transfers on threads of their own")],
    "core/runtime/session/overlapped_transfers.cpp": [("clean-up", "transfers end before the exception goes on")],
    "core/runtime/session/session.cpp": [("clean-up", "the device is unbound when loading fails"),
                                         ("clean-up", "memory of callbacks is given back when a run fails"),
                                         ("clean-up", "telemetry counts the failure")],
}

FOLDERS = ("core/", "capi/", "cli/", "inspector/", "bindings/", "examples/")
HANDLER = re.compile(r"\bcatch\s*\(\s*\.\.\.\s*\)\s*\{")


def block(text, begin):
    """The text of the block whose opening brace is the last character before `begin`."""
    depth, at = 1, begin
    while depth and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin:at - 1]


def cleans_up(text, match):
    """Whether the handler throws the exception again, or the last function that begins before it is a destructor."""
    functions = re.findall(r"^ *(?! |(?:if|for|while|switch)\b)([\w:<>,*&~ ]+)\([^\n]*\{$", text[:match.start()], re.M)
    return re.search(r"\bthrow;", block(text, match.end())) or (functions and "~" in functions[-1])


def problems_of(path, text, allowed):
    text = re.sub(r"//[^\n]*", "", text)
    handlers = list(HANDLER.finditer(text))
    problems = []
    for i, match in enumerate(handlers):
        line = text.count("\n", 0, match.start()) + 1
        if i >= len(allowed):
            problems.append(f"{path}:{line}: catch (...): catch what can be thrown by its type, or list the border that it is at "
                            "in tests/lint/catch_all.py")
        elif allowed[i][0] not in ("thread", "callback", "clean-up"):
            problems.append(f"tests/lint/catch_all.py: {path}: '{allowed[i][0]}' is no border")
        elif allowed[i][0] == "clean-up" and not cleans_up(text, match):
            problems.append(f"{path}:{line}: catch (...): a clean-up throws the exception again, or is in a destructor")
    if len(allowed) > len(handlers):
        problems.append(f"tests/lint/catch_all.py: {path}: lists {len(allowed)} handlers, the file has {len(handlers)}")
    return problems


def main():
    problems, checked = [], 0
    paths = [p for p in tree.files() if p.startswith(FOLDERS) and p.endswith(tree.CODE + (".i",))]
    for path in paths:
        checked += 1
        problems += problems_of(path, tree.read(path), ALLOWED.get(path, []))
    for path in sorted(set(ALLOWED) - set(paths)):
        problems.append(f"tests/lint/catch_all.py: {path} is not there")
    tree.finish(problems, checked, "files")


if __name__ == "__main__":
    main()
