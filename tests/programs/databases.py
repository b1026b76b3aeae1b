"""Database servers, and the commands that speak to them."""

import glob
import os
import re
import signal
import time

from hosts import HostError, Watch, wait_for, wait_for_answer
from program import Program


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
    status = host.wait(server)
    again = host.start(["redis-server", configuration])
    wait_for("redis-server", up)
    reloaded = host.helper([*client, "DEBUG", "DIGEST"]) == digest_before
    return {
        "status": (status, host.end(again)),
        "every save succeeded": all(saves) and len(saves) > 0,
        "data unchanged, and after loading": (unchanged, reloaded),
        "digest": digest_before.strip(),
    }


# The sums do not depend on the order in which the clients' transactions were done.
PGBENCH_SUMS = """
    SELECT count(*), sum(abalance) FROM pgbench_accounts;
    SELECT count(*), sum(tbalance) FROM pgbench_tellers;
    SELECT count(*), sum(bbalance) FROM pgbench_branches;
    SELECT count(*), sum(delta) FROM pgbench_history;
    SELECT md5(string_agg(s, ',' ORDER BY s)) FROM
      (SELECT aid || ':' || repeat('x', (aid % 7)::int) AS s FROM pgbench_accounts) AS texts;
"""


def postgres(host, _options):
    """initdb, a server under pgbench with four clients, sums, an orderly end."""
    programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    more = {"PATH": f"{programs}:/usr/bin:/bin"}
    data = host.path("data")
    connection = ["-h", host.directory, "-U", "tester"]
    initialised, _ = host.run(
        [f"{programs}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-N", "--locale=C.UTF-8"]
    )
    if initialised != 0:
        raise HostError(f"initdb ended with {initialised}: {host.said()[-300:]}")
    server = host.start(
        [f"{programs}/postgres", "-D", data, "-k", host.directory, "-h", ""]
        + ["-c", "fsync=off", "-c", "max_parallel_workers_per_gather=2"]
    )
    wait_for_answer(
        "postgres", host, [f"{programs}/pg_isready", "-q", *connection], server
    )
    host.helper([f"{programs}/createdb", *connection, "bench"], env=more)
    filled, _ = host.run([f"{programs}/pgbench", *connection, "-i", "-s", "2", "-q", "bench"])
    benched, text = host.run(
        [f"{programs}/pgbench", *connection, "-c", "4", "-j", "2", "-t", "400"]
        + ["--random-seed=17", "bench"]
    )
    processed = re.findall(r"transactions actually processed: .*|failed transactions: .*", text)
    psql = [f"{programs}/psql", *connection, "-X", "-A", "-t", "bench"]
    sums = host.outcome(psql, input=PGBENCH_SUMS)
    failed = host.outcome([*psql, "-c", "SELECT 1/0"])
    # A client that is gone, and a back end that is ended by a signal in the middle of its work.
    cancelled = host.outcome(
        [*psql, "-c", "SET statement_timeout = 300", "-c", "SELECT count(*) FROM "
         "generate_series(1, 100000000)"]
    )
    status = host.end(server, signal.SIGINT)
    crashes = re.findall(r"server process .* was terminated by signal \d+", host.said())
    return {
        "pgbench": (filled, benched, processed),
        "queries": (sums, failed, cancelled),
        "status": (status, crashes),
    }


MARIADB_QUERIES = """
    CREATE DATABASE test1; USE test1;
    CREATE TABLE t(id INT PRIMARY KEY, name VARCHAR(40), body TEXT, KEY(name)) ENGINE=InnoDB;
    INSERT INTO t SELECT seq, CONCAT('name-', seq * 7919 % 10007), REPEAT(MD5(seq), 3)
      FROM seq_1_to_60000;
    SELECT COUNT(*), SUM(LENGTH(body)), MAX(name) FROM t;
    SELECT name, COUNT(*) AS c FROM t GROUP BY name ORDER BY c DESC, name LIMIT 5;
    SELECT COUNT(*) FROM t a JOIN t b ON a.name = b.name WHERE a.id % 100 = 0;
    UPDATE t SET body = HEX(id) WHERE id % 3 = 0;
    DELETE FROM t WHERE id % 5 = 0;
    CHECKSUM TABLE t;
    CHECK TABLE t;
    SELECT JSON_ARRAYAGG(name) FROM (SELECT name FROM t ORDER BY id LIMIT 20) AS names;
"""


def mariadb(host, _options):
    """A data directory is made, a server works on it, four clients at once, an orderly end."""
    data, socket = host.path("data"), host.path("socket")
    own = ["--no-defaults", f"--datadir={data}"]
    installed, _ = host.run(
        ["mariadb-install-db", *own, "--skip-test-db", "--auth-root-authentication-method=normal"]
    )
    if installed != 0:
        raise HostError(f"mariadb-install-db ended with {installed}: {host.said()[-300:]}")
    server = host.start(
        ["mariadbd", *own, f"--socket={socket}", "--skip-networking", "--skip-name-resolve"]
        + [f"--pid-file={host.path('pid')}", "--innodb-flush-log-at-trx-commit=0"]
    )
    client = ["--no-defaults", f"--socket={socket}", "-uroot"]
    wait_for_answer("mariadbd", host, ["mariadb-admin", *client, "ping"], server)
    queries = host.outcome(["mariadb", *client], input=MARIADB_QUERIES)
    slapped, _ = host.run(
        ["mariadb-slap", *client, "--concurrency=4", "--number-of-queries=400"]
        + ["--auto-generate-sql", "--auto-generate-sql-load-type=mixed"]
    )
    failed = host.outcome(["mariadb", *client, "-e", "SELECT no_such_column"])
    host.helper(["mariadb-admin", *client, "shutdown"])
    status = host.wait(server)
    crashes = re.findall(r"mysqld got signal \d+|\[ERROR\].*", host.said())
    return {
        "queries": (queries, failed),
        "mariadb-slap": slapped,
        "status": (status, crashes),
    }


PROGRAMS = (
    Program(
        "redis",
        redis,
        (("redis-server", "redis-server"), ("redis-cli", "redis-tools")),
        # Debian's has jemalloc.
        may_say=r"allomon: mimalloc takes the place of the malloc of \S+/libjemalloc[.]so[.]2; .*",
    ),
    Program(
        "postgres",
        postgres,
        (("/usr/lib/postgresql/15/bin/pgbench", "postgresql"),),
        user="postgres",
    ),
    Program(
        "mariadb",
        mariadb,
        (("mariadbd", "mariadb-server"), ("mariadb-slap", "mariadb-client")),
        user="mysql",
    ),
)
