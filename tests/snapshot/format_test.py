#!/usr/bin/env python3
"""What Heap::WriteSnapshot() writes is what DevTools documents of its heap snapshots, and allomon
heap reads it, and one of Node.js where there is node."""

import collections
import json
import os
import shutil
import subprocess
import tempfile
import unittest

RUNFILES = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])
ALLOMON = os.path.join(RUNFILES, "tools/allomon/allomon")
WRITE_SNAPSHOT = os.path.join(RUNFILES, "tests/snapshot/write_snapshot")
# The parts in the order in which DevTools' loader looks for them.
PARTS = ["snapshot", "nodes", "edges", "trace_function_infos", "trace_tree", "samples",
         "locations", "strings"]

Node = collections.namedtuple("Node", "type name id self_size edges")
Edge = collections.namedtuple("Edge", "type name to")


def rows_of(numbers, fields):
    size = len(fields)
    assert len(numbers) % size == 0, "the fields do not come out even"
    return [dict(zip(fields, numbers[i : i + size])) for i in range(0, len(numbers), size)]


class Snapshot:
    """Checks the format while it takes the file apart."""

    def __init__(self, text):
        self.parts = json.loads(text, object_pairs_hook=collections.OrderedDict)
        head = self.parts["snapshot"]
        self.meta = head["meta"]
        strings = self.parts["strings"]
        node_fields, edge_fields = self.meta["node_fields"], self.meta["edge_fields"]
        node_types, edge_types = self.meta["node_types"][0], self.meta["edge_types"][0]
        rows = rows_of(self.parts["nodes"], node_fields)
        edges = rows_of(self.parts["edges"], edge_fields)
        assert head["node_count"] == len(rows), "node_count"
        assert head["edge_count"] == len(edges), "edge_count"
        assert sum(row["edge_count"] for row in rows) == len(edges), "the nodes' edges"
        assert all(isinstance(n, int) and n >= 0 for n in self.parts["nodes"] + self.parts["edges"])
        self.nodes, taken = [], 0
        for row in rows:
            own = [self.edge(edge, edge_types, strings, len(node_fields), len(rows))
                   for edge in edges[taken : taken + row["edge_count"]]]
            taken += row["edge_count"]
            self.nodes.append(Node(node_types[row["type"]], strings[row["name"]], row["id"],
                                   row["self_size"], own))

    @staticmethod
    def edge(row, types, strings, node_fields, n_nodes):
        assert row["to_node"] % node_fields == 0, "an edge into the middle of a node"
        to = row["to_node"] // node_fields
        assert to < n_nodes, "an edge to nothing"
        edge_type = types[row["type"]]
        number = edge_type in ("element", "hidden")
        name = row["name_or_index"]
        return Edge(edge_type, name if number else strings[name], to)


class FormatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = os.path.join(cls.folder.name, "x.heapsnapshot")
        subprocess.run([WRITE_SNAPSHOT, cls.path], check=True)
        with open(cls.path, encoding="utf-8") as file:
            cls.snapshot = Snapshot(file.read())
        cls.nodes = cls.snapshot.nodes

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def heap(self, *args):
        return subprocess.run([ALLOMON, "heap", *args], check=False, capture_output=True, text=True)

    def test_parts_come_in_the_loaders_order(self):
        self.assertEqual(list(self.snapshot.parts), PARTS)

    def test_meta_has_what_devtools_reads(self):
        meta = self.snapshot.meta
        self.assertEqual(meta["node_fields"][:5], ["type", "name", "id", "self_size", "edge_count"])
        self.assertEqual(meta["edge_fields"], ["type", "name_or_index", "to_node"])
        self.assertEqual(meta["node_types"][1:],
                         ["string"] + ["number"] * (len(meta["node_fields"]) - 2))
        self.assertEqual(meta["edge_types"][1:], ["string_or_number", "node"])
        for word in "hidden", "object", "native", "synthetic":
            self.assertIn(word, meta["node_types"][0])
        for word in "element", "property", "internal", "shortcut", "weak":
            self.assertIn(word, meta["edge_types"][0])

    def test_the_root_is_first_and_has_the_gc_roots(self):
        root = self.nodes[0]
        self.assertEqual((root.type, root.name), ("synthetic", ""))
        self.assertEqual(self.nodes[root.edges[0].to].name, "(GC roots)")
        self.assertFalse([e for node in self.nodes for e in node.edges if e.to == 0])

    def test_ids_are_unique(self):
        self.assertEqual(len({node.id for node in self.nodes}), len(self.nodes))

    def test_all_is_reached_and_counted(self):
        reached, pending = {0}, [0]
        while pending:
            for edge in self.nodes[pending.pop()].edges:
                if edge.type != "weak" and edge.to not in reached:
                    reached.add(edge.to)
                    pending.append(edge.to)
        self.assertEqual(len(reached), len(self.nodes))
        names = collections.Counter(node.name for node in self.nodes)
        self.assertEqual(names["Tree"], 2047)
        self.assertEqual(names['cell "of" \\ a\nlist'], 2 * 429 + 3)
        self.assertEqual(names["memory outside the heap"], 1)
        sizes = {node.name: node.self_size for node in self.nodes}
        self.assertEqual(sizes["Tree"], 24)
        self.assertEqual(sizes["Bytes"], 20016)
        self.assertEqual(sizes["memory outside the heap"], 4096)

    def test_allomon_heap_reads_it(self):
        result = self.heap(self.path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"\nTree +2,047 +48.0 KiB")
        self.assertRegex(result.stdout, r"\(Globals\)\.tree")

    def test_progress_and_errors_do_not_mix_with_the_text(self):
        result = self.heap(self.path + ".none")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertEqual(result.stderr.count("\n"), 1)

    def test_standard_input_is_read(self):
        with open(self.path, "rb") as file:
            result = subprocess.run([ALLOMON, "heap", "-"], stdin=file, check=True,
                                    capture_output=True, text=True)
        self.assertIn("Tree", result.stdout)

    @unittest.skipUnless(shutil.which("node"), "no node")
    def test_node_js_writes_what_is_read(self):
        path = os.path.join(self.folder.name, "node.heapsnapshot")
        code = ("class Kept { constructor() { this.buffer = 'x'.repeat(10).split(''); } }"
                "globalThis.kept = new Kept();"
                f"require('v8').writeHeapSnapshot({json.dumps(path)})")
        subprocess.run(["node", "-e", code], check=True, capture_output=True)
        with open(path, encoding="utf-8") as file:
            nodes = Snapshot(file.read()).nodes
        result = self.heap(path)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        sizes = sum(node.self_size for node in nodes)
        self.assertIn(f"{sizes / 2**20:.1f} MiB", result.stdout.splitlines()[0])
        self.assertIn(".kept of ", self.heap(path, "--paths=Kept").stdout)


if __name__ == "__main__":
    unittest.main()
