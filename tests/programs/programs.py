"""The programs: each function runs one under a Host and returns what must be the same in every run.

The parts that differ from run to run anyway (times, process numbers, order of threads) are left
out.
"""

import hashlib
import os
import re
import signal
import time

from hosts import HostError, Watch, growth, wait_for

CPYTHON_TESTS = ("test_json", "test_dict", "test_gc", "test_threading", "test_subprocess")

HEAVY_SOURCE = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
using Value = std::variant<int, std::string, std::vector<std::string>>;
template <int N> struct Depth { std::map<std::string, Depth<N - 1>> below; };
template <> struct Depth<0> { std::unordered_map<std::string, Value> values; };
template struct Depth<12>;
bool Matches(const std::string& s) { return std::regex_match(s, std::regex("a(b|c)*d")); }
int Count(const Depth<12>& d) { return static_cast<int>(d.below.size()); }
"""


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:16]


def cpython(host, options):
    """CPython's own tests, with and without its small-object allocator."""
    found = {}
    for allocator in ("pymalloc", "malloc"):
        for test in CPYTHON_TESTS:
            status, text = host.run(
                ["/usr/bin/python3", "-m", "test", test],
                env={"PYTHONMALLOC": allocator},
                timeout=options.timeout_seconds,
            )
            verdicts = re.findall(r"^(?:Tests result|Result|== Tests result): (.*)$", text, re.M)
            failed = sorted(re.findall(r"^(?:FAIL|ERROR): (\S+)", text, re.M))
            found[f"{test}, {allocator}"] = (status, verdicts[-1:], failed)
    return found


def sqlite(host, options):
    """A database of 200 MiB: written, indexed, joined, compacted, checked, dumped."""
    rows = options.megabytes * 1024 * 1024 // 240
    script = f"""
        PRAGMA journal_mode = WAL;
        CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, body BLOB);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
          INSERT INTO t SELECT i, printf('name-%d', i * 7919 % 100003),
            zeroblob(100) || printf('%064d', i) FROM n;
        CREATE INDEX by_name ON t(name);
        SELECT count(*), sum(length(body)), max(name) FROM t;
        SELECT name, count(*) AS c FROM t GROUP BY name ORDER BY c DESC, name LIMIT 5;
        SELECT count(*) FROM t a JOIN t b ON a.name = b.name WHERE a.id % 1000 = 0;
        SELECT sum(length(json_object('id', id, 'name', name))) FROM t;
        UPDATE t SET body = printf('%x', id) WHERE id % 3 = 0;
        DELETE FROM t WHERE id % 5 = 0;
        VACUUM;
        PRAGMA integrity_check;
        SELECT count(*), total(length(body)) FROM t;
        """
    database = host.path("test.db")
    found = {"queries": host.run(["sqlite3", database], input=script)}
    status, dump = host.run(["sqlite3", database, ".dump"])
    found["dump"] = (status, hashlib.sha256(dump.encode()).hexdigest()[:16])
    os.remove(database)
    return found


def redis(host, options):
    """redis-server under redis-benchmark, forking to save all the while, then loaded again."""
    socket = host.path("redis.sock")
    configuration = host.file(
        "redis.conf",
        f"port 0\nunixsocket {socket}\ndir {host.directory}\nsave \"\"\n"
        f"logfile {host.path('redis.log')}\nenable-debug-command yes\ndaemonize no\n",
    )
    client = ["redis-cli", "-s", socket]

    def up():
        return os.path.exists(socket) and host.helper([*client, "PING"]).strip() == "PONG"

    def saved():
        return "rdb_bgsave_in_progress:0" in host.helper([*client, "INFO", "persistence"])

    server = host.start(["redis-server", configuration])
    wait_for("redis-server", up)
    known = "".join(f"SET known:{i} {i * i}\nRPUSH list:{i % 99} {i}\n" for i in range(50000))
    host.helper([*client, "--pipe"], input=known)
    digest_before = host.helper([*client, "DEBUG", "DIGEST"])
    watch = Watch(server.pid)
    saves = []
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        host.helper(
            ["redis-benchmark", "-s", socket, "-q", "-n", "40000", "-c", "20", "-r", "20000"]
            + ["-d", "200", "-P", "8", "-t", "set,get,incr,lpush,lpop,sadd,hset,zadd"]
        )
        host.helper([*client, "BGSAVE"])
        wait_for("BGSAVE", saved, 300)
        information = host.helper([*client, "INFO", "persistence"])
        saves.append("rdb_last_bgsave_status:ok" in information)
    host.memory = watch.stop()
    # The keys that the benchmark left are a matter of chance.  The known keys are not.
    lua = "for _, k in ipairs(redis.call('KEYS', '*')) do if not (k:find('^known:') or " \
          "k:find('^list:')) then redis.call('DEL', k) end end"
    host.helper([*client, "EVAL", lua, "0"])
    unchanged = host.helper([*client, "DEBUG", "DIGEST"]) == digest_before
    host.helper([*client, "SAVE"])
    host.helper([*client, "SHUTDOWN", "NOSAVE"])
    status = server.wait(timeout=60)
    again = host.start(["redis-server", configuration])
    wait_for("redis-server", up)
    reloaded = host.helper([*client, "DEBUG", "DIGEST"]) == digest_before
    again.send_signal(signal.SIGTERM)
    return {
        "status": (status, again.wait(timeout=60)),
        "every save succeeded": all(saves) and len(saves) > 0,
        "data unchanged, and after loading": (unchanged, reloaded),
        "digest": digest_before.strip(),
    }


