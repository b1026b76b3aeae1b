#!/usr/bin/env python3
"""tools/setup/hooks/commit-msg takes a message that says what and why, and refuses others."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
HOOK = os.path.join(ROOT, "tools/setup/hooks/commit-msg")
BODY = "\n\nA thread drew one gap too many, which cost 3 %.\n"


class CommitMessage(unittest.TestCase):
    def check(self, message, expected):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(message)
            file.flush()
            done = subprocess.run([HOOK, file.name], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 1 if expected else 0, done.stderr)
        self.assertIn(expected, done.stderr)
        self.assertLessEqual(done.stderr.count("\n"), 1, "one line")

    def test_messages_that_pass(self):
        self.check("tracker: draw gaps exactly" + BODY, "")
        self.check("symbols, recording: code is what is mapped" + BODY, "")
        self.check("tracker: draw gaps exactly" + BODY + "\n# Please enter the message\n", "")
        self.check("Merge branch 'rooms'\n", "")
        self.check('Revert "tracker: draw gaps exactly"\n', "")
        self.check("fixup! tracker: draw gaps exactly\n", "")
        self.check("tracker: names" + BODY + "https://example.org/" + "a" * 80 + "\n", "")
        self.check("tracker: a cut" + BODY + "# --- >8 ---\ndiff --git a b\n" + "x y " * 40, "")

    def test_messages_that_do_not(self):
        self.check("tracker: " + "long " * 14 + BODY, "columns, and git log shows 72")
        self.check("draw gaps exactly" + BODY, "begin the subject with the module")
        self.check("tracker: draw gaps exactly." + BODY, "no full stop")
        self.check("tracker: draw gaps exactly\n", "say below the subject why")
        self.check("tracker: draw gaps exactly\n\nSigned-off-by: A <a@b.c>\n", "why")
        self.check("tracker: draw gaps exactly\nAt once.\n", "leave the line after the subject")
        self.check("tracker: draw gaps exactly\n\n" + "word " * 20, "line 3 is longer")


if __name__ == "__main__":
    sys.exit(unittest.main())
