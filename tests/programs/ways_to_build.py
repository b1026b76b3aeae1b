#!/usr/bin/env python3
"""Builds one small program in many ways, profiles each, and prints a table of what its functions
are called: function, inlined function and line right, or what a row of the list expects instead.

  ways_to_build.py [--allomon=FILE] [--library=FILE] [--only=RE] [--write=README.md]

A way whose tools are not on this machine is skipped, with the reason: a program is missing, or does
not know an option.  A tool that fails otherwise is an error.  The status is 1 if a cell is not what
is expected, or if fewer than FEWEST of all ways were built."""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
INPUTS = os.path.join(HERE, "inputs")
ROOT = os.path.dirname(os.path.dirname(HERE))
UNITS = ("ways.cc", "ways_order.cc")
MOST_SECONDS = 120
# With g++ and binutils alone there are more.
FEWEST = 20
# What tools of gcc, clang and binutils say of an option that they do not know.
NOT_KNOWN = re.compile(
    r"(unrecognized|unknown|unsupported|invalid)( command.line)? (option|argument)|not built with|"
    r"invalid linker name"
)

# What may be expected of a cell.
LINES = "lines"  # functions, inlined ones and lines, all right
BARE = "lines; inlined names are bare"  # without namespaces: the file has no more
FUNCTIONS = "functions"  # names of symbols, no inlined function, no line
OFFSETS = "module+offset"
REFUSED = "refused, with a line"
NO_PROFILE = "no profile"  # where nothing of ours is in the process

Way = collections.namedtuple("Way", "name build flat recording")


class Skipped(Exception):
    """This machine cannot do it; the text says why."""


class Failed(Exception):
    """A tool is there and knows the options, and yet fails."""


def line_of(file, words):
    with open(os.path.join(INPUTS, file), encoding="ascii") as source:
        return next(i for i, line in enumerate(source, 1) if "line: of " + words in line)


RESERVE, FILL, ORDER, SERVE = (
    ("shop::Reserve", "ways.h", line_of("ways.h", "Reserve")),
    ("shop::Fill", "ways.cc", line_of("ways.cc", "Fill")),
    ("shop::Order", "ways_order.cc", line_of("ways_order.cc", "Order")),
    ("shop::Serve", "ways.cc", line_of("ways.cc", "Serve")),
)
FILL_BYTES, ORDER_BYTES = 100_000, 50_000


def run(argv, folder, **options):
    """Standard output, and what went wrong in one text."""
    tool = shutil.which(argv[0])
    if tool is None:
        raise Skipped(f"no {argv[0]}")
    done = subprocess.run(
        argv,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
        **options,
    )
    if done.returncode != 0:
        said = done.stderr.strip().splitlines()
        why = f"{argv[0]}: " + (said[0] if said else f"status {done.returncode}")
        raise (Skipped if NOT_KNOWN.search(done.stderr) else Failed)(why)
    return done.stdout


# Ways to build.  Each leaves `prog` in the folder.


def compiled(compiler, *flags, link=()):
    def build(folder):
        for unit in UNITS:
            run([compiler, *flags, "-c", f"{INPUTS}/{unit}", "-o", unit[:-2] + "o"], folder)
        objects = [unit[:-2] + "o" for unit in UNITS]
        run([compiler, *flags, *objects, *link, "-o", "prog"], folder)

    return build


def then(build, *commands):
    """Afterwards commands; their words are separated by blanks."""

    def both(folder):
        build(folder)
        for command in commands:
            run(command.split(" "), folder)

    return both


def linked_by(linker, compiler="g++", *more):
    def build(folder):
        if shutil.which("ld." + linker) is None:
            raise Skipped(f"no ld.{linker}")
        compiled(compiler, "-g", "-O2", link=(f"-fuse-ld={linker}", *more))(folder)

    return build


def without_objects(build):
    """Whoever has the .dwp file does not have the .dwo files."""

    def both(folder):
        build(folder)
        for file in os.listdir(folder):
            if file.endswith((".dwo", ".o")):
                os.unlink(os.path.join(folder, file))

    return both


