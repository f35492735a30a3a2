"""A client of an X server that does what a user's hand does: drops files on a window and presses keys. It uses libX11 only."""

import ctypes
import time

KEY_PRESS, KEY_RELEASE, SELECTION_REQUEST, SELECTION_NOTIFY, CLIENT_MESSAGE = 2, 3, 30, 31, 33
LONG, INT, POINTER = ctypes.c_long, ctypes.c_int, ctypes.c_void_p
COMMON = [("type", INT), ("serial", LONG), ("send_event", INT), ("display", POINTER)]


class Message(ctypes.Structure):
    _fields_ = COMMON + [("window", LONG), ("message_type", LONG), ("format", INT), ("data", LONG * 5)]


class Key(ctypes.Structure):
    _fields_ = COMMON + [("window", LONG), ("root", LONG), ("subwindow", LONG), ("time", LONG), ("x", INT), ("y", INT),
                         ("x_root", INT), ("y_root", INT), ("state", ctypes.c_uint), ("keycode", ctypes.c_uint),
                         ("same_screen", INT)]


class Request(ctypes.Structure):
    _fields_ = COMMON + [("owner", LONG), ("requestor", LONG), ("selection", LONG), ("target", LONG), ("property", LONG),
                         ("time", LONG)]


class Notify(ctypes.Structure):
    _fields_ = COMMON + [("requestor", LONG), ("selection", LONG), ("target", LONG), ("property", LONG), ("time", LONG)]


class Event(ctypes.Union):
    _fields_ = [("type", INT), ("message", Message), ("key", Key), ("request", Request), ("notify", Notify), ("pad", LONG * 24)]


# A key may close the window before the key is released. Without this handler, libX11 would end this process on that error.
HANDLER = ctypes.CFUNCTYPE(INT, POINTER, POINTER)
IGNORE = HANDLER(lambda display, error: 0)


class Client:
    def __init__(self, display):
        self.x = ctypes.CDLL("libX11.so.6")
        self.x.XSetErrorHandler(IGNORE)
        for name in ("XOpenDisplay", "XInternAtom", "XDefaultRootWindow", "XCreateSimpleWindow", "XStringToKeysym"):
            getattr(self.x, name).restype = POINTER if name == "XOpenDisplay" else LONG
        self.display = POINTER(self.x.XOpenDisplay(display.encode()))
        assert self.display, f"no X server {display}"
        self.root = LONG(self.x.XDefaultRootWindow(self.display))
        self.moment = 1000

    def atom(self, name):
        return self.x.XInternAtom(self.display, name.encode(), 0)

    def find_window(self, title, seconds=20):
        """The top-level window of that title, as soon as it is there and shown."""
        for _ in range(int(seconds * 20)):
            parent, root, children, count = LONG(), LONG(), ctypes.POINTER(LONG)(), ctypes.c_uint()
            self.x.XQueryTree(self.display, self.root, ctypes.byref(root), ctypes.byref(parent), ctypes.byref(children),
                              ctypes.byref(count))
            for window in children[:count.value]:
                name = ctypes.c_char_p()
                if self.x.XFetchName(self.display, LONG(window), ctypes.byref(name)) and name.value == title.encode():
                    return window
            time.sleep(0.05)
        raise AssertionError(f"no window '{title}'")

    def send(self, window, event):
        self.x.XSendEvent(self.display, LONG(window), 0, LONG(0), ctypes.byref(event))
        self.x.XFlush(self.display)

    def press(self, window, *names):
        """Keys by the names of their symbols, one held while the next is pressed."""
        for kind, keys in ((KEY_PRESS, names), (KEY_RELEASE, names[::-1])):
            for name in keys:
                self.moment += 100
                event = Event()
                code = self.x.XKeysymToKeycode(self.display, LONG(self.x.XStringToKeysym(name.encode()))) & 0xFF
                event.key = Key(kind, 0, 1, self.display, window, self.root, 0, self.moment, 1, 1, 1, 1, 0, code, 1)
                self.send(window, event)
                time.sleep(0.1)

    def send_message(self, window, name, *data):
        event = Event()
        event.message = Message(CLIENT_MESSAGE, 0, 1, self.display, window, self.atom(name), 32, (LONG * 5)(*data))
        self.send(window, event)

    def wait_for(self, kind, seconds=20):
        event = Event()
        for _ in range(int(seconds * 50)):
            while self.x.XPending(self.display):
                self.x.XNextEvent(self.display, ctypes.byref(event))
                if event.type == kind:
                    return event
            time.sleep(0.02)
        raise AssertionError(f"no event of type {kind} came")

    def drop(self, window, *paths):
        """Drops files as a file manager does: by the XDND protocol, with a list of URIs."""
        source = self.x.XCreateSimpleWindow(self.display, self.root, 0, 0, 1, 1, 0, LONG(0), LONG(0))
        selection, kind, copy = self.atom("XdndSelection"), self.atom("text/uri-list"), self.atom("XdndActionCopy")
        self.x.XSetSelectionOwner(self.display, LONG(selection), LONG(source), LONG(0))
        self.send_message(window, "XdndEnter", source, 5 << 24, kind, 0, 0)
        self.send_message(window, "XdndPosition", source, 0, 100 << 16 | 100, 0, copy)
        status = self.wait_for(CLIENT_MESSAGE)
        assert status.message.data[1] & 1, "the window takes no files"
        self.send_message(window, "XdndDrop", source, 0, 0, 0, 0)
        asked = self.wait_for(SELECTION_REQUEST).request
        text = "".join(f"file://{path}\r\n" for path in paths).encode()
        self.x.XChangeProperty(self.display, LONG(asked.requestor), LONG(asked.property), LONG(kind), 8, 0, text, len(text))
        event = Event()
        event.notify = Notify(SELECTION_NOTIFY, 0, 1, self.display, asked.requestor, selection, kind, asked.property, asked.time)
        self.send(asked.requestor, event)
        self.wait_for(CLIENT_MESSAGE)  # XdndFinished

    def close(self):
        self.x.XCloseDisplay(self.display)
