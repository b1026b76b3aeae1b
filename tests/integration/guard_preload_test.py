#!/usr/bin/env python3
"""ALLOMON_GUARD finds errors of programs that know nothing of it, and none in correct programs."""

import os
import re
import resource
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import SIGMAS, Case, Mlmon, runfile  # noqa: E402

PYTHON = "/usr/bin/python3"
VICTIM = runfile("//tests/integration:guard_victim")
EVERYTHING = {"ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "1", "ALLOMON_PROFILE": "no"}
SUMMARY = re.compile(
    r"allomon: guard: (\d+) blocks guarded, (\d+) larger than a page and (\d+) without room not, "
    r"(\d+) errors\n"
)

# A program that uses the heap in every way that a correct program may.
PROGRAM = r"""
import json, re, zlib, threading, subprocess, hashlib
words = [str(i * i) * (i % 50) for i in range(20000)]
text = json.dumps({w: len(w) for w in words})
found = re.findall(r"[0-9]*7[0-9]*", text)
packed = zlib.compress(text.encode())
results = [None] * 4
def work(n):
    results[n] = hashlib.sha256(b"".join(w.encode() for w in words[n::4])).hexdigest()
threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
out = subprocess.run(["sort", "-u"], input="b\na\nb\n", stdout=subprocess.PIPE, text=True).stdout
print(len(found), zlib.decompress(packed) == text.encode(), results, repr(out))
"""


class Errors(Case):
    def victim(self, what, **env):
        return self.run_preloaded([VICTIM, what], {**EVERYTHING, **env})

    def test_use_after_free(self):
        done = self.victim("use-after-free")
        self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
        self.assertIn("allomon: heap-use-after-free: write to 0x", done.stderr)
        for name in "Use", "Take", "Drop":
            self.assertIn(f"#0 {name}  {os.path.realpath(VICTIM)}+0x", done.stderr)

    def test_offsets_are_those_that_addr2line_takes(self):
        done = self.victim("use-after-free")
        offset = re.search(r"#0 Use  .*\+(0x[0-9a-f]+)", done.stderr)[1]
        named = self.run_plain(["addr2line", "-Cfe", VICTIM, offset])
        self.assertEqual(named.stdout.splitlines()[0], "Use(char*)", named)

    def test_double_free(self):
        done = self.victim("double-free")
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, ""), done.stderr)
        self.assertIn("allomon: double-free: operator delete[] at 0x", done.stderr)

    def test_mismatch(self):
        done = self.victim("mismatch")
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGABRT, ""), done.stderr)
        self.assertIn("mismatched-free: free of a block from operator new[]", done.stderr)

    def test_report_goes_on(self):
        done = self.victim("mismatch", ALLOMON_GUARD="1/1:report")
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)
        self.assertIn("mismatched-free: free of a block from operator new[]", done.stderr)

    def test_also_beside_profiles(self):
        for kind in "alloc", "time":
            with self.subTest(kind=kind):
                done = self.victim("use-after-free", ALLOMON_PROFILE=kind)
                self.assertEqual(done.returncode, -signal.SIGSEGV, done.stderr)
                self.assertIn("allomon: heap-use-after-free: ", done.stderr)

    def test_in_an_executable_that_has_it_linked_in(self):
        done = self.run_plain([runfile("//examples:use_after_free")])
        self.assertEqual((done.returncode, done.stdout), (-signal.SIGSEGV, ""), done.stderr)
        self.assertRegex(done.stderr, r"byte 180 of a block of 184 bytes, by thread \d+\n")
        self.assertRegex(done.stderr, r"\n    #0 CountPage  .*\n    #1 HandleRequest  ")
        self.assertRegex(done.stderr, r" operator new in thread \d+\n    #0 OpenSession  ")
        self.assertRegex(done.stderr, r" operator delete in thread \d+\n    #0 CloseSession  ")
        self.assertRegex(done.stderr, r"\n  note: request \d+\n")


