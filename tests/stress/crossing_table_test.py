#!/usr/bin/env python3
"""The table of crossings in README.md has no empty cell, and every test that the README names
exists.

It reads the workspace behind the runfiles' links.
"""

import importlib.util
import os
import re
import sys
import unittest

sys.dont_write_bytecode = True

HERE = os.path.dirname(os.path.realpath(__file__))
TESTS = os.path.dirname(HERE)

# Of the README's words, those of the tests.
COLUMNS = {
    "alloc": "alloc",
    "live": "live",
    "time": "time",
    "count": "count",
    "count,stack": "count_stack",
    "guard": "guard",
    "managed": "managed",
    "several trackers": "trackers",
}
ROWS = {
    "fork": "fork",
    "dlopen, dlclose": "unload",
    "key destructors": "keys",
    "thread exit, cancel": "exit",
    "signals": "signals",
    "seccomp": "seccomp",
    "address-space limits": "limits",
    "exec": "exec",
}

# A reason why a crossing cannot matter has at least so many words.
FEWEST_WORDS = 6

CODE = re.compile(r"`([^`]+)`")
# The name of a file in backquotes, a colon, and names of tests with or without backquotes.
NAMED = re.compile(r"`((?:\w+/)?\w+_test)`: ((?:`?\w+(?:\.\.\.)?`?(?:, )?)+)")


def tests_of_crossing_test():
    path = os.path.join(HERE, "crossing_test.py")
    spec = importlib.util.spec_from_file_location("crossing_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name for name in dir(module.Crossing) if name.startswith("test_")}


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_of(text):
    """{(row, column): cell} of the first table of the section "The crossings"."""
    section = text.split("\n## The crossings\n", 1)[1]
    lines = section[section.index("\n|") + 1 :].split("\n\n", 1)[0].split("\n")
    columns = cells_of(lines[0])[1:]
    table = {}
    for line in lines[2:]:
        row, *cells = cells_of(line)
        cells += [""] * (len(columns) - len(cells))
        table.update({(row, column): cell for column, cell in zip(columns, cells)})
    return table


def source_of(name):
    """The text of a test's source, of this folder or with its folder in front, or None."""
    folder, _, file = name.rpartition("/")
    for extension in ".cc", ".py":
        path = os.path.join(TESTS, folder or "stress", file + extension)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as source:
                return source.read()
    return None


def has_test(source, name):
    if name.endswith("..."):
        return re.search(rf"\b{re.escape(name[:-3])}\w*", source) is not None
    return re.search(rf"\b{name}\b", source) is not None


def wrong_names(text, crossings):
    """What the text names that does not exist."""
    for file in re.findall(r"`((?:\w+/)?\w+_test)`", text):
        if source_of(file) is None:
            yield file
    for file, names in NAMED.findall(text):
        source = source_of(file)
        if source is None:
            continue
        for name in names.replace("`", "").split(", "):
            generated = file == "crossing_test" and name in crossings
            if name and not generated and not has_test(source, name):
                yield f"{file}: {name}"


def wrong_cells(text, crossings):
    table = table_of(text)
    for row, row_name in ROWS.items():
        for column, column_name in COLUMNS.items():
            cell = table.pop((row, column), "")
            where = f"{row} x {column}"
            words = CODE.sub("", cell).split()
            if not CODE.search(cell) and len(words) < FEWEST_WORDS:
                yield f"{where}: empty"
            for code in CODE.findall(NAMED.sub("", cell)):  # what is left to crossing_test
                if code not in crossings:
                    yield f"{where}: {code}"
                elif code != f"test_{row_name}_{column_name}":
                    yield f"{where}: {code} is another crossing"
    for row, column in table:
        yield f"{row} x {column}: unknown"


class Table(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
            cls.text = file.read()
        cls.crossings = tests_of_crossing_test()

    def wrong(self, text):
        return [*wrong_cells(text, self.crossings), *wrong_names(text, self.crossings)]

    def test_every_cell_has_a_test_or_a_reason(self):
        self.assertEqual(self.wrong(self.text), [])

    def test_every_crossing_that_is_tested_is_in_the_table(self):
        in_table = set(CODE.findall("".join(table_of(self.text).values())))
        self.assertEqual(self.crossings - in_table, set())

    def assert_wrong(self, old, new, said):
        self.assertIn(old, self.text)
        self.assertIn(said, self.wrong(self.text.replace(old, new, 1)))

    def test_empty_cells_are_found(self):
        self.assert_wrong("| `test_exec_alloc` |", "| |", "exec x alloc: empty")
        self.assert_wrong("`test_exec_guard`", "not tested", "exec x guard: empty")

    def test_missing_row_is_found(self):
        self.assert_wrong("| seccomp |", "| |", "seccomp x time: empty")

    def test_names_of_tests_that_do_not_exist_are_found(self):
        self.assert_wrong("`test_fork_live`; ", "`test_forks`; ", "fork x live: test_forks")
        other = "fork x live: test_fork_time is another crossing"
        self.assert_wrong("`test_fork_live`", "`test_fork_time`", other)
        self.assert_wrong("ChildrenSampleIndependently", "No", "semantics/fork_test: No")
        self.assert_wrong("`semantics/fork_test`", "`semantics/no_test`", "semantics/no_test")


if __name__ == "__main__":
    sys.exit(unittest.main())
