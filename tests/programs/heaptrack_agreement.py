#!/usr/bin/env python3
"""Whether recordings agree with heaptrack, which follows every block, on the same programs.

    heaptrack_agreement.py --allomon PATH [--only NAME,...] [--story PATH] [--rows 10]

Each program runs once under heaptrack and once under `allomon run`; both are asked which functions
(with what they called) had the most allocations, bytes at the peak and bytes never freed.  A row is
a function of heaptrack's first ten with a name.  It agrees if its figure is in the 95 % interval of
ours, made wider by what two runs of the program differ in (heaptrack's second run).  Run by hand:
it needs the package heaptrack, and programs that are not installed for CI.  Status 1: a row is
further than 5.7 sigma away, or less than 90 % are within the 95 % interval.
"""

import argparse
import collections
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

SIGMAS_OF_ALARM = 5.7
# Blocks without any sample are in no interval.  In 97.5 of 100 runs they are fewer words than this
# many gaps; a block has two words or more, one of them its header.
UNSEEN_HITS = 3.7
LEAST_PART_WITHIN = 0.9
# Of the largest row.
LEAST_PART = 0.02
# Less is what the C library keeps for itself, which heaptrack frees before it counts leaks.
LEAST_BYTES = 8192

SQL = (
    "create table t(a,b);"
    "with recursive c(x) as (select 1 union all select x+1 from c where x<60000)"
    " insert into t select x, 'text'||x from c;"
    "create index i on t(b); select count(*) from t;"
)
PYTHON = (
    "import json\n"
    "rows = [{'id': i, 'name': 'row %d' % i, 'tags': [str(i)] * 3} for i in range(40000)]\n"
    "text = json.dumps(rows)\n"
    "again = json.loads(text)\n"
    "print(len(text), len(again))\n"
)
CPLUSPLUS = """
#include <map>
#include <string>
int main() { std::map<int, std::string> names; names[1]; }
"""

# name -> (rate, command as a function of the scratch folder)
PROGRAMS = {
    "python3": (1e-2, lambda folder: ["/usr/bin/python3", script(folder)]),
    "sqlite3": (1e-2, lambda _: ["sqlite3", ":memory:", SQL]),
    "redis": (1e-2, lambda folder: (REDIS % folder).split()),
    "g++": (1e-2, lambda folder: [cc1plus(), *CC1_FLAGS, source(folder), "-o", "/dev/null"]),
    "git": (1e-1, lambda folder: ["git", "-C", repository(folder), "log", "--stat", "-n", "60"]),
}
REDIS = (
    "redis-server --port 0 --unixsocket %s/redis.sock --appendonly no --activedefrag no"
    " --daemonize no"
)


CC1_FLAGS = ["-quiet", "-imultiarch", "x86_64-linux-gnu", "-O1"]


def cc1plus():
    return subprocess.check_output(["g++", "-print-prog-name=cc1plus"], text=True).strip()


def script(folder):
    path = os.path.join(folder, "rows.py")  # heaptrack cannot read a command with line ends
    with open(path, "w") as file:
        file.write(PYTHON)
    return path


def source(folder):
    path = os.path.join(folder, "map.cc")
    with open(path, "w") as file:
        file.write(CPLUSPLUS)
    return path


def repository(_):
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.check_output(
        ["git", "-C", here, "rev-parse", "--show-toplevel"], text=True
    ).strip()


def load_redis(folder):
    """Fills a server that is just starting, and ends it."""
    socket = os.path.join(folder, "redis.sock")
    fill = "".join(f"SET key{i} {'v' * (i % 300 + 1)}\n" for i in range(20000))
    call = ["redis-cli", "-s", socket]
    for _ in range(600):
        if subprocess.run(call + ["ping"], capture_output=True).stdout == b"PONG\n":
            break
        subprocess.run(["sleep", "0.1"], check=True)
    subprocess.run(call, input=fill.encode(), capture_output=True, check=True)
    subprocess.run(call + ["shutdown", "nosave"], capture_output=True)


