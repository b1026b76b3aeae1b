#!/usr/bin/env python3
"""Looks at the memory of this very process, where liballomon.so is preloaded:

    ALLOMON_PROFILE=no PYTHONMALLOC=malloc LD_PRELOAD=.../liballomon.so \\
        python3 examples/record_from_python.py work.rec
    allomon report work.rec

A tracker without callbacks is asked for what is live; a recording writes a file.  Callbacks would
run inside malloc, which is no place for an interpreter (tracker/c/include/allomon/trackers.h)."""

import ctypes
import sys

process = ctypes.CDLL(None)  # what the process has: nothing is loaded


class RecordingOptions(ctypes.Structure):
    """allomon_recording_options"""

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


class RecordingCounts(ctypes.Structure):
    """allomon_recording_counts"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("samples", ctypes.c_uint64),
        ("dropped_samples", ctypes.c_uint64),
        ("dropped_bytes", ctypes.c_uint64),
        ("is_lost", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    ]


class LiveStack(ctypes.Structure):
    """allomon_live_stack"""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("frames", ctypes.POINTER(ctypes.c_size_t)),
        ("n_frames", ctypes.c_uint32),
        ("callstack_id", ctypes.c_uint32),
        ("is_cut", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("sampled_blocks", ctypes.c_uint64),
        ("blocks", ctypes.c_double * 2),  # the estimate and its variance
        ("bytes", ctypes.c_double * 2),
    ]


def check(status):
    if status != 0:
        process.allomon_status_text.restype = ctypes.c_char_p
        sys.exit(process.allomon_status_text(status).decode())


def name_of(address):
    text = ctypes.create_string_buffer(200)
    process.allomon_function_name(ctypes.c_size_t(address - 1), text, ctypes.c_size_t(200))
    return text.value.decode()


def start_recording(path):
    options = RecordingOptions(ctypes.sizeof(RecordingOptions))
    options.path = path.encode()
    options.rate = 1e-3
    options.limit_bytes = 64 << 20
    options.callstack_size = 64
    recording = ctypes.c_uint32()
    check(process.allomon_recording_start(ctypes.byref(options), ctypes.byref(recording)))
    return recording


def print_largest(tracker):
    @ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(LiveStack))
    def each(_, pointer):
        stack = pointer.contents
        names = [name_of(stack.frames[i]) for i in range(min(3, stack.n_frames))]
        print(f"{stack.bytes[0]:,.0f} bytes in {stack.blocks[0]:,.0f} blocks live:", *names)
        return 1  # the largest is enough

    check(process.allomon_tracker_snapshot(tracker, each, None))


def main(path):
    if not hasattr(process, "allomon_tracker_start"):
        sys.exit("no Allomon in this process: preload liballomon.so")
    recording = start_recording(path)
    tracker = ctypes.c_uint32()
    check(process.allomon_tracker_start(None, None, ctypes.byref(tracker)))
    kept = [str(i) * 20 for i in range(200_000)]
    print_largest(tracker)
    check(process.allomon_tracker_stop(tracker, 0))
    counts = RecordingCounts(ctypes.sizeof(RecordingCounts))
    check(process.allomon_recording_statistics(recording, ctypes.byref(counts)))
    check(process.allomon_recording_stop(recording))
    print(f"{counts.samples:,} samples in {path}")
    return len(kept)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE")
    main(sys.argv[1])
