#!/usr/bin/env python3
"""Every relative link in a Markdown file of the tree points to a file that exists."""

import os
import re
import sys
import tempfile
import unittest
import urllib.parse

CODE = re.compile(r"^( *)(```|~~~).*?^ *\2[^\n]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
REFERENCE_LINK = re.compile(r"^ {0,3}\[[^\]]+\]:\s*<?([^\s>]+)", re.MULTILINE)
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def markdown_files(root):
    for folder, subfolders, files in os.walk(root):
        subfolders[:] = sorted(
            name for name in subfolders if not name.startswith((".", "bazel-"))
        )
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".md"))


def broken_links(root):
    for path in markdown_files(root):
        with open(path, encoding="utf-8") as source:
            text = CODE.sub("", source.read())
        for link in INLINE_LINK.findall(text) + REFERENCE_LINK.findall(text):
            target = urllib.parse.unquote(link.split("#")[0].split("?")[0])
            if not target or SCHEME.match(link):
                continue
            folder = root if target.startswith("/") else os.path.dirname(path)
            target = os.path.normpath(os.path.join(folder, target.lstrip("/")))
            # A link that leaves the tree would work on one machine only.
            if not target.startswith(root) or not os.path.exists(target):
                yield f"{os.path.relpath(path, root)}: {link}"


class FakeTree(unittest.TestCase):
    def check(self, text, *expected):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "module"))
            for path, content in ("README.md", ""), ("module/a b.h", ""), ("module/x.md", text):
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(content)
            found = list(broken_links(root))
        self.assertEqual(found, [f"module/x.md: {link}" for link in expected])

    def test_good(self):
        self.check("[a](../README.md) [b](a%20b.h#L3) [c](/module/x.md) ![d](../module) [e](#e)")
        self.check("[a](https://example.org/x) [b](mailto:b@example.org)\n[c]: ../README.md\n")
        self.check("`[a](nowhere)`\n```\n[a](nowhere)\n```\n")

    def test_broken(self):
        self.check("[a](nowhere.md)", "nowhere.md")
        self.check('[a](../module/nowhere.md#there "title")', "../module/nowhere.md#there")
        self.check("[a](/nowhere) [b](README.md)", "/nowhere", "README.md")
        self.check("[a](../../../etc/passwd)", "../../../etc/passwd")
        self.check("[a]: nowhere\n", "nowhere")


class SourceTree(unittest.TestCase):
    def test_links(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.assertTrue(os.path.exists(os.path.join(root, "WORKSPACE")), root)
        found = list(broken_links(root))
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    sys.exit(unittest.main())
