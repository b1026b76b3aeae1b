#!/usr/bin/env python3
"""Each option that a command has is in its --help, in its manual page and in the completion of each
shell, and the command knows it.  groff takes the pages without a warning, bash, zsh and fish read
their files, and bash completes with its own `complete`.  Shells and groff are tested where they are
installed."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ALLOMON = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"],
                       "tools/allomon/allomon")
COMMON = {"-h", "--help", "--version"}


def allomon(*args):
    done = subprocess.run([ALLOMON, *args], capture_output=True, encoding="utf-8", timeout=60,
                          stdin=subprocess.DEVNULL, check=False)
    return done.returncode, done.stdout, done.stderr


def text_of(*args):
    status, out, err = allomon(*args)
    assert (status, err) == (0, ""), (args, status, err)
    return out


def options_in(help_text):
    """The names at the beginning of the lines of --help, with whether they take a value."""
    options = {}
    for line in re.findall(r"^  (-{1,2}\w.*)$", help_text, re.MULTILINE):
        names = line.split("  ")[0]
        for name in re.findall(r"(?:^|, )(-{1,2}[\w-]+)", names):
            options[name] = bool(re.search(r"[= ]\S", names.split(", ")[-1]))
    return options


def optional_in(help_text):
    """Those that also stand without their value."""
    return set(re.findall(r"(--[\w-]+)\[=", help_text))


COMMANDS = re.findall(r"^  (\w+) ", text_of("--help"), re.MULTILINE)
HELP = {command: text_of(command, "--help") for command in COMMANDS}
OPTIONS = {command: options_in(text) for command, text in HELP.items()}


def has_name(text, name):
    return re.search(r"(?<![\w-])" + re.escape(name) + r"(?![\w-])", text)


class Texts(unittest.TestCase):
    def test_there_are_options(self):
        self.assertEqual(len(COMMANDS), 16)
        for command, options in OPTIONS.items():
            self.assertLessEqual(COMMON, set(options), command)
        self.assertGreater(sum(map(len, OPTIONS.values())), 120)
        self.assertTrue(OPTIONS["report"]["--metric"])
        self.assertFalse(OPTIONS["report"]["--leaks"])
        self.assertTrue(OPTIONS["top"]["-n"])
        self.assertTrue(OPTIONS["flame"]["-o"])
        self.assertEqual(optional_in(HELP["report"]), {"--debuginfod", "--outlived"})

    def test_names_are_those_of_the_help(self):
        self.assertEqual(text_of("help", "--names").split("\n"), [*COMMANDS, ""])
        self.assertEqual(allomon("help", "--names", "report")[:2], (2, ""))
        self.assertEqual(allomon("help", "--names", "--man")[:2], (2, ""))

    def test_lines_of_help_fit_a_terminal(self):
        for command, text in HELP.items():
            for line in text.split("\n"):
                self.assertLessEqual(len(line), 80, f"{command}: {line}")

    def test_report_has_one_usage_and_three_examples(self):
        self.assertEqual(HELP["report"].count("usage:"), 1)
        self.assertEqual(len(re.findall(r"^  \$ allomon report ", HELP["report"], re.MULTILINE)), 3)

    def test_commands_know_their_options(self):
        for command, options in OPTIONS.items():
            for name, has_value in options.items():
                if name in optional_in(HELP[command]):
                    continue  # both are right, and its command's tests use both
                # An option without a value, or with one that it does not take.
                status, _, err = allomon(command, name if has_value else name + "=x")
                self.assertEqual(status, 2, (command, name))
                self.assertRegex(err, "needs a value" if has_value else "takes no value")

    def test_hidden_options_work(self):
        self.assertNotIn("--counts", HELP["export"])
        self.assertIn('--counts: "x" is not alloc', allomon("export", "--counts=x")[2])

    def test_manual_pages_have_the_options(self):
        for command, options in OPTIONS.items():
            page = text_of("help", "--man", command).replace("\\-", "-").replace("\\fB", " ")
            page = page.replace("\\fR", " ")
            for name in options:
                self.assertTrue(has_name(page, name), (command, name))
        program = text_of("help", "--man").replace("\\-", "-")
        for command in COMMANDS:
            self.assertIn(f"allomon-{command} (1)", program)

    def test_groff_takes_the_pages(self):
        if not shutil.which("groff"):
            self.skipTest("no groff")
        for command in [None, *COMMANDS]:
            page = text_of("help", "--man", *([command] if command else []))
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=page,
                                  capture_output=True, encoding="utf-8", timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), command)
            self.assertIn(".SH DESCRIPTION", page)

    def test_completions_have_the_options(self):
        files = {shell: text_of("help", f"--completion={shell}")
                 for shell in ("bash", "zsh", "fish")}
        for command, options in OPTIONS.items():
            lines = {
                "bash": re.search(rf"^ +{command}\) options=(.*)$", files["bash"], re.MULTILINE)[1],
                "zsh": re.search(rf"^    {command}\)\n(.*?);;", files["zsh"],
                                 re.MULTILINE | re.DOTALL)[1],
                "fish": "\n".join(re.findall(rf"^.*seen_subcommand_from {command}'.*$",
                                             files["fish"], re.MULTILINE)),
            }
            for name in options:
                plain = name.lstrip("-")
                self.assertTrue(has_name(lines["bash"], name), (command, name))
                self.assertRegex(lines["zsh"], rf"'\*{name}[=+]?\[", (command, name))
                flag = "-l" if name.startswith("--") else "-s"
                self.assertRegex(lines["fish"], rf" {flag} {plain} ", (command, name))

    def test_shells_read_their_files(self):
        for shell in ("bash", "zsh", "fish"):
            if not shutil.which(shell):
                continue
            with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
                file.write(text_of("help", f"--completion={shell}"))
                file.flush()
                done = subprocess.run([shell, "-n", file.name], capture_output=True,
                                      encoding="utf-8", timeout=60, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), shell)


@unittest.skipUnless(shutil.which("bash"), "no bash")
class Bash(unittest.TestCase):
    """Completes as bash does: it splits words at =, and calls the function of `complete`."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR"))
        cls.script = os.path.join(cls.folder, "completion")
        with open(cls.script, "w", encoding="utf-8") as file:
            file.write(text_of("help", "--completion=bash"))
        for name in ("one.pb.gz", "two.pb.gz"):
            with open(os.path.join(cls.folder, name), "w", encoding="utf-8"):
                pass
        os.mkdir(os.path.join(cls.folder, "inner"))

    def complete(self, *words):
        split = [part for word in words for part in (re.split("(=)", word) if "=" in word
                                                     else [word])]
        if split and split[-1] == "" and "=" in words[-1]:
            split.pop()  # nothing after the sign yet: the sign is the current word
        program = """
            source "$1"; shift
            function=$(complete -p allomon | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
            COMP_WORDS=(allomon "$@"); COMP_CWORD=$#
            "$function" allomon
            printf '%s\\n' "${COMPREPLY[@]}"
        """
        done = subprocess.run(["bash", "-c", program, "bash", self.script, *split],
                              capture_output=True, encoding="utf-8", timeout=60, check=False,
                              cwd=self.folder)
        self.assertEqual(done.stderr, "")
        return done.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete(""), [*COMMANDS, "--help", "--version"])
        self.assertEqual(self.complete("re"), ["report"])

    def test_options_and_their_values(self):
        self.assertEqual(self.complete("report", "--foc"), ["--focus=", "--focus-label="])
        self.assertEqual(self.complete("report", "--metric=p"), ["peak", "promoted"])
        self.assertEqual(self.complete("report", "--metric="),
                         ["alloc", "live", "peak", "temporary", "blocks", "promoted", "died-young"])
        self.assertEqual(self.complete("report", "--metric", "l"), ["live"])
        self.assertEqual(self.complete("diff", "--view=t"), ["tree"])
        self.assertIn("callgrind", self.complete("export", "--format="))

    def test_files_and_folders(self):
        self.assertEqual(self.complete("report", "o"), ["one.pb.gz"])
        self.assertEqual(self.complete("flame", "-o", "t"), ["two.pb.gz"])
        self.assertEqual(self.complete("flame", "--debug-dir="), ["inner"])
        self.assertEqual(self.complete("list", ""), [])

    def test_words(self):
        self.assertEqual(self.complete("ctl", "17", "st"), ["start", "stop", "status"])
        self.assertEqual(self.complete("help", "--completion=z"), ["zsh"])
        self.assertEqual(self.complete("help", ""), COMMANDS)
        self.assertEqual(self.complete("help", "re"), ["report"])
        self.assertEqual(self.complete("help", "--ma"), ["--man"])


if __name__ == "__main__":
    sys.exit(unittest.main())
