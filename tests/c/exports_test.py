#!/usr/bin/env python3
"""The symbols that liballomon.so shows.  exports.golden has them all, those of the C interface with
the version in which they came.  A line that goes, or changes, breaks programs; a new function is a
new line, with the version of the release that brings it.

exports_test.py --print LIBRARY prints the list."""

import glob
import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True


def exported(library):
    """name or name@@version of each symbol that others may be bound to."""
    text = subprocess.run(
        ["readelf", "-W", "--dyn-syms", library], capture_output=True, text=True, check=True
    ).stdout
    row = re.compile(r"\s*\d+: [0-9a-f]+ +\w+ +(\w+) +(GLOBAL|WEAK) +\w+ +(\w+) (\S+)", re.M)
    found = [(kind, place, name) for kind, _, place, name in row.findall(text) if place != "UND"]
    # The version itself is an absolute symbol.
    return sorted(name for kind, place, name in found if place != "ABS")


def declared(folder):
    """Functions of the headers."""
    names = set()
    for path in glob.glob(os.path.join(folder, "*.h")):
        with open(path, encoding="utf-8") as header:
            text = header.read()
        names |= set(re.findall(r"\bALLOMON_C_FUNCTION\([\w\s*]+,\s*(allomon_\w+)", text))
        names |= set(re.findall(r"\bALLOMON_C_PROCEDURE\((allomon_\w+)", text))
    return names


class Exports(unittest.TestCase):
    def setUp(self):
        root = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
        self.library = os.path.join(root, "allocator/liballomon.so")
        self.folder = os.path.join(root, "tracker/c/include/allomon")
        with open(os.path.join(root, "tests/c/exports.golden"), encoding="ascii") as golden:
            self.golden = golden.read().split()

    def test_list(self):
        self.maxDiff = None
        self.assertEqual(exported(self.library), self.golden)

    def test_each_function_of_the_headers_is_exported_with_a_version(self):
        names = {name.split("@@")[0] for name in self.golden if "@@ALLOMON_" in name}
        self.assertGreater(len(names), 15)
        self.assertEqual(declared(self.folder), names)

    def test_what_is_replaced_has_no_version(self):
        for name in self.golden:
            self.assertEqual("@" in name, name.startswith("allomon_"), name)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--print"]:
        print("\n".join(exported(sys.argv[2])))
    else:
        sys.exit(unittest.main())
