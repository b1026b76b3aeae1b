#!/usr/bin/env python3
"""Servers that idle until they are asked: what that costs, and whether asking disturbs anybody.

    asked.py --library liballomon.so --allomon PATH [--only redis,nginx,postgres] [--times 100]

Each server runs with the library and ALLOMON_PROFILE=no, and with ALLOMON_PROFILE=idle, in turns,
under the same work; the CPU time of all its processes is compared.  Two runs with `no` in each
round say what is noise.  Then it runs idle under endless work, and is told to start, is shown by
`allomon top`, saved and told to stop, again and again.  Every command must succeed, the files must
be read, and no client may see an error.  Run by hand: it needs redis, nginx, ab and postgresql.
"""

import argparse
import glob
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from hosts import Host, HostError, wait_for, wait_for_answer

NGINX = """
daemon off; master_process on; worker_processes 2; pid {0}/nginx.pid; error_log {0}/log error;
{user}
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f;
  uwsgi_temp_path {0}/u; scgi_temp_path {0}/s; client_header_buffer_size 1k;
  server {{
    listen unix:{0}/socket; listen 127.0.0.1:{port}; root {0}/www;
    location / {{ gzip on; gzip_min_length 1; gzip_types text/plain; }}
  }}
}}
"""


class Redis:
    """redis-server under redis-benchmark."""

    user = ""

    def __init__(self, host, _port):
        self.host = host
        self.socket = host.path("redis.sock")
        self.process = host.start(
            ["redis-server", "--port", "0", "--unixsocket", self.socket, "--save", ""]
            + ["--dir", host.directory, "--logfile", host.path("log")]
        )
        client = ["redis-cli", "-s", self.socket]
        wait_for("redis", lambda: os.path.exists(self.socket))
        wait_for_answer("redis", host, [*client, "PING"], self.process)

    def asked(self):
        return self.process.pid

    def work(self, size):
        out = self.host.helper(
            ["redis-benchmark", "-s", self.socket, "-q", "-n", str(20000 * size), "-c", "20"]
            + ["-r", "20000", "-d", "900", "-t", "set,get,lpush,lpop,sadd,hset"]
        )
        answers = len(re.findall(r"requests per second", out))
        return [] if answers == 6 else [f"redis-benchmark: {answers} of 6 kinds: {out[-200:]}"]


class Nginx:
    """Two workers under ab; pages are compressed, which allocates."""

    user = ""

    def __init__(self, host, port):
        self.host, self.port = host, port
        os.makedirs(host.path("www"))
        host.file("www/a.txt", "a line of text that compresses\n" * 500)
        user = "user root;" if os.getuid() == 0 else ""
        text = NGINX.format(host.directory, port=port, user=user)
        self.process = host.start(["nginx", "-c", host.file("conf", text), "-p", host.directory])
        wait_for("nginx", lambda: os.path.exists(host.path("socket")))

    def asked(self):
        return self.process.pid

    def work(self, size):
        out = self.host.helper(
            ["ab", "-q", "-n", str(4000 * size), "-c", "10", "-H", "Accept-Encoding: gzip"]
            + [f"http://127.0.0.1:{self.port}/a.txt"]
        )
        bad = re.findall(r"(?:Failed|Non-2xx).*: +[1-9]\d*", out)
        done = f"Complete requests:      {4000 * size}\n" in out
        return bad if done else [*bad, f"ab: {out[-200:]}"]


