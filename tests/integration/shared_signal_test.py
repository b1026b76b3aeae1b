#!/usr/bin/env python3
"""A preloaded profile of time, in hosts that set actions for the signal of its ticks."""

import os
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from support import Case, Mlmon  # noqa: E402

PYTHON = "/usr/bin/python3"

# The timers take the highest signal that is free.
HOST = f"""
import ctypes, os, signal, time
TICK = {int(signal.SIGRTMAX)}
libc = ctypes.CDLL(None)
libc.signal.restype = libc.__sysv_signal.restype = ctypes.c_void_p
libc.signal.argtypes = libc.__sysv_signal.argtypes = [ctypes.c_int, ctypes.c_void_p]

def work(seconds=0.3):
    end = time.process_time() + seconds
    while time.process_time() < end:
        sum(range(1000))

def reset():
    for number in range(1, TICK + 1):
        if number not in (signal.SIGKILL, signal.SIGSTOP, 32, 33):
            signal.signal(number, signal.SIG_DFL)
"""


class SharedSignalTest(Case):
    def python(self, script):
        environment = {"ALLOMON_PROFILE": "time", "ALLOMON_HZ": "1000"}
        done = self.run_preloaded([PYTHON, "-c", HOST + script], environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def assert_ticked(self):
        self.assertGreater(Mlmon(self.path("mlmon.out")).total, 0)

    def test_a_daemon_that_resets_all_signals_lives_and_is_profiled(self):
        self.assertEqual(self.python("work(); reset(); work(); print('done')"), "done\n")
        self.assert_ticked()

    def test_a_forked_child_that_resets_all_signals_lives(self):
        script = """
child = os.fork()
if child == 0:
    reset()
    work()
    os._exit(3)
print(os.WEXITSTATUS(os.waitpid(child, 0)[1]))
"""
        self.assertEqual(self.python(script), "3\n")

    def test_either_of_the_c_library_s_signal_functions_leaves_the_ticks(self):
        script = """
print(libc.signal(TICK, 1), libc.__sysv_signal(TICK, 0), libc.signal(TICK, 0))
work()
"""
        self.assertEqual(self.python(script), "None 1 None\n")
        self.assert_ticked()

    def test_the_older_functions_of_system_v_and_bsd_leave_the_ticks_too(self):
        script = """
pointers = [ctypes.c_int, ctypes.c_void_p]
for name in "bsd_signal", "ssignal", "sysv_signal", "sigset":
    function = getattr(libc, name)
    function.restype, function.argtypes = ctypes.c_void_p, pointers
    print(name, function(TICK, 1), function(TICK, None))
    work(0.1)
hold = 2
print(libc.sigset(TICK, hold), TICK in signal.pthread_sigmask(signal.SIG_BLOCK, []))
print(libc.sigset(TICK, hold) == hold, libc.sigset(TICK, None) == hold)
print(libc.sigignore(TICK), libc.signal(TICK, None), libc.siginterrupt(TICK, 1))
work()
print(libc.sigset(signal.SIGHUP, 1), libc.sigset(signal.SIGHUP, None))
print(libc.sigignore(signal.SIGHUP), libc.siginterrupt(signal.SIGHUP, 1))
print(libc.signal(signal.SIGHUP, None), libc.sigignore(99))
"""
        self.assertEqual(
            self.python(script).splitlines(),
            [
                "bsd_signal None 1",
                "ssignal None 1",
                "sysv_signal None 1",
                "sigset None 1",
                "None True",
                "True True",
                "0 1 0",
                "None 1",
                "0 0",
                "1 -1",
            ],
        )
        self.assertGreaterEqual(Mlmon(self.path("mlmon.out")).total, 60)

    def test_the_host_reads_back_what_it_has_set_and_hears_of_its_own_signals_only(self):
        script = """
heard = []
print(signal.signal(TICK, lambda number, frame: heard.append(number)))
work()
print(heard)
os.kill(os.getpid(), TICK)
print(heard == [TICK], callable(signal.signal(TICK, signal.SIG_IGN)))
os.kill(os.getpid(), TICK)
print(heard == [TICK], signal.getsignal(TICK) == signal.SIG_IGN)
"""
        self.assertEqual(self.python(script).splitlines()[1:], ["[]", "True True", "True True"])

    def test_a_thread_that_is_made_with_all_signals_blocked_hears_its_ticks(self):
        script = """
import threading
found = []
def run():
    work()
    found.append(signal.sigpending() & {TICK})
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
thread = threading.Thread(target=run)
thread.start()
thread.join()
print(found)
"""
        self.assertEqual(self.python(script), "[set()]\n")

    def test_other_signals_are_the_host_s(self):
        script = """
heard = []
signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
os.kill(os.getpid(), signal.SIGUSR1)
handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(heard.append)
libc.signal(signal.SIGHUP, ctypes.cast(handler, ctypes.c_void_p))
os.kill(os.getpid(), signal.SIGHUP)
print([int(it) for it in heard], libc.signal(9, 1) in (-1, 2 ** 64 - 1))
"""
        self.assertEqual(self.python(script), "[10, 1] True\n")


if __name__ == "__main__":
    unittest.main()
