#!/usr/bin/env python3
"""Who may include whom (DESIGN: Modules), checked because g++ does not.

The rules are in ALLOWED: for each module, what its files may include of the others; what
is not listed is an error.  Besides, each .cc file includes its own header first, so that
every header is compiled by itself at least once.
"""

import os
import re
import sys
import tempfile
import unittest

# module -> what of our own tree its files may include, as regular expressions.
ALLOWED = {
    "tracker": [r"tracker/.*"],
    "allocator": [
        r"allocator/.*",
        r"tracker/(tracker|heap_client|block_note)\.h",
        r"tracker/base/[^/]+\.h",
    ],
    "runtime": [
        r"runtime/.*",
        r"tracker/(?!core/|sampling/|profile/(record|sources|hooks|write)/).*",
        r"allocator/(allomon_)?backend\.h",
        r"allocator/backends/.*",
    ],
    "tools": [r"tools/.*", r"(tracker|allocator|runtime)/(?!internal/|core/|sampling/).*"],
    "examples": [
        r"examples/.*",
        r"(tracker|tracker/profile|tracker/gates|allocator|runtime)/[^/]+\.h",
        r"tracker/(callstack/managed_functions|symbols/symbols)\.h",
    ],
}

# Single files that may do more than their module.
EXCEPTIONS = {
    # A program that is profiled without a line of code: started by the environment.
    r"allocator/(.*/)?(auto_profile|environment)[^/]*": [r"tracker/profile/.*\.h"],
}

MODULES = set(ALLOWED) | {"tests", "benchmarks"}
INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def own_files(root):
    """Paths of all C++ sources of the modules, relative to root."""
    for module in sorted(MODULES):
        for folder, subfolders, files in os.walk(os.path.join(root, module)):
            subfolders.sort()
            for name in sorted(files):
                if name.endswith((".h", ".cc", ".cpp", ".inc")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes(root, path):
    """(line number, included path as seen from the root) of each #include in a file."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if os.path.exists(os.path.join(root, beside)):
                name = beside
            yield number, os.path.normpath(name)


def violations(root):
    for path in own_files(root):
        module = path.split("/")[0]
        found = list(includes(root, path))

        stem, extension = os.path.splitext(path)
        if extension == ".cc" and os.path.exists(os.path.join(root, stem + ".h")):
            if not found or found[0][1] != stem + ".h":
                yield f"{path}: its own header, {stem}.h, must be its first include"

        if module not in ALLOWED:
            continue
        allowed = list(ALLOWED[module])
        for pattern, more in EXCEPTIONS.items():
            if re.fullmatch(pattern, path):
                allowed += more
        for number, name in found:
            if name.split("/")[0] not in MODULES or "/" not in name:
                continue
            if not any(re.fullmatch(pattern, name) for pattern in allowed):
                yield f"{path}:{number}: {module}/ may not include {name}"


class FakeTree(unittest.TestCase):
    """A tree that breaks each rule is reported; one that keeps them is not."""

    def check(self, files, *expected):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(text)
            found = list(violations(root))
        self.assertEqual(len(found), len(expected), found)
        for line, (path, text) in zip(found, expected):
            self.assertTrue(line.startswith(path) and text in line, line)

    def forbidden(self, path, name):
        with self.subTest(path=path, name=name):
            self.check({path: f'\n  #  include "{name}"\n'}, (path + ":2:", name))

    def test_forbidden(self):
        self.forbidden("tracker/a.h", "allocator/allocator.h")
        self.forbidden("tracker/core/a.cc", "runtime/heap.h")
        self.forbidden("tracker/profile/a.cc", "tools/report.h")
        self.forbidden("tracker/a.cc", "tests/support/statistics.h")
        self.forbidden("runtime/a.cc", "allocator/allocator.h")
        self.forbidden("runtime/a.cc", "allocator/alloc_path.h")
        self.forbidden("runtime/a.cc", "tracker/core/sampler.h")
        self.forbidden("allocator/a.cc", "runtime/heap.h")
        self.forbidden("allocator/a.cc", "tracker/core/sampler.h")
        self.forbidden("allocator/a.cc", "tracker/profile/profile.h")
        self.forbidden("allocator/auto_profile.cc", "tracker/core/sampler.h")
        self.forbidden("tools/a.cc", "tracker/core/sampler.h")
        self.forbidden("examples/a.cc", "tracker/core/sampler.h")
        self.forbidden("examples/a.cc", "tracker/callstack/capture.h")
        self.forbidden("examples/a.cc", "allocator/backends/mimalloc.h")
        self.forbidden("examples/a.cc", "tests/support/statistics.h")

    def test_forbidden_in_other_spellings(self):
        self.check({"tracker/a.cc": "#include <runtime/heap.h>\n"}, ("tracker/a.cc:1", "heap.h"))
        self.check(
            {"tracker/a.cc": '#include "../runtime/heap.h"\n', "runtime/heap.h": ""},
            ("tracker/a.cc:1", "runtime/heap.h"),
        )

    def test_own_header_first(self):
        header = {"tracker/a.h": ""}
        self.check({**header, "tracker/a.cc": '#include "tracker/a.h"\n#include <vector>\n'})
        self.check({**header, "tracker/a.cc": "int a;\n"}, ("tracker/a.cc", "own header"))
        self.check(
            {**header, "tracker/a.cc": '#include <vector>\n#include "tracker/a.h"\n'},
            ("tracker/a.cc", "own header"),
        )

    def test_allowed(self):
        self.check(
            {
                "tracker/tracker.cc": '#include "tracker/core/sampler.h"\n',
                "allocator/a.cc": '#include "tracker/heap_client.h"\n#include <stdio.h>\n',
                "allocator/auto_profile.cc": '#include "tracker/profile/profile.h"\n',
                "runtime/a.cc": '#include "allocator/backends/backend.h"\n',
                "runtime/b.cc": '// #include "allocator/allocator.h"\n',
                "examples/a.cc": '#include "tracker/tracker.h"\n#include "runtime/heap.h"\n',
                "tests/tracker/a_test.cc": '#include "tracker/core/sampler.h"\n',
            }
        )


class SourceTree(unittest.TestCase):
    def test_include_rules(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.assertTrue(os.path.exists(os.path.join(root, "WORKSPACE")), root)
        found = list(violations(root))
        print(len(list(own_files(root))), "files read")
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    sys.exit(unittest.main())
