#!/usr/bin/env python3
"""`allomon explain` of real programs: whether rows add up to what the kernel says, and which rows
are the largest.

    bazel run //tests/programs:explained_hosts -- --only 'redis|java'
    bazel run //tests/programs:explained_hosts -- --write $PWD/tools/explain/README.md
    bazel run //tests/programs:explained_hosts -- --only swapped --swap-file /var/tmp/swap

The last one makes that file, as root, has the kernel swap to it meanwhile, and removes it.

Each program is recorded at the default rate, and explained when it is at rest, or under load.
Programs that are not installed are named and left out.  Ends with status 1 if a sum is off by more
than 1 % (3 % under load).  Run by hand: it needs servers that the suite does not install.
"""

import argparse
import dataclasses
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from typing import Callable

sys.dont_write_bytecode = True

from browsers import CHROMIUM_OPTIONS
from hosts import Host, HostError, wait_for, wait_for_answer
from results import table

MOST_OFF = {"at rest": 0.01, "under load": 0.03}
# Under load, the middle of several looks counts.
LOOKS = {"at rest": 1, "under load": 5}
HEADING = "## 4. Real programs\n"


@dataclasses.dataclass(frozen=True)
class Explained:
    name: str
    needs: str  # a command, or a file
    start: Callable  # start(host, port): the id of the process that is to be explained
    state: str = "at rest"
    user: str = ""


def of_rollup(pid, key):
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
            return int(re.search(rf"^{key}: +(\d+) kB", file.read(), re.MULTILINE)[1]) * 1024
    except OSError as error:
        raise HostError(f"process {pid} has ended") from error


def resident(pid):
    return of_rollup(pid, "Rss")


def child_of(pid, name):
    """The process of that name among those that `pid` has started, or it itself."""
    todo = [pid]
    while todo:
        pid = todo.pop()
        try:
            with open(f"/proc/{pid}/comm", encoding="ascii") as file:
                if file.read().startswith(name):
                    return pid
            for path in glob.glob(f"/proc/{pid}/task/*/children"):
                with open(path, encoding="ascii") as file:
                    todo += [int(it) for it in file.read().split()]
        except OSError:
            continue
    return 0


def until_ready(host, server, what):
    def ready():
        if server.poll() is not None:
            raise HostError(f"{what} ended with {server.returncode}: {host.said()[-300:]}")
        return os.path.exists(host.path("ready"))

    wait_for(what, ready)
    time.sleep(0.5)
    return server.pid


def script(command, name, text):
    """A program in a language, which makes the file "ready" and sleeps."""

    def start(host, _port):
        return until_ready(host, host.start([*command, host.file(name, text)]), name)

    return start


def compiled(text, *options):
    def start(host, _port):
        source = host.file("program.c", text)
        host.helper(["gcc", "-O1", "-pthread", *options, "-o", host.path("program"), source])
        return until_ready(host, host.start([host.path("program")]), "program")

    return start


def compiled_under_load(text):
    def start(host, port):
        pid = compiled(text)(host, port)
        time.sleep(1)
        return pid

    return start


# --- Servers.


def redis_server(host, *options):
    socket = host.path("redis.sock")
    server = host.start(
        ["redis-server", "--port", "0", "--unixsocket", socket, "--dir", host.directory]
        + ["--save", "", "--activedefrag", "no", *options]
    )
    wait_for("redis", lambda: os.path.exists(socket))
    time.sleep(0.2)
    return server.pid, ["redis-cli", "-s", socket]


def redis_half_deleted(host, _port):
    pid, client = redis_server(host)
    fill = "for i = 1, 400000 do redis.call('SET', 'key:' .. i, string.rep('v', 40 + i % 300)) end"
    half = (
        "for i = 1, 400000 do"
        " if (i * 7919) % 1009 < 504 then redis.call('DEL', 'key:' .. i) end end"
    )
    for text in (fill, half):
        host.helper([*client, "EVAL", text, "0"])
    return pid


def redis_under_load(host, port):
    pid, client = redis_server(host)
    load = ["redis-benchmark", "-s", client[2], "-q", "-l", "-n", "100000", "-r", "200000"]
    host.start([*load, "-d", "300", "-P", "8", "-t", "set,lpush,lpop,sadd,hset"])
    time.sleep(8)
    return pid


