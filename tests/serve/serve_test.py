#!/usr/bin/env python3
"""Heaps of hosts that run, over HTTP: each page says what `allomon report` says of the same
recording, to whoever may ask."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from served import ALLOMON, LABELLED, SERVER, Host, Serving, command, parse_metrics  # noqa: E402
from support import meanwhile  # noqa: E402

# From Go 1.25 on, pprof is built when it is first asked for.
os.environ.setdefault("GOCACHE", os.path.join(os.environ["TEST_TMPDIR"], "go"))

TOKEN = "0123456789abcdef"
# What Prometheus' format must escape, what it cannot have, and what looks like its own.
ODD_VALUES = [
    b'quote"',
    b"back\\slash",
    b"line\nfeed",
    b'"} 1',
    b"\xff\xfe",
    "größer".encode(),
    b"{}",
]


class ServeCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def host(self, name="host", program=LABELLED, **variables):
        """A host that records every block into the folder."""
        path = os.path.join(self.folder, name + ".rec")
        host = Host(program, **{"ALLOMON_RECORD": path, "ALLOMON_RATE": "1", **variables})
        self.addCleanup(host.end)
        host.recording = path
        return host

    def serve(self, *args, **variables):
        serving = Serving(*args, **variables)
        self.addCleanup(serving.end)
        return serving

    def metrics(self, serving):
        status, text, headers = serving.ask("/metrics")
        self.assertEqual(status, 200, text)
        self.assertEqual(headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        samples, types = parse_metrics(text.decode("utf-8"))
        self.assertTrue(types)
        return samples

    def value(self, samples, name, **labels):
        """Of the one series that has these labels."""
        found = [
            value
            for (its_name, its_labels), value in samples.items()
            if its_name == name and set(labels.items()) <= its_labels
        ]
        self.assertEqual(len(found), 1, (name, labels, found))
        return found[0]

    def report(self, file, *options):
        done = command("report", "--format=json", *options, file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def save(self, bytes_of_page):
        path = os.path.join(self.folder, "page.pb.gz")
        with open(path, "wb") as file:
            file.write(bytes_of_page)
        return path


class PagesTest(ServeCase):
    def test_metrics_are_what_report_says(self):
        host = self.host()
        host.keep(b"acme", 3000)
        host.keep(b"zeta", 1000)
        samples = self.metrics(self.serve("--dir", self.folder))
        report = self.report(host.recording)
        of = {"pid": str(host.pid), "program": "labelled_server", "recording": "host.rec"}
        for name, figure in {
            "allomon_allocated_bytes_total": "alloc_bytes",
            "allomon_allocated_blocks_total": "alloc_blocks",
            "allomon_live_bytes": "live_bytes",
            "allomon_live_blocks": "live_blocks",
            "allomon_peak_bytes": "peak_bytes",
            "allomon_dropped_samples_total": "dropped_samples",
        }.items():
            self.assertEqual(self.value(samples, name, **of), report[figure], name)
        self.assertEqual(self.value(samples, "allomon_sample_interval_bytes", **of), 8)
        self.assertEqual(self.value(samples, "allomon_recording_running", **of), 1)
        for metric, name in (("live", "live_bytes"), ("alloc", "allocated_bytes_total")):
            for row in self.report(host.recording, "--by=label:tenant", "--metric=" + metric)[
                "labels"
            ]:
                of_label = {"label": "tenant", "value": row["value"], **of}
                value = self.value(samples, "allomon_label_" + name, **of_label)
                self.assertEqual(value, row[metric], row)

    def test_values_of_labels_may_be_anything(self):
        host = self.host()
        for i, value in enumerate(ODD_VALUES):
            host.keep(value, 10 + i)
        samples = self.metrics(self.serve("--dir", self.folder))
        for i, value in enumerate(ODD_VALUES):
            text = value.decode("utf-8", errors="replace")
            bytes_of_it = self.value(
                samples, "allomon_label_live_bytes", label="tenant", value=text
            )
            self.assertEqual(bytes_of_it, 1000 * (10 + i), value)

    def test_leak_grows_by_label(self):
        host = self.host(ALLOMON_RATE="1e-3")
        serving = self.serve("--dir", self.folder)
        seen = {"leaks": [], "frees": []}
        for _ in range(4):
            host.keep(b"leaks", 2000)
            assert host.do(f"f {b'frees'.hex()} 2000") == "done"
            time.sleep(1.1)  # equal requests within a second have one answer
            samples = self.metrics(serving)
            for tenant, values in seen.items():
                of = {"label": "tenant", "value": tenant}
                values.append(self.value(samples, "allomon_label_live_bytes", **of))
        self.assertEqual(seen["leaks"], sorted(seen["leaks"]))
        self.assertAlmostEqual(seen["leaks"][-1], 8e6, delta=1e6)
        self.assertLess(max(seen["frees"]), 1e5)

    def test_pprof_pages_are_profiles(self):
        host = self.host()
        host.keep(b"acme", 3000)
        serving = self.serve("--dir", self.folder)
        direct = self.report(host.recording)
        for page in ("heap", "allocs"):
            status, text, headers = serving.ask("/debug/pprof/" + page)
            self.assertEqual(status, 200)
            self.assertIn(page + ".pb.gz", headers["Content-Disposition"])
            read = self.report(self.save(text))
            for figure in ("alloc_bytes", "live_bytes", "peak_bytes", "live_blocks", "program"):
                self.assertEqual(read[figure], direct[figure], (page, figure))
            self.assertIn("Allocate", [row["function"] for row in read["functions"]])

    @unittest.skipUnless(shutil.which("go"), "no go")
    def test_go_tool_pprof_reads_the_pages(self):
        host = self.host()
        host.keep(b"acme", 3000)
        serving = self.serve("--dir", self.folder)
        environment = {**os.environ, "HOME": self.folder, "PPROF_TMPDIR": self.folder}
        for page, kind in (("heap", "inuse_space"), ("allocs", "alloc_space")):
            done = subprocess.run(
                ["go", "tool", "pprof", "-top", serving.url + "/debug/pprof/" + page],
                capture_output=True,
                encoding="utf-8",
                timeout=120,
                env=environment,
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Type: " + kind, done.stdout)
            self.assertIn("Allocate", done.stdout)
            self.assertIn("File: labelled_server", done.stdout)

    @unittest.skipUnless(shutil.which("go"), "no go")
    def test_go_tool_pprof_asks_for_some_seconds(self):
        host = self.host()
        host.keep(b"acme", 3000)
        serving = self.serve("--dir", self.folder)
        environment = {**os.environ, "HOME": self.folder, "PPROF_TMPDIR": self.folder}
        live = 3000
        for page, kind in (("heap", "inuse_space"), ("allocs", "alloc_space")):
            asked = subprocess.Popen(
                ["go", "tool", "pprof", "-top", "-unit=B", "-seconds=5",
                 serving.url + "/debug/pprof/" + page],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", env=environment,
            )
            # pprof begins to ask before it says anything, and waits for 5 s.
            time.sleep(2.5)
            host.keep(b"acme", 500)
            live += 500
            out, err = asked.communicate(timeout=120)
            self.assertEqual(asked.returncode, 0, err)
            self.assertIn("Type: " + kind, out)
            blocks = live if page == "heap" else 500
            self.assertRegex(out, rf"\n +{blocks * 1000}B .* Allocate\n")

    def test_names_of_addresses(self):
        host = self.host()
        host.keep(b"acme", 3000)
        serving = self.serve("--dir", self.folder)
        self.assertEqual(serving.get("/debug/pprof/symbol"), b"num_symbols: 1\n")
        profile = self.save(serving.get("/debug/pprof/heap"))
        if not shutil.which("go"):
            self.skipTest("no go")
        dump = subprocess.run(
            ["go", "tool", "pprof", "-raw", profile],
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        address = re.search(r"(0x[0-9a-f]+) M=\d+ Allocate ", dump)[1]
        expected = f"num_symbols: 1\n{address} Allocate\n".encode()
        self.assertEqual(serving.get("/debug/pprof/symbol?" + address), expected)
        asked = f"{address}+0x1+nonsense"
        status, text, _ = serving.ask("/debug/pprof/symbol", method="POST", body=asked)
        self.assertEqual((status, text), (200, expected))

    def test_command_line_has_zeros_between_words(self):
        self.host()
        serving = self.serve("--dir", self.folder)
        self.assertEqual(serving.get("/debug/pprof/cmdline"), LABELLED.encode())

    def test_time_profile_is_refused_by_one_line(self):
        self.host()
        status, text, _ = self.serve("--dir", self.folder).ask("/debug/pprof/profile?seconds=1")
        self.assertEqual(status, 501)
        self.assertEqual(text.count(b"\n"), 1)
        self.assertIn(b"ALLOMON_PROFILE=time", text)

    def test_flame_page_is_of_now(self):
        host = self.host()
        host.keep(b"acme", 1000)
        serving = self.serve("--dir", self.folder)
        status, first, headers = serving.ask("/?refresh=5&by=label:tenant")
        self.assertEqual((status, headers["Refresh"]), (200, "5"))
        self.assertIn("text/html", headers["Content-Type"])
        self.assertIn(b"<!DOCTYPE html>", first)
        host.keep(b"acme", 1000)
        time.sleep(1.1)
        self.assertNotEqual(serving.get("/?refresh=5&by=label:tenant"), first)

    def test_profile_of_some_seconds_has_what_happened_in_them(self):
        host = self.host()
        host.keep(b"acme", 1000)
        serving = self.serve("--dir", self.folder)
        page = []
        asked = threading.Thread(
            target=lambda: page.append(
                serving.get("/debug/pprof/allocs?seconds=4&focus-label=tenant%3Dacme")
            )
        )
        asked.start()
        time.sleep(1.5)
        host.keep(b"acme", 500)
        asked.join()
        report = self.report(self.save(page[0]))
        self.assertEqual(report["alloc_bytes"], 500_000)
        self.assertEqual(report["live_bytes"], 1_500_000)
        self.assertNotIn("peak_bytes", report)
        self.assertLess(report["seconds"], 60)

    def test_each_choice_has_a_reply_of_its_own_within_a_second(self):
        self.host().keep(b"acme", 100)
        serving = self.serve("--dir", self.folder)
        whole = serving.ask("/debug/pprof/heap")
        self.assertEqual(whole[0], 200)
        for choice in [
            "process=none", "focus-label=tenant%3Dnobody", "ignore-label=tenant", "by=label:tenant",
            "born=10h..9h", "outlived=tenant",
        ]:
            answer = serving.ask("/debug/pprof/heap?" + choice)
            self.assertNotEqual(answer[:2], whole[:2], choice)

    def test_requests_that_no_page_answers_are_one_line(self):
        self.host().keep(b"acme", 100)
        serving = self.serve("--dir", self.folder)
        for path, status, part in [
            ("/nowhere", 404, b"/debug/pprof/ lists"),
            ("/?process=99", 404, b"there is "),
            ("/?by=tenant", 400, b"label:KEY"),
            ("/?by=label:nothing", 404, b"there is tenant"),
            ("/?focus-label=%3Dx", 400, b"focus-label"),
            ("/?refresh=0", 400, b"refresh"),
            ("/?metric=nothing", 400, b"metric"),
            ("/debug/pprof/heap?seconds=61", 400, b"-base"),
            ("/debug/pprof/heap?seconds=-1", 400, b"seconds"),
            ("/debug/pprof/heap?seconds=1.5", 400, b"seconds"),
            ("/debug/pprof/heap?debug=1", 400, b"-text"),
            ("/debug/pprof/cmdline?process=none", 404, b"no recording"),
        ]:
            answer = serving.ask(path)
            self.assertEqual(answer[0], status, (path, answer[1][:200]))
            self.assertIn(part, answer[1], path)
            self.assertEqual(answer[1].count(b"\n"), 1, path)
        self.assertEqual(serving.ask("/metrics", method="DELETE")[0], 405)
        self.assertEqual(serving.ask("/metrics", method="POST", body="x")[0], 405)


class FolderTest(ServeCase):
    def test_processes_add_up_or_are_chosen(self):
        first, second = self.host("a"), self.host("b")
        first.keep(b"acme", 1000)
        second.keep(b"acme", 500)
        serving = self.serve("--dir", self.folder)

        def live(query):
            page = "/debug/pprof/heap?focus-label=tenant%3Dacme" + query
            return self.report(self.save(serving.get(page)))["live_bytes"]

        self.assertEqual(live(""), 1_500_000)
        self.assertEqual(live(f"&process={first.pid}"), 1_000_000)
        self.assertEqual(live(f"&process={second.pid}"), 500_000)
        self.assertEqual(live("&process=labelled_server"), 1_500_000)

    def test_parameters_that_no_page_knows_make_no_other_reply(self):
        host = self.host()
        host.keep(b"a", 10)
        serving = self.serve("--dir", self.folder)
        replies = set()
        for _ in range(20):  # until three come within a second
            replies = {serving.ask(f"/debug/pprof/heap?x={i}")[1] for i in range(3)}
            host.keep(b"a", 10)
            if len(replies) == 1:
                break
        self.assertEqual(len(replies), 1)
        self.assertEqual(serving.ask("/debug/pprof/heap?process=nobody&x=1")[0], 404)

    def test_recordings_of_other_users_are_left_out_unless_asked_for(self):
        host = self.host()
        host.keep(b"a", 10)
        try:
            os.chown(host.recording, 1234, -1)
        except OSError:
            self.skipTest("no file can be given away here")
        samples = self.metrics(self.serve("--dir", self.folder))
        self.assertEqual(self.value(samples, "allomon_processes"), 0)
        samples = self.metrics(self.serve("--dir", self.folder, "--all-users"))
        self.assertEqual(self.value(samples, "allomon_processes"), 1)

    def test_what_is_no_recording_is_left_out(self):
        self.host().keep(b"acme", 100)
        for name, text in (("x", b"no"), ("damaged.rec", b"ALLOREC\n"), ("empty", b"")):
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(text)
        os.mkfifo(os.path.join(self.folder, "pipe"))
        os.symlink("/nowhere", os.path.join(self.folder, "link"))
        samples = self.metrics(self.serve("--dir", self.folder))
        self.assertEqual(samples["allomon_recordings_unreadable", frozenset()], 1)
        self.assertEqual(samples["allomon_processes", frozenset()], 1)

    def test_folder_without_recordings_says_what_to_do(self):
        serving = self.serve("--dir", self.folder)
        status, text, _ = serving.ask("/")
        self.assertEqual(status, 503)
        self.assertIn(b"allomon ctl PID start", text)
        self.assertEqual(self.metrics(serving)["allomon_processes", frozenset()], 0)

    def test_process_that_was_killed_is_there_and_not_running(self):
        host = self.host()
        host.keep(b"acme", 100)
        host.end()
        samples = self.metrics(self.serve("--dir", self.folder))
        self.assertEqual(self.value(samples, "allomon_recording_running"), 0)
        self.assertGreater(self.value(samples, "allomon_live_bytes"), 100_000)


class ProcessTest(ServeCase):
    def idle_host(self):
        host = Host(SERVER, ALLOMON_PROFILE="idle")
        self.addCleanup(self.clean, host)
        return host

    def clean(self, host):
        host.end()
        self.remove_files(host.pid)

    def remove_files(self, pid):
        # Outside of the first pid namespace, its number follows (control_names.h).
        namespace = os.stat("/proc/self/ns/pid").st_ino
        stem = f"allomon-{pid}" + (f".{namespace}" if namespace != 0xEFFFFFFC else "")
        for suffix in ("control", "rec"):
            path = f"/dev/shm/{stem}.{suffix}"
            if os.path.exists(path):
                os.unlink(path)

    def busy(self, host):
        """Allocates while the block runs."""
        return meanwhile(lambda: host.do("a 1"))

    def test_idle_process_is_asked_and_left_as_it_was(self):
        host = self.idle_host()
        with self.busy(host):
            serving = self.serve("--pid", host.pid, "--exact")
            self.assertIn("records every block", command("ctl", host.pid, "status").stdout)
        host.do("l 4")
        report = self.report(self.save(serving.get("/debug/pprof/heap")))
        leak = next(row for row in report["functions"] if row["function"] == "Leak")
        self.assertEqual(leak["self"], 4 * (1 << 20) // 1000 * 1000)
        # Other commands may ask it meanwhile.
        with self.busy(host):
            asked = command("ctl", host.pid, "rate", "1e-3")
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertEqual(serving.end(), (0, ""))
        self.assertIn("idle", command("ctl", host.pid, "status").stdout)

    def wait_for(self, word, *pids):
        """Until each of them says it of itself.  The command waits a second only for those that
        have not answered when another has."""
        deadline = time.monotonic() + 120
        while not all(word in command("ctl", pid, "status").stdout for pid in pids):
            self.assertLess(time.monotonic(), deadline, word)
            time.sleep(0.01)

    def test_workers_are_asked_and_added_up(self):
        host = self.idle_host()
        child = int(host.do("f"))
        self.addCleanup(self.remove_files, child)
        host.do("c a 200")  # the worker can be asked now

        def both():
            host.do("a 1")
            host.do("c a 1")

        with meanwhile(both):
            serving = self.serve("--pid", host.pid, "--all-children", "--exact")
            self.wait_for(": records", host.pid, child)
        host.do("l 4")
        host.do("c l 2")
        samples = self.metrics(serving)
        for pid, mib in ((host.pid, 4), (child, 2)):
            live = self.value(samples, "allomon_live_bytes", pid=str(pid))
            self.assertGreaterEqual(live, mib * (1 << 20) // 1000 * 1000)
        with meanwhile(both):
            self.assertEqual(serving.end(), (0, ""))
            self.wait_for(": idle", host.pid, child)

    def test_recording_of_another_is_left_alone(self):
        host = self.idle_host()
        with self.busy(host):
            self.assertEqual(command("ctl", host.pid, "start").returncode, 0)
            serving = self.serve("--pid", host.pid)
            self.assertEqual(serving.end(), (0, ""))
        self.assertIn("records", command("ctl", host.pid, "status").stdout)

    def test_process_that_records_by_itself_is_served_without_its_children(self):
        out = os.path.join(self.folder, "run.pb.gz")
        host = Host(ALLOMON, "run", "--exact", "-o", out, "--", SERVER, LD_PRELOAD="")
        self.addCleanup(host.process.communicate, "q\n")
        host.do("f")
        host.do("l 4")
        host.do("c l 2")
        serving = self.serve("--pid", host.pid)
        samples = self.metrics(serving)
        self.assertEqual(self.value(samples, "allomon_processes"), 1)
        live = self.value(samples, "allomon_live_bytes", pid=str(host.pid))
        report = self.report(self.save(serving.get("/debug/pprof/heap")))
        leak = next(row for row in report["functions"] if row["function"] == "Leak")
        self.assertEqual(leak["self"], 4 * (1 << 20) // 1000 * 1000)
        self.assertGreaterEqual(live, leak["self"])
        self.assertLess(live, leak["self"] + (1 << 20))
        self.assertEqual(serving.end(), (0, ""))

    def test_process_that_ends_is_served_on(self):
        host = self.idle_host()
        with self.busy(host):
            serving = self.serve("--pid", host.pid)
        host.do("l 4")
        host.end()
        samples = self.metrics(serving)
        self.assertEqual(self.value(samples, "allomon_recording_running"), 0)
        self.assertEqual(serving.end(), (0, ""))


class BadInputTest(ServeCase):
    def refused(self, *args, **variables):
        done = command("serve", *args, **variables)
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("allomon serve: "), done.stderr)
        return done.stderr

    def test_each_is_one_line_with_a_remedy(self):
        local = "--listen=127.0.0.1:0"
        self.assertIn("there is no process 4194304", self.refused(local, "--pid=4194304"))
        self.assertIn("ALLOMON_PROFILE=idle", self.refused(local, "--pid", os.getpid()))
        self.assertIn("/nowhere", self.refused(local, "--dir=/nowhere"))
        self.assertIn("is not an address", self.refused("--listen=example.org:80"))
        elsewhere = self.refused("--listen=192.0.2.1:1", "--token=" + TOKEN)
        self.assertIn("address of this machine", elsewhere)
        self.assertIn("--token-file", self.refused("--listen=0.0.0.0:0"))
        self.assertIn("at least 16", self.refused("--listen=0.0.0.0:0", "--token=short"))
        self.assertIn("ALLOMON_TOKEN", self.refused(local, ALLOMON_TOKEN="short"))
        self.assertIn("/nowhere", self.refused(local, "--token-file=/nowhere"))
        self.assertIn("unknown option", self.refused("--port=1"))

    def test_port_in_use(self):
        serving = self.serve("--dir", self.folder)
        error = self.refused(f"--listen=127.0.0.1:{serving.port}", "--dir", self.folder)
        self.assertIn("already in use; choose another port", error)

    @unittest.skipUnless(os.geteuid() == 0, "only root starts a process of another user")
    def test_process_of_another_user(self):
        host = Host(SERVER, ALLOMON_PROFILE="idle")
        self.addCleanup(host.end)
        done = subprocess.run(
            ["setpriv", "--reuid=65534", "--clear-groups", ALLOMON, "serve", f"--pid={host.pid}"],
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )
        if done.stderr.startswith("setpriv: "):
            self.skipTest("there is no other user here: " + done.stderr)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("belongs to another user", done.stderr)


class DoorTest(ServeCase):
    def test_token_is_asked_for_by_each_page(self):
        path = os.path.join(self.folder, "token")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TOKEN + "\n")
        serving = self.serve("--dir", self.folder, "--token-file", path)
        for page in ("/", "/metrics", "/debug/pprof/heap", "/nowhere"):
            for header in ("", "Bearer x", "Bearer " + TOKEN[:-1], "Basic " + TOKEN):
                status, text, headers = serving.ask(page, Authorization=header)
                self.assertEqual((status, headers["WWW-Authenticate"]), (401, "Bearer"), page)
                self.assertNotIn(TOKEN.encode(), text)
        status, _, _ = serving.ask("/metrics", Authorization="Bearer " + TOKEN)
        self.assertEqual(status, 200)

    def test_token_of_the_environment(self):
        serving = self.serve("--dir", self.folder, ALLOMON_TOKEN=TOKEN)
        self.assertEqual(serving.ask("/metrics")[0], 401)

    def test_names_of_foreign_pages_are_refused(self):
        serving = self.serve("--dir", self.folder)
        self.assertEqual(serving.ask("/metrics", Host="evil.example:6060")[0], 403)
        self.assertEqual(serving.ask("/metrics", Host="localhost")[0], 200)


class ClientsTest(ServeCase):
    def test_thousand_connections_and_gigabytes_take_little_memory(self):
        host = self.host()
        host.keep(b"acme", 3000)
        serving = self.serve("--dir", self.folder)
        serving.get("/")
        before = serving.most_resident_bytes()
        silent = [serving.connect() for _ in range(900)]
        begin = time.monotonic()
        self.metrics(serving)
        self.assertLess(time.monotonic() - begin, 10)
        for connection in silent:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        garbage = b"GET /" + b"x" * (1 << 20)
        for _ in range(1000):
            with serving.connect() as flood:
                try:
                    flood.sendall(garbage)
                except OSError:
                    pass
        self.metrics(serving)
        for connection in silent:
            self.assertTrue(connection.recv(12).startswith(b"HTTP/1.1 200"))
            connection.close()
        self.assertLess(serving.most_resident_bytes() - before, 100 << 20)
        self.assertEqual(serving.end(), (0, ""))

    def test_signals_end_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            serving = self.serve("--dir", self.folder)
            serving.process.send_signal(number)
            _, error = serving.process.communicate(timeout=60)
            self.assertEqual((serving.process.returncode, error), (0, ""))


if __name__ == "__main__":
    unittest.main()
