"""A machine for the scripts of the set-up: a clone of its own, and a PATH of which the commands of
apt are small scripts that say what a system would.  Nothing outside of a temporary folder is
written, and apt itself never runs."""

import os
import shutil
import subprocess
import tempfile

# Of the real machine.  What is not here the scripts do not find, whatever the machine has.
REAL = """awk bash basename cat chmod chown cp cut dirname dpkg env flock grep head id mkdir mktemp
mv readlink rm sed sh sort tail tee touch tr true uname""".split()

WORKSPACE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))


class Machine:
    """Has the attribute `root`, the clone.  `close` removes all."""

    def __init__(self, folder="clone"):
        self._directory = tempfile.TemporaryDirectory()
        self.close = self._directory.cleanup
        self.commands = os.path.join(self._directory.name, "commands")
        self.calls_file = os.path.join(self._directory.name, "calls")
        self.root = os.path.join(self._directory.name, folder)
        os.mkdir(self.commands)
        os.makedirs(os.path.join(self.root, "tools"))
        shutil.copy(os.path.join(WORKSPACE, "bazelw"), self.root)
        setup = os.path.join(WORKSPACE, "tools", "setup")
        shutil.copytree(setup, os.path.join(self.root, "tools", "setup"))
        for name in REAL:
            os.symlink(shutil.which(name), os.path.join(self.commands, name))

    def has(self, name, script):
        """Gives the machine a command, whose call is written down before `script` runs."""
        path = os.path.join(self.commands, name)
        if os.path.lexists(path):
            os.remove(path)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'#!/bin/bash\necho "{name} $*" >>"{self.calls_file}"\n{script}\n')
        os.chmod(path, 0o755)

    def lacks(self, name):
        os.remove(os.path.join(self.commands, name))

    def run(self, script, *arguments, **variables):
        """Its status, and what it wrote to standard error, by lines."""
        environment = {"PATH": self.commands, "HOME": self._directory.name, **variables}
        done = subprocess.run(
            [os.path.join(self.root, script), *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return done.returncode, done.stderr.splitlines()

    def calls(self):
        """The calls of commands that `has` gave, in order."""
        if not os.path.exists(self.calls_file):
            return []
        with open(self.calls_file, encoding="utf-8") as file:
            return file.read().splitlines()
