"""Exact counts of what the calling thread allocates (allomon/counting.h).

    with allomon.counted() as count:
        parse(text)
    print(count.blocks, count.bytes, count.peak_bytes, count.live_blocks)

Where small objects are not seen (PYTHONMALLOC=pymalloc, ALLOMON_PROFILE=no) or there is no Allomon,
counted() fails, since a gate that sees nothing would pass for ever.

What CPython keeps for itself (free lists of frames, tuples and floats, caches of its bytecode)
makes the first run of a function allocate more than the second: run it once before.
"""

import collections
import ctypes

from allomon import frames
from allomon.process import Error, check, functions, is_there, require


class _Totals(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("blocks", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("peak_bytes", ctypes.c_uint64),
        ("live_blocks", ctypes.c_uint64),
        ("live_bytes", ctypes.c_uint64),
        ("lost_blocks", ctypes.c_uint64),
    ]


class _Stack(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("frames", ctypes.POINTER(ctypes.c_size_t)),
        ("n_frames", ctypes.c_uint32),
        ("is_cut", ctypes.c_int32),
        ("blocks", ctypes.c_uint64),
        ("bytes", ctypes.c_uint64),
        ("live_blocks", ctypes.c_uint64),
        ("live_bytes", ctypes.c_uint64),
    ]


_EACH = ctypes.PYFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(_Stack))

# What one call stack allocated.
Site = collections.namedtuple("Site", "blocks bytes live_blocks live_bytes frames")


def _sites(counting):
    stacks = []

    def each(_, stack):
        stack = stack.contents
        addresses = [stack.frames[i] for i in range(stack.n_frames)]
        stacks.append(
            (stack.blocks, stack.bytes, stack.live_blocks, stack.live_bytes, addresses)
        )
        return 0

    check(functions.allomon_counting_stacks(counting, _EACH(each), None))
    return _by_lines(stacks)


def _by_lines(stacks):
    """Call stacks that differ in native code alone are one site."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for *numbers, addresses in stacks:
        lines = tuple(frames.python_only([frames.named(address) for address in addresses]))
        sums[lines] = [one + other for one, other in zip(sums[lines], numbers)]
    return [Site(*numbers, list(lines)) for lines, numbers in sums.items()]


_stop = functions.allomon_counting_stop if is_there() else None
_sees_small_blocks = False


def _require_small_blocks():
    """Asked once: a counting of a small object sees it, or says what is missing."""
    global _sees_small_blocks
    require()
    if _sees_small_blocks:
        return
    probe = counted()
    probe._begin()
    kept = bytearray(1)
    probe.__exit__()
    if probe.blocks == 0 or not kept.__sizeof__():
        raise Error("small objects are not seen: set ALLOMON_PROFILE=idle, or PYTHONMALLOC=malloc")
    _sees_small_blocks = True


class counted:  # pylint: disable=invalid-name # used as a function
    """A scope; its numbers are there when it has ended, in bytes as requested.

    blocks, bytes: allocated.  peak_bytes: the most of these that lived at once.  live_blocks,
    live_bytes: not freed at the end.  sites: the same by call stack, those with most blocks first.
    Scopes nest; the outer one counts what the inner one needs for itself, too.
    """

    def __enter__(self):
        _require_small_blocks()
        self._begin()
        return self

    def __exit__(self, kind=None, error=None, trace=None):
        # The counting ends in this call, which takes no block itself: its arguments are there, as
        # a tuple and converted.
        _stop(*self._arguments)
        self._finish()

    def _begin(self):
        self._counting = ctypes.c_void_p()
        pointer = ctypes.byref(self._counting)
        self._arguments = (pointer,)
        check(functions.allomon_counting_start(pointer, None))

    def _finish(self):
        (pointer,) = self._arguments
        totals = _Totals(ctypes.sizeof(_Totals))
        check(functions.allomon_counting_read(pointer, ctypes.byref(totals)))
        for name, _ in _Totals._fields_[1:]:
            setattr(self, name, getattr(totals, name))
        self.sites = sorted(_sites(pointer), key=lambda site: site.blocks, reverse=True)
        functions.allomon_counting_end(pointer)
        if self.lost_blocks:
            raise Error(f"{self.lost_blocks} blocks could not be counted for want of memory")
