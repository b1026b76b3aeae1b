#!/usr/bin/env python3
"""Reads recordings as tracker/formats/RECORDING.md says, from that page alone, and prints them.

One line for each process, row, event, live block, thread, point and module.  Damaged recordings
are not its trade.
"""

import struct
import sys

SEGMENT = 65536
HEAD = 64
MAGIC = b"ALLOREC\n"
PROCESS, NODES, ROWS, EVENTS, LIVE, THREADS, POINTS, MODULES, TEXT = range(1, 10)
LAYOUT = {
    NODES: struct.Struct("<QIBBxx"),
    ROWS: struct.Struct("<IHBBII3Q3Q3QQ"),
    EVENTS: struct.Struct("<IBBBB3Q"),
    LIVE: struct.Struct("<IIQQQ"),
    THREADS: struct.Struct("<II16sQQQ3Q3QQQ"),
    POINTS: struct.Struct("<QQQQ"),
    MODULES: struct.Struct("<QQQQIIB7x32s"),
}
RECORD = struct.Struct("<IIIIQQQdIIIIII8IQ3Q3Q3QQQQQQQQ")


class Recording:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        magic, version, segment, limit, used, _ = struct.unpack_from("<8sIIQQQ", self.bytes)
        if (magic, version, segment) != (MAGIC, 1, SEGMENT):
            raise ValueError("not a recording of version 1")
        self.segments = {}
        for number in range(1, min(used, len(self.bytes) // SEGMENT, limit // SEGMENT)):
            head = struct.unpack_from("<4sIII", self.bytes, number * SEGMENT)
            if head[0] == b"ASEG" and 1 <= head[1] <= 9:
                self.segments.setdefault((head[2], head[1], head[3]), number)
        self.processes = [
            number for (process, kind, _), number in self.segments.items()
            if kind == PROCESS and process == number
        ]

    def place(self, process, kind, index):
        return self.segments[process, kind, index] * SEGMENT + HEAD

    def records(self, process, kind, count):
        layout = LAYOUT[kind]
        each = (SEGMENT - HEAD) // layout.size
        for k in range(count):
            at = self.place(process, kind, k // each) + k % each * layout.size
            yield layout.unpack_from(self.bytes, at)

    def text(self, process, offset, length):
        if length == 0:
            return ""
        room = SEGMENT - HEAD
        at = self.place(process, TEXT, offset // room) + offset % room
        return self.bytes[at:at + length].decode(errors="replace")


def stack_of(recording, process, nodes, number):
    frames = []
    while number:
        address, parent, kind, cut = nodes[number - 1]
        name = f"{address:x}" if kind != 2 else recording.text(
            process, address & 0xFFFFFFFF, address >> 32).replace("\t", "|")
        frames.append(name + ("~" if cut else ""))
        number = parent
    return ",".join(frames)


def least_size(size_class):
    return size_class if size_class < 8 else (8 + size_class % 8) << (size_class // 8 - 1)


def print_process(recording, process, out):
    record = RECORD.unpack_from(recording.bytes, recording.place(process, PROCESS, 0))
    if record[2] != 1:
        return
    counts, epoch = record[14:22], record[33]
    program = recording.text(process, *record[10:12])
    out(f"process {record[0]} {record[1]} {program} seed {record[6]} rate {record[7]:.9g}"
        f" allocated {record[23:26]} live {record[26:29]} peak {record[29:32]}"
        f" dropped {record[36]} {record[37]}")
    nodes = list(recording.records(process, NODES, counts[0]))
    for row in recording.records(process, ROWS, counts[1]):
        if row[1] == 0:
            continue
        peak = row[12:15] if row[15] == epoch else row[9:12]
        labels = recording.text(process, *row[4:6]).replace("\0", "|")
        out(f"row {stack_of(recording, process, nodes, row[0])} {least_size(row[1] - 1)}"
            f" {row[2]} {row[3]} {row[6:9]} {row[9:12]} {peak} {labels}")
    for event in recording.records(process, EVENTS, counts[2]):
        if event[1]:
            out(f"event {event}")
    for block in recording.records(process, LIVE, counts[3]):
        if block[0]:
            out(f"live {block}")
    for thread in recording.records(process, THREADS, counts[4]):
        if thread[0]:
            name = thread[2].split(b"\0")[0].decode(errors="replace")
            out(f"thread {thread[0]} {name} {thread[3:6]} {thread[6:9]} {thread[9:12]}")
    for point in recording.records(process, POINTS, counts[5]):
        out(f"point {point}")
    for module in recording.records(process, MODULES, counts[6]):
        if module[0]:
            path = recording.text(process, *module[4:6])
            out(f"module {module[0:4]} {path} {module[7][:module[6]].hex()}")


def main():
    recording = Recording(sys.argv[1])
    for process in recording.processes:
        print_process(recording, process, print)


if __name__ == "__main__":
    main()
