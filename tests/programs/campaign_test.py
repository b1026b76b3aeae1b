#!/usr/bin/env python3
"""The campaign notices what it is there for.

Its programs here are one-line scripts that do in a preloaded run what a broken library would make
them do.  No library is needed: what is preloaded is an empty file, unless a test says otherwise.
"""

import argparse
import contextlib
import io
import os
import struct
import sys
import tempfile
import unittest
import zlib

sys.dont_write_bytecode = True  # the source tree stays as it is

import browsers
import modes
import results
import ways_to_build
from campaign import Campaign
from hosts import growth
from program import Program, missing

QUIET = modes.Mode("quiet", {"BROKEN": "1"}, False, "for these tests")
NO_LIBRARY = {"LD_PRELOAD": ""}


def script(text):
    """A program that is a script of the shell."""
    return Program("script", lambda host, _: {"script": host.outcome(["sh", "-c", text])}, ())


class CampaignTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.library = os.path.join(self.directory.name, "library")
        with open(self.library, "wb"):
            pass

    def results_of(self, program, mode=QUIET, seconds=60, preload=NO_LIBRARY):
        options = argparse.Namespace(
            library=self.library,
            allomon="/bin/false",
            extra=preload,
            seconds=1,
            timeout_seconds=seconds,
            verbose=False,
            modes=(mode,),
        )
        campaign = Campaign(options, self.directory.name)
        with contextlib.redirect_stdout(io.StringIO()):
            campaign.compare(program)
        return campaign.results

    def wrong(self, *arguments, **options):
        return "\n".join(self.results_of(*arguments, **options)[-1].wrong)

    def test_equal_runs_are_the_same(self):
        found = self.results_of(script("echo out; echo error >&2; exit 3"))
        self.assertEqual([it.wrong for it in found], [[], []])

    def test_another_status_output_or_message_differs(self):
        texts = ("exit ${BROKEN:-0}", "echo $BROKEN", "echo $BROKEN >&2", "kill -${BROKEN:-0} $$")
        for text in texts:
            with self.subTest(text):
                self.assertIn("instead of", self.wrong(script(text)))

    def test_a_program_that_hangs_is_ended_with_its_children(self):
        text = "test -z $BROKEN || { sleep 1000 & wait; }"
        self.assertIn("did not end in 1 s", self.wrong(script(text), seconds=1))

    def test_a_program_that_differs_from_itself_is_told_from_one_that_we_change(self):
        self.assertIn("a second time", self.wrong(script("echo $$")))
        self.assertNotIn("a second time", self.wrong(script("echo $BROKEN")))

    def test_a_library_that_the_loader_refuses_is_no_success(self):
        self.assertIn("ERROR: ld.so", self.wrong(script("true"), preload={}))

    def test_a_line_of_ours_is_wrong(self):
        text = "test -z $BROKEN || echo 'allomon: cannot write' >&2"
        self.assertEqual("allomon: cannot write", self.wrong(script(text)))

    def test_a_process_without_a_profile_is_noticed(self):
        mode = modes.Mode("silent", {"BROKEN": "1"}, True, "for these tests")
        self.assertEqual("no process left a profile", self.wrong(script("true"), mode))

    def test_a_profile_that_is_cut_off_is_noticed(self):
        text = 'test -z $BROKEN || printf "MLton prof\\nalloc" > "$PWD/profiles/7.out"'
        self.assertEqual("7.out: cut off after 16 bytes", self.wrong(script(text)))

    def test_growth_is_of_the_median_behind_the_start(self):
        start = [(0, 1, 1)] * 10
        self.assertEqual(growth(start + [(0, 5, 9)] * 40, 1), (5, 5))
        self.assertEqual(growth(start + [(0, 5, 9)] * 30 + [(0, 70, 9)] * 10, 1), (5, 70))


class TableTest(unittest.TestCase):
    def test_the_document_keeps_what_is_before_its_results(self):
        found = [
            results.Result("lua", "plain", 0.25),
            results.Result("lua", "alloc", 0.5, [], 3, "63% a|b (lua5.4: 0x12)"),
            results.Result("php", "plain", 1),
            results.Result("php", "alloc", 1, ["status: -6 instead of 3"]),
        ]
        text = results.markdown(found, {"lua": "5.4"}, modes.named(["alloc"]), "of a test")
        self.assertIn("| lua | 5.4 | 0.2 s | 0.5 s | 3 |", text)
        self.assertIn("| php |  | 1.0 s | **differs** 1.0 s | 0 |", text)
        self.assertIn("php        alloc  status: -6 instead of 3", text)
        self.assertIn("```\nlua        alloc  63% a|b (lua5.4: 0x12)\n```\n", text)
        with tempfile.NamedTemporaryFile("w+", suffix=".md") as file:
            file.write("# Title\n\n## Results\n\nold\n")
            file.flush()
            results.write_into(file.name, text)
            with open(file.name, encoding="utf-8") as written:
                self.assertEqual(written.read(), f"# Title\n\n## Results\n\n{text}")

    def test_missing_packages_are_named_once(self):
        needs = (("sh", "dash"), ("/no/such", "one two"), ("no-such-command", "two three"))
        self.assertEqual(missing(needs), ["one", "two", "three"])


def chunk(kind, body):
    return struct.pack(">I4s", len(body), kind) + body + struct.pack(">I", 0)


class PictureTest(unittest.TestCase):
    def test_pixels_do_not_depend_on_how_rows_were_predicted(self):
        width, rows = 7, [bytes((i * 31 + row * 87) % 256 for i in range(21)) for row in range(5)]
        packed, above = b"", bytes(21)
        for kind, row in enumerate(rows):  # row 0 by prediction 0, row 1 by 1, and so on
            packed += bytes([kind])
            for i, value in enumerate(row):
                left, corner = (row[i - 3], above[i - 3]) if i >= 3 else (0, 0)
                predicted = browsers.PREDICTIONS[kind](left, above[i], corner)
                packed += bytes([(value - predicted) % 256])
            above = row
        head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, 5, 8, 2, 0, 0, 0))
        with tempfile.NamedTemporaryFile(suffix=".png") as file:
            file.write(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(packed)))
            file.flush()
            self.assertEqual(browsers.pixels(file.name), (7, 5, b"".join(rows)))

    def test_paeth_takes_the_nearest_neighbour(self):
        corners = ((5, 5, 5), (1, 9, 5), (9, 1, 9), (1, 9, 9))
        self.assertEqual([browsers.paeth(*it) for it in corners],
                         [5, 5, 1, 1])


class WaysToBuild(unittest.TestCase):
    def test_what_is_not_there_is_skipped_and_what_fails_is_not(self):
        for command in (["no-such-tool"], ["cat", "--no-such-option"]):
            with self.assertRaises(ways_to_build.Skipped):
                ways_to_build.run(command, "/")
        with self.assertRaises(ways_to_build.Failed):
            ways_to_build.run(["cat", "no-such-file"], "/")
        self.assertLess(ways_to_build.FEWEST, len(ways_to_build.WAYS))


if __name__ == "__main__":
    unittest.main()
