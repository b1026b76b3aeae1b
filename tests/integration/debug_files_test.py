#!/usr/bin/env python3
"""A stripped program's functions are its own, and have names and lines where debug files are."""

import json
import lzma
import os
import re
import shutil
import socket
import subprocess
import sys
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


if __name__ == "__main__":
    sys.exit(unittest.main())
