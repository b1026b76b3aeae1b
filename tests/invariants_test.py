#!/usr/bin/env python3
"""Every invariant is stated in a README.md and cited by a line that checks it.

An invariant is stated once, in bold, in the README.md of its module: `- **inv.room.word**: ...`.
A line of code cites it by one of these:

- a check with the name in a string among its arguments: ALLOMON_DCHECK and its kin,
  ALLOMON_GC_CHECK, Fail, FailCheck;
- where a check in code is impossible, a comment `checks inv.room.word` (or "checked by ...", or
  several names, "checks inv.a.b and inv.d.e") directly before a static_assert, a test, an
  expectation, or an annotation that clang's thread safety analysis checks.

The test fails on an invariant that no line cites, on a name that is mentioned anywhere and stated
nowhere, and on a second statement of a name.  Names below inv.example are for examples and for
tests of the checks themselves; inv.room.word stands for any name.
"""

import os
import re
import sys
import tempfile
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "support"))
import source_text

NAME = r"inv\.[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)*"
STATEMENT = re.compile(r"\*\*(" + NAME + r")\*\*")
MENTION = re.compile(r"(?<![\w.])" + NAME + r"(\.\*)?(?!\w)")
CHECK = re.compile(r"\b(?:ALLOMON_\w*CHECK\w*|Fail|FailCheck\w*)\s*\(")
IN_STRING = re.compile(r'"(' + NAME + r")(?!\w)")
CHECKS = re.compile(
    r"\b[Cc]heck(?:s|ed by)\s+((?:" + NAME + r"(?:,\s*(?:and\s+)?|\s+and\s+)?)+)"
)
CHECKED_BY_MACHINE = re.compile(
    r"\b(?:static_assert|TEST(?:_[FP])?|TYPED_TEST\w*|EXPECT_\w+|ASSERT_\w+"
    r"|ALLOMON_(?:GUARDED_BY|PT_GUARDED_BY|REQUIRES|EXCLUDES|ACQUIRE\w*|RELEASE\w*))\s*\("
    r"|\bdef test_|\bself\.assert\w+\("
)
# Checks that a build with assertions executes, for each thousand lines of these folders, comments
# and blank lines included.
EXECUTED = re.compile(r"\b(?:ALLOMON_DCHECK(?:_(?:EQ|NE|LT|LE|OPERANDS))?|ALLOMON_GC_CHECK)\(")
CHECKED_FOLDERS = (
    "tracker/",
    "allocator/",
    "runtime/",
    "tools/heap/",
    "tools/load/",
    "tools/report/",
)
LEAST_CHECKS_PER_THOUSAND_LINES = 6.5

EXAMPLES = re.compile(r"inv\.example(?:\..*)?|inv\.room\.word")


def arguments(code, start):
    """The text from behind a call's parenthesis to the one that closes it."""
    depth = 1
    for token in re.finditer(r'"(?:[^"\\\n]|\\.)*"|[()]', code[start:]):
        depth += {"(": 1, ")": -1}.get(token.group(), 0)
        if depth == 0:
            return code[start : start + token.start()]
    return ""


def citations(source):
    """(name, line) of each invariant that a line of the file checks."""
    for call in CHECK.finditer(source.code):
        for name in IN_STRING.findall(arguments(source.code, call.end())):
            yield name, source.code.count("\n", 0, call.start()) + 1
    for comment in source.comments:
        if CHECKED_BY_MACHINE.search(comment.code):
            for names in CHECKS.findall(comment.text):
                for name in re.findall(NAME, names):
                    yield name, comment.line


def mentions(source):
    """(name, line, whether it stands for all that begin so)"""
    for number, line in enumerate(source.text.splitlines(), 1):
        for match in MENTION.finditer(line):
            name = match.group().removesuffix(".*")
            yield name, number, match[1] is not None


def problems(root):
    stated, cited, mentioned = {}, {}, []
    for source in source_text.sources(root):
        if source.path.endswith(("invariants_test.py", "layering_test.py", "comments_test.py")):
            continue  # names of fake trees
        if os.path.basename(source.path) == "README.md":
            for match in STATEMENT.finditer(source.text):
                place = f"{source.path}:{source.text.count(chr(10), 0, match.start()) + 1}"
                if match[1] in stated:
                    yield f"{place}: {match[1]} is stated in {stated[match[1]]} already"
                else:
                    stated[match[1]] = place
        for name, line in citations(source):
            cited.setdefault(name, f"{source.path}:{line}")
        for name, line, is_prefix in mentions(source):
            mentioned.append((name, f"{source.path}:{line}", is_prefix))

    for name, place in stated.items():
        if name not in cited:
            yield f"{place}: no line checks {name}"
    for name, place, is_prefix in mentioned:
        if EXAMPLES.fullmatch(name):
            continue
        if is_prefix and any(other.startswith(name + ".") for other in stated):
            continue
        if name not in stated:
            yield f"{place}: no README.md states {name}"


def executed_checks(root):
    """(checks, lines) of the folders."""
    checks, lines = 0, 0
    for source in source_text.sources(root):
        if not source.path.startswith(CHECKED_FOLDERS) or not source.path.endswith(
            source_text.C_EXTENSIONS
        ):
            continue
        code = source.code.splitlines()
        lines += len(code)
        checks += sum(len(EXECUTED.findall(line)) for line in code if "#define" not in line)
    return checks, lines


