#!/usr/bin/env python3
"""The preloaded library brings no C++ runtime along, and uses the host's.  An exception of operator
new is caught, counted and unwound as in the host alone."""

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


class HostExceptions(Case):
    def check(self, argv):
        for rate in RATES:
            with self.subTest(rate=rate):
                done = self.run_preloaded(argv, {"ALLOMON_RATE": rate})
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_host_alone(self):
        done = self.run_plain([runfile(HERE + "cxx_host")])
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_cxx_host(self):
        self.check([runfile(HERE + "cxx_host")])

    # The dynamic linker does not search the plugin's libstdc++ for the symbols of other libraries.
    def test_c_host_with_cxx_plugin(self):
        check = "import ctypes, sys; sys.exit(ctypes.CDLL(sys.argv[1]).CheckFailingNew())"
        self.check(["/usr/bin/python3", "-I", "-c", check, runfile(HERE + "libplugin.so")])

    def test_no_cxx_runtime_is_loaded_into_a_c_host(self):
        done = subprocess.run(
            ["readelf", "-dW", runfile("//allocator:liballomon.so")],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
        self.assertIn("libc.so.6", needed)
        self.assertEqual(set(needed) - {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"}, set())


if __name__ == "__main__":
    sys.exit(unittest.main())
