#!/usr/bin/env python3
"""The document of recordings says what is in them: a reader that was written from it alone reads
what the one in C++ reads, of recordings of tests and of a real process."""

import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
READER = os.path.join(HERE, "read_recording.py")
TEXT = os.path.join(HERE, "recording_text")
LIBRARY = os.path.join(ROOT, "allocator", "liballomon.so")


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True,
                          errors="replace").stdout.splitlines()


class ReadRecordingTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "x.rec")

    def expect_same(self):
        by_document = lines(sys.executable, READER, self.path)
        self.assertEqual(by_document, lines(TEXT, self.path))
        return by_document

    def test_recordings_of_tests(self):
        for seed in (1, 2):
            lines(TEXT, f"--make={seed}", self.path)
            self.assertGreater(len(self.expect_same()), 5000)

    def test_recording_of_a_process(self):
        environment = {
            "ALLOMON_RECORD": self.path,
            "ALLOMON_RATE": "0.01",
            "LD_PRELOAD": LIBRARY,
        }
        script = "x = [str(i) * 9 for i in range(20000)]; del x[::3]"
        subprocess.run([sys.executable, "-c", script], env=environment, check=True)
        kinds = {line.split()[0] for line in self.expect_same()}
        self.assertEqual(kinds, {"process", "row", "event", "live", "thread", "point", "module"})


if __name__ == "__main__":
    unittest.main()
