#!/usr/bin/env python3
"""Every performance figure in the project's README.md points to where it was measured, and so do
the figures that docs/ links.

A claim is a sentence with a number and a unit of cost behind it: instructions, nanoseconds, times.
It must hold a link into benchmarks/README.md, to a section that exists; and every number in a
link's text must stand in that section, where it may have more digits.
"""

import os
import re
import sys
import unittest

# Beside this file in the source tree, not beside the link to it that Bazel runs.
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "support"))
import markdown

WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
NUMBER = r"(?:\d+(?:[.,]\d+)*|\b(?:" + "|".join(WORDS[1:]) + r")\b)"
COST = r"(?:instructions?|nanoseconds?|microseconds?|milliseconds?|[nuμm]s|seconds?|times)\b"
CLAIM = re.compile(NUMBER + r"\]?(?:\([^)]*\))?\s+(?:more\s+|fewer\s+)?" + COST, re.IGNORECASE)
LINK = re.compile(r"\[([^\]]*)\]\((?:\.\./)?benchmarks/README\.md(?:#([^)]*))?\)")


def sentences(text):
    for paragraph in re.split(r"\n\s*\n", markdown.without_fences(text)):
        if not paragraph.startswith("|"):
            # A link's address may end a line.  It never ends a sentence.
            yield from re.split(r"(?<=[.:;])\s+", paragraph.replace("\n", " "))


def stands_in(number, text):
    if number.lower() in WORDS:
        number = str(WORDS.index(number.lower()))
    more_digits = r"\d*" if "." in number else r"(?!\d)"
    return re.search(r"(?<![\d.])" + re.escape(number) + more_digits, text)


def problems(readme, benchmarks):
    for sentence in sentences(readme):
        if CLAIM.search(sentence) and not LINK.search(sentence):
            yield f"no link to a measurement: {sentence}"
    yield from link_problems(readme, benchmarks)


def link_problems(document, benchmarks):
    """Of all its links into benchmarks/README.md, those in tables included."""
    measured = markdown.sections(benchmarks)
    for text, target in LINK.findall(markdown.without_fences(document)):
        numbers = re.findall(NUMBER, text)
        if not target and numbers:
            yield f"link without a section: {text}"
        elif target and target not in measured:
            yield f"no section #{target} in benchmarks/README.md: {text}"
        elif target:
            for number in numbers:
                if not stands_in(number, measured[target]):
                    yield f"{number} is not in #{target}: {text}"


class Rules(unittest.TestCase):
    MEASURED = "# B\n## 1. The fast path\nexceeds 4 or 4.74\n## 2. Other\n12\n"

    def check(self, readme, *expected):
        found = [problem.split(":")[0] for problem in problems(readme, self.MEASURED)]
        self.assertEqual(found, list(expected))

    def test_claims_with_their_measurement(self):
        self.check("It takes [four instructions](benchmarks/README.md#1-the-fast-path) more.")
        self.check("It takes\n[4.7 times](benchmarks/README.md#1-the-fast-path) its time.")
        self.check("```\n12 ns\n```\n\nIn three calls, at most. Line 12.")

    def test_claims_without(self):
        self.check("It takes four instructions more.", "no link to a measurement")
        self.check("It takes 12 ns.", "no link to a measurement")
        self.check("A thing: 3.5 times its time.", "no link to a measurement")
        self.check("[12 ns](elsewhere.md) it takes.", "no link to a measurement")

    def test_links_that_lead_elsewhere(self):
        self.check("[4 ns](benchmarks/README.md)", "link without a section")
        self.check("[benchmarks](benchmarks/README.md)")
        no_section = "no section #7-gone in benchmarks/README.md"
        self.check("[4 ns](benchmarks/README.md#7-gone)", no_section)
        self.check("[4 ns](benchmarks/README.md#2-other)", "4 is not in #2-other")
        for number in "5", "4.8":
            link = f"[{number} ns](benchmarks/README.md#1-the-fast-path)"
            self.check(link, f"{number} is not in #1-the-fast-path")


ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


class SourceTree(unittest.TestCase):
    def test_readme(self):
        readme = read("README.md")
        self.assertGreaterEqual(len(LINK.findall(readme)), 4, "the README's claims have gone")
        found = list(problems(readme, read("benchmarks/README.md")))
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_links_of_the_pages_for_users(self):
        found, links = [], 0
        for name in sorted(os.listdir(os.path.join(ROOT, "docs"))):
            page = read(os.path.join("docs", name))
            links += len(LINK.findall(page))
            for problem in link_problems(page, read("benchmarks/README.md")):
                found.append(f"{name}: {problem}")
        self.assertEqual(found, [], "\n" + "\n".join(found))
        self.assertGreaterEqual(links, 3)


if __name__ == "__main__":
    sys.exit(unittest.main())
