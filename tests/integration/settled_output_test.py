#!/usr/bin/env python3
"""Where a profile goes is settled when the program starts, and who asks later hears of one that
could not be written."""

import os
import re
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon, runfile  # noqa: E402

HOST = runfile("//tests/integration:ending_host")
ALLOMON = runfile("//tools/allomon:allomon")
MIB = 1 << 20
USED_AT_ONCE = 5 * MIB  # by the host, before it does what it is asked for
USED_BY_DAEMON = 8 * MIB
AS_ROOT = os.geteuid() == 0


def wait_until(found, seconds=60):
    """What `found` answers, once it is anything."""
    end = time.monotonic() + seconds
    while True:
        answer = found()
        if answer or time.monotonic() > end:
            return answer
        time.sleep(0.01)


class SettledOutput(Case):
    def setUp(self):
        super().setUp()
        self.addCleanup(self.clean)

    def clean(self):
        self.allomon("list", "--clean")

    def allomon(self, *arguments):
        return subprocess.run(
            [ALLOMON, *arguments], capture_output=True, encoding="utf-8", timeout=60
        )

    def host(self, *arguments, **variables):
        return self.run_preloaded([HOST, *arguments], {"ALLOMON_RATE": "1", **variables})

    def total(self, name):
        return Mlmon(self.path(name)).total

    def files_of_daemon(self, pattern):
        """Its two files, once both are there."""

        def found():
            named = [name for name in self.files() if re.fullmatch(pattern, name)]
            return named if len(named) == 2 else []

        return sorted(wait_until(found))

    # ---- another folder

    def test_a_program_that_changes_its_folder_writes_where_it_started(self):
        os.mkdir(self.path("other"))
        for out in "mlmon.out", "other/../m.out":
            done = self.host("chdir", self.path("other"), ALLOMON_OUT=out)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertGreaterEqual(self.total(out), USED_AT_ONCE)
        self.assertEqual(self.files(), sorted(["other", "mlmon.out", "mlmon.out.sources", "m.out",
                                               "m.out.sources"]))
        self.assertEqual(os.listdir(self.path("other")), [])

    def test_a_folder_that_was_renamed_meanwhile_is_no_loss(self):
        os.mkdir(self.path("before"))
        script = "import os; os.rename('../before', '../after'); x = bytearray(6_000_000)"
        done = self.run_preloaded(["/usr/bin/python3", "-c", script], {"ALLOMON_RATE": "1"},
                                  cwd=self.path("before"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertGreater(self.total("after/mlmon.out"), 6_000_000)

    def test_a_percent_sign_in_the_folders_name_is_no_pattern(self):
        odd = self.path("a%pb")
        os.mkdir(odd)
        script = "import os; x = bytearray(6_000_000); os.chdir('/')"
        for variables in {"ALLOMON_OUT": "m.out"}, {"ALLOMON_RECORD": "m.rec"}:
            done = self.run_preloaded(["/usr/bin/python3", "-c", script], variables, cwd=odd)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(odd)), ["m.out", "m.out.sources", "m.rec"])
        self.assertEqual(self.files(), ["a%pb"])

    # ---- daemons

    def test_a_daemon_writes_where_it_started(self):
        done = self.host("daemon", ALLOMON_OUT="m.%p.out")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        before, after = self.files_of_daemon(r"m\.\d+\.out(\.exec)?")
        totals = sorted([self.total(before), self.total(after)])
        self.assertGreaterEqual(totals[0], USED_AT_ONCE)
        self.assertGreaterEqual(totals[1], USED_BY_DAEMON)

    def test_a_daemon_has_the_name_of_the_program_that_was_started(self):
        done = self.host("daemon")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            self.files_of_daemon(r"mlmon\.out(\.exec)?"), ["mlmon.out", "mlmon.out.exec"]
        )
        self.assertGreaterEqual(self.total("mlmon.out"), USED_BY_DAEMON)
        self.assertGreaterEqual(self.total("mlmon.out.exec"), USED_AT_ONCE)

    def test_a_daemon_that_cannot_write_is_told_of_by_list(self):
        os.mkdir(self.path("closed"), 0o700)
        user = ["nobody"] if AS_ROOT else []
        out = "closed/mlmon.out" if AS_ROOT else "missing/mlmon.out"
        done = self.host("daemon", *user, ALLOMON_OUT=out)
        self.assertEqual(done.returncode, 0)
        line = (
            r"allomon list: process \d+ \(ending_host\) left no profile at [-0-9: ]+: "
            f"cannot write {self.path(out)}"
        )
        said = wait_until(lambda: re.search(line, self.allomon("list").stdout))
        self.assertTrue(said, self.allomon("list").stdout)
        cleaned = self.allomon("list", "--clean").stdout
        self.assertRegex(cleaned, r"removed /dev/shm/allomon-\d+-\d+\.lost")
        self.assertNotRegex(self.allomon("list").stdout, line)

    def test_what_standard_error_has_heard_is_not_told_again(self):
        done = self.host(ALLOMON_OUT="missing/mlmon.out")
        self.assertRegex(done.stderr, r"\Aallomon: cannot write missing/mlmon.out[^\n]+\n\Z")
        self.assertNotIn(self.directory, self.allomon("list").stdout)
        self.assertNotIn("missing/mlmon.out", self.allomon("list").stdout)

    # ---- another root directory

    @unittest.skipUnless(AS_ROOT, "only root may change its root directory")
    def test_a_root_above_the_file_is_followed(self):
        for out in "mlmon.out", self.path("mlmon.out"):
            done = self.host("chroot", os.path.dirname(self.directory), ALLOMON_OUT=out)
            self.assertEqual(done.returncode, 0, done.stderr)
            # The new root hides the files that have the names.
            hidden = r"allomon: [^\n]* are named by their addresses\n"
            self.assertRegex(done.stderr, rf"\A{hidden}\Z")
            self.assertGreaterEqual(self.total("mlmon.out"), USED_AT_ONCE)
            os.remove(self.path("mlmon.out"))

    @unittest.skipUnless(AS_ROOT, "only root may change its root directory")
    def test_a_profile_that_a_new_root_hides_is_told_of_by_list(self):
        os.mkdir(self.path("jail"))
        done = self.host("chroot", self.path("jail"), "silent")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(
            self.allomon("list").stdout, f"left no profile .* cannot write {self.path('mlmon.out')}"
        )

    @unittest.skipUnless(AS_ROOT, "only root may change its root directory")
    def test_a_new_root_leaves_no_word_where_nothing_is_lost(self):
        self.clean()
        self.host("chroot", os.path.dirname(self.directory), "silent")
        self.assertGreaterEqual(self.total("mlmon.out"), USED_AT_ONCE)
        self.assertNotIn("left no profile", self.allomon("list").stdout)


if __name__ == "__main__":
    unittest.main()
