#!/usr/bin/env python3
"""liballomon.so replaces in its host what exported_symbols.txt lists, no less and no more,
whichever build made it.  (The C interface, allomon_*, has a list with versions.)
"""

import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import runfile  # noqa: E402

LIST = runfile("//tests/integration:exported_symbols.txt")


def exported():
    library = runfile("//allocator:liballomon.so")
    table = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, check=True
    ).stdout
    row = re.compile(r" (?:GLOBAL|WEAK) +\w+ +\d+ ([^@\s]+)")  # a number: it is defined
    return {match[1] for match in row.finditer(table) if not match[1].startswith("allomon_")}


class Exports(unittest.TestCase):
    maxDiff = None

    def test_exports_are_those_of_the_list(self):
        with open(LIST, encoding="utf-8") as file:
            listed = file.read().split()
        self.assertEqual(sorted(exported()), listed)


if __name__ == "__main__":
    sys.exit(unittest.main())
