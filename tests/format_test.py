#!/usr/bin/env python3
"""All C and C++ sources are as clang-format 14 writes them, by .clang-format.

Other versions break lines elsewhere, so the test looks for that one, and is skipped where it is
not installed.

And the sources that differ by processor compile for the other one, 64-bit Arm, by clang and the
headers of packages.txt, whatever machine this is.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

VERSION = "14"
MODULES = ["tracker", "allocator", "runtime", "tools", "examples", "tests", "benchmarks"]
FILES_AT_ONCE = 200


def sources(root):
    for module in MODULES:
        for folder, subfolders, files in os.walk(os.path.join(root, module)):
            subfolders.sort()
            for name in sorted(files):
                if name.endswith((".c", ".cc", ".h")):
                    yield os.path.join(folder, name)


def unformatted(clang_format, root, paths):
    """The lines in which clang-format says what it would change."""
    paths = list(paths)
    found = []
    for at in range(0, len(paths), FILES_AT_ONCE):
        done = subprocess.run(
            [clang_format, "--dry-run", "--style=file", *paths[at : at + FILES_AT_ONCE]],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        found += [line for line in done.stderr.split("\n") if "clang-format-violations" in line]
    return found


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sources_for_arm(root):
    """The .cc files with code for 64-bit Arm, and those that include a header with such code."""
    texts = {}
    for module in ("tracker", "allocator", "runtime"):
        for folder, _, files in os.walk(os.path.join(root, module)):
            for name in files:
                if name.endswith((".cc", ".h")):
                    path = os.path.relpath(os.path.join(folder, name), root)
                    texts[path] = read(os.path.join(root, path))
    own = {path for path in texts if "__aarch64__" in texts[path] or "/aarch64/" in path}
    included = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
    return sorted(
        path
        for path, text in texts.items()
        if path.endswith(".cc") and (path in own or own & set(included.findall(text)))
    )


def errors_for_arm(root, path):
    """The compiler's and assembler's errors and warnings."""
    done = subprocess.run(
        ["clang++", "--target=aarch64-linux-gnu", "-std=c++17", "-Wall", "-Wextra"]
        + ["-I.", "-Iallocator/backends/system", "-idirafter", "/usr/include"]
        # Code that is called at a function's start, as its BUILD file says.
        + (["-O2", "-mgeneral-regs-only"] if path.endswith("entry_call.cc") else [])
        + ["-c", "-o", os.devnull, path],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    return "" if done.returncode == 0 and not done.stderr else f"{path}: {done.stderr[:2000]}"


class Arm(unittest.TestCase):
    root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

    def test_sources_compile(self):
        paths = sources_for_arm(self.root)
        self.assertGreater(len(paths), 25)
        self.assertIn("tracker/profile/hooks/aarch64/entry_call.cc", paths)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = list(filter(None, pool.map(lambda p: errors_for_arm(self.root, p), paths)))
        self.assertEqual(found, [], "\n".join(found))

    def test_an_instruction_of_another_processor_is_found(self):
        with tempfile.TemporaryDirectory() as copy:
            with open(os.path.join(copy, "a.cc"), "w", encoding="utf-8") as source:
                source.write('#include <cstddef>\nvoid F() { asm("pushfq"); }\n')
            self.assertIn("pushfq", errors_for_arm(copy, "a.cc"))
            with open(os.path.join(copy, "a.cc"), "w", encoding="utf-8") as source:
                source.write('#include <cstddef>\nvoid F() { asm("isb"); }\n')
            self.assertEqual(errors_for_arm(copy, "a.cc"), "")


class Format(unittest.TestCase):
    def setUp(self):
        self.root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.clang_format = shutil.which(f"clang-format-{VERSION}")
        if self.clang_format is None:
            self.skipTest(f"clang-format-{VERSION} is not installed")

    def test_source_tree(self):
        paths = list(sources(self.root))
        self.assertGreater(len(paths), 1000)
        found = unformatted(self.clang_format, self.root, paths)
        remedy = f"clang-format-{VERSION} -i FILE mends them\n"
        self.assertEqual(found, [], "\n" + remedy + "\n".join(found))

    def test_a_crooked_line_is_found(self):
        with tempfile.TemporaryDirectory() as copy:
            shutil.copy(os.path.join(self.root, ".clang-format"), copy)
            with open(os.path.join(copy, "a.cc"), "w", encoding="utf-8") as source:
                source.write("int   a ;\n")
            self.assertNotEqual(unformatted(self.clang_format, copy, ["a.cc"]), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
