"""The first process of a recording, with the frames of interpreted languages in its stacks."""

import re
import subprocess

import read_recording

LARGE = 10_000  # bytes of blocks whose stacks are compared


class Process:
    def __init__(self, path):
        recording = read_recording.Recording(path)
        process = recording.processes[0]
        counts = recording.record(process)[14:24]
        self.recording, self.process = recording, process
        self.nodes = list(recording.records(process, read_recording.NODES, counts[0]))
        self.rows = list(recording.records(process, read_recording.ROWS, counts[1]))
        self.sums = read_recording.Process(recording, process).rows
        self.blocks = list(recording.records(process, read_recording.LIVE, counts[3]))
        self.modules = list(recording.records(process, read_recording.MODULES, counts[6]))
        self.program = recording.text(process, *recording.record(process)[10:12])

    def frames(self, node):
        """(name, file, line) or None for a native frame, innermost first; whether it was cut."""
        frames = []
        cut = False
        while node:
            _, parent, kind, is_cut = self.nodes[node - 1]
            cut = cut or bool(is_cut)
            frames.append(self.name(node) if kind == 2 else None)
            node = parent
        return frames, cut

    def code_of(self, pattern):
        """[first, behind the last] address of a function, without its cold part."""
        for begin, _, bias, _, path_offset, path_length, *_ in self.modules:
            file = self.recording.text(self.process, path_offset, path_length) or self.program
            symbols = subprocess.run(
                ["readelf", "-W", "--dyn-syms", file], capture_output=True, text=True, check=False
            ).stdout
            found = re.search(r": ([0-9a-f]+) +(\d+) FUNC .* " + pattern + r"\b", symbols)
            if begin and found and int(found[2]) > 0:
                start = bias + int(found[1], 16)
                return start, start + int(found[2])
        raise AssertionError("no such function among the modules")

    def addresses(self):
        """Of the native frames of the stacks of large live blocks that hold interpreted frames."""
        for row, _, size, _, _ in self.blocks:
            if size < LARGE:
                continue
            node = self.rows[row - 1][0] if row else 0
            native, named = [], False
            while node:
                address, node, kind, _ = self.nodes[node - 1]
                named = named or kind == 2
                native += [address - 1] if kind == 0 else []
            yield from native if named else []

    def interpreted_stacks(self):
        """By the size of a large live block, which no other may have."""
        stacks = {}
        for row, _, size, _, _ in self.blocks:
            if row and size >= LARGE:
                frames, cut = self.frames(self.rows[row - 1][0])
                stacks.setdefault(size, []).append(([f for f in frames if f], cut))
        return stacks

    def live_bytes_by_line(self):
        """Of the innermost interpreted function, by file:line."""
        live = {}
        for row in filter(None, self.sums):
            node = row.node
            while node and self.nodes[node - 1][2] != 2:
                node = self.nodes[node - 1][1]
            if node:
                _, file, line = self.name(node)
                live[f"{file}:{line}"] = live.get(f"{file}:{line}", 0) + row.live[2]
        return live

    def name(self, node):
        """Of an interpreted function: name, file, line."""
        address = self.nodes[node - 1][0]
        text = self.recording.text(self.process, address & 0xFFFFFFFF, address >> 32)
        name, file, line = text.split("\t")
        return [name, file, int(line)]

    def names(self):
        return {
            self.recording.text(self.process, address & 0xFFFFFFFF, address >> 32)
            for address, _, kind, _ in self.nodes if kind == 2
        }
