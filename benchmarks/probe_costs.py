#!/usr/bin/env python3
"""Costs of the USDT probes while a tracer listens, and what a tracer sees of a server.

  bazel run //benchmarks:probe_costs                 instructions of a pair, by callgrind
  cd bazel-bin; sudo benchmarks/probe_costs --time   nanoseconds, with bpftrace attached
  cd bazel-bin; sudo benchmarks/probe_costs --redis  weighted bytes of a minute of redis under load,
                                                     beside its recording's of the same requests
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))

import fast_path  # noqa: E402
import redis_workload  # noqa: E402

SHORT, LONG = 2_000, 12_000
# operation's name -> what it is
OPERATIONS = {
    "unsampled_pair": "malloc(64) and free, no tracer is attached, and no sample is taken",
    "unsampled_told_pair": "the same while a tracer is attached",
    "told_pair": "the same, sampled: the tracer is told of both",
    "sampled_pair": "sampled with 8 frames and followed by a tracker in the process, to compare",
}
BYTES_OF = {"512k": 1 << 19, "64k": 1 << 16, "8k": 1 << 13}
PAIR_BYTES = 64
NORMAL_95 = 1.96  # standard errors of a 95 % interval
SECONDS = 3
ROUNDS = 5
LISTEN = """
usdt:LIBRARY:otel_memory:alloc { @allocs = count(); }
usdt:LIBRARY:otel_memory:free { @frees = count(); }
"""
# Each address is to be born, to die, and to be born again.
FOLLOW = """
usdt:LIBRARY:otel_memory:alloc {
  @births = count(); @weighted = sum(arg2); @squares = sum(arg2 * arg2);
  if (@live[arg0]) { @born_twice = count(); }
  @live[arg0] = 1;
}
usdt:LIBRARY:otel_memory:free {
  @deaths = count();
  if (@live[arg0]) { delete(@live[arg0]); } else { @died_unborn = count(); }
}
interval:ms:500 {
  print(@births); print(@deaths); print(@weighted); print(@squares);
  print(@born_twice); print(@died_unborn);
}
END { clear(@live); }
"""
REDIS_SECONDS = 60
REDIS_GAP = "64k"


def instructions(root):
    program = os.path.join(root, "benchmarks", "operation")
    for name, what in OPERATIONS.items():
        short, long = (fast_path.instructions([program, name, str(count)])
                       for count in (SHORT, LONG))
        print(f"{name:20} {(long - short) / (LONG - SHORT):9.1f}  {what}")


def library_of(root):
    library = os.path.realpath(os.path.join(root, "allocator", "liballomon.so"))
    if not os.path.exists(library):
        raise SystemExit(f"{library} is not there: start this in bazel-bin")
    return library


@contextlib.contextmanager
def tracer(pid, program, root, out):
    """bpftrace, from the moment at which it is attached."""
    environment = {**os.environ, "BPFTRACE_MAP_KEYS_MAX": str(1 << 20)}
    process = subprocess.Popen(["bpftrace", "-p", str(pid), "-e",
                                program.replace("LIBRARY", library_of(root))],
                               stdout=out, stderr=subprocess.DEVNULL, env=environment)
    try:
        wait_for(lambda: b"Attaching" in open(out.name, "rb").read())
        time.sleep(1)  # the line comes before it has done so
        yield
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def wait_for(is_there):
    for _ in range(600):
        if is_there():
            return
        time.sleep(0.05)
    raise SystemExit("waited for 30 s in vain")


def read_seconds(server, count):
    """Nanoseconds per pair of so many seconds from now on: lines of earlier ones are there at
    once, and the second that has begun is left out, too.
    """
    waited = 0
    while waited < 0.3:
        begin = time.monotonic()
        server.stdout.readline()
        waited = time.monotonic() - begin
    return [float(server.stdout.readline()) for _ in range(count)]


def pairs_by_seconds(root, gap):
    program = os.path.join(root, "benchmarks", "malloc_workloads")
    environment = {**os.environ, "LD_PRELOAD": library_of(root), "ALLOMON_PROFILE": "idle",
                   "ALLOMON_PROBES": gap}
    return subprocess.Popen([program, "seconds", str(PAIR_BYTES), "1000"], env=environment,
                            text=True, stdout=subprocess.PIPE)


def times_at(root, gap, folder):
    """Nanoseconds per pair, without and with a tracer, in seconds that alternate; and samples per
    second with one.
    """
    process = pairs_by_seconds(root, gap)
    name = os.path.join(folder, gap)
    alone, told, allocs = [], [], 0
    try:
        for _ in range(ROUNDS):
            alone += read_seconds(process, SECONDS)
            with open(name, "wb") as out, tracer(process.pid, LISTEN, root, out):
                told += read_seconds(process, SECONDS)
            allocs += number(name, "allocs")
    finally:
        process.kill()
        process.wait()
    if allocs == 0:
        raise SystemExit("bpftrace heard nothing")
    return alone, told


def times(root):
    with tempfile.TemporaryDirectory() as folder:
        for gap in BYTES_OF:
            alone, told = times_at(root, gap, folder)
            difference = statistics.median(told) - statistics.median(alone)
            per_sample = difference * BYTES_OF[gap] / (PAIR_BYTES + 8)
            print(f"{gap:>5}: alone {shown(alone)} ns, with bpftrace {shown(told)} ns per pair; "
                  f"{per_sample / 1000:.2f} us per sampled pair")


def shown(values):
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def number(name, key):
    """The last value that bpftrace has printed."""
    with open(name, encoding="utf-8") as file:
        values = re.findall(rf"@{key}: (\d+)", file.read())
    return int(values[-1]) if values else 0


def load(socket, seconds):
    """Requests for so long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        subprocess.run([redis_workload.CLIENT, "-s", socket, "-q", "-n", "50000", "-r", "50000",
                        "-d", "200", "-P", "8", "-t", redis_workload.TESTS],
                       env=redis_workload.PLAIN, check=True, capture_output=True)


