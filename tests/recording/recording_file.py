"""The few parts of a recording that the tests of preloaded hosts look at: recording_layout.h."""

import struct

SEGMENT, HEADER = 65536, 64
PROCESS, THREADS, TEXT = 1, 6, 9
NAMES = ("samples", "blocks_scaled", "bytes")


class Process:
    def __init__(self, number, segments):
        record = segments[PROCESS][0]
        head = struct.Struct("<4I3Qd6I8I")
        fields = head.unpack_from(record)
        self.number = number
        self.pid, self.parent_pid, self.begun, self.ended = fields[:4]
        self.rate, self.is_forked = fields[7], fields[9]
        counts = fields[14:22]
        self.threads_count, self.modules_count = counts[4], counts[6]
        rest = struct.unpack_from("<20Q", record, head.size)
        self.allocated = dict(zip(NAMES, rest[1:4]))
        self.live = dict(zip(NAMES, rest[4:7]))
        self.peak = dict(zip(NAMES, rest[7:10]))
        self.dropped_samples, _, self.lost = rest[14:17]
        text = b"".join(segments.get(TEXT, {}).values())
        self.program = text[fields[10] : fields[10] + fields[11]].decode()
        self.threads = [
            struct.unpack_from("<II16s3Q", b"".join(segments[THREADS].values()), 112 * i)
            for i in range(self.threads_count)
        ]

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