def postgres(host, _port):
    """A back end that keeps a sort of 300,000 rows and a table of hashes in memory."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    data = host.path("data")
    connection = ["-h", host.directory, "-U", "tester"]
    host.helper([f"{programs}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-N"])
    server = host.start([f"{programs}/postgres", "-D", data, "-k", host.directory, "-h", ""])
    wait_for_answer("postgres", host, [f"{programs}/pg_isready", "-q", *connection], server)
    query = host.file(
        "query.sql",
        "SET work_mem = '512MB';\nBEGIN;\nDECLARE c CURSOR FOR SELECT i, md5(i::text) AS m"
        " FROM generate_series(1, 300000) AS i ORDER BY m;\nFETCH 5 FROM c;\n"
        "\\! touch ready\n\\! sleep 1000\n",
    )
    client = host.start([f"{programs}/psql", *connection, "-f", query, "postgres"])
    until_ready(host, client, "psql")
    return max(children(server.pid), key=resident)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(it) for it in file.read().split()]


def mariadb(host, _port):
    data, socket = host.path("data"), host.path("socket")
    own = ["--no-defaults", f"--datadir={data}"]
    host.helper(["mariadb-install-db", *own, "--auth-root-authentication-method=normal"])
    server = host.start(
        ["mariadbd", *own, f"--socket={socket}", "--skip-networking"]
        + [f"--pid-file={host.path('pid')}"]
    )
    client = ["--no-defaults", f"--socket={socket}", "-uroot"]
    wait_for_answer("mariadbd", host, ["mariadb-admin", *client, "ping"], server)
    host.helper(
        ["mariadb", *client],
        input="CREATE DATABASE a; USE a; CREATE TABLE t(id INT PRIMARY KEY, body TEXT);"
        " INSERT INTO t SELECT seq, REPEAT(MD5(seq), 20) FROM seq_1_to_60000;",
    )
    time.sleep(1)
    return server.pid


NGINX = """
daemon off; master_process on; worker_processes 1; pid {directory}/nginx.pid;
error_log {directory}/nginx.log error; user root;
events {{ worker_connections 2048; }}
http {{
  access_log off; client_body_temp_path {directory}/b; proxy_temp_path {directory}/p;
  fastcgi_temp_path {directory}/f; uwsgi_temp_path {directory}/u; scgi_temp_path {directory}/s;
  server {{ listen 127.0.0.1:{port}; root {directory}; limit_rate 2m;
           location / {{ gzip on; gzip_types application/octet-stream; }} }}
}}
"""


def nginx_of(host, port):
    with open(host.path("large.bin"), "wb") as file:
        file.write(os.urandom(64 << 20))
    path = host.file("nginx.conf", NGINX.format(directory=host.directory, port=port))
    server = host.start(["nginx", "-c", path, "-p", host.directory])
    wait_for("nginx", lambda: os.path.exists(host.path("nginx.pid")))
    url = f"http://127.0.0.1:{port}/large.bin"
    host.helper(
        ["curl", "-sS", "-o", "/dev/null", "--retry", "5", "--retry-connrefused", "-r0-9", url]
    )
    return server.pid, url


def nginx_worker(host, port):
    """500 connections with compression, at once."""
    pid, url = nginx_of(host, port)
    host.start(["curl", "-sS", "-Z", "--parallel-max", "250", "-H", "Accept-Encoding: gzip"]
               + [f"{url}?[1-250]", "-o", "/dev/null"])
    time.sleep(3)
    return children(pid)[0]


def curl(host, port):
    _, url = nginx_of(host, port)
    parallel = ["curl", "-sS", "-Z", "--parallel-max", "50"]
    client = host.start([*parallel, f"{url}?[1-50]", "-o", "/dev/null"])
    time.sleep(3)
    return client.pid


def chromium(host, _port):
    """The process of the browser.  It has a malloc of its own."""
    page = host.file("page.html", "<canvas id=a></canvas>" + "<p>text</p>" * 20000)
    browser = host.start(
        ["chromium", *CHROMIUM_OPTIONS, "--remote-debugging-port=0", "file://" + page]
    )
    time.sleep(10)
    return child_of(browser.pid, "chromium")


# --- Commands.


def sqlite(host, _port):
    text = host.file(
        "commands",
        "CREATE TABLE t(a INTEGER PRIMARY KEY, b TEXT);\n"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500000)"
        " INSERT INTO t SELECT i, hex(i * 7919) || 'some text' FROM n;\n"
        "CREATE INDEX x ON t(b);\n.shell touch ready\n.shell sleep 1000\n",
    )
    return until_ready(host, host.start(["sqlite3", ":memory:", f".read {text}"]), "sqlite3")


def git(host, _port):
    """A repository is packed anew."""
    repository = host.path("repository")
    host.helper(["git", "init", "-q", repository])
    with open(os.path.join(repository, "numbers"), "w", encoding="ascii") as file:
        file.writelines(f"{i * 7919 % 1000003}\n" for i in range(3000000))
    more = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
    for i in range(3):
        with open(os.path.join(repository, "numbers"), "a", encoding="ascii") as file:
            file.write(f"{i}\n")
        host.helper([*more, "add", "numbers"])
        host.helper([*more, "commit", "-q", "-m", str(i)])
    server = host.start([*more, "repack", "-adfq", "--threads=1", "--window=50"])
    wait_for("pack-objects", lambda: any(resident(it) > 100 << 20 for it in children(server.pid)))
    return max(children(server.pid), key=resident)


def cc1plus(host, _port):
    compiler = host.helper(["gcc", "-print-prog-name=cc1plus"]).strip()
    arch = host.helper(["gcc", "-print-multiarch"]).strip()
    source = host.file(
        "large.cc",
        "#include <map>\n#include <string>\n#include <vector>\n#include <regex>\n"
        + "".join(
            f"struct T{i} {{ int v; bool operator<(const T{i}& o) const {{ return v < o.v; }} }};\n"
            f"int f{i}(std::map<T{i}, std::vector<std::string>>& m) {{ m[T{i}{{{i}}}]"
            f".push_back(\"{i}\"); return m.size(); }}\n"
            for i in range(1000)
        ),
    )
    server = host.start([compiler, "-quiet", "-imultiarch", arch, "-O2", source, "-o", "/dev/null"])
    wait_for("cc1plus", lambda: resident(server.pid) > 100 << 20)
    return server.pid


def emacs(host, _port):
    path = host.file(
        "list.el",
        "(setq a nil) (dotimes (i 500000) (push (format \"%d\" i) a))"
        "(write-region \"\" nil \"ready\") (sleep-for 1000)",
    )
    return until_ready(host, host.start(["emacs", "--batch", "-l", path]), "emacs")


def ffmpeg(host, _port):
    server = host.start(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=1920x1080:duration=600"]
        + ["-c:v", "mpeg4", "-f", "null", "/dev/null"]
    )
    time.sleep(4)
    return server.pid


def java(host, _port):
    path = host.file(
        "Kept.java",
        "import java.util.*;\npublic class Kept { public static void main(String[] a) throws"
        " Exception { List<String> kept = new ArrayList<>(); for (int i = 0; i < 1000000; i++)"
        " kept.add(\"value \" + i); new java.io.File(\"ready\").createNewFile();"
        " Thread.sleep(1000000); System.out.println(kept.size()); } }\n",
    )
    return until_ready(host, host.start(["java", path]), "java")


PYTHON_END = "open('ready', 'w').close()\nimport time\ntime.sleep(1000)\n"
PYTHON = "kept = [{'name': str(i), 'tags': [i, i + 1]} for i in range(300000)]\ndel kept[::2]\n"
NUMPY = (
    "import numpy\nkept = [numpy.ones(20000 + i) for i in range(300)]\n"
    "large = numpy.zeros(100_000_000)\nlarge[:1_000_000] = 1\n"
)
NODE = (
    "const kept = []; for (let i = 0; i < 500000; i++) kept.push({name: 'value ' + i});\n"
    "const large = Buffer.alloc(50 << 20, 1);\n"
    "require('fs').writeFileSync('ready', ''); setTimeout(() => kept.push(large), 1000000);\n"
)
PERL = (
    "for my $i (1 .. 300000) { $kept{$i} = [$i] } open(F, '>ready'); close(F); sleep 1000;\n"
)
RUBY = (
    "kept = (1..500000).map { |i| \"value #{i}\" * 3 }\nFile.write('ready', '')\nsleep 1000\n"
)
LUA = (
    "local kept = {} for i = 1, 500000 do kept[i] = {name = 'value ' .. i} end\n"
    "io.open('ready', 'w'):close() os.execute('sleep 1000') print(#kept)\n"
)
PHP = (
    "<?php ini_set('memory_limit', -1); $kept = []; for ($i = 0; $i < 500000; $i++)"
    " $kept[] = ['name' => \"value $i\"]; touch('ready'); sleep(1000);\n"
)

R = "x <- lapply(1:300000, function(i) i)\nfile.create('ready')\nSys.sleep(1000)\nlength(x)\n"
GUILE = (
    "(define kept (map number->string (iota 500000)))\n"
    "(close-port (open-output-file \"ready\"))\n(sleep 1000)\n(display (length kept))\n"
)
PROLOG = (
    ":- numlist(1, 3000000, L), nb_setval(kept, L),\n"
    "   open(ready, write, S), close(S), sleep(1000).\n"
)
COMMON_LISP = (
    "(defparameter *kept* (loop for i below 300000 collect (format nil \"~a\" i)))\n"
    "(close (open \"ready\" :direction :output))\n(sleep 1000)\n"
)
ERLANG = (
    "#!/usr/bin/env escript\nmain(_) -> L = [integer_to_list(X) || X <- lists:seq(1, 500000)],\n"
    " file:write_file(\"ready\", \"\"), timer:sleep(1000000), io:format(\"~p\", [length(L)]).\n"
)


def erlang(host, port):
    return child_of(script(["escript"], "a.erl", ERLANG)(host, port), "beam")


C_HEAD = """
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static void ready(void) { close(open("ready", O_CREAT | O_WRONLY, 0644)); }
"""
# Each thread has 1,000 blocks of up to 4 KiB, and 256 KiB of its stack in use.
THREADS = C_HEAD + """
static pthread_barrier_t all;
static void* work(void* unused) {
  volatile char stack[256 << 10];
  for (int i = 0; i < sizeof(stack); i += 512) stack[i] = 1;
  char* kept[1000] = {0};
  unsigned seed = (unsigned)(size_t)&stack;
  pthread_barrier_wait(&all);
  for (int n = 0; CHURN || n < 1000; ++n) {
    int i = CHURN ? rand_r(&seed) % 1000 : n;
    size_t bytes = 1 + rand_r(&seed) % 4096;
    free(kept[i]);
    memset(kept[i] = malloc(bytes), 1, bytes);
  }
  pthread_barrier_wait(&all);
  pause();
  return kept;
}
int main(void) {
  pthread_barrier_init(&all, 0, 65);
  for (int i = 0; i < 64; ++i) { pthread_t t; pthread_create(&t, 0, work, 0); }
  pthread_barrier_wait(&all);
  if (CHURN) ready();
  pthread_barrier_wait(&all);
  ready();
  pause();
}
"""
# 200 MiB by malloc and 100 MiB by mmap, both with huge pages, every 16th page written.
HUGE = C_HEAD + """
static void touch(char* block, size_t bytes) {
  madvise(block, bytes, MADV_HUGEPAGE);
  for (size_t i = 0; i < bytes; i += 16 * 4096) block[i] = 1;
}
int main(void) {
  char* block = aligned_alloc(2 << 20, 200 << 20);
  touch(block, 200 << 20);
  touch(mmap(0, 100 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 100 << 20);
  ready();
  pause();
  return block[0];
}
"""
SPARSE = C_HEAD + """
int main(void) {
  char* pages = mmap(0, 10L << 30, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  for (size_t i = 0; i < 10L << 30; i += 1 << 20) pages[i] = 1;
  ready();
  pause();
}
"""

# 100 MiB in blocks of malloc and 100 MiB by mmap; of each the kernel is asked to swap out half.
SWAPPED = C_HEAD + """
static char* filled(char* block, size_t bytes, unsigned* seed) {
  for (size_t i = 0; i < bytes; i += sizeof(int)) *(int*)(block + i) = rand_r(seed);
  return block;
}
static void swap_out(char* block, size_t bytes) {
  char* begin = (char*)(((size_t)block + 4095) & ~4095ul);
  madvise(begin, (block + bytes - begin) & ~4095ul, 21 /* MADV_PAGEOUT */);
}
static char* blocks[1000];
int main(void) {
  unsigned seed = 1;
  for (int i = 0; i < 1000; ++i) blocks[i] = filled(malloc(100 << 10), 100 << 10, &seed);
  for (int i = 0; i < 1000; i += 2) swap_out(blocks[i], 100 << 10);
  char* pages = mmap(0, 100 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  swap_out(filled(pages, 100 << 20, &seed), 50 << 20);
  ready();
  pause();
}
"""


def swapped(host, port):
    """At least a quarter of its memory has to be swapped, or the machine does not swap."""
    pid = compiled(SWAPPED)(host, port)
    bytes_out = of_rollup(pid, "Swap")
    if bytes_out < 50 << 20:
        raise HostError(f"the machine has swapped {amount(bytes_out)} only: see --swap-file")
    return pid


class SwapFile:
    """A file to which the kernel swaps, if a path is given."""

    MEBIBYTES = 256

    def __init__(self, path):
        self.path = path

    def __enter__(self):
        if not self.path:
            return
        with open(self.path, "xb") as file:
            os.posix_fallocate(file.fileno(), 0, self.MEBIBYTES << 20)
        os.chmod(self.path, 0o600)
        subprocess.run(["mkswap", self.path], check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["swapon", self.path], check=True)

    def __exit__(self, *_):
        if not self.path:
            return
        subprocess.run(["swapoff", self.path], check=False)
        os.unlink(self.path)


HOSTS = (
    Explained("redis, half of the keys deleted", "redis-server", redis_half_deleted),
    Explained("redis", "redis-server", redis_under_load, "under load"),
    Explained("postgres, a back end", "/usr/lib/postgresql/15/bin/postgres", postgres,
              user="postgres"),
    Explained("mariadb", "mariadbd", mariadb, user="mysql"),
    Explained("nginx, a worker", "nginx", nginx_worker, "under load"),
    Explained("python3", "python3", script(["/usr/bin/python3"], "a.py", PYTHON + PYTHON_END)),
    Explained("python3, numpy", "/usr/lib/python3/dist-packages/numpy",
              script(["/usr/bin/python3"], "b.py", NUMPY + PYTHON_END)),
    Explained("node", "node", script(["node"], "a.js", NODE)),
    Explained("java", "java", java),
    Explained("perl", "perl", script(["perl"], "a.pl", PERL)),
    Explained("ruby", "ruby", script(["ruby"], "a.rb", RUBY)),
    Explained("lua5.4", "lua5.4", script(["lua5.4"], "a.lua", LUA)),
    Explained("php", "php", script(["php"], "a.php", PHP)),
    Explained("R", "Rscript", script(["Rscript", "--vanilla"], "a.R", R)),
    Explained("guile", "guile", script(["guile", "--no-auto-compile"], "a.scm", GUILE)),
    Explained("swipl", "swipl", script(["swipl"], "a.pl", PROLOG)),
    Explained("sbcl", "sbcl", script(["sbcl", "--script"], "a.lisp", COMMON_LISP)),
    Explained("ecl", "ecl", script(["ecl", "--shell"], "a.lisp", COMMON_LISP)),
    Explained("clisp", "clisp", script(["clisp", "-norc"], "a.lisp", COMMON_LISP)),
    Explained("erlang", "escript", erlang),
    Explained("sqlite3", "sqlite3", sqlite),
    Explained("emacs", "emacs", emacs),
    Explained("curl, 50 downloads", "nginx", curl, "under load"),
    Explained("git pack-objects", "git", git, "under load"),
    Explained("cc1plus", "g++", cc1plus, "under load"),
    Explained("ffmpeg", "ffmpeg", ffmpeg, "under load"),
    Explained("chromium", "chromium", chromium, "under load"),
    Explained("64 threads", "gcc", compiled(THREADS.replace("CHURN", "0"))),
    Explained("64 threads that allocate", "gcc",
              compiled_under_load(THREADS.replace("CHURN", "1")), "under load"),
    Explained("huge pages (madvise)", "gcc", compiled(HUGE)),
    Explained("10 GiB sparsely written", "gcc", compiled(SPARSE)),
    Explained("half of 200 MiB swapped out", "gcc", swapped),
)


def amount(size):
    return f"{size / (1 << 20):.1f} MiB" if size >= 1 << 20 else f"{size / 1024:.0f} KiB"


@dataclasses.dataclass(frozen=True)
class Look:
    kernel: int  # resident bytes
    total: int  # of the rows
    off: float
    rows: list
    json_bytes: int
    seconds: float


def look(options, pid):
    """The kernel's figure may change meanwhile: the sum is off by as much as it is out of range."""
    before = resident(pid)
    begin = time.monotonic()
    done = subprocess.run(
        [options.allomon, "explain", str(pid), "--format=json"],
        capture_output=True, text=True, check=False,
    )
    seconds = time.monotonic() - begin
    after = resident(pid)
    if done.returncode == 2:
        raise HostError(f"explain: {done.stderr}")
    print(done.stderr, end="")
    rows = json.loads(done.stdout)["rows"]
    total = sum(row["resident_bytes"] for row in rows)
    kernel = min(max(total, min(before, after)), max(before, after))
    return Look(kernel, total, abs(total - kernel) / kernel, rows, len(done.stdout), seconds)


def explain(options, program):
    """A line of the table, and what was seen."""
    base = tempfile.mkdtemp(prefix="explained.")
    os.chmod(base, 0o755)
    variables = {"LD_PRELOAD": options.library, "ALLOMON_PROFILE": "idle"}
    if not options.idle:
        recording = os.path.join(base, "host", "%p.rec")
        variables = {"LD_PRELOAD": options.library, "ALLOMON_RECORD": recording}
    host = Host(os.path.join(base, "host"), variables, program.user)
    try:
        pid = program.start(host, options.port)
        looks = [look(options, pid) for _ in range(LOOKS[program.state])]
        looks.sort(key=lambda it: it.off)
        seen = looks[len(looks) // 2]
        if options.verbose:
            text = [options.allomon, "explain", str(pid), "--width=120"]
            print(subprocess.run(text, capture_output=True, text=True, check=False).stdout)
    finally:
        host.remove()
        shutil.rmtree(base, ignore_errors=True)
    largest = ", ".join(
        f"{row['id']} {amount(row['resident_bytes'])}" for row in seen.rows[:4]
    )
    line = [program.name, program.state, amount(seen.kernel), amount(seen.total)]
    return [*line, f"{100 * seen.off:.2f} %", largest], seen


def write_into(path, lines):
    """Puts the table at the end of the section, where an earlier one was."""
    with open(path, encoding="utf-8") as file:
        before, section = file.read().split(HEADING)
    text = "\n".join(line for line in section.split("\n") if not line.startswith("|"))
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{before}{HEADING}{text.rstrip()}\n\n{lines}")


def main(arguments):
    parser = argparse.ArgumentParser(prog="explained_hosts", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=".*", metavar="REGEXP", help="parts of names")
    parser.add_argument("--library", default="allocator/liballomon.so")
    parser.add_argument("--allomon", default="tools/allomon/allomon")
    parser.add_argument("--idle", action="store_true", help="do not record")
    parser.add_argument("--port", type=int, default=18090, help="for nginx")
    parser.add_argument("--verbose", action="store_true", help="all rows")
    parser.add_argument("--write", metavar="README", help="puts the table after its heading")
    parser.add_argument("--swap-file", metavar="FILE", help="is made, swapped to, and removed")
    options = parser.parse_args(arguments)
    options.library = os.path.realpath(options.library)
    options.allomon = os.path.realpath(options.allomon)
    with SwapFile(options.swap_file):
        rows, wrong = explain_all(options)
    lines = table(["program", "", "RSS", "sum of rows", "off by", "largest rows"], rows)
    if options.write:
        write_into(options.write, lines)
    else:
        print(lines)
    return 1 if wrong else 0


def explain_all(options):
    """The lines of the table, and how many programs are off or failed."""
    rows, wrong = [], 0
    for program in HOSTS:
        if not re.search(options.only, program.name):
            continue
        if not (os.path.exists(program.needs) or shutil.which(program.needs)):
            print(f"{program.name}: not installed")
            continue
        try:
            line, seen = explain(options, program)
        except HostError as error:
            print(f"{program.name}: {error}")
            wrong += 1
            continue
        rows.append(line)
        is_off = seen.off > MOST_OFF[program.state]
        wrong += is_off
        print("  ".join(line), f"  {seen.json_bytes} bytes of JSON, {seen.seconds:.2f} s",
              "OFF" if is_off else "", flush=True)
    return rows, wrong


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
