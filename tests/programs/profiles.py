"""The profiles that the processes of a host left, as `allomon report` reads them."""

import dataclasses
import glob
import json
import os
import re
import subprocess


@dataclasses.dataclass
class Profiles:
    """What a host's processes left.  `broken` has what is wrong with each bad profile."""

    whole: int = 0
    broken: list = dataclasses.field(default_factory=list)
    # Of the profile with the largest total: the first row of its report.
    top: str = ""


def read(directory, report):
    """Reads every profile in `directory` by the command `report`."""
    found = Profiles()
    largest = -1
    for path in sorted(glob.glob(os.path.join(directory, "*.out"))):
        error, profile = read_one(path, report)
        if error:
            found.broken.append(f"{os.path.basename(path)}: {error}")
            continue
        found.whole += 1
        if profile["total"] > largest:
            largest = profile["total"]
            found.top = top_row(profile)
    found.broken += [
        f"{os.path.basename(path)} was not finished"
        for path in glob.glob(os.path.join(directory, "*.tmp*"))
    ]
    return found


def read_one(path, report):
    """(what is wrong or None, the report's JSON)"""
    with open(path, encoding="ascii", errors="replace") as file:
        text = file.read()
    if not text.startswith("MLton prof\n") or not text.endswith("\n"):
        return f"cut off after {len(text)} bytes", None
    argv = [*report, "report", "--json", "--top=1", "--sort=cur", path]
    done = subprocess.run(argv, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        # A short process allocates less than what is sampled, or ends before the first tick.
        if text.split("\n")[4] == "0 0":
            return None, {"total": 0}
        return done.stderr.strip()[-300:], None
    return None, json.loads(done.stdout)


def top_row(profile):
    """Such as: 98% os::malloc (libjvm.so).  The lines of sources are left out, and the module where
    the name is a place in it."""
    if not profile["total"] or not profile["functions"]:
        return ""
    row = profile["functions"][0]
    module = re.fullmatch(r"(.*): 0x[0-9a-f]+", row["position"])
    where = f" ({module[1]})" if module and "+0x" not in row["name"] else ""
    return f"{100 * row['current'] / profile['total']:.0f}% {row['name'][:90]}{where}"
