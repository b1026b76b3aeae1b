"""`allomon serve` and hosts for it."""

import http.client
import os
import re
import socket
import subprocess

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
SERVER = os.path.join(RUNFILES, "tests/control/server")
LABELLED = os.path.join(RUNFILES, "tests/serve/labelled_server")
LIBRARY = os.path.join(RUNFILES, "allocator/liballomon.so")


def command(*args, **variables):
    environment = {**os.environ, **variables}
    return subprocess.run(
        [ALLOMON, *[str(arg) for arg in args]],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        env=environment,
    )


class Host:
    """A preloaded process that takes a command per line; or one that a command has started."""

    def __init__(self, program, *arguments, **variables):
        self.process = subprocess.Popen(
            [program, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            env={"LD_PRELOAD": LIBRARY, **variables},
        )
        self.pid = self.process.pid
        assert self.process.stdout.readline() == "ready\n"
        if arguments:
            with open(f"/proc/{self.pid}/task/{self.pid}/children", encoding="utf-8") as file:
                self.pid = int(file.read())

    def do(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def keep(self, value, count):
        """Blocks of 1,000 bytes under tenant=value."""
        assert self.do(f"l {value.hex()} {count}") == "done"

    def end(self):
        self.process.kill()
        self.process.communicate()


class Serving:
    """`allomon serve`, on a port that is free."""

    def __init__(self, *args, **variables):
        self.process = subprocess.Popen(
            [ALLOMON, "serve", "--listen=127.0.0.1:0", *[str(arg) for arg in args]],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env={**os.environ, **variables},
        )
        line = self.process.stdout.readline()
        address = re.fullmatch(r"allomon serve: http://127[.]0[.]0[.]1:(\d+)/\n", line)
        assert address, line + self.process.communicate()[1]
        self.port = int(address[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def ask(self, path, method="GET", body=None, **headers):
        """Status, body, headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, text, answer.headers

    def get(self, path):
        status, text, _ = self.ask(path)
        assert status == 200, (status, text)
        return text

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def most_resident_bytes(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) << 10

    def end(self):
        """Its exit status, and what it said on standard error."""
        self.process.terminate()
        _, error = self.process.communicate(timeout=60)
        return self.process.returncode, error


# ---- Prometheus' text format, read strictly: what Prometheus refuses is an error here.

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)")
HEAD = re.compile(rf"# (HELP|TYPE) ({NAME}) (.*)")
NUMBER = re.compile(r"[-+]?(\d+(\.\d+)?(e[-+]?\d+)?|Inf)|NaN")


def unescaped(text):
    return re.sub(r"\\(.)", lambda match: {"n": "\n"}.get(match[1], match[1]), text)


def parse_metrics(text):
    """{(name, frozenset of labels): value}; the types by name."""
    assert text.endswith("\n"), "the last line has no end"
    samples, types, seen, current = {}, {}, set(), None
    for line in text[:-1].split("\n"):
        head = HEAD.fullmatch(line)
        if head:
            kind, name, rest = head.groups()
            assert (kind, name) not in seen, f"twice: {line}"
            seen.add((kind, name))
            current = name
            if kind == "TYPE":
                assert rest in ("counter", "gauge"), line
                assert (rest == "counter") == name.endswith("_total"), line
                types[name] = rest
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, f"no sample: {line!r}"
        assert sample[1] == current and current in types, f"out of its group: {line}"
        assert NUMBER.fullmatch(sample[sample.re.groups]), line
        pairs = [(name, unescaped(value)) for name, value in re.findall(LABEL, sample[2] or "")]
        assert len(dict(pairs)) == len(pairs), f"a label twice: {line}"
        key = (sample[1], frozenset(pairs))
        assert key not in samples, f"a series twice: {line}"
        samples[key] = float(sample[sample.re.groups])
    return samples, types
