#!/usr/bin/env python3
"""Reads recordings as tracker/formats/RECORDING.md says, from that page alone, and prints them.

One line for each process, row, event, live block, scope, thread, point and module.  Damaged
recordings are not its trade.
"""

import math
import struct
import sys

SEGMENT = 65536
HEAD = 64
MAGIC = b"ALLOREC\n"
PROCESS, NODES, ROWS, EVENTS, LIVE, THREADS, POINTS, MODULES, TEXT, SAVED, SCOPES, RESIDENT = (
    range(1, 13))
LAYOUT = {
    NODES: struct.Struct("<QIBBxx"),
    ROWS: struct.Struct("<IHBBII4Q4I"),
    EVENTS: struct.Struct("<IBBBBQQ"),
    LIVE: struct.Struct("<IIQQQ"),
    THREADS: struct.Struct("<II16sQddQQQ4QQ4QQ"),
    POINTS: struct.Struct("<QQQQ"),
    MODULES: struct.Struct("<QQQQIIBB6x32s"),
    SAVED: struct.Struct("<QQ"),
    SCOPES: struct.Struct("<IIIIQQ"),
    RESIDENT: struct.Struct("<Q"),
}
RECORD = struct.Struct("<IIIIQQQdIIIIII10IQQQIIQQ16QII10Q")
# Version 1, of which the other records are the same.
LAYOUT_1 = {
    ROWS: struct.Struct("<IHBBII3Q3Q3QQ"),
    EVENTS: struct.Struct("<IBBBB3Q"),
    THREADS: struct.Struct("<II16sQQQ3Q3QQQ"),
}
RECORD_1 = struct.Struct("<IIIIQQQdIIIIII8IQ3Q3Q3Q7Q")
YOUNG, GREATEST, OF_HALF = 1, 2, (4, 8)
CUSTOM = 2


