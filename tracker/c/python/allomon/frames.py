"""Frames of call stacks: Python's with file and line, native ones with their names."""

import collections
import ctypes
import os

from allomon.process import functions

Frame = collections.namedtuple("Frame", "function file line")  # native: file "", line 0


def named(address):
    """Of a return address; the byte before it is in the call."""
    address, text, line = ctypes.c_size_t(address - 1), _room(1024), ctypes.c_uint32()
    function = "[unknown]"
    if functions.allomon_function_name(address, text, ctypes.c_size_t(len(text))) == 0:
        function = _read(text)
    size = ctypes.c_size_t(len(text))
    if functions.allomon_source_line(address, text, size, ctypes.byref(line)) != 0:
        return Frame(function, "", 0)
    return Frame(function, _read(text), line.value)


def _room(size):
    return ctypes.create_string_buffer(size)


def _read(text):
    return text.value.decode(errors="replace")


def of(addresses, count):
    """The first `count` of an array of return addresses, innermost first."""
    return [named(addresses[i]) for i in range(count)]


def python_only(frames):
    """Those of Python; all, where there is none."""
    return [frame for frame in frames if frame.line] or frames


def is_own(frame):
    """Whether it is of this package."""
    return os.path.dirname(frame.file) == os.path.dirname(__file__)


def _short(path):
    """As seen from the current folder, for files in it."""
    inside = os.path.relpath(path) if os.path.isabs(path) else path
    return path if inside.startswith(os.pardir) else inside


def text(frame):
    return f"{frame.function} ({_short(frame.file)}:{frame.line})" if frame.line else frame.function
