"""Commands that work on files: databases in a file, codecs, compilers, archivers."""

import functools
import os
import subprocess

from program import Program, digest, digest_of

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


def sqlite(host, options):
    """A database: written, indexed, joined, compacted, checked, dumped."""
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
        SELECT no_such_column FROM t;
        """
    database = host.path("test.db")
    found = {"queries": host.outcome(["sqlite3", database], input=script)}
    status, dump = host.run(["sqlite3", database, ".dump"])
    found["dump"] = (status, digest_of(dump))
    os.remove(database)
    return found


def xz(host, _options):
    """Compressed by two threads, and back."""
    plain = host.file("text", "".join(f"line {i * 7919 % 10007}\n" for i in range(300000)))
    before = digest(plain)
    packed = host.outcome(["xz", "-T2", "-6", "--block-size=1MiB", plain])
    compressed = digest(plain + ".xz")
    unpacked = host.outcome(["xz", "-d", "-T2", plain + ".xz"])
    return {"xz": packed, "file": compressed, "xz -d": (unpacked, digest(plain) == before)}


def compilers(host, options):
    """A heavy source file through each compiler.  The object files are equal."""
    heavy = host.file("heavy.cc", HEAVY_SOURCE)
    found = {}
    for compiler in options.compilers:
        result = host.outcome([compiler, "-std=c++17", "-O1", "-c", heavy, "-o", host.path("o")])
        found[compiler] = (result, result[0] == 0 and digest(host.path("o")))
    return found


@functools.lru_cache(maxsize=None)
def commit_of(repository):
    """The same commit for all runs, although somebody may commit meanwhile."""
    argv = ["git", "-c", "safe.directory=*", "-C", repository, "rev-parse", "HEAD"]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def git(host, options):
    """git gc of this repository, and everything that can be reached afterwards."""
    commit = commit_of(options.repository)
    copy = host.path("repository")
    safe = ["-c", "safe.directory=*"]
    clone = ["git", *safe, "clone", "-q", "--mirror", "--no-hardlinks"]
    host.helper([*clone, options.repository, copy])
    objects = ["git", "rev-list", "--objects", commit]
    status, _ = host.run(["git", "gc", "--aggressive", "--prune=now", "--quiet"], cwd=copy)
    fsck_status, fsck_text = host.run(["git", "fsck", "--full", "--strict"], cwd=copy)
    _, listed = host.run(objects, cwd=copy)
    return {
        "gc": status,
        "fsck": (fsck_status, fsck_text),
        "objects": digest_of("".join(sorted(listed.splitlines()))),
    }


# One input of both: with two, the order in which they are read depends on threads.
FFMPEG = (
    ["ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error", "-filter_complex_threads", "2"]
    + ["-f", "lavfi", "-i"]
    + ["testsrc2=duration=4:size=640x360:rate=25[out0];sine=frequency=440:duration=4[out1]"]
)


def ffmpeg(host, _options):
    """A film is filtered, encoded by threads, decoded and hashed."""
    film = host.path("film.mp4")
    encoding = ["-vf", "hue=s=0.5,scale=480:270", "-c:v", "libx264", "-threads", "2"]
    # With a thread that looks ahead, 6 of 150 films differed, without Allomon, on a busy machine.
    x264 = "threads=2:non-deterministic=0:sync-lookahead=0"
    encoding += ["-x264-params", x264, "-c:a", "aac"]
    exact = ["-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact"]
    encoded = host.outcome([*FFMPEG, *encoding, *exact, film])
    hashed = host.outcome(["ffmpeg", "-v", "error", "-i", film, "-f", "md5", "-"])
    failed = host.outcome(["ffmpeg", "-v", "error", "-i", "/no/such/film", "-f", "null", "-"])
    return {"encode": encoded, "film": digest(film), "hash": hashed, "no film": failed}


PROGRAMS = (
    Program("sqlite", sqlite, (("sqlite3", "sqlite3"),)),
    Program("xz", xz, (("xz", "xz-utils"),)),
    Program("compilers", compilers, (("g++", "g++"), ("clang++", "clang"))),
    Program("git", git, (("git", "git"),)),
    Program("ffmpeg", ffmpeg, (("ffmpeg", "ffmpeg"),)),
)
