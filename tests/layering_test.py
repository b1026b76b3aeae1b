#!/usr/bin/env python3
"""Who may include whom, checked because g++ does not.

Between modules the rules are in ALLOWED: for each module, what its files may include of the
others; what is not listed is an error.  Between the rooms of a module of MODULES_WITH_ROOMS they
are the table "Rooms" of its manual, which is read here, so that the document cannot be wrong.

Besides, each .cc file includes its own header first, so that every header is compiled by itself
at least once; and no more than two units of such a module (a unit is foo.h and foo.cc) include
each other in a circle.
"""

import os
import re
import shutil
import sys
import tempfile
import unittest

# module -> what of our own tree its files may include, as regular expressions.
ALLOWED = {
    "tracker": [r"tracker/.*"],
    "allocator": [
        r"allocator/.*",
        r"tracker/(tracker|heap_client|heap_tools|block_note|mapped_memory)\.h",
        r"tracker/base/(sys/)?[^/]+\.h",
        r"tracker/formats/process_map\.h",
    ],
    "runtime": [
        r"runtime/.*",
        r"tracker/[^/]+\.h",
        r"tracker/base/(sys/)?[^/]+\.h",
        r"tracker/callstack/(capture|managed_functions)\.h",
        r"tracker/formats/write_file\.h",
        r"allocator/(allomon_)?backend\.h",
        r"allocator/backends/.*",
    ],
    # Commands see formats and names, never code that runs in hosts; and the checks of invariants.
    "tools": [r"tools/.*", r"tracker/(formats|names|dwarf)/.*", r"tracker/base/check\.h"],
    "examples": [
        r"examples/.*",
        r"(tracker|tracker/profile|tracker/gates|allocator|runtime)/[^/]+\.h",
        r"tracker/(callstack/managed_functions|symbols/symbols)\.h",
    ],
}

# Rooms that may do more than their module.
EXCEPTIONS = {
    # A program that is profiled without a line of code: started by the environment.
    r"allocator/environment/.*": [
        r"tracker/profile/.*\.h",
        r"tracker/formats/(loss_note|recording_layout|variables)\.h",
        r"tracker/triggers/.*\.h",
        r"tracker/control/attendant\.h",
        r"tracker/control/probe_sampler\.h",
        r"tracker/(cpython|lua)/attach\.h",
        r"tracker/recording/(start|watcher)\.h",
    ],
}

MODULES = set(ALLOWED) | {"tests", "benchmarks"}

# <module>/README.md has a table "Rooms".
MODULES_WITH_ROOMS = [
    "allocator",
    "runtime",
    "tools",
    "tracker",
]

# Files in tests/, and in one folder of it: cases of one kind are a table, and a folder has rooms.
MOST_TEST_FILES = 650
MOST_FILES_OF_A_FOLDER = 40

# Of the C++ files of these modules, the part that may have fewer lines.
SMALL_FILE_LINES = 40
MOST_SMALL_FILES = 0.18

INCLUDE = re.compile(r'^\s*#\s*include\s*["<]([^">]+)[">]')


