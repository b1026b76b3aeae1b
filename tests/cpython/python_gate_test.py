#!/usr/bin/env python3
"""Gates and live stacks of the package allomon, in programs that are preloaded."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

FOLDER = os.path.dirname(os.path.dirname(runfile("//tracker/c/python:allomon/__init__.py")))

# A bytearray has two blocks: the object of 56 bytes, and its bytes with a zero behind.
BEGIN = f"""
import sys
sys.path.insert(0, {FOLDER!r})
import threading
import allomon

def arrays(n):
    for _ in range(n):
        bytearray(99)

class Kept:
    pass

def keep(n):
    kept.extend(bytearray(99) for _ in range(n))

kept = []
arrays(1), keep(1)
"""


class Gate(Case):
    def run_python(self, text, **environment):
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(BEGIN + text)
        return self.run_preloaded(
            ["/usr/bin/python3", "-B", "program.py"],
            {"ALLOMON_PROFILE": "idle", **environment},
        )

    def output_of(self, text):
        done = self.run_python(text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_an_empty_scope_counts_nothing_and_numbers_repeat(self):
        self.output_of("""
for _ in range(20):
    with allomon.counted() as count:
        pass
    assert (count.blocks, count.bytes, count.peak_bytes, count.live_blocks) == (0, 0, 0, 0), count
runs = set()
for _ in range(20):
    with allomon.counted() as count:
        arrays(50)
    runs.add((count.blocks, count.bytes, count.live_blocks, count.live_bytes))
((blocks, nbytes, live_blocks, live_bytes),) = runs
assert 100 <= blocks <= 103 and 7800 <= nbytes <= 8000, (blocks, nbytes)
assert (live_blocks, live_bytes) == (0, 0)
assert count.peak_bytes < 400, count.peak_bytes
""")

    def test_other_threads_and_frees_of_older_blocks_count_nothing(self):
        self.output_of("""
running, ended = threading.Event(), threading.Event()
def elsewhere():
    running.wait()
    arrays(1000)
    kept.clear()
    ended.set()
thread = threading.Thread(target=elsewhere)
thread.start()
keep(1000)
with allomon.counted() as count:
    running.set()
    ended.wait()
thread.join()
assert count.blocks < 50 and count.live_blocks < 20, (count.blocks, count.live_blocks)
""")

    def test_blocks_that_another_thread_frees_do_not_live(self):
        self.output_of("""
with allomon.counted() as count:
    keep(1000)
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
assert count.blocks >= 2000 and count.live_blocks < 50, (count.blocks, count.live_blocks)
""")

    def test_a_gate_fails_with_the_lines_that_allocated(self):
        text = self.output_of("""
@allomon.limit_allocations(10)
def test_arrays(n):
    arrays(n)
    return n

assert test_arrays(3) == 3 and test_arrays.__name__ == "test_arrays"
try:
    test_arrays(50)
except AssertionError as error:
    print(error)
""")
        lines = text.splitlines()
        self.assertRegex(lines[0], r"^test_arrays allocated 10\d blocks; the limit is 10$")
        self.assertRegex(
            lines[1],
            r"^ +10\d blocks +7,\d+ bytes  arrays \(program.py:9\) < "
            r"test_arrays \(program.py:\d+\)$",
        )

    def test_the_call_of_a_gate_counts_nothing(self):
        self.output_of("""
@allomon.limit_allocations(0, nbytes=0, live_blocks=0)
def test_nothing(self, tmp_path=None):
    pass
for _ in range(20):
    test_nothing(1)
    test_nothing(1, tmp_path=2)
    test_nothing(self=1, tmp_path=2)
""")

    def test_each_quantity_has_a_limit(self):
        text = self.output_of("""
def failure(function, *arguments, **limits):
    try:
        allomon.limit_allocations(warm_up=1, **limits)(function)(*arguments)
    except AssertionError as error:
        return str(error).splitlines()[0]
print(failure(keep, 50, live_blocks=0))
print(failure(arrays, 50, live_blocks=0))
print(failure(arrays, 50, peak_bytes=400))
print(failure(keep, 50, peak_bytes=400))
print(failure(keep, 50, nbytes=7799))
print(failure(keep, 50, blocks=1000, nbytes=20000))
""").splitlines()
        self.assertRegex(text[0], r"^keep left 10\d blocks alive; the limit is 0$")
        self.assertEqual(text[1:3], ["None", "None"])
        self.assertRegex(text[3], r"^keep had [\d,]+ bytes alive at once; the limit is 400$")
        self.assertRegex(text[4], r"^keep allocated [\d,]+ bytes; the limit is 7,799$")
        self.assertEqual(text[5], "None")

    def test_nothing_outlives(self):
        text = self.output_of("""
@allomon.nothing_outlives
def test_arrays(n):
    arrays(n)

@allomon.nothing_outlives
def test_keep(n):
    keep(n)

test_arrays(50)
try:
    test_keep(50)
except AssertionError as error:
    print(str(error).splitlines()[0])
""")
        self.assertRegex(text, r"^test_keep left 10\d blocks alive; the limit is 0$")

    def test_an_exception_of_the_function_goes_first_and_ends_the_scope(self):
        self.output_of("""
@allomon.limit_allocations(0)
def broken():
    arrays(5)
    raise KeyError("its own")
for _ in range(30):  # eight trackers may sample at once
    try:
        broken()
    except KeyError:
        pass
""")

    def test_what_cannot_be_counted_is_an_error(self):
        for text, environment, error in (
            ("with allomon.counted(): pass", {"PYTHONMALLOC": "pymalloc"}, "are not seen"),
            ("with allomon.counted(): pass", {"LD_PRELOAD": ""}, "preload liballomon.so"),
            ("allomon.limit_allocations()", {}, "needs a limit"),
            ("allomon.limit_allocations(arrays)", {}, "needs a limit"),
            ("allomon.limit_allocations(1)(len)", {}, "use counted"),
            ("@allomon.limit_allocations(1)\nasync def f(): pass", {}, "use counted"),
        ):
            with self.subTest(text=text, environment=environment):
                done = self.run_python(text, **environment)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(error, done.stderr.splitlines()[-1])

    def test_live_stacks_of_a_tracker(self):
        self.output_of("""
tracker = allomon.Tracker(rate=1)
keep(1000)
first = tracker.snapshot()[0]
assert first.frames[0].function.startswith("keep") and first.frames[0].line == 15, first
assert 1999 <= first.blocks <= 2010 and first.bytes_deviation == 0, first
kept.clear()
left = sum(stack.blocks for stack in tracker.snapshot() if stack.frames[0] == first.frames[0])
assert left < 10, left
tracker.stop()
try:
    tracker.snapshot()
except allomon.Error as error:
    assert "tracker" in str(error)
""")


if __name__ == "__main__":
    unittest.main()
