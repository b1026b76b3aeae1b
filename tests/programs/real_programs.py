#!/usr/bin/env python3
"""Real programs with Allomon preloaded: same results and status as without.

  bazel run //tests/programs:real_programs -- --install           # the packages, then everything
  bazel run //tests/programs:real_programs -- --only 'redis|nginx' --modes alloc,exact --seconds 600

Runs each program plain and in each mode.  Compares what the program computed, what it said and how
it ended, and for servers the growth of resident memory and of mappings under steady load.  Every
profile that a process left is read by `allomon report`.  A program that is not installed is an
error, not a skipped row.  Ends with status 1 if anything differs.
"""

import argparse
import os
import re
import sys
import tempfile

sys.dont_write_bytecode = True  # the source tree stays as it is

import browsers
import commands
import compiled
import databases
import interpreters
import modes
import results
import web
from campaign import Campaign
from program import install, missing, version

PROGRAMS = tuple(
    program
    for family in (interpreters, commands, compiled, databases, web, browsers)
    for program in family.PROGRAMS
)

def parse(arguments):
    parser = argparse.ArgumentParser(prog="real_programs", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=".*", metavar="REGEXP", help="programs to run")
    parser.add_argument(
        "--modes",
        type=lambda text: modes.named(text.split(",")),
        default=modes.MODES,
        help="default: " + ",".join(it.name for it in modes.MODES),
    )
    parser.add_argument("--install", action="store_true", help="the packages that are missing")
    parser.add_argument(
        "--seconds", type=int, default=20, help="of load on each server (plain: 60 at most)"
    )
    parser.add_argument("--megabytes", type=int, default=50, help="size of sqlite's database")
    parser.add_argument("--port", type=int, default=18080, help="for nginx and apache")
    parser.add_argument("--compilers", type=lambda it: it.split(","), default=["g++", "clang++"])
    parser.add_argument("--timeout-seconds", type=int, default=600, help="of one command")
    parser.add_argument("--library", help="default: the one that Bazel built")
    parser.add_argument("--allomon", help="the command; default: the one that Bazel built")
    parser.add_argument("--repository", help="for git gc; default: this one")
    parser.add_argument("--write", metavar="README", help="puts the tables behind its `## Results`")
    parser.add_argument("--verbose", action="store_true", help="what the plain runs computed")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args(arguments)
    root = os.environ.get("BUILD_WORKSPACE_DIRECTORY", os.getcwd())
    options.repository = options.repository or root
    options.library = built(parser, root, options.library, "allocator/liballomon.so")
    options.allomon = built(parser, root, options.allomon, "tools/allomon/allomon")
    options.extra = dict(it.split("=", 1) for it in options.env)
    options.programs = [it for it in PROGRAMS if re.fullmatch(options.only, it.name)]
    if not options.programs:
        parser.error(f"no program matches --only '{options.only}'")
    return options


def built(parser, root, path, target):
    path = os.path.realpath(path or os.path.join(root, "bazel-bin", target))
    if not os.path.exists(path):
        parser.error(f"no {path}: bazel build //allocator:liballomon.so //tools:allomon")
    return path


def prepare(options):
    """Installs or names what is missing."""
    needs = [need for program in options.programs for need in program.needs]
    needs = [it for it in needs if it[0] != "clang++" or "clang++" in options.compilers]
    wanted = missing(needs)
    if wanted and options.install:
        install(wanted)
        wanted = missing(needs)
    if wanted:
        sys.exit(f"real_programs: these Debian packages are missing: {' '.join(wanted)}\n"
                 "real_programs: --install installs them; --only REGEXP leaves programs out")


def main(arguments):
    options = parse(arguments)
    prepare(options)
    with tempfile.TemporaryDirectory(prefix="programs.") as scratch:
        campaign = Campaign(options, scratch)
        for program in options.programs:
            campaign.compare(program)
    if options.write:
        versions = {it.name: version(it.needs) for it in options.programs}
        how = f"servers {options.seconds} s under load, a database of {options.megabytes} MiB"
        text = results.markdown(campaign.results, versions, options.modes, how)
        results.write_into(options.write, text)
    return 1 if any(it.wrong for it in campaign.results) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