def run(name, command, folder):
    with open(os.path.join(folder, "output"), "w") as output:
        fixed = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(command, stdout=output, stderr=output, env=fixed)
        if name == "redis":
            load_redis(folder)
        process.wait()


def function_of(frame):
    """A name without arguments and template arguments, which the two print differently."""
    frame = re.sub(r"\s*\[.*\]$", "", frame)
    if frame.startswith(("0x", "<unresolved", "??")):
        return None
    depth = 0
    name = ""
    for char in frame.replace("operator()", "operator").replace("(anonymous namespace)", "anon"):
        if char == "<":
            depth += 1
        elif char == ">":
            depth -= 1
        elif char == "(" and depth == 0:
            break
        elif depth == 0:
            name += char
    name = re.sub(r"^.* (?=[\w~:]+$)", "", name.strip())
    # The two print scopes without a name differently, and of the C library's functions, which have
    # several names, other ones.
    name = name.rpartition("::")[2].replace("_IO_new_", "_IO_")
    return re.sub(r"^(__GI_)?_*(?=\w)|_impl$", "", name) or None


# ---- heaptrack

# heaptrack keeps 64 frames of a stack, the innermost: the outer functions of deeper ones are
# counted too low.  Under this name is what stacks without the start of the program come to.
CUT = "cut"


def heaptrack(name, command, folder, tag):
    """{metric: {function: figure, what it called included}}."""
    data = os.path.join(folder, "heaptrack." + tag)
    run(name, ["heaptrack", "-o", data] + command, folder)
    recorded = [f for f in os.listdir(folder) if f.startswith("heaptrack." + tag)]
    if not recorded:
        sys.exit(f"{name}: heaptrack wrote nothing: {open(os.path.join(folder, 'output')).read()}")
    costs = {"blocks": "allocations", "peak": "peak", "live": "leaked"}
    return {
        metric: by_function(print_stacks(os.path.join(folder, recorded[0]), cost, folder))
        for metric, cost in costs.items()
    }


def print_stacks(data, cost, folder):
    path = os.path.join(folder, "stacks.txt")
    quiet = ["-p0", "-a0", "-T0", "-l0"]
    subprocess.run(
        ["heaptrack_print", "-f", data, *quiet, "--flamegraph-cost-type", cost, "-F", path],
        capture_output=True,
        check=True,
    )
    with open(path, errors="replace") as file:
        return file.read().splitlines()


def by_function(lines):
    sums = collections.Counter()
    for line in lines:
        stack, _, amount = line.rpartition(" ")
        functions = {function_of(frame) for frame in stack.split(";")} - {None}
        for function in functions:
            sums[function] += int(amount)
        if "libc_start_call_main" not in functions:
            sums[CUT] += int(amount)
    return sums


# ---- ours


def ours(name, command, folder, allomon, rate):
    """{metric: {function: (figure, variance)}}."""
    profile = os.path.join(folder, "ours.pb.gz")
    run(name, [allomon, "run", "--rate", str(rate), "-o", profile, "--"] + command, folder)
    if not os.path.exists(profile):
        sys.exit(f"{name}: no profile: {open(os.path.join(folder, 'output')).read()}")
    out = subprocess.run(
        [allomon, "export", "--format=json", "-o", "-", profile], capture_output=True, check=True
    )
    return sums_of(json.loads(out.stdout))


def probability(size_bytes, rate):
    words = math.ceil(size_bytes / 8) + 1
    return -math.expm1(words * math.log1p(-rate)) if rate < 1 else 1


def sums_of(profile):
    metrics = {"blocks": ("alloc", "blocks"), "peak": ("peak", "bytes"), "live": ("live", "bytes")}
    sums = {metric: collections.defaultdict(lambda: [0.0, 0.0]) for metric in metrics}
    for sample in profile["samples"]:
        functions = functions_of(profile, sample["stack"])
        for metric, (key, unit) in metrics.items():
            amount = sample.get(key)
            if not amount or not amount["blocks"]:
                continue
            size = amount["bytes"] / amount["blocks"]
            p = probability(size, profile["rate"])
            variance = amount["blocks"] * (1 - p) / p * (size**2 if unit == "bytes" else 1)
            for function in functions:
                sums[metric][function][0] += amount[unit]
                sums[metric][function][1] += variance
    return sums


