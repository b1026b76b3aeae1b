"""The C interface of Allomon in this process, if it has one."""

import ctypes

# PyDLL: short calls that keep the interpreter's lock.
functions = ctypes.PyDLL(None)


class Error(RuntimeError):
    """What a function of the C interface answered, as its text."""


def is_there():
    """Whether the process has Allomon."""
    return hasattr(functions, "allomon_ready")


def require():
    if not is_there():
        raise Error("no Allomon in this process: preload liballomon.so")


def check(status, why=""):
    if status == 0:
        return
    text = functions.allomon_status_text
    text.restype = ctypes.c_char_p
    raise Error(why or text(status).decode())
