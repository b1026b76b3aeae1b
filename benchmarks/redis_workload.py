"""A redis server as a workload: requests of redis-benchmark by a socket of its own."""

import os
import shutil
import subprocess
import tempfile
import time

SERVER, CLIENT = "/usr/bin/redis-server", "/usr/bin/redis-benchmark"
PLAIN = {"PATH": "/usr/bin:/bin"}
REQUESTS, KEYS, VALUE_BYTES = 100_000, 50_000, 200
TESTS = "set,lpush,hset,get"  # REQUESTS of each


def can_run():
    return os.path.exists(SERVER) and os.path.exists(CLIENT) and shutil.which("redis-cli")


def start(folder, environment):
    """The server, when it answers."""
    socket = os.path.join(folder, "socket")
    server = subprocess.Popen(
        [SERVER, "--port", "0", "--unixsocket", socket, "--save", "", "--daemonize", "no"],
        env={**PLAIN, **environment}, cwd=folder,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        if os.path.exists(socket):
            break
        time.sleep(0.05)
    return server, socket


def resident_bytes(pid):
    with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def run(environment):
    """The server's processor seconds, and its resident bytes behind the last request."""
    with tempfile.TemporaryDirectory() as folder:
        server, socket = start(folder, environment)
        try:
            subprocess.run(
                [CLIENT, "-s", socket, "-q", "-n", str(REQUESTS), "-r", str(KEYS),
                 "-d", str(VALUE_BYTES), "-P", "8", "-t", TESTS],
                env=PLAIN, check=True, capture_output=True,
            )
            resident = resident_bytes(server.pid)
            subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], env=PLAIN,
                           check=False, capture_output=True)
        except BaseException:
            server.kill()
            server.wait()
            raise
        _, _, usage = os.wait4(server.pid, 0)
        server.returncode = 0
    return usage.ru_utime + usage.ru_stime, resident