def functions_of(profile, stack):
    functions = set()
    for number in stack:
        for line in profile["locations"][number]["lines"]:
            functions.add(function_of(profile["functions"][line["function"]]["name"]))
    return functions - {None}


# ---- the comparison


def interval(value, variance, sigmas):
    """Wilson's, as tools/heap/interval.h."""
    if value <= 0 or variance <= 0:
        return value, value
    middle = value + sigmas**2 * variance / value / 2
    quarter = sigmas * variance / value / 2
    half = sigmas * math.sqrt(variance + quarter**2)
    return middle - half, middle + half


# Everything is below these: they say nothing, and the two walk a different last frame.
OUTERMOST = {"main", "start", "libc_start_main", "libc_start_call_main", "start_thread"}
# heaptrack's own library brings libstdc++ into the process, whose reserve for exceptions it counts.
OUTERMOST |= {"call_init", "dl_init", "dl_start_user"}
ALLOCATORS = {"malloc", "calloc", "realloc", "operator new", "operator new[]", "posix_memalign"}


def compare(name, metric, truth, again, mine, rows, rate):
    results = []
    ranked = [f for f, _ in truth.most_common() if f not in OUTERMOST | ALLOCATORS | {CUT}]
    largest = truth[ranked[0]] if ranked else 0
    for function in ranked[:rows]:
        least_bytes = 0 if metric == "blocks" else LEAST_BYTES
        if truth[function] < max(LEAST_PART * largest, least_bytes):
            break
        low, high = sorted((truth[function], again.get(function, 0)))
        high += truth[CUT]
        value, variance = mine.get(function, (0.0, 0.0))
        within = {}
        for sigmas in (1.96, SIGMAS_OF_ALARM):
            least, most = interval(value, variance, sigmas)
            most += UNSEEN_HITS / rate * (0.5 if metric == "blocks" else 8)
            slack = 0.005 * high  # rows without a variance: the environment differs by some bytes
            within[sigmas] = least - slack <= high and low <= most + slack
        mark = "" if within[1.96] else "outside" if within[SIGMAS_OF_ALARM] else "WRONG"
        least, most = interval(value, variance, 1.96)
        print(
            f"{name:8} {metric:7} {function[:48]:48} {truth[function]:>12} "
            f"{value:>12.0f} ({least:.0f} to {most:.0f}) {mark}"
        )
        results.append((within[1.96], within[SIGMAS_OF_ALARM]))
    return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--allomon", required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--story", help="the program //examples:heap_story, compared as well")
    parser.add_argument("--rows", type=int, default=10)
    args = parser.parse_args()
    if shutil.which("heaptrack") is None:
        sys.exit("heaptrack_agreement: apt install heaptrack")
    programs = dict(PROGRAMS)
    if args.story:
        programs["story"] = (1e-3, lambda _: [os.path.abspath(args.story)])
    results = []
    for name, (rate, command_in) in programs.items():
        if args.only and name not in args.only.split(","):
            continue
        with tempfile.TemporaryDirectory() as folder:
            command = command_in(folder)
            truth = heaptrack(name, command, folder, "first")
            again = heaptrack(name, command, folder, "second")
            mine = ours(name, command, folder, os.path.abspath(args.allomon), rate)
            for metric in truth:
                results += compare(
                    name, metric, truth[metric], again[metric], mine[metric], args.rows, rate
                )
    within = sum(near for near, _ in results)
    far = sum(not not_far for _, not_far in results)
    print(f"{within} of {len(results)} rows within 95 %, {far} beyond {SIGMAS_OF_ALARM} sigma")
    sys.exit(1 if far or within < LEAST_PART_WITHIN * len(results) else 0)


if __name__ == "__main__":
    main()
