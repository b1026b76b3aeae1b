#!/usr/bin/env python3
"""Small objects of unchanged interpreters, which lie in Python's own arenas: what is sampled there
is what malloc would have seen.

  ALLOMON_PYTHONS=/opt/python3.13/bin/python3:...   other interpreters beside Debian's
"""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
for folder in ("tests/integration", "tests/cpython"):
    sys.path.insert(
        0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], folder)
    )

from pythons import interpreters  # noqa: E402
from support import Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")

# Objects of all small sizes, lists that grow, buffers that grow and shrink, also across the limit
# of 512 bytes, threads.
ALL_KINDS = """
import threading
def work(n):
    kept = []
    for i in range(n):
        kept.append((i, str(i), {'a': i, 'b': [i]}, bytes(i % 700)))
    for size in (1, 100, 600, 300, 5, 511, 513, 512, 0):
        for buffer in [bytearray(size) for _ in range(n // 20)]:
            for more in (3, 50, 500, 40):
                buffer.extend(b'x' * more)
                del buffer[10:]
    return kept
kept = work(20000)
threads = [threading.Thread(target=work, args=(3000,)) for _ in range(3)]
for thread in threads: thread.start(), thread.join()
"""
# A leaf of the tree in which CPython 3.10 and later find arenas: 2^14 entries of 8 bytes, and a
# block's header.
ARENA_LEAF_WORDS = 16_384 + 1
KEPT_BLOCKS = 40_000
NODE_BYTES = 48 + 8
KEEPS = f"""
class Node:
    __slots__ = 'value', 'next'
kept = [Node() for _ in range({KEPT_BLOCKS})]
gone = [Node() for _ in range({KEPT_BLOCKS})]
del gone
import os
os._exit(0)
"""


TYPED_OBJECTS = 20_000
TYPES = f"""
class Node:
    __slots__ = 'value', 'next'
class Plain:
    pass
count = {TYPED_OBJECTS}
kept = [Node() for _ in range(count)]
plain = [Plain() for _ in range(count)]
floats = [float(i) for i in range(count)]
pairs = [(node, None) for node in kept]
texts = [str(i) + 'x' * 600 for i in range(count)]
classes = [type('Made', (), {{}}) for _ in range(3)]
print('ready', flush=True)
input()
"""


