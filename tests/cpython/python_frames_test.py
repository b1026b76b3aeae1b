#!/usr/bin/env python3
"""Python's own functions and lines in the recordings of unchanged interpreters: the stacks are
those that Python itself sees.

  ALLOMON_PYTHONS=/opt/python3.13/bin/python3:...   other interpreters beside Debian's
  ALLOMON_PYTHON_STACKS=10000                       so many stacks of each, in place of 1,000
"""

import json
import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
for folder in ("tests/integration", "tests/cpython", "tests/recording_reader"):
    sys.path.insert(0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"],
                                    folder))

from interpreted_frames import Process  # noqa: E402
from pythons import interpreters  # noqa: E402
from support import Case, runfile  # noqa: E402

APP = runfile("//tests/cpython:allocating_app.py")
EARLIER = runfile("//tests/cpython:earlier_python")
ALLOMON = runfile("//tools/allomon:allomon")
STACKS = os.environ.get("ALLOMON_PYTHON_STACKS", "1000")


class PythonFrames(Case):
    def run_python(self, python, arguments, **variables):
        env = {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1",
               "ALLOMON_RECORD_LIMIT": "1g", "PYTHONDONTWRITEBYTECODE": "1", **variables}
        done = self.run_preloaded([python, "-I", *arguments], env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done

    def for_each_python(self, check):
        for python in interpreters():
            with self.subTest(python):
                for name in self.files():
                    os.remove(self.path(name))
                check(python)

    def test_stacks_are_those_that_python_sees(self):
        def check(python):
            self.run_python(python, [APP, "expected.json", "7", STACKS])
            with open(self.path("expected.json"), encoding="utf-8") as file:
                expected = {int(size): stack for size, stack in json.load(file).items()}
            process = Process(self.path("x.rec"))
            first, end = process.code_of("_PyEval_EvalFrameDefault")
            self.assertEqual([a for a in process.addresses() if first <= a < end], [])
            stacks = process.interpreted_stacks()
            compared = cut_ones = 0
            for size, stack in expected.items():
                if size + 1 not in stacks:  # with the zero behind a bytearray; some are gone
                    continue
                ((frames, cut),) = stacks[size + 1]
                self.assertEqual(frames, stack[: len(frames)] if cut else stack)
                compared += 1
                cut_ones += cut
            self.assertGreater(compared, 0.9 * len(expected))
            self.assertLess(cut_ones, 0.2 * compared)

        self.for_each_python(check)

    def test_without_the_lock_native_frames_alone(self):
        """ctypes.CDLL lets other threads run meanwhile; PyDLL does not."""
        text = (
            "import ctypes, os\n"
            "def allocate(library, size):\n"
            "    library.malloc.restype = ctypes.c_void_p\n"
            "    return library.malloc(ctypes.c_size_t(size))\n"
            "allocate(ctypes.CDLL(None), 123456)\n"
            "allocate(ctypes.PyDLL(None), 234567)\n"
            "os._exit(0)\n"
        )
        def check(python):
            self.run_python(python, ["-c", text])
            stacks = Process(self.path("x.rec")).interpreted_stacks()
            self.assertEqual(stacks[123456], [([], False)])
            self.assertEqual(
                stacks[234567],
                [([["allocate", "<string>", 4], ["<module>", "<string>", 6]], False)],
            )

        self.for_each_python(check)

    def test_other_interpreters_of_the_process(self):
        text = (
            "import os\n"
            "try:\n"
            "    import _interpreters as subs\n"
            "except ImportError:\n"
            "    import _xxsubinterpreters as subs\n"
            "inner = 'def in_other():\\n  global kept\\n  kept = bytearray(345678)\\nin_other()'\n"
            "def run():\n"
            "    global other\n"
            "    other = subs.create()\n"
            "    subs.run_string(other, inner)\n"
            "run()\n"
            "os._exit(0)\n"
        )
        def check(python):
            self.run_python(python, ["-c", text])
            ((frames, _),) = Process(self.path("x.rec")).interpreted_stacks()[345679]
            self.assertEqual([frame[0] for frame in frames[:2]], ["in_other", "<module>"])
            self.assertEqual(frames[0][2], 3)

        self.for_each_python(check)

    def test_forked_children(self):
        text = (
            "import os\n"
            "def child():\n"
            "    global kept\n"
            "    kept = bytearray(456789)\n"
            "    os._exit(0)\n"
            "os.fork() or child()\n"
            "os.wait()\n"
        )
        def check(python):
            self.run_python(python, ["-c", text], ALLOMON_RECORD="%p.rec")
            found = []
            for name in self.files():
                found += Process(self.path(name)).interpreted_stacks().get(456790, [])
            ((frames, _),) = found
            self.assertEqual(frames, [["child", "<string>", 4], ["<module>", "<string>", 6]])

        self.for_each_python(check)

    def test_names_that_are_not_ascii(self):
        text = (
            "import os\n"
            "def na\u00efve(): return bytearray(11_111)\n"
            "def \u65e5\u672c(): return bytearray(22_222)\n"
            "kept = [na\u00efve(), \u65e5\u672c()]\n"
            "exec(compile('kept.append(bytearray(33_333))', '/x/\U0001f40d\\udc80.py', 'exec'))\n"
            "os._exit(0)\n"
        )
        def check(python):
            with open(self.path("\u00fc.py"), "w", encoding="utf-8") as file:
                file.write(text)
            self.run_python(python, ["\u00fc.py"], PYTHONUTF8="1")
            stacks = Process(self.path("x.rec")).interpreted_stacks()
            self.assertEqual(stacks[11_112][0][0][0][0], "na\u00efve")
            self.assertTrue(stacks[11_112][0][0][0][1].endswith("\u00fc.py"))
            self.assertEqual(stacks[22_223][0][0][0][0], "\u65e5\u672c")
            self.assertEqual(stacks[33_334][0][0][0], ["<module>", "/x/\U0001f40d?.py", 1])

        self.for_each_python(check)

    def test_a_report_names_lines(self):
        text = (
            "class Cache:\n"
            "  def fill(self):\n"
            "    self.rows = [bytes(999) for _ in range(20_000)]\n"
        )
        def check(python):
            with open(self.path("app.py"), "w", encoding="utf-8") as file:
                file.write(text + "cache = Cache()\ncache.fill()\n")
            env = {key: value for key, value in os.environ.items() if "ALLOMON" not in key}
            subprocess.run(
                [ALLOMON, "run", "-q", "--every=8k", "-o", self.path("x.pb.gz"), "--", python,
                 "-I", self.path("app.py")],
                env=env, check=True,
            )
            report = subprocess.run(
                [ALLOMON, "report", "--view=lines", "--metric=peak", "--format=csv",
                 self.path("x.pb.gz")],
                capture_output=True, text=True, check=True,
            ).stdout.splitlines()
            first = next(line for line in report if "app.py" in line)
            self.assertRegex(first, r"Cache\.fill.*app\.py.*\b3\b")
            self.assertEqual(report.index(first), 1, report[:3])

        self.for_each_python(check)

    def test_the_line_that_leaks_in_a_server(self):
        """An object per 100 requests, beside all that comes and goes."""
        text = (
            "import http.server, json, os, threading, urllib.request\n"
            "leaked = []\n"
            "class Handler(http.server.BaseHTTPRequestHandler):\n"
            "    count = 0\n"
            "    def do_GET(self):\n"
            "        Handler.count += 1\n"
            "        self.remember()\n"
            "        self.send_response(200)\n"
            "        self.end_headers()\n"
            "        self.wfile.write(json.dumps(list(range(50))).encode())\n"
            "    def remember(self):\n"
            "        if Handler.count % 100 == 0:\n"
            "            leaked.append(bytearray(20_000))\n"
            "    def log_message(self, *arguments):\n"
            "        pass\n"
            "server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler)\n"
            "threading.Thread(target=server.serve_forever, daemon=True).start()\n"
            "for _ in range(2000):\n"
            "    urllib.request.urlopen(f'http://127.0.0.1:{server.server_port}/').read()\n"
            "os._exit(0)\n"
        )

        def check(python):
            self.write("server.py", text)
            self.run_python(python, ["server.py"], ALLOMON_RATE="0.002")
            leaks = subprocess.run(
                [ALLOMON, "report", "--leaks", "--format=csv", self.path("x.rec")],
                capture_output=True, text=True, check=True,
            ).stdout.splitlines()
            self.assertRegex(leaks[1], r"Handler\.remember,.*server\.py,13,")

        self.for_each_python(check)

    def test_bytes_by_line_are_those_of_tracemalloc(self):
        """But for a few objects that Python keeps for reuse, which tracemalloc moves to the line
        that uses them next.  All numbers are kept, since Python 3.14 uses them again, too."""
        text = (
            "import json, os, tracemalloc\n"
            "class Box:\n"
            "    def __init__(self, n):\n"
            "        self.n = n, 'box%d' % n\n"
            "        self.items = [n + 300, n + 301]\n"
            "def build():\n"
            "    rows = [{'id': i, 'name': 'user%d' % i} for i in range(3000)]\n"
            "    boxes = [Box(i) for i in range(2000)]\n"
            "    table = {}\n"
            "    for i in range(5000):\n"
            "        table[str(i)] = (i, float(i))\n"
            "    big = bytearray(1_000_000)\n"
            "    return rows, boxes, table, big, json.loads(json.dumps(rows))\n"
            "tracemalloc.start(1)\n"
            "kept = build()\n"
            "snapshot = tracemalloc.take_snapshot()\n"
            "tracemalloc.stop()\n"
            "lines = {f'{s.traceback[0].filename}:{s.traceback[0].lineno}': s.size\n"
            "         for s in snapshot.statistics('lineno') if s.size > 20_000}\n"
            "with open('lines.json', 'w') as file: json.dump(lines, file)\n"
            "os._exit(0)\n"
        )

        def check(python):
            self.run_python(python, ["-c", text])
            with open(self.path("lines.json"), encoding="utf-8") as file:
                expected = json.load(file)
            found = Process(self.path("x.rec")).live_bytes_by_line()
            self.assertGreater(len(expected), 5)
            for line, size_bytes in expected.items():
                self.assertLessEqual(abs(found.get(line, 0) - size_bytes), 400, line)

        self.for_each_python(check)

    def test_without_python_frames(self):
        def check(python):
            self.run_python(python, ["-c", "kept = [bytes(5000)]"], ALLOMON_PYTHON="0")
            self.assertEqual(Process(self.path("x.rec")).names(), set())

        self.for_each_python(check)

    def test_earlier_versions_are_said_to_be_left_out(self):
        """Debian 11's is 3.9: it exports all but its version."""
        done = self.run_preloaded([EARLIER], {"ALLOMON_RECORD": "x.rec"})
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr, "allomon: Python's frames are not shown: only versions 3.11 "
                         "to 3.14 are known; ALLOMON_PYTHON=0 says nothing\n")
        done = self.run_preloaded([EARLIER], {"ALLOMON_RECORD": "x.rec", "ALLOMON_PYTHON": "0"})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_profile_charges_functions_of_python(self):
        def check(python):
            text = "def fill(): return [bytes(999) for _ in range(20_000)]\nkept = fill()\n"
            done = self.run_preloaded(
                [python, "-I", "-c", text],
                {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "1",
                 "ALLOMON_OUT": "x.out"},
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(self.path("x.out.sources"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"fill.*<string>: 1")

        self.for_each_python(check)

if __name__ == "__main__":
    unittest.main()
