#!/usr/bin/env python3
"""What a preloaded program asks of its heap: the functions of the C library answer for ours."""

import os
import sys
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case  # noqa: E402

HOLDS = """
import ctypes, sys
libc = ctypes.CDLL(None)
held = [b'x' * 10000 for i in range(1000)]
libc.fopen.restype = ctypes.c_void_p
libc.fclose.argtypes = [ctypes.c_void_p]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
file = libc.fopen(b'info.xml', b'w')
print(libc.malloc_info(0, file), libc.fclose(file))
libc.malloc_stats()
for name in '__libc_malloc', '__libc_valloc', '__libc_pvalloc':
    take = getattr(libc, name)
    take.restype = ctypes.c_void_p
    libc.free(ctypes.c_void_p(take(100)))
# Old programs name it; the C library shows it to no others.
libc.cfree(ctypes.c_void_p(libc.__libc_malloc(100)))
"""
HELD = 1000 * 10000


class HeapUsage(Case):
    def test_functions_of_the_c_library_answer_for_ours(self):
        for env in {"ALLOMON_PROFILE": "no"}, {"ALLOMON_PROFILE": "live", "ALLOMON_RATE": "1"}:
            with self.subTest(env):
                done = self.run_preloaded(
                    ["/usr/bin/python3", "-c", HOLDS], {"PYTHONMALLOC": "malloc", **env}
                )
                self.assertEqual((done.returncode, done.stdout), (0, "0 0\n"), done.stderr)
                self.check_xml()
                self.check_stats(done.stderr)

    def check_xml(self):
        root = xml.etree.ElementTree.parse(self.path("info.xml")).getroot()
        self.assertEqual((root.tag, root.get("version")), ("malloc", "1"))
        system = int(root.find("system[@type='current']").get("size"))
        unused = int(root.find("total[@type='rest']").get("size"))
        mapped = int(root.find("total[@type='mmap']").get("size"))
        used = system - unused + mapped
        self.assertGreater(used, HELD)
        self.assertLess(used, 10 * HELD)

    def check_stats(self, text):
        rows = [line.split("=") for line in text.splitlines() if "=" in line]
        in_use = [int(number) for name, number in rows if name.startswith("in use")]
        self.assertEqual(len(in_use), 2, text)
        self.assertGreater(in_use[1], HELD)


if __name__ == "__main__":
    sys.exit(unittest.main())