def packed(compiler, version, dwp):
    return without_objects(
        then(
            compiled(compiler, f"-gdwarf-{version}", "-gsplit-dwarf", "-O2"),
            f"{dwp} -e prog -o prog.dwp",
        )
    )


GXX, CLANG = "g++", "clang++"
PLAIN = compiled(GXX, "-g", "-O2")
TWIN = "cp prog twin"  # dwz takes what two files share

WAYS = [
    *(
        Way(f"{compiler} -gdwarf-{version}", compiled(compiler, f"-gdwarf-{version}", "-O2"), *both)
        for compiler in (GXX, CLANG)
        for version in (2, 3, 4, 5)
        for both in [(LINES, LINES)]
    ),
    Way("g++ -O0", compiled(GXX, "-g", "-O0"), LINES, LINES),
    Way("clang++ -O0", compiled(CLANG, "-g", "-O0"), LINES, LINES),
    Way("g++ -O3 -fomit-frame-pointer -fno-plt", compiled(GXX, "-g", "-O3", "-fomit-frame-pointer",
        "-fno-plt"), LINES, LINES),
    Way("g++ -fdebug-types-section", compiled(GXX, "-g", "-O2", "-fdebug-types-section"), LINES,
        LINES),
    *(
        Way(f"{compiler} -gsplit-dwarf -gdwarf-{version}",
            compiled(compiler, f"-gdwarf-{version}", "-gsplit-dwarf", "-O2"), LINES, LINES)
        for compiler in (GXX, CLANG)
        for version in (4, 5)
    ),
    *(
        Way(f"{compiler} -gsplit-dwarf -gdwarf-{version}, {dwp}",
            packed(compiler, version, dwp), LINES, LINES)
        for compiler, version, dwp in (
            (GXX, 4, "dwp"), (CLANG, 4, "llvm-dwp"), (CLANG, 5, "llvm-dwp"))
    ),
    Way("g++ -gz=zlib", compiled(GXX, "-g", "-gz=zlib", "-O2"), LINES, LINES),
    Way("g++ -gz=zlib-gnu", compiled(GXX, "-g", "-gz=zlib-gnu", "-O2"), LINES, LINES),
    Way("g++ -gz=zstd", compiled(GXX, "-g", "-gz=zstd", "-O2"), LINES, LINES),
    Way("objcopy --compress-debug-sections=zstd",
        then(PLAIN, "objcopy --compress-debug-sections=zstd prog"), LINES, LINES),
    Way("--build-id=none", compiled(GXX, "-g", "-O2", link=["-Wl,--build-id=none"]), LINES, LINES),
    Way("g++ -flto", compiled(GXX, "-g", "-O2", "-flto"), LINES, LINES),
    Way("clang++ -flto, lld", compiled(CLANG, "-g", "-O2", "-flto", link=["-fuse-ld=lld"]), LINES,
        LINES),
    Way("clang++ -flto=thin, lld",
        compiled(CLANG, "-g", "-O2", "-flto=thin", link=["-fuse-ld=lld"]), LINES, LINES),
    *(Way("g++, " + linker, linked_by(linker), LINES, LINES)
      for linker in ("bfd", "gold", "lld", "mold")),
    *(Way("clang++, " + linker, linked_by(linker, CLANG), LINES, LINES)
      for linker in ("lld", "mold")),
    Way("g++, mold, zstd", linked_by("mold", GXX, "-Wl,--compress-debug-sections=zstd"), LINES,
        LINES),
    Way("-Wl,--gc-sections", compiled(GXX, "-g", "-O2", "-ffunction-sections",
        link=["-Wl,--gc-sections"]), LINES, LINES),
    Way("clang++, lld --gc-sections --icf=all", compiled(CLANG, "-g", "-O2", "-ffunction-sections",
        link=["-fuse-ld=lld", "-Wl,--gc-sections", "-Wl,--icf=all"]), LINES, LINES),
    Way("-no-pie", compiled(GXX, "-g", "-O2", "-fno-pie", link=["-no-pie"]), LINES, LINES),
    Way("-z noseparate-code", compiled(GXX, "-g", "-O2", link=["-Wl,-z,noseparate-code"]), LINES,
        LINES),
    Way("stripped, .gnu_debuglink", then(PLAIN, "objcopy --only-keep-debug prog prog.debug",
        "strip prog", "objcopy --add-gnu-debuglink=prog.debug prog"), LINES, LINES),
    Way("the same, zstd", then(PLAIN,
        "objcopy --only-keep-debug --compress-debug-sections=zstd prog prog.debug", "strip prog",
        "objcopy --add-gnu-debuglink=prog.debug prog"), LINES, LINES),
    Way("the same, zstd, without a build id", then(
        compiled(GXX, "-g", "-O2", link=["-Wl,--build-id=none"]),
        "objcopy --only-keep-debug --compress-debug-sections=zstd prog prog.debug", "strip prog",
        "objcopy --add-gnu-debuglink=prog.debug prog"), LINES, LINES),
    Way("dwz", then(PLAIN, "dwz prog"), LINES, LINES),
    Way("dwz -m, .gnu_debugaltlink", then(PLAIN, TWIN, "dwz -m common.dwz prog twin"), LINES,
        LINES),
    Way("dwz -m, DWARF 4", then(compiled(GXX, "-gdwarf-4", "-O2"), TWIN,
        "dwz -m common.dwz prog twin"), LINES, LINES),
    Way("dwz -m, stripped, .gnu_debuglink", then(PLAIN, TWIN, "dwz -m common.dwz prog twin",
        "objcopy --only-keep-debug prog prog.debug", "strip prog",
        "objcopy --add-gnu-debuglink=prog.debug prog"), LINES, LINES),
    Way("g++ -g1", compiled(GXX, "-g1", "-O2"), LINES, LINES),
    Way("clang++ -gline-tables-only", compiled(CLANG, "-gline-tables-only", "-O2"), BARE, BARE),
    Way("no -g", compiled(GXX, "-O2"), FUNCTIONS, FUNCTIONS),
    Way("stripped", then(PLAIN, "strip prog"), OFFSETS, OFFSETS),
    Way("-static", compiled(GXX, "-g", "-O2", link=["-static"]), NO_PROFILE, REFUSED),
    Way("-static-pie", compiled(GXX, "-g", "-O2", "-fPIE", link=["-static-pie"]), NO_PROFILE,
        REFUSED),
]


