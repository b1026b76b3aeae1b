#!/usr/bin/env python3
"""Nothing that runs inside of malloc or free, or where a tracker or a recording starts, saves and
stops, calls a function of the C library that is a cancellation point: a thread that somebody has
cancelled would end there, with the locks that its host holds.  tracker/base/sys has the calls that
are none.

It reads what the objects of those libraries import.
"""

import os
import re
import subprocess
import sys
import unittest

HERE = os.path.join(os.environ["TEST_SRCDIR"], os.environ["TEST_WORKSPACE"])

# pthreads(7), "Cancellation points": what POSIX requires, but for pthread_testcancel(), whose
# callers mean it; and the functions of Linux and of the C library that are like them.
POINTS = re.compile(
    r"accept4?|aio_suspend(64)?|clock_nanosleep|close|connect|creat(64)?|(__)?fcntl(64)?"
    r"|fdatasync|fsync|getp?msg|lockf(64)?|mq_(timed)?(receive|send)|msg(rcv|snd)|msync|nanosleep"
    r"|(__)?open(at)?(64)?(_2)?|pause|(__)?p?poll(_chk)?|(__)?p?read(64)?(_chk)?"
    r"|p(read|write)v2?(64)?"
    r"|pselect|pthread_cond_(wait|timedwait|clockwait)|pthread_(timed|clock)?join(_np)?|putp?msg"
    r"|pwrite(64)?|readv|(__)?recv(from|msg|mmsg)?(_chk)?|select|sem_(wait|timedwait|clockwait)"
    r"|send(to|msg|mmsg)?|sigpause|sigsuspend|sigtimedwait|sigwait(info)?|u?sleep|system|tcdrain"
    r"|wait(id|pid|3|4)?|writev?|epoll_p?wait2?|open_by_handle_at|sync_file_range|splice|tee"
    r"|vmsplice|fallocate(64)?|posix_fallocate(64)?|copy_file_range|getrandom|getentropy"
    # What may be one, and is in the C library: streams, and what reads files or asks servers.
    r"|(__)?v?[fd]?printf(_chk)?|f(open|close|flush|read|write|put[cs]|get[cs])(64)?|put[cs]|puts"
    r"|putchar|perror|psignal|get(line|delim|c|char)|mkstemp(64)?|tmpfile(64)?|syslog|closelog"
    r"|p(open|close)|getaddrinfo|getpw(nam|uid)(_r)?|getgr(nam|gid)(_r)?|opendir|readdir(64)?"
)

# Object -> what it may import, and why.
EXCEPTIONS = {
    # mimalloc looks at the kernel's settings at the first malloc of the process, before main, and
    # prints when it is asked to by its own variables.
    "mimalloc_backend_unity": {"open", "read", "close", "fputs"},
    # malloc_info() and malloc_stats() print where their callers want it, as the C library's do.
    "malloc_info_override": {"fprintf", "__fprintf_chk"},
}

MEMBER = re.compile(r"(?:\S+\.a:|\S+\.lo:)?(\S+?)(?:\.pic)?\.o:")


def archives():
    for folder, _, names in os.walk(HERE, followlinks=True):
        for name in sorted(names):
            if name.endswith((".a", ".lo")) and not name.startswith("libgtest"):
                yield os.path.join(folder, name)


def imports(text):
    """(object, function) of each function that an object takes from elsewhere, by nm's output."""
    member = None
    for line in text.split("\n"):
        match = MEMBER.fullmatch(line.strip())
        if match:
            member = match.group(1)
        words = line.split()
        if len(words) == 2 and words[0] in ("U", "w"):
            yield member, words[1].split("@")[0]


class Imports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.paths = list(archives())
        cls.found = set()
        for path in cls.paths:
            done = subprocess.run(
                ["nm", "--undefined-only", path], capture_output=True, text=True, check=True
            )
            cls.found.update(imports(done.stdout))

    def test_the_objects_of_all_rooms_are_read(self):
        print(len(self.paths), "archives,", len({name for name, _ in self.found}), "objects")
        names = {member for member, _ in self.found}
        for name in (
            *("own_memory", "control", "registry", "thread_registration", "barrier"),
            *("attendant", "control_file", "copy_file", "saver", "memory_limit"),
            *("recorder", "segment_file", "file_owner", "capture", "managed_functions"),
            *("allocator", "sampled_block", "host_stderr", "malloc_override"),
            *("new_override", "mapped_block", "mimalloc_backend_unity", "writing_reserve"),
        ):
            self.assertIn(name, names)

    def test_none_imports_a_cancellation_point(self):
        points = {(member, name) for member, name in self.found if POINTS.fullmatch(name)}
        allowed = {(member, name) for member, names in EXCEPTIONS.items() for name in names}
        self.assertEqual(sorted(points - allowed), [])

    def test_no_exception_is_left_over(self):
        used = {member for member, name in self.found if name in EXCEPTIONS.get(member, ())}
        self.assertEqual(set(EXCEPTIONS) - used, set(), "remove them from EXCEPTIONS")

    def test_what_nm_prints_is_understood(self):
        text = "\nspin_lock.pic.o:\n                 U nanosleep@GLIBC_2.17\n0000 T own\n"
        self.assertEqual(list(imports(text)), [("spin_lock", "nanosleep")])
        for name in ("nanosleep", "open64", "__read_chk", "pread64", "fcntl64", "sigtimedwait"):
            self.assertTrue(POINTS.fullmatch(name), name)
        for name in ("sched_yield", "reallocarray", "mmap", "pthread_mutex_lock", "syscall"):
            self.assertFalse(POINTS.fullmatch(name), name)


if __name__ == "__main__":
    sys.exit(unittest.main())
