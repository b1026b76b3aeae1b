#!/usr/bin/env python3
"""A stripped program's functions are its own, and have names and lines where debug files are.
Names travel: by a pack of symbols, and from a server of debuginfod, a stand-in of which is here."""

import gzip
import http.server
import json
import lzma
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, runfile  # noqa: E402

PROGRAM = runfile("//tests/integration:debug_host")
LIBRARY = runfile("//allocator:liballomon.so")
ALLOMON = runfile("//tools/allomon:allomon")
SOURCE = os.path.join(os.path.dirname(PROGRAM), "hosts", "debug_host.cc")
SERVE_BYTES, ACCEPT_BYTES = 1000 * 1000, 1000 * 500


def line_of(words):
    with open(SOURCE, encoding="ascii") as file:
        return next(i for i, line in enumerate(file, 1) if words in line)


def run(*argv, **options):
    return subprocess.run(argv, check=True, capture_output=True, text=True, **options).stdout


class DebugFiles(Case):
    def setUp(self):
        super().setUp()
        self.build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", PROGRAM))[1]
        self.server = self.path("server")
        run("strip", "-o", self.server, PROGRAM)
        os.chmod(self.server, 0o755)

    def keep_debug(self, path, *options):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        run("objcopy", "--only-keep-debug", *options, PROGRAM, path)

    def profile(self, **variables):
        run(
            self.server,
            env={
                "LD_PRELOAD": LIBRARY,
                "ALLOMON_PROFILE": "live",
                "ALLOMON_RATE": "1",
                "ALLOMON_OUT": self.path("heap.out"),
                **variables,
            },
        )

    def report(self, *options, **variables):
        """{name: (position, bytes)} of all functions."""
        text = run(
            *(ALLOMON, "report", "--json", *options, self.path("heap.out")),
            env={"HOME": "/", **variables},
        )
        rows = json.loads(text)["functions"]
        return {row["name"]: (row["position"], row["current"]) for row in rows}

    def address_of(self, function):
        for line in run("nm", "-C", PROGRAM).splitlines():
            address, _, name = line.split(" ", 2)
            if name == function:
                return f"0x{int(address, 16):x}"
        self.fail(f"no {function}")

    def check_lines(self, found):
        source = "tests/integration/hosts/debug_host.cc: "
        self.assertEqual(
            {name: found.get(name) for name in ("OpenSession()", "Accept(int, int)")},
            {
                "OpenSession()": (source + str(line_of("line: of OpenSession")), SERVE_BYTES),
                "Accept(int, int)": (source + str(line_of("line: of Accept")), ACCEPT_BYTES),
            },
        )

    def check_unnamed(self, found):
        serve, pool = (self.address_of(name) for name in ("Serve(int)", "pool_xmalloc"))
        self.assertEqual(found["server+" + serve], ("server: " + serve, SERVE_BYTES))
        self.assertEqual(found["server+" + pool], ("server: " + pool, ACCEPT_BYTES))

    def test_stripped_functions_are_charged_themselves(self):
        self.profile()
        found = self.report()
        self.check_unnamed(found)
        self.assertNotIn("__libc_start_call_main", found)
        self.profile(ALLOMON_EXCLUDE="server+" + self.address_of("pool_xmalloc"))
        found = self.report()
        accept = self.address_of("Accept(int, int)")
        self.assertEqual(found["server+" + accept], ("server: " + accept, ACCEPT_BYTES))

    def test_unnamed_part_of_a_wrapper_belongs_to_it(self):
        self.profile()
        listen = self.address_of("Listen()")
        self.assertEqual(self.report()["server+" + listen], ("server: " + listen, 700))
        self.profile(ALLOMON_EXCLUDE="")
        self.assertNotIn("server+" + listen, self.report())

    def test_the_script_still_is_one_for_mlprof(self):
        self.profile()
        answer = run("/bin/sh", self.path("heap.out.sources"))
        self.assertTrue(answer.startswith("0x"), answer[:40])
        self.assertIn("server+" + self.address_of("Serve(int)"), answer)

    def test_program_with_its_own_debug_information(self):
        shutil.copy(PROGRAM, self.server)
        self.profile()
        self.check_lines(self.report())

    def test_debug_file_by_build_id_plain_and_compressed(self):
        self.profile()
        folder = self.path("debug")
        file = f"{folder}/.build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug"
        for how in "none", "zlib", "zlib-gnu":
            with self.subTest(compressed=how):
                self.keep_debug(file, "--compress-debug-sections=" + how)
                self.check_lines(self.report("--debug-dir", folder))

    def test_debug_file_by_link(self):
        for folder in "", ".debug/":
            with self.subTest(folder=folder):
                file = self.path(folder + "server.debug")
                self.keep_debug(file)
                run("strip", "-o", self.server, PROGRAM)
                run("objcopy", "--add-gnu-debuglink=" + file, self.server)
                self.profile()
                self.check_lines(self.report())
                os.unlink(file)

    def test_debug_file_in_a_clients_cache(self):
        self.profile()
        self.keep_debug(self.path(f"cache/{self.build_id}/debuginfo"))
        self.check_lines(self.report(DEBUGINFOD_CACHE_PATH=self.path("cache")))

    def test_no_server_is_asked(self):
        self.profile()
        with socket.create_server(("127.0.0.1", 0)) as server:
            url = f"http://127.0.0.1:{server.getsockname()[1]}/"
            self.check_unnamed(self.report(DEBUGINFOD_URLS=url))
            server.setblocking(False)
            with self.assertRaises(BlockingIOError):
                server.accept()

    def test_mini_debug_information_has_names(self):
        names = [line.split()[0] for line in run("nm", "--format=posix", PROGRAM).splitlines()]
        self.write("names", "\n".join(names) + "\n")
        run("objcopy", "-S", "--keep-symbols=" + self.path("names"), PROGRAM, self.path("mini"))
        with open(self.path("mini"), "rb") as mini, open(self.path("mini.xz"), "wb") as packed:
            packed.write(lzma.compress(mini.read()))
        run("objcopy", "--add-section=.gnu_debugdata=" + self.path("mini.xz"), self.server)
        self.profile()
        found = self.report()
        self.assertEqual(found["Serve(int)"][1], SERVE_BYTES)
        self.assertEqual(found["Accept(int, int)"][1], ACCEPT_BYTES)

    def test_another_builds_file_changes_nothing(self):
        self.profile()
        run("objcopy", "--remove-section=.note.gnu.build-id", PROGRAM, self.server)
        self.check_unnamed(self.report())
        os.unlink(self.server)
        self.check_unnamed(self.report())
        os.mkfifo(self.server)  # nobody writes to it
        self.check_unnamed(self.report())

    def test_stack_style_has_names_and_lines_of_the_codes_functions(self):
        self.profile(ALLOMON_PROFILE="live,stack")
        folder = self.path("debug")
        self.keep_debug(f"{folder}/.build-id/{self.build_id[:2]}/{self.build_id[2:]}.debug")
        found = self.report("--debug-dir", folder)
        self.assertEqual(found["Serve(int)"][1], SERVE_BYTES)
        self.assertEqual(found["pool_xmalloc"][1], 0)
        self.assertEqual(found["Accept(int, int)"][1], ACCEPT_BYTES)
        self.assertIn("main", found)