NGINX = """
daemon off; master_process on; worker_processes 2; pid {directory}/nginx.pid;
error_log {directory}/nginx.log error;
{user}
events {{ worker_connections 512; }}
http {{
  access_log off; client_body_temp_path {directory}/b; proxy_temp_path {directory}/p;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{
    listen 127.0.0.1:{port}; root {directory}/www;
    location / {{
      gzip on; gzip_min_length 1; gzip_types text/plain; ssi on; ssi_types text/plain;
    }}
  }}
}}
"""


def nginx(host, options):
    """nginx under wrk.  Its workers are replaced every second."""
    os.makedirs(host.path("www"))
    host.file("www/a.txt", "a line of text that compresses\n" * 500)
    os.chmod(host.directory, 0o755)
    user = "user root;" if os.getuid() == 0 else ""
    text = NGINX.format(directory=host.directory, port=options.port, user=user)
    configuration = host.file("nginx.conf", text)
    server = host.start(["nginx", "-c", configuration, "-p", host.directory])
    url = f"http://127.0.0.1:{options.port}/a.txt"

    def up():
        return os.path.exists(host.path("nginx.pid")) and os.path.getsize(host.path("nginx.pid"))

    wait_for("nginx", up)
    page = host.helper(["curl", "-sS", "--retry", "5", "--retry-connrefused", url])
    watch = Watch(server.pid)
    bad_answers = 0
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        out = host.helper(["wrk", "-t1", "-c20", "-d1s", url])
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", out)
        bad_answers += int(bad[1]) if bad else 0
        if not re.search(r"[1-9]\d* requests in", out):
            raise HostError(f"nginx answered nothing: {out[-300:]}")
        server.send_signal(signal.SIGHUP)
    host.memory = watch.stop()
    same_page = host.helper(["curl", "-sS", url]) == page
    server.send_signal(signal.SIGQUIT)
    status = server.wait(timeout=60)
    with open(host.path("nginx.log"), encoding="utf-8", errors="replace") as file:
        log = file.read()
    return {
        "status": status,
        "bad answers": bad_answers,
        "same page": same_page,
        "crashes": re.findall(r"exited on signal \d+|exited with (?:fatal )?code [1-9]\d*", log),
    }


def compilers(host, options):
    """A heavy source file through each compiler.  The object files are equal."""
    source = host.file("heavy.cc", HEAVY_SOURCE)
    found = {}
    for compiler in options.compilers:
        status, _ = host.run([compiler, "-std=c++17", "-O1", "-c", source, "-o", host.path("o")])
        found[compiler] = (status, status == 0 and digest(host.path("o")))
    return found


def git(host, options):
    """git gc of this repository, and everything that can be reached afterwards."""
    copy = host.path("repository")
    safe = ["-c", "safe.directory=*"]
    clone = ["git", *safe, "clone", "-q", "--mirror", "--no-hardlinks"]
    host.helper([*clone, options.repository, copy])
    objects = ["git", "rev-list", "--all", "--objects"]
    status, _ = host.run(["git", "gc", "--aggressive", "--prune=now", "--quiet"], cwd=copy)
    fsck_status, fsck_text = host.run(["git", "fsck", "--full", "--strict"], cwd=copy)
    _, listed = host.run(objects, cwd=copy)
    return {
        "gc": status,
        "fsck": (fsck_status, fsck_text),
        "objects": hashlib.sha256("".join(sorted(listed.splitlines())).encode()).hexdigest()[:16],
    }


PROGRAMS = {
    "cpython": cpython,
    "sqlite": sqlite,
    "redis": redis,
    "nginx": nginx,
    "compilers": compilers,
    "git": git,
}


def memory(host):
    """((resident early, late), (mappings early, late)) of a server, or None."""
    samples = getattr(host, "memory", None)
    return samples and (growth(samples, 1), growth(samples, 2))
