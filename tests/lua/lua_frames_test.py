#!/usr/bin/env python3
"""Lua's own functions and lines in the recordings of an unchanged interpreter: the stacks are those
that Lua itself sees.

  ALLOMON_LUAS=/opt/lua-5.4.8/lua:...   other interpreters beside Debian's
  ALLOMON_LUA_STACKS=10000              so many stacks of each, in place of 1,000
"""

import os
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
for folder in ("tests/integration", "tests/recording_reader"):
    sys.path.insert(0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"],
                                    folder))

from interpreted_frames import Process  # noqa: E402
from support import Case, runfile  # noqa: E402

APP = runfile("//tests/lua:allocating_app.lua")
ALLOMON = runfile("//tools/allomon:allomon")
LIBRARY = runfile("//allocator:liballomon.so")
STACKS = os.environ.get("ALLOMON_LUA_STACKS", "1000")
# What a long string takes beside its characters: its header, and the zero behind it.
HEADER = 25


def interpreters():
    named = os.environ.get("ALLOMON_LUAS", "").split(":")
    return [path for path in ["/usr/bin/lua5.4", *named] if path and os.path.exists(path)]


class LuaFrames(Case):
    def run_lua(self, lua, arguments, **variables):
        env = {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1", "ALLOMON_RECORD_LIMIT": "1g",
               **variables}
        done = self.run_preloaded([lua, *arguments], env)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done

    def for_each_lua(self, check):
        found = interpreters()
        self.assertTrue(found, "needs Debian's package lua5.4")
        for lua in found:
            with self.subTest(lua):
                for name in self.files():
                    os.remove(self.path(name))
                check(lua)

    def report(self, *arguments):
        return subprocess.run(
            [ALLOMON, "report", "--format=csv", *arguments, self.path("x.rec")],
            capture_output=True, text=True, check=True,
        ).stdout

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def test_stacks_are_those_that_lua_sees(self):
        def check(lua):
            self.run_lua(lua, [APP, "expected", "7", STACKS])
            process = Process(self.path("x.rec"))
            self.assertFalse([name for name in process.names() if name.startswith("(")])
            stacks = process.interpreted_stacks()
            compared = 0
            with open(self.path("expected"), encoding="utf-8") as file:
                lines = file.read().split("\n")
            for line in lines:
                size, *stack = line.split("\t")
                found = stacks.get(int(size) + HEADER, [])
                if len(found) != 1:  # gone by now, or a buffer has the same size
                    continue
                ((frames, cut),) = found
                frames = [f"{file}:{number}" for _, file, number in frames]
                self.assertEqual(frames, stack[: len(frames)] if cut else stack)
                compared += 1
            self.assertGreater(compared, 0.9 * len(lines))

        self.for_each_lua(check)

    def test_tables_are_charged_to_the_line_that_makes_them(self):
        """The interpreter does not say where it is when it makes a table: a walk that believed it
        would charge the call before."""
        text = (
            "local kept = {}\n"
            "local function fill()\n"
            "  for i = 1, 1000 do\n"
            "    local name = string.rep('x', 1)\n"
            "    local a = {}\n"
            "    local b = { 1, 2, 3, 4, 5, 6, 7, 8 }\n"
            "    local c = { a = 1, b = 2 }\n"
            "    local d = { table.unpack(kept, 1, 7) }\n"
            "    kept[i] = { a, b, c, d }\n"
            "  end\n"
            "end\n"
            "fill()\n"
            "os.exit(0, false)\n"
        )

        def check(lua):
            self.write("tables.lua", text)
            self.run_lua(lua, ["tables.lua"])
            live = Process(self.path("x.rec")).live_bytes_by_line()
            table, slot, node = 56, 16, 24
            self.assertEqual(live["tables.lua:5"], 1000 * table)
            self.assertEqual(live["tables.lua:6"], 1000 * (table + 8 * slot))
            self.assertEqual(live["tables.lua:7"], 1000 * (table + 2 * node))
            # The stack grows for what unpack() returns.
            stack = live["tables.lua:8"] - 1000 * (table + 7 * slot)
            self.assertIn(stack, range(0, 100 * slot))
            kept = 1024 * slot
            self.assertEqual(live["tables.lua:9"], 1000 * (table + 4 * slot) + kept)
            self.assertLessEqual(live.get("tables.lua:4", 0), 64)  # the one string

        self.for_each_lua(check)

    def test_a_report_names_lines_with_their_callers(self):
        text = (
            "local Cache = {}\n"
            "function Cache.fill(n) Cache[n] = string.rep('x', 10000 + n) end\n"
            "function Cache:serve(n) self.fill(n) end\n"
            "function main() for n = 1, 100 do Cache:serve(n) end end\n"
            "main()\n"
            "os.exit(0, false)\n"
        )

        def check(lua):
            self.write("app.lua", text)
            self.run_lua(lua, ["app.lua"])
            rows = self.report("--metric=live").splitlines()
            self.assertRegex(rows[1], r"^fill,.*app\.lua,2,")
            callers = Process(self.path("x.rec")).interpreted_stacks()[10000 + 50 + HEADER]
            self.assertEqual(
                callers,
                [([["fill", "app.lua", 2], ["serve", "app.lua", 3], ["main", "app.lua", 4],
                   ["main chunk", "app.lua", 5]], False)],
            )

        self.for_each_lua(check)

    def test_stripped_functions_at_the_same_lines(self):
        """Without debug information only their contents tell them apart."""
        text = (
            "local function make(name, fill, size)\n"
            "  local rep = 'string.rep(\"' .. fill .. '\", ' .. size .. ')'\n"
            "  local text = 'function ' .. name .. '() local s = ' .. rep .. ' return s end'\n"
            "  load(string.dump(load(text), true))()\n"
            "end\n"
            "make('alpha', 'x', 700000)\n"
            "make('beta', 'x', 900000)\n"
            "make('gamma', 'y', 900000)\n"
            "kept = { alpha(), beta(), gamma() }\n"
            "os.exit(0, false)\n"
        )

        def check(lua):
            self.write("app.lua", text)
            self.run_lua(lua, ["app.lua"])
            stacks = Process(self.path("x.rec")).interpreted_stacks()
            names = [[frames[0][0] for frames, _ in stacks[size + HEADER]]
                     for size in (700000, 900000)]
            self.assertEqual([sorted(some) for some in names], [["alpha"], ["beta", "gamma"]])

        self.for_each_lua(check)

    def test_functions_on_one_line_have_their_own_names(self):
        """A function in another one, on its line, is not the other one."""
        text = (
            "function fill(n) kept = string.rep('x', n) end\n"
            "function outer() pcall(function() fill(700000) end) end\n"
            "outer()\n"
            "os.exit(0, false)\n"
        )

        def check(lua):
            self.write("app.lua", text)
            self.run_lua(lua, ["app.lua"])
            ((frames, _),) = Process(self.path("x.rec")).interpreted_stacks()[700000 + HEADER]
            self.assertEqual([name for name, *_ in frames],
                             ["fill", "<app.lua:2>", "outer", "main chunk"])

        self.for_each_lua(check)

    def test_allomon_run(self):
        text = "local function fill() kept = string.rep('x', 1000000) end\nfill()\n"

        def check(lua):
            self.write("app.lua", text)
            subprocess.run(
                [ALLOMON, "run", "--quiet", "--exact", "-o", self.path("x.rec"), "--", lua,
                 self.path("app.lua")],
                env={**os.environ, "ALLOMON_LIBRARY": LIBRARY}, check=True,
            )
            rows = self.report("--metric=alloc", "--view=lines").splitlines()
            self.assertRegex(rows[1], r"^fill,.*app\.lua,1,")

        self.for_each_lua(check)

    def test_native_frames_of_the_loop_are_replaced(self):
        """Of a chain of Lua's calls one native function is left, which began the loop."""
        text = (
            "local function deep(n)\n"
            "  if n > 0 then deep(n - 1) else kept = string.rep('x', 123456) end\n"
            "  return n\n"
            "end\n"
            "%s(deep, 5)\n"
            "os.exit(0, false)\n"
        )

        def check(lua):
            counts = []
            for call in ("pcall", "(function(f, ...) f(...) return 1 end)"):
                self.write("deep.lua", text % call)
                self.run_lua(lua, ["deep.lua"])
                process = Process(self.path("x.rec"))
                rows = [row for row, _, size, _, _ in process.blocks if size == 123456 + HEADER]
                frames, _ = process.frames(process.rows[rows[0] - 1][0])
                counts.append(sum(frame is None for frame in frames))
                os.remove(self.path("x.rec"))
            # pcall: itself, its own protected call and what this calls; no loop.
            self.assertGreater(counts[0], counts[1])
            self.assertLess(counts[0], counts[1] + 10)

        self.for_each_lua(check)

    def test_other_threads_and_ends(self):
        """A state that is closed and one that ends by an error leave stacks that say where."""
        def check(lua):
            self.write("ends.lua", "local kept = string.rep('x', 50000)\nerror('left')\n")
            done = self.run_preloaded(
                [lua, "ends.lua"], {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1"}
            )
            self.assertEqual(done.returncode, 1)
            self.assertRegex(self.report("--metric=alloc"), r"main chunk,.*ends\.lua,1,")

        self.for_each_lua(check)

    def test_without_lua_frames(self):
        def check(lua):
            self.run_lua(lua, ["-e", "kept = string.rep('x', 50000)"], ALLOMON_LUA="0")
            self.assertEqual(Process(self.path("x.rec")).names(), set())

        self.for_each_lua(check)

    def test_a_profile_charges_functions_of_lua(self):
        def check(lua):
            text = "local function fill() kept = string.rep('x', 1000000) end fill()"
            done = self.run_preloaded(
                [lua, "-e", text],
                {"ALLOMON_PROFILE": "alloc", "ALLOMON_RATE": "1", "ALLOMON_OUT": "x.out"},
            )
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(self.path("x.out.sources"), encoding="utf-8") as file:
                self.assertRegex(file.read(), r"fill.*\(command line\): 1")

        self.for_each_lua(check)


if __name__ == "__main__":
    unittest.main()
