#!/usr/bin/env python3
"""A host of libc++ under a library that was built with libstdc++: what the host throws, catches and
asks for is libc++'s.  Compiled here, by clang++, since the build has one C++ library.

libgcc_s stands in front, because Debian's libc++ takes LLVM's unwinder, by which a thread that ends
itself crashes in any host: the C library calls libgcc_s's."""

import os
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

HERE = "//tests/integration/host_exceptions:"
RATES = ("0", "1e-4", "1")
FLAGS = ["-std=c++17", "-O1", "-g1", "-fno-builtin", "-fno-omit-frame-pointer", "-stdlib=libc++",
         "-I" + os.path.dirname(runfile("README.md")),
         "-Wl,--no-as-needed", "-lgcc_s", "-pthread"]


def has_libcxx():
    done = subprocess.run(["clang++", "-stdlib=libc++", "-fsyntax-only", "-xc++", "-"],
                          input="#include <new>", capture_output=True, text=True, check=False)
    return done.returncode == 0


@unittest.skipUnless(has_libcxx(), "no libc++: apt install libc++-dev libc++abi-dev")
class LibcxxHost(Case):
    def compiled(self, output, *arguments):
        path = os.path.join(self.directory, output)
        sources = [runfile(HERE + name) for name in arguments if name.endswith(".cc")]
        options = [argument for argument in arguments if not argument.endswith(".cc")]
        subprocess.run(["clang++", *FLAGS, *options, *sources, "-o", path], check=True)
        return path

    def check(self, argv):
        for rate in RATES:
            with self.subTest(rate=rate):
                done = self.run_preloaded(argv, {"ALLOMON_RATE": rate})
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_exceptions_are_the_hosts(self):
        host = self.compiled("host", "main.cc", "failing_new.cc")
        self.assertEqual(self.run_plain([host]).returncode, 0)
        self.check([host])

    def test_exceptions_of_a_plugin_in_a_c_host(self):
        plugin = self.compiled("libplugin.so", "failing_new.cc", "-shared", "-fPIC")
        check = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).CheckFailingNew())"
        self.check(["/usr/bin/python3", "-I", "-c", check, plugin])

    def test_containers_are_charged_to_their_callers(self):
        host = self.compiled("containers", "libcxx_containers.cc")
        done = self.run_preloaded([host], {"ALLOMON_RATE": "1", "ALLOMON_OUT": "mlmon.out"})
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        mlmon = self.path("mlmon.out")
        names = self.table(mlmon + ".sources", mlmon).raw
        self.assertGreaterEqual(names["Fill"], 3 * 8 * 1000)
        for name in names:
            self.assertIsNone(re.match(r"std::|operator new", name), name)


if __name__ == "__main__":
    sys.exit(unittest.main())