class FakeTree(unittest.TestCase):
    STATES = {"tracker/README.md": "# Tracker\n\n- **inv.a.b**: a is b.\n"}
    CHECKS = {"tracker/a.cc": 'void A() {\n  ALLOMON_DCHECK("inv.a.b", a == b);\n}\n'}

    def check(self, files, *expected):
        with tempfile.TemporaryDirectory() as root:
            source_text.write_tree(root, files)
            self.assertEqual(list(problems(root)), list(expected))

    def test_stated_and_checked(self):
        self.check({**self.STATES, **self.CHECKS})

    def test_stated_and_not_checked(self):
        self.check(self.STATES, "tracker/README.md:3: no line checks inv.a.b")

    def test_checked_and_not_stated(self):
        self.check(self.CHECKS, "tracker/a.cc:2: no README.md states inv.a.b")

    def test_stated_twice(self):
        self.check(
            {**self.STATES, **self.CHECKS, "runtime/README.md": "**inv.a.b**: a is c.\n"},
            "tracker/README.md:3: inv.a.b is stated in runtime/README.md:1 already",
        )

    def test_only_a_readme_states(self):
        self.check(
            {**self.CHECKS, "tracker/OTHER.md": "**inv.a.b**"},
            "tracker/OTHER.md:1: no README.md states inv.a.b",
            "tracker/a.cc:2: no README.md states inv.a.b",
        )

    def test_mentions(self):
        mention = {"tools/b.h": "int b;\n// See inv.a.c and inv.a.b.\n"}
        self.check(
            {**self.STATES, **self.CHECKS, **mention},
            "tools/b.h:2: no README.md states inv.a.c",
        )
        self.check({**self.STATES, **self.CHECKS, "tools/b.py": "# All of inv.a.*\n"})
        self.check({**self.STATES, **self.CHECKS, "tools/b.h": "// inv.example.word\n"})
        self.check({"b.h": "// inv.examples\n"}, "b.h:1: no README.md states inv.examples")
        self.check(
            {"tools/BUILD": "# All of inv.c.*\n"}, "tools/BUILD:1: no README.md states inv.c"
        )

    def cites(self, path, text):
        with self.subTest(text=text):
            self.check({**self.STATES, path: text})

    def does_not_cite(self, path, text):
        with self.subTest(text=text):
            self.check({**self.STATES, path: text}, "tracker/README.md:3: no line checks inv.a.b")

    def test_checks_in_code(self):
        self.cites("a.h", 'ALLOMON_DCHECK_EQ("inv.a.b", a, b);\n')
        self.cites("a.h", 'ALLOMON_GC_CHECK(F(a, ")") == b,\n    "inv.a.b: a is not b");\n')
        self.cites("a.cc", 'if (a != b) Fail("inv.a.b: a is not b");\n')
        self.does_not_cite("a.cc", '// ALLOMON_DCHECK("inv.a.b", a == b);\n')
        self.does_not_cite("a.cc", '/* ALLOMON_DCHECK("inv.a.b",\n a == b); */\nint a;\n')
        self.does_not_cite("a.cc", 'Print("inv.a.b");\n')
        self.does_not_cite("a.cc", 'Fail("");\nPrint("inv.a.b");\n')
        self.does_not_cite("a.cc", "// inv.a.b: a is b.\nif (a == b) F();\n")

    def test_checks_by_other_means(self):
        self.cites("a.h", "// Checks inv.a.b.\nstatic_assert(kA == kB);\n")
        self.cites("a_test.cc", "// A surprise.  It checks inv.a.b: a is b.\nTEST(A, IsB) {}\n")
        self.cites("a_test.cc", "TEST(A, IsB) {\n  EXPECT_EQ(a, b);  // checks inv.a.b\n}\n")
        self.cites("a_test.py", "# checks inv.a.b\ndef test_a(self):\n    pass\n")
        self.cites("a.h", "// Checked by inv.a.b\nint a ALLOMON_GUARDED_BY(lock_);\n")
        self.does_not_cite("a.h", "// Checks inv.a.b.\nint a = b;\n")
        self.does_not_cite("a_test.cc", "// inv.a.b\nTEST(A, IsB) {}\n")

    def test_executed_checks(self):
        with tempfile.TemporaryDirectory() as root:
            code = 'int F() {\n  // ALLOMON_DCHECK("inv.example.a", false);\n\n'
            code += '  ALLOMON_DCHECK_EQ("inv.example.a", a, b);\n}\n'
            files = {"tools/heap/a.cc": code, "tools/gate/b.cc": code, "tools/heap/README.md": code}
            source_text.write_tree(root, files)
            self.assertEqual(executed_checks(root), (1, 5))

    def test_several_in_a_comment(self):
        self.check(
            {
                "README.md": "**inv.a.b** **inv.c.d** **inv.e.f**\n",
                "a.h": "// Checks inv.a.b, inv.c.d\n// and inv.e.f.\nstatic_assert(kA == kB);\n",
            }
        )


class SourceTree(unittest.TestCase):
    def test_invariants(self):
        found = list(problems(source_text.workspace()))
        if found:
            self.fail(f"{len(found)} problems\n" + "\n".join(found))

    def test_checks_are_many(self):
        checks, lines = executed_checks(source_text.workspace())
        rate = 1000 * checks / lines
        print(f"{checks} executed checks in {lines} lines, {rate:.2f} in a thousand")
        self.assertGreater(lines, 50000)
        self.assertGreaterEqual(rate, LEAST_CHECKS_PER_THOUSAND_LINES)


if __name__ == "__main__":
    sys.exit(unittest.main())
