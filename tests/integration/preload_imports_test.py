#!/usr/bin/env python3
"""What liballomon.so takes from its host.  A host may have a malloc, an operator new, a
pthread_create of its own, and has them looked up before ours: whatever of them our own code reached
by a symbol would be the host's, and a block would be taken from one allocator and given to another.
"""

import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import runfile  # noqa: E402

LIBRARY = runfile("//allocator:liballomon.so")

# What only the loader, the C library and libgcc may give.
LIBRARIES = {"libc.so.6", "ld-linux-x86-64.so.2"}

# The C library's allocator, and its functions whose results the caller must give to free().  Our
# own free() would be given a block of the host's malloc.
HANDS_OUT_BLOCKS = re.compile(
    r"(__libc_)?(malloc|calloc|realloc|free|memalign|valloc|pvalloc|reallocarray|cfree|mallopt)"
    r"|malloc_.*|mallinfo2?|aligned_alloc|posix_memalign"
    r"|(__)?strn?dup|wcsdup|(__)?getdelim|getline|(__)?v?asprintf(_chk)?"
    r"|open_w?memstream|scandir.*|getcwd|get_current_dir_name"
    r"|canonicalize_file_name|tempnam|getaddrinfo|glob|argz_.*"
)

# Weak names without a version: 0 where nobody has them.
WEAK = re.compile(
    r"__gmon_start__|_ITM_(de)?registerTMCloneTable"  # of crtbegin.o
    # libitm's, in libstdc++'s transactional copies of its exceptions' constructors, which only
    # transactions enter.
    r"|_ITM_(RU1|RU8|addUserCommitAction|memcpyRnWt|memcpyRtWn)|_ZGTt(nam|dlPv)"
    # Names of libc.a alone, for static programs.
    r"|__pthread_create|__execvpe"
    # Of a Python interpreter (tracker/cpython).
    r"|Py_Version|_PyRuntime|Py(Code|Unicode|Bytes)_Type|PyMem_[GS]etAllocator"
    r"|PyGILState_GetThisThreadState|_PyThreadState_UncheckedGet|PyThreadState_GetUnchecked"
    # Of a Lua (tracker/lua), for the state that it probes.
    r"|lua_(newstate|close|newthread|version|load|pcallk|resume|xmove|pushcclosure|closeslot)"
)


def readelf(*options):
    return subprocess.run(
        ["readelf", "-W", *options, LIBRARY], capture_output=True, text=True, check=True
    ).stdout


class Symbol:
    """A line of the dynamic symbol table."""

    ROW = re.compile(r"\s*\d+: [0-9a-f]+ +\w+ (\w+) +(\w+) +\w+ +(\w+) ([^@ ]*)(?:@+(\S+))?.*")

    def __init__(self, line):
        kind, self.binding, section, self.name, self.version = self.ROW.fullmatch(line).groups()
        self.undefined = section == "UND"
        self.thread_local = kind == "TLS"


def symbols():
    lines = readelf("--dyn-syms").splitlines()
    found = [Symbol(line) for line in lines if re.match(r"\s*\d+: ", line)]
    return [symbol for symbol in found if symbol.name]


class Imports(unittest.TestCase):
    def test_only_the_c_library_is_needed(self):
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("-d")))
        self.assertLessEqual(needed, LIBRARIES)

    def test_nothing_of_the_host_and_no_allocation_is_imported(self):
        imports = [symbol for symbol in symbols() if symbol.undefined]
        self.assertGreater(len(imports), 50)
        for symbol in imports:
            with self.subTest(symbol.name):
                self.assertIsNone(HANDS_OUT_BLOCKS.fullmatch(symbol.name))
                if symbol.version is None:
                    self.assertEqual(symbol.binding, "WEAK")
                    self.assertRegex(symbol.name, WEAK)
                else:
                    self.assertRegex(symbol.version, "^GLIBC_2")

    def test_what_is_ours_is_bound_to_ours(self):
        """A relocation by name is looked up in the host first.  Thread-local data has no other
        kind of relocation, but its names are local."""
        ours = {symbol.name: symbol for symbol in symbols() if not symbol.undefined}
        self.assertIn("malloc", ours)
        relocations = re.findall(r"^[0-9a-f]{16} .*? (R_X86_64_\w+) +[0-9a-f]+ ([^@ ]+)",
                                 readelf("-r"), re.MULTILINE)
        self.assertGreater(len(relocations), 50)
        for kind, name in relocations:
            if name in ours:
                with self.subTest(name):
                    self.assertEqual((ours[name].binding, ours[name].thread_local), ("LOCAL", True),
                                     kind)

    def test_glibc_that_is_needed_is_the_one_that_the_readme_states(self):
        """From 2.38 on, glibc's headers give strtol and its kin names of that version."""
        needed = max(
            tuple(map(int, version.split(".")))
            for version in re.findall(r"Name: GLIBC_([0-9.]+)", readelf("-V"))
        )
        with open(runfile("README.md"), encoding="utf-8") as readme:
            stated = re.search(r"glibc (\d+)\.(\d+) or\s+later\s+\((\d+)\.(\d+) for", readme.read())
        oldest, newest = tuple(map(int, stated.groups()[:2])), tuple(map(int, stated.groups()[2:]))
        of_this_machine = tuple(map(int, os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")))
        self.assertEqual(needed[:2], newest if of_this_machine >= newest else oldest)

    def test_small_variables_lie_side_by_side(self):
        """A table between them gives nearly each a page of its own, which the start touches.  Large
        ones are marked (tracker/base/large_object.h).  mimalloc's are its own."""
        sections = re.findall(r"\[ *(\d+)\] (\.data|\.bss) ", readelf("-S"))
        self.assertEqual({name for _, name in sections}, {".data", ".bss"})
        lines = [line.split() for line in readelf("-s").splitlines()]
        # Sections are numbered in the column before the name; a size from 100,000 on is in hex.
        ours = {
            line[7]: int(line[2], 0)
            for line in lines
            if len(line) == 8 and line[3] == "OBJECT" and line[6] in dict(sections)
            and line[7].startswith("_Z")
        }
        self.assertGreater(len(ours), 100)
        self.assertEqual([name for name, size in ours.items() if size >= 4096], [])
        self.assertLess(sum(ours.values()), 5 * 4096)


if __name__ == "__main__":
    sys.exit(unittest.main())
