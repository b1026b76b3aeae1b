"""Resident memory and mappings of a server under steady load."""

import os
import threading
import time

from hosts import HostError


class Watch:
    """Resident memory and mappings of a process, looked at once a second until stop()."""

    def __init__(self, pid):
        self.pid = pid
        self.samples = []  # (seconds, resident bytes, mappings)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self):
        self._ended.set()
        self._thread.join()
        return self.samples

    def _look(self):
        start = time.monotonic()
        while not self._ended.wait(1):
            try:
                with open(f"/proc/{self.pid}/statm", encoding="ascii") as file:
                    pages = int(file.read().split()[1])
                with open(f"/proc/{self.pid}/maps", encoding="ascii") as file:
                    mappings = sum(1 for _ in file)
            except OSError:
                return
            resident = pages * os.sysconf("SC_PAGE_SIZE")
            self.samples.append((time.monotonic() - start, resident, mappings))


def growth(samples, column):
    """Medians of the second and of the last fifth.  The memory that start-up took is in neither."""
    fifth = len(samples) // 5
    if fifth == 0:
        raise HostError("the server did not live long enough to be watched")
    early = sorted(it[column] for it in samples[fifth : 2 * fifth])[fifth // 2]
    late = sorted(it[column] for it in samples[-fifth:])[fifth // 2]
    return early, late


def memory(host):
    """((resident early, late), (mappings early, late)) of a server, or None."""
    samples = getattr(host, "memory", None)
    return samples and (growth(samples, 1), growth(samples, 2))