class Recording:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        magic, self.version, segment, limit, used, _ = struct.unpack_from("<8sIIQQQ", self.bytes)
        if (magic, segment) != (MAGIC, SEGMENT) or self.version not in (1, 2):
            raise ValueError("not a recording of version 1 or 2")
        self.segments = {}
        for number in range(1, min(used, len(self.bytes) // SEGMENT, limit // SEGMENT)):
            head = struct.unpack_from("<4sIII", self.bytes, number * SEGMENT)
            if head[0] == b"ASEG" and 1 <= head[1] <= 12:
                self.segments.setdefault((head[2], head[1], head[3]), number)
        self.processes = [
            number for (process, kind, _), number in self.segments.items()
            if kind == PROCESS and process == number
        ]

    def place(self, process, kind, index):
        return self.segments[process, kind, index] * SEGMENT + HEAD

    def records(self, process, kind, count):
        layout = LAYOUT[kind]
        if self.version == 1:
            layout = LAYOUT_1.get(kind, layout)
        each = (SEGMENT - HEAD) // layout.size
        for k in range(count):
            at = self.place(process, kind, k // each) + k % each * layout.size
            yield layout.unpack_from(self.bytes, at)

    def record(self, process):
        layout = RECORD_1 if self.version == 1 else RECORD
        return layout.unpack_from(self.bytes, self.place(process, PROCESS, 0))

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
        name = f"{address:x}" if kind < 2 else recording.text(
            process, address & 0xFFFFFFFF, address >> 32).replace("\t", "|")
        frames.append(name + ("~" if cut else ""))
        number = parent
    return ",".join(frames)


def least_size(size_class):
    return size_class if size_class < 8 else (8 + size_class % 8) << (size_class // 8 - 1)


def probability(size_class, source, greatest, rate):
    """With which the blocks of a row were sampled."""
    if rate >= 1:
        return 1.0
    size = least_size(size_class + 1) - 1 if greatest else least_size(size_class)
    words = (size + 7) // 8
    trials = max(words, 1) if source == CUSTOM else words + 1
    return -math.expm1(trials * math.log1p(-rate))


def text_of(amount):
    return f"({amount[0]}, {amount[1]:.9g}, {amount[2]:.9g})"


def add(a, b):
    return tuple(x + y for x, y in zip(a, b))


def times(amount, by):
    """A count of blocks and bytes as an estimate: samples, blocks, bytes."""
    return amount[0], amount[0] * by, amount[1] * by


class Row:
    """What a row comes to, of version 2."""

    def __init__(self, row, rate, epochs, saved):
        self.node, size_class, self.source, flags, *self.labels = row[:6]
        blocks, count, freed_blocks, freed_bytes = row[6:10]
        self.young = flags & YOUNG
        self.least = least_size(size_class - 1)
        self.p = probability(size_class - 1, self.source, flags & GREATEST, rate)
        live = max(0, blocks - freed_blocks), max(0, count - freed_bytes)
        self.allocated = times((blocks, count), 1 / self.p)
        self.live = times(live, 1 / self.p)
        q = self.p / (1 + math.sqrt(1 - self.p))
        self.peak = (0, 0.0, 0.0)
        for i in (0, 1):
            if not flags & OF_HALF[1 - i]:
                continue
            then = live
            if row[10 + i] == epochs[i]:
                then = saved[row[12 + i] - 1] if row[12 + i] else (0, 0)
            self.peak = (max(self.peak[0], then[0]), self.peak[1] + then[0] / q / 2,
                         self.peak[2] + then[1] / q / 2)


class Row1:
    """The same, of version 1."""

    def __init__(self, row, epoch):
        self.node, size_class, self.source, self.young, *self.labels = row[:6]
        self.least = least_size(size_class - 1)
        self.p = 1
        self.allocated = sum_1(row[6:9])
        self.live = sum_1(row[9:12])
        self.peak = sum_1(row[12:15]) if row[15] == epoch else self.live


def sum_1(stored):
    return stored[0], stored[1] / 65536, stored[2]


def wide(whole, fraction):
    return whole + fraction / 2**32


class Process:
    """A process: its record, and its rows by number, None where one is not in use."""

    def __init__(self, recording, process):
        record = recording.record(process)
        self.pid, self.parent_pid, self.begun = record[:3]
        self.seed, self.rate = record[6:8]
        self.program = recording.text(process, *record[10:12])
        if recording.version == 1:
            counts = self.counts = (*record[14:22], 0, 0)
            self.last_nanos = record[22]
            self.missing = record[36:38] + (0,) * 14
            self.memory, self.heap = (0,) * 4, (0,) * 6
            self.rows = [
                Row1(row, record[33]) if row[1] else None
                for row in recording.records(process, ROWS, counts[1])
            ]
            self.allocated, self.live, self.peak = (sum_1(record[i:i + 3]) for i in (23, 26, 29))
        else:
            counts = self.counts = record[14:24]
            self.last_nanos = record[24]
            epochs = record[27:29]
            self.missing = record[31:47]
            self.memory, self.heap = record[49:53], record[53:59]
            saved = list(recording.records(process, SAVED, counts[8]))
            self.rows = [
                Row(row, self.rate, epochs, saved) if row[1] else None
                for row in recording.records(process, ROWS, counts[1])
            ]
            self.allocated = self.live = self.peak = (0, 0.0, 0.0)
            for row in filter(None, self.rows):
                self.allocated = add(self.allocated, row.allocated)
                self.live = add(self.live, row.live)
                self.peak = add(self.peak, row.peak)


def event_sum(recording, rows, event):
    if recording.version == 1:
        return sum_1(event[5:8])
    return times(event[5:7], 1 / rows[event[0] - 1].p)


def thread_parts(recording, thread):
    """Times of the first and the last sample, sums of what was allocated and of what lives."""
    if recording.version == 1:
        return thread[12:14], sum_1(thread[6:9]), sum_1(thread[9:12])
    allocated = thread[8], wide(*thread[9:11]), wide(*thread[11:13])
    freed = thread[13], wide(*thread[14:16]), wide(*thread[16:18])
    return thread[6:8], allocated, tuple(max(0, a - b) for a, b in zip(allocated, freed))


def file_text(module):
    build_id_bytes, known, build_id = module[6:9]
    if build_id_bytes != 0 or known not in (1, 2):
        return ""
    return " elsewhere" if known == 2 else f" file {struct.unpack('<4Q', build_id)}"


def print_process(recording, number, out):
    process = Process(recording, number)
    if process.begun != 1:
        return
    threads = list(recording.records(number, THREADS, process.counts[4]))
    points = list(recording.records(number, POINTS, process.counts[5]))
    resident = [0] * len(points)
    if (number, RESIDENT, 0) in recording.segments:
        resident = [it[0] for it in recording.records(number, RESIDENT, len(points))]
    if recording.version != 1:
        process.last_nanos = max(
            [process.last_nanos] + [thread_parts(recording, thread)[0][1] for thread in threads])
        if process.last_nanos > (points[-1][0] if points else 0):
            live = int(process.live[2])
            points.append((process.last_nanos, int(process.allocated[2]), live, live))
            has_resident = (number, RESIDENT, 0) in recording.segments
            resident.append(process.memory[1] if has_resident else 0)
    out(f"process {process.pid} {process.parent_pid} {process.program} seed {process.seed}"
        f" rate {process.rate:.9g} allocated {text_of(process.allocated)}"
        f" live {text_of(process.live)} peak {text_of(process.peak)} last {process.last_nanos}"
        f" missing {' '.join(map(str, process.missing))}")
    if any(process.memory):
        out(f"memory {process.memory}")
        if process.heap[0] != 0:
            out(f"heap {process.heap}")
    nodes = list(recording.records(number, NODES, process.counts[0]))
    for row in filter(None, process.rows):
        labels = recording.text(number, *row.labels).replace("\0", "|")
        out(f"row {stack_of(recording, number, nodes, row.node)} {row.least} {row.source}"
            f" {row.young} {text_of(row.allocated)} {text_of(row.live)} {text_of(row.peak)}"
            f" {labels}")
    for event in recording.records(number, EVENTS, process.counts[2]):
        if event[1]:
            out(f"event {event[:5]} {text_of(event_sum(recording, process.rows, event))}")
    for block in recording.records(number, LIVE, process.counts[3]):
        if block[0]:
            out(f"live {block}")
    for scope in recording.records(number, SCOPES, process.counts[9]):
        if scope[0]:
            labels = recording.text(number, *scope[2:4]).replace("\0", "|")
            out(f"scope {(*scope[:2], *scope[4:])} {labels}")
    for thread in threads:
        if thread[0]:
            name = thread[2].split(b"\0")[0].decode(errors="replace")
            _, allocated, live = thread_parts(recording, thread)
            out(f"thread {thread[0]} {name} {thread[3]} {thread[4]:.9g} {thread[5]:.9g}"
                f" {text_of(allocated)} {text_of(live)}")
    for point, resident_bytes in zip(points, resident):
        out(f"point {(*point, resident_bytes) if resident_bytes else point}")
    for module in recording.records(number, MODULES, process.counts[6]):
        if module[0]:
            path = recording.text(number, *module[4:6])
            out(f"module {module[0:4]} {path} {module[8][:module[6]].hex()}{file_text(module)}")


def main():
    recording = Recording(sys.argv[1])
    for process in recording.processes:
        print_process(recording, process, print)


if __name__ == "__main__":
    main()
