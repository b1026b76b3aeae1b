#!/usr/bin/env python3
"""Tests with the tag one_thread, which the thread sanitizer's suite leaves out, start no thread.

Read are the sources of each such test, and of the libraries and programs below tests/ and examples/
that it is made of.
"""

import os
import re
import sys
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
sys.dont_write_bytecode = True  # the source tree stays as it is
ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "cmake", "suites"))
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))
import build_files  # pylint: disable=wrong-import-position
import source_text

TAG = "one_thread"
# Of these folders each file of a test is read.  Below tracker/, allocator/ and runtime/ are threads
# of hosts only: nothing starts one of its own accord.
READ = ("tests/", "examples/")
STARTS_THREAD = re.compile(
    r"\bstd::(?:jthread|async)\b|\bstd::thread\b(?!::)|\bpthread_create\b|\bthrd_create\b"
    r"|\bSIGEV_THREAD\b|\bCLONE_THREAD\b"
)


def starts_thread(code):
    return STARTS_THREAD.search(code) is not None


def files(workspace, label, seen):
    """The files below READ that a target is made of."""
    if label in seen or not label.startswith("//"):
        return
    seen.add(label)
    package, name = build_files.split(label)
    path = f"{package}/{name}"
    if not path.startswith(READ):
        return
    rule = workspace.rule(label)
    if rule is None:
        yield path
        return
    for attribute in ("srcs", "hdrs", "deps", "data"):
        for needed in rule.labels(attribute):
            yield from files(workspace, needed, seen)


def tagged(workspace):
    """label -> files of each test with the tag."""
    found = {}
    for package in workspace.packages_under("tests"):
        for name, rule in list(workspace.package(package).items()):
            if TAG in rule.get("tags"):
                label = f"//{package}:{name}"
                found[label] = sorted(set(files(workspace, label, set())))
    return found


class OneThread(unittest.TestCase):
    def test_no_thread_is_started(self):
        tests = tagged(build_files.Workspace(ROOT))
        self.assertGreater(len(tests), 40)
        for label, paths in tests.items():
            self.assertTrue(paths, label)
            for path in paths:
                if source_text.language(path) != "c":
                    continue
                with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                    code = source_text.split(path, file.read()).code
                with self.subTest(test=label, file=path):
                    self.assertFalse(starts_thread(code))

    def test_the_search_finds_what_starts_a_thread(self):
        self.assertTrue(starts_thread("std::thread other([] {});"))
        self.assertTrue(starts_thread("pthread_create(&thread, nullptr, Run, nullptr);"))
        self.assertTrue(starts_thread("event.sigev_notify = SIGEV_THREAD;"))
        self.assertFalse(starts_thread("std::this_thread::yield(); std::thread::id id;"))


if __name__ == "__main__":
    unittest.main()
