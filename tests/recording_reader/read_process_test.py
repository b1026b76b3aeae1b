#!/usr/bin/env python3
"""As read_recording_test.py, of the recording of a real process."""

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


class ReadProcessTest(unittest.TestCase):
    def test_both_readers_read_the_same(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "x.rec")
        environment = {
            "ALLOMON_RECORD": path,
            "ALLOMON_RATE": "0.01",
            "LD_PRELOAD": LIBRARY,
        }
        script = "x = [str(i) * 9 for i in range(20000)]; del x[::3]"
        subprocess.run([sys.executable, "-c", script], env=environment, check=True)
        by_document = lines(sys.executable, READER, path)
        self.assertEqual(by_document, lines(TEXT, path))
        kinds = {line.split()[0] for line in by_document}
        heap = {"row", "event", "live", "thread", "point", "module"}
        self.assertEqual(kinds, {"process", "memory"} | heap)


if __name__ == "__main__":
    unittest.main()
