#!/usr/bin/env python3
"""The package allomon in a program that is preloaded, and in one that is not."""

import os
import struct
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

FOLDER = os.path.dirname(os.path.dirname(runfile("//tracker/c/python:allomon/__init__.py")))
ALLOMON = runfile("//tools/allomon:allomon")

PROGRAM = """
import threading
import allomon

def serve(n):
    return bytearray(n)

allomon.start("x.%p.rec", rate=1)
with allomon.label("tenant", "one"):
    kept = serve(1_000_000)
    with allomon.label("phase", "inner"):
        labels = allomon.current()
        more = serve(2_000_000)

def elsewhere():
    global other
    with allomon.entered(labels):
        other = serve(3_000_000)

thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
assert allomon.statistics()["samples"] > 3
assert allomon.statistics()["dropped_samples"] == 0
allomon.save("now.rec")
allomon.stop()
for wrong in (allomon.stop, allomon.statistics, lambda: allomon.save("z.rec")):
    try:
        wrong()
    except allomon.Error as error:
        assert "start()" in str(error)
    else:
        assert False
try:
    allomon.start("/no/such/folder/x.rec")
except allomon.Error as error:
    print(error)
"""


class Module(Case):
    def setUp(self):
        super().setUp()
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(f"import sys\nsys.path.insert(0, {FOLDER!r})\n" + PROGRAM)

    def report(self, *arguments):
        return subprocess.run(
            [ALLOMON, "report", "--format=csv", *arguments],
            capture_output=True, text=True, check=True,
        ).stdout

    def test_recording_and_labels(self):
        done = self.run_preloaded(
            ["/usr/bin/python3", "-B", "program.py"],
            {"ALLOMON_PROFILE": "idle"},
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("cannot be created", done.stdout)
        (recording,) = [name for name in self.files() if name.startswith("x.")]
        for name in (recording, "now.rec"):
            tenants = self.report("--by=label:tenant", "--metric=alloc", self.path(name))
            self.assertRegex(tenants, r"\bone\b.*\b600\d{4}\b")
            phases = self.report("--by=label:phase", "--metric=alloc", self.path(name))
            self.assertRegex(phases, r"\binner\b.*\b500\d{4}\b")
            self.assertRegex(self.report("--metric=alloc", self.path(name)), r"serve.*program")

    ENDS = """
import threading
import allomon

def serve(n):
    return bytearray(n)

allomon.start("x.rec", rate=1)
with allomon.label("request", "one", ends=True):
    kept = serve(1_000_000)
    dropped = serve(2_000_000)
del dropped
with allomon.label("job", "7"):
    labels = allomon.current()

def elsewhere():
    global result
    with allomon.entered(labels):
        result = serve(3_000_000)

thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
allomon.end_label("job", "7")
allomon.save("now.rec")
allomon.stop()
"""

    def test_what_outlives_its_scope(self):
        with open(self.path("program.py"), "w", encoding="utf-8") as file:
            file.write(f"import sys\nsys.path.insert(0, {FOLDER!r})\n" + self.ENDS)
        done = self.run_preloaded(
            ["/usr/bin/python3", "-B", "program.py"], {"ALLOMON_PROFILE": "idle"}
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for key, amount in (("request", r"100\d{4}"), ("job", r"300\d{4}")):
            for name in ("x.rec", "now.rec"):
                shown = self.report(f"--outlived={key}", self.path(name))
                self.assertRegex(shown, rf"serve.*\b{amount}\b")

    FORKS = """
import os
import allomon

allomon.start("x.rec", rate=RATE)
os.mkdir("elsewhere")
os.chdir("elsewhere")
allomon.save("../parent.rec")
child = os.fork()
if child == 0:
    allomon.save("../child.rec")
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(os.getpid(), child)
"""

    def test_a_forked_child_saves_what_is_its_own(self):
        for rate in "1", "1e-12":
            with self.subTest(rate):
                program = f"import sys\nsys.path.insert(0, {FOLDER!r})\n" + self.FORKS
                done = self.run_preloaded(
                    ["/usr/bin/python3", "-B", "-c", program.replace("RATE", rate)],
                    {"ALLOMON_PROFILE": "idle"},
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                processes = [self.process_of("parent.rec"), self.process_of("child.rec")]
                self.assertEqual(processes, [int(number) for number in done.stdout.split()])
                os.rmdir(self.path("elsewhere"))

    def process_of(self, name):
        """The id of the only process of a recording (recording_layout.h)."""
        with open(self.path(name), "rb") as file:
            file.seek(65536 + 64)
            return struct.unpack("<I", file.read(4))[0]

    def test_a_copy_that_fails_leaves_what_has_its_name(self):
        program = (
            f"import sys\nsys.path.insert(0, {FOLDER!r})\nimport allomon, resource\n"
            "allomon.start('x.rec', rate=1)\n"
            "open('kept.rec', 'w').write('precious')\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
            "try: allomon.save('kept.rec')\nexcept OSError: print(open('kept.rec').read())\n"
        )
        done = self.run_preloaded(
            ["/usr/bin/python3", "-B", "-c", program], {"ALLOMON_PROFILE": "idle"}
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "precious\n", ""))
        self.assertEqual([name for name in self.files() if "saving" in name], [])

    def test_live_memory_by_labels(self):
        text = (
            f"import sys\nsys.path.insert(0, {FOLDER!r})\nimport allomon\n"
            "tracker = allomon.Tracker(rate=1)\n"
            "with allomon.label('tenant', 'a'), allomon.label('phase', 'x'):\n"
            "    k = bytearray(999_999)\n"
            "with allomon.label('tenant', 'b'): m = [bytearray(499_999) for _ in range(4)]\n"
            "found = [(round(l.bytes, -4), l.labels) for l in tracker.snapshot_by_labels()\n"
            "         if l.labels]\n"
            "tracker.stop()\n"
            "print(found)\n"
        )
        done = self.run_preloaded(["/usr/bin/python3", "-B", "-c", text],
                                  {"ALLOMON_PROFILE": "idle"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            done.stdout.strip(),
            "[(2000000.0, {'tenant': 'b'}), (1000000.0, {'phase': 'x', 'tenant': 'a'})]",
        )

    def test_without_the_library(self):
        text = (
            f"import sys\nsys.path.insert(0, {FOLDER!r})\nimport allomon\n"
            "with allomon.label('a', 'b'), allomon.entered(allomon.current()): pass\n"
            "try: allomon.start('x.rec')\nexcept allomon.Error as error: print(error)\n"
        )
        done = self.run_plain(["/usr/bin/python3", "-B", "-c", text], {})
        self.assertEqual(done.stdout.strip(), "no Allomon in this process: preload liballomon.so")


if __name__ == "__main__":
    unittest.main()
