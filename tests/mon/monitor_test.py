#!/usr/bin/env python3
"""monitor(3C) in whole programs, written in C, and prof over what they leave."""

import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.getcwd(), "tests/support"))

import callgrind  # noqa: E402

BIN = os.path.join(os.getcwd(), "tests/mon")
PROF = os.path.join(os.getcwd(), "tools/prof/prof")


def run(args, folder, status=0, **variables):
    environment = {**os.environ, **variables}
    done = subprocess.run(args, cwd=folder, capture_output=True, text=True, env=environment)
    if done.returncode != status:
        raise AssertionError(f"{args}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def rows(text):
    """name -> (seconds, calls or None), in the order of the table."""
    table = {}
    for line in text.splitlines():
        cells = line.split()
        has_calls = cells[3].isdigit() and len(cells) > 4
        table[cells[-1]] = (float(cells[1]), int(cells[3]) if has_calls else None)
    return table


class MonitorTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
        self.addCleanup(self.folder.cleanup)
        self.path = self.folder.name

    def prof(self, *args):
        return run([PROF, *args], self.path).stdout

    def check_page_example(self, program):
        run([program], self.path)
        table = rows(self.prof("-h", program))
        self.assertEqual(list(table)[:2], ["hot", "warm"])
        # hot runs ten times the rounds of warm; how a processor forwards stores can make one
        # round several times as dear as another.
        self.assertGreater(table["hot"][0], table["warm"][0])

    def test_profdir_names_the_folder_or_turns_monitors_off(self):
        program = f"{BIN}/self_monitored"
        os.mkdir(os.path.join(self.path, "profiles"))
        run([program], self.path, PROFDIR="")
        self.assertEqual(os.listdir(self.path), ["profiles"])
        run([program], self.path, PROFDIR="profiles")
        (name,) = os.listdir(os.path.join(self.path, "profiles"))
        self.assertRegex(name, r"^\d+\.self_monitored$")
        self.assertEqual(os.listdir(self.path), ["profiles"])
        self.assertIn("main", rows(self.prof("-h", "-m", f"profiles/{name}", program)))
        done = run([program], self.path, PROFDIR="nowhere")
        self.assertIn("nowhere/", done.stderr)

    def test_page_example(self):
        self.check_page_example(f"{BIN}/page_example")

    def test_page_example_at_fixed_addresses(self):
        self.check_page_example(f"{BIN}/page_example_nopie")

    def test_threads_lose_no_call_and_no_tick(self):
        program = f"{BIN}/mon_threads"
        least_ns, most_ns = map(int, run([program], self.path).stdout.split())
        table = rows(self.prof("-hz", program))
        self.assertEqual(table["leaf"][1], 4 * 200000)
        self.assertEqual(table["work"][1], 4)
        self.assertIsNone(table.get("main", (0, None))[1])  # entered before the start
        summary = run([PROF, "-s", program], self.path).stderr
        words = summary.split()
        ticked_ns = (float(words[1]) + float(words[6])) * 1e9
        # Whole ticks, of a millisecond, are written.
        self.assertGreater(ticked_ns, least_ns - 1e6)
        self.assertLessEqual(ticked_ns, most_ns)

    def test_counts_beyond_nfunc_leave_out_the_rarest(self):
        program = f"{BIN}/few_counts"
        run([program], self.path)
        done = run([PROF, "-h", program], self.path)
        self.assertIn("more functions were called than nfunc", done.stderr)
        counts = {name: calls for name, (_, calls) in rows(done.stdout).items() if calls}
        self.assertEqual(counts, {"often": 100})

    def test_compiled_for_profiling_monitors_itself(self):
        program = f"{BIN}/self_monitored"
        run([program], self.path)
        table = rows(self.prof("-hc", program))
        self.assertEqual(list(table)[0], "fib")
        self.assertEqual(table["fib"][1], 29860703)
        self.assertEqual(table["main"][1], 1)

    def test_calls_are_callgrinds(self):
        program = f"{BIN}/many_calls"
        out = f"{self.path}/callgrind.out"
        run(callgrind.command(out, program), self.path)
        theirs = callgrind.calls(out)
        run([program], self.path)
        ours = {
            name: calls
            for name, (_, calls) in rows(self.prof("-hgc", program)).items()
            if calls is not None
        }
        self.assertEqual(ours, {name: theirs.get(name) for name in ours})
        self.assertEqual(
            set(ours),
            {
                *("main", "is_even", "is_odd", "ackermann", "compare", "sort_some"),
                *("apply", "twice", "thrice", "at_end"),
            },
        )

    def test_library_has_a_range_of_its_own(self):
        program = f"{BIN}/two_ranges"
        library = run([program], self.path).stdout.strip()
        table = rows(self.prof("-h", program, library))
        self.assertIn("hot_in_program", table)
        # By which name depends on whether the library's debug symbols are installed.
        of_program = {"hot_in_program", "compare", "main", "_start"}
        library_seconds = sum(row[0] for name, row in table.items() if name not in of_program)
        self.assertGreater(library_seconds, 0.05)
        done = run([PROF, program], self.path, status=1)
        self.assertIn("name the program that wrote it, and the libraries", done.stderr)

    def test_mistakes_are_named_and_change_nothing(self):
        done = run([f"{BIN}/mon_errors"], self.path)
        self.assertEqual(
            done.stderr.splitlines(),
            [
                "monitor: none runs",
                "monitor: lowpc is 0: that stops, with all other arguments 0;"
                " the lowest address is 4",
                "monitor: highpc must be above lowpc",
                "monitor: the buffer has 10 WORDs, its header and 10 call counts need 128",
                "monitor: nfunc is negative: use 0 for no call counts",
                "monitor_range: none runs: start it by monitor()",
                "monitor_hz: 0 ticks a second: expected 1 to 10000",
                "monitor: one runs already: stop it by monitor(0, 0, 0, 0, 0)",
                "monitor_range: the range overlaps another one",
            ],
        )
        self.assertEqual(rows(self.prof("-h", f"{BIN}/mon_errors")), {})

    def test_unwritable_directory_is_named(self):
        if os.geteuid() == 0:
            os.mkdir(f"{self.path}/mon.out")  # root may write anywhere, but not over a directory
        else:
            os.chmod(self.path, 0o555)
        done = run([f"{BIN}/page_example", "1"], self.path)
        self.assertIn("monitor: cannot write mon.out: ", done.stderr)
        os.chmod(self.path, 0o755)


if __name__ == "__main__":
    sys.exit(unittest.main())