class Postgres:
    """A process for each client, under pgbench."""

    user = "postgres"

    def __init__(self, host, _port):
        self.host = host
        self.programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
        self.connection = ["-h", host.directory, "-U", "tester"]
        data = host.path("data")
        host.helper(
            [f"{self.programs}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-N"]
            + ["--locale=C.UTF-8"]
        )
        self.process = host.start(
            [f"{self.programs}/postgres", "-D", data, "-k", host.directory, "-h", ""]
            + ["-c", "fsync=off", "-c", "autovacuum=off"]
        )
        ready = [f"{self.programs}/pg_isready", "-q", *self.connection]
        wait_for_answer("postgres", host, ready, self.process)
        host.helper([f"{self.programs}/createdb", *self.connection, "bench"])
        host.helper([f"{self.programs}/pgbench", *self.connection, "-i", "-q", "bench"])

    def asked(self):
        return self.process.pid

    def work(self, size):
        out = self.host.helper(
            [f"{self.programs}/pgbench", *self.connection, "-c", "2", "-S", "-n"]
            + ["-t", str(3000 * size), "--random-seed=17", "bench"]
        )
        good = f"processed: {6000 * size}/{6000 * size}" in out
        return [] if good else [f"pgbench: {out[-300:]}"]

    def work_for(self, seconds):
        """The same two sessions all the while, since each has a process of its own."""
        out = self.host.helper(
            [f"{self.programs}/pgbench", *self.connection, "-c", "2", "-S", "-n"]
            + ["-T", str(seconds), "bench"],
            timeout=seconds + 60,
        )
        good = "number of failed transactions: 0 " in out
        return [] if good else [f"pgbench: {out[-300:]}"]


# Four commands and a report, on a busy machine.
SECONDS_OF_A_TURN = 4

SERVERS = {"redis": Redis, "nginx": Nginx, "postgres": Postgres}


def family(pid):
    """Fields of /proc/PID/stat behind the name (proc(5)), of a process and all its descendants."""
    fields = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                fields[int(path.split("/")[2])] = file.read().rpartition(")")[2].split()
        except OSError:
            continue
    members = [pid]
    for member in members:
        members += [it for it in fields if int(fields[it][1]) == member]
    return {it: fields[it] for it in members if it in fields}


def cpu_seconds(pid):
    """Of all that live; what children used that have ended is their parents'."""
    ticks = sum(int(it) for fields in family(pid).values() for it in fields[11:15])
    return ticks / os.sysconf("SC_CLK_TCK")


class Running:
    """A server of a kind, in a folder of its own, with a profile."""

    def __init__(self, name, profile, options):
        folder = tempfile.mkdtemp(prefix="asked.", dir="/var/tmp")
        variables = {"LD_PRELOAD": options.library, "ALLOMON_PROFILE": profile}
        kind = SERVERS[name]
        self.host = Host(os.path.join(folder, "host"), variables, kind.user)
        os.chmod(folder, 0o755)
        self.folder = folder
        try:
            self.server = kind(self.host, options.port)
        except HostError:
            self.end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        self.host.remove()
        shutil.rmtree(self.folder, ignore_errors=True)


def cost_of_idle(name, options):
    """The ratios of CPU time idle/no and no/no, each the median of rounds."""
    ratios = {"idle": [], "no again": []}
    with Running(name, "no", options) as no, Running(name, "idle", options_at(options, 1)) as idle:
        for round_number in range(options.rounds + 1):
            used = {}
            order = [("no", no), ("idle", idle), ("no again", no)]
            for what, running in order if round_number % 2 else reversed(order):
                before = cpu_seconds(running.server.process.pid)
                errors = running.server.work(options.size)
                used[what] = cpu_seconds(running.server.process.pid) - before
                if errors:
                    raise HostError(f"{name}, {what}: {errors[0]}")
            if round_number == 0:
                continue  # caches are filled
            for what in ratios:
                ratios[what].append(used[what] / used["no"])
    return ratios


def options_at(options, more):
    copy = argparse.Namespace(**vars(options))
    copy.port += more
    return copy


class Client(threading.Thread):
    """Works without an end, and keeps what was wrong."""

    def __init__(self, server, seconds):
        super().__init__(daemon=True)
        self.server, self.seconds, self.errors, self.rounds = server, seconds, [], 0
        self.ends = threading.Event()

    def work(self):
        if hasattr(self.server, "work_for"):
            return self.server.work_for(self.seconds)
        return self.server.work(1)

    def run(self):
        while not self.ends.is_set():
            try:
                self.errors += self.work()
            except HostError as error:
                self.errors.append(str(error))
            self.rounds += 1