class PythonObjects(Case):
    def record(self, python, text, **variables):
        env = {"ALLOMON_RECORD": "x.rec", "PYTHONHASHSEED": "0", "ALLOMON_SEED": "7",
               "PYTHONDONTWRITEBYTECODE": "1", **variables}
        done = self.run_preloaded([python, "-c", text], env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.report()

    def report(self):
        report = subprocess.run(
            [ALLOMON, "report", "--format=json", "--view=lines", "--metric=live",
             self.path("x.rec")],
            capture_output=True, text=True, check=True,
        ).stdout
        os.remove(self.path("x.rec"))
        return json.loads(report)

    def words_of(self, python, text, rate):
        """Of a program alone: arenas have a table of their own, which Python makes when it starts.
        """
        whole, start = (
            self.record(python, program, ALLOMON_RATE=rate)["exact_words"]
            for program in (text, "pass")
        )
        return whole - start

    def for_each_python(self, check):
        for python in interpreters():
            with self.subTest(python):
                check(python)

    def test_each_word_stands_trial_once(self):
        def check(python):
            of_malloc = self.words_of(python, ALL_KINDS, "1")
            in_arenas = self.words_of(python, ALL_KINDS, "0.001")
            print(f"{python}: {of_malloc} words of malloc, {in_arenas} in arenas")
            self.assertGreater(of_malloc, 1_000_000)
            # Threads take turns at different places, and differ in what they reuse.  A run whose
            # arenas lie on both sides of a border of 16 GiB has one more of them.
            self.assertAlmostEqual(
                in_arenas, of_malloc, delta=0.001 * of_malloc + ARENA_LEAF_WORDS
            )

        self.for_each_python(check)

    def test_live_objects_are_estimated_and_dead_ones_are_gone(self):
        def check(python):
            found = self.record(python, KEEPS, ALLOMON_RATE="0.02")
            live = self.live_bytes_by_line(found)
            # Binomial: nodes of 48 bytes and a header, 7 words, are sampled with p = .13; 5.7
            # deviations of 40,000 of them are 7.4 %.  The list has 8 bytes of each, and some more.
            expected = KEPT_BLOCKS * NODE_BYTES
            print(python, live[4], expected)
            self.assertAlmostEqual(live[4] / expected, 1, delta=0.1)
            self.assertLess(live.get(5, 0), expected / 20)

        self.for_each_python(check)

    def types_of(self, python, rate):
        """Of a program that runs: blocks, and bytes of each, by the type of the object."""
        child = subprocess.Popen(
            [python, "-B", "-c", TYPES],
            env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": runfile("//allocator:liballomon.so"),
                 "ALLOMON_RECORD": self.path("x.rec"), "ALLOMON_RATE": rate, "ALLOMON_SEED": "7"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        try:
            self.assertEqual(child.stdout.readline(), "ready\n")
            report = subprocess.run(
                [ALLOMON, "report", "--view=types", "--json", "--max-bytes=1g", str(child.pid)],
                capture_output=True, text=True, check=True,
            ).stdout
        finally:
            child.communicate("\n")
        rows = json.loads(report)["types"]
        os.remove(self.path("x.rec"))
        self.assertGreater(sum(row["blocks"] for row in rows if row["type"] is None), 0)
        return {row["type"]: (row["blocks"], row["bytes_per_block"]) for row in rows
                if row.get("holder") == "Python"}

    def test_live_objects_have_their_types(self):
        def check(python):
            every = self.types_of(python, "1")
            print(python, sorted(every.items(), key=lambda it: -it[1][0])[:12])
            self.assertEqual(every["Node"], (TYPED_OBJECTS, 48))
            self.assertEqual(every["Plain"][0], TYPED_OBJECTS)
            for name in ("float", "tuple", "str"):
                self.assertGreaterEqual(every[name][0], TYPED_OBJECTS, name)
                # Python itself has fewer of each.
                self.assertLess(every[name][0], 2 * TYPED_OBJECTS, name)
            self.assertGreaterEqual(every["type"][0], 3)
            # Arrays of pointers to objects are none: the largest has 8 bytes of each.
            self.assertEqual(every["float"][1], 24)
            sampled = self.types_of(python, "0.02")
            self.assertAlmostEqual(sampled["Node"][0] / TYPED_OBJECTS, 1, delta=0.15)

        self.for_each_python(check)

    @staticmethod
    def live_bytes_by_line(found):
        """Of the program itself; a line may be of two functions."""
        live = {}
        for row in found["lines"]:
            if row["file"] == "<string>":
                live[row["line"]] = live.get(row["line"], 0) + row["self"]
        return live

    def test_pythonmalloc_has_the_last_word(self):
        seen = {"malloc": True, "malloc_debug": True, "pymalloc": False, "pymalloc_debug": False}
        for python in interpreters():
            for choice, sees_nodes in seen.items():
                with self.subTest(python=python, choice=choice):
                    found = self.record(
                        python, KEEPS, ALLOMON_RATE="0.02", PYTHONMALLOC=choice
                    )
                    # The list alone, with its room to grow, has less than a quarter.
                    least = KEPT_BLOCKS * NODE_BYTES / 2
                    live = self.live_bytes_by_line(found).get(4, 0)
                    (self.assertGreater if sees_nodes else self.assertLess)(live, least)

    def test_dev_mode_puts_its_checks_around(self):
        for python in interpreters():
            with self.subTest(python):
                self.record(python, KEEPS, ALLOMON_RATE="0.02", PYTHONDEVMODE="1")

    def test_an_idle_program_shows_its_objects_when_it_is_asked(self):
        package = os.path.dirname(runfile("//tracker/c/python:allomon/__init__.py"))
        text = f"""
import sys
sys.path.insert(0, {os.path.dirname(package)!r})
import allomon
allomon.start("x.rec", rate=0.02, seed=7)
{KEEPS}
"""
        done = self.run_preloaded(["/usr/bin/python3", "-B", "-c", text],
                                  {"ALLOMON_PROFILE": "idle"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        live = self.live_bytes_by_line(self.report())
        self.assertAlmostEqual(live[9] / (KEPT_BLOCKS * NODE_BYTES), 1, delta=0.1)


if __name__ == "__main__":
    unittest.main()
