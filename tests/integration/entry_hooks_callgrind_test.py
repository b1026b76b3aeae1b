#!/usr/bin/env python3
"""A C++ program that a compiler flag gives entry hooks: its call counts are callgrind's."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import callgrind  # noqa: E402
from support import Case, Mlmon, runfile  # noqa: E402

PROGRAM = runfile("//tests/integration/hooked_program:hooked_program")
LINKED_USES_LIBRARY = runfile("//tests/integration/hooked_program:linked_uses_library")
USES_LIBRARY = runfile("//tests/integration/hooked_program:uses_library")
ALONE = runfile("//tests/integration/hooked_program:hooked_alone")


class EntryHooks(Case):
    def callgrind_calls(self):
        out = self.path("callgrind.out")
        done = self.run_plain(callgrind.command(out, PROGRAM))
        self.assertEqual(done.returncode, 0, done.stderr)
        return callgrind.calls(out)

    def hooked_calls(self, kind):
        done = self.run_plain([PROGRAM], {"ALLOMON_PROFILE": kind})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return self.counts(PROGRAM)

    def counts(self, who_answers):
        answer = self.run_plain([who_answers, "@MLton", "show-sources"]).stdout.split("\n")
        counts = {}
        mlmon = Mlmon(self.path("mlmon.out"))
        self.assertEqual(mlmon.magic, answer[0])
        for line, count in zip(answer[2 : 2 + int(answer[1])], mlmon.masters):
            name = line.split("\t")[0]
            counts[name] = counts.get(name, 0) + count
        return counts

    def test_preloaded_library_finds_the_same_hooks(self):
        linked = self.hooked_calls("count")
        for kind in "count", "count,stack":
            done = self.run_preloaded([ALONE], {"ALLOMON_PROFILE": kind})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(self.counts(self.path("mlmon.out.sources")), linked)

    def test_library_that_the_program_is_linked_with(self):
        runs = [
            (kind, run, program, answers)
            for kind in ("count", "count,stack")
            for run, program, answers in (
                (self.run_preloaded, USES_LIBRARY, self.path("mlmon.out.sources")),
                (self.run_plain, LINKED_USES_LIBRARY, LINKED_USES_LIBRARY),
            )
        ]
        for kind, run, program, answers in runs:
            done = run([program], {"ALLOMON_PROFILE": kind})
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            counts = self.counts(answers)
            called = {name.split("(")[0]: count for name, count in counts.items() if count}
            expected = {"main": 1, "CallTwice": 100, "CallOnce": 200, "Callee": 200}
            self.assertEqual(called, expected, kind)

    def test_counts_equal_callgrinds(self):
        theirs = self.callgrind_calls()
        for kind in "count", "count,stack":
            ours = self.hooked_calls(kind)
            both = set(theirs) & set(ours)
            different = {n: (ours[n], theirs[n]) for n in both if ours[n] != theirs[n]}
            self.assertEqual(different, {}, kind)
            # A function without calls in callgrind's file has no calls in the hooks' either.
            self.assertEqual({n: c for n, c in ours.items() if c and n not in both}, {}, kind)
            for name in (
                "main",
                "shapes::Ackermann(long, long)",
                "shapes::IsEven(unsigned int)",
                "shapes::(anonymous namespace)::ComputeAtStart()",
                "shapes::ForEachUpTo(int, std::function<void (int)> const&)",
            ):
                self.assertIn(name, both)
            self.assertGreater(len(both), 20)
            print(kind, len(both), "functions compared")


if __name__ == "__main__":
    sys.exit(unittest.main())
