"""Allomon for a Python program that runs with liballomon.so preloaded.

    import allomon

    allomon.start("server.%p.rec")          # a recording of this process, from now on
    with allomon.label("tenant", name):     # whose memory it is
        serve(request)
    allomon.save("now.rec")                 # a copy; `allomon report now.rec`
    allomon.stop()

    tracker = allomon.Tracker()             # what is live, asked in the process itself
    for stack in tracker.snapshot()[:10]:
        print(stack.bytes, stack.frames[0])

    @allomon.limit_allocations(100)         # a test that fails when it allocates more
    def test_list():
        ...

Where the library is not preloaded, labels do nothing, and the others fail.  A program that only
calls these is preloaded with ALLOMON_PROFILE=idle.  Any thread; a label and a count belong to their
thread.
"""

from allomon.counting import Site, counted
from allomon.frames import Frame
from allomon.gate import limit_allocations, nothing_outlives
from allomon.labels import current, end_label, entered, label
from allomon.process import Error, is_there
from allomon.recording import save, start, statistics, stop
from allomon.tracker import LiveStack, Tracker

__all__ = [
    "Error", "Frame", "LiveStack", "Site", "Tracker", "counted", "current", "end_label",
    "entered", "is_there", "label", "limit_allocations", "nothing_outlives", "save", "start",
    "statistics", "stop",
]
