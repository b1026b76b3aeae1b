#!/usr/bin/env python3
"""`allomon leaks` names blocks that nothing refers to, and no others; the process goes on."""

import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
for folder in ("tests/integration", "tests/cpython"):
    sys.path.insert(
        0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], folder)
    )

from pythons import interpreters  # noqa: E402
from support import Case, runfile  # noqa: E402

ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
LOST = runfile("//tests/leaks:lost_blocks")
EXPECTED = {"LoseSmall": 200, "LoseRing": 100, "LoseLarge": 1}

# What keeps objects of Python alive: a function for each way, and the way.
PYTHON = """
import functools, gc, sys, threading, time, weakref
gc.disable()
class Node:
    __slots__ = 'next', 'data'
class Cache:
    shared = {}
    def __init__(self): self.name, self.items, self.size = '', [], 0
cache, records, registry, first = Cache(), [], {}, None
def in_registry(i): registry[i] = bytearray(3000)
def in_class(i): Cache.shared['k%d' % i] = bytearray(3000)
def in_instance(i): cache.items.append(bytearray(3000))
@functools.lru_cache(maxsize=None)
def in_lru_cache(i): return bytearray(3000)
def in_default(i, kept=[]): kept.append(bytearray(3000))
def in_records(i): records.append({'name': str(i), 'payload': bytearray(3000)})
def in_linked_list(i):
    global first
    node = Node(); node.next = first; node.data = bytearray(3000); first = node
class Document:
    def __init__(self): self.title, self.text = '', bytearray(3000)
weak, strong = weakref.WeakValueDictionary(), {'a': {'b': []}}
def in_strong(i):
    document = Document(); weak[i] = document; strong['a']['b'].append(document)
def in_garbage(i):
    a, b = Node(), Node(); a.next = b; b.next = a; a.data = bytearray(3000)
ended, has_to_go = threading.Event(), False
def of_thread():
    kept = []
    def in_local(i): kept.append(bytearray(3000))
    for i in range(300): in_local(i)
    ended.set()
    while not has_to_go: time.sleep(0.01)
thread = threading.Thread(target=of_thread); thread.start(); ended.wait()
for i in range(300):
    for function in (in_registry, in_class, in_instance, in_lru_cache, in_default, in_records,
                     in_linked_list, in_strong, in_garbage): function(i)
print('ready', flush=True); sys.stdin.readline(); has_to_go = True; thread.join(); print('done')
"""
WAYS_OF_PYTHON = {
    "in_registry": ["variable registry of module __main__", "dict", "bytearray"],
    "in_class": ["variable Cache of module __main__", "type", "dict, at key 'shared'",
                 "dict, at several keys", "bytearray"],
    "in_instance": ["variable cache of module __main__", "Cache, attribute items", "list",
                    "bytearray"],
    "in_lru_cache": ["variable in_lru_cache of module __main__", "functools._lru_cache_wrapper",
                     "dict", "bytearray"],
    "in_default": ["variable in_default of module __main__", "function", "tuple", "list",
                   "bytearray"],
    "in_records": ["variable records of module __main__", "list", "dict, at key 'payload'",
                   "bytearray"],
    "in_linked_list": ["variable first of module __main__", r"Node \(\d+ to \d+ times\)",
                       "bytearray"],
    # The weak reference is nearer.
    "Document.__init__": ["variable strong of module __main__", "dict, at key 'a'",
                          "dict, at key 'b'", "list", "Document, attribute text", "bytearray"],
    "in_garbage": ["objects to which nothing is known to refer, such as a cycle that Python has "
                   "not collected", r"Node( \(.*\))?", "bytearray"],
    "in_local": ["(.*\n  -> )*.*", "bytearray"],
}


