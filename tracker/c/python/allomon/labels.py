"""Labels of this thread's blocks (allomon/labels.h).

A scope of a label is a list element on the thread's stack of scopes, so labels end in the reverse
order of their beginning.  A coroutine must not await inside of one: take `current()` along, and
enter it behind each await.
"""

import contextlib
import ctypes

from allomon.process import functions, is_there


class _Scope(ctypes.Structure):
    """An allomon_ending_scope, which begins with an allomon_label_scope."""
    _fields_ = [("words", ctypes.c_size_t * 12)]


_UP_TO_ZERO = ctypes.c_size_t(-1)


@contextlib.contextmanager
def label(key, value, ends=False):
    """Blocks that are allocated inside have this label for as long as they live.

    `ends`: what is allocated inside should not be live after it, and `allomon report --outlived`
    shows what is."""
    if not is_there():
        yield
        return
    # Kept here until the scope ends: the library reads them when it samples.
    key, value, scope = str(key).encode(), str(value).encode(), _Scope()
    if ends:
        functions.allomon_label_push_ending(
            ctypes.byref(scope), key, _UP_TO_ZERO, value, _UP_TO_ZERO)
    else:
        functions.allomon_label_push(ctypes.byref(scope), key, value)
    try:
        yield
    finally:
        functions.allomon_label_pop(ctypes.byref(scope))


def end_label(key, value):
    """Ends a label of work that has gone over several threads, for all blocks that have it now."""
    if is_there():
        functions.allomon_label_end(str(key).encode(), str(value).encode())


def current():
    """A number for the labels that stand on this thread, for entered()."""
    return functions.allomon_labels_current() if is_there() else 0


def of(labels):
    """The labels that a number of current() stands for: {key: value}."""
    if not is_there():
        return {}
    nbytes = ctypes.c_size_t()
    text = functions.allomon_labels_text
    text.restype = ctypes.POINTER(ctypes.c_char)
    told = text(ctypes.c_uint32(labels), ctypes.byref(nbytes))[:nbytes.value]
    words = [word.decode(errors="replace") for word in told.split(b"\0")[:-1]]
    return dict(zip(words[::2], words[1::2]))


@contextlib.contextmanager
def entered(labels):
    """Exactly these labels stand inside."""
    if not is_there():
        yield
        return
    scope = _Scope()
    functions.allomon_labels_enter(ctypes.byref(scope), ctypes.c_uint32(labels))
    try:
        yield
    finally:
        functions.allomon_label_pop(ctypes.byref(scope))
