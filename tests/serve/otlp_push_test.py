#!/usr/bin/env python3
"""`allomon serve --otlp`: profiles arrive at a collector, whose sums are those of the recording;
collectors that are gone, slow, cut off, full or of another version cost nothing but a line."""

import ctypes
import gzip
import http.server
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from served import LABELLED, Host, Serving, parse_metrics  # noqa: E402

SECONDS = 60  # that a machine under load may take


def wait_for(is_true):
    end = time.monotonic() + SECONDS
    while not is_true():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.02)


# ---- The contract, by numbers of fields


def varint(data, at):
    number = shift = 0
    while True:
        byte = data[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def fields(data):
    """{field: [numbers or bytes]}."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        else:
            assert tag & 7 == 2, tag
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def packed(data):
    numbers, at = [], 0
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers


def sub(message, *path):
    for field in path:
        message = fields(message.get(field, [b""])[0])
    return message


class Pushed:
    """An ExportProfilesServiceRequest."""

    def __init__(self, data):
        request = fields(data)
        strings = sub(request, 2)[5]
        self.totals, self.begin, self.seconds, self.period = {}, 0, 0, 0
        for raw in sub(request, 1, 2)[2]:
            profile = fields(raw)
            name = strings[sub(profile, 1).get(1, [0])[0]].decode()
            values = [fields(sample)[4][0] for sample in profile.get(2, [])]
            self.totals[name] = sum(sum(packed(value)) for value in values)
            self.begin = profile[3][0]
            self.seconds = profile.get(4, [0])[0] / 1e9
            self.period = profile.get(6, [0])[0]
        self.resource = {}
        for raw in sub(request, 1, 1)[1]:
            attribute = fields(raw)
            value = fields(attribute[2][0])
            self.resource[attribute[1][0].decode()] = (
                value[1][0].decode() if 1 in value else value[3][0]
            )


# ---- Collectors


class Collector:
    """Answers by `answer(handler, number)`, which may return (status, headers, body)."""

    def __init__(self, answer=lambda handler, number: (200, {}, b""), port=0, tls=None):
        self.pushed, self.times, self.headers, self.paths = [], [], [], []
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                collector.times.append(time.monotonic())
                collector.headers.append(dict(self.headers))
                collector.paths.append(self.path)
                number = len(collector.times)
                reply = answer(self, number)
                if reply is None:
                    return
                status, headers, text = reply
                self.send_response(status)
                for name, value in {"Content-Length": str(len(text)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)
                if status == 200:
                    collector.pushed.append(Pushed(gzip.decompress(body)))

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


class RawCollector:
    """Does with each connection what `act` does."""

    def __init__(self, act):
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.port = self.listening.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = []
        threading.Thread(target=self.accept, args=(act,), daemon=True).start()

    def accept(self, act):
        while True:
            try:
                connection, _ = self.listening.accept()
            except OSError:
                return
            self.connections.append(connection)
            act(connection)

    def end(self):
        self.listening.close()
        for connection in self.connections:
            connection.close()


class PushCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def host(self):
        """A host that records every block into the folder."""
        path = os.path.join(self.folder, "host.rec")
        host = Host(LABELLED, ALLOMON_RECORD=path, ALLOMON_RATE="1")
        self.addCleanup(host.end)
        return host

    def collector(self, *args, kind=Collector, **options):
        collector = kind(*args, **options)
        self.addCleanup(collector.end)
        return collector

    def serve(self, url, **variables):
        serving = Serving(
            "--dir", self.folder, "--otlp", url, "--interval=1s",
            **{"no_proxy": "*", "OTEL_EXPORTER_OTLP_HEADERS": "", **variables},
        )
        self.addCleanup(serving.process.kill)
        return serving

    def figures(self, serving):
        samples, _ = parse_metrics(serving.get("/metrics").decode())
        return {
            name.removeprefix("allomon_otlp_"): value
            for (name, _), value in samples.items()
            if name.startswith("allomon_otlp_")
        }

    def wait_for_figure(self, serving, name, least):
        wait_for(lambda: self.figures(serving)[name] >= least or time.sleep(0.3))

    def end(self, serving):
        """Its lines on standard error; a machine under load may lose the last push."""
        status, lines = serving.end()
        self.assertEqual(status, 0, lines)
        self.last_line = (lines.splitlines() or [""])[-1]
        return [line for line in lines.splitlines() if not line.endswith("are lost at the end")]


class ArrivesTest(PushCase):
    def test_sums_are_those_of_the_recording(self):
        collector = self.collector()
        serving = self.serve(collector.url)
        host = self.host()  # younger than the server: all of it counts
        for count in (3000, 500):
            host.keep(b"acme", count)
            seen = len(collector.pushed)
            wait_for(lambda: len(collector.pushed) >= seen + 2)
        host.keep(b"zeta", 100)
        wait_for(lambda: sum(each.totals["alloc_objects"] for each in collector.pushed) >= 3600)
        self.assertEqual(self.end(serving), [])
        samples, _ = parse_metrics(
            (again := Serving("--dir", self.folder)).get("/metrics").decode()
        )
        again.end()
        of = {name: value for (name, _), value in samples.items()}
        pushed = collector.pushed
        for name, figure in {
            "alloc_space": "allocated_bytes_total",
            "alloc_objects": "allocated_blocks_total",
        }.items():
            self.assertEqual(sum(each.totals[name] for each in pushed), of["allomon_" + figure])
        self.assertEqual(pushed[-1].totals["inuse_space"], of["allomon_live_bytes"])
        self.assertEqual(pushed[-1].totals["inuse_objects"], of["allomon_live_blocks"])
        self.assertEqual(len(pushed[-1].totals), 4, "peaks are of no interval")
        for before, after in zip(pushed, pushed[1:]):
            end = before.begin + before.seconds * 1e9
            self.assertAlmostEqual(after.begin, end, delta=1e6, msg="no gap, no overlap")
            self.assertEqual(after.period, 8)
        self.assertEqual(
            pushed[0].resource,
            {
                "service.name": "labelled_server",
                "process.pid": host.pid,
                "process.executable.path": os.path.realpath(LABELLED),
                "host.name": socket.gethostname(),
            },
        )
        headers = collector.headers[0]
        self.assertEqual(collector.paths[0], "/v1development/profiles")
        self.assertEqual(headers["Content-Type"], "application/x-protobuf")
        self.assertEqual(headers["Content-Encoding"], "gzip")

    def test_older_recording_counts_from_the_first_look_on(self):
        host = self.host()
        host.keep(b"acme", 5000)
        time.sleep(0.1)
        collector = self.collector()
        serving = self.serve(
            collector.url + "/own/path?x=1", OTEL_EXPORTER_OTLP_HEADERS="key=a%20b"
        )
        wait_for(lambda: collector.pushed)
        self.end(serving)
        self.assertLess(collector.pushed[0].totals["alloc_space"], 5_000_000)
        self.assertGreaterEqual(collector.pushed[0].totals["inuse_space"], 5_000_000)
        self.assertLess(collector.pushed[0].seconds, SECONDS)
        self.assertEqual(collector.headers[0]["key"], "a b")
        self.assertEqual(collector.paths[0], "/own/path?x=1")

    def test_process_that_has_ended_is_pushed_once_more(self):
        collector = self.collector()
        serving = self.serve(collector.url)
        host = self.host()
        host.keep(b"acme", 100)
        wait_for(lambda: collector.pushed)
        host.end()
        seen = len(collector.pushed)
        time.sleep(4)
        self.end(serving)
        self.assertLessEqual(len(collector.pushed), seen + 2)


class TroubleTest(PushCase):
    def test_collector_that_is_gone_gets_all_when_it_is_back(self):
        port = free_port()
        serving = self.serve(f"http://127.0.0.1:{port}")
        host = self.host()
        host.keep(b"acme", 1000)
        self.wait_for_figure(serving, "retries_total", 1)
        self.wait_for_figure(serving, "queued", 1)
        self.assertIn(b"<html", serving.get("/"))
        collector = self.collector(port=port)
        wait_for(lambda: collector.pushed)
        lines = self.end(serving)
        place = f"allomon serve: --otlp: 127.0.0.1:{port}: "
        self.assertEqual(lines[0], place + "no connection; trying again")
        self.assertIn(place + "the collector answers again", lines)
        self.assertGreaterEqual(sum(each.totals["alloc_space"] for each in collector.pushed), 1e6)

    def test_slow_collector_holds_nothing_up(self):
        collector = self.collector(lambda _: None, kind=RawCollector)  # never answers
        serving = self.serve(collector.url)
        self.host().keep(b"acme", 1000)
        wait_for(lambda: collector.connections)
        begin = time.monotonic()
        serving.get("/debug/pprof/heap")
        self.wait_for_figure(serving, "queued", 2)  # looks go on
        self.assertLess(time.monotonic() - begin, 20, "below the limit of an answer")
        begin = time.monotonic()
        self.end(serving)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertRegex(self.last_line, r"\d+ requests that the collector did not take are lost")

    def test_refused_requests_are_not_sent_again(self):
        collector = self.collector(
            lambda handler, number: (400, {"Content-Type": "text/plain"}, b"unknown field\nmore")
        )
        serving = self.serve(collector.url)
        self.host().keep(b"acme", 10)
        self.wait_for_figure(serving, "refused_total", 2)
        figures = self.figures(serving)
        self.assertEqual(figures["retries_total"] + figures["taken_total"], 0)
        place = f"allomon serve: --otlp: 127.0.0.1:{collector.port}: "
        self.assertEqual(
            self.end(serving), [place + "the collector refuses: status 400: unknown field"]
        )

    def test_full_collector_is_asked_when_it_said(self):
        collector = self.collector(
            lambda handler, number: (429, {"Retry-After": "4"}, b"") if number == 1
            else (200, {}, b"")
        )
        serving = self.serve(collector.url)
        self.host().keep(b"acme", 10)
        wait_for(lambda: len(collector.times) >= 2)
        self.end(serving)
        self.assertGreaterEqual(collector.times[1] - collector.times[0], 3.9)

    def test_cut_connection_is_tried_again(self):
        def cut(handler, number):
            if number > 1:
                return 200, {}, b""
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-")
            handler.close_connection = True
            return None

        collector = self.collector(cut)
        serving = self.serve(collector.url)
        self.host().keep(b"acme", 10)
        wait_for(lambda: collector.pushed)
        self.assertIn("no HTTP answer; trying again", self.end(serving)[0])

    def test_other_versions_are_one_line(self):
        collector = self.collector(lambda handler, number: (404, {}, b""))
        serving = self.serve(collector.url)
        self.host().keep(b"acme", 10)
        self.wait_for_figure(serving, "refused_total", 1)
        self.assertIn(
            "refuses: status 404; has the collector a receiver of OTLP profiles at "
            "/v1development/profiles?",
            self.end(serving)[0],
        )

        def speak_http_2(connection):
            connection.recv(1 << 16)
            connection.sendall(b"\0\0\x12\x04" + bytes(23))
            connection.close()

        serving = self.serve(self.collector(speak_http_2, kind=RawCollector).url)
        self.wait_for_figure(serving, "retries_total", 1)
        self.assertIn("trying again", self.end(serving)[0])

    def test_partial_success_is_said(self):
        answer = b"\x0a\x0a\x08\x02\x12\x06no day"
        collector = self.collector(
            lambda handler, number: (200, {"Content-Type": "application/x-protobuf"}, answer)
        )
        serving = self.serve(collector.url)
        self.host().keep(b"acme", 10)
        self.wait_for_figure(serving, "refused_total", 1)
        self.assertIn("the collector took a part only: no day", self.end(serving)[0])


def has_libcurl():
    for name in ("libcurl.so.4", "libcurl-gnutls.so.4"):
        try:
            ctypes.CDLL(name)
            return True
        except OSError:
            pass
    return False


class HttpsTest(PushCase):
    def test_https_is_libcurls_and_checks_certificates(self):
        if not has_libcurl():
            with self.assertRaisesRegex(AssertionError, "https needs libcurl"):
                self.serve("https://127.0.0.1:4318")
            return
        self.assertIsNotNone(shutil.which("openssl"), "apt-get install openssl")
        key, certificate = (os.path.join(self.folder, name) for name in ("key.pem", "cert.pem"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1",
             "-keyout", key, "-out", certificate],
            check=True, capture_output=True,
        )
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        collector = self.collector(tls=tls)
        url = collector.url.replace("http:", "https:")
        host = self.host()
        serving = self.serve(url)
        self.wait_for_figure(serving, "retries_total", 1)
        self.assertIn("certificate", self.end(serving)[0])
        self.assertEqual(collector.times, [])
        serving = self.serve(
            url, OTEL_EXPORTER_OTLP_CERTIFICATE=certificate, OTEL_EXPORTER_OTLP_HEADERS="key=secret"
        )
        host.keep(b"acme", 10)
        wait_for(lambda: collector.pushed)
        self.assertEqual(self.end(serving), [])
        self.assertEqual(collector.headers[0]["key"], "secret")
        self.assertEqual(collector.paths[0], "/v1development/profiles")


if __name__ == "__main__":
    unittest.main(verbosity=2)