class CorrectPrograms(Case):
    def summary(self, done):
        (line,) = SUMMARY.findall(done.stderr)[-1:]
        return dict(zip(["guarded", "too_large", "no_room", "errors"], map(int, line)))

    def test_same_results_with_every_block_guarded(self):
        plain = self.run_plain([PYTHON, "-c", PROGRAM])
        self.assertEqual((plain.returncode, plain.stderr), (0, ""))
        for profile in "no", "alloc":
            with self.subTest(profile=profile):
                # pymalloc would take most blocks from malloc in pieces too large for the guard, so
                # it is off.
                env = {**EVERYTHING, "ALLOMON_PROFILE": profile, "PYTHONMALLOC": "malloc"}
                done = self.run_preloaded([PYTHON, "-c", PROGRAM], env)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertEqual(done.stdout, plain.stdout)

    def test_profile_is_what_it_is_without(self):
        totals = []
        for guard in "no", "1/1":
            env = {"ALLOMON_RATE": "1", "ALLOMON_GUARD": guard}
            done = self.run_preloaded([VICTIM], env)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            totals.append(Mlmon(self.path("mlmon.out")).total)
        self.assertEqual(*totals)

    def test_guard_alone_writes_no_profile(self):
        done = self.run_preloaded([VICTIM], {**EVERYTHING, "ALLOMON_SUMMARY": "1"})
        self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
        counts = self.summary(done)
        self.assertGreaterEqual(counts["guarded"], 1001)
        self.assertEqual(counts["errors"], 0)
        self.assertEqual(self.files(), [])

    def test_linked_in(self):
        host = [runfile("//tests/integration:profiled_host"), "thread-exits"]
        done = self.run_plain(host, {**EVERYTHING, "ALLOMON_SUMMARY": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.summary(done)["guarded"], 0)

    def test_one_in_ten_of_the_samples_and_the_seed_repeats_them(self):
        env = {**EVERYTHING, "ALLOMON_SUMMARY": "1", "ALLOMON_SEED": "1"}
        everything = self.summary(self.run_preloaded([VICTIM], env))
        env["ALLOMON_GUARD"] = "1/10"
        tenth = self.summary(self.run_preloaded([VICTIM], env))
        mean = sum(everything.values()) / 10
        got = sum(tenth.values())
        self.assertLess(abs(got - mean), SIGMAS * (mean * 0.9) ** 0.5)
        self.assertEqual(tenth, self.summary(self.run_preloaded([VICTIM], env)))

    def test_small_address_space(self):
        for megabytes in 64, 512:
            with self.subTest(megabytes=megabytes):
                limit = megabytes << 20
                done = self.run_preloaded(
                    [VICTIM],
                    EVERYTHING,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
                )
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"), done.stderr)


class BadValues(Case):
    def test_one_clear_line_and_the_program_runs(self):
        for value in ["", "1", "2/3", "1/0", "1/", "1/x", "1/-5", "1/1000001", "1/10:abort", "yes"]:
            with self.subTest(value=value):
                done = self.run_preloaded([VICTIM], {"ALLOMON_GUARD": value})
                self.assertEqual((done.returncode, done.stdout), (0, "done\n"))
                self.assertEqual(
                    done.stderr,
                    f"allomon: ALLOMON_GUARD={value}: expected 1/N (one of N sampled blocks), "
                    "1/N:report, or no; the program runs unprofiled and unguarded\n",
                )
                self.assertEqual(self.files(), [])

    def test_rate_at_which_there_is_no_block_to_guard(self):
        for kind in "no", "alloc":
            done = self.run_preloaded(
                ["/bin/true"],
                {"ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "0", "ALLOMON_PROFILE": kind},
            )
            self.assertRegex(done.stderr, r"\Aallomon: ALLOMON_GUARD: .* unguarded\n\Z")

    def test_no(self):
        done = self.run_preloaded([VICTIM, "mismatch"], {**EVERYTHING, "ALLOMON_GUARD": "no"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))


if __name__ == "__main__":
    unittest.main()
