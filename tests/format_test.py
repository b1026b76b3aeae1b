#!/usr/bin/env python3
"""All C and C++ sources are as clang-format 14 writes them, by .clang-format.

Other versions break lines elsewhere, so the test looks for that one, and is skipped where it is
not installed.

And what differs by machine: sources that differ by processor compile for the other one, 64-bit Arm,
by clang and the headers of packages.txt, whatever machine this is.  The size of a page is that of
tracker/base/page_size.h: lines that calculate with 4096 are found, and PAGE_FORMATS says why some
may.
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

# file -> why its lines mean 4 KiB, whatever a page of the machine is
PAGE_FORMATS = {
    "allocator/backends/mimalloc/mapped_table.cc": "the table's unit, which commands read",
    "tools/explain/heap_blocks.cc": "the unit of that table",
    "tools/explain/python_arenas.cc": "reads no more of a pool than a page has on every machine",
    "tools/load/naming.cc": "files of other machines, by the least page that is",
    "tracker/base/page_size.h": "the size itself",
    "tracker/base/sys/raw_calls.h": "errors of the kernel are numbers from -4095",
    "tracker/c/include/allomon/mimalloc_hooks.h": "bits of a random number",
    "tracker/cpython/code_names.cc": "UTF-8",
    "tracker/recording/thread_names.cc": "bits of a thread's address",
    "tracker/sampling/elementary.cc": "bits of a floating-point number",
    "tools/gate/history/sequential_test.cc": "bits of a random number",
    "tools/snapshot/json_scanner.cc": "UTF-8",
    "tracker/callstack/interpreted_code.cc": "a number of generations",
    "tracker/core/label_sets.h": "a number of sets",
    "tracker/profile/record/thread_attachment.cc": "a number of entries",
}
PAGE_NUMBER = re.compile(
    r"[Pp]age(?:_?[Bb]ytes|_?[Ss]ize|_?[Mm]ask)?\b.*\b(?:4096|4095|0x1000|0xfff)\b"
    r"|Page\w*(?:Shift|Bits)\w* = 12\b"
    r"|\b4095\b|\b0xfff\b|(?:<<|>>) ?12\b|[&%/*+-] ?4096\b|\b4096 ?[%/*-]"
    r"|\b[Mm](?:map|unmap|remap|protect|advise)\(.*\b4096\b"
)


def page_numbers(text):
    """Lines of C++ that calculate with the size of a page."""
    return [
        f"{number}: {line.strip()}"
        for number, line in enumerate(text.split("\n"), 1)
        if PAGE_NUMBER.search(line.split("//")[0])
    ]


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


class Pages(unittest.TestCase):
    def test_sizes_are_the_machines(self):
        root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        found, excepted = [], set()
        for path in sources(root):
            name = os.path.relpath(path, root)
            if name.split("/")[0] in ("tests", "benchmarks"):
                continue
            lines = page_numbers(read(path))
            if name in PAGE_FORMATS and lines:
                excepted.add(name)
            else:
                found += [f"{name}:{line}" for line in lines]
        self.assertEqual(found, [], "\n".join(found))
        self.assertEqual(sorted(set(PAGE_FORMATS) - excepted), [], "they have no such line")

    def test_such_lines_are_found(self):
        for line in (
            "constexpr size_t kPageBytes = 4096;",
            "constexpr int kPageShift = 12;",
            "return (bytes + 4095) & ~size_t{4095};",
            "uintptr_t page = address & ~uintptr_t{0xfff};",
            "uint64_t number = address >> 12;",
            "munmap(start, 4096);",
        ):
            self.assertEqual(page_numbers(line), [f"1: {line}"])
        for line in ("constexpr uint32_t kPlaces = 4096;", "// a page of 4096 bytes", "x << 120"):
            self.assertEqual(page_numbers(line), [])


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
