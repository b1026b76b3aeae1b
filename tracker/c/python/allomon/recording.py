"""A recording of this process (allomon/recording.h)."""

import contextlib
import ctypes
import os
import shutil
import threading

from allomon.process import Error, check, functions, require


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


_CANNOT_RECORD = -14  # allomon/status.h

_recording = None  # the number of the one that start() began


def start(path, rate=1e-4, limit_bytes=256 << 20, callstack_size=128, seed=None):
    """Begins a recording of this process in a file, in which %p is the process id."""
    global _recording
    require()
    if _recording is not None:
        raise Error("a recording runs already: stop() ends it")
    why = ctypes.create_string_buffer(300)
    options = _Options(
        ctypes.sizeof(_Options), os.fsencode(path), rate, seed or 0, limit_bytes,
        seed is not None, callstack_size, ctypes.cast(why, ctypes.c_char_p), ctypes.sizeof(why),
    )
    number = ctypes.c_uint32()
    status = functions.allomon_recording_start(ctypes.byref(options), ctypes.byref(number))
    check(status, why.value.decode(errors="replace"))
    _recording = number


def stop():
    """Ends the recording.  Its file stays."""
    global _recording
    check(functions.allomon_recording_stop(_running()))
    _recording = None


def _running():
    if _recording is None:
        raise Error("no recording runs: start() begins one")
    return _recording


def statistics():
    """{"samples": ..., "dropped_samples": ..., "dropped_bytes": ..., "is_lost": ...}"""
    counts = _Counts(ctypes.sizeof(_Counts))
    check(functions.allomon_recording_statistics(_running(), ctypes.byref(counts)))
    names = [name for name, _ in _Counts._fields_[1:-1]]
    return {name: getattr(counts, name) for name in names}


def _own_file():
    """The path of this process's; in a forked child its recording begins here, if it has not."""
    path = ctypes.create_string_buffer(4096)
    status = functions.allomon_recording_path(_running(), path, ctypes.c_size_t(len(path)))
    if status == _CANNOT_RECORD:
        raise Error("this process has no recording of its own: it cannot be made, or is lost")
    check(status)
    return path.value


def save(path):
    """Writes a copy of the recording as it is now; in a forked child, of the child's own.

    What has the name is replaced when the copy is whole."""
    source = _own_file()
    target = os.path.realpath(os.fsencode(path))
    if os.path.exists(target) and not os.path.isfile(target):
        shutil.copyfile(source, target)  # a pipe, a device
        return
    beside = b"%s.%d.%d.saving" % (target, os.getpid(), threading.get_ident())
    try:
        shutil.copyfile(source, beside)
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
