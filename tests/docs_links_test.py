#!/usr/bin/env python3
"""Every relative link in a Markdown file of the tree points to a file that exists, and every anchor
to a heading of that document."""

import os
import re
import sys
import tempfile
import unittest
import urllib.parse

# Beside this file in the source tree, not beside the link to it that Bazel runs.
sys.dont_write_bytecode = True  # the source tree stays as it is
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "support"))
import markdown

CODE = re.compile(r"`[^`\n]*`")
INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
REFERENCE_LINK = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def markdown_files(root):
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(
            name for name in subfolders if not name.startswith((".", "bazel-"))
        )
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".md"))


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def broken_links(root):
    anchors = {path: markdown.anchors(read(path)) for path in markdown_files(root)}
    for path in anchors:
        text = CODE.sub("", markdown.without_fences(read(path)))
        for link in INLINE_LINK.findall(text) + REFERENCE_LINK.findall(text):
            if SCHEME.match(link):
                continue
            target, _, anchor = link.partition("#")
            target = urllib.parse.unquote(target.split("?")[0])
            folder = root if target.startswith("/") else os.path.dirname(path)
            target = os.path.normpath(os.path.join(folder, target.lstrip("/"))) if target else path
            # A link that leaves the tree would work on one machine only.
            is_there = target.startswith(root) and os.path.exists(target)
            if not is_there or (anchor and anchor not in anchors.get(target, {anchor})):
                yield f"{os.path.relpath(path, root)}: {link}"


class FakeTree(unittest.TestCase):
    README = "# An [a](module), `b_c`\n"

    def check(self, text, *expected):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "module"))
            files = {"README.md": self.README, "module/a b.h": "", "module/x.md": text}
            for path, content in files.items():
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(content)
            found = list(broken_links(root))
        self.assertEqual(found, [f"module/x.md: {link}" for link in expected])

    def test_good(self):
        self.check("[a](../README.md) [b](a%20b.h#L3) [c](/module/x.md) ![d](../module)")
        self.check("## E 1\n[e](#e-1) [f](../README.md#an-a-b_c)\n## E 1\n[e](#e-1-1)")
        self.check("[a](https://example.org/x) [b](mailto:b@example.org)\n[c]: ../README.md\n")
        self.check("`[a](nowhere)`\n```\n[a](nowhere)\n```\n")

    def test_broken(self):
        self.check("[a](nowhere.md)", "nowhere.md")
        self.check('[a](../module/nowhere.md#there "title")', "../module/nowhere.md#there")
        self.check("[a](/nowhere) [b](README.md)", "/nowhere", "README.md")
        self.check("[a](../../../etc/passwd)", "../../../etc/passwd")
        self.check("[a]: nowhere\n", "nowhere")
        self.check("[a](../README.md#gone)", "../README.md#gone")
        self.check("# A\n[a](#a) [b](#b)\n```\n# B\n```\n", "#b")


class SourceTree(unittest.TestCase):
    def test_links(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.assertTrue(os.path.exists(os.path.join(root, "WORKSPACE")), root)
        found = list(broken_links(root))
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    sys.exit(unittest.main())