# Profiles, and what they say.


def short(frame):
    """Without arguments and folders."""
    name, file, line = frame
    return name.split("(")[0], file.rsplit("/", 1)[-1], line


class Program:
    def __init__(self, folder, allomon, library):
        self.folder = folder
        self.allomon = allomon
        self.library = library

    def allomon_says(self, *arguments):
        environment = {"PATH": "/usr/bin:/bin", "HOME": self.folder}
        environment["ALLOMON_LIBRARY"] = self.library
        return subprocess.run(
            [self.allomon, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )

    def flat(self):
        environment = {
            "PATH": "/usr/bin:/bin",
            "LD_PRELOAD": self.library,
            "ALLOMON_PROFILE": "alloc",
            "ALLOMON_RATE": "1",
            "ALLOMON_OUT": os.path.join(self.folder, "flat.out"),
        }
        program = os.path.join(self.folder, "prog")
        done = subprocess.run([program], env=environment, timeout=MOST_SECONDS, check=False)
        if done.returncode != 0:
            return f"status {done.returncode}"
        if not os.path.exists(os.path.join(self.folder, "flat.out")):
            return NO_PROFILE
        done = self.allomon_says("report", "--json", "flat.out")
        if done.returncode != 0:
            return done.stderr.strip()
        found = {}
        for row in json.loads(done.stdout)["functions"]:
            file, _, line = row["position"].rpartition(": ")
            line = int(line) if line.isdigit() else 0
            found[short((row["name"], file if line else "", line))] = row["current"]
        return self.judged(
            {(frame,): amount for frame, amount in found.items() if amount > 0},
            {(RESERVE,): FILL_BYTES, (ORDER,): ORDER_BYTES},
        )

    def recording(self):
        done = self.allomon_says("run", "--quiet", "--exact", "-o", "x.pb.gz", "./prog")
        if not os.path.exists(os.path.join(self.folder, "x.pb.gz")):
            says = done.stderr.strip()
            return REFUSED if re.search(r"static", says) else says or NO_PROFILE
        done = self.allomon_says("export", "--format=json", "x.pb.gz")
        if done.returncode != 0:
            return done.stderr.strip()
        profile = json.loads(done.stdout)
        found = collections.Counter()
        for sample in profile["samples"]:
            frames = []
            for number in sample["stack"]:
                location = profile["locations"][number]
                for line in location["lines"]:
                    function = profile["functions"][line["function"]]
                    frames.append(short((function["name"], function["file"], line["line"])))
            found[tuple(frames[:2])] += sample["alloc"]["bytes"]
        return self.judged(found, {(RESERVE, FILL): FILL_BYTES, (ORDER, SERVE): ORDER_BYTES})

    @staticmethod
    def judged(found, right):
        if found == right:
            return LINES
        inlined = ("Reserve", *RESERVE[1:])
        bare = {
            tuple(inlined if frame == RESERVE else frame for frame in stack): amount
            for stack, amount in right.items()
        }
        if found == bare:
            return BARE
        frames = [frame for stack in found for frame in stack]
        names = {name for name, _, _ in frames}
        has_lines = any(line for _, file, line in frames if file.startswith("ways"))
        wanted = {"shop::Fill", "shop::Order"}
        if not has_lines and wanted <= names and "shop::Reserve" not in names:
            return FUNCTIONS
        if not has_lines and all(name.startswith("prog+0x") for name, _, _ in frames):
            return OFFSETS
        return "WRONG: " + "; ".join(
            " < ".join(f"{name} {file}:{line}" for name, file, line in stack) for stack in found
        )


def cells_of(way, allomon, library):
    with tempfile.TemporaryDirectory() as folder:
        try:
            way.build(folder)
            program = Program(folder, allomon, library)
            return program.flat(), program.recording()
        except Skipped as why:
            return (f"skipped ({why})",) * 2
        except Failed as why:
            return (f"failed ({why})",) * 2


def arguments():
    raw = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--allomon", default=f"{ROOT}/bazel-bin/tools/allomon/allomon")
    parser.add_argument("--library", default=f"{ROOT}/bazel-bin/allocator/liballomon.so")
    parser.add_argument("--only", default="", metavar="RE")
    parser.add_argument("--write", metavar="README.md")
    return parser.parse_args()


def main():
    options = arguments()
    chosen = [way for way in WAYS if re.search(options.only, way.name)]
    if not chosen:
        print("ways_to_build.py: no way is called that", file=sys.stderr)
        return 2
    rows, wrong, done = ["| way | flat profile | recording |", "|---|---|---|"], [], 0
    for way in chosen:
        flat, recording = cells_of(
            way, os.path.abspath(options.allomon), os.path.abspath(options.library)
        )
        rows.append(f"| {way.name} | {flat} | {recording} |")
        print(rows[-1], flush=True)
        if flat.startswith("skipped"):
            continue
        done += 1
        if (flat, recording) != (way.flat, way.recording):
            wrong.append(f"{way.name}: {way.flat} and {way.recording} are expected")
    fewest = 1 if options.only else FEWEST
    if done < fewest:
        wrong.append(f"{done} ways were built, and {fewest} or more are expected")
    for line in wrong:
        print("WRONG " + line, file=sys.stderr)
    if options.write and not wrong:
        write(options.write, rows)
    return int(bool(wrong))


def write(readme, rows):
    """Between the two lines that the file has for the table."""
    begin, end = "<!-- ways_to_build.py -->\n", "<!-- end of ways_to_build.py -->\n"
    with open(readme, encoding="utf-8") as file:
        before, _, rest = file.read().partition(begin)
    after = rest.partition(end)[2]
    with open(readme, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n".join(rows) + "\n" + end + after)


if __name__ == "__main__":
    sys.exit(main())