def own_files(root):
    """Paths of all C++ sources of the modules, relative to root."""
    for module in sorted(MODULES):
        for folder, subfolders, files in os.walk(os.path.join(root, module)):
            subfolders.sort()
            for name in sorted(files):
                if name.endswith((".h", ".cc", ".cpp", ".inc")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def includes(root, path):
    """(line number, included path as seen from the root) of each #include in a file."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as source:
        for number, line in enumerate(source, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            name = match.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if os.path.exists(os.path.join(root, beside)):
                name = beside
            yield number, os.path.normpath(name)


def lines(root, path):
    with open(os.path.join(root, path), "rb") as source:
        return source.read().count(b"\n")


ROOM = re.compile(r"^\| `([^`]+)` \|([^|]*)\|", re.MULTILINE)
SECTION = re.compile(r"^## Rooms$(.*?)^## ", re.MULTILINE | re.DOTALL)


def read_rooms(root, module):
    """The table of the module's README.md, as {room: the rooms that it may include}.

    A room is a folder, or a list of files directly in the module; both as seen from there."""
    with open(os.path.join(root, module, "README.md"), encoding="utf-8") as readme:
        section = SECTION.search(readme.read())
    rooms = {}
    for room, below in ROOM.findall(section.group(1)):
        rooms[room] = re.findall(r"`([^`]+)`", below)
    return rooms


def room_of(module, path, rooms):
    """The room of a file of the module, None if the table has none for it."""
    folder, name = os.path.split(path[len(module) + 1 :])
    stem = name.split(".")[0]
    best = None
    for room in rooms:
        if room.endswith("/"):
            fits = folder + "/" == room or folder.startswith(room)
        else:
            fits = folder == "" and stem in room.split(", ")
        if fits and (best is None or len(room) > len(best)):
            best = room
    return best


def room_includes(root, module, rooms):
    """(path, line number, its room, included path, its room) of each #include inside the module."""
    for path in own_files(root):
        if not path.startswith(module + "/"):
            continue
        room = room_of(module, path, rooms)
        yield path, 0, room, path, room
        for number, name in includes(root, path):
            if name.startswith(module + "/"):
                yield path, number, room, name, room_of(module, name, rooms)


def room_violations(root, module, rooms):
    for path, number, room, name, other in room_includes(root, module, rooms):
        if room is None:
            if path == name:
                yield f"{path}: in no room of {module}/README.md"
        elif other != room and other not in rooms[room]:
            yield f"{path}:{number}: {room} may not include {other} ({name})"


def unit_graph(root, module):
    """{unit: units that it includes} of the module."""
    inside = module + "/"
    graph = {}
    for path in own_files(root):
        if not path.startswith(inside):
            continue
        unit = os.path.splitext(path)[0]
        included = {os.path.splitext(name)[0] for _, name in includes(root, path)}
        graph.setdefault(unit, set()).update(i for i in included if i.startswith(inside))
        graph[unit].discard(unit)
    return graph


def circles(graph):
    """Sets of units that include each other, by Tarjan's algorithm."""
    order, low, stack, found = {}, {}, [], []

    def visit(unit):
        order[unit] = low[unit] = len(order)
        stack.append(unit)
        for other in sorted(graph.get(unit, ())):
            if other not in order:
                visit(other)
                low[unit] = min(low[unit], low[other])
            elif other in stack:
                low[unit] = min(low[unit], order[other])
        if low[unit] == order[unit]:
            circle = stack[stack.index(unit) :]
            del stack[stack.index(unit) :]
            if len(circle) > 1:
                found.append(sorted(circle))

    for unit in sorted(graph):
        if unit not in order:
            visit(unit)
    return found


def violations(root):
    for path in own_files(root):
        module = path.split("/")[0]
        found = list(includes(root, path))

        stem, extension = os.path.splitext(path)
        if extension == ".cc" and os.path.exists(os.path.join(root, stem + ".h")):
            if not found or found[0][1] != stem + ".h":
                yield f"{path}: its own header, {stem}.h, must be its first include"

        if module not in ALLOWED:
            continue
        allowed = list(ALLOWED[module])
        for pattern, more in EXCEPTIONS.items():
            if re.fullmatch(pattern, path):
                allowed += more
        for number, name in found:
            if name.split("/")[0] not in MODULES or "/" not in name:
                continue
            if not any(re.fullmatch(pattern, name) for pattern in allowed):
                yield f"{path}:{number}: {module}/ may not include {name}"


class FakeTree(unittest.TestCase):
    """A tree that breaks each rule is reported; one that keeps them is not."""

    def check(self, files, *expected):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as out:
                    out.write(text)
            found = list(violations(root))
        self.assertEqual(len(found), len(expected), found)
        for line, (path, text) in zip(found, expected):
            self.assertTrue(line.startswith(path) and text in line, line)

    def forbidden(self, path, name):
        with self.subTest(path=path, name=name):
            self.check({path: f'\n  #  include "{name}"\n'}, (path + ":2:", name))

    def test_forbidden(self):
        self.forbidden("tracker/a.h", "allocator/allocator.h")
        self.forbidden("tracker/core/a.cc", "runtime/heap.h")
        self.forbidden("tracker/profile/a.cc", "tools/report.h")
        self.forbidden("tracker/a.cc", "tests/support/statistics.h")
        self.forbidden("runtime/a.cc", "allocator/allocator.h")
        self.forbidden("runtime/a.cc", "allocator/alloc_path.h")
        self.forbidden("runtime/a.cc", "tracker/core/sampler.h")
        self.forbidden("runtime/a.cc", "tracker/profile/record/recording.h")
        self.forbidden("tools/a.cc", "tracker/symbols/elf_file.h")
        self.forbidden("allocator/a.cc", "runtime/heap.h")
        self.forbidden("allocator/a.cc", "tracker/core/sampler.h")
        self.forbidden("allocator/a.cc", "tracker/profile/profile.h")
        self.forbidden("allocator/environment/auto_profile.cc", "tracker/core/sampler.h")
        self.forbidden("tools/a.cc", "tracker/core/sampler.h")
        self.forbidden("examples/a.cc", "tracker/core/sampler.h")
        self.forbidden("examples/a.cc", "tracker/callstack/capture.h")
        self.forbidden("examples/a.cc", "allocator/backends/mimalloc.h")
        self.forbidden("examples/a.cc", "tests/support/statistics.h")

    def test_forbidden_in_other_spellings(self):
        self.check({"tracker/a.cc": "#include <runtime/heap.h>\n"}, ("tracker/a.cc:1", "heap.h"))
        self.check(
            {"tracker/a.cc": '#include "../runtime/heap.h"\n', "runtime/heap.h": ""},
            ("tracker/a.cc:1", "runtime/heap.h"),
        )

    def test_own_header_first(self):
        header = {"tracker/a.h": ""}
        self.check({**header, "tracker/a.cc": '#include "tracker/a.h"\n#include <vector>\n'})
        self.check({**header, "tracker/a.cc": "int a;\n"}, ("tracker/a.cc", "own header"))
        self.check(
            {**header, "tracker/a.cc": '#include <vector>\n#include "tracker/a.h"\n'},
            ("tracker/a.cc", "own header"),
        )

    def test_allowed(self):
        self.check(
            {
                "tracker/tracker.cc": '#include "tracker/core/sampler.h"\n',
                "allocator/a.cc": '#include "tracker/heap_client.h"\n#include <stdio.h>\n',
                "allocator/environment/auto_profile.cc": '#include "tracker/profile/profile.h"\n',
                "runtime/a.cc": '#include "allocator/backends/backend.h"\n',
                "runtime/b.cc": '// #include "allocator/allocator.h"\n',
                "examples/a.cc": '#include "tracker/tracker.h"\n#include "runtime/heap.h"\n',
                "tests/tracker/a_test.cc": '#include "tracker/core/sampler.h"\n',
            }
        )


    def test_circles_are_found(self):
        graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
        self.assertEqual(sorted(circles(graph)), [["a", "b", "c"], ["d", "e"]])


class SourceTree(unittest.TestCase):
    def setUp(self):
        self.root = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
        self.assertTrue(os.path.exists(os.path.join(self.root, "WORKSPACE")), self.root)
        self.modules = {module: read_rooms(self.root, module) for module in MODULES_WITH_ROOMS}

    def assert_none(self, found):
        self.assertEqual(found, [], "\n" + "\n".join(found))

    def test_include_rules(self):
        print(len(list(own_files(self.root))), "files read")
        self.assert_none(list(violations(self.root)))

    def test_rooms(self):
        for module, rooms in self.modules.items():
            self.assertGreater(len(rooms), 5, rooms)
            self.assert_none(list(room_violations(self.root, module, rooms)))

    def test_rooms_stand_on_each_other(self):
        """The picture is one of floors: a room is above all that it may include."""
        for rooms in self.modules.values():
            self.assertEqual(circles({room: set(below) for room, below in rooms.items()}), [])

    def test_no_more_than_two_units_include_each_other(self):
        for module in self.modules:
            graph = unit_graph(self.root, module)
            self.assertGreater(len(graph), 50, module)
            self.assertEqual([c for c in circles(graph) if len(c) > 2], [])

    def test_files_of_tests(self):
        count, crowded = 0, []
        for folder, subfolders, files in os.walk(os.path.join(self.root, "tests")):
            subfolders[:] = [name for name in subfolders if name != "__pycache__"]
            count += len(files)
            if len(files) > MOST_FILES_OF_A_FOLDER:
                crowded.append(os.path.relpath(folder, self.root))
        print(count, "files in tests/")
        self.assertGreater(count, 300)
        self.assertLessEqual(count, MOST_TEST_FILES)
        self.assertEqual(crowded, [])

    def test_few_files_are_small(self):
        """One idea, one file: a header of some lines with one user belongs to that user."""
        files = [p for p in own_files(self.root) if p.split("/")[0] in self.modules]
        small = [p for p in files if lines(self.root, p) < SMALL_FILE_LINES]
        print(f"{len(small)} of {len(files)} files have less than {SMALL_FILE_LINES} lines")
        self.assertGreater(len(files), 1000)
        self.assertLessEqual(len(small), len(files) * MOST_SMALL_FILES, small)

    def test_every_arrow_of_the_picture_is_used(self):
        for module, rooms in self.modules.items():
            found = room_includes(self.root, module, rooms)
            used = {(room, other) for _, _, room, _, other in found}
            drawn = {(room, other) for room, below in rooms.items() for other in below}
            self.assertEqual(drawn - used, set())

    def test_an_include_against_the_picture_is_reported(self):
        """A file of a copy, in a room that may include no other, includes one of each other."""
        for module, rooms in self.modules.items():
            with tempfile.TemporaryDirectory() as copy:
                shutil.copytree(os.path.join(self.root, module), os.path.join(copy, module))
                self.assert_none(list(room_violations(copy, module, rooms)))
                headers = {}
                for path in own_files(copy):
                    if path.endswith(".h"):
                        headers.setdefault(room_of(module, path, rooms), path)
                lowest = next(room for room in headers if not rooms[room])
                above = [path for room, path in headers.items() if room != lowest]
                self.assertGreater(len(above), 4, headers)
                with open(os.path.join(copy, headers[lowest]), "a", encoding="utf-8") as header:
                    header.writelines(f'#include "{path}"\n' for path in above)
                found = list(room_violations(copy, module, rooms))
                self.assertEqual(len(found), len(above), found)
                self.assertIn(f"{lowest} may not include ", found[0])


if __name__ == "__main__":
    sys.exit(unittest.main())
