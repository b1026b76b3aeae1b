"""A tracker that follows sampled blocks, to ask what is live now (allomon/trackers.h).

    tracker = allomon.Tracker(rate=1e-3)
    ...
    for stack in tracker.snapshot()[:10]:
        print(round(stack.bytes), stack.frames[0])
    tracker.stop()
"""

import collections
import ctypes

from allomon import frames, labels
from allomon.process import check, functions, require


class _Options(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("rate", ctypes.c_double),
        ("seed", ctypes.c_uint64),
        ("has_seed", ctypes.c_int32),
        ("callstack_size", ctypes.c_uint32),
        ("is_concurrent", ctypes.c_int32),
        ("unused", ctypes.c_int32),
    ]


class _Estimate(ctypes.Structure):
    _fields_ = [("value", ctypes.c_double), ("variance", ctypes.c_double)]


class _LiveStack(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("frames", ctypes.POINTER(ctypes.c_size_t)),
        ("n_frames", ctypes.c_uint32),
        ("callstack_id", ctypes.c_uint32),
        ("is_cut", ctypes.c_int32),
        ("unused", ctypes.c_int32),
        ("sampled_blocks", ctypes.c_uint64),
        ("blocks", _Estimate),
        ("bytes", _Estimate),
    ]


class _LiveLabels(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("labels", ctypes.c_uint32),
        ("unused", ctypes.c_uint32),
        ("sampled_blocks", ctypes.c_uint64),
        ("blocks", _Estimate),
        ("bytes", _Estimate),
    ]


_EACH_LABELS = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_LiveLabels))
_EACH = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_LiveStack))

# Estimates of what is live of one call stack, with their standard deviations.
LiveStack = collections.namedtuple(
    "LiveStack", "bytes blocks bytes_deviation blocks_deviation sampled_blocks frames"
)


# The same of one set of labels, {key: value}.
LiveLabels = collections.namedtuple(
    "LiveLabels", "bytes blocks bytes_deviation blocks_deviation sampled_blocks labels"
)


def _told_labels(told):
    nbytes, blocks = told.bytes, told.blocks
    return LiveLabels(
        nbytes.value, blocks.value, nbytes.variance ** 0.5, blocks.variance ** 0.5,
        told.sampled_blocks, labels.of(told.labels),
    )


def _told(stack):
    lines = tuple(frames.python_only(frames.of(stack.frames, stack.n_frames)))
    nbytes, blocks = stack.bytes, stack.blocks
    return lines, (
        nbytes.value, blocks.value, nbytes.variance, blocks.variance, stack.sampled_blocks
    )


def _estimate(lines, sums):
    nbytes, blocks, bytes_variance, blocks_variance, sampled = sums
    return LiveStack(
        nbytes, blocks, bytes_variance ** 0.5, blocks_variance ** 0.5, sampled, list(lines)
    )


def _by_lines(stacks):
    """Call stacks that differ in native code alone are one.  Variances of a sum add up."""
    sums = collections.defaultdict(lambda: (0, 0, 0, 0, 0))
    for lines, numbers in stacks:
        sums[lines] = tuple(map(sum, zip(sums[lines], numbers)))
    found = [_estimate(lines, numbers) for lines, numbers in sums.items()]
    return sorted(found, key=lambda stack: stack.bytes, reverse=True)


class Tracker:
    """Samples from now on what any thread allocates, until stop()."""

    def __init__(self, rate=1e-4, callstack_size=128, seed=None):
        require()
        options = _Options(
            ctypes.sizeof(_Options), rate, seed or 0, seed is not None, callstack_size, True, 0
        )
        self._number = ctypes.c_uint32()
        check(functions.allomon_tracker_start(
            ctypes.byref(options), None, ctypes.byref(self._number)
        ))

    def _all(self, function, signature, told):
        """What `told` makes of each structure that the function tells of."""
        found, errors = [], []

        def each(_, structure):
            try:
                found.append(told(structure.contents))
            except Exception as error:  # pylint: disable=broad-except # none passes C
                errors.append(error)
            return len(errors)

        check(function(self._number, signature(each), None))
        if errors:
            raise errors[0]
        return found

    def snapshot(self):
        """LiveStacks, those with most bytes first.  Their frames are Python's, innermost first."""
        return _by_lines(self._all(functions.allomon_tracker_snapshot, _EACH, _told))

    def snapshot_by_labels(self):
        """LiveLabels, those with most bytes first; blocks without labels have {}."""
        return self._all(
            functions.allomon_tracker_snapshot_by_labels, _EACH_LABELS, _told_labels
        )

    def stop(self):
        """Ends it; what it knew of blocks is gone."""
        check(functions.allomon_tracker_stop(self._number, 0))
