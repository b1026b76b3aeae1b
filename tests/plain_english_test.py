#!/usr/bin/env python3
"""Comments of C and C++ say first what they are about: a ratchet.

A pattern finds what mostly needs a second reading: a comment that begins with "Of what", "Behind"
or "Who", a thread that is a "who", "behind" for "after".  It has false alarms, so a folder may have
some, and no comment is wrong because it is found.  What a folder may have only ever shrinks: who
mends a folder lowers the bound.
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

SHORTEST = 36  # in characters: shorter ones are beside a field
MOST_OF_FOLDER = 0.20
MOST_OF_TREE = 0.055
# The bound is no further above what is found: who mends comments lowers it.
MOST_ABOVE = 0.005
# In a folder with few comments one more may be found than the share allows.
ALLOWANCE = 1

AT_START = re.compile(
    r"Of (a|an|the|what|which|each|those|its|all|it|one)\b|What |Who |Whose |By (what|the|a|its) "
    r"|Behind |Beside |Where |How |From |With |Without |As |At |In |None |For |To |Not "
)
ANYWHERE = re.compile(
    r"\bwho(m|se)?\b"
    r"|\bwhat (is|was|has|it|they|a|the|no|are|one|comes|goes|stands|lies|follows)\b"
    r"|\bbehind\b|\bfurther (in|out)\b|\bas of\b|\bnone\b"
)
LINE = re.compile(r"\s*//+ ?(.*)$")
AFTER_CODE = re.compile(r"\s// (.*)$")


def blocks(text):
    """(line number, text) of each block of // comments."""
    begin, words = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        own = LINE.match(line)
        if own:
            begin = begin or number
            words.append(own[1])
            continue
        if words:
            yield begin, " ".join(words)
            begin, words = 0, []
        after = AFTER_CODE.search(line)
        if after:
            yield number, after[1]
    if words:
        yield begin, " ".join(words)


def is_found(text):
    return bool(AT_START.match(text) or ANYWHERE.search(text))


def count(root):
    """{folder: [blocks, [(path, line, text) of those found]]}"""
    folders = {}
    for path in source_text.paths(root):
        if not path.endswith((".c", ".cc", ".h")) or path.startswith(source_text.FOREIGN):
            continue
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
            text = file.read()
        folder = folders.setdefault(os.path.dirname(path), [0, []])
        for line, block in blocks(text):
            if len(block) < SHORTEST:
                continue
            folder[0] += 1
            if is_found(block):
                folder[1].append((path, line, block))
    return folders


def problems(folders):
    for name, (total, found) in sorted(folders.items()):
        most = max(ALLOWANCE, int(MOST_OF_FOLDER * total))
        if len(found) > most:
            yield f"{name}: {len(found)} of {total} comments are found, {most} may be:"
            yield from (f"  {path}:{line}: {text[:90]}" for path, line, text in found)
    total = sum(folder[0] for folder in folders.values())
    found = sum(len(folder[1]) for folder in folders.values())
    if found > MOST_OF_TREE * total:
        yield f"the tree: {found} of {total} comments are found, {MOST_OF_TREE:.1%} may be"


class PlainEnglish(unittest.TestCase):
    def test_source_tree(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        folders = count(root)
        total = sum(folder[0] for folder in folders.values())
        found = sum(len(folder[1]) for folder in folders.values())
        print(f"{found} of {total} comments, {found / total:.1%}")
        self.assertGreater(total, 5000)
        self.assertLess(MOST_OF_TREE - found / total, MOST_ABOVE, "MOST_OF_TREE can be lowered")
        listed = list(problems(folders))
        self.assertEqual(listed, [], "\n" + "\n".join(listed))

    def test_comments_that_are_found(self):
        for text in (
            "What is old, and beyond the most that are kept the oldest.",
            "Of a thread that has ended: the words that it had allocated.",
            "Behind the lock: nobody else looks at the table.",
            "The thread who holds the lock waits for the others.",
            "The lock is released behind the store of the pointer.",
        ):
            self.assertTrue(is_found(text), text)
        for text in (
            "Evicts expired replies, then the oldest ones above kMost.",
            "Counts only memory that is still allocated.",
        ):
            self.assertFalse(is_found(text), text)

    def test_a_folder_beyond_its_bound_is_reported(self):
        dialect = "// Behind the lock: nobody else looks at the table.\n"
        plain = "// Counts only memory that is still allocated here.\n"
        with tempfile.TemporaryDirectory() as root:
            def listed(text):
                source_text.write_tree(root, {"tools/a.cc": text})
                return list(problems(count(root)))

            self.assertEqual(listed((plain + "int a;\n") * 19 + dialect + "int b;\n"), [])
            self.assertNotEqual(listed(((plain + "int a;\n") * 3 + dialect + "int b;\n") * 4), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