def recorded(root, pid, folder):
    """The recording's sum so far of what was allocated, and its interval."""
    command = os.path.join(root, "tools", "allomon", "allomon")
    name = os.path.join(folder, "saved.pb.gz")
    subprocess.run([command, "save", str(pid), "-o", name], check=True, capture_output=True)
    done = subprocess.run([command, "report", "--metric=alloc", "--format=json", name],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def redis(root):
    with tempfile.TemporaryDirectory() as folder:
        server, socket = redis_workload.start(
            folder, {"LD_PRELOAD": library_of(root), "ALLOMON_PROFILE": "idle",
                     "ALLOMON_PROBES": REDIS_GAP})
        try:
            follow_redis(root, server, socket, folder)
        finally:
            server.kill()
            server.wait()


def follow_redis(root, server, socket, folder):
    name = os.path.join(folder, "out")
    ctl = [os.path.join(root, "tools", "allomon", "allomon"), "ctl", str(server.pid), "start"]
    with open(name, "wb") as out, tracer(server.pid, FOLLOW, root, out):
        asked = subprocess.Popen(ctl, stdout=subprocess.DEVNULL)
        load(socket, 3)  # both begin as the server allocates
        if asked.wait() != 0:
            raise SystemExit("redis does not record")
        for _ in range(10):  # a tracer on a busy machine attaches late
            if number(name, "births") != 0:
                break
            load(socket, 3)
        else:
            raise SystemExit("bpftrace hears nothing")
        before, traced = at_rest(root, server, folder, name)
        load(socket, REDIS_SECONDS)
        after, traced_after = at_rest(root, server, folder, name)
        traced = [end - begin for begin, end in zip(traced, traced_after)]
        counts = {key: number(name, key)
                  for key in ("births", "deaths", "born_twice", "died_unborn")}
    print_redis(before, after, traced, counts)


def at_rest(root, server, folder, name):
    """What the recording and the tracer have by now; no request is under way."""
    time.sleep(1.5)
    return recorded(root, server.pid, folder), (number(name, "weighted"), number(name, "squares"))


def print_redis(before, after, traced, counts):
    """Both are sums of independent samples: the squares of the tracer's are no less than its
    variance, and variances of increments are differences.
    """
    def half(report):
        return (report["alloc_bytes_high"] - report["alloc_bytes_low"]) / 2

    if after["dropped_samples"] or counts["births"] == 0:
        raise SystemExit(f"not to be compared: {after['dropped_samples']} samples were dropped")
    weighted, squares = traced
    recording = after["alloc_bytes"] - before["alloc_bytes"]
    width = (half(after) ** 2 - half(before) ** 2) ** 0.5
    width_of_both = (width ** 2 + NORMAL_95 ** 2 * squares) ** 0.5
    difference = weighted - recording
    seconds = after["seconds"] - before["seconds"]
    print(f"{seconds:.0f} s: recording {recording / 1e6:.1f} MB +- {width / 1e6:.1f}, tracer "
          f"{weighted / 1e6:.1f} MB +- {NORMAL_95 * squares ** 0.5 / 1e6:.1f}: "
          f"{difference / width:+.2f} of the recording's half, "
          f"{difference / width_of_both:+.2f} of both's")
    print(f"{counts['births']} births, {counts['deaths']} deaths; {counts['born_twice']} addresses "
          f"were born twice, {counts['died_unborn']} died unborn")
    if abs(difference) > width_of_both or counts["born_twice"] or counts["died_unborn"]:
        raise SystemExit("they do not agree")


def main():
    parser = argparse.ArgumentParser(description="Costs of the USDT probes.")
    parser.add_argument("--time", action="store_true", help="nanoseconds, with bpftrace attached")
    parser.add_argument("--redis", action="store_true", help="what bpftrace sees of redis")
    options = parser.parse_args()
    root = os.getcwd()  # `bazel run` starts this program in the folder of the binaries
    if not options.time and not options.redis:
        return instructions(root)
    if os.geteuid() != 0 or shutil.which("bpftrace") is None:
        raise SystemExit("needs root and bpftrace")
    if options.time:
        times(root)
    if options.redis:
        redis(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