def command(options, *words):
    """A command's time, and what was wrong with it: nothing, or a line."""
    start = time.monotonic()
    done = subprocess.run(
        [options.allomon, *words], capture_output=True, text=True, timeout=120, check=False
    )
    seconds = time.monotonic() - start
    wrong = "" if done.returncode == 0 else f"{' '.join(words)}: {done.returncode}: {done.stderr}"
    return seconds, wrong.strip(), done.stdout


def ask(name, options):
    """How long each command took, what was wrong, and how much the client did meanwhile."""
    seconds, wrong = {}, []
    with Running(name, "idle", options) as running:
        client = Client(running.server, 20 + options.times * SECONDS_OF_A_TURN)
        client.start()
        pid = str(running.server.asked())
        saved = os.path.join(running.folder, "saved.pb.gz")
        # Workers have a page when they have allocated some megabytes.
        time.sleep(options.warm_up)
        children = [] if name == "redis" else ["--all-children"]
        for number in range(options.times):
            show(f"{name}: {number} of {options.times}, {len(wrong)} wrong")
            for word, words in (
                ("start", ["ctl", pid, "start", "--rate=1e-3"]),
                ("top", ["top", pid, "-n", "1"]),
                ("save", ["save", pid, "-o", saved]),
                ("stop", ["ctl", pid, "stop"]),
            ):
                took, line, _ = command(options, *words, *children)
                seconds.setdefault(word, []).append(took)
                if line:
                    wrong.append(line)
            _, line, text = command(options, "report", "--json", saved)
            if line or not json.loads(text):
                wrong.append(line or "an empty report")
        client.ends.set()
        client.join()
        said = running.host.complaints()
        if running.server.process.poll() is not None:
            wrong.append(f"the server ended with {running.server.process.returncode}")
        return seconds, wrong, client, said


def show(text):
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text[:78]}")


def clean(options):
    """Removes the recordings of the servers that have ended."""
    command(options, "list", "--clean")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--library", required=True)
    parser.add_argument("--allomon", required=True)
    parser.add_argument("--only", default=",".join(SERVERS))
    parser.add_argument("--times", type=int, default=100, help="starts and stops")
    parser.add_argument("--rounds", type=int, default=10, help="of the comparison; 0: none")
    parser.add_argument("--size", type=int, default=5, help="of the work in a round")
    parser.add_argument("--warm-up", type=float, default=3, help="seconds before the first start")
    parser.add_argument("--port", type=int, default=18080)
    options = parser.parse_args()
    options.library = os.path.realpath(options.library)
    options.allomon = os.path.realpath(options.allomon)
    names = options.only.split(",")
    for name in names:
        if name not in SERVERS:
            parser.error(f"no server '{name}' ({', '.join(SERVERS)})")
    bad = 0
    for name in names:
        if options.rounds:
            for what, ratios in cost_of_idle(name, options).items():
                middle, low, high = statistics.median(ratios), min(ratios), max(ratios)
                print(f"{name}: CPU of {what} / no: {middle:.3f} ({low:.3f} to {high:.3f})")
        if options.times:
            seconds, wrong, client, said = ask(name, options)
            show("")
            times = ", ".join(
                f"{word} {statistics.median(it):.2f} s (max {max(it):.2f})"
                for word, it in seconds.items()
            )
            print(f"{name}: {options.times} times: {times}")
            print(f"{name}: client: {client.rounds} rounds, {len(client.errors)} errors")
            for line in (*wrong[:10], *client.errors[:10], *said[:10]):
                print(f"{name}: {line}")
            bad += len(wrong) + len(client.errors) + len(said)
            clean(options)
        sys.stdout.flush()
    print("PASS" if bad == 0 else f"FAIL: {bad}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
