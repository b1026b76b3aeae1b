"""Calls of a program's functions, as callgrind counts them."""

import re


def command(out, program):
    """The command that runs the program and writes `out`."""
    return [
        "/usr/bin/valgrind",
        "--tool=callgrind",
        "--compress-strings=no",
        "--compress-pos=no",
        f"--callgrind-out-file={out}",
        program,
    ]


def calls(out):
    """name -> calls, from a file that this command wrote."""
    found = {}
    callee = None
    with open(out, encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith("cfn="):
                # callgrind puts a number behind the name of a function in a cycle.
                callee = re.sub(r"'[0-9]+$", "", line[4:].rstrip("\n"))
            elif line.startswith("calls="):
                found[callee] = found.get(callee, 0) + int(line[6:].split()[0])
    return found