class Leaks(Case):
    def start(self, *argv, **environment):
        child = subprocess.Popen(
            argv,
            env={"PATH": "/usr/bin:/bin", **environment},
            cwd=self.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(child.kill)
        return child

    def record(self, *argv, rate="1", **environment):
        child = self.start(
            *argv,
            LD_PRELOAD=LIBRARY,
            ALLOMON_RECORD=self.path("x.rec"),
            ALLOMON_RATE=rate,
            **environment,
        )
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    def leaks(self, pid, *options):
        return self.run_plain([ALLOMON, "leaks", *options, str(pid)])

    def blocks(self, pid, *options):
        done = self.leaks(pid, "--blocks", "--json", *options)
        if done.returncode == 2 and "may not be stopped" in done.stderr:
            self.skipTest("NOT TESTED: " + done.stderr.strip())
        self.assertEqual(done.stderr, "")
        report = json.loads(done.stdout)
        rows = {row["function"]: row["self"] for row in report["functions"] if row["self"]}
        self.assertEqual(done.returncode, 1 if rows else 0)
        return rows, report

    def expect_to_go_on(self, child):
        out, err = child.communicate("go\n", timeout=60)
        self.assertEqual((child.returncode, out, err), (0, "done\n", ""))

    def test_lost_blocks_are_named_and_no_others(self):
        child = self.record(LOST)
        rows, report = self.blocks(child.pid)
        self.assertEqual(rows, EXPECTED)
        self.assertRegex(
            report["notes"][-1],
            "to which nothing refers: 301 of 10[0-9][0-9], 202 of them directly lost",
        )
        # It may be asked again, and the process goes on.
        self.assertEqual(self.blocks(child.pid)[0], EXPECTED)
        self.expect_to_go_on(child)

    def test_the_report_of_leaks_tells_of_a_process_what_is_unreachable(self):
        child = self.record(LOST)
        done = self.run_plain([ALLOMON, "report", "--leaks", "--json", str(child.pid)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        report = json.loads(done.stdout)
        lost = [row for row in report["leaks"] if row["unreachable"]]
        self.assertEqual(
            [row["function"] for row in lost], ["LoseLarge", "LoseSmall", "LoseRing"]
        )
        self.assertEqual(report["leaks"][: len(lost)], lost)
        for row in report["leaks"]:
            self.assertEqual(row["verdict"] == "unreachable", row["unreachable"] > 0)
            self.assertIn(row["unreachable"], (0, row["live"]))
        self.assertRegex(report["notes"][-1], "nothing refers to 301 of 10[0-9][0-9] sampled")
        self.expect_to_go_on(child)

    def test_samples_in_place_are_shown_and_their_table_keeps_none(self):
        child = self.record(LOST, ALLOMON_IN_PLACE="1/1")
        self.assertEqual(self.blocks(child.pid)[0], EXPECTED)
        self.assertIn("::table of lost_blocks, at byte 0 to", self.why(child.pid, "KeepInTable"))
        self.expect_to_go_on(child)

    def test_one_block_of_a_ring_stands_for_all(self):
        child = self.record(LOST)
        self.assertEqual(
            self.blocks(child.pid, "--direct")[0], {"LoseSmall": 200, "LoseRing": 1, "LoseLarge": 1}
        )
        self.expect_to_go_on(child)

    def suppress(self, text):
        path = self.path("x.supp")
        with open(path, "w") as file:
            file.write(text)
        return "--suppressions=" + path

    def test_suppressions_of_the_leak_sanitizer(self):
        child = self.record(LOST)
        for text, left in (
            ("# known\n\n  leak:Small\r\nleak:lost_blocks.cc\n", {}),
            ("leak:LoseS*l\n", {"LoseRing": 100, "LoseLarge": 1}),
            ("leak:^LoseLarge$\nleak:LoseRing\n", {"LoseSmall": 200}),
            ("leak:^ose\nleak:Large.\nleak:[(\n", EXPECTED),
            ("leak:**Ring", {"LoseSmall": 200, "LoseLarge": 1}),
        ):
            done = self.leaks(child.pid, "--blocks", "--json", self.suppress(text))
            rows = json.loads(done.stdout)["functions"]
            self.assertEqual({row["function"]: row["self"] for row in rows if row["self"]}, left)
            self.assertEqual(done.returncode, 1 if left else 0, text)
        for text, line in (
            ("leak:a\nrace:b\n", "line 2: give leak:TEXT"),
            ("leak:\n", "line 1: leak: needs a text"),
            (None, "x.supp"),
        ):
            option = self.suppress(text or "")
            if text is None:
                os.unlink(self.path("x.supp"))
            done = self.leaks(child.pid, option)
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.expect_to_go_on(child)

    def why(self, pid, pattern):
        done = self.leaks(pid, "--why=" + pattern, "--top=0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_paths_lead_from_variables_to_blocks(self):
        child = self.record(LOST)
        name = r"\(anonymous namespace\)::"
        for pattern, path in (
            ("KeepList", f"global {name}list of lost_blocks\n  -> block of KeepList lost_blocks.cc"
             r":\d+, 48 bytes \(1 to 99 times\)\n  -> this\n"),
            ("KeepInTable", f"100 sampled blocks of KeepInTable lost_blocks.cc:\\d+\n  global "
             f"{name}table of lost_blocks, at byte 0 to 792\n  -> this\n"),
            ("KeepInTree", f"global {name}tree of lost_blocks, at byte [0-9 to]+\n  -> block of "
             r"KeepInTree lost_blocks.cc:\d+, 80 bytes, at byte 8 to 40 \(1 to \d+ times\)"),
            ("KeepMiddles", f"global {name}middles of lost_blocks, at byte 0 to 792\n  -> this\n"),
            ("KeepLarge", f"^20.0 MiB, 1 sampled block of KeepLarge .*\n  global {name}large"),
            ("KeepInHolder", f"global {name}holder of lost_blocks\n  -> block of KeepInHolder "
             f"lost_blocks.cc:\\d+, a {name}Holder, 16 bytes, at byte 8\n  -> this\n"),
            ("KeepOnStack", "  the stack or the thread-local storage of a thread\n  -> this\n"),
            ("KeepInSealedPage", "  an anonymous mapping\n  -> this\n"),
            ("LoseSmall", r"200 sampled blocks of LoseSmall .*\n  nothing refers to it: lost\n"),
        ):
            self.assertRegex(self.why(child.pid, pattern), path)
        self.expect_to_go_on(child)

    def test_paths_of_estimates_have_intervals(self):
        child = self.record(LOST, rate="1e-2")
        self.assertRegex(
            self.why(child.pid, "KeepInTable"),
            r"^[0-9.]+ (B|KiB) \([0-9.]+ (B|KiB) to [0-9.]+ KiB\), \d+ sampled blocks? of Keep",
        )
        self.expect_to_go_on(child)

    def has_way(self, pid, function, steps):
        """Of 300 blocks of 375 words, sampled with p = .31, 93 are."""
        path = "\n  -> ".join([*steps, "this"])
        block = r"^.*, (\d+) sampled blocks of (of_thread.*)?" + function
        way = re.compile(block + ".*\n  " + path, re.MULTILINE)
        return sum(int(found[1]) for found in way.finditer(self.why(pid, function))) > 20

    def test_paths_lead_through_objects_of_python(self):
        for python in interpreters():
            # A stale word may lead to a function's blocks on another way: 4 of 1,080 times.  The
            # same one in three processes: 5 in 10^8.
            missing = WAYS_OF_PYTHON
            for _ in range(3):
                child = self.record(python, "-c", PYTHON, rate="1e-3")
                missing = {function: steps for function, steps in missing.items()
                           if not self.has_way(child.pid, function, steps)}
                self.expect_to_go_on(child)
                if not missing:
                    break
            self.assertEqual(missing, {}, python)

    def test_questions_for_paths_that_cannot_be_answered_are_one_line(self):
        child = self.record(LOST, "keep")
        for options, line in (
            (["--why=NoSuchFunction"], "no sampled block is alive whose call stack has"),
            (["--why=("], "--why"),
            (["--why=Keep", "--direct"], "--why and --direct: give one of them"),
            (["--why=Keep", "--json"], "--why: paths are shown as text alone"),
            (["--why=Keep", "--view=tree"], "--why and --view: give one of them"),
            (["--why=Keep", "--by=type"], "--why and --by: give one of them"),
        ):
            done = self.leaks(child.pid, *options)
            self.assertEqual((done.returncode, done.stdout), (2, ""), options)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.expect_to_go_on(child)

    def test_a_process_that_loses_nothing(self):
        child = self.record(LOST, "keep")
        self.assertEqual(self.blocks(child.pid)[0], {})
        self.expect_to_go_on(child)

    # Under gdb, too, the stack of the first thread ends where the address space does.
    def test_addresses_that_are_not_random(self):
        as_under_gdb = ("/usr/bin/setarch", "-R")
        if subprocess.run([*as_under_gdb, "/bin/true"], check=False).returncode != 0:
            self.skipTest("NOT TESTED: personality(2) is refused here")
        child = self.record(*as_under_gdb, LOST)
        self.assertEqual(self.blocks(child.pid)[0], EXPECTED)
        self.expect_to_go_on(child)

    def test_samples_are_estimates(self):
        child = self.record(LOST, rate="1e-2")
        rows = json.loads(self.leaks(child.pid, "--json").stdout)["functions"]
        named = {row["function"]: row for row in rows if row["self"]}
        self.assertLessEqual(set(named), set(EXPECTED))
        self.assertEqual(named["LoseLarge"]["self"], 3 << 20)
        self.expect_to_go_on(child)

    def test_below_allomon_run(self):
        child = self.start(
            *(ALLOMON, "run", "-q", "--exact", "-o", "x.pb.gz", LOST), ALLOMON_LIBRARY=LIBRARY
        )
        self.assertEqual(child.stdout.readline(), "ready\n")
        (pid,) = subprocess.run(
            ["pgrep", "-P", str(child.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        self.assertEqual(self.blocks(pid)[0], EXPECTED)
        self.expect_to_go_on(child)

    def test_threads_do_not_notice(self):
        child = self.record(LOST, "busy", rate="1e-3")
        for _ in range(40):
            done = self.leaks(child.pid, "--json")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            self.assertNotIn("copied meanwhile", done.stdout)
        self.expect_to_go_on(child)

    # A thread may be borrowed at that moment, and the child is a zombie afterwards.
    def test_a_search_may_be_killed_at_any_moment(self):
        child = self.record(LOST, "busy", rate="1e-3")
        moments = random.Random(20261128)
        for _ in range(60):
            search = subprocess.Popen(
                [ALLOMON, "leaks", str(child.pid)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(moments.random() * 0.06)
            search.kill()
            search.wait()
            self.assertIsNone(child.poll())
        self.assertIn(self.leaks(child.pid).returncode, (0, 1))
        self.expect_to_go_on(child)

    def test_a_process_that_may_not_fork(self):
        child = self.record(LOST, "filter")
        for _ in range(3):
            rows, report = self.blocks(child.pid)
            self.assertEqual(rows, EXPECTED)
            if os.geteuid() != 0:
                self.assertIn("it has a filter of system calls", report["notes"][-1])
        self.expect_to_go_on(child)

    # Threads that allocate, free and end, while they are stopped again and again.
    CROWD = """
import sys, threading
def work():
    for i in range(300):
        thread = threading.Thread(target=lambda: [bytearray(1000) for _ in range(10)])
        thread.start()
        thread.join()
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
print("ready", flush=True)
for thread in threads: thread.join()
sys.stdin.readline()
print("done", flush=True)
"""

    def test_a_crowd_of_threads_goes_on(self):
        child = self.record("/usr/bin/python3", "-c", self.CROWD, rate="1e-3")
        for _ in range(5):
            done = self.leaks(child.pid, "--json")
            self.assertIn(done.returncode, (0, 1), done.stderr)
            time.sleep(0.05)
        self.expect_to_go_on(child)

    def test_what_cannot_be_asked_is_one_line(self):
        plain = self.start("/bin/cat")
        ended = self.start("/bin/true")
        idle = self.start("/bin/cat", LD_PRELOAD=LIBRARY, ALLOMON_PROFILE="idle")
        time.sleep(0.3)
        for word, line in (
            ("", "is not the id of a process"),
            ("x.rec", "is not the id of a process"),
            ("4000000", "there is no process 4000000"),
            (str(ended.pid), "it has ended, or has no memory"),
            (str(plain.pid), "Allomon is not in this process"),
            (str(idle.pid), "it records nothing"),
        ):
            done = self.leaks(word)
            self.assertEqual((done.returncode, done.stdout), (2, ""), word)
            self.assertIn(line, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        for child in (plain, idle):
            self.assertIsNone(child.poll())
            out, err = child.communicate("still here\n", timeout=60)
            self.assertEqual((child.returncode, out, err), (0, "still here\n", ""))


if __name__ == "__main__":
    unittest.main()
