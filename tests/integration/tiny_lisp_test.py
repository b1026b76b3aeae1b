#!/usr/bin/env python3
"""//examples:tiny_lisp computes what its program says, in stress mode too, and its profile
names the functions of that program."""

import os
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

# (range n), (map square ...), (sum ...): squares up to 50, and up to 150.
SUMS = [sum(i * i for i in range(n + 1)) for n in (50, 150)]

ROW = re.compile(r" *(\d+) KB  (\S+) \(program\.lisp: (\d+)\)")


class TinyLisp(Case):
    def run_lisp(self, env=None):
        done = self.run_plain([runfile("//examples:tiny_lisp")], env)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.split(), [str(value) for value in SUMS])
        rows = [ROW.fullmatch(line) for line in done.stderr.splitlines()]
        return {row.group(2): (int(row.group(1)), int(row.group(3))) for row in rows if row}

    def test_profile_names_the_functions_of_the_program(self):
        rows = self.run_lisp()
        lines = {name: line for name, (_, line) in rows.items()}
        for name, line in (("range", 1), ("map", 2), ("sum", 4), ("square", 5), ("remember", 6)):
            self.assertEqual(lines.get(name), line, rows)
        # Nothing else makes lists as long.
        largest = sorted(rows, key=lambda name: -rows[name][0])[:2]
        self.assertEqual(set(largest), {"range", "map"}, rows)

    def test_interpreter_keeps_the_rules(self):
        self.run_lisp({"ALLOMON_HEAP": "stress=13,nursery=64K"})


if __name__ == "__main__":
    sys.exit(unittest.main())
