"""Gates for tests: what a function may allocate, exactly (counting.py says what counts).

    @allomon.limit_allocations(100)
    def test_list():
        ...

    @allomon.limit_allocations(peak_bytes=1 << 20, live_blocks=0)
    def test_list(tmp_path):
        ...

A test of pytest or unittest keeps its arguments.  It fails by AssertionError, with the lines that
allocated; an exception of its own goes first.  pytest and unittest run with the library
preloaded: LD_PRELOAD=liballomon.so ALLOMON_PROFILE=idle.
"""

import functools
import inspect
import itertools

from allomon import frames
from allomon.counting import counted

_SITES = 10  # shown in a failure
_FRAMES = 4  # of each


def _size(nbytes):
    return f"{nbytes:,} bytes"


def _counted_frames(site):
    """Those inside of the scope, which this package's own frame ends."""
    counted_frames = itertools.takewhile(lambda frame: not frames.is_own(frame), site.frames)
    return list(itertools.islice(counted_frames, _FRAMES))


def _site(site, live):
    blocks, nbytes = (site.live_blocks, site.live_bytes) if live else (site.blocks, site.bytes)
    calls = " < ".join(frames.text(frame) for frame in _counted_frames(site))
    return f"  {blocks:8,} blocks {nbytes:12,} bytes  {calls}"


def _sites(count, live):
    column = 2 if live else 0
    sites = sorted(count.sites, key=lambda site: site[column], reverse=True)
    sites = [site for site in sites if site[column]]
    left_out = len(sites) - _SITES
    lines = [_site(site, live) for site in sites[:_SITES]]
    return lines + ([f"  and {left_out} call stacks more"] if left_out > 0 else [])


def _complaints(count, limits):
    """(text, whether it is about what lives) of each limit that was passed."""
    found = {
        "blocks": f"allocated {count.blocks:,} blocks",
        "bytes": f"allocated {_size(count.bytes)}",
        "peak_bytes": f"had {_size(count.peak_bytes)} alive at once",
        "live_blocks": f"left {count.live_blocks:,} blocks alive",
    }
    for name, limit in limits.items():
        if limit is not None and getattr(count, name) > limit:
            yield f"{found[name]}; the limit is {limit:,}", name == "live_blocks"


def _leave_out_the_call(count):
    """Keywords are a dictionary that the call copies: blocks of this package's own frame.

    They stay in the peak, with some 200 bytes.
    """
    for site in [site for site in count.sites if frames.is_own(site.frames[0])]:
        count.sites.remove(site)
        for name in ("blocks", "bytes", "live_blocks", "live_bytes"):
            setattr(count, name, getattr(count, name) - getattr(site, name))


def check(count, where, blocks=None, *, nbytes=None, peak_bytes=None, live_blocks=None):
    """Fails with AssertionError if a count is above a limit.  `where` names what was counted."""
    limits = {
        "blocks": blocks, "bytes": nbytes, "peak_bytes": peak_bytes, "live_blocks": live_blocks,
    }
    __tracebackhide__ = True
    complaints = list(_complaints(count, limits))
    if complaints:
        texts = " and ".join(text for text, _ in complaints)
        lines = _sites(count, all(live for _, live in complaints))
        raise AssertionError("\n".join([f"{where} {texts}", *lines]))


def nothing_outlives(function):
    """A decorator: the function fails if a block that it allocates is live after a call."""
    return limit_allocations(live_blocks=0)(function)


def limit_allocations(blocks=None, *, nbytes=None, peak_bytes=None, live_blocks=None, warm_up=0):
    """A decorator: the function fails if its thread allocates more in a call.

    `warm_up` calls, with the same arguments, go before the one that is counted.
    """
    limits = {"nbytes": nbytes, "peak_bytes": peak_bytes, "live_blocks": live_blocks}
    if blocks is None and all(limit is None for limit in limits.values()):
        raise TypeError("limit_allocations() needs a limit")
    if callable(blocks):
        raise TypeError("limit_allocations needs a limit: @allomon.limit_allocations(100)")

    def decorate(function):
        if not inspect.isfunction(function):
            raise TypeError("limit_allocations is for functions of Python: use counted()")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            raise TypeError("a call of a coroutine or a generator only makes it: use counted()")

        @functools.wraps(function)
        def gated(*arguments, **keywords):
            __tracebackhide__ = True  # of pytest
            for _ in range(warm_up):
                function(*arguments, **keywords)
            count = counted()
            with count:
                result = function(*arguments, **keywords)
            _leave_out_the_call(count)
            check(count, function.__qualname__, blocks, **limits)
            return result

        return gated

    return decorate
