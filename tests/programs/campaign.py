"""Runs programs plain and in each mode, and compares."""

import argparse
import os
import re
import shutil
import tempfile
import time

import modes
import profiles
import results
from hosts import Host, HostError, memory

# The budget covers samples of the default budget, the entry table and the profile's own tables.
# //benchmarks:sample_memory tells what one live sample takes.
RESIDENT_BUDGET_BYTES = 64 << 20
# Spans of the sampled range come and go.  A leak would add one mapping per reload or save.
MAPPINGS_BUDGET = 40


class Campaign:
    """The runs of all programs.  `scratch` holds the library, and a directory per run."""

    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        os.chmod(scratch, 0o755)
        # Databases run as users of their own, who may not see where Bazel puts what it built.
        self.library = shutil.copy(options.library, os.path.join(scratch, "liballomon.so"))
        os.chmod(self.library, 0o755)
        self.results = []

    def compare(self, program):
        """Runs a program plain, then in each mode."""
        plain = self.plain(program)
        for mode in self.options.modes if plain else ():
            self.check(program, mode, plain)

    def run(self, program, mode):
        """(what must be the same, Result, Host)"""
        options = self.options
        variables = {}
        if mode is not modes.PLAIN:
            variables = {"LD_PRELOAD": self.library, **mode.variables, **options.extra}
        else:
            # What a program computes does not depend on how long it is under load.
            options = argparse.Namespace(**{**vars(options), "seconds": min(options.seconds, 60)})
        directory = tempfile.mkdtemp(prefix=f"{program.name}.", dir=self.scratch)
        host = Host(directory, variables, program.user, options.timeout_seconds)
        start = time.monotonic()
        try:
            found = program.run(host, options)
        except HostError as error:
            found = {"error": host.neutral(str(error))}
        result = results.Result(program.name, mode.name, time.monotonic() - start)
        try:
            result.memory = memory(host)
        except HostError as error:
            found["error"] = str(error)
        return found, result, host

    def add(self, result):
        self.results.append(result)
        print(result.text(), flush=True)

    def plain(self, program):
        """What the program computes without Allomon.  None if it does not do its work even so."""
        found, result, host = self.run(program, modes.PLAIN)
        host.remove()
        result.wrong = [found["error"]] if "error" in found else []
        self.add(result)
        for key, value in found.items() if self.options.verbose else ():
            print(f"{'':18} {key}: {value!r}")
        return None if result.wrong else found

    def check(self, program, mode, plain):
        found, result, host = self.run(program, mode)
        left = profiles.read(host.profiles, [self.options.allomon])
        result.n_profiles, result.top = left.whole, left.top
        result.wrong = differences(plain, found) + memory_differences(
            result.memory, MAPPINGS_BUDGET + mode.more_mappings
        )
        if result.wrong:
            result.wrong += self.own_differences(program, plain)
        said = [it for it in host.complaints() if not re.fullmatch(program.may_say, it)]
        result.wrong += said + left.broken
        if mode.profile and program.profiled and not left.whole:
            result.wrong.append("no process left a profile")
        host.remove()
        self.add(result)

    def own_differences(self, program, plain):
        """Whether the program differs from itself when it is run plain again."""
        found, _, host = self.run(program, modes.PLAIN)
        host.remove()
        return [f"plain, a second time: {it}" for it in differences(plain, found)]


def differences(plain, found):
    keys = sorted(plain.keys() | found.keys())
    return [
        f"{key}: {shortened(found.get(key), plain.get(key))}"
        for key in keys
        if plain.get(key) != found.get(key)
    ]


def shortened(now, before):
    """Both values from where they begin to differ."""
    now, before = repr(now), repr(before)
    start = max(0, len(os.path.commonprefix([now, before])) - 40)
    dots = "..." if start else ""
    return f"{dots}{now[start : start + 200]} instead of {dots}{before[start : start + 200]}"


def memory_differences(memory, mappings_budget):
    if not memory:
        return []
    (early, late), (few, many) = memory
    found = []
    if late - early > RESIDENT_BUDGET_BYTES:
        found.append(f"resident memory grew from {early >> 20} to {late >> 20} MiB")
    if many - few > mappings_budget:
        found.append(f"mappings grew from {few} to {many}")
    return found
