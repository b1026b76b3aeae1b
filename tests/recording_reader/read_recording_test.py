#!/usr/bin/env python3
"""The document of recordings says what is in them: a reader that was written from it alone reads
what the one in C++ reads, of recordings of tests and of older versions."""

import gzip
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
READER = os.path.join(HERE, "read_recording.py")
TEXT = os.path.join(HERE, "recording_text")
VERSION_1 = os.path.join(HERE, "version_1")


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
            read = self.expect_same()
            self.assertGreater(len(read), 5000)
            self.assertIn("memory (1, 20, 300, 4000)", read)
            self.assertIn("heap (2, 5, 60, 700, 8000, 90000)", read)

    # Of a process that the library of version 1 recorded, and of its tests.
    def test_recordings_of_version_1(self):
        for name in ("process", "built"):
            with open(self.path, "wb") as file, gzip.open(f"{VERSION_1}/{name}.rec.gz") as stored:
                file.write(stored.read())
            with open(f"{VERSION_1}/{name}.txt", encoding="utf-8") as expected:
                self.assertEqual(self.expect_same(), expected.read().splitlines())


if __name__ == "__main__":
    unittest.main()
