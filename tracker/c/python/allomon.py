"""Allomon for a Python program that runs with liballomon.so preloaded.

    import allomon

    allomon.start("server.%p.rec")          # a recording of this process, from now on
    with allomon.label("tenant", name):     # whose memory it is
        serve(request)
    allomon.save("now.rec")                 # a copy; `allomon report now.rec`
    allomon.stop()

Where the library is not preloaded, labels do nothing, and start() fails.  Objects of up to 512
bytes are seen if Python takes them from malloc: start the program with PYTHONMALLOC=malloc, unless
`allomon run` or ALLOMON_RECORD starts it.  Any thread; a label belongs to its thread.

A scope of a label is a list element on the thread's stack of scopes, so labels end in the reverse
order of their beginning.  A coroutine must not await inside of one: take `current()` along, and
enter it behind each await.
"""

import contextlib
import ctypes
import os
import shutil

__all__ = [
    "Error", "current", "entered", "is_there", "label", "save", "start", "statistics", "stop",
]

# The functions of the process.  PyDLL: short calls that keep the interpreter's lock.
_process = ctypes.PyDLL(None)


class Error(RuntimeError):
    """What a function of the C interface answered, as its text."""


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("path", ctypes.c_char_p),
        ("rate", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("limit_bytes", ctypes.c_uint64),
        ("has_seed", ctypes.c_int32),
        ("callstack_size", ctypes.c_uint32),
        ("error_text", ctypes.c_char_p),
        ("error_bytes", ctypes.c_size_t),
    ]


class _Counts(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("samples", ctypes.c_uint64),
        ("dropped_samples", ctypes.c_uint64),
        ("dropped_bytes", ctypes.c_uint64),
        ("is_lost", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    ]


class _Scope(ctypes.Structure):
    _fields_ = [("words", ctypes.c_size_t * 8)]


def is_there():
    """Whether the process has Allomon."""
    return hasattr(_process, "allomon_recording_start")


def _check(status, why=""):
    if status == 0:
        return
    text = _process.allomon_status_text
    text.restype = ctypes.c_char_p
    raise Error(why or text(status).decode())


def _present():
    if not is_there():
        raise Error("no Allomon in this process: preload liballomon.so")


_recording = None  # number and path of the one that start() began


def start(path, rate=1e-4, limit_bytes=256 << 20, callstack_size=128, seed=None):
    """Begins a recording of this process in a file, in which %p is the process id."""
    global _recording
    _present()
    if _recording is not None:
        raise Error("a recording runs already: stop() ends it")
    why = ctypes.create_string_buffer(300)
    options = _Options(
        ctypes.sizeof(_Options), os.fsencode(path), rate, seed or 0, limit_bytes,
        seed is not None, callstack_size, ctypes.cast(why, ctypes.c_char_p), ctypes.sizeof(why),
    )
    number = ctypes.c_uint32()
    status = _process.allomon_recording_start(ctypes.byref(options), ctypes.byref(number))
    _check(status, why.value.decode(errors="replace"))
    _recording = number, _expanded(os.fspath(path))


def _expanded(path):
    return path.replace("%%", "\0").replace("%p", str(os.getpid())).replace("\0", "%")


def stop():
    """Ends the recording.  Its file stays."""
    global _recording
    _check(_process.allomon_recording_stop(_running()[0]))
    _recording = None


def _running():
    if _recording is None:
        raise Error("no recording runs: start() begins one")
    return _recording


def statistics():
    """{"samples": ..., "dropped_samples": ..., "dropped_bytes": ..., "is_lost": ...}"""
    counts = _Counts(ctypes.sizeof(_Counts))
    _check(_process.allomon_recording_statistics(_running()[0], ctypes.byref(counts)))
    names = [name for name, _ in _Counts._fields_[1:-1]]
    return {name: getattr(counts, name) for name in names}


def save(path):
    """Writes a copy of the recording as it is now."""
    shutil.copyfile(_running()[1], path)


@contextlib.contextmanager
def label(key, value):
    """Blocks that are allocated inside have this label for as long as they live."""
    if not is_there():
        yield
        return
    # Kept here until the scope ends: the library reads them when it samples.
    key, value, scope = str(key).encode(), str(value).encode(), _Scope()
    _process.allomon_label_push(ctypes.byref(scope), key, value)
    try:
        yield
    finally:
        _process.allomon_label_pop(ctypes.byref(scope))


def current():
    """A number for the labels that stand on this thread, for entered()."""
    return _process.allomon_labels_current() if is_there() else 0


@contextlib.contextmanager
def entered(labels):
    """Exactly these labels stand inside."""
    if not is_there():
        yield
        return
    scope = _Scope()
    _process.allomon_labels_enter(ctypes.byref(scope), ctypes.c_uint32(labels))
    try:
        yield
    finally:
        _process.allomon_label_pop(ctypes.byref(scope))
