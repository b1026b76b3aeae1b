#!/usr/bin/env python3
"""Large blocks take what the program touches: calloc writes nothing, realloc moves pages."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

HOST = runfile("//tests/integration:large_blocks_host")
MODES = {
    "not profiled": {"ALLOMON_PROFILE": "no"},
    "counted": {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "1"},
    "followed": {"ALLOMON_PROFILE": "live,stack", "ALLOMON_RATE": "1"},
    "some followed": {"ALLOMON_PROFILE": "live", "ALLOMON_RATE": "1e-8", "ALLOMON_SEED": "1"},
    "guarded": {"ALLOMON_PROFILE": "no", "ALLOMON_GUARD": "1/1", "ALLOMON_RATE": "0.01"},
}
# Of 1,000 MiB of sparse blocks: what glibc takes is 5.5 MB in blocks of 1 MiB, 1.4 in one.
RESIDENT_KIB = 8 * 1024


class LargeBlocks(Case):
    def added_kib(self, case):
        """By mode: the resident KiB that a case added."""
        added = {}
        for mode, variables in MODES.items():
            done = self.run_preloaded([HOST, case], variables)
            self.assertEqual((done.returncode, done.stderr), (0, ""), (case, mode))
            added[mode] = int(done.stdout)
        return added

    def expect_untouched(self, *cases):
        for case in cases:
            for mode, kib in self.added_kib(case).items():
                self.assertLess(kib, RESIDENT_KIB, (case, mode))

    def test_sparse_calloc_touches_no_page(self):
        self.expect_untouched("small", "medium", "large", "huge")

    def test_realloc_moves_pages(self):
        self.expect_untouched("realloc")

    def test_a_used_block_comes_back_as_zero(self):
        self.added_kib("after_use")

    def test_a_block_of_two_mappings_is_copied(self):
        self.added_kib("split")

    def test_alignment(self):
        self.added_kib("aligned")

    def test_what_the_kernel_refuses_is_refused(self):
        self.added_kib("refused")

    def test_threads_and_forks(self):
        self.added_kib("threads")
        self.added_kib("fork")


if __name__ == "__main__":
    unittest.main()
