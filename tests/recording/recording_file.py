"""The few parts of a recording that the tests of preloaded hosts look at: recording_layout.h."""

import struct

SEGMENT, HEADER = 65536, 64
PROCESS, THREADS, TEXT, RESIDENT = 1, 6, 9, 12
THREAD = struct.Struct("<II16sQddQQQ4QQ4QQ")
NAMES = ("samples", "blocks", "bytes")


def wide(whole, fraction):
    return whole + fraction / 2**32


class Process:
    def __init__(self, number, segments):
        record = segments[PROCESS][0]
        head = struct.Struct("<4I3Qd6I10I")
        fields = head.unpack_from(record)
        self.number = number
        self.pid, self.parent_pid, self.begun, self.ended = fields[:4]
        self.rate, self.is_forked = fields[7], fields[9]
        counts = fields[14:24]
        self.threads_count, self.modules_count = counts[4], counts[6]
        rest = struct.unpack_from("<3Q2I2Q16Q", record, head.size)
        self.peak_bytes, self.lost = rest[1], rest[6]
        self.dropped_samples = rest[7]
        # Nanoseconds, resident, live and most resident bytes.
        self.memory = struct.unpack_from("<4Q", record, 296)
        # Of the points of the timeline; empty if no figure was known.
        resident = b"".join(segments.get(RESIDENT, {}).values())
        self.resident = list(struct.unpack_from(f"<{counts[5]}Q", resident)) if resident else []
        text = b"".join(segments.get(TEXT, {}).values())
        self.program = text[fields[10] : fields[10] + fields[11]].decode()
        self.threads = [
            THREAD.unpack_from(b"".join(segments[THREADS].values()), THREAD.size * i)
            for i in range(self.threads_count)
        ]
        self.allocated = self.sum_of_threads(8)
        freed = self.sum_of_threads(13)
        self.live = {name: self.allocated[name] - freed[name] for name in NAMES}

    def sum_of_threads(self, field):
        """Of a count and two numbers with fractions, from that field on."""
        sums = [0, 0, 0]
        for thread in self.threads:
            blocks, size = thread[field + 1 : field + 3], thread[field + 3 : field + 5]
            for i, value in enumerate((thread[field], wide(*blocks), wide(*size))):
                sums[i] += value
        return dict(zip(NAMES, sums))

    def thread_names(self):
        return {thread[2].rstrip(b"\0").decode() for thread in self.threads}


def read(path):
    """The processes of a recording, in the order in which they began."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"ALLOREC\n", data[:8]
    used = struct.unpack_from("<Q", data, 24)[0]
    by_process = {}
    for at in range(SEGMENT, min(used * SEGMENT, len(data)), SEGMENT):
        magic, kind, process, index = struct.unpack_from("<4I", data, at)
        if magic == 0x47455341:
            segments = by_process.setdefault(process, {}).setdefault(kind, {})
            segments[index] = data[at + HEADER : at + SEGMENT]
    return [Process(number, by_process[number]) for number in sorted(by_process)]
