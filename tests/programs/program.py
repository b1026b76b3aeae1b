"""What the campaign knows of a program: what it needs, and how it is run."""

import dataclasses
import hashlib
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Program:
    """One row of the table.

    run(host, options) runs the program under a Host and returns a dictionary of what must be the
    same in every run.  The parts that differ from run to run anyway (times, process numbers, order
    of threads) are left out.
    """

    name: str
    run: Callable
    # (a command of PATH or a file that must be there, the Debian packages that have it)
    needs: tuple
    # Who runs it, if that cannot be root.
    user: str = ""
    # Lines of Allomon's that are true of this program.
    may_say: str = r"(?!)"
    # Whether some process leaves a profile in the modes that profile.
    profiled: bool = True


def digest(path):
    with open(path, "rb") as file:
        return digest_of(file.read())


def digest_of(content):
    if isinstance(content, str):
        content = content.encode("utf-8", "surrogateescape")
    return hashlib.sha256(content).hexdigest()[:16]
