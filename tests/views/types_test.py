#!/usr/bin/env python3
"""--view=types names the types of blocks in a program whose types are known."""

import json
import os
import platform
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(
    0, os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"], "tests/integration")
)

from support import Case, runfile  # noqa: E402

CALLS = 1000

IS_X86 = platform.machine() == "x86_64"  # a function in assembly

# By function of typed_blocks.cc: types, holders and sizes of its blocks.
TYPES = {
    "InVector": {("Order", "std::vector<Order>", 640)},
    "InGrowingVector": {("Cell", "std::vector<Cell>", None)},
    "InString": {
        ("char", "std::string", 101),
        ("std::string", "std::vector<std::string>", None),
    },
    "InMap": {("std::pair<Key const, Node>", "std::map<Key, Node>", 72)},
    "InMultimap": {("std::pair<int const, Node>", "std::multimap<int, Node>", 72)},
    "InSet": {("long", "std::set<long>", 40)},
    "InHashMap": {
        ("std::pair<int const, Order>", "std::unordered_map<int, Order>", 48),
        ("buckets", "std::unordered_map<int, Order>", None),
    },
    "InHashSet": {
        ("std::string", "std::unordered_set<std::string>", 48),
        ("buckets", "std::unordered_set<std::string>", None),
    },
    "InList": {("Node", "std::list<Node>", 48)},
    "InForwardList": {("Order", "std::forward_list<Order>", 40)},
    "InDeque": {
        ("Order", "std::deque<Order>", 512),
        ("Order*", "std::deque<Order>", None),
    },
    "ByMakeShared": {("Shared", "std::make_shared", 72)},
    "CountedApart": {("std::_Sp_counted_deleter<Counted*>", "std::shared_ptr", None)},
    "ByMakeUnique": {("Pool<Order>", "std::make_unique", 96)},
    "ByMakeUniqueArray": {("Cell", "std::make_unique", 512)},
    "InFunction": {("InFunction()::<lambda()>", "std::function", 32)},
    "ByOwnNew": {("Own", "its operator new", 104)},
    "InWideString": {("wchar_t", "std::wstring", 404)},
    "InPointers": {("Order const*", "std::vector<Order const*>", None)},
    "ByMalloc": set(),
    "ByTypedNew": {("shop::Item", "new", 64), ("shop::Item*", "new", 8)} if IS_X86 else set(),
}


class Types(Case):
    REPORT = [runfile("//tools/allomon:allomon"), "report", "--view=types", "--metric=alloc"]

    def recorded(self, program):
        done = self.run_preloaded(
            [runfile(f"//tests/views:{program}")],
            {"ALLOMON_RECORD": "x.rec", "ALLOMON_RATE": "1", "ALLOMON_SEED": "3"},
        )
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "done\n", ""))

    def rows(self, *options):
        shown = self.run_plain([*self.REPORT, *options, "--format=json", "x.rec"])
        self.assertEqual((shown.returncode, shown.stderr), (0, ""))
        return json.loads(shown.stdout)["types"]

    def named(self, function):
        return {
            (row["type"], row.get("holder"), row["bytes_per_block"])
            for row in self.rows(f"--focus=^{function}\\(")
            if row.get("type") is not None
        }

    def test_all_types_by_debug_information(self):
        for program in ("typed_blocks", "typed_blocks_in_one_section"):
            self.recorded(program)
            for function, types in TYPES.items():
                with self.subTest(function, program=program):
                    named = self.named(function)
                    sizes = {(t, h): size for t, h, size in named}
                    self.assertEqual(set(sizes), {(t, h) for t, h, _ in types})
                    for name, holder, size in types:
                        if size is not None:
                            self.assertEqual(sizes[(name, holder)], size, name)

    def test_symbol_table_names_what_is_not_inlined(self):
        self.recorded("typed_blocks_without_debug_information")
        named = 0
        for function, types in TYPES.items():
            with self.subTest(function):
                # The linker numbers lambdas.
                found = {(t.replace("{lambda()#1}", "<lambda()>"), h)
                         for t, h, _ in self.named(function)}
                self.assertLessEqual(found, {(t, h) for t, h, _ in types})
                named += len(found)
        self.assertGreaterEqual(named, 5)
        shown = self.run_plain([*self.REPORT, "x.rec"]).stdout
        self.assertIn(" are told by the linker's names alone: ", shown)
        self.assertIn(" are of unknown type: ", shown)

    def test_types_are_rows_of_other_views(self):
        self.recorded("typed_blocks")
        report = [runfile("//tools/allomon:allomon"), "report", "--by=type", "--format=json"]
        rows = json.loads(self.run_plain([*report, "x.rec"]).stdout)["labels"]
        live = {row["value"]: row["live"] for row in rows}
        self.assertEqual(live["Own"], CALLS * 104)
        self.assertEqual(live["Pool<Order>"], CALLS * 96)
        leaks = json.loads(self.run_plain([*report, "--leaks", "x.rec"]).stdout)["leaks"]
        self.assertIn("Own", [row["value"] for row in leaks])


if __name__ == "__main__":
    unittest.main()