class Names(Case):
    """A recording of a program that is gone afterwards."""

    def setUp(self):
        super().setUp()
        self.build_id = re.search(r"Build ID: (\w+)", run("readelf", "-n", PROGRAM))[1]
        self.server = self.path("server")
        self.recording = self.path("server.rec")
        self.pack = self.path("server.symbols")
        shutil.copy(PROGRAM, self.server)

    def record(self, recording=None, program=None):
        run(
            program or self.server,
            env={
                "LD_PRELOAD": LIBRARY,
                "ALLOMON_RECORD": recording or self.recording,
                "ALLOMON_RATE": "1",
                "ALLOMON_SEED": "1",
            },
        )

    def allomon(self, *args, **variables):
        """(status, output, errors), with a cache of the test's own."""
        done = subprocess.run(
            [ALLOMON, *args],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
            env={"HOME": self.path("home"), **variables},
        )
        return done.returncode, done.stdout, done.stderr

    def report(self, *options, **variables):
        status, out, err = self.allomon("report", *options, self.recording, **variables)
        self.assertEqual((status, err), (0, ""))
        return out

    def functions(self, *options, **variables):
        out = self.report("--json", *options, **variables)
        return {row["function"] for row in json.loads(out)["functions"]}

    def make_pack(self):
        status, out, err = self.allomon("symbols", "pack", "-o", self.pack, self.recording)
        self.assertEqual((status, err), (0, ""))
        return out


class Packs(Names):
    def outputs(self, *options):
        """What commands make of the recording, byte for byte, but for the pack's own name, which
        the commands that they suggest have."""
        before = self.path("before.rec")
        page = self.path("page.html")
        outputs = {}
        for args in (
            ("report",),
            ("report", "--view=tree", "--width=0", "--top=0"),
            ("report", "--view=lines", "--csv"),
            ("report", "--json"),
            ("export", "--format=callgrind"),
            ("export", "--format=speedscope"),
            ("export", "--format=heap_v2"),
            ("export", "--format=json"),
        ):
            status, out, err = self.allomon(*args, *options, self.recording)
            self.assertEqual((status, err), (0, ""), args)
            outputs[args] = out.replace(f" --symbols={self.pack}", "")
        pprof = self.path("server.pb.gz")
        for args in (
            ("flame", "-o", page, *options, self.recording),
            ("export", "--format=pprof", "-o", pprof, *options, self.recording),
        ):
            self.assertEqual(self.allomon(*args)[0], 0)
        for file in page, pprof:
            with open(file, "rb") as bytes_of:
                outputs[file] = bytes_of.read()
        status, outputs["diff"], err = self.allomon("diff", *options, before, self.recording)
        self.assertEqual((status, err), (0, ""))
        return outputs

    def test_elsewhere_is_as_here(self):
        self.record(self.path("before.rec"))
        self.record()
        here = self.outputs()
        self.assertIn("OpenSession", here["report",])
        out = self.make_pack()
        self.assertRegex(out, r": \d+\.\d KiB, \d+ addresses of \d files, \d+ with names\n$")
        os.unlink(self.server)
        self.assertNotIn("OpenSession", self.report())
        self.assertIn("is not there any more", self.report())
        self.assertEqual(self.outputs("--symbols", self.pack), here)

    def test_a_stripped_program_is_as_here(self):
        run("strip", self.server)
        self.record(self.path("before.rec"))
        self.record()
        here = self.outputs()
        self.assertRegex(here["report",], r"server\+0x[0-9a-f]+ ")
        self.make_pack()
        os.unlink(self.server)
        self.assertEqual(self.outputs("--symbols", self.pack), here)

    def test_packs_are_the_same_and_readable_by_their_user_alone(self):
        self.record()
        self.make_pack()
        with open(self.pack, "rb") as file:
            first = file.read()
        self.make_pack()
        with open(self.pack, "rb") as file:
            self.assertEqual(file.read(), first)
        self.assertEqual(os.stat(self.pack).st_mode & 0o777, 0o600)
        status, out, _ = self.allomon("symbols", "show", self.pack)
        self.assertEqual(status, 0)
        self.assertRegex(out, rf"(?m)^\d+ addresses  {self.server}  build-id {self.build_id}$")
        text = gzip.decompress(first).decode()
        self.assertTrue(text.startswith("allomon symbols 1\nF\t"))
        self.assertTrue(text.endswith("\nend\n"))
        self.assertIn(f"C\tbuild-id {self.build_id}\t{self.server}\tprogram\n", text)

    def test_pprof_files_get_the_names_that_they_miss(self):
        self.record()
        self.make_pack()
        run("strip", self.server)
        pprof = self.path("server.pb.gz")
        self.assertEqual(
            self.allomon("export", "--format=pprof", "-o", pprof, self.recording)[0], 0
        )
        os.unlink(self.server)
        self.recording = pprof
        self.assertNotIn("Serve(int)", self.functions())
        self.assertIn("Serve(int)", self.functions("--symbols", self.pack))
        self.assertIn("Accept(int, int)", self.functions("--symbols", self.pack))

    def test_pprof_files_are_packed(self):
        run("strip", self.server)
        self.record()
        pprof = self.path("server.pb.gz")
        self.assertEqual(
            self.allomon("export", "--format=pprof", "-o", pprof, self.recording)[0], 0
        )
        shutil.copy(PROGRAM, self.server)
        self.recording = pprof
        self.make_pack()
        os.unlink(self.server)
        self.assertIn("Serve(int)", self.functions("--symbols", self.pack))

    def check_refused(self, line, *args):
        status, out, err = self.allomon(*args)
        self.assertEqual((status, out), (2, ""), (args, err))
        self.assertRegex(err, r"\A[^\n]*" + line + r"[^\n]*\n\Z")

    def test_a_pack_of_another_program_is_refused(self):
        self.record()
        other = self.path("other")
        note = self.path("note")
        with open(note, "wb") as file:
            file.write(bytes([4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0]) + b"GNU\0" + b"o" * 20)
        run("objcopy", "--update-section", ".note.gnu.build-id=" + note, PROGRAM, other)
        recording, self.recording = self.recording, self.path("other.rec")
        self.record(program=other)
        self.make_pack()
        self.recording = recording
        for command in "report", "flame", ("export", "--format=json"):
            words = [command] if isinstance(command, str) else command
            self.check_refused(
                "has the symbols of other, not of this build of server",
                *(*words, "--symbols", self.pack, recording),
            )
        self.check_refused("other, not", "diff", "--symbols", self.pack, recording, recording)
        pprof = self.path("server.pb.gz")
        self.allomon("export", "--format=pprof", "-o", pprof, recording)
        self.check_refused(f"report: {self.pack} has", "report", "--symbols", self.pack, pprof)
        # One of several packs is enough.
        both = self.path("both.symbols")
        self.assertEqual(self.allomon("symbols", "pack", "-o", both, recording)[0], 0)
        self.functions("--symbols", self.pack, "--symbols", both)

    def test_what_is_no_pack_is_refused(self):
        self.record()
        self.make_pack()
        with open(self.pack, "rb") as file:
            whole = file.read()
        text = gzip.decompress(whole)
        bad = self.path("bad.symbols")
        cases = {
            b"": "is no pack of symbols",
            b"text\n": "is no pack of symbols",
            gzip.compress(b"text\n"): "is no pack of symbols",
            gzip.compress(text.replace(b"symbols 1", b"symbols 2", 1)): "of another version",
            gzip.compress(text.replace(b"\nA\t", b"\nB\t", 1)): r"damaged pack of symbols \(line ",
            gzip.compress(text[: len(text) // 2]): "pack of symbols (that is cut short|.line)",
            whole[: len(whole) // 2]: "cut short",
            whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:]: "damaged|cut short",
        }
        chance = random.Random(1)
        for _ in range(40):
            at = chance.randrange(10, len(whole))
            if at == len(whole) - 9:  # the last byte of the data has bits that mean nothing
                continue
            flipped = whole[:at] + bytes([whole[at] ^ 1 << chance.randrange(8)]) + whole[at + 1 :]
            cases[flipped] = "damaged|cut short|gzip"
        for data, line in cases.items():
            with open(bad, "wb") as file:
                file.write(data)
            args = ("report", "--symbols", bad, self.recording)
            self.check_refused(f"bad.symbols .*({line})", *args)
        self.check_refused("cannot read", "report", "--symbols=/none", self.recording)
        self.check_refused("needs a value", "report", "--symbols=", self.recording)
        self.check_refused("name a file", "report", "--symbols=-", self.recording)

    def test_a_pack_needs_the_code(self):
        self.record()
        self.check_refused("say what to do", "symbols")
        self.check_refused("neither pack nor show", "symbols", "unpack")
        self.check_refused("name the heap profile", "symbols", "pack")
        self.check_refused("show writes no file", "symbols", "show", "-o", "x", self.pack)
        self.check_refused(
            "show looks nothing up", "symbols", "show", "--debug-dir=/", self.pack
        )
        self.check_refused("is no pack", "symbols", "show", self.recording)
        os.unlink(self.server)
        status, _, err = self.allomon("symbols", "pack", "-o", self.pack, self.recording)
        self.assertEqual(status, 0)  # it has libc's
        self.assertIn(f"nothing of {self.server}: its file is not here\n", err)
        self.write("stacks.txt", "main;f 1\n")
        self.check_refused("no file of its code", "symbols", "pack", self.path("stacks.txt"))


class Server:
    """Stands in for debuginfod: answers with files, and as servers should not."""

    def __init__(self, answers, how="well"):
        self.asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):  # noqa: N802, N805
                self.asked.append(handler.path)
                body = answers.get(handler.path)
                if how == "slow":
                    handler.send_response(200)
                    handler.end_headers()
                    for _ in range(600):
                        try:
                            handler.wfile.write(b"x")
                            time.sleep(0.1)
                        except OSError:
                            return
                handler.send_response(500 if how == "broken" else 404 if body is None else 200)
                if how != "endless":
                    handler.send_header("Content-Length", str(len(body or b"") + (how == "cut")))
                handler.end_headers()
                handler.wfile.write(body or b"")

            def log_message(handler, *_):  # noqa: N805
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Debuginfod(Names):
    def setUp(self):
        super().setUp()
        run("strip", self.server)
        self.record()
        with open(self.server, "rb") as file:
            self.stripped = file.read()
        debug = self.path("debug")
        run("objcopy", "--only-keep-debug", PROGRAM, debug)
        with open(debug, "rb") as file:
            self.debug = file.read()
        self.cache = self.path("cache")

    def answers(self):
        folder = f"/buildid/{self.build_id}/"
        return {folder + "debuginfo": self.debug, folder + "executable": self.stripped}

    def ask(self, server, **variables):
        url = server if isinstance(server, str) else server.url
        return self.report(
            "--debuginfod=" + url, DEBUGINFOD_CACHE_PATH=self.cache, **variables
        )

    def check_named(self, text):
        self.assertIn("OpenSession", text)
        self.assertNotIn("server+0x", text)

    def check_unnamed(self, text, line):
        self.assertIn("server+0x", text)
        self.assertRegex(" ".join(text.split()), line)

    def cached(self, name):
        return os.path.exists(os.path.join(self.cache, self.build_id, name))

    def test_debug_information_of_a_stripped_program(self):
        with Server(self.answers()) as server:
            self.check_named(self.ask(server))
            self.assertIn(f"/buildid/{self.build_id}/debuginfo", server.asked)
            self.assertNotIn(f"/buildid/{self.build_id}/executable", server.asked)
        self.assertTrue(self.cached("debuginfo"))
        # From now on it is here.
        self.check_named(self.report(DEBUGINFOD_CACHE_PATH=self.cache))

    def test_a_program_that_is_gone(self):
        with Server(self.answers()) as server:
            os.unlink(self.server)
            self.check_named(self.ask(server))
        self.assertTrue(self.cached("debuginfo") and self.cached("executable"))

    def test_each_file_is_asked_for_once(self):
        os.unlink(self.server)
        with Server({}) as server:
            self.check_unnamed(self.ask(server), "no server has debug information of .*server")
            self.assertEqual(len(server.asked), len(set(server.asked)), server.asked)
            for path in server.asked:
                self.assertRegex(path, r"\A/buildid/[0-9a-f]{16,}/(debuginfo|executable)\Z")
        self.assertEqual(os.listdir(self.cache), [])

    def test_urls_of_the_variable_are_asked_only_if_told(self):
        with Server(self.answers()) as server:
            variables = {"DEBUGINFOD_URLS": "http://127.0.0.1:1 " + server.url,
                         "DEBUGINFOD_CACHE_PATH": self.cache}
            self.assertNotIn("OpenSession", self.report(**variables))
            for args in ("flame", "-o", self.path("x.html")), ("export", "--format=json"):
                self.assertEqual(self.allomon(*args, self.recording, **variables)[0], 0)
            self.assertEqual(server.asked, [])
            text = self.report("--debuginfod", **variables)
            self.check_named(text)
            self.assertIn("takes no connection", " ".join(text.split()))

    def test_a_server_of_https_is_a_note_beside_others(self):
        with Server(self.answers()) as server:
            text = self.ask("https://debuginfod.example " + server.url)
            self.check_named(text)
            self.assertIn("is of https", " ".join(text.split()))

    def test_pprof_files(self):
        pprof = self.path("server.pb.gz")
        self.assertEqual(
            self.allomon("export", "--format=pprof", "-o", pprof, self.recording)[0], 0
        )
        os.unlink(self.server)
        self.recording = pprof
        with Server(self.answers()) as server:
            self.check_named(self.ask(server))
            # All that a recording's functions have: memprof needs linker names and first lines.
            status, out, err = self.allomon(
                "export", "--format=memprof", "--debuginfod=" + server.url, pprof,
                DEBUGINFOD_CACHE_PATH=self.cache,
            )
            self.assertEqual((status, err), (0, ""))
            self.assertRegex(out, r"LineOffset: [1-9][0-9]*, Column: [1-9]")

    def test_servers_that_are_gone_or_broken(self):
        with socket.create_server(("127.0.0.1", 0)) as gone:
            url = f"http://127.0.0.1:{gone.getsockname()[1]}"
        self.check_unnamed(self.ask(url), "takes no connection: it is not asked again")
        with Server({}, "broken") as server:
            self.check_unnamed(self.ask(server), "answered with status 500 for server")
        for how in "cut", "endless":
            with Server(self.answers(), how) as server:
                self.check_unnamed(self.ask(server), "gave no whole answer of HTTP")
        with socket.create_server(("127.0.0.1", 0)) as rude:
            def answer():
                connection, _ = rude.accept()
                with connection:
                    connection.recv(1000)
                    connection.sendall(b"220 this is no HTTP\r\n")

            threading.Thread(target=answer, daemon=True).start()
            url = f"http://127.0.0.1:{rude.getsockname()[1]}"
            self.check_unnamed(self.ask(url), "gave no whole answer of HTTP")

    def test_servers_that_are_slow(self):
        with Server(self.answers(), "slow") as server:
            begin = time.monotonic()
            self.check_unnamed(self.ask(server, DEBUGINFOD_TIMEOUT="2"), "took too long")
            self.assertLess(time.monotonic() - begin, 30)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            begin = time.monotonic()
            self.check_unnamed(self.ask(url, DEBUGINFOD_TIMEOUT="1"), "took too long|no whole")
            self.assertLess(time.monotonic() - begin, 30)

    def test_answers_that_are_not_what_was_asked_for(self):
        folder = f"/buildid/{self.build_id}/"
        with open(ALLOMON, "rb") as file:
            other = file.read()
        for body, line in ((b"<html>", "no ELF file"), (b"", "no ELF file"),
                           (other, "another build")):
            with Server({folder + "debuginfo": body}) as server:
                self.check_unnamed(self.ask(server), f"answered with {line} for server")
            self.assertFalse(self.cached("debuginfo"))
        for _, _, files in os.walk(self.cache):
            self.assertEqual(files, [])

    def test_urls_that_are_none(self):
        for url, line in (
            ("https://debuginfod.example", "is of https"),
            ("ftp://a", "is not a URL such as"),
            ("http://", "is not a URL such as"),
            ("http://a:0", "is not a URL such as"),
            ("http://a:99999", "is not a URL such as"),
            ("", "name a server"),
        ):
            status, out, err = self.allomon("report", "--debuginfod=" + url, self.recording)
            self.assertEqual((status, out, err.count("\n")), (2, "", 1))
            self.assertIn(line, err)
        flat = self.path("mlmon.out")
        run(self.server, env={"LD_PRELOAD": LIBRARY, "ALLOMON_OUT": flat,
                              "ALLOMON_PROFILE": "live"})
        status, _, err = self.allomon("report", "--debuginfod=http://127.0.0.1:1", flat)
        self.assertEqual(status, 2)
        self.assertIn("--debuginfod", err)

    def test_a_cache_that_cannot_be_written(self):
        self.write("blocked", "")
        self.cache = self.path("blocked")
        with Server(self.answers()) as server:
            text = self.ask(server)
            self.check_unnamed(text, "cannot write in .*DEBUGINFOD_CACHE_PATH")


if __name__ == "__main__":
    sys.exit(unittest.main())
